/* eval_prims.h - float32 arithmetic in the subnormal mode NV_FLUSH (0 keep, 1 flush), which the including
 * file sets: the primitives of math.inc and of ops.def's F columns. Flushing is by explicit steps; the
 * processor's own mode must be the usual one. nuvec-ops(5), Subnormals, says what is flushed:
 *  - operands and result of arithmetic, comparisons and library functions, the zero keeping the sign;
 *  - a product or quotient as the processor's flush mode does it, which decides before the result is fitted
 *    into the subnormal range: x86-64 after rounding to 24 bits, arm64 before. A sum that is tiny is exact,
 *    so needs no care.
 * A library function f is (float)f((double)x) of libm. */
#ifndef NV_EVAL_PRIMS_H
#define NV_EVAL_PRIMS_H

#include "dtype.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#ifndef NV_FLUSH
#error "NV_FLUSH says which mode"
#endif

static inline uint32_t nv_bits(float x) {
  uint32_t u;
  memcpy(&u, &x, sizeof u);
  return u;
}
static inline float nv_float(uint32_t u) {
  float x;
  memcpy(&x, &u, sizeof x);
  return x;
}

/* x, or the zero of its sign if x is subnormal and the mode says so */
static inline float nv_fl(float x) {
#if NV_FLUSH
  const uint32_t u = nv_bits(x);
  return nv_float(u & 0x7f800000u ? u : u & 0x80000000u);
#else
  return x;
#endif
}

/* A product or quotient, given in double (exact, or so near that the comparison is not touched). */
static inline float nv_round(double exact) {
#if NV_FLUSH
#if defined(__aarch64__) || defined(__arm64__)
  const double tiny = 0x1p-126;
#else
  const double tiny = 0x1p-126 - 0x1p-151;
#endif
  if (fabs(exact) < tiny) return copysignf(0.0f, (float)exact);
#endif
  return (float)exact;
}

static inline float nv_add(float a, float b) { return nv_fl(nv_fl(a) + nv_fl(b)); }
static inline float nv_sub(float a, float b) { return nv_fl(nv_fl(a) - nv_fl(b)); }
static inline float nv_mul(float a, float b) { return nv_round((double)nv_fl(a) * (double)nv_fl(b)); }
static inline float nv_div(float a, float b) { return nv_round((double)nv_fl(a) / (double)nv_fl(b)); }
static inline float nv_fma(float a, float b, float c) { return nv_fl(fmaf(nv_fl(a), nv_fl(b), nv_fl(c))); }
static inline float nv_neg(float a) { return nv_float(nv_bits(a) ^ 0x80000000u); } /* moves bits */
static inline float nv_abs(float a) { return nv_fl(fabsf(a)); }
static inline float nv_copysign(float a, float b) { return copysignf(nv_fl(a), b); }
static inline bool nv_lt(float a, float b) { return nv_fl(a) < nv_fl(b); }
static inline bool nv_le(float a, float b) { return nv_fl(a) <= nv_fl(b); }
static inline bool nv_eq(float a, float b) { return nv_fl(a) == nv_fl(b); }
static inline bool nv_isnan(float a) { return isnan(a); }

static inline float nv_floor(float a) { return floorf(nv_fl(a)); }
static inline float nv_ceil(float a) { return ceilf(nv_fl(a)); }
static inline float nv_rint(float a) { return rintf(nv_fl(a)); }
static inline float nv_sqrt(float a) { return sqrtf(nv_fl(a)); }
static inline float nv_rsqrt(float a) { return (float)(1.0 / sqrt((double)nv_fl(a))); }

#define NV_LIBM1(name, f) \
  static inline float name(float a) { return nv_fl((float)f((double)nv_fl(a))); }
#define NV_LIBM2(name, f) \
  static inline float name(float a, float b) { return nv_fl((float)f((double)nv_fl(a), (double)nv_fl(b))); }
NV_LIBM1(nv_exp, exp)
NV_LIBM1(nv_log, log)
NV_LIBM1(nv_log2, log2)
NV_LIBM1(nv_log10, log10)
NV_LIBM1(nv_sin, sin)
NV_LIBM1(nv_cos, cos)
NV_LIBM1(nv_tan, tan)
NV_LIBM1(nv_asin, asin)
NV_LIBM1(nv_acos, acos)
NV_LIBM1(nv_atan, atan)
NV_LIBM1(nv_sinh, sinh)
NV_LIBM1(nv_cosh, cosh)
NV_LIBM1(nv_tanh, tanh)
NV_LIBM1(nv_asinh, asinh)
NV_LIBM1(nv_acosh, acosh)
NV_LIBM1(nv_atanh, atanh)
NV_LIBM2(nv_atan2, atan2)
NV_LIBM2(nv_fmod, fmod)
NV_LIBM2(nv_pow, pow)
#undef NV_LIBM1
#undef NV_LIBM2

/* Metal's emitter hides divisors from the compiler here; in C there is nothing to hide. */
static inline uint32_t nv_divisor_uint(uint32_t a) { return a; }
static inline unsigned long nv_divisor_ulong(unsigned long a) { return a; }

static inline nv_c64 nv_complex(float re, float im) { return (nv_c64){re, im}; }

/* Metal's names of the integer types in math.inc; long is 64 bits wide wherever this is built. */
#define uchar uint8_t
#define ushort uint16_t
#define uint uint32_t
#define ulong unsigned long
#define float2 nv_c64
#include "math.inc"
#undef float2
#undef uchar
#undef ushort
#undef uint
#undef ulong

#endif
