/* msl_rt.h - the contract between a compiled .metal file (an ELF "metallib"), the code that runs it
 * (msl_run.c) and whoever launches it (the Metal stand-in, or a test driver directly).
 *
 * Environment, read once at load into msl_defaults:
 *   MSL_FTZ=1            flush float32 and bfloat subnormals, as Apple's GPUs do
 *   MSL_BYTES=1|FILE     count the distinct bytes each launch reads and writes; one JSON line a launch
 *                        to standard error, or appended to FILE
 *   MSL_ORDER=fwd|rev|N  order in which the threads of a threadgroup start (N seeds a shuffle)
 *   MSL_THREADS=N        threadgroups run in parallel on N threads */
#ifndef MSL_RT_H
#define MSL_RT_H
#include <stddef.h>
#ifdef __cplusplus
extern "C" {
#endif

/* ---- what a metallib holds ---- */
enum { MSL_ARG_BUFFER, MSL_ARG_TGMEM, MSL_ARG_BUILTIN };
enum { MSL_STRICT = 1, MSL_COUNTED = 2, MSL_FAST = 4 }; /* how a kernel was compiled */
enum { MSL_BUFFERS = 31 };

typedef struct msl_arg {
  int kind, index;
  unsigned elem_size;
  int is_ref, is_const, is_constant; /* is_constant: in the constant address space, so is_const as well */
  const char *name;
} msl_arg;

typedef struct msl_tg { /* what a thunk sees of the running threadgroup */
  unsigned grid[3], ntg[3], tgsz[3], tgnom[3], tgpos[3];
  unsigned tpig[3], tpitg[3], tiitg; /* the thread to start next */
  void *const *buf;
  void *const *tgmem;
  void *worker;
} msl_tg;

typedef struct msl_kernel {
  const char *name;
  void (*thunk)(msl_tg *);
  int nargs;
  const msl_arg *args;
  unsigned static_tgmem;
  unsigned flags;       /* MSL_STRICT ... */
  unsigned max_threads; /* [[max_total_threads_per_threadgroup(n)]], or 0 */
  unsigned language;    /* 310: metal3.1 */
  int target;           /* macOS deployment target, 100 * major + minor; 0: not said */
} msl_kernel;

enum { MSL_LIBRARY_VERSION = 3 };
typedef struct msl_library { /* exported as `msl_library_v3`; entries may be NULL (padding) */
  int version;
  const msl_kernel *const *begin, *const *end;
} msl_library;

/* ---- launching ---- */
typedef struct msl_traffic {
  size_t bytes;   /* length of the binding */
  size_t read;    /* distinct bytes of it that were read */
  size_t written; /* distinct bytes of it that were written */
} msl_traffic;

enum { MSL_TOTAL = MSL_BUFFERS }; /* after the bindings: distinct bytes of all together */

typedef struct msl_bytes { /* one binding's maps, a byte for a byte: 1 where it was read, written */
  int index;
  size_t bytes;
  const unsigned char *read, *written;
} msl_bytes;

typedef struct msl_launch {
  const msl_kernel *kernel;
  unsigned grid[3], group[3]; /* in threads */
  void *buffer[MSL_BUFFERS];
  size_t bytes[MSL_BUFFERS]; /* lengths; needed only for counting */
  void *tgmem[MSL_BUFFERS];
  int ftz;              /* 1 flush, 0 keep */
  msl_traffic *traffic; /* NULL, or MSL_BUFFERS + 1 entries to fill in */
  void (*on_bytes)(void *context, const struct msl_launch *l, const msl_bytes *maps,
                   int n); /* NULL, or wants the maps */
  void *on_bytes_context;
} msl_launch;

typedef struct msl_options {
  int ftz, count, threads;
  const char *order, *count_file; /* count_file NULL: standard error */
} msl_options;
extern msl_options msl_defaults; /* may be changed between launches */

/* traffic has MSL_BUFFERS + 1 entries */
typedef void msl_observer(void *context, const msl_launch *launch, const msl_traffic *traffic);
void msl_observe(msl_observer *f, void *context); /* called after every launch while counting is on */

int msl_launch_run(const msl_launch *l);          /* 0, or -1 and msl_error() */
const char *msl_error(void);
const char *msl_where(void); /* "kernel k, thread (x,y,z)" for fault reports */
char *msl_original(char *address); /* of a byte of a copy that counting works on; any other address is its own */

/* ---- called by kernels ---- */
int msl_next(msl_tg *);       /* thunk: advance to the next thread of the threadgroup */
void msl_barrier(int site);   /* threadgroup_barrier */
const char *msl_simd_exchange(const void *v, unsigned size, unsigned *mask, unsigned *lane,
                              int site);                     /* 32 slots of 64 bytes */
void *msl_tgvar(unsigned id, size_t size, size_t align);     /* kernel-scope threadgroup variable */
void msl_count(const void *p, size_t n, int write);          /* counted builds: one access */

/* Library functions (msl_math.c): (float)f((double)x), flushing operands and result when msl_ftz is set. */
extern __thread int msl_ftz __attribute__((tls_model("initial-exec"))); /* mode of the running kernel */
#define MSL_MATH_1(X)                                                                                        \
  X(acos) X(acosh) X(asin) X(asinh) X(atan) X(atanh) X(cos) X(cosh) X(cospi) X(exp) X(exp2) X(exp10) X(log)  \
  X(log2) X(log10) X(rsqrt) X(sin) X(sinh) X(sinpi) X(sqrt) X(tan) X(tanh) X(tanpi)
#define MSL_MATH_2(X) X(atan2) X(fmod) X(nextafter) X(pow)
#define MSL_DECL_1(name) float msl_##name(float);
#define MSL_DECL_2(name) float msl_##name(float, float);
MSL_MATH_1(MSL_DECL_1)
MSL_MATH_2(MSL_DECL_2)
float msl_fma(float, float, float);
float msl_ldexp(float, int);
float msl_frexp(float, int *);
#ifdef __cplusplus
}
#endif
#endif
