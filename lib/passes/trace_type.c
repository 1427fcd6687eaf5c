/* trace_type.c - tracing: declared types; the inputs, sizes, dtypes and statics of an entry under one signature. */
#include "trace.h"

/* ---- types ---- */

uint32_t nvt_class_bits(nv_class cls) {
  switch (cls) {
  case NV_CLASS_FLOAT: return NV_BITS_FLOAT;
  case NV_CLASS_INT: return NV_BITS_INT;
  case NV_CLASS_NUMBER: return NV_BITS_INT | NV_BITS_FLOAT | NV_BIT(NV_C64);
  case NV_CLASS_ANY:
  case NV_CLASS_NONE: break;
  }
  return NV_BITS_ALL;
}

const char *nvt_class_name(nv_class cls) {
  static const char *const names[] = {"a dtype", "any", "float", "int", "number"};
  return names[cls];
}

const char *nvt_show_type(nvt *t, const nv_type_node *n) {
  nv_buf b;
  nv_buf_init(&b, t->c);
  if (n->kind == NV_TYPE_TREE && n->nfields && t->s->fields[n->first_field].name == NV_NONE)
    return nv_format(t->c, "a list of %u", n->nfields);
  if (n->kind != NV_TYPE_ARRAY)
    return n->kind == NV_TYPE_LIST     ? "a list"
           : n->kind == NV_TYPE_STATIC ? "a static"
           : n->kind == NV_TYPE_ENUM   ? "an enum node"
                                       : "a tree";
  nv_puts(&b, n->dtype >= 0            ? nv_dtype_name[n->dtype]
              : n->variable != NV_NONE ? nv_text(t->c, n->variable)
                                       : nvt_class_name(n->cls));
  for (uint32_t i = 0; i < n->ndims; i++) {
    const nv_type_dim *d = &t->s->type_dims[n->first_dim + i];
    const nv_ast_node *e = d->kind == NV_DIM_EXPR && d->expr != NV_NONE ? nvt_at(t, d->expr) : NULL;
    nv_puts(&b, i ? ", " : "[");
    if (e)
      nv_puts(&b, e->kind == NV_AST_INT || e->kind == NV_AST_NAME ? nv_text(t->c, e->text) : "(...)");
    else
      nv_puts(&b, d->kind == NV_DIM_ELLIPSIS ? "..." : "?");
  }
  if (n->ndims) nv_putc(&b, ']');
  return nv_buf_text(&b);
}

nv_type nvt_named_type(nvt *t, nv_type type) {
  for (uint32_t steps = 0; type != NV_NONE; steps++) {
    const nv_type_node *n = &t->s->types[type];
    if (n->kind != NV_TYPE_NAMED) return type;
    const uint32_t k = nvt_slot_of(t, n->name)->type;
    if (k == NV_NONE || steps > t->s->nnamed_types) nv_bug(t->c, "unknown type '%s'", nv_text(t->c, n->name));
    type = t->s->named_types[k].type;
  }
  return type;
}

typedef struct named_field {
  const char *text;
  const nv_field *f;
} named_field;

static int by_text(const void *a, const void *b) {
  return strcmp(((const named_field *)a)->text, ((const named_field *)b)->text);
}

uint32_t nvt_sorted_fields(nvt *t, const nv_type_node *n, const nv_field ***fields) {
  named_field *order = NV_NEW_N(t->c, named_field, (size_t)n->nfields + 1);
  *fields = NV_NEW_N(t->c, const nv_field *, (size_t)n->nfields + 1);
  for (uint32_t i = 0; i < n->nfields; i++) {
    const nv_field *f = &t->s->fields[n->first_field + i];
    order[i] = (named_field){f->name == NV_NONE ? "" : nv_text(t->c, f->name), f};
  }
  if (n->nfields && order[0].f->name != NV_NONE) qsort(order, n->nfields, sizeof *order, by_text);
  for (uint32_t i = 0; i < n->nfields; i++) (*fields)[i] = order[i].f;
  return n->nfields;
}

/* ---- statics ---- */

static const char *static_name(nvt *t, const nv_static *d) {
  return d->name == NV_NONE ? "a static field" : nv_format(t->c, "static '%s'", nv_text(t->c, d->name));
}

bool nvt_static_value(nvt *t, const nv_static *d, nvt_val v, nv_pos pos, nvt_val *out) {
  static const char *const kinds[] = {"an int", "a float", "true or false", "a string", "a name of its list"};
  *out = v;
  switch (d->kind) {
  case NV_STATIC_INT:
    if (v.kind == NVT_INT) return true;
    break;
  case NV_STATIC_FLOAT:
    if (v.kind == NVT_FLOAT) return true;
    if (v.kind == NVT_INT) *out = nvt_float((double)v.u.i);
    if (v.kind == NVT_INT) return true;
    break;
  case NV_STATIC_BOOL:
    if (v.kind == NVT_BOOL) return true;
    break;
  case NV_STATIC_STRING:
    if (v.kind == NVT_STRING) return true;
    break;
  case NV_STATIC_ENUM: {
    if (v.kind != NVT_STRING) break;
    for (uint32_t i = 0; i < d->nchoices; i++)
      if (d->choices[i] == v.u.s) return true;
    const uint32_t n = t->c->errors < NV_MAX_ERRORS ? d->nchoices : 0;
    const char **known = NV_NEW_N(t->c, const char *, (size_t)n + 1);
    for (uint32_t i = 0; i < n; i++) known[i] = nv_text(t->c, d->choices[i]);
    nvt_error(t, pos, "%s has no choice '%s'%s", static_name(t, d),
              nv_shown(t->c, nv_text(t->c, v.u.s), nv_text_len(t->c, v.u.s)), nvt_suggest(t, v.u.s, false, known, n));
    return false;
  }
  }
  nvt_error(t, pos, "%s takes %s, not %s", static_name(t, d), kinds[d->kind], nvt_show(t, v));
  return false;
}

/* ---- the signature ---- */

static const nv_binding *given(nvt *t, nv_str key) {
  const uint32_t k = nvt_slot_of(t, key)->signature;
  if (k == NV_NONE) return NULL;
  t->signature_used[k] = true;
  return &t->signature->bindings[k];
}

static bool is_open(const nvt *t, const nv_binding *b) {
  if (b->value == NV_NONE) return false;
  const nv_ast_node *n = nvt_at(t, b->value);
  return n->kind == NV_AST_STRING && !strcmp(nv_text(t->c, n->text), "?");
}

/* What keeps an entry from being traced, collected so that one error lists it. */
typedef struct lacking {
  nv_buf unresolved;
} lacking;

static void lack(nv_buf *b, const char *text) {
  const char *have = nv_buf_text(b);
  const size_t n = strlen(text);
  for (const char *p = have; (p = strstr(p, text)) != NULL; p += n) /* listed already? */
    if ((p == have || p[-1] == ' ') && (p[n] == 0 || p[n] == ',')) return;
  if (b->n < 400) nv_printf(b, "%s%s", b->n ? ", " : "", text);
}

/* An open size keeps to what is declared, or the call is refused. */
static bool guard_dim(nvt *t, const nv_dim_decl *d, nv_dim size, nv_pos pos) {
  nv_ctx *c = t->c;
  const char *what = NULL;
  if (d->value >= 0 && !nvt_guard(t, NV_EQUAL, size, nv_dim_const(c, d->value), pos))
    what = nv_format(c, "not %lld", (long long)d->value);
  else if (!nvt_guard(t, NV_AT_MOST, nv_dim_const(c, d->min), size, pos))
    what = nv_format(c, "below its min %lld", (long long)d->min);
  else if (d->max < NVT_MAX_ELEMENTS && !nvt_guard(t, NV_AT_MOST, size, nv_dim_const(c, d->max), pos))
    what = nv_format(c, "above its max %lld", (long long)d->max);
  else if (d->multiple_of > 1 &&
           !nvt_guard(t, NV_EQUAL, nv_dim_mod(c, size, nv_dim_const(c, d->multiple_of)), nv_dim_const(c, 0), pos))
    what = nv_format(c, "not a multiple of %lld", (long long)d->multiple_of);
  if (what) nvt_error(t, pos, "size '%s' is %s, %s", nv_text(c, d->name), nvt_show_dim(t, size), what);
  return !what;
}

static bool check_dim(nvt *t, const nv_dim_decl *d, int64_t v, nv_pos pos) {
  const char *name = nv_text(t->c, d->name);
  if (d->value >= 0 && v != d->value)
    nvt_error(t, pos, "size '%s' is %lld, not %lld", name, (long long)d->value, (long long)v);
  else if (v < d->min)
    nvt_error(t, pos, "size '%s' is %lld, below its min %lld", name, (long long)v, (long long)d->min);
  else if (v > d->max)
    nvt_error(t, pos, "size '%s' is %lld, above its max %lld", name, (long long)v, (long long)d->max);
  else if (d->multiple_of > 1 && v % d->multiple_of)
    nvt_error(t, pos, "size '%s' is %lld, not a multiple of %lld", name, (long long)v, (long long)d->multiple_of);
  else
    return true;
  return false;
}

bool nvt_check_dims(nvt *t, const nv_function *fn, nv_pos pos) {
  for (uint32_t i = 0; i < fn->ndims; i++) {
    const nvt_binding *b = nvt_find(t, fn->dims[i].name);
    const uint32_t diags = t->c->ndiags;
    nv_dim size;
    if (!b || !nvt_dim_of(t, b->value, &size)) continue;
    if (b->value.kind == NVT_INT ? check_dim(t, &fn->dims[i], b->value.u.i, pos)
                                 : guard_dim(t, &fn->dims[i], size, pos))
      continue;
    if (t->c->ndiags > diags && !fn->builtin)
      nv_note(t->c, fn->dims[i].pos, "size '%s' of '%s' is declared here", nv_text(t->c, fn->dims[i].name),
              nv_text(t->c, fn->name));
    return false;
  }
  return true;
}

/* An open size: a symbol of its own. */
static nvt_val open_size(nvt *t, nv_str name, const nv_dim_decl *d) {
  return nvt_size(t, nv_dim_symbol(t->c, name, d ? d->min : 0, d ? d->max : NVT_MAX_ELEMENTS));
}

/* Binds a size by name: from the signature, or as declared, or open. false: wrong. */
static bool entry_dim(nvt *t, nv_str name, const nv_dim_decl *d, nv_pos pos) {
  const nv_binding *b = given(t, name);
  nvt_val v;
  if (b && !is_open(t, b)) {
    v = b->value == NV_NONE ? nvt_poison() : nvt_literal(t, b->value); /* as checked by the parser */
    pos = b->value_pos;
  } else if (!b && d && d->value >= 0) {
    v = nvt_int(d->value);
  } else {
    v = open_size(t, name, d);
  }
  nvt_bind(t, name, v, pos);
  return v.kind != NVT_POISON;
}

static const nv_dim_decl *declared_dim(const nvt *t, nv_str name) {
  const nv_function *fn = t->frames[0].fn;
  for (uint32_t i = 0; i < fn->ndims; i++)
    if (fn->dims[i].name == name) return &fn->dims[i];
  return NULL;
}

/* Size of one dim of an entry's type: of axis number axis of path; false: unresolved or wrong. */
static bool entry_size(nvt *t, const nv_type_dim *d, const char *path, uint32_t axis, lacking *l, nv_dim *out) {
  if (d->kind == NV_DIM_ELLIPSIS) lack(&l->unresolved, nv_format(t->c, "the rank of '%s'", path));
  if (d->kind == NV_DIM_OPEN) {
    const char *name = nv_format(t->c, "%s.axis%u", path, axis);
    *out = nv_dim_symbol(t->c, nv_intern_z(t->c, name), 0, NVT_MAX_ELEMENTS);
    return true;
  }
  if (d->kind != NV_DIM_EXPR || d->expr == NV_NONE) return false;
  /* names first: each has a value, or is open */
  nv_ast stack[NVT_MAX_NEST + 2];
  uint32_t n = 0;
  bool known = true;
  stack[n++] = d->expr;
  while (n) {
    const nv_ast a = stack[--n];
    const nv_ast_node *e = nvt_at(t, a);
    if (e->kind == NV_AST_NAME) {
      const nvt_binding *b = nvt_find(t, e->text);
      if (!b)
        known = entry_dim(t, e->text, declared_dim(t, e->text), e->pos) && known;
      else if (b->value.kind == NVT_POISON)
        known = false;
    }
    for (nv_ast c = e->first; c != NV_NONE && n < NVT_MAX_NEST; c = nvt_at(t, c)->next) stack[n++] = c;
  }
  if (!known) return false;
  const nvt_val v = nvt_eval_now(t, d->expr);
  int64_t size = 0;
  const bool whole = nvt_dim_of(t, v, out);
  if (whole && nv_dim_is_const(t->c, *out, &size) && size >= 0 && size <= NVT_MAX_ELEMENTS) return true;
  if (v.kind == NVT_SIZE && whole && nvt_guard(t, NV_AT_MOST, nv_dim_const(t->c, 0), *out, d->pos)) return true;
  if (!nvt_is_poison(v)) nvt_error(t, d->pos, "a size is an int from 0 to 2^48, not %s", nvt_show(t, v));
  return false;
}

/* dtype of a leaf; -1: unresolved or wrong. */
static int entry_dtype(nvt *t, const nv_type_node *n, const char *path, lacking *l) {
  if (n->dtype >= 0) return n->dtype;
  if (n->variable == NV_NONE) {
    lack(&l->unresolved, nv_format(t->c, "the dtype of '%s'", path));
    return -1;
  }
  const nvt_binding *b = nvt_find(t, n->variable);
  if (!b) lack(&l->unresolved, nv_format(t->c, "'%s'", nv_text(t->c, n->variable)));
  return b && b->value.kind == NVT_DTYPE ? (int)b->value.u.d : -1;
}

/* A leaf's own type in the signature must be one that the declared type allows. */
static bool refines(nvt *t, const nv_type_node *declared, const nv_type_node *n, nv_pos pos) {
  const nv_type_dim *first = declared->ndims ? &t->s->type_dims[declared->first_dim] : NULL;
  const bool any_rank = first && first->kind == NV_DIM_ELLIPSIS;
  if (n->kind != NV_TYPE_ARRAY || (declared->dtype >= 0 && n->dtype >= 0 && declared->dtype != n->dtype) ||
      (n->dtype >= 0 && declared->cls != NV_CLASS_NONE &&
       !nv_is((nv_dtype)n->dtype, nvt_class_bits(declared->cls))) ||
      (any_rank ? n->ndims + 1 < declared->ndims : n->ndims != declared->ndims)) {
    nvt_error(t, pos, "%s isn't a %s", nvt_show_type(t, n), nvt_show_type(t, declared));
    return false;
  }
  return true;
}

/* What a leaf's own type in the signature says about the names in its declared type. */
static bool settle(nvt *t, const nv_type_node *declared, nv_dtype dtype, const nv_dim *dims, uint32_t rank,
                   nv_pos pos) {
  if (declared->variable != NV_NONE) {
    const nvt_binding *b = nvt_find(t, declared->variable);
    if (!b)
      nvt_bind(t, declared->variable, nvt_dtype(dtype), pos);
    else if (b->value.kind == NVT_DTYPE && b->value.u.d != dtype) {
      nvt_error(t, pos, "'%s' is %s, not %s", nv_text(t->c, declared->variable), nv_dtype_name[b->value.u.d],
                nv_dtype_name[dtype]);
      return false;
    }
  }
  for (uint32_t i = 0; i < declared->ndims && i < rank; i++) {
    const nv_type_dim *d = &t->s->type_dims[declared->first_dim + declared->ndims - 1 - i];
    if (d->kind != NV_DIM_EXPR || d->expr == NV_NONE) continue;
    const nv_ast_node *e = nvt_at(t, d->expr);
    const nv_dim size = dims[rank - 1 - i];
    if (e->kind == NV_AST_NAME && !nvt_find(t, e->text)) {
      const nv_binding *g = given(t, e->text);
      nvt_bind(t, e->text, g && !is_open(t, g) ? nvt_literal(t, g->value) : nvt_size(t, size), pos);
    }
    const nvt_val v = nvt_eval_now(t, d->expr);
    nv_dim want;
    if (nvt_is_poison(v)) return false;
    if (nvt_dim_of(t, v, &want) && nvt_guard(t, NV_EQUAL, want, size, pos)) continue;
    nvt_error(t, pos, "a size of %s is %s, not %s", nvt_show_type(t, declared), nvt_show_number(t, v),
              nvt_show_dim(t, size));
    return false;
  }
  return true;
}

/* variant: the signature's value at this path is the name of a variant, whose value the leaf is. */
static nvt_val entry_leaf(nvt *t, const nv_type_node *n, nv_str path, nv_pos pos, bool variant, lacking *l) {
  const char *text = nv_text(t->c, path);
  const nv_binding *b = variant ? NULL : given(t, path);
  const nv_type_node *declared = n;
  if (b && b->type != NV_NONE) {
    const nv_type type = nvt_named_type(t, b->type);
    if (type == NV_NONE || !refines(t, declared, &t->s->types[type], b->value_pos)) return nvt_poison();
    n = &t->s->types[type];
  } else if (b) {
    nvt_error(t, b->value_pos, "input '%s' takes a type", text);
    return nvt_poison();
  }
  if (n->strides_any || declared->strides_any || n->strides || declared->strides) nvt_refuse(t, n->pos, "strides");
  const int dtype = entry_dtype(t, n, text, l);
  nv_dim dims[NV_MAX_RANK];
  bool known = dtype >= 0;
  if (n->ndims > NV_MAX_RANK) {
    nvt_error(t, n->pos, "rank %u is over the limit of %d", n->ndims, NV_MAX_RANK);
    return nvt_poison();
  }
  for (uint32_t i = 0; i < n->ndims; i++) {
    dims[i] = 0;
    known = entry_size(t, &t->s->type_dims[n->first_dim + i], text, i, l, &dims[i]) && known;
  }
  if (!known || (n != declared && !settle(t, declared, (nv_dtype)dtype, dims, n->ndims, b->value_pos)))
    return nvt_poison();
  const nv_shape shape = nv_shape_make(t->c, dims, n->ndims);
  if (!nvt_check_shape(t, shape, n->pos)) {
    return nvt_poison();
  }
  if (t->g->ninputs >= NVT_MAX_PORTS) {
    nvt_over(t, pos, "more than %d inputs and outputs", NVT_MAX_PORTS);
    return nvt_poison();
  }
  nvt_val v = nvt_array(nv_graph_input(t->g, path, (nv_dtype)dtype, shape, pos));
  v.frozen = !(n != declared && n->says_trainable ? n : declared)->trainable;
  if (v.frozen) nvt_key_frozen(t, path);
  return v;
}

/* A static, or a static field of a tree; variant as for entry_leaf. */
static nvt_val static_leaf(nvt *t, const nv_static *d, nv_str path, nv_pos pos, bool variant) {
  const nv_binding *b = variant ? NULL : given(t, path);
  const nv_ast a = b ? b->value : d->default_;
  nv_static named = *d;
  nvt_val v = nvt_poison();
  named.name = path;
  if (b && a == NV_NONE)
    nvt_error(t, b->value_pos, "'%s' takes a value, not a type", nv_text(t->c, path));
  else if (a == NV_NONE)
    nvt_error(t, pos, "static '%s' has no value: the signature must give one", nv_text(t->c, path));
  else if (!nvt_static_value(t, &named, nvt_literal(t, a), b ? b->value_pos : nvt_at(t, a)->pos, &v))
    v = nvt_poison();
  nvt_key_static(t, path, v);
  return v;
}

/* ---- trees of inputs ---- */

typedef struct level { /* one open tree or list */
  const nv_type_node *n;
  const nv_field **fields;
  nv_type of;
  uint32_t count, next, path, vals;
  nv_str variant;
} level;

/* The variant of an enum node: the signature's, or the default. NULL: none, or wrong. */
static const nv_field *entry_variant(nvt *t, const nv_type_node *n, nv_str path, lacking *l) {
  const nv_binding *b = given(t, path);
  const char *text = nv_text(t->c, path);
  nv_str want = n->default_variant;
  if (b) {
    const nv_type_node *type = b->type == NV_NONE ? NULL : &t->s->types[b->type];
    const nv_ast_node *v = b->value == NV_NONE ? NULL : nvt_at(t, b->value);
    want = v && v->kind == NV_AST_STRING           ? v->text
           : v && v->kind == NV_AST_DTYPE          ? nv_intern_z(t->c, nv_dtype_name[v->op])
           : type && type->kind == NV_TYPE_NAMED   ? type->name
                                                   : NV_NONE;
    if (want == NV_NONE) {
      nvt_error(t, b->value_pos, "'%s' takes the name of a variant", text);
      return NULL;
    }
  }
  if (want == NV_NONE) {
    lack(&l->unresolved, nv_format(t->c, "the variant of '%s'", text));
    return NULL;
  }
  const char **known = NV_NEW_N(t->c, const char *, (size_t)n->nfields + 1);
  for (uint32_t i = 0; i < n->nfields; i++) {
    const nv_field *f = &t->s->fields[n->first_field + i];
    if (f->name == want) return f;
    known[i] = nv_text(t->c, f->name);
  }
  nvt_error(t, b->value_pos, "'%s' has no variant '%s'%s", text, nv_text(t->c, want),
            nvt_suggest(t, want, false, known, n->nfields));
  return NULL;
}

/* The value of an input of this type: inputs of the graph for its leaves, in order of their paths. */
static nvt_val entry_input(nvt *t, const nv_param *p, lacking *l) {
  nv_buf path;
  nv_buf_init(&path, t->c);
  nv_puts(&path, nv_text(t->c, p->name));
  level levels[NVT_MAX_NEST];
  uint32_t depth = 0;
  const uint32_t base = t->nvals;
  nv_type type = p->type;
  nv_pos pos = p->pos;
  nv_str variant = 0; /* of the enum node that is being read */
  for (;;) {
    nvt_count(t, 256); /* a tree's parts need no node: memory, too */
    const nv_type found = t->stop ? NV_NONE : nvt_named_type(t, type);
    const nv_type_node *n = found == NV_NONE ? NULL : &t->s->types[found];
    const nv_str name = nv_intern(t->c, path.n ? path.p : "", path.n);
    if (!n) {
      nvt_push(t, nvt_poison());
    } else if (n->kind == NV_TYPE_ARRAY) {
      nvt_push(t, entry_leaf(t, n, name, pos, variant != 0, l));
    } else if (n->kind == NV_TYPE_STATIC) {
      nvt_push(t, static_leaf(t, &t->s->statics[n->static_], name, t->signature->pos, variant != 0));
      t->vals[t->nvals - 1].fixed = true;
    } else if (n->kind == NV_TYPE_ENUM) {
      const nv_field *f = variant ? NULL : entry_variant(t, n, name, l);
      if (variant) nvt_error(t, n->pos, "an enum node as the variant of an enum node");
      if (f) {
        nvt_key_variant(t, name, f->name);
        variant = f->name;
        type = f->type;
        continue;
      }
      nvt_push(t, nvt_poison());
    } else if (depth == NVT_MAX_NEST) {
      nv_bug(t->c, "types nest more than %d deep", NVT_MAX_NEST);
    } else {
      const nv_type_dim count = {NV_DIM_EXPR, n->count, n->pos};
      int64_t k = 0;
      nv_dim size;
      if (n->kind != NV_TYPE_TREE) {
        k = -1;
        if (entry_size(t, &count, nv_text(t->c, name), 0, l, &size) && !nv_dim_is_const(t->c, size, &k))
          nvt_error(t, n->pos, "the length of '%s' is %s", nv_text(t->c, name), nvt_show(t, nvt_size(t, size)));
      }
      if (k > NVT_MAX_PORTS) nvt_error(t, n->pos, "more than %d inputs and outputs", NVT_MAX_PORTS);
      if (k < 0 || k > NVT_MAX_PORTS) {
        nvt_push(t, nvt_poison());
      } else {
        level *v = &levels[depth++];
        *v = (level){.n = n, .of = n->of, .path = path.n, .vals = t->nvals, .count = (uint32_t)k,
                     .variant = variant};
        variant = 0;
        if (n->kind == NV_TYPE_TREE) v->count = nvt_sorted_fields(t, n, &v->fields);
      }
    }
    if (variant) t->vals[t->nvals - 1].variant = variant; /* a leaf */
    variant = 0;
    /* on to the next leaf, closing what is complete */
    while (depth && levels[depth - 1].next == levels[depth - 1].count) {
      const level *v = &levels[--depth];
      const bool tree = v->n->kind == NV_TYPE_TREE && v->count && v->fields[0]->name != NV_NONE;
      nv_str *names = NV_NEW_N(t->c, nv_str, (size_t)v->count + 1);
      for (uint32_t i = 0; tree && i < v->count; i++) names[i] = v->fields[i]->name;
      nvt_val made = nvt_seq_make(t, tree ? NVT_TREE : NVT_LIST, t->vals + v->vals, names, v->count);
      made.variant = v->variant;
      t->nvals = v->vals;
      nvt_push(t, made);
    }
    if (!depth) break;
    level *v = &levels[depth - 1];
    path.n = v->path;
    if (v->n->kind == NV_TYPE_TREE) {
      const nv_field *f = v->fields[v->next];
      if (f->name == NV_NONE)
        nv_printf(&path, "[%u]", v->next);
      else
        nv_printf(&path, ".%s", nv_text(t->c, f->name));
      type = f->type;
      pos = f->pos;
    } else {
      nv_printf(&path, "[%u]", v->next);
      type = v->of;
    }
    v->next++;
  }
  const nvt_val v = t->vals[base];
  t->nvals = base;
  return v;
}

/* ---- the whole ---- */

static void unused_keys(nvt *t, const nv_function *fn) {
  for (uint32_t i = 0; i < t->signature->nbindings; i++) {
    const nv_binding *b = &t->signature->bindings[i];
    if (t->signature_used[i]) continue;
    const uint32_t n = t->c->errors < NV_MAX_ERRORS ? t->nbindings : 0;
    const char **known = NV_NEW_N(t->c, const char *, (size_t)n + 1);
    uint32_t k = 0;
    for (uint32_t j = 0; j < n; j++) known[k++] = nv_text(t->c, t->bindings[j].name);
    nvt_error(t, b->pos, "'%s' is no dim, static, dtype variable or input of '%s'%s", nv_text(t->c, b->key),
              nv_text(t->c, fn->name), nvt_suggest(t, b->key, false, known, k));
  }
}

typedef struct sized { /* an input's axis that has a size of one symbol */
  nv_source s;
  bool plain; /* the symbol alone */
} sized;

/* Every symbol is read off the first axis that has it alone, else off one that has a multiple of it, or it and a
 * constant. */
static void find_sources(nvt *t, const nv_function *fn) {
  nv_ctx *c = t->c;
  nv_graph *g = t->g;
  nv_dim *all = NULL;
  uint32_t n = 0, cap = 0;
  for (uint32_t i = 0; i < fn->ndims; i++) {
    const nvt_binding *b = nvt_find(t, fn->dims[i].name);
    if (!b || b->value.kind != NVT_SIZE) continue;
    NV_GROW(c, all, cap, (size_t)n + 1);
    nvt_dim_of(t, b->value, &all[n++]);
  }
  for (uint32_t i = 0; i < g->ninputs; i++) {
    const nv_shape s = nv_shape_at(g, g->inputs[i].value);
    for (uint32_t k = 0; k < nv_shape_rank(c, s) && !nv_shape_is_static(c, s); k++) {
      NV_GROW(c, all, cap, (size_t)n + 1);
      all[n++] = nv_shape_dims(c, s)[k];
    }
  }
  if (!n) return;
  const nv_dim *symbols;
  const uint32_t nsymbols = nv_dim_symbols(c, all, n, &symbols);
  nv_drop(c, all);
  sized *found = NV_NEW_N(c, sized, nsymbols);
  nv_map places = {0};
  for (uint32_t i = 0; i < nsymbols; i++) nv_map_add(c, &places, nv_hash(&symbols[i], sizeof *symbols, 7), i);
  for (uint32_t i = 0; i < g->ninputs; i++) {
    const nv_shape s = nv_shape_at(g, g->inputs[i].value);
    for (uint32_t k = 0; k < nv_shape_rank(c, s) && !nv_shape_is_static(c, s); k++) {
      const nv_dim d = nv_shape_dims(c, s)[k], *own;
      nv_dim rest;
      int64_t factor, offset;
      if (nv_dim_symbols(c, &d, 1, &own) != 1 || !nv_dim_linear(c, d, own[0], &factor, &rest) || factor < 1 ||
          !nv_dim_is_const(c, rest, &offset))
        continue;
      uint32_t walk = 0, at;
      while ((at = nv_map_next(&places, nv_hash(own, sizeof *own, 7), &walk)) != NV_NONE && symbols[at] != own[0]) {}
      if (found[at].s.factor && (found[at].plain || d != own[0])) continue;
      found[at] = (sized){{own[0], i, k, factor, offset}, d == own[0]};
    }
  }
  nv_map_drop(c, &places);
  for (uint32_t i = 0; i < nsymbols; i++) {
    if (!found[i].s.factor) {
      nvt_error(t, t->signature->pos,
                "size '%s' can't be read off an input: no axis is it, a multiple of it, or it and a constant",
                nvt_show_dim(t, symbols[i]));
      continue;
    }
    NV_GROW(c, g->sources, g->sources_cap, (size_t)g->nsources + 1);
    g->sources[g->nsources++] = found[i].s;
  }
}

void nvt_entry_inputs(nvt *t, const nv_function *fn) {
  lacking l;
  nv_buf_init(&l.unresolved, t->c);
  for (uint32_t i = 0; i < t->signature->nbindings; i++)
    nvt_slot_of(t, t->signature->bindings[i].key)->signature = i;
  for (uint32_t i = 0; i < fn->ndims; i++)
    if (fn->dims[i].value >= 0 || nvt_slot_of(t, fn->dims[i].name)->signature != NV_NONE)
      entry_dim(t, fn->dims[i].name, &fn->dims[i], fn->dims[i].pos);
  for (uint32_t i = 0; i < fn->ndtypes; i++) {
    const nv_dtype_decl *d = &fn->dtypes[i];
    const nv_binding *b = given(t, d->name);
    nvt_val v = b && b->value != NV_NONE ? nvt_literal(t, b->value) : nvt_poison();
    if (v.kind == NVT_STRING) {
      const int found = nv_dtype_find(nv_text(t->c, v.u.s), nv_text_len(t->c, v.u.s));
      if (found >= 0) v = nvt_dtype((nv_dtype)found);
    }
    if (!b) continue;
    nvt_bind(t, d->name, v, d->pos);
  }
  for (uint32_t i = 0; i < fn->nstatics; i++) {
    const nv_static *d = &fn->statics[i];
    nvt_bind(t, d->name, static_leaf(t, d, d->name, t->signature->pos, false), d->pos);
  }
  for (uint32_t i = 0; i < fn->ninputs; i++) {
    const nvt_val v = entry_input(t, &fn->inputs[i], &l);
    nvt_bind(t, fn->inputs[i].name, v, fn->inputs[i].pos);
  }
  unused_keys(t, fn);
  nvt_check_dims(t, fn, t->signature->pos);
  const nv_pos pos = t->signature->pos;
  if (l.unresolved.n)
    nvt_error(t, pos, "entry '%s': the signature must fix %s", nv_text(t->c, t->entry->name),
              nv_buf_text(&l.unresolved));
  else if (!t->failed)
    find_sources(t, fn);
}
