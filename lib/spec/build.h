/* build.h - what the JSON and the YAML reader share: making the nodes of a document tree from events in source order.
 */
#ifndef NV_BUILD_H
#define NV_BUILD_H

#include "doc.h"

typedef struct nv_build_frame {
  uint32_t node, last; /* an open map or list and its last child */
  uint64_t size;       /* nodes in it, aliases expanded */
  uint32_t height;     /* levels in it */
  uint32_t anchor;     /* YAML: index of its anchor, or NV_NONE */
} nv_build_frame;

typedef struct nv_builder {
  nv_doc *d;
  nv_build_frame frames[NV_MAX_DEPTH];
  uint32_t depth;
  uint32_t start;                  /* the source's first byte, behind a byte order mark */
  uint32_t line, line_start, seen; /* the line of byte seen of the source, and the line's first byte */
  uint32_t *keys;                  /* scratch of the search for duplicate keys */
  uint32_t keys_cap;
} nv_builder;

void nv_build_init(nv_builder *b, nv_doc *d, size_t start);
/* A node that starts at byte source, not yet linked. Fastest when sources rise. */
uint32_t nv_build_node(nv_builder *b, nv_doc_kind kind, nv_doc_style style, size_t source);
/* Gives a scalar its decoded text. */
void nv_build_text(nv_builder *b, uint32_t node, const char *p, size_t n);
/* Links node behind the last child of the innermost open node. */
void nv_build_link(nv_builder *b, uint32_t node);
/* Makes node, a map or list, the innermost. false, with an error at the node, when it nests too deep. */
bool nv_build_open(nv_builder *b, uint32_t node);
/* Closes the innermost; a map's duplicate keys are reported and taken out. */
void nv_build_close(nv_builder *b);
/* Does the innermost map expect a key next? */
static inline bool nv_build_at_key(const nv_builder *b) {
  const nv_doc_node *n = b->depth ? &b->d->nodes[b->frames[b->depth - 1].node] : NULL;
  return n && n->kind == NV_DOC_MAP && n->count % 2 == 0;
}
/* A place of the file that belongs to no node of the tree: for errors of form. */
nv_pos nv_build_place(nv_builder *b, size_t source);
/* p[0, n) as it may stand in a message: control characters as ?, cut at 60 bytes. In the arena. */
const char *nv_shown(nv_ctx *c, const char *p, size_t n);

#endif
