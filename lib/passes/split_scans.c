/* split_scans.c - scans along long axes with few lines become three steps that work on their blocks in parallel: what
 * every block comes to, a scan of that, and the blocks themselves. The order of a scan (nuvec-ops(5)) is made so that
 * this changes no bit. Reductions over many elements and updates by index are split in the same walk
 * (split_reductions.c, split_folds.c). Only the fuser sees the result. */
#include "../ir/sizes.h"
#include "passes.h"

enum {
  LONGEST = NV_SCAN_BLOCK * NV_SCAN_BLOCK, /* of an axis that one simdgroup or thread walks along */
  THREADS = 1 << 15,   /* a GPU is busy with */
  ROW_BLOCKS = 8,      /* fewer are walked along sooner than three kernels are launched */
  COLUMN_BLOCKS = 4
};

bool nv_scan_is_columns(int64_t n, int64_t inner) { return inner >= 8 || n <= 32; }

static bool is_split(nv_ctx *c, const nv_graph *g, const nv_node_rec *node) {
  const nv_shape shape = nv_shape_at(g, node->result);
  if (nv_ops[node->op].cls == NV_REDUCE) return nv_reduction_is_split(c, g, node);
  if (nv_ops[node->op].cls == NV_FOLD) return nv_fold_is_split(c, g, node);
  if (nv_ops[node->op].cls != NV_SCAN || nv_shape_is_empty(c, shape)) return false;
  const uint32_t axis = (uint32_t)nv_attr_list(c, node->attr)[0];
  const nv_dim *dims = nv_shape_dims(c, shape);
  int64_t n;
  if (!nv_dim_is_const(c, dims[axis], &n)) return false;
  const int64_t lines = nv_shape_weight(c, shape) / n;
  const int64_t inner = nv_shape_weight(c, nv_shape_make(c, dims + axis + 1, nv_shape_rank(c, shape) - axis - 1));
  const int64_t blocks = (n + NV_SCAN_BLOCK - 1) / NV_SCAN_BLOCK;
  if (n > LONGEST) return true;
  return nv_scan_is_columns(n, inner) ? blocks >= COLUMN_BLOCKS && lines < THREADS
                                      : blocks >= ROW_BLOCKS && lines < THREADS / 32;
}

/* The scan of x in three steps; the middle one may be split again. */
static nv_value split(nv_graph *g, const nv_graph *from, const nv_node_rec *node, nv_value x, nv_node_rec *middle) {
  nv_ctx *c = g->c;
  const int64_t *list = nv_attr_list(c, node->attr);
  const nv_dtype d = nv_dtype_of(from, node->result), wide = d == NV_F16 || d == NV_BF16 ? NV_F32 : d;
  const nv_shape shape = nv_shape_at(from, node->result);
  const uint32_t rank = nv_shape_rank(c, shape), axis = (uint32_t)list[0];
  nv_dim dims[NV_MAX_RANK];
  memcpy(dims, nv_shape_dims(c, shape), rank * sizeof *dims);
  dims[axis] = nv_dim_const(c, (nv_dim_value(c, dims[axis]) - 1) / NV_SCAN_BLOCK);
  const nv_shape blocks = nv_shape_make(c, dims, rank);
  const nv_attr forward = nv_attr_make(c, (int64_t[]){list[0], 0, 0}, 3);
  const nv_attr attr = nv_attr_make(c, (int64_t[]){list[0], list[1], list[2], node->op}, 4);
  const nv_value totals = nv_graph_add(g, NV_OP_scan_totals, &x, 1, attr, wide, blocks, node->origin);
  nv_value in[2] = {x, nv_graph_add(g, (nv_op)node->op, &totals, 1, forward, wide, blocks, node->origin)};
  *middle = *nv_node_of(g, in[1]);
  return nv_graph_add(g, NV_OP_scan_blocks, in, 2, attr, d, shape, node->origin);
}

static void own_origins(nv_graph *r, const nv_graph *g) {
  r->origins = NULL;
  NV_GROW(r->c, r->origins, r->origins_cap, (size_t)g->norigins + 1);
  if (g->norigins) memcpy(r->origins, g->origins, g->norigins * sizeof *g->origins);
}

/* Nodes of g behind from are copied, so that what a step became is looked at again: axes become shorter each time. */
static nv_graph *split_once(nv_graph *g, bool *more) {
  nv_ctx *c = g->c;
  nv_graph *r = nv_graph_new(c, g->name);
  uint32_t cap = 0;
  nv_value *to = nv_grow(c, NULL, &cap, (size_t)g->nvalues + 1, sizeof *to), *operands = NULL;
  uint32_t operands_cap = 0;
  nv_sorted last = {.keys = NV_NONE};
  *more = false;
  nv_graph_share_origins(r, g);
  for (uint32_t k = 0; k < g->nnodes; k++) {
    const nv_node_rec *n = &g->nodes[k];
    NV_GROW(c, operands, operands_cap, (size_t)n->noperands + 1);
    for (uint32_t i = 0; i < n->noperands; i++) operands[i] = to[nv_operand(g, n, i)];
    if (is_split(c, g, n) && nv_ops[n->op].cls == NV_REDUCE) {
      const uint32_t made = r->nnodes;
      to[n->result] = nv_split_reduction(r, g, n, operands[0]);
      for (uint32_t i = made; i < r->nnodes && !*more; i++) *more = is_split(c, r, &r->nodes[i]);
      continue;
    }
    if (is_split(c, g, n) && nv_ops[n->op].cls == NV_FOLD) {
      if (last.keys == NV_NONE) own_origins(r, g);
      to[n->result] = nv_split_fold(r, n, operands, &last);
      continue;
    }
    if (is_split(c, g, n)) {
      nv_node_rec middle;
      to[n->result] = split(r, g, n, operands[0], &middle);
      *more = *more || is_split(c, r, &middle);
      continue;
    }
    const nv_value v = nv_graph_add(r, (nv_op)n->op, operands, n->noperands, n->attr, nv_dtype_of(g, n->result),
                                    nv_shape_at(g, n->result), n->origin);
    for (uint32_t i = 0; i < nv_op_results((nv_op)n->op); i++) {
      to[n->result + i] = v + i;
      r->values[v + i] = g->values[n->result + i];
      r->values[v + i].node = r->nnodes - 1;
    }
  }
  NV_GROW(c, r->inputs, r->inputs_cap, (size_t)g->ninputs + 1);
  NV_GROW(c, r->outputs, r->outputs_cap, (size_t)g->noutputs + 1);
  for (; r->ninputs < g->ninputs; r->ninputs++) {
    r->inputs[r->ninputs] = g->inputs[r->ninputs];
    r->inputs[r->ninputs].value = to[g->inputs[r->ninputs].value];
  }
  for (; r->noutputs < g->noutputs; r->noutputs++) {
    r->outputs[r->noutputs] = g->outputs[r->noutputs];
    r->outputs[r->noutputs].value = to[g->outputs[r->noutputs].value];
  }
  NV_GROW(c, r->sources, r->sources_cap, (size_t)g->nsources + 1);
  for (; r->nsources < g->nsources; r->nsources++) r->sources[r->nsources] = g->sources[r->nsources];
  for (uint32_t k = 0; k < g->nguards; k++)
    nv_graph_guard(r, g->guards[k].relation, g->guards[k].a, g->guards[k].b, g->guards[k].origin);
  nv_drop(c, to);
  nv_drop(c, operands);
  return r;
}

nv_graph *nv_split_scans(nv_graph *g) {
  bool more = false;
  for (uint32_t k = 0; k < g->nnodes && !more; k++) more = is_split(g->c, g, &g->nodes[k]);
  while (more) g = split_once(g, &more);
  return g;
}
