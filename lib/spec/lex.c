/* lex.c - the tokens of expressions, statements and types. */
#include "parse.h"

const char *const nv_operator_text[] = {"or", "and", "not", "==", "!=", "<",  "<=", ">", ">=", "|", "^", "&", "<<",
                                        ">>", "+",   "-",   "*",  "/",  "//", "%",  "@", "-",  "+", "~", "**"};

static bool is_digit(char ch) { return ch >= '0' && ch <= '9'; }
static bool is_hex(char ch) { return is_digit(ch) || (ch >= 'a' && ch <= 'f') || (ch >= 'A' && ch <= 'F'); }
static bool is_bin(char ch) { return ch == '0' || ch == '1'; }
static bool is_letter(char ch) { return (ch >= 'a' && ch <= 'z') || (ch >= 'A' && ch <= 'Z') || ch == '_'; }

nv_parser nv_parser_on(nv_spec *s, uint32_t node, const char *text, size_t from, size_t to) {
  return (nv_parser){.s = s, .c = s->c, .node = node, .text = text, .to = to, .at = from, .start = from};
}

bool nv_parse_error(const nv_parser *p, size_t offset, const char *format, ...) {
  va_list ap;
  va_start(ap, format);
  const char *text = nv_vformat(p->c, format, ap);
  va_end(ap);
  nv_error(p->c, nv_parser_pos(p, offset), "%s", text);
  return false;
}

static char peek(const nv_parser *p, size_t ahead) { return p->at + ahead < p->to ? p->text[p->at + ahead] : 0; }

/* ---- words ---- */

/* The dtype that p[0, n) names, or -1. Most names end unlike any dtype and are told apart by that. */
static int find_dtype(const char *p, size_t n) {
  return n >= 2 && n <= 9 && strchr("82464l", p[n - 1]) ? nv_dtype_find(p, n) : -1;
}

static nv_token word(const char *p, size_t n, uint8_t *op) {
  static const struct {
    char text[6];
    uint8_t tok, op;
  } words[] = {{"and", NV_T_OPERATOR, NV_OPR_AND},
               {"or", NV_T_OPERATOR, NV_OPR_OR},
               {"not", NV_T_OPERATOR, NV_OPR_NOT},
               {"true", NV_T_TRUE, 0},
               {"false", NV_T_FALSE, 0},
               {"inf", NV_T_INF, 0},
               {"nan", NV_T_NAN, 0},
               {"None", NV_T_NONE, 0},
               {"if", NV_T_RESERVED, 0},
               {"for", NV_T_RESERVED, 0},
               {"in", NV_T_RESERVED, 0},
               {"is", NV_T_RESERVED, 0}};
  if (n <= 5)
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
      if (words[i].text[0] == p[0] && strlen(words[i].text) == n && !memcmp(words[i].text, p, n)) {
        *op = words[i].op;
        return (nv_token)words[i].tok;
      }
  int dtype = find_dtype(p, n);
  *op = (uint8_t)(dtype < 0 ? 0 : dtype);
  return dtype < 0 ? NV_T_NAME : NV_T_DTYPE;
}

bool nv_is_reserved(const char *text, size_t n) {
  uint8_t op;
  return n && word(text, n, &op) != NV_T_NAME;
}
bool nv_is_ident(const char *text, size_t n) {
  if (!n || n > 255 || !is_letter(text[0])) return false;
  for (size_t i = 1; i < n; i++)
    if (!is_letter(text[i]) && !is_digit(text[i])) return false;
  return !nv_is_reserved(text, n);
}

/* ---- numbers and strings ---- */

/* Digits with "_" between them. */
static bool lex_digits(nv_parser *p, bool (*is)(char)) {
  if (!is(peek(p, 0))) return false;
  while (is(peek(p, 0)) || (peek(p, 0) == '_' && is(peek(p, 1)))) p->at++;
  return true;
}

static nv_token lex_number(nv_parser *p) {
  nv_token tok = NV_T_INT;
  char kind = peek(p, 0) == '0' ? peek(p, 1) : 0;
  if (kind == 'x' || kind == 'b') {
    p->at += 2;
    if (!lex_digits(p, kind == 'x' ? is_hex : is_bin)) {
      nv_parse_error(p, p->start, "'0%c' without digits", kind);
      return NV_T_ERROR;
    }
  } else {
    lex_digits(p, is_digit);
    if (peek(p, 0) == '.' && !(peek(p, 1) == '.' && peek(p, 2) == '.')) {
      tok = NV_T_FLOAT;
      p->at++;
      lex_digits(p, is_digit);
    }
    if (peek(p, 0) == 'e' || peek(p, 0) == 'E') {
      size_t sign = peek(p, 1) == '+' || peek(p, 1) == '-';
      if (is_digit(peek(p, 1 + sign))) {
        tok = NV_T_FLOAT;
        p->at += 1 + sign;
        lex_digits(p, is_digit);
      }
    }
  }
  if (peek(p, 0) == 'j' && !is_letter(peek(p, 1)) && !is_digit(peek(p, 1))) {
    p->at++;
    return NV_T_IMAG;
  }
  if (!is_letter(peek(p, 0)) && !is_digit(peek(p, 0))) return tok;
  size_t stop = p->at;
  while (stop < p->to && (is_letter(p->text[stop]) || is_digit(p->text[stop]))) stop++;
  const char *whole = nv_shown(p->c, p->text + p->start, stop - p->start);
  if (kind == 'o' || kind == 'O')
    nv_parse_error(p, p->start, "'%s': octal numbers aren't part of the language", whole);
  else if (peek(p, 0) == '_')
    nv_parse_error(p, p->at, "'%s': '_' stands between two digits only", whole);
  else
    nv_parse_error(p, p->start, "'%s' is neither a number nor a name", whole);
  return NV_T_ERROR;
}

static nv_token lex_string(nv_parser *p) {
  char quote = p->text[p->at++];
  for (;; p->at++) {
    if (p->at >= p->to || p->text[p->at] == '\n') {
      nv_parse_error(p, p->start, "the string is not closed");
      return NV_T_ERROR;
    }
    if (p->text[p->at] == quote) break;
    if (p->text[p->at] == '\\') {
      if (!peek(p, 1) || !strchr("\\'\"nt", peek(p, 1))) {
        nv_parse_error(p, p->at, "unknown escape: strings have \\\\ \\' \\\" \\n \\t");
        return NV_T_ERROR;
      }
      p->at++;
    }
  }
  p->at++;
  return NV_T_STRING;
}

nv_str nv_token_number(const nv_parser *p, bool negative) {
  char local[64];
  size_t length = p->at - p->start + (p->tok == NV_T_IMAG ? 0 : 1), n = 0;
  char *s = length < sizeof local ? local : nv_alloc(p->c, length + 1);
  if (negative) s[n++] = '-';
  for (size_t i = p->start; i < p->at; i++)
    if (p->text[i] != '_' && !(p->tok == NV_T_IMAG && i + 1 == p->at)) s[n++] = p->text[i];
  return nv_intern(p->c, s, n);
}

nv_str nv_token_string(const nv_parser *p) {
  char *s = nv_alloc(p->c, p->at - p->start);
  size_t n = 0;
  for (size_t i = p->start + 1; i + 1 < p->at; i++) {
    char ch = p->text[i];
    if (ch == '\\') ch = p->text[++i], ch = ch == 'n' ? '\n' : ch == 't' ? '\t' : ch;
    s[n++] = ch;
  }
  return nv_intern(p->c, s, n);
}

/* ---- punctuation ---- */

static nv_token operator_(nv_parser *p, size_t length, nv_operator op) {
  p->at += length;
  p->op = (uint8_t)op;
  bool may_assign = op != NV_OPR_LT && op != NV_OPR_GT && op != NV_OPR_INVERT && op > NV_OPR_GE;
  if (may_assign && peek(p, 0) == '=' && peek(p, 1) != '=') {
    p->at++;
    return NV_T_AUGMENTED;
  }
  return NV_T_OPERATOR;
}
static nv_token single(nv_parser *p, nv_token tok) {
  p->at++;
  return tok;
}

static nv_token lex_other(nv_parser *p) {
  char ch = p->text[p->at], next = peek(p, 1);
  switch (ch) {
  case '(': return single(p, NV_T_LPAREN);
  case ')': return single(p, NV_T_RPAREN);
  case '[': return single(p, NV_T_LBRACKET);
  case ']': return single(p, NV_T_RBRACKET);
  case '{': return single(p, NV_T_LBRACE);
  case '}': return single(p, NV_T_RBRACE);
  case ',': return single(p, NV_T_COMMA);
  case '?': return single(p, NV_T_QUESTION);
  case ':': p->at += next == '=' ? 2 : 1; return next == '=' ? NV_T_WALRUS : NV_T_COLON;
  case '.':
    if (next == '.' && peek(p, 2) == '.') {
      p->at += 3;
      return NV_T_ELLIPSIS;
    }
    return single(p, NV_T_DOT);
  case '=': return next == '=' ? operator_(p, 2, NV_OPR_EQ) : single(p, NV_T_ASSIGN);
  case '<':
    return next == '<'   ? operator_(p, 2, NV_OPR_SHL)
           : next == '=' ? operator_(p, 2, NV_OPR_LE)
                         : operator_(p, 1, NV_OPR_LT);
  case '>':
    return next == '>'   ? operator_(p, 2, NV_OPR_SHR)
           : next == '=' ? operator_(p, 2, NV_OPR_GE)
                         : operator_(p, 1, NV_OPR_GT);
  case '*': return next == '*' ? operator_(p, 2, NV_OPR_POW) : operator_(p, 1, NV_OPR_MUL);
  case '/': return next == '/' ? operator_(p, 2, NV_OPR_FLOORDIV) : operator_(p, 1, NV_OPR_DIV);
  case '+': return operator_(p, 1, NV_OPR_ADD);
  case '-': return operator_(p, 1, NV_OPR_SUB);
  case '%': return operator_(p, 1, NV_OPR_MOD);
  case '@': return operator_(p, 1, NV_OPR_MATMUL);
  case '^': return operator_(p, 1, NV_OPR_BXOR);
  case '~': return operator_(p, 1, NV_OPR_INVERT);
  case '&':
    if (next != '&') return operator_(p, 1, NV_OPR_BAND);
    nv_parse_error(p, p->at, "'&&': write 'and'");
    return NV_T_ERROR;
  case '|':
    if (next != '|') return operator_(p, 1, NV_OPR_BOR);
    nv_parse_error(p, p->at, "'||': write 'or'");
    return NV_T_ERROR;
  case '!':
    if (next == '=') return operator_(p, 2, NV_OPR_NE);
    nv_parse_error(p, p->at, "'!': write 'not'");
    return NV_T_ERROR;
  case '#': nv_parse_error(p, p->at, "'#': comments stand in block strings only"); return NV_T_ERROR;
  case ';': nv_parse_error(p, p->at, "';': one statement a line or list item"); return NV_T_ERROR;
  default: break;
  }
  size_t n = 1;
  while ((ch & 0x80) && p->at + n < p->to && ((unsigned char)p->text[p->at + n] & 0xC0) == 0x80) n++;
  nv_parse_error(p, p->at, "'%s' is not part of the language", nv_shown(p->c, p->text + p->at, n));
  return NV_T_ERROR;
}

void nv_lex(nv_parser *p) {
  p->first = false;
  for (; p->at < p->to; p->at++) {
    char ch = p->text[p->at];
    if (ch == '#' && p->block) {
      const char *end = memchr(p->text + p->at, '\n', p->to - p->at);
      p->at = end ? (size_t)(end - p->text) : p->to;
      if (!end) break;
      ch = '\n';
    }
    if (ch == '\n') {
      if (p->block && !p->brackets) break;
      p->first = true;
    } else if (ch != ' ' && ch != '\t' && ch != '\r') {
      break;
    }
  }
  p->start = p->at;
  char ch = peek(p, 0);
  if (p->at >= p->to || ch == '\n') {
    p->tok = NV_T_END;
  } else if (is_letter(ch)) {
    size_t n = 1;
    while (is_letter(peek(p, n)) || is_digit(peek(p, n))) n++;
    p->tok = word(p->text + p->at, n, &p->op);
    p->at += n;
    if (n > 255) {
      nv_parse_error(p, p->start, "the name '%s' has %zu bytes: 255 at most", nv_shown(p->c, p->text + p->start, n),
                     n);
      p->tok = NV_T_ERROR;
    }
  } else if (is_digit(ch) || (ch == '.' && is_digit(peek(p, 1)))) {
    p->tok = lex_number(p);
  } else {
    p->tok = ch == '"' || ch == '\'' ? lex_string(p) : lex_other(p);
  }
}

const char *nv_token_text(const nv_parser *p) {
  return p->tok == NV_T_END ? "the end"
                            : nv_format(p->c, "'%s'", nv_shown(p->c, p->text + p->start, p->at - p->start));
}
