/* lower.c - from items to the body of a kernel (private to the fuser: fuse.h).
 *
 * A MAP kernel iterates over the shape of one of its items, the root; every other item's element index follows from its
 * order in the space. An operand's index is the user's, taken back through the views between them. At the end axes that
 * every offset steps through evenly are merged, and what is left is mapped to the grid. */
#include "fuse.h"
#include "../ir/sizes.h"
#include "region.h"

#include <stdlib.h>

typedef struct frame { /* an item being computed */
  uint32_t item, next;      /* the edge that comes next */
  uint32_t arg[3];
  nv_element e;                /* of its value; of a reduction: of its operand */
} frame;

typedef struct store {
  nv_value value;
  uint32_t port, instr, number;
} store;

typedef struct reach { /* an operand that is read */
  bool whole;    /* every element */
  int64_t picked;/* chosen by indices */
  nv_dim *at;    /* else: at these offsets */
  uint32_t n, cap;
} reach;

typedef struct known { /* an element by order and shape */
  uint32_t order;
  nv_element e;
} known;

typedef struct lowering {
  nv_fuser *f;
  nv_ctx *c;
  nv_graph *g;
  nv_kernel *k;
  uint32_t epoch; /* marks what belongs to this kernel */
  uint32_t scope; /* marks instructions that may be used again; behind a reduction, none that stand before it */
  frame *frames; uint32_t nframes, frames_cap;
  store *stores; uint32_t nstores, stores_cap;
  reach *reaches; uint32_t reaches_cap;
  known *elements; uint32_t nelements, elements_cap;
  nv_dim symbol[NV_MAX_RANK]; /* of the axes that aren't 1 */
  nv_dim extent[NV_MAX_RANK];
  uint32_t nsymbols, nkept;   /* REDUCE, ROWS: the first nkept are the points' */
  nv_dim point;               /* REDUCE, ROWS: linear index of the result */
  nv_element before;             /* SCAN of blocks: where what stands before the block is read */
  nv_element update;             /* FOLD: of the index and the updates */
  nv_dim target;              /* FOLD: of an element of the result, its place along the axis */
} lowering;

static const int64_t MOST = INT64_C(1) << 30; /* extent of a grid dim */
static const int64_t INNER = INT64_C(1) << 20; /* of the inner half of a longer one */

/* ---- instructions ---- */

static uint32_t add_instr(lowering *l, nv_instr i) {
  nv_kernel *k = l->k;
  NV_GROW(l->c, k->instrs, k->instrs_cap, (size_t)k->ninstrs + 1);
  k->instrs[k->ninstrs] = i;
  return k->ninstrs++;
}

static void add_graph_node(lowering *l, nv_node n) {
  nv_kernel *k = l->k;
  NV_GROW(l->c, k->nodes, k->nodes_cap, (size_t)k->nnodes + 1);
  k->nodes[k->nnodes++] = n;
}

static uint32_t recall(lowering *l, nv_value v, nv_dim at) {
  nv_fuser *f = l->f;
  if (f->memo_mark[v] != l->scope) return NV_NONE;
  for (uint32_t m = f->memo_head[v]; m != NV_NONE; m = f->memo[m].next)
    if (f->memo[m].at == at) return f->memo[m].instr;
  return NV_NONE;
}

static void remember(lowering *l, nv_value v, nv_dim at, uint32_t instr) {
  nv_fuser *f = l->f;
  uint32_t next = f->memo_mark[v] == l->scope ? f->memo_head[v] : NV_NONE;
  NV_GROW(l->c, f->memo, f->memo_cap, (size_t)f->nmemo + 1);
  f->memo[f->nmemo] = (nv_memo){at, instr, next};
  f->memo_mark[v] = l->scope;
  f->memo_head[v] = f->nmemo++;
}

static uint32_t constant(lowering *l, nv_value v) {
  uint32_t i = recall(l, v, NV_NONE);
  if (i != NV_NONE) return i;
  const nv_node_rec *n = nv_node_of(l->g, v);
  nv_instr x = {.kind = NV_I_CONST, .dtype = (uint8_t)nv_dtype_of(l->g, v), .value = v};
  if (n->op == NV_OP_SIZE) x.kind = NV_I_SIZE, x.attr = n->attr;
  else x.bits = (uint64_t)nv_attr_list(l->c, n->attr)[0];
  i = add_instr(l, x);
  remember(l, v, NV_NONE, i);
  return i;
}

static uint32_t add_index(lowering *l, nv_value v, nv_dim at) {
  uint32_t i = recall(l, v, at);
  if (i != NV_NONE) return i;
  i = add_instr(l, (nv_instr){.kind = NV_I_INDEX, .dtype = (uint8_t)nv_dtype_of(l->g, v), .offset = at, .value = v});
  remember(l, v, at, i);
  add_graph_node(l, l->g->values[v].node);
  return i;
}

/* Says why what an earlier kernel computes is read here. An output has no node: then the view that it is, or none. */
static void add_cut(lowering *l, const nv_edge *d, const nv_item *user) {
  nv_plan *p = l->f->plan;
  nv_node node = user->node;
  if (node == NV_NONE && d->base != d->operand) node = l->g->values[d->operand].node;
  if (node == NV_NONE) return;
  NV_GROW(l->c, p->cuts, p->cuts_cap, (size_t)p->ncuts + 1);
  p->cuts[p->ncuts++] = (nv_cut){d->base, node, l->f->why[d->why]};
}

/* The graph's value that an item writes. An output may be the same elements in another shape. */
static nv_value written_value(const lowering *l, const nv_item *w) {
  return w->port != NV_NONE ? l->g->outputs[w->port].value : w->value;
}

/* Elements of a shape; -1: the sizes say. */
static int64_t known_count(const lowering *l, nv_shape s) {
  return nv_shape_is_static(l->c, s) ? nv_shape_count(l->c, s) : -1;
}

/* The binding of an edge's base. */
static uint32_t read_operand(lowering *l, const nv_edge *d, const nv_item *user) {
  nv_fuser *f = l->f;
  nv_kernel *k = l->k;
  nv_value v = d->base;
  if (f->operand_mark[v] != l->epoch) {
    const nv_shape shape = nv_shape_at(l->g, v);
    f->operand_mark[v] = l->epoch;
    f->operand_index[v] = k->noperands;
    NV_GROW(l->c, k->operands, k->operands_cap, (size_t)k->noperands + 1);
    nv_value from = d->item == NV_NONE ? v : written_value(l, &f->items[d->item]);
    k->operands[k->noperands++] = (nv_operand_rec){.value = from, .dtype = (uint8_t)nv_dtype_of(l->g, v),
                                                   .port = NV_NONE, .elements = known_count(l, shape),
                                                   .extent = nv_shape_most(l->c, shape)};
    NV_GROW(l->c, l->reaches, l->reaches_cap, k->noperands);
    l->reaches[k->noperands - 1] = (reach){0};
    if (d->item != NV_NONE) add_cut(l, d, user);
  }
  return f->operand_index[v];
}

static uint32_t load(lowering *l, const nv_edge *d, const nv_item *user, const nv_element *e) {
  nv_value v = d->base;
  nv_dim at = e->linear;
  uint32_t i = recall(l, v, at);
  if (i != NV_NONE) return i;
  uint32_t operand = read_operand(l, d, user);
  reach *r = &l->reaches[operand];
  if (!e->part) r->whole = true; /* other views reach every element of what they view */
  if (!r->whole) {
    NV_GROW(l->c, r->at, r->cap, (size_t)r->n + 1);
    r->at[r->n++] = at;
  }
  i = add_instr(l, (nv_instr){.kind = NV_I_LOAD, .dtype = (uint8_t)nv_dtype_of(l->g, v), .operand = operand,
                              .offset = at, .value = v});
  remember(l, v, at, i);
  return i;
}

/* The element e of v as that of v's base. named: the views on the way are part of the kernel. */
static nv_element before_views(lowering *l, nv_value v, nv_element e, bool named) {
  for (; l->f->base[v] != v; v = l->f->next[v]) {
    if (named) add_graph_node(l, l->g->values[v].node);
    e = nv_before_view(l->f, v, e);
  }
  return e;
}

bool nv_is_even(nv_fuser *f, nv_value view, uint32_t axis) {
  lowering l = {.f = f, .c = f->c, .g = f->g};
  nv_element e = {.shape = nv_shape_at(f->g, view), .split = true};
  const nv_dim *dims = nv_shape_dims(f->c, e.shape);
  uint32_t n = nv_shape_rank(f->c, e.shape);
  for (uint32_t k = 0; k < n; k++) e.at[k] = nv_index_symbol_of(f->c, "t", k, dims[k]);
  e.linear = nv_join_index(f->c, e.at, dims, n);
  nv_dim stride, rest, symbol = e.at[axis];
  return nv_dim_slope(f->c, before_views(&l, view, e, false).linear, symbol, &stride, &rest);
}

/* Loads what w, whose element is e, picks from d by the instruction index. */
static uint32_t pick(lowering *l, const nv_edge *d, const nv_item *w, nv_element e, uint32_t index) {
  nv_ctx *c = l->c;
  const int64_t *places = nv_attr_list(c, w->attr);
  int64_t least, most, count, unused;
  nv_element x = {.shape = nv_shape_at(l->g, d->operand), .split = true};
  nv_instr i = {.kind = NV_I_LOAD, .dtype = (uint8_t)nv_dtype_of(l->g, w->value), .nargs = 1, .arg = {index},
                .value = w->value};
  nv_dim symbol = NV_NONE;
  const nv_dim *dims = nv_shape_dims(c, x.shape);
  uint32_t n = nv_shape_rank(c, x.shape);
  nv_split_element(c, &e);
  for (uint32_t k = 0; k < n; k++) {
    if (places[k] < 0) {
      symbol = nv_index_symbol_of(c, "i", NV_NONE, dims[k]);
      i.count = dims[k];
    }
    x.at[k] = places[k] < 0 ? symbol : e.at[places[k]];
  }
  x.linear = nv_join_index(c, x.at, dims, n);
  if (!nv_dim_slope(c, before_views(l, d->operand, x, true).linear, symbol, &i.stride, &i.offset))
    nv_bug(c, "steps of an index are uneven");
  nv_range(l->g, nv_operand(l->g, nv_node_of(l->g, w->value), 1), &least, &most);
  i.op = w->op;
  i.attr = w->attr;
  nv_dim_bounds(c, i.count, &count, &unused);
  i.checked = w->op == NV_OP_pick && (least < 0 || most >= count);
  i.operand = read_operand(l, d, w);
  reach *r = &l->reaches[i.operand];
  r->whole = r->whole || w->op != NV_OP_pick;
  if (!nv_add64(r->picked, nv_shape_weight(c, nv_shape_at(l->g, w->value)), &r->picked)) r->picked = INT64_MAX;
  return add_instr(l, i);
}

static void add_store(lowering *l, nv_value v, uint32_t port, uint32_t arg, nv_dim at) {
  nv_instr x = {.kind = NV_I_STORE, .dtype = (uint8_t)nv_dtype_of(l->g, v), .nargs = 1, .arg = {arg},
                .operand = l->nstores, .offset = at, .value = v};
  uint32_t i = add_instr(l, x);
  NV_GROW(l->c, l->stores, l->stores_cap, (size_t)l->nstores + 1);
  l->stores[l->nstores] = (store){v, port, i, l->nstores};
  l->nstores++;
}

/* ---- items ---- */

static uint32_t convert(lowering *l, uint32_t arg, nv_dtype to, nv_value v) {
  int64_t attr = to;
  if (l->k->instrs[arg].dtype == (uint8_t)to) return arg;
  return add_instr(l, (nv_instr){.kind = NV_I_OP, .dtype = (uint8_t)to, .op = NV_OP_astype, .nargs = 1, .arg = {arg},
                                 .attr = nv_attr_make(l->c, &attr, 1), .value = v});
}

/* FOLD: is an update's index the element's own? */
static uint32_t is_target(lowering *l, const nv_item *w, uint32_t index) {
  const uint32_t own = add_instr(l, (nv_instr){.kind = NV_I_INDEX, .dtype = l->k->instrs[index].dtype,
                                               .offset = l->target, .value = w->value});
  return add_instr(l, (nv_instr){.kind = NV_I_OP, .dtype = NV_BOOL, .op = NV_OP_equal, .nargs = 2, .arg = {index, own},
                                 .value = NV_NONE});
}

static uint32_t finish(lowering *l, const frame *t) {
  const nv_item *w = &l->f->items[t->item];
  nv_dtype d = nv_dtype_of(l->g, w->value);
  switch ((nv_item_kind)w->kind) {
  case NV_ITEM_OP: {
    nv_instr i = {.kind = NV_I_OP, .dtype = (uint8_t)d, .op = w->op, .nargs = w->nedges, .attr = w->attr,
                  .value = w->value};
    memcpy(i.arg, t->arg, sizeof i.arg);
    return add_instr(l, i);
  }
  case NV_ITEM_CONST: {
    uint64_t bits = nv_value_of_nothing(l->c, (nv_op)w->op, d);
    return add_instr(l, (nv_instr){.kind = NV_I_CONST, .dtype = (uint8_t)d, .bits = bits, .value = w->value});
  }
  case NV_ITEM_REDUCE: {
    uint32_t arg = convert(l, t->arg[0], d, w->value);
    return add_instr(l, (nv_instr){.kind = NV_I_REDUCE, .dtype = (uint8_t)d, .op = w->op, .nargs = 1, .arg = {arg},
                                   .value = w->value});
  }
  case NV_ITEM_PICK: return t->arg[1];
  case NV_ITEM_FOLD: {
    nv_instr i = {.kind = NV_I_FOLD, .dtype = (uint8_t)d, .op = (uint16_t)nv_fold_joins(l->k->reduce_op), .nargs = 3,
                  .value = w->value};
    memcpy(i.arg, t->arg, sizeof i.arg);
    if (w->op != NV_OP_fold_runs) i.arg[1] = is_target(l, w, t->arg[1]);
    return add_instr(l, i);
  }
  case NV_ITEM_SCAN:
    return add_instr(l, (nv_instr){.kind = NV_I_SCAN, .dtype = (uint8_t)d, .op = (uint16_t)l->k->reduce_op,
                                   .nargs = w->nedges, .arg = {convert(l, t->arg[0], d, w->value), t->arg[1]},
                                   .value = w->value});
  default: return t->arg[0];
  }
}

static void push(lowering *l, uint32_t item, const nv_element *e) {
  NV_GROW(l->c, l->frames, l->frames_cap, (size_t)l->nframes + 1);
  l->frames[l->nframes++] = (frame){.item = item, .e = *e};
}

/* The next argument of the frame on top: its instruction, or NV_NONE when another frame must be computed for it. */
static uint32_t next_arg(lowering *l) {
  nv_fuser *f = l->f;
  frame *t = &l->frames[l->nframes - 1];
  const nv_item *w = &f->items[t->item];
  const nv_edge *d = &f->edges[w->edges + t->next];
  bool clone = l->nframes > 1;
  if (d->kind == NV_EDGE_CONST) return constant(l, d->base);
  if (w->kind == NV_ITEM_PICK && t->next == 1) return pick(l, d, w, t->e, t->arg[0]);
  if (d->kind == NV_EDGE_JOIN && !clone && f->items[d->item].mark == l->epoch) return f->items[d->item].instr;
  nv_element e = w->kind == NV_ITEM_VIEW ? nv_before_view(l->f, w->value, t->e) : t->e;
  if (w->kind == NV_ITEM_SCAN && t->next == 1) e = l->before;
  if (w->kind == NV_ITEM_FOLD && t->next > (w->op == NV_OP_fold_runs)) e = l->update;
  e = before_views(l, d->operand, e, true);
  if (d->kind == NV_EDGE_INDEX) return add_index(l, d->base, e.linear);
  if (d->kind == NV_EDGE_INPUT || d->kind == NV_EDGE_CUT || (d->kind == NV_EDGE_JOIN && !clone))
    return load(l, d, w, &e);
  uint32_t i = recall(l, d->base, e.linear);
  if (i == NV_NONE) push(l, d->item, &e);
  return i;
}

/* Computes an item for the element e of its value, and what it needs. at: the element of its value, where e isn't. */
static void compute(lowering *l, uint32_t item, const nv_element *e, nv_dim at) {
  nv_fuser *f = l->f;
  nv_item *w = &f->items[item];
  uint32_t result = w->node == NV_NONE ? NV_NONE : recall(l, w->value, at);
  if (result == NV_NONE) {
    push(l, item, e);
    while (l->nframes) {
      frame *t = &l->frames[l->nframes - 1];
      const nv_item *u = &f->items[t->item];
      if (t->next < u->nedges) {
        uint32_t arg = next_arg(l);
        t = &l->frames[l->nframes - 1];
        if (arg != NV_NONE) t->arg[t->next++] = arg;
        continue;
      }
      result = finish(l, t);
      if (u->node != NV_NONE) {
        remember(l, u->value, l->nframes == 1 ? at : t->e.linear, result);
        add_graph_node(l, u->node);
      }
      l->nframes--;
      if (l->nframes) {
        t = &l->frames[l->nframes - 1];
        t->arg[t->next++] = result;
      }
    }
  }
  w->mark = l->epoch;
  w->instr = result;
  if (w->port != NV_NONE || w->stored) add_store(l, written_value(l, w), w->port, result, at);
}

/* ---- the iteration space ---- */

static bool has_offset(const nv_instr *x) {
  return x->kind == NV_I_LOAD || x->kind == NV_I_STORE || x->kind == NV_I_INDEX;
}

/* merged[k]: every offset steps through symbols k and k + 1 as through one. */
static void find_merged(lowering *l, bool *merged) {
  nv_ctx *c = l->c;
  nv_dim last = NV_NONE;
  for (uint32_t k = 0; k + 1 < l->nsymbols; k++) merged[k] = k + 1 != l->nkept;
  for (uint32_t i = 0; i < l->k->ninstrs; i++) {
    const nv_instr *x = &l->k->instrs[i];
    if (!has_offset(x) || x->offset == last) continue;
    last = x->offset;
    nv_dim coefficient[NV_MAX_RANK], rest;
    bool linear[NV_MAX_RANK];
    for (uint32_t k = 0; k < l->nsymbols; k++) linear[k] = nv_dim_slope(c, last, l->symbol[k], &coefficient[k], &rest);
    for (uint32_t k = 0; k + 1 < l->nsymbols; k++)
      if (merged[k] && (!linear[k] || !linear[k + 1] ||
                        coefficient[k] != nv_dim_mul(c, coefficient[k + 1], l->extent[k + 1])))
        merged[k] = false;
  }
}

typedef struct axis { /* of the merged space */
  nv_dim extent;
  nv_dim to; /* its symbol in terms of the kernel's */
} axis;

/* Axes [from, to) as digits of one symbol. */
static void make_digits(nv_ctx *c, axis *axes, uint32_t from, uint32_t to, nv_dim symbol) {
  nv_dim dims[NV_MAX_RANK] = {0}, at[NV_MAX_RANK];
  for (uint32_t k = from; k < to; k++) dims[k - from] = axes[k].extent;
  nv_split_index(c, symbol, dims, to - from, at);
  for (uint32_t k = from; k < to; k++) axes[k].to = at[k - from];
}

static nv_dim product(nv_ctx *c, const axis *axes, uint32_t from, uint32_t to) {
  nv_dim r = NV_DIM_ONE;
  for (uint32_t k = from; k < to; k++) r = nv_dim_mul(c, r, axes[k].extent);
  return r;
}

/* Must it be cut in two? An open extent never is: a guard keeps it below the limit. */
static bool is_longer(nv_ctx *c, nv_dim extent, int64_t *size) {
  return nv_dim_is_const(c, extent, size) && *size > MOST;
}

/* Maps the axes to at most three grid dims: the outer ones share the first; one longer than the grid's limit is cut
 * into two, its last row guarded. */
static void map_to_grid(lowering *l, axis *axes, uint32_t n) {
  static const char *const names[] = {"x", "y", "z"};
  nv_ctx *c = l->c;
  nv_kernel *k = l->k;
  uint32_t lead = n > 3 ? n - 2 : n > 0; /* axes that share the first dim */
  int64_t e;
  bool longer = is_longer(c, product(c, axes, 0, lead), &e);
  for (uint32_t i = lead; i < n; i++) longer = longer || is_longer(c, axes[i].extent, &e);
  if (longer && n >= 3) lead = n - 1;
  uint32_t rank = 0, cut = NV_NONE; /* dim cut + 1 is the inner half of dim cut */
  for (uint32_t i = 0; i < n; i = i ? i + 1 : lead) {
    nv_dim extent = i ? axes[i].extent : product(c, axes, 0, lead);
    if (is_longer(c, extent, &e)) {
      cut = rank;
      k->extent[rank++] = nv_dim_const(c, (e + INNER - 1) / INNER);
      extent = nv_dim_const(c, INNER);
    }
    k->extent[rank++] = extent;
  }
  k->rank = rank;
  for (uint32_t d = 0; d < rank; d++)
    k->symbol[d] = nv_index_symbol_of(c, names[rank - 1 - d], NV_NONE, k->extent[d]);
  for (uint32_t i = 0, d = 0; i < n; i = i ? i + 1 : lead, d++) {
    const nv_dim extent = i ? axes[i].extent : product(c, axes, 0, lead);
    nv_dim s = k->symbol[d];
    if (d == cut) {
      s = nv_dim_add(c, nv_dim_mul(c, s, nv_dim_const(c, INNER)), k->symbol[++d]);
      k->guarded = nv_dim_value(c, extent) % INNER != 0;
      k->guard = s;
      k->limit = extent;
    }
    if (i) axes[i].to = s;
    else make_digits(c, axes, 0, lead, s);
  }
}

static void map_reduction(lowering *l, axis *axes, uint32_t n, uint32_t kept) {
  nv_ctx *c = l->c;
  nv_kernel *k = l->k;
  nv_dim points = product(c, axes, 0, kept), elements = product(c, axes, kept, n);
  int64_t size;
  if (is_longer(c, points, &size))
    nv_raise(c, NUVECC_SPEC, "not supported yet: a reduction with more than 2^30 results");
  k->rank = 1;
  k->extent[0] = points;
  k->symbol[0] = nv_index_symbol_of(c, "p", NV_NONE, points);
  k->reduce_extent = elements;
  k->reduce_symbol = nv_index_symbol_of(c, "e", NV_NONE, elements);
  make_digits(c, axes, 0, kept, k->symbol[0]);
  make_digits(c, axes, kept, n, k->reduce_symbol);
}

static void map_space(lowering *l) {
  nv_ctx *c = l->c;
  bool merged[NV_MAX_RANK];
  axis axes[NV_MAX_RANK];
  uint32_t n = 0, kept = 0, of[NV_MAX_RANK];
  nv_dim to[NV_MAX_RANK];
  find_merged(l, merged);
  for (uint32_t k = 0; k < l->nsymbols; k++) {
    if (k == l->nkept) kept = n;
    if (k > 0 && merged[k - 1]) axes[n - 1].extent = nv_dim_mul(c, axes[n - 1].extent, l->extent[k]);
    else axes[n++].extent = l->extent[k];
    of[k] = n - 1;
  }
  if (l->nkept == l->nsymbols) kept = n;
  if (l->k->kind != NV_K_MAP) map_reduction(l, axes, n, kept);
  else map_to_grid(l, axes, n);
  for (uint32_t k = 0; k < l->nsymbols; k++)
    to[k] = k + 1 < l->nsymbols && merged[k] ? NV_DIM_ZERO : axes[of[k]].to;
  nv_dim from = NV_NONE, into = NV_NONE;
  for (uint32_t i = 0; i < l->k->ninstrs; i++) {
    nv_instr *x = &l->k->instrs[i];
    if (!has_offset(x)) continue;
    if (x->offset != from) {
      from = x->offset;
      into = nv_dim_replace(c, from, l->symbol, to, l->nsymbols);
    }
    x->offset = into;
  }
}

/* ---- the rest of a kernel ---- */

static int compare_stores(const void *a, const void *b) {
  const store *x = a, *y = b;
  if (x->port != y->port) return x->port < y->port ? -1 : 1;
  return x->number < y->number ? -1 : x->number > y->number;
}

static int compare_ids(const void *a, const void *b) {
  uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
  return (x > y) - (x < y);
}

/* What slices leave of the operands. */
static void count_elements(lowering *l) {
  nv_kernel *k = l->k;
  int64_t extents[NV_MAX_RANK];
  bool closed = true;
  for (uint32_t i = 0; i < l->nsymbols; i++) closed = closed && nv_dim_is_const(l->c, l->extent[i], &extents[i]);
  for (uint32_t i = 0; i < k->noperands; i++) {
    reach *r = &l->reaches[i];
    nv_operand_rec *o = &k->operands[i];
    if (!r->whole && !closed) o->elements = -1;
    if (!r->whole && o->elements >= 0) {
      int64_t n = nv_count_touched(l->c, nv_shape_at(l->g, o->value), r->at, r->n, l->symbol, extents, l->nsymbols);
      if (nv_add64(n, r->picked, &n) && n < o->extent) o->elements = n;
    }
    nv_drop(l->c, r->at);
  }
  nv_drop(l->c, l->reaches);
}

static void end_kernel(lowering *l) {
  nv_kernel *k = l->k;
  count_elements(l);
  map_space(l);
  if (l->nstores) qsort(l->stores, l->nstores, sizeof *l->stores, compare_stores);
  for (uint32_t s = 0; s < l->nstores; s++) {
    const store *x = &l->stores[s];
    const nv_shape shape = nv_shape_at(l->g, x->value);
    NV_GROW(l->c, k->operands, k->operands_cap, (size_t)k->noperands + 1);
    k->instrs[x->instr].operand = k->noperands;
    k->operands[k->noperands++] = (nv_operand_rec){.value = x->value,
                                                   .dtype = (uint8_t)nv_dtype_of(l->g, x->value),
                                                   .written = true,
                                                   .port = x->port,
                                                   .elements = known_count(l, shape),
                                                   .extent = nv_shape_most(l->c, shape)};
  }
  if (k->nnodes) qsort(k->nodes, k->nnodes, sizeof *k->nodes, compare_ids);
  uint32_t n = 0;
  for (uint32_t i = 0; i < k->nnodes; i++)
    if (n == 0 || k->nodes[n - 1] != k->nodes[i]) k->nodes[n++] = k->nodes[i];
  k->nnodes = n;
  k->live = nv_kernel_live(l->c, k);
  nv_drop(l->c, l->frames);
  nv_drop(l->c, l->stores);
  nv_drop(l->c, l->elements);
}

static lowering start(nv_fuser *f, nv_kernel *k, nv_kernel_kind kind) {
  k->kind = kind;
  f->epoch++;
  f->nmemo = 0;
  return (lowering){.f = f, .c = f->c, .g = f->g, .k = k, .epoch = f->epoch, .scope = f->epoch};
}

/* Makes the axes of shape that aren't 1, and have this flag, the space's next ones. */
static void add_axes(lowering *l, nv_element *e, const bool *flags, bool flag) {
  const nv_dim *dims = nv_shape_dims(l->c, e->shape);
  uint32_t n = nv_shape_rank(l->c, e->shape);
  for (uint32_t k = 0; k < n; k++) {
    if (flags[k] != flag) continue;
    e->at[k] = NV_DIM_ZERO;
    if (dims[k] == NV_DIM_ONE) continue;
    l->extent[l->nsymbols] = dims[k];
    e->at[k] = l->symbol[l->nsymbols] = nv_index_symbol_of(l->c, "t", l->nsymbols, dims[k]);
    l->nsymbols++;
  }
}

/* The linear index of an element from its place on every axis. */
static nv_dim linear_of(nv_ctx *c, const nv_element *e) {
  return nv_join_index(c, e->at, nv_shape_dims(c, e->shape), nv_shape_rank(c, e->shape));
}

/* The items' elements: of few orders and shapes, so they are kept. */
static const nv_element *element_of(lowering *l, uint32_t item, uint32_t root_order, const nv_element *root) {
  uint32_t order;
  const nv_item *w = &l->f->items[item];
  nv_shape shape = nv_shape_at(l->g, w->kind == NV_ITEM_REDUCE ? l->f->edges[w->edges].operand : w->value);
  nv_space(l->f, item, &order);
  for (uint32_t k = 0; k < l->nelements; k++)
    if (l->elements[k].order == order && l->elements[k].e.shape == shape) return &l->elements[k].e;
  nv_element e;
  if (order == root_order) {
    e = nv_reshaped(l->c, root, shape);
  } else {
    uint32_t back = nv_order_inverse(l->f, root_order), both = nv_order_then(l->f, back, order);
    e = (nv_element){.shape = shape};
    e.linear = both != NV_NONE ? nv_follow_order(l->f, both, root->linear)
                               : nv_follow_order(l->f, order, nv_follow_order(l->f, back, root->linear));
  }
  NV_GROW(l->c, l->elements, l->elements_cap, (size_t)l->nelements + 1);
  l->elements[l->nelements] = (known){order, e};
  return &l->elements[l->nelements++].e;
}

void nv_lower_map(nv_fuser *f, const uint32_t *items, uint32_t n, nv_kernel *k) {
  lowering l = start(f, k, NV_K_MAP);
  uint32_t root = items[0], most = 0;
  for (uint32_t i = 0; i < n; i++) { /* the shape with most axes spares divisions */
    const nv_shape shape = nv_shape_at(l.g, f->items[items[i]].value);
    uint32_t rank = nv_shape_rank(l.c, shape), real = 0;
    for (uint32_t d = 0; d < rank; d++) real += nv_shape_dims(l.c, shape)[d] != NV_DIM_ONE;
    if (real > most) root = items[i], most = real;
  }
  uint32_t order;
  nv_space(f, root, &order);
  bool all[NV_MAX_RANK] = {0};
  nv_element e = {.shape = nv_shape_at(l.g, f->items[root].value), .split = true};
  add_axes(&l, &e, all, false);
  l.nkept = l.nsymbols;
  e.linear = linear_of(l.c, &e);
  for (uint32_t i = 0; i < n; i++) {
    nv_element at = *element_of(&l, items[i], order, &e);
    compute(&l, items[i], &at, at.linear);
  }
  end_kernel(&l);
}

/* Items that run once a point, [from, n) of them. */
static void compute_points(lowering *l, const uint32_t *items, uint32_t from, uint32_t n) {
  for (uint32_t i = from; i < n; i++) {
    if (l->f->items[items[i]].row == NV_NONE && l->f->items[items[i]].reduction == NV_NONE) continue;
    nv_element at = {.shape = nv_shape_at(l->g, l->f->items[items[i]].value), .linear = l->point};
    compute(l, items[i], &at, l->point);
  }
}

/* Symbols of points and of reduced elements from an array's shape. */
static void add_points(lowering *l, nv_element *e, const bool *reduced) {
  add_axes(l, e, reduced, false);
  l->nkept = l->nsymbols;
  l->point = nv_join_index(l->c, l->symbol, l->extent, l->nkept);
  add_axes(l, e, reduced, true);
  e->linear = linear_of(l->c, e);
}

void nv_lower_reduce(nv_fuser *f, const uint32_t *items, uint32_t n, nv_kernel *k) {
  lowering l = start(f, k, NV_K_REDUCE);
  const nv_item *r = &f->items[items[0]];
  bool reduced[NV_MAX_RANK] = {0};
  for (uint32_t a = 1; a < nv_attr_count(l.c, r->attr); a++) reduced[nv_attr_list(l.c, r->attr)[a]] = true;
  nv_element e = {.shape = nv_shape_at(l.g, f->edges[r->edges].operand), .split = true};
  add_points(&l, &e, reduced);
  k->reduce_op = (nv_op)r->op;
  compute(&l, items[0], &e, l.point);
  l.scope = ++f->epoch;
  compute_points(&l, items, 1, n);
  end_kernel(&l);
}

/* An element of rows of length: of an item's shape whose innermost axes make up a row, else by its linear index. */
static nv_element row_element(lowering *l, const uint32_t *items, uint32_t n, uint32_t top) {
  nv_fuser *f = l->f;
  const int64_t length = f->items[top].row_length;
  nv_dim count = NV_DIM_ONE, known_length = nv_dim_const(l->c, length);
  nv_element e = {.split = true};
  for (uint32_t pass = 0; pass < 2; pass++) { /* reductions first */
    for (uint32_t i = 0; i < n; i++) {
      const nv_item *w = &f->items[items[i]];
      nv_value v = w->kind == NV_ITEM_REDUCE ? f->edges[w->edges].operand : w->value;
      uint32_t order;
      if (w->row != NV_NONE || (w->kind == NV_ITEM_REDUCE) == (pass == 1)) continue;
      nv_space(f, items[i], &order);
      e.shape = nv_shape_at(l->g, v);
      count = nv_shape_elements(l->c, e.shape);
      int64_t inner = 1, size;
      bool reduced[NV_MAX_RANK] = {0};
      uint32_t k = nv_shape_rank(l->c, e.shape);
      while (k && inner < length && nv_dim_is_const(l->c, nv_shape_dims(l->c, e.shape)[k - 1], &size))
        inner *= size, reduced[--k] = true;
      if (inner != length || order != f->items[top].row_order) continue;
      add_points(l, &e, reduced);
      return e;
    }
  }
  l->extent[0] = nv_dim_floordiv(l->c, count, known_length);
  l->extent[1] = known_length;
  for (uint32_t k = 0; k < 2; k++) l->symbol[k] = nv_index_symbol_of(l->c, "t", k, l->extent[k]);
  l->nsymbols = 2;
  l->nkept = 1;
  l->point = l->symbol[0];
  e.split = false;
  e.linear = nv_join_index(l->c, l->symbol, l->extent, 2);
  return e;
}

/* Items that run once a row, alone: a thread each. */
static void lower_points(nv_fuser *f, const uint32_t *items, uint32_t n, nv_kernel *k) {
  lowering l = start(f, k, NV_K_MAP);
  const bool all[NV_MAX_RANK] = {0};
  nv_element e = {.shape = nv_shape_at(l.g, f->items[items[0]].value), .split = true};
  add_points(&l, &e, all);
  l.point = e.linear;
  for (uint32_t i = 0; i < n; i++) {
    nv_element at = nv_reshaped(l.c, &e, nv_shape_at(l.g, f->items[items[i]].value));
    compute(&l, items[i], &at, l.point);
  }
  end_kernel(&l);
}

void nv_lower_rows(nv_fuser *f, const uint32_t *items, uint32_t n, nv_kernel *k) {
  uint32_t nreductions = 0, npoints = 0, reduction = NV_NONE, top = NV_NONE, first_point = NV_NONE;
  bool written = false; /* an element is */
  for (uint32_t i = 0; i < n; i++) {
    const nv_item *w = &f->items[items[i]];
    if (top == NV_NONE) top = nv_row_of(f, items[i]);
    if (w->kind == NV_ITEM_REDUCE) {
      nreductions++;
      reduction = items[i];
    } else if (w->row != NV_NONE) {
      npoints++;
      if (items[i] < first_point) first_point = items[i];
    } else {
      written = written || w->port != NV_NONE || w->stored;
    }
  }
  if (top == NV_NONE) {
    nv_lower_map(f, items, n, k);
    return;
  }
  if (npoints == n) {
    lower_points(f, items, n, k);
    return;
  }
  bool single = nreductions == 1 && !written && first_point > reduction; /* elements, the reduction, points */
  lowering l = start(f, k, single ? NV_K_REDUCE : NV_K_ROWS);
  nv_element e = row_element(&l, items, n, top);
  for (uint32_t i = 0; i < n; i++) {
    const nv_item *w = &f->items[items[i]];
    if (w->row != NV_NONE) {
      if (!single) compute_points(&l, items, i, i + 1);
      continue;
    }
    nv_element at = *element_of(&l, items[i], f->items[top].row_order, &e);
    compute(&l, items[i], &at, w->kind == NV_ITEM_REDUCE ? l.point : at.linear);
  }
  if (single) {
    k->reduce_op = (nv_op)f->items[reduction].op;
    l.scope = ++f->epoch;
    compute_points(&l, items, 0, n);
  }
  end_kernel(&l);
}

void nv_lower_fold(nv_fuser *f, const uint32_t *items, uint32_t n, nv_kernel *k) {
  lowering l = start(f, k, NV_K_MAP);
  const nv_item *w = &f->items[items[0]];
  const uint32_t along = (uint32_t)nv_attr_list(l.c, w->attr)[0];
  bool all[NV_MAX_RANK] = {0};
  int64_t updates;
  nv_element e = {.shape = nv_shape_at(l.g, w->value), .split = true};
  add_axes(&l, &e, all, false);
  l.nkept = l.nsymbols;
  e.linear = linear_of(l.c, &e);
  l.target = e.at[along];
  l.update = (nv_element){.shape = nv_shape_at(l.g, f->edges[w->edges + 2].operand), .split = true};
  k->folds = true;
  k->reduce_op = (nv_op)(w->op == NV_OP_fold_runs ? nv_attr_list(l.c, w->attr)[1] : w->op);
  k->reduce_extent = nv_shape_dims(l.c, l.update.shape)[0];
  if (is_longer(l.c, k->reduce_extent, &updates))
    nv_raise(l.c, NUVECC_SPEC, "not supported yet: more than 2^30 updates");
  k->reduce_symbol = l.update.at[0] = nv_index_symbol_of(l.c, "u", NV_NONE, k->reduce_extent);
  for (uint32_t i = 0, at = 1; i < nv_shape_rank(l.c, e.shape); i++)
    if (i != along) l.update.at[at++] = e.at[i];
  l.update.linear = linear_of(l.c, &l.update);
  compute(&l, items[0], &e, e.linear);
  l.scope = ++f->epoch;
  for (uint32_t i = 1; i < n; i++) {
    nv_element at = {.shape = nv_shape_at(l.g, f->items[items[i]].value), .linear = e.linear};
    compute(&l, items[i], &at, e.linear);
  }
  end_kernel(&l);
}

void nv_lower_scan(nv_fuser *f, const uint32_t *items, uint32_t n, nv_kernel *k) {
  lowering l = start(f, k, NV_K_SCAN);
  const nv_item *s = &f->items[items[0]];
  const int64_t *attr = nv_attr_list(l.c, s->attr);
  const uint32_t scanned = (uint32_t)attr[0];
  bool along[NV_MAX_RANK] = {0};
  nv_element e = {.shape = nv_shape_at(l.g, f->edges[s->edges].operand), .split = true};
  nv_dim dims[NV_MAX_RANK];
  const uint32_t rank = nv_shape_rank(l.c, e.shape);
  memcpy(dims, nv_shape_dims(l.c, e.shape), rank * sizeof *dims);
  const int64_t length = nv_dim_value(l.c, dims[scanned]);
  nv_scan *scan = &k->scan;
  k->reduce_op = (nv_op)(s->op == NV_OP_scan_totals || s->op == NV_OP_scan_blocks ? attr[3] : s->op);
  scan->part = s->op == NV_OP_scan_totals   ? NV_SCAN_TOTALS
               : s->op == NV_OP_scan_blocks ? NV_SCAN_BLOCKS
                                            : NV_SCAN_WHOLE;
  scan->reverse = attr[1] != 0;
  scan->exclusive = attr[2] != 0;
  const nv_shape inner = nv_shape_make(l.c, dims + scanned + 1, rank - scanned - 1);
  scan->columns = nv_scan_is_columns(length, nv_shape_weight(l.c, inner));
  along[scanned] = true;
  add_axes(&l, &e, along, false);
  l.nkept = l.nsymbols;
  add_axes(&l, &e, along, true);
  e.linear = linear_of(l.c, &e);
  nv_dim to = e.linear;
  if (scan->part != NV_SCAN_WHOLE) {
    const int64_t totals = (length - 1) / NV_SCAN_BLOCK;
    dims[scanned] = nv_dim_const(l.c, totals);
    scan->blocks = totals + (scan->part == NV_SCAN_BLOCKS);
    scan->block = nv_index_symbol_of(l.c, "block", NV_NONE, nv_dim_const(l.c, scan->blocks));
    scan->before = nv_index_symbol_of(l.c, "before", NV_NONE, dims[scanned]);
    nv_dim at[NV_MAX_RANK];
    memcpy(at, e.at, rank * sizeof *at);
    at[scanned] = scan->part == NV_SCAN_TOTALS ? scan->block : scan->before;
    l.before = (nv_element){.shape = nv_shape_make(l.c, dims, rank), .linear = nv_join_index(l.c, at, dims, rank)};
    if (scan->part == NV_SCAN_TOTALS) to = l.before.linear;
  }
  compute(&l, items[0], &e, to);
  l.scope = ++f->epoch;
  for (uint32_t i = 1; i < n; i++) {
    nv_element at = {.shape = nv_shape_at(l.g, f->items[items[i]].value), .linear = e.linear};
    compute(&l, items[i], &at, e.linear);
  }
  end_kernel(&l);
}

uint32_t nv_kernel_statements(const nv_kernel *k) {
  uint32_t n = 0;
  for (uint32_t i = 0; i < k->ninstrs; i++) n += !nv_is_inline(&k->instrs[i]);
  return n;
}

void nv_kernel_drop(nv_ctx *c, nv_kernel *k) {
  nv_drop(c, k->instrs);
  nv_drop(c, k->operands);
  nv_drop(c, k->nodes);
}
