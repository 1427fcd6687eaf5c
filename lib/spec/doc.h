/* doc.h - the document tree: what a JSON or YAML file says, with a place for every node. Both readers make the same
 * tree; nothing behind it knows which it was. Nodes are fixed-size records addressed by index; a map's children are
 * key, value, key, value, …, a list's its elements, linked by next.
 *
 * The readers judge form only (syntax, duplicate keys, depth, encoding); lib/spec/program.c judges meaning. */
#ifndef NV_DOC_H
#define NV_DOC_H

#include "../base.h"

typedef enum nv_doc_kind {
  NV_DOC_NULL,
  NV_DOC_BOOL,   /* text as written: true or false (YAML: True, TRUE, … too) */
  NV_DOC_INT,    /* text as written (YAML: a leading +, 0x and 0o too) */
  NV_DOC_FLOAT,  /* text as written (YAML: a leading +, .inf and .nan too) */
  NV_DOC_STRING, /* text is the decoded value */
  NV_DOC_LIST,
  NV_DOC_MAP
} nv_doc_kind;

typedef enum nv_doc_style { NV_DOC_PLAIN, NV_DOC_QUOTED, NV_DOC_BLOCK, NV_DOC_FLOW } nv_doc_style;

typedef struct nv_doc_node {
  uint8_t kind, style;
  bool plain_scalar;         /* YAML plain scalar: where the language wants text, its text counts */
  uint32_t line, column;     /* of the first character (the quote of a string, the | of a block), from 1 */
  uint32_t source;           /* byte offset of that character in the file */
  uint32_t text, length;     /* scalars: offset into nv_doc.text, bytes */
  uint32_t first, next, count; /* first child, next sibling (NV_NONE at the end), children (pairs count 2) */
} nv_doc_node;

/* Where nv_doc_locate stood last, so that going on costs only the way from there: byte text of the node's decoded text
 * is written at byte source of the file. */
typedef struct nv_doc_cursor {
  uint32_t node; /* NV_NONE: nowhere */
  uint32_t text, source, line, line_start;
  uint32_t indent; /* block scalars: bytes before a line's content */
} nv_doc_cursor;

typedef struct nv_doc {
  nv_ctx *c;
  const char *file;          /* as shown */
  nuvecc_format format;
  const char *source;        /* the file's bytes, not NUL-terminated */
  size_t source_length;
  nv_doc_node *nodes;        /* 0 is the root */
  uint32_t nnodes, nodes_cap;
  char *text;                /* decoded scalars, each NUL-terminated */
  uint32_t ntext, text_cap;
  nv_doc_cursor cursor;
} nv_doc;

#define NV_MAX_DEPTH 256             /* nesting of documents, expressions and types */
#define NV_MAX_SOURCE (1u << 30)     /* bytes of a document */

/* Reads a document. bytes must stay alive as long as the context. NULL when it isn't one: errors are reported then.
 * Sets c->doc before the first error, so that it has a place. A key that stands twice in a map is reported, and the
 * second pair left out of the tree: the document is still returned. Aliases share the children of what they name. */
nv_doc *nv_doc_read(nv_ctx *c, const char *file, nuvecc_format format, const void *bytes, size_t n);
nv_doc *nv_doc_read_json(nv_ctx *c, nv_doc *d);
nv_doc *nv_doc_read_yaml(nv_ctx *c, nv_doc *d);

static inline const nv_doc_node *nv_doc_at(const nv_doc *d, uint32_t n) { return &d->nodes[n]; }
/* Decoded text of a scalar, NUL-terminated (it may hold NULs of its own: length counts). */
static inline const char *nv_doc_text(const nv_doc *d, uint32_t n) { return d->text + d->nodes[n].text; }
/* Value of key in a map, NV_NONE when absent. */
uint32_t nv_doc_get(const nv_doc *d, uint32_t map, const char *key);

static inline nv_pos nv_text_pos(uint32_t node, size_t offset) { return (nv_pos){node, (uint32_t)offset + 1}; }

/* Line and column of a place, through escapes, folding and block indentation, and the text of that line (source may be
 * NULL). false: nowhere. Going forward through one text is linear in all. */
bool nv_doc_locate(nv_ctx *c, nv_pos pos, uint32_t *line, uint32_t *column, const char **source, size_t *length);

#endif
