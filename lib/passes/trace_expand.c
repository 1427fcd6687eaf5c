/* trace_expand.c - tracing: which ops are made of others, by their rows; those made of element-wise ops. */
#include "steps.h"

static nvt_arg argument(nvt_val v, const nvt_arg *place) { return (nvt_arg){v, NV_NONE, place->pos, true}; }

static nvt_val apply(nvt *t, const nvt_opcall *call, nv_op op, bool root, const nvt_arg *in, uint32_t n) {
  nvt_opcall step = {.op = op, .pos = call->pos, .root = root, .n = n};
  memcpy(step.in, in, n * sizeof *in);
  return nvt_apply_op(t, &step);
}

static bool static_number(nvt *t, const nvt_opcall *call, uint32_t k, const char *what) {
  const nvt_arg *a = &call->attr[k];
  if (nvt_is_number(a->v) && a->v.kind != NVT_COMPLEX) return true;
  nvt_error(t, a->pos, "%s: '%s' must be %s, not %s", nv_ops[call->op].name, nv_ops[call->op].attrs[k].name, what,
            nvt_show(t, a->v));
  return false;
}

/* minimum(maximum(x, min), max), with the bounds that are given */
nvt_val nvt_clip(nvt *t, const nvt_opcall *call) {
  nvt_val v = call->in[0].v;
  if (!call->in[1].given && !call->in[2].given) {
    nvt_error(t, call->pos, "clip needs 'min' or 'max'");
    return nvt_poison();
  }
  for (uint32_t k = 1; k <= 2; k++) {
    if (!call->in[k].given) continue;
    const nvt_arg in[2] = {{v, call->in[0].ast, call->in[0].pos, true}, call->in[k]};
    v = apply(t, call, k == 1 ? NV_OP_maximum : NV_OP_minimum, call->root && (k == 2 || !call->in[2].given), in, 2);
  }
  return v;
}

nvt_val nvt_divmod(nvt *t, const nvt_opcall *call) {
  const nvt_val both[2] = {apply(t, call, NV_OP_floor_divide, call->root, call->in, 2),
                           apply(t, call, NV_OP_remainder, false, call->in, 2)};
  return nvt_seq_make(t, NVT_LIST, both, NULL, 2);
}

/* The largest finite number of a float dtype. */
static double largest(nv_dtype d) {
  return (double)nv_bits_to_f32(d, d == NV_F16 ? 0x7bff : d == NV_BF16 ? 0x7f7f : 0x7f7fffff);
}

nvt_val nvt_nan_to_num(nvt *t, const nvt_opcall *call) {
  static const nv_op tests[3] = {NV_OP_isnan, NV_OP_isposinf, NV_OP_isneginf};
  const nvt_arg *x = &call->in[0];
  const nvt_val from = x->v.kind == NVT_ARRAY ? x->v : nvt_alone(t, x->v, x->pos);
  if (from.kind != NVT_ARRAY) return nvt_poison();
  const nv_dtype d = nv_dtype_of(t->g, from.u.v);
  if (!nv_is(d, nv_ops[call->op].domain)) {
    nvt_error(t, call->pos, "%s has no %s form", nv_ops[call->op].name, nv_dtype_name[d]);
    return nvt_poison();
  }
  for (uint32_t k = 0; k < 3; k++)
    if (call->attr[k].given && call->attr[k].v.kind != NVT_NONE && !static_number(t, call, k, "a static number"))
      return nvt_poison();
  nvt_val v = from;
  for (uint32_t k = 0; k < 3 && nv_is(d, NV_BITS_FLOAT); k++) {
    const bool given = call->attr[k].given && call->attr[k].v.kind != NVT_NONE;
    const nvt_val to = given ? call->attr[k].v : nvt_float(k == 0 ? 0 : k == 1 ? largest(d) : -largest(d));
    const nvt_arg of = argument(from, x);
    const nvt_arg in[3] = {argument(apply(t, call, tests[k], false, &of, 1), x), argument(to, x), argument(v, x)};
    v = apply(t, call, NV_OP_where, call->root && k == 2, in, 3);
  }
  return v;
}

/* round to decimals: times 10^d, rounded, times 10^-d, in at least float; converted back. d = 0 is the op itself. */
nvt_val nvt_round(nvt *t, const nvt_opcall *call) {
  enum { MOST = 300 }; /* powers of ten that a double holds, and their reciprocals */
  const nvt_arg *a = &call->attr[0], *x = &call->in[0];
  if (!a->given || (a->v.kind == NVT_INT && a->v.u.i == 0)) return nvt_none();
  if (a->v.kind != NVT_INT) {
    nvt_error(t, a->pos, "round: 'decimals' must be an int, not %s", nvt_show(t, a->v));
    return nvt_poison();
  }
  const int64_t d = a->v.u.i;
  if (d < -MOST || d > MOST) {
    nvt_error(t, a->pos, "round: %lld decimals are out of range", (long long)d);
    return nvt_poison();
  }
  const nvt_val from = x->v.kind == NVT_ARRAY ? x->v : nvt_alone(t, x->v, x->pos);
  if (from.kind != NVT_ARRAY) return nvt_poison();
  const double power = strtod(nv_format(t->c, "1e%d", (int)(d < 0 ? -d : d)), NULL);
  const double scales[2] = {d < 0 ? 1 / power : power, d < 0 ? power : 1 / power};
  const nv_dtype back = nv_dtype_of(t->g, from.u.v);
  const bool converts = nv_at_least_float(back) != back;
  nvt_val v = from;
  for (uint32_t k = 0; k < 2; k++) {
    const nvt_arg in[2] = {argument(v, x), argument(nvt_float(scales[k]), x)};
    const nvt_arg product = argument(apply(t, call, NV_OP_multiply, call->root && k == 1 && !converts, in, 2), x);
    v = k == 0 ? apply(t, call, NV_OP_round, false, &product, 1) : product.v;
  }
  if (converts) {
    nvt_opcall cast = {.op = NV_OP_astype, .pos = call->pos, .root = call->root, .n = 1};
    cast.in[0] = argument(v, x);
    cast.attr[0] = argument(nvt_dtype(back), x);
    v = nvt_apply_op(t, &cast);
  }
  return v;
}

nvt_val nvt_depends(nvt *t, const nvt_opcall *call) { return apply(t, call, NV_OP_copy, call->root, call->in, 1); }

/* ---- by the op's row ---- */

static nvt_val of_array(nvt *t, const nvt_opcall *call, nvt_val (*made)(nvt *, const nvt_opcall *, nv_value)) {
  const nv_value x = nvt_array_operand(t, &call->in[0]);
  return x == NV_NONE ? nvt_poison() : made(t, call, x);
}

#define NONE
#define B(e)
#define U(e)
#define I(e)
#define UI(e)
#define F(e)
#define C(e)
#define CF(e)
#define BT(e)
#define UT(e)
#define IT(e)
#define FT(e)
#define FI(e)
#define CT(e)
#define BY(f) return nvt_##f(t, call);
#define AT(f) return nvt_open_steps(t, call, &open) ? open : nvt_##f(t, call);
#define OF(f) return nvt_open_steps(t, call, &open) ? open : of_array(t, call, nvt_##f);
#define OF_ANY(f) return of_array(t, call, nvt_##f);
#define OP(name, how, ...) \
  case NV_OP_##name:       \
    how break;
nvt_val nvt_expand(nvt *t, const nvt_opcall *call) {
  nvt_val open;
  switch (call->op) {
#include "../ops.def"
  default: break;
  }
  return nvt_none();
}
