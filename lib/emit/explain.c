/* explain.c - --explain: what every kernel holds and moves, for every edge that was not fused, why, and what is
 * computed more than once; text and JSON. */
#include "../ir/data.h"
#include "explain.h"
#include "stub.h"

#include "../ir/sizes.h"

uint32_t nv_line_of(const nv_graph *g, uint32_t origin, const char **source, size_t *length) {
  uint32_t line, column;
  while (origin != NV_NONE) {
    const nv_origin *o = &g->origins[origin];
    if (o->pos.node != NV_NONE && !(o->pos.node & NV_BUILTIN))
      return nv_doc_locate(g->c, o->pos, &line, &column, source, length) ? line : 0;
    origin = o->parent;
  }
  return 0;
}

static uint32_t line_of(const nv_graph *g, uint32_t origin) { return nv_line_of(g, origin, NULL, NULL); }

static const char *dim_text(nv_ctx *c, nv_dim d) {
  nv_buf b;
  nv_buf_init(&b, c);
  nv_put_dim(&b, d);
  return nv_keep(&b);
}

const char *nv_thread_words(nv_ctx *c, const nv_kernel *k) {
  bool tail;
  if (k->kind == NV_K_SCAN) return nv_scan_words(k);
  if (k->kind == NV_K_ROWS)
    return nv_format(c, "%u threads a row of %s",
                     (unsigned)(nv_kernel_group(c, k) ? nv_kernel_group(c, k) : nv_rows_lanes(c, k)),
                     dim_text(c, k->reduce_extent));
  if (nv_kernel_is_simd(c, k)) return "a simdgroup a point";
  if (k->kind == NV_K_REDUCE) return "a thread a point";
  return nv_kernel_width(c, k, &tail) == 4 ? "four elements a thread" : "one element a thread";
}

int64_t nv_scratch_traffic(const nv_plan *p, uint32_t launch) {
  const nv_kernel *k = &p->kernels[p->launches[launch].kernel];
  int64_t bytes = 0;
  for (uint32_t o = 0; o < k->noperands; o++) {
    if (!nv_is_scratch(p, launch, o)) continue;
    if (k->operands[o].elements < 0) return -1;
    bytes += nv_operand_bytes(&k->operands[o]);
  }
  return bytes;
}

/* ---- what is computed more than once ---- */

/* The node that an instruction computes; NV_NONE: it moves or combines only. */
static nv_node computed_by(const nv_graph *g, const nv_instr *i) {
  if (i->kind != NV_I_OP || i->value == NV_NONE) return NV_NONE;
  const nv_node n = g->values[i->value].node;
  return nv_ops[g->nodes[n].op].cls == NV_ELEM && g->nodes[n].op == i->op ? n : NV_NONE;
}

nv_recomputed nv_find_recomputed(const nv_plan *p) {
  const nv_graph *g = p->graph;
  nv_ctx *c = g->c;
  nv_recomputed r = {0};
  uint32_t *times = NV_NEW_N(c, uint32_t, (size_t)g->nnodes + 1), *last = NV_NEW_N(c, uint32_t, (size_t)g->nnodes + 1);
  uint32_t *in = NV_NEW_N(c, uint32_t, (size_t)g->nnodes + 1), *at = NV_NEW_N(c, uint32_t, (size_t)g->nnodes + 1);
  for (uint32_t k = 0; k < p->nkernels; k++)
    for (uint32_t i = 0; i < p->kernels[k].ninstrs; i++) {
      const nv_node n = computed_by(g, &p->kernels[k].instrs[i]);
      if (n == NV_NONE) continue;
      times[n]++;
      in[n] += last[n] != k + 1;
      last[n] = k + 1;
    }
  uint32_t total = 0;
  for (nv_node n = 0; n < g->nnodes; n++) {
    last[n] = 0;
    if (times[n] < 2) continue;
    NV_GROW(c, r.nodes, r.cap, (size_t)r.n + 1);
    r.nodes[r.n++] = (nv_again){n, times[n], total, in[n]};
    at[n] = total;
    total += in[n];
  }
  r.kernels = NV_NEW_N(c, uint32_t, (size_t)total + 1);
  for (uint32_t k = 0; k < p->nkernels; k++)
    for (uint32_t i = 0; i < p->kernels[k].ninstrs; i++) {
      const nv_node n = computed_by(g, &p->kernels[k].instrs[i]);
      if (n == NV_NONE || times[n] < 2 || last[n] == k + 1) continue;
      r.kernels[at[n]++] = k;
      last[n] = k + 1;
    }
  return r;
}

/* ---- names ---- */

static bool is_leaf(const nv_graph *g, nv_node n) { return nv_ops[g->nodes[n].op].cls == NV_LEAF; }

void nv_put_node_name(nv_buf *b, const nv_graph *g, nv_node n) {
  const uint32_t origin = g->nodes[n].origin;
  if (origin == NV_NONE)
    nv_printf(b, "%s", nv_ops[g->nodes[n].op].name);
  else
    nv_put_origin(b, g, origin);
}

void nv_put_operand_name(nv_buf *b, const nv_plan *p, const nv_kernel *k, uint32_t o) {
  const nv_graph *g = p->graph;
  const nv_operand_rec *r = &k->operands[o];
  const nv_node_rec *n = nv_node_of(g, r->value);
  if (n->op == NV_OP_INPUT)
    nv_puts(b, nv_text(g->c, g->inputs[nv_attr_list(g->c, n->attr)[0]].name));
  else if (nv_data_of(g, r->value) && nv_data_of(g, r->value)->name)
    nv_puts(b, nv_text(g->c, nv_data_of(g, r->value)->name));
  else if (r->written && r->port != NV_NONE)
    nv_puts(b, nv_text(g->c, g->outputs[r->port].name));
  else
    nv_put_node_name(b, g, g->values[r->value].node);
}

/* ---- text ---- */

static void put_operands(nv_buf *b, const nv_plan *p, uint32_t launch, bool written) {
  const nv_kernel *k = &p->kernels[launch];
  for (uint32_t o = 0; o < k->noperands; o++) {
    const nv_operand_rec *r = &k->operands[o];
    if (r->written != written) continue;
    nv_printf(b, "    %s ", written ? "writes" : "reads ");
    nv_put_operand_name(b, p, k, o);
    nv_puts(b, ": ");
    nv_put_value_type(b, p->graph, r->value);
    nv_puts(b, ", ");
    nv_put_amount(b, nv_operand_bytes(r), false);
    nv_printf(b, " bytes%s\n", nv_is_scratch(p, launch, o) ? " of scratch" : "");
  }
}

/* Where an index is checked, and where it needn't be. */
static void put_picks(nv_buf *b, const nv_plan *p, const nv_kernel *k) {
  for (uint32_t i = 0; i < k->ninstrs; i++) {
    const nv_instr *x = &k->instrs[i];
    if (x->kind != NV_I_LOAD || !x->nargs || x->op != NV_OP_pick) continue;
    nv_puts(b, "    picks from ");
    nv_put_operand_name(b, p, k, x->operand);
    nv_puts(b, x->checked ? " by an index that is checked against " : " by an index that is always below ");
    nv_put_dim(b, x->count);
    nv_puts(b, x->checked ? "\n" : ": no check\n");
  }
}

static void put_kernel(nv_buf *b, const nv_plan *p, uint32_t launch) {
  const nv_kernel *k = &p->kernels[launch];
  const nv_graph *g = p->graph;
  nv_printf(b, "  kernel %s\n", k->name);
  uint32_t last = NV_NONE;
  for (uint32_t i = 0; i < k->nnodes; i++) {
    const nv_node n = k->nodes[i];
    if (is_leaf(g, n)) continue;
    const uint32_t line = line_of(g, g->nodes[n].origin);
    nv_printf(b, "    %s ", nv_ops[g->nodes[n].op].name);
    nv_put_node_name(b, g, n);
    if (line && line != last) nv_printf(b, " (line %u)", (unsigned)line);
    last = line;
    nv_putc(b, '\n');
  }
  put_operands(b, p, launch, false);
  put_operands(b, p, launch, true);
  put_picks(b, p, k);
  nv_puts(b, "    ");
  nv_put_amount(b, nv_kernel_bytes(k, false), false);
  nv_puts(b, " bytes read, ");
  nv_put_amount(b, nv_kernel_bytes(k, true), false);
  nv_puts(b, " written, ");
  nv_put_amount(b, nv_scratch_traffic(p, launch), false);
  nv_printf(b, " of these in scratch; at most %u values live; %s\n", (unsigned)k->live, nv_thread_words(g->c, k));
}

static void put_cuts(nv_buf *b, const nv_plan *p) {
  const nv_graph *g = p->graph;
  if (p->ncuts) nv_puts(b, "  not fused:\n");
  for (uint32_t i = 0; i < p->ncuts; i++) {
    const nv_node from = g->values[p->cuts[i].value].node;
    const uint32_t line = line_of(g, g->nodes[p->cuts[i].user].origin);
    nv_puts(b, "    ");
    nv_put_node_name(b, g, from);
    nv_puts(b, " into ");
    nv_put_node_name(b, g, p->cuts[i].user);
    if (line) nv_printf(b, " (line %u)", (unsigned)line);
    nv_printf(b, ": %s\n", p->cuts[i].why);
  }
}

static void put_recomputed(nv_buf *b, const nv_plan *p) {
  const nv_graph *g = p->graph;
  const nv_recomputed r = nv_find_recomputed(p);
  if (r.n) nv_puts(b, "  computed more than once, for fewer bytes:\n");
  for (uint32_t i = 0; i < r.n; i++) {
    const nv_again *a = &r.nodes[i];
    const uint32_t line = line_of(g, g->nodes[a->node].origin);
    nv_printf(b, "    %s ", nv_ops[g->nodes[a->node].op].name);
    nv_put_node_name(b, g, a->node);
    if (line) nv_printf(b, " (line %u)", (unsigned)line);
    nv_printf(b, ": %u times, in ", (unsigned)a->times);
    for (uint32_t k = 0; k < a->nkernels; k++)
      nv_printf(b, k ? ", %s" : "%s", p->kernels[r.kernels[a->first + k]].name);
    nv_putc(b, '\n');
  }
  nv_drop(b->c, r.nodes);
}

static void put_guard(nv_buf *b, const nv_graph *g, const nv_guard *guard) {
  nv_puts(b, "  must hold: ");
  nv_put_guard(b, guard);
  if (guard->origin != NV_NONE) {
    nv_puts(b, " (");
    nv_put_origin(b, g, guard->origin);
    nv_putc(b, ')');
  }
  nv_putc(b, '\n');
}

static void put_program(nv_buf *b, const nv_program *p) {
  const nv_plan *plan = p->plan;
  nv_printf(b, "%s, signature %u: kernels %u, launches %u\n", nv_text(b->c, p->entry->name), (unsigned)p->signature,
            (unsigned)plan->nkernels, (unsigned)plan->nlaunches);
  if (plan->graph->nsources) {
    nv_puts(b, "  bytes: the sizes of a call say\n");
    for (uint32_t k = 0; k < plan->graph->nguards; k++) put_guard(b, plan->graph, &plan->graph->guards[k]);
  } else {
    nv_printf(b, "  %lld bytes moved, lower bound %lld", (long long)plan->bytes_moved,
              (long long)plan->bytes_lower_bound);
    if (plan->bytes_lower_bound > 0)
      nv_printf(b, " (ratio %.3f)", (double)plan->bytes_moved / (double)plan->bytes_lower_bound);
    nv_printf(b, "; scratch arena %lld bytes, lower bound %lld (the most alive at once)\n",
              (long long)plan->scratch_bytes, (long long)plan->scratch_bound);
  }
  for (uint32_t k = 0; k < plan->nlaunches; k++) put_kernel(b, plan, k);
  put_cuts(b, plan);
  put_recomputed(b, plan);
}

/* ---- JSON ---- */

static void put_json_node(nv_buf *b, const nv_graph *g, nv_node n) {
  nv_buf name;
  nv_buf_init(&name, g->c);
  nv_put_node_name(&name, g, n);
  nv_puts(b, "{\"name\": ");
  nv_put_json(b, name.p, name.n);
  nv_drop(g->c, name.p);
  nv_printf(b, ", \"op\": \"%s\"", nv_ops[g->nodes[n].op].name);
  const uint32_t line = line_of(g, g->nodes[n].origin);
  if (line) nv_printf(b, ", \"line\": %u", (unsigned)line);
  nv_putc(b, '}');
}

static void put_json_operands(nv_buf *b, const nv_plan *p, uint32_t launch, bool written) {
  const nv_kernel *k = &p->kernels[launch];
  bool any = false;
  nv_putc(b, '[');
  for (uint32_t o = 0; o < k->noperands; o++) {
    const nv_operand_rec *r = &k->operands[o];
    if (r->written != written) continue;
    nv_buf text;
    nv_buf_init(&text, b->c);
    nv_put_operand_name(&text, p, k, o);
    nv_puts(b, any ? ", {\"name\": " : "{\"name\": ");
    nv_put_json(b, text.p, text.n);
    text.n = 0;
    nv_put_value_type(&text, p->graph, r->value);
    nv_puts(b, ", \"type\": ");
    nv_put_json(b, text.p, text.n);
    nv_drop(b->c, text.p);
    nv_puts(b, ", \"bytes\": ");
    nv_put_amount(b, nv_operand_bytes(r), true);
    nv_printf(b, ", \"scratch\": %s}", nv_is_scratch(p, launch, o) ? "true" : "false");
    any = true;
  }
  nv_putc(b, ']');
}

static void put_json_kernel(nv_buf *b, const nv_plan *p, uint32_t launch) {
  const nv_kernel *k = &p->kernels[launch];
  const nv_graph *g = p->graph;
  bool tail, any = false;
  nv_puts(b, "        {\"name\": ");
  nv_put_json_text(b, k->name);
  static const char *const kinds[] = {[NV_K_MAP] = "map", [NV_K_REDUCE] = "reduce", [NV_K_ROWS] = "rows",
                                      [NV_K_SCAN] = "scan"};
  nv_printf(b, ", \"kind\": \"%s\", \"width\": %u,\n         \"nodes\": [", kinds[k->kind],
            (unsigned)nv_kernel_width(g->c, k, &tail));
  for (uint32_t i = 0; i < k->nnodes; i++) {
    if (is_leaf(g, k->nodes[i])) continue;
    nv_puts(b, any ? ", " : "");
    put_json_node(b, g, k->nodes[i]);
    any = true;
  }
  nv_puts(b, "],\n         \"picks\": [");
  any = false;
  for (uint32_t i = 0; i < k->ninstrs; i++) {
    const nv_instr *x = &k->instrs[i];
    if (x->kind != NV_I_LOAD || !x->nargs || x->op != NV_OP_pick) continue;
    nv_printf(b, "%s{\"from\": ", any ? ", " : "");
    nv_buf name;
    nv_buf_init(&name, b->c);
    nv_put_operand_name(&name, p, k, x->operand);
    nv_put_json(b, name.p, name.n);
    nv_drop(b->c, name.p);
    int64_t count;
    nv_puts(b, ", \"below\": ");
    if (nv_dim_is_const(b->c, x->count, &count)) nv_printf(b, "%lld", (long long)count);
    else nv_puts(b, "null");
    nv_printf(b, ", \"checked\": %s}", x->checked ? "true" : "false");
    any = true;
  }
  nv_puts(b, "],\n         \"inputs\": ");
  put_json_operands(b, p, launch, false);
  nv_puts(b, ",\n         \"outputs\": ");
  put_json_operands(b, p, launch, true);
  nv_puts(b, ",\n         \"read\": ");
  nv_put_amount(b, nv_kernel_bytes(k, false), true);
  nv_puts(b, ", \"written\": ");
  nv_put_amount(b, nv_kernel_bytes(k, true), true);
  nv_puts(b, ", \"scratch\": ");
  nv_put_amount(b, nv_scratch_traffic(p, launch), true);
  nv_printf(b, ", \"live\": %u}", (unsigned)k->live);
}

static void put_json_recomputed(nv_buf *b, const nv_plan *p) {
  const nv_recomputed r = nv_find_recomputed(p);
  nv_puts(b, "\"recomputed\": [");
  for (uint32_t i = 0; i < r.n; i++) {
    const nv_again *a = &r.nodes[i];
    nv_puts(b, i ? ",\n        {\"node\": " : "\n        {\"node\": ");
    put_json_node(b, p->graph, a->node);
    nv_printf(b, ", \"times\": %u, \"kernels\": [", (unsigned)a->times);
    for (uint32_t k = 0; k < a->nkernels; k++) {
      nv_puts(b, k ? ", " : "");
      nv_put_json_text(b, p->kernels[r.kernels[a->first + k]].name);
    }
    nv_puts(b, "]}");
  }
  nv_puts(b, r.n ? "\n      ]" : "]");
  nv_drop(b->c, r.nodes);
}

static void put_json_program(nv_buf *b, const nv_program *p) {
  const nv_plan *plan = p->plan;
  nv_puts(b, "    {\n");
  nv_put_counts(b, p, "      ");
  nv_puts(b, ",\n      \"per_kernel\": [");
  for (uint32_t k = 0; k < plan->nlaunches; k++) {
    nv_puts(b, k ? ",\n" : "\n");
    put_json_kernel(b, plan, k);
  }
  nv_puts(b, plan->nkernels ? "\n      ],\n      \"not_fused\": [" : "],\n      \"not_fused\": [");
  for (uint32_t i = 0; i < plan->ncuts; i++) {
    nv_puts(b, i ? ",\n        {\"value\": " : "\n        {\"value\": ");
    put_json_node(b, plan->graph, plan->graph->values[plan->cuts[i].value].node);
    nv_puts(b, ", \"user\": ");
    put_json_node(b, plan->graph, plan->cuts[i].user);
    nv_puts(b, ", \"why\": ");
    nv_put_json_text(b, plan->cuts[i].why);
    nv_putc(b, '}');
  }
  nv_puts(b, plan->ncuts ? "\n      ],\n      " : "],\n      ");
  put_json_recomputed(b, plan);
  nv_puts(b, "\n    }");
}

void nv_emit_explain(nv_buf *b, const nv_module *m, bool json) {
  if (json) {
    nv_puts(b, "{\n  \"format\": \"nuvec-explain-1\",\n  \"name\": ");
    nv_put_json_text(b, m->name);
    nv_puts(b, ",\n  \"entries\": [");
  }
  for (uint32_t i = 0; i < m->nprograms; i++) {
    if (json)
      nv_puts(b, i ? ",\n" : "\n");
    else if (i)
      nv_putc(b, '\n');
    (json ? put_json_program : put_program)(b, &m->programs[i]);
  }
  if (json) nv_puts(b, m->nprograms ? "\n  ]\n}\n" : "]\n}\n");
}
