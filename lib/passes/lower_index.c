/* lower_index.c - lowering: symbols of an iteration space, row-major indices taken apart and joined, and which element
 * of what a view shows one of its own is (private to the fuser: fuse.h). */
#include "fuse.h"

#include <stdio.h>

/* The point keeps the name apart from the dims of a spec. Where the extent is open its symbol says which one it is. */
nv_dim nv_index_symbol_of(nv_ctx *c, const char *name, uint32_t number, nv_dim extent) {
  char size[24] = "open", text[64];
  int64_t known;
  if (nv_dim_is_const(c, extent, &known)) snprintf(size, sizeof size, "%lld", (long long)known);
  int n = snprintf(text, sizeof text, number == NV_NONE ? "%s.%s" : "%s.%s.%u", name, size, (unsigned)number);
  return nv_dim_index(c, nv_intern(c, text, (size_t)n), extent);
}

nv_dim nv_join_index(nv_ctx *c, const nv_dim *at, const nv_dim *dims, uint32_t n) {
  nv_dim r = NV_DIM_ZERO, stride = NV_DIM_ONE;
  for (uint32_t k = n; k-- > 0; stride = k ? nv_dim_mul(c, stride, dims[k]) : stride)
    r = nv_dim_add(c, r, nv_dim_mul(c, at[k], stride));
  return r;
}

void nv_split_index(nv_ctx *c, nv_dim linear, const nv_dim *dims, uint32_t n, nv_dim *at) {
  nv_dim stride = NV_DIM_ONE;
  uint32_t first = 0;
  while (first < n && dims[first] == NV_DIM_ONE) first++;
  for (uint32_t k = n; k-- > 0;) {
    at[k] = NV_DIM_ZERO;
    if (dims[k] == NV_DIM_ONE) continue;
    at[k] = nv_dim_floordiv(c, linear, stride);
    if (k == first) continue;
    at[k] = nv_dim_mod(c, at[k], dims[k]);
    stride = nv_dim_mul(c, stride, dims[k]);
  }
}

/* ---- elements ---- */

void nv_split_element(nv_ctx *c, nv_element *e) {
  if (e->split) return;
  nv_split_index(c, e->linear, nv_shape_dims(c, e->shape), nv_shape_rank(c, e->shape), e->at);
  e->split = true;
}

/* Splits the index of an element of open sizes group by group of axes that hold as many elements in both shapes. */
static void split_groups(nv_ctx *c, const nv_element *e, nv_element *r) {
  const nv_dim *from = nv_shape_dims(c, e->shape), *to = nv_shape_dims(c, r->shape);
  const uint32_t n = nv_shape_rank(c, e->shape), m = nv_shape_rank(c, r->shape);
  uint32_t i = 0, j = 0;
  while (j < m) {
    uint32_t i1 = i, j1 = j;
    nv_dim a = NV_DIM_ONE, b = NV_DIM_ONE;
    bool equal = false;
    for (i1 = i; !equal && i1 <= n; i1++) { /* the fewest axes of e that go with some of r */
      if (i1 > i) a = nv_dim_mul(c, a, from[i1 - 1]);
      b = NV_DIM_ONE;
      for (j1 = j; !equal && j1 < m;) {
        b = nv_dim_mul(c, b, to[j1++]);
        equal = a == b;
      }
    }
    i1--;
    if (!equal) i1 = n, j1 = m;
    nv_split_index(c, nv_join_index(c, e->at + i, from + i, i1 - i), to + j, j1 - j, r->at + j);
    i = i1;
    j = j1;
  }
  r->split = true;
}

nv_element nv_reshaped(nv_ctx *c, const nv_element *e, nv_shape shape) {
  nv_element r = {.shape = shape, .linear = e->linear, .part = e->part};
  const nv_dim *from = nv_shape_dims(c, e->shape), *to = nv_shape_dims(c, shape);
  uint32_t n = nv_shape_rank(c, e->shape), m = nv_shape_rank(c, shape), i = 0, j = 0;
  if (!e->split) return r;
  for (; j < m; j++) {
    if (to[j] == NV_DIM_ONE) {
      r.at[j] = NV_DIM_ZERO;
      continue;
    }
    while (i < n && from[i] == NV_DIM_ONE) i++;
    if (i == n || from[i] != to[j]) {
      if (!nv_shape_is_static(c, shape)) split_groups(c, e, &r);
      return r;
    }
    r.at[j] = e->at[i++];
  }
  r.split = true;
  return r;
}

/* Along an axis of size from, repeated to size to. Where the sizes don't say whether it is repeated, the step between
 * two elements is min(from - 1, 1). */
static nv_dim repeated_index(nv_ctx *c, nv_dim at, nv_dim from, nv_dim to) {
  if (from == NV_DIM_ONE) return NV_DIM_ZERO;
  if (from == to) return at;
  return nv_dim_mul(c, at, nv_dim_min(c, nv_dim_sub(c, from, NV_DIM_ONE), NV_DIM_ONE));
}

nv_element nv_before_view(nv_fuser *f, nv_value view, nv_element e) {
  nv_ctx *c = f->c;
  const nv_node_rec *n = nv_node_of(f->g, view);
  nv_value x = f->next[view];
  nv_shape from = nv_shape_at(f->g, x);
  const nv_dim *dims = nv_shape_dims(c, from), *to = nv_shape_dims(c, e.shape);
  uint32_t rank = nv_shape_rank(c, from), drop = nv_shape_rank(c, e.shape) - rank;
  bool moved = n->op == NV_OP_transpose, repeated = n->op == NV_OP_broadcast_to, part = n->op == NV_OP_slice,
       padded = n->op == NV_OP_pad_edge;
  if ((!moved && !repeated && !part && !padded) ||
      (f->order[x] != NV_NONE && f->order[view] == f->order[x] && f->base[view] == f->base[x]))
    return nv_reshaped(c, &e, from);
  nv_split_element(c, &e);
  nv_element r = {.shape = from, .split = true, .part = e.part || part};
  const int64_t *attr = nv_attr_list(c, n->attr);
  for (uint32_t k = 0; k < rank; k++) {
    if (part)
      r.at[k] = nv_dim_add(c, nv_dim_const(c, attr[k]), nv_dim_mul(c, e.at[k], nv_dim_const(c, attr[rank + k])));
    else if (padded)
      r.at[k] = nv_dim_min(c, nv_dim_max(c, nv_dim_sub(c, e.at[k], nv_dim_const(c, attr[k])), NV_DIM_ZERO),
                           nv_dim_sub(c, dims[k], NV_DIM_ONE));
    else if (moved) r.at[attr[k]] = e.at[k];
    else r.at[k] = repeated_index(c, e.at[k + drop], dims[k], to[k + drop]);
  }
  r.linear = nv_join_index(c, r.at, dims, rank);
  return r;
}

nv_dim nv_follow_order(nv_fuser *f, uint32_t order, nv_dim linear) {
  nv_ctx *c = f->c;
  uint32_t steps[2 * NV_MAX_ORDER], n = f->orders[order].depth;
  for (uint32_t k = n; k-- > 0; order = f->orders[order].parent) steps[k] = f->orders[order].step;
  for (uint32_t k = 0; k < n; k++) {
    const nv_step *s = &f->steps[steps[k]];
    nv_dim at[NV_MAX_RANK], moved[NV_MAX_RANK], dims[NV_MAX_RANK];
    nv_split_index(c, linear, s->dims, s->n, at);
    for (uint32_t i = 0; i < s->n; i++) {
      moved[i] = at[s->perm[i]];
      dims[i] = s->dims[s->perm[i]];
    }
    linear = nv_join_index(c, moved, dims, s->n);
  }
  return linear;
}
