/* entries.c - entries and their signatures. */
#include "parse.h"

/* Has enough been reported? Then names to suggest aren't gathered any more. */
static bool is_enough(const nv_reader *r) { return r->c->errors >= NV_MAX_ERRORS; }

static const char **function_names(const nv_reader *r, size_t *n) {
  const char **names = NV_NEW_N(r->c, const char *, r->s->nfunctions + 1u);
  *n = 0;
  for (uint32_t k = 0; k < r->s->nfunctions; k++)
    if (!r->s->functions[k].builtin) names[(*n)++] = nv_text(r->c, r->s->functions[k].name);
  return names;
}

/* What name is in the entry's function. NULL: none. */
static const nv_decl *find_decl(const nv_reader *r, nv_str name) {
  return nv_find_decl(r, (uint32_t)(r->f - r->s->functions), name);
}
static bool is_input(const nv_reader *r, nv_str name) {
  const nv_decl *d = find_decl(r, name);
  return d && d->kind == NV_DECL_INPUT;
}

/* A set of names, in the order they came. */
typedef struct name_set {
  nv_ctx *c;
  nv_map map; /* id: nv_str */
  const char **text;
  uint32_t n, cap;
} name_set;

static bool has_name(const name_set *s, nv_str name) {
  uint32_t at = 0, id;
  while ((id = nv_map_next(&s->map, nv_str_hash(name), &at)) != NV_NONE)
    if (id == name) return true;
  return false;
}
static void add_name(void *arg, nv_str name, nv_pos pos) {
  name_set *s = arg;
  (void)pos;
  if (has_name(s, name)) return;
  nv_map_add(s->c, &s->map, nv_str_hash(name), name);
  NV_GROW(s->c, s->text, s->cap, (size_t)s->n + 1);
  s->text[s->n++] = nv_text(s->c, name);
}
static void drop_names(name_set *s) {
  nv_map_drop(s->c, &s->map);
  nv_drop(s->c, s->text);
}

/* ---- signatures ---- */

static bool read_dim_value(nv_reader *r, uint32_t node, const nv_dim_decl *d, nv_binding *b) {
  int64_t v;
  if (nv_is_textual(r, node) && nv_text_is(r, node, "?")) {
    b->value = nv_ast_new(r->s, NV_AST_STRING, 0, nv_at(r, node), nv_str_at(r, node));
    return true;
  }
  if (!nv_read_int(r, node, nv_format(r->c, "size '%s'", nv_shown_str(r->c, b->key)), 0, INT64_C(1) << 48, &v))
    return false;
  const char *name = nv_shown_str(r->c, b->key);
  long long value = v;
  if (d && d->value >= 0 && v != d->value)
    NV_AT_ERROR(r, node, "size '%s' is %lld, not %lld", name, (long long)d->value, value);
  else if (d && v < d->min)
    NV_AT_ERROR(r, node, "size '%s' is %lld, below its min %lld", name, value, (long long)d->min);
  else if (d && v > d->max)
    NV_AT_ERROR(r, node, "size '%s' is %lld, above its max %lld", name, value, (long long)d->max);
  else if (d && v % d->multiple_of)
    NV_AT_ERROR(r, node, "size '%s' is %lld, not a multiple of %lld", name, value, (long long)d->multiple_of);
  else {
    b->value = nv_read_literal(r, node);
    return b->value != NV_NONE;
  }
  return false;
}

static bool read_static_value(nv_reader *r, uint32_t node, const nv_static *st, nv_binding *b) {
  static const char *const want[] = {"a whole number", "a number", "true or false", "a text", "one of its choices"};
  nv_doc_kind kind = nv_kind_at(r, node);
  bool text = st->kind >= NV_STATIC_STRING && nv_is_textual(r, node);
  bool fits = st->kind == NV_STATIC_INT     ? kind == NV_DOC_INT
              : st->kind == NV_STATIC_FLOAT ? kind == NV_DOC_INT || kind == NV_DOC_FLOAT
              : st->kind == NV_STATIC_BOOL  ? kind == NV_DOC_BOOL
                                            : text;
  const char *hint = "";
  if (fits && st->kind == NV_STATIC_ENUM) {
    const char **names = NV_NEW_N(r->c, const char *, st->nchoices + 1u);
    nv_str name = nv_str_at(r, node);
    fits = false;
    for (uint32_t k = 0; k < st->nchoices; k++) {
      fits = fits || st->choices[k] == name;
      names[k] = nv_text(r->c, st->choices[k]);
    }
    if (!fits) hint = nv_suggest(r->c, nv_text_at(r, node), names, st->nchoices);
  }
  if (!fits) {
    NV_AT_ERROR(r, node, "static '%s': expected %s, found %s%s", nv_shown_str(r->c, st->name), want[st->kind],
                kind < NV_DOC_LIST ? nv_format(r->c, "'%s'", nv_shown_at(r, node)) : nv_found(r, node), hint);
    return false;
  }
  b->value = text ? nv_ast_new(r->s, NV_AST_STRING, 0, nv_at(r, node), nv_str_at(r, node)) : nv_read_literal(r, node);
  if (b->value != NV_NONE && st->kind == NV_STATIC_FLOAT) r->s->ast[b->value].kind = NV_AST_FLOAT;
  return b->value != NV_NONE;
}

static bool read_dtype_value(nv_reader *r, uint32_t node, const nv_dtype_decl *d, nv_binding *b) {
  int dtype = nv_read_dtype(r, node);
  if (dtype < 0) return false;
  if (!nv_is((nv_dtype)dtype, d->allowed)) {
    NV_AT_ERROR(r, node, "%s is none of the dtypes of '%s'", nv_dtype_name[dtype], nv_shown_str(r->c, d->name));
    return false;
  }
  b->value = nv_ast_new(r->s, NV_AST_DTYPE, (unsigned)dtype, nv_at(r, node), NV_NONE);
  return true;
}

/* The value of a path: a type, or a word or number that is a variant or a static field's value. */
static bool read_path_value(nv_reader *r, uint32_t node, nv_binding *b) {
  nv_doc_kind kind = nv_kind_at(r, node);
  bool text = nv_is_textual(r, node);
  if (kind == NV_DOC_INT || kind == NV_DOC_FLOAT || kind == NV_DOC_BOOL) {
    b->value = nv_read_literal(r, node);
    return b->value != NV_NONE;
  }
  if (text) {
    static const char *const classes[] = {"any", "float", "int", "number"};
    int dtype = nv_dtype_find(nv_text_at(r, node), nv_length_at(r, node));
    bool word =
        nv_is_ident(nv_text_at(r, node), nv_length_at(r, node)) && nv_named_type(r, nv_str_at(r, node)) == NV_NONE;
    for (size_t k = 0; k < 4; k++) word = word && !nv_text_is(r, node, classes[k]);
    b->value = dtype >= 0 ? nv_ast_new(r->s, NV_AST_DTYPE, (unsigned)dtype, nv_at(r, node), NV_NONE)
                          : nv_ast_new(r->s, NV_AST_STRING, 0, nv_at(r, node), nv_str_at(r, node));
    if (word) return true;
  }
  b->type = nv_read_type(r, node);
  return b->type != NV_NONE;
}

/* key without the blanks that a path may hold */
static nv_str path_key(nv_reader *r, uint32_t key) {
  char *s = nv_alloc(r->c, nv_length_at(r, key) + 1u);
  size_t n = 0;
  for (const char *t = nv_text_at(r, key); *t; t++)
    if (*t != ' ') s[n++] = *t;
  return nv_intern(r->c, s, n);
}

static bool read_binding(nv_reader *r, const name_set *sizes, uint32_t key, uint32_t node, nv_binding *b) {
  const nv_function *f = r->f;
  nv_str name = nv_str_at(r, key);
  *b = (nv_binding){name, nv_at(r, key), nv_at(r, node), NV_NONE, NV_NONE};
  const nv_decl *d = find_decl(r, name);
  if (d && d->kind == NV_DECL_STATIC) return read_static_value(r, node, &f->statics[d->index], b);
  if (d && d->kind == NV_DECL_DTYPE) return read_dtype_value(r, node, &f->dtypes[d->index], b);
  if (d && d->kind == NV_DECL_DIM) return read_dim_value(r, node, &f->dims[d->index], b);
  if (has_name(sizes, name)) return read_dim_value(r, node, NULL, b);
  nv_ast path = nv_read_path(r, key), base = path;
  while (base != NV_NONE && r->s->ast[base].kind != NV_AST_NAME) base = r->s->ast[base].first;
  if (base != NV_NONE && is_input(r, r->s->ast[base].text)) {
    b->key = path_key(r, key);
    return read_path_value(r, node, b);
  }
  size_t n = 0;
  const char **names =
      NV_NEW_N(r->c, const char *, (size_t)f->nstatics + f->ndtypes + f->ndims + sizes->n + f->ninputs + 1);
  for (uint32_t k = 0; k < f->nstatics; k++) names[n++] = nv_text(r->c, f->statics[k].name);
  for (uint32_t k = 0; k < f->ndtypes; k++) names[n++] = nv_text(r->c, f->dtypes[k].name);
  for (uint32_t k = 0; k < f->ndims; k++) names[n++] = nv_text(r->c, f->dims[k].name);
  for (uint32_t k = 0; k < sizes->n; k++) names[n++] = sizes->text[k];
  for (uint32_t k = 0; k < f->ninputs; k++) names[n++] = nv_text(r->c, f->inputs[k].name);
  NV_AT_ERROR(r, key, "'%s' is no dim, static, dtype variable or input of '%s'%s", nv_shown_at(r, key),
              nv_shown_str(r->c, f->name), nv_suggest(r->c, nv_text_at(r, key), names, n));
  return false;
}

/* Every static without a default needs a value. */
static void check_statics(nv_reader *r, const nv_signature *sig, bool declared) {
  const nv_function *f = r->f;
  bool *bound = NV_NEW_N(r->c, bool, f->nstatics + 1u);
  for (uint32_t i = 0; i < sig->nbindings; i++) {
    const nv_decl *d = find_decl(r, sig->bindings[i].key);
    if (d && d->kind == NV_DECL_STATIC) bound[d->index] = true;
  }
  for (uint32_t k = 0; k < f->nstatics; k++) {
    const nv_static *st = &f->statics[k];
    if (bound[k] || st->default_ != NV_NONE) continue;
    nv_error(r->c, sig->pos,
             declared ? "static '%s' has no value in this signature"
                      : "static '%s' has no value: give it in a signature",
             nv_shown_str(r->c, st->name));
    if (st->pos.node != sig->pos.node) nv_note(r->c, st->pos, "declared here, without a default");
  }
}

static void read_signatures(nv_reader *r, uint32_t node, nv_entry *e) {
  nv_function *f = r->f;
  name_set sizes = {.c = r->c};
  if (!nv_expect(r, node, NV_DOC_LIST, "signatures")) return;
  if (!nv_count_at(r, node)) NV_AT_ERROR(r, node, "signatures: expected at least one");
  nv_begin_walk(r);
  for (uint32_t k = 0; k < f->ninputs; k++) nv_each_size_name(r, f->inputs[k].type, add_name, &sizes);
  e->signatures = NV_NEW_N(r->c, nv_signature, nv_count_at(r, node) + 1u);
  for (uint32_t k = nv_first_at(r, node); k != NV_NONE && !is_enough(r); k = nv_next_at(r, k)) {
    nv_signature *sig = &e->signatures[e->nsignatures++];
    *sig = (nv_signature){nv_at(r, k), NULL, 0};
    if (!nv_expect(r, k, NV_DOC_MAP, "a signature")) continue;
    sig->bindings = NV_NEW_N(r->c, nv_binding, nv_count_at(r, k) / 2 + 1u);
    for (uint32_t key = nv_first_at(r, k), value; key != NV_NONE && !is_enough(r); key = nv_next_at(r, value)) {
      value = nv_next_at(r, key);
      if (nv_is_tool_key(r, key)) continue;
      if (read_binding(r, &sizes, key, value, &sig->bindings[sig->nbindings])) sig->nbindings++;
    }
  }
  drop_names(&sizes);
}

/* ---- entries ---- */

enum { FUNCTION, STYLE, SHAPELESS, STATE, DONATE, BIND, CACHE, MODE, SIGNATURES, NKEYS };
static const char *const entry_keys[] = {"function", "style",          "shapeless",  "state",     "donate",
                                         "bind",     "cache_capacity", "state_mode", "signatures"};

/* A list of inputs of the entry's function. */
static void read_input_list(nv_reader *r, uint32_t node, const char *what, nv_str **names, nv_pos **pos,
                            uint32_t *n) {
  const nv_function *f = r->f;
  if (node == NV_NONE || !nv_expect(r, node, NV_DOC_LIST, what)) return;
  *names = NV_NEW_N(r->c, nv_str, nv_count_at(r, node) + 1u);
  *pos = NV_NEW_N(r->c, nv_pos, nv_count_at(r, node) + 1u);
  for (uint32_t k = nv_first_at(r, node); k != NV_NONE && !is_enough(r); k = nv_next_at(r, k)) {
    if (!nv_is_textual(r, k)) {
      NV_AT_ERROR(r, k, "%s: expected the name of an input, found %s", what, nv_found(r, k));
      continue;
    }
    nv_str name = nv_str_at(r, k);
    if (!is_input(r, name)) {
      const char **all = NV_NEW_N(r->c, const char *, f->ninputs + 1u);
      for (uint32_t i = 0; i < f->ninputs; i++) all[i] = nv_text(r->c, f->inputs[i].name);
      if (!f->broken)
        NV_AT_ERROR(r, k, "%s: '%s' is no input of '%s'%s", what, nv_shown_at(r, k), nv_shown_str(r->c, f->name),
                    nv_suggest(r->c, nv_text_at(r, k), all, f->ninputs));
      continue;
    }
    (*names)[*n] = name;
    (*pos)[(*n)++] = nv_at(r, k);
  }
}

/* An input stands once among state, donate and bind. */
static void check_lists(nv_reader *r, const nv_entry *e) {
  name_set seen = {.c = r->c};
  const nv_str *lists[] = {e->state, e->donate, e->bind};
  const nv_pos *places[] = {e->state_pos, e->donate_pos, e->bind_pos};
  const uint32_t counts[] = {e->nstate, e->ndonate, e->nbind};
  static const char *const words[] = {"state", "donate", "bind"};
  for (uint32_t l = 0; l < 3; l++)
    for (uint32_t i = 0; i < counts[l]; i++) {
      if (has_name(&seen, lists[l][i]))
        nv_error(r->c, places[l][i], "%s: '%s' stands in state, donate or bind already", words[l],
                 nv_shown_str(r->c, lists[l][i]));
      add_name(&seen, lists[l][i], places[l][i]);
    }
  drop_names(&seen);
}

/* Every state has an output of its name. */
static void check_state(nv_reader *r, const nv_entry *e) {
  const nv_function *f = r->f;
  nv_spec *s = r->s;
  name_set outputs = {.c = r->c};
  bool map = f->outputs_kind == NV_OUT_MAP;
  if (f->broken || f->outputs == NV_NONE) return;
  for (nv_ast a = map ? s->ast[f->outputs].first : NV_NONE; a != NV_NONE; a = s->ast[a].next)
    add_name(&outputs, s->ast[a].text, s->ast[a].pos);
  for (uint32_t k = 0; k < e->nstate; k++) {
    if (has_name(&outputs, e->state[k])) continue;
    nv_error(r->c, e->state_pos[k], "state '%s' has no output of that name: its next value%s",
             nv_shown_str(r->c, e->state[k]), map ? "" : " (outputs must be a map)");
    nv_note(r->c, s->ast[f->outputs].pos, "outputs of '%s'", nv_shown_str(r->c, f->name));
  }
  drop_names(&outputs);
}

/* The text of node among words (k of them), or -1 with an error. */
static int read_word(nv_reader *r, uint32_t node, const char *what, const char *const *words, size_t k) {
  for (size_t i = 0; i < k; i++)
    if (nv_is_textual(r, node) && nv_text_is(r, node, words[i])) return (int)i;
  NV_AT_ERROR(r, node, "%s: expected %s%s%s or %s, found %s%s", what, words[0], k > 2 ? ", " : "",
              k > 2 ? words[1] : "", words[k - 1],
              nv_is_textual(r, node) ? nv_format(r->c, "'%s'", nv_shown_at(r, node)) : nv_found(r, node),
              nv_is_textual(r, node) ? nv_suggest(r->c, nv_text_at(r, node), words, k) : "");
  return -1;
}

static nv_function *find_entry_function(nv_reader *r, uint32_t key, uint32_t node) {
  uint32_t at = node == NV_NONE ? key : node, k;
  if (!nv_is_textual(r, at)) {
    NV_AT_ERROR(r, at, "function: expected a name, found %s", nv_found(r, at));
    return NULL;
  }
  k = nv_find_function(r, nv_str_at(r, at), false);
  if (k != NV_NONE) return &r->s->functions[k];
  size_t n;
  const char **names = function_names(r, &n);
  NV_AT_ERROR(r, at, "no function is named '%s'%s", nv_shown_at(r, at),
              nv_suggest(r->c, nv_text_at(r, at), names, n));
  return NULL;
}

static void add_entry(nv_reader *r, const nv_entry *e) {
  NV_GROW(r->c, r->s->entries, r->s->entries_cap, (size_t)r->s->nentries + 1);
  r->s->entries[r->s->nentries++] = *e;
}

static void one_signature(nv_reader *r, nv_entry *e) {
  e->signatures = NV_NEW(r->c, nv_signature);
  e->nsignatures = 1;
  e->signatures[0].pos = e->pos;
}

static void read_entry(nv_reader *r, uint32_t key, uint32_t node) {
  static const char *const styles[] = {"tree", "flat", "mut"}, *const modes[] = {"commit", "in-place"};
  uint32_t v[NKEYS], before = r->c->errors;
  nv_entry e = {.pos = nv_at(r, key), .cache_capacity = 8, .declared = true};
  if (!nv_check_name(r, key, "entry") || !nv_read_keys(r, node, "an entry", entry_keys, NKEYS, v)) return;
  nv_function *f = find_entry_function(r, key, v[FUNCTION]);
  if (!f) return;
  r->f = f;
  e.name = nv_str_at(r, key);
  e.function = f->name;
  e.function_pos = nv_at(r, v[FUNCTION] == NV_NONE ? key : v[FUNCTION]);
  int style = v[STYLE] == NV_NONE ? 0 : read_word(r, v[STYLE], "style", styles, 3);
  e.style = style < 0 ? NV_STYLE_MUT : (nv_style)style;
  if (v[SHAPELESS] != NV_NONE) nv_read_bool(r, v[SHAPELESS], "shapeless", &e.shapeless);
  if (v[CACHE] != NV_NONE) nv_read_int(r, v[CACHE], "cache_capacity", 0, 1 << 20, &e.cache_capacity);
  if (v[MODE] != NV_NONE) e.in_place = read_word(r, v[MODE], "state_mode", modes, 2) == 1;
  read_input_list(r, v[STATE], "state", &e.state, &e.state_pos, &e.nstate);
  read_input_list(r, v[DONATE], "donate", &e.donate, &e.donate_pos, &e.ndonate);
  read_input_list(r, v[BIND], "bind", &e.bind, &e.bind_pos, &e.nbind);
  if (e.style != NV_STYLE_MUT && v[STATE] != NV_NONE)
    NV_AT_ERROR(r, v[STATE], "state: stands in an entry of style mut only");
  else if (e.style != NV_STYLE_MUT && v[MODE] != NV_NONE)
    NV_AT_ERROR(r, v[MODE], "state_mode: stands in an entry of style mut only");
  else if (style == NV_STYLE_MUT && v[STATE] == NV_NONE)
    NV_AT_ERROR(r, v[STYLE], "an entry of style mut needs state: (inputs that it replaces)");
  else if (style == NV_STYLE_MUT)
    check_state(r, &e);
  check_lists(r, &e);
  if (v[SIGNATURES] != NV_NONE && !f->broken)
    read_signatures(r, v[SIGNATURES], &e);
  else
    one_signature(r, &e);
  if (!f->broken && r->c->errors == before)
    for (uint32_t k = 0; k < e.nsignatures; k++) check_statics(r, &e.signatures[k], v[SIGNATURES] != NV_NONE);
  r->f = NULL;
  if (r->c->errors == before && !f->broken) add_entry(r, &e);
}

/* Without entries: every function that no other calls. */
static void default_entries(nv_reader *r) {
  nv_spec *s = r->s;
  bool any = false;
  for (uint32_t k = 0; k < s->nfunctions; k++) {
    nv_function *f = &s->functions[k];
    if (f->builtin || f->called) continue;
    any = true;
    if (f->broken) continue;
    const char *reason = NULL;
    uint32_t i = 0, before = r->c->errors;
    nv_begin_walk(r);
    for (; i < f->ninputs && !reason; i++) reason = nv_template_reason(r, f->inputs[i].type);
    if (reason) {
      nv_error(r->c, f->inputs[i - 1].pos,
               "'%s' %s, so '%s' can't be an entry: give it a fixed type, or list the entries under entries:",
               nv_shown_str(r->c, f->inputs[i - 1].name), reason, nv_shown_str(r->c, f->name));
      continue;
    }
    nv_entry e = {.name = f->name, .function = f->name, .pos = f->pos, .function_pos = f->pos, .cache_capacity = 8};
    one_signature(r, &e);
    r->f = f;
    check_statics(r, &e.signatures[0], false);
    r->f = NULL;
    if (r->c->errors == before) add_entry(r, &e);
  }
  if (!any && !r->c->errors)
    nv_bug(r->c, "every function is called by another, and none is in a circle");
}

/* Each entry under each signature is a program with kernels and a stub of its own. */
static void count_programs(nv_reader *r) {
  enum { MAX_PROGRAMS = 4096 };
  uint64_t n = 0;
  for (uint32_t k = 0; k < r->s->nentries; k++) {
    n += r->s->entries[k].nsignatures;
    if (n <= MAX_PROGRAMS) continue;
    nv_error(r->c, r->s->entries[k].pos, "more than %d entries (each signature of one counts)", MAX_PROGRAMS);
    r->s->nentries = 0;
  }
}

static void read_entries(nv_reader *r, uint32_t map) {
  if (map == NV_NONE) {
    default_entries(r);
    return;
  }
  if (!nv_expect(r, map, NV_DOC_MAP, "entries")) return;
  if (!nv_count_at(r, map)) NV_AT_ERROR(r, map, "entries: expected at least one");
  for (uint32_t key = nv_first_at(r, map), value; key != NV_NONE && !is_enough(r); key = nv_next_at(r, value)) {
    value = nv_next_at(r, key);
    if (!nv_is_tool_key(r, key)) read_entry(r, key, value);
  }
}

void nv_read_entries(nv_reader *r, uint32_t map) {
  read_entries(r, map);
  count_programs(r);
}
