/* names.c - what is called how in a module: C symbols of programs, names of kernels, and which kernels are one
 * text.
 *
 * A kernel is SYMBOL_k<number>_<ops>: the number counts the entry's own kernels, so that a change of one entry
 * renames no other's; the ops are those of the body in order. Long chains keep their first ops and end in a hash of
 * what the kernel does (dtypes, sizes and constants included). A kernel whose text another has already is that one. */
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
              short_name(nv_ops[p->kind == NV_I_FOLD ? k->reduce_op : (nv_op)p->op].name));
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

static uint64_t add_number(uint64_t hash, uint64_t x) {
  unsigned char bytes[8];
  for (uint32_t i = 0; i < 8; i++) bytes[i] = (unsigned char)(x >> 8 * i);
  return nv_hash(bytes, sizeof bytes, hash);
}

/* Of what a kernel does, the same on every machine. */
static uint64_t form_of(nv_ctx *c, const nv_kernel *k) {
  uint64_t hash = (uint64_t)k->kind;
  int64_t n;
  for (uint32_t d = 0; d < k->rank; d++)
    if (nv_dim_is_const(c, k->extent[d], &n)) hash = add_number(hash, (uint64_t)n);
  if (k->kind != NV_K_MAP && nv_dim_is_const(c, k->reduce_extent, &n)) hash = add_number(hash, (uint64_t)n);
  for (uint32_t o = 0; o < k->noperands; o++)
    hash = add_number(hash, k->operands[o].dtype + 256u * k->operands[o].written);
  for (uint32_t i = 0; i < k->ninstrs; i++) {
    const nv_instr *p = &k->instrs[i];
    const char *op = nv_computes(p) ? nv_ops[p->op].name : ""; /* its number changes when another op is added */
    hash = nv_hash(op, strlen(op), add_number(add_number(hash, p->kind + 256u * p->dtype), p->operand));
    for (uint32_t a = 0; a < p->nargs; a++) hash = add_number(hash, p->arg[a]);
    if (p->kind == NV_I_CONST) hash = add_number(hash, p->bits);
  }
  return hash;
}

/* Of a kernel's text, whatever its number and wherever lines end. */
static uint64_t text_hash(const char *text, uint32_t n, const char *stem) {
  const size_t skip = strlen(stem);
  uint64_t hash = 0;
  for (uint32_t i = 0; i < n;)
    if (text[i] == stem[0] && n - i >= skip && !memcmp(text + i, stem, skip)) {
      i += (uint32_t)skip;
    } else {
      if (text[i] != ' ' && text[i] != '\n') hash = (hash ^ (unsigned char)text[i]) * 1099511628211u;
      i++;
    }
  return hash ^ hash >> 32;
}

typedef struct naming {
  nv_module *m;
  nv_names taken;
  nv_map by_text; /* of m->texts, by text_hash */
  uint32_t cap;
  nv_buf again;
} naming;

/* The kernel that has this one's text already, under its own name; NV_NONE: none. */
static uint32_t find(naming *w, const nv_plan *p, nv_kernel *k, uint64_t hash) {
  uint32_t at = 0, id;
  while ((id = nv_map_next(&w->by_text, hash, &at)) != NV_NONE) {
    const nv_kernel_text *t = &w->m->texts[id];
    w->again.n = 0;
    k->name = t->kernel->name;
    nv_emit_kernel_body(&w->again, w->m, p, k);
    if (w->again.n == t->length && !memcmp(w->again.p, w->m->text.p + t->offset, t->length)) break;
  }
  return id;
}

/* true: the kernel is one that is there already. */
static bool name_kernel(naming *w, const nv_program *p, nv_kernel *k, uint32_t number) {
  nv_ctx *c = w->m->c;
  nv_buf *text = &w->m->text;
  const uint32_t start = text->n;
  const char *stem = nv_format(c, "%s_k%u", p->symbol, (unsigned)number);
  const char *name = k->name = nv_format(c, "%s_%s", stem, ops_of(c, p->plan->graph, k, form_of(c, k)));
  nv_emit_kernel_body(text, w->m, p->plan, k);
  const uint64_t hash = text_hash(text->p + start, text->n - start, stem);
  const uint32_t id = find(w, p->plan, k, hash);
  if (id != NV_NONE) {
    text->n = start;
    k->emitted = id;
    return true;
  }
  k->name = nv_names_fresh(&w->taken, name);
  if (strcmp(k->name, name)) {
    text->n = start;
    nv_emit_kernel_body(text, w->m, p->plan, k);
  }
  k->emitted = w->m->ntexts;
  nv_map_add(c, &w->by_text, hash, w->m->ntexts);
  NV_GROW(c, w->m->texts, w->cap, (size_t)w->m->ntexts + 1);
  w->m->texts[w->m->ntexts++] = (nv_kernel_text){k, start, text->n - start};
  return false;
}

void nv_emit_names(nv_module *m) {
  nv_ctx *c = m->c;
  nv_emit_tie_init(m);
  m->views = NV_NEW_N(c, struct nv_view *, (size_t)m->nprograms + 1);
  nv_buf_init(&m->text, c);
  naming w = {.m = m};
  nv_buf_init(&w.again, c);
  nv_names_init(&w.taken, c);
  uint32_t number = 0;
  for (uint32_t i = 0; i < m->nprograms; i++) {
    nv_program *p = &m->programs[i];
    c->where = p->entry->pos;
    const char *entry = nv_text(c, p->entry->name);
    p->symbol = strcmp(entry, m->name) ? nv_format(c, "%s_%s", m->prefix_c, entry) : m->prefix_c;
    if (!i || p->entry != m->programs[i - 1].entry) number = 0;
    for (uint32_t j = 0; p->plan && j < p->plan->nkernels; j++)
      if (!name_kernel(&w, p, &p->plan->kernels[j], number)) number++;
  }
  nv_names_drop(&w.taken);
  nv_map_drop(c, &w.by_text);
  nv_drop(c, w.again.p);
}
