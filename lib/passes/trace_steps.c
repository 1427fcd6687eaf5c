/* trace_steps.c - tracing: ops that have no node of their own. They become views, element-wise ops, the indices of
 * iota and the repeated edges of pad_edge, so that no pass behind this one knows them. Names, attribute order, defaults
 * and formulas are those of MLX's Python, where it has the function. */
#include "steps.h"

/* ---- operands and attributes ---- */

nvt_val nvt_done(nv_value v) { return v == NV_NONE ? nvt_poison() : nvt_array(v); }

nv_value nvt_array_operand(nvt *t, const nvt_arg *a) {
  if (a->v.kind == NVT_ARRAY) return a->v.u.v;
  if (!nvt_is_number(a->v)) return NV_NONE;
  const nvt_val v = nvt_alone(t, a->v, a->pos);
  return v.kind == NVT_ARRAY ? v.u.v : NV_NONE;
}

uint32_t nvt_sizes_of(nvt *t, nv_value v, int64_t *dims) {
  const nv_shape s = nv_shape_at(t->g, v);
  const uint32_t rank = nv_shape_rank(t->c, s);
  for (uint32_t k = 0; k < rank; k++) dims[k] = nv_dim_value(t->c, nv_shape_dims(t->c, s)[k]);
  return rank;
}

bool nvt_int_attr(nvt *t, const nvt_opcall *call, uint32_t k, int64_t *out) {
  const nvt_arg a = nvt_attr(call, k);
  if (a.v.kind != NVT_INT) return nvt_wrong_attr(t, call, k, &a, "an int");
  *out = a.v.u.i;
  return true;
}

bool nvt_axis_attr(nvt *t, const nvt_opcall *call, uint32_t k, uint32_t rank, uint32_t *out) {
  const nvt_arg a = nvt_attr(call, k);
  int64_t v[NV_MAX_RANK];
  uint32_t n;
  if (a.v.kind != NVT_INT) return nvt_wrong_attr(t, call, k, &a, "an int");
  if (!nvt_axes(t, call, k, &a, rank, v, &n)) return false;
  *out = (uint32_t)v[0];
  return true;
}

bool nvt_dtype_attr(nvt *t, const nvt_opcall *call, uint32_t k, nv_dtype none, nv_dtype *out) {
  const nvt_arg a = nvt_attr(call, k);
  int64_t d = none;
  if (a.v.kind != NVT_NONE && !nvt_attr_dtype(t, call, k, &a, &d)) return false;
  *out = (nv_dtype)d;
  return true;
}

/* ---- steps ---- */

void nvt_step_origin(nvt *t, const nvt_opcall *call, bool last) { nvt_origin(t, call->pos, last && call->root); }

static nv_value emit(nvt *t, const nvt_opcall *call, bool last, nv_op op, nv_value v, const int64_t *list, uint32_t n,
                     nv_shape shape) {
  if (v == NV_NONE || !nvt_check_shape(t, shape, call->pos)) return NV_NONE;
  nvt_step_origin(t, call, last);
  return nvt_emit(t, op, &v, 1, n ? nv_attr_make(t->c, list, n) : NV_NO_ATTR, shape, call->pos);
}

/* op (reshape or broadcast_to) to the shape dims; v itself where it has that shape. */
static nv_value to_shape(nvt *t, const nvt_opcall *call, bool last, nv_op op, nv_value v, const int64_t *dims,
                         uint32_t rank) {
  if (v == NV_NONE) return v;
  if (rank > NV_MAX_RANK) {
    nvt_error(t, call->pos, "rank %u is over the limit of %d", rank, NV_MAX_RANK);
    return NV_NONE;
  }
  const nv_shape shape = nv_shape_of_ints(t->c, dims, rank);
  return shape == nv_shape_at(t->g, v) ? v : emit(t, call, last, op, v, NULL, 0, shape);
}

nv_value nvt_reshaped(nvt *t, const nvt_opcall *call, bool last, nv_value v, const int64_t *dims, uint32_t rank) {
  return to_shape(t, call, last, NV_OP_reshape, v, dims, rank);
}

nv_value nvt_repeated(nvt *t, const nvt_opcall *call, bool last, nv_value v, const int64_t *dims, uint32_t rank) {
  return to_shape(t, call, last, NV_OP_broadcast_to, v, dims, rank);
}

nv_value nvt_reshaped_to(nvt *t, const nvt_opcall *call, bool last, nv_value v, nv_shape shape) {
  if (v == NV_NONE || shape == nv_shape_at(t->g, v)) return v;
  return emit(t, call, last, NV_OP_reshape, v, NULL, 0, shape);
}

nv_value nvt_repeated_to(nvt *t, const nvt_opcall *call, bool last, nv_value v, nv_shape shape) {
  if (v == NV_NONE || shape == nv_shape_at(t->g, v)) return v;
  return emit(t, call, last, NV_OP_broadcast_to, v, NULL, 0, shape);
}

nv_value nvt_transposed(nvt *t, const nvt_opcall *call, bool last, nv_value v, const int64_t *perm) {
  return v == NV_NONE ? v : emit(t, call, last, NV_OP_transpose, v, perm, nv_shape_rank(t->c, nv_shape_at(t->g, v)), 0);
}

nv_value nvt_sliced(nvt *t, const nvt_opcall *call, bool last, nv_value v, const int64_t *first, const int64_t *step,
                    const int64_t *count) {
  if (v == NV_NONE) return v;
  const uint32_t rank = nv_shape_rank(t->c, nv_shape_at(t->g, v));
  int64_t list[2 * NV_MAX_RANK];
  for (uint32_t k = 0; k < rank; k++) {
    list[k] = count[k] ? first[k] : 0;
    list[rank + k] = count[k] > 1 && step ? step[k] : 1;
  }
  return emit(t, call, last, NV_OP_slice, v, list, 2 * rank, nv_shape_of_ints(t->c, count, rank));
}

nv_value nvt_padded(nvt *t, const nvt_opcall *call, bool last, nv_value v, const int64_t *before, const int64_t *dims) {
  if (v == NV_NONE) return v;
  const uint32_t rank = nv_shape_rank(t->c, nv_shape_at(t->g, v));
  const nv_shape shape = nv_shape_of_ints(t->c, dims, rank);
  return shape == nv_shape_at(t->g, v) ? v : emit(t, call, last, NV_OP_pad_edge, v, before, rank, shape);
}

nv_value nvt_converted(nvt *t, const nvt_opcall *call, bool last, nv_value v, nv_dtype d) {
  const int64_t attr = d;
  if (v == NV_NONE || nv_dtype_of(t->g, v) == d) return v;
  return emit(t, call, last, NV_OP_astype, v, &attr, 1, 0);
}

nv_value nvt_indices(nvt *t, const nvt_opcall *call, bool last, int64_t n, int64_t most, const int64_t *dims,
                     uint32_t rank) {
  const nv_dtype d = most > INT32_MAX ? NV_I64 : NV_I32;
  const int64_t attr = d;
  const nv_shape line = nv_shape_of_ints(t->c, &n, 1);
  if (!nvt_check_shape(t, line, call->pos)) return NV_NONE;
  const bool only = rank == 1 && dims[0] == n;
  nvt_step_origin(t, call, last && only);
  const nv_value v = nvt_emit(t, NV_OP_iota, NULL, 0, nv_attr_make(t->c, &attr, 1), line, call->pos);
  return nvt_reshaped(t, call, last, v, dims, rank);
}

nvt_val nvt_step(nvt *t, const nvt_opcall *call, bool last, nv_op op, nvt_val a, nvt_val b, nvt_val c) {
  nvt_opcall step = {.op = op, .pos = call->pos, .root = last && call->root};
  const nvt_val in[3] = {a, b, c};
  while (step.n < 3 && in[step.n].kind != NVT_NONE) {
    step.in[step.n] = (nvt_arg){in[step.n], NV_NONE, call->pos, true};
    step.n++;
  }
  return nvt_apply_op(t, &step);
}

/* ---- views ---- */

nvt_val nvt_flatten(nvt *t, const nvt_opcall *call, nv_value x) {
  const nv_shape shape = nv_shape_at(t->g, x);
  const nv_dim *dims = nv_shape_dims(t->c, shape), one = nv_dim_const(t->c, 1);
  const uint32_t rank = nv_shape_rank(t->c, shape);
  nv_dim out[NV_MAX_RANK];
  uint32_t from, to, m = 0;
  if (rank == 0) return nvt_done(nvt_reshaped_to(t, call, true, x, nv_shape_make(t->c, &one, 1)));
  if (!nvt_axis_attr(t, call, 0, rank, &from) || !nvt_axis_attr(t, call, 1, rank, &to)) return nvt_poison();
  if (from > to) {
    nvt_error(t, call->pos, "flatten: start_axis %u stands behind end_axis %u", from, to);
    return nvt_poison();
  }
  for (uint32_t k = 0; k < rank; k++) {
    if (k > from && k <= to)
      out[m - 1] = nv_dim_mul(t->c, out[m - 1], dims[k]);
    else
      out[m++] = dims[k];
  }
  return nvt_done(nvt_reshaped_to(t, call, true, x, nv_shape_make(t->c, out, m)));
}

nvt_val nvt_unflatten(nvt *t, const nvt_opcall *call, nv_value x) {
  const nv_shape shape = nv_shape_at(t->g, x);
  const nv_dim *dims = nv_shape_dims(t->c, shape);
  const uint32_t rank = nv_shape_rank(t->c, shape);
  nv_dim out[2 * NV_MAX_RANK];
  uint32_t axis, m = 0;
  nv_shape parts;
  const nvt_arg a = nvt_attr(call, 1);
  if (!nvt_axis_attr(t, call, 0, rank, &axis) ||
      !nvt_sizes(t, call, 1, &a, nv_shape_make(t->c, &dims[axis], 1), true, &parts))
    return nvt_poison();
  for (uint32_t k = 0; k < rank; k++) {
    if (k != axis)
      out[m++] = dims[k];
    else
      for (uint32_t i = 0; i < nv_shape_rank(t->c, parts); i++) out[m++] = nv_shape_dims(t->c, parts)[i];
  }
  if (m > NV_MAX_RANK) {
    nvt_error(t, call->pos, "rank %u is over the limit of %d", m, NV_MAX_RANK);
    return nvt_poison();
  }
  return nvt_done(nvt_reshaped_to(t, call, true, x, nv_shape_make(t->c, out, m)));
}

nvt_val nvt_moveaxis(nvt *t, const nvt_opcall *call, nv_value x) {
  int64_t perm[NV_MAX_RANK];
  const uint32_t rank = nv_shape_rank(t->c, nv_shape_at(t->g, x));
  uint32_t from, to;
  if (!nvt_axis_attr(t, call, 0, rank, &from) || !nvt_axis_attr(t, call, 1, rank, &to)) return nvt_poison();
  for (uint32_t k = 0, next = 0; k < rank; k++) {
    if (next == from) next++;
    perm[k] = k == to ? from : next++;
  }
  return nvt_done(nvt_transposed(t, call, true, x, perm));
}

nvt_val nvt_swapaxes(nvt *t, const nvt_opcall *call, nv_value x) {
  int64_t perm[NV_MAX_RANK];
  const uint32_t rank = nv_shape_rank(t->c, nv_shape_at(t->g, x));
  uint32_t one, two;
  if (!nvt_axis_attr(t, call, 0, rank, &one) || !nvt_axis_attr(t, call, 1, rank, &two)) return nvt_poison();
  for (uint32_t k = 0; k < rank; k++) perm[k] = k == one ? two : k == two ? one : k;
  return nvt_done(nvt_transposed(t, call, true, x, perm));
}

nvt_val nvt_flip(nvt *t, const nvt_opcall *call, nv_value x) {
  int64_t dims[NV_MAX_RANK], first[NV_MAX_RANK] = {0}, step[NV_MAX_RANK], axes[NV_MAX_RANK];
  const uint32_t rank = nvt_sizes_of(t, x, dims);
  const nvt_arg a = nvt_attr(call, 0);
  uint32_t n = 0;
  if (a.v.kind == NVT_NONE)
    for (; n < rank; n++) axes[n] = n;
  else if (!nvt_axes(t, call, 0, &a, rank, axes, &n))
    return nvt_poison();
  for (uint32_t k = 0; k < rank; k++) step[k] = 1;
  for (uint32_t k = 0; k < n; k++) {
    first[axes[k]] = dims[axes[k]] - 1;
    step[axes[k]] = -1;
  }
  return nvt_done(nvt_sliced(t, call, true, x, first, step, dims));
}

/* ---- view between dtypes of different sizes ---- */

static nv_value viewed(nvt *t, const nvt_opcall *call, bool last, nv_value v, nv_dtype d) {
  const int64_t attr = d;
  if (v == NV_NONE || nv_dtype_of(t->g, v) == d) return v;
  return emit(t, call, last, NV_OP_view, v, &attr, 1, 0);
}

static nv_dtype unsigned_of(size_t size) {
  return size == 1 ? NV_U8 : size == 2 ? NV_U16 : size == 4 ? NV_U32 : NV_U64;
}

/* x, unsigned and of shape [lead, n], cut into parts of the narrower to: [lead, n, parts]. */
static nvt_val cut(nvt *t, const nvt_opcall *call, nv_value x, int64_t lead, int64_t n, int64_t parts, nv_dtype to) {
  const int64_t one[3] = {lead, n, 1}, all[3] = {lead, n, parts}, line[3] = {1, 1, parts};
  nvt_val count = nvt_done(nvt_indices(t, call, false, parts, parts, line, 3));
  if (count.kind != NVT_ARRAY) return count;
  count = nvt_step(t, call, false, NV_OP_multiply, count, nvt_int(8 * (int64_t)nv_dtype_size[to]), nvt_none());
  if (count.kind != NVT_ARRAY) return count;
  count = nvt_done(nvt_converted(t, call, false, count.u.v, nv_dtype_of(t->g, x)));
  x = nvt_repeated(t, call, false, nvt_reshaped(t, call, false, x, one, 3), all, 3);
  if (x == NV_NONE || count.kind != NVT_ARRAY) return nvt_poison();
  const nvt_val v = nvt_step(t, call, false, NV_OP_right_shift, nvt_array(x), count, nvt_none());
  return v.kind == NVT_ARRAY ? nvt_done(nvt_converted(t, call, false, v.u.v, to)) : v;
}

/* The parts that lie behind one another in x, unsigned and of shape [lead, n parts], put together in the wider to:
 * [lead, n, 1]. */
static nvt_val joined(nvt *t, const nvt_opcall *call, nv_value x, int64_t lead, int64_t n, int64_t parts, nv_dtype to) {
  const int64_t all[3] = {lead, n, parts}, one[3] = {lead, n, 1};
  const int64_t width = 8 * (int64_t)nv_dtype_size[nv_dtype_of(t->g, x)];
  x = nvt_reshaped(t, call, false, x, all, 3);
  nvt_val sum = nvt_none();
  for (int64_t k = 0; k < parts; k++) {
    const int64_t first[3] = {0, 0, k};
    nvt_val v = nvt_done(nvt_converted(t, call, false, nvt_sliced(t, call, false, x, first, NULL, one), to));
    if (v.kind == NVT_ARRAY && k) v = nvt_step(t, call, false, NV_OP_left_shift, v, nvt_int(k * width), nvt_none());
    if (v.kind == NVT_ARRAY && k) v = nvt_step(t, call, false, NV_OP_bitwise_or, sum, v, nvt_none());
    if (v.kind != NVT_ARRAY) return v;
    sum = v;
  }
  return sum;
}

nvt_val nvt_view(nvt *t, const nvt_opcall *call) {
  int64_t dims[NV_MAX_RANK], lead = 1;
  nv_dtype d;
  nvt_val open;
  nv_value x = nvt_array_operand(t, &call->in[0]);
  if (x == NV_NONE || !nvt_dtype_attr(t, call, 0, NV_NDTYPES, &d)) return nvt_poison();
  const size_t from = nv_dtype_size[nv_dtype_of(t->g, x)], to = d == NV_NDTYPES ? from : nv_dtype_size[d];
  if (from == to) return nvt_none();
  if (nvt_open_steps(t, call, &open)) return open;
  const uint32_t rank = nvt_sizes_of(t, x, dims);
  const int64_t parts = (int64_t)(from > to ? from / to : to / from);
  if (rank == 0 || (to > from && dims[rank - 1] % parts)) {
    nvt_error(t, call->pos, "view: %s doesn't hold a whole number of %s along its last axis", nvt_show_array(t, x),
              nv_dtype_name[d]);
    return nvt_poison();
  }
  for (uint32_t k = 0; k + 1 < rank; k++) lead *= dims[k];
  const int64_t last = dims[rank - 1];
  dims[rank - 1] = to > from ? last / parts : last * parts;
  if (!nvt_check_shape(t, nv_shape_of_ints(t->c, dims, rank), call->pos)) return nvt_poison();
  x = viewed(t, call, false, x, unsigned_of(from));
  if (x == NV_NONE) return nvt_poison();
  const nvt_val v = to > from ? joined(t, call, x, lead, dims[rank - 1], parts, unsigned_of(to))
                              : cut(t, call, x, lead, last, parts, unsigned_of(to));
  if (v.kind != NVT_ARRAY) return v;
  const bool same = unsigned_of(to) == d;
  return nvt_done(viewed(t, call, true, nvt_reshaped(t, call, same, v.u.v, dims, rank), d));
}
