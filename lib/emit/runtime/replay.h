/* replay.h - the replay engine's types: the tape, messages to Metal's objects, the context. See replay.c.
 *
 * What stands under NVR_OPEN goes into graphs with open sizes only, what stands under !NVR_OPEN into the others; the
 * compiler resolves these conditions and pastes neither them nor this. */
#ifndef NVR_OPEN
#define NVR_OPEN 1
#endif
#include "abi.h"

#if NVR_OPEN
#include <math.h>
#endif
#include <objc/message.h>
#include <objc/runtime.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the tape: constant tables that say what to replay ---- */

typedef struct nvr_kernel {
  const char *name;  /* of the function in the metallib */
  const char *nodes; /* the spec's nodes that it computes */
  int simd;          /* its threads exchange values: needs simdgroups of 32 */
  unsigned group;    /* threads a threadgroup must have, all along x; 0: any */
} nvr_kernel;

typedef struct nvr_type {
  nuvec_dtype dtype;
  int32_t rank;
  const int64_t *shape; /* rank sizes; never NULL */
  size_t bytes;
  size_t align; /* what its offset in a buffer must be a multiple of */
} nvr_type;

enum { NVR_INPUT, NVR_OUTPUT, NVR_SCRATCH, NVR_DATA };
typedef struct nvr_place { /* what a kernel's next buffer is bound to */
  unsigned space;         /* NVR_INPUT, NVR_OUTPUT, NVR_SCRATCH, NVR_DATA */
  unsigned index;         /* which input or output */
  size_t offset;          /* bytes into the scratch arena or the data file */
} nvr_place;

#if NVR_OPEN
/* Sizes that a call says. The numbers of a call are: one a source, read off an axis of an input; behind them one a
 * step, made of numbers before it. A number may have no value (an overflow, a division by 0, sizes that don't
 * broadcast): a call that needs it is refused. */
enum {
  NVR_WHOLE, /* an int64: a is its low half, b its high half */
  NVR_ADD, NVR_MUL, NVR_DIV, NVR_MOD, NVR_MIN, NVR_MAX, NVR_BCAST, /* of the whole numbers a and b; rounded down */
  NVR_REAL, /* a double, by its bits, as WHOLE */
  NVR_TO_REAL, NVR_RECIPROCAL, /* of the whole number a: as a double; 1 over it, rounded once to float32 */
  NVR_PLUS, NVR_MINUS, NVR_TIMES, NVR_OVER, /* of the doubles a and b */
  NVR_NEGATIVE, NVR_ABSOLUTE, NVR_ROOT, /* of the double a */
  NVR_POWER /* of the double a; b is the whole number that it is raised to */
};
typedef struct nvr_operation {
  unsigned op, a, b;
} nvr_operation;

typedef struct nvr_source { /* (size of the axis - offset) / factor */
  const char *name;
  unsigned input, axis;
  int64_t factor, offset, least, most;
} nvr_source;

typedef struct nvr_axis { /* an open axis of an input or output */
  unsigned array, axis, number, source; /* source: one that the number follows from */
  const char *text;                     /* the number as an expression */
} nvr_axis;

enum { NVR_EQUAL, NVR_BROADCASTS, NVR_REPEATS, NVR_AT_MOST }; /* REPEATS: equal, or a is 1 */
typedef struct nvr_guard { /* must hold */
  unsigned relation, a, b;
  const char *a_text, *b_text; /* NULL: a constant */
  const char *node;            /* of the spec, which needs it; NULL: a declaration */
} nvr_guard;

typedef struct nvr_field { /* a word of 64 bits that a kernel is given: a number in its dtype, zeros behind it */
  unsigned number;
  int real; /* the number is a double */
  nuvec_dtype dtype;
} nvr_field;

typedef struct nvr_sizes { /* of a launch */
  unsigned grid[3]; /* numbers */
  unsigned nfields;
  const nvr_field *fields;
} nvr_sizes;

typedef struct nvr_open_sizes {
  const nvr_source *sources;
  const nvr_operation *steps;
  const nvr_axis *inputs, *outputs;
  const nvr_guard *guards;
  const unsigned *slots; /* numbers: bytes of intermediates, each a part of the arena of its own */
  size_t nsources, nsteps, ninputs, noutputs, nguards, nslots;
} nvr_open_sizes;
#endif
typedef struct nvr_launch {
  unsigned kernel;         /* into the tape's kernels */
  int barrier;             /* waits for the launches before it */
  unsigned nplaces;        /* buffers bound, from index 0 */
  const nvr_place *places;
  size_t grid[3];          /* threads */
#if NVR_OPEN
  const nvr_sizes *sizes; /* NULL: all are known */
  const uint64_t *words;  /* of the fields, bound behind the buffers; in the tape NULL */
#endif
} nvr_launch;

enum { NVR_CALL, NVR_BOUND, NVR_STATE, NVR_STATICS, NVR_SOURCES };
typedef struct nvr_port { /* an input or output */
  const char *name;       /* path */
  unsigned from;          /* where its array stands: in the call's struct, among bound inputs, in the state */
  size_t at;              /* bytes into that */
} nvr_port;

enum { NVR_INT, NVR_FLOAT, NVR_CHOICE }; /* int64_t, double, int */
typedef struct nvr_key {  /* what a call says beside its arrays: a static, the variant of an enum node */
  const char *name;
  int kind;
  unsigned from;
  size_t at;
  const char *const *choices; /* CHOICE: their texts */
  size_t nchoices;
} nvr_key;

typedef struct nvr_form { /* trees of one form: what signatures whose enum nodes have the same variants share */
  const nvr_port *inputs, *outputs;
  size_t ninputs, noutputs;
  const nvr_key *keys; /* first the variants that tell the forms apart, in the same order in all */
  size_t nkeys, nvariants;
  const int64_t *variants; /* this form's */
} nvr_form;

typedef struct nvr_signature {
  const nvr_form *form;
  const int64_t *keys;              /* values of the form's keys; a double as its bits */
  const nvr_type *inputs, *outputs; /* one each of the form's ports */
  const nvr_launch *launches;
  size_t nlaunches;
  size_t scratch; /* bytes of the arena that intermediates share; not 0 where an array is empty */
#if NVR_OPEN
  /* NULL: all sizes are known. Else open sizes of types are -1, their bytes those of an element; a place in the arena
   * has the number of a slot. A replay has a copy with all known. */
  const nvr_open_sizes *open;
#endif
} nvr_signature;

typedef struct nvr_entry {
  const char *name;
  const nvr_form *forms;
  size_t nforms;
  const nvr_signature *signatures;
  size_t nsignatures;
  const unsigned short *table; /* of nvr_hash: number of the signature + 1, 0: none; NULL: one signature */
  size_t mask;                 /* the table has mask + 1 places */
#if NVR_OPEN
  const unsigned short *open_table; /* the same of nvr_open_hash, for those with open sizes; of those that fit one call
                                       the one with the fewest comes first */
  size_t open_mask;
#endif
  size_t capacity;             /* replays kept */
  int in_place;                /* mut: a failed step may lose the state */
} nvr_entry;

typedef struct nvr_data { /* the file of constant arrays: data.c */
  const char *hash;       /* 16 characters that stand in it, too */
  size_t bytes;
} nvr_data;

typedef struct nvr_tape {
  const char *name;
  const char *tie; /* the kernel whose name proves that the metallib was built from this tape's .metal: nvr_probe */
  const char *os;  /* the oldest system that the metallib loads on */
  long os_major, os_minor;
  long family_apple, family_mac; /* MTLGPUFamily: one of the two must be supported */
  const nvr_kernel *kernels;
  size_t nkernels;
  const nvr_entry *entries;
  size_t nentries;
} nvr_tape;

static const char *const nvr_dtypes[] = {"bool",  "uint8", "uint16",  "uint32",   "uint64",  "int8",     "int16",
                                         "int32", "int64", "float16", "bfloat16", "float32", "complex64"};
enum { NVR_NDTYPES = sizeof nvr_dtypes / sizeof nvr_dtypes[0] };

/* ---- messages ---- */

typedef unsigned long nvr_uint; /* NSUInteger */
typedef struct nvr_size {       /* MTLSize */
  nvr_uint width, height, depth;
} nvr_size;
typedef struct nvr_version { /* NSOperatingSystemVersion */
  long major, minor, patch;
} nvr_version;

extern id MTLCreateSystemDefaultDevice(void);
extern id dispatch_data_create(const void *bytes, size_t length, id queue, const void *destructor);
extern void *objc_autoreleasePoolPush(void);
extern void objc_autoreleasePoolPop(void *pool);
extern id objc_retain(id object);
extern void objc_release(id object);
extern void *_NSConcreteStackBlock[32];

/* NVR_SEND(types, result, (id, SEL, ...)) is objc_msgSend cast to that prototype. types is the method's encoding on
 * 64-bit Apple systems; it goes unused there. The compiler's test bed has <objc/hostmetal.h>, which holds string and
 * cast of every message against Metal's own declarations. No struct results, no variadic methods. */
#if defined(__has_include) && defined(__STDC_VERSION__)
#if __has_include(<objc/hostmetal.h>) && __STDC_VERSION__ >= 201112L
#define HM_STRUCTS , nvr_size * : "{?=QQQ}", nvr_version * : "{?=qqq}"
#include <objc/hostmetal.h>
#endif
#endif
#ifdef HM_SEND
#define NVR_SEND(types, result, parameters) HM_SEND(types, result, parameters)
#else
/* Read at run time, as gcc refuses calls through a cast function that it can see; constant all the same. */
static void (*const volatile nvr_send)(void) = (void (*)(void))objc_msgSend;
#define NVR_SEND(types, result, parameters) ((result(*) parameters)nvr_send)
#endif

#define NVR_SELECTORS(X)                                                                                      \
  X(stringWithUTF8String, "stringWithUTF8String:")                                                           \
  X(UTF8String, "UTF8String")                                                                                \
  X(fileURLWithPath, "fileURLWithPath:")                                                                     \
  X(stringByDeletingLastPathComponent, "stringByDeletingLastPathComponent")                                  \
  X(stringByAppendingPathComponent, "stringByAppendingPathComponent:")                                       \
  X(mainBundle, "mainBundle")                                                                                \
  X(pathForResource, "pathForResource:ofType:")                                                              \
  X(executablePath, "executablePath")                                                                        \
  X(processInfo, "processInfo")                                                                              \
  X(isOperatingSystemAtLeastVersion, "isOperatingSystemAtLeastVersion:")                                     \
  X(operatingSystemVersionString, "operatingSystemVersionString")                                            \
  X(localizedDescription, "localizedDescription")                                                            \
  X(code, "code")                                                                                            \
  X(name, "name")                                                                                            \
  X(device, "device")                                                                                        \
  X(supportsFamily, "supportsFamily:")                                                                       \
  X(maxBufferLength, "maxBufferLength")                                                                      \
  X(newCommandQueue, "newCommandQueue")                                                                      \
  X(newLibraryWithURL, "newLibraryWithURL:error:")                                                           \
  X(newLibraryWithData, "newLibraryWithData:error:")                                                         \
  X(newFunctionWithName, "newFunctionWithName:")                                                             \
  X(new_, "new")                                                                                             \
  X(setLabel, "setLabel:")                                                                                   \
  X(setComputeFunction, "setComputeFunction:")                                                               \
  X(newComputePipelineState, "newComputePipelineStateWithDescriptor:options:reflection:error:")              \
  X(maxTotalThreadsPerThreadgroup, "maxTotalThreadsPerThreadgroup")                                          \
  X(threadExecutionWidth, "threadExecutionWidth")                                                            \
  X(newBufferWithLength, "newBufferWithLength:options:")                                                     \
  X(newBufferWithBytesNoCopy, "newBufferWithBytesNoCopy:length:options:deallocator:")                        \
  X(contents, "contents")                                                                                    \
  X(length, "length")                                                                                        \
  X(commandBuffer, "commandBuffer")                                                                          \
  X(computeCommandEncoder, "computeCommandEncoderWithDispatchType:")                                         \
  X(pushDebugGroup, "pushDebugGroup:")                                                                       \
  X(popDebugGroup, "popDebugGroup")                                                                          \
  X(setComputePipelineState, "setComputePipelineState:")                                                     \
  X(setBuffer, "setBuffer:offset:atIndex:")                                                                  \
  X(memoryBarrierWithScope, "memoryBarrierWithScope:")                                                       \
  X(dispatchThreads, "dispatchThreads:threadsPerThreadgroup:")                                               \
  X(endEncoding, "endEncoding")                                                                              \
  X(commit, "commit")                                                                                        \
  X(waitUntilCompleted, "waitUntilCompleted")                                                                \
  X(addCompletedHandler, "addCompletedHandler:")                                                             \
  X(GPUStartTime, "GPUStartTime")                                                                            \
  X(GPUEndTime, "GPUEndTime")                                                                                \
  X(status, "status")                                                                                        \
  X(error, "error")

#define NVR_SELECTOR_ID(id, text) NVR_S_##id,
#define NVR_SELECTOR_TEXT(id, text) text,
#if NVR_OPEN
#define NVR_OPEN_SELECTORS(X) X(setBytes, "setBytes:length:atIndex:")
enum { NVR_SELECTORS(NVR_SELECTOR_ID) NVR_OPEN_SELECTORS(NVR_SELECTOR_ID) NVR_NSELECTORS };
#else
enum { NVR_SELECTORS(NVR_SELECTOR_ID) NVR_NSELECTORS };
#endif

/* ---- the context ---- */

enum {
  NVR_TEXT = 1024,    /* bytes of an error text, its NUL included */
  NVR_MESSAGES = 64,  /* threads whose last error text is kept */
  NVR_GROUP = 256,    /* most threads a threadgroup: enough to fill a core, and several groups a core */
  NVR_MAX_RANK = 16,
  NVR_PAGE = 16384    /* the largest page of Apple's systems: what memory is wrapped in */
};

typedef struct nvr_message { /* the last error text of one thread */
  struct nvr_message *next;
  pthread_t thread;
  char text[NVR_TEXT];
} nvr_message;

typedef struct nvr_bound { /* one array of a call in flight */
  id buffer;              /* bound to the kernels; NULL: the array is empty */
  size_t offset;
  id kept;                /* copy of host memory, made once a slot */
  id made;                /* wrapped host memory or a new output, of this call */
  void *copy, *host;      /* an output's bytes before they are copied to host memory, or NULL; that memory */
} nvr_bound;

typedef struct nvr_span { /* memory of one array: addresses, or offsets into a buffer that the CPU can't see */
  uintptr_t base, start, end;
  size_t index; /* inputs, then outputs */
} nvr_span;

struct nvr_slot;
typedef void (*nvr_settle)(struct nvr_slot *slot, nuvec_status status);

typedef struct nvr_arrays {         /* of a call */
  const void *in[NVR_SOURCES];      /* what ports and keys say they stand in */
  void *out[NVR_SOURCES];
  size_t nin, nout;                 /* how many the caller says; NVR_KNOWN: its type says it */
  int packed;                       /* all in in[NVR_CALL] and out[NVR_CALL], in order of the ports */
  long signature;                   /* packed: which; -1: the arrays say it */
} nvr_arrays;
#define NVR_KNOWN ((size_t)-1)

typedef struct nvr_slot { /* a prepared replay: what one call of one signature needs, kept for the next one */
  struct nvr_slot *next, *previous; /* idle ones of the signature, newest first */
  struct nvr_slot *older, *newer;   /* idle ones of the function object */
  struct nvr_function *function;
  const nvr_signature *signature;
#if NVR_OPEN
  void *own;                /* the memory of a signature at the sizes of this replay, or NULL */
  long said;                /* the number of the signature that its calls say, -1: none */
  size_t list;              /* which of the function object's lists of idle ones it stands in */
#endif
  id scratch;
  size_t bytes; /* of scratch and kept copies */
  nvr_bound *bound;
  nvr_span *spans;
  nvr_arrays arrays; /* of the call in flight */
  nuvec_done done;   /* asynchronous: who is told at the end, with user */
  void *user;
  nvr_settle settle; /* who is told before, or NULL */
  struct nvr_state *state; /* whose step it is, for settle */
  int sent;                /* committed */
} nvr_slot;

typedef struct nvr_pipeline {
  id state;
  id label;       /* NSString */
  nvr_uint limit; /* threads a threadgroup: a power of two, or what the kernel must have */
} nvr_pipeline;

typedef struct nvr_function { /* an entry with its bound inputs and its replays */
  struct nvr_context *context;
  const nvr_entry *entry;
  id label;            /* NSString */
  void *bound;         /* NVR_BOUND: the app's struct, its buffers held, its shapes copied; NULL: nothing is bound */
  const nvr_form *form; /* of what is bound; NULL: nothing */
  int64_t *shapes;
  /* guarded by the context's lock */
#if NVR_OPEN
  nvr_slot **idle; /* one list a signature, then NVR_LISTS for those of open sizes, by a hash of the sizes */
#else
  nvr_slot **idle; /* one list a signature */
#endif
  nvr_slot *newest, *oldest;
  size_t capacity, waiting, in_flight, bytes, states;
  uint64_t hits, misses, evictions;
} nvr_function;

typedef struct nvr_state { /* of an entry of style mut: arrays in buffers of its own, one a dtype */
  nvr_function *function;
  size_t size;        /* of the leaves' struct */
  void *now, *next;   /* NVR_STATE: leaves as they are; where a step puts them */
  id now_buffers[NVR_NDTYPES], next_buffers[NVR_NDTYPES];
  int64_t *shapes;    /* of the leaves it was made of or loaded with */
  /* guarded by the context's lock */
  size_t steps;       /* in flight */
  int lost;
} nvr_state;

#if NVR_OPEN
enum { NVR_LISTS = 64 };

typedef struct nvr_kept_shape { /* a shape of an output, in a trie by its hash, two bits a step */
  struct nvr_kept_shape *child[4], *next; /* next: all of them */
  int32_t rank;
  int64_t sizes[1]; /* rank of them */
} nvr_kept_shape;
#endif

typedef struct nvr_context {
  const nvr_tape *tape;
  nuvec_status made; /* what creation came to */
  SEL sel[NVR_NSELECTORS];
  id string_class;
  id device, queue, library;
  id data;           /* the data file, or NULL; its memory where it was mapped */
  void *mapped;
  size_t mapped_bytes;
  void (*drop_data)(struct nvr_context *c);
  nvr_uint max_buffer;
  nvr_pipeline *pipelines; /* one a kernel */
  nvr_function *functions; /* one an entry, for calls on the context */

  pthread_mutex_t lock;    /* guards what follows */
  pthread_cond_t quiet;    /* nothing is in flight any more */
  size_t in_flight;
  size_t objects;          /* function objects and states */
  nvr_message *messages;   /* latest first */
#if NVR_OPEN
  nvr_kept_shape *shapes, *all_shapes; /* of outputs, which may outlive the replays that made them */
#endif
} nvr_context;
