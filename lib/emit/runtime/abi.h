#ifndef NUVEC_ABI_1
#define NUVEC_ABI_1
/* Types that all generated headers share, so that one graph's output can be another's input. Types only: no symbols. */
#include <stddef.h>
#include <stdint.h>

/* What a call came to. The context's error function has the text of anything but NUVEC_OK. */
typedef enum nuvec_status {
  NUVEC_OK = 0,
  NUVEC_DTYPE = 1,           /* an array has another element type than the graph was compiled for */
  NUVEC_RANK = 2,            /* ... another number of dimensions */
  NUVEC_SHAPE = 3,           /* ... another size */
  NUVEC_GUARD = 4,           /* sizes break a condition that the graph was compiled under */
  NUVEC_SIGNATURE = 5,       /* no compiled signature fits the arrays and statics, or their number is wrong */
  NUVEC_STRIDES = 6,         /* an array isn't dense and row-major */
  NUVEC_NULL = 7,            /* a pointer that must not be NULL is */
  NUVEC_SHORT_BUFFER = 8,    /* an array's memory ends before its last element */
  NUVEC_MISALIGNED = 9,      /* an offset that the GPU can't read the element type at */
  NUVEC_ALIASING = 10,       /* an output shares memory with an input or with another output */
  NUVEC_METALLIB = 11,       /* the metallib can't be found or loaded */
  NUVEC_MISSING_KERNEL = 12, /* the metallib lacks a kernel, or Metal can't make a pipeline of it */
  NUVEC_WRONG_METALLIB = 13, /* the metallib belongs to another version of the graph */
  NUVEC_FAST_MATH = 14,      /* the metallib was built with fast math, which changes results */
  NUVEC_OS_TOO_OLD = 15,
  NUVEC_GPU_TOO_OLD = 16,    /* no Metal device, or one without what the kernels need */
  NUVEC_BUSY = 17,           /* calls are in flight, or what was made from this is still there */
  NUVEC_LOST = 18,           /* a failed step left the state undefined */
  NUVEC_OUT_OF_MEMORY = 19,
  NUVEC_BUFFER_LIMIT = 20,   /* an array is larger than the device's largest buffer */
  NUVEC_GPU_ERROR = 21,      /* the GPU gave up on this call */
  NUVEC_FILE = 22            /* a state's file can't be read or written, or isn't what the state needs */
} nuvec_status;

typedef enum nuvec_dtype {
  NUVEC_BOOL = 0, /* one byte, 0 or 1 */
  NUVEC_UINT8 = 1,
  NUVEC_UINT16 = 2,
  NUVEC_UINT32 = 3,
  NUVEC_UINT64 = 4,
  NUVEC_INT8 = 5,
  NUVEC_INT16 = 6,
  NUVEC_INT32 = 7,
  NUVEC_INT64 = 8,
  NUVEC_FLOAT16 = 9,
  NUVEC_BFLOAT16 = 10,
  NUVEC_FLOAT32 = 11,
  NUVEC_COMPLEX64 = 12 /* real part, imaginary part */
} nuvec_dtype;

/* An array and where it lies. Start from all zeros ({0}).
 * Memory: buffer is an id<MTLBuffer> as void *, the array beginning offset bytes into it; bytes says how many of the
 * buffer's bytes are the array's to use, 0: all behind offset. Without a buffer, host points at bytes bytes of the
 * app's own memory, which is used in place where pointer and bytes are multiples of 16384 and copied otherwise.
 * An output with neither is allocated by the call, which then sets buffer, host (the buffer's contents), offset and
 * bytes; such a buffer belongs to the caller: give it back with the graph's _release function.
 * strides, in elements, may be NULL: dense and row-major. shape has rank sizes; it may be NULL for rank 0. */
typedef struct nuvec_array {
  void *buffer;
  void *host;
  size_t offset, bytes;
  const int64_t *shape, *strides;
  int32_t rank;
  nuvec_dtype dtype;
} nuvec_array;

/* How a context is made. Start from all zeros ({0}): the default device, a queue of its own, the metallib beside the
 * executable or in the app's bundle under the graph's name. Objects are kept (retained) until the context is
 * destroyed; bytes are copied. */
typedef struct nuvec_options {
  void *device;      /* id<MTLDevice>; NULL: the queue's, else the default device */
  void *queue;       /* id<MTLCommandQueue> of that device; NULL: a new one */
  const char *path;  /* the metallib's file, UTF-8 */
  const void *bytes; /* or the metallib itself, length bytes; wins over path */
  size_t length;
} nuvec_options;

/* Called when an asynchronous call is over, with its status and the seconds that the GPU worked (0 after a failure).
 * On a thread of Metal's own; the context's error function has the text there. */
typedef void (*nuvec_done)(void *user, nuvec_status status, double gpu_seconds);

/* What an entry keeps for its next calls: prepared replays (memory between kernels, copies of host memory), the least
 * recently used given up first. Those in flight count too, and are never given up. */
typedef struct nuvec_cache {
  uint64_t hits, misses, evictions; /* calls that found one, that had to make one; replays given up */
  size_t capacity, replays;         /* how many are kept at most; how many are there, those in flight included */
  size_t bytes;                     /* device memory of those that wait for a call */
} nuvec_cache;
#endif
