/* hm_dispatch.c - blocks laid out by hand, and of libdispatch: data, semaphores, and a queue that only is there. */
#define _GNU_SOURCE
#include "hm.h"
#include <dispatch/dispatch.h>
#include <errno.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* ---- blocks: a global one is never copied, a stack one moves to the heap, a heap one counts references ---- */
enum { HAS_HELPERS = 1 << 25 };
void *_NSConcreteGlobalBlock[32], *_NSConcreteStackBlock[32];
static void *heap_block[32]; /* the isa of a copy */
typedef struct heap_header {
  long references, padding;
} heap_header;

void *_Block_copy(const void *block) {
  const hm_block *b = block;
  if (!b || b->isa == _NSConcreteGlobalBlock) return (void *)block;
  if (b->isa == heap_block) {
    __atomic_add_fetch(&((heap_header *)block - 1)->references, 1, __ATOMIC_SEQ_CST);
    return (void *)block;
  }
  if (b->isa != _NSConcreteStackBlock)
    hm_bad("block: its isa is neither _NSConcreteStackBlock nor _NSConcreteGlobalBlock");
  size_t size = b->descriptor[1];
  if (size < sizeof *b || size > 1 << 16) hm_bad("block: its descriptor gives a size of %zu", size);
  heap_header *h = malloc(sizeof *h + size);
  hm_block *copy = (hm_block *)(h + 1);
  h->references = 1;
  memcpy(copy, b, size);
  copy->isa = heap_block;
  if (b->flags & HAS_HELPERS) ((void (*)(void *, const void *))b->descriptor[2])(copy, b);
  return copy;
}
void _Block_release(const void *block) {
  const hm_block *b = block;
  if (!b || b->isa != heap_block) return;
  heap_header *h = (heap_header *)block - 1;
  if (__atomic_sub_fetch(&h->references, 1, __ATOMIC_SEQ_CST)) return;
  if (b->flags & HAS_HELPERS) ((void (*)(const void *))b->descriptor[3])(b);
  free(h);
}
hm_block *hm_copy_block(const void *block, const char *where) {
  const hm_block *b = block;
  if (!b || !b->invoke || !b->descriptor) hm_bad("%s: bad block", where);
  return _Block_copy(block);
}

/* ---- data ---- */
static void free_it(void *block) { (void)block; }
static const unsigned long free_descriptor[2] = {0, sizeof(hm_block)};
static const hm_block free_block = {_NSConcreteGlobalBlock, 1 << 28, 0, (void (*)(void *, ...))(void *)free_it,
                                    free_descriptor};
const void *const _dispatch_data_destructor_free = &free_block;

dispatch_data_t dispatch_data_create(const void *p, size_t n, dispatch_queue_t queue, dispatch_block_t destructor) {
  (void)queue;
  hm_data *d = hm_new(&C_OS_dispatch_data, sizeof *d);
  d->length = n;
  d->owned = !destructor || destructor == (void *)&free_block;
  d->p = (void *)p;
  if (!destructor) {
    d->p = malloc(n ? n : 1);
    memcpy(d->p, p, n);
  } else if (!d->owned) d->destructor = hm_copy_block(destructor, "dispatch_data_create");
  return (dispatch_data_t)d;
}
size_t dispatch_data_get_size(dispatch_data_t d) {
  hm_want((id)d, &C_OS_dispatch_data, "dispatch_data_get_size");
  return ((hm_data *)d)->length;
}
static void data_dealloc(hm_object *o) {
  hm_data *d = (hm_data *)o;
  if (d->owned) free(d->p);
  if (!d->destructor) return;
  ((void (*)(void *))d->destructor->invoke)(d->destructor);
  _Block_release(d->destructor);
}
static hm_method no_methods[] = {HM_END};
HM_CLASS(OS_dispatch_data, no_methods, NULL, data_dealloc)

void dispatch_retain(dispatch_object_t o) { objc_retain(o); }
void dispatch_release(dispatch_object_t o) {
  if (!o) hm_bad("dispatch_release: NULL");
  objc_release(o);
}

/* ---- semaphores ---- */
typedef struct hm_semaphore {
  hm_object o;
  sem_t s;
} hm_semaphore;
dispatch_semaphore_t dispatch_semaphore_create(intptr_t value) {
  if (value < 0) return NULL;
  hm_semaphore *s = hm_new(&C_OS_dispatch_semaphore, sizeof *s);
  sem_init(&s->s, 0, (unsigned)value);
  return (dispatch_semaphore_t)s;
}
intptr_t dispatch_semaphore_wait(dispatch_semaphore_t s, dispatch_time_t timeout) {
  hm_want((id)s, &C_OS_dispatch_semaphore, "dispatch_semaphore_wait");
  int r;
  do r = timeout == DISPATCH_TIME_FOREVER ? sem_wait(&((hm_semaphore *)s)->s) : sem_trywait(&((hm_semaphore *)s)->s);
  while (r && errno == EINTR);
  return r;
}
intptr_t dispatch_semaphore_signal(dispatch_semaphore_t s) {
  hm_want((id)s, &C_OS_dispatch_semaphore, "dispatch_semaphore_signal");
  return sem_post(&((hm_semaphore *)s)->s);
}
HM_CLASS(OS_dispatch_semaphore, no_methods, NULL, NULL)

static hm_object global_queue;
dispatch_queue_t dispatch_get_global_queue(intptr_t identifier, uintptr_t flags) {
  (void)identifier; (void)flags;
  return (dispatch_queue_t)hm_single(&global_queue, &C_OS_dispatch_queue);
}
HM_CLASS(OS_dispatch_queue, no_methods, NULL, NULL)
