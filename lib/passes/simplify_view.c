/* simplify_view.c - the simplifier's rules of views.
 *
 * Any run of views between two reshapes that regroup elements becomes one of this form, each view at most once, written
 * from the operand outward:
 *
 *   slice, pad_edge (as they come)   transpose   reshape   broadcast_to
 *
 * A view moves inward past those that stand behind it here, and joins its own kind. A reshape "of ones" only adds or
 * drops axes of size 1: it keeps every other axis, so what stands outside can move past it. Canonical are further:
 * reshape for every view that keeps the elements' order; transpose with the axes of size 1 in their places;
 * broadcast_to for repetition, of a constant always from rank 0, of a reshape without leading axes of size 1.
 * Moving inward makes a view of the operand's operand, which may move again: as deep as the list is long. */
#include "simplify.h"

typedef nv_simplifier walk;
typedef nv_form form;

bool nv_is_one(nv_ctx *c, nv_dim d) {
  int64_t v;
  return nv_dim_is_const(c, d, &v) && v == 1;
}

/* Axes whose size isn't 1 for good. */
static uint32_t real_axes(nv_ctx *c, nv_shape s, uint32_t *axes) {
  const nv_dim *d = nv_shape_dims(c, s);
  uint32_t n = 0;
  for (uint32_t k = 0; k < nv_shape_rank(c, s); k++)
    if (!nv_is_one(c, d[k])) axes[n++] = k;
  return n;
}

/* Do two shapes differ by axes of size 1 only? */
static bool same_but_ones(nv_ctx *c, nv_shape a, nv_shape b) {
  uint32_t x[NV_MAX_RANK], y[NV_MAX_RANK], n = real_axes(c, a, x);
  if (n != real_axes(c, b, y)) return false;
  for (uint32_t k = 0; k < n; k++)
    if (nv_shape_dims(c, a)[x[k]] != nv_shape_dims(c, b)[y[k]]) return false;
  return true;
}

/* Axes of size 1 that a shape starts with. */
static uint32_t leading_ones(nv_ctx *c, nv_shape s) {
  uint32_t n = 0;
  while (n < nv_shape_rank(c, s) && nv_is_one(c, nv_shape_dims(c, s)[n])) n++;
  return n;
}

/* Are two shapes equal without their leading ones? */
static bool same_tail(nv_ctx *c, nv_shape a, nv_shape b) {
  const uint32_t i = leading_ones(c, a), j = leading_ones(c, b), n = nv_shape_rank(c, a) - i;
  return n == nv_shape_rank(c, b) - j &&
         (n == 0 || !memcmp(nv_shape_dims(c, a) + i, nv_shape_dims(c, b) + j, n * sizeof(nv_dim)));
}

/* Does the permutation leave the order of the elements as it is? */
static bool keeps_order(nv_ctx *c, nv_shape from, const int64_t *perm) {
  const nv_dim *d = nv_shape_dims(c, from);
  int64_t last = -1;
  for (uint32_t k = 0; k < nv_shape_rank(c, from); k++) {
    if (nv_is_one(c, d[perm[k]])) continue;
    if (perm[k] < last) return false;
    last = perm[k];
  }
  return true;
}

/* Does a slice whose result has its operand's shape take every element in its place? */
static bool is_whole(nv_ctx *c, nv_attr attr) {
  const int64_t *first = nv_attr_list(c, attr);
  uint32_t rank = nv_attr_count(c, attr) / 2;
  for (uint32_t k = 0; k < rank; k++)
    if (first[k] != 0 || first[rank + k] != 1) return false;
  return true;
}

void nv_form_become(form *f, nv_op op, nv_value operand) {
  f->op = op;
  f->operands[0] = operand;
  f->attr = NV_NO_ATTR;
}

nv_value nv_repeated_const(const nv_graph *g, nv_value v) {
  const nv_node_rec *n = nv_node_of(g, v);
  if (n->op == NV_OP_broadcast_to) {
    v = nv_operand(g, n, 0);
    n = nv_node_of(g, v);
  }
  return n->op == NV_OP_CONST ? v : NV_NONE;
}

/* A view of x like f, of another kind, to another shape. */
static nv_value view_of(walk *w, const form *f, nv_op op, nv_value x, nv_attr attr, nv_shape shape) {
  form inner = {.op = op, .operands = {x}, .n = 1, .attr = attr, .dtype = f->dtype, .shape = shape,
                .origin = f->origin};
  return nv_simplify_make(w, &inner);
}

static bool is_reshape_of_ones(const nv_graph *g, nv_value v) {
  const nv_node_rec *n = nv_node_of(g, v);
  return n->op == NV_OP_reshape && same_but_ones(g->c, nv_shape_at(g, v), nv_shape_at(g, nv_operand(g, n, 0)));
}

/* ---- transpose ---- */

/* The axes of x, which reshaped to from is what perm permutes: the same order of elements, axes of size 1 in their
 * places. Their sizes in dims. */
static void permute_real(walk *w, nv_value x, nv_shape from, const int64_t *perm, int64_t *list, nv_dim *dims) {
  nv_ctx *c = w->c;
  nv_shape shape = nv_shape_at(w->g, x);
  uint32_t real[NV_MAX_RANK], outer[NV_MAX_RANK], rank_of[NV_MAX_RANK], next = 0;
  real_axes(c, shape, real);
  uint32_t n = real_axes(c, from, outer);
  for (uint32_t k = 0; k < n; k++) rank_of[outer[k]] = k;
  for (uint32_t k = 0; k < nv_shape_rank(c, shape); k++) list[k] = k;
  for (uint32_t k = 0; k < nv_shape_rank(c, from); k++)
    if (!nv_is_one(c, nv_shape_dims(c, from)[perm[k]])) list[real[next++]] = real[rank_of[perm[k]]];
  for (uint32_t k = 0; k < nv_shape_rank(c, shape); k++) dims[k] = nv_shape_dims(c, shape)[list[k]];
}

/* y, reshaped to from by ones, then permuted, to shape to. */
static nv_value transpose_of(walk *w, const form *f, nv_value y, nv_shape from, const int64_t *perm, nv_shape to) {
  int64_t list[NV_MAX_RANK];
  nv_dim dims[NV_MAX_RANK];
  if (is_reshape_of_ones(w->g, y)) y = nv_operand(w->g, nv_node_of(w->g, y), 0);
  permute_real(w, y, from, perm, list, dims);
  uint32_t rank = nv_shape_rank(w->c, nv_shape_at(w->g, y));
  y = view_of(w, f, NV_OP_transpose, y, nv_attr_make(w->c, list, rank), nv_shape_make(w->c, dims, rank));
  return view_of(w, f, NV_OP_reshape, y, NV_NO_ATTR, to);
}

static bool moves_ones(nv_ctx *c, nv_shape from, const int64_t *perm) {
  for (uint32_t k = 0; k < nv_shape_rank(c, from); k++)
    if (perm[k] != k && nv_is_one(c, nv_shape_dims(c, from)[k])) return true;
  return false;
}

static bool rewrite_transpose(walk *w, form *f, nv_value *v) {
  nv_ctx *c = w->c;
  nv_graph *g = w->g;
  const nv_value x = f->operands[0];
  const nv_node_rec *n = nv_node_of(g, x);
  const nv_shape from = nv_shape_at(g, x);
  const int64_t *perm = nv_attr_list(c, f->attr);
  const uint32_t rank = nv_shape_rank(c, from);
  if (keeps_order(c, from, perm)) {
    nv_form_become(f, NV_OP_reshape, x);
    return true;
  }
  if (n->op == NV_OP_transpose) {
    int64_t both[NV_MAX_RANK];
    for (uint32_t k = 0; k < rank; k++) both[k] = nv_attr_list(c, n->attr)[perm[k]];
    f->attr = nv_attr_make(c, both, rank);
    f->operands[0] = nv_operand(g, n, 0);
    return true;
  }
  if (n->op == NV_OP_broadcast_to) { /* the operand's own axes, then repeated */
    const nv_value y = nv_operand(g, n, 0);
    const nv_shape own = nv_shape_at(g, y);
    const uint32_t drop = rank - nv_shape_rank(c, own);
    nv_dim before[NV_MAX_RANK], after[NV_MAX_RANK];
    for (uint32_t k = 0; k < rank; k++) before[k] = k < drop ? nv_dim_const(c, 1) : nv_shape_dims(c, own)[k - drop];
    for (uint32_t k = 0; k < rank; k++) after[k] = before[perm[k]];
    nv_form_become(f, NV_OP_broadcast_to,
                   transpose_of(w, f, y, nv_shape_make(c, before, rank), perm, nv_shape_make(c, after, rank)));
    return true;
  }
  if (!is_reshape_of_ones(g, x) && !moves_ones(c, from, perm)) return false;
  *v = transpose_of(w, f, x, from, perm, f->shape);
  return true;
}

/* ---- slice, pad_edge ---- */

/* A window moves inward: of every axis of the operand's operand a first number, a second, and the size of the result.
 * slice: firsts, steps; pad_edge: elements before. */
typedef struct window {
  int64_t first[NV_MAX_RANK], step[NV_MAX_RANK];
  nv_dim dims[NV_MAX_RANK];
} window;

/* Axis k of the inner window is axis from of f's, or stays whole (NV_NONE). */
static void set_axis(walk *w, const form *f, nv_shape shape, window *a, uint32_t k, uint32_t from) {
  const int64_t *list = nv_attr_list(w->c, f->attr);
  const uint32_t rank = nv_shape_rank(w->c, f->shape);
  a->first[k] = from == NV_NONE ? 0 : list[from];
  a->step[k] = from == NV_NONE || f->op == NV_OP_pad_edge ? 1 : list[rank + from];
  a->dims[k] = nv_shape_dims(w->c, from == NV_NONE ? shape : f->shape)[from == NV_NONE ? k : from];
}

static nv_value window_of(walk *w, const form *f, nv_value y, const window *a) {
  const uint32_t rank = nv_shape_rank(w->c, nv_shape_at(w->g, y));
  int64_t list[2 * NV_MAX_RANK];
  for (uint32_t k = 0; k < rank; k++) list[k] = a->first[k], list[rank + k] = a->step[k];
  return view_of(w, f, f->op, y, nv_attr_make(w->c, list, f->op == NV_OP_slice ? 2 * rank : rank),
                 nv_shape_make(w->c, a->dims, rank));
}

/* Moves a slice or pad_edge of no axis of size 1 past the view that it is applied to. */
static bool move_window(walk *w, form *f) {
  nv_ctx *c = w->c;
  nv_graph *g = w->g;
  const nv_value x = f->operands[0];
  const nv_node_rec *n = nv_node_of(g, x);
  const nv_op op = (nv_op)n->op;
  if (op != NV_OP_broadcast_to && op != NV_OP_transpose && !is_reshape_of_ones(g, x)) return false;
  const nv_value y = nv_operand(g, n, 0);
  const nv_attr attr = n->attr;
  const nv_shape from = nv_shape_at(g, x), own = nv_shape_at(g, y);
  const uint32_t rank = nv_shape_rank(c, own), drop = nv_shape_rank(c, from) - rank;
  window a;
  uint32_t outer[NV_MAX_RANK], next = 0;
  if (op == NV_OP_reshape) real_axes(c, from, outer);
  for (uint32_t k = 0; k < rank; k++) {
    if (op == NV_OP_transpose) set_axis(w, f, own, &a, (uint32_t)nv_attr_list(c, attr)[k], k);
    else if (nv_is_one(c, nv_shape_dims(c, own)[k])) set_axis(w, f, own, &a, k, NV_NONE);
    else set_axis(w, f, own, &a, k, op == NV_OP_reshape ? outer[next++] : k + drop);
  }
  nv_form_become(f, op, window_of(w, f, y, &a));
  if (op == NV_OP_transpose) f->attr = attr;
  return true;
}

/* The attributes of slicing by outer, then by inner, to shape. */
static nv_attr slice_twice(nv_ctx *c, nv_attr outer, nv_attr inner, nv_shape shape) {
  int64_t list[2 * NV_MAX_RANK];
  uint32_t rank = nv_attr_count(c, outer) / 2;
  const int64_t *a = nv_attr_list(c, outer), *b = nv_attr_list(c, inner);
  for (uint32_t k = 0; k < rank; k++) {
    int64_t n = 2; /* of an open size both take all */
    nv_dim_is_const(c, nv_shape_dims(c, shape)[k], &n);
    list[k] = n ? a[k] + b[k] * a[rank + k] : 0;
    list[rank + k] = n > 1 ? a[rank + k] * b[rank + k] : 1;
  }
  return nv_attr_make(c, list, 2 * rank);
}

/* Does a slice take what pad_edge was applied to? */
static bool is_unpadded(nv_ctx *c, const form *f, nv_attr before) {
  const uint32_t rank = nv_shape_rank(c, f->shape);
  const int64_t *list = nv_attr_list(c, f->attr);
  for (uint32_t k = 0; k < rank; k++)
    if (list[k] != nv_attr_list(c, before)[k] || list[rank + k] != 1) return false;
  return true;
}

static bool rewrite_slice(walk *w, form *f, nv_value *v) {
  nv_ctx *c = w->c;
  const nv_node_rec *n = nv_node_of(w->g, f->operands[0]);
  if (n->op == NV_OP_slice) {
    f->attr = slice_twice(c, n->attr, f->attr, f->shape);
    f->operands[0] = nv_operand(w->g, n, 0);
    return true;
  }
  if (n->op == NV_OP_pad_edge && nv_shape_at(w->g, nv_operand(w->g, n, 0)) == f->shape && is_unpadded(c, f, n->attr)) {
    *v = nv_operand(w->g, n, 0);
    return true;
  }
  return nv_shape_is_static(c, f->shape) && nv_shape_count(c, f->shape) > 0 && move_window(w, f);
}

static bool rewrite_pad_edge(walk *w, form *f) {
  nv_ctx *c = w->c;
  const nv_value x = f->operands[0];
  const nv_node_rec *n = nv_node_of(w->g, x);
  const nv_shape from = nv_shape_at(w->g, x);
  const uint32_t rank = nv_shape_rank(c, from);
  window a;
  bool repeats = false;
  if (n->op == NV_OP_pad_edge) {
    int64_t both[NV_MAX_RANK];
    for (uint32_t k = 0; k < rank; k++) both[k] = nv_attr_list(c, n->attr)[k] + nv_attr_list(c, f->attr)[k];
    f->attr = nv_attr_make(c, both, rank);
    f->operands[0] = nv_operand(w->g, n, 0);
    return true;
  }
  for (uint32_t k = 0; k < rank; k++) { /* an axis of size 1 is repeated */
    const bool one = nv_is_one(c, nv_shape_dims(c, from)[k]);
    repeats = repeats || (one && !nv_is_one(c, nv_shape_dims(c, f->shape)[k]));
    set_axis(w, f, from, &a, k, one ? NV_NONE : k);
  }
  if (!repeats) return move_window(w, f);
  nv_form_become(f, NV_OP_broadcast_to, window_of(w, f, x, &a));
  return true;
}

/* ---- reshape, broadcast_to ---- */

/* A reshape of ones of what is repeated: the ones first. */
static bool rewrite_reshape(walk *w, form *f) {
  nv_ctx *c = w->c;
  nv_graph *g = w->g;
  const nv_node_rec *n = nv_node_of(g, f->operands[0]);
  const nv_shape from = nv_shape_at(g, f->operands[0]);
  if (n->op == NV_OP_reshape) {
    f->operands[0] = nv_operand(g, n, 0);
    return true;
  }
  if (n->op != NV_OP_broadcast_to || !same_but_ones(c, from, f->shape)) return false;
  const nv_value y = nv_operand(g, n, 0);
  const nv_shape own = nv_shape_at(g, y);
  const uint32_t rank = nv_shape_rank(c, f->shape), drop = nv_shape_rank(c, from) - nv_shape_rank(c, own);
  uint32_t real[NV_MAX_RANK], next = 0;
  nv_dim dims[NV_MAX_RANK];
  real_axes(c, from, real);
  for (uint32_t k = 0; k < rank; k++) {
    const bool one = nv_is_one(c, nv_shape_dims(c, f->shape)[k]);
    const uint32_t axis = one ? 0 : real[next++];
    dims[k] = one || axis < drop ? nv_dim_const(c, 1) : nv_shape_dims(c, own)[axis - drop];
  }
  nv_form_become(f, NV_OP_broadcast_to, view_of(w, f, NV_OP_reshape, y, NV_NO_ATTR, nv_shape_make(c, dims, rank)));
  return true;
}

static bool rewrite_broadcast(walk *w, form *f) {
  nv_ctx *c = w->c;
  nv_graph *g = w->g;
  const nv_value x = f->operands[0];
  const nv_node_rec *n = nv_node_of(g, x);
  const nv_shape from = nv_shape_at(g, x);
  if (same_but_ones(c, from, f->shape)) {
    nv_form_become(f, NV_OP_reshape, x);
    return true;
  }
  if (n->op == NV_OP_broadcast_to) {
    f->operands[0] = nv_operand(g, n, 0);
    return true;
  }
  if (n->op != NV_OP_reshape) return false;
  const nv_value y = nv_operand(g, n, 0);
  const uint32_t ones = leading_ones(c, from), rank = nv_shape_rank(c, from);
  if (same_tail(c, from, nv_shape_at(g, y)) && nv_shape_rank(c, nv_shape_at(g, y)) <= nv_shape_rank(c, f->shape)) {
    f->operands[0] = y;
    return true;
  }
  if (ones == 0) return false;
  f->operands[0] = view_of(w, f, NV_OP_reshape, y, NV_NO_ATTR,
                           nv_shape_make(c, nv_shape_dims(c, from) + ones, rank - ones));
  return true;
}

bool nv_simplify_view(walk *w, form *f, nv_value *v) {
  nv_ctx *c = w->c;
  nv_value x = f->operands[0], k = nv_repeated_const(w->g, x);
  if (k != NV_NONE && (f->op != NV_OP_broadcast_to || k != x)) {
    nv_form_become(f, NV_OP_broadcast_to, k);
    return true;
  }
  if (nv_shape_at(w->g, x) == f->shape && f->op != NV_OP_transpose &&
      (f->op != NV_OP_slice || is_whole(c, f->attr))) {
    *v = x;
    return true;
  }
  switch (f->op) {
  case NV_OP_expand_dims:
  case NV_OP_squeeze: nv_form_become(f, NV_OP_reshape, x); return true;
  case NV_OP_reshape: return rewrite_reshape(w, f);
  case NV_OP_transpose: return rewrite_transpose(w, f, v);
  case NV_OP_slice: return rewrite_slice(w, f, v);
  case NV_OP_pad_edge: return rewrite_pad_edge(w, f);
  case NV_OP_broadcast_to: return k == NV_NONE && rewrite_broadcast(w, f);
  default: return false;
  }
}
