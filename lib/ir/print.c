/* print.c - graphs as text that nv_graph_read takes back, and as Graphviz. */
#include "data.h"
#include "sizes.h"

#include <inttypes.h>

void nv_put_const(nv_buf *b, nv_dtype dtype, uint64_t bits) {
  if (dtype == NV_BOOL) {
    nv_puts(b, bits ? "true" : "false");
  } else if (nv_is(dtype, NV_BITS_UNSIGNED)) {
    nv_printf(b, "%" PRIu64, bits);
  } else if (nv_is(dtype, NV_BITS_SIGNED)) {
    nv_printf(b, "%" PRId64, (int64_t)nv_convert(dtype, NV_I64, bits, false));
  } else {
    nv_put_float(b, nv_bits_to_f32(dtype, bits));
    if (dtype != NV_C64) return;
    float imaginary = nv_bits_to_f32(NV_F32, bits >> 32);
    if (!(bits >> 63) || imaginary != imaginary) nv_putc(b, '+');
    nv_put_float(b, imaginary);
    nv_putc(b, 'j');
  }
}

typedef struct dim_list {
  nv_dim *at;
  uint32_t n, cap;
} dim_list;

static void add_dim(nv_ctx *c, dim_list *l, nv_dim d) {
  NV_GROW(c, l->at, l->cap, (size_t)l->n + 1);
  l->at[l->n++] = d;
}

/* The dims of the graph that aren't static: of its shapes, each once, numbers, sources and guards. */
static dim_list open_dims(nv_ctx *c, const nv_graph *g) {
  nv_shape most = 0;
  dim_list list = {0};
  for (uint32_t k = 0; k < g->nvalues; k++)
    if (g->values[k].shape > most) most = g->values[k].shape;
  bool *seen = NV_NEW_N(c, bool, (size_t)most + 1);
  for (uint32_t k = 0; k < g->nvalues; k++) {
    nv_shape s = g->values[k].shape;
    if (seen[s] || nv_shape_is_static(c, s)) continue;
    seen[s] = true;
    for (uint32_t i = 0; i < nv_shape_rank(c, s); i++) add_dim(c, &list, nv_shape_dims(c, s)[i]);
  }
  for (uint32_t k = 0; k < g->nnodes; k++) {
    if (g->nodes[k].op != NV_OP_SIZE) continue;
    const int64_t *part = nv_attr_list(c, g->nodes[k].attr);
    for (uint32_t i = 0; i < nv_attr_count(c, g->nodes[k].attr); i += 2)
      if (part[i] == NV_SIZE_DIM) add_dim(c, &list, (nv_dim)part[i + 1]);
  }
  for (uint32_t k = 0; k < g->nsources; k++) add_dim(c, &list, g->sources[k].symbol);
  for (uint32_t k = 0; k < g->nguards; k++) {
    add_dim(c, &list, g->guards[k].a);
    add_dim(c, &list, g->guards[k].b);
  }
  return list;
}

static void put_node(nv_buf *b, const nv_graph *g, const nv_node_rec *n) {
  nv_ctx *c = b->c;
  uint32_t results = nv_op_results((nv_op)n->op), nattrs = nv_attr_count(c, n->attr);
  const int64_t *attrs = nv_attr_list(c, n->attr);
  const nv_value_rec *v = &g->values[n->result];
  for (uint32_t k = 0; k < results; k++) nv_printf(b, "%s%%%u", k ? ", " : "", n->result + k);
  nv_printf(b, " = %s", nv_ops[n->op].name);
  if (n->op == NV_OP_INPUT) {
    nv_str name = g->inputs[attrs[0]].name;
    nv_putc(b, ' ');
    nv_put_json(b, nv_text(c, name), nv_text_len(c, name));
  } else if (n->op == NV_OP_CONST) {
    nv_printf(b, " 0x%0*" PRIx64, 2 * nv_dtype_size[v->dtype], (uint64_t)attrs[0]);
  } else if (n->op == NV_OP_SIZE) {
    nv_putc(b, ' ');
    nv_put_size(b, n->attr);
  } else if (n->op == NV_OP_DATA) {
    nv_printf(b, " 0x%016" PRIx64, nv_data_of(g, n->result)->hash);
  } else {
    for (uint32_t k = 0; k < n->noperands; k++)
      nv_printf(b, "%s%%%u", k ? ", " : " ", g->pool[n->operands + k]);
    for (uint32_t k = 0; k < nattrs; k++) nv_printf(b, "%s%" PRId64, k ? ", " : " {", attrs[k]);
    if (nattrs) nv_putc(b, '}');
  }
  nv_printf(b, " : %s", nv_dtype_name[v->dtype]);
  nv_put_shape(b, v->shape);
  if (n->op == NV_OP_CONST) {
    nv_puts(b, "  # ");
    nv_put_const(b, (nv_dtype)v->dtype, (uint64_t)attrs[0]);
    if (n->origin != NV_NONE) nv_putc(b, ' ');
  } else if (n->origin != NV_NONE) {
    nv_puts(b, "  # ");
  }
  nv_put_origin(b, g, n->origin);
  nv_putc(b, '\n');
}

void nv_graph_print(nv_buf *b, const nv_graph *g) {
  nv_ctx *c = b->c;
  const nv_dim *symbols;
  nv_puts(b, "graph ");
  nv_put_name(b, g->name);
  nv_putc(b, '\n');
  const dim_list dims = open_dims(c, g);
  const uint32_t nsymbols = nv_dim_symbols(c, dims.at, dims.n, &symbols);
  nv_drop(c, dims.at);
  for (uint32_t k = 0; k < nsymbols; k++) {
    int64_t min, max;
    nv_dim_bounds(c, symbols[k], &min, &max);
    nv_puts(b, "dim ");
    nv_put_dim(b, symbols[k]);
    nv_printf(b, " %" PRId64 "..%" PRId64 "\n", min, max);
  }
  for (uint32_t k = 0; k < g->nnodes; k++) put_node(b, g, &g->nodes[k]);
  for (uint32_t k = 0; k < g->nsources; k++) {
    const nv_source *s = &g->sources[k];
    nv_puts(b, "source ");
    nv_put_dim(b, s->symbol);
    nv_printf(b, " %%%u %u %" PRId64 " %" PRId64 "\n", g->inputs[s->input].value, s->axis, s->factor, s->offset);
  }
  for (uint32_t k = 0; k < g->nguards; k++) {
    nv_puts(b, "guard ");
    nv_put_guard(b, &g->guards[k]);
    if (g->guards[k].origin != NV_NONE) nv_puts(b, "  # ");
    nv_put_origin(b, g, g->guards[k].origin);
    nv_putc(b, '\n');
  }
  for (uint32_t k = 0; k < g->noutputs; k++) {
    nv_puts(b, "output ");
    nv_put_json(b, nv_text(c, g->outputs[k].name), nv_text_len(c, g->outputs[k].name));
    nv_printf(b, " = %%%u\n", g->outputs[k].value);
  }
}

/* ---- Graphviz ---- */

/* Text inside a quoted label or name. */
static void put_dot_text(nv_buf *b, const char *p) {
  for (; *p; p++) {
    if (*p == '"' || *p == '\\') nv_putc(b, '\\');
    nv_putc(b, *p);
  }
}

static const char *dot_color(nv_op_class cls) {
  switch (cls) {
  case NV_VIEW: return "lightyellow";
  case NV_REDUCE:
  case NV_SCAN: return "lightsalmon";
  case NV_COPY: return "lightgray";
  case NV_LEAF:
  case NV_INDEX: return "white";
  case NV_FOLD:
  case NV_PICK: return "lightgoldenrod";
  default: return "lightblue";
  }
}

void nv_graph_dot(nv_buf *b, const nv_graph *g) {
  nv_ctx *c = b->c;
  nv_puts(b, "digraph \"");
  put_dot_text(b, nv_text(c, g->name));
  nv_puts(b, "\" {\n  node [shape=box, style=filled, fontname=\"Helvetica\"];\n");
  for (uint32_t k = 0; k < g->nnodes; k++) {
    const nv_node_rec *n = &g->nodes[k];
    const nv_value_rec *v = &g->values[n->result];
    nv_printf(b, "  n%u [fillcolor=%s, label=\"", k, dot_color(nv_ops[n->op].cls));
    if (n->op == NV_OP_INPUT) {
      put_dot_text(b, nv_text(c, g->inputs[nv_attr_list(c, n->attr)[0]].name));
    } else if (n->op == NV_OP_CONST) {
      nv_put_const(b, (nv_dtype)v->dtype, (uint64_t)nv_attr_list(c, n->attr)[0]);
    } else if (n->op == NV_OP_SIZE) {
      nv_buf size; /* symbols' names may need quotes */
      nv_buf_init(&size, c);
      nv_put_size(&size, n->attr);
      put_dot_text(b, nv_buf_text(&size));
      nv_drop(c, size.p);
    } else if (n->op == NV_OP_DATA && nv_data_of(g, n->result)->name) {
      put_dot_text(b, nv_text(c, nv_data_of(g, n->result)->name));
    } else {
      nv_puts(b, nv_ops[n->op].name);
    }
    nv_printf(b, "\\n%s", nv_dtype_name[v->dtype]);
    nv_buf shape; /* symbols' names may need quotes */
    nv_buf_init(&shape, c);
    nv_put_shape(&shape, v->shape);
    put_dot_text(b, nv_buf_text(&shape));
    if (n->origin != NV_NONE) {
      shape.n = 0;
      nv_put_origin(&shape, g, n->origin);
      nv_puts(b, "\\n");
      put_dot_text(b, nv_buf_text(&shape));
    }
    nv_drop(c, shape.p);
    nv_puts(b, "\"];\n");
    for (uint32_t i = 0; i < n->noperands; i++)
      nv_printf(b, "  n%u -> n%u;\n", g->values[g->pool[n->operands + i]].node, k);
  }
  for (uint32_t k = 0; k < g->noutputs; k++) {
    nv_printf(b, "  out%u [shape=ellipse, fillcolor=white, label=\"", k);
    put_dot_text(b, nv_text(c, g->outputs[k].name));
    nv_printf(b, "\"];\n  n%u -> out%u;\n", g->values[g->outputs[k].value].node, k);
  }
  nv_puts(b, "}\n");
}
