/* stats.c - --stats: nodes, kernels and bytes of every entry under every signature, as text and as JSON. */
#include "metal.h"

/* Operations of a body, a reduction counted as one. */
static unsigned ops_of(const nv_kernel *k) {
  unsigned n = 0;
  for (uint32_t i = 0; i < k->ninstrs; i++) 
    n += k->instrs[i].kind == NV_I_OP || k->instrs[i].kind == NV_I_REDUCE || k->instrs[i].kind == NV_I_SCAN ||
         k->instrs[i].kind == NV_I_FOLD;
  return n;
}

int64_t nv_kernel_bytes(const nv_kernel *k, bool written) {
  int64_t bytes = 0;
  for (uint32_t i = 0; i < k->noperands; i++)
    if (k->operands[i].written == written) bytes += k->operands[i].elements * nv_dtype_size[k->operands[i].dtype];
  return bytes;
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
  nv_printf(b, ",\n%s\"bytes_moved\": %lld,\n%s\"bytes_lower_bound\": %lld", indent, (long long)plan->bytes_moved,
            indent, (long long)plan->bytes_lower_bound);
  nv_printf(b, ",\n%s\"scratch_bytes\": %lld,\n%s\"scratch_bound\": %lld", indent, (long long)plan->scratch_bytes,
            indent, (long long)plan->scratch_bound);
}

/* A launch: its kernel, its bytes, its grid in threads, the threads that a threadgroup must have (0: any), and what is
 * bound, in order: an input or output by its number,
 * or an offset into the scratch arena. */
static void put_launch(nv_buf *b, const nv_plan *plan, const nv_launch *l) {
  static const char *const places[] = {
      [NV_PLACE_INPUT] = "input", [NV_PLACE_OUTPUT] = "output",
                                       [NV_PLACE_SCRATCH] = "scratch"};
  const nv_kernel *k = &plan->kernels[l->kernel];
  nv_dim grid[3];
  nv_puts(b, "{\"kernel\": ");
  nv_put_json_text(b, k->name);
  nv_printf(b, ", \"ops\": %u, \"read\": %lld, \"written\": %lld,\n         \"grid\": [", ops_of(k),
            (long long)nv_kernel_bytes(k, false), (long long)nv_kernel_bytes(k, true));
  nv_kernel_grid(b->c, k, grid);
  for (int d = 0; d < 3; d++) nv_printf(b, d ? ", %lld" : "%lld", (long long)nv_dim_value(b->c, grid[d]));
  nv_printf(b, "], \"group\": %u, \"bound\": [", (unsigned)nv_kernel_group(b->c, k));
  for (uint32_t i = 0; i < k->noperands; i++) {
    const nv_place *at = &l->places[i];
    nv_printf(b, "%s{\"%s\": %lld}", i ? ", " : "", places[at->kind],
              at->kind == NV_PLACE_SCRATCH ? (long long)at->offset : (long long)at->index);
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

void nv_emit_stats(nv_buf *b, const nv_module *m, bool json) {
  if (json) {
    put_json(b, m);
    return;
  }
  for (uint32_t i = 0; i < m->nprograms; i++) {
    const nv_program *p = &m->programs[i];
    const nv_plan *plan = p->plan;
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
