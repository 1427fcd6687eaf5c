/* hm_runtime.c - selectors, message lookup, retain counts, autorelease pools. A misuse prints one line and aborts. */
#define _GNU_SOURCE
#include "hm.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

hm_object hm_live = {.prev = &hm_live, .next = &hm_live}, *hm_zombies, *hm_singles;
hm_stats hm_counted;
struct objc_class C_Zombie = {.name = "(deallocated)"};
static unsigned last_serial;
static pthread_mutex_t mutex = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
void hm_lock(void) { pthread_mutex_lock(&mutex); }
void hm_unlock(void) { pthread_mutex_unlock(&mutex); }

void hm_bad(const char *format, ...) {
  va_list a;
  va_start(a, format);
  fprintf(stderr, "hostmetal: validation: ");
  vfprintf(stderr, format, a);
  fputc('\n', stderr);
  va_end(a);
  fflush(stderr);
  abort();
}

/* ---- objects ---- */
void *hm_new(Class c, size_t size) {
  hm_object *o = calloc(1, size);
  o->isa = c;
  o->retain_count = 1;
  HM_COUNT(objects);
  HM_COUNT(live);
  hm_lock();
  o->serial = ++last_serial;
  o->next = &hm_live;
  o->prev = hm_live.prev;
  hm_live.prev->next = o;
  hm_live.prev = o;
  hm_unlock();
  return o;
}

id hm_single(hm_object *o, Class c) {
  hm_lock();
  if (!o->isa) {
    *o = (hm_object){.isa = c, .retain_count = 1, .single = 1, .next = hm_singles};
    hm_singles = o;
  }
  hm_unlock();
  return (id)o;
}

static int labels_required;
__attribute__((constructor)) static void read_label_mode(void) {
  const char *e = getenv("HOSTMETAL_LABELS");
  labels_required = e && !strcmp(e, "require");
}
static int wants_label(Class c) {
  return c == &C_MTLBuffer || c == &C_MTLCommandQueue || c == &C_MTLCommandBuffer || c == &C_MTLLibrary ||
         c == &C_MTLComputeCommandEncoder || c == &C_MTLComputePipelineState;
}

static void deallocate(hm_object *o) {
  Class c = o->isa;
  if (o->single) hm_bad("%s over-released", c->name);
  if (labels_required && wants_label(c) && !o->label) hm_bad("%s serial %u never got a label", c->name, o->serial);
  if (c->dealloc) c->dealloc(o);
  free(o->label);
  o->label = NULL;
  __atomic_sub_fetch(&hm_counted.live, 1, __ATOMIC_RELAXED);
  hm_lock();
  o->prev->next = o->next;
  o->next->prev = o->prev;
  if (c == &C_MTLBuffer) { /* for fault reports */
    o->next = hm_zombies;
    hm_zombies = o;
  }
  hm_unlock();
  o->isa = &C_Zombie;
}
hm_stats hm_get_stats(void) {
  hm_stats s;
  hm_lock();
  s = hm_counted;
  hm_unlock();
  return s;
}

void hm_want(id o, Class c, const char *where) {
  if (o && o->isa == c) return;
  hm_bad("%s: expected a %s, got %s", where, c->name,
         !o                    ? "nil"
         : o->isa == &C_Zombie ? "deallocated object"
                               : o->isa->name);
}

/* ---- selectors and classes ---- */
static struct selector {
  const char *name;
  struct selector *next;
} *selectors[256];

SEL sel_registerName(const char *name) {
  unsigned h = 5381;
  HM_COUNT(selectors);
  for (const char *p = name; *p; p++) h = h * 33 + (unsigned char)*p;
  hm_lock();
  struct selector *s = selectors[h & 255];
  while (s && strcmp(s->name, name)) s = s->next;
  if (!s) {
    s = malloc(sizeof *s);
    s->name = strdup(name);
    s->next = selectors[h & 255];
    selectors[h & 255] = s;
  }
  hm_unlock();
  return (SEL)s;
}
const char *sel_getName(SEL s) { return ((struct selector *)s)->name; }
Class object_getClass(id o) { return o ? o->isa : NULL; }
const char *class_getName(Class c) { return c ? c->name : "nil"; }
BOOL class_respondsToSelector(Class c, SEL s) {
  return c && hm_find(c, s) != NULL && !hm_too_new(c, sel_getName(s));
}

IMP hm_find(Class c, SEL s) {
  for (; c; c = c->super)
    for (hm_method *m = c->methods; m && m->name; m++)
      if (m->sel == s) return (IMP)m->imp;
  return NULL;
}

/* Called by objc_msgSend (msgsend.S). entry: see hm_types.c; NULL: the receiver is nil. */
__attribute__((visibility("hidden"))) IMP hm_lookup(id self, SEL s, int entry, int stret) {
  HM_COUNT(messages);
  if (self && self->isa == &C_Zombie)
    hm_bad("-%s sent to a deallocated object (serial %u)", sel_getName(s), ((hm_object *)self)->serial);
  IMP f = self ? hm_find(self->isa, s) : NULL;
  if (self && !f)
    hm_bad("%c[%s %s]: unrecognized selector", self->isa->name[0] == '+' ? '+' : '-', self->isa->name,
           sel_getName(s));
  hm_check_types(self, s, entry, stret);
  return f;
}

/* ---- retain counts and pools ---- */
id objc_retain(id x) {
  hm_object *o = (hm_object *)x;
  if (!o) return x;
  if (o->isa == &C_Zombie) hm_bad("retain of a deallocated object");
  __atomic_add_fetch(&o->retain_count, 1, __ATOMIC_SEQ_CST);
  return x;
}
id objc_retainAutoreleasedReturnValue(id x) { return objc_retain(x); }
void objc_release(id x) {
  hm_object *o = (hm_object *)x;
  if (!o) return;
  if (o->isa == &C_Zombie) hm_bad("over-release (serial %u)", o->serial);
  if (__atomic_sub_fetch(&o->retain_count, 1, __ATOMIC_SEQ_CST) == 0) deallocate(o);
}

static __thread struct {
  id *v;
  int n, capacity, depth;
} pool;
void *objc_autoreleasePoolPush(void) {
  pool.depth++;
  return (void *)(intptr_t)(pool.n + 1);
}
void objc_autoreleasePoolPop(void *p) {
  int k = (int)(intptr_t)p - 1;
  if (k < 0 || k > pool.n || !pool.depth) hm_bad("autorelease pool popped out of order");
  while (pool.n > k) {
    id o = pool.v[--pool.n];
    __atomic_sub_fetch(&((hm_object *)o)->pooled, 1, __ATOMIC_RELAXED);
    objc_release(o);
  }
  pool.depth--;
}
id objc_autorelease(id o) {
  if (!o) return o;
  if (!pool.depth) {
    fprintf(stderr, "hostmetal: %s autoreleased with no pool in place - leaking\n", o->isa->name);
    return o;
  }
  if (pool.n == pool.capacity)
    pool.v = realloc(pool.v, (pool.capacity = pool.capacity ? 2 * pool.capacity : 64) * sizeof *pool.v);
  pool.v[pool.n++] = o;
  __atomic_add_fetch(&((hm_object *)o)->pooled, 1, __ATOMIC_RELAXED);
  return o;
}

/* ---- what most objects have ---- */
id hm_label(id o, SEL s) { (void)s; return hm_string_of(((hm_object *)o)->label); }
void hm_set_label(id o, SEL s, id label) {
  (void)s;
  char *copy = label ? strdup(hm_text(label, "setLabel:")) : NULL;
  free(((hm_object *)o)->label);
  ((hm_object *)o)->label = copy;
}
id hm_get_device(id o, SEL s) { (void)o; (void)s; return hm_device; }
void hm_debug_group(int *depth, int change, const char *where) {
  *depth += change;
  if (*depth < 0) hm_bad("%s: popDebugGroup without pushDebugGroup:", where);
}

static id ns_retain(id o, SEL s) { (void)s; return objc_retain(o); }
static void ns_release(id o, SEL s) { (void)s; objc_release(o); }
static id ns_autorelease(id o, SEL s) { (void)s; return objc_autorelease(o); }
static NSUInteger ns_retain_count(id o, SEL s) { (void)s; return ((hm_object *)o)->retain_count; }
static id ns_init(id o, SEL s) { (void)s; return o; }
static Class ns_class(id o, SEL s) { (void)s; return o->isa; }
static BOOL ns_is_kind(id o, SEL s, Class c) {
  (void)s;
  for (Class k = o->isa; k; k = k->super)
    if (k == c) return 1;
  return 0;
}
static BOOL ns_responds(id o, SEL s, SEL q) { (void)s; return class_respondsToSelector(o->isa, q); }
static BOOL ns_is_equal(id o, SEL s, id other) { (void)s; return o == other; }
static NSUInteger ns_hash(id o, SEL s) { (void)s; return (NSUInteger)o; }
static id ns_description(id o, SEL s) {
  (void)s;
  hm_object *h = (hm_object *)o;
  char text[160];
  snprintf(text, sizeof text, "<%s %u%s%.80s>", h->isa->name, h->serial, h->label ? " " : "",
           h->label ? h->label : "");
  return hm_string_of(text);
}
static hm_method object_methods[] = {{"retain", ns_retain, 0},
                                     {"release", ns_release, 0},
                                     {"autorelease", ns_autorelease, 0},
                                     {"retainCount", ns_retain_count, 0},
                                     {"init", ns_init, 0},
                                     {"class", ns_class, 0},
                                     {"isKindOfClass:", ns_is_kind, 0},
                                     {"respondsToSelector:", ns_responds, 0},
                                     {"isEqual:", ns_is_equal, 0},
                                     {"hash", ns_hash, 0},
                                     {"description", ns_description, 0},
                                     HM_END};
HM_CLASS(NSObject, object_methods, NULL, NULL)
