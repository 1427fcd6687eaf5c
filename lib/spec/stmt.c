/* stmt.c - statements of the text form, and block strings of them. */
#include "parse.h"

static nv_ast error_node(nv_parser *p, size_t start) {
  return nv_ast_new(p->s, NV_AST_ERROR, 0, nv_parser_pos(p, start), NV_NONE);
}

/* Is x a name, or a chain of fields and single indices over one? Reports it when not. start: its first byte. */
static bool check_target(nv_parser *p, nv_ast x, size_t start) {
  nv_spec *s = p->s;
  bool whole = true;
  for (;;) {
    const nv_ast_node *n = &s->ast[x];
    if (n->kind == NV_AST_NAME) return true;
    if (n->kind == NV_AST_DTYPE && whole)
      return nv_parse_error(p, start, "'%s' is a dtype: it cannot be bound", nv_dtype_name[n->op]);
    if (n->kind != NV_AST_FIELD && n->kind != NV_AST_INDEX) break;
    if (n->kind == NV_AST_INDEX) {
      nv_ast index = s->ast[n->first].next;
      nv_ast_kind kind = (nv_ast_kind)s->ast[index].kind;
      if (n->count != 2 || kind == NV_AST_SLICE || kind == NV_AST_ELLIPSIS || kind == NV_AST_NONE) {
        nv_error(p->c, n->pos, "a target's index is one static value: parts of an array cannot be assigned");
        return false;
      }
    }
    x = n->first;
    whole = false;
  }
  const nv_ast_node *n = &s->ast[x];
  if (n->kind == NV_AST_BOOL || (n->kind == NV_AST_FLOAT && strpbrk(nv_text(p->c, n->text), "in")))
    return nv_parse_error(p, start, "a reserved word cannot be bound");
  bool operation = n->kind == NV_AST_BINARY || n->kind == NV_AST_COMPARE;
  nv_error(p->c, operation ? n->pos : nv_parser_pos(p, start), "a target is a name or a path of a tree");
  return false;
}

/* Reports a statement that starts with a word of Python's, unless the word is a target here. */
static bool is_python(nv_parser *p) {
  static const struct {
    const char *word, *hint;
  } words[] = {{"import", "ops need no import"},
               {"from", "ops need no import"},
               {"def", "a function is a key under functions:"},
               {"return", "results are named under outputs:"},
               {"while", "loops are for: nodes, with a fixed count"},
               {"for", "a loop is a for: node in a list of nodes"},
               {"if", "a choice is an if: node in a list of nodes, or where(condition, a, b)"},
               {"elif", "a choice is an if: node in a list of nodes, or where(condition, a, b)"},
               {"else", "a choice is an if: node in a list of nodes, or where(condition, a, b)"},
               {"print", "values are seen as outputs"},
               {"assert", "sizes are checked by types"}};
  size_t n = p->at - p->start, at = p->at;
  if (p->tok != NV_T_NAME && p->tok != NV_T_RESERVED) return false;
  while (at < p->to && (p->text[at] == ' ' || p->text[at] == '\t')) at++;
  char next = at < p->to ? p->text[at] : 0, after = at + 1 < p->to ? p->text[at + 1] : 0;
  if (next == ',' || next == '.' || next == '[' || (next == '=' && after != '=')) return false;
  for (size_t k = 0; k < sizeof words / sizeof *words; k++)
    if (strlen(words[k].word) == n && !memcmp(words[k].word, p->text + p->start, n)) {
      nv_parse_error(p, p->start, "'%s' starts no statement: %s", words[k].word, words[k].hint);
      return true;
    }
  return false;
}

/* Parses a statement from the current token to the end. *kept: out was filled, maybe with an error for its value. */
static bool statement(nv_parser *p, nv_stmt *out, bool *kept) {
  *out = (nv_stmt){.kind = NV_STMT_ASSIGN,
                   .pos = nv_parser_pos(p, p->start),
                   .first_target = NV_NONE,
                   .expr = NV_NONE,
                   .bindings = NV_NONE,
                   .yields = NV_NONE,
                   .name = NV_NONE};
  *kept = false;
  nv_ast last = NV_NONE;
  if (is_python(p)) return false;
  while (p->tok != NV_T_ASSIGN || !out->ntargets) {
    size_t start = p->start;
    if (p->tok == NV_T_END && !out->ntargets) return nv_parse_error(p, start, "expected 'name = expression'");
    if (p->tok == NV_T_ASSIGN) return nv_parse_error(p, start, "expected a name before '='");
    if (p->tok == NV_T_RESERVED) return nv_parse_error(p, start, "%s is a reserved word", nv_token_text(p));
    nv_ast x = nv_parse_expression(p);
    if (x == NV_NONE) return false;
    if (p->tok == NV_T_END && p->s->ast[x].kind == NV_AST_BINARY && p->s->ast[x].op == NV_OPR_EQ) {
      nv_error(p->c, p->s->ast[x].pos, "'==' compares: a statement is 'name = expression'");
      return false;
    }
    if (p->tok == NV_T_END)
      return nv_parse_error(p, out->pos.offset - 1, "no '=' in a statement: expected 'name = expression'");
    if (p->tok != NV_T_ASSIGN && p->tok != NV_T_COMMA) return nv_unexpected(p);
    if (!check_target(p, x, start)) return false;
    if (last == NV_NONE)
      out->first_target = x;
    else
      p->s->ast[last].next = x;
    last = x;
    out->ntargets++;
    if (p->tok == NV_T_COMMA) nv_lex(p);
  }
  *kept = true;
  size_t equals = p->start;
  nv_lex(p);
  if (p->tok == NV_T_END) {
    nv_parse_error(p, equals, "expected an expression behind '='");
  } else {
    size_t start = p->start;
    out->expr = nv_parse_expression(p);
    if (out->expr != NV_NONE && (p->tok == NV_T_END || nv_unexpected(p))) return true;
    equals = start;
  }
  out->expr = error_node(p, equals);
  return false;
}

bool nv_parse_statement(nv_spec *s, uint32_t doc_node, const char *text, size_t from, size_t to, nv_stmt *out) {
  nv_parser p = nv_parser_on(s, doc_node, text, from, to);
  bool kept;
  nv_lex(&p);
  statement(&p, out, &kept);
  return kept;
}

/* Where a block goes on behind the statement that started at byte from and failed at the parser's token: behind the
 * first line end outside brackets; where the brackets never close, with the line of the token, or the next one when
 * the statement starts in that line. */
static size_t recover(const nv_parser *p, size_t from) {
  const char *s = p->text;
  size_t line = p->start, end;
  while (line > from && s[line - 1] != '\n') line--;
  end = line;
  if (line == from || !p->first || !p->brackets) {
    int64_t depth = 0;
    char quote = 0;
    for (size_t i = from; i < p->to; i++) {
      char ch = s[i];
      if (ch == '\n') {
        if (depth <= 0 && i >= p->start) return i;
        quote = 0;
      } else if (quote) {
        if (ch == '\\' && i + 1 < p->to && s[i + 1] != '\n')
          i++;
        else if (ch == quote)
          quote = 0;
      } else if (ch == '#') {
        while (i + 1 < p->to && s[i + 1] != '\n') i++;
      } else if (ch == '"' || ch == '\'') {
        quote = ch;
      } else {
        depth += (ch == '(' || ch == '[' || ch == '{') - (ch == ')' || ch == ']' || ch == '}');
      }
    }
    end = p->start;
    while (end < p->to && s[end] != '\n') end++;
  }
  return end;
}

bool nv_parse_block(nv_spec *s, uint32_t doc_node, const char *text, size_t n, nv_stmt_block *out) {
  nv_parser p = nv_parser_on(s, doc_node, text, 0, n);
  bool known = true;
  p.block = true;
  for (nv_lex(&p); p.start < n; nv_lex(&p)) {
    if (p.tok == NV_T_END) { /* the line is done */
      p.at++;
      continue;
    }
    size_t from = p.start;
    nv_stmt st;
    bool kept;
    if (!statement(&p, &st, &kept)) {
      if (s->c->errors >= NV_MAX_ERRORS) return false;
      known = known && kept;
      p.at = recover(&p, from);
      p.brackets = 0;
    }
    if (!kept) continue;
    NV_GROW(s->c, out->stmts, out->cap, (size_t)out->n + 1);
    out->stmts[out->n++] = st;
  }
  return known;
}
