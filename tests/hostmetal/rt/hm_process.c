/* hm_process.c - what concerns the whole process: class registry, start, faults in kernels, leaks at exit.
 * Environment: HOSTMETAL_TRACE=1 logs dispatches and labels; HOSTMETAL_POISON=0 zero-fills new buffers;
 * HOSTMETAL_LEAKS=0 turns the exit leak check (exit code 99) off; HOSTMETAL_NOSEGV=1 leaves faults alone;
 * HOSTMETAL_LABELS=require makes an object without a label a misuse; hm_hooks.h names the others. */
#define _GNU_SOURCE
#include "hm.h"
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ENTRY(n) &hm_def_##n,
static const hm_class_def *const classes[] = {HM_CLASSES(ENTRY)};
enum { NCLASSES = sizeof classes / sizeof *classes };

/* Protocols (MTLDevice, MTLBuffer, ...) are no classes: only what has class methods can be had by name. */
Class objc_getClass(const char *name) {
  HM_COUNT(classes);
  for (int i = 0; i < NCLASSES; i++)
    if (!strcmp(classes[i]->name, name)) return classes[i]->class_methods ? classes[i]->cls : NULL;
  return NULL;
}
Class objc_lookUpClass(const char *name) { return objc_getClass(name); }

static void register_class(const hm_class_def *d) {
  char *meta_name = malloc(64);
  snprintf(meta_name, 64, "+%s", d->name);
  *d->cls = (struct objc_class){d->meta, d->name, d->instance_methods, d->cls == &C_NSObject ? NULL : &C_NSObject,
                                d->dealloc};
  *d->meta = (struct objc_class){NULL, meta_name, d->class_methods, NULL, NULL};
  for (hm_method *m = d->instance_methods; m && m->name; m++) m->sel = sel_registerName(m->name);
  for (hm_method *m = d->class_methods; m && m->name; m++) m->sel = sel_registerName(m->name);
}

/* ---- a fault in a kernel: which one, which thread, which byte of which buffer ---- */
static int in_buffer(hm_object *o, char *address, char *text, size_t size, const char *state) {
  hm_buffer *b = (hm_buffer *)o;
  if (o->isa != &C_MTLBuffer && o->isa != &C_Zombie) return 0;
  if (b->user || address < b->g.map || address >= b->g.map + b->g.map_length) return 0;
  int n = snprintf(text, size, ": byte %ld of a %s%lu-byte MTLBuffer", (long)(address - b->g.p), state, b->length);
  if (*state) n += snprintf(text + n, size - n, " (serial %u)", o->serial);
  return n;
}
static void on_fault(int sig, siginfo_t *info, void *context) {
  (void)context;
  char *at = info->si_addr, *address = msl_original(at), text[512];
  int n = snprintf(text, sizeof text, "hostmetal: %s: %s at %p", msl_where(),
                   sig == SIGSEGV ? "out-of-bounds access" : "bus error", (void *)at);
  for (hm_object *o = hm_live.next; o != &hm_live; o = o->next)
    if (o->isa == &C_MTLBuffer) n += in_buffer(o, address, text + n, sizeof text - n, "");
  for (hm_object *o = hm_zombies; o; o = o->next)
    n += in_buffer(o, address, text + n, sizeof text - n, "deallocated ");
  if (address != at) n += snprintf(text + n, sizeof text - n, " (through a binding of which it is no part)");
  text[n++] = '\n';
  if (write(2, text, n)) {}
  signal(sig, SIG_DFL);
  raise(sig);
}

static void at_exit(void) {
  const char *e = getenv("HOSTMETAL_LEAKS");
  if (e && *e == '0') return;
  for (int i = 0; i < 10000 && __atomic_load_n(&hm_background, __ATOMIC_SEQ_CST); i++) usleep(1000);
  int n = 0;
  for (hm_object *o = hm_live.next; o != &hm_live; o = o->next, n++)
    fprintf(stderr, "hostmetal: leak: %s serial %u retain count %ld%s%s%s\n", o->isa->name, o->serial, o->retain_count,
            o->label ? " label " : "", o->label ? o->label : "",
            o->pooled ? " (in an autorelease pool never popped)" : "");
  for (hm_object *o = hm_singles; o; o = o->next) {
    if (o->retain_count == 1) continue;
    fprintf(stderr, "hostmetal: leak: %s retained %ld times\n", o->isa->name, o->retain_count - 1);
    n++;
  }
  if (n) {
    fflush(NULL);
    _exit(99);
  }
}

static void number(const char *name, unsigned long *v) {
  const char *e = getenv(name);
  char *end;
  if (!e) return;
  *v = strtoul(e, &end, 10);
  if (!*e || *end || !*v) hm_bad("%s: '%s' is no number", name, e);
}
__attribute__((constructor)) static void start(void) {
  const char *e;
  for (int i = 0; i < NCLASSES; i++) register_class(classes[i]);
  hm_counted = (hm_stats){0};
  hm_trace = (e = getenv("HOSTMETAL_TRACE")) && strcmp(e, "0");
  number("HOSTMETAL_MAXTHREADS", &hm_now.max_threads);
  number("HOSTMETAL_WIDTH", &hm_now.width);
  number("HOSTMETAL_MAXBUFFER", &hm_now.max_buffer);
  number("HOSTMETAL_PAGE", &hm_now.page);
  if ((e = getenv("HOSTMETAL_OS")) && !hm_set_os(e)) hm_bad("HOSTMETAL_OS: '%s' is no version", e);
  if ((e = getenv("HOSTMETAL_FAMILY")) && !hm_set_family(e))
    hm_bad("HOSTMETAL_FAMILY: '%s': expected such as apple6, or apple9,mac2,metal3", e);
  if (!getenv("HOSTMETAL_NOSEGV")) {
    static char alternate[65536];
    stack_t stack = {.ss_sp = alternate, .ss_size = sizeof alternate};
    sigaltstack(&stack, NULL);
    struct sigaction sa = {.sa_flags = SA_SIGINFO | SA_ONSTACK};
    sa.sa_sigaction = on_fault;
    sigaction(SIGSEGV, &sa, NULL);
    sigaction(SIGBUS, &sa, NULL);
  }
  atexit(at_exit);
}
