/* types.c - types: "float32[B, 3]", the maps and lists of the tree types, statics. */
#include "parse.h"

static const char *const class_names[] = {
    [NV_CLASS_ANY] = "any", [NV_CLASS_FLOAT] = "float", [NV_CLASS_INT] = "int", [NV_CLASS_NUMBER] = "number"};

static nv_type new_type(nv_spec *s, nv_type_kind kind, nv_pos pos) {
  NV_GROW(s->c, s->types, s->types_cap, (size_t)s->ntypes + 1);
  s->types[s->ntypes] = (nv_type_node){.kind = kind,
                                       .pos = pos,
                                       .dtype = -1,
                                       .variable = NV_NONE,
                                       .trainable = true,
                                       .first_dim = s->ntype_dims,
                                       .name = NV_NONE,
                                       .count = NV_NONE,
                                       .of = NV_NONE,
                                       .first_field = s->nfields,
                                       .default_variant = NV_NONE,
                                       .static_ = NV_NONE};
  return s->ntypes++;
}

static void add_dim(nv_spec *s, nv_type t, nv_dim_kind kind, nv_ast expr, nv_pos pos) {
  NV_GROW(s->c, s->type_dims, s->type_dims_cap, (size_t)s->ntype_dims + 1);
  s->type_dims[s->ntype_dims++] = (nv_type_dim){kind, expr, pos};
  s->types[t].ndims++;
}

/* ---- the text form ---- */

/* One dim from the current token on, up to the comma, the bracket or the end. */
static bool parse_dim(nv_parser *p, nv_type t) {
  nv_pos pos = nv_parser_pos(p, p->start);
  if (p->s->types[t].ndims == NV_MAX_RANK)
    return nv_parse_error(p, p->start, "more than %d dims: the highest rank is %d", NV_MAX_RANK, NV_MAX_RANK);
  if (p->tok == NV_T_ELLIPSIS || p->tok == NV_T_QUESTION) {
    bool any = p->tok == NV_T_ELLIPSIS;
    if (any && p->s->types[t].ndims) return nv_parse_error(p, p->start, "'...' stands first, once");
    add_dim(p->s, t, any ? NV_DIM_ELLIPSIS : NV_DIM_OPEN, NV_NONE, pos);
    nv_lex(p);
    return true;
  }
  nv_ast x = nv_parse_expression(p);
  if (x == NV_NONE) return false;
  add_dim(p->s, t, NV_DIM_EXPR, x, pos);
  return true;
}

static bool parse_dims(nv_parser *p, nv_type t) {
  size_t open = p->start;
  nv_lex(p);
  p->sizes = true;
  while (p->tok != NV_T_RBRACKET) {
    if (p->tok == NV_T_END) return nv_parse_error(p, open, "'[' is not closed");
    if (!parse_dim(p, t)) return false;
    if (p->tok == NV_T_COMMA)
      nv_lex(p);
    else if (p->tok == NV_T_ERROR)
      return false;
    else if (p->tok != NV_T_RBRACKET && p->tok != NV_T_END)
      return nv_parse_error(p, p->start, "expected ',' or ']' behind a size, found %s", nv_token_text(p));
  }
  nv_lex(p);
  return true;
}

nv_type nv_parse_type(nv_spec *s, uint32_t doc_node, const char *text, size_t n) {
  nv_parser p = nv_parser_on(s, doc_node, text, 0, n);
  nv_lex(&p);
  if (p.tok == NV_T_ERROR) return NV_NONE;
  if (p.tok != NV_T_DTYPE && p.tok != NV_T_NAME) {
    nv_parse_error(&p, p.start, "expected a type like float32[2, 3], found %s", nv_token_text(&p));
    return NV_NONE;
  }
  nv_type t = new_type(s, NV_TYPE_ARRAY, nv_parser_pos(&p, p.start));
  nv_str name = nv_intern(s->c, text + p.start, p.at - p.start);
  nv_class cls = NV_CLASS_NONE;
  for (unsigned k = NV_CLASS_ANY; k <= NV_CLASS_NUMBER; k++)
    if (!strcmp(class_names[k], nv_text(s->c, name))) cls = (nv_class)k;
  if (p.tok == NV_T_DTYPE)
    s->types[t].dtype = p.op;
  else if (cls)
    s->types[t].cls = cls;
  nv_token word = p.tok;
  nv_lex(&p);
  if (word == NV_T_NAME && !cls) {
    if (p.tok == NV_T_LBRACKET)
      s->types[t].variable = name;
    else
      s->types[t].kind = NV_TYPE_NAMED, s->types[t].name = name;
  }
  if (p.tok == NV_T_LBRACKET && !parse_dims(&p, t)) return NV_NONE;
  if (p.tok == NV_T_END) return t;
  if (p.tok == NV_T_LPAREN)
    nv_parse_error(&p, p.start, "sizes stand in [ ], as in float32[2, 3]");
  else if (p.tok != NV_T_ERROR)
    nv_parse_error(&p, p.start, "expected the end of the type, found %s", nv_token_text(&p));
  return NV_NONE;
}

uint32_t nv_named_type(const nv_reader *r, nv_str name) {
  uint32_t at = 0, k;
  while ((k = nv_map_next(&r->types, nv_str_hash(name), &at)) != NV_NONE)
    if (r->s->named_types[k].name == name) return k;
  return NV_NONE;
}

static bool is_variable(const nv_reader *r, nv_str name) {
  for (uint32_t k = 0; r->f && k < r->f->ndtypes; k++)
    if (r->f->dtypes[k].name == name) return true;
  return false;
}

static void unknown_type(nv_reader *r, nv_pos pos, nv_str name) {
  nv_ctx *c = r->c;
  static const char *const wide[] = {"float64", "double", "f64", "complex128", "c128"};
  const char *text = nv_text(c, name);
  for (size_t k = 0; k < sizeof wide / sizeof *wide; k++)
    if (!strcmp(text, wide[k])) {
      nv_error(c, pos, "there is no %s on a Metal GPU: use %s", text, k < 3 ? "float32" : "complex64");
      return;
    }
  bool shown = c->errors < NV_MAX_ERRORS; /* else counted only */
  size_t n = 0, nvariables = r->f && shown ? r->f->ndtypes : 0, nnamed = shown ? r->s->nnamed_types : 0;
  const char **names = NV_NEW_N(c, const char *, NV_NDTYPES + 4 + nvariables + nnamed);
  for (uint32_t k = 0; k < nvariables; k++) names[n++] = nv_text(c, r->f->dtypes[k].name);
  for (uint32_t k = 0; k < nnamed; k++) names[n++] = nv_text(c, r->s->named_types[k].name);
  for (int k = 0; k < NV_NDTYPES; k++) names[n++] = nv_dtype_name[k];
  for (unsigned k = NV_CLASS_ANY; k <= NV_CLASS_NUMBER; k++) names[n++] = class_names[k];
  nv_error(c, pos, "unknown type '%s'%s", nv_shown_str(c, name), nv_suggest(c, text, names, n));
}

/* The text of a node as a type, its names resolved. */
static nv_type read_text(nv_reader *r, uint32_t node) {
  nv_spec *s = r->s;
  nv_type t = nv_parse_type(s, node | r->mark, nv_text_at(r, node), nv_length_at(r, node));
  if (t == NV_NONE) return NV_NONE;
  nv_type_node *n = &s->types[t];
  if (n->kind == NV_TYPE_NAMED && is_variable(r, n->name)) {
    n->kind = NV_TYPE_ARRAY;
    n->variable = n->name;
    n->name = NV_NONE;
  }
  nv_str name = n->kind == NV_TYPE_NAMED ? n->name : n->variable;
  if (name == NV_NONE || is_variable(r, name)) return t;
  uint32_t known = nv_named_type(r, name);
  if (n->kind == NV_TYPE_NAMED && known != NV_NONE)
    return r->types_read && s->named_types[known].type == NV_NONE ? NV_NONE : t; /* its own error is reported */
  if (known == NV_NONE)
    unknown_type(r, n->pos, name);
  else
    nv_error(r->c, n->pos, "'%s' is a tree type: it takes no sizes", nv_shown_str(r->c, name));
  return NV_NONE;
}

/* ---- statics ---- */

/* Adds a choice; seen holds those there are (id: index). */
static bool add_choice(nv_reader *r, nv_static *out, nv_map *seen, uint32_t *cap, uint32_t node) {
  if (!nv_is_textual(r, node)) {
    NV_AT_ERROR(r, node, "expected a name of a choice, found %s", nv_found(r, node));
    return false;
  }
  if (!nv_check_name(r, node, "choice")) return false;
  nv_str name = nv_str_at(r, node);
  uint32_t at = 0, k;
  while ((k = nv_map_next(seen, nv_str_hash(name), &at)) != NV_NONE)
    if (out->choices[k] == name) {
      NV_AT_ERROR(r, node, "choice '%s' stands twice", nv_shown_str(r->c, name));
      return false;
    }
  NV_GROW(r->c, out->choices, *cap, (size_t)out->nchoices + 1);
  nv_map_add(r->c, seen, nv_str_hash(name), out->nchoices);
  out->choices[out->nchoices++] = name;
  return true;
}

static bool read_enum(nv_reader *r, uint32_t list, uint32_t value, nv_static *out) {
  nv_map seen = {0};
  uint32_t cap = 0;
  bool fine = true;
  out->kind = NV_STATIC_ENUM;
  if (!nv_expect(r, list, NV_DOC_LIST, "enum")) return false;
  for (uint32_t k = nv_first_at(r, list); k != NV_NONE; k = nv_next_at(r, k))
    fine = add_choice(r, out, &seen, &cap, k) && fine;
  nv_map_drop(r->c, &seen);
  if (!out->nchoices && fine) {
    NV_AT_ERROR(r, list, "an enum without choices");
    return false;
  }
  if (value == NV_NONE || nv_kind_at(r, value) == NV_DOC_NULL || !fine) return fine;
  nv_str name = nv_is_textual(r, value) ? nv_str_at(r, value) : NV_NONE;
  for (uint32_t k = 0; k < out->nchoices; k++)
    if (out->choices[k] == name) {
      out->default_ = nv_ast_new(r->s, NV_AST_STRING, 0, nv_at(r, value), name);
      return true;
    }
  const char **names = NV_NEW_N(r->c, const char *, out->nchoices);
  for (uint32_t k = 0; k < out->nchoices; k++) names[k] = nv_text(r->c, out->choices[k]);
  NV_AT_ERROR(r, value, "'%s' is none of the choices%s", nv_shown_at(r, value),
              nv_suggest(r->c, name == NV_NONE ? "" : nv_text(r->c, name), names, out->nchoices));
  return false;
}

/* The default of a static of out->kind. */
static bool read_default(nv_reader *r, uint32_t node, nv_static *out) {
  nv_doc_kind kind = nv_kind_at(r, node);
  static const char *const want[] = {"a whole number", "a number", "true or false", "a text"};
  bool text = out->kind == NV_STATIC_STRING && nv_is_textual(r, node);
  if (kind == NV_DOC_NULL && !text) return true; /* required */
  bool fits = out->kind == NV_STATIC_INT     ? kind == NV_DOC_INT
              : out->kind == NV_STATIC_FLOAT ? kind == NV_DOC_INT || kind == NV_DOC_FLOAT
              : out->kind == NV_STATIC_BOOL  ? kind == NV_DOC_BOOL
                                             : text;
  if (!fits) {
    NV_AT_ERROR(r, node, "a static's default: expected %s, found %s", want[out->kind], nv_found(r, node));
    return false;
  }
  if (text)
    out->default_ = nv_ast_new(r->s, NV_AST_STRING, 0, nv_at(r, node), nv_str_at(r, node));
  else
    out->default_ = nv_read_literal(r, node);
  if (out->default_ != NV_NONE && out->kind == NV_STATIC_FLOAT) r->s->ast[out->default_].kind = NV_AST_FLOAT;
  return out->default_ != NV_NONE;
}

bool nv_read_static(nv_reader *r, uint32_t node, nv_static *out) {
  static const char *const keys[] = {"int", "float", "bool", "string", "enum", "default"};
  uint32_t v[6], given = NV_NONE, count = 0;
  *out = (nv_static){.name = NV_NONE, .pos = nv_at(r, node), .default_ = NV_NONE};
  switch (nv_kind_at(r, node)) {
  case NV_DOC_INT: out->kind = NV_STATIC_INT; return read_default(r, node, out);
  case NV_DOC_FLOAT: out->kind = NV_STATIC_FLOAT; return read_default(r, node, out);
  case NV_DOC_BOOL: out->kind = NV_STATIC_BOOL; return read_default(r, node, out);
  case NV_DOC_STRING: out->kind = NV_STATIC_STRING; return read_default(r, node, out);
  case NV_DOC_MAP: break;
  default:
    NV_AT_ERROR(r, node,
                "a static: expected its default, or {int: …}, {float: …}, {bool: …}, {string: …}, {enum: […]}");
    return false;
  }
  uint32_t before = r->c->errors;
  nv_read_keys(r, node, "a static", keys, 6, v);
  for (uint32_t k = 0; k < 5; k++)
    if (v[k] != NV_NONE) given = k, count++;
  if (r->c->errors != before) return false;
  if (count != 1 || (given != 4 && v[5] != NV_NONE)) {
    NV_AT_ERROR(r, node, "a static is one of {int: …}, {float: …}, {bool: …}, {string: …}, {enum: […], default: …}");
    return false;
  }
  if (given == 4) return read_enum(r, v[4], v[5], out);
  out->kind = (nv_static_kind)given;
  return read_default(r, v[given], out);
}

/* ---- the tree types ---- */

typedef enum dest_kind { ROOT, FIELD, OF } dest_kind;
typedef struct task { /* read the type at node; it is field index, or what list type index is of */
  uint32_t node;
  dest_kind kind;
  uint32_t index;
} task;
typedef struct tasks {
  task *list;
  uint32_t n, cap;
} tasks;

static void later(nv_reader *r, tasks *todo, uint32_t node, dest_kind kind, uint32_t index) {
  NV_GROW(r->c, todo->list, todo->cap, (size_t)todo->n + 1);
  todo->list[todo->n++] = (task){node, kind, index};
}

/* A field for every pair of a map (or element of a list), its type to be read later. NV_NONE with an error. */
static bool add_fields(nv_reader *r, tasks *todo, nv_type t, uint32_t node, const char *what) {
  nv_spec *s = r->s;
  bool map = nv_kind_at(r, node) == NV_DOC_MAP, fine = true;
  s->types[t].first_field = s->nfields;
  for (uint32_t key = nv_first_at(r, node), next; key != NV_NONE; key = next) {
    uint32_t value = map ? nv_next_at(r, key) : key;
    next = nv_next_at(r, value);
    if (map && nv_is_tool_key(r, key)) continue;
    if (nv_split_at_comma(r, node, value, &next) || (map && !nv_check_name(r, key, what))) {
      fine = false;
      continue;
    }
    NV_GROW(r->c, s->fields, s->fields_cap, (size_t)s->nfields + 1);
    s->fields[s->nfields] = (nv_field){map ? nv_str_at(r, key) : NV_NONE, NV_NONE, nv_at(r, key)};
    later(r, todo, value, FIELD, s->nfields++);
    s->types[t].nfields++;
  }
  return fine;
}

static bool read_strides(nv_reader *r, uint32_t node, nv_type t) {
  if (nv_is_textual(r, node) && nv_text_is(r, node, "any")) {
    r->s->types[t].strides_any = true;
    return true;
  }
  if (nv_kind_at(r, node) != NV_DOC_LIST || nv_count_at(r, node) != r->s->types[t].ndims) {
    NV_AT_ERROR(r, node, "strides: expected any, or a list with a whole number for each of %u dims",
                r->s->types[t].ndims);
    return false;
  }
  int64_t *v = NV_NEW_N(r->c, int64_t, nv_count_at(r, node) + 1u), *next = v;
  for (uint32_t k = nv_first_at(r, node); k != NV_NONE; k = nv_next_at(r, k))
    if (!nv_read_int(r, k, "strides", -(INT64_C(1) << 48), INT64_C(1) << 48, next++)) return false;
  r->s->types[t].strides = v;
  return true;
}

/* {type: …, trainable: …, strides: …} */
static nv_type read_leaf(nv_reader *r, uint32_t node) {
  static const char *const keys[] = {"type", "trainable", "strides"};
  uint32_t v[3], before = r->c->errors;
  nv_read_keys(r, node, "a type", keys, 3, v);
  if (v[0] == NV_NONE) return NV_NONE;
  nv_type t = NV_NONE;
  if (!nv_is_textual(r, v[0]))
    NV_AT_ERROR(r, v[0], "type: expected a text like float32[3], found %s", nv_found(r, v[0]));
  else
    t = read_text(r, v[0]);
  if (t != NV_NONE && r->s->types[t].kind != NV_TYPE_ARRAY)
    NV_AT_ERROR(r, v[0], "type: expected an array type, found the tree type '%s'", nv_shown_at(r, v[0]));
  bool trainable = true;
  if (v[1] != NV_NONE) nv_read_bool(r, v[1], "trainable", &trainable);
  if (v[2] != NV_NONE && t != NV_NONE && r->c->errors == before) read_strides(r, v[2], t);
  if (t == NV_NONE || r->c->errors != before) return NV_NONE;
  r->s->types[t].trainable = trainable;
  r->s->types[t].says_trainable = v[1] != NV_NONE;
  return t;
}

static bool read_size(nv_reader *r, nv_type t, uint32_t node) {
  nv_doc_kind kind = nv_kind_at(r, node);
  if (r->s->types[t].ndims == NV_MAX_RANK) {
    NV_AT_ERROR(r, node, "more than %d dims: the highest rank is %d", NV_MAX_RANK, NV_MAX_RANK);
    return false;
  }
  if (kind == NV_DOC_NULL) {
    add_dim(r->s, t, NV_DIM_OPEN, NV_NONE, nv_at(r, node));
    return true;
  }
  if (kind >= NV_DOC_LIST || kind == NV_DOC_BOOL || kind == NV_DOC_FLOAT) {
    NV_AT_ERROR(r, node, "shape: expected a size, found %s", nv_found(r, node));
    return false;
  }
  nv_parser p = nv_parser_on(r->s, node | r->mark, nv_text_at(r, node), 0, nv_length_at(r, node));
  p.sizes = true;
  nv_lex(&p);
  if (p.tok == NV_T_ERROR || !parse_dim(&p, t)) return false;
  return p.tok == NV_T_END ||
         nv_parse_error(&p, p.start, "expected the end of the size, found %s", nv_token_text(&p));
}

/* {dtype: …, shape: […]} or {dtype: …, rank: n} */
static nv_type read_spelt(nv_reader *r, uint32_t node) {
  static const char *const keys[] = {"dtype", "shape", "rank"};
  uint32_t v[3], before = r->c->errors;
  nv_read_keys(r, node, "an array type", keys, 3, v);
  if (v[0] == NV_NONE) return NV_NONE;
  int dtype = nv_read_dtype(r, v[0]);
  nv_type t = new_type(r->s, NV_TYPE_ARRAY, nv_at(r, node));
  r->s->types[t].dtype = dtype;
  if ((v[1] == NV_NONE) == (v[2] == NV_NONE)) {
    if (r->c->errors == before) NV_AT_ERROR(r, node, "an array type takes either shape or rank beside dtype");
  } else if (v[2] != NV_NONE) {
    int64_t rank = 0;
    if (nv_read_int(r, v[2], "rank", 0, NV_MAX_RANK, &rank))
      while (rank-- > 0) add_dim(r->s, t, NV_DIM_OPEN, NV_NONE, nv_at(r, v[2]));
  } else if (nv_expect(r, v[1], NV_DOC_LIST, "shape")) {
    for (uint32_t k = nv_first_at(r, v[1]); k != NV_NONE; k = nv_next_at(r, k))
      if (!read_size(r, t, k)) break;
  }
  return r->c->errors == before ? t : NV_NONE;
}

/* {list: n, of: …} */
static nv_type read_list(nv_reader *r, tasks *todo, uint32_t node) {
  static const char *const keys[] = {"list", "of"};
  uint32_t v[2], before = r->c->errors;
  nv_read_keys(r, node, "a list type", keys, 2, v);
  if (r->c->errors == before && (v[0] == NV_NONE || v[1] == NV_NONE))
    NV_AT_ERROR(r, node, "a list type needs both list: (how many) and of: (the type)");
  if (r->c->errors != before) return NV_NONE;
  nv_type t = new_type(r->s, NV_TYPE_LIST, nv_at(r, node));
  nv_doc_kind kind = nv_kind_at(r, v[0]);
  if (kind != NV_DOC_INT && kind != NV_DOC_STRING) {
    NV_AT_ERROR(r, v[0], "list: expected how many, found %s", nv_found(r, v[0]));
    return NV_NONE;
  }
  nv_parser p = nv_parser_on(r->s, v[0] | r->mark, nv_text_at(r, v[0]), 0, nv_length_at(r, v[0]));
  p.sizes = true;
  nv_lex(&p);
  nv_ast count = nv_parse_expression(&p);
  if (count == NV_NONE || (p.tok != NV_T_END && !nv_unexpected(&p))) return NV_NONE;
  r->s->types[t].count = count;
  later(r, todo, v[1], OF, t);
  return t;
}

/* {enum: {relu: …, gelu: …}, default: relu} */
static nv_type read_variants(nv_reader *r, tasks *todo, uint32_t node) {
  static const char *const keys[] = {"enum", "default"};
  uint32_t v[2], before = r->c->errors;
  nv_read_keys(r, node, "an enum type", keys, 2, v);
  if (v[0] == NV_NONE) return NV_NONE;
  nv_type t = new_type(r->s, NV_TYPE_ENUM, nv_at(r, node));
  if (!nv_expect(r, v[0], NV_DOC_MAP, "enum") || !add_fields(r, todo, t, v[0], "variant")) return NV_NONE;
  nv_type_node *n = &r->s->types[t];
  if (!n->nfields) NV_AT_ERROR(r, v[0], "an enum without variants");
  if (v[1] != NV_NONE) {
    const char **names = NV_NEW_N(r->c, const char *, n->nfields + 1u);
    nv_str want = nv_is_textual(r, v[1]) ? nv_str_at(r, v[1]) : NV_NONE;
    for (uint32_t k = 0; k < n->nfields; k++) {
      names[k] = nv_text(r->c, r->s->fields[n->first_field + k].name);
      if (r->s->fields[n->first_field + k].name == want) n->default_variant = want;
    }
    if (n->default_variant == NV_NONE)
      NV_AT_ERROR(r, v[1], "'%s' is none of the variants%s", nv_shown_at(r, v[1]),
                  nv_suggest(r->c, nv_text_at(r, v[1]), names, n->nfields));
  }
  return r->c->errors == before ? t : NV_NONE;
}

static nv_type read_static_field(nv_reader *r, uint32_t node) {
  static const char *const keys[] = {"static"};
  uint32_t v, before = r->c->errors;
  nv_static st;
  nv_read_keys(r, node, "a static field", keys, 1, &v);
  if (v == NV_NONE || !nv_read_static(r, v, &st) || r->c->errors != before) return NV_NONE;
  nv_type t = new_type(r->s, NV_TYPE_STATIC, nv_at(r, node));
  NV_GROW(r->c, r->s->statics, r->s->statics_cap, (size_t)r->s->nstatics + 1);
  r->s->types[t].static_ = r->s->nstatics;
  r->s->statics[r->s->nstatics++] = st;
  return t;
}

static nv_type read_one(nv_reader *r, tasks *todo, uint32_t node) {
  if (nv_is_textual(r, node)) return read_text(r, node);
  nv_doc_kind kind = nv_kind_at(r, node);
  if (kind == NV_DOC_MAP) {
    if (nv_doc_get(r->d, node, "type") != NV_NONE) return read_leaf(r, node);
    if (nv_doc_get(r->d, node, "dtype") != NV_NONE) return read_spelt(r, node);
    if (nv_doc_get(r->d, node, "list") != NV_NONE || nv_doc_get(r->d, node, "of") != NV_NONE)
      return read_list(r, todo, node);
    if (nv_doc_get(r->d, node, "enum") != NV_NONE) return read_variants(r, todo, node);
    if (nv_doc_get(r->d, node, "static") != NV_NONE) return read_static_field(r, node);
  }
  if (kind != NV_DOC_MAP && kind != NV_DOC_LIST) {
    NV_AT_ERROR(r, node, "expected a type (a text, a map or a list), found %s", nv_found(r, node));
    return NV_NONE;
  }
  nv_type t = new_type(r->s, NV_TYPE_TREE, nv_at(r, node));
  return add_fields(r, todo, t, node, "field") ? t : NV_NONE;
}

nv_type nv_read_type(nv_reader *r, uint32_t node) {
  tasks todo = {0};
  nv_type root = NV_NONE;
  bool fine = true;
  later(r, &todo, node, ROOT, 0);
  while (todo.n) {
    task k = todo.list[--todo.n];
    nv_type t = read_one(r, &todo, k.node);
    fine = fine && t != NV_NONE;
    if (k.kind == ROOT)
      root = t;
    else if (k.kind == FIELD)
      r->s->fields[k.index].type = t;
    else
      r->s->types[k.index].of = t;
  }
  nv_drop(r->c, todo.list);
  return fine ? root : NV_NONE;
}

void nv_begin_walk(nv_reader *r) { r->walk++; }

/* ---- walks over types, each seen once ---- */

static void stack_push(nv_reader *r, uint32_t *n, uint32_t x) {
  NV_GROW(r->c, r->stack, r->stack_cap, (size_t)*n + 1);
  r->stack[(*n)++] = x;
}

/* Was t not seen in this walk? Notes that it is. */
static bool first_visit(nv_reader *r, nv_type t) {
  NV_GROW(r->c, r->marks, r->marks_cap, r->s->ntypes);
  while (r->nmarks < r->s->ntypes) r->marks[r->nmarks++] = 0;
  if (r->marks[t] == r->walk) return false;
  r->marks[t] = r->walk;
  return true;
}

/* Pushes what type t is made of. */
static void push_parts(nv_reader *r, uint32_t *n, nv_type t) {
  const nv_type_node *x = &r->s->types[t];
  if (x->kind == NV_TYPE_NAMED) {
    uint32_t k = nv_named_type(r, x->name);
    if (k != NV_NONE && r->s->named_types[k].type != NV_NONE) stack_push(r, n, r->s->named_types[k].type);
  } else if (x->kind == NV_TYPE_LIST && x->of != NV_NONE) {
    stack_push(r, n, x->of);
  }
  for (uint32_t k = x->nfields; k > 0; k--) {
    nv_type part = r->s->fields[x->first_field + k - 1].type;
    if (part != NV_NONE) stack_push(r, n, part);
  }
}

const char *nv_template_reason(nv_reader *r, nv_type type) {
  uint32_t n = 0;
  for (stack_push(r, &n, type); n;) {
    nv_type t = r->stack[--n];
    if (!first_visit(r, t)) continue;
    const nv_type_node *x = &r->s->types[t];
    if (x->cls) return nv_format(r->c, "is of class %s", class_names[x->cls]);
    if (x->variable != NV_NONE) return nv_format(r->c, "has the dtype variable '%s'", nv_shown_str(r->c, x->variable));
    if (x->ndims && r->s->type_dims[x->first_dim].kind == NV_DIM_ELLIPSIS) return "is of any rank";
    push_parts(r, &n, t);
  }
  return NULL;
}

void nv_each_size_name(nv_reader *r, nv_type type, void (*visit)(void *arg, nv_str name, nv_pos pos), void *arg) {
  nv_spec *s = r->s;
  uint32_t n = 0;
  for (stack_push(r, &n, type); n;) {
    nv_type t = r->stack[--n];
    if (!first_visit(r, t)) continue;
    const nv_type_node *x = &s->types[t];
    push_parts(r, &n, t);
    uint32_t base = n, ndims = x->kind == NV_TYPE_LIST ? 1 : x->ndims;
    for (uint32_t k = 0; k < ndims; k++) {
      nv_ast e = x->kind == NV_TYPE_LIST ? x->count : s->type_dims[x->first_dim + k].expr;
      if (e != NV_NONE) stack_push(r, &n, e);
      while (n > base) {
        const nv_ast_node *a = &s->ast[r->stack[--n]];
        if (a->kind == NV_AST_NAME) visit(arg, a->text, a->pos);
        for (nv_ast child = a->first; child != NV_NONE; child = s->ast[child].next) stack_push(r, &n, child);
      }
    }
  }
}

/* ---- types: ---- */

enum { OPEN = UINT16_MAX, BROKEN = UINT16_MAX - 1 };
/* The height of type t, whose parts have theirs: BROKEN where a type in it is in error. */
static void set_height(nv_reader *r, uint16_t *height, nv_type t, uint32_t n) {
  const nv_type_node *x = &r->s->types[t];
  uint32_t base = n, most = 0;
  bool broken = x->kind == NV_TYPE_NAMED && r->s->named_types[nv_named_type(r, x->name)].type == NV_NONE;
  push_parts(r, &n, t);
  for (; n > base; n--) {
    uint16_t h = height[r->stack[n - 1]];
    if (h >= BROKEN)
      broken = true;
    else if (h > most)
      most = h;
  }
  if (most >= NV_MAX_DEPTH && !broken) {
    nv_error(r->c, x->pos, "types nest deeper than %d", NV_MAX_DEPTH);
    broken = true;
  }
  height[t] = (uint16_t)(broken ? BROKEN : most + (x->kind != NV_TYPE_NAMED || !most)); /* a name is no level */
}

/* Reports named types that hold themselves or nest too deep, and drops those that can't be used. A depth-first walk:
 * height 0 is not seen yet, OPEN is on the way down; on the stack a type gets NV_BUILTIN set when its parts go on
 * top. */
static void check_named_types(nv_reader *r) {
  nv_spec *s = r->s;
  uint16_t *height = NV_NEW_N(r->c, uint16_t, s->ntypes + 1u);
  for (uint32_t k = 0; k < s->nnamed_types; k++) {
    if (s->named_types[k].type == NV_NONE) continue;
    uint32_t n = 0;
    stack_push(r, &n, s->named_types[k].type);
    while (n) {
      nv_type t = r->stack[n - 1] & ~NV_BUILTIN;
      bool back = r->stack[n - 1] & NV_BUILTIN;
      if (back || height[t]) {
        n--;
        if (back) set_height(r, height, t, n);
        continue;
      }
      height[t] = OPEN;
      r->stack[n - 1] |= NV_BUILTIN;
      uint32_t base = n;
      push_parts(r, &n, t);
      if (n == base + 1 && height[r->stack[base]] == OPEN) { /* only a name leads back */
        const nv_type_node *x = &s->types[t];
        nv_error(r->c, x->pos, "type '%s' holds itself", nv_shown_str(r->c, x->name));
        s->named_types[nv_named_type(r, x->name)].type = NV_NONE;
        n = base;
      }
    }
  }
  for (uint32_t k = 0; k < s->nnamed_types; k++) {
    nv_type *t = &s->named_types[k].type;
    if (*t != NV_NONE && height[*t] == BROKEN) *t = NV_NONE;
  }
}

void nv_read_named_types(nv_reader *r, uint32_t map) {
  nv_spec *s = r->s;
  if (map == NV_NONE || !nv_expect(r, map, NV_DOC_MAP, "types")) return;
  for (uint32_t key = nv_first_at(r, map), value; key != NV_NONE; key = nv_next_at(r, value)) {
    value = nv_next_at(r, key);
    if (nv_is_tool_key(r, key) || !nv_check_name(r, key, "type")) continue;
    nv_str name = nv_str_at(r, key);
    for (unsigned k = NV_CLASS_ANY; k <= NV_CLASS_NUMBER; k++)
      if (nv_text_is(r, key, class_names[k])) {
        NV_AT_ERROR(r, key, "'%s' is a class of dtypes, no type name", class_names[k]);
        name = NV_NONE;
      }
    if (name == NV_NONE) continue;
    NV_GROW(r->c, s->named_types, s->named_types_cap, (size_t)s->nnamed_types + 1);
    s->named_types[s->nnamed_types] = (nv_param){name, nv_at(r, key), NV_NONE};
    nv_map_add(r->c, &r->types, nv_str_hash(name), s->nnamed_types++);
  }
  for (uint32_t k = 0; k < s->nnamed_types; k++) {
    uint32_t key = s->named_types[k].pos.node;
    nv_type t = nv_read_type(r, nv_next_at(r, key));
    s->named_types[k].type = t;
  }
  check_named_types(r);
  r->types_read = true;
}
