/* trace_random.c - tracing: random numbers, a counter-based generator's (Threefry-2x32 with 20 rounds, Salmon et al.,
 * "Parallel random numbers: as easy as 1, 2, 3", 2011), laid out and made into floats as MLX does it: the same key
 * gives the same bits. Everything is arithmetic on the indices of iota, so no pass behind this one knows that it is
 * random. */
#include "steps.h"

static const double TWO_32 = 4294967296.0;
static const double BELOW_1 = 0.999999940395355224609375; /* the float32 below 1 */

static nvt_val two(nvt *t, const nvt_opcall *call, nv_op op, nvt_val a, nvt_val b) {
  return nvt_step(t, call, false, op, a, b, nvt_none());
}

static nvt_val converted(nvt *t, const nvt_opcall *call, bool last, nvt_val v, nv_dtype d) {
  return v.kind == NVT_ARRAY ? nvt_done(nvt_converted(t, call, last, v.u.v, d)) : v;
}

/* A number of a dtype, rounded once. */
static nvt_val number(nvt *t, const nvt_opcall *call, nv_dtype d, double x) {
  return nvt_constant(t, d, nv_double_to_bits(d, x), call->pos, false);
}

/* ---- bits ---- */

/* The two words that the counters (c0, c1) give under the key k. */
static void threefry(nvt *t, const nvt_opcall *call, const nvt_val k[2], nvt_val v[2]) {
  static const int rotations[2][4] = {{13, 15, 26, 6}, {17, 29, 16, 24}};
  const nvt_val both = two(t, call, NV_OP_bitwise_xor, k[0], k[1]);
  const nvt_val keys[3] = {k[0], k[1], two(t, call, NV_OP_bitwise_xor, both, nvt_int(0x1BD11BDA))};
  for (int i = 0; i < 2; i++) v[i] = two(t, call, NV_OP_add, v[i], keys[i]);
  for (int i = 0; i < 5; i++) {
    for (int r = 0; r < 4; r++) {
      const int by = rotations[i % 2][r];
      v[0] = two(t, call, NV_OP_add, v[0], v[1]);
      const nvt_val up = two(t, call, NV_OP_left_shift, v[1], nvt_int(by));
      const nvt_val down = two(t, call, NV_OP_right_shift, v[1], nvt_int(32 - by));
      v[1] = two(t, call, NV_OP_bitwise_xor, two(t, call, NV_OP_bitwise_or, up, down), v[0]);
    }
    v[0] = two(t, call, NV_OP_add, v[0], keys[(i + 1) % 3]);
    v[1] = two(t, call, NV_OP_add, v[1], two(t, call, NV_OP_add, keys[(i + 2) % 3], nvt_int(i + 1)));
  }
}

/* The key operand: uint32[2]. */
static bool key_operand(nvt *t, const nvt_opcall *call, uint32_t k, nv_value *key) {
  const nvt_arg *a = &call->in[k];
  const int64_t n = 2;
  const bool fits = a->v.kind == NVT_ARRAY && nv_dtype_of(t->g, a->v.u.v) == NV_U32 &&
                    nv_shape_at(t->g, a->v.u.v) == nv_shape_of_ints(t->c, &n, 1);
  if (!fits) nvt_error(t, a->pos, "%s: key must be uint32[2], not %s", nv_ops[call->op].name, nvt_show(t, a->v));
  if (fits) *key = a->v.u.v;
  return fits;
}

/* Random bits in an array of shape, width bytes each. Word i of the first half is paired with word i + half: together
 * they are what the counters (i, i + half) give. Of an odd number the first half is longer by one, whose
 * counters are (its number, 0). Elements of one or two bytes lie in the words from their low bits up. */
static nvt_val bits(nvt *t, const nvt_opcall *call, bool last, nv_value key, nv_shape shape, int64_t width) {
  const nv_dtype d = width == 1 ? NV_U8 : width == 2 ? NV_U16 : NV_U32;
  const int64_t n = nv_shape_count(t->c, shape), per = 4 / width, words = (n + per - 1) / per;
  const int64_t half = words / 2, first = words - half, zero[1] = {0}, one[1] = {1};
  const uint32_t rank = nv_shape_rank(t->c, shape);
  int64_t dims[NV_MAX_RANK];
  for (uint32_t k = 0; k < rank; k++) dims[k] = nv_dim_value(t->c, nv_shape_dims(t->c, shape)[k]);
  if (words > UINT32_MAX) {
    nvt_error(t, call->pos, "%s: more than 2^32 - 1 random words", nv_ops[call->op].name);
    return nvt_poison();
  }
  const nvt_val k[2] = {nvt_done(nvt_sliced(t, call, false, key, zero, NULL, one)),
                        nvt_done(nvt_sliced(t, call, false, key, one, NULL, one))};
  const nvt_val at = converted(t, call, false, nvt_done(nvt_indices(t, call, false, n, n, &n, 1)), NV_U32);
  const nvt_val w = per == 1 ? at : two(t, call, NV_OP_right_shift, at, nvt_int(per == 4 ? 2 : 1));
  const nvt_val upper = two(t, call, NV_OP_greater_equal, w, nvt_int(first));
  nvt_val second = two(t, call, NV_OP_add, w, nvt_int(first));
  if (words % 2)
    second = nvt_step(t, call, false, NV_OP_where, two(t, call, NV_OP_equal, w, nvt_int(half)), nvt_int(0), second);
  nvt_val v[2] = {nvt_step(t, call, false, NV_OP_where, upper, two(t, call, NV_OP_subtract, w, nvt_int(first)), w),
                  nvt_step(t, call, false, NV_OP_where, upper, w, second)};
  threefry(t, call, k, v);
  nvt_val r = nvt_step(t, call, last && per == 1 && rank == 1, NV_OP_where, upper, v[1], v[0]);
  if (per > 1) {
    const nvt_val part = two(t, call, NV_OP_bitwise_and, at, nvt_int(per - 1));
    const nvt_val by = two(t, call, NV_OP_multiply, part, nvt_int(8 * width));
    r = converted(t, call, last && rank == 1, two(t, call, NV_OP_right_shift, r, by), d);
  }
  return r.kind == NVT_ARRAY ? nvt_done(nvt_reshaped(t, call, last, r.u.v, dims, rank)) : r;
}

/* ---- attributes ---- */

/* None: other. */
static bool shape_attr(nvt *t, const nvt_opcall *call, uint32_t k, nv_shape other, nv_shape *out) {
  nvt_arg a = nvt_attr(call, k);
  *out = other;
  if (a.v.kind == NVT_NONE) return true;
  if (a.v.kind == NVT_INT) a.v = nvt_seq_make(t, NVT_LIST, &a.v, NULL, 1);
  return nvt_sizes(t, call, k, &a, 0, false, out) && nvt_check_shape(t, *out, a.pos);
}

/* A number or an array that broadcasts, in dtype d. */
static bool value_attr(nvt *t, const nvt_opcall *call, uint32_t k, nv_dtype d, nvt_val *out) {
  const nvt_arg a = nvt_attr(call, k);
  if (a.v.kind != NVT_ARRAY && (!nvt_is_number(a.v) || a.v.kind == NVT_COMPLEX))
    return nvt_wrong_attr(t, call, k, &a, "a number or an array");
  *out = converted(t, call, false, a.v.kind == NVT_ARRAY ? a.v : nvt_alone(t, a.v, a.pos), d);
  return out->kind == NVT_ARRAY;
}

static bool float_attr(nvt *t, const nvt_opcall *call, uint32_t k, nv_dtype *d) {
  if (!nvt_dtype_attr(t, call, k, NV_F32, d)) return false;
  if (nv_is(*d, NV_BITS_FLOAT)) return true;
  const nvt_arg a = nvt_attr(call, k);
  return nvt_wrong_attr(t, call, k, &a, "a float dtype");
}

/* ---- numbers ---- */

/* Bits of 4 bytes as float32 in [0, 1), in dtype d: below 1 in d too. */
static nvt_val fractions(nvt *t, const nvt_opcall *call, nv_value key, nv_shape shape, nv_dtype d) {
  const double most = d == NV_F32 ? BELOW_1 : d == NV_F16 ? 0.99951171875 : 0.99609375;
  const nvt_val r = converted(t, call, false, bits(t, call, false, key, shape, 4), NV_F32);
  const nvt_val u = two(t, call, NV_OP_divide, r, number(t, call, NV_F32, TWO_32));
  return converted(t, call, false, two(t, call, NV_OP_minimum, u, number(t, call, NV_F32, most)), d);
}

/* low + fraction * (high - low), every step in dtype d. */
static nvt_val between(nvt *t, const nvt_opcall *call, bool last, nv_value key, nv_shape shape, nv_dtype d, nvt_val low,
                       nvt_val high) {
  const nvt_val range = two(t, call, NV_OP_subtract, high, low);
  const nvt_val part = two(t, call, NV_OP_multiply, range, fractions(t, call, key, shape, d));
  return nvt_step(t, call, last, NV_OP_add, part, low, nvt_none());
}

/* The result has the shape that was asked for: an array among the numbers didn't broadcast to more. */
static nvt_val of_shape(nvt *t, const nvt_opcall *call, nvt_val v, nv_shape shape) {
  if (v.kind != NVT_ARRAY || nv_shape_at(t->g, v.u.v) == shape) return v;
  nvt_error(t, call->pos, "%s: %s doesn't broadcast to %s", nv_ops[call->op].name,
            nvt_show_shape(t, nv_shape_at(t->g, v.u.v)), nvt_show_shape(t, shape));
  return nvt_poison();
}

static nvt_val uniform(nvt *t, const nvt_opcall *call, nv_value key) {
  nv_shape shape;
  nv_dtype d;
  nvt_val low, high;
  if (!shape_attr(t, call, 2, 0, &shape) || !float_attr(t, call, 3, &d) || !value_attr(t, call, 0, d, &low) ||
      !value_attr(t, call, 1, d, &high))
    return nvt_poison();
  return of_shape(t, call, between(t, call, true, key, shape, d, low, high), shape);
}

/* sqrt(2) * erfinv of what is uniform in (-1, 1), times scale, plus loc. */
static nvt_val normal(nvt *t, const nvt_opcall *call, nv_value key) {
  nv_shape shape;
  nv_dtype d;
  nvt_val loc, scale;
  if (!shape_attr(t, call, 0, 0, &shape) || !float_attr(t, call, 1, &d)) return nvt_poison();
  const bool moved = nvt_attr(call, 2).v.kind != NVT_NONE, scaled = nvt_attr(call, 3).v.kind != NVT_NONE;
  if ((moved && !value_attr(t, call, 2, d, &loc)) || (scaled && !value_attr(t, call, 3, d, &scale)))
    return nvt_poison();
  const nvt_val u = between(t, call, false, key, shape, NV_F32, number(t, call, NV_F32, -BELOW_1),
                            number(t, call, NV_F32, 1.0));
  const nvt_val x = converted(t, call, false, nvt_step(t, call, false, NV_OP_erfinv, u, nvt_none(), nvt_none()), d);
  nvt_val by = number(t, call, d, 1.41421356237309514547);
  if (scaled) by = two(t, call, NV_OP_multiply, by, scale);
  nvt_val r = nvt_step(t, call, !moved, NV_OP_multiply, by, x, nvt_none());
  if (moved) r = nvt_step(t, call, true, NV_OP_add, loc, r, nvt_none());
  return of_shape(t, call, r, shape);
}

/* bits < p * 2^32, in float32; the factor is the float32 above 2^32, so that p = 1 is always true. */
static nvt_val below(nvt *t, const nvt_opcall *call, bool last, nv_value key, nv_shape shape, nvt_val p) {
  const nvt_val r = converted(t, call, false, bits(t, call, false, key, shape, 4), NV_F32);
  const nvt_val limit = two(t, call, NV_OP_multiply, p, number(t, call, NV_F32, 4294967808.0));
  return nvt_step(t, call, last, NV_OP_less, r, limit, nvt_none());
}

static nvt_val bernoulli(nvt *t, const nvt_opcall *call, nv_value key) {
  nv_shape shape;
  nvt_val p;
  if (!value_attr(t, call, 0, NV_F32, &p) || !shape_attr(t, call, 1, nv_shape_at(t->g, p.u.v), &shape))
    return nvt_poison();
  return of_shape(t, call, below(t, call, true, key, shape, p), shape);
}

/* floor of what is uniform in float32, in the dtype, held to [low, high - 1]. */
static nvt_val randint(nvt *t, const nvt_opcall *call, nv_value key) {
  nv_shape shape;
  nv_dtype d;
  nvt_val bound[2], real[2];
  if (!shape_attr(t, call, 2, 0, &shape) || !nvt_dtype_attr(t, call, 3, NV_I32, &d)) return nvt_poison();
  for (uint32_t k = 0; k < 2; k++) {
    const nvt_arg a = nvt_attr(call, k);
    const bool is_array = a.v.kind == NVT_ARRAY;
    const bool is_int = is_array ? nv_is(nv_dtype_of(t->g, a.v.u.v), NV_BITS_INT) : a.v.kind == NVT_INT;
    if (!is_int) {
      nvt_wrong_attr(t, call, k, &a, "an int or an array of them");
      return nvt_poison();
    }
    bound[k] = is_array ? a.v : nvt_alone(t, a.v, a.pos);
    real[k] = converted(t, call, false, bound[k], NV_F32);
  }
  if (!nv_is(d, NV_BITS_INT)) {
    const nvt_arg a = nvt_attr(call, 3);
    nvt_wrong_attr(t, call, 3, &a, "an integer dtype");
    return nvt_poison();
  }
  const nvt_val u = between(t, call, false, key, shape, NV_F32, real[0], real[1]);
  const nvt_val whole = converted(t, call, false, nvt_step(t, call, false, NV_OP_floor, u, nvt_none(), nvt_none()), d);
  const nvt_val most = converted(t, call, false, two(t, call, NV_OP_subtract, bound[1], nvt_int(1)), d);
  const nvt_val least = converted(t, call, false, bound[0], d);
  const nvt_val r = two(t, call, NV_OP_minimum, whole, most);
  return of_shape(t, call, nvt_step(t, call, true, NV_OP_maximum, r, least, nvt_none()), shape);
}

/* x where a draw with probability 1 - p says so, else 0, times 1 / (1 - p). */
static nvt_val dropout(nvt *t, const nvt_opcall *call) {
  const nvt_arg a = nvt_attr(call, 0);
  nv_value key;
  const nv_value x = nvt_array_operand(t, &call->in[0]);
  const double p = a.v.kind == NVT_INT ? (double)a.v.u.i : a.v.kind == NVT_FLOAT ? a.v.u.f : -1.0;
  if (x == NV_NONE || !key_operand(t, call, 1, &key)) return nvt_poison();
  if (!(p >= 0 && p < 1)) {
    nvt_wrong_attr(t, call, 0, &a, "a number from 0 up to 1, without it");
    return nvt_poison();
  }
  if (p == 0) return nvt_done(x);
  const nvt_val keep = below(t, call, false, key, nv_shape_at(t->g, x), number(t, call, NV_F32, 1 - p));
  const nvt_val kept = two(t, call, NV_OP_multiply, keep, nvt_array(x));
  return nvt_step(t, call, true, NV_OP_multiply, kept, nvt_float(1 / (1 - p)), nvt_none());
}

/* -log(-log(u)), u uniform in [0, 1), every step in dtype d: 0 gives -inf. */
static nvt_val extreme(nvt *t, const nvt_opcall *call, bool last, nv_value key, nv_shape shape, nv_dtype d) {
  nvt_val v = fractions(t, call, key, shape, d);
  for (int k = 0; k < 2; k++) {
    v = nvt_step(t, call, false, NV_OP_log, v, nvt_none(), nvt_none());
    v = nvt_step(t, call, last && k, NV_OP_negative, v, nvt_none(), nvt_none());
  }
  return v;
}

static nvt_val gumbel(nvt *t, const nvt_opcall *call, nv_value key) {
  nv_shape shape;
  nv_dtype d;
  if (!shape_attr(t, call, 0, 0, &shape) || !float_attr(t, call, 1, &d)) return nvt_poison();
  return extreme(t, call, true, key, shape, d);
}

/* The shape of categorical's result: that of the logits without the axis, or the one that is asked for, to which that
 * one broadcasts; of samples: with an axis of them behind it, and the logits with one of 1. */
static bool category_dims(nvt *t, const nvt_opcall *call, nv_value *logits, uint32_t axis, int64_t *dims, uint32_t *n) {
  const nvt_arg given = nvt_attr(call, 1), samples = nvt_attr(call, 2);
  int64_t own[NV_MAX_RANK];
  uint32_t rank = nvt_sizes_of(t, *logits, own), m = 0;
  if (given.v.kind != NVT_NONE && samples.v.kind != NVT_NONE) {
    nvt_error(t, samples.pos, "categorical: either shape or num_samples, not both");
    return false;
  }
  for (uint32_t k = 0; k < rank; k++)
    if (k != axis) dims[m++] = own[k];
  *n = m;
  if (samples.v.kind != NVT_NONE) {
    if (samples.v.kind != NVT_INT || samples.v.u.i < 0) return nvt_wrong_attr(t, call, 2, &samples, "a count");
    own[rank++] = 1;
    dims[(*n)++] = samples.v.u.i;
    *logits = nvt_reshaped(t, call, false, *logits, own, rank);
    return *logits != NV_NONE;
  }
  if (given.v.kind == NVT_NONE) return true;
  const char *why;
  nv_shape shapes[2] = {nv_shape_of_ints(t->c, dims, m)}, both;
  if (!shape_attr(t, call, 1, 0, &shapes[1])) return false;
  *n = nv_shape_rank(t->c, shapes[1]);
  for (uint32_t k = 0; k < *n; k++) dims[k] = nv_dim_value(t->c, nv_shape_dims(t->c, shapes[1])[k]);
  if (nv_broadcast_shapes(t->c, shapes, 2, &both, &why) && both == shapes[1]) return true;
  nvt_error(t, given.pos, "categorical: %s, without the axis, doesn't broadcast to %s", nvt_show_shape(t, shapes[0]),
            nvt_show_shape(t, shapes[1]));
  return false;
}

/* A reduction along an axis, which goes, or a scan, which doesn't count an element itself. */
static nvt_val along(nvt *t, const nvt_opcall *call, bool last, nv_op op, nvt_val v, uint32_t axis) {
  nvt_opcall step = {.op = op, .pos = call->pos, .root = last && call->root, .n = 1};
  if (v.kind != NVT_ARRAY) return v;
  step.in[0] = (nvt_arg){v, NV_NONE, call->pos, true};
  step.attr[0] = (nvt_arg){nvt_int(axis), NV_NONE, call->pos, true};
  for (uint32_t k = 1; k < (op == NV_OP_cumsum ? 3u : 2u); k++)
    step.attr[k] = (nvt_arg){nvt_bool(false), NV_NONE, call->pos, true};
  return nvt_apply_op(t, &step);
}

/* Draws of shape dims from a single row: the weights exp(x - max) are added up, and each draw is the last place whose
 * sum before it is at most a fraction of the whole. Infinite logits share it. */
static nvt_val by_sums(nvt *t, const nvt_opcall *call, nv_value key, nv_value logits, int64_t *dims, uint32_t n) {
  const int64_t count = nv_shape_count(t->c, nv_shape_at(t->g, logits));
  const nv_shape shape = nv_shape_of_ints(t->c, dims, n);
  if (!nvt_check_shape(t, shape, call->pos)) return nvt_poison();
  const nvt_val x = converted(t, call, false, nvt_done(nvt_reshaped(t, call, false, logits, &count, 1)), NV_F32);
  const nvt_val most = along(t, call, false, NV_OP_max, x, 0);
  const nvt_val infinite = nvt_step(t, call, false, NV_OP_isinf, most, nvt_none(), nvt_none());
  const nvt_val same = converted(t, call, false, two(t, call, NV_OP_equal, x, most), NV_F32);
  const nvt_val less = two(t, call, NV_OP_subtract, x, most);
  const nvt_val each = nvt_step(t, call, false, NV_OP_exp, less, nvt_none(), nvt_none());
  const nvt_val weights = nvt_step(t, call, false, NV_OP_where, infinite, same, each);
  const nvt_val before = along(t, call, false, NV_OP_cumsum, weights, 0);
  const nvt_val whole = along(t, call, false, NV_OP_sum, weights, 0);
  nvt_val at = two(t, call, NV_OP_multiply, fractions(t, call, key, shape, NV_F32), whole);
  if (at.kind != NVT_ARRAY) return at;
  dims[n] = 1;
  at = nvt_done(nvt_reshaped(t, call, false, at.u.v, dims, n + 1));
  at = along(t, call, false, NV_OP_sum, two(t, call, NV_OP_less_equal, before, at), n);
  at = two(t, call, NV_OP_subtract, two(t, call, NV_OP_maximum, at, nvt_int(1)), nvt_int(1));
  return converted(t, call, true, at, NV_U32);
}

/* The place of the largest of logits + gumbel, in float32 or wider; of a single row, unless the result is of rank 0, by
 * its sums. */
static nvt_val categorical(nvt *t, const nvt_opcall *call) {
  int64_t dims[NV_MAX_RANK + 1];
  uint32_t axis, n;
  nv_value key, logits = nvt_array_operand(t, &call->in[0]);
  if (logits == NV_NONE || !key_operand(t, call, 1, &key)) return nvt_poison();
  const uint32_t rank = nv_shape_rank(t->c, nv_shape_at(t->g, logits));
  if (!nv_is(nv_dtype_of(t->g, logits), nv_ops[call->op].domain)) {
    nvt_error(t, call->in[0].pos, "categorical has no %s form", nv_dtype_name[nv_dtype_of(t->g, logits)]);
    return nvt_poison();
  }
  if (!nvt_axis_attr(t, call, 0, rank, &axis) || !category_dims(t, call, &logits, axis, dims, &n)) return nvt_poison();
  const nv_shape whole = nv_shape_at(t->g, logits);
  const uint32_t at = axis + n + 1 - nv_shape_rank(t->c, whole);
  if (n == NV_MAX_RANK) {
    nvt_error(t, call->pos, "categorical: rank %u is over the limit of %d", n + 1, NV_MAX_RANK);
    return nvt_poison();
  }
  const int64_t row = nv_dim_value(t->c, nv_shape_dims(t->c, whole)[axis]);
  if (n && row && nv_shape_count(t->c, whole) == row) return by_sums(t, call, key, logits, dims, n);
  for (uint32_t k = n++; k > at; k--) dims[k] = dims[k - 1];
  dims[at] = row;
  const nv_shape shape = nv_shape_of_ints(t->c, dims, n);
  if (!nvt_check_shape(t, shape, call->pos)) return nvt_poison();
  const nvt_val g = extreme(t, call, false, key, shape, NV_F32);
  const nvt_val sum = two(t, call, NV_OP_add, g, nvt_array(logits));
  return along(t, call, true, NV_OP_argmax, sum, at);
}

/* ---- keys ---- */

/* The high and the low half of the seed. */
static nvt_val key_of(nvt *t, const nvt_opcall *call) {
  const int64_t n = 2;
  int64_t seed;
  if (!nvt_int_attr(t, call, 0, &seed)) return nvt_poison();
  const nvt_val high = nvt_constant(t, NV_U32, (uint64_t)seed >> 32, call->pos, false);
  const nvt_val low = nvt_constant(t, NV_U32, (uint64_t)seed & UINT32_MAX, call->pos, false);
  const nvt_val at = nvt_done(nvt_indices(t, call, false, n, n, &n, 1));
  return nvt_step(t, call, true, NV_OP_where, two(t, call, NV_OP_equal, at, nvt_int(0)), high, low);
}

static nvt_val of_key(nvt *t, const nvt_opcall *call, nv_value key) {
  const nvt_arg a = nvt_attr(call, call->op == NV_OP_random_bits);
  int64_t dims[2] = {0, 2}, width = 4;
  nv_shape shape;
  switch (call->op) {
  case NV_OP_uniform: return uniform(t, call, key);
  case NV_OP_normal: return normal(t, call, key);
  case NV_OP_bernoulli: return bernoulli(t, call, key);
  case NV_OP_randint: return randint(t, call, key);
  case NV_OP_gumbel: return gumbel(t, call, key);
  case NV_OP_random_split:
    if (a.v.kind != NVT_INT || a.v.u.i < 0 || a.v.u.i > UINT32_MAX) {
      nvt_wrong_attr(t, call, 0, &a, "a count");
      return nvt_poison();
    }
    dims[0] = a.v.u.i;
    return bits(t, call, true, key, nv_shape_of_ints(t->c, dims, 2), 4);
  default:
    if (!nvt_int_attr(t, call, 1, &width) || !shape_attr(t, call, 0, 0, &shape)) return nvt_poison();
    if (width != 1 && width != 2 && width != 4) {
      nvt_wrong_attr(t, call, 1, &a, "1, 2 or 4");
      return nvt_poison();
    }
    return bits(t, call, true, key, shape, width);
  }
}

nvt_val nvt_random(nvt *t, const nvt_opcall *call) {
  nv_value key;
  if (call->op == NV_OP_random_key) return key_of(t, call);
  if (call->op == NV_OP_dropout) return dropout(t, call);
  if (call->op == NV_OP_categorical) return categorical(t, call);
  return key_operand(t, call, 0, &key) ? of_key(t, call, key) : nvt_poison();
}
