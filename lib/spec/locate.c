/* locate.c - from a byte of a scalar's decoded text back to its line and column in the file, through JSON's and YAML's
 * escapes, the folding of lines, and the indentation of block scalars.
 *
 * The walk goes forward from where it stood last (nv_doc.cursor), so asking in rising order is linear in all. */
#include "doc.h"

typedef struct walk {
  const nv_doc *d;
  const char *s; /* the file */
  uint32_t n;
  nv_doc_cursor at;
} walk;

static bool at_break(const walk *w, uint32_t i) { return i < w->n && (w->s[i] == '\n' || w->s[i] == '\r'); }
static bool at_blank(const walk *w, uint32_t i) { return i < w->n && (w->s[i] == ' ' || w->s[i] == '\t'); }
static uint32_t behind_break(const walk *w, uint32_t i) {
  return w->s[i] == '\r' && i + 1 < w->n && w->s[i + 1] == '\n' ? i + 2 : i + 1;
}

/* ---- JSON strings, and YAML's flow scalars ---- */

/* Value of n hexadecimal digits at i. */
static uint32_t hex(const walk *w, uint32_t i, uint32_t n) {
  uint32_t v = 0;
  for (uint32_t k = i; k < i + n && k < w->n; k++) {
    char ch = w->s[k];
    v = v << 4 | (uint32_t)(ch <= '9' ? ch - '0' : (ch | 0x20) - 'a' + 10);
  }
  return v;
}
static uint32_t utf8_length(uint32_t code) { return code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4; }

/* The escape at i: bytes of the file in *length, bytes of text returned. */
static uint32_t escape(const walk *w, uint32_t i, uint32_t *length) {
  char ch = i + 1 < w->n ? w->s[i + 1] : 0;
  uint32_t digits = ch == 'x' ? 2 : ch == 'u' ? 4 : ch == 'U' ? 8 : 0;
  *length = 2 + digits;
  if (!digits)
    return ch == 'N' || ch == '_' ? 2 : ch == 'L' || ch == 'P' ? 3 : 1; /* YAML: U+0085, 00A0, 2028, 2029 */
  uint32_t code = hex(w, i + 2, digits);
  if (w->d->format == NUVECC_FORMAT_JSON && code >= 0xD800 && code < 0xDC00) { /* a surrogate pair */
    *length = 12;
    return 4;
  }
  return utf8_length(code);
}

/* A run of blanks and line breaks at i that has a break: where the next line's text starts, and bytes of text that it
 * stands for: one break is a blank, more are one line end fewer; behind an escaped break each is a line end. */
static uint32_t fold(const walk *w, uint32_t i, bool escaped, uint32_t *next, uint32_t *line, uint32_t *line_start) {
  uint32_t breaks = 0;
  for (;;) {
    if (at_break(w, i)) {
      breaks++;
      i = behind_break(w, i);
      ++*line;
      *line_start = i;
    } else if (at_blank(w, i)) {
      i++;
    } else {
      break;
    }
  }
  *next = i;
  return breaks > 1 || escaped ? breaks - 1 : 1;
}

/* One unit after the other: a byte, an escape, a fold. Stops at the one that holds byte target of the text. */
static void walk_flow(walk *w, const nv_doc_node *node, uint32_t target) {
  nv_doc_cursor *a = &w->at;
  bool json = w->d->format == NUVECC_FORMAT_JSON;
  char quote = node->style == NV_DOC_QUOTED ? w->s[node->source] : 0;
  while (a->source < w->n) { /* also over what stands for no text */
    uint32_t i = a->source, next = i + 1, text = 1, line = a->line, line_start = a->line_start;
    if (quote == '"' && w->s[i] == '\\' && !json && at_break(w, i + 1)) {
      text = fold(w, i + 1, true, &next, &line, &line_start);
    } else if (quote == '"' && w->s[i] == '\\') {
      text = escape(w, i, &next);
      next += i;
    } else if (quote == '\'' && w->s[i] == '\'') {
      next = i + 2;
    } else if (!json && (at_blank(w, i) || at_break(w, i))) {
      uint32_t end = i;
      while (at_blank(w, end)) end++;
      if (at_break(w, end)) text = fold(w, i, false, &next, &line, &line_start);
    }
    if (a->text + text > target) return; /* inside this unit */
    *a = (nv_doc_cursor){a->node, a->text + text, next, line, line_start, 0};
  }
}

/* ---- block scalars ---- */

/* The end of the line of byte i, its break not included. */
static uint32_t line_end(const walk *w, uint32_t i) {
  while (i < w->n && !at_break(w, i)) i++;
  return i;
}
static void next_line(walk *w) {
  uint32_t end = line_end(w, w->at.source);
  w->at.source = w->at.line_start = end < w->n ? behind_break(w, end) : end;
  w->at.line++;
}
/* Steps over the line's indentation; is there anything behind it? */
static bool enter_line(walk *w) {
  uint32_t i = w->at.line_start;
  while (i < w->at.line_start + w->at.indent && i < w->n && w->s[i] == ' ') i++;
  w->at.source = i;
  return i < w->n && !at_break(w, i);
}

/* From the indicator to the first line with content. Line ends that lead the text are one blank line each. What the
 * file's first line has more blanks than the text's is the indentation. */
static void enter_block(walk *w, const char *text, uint32_t length) {
  uint32_t ends = 0, blanks = 0, have = 0;
  while (ends < length && text[ends] == '\n') ends++;
  while (ends + blanks < length && text[ends + blanks] == ' ') blanks++;
  for (uint32_t k = 0; k <= ends; k++) next_line(w);
  while (w->at.source + have < w->n && w->s[w->at.source + have] == ' ') have++;
  w->at.indent = have > blanks ? have - blanks : 0;
  w->at.text = ends;
  enter_line(w);
}

/* A line's content stands in the text as it is; between two lines with content there is one blank (folded) or line
 * ends. The cursor rests at the start of a line's content. */
static uint32_t walk_block(walk *w, const char *text, uint32_t length, uint32_t target) {
  while (w->at.source < w->n) {
    uint32_t content = line_end(w, w->at.source) - w->at.source, end = w->at.text + content;
    if (target <= end) return target < w->at.text ? w->at.source : w->at.source + (target - w->at.text);
    uint32_t next = end;
    if (next < length && text[next] == ' ')
      next++;
    else
      while (next < length && text[next] == '\n') next++;
    if (next > target || next == length || next == end) return w->at.source + content;
    do next_line(w);
    while (!enter_line(w) && w->at.source < w->n);
    w->at.text = next;
  }
  return w->at.source;
}

bool nv_doc_locate(nv_ctx *c, nv_pos pos, uint32_t *line, uint32_t *column, const char **source, size_t *length) {
  if (pos.node == NV_NONE) return false;
  nv_doc *d = pos.node & NV_BUILTIN ? c->builtin : c->doc;
  uint32_t id = pos.node & ~NV_BUILTIN;
  if (!d || id >= d->nnodes) return false;
  const nv_doc_node *node = &d->nodes[id];
  walk w = {d,
            d->source,
            (uint32_t)d->source_length,
            {id, 0, node->source, node->line, node->source - (node->column - 1), 0}};
  uint32_t at = node->source;
  if (pos.offset && node->kind != NV_DOC_LIST && node->kind != NV_DOC_MAP) {
    uint32_t target = pos.offset - 1 < node->length ? pos.offset - 1 : node->length;
    bool block = node->style == NV_DOC_BLOCK;
    bool on = d->cursor.node == id && d->cursor.text <= target;
    if (on)
      w.at = d->cursor;
    else if (block)
      enter_block(&w, nv_doc_text(d, id), node->length);
    else if (node->style == NV_DOC_QUOTED)
      w.at.source++;
    if (block)
      at = walk_block(&w, nv_doc_text(d, id), node->length, target);
    else
      walk_flow(&w, node, target), at = w.at.source;
    d->cursor = w.at;
  }
  *line = w.at.line;
  *column = at - w.at.line_start + 1;
  if (source) {
    *source = d->source + w.at.line_start;
    *length = line_end(&w, w.at.line_start) - w.at.line_start;
  }
  return true;
}
