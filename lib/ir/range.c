/* range.c - what values an integer array can hold, as far as a few nodes tell: whether an index needs a check. */
#include "data.h"

enum { MOST_NODES = 48, MOST_VIEWS = 64 }; /* looked at; passed at once */

typedef struct range {
  int64_t low, high;
} range;

typedef struct walk {
  const nv_graph *g;
  nv_value values[MOST_NODES]; /* what was looked at, operands behind their users */
  range ranges[MOST_NODES];
  uint32_t n;
} walk;

static range all_of(nv_dtype d) {
  switch (d) {
  case NV_BOOL: return (range){0, 1};
  case NV_U8: return (range){0, UINT8_MAX};
  case NV_U16: return (range){0, UINT16_MAX};
  case NV_U32: return (range){0, UINT32_MAX};
  case NV_U64: return (range){0, INT64_MAX};
  case NV_I8: return (range){INT8_MIN, INT8_MAX};
  case NV_I16: return (range){INT16_MIN, INT16_MAX};
  case NV_I32: return (range){INT32_MIN, INT32_MAX};
  default: return (range){INT64_MIN, INT64_MAX};
  }
}

static bool is_whole(nv_dtype d) { return d == NV_BOOL || nv_is(d, NV_BITS_INT); }

/* v without its views, which have its values. */
static nv_value bare(const nv_graph *g, nv_value v) {
  for (uint32_t k = 0; k < MOST_VIEWS && nv_ops[nv_node_of(g, v)->op].cls == NV_VIEW; k++)
    v = nv_operand(g, nv_node_of(g, v), 0);
  return v;
}

static uint32_t place_of(const walk *w, nv_value v) {
  v = bare(w->g, v);
  for (uint32_t k = 0; k < w->n; k++)
    if (w->values[k] == v) return k;
  return NV_NONE;
}

static range of(const walk *w, nv_value v) {
  const uint32_t k = place_of(w, v);
  return k == NV_NONE ? all_of(nv_dtype_of(w->g, v)) : w->ranges[k];
}

static bool constant(const walk *w, nv_value v, int64_t *out) {
  const range r = of(w, v);
  *out = r.low;
  return r.low == r.high;
}

/* Is v op of this value and a constant? Which operand the value is: first, or either one. */
static bool with_constant(const walk *w, nv_value v, nv_op op, nv_value of_value, bool either, int64_t *k) {
  const nv_graph *g = w->g;
  const nv_node_rec *n = nv_node_of(g, bare(g, v));
  if (n->op != op) return false;
  for (uint32_t i = 0; i < (either ? 2u : 1u); i++)
    if (bare(g, nv_operand(g, n, i)) == bare(g, of_value) && constant(w, nv_operand(g, n, 1 - i), k)) return true;
  return false;
}

/* where(c, x, y); exactly of an index that counts from the end where it is negative, where(i < 0, i + n, i). */
static range chosen(const walk *w, const nv_node_rec *n) {
  const nv_value c = nv_operand(w->g, n, 0), x = nv_operand(w->g, n, 1), y = nv_operand(w->g, n, 2);
  range a = of(w, x), b = of(w, y);
  int64_t zero, more;
  if (with_constant(w, c, NV_OP_less, y, false, &zero) && zero == 0) {
    if (b.low < 0 && with_constant(w, x, NV_OP_add, y, true, &more) && more > 0)
      a = (range){b.low + more, more - 1};
    if (b.low >= 0) return b;
    b.low = 0;
    if (b.high < 0) return a;
  }
  return (range){a.low < b.low ? a.low : b.low, a.high > b.high ? a.high : b.high};
}

/* a * b or a + b at the four corners; false: it overflows. */
static bool corners(nv_op op, range a, range b, range *out) {
  const int64_t x[2] = {a.low, a.high}, y[2] = {b.low, b.high};
  for (uint32_t k = 0; k < 4; k++) {
    int64_t v, left = x[k & 1], right = y[k >> 1];
    if (op == NV_OP_subtract && right == INT64_MIN) return false;
    if (!(op == NV_OP_multiply ? nv_mul64(left, right, &v)
                               : nv_add64(left, op == NV_OP_subtract ? -right : right, &v)))
      return false;
    if (k == 0 || v < out->low) out->low = v;
    if (k == 0 || v > out->high) out->high = v;
  }
  return true;
}

static int64_t floor_of(int64_t a, int64_t b) { return a / b - (a % b != 0 && (a < 0) != (b < 0)); }

/* From the operands' ranges; whatever can't be told is the dtype's. */
static range computed(const walk *w, nv_value v) {
  const nv_graph *g = w->g;
  const nv_node_rec *n = nv_node_of(g, v);
  const nv_dtype d = nv_dtype_of(g, v);
  const range all = all_of(d);
  range r = all, a = all, b = all;
  int64_t k;
  if (n->op == NV_OP_CONST) {
    const uint64_t bits = (uint64_t)nv_attr_list(g->c, n->attr)[0];
    const unsigned unused = 64 - 8 * (unsigned)nv_dtype_size[d];
    if (nv_is(d, NV_BITS_SIGNED))
      k = (int64_t)(bits << unused) / ((int64_t)1 << unused);
    else if (bits > INT64_MAX)
      return all;
    else
      k = (int64_t)bits;
    return (range){k, k};
  }
  if (n->op == NV_OP_DATA) {
    const nv_data *array = nv_data_of(g, v);
    return array->most == INT64_MAX ? all : (range){array->least, array->most};
  }
  if (n->op == NV_OP_iota) {
    const int64_t count = nv_shape_count(g->c, nv_shape_at(g, v));
    return (range){0, count ? count - 1 : 0};
  }
  if (n->noperands && is_whole(nv_dtype_of(g, nv_operand(g, n, 0)))) a = of(w, nv_operand(g, n, 0));
  if (n->noperands > 1 && is_whole(nv_dtype_of(g, nv_operand(g, n, 1)))) b = of(w, nv_operand(g, n, 1));
  switch (n->op) {
  case NV_OP_astype:
    if (!is_whole(nv_dtype_of(g, nv_operand(g, n, 0)))) return all;
    if (nv_dtype_of(g, nv_operand(g, n, 0)) == NV_U64 && a.high == INT64_MAX) return all;
    r = d == NV_BOOL ? all : a;
    break;
  case NV_OP_add:
  case NV_OP_subtract:
  case NV_OP_multiply:
    if (d == NV_BOOL || d == NV_U64 || !corners((nv_op)n->op, a, b, &r)) return all;
    break;
  case NV_OP_minimum: /* uint64 beyond int64 is cut to it: still no less than the other */
    r = (range){a.low < b.low ? a.low : b.low, a.high < b.high ? a.high : b.high};
    break;
  case NV_OP_maximum: r = (range){a.low > b.low ? a.low : b.low, a.high > b.high ? a.high : b.high}; break;
  case NV_OP_remainder:
    if (d == NV_BOOL || b.low != b.high || b.low == 0) return all;
    r = b.low > 0 ? (range){0, b.low - 1} : (range){b.low + 1, 0};
    break;
  case NV_OP_floor_divide:
    if (d == NV_BOOL || d == NV_U64 || b.low != b.high || b.low <= 0) return all;
    r = (range){floor_of(a.low, b.low), floor_of(a.high, b.low)};
    break;
  case NV_OP_where: r = chosen(w, n); break;
  case NV_OP_copy:
  case NV_OP_stop_gradient: r = a; break;
  case NV_OP_pick: /* what is outside is 0 */
    r = (range){a.low < 0 ? a.low : 0, a.high > 0 ? a.high : 0};
    break;
  default: return all;
  }
  return r.low < all.low || r.high > all.high ? all : r; /* it may wrap */
}

/* The values that v depends on, the nearest MOST_NODES of them, then their ranges from the oldest on. */
void nv_range(const nv_graph *g, nv_value v, int64_t *least, int64_t *most) {
  walk w = {.g = g};
  w.values[w.n++] = bare(g, v);
  for (uint32_t k = 0; k < w.n; k++) {
    const nv_node_rec *n = nv_node_of(g, w.values[k]);
    for (uint32_t i = 0; i < n->noperands && w.n < MOST_NODES; i++) {
      const nv_value x = bare(g, nv_operand(g, n, i));
      if (is_whole(nv_dtype_of(g, x)) && place_of(&w, x) == NV_NONE) w.values[w.n++] = x;
    }
  }
  for (uint32_t k = 1; k < w.n; k++) { /* by age */
    const nv_value x = w.values[k];
    uint32_t at = k;
    for (; at && w.values[at - 1] > x; at--) w.values[at] = w.values[at - 1];
    w.values[at] = x;
  }
  for (uint32_t k = 0; k < w.n; k++) w.ranges[k] = all_of(nv_dtype_of(g, w.values[k]));
  for (uint32_t k = 0; k < w.n; k++) w.ranges[k] = computed(&w, w.values[k]);
  const range r = of(&w, v);
  *least = r.low;
  *most = r.high;
}
