/* trace_reduce.c - tracing: reductions that have no node of their own (var, std, logsumexp, softmax, argmax, those that
 * pass over NaN). They become sums, means, maxima and element-wise ops, in float32 inside, and are rounded once. Sizes
 * may be open where nothing is counted while tracing. */
#include "steps.h"

#include "../ir/eval.h"

typedef struct reduction {
  nvt *t;
  const nvt_opcall *call;
  nvt_val x;                 /* the operand */
  nv_dtype from, to;         /* its dtype; the result's */
  nv_dim dims[NV_MAX_RANK];
  int64_t axes[NV_MAX_RANK];
  uint32_t rank, naxes;
  bool keep;                 /* keepdims */
  int64_t count;             /* elements that become one, OPEN: a call's sizes say */
} reduction;
enum { OPEN = -1 };

/* ---- steps ---- */

static nvt_val of(reduction *r, bool last, nv_op op, nvt_val a) {
  return nvt_step(r->t, r->call, last, op, a, nvt_none(), nvt_none());
}
static nvt_val of2(reduction *r, bool last, nv_op op, nvt_val a, nvt_val b) {
  return nvt_step(r->t, r->call, last, op, a, b, nvt_none());
}
static nvt_val of3(reduction *r, bool last, nv_op op, nvt_val a, nvt_val b, nvt_val c) {
  return nvt_step(r->t, r->call, last, op, a, b, c);
}

static nvt_val converted(reduction *r, bool last, nvt_val v, nv_dtype d) {
  return v.kind == NVT_ARRAY ? nvt_done(nvt_converted(r->t, r->call, last, v.u.v, d)) : v;
}

static nvt_val bits(reduction *r, nv_dtype d, uint64_t pattern) {
  return nvt_constant(r->t, d, pattern, r->call->pos, false);
}

/* op, a reduction, over the axes. */
static nvt_val over(reduction *r, bool last, nv_op op, nvt_val v, bool keep) {
  nvt_val list[NV_MAX_RANK];
  for (uint32_t k = 0; k < r->naxes; k++) list[k] = nvt_int(r->axes[k]);
  nvt_opcall step = {.op = op, .pos = r->call->pos, .root = last && r->call->root, .n = 1};
  step.in[0] = (nvt_arg){v, NV_NONE, r->call->pos, true};
  step.attr[0] = (nvt_arg){nvt_seq_make(r->t, NVT_LIST, list, NULL, r->naxes), NV_NONE, r->call->pos, true};
  step.attr[1] = (nvt_arg){nvt_bool(keep), NV_NONE, r->call->pos, true};
  return nvt_apply_op(r->t, &step);
}

static nv_shape result_shape(const reduction *r) {
  nv_dim dims[NV_MAX_RANK];
  uint32_t n = 0, next = 0;
  for (uint32_t k = 0; k < r->rank; k++) {
    const bool reduced = next < r->naxes && r->axes[next] == k;
    next += reduced;
    if (!reduced || r->keep) dims[n++] = reduced ? nv_dim_const(r->t->c, 1) : r->dims[k];
  }
  return nv_shape_make(r->t->c, dims, n);
}

/* Is what has the dtype float32 and its axes kept the result? */
static bool is_result(const reduction *r) { return r->to == NV_F32 && (r->keep || !r->naxes); }

/* Such a value made the result. */
static nvt_val finished(reduction *r, nvt_val v) {
  v = converted(r, r->keep || !r->naxes, v, r->to);
  return v.kind == NVT_ARRAY ? nvt_done(nvt_reshaped_to(r->t, r->call, true, v.u.v, result_shape(r))) : v;
}

static nvt_val everywhere(reduction *r, nv_dtype d, uint64_t pattern) {
  const nvt_val v = bits(r, d, pattern);
  return v.kind == NVT_ARRAY ? nvt_done(nvt_repeated_to(r->t, r->call, true, v.u.v, result_shape(r))) : v;
}

/* ---- what the call says ---- */

static void compare_axes(int64_t *axes, uint32_t n) { /* few: by insertion */
  for (uint32_t i = 1; i < n; i++)
    for (uint32_t k = i; k && axes[k] < axes[k - 1]; k--) {
      const int64_t a = axes[k];
      axes[k] = axes[k - 1];
      axes[k - 1] = a;
    }
}

/* Attribute 0: None (all), an axis or a list of them; keep: the attribute keepdims, NV_NONE: there is none. */
static bool read_call(reduction *r, nv_value x, uint32_t keep) {
  const nvt_opcall *call = r->call;
  const nvt_arg axis = nvt_attr(call, 0);
  r->from = nv_dtype_of(r->t->g, x);
  r->to = nv_at_least_float(r->from);
  r->x = nvt_array(x);
  const nv_shape shape = nv_shape_at(r->t->g, x);
  r->rank = nv_shape_rank(r->t->c, shape);
  for (uint32_t k = 0; k < r->rank; k++) r->dims[k] = nv_shape_dims(r->t->c, shape)[k];
  if (!nv_is(r->from, nv_ops[call->op].domain)) {
    nvt_error(r->t, call->pos, "%s has no %s form", nv_ops[call->op].name, nv_dtype_name[r->from]);
    return false;
  }
  if (axis.v.kind == NVT_NONE)
    for (; r->naxes < r->rank; r->naxes++) r->axes[r->naxes] = r->naxes;
  else if (!nvt_axes(r->t, call, 0, &axis, r->rank, r->axes, &r->naxes))
    return false;
  compare_axes(r->axes, r->naxes);
  nv_dim count = nv_dim_const(r->t->c, 1);
  for (uint32_t k = 0; k < r->naxes; k++) count = nv_dim_mul(r->t->c, count, r->dims[r->axes[k]]);
  if (!nv_dim_is_const(r->t->c, count, &r->count)) r->count = OPEN;
  r->keep = true;
  if (keep == NV_NONE) return true;
  const nvt_arg a = nvt_attr(call, keep);
  if (a.v.kind != NVT_BOOL) return nvt_wrong_attr(r->t, call, keep, &a, "true or false");
  r->keep = a.v.u.b;
  return true;
}

static bool is_empty(const reduction *r) {
  int64_t n;
  for (uint32_t k = 0; k < r->rank; k++)
    if (nv_dim_is_const(r->t->c, r->dims[k], &n) && n == 0) return true;
  return false;
}

static bool of_nothing(reduction *r, nv_value x) {
  if (r->count) return false;
  nvt_error(r->t, r->call->pos, "%s of nothing: %s", nv_ops[r->call->op].name,
            nvt_show_shape(r->t, nv_shape_at(r->t->g, x)));
  return true;
}

/* ---- variances ---- */

/* mean(square(x - mean(x))), that is times RN(1/n), then times RN(n/(n - ddof)); NaN for n = ddof. */
static nvt_val variance(reduction *r, nv_value x) {
  int64_t ddof;
  if (!read_call(r, x, 1) || !nvt_int_attr(r->t, r->call, 2, &ddof)) return nvt_poison();
  const bool root = r->call->op == NV_OP_std, scales = ddof != 0, whole = r->to == NV_F32;
  if (scales && r->count == OPEN) return nvt_refuse_open(r->t, r->call);
  const nvt_val v = converted(r, false, r->x, NV_F32);
  const nvt_val d = of2(r, false, NV_OP_subtract, v, over(r, false, NV_OP_mean, v, true));
  nvt_val y = over(r, whole && !scales && !root, NV_OP_mean, of(r, false, NV_OP_square, d), r->keep);
  if (scales) {
    int64_t left; /* ddof may be anything */
    if (!nv_add64(r->count, ddof == INT64_MIN ? INT64_MAX : -ddof, &left)) left = INT64_MAX;
    const float factor = left ? nv_quotient_of(r->count, left) : 0.0f;
    y = of2(r, whole && !root, NV_OP_multiply, y,
            bits(r, NV_F32, left ? nv_f32_to_bits(NV_F32, factor) : UINT64_C(0x7fc00000)));
  }
  if (root) y = of(r, whole, NV_OP_sqrt, y);
  return converted(r, true, y, r->to);
}

/* ---- exponentials ---- */

typedef struct exponentials { /* of x - max(x) */
  nvt_val x, most, each, sum;
} exponentials;

static exponentials exponentials_of(reduction *r) {
  exponentials e;
  e.x = converted(r, false, r->x, NV_F32);
  e.most = over(r, false, NV_OP_max, e.x, true);
  e.each = of(r, false, NV_OP_exp, of2(r, false, NV_OP_subtract, e.x, e.most));
  e.sum = over(r, false, NV_OP_sum, e.each, true);
  return e;
}

/* max + log(sum(exp(x - max))), the maximum where that is infinite. */
static nvt_val log_of_sum(reduction *r, bool last) {
  const exponentials e = exponentials_of(r);
  const nvt_val sum = of2(r, false, NV_OP_add, of(r, false, NV_OP_log, e.sum), e.most);
  return of3(r, last, NV_OP_where, of(r, false, NV_OP_isinf, e.most), e.most, sum);
}

static nvt_val logsumexp(reduction *r, nv_value x) {
  if (!read_call(r, x, 1)) return nvt_poison();
  if (!r->count) return everywhere(r, r->to, nv_f32_to_bits(r->to, nv_bits_to_f32(NV_F32, 0xff800000u)));
  return finished(r, log_of_sum(r, is_result(r)));
}

static nvt_val softmax(reduction *r, nv_value x) {
  const bool logarithm = r->call->op == NV_OP_log_softmax;
  if (!read_call(r, x, NV_NONE)) return nvt_poison();
  if (!logarithm) { /* precise: it always is */
    const nvt_arg precise = nvt_attr(r->call, 1);
    if (precise.v.kind != NVT_BOOL) {
      nvt_wrong_attr(r->t, r->call, 1, &precise, "true or false");
      return nvt_poison();
    }
  }
  const bool whole = r->to == NV_F32;
  if (is_empty(r)) return converted(r, true, r->x, r->to);
  if (logarithm) {
    const nvt_val v = converted(r, false, r->x, NV_F32);
    return converted(r, true, of2(r, whole, NV_OP_subtract, v, log_of_sum(r, false)), r->to);
  }
  const exponentials e = exponentials_of(r);
  return converted(r, true, of2(r, whole, NV_OP_divide, e.each, e.sum), r->to);
}

/* ---- places of extremes ---- */

/* Element i of an axis as the int64 that rises with its value, under it the earlier the larger: the largest of them is
 * of the first extreme, of the first NaN if there is one. Bits, so any order of the reduction gives the same. */
static nvt_val place_keys(reduction *r, nvt_val i) {
  nvt_val v = r->x;
  if (nv_is(r->from, NV_BITS_FLOAT)) {
    v = converted(r, false, v, NV_F32);
    if (r->call->op == NV_OP_argmin) v = of(r, false, NV_OP_negative, v);
    v = of(r, false, NV_OP_order, v);
  } else if (r->call->op == NV_OP_argmin) {
    v = of(r, false, r->from == NV_BOOL ? NV_OP_logical_not : NV_OP_bitwise_invert, v);
  }
  v = converted(r, false, v, NV_I64);
  if (r->from == NV_U32) v = of2(r, false, NV_OP_subtract, v, nvt_int(INT64_C(1) << 31));
  v = of2(r, false, NV_OP_left_shift, v, nvt_int(32));
  i = of2(r, false, NV_OP_bitwise_xor, converted(r, false, i, NV_I64), nvt_int(0xffffffff));
  return of2(r, false, NV_OP_bitwise_or, v, i);
}

static nvt_val place_of_extreme(reduction *r, nv_value x) {
  const nvt_arg axis = nvt_attr(r->call, 0);
  int64_t line[NV_MAX_RANK];
  if (axis.v.kind != NVT_NONE && axis.v.kind != NVT_INT) {
    nvt_wrong_attr(r->t, r->call, 0, &axis, "an int or None");
    return nvt_poison();
  }
  if (!read_call(r, x, 1) || of_nothing(r, x)) return nvt_poison();
  if (r->count == OPEN) return nvt_refuse_open(r->t, r->call);
  if (r->count > INT64_C(1) << 32) {
    nvt_error(r->t, r->call->pos, "%s over %lld elements: their numbers are uint32", nv_ops[r->call->op].name,
              (long long)r->count);
    return nvt_poison();
  }
  const nv_shape shape = result_shape(r);
  const bool same = nv_shape_rank(r->t->c, shape) == (axis.v.kind == NVT_NONE ? 1 : r->rank);
  if (axis.v.kind == NVT_NONE) { /* all axes as one */
    r->x = nvt_done(nvt_reshaped(r->t, r->call, false, x, &r->count, 1));
    if (r->x.kind != NVT_ARRAY) return r->x;
    r->dims[0] = nv_dim_const(r->t->c, r->count);
    r->rank = r->naxes = 1;
    r->axes[0] = 0;
  }
  for (uint32_t k = 0; k < r->rank; k++) line[k] = r->axes[0] == k ? r->count : 1;
  const nv_value numbers = nvt_indices(r->t, r->call, false, r->count, r->count, line, r->rank);
  if (numbers == NV_NONE) return nvt_poison();
  nvt_val i = nvt_array(numbers);
  if (r->from == NV_I64 || r->from == NV_U64) { /* keys have no room for them: the least number of an extreme */
    const nvt_val most = over(r, false, r->call->op == NV_OP_argmax ? NV_OP_max : NV_OP_min, r->x, true);
    i = of3(r, false, NV_OP_where, of2(r, false, NV_OP_equal, r->x, most), i, nvt_int(r->count));
    i = over(r, false, NV_OP_min, i, true);
  } else {
    i = of(r, false, NV_OP_bitwise_invert, over(r, false, NV_OP_max, place_keys(r, i), true));
  }
  i = converted(r, same, i, NV_U32);
  return i.kind == NVT_ARRAY ? nvt_done(nvt_reshaped_to(r->t, r->call, true, i.u.v, shape)) : i;
}

/* ---- without NaN ---- */

/* v, and with where x is NaN. */
static nvt_val without_nan(reduction *r, nvt_val v, nvt_val with) {
  return nv_is(r->from, NV_BITS_FLOAT) ? of3(r, false, NV_OP_where, of(r, false, NV_OP_isnan, r->x), with, v) : v;
}

static nvt_val nan_sum(reduction *r, nv_value x) {
  const bool product = r->call->op == NV_OP_nanprod;
  if (!read_call(r, x, 1)) return nvt_poison();
  return over(r, true, product ? NV_OP_prod : NV_OP_sum, without_nan(r, r->x, nvt_int(product)), r->keep);
}

/* NaN where there is nothing else. */
static nvt_val nan_extreme(reduction *r, nv_value x) {
  const bool most = r->call->op == NV_OP_nanmax;
  const nv_op op = most ? NV_OP_max : NV_OP_min;
  if (!read_call(r, x, 1) || of_nothing(r, x)) return nvt_poison();
  if (!nv_is(r->from, NV_BITS_FLOAT)) return over(r, true, op, r->x, r->keep);
  const double least = (double)nv_bits_to_f32(NV_F32, most ? 0xff800000u : 0x7f800000u);
  const nvt_val nan = nvt_float((double)nv_bits_to_f32(NV_F32, 0x7fc00000u));
  const nvt_val v = over(r, false, op, without_nan(r, r->x, nvt_float(least)), r->keep);
  const nvt_val all = over(r, false, NV_OP_all, of(r, false, NV_OP_isnan, r->x), r->keep);
  return of3(r, true, NV_OP_where, all, nan, v);
}

/* How many elements aren't NaN, in float32, axes kept. */
static nvt_val count_numbers(reduction *r) {
  nvt_val here = of(r, false, NV_OP_logical_not, of(r, false, NV_OP_isnan, r->x));
  return converted(r, false, over(r, false, NV_OP_sum, here, true), NV_F32);
}

static nvt_val nan_mean(reduction *r, nv_value x) {
  if (!read_call(r, x, 1)) return nvt_poison();
  const nvt_val sum = over(r, false, NV_OP_sum, without_nan(r, converted(r, false, r->x, NV_F32), nvt_int(0)), true);
  return finished(r, of2(r, is_result(r), NV_OP_divide, sum, count_numbers(r)));
}

static nvt_val nan_variance(reduction *r, nv_value x) {
  int64_t ddof;
  if (!read_call(r, x, 1) || !nvt_int_attr(r->t, r->call, 2, &ddof)) return nvt_poison();
  const bool root = r->call->op == NV_OP_nanstd;
  const nvt_val nan = nvt_float((double)nv_bits_to_f32(NV_F32, 0x7fc00000u));
  const nvt_val n = count_numbers(r), v = converted(r, false, r->x, NV_F32);
  const nvt_val sum = over(r, false, NV_OP_sum, without_nan(r, v, nvt_int(0)), true);
  nvt_val d = of2(r, false, NV_OP_subtract, v, of2(r, false, NV_OP_divide, sum, n));
  d = without_nan(r, of(r, false, NV_OP_square, d), nvt_int(0));
  const nvt_val left = of2(r, false, NV_OP_subtract, n, nvt_int(ddof));
  nvt_val y = of2(r, false, NV_OP_divide, over(r, false, NV_OP_sum, d, true), left);
  y = of3(r, !root && is_result(r), NV_OP_where, of2(r, false, NV_OP_less_equal, left, nvt_int(0)), nan, y);
  if (root) y = of(r, is_result(r), NV_OP_sqrt, y);
  return finished(r, y);
}

nvt_val nvt_reduce(nvt *t, const nvt_opcall *call, nv_value x) {
  reduction r = {.t = t, .call = call};
  switch (call->op) {
  case NV_OP_var:
  case NV_OP_std: return variance(&r, x);
  case NV_OP_logsumexp: return logsumexp(&r, x);
  case NV_OP_softmax:
  case NV_OP_log_softmax: return softmax(&r, x);
  case NV_OP_argmax:
  case NV_OP_argmin: return place_of_extreme(&r, x);
  case NV_OP_nansum:
  case NV_OP_nanprod: return nan_sum(&r, x);
  case NV_OP_nanmax:
  case NV_OP_nanmin: return nan_extreme(&r, x);
  case NV_OP_nanmean: return nan_mean(&r, x);
  default: return nan_variance(&r, x);
  }
}
