/* names.c - what is called how in a module: C symbols of programs, names of kernels, and which kernels are one
 * text.
 *
 * A kernel is SYMBOL_k<number>_<ops>: the number counts the entry's own kernels, so that a change of one entry
 * renames no other's; the ops are those of the body in order. Long chains keep their first ops and end in a hash of
 * the kernel's text (dtypes, shapes, outputs and constants included). A kernel whose text another has already is
 * that one. */
#include "metal_gen.h"

enum { LONGEST = 40, KEPT = 28 }; /* characters of the ops: whole, and before a hash */

/* Shorter or better known forms, in names only. */
static const char *const short_forms[][2] = {
    {"absolute", "abs"},  {"add", "add"},       {"bitwise_and", "band"}, {"bitwise_or", "bor"},
    {"divide", "div"},    {"equal", "eq"},      {"greater", "gt"},       {"greater_equal", "ge"},
    {"less", "lt"},       {"less_equal", "le"}, {"logical_and", "and"},  {"logical_not", "not"},
    {"logical_or", "or"}, {"maximum", "max"},   {"minimum", "min"},      {"multiply", "mul"},
    {"negative", "neg"},  {"set_at", "scatter"}, {"add_at", "scatter_add"}, {"multiply_at", "scatter_prod"},
    {"maximum_at", "scatter_max"}, {"minimum_at", "scatter_min"},
    {"not_equal", "ne"},  {"pick", "gather"},    {"subtract", "sub"},
};

static const char *short_name(const char *name) {
  for (size_t i = 0; i < sizeof short_forms / sizeof *short_forms; i++)
    if (!strcmp(short_forms[i][0], name)) return short_forms[i][1];
  return name;
}

/* The ops of a kernel's body, joined by "_", conversions only where there is nothing else; a kernel that only moves
 * elements is named after its views. */
static const char *ops_of(nv_ctx *c, const nv_graph *g, const nv_kernel *k, uint64_t hash) {
  nv_buf b;
  nv_buf_init(&b, c);
  uint32_t kept = 0;
  bool converts = false;
  for (uint32_t i = 0; i < k->ninstrs && b.n <= LONGEST; i++) {
    const nv_instr *p = &k->instrs[i];
    if (p->kind == NV_I_OP && p->value == NV_NONE) continue; /* part of a fold */
    if (!nv_computes(p) && !nv_picks(p)) continue;
    if (p->kind == NV_I_OP && p->op == NV_OP_astype) {
      converts = true;
      continue;
    }
    nv_printf(&b, "%s%s", b.n ? "_" : "",
              short_name(nv_ops[nv_picks(p) ? NV_OP_pick : p->kind == NV_I_FOLD ? k->reduce_op : (nv_op)p->op].name));
    if (p->kind == NV_I_SCAN && k->scan.part != NV_SCAN_WHOLE)
      nv_puts(&b, k->scan.part == NV_SCAN_TOTALS ? "_totals" : "_blocks");
    if (b.n <= KEPT) kept = b.n;
  }
  if (!b.n && converts) nv_puts(&b, "astype");
  for (uint32_t i = 0; !b.n && i < k->nnodes; i++)
    if (nv_ops[g->nodes[k->nodes[i]].op].cls != NV_LEAF) nv_puts(&b, nv_ops[g->nodes[k->nodes[i]].op].name);
  if (!b.n) nv_puts(&b, "copy");
  if (b.n > LONGEST) {
    b.n = kept;
    nv_printf(&b, "_%08x", (unsigned)(hash >> 32));
  }
  return nv_keep(&b);
}

typedef struct shared { /* a text that has a kernel */
  const nv_kernel *kernel;
  uint32_t offset, length; /* in the texts */
} shared;

void nv_emit_names(nv_module *m) {
  nv_ctx *c = m->c;
  nv_emit_tie_init(m);
  m->views = NV_NEW_N(m->c, struct nv_view *, (size_t)m->nprograms + 1);
  nv_buf texts;
  nv_buf_init(&texts, c);
  shared *list = NULL;
  uint32_t n = 0, cap = 0, number = 0;
  nv_map by_text = {0};
  nv_names taken;
  nv_names_init(&taken, c);
  for (uint32_t i = 0; i < m->nprograms; i++) {
    nv_program *p = &m->programs[i];
    c->where = p->entry->pos;
    const char *entry = nv_text(c, p->entry->name);
    p->symbol = strcmp(entry, m->name) ? nv_format(c, "%s_%s", m->prefix_c, entry) : m->prefix_c;
    if (!i || p->entry != m->programs[i - 1].entry) number = 0;
    for (uint32_t j = 0; p->plan && j < p->plan->nkernels; j++) {
      nv_kernel *k = &p->plan->kernels[j];
      const uint32_t start = texts.n;
      k->name = NULL;
      nv_emit_kernel_body(&texts, m, p->plan, k);
      const uint32_t length = texts.n - start;
      const uint64_t hash = nv_hash(texts.p + start, length, 0);
      uint32_t at = 0, id;
      while ((id = nv_map_next(&by_text, hash, &at)) != NV_NONE)
        if (list[id].length == length && !memcmp(texts.p + list[id].offset, texts.p + start, length)) break;
      if (id != NV_NONE) {
        texts.n = start;
        k->name = list[id].kernel->name;
        k->emitted = id;
        continue;
      }
      k->name = nv_names_fresh(
          &taken, nv_format(c, "%s_k%u_%s", p->symbol, (unsigned)number++, ops_of(c, p->plan->graph, k, hash)));
      k->emitted = n;
      nv_map_add(c, &by_text, hash, n);
      NV_GROW(c, list, cap, (size_t)n + 1);
      list[n++] = (shared){k, start, length};
    }
  }
  nv_names_drop(&taken);
  nv_drop(c, texts.p);
  nv_drop(c, list);
  nv_drop(c, by_text.hash);
  nv_drop(c, by_text.id);
}
