/* split_reductions.c - reductions over many elements become two: of every block of 1024, in parallel, then of what the
 * blocks come to. It is the rule of the order (nuvec-ops(5)) itself, so no bit changes. Axes of whole blocks only; what
 * is left over stays one reduction. split_scans.c says when. */
#include "../ir/eval.h"
#include "passes.h"

enum {
  BLOCK = 1024,
  ROW_BLOCKS = 64,  /* fewer are walked along sooner than two kernels are launched */
  ROWS = 1 << 10,   /* simdgroups that keep a GPU busy */
  MOST = 1 << 30    /* results of one reduction */
};

typedef struct extent { /* of the operand, as three axes of which the middle one is reduced */
  int64_t before, n, behind;
} extent;

/* false: the reduced axes don't lie beside one another. */
static bool read_extent(nv_ctx *c, const nv_graph *g, const nv_node_rec *node, extent *e) {
  const nv_shape shape = nv_shape_at(g, nv_operand(g, node, 0));
  const int64_t *list = nv_attr_list(c, node->attr);
  const uint32_t count = nv_attr_count(c, node->attr);
  *e = (extent){1, 1, 1};
  for (uint32_t k = 0, next = 1; k < nv_shape_rank(c, shape); k++) {
    const int64_t d = nv_dim_value(c, nv_shape_dims(c, shape)[k]);
    const bool reduced = next < count && list[next] == (int64_t)k;
    next += reduced;
    if (d == 1) continue;
    if (reduced && e->behind > 1) return false;
    *(reduced ? &e->n : e->n > 1 ? &e->behind : &e->before) *= d;
  }
  return true;
}

bool nv_reduction_is_split(nv_ctx *c, const nv_graph *g, const nv_node_rec *node) {
  extent e;
  const nv_shape shape = nv_shape_at(g, nv_operand(g, node, 0));
  if (!nv_shape_is_static(c, shape) || !nv_shape_count(c, shape) || !read_extent(c, g, node, &e)) return false;
  if (e.n % BLOCK || e.n == BLOCK || (node->op == NV_OP_mean && nv_dtype_of(g, node->result) == NV_C64)) return false;
  if (e.n / BLOCK > MOST / e.before / e.behind) return false;
  return e.behind > 1 || (e.n / BLOCK >= ROW_BLOCKS && e.before < ROWS);
}

static nv_value converted(nv_graph *g, nv_value v, nv_dtype d, uint32_t origin) {
  const int64_t to = d;
  if (nv_dtype_of(g, v) == d) return v;
  return nv_graph_add(g, NV_OP_astype, &v, 1, nv_attr_make(g->c, &to, 1), d, nv_shape_at(g, v), origin);
}

static nv_value reshaped(nv_graph *g, nv_value v, const int64_t *dims, uint32_t rank, uint32_t origin) {
  const nv_shape shape = nv_shape_of_ints(g->c, dims, rank);
  if (nv_shape_at(g, v) == shape) return v;
  return nv_graph_add(g, NV_OP_reshape, &v, 1, NV_NO_ATTR, nv_dtype_of(g, v), shape, origin);
}

nv_value nv_split_reduction(nv_graph *g, const nv_graph *from, const nv_node_rec *node, nv_value x) {
  nv_ctx *c = g->c;
  extent e;
  const nv_dtype result = nv_dtype_of(from, node->result);
  const nv_shape shape = nv_shape_at(from, node->result);
  const bool mean = node->op == NV_OP_mean, adds = mean || node->op == NV_OP_sum || node->op == NV_OP_prod;
  const nv_op op = mean ? NV_OP_sum : (nv_op)node->op;
  const nv_dtype wide = adds && (result == NV_F16 || result == NV_BF16) ? NV_F32 : result;
  read_extent(c, from, node, &e);
  if (nv_is(nv_dtype_of(g, x), NV_BITS_FLOAT)) x = converted(g, x, wide, node->origin);
  const int64_t blocks = e.n / BLOCK, parts[4] = {e.before, blocks, BLOCK, e.behind};
  const int64_t some[3] = {e.before, blocks, e.behind}, none[2] = {e.before, e.behind};
  x = reshaped(g, x, parts, 4, node->origin);
  const nv_attr of_blocks = nv_attr_make(c, (int64_t[]){0, 2}, 2), of_these = nv_attr_make(c, (int64_t[]){0, 1}, 2);
  x = nv_graph_add(g, op, &x, 1, of_blocks, wide, nv_shape_of_ints(c, some, 3), node->origin);
  x = nv_graph_add(g, op, &x, 1, of_these, wide, nv_shape_of_ints(c, none, 2), node->origin);
  if (mean) {
    nv_value in[2] = {x, nv_graph_const(g, NV_F32, nv_f32_to_bits(NV_F32, nv_reciprocal_of(e.n)), node->origin)};
    in[1] = nv_graph_add(g, NV_OP_broadcast_to, &in[1], 1, NV_NO_ATTR, NV_F32, nv_shape_at(g, x), node->origin);
    x = nv_graph_add(g, NV_OP_multiply, in, 2, NV_NO_ATTR, NV_F32, nv_shape_at(g, x), node->origin);
  }
  x = converted(g, x, result, node->origin);
  if (nv_shape_at(g, x) == shape) return x;
  return nv_graph_add(g, NV_OP_reshape, &x, 1, NV_NO_ATTR, result, shape, node->origin);
}
