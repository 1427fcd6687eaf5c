/* hm.h - private to the stand-in for the Objective-C runtime and Metal's compute classes.
 *   hm_runtime.c    selectors, message lookup, retain counts, autorelease pools, NSObject
 *   hm_types.c      every typed message against the table made from metal-selectors.json
 *   hm_memory.c     guarded memory
 *   hm_string.c     NSString, NSURL
 *   hm_foundation.c NSError, NSArray, NSDictionary, NSAutoreleasePool, NSBundle, NSProcessInfo
 *   hm_dispatch.c   blocks, dispatch_data, semaphores
 *   hm_device.c     device, buffers
 *   hm_library.c    libraries, functions, pipelines
 *   hm_encoder.c    compute encoder and the checks of a dispatch
 *   hm_command.c    queue, command buffers, running
 *   hm_hazard.c     bytes that dispatches share without a barrier
 *   hm_fail.c       calls that are made to fail
 *   hm_process.c    class registry, start, faults, leak check */
#ifndef HM_H
#define HM_H
#include "hm_hooks.h"
#include "msl_rt.h"
#include <objc/message.h>
#include <objc/runtime.h>
#include <pthread.h>
#include <stdint.h>

typedef unsigned long NSUInteger;
typedef struct MTLSize {
  NSUInteger width, height, depth;
} MTLSize;
typedef struct NSRange {
  NSUInteger location, length;
} NSRange;
typedef struct NSOperatingSystemVersion {
  long major, minor, patch;
} NSOperatingSystemVersion;
typedef struct hm_block { /* the block ABI */
  void *isa;
  int flags, reserved;
  void (*invoke)(void *, ...);
  const unsigned long *descriptor; /* reserved, size, then with flag bit 25 the copy and dispose helpers */
} hm_block;

/* exported by Apple's runtime too, declared in none of its public headers */
void *objc_autoreleasePoolPush(void);
void objc_autoreleasePoolPop(void *pool);
id objc_retain(id o);
void objc_release(id o);
id objc_autorelease(id o);
void *_Block_copy(const void *block);
void _Block_release(const void *block);

/* ---- objects and classes ---- */
typedef struct hm_method {
  const char *name;
  void *imp;
  SEL sel; /* filled in at start */
} hm_method;
typedef struct hm_object {
  Class isa;
  long retain_count;
  unsigned serial, pooled;
  int single; /* a static object: its own count of 1 is never given back */
  char *label;
  struct hm_object *prev, *next;
} hm_object;
struct objc_class {
  Class isa; /* must be first: a class is an object */
  const char *name;
  hm_method *methods;
  Class super;
  void (*dealloc)(hm_object *);
};
typedef struct hm_class_def {
  Class cls, meta;
  const char *name;
  hm_method *instance_methods, *class_methods;
  void (*dealloc)(hm_object *);
} hm_class_def;
#define HM_DECLARE(n) extern struct objc_class C_##n, M_##n; extern const hm_class_def hm_def_##n;
#define HM_CLASSES(X)                                                                                        \
  X(NSObject) X(NSString) X(NSURL) X(NSError) X(NSArray) X(NSDictionary) X(NSAutoreleasePool) X(NSBundle)    \
  X(NSProcessInfo) X(OS_dispatch_data) X(OS_dispatch_semaphore) X(OS_dispatch_queue) X(MTLCompileOptions)    \
  X(MTLDevice) X(MTLLibrary) X(MTLFunction) X(MTLComputePipelineDescriptor) X(MTLComputePipelineState)       \
  X(MTLBuffer) X(MTLCommandQueue) X(MTLCommandBuffer) X(MTLComputeCommandEncoder)
HM_CLASSES(HM_DECLARE)
extern struct objc_class C_Zombie; /* what a deallocated object becomes; none is ever freed */
#define HM_CLASS(n, instance, class_, dealloc)                                                               \
  struct objc_class C_##n, M_##n;                                                                            \
  const hm_class_def hm_def_##n = {&C_##n, &M_##n, #n, instance, class_, dealloc};
#define HM_END {0, 0, 0}
/* label, setLabel: and device, which most of Metal's objects have */
#define HM_LABELLED {"label", hm_label, 0}, {"setLabel:", hm_set_label, 0}, {"device", hm_get_device, 0}
id hm_label(id o, SEL s);
void hm_set_label(id o, SEL s, id label);
id hm_get_device(id o, SEL s);

__attribute__((format(printf, 1, 2), noreturn)) void hm_bad(const char *format, ...); /* one line, then abort */
void *hm_new(Class c, size_t size);
id hm_single(hm_object *o, Class c); /* makes a static object ready; its count stays 1 or more */
void hm_want(id o, Class c, const char *where);
IMP hm_find(Class c, SEL s);
void hm_debug_group(int *depth, int change, const char *where); /* push (+1), pop (-1) */
extern hm_object hm_live, *hm_zombies, *hm_singles; /* hm_live is the head of a ring */
void hm_lock(void);
void hm_unlock(void);

/* ---- typed messages ---- */
void hm_check_types(id self, SEL s, int entry, int stret);
struct hm_row {
  const char *class_name, *selector, *encoding;
  unsigned char is_class_method, stret; /* stret: x86-64 needs objc_msgSend_stret */
  short since;                          /* macOS version, 100 * major + minor */
};
extern const struct hm_row hm_rows[]; /* sorted by selector; made by tools/selectors.py */
extern const int hm_nrows;
const struct hm_row *hm_row_of(Class c, const char *selector);
int hm_too_new(Class c, const char *selector); /* the OS that is played has no such selector yet */

/* ---- guarded memory: data ends at an unreadable page, slack before and after holds canaries ---- */
typedef struct hm_memory {
  char *map, *p;
  size_t map_length, length;
} hm_memory;
hm_memory hm_alloc(size_t n, int fill);
void hm_check(hm_memory *g, const char *what);
void hm_release_memory(hm_memory *g, const char *what);
void hm_retire(hm_memory *g, const char *what); /* keep the addresses, unreadable */

/* ---- Foundation, libdispatch ---- */
typedef struct hm_string {
  hm_object o;
  char *s;
} hm_string;
id hm_new_string(Class c, const char *s);
id hm_string_of(const char *s); /* autoreleased; nil for NULL */
const char *hm_text(id string, const char *where); /* checks that it is an NSString */
id hm_new_array(NSUInteger n, id *items);          /* takes the array and one reference of each item */
void hm_set_error(id *e, const char *domain, long code, const char *format, ...);
typedef struct hm_data {
  hm_object o;
  void *p;
  size_t length;
  int owned; /* a copy, or to be freed */
  hm_block *destructor;
} hm_data;

/* ---- Metal ---- */
extern int hm_os;         /* 100 * major + minor */
extern id hm_device;      /* what every `device` getter returns; borrowed */
int hm_has_family(long family);
typedef struct hm_library {
  hm_object o;
  void *handle;
  const msl_library *l;
} hm_library;
typedef struct hm_function {
  hm_object o;
  hm_library *lib;
  const msl_kernel *k;
} hm_function;
typedef struct hm_pipeline {
  hm_object o;
  hm_library *lib;
  const msl_kernel *k;
  NSUInteger max_threads;
} hm_pipeline;
typedef struct hm_buffer {
  hm_object o;
  hm_memory g;
  void *user; /* the app's own memory, or NULL */
  NSUInteger length, options;
  hm_block *deallocator;
  unsigned char *touched; /* hm_hazard.c */
  unsigned long epoch;
} hm_buffer;
char *hm_buffer_bytes(hm_buffer *b);

enum hm_bind_kind { UNBOUND, BOUND_BUFFER, BOUND_BYTES };
typedef struct hm_bind {
  enum hm_bind_kind kind;
  hm_buffer *buffer;
  NSUInteger offset;
  hm_memory bytes;
} hm_bind;
typedef struct hm_dispatch { /* one item of a command buffer's work; pipeline NULL: a barrier */
  hm_pipeline *pipeline;
  int concurrent;
  unsigned grid[3], group[3];
  hm_bind bind[MSL_BUFFERS];
  NSUInteger tgmem[MSL_BUFFERS];
  hm_buffer **only; /* of a barrier: the buffers it is for; NULL: all */
  NSUInteger nonly;
  struct hm_dispatch *next;
} hm_dispatch;

typedef struct hm_queue hm_queue;
enum hm_status { NOT_ENQUEUED, ENQUEUED, COMMITTED, SCHEDULED, COMPLETED, FAILED }; /* Metal's numbers */
typedef struct hm_command {
  hm_object o;
  hm_queue *queue;
  enum hm_status status;
  int encoder_open, debug_depth, unretained, will_fail, ndispatches;
  hm_dispatch *first, **end;
  struct hm_command *next;
  hm_block *handler[8], *scheduled[8];
  int nhandlers, nscheduled, handled; /* handled: all handlers have returned */
  id *kept;
  int nkept;
  hm_memory *bytes; /* of setBytes */
  int nbytes;
  double start_time, end_time;
  id error;
} hm_command;
void hm_keep(hm_command *c, id o);
void hm_append(hm_command *c, hm_dispatch *d);
id hm_new_encoder(hm_command *c, int concurrent);
id hm_new_queue(id d, SEL s);
hm_block *hm_copy_block(const void *block, const char *where);

/* ---- hazards of a concurrent encoder, byte by byte, for kernels built with --count ---- */
void hm_hazard_barrier(const hm_dispatch *d);
void hm_hazard_launch(hm_dispatch *d, msl_launch *l); /* asks for the byte maps of the launch */

/* ---- the process ---- */
int hm_fails(enum hm_fail_kind kind); /* counts a call; 1: this one is to fail */
extern int hm_background;              /* threads that still run command buffers with handlers */
extern int hm_trace;
extern hm_stats hm_counted;
#define HM_COUNT(what) __atomic_add_fetch(&hm_counted.what, 1, __ATOMIC_RELAXED)
#endif
