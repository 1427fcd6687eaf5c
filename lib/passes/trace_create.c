/* trace_create.c - tracing: arrays made of nothing but numbers (zeros, full, arange, linspace, eye, tri, …) and the
 * triangles of arrays. Constants repeated, and arithmetic on indices: kernels compute them where they are used. */
#include "steps.h"

#include <math.h>

/* A list of sizes, or one size. */
static bool shape_attr(nvt *t, const nvt_opcall *call, uint32_t k, nv_shape *out) {
  nvt_arg a = nvt_attr(call, k);
  if (nvt_is_whole(t, a.v)) a.v = nvt_seq_make(t, NVT_LIST, &a.v, NULL, 1);
  return nvt_sizes(t, call, k, &a, 0, false, out);
}

static bool size_attr(nvt *t, const nvt_opcall *call, uint32_t k, int64_t none, int64_t *out) {
  const nvt_arg a = nvt_attr(call, k);
  *out = none;
  if (a.v.kind == NVT_NONE && none >= 0) return true;
  if (a.v.kind != NVT_INT || a.v.u.i < 0) return nvt_wrong_attr(t, call, k, &a, "a size");
  if (a.v.u.i > NVT_MAX_ELEMENTS) {
    nvt_error(t, a.pos, "%s: more than 2^48 elements", nv_ops[call->op].name);
    return false;
  }
  *out = a.v.u.i;
  return true;
}

static nvt_val constant(nvt *t, const nvt_opcall *call, nv_dtype d, uint64_t bits) {
  return nvt_constant(t, d, bits, call->pos, false);
}

static uint64_t one_of(nv_dtype d) {
  return nv_is(d, NV_BITS_FLOAT | NV_BIT(NV_C64)) ? nv_double_to_bits(d, 1.0) : 1;
}

/* ---- one value ---- */

static nvt_val repeated(nvt *t, const nvt_opcall *call, nvt_val number, nv_dtype d, nv_shape shape, nv_pos pos) {
  nvt_step_origin(t, call, nv_shape_rank(t->c, shape) == 0);
  return nvt_done(nvt_repeated_to(t, call, true, nvt_weak_value(t, number, d, pos), shape));
}

/* value: a number or an array, repeated to shape; d: NV_NDTYPES for its own dtype. */
static nvt_val filled(nvt *t, const nvt_opcall *call, const nvt_arg *value, nv_dtype d, nv_shape shape) {
  const bool real = value->v.kind == NVT_FLOAT || (value->v.kind == NVT_SIZE && !nvt_is_whole(t, value->v));
  if (nvt_is_number(value->v)) {
    if (d == NV_NDTYPES) d = nvt_alone_dtype(t, value->v);
    if ((value->v.kind == NVT_COMPLEX && d != NV_C64) ||
        (real && !nv_is(d, NV_BITS_FLOAT | NV_BIT(NV_C64) | NV_BIT(NV_BOOL)))) {
      nvt_error(t, value->pos, "%s: %s is no %s", nv_ops[call->op].name, nvt_show(t, value->v), nv_dtype_name[d]);
      return nvt_poison();
    }
    return repeated(t, call, value->v, d, shape, value->pos);
  }
  if (value->v.kind != NVT_ARRAY) {
    nvt_error(t, value->pos, "%s takes an array or a number, not %s", nv_ops[call->op].name, nvt_show(t, value->v));
    return nvt_poison();
  }
  const nv_shape own = nv_shape_at(t->g, value->v.u.v);
  nv_value v = value->v.u.v;
  if (!nv_shape_is_static(t->c, shape) || !nv_shape_is_static(t->c, own)) return nvt_refuse_open(t, call);
  if (d != NV_NDTYPES) v = nvt_converted(t, call, own == shape, v, d);
  return nvt_done(nvt_repeated_to(t, call, true, v, shape));
}

nvt_val nvt_full(nvt *t, const nvt_opcall *call) {
  const nvt_arg value = nvt_attr(call, 1);
  nv_shape shape;
  nv_dtype d;
  if (!shape_attr(t, call, 0, &shape) || !nvt_dtype_attr(t, call, 2, NV_NDTYPES, &d)) return nvt_poison();
  return filled(t, call, &value, d, shape);
}

static nvt_val same(nvt *t, const nvt_opcall *call, bool ones) {
  nv_shape shape;
  nv_dtype d;
  if (!shape_attr(t, call, 0, &shape) || !nvt_dtype_attr(t, call, 1, NV_F32, &d)) return nvt_poison();
  return repeated(t, call, nvt_int(ones), d, shape, call->pos);
}

nvt_val nvt_zeros(nvt *t, const nvt_opcall *call) { return same(t, call, false); }
nvt_val nvt_ones(nvt *t, const nvt_opcall *call) { return same(t, call, true); }

static nvt_val like(nvt *t, const nvt_opcall *call, bool ones) {
  const nv_value x = nvt_array_operand(t, &call->in[0]);
  nv_dtype d;
  if (x == NV_NONE || !nvt_dtype_attr(t, call, 0, nv_dtype_of(t->g, x), &d)) return nvt_poison();
  return repeated(t, call, nvt_int(ones), d, nv_shape_at(t->g, x), call->pos);
}

nvt_val nvt_zeros_like(nvt *t, const nvt_opcall *call) { return like(t, call, false); }
nvt_val nvt_ones_like(nvt *t, const nvt_opcall *call) { return like(t, call, true); }

nvt_val nvt_full_like(nvt *t, const nvt_opcall *call) {
  const nv_value x = nvt_array_operand(t, &call->in[0]);
  nv_dtype d;
  if (x == NV_NONE || !nvt_dtype_attr(t, call, 0, nv_dtype_of(t->g, x), &d)) return nvt_poison();
  return filled(t, call, &call->in[1], d, nv_shape_at(t->g, x));
}

/* ---- ranges ---- */

/* ceil((stop - start) / step), at least 0. */
static bool count_range(nvt *t, const nvt_opcall *call, const nvt_arg *a, bool whole, int64_t *n) {
  *n = 0;
  if (whole) {
    const int64_t start = a[0].v.u.i, stop = a[1].v.u.i, step = a[2].v.u.i;
    if (step == 0) {
      nvt_error(t, a[2].pos, "arange: step must not be 0");
      return false;
    }
    if (step > 0 ? start >= stop : start <= stop) return true;
    const uint64_t span = step > 0 ? (uint64_t)stop - (uint64_t)start : (uint64_t)start - (uint64_t)stop;
    const uint64_t by = step > 0 ? (uint64_t)step : 0 - (uint64_t)step, count = (span - 1) / by + 1;
    *n = count > NVT_MAX_ELEMENTS ? NVT_MAX_ELEMENTS + 1 : (int64_t)count;
  } else {
    double v[3];
    for (uint32_t k = 0; k < 3; k++) {
      v[k] = a[k].v.kind == NVT_FLOAT ? a[k].v.u.f : (double)a[k].v.u.i;
      if (isfinite(v[k]) && (k < 2 || v[k] != 0)) continue;
      nvt_error(t, a[k].pos, "arange: %s must be a finite number%s, not %s", nv_ops[call->op].attrs[k].name,
                k == 2 ? " other than 0" : "", nvt_show_number(t, a[k].v));
      return false;
    }
    const double count = ceil((v[1] - v[0]) / v[2]);
    *n = count > (double)NVT_MAX_ELEMENTS ? NVT_MAX_ELEMENTS + 1 : count > 0 ? (int64_t)count : 0;
  }
  if (*n <= NVT_MAX_ELEMENTS) return true;
  nvt_error(t, call->pos, "arange: more than 2^48 elements");
  return false;
}

static double number(const nvt_arg *a) { return a->v.kind == NVT_FLOAT ? a->v.u.f : (double)a->v.u.i; }

/* start, and the difference of the first two elements, both in dtype d: MLX computes start + i * step of these. */
static bool range_bits(nvt *t, const nvt_arg *a, bool whole, nv_dtype d, uint64_t *start, uint64_t *step) {
  if (nv_is(d, NV_BITS_FLOAT)) {
    const double x = number(&a[0]);
    *start = nv_double_to_bits(d, x);
    const float low = nv_bits_to_f32(d, *start), high = nv_bits_to_f32(d, nv_double_to_bits(d, x + number(&a[2])));
    *step = nv_f32_to_bits(d, high - low);
    return true;
  }
  int64_t low, by;
  if (whole) {
    low = a[0].v.u.i;
    by = a[2].v.u.i;
  } else { /* each truncated */
    const double x = trunc(number(&a[0])), y = trunc(number(&a[0]) + number(&a[2])), most = 9.0e18;
    if (!(fabs(x) < most) || !(fabs(y) < most)) {
      nvt_error(t, a[0].pos, "arange: %s is out of range for %s", nvt_show_number(t, a[0].v), nv_dtype_name[d]);
      return false;
    }
    low = (int64_t)x;
    by = (int64_t)y - (int64_t)x;
  }
  if (!nvt_weak_bits(t, nvt_int(low), d, a[0].pos, start)) return false;
  const uint32_t width = 8u * nv_dtype_size[d];
  *step = (uint64_t)by & (width == 64 ? UINT64_MAX : (UINT64_C(1) << width) - 1); /* sums wrap */
  return true;
}

static bool range_dtype(nvt *t, const nvt_opcall *call, nv_dtype none, nv_dtype *d) {
  if (!nvt_dtype_attr(t, call, 3, none, d)) return false;
  if (nv_is(*d, NV_BITS_INT | NV_BITS_FLOAT)) return true;
  nvt_error(t, call->pos, "arange has no %s form", nv_dtype_name[*d]);
  return false;
}

/* arange(start, stop) by ones, from ints or sizes known at run time only. */
static nvt_val open_range(nvt *t, const nvt_opcall *call) {
  const nvt_arg a[3] = {nvt_attr(call, 0), nvt_attr(call, 1), nvt_attr(call, 2)};
  nv_dim start = nv_dim_const(t->c, 0), stop, step;
  nv_dtype d;
  const bool one = a[1].v.kind == NVT_NONE;
  if (!nvt_dim_of(t, one ? a[0].v : a[1].v, &stop) || (!one && !nvt_dim_of(t, a[0].v, &start)))
    return nvt_refuse_open(t, call);
  if (a[2].v.kind != NVT_NONE && (!nvt_dim_of(t, a[2].v, &step) || step != nv_dim_const(t->c, 1)))
    return nvt_refuse_open(t, call);
  if (!range_dtype(t, call, NV_I32, &d)) return nvt_poison();
  const nv_dim n = nv_dim_max(t->c, nv_dim_sub(t->c, stop, start), nv_dim_const(t->c, 0));
  const nv_shape shape = nv_shape_make(t->c, &n, 1);
  int64_t attr = NV_I32;
  if (!nvt_guard(t, NV_AT_MOST, stop, nv_dim_const(t->c, INT32_MAX), call->pos)) {
    nvt_refuse(t, call->pos, "arange to %s, over the range of int32", nvt_show_dim(t, stop));
    return nvt_poison();
  }
  const bool moved = start != nv_dim_const(t->c, 0);
  if (moved && !nv_is(d, NV_BITS_INT)) return nvt_refuse_open(t, call); /* floats round every element on its way */
  nvt_step_origin(t, call, !moved && d == NV_I32);
  nv_value v = nvt_emit(t, NV_OP_iota, NULL, 0, nv_attr_make(t->c, &attr, 1), shape, call->pos);
  if (v != NV_NONE && moved) {
    const nvt_val sum = nvt_step(t, call, d == NV_I32, NV_OP_add, nvt_array(v), nvt_size(t, start), nvt_none());
    v = sum.kind == NVT_ARRAY ? sum.u.v : NV_NONE;
  }
  if (v != NV_NONE && d != NV_I32) v = nvt_converted(t, call, true, v, d);
  return nvt_done(v);
}

nvt_val nvt_arange(nvt *t, const nvt_opcall *call) {
  nvt_arg a[3] = {nvt_attr(call, 0), nvt_attr(call, 1), nvt_attr(call, 2)};
  uint64_t start, step;
  int64_t n;
  nv_dtype d = NV_I32;
  bool whole = true;
  if (nvt_is_open(t, call)) return open_range(t, call);
  if (a[1].v.kind == NVT_NONE) { /* arange(stop) */
    if (!a[0].given) {
      nvt_error(t, call->pos, "arange needs stop");
      return nvt_poison();
    }
    a[1] = a[0];
    a[0].v = nvt_int(0);
  }
  for (uint32_t k = 0; k < 3; k++) {
    if (a[k].v.kind != NVT_INT && a[k].v.kind != NVT_FLOAT) {
      nvt_wrong_attr(t, call, k, &a[k], "a number");
      return nvt_poison();
    }
    whole = whole && a[k].v.kind == NVT_INT;
  }
  if (!count_range(t, call, a, whole, &n)) return nvt_poison();
  if (!whole)
    d = NV_F32;
  else if (!nv_int_fits(NV_I32, a[0].v.u.i) || (n && !nv_int_fits(NV_I32, a[0].v.u.i + (n - 1) * a[2].v.u.i)))
    d = NV_I64;
  if (!range_dtype(t, call, d, &d)) return nvt_poison();
  if (!range_bits(t, a, whole, d, &start, &step)) return nvt_poison();
  const bool scaled = step != one_of(d), moved = scaled ? start != 0 || nv_is(d, NV_BITS_FLOAT) : start != 0;
  nv_value v = nvt_indices(t, call, !scaled && !moved && d == NV_I32, n, n, &n, 1);
  v = nvt_converted(t, call, !scaled && !moved, v, d);
  nvt_val r = nvt_done(v);
  if (scaled && r.kind == NVT_ARRAY)
    r = nvt_step(t, call, !moved, NV_OP_multiply, r, constant(t, call, d, step), nvt_none());
  if (moved && r.kind == NVT_ARRAY)
    r = nvt_step(t, call, true, NV_OP_add, r, constant(t, call, d, start), nvt_none());
  return r;
}

/* (1 - t) * start + t * stop in float32, t = i / (num - 1), or i / num without endpoint. */
nvt_val nvt_linspace(nvt *t, const nvt_opcall *call) {
  uint64_t bits[2];
  int64_t n;
  nv_dtype d;
  for (uint32_t k = 0; k < 2; k++) {
    const nvt_arg a = nvt_attr(call, k);
    if (a.v.kind != NVT_INT && a.v.kind != NVT_FLOAT) {
      nvt_wrong_attr(t, call, k, &a, "a number");
      return nvt_poison();
    }
    bits[k] = nv_double_to_bits(NV_F32, number(&a));
  }
  if (!size_attr(t, call, 2, -1, &n)) return nvt_poison();
  const nvt_arg endpoint = nvt_attr(call, 3);
  if (endpoint.v.kind != NVT_BOOL) return nvt_wrong_attr(t, call, 3, &endpoint, "true or false"), nvt_poison();
  if (!nvt_dtype_attr(t, call, 4, NV_F32, &d)) return nvt_poison();
  if (n == 1) {
    const nvt_arg a = nvt_attr(call, 0);
    uint64_t first;
    if (nv_is(d, NV_BITS_FLOAT)) {
      first = nv_double_to_bits(d, number(&a));
    } else if (!nvt_weak_bits(t, nvt_int((int64_t)trunc(number(&a))), d, a.pos, &first)) {
      return nvt_poison();
    }
    return nvt_done(nvt_repeated_to(t, call, true, constant(t, call, d, first).u.v, nv_shape_of_ints(t->c, &n, 1)));
  }
  const nvt_val i = nvt_done(nvt_converted(t, call, false, nvt_indices(t, call, false, n, n, &n, 1), NV_F32));
  if (i.kind != NVT_ARRAY) return i;
  const double steps = endpoint.v.u.b && n ? (double)(n - 1) : (double)(n ? n : 1);
  const nvt_val part = nvt_step(t, call, false, NV_OP_divide, i,
                                constant(t, call, NV_F32, nv_double_to_bits(NV_F32, steps)), nvt_none());
  const nvt_val rest = nvt_step(t, call, false, NV_OP_subtract, nvt_float(1.0), part, nvt_none());
  const nvt_val low = nvt_step(t, call, false, NV_OP_multiply, rest, constant(t, call, NV_F32, bits[0]), nvt_none());
  const nvt_val high = nvt_step(t, call, false, NV_OP_multiply, part, constant(t, call, NV_F32, bits[1]), nvt_none());
  const nvt_val sum = nvt_step(t, call, d == NV_F32, NV_OP_add, low, high, nvt_none());
  return sum.kind == NVT_ARRAY ? nvt_done(nvt_converted(t, call, true, sum.u.v, d)) : sum;
}

/* ---- diagonals and triangles ---- */

nvt_val nvt_diagonal_mask(nvt *t, const nvt_opcall *call, bool last, nv_op op, int64_t n, int64_t m, int64_t k) {
  const int64_t rows[2] = {n, 1}, columns[2] = {1, m};
  k = k > m ? m : k < -n ? -n : k; /* beyond there is nothing */
  nvt_val i = nvt_done(nvt_indices(t, call, false, n, n + m, rows, 2));
  const nvt_val j = nvt_done(nvt_indices(t, call, false, m, n + m, columns, 2));
  if (k && i.kind == NVT_ARRAY) i = nvt_step(t, call, false, NV_OP_add, i, nvt_int(k), nvt_none());
  return nvt_step(t, call, last, op, i, j, nvt_none());
}

/* 1 where op of (row + k, column), of the attributes n, m and k. */
static nvt_val matrix(nvt *t, const nvt_opcall *call, nv_op op, int64_t n, int64_t m, int64_t k, nv_dtype d) {
  const nvt_val mask = nvt_diagonal_mask(t, call, d == NV_BOOL, op, n, m, k);
  return mask.kind == NVT_ARRAY ? nvt_done(nvt_converted(t, call, true, mask.u.v, d)) : mask;
}

static nvt_val of_sizes(nvt *t, const nvt_opcall *call, nv_op op) {
  int64_t n, m, k;
  nv_dtype d;
  if (!size_attr(t, call, 0, -1, &n) || !size_attr(t, call, 1, n, &m) || !nvt_int_attr(t, call, 2, &k) ||
      !nvt_dtype_attr(t, call, 3, NV_F32, &d))
    return nvt_poison();
  return matrix(t, call, op, n, m, k, d);
}

nvt_val nvt_eye(nvt *t, const nvt_opcall *call) { return of_sizes(t, call, NV_OP_equal); }
nvt_val nvt_tri(nvt *t, const nvt_opcall *call) { return of_sizes(t, call, NV_OP_greater_equal); }

nvt_val nvt_identity(nvt *t, const nvt_opcall *call) {
  int64_t n;
  nv_dtype d;
  if (!size_attr(t, call, 0, -1, &n) || !nvt_dtype_attr(t, call, 1, NV_F32, &d)) return nvt_poison();
  return matrix(t, call, NV_OP_equal, n, n, 0, d);
}

static nvt_val triangle(nvt *t, const nvt_opcall *call, nv_value x, bool upper) {
  int64_t dims[NV_MAX_RANK], k;
  if (!nvt_int_attr(t, call, 0, &k)) return nvt_poison();
  const uint32_t rank = nvt_sizes_of(t, x, dims);
  if (rank < 2) {
    nvt_error(t, call->pos, "%s takes arrays of rank 2 or more, not %s", nv_ops[call->op].name,
              nvt_show(t, nvt_array(x)));
    return nvt_poison();
  }
  if (upper && k > INT64_MIN) k--;
  const nvt_val mask = nvt_diagonal_mask(t, call, false, NV_OP_greater_equal, dims[rank - 2], dims[rank - 1], k);
  const nvt_val zero = constant(t, call, nv_dtype_of(t->g, x), 0);
  return nvt_step(t, call, true, NV_OP_where, mask, upper ? zero : nvt_array(x), upper ? nvt_array(x) : zero);
}

nvt_val nvt_tril(nvt *t, const nvt_opcall *call, nv_value x) { return triangle(t, call, x, false); }
nvt_val nvt_triu(nvt *t, const nvt_opcall *call, nv_value x) { return triangle(t, call, x, true); }
