/* simplify.c - the simplifier: merging, folding and the dropping of views that change nothing, in one walk.
 *
 * Nodes are made again in their order, each through nv_simplify_make(), which rewrites it by its operands' new nodes
 * and then looks for an equal one (views: simplify_view.c). What it returns satisfies every rule, so a second run finds
 * nothing to do. */
#include "../ir/eval.h"
#include "../ir/sizes.h"
#include "simplify.h"

typedef nv_simplifier walk;
typedef nv_form form;

/* ---- equal nodes ---- */

/* The first result of the node that f describes: an equal older one, or a new one. */
static nv_value find_or_add(walk *w, const form *f) {
  nv_graph *g = w->g;
  if (nv_ops[f->op].flags & NV_NO_CSE) {
    return nv_graph_add(g, f->op, f->operands, f->n, f->attr, f->dtype, f->shape, f->origin);
  }
  uint32_t key[5 + NV_MAX_OPERANDS] = {(uint32_t)f->op, f->attr, (uint32_t)f->dtype, f->shape, f->n};
  memcpy(key + 5, f->operands, f->n * sizeof *key);
  uint64_t hash = nv_hash(key, (5 + f->n) * sizeof *key, 1);
  uint32_t at = 0;
  for (uint32_t k; (k = nv_map_next(&w->seen, hash, &at)) != NV_NONE;) {
    const nv_node_rec *n = &g->nodes[k];
    if (n->op == f->op && n->attr == f->attr && n->noperands == f->n && nv_dtype_of(g, n->result) == f->dtype &&
        nv_shape_at(g, n->result) == f->shape &&
        (f->n == 0 || !memcmp(g->pool + n->operands, f->operands, f->n * sizeof *f->operands)))
      return n->result;
  }
  nv_value v = nv_graph_add(g, f->op, f->operands, f->n, f->attr, f->dtype, f->shape, f->origin);
  nv_map_add(w->c, &w->seen, hash, g->values[v].node);
  return v;
}

/* ---- folding ---- */

/* A float whose arithmetic may differ between devices that keep subnormals and devices that flush them: a subnormal, or
 * the smallest normal number, which a device that flushes before rounding may miss. */
static bool is_tiny(nv_dtype d, uint64_t bits) {
  switch (d) {
  case NV_F32: return (bits & 0x7fffffffu) != 0 && (bits & 0x7fffffffu) <= 0x00800000u;
  case NV_BF16: return (bits & 0x7fffu) != 0 && (bits & 0x7fffu) <= 0x0080u;
  case NV_F16: return (bits & 0x7fffu) != 0 && (bits & 0x7fffu) <= 0x0400u;
  default: return false;
  }
}

static bool is_nan(nv_dtype d, uint64_t bits) {
  float x = nv_bits_to_f32(d, bits);
  return nv_is(d, NV_BITS_FLOAT) && x != x;
}

/* Is the conversion of a float to an integer dtype in range, before which all devices agree? */
static bool in_range(nv_dtype from, nv_dtype to, uint64_t bits) {
  if (!nv_is(from, NV_BITS_FLOAT) || !nv_is(to, NV_BITS_INT)) return true;
  double x = (double)nv_bits_to_f32(from, bits), half = 1;
  for (int k = 1; k < nv_dtype_size[to] * 8; k++) half *= 2;
  return nv_is(to, NV_BITS_SIGNED) ? x > -half - 1 && x < half : x > -1 && x < 2 * half;
}

/* Computes f where all operands are constants or repeat one, in a way that every device rounds alike. */
static bool fold(walk *w, const form *f, uint64_t *bits) {
  const nv_graph *g = w->g;
  nv_dtype dtypes[NV_MAX_OPERANDS];
  uint64_t values[NV_MAX_OPERANDS];
  if (!(nv_ops[f->op].flags & NV_EXACT) || f->dtype == NV_C64 || f->n == 0) return false;
  for (uint32_t k = 0; k < f->n; k++) {
    nv_value v = nv_repeated_const(g, f->operands[k]);
    if (v == NV_NONE) return false;
    dtypes[k] = nv_dtype_of(g, v);
    values[k] = (uint64_t)nv_attr_list(w->c, nv_node_of(g, v)->attr)[0];
    if (dtypes[k] == NV_C64 || is_tiny(dtypes[k], values[k])) return false;
  }
  if (f->op == NV_OP_astype) {
    if (!in_range(dtypes[0], f->dtype, values[0])) return false;
    *bits = nv_convert(dtypes[0], f->dtype, values[0], false);
    if (*bits != nv_convert(dtypes[0], f->dtype, values[0], true)) return false;
  } else {
    *bits = nv_eval_scalar(f->op, dtypes, f->dtype, values, f->n, false);
    if (*bits != nv_eval_scalar(f->op, dtypes, f->dtype, values, f->n, true)) return false;
  }
  return !is_tiny(f->dtype, *bits) && !is_nan(f->dtype, *bits);
}

static nv_value add_const(walk *w, nv_dtype dtype, uint64_t bits, uint32_t origin) {
  int64_t list = (int64_t)bits;
  form k = {.op = NV_OP_CONST, .attr = nv_attr_make(w->c, &list, 1), .dtype = dtype,
            .shape = nv_shape_make(w->c, NULL, 0), .origin = origin};
  return find_or_add(w, &k);
}

/* ---- nodes ---- */

static bool reduces_nothing(nv_ctx *c, const form *f, nv_shape from) {
  const int64_t *attr = nv_attr_list(c, f->attr);
  uint32_t n = nv_attr_count(c, f->attr);
  if (nv_ops[f->op].dtype == NV_DT_MEAN) return n == 1; /* over no axes; over axes of size 1 it is computed */
  for (uint32_t k = 1; k < n; k++)
    if (!nv_is_one(c, nv_shape_dims(c, from)[attr[k]])) return false;
  return true;
}

/* One rewriting of f. True: f changed, or *v is the result. */
static bool rewrite(walk *w, form *f, nv_value *v) {
  nv_ctx *c = w->c;
  nv_graph *g = w->g;
  nv_value x = f->operands[0];
  uint64_t bits;
  switch (nv_ops[f->op].cls) {
  case NV_VIEW: return nv_simplify_view(w, f, v);
  case NV_PICK: /* from a buffer: what no buffer holds is copied to one */
    if (nv_repeated_const(g, x) == NV_NONE) return false;
    {
      nv_form copy = {.op = NV_OP_copy, .operands = {x}, .n = 1, .dtype = f->dtype, .shape = nv_shape_at(g, x),
                      .origin = f->origin};
      f->operands[0] = find_or_add(w, &copy);
    }
    return true;
  case NV_ELEM:
    if (f->op == NV_OP_stop_gradient || (nv_ops[f->op].dtype == NV_DT_ATTR && f->dtype == nv_dtype_of(g, x))) {
      *v = x;
      return true;
    }
    if (fold(w, f, &bits)) {
      nv_form_become(f, NV_OP_broadcast_to, add_const(w, f->dtype, bits, f->origin));
      f->n = 1;
      return true;
    }
    if ((nv_ops[f->op].flags & NV_COMMUTES) && f->operands[0] > f->operands[1]) {
      f->operands[0] = f->operands[1];
      f->operands[1] = x;
    }
    return false;
  case NV_REDUCE:
    if (!reduces_nothing(c, f, nv_shape_at(g, x))) return false;
    if (f->dtype != nv_dtype_of(g, x)) {
      int64_t to = f->dtype;
      form convert = {.op = NV_OP_astype, .operands = {x}, .n = 1, .attr = nv_attr_make(c, &to, 1), .dtype = f->dtype,
                      .shape = nv_shape_at(g, x), .origin = f->origin};
      x = nv_simplify_make(w, &convert);
    }
    nv_form_become(f, NV_OP_reshape, x);
    return true;
  default: return false;
  }
}

/* Every rewriting leads to a view, a constant or an older operand, so this ends. */
nv_value nv_simplify_make(walk *w, form *f) {
  nv_value v = NV_NONE;
  while (rewrite(w, f, &v))
    if (v != NV_NONE) return v;
  return find_or_add(w, f);
}

/* ---- the walk ---- */

/* Nodes that an output depends on. */
static bool *live_nodes(const nv_graph *g) {
  bool *live = NV_NEW_N(g->c, bool, (size_t)g->nnodes + 1);
  for (uint32_t k = 0; k < g->noutputs; k++) live[g->values[g->outputs[k].value].node] = true;
  for (uint32_t k = g->nnodes; k-- > 0;) {
    if (!live[k]) continue;
    const nv_node_rec *n = &g->nodes[k];
    for (uint32_t i = 0; i < n->noperands; i++) live[g->values[nv_operand(g, n, i)].node] = true;
  }
  return live;
}

static nv_graph *rebuild(const nv_graph *from, const bool *live, bool rules) {
  nv_ctx *c = from->c;
  walk w = {.c = c, .g = nv_graph_new(c, from->name)};
  nv_graph *g = w.g;
  nv_graph_share_origins(g, from);
  uint32_t cap = 0;
  nv_value *map = nv_grow(c, NULL, &cap, (size_t)from->nvalues + 1, sizeof *map);
  for (uint32_t k = 0; k < from->ninputs; k++) {
    const nv_port *p = &from->inputs[k];
    map[p->value] = nv_graph_input(g, p->name, nv_dtype_of(from, p->value), nv_shape_at(from, p->value), p->pos);
  }
  for (uint32_t k = 0; k < from->nnodes; k++) {
    const nv_node_rec *n = &from->nodes[k];
    if (!live[k] || n->op == NV_OP_INPUT) continue;
    form f = {.op = (nv_op)n->op, .n = n->noperands, .attr = n->attr, .dtype = nv_dtype_of(from, n->result),
              .shape = nv_shape_at(from, n->result), .origin = n->origin};
    if (f.n > NV_MAX_OPERANDS) nv_bug(c, "%s has %u operands", nv_ops[f.op].name, (unsigned)f.n);
    for (uint32_t i = 0; i < f.n; i++) f.operands[i] = map[nv_operand(from, n, i)];
    nv_value v = rules ? nv_simplify_make(&w, &f)
                       : nv_graph_add(g, f.op, f.operands, f.n, f.attr, f.dtype, f.shape, f.origin);
    for (uint32_t i = 0; i < nv_op_results(f.op); i++) map[n->result + i] = v + i;
  }
  for (uint32_t k = 0; k < from->noutputs; k++) {
    const nv_port *p = &from->outputs[k];
    nv_graph_output(g, map[p->value], p->name, p->pos);
  }
  if (from->nsources) {
    NV_GROW(c, g->sources, g->sources_cap, from->nsources);
    memcpy(g->sources, from->sources, from->nsources * sizeof *g->sources);
    g->nsources = from->nsources;
  }
  for (uint32_t k = 0; k < from->nguards; k++) {
    const nv_guard *guard = &from->guards[k];
    nv_graph_guard(g, guard->relation, guard->a, guard->b, guard->origin);
  }
  nv_drop(c, map);
  nv_map_drop(c, &w.seen);
  return g;
}

/* Input nodes stay: they are ports. */
nv_graph *nv_drop_dead(const nv_graph *g) { return rebuild(g, live_nodes(g), false); }

nv_graph *nv_simplify(const nv_graph *g) {
  nv_graph *r = rebuild(g, live_nodes(g), true);
  bool *live = live_nodes(r), dead = false;
  for (uint32_t k = 0; k < r->nnodes && !dead; k++) dead = !live[k] && r->nodes[k].op != NV_OP_INPUT;
  if (!dead) return r;
  nv_graph *kept = rebuild(r, live, false);
  nv_drop(g->c, r->nodes);
  nv_drop(g->c, r->values);
  nv_drop(g->c, r->pool);
  return kept;
}
