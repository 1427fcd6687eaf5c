/* program.c - a document to a spec: its keys, constants, functions. */
#include "parse.h"

extern const char nv_embed_composites[];
extern const size_t nv_embed_composites_size;

/* ---- constants ---- */

static bool read_text(nv_reader *r, uint32_t node, const char *what, nv_str *out) {
  if (node == NV_NONE) return true;
  if (!nv_is_textual(r, node)) {
    NV_AT_ERROR(r, node, "%s: expected a text, found %s", what, nv_found(r, node));
    return false;
  }
  *out = nv_str_at(r, node);
  return true;
}

static void read_constants(nv_reader *r, uint32_t map) {
  static const char *const keys[] = {"value", "dtype", "file", "tensor"};
  if (map == NV_NONE || !nv_expect(r, map, NV_DOC_MAP, "constants")) return;
  for (uint32_t key = nv_first_at(r, map), value; key != NV_NONE; key = nv_next_at(r, value)) {
    uint32_t v[4], before = r->c->errors;
    value = nv_next_at(r, key);
    if (nv_is_tool_key(r, key)) continue;
    nv_check_name(r, key, "constant");
    if (!nv_read_keys(r, value, "a constant", keys, 4, v)) continue;
    nv_constant k = {.name = nv_str_at(r, key),
                     .pos = nv_at(r, key),
                     .value = NV_NONE,
                     .file = NV_NONE,
                     .tensor = NV_NONE,
                     .dtype = -1};
    if (v[1] != NV_NONE) k.dtype_pos = nv_at(r, v[1]);
    if (v[2] != NV_NONE) k.file_pos = nv_at(r, v[2]);
    if (v[3] != NV_NONE) k.tensor_pos = nv_at(r, v[3]);
    if ((v[0] == NV_NONE) == (v[2] == NV_NONE))
      NV_AT_ERROR(r, value, "a constant has either a value or a file");
    else if (v[0] != NV_NONE && v[1] == NV_NONE)
      NV_AT_ERROR(r, value, "a constant with a value needs a dtype");
    else if (v[0] != NV_NONE && v[3] != NV_NONE)
      NV_AT_ERROR(r, v[3], "tensor: stands beside file only");
    if (r->c->errors != before) continue;
    if (v[1] != NV_NONE) k.dtype = nv_read_dtype(r, v[1]);
    if (v[0] != NV_NONE) k.value = nv_read_const(r, v[0], v[0], k.dtype);
    read_text(r, v[2], "file", &k.file);
    read_text(r, v[3], "tensor", &k.tensor);
    if (r->c->errors != before) continue;
    NV_GROW(r->c, r->s->constants, r->s->constants_cap, (size_t)r->s->nconstants + 1);
    nv_map_add(r->c, &r->constants, nv_str_hash(k.name), r->s->nconstants);
    r->s->constants[r->s->nconstants++] = k;
  }
}

static uint32_t find_constant(const nv_reader *r, nv_str name) {
  uint32_t at = 0, k;
  while ((k = nv_map_next(&r->constants, nv_str_hash(name), &at)) != NV_NONE)
    if (r->s->constants[k].name == name) return k;
  return NV_NONE;
}

/* ---- a function's declarations ---- */

static uint64_t decl_hash(uint32_t function, nv_str name) {
  const uint32_t key[2] = {function, name};
  return nv_hash(key, sizeof key, 0);
}

const nv_decl *nv_find_decl(const nv_reader *r, uint32_t function, nv_str name) {
  uint32_t at = 0, k;
  while ((k = nv_map_next(&r->declared, decl_hash(function, name), &at)) != NV_NONE)
    if (r->decls[k].name == name && r->decls[k].function == function) return &r->decls[k];
  return NULL;
}

static const char *const decl_words[] = {[NV_DECL_DTYPE] = "dtype variable",
                                         [NV_DECL_DIM] = "dim",
                                         [NV_DECL_STATIC] = "static",
                                         [NV_DECL_INPUT] = "input"};

/* Checks key as a new name of the function that is being read, and enters it. */
static bool new_name(nv_reader *r, uint32_t key, nv_decl_kind kind, uint32_t index) {
  if (!nv_check_name(r, key, decl_words[kind])) return false;
  nv_str name = nv_str_at(r, key);
  uint32_t function = r->s->nfunctions, constant = r->mark ? NV_NONE : find_constant(r, name);
  const nv_decl *other = nv_find_decl(r, function, name);
  if (other || constant != NV_NONE) {
    NV_AT_ERROR(r, key, "'%s' is declared already (%s)", nv_shown_str(r->c, name),
                other ? decl_words[other->kind] : "constant");
    nv_note(r->c, other ? other->pos : r->s->constants[constant].pos, "declared here");
    return false;
  }
  NV_GROW(r->c, r->decls, r->decls_cap, (size_t)r->ndecls + 1);
  r->decls[r->ndecls] = (nv_decl){function, name, kind, index, nv_at(r, key)};
  nv_map_add(r->c, &r->declared, decl_hash(function, name), r->ndecls++);
  return true;
}

static void read_dtypes(nv_reader *r, uint32_t map) {
  nv_function *f = r->f;
  if (map == NV_NONE || !nv_expect(r, map, NV_DOC_MAP, "dtypes")) return;
  f->dtypes = NV_NEW_N(r->c, nv_dtype_decl, nv_count_at(r, map) / 2 + 1u);
  for (uint32_t key = nv_first_at(r, map), value; key != NV_NONE; key = nv_next_at(r, value)) {
    value = nv_next_at(r, key);
    if (nv_is_tool_key(r, key) || !new_name(r, key, NV_DECL_DTYPE, f->ndtypes)) continue;
    nv_dtype_decl *d = &f->dtypes[f->ndtypes++];
    *d = (nv_dtype_decl){nv_str_at(r, key), nv_at(r, key), 0};
    if (!nv_expect(r, value, NV_DOC_LIST, "a dtype variable")) continue;
    for (uint32_t k = nv_first_at(r, value); k != NV_NONE; k = nv_next_at(r, k)) {
      int dtype = nv_read_dtype(r, k);
      if (dtype >= 0) d->allowed |= NV_BIT(dtype);
    }
    if (!nv_count_at(r, value)) NV_AT_ERROR(r, value, "a dtype variable without dtypes");
  }
}

static void read_dims(nv_reader *r, uint32_t map) {
  static const char *const keys[] = {"min", "max", "multiple_of"};
  const int64_t most = INT64_C(1) << 48;
  nv_function *f = r->f;
  if (map == NV_NONE || !nv_expect(r, map, NV_DOC_MAP, "dims")) return;
  f->dims = NV_NEW_N(r->c, nv_dim_decl, nv_count_at(r, map) / 2 + 1u);
  for (uint32_t key = nv_first_at(r, map), value; key != NV_NONE; key = nv_next_at(r, value)) {
    value = nv_next_at(r, key);
    if (nv_is_tool_key(r, key) || !new_name(r, key, NV_DECL_DIM, f->ndims)) continue;
    nv_dim_decl *d = &f->dims[f->ndims++];
    *d = (nv_dim_decl){nv_str_at(r, key), nv_at(r, key), -1, 0, most, 1};
    if (nv_kind_at(r, value) != NV_DOC_MAP) {
      nv_read_int(r, value, "a dim", 0, most, &d->value);
      continue;
    }
    uint32_t v[3];
    nv_read_keys(r, value, "a dim", keys, 3, v);
    if (v[0] != NV_NONE) nv_read_int(r, v[0], "min", 0, most, &d->min);
    if (v[1] != NV_NONE) nv_read_int(r, v[1], "max", 0, most, &d->max);
    if (v[2] != NV_NONE) nv_read_int(r, v[2], "multiple_of", 1, most, &d->multiple_of);
    if (d->min > d->max) NV_AT_ERROR(r, v[1] != NV_NONE ? v[1] : v[0], "min is above max");
  }
}

static void read_statics(nv_reader *r, uint32_t map) {
  nv_function *f = r->f;
  if (map == NV_NONE || !nv_expect(r, map, NV_DOC_MAP, "static")) return;
  f->statics = NV_NEW_N(r->c, nv_static, nv_count_at(r, map) / 2 + 1u);
  for (uint32_t key = nv_first_at(r, map), value; key != NV_NONE; key = nv_next_at(r, value)) {
    nv_static st;
    value = nv_next_at(r, key);
    if (nv_is_tool_key(r, key) || !new_name(r, key, NV_DECL_STATIC, f->nstatics) || !nv_read_static(r, value, &st))
      continue;
    st.name = nv_str_at(r, key);
    st.pos = nv_at(r, key);
    f->statics[f->nstatics++] = st;
  }
}

static void read_input(nv_reader *r, uint32_t key, uint32_t value) {
  nv_function *f = r->f;
  if (nv_is_tool_key(r, key)) return;
  bool fresh = new_name(r, key, NV_DECL_INPUT, f->ninputs);
  nv_type t = nv_read_type(r, value);
  if (fresh && t != NV_NONE) f->inputs[f->ninputs++] = (nv_param){nv_str_at(r, key), nv_at(r, key), t};
}

static void read_inputs(nv_reader *r, uint32_t node) {
  nv_function *f = r->f;
  bool list = nv_kind_at(r, node) == NV_DOC_LIST;
  if (!list && !nv_expect(r, node, NV_DOC_MAP, "inputs")) return;
  f->inputs = NV_NEW_N(r->c, nv_param, nv_count_at(r, node) + 1u);
  for (uint32_t k = nv_first_at(r, node), next; k != NV_NONE; k = next) {
    uint32_t value = list ? k : nv_next_at(r, k);
    next = nv_next_at(r, value);
    if (nv_split_at_comma(r, node, value, &next)) continue;
    if (!list)
      read_input(r, k, value);
    else if (nv_kind_at(r, k) != NV_DOC_MAP || nv_count_at(r, k) != 2)
      NV_AT_ERROR(r, k, "inputs: a list holds maps of one name to one type, like {x: float32}");
    else
      read_input(r, nv_first_at(r, k), nv_next_at(r, nv_first_at(r, k)));
  }
}

/* A size's name must not be an input's, a dtype variable's or a constant's. */
static void check_size_name(void *arg, nv_str name, nv_pos pos) {
  nv_reader *r = arg;
  const nv_decl *d = nv_find_decl(r, r->s->nfunctions, name);
  bool constant = !d && !r->mark && find_constant(r, name) != NV_NONE;
  if (constant || (d && (d->kind == NV_DECL_INPUT || d->kind == NV_DECL_DTYPE)))
    nv_error(r->c, pos, "'%s' is a size here, but declared as something else (%s)", nv_shown_str(r->c, name),
             d ? decl_words[d->kind] : "constant");
}

static void read_function(nv_reader *r, uint32_t key, uint32_t node) {
  static const char *const keys[] = {"doc", "dtypes", "dims", "static", "inputs", "nodes", "outputs"};
  enum { DOC, DTYPES, DIMS, STATIC, INPUTS, NODES, OUTPUTS, NKEYS };
  nv_spec *s = r->s;
  uint32_t v[NKEYS], before = r->c->errors;
  nv_function f = {.name = nv_str_at(r, key), .pos = nv_at(r, key), .builtin = r->mark != 0, .outputs = NV_NONE};
  nv_str ignored;
  nv_ast first = s->nast;
  r->f = &f;
  if (nv_read_keys(r, node, "a function", keys, NKEYS, v)) {
    bool misspelt = r->c->errors != before; /* maybe the key that is missing */
    read_text(r, v[DOC], "doc", &ignored);
    read_dtypes(r, v[DTYPES]);
    read_dims(r, v[DIMS]);
    read_statics(r, v[STATIC]);
    if (v[INPUTS] != NV_NONE)
      read_inputs(r, v[INPUTS]);
    else if (!misspelt)
      NV_AT_ERROR(r, key, "function '%s' without inputs", nv_shown_at(r, key));
    nv_begin_walk(r);
    for (uint32_t k = 0; k < f.ninputs; k++) nv_each_size_name(r, f.inputs[k].type, check_size_name, r);
    f.broken = r->c->errors != before;
    if (v[NODES] != NV_NONE && !nv_read_program(r, v[NODES], &f.body)) f.broken = true;
    if (v[OUTPUTS] == NV_NONE && !misspelt) NV_AT_ERROR(r, key, "function '%s' without outputs", nv_shown_at(r, key));
    if (v[OUTPUTS] == NV_NONE || !nv_read_outputs(r, v[OUTPUTS])) f.broken = true;
  } else {
    f.broken = true;
  }
  nv_map_drop(r->c, &r->odd_names);
  r->odd_names = (nv_map){0};
  r->f = NULL;
  NV_GROW(r->c, s->functions, s->functions_cap, (size_t)s->nfunctions + 1);
  nv_map_add(r->c, r->mark ? &r->builtin : &r->user, nv_str_hash(f.name), s->nfunctions);
  NV_GROW(r->c, r->ranges, r->ranges_cap, (size_t)s->nfunctions + 1);
  r->ranges[s->nfunctions] = (nv_ast_range){first, s->nast};
  s->functions[s->nfunctions++] = f;
}

static void read_functions(nv_reader *r, uint32_t map) {
  if (!nv_expect(r, map, NV_DOC_MAP, "functions")) return;
  for (uint32_t key = nv_first_at(r, map), value; key != NV_NONE; key = nv_next_at(r, value)) {
    value = nv_next_at(r, key);
    if (nv_is_tool_key(r, key)) continue;
    if (nv_check_name(r, key, "function")) read_function(r, key, value);
    if (r->c->errors >= NV_MAX_ERRORS) return;
  }
}

/* ---- the document ---- */

static void read_version(nv_reader *r, uint32_t node) {
  if (node == NV_NONE)
    NV_AT_ERROR(r, 0, "a spec without 'nuvec: 1', its version");
  else if (nv_kind_at(r, node) != NV_DOC_INT)
    NV_AT_ERROR(r, node, "nuvec: expected the version, 1, found %s", nv_found(r, node));
  else if (!nv_text_is(r, node, "1"))
    NV_AT_ERROR(r, node, "nuvec: version %s is not known: this compiler reads version 1", nv_shown_at(r, node));
}

static void read_name(nv_reader *r, uint32_t node) {
  if (node == NV_NONE) return;
  if (!nv_is_textual(r, node) || !nv_length_at(r, node))
    NV_AT_ERROR(r, node, "name: expected a text, found %s",
                nv_is_textual(r, node) ? "an empty one" : nv_found(r, node));
  else if (nv_length_at(r, node) > 255)
    NV_AT_ERROR(r, node, "the name '%s' has %u bytes: 255 at most", nv_shown_at(r, node), nv_length_at(r, node));
  else if (memchr(nv_text_at(r, node), 0, nv_length_at(r, node)))
    NV_AT_ERROR(r, node, "a name with a control character");
  else {
    r->s->name = nv_str_at(r, node);
    r->s->name_pos = nv_at(r, node);
  }
}

enum { NUVEC, NAME, DOC, TYPES, CONSTANTS, FUNCTIONS, ENTRIES, NKEYS };
static const char *const document_keys[] = {"nuvec", "name", "doc", "types", "constants", "functions", "entries"};

static void read_builtin(nv_reader *r, nv_doc *user) {
  nv_ctx *c = r->c;
  uint32_t v[NKEYS], errors = c->errors;
  c->builtin = nv_doc_read(c, "<built-in>", NUVECC_FORMAT_YAML, nv_embed_composites, nv_embed_composites_size);
  c->doc = user;
  if (!c->builtin) nv_bug(c, "specs/composites.yaml is not YAML");
  r->d = c->builtin;
  r->mark = NV_BUILTIN;
  if (!nv_read_keys(r, 0, "a spec", document_keys, NKEYS, v) || v[FUNCTIONS] == NV_NONE)
    nv_bug(c, "specs/composites.yaml has no functions");
  read_functions(r, v[FUNCTIONS]);
  if (c->errors != errors) nv_bug(c, "specs/composites.yaml: %s", c->ndiags ? c->diags[c->ndiags - 1].text : "");
  r->d = user;
  r->mark = 0;
}

nv_spec *nv_spec_parse(nv_ctx *c, nv_doc *doc) {
  nv_spec *s = NV_NEW(c, nv_spec);
  nv_reader *r = NV_NEW(c, nv_reader);
  uint32_t v[NKEYS];
  nv_str ignored;
  s->c = c;
  s->name = NV_NONE;
  *r = (nv_reader){.c = c, .s = s, .d = doc};
  if (nv_kind_at(r, 0) != NV_DOC_MAP) {
    NV_AT_ERROR(r, 0, "a spec is a map (nuvec: 1, functions: …), found %s", nv_found(r, 0));
    return NULL;
  }
  read_builtin(r, doc);
  uint32_t before = c->errors;
  nv_read_keys(r, 0, "a spec", document_keys, NKEYS, v);
  bool misspelt = c->errors != before; /* maybe the key that is missing */
  before = c->errors;
  if (v[NUVEC] != NV_NONE || !misspelt) read_version(r, v[NUVEC]);
  if (c->errors != before && v[NUVEC] != NV_NONE) return NULL; /* another version is another language */
  read_name(r, v[NAME]);
  read_text(r, v[DOC], "doc", &ignored);
  nv_read_named_types(r, v[TYPES]);
  r->types_read = true;
  read_constants(r, v[CONSTANTS]);
  uint32_t builtins = s->nfunctions;
  if (v[FUNCTIONS] != NV_NONE)
    read_functions(r, v[FUNCTIONS]);
  else if (!misspelt)
    NV_AT_ERROR(r, 0, "a spec without functions");
  if (s->nfunctions == builtins) {
    if (v[FUNCTIONS] != NV_NONE && c->errors == before) NV_AT_ERROR(r, v[FUNCTIONS], "a spec without functions");
    return NULL;
  }
  nv_check_calls(r);
  nv_read_entries(r, v[ENTRIES]);
  nv_map_drop(c, &r->declared);
  nv_drop(c, r->decls);
  nv_drop(c, r->ranges);
  nv_drop(c, r->marks);
  nv_drop(c, r->stack);
  return s;
}
