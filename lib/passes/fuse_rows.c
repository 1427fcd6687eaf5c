/* fuse_rows.c - reductions of rows (fuse.h).
 *
 * A reduction over the innermost axes reduces rows: element p * length + e of its operand is element e of row p, and
 * its result number p. Where the elements of a space are rows of one length, everything on them goes into one kernel:
 * the reductions, what stands before them, what works on their results once a row, and what works on the elements again
 * with a row's results. */
#include "fuse.h"

/* Ops whose partial results are joined by one operation. */
static bool is_joined(nv_op op) {
  switch (op) {
  case NV_OP_sum:
  case NV_OP_prod:
  case NV_OP_max:
  case NV_OP_min:
  case NV_OP_mean:
  case NV_OP_any:
  case NV_OP_all: return true;
  default: return false;
  }
}

void nv_find_row_length(nv_fuser *f, uint32_t item) {
  nv_item *w = &f->items[item];
  nv_shape s = nv_shape_at(f->g, f->edges[w->edges].operand);
  uint32_t rank = nv_shape_rank(f->c, s), naxes = nv_attr_count(f->c, w->attr);
  bool reduced[NV_MAX_RANK] = {0}, kept = false;
  int64_t length = 1;
  w->why = NV_WHY_REDUCED;
  if (!is_joined((nv_op)w->op)) return;
  for (uint32_t a = 1; a < naxes; a++) reduced[nv_attr_list(f->c, w->attr)[a]] = true;
  for (uint32_t k = rank; k-- > 0;) {
    const nv_dim dim = nv_shape_dims(f->c, s)[k];
    int64_t d;
    if (dim == NV_DIM_ONE) continue;
    if (!reduced[k]) kept = true;
    else if (kept) {
      w->why = NV_WHY_OUTER;
      return;
    } else if (!nv_dim_is_const(f->c, dim, &d)) {
      w->why = NV_WHY_OPEN;
      return;
    } else if (!nv_mul64(length, d, &length) || length > NV_LONGEST_ROW) {
      w->why = NV_WHY_LONG;
      return;
    }
  }
  if (length > 1) w->length = (uint32_t)length;
}

void nv_find_rows(nv_fuser *f) {
  for (uint32_t k = 0; k < f->nitems; k++) {
    nv_item *w = &f->items[k];
    uint32_t order;
    if (!w->length) continue;
    nv_item *top = &f->items[nv_space(f, k, &order)];
    if (!top->row_length) top->row_length = w->length, top->row_order = order;
    if (top->row_length == w->length && top->row_order == order) continue;
    w->length = 0;
    w->why = NV_WHY_LENGTHS;
  }
}

uint32_t nv_row_of(nv_fuser *f, uint32_t item) {
  uint32_t order;
  return f->items[item].length ? nv_space(f, item, &order) : f->items[item].row;
}

bool nv_is_repeated_row(nv_fuser *f, uint32_t item, const nv_edge *d, uint32_t top) {
  uint32_t order, length = f->items[top].row_length;
  if (f->items[item].kind == NV_ITEM_VIEW || nv_space(f, item, &order) != top || order != f->items[top].row_order)
    return false;
  bool repeated = false;
  for (nv_value v = d->operand; v != d->base; v = f->next[v]) {
    const nv_node_rec *n = nv_node_of(f->g, v);
    nv_shape to = nv_shape_at(f->g, v), from = nv_shape_at(f->g, f->next[v]);
    const nv_dim elements = nv_shape_elements(f->c, from);
    uint32_t rank = nv_shape_rank(f->c, to), drop = rank - nv_shape_rank(f->c, from);
    if (n->op == NV_OP_transpose || n->op == NV_OP_slice || n->op == NV_OP_pad_edge) return false;
    if (n->op != NV_OP_broadcast_to || nv_as_many(f, v, f->next[v])) continue;
    if (repeated || nv_dim_mul(f->c, elements, nv_dim_const(f->c, length)) != nv_shape_elements(f->c, to)) return false;
    int64_t inner = 1, size;
    for (uint32_t k = rank; k-- > 0;) { /* the innermost axes, length elements in all, and no other */
      const nv_dim a = k < drop ? NV_DIM_ONE : nv_shape_dims(f->c, from)[k - drop], b = nv_shape_dims(f->c, to)[k];
      if (b != a && (inner == length || !nv_dim_is_const(f->c, b, &size))) return false;
      if (b != NV_DIM_ONE && b == a && inner < length) return false;
      if (b != a) inner *= size;
    }
    repeated = true;
  }
  return repeated;
}
