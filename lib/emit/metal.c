/* metal.c - NAME.metal: one file a module, complete in itself. Header, the helpers that are used, the kernels, and
 * the kernel whose name ties the stub to this text and which tests the arithmetic. */
#include "metal.h"
#include "stub.h"

enum { COMMENT_LINES = 4 }; /* of spec nodes over a kernel; more are counted */

/* Items of a comment, separated by commas, wrapped, long ones cut. */
typedef struct comment {
  nv_buf *b;
  uint32_t line, lines, items, left_out;
} comment;

static void comment_begin(comment *w, nv_buf *b, const char *text) {
  *w = (comment){.b = b, .line = b->n};
  nv_printf(b, "// %s", text);
}
static void comment_item(comment *w, const char *text, size_t all) {
  enum { LONGEST_ITEM = 90 };
  size_t n = all;
  if (all > LONGEST_ITEM) /* cut between characters: bytes 10xxxxxx go on with the one before */
    for (n = LONGEST_ITEM - 3; n && ((unsigned char)text[n] & 0xc0) == 0x80;) n--;
  if (w->left_out) {
    w->left_out++;
    return;
  }
  const bool fits = w->b->n - w->line + 2 + n + 4 + (w->lines + 1 == COMMENT_LINES ? 20 : 0) <= NV_COLUMNS;
  if (!fits && w->lines + 1 == COMMENT_LINES) {
    w->left_out = 1;
    return;
  }
  if (w->items++) nv_putc(w->b, ',');
  if (!fits) {
    nv_puts(w->b, "\n//  ");
    w->line = w->b->n - 4;
    w->lines++;
  }
  nv_putc(w->b, ' ');
  nv_put(w->b, text, n);
  if (n < all) nv_puts(w->b, "...");
}
static void comment_end(comment *w) {
  if (!w->items) nv_puts(w->b, " an output that is a copy or a constant");
  if (w->left_out) nv_printf(w->b, " and %u more", (unsigned)w->left_out);
  nv_putc(w->b, '\n');
}

/* Text that can't end or continue a // comment. */
static void put_clean(nv_buf *b, const char *text, size_t n) {
  for (size_t i = 0; i < n; i++)
    nv_putc(b, (unsigned char)text[i] < 32 || text[i] == '\\' || text[i] == 127 ? '?' : text[i]);
}

/* Which statements of the spec a kernel computes, each once. */
static void put_origins(nv_buf *b, const nv_program *program, const nv_kernel *k) {
  const nv_graph *g = program->plan->graph;
  nv_statements seen = {.g = g};
  nv_buf text, clean;
  comment w;
  nv_buf_init(&text, g->c);
  nv_buf_init(&clean, g->c);
  put_clean(&clean, nv_text(g->c, program->entry->name), nv_text_len(g->c, program->entry->name));
  comment_begin(&w, b, nv_format(g->c, "%s:", nv_buf_text(&clean)));
  for (uint32_t i = 0; i < k->nnodes; i++) {
    const nv_node_rec *node = &g->nodes[k->nodes[i]];
    if (node->origin == NV_NONE || !nv_statement_is_new(&seen, node->origin)) continue;
    text.n = clean.n = 0;
    if (!w.left_out) nv_put_statement(&text, g, node->origin);
    put_clean(&clean, text.p, text.n);
    comment_item(&w, clean.p, clean.n);
  }
  comment_end(&w);
  nv_statements_drop(&seen);
  nv_drop(g->c, text.p);
  nv_drop(g->c, clean.p);
}

static void put_rows_note(nv_buf *b, nv_ctx *c, const nv_kernel *k) {
  const unsigned simdgroups = (unsigned)nv_kernel_group(c, k) / 32, n = (unsigned)nv_dim_value(c, k->reduce_extent);
  if (simdgroups)
    nv_printf(b, "// A threadgroup of %u simdgroups a row of %u elements", simdgroups, n);
  else
    nv_printf(b, "// %u threads a row of %u elements", nv_rows_lanes(c, k), n);
  nv_puts(b, ", joined in the order that the language fixes.\n");
}

static void put_reduction_note(nv_buf *b, nv_ctx *c, const nv_kernel *k) {
  int64_t n;
  nv_printf(b, "// One %s a point, ", nv_kernel_is_simd(c, k) ? "simdgroup" : "thread");
  if (nv_dim_is_const(c, k->reduce_extent, &n)) nv_printf(b, "%lld elements each, ", (long long)n);
  nv_puts(b, "joined in the order that the language fixes.\n");
}

static void put_notes(nv_buf *b, nv_ctx *c, const nv_kernel *k) {
  bool tail;
  const uint32_t width = nv_kernel_width(c, k, &tail);
  if (k->kind == NV_K_ROWS)
    put_rows_note(b, c, k);
  else if (k->kind == NV_K_REDUCE)
    put_reduction_note(b, c, k);
  else if (k->kind == NV_K_SCAN)
    nv_printf(b, "// %s, %lld elements a line, joined in the order that the language fixes.\n", nv_scan_words(k),
              (long long)nv_dim_value(c, k->reduce_extent));
  else if (width == 4)
    nv_puts(b, "// One thread for four neighbouring elements.\n");
}

/* All kernels' texts, each once. */
static void put_kernels(nv_buf *b, const nv_module *m) {
  uint32_t next = 0;
  for (uint32_t i = 0; i < m->nprograms; i++) {
    const nv_plan *p = m->programs[i].plan;
    for (uint32_t j = 0; p && j < p->nkernels && next < m->ntexts; j++) {
      if (&p->kernels[j] != m->texts[next].kernel) continue;
      nv_putc(b, '\n');
      put_origins(b, &m->programs[i], &p->kernels[j]);
      put_notes(b, m->c, &p->kernels[j]);
      nv_put(b, m->text.p + m->texts[next].offset, m->texts[next].length);
      next++;
    }
  }
}

/* The pragmas win over the compiler's flags where they are known: Xcode 16, and surely where Metal 3.2 is
 * (its own specification). A compiler that is older ignores them, so under fast math it is stopped. */
static const char prologue[] =
    "#include <metal_stdlib>\n"
    "#if defined(__FAST_MATH__) && __METAL_VERSION__ < 320\n"
    "#error \"compile with -fno-fast-math -ffp-contract=off, as %s.mk does: fast math changes results\"\n"
    "#endif\n"
    "#pragma clang diagnostic push\n"
    "#pragma clang diagnostic ignored \"-Wunknown-pragmas\"\n"
    "#pragma METAL fp math_mode(safe)\n"
    "#pragma METAL fp contract(off)\n"
    "#pragma clang diagnostic pop\n"
    "using namespace metal;\n";

static void put_module(nv_buf *b, const nv_module *m) {
  nv_printf(b, "// Generated by nuvecc %s from %s.\n", NUVECC_VERSION, m->name);
  nv_printf(b, prologue, m->name);
  nv_putc(b, '\n');
  nv_put_helpers(b, m->c, m->text.p, m->text.n);
  nv_put_tables(b, m);
  put_kernels(b, m);
}

struct nv_tie {
  bool known;
  uint64_t hash;
};

/* Of the module's text. */
static uint64_t tie_of(const char *metal, uint32_t n, const nv_module *m) {
  nv_buf tape;
  nv_buf_init(&tape, m->c);
  nv_emit_tape(&tape, m);
  m->tie->known = true;
  m->tie->hash = nv_hash(tape.p, tape.n, nv_hash(metal, n, 0));
  nv_drop(m->c, tape.p);
  return m->tie->hash;
}

void nv_emit_tie_init(nv_module *m) { m->tie = NV_NEW(m->c, struct nv_tie); }

uint64_t nv_emit_tie(const nv_module *m) {
  if (m->tie->known) return m->tie->hash;
  nv_buf b;
  nv_buf_init(&b, m->c);
  put_module(&b, m);
  tie_of(b.p, b.n, m);
  nv_drop(m->c, b.p);
  return m->tie->hash;
}

void nv_emit_metal(nv_buf *b, const nv_module *m) {
  const uint32_t start = b->n;
  put_module(b, m);
  const uint64_t hash = m->tie->known ? m->tie->hash : tie_of(b->p + start, b->n - start, m);
  nv_puts(b, "\n// Ties this file to the stub that came with it, which runs it once: is the arithmetic exact?\n");
  nv_printf(b, "kernel void %s_tie_%016llx(device uint* v [[buffer(0)]]) { nv_probe(v); }\n", m->prefix_c,
            (unsigned long long)hash);
}
