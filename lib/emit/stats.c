/* stats.c - --stats: nodes, kernels and bytes of every entry under every signature, as text and as JSON. */
#include "metal.h"

#include "../ir/sizes.h"

/* Operations of a body, a reduction counted as one. */
static unsigned ops_of(const nv_kernel *k) {
  unsigned n = 0;
  for (uint32_t i = 0; i < k->ninstrs; i++) 
    n += k->instrs[i].kind == NV_I_OP || k->instrs[i].kind == NV_I_REDUCE || k->instrs[i].kind == NV_I_SCAN ||
         k->instrs[i].kind == NV_I_FOLD;
  return n;
}

int64_t nv_operand_bytes(const nv_operand_rec *r) {
  return r->elements < 0 ? -1 : r->elements * nv_dtype_size[r->dtype];
}

int64_t nv_kernel_bytes(const nv_kernel *k, bool written) {
  int64_t bytes = 0;
  for (uint32_t i = 0; i < k->noperands; i++) {
    if (k->operands[i].written != written) continue;
    if (k->operands[i].elements < 0) return -1;
    bytes += nv_operand_bytes(&k->operands[i]);
  }
  return bytes;
}

void nv_put_amount(nv_buf *b, int64_t n, bool json) {
  if (n >= 0) nv_printf(b, "%lld", (long long)n);
  else nv_puts(b, json ? "null" : "?");
}

void nv_put_json_dim(nv_buf *b, nv_dim d) {
  int64_t known;
  nv_buf text;
  if (nv_dim_is_const(b->c, d, &known)) {
    nv_printf(b, "%lld", (long long)known);
    return;
  }
  nv_buf_init(&text, b->c);
  nv_put_dim(&text, d);
  nv_put_json(b, text.p, text.n);
  nv_drop(b->c, text.p);
}

/* What is said of open sizes only: their bounds, what must hold, the pieces of scratch. */
void nv_put_json_sizes(nv_buf *b, const nv_plan *p, const char *indent) {
  const nv_graph *g = p->graph;
  if (!g->nsources) return;
  nv_printf(b, ",\n%s\"sizes\": [", indent);
  for (uint32_t k = 0; k < g->nsources; k++) {
    int64_t least, most;
    nv_dim_bounds(b->c, g->sources[k].symbol, &least, &most);
    nv_puts(b, k ? ", {\"name\": " : "{\"name\": ");
    nv_put_json_dim(b, g->sources[k].symbol);
    nv_printf(b, ", \"min\": %lld, \"max\": ", (long long)least);
    nv_put_amount(b, most < NV_NO_MOST ? most : -1, true);
    nv_putc(b, '}');
  }
  nv_printf(b, "],\n%s\"guards\": [", indent);
  for (uint32_t k = 0; k < g->nguards; k++) {
    nv_buf text;
    nv_buf_init(&text, b->c);
    nv_put_guard(&text, &g->guards[k]);
    nv_puts(b, k ? ", " : "");
    nv_put_json(b, text.p, text.n);
    nv_drop(b->c, text.p);
  }
  nv_printf(b, "],\n%s\"scratch\": [", indent);
  for (uint32_t k = 0; k < p->nslots; k++) {
    nv_puts(b, k ? ", " : "");
    nv_put_json_dim(b, p->slots[k]);
  }
  nv_putc(b, ']');
}

void nv_put_json_text(nv_buf *b, const char *text) { nv_put_json(b, text, strlen(text)); }

/* What a graph computes: neither inputs nor constants. */
static uint32_t count_nodes(const nv_graph *g) {
  uint32_t n = 0;
  for (uint32_t i = 0; i < g->nnodes; i++) n += nv_ops[g->nodes[i].op].cls != NV_LEAF;
  return n;
}

void nv_put_counts(nv_buf *b, const nv_program *p, const char *indent) {
  const nv_plan *plan = p->plan;
  nv_printf(b, "%s\"entry\": ", indent);
  nv_put_json_text(b, nv_text(b->c, p->entry->name));
  nv_printf(b, ",\n%s\"signature\": %u,\n%s\"symbol\": ", indent, (unsigned)p->signature, indent);
  nv_put_json_text(b, p->symbol);
  nv_printf(b, ",\n%s\"nodes_traced\": %u,\n%s\"nodes_simplified\": %u", indent, (unsigned)count_nodes(p->traced),
            indent, (unsigned)count_nodes(p->simplified));
  nv_printf(b, ",\n%s\"kernels\": %u,\n%s\"launches\": %u", indent, (unsigned)plan->nkernels, indent,
            (unsigned)plan->nlaunches);
  const char *const names[4] = {"bytes_moved", "bytes_lower_bound", "scratch_bytes", "scratch_bound"};
  const int64_t amounts[4] = {plan->bytes_moved, plan->bytes_lower_bound, plan->scratch_bytes, plan->scratch_bound};
  for (int i = 0; i < 4; i++) {
    nv_printf(b, ",\n%s\"%s\": ", indent, names[i]);
    nv_put_amount(b, amounts[i], true);
  }
  nv_put_json_sizes(b, plan, indent);
}

/* A launch: its kernel, its bytes, its grid in threads, the threads that a threadgroup must have (0: any), and what is
 * bound, in order: an input or output by its number, or an offset into the scratch arena (where sizes are open, the
 * number of a piece of scratch). */
static void put_launch(nv_buf *b, const nv_plan *plan, const nv_launch *l) {
  static const char *const places[] = {
      [NV_PLACE_INPUT] = "input", [NV_PLACE_OUTPUT] = "output",
                                       [NV_PLACE_SCRATCH] = "scratch", [NV_PLACE_DATA] = "data",
                                       [NV_PLACE_TABLE] = "table"};
  const nv_kernel *k = &plan->kernels[l->kernel];
  nv_dim grid[3];
  nv_puts(b, "{\"kernel\": ");
  nv_put_json_text(b, k->name);
  nv_printf(b, ", \"ops\": %u, \"read\": ", ops_of(k));
  nv_put_amount(b, nv_kernel_bytes(k, false), true);
  nv_puts(b, ", \"written\": ");
  nv_put_amount(b, nv_kernel_bytes(k, true), true);
  nv_puts(b, ",\n         \"grid\": [");
  nv_kernel_grid(b->c, k, grid);
  for (int d = 0; d < 3; d++) {
    nv_puts(b, d ? ", " : "");
    nv_put_json_dim(b, grid[d]);
  }
  nv_printf(b, "], \"group\": %u, \"bound\": [", (unsigned)nv_kernel_group(b->c, k));
  for (uint32_t i = 0; i < k->noperands; i++) {
    const nv_place *at = &l->places[i];
    nv_printf(b, "%s{\"%s\": %lld}", i ? ", " : "", places[at->kind],
              at->kind == NV_PLACE_SCRATCH && !plan->nslots ? (long long)at->offset : (long long)at->index);
  }
  nv_puts(b, "]}");
}

static void put_json(nv_buf *b, const nv_module *m) {
  nv_puts(b, "{\n  \"format\": \"nuvec-stats-1\",\n  \"name\": ");
  nv_put_json_text(b, m->name);
  nv_puts(b, ",\n  \"entries\": [");
  for (uint32_t i = 0; i < m->nprograms; i++) {
    const nv_program *p = &m->programs[i];
    nv_puts(b, i ? ",\n    {\n" : "\n    {\n");
    nv_put_counts(b, p, "      ");
    nv_puts(b, ",\n      \"per_kernel\": ["); /* one a launch, in order */
    for (uint32_t j = 0; j < p->plan->nlaunches; j++) {
      nv_puts(b, j ? ",\n        " : "\n        ");
      put_launch(b, p->plan, &p->plan->launches[j]);
    }
    nv_puts(b, p->plan->nlaunches ? "\n      ]\n    }" : "]\n    }");
  }
  nv_puts(b, m->nprograms ? "\n  ]\n}\n" : "]\n}\n");
}

/* Of open sizes. */
static void put_open_text(nv_buf *b, const nv_program *p) {
  const nv_plan *plan = p->plan;
  const nv_graph *g = plan->graph;
  nv_printf(b, "%s, signature %u: nodes traced %u, simplified %u; kernels %u, launches %u\n",
            nv_text(b->c, p->entry->name), (unsigned)p->signature, (unsigned)count_nodes(p->traced),
            (unsigned)count_nodes(p->simplified), (unsigned)plan->nkernels, (unsigned)plan->nlaunches);
  nv_puts(b, "  sizes         ");
  for (uint32_t k = 0; k < g->nsources; k++) {
    int64_t least, most;
    nv_dim_bounds(b->c, g->sources[k].symbol, &least, &most);
    nv_puts(b, k ? ", " : "");
    nv_put_dim(b, g->sources[k].symbol);
    nv_printf(b, " from %lld", (long long)least);
    if (most < NV_NO_MOST) nv_printf(b, " to %lld", (long long)most);
  }
  nv_putc(b, '\n');
  for (uint32_t k = 0; k < g->nguards; k++) {
    nv_puts(b, "  must hold     ");
    nv_put_guard(b, &g->guards[k]);
    nv_putc(b, '\n');
  }
  for (uint32_t k = 0; k < plan->nslots; k++) {
    nv_puts(b, "  scratch bytes ");
    nv_put_dim(b, plan->slots[k]);
    nv_putc(b, '\n');
  }
  for (uint32_t j = 0; j < plan->nlaunches; j++) {
    const nv_kernel *k = &plan->kernels[plan->launches[j].kernel];
    nv_dim grid[3];
    nv_kernel_grid(b->c, k, grid);
    nv_printf(b, "  %-48s threads ", k->name);
    for (int d = 0; d < 3; d++) {
      nv_puts(b, d ? " x " : "");
      nv_put_dim(b, grid[d]);
    }
    nv_putc(b, '\n');
  }
}

void nv_emit_stats(nv_buf *b, const nv_module *m, bool json) {
  if (json) {
    put_json(b, m);
    return;
  }
  for (uint32_t i = 0; i < m->nprograms; i++) {
    const nv_program *p = &m->programs[i];
    const nv_plan *plan = p->plan;
    if (plan->graph->nsources) {
      put_open_text(b, p);
      continue;
    }
    nv_printf(b, "%s, signature %u: nodes traced %u, simplified %u; kernels %u, launches %u\n",
              nv_text(m->c, p->entry->name), (unsigned)p->signature, (unsigned)count_nodes(p->traced),
              (unsigned)count_nodes(p->simplified), (unsigned)plan->nkernels, (unsigned)plan->nlaunches);
    nv_printf(b, "  bytes moved   %16lld\n  lower bound   %16lld", (long long)plan->bytes_moved,
              (long long)plan->bytes_lower_bound);
    if (plan->bytes_lower_bound > 0)
      nv_printf(b, "  (ratio %.3f)", (double)plan->bytes_moved / (double)plan->bytes_lower_bound);
    nv_printf(b, "\n  scratch bytes %16lld\n", (long long)plan->scratch_bytes);
    for (uint32_t j = 0; j < plan->nlaunches; j++) {
      const nv_kernel *k = &plan->kernels[plan->launches[j].kernel];
      nv_printf(b, "  %-48s reads %lld, writes %lld bytes\n", k->name, (long long)nv_kernel_bytes(k, false),
                (long long)nv_kernel_bytes(k, true));
    }
  }
}
