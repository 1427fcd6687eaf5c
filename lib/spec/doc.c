/* doc.c - the document tree: making it from events in source order, and look-ups. */
#include "build.h"

void nv_build_init(nv_builder *b, nv_doc *d, size_t start) {
  memset(b, 0, sizeof *b);
  b->d = d;
  b->line = 1;
  b->start = b->line_start = b->seen = (uint32_t)start;
}

uint32_t nv_build_node(nv_builder *b, nv_doc_kind kind, nv_doc_style style, size_t source) {
  nv_doc *d = b->d;
  if (source > d->source_length) source = d->source_length;
  if (source < b->seen) b->line = 1, b->line_start = b->seen = b->start;
  for (const char *s = d->source; b->seen < source; b->seen++) {
    bool ends =
        s[b->seen] == '\n' || (s[b->seen] == '\r' && !(b->seen + 1 < d->source_length && s[b->seen + 1] == '\n'));
    if (ends) b->line++, b->line_start = b->seen + 1;
  }
  NV_GROW(d->c, d->nodes, d->nodes_cap, (size_t)d->nnodes + 1);
  if (d->nnodes >= NV_BUILTIN - 1) nv_bug(d->c, "a document of %u nodes", d->nnodes);
  d->nodes[d->nnodes] = (nv_doc_node){.kind = (uint8_t)kind,
                                      .style = (uint8_t)style,
                                      .line = b->line,
                                      .column = (uint32_t)source - b->line_start + 1,
                                      .source = (uint32_t)source,
                                      .first = NV_NONE,
                                      .next = NV_NONE};
  return d->nnodes++;
}

void nv_build_text(nv_builder *b, uint32_t node, const char *p, size_t n) {
  nv_doc *d = b->d;
  NV_GROW(d->c, d->text, d->text_cap, d->ntext + n + 1);
  if (n) memcpy(d->text + d->ntext, p, n);
  d->text[d->ntext + n] = 0;
  d->nodes[node].text = d->ntext;
  d->nodes[node].length = (uint32_t)n;
  d->ntext += (uint32_t)n + 1;
}

void nv_build_link(nv_builder *b, uint32_t node) {
  if (!b->depth) return;
  nv_build_frame *f = &b->frames[b->depth - 1];
  nv_doc_node *nodes = b->d->nodes;
  if (f->last == NV_NONE)
    nodes[f->node].first = node;
  else
    nodes[f->last].next = node;
  f->last = node;
  nodes[f->node].count++;
}

bool nv_build_open(nv_builder *b, uint32_t node) {
  if (b->depth == NV_MAX_DEPTH) {
    nv_error(b->d->c, (nv_pos){node, 0}, "nesting deeper than %d", NV_MAX_DEPTH);
    return false;
  }
  b->frames[b->depth++] = (nv_build_frame){node, NV_NONE, 1, 1, NV_NONE};
  return true;
}

static bool same_text(const nv_doc *d, uint32_t a, uint32_t b) {
  return d->nodes[a].length == d->nodes[b].length &&
         !memcmp(nv_doc_text(d, a), nv_doc_text(d, b), d->nodes[a].length);
}

static void report_duplicate(nv_doc *d, uint32_t key, uint32_t first) {
  nv_error(d->c, (nv_pos){key, 0}, "duplicate key '%s'", nv_shown(d->c, nv_doc_text(d, key), d->nodes[key].length));
  nv_note(d->c, (nv_pos){first, 0}, "first set here");
}

void nv_build_close(nv_builder *b) {
  nv_doc *d = b->d;
  uint32_t map = b->frames[--b->depth].node, pairs = d->nodes[map].count / 2;
  if (d->nodes[map].kind != NV_DOC_MAP || pairs < 2) return;
  bool small = pairs <= 8; /* compared with each other: cheaper than hashing */
  uint32_t mask = 15;
  while (!small && mask / 2 < pairs) mask = mask * 2 + 1;
  NV_GROW(d->c, b->keys, b->keys_cap, (size_t)mask + 1);
  for (uint32_t i = 0; !small && i <= mask; i++) b->keys[i] = NV_NONE;
  uint32_t n = 0, before = NV_NONE; /* keys kept; value of the last pair kept */
  for (uint32_t key = d->nodes[map].first; key != NV_NONE;) {
    uint32_t value = d->nodes[key].next, next = d->nodes[value].next, first = NV_NONE;
    if (small) {
      for (uint32_t i = 0; i < n && first == NV_NONE; i++)
        if (same_text(d, b->keys[i], key)) first = b->keys[i];
      if (first == NV_NONE) b->keys[n++] = key;
    } else {
      uint32_t i = (uint32_t)nv_hash(nv_doc_text(d, key), d->nodes[key].length, 0) & mask;
      while (b->keys[i] != NV_NONE && !same_text(d, b->keys[i], key)) i = (i + 1) & mask;
      if (b->keys[i] != NV_NONE)
        first = b->keys[i];
      else
        b->keys[i] = key;
    }
    if (first != NV_NONE) {
      report_duplicate(d, key, first);
      d->nodes[before].next = next;
      d->nodes[map].count -= 2;
    } else {
      before = value;
    }
    key = next;
  }
}

nv_pos nv_build_place(nv_builder *b, size_t source) {
  return (nv_pos){nv_build_node(b, NV_DOC_NULL, NV_DOC_PLAIN, source), 0};
}

const char *nv_shown(nv_ctx *c, const char *p, size_t n) {
  enum { LONGEST = 60 };
  size_t cut = n;
  if (n > LONGEST) {
    cut = LONGEST;
    while (cut && ((unsigned char)p[cut] & 0xC0) == 0x80) cut--; /* not inside a UTF-8 sequence */
  }
  char *s = nv_format(c, "%.*s%s", (int)cut, p, cut < n ? "…" : "");
  for (char *q = s; *q; q++)
    if ((unsigned char)*q < 0x20 || *q == 0x7F) *q = '?';
  return s;
}

uint32_t nv_doc_get(const nv_doc *d, uint32_t map, const char *key) {
  if (d->nodes[map].kind != NV_DOC_MAP) return NV_NONE;
  size_t n = strlen(key);
  for (uint32_t k = d->nodes[map].first; k != NV_NONE; k = d->nodes[d->nodes[k].next].next)
    if (d->nodes[k].length == n && !memcmp(nv_doc_text(d, k), key, n)) return d->nodes[k].next;
  return NV_NONE;
}

nv_doc *nv_doc_read(nv_ctx *c, const char *file, nuvecc_format format, const void *bytes, size_t n) {
  nv_doc *d = NV_NEW(c, nv_doc);
  d->c = c;
  d->file = file;
  d->format = format;
  d->source = bytes;
  d->source_length = n;
  d->cursor.node = NV_NONE;
  c->doc = d;
  if (n > NV_MAX_SOURCE) {
    nv_error(c, NV_NOWHERE, "a spec of %zu bytes: %u at most (1 GiB)", n, NV_MAX_SOURCE);
    return NULL;
  }
  return format == NUVECC_FORMAT_JSON ? nv_doc_read_json(c, d) : nv_doc_read_yaml(c, d);
}
