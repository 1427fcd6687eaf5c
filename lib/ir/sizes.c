/* sizes.c - sizes that are known at run time only: expressions, guards, and a graph at given ones. */
#include "sizes.h"

#include "eval.h"

#include <inttypes.h>
#include <math.h>

enum { MAX_STACK = 64 };

static const struct {
  const char *name;
  uint8_t operands;
} kinds[NV_NSIZE_KINDS] = {
    [NV_SIZE_DIM] = {"", 0},      [NV_SIZE_DOUBLE] = {"", 0},   [NV_SIZE_ADD] = {"@add", 2},
    [NV_SIZE_SUB] = {"@sub", 2},  [NV_SIZE_MUL] = {"@mul", 2},  [NV_SIZE_DIV] = {"@div", 2},
    [NV_SIZE_FLOAT] = {"@float", 1}, [NV_SIZE_NEG] = {"@neg", 1}, [NV_SIZE_ABS] = {"@abs", 1},
    [NV_SIZE_SQRT] = {"@sqrt", 1}, [NV_SIZE_POWER] = {"@pow", 1}, [NV_SIZE_RECIPROCAL] = {"@recip", 1},
};

/* ---- numbers ---- */

nv_size_kind nv_size_find(const char *name, size_t n) {
  int k = NV_SIZE_DOUBLE + 1;
  while (k < NV_NSIZE_KINDS && (strlen(kinds[k].name) != n + 1 || memcmp(kinds[k].name + 1, name, n))) k++;
  return (nv_size_kind)k;
}

double nv_power_double(double x, uint64_t n) {
  double r = 1;
  for (; n; n >>= 1) {
    if (n & 1) r *= x;
    if (n > 1) x *= x;
  }
  return r;
}

nv_attr nv_size_of_dim(nv_ctx *c, nv_dim d) {
  const int64_t list[2] = {NV_SIZE_DIM, d};
  return nv_attr_make(c, list, 2);
}

bool nv_size_is_valid(const nv_ctx *c, nv_attr a) {
  const uint32_t n = nv_attr_count(c, a);
  const int64_t *list = nv_attr_list(c, a);
  uint32_t depth = 0;
  if (n == 0 || n % 2) return false;
  for (uint32_t k = 0; k < n; k += 2) {
    if (list[k] < 0 || list[k] >= NV_NSIZE_KINDS || depth < kinds[list[k]].operands) return false;
    depth += 1u - kinds[list[k]].operands;
    if (depth > MAX_STACK) return false;
  }
  return depth == 1;
}

bool nv_size_dim(const nv_ctx *c, nv_attr a, nv_dim *d) {
  const int64_t *list = nv_attr_list(c, a);
  if (nv_attr_count(c, a) != 2 || list[0] != NV_SIZE_DIM) return false;
  *d = (nv_dim)list[1];
  return true;
}

static double as_double(nv_number x) { return x.whole ? (double)x.i : x.f; }

static bool apply(int64_t kind, int64_t with, nv_number a, nv_number b, double *out) {
  const double x = as_double(a), y = as_double(b);
  switch ((nv_size_kind)kind) {
  case NV_SIZE_ADD: *out = x + y; return true;
  case NV_SIZE_SUB: *out = x - y; return true;
  case NV_SIZE_MUL: *out = x * y; return true;
  case NV_SIZE_DIV: *out = y != 0 ? x / y : 0; return y != 0;
  case NV_SIZE_FLOAT: *out = x; return true;
  case NV_SIZE_NEG: *out = -x; return true;
  case NV_SIZE_ABS: *out = fabs(x); return true;
  case NV_SIZE_SQRT: *out = x >= 0 ? sqrt(x) : 0; return x >= 0;
  case NV_SIZE_POWER: {
    const double r = nv_power_double(x, with < 0 ? 0 - (uint64_t)with : (uint64_t)with);
    *out = with < 0 ? 1 / r : r;
    return with >= 0 || x != 0;
  }
  case NV_SIZE_RECIPROCAL:
    if (!a.whole || a.i < 1 || a.i > INT64_C(1) << 53) return false;
    *out = (double)nv_reciprocal_of(a.i);
    return true;
  default: return false;
  }
}

bool nv_size_eval(nv_ctx *c, nv_attr a, const nv_dim *symbols, const int64_t *values, uint32_t n, nv_number *out) {
  const int64_t *list = nv_attr_list(c, a);
  nv_number stack[MAX_STACK];
  uint32_t depth = 0;
  if (!nv_size_is_valid(c, a)) nv_bug(c, "a size that is no expression");
  for (uint32_t k = 0; k < nv_attr_count(c, a); k += 2) {
    nv_number r = {false, 0, 0};
    if (list[k] == NV_SIZE_DIM) {
      r.whole = true;
      if (!nv_dim_eval(c, (nv_dim)list[k + 1], symbols, values, n, &r.i)) return false;
    } else if (list[k] == NV_SIZE_DOUBLE) {
      memcpy(&r.f, &list[k + 1], sizeof r.f);
    } else {
      depth -= kinds[list[k]].operands;
      const nv_number b = kinds[list[k]].operands == 2 ? stack[depth + 1] : r;
      if (!apply(list[k], list[k + 1], stack[depth], b, &r.f)) return false;
    }
    stack[depth++] = r;
  }
  *out = stack[0];
  return true;
}

void nv_put_size(nv_buf *b, nv_attr a) {
  const int64_t *list = nv_attr_list(b->c, a);
  for (uint32_t k = 0; k < nv_attr_count(b->c, a); k += 2) {
    if (k) nv_puts(b, ", ");
    if (list[k] == NV_SIZE_DIM)
      nv_put_dim(b, (nv_dim)list[k + 1]);
    else if (list[k] == NV_SIZE_DOUBLE)
      nv_printf(b, "0x%016" PRIx64, (uint64_t)list[k + 1]);
    else
      nv_puts(b, kinds[list[k]].name);
    if (list[k] == NV_SIZE_POWER) nv_printf(b, " %" PRId64, list[k + 1]);
  }
}

/* ---- guards ---- */

/* 1: it always holds, 0: it never does, -1: that depends. */
static int decide(nv_ctx *c, nv_relation relation, nv_dim a, nv_dim b) {
  const nv_dim one = nv_dim_const(c, 1);
  int64_t min, max;
  if (a == b) return 1;
  switch (relation) {
  case NV_EQUAL: return nv_dim_differ(c, a, b) ? 0 : -1;
  case NV_BROADCASTS:
    if (a == one || b == one) return 1;
    return nv_dim_differ(c, a, b) && nv_dim_differ(c, a, one) && nv_dim_differ(c, b, one) ? 0 : -1;
  case NV_REPEATS: return a == one ? 1 : nv_dim_differ(c, a, b) && nv_dim_differ(c, a, one) ? 0 : -1;
  case NV_AT_MOST:
    nv_dim_bounds(c, nv_dim_sub(c, b, a), &min, &max);
    return min >= 0 ? 1 : max < 0 ? 0 : -1;
  }
  return -1;
}

bool nv_graph_guard(nv_graph *g, nv_relation relation, nv_dim a, nv_dim b, uint32_t origin) {
  const int known = decide(g->c, relation, a, b);
  if (known >= 0) return known == 1;
  const uint32_t key[3] = {relation, a, b};
  const uint64_t hash = nv_hash(key, sizeof key, 0);
  uint32_t at = 0, k;
  while ((k = nv_map_next(&g->guard_map, hash, &at)) != NV_NONE)
    if (g->guards[k].relation == relation && g->guards[k].a == a && g->guards[k].b == b) return true;
  NV_GROW(g->c, g->guards, g->guards_cap, (size_t)g->nguards + 1);
  g->guards[g->nguards] = (nv_guard){relation, a, b, origin};
  nv_map_add(g->c, &g->guard_map, hash, g->nguards++);
  return true;
}

void nv_put_guard(nv_buf *b, const nv_guard *guard) {
  static const char *const texts[] = {" == ", " ~ ", " ~> ", " <= "};
  nv_put_dim(b, guard->a);
  nv_puts(b, texts[guard->relation]);
  nv_put_dim(b, guard->b);
}

/* "B is 3", or of a constant "3". */
static void put_value(nv_buf *b, nv_dim d, int64_t value) {
  int64_t v;
  if (!nv_dim_is_const(b->c, d, &v)) {
    nv_put_dim(b, d);
    nv_puts(b, " is ");
  }
  nv_printf(b, "%" PRId64, value);
}

bool nv_guard_fails(nv_ctx *c, const nv_guard *guard, const nv_dim *symbols, const int64_t *values, uint32_t n,
                    const char **why) {
  static const char *const texts[] = {", but ", ", which doesn't broadcast with ", ", which doesn't broadcast to ",
                                      ", above "};
  int64_t a, b;
  nv_buf text;
  nv_buf_init(&text, c);
  const bool has_a = nv_dim_eval(c, guard->a, symbols, values, n, &a);
  const bool has_b = nv_dim_eval(c, guard->b, symbols, values, n, &b);
  if (has_a && has_b) {
    if (guard->relation == NV_AT_MOST ? a <= b : a == b) return false;
    if (guard->relation == NV_BROADCASTS && (a == 1 || b == 1)) return false;
    if (guard->relation == NV_REPEATS && a == 1) return false;
    put_value(&text, guard->a, a);
    nv_puts(&text, texts[guard->relation]);
    put_value(&text, guard->b, b);
  } else {
    nv_put_dim(&text, has_a ? guard->b : guard->a);
    nv_puts(&text, " has no value");
  }
  *why = nv_buf_text(&text);
  return true;
}

/* ---- a graph at given sizes ---- */

static const char *input_name(const nv_graph *g, uint32_t k) { return nv_text(g->c, g->inputs[k].name); }

static const char *dim_text(nv_ctx *c, nv_dim d) {
  nv_buf b;
  nv_buf_init(&b, c);
  nv_put_dim(&b, d);
  return nv_buf_text(&b);
}

/* The value of source k. */
static bool read_source(const nv_graph *g, uint32_t k, const int64_t *const *shapes, int64_t *value,
                        const char **why) {
  nv_ctx *c = g->c;
  const nv_source *s = &g->sources[k];
  const int64_t size = shapes[s->input][s->axis];
  int64_t min, max, rest;
  nv_dim_bounds(c, s->symbol, &min, &max);
  if (!nv_sub64(size, s->offset, &rest) || rest % s->factor) {
    *why = nv_format(c, "axis %u of '%s' has size %" PRId64 ", which no '%s' gives", s->axis,
                     input_name(g, s->input), size, dim_text(c, s->symbol));
    return false;
  }
  *value = rest / s->factor;
  if (*value >= min && *value <= max) return true;
  *why = nv_format(c, "size '%s' is %" PRId64 ", %s %" PRId64 " (axis %u of '%s')", dim_text(c, s->symbol), *value,
                   *value < min ? "below its min" : "above its max", *value < min ? min : max, s->axis,
                   input_name(g, s->input));
  return false;
}

static void list_symbols(const nv_graph *g, nv_dim *symbols) {
  for (uint32_t k = 0; k < g->nsources; k++) symbols[k] = g->sources[k].symbol;
}

bool nv_graph_sizes(const nv_graph *g, const int64_t *const *shapes, int64_t *values, const char **why) {
  nv_ctx *c = g->c;
  nv_dim *symbols = NV_NEW_N(c, nv_dim, (size_t)g->nsources + 1);
  list_symbols(g, symbols);
  for (uint32_t k = 0; k < g->nsources; k++)
    if (!read_source(g, k, shapes, &values[k], why)) return false;
  for (uint32_t k = 0; k < g->ninputs; k++) {
    const nv_shape s = nv_shape_at(g, g->inputs[k].value);
    for (uint32_t axis = 0; axis < nv_shape_rank(c, s); axis++) {
      const nv_dim d = nv_shape_dims(c, s)[axis];
      int64_t want;
      const bool known = nv_dim_eval(c, d, symbols, values, g->nsources, &want);
      if (known && want == shapes[k][axis]) continue;
      *why = known ? nv_format(c, "axis %u of '%s' has size %" PRId64 ", but %s is %" PRId64, axis, input_name(g, k),
                               shapes[k][axis], dim_text(c, d), want)
                   : nv_format(c, "axis %u of '%s': %s has no value", axis, input_name(g, k), dim_text(c, d));
      return false;
    }
  }
  for (uint32_t k = 0; k < g->nguards; k++)
    if (nv_guard_fails(c, &g->guards[k], symbols, values, g->nsources, why)) {
      nv_buf b;
      nv_buf_init(&b, c);
      if (g->guards[k].origin != NV_NONE) {
        nv_puts(&b, *why);
        nv_puts(&b, " (");
        nv_put_origin(&b, g, g->guards[k].origin);
        nv_putc(&b, ')');
        *why = nv_buf_text(&b);
      }
      return false;
    }
  return true;
}

/* A shape where all sizes have their values; false: one has none, or there are too many elements. */
static bool shape_at(nv_ctx *c, nv_shape s, const nv_dim *symbols, const int64_t *values, uint32_t n, nv_shape *out,
                     const char **why) {
  int64_t dims[NV_MAX_RANK];
  const uint32_t rank = nv_shape_rank(c, s);
  *out = s;
  if (nv_shape_is_static(c, s)) return true;
  for (uint32_t k = 0; k < rank; k++) {
    if (nv_dim_eval(c, nv_shape_dims(c, s)[k], symbols, values, n, &dims[k]) && dims[k] >= 0) continue;
    *why = nv_format(c, "the size %s has no value", dim_text(c, nv_shape_dims(c, s)[k]));
    return false;
  }
  *out = nv_shape_of_ints(c, dims, rank);
  if (nv_shape_fits(c, *out)) return true;
  *why = nv_format(c, "%s has more than 2^48 elements", nv_shape_text(c, *out));
  return false;
}

/* The constant that a number becomes in its dtype. */
static bool number_at(const nv_graph *g, const nv_node_rec *n, const nv_dim *symbols, const int64_t *values,
                      uint64_t *bits, const char **why) {
  nv_number x;
  const nv_dtype d = nv_dtype_of(g, n->result);
  if (!nv_size_eval(g->c, n->attr, symbols, values, g->nsources, &x)) {
    nv_buf b;
    nv_buf_init(&b, g->c);
    nv_put_origin(&b, g, n->origin);
    *why = nv_format(g->c, "a number that follows from the sizes has no value (%s)", nv_buf_text(&b));
    return false;
  }
  if (x.whole && nv_is(d, NV_BITS_INT) && !nv_int_fits(d, x.i)) {
    *why = nv_format(g->c, "%" PRId64 " is out of range for %s", x.i, nv_dtype_name[d]);
    return false;
  }
  *bits = d == NV_BOOL ? as_double(x) != 0 : x.whole ? nv_int_to_bits(d, x.i) : nv_double_to_bits(d, x.f);
  return true;
}

nv_graph *nv_graph_at(const nv_graph *g, const int64_t *values, const char **why) {
  nv_ctx *c = g->c;
  nv_graph *r = nv_graph_new(c, g->name);
  nv_dim *symbols = NV_NEW_N(c, nv_dim, (size_t)g->nsources + 1);
  list_symbols(g, symbols);
  if (g->norigins) {
    NV_GROW(c, r->origins, r->origins_cap, g->norigins);
    memcpy(r->origins, g->origins, g->norigins * sizeof *r->origins);
    r->norigins = g->norigins;
  }
  for (uint32_t k = 0; k < g->nnodes; k++) {
    const nv_node_rec *n = &g->nodes[k];
    const nv_dtype d = nv_dtype_of(g, n->result);
    nv_shape shape;
    uint64_t bits;
    if (!shape_at(c, nv_shape_at(g, n->result), symbols, values, g->nsources, &shape, why)) return NULL;
    if (n->op == NV_OP_INPUT) {
      nv_graph_input(r, g->inputs[k].name, d, shape, g->inputs[k].pos);
    } else if (n->op == NV_OP_SIZE) {
      if (!number_at(g, n, symbols, values, &bits, why)) return NULL;
      nv_graph_const(r, d, bits, n->origin);
    } else {
      nv_graph_add(r, (nv_op)n->op, g->pool + n->operands, n->noperands, n->attr, d, shape, n->origin);
    }
  }
  for (uint32_t k = 0; k < g->noutputs; k++)
    nv_graph_output(r, g->outputs[k].value, g->outputs[k].name, g->outputs[k].pos);
  return r;
}
