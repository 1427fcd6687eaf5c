/* dtype.h - element types, their promotion (nuvec-ops(5), "Dtypes") and conversion of single values. */
#ifndef NV_DTYPE_H
#define NV_DTYPE_H

#include "../base.h"

/* The values are nuvecc_dtype's, in that order. */
typedef enum nv_dtype {
  NV_BOOL, NV_U8, NV_U16, NV_U32, NV_U64, NV_I8, NV_I16, NV_I32, NV_I64, NV_F16, NV_BF16, NV_F32, NV_C64, NV_NDTYPES
} nv_dtype;

#define NV_BIT(dtype) (1u << (unsigned)(dtype))
#define NV_BITS_UNSIGNED (NV_BIT(NV_U8) | NV_BIT(NV_U16) | NV_BIT(NV_U32) | NV_BIT(NV_U64))
#define NV_BITS_SIGNED (NV_BIT(NV_I8) | NV_BIT(NV_I16) | NV_BIT(NV_I32) | NV_BIT(NV_I64))
#define NV_BITS_INT (NV_BITS_UNSIGNED | NV_BITS_SIGNED)
#define NV_BITS_FLOAT (NV_BIT(NV_F16) | NV_BIT(NV_BF16) | NV_BIT(NV_F32))
#define NV_BITS_ALL ((1u << NV_NDTYPES) - 1)
static inline bool nv_is(nv_dtype d, uint32_t bits) { return (NV_BIT(d) & bits) != 0; }

extern const char *const nv_dtype_name[NV_NDTYPES];  /* canonical, "float32" */
extern const char *const nv_dtype_short[NV_NDTYPES]; /* "f32" */
extern const uint8_t nv_dtype_size[NV_NDTYPES];
/* Canonical or short name; -1: no dtype. */
int nv_dtype_find(const char *name, size_t n);

nv_dtype nv_promote(nv_dtype a, nv_dtype b);
nv_dtype nv_at_least_float(nv_dtype a);
nv_dtype nv_sum_dtype(nv_dtype a); /* in which sums and products of a are taken: bool and small ints become wider */

typedef struct nv_c64 { /* a complex64 in memory */
  float x, y;           /* real, imaginary */
} nv_c64;

/* Single values as bits in the low end of a uint64_t: bool 0/1, integers in two's complement, floats their pattern,
 * complex64 real part in the low half. */
float nv_bits_to_f32(nv_dtype d, uint64_t bits);   /* any dtype's value, by one rounding to float32 (complex: real) */
uint64_t nv_f32_to_bits(nv_dtype d, float x);      /* F16, BF16, F32, C64: round to nearest even */
/* Rounds a double once, to nearest even, to a float dtype (C64: real part). */
uint64_t nv_double_to_bits(nv_dtype d, double x);
/* The value nearest to a decimal text ("0.1", "1e400" gives inf), rounded once from the text. */
uint64_t nv_decimal_to_bits(nv_ctx *c, nv_dtype d, const char *text);
bool nv_int_fits(nv_dtype d, int64_t x);           /* integer dtypes */
uint64_t nv_int_to_bits(nv_dtype d, int64_t x);    /* integer dtypes: two's complement, cut; floats: one rounding */
/* astype of one value (nuvec-ops(5)). flush: subnormal mode. */
uint64_t nv_convert(nv_dtype from, nv_dtype to, uint64_t bits, bool flush);

#endif
