/* values.c - what all parts of the document's parser use: keys, names, scalars, nested lists, YAML's traps. */
#include "parse.h"

#include <errno.h>
#include <stdlib.h>

nv_str nv_str_at(const nv_reader *r, uint32_t node) {
  return nv_intern(r->c, nv_text_at(r, node), nv_length_at(r, node));
}
const char *nv_shown_at(const nv_reader *r, uint32_t node) {
  return nv_shown(r->c, nv_text_at(r, node), nv_length_at(r, node));
}
const char *nv_shown_str(nv_ctx *c, nv_str s) { return nv_shown(c, nv_text(c, s), nv_text_len(c, s)); }

bool nv_text_is(const nv_reader *r, uint32_t node, const char *text) {
  return nv_length_at(r, node) == strlen(text) && !memcmp(nv_text_at(r, node), text, nv_length_at(r, node));
}
bool nv_is_textual(const nv_reader *r, uint32_t node) {
  const nv_doc_node *n = &r->d->nodes[node];
  return n->kind == NV_DOC_STRING || (n->plain_scalar && n->length);
}
const char *nv_found(const nv_reader *r, uint32_t node) {
  switch (nv_kind_at(r, node)) {
  case NV_DOC_NULL: return nv_length_at(r, node) ? "null" : "nothing";
  case NV_DOC_LIST: return "a list";
  case NV_DOC_MAP: return "a map";
  case NV_DOC_STRING:
    if (nv_length_at(r, node) > 40 || strchr(nv_text_at(r, node), '\n')) return "a text";
    return nv_format(r->c, "the text '%s'", nv_shown_at(r, node));
  default: return nv_format(r->c, "'%s'", nv_shown_at(r, node));
  }
}

bool nv_expect(nv_reader *r, uint32_t node, nv_doc_kind kind, const char *what) {
  if (nv_kind_at(r, node) == kind) return true;
  const char *want = kind == NV_DOC_MAP ? "a map" : kind == NV_DOC_LIST ? "a list" : "a text";
  NV_AT_ERROR(r, node, "%s: expected %s, found %s", what, want, nv_found(r, node));
  return false;
}

/* ---- keys and names ---- */

const char *nv_suggest(nv_ctx *c, const char *name, const char *const *names, size_t n) {
  const char *near = c->errors < NV_MAX_ERRORS ? nv_nearest(name, names, n) : NULL;
  return near ? nv_format(c, "; did you mean '%s'?", near) : "";
}

/* "; did you mean 'inputs'?" for a key of another habit, or a misspelt one. */
static const char *suggest_key(nv_ctx *c, const char *name, const char *const *keys, size_t n) {
  static const char *const habits[][2] = {{"version", "nuvec"},   {"args", "inputs"},      {"arguments", "inputs"},
                                          {"params", "inputs"},   {"parameters", "inputs"}, {"body", "nodes"},
                                          {"code", "nodes"},      {"return", "outputs"},   {"returns", "outputs"},
                                          {"results", "outputs"}, {"consts", "constants"}, {"description", "doc"}};
  for (size_t h = 0; h < sizeof habits / sizeof *habits; h++)
    for (size_t k = 0; k < n && !strcmp(habits[h][0], name); k++)
      if (!strcmp(habits[h][1], keys[k])) return nv_format(c, "; did you mean '%s'?", keys[k]);
  return nv_suggest(c, name, keys, n);
}

bool nv_is_tool_key(const nv_reader *r, uint32_t key) { return !strncmp(nv_text_at(r, key), "x-", 2); }

bool nv_read_keys(nv_reader *r, uint32_t map, const char *what, const char *const *keys, size_t nkeys,
                  uint32_t *values) {
  for (size_t k = 0; k < nkeys; k++) values[k] = NV_NONE;
  if (!nv_expect(r, map, NV_DOC_MAP, what)) return false;
  for (uint32_t key = nv_first_at(r, map), next; key != NV_NONE; key = next) {
    uint32_t value = nv_next_at(r, key);
    size_t k = 0;
    next = nv_next_at(r, value);
    while (k < nkeys && !nv_text_is(r, key, keys[k])) k++;
    if (k < nkeys && nv_split_at_comma(r, map, value, &next)) continue;
    if (k < nkeys)
      values[k] = value;
    else if (nv_text_is(r, key, "<<"))
      NV_AT_ERROR(r, key, "unknown key '<<': merge keys aren't part of YAML 1.2");
    else if (!nv_is_tool_key(r, key))
      NV_AT_ERROR(r, key, "unknown key '%s' in %s%s", nv_shown_at(r, key), what,
                  suggest_key(r->c, nv_text_at(r, key), keys, nkeys));
  }
  return true;
}

bool nv_check_name(nv_reader *r, uint32_t key, const char *what) {
  const char *text = nv_text_at(r, key), *shown = nv_shown_at(r, key);
  size_t n = nv_length_at(r, key);
  if (nv_is_ident(text, n)) return true;
  if (n > 255)
    NV_AT_ERROR(r, key, "the name '%s' has %zu bytes: 255 at most", shown, n);
  else if (nv_is_reserved(text, n))
    NV_AT_ERROR(r, key, "'%s' is a reserved word, no %s name", shown, what);
  else if (nv_text_is(r, key, "<<"))
    NV_AT_ERROR(r, key, "unknown key '<<': merge keys aren't part of YAML 1.2");
  else
    NV_AT_ERROR(r, key, "'%s' is no %s name: letters, digits and '_' only", shown, what);
  return false;
}

/* ---- scalars ---- */

/* Text of an INT or FLOAT as expressions write it. NV_NONE with an error. */
static nv_str number_text(nv_reader *r, uint32_t node) {
  const char *t = nv_text_at(r, node);
  bool negative = *t == '-';
  if (*t == '+' || *t == '-') t++;
  if (*t == '.' && (t[1] | 0x20) == 'i') t = "inf";
  if (*t == '.' && (t[1] | 0x20) == 'n') t = "nan";
  if (t[0] == '0' && t[1] == 'o') {
    errno = 0;
    unsigned long long v = strtoull(t + 2, NULL, 8);
    if (errno) {
      NV_AT_ERROR(r, node, "%s does not fit 64 bits", nv_shown_at(r, node));
      return NV_NONE;
    }
    t = nv_format(r->c, "%llu", v);
  }
  return nv_intern_z(r->c, negative ? nv_format(r->c, "-%s", t) : t);
}

nv_ast nv_read_literal(nv_reader *r, uint32_t node) {
  nv_doc_kind kind = nv_kind_at(r, node);
  nv_pos pos = nv_at(r, node);
  switch (kind) {
  case NV_DOC_NULL: return nv_ast_new(r->s, NV_AST_NONE, 0, pos, NV_NONE);
  case NV_DOC_BOOL: return nv_ast_new(r->s, NV_AST_BOOL, (*nv_text_at(r, node) | 0x20) == 't', pos, NV_NONE);
  case NV_DOC_STRING: return nv_ast_new(r->s, NV_AST_STRING, 0, pos, nv_str_at(r, node));
  case NV_DOC_INT:
  case NV_DOC_FLOAT: {
    nv_str text = number_text(r, node);
    return text == NV_NONE ? NV_NONE : nv_ast_new(r->s, kind == NV_DOC_INT ? NV_AST_INT : NV_AST_FLOAT, 0, pos, text);
  }
  default:
    NV_AT_ERROR(r, node, "expected a number, truth value or text, found %s", nv_found(r, node));
    return NV_NONE;
  }
}

nv_ast nv_read_expr(nv_reader *r, uint32_t node) {
  nv_doc_kind kind = nv_kind_at(r, node);
  if (kind == NV_DOC_MAP && nv_seen_as_key(r, node)) return NV_NONE;
  if (kind == NV_DOC_NULL || kind == NV_DOC_LIST || kind == NV_DOC_MAP) {
    if (!nv_is_textual(r, node)) {
      NV_AT_ERROR(r, node, "expected an expression, found %s", nv_found(r, node));
      return NV_NONE;
    }
  }
  return nv_parse_expr(r->s, node | r->mark, nv_text_at(r, node), 0, nv_length_at(r, node));
}

bool nv_read_int(nv_reader *r, uint32_t node, const char *what, int64_t min, int64_t max, int64_t *value) {
  nv_str text = nv_kind_at(r, node) == NV_DOC_INT ? number_text(r, node) : NV_NONE;
  if (text != NV_NONE) {
    const char *t = nv_text(r->c, text);
    bool hex = t[0] == '0' && t[1] == 'x';
    errno = 0;
    long long v = strtoll(hex ? t + 2 : t, NULL, hex ? 16 : 10);
    if (!errno && v >= min && v <= max) {
      *value = v;
      return true;
    }
  }
  NV_AT_ERROR(r, node, "%s: expected a whole number from %lld to %lld, found %s", what, (long long)min,
              (long long)max, nv_found(r, node));
  return false;
}

bool nv_read_bool(nv_reader *r, uint32_t node, const char *what, bool *value) {
  if (nv_kind_at(r, node) != NV_DOC_BOOL) {
    NV_AT_ERROR(r, node, "%s: expected true or false, found %s", what, nv_found(r, node));
    return false;
  }
  *value = (*nv_text_at(r, node) | 0x20) == 't';
  return true;
}

int nv_read_dtype(nv_reader *r, uint32_t node) {
  int d = nv_is_textual(r, node) ? nv_dtype_find(nv_text_at(r, node), nv_length_at(r, node)) : -1;
  if (d >= 0) return d;
  if (nv_is_textual(r, node) && (nv_text_is(r, node, "float64") || nv_text_is(r, node, "f64")))
    NV_AT_ERROR(r, node, "there is no float64 on a Metal GPU: use float32");
  else if (nv_is_textual(r, node))
    NV_AT_ERROR(r, node, "unknown dtype '%s'%s", nv_shown_at(r, node),
                nv_suggest(r->c, nv_text_at(r, node), nv_dtype_name, NV_NDTYPES));
  else
    NV_AT_ERROR(r, node, "expected a dtype, found %s", nv_found(r, node));
  return -1;
}

/* ---- nested lists ---- */

nv_ast nv_read_nested(nv_reader *r, uint32_t node, bool trees, nv_leaf_reader *leaf, const void *arg) {
  struct level {
    nv_ast container, last;
    uint32_t node, next; /* the list or map, and its next child */
  } levels[NV_MAX_DEPTH];
  uint32_t n = 0;
  nv_ast root = NV_NONE;
  bool fine = true;
  for (;;) {
    nv_ast x = NV_NONE, keyword = NV_NONE;
    struct level *up = n ? &levels[n - 1] : NULL;
    if (up) {
      node = up->next;
      if (node == NV_NONE) {
        if (--n == 0) return fine ? root : NV_NONE;
        continue;
      }
      bool map = nv_kind_at(r, up->node) == NV_DOC_MAP;
      uint32_t key = node, value = map ? nv_next_at(r, key) : key;
      up->next = nv_next_at(r, value);
      if (nv_split_at_comma(r, up->node, value, &up->next) ||
          (map && !nv_is_tool_key(r, key) && !nv_check_name(r, key, "field"))) {
        fine = false;
        continue;
      }
      if (map && nv_is_tool_key(r, key)) continue;
      if (map) keyword = nv_ast_new(r->s, NV_AST_KEYWORD, 0, nv_at(r, key), nv_str_at(r, key));
      node = value;
    }
    nv_doc_kind kind = nv_kind_at(r, node);
    bool container = kind == NV_DOC_LIST || (kind == NV_DOC_MAP && trees);
    x = container ? nv_ast_new(r->s, kind == NV_DOC_LIST ? NV_AST_LIST : NV_AST_TREE, 0, nv_at(r, node), NV_NONE)
                  : leaf(r, node, arg);
    fine = fine && x != NV_NONE;
    if (!up) root = x;
    if (up && x != NV_NONE) {
      nv_ast last = NV_NONE;
      if (keyword != NV_NONE) nv_ast_append(r->s, keyword, &last, x);
      nv_ast_append(r->s, up->container, &up->last, keyword != NV_NONE ? keyword : x);
    }
    if (container)
      levels[n++] = (struct level){x, NV_NONE, node, nv_first_at(r, node)};
    else if (!up)
      return x;
  }
}

static nv_ast const_leaf(nv_reader *r, uint32_t node, const void *arg) {
  (void)arg;
  nv_doc_kind kind = nv_kind_at(r, node);
  if (kind == NV_DOC_INT || kind == NV_DOC_FLOAT || kind == NV_DOC_BOOL) return nv_read_literal(r, node);
  if (kind != NV_DOC_STRING) {
    NV_AT_ERROR(r, node, "a constant: expected a number, found %s", nv_found(r, node));
    return NV_NONE;
  }
  nv_ast x = nv_parse_expr(r->s, node | r->mark, nv_text_at(r, node), 0, nv_length_at(r, node));
  if (x == NV_NONE) return NV_NONE;
  nv_ast_kind got = (nv_ast_kind)r->s->ast[x].kind;
  if (got == NV_AST_INT || got == NV_AST_FLOAT || got == NV_AST_BOOL) return x;
  NV_AT_ERROR(r, node, "a constant: expected a number, found '%s'", nv_shown_at(r, node));
  return NV_NONE;
}

nv_ast nv_read_const(nv_reader *r, uint32_t node, uint32_t value, int dtype) {
  nv_ast x = nv_read_nested(r, value, false, const_leaf, NULL), last = NV_NONE;
  if (x == NV_NONE || dtype < 0) return NV_NONE;
  nv_ast c = nv_ast_new(r->s, NV_AST_CONST, (unsigned)dtype, nv_at(r, node), NV_NONE);
  nv_ast_append(r->s, c, &last, x);
  return c;
}

/* ---- YAML's traps ---- */

/* Brackets that text leaves open, less those that it closes. */
static int64_t open_brackets(const nv_reader *r, uint32_t node) {
  int64_t depth = 0;
  const char *t = nv_text_at(r, node);
  for (uint32_t i = 0; i < nv_length_at(r, node); i++)
    depth += (t[i] == '(' || t[i] == '[' || t[i] == '{') - (t[i] == ')' || t[i] == ']' || t[i] == '}');
  return depth;
}

bool nv_split_at_comma(nv_reader *r, uint32_t parent, uint32_t node, uint32_t *next) {
  const nv_doc_node *p = &r->d->nodes[parent], *n = &r->d->nodes[node];
  if (p->style != NV_DOC_FLOW || !n->plain_scalar) return false;
  int64_t depth = open_brackets(r, node);
  if (!depth) return false;
  NV_AT_ERROR(r, node, "YAML split this at a comma: quote it%s", p->kind == NV_DOC_LIST ? ", or use |" : "");
  while (depth > 0 && *next != NV_NONE &&
         r->d->nodes[*next].kind < NV_DOC_LIST) { /* the rest of it; keys and values alike */
    depth += open_brackets(r, *next);
    *next = nv_next_at(r, *next);
    if (p->kind == NV_DOC_MAP && *next != NV_NONE) *next = nv_next_at(r, *next);
  }
  return true;
}

bool nv_seen_as_key(nv_reader *r, uint32_t node) {
  uint32_t key = nv_first_at(r, node);
  if (r->d->format != NUVECC_FORMAT_YAML || key == NV_NONE || !r->d->nodes[key].plain_scalar) return false;
  NV_AT_ERROR(r, key, "YAML sees a key here: quote it");
  return true;
}
