/* fuse.c - the fuser: partitions a graph into kernels.
 *
 * What moves the fewest bytes, then the fewest launches, by rules that are local and linear:
 *   1. Views disappear into edges. Items that work on the same elements one to one form a space, in which every item
 *      knows its order (fuse.h).
 *   2. An edge between items joins them where their orders agree; else its base is computed again at the place of use
 *      when that is cheap and reads no more than a load of the result would; else it is cut. A reduction computes its
 *      operand on the fly under the same condition, and its results go through element-wise items of their own shape.
 *   3. Levels: a kernel's level is above those of all kernels that it reads. Items go to the latest level that their
 *      users allow, so an edge stays inside a level unless another user needs its base earlier. Kernels of one level
 *      don't depend on each other, so joining items within a level can't make a cycle.
 *   4. A group is what hangs together within a level by joined edges or by reading the same value in the same space.
 *      Lowered, it is one kernel, or several when a limit of the target ends it (fuse_split.c). */
#include "fuse.h"

enum {
  CLONE_OPS = 16,     /* of a value computed again where it is used */
  SINGLE_OPS = 32,    /* of a single element computed again by every point */
  EXCLUSIVE_OPS = 64, /* of a reduction's operand that nothing else uses */
  CLONE_LEAVES = 8    /* operands that a clone reads: three of them and an output stay within 31 buffers */
};

static const uint32_t HUGE_COUNT = 1u << 20; /* where counts of a clone saturate */

static uint32_t add_count(uint32_t a, uint32_t b) { return a + b < HUGE_COUNT ? a + b : HUGE_COUNT; }

/* ---- items and edges ---- */

static void add_edge(nv_fuser *f, nv_value operand) {
  NV_GROW(f->c, f->edges, f->edges_cap, (size_t)f->nedges + 1);
  nv_value base = f->base[operand];
  f->edges[f->nedges++] = (nv_edge){.operand = operand, .base = base, .item = f->item_of[base]};
  f->items[f->nitems - 1].nedges++;
}

static nv_item *add_item(nv_fuser *f, nv_item_kind kind, nv_value value, nv_node node) {
  NV_GROW(f->c, f->items, f->items_cap, (size_t)f->nitems + 1);
  nv_item *w = &f->items[f->nitems];
  *w = (nv_item){.value = value, .node = node, .port = NV_NONE, .edges = f->nedges, .kind = (uint8_t)kind,
                 .reduction = NV_NONE, .row = NV_NONE, .why = NV_WHY_REDUCED, .up = f->nitems, .group = NV_NONE};
  f->nitems++;
  return w;
}

static bool is_order_kept(nv_fuser *f, nv_value v) { /* of a view: the same elements in the same linear order */
  return f->order[v] != NV_NONE && f->order[v] == f->order[f->next[v]];
}

/* A view: where it leads, or an item when it must be written. */
static void add_view(nv_fuser *f, nv_node k) {
  nv_graph *g = f->g;
  const nv_node_rec *n = &g->nodes[k];
  nv_value v = n->result, x = nv_operand(g, n, 0), b = f->base[x];
  bool constant = nv_is_number(f, b);
  f->base[v] = b;
  f->next[v] = x;
  f->views[v] = (uint8_t)(f->views[x] + 1);
  f->order[v] = f->order[x];
  f->part[v] = f->part[x] || n->op == NV_OP_slice;
  if (constant) {
    f->views[v] = 0;
    return;
  }
  if (n->op == NV_OP_transpose && f->order[x] != NV_NONE)
    f->order[v] = nv_order_transpose(f, f->order[x], nv_shape_at(g, x), n->attr);
  if (n->op == NV_OP_broadcast_to && !nv_as_many(f, v, x)) f->order[v] = NV_NONE;
  if (n->op == NV_OP_slice || n->op == NV_OP_pad_edge) f->order[v] = NV_NONE;
  if (is_order_kept(f, v) && x != b && is_order_kept(f, x)) { /* two reshapes are one */
    f->next[v] = f->next[x];
    f->views[v] = f->views[x];
  }
  bool even = true;
  for (uint32_t axis = 0; f->picked[v] >> axis && even; axis++)
    even = !(f->picked[v] >> axis & 1) || nv_is_even(f, v, axis);
  if (f->fuse && even && f->views[v] <= NV_MAX_VIEWS) return;
  f->next[v] = x;
  add_item(f, NV_ITEM_VIEW, v, k);
  f->item_of[v] = f->nitems - 1;
  add_edge(f, x);
  f->base[v] = v;
  f->order[v] = 0;
  f->views[v] = 0;
  f->part[v] = false;
}

static void add_reduction(nv_fuser *f, nv_node k) {
  nv_graph *g = f->g;
  const nv_node_rec *n = &g->nodes[k];
  nv_value v = n->result, x = nv_operand(g, n, 0);
  nv_dtype from = nv_dtype_of(g, x), to = nv_dtype_of(g, v);
  uint32_t naxes = nv_attr_count(f->c, n->attr) - 1;
  nv_item *w;
  if (nv_shape_is_empty(f->c, nv_shape_at(g, x))) {
    add_item(f, NV_ITEM_CONST, v, k)->op = n->op;
    return;
  }
  if (naxes == 0) { /* the identity, with the result's dtype */
    int64_t attr = to;
    w = add_item(f, from == to ? NV_ITEM_MOVE : NV_ITEM_OP, v, k);
    w->op = NV_OP_astype;
    w->attr = nv_attr_make(f->c, &attr, 1);
  } else {
    w = add_item(f, NV_ITEM_REDUCE, v, k);
    w->op = n->op;
    w->attr = n->attr;
    w->kept = true;
  }
  add_edge(f, x);
  if (f->fuse && w->kind == NV_ITEM_REDUCE) nv_find_row_length(f, f->nitems - 1);
}

/* What no kernel of open sizes can do yet. */
static void refuse_open(nv_fuser *f, nv_node k) {
  nv_ctx *c = f->c;
  const nv_node_rec *n = &f->g->nodes[k];
  int64_t known;
  if (nv_ops[n->op].cls != NV_SCAN) return;
  const nv_dim along = nv_shape_dims(c, nv_shape_at(f->g, n->result))[nv_attr_list(c, n->attr)[0]];
  if (nv_dim_is_const(c, along, &known)) return;
  nv_buf size;
  nv_buf_init(&size, c);
  nv_put_dim(&size, along);
  if (n->origin != NV_NONE) c->where = f->g->origins[n->origin].pos;
  nv_raise(c, NUVECC_SPEC,
           "not supported yet: kernels of open sizes (%s along an axis of '%s'); a signature fixes them",
           nv_ops[n->op].name, nv_buf_text(&size));
}

static void add_node(nv_fuser *f, nv_node k) {
  nv_graph *g = f->g;
  const nv_node_rec *n = &g->nodes[k];
  nv_value v = n->result;
  const nv_op_info *info = &nv_ops[n->op];
  if (f->g->nsources) refuse_open(f, k);
  for (uint32_t i = 0; i < nv_op_results((nv_op)n->op); i++) {
    f->base[v + i] = f->next[v + i] = v + i;
    f->item_of[v + i] = NV_NONE;
  }
  if (info->cls == NV_LEAF || info->cls == NV_INDEX || nv_shape_is_empty(f->c, nv_shape_at(g, v))) return;
  if (info->cls == NV_VIEW) {
    add_view(f, k);
    return;
  }
  if (nv_op_results((nv_op)n->op) != 1 || n->noperands > 3 || info->cls == NV_EXPAND)
    nv_raise(f->c, NUVECC_SPEC, "not supported yet: %s in a kernel", info->name);
  if (info->cls == NV_REDUCE) {
    add_reduction(f, k);
  } else if (info->cls == NV_PICK) {
    nv_item *w = add_item(f, NV_ITEM_PICK, v, k);
    w->op = n->op;
    w->attr = n->attr;
    w->kept = n->op != NV_OP_pick;
    add_edge(f, nv_operand(g, n, 1));
    add_edge(f, nv_operand(g, n, 0));
  } else if (info->cls == NV_SCAN || info->cls == NV_FOLD) {
    nv_item *w = add_item(f, info->cls == NV_SCAN ? NV_ITEM_SCAN : NV_ITEM_FOLD, v, k);
    w->op = n->op;
    w->attr = n->attr;
    w->kept = true;
    for (uint32_t i = 0; i < n->noperands; i++) add_edge(f, nv_operand(g, n, i));
  } else {
    nv_item *w = add_item(f, info->cls == NV_COPY ? NV_ITEM_MOVE : NV_ITEM_OP, v, k);
    w->op = n->op;
    w->attr = n->attr;
    w->kept = info->cls == NV_COPY;
    for (uint32_t i = 0; i < (info->cls == NV_COPY ? 1u : n->noperands); i++) add_edge(f, nv_operand(g, n, i));
  }
  f->item_of[v] = f->nitems - 1;
}

/* An output is written by the item that computes it; a second output of the same item, or one whose elements lie in
 * another order, is an item of its own. */
static void add_output(nv_fuser *f, uint32_t port) {
  nv_value v = f->g->outputs[port].value;
  if (nv_shape_is_empty(f->c, nv_shape_at(f->g, v))) return;
  uint32_t u = f->item_of[f->base[v]];
  if (u != NV_NONE && f->order[v] == 0 && f->items[u].port == NV_NONE) {
    f->items[u].port = port;
    return;
  }
  nv_item *w = add_item(f, NV_ITEM_MOVE, v, NV_NONE);
  w->port = port;
  w->kept = true;
  add_edge(f, v);
}

/* Marks the axes along which elements are picked. */
static void mark_picked(nv_fuser *f) {
  for (nv_node k = 0; k < f->g->nnodes; k++) {
    const nv_node_rec *n = &f->g->nodes[k];
    if (nv_ops[n->op].cls != NV_PICK) continue;
    for (uint32_t axis = 0; axis < nv_attr_count(f->c, n->attr); axis++)
      if (nv_attr_list(f->c, n->attr)[axis] < 0) f->picked[nv_operand(f->g, n, 0)] |= (uint16_t)(1u << axis);
  }
}

static void add_items(nv_fuser *f) {
  nv_graph *g = f->g;
  mark_picked(f);
  NV_GROW(f->c, f->items, f->items_cap, (size_t)g->nnodes + g->noutputs + 1);
  NV_GROW(f->c, f->edges, f->edges_cap, (size_t)g->npool + g->noutputs + 1);
  for (nv_node k = 0; k < g->nnodes; k++) add_node(f, k);
  f->nnode_items = f->nitems;
  for (uint32_t k = 0; k < g->noutputs; k++) add_output(f, k);
  uint32_t *last = NV_NEW_N(f->c, uint32_t, (size_t)f->nitems + 1); /* last user, plus one */
  for (uint32_t w = 0; w < f->nitems; w++) {
    for (uint32_t e = f->items[w].edges; e < f->items[w].edges + f->items[w].nedges; e++) {
      uint32_t u = f->edges[e].item;
      if (u == NV_NONE || last[u] == w + 1) continue;
      last[u] = w + 1;
      f->items[u].uses++;
    }
  }
}

/* ---- spaces ---- */

/* Does a view leave elements out, or repeat those at the edges? */
static bool is_gapped(const nv_node_rec *n) { return n->op == NV_OP_slice || n->op == NV_OP_pad_edge; }

/* No buffer holds it: a constant or an index. */
static bool is_computed_in_place(const nv_fuser *f, nv_value v) {
  return nv_is_number(f, v) || nv_node_of(f->g, v)->op == NV_OP_iota;
}

static bool is_pointwise(const nv_fuser *f, uint32_t item) { return !nv_is_walk(&f->items[item]); }

/* Is it the edge to what an item picks from? No order relates the two. */
static bool is_picked(const nv_item *w, uint32_t edge) { return w->kind == NV_ITEM_PICK && edge == w->edges + 1; }

/* Does it work on elements of a space? */
static bool is_in_space(const nv_fuser *f, uint32_t item) { return is_pointwise(f, item) || f->items[item].length; }

typedef struct reader { /* an item that reads a base which isn't computed with it */
  nv_value base;
  nv_dim count; /* elements of its space */
  uint32_t item, order;
} reader;

/* First along the edges between items, then between items that read the same value, as far as that doesn't disagree. */
static void make_spaces(nv_fuser *f) {
  for (uint32_t w = 0; w < f->nitems; w++) {
    if (!is_in_space(f, w)) continue;
    for (uint32_t e = f->items[w].edges; e < f->items[w].edges + f->items[w].nedges; e++) {
      const nv_edge *d = &f->edges[e];
      nv_value to = f->items[w].kind == NV_ITEM_VIEW ? f->items[w].value : d->operand;
      uint32_t order = f->order[d->operand];
      if (d->item == NV_NONE || !is_pointwise(f, d->item) || order == NV_NONE || is_picked(&f->items[w], e)) continue;
      if (to != d->operand) {
        if (nv_node_of(f->g, to)->op == NV_OP_broadcast_to || is_gapped(nv_node_of(f->g, to))) continue;
        if (nv_node_of(f->g, to)->op == NV_OP_transpose)
          order = nv_order_transpose(f, order, nv_shape_at(f->g, d->operand), nv_node_of(f->g, to)->attr);
      }
      if (f->orders[order].depth <= NV_MAX_ORDER) nv_space_join(f, d->item, w, order);
    }
  }
  reader *readers = NULL;
  uint32_t n = 0, cap = 0;
  nv_map map = {0};
  for (uint32_t w = 0; w < f->nitems; w++) {
    if (!is_in_space(f, w)) continue;
    nv_value of = is_pointwise(f, w) ? f->items[w].value : f->edges[f->items[w].edges].operand;
    nv_dim count = nv_shape_elements(f->c, nv_shape_at(f->g, of));
    for (uint32_t e = f->items[w].edges; e < f->items[w].edges + f->items[w].nedges; e++) {
      const nv_edge *d = &f->edges[e];
      uint32_t order = f->items[w].kind == NV_ITEM_VIEW ? NV_NONE : f->order[d->operand], at = 0, k;
      if (is_computed_in_place(f, d->base) || is_picked(&f->items[w], e)) continue;
      if (d->item != NV_NONE && is_pointwise(f, d->item) && order != NV_NONE) continue;
      uint32_t key[2] = {d->base, count};
      uint64_t hash = nv_hash(key, sizeof key, 3);
      while ((k = nv_map_next(&map, hash, &at)) != NV_NONE)
        if (readers[k].base == d->base && readers[k].count == count) break;
      if (k == NV_NONE) {
        NV_GROW(f->c, readers, cap, (size_t)n + 1);
        readers[n] = (reader){d->base, count, w, order};
        nv_map_add(f->c, &map, hash, n++);
        continue;
      }
      uint32_t between = 0;
      if (order != NV_NONE && readers[k].order != NV_NONE)
        between = nv_order_then(f, nv_order_inverse(f, readers[k].order), order);
      if (between != NV_NONE) nv_space_join(f, readers[k].item, w, between);
    }
  }
  nv_drop(f->c, readers);
  nv_map_drop(f->c, &map);
}

/* Do u's and w's orders agree along the edge? */
static bool is_aligned(nv_fuser *f, uint32_t u, uint32_t w, const nv_edge *d) {
  uint32_t order = f->order[d->operand], to_u, to_w;
  if (order == NV_NONE) return false;
  if (f->items[w].kind == NV_ITEM_VIEW) {
    const nv_node_rec *n = nv_node_of(f->g, f->items[w].value);
    if (is_gapped(n) || !nv_as_many(f, n->result, d->operand)) return false;
    if (n->op == NV_OP_transpose) order = nv_order_transpose(f, order, nv_shape_at(f->g, d->operand), n->attr);
    if (f->orders[order].depth > NV_MAX_ORDER) return false;
  }
  return nv_space(f, u, &to_u) == nv_space(f, w, &to_w) && nv_order_then(f, to_u, order) == to_w;
}

/* ---- edges ---- */

typedef struct cost { /* of a clone */
  uint32_t ops, leaves; /* different ones */
  int64_t bytes;        /* of the leaves */
} cost;

/* What computing an item again for w takes; an input that w reads anyway, whole, costs no bytes. Its field ops is at
 * most EXCLUSIVE_OPS, which bounds the walk. */
static cost clone_cost(nv_fuser *f, uint32_t item, const nv_item *w) {
  uint32_t stack[4 * EXCLUSIVE_OPS], n = 0, mark = ++f->epoch;
  cost r = {0, 0, 0};
  for (uint32_t e = w->edges; e < w->edges + w->nedges; e++) {
    const nv_edge *d = &f->edges[e];
    if (d->item == NV_NONE && f->order[d->operand] != NV_NONE) f->operand_mark[d->base] = mark;
  }
  stack[n++] = item;
  f->items[item].mark = mark;
  while (n) {
    const nv_item *u = &f->items[stack[--n]];
    r.ops++;
    for (uint32_t e = u->edges; e < u->edges + u->nedges; e++) {
      const nv_edge *d = &f->edges[e];
      if (d->kind == NV_EDGE_CONST || d->kind == NV_EDGE_INDEX) continue;
      if (d->kind == NV_EDGE_JOIN || d->kind == NV_EDGE_CLONE) {
        if (f->items[d->item].mark == mark) continue;
        f->items[d->item].mark = mark;
        stack[n++] = d->item;
      } else if (f->operand_mark[d->base] != mark) {
        f->operand_mark[d->base] = mark;
        r.leaves++;
        int64_t bytes = nv_value_weight(f, d->base);
        if (is_picked(u, e) && bytes > nv_value_weight(f, u->value)) bytes = nv_value_weight(f, u->value);
        if (!nv_add64(r.bytes, bytes, &r.bytes)) r.bytes = INT64_MAX;
      }
    }
  }
  return r;
}

/* Is computing the edge's base again for w cheap, and does it read no more than a load would? */
static bool can_clone(nv_fuser *f, const nv_edge *d, const nv_item *w, uint32_t *leaves) {
  const nv_item *u = &f->items[d->item];
  bool single = u->exclusive && nv_is_walk(w);
  uint32_t most = single ? EXCLUSIVE_OPS
                  : nv_shape_elements(f->c, nv_shape_at(f->g, u->value)) == NV_DIM_ONE ? SINGLE_OPS : CLONE_OPS;
  if (u->kept || u->reduction != NV_NONE || u->row != NV_NONE || u->ops > EXCLUSIVE_OPS) return false;
  if (u->depth + f->views[d->operand] > NV_MAX_VIEWS) return false;
  cost x = clone_cost(f, d->item, w);
  *leaves = x.leaves;
  if (x.ops > most || x.leaves > CLONE_LEAVES) return false;
  /* Elements that are written anyway cost one read, others a write too. */
  return u->exclusive || x.bytes <= (u->port != NV_NONE ? 1 : 2) * nv_value_weight(f, u->value);
}

static void cut(nv_edge *d, nv_why why) {
  d->kind = NV_EDGE_CUT;
  d->why = (uint8_t)why;
}

/* Does an earlier edge of w lead to the same operand? */
static bool is_repeated(const nv_fuser *f, const nv_item *w, uint32_t edge) {
  if (is_picked(w, edge)) return false;
  for (uint32_t e = w->edges; e < edge; e++)
    if (f->edges[e].operand == f->edges[edge].operand) return true;
  return false;
}

/* The reduction with a kernel of its own that computes an item, or NV_NONE. */
static uint32_t reduction_of(const nv_fuser *f, uint32_t item) {
  const nv_item *u = &f->items[item];
  return nv_is_walk(u) && !u->length ? item : u->reduction;
}

/* Can w run once a row beside a row's value that it uses? In which space's kernel: NV_NONE, none. Everything else that
 * it reads must be there by then: else it may do better as an element of another space. */
static uint32_t find_row(nv_fuser *f, uint32_t item) {
  const nv_item *w = &f->items[item];
  uint32_t row = NV_NONE, level = 0;
  if (w->kind != NV_ITEM_OP && w->kind != NV_ITEM_MOVE) return NV_NONE;
  for (uint32_t e = w->edges; e < w->edges + w->nedges; e++) {
    const nv_edge *d = &f->edges[e];
    if (d->item == NV_NONE || f->order[d->operand] != 0) continue;
    uint32_t of = nv_row_of(f, d->item);
    if (of != NV_NONE && (row == NV_NONE || f->items[d->item].level > level)) row = of, level = f->items[d->item].level;
  }
  for (uint32_t e = w->edges; row != NV_NONE && e < w->edges + w->nedges; e++) {
    const nv_edge *d = &f->edges[e];
    uint32_t leaves;
    if (d->item == NV_NONE || (nv_row_of(f, d->item) == row && f->order[d->operand] == 0)) continue;
    uint32_t ready = f->items[d->item].level;
    if (ready > level || (ready == level && !can_clone(f, d, w, &leaves))) row = NV_NONE;
  }
  return row;
}

/* Can w be computed in the kernel of a reduction that it uses, point by point behind it? Which one: NV_NONE, none.
 * Everything else that it reads must be there before that kernel runs. buffers: most of each reduction's kernel. */
static uint32_t find_epilogue(nv_fuser *f, uint32_t item, uint32_t *buffers) {
  const nv_item *w = &f->items[item];
  uint32_t r = NV_NONE, more = 1;
  if (w->kind != NV_ITEM_OP && w->kind != NV_ITEM_MOVE) return NV_NONE;
  for (uint32_t e = w->edges; e < w->edges + w->nedges; e++) {
    const nv_edge *d = &f->edges[e];
    if (d->item == NV_NONE || f->order[d->operand] != 0) continue;
    uint32_t of = reduction_of(f, d->item);
    if (of != NV_NONE && (r == NV_NONE || f->items[of].level > f->items[r].level)) r = of;
  }
  if (r == NV_NONE) return NV_NONE;
  for (uint32_t e = w->edges; e < w->edges + w->nedges; e++) {
    const nv_edge *d = &f->edges[e];
    const nv_item *u = d->item == NV_NONE ? NULL : &f->items[d->item];
    if (is_repeated(f, w, e)) continue;
    if (!u) {
      more += !is_computed_in_place(f, d->base);
    } else if ((d->item == r || u->reduction == r) && f->order[d->operand] == 0) {
      if (u->uses == 1 && u->port == NV_NONE && more > 0) more--; /* no longer an output */
    } else if (d->item > r || d->item == r || u->reduction == r) {
      return NV_NONE;
    } else if (nv_is_walk(u) || u->reduction != NV_NONE || u->row != NV_NONE) {
      if (u->level >= f->items[r].level) return NV_NONE;
      more++;
    } else {
      uint32_t leaves;
      if (!can_clone(f, d, w, &leaves) || u->level > f->items[r].level) return NV_NONE;
      more += leaves;
    }
  }
  if (buffers[r] + more > f->max_buffers) return NV_NONE;
  buffers[r] += more;
  return r;
}

/* leaves: of a clone. */
static void classify_edge(nv_fuser *f, uint32_t item, nv_edge *d, uint32_t *leaves) {
  const nv_item *w = &f->items[item];
  if (nv_is_number(f, d->base)) {
    d->kind = NV_EDGE_CONST;
    return;
  }
  if (nv_node_of(f->g, d->base)->op == NV_OP_iota) {
    d->kind = NV_EDGE_INDEX;
    *leaves = 0;
    return;
  }
  if (d->item == NV_NONE) {
    d->kind = NV_EDGE_INPUT;
    return;
  }
  const nv_item *u = &f->items[d->item];
  uint32_t of = reduction_of(f, d->item), row = nv_row_of(f, d->item);
  bool once = w->reduction != NV_NONE || w->row != NV_NONE; /* a point or row */
  if (!f->fuse) cut(d, NV_WHY_OFF);
  else if (is_picked(w, (uint32_t)(d - f->edges))) cut(d, NV_WHY_PICKED);
  else if (w->kind == NV_ITEM_FOLD && w->op != NV_OP_fold_runs && d != &f->edges[w->edges]) cut(d, NV_WHY_FOLDED);
  else if (row != NV_NONE && (once ? row == w->row && f->order[d->operand] == 0 : nv_is_repeated_row(f, item, d, row)))
    d->kind = NV_EDGE_JOIN;
  else if (row != NV_NONE) cut(d, NV_WHY_ROW);
  else if (of != NV_NONE && of == w->reduction) d->kind = NV_EDGE_JOIN;
  else if (of != NV_NONE) cut(d, (nv_why)f->items[of].why);
  else if (!once && is_in_space(f, item) && is_aligned(f, d->item, item, d)) d->kind = NV_EDGE_JOIN;
  else if (can_clone(f, d, w, leaves)) d->kind = NV_EDGE_CLONE;
  else if (u->kept) cut(d, NV_WHY_KEPT);
  else if (nv_is_walk(w)) cut(d, NV_WHY_REDUCES);
  else if (f->part[d->operand]) cut(d, NV_WHY_PART);
  else cut(d, f->order[d->operand] == NV_NONE ? NV_WHY_REPEATS : NV_WHY_ORDER);
}

/* Kinds of all edges, earliest levels, costs of clones. */
static void classify(nv_fuser *f) {
  uint32_t *buffers = NV_NEW_N(f->c, uint32_t, (size_t)f->nitems + 1);
  for (uint32_t k = 0; k < f->nitems; k++) {
    nv_item *w = &f->items[k];
    if (f->fuse) w->row = find_row(f, k);
    if (f->fuse && w->row == NV_NONE) w->reduction = find_epilogue(f, k, buffers);
    buffers[k] = 1; /* a reduction's result */
    w->exclusive = w->uses <= 1 && w->port == NV_NONE;
    w->ops = w->kept ? HUGE_COUNT : 1;
    for (uint32_t e = w->edges; e < w->edges + w->nedges; e++) {
      nv_edge *d = &f->edges[e];
      uint32_t leaves = 1;
      classify_edge(f, k, d, &leaves);
      if (d->kind == NV_EDGE_CONST) continue;
      const nv_item *u = d->item == NV_NONE ? NULL : &f->items[d->item];
      uint32_t views = f->views[d->operand] + (w->kind == NV_ITEM_VIEW ? 1u : 0u);
      /* a fold's updates are read from memory, also where they are what it starts from */
      if (u && u->level + (d->kind == NV_EDGE_CUT) > w->level) w->level = u->level + (d->kind == NV_EDGE_CUT);
      if (is_repeated(f, w, e)) continue; /* costs nothing more */
      if (d->kind == NV_EDGE_JOIN || d->kind == NV_EDGE_CLONE) {
        w->ops = add_count(w->ops, u->ops);
        w->exclusive = w->exclusive && u->exclusive;
        views = add_count(views, u->depth);
      }
      if (w->depth < views) w->depth = views;
      if (nv_is_walk(w)) buffers[k] += leaves;
    }
    if (w->reduction != NV_NONE) w->level = f->items[w->reduction].level;
  }
}

/* ---- levels ---- */

static void lower_to(uint32_t *late, uint32_t level) {
  if (*late > level) *late = level;
}

/* Passes on to what an edge leads to by when it is needed: at level (UINT32_MAX: not at all) by its user itself, at
 * clone_level by the user's clones. */
static void need(nv_fuser *f, const nv_edge *d, uint32_t level, uint32_t clone_level) {
  if (d->kind == NV_EDGE_CONST || d->kind == NV_EDGE_INPUT) return;
  nv_item *u = &f->items[d->item];
  uint32_t first = level < clone_level ? level : clone_level;
  if (d->kind == NV_EDGE_JOIN && level != UINT32_MAX) {
    u->needed = true;
    lower_to(&u->late, level);
  }
  if (d->kind == NV_EDGE_JOIN && clone_level != UINT32_MAX) {
    u->cloned = true;
    lower_to(&u->clone_late, clone_level);
  }
  if (d->kind == NV_EDGE_CLONE) {
    u->cloned = true;
    lower_to(&u->clone_late, first);
  }
  if (d->kind == NV_EDGE_CUT) {
    if (first == 0) nv_bug(f->c, "a kernel would have to run before the first");
    u->needed = u->stored = true;
    lower_to(&u->late, first - 1);
  }
}

/* Latest levels, from the users down. A reduction's epilogue has its level: what the epilogue reads is asked for when
 * the reduction is reached, and is older than it (find_epilogue). */
static void settle_latest(nv_fuser *f) {
  uint32_t top = 0;
  uint32_t *first = NV_NEW_N(f->c, uint32_t, (size_t)f->nitems + 1),
           *next = NV_NEW_N(f->c, uint32_t, (size_t)f->nitems + 1);
  for (uint32_t k = 0; k < f->nitems; k++) {
    first[k] = next[k] = NV_NONE;
    if (f->items[k].level > top) top = f->items[k].level;
  }
  for (uint32_t k = 0; k < f->nitems; k++) {
    f->items[k].late = f->items[k].clone_late = top;
    f->items[k].needed = f->items[k].port != NV_NONE;
  }
  for (uint32_t k = f->nitems; k-- > 0;) {
    nv_item *w = &f->items[k];
    if (!w->needed && !w->cloned) continue;
    uint32_t level = w->needed ? w->late : UINT32_MAX, clone_level = w->cloned ? w->clone_late : UINT32_MAX;
    if (w->reduction != NV_NONE) { /* never cloned */
      lower_to(&f->items[w->reduction].late, level);
      f->items[w->reduction].needed = true;
      next[k] = first[w->reduction];
      first[w->reduction] = k;
      for (uint32_t e = w->edges; e < w->edges + w->nedges; e++)
        if (f->edges[e].kind == NV_EDGE_JOIN) need(f, &f->edges[e], level, UINT32_MAX);
      continue;
    }
    for (uint32_t e = w->edges; e < w->edges + w->nedges; e++) need(f, &f->edges[e], level, clone_level);
    for (uint32_t m = first[k]; m != NV_NONE; m = next[m])
      for (uint32_t e = f->items[m].edges; e < f->items[m].edges + f->items[m].nedges; e++)
        if (f->edges[e].kind != NV_EDGE_JOIN) need(f, &f->edges[e], level, UINT32_MAX);
  }
}

/* An item that only writes an output goes where what it joins is. */
static void settle_levels(nv_fuser *f) {
  bool *used = NV_NEW_N(f->c, bool, (size_t)f->nitems + 1); /* by an item that isn't just an output */
  for (uint32_t k = 0; k < f->nnode_items; k++)
    for (uint32_t e = f->items[k].edges; e < f->items[k].edges + f->items[k].nedges; e++)
      if (f->edges[e].item != NV_NONE) used[f->edges[e].item] = true;
  for (uint32_t k = 0; k < f->nitems; k++) {
    nv_item *w = &f->items[k];
    if (!w->needed) continue;
    w->level = w->reduction != NV_NONE ? f->items[w->reduction].level : w->late;
    if (used[k] || w->reduction != NV_NONE || !is_in_space(f, k)) continue;
    uint32_t highest = NV_NONE;
    bool movable = true;
    for (uint32_t e = w->edges; e < w->edges + w->nedges && movable; e++) {
      const nv_edge *d = &f->edges[e];
      movable = d->kind != NV_EDGE_CLONE && d->kind != NV_EDGE_CUT;
      if (d->kind == NV_EDGE_JOIN && (highest == NV_NONE || f->items[d->item].level > highest))
        highest = f->items[d->item].level;
    }
    if (movable && highest != NV_NONE) w->level = highest;
  }
}

/* ---- groups ---- */

static uint32_t find_group(nv_item *items, uint32_t k) {
  while (items[k].group != k) k = items[k].group = items[items[k].group].group;
  return k;
}

static void join_groups(nv_item *items, uint32_t a, uint32_t b) {
  a = find_group(items, a);
  b = find_group(items, b);
  if (a < b) items[b].group = a;
  else items[a].group = b;
}

/* Joins items of one level along joined edges, and those that read the same value in the same space. */
static void connect(nv_fuser *f) {
  nv_item *items = f->items;
  nv_map map = {0};
  struct seen {
    nv_value base;
    uint32_t level, space, item;
  } *seen = NULL;
  uint32_t nseen = 0, cap = 0;
  for (uint32_t k = 0; k < f->nitems; k++) {
    nv_item *w = &items[k];
    if (!w->needed) continue;
    w->group = k;
    if (w->reduction != NV_NONE) join_groups(items, w->reduction, k);
    if (!f->fuse || w->reduction != NV_NONE || !is_in_space(f, k)) continue;
    uint32_t order, space = nv_space(f, k, &order);
    for (uint32_t e = w->edges; e < w->edges + w->nedges; e++) {
      const nv_edge *d = &f->edges[e];
      if (d->kind == NV_EDGE_CONST) continue;
      if (d->kind == NV_EDGE_JOIN && items[d->item].level == w->level) {
        join_groups(items, d->item, k);
        continue;
      }
      if (w->row != NV_NONE) continue; /* no element of the space that it is in by its shape */
      uint32_t key[3] = {d->base, w->level, space}, at = 0, s;
      uint64_t hash = nv_hash(key, sizeof key, 4);
      while ((s = nv_map_next(&map, hash, &at)) != NV_NONE)
        if (seen[s].base == d->base && seen[s].level == w->level && seen[s].space == space) break;
      if (s != NV_NONE) {
        join_groups(items, seen[s].item, k);
        continue;
      }
      NV_GROW(f->c, seen, cap, (size_t)nseen + 1);
      seen[nseen] = (struct seen){d->base, w->level, space, k};
      nv_map_add(f->c, &map, hash, nseen++);
    }
  }
  nv_drop(f->c, seen);
  nv_map_drop(f->c, &map);
}

/* Numbers the groups by level, then by their first item, and lists their members: in item order, an output behind what
 * it writes. */
static void list_groups(nv_fuser *f) {
  nv_ctx *c = f->c;
  nv_item *items = f->items;
  uint32_t levels = 1;
  for (uint32_t k = 0; k < f->nitems; k++)
    if (items[k].needed && items[k].level + 1 > levels) levels = items[k].level + 1;
  uint32_t *start = NV_NEW_N(c, uint32_t, (size_t)levels + 1), *number = NV_NEW_N(c, uint32_t, (size_t)f->nitems + 1);
  for (uint32_t k = 0; k < f->nitems; k++)
    if (items[k].needed && find_group(items, k) == k) start[(f->fuse ? items[k].level : 0) + 1]++;
  for (uint32_t k = 0; k < levels; k++) start[k + 1] += start[k];
  f->ngroups = start[levels];
  for (uint32_t k = 0; k < f->nitems; k++)
    if (items[k].needed && find_group(items, k) == k) number[k] = start[f->fuse ? items[k].level : 0]++;
  f->group_start = NV_NEW_N(c, uint32_t, (size_t)f->ngroups + 2);
  f->members = NV_NEW_N(c, uint32_t, (size_t)f->nitems + 1);
  for (uint32_t k = 0; k < f->nitems; k++)
    if (items[k].needed) f->group_start[number[find_group(items, k)] + 2]++;
  for (uint32_t k = 0; k < f->ngroups; k++) f->group_start[k + 2] += f->group_start[k + 1];
  uint32_t *first = NV_NEW_N(c, uint32_t, (size_t)f->nitems + 1), *next = NV_NEW_N(c, uint32_t, (size_t)f->nitems + 1);
  for (uint32_t k = 0; k < f->nitems; k++) first[k] = NV_NONE;
  for (uint32_t k = f->nitems; k-- > f->nnode_items;) {
    const nv_edge *d = &f->edges[items[k].edges];
    if (d->kind != NV_EDGE_JOIN || find_group(items, d->item) != find_group(items, k)) continue;
    next[k] = first[d->item];
    first[d->item] = k;
  }
  for (uint32_t k = 0; k < f->nitems; k++) {
    if (!items[k].needed) continue;
    const nv_edge *d = &f->edges[items[k].edges];
    uint32_t *at = &f->group_start[number[find_group(items, k)] + 1];
    if (k < f->nnode_items || d->kind != NV_EDGE_JOIN || find_group(items, d->item) != find_group(items, k))
      f->members[(*at)++] = k;
    for (uint32_t p = k < f->nnode_items ? first[k] : NV_NONE; p != NV_NONE; p = next[p]) f->members[(*at)++] = p;
  }
  for (uint32_t k = 0; k < f->nitems; k++) /* numbers last: roots are found by number until here */
    first[k] = items[k].needed ? number[find_group(items, k)] : NV_NONE;
  for (uint32_t k = 0; k < f->nitems; k++) items[k].group = first[k];
}

/* What is read by another group is written. */
static void mark_stored(nv_fuser *f) {
  for (uint32_t k = 0; k < f->nitems; k++) {
    const nv_item *w = &f->items[k];
    if (!w->needed) continue;
    for (uint32_t e = w->edges; e < w->edges + w->nedges; e++) {
      nv_edge *d = &f->edges[e];
      if (d->kind != NV_EDGE_JOIN || f->items[d->item].group == w->group) continue;
      f->items[d->item].stored = true;
      d->why = NV_WHY_CYCLE;
      /* what else w needs it for may be what keeps them apart */
      for (uint32_t o = w->edges; o < w->edges + w->nedges; o++)
        if (f->edges[o].item == d->item && f->edges[o].kind == NV_EDGE_CUT) d->why = f->edges[o].why;
    }
  }
}

/* A clone's operands are read by every kernel that holds one: an edge is reported once. */
static void merge_cuts(nv_fuser *f) {
  nv_plan *p = f->plan;
  nv_map map = {0};
  uint32_t n = 0;
  for (uint32_t k = 0; k < p->ncuts; k++) {
    uint32_t key[2] = {p->cuts[k].value, p->cuts[k].user}, at = 0, o;
    uint64_t hash = nv_hash(key, sizeof key, 6);
    while ((o = nv_map_next(&map, hash, &at)) != NV_NONE)
      if (p->cuts[o].value == key[0] && p->cuts[o].user == key[1]) break;
    if (o != NV_NONE) continue;
    nv_map_add(f->c, &map, hash, n);
    p->cuts[n++] = p->cuts[k];
  }
  p->ncuts = n;
  nv_map_drop(f->c, &map);
}

/* ---- the pass ---- */

static void init(nv_fuser *f) {
  nv_ctx *c = f->c;
  size_t n = (size_t)f->g->nvalues + 1;
  f->item_of = NV_NEW_N(c, uint32_t, n);
  f->base = NV_NEW_N(c, nv_value, n);
  f->next = NV_NEW_N(c, nv_value, n);
  f->order = NV_NEW_N(c, uint32_t, n);
  f->part = NV_NEW_N(c, bool, n);
  f->views = NV_NEW_N(c, uint8_t, n);
  f->picked = NV_NEW_N(c, uint16_t, n);
  f->memo_mark = NV_NEW_N(c, uint32_t, n);
  f->memo_head = NV_NEW_N(c, uint32_t, n);
  f->operand_mark = NV_NEW_N(c, uint32_t, n);
  f->operand_index = NV_NEW_N(c, uint32_t, n);
  nv_orders_init(f);
  const nv_target *t = c->target;
  f->why[NV_WHY_NONE] = "";
  f->why[NV_WHY_OFF] = "--no-fuse";
  f->why[NV_WHY_REDUCED] = "a reduction's kernel ends with its results";
  f->why[NV_WHY_OUTER] = "a reduction over outer axes has a kernel that ends with its results";
  f->why[NV_WHY_LONG] = nv_format(c, "rows of more than %d elements aren't held in registers", NV_LONGEST_ROW);
  f->why[NV_WHY_OPEN] = "rows whose length is known at run time only aren't held in registers";
  f->why[NV_WHY_LENGTHS] = "a kernel works on rows of one length";
  f->why[NV_WHY_ROW] = "it is needed beside other elements than those of its own row";
  f->why[NV_WHY_REDUCES] = "computing it inside the reduction would read more, or cost too much";
  f->why[NV_WHY_REPEATS] = "computing it again for every repeated element would read more, or cost too much";
  f->why[NV_WHY_PART] = "computing it again for the slice would read more, or cost too much";
  f->why[NV_WHY_ORDER] = "its elements are needed in another order";
  f->why[NV_WHY_KEPT] = "a copy, or a search, is never computed twice";
  f->why[NV_WHY_CYCLE] = "a kernel between the two needs it, and one kernel would wait for itself";
  f->why[NV_WHY_FOLDED] = "every element looks through it";
  f->why[NV_WHY_PICKED] = "an index chooses its elements";
  f->why[NV_WHY_BUFFERS] = nv_format(c, "one kernel would need more than %u buffers", (unsigned)f->max_buffers);
  f->why[NV_WHY_STATEMENTS] =
      nv_format(c, "one kernel would have more than %u statements", (unsigned)t->max_statements);
  f->why[NV_WHY_UNROLLED] = "one kernel would have too many statements for every element of a row";
  f->why[NV_WHY_LIVE] = nv_format(c, "one kernel would hold more than %u values at once", (unsigned)t->max_live);
}

static void drop(nv_fuser *f) {
  void *const grown[] = {f->items, f->edges, f->steps, f->orders, f->memo};
  for (size_t k = 0; k < sizeof grown / sizeof *grown; k++) nv_drop(f->c, grown[k]);
  nv_map_drop(f->c, &f->step_map);
  nv_map_drop(f->c, &f->order_map);
}

nv_plan *nv_fuse(nv_graph *g, bool fuse) {
  nv_ctx *c = g->c;
  nv_plan *plan = NV_NEW(c, nv_plan);
  plan->graph = g = nv_split_scans(g);
  nv_fuser f = {.c = c, .g = g, .plan = plan, .fuse = fuse};
  f.max_buffers = c->target->max_buffers - (g->nsources > 0); /* one holds the sizes */
  init(&f);
  add_items(&f);
  if (fuse) make_spaces(&f);
  nv_find_rows(&f);
  classify(&f);
  settle_latest(&f);
  settle_levels(&f);
  connect(&f);
  list_groups(&f);
  mark_stored(&f);
  for (uint32_t k = 0; k < f.ngroups; k++) {
    uint32_t *items = f.members + f.group_start[k], n = f.group_start[k + 1] - f.group_start[k];
    if (reduction_of(&f, items[0]) == items[0]) {
      nv_kernel kernel = {0};
      const uint8_t kind = f.items[items[0]].kind;
      (kind == NV_ITEM_SCAN   ? nv_lower_scan
       : kind == NV_ITEM_FOLD ? nv_lower_fold
                              : nv_lower_reduce)(&f, items, n, &kernel);
      nv_add_kernel(&f, &kernel);
    } else {
      nv_split_group(&f, items, n);
    }
  }
  merge_cuts(&f);
  drop(&f);
  return plan;
}
