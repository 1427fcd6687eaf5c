/* trace_expr.c - tracing: expressions, in post-order on the value stack. */
#include "steps.h"

/* ---- strong constants ---- */

static bool is_number_literal(const nvt *t, nv_ast a) {
  return a != NV_NONE && (nvt_at(t, a)->kind == NV_AST_INT || nvt_at(t, a)->kind == NV_AST_FLOAT);
}

/* dtype(value) */
static nvt_val cast(nvt *t, nv_ast a, nv_ast literal, nvt_val v) {
  const nv_ast_node *n = nvt_at(t, a);
  const nv_dtype d = (nv_dtype)n->op;
  uint64_t bits;
  if (nvt_is_poison(v)) return v;
  if (n->count != 1 || nvt_at(t, n->first)->kind == NV_AST_KEYWORD) {
    nvt_error(t, n->pos, "%s(...) takes one number", nv_dtype_name[d]);
    return nvt_poison();
  }
  if (v.kind == NVT_ARRAY) {
    nvt_error(t, n->pos, "%s(...) makes a constant; an array is converted by astype(x, %s)", nv_dtype_name[d],
              nv_dtype_name[d]);
    return nvt_poison();
  }
  if (v.kind == NVT_SIZE) {
    nvt_origin(t, n->pos, nvt_top(t)->root == a);
    const nv_value made = nvt_size_value(t, v, d, n->pos);
    return made == NV_NONE ? nvt_poison() : nvt_array(made);
  }
  const nv_ast_node *l = literal == NV_NONE ? NULL : nvt_at(t, literal);
  if (!nvt_strong_bits(t, d, l ? (nv_ast_kind)l->kind : NV_AST_NONE, l ? nv_text(t->c, l->text) : "", v,
                       nvt_at(t, n->first)->pos, &bits))
    return nvt_poison();
  return nvt_constant(t, d, bits, n->pos, nvt_top(t)->root == a);
}

/* {const: value, dtype: d} of the plain form */
static nvt_val plain_constant(nvt *t, nv_ast a, nv_str name) {
  const nv_ast_node *n = nvt_at(t, a);
  const nv_dtype d = (nv_dtype)n->op;
  const nv_ast child = n->first;
  if (child == NV_NONE) return nvt_poison();
  const nv_ast_node *v = nvt_at(t, child);
  if (v->kind == NV_AST_LIST) return nvt_list_constant(t, a, name);
  uint64_t bits;
  nv_ast_kind kind = is_number_literal(t, child) ? (nv_ast_kind)v->kind : NV_AST_NONE;
  const char *text = v->text == NV_NONE ? "" : nv_text(t->c, v->text);
  const nvt_val other = kind == NV_AST_NONE ? nvt_literal(t, child) : nvt_none();
  if (!nvt_strong_bits(t, d, kind, text, other, v->pos, &bits)) return nvt_poison();
  return nvt_constant(t, d, bits, n->pos, nvt_top(t)->root == a);
}

static nvt_val document_constant(nvt *t, const nv_constant *k, nv_pos pos, bool root) {
  if (k->value == NV_NONE) return nvt_file_constant(t, k, pos, root);
  nvt_frame *f = nvt_top(t);
  const nv_ast was = f->root;
  if (root) f->root = k->value;
  const nvt_val v = plain_constant(t, k->value, k->name);
  f->root = was;
  return v;
}

/* ---- names ---- */

/* Is name a target further down in the running function? */
static bool bound_later(const nvt *t, nv_str name) {
  const nv_stmt_block *b = &t->frames[t->nframes - 1].fn->body;
  for (uint32_t i = 0; i < b->n; i++) {
    nv_ast a = b->stmts[i].kind == NV_STMT_ASSIGN ? b->stmts[i].first_target : NV_NONE;
    for (; a != NV_NONE; a = nvt_at(t, a)->next)
      if (nvt_at(t, a)->kind == NV_AST_NAME && nvt_at(t, a)->text == name) return true;
  }
  return false;
}

static nvt_val name(nvt *t, nv_ast a) {
  const nv_ast_node *n = nvt_at(t, a);
  const nvt_binding *b = nvt_find(t, n->text);
  if (b) return b->value;
  const nvt_slot *s = nvt_slot_of(t, n->text);
  if (s->constant != NV_NONE && !nvt_top(t)->fn->builtin)
    return document_constant(t, &t->s->constants[s->constant], n->pos, nvt_top(t)->root == a);
  const char *text = nv_text(t->c, n->text), *meant = nvt_meant_name(t, text);
  if (t->c->errors < NV_MAX_ERRORS && bound_later(t, n->text))
    nvt_error(t, n->pos, "'%s' is used before it is bound", text);
  else if (s->user != NV_NONE || s->builtin != NV_NONE || nvt_op_of(t, n->text) != NV_NOPS ||
           nvt_is_static_function(text))
    nvt_error(t, n->pos, "'%s' is a function: call it", text);
  else
    nvt_error(t, n->pos, "unknown name '%s'%s", text,
              *meant ? meant : nvt_suggest(t, n->text, true, nv_dtype_name, NV_NDTYPES));
  return nvt_poison();
}

/* ---- walking ---- */

void nvt_eval(nvt *t, nv_ast a) {
  if (a == NV_NONE) {
    nvt_push(t, nvt_poison());
    return;
  }
  const nv_ast_node *n = nvt_at(t, a);
  switch ((nv_ast_kind)n->kind) {
  case NV_AST_INT:
  case NV_AST_FLOAT:
  case NV_AST_IMAG:
  case NV_AST_STRING:
  case NV_AST_BOOL:
  case NV_AST_NONE:
  case NV_AST_DTYPE:
  case NV_AST_ELLIPSIS: nvt_push(t, nvt_literal(t, a)); return;
  case NV_AST_NAME: nvt_push(t, name(t, a)); return;
  case NV_AST_CONST: nvt_push(t, plain_constant(t, a, 0)); return;
  case NV_AST_ERROR: nvt_push(t, nvt_poison()); return;
  case NV_AST_CAST:
    if (n->count == 1 && is_number_literal(t, n->first)) {
      nvt_push(t, cast(t, a, n->first, nvt_none()));
      return;
    }
    break;
  case NV_AST_BINARY:
    if (n->op != NV_OPR_AND && n->op != NV_OPR_OR) break;
    nvt_do_work(t, NVT_SHORT, a, 0, NULL);
    nvt_do_work(t, NVT_EVAL, n->first, 0, NULL);
    return;
  default: break;
  }
  nvt_do_work(t, NVT_APPLY, a, 0, NULL);
  const uint32_t from = t->nwork;
  for (nv_ast child = n->first; child != NV_NONE; child = nvt_at(t, child)->next) {
    const nv_ast_node *c = nvt_at(t, child);
    if (c->kind == NV_AST_OPERATOR) continue;
    nvt_do_work(t, NVT_EVAL, c->kind == NV_AST_KEYWORD ? c->first : child, 0, NULL);
  }
  nvt_reverse_work(t, from);
}

nvt_val nvt_eval_now(nvt *t, nv_ast a) {
  const uint32_t mark = t->nwork;
  nvt_do_work(t, NVT_EVAL, a, 0, NULL);
  nvt_run(t, mark);
  return nvt_pop(t);
}

/* The first operand of and, or is known. A static one decides, or leaves the other; an array goes on to the op. */
void nvt_short(nvt *t, nv_ast a) {
  const nv_ast_node *n = nvt_at(t, a);
  const nvt_val v = t->vals[t->nvals - 1];
  if (!nvt_known(t, v, nvt_at(t, n->first)->pos)) t->vals[t->nvals - 1] = nvt_poison();
  else if (v.kind != NVT_ARRAY && v.kind != NVT_POISON && nvt_truth(v) == (n->op == NV_OPR_OR)) return;
  nvt_do_work(t, NVT_APPLY, a, 0, NULL);
  nvt_do_work(t, NVT_EVAL, nvt_at(t, n->first)->next, 0, NULL);
}

/* ---- fields and indices ---- */

static nvt_val shape_list(nvt *t, nv_shape s) {
  nvt_val at[NV_MAX_RANK];
  const uint32_t rank = nv_shape_rank(t->c, s);
  if (t->asked.list.kind == NVT_LIST && t->asked.shape == s) return t->asked.list; /* a loop asks again and again */
  for (uint32_t i = 0; i < rank; i++) at[i] = nvt_size(t, nv_shape_dims(t->c, s)[i]);
  t->asked.shape = s;
  return t->asked.list = nvt_seq_make(t, NVT_LIST, at, NULL, rank);
}

static const char *fields_text(nvt *t, const nvt_seq *s) {
  nv_buf b;
  nv_buf_init(&b, t->c);
  for (uint32_t i = 0; i < s->n && i < 12; i++)
    nv_printf(&b, "%s'%s'", i ? ", " : "", nv_text(t->c, s->names[i]));
  if (s->n > 12) nv_puts(&b, ", ...");
  return nv_buf_text(&b);
}

static const char *near_field(nvt *t, nv_str field, const nvt_seq *s) {
  if (t->c->errors >= NV_MAX_ERRORS) return "";
  const char **known = NV_NEW_N(t->c, const char *, (size_t)s->n + 1);
  for (uint32_t i = 0; i < s->n; i++) known[i] = nv_text(t->c, s->names[i]);
  return nvt_suggest(t, field, false, known, s->n);
}

nvt_val nvt_get_field(nvt *t, nvt_val base, const nv_ast_node *n) {
  const char *field = nv_text(t->c, n->text);
  if (nvt_is_poison(base) && base.kind != NVT_TREE) return nvt_poison();
  if (base.kind == NVT_ARRAY) {
    const nv_shape s = nv_shape_at(t->g, base.u.v);
    if (!strcmp(field, "shape")) return shape_list(t, s);
    if (!strcmp(field, "size")) return nvt_size(t, nv_shape_elements(t->c, s));
    if (!strcmp(field, "ndim")) return nvt_int(nv_shape_rank(t->c, s));
    if (!strcmp(field, "dtype")) return nvt_dtype(nv_dtype_of(t->g, base.u.v));
    nvt_error(t, n->pos, "%s has no field '%s'%s", nvt_show(t, base), field, nvt_meant_field(t, n->text));
    return nvt_poison();
  }
  if (base.kind != NVT_TREE) {
    nvt_error(t, n->pos, "%s has no field '%s'", nvt_show(t, base), field);
    return nvt_poison();
  }
  const uint32_t i = nvt_field(t, base.u.seq, n->text);
  if (i != NV_NONE) return base.u.seq->at[i];
  const nv_ast_node *b = n->first == NV_NONE ? NULL : nvt_at(t, n->first);
  nvt_error(t, n->pos, "%s has no field '%s', only %s%s",
            b && (b->kind == NV_AST_NAME || b->kind == NV_AST_FIELD) ? nv_format(t->c, "'%s'", nv_text(t->c, b->text))
                                                                     : "the tree",
            field, fields_text(t, base.u.seq), near_field(t, n->text, base.u.seq));
  return nvt_poison();
}

nvt_val nvt_index_list(nvt *t, nvt_val base, nvt_val index, nv_pos pos) {
  const nvt_seq *s = base.u.seq;
  if (index.kind == NVT_INT) {
    const int64_t i = index.u.i < 0 ? index.u.i + s->n : index.u.i;
    if (i >= 0 && i < s->n) return s->at[i];
    nvt_error(t, pos, "index %lld is out of range for a list of %u", (long long)index.u.i, s->n);
  } else if (index.kind == NVT_ARRAY) {
    nvt_error(t, pos, "a list is indexed by static ints, not %s", nvt_show(t, index));
  } else if (!nvt_is_poison(index)) {
    nvt_error(t, pos, "a list is indexed by an int, not %s", nvt_show(t, index));
  }
  return nvt_poison();
}

/* Is v, a slice, of ints and None, its step not 0? index: the NV_AST_SLICE. */
static bool check_slice(nvt *t, nvt_val v, nv_ast index) {
  const nvt_val *p = v.u.seq->at;
  nv_ast part = nvt_at(t, index)->first;
  for (uint32_t i = 0; i < 3; i++, part = part == NV_NONE ? part : nvt_at(t, part)->next) {
    const nv_pos pos = nvt_at(t, part == NV_NONE ? index : part)->pos;
    if (p[i].kind != NVT_INT && p[i].kind != NVT_NONE) {
      nvt_error(t, pos, "a slice takes static ints, not %s", nvt_show(t, p[i]));
      return false;
    }
    if (i == 2 && p[i].kind == NVT_INT && p[i].u.i == 0) {
      nvt_error(t, pos, "step 0 of a slice");
      return false;
    }
  }
  return true;
}

static nvt_val slice_list(nvt *t, nvt_val base, nvt_val v, nv_ast index) {
  int64_t first, step, count;
  if (!check_slice(t, v, index)) return nvt_poison();
  nvt_slice_bounds(v.u.seq->at, base.u.seq->n, &first, &step, &count);
  nvt_val *at = NV_NEW_N(t->c, nvt_val, (size_t)count + 1);
  for (int64_t i = 0; i < count; i++) at[i] = base.u.seq->at[first + i * step];
  return nvt_seq_make(t, NVT_LIST, at, NULL, (uint32_t)count);
}

typedef struct cut { /* what indices make of an array: slice, then squeeze, then expand_dims */
  int64_t list[2 * NV_MAX_RANK]; /* firsts and steps */
  nv_dim count[NV_MAX_RANK];
  int64_t dropped[NV_MAX_RANK], added[NV_MAX_RANK];  /* axes, of the operand and of the result */
  uint32_t ndropped, nadded;
  bool whole; /* every element stays in its place */
} cut;

static bool emit_step(nvt *t, nv_op op, nv_value *v, const int64_t *list, uint32_t n, nv_shape shape, nv_pos pos) {
  *v = nvt_emit(t, op, v, 1, nv_attr_make(t->c, list, n), shape, pos);
  return *v != NV_NONE;
}

static nvt_val emit_cut(nvt *t, nv_ast a, nvt_val base, const cut *k) {
  const nv_pos pos = nvt_at(t, a)->pos;
  const uint32_t rank = nv_shape_rank(t->c, nv_shape_at(t->g, base.u.v));
  nv_value v = base.u.v;
  if (k->whole && !k->ndropped && !k->nadded) return base;
  nvt_origin(t, pos, nvt_top(t)->root == a);
  if ((!k->whole && !emit_step(t, NV_OP_slice, &v, k->list, 2 * rank, nv_shape_make(t->c, k->count, rank), pos)) ||
      (k->ndropped && !emit_step(t, NV_OP_squeeze, &v, k->dropped, k->ndropped, 0, pos)) ||
      (k->nadded && !emit_step(t, NV_OP_expand_dims, &v, k->added, k->nadded, 0, pos)))
    return nvt_poison();
  return nvt_array(v);
}

static bool add_slice(nvt *t, cut *k, nv_shape s, uint32_t axis, const nvt_val *parts, nv_pos pos) {
  const uint32_t rank = nv_shape_rank(t->c, s);
  const nv_dim size = nv_shape_dims(t->c, s)[axis];
  if (!nvt_slice_axis(t, parts, size, pos, &k->list[axis], &k->list[rank + axis], &k->count[axis])) return false;
  k->whole = k->whole && k->list[axis] == 0 && k->list[rank + axis] == 1 && k->count[axis] == size;
  return true;
}

/* One element of an axis. */
static bool add_element(nvt *t, cut *k, nvt_val base, uint32_t axis, int64_t i, nv_pos pos) {
  const nv_shape s = nv_shape_at(t->g, base.u.v);
  const nv_dim dim = nv_shape_dims(t->c, s)[axis];
  int64_t size;
  const bool fixed = nv_dim_is_const(t->c, dim, &size);
  if (fixed && i < 0) i += size;
  if (!fixed && i < 0) {
    nvt_refuse(t, pos, "an index from the end of an axis of run-time size (a signature fixes it)");
    return false;
  }
  if (i < 0 || i == INT64_MAX || !nvt_guard(t, NV_AT_MOST, nv_dim_const(t->c, i + 1), dim, pos)) {
    nvt_error(t, pos, "index %lld is out of range for axis %u of %s", (long long)(fixed && i < 0 ? i - size : i), axis,
              nvt_show(t, base));
    return false;
  }
  k->dropped[k->ndropped++] = axis;
  k->list[axis] = i;
  k->list[nv_shape_rank(t->c, s) + axis] = 1;
  k->count[axis] = nv_dim_const(t->c, 1);
  k->whole = k->whole && k->count[axis] == dim;
  return true;
}

/* An array of integers as an index. */
static nvt_val take(nvt *t, nv_ast a, nvt_val base, nvt_val v, uint32_t n, nv_pos pos) {
  nvt_opcall call = {.op = NV_OP_take, .pos = nvt_at(t, a)->pos, .root = nvt_top(t)->root == a, .n = 2};
  nvt_val r;
  call.in[0] = (nvt_arg){base, NV_NONE, call.pos, true};
  call.in[1] = (nvt_arg){v, NV_NONE, pos, true};
  if (!nv_is(nv_dtype_of(t->g, v.u.v), NV_BITS_INT))
    nvt_error(t, pos, "an index array has an integer dtype, not %s", nvt_show(t, v));
  else if (n > 1)
    nvt_error(t, pos, "an index array stands alone; use take for one axis");
  else
    return nvt_open_steps(t, &call, &r) ? r : nvt_taken(t, &call, base.u.v, v, pos, false, 0);
  return nvt_poison();
}

static nvt_val index_array(nvt *t, nv_ast a, nvt_val base, const nvt_val *index, uint32_t n) {
  const nv_shape s = nv_shape_at(t->g, base.u.v);
  const uint32_t rank = nv_shape_rank(t->c, s);
  const nv_pos whole = nvt_at(t, a)->pos;
  uint32_t used = 0, ellipses = 0, added = 0;
  for (uint32_t i = 0; i < n; i++) {
    ellipses += index[i].kind == NVT_ELLIPSIS;
    added += index[i].kind == NVT_NONE;
  }
  used = n - ellipses - added;
  if (ellipses > 1) {
    nvt_error(t, whole, "more than one ... in an index");
    return nvt_poison();
  }
  if (used > rank) {
    nvt_error(t, whole, "too many indices: %u for %s", used, nvt_show(t, base));
    return nvt_poison();
  }
  const nvt_val all[3] = {nvt_none(), nvt_none(), nvt_none()};
  cut k = {.whole = true};
  uint32_t axis = 0, out = 0; /* of the operand, of the result */
  nv_ast at = nvt_at(t, nvt_at(t, a)->first)->next;
  for (uint32_t i = 0; i < n; i++, at = nvt_at(t, at)->next) {
    const nvt_val v = index[i];
    const nv_pos pos = nvt_at(t, at)->pos;
    if (v.kind == NVT_ELLIPSIS) {
      for (uint32_t rest = rank - used; rest; rest--, axis++, out++)
        add_slice(t, &k, s, axis, all, pos);
      continue;
    }
    if (v.kind == NVT_NONE) {
      if (k.nadded == NV_MAX_RANK) break;
      k.added[k.nadded++] = out++;
      continue;
    }
    if (v.kind == NVT_ARRAY) {
      return take(t, a, base, v, n, pos);
    }
    if (v.kind == NVT_SLICE) {
      if (!check_slice(t, v, at) || !add_slice(t, &k, s, axis++, v.u.seq->at, pos)) return nvt_poison();
      out++;
    } else if (v.kind == NVT_INT) {
      if (!add_element(t, &k, base, axis++, v.u.i, pos)) return nvt_poison();
    } else {
      nvt_error(t, pos, "an array is indexed by ints, slices, None or ..., not %s", nvt_show(t, v));
      return nvt_poison();
    }
  }
  for (; axis < rank; axis++) add_slice(t, &k, s, axis, all, whole);
  if (rank - k.ndropped + added > NV_MAX_RANK) {
    nvt_error(t, whole, "rank %u is over the limit of %d", rank - k.ndropped + added, NV_MAX_RANK);
    return nvt_poison();
  }
  return emit_cut(t, a, base, &k);
}

static nvt_val index_of(nvt *t, nv_ast a, const nvt_val *v, uint32_t n) {
  const nvt_val base = v[0];
  const nv_ast first = nvt_at(t, nvt_at(t, a)->first)->next;
  if (base.kind == NVT_POISON) return base;
  for (uint32_t i = 1; i < n; i++)
    if (nvt_is_poison(v[i])) return nvt_poison();
  if (base.kind == NVT_ARRAY) return index_array(t, a, base, v + 1, n - 1);
  if (base.kind != NVT_LIST) {
    nvt_error(t, nvt_at(t, a)->pos, "%s can't be indexed%s", nvt_show(t, base),
              base.kind == NVT_TREE ? nv_format(t->c, "; it has %s", fields_text(t, base.u.seq)) : "");
    return nvt_poison();
  }
  if (n != 2) {
    nvt_error(t, nvt_at(t, a)->pos, "a list takes one index, not %u", n - 1);
    return nvt_poison();
  }
  if (v[1].kind == NVT_SLICE) return slice_list(t, base, v[1], first);
  return nvt_index_list(t, base, v[1], nvt_at(t, first)->pos);
}

/* ---- comparisons ---- */

static nvt_val compare(nvt *t, nv_ast a, const nvt_val *v, uint32_t n) {
  nv_ast op = nvt_at(t, nvt_at(t, a)->first)->next;
  for (uint32_t i = 0; i < n; i++)
    if (nvt_is_poison(v[i])) return nvt_poison();
  if (n == 2 && (v[0].kind == NVT_ARRAY || v[1].kind == NVT_ARRAY))
    return nvt_operator(t, (nv_operator)nvt_at(t, op)->op, a, v);
  bool all = true;
  for (uint32_t i = 0; i + 1 < n; i++) {
    const nv_ast_node *o = nvt_at(t, op);
    if (n > 2 && (v[i].kind == NVT_ARRAY || v[i + 1].kind == NVT_ARRAY)) {
      const nv_ast second = nvt_at(t, nvt_at(t, nvt_at(t, nvt_at(t, a)->first)->next)->next)->next;
      nvt_error(t, nvt_at(t, second)->pos,
                "a chain of comparisons is for static values; join two comparisons with 'and'");
      return nvt_poison();
    }
    const nvt_val r = nvt_static_compare(t, (nv_operator)o->op, v[i], v[i + 1], o->pos);
    if (r.kind == NVT_POISON) return r;
    all = all && r.u.b;
    if (i + 2 < n) op = nvt_at(t, o->next)->next;
  }
  return nvt_bool(all);
}

static nvt_val binary(nvt *t, nv_ast a, const nvt_val *v) {
  const nv_ast_node *n = nvt_at(t, a);
  const nv_operator op = (nv_operator)n->op;
  if (v[0].kind == NVT_ARRAY || v[1].kind == NVT_ARRAY) return nvt_operator(t, op, a, v);
  if (op == NV_OPR_AND || op == NV_OPR_OR) return v[1]; /* the first didn't decide */
  if (op >= NV_OPR_EQ && op <= NV_OPR_GE) return nvt_static_compare(t, op, v[0], v[1], n->pos);
  return nvt_static_binary(t, op, v[0], v[1], n->pos);
}

/* ---- calls ---- */

static bool all_static(const nvt_val *v, uint32_t n) {
  for (uint32_t i = 0; i < n; i++)
    if (!nvt_is_static(v[i])) return false;
  return true;
}

static nvt_val call_op(nvt *t, nv_ast a, nv_op op, const nvt_val *v) {
  nvt_opcall call = {.op = op, .pos = nvt_at(t, a)->pos, .root = nvt_top(t)->root == a};
  return nvt_sort_args(t, a, v, &call) ? nvt_apply_op(t, &call) : nvt_poison();
}

static void unknown_function(nvt *t, const nv_ast_node *n) {
  uint32_t k = 0;
  const bool user = !(n->flags & NV_CALL_OP), builtin = !(n->flags & NV_CALL_FUNCTION);
  const char *const *future;
  const uint32_t nfuture = nvt_future_ops(&future);
  const bool enough = t->c->errors >= NV_MAX_ERRORS;
  const char **known = NV_NEW_N(t->c, const char *, enough ? 1 : (size_t)t->s->nfunctions + NV_NOPS + nfuture);
  const char *text = nv_text(t->c, n->text), *meant = builtin ? nvt_meant_function(text) : NULL;
  if (!enough) {
    for (uint32_t i = 0; i < t->s->nfunctions; i++)
      if (t->s->functions[i].builtin ? builtin : user) known[k++] = nv_text(t->c, t->s->functions[i].name);
    for (int op = NV_OP_DATA + 1; builtin && op < NV_NOPS; op++)
      if (!(nv_ops[op].flags & NV_INNER)) known[k++] = nv_ops[op].name;
    for (uint32_t i = 0; builtin && i < nfuture; i++) known[k++] = future[i];
  }
  nvt_error(t, n->pos, "unknown %s '%s'%s", builtin ? user ? "function" : "op" : "function of the document", text,
            meant ? nv_format(t->c, "; did you mean '%s'?", meant) : nvt_suggest(t, n->text, false, known, k));
}

/* An op without a row: refused with what is known about its operands. */
static void refuse_call(nvt *t, const nv_ast_node *n, const nvt_val *v) {
  nvt_arg in[2];
  const uint32_t k = n->count < 2 ? n->count : 2;
  nv_ast at = n->first;
  for (uint32_t i = 0; i < k; i++, at = nvt_at(t, at)->next)
    in[i] = (nvt_arg){v[i], at, nvt_at(t, at)->pos, true};
  nvt_refuse_op(t, nv_text(t->c, n->text), n->pos, in, k);
}

/* The arguments' values are the topmost n; leaves the result in their place, at once or when the callee returns. */
static void call(nvt *t, nv_ast a, const nvt_val *v, uint32_t n) {
  const nv_ast_node *node = nvt_at(t, a);
  const nvt_slot *s = nvt_slot_of(t, node->text);
  const nv_function *here = nvt_top(t)->fn;
  const char *text = nv_text(t->c, node->text);
  const bool functions = !(node->flags & NV_CALL_OP), builtins = !(node->flags & NV_CALL_FUNCTION);
  const nv_op op = builtins ? nvt_op_of(t, node->text) : NV_NOPS;
  const uint32_t builtin = s->builtin;
  const bool known = builtins && (op != NV_NOPS || builtin != NV_NONE || nvt_is_static_function(text));
  nvt_val r = nvt_poison();
  if (functions && s->user != NV_NONE && !here->builtin && !(here == &t->s->functions[s->user] && known)) {
    nvt_call(t, a, s->user, v);
    return;
  }
  if (builtins && nvt_is_static_function(text) && (all_static(v, n) || op == NV_NOPS))
    r = nvt_static_call(t, a, v);
  else if (builtins && builtin != NV_NONE) {
    nvt_call(t, a, builtin, v);
    return;
  } else if (op != NV_NOPS)
    r = call_op(t, a, op, v);
  else if (builtins && nvt_is_future_op(text))
    refuse_call(t, node, v);
  else
    unknown_function(t, node);
  t->nvals -= n;
  nvt_push(t, r);
}

/* ---- one node ---- */

void nvt_apply(nvt *t, nv_ast a) {
  const nv_ast_node *n = nvt_at(t, a);
  const uint32_t k = n->kind == NV_AST_COMPARE ? (n->count + 1) / 2 : n->count;
  const nvt_val *v = t->vals + (t->nvals - k);
  nvt_val r = nvt_poison();
  if (!(n->pos.node & NV_BUILTIN)) t->c->where = n->pos;
  switch ((nv_ast_kind)n->kind) {
  case NV_AST_CALL: call(t, a, v, k); return;
  case NV_AST_CAST: r = cast(t, a, NV_NONE, k ? v[0] : nvt_none()); break;
  case NV_AST_UNARY:
    r = v[0].kind == NVT_ARRAY ? nvt_operator(t, (nv_operator)n->op, a, v)
                               : nvt_static_unary(t, (nv_operator)n->op, v[0], n->pos);
    break;
  case NV_AST_BINARY: r = binary(t, a, v); break;
  case NV_AST_COMPARE: r = compare(t, a, v, k); break;
  case NV_AST_FIELD: r = nvt_get_field(t, v[0], n); break;
  case NV_AST_INDEX: r = index_of(t, a, v, k); break;
  case NV_AST_SLICE: r = nvt_seq_make(t, NVT_SLICE, v, NULL, k); break;
  case NV_AST_LIST: r = nvt_seq_make(t, NVT_LIST, v, NULL, k); break;
  case NV_AST_TREE: {
    nv_str *names = NV_NEW_N(t->c, nv_str, (size_t)k + 1);
    uint32_t i = 0;
    for (nv_ast f = n->first; f != NV_NONE; f = nvt_at(t, f)->next) names[i++] = nvt_at(t, f)->text;
    r = nvt_seq_make(t, NVT_TREE, v, names, k);
    break;
  }
  default: nv_bug(t->c, "expression of kind %d", n->kind);
  }
  t->nvals -= k;
  nvt_push(t, r);
}
