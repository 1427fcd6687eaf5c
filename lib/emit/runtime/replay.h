/* replay.h - the replay engine's types: the tape, messages to Metal's objects, the context. See replay.c. */
#include "abi.h"

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

enum { NVR_INPUT, NVR_OUTPUT, NVR_SCRATCH };
typedef struct nvr_place { /* what a kernel's next buffer is bound to */
  unsigned space;         /* NVR_INPUT, NVR_OUTPUT, NVR_SCRATCH */
  unsigned index;         /* which input or output */
  size_t offset;          /* bytes into the scratch arena */
} nvr_place;

typedef struct nvr_launch {
  unsigned kernel;         /* into the tape's kernels */
  int barrier;             /* waits for the launches before it */
  unsigned nplaces;        /* buffers bound, from index 0 */
  const nvr_place *places;
  size_t grid[3];          /* threads */
} nvr_launch;

typedef struct nvr_signature {
  const nvr_type *inputs, *outputs; /* one each of the entry's names */
  const nvr_launch *launches;
  size_t nlaunches;
  size_t scratch; /* bytes of the arena that intermediates share; not 0 where an array is empty */
} nvr_signature;

typedef struct nvr_entry {
  const char *name;
  const char *const *inputs; /* paths */
  size_t ninputs;
  const char *const *outputs;
  size_t noutputs;
  const nvr_signature *signatures;
  size_t nsignatures;
  size_t first; /* signatures of the entries before this one */
} nvr_entry;

typedef struct nvr_tape {
  const char *name;
  const char *tie; /* the kernel whose name proves that the metallib was built from this tape's .metal: nvr_probe */
  const char *os;  /* the oldest system that the metallib loads on */
  long os_major, os_minor;
  long family_apple, family_mac; /* MTLGPUFamily: one of the two must be supported */
  const nvr_kernel *kernels;
  size_t nkernels;
  const nvr_entry *entries;
  size_t nentries, nsignatures; /* nsignatures: of all entries */
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
  X(status, "status")                                                                                        \
  X(error, "error")

#define NVR_SELECTOR_ID(id, text) NVR_S_##id,
#define NVR_SELECTOR_TEXT(id, text) text,
enum { NVR_SELECTORS(NVR_SELECTOR_ID) NVR_NSELECTORS };

/* ---- the context ---- */

enum {
  NVR_TEXT = 1024,    /* bytes of an error text, its NUL included */
  NVR_MESSAGES = 64,  /* threads whose last error text is kept */
  NVR_GROUP = 256,    /* most threads a threadgroup: enough to fill a core, and several groups a core */
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
  void *copy;             /* an output's bytes before they are copied to host memory, or NULL */
} nvr_bound;

typedef struct nvr_span { /* memory of one array: addresses, or offsets into a buffer that the CPU can't see */
  uintptr_t base, start, end;
  size_t index; /* inputs, then outputs */
} nvr_span;

typedef struct nvr_slot { /* what one call of one signature needs; kept for the next one */
  struct nvr_slot *next;
  id scratch;
  nvr_bound *bound;
  nvr_span *spans;
} nvr_slot;

typedef struct nvr_pipeline {
  id state;
  id label;       /* NSString */
  nvr_uint limit;  /* threads a threadgroup: a power of two, or what the kernel must have */
} nvr_pipeline;

typedef struct nvr_context {
  const nvr_tape *tape;
  nuvec_status made; /* what creation came to */
  SEL sel[NVR_NSELECTORS];
  id string_class;
  id device, queue, library;
  nvr_uint max_buffer;
  nvr_pipeline *pipelines; /* one a kernel */
  id *labels;             /* NSString, one an entry */

  pthread_mutex_t lock; /* guards what follows */
  nvr_slot **idle;       /* one list a signature */
  size_t in_flight;
  nvr_message *messages; /* latest first */
} nvr_context;
