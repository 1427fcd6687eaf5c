/* trace_ops.c - tracing: one op on traced operands becomes nodes, weak values typed, conversions and broadcasts
 * explicit (nuvec-ops(5), "Promotion" and "Weak values"). */
#include "steps.h"

/* Ops of nuvec-ops(5) and nuvec-spec(5) that have no row yet: known names, so no suggestion. */
static const char *const future_ops[] = {"matmul",
                                         "sort",
                                         "argsort",
                                         "partition",
                                         "argpartition",
                                         "topk",
                                         "layer_norm",
                                         "rms_norm",
                                         "conv1d",
                                         "conv2d",
                                         "conv3d",
                                         "conv_general",
                                         "attention",
                                         "scaled_dot_product_attention",
                                         "rope",
                                         "median",
                                         "outer",
                                         "inner",
                                         "tensordot",
                                         "einsum",
                                         "addmm",
                                         "random_categorical",
                                         "categorical",
                                         "isclose",
                                         "allclose",
                                         "array_equal",
                                         "searchsorted",
                                         "nonzero",
                                         "unique",
                                         "kron",
                                         "number_of_elements"};

bool nvt_is_future_op(const char *name) {
  for (size_t i = 0; i < sizeof future_ops / sizeof *future_ops; i++)
    if (!strcmp(future_ops[i], name)) return true;
  return false;
}

uint32_t nvt_future_ops(const char *const **names) {
  *names = future_ops;
  return sizeof future_ops / sizeof *future_ops;
}

nv_op nvt_op_of(nvt *t, nv_str name) {
  nvt_slot *s = nvt_slot_of(t, name);
  if (!s->looked_up) {
    s->op = (uint16_t)nv_op_find(nv_text(t->c, name));
    s->looked_up = true;
  }
  return (nv_op)s->op;
}

/* ---- nodes ---- */

void nvt_origin(nvt *t, nv_pos pos, bool root) {
  nvt_frame *f = nvt_top(t);
  const uint32_t ordinal = root ? 0 : ++f->ordinal;
  t->origin = nv_graph_origin(t->g, f->parent, f->fn->name, f->stmt, ordinal, pos);
}

bool nvt_check_shape(nvt *t, nv_shape s, nv_pos pos) {
  const uint32_t rank = nv_shape_rank(t->c, s);
  if (rank > NV_MAX_RANK) {
    nvt_error(t, pos, "rank %u is over the limit of %d", rank, NV_MAX_RANK);
    return false;
  }
  const nv_dim *dims = nv_shape_dims(t->c, s);
  int64_t n = 1;
  for (uint32_t i = 0; i < rank; i++) {
    int64_t d = 0;
    if (!nv_dim_is_const(t->c, dims[i], &d)) continue;
    if (d > NVT_MAX_ELEMENTS || !nv_mul64(n, d, &n) || n > NVT_MAX_ELEMENTS) {
      nvt_error(t, pos, "%s has more than 2^48 elements", nvt_show_shape(t, s));
      return false;
    }
  }
  return true;
}

nv_value nvt_emit(nvt *t, nv_op op, const nv_value *in, uint32_t n, nv_attr attr, nv_shape shape,
                  nv_pos pos) {
  nv_dtype dtype = NV_F32;
  const char *why = "";
  if (t->g->nnodes + t->skipped.nodes >= NVT_MAX_NODES) {
    nvt_over(t, pos, "more than %lld nodes", (long long)NVT_MAX_NODES);
    return NV_NONE;
  }
  if (!nv_infer(t->g, op, in, n, attr, &dtype, &shape, &why)) {
    nvt_error(t, pos, "%s: %s", nv_ops[op].name, why);
    return NV_NONE;
  }
  return nv_graph_add(t->g, op, in, n, attr, dtype, shape, t->origin);
}

static nv_value constant(nvt *t, nv_dtype d, uint64_t bits) {
  return nv_graph_const(t->g, d, bits, t->origin);
}

nvt_val nvt_constant(nvt *t, nv_dtype d, uint64_t bits, nv_pos pos, bool root) {
  nvt_origin(t, pos, root);
  return nvt_array(constant(t, d, bits));
}

nv_value nvt_weak_value(nvt *t, nvt_val v, nv_dtype d, nv_pos pos) {
  uint64_t bits;
  if (v.kind == NVT_SIZE) return nvt_size_value(t, v, d, pos);
  return nvt_weak_bits(t, v, d, pos, &bits) ? constant(t, d, bits) : NV_NONE;
}

nv_dtype nvt_alone_dtype(nvt *t, nvt_val v) {
  switch (v.kind) {
  case NVT_SIZE: return nvt_is_whole(t, v) ? NV_I32 : NV_F32;
  case NVT_FLOAT: return NV_F32;
  case NVT_COMPLEX: return NV_C64;
  case NVT_BOOL: return NV_BOOL;
  default: return nv_int_fits(NV_I32, v.u.i) ? NV_I32 : NV_I64;
  }
}

nvt_val nvt_alone(nvt *t, nvt_val v, nv_pos pos) {
  nvt_origin(t, pos, true);
  const nv_value made = nvt_weak_value(t, v, nvt_alone_dtype(t, v), pos);
  return made == NV_NONE ? nvt_poison() : nvt_array(made);
}

/* ---- dtypes ---- */

/* What operands [from, n) of a call promote to, weak ones taking the arrays' dtype where they can. */
static bool group_dtype(nvt *t, const nvt_opcall *call, uint32_t from, nv_dtype *out) {
  bool arrays = false, weak_float = false, weak_imag = false, weak_int = false;
  nv_dtype d = NV_BOOL, alone = NV_BOOL;
  for (uint32_t i = from; i < call->n; i++) {
    const nvt_arg *a = &call->in[i];
    if (!a->given) continue;
    if (a->v.kind == NVT_ARRAY) {
      const nv_dtype x = nv_dtype_of(t->g, a->v.u.v);
      d = arrays ? nv_promote(d, x) : x;
      arrays = true;
      continue;
    }
    alone = nv_promote(alone, nvt_alone_dtype(t, a->v));
    weak_float = weak_float || a->v.kind == NVT_FLOAT || (a->v.kind == NVT_SIZE && !nvt_is_whole(t, a->v));
    weak_imag = weak_imag || a->v.kind == NVT_COMPLEX;
    weak_int = weak_int || nvt_is_whole(t, a->v);
  }
  if (!arrays)
    d = alone;
  else if (weak_imag)
    d = NV_C64;
  else if (weak_float && !nv_is(d, NV_BITS_FLOAT | NV_BIT(NV_C64)))
    d = NV_F32;
  else if (weak_int && d == NV_BOOL)
    d = NV_I32;
  for (uint32_t i = from; arrays && i < call->n; i++) {
    const nvt_arg *a = &call->in[i];
    if (!a->given || a->v.kind != NVT_INT || !nv_is(d, NV_BITS_INT) || nv_int_fits(d, a->v.u.i)) continue;
    nvt_error(t, a->pos, "%lld is out of range for %s", (long long)a->v.u.i, nv_dtype_name[d]);
    return false;
  }
  *out = d;
  return true;
}

/* What is meant where a bitwise op or negative meets a dtype that it has no form for. */
static const char *other_form(nv_op op, nv_dtype d) {
  if (op == NV_OP_negative) return d == NV_BOOL ? "; 'not' inverts" : "";
  if (nv_is(d, NV_BITS_FLOAT) && op == NV_OP_bitwise_xor) return "; a power is written **";
  if (!nv_is(d, NV_BITS_FLOAT)) return "";
  return op == NV_OP_bitwise_and      ? "; write 'and'"
         : op == NV_OP_bitwise_or     ? "; write 'or'"
         : op == NV_OP_bitwise_invert ? "; write 'not'"
                                      : "";
}

/* The dtype that each operand must have: by the row's rule. */
static bool operand_dtypes(nvt *t, const nvt_opcall *call, nv_dtype *want) {
  const nv_op_info *row = &nv_ops[call->op];
  const uint32_t from = row->dtype == NV_DT_SELECT ? 1 : 0;
  nv_dtype d;
  if (!group_dtype(t, call, from, &d)) return false;
  switch (row->dtype) {
  case NV_DT_FLOAT:
  case NV_DT_PROMOTE_FLOAT:
  case NV_DT_MEAN: d = nv_at_least_float(d); break;
  case NV_DT_SUM: d = nv_sum_dtype(d); break;
  case NV_DT_LOGICAL: d = NV_BOOL; break;
  case NV_DT_CUMSUM: d = d == NV_BOOL ? NV_I32 : d; break;
  case NV_DT_REAL:
  case NV_DT_INT32:
  case NV_DT_UINT32: break;
  case NV_DT_SHIFT: d = d == NV_BOOL ? NV_U8 : d; break;
  case NV_DT_SAME:
  case NV_DT_PROMOTE:
  case NV_DT_COMPARE:
  case NV_DT_SELECT:
  case NV_DT_PICK:
  case NV_DT_ATTR: break;
  }
  if (!nv_is(d, row->domain)) {
    nvt_error(t, call->pos, "%s has no %s form%s", row->name, nv_dtype_name[d],
              nvt_top(t)->fn->builtin ? "" : other_form(call->op, d));
    return false;
  }
  for (uint32_t i = 0; i < call->n; i++) want[i] = i < from ? NV_BOOL : d;
  return true;
}

/* ---- shapes ---- */

/* Common shape of two; false: reported. */
static bool broadcast(nvt *t, nv_shape a, nv_shape b, nv_pos pos, nv_shape *out) {
  const uint32_t ra = nv_shape_rank(t->c, a), rb = nv_shape_rank(t->c, b), rank = ra > rb ? ra : rb;
  if (a == b || rb == 0) {
    *out = a;
    return true;
  }
  if (ra == 0) {
    *out = b;
    return true;
  }
  nv_dim dims[NV_MAX_RANK];
  for (uint32_t i = 0; i < rank; i++) {
    const nv_dim one = nv_dim_const(t->c, 1);
    const nv_dim x = i + ra < rank ? one : nv_shape_dims(t->c, a)[i + ra - rank];
    const nv_dim y = i + rb < rank ? one : nv_shape_dims(t->c, b)[i + rb - rank];
    int64_t v;
    if (!nvt_guard(t, NV_BROADCASTS, x, y, pos)) {
      nvt_error(t, pos, "shapes %s and %s don't broadcast", nvt_show_shape(t, a), nvt_show_shape(t, b));
      return false;
    }
    if (x != one && nv_dim_is_const(t->c, x, &v)) dims[i] = x; /* the other is this, or 1 */
    else if (y != one && nv_dim_is_const(t->c, y, &v)) dims[i] = y;
    else dims[i] = nv_dim_bcast(t->c, x, y);
  }
  *out = nv_shape_make(t->c, dims, rank);
  return *out == a || *out == b || nvt_check_shape(t, *out, pos);
}

/* Can from be repeated to the shape to? Where that depends on sizes, guards say that it can. false: reported. */
static bool repeats(nvt *t, const nvt_opcall *call, nv_shape from, nv_shape to) {
  const uint32_t rank = nv_shape_rank(t->c, from), result = nv_shape_rank(t->c, to);
  bool fits = rank <= result, both = true;
  for (uint32_t i = 1; i <= rank && i <= result && both; i++) {
    const nv_dim x = nv_shape_dims(t->c, from)[rank - i], y = nv_shape_dims(t->c, to)[result - i];
    both = !nv_dim_differ(t->c, x, y) || x == nv_dim_const(t->c, 1) || y == nv_dim_const(t->c, 1);
  }
  for (uint32_t i = 0; i < rank && fits; i++)
    fits = nvt_guard(t, NV_REPEATS, nv_shape_dims(t->c, from)[i], nv_shape_dims(t->c, to)[result - rank + i],
                     call->pos);
  if (!both)
    nvt_error(t, call->pos, "shapes %s and %s don't broadcast", nvt_show_shape(t, from), nvt_show_shape(t, to));
  else if (!fits)
    nvt_error(t, call->attr[0].pos, "broadcast_to: %s doesn't broadcast to %s", nvt_show_shape(t, from),
              nvt_show_shape(t, to));
  return both && fits;
}

/* ---- an op ---- */

/* The operand as a node of this dtype and shape; NV_NONE: reported. */
static nv_value operand(nvt *t, const nvt_arg *a, nv_dtype want, bool shaped, nv_shape shape, nv_pos pos) {
  nv_value v;
  if (a->v.kind == NVT_ARRAY)
    v = a->v.u.v;
  else
    v = nvt_weak_value(t, a->v, want, a->pos);
  if (v == NV_NONE) return v;
  if (nv_dtype_of(t->g, v) != want) {
    const int64_t d = want;
    v = nvt_emit(t, NV_OP_astype, &v, 1, nv_attr_make(t->c, &d, 1), nv_shape_at(t->g, v), pos);
  }
  if (v != NV_NONE && shaped && nv_shape_at(t->g, v) != shape)
    v = nvt_emit(t, NV_OP_broadcast_to, &v, 1, NV_NO_ATTR, shape, pos);
  return v;
}

/* Does operand k take a list of index arrays? */
static bool is_index_list(nv_op op, uint32_t k) {
  return k == 1 && (op == NV_OP_gather || (op >= NV_OP_scatter && op <= NV_OP_scatter_min));
}

static bool check_operands(nvt *t, nvt_opcall *call, bool *poison) {
  *poison = false;
  for (uint32_t i = 0; i < call->n; i++)
    *poison = *poison || (call->in[i].given && nvt_is_poison(call->in[i].v));
  for (uint32_t i = 0; i < NV_MAX_ATTRS; i++)
    *poison = *poison || (call->attr[i].given && nvt_is_poison(call->attr[i].v));
  if (*poison) return false;
  for (uint32_t i = 0; i < call->n; i++) {
    const nvt_arg *a = &call->in[i];
    if (!a->given || a->v.kind == NVT_ARRAY || nvt_is_number(a->v)) continue;
    if (call->op == NV_OP_concatenate || call->op == NV_OP_stack || is_index_list(call->op, i))
      continue;
    nvt_error(t, a->pos, "%s takes arrays, not %s", nv_ops[call->op].name, nvt_show(t, a->v));
    return false;
  }
  return true;
}

/* Is there nothing to reduce? Where that depends on a size, a guard says that there is something. */
static bool reduces_nothing(nvt *t, nv_shape in, nv_attr attr, nv_pos pos) {
  const int64_t *v = nv_attr_list(t->c, attr);
  for (uint32_t i = 1; i < nv_attr_count(t->c, attr); i++)
    if (!nvt_guard(t, NV_AT_MOST, nv_dim_const(t->c, 1), nv_shape_dims(t->c, in)[v[i]], pos)) return true;
  return false;
}

nvt_val nvt_apply_op(nvt *t, nvt_opcall *call) {
  const nv_op_info *row = &nv_ops[call->op];
  bool poison;
  if (!check_operands(t, call, &poison)) return nvt_poison();
  const nvt_val expanded = nvt_expand(t, call);
  if (expanded.kind != NVT_NONE) return expanded;
  if (row->cls == NV_EXPAND) nv_bug(t->c, "%s isn't expanded", row->name);
  nv_dtype want[NV_MAX_OPERANDS];
  if (!operand_dtypes(t, call, want)) return nvt_poison();
  if (row->cls == NV_SCAN) return nvt_scan(t, call, want[0]);

  /* shapes first, so that nothing is made for an op that fails */
  nv_shape shape = nv_shape_of_ints(t->c, NULL, 0);
  const bool elementwise = row->shape == NV_SH_ELEM;
  for (uint32_t i = 0; i < call->n; i++) {
    if (!call->in[i].given || call->in[i].v.kind != NVT_ARRAY) continue;
    const nv_shape s = nv_shape_at(t->g, call->in[i].v.u.v);
    if (!elementwise)
      shape = s;
    else if (!broadcast(t, shape, s, call->pos, &shape))
      return nvt_poison();
  }
  nvt_attrs attrs;
  if (!nvt_read_attrs(t, call, shape, &attrs)) return nvt_poison();
  if (row->shape == NV_SH_BROADCAST_TO && !repeats(t, call, shape, attrs.shape)) return nvt_poison();
  if (row->shape == NV_SH_REDUCE && row->nothing == NV_NOTHING_ERROR &&
      reduces_nothing(t, shape, attrs.attr, call->pos)) {
    nvt_error(t, call->pos, "%s of nothing: %s", row->name, nvt_show_shape(t, shape));
    return nvt_poison();
  }

  nvt_origin(t, call->pos, call->root);
  nv_value in[NV_MAX_OPERANDS];
  uint32_t n = 0;
  for (uint32_t i = 0; i < call->n; i++) {
    if (!call->in[i].given) continue;
    in[n] = operand(t, &call->in[i], want[i], elementwise, shape, call->pos);
    if (in[n++] == NV_NONE) return nvt_poison();
  }
  const nv_value v = nvt_emit(t, call->op, in, n, attrs.attr, attrs.shape, call->pos);
  if (v == NV_NONE) return nvt_poison();
  return nvt_array(v);
}

/* ---- operators ---- */

static const char *const operator_ops[] = {[NV_OPR_OR] = "logical_or",
                                           [NV_OPR_AND] = "logical_and",
                                           [NV_OPR_NOT] = "logical_not",
                                           [NV_OPR_EQ] = "equal",
                                           [NV_OPR_NE] = "not_equal",
                                           [NV_OPR_LT] = "less",
                                           [NV_OPR_LE] = "less_equal",
                                           [NV_OPR_GT] = "greater",
                                           [NV_OPR_GE] = "greater_equal",
                                           [NV_OPR_BOR] = "bitwise_or",
                                           [NV_OPR_BXOR] = "bitwise_xor",
                                           [NV_OPR_BAND] = "bitwise_and",
                                           [NV_OPR_SHL] = "left_shift",
                                           [NV_OPR_SHR] = "right_shift",
                                           [NV_OPR_ADD] = "add",
                                           [NV_OPR_SUB] = "subtract",
                                           [NV_OPR_MUL] = "multiply",
                                           [NV_OPR_DIV] = "divide",
                                           [NV_OPR_FLOORDIV] = "floor_divide",
                                           [NV_OPR_MOD] = "remainder",
                                           [NV_OPR_MATMUL] = "matmul",
                                           [NV_OPR_NEG] = "negative",
                                           [NV_OPR_POS] = NULL,
                                           [NV_OPR_INVERT] = "bitwise_invert",
                                           [NV_OPR_POW] = "power"};

/* matmul has no row yet; what is wrong with its operands is said all the same. */
static void refuse_matmul(nvt *t, nv_pos pos, const nvt_arg *a, const nvt_arg *b) {
  if (a->v.kind != NVT_ARRAY || b->v.kind != NVT_ARRAY) {
    nvt_error(t, pos, "matmul takes arrays, not %s and %s", nvt_show(t, a->v), nvt_show(t, b->v));
    return;
  }
  const nv_dtype d = nv_promote(nv_dtype_of(t->g, a->v.u.v), nv_dtype_of(t->g, b->v.u.v));
  const nv_shape x = nv_shape_at(t->g, a->v.u.v), y = nv_shape_at(t->g, b->v.u.v);
  const uint32_t rx = nv_shape_rank(t->c, x), ry = nv_shape_rank(t->c, y);
  if (nv_is(d, NV_BITS_INT | NV_BIT(NV_BOOL))) {
    nvt_error(t, pos, "matmul has no %s form", nv_dtype_name[d]);
  } else if (rx == 0 || ry == 0) {
    nvt_error(t, pos, "matmul takes arrays of rank 1 or more, not %s and %s", nvt_show(t, a->v),
              nvt_show(t, b->v));
  } else if (nv_shape_dims(t->c, x)[rx - 1] != nv_shape_dims(t->c, y)[ry == 1 ? 0 : ry - 2]) {
    nv_buf text;
    nv_buf_init(&text, t->c);
    nv_put_dim(&text, nv_shape_dims(t->c, x)[rx - 1]);
    nv_puts(&text, " and ");
    nv_put_dim(&text, nv_shape_dims(t->c, y)[ry == 1 ? 0 : ry - 2]);
    nvt_error(t, pos, "matmul: inner sizes %s differ in %s @ %s", nv_buf_text(&text), nvt_show_shape(t, x),
              nvt_show_shape(t, y));
  } else {
    nvt_refuse(t, pos, "matmul");
  }
}

void nvt_refuse_op(nvt *t, const char *name, nv_pos pos, const nvt_arg *in, uint32_t n) {
  for (uint32_t i = 0; i < n; i++)
    if (nvt_is_poison(in[i].v)) return;
  if (!strcmp(name, "matmul") && n == 2)
    refuse_matmul(t, pos, &in[0], &in[1]);
  else
    nvt_refuse(t, pos, "%s", name);
}

/* x ** literal for 2, 1, 0.5, -0.5, -1: square, x, sqrt, rsqrt, reciprocal, on what x and the literal promote to.
 * false: another exponent. */
static bool literal_power(nvt *t, nvt_opcall *call, nvt_val *out) {
  const nvt_arg e = call->in[1];
  const nv_ast_kind kind = e.ast == NV_NONE ? NV_AST_NAME : (nv_ast_kind)nvt_at(t, e.ast)->kind;
  if ((kind != NV_AST_INT && kind != NV_AST_FLOAT) || !nvt_is_number(e.v)) return false;
  const double x = e.v.kind == NVT_FLOAT ? e.v.u.f : (double)e.v.u.i;
  const nv_op op = x == 2      ? NV_OP_square
                   : x == 0.5  ? NV_OP_sqrt
                   : x == -0.5 ? NV_OP_rsqrt
                   : x == -1   ? NV_OP_reciprocal
                   : x == 1    ? NV_OP_astype
                               : NV_NOPS;
  nv_dtype d;
  if (op == NV_NOPS) return false;
  *out = nvt_poison();
  if (!group_dtype(t, call, 0, &d)) return true;
  nvt_opcall step = {.op = op, .pos = call->pos, .root = call->root, .n = 1};
  step.in[0] = call->in[0];
  if (nv_dtype_of(t->g, step.in[0].v.u.v) != d) {
    nvt_opcall cast = {.op = NV_OP_astype, .pos = call->pos, .root = call->root && x == 1, .n = 1};
    cast.in[0] = step.in[0];
    cast.attr[0] = (nvt_arg){nvt_dtype(d), NV_NONE, call->pos, true};
    step.in[0].v = nvt_apply_op(t, &cast);
  }
  *out = x == 1 ? step.in[0].v : nvt_apply_op(t, &step);
  return true;
}

nvt_val nvt_operator(nvt *t, nv_operator op, nv_ast ast, const nvt_val *args) {
  const nv_ast_node *n = nvt_at(t, ast);
  nvt_opcall call = {.pos = n->pos, .root = nvt_top(t)->root == ast};
  for (nv_ast a = n->first; a != NV_NONE; a = nvt_at(t, a)->next) {
    if (nvt_at(t, a)->kind == NV_AST_OPERATOR) continue;
    call.in[call.n] = (nvt_arg){args[call.n], a, nvt_at(t, a)->pos, true};
    if (nvt_is_poison(args[call.n++])) return nvt_poison();
  }
  for (uint32_t i = 0; i < call.n; i++)
    if (args[i].kind != NVT_ARRAY && !nvt_is_number(args[i])) {
      if (call.n == 2)
        nvt_error(t, n->pos, "'%s' has no form for %s and %s", nv_operator_text[op], nvt_show(t, args[0]),
                  nvt_show(t, args[1]));
      else
        nvt_error(t, n->pos, "'%s' has no form for %s", nv_operator_text[op], nvt_show(t, args[0]));
      return nvt_poison();
    }
  nvt_val v;
  if (op == NV_OPR_POS) return args[0];
  if (op == NV_OPR_POW && args[0].kind == NVT_ARRAY && literal_power(t, &call, &v)) return v;
  call.op = nv_op_find(operator_ops[op]);
  if (call.op != NV_NOPS) return nvt_apply_op(t, &call);
  nvt_refuse_op(t, operator_ops[op], n->pos, call.in, call.n);
  return nvt_poison();
}
