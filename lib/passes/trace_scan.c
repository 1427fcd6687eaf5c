/* trace_scan.c - tracing: scans (cumsum, cumprod, cummax, cummin, logcumsumexp), called as in MLX's Python. */
#include "steps.h"

static bool flag(nvt *t, const nvt_opcall *call, uint32_t k, int64_t *out) {
  const nvt_arg a = nvt_attr(call, k);
  if (a.v.kind != NVT_BOOL) return nvt_wrong_attr(t, call, k, &a, "true or false");
  *out = a.v.u.b;
  return true;
}

nvt_val nvt_scan(nvt *t, const nvt_opcall *call, nv_dtype d) {
  const nvt_arg axis = nvt_attr(call, 0);
  int64_t attr[3];
  nv_value x = nvt_array_operand(t, &call->in[0]);
  if (x == NV_NONE || !flag(t, call, 1, &attr[1]) || !flag(t, call, 2, &attr[2])) return nvt_poison();
  attr[2] = !attr[2];
  if (call->op == NV_OP_cumsum || call->op == NV_OP_cumprod) {
    nv_dtype to;
    if (!nvt_dtype_attr(t, call, 3, NV_NDTYPES, &to)) return nvt_poison();
    if (to != NV_NDTYPES) {
      x = nvt_converted(t, call, false, x, to);
      d = to == NV_BOOL && call->op == NV_OP_cumsum ? NV_I32 : to;
    }
  }
  if (axis.v.kind == NVT_NONE) {
    const nv_dim n = nv_shape_elements(t->c, nv_shape_at(t->g, x));
    attr[0] = 0;
    if (nv_shape_rank(t->c, nv_shape_at(t->g, x)) != 1) {
      nvt_step_origin(t, call, false);
      x = nvt_emit(t, NV_OP_reshape, &x, 1, NV_NO_ATTR, nv_shape_make(t->c, &n, 1), call->pos);
      if (x == NV_NONE) return nvt_poison();
    }
  } else if (axis.v.kind != NVT_INT) {
    nvt_wrong_attr(t, call, 0, &axis, "an int or None");
    return nvt_poison();
  } else {
    uint32_t k;
    if (!nvt_axis_attr(t, call, 0, nv_shape_rank(t->c, nv_shape_at(t->g, x)), &k)) return nvt_poison();
    attr[0] = k;
  }
  x = nvt_converted(t, call, false, x, d);
  if (x == NV_NONE) return nvt_poison();
  nvt_step_origin(t, call, true);
  return nvt_done(nvt_emit(t, call->op, &x, 1, nv_attr_make(t->c, attr, 3), 0, call->pos));
}
