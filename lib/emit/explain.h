/* explain.h - what the forms of --explain share (explain.c, explain_html.c). */
#ifndef NV_EXPLAIN_H
#define NV_EXPLAIN_H

#include "metal.h"

/* Line of the statement that an origin comes from: of the user's document, so through the calls of built-ins outward.
 * 0: none. The line's text in *source, *length (source may be NULL). */
uint32_t nv_line_of(const nv_graph *g, uint32_t origin, const char **source, size_t *length);
/* The origin's text, or the op's name. */
void nv_put_node_name(nv_buf *b, const nv_graph *g, nv_node n);
/* Name of what a binding holds: an input's or output's, else the node's. */
void nv_put_operand_name(nv_buf *b, const nv_plan *p, const nv_kernel *k, uint32_t o);
/* Does operand o of launch l lie in the arena? (plan.c makes launch k of kernel k.) */
static inline bool nv_is_scratch(const nv_plan *p, uint32_t launch, uint32_t o) {
  return p->launches[launch].places[o].kind == NV_PLACE_SCRATCH;
}
/* How a kernel shares its work among threads. */
const char *nv_thread_words(nv_ctx *c, const nv_kernel *k);
/* Bytes that a launch moves to and from the arena. */
int64_t nv_scratch_traffic(const nv_plan *p, uint32_t launch);

/* Nodes that are computed more than once, in the graph's order. */
typedef struct nv_again {
  nv_node node;
  uint32_t times;           /* operations in all kernels */
  uint32_t first, nkernels; /* its kernels: nv_recomputed.kernels[first …] */
} nv_again;
typedef struct nv_recomputed {
  nv_again *nodes;
  uint32_t n, cap;
  uint32_t *kernels;
} nv_recomputed;
nv_recomputed nv_find_recomputed(const nv_plan *p);

#endif
