/* nodes.c - programs: lists of nodes in their plain form, as statements, if, for and map; outputs. */
#include "../ir/op.h"
#include "parse.h"

static nv_ast keyword_at(nv_reader *r, uint32_t key, nv_ast value) {
  nv_ast k = nv_ast_new(r->s, NV_AST_KEYWORD, 0, nv_at(r, key), nv_str_at(r, key)), last = NV_NONE;
  nv_ast_append(r->s, k, &last, value);
  return k;
}

/* ---- paths and node names ---- */

static nv_ast path_name(nv_parser *p, nv_ast_kind kind) {
  nv_ast x =
      nv_ast_new(p->s, kind, 0, nv_parser_pos(p, p->start), nv_intern(p->c, p->text + p->start, p->at - p->start));
  nv_lex(p);
  return x;
}

nv_ast nv_read_path(nv_reader *r, uint32_t node) {
  nv_parser p = nv_parser_on(r->s, node | r->mark, nv_text_at(r, node), 0, nv_length_at(r, node));
  uint32_t errors = r->c->errors;
  for (size_t i = 0; i < p.to; i++) { /* what no path holds, so that the lexer has nothing to report */
    unsigned char ch = (unsigned char)p.text[i];
    if (!((ch | 0x20) >= 'a' && (ch | 0x20) <= 'z') && !(ch >= '0' && ch <= '9') && (!ch || !strchr("_.[] ", ch)))
      return NV_NONE;
  }
  nv_lex(&p);
  if (p.tok != NV_T_NAME) return NV_NONE;
  nv_ast x = path_name(&p, NV_AST_NAME);
  while (p.tok == NV_T_DOT || p.tok == NV_T_LBRACKET) {
    bool field = p.tok == NV_T_DOT;
    nv_ast last = NV_NONE, up = NV_NONE, index = NV_NONE;
    if (!field) up = nv_ast_new(r->s, NV_AST_INDEX, 0, nv_parser_pos(&p, p.start), NV_NONE);
    nv_lex(&p);
    if (p.tok == NV_T_NAME) {
      if (field)
        up = path_name(&p, NV_AST_FIELD);
      else
        index = path_name(&p, NV_AST_NAME);
    } else if (!field && p.tok == NV_T_INT) {
      index = nv_ast_new(r->s, NV_AST_INT, 0, nv_parser_pos(&p, p.start), nv_token_number(&p, false));
      nv_lex(&p);
    } else {
      return NV_NONE;
    }
    nv_ast_append(r->s, up, &last, x);
    if (!field) {
      if (p.tok != NV_T_RBRACKET) return NV_NONE;
      nv_ast_append(r->s, up, &last, index);
      nv_lex(&p);
    }
    x = up;
  }
  return p.tok == NV_T_END && r->c->errors == errors ? x : NV_NONE;
}

static bool is_odd_name(const nv_reader *r, nv_str name) {
  uint32_t at = 0, id;
  while ((id = nv_map_next(&r->odd_names, nv_str_hash(name), &at)) != NV_NONE)
    if (id == name) return true;
  return false;
}

/* The name of a plain node, as a target. */
static nv_ast read_node_name(nv_reader *r, uint32_t node) {
  if (!nv_is_textual(r, node)) {
    NV_AT_ERROR(r, node, "expected a node's name, found %s", nv_found(r, node));
    return NV_NONE;
  }
  const char *text = nv_text_at(r, node);
  size_t n = nv_length_at(r, node);
  bool control = false;
  for (size_t i = 0; i < n; i++) control = control || (unsigned char)text[i] < 0x20 || text[i] == 0x7F;
  if (!n)
    NV_AT_ERROR(r, node, "an empty name");
  else if (n > 255)
    NV_AT_ERROR(r, node, "the name '%s' has %zu bytes: 255 at most", nv_shown_at(r, node), n);
  else if (control)
    NV_AT_ERROR(r, node, "a name with a control character");
  if (!n || n > 255 || control) return NV_NONE;
  nv_str name = nv_str_at(r, node);
  if (!nv_is_ident(text, n) && !is_odd_name(r, name)) nv_map_add(r->c, &r->odd_names, nv_str_hash(name), name);
  return nv_ast_new(r->s, NV_AST_NAME, 0, nv_at(r, node), name);
}

/* ---- operands and attributes ---- */

static nv_ast read_const_map(nv_reader *r, uint32_t node) {
  static const char *const keys[] = {"const", "dtype"};
  uint32_t v[2], before = r->c->errors;
  if (nv_doc_get(r->d, node, "const") == NV_NONE) {
    if (!nv_seen_as_key(r, node))
      NV_AT_ERROR(r, node, "an operand: expected a path, a number, {const: …, dtype: …} or a list of them");
    return NV_NONE;
  }
  nv_read_keys(r, node, "a constant", keys, 2, v);
  if (v[0] == NV_NONE) return NV_NONE;
  if (v[1] == NV_NONE) NV_AT_ERROR(r, node, "a constant needs a dtype");
  int dtype = v[1] == NV_NONE ? -1 : nv_read_dtype(r, v[1]);
  nv_ast x = nv_read_const(r, node, v[0], dtype);
  return r->c->errors == before ? x : NV_NONE;
}

static nv_ast operand_leaf(nv_reader *r, uint32_t node, const void *arg) {
  (void)arg;
  switch (nv_kind_at(r, node)) {
  case NV_DOC_INT:
  case NV_DOC_FLOAT:
  case NV_DOC_BOOL: return nv_read_literal(r, node);
  case NV_DOC_MAP: return read_const_map(r, node);
  case NV_DOC_STRING: break;
  default:
    NV_AT_ERROR(r, node, "an operand: expected a path or a number, found %s", nv_found(r, node));
    return NV_NONE;
  }
  nv_str name = nv_str_at(r, node);
  if (is_odd_name(r, name)) return nv_ast_new(r->s, NV_AST_NAME, 0, nv_at(r, node), name);
  nv_ast x = nv_read_path(r, node);
  if (x != NV_NONE) return x;
  if (nv_length_at(r, node) > 255)
    NV_AT_ERROR(r, node, "the name '%s' has %u bytes: 255 at most", nv_shown_at(r, node), nv_length_at(r, node));
  else
    NV_AT_ERROR(r, node,
                "unknown operand '%s': neither a path nor the name of a node above (no operators here: write "
                "the node as text, 'y = …')",
                nv_shown_at(r, node));
  return NV_NONE;
}

/* Does an attribute of this kind hold a value that a text is an expression for? */
static bool takes_expression(const nv_attr_info *a) {
  return a && (a->kind == NV_AT_AXIS || a->kind == NV_AT_AXES || a->kind == NV_AT_PERM || a->kind == NV_AT_SHAPE ||
               a->kind == NV_AT_BOOL || a->kind == NV_AT_INT || a->kind == NV_AT_NUMBER ||
               a->kind == NV_AT_SLICE);
}

/* arg: the nv_attr_info, or NULL where it isn't known. A dtype's name is a dtype. */
static nv_ast attribute_leaf(nv_reader *r, uint32_t node, const void *arg) {
  const nv_attr_info *a = arg;
  if (nv_kind_at(r, node) == NV_DOC_MAP) {
    if (!nv_seen_as_key(r, node))
      NV_AT_ERROR(r, node, "an attribute: expected a number, truth value, text or list, found a map");
    return NV_NONE;
  }
  if (nv_kind_at(r, node) != NV_DOC_STRING) return nv_read_literal(r, node);
  const char *text = nv_text_at(r, node);
  size_t n = nv_length_at(r, node);
  int dtype = nv_dtype_find(text, n);
  if (dtype >= 0) return nv_ast_new(r->s, NV_AST_DTYPE, (unsigned)dtype, nv_at(r, node), NV_NONE);
  if (takes_expression(a)) return nv_read_expr(r, node);
  bool names_dtype = a && a->kind == NV_AT_DTYPE && nv_is_ident(text, n);
  return nv_ast_new(r->s, names_dtype ? NV_AST_NAME : NV_AST_STRING, 0, nv_at(r, node), nv_str_at(r, node));
}

static const nv_attr_info *find_attribute(nv_op op, const char *name) {
  if (op >= NV_NOPS) return NULL;
  for (const nv_attr_info *a = nv_ops[op].attrs; a->name; a++)
    if (!strcmp(a->name, name)) return a;
  return NULL;
}

/* ---- the plain form ---- */

enum { K_NAME, K_NAMES, K_OP, K_CALL, K_INPUTS, K_PLAIN };
static const char *const plain_keys[] = {"name", "names", "op", "call", "inputs"};

static nv_stmt blank_stmt(nv_stmt_kind kind, nv_pos pos) {
  return (nv_stmt){.kind = kind,
                   .pos = pos,
                   .first_target = NV_NONE,
                   .expr = NV_NONE,
                   .bindings = NV_NONE,
                   .yields = NV_NONE,
                   .name = NV_NONE};
}

static bool read_targets(nv_reader *r, const uint32_t *v, nv_stmt *st) {
  nv_ast last = NV_NONE;
  bool list = v[K_NAMES] != NV_NONE, fine = true;
  if (list && !nv_expect(r, v[K_NAMES], NV_DOC_LIST, "names")) return false;
  for (uint32_t k = list ? nv_first_at(r, v[K_NAMES]) : v[K_NAME]; k != NV_NONE;
       k = list ? nv_next_at(r, k) : NV_NONE) {
    nv_ast x = read_node_name(r, k);
    fine = fine && x != NV_NONE;
    if (x == NV_NONE) continue;
    if (last == NV_NONE)
      st->first_target = x;
    else
      r->s->ast[last].next = x;
    last = x;
    st->ntargets++;
  }
  if (fine && !st->ntargets) NV_AT_ERROR(r, v[K_NAMES], "names: expected at least one");
  return fine && st->ntargets;
}

/* {name: y, op: exp, inputs: [x], …}: the statement y = exp(x, …). */
static bool read_plain(nv_reader *r, uint32_t node, nv_stmt *st) {
  nv_spec *s = r->s;
  uint32_t v[K_PLAIN] = {NV_NONE, NV_NONE, NV_NONE, NV_NONE, NV_NONE}, before = r->c->errors;
  for (uint32_t key = nv_first_at(r, node); key != NV_NONE; key = nv_next_at(r, nv_next_at(r, key)))
    for (uint32_t k = 0; k < K_PLAIN; k++)
      if (nv_text_is(r, key, plain_keys[k])) v[k] = nv_next_at(r, key);
  *st = blank_stmt(NV_STMT_ASSIGN, nv_at(r, node));
  if ((v[K_NAME] == NV_NONE) == (v[K_NAMES] == NV_NONE)) {
    if (v[K_NAME] == NV_NONE && v[K_OP] == NV_NONE && v[K_CALL] == NV_NONE)
      NV_AT_ERROR(r, node, "a node is a text 'y = …', or a map with name and op (or call), or if, for, map");
    else if (v[K_NAME] == NV_NONE)
      NV_AT_ERROR(r, node, "a node without a name");
    else
      NV_AT_ERROR(r, v[K_NAMES], "a node takes either name or names");
    return false;
  }
  if (!read_targets(r, v, st)) return false;
  uint32_t callee = v[K_OP] != NV_NONE ? v[K_OP] : v[K_CALL];
  nv_ast call = NV_NONE, last = NV_NONE;
  if (v[K_OP] != NV_NONE && v[K_CALL] != NV_NONE)
    NV_AT_ERROR(r, v[K_CALL], "a node takes either op or call");
  else if (callee == NV_NONE)
    NV_AT_ERROR(r, node, "a node without an op or call");
  else if (!nv_is_textual(r, callee))
    NV_AT_ERROR(r, callee, "expected the name of an op or function, found %s", nv_found(r, callee));
  else if (nv_check_name(r, callee, v[K_OP] != NV_NONE ? "op" : "function"))
    call = nv_ast_new(s, NV_AST_CALL, 0, nv_at(r, callee), nv_str_at(r, callee));
  if (call != NV_NONE) {
    s->ast[call].flags = v[K_OP] != NV_NONE ? NV_CALL_OP : NV_CALL_FUNCTION;
    nv_op op = v[K_OP] != NV_NONE ? nv_op_find(nv_text_at(r, callee)) : NV_NOPS;
    if (v[K_INPUTS] == NV_NONE)
      NV_AT_ERROR(r, node, "a node without inputs");
    else if (nv_expect(r, v[K_INPUTS], NV_DOC_LIST, "inputs"))
      for (uint32_t k = nv_first_at(r, v[K_INPUTS]), next; k != NV_NONE; k = next) {
        next = nv_next_at(r, k);
        nv_ast x =
            nv_split_at_comma(r, v[K_INPUTS], k, &next) ? NV_NONE : nv_read_nested(r, k, false, operand_leaf, NULL);
        if (x != NV_NONE) nv_ast_append(s, call, &last, x);
      }
    for (uint32_t key = nv_first_at(r, node), value; key != NV_NONE; key = nv_next_at(r, value)) {
      bool known = nv_is_tool_key(r, key);
      value = nv_next_at(r, key);
      for (uint32_t k = 0; k < K_PLAIN; k++) known = known || v[k] == value;
      if (known || (!nv_text_is(r, key, "nan") && !nv_check_name(r, key, "attribute"))) continue;
      nv_ast x = nv_read_nested(r, value, false, attribute_leaf, find_attribute(op, nv_text_at(r, key)));
      if (x != NV_NONE) nv_ast_append(s, call, &last, keyword_at(r, key, x));
    }
  }
  st->expr = r->c->errors == before ? call : nv_ast_new(s, NV_AST_ERROR, 0, nv_at(r, node), NV_NONE);
  return true;
}

/* ---- if, for, map ---- */

typedef struct level {
  uint32_t list, next; /* a list of nodes, and the next one to read */
  nv_stmt_block *block;
} level;
typedef struct levels {
  level *at;
  uint32_t n, cap;
} levels;

/* A program: its text is read here, its list later. */
static bool enter(nv_reader *r, levels *todo, uint32_t node, nv_stmt_block *block) {
  if (nv_is_textual(r, node) && nv_kind_at(r, node) == NV_DOC_STRING)
    return nv_parse_block(r->s, node | r->mark, nv_text_at(r, node), nv_length_at(r, node), block);
  if (nv_kind_at(r, node) == NV_DOC_MAP && nv_seen_as_key(r, node)) return false;
  if (nv_kind_at(r, node) != NV_DOC_LIST) {
    NV_AT_ERROR(r, node, "expected a list of nodes or a block of statements, found %s", nv_found(r, node));
    return false;
  }
  NV_GROW(r->c, todo->at, todo->cap, (size_t)todo->n + 1);
  todo->at[todo->n++] = (level){node, nv_first_at(r, node), block};
  return true;
}

/* Is a key missing? Then it is reported, unless the node had errors before: the key may be misspelt. */
static bool missing(nv_reader *r, uint32_t before, uint32_t node, const char *what, const char *const *keys,
                    const uint32_t *v, uint32_t n) {
  for (uint32_t k = 0; k < n; k++)
    if (v[k] == NV_NONE) {
      if (r->c->errors == before) NV_AT_ERROR(r, node, "%s without '%s'", what, keys[k]);
      return true;
    }
  return false;
}

static bool read_if(nv_reader *r, levels *todo, uint32_t node, nv_stmt *st) {
  static const char *const keys[] = {"if", "then", "else"};
  uint32_t v[3];
  uint32_t before = r->c->errors;
  nv_read_keys(r, node, "an if node", keys, 3, v);
  if (missing(r, before, node, "an if node", keys, v, 2)) return false;
  st->expr = nv_read_expr(r, v[0]);
  st->then_ = NV_NEW(r->c, nv_stmt_block);
  st->else_ = NV_NEW(r->c, nv_stmt_block);
  bool fine = v[2] == NV_NONE || enter(r, todo, v[2], st->else_); /* below: the then part is read first */
  return enter(r, todo, v[1], st->then_) && fine && st->expr != NV_NONE;
}

static nv_ast literal_leaf(nv_reader *r, uint32_t node, const void *arg) {
  (void)arg;
  return nv_read_literal(r, node);
}

static bool read_for(nv_reader *r, levels *todo, uint32_t node, nv_stmt *st) {
  static const char *const keys[] = {"for", "in", "carry", "do"};
  uint32_t v[4], cap = 0;
  uint32_t before = r->c->errors;
  nv_read_keys(r, node, "a for node", keys, 4, v);
  if (missing(r, before, node, "a for node", keys, v, 4)) return false;
  bool fine = nv_is_textual(r, v[0]);
  if (!fine)
    NV_AT_ERROR(r, v[0], "for: expected a name, found %s", nv_found(r, v[0]));
  else
    fine = nv_check_name(r, v[0], "loop");
  if (fine) st->name = nv_str_at(r, v[0]);
  st->expr =
      nv_kind_at(r, v[1]) == NV_DOC_LIST ? nv_read_nested(r, v[1], false, literal_leaf, NULL) : nv_read_expr(r, v[1]);
  if (!nv_expect(r, v[2], NV_DOC_LIST, "carry")) return false;
  for (uint32_t k = nv_first_at(r, v[2]); k != NV_NONE; k = nv_next_at(r, k)) {
    if (!nv_is_textual(r, k)) NV_AT_ERROR(r, k, "carry: expected a name, found %s", nv_found(r, k));
    if (!nv_is_textual(r, k) || !nv_check_name(r, k, "carried value")) {
      fine = false;
      continue;
    }
    NV_GROW(r->c, st->carry, cap, (size_t)st->ncarry + 1);
    st->carry[st->ncarry++] = nv_str_at(r, k);
  }
  st->then_ = NV_NEW(r->c, nv_stmt_block);
  return enter(r, todo, v[3], st->then_) && fine && st->expr != NV_NONE;
}

static nv_ast path_at(nv_reader *r, uint32_t node, const char *what) {
  nv_ast x = nv_is_textual(r, node) ? nv_read_path(r, node) : NV_NONE;
  if (x == NV_NONE)
    NV_AT_ERROR(r, node, "%s: expected a path like p.layers[0], found %s", what,
                nv_is_textual(r, node) ? nv_format(r->c, "'%s'", nv_shown_at(r, node)) : nv_found(r, node));
  return x;
}

static bool read_map(nv_reader *r, levels *todo, uint32_t node, nv_stmt *st) {
  static const char *const keys[] = {"map", "do", "yield", "where"};
  uint32_t v[4], before = r->c->errors;
  nv_read_keys(r, node, "a map node", keys, 4, v);
  if (missing(r, before, node, "a map node", keys, v, 3)) return false;
  nv_ast last = NV_NONE;
  if (nv_expect(r, v[0], NV_DOC_MAP, "map"))
    for (uint32_t key = nv_first_at(r, v[0]), value; key != NV_NONE; key = nv_next_at(r, value)) {
      value = nv_next_at(r, key);
      if (nv_is_tool_key(r, key) || !nv_check_name(r, key, "mapped value")) continue;
      nv_ast x = path_at(r, value, "map");
      if (x == NV_NONE) continue;
      x = keyword_at(r, key, x);
      if (last == NV_NONE)
        st->bindings = x;
      else
        r->s->ast[last].next = x;
      last = x;
    }
  if (v[3] != NV_NONE) st->expr = nv_read_expr(r, v[3]);
  last = NV_NONE;
  if (nv_expect(r, v[2], NV_DOC_MAP, "yield"))
    for (uint32_t key = nv_first_at(r, v[2]), value; key != NV_NONE; key = nv_next_at(r, value)) {
      value = nv_next_at(r, key);
      if (nv_is_tool_key(r, key)) continue;
      nv_ast path = path_at(r, key, "yield"), name, second;
      if (!nv_is_textual(r, value)) NV_AT_ERROR(r, value, "yield: expected a name, found %s", nv_found(r, value));
      if (path == NV_NONE || !nv_is_textual(r, value) || !nv_check_name(r, value, "value")) continue;
      second = name = nv_ast_new(r->s, NV_AST_NAME, 0, nv_at(r, value), nv_str_at(r, value));
      nv_ast x = keyword_at(r, key, name);
      nv_ast_append(r->s, x, &second, path);
      if (last == NV_NONE)
        st->yields = x;
      else
        r->s->ast[last].next = x;
      last = x;
    }
  if (r->c->errors == before && (st->bindings == NV_NONE || st->yields == NV_NONE))
    NV_AT_ERROR(r, st->bindings == NV_NONE ? v[0] : v[2], "expected at least one 'name: path'");
  st->then_ = NV_NEW(r->c, nv_stmt_block);
  return enter(r, todo, v[1], st->then_) && r->c->errors == before;
}

/* A map whose first key is a text of an expression: YAML found ": " in it. */
static bool is_text_seen_as_key(const nv_reader *r, uint32_t node) {
  uint32_t key = nv_first_at(r, node);
  return key != NV_NONE && strpbrk(nv_text_at(r, key), "=([{ ") != NULL;
}

static bool read_node(nv_reader *r, levels *todo, uint32_t node, nv_stmt *st) {
  nv_doc_kind kind = nv_kind_at(r, node);
  if (kind == NV_DOC_STRING)
    return nv_parse_statement(r->s, node | r->mark, nv_text_at(r, node), 0, nv_length_at(r, node), st);
  if (kind != NV_DOC_MAP) {
    NV_AT_ERROR(r, node, "a node: expected a statement or a map, found %s", nv_found(r, node));
    return false;
  }
  if (nv_doc_get(r->d, node, "op") == NV_NONE && nv_doc_get(r->d, node, "call") == NV_NONE) {
    static const char *const keys[] = {"if", "for", "map"};
    static const char *const others[] = {"op", "call", "name", "names", "inputs", "if", "for", "map"};
    for (unsigned k = 0; k < 3; k++) {
      if (nv_doc_get(r->d, node, keys[k]) == NV_NONE) continue;
      *st = blank_stmt(k == 0 ? NV_STMT_IF : k == 1 ? NV_STMT_FOR : NV_STMT_MAP, nv_at(r, node));
      return k == 0 ? read_if(r, todo, node, st) : k == 1 ? read_for(r, todo, node, st) : read_map(r, todo, node, st);
    }
    if (is_text_seen_as_key(r, node) && nv_seen_as_key(r, node)) return false;
    for (uint32_t key = nv_first_at(r, node); key != NV_NONE; key = nv_next_at(r, nv_next_at(r, key))) {
      const char *near = nv_nearest(nv_text_at(r, key), others, sizeof others / sizeof *others);
      if (!near || nv_text_is(r, key, near)) continue;
      NV_AT_ERROR(r, key, "unknown key '%s' in a node; did you mean '%s'?", nv_shown_at(r, key), near);
      return false;
    }
  }
  return read_plain(r, node, st);
}

bool nv_read_program(nv_reader *r, uint32_t node, nv_stmt_block *out) {
  levels todo = {0};
  bool fine = enter(r, &todo, node, out);
  while (todo.n && r->c->errors < NV_MAX_ERRORS) {
    level *top = &todo.at[todo.n - 1];
    uint32_t item = top->next;
    nv_stmt_block *block = top->block;
    if (item == NV_NONE) {
      todo.n--;
      continue;
    }
    top->next = nv_next_at(r, item);
    nv_stmt st;
    if (nv_split_at_comma(r, top->list, item, &top->next))
      fine = false;
    else if (!read_node(r, &todo, item, &st))
      fine = false;
    else {
      NV_GROW(r->c, block->stmts, block->cap, (size_t)block->n + 1);
      block->stmts[block->n++] = st;
    }
  }
  nv_drop(r->c, todo.at);
  return fine && !todo.n;
}

/* ---- outputs ---- */

static nv_ast output_leaf(nv_reader *r, uint32_t node, const void *arg) {
  (void)arg;
  if (nv_is_textual(r, node)) {
    nv_str name = nv_str_at(r, node);
    if (is_odd_name(r, name)) return nv_ast_new(r->s, NV_AST_NAME, 0, nv_at(r, node), name);
  }
  return nv_read_expr(r, node);
}

bool nv_read_outputs(nv_reader *r, uint32_t node) {
  nv_function *f = r->f;
  nv_doc_kind kind = nv_kind_at(r, node);
  if ((kind == NV_DOC_LIST || kind == NV_DOC_MAP) && !nv_count_at(r, node)) {
    NV_AT_ERROR(r, node, "a function has at least one output");
    return false;
  }
  bool one = kind == NV_DOC_LIST && nv_count_at(r, node) == 1;
  f->outputs_kind = kind == NV_DOC_MAP ? NV_OUT_MAP : kind == NV_DOC_LIST && !one ? NV_OUT_LIST : NV_OUT_SINGLE;
  f->outputs = nv_read_nested(r, node, true, output_leaf, NULL);
  if (f->outputs != NV_NONE && one) f->outputs = r->s->ast[f->outputs].first;
  return f->outputs != NV_NONE;
}
