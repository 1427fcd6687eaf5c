/* eval_elem.c - element-wise evaluation: carriers, the integer and bool loops from ops.def, conversions,
 * where. */
#define NV_FLUSH 0 /* only the integer helpers are used here */
#include "eval_loops.h"
#include "eval_prims.h"

/* ---- carriers ---- */

/* Runs body with the element type T of each integer dtype. */
#define BY_INT(d, body)              \
  switch (d) {                       \
  case NV_U8: body(uint8_t) break;   \
  case NV_U16: body(uint16_t) break; \
  case NV_U32: body(uint32_t) break; \
  case NV_U64: body(uint64_t) break; \
  case NV_I8: body(int8_t) break;    \
  case NV_I16: body(int16_t) break;  \
  case NV_I32: body(int32_t) break;  \
  case NV_I64: body(int64_t) break;  \
  default: break;                    \
  }

static void widen_int(nv_dtype d, const void *from, void *carrier, size_t n) {
  /* a signed value's carrier, seen as uint64_t, is its sign extension */
  uint64_t *to = carrier;
#define BODY(T) \
  for (size_t i = 0; i < n; i++) to[i] = (uint64_t)((const T *)from)[i];
  BY_INT(d, BODY)
#undef BODY
}

static void narrow_int(nv_dtype d, const void *carrier, void *to, size_t n) {
  const uint64_t *from = carrier;
#define BODY(T) \
  for (size_t i = 0; i < n; i++) ((T *)to)[i] = (T)from[i];
  BY_INT(d, BODY)
#undef BODY
}

void nv_to_carrier(nv_dtype d, const void *from, void *carrier, size_t n) {
  if (d == NV_BOOL) {
    const uint8_t *p = from; /* any byte but 0 is true */
    for (size_t i = 0; i < n; i++) ((uint8_t *)carrier)[i] = p[i] != 0;
  } else if (d == NV_F32) {
    memcpy(carrier, from, n * sizeof(float));
  } else if (nv_is(d, NV_BITS_FLOAT)) {
    for (size_t i = 0; i < n; i++) ((float *)carrier)[i] = nv_bits_to_f32(d, ((const uint16_t *)from)[i]);
  } else {
    widen_int(d, from, carrier, n);
  }
}

void nv_from_carrier(nv_dtype d, const void *carrier, void *to, size_t n) {
  if (d == NV_BOOL) {
    memcpy(to, carrier, n);
  } else if (d == NV_F32) {
    memcpy(to, carrier, n * sizeof(float));
  } else if (nv_is(d, NV_BITS_FLOAT)) {
    for (size_t i = 0; i < n; i++)
      ((uint16_t *)to)[i] = (uint16_t)nv_f32_to_bits(d, ((const float *)carrier)[i]);
  } else {
    narrow_int(d, carrier, to, n);
  }
}

/* ---- loops of ops.def ---- */
#define LOOP(in, type, expression)   \
  {                                  \
    type *r = out;                   \
    for (size_t i = 0; i < n; i++) { \
      const in a = x[i], b = y[i];   \
      (void)a, (void)b;              \
      r[i] = (type)(expression);     \
    }                                \
  }
#define OP(name, evaluation, ...) \
  case NV_OP_##name:              \
    evaluation break;
#define NONE
#define BY(f)
#define AT(f)
#define OF(f)
#define OF_ANY(f)
#define F(e)
#define FT(e)
#define FI(e)
#define C(e)
#define CF(e)
#define CT(e)

#define U(e)
#define I(e)
#define UI(e)
#define UT(e)
#define IT(e)
#define B(e) LOOP(uint8_t, uint8_t, e)
#define BT(e) LOOP(uint8_t, uint8_t, e)
static void loop_bool(nv_op op, const uint8_t *x, const uint8_t *y, void *out, size_t n) {
  switch (op) {
#include "../ops.def"
  default: break;
  }
}
#undef B
#undef BT
#undef U
#undef UI
#undef UT

#define B(e)
#define BT(e)
#define U(e) LOOP(uint64_t, uint64_t, e)
#define UI(e) LOOP(uint64_t, uint64_t, e)
#define UT(e) LOOP(uint64_t, uint8_t, e)
static void loop_unsigned(nv_op op, uint64_t w, const uint64_t *x, const uint64_t *y, void *out, size_t n) {
  switch (op) {
#include "../ops.def"
  default: break;
  }
}
#undef U
#undef UI
#undef UT
#undef I
#undef IT

#define U(e)
#define UT(e)
#define I(e) LOOP(int64_t, int64_t, e)
#define UI(e) LOOP(int64_t, int64_t, e)
#define IT(e) LOOP(int64_t, uint8_t, e)
static void loop_signed(nv_op op, uint64_t w, const int64_t *x, const int64_t *y, void *out, size_t n) {
  switch (op) {
#include "../ops.def"
  default: break;
  }
}

/* ---- conversions ---- */

/* Toward zero, saturating at the bounds of an integer of that width; NaN to 0. above: the first power of two
 * that is out of range. */
static void float_to_signed(const float *x, int64_t *r, size_t n, unsigned width) {
  const float above = ldexpf(1.0f, (int)width - 1);
  const int64_t hi = (int64_t)((UINT64_C(1) << (width - 1)) - 1), lo = -hi - 1;
  for (size_t i = 0; i < n; i++)
    r[i] = x[i] >= above ? hi : x[i] < -above ? lo : isnan(x[i]) ? 0 : (int64_t)x[i];
}
static void float_to_unsigned(const float *x, uint64_t *r, size_t n, unsigned width) {
  const float above = ldexpf(1.0f, (int)width);
  const uint64_t hi = UINT64_MAX >> (64 - width);
  for (size_t i = 0; i < n; i++) r[i] = x[i] >= above ? hi : x[i] > 0 ? (uint64_t)x[i] : 0;
}
static void float_to_bool(const float *x, uint8_t *r, size_t n) {
  for (size_t i = 0; i < n; i++) {
    uint32_t u;
    memcpy(&u, &x[i], sizeof u);
    r[i] = u << 1 != 0;
  }
}

/* One chunk's carriers to carriers of another dtype. Integers reach 16-bit floats through float32: right for
 * float16, where what float32 would round is out of range; for bfloat16 it is what nuvec-ops(5) says. */
static void convert_carrier(nv_dtype from, nv_dtype to, const void *a, void *r, size_t n) {
  const nv_kind k = nv_kind_of(from);
  const unsigned width = 8u * nv_dtype_size[to];
#define EACH(T, expression) \
  for (size_t i = 0; i < n; i++) ((T *)r)[i] = (expression)
  switch (nv_kind_of(to)) {
  case NV_KIND_BOOL:
    if (k == NV_KIND_BOOL)
      memcpy(r, a, n);
    else if (k == NV_KIND_FLOAT)
      float_to_bool(a, r, n);
    else
      EACH(uint8_t, ((const uint64_t *)a)[i] != 0);
    break;
  case NV_KIND_FLOAT:
    if (k == NV_KIND_BOOL)
      EACH(float, ((const uint8_t *)a)[i]);
    else if (k == NV_KIND_UINT)
      EACH(float, (float)((const uint64_t *)a)[i]);
    else if (k == NV_KIND_INT)
      EACH(float, (float)((const int64_t *)a)[i]);
    else
      memcpy(r, a, n * sizeof(float));
    break;
  case NV_KIND_UINT:
  case NV_KIND_INT:
    if (k == NV_KIND_BOOL)
      EACH(uint64_t, ((const uint8_t *)a)[i]);
    else if (k != NV_KIND_FLOAT)
      memcpy(r, a, n * sizeof(uint64_t)); /* cut when stored */
    else if (nv_kind_of(to) == NV_KIND_INT)
      float_to_signed(a, r, n, width);
    else
      float_to_unsigned(a, r, n, width);
    break;
  default: break;
  }
#undef EACH
}

/* ---- arrays ---- */

/* Room for one chunk's carriers, aligned for all of them. */
typedef union chunk {
  uint64_t u[NV_CHUNK];
  int64_t i[NV_CHUNK];
  float f[NV_CHUNK];
  uint8_t b[NV_CHUNK];
} chunk;

static const void *at(const void *p, size_t i, size_t size) { return (const char *)p + i * size; }

/* From complex64 by way of the real part, to bool of either; to complex64 by way of float32. */
static void convert_complex(nv_dtype from, nv_dtype to, const void *a, void *out, size_t n) {
  const nv_c64 *x = a;
  nv_c64 *z = out;
  chunk real, r;
  for (size_t i = 0; i < n; i += NV_CHUNK) {
    const size_t m = n - i < NV_CHUNK ? n - i : NV_CHUNK;
    if (from == NV_C64) {
      for (size_t k = 0; k < m; k++) real.f[k] = to == NV_BOOL && x[i + k].x == 0 ? x[i + k].y : x[i + k].x;
      convert_carrier(NV_F32, to, &real, &r, m);
      nv_from_carrier(to, &r, (char *)out + i * nv_dtype_size[to], m);
    } else {
      nv_to_carrier(from, at(a, i, nv_dtype_size[from]), &real, m);
      convert_carrier(from, NV_F32, &real, &r, m);
      for (size_t k = 0; k < m; k++) z[i + k] = (nv_c64){r.f[k], 0};
    }
  }
}

void nv_eval_convert(nv_dtype from, nv_dtype to, const void *a, void *out, size_t n) {
  chunk x, r;
  if (from == to) {
    memcpy(out, a, n * nv_dtype_size[from]);
    return;
  }
  if (from == NV_C64 || to == NV_C64) {
    convert_complex(from, to, a, out, n);
    return;
  }
  for (size_t i = 0; i < n; i += NV_CHUNK) {
    const size_t m = n - i < NV_CHUNK ? n - i : NV_CHUNK;
    nv_to_carrier(from, at(a, i, nv_dtype_size[from]), &x, m);
    convert_carrier(from, to, &x, &r, m);
    nv_from_carrier(to, &r, (char *)out + i * nv_dtype_size[to], m);
  }
}

/* where: moves bits. */
static void select_bits(const uint8_t *c, const void *x, const void *y, void *out, size_t n, size_t size) {
#define BODY(T) \
  for (size_t i = 0; i < n; i++) ((T *)out)[i] = c[i] ? ((const T *)x)[i] : ((const T *)y)[i];
  switch (size) {
  case 1: BODY(uint8_t) break;
  case 2: BODY(uint16_t) break;
  case 4: BODY(uint32_t) break;
  default: BODY(uint64_t) break;
  }
#undef BODY
}

static void loop(nv_op op, nv_dtype d, const void *x, const void *y, void *out, size_t n, bool flush) {
  const uint64_t w = 8u * nv_dtype_size[d];
  switch (nv_kind_of(d)) {
  case NV_KIND_BOOL: loop_bool(op, x, y, out, n); break;
  case NV_KIND_UINT: loop_unsigned(op, w, x, y, out, n); break;
  case NV_KIND_INT: loop_signed(op, w, x, y, out, n); break;
  case NV_KIND_COMPLEX: (flush ? nv_complex_flush : nv_complex_keep)(op, x, y, out, n); break;
  default: (flush ? nv_elem_flush : nv_elem_keep)(op, d, x, y, out, n); break;
  }
}

/* Are the op's results its operand? */
static bool moves(nv_op op, nv_dtype d) {
  const char *text = nv_ops[op].msl[nv_kind_of(d)];
  return text && !strcmp(text, "$0");
}

void nv_eval_elem(nv_op op, const nv_dtype *dtypes, nv_dtype result, const void *const *in, void *out,
                  size_t n, bool flush) {
  const nv_dtype d = dtypes[0];
  if (moves(op, d)) {
    memcpy(out, in[0], n * nv_dtype_size[d]);
    return;
  }
  if (op == NV_OP_astype) {
    nv_eval_convert(d, result, in[0], out, n);
    return;
  }
  if (nv_ops[op].dtype == NV_DT_ATTR) { /* the same bits; a bool is 0 or 1 */
    memcpy(out, in[0], n * nv_dtype_size[d]);
    for (size_t i = 0; i < n && result == NV_BOOL; i++) ((uint8_t *)out)[i] = ((uint8_t *)out)[i] != 0;
    return;
  }
  if (nv_ops[op].dtype == NV_DT_SELECT) {
    select_bits(in[0], in[1], in[2], out, n, nv_dtype_size[result]);
    return;
  }
  uint32_t least, most;
  nv_op_arity(op, &least, &most);
  const void *second = least > 1 ? in[1] : in[0];
  if (d == NV_F32 || d == NV_C64 || d == NV_BOOL) { /* the arrays are their own carriers */
    loop(op, d, in[0], second, out, n, flush);
    return;
  }
  chunk x, y, r;
  for (size_t i = 0; i < n; i += NV_CHUNK) {
    const size_t m = n - i < NV_CHUNK ? n - i : NV_CHUNK, size = nv_dtype_size[d];
    nv_to_carrier(d, at(in[0], i, size), &x, m);
    if (second != in[0]) nv_to_carrier(d, at(second, i, size), &y, m);
    loop(op, d, &x, second == in[0] ? &x : &y, &r, m, flush);
    nv_from_carrier(result, &r, (char *)out + i * nv_dtype_size[result], m);
  }
}

uint64_t nv_eval_scalar(nv_op op, const nv_dtype *dtypes, nv_dtype result, const uint64_t *bits, uint32_t n,
                        bool flush) {
  /* one-element arrays: the low bytes of each pattern, in the machine's order */
  union cell {
    uint8_t b;
    uint16_t h;
    uint32_t w;
    uint64_t d;
  } cells[NV_MAX_OPERANDS], r = {.d = 0};
  const void *in[NV_MAX_OPERANDS] = {NULL};
  for (uint32_t k = 0; k < n && k < NV_MAX_OPERANDS; k++) {
    switch (nv_dtype_size[dtypes[k]]) {
    case 1: cells[k].b = (uint8_t)bits[k]; break;
    case 2: cells[k].h = (uint16_t)bits[k]; break;
    case 4: cells[k].w = (uint32_t)bits[k]; break;
    default: cells[k].d = bits[k]; break;
    }
    in[k] = &cells[k];
  }
  nv_eval_elem(op, dtypes, result, in, &r, 1, flush);
  switch (nv_dtype_size[result]) {
  case 1: return r.b;
  case 2: return r.h;
  case 4: return r.w;
  default: return r.d;
  }
}
