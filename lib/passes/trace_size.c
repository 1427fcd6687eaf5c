/* trace_size.c - tracing: sizes that are known at run time only. A weak number that follows from them is an expression
 * (sizes.h) until it meets an array; what the trace takes for granted about them becomes a guard. */
#include "steps.h"

/* ---- values ---- */

nvt_val nvt_size(nvt *t, nv_dim d) {
  int64_t v;
  if (nv_dim_is_const(t->c, d, &v)) return nvt_int(v);
  return (nvt_val){.kind = NVT_SIZE, .u = {.attr = nv_size_of_dim(t->c, d)}};
}

bool nvt_is_whole(nvt *t, nvt_val v) {
  nv_dim d;
  return v.kind == NVT_INT || (v.kind == NVT_SIZE && nv_size_dim(t->c, v.u.attr, &d));
}

bool nvt_dim_of(nvt *t, nvt_val v, nv_dim *d) {
  if (v.kind == NVT_INT) *d = nv_dim_const(t->c, v.u.i);
  return v.kind == NVT_INT || (v.kind == NVT_SIZE && nv_size_dim(t->c, v.u.attr, d));
}

const char *nvt_show_dim(nvt *t, nv_dim d) {
  nv_buf b;
  nv_buf_init(&b, t->c);
  nv_put_dim(&b, d);
  return nv_buf_text(&b);
}

const char *nvt_show_size(nvt *t, nvt_val v) {
  nv_dim d;
  if (nv_size_dim(t->c, v.u.attr, &d))
    return nv_format(t->c, "the run-time size %s (a signature fixes it)", nvt_show_dim(t, d));
  return "a number that follows from a run-time size (a signature fixes it)";
}

bool nvt_known(nvt *t, nvt_val v, nv_pos pos) {
  if (v.kind != NVT_SIZE) return true;
  nvt_error(t, pos, "this depends on %s", nvt_show_size(t, v));
  return false;
}

bool nvt_guard(nvt *t, nv_relation relation, nv_dim a, nv_dim b, nv_pos pos) {
  const uint32_t before = t->g->nguards;
  if (!nv_graph_guard(t->g, relation, a, b, NV_NONE)) return false;
  if (t->g->nguards > before && t->nframes && nvt_top(t)->stmt) {
    const nvt_frame *f = nvt_top(t);
    t->g->guards[before].origin = nv_graph_origin(t->g, f->parent, f->fn->name, f->stmt, 0, pos);
  }
  return true;
}

nv_value nvt_size_value(nvt *t, nvt_val v, nv_dtype dtype, nv_pos pos) {
  nv_dim d;
  const bool whole = nv_size_dim(t->c, v.u.attr, &d);
  if (!whole && nv_is(dtype, NV_BITS_INT)) {
    nvt_error(t, pos, "%s is no %s", nvt_show_size(t, v), nv_dtype_name[dtype]);
    return NV_NONE;
  }
  if (whole && nv_is(dtype, NV_BITS_INT)) { /* it fits, or the call is refused */
    const int bits = 8 * nv_dtype_size[dtype] - (nv_is(dtype, NV_BITS_SIGNED) ? 1 : 0);
    const int64_t most = bits < 63 ? (INT64_C(1) << bits) - 1 : INT64_MAX;
    const int64_t least = nv_is(dtype, NV_BITS_SIGNED) ? -most - 1 : 0;
    int64_t low, high;
    nv_dim_bounds(t->c, d, &low, &high);
    if ((high > most && !nvt_guard(t, NV_AT_MOST, d, nv_dim_const(t->c, most), pos)) ||
        (low < least && !nvt_guard(t, NV_AT_MOST, nv_dim_const(t->c, least), d, pos))) {
      nvt_error(t, pos, "size %s is out of range for %s", nvt_show_dim(t, d), nv_dtype_name[dtype]);
      return NV_NONE;
    }
  }
  return nv_graph_add(t->g, NV_OP_SIZE, NULL, 0, v.u.attr, dtype, nv_shape_make(t->c, NULL, 0), t->origin);
}

/* ---- expressions ---- */

static nvt_val joined(nvt *t, const nvt_val *v, uint32_t n, nv_size_kind kind, int64_t with) {
  enum { MOST = 256 };
  int64_t list[2 * MOST];
  uint32_t k = 0;
  for (uint32_t i = 0; i < n; i++) {
    const uint32_t more = v[i].kind == NVT_SIZE ? nv_attr_count(t->c, v[i].u.attr) : 2;
    if (k + more + 2 > 2 * MOST) return nvt_none();
    if (v[i].kind == NVT_SIZE) {
      memcpy(list + k, nv_attr_list(t->c, v[i].u.attr), more * sizeof *list);
    } else {
      const double f = v[i].kind == NVT_FLOAT ? v[i].u.f : v[i].kind == NVT_BOOL ? v[i].u.b : (double)v[i].u.i;
      list[k] = NV_SIZE_DOUBLE;
      memcpy(&list[k + 1], &f, sizeof f);
    }
    k += more;
  }
  list[k++] = kind;
  list[k++] = with;
  const nv_attr a = nv_attr_make(t->c, list, k);
  return nv_size_is_valid(t->c, a) ? (nvt_val){.kind = NVT_SIZE, .u = {.attr = a}} : nvt_none();
}

static nvt_val computed(nvt *t, const nvt_val *v, uint32_t n, nv_size_kind kind, int64_t with, nv_pos pos) {
  const nvt_val r = joined(t, v, n, kind, with);
  if (r.kind == NVT_SIZE) return r;
  nvt_error(t, pos, "a number that follows from sizes takes more than 256 steps");
  return nvt_poison();
}

nvt_val nvt_size_float(nvt *t, nvt_val v, nv_pos pos) {
  return nvt_is_whole(t, v) ? computed(t, &v, 1, NV_SIZE_FLOAT, 0, pos) : v;
}

static nvt_val as_whole(nvt_val v) { return v.kind == NVT_BOOL ? nvt_int(v.u.b) : v; }

static nvt_val no_form(nvt *t, nv_operator op, nvt_val a, nvt_val b, nv_pos pos) {
  nvt_refuse(t, pos, "'%s' of %s and %s", nv_operator_text[op], nvt_show(t, a), nvt_show(t, b));
  return nvt_poison();
}

/* a op b on ints, one of them a size. */
static nvt_val of_dims(nvt *t, nv_operator op, nvt_val a, nvt_val b, nv_pos pos) {
  nv_ctx *c = t->c;
  nv_dim x = 0, y = 0;
  nvt_dim_of(t, a, &x);
  nvt_dim_of(t, b, &y);
  switch (op) {
  case NV_OPR_ADD: return nvt_size(t, nv_dim_add(c, x, y));
  case NV_OPR_SUB: return nvt_size(t, nv_dim_sub(c, x, y));
  case NV_OPR_MUL: return nvt_size(t, nv_dim_mul(c, x, y));
  case NV_OPR_FLOORDIV:
  case NV_OPR_MOD:
    if (!nvt_guard(t, NV_AT_MOST, nv_dim_const(c, 1), y, pos)) {
      nvt_error(t, pos, "%s %s %s: the divisor is never above 0", nvt_show_dim(t, x), nv_operator_text[op],
                nvt_show_dim(t, y));
      return nvt_poison();
    }
    return nvt_size(t, op == NV_OPR_MOD ? nv_dim_mod(c, x, y) : nv_dim_floordiv(c, x, y));
  default: return no_form(t, op, a, b, pos);
  }
}

static nvt_val power_of(nvt *t, nvt_val a, nvt_val b, nv_pos pos) {
  const bool half = b.kind == NVT_FLOAT && (b.u.f == 0.5 || b.u.f == -0.5);
  if (b.kind != NVT_INT && !half) return no_form(t, NV_OPR_POW, a, b, pos);
  if (half) {
    const nvt_val root = computed(t, &a, 1, NV_SIZE_SQRT, 0, pos);
    return b.u.f > 0 || root.kind != NVT_SIZE ? root : computed(t, &root, 1, NV_SIZE_POWER, -1, pos);
  }
  nv_dim d;
  if (b.u.i < 0 || !nvt_dim_of(t, a, &d)) return computed(t, &a, 1, NV_SIZE_POWER, b.u.i, pos);
  if (b.u.i > 8) return no_form(t, NV_OPR_POW, a, b, pos);
  nv_dim r = nv_dim_const(t->c, 1);
  for (int64_t k = 0; k < b.u.i; k++) r = nv_dim_mul(t->c, r, d);
  return nvt_size(t, r);
}

nvt_val nvt_size_binary(nvt *t, nv_operator op, nvt_val a, nvt_val b, nv_pos pos) {
  a = as_whole(a);
  b = as_whole(b);
  if (op == NV_OPR_POW) return power_of(t, a, b, pos);
  if (nvt_is_whole(t, a) && nvt_is_whole(t, b) && op != NV_OPR_DIV) return of_dims(t, op, a, b, pos);
  const nvt_val both[2] = {a, b};
  switch (op) {
  case NV_OPR_ADD: return computed(t, both, 2, NV_SIZE_ADD, 0, pos);
  case NV_OPR_SUB: return computed(t, both, 2, NV_SIZE_SUB, 0, pos);
  case NV_OPR_MUL: return computed(t, both, 2, NV_SIZE_MUL, 0, pos);
  case NV_OPR_DIV: {
    nv_dim d;
    if (b.kind != NVT_SIZE ? (b.kind == NVT_FLOAT ? b.u.f == 0 : b.u.i == 0) : false) {
      nvt_error(t, pos, "division by zero");
      return nvt_poison();
    }
    if (nvt_dim_of(t, b, &d) && !nvt_guard(t, NV_AT_MOST, nv_dim_const(t->c, 1), d, pos)) {
      nvt_error(t, pos, "the divisor %s is never above 0", nvt_show_dim(t, d));
      return nvt_poison();
    }
    return computed(t, both, 2, NV_SIZE_DIV, 0, pos);
  }
  default: return no_form(t, op, a, b, pos);
  }
}

nvt_val nvt_size_unary(nvt *t, nv_operator op, nvt_val a, nv_pos pos) {
  nv_dim d;
  if (op == NV_OPR_POS) return a;
  if (op == NV_OPR_NEG && nvt_dim_of(t, a, &d)) return nvt_size(t, nv_dim_sub(t->c, nv_dim_const(t->c, 0), d));
  if (op == NV_OPR_NEG) return computed(t, &a, 1, NV_SIZE_NEG, 0, pos);
  nvt_known(t, a, pos);
  return nvt_poison();
}

/* What holds whatever the sizes are is known; for the rest a signature must say the sizes. */
nvt_val nvt_size_compare(nvt *t, nv_operator op, nvt_val a, nvt_val b, nv_pos pos) {
  nv_dim x, y;
  int64_t min = INT64_MIN, max = INT64_MAX;
  a = as_whole(a);
  b = as_whole(b);
  if (nvt_dim_of(t, a, &x) && nvt_dim_of(t, b, &y)) nv_dim_bounds(t->c, nv_dim_sub(t->c, x, y), &min, &max);
  switch (op) {
  case NV_OPR_EQ:
  case NV_OPR_NE:
    if (min == 0 && max == 0) return nvt_bool(op == NV_OPR_EQ);
    if (min > 0 || max < 0) return nvt_bool(op == NV_OPR_NE);
    break;
  case NV_OPR_LT:
  case NV_OPR_GE:
    if (max < 0) return nvt_bool(op == NV_OPR_LT);
    if (min >= 0) return nvt_bool(op == NV_OPR_GE);
    break;
  case NV_OPR_LE:
  case NV_OPR_GT:
    if (max <= 0) return nvt_bool(op == NV_OPR_LE);
    if (min > 0) return nvt_bool(op == NV_OPR_GT);
    break;
  default: break;
  }
  nvt_known(t, a.kind == NVT_SIZE ? a : b, pos);
  return nvt_poison();
}

nvt_val nvt_size_call(nvt *t, const char *name, const nvt_val *v, uint32_t n, nv_pos pos) {
  nv_dim d, e;
  const bool most = !strcmp(name, "max");
  if (most || !strcmp(name, "min")) {
    if (!nvt_dim_of(t, v[0], &d)) n = 0;
    for (uint32_t k = 1; k < n; k++) {
      if (!nvt_dim_of(t, v[k], &e)) n = 0;
      else d = most ? nv_dim_max(t->c, d, e) : nv_dim_min(t->c, d, e);
    }
    if (n) return nvt_size(t, d);
  } else if (nvt_dim_of(t, v[0], &d)) {
    if (!strcmp(name, "abs"))
      return nvt_size(t, nv_dim_max(t->c, d, nv_dim_sub(t->c, nv_dim_const(t->c, 0), d)));
    if (!strcmp(name, "int") || !strcmp(name, "floor") || !strcmp(name, "ceil")) return v[0];
  } else if (!strcmp(name, "abs")) {
    return computed(t, v, 1, NV_SIZE_ABS, 0, pos);
  }
  if (!strcmp(name, "float")) return nvt_size_float(t, v[0], pos);
  if (!strcmp(name, "sqrt")) return computed(t, v, 1, NV_SIZE_SQRT, 0, pos);
  if (!strcmp(name, "range")) {
    for (uint32_t k = 0; k < n; k++)
      if (!nvt_known(t, v[k], pos)) break;
    return nvt_poison();
  }
  nvt_refuse(t, pos, "'%s' of a number that follows from a run-time size (a signature fixes it)", name);
  return nvt_poison();
}

/* ---- ops made of others ---- */

static bool has_open_attr(const nvt_arg *a) {
  if (a->v.kind == NVT_SIZE) return true;
  if (a->v.kind != NVT_LIST) return false;
  for (uint32_t k = 0; k < a->v.u.seq->n; k++)
    if (a->v.u.seq->at[k].kind == NVT_SIZE) return true;
  return false;
}

bool nvt_is_open(nvt *t, const nvt_opcall *call) {
  for (uint32_t k = 0; k < call->n; k++) {
    const nvt_arg *a = &call->in[k];
    if (!a->given) continue;
    if (a->v.kind == NVT_ARRAY && !nv_shape_is_static(t->c, nv_shape_at(t->g, a->v.u.v))) return true;
    for (uint32_t i = 0; a->v.kind == NVT_LIST && i < a->v.u.seq->n; i++) {
      const nvt_val v = a->v.u.seq->at[i];
      if (v.kind == NVT_ARRAY && !nv_shape_is_static(t->c, nv_shape_at(t->g, v.u.v))) return true;
    }
  }
  for (uint32_t k = 0; k < NV_MAX_ATTRS; k++) {
    const nvt_arg *a = &call->attr[k];
    if (a->given && has_open_attr(a)) return true;
    if (a->given && a->v.kind == NVT_ARRAY && !nv_shape_is_static(t->c, nv_shape_at(t->g, a->v.u.v))) return true;
  }
  return false;
}

nvt_val nvt_refuse_open(nvt *t, const nvt_opcall *call) {
  nvt_refuse(t, call->pos, "%s of run-time sizes (a signature fixes them)", nv_ops[call->op].name);
  return nvt_poison();
}

bool nvt_open_steps(nvt *t, const nvt_opcall *call, nvt_val *out) {
  if (!nvt_is_open(t, call)) return false;
  *out = nvt_refuse_open(t, call);
  return true;
}
