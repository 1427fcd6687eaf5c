/* verify.c - the invariants of a graph, checked after each stage. One walk; a table of operations once simplified. */
#include "data.h"
#include "sizes.h"

typedef struct verifier {
  const nv_graph *g;
  nv_ctx *c;
  nv_node node;
} verifier;

static NV_NORETURN void broken(const verifier *v, const char *format, ...) NV_PRINTF(2, 3);
static NV_NORETURN void broken(const verifier *v, const char *format, ...) {
  va_list ap;
  va_start(ap, format);
  const char *what = nv_vformat(v->c, format, ap);
  va_end(ap);
  const nv_node_rec *n = &v->g->nodes[v->node];
  nv_buf origin;
  nv_buf_init(&origin, v->c);
  if (n->origin < v->g->norigins) nv_put_origin(&origin, v->g, n->origin);
  nv_bug(v->c, "node %u (%s%s%s) of %s: %s", v->node, n->op < NV_NOPS ? nv_ops[n->op].name : "?",
         origin.n ? " " : "", nv_buf_text(&origin), nv_text(v->c, v->g->name), what);
}

static void check_leaf(const verifier *v, const nv_node_rec *n) {
  const nv_value_rec *result = &v->g->values[n->result];
  nv_ctx *c = v->c;
  if (n->noperands) broken(v, "a leaf has operands");
  if (n->op == NV_OP_SIZE) {
    if (!nv_size_is_valid(c, n->attr)) broken(v, "a size is no expression");
    if (nv_shape_rank(c, result->shape) != 0) broken(v, "a size isn't of rank 0");
    return;
  }
  if (nv_attr_count(c, n->attr) != 1) broken(v, "a leaf has %u attributes", nv_attr_count(c, n->attr));
  int64_t attr = nv_attr_list(c, n->attr)[0];
  if (n->op == NV_OP_INPUT) {
    if (v->node >= v->g->ninputs || attr != (int64_t)v->node) broken(v, "an input isn't in its place");
    if (v->g->inputs[v->node].value != n->result) broken(v, "an input's port has another value");
    return;
  }
  if (n->op == NV_OP_DATA) {
    const nv_data *d = attr >= 0 && attr < nv_data_count(c) ? nv_data_at(c, (uint32_t)attr) : NULL;
    if (!d || d->dtype != result->dtype || d->shape != result->shape) broken(v, "no such constant array");
    return;
  }
  int bits = 8 * nv_dtype_size[result->dtype];
  if (nv_shape_rank(c, result->shape) != 0) broken(v, "a constant isn't of rank 0");
  if ((bits < 64 && (uint64_t)attr >> bits) || (result->dtype == NV_BOOL && (uint64_t)attr > 1))
    broken(v, "a constant has bits outside its dtype");
}

static void check_op(const verifier *v, const nv_node_rec *n) {
  const nv_graph *g = v->g;
  nv_graph view = *g; /* nv_infer changes nothing of it */
  const nv_value *operands = g->pool + n->operands;
  const nv_value_rec *result = &g->values[n->result];
  const char *why = "";
  nv_dtype dtype;
  nv_shape shape = result->shape;
  for (uint32_t k = 0; k < n->noperands; k++)
    if (operands[k] >= n->result) broken(v, "operand %%%u isn't older", operands[k]);
  if (!nv_infer(&view, (nv_op)n->op, operands, n->noperands, n->attr, &dtype, &shape, &why))
    broken(v, "%s", why);
  if (dtype != result->dtype)
    broken(v, "the result is %s, not %s", nv_dtype_name[result->dtype], nv_dtype_name[dtype]);
  if (shape != result->shape)
    broken(v, "the result is of shape %s, not %s", nv_shape_text(v->c, result->shape),
           nv_shape_text(v->c, shape));
}

/* A view or conversion that changes nothing. */
static bool is_identity(const nv_graph *g, const nv_node_rec *n) {
  const nv_op_info *row = &nv_ops[n->op];
  if (n->noperands != 1 || (row->cls != NV_VIEW && row->dtype != NV_DT_ATTR)) return false;
  const nv_value_rec *from = &g->values[g->pool[n->operands]], *to = &g->values[n->result];
  if (from->shape != to->shape || from->dtype != to->dtype) return false;
  if (row->shape != NV_SH_TRANSPOSE && row->shape != NV_SH_SLICE) return true;
  const int64_t *list = nv_attr_list(g->c, n->attr);
  const uint32_t rank = nv_shape_rank(g->c, from->shape);
  for (uint32_t k = 0; k < rank; k++) /* equal sizes, but moved? */
    if (row->shape == NV_SH_SLICE ? list[k] != 0 || list[rank + k] != 1 : list[k] != (int64_t)k) return false;
  return true;
}

static bool same_operation(const nv_graph *g, const nv_node_rec *a, const nv_node_rec *b) {
  const nv_value_rec *x = &g->values[a->result], *y = &g->values[b->result];
  return a->op == b->op && a->attr == b->attr && a->noperands == b->noperands && x->dtype == y->dtype &&
         x->shape == y->shape &&
         (a->noperands == 0 ||
          memcmp(g->pool + a->operands, g->pool + b->operands, a->noperands * sizeof *g->pool) == 0);
}

/* What simplify leaves: every node used, nothing that changes nothing, nothing twice. */
static void check_simplified(verifier *v) {
  const nv_graph *g = v->g;
  nv_ctx *c = v->c;
  nv_map seen = {0};
  bool *used = NV_NEW_N(c, bool, g->nnodes);
  for (uint32_t k = 0; k < g->noutputs; k++) used[g->values[g->outputs[k].value].node] = true;
  for (uint32_t k = g->nnodes; k-- > 0;)
    for (uint32_t i = 0; used[k] && i < g->nodes[k].noperands; i++)
      used[g->values[g->pool[g->nodes[k].operands + i]].node] = true;
  for (v->node = 0; v->node < g->nnodes; v->node++) {
    const nv_node_rec *n = &g->nodes[v->node];
    if (n->op == NV_OP_INPUT) continue;
    if (!used[v->node]) broken(v, "nothing uses it");
    if (is_identity(g, n)) broken(v, "it changes nothing");
    if (nv_ops[n->op].flags & (NV_NO_CSE | NV_KEPT)) continue;
    const nv_value_rec *result = &g->values[n->result];
    const uint32_t key[4] = {n->op, n->attr, result->dtype, result->shape};
    uint64_t hash = nv_hash(key, sizeof key, 0);
    if (n->noperands) hash = nv_hash(g->pool + n->operands, n->noperands * sizeof *g->pool, hash);
    uint32_t at = 0, other;
    while ((other = nv_map_next(&seen, hash, &at)) != NV_NONE)
      if (same_operation(g, &g->nodes[other], n)) broken(v, "it is node %u again", other);
    nv_map_add(c, &seen, hash, v->node);
  }
  nv_map_drop(c, &seen);
}

void nv_verify(const nv_graph *g, nv_stage stage) {
  verifier v = {g, g->c, 0};
  nv_value next = 0;
  uint32_t pool = 0;
  if (g->ninputs > g->nnodes) nv_bug(v.c, "%s has more inputs than nodes", nv_text(v.c, g->name));
  for (v.node = 0; v.node < g->nnodes; v.node++) {
    const nv_node_rec *n = &g->nodes[v.node];
    if (n->op >= NV_NOPS) broken(&v, "no such op");
    if (n->result != next || g->nvalues - next < nv_op_results((nv_op)n->op))
      broken(&v, "its results aren't in order");
    if (n->operands != pool || g->npool - pool < n->noperands) broken(&v, "its operands aren't in order");
    if (n->origin != NV_NONE && n->origin >= g->norigins) broken(&v, "no such origin");
    for (uint32_t k = 0; k < nv_op_results((nv_op)n->op); k++) {
      const nv_value_rec *r = &g->values[n->result + k];
      if (r->node != v.node) broken(&v, "result %u belongs to node %u", k, r->node);
      if (r->dtype >= NV_NDTYPES) broken(&v, "no such dtype");
      if (!nv_shape_fits(v.c, r->shape))
        broken(&v, "the shape %s is out of bounds", nv_shape_text(v.c, r->shape));
    }
    next += nv_op_results((nv_op)n->op);
    pool += n->noperands;
    if ((n->op == NV_OP_INPUT) != (v.node < g->ninputs)) broken(&v, "the inputs don't come first");
    if (nv_ops[n->op].cls == NV_LEAF)
      check_leaf(&v, n);
    else
      check_op(&v, n);
  }
  if (next != g->nvalues || pool != g->npool) nv_bug(v.c, "%s has values of no node", nv_text(v.c, g->name));
  for (uint32_t k = 0; k < g->norigins; k++)
    if (g->origins[k].parent != NV_NONE && g->origins[k].parent >= k)
      nv_bug(v.c, "%s: origin %u has a parent that isn't older", nv_text(v.c, g->name), k);
  for (uint32_t k = 0; k < g->noutputs; k++)
    if (g->outputs[k].value >= g->nvalues)
      nv_bug(v.c, "%s: output %u has no value", nv_text(v.c, g->name), k);
  if (stage == NV_STAGE_SIMPLIFIED) check_simplified(&v);
}
