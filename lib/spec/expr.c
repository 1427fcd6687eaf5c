/* expr.c - expressions: an operator-precedence machine with a stack of its own.
 *
 * The machine alternates between two states. In OPERAND it expects the start of an operand; in OPERATOR it holds one
 * (x) and expects what may follow it. The stack holds operators that wait for their right operand, and open brackets;
 * an operator of lower precedence, a comma or a closing bracket first reduces the operators above it. */
#include "parse.h"

typedef enum frame_kind { UNARY, BINARY, COMPARE, PAREN, CALL, LIST, TREE, INDEX } frame_kind;

typedef struct frame {
  uint8_t kind, op, precedence;
  uint8_t colons; /* INDEX: of the slice that is being read */
  bool empty, keyword_seen;
  nv_ast node, last; /* BINARY, UNARY: left operand; else: the node that is being built, and its last child */
  nv_ast keyword;    /* CALL, TREE: the k= that the item belongs to, or NV_NONE */
  nv_ast slice, slice_last;
  size_t start; /* byte of the operator or bracket */
  size_t item;  /* byte of the current item */
} frame;

typedef enum state { OPERAND, OPERATOR, DONE, FAILED } state;

typedef struct machine {
  nv_parser *p;
  nv_ast x; /* OPERATOR: the operand */
  uint32_t n;
  frame stack[NV_MAX_DEPTH];
} machine;

enum { NOT = 3, COMPARISON = 4, SIGN = 11, POWER = 12 };
static const uint8_t precedence[] = {
    [NV_OPR_OR] = 1,          [NV_OPR_AND] = 2,         [NV_OPR_NOT] = NOT,       [NV_OPR_EQ] = COMPARISON,
    [NV_OPR_NE] = COMPARISON, [NV_OPR_LT] = COMPARISON, [NV_OPR_LE] = COMPARISON, [NV_OPR_GT] = COMPARISON,
    [NV_OPR_GE] = COMPARISON, [NV_OPR_BOR] = 5,         [NV_OPR_BXOR] = 6,        [NV_OPR_BAND] = 7,
    [NV_OPR_SHL] = 8,         [NV_OPR_SHR] = 8,         [NV_OPR_ADD] = 9,         [NV_OPR_SUB] = 9,
    [NV_OPR_MUL] = 10,        [NV_OPR_DIV] = 10,        [NV_OPR_FLOORDIV] = 10,   [NV_OPR_MOD] = 10,
    [NV_OPR_MATMUL] = 10,     [NV_OPR_NEG] = SIGN,      [NV_OPR_POS] = SIGN,      [NV_OPR_INVERT] = SIGN,
    [NV_OPR_POW] = POWER};

/* ---- nodes ---- */

nv_ast nv_ast_new(nv_spec *s, nv_ast_kind kind, unsigned op, nv_pos pos, nv_str text) {
  NV_GROW(s->c, s->ast, s->ast_cap, (size_t)s->nast + 1);
  s->ast[s->nast] = (nv_ast_node){(uint8_t)kind, (uint8_t)op, 0, pos, text, NV_NONE, NV_NONE, 0};
  return s->nast++;
}
void nv_ast_append(nv_spec *s, nv_ast parent, nv_ast *last, nv_ast child) {
  if (*last == NV_NONE)
    s->ast[parent].first = child;
  else
    s->ast[*last].next = child;
  *last = child;
  s->ast[parent].count++;
}

static nv_ast leaf(machine *m, nv_ast_kind kind, unsigned op, size_t start, nv_str text) {
  return nv_ast_new(m->p->s, kind, op, nv_parser_pos(m->p, start), text);
}
static nv_ast with_child(machine *m, nv_ast parent, nv_ast child) {
  nv_ast last = NV_NONE;
  nv_ast_append(m->p->s, parent, &last, child);
  return parent;
}

/* ---- the stack ---- */

static frame *top(machine *m) { return m->n ? &m->stack[m->n - 1] : NULL; }
static bool is_bracket(const frame *f) { return f && f->kind >= PAREN; }

static frame *push(machine *m, frame_kind kind, uint8_t op, uint8_t prec, nv_ast node, size_t start) {
  if (m->n == NV_MAX_DEPTH) {
    nv_parse_error(m->p, start, "nesting deeper than %d", NV_MAX_DEPTH);
    return NULL;
  }
  frame *f = &m->stack[m->n++];
  *f = (frame){.kind = (uint8_t)kind,
               .op = op,
               .precedence = prec,
               .empty = true,
               .node = node,
               .last = NV_NONE,
               .keyword = NV_NONE,
               .slice = NV_NONE,
               .slice_last = NV_NONE,
               .start = start};
  return f;
}

/* Opens a bracket whose token is the current one. */
static state open(machine *m, frame_kind kind, nv_ast node) {
  nv_parser *p = m->p;
  frame *f = push(m, kind, 0, 0, node, p->start);
  if (!f) return FAILED;
  p->brackets++;
  nv_lex(p);
  f->item = p->start;
  return OPERAND;
}

/* Gives the operators above precedence prec their right operand. right: those of prec stay. */
static void reduce(machine *m, unsigned prec, bool right) {
  nv_spec *s = m->p->s;
  for (frame *f; (f = top(m)) && !is_bracket(f) && (f->precedence > prec || (f->precedence == prec && !right));
       m->n--) {
    if (f->kind == UNARY) {
      m->x = with_child(m, leaf(m, NV_AST_UNARY, f->op, f->start, NV_NONE), m->x);
    } else if (f->kind == BINARY) {
      nv_ast b = leaf(m, NV_AST_BINARY, f->op, f->start, NV_NONE), last = NV_NONE;
      nv_ast_append(s, b, &last, f->node);
      nv_ast_append(s, b, &last, m->x);
      m->x = b;
    } else {
      nv_ast_append(s, f->node, &f->last, m->x);
      m->x = f->node;
    }
  }
}

/* ---- what may be wrong ---- */

static const char *bracket_text(const frame *f) {
  return f->kind == PAREN || f->kind == CALL ? "(" : f->kind == TREE ? "{" : "[";
}
static const char *closing_text(const frame *f) {
  return f->kind == PAREN || f->kind == CALL ? ")" : f->kind == TREE ? "}" : "]";
}
static bool closes(const frame *f, nv_token tok) {
  return tok == (f->kind == PAREN || f->kind == CALL ? NV_T_RPAREN : f->kind == TREE ? NV_T_RBRACE : NV_T_RBRACKET);
}
static bool is_closing(nv_token tok) { return tok == NV_T_RPAREN || tok == NV_T_RBRACKET || tok == NV_T_RBRACE; }

/* The innermost open bracket. */
static const frame *bracket(const machine *m) {
  for (uint32_t i = m->n; i > 0; i--)
    if (is_bracket(&m->stack[i - 1])) return &m->stack[i - 1];
  return NULL;
}

/* A reserved word, or a token that is never right where an expression is. */
static bool hint(const nv_parser *p) {
  switch (p->tok) {
  case NV_T_ERROR: return true; /* reported */
  case NV_T_WALRUS:
    nv_parse_error(p, p->start, "':=' is not part of the language: a statement is 'name = expression'");
    return true;
  case NV_T_AUGMENTED:
    nv_parse_error(p, p->start, "%s is not part of the language: write 'new = old %.*s …'",
                   nv_token_text(p), (int)(p->at - p->start - 1), p->text + p->start);
    return true;
  case NV_T_ASSIGN: nv_parse_error(p, p->start, "'=' inside an expression: write '==' to compare"); return true;
  case NV_T_QUESTION:
    nv_parse_error(p, p->start, "'?' is not part of the language: use where(condition, a, b)");
    return true;
  case NV_T_RESERVED:
    switch (p->text[p->start] == 'i' ? p->text[p->start + 1] : 'o') {
    case 'f':
      nv_parse_error(p, p->start,
                     "'if' is no operator: use where(condition, a, b), or an if: node for a static condition");
      return true;
    case 'o': nv_parse_error(p, p->start, "'for' is no operator: use a for: node"); return true;
    default: nv_parse_error(p, p->start, "%s is not an operator of the language", nv_token_text(p)); return true;
    }
  default: return false;
  }
}

bool nv_unexpected(nv_parser *p) {
  if (hint(p)) return false;
  if (is_closing(p->tok)) return nv_parse_error(p, p->start, "%s closes nothing", nv_token_text(p));
  if (p->tok == NV_T_COLON) return nv_parse_error(p, p->start, "':' has no meaning here");
  if (p->tok == NV_T_COMMA)
    return nv_parse_error(p, p->start, "expected the end, found ',': one expression stands here");
  return nv_parse_error(p, p->start, "expected an operator or the end, found %s", nv_token_text(p));
}

static bool is_module(const nv_parser *p, nv_ast x) {
  static const char *const modules[] = {"np", "numpy", "mx", "torch", "jnp", "jax", "nn", "F", "tf", "cp", "math"};
  if (p->s->ast[x].kind != NV_AST_NAME) return false;
  for (size_t k = 0; k < sizeof modules / sizeof *modules; k++)
    if (!strcmp(modules[k], nv_text(p->c, p->s->ast[x].text))) return true;
  return false;
}

/* OPERATOR: the current token can't follow an operand. */
static state cannot_follow(machine *m) {
  const nv_parser *p = m->p;
  const frame *b = bracket(m);
  const nv_ast_node *x = &p->s->ast[m->x];
  if (b && (p->tok == NV_T_END || (p->first && !is_closing(p->tok))))
    nv_parse_error(p, b->start, "'%s' is not closed", bracket_text(b));
  else if (hint(p))
    return FAILED;
  else if (b && is_closing(p->tok))
    nv_parse_error(p, p->start, "expected '%s', found %s", closing_text(b), nv_token_text(p));
  else if (b && b->kind == PAREN && p->tok == NV_T_COMMA)
    nv_parse_error(p, p->start, "expected ')', found ',': there are no tuples, lists are written [a, b]");
  else if (p->tok == NV_T_LPAREN && x->kind == NV_AST_FIELD)
    nv_error(p->c, x->pos, "%s: write %s(x, …)",
             is_module(p, x->first) ? "ops have no module" : "arrays have no methods",
             nv_shown(p->c, nv_text(p->c, x->text), nv_text_len(p->c, x->text)));
  else if (p->tok == NV_T_LPAREN && !p->sizes)
    nv_parse_error(p, p->start, "only a name can be called");
  else if (p->tok == NV_T_COLON)
    nv_parse_error(p, p->start, "':' has no meaning here");
  else if (p->tok == NV_T_STRING && x->kind == NV_AST_NAME &&
           p->start == x->pos.offset - 1 + nv_text_len(p->c, x->text))
    nv_parse_error(p, x->pos.offset - 1, "strings have no prefix");
  else if (p->sizes)
    nv_parse_error(p, p->start, "a size is made of whole numbers, names, + - * //");
  else
    nv_parse_error(p, p->start, "expected an operator%s%s%s, found %s", b ? " or '" : "", b ? closing_text(b) : "",
                   b ? "'" : "", nv_token_text(p));
  return FAILED;
}

/* OPERAND: the current token starts no operand. */
static state no_operand(machine *m) {
  const nv_parser *p = m->p;
  const frame *f = top(m), *b = bracket(m);
  bool ends = p->tok == NV_T_END || is_closing(p->tok) || p->tok == NV_T_COMMA;
  if (p->tok == NV_T_ERROR) return FAILED;
  if (p->sizes && (p->tok == NV_T_NONE || (p->tok == NV_T_OPERATOR && p->op == NV_OPR_SUB))) {
    nv_parse_error(p, p->start, "%s is no size: an open one is written ?",
                   p->tok == NV_T_NONE ? "'None'" : "a negative number");
  } else if (p->sizes && !ends && p->tok != NV_T_QUESTION) {
    nv_parse_error(p, p->start, "a size is made of whole numbers, names, + - * //");
  } else if (f && !is_bracket(f) && ends) {
    nv_parse_error(p, f->start, "expected an operand behind '%s'", nv_operator_text[f->op]);
  } else if (b && p->tok == NV_T_END) {
    nv_parse_error(p, b->start, "'%s' is not closed", bracket_text(b));
  } else if (p->tok == NV_T_END) {
    nv_parse_error(p, p->start, "expected an expression");
  } else if (b && is_closing(p->tok)) {
    if (closes(b, p->tok))
      nv_parse_error(p, p->start, "expected an expression before %s", nv_token_text(p));
    else
      nv_parse_error(p, p->start, "expected '%s', found %s", closing_text(b), nv_token_text(p));
  } else if (p->tok == NV_T_OPERATOR && (p->op == NV_OPR_POW || p->op == NV_OPR_MUL) && f && f->kind == CALL) {
    nv_parse_error(p, p->start, "%s before an argument is not part of the language", nv_token_text(p));
  } else if (p->tok == NV_T_OPERATOR && p->op == NV_OPR_NOT) {
    nv_parse_error(p, p->start, "'not' binds weaker than '%s': put it in parentheses", nv_operator_text[f->op]);
  } else if (p->tok == NV_T_RESERVED) {
    nv_parse_error(p, p->start, "%s is a reserved word", nv_token_text(p));
  } else if (p->tok == NV_T_NONE) {
    nv_parse_error(p, p->start, "None stands only in an index or as an argument");
  } else if (p->tok == NV_T_ELLIPSIS) {
    nv_parse_error(p, p->start, "'...' stands only in an index");
  } else {
    nv_parse_error(p, p->start, "expected an operand, found %s", nv_token_text(p));
  }
  return FAILED;
}

/* ---- items of brackets ---- */

/* The current item is x (NV_NONE: nothing, behind a slice's colon): links it into the bracket's node. */
static bool end_item(machine *m, frame *f, nv_ast x) {
  nv_spec *s = m->p->s;
  if (f->kind == PAREN) return true;
  if (f->slice != NV_NONE) {
    if (x == NV_NONE) x = leaf(m, NV_AST_NONE, 0, f->item, NV_NONE);
    nv_ast_append(s, f->slice, &f->slice_last, x);
    while (s->ast[f->slice].count < 3)
      nv_ast_append(s, f->slice, &f->slice_last, leaf(m, NV_AST_NONE, 0, f->item, NV_NONE));
    x = f->slice;
    f->slice = f->slice_last = NV_NONE;
    f->colons = 0;
  }
  if (f->keyword != NV_NONE) {
    x = with_child(m, f->keyword, x);
    f->keyword = NV_NONE;
  } else if (f->keyword_seen && f->kind == CALL) {
    return nv_parse_error(m->p, f->item, "an argument without a name behind one with a name");
  }
  nv_ast_append(s, f->node, &f->last, x);
  f->empty = false;
  return true;
}

/* One part of a slice ends at the current ':'. */
static state slice_part(machine *m, frame *f, nv_ast x) {
  nv_parser *p = m->p;
  if (f->colons == 2) return nv_parse_error(p, p->start, "a slice has three parts at most"), FAILED;
  if (f->slice == NV_NONE) f->slice = leaf(m, NV_AST_SLICE, 0, f->item, NV_NONE);
  if (x == NV_NONE) x = leaf(m, NV_AST_NONE, 0, p->start, NV_NONE);
  nv_ast_append(p->s, f->slice, &f->slice_last, x);
  f->colons++;
  nv_lex(p);
  return OPERAND;
}

/* Keywords of a call and fields of a tree stand once. */
static bool check_keywords(machine *m, const frame *f) {
  nv_spec *s = m->p->s;
  nv_map seen = {0};
  bool fine = true;
  uint32_t k = 0;
  nv_ast few[8];
  for (nv_ast a = s->ast[f->node].first; a != NV_NONE && fine; a = s->ast[a].next) {
    if (s->ast[a].kind != NV_AST_KEYWORD) continue;
    nv_str name = s->ast[a].text;
    uint64_t hash = nv_hash(&name, sizeof name, 0);
    uint32_t at = 0, other;
    for (uint32_t i = 0; i < k && i < 8; i++) fine = fine && s->ast[few[i]].text != name;
    while ((other = nv_map_next(&seen, hash, &at)) != NV_NONE) fine = fine && s->ast[other].text != name;
    if (!fine) {
      nv_error(s->c, s->ast[a].pos, "'%s' is given twice",
               nv_shown(s->c, nv_text(s->c, name), nv_text_len(s->c, name)));
    } else if (k < 8) {
      few[k] = a;
    } else {
      nv_map_add(s->c, &seen, hash, a);
    }
    k++;
  }
  nv_map_drop(s->c, &seen);
  return fine;
}

/* The current token closes the innermost bracket, whose items are complete. */
static state close(machine *m) {
  nv_parser *p = m->p;
  frame *f = top(m);
  if (f->kind != PAREN) m->x = f->node;
  if (f->keyword_seen && !check_keywords(m, f)) return FAILED;
  m->n--;
  p->brackets--;
  nv_lex(p);
  return OPERATOR;
}

/* ---- operands ---- */

/* Is the sign at the current token directly before a number, inf or nan that isn't a power's base? Then the number is
 * the current token. */
static bool signed_number(nv_parser *p) {
  const char *s = p->text;
  size_t at = p->at, n = p->to;
  bool digit = at < n && ((s[at] >= '0' && s[at] <= '9') ||
                          (s[at] == '.' && at + 1 < n && s[at + 1] >= '0' && s[at + 1] <= '9'));
  bool named = n - at >= 3 && (!memcmp(s + at, "inf", 3) || !memcmp(s + at, "nan", 3));
  if (!digit && !named) return false;
  nv_parser ahead = *p;
  nv_lex(&ahead);
  if (named && ahead.tok != NV_T_INF && ahead.tok != NV_T_NAN) return false;
  at = ahead.at;
  while (at < n &&
         (s[at] == ' ' || s[at] == '\t' || ((s[at] == '\n' || s[at] == '\r') && (!p->block || p->brackets))))
    at++;
  if (at + 1 < n && s[at] == '*' && s[at + 1] == '*' && ahead.tok != NV_T_ERROR) return false;
  *p = ahead;
  return true;
}

static state number(machine *m, bool negative, size_t start) {
  nv_parser *p = m->p;
  nv_ast_kind kind = p->tok == NV_T_INT ? NV_AST_INT : p->tok == NV_T_IMAG ? NV_AST_IMAG : NV_AST_FLOAT;
  if (p->tok == NV_T_ERROR) return FAILED;
  if (p->sizes) {
    uint64_t v = 0;
    for (size_t i = p->start; i < p->at && v <= UINT64_C(1) << 48; i++)
      if (p->text[i] != '_') v = v * 10 + (uint64_t)(p->text[i] - '0');
    if (kind != NV_AST_INT || (p->at > p->start + 1 && p->text[p->start + 1] > '9' && p->text[p->start + 1] != '_'))
      return nv_parse_error(p, p->start, "a size is a decimal whole number"), FAILED;
    if (v > UINT64_C(1) << 48) return nv_parse_error(p, p->start, "a size of at most 2^48"), FAILED;
  }
  m->x = leaf(m, kind, 0, start, nv_token_number(p, negative));
  nv_lex(p);
  return OPERATOR;
}

static state prefix(machine *m) {
  nv_parser *p = m->p;
  frame *f = top(m);
  size_t start = p->start;
  nv_operator op = (nv_operator)p->op;
  if (p->sizes) return no_operand(m);
  if (op == NV_OPR_NOT) {
    if (f && !is_bracket(f) && f->precedence > NOT) return no_operand(m);
  } else if (op == NV_OPR_SUB || op == NV_OPR_ADD) {
    if (signed_number(p)) return number(m, op == NV_OPR_SUB, start);
    op = op == NV_OPR_SUB ? NV_OPR_NEG : NV_OPR_POS;
  } else if (op != NV_OPR_INVERT) {
    return no_operand(m);
  }
  if (!push(m, UNARY, (uint8_t)op, precedence[op], NV_NONE, start)) return FAILED;
  nv_lex(p);
  return OPERAND;
}

static state name(machine *m) {
  nv_parser *p = m->p;
  frame *f = top(m);
  size_t start = p->start, n = p->at - start;
  const char *text = p->text + start;
  bool starts_item = f && f->kind == CALL && f->keyword == NV_NONE && start == f->item;
  bool constant = (n == 4 && !memcmp(text, "True", 4)) || (n == 5 && !memcmp(text, "False", 5));
  bool null =
      f && (f->kind == INDEX || (f->kind == CALL && f->keyword != NV_NONE)) && n == 4 && !memcmp(text, "null", 4);
  if (constant)
    return nv_parse_error(p, start, "'%.*s': write '%s'", (int)n, text, n == 4 ? "true" : "false"), FAILED;
  if (null) return nv_parse_error(p, start, "'null': write 'None'"), FAILED;
  nv_str word = nv_intern(p->c, text, n);
  nv_lex(p);
  if (starts_item && p->tok == NV_T_ASSIGN) {
    f->keyword = leaf(m, NV_AST_KEYWORD, 0, start, word);
    f->keyword_seen = true;
    nv_lex(p);
    return OPERAND;
  }
  if (p->tok == NV_T_NAME && n == 6 && !memcmp(text, "lambda", 6))
    return nv_parse_error(p, start, "'lambda' is not part of the language"), FAILED;
  if (p->tok == NV_T_LPAREN && !p->sizes) return open(m, CALL, leaf(m, NV_AST_CALL, 0, start, word));
  m->x = leaf(m, NV_AST_NAME, 0, start, word);
  return OPERATOR;
}

/* The name and ':' of a tree's next field. */
static state field_name(machine *m, frame *f) {
  nv_parser *p = m->p;
  if (p->tok == NV_T_RBRACE && !f->empty) return close(m);
  if (p->tok == NV_T_RBRACE) return nv_parse_error(p, f->start, "a tree without fields"), FAILED;
  if (p->tok == NV_T_ERROR) return FAILED;
  if (p->tok == NV_T_END) return nv_parse_error(p, f->start, "'{' is not closed"), FAILED;
  if (p->tok != NV_T_NAME)
    return nv_parse_error(p, p->start, "expected a field's name, found %s", nv_token_text(p)), FAILED;
  f->keyword = leaf(m, NV_AST_KEYWORD, 0, p->start, nv_intern(p->c, p->text + p->start, p->at - p->start));
  f->keyword_seen = true;
  nv_lex(p);
  if (p->tok != NV_T_COLON) {
    if (p->tok == NV_T_ERROR) return FAILED;
    return nv_parse_error(p, p->start, "expected ':' behind the field's name, found %s", nv_token_text(p)), FAILED;
  }
  nv_lex(p);
  return OPERAND;
}

/* Is the word in front an argument's name? Ops have attributes that are called as reserved words are. */
static bool names_argument(const nv_parser *p, const frame *f) {
  if (!f || f->kind != CALL || f->keyword != NV_NONE || p->start != f->item) return false;
  size_t at = p->at;
  while (at < p->to && (p->text[at] == ' ' || p->text[at] == '\n' || p->text[at] == '\t')) at++;
  return at < p->to && p->text[at] == '=' && (at + 1 == p->to || p->text[at + 1] != '=');
}

static state operand(machine *m) {
  nv_parser *p = m->p;
  frame *f = top(m);
  if (f && f->kind == TREE && f->keyword == NV_NONE) return field_name(m, f);
  if (p->sizes && p->tok != NV_T_INT && p->tok != NV_T_NAME && p->tok != NV_T_LPAREN) return no_operand(m);
  size_t start = p->start;
  switch (p->tok) {
  case NV_T_INT:
  case NV_T_FLOAT:
  case NV_T_IMAG:
  case NV_T_INF:
  case NV_T_NAN: return names_argument(p, f) ? name(m) : number(m, false, start);
  case NV_T_STRING: m->x = leaf(m, NV_AST_STRING, 0, start, nv_token_string(p)); break;
  case NV_T_TRUE:
  case NV_T_FALSE: m->x = leaf(m, NV_AST_BOOL, p->tok == NV_T_TRUE, start, NV_NONE); break;
  case NV_T_NAME: return name(m);
  case NV_T_DTYPE: {
    unsigned dtype = p->op;
    nv_lex(p);
    if (p->tok == NV_T_LPAREN) return open(m, CALL, leaf(m, NV_AST_CAST, dtype, start, NV_NONE));
    m->x = leaf(m, NV_AST_DTYPE, dtype, start, NV_NONE);
    return OPERATOR;
  }
  case NV_T_LPAREN: return open(m, PAREN, NV_NONE);
  case NV_T_LBRACKET: return open(m, LIST, leaf(m, NV_AST_LIST, 0, start, NV_NONE));
  case NV_T_LBRACE: return open(m, TREE, leaf(m, NV_AST_TREE, 0, start, NV_NONE));
  case NV_T_OPERATOR: return prefix(m);
  case NV_T_NONE:
    if (!is_bracket(f) || f->kind == PAREN) return no_operand(m);
    m->x = leaf(m, NV_AST_NONE, 0, start, NV_NONE);
    break;
  case NV_T_ELLIPSIS:
    if (!f || f->kind != INDEX || f->slice != NV_NONE) return no_operand(m);
    m->x = leaf(m, NV_AST_ELLIPSIS, 0, start, NV_NONE);
    nv_lex(p);
    if (p->tok != NV_T_COMMA && p->tok != NV_T_RBRACKET) return cannot_follow(m);
    return OPERATOR;
  case NV_T_COLON: return f && f->kind == INDEX ? slice_part(m, f, NV_NONE) : no_operand(m);
  case NV_T_COMMA:
    if (!f || f->kind != INDEX || f->slice == NV_NONE) return no_operand(m);
    if (!end_item(m, f, NV_NONE)) return FAILED;
    nv_lex(p);
    f->item = p->start;
    return OPERAND;
  case NV_T_RPAREN:
  case NV_T_RBRACKET:
  case NV_T_RBRACE: { /* nothing between the brackets, or behind the last comma */
    if (!is_bracket(f) || !closes(f, p->tok) || f->kind == PAREN || f->keyword != NV_NONE) return no_operand(m);
    if (f->slice != NV_NONE && !end_item(m, f, NV_NONE)) return FAILED;
    if (f->kind == INDEX && f->empty) return nv_parse_error(p, f->start, "an empty index"), FAILED;
    return close(m);
  }
  default: return no_operand(m);
  }
  nv_lex(p);
  return OPERATOR;
}

/* ---- operators ---- */

static state binary(machine *m) {
  nv_parser *p = m->p;
  nv_operator op = (nv_operator)p->op;
  unsigned prec = precedence[op];
  size_t start = p->start;
  bool compares = prec == COMPARISON;
  reduce(m, prec, op == NV_OPR_POW || compares);
  frame *f = top(m);
  if (compares && f && !is_bracket(f) && f->precedence == COMPARISON) { /* a second operator makes a chain */
    if (f->kind == BINARY) {
      nv_ast chain = leaf(m, NV_AST_COMPARE, 0, f->start, NV_NONE), left = f->node;
      f->kind = COMPARE;
      f->node = chain;
      nv_ast_append(p->s, chain, &f->last, left);
      nv_ast_append(p->s, chain, &f->last, leaf(m, NV_AST_OPERATOR, f->op, f->start, NV_NONE));
    }
    nv_ast_append(p->s, f->node, &f->last, m->x);
    nv_ast_append(p->s, f->node, &f->last, leaf(m, NV_AST_OPERATOR, op, start, NV_NONE));
    f->start = start;
    f->op = (uint8_t)op;
  } else if (!push(m, BINARY, (uint8_t)op, (uint8_t)prec, m->x, start)) {
    return FAILED;
  }
  nv_lex(p);
  return OPERAND;
}

static state operator_(machine *m) {
  nv_parser *p = m->p;
  size_t start = p->start;
  switch (p->tok) {
  case NV_T_OPERATOR: {
    bool sum = p->op == NV_OPR_ADD || p->op == NV_OPR_SUB || p->op == NV_OPR_MUL || p->op == NV_OPR_FLOORDIV;
    if (p->op == NV_OPR_NOT || p->op == NV_OPR_INVERT || (p->sizes && !sum)) return cannot_follow(m);
    return binary(m);
  }
  case NV_T_DOT:
    if (p->sizes) return cannot_follow(m);
    nv_lex(p);
    if (p->tok == NV_T_ERROR) return FAILED;
    if (p->tok != NV_T_NAME) return nv_parse_error(p, start, "expected a field's name behind '.'"), FAILED;
    m->x = with_child(m, leaf(m, NV_AST_FIELD, 0, p->start, nv_intern(p->c, p->text + p->start, p->at - p->start)),
                      m->x);
    nv_lex(p);
    return OPERATOR;
  case NV_T_LBRACKET: {
    if (p->sizes) return cannot_follow(m);
    nv_ast base = m->x, node = leaf(m, NV_AST_INDEX, 0, start, NV_NONE);
    state next = open(m, INDEX, node);
    if (next != FAILED) nv_ast_append(p->s, node, &top(m)->last, base);
    return next;
  }
  case NV_T_LPAREN: return cannot_follow(m);
  default: break;
  }
  reduce(m, 0, false);
  frame *f = top(m);
  if (!f) return DONE;
  if (closes(f, p->tok)) return end_item(m, f, m->x) ? close(m) : FAILED;
  if (p->tok == NV_T_COMMA && f->kind != PAREN) {
    if (!end_item(m, f, m->x)) return FAILED;
    nv_lex(p);
    f->item = p->start;
    return OPERAND;
  }
  return p->tok == NV_T_COLON && f->kind == INDEX ? slice_part(m, f, m->x) : cannot_follow(m);
}

nv_ast nv_parse_expression(nv_parser *p) {
  machine m;
  m.p = p;
  m.x = NV_NONE;
  m.n = 0;
  state now = OPERAND;
  while (now == OPERAND || now == OPERATOR) now = now == OPERAND ? operand(&m) : operator_(&m);
  return now == DONE ? m.x : NV_NONE;
}

nv_ast nv_parse_expr(nv_spec *s, uint32_t doc_node, const char *text, size_t from, size_t to) {
  nv_parser p = nv_parser_on(s, doc_node, text, from, to);
  nv_lex(&p);
  nv_ast x = nv_parse_expression(&p);
  return x == NV_NONE || p.tok == NV_T_END || nv_unexpected(&p) ? x : NV_NONE;
}
