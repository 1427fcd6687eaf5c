/* trace_index.c - tracing: reading by index arrays (take, take_along_axis, gather, dynamic_slice, as_strided), and
 * parts of an array replaced, which is a choice by index between two arrays (slice_update, dynamic_slice_update). An
 * index array of any integer dtype becomes int32 or int64 with negative indices counted from the end, by element-wise
 * ops that fuse with what makes it; then pick reads, and checks. Where the index's range is known, what it can't be
 * isn't looked for. */
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

/* The index for an axis of n elements, part of sums up to whole: int32, or int64 where that is needed. What is outside
 * stays outside. */
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
  i = normal_index(t, call, i, dims[axis], dims[axis]);
  if (i != NV_NONE && axis + m < rank - 1 + m) i = nvt_reshaped(t, call, false, i, thin + axis, rank - 1 + m - axis);
  return nvt_done(pick(t, call, true, x, i, out, rank - 1 + m, places));
}

nvt_val nvt_take(nvt *t, const nvt_opcall *call, nv_value x) {
  const nvt_arg a = nvt_attr(call, 0);
  const bool flat = a.v.kind == NVT_NONE;
  uint32_t axis = 0;
  if (!flat && !nvt_axis_attr(t, call, 0, nv_shape_rank(t->c, nv_shape_at(t->g, x)), &axis)) return nvt_poison();
  return nvt_taken(t, call, x, call->in[1].v, call->in[1].pos, flat, axis);
}

nvt_val nvt_take_along_axis(nvt *t, const nvt_opcall *call, nv_value x) {
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
  i = normal_index(t, call, i, n, n);
  return nvt_done(pick(t, call, true, x, i, out, rank, places));
}

/* ---- blocks ---- */

typedef struct blocks { /* of an array: where they start, and how large they are */
  nv_value at[NV_MAX_RANK];   /* an axis: the index array, counted from 0, that broadcasts to lead; NV_NONE: 0 */
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
static nv_value index_in_block(nvt *t, const nvt_opcall *call, const blocks *b, uint32_t k, int64_t whole,
                               uint32_t rank) {
  int64_t thin[NV_MAX_RANK], line[NV_MAX_RANK];
  const uint32_t m = b->nlead, all = m + rank;
  for (uint32_t i = 0; i < all; i++) {
    thin[i] = i < m ? b->lead[i] : 1;
    line[i] = i == m + k ? b->size[k] : 1;
  }
  nv_value v = NV_NONE;
  if (b->at[k] != NV_NONE) {
    v = nvt_repeated(t, call, false, b->at[k], b->lead, m);
    v = nvt_reshaped(t, call, false, v, thin, all);
    if (v == NV_NONE || b->size[k] == 1) return v;
  }
  const nv_value own = nvt_indices(t, call, false, b->size[k], whole > b->size[k] ? whole : b->size[k], line, all);
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

/* What sums of indices get to, whose sign counts. */
static int64_t most_of_sum(int64_t whole) { return (NV_MAX_RANK + 2) * whole; }

/* Axes from..to of x made one axis: an index along it, the sum of theirs; below 0 where one of them is outside. */
static nv_value one_index(nvt *t, const nvt_opcall *call, const blocks *b, const int64_t *dims, uint32_t rank,
                          uint32_t from, uint32_t to, int64_t whole) {
  nv_value index = NV_NONE;
  int64_t stride = 1;
  const int64_t most = from < to ? most_of_sum(whole) : 2 * dims[from];
  for (uint32_t k = to + 1; k-- > from; stride *= dims[k]) {
    const nv_value i = index_in_block(t, call, b, k, most, rank);
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

/* Counts the indices of n axes from 0; false: reported. */
static bool count_from_0(nvt *t, const nvt_opcall *call, const int64_t *dims, uint32_t rank, const int64_t *axes,
                         uint32_t n, blocks *b) {
  int64_t whole = 1;
  for (uint32_t k = 0; k < rank; k++) whole *= dims[k] > 0 ? dims[k] : 1;
  for (uint32_t i = 0; i < n; i++) {
    const int64_t size = dims[axes[i]];
    nv_value *at = &b->at[axes[i]];
    if ((*at = normal_index(t, call, *at, size, n == 1 ? 2 * size : most_of_sum(whole))) == NV_NONE) return false;
  }
  return true;
}

/* Index arrays of a list, or one alone, by axis of an array of shape dims; false: reported. */
static bool list_indices(nvt *t, const nvt_opcall *call, const int64_t *dims, uint32_t rank, const int64_t *axes,
                         uint32_t n, blocks *b) {
  const nvt_arg *a = &call->in[1];
  const bool list = a->v.kind == NVT_LIST;
  nv_shape shapes[NV_MAX_RANK], all;
  const char *why;
  if ((list ? a->v.u.seq->n : 1) != n || n == 0) {
    nvt_error(t, a->pos, "%s: index arrays for %u axes, not for %u", nv_ops[call->op].name, n,
              list ? a->v.u.seq->n : 1);
    return false;
  }
  for (uint32_t i = 0; i < n; i++) {
    const nv_value v = index_operand(t, call, list ? a->v.u.seq->at[i] : a->v, nvt_element_pos(t, a, i));
    if (v == NV_NONE) return false;
    b->at[axes[i]] = v;
    shapes[i] = nv_shape_at(t->g, v);
  }
  if (!count_from_0(t, call, dims, rank, axes, n, b)) return false;
  if (!nv_broadcast_shapes(t->c, shapes, n, &all, &why)) {
    nvt_error(t, a->pos, "%s: %s", nv_ops[call->op].name, why);
    return false;
  }
  b->nlead = nv_shape_rank(t->c, all);
  for (uint32_t k = 0; k < b->nlead; k++) b->lead[k] = nv_dim_value(t->c, nv_shape_dims(t->c, all)[k]);
  return true;
}

nvt_val nvt_gather(nvt *t, const nvt_opcall *call, nv_value x) {
  int64_t dims[NV_MAX_RANK], axes[NV_MAX_RANK];
  const uint32_t rank = nvt_sizes_of(t, x, dims);
  const nvt_arg a = nvt_attr(call, 0), s = nvt_attr(call, 1);
  uint32_t n;
  blocks b;
  if (!nvt_axes(t, call, 0, &a, rank, axes, &n)) return nvt_poison();
  for (uint32_t k = 0; k < rank; k++) b.at[k] = NV_NONE, b.size[k] = dims[k];
  for (uint32_t i = 0; i < n; i++) b.size[axes[i]] = 1;
  if (!list_indices(t, call, dims, rank, axes, n, &b)) return nvt_poison();
  if (s.v.kind != NVT_NONE && !block_sizes(t, call, 1, dims, rank, b.size)) return nvt_poison();
  return nvt_done(read_blocks(t, call, true, x, &b));
}

/* Element i of an index array of rank 1, or the one of rank 0. */
static nv_value element_of(nvt *t, const nvt_opcall *call, nv_value v, int64_t i) {
  const int64_t first[1] = {i}, count[1] = {1};
  if (nv_shape_rank(t->c, nv_shape_at(t->g, v)) == 0) return v;
  return nvt_reshaped(t, call, false, nvt_sliced(t, call, false, v, first, NULL, count), NULL, 0);
}

/* start_indices, an operand, in an array of shape dims, and axes; false: reported. */
static bool starts(nvt *t, const nvt_opcall *call, uint32_t operand, const int64_t *dims, uint32_t rank, blocks *b) {
  const nvt_arg a = nvt_attr(call, 0), *s = &call->in[operand];
  int64_t axes[NV_MAX_RANK], count[NV_MAX_RANK];
  uint32_t n;
  if (!nvt_axes(t, call, 0, &a, rank, axes, &n)) return false;
  const nv_value v = index_operand(t, call, s->v, s->pos);
  if (v == NV_NONE) return false;
  const uint32_t own = nvt_sizes_of(t, v, count);
  if (own > 1 || (own ? count[0] : 1) != (int64_t)n) {
    nvt_error(t, s->pos, "%s: start_indices has one index an axis of axes: [%u], not %s", nv_ops[call->op].name, n,
              nvt_show_shape(t, nv_shape_at(t->g, v)));
    return false;
  }
  for (uint32_t k = 0; k < rank; k++) b->at[k] = NV_NONE;
  for (uint32_t i = 0; i < n; i++)
    if ((b->at[axes[i]] = element_of(t, call, v, i)) == NV_NONE) return false;
  b->nlead = 0;
  return count_from_0(t, call, dims, rank, axes, n, b);
}

nvt_val nvt_dynamic_slice(nvt *t, const nvt_opcall *call, nv_value x) {
  int64_t dims[NV_MAX_RANK], first[NV_MAX_RANK] = {0};
  const uint32_t rank = nvt_sizes_of(t, x, dims);
  blocks b;
  if (!starts(t, call, 1, dims, rank, &b) || !block_sizes(t, call, 1, dims, rank, b.size)) return nvt_poison();
  for (uint32_t k = 0; k < rank; k++)
    if (b.at[k] != NV_NONE) return nvt_done(read_blocks(t, call, true, x, &b));
  return nvt_done(nvt_sliced(t, call, true, x, first, NULL, b.size));
}

/* ---- parts replaced ---- */

/* The update, an operand, in the dtype of a and of the shape dims, to which it broadcasts; NV_NONE: reported. */
static nv_value update_operand(nvt *t, const nvt_opcall *call, uint32_t operand, nv_value a, const int64_t *dims,
                               uint32_t rank) {
  const nv_shape want = nv_shape_of_ints(t->c, dims, rank);
  const nvt_arg *u = &call->in[operand];
  nv_shape both;
  const char *why;
  uint64_t bits;
  nv_value v;
  if (u->v.kind == NVT_ARRAY)
    v = nvt_converted(t, call, false, u->v.u.v, nv_dtype_of(t->g, a));
  else if (!nvt_weak_bits(t, u->v, nv_dtype_of(t->g, a), u->pos, &bits))
    return NV_NONE;
  else
    v = nvt_constant(t, nv_dtype_of(t->g, a), bits, u->pos, false).u.v;
  if (v == NV_NONE) return v;
  const nv_shape shapes[2] = {nv_shape_at(t->g, v), want};
  if (nv_broadcast_shapes(t->c, shapes, 2, &both, &why) && both == want)
    return nvt_repeated(t, call, false, v, dims, rank);
  nvt_error(t, u->pos, "%s: %s doesn't broadcast to %s", nv_ops[call->op].name, nvt_show_shape(t, shapes[0]),
            nvt_show_shape(t, want));
  return NV_NONE;
}

/* cond and x, where both are. */
static nvt_val both(nvt *t, const nvt_opcall *call, nvt_val cond, nvt_val x) {
  if (nvt_is_poison(x) || x.kind == NVT_NONE) return nvt_is_poison(x) ? x : cond;
  return cond.kind == NVT_NONE ? x : nvt_step(t, call, false, NV_OP_logical_and, cond, x, nvt_none());
}

/* Is place k of an axis of n one of first, first + step, … last? None: all are. */
static nvt_val is_on(nvt *t, const nvt_opcall *call, uint32_t rank, uint32_t axis, int64_t n, int64_t first,
                     int64_t last, int64_t step) {
  int64_t line[NV_MAX_RANK] = {0};
  nvt_val r = nvt_none();
  if (first == 0 && last == n - 1 && step == 1) return r;
  for (uint32_t k = 0; k < rank; k++) line[k] = k == axis ? n : 1;
  const nvt_val i = nvt_done(nvt_indices(t, call, false, n, n, line, rank));
  if (first > 0) r = both(t, call, r, nvt_step(t, call, false, NV_OP_greater_equal, i, nvt_int(first), nvt_none()));
  if (last < n - 1) r = both(t, call, r, nvt_step(t, call, false, NV_OP_less_equal, i, nvt_int(last), nvt_none()));
  if (step == 1) return r;
  nvt_val rest = nvt_step(t, call, false, NV_OP_subtract, i, nvt_int(first), nvt_none());
  rest = nvt_step(t, call, false, NV_OP_remainder, rest, nvt_int(step), nvt_none());
  return both(t, call, r, nvt_step(t, call, false, NV_OP_equal, rest, nvt_int(0), nvt_none()));
}

/* Elements along axes by[k] apart: each repeated up to the next. */
static nv_value spread_out(nvt *t, const nvt_opcall *call, nv_value u, int64_t *count, const int64_t *by,
                           uint32_t rank) {
  int64_t thin[2 * NV_MAX_RANK], wide[2 * NV_MAX_RANK], first[NV_MAX_RANK] = {0};
  uint32_t n = 0;
  for (uint32_t k = 0; k < rank; k++) {
    thin[n] = wide[n] = count[k];
    n++;
    if (by[k] > 1) thin[n] = 1, wide[n++] = by[k];
  }
  if (n == rank) return u;
  if (n > NV_MAX_RANK) {
    nvt_refuse(t, call->pos, "slice_update over %u axes", n);
    return NV_NONE;
  }
  u = nvt_repeated(t, call, false, nvt_reshaped(t, call, false, u, thin, n), wide, n);
  for (uint32_t k = 0; k < rank; k++) wide[k] = count[k] * by[k];
  u = nvt_reshaped(t, call, false, u, wide, rank);
  for (uint32_t k = 0; k < rank; k++) count[k] = (count[k] - 1) * by[k] + 1;
  return nvt_sliced(t, call, false, u, first, NULL, count);
}

nvt_val nvt_slice_update(nvt *t, const nvt_opcall *call, nv_value a) {
  int64_t dims[NV_MAX_RANK], count[NV_MAX_RANK], first[NV_MAX_RANK], by[NV_MAX_RANK], turn[NV_MAX_RANK],
      from[NV_MAX_RANK];
  const uint32_t rank = nvt_sizes_of(t, a, dims);
  nvt_attrs part;
  if (!nvt_read_attrs(t, call, nv_shape_at(t->g, a), &part)) return nvt_poison();
  const int64_t *list = nv_attr_list(t->c, part.attr);
  for (uint32_t k = 0; k < rank; k++) count[k] = nv_dim_value(t->c, nv_shape_dims(t->c, part.shape)[k]);
  nv_value u = update_operand(t, call, 1, a, count, rank);
  if (u == NV_NONE) return nvt_poison();
  if (!nv_shape_count(t->c, part.shape)) return nvt_array(a);
  nvt_val cond = nvt_none();
  bool turned = false;
  for (uint32_t k = 0; k < rank; k++) { /* upwards */
    const bool down = list[rank + k] < 0;
    by[k] = down ? -list[rank + k] : list[rank + k];
    first[k] = down ? list[k] - (count[k] - 1) * by[k] : list[k];
    turn[k] = down ? -1 : 1;
    from[k] = down ? count[k] - 1 : 0;
    turned = turned || down;
  }
  if (turned) u = nvt_sliced(t, call, false, u, from, turn, count);
  for (uint32_t k = 0; k < rank; k++) {
    cond = both(t, call, cond, is_on(t, call, rank, k, dims[k], first[k], first[k] + (count[k] - 1) * by[k], by[k]));
    if (nvt_is_poison(cond)) return cond;
  }
  if (u != NV_NONE) u = spread_out(t, call, u, count, by, rank);
  u = nvt_padded(t, call, cond.kind == NVT_NONE, u, first, dims);
  if (u == NV_NONE || cond.kind == NVT_NONE) return nvt_done(u);
  return nvt_step(t, call, true, NV_OP_where, cond, nvt_array(u), nvt_array(a));
}

/* Element i of a is element i - start of the update, where it has one. */
nvt_val nvt_dynamic_slice_update(nvt *t, const nvt_opcall *call, nv_value a) {
  int64_t dims[NV_MAX_RANK], size[NV_MAX_RANK], zero[NV_MAX_RANK] = {0}, own[NV_MAX_RANK];
  const uint32_t rank = nvt_sizes_of(t, a, dims);
  const nvt_arg *given = &call->in[1];
  const uint32_t r = given->v.kind == NVT_ARRAY ? nvt_sizes_of(t, given->v.u.v, own) : 0;
  for (uint32_t k = 0; k < rank; k++) size[k] = k + r < rank ? dims[k] : own[k + r - rank];
  bool fits = r <= rank;
  for (uint32_t k = 0; k < rank && fits; k++) fits = size[k] <= dims[k];
  if (!fits) {
    nvt_error(t, given->pos, "dynamic_slice_update: %s doesn't fit into %s",
              nvt_show_shape(t, nv_shape_at(t->g, given->v.u.v)), nvt_show_shape(t, nv_shape_at(t->g, a)));
    return nvt_poison();
  }
  blocks b;
  if (!starts(t, call, 2, dims, rank, &b)) return nvt_poison();
  nv_value u = update_operand(t, call, 1, a, size, rank);
  if (u == NV_NONE) return nvt_poison();
  if (!nv_shape_count(t->c, nv_shape_at(t->g, u))) return nvt_array(a);
  nvt_val cond = nvt_none();
  int64_t wide[NV_MAX_RANK];
  const int64_t whole = most_of_sum(nv_shape_count(t->c, nv_shape_at(t->g, a)));
  bool picks = false;
  for (uint32_t k = 0; k < rank; k++) {
    b.size[k] = dims[k];
    wide[k] = b.at[k] == NV_NONE ? dims[k] : size[k];
    picks = picks || b.at[k] != NV_NONE;
    nvt_val on;
    if (b.at[k] == NV_NONE) {
      on = is_on(t, call, rank, k, dims[k], 0, size[k] - 1, 1);
    } else {
      const nvt_val down = nvt_step(t, call, false, NV_OP_negative, nvt_array(b.at[k]), nvt_none(), nvt_none());
      b.at[k] = down.kind == NVT_ARRAY ? down.u.v : NV_NONE;
      const nv_value i = b.at[k] == NV_NONE ? NV_NONE : index_in_block(t, call, &b, k, whole, rank);
      on = i == NV_NONE ? nvt_poison() : is_inside(t, call, i, size[k]);
    }
    cond = both(t, call, cond, on);
    if (nvt_is_poison(cond)) return cond;
  }
  u = nvt_padded(t, call, false, u, zero, wide);
  if (picks && u != NV_NONE) u = read_blocks(t, call, cond.kind == NVT_NONE, u, &b);
  if (u == NV_NONE || cond.kind == NVT_NONE) return nvt_done(u);
  return nvt_step(t, call, true, NV_OP_where, cond, nvt_array(u), nvt_array(a));
}

/* ---- updates by index ---- */

/* op of a, along axis, by updates of shape [count] + a without axis; the index broadcasts to that. */
static nv_value fold_at(nvt *t, const nvt_opcall *call, bool last, nv_op op, nv_value a, nv_value index, nv_value u,
                        uint32_t axis) {
  int64_t dims[NV_MAX_RANK];
  const int64_t attr = axis;
  if (index == NV_NONE || u == NV_NONE) return NV_NONE;
  const uint32_t rank = nvt_sizes_of(t, u, dims);
  const nv_value in[3] = {a, nvt_repeated(t, call, false, index, dims, rank), u};
  if (in[1] == NV_NONE) return NV_NONE;
  nvt_step_origin(t, call, last);
  return nvt_emit(t, op, in, 3, nv_attr_make(t->c, &attr, 1), 0, call->pos);
}

nvt_val nvt_put_along_axis(nvt *t, const nvt_opcall *call, nv_value a) {
  int64_t dims[NV_MAX_RANK], own[NV_MAX_RANK], whole[NV_MAX_RANK], perm[NV_MAX_RANK];
  const nvt_arg *where = &call->in[1], along = nvt_attr(call, 0);
  const uint32_t given = nvt_sizes_of(t, a, whole);
  const bool flat = along.v.kind == NVT_NONE;
  nv_value i = index_operand(t, call, where->v, where->pos), x = flat ? flattened(t, call, a) : a;
  uint32_t axis = 0;
  if (i == NV_NONE || x == NV_NONE) return nvt_poison();
  const uint32_t rank = nvt_sizes_of(t, x, dims), r = nvt_sizes_of(t, i, own);
  if (!flat && !nvt_axis_attr(t, call, 0, rank, &axis)) return nvt_poison();
  bool fits = r == rank;
  for (uint32_t k = 0; k < rank && fits; k++) {
    fits = k == axis || own[k] == dims[k] || own[k] == 1;
    if (k != axis) own[k] = dims[k];
    perm[k] = k == 0 ? axis : k <= axis ? k - 1 : k;
  }
  if (!fits) {
    nvt_error(t, where->pos, "put_along_axis: indices of shape %s along axis %u of %s",
              nvt_show_shape(t, nv_shape_at(t->g, i)), axis, nvt_show_shape(t, nv_shape_at(t->g, x)));
    return nvt_poison();
  }
  nv_value u = update_operand(t, call, 2, a, own, rank);
  if (u == NV_NONE) return nvt_poison();
  if (!nv_shape_count(t->c, nv_shape_at(t->g, u)) || !nv_shape_count(t->c, nv_shape_at(t->g, a))) return nvt_array(a);
  i = normal_index(t, call, i, dims[axis], dims[axis]);
  if (i != NV_NONE) i = nvt_repeated(t, call, false, i, own, rank);
  if (axis) i = nvt_transposed(t, call, false, i, perm), u = nvt_transposed(t, call, false, u, perm);
  return nvt_done(nvt_reshaped(t, call, true, fold_at(t, call, !flat || given == 1, NV_OP_set_at, x, i, u, axis), whole,
                               given));
}

static nv_op fold_of(nv_op op) {
  switch (op) {
  case NV_OP_scatter_add: return NV_OP_add_at;
  case NV_OP_scatter_prod: return NV_OP_multiply_at;
  case NV_OP_scatter_max: return NV_OP_maximum_at;
  case NV_OP_scatter_min: return NV_OP_minimum_at;
  default: return NV_OP_set_at;
  }
}

/* Several axes are moved to the front and made one. */
nvt_val nvt_scatter(nvt *t, const nvt_opcall *call, nv_value a) {
  int64_t dims[NV_MAX_RANK], moved[NV_MAX_RANK], axes[NV_MAX_RANK], perm[NV_MAX_RANK], back[NV_MAX_RANK];
  int64_t thin[NV_MAX_RANK], wide[2 * NV_MAX_RANK], rows = 1, joint = 1;
  const nvt_arg where = nvt_attr(call, 0);
  const uint32_t rank = nvt_sizes_of(t, a, dims);
  blocks b;
  uint32_t n, m = 0;
  if (!nvt_axes(t, call, 0, &where, rank, axes, &n)) return nvt_poison();
  for (uint32_t k = 0; k < rank; k++) b.at[k] = NV_NONE;
  if (!list_indices(t, call, dims, rank, axes, n, &b) || !fits_rank(t, call, b.nlead + rank - n)) return nvt_poison();
  const uint32_t axis = n == 1 ? (uint32_t)axes[0] : 0;
  bool turned = false;
  for (uint32_t k = 0; k < rank; k++)
    if (n > 1 && b.at[k] != NV_NONE) perm[m++] = k;
  for (uint32_t k = 0; k < rank; k++)
    if (n == 1 || b.at[k] == NV_NONE) perm[m++] = k;
  blocks front = b;
  for (uint32_t k = 0; k < rank; k++) {
    moved[k] = dims[perm[k]];
    back[perm[k]] = k;
    turned = turned || perm[k] != (int64_t)k;
    front.at[k] = b.at[perm[k]];
    front.size[k] = 1;
    if (n > 1 && k < n) joint *= moved[k];
  }
  for (uint32_t k = 0; k < b.nlead; k++) rows *= wide[k] = b.lead[k];
  uint32_t r = b.nlead; /* the updates' shape: lead, then a without the axes */
  for (uint32_t k = 0; k < rank; k++)
    if (n == 1 ? k != axis : k >= n) wide[r++] = moved[k];
  nv_value u = update_operand(t, call, 2, a, wide, r);
  if (u == NV_NONE) return nvt_poison();
  if (!nv_shape_count(t->c, nv_shape_at(t->g, u)) || !nv_shape_count(t->c, nv_shape_at(t->g, a))) return nvt_array(a);
  int64_t lines[NV_MAX_RANK + 1] = {rows}; /* one axis of all updates, then a without the axes */
  const uint32_t nlines = r - b.nlead + 1;
  for (uint32_t k = 1; k < nlines; k++) lines[k] = wide[b.nlead + k - 1];
  u = nvt_reshaped(t, call, false, u, lines, nlines);
  for (uint32_t k = 0; k < nlines; k++) thin[k] = k ? 1 : rows;
  nv_value i = n == 1 ? nvt_repeated(t, call, false, b.at[axis], b.lead, b.nlead)
                      : one_index(t, call, &front, moved, n, 0, n - 1, joint);
  i = nvt_reshaped(t, call, false, i, thin, nlines);
  if (turned) a = nvt_transposed(t, call, false, a, perm);
  if (n > 1) {
    for (uint32_t k = n; k < rank; k++) thin[k - n + 1] = moved[k];
    thin[0] = joint;
    a = nvt_reshaped(t, call, false, a, thin, rank - n + 1);
  }
  if (a == NV_NONE) return nvt_poison();
  a = fold_at(t, call, n == 1, fold_of(call->op), a, i, u, axis);
  if (n > 1) a = nvt_reshaped(t, call, !turned, a, moved, rank);
  return nvt_done(turned ? nvt_transposed(t, call, true, a, back) : a);
}

/* Elements of the flattened array at offset and strides, all of which it has. */
nvt_val nvt_as_strided(nvt *t, const nvt_opcall *call, nv_value x) {
  int64_t dims[NV_MAX_RANK], strides[NV_MAX_RANK], line[NV_MAX_RANK], offset, least, most, place[1] = {-1};
  uint32_t rank = nvt_sizes_of(t, x, dims);
  const nvt_arg s = nvt_attr(call, 0), by = nvt_attr(call, 1), at = nvt_attr(call, 2);
  const int64_t n = nv_shape_count(t->c, nv_shape_at(t->g, x));
  int64_t dense = 1;
  for (uint32_t k = rank; k-- > 0; dense *= dims[k]) strides[k] = dense;
  if (s.v.kind != NVT_NONE) {
    nv_shape shape;
    if (!nvt_sizes(t, call, 0, &s, 0, false, &shape) || !nvt_check_shape(t, shape, s.pos)) return nvt_poison();
    const uint32_t own = nv_shape_rank(t->c, shape);
    if (by.v.kind == NVT_NONE && own != rank) {
      nvt_error(t, s.pos, "as_strided: strides for rank %u, but rank %u", rank, own);
      return nvt_poison();
    }
    rank = own;
    for (uint32_t k = 0; k < rank; k++) dims[k] = nv_dim_value(t->c, nv_shape_dims(t->c, shape)[k]);
  }
  if (by.v.kind != NVT_NONE) {
    bool good = by.v.kind == NVT_LIST && by.v.u.seq->n == rank;
    for (uint32_t k = 0; k < rank && good; k++) {
      good = by.v.u.seq->at[k].kind == NVT_INT;
      strides[k] = by.v.u.seq->at[k].u.i;
    }
    if (!good) return nvt_wrong_attr(t, call, 1, &by, nv_format(t->c, "a list of %u ints", rank)), nvt_poison();
  }
  if (!nvt_int_attr(t, call, 2, &offset)) return nvt_poison();
  const bool empty = !nv_shape_count(t->c, nv_shape_of_ints(t->c, dims, rank));
  least = most = offset;
  for (uint32_t k = 0; k < rank && !empty; k++) {
    int64_t span;
    if (!nv_mul64(dims[k] - 1, strides[k], &span) ||
        !nv_add64(span < 0 ? least : most, span, span < 0 ? &least : &most))
      least = -1;
    if (least < 0) break;
  }
  if (!empty && (least < 0 || most >= n)) {
    nvt_error(t, at.given ? at.pos : call->pos, "as_strided reaches outside of the %lld elements of %s", (long long)n,
              nvt_show_array(t, x));
    return nvt_poison();
  }
  nv_value index = NV_NONE;
  for (uint32_t k = 0; k < rank && !empty; k++) {
    if (dims[k] == 1 || strides[k] == 0) continue;
    for (uint32_t i = 0; i < rank; i++) line[i] = i == k ? dims[k] : 1;
    nvt_val own = nvt_done(nvt_indices(t, call, false, dims[k], most_of_sum(n), line, rank));
    own = nvt_step(t, call, false, NV_OP_multiply, own, nvt_int(strides[k]), nvt_none());
    if ((index = joined(t, call, NV_OP_add, index, own)) == NV_NONE) return nvt_poison();
  }
  nvt_val i = index == NV_NONE ? nvt_alone(t, nvt_int(offset), call->pos) : nvt_array(index);
  if (index != NV_NONE && offset) i = nvt_step(t, call, false, NV_OP_add, i, nvt_int(offset), nvt_none());
  if (i.kind != NVT_ARRAY) return i;
  return nvt_done(pick(t, call, true, flattened(t, call, x), i.u.v, dims, rank, place));
}

nvt_val nvt_contiguous(nvt *t, const nvt_opcall *call, nv_value x) {
  const nvt_arg a = nvt_attr(call, 0);
  if (a.v.kind != NVT_BOOL) return nvt_wrong_attr(t, call, 0, &a, "true or false"), nvt_poison();
  return nvt_array(x);
}
