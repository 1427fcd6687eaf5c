/* eval_reduce.c - reductions of rows: floats in the order that nuvec-ops(5) fixes (eval_float.inc), integers and
 * bools in any. */
#include "eval_loops.h"

#include <math.h>

float nv_reciprocal_of(int64_t n) { return nv_quotient_of(1, n); }

float nv_quotient_of(int64_t a, int64_t n) {
  /* One rounding of a/n. The quotient in double may lie on the middle of two floats where a/n doesn't: the
   * remainder, exact by fma, says on which side it is. */
  if (n < 0) return -nv_quotient_of(a, -n);
  const double d = (double)n, q = (double)a / d, rest = fma(-q, d, (double)a);
  uint64_t u;
  memcpy(&u, &q, sizeof u);
  if ((u & 0x1fffffff) == 0x10000000 && rest != 0) u += rest > 0 ? UINT64_C(1) : UINT64_MAX;
  double nudged;
  memcpy(&nudged, &u, sizeof nudged);
  return (float)nudged;
}

/* The rows' elements pass through carriers of the accumulator's kind, a chunk at a time. Signed ones are kept
 * in uint64_t, where sums and products wrap; cut to the result's width they are right. */
static uint64_t reduce_int(nv_op op, nv_dtype d, nv_dtype result, const char *x, size_t n) {
  const bool is_signed = nv_is(result, NV_BITS_SIGNED);
  uint64_t acc = op == NV_OP_prod, raw[NV_CHUNK], wide[NV_CHUNK];
  for (size_t i = 0; i < n; i += NV_CHUNK) {
    const size_t m = n - i < NV_CHUNK ? n - i : NV_CHUNK;
    nv_to_carrier(d, x + i * nv_dtype_size[d], raw, m);
    if (d == NV_BOOL)
      for (size_t k = 0; k < m; k++) wide[k] = ((const uint8_t *)raw)[k];
    const uint64_t *v = d == NV_BOOL ? wide : raw;
    size_t k = 0;
    if (i == 0 && (op == NV_OP_max || op == NV_OP_min)) acc = v[k++];
    switch (op) {
    case NV_OP_prod:
      for (; k < m; k++) acc *= v[k];
      break;
    case NV_OP_max:
      for (; k < m; k++)
        if (is_signed ? nv_signed(v[k]) > nv_signed(acc) : v[k] > acc) acc = v[k];
      break;
    case NV_OP_min:
      for (; k < m; k++)
        if (is_signed ? nv_signed(v[k]) < nv_signed(acc) : v[k] < acc) acc = v[k];
      break;
    default:
      for (; k < m; k++) acc += v[k];
    }
  }
  return acc;
}

/* any and max are or; all and min are and. */
static uint8_t reduce_bool(nv_op op, const uint8_t *x, size_t n) {
  if (op == NV_OP_any || op == NV_OP_max) return n && memchr(x, 1, n);
  return !n || !memchr(x, 0, n);
}

void nv_eval_rows(nv_op op, nv_dtype d, nv_dtype result, const void *in, void *out, size_t rows, size_t n,
                  void *spare, bool flush) {
  const char *x = in;
  const size_t stride = n * nv_dtype_size[d];
  for (size_t r = 0; r < rows; r++, x += stride) {
    char *to = (char *)out + r * nv_dtype_size[result];
    if (result == NV_BOOL) {
      *(uint8_t *)to = reduce_bool(op, (const uint8_t *)x, n);
    } else if (nv_is(result, NV_BITS_INT)) {
      const uint64_t acc = reduce_int(op, d, result, x, n);
      nv_from_carrier(result, &acc, to, 1);
    } else if (d == NV_C64) {
      memcpy(spare, x, stride);
      const nv_c64 acc = (flush ? nv_reduce_c64_flush : nv_reduce_c64_keep)(op, spare, n);
      memcpy(to, &acc, sizeof acc);
    } else {
      nv_eval_convert(d, NV_F32, x, spare, n);
      const float acc = (flush ? nv_reduce_flush : nv_reduce_keep)(op, spare, n);
      nv_from_carrier(result, &acc, to, 1);
    }
  }
}
