/* eval_scan.c - scans of rows: floats in the order that nuvec-ops(5) fixes (eval_scan.inc), integers and bools one
 * after the other. */
#include "eval_loops.h"

static uint64_t joined(nv_op op, bool is_signed, uint64_t a, uint64_t b) {
  switch (op) {
  case NV_OP_cumprod: return a * b;
  case NV_OP_cummax: return (is_signed ? nv_signed(a) > nv_signed(b) : a > b) ? a : b;
  case NV_OP_cummin: return (is_signed ? nv_signed(a) < nv_signed(b) : a < b) ? a : b;
  default: return a + b;
  }
}

/* Integers in carriers of 64 bits; bools as 0 and 1, whose products are and. */
static void scan_ints(nv_op op, bool is_signed, uint64_t *x, size_t n, bool exclusive, uint64_t identity) {
  uint64_t acc = identity;
  for (size_t k = 0; k < n; k++) {
    const uint64_t next = k ? joined(op, is_signed, acc, x[k]) : x[k];
    x[k] = exclusive ? acc : next;
    acc = next;
  }
}

void nv_eval_scan(nv_ctx *c, nv_op op, nv_dtype d, const void *in, void *out, size_t rows, size_t n, bool exclusive,
                  bool flush) {
  const size_t stride = n * nv_dtype_size[d];
  const uint64_t identity = nv_scan_identity(op, d);
  uint32_t cap = 0;
  nv_c64 *x = nv_grow(c, NULL, &cap, n + n / 64 + 65, sizeof *x), *spare = x + n;
  for (size_t r = 0; r < rows; r++) {
    const char *from = (const char *)in + r * stride;
    char *to = (char *)out + r * stride;
    if (d == NV_C64) {
      nv_c64 one;
      memcpy(&one, &identity, sizeof one);
      memcpy(x, from, stride);
      (flush ? nv_scan_c64_flush : nv_scan_c64_keep)(op, x, n, exclusive, one, spare);
      memcpy(to, x, stride);
    } else if (nv_is(d, NV_BITS_FLOAT)) {
      nv_eval_convert(d, NV_F32, from, x, n);
      (flush ? nv_scan_flush : nv_scan_keep)(op, (float *)x, n, exclusive, nv_bits_to_f32(d, identity), (float *)spare);
      nv_from_carrier(d, x, to, n);
    } else {
      uint64_t *wide = (uint64_t *)(void *)x, one;
      uint8_t *bytes = (uint8_t *)to;
      for (size_t k = 0; d == NV_BOOL && k < n; k++) wide[k] = ((const uint8_t *)from)[k];
      if (d != NV_BOOL) nv_to_carrier(d, from, wide, n);
      const unsigned sign = 8u * nv_dtype_size[d] - 1;
      one = nv_is(d, NV_BITS_SIGNED) && identity >> sign ? identity | ~UINT64_C(0) << sign : identity;
      scan_ints(op, nv_is(d, NV_BITS_SIGNED), wide, n, exclusive, one);
      for (size_t k = 0; d == NV_BOOL && k < n; k++) bytes[k] = wide[k] != 0;
      if (d != NV_BOOL) nv_from_carrier(d, wide, to, n);
    }
  }
  nv_drop(c, x);
}
