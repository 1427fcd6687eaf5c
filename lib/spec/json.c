/* json.c - JSON text to the document tree, in one pass, with the place of every node and numbers as written.
 *
 * Strict RFC 8259 on UTF-8 without a byte order mark, nesting of 256 at most. Jansson keeps no positions and rounds
 * numbers, so the text is scanned here; a string with an escape or a non-ASCII byte is decoded by Jansson. */
#include "build.h"

#include <jansson.h>

typedef struct scanner {
  nv_ctx *c;
  nv_builder b;
  const char *text;
  size_t at, n;
} scanner;

#define FAIL(s, place, ...) (nv_error((s)->c, nv_build_place(&(s)->b, (place)), __VA_ARGS__), false)

static bool is_digit(char ch) { return ch >= '0' && ch <= '9'; }
static bool is_letter(char ch) { return (ch >= 'a' && ch <= 'z') || (ch >= 'A' && ch <= 'Z') || ch == '_'; }
static int hex_digit(char ch) {
  return is_digit(ch)             ? ch - '0'
         : ch >= 'a' && ch <= 'f' ? ch - 'a' + 10
         : ch >= 'A' && ch <= 'F' ? ch - 'A' + 10
                                  : -1;
}
static char peek(const scanner *s) { return s->at < s->n ? s->text[s->at] : 0; }

static void skip_blanks(scanner *s) {
  while (s->at < s->n &&
         (s->text[s->at] == ' ' || s->text[s->at] == '\n' || s->text[s->at] == '\t' || s->text[s->at] == '\r'))
    s->at++;
}

/* The character at a place, for a message. */
static const char *shown_at(const scanner *s, size_t at) {
  if (at >= s->n) return "the end of the file";
  size_t n = 1;
  while (n < 4 && at + n < s->n && ((unsigned char)s->text[at] & 0xC0) == 0xC0 &&
         ((unsigned char)s->text[at + n] & 0xC0) == 0x80)
    n++;
  return nv_format(s->c, "'%s'", nv_shown(s->c, s->text + at, n));
}

/* ---- scalars ---- */

/* Text of the string from its quote at start to the closing one at stop, which holds escapes or non-ASCII bytes. */
static bool decode(scanner *s, uint32_t node, size_t start, size_t stop) {
  nv_doc *d = s->b.d;
  size_t length = stop + 1 - start;
  NV_GROW(s->c, d->text, d->text_cap, d->ntext + length); /* so that nothing raises while the value is live */
  json_error_t error;
  json_t *value = json_loadb(s->text + start, length, JSON_DECODE_ANY, &error);
  if (value) {
    nv_build_text(&s->b, node, json_string_value(value), json_string_length(value));
    json_decref(value);
    return true;
  }
  size_t place = start + (error.position > 0 ? (size_t)error.position : 0); /* bytes before the wrong one */
  switch (json_error_code(&error)) {
  case json_error_out_of_memory: nv_raise(s->c, NUVECC_IO, "out of memory: a string of %zu bytes", length);
  case json_error_invalid_utf8: return FAIL(s, place, "invalid UTF-8");
  case json_error_null_character: return FAIL(s, start, "a string with \\u0000");
  default: return FAIL(s, start, "a \\u escape of half a surrogate pair");
  }
}

static bool read_string(scanner *s, nv_doc_style style, uint32_t *node) {
  size_t start = s->at++;
  *node = nv_build_node(&s->b, NV_DOC_STRING, style, start);
  bool plain = true;
  for (;; s->at++) {
    if (s->at >= s->n || s->text[s->at] == '\n' || s->text[s->at] == '\r')
      return FAIL(s, start, "the string is not closed");
    unsigned char ch = (unsigned char)s->text[s->at];
    if (ch == '"') break;
    if (ch < 0x20) return FAIL(s, s->at, "a control character (0x%02x) in a string: write \\u%04x", ch, ch);
    if (ch >= 0x80) plain = false;
    if (ch != '\\') continue;
    plain = false;
    size_t escape = s->at++;
    char what = peek(s);
    if (!what || !strchr("\"\\/bfnrtu", what))
      return FAIL(s, escape, "unknown escape: JSON has \\\" \\\\ \\/ \\b \\f \\n \\r \\t \\u");
    for (int i = 0; what == 'u' && i < 4; i++)
      if (++s->at >= s->n || hex_digit(s->text[s->at]) < 0)
        return FAIL(s, escape, "\\u takes four hexadecimal digits");
  }
  size_t stop = s->at++;
  if (!plain) return decode(s, *node, start, stop);
  nv_build_text(&s->b, *node, s->text + start + 1, stop - start - 1);
  return true;
}

static bool read_number(scanner *s, uint32_t *node) {
  size_t start = s->at;
  bool is_float = false;
  if (peek(s) == '-') s->at++;
  if (!is_digit(peek(s))) return FAIL(s, start, "expected a value, found %s", shown_at(s, start));
  size_t first = s->at;
  while (is_digit(peek(s))) s->at++;
  if (s->text[first] == '0' && s->at > first + 1) return FAIL(s, start, "a number with a leading zero");
  if (peek(s) == '.') {
    is_float = true;
    s->at++;
    if (!is_digit(peek(s))) return FAIL(s, start, "a number needs a digit behind the point");
    while (is_digit(peek(s))) s->at++;
  }
  if (peek(s) == 'e' || peek(s) == 'E') {
    is_float = true;
    s->at++;
    if (peek(s) == '+' || peek(s) == '-') s->at++;
    if (!is_digit(peek(s))) return FAIL(s, start, "a number needs a digit in its exponent");
    while (is_digit(peek(s))) s->at++;
  }
  if (is_letter(peek(s)) || peek(s) == '.')
    return FAIL(s, start, "'%s' is no JSON number (decimal only)",
                nv_shown(s->c, s->text + start, s->at + 1 - start));
  *node = nv_build_node(&s->b, is_float ? NV_DOC_FLOAT : NV_DOC_INT, NV_DOC_PLAIN, start);
  nv_build_text(&s->b, *node, s->text + start, s->at - start);
  return true;
}

static bool read_word(scanner *s, uint32_t *node) {
  size_t start = s->at;
  while (is_letter(peek(s)) || is_digit(peek(s))) s->at++;
  const char *word = s->text + start;
  size_t n = s->at - start;
  nv_doc_kind kind = n == 4 && !memcmp(word, "null", 4) ? NV_DOC_NULL : NV_DOC_BOOL;
  if (kind == NV_DOC_NULL || (n == 4 && !memcmp(word, "true", 4)) || (n == 5 && !memcmp(word, "false", 5))) {
    *node = nv_build_node(&s->b, kind, NV_DOC_PLAIN, start);
    nv_build_text(&s->b, *node, word, n);
    return true;
  }
  return FAIL(s, start, "'%s' is no JSON value: texts take double quotes, constants are true, false, null",
              nv_shown(s->c, word, n));
}

static bool no_value(scanner *s) {
  char ch = peek(s);
  if (s->at >= s->n) return FAIL(s, s->at, "expected a value, the file ends here");
  if (ch == '\'') return FAIL(s, s->at, "JSON strings take double quotes");
  if (ch == '/' || ch == '#') return FAIL(s, s->at, "JSON has no comments (keys that start with x- are ignored)");
  if (ch == '+' || ch == '.') return FAIL(s, s->at, "a JSON number starts with a digit or '-'");
  if (s->at == 0 && s->n >= 3 && !memcmp(s->text, "\xEF\xBB\xBF", 3))
    return FAIL(s, s->at, "a byte order mark: JSON is UTF-8 without one");
  return FAIL(s, s->at, "expected a value, found %s", shown_at(s, s->at));
}

/* ---- structure ---- */

/* Where the scanner stands between two tokens. */
typedef enum state { VALUE, FIRST_VALUE, KEY, FIRST_KEY, NEXT } state;

/* What stands in place of a ',' or a closing bracket. */
static bool no_separator(scanner *s, bool map) {
  uint32_t open = s->b.frames[s->b.depth - 1].node;
  if (s->at < s->n) return FAIL(s, s->at, "expected ',' or '%c', found %s", map ? '}' : ']', shown_at(s, s->at));
  nv_error(s->c, nv_build_place(&s->b, s->at), "the file ends inside a %s", map ? "map" : "list");
  nv_note(s->c, (nv_pos){open, 0}, "opened here");
  return false;
}

static bool read_document(scanner *s) {
  nv_builder *b = &s->b;
  state now = VALUE;
  for (;;) {
    skip_blanks(s);
    char ch = peek(s);
    bool map = b->depth && b->d->nodes[b->frames[b->depth - 1].node].kind == NV_DOC_MAP;
    uint32_t node;
    if (ch == (map ? '}' : ']') && b->depth && (now == FIRST_VALUE || now == FIRST_KEY || now == NEXT)) {
      s->at++;
      nv_build_close(b);
      now = NEXT;
    } else if (now == NEXT) {
      if (ch != ',') return no_separator(s, map);
      s->at++;
      now = map ? KEY : VALUE;
    } else if (map && (now == KEY || now == FIRST_KEY)) {
      if (ch != '"') {
        if (s->at >= s->n) return no_separator(s, map);
        if (ch == '\'') return FAIL(s, s->at, "JSON strings take double quotes");
        return ch == '}' ? FAIL(s, s->at, "expected a key behind ','")
                         : FAIL(s, s->at, "expected a key in double quotes, found %s", shown_at(s, s->at));
      }
      if (!read_string(s, NV_DOC_QUOTED, &node)) return false;
      nv_build_link(b, node);
      skip_blanks(s);
      if (peek(s) != ':') return FAIL(s, s->at, "expected ':' behind the key, found %s", shown_at(s, s->at));
      s->at++;
      now = VALUE;
      continue;
    } else if (ch == '{' || ch == '[') {
      node = nv_build_node(b, ch == '{' ? NV_DOC_MAP : NV_DOC_LIST, NV_DOC_FLOW, s->at++);
      nv_build_link(b, node);
      if (!nv_build_open(b, node)) return false;
      now = ch == '{' ? FIRST_KEY : FIRST_VALUE;
      continue;
    } else {
      bool read = ch == '"'                   ? read_string(s, NV_DOC_QUOTED, &node)
                  : ch == '-' || is_digit(ch) ? read_number(s, &node)
                  : is_letter(ch)             ? read_word(s, &node)
                                              : no_value(s);
      if (!read) return false;
      nv_build_link(b, node);
      now = NEXT;
    }
    if (!b->depth) break;
  }
  skip_blanks(s);
  return s->at == s->n || FAIL(s, s->at, "expected the end of the file, found %s", shown_at(s, s->at));
}

nv_doc *nv_doc_read_json(nv_ctx *c, nv_doc *d) {
  scanner s = {.c = c, .text = d->source, .n = d->source_length};
  nv_build_init(&s.b, d, 0);
  bool read = read_document(&s);
  nv_drop(c, s.b.keys);
  return read ? d : NULL;
}
