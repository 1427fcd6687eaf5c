/* trace_index.c - tracing: reading by index arrays (take, take_along_axis, gather, dynamic_slice). An index array of
 * any integer dtype becomes int32 or int64 with negative indices counted from the end, by element-wise ops that fuse
 * with what makes it; then pick reads, and checks. Where the index's range is known, what it can't be isn't looked for.
 */
#include "steps.h"

/* ---- indices ---- */

/* An operand as an array of integers; NV_NONE: reported. */
static nv_value index_operand(nvt *t, const nvt_opcall *call, nvt_val v, nv_pos pos) {
  const nvt_arg a = {v, NV_NONE, pos, true};
  if (v.kind == NVT_ARRAY ? nv_is(nv_dtype_of(t->g, v.u.v), NV_BITS_INT) : v.kind == NVT_INT)
    return nvt_array_operand(t, &a);
  nvt_error(t, pos, "%s: indices have an integer dtype, not %s", nv_ops[call->op].name, nvt_show(t, v));
  return NV_NONE;
}

/* The index for an axis of n elements, part of an array of whole elements: int32, or int64 where that is needed. What
 * is outside stays outside. */
static nv_value normal_index(nvt *t, const nvt_opcall *call, nv_value i, int64_t n, int64_t whole) {
  const nv_dtype d = nv_dtype_of(t->g, i);
  int64_t least, most;
  nv_range(t->g, i, &least, &most);
  const bool wide = whole > INT32_MAX;
  nvt_val v = nvt_array(i);
  if ((d == NV_U32 && !wide && most > INT32_MAX) || (d == NV_U64 && most > (wide ? INT64_MAX - 1 : INT32_MAX)))
    v = nvt_step(t, call, false, NV_OP_minimum, v, nvt_int(n), nvt_none());
  if (v.kind != NVT_ARRAY) return NV_NONE;
  const bool kept = d == NV_I64 && (least < INT32_MIN || most > INT32_MAX);
  v = nvt_done(nvt_converted(t, call, false, v.u.v, wide || kept ? NV_I64 : NV_I32));
  if (least >= 0 || v.kind != NVT_ARRAY) return v.kind == NVT_ARRAY ? v.u.v : NV_NONE;
  const nvt_val up = nvt_step(t, call, false, NV_OP_add, v, nvt_int(n), nvt_none());
  if (most < 0 || up.kind != NVT_ARRAY) return up.kind == NVT_ARRAY ? up.u.v : NV_NONE;
  v = nvt_step(t, call, false, NV_OP_where, nvt_step(t, call, false, NV_OP_less, v, nvt_int(0), nvt_none()), up, v);
  return v.kind == NVT_ARRAY ? v.u.v : NV_NONE;
}

/* ---- pick ---- */

static bool is_computed_in_place(const nvt *t, nv_value v) {
  while (nv_ops[nv_node_of(t->g, v)->op].cls == NV_VIEW) v = nv_operand(t->g, nv_node_of(t->g, v), 0);
  return nv_node_of(t->g, v)->op == NV_OP_CONST || nv_node_of(t->g, v)->op == NV_OP_iota;
}

/* Elements of a by index, which broadcasts to dims, the result's shape. places: as pick's attributes. A copy of what no
 * buffer holds is made first. */
static nv_value pick(nvt *t, const nvt_opcall *call, bool last, nv_value a, nv_value index, const int64_t *dims,
                     uint32_t rank, const int64_t *places) {
  if (a == NV_NONE || index == NV_NONE) return NV_NONE;
  const nv_shape shape = nv_shape_of_ints(t->c, dims, rank);
  if (!nvt_check_shape(t, shape, call->pos)) return NV_NONE;
  if (!nv_shape_count(t->c, shape) || !nv_shape_count(t->c, nv_shape_at(t->g, a))) {
    const nvt_val zero = nvt_constant(t, nv_dtype_of(t->g, a), 0, call->pos, false);
    return nvt_repeated(t, call, last, zero.u.v, dims, rank);
  }
  if (is_computed_in_place(t, a)) {
    nvt_step_origin(t, call, false);
    a = nvt_emit(t, NV_OP_copy, &a, 1, NV_NO_ATTR, 0, call->pos);
  }
  const nv_value both[2] = {a, nvt_repeated(t, call, false, index, dims, rank)};
  if (both[0] == NV_NONE || both[1] == NV_NONE) return NV_NONE;
  nvt_step_origin(t, call, last);
  return nvt_emit(t, NV_OP_pick, both, 2, nv_attr_make(t->c, places, nv_shape_rank(t->c, nv_shape_at(t->g, a))), 0,
                  call->pos);
}

static nv_value flattened(nvt *t, const nvt_opcall *call, nv_value x) {
  const int64_t n = nv_shape_count(t->c, nv_shape_at(t->g, x));
  return nvt_reshaped(t, call, false, x, &n, 1);
}

static bool fits_rank(nvt *t, const nvt_opcall *call, uint32_t rank) {
  if (rank <= NV_MAX_RANK) return true;
  nvt_error(t, call->pos, "rank %u is over the limit of %d", rank, NV_MAX_RANK);
  return false;
}

nvt_val nvt_taken(nvt *t, const nvt_opcall *call, nv_value x, nvt_val indices, nv_pos pos, bool flat, uint32_t axis) {
  int64_t dims[NV_MAX_RANK], own[NV_MAX_RANK], thin[2 * NV_MAX_RANK], out[2 * NV_MAX_RANK], places[NV_MAX_RANK];
  nv_value i = index_operand(t, call, indices, pos);
  if (flat) x = flattened(t, call, x);
  if (i == NV_NONE || x == NV_NONE) return nvt_poison();
  const uint32_t rank = nvt_sizes_of(t, x, dims), m = nvt_sizes_of(t, i, own);
  if (!fits_rank(t, call, rank - 1 + m)) return nvt_poison();
  for (uint32_t k = 0; k < rank - 1 + m; k++) {
    const bool before = k < axis, behind = k >= axis + m;
    out[k] = before ? dims[k] : behind ? dims[k + 1 - m] : own[k - axis];
    thin[k] = before || behind ? 1 : out[k];
  }
  for (uint32_t k = 0; k < rank; k++) places[k] = k == axis ? -1 : k < axis ? (int64_t)k : (int64_t)k - 1 + m;
  const int64_t whole = nv_shape_count(t->c, nv_shape_at(t->g, x));
  i = normal_index(t, call, i, dims[axis], whole);
  if (i != NV_NONE && axis + m < rank - 1 + m) i = nvt_reshaped(t, call, false, i, thin + axis, rank - 1 + m - axis);
  return nvt_done(pick(t, call, true, x, i, out, rank - 1 + m, places));
}

static nvt_val take(nvt *t, const nvt_opcall *call, nv_value x) {
  const nvt_arg a = nvt_attr(call, 0);
  const bool flat = a.v.kind == NVT_NONE;
  uint32_t axis = 0;
  if (!flat && !nvt_axis_attr(t, call, 0, nv_shape_rank(t->c, nv_shape_at(t->g, x)), &axis)) return nvt_poison();
  return nvt_taken(t, call, x, call->in[1].v, call->in[1].pos, flat, axis);
}

static nvt_val take_along_axis(nvt *t, const nvt_opcall *call, nv_value x) {
  int64_t dims[NV_MAX_RANK], own[NV_MAX_RANK], out[NV_MAX_RANK], places[NV_MAX_RANK];
  const nvt_arg a = nvt_attr(call, 0);
  nv_value i = index_operand(t, call, call->in[1].v, call->in[1].pos);
  uint32_t axis = 0;
  if (a.v.kind == NVT_NONE) x = flattened(t, call, x);
  if (i == NV_NONE || x == NV_NONE) return nvt_poison();
  const uint32_t rank = nvt_sizes_of(t, x, dims);
  if (a.v.kind != NVT_NONE && !nvt_axis_attr(t, call, 0, rank, &axis)) return nvt_poison();
  if (nvt_sizes_of(t, i, own) != rank) {
    nvt_error(t, call->in[1].pos, "take_along_axis: indices of rank %u for an array of rank %u",
              nv_shape_rank(t->c, nv_shape_at(t->g, i)), rank);
    return nvt_poison();
  }
  for (uint32_t k = 0; k < rank; k++) {
    places[k] = k == axis ? -1 : (int64_t)k;
    out[k] = k == axis ? own[k] : own[k] == 1 ? dims[k] : own[k];
    if (k == axis || own[k] == dims[k] || own[k] == 1) continue;
    if (dims[k] != 1) {
      nvt_error(t, call->in[1].pos, "take_along_axis: %s and %s differ along axis %u",
                nvt_show_shape(t, nv_shape_at(t->g, x)), nvt_show_shape(t, nv_shape_at(t->g, i)), k);
      return nvt_poison();
    }
    dims[k] = own[k];
  }
  const int64_t n = dims[axis];
  x = nvt_repeated(t, call, false, x, dims, rank);
  if (x == NV_NONE) return nvt_poison();
  i = normal_index(t, call, i, n, nv_shape_count(t->c, nv_shape_at(t->g, x)));
  return nvt_done(pick(t, call, true, x, i, out, rank, places));
}

/* ---- blocks ---- */

typedef struct blocks { /* of an array: where they start, and how large they are */
  nv_value at[NV_MAX_RANK];   /* an axis: the index array, of shape lead; NV_NONE: 0 */
  int64_t lead[NV_MAX_RANK];  /* the index arrays' common shape */
  int64_t size[NV_MAX_RANK];  /* an axis of the array */
  uint32_t nlead;
} blocks;

/* v op x; NV_NONE as v: x. */
static nv_value joined(nvt *t, const nvt_opcall *call, nv_op op, nv_value v, nvt_val x) {
  if (x.kind != NVT_ARRAY) return NV_NONE;
  if (v == NV_NONE) return x.u.v;
  const nvt_val r = nvt_step(t, call, false, op, nvt_array(v), x, nvt_none());
  return r.kind == NVT_ARRAY ? r.u.v : NV_NONE;
}

/* The index of axis k for the result's shape lead + size: the block's start, and within it the element's own place. */
static nv_value index_in_block(nvt *t, const nvt_opcall *call, const blocks *b, uint32_t k, int64_t n, int64_t whole,
                               uint32_t rank) {
  int64_t thin[NV_MAX_RANK], line[NV_MAX_RANK];
  const uint32_t m = b->nlead, all = m + rank;
  for (uint32_t i = 0; i < all; i++) {
    thin[i] = i < m ? b->lead[i] : 1;
    line[i] = i == m + k ? b->size[k] : 1;
  }
  nv_value v = NV_NONE;
  if (b->at[k] != NV_NONE) {
    v = normal_index(t, call, b->at[k], n, whole);
    if (v == NV_NONE) return v;
    v = nvt_repeated(t, call, false, v, b->lead, m);
    v = nvt_reshaped(t, call, false, v, thin, all);
    if (v == NV_NONE || b->size[k] == 1) return v;
  }
  const nv_value own = nvt_indices(t, call, false, b->size[k], whole, line, all);
  return own == NV_NONE ? own : joined(t, call, NV_OP_add, v, nvt_array(own));
}

/* bool: is the index inside n elements? None where it surely is. */
static nvt_val is_inside(nvt *t, const nvt_opcall *call, nv_value i, int64_t n) {
  int64_t least, most;
  nvt_val r = nvt_none();
  nv_range(t->g, i, &least, &most);
  if (least < 0) r = nvt_step(t, call, false, NV_OP_greater_equal, nvt_array(i), nvt_int(0), nvt_none());
  if (most < n) return r;
  const nvt_val below = nvt_step(t, call, false, NV_OP_less, nvt_array(i), nvt_int(n), nvt_none());
  return r.kind == NVT_NONE ? below : nvt_step(t, call, false, NV_OP_logical_and, r, below, nvt_none());
}

/* Axes from..to of x made one axis: an index along it, the sum of theirs; below 0 where one of them is outside. */
static nv_value one_index(nvt *t, const nvt_opcall *call, const blocks *b, const int64_t *dims, uint32_t rank,
                          uint32_t from, uint32_t to, int64_t whole) {
  nv_value index = NV_NONE;
  int64_t stride = 1, most = INT64_MAX; /* most: what sums get to, whose sign counts */
  if (from < to && !nv_mul64(whole, to - from + 2, &most)) nv_bug(t->c, "more than 2^48 elements");
  if (from == to) most = whole;
  for (uint32_t k = to + 1; k-- > from; stride *= dims[k]) {
    const nv_value i = index_in_block(t, call, b, k, dims[k], most, rank);
    if (i == NV_NONE) return i;
    nvt_val term = nvt_array(i);
    if (stride != 1) term = nvt_step(t, call, false, NV_OP_multiply, term, nvt_int(stride), nvt_none());
    const nvt_val inside = from < to ? is_inside(t, call, i, dims[k]) : nvt_none();
    if (nvt_is_poison(inside)) return NV_NONE;
    if (inside.kind != NVT_NONE) term = nvt_step(t, call, false, NV_OP_where, inside, term, nvt_int(-whole));
    if ((index = joined(t, call, NV_OP_add, index, term)) == NV_NONE) return index;
  }
  return index;
}

/* The blocks of x, in an array of shape lead + size. Indexed axes that are neighbours become one axis by a reshape;
 * where others lie between them all axes do. */
static nv_value read_blocks(nvt *t, const nvt_opcall *call, bool last, nv_value x, const blocks *b) {
  int64_t dims[NV_MAX_RANK], flat[NV_MAX_RANK], first[NV_MAX_RANK] = {0}, out[2 * NV_MAX_RANK], places[NV_MAX_RANK];
  const uint32_t rank = nvt_sizes_of(t, x, dims), m = b->nlead;
  uint32_t from = NV_NONE, to = 0, n = 0;
  if (!fits_rank(t, call, m + rank)) return NV_NONE;
  for (uint32_t k = 0; k < m; k++) out[k] = b->lead[k];
  for (uint32_t k = 0; k < rank; k++) {
    out[m + k] = b->size[k];
    if (b->at[k] == NV_NONE) continue;
    if (from == NV_NONE) from = k;
    to = k;
  }
  for (uint32_t k = from; k <= to; k++)
    if (b->at[k] == NV_NONE) from = 0, to = rank - 1;
  for (uint32_t k = 0; k < rank; k++) flat[k] = k >= from && k <= to ? dims[k] : b->size[k];
  x = nvt_sliced(t, call, false, x, first, NULL, flat); /* blocks start at 0 along the others */
  if (x == NV_NONE) return x;
  const int64_t whole = nv_shape_count(t->c, nv_shape_at(t->g, x));
  const nv_value index = one_index(t, call, b, dims, rank, from, to, whole);
  for (uint32_t k = 0; k < rank; k++) {
    if (k > from && k <= to) {
      flat[n - 1] *= dims[k];
      continue;
    }
    places[n] = k == from ? -1 : (int64_t)(m + k);
    flat[n++] = flat[k];
  }
  return pick(t, call, last, nvt_reshaped(t, call, false, x, flat, n), index, out, m + rank, places);
}

/* A list of sizes up to those of x, one an axis; false: reported. */
static bool block_sizes(nvt *t, const nvt_opcall *call, uint32_t k, const int64_t *dims, uint32_t rank, int64_t *size) {
  const nvt_arg a = nvt_attr(call, k);
  nv_shape sizes;
  if (!nvt_sizes(t, call, k, &a, 0, false, &sizes)) return false;
  if (nv_shape_rank(t->c, sizes) != rank) {
    nvt_error(t, a.pos, "%s: a block has %u sizes, not %u", nv_ops[call->op].name, rank,
              nv_shape_rank(t->c, sizes));
    return false;
  }
  for (uint32_t i = 0; i < rank; i++) {
    size[i] = nv_dim_value(t->c, nv_shape_dims(t->c, sizes)[i]);
    if (size[i] <= dims[i]) continue;
    nvt_error(t, nvt_element_pos(t, &a, i), "%s: a block of %lld along axis %u, which has %lld", nv_ops[call->op].name,
              (long long)size[i], i, (long long)dims[i]);
    return false;
  }
  return true;
}

/* Index arrays of a list, or one alone, by axis; false: reported. */
static bool list_indices(nvt *t, const nvt_opcall *call, const int64_t *axes, uint32_t n, blocks *b) {
  const nvt_arg *a = &call->in[1];
  const bool list = a->v.kind == NVT_LIST;
  nv_shape shapes[NV_MAX_RANK], all;
  const char *why;
  if ((list ? a->v.u.seq->n : 1) != n || n == 0) {
    nvt_error(t, a->pos, "gather: index arrays for %u axes, not for %u", n, list ? a->v.u.seq->n : 1);
    return false;
  }
  for (uint32_t i = 0; i < n; i++) {
    const nv_value v = index_operand(t, call, list ? a->v.u.seq->at[i] : a->v, nvt_element_pos(t, a, i));
    if (v == NV_NONE) return false;
    b->at[axes[i]] = v;
    shapes[i] = nv_shape_at(t->g, v);
  }
  if (!nv_broadcast_shapes(t->c, shapes, n, &all, &why)) {
    nvt_error(t, a->pos, "gather: %s", why);
    return false;
  }
  b->nlead = nv_shape_rank(t->c, all);
  for (uint32_t k = 0; k < b->nlead; k++) b->lead[k] = nv_dim_value(t->c, nv_shape_dims(t->c, all)[k]);
  return true;
}

static nvt_val gather(nvt *t, const nvt_opcall *call, nv_value x) {
  int64_t dims[NV_MAX_RANK], axes[NV_MAX_RANK];
  const uint32_t rank = nvt_sizes_of(t, x, dims);
  const nvt_arg a = nvt_attr(call, 0), s = nvt_attr(call, 1);
  uint32_t n;
  blocks b;
  if (!nvt_axes(t, call, 0, &a, rank, axes, &n)) return nvt_poison();
  for (uint32_t k = 0; k < rank; k++) b.at[k] = NV_NONE, b.size[k] = dims[k];
  for (uint32_t i = 0; i < n; i++) b.size[axes[i]] = 1;
  if (!list_indices(t, call, axes, n, &b)) return nvt_poison();
  if (s.v.kind != NVT_NONE && !block_sizes(t, call, 1, dims, rank, b.size)) return nvt_poison();
  return nvt_done(read_blocks(t, call, true, x, &b));
}

/* Element i of an index array of rank 1, or the one of rank 0. */
static nv_value element_of(nvt *t, const nvt_opcall *call, nv_value v, int64_t i) {
  const int64_t first[1] = {i}, count[1] = {1};
  if (nv_shape_rank(t->c, nv_shape_at(t->g, v)) == 0) return v;
  return nvt_reshaped(t, call, false, nvt_sliced(t, call, false, v, first, NULL, count), NULL, 0);
}

/* start_indices and axes of attribute k; false: reported. */
static bool starts(nvt *t, const nvt_opcall *call, uint32_t operand, uint32_t rank, blocks *b) {
  const nvt_arg a = nvt_attr(call, 0), *s = &call->in[operand];
  int64_t axes[NV_MAX_RANK], dims[NV_MAX_RANK];
  uint32_t n;
  if (!nvt_axes(t, call, 0, &a, rank, axes, &n)) return false;
  const nv_value v = index_operand(t, call, s->v, s->pos);
  if (v == NV_NONE) return false;
  const uint32_t own = nvt_sizes_of(t, v, dims);
  if (own > 1 || (own ? dims[0] : 1) != (int64_t)n) {
    nvt_error(t, s->pos, "%s: start_indices has one index an axis of axes: [%u], not %s", nv_ops[call->op].name, n,
              nvt_show_shape(t, nv_shape_at(t->g, v)));
    return false;
  }
  for (uint32_t k = 0; k < rank; k++) b->at[k] = NV_NONE;
  for (uint32_t i = 0; i < n; i++)
    if ((b->at[axes[i]] = element_of(t, call, v, i)) == NV_NONE) return false;
  b->nlead = 0;
  return true;
}

static nvt_val dynamic_slice(nvt *t, const nvt_opcall *call, nv_value x) {
  int64_t dims[NV_MAX_RANK], first[NV_MAX_RANK] = {0};
  const uint32_t rank = nvt_sizes_of(t, x, dims);
  blocks b;
  if (!starts(t, call, 1, rank, &b) || !block_sizes(t, call, 1, dims, rank, b.size)) return nvt_poison();
  for (uint32_t k = 0; k < rank; k++)
    if (b.at[k] != NV_NONE) return nvt_done(read_blocks(t, call, true, x, &b));
  return nvt_done(nvt_sliced(t, call, true, x, first, NULL, b.size));
}

nvt_val nvt_read_by_index(nvt *t, const nvt_opcall *call, nv_value x) {
  switch (call->op) {
  case NV_OP_take: return take(t, call, x);
  case NV_OP_take_along_axis: return take_along_axis(t, call, x);
  case NV_OP_gather: return gather(t, call, x);
  default: return dynamic_slice(t, call, x);
  }
}
