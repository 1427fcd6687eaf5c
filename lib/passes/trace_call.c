/* trace_call.c - tracing: calls of functions. Arguments are matched with the declared types (sizes and dtype variables
 * bound and compared), a frame is pushed. */
#include "trace.h"

/* At a place in the caller, while the callee's frame is open already. */
#define CALLER_ERROR(t, pos, ...) ((t)->nframes--, nvt_error((t), (pos), __VA_ARGS__), (t)->nframes++)

typedef struct wanted { /* a size that is no bare name: compared when all names are bound */
  nv_ast expr;
  nv_dim actual;
  nv_str param;
  nv_pos pos;
} wanted;

typedef struct matcher {
  nvt *t;
  const nv_function *fn;
  nv_str param; /* being matched */
  nv_pos pos;   /* of its argument */
  wanted *sizes;
  uint32_t nsizes, cap;
} matcher;

static const char *called(const matcher *m) {
  return nv_format(m->t->c, "'%s': input '%s'", nv_text(m->t->c, m->fn->name), nv_text(m->t->c, m->param));
}

static const nv_dtype_decl *declared_dtype(const nv_function *fn, nv_str name) {
  for (uint32_t i = 0; i < fn->ndtypes; i++)
    if (fn->dtypes[i].name == name) return &fn->dtypes[i];
  return NULL;
}

static bool match_variable(matcher *m, const nv_type_node *n, nv_dtype got) {
  nvt *t = m->t;
  nvt_binding *b = nvt_find(t, n->variable);
  if (b && b->value.kind == NVT_DTYPE) {
    if (b->value.u.d == got) return true;
    CALLER_ERROR(t, m->pos, "%s is %s, but '%s' is %s in '%s'", called(m), nv_dtype_name[got],
                 nv_text(t->c, n->variable), nv_dtype_name[b->value.u.d],
                 nv_text(t->c, b->by));
    return false;
  }
  const nv_dtype_decl *d = declared_dtype(m->fn, n->variable);
  if (!d) nv_bug(t->c, "unknown dtype variable '%s'", nv_text(t->c, n->variable));
  if (!nv_is(got, d->allowed)) {
    CALLER_ERROR(t, m->pos, "%s: '%s' doesn't allow %s", called(m), nv_text(t->c, n->variable),
                 nv_dtype_name[got]);
    return false;
  }
  nvt_bind(t, n->variable, nvt_dtype(got), n->pos)->by = m->param;
  return true;
}

static bool match_dtype(matcher *m, const nv_type_node *n, nv_dtype got) {
  if (n->variable != NV_NONE) return match_variable(m, n, got);
  if (n->dtype >= 0 ? (nv_dtype)n->dtype == got : nv_is(got, nvt_class_bits(n->cls))) return true;
  if (n->dtype >= 0)
    CALLER_ERROR(m->t, m->pos, "%s is %s, got %s; astype converts", called(m), nv_dtype_name[n->dtype],
                 nv_dtype_name[got]);
  else
    CALLER_ERROR(m->t, m->pos, "%s is of class %s, got %s", called(m), nvt_class_name(n->cls),
                 nv_dtype_name[got]);
  return false;
}

/* Are two sizes equal? Where it depends, a guard of the call says that they are. */
static bool same_dim(matcher *m, nv_dim a, nv_dim b) {
  m->t->nframes--;
  const bool same = nvt_guard(m->t, NV_EQUAL, a, b, m->pos);
  m->t->nframes++;
  return same;
}

static bool match_dim(matcher *m, const nv_type_dim *d, nv_dim actual) {
  nvt *t = m->t;
  if (d->kind == NV_DIM_OPEN) return true;
  if (d->expr == NV_NONE) return false;
  const nv_ast_node *e = nvt_at(t, d->expr);
  if (e->kind != NV_AST_NAME) {
    NV_GROW(t->c, m->sizes, m->cap, (size_t)m->nsizes + 1);
    m->sizes[m->nsizes++] = (wanted){d->expr, actual, m->param, m->pos};
    return true;
  }
  const nvt_binding *b = nvt_find(t, e->text);
  if (!b) {
    nvt_bind(t, e->text, nvt_size(t, actual), e->pos)->by = m->param;
    return true;
  }
  const char *name = nv_text(t->c, e->text);
  nv_dim bound;
  if (!nvt_dim_of(t, b->value, &bound))
    CALLER_ERROR(t, m->pos, "%s: '%s' isn't a size", called(m), name);
  else if (same_dim(m, bound, actual))
    return true;
  else if (b->by != NV_NONE)
    CALLER_ERROR(t, m->pos, "'%s': size '%s' is %s in '%s', but %s in '%s'", nv_text(t->c, m->fn->name), name,
                 nvt_show_dim(t, bound), nv_text(t->c, b->by), nvt_show_dim(t, actual), nv_text(t->c, m->param));
  else
    CALLER_ERROR(t, m->pos, "'%s': size '%s' is %s, but %s in '%s'", nv_text(t->c, m->fn->name), name,
                 nvt_show_dim(t, bound), nvt_show_dim(t, actual), nv_text(t->c, m->param));
  return false;
}

static bool match_array(matcher *m, const nv_type_node *n, nv_value v) {
  nvt *t = m->t;
  const nv_shape s = nv_shape_at(t->g, v);
  const uint32_t rank = nv_shape_rank(t->c, s);
  const nv_type_dim *dims = n->ndims ? &t->s->type_dims[n->first_dim] : NULL;
  const uint32_t lead = dims && dims[0].kind == NV_DIM_ELLIPSIS ? 1 : 0, fixed = n->ndims - lead;
  if (lead ? rank < fixed : rank != fixed) {
    CALLER_ERROR(t, m->pos, "%s is %s (%srank %u), got %s (rank %u)", called(m), nvt_show_type(t, n),
                 lead ? "at least " : "", fixed, nvt_show_array(t, v), rank);
    return false;
  }
  if (!match_dtype(m, n, nv_dtype_of(t->g, v))) return false;
  for (uint32_t i = 0; i < fixed; i++)
    if (!match_dim(m, &dims[lead + i], nv_shape_dims(t->c, s)[rank - fixed + i])) return false;
  return true;
}

/* A weak number for an array: a class keeps it weak (float: as a float), a dtype makes it a constant. */
static bool match_weak(matcher *m, const nv_type_node *n, nvt_val *v) {
  nvt *t = m->t;
  const uint32_t lead = n->ndims && t->s->type_dims[n->first_dim].kind == NV_DIM_ELLIPSIS ? 1 : 0;
  if (n->ndims > lead) {
    CALLER_ERROR(t, m->pos, "%s is %s (rank %u), got %s", called(m), nvt_show_type(t, n), n->ndims - lead,
                 nvt_show(t, *v));
    return false;
  }
  if (n->dtype < 0 && n->variable == NV_NONE) {
    if (n->cls == NV_CLASS_FLOAT && v->kind == NVT_INT) *v = nvt_float((double)v->u.i);
    if (n->cls == NV_CLASS_FLOAT && v->kind == NVT_SIZE) *v = nvt_size_float(t, *v, m->pos);
    const bool whole = nvt_is_whole(t, *v), real = v->kind == NVT_FLOAT || (v->kind == NVT_SIZE && !whole);
    const bool good = n->cls == NV_CLASS_ANY || (n->cls == NV_CLASS_FLOAT && real) ||
                      (n->cls == NV_CLASS_INT && whole) ||
                      (n->cls == NV_CLASS_NUMBER && v->kind != NVT_BOOL);
    if (!good)
      CALLER_ERROR(t, m->pos, "%s is of class %s, got %s", called(m), nvt_class_name(n->cls),
                   nvt_show(t, *v));
    return good;
  }
  nv_dtype d;
  if (n->dtype >= 0)
    d = (nv_dtype)n->dtype;
  else {
    const nvt_binding *b = nvt_find(t, n->variable);
    if ((!b || b->value.kind != NVT_DTYPE) && !match_variable(m, n, nvt_alone_dtype(t, *v))) return false;
    b = nvt_find(t, n->variable);
    d = b->value.u.d;
  }
  const bool whole = nvt_is_whole(t, *v), real = v->kind == NVT_FLOAT || (v->kind == NVT_SIZE && !whole);
  const bool fits = v->kind == NVT_BOOL || (whole && d != NV_BOOL) ||
                    (real && nv_is(d, NV_BITS_FLOAT | NV_BIT(NV_C64))) || d == NV_C64;
  if (!fits) {
    CALLER_ERROR(t, m->pos, "%s is %s, got %s", called(m), nv_dtype_name[d], nvt_show(t, *v));
    return false;
  }
  t->nframes--;
  nvt_origin(t, m->pos, false);
  const nv_value made = nvt_weak_value(t, *v, d, m->pos);
  if (made != NV_NONE) *v = nvt_array(made);
  t->nframes++;
  return made != NV_NONE;
}

static bool match_static(matcher *m, const nv_static *d, nvt_val *v) {
  nv_static named = *d;
  named.name = m->param;
  m->t->nframes--;
  const bool good = nvt_static_value(m->t, &named, *v, m->pos, v);
  m->t->nframes++;
  return good;
}

static bool mismatch(matcher *m, const nv_type_node *n, nvt_val v) {
  CALLER_ERROR(m->t, m->pos, "%s is %s, got %s", called(m), nvt_show_type(m->t, n), nvt_show_form(m->t, v));
  return false;
}

/* A tree's fields must be those of its type. */
static bool same_fields(matcher *m, const nv_field *const *fields, uint32_t n, const nvt_seq *s) {
  nvt *t = m->t;
  for (uint32_t i = 0; i < n || i < s->n; i++) {
    const char *want = i < n ? nv_text(t->c, fields[i]->name) : NULL;
    const char *got = i < s->n ? nv_text(t->c, s->names[i]) : NULL;
    if (want && got && !strcmp(want, got)) continue;
    if (!got || (want && strcmp(want, got) < 0))
      CALLER_ERROR(t, m->pos, "%s needs a field '%s'", called(m), want);
    else
      CALLER_ERROR(t, m->pos, "%s has no field '%s'", called(m), got);
    return false;
  }
  return true;
}

typedef struct pair {
  nv_type type;
  nvt_val *v;
  uint32_t depth;
} pair;

/* Matches one argument with its declared type. Weak leaves wait for the second round, when all arrays are bound. */
static bool match(matcher *m, nv_type type, nvt_val *value, bool weak) {
  nvt *t = m->t;
  pair *stack = NULL;
  uint32_t n = 0, cap = 0;
  NV_GROW(t->c, stack, cap, 16);
  stack[n++] = (pair){type, value, 0};
  bool good = true;
  while (n && good) {
    const pair p = stack[--n];
    const nv_type found = nvt_named_type(t, p.type);
    if (found == NV_NONE || p.depth > NVT_MAX_NEST) {
      good = false;
      break;
    }
    const nv_type_node *node = &t->s->types[found];
    const nvt_val v = *p.v;
    if (node->kind == NV_TYPE_ARRAY && nvt_is_number(v))
      good = !weak || match_weak(m, node, p.v);
    else if (node->kind == NV_TYPE_ARRAY)
      good = weak || (v.kind == NVT_ARRAY ? match_array(m, node, v.u.v) : mismatch(m, node, v));
    else if (node->kind == NV_TYPE_STATIC)
      good = !weak || match_static(m, &t->s->statics[node->static_], p.v);
    else if (node->kind == NV_TYPE_ENUM) {
      const nv_field *f = NULL;
      for (uint32_t i = 0; i < node->nfields && v.variant && !f; i++)
        if (t->s->fields[node->first_field + i].name == v.variant) f = &t->s->fields[node->first_field + i];
      good = f || mismatch(m, node, v);
      NV_GROW(t->c, stack, cap, (size_t)n + 1);
      if (f) stack[n++] = (pair){f->type, p.v, p.depth + 1};
    } else {
      const nv_field **fields = NULL;
      uint32_t count = 0;
      const bool named =
          node->kind == NV_TYPE_TREE && node->nfields && t->s->fields[node->first_field].name != NV_NONE;
      if (v.kind != (named ? NVT_TREE : NVT_LIST)) {
        good = mismatch(m, node, v);
        continue;
      }
      const nvt_seq *s = v.u.seq;
      if (node->kind == NV_TYPE_TREE) count = nvt_sorted_fields(t, node, &fields);
      if (named ? !same_fields(m, fields, count, s) : false)
        good = false;
      else if (!named && node->kind == NV_TYPE_TREE && count != s->n)
        good = mismatch(m, node, v);
      else if (node->kind == NV_TYPE_LIST && !weak) {
        const nv_type_dim d = {NV_DIM_EXPR, node->count, node->pos};
        good = match_dim(m, &d, nv_dim_const(t->c, s->n));
      }
      if (!good) continue;
      /* weak leaves may change, so the tree is copied; pushed backwards, to be matched in order */
      nvt_seq *copy = (nvt_seq *)nvt_seq_make(t, v.kind, s->at, s->names, s->n).u.seq;
      p.v->u.seq = copy;
      NV_GROW(t->c, stack, cap, (size_t)n + s->n);
      for (uint32_t i = s->n; i-- > 0;)
        stack[n++] =
            (pair){node->kind == NV_TYPE_LIST ? node->of : fields[i]->type, &copy->at[i], p.depth + 1};
    }
  }
  nv_drop(t->c, stack);
  return good;
}

static uint32_t input_by_name(const nv_function *fn, nv_str name) {
  for (uint32_t i = 0; i < fn->ninputs; i++)
    if (fn->inputs[i].name == name) return i;
  return NV_NONE;
}

/* Behind an error that was reported since there were so many diagnostics: where the callee's part is declared. */
static void note_declared(nvt *t, const nv_function *fn, uint32_t diags, nv_pos pos, const char *what, nv_str name) {
  if (t->c->ndiags > diags && !fn->builtin) nv_note(t->c, pos, "%s '%s' is declared here", what, nv_text(t->c, name));
}

/* Binds the parameters; false: reported. */
static bool match_all(nvt *t, const nv_function *fn, nvt_arg *args) {
  matcher m = {.t = t, .fn = fn};
  const uint32_t diags = t->c->ndiags;
  bool good = true;
  for (uint32_t i = 0; i < fn->ndims; i++)
    if (fn->dims[i].value >= 0) nvt_bind(t, fn->dims[i].name, nvt_int(fn->dims[i].value), fn->dims[i].pos);
  for (int round = 0; round < 2 && good; round++)
    for (uint32_t i = 0; i < fn->ninputs && good; i++) {
      m.param = fn->inputs[i].name;
      m.pos = args[i].pos;
      good = match(&m, fn->inputs[i].type, &args[i].v, round == 1);
      if (!good) note_declared(t, fn, diags, fn->inputs[i].pos, "input", m.param);
    }
  for (uint32_t i = 0; i < m.nsizes && good; i++) {
    const nvt_val v = nvt_eval_now(t, m.sizes[i].expr);
    nv_dim size;
    m.param = m.sizes[i].param;
    m.pos = m.sizes[i].pos;
    if (nvt_is_poison(v))
      good = false;
    else if (!nvt_dim_of(t, v, &size) || !same_dim(&m, size, m.sizes[i].actual)) {
      CALLER_ERROR(t, m.pos, "%s: a size is %s, got %s", called(&m),
                   nvt_dim_of(t, v, &size) ? nvt_show_dim(t, size) : nvt_show_number(t, v),
                   nvt_show_dim(t, m.sizes[i].actual));
      note_declared(t, fn, diags, fn->inputs[input_by_name(fn, m.param)].pos, "input", m.param);
      good = false;
    }
  }
  nv_drop(t->c, m.sizes);
  for (uint32_t i = 0; i < fn->ninputs && good; i++) {
    nvt_bind(t, fn->inputs[i].name, args[i].v, fn->inputs[i].pos);
  }
  return good;
}

/* ---- the call ---- */

static uint32_t static_by_name(const nv_function *fn, nv_str name) {
  for (uint32_t i = 0; i < fn->nstatics; i++)
    if (fn->statics[i].name == name) return i;
  return NV_NONE;
}

/* Arguments by place and keyword; false: reported. */
static bool sort(nvt *t, nv_ast ast, const nv_function *fn, const nvt_val *v, nvt_arg *in, nvt_arg *statics) {
  const char *name = nv_text(t->c, fn->name);
  uint32_t k = 0;
  for (nv_ast a = nvt_at(t, ast)->first; a != NV_NONE; a = nvt_at(t, a)->next, k++) {
    const nv_ast_node *n = nvt_at(t, a);
    nvt_arg *into = NULL;
    nv_ast value = a;
    if (n->kind == NV_AST_KEYWORD) {
      const uint32_t i = input_by_name(fn, n->text), s = static_by_name(fn, n->text);
      into = i != NV_NONE ? &in[i] : s != NV_NONE ? &statics[s] : NULL;
      if (!into) {
        const bool enough = t->c->errors >= NV_MAX_ERRORS;
        const char **known = NV_NEW_N(t->c, const char *, enough ? 1 : (size_t)fn->ninputs + fn->nstatics + 1);
        uint32_t m = 0;
        for (uint32_t j = 0; j < fn->ninputs && !enough; j++) known[m++] = nv_text(t->c, fn->inputs[j].name);
        for (uint32_t j = 0; j < fn->nstatics && !enough; j++) known[m++] = nv_text(t->c, fn->statics[j].name);
        nvt_error(t, n->pos, "'%s' has no input or static '%s'%s", name, nv_text(t->c, n->text),
                  nvt_suggest(t, n->text, false, known, m));
        return false;
      }
      if (into->given) {
        nvt_error(t, n->pos, "'%s': '%s' is given twice", name, nv_text(t->c, n->text));
        return false;
      }
      if (n->first != NV_NONE) value = n->first;
    } else if (k < fn->ninputs) {
      into = &in[k];
    } else if (k == fn->ninputs && fn->nstatics == 1 && !statics[0].given) {
      into = &statics[0]; /* statics have no order; a single one needs none */
    } else {
      nvt_error(t, n->pos, "'%s' takes %u input%s, got %u", name, fn->ninputs, fn->ninputs == 1 ? "" : "s",
                nvt_at(t, ast)->count);
      return false;
    }
    *into = (nvt_arg){v[k], value, nvt_at(t, value)->pos, true};
  }
  for (uint32_t i = 0; i < fn->ninputs; i++)
    if (!in[i].given) {
      nvt_error(t, nvt_at(t, ast)->pos, "'%s' needs its input '%s'", name, nv_text(t->c, fn->inputs[i].name));
      return false;
    }
  return true;
}

static bool bind_statics(nvt *t, const nv_function *fn, const nvt_arg *given, nv_pos call) {
  for (uint32_t i = 0; i < fn->nstatics; i++) {
    const nv_static *d = &fn->statics[i];
    const uint32_t diags = t->c->ndiags;
    nvt_val v;
    if (given[i].given) {
      t->nframes--;
      const bool good = nvt_static_value(t, d, given[i].v, given[i].pos, &v);
      t->nframes++;
      if (!good) {
        note_declared(t, fn, diags, d->pos, "static", d->name);
        return false;
      }
    } else if (d->default_ == NV_NONE) {
      CALLER_ERROR(t, call, "'%s' needs its static '%s'", nv_text(t->c, fn->name), nv_text(t->c, d->name));
      note_declared(t, fn, diags, d->pos, "static", d->name);
      return false;
    } else if (!nvt_static_value(t, d, nvt_literal(t, d->default_), nvt_at(t, d->default_)->pos, &v)) {
      return false;
    }
    nvt_bind(t, d->name, v, d->pos);
  }
  return true;
}

static nvt_cost cost_of(nvt *t, uint32_t function) {
  if (!t->costs || t->costs[function].nodes < 0) {
    const nvt_cost cost = nvt_least_cost(t, &t->s->functions[function], false);
    t->costs[function] = cost;
  }
  return t->costs[function];
}

void nvt_call(nvt *t, nv_ast ast, uint32_t function, const nvt_val *args) {
  const nv_ast_node *n = nvt_at(t, ast);
  const nv_function *fn = &t->s->functions[function];
  nvt_frame *caller = nvt_top(t);
  const bool root = caller->root == ast;
  const uint32_t count = n->count;
  const uint32_t places = fn->ninputs + fn->nstatics + 1;
  nvt_count(t, 16 + 4 * (int64_t)places);
  NV_GROW(t->c, t->args, t->args_cap, places);
  memset(t->args, 0, places * sizeof *t->args);
  nvt_arg *in = t->args, *statics = t->args + fn->ninputs;
  const uint32_t diags = t->c->ndiags;
  bool good = sort(t, ast, fn, args, in, statics);
  if (!good) note_declared(t, fn, diags, fn->pos, "function", fn->name);
  for (uint32_t i = 0; i < count; i++) good = good && !nvt_is_poison(args[i]);
  t->nvals -= count;
  if (good) t->calls++;
  if (good && !nvt_affords(t, cost_of(t, function), 1, n->pos)) {
    good = false;
  } else if (good && t->nframes > NVT_MAX_CALLS) {
    nv_bug(t->c, "calls are nested more than %d deep", NVT_MAX_CALLS);
  }
  if (!good) {
    nvt_push(t, nvt_poison());
    return;
  }
  const bool inside = caller->fn->builtin;
  const uint32_t origin = nv_graph_origin(t->g, caller->parent, caller->fn->name, caller->stmt,
                                          root ? 0 : ++caller->ordinal, n->pos);
  nvt_frame *f = &t->frames[t->nframes++];
  *f = (nvt_frame){.fn = fn,
                   .parent = origin,
                   .scopes = t->nscopes,
                   .root = NV_NONE,
                   .act = NV_NONE,
                   .call_pos = n->pos,
                   .user_pos = inside ? caller->user_pos : n->pos,
                   .user_name = inside ? caller->user_name : fn->name};
  nvt_scope_push(t);
  good = bind_statics(t, fn, statics, n->pos) && match_all(t, fn, in) && nvt_check_dims(t, fn, n->pos);
  if (good && !(t->rehearsal && nvt_seen_call(t))) {
    nvt_start_body(t);
    return;
  }
  if (!good) nvt_push(t, nvt_poison());
  nvt_do_work(t, NVT_RETURN, NV_NONE, 0, NULL);
}
