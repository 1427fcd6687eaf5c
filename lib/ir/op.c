/* op.c - the op table as data: lib/ops.def's rows, and finding one by name or alias. */
#include "op.h"

#include <math.h>

/* shorthands of the rows' domains */
#define INTS NV_BITS_INT
#define FLOATS NV_BITS_FLOAT
#define REAL (NV_BIT(NV_BOOL) | NV_BITS_INT | NV_BITS_FLOAT)
#define INEXACT (NV_BITS_FLOAT | NV_BIT(NV_C64))
#define NUMBERS NV_BITS_ALL

const nv_op_info nv_ops[NV_NOPS] = {
    [NV_OP_INPUT] =
        {.name = "input", .params = "", .cls = NV_LEAF, .shape = NV_SH_NONE, .domain = NV_BITS_ALL},
    [NV_OP_CONST] =
        {.name = "const", .params = "", .cls = NV_LEAF, .shape = NV_SH_NONE, .domain = NV_BITS_ALL},
    [NV_OP_SIZE] =
        {.name = "size", .params = "", .cls = NV_LEAF, .shape = NV_SH_NONE, .domain = NV_BITS_ALL},
    [NV_OP_DATA] =
        {.name = "data", .params = "", .cls = NV_LEAF, .shape = NV_SH_NONE, .domain = NV_BITS_ALL},
#define OP(name_, evaluation, ...) [NV_OP_##name_] = {.name = #name_, __VA_ARGS__},
#include "../ops.def"
#undef OP
};

/* Is name one of the space-separated words? */
static bool among(const char *words, const char *name, size_t n) {
  while (*words) {
    size_t k = strcspn(words, " ");
    if (k == n && memcmp(words, name, n) == 0) return true;
    words += k;
    words += strspn(words, " ");
  }
  return false;
}

nv_op nv_op_find(const char *name) {
  const size_t n = strlen(name);
  if (n == 0) return NV_NOPS;
  /* input, const, size and data are no names of the language */
  for (int op = NV_OP_DATA + 1; op < NV_NOPS; op++)
    if (nv_ops[op].name[0] == name[0] && strcmp(nv_ops[op].name, name) == 0)
      return nv_ops[op].flags & NV_INNER ? NV_NOPS : (nv_op)op;
  for (int op = NV_OP_DATA + 1; op < NV_NOPS; op++)
    if (nv_ops[op].aliases && among(nv_ops[op].aliases, name, n)) return (nv_op)op;
  return NV_NOPS;
}

void nv_op_arity(nv_op op, uint32_t *min, uint32_t *max) {
  *min = *max = 0;
  for (const char *p = nv_ops[op].params; *p; p += strspn(p, " ")) {
    const size_t n = strcspn(p, " ");
    *max += 1;
    if (p[n - 1] != '?') *min += 1;
    p += n;
  }
}

uint64_t nv_scan_identity(nv_op op, nv_dtype d) {
  const bool number = nv_is(d, NV_BITS_FLOAT | NV_BIT(NV_C64)), greatest = op == NV_OP_cummin;
  const unsigned bits = d == NV_BOOL ? 1 : 8u * nv_dtype_size[d];
  if (op == NV_OP_cumsum) return 0;
  if (op == NV_OP_cumprod) return number ? nv_f32_to_bits(d, 1.0f) : 1;
  if (number) { /* of complex64 both parts */
    const uint64_t one = nv_f32_to_bits(d == NV_C64 ? NV_F32 : d, greatest ? INFINITY : -INFINITY);
    return d == NV_C64 ? one << 32 | one : one;
  }
  if (nv_is(d, NV_BITS_SIGNED)) return greatest ? (UINT64_C(1) << (bits - 1)) - 1 : UINT64_C(1) << (bits - 1);
  return greatest ? UINT64_MAX >> (64 - bits) : 0;
}

uint64_t nv_value_of_nothing(nv_ctx *c, nv_op op, nv_dtype d) {
  const bool number = nv_is(d, NV_BITS_FLOAT | NV_BIT(NV_C64));
  switch (nv_ops[op].nothing) {
  case NV_NOTHING_ZERO: return 0;
  case NV_NOTHING_ONE: return number ? nv_f32_to_bits(d, 1.0f) : 1;
  case NV_NOTHING_NAN: return nv_f32_to_bits(d, nv_bits_to_f32(NV_F32, 0x7fc00000u));
  default: nv_bug(c, "%s of nothing", nv_ops[op].name);
  }
}

nv_op nv_fold_joins(nv_op op) {
  switch (op) {
  case NV_OP_add_at: return NV_OP_add;
  case NV_OP_multiply_at: return NV_OP_multiply;
  case NV_OP_maximum_at: return NV_OP_maximum;
  case NV_OP_minimum_at: return NV_OP_minimum;
  default: return NV_OP_copy;
  }
}
