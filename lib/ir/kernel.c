/* kernel.c - plans as text for people and tests, and as Graphviz. */
#include "data.h"
#include "kernel.h"
#include "sizes.h"

#include <inttypes.h>

void nv_kernel_rates(nv_ctx *c, const nv_kernel *k, bool *each) {
  for (uint32_t n = 0; n < k->ninstrs; n++) {
    const nv_instr *i = &k->instrs[n];
    const bool indexed = i->kind == NV_I_LOAD || i->kind == NV_I_STORE || i->kind == NV_I_INDEX;
    each[n] = indexed && nv_dim_uses(c, i->offset, k->reduce_symbol);
    const bool passes_on = i->kind == NV_I_OP || i->kind == NV_I_LOAD; /* an index that is picked by */
    for (uint32_t a = 0; passes_on && a < i->nargs; a++) each[n] = each[n] || each[i->arg[a]];
  }
}

uint32_t nv_kernel_live(nv_ctx *c, const nv_kernel *k) {
  uint32_t cap = 0, live = 0, most = 0;
  uint32_t *last_use = nv_grow(c, NULL, &cap, (size_t)k->ninstrs + 1, sizeof *last_use);
  for (uint32_t i = 0; i < k->ninstrs; i++) {
    last_use[i] = i;
    for (uint32_t a = 0; a < k->instrs[i].nargs; a++) last_use[k->instrs[i].arg[a]] = i;
  }
  for (uint32_t i = 0; i < k->ninstrs; i++) {
    const nv_instr *x = &k->instrs[i];
    for (uint32_t a = 0; a < x->nargs; a++) {
      bool again = nv_is_inline(&k->instrs[x->arg[a]]) || last_use[x->arg[a]] != i;
      for (uint32_t b = 0; b < a; b++) again = again || x->arg[b] == x->arg[a];
      live -= !again;
    }
    live += !nv_is_inline(x) && x->kind != NV_I_STORE && last_use[i] > i;
    if (most < live) most = live;
  }
  nv_drop(c, last_use);
  return most;
}

static void put_instr(nv_buf *b, const nv_plan *p, const nv_kernel *k, uint32_t n) {
  const nv_instr *i = &k->instrs[n];
  const nv_graph *g = p->graph;
  nv_puts(b, "  ");
  if (i->kind == NV_I_STORE) {
    nv_printf(b, "store b%u[", i->operand);
    nv_put_dim(b, i->offset);
    nv_printf(b, "] = v%u\n", i->arg[0]);
    return;
  }
  nv_printf(b, "v%u = ", n);
  switch (i->kind) {
  case NV_I_CONST: nv_printf(b, "const 0x%0*" PRIx64, 2 * nv_dtype_size[i->dtype], i->bits); break;
  case NV_I_SIZE:
    nv_puts(b, "size ");
    nv_put_size(b, i->attr);
    break;
  case NV_I_INDEX:
    nv_puts(b, "index [");
    nv_put_dim(b, i->offset);
    nv_putc(b, ']');
    break;
  case NV_I_LOAD:
    if (i->nargs && i->op != NV_OP_pick) nv_printf(b, "%s in ", nv_ops[i->op].name);
    nv_printf(b, "load b%u[", i->operand);
    nv_put_dim(b, i->offset);
    if (i->nargs) nv_printf(b, " + v%u * ", i->arg[0]), nv_put_dim(b, i->stride);
    nv_putc(b, ']');
    if (i->nargs && i->checked) nv_printf(b, " where 0 <= v%u < ", i->arg[0]), nv_put_dim(b, i->count);
    break;
  default:
    nv_puts(b, i->kind == NV_I_REDUCE ? "reduce "
               : i->kind == NV_I_SCAN ? "scan "
               : i->kind == NV_I_FOLD ? "fold "
                                      : "");
    nv_puts(b, nv_ops[i->op].name);
    for (uint32_t a = 0; a < i->nargs; a++) nv_printf(b, "%sv%u", a ? ", " : " ", i->arg[a]);
    for (uint32_t a = 0; a < nv_attr_count(b->c, i->attr); a++)
      nv_printf(b, "%s%" PRId64, a ? ", " : " {", nv_attr_list(b->c, i->attr)[a]);
    if (nv_attr_count(b->c, i->attr)) nv_putc(b, '}');
  }
  nv_printf(b, " : %s", nv_dtype_name[i->dtype]);
  if (i->kind == NV_I_CONST) {
    nv_puts(b, "  # ");
    nv_put_const(b, (nv_dtype)i->dtype, i->bits);
  } else if (i->value < g->nvalues && nv_node_of(g, i->value)->origin != NV_NONE) {
    nv_puts(b, "  # ");
    nv_put_origin(b, g, nv_node_of(g, i->value)->origin);
  }
  nv_putc(b, '\n');
}

static void put_operand(nv_buf *b, const nv_plan *p, const nv_kernel *k, uint32_t n) {
  const nv_operand_rec *o = &k->operands[n];
  const nv_shape shape = nv_shape_at(p->graph, o->value);
  nv_printf(b, "  b%u = %%%u : %s%s, ", n, o->value, o->written ? "write " : "", nv_dtype_name[o->dtype]);
  if (o->elements >= 0) nv_printf(b, "%" PRId64 " of ", o->elements);
  nv_put_dim(b, nv_shape_elements(b->c, shape));
  nv_puts(b, " elements");
  if (o->written && o->port != NV_NONE) {
    nv_str name = p->graph->outputs[o->port].name;
    nv_puts(b, ", output ");
    nv_put_json(b, nv_text(b->c, name), nv_text_len(b->c, name));
  }
  nv_putc(b, '\n');
}

static void put_kernel(nv_buf *b, const nv_plan *p, uint32_t n) {
  const nv_kernel *k = &p->kernels[n];
  static const char *const kinds[] = {[NV_K_MAP] = "map", [NV_K_REDUCE] = "reduce", [NV_K_ROWS] = "rows",
                                      [NV_K_SCAN] = "scan"};
  nv_printf(b, "kernel %u %s ", n, kinds[k->kind]);
  nv_putc(b, '[');
  for (uint32_t d = 0; d < k->rank; d++) {
    if (d) nv_puts(b, ", ");
    nv_put_dim(b, k->symbol[d]);
    nv_puts(b, " < ");
    nv_put_dim(b, k->extent[d]);
  }
  nv_putc(b, ']');
  if (k->kind != NV_K_MAP) {
    nv_puts(b, " over ");
    nv_put_dim(b, k->reduce_symbol);
    nv_puts(b, " < ");
    nv_put_dim(b, k->reduce_extent);
  }
  if (k->kind == NV_K_SCAN) {
    static const char *const parts[] = {"", " totals", " blocks"};
    nv_printf(b, " %s%s%s%s", k->scan.columns ? "columns" : "rows", parts[k->scan.part],
              k->scan.reverse ? " reverse" : "", k->scan.exclusive ? " exclusive" : "");
  }
  if (k->guarded) {
    nv_puts(b, " where ");
    nv_put_dim(b, k->guard);
    nv_puts(b, " < ");
    nv_put_dim(b, k->limit);
  }
  if (k->name) nv_printf(b, "  # %s", k->name);
  nv_puts(b, "\n  nodes");
  for (uint32_t i = 0; i < k->nnodes; i++) nv_printf(b, " %u", k->nodes[i]);
  nv_putc(b, '\n');
  for (uint32_t i = 0; i < k->noperands; i++) put_operand(b, p, k, i);
  for (uint32_t i = 0; i < k->ninstrs; i++) put_instr(b, p, k, i);
}

static void put_launch(nv_buf *b, const nv_plan *p, uint32_t n) {
  const nv_launch *l = &p->launches[n];
  static const char *const kinds[] = {"input", "output", "scratch", "data", "table"};
  nv_printf(b, "launch %u kernel %u:", n, l->kernel);
  for (uint32_t i = 0; i < p->kernels[l->kernel].noperands; i++) {
    const nv_place *at = &l->places[i];
    nv_printf(b, "%s %s ", i ? "," : "", kinds[at->kind]);
    if (at->kind == NV_PLACE_SCRATCH && !p->nslots)
      nv_printf(b, "%" PRId64, at->offset);
    else
      nv_printf(b, "%u", at->index);
  }
  nv_puts(b, l->barrier ? "; after a barrier\n" : "\n");
}

void nv_plan_print(nv_buf *b, const nv_plan *p) {
  nv_puts(b, "plan ");
  nv_put_name(b, p->graph->name);
  nv_printf(b, ": %u kernel%s", p->nkernels, p->nkernels == 1 ? "" : "s");
  if (p->scratch_bytes >= 0)
    nv_printf(b,
              ", %" PRId64 " bytes moved of at least %" PRId64 ", scratch %" PRId64 " of at least %" PRId64,
              p->bytes_moved, p->bytes_lower_bound, p->scratch_bytes, p->scratch_bound);
  for (uint32_t k = 0; k < p->nslots; k++) {
    nv_puts(b, k ? ", " : ", scratch ");
    nv_put_dim(b, p->slots[k]);
  }
  nv_putc(b, '\n');
  for (uint32_t k = 0; k < p->nkernels; k++) put_kernel(b, p, k);
  for (uint32_t k = 0; k < p->nlaunches; k++) put_launch(b, p, k);
  for (uint32_t k = 0; k < p->ncuts; k++)
    nv_printf(b, "cut %%%u -> node %u: %s\n", p->cuts[k].value, p->cuts[k].user, p->cuts[k].why);
}

/* ---- Graphviz: a cluster a kernel ---- */

static void put_quoted(nv_buf *b, const char *text) {
  for (; *text; text++) {
    if (*text == '"' || *text == '\\') nv_putc(b, '\\');
    nv_putc(b, *text);
  }
}

static void put_label(nv_buf *b, const nv_plan *p, nv_value v) {
  nv_buf shape;
  nv_buf_init(&shape, b->c);
  nv_put_shape(&shape, nv_shape_at(p->graph, v));
  nv_puts(b, nv_dtype_name[nv_dtype_of(p->graph, v)]);
  put_quoted(b, nv_buf_text(&shape));
  nv_drop(b->c, shape.p);
}

typedef struct dot {
  nv_buf *b;
  const nv_plan *p;
  uint32_t *writer; /* of a value: kernel + 1 */
  bool *held;       /* of a value: its writer's cluster has its node */
  uint32_t *inside; /* of a node: the last kernel that holds it, + 1 */
} dot;

static void put_port(const dot *d, const char *kind, uint32_t k, nv_value v, nv_str name) {
  nv_printf(d->b, "  %s%u [shape=ellipse, fillcolor=white, label=\"", kind, k);
  put_quoted(d->b, nv_text(d->b->c, name));
  nv_puts(d->b, "\\n");
  put_label(d->b, d->p, v);
  nv_puts(d->b, "\"];\n");
}

/* Where an edge to or from a value ends: at an input, at its node in the cluster of the kernel that wrote it, or at
 * that kernel's own box. false: it is a constant. */
static bool put_source(const dot *d, nv_value v) {
  const nv_node n = d->p->graph->values[v].node;
  const bool input = d->p->graph->nodes[n].op == NV_OP_INPUT;
  if (!input && !d->writer[v]) return false; /* a constant: a number or an array */
  if (input) nv_printf(d->b, "  in%u", n);
  else if (d->held[v]) nv_printf(d->b, "  k%u_n%u", d->writer[v] - 1, n);
  else nv_printf(d->b, "  k%u", d->writer[v] - 1);
  return true;
}

static void put_cluster(const dot *d, uint32_t n) {
  const nv_kernel *k = &d->p->kernels[n];
  const nv_graph *g = d->p->graph;
  nv_printf(d->b, "  subgraph cluster_k%u {\n    style=\"rounded,filled\"; color=gray60; fillcolor=%s; label=\"%s", n,
            k->kind != NV_K_MAP ? "\"#fbeee4\"" : "\"#eef3fa\"", k->name ? k->name : "kernel");
  if (!k->name) nv_printf(d->b, " %u", n);
  nv_puts(d->b, "\";\n");
  uint32_t shown = 0;
  for (uint32_t i = 0; i < k->nnodes; i++) {
    const nv_node_rec *r = &g->nodes[k->nodes[i]];
    if (nv_ops[r->op].cls == NV_LEAF) continue;
    d->inside[k->nodes[i]] = n + 1;
    nv_printf(d->b, "    k%u_n%u [fillcolor=%s, label=\"%s", n, k->nodes[i],
              nv_ops[r->op].cls == NV_VIEW ? "white" : "lightblue", nv_ops[r->op].name);
    if (r->origin != NV_NONE) {
      nv_buf text;
      nv_buf_init(&text, d->b->c);
      nv_put_statement(&text, g, r->origin);
      nv_puts(d->b, "\\n");
      put_quoted(d->b, nv_buf_text(&text));
      nv_drop(d->b->c, text.p);
    }
    nv_puts(d->b, "\"];\n");
    shown++;
  }
  bool loose = shown == 0; /* what an edge can't find a node for */
  for (uint32_t i = 0; i < k->noperands && !loose; i++)
    loose = k->operands[i].written && d->inside[g->values[k->operands[i].value].node] != n + 1;
  if (loose) nv_printf(d->b, "    k%u [label=\"copy\"];\n", n);
  nv_puts(d->b, "  }\n");
}

/* Edges inside kernel n, and from what it reads. */
static void put_edges(const dot *d, uint32_t n) {
  const nv_kernel *k = &d->p->kernels[n];
  const nv_graph *g = d->p->graph;
  for (uint32_t i = 0; i < k->nnodes; i++) {
    const nv_node_rec *r = &g->nodes[k->nodes[i]];
    for (uint32_t o = 0; o < r->noperands && nv_ops[r->op].cls != NV_LEAF; o++) {
      const nv_value v = g->pool[r->operands + o];
      const nv_node from = g->values[v].node;
      if (d->inside[from] == n + 1) {
        nv_printf(d->b, "  k%u_n%u -> k%u_n%u;\n", n, from, n, k->nodes[i]);
        continue;
      }
      if (!put_source(d, v)) continue;
      nv_printf(d->b, " -> k%u_n%u", n, k->nodes[i]);
      if (d->writer[v]) {
        nv_puts(d->b, " [color=chocolate, label=\"");
        put_label(d->b, d->p, v);
        nv_puts(d->b, "\"]");
      }
      nv_puts(d->b, ";\n");
    }
  }
}

/* What kernel n writes: copies come from what they copy. */
static void put_written(const dot *d, uint32_t n) {
  const nv_kernel *k = &d->p->kernels[n];
  const nv_graph *g = d->p->graph;
  for (uint32_t i = 0; i < k->noperands; i++) {
    const nv_operand_rec *o = &k->operands[i];
    const nv_node from = g->values[o->value].node;
    const bool held = d->inside[from] == n + 1;
    if (!o->written) continue;
    if (!held && put_source(d, o->value)) nv_printf(d->b, " -> k%u;\n", n);
    d->writer[o->value] = n + 1;
    d->held[o->value] = held;
    if (o->port == NV_NONE) continue;
    put_port(d, "out", o->port, o->value, g->outputs[o->port].name);
    nv_printf(d->b, "  k%u", n);
    if (held) nv_printf(d->b, "_n%u", from);
    nv_printf(d->b, " -> out%u;\n", o->port);
  }
}

void nv_plan_dot(nv_buf *b, const nv_plan *p) {
  const nv_graph *g = p->graph;
  const dot d = {b, p, NV_NEW_N(b->c, uint32_t, (size_t)g->nvalues + 1), NV_NEW_N(b->c, bool, (size_t)g->nvalues + 1),
                 NV_NEW_N(b->c, uint32_t, (size_t)g->nnodes + 1)};
  nv_puts(b, "digraph \"");
  put_quoted(b, nv_text(b->c, g->name));
  nv_puts(b, "\" {\n  node [shape=box, style=filled, fillcolor=lightblue, fontname=\"Helvetica\"];\n");
  for (uint32_t k = 0; k < g->ninputs; k++) put_port(&d, "in", k, g->inputs[k].value, g->inputs[k].name);
  for (uint32_t n = 0; n < p->nkernels; n++) {
    put_cluster(&d, n);
    put_edges(&d, n);
    put_written(&d, n);
  }
  nv_puts(b, "}\n");
}
