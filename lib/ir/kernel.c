/* kernel.c - plans as text for people and tests, and as Graphviz. */
#include "kernel.h"

#include <inttypes.h>

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
  case NV_I_INDEX:
    nv_puts(b, "index [");
    nv_put_dim(b, i->offset);
    nv_putc(b, ']');
    break;
  case NV_I_LOAD:
    nv_printf(b, "load b%u[", i->operand);
    nv_put_dim(b, i->offset);
    if (i->nargs) nv_printf(b, " + v%u * %" PRId64, i->arg[0], i->stride);
    nv_putc(b, ']');
    if (i->nargs && i->checked) nv_printf(b, " where 0 <= v%u < %" PRId64, i->arg[0], i->count);
    break;
  default:
    nv_printf(b, "%s%s", i->kind == NV_I_REDUCE ? "reduce " : i->kind == NV_I_SCAN ? "scan " : "", nv_ops[i->op].name);
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
  nv_printf(b, "  b%u = %%%u : %s%s, %" PRId64 " of %" PRId64 " elements", n, o->value,
            o->written ? "write " : "", nv_dtype_name[o->dtype], o->elements, o->extent);
  if (o->written && o->port != NV_NONE) {
    nv_str name = p->graph->outputs[o->port].name;
    nv_puts(b, ", output ");
    nv_put_json(b, nv_text(b->c, name), nv_text_len(b->c, name));
  }
  nv_putc(b, '\n');
}

static void put_kernel(nv_buf *b, const nv_plan *p, uint32_t n) {
  const nv_kernel *k = &p->kernels[n];
  nv_printf(b, "kernel %u %s ", n, k->kind == NV_K_MAP ? "map" : k->kind == NV_K_SCAN ? "scan" : "reduce");
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
  static const char *const kinds[] = {"input", "output", "scratch"};
  nv_printf(b, "launch %u kernel %u:", n, l->kernel);
  for (uint32_t i = 0; i < p->kernels[l->kernel].noperands; i++) {
    const nv_place *at = &l->places[i];
    nv_printf(b, "%s %s ", i ? "," : "", kinds[at->kind]);
    if (at->kind == NV_PLACE_SCRATCH)
      nv_printf(b, "%" PRId64, at->offset);
    else
      nv_printf(b, "%u", at->index);
  }
  nv_puts(b, l->barrier ? "; after a barrier\n" : "\n");
}

void nv_plan_print(nv_buf *b, const nv_plan *p) {
  nv_puts(b, "plan ");
  nv_put_name(b, p->graph->name);
  nv_printf(b,
            ": %u kernel%s, %" PRId64 " bytes moved of at least %" PRId64 ", scratch %" PRId64
            " of at least %" PRId64 "\n",
            p->nkernels, p->nkernels == 1 ? "" : "s", p->bytes_moved, p->bytes_lower_bound, p->scratch_bytes,
            p->scratch_bound);
  for (uint32_t k = 0; k < p->nkernels; k++) put_kernel(b, p, k);
  for (uint32_t k = 0; k < p->nlaunches; k++) put_launch(b, p, k);
  for (uint32_t k = 0; k < p->ncuts; k++)
    nv_printf(b, "cut %%%u -> node %u: %s\n", p->cuts[k].value, p->cuts[k].user, p->cuts[k].why);
}

/* ---- Graphviz: a box a kernel, an edge a buffer ---- */

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

void nv_plan_dot(nv_buf *b, const nv_plan *p) {
  nv_ctx *c = b->c;
  const nv_graph *g = p->graph;
  uint32_t *writer = NV_NEW_N(c, uint32_t, g->nvalues); /* kernel of a value + 1 */
  nv_puts(b, "digraph \"");
  put_quoted(b, nv_text(c, g->name));
  nv_puts(b, "\" {\n  node [shape=box, style=filled, fillcolor=lightblue, fontname=\"Helvetica\"];\n");
  for (uint32_t k = 0; k < g->ninputs; k++) {
    nv_printf(b, "  in%u [shape=ellipse, fillcolor=white, label=\"", k);
    put_quoted(b, nv_text(c, g->inputs[k].name));
    nv_puts(b, "\\n");
    put_label(b, p, g->inputs[k].value);
    nv_puts(b, "\"];\n");
  }
  for (uint32_t n = 0; n < p->nkernels; n++) {
    const nv_kernel *k = &p->kernels[n];
    nv_printf(b, "  k%u [%slabel=\"%s", n, k->kind != NV_K_MAP ? "fillcolor=lightsalmon, " : "",
              k->name ? k->name : "kernel");
    if (!k->name) nv_printf(b, " %u", n);
    for (uint32_t i = 0; i < k->nnodes && i < 12; i++)
      nv_printf(b, "%s%s", i % 4 ? " " : "\\n", nv_ops[g->nodes[k->nodes[i]].op].name);
    nv_printf(b, "%s\"];\n", k->nnodes > 12 ? " …" : "");
    for (uint32_t i = 0; i < k->noperands; i++) {
      const nv_operand_rec *o = &k->operands[i];
      if (o->written) {
        writer[o->value] = n + 1;
        if (o->port == NV_NONE) continue;
        nv_printf(b, "  out%u [shape=ellipse, fillcolor=white, label=\"", o->port);
        put_quoted(b, nv_text(c, g->outputs[o->port].name));
        nv_printf(b, "\"];\n  k%u -> out%u [label=\"", n, o->port);
      } else if (writer[o->value]) {
        nv_printf(b, "  k%u -> k%u [label=\"", writer[o->value] - 1, n);
      } else {
        nv_printf(b, "  in%" PRId64 " -> k%u [label=\"", nv_attr_list(c, nv_node_of(g, o->value)->attr)[0],
                  n);
      }
      put_label(b, p, o->value);
      nv_puts(b, "\"];\n");
    }
  }
  nv_puts(b, "}\n");
}
