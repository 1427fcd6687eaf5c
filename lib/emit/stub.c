/* stub.c - NAME.c: the replay engine's text, the tape of the graph as constant tables, and the public functions. */
#include "stub.h"
#include "metal.h"

#include <inttypes.h>
#include <string.h>

extern const char nv_embed_replay_types[], nv_embed_replay[]; /* replay.h, replay.c */
extern const size_t nv_embed_replay_types_size, nv_embed_replay_size;

enum { MAX_NODES_TEXT = 160 }; /* bytes of the spec nodes that a kernel's row lists */

/* ---- shared with header.c ---- */

uint32_t nv_entry_end(const nv_module *m, uint32_t first) {
  const nv_program *p = &m->programs[first];
  uint32_t end = first + 1;
  for (; end < m->nprograms && m->programs[end].entry == p->entry; end++) {
    const nv_graph *a = p->plan->graph, *b = m->programs[end].plan->graph;
    bool same = a->ninputs == b->ninputs && a->noutputs == b->noutputs;
    for (uint32_t k = 0; same && k < a->ninputs; k++) same = a->inputs[k].name == b->inputs[k].name;
    for (uint32_t k = 0; same && k < a->noutputs; k++) same = a->outputs[k].name == b->outputs[k].name;
    if (!same) nv_bug(m->c, "signatures of entry %s have different trees", nv_text(m->c, p->entry->name));
  }
  return end;
}

/* Signatures are told apart by dtypes and shapes: two with the same would be one. */
static void check_distinct(const nv_module *m, uint32_t first, uint32_t end) {
  nv_map seen = {0};
  for (uint32_t k = first; k < end; k++) {
    const nv_graph *g = m->programs[k].plan->graph;
    uint64_t h = 0;
    uint32_t at = 0, other, i;
    for (i = 0; i < g->ninputs; i++) {
      const uint32_t type[2] = {nv_dtype_of(g, g->inputs[i].value), nv_shape_at(g, g->inputs[i].value)};
      h = nv_hash(type, sizeof type, h);
    }
    while ((other = nv_map_next(&seen, h, &at)) != NV_NONE) {
      const nv_graph *o = m->programs[other].plan->graph;
      for (i = 0; i < g->ninputs; i++)
        if (nv_dtype_of(g, g->inputs[i].value) != nv_dtype_of(o, o->inputs[i].value) ||
            nv_shape_at(g, g->inputs[i].value) != nv_shape_at(o, o->inputs[i].value))
          break;
      if (i == g->ninputs)
        nv_raise(m->c, NUVECC_SPEC,
                 "not supported yet: signatures %u and %u of entry '%s' take arrays of the same dtypes and shapes",
                 (unsigned)(other - first), (unsigned)(k - first), nv_text(m->c, m->programs[k].entry->name));
    }
    nv_map_add(m->c, &seen, h, k);
  }
  nv_drop(m->c, seen.hash);
  nv_drop(m->c, seen.id);
}

/* X for which X_create, X_destroy, X_error or X_release is a function of Apple's system, C or POSIX; and nvr, which the
 * replay engine's own names start with. */
static void check_symbols(const nv_module *m) {
  static const char *const taken[] = {"aio",     "cnd", "dispatch", "mach", "mtx",   "nvr", "nw",      "objc", "os",
                                      "pthread", "sec", "sem",      "thrd", "timer", "tss", "voucher", "xpc"};
  for (size_t k = 0; k < sizeof taken / sizeof *taken; k++)
    if (!strcmp(m->prefix_c, taken[k]) || !strncmp(m->prefix_c, "nvr_", 4))
      nv_raise(m->c, NUVECC_USAGE,
               "functions like %s_create or %s_release exist already: choose another name with --prefix", m->prefix_c,
               m->prefix_c);
}

void nv_check_stub(const nv_module *m) {
  check_symbols(m);
  for (uint32_t first = 0, end; first < m->nprograms; first = end)
    check_distinct(m, first, end = nv_entry_end(m, first));
}

/* U+202A..U+202E and U+2066..U+2069 change the order in which text is shown. */
static bool is_reordering(const unsigned char *p) {
  return p[0] == 0xe2 &&
         ((p[1] == 0x80 && p[2] >= 0xaa && p[2] <= 0xae) || (p[1] == 0x81 && p[2] >= 0xa6 && p[2] <= 0xa9));
}

void nv_put_comment(nv_buf *b, const char *text) {
  for (const char *p = text; *p; p++) {
    if ((*p == '*' && p[1] == '/') || (*p == '/' && p[1] == '*') || (*p == '?' && p[1] == '?')) {
      nv_putc(b, *p);
      nv_putc(b, ' ');
    } else if (is_reordering((const unsigned char *)p)) {
      nv_putc(b, '?');
      p += 2;
    } else {
      nv_putc(b, (unsigned char)*p < 32 || *p == 127 || *p == '\\' ? '?' : *p);
    }
  }
}

void nv_put_cstring(nv_buf *b, const char *text) {
  nv_putc(b, '"');
  for (const unsigned char *p = (const unsigned char *)text; *p; p++) {
    if (*p == '"' || *p == '\\' || (*p == '?' && b->p[b->n - 1] == '?')) nv_printf(b, "\\%c", *p); /* no trigraphs */
    else if (*p < 32 || *p > 126) nv_printf(b, "\\%03o", *p);
    else nv_putc(b, (char)*p);
  }
  nv_putc(b, '"');
}

void nv_put_value_type(nv_buf *b, const nv_graph *g, nv_value v) {
  nv_puts(b, nv_dtype_name[nv_dtype_of(g, v)]);
  if (nv_shape_rank(g->c, nv_shape_at(g, v))) nv_put_shape(b, nv_shape_at(g, v));
}

int64_t nv_value_bytes(const nv_graph *g, nv_value v) {
  return nv_shape_count(g->c, nv_shape_at(g, v)) * nv_dtype_size[nv_dtype_of(g, v)];
}

int64_t nv_scratch_bytes(const nv_plan *p) {
  bool empty = false;
  for (uint32_t k = 0; k < p->nkernels; k++)
    for (uint32_t i = 0; i < p->kernels[k].noperands; i++)
      empty = empty || !nv_value_bytes(p->graph, p->kernels[k].operands[i].value);
  return p->scratch_bytes || !empty ? p->scratch_bytes : 16;
}

const char *nv_tie_name(const nv_module *m) {
  return nv_format(m->c, "%s_tie_%016" PRIx64, m->prefix_c, nv_emit_tie(m));
}

/* Breaks behind a comma, so that a type and its name stay together. */
void nv_put_code(nv_buf *b, uint32_t indent, const char *format, ...) {
  va_list ap;
  va_start(ap, format);
  const char *text = nv_vformat(b->c, format, ap);
  va_end(ap);
  for (uint32_t more = 0;; more = 4) {
    size_t n = strlen(text), room = NV_CODE_COLUMNS - indent - more, cut = 0;
    for (uint32_t k = 0; k < indent + more; k++) nv_putc(b, ' ');
    for (size_t k = 0; n > room && k < room; k++)
      if (text[k] == ',' && text[k + 1] == ' ') cut = k + 1;
    nv_put(b, text, cut ? cut : n);
    nv_putc(b, '\n');
    if (!cut) break;
    text += cut + 1;
  }
}

/* ---- kernels ---- */

/* The kernels of all programs, those of one name once. */
typedef struct kernels {
  const nv_program **program; /* of the first that has it */
  const nv_kernel **kernel;
  uint32_t n, program_cap, kernel_cap;
  nv_map map;
} kernels;

static uint32_t find_kernel(const kernels *t, const char *name) {
  uint32_t at = 0, k;
  while ((k = nv_map_next(&t->map, nv_hash(name, strlen(name), 0), &at)) != NV_NONE)
    if (!strcmp(t->kernel[k]->name, name)) break;
  return k;
}

static kernels collect_kernels(const nv_module *m) {
  kernels t = {0};
  for (uint32_t i = 0; i < m->nprograms; i++) {
    const nv_plan *p = m->programs[i].plan;
    for (uint32_t k = 0; k < p->nkernels; k++) {
      const char *name = p->kernels[k].name;
      if (find_kernel(&t, name) != NV_NONE) continue;
      NV_GROW(m->c, t.kernel, t.kernel_cap, (size_t)t.n + 1);
      NV_GROW(m->c, t.program, t.program_cap, (size_t)t.n + 1);
      t.kernel[t.n] = &p->kernels[k];
      t.program[t.n] = &m->programs[i];
      nv_map_add(m->c, &t.map, nv_hash(name, strlen(name), 0), t.n++);
    }
  }
  return t;
}
static void drop_kernels(nv_ctx *c, kernels *t) {
  nv_drop(c, t->program);
  nv_drop(c, t->kernel);
  nv_drop(c, t->map.hash);
  nv_drop(c, t->map.id);
}

/* "ffn: h, y": the spec's statements that a kernel computes, the first of them when there are many. */
static const char *nodes_text(const nv_program *program, const nv_kernel *k) {
  const nv_graph *g = program->plan->graph;
  nv_names seen;
  nv_buf b, one;
  uint32_t left = 0, n = 0;
  nv_names_init(&seen, g->c);
  nv_buf_init(&b, g->c);
  nv_printf(&b, "%s:", nv_text(g->c, program->entry->name));
  for (uint32_t i = 0; i < k->nnodes; i++) {
    if (g->nodes[k->nodes[i]].op == NV_OP_CONST || g->nodes[k->nodes[i]].op == NV_OP_INPUT) continue;
    if (g->nodes[k->nodes[i]].origin == NV_NONE) continue;
    nv_buf_init(&one, g->c);
    nv_put_statement(&one, g, g->nodes[k->nodes[i]].origin);
    const char *name = nv_names_take(&seen, nv_buf_text(&one));
    nv_drop(g->c, one.p);
    if (!name) continue;
    if (b.n > MAX_NODES_TEXT)
      left++;
    else
      nv_printf(&b, "%s %s", n++ ? "," : "", name);
  }
  if (left) nv_printf(&b, " and %u more", (unsigned)left);
  nv_names_drop(&seen);
  return nv_keep(&b);
}

/* A string on lines of its own, cut behind commas. */
static void put_long_cstring(nv_buf *b, nv_ctx *c, uint32_t indent, const char *text) {
  enum { WIDTH = 90 };
  while (strlen(text) > WIDTH) {
    size_t n = WIDTH;
    while (n && text[n] != ' ') n--;
    if (!n) n = WIDTH;
    nv_put_cstring(b, nv_format(c, "%.*s", (int)n, text));
    nv_printf(b, "\n%*s", (int)indent, "");
    text += n;
  }
  nv_put_cstring(b, text);
}

static void put_kernels(nv_buf *b, const kernels *t) {
  nv_puts(b, "/* Kernels: name, the spec's statements that it computes, do its threads work in simdgroups,\n"
             " * and in threadgroups of how many (0: any). */\n");
  nv_puts(b, "static const nvr_kernel nvr_kernels[] = {\n");
  for (uint32_t k = 0; k < t->n; k++) {
    nv_puts(b, "    {");
    nv_put_cstring(b, t->kernel[k]->name);
    nv_puts(b, ",\n     ");
    put_long_cstring(b, t->program[k]->plan->graph->c, 5, nodes_text(t->program[k], t->kernel[k]));
    nv_printf(b, ", %d, %u},\n", nv_kernel_is_simd(t->program[k]->plan->graph->c, t->kernel[k]),
              (unsigned)nv_kernel_group(t->program[k]->plan->graph->c, t->kernel[k]));
  }
  if (!t->n) nv_puts(b, "    {NULL, NULL, 0, 0},\n");
  nv_puts(b, "};\n");
}

/* ---- shapes and types ---- */

static void put_shape_name(nv_buf *b, nv_ctx *c, nv_shape s) {
  nv_puts(b, "nvr_shape");
  for (uint32_t k = 0; k < nv_shape_rank(c, s); k++) nv_printf(b, "_%" PRId64, nv_dim_value(c, nv_shape_dims(c, s)[k]));
}

static void put_shapes(nv_buf *b, const nv_module *m) {
  nv_map seen = {0};
  for (uint32_t i = 0; i < m->nprograms; i++) {
    const nv_graph *g = m->programs[i].plan->graph;
    for (uint32_t k = 0; k < g->ninputs + g->noutputs; k++) {
      const nv_port *port = k < g->ninputs ? &g->inputs[k] : &g->outputs[k - g->ninputs];
      const nv_shape s = nv_shape_at(g, port->value);
      const uint64_t h = nv_hash(&s, sizeof s, 0);
      uint32_t at = 0, other;
      while ((other = nv_map_next(&seen, h, &at)) != NV_NONE && other != s) continue;
      if (other == s) continue;
      nv_map_add(m->c, &seen, h, s);
      nv_puts(b, "static const int64_t ");
      put_shape_name(b, m->c, s);
      nv_puts(b, "[] = {");
      for (uint32_t d = 0; d < nv_shape_rank(m->c, s); d++)
        nv_printf(b, "%s%" PRId64, d ? ", " : "", nv_dim_value(m->c, nv_shape_dims(m->c, s)[d]));
      nv_puts(b, nv_shape_rank(m->c, s) ? "};\n" : "1}; /* rank 0 */\n");
    }
  }
  nv_drop(m->c, seen.hash);
  nv_drop(m->c, seen.id);
}

const char *const nv_dtype_constant[NV_NDTYPES] = {
    "NUVEC_BOOL",  "NUVEC_UINT8", "NUVEC_UINT16",  "NUVEC_UINT32",   "NUVEC_UINT64",  "NUVEC_INT8",     "NUVEC_INT16",
    "NUVEC_INT32", "NUVEC_INT64", "NUVEC_FLOAT16", "NUVEC_BFLOAT16", "NUVEC_FLOAT32", "NUVEC_COMPLEX64"};

uint32_t *nv_port_aligns(const nv_plan *p) {
  const nv_graph *g = p->graph;
  uint32_t *align = NV_NEW_N(g->c, uint32_t, (size_t)g->ninputs + g->noutputs + 1);
  for (uint32_t k = 0; k < g->ninputs + g->noutputs; k++)
    align[k] = nv_dtype_size[nv_dtype_of(g, (k < g->ninputs ? g->inputs[k] : g->outputs[k - g->ninputs]).value)];
  for (uint32_t i = 0; i < p->nlaunches; i++) {
    const nv_kernel *k = &p->kernels[p->launches[i].kernel];
    for (uint32_t j = 0; j < k->noperands; j++) {
      const nv_place *at = &p->launches[i].places[j];
      const uint32_t need = at->kind == NV_PLACE_SCRATCH ? 0 : nv_operand_align(g->c, k, j);
      const uint32_t port = at->index + (at->kind == NV_PLACE_OUTPUT ? g->ninputs : 0);
      if (need > align[port]) align[port] = need;
    }
  }
  return align;
}

static void put_types(nv_buf *b, const nv_graph *g, const char *what, uint32_t entry, uint32_t signature,
                      const nv_port *ports, uint32_t n, const uint32_t *align) {
  if (!n) return;
  nv_printf(b, "static const nvr_type nvr_%u_%u_%s[] = {\n", (unsigned)entry, (unsigned)signature, what);
  for (uint32_t k = 0; k < n; k++) {
    const nv_shape s = nv_shape_at(g, ports[k].value);
    nv_printf(b, "    {%s, %u, ", nv_dtype_constant[nv_dtype_of(g, ports[k].value)], (unsigned)nv_shape_rank(g->c, s));
    put_shape_name(b, g->c, s);
    nv_printf(b, ", %" PRId64 ", %u}, /* ", nv_value_bytes(g, ports[k].value), (unsigned)align[k]);
    nv_put_comment(b, nv_text(g->c, ports[k].name));
    nv_puts(b, " */\n");
  }
  nv_puts(b, "};\n");
}

/* ---- launches ---- */

static void put_places(nv_buf *b, const nv_program *p, uint32_t entry, uint32_t signature) {
  const nv_graph *g = p->plan->graph;
  nv_printf(b, "static const nvr_place nvr_%u_%u_places[] = {\n", (unsigned)entry, (unsigned)signature);
  for (uint32_t i = 0; i < p->plan->nlaunches; i++) {
    const nv_launch *l = &p->plan->launches[i];
    const nv_kernel *k = &p->plan->kernels[l->kernel];
    nv_printf(b, "    /* %s */\n", k->name);
    for (uint32_t j = 0; j < k->noperands; j++) {
      const nv_place *at = &l->places[j];
      if (at->kind == NV_PLACE_SCRATCH) {
        nv_printf(b, "    {NVR_SCRATCH, 0, %" PRId64 "},\n", at->offset);
        continue;
      }
      const bool input = at->kind == NV_PLACE_INPUT;
      nv_printf(b, "    {%s, %u, 0}, /* ", input ? "NVR_INPUT" : "NVR_OUTPUT", (unsigned)at->index);
      nv_put_comment(b, nv_text(g->c, (input ? g->inputs : g->outputs)[at->index].name));
      nv_puts(b, " */\n");
    }
  }
  nv_puts(b, "};\n");
}

static void put_launches(nv_buf *b, const nv_module *m, const kernels *t, const nv_program *p, uint32_t entry,
                         uint32_t signature) {
  uint32_t place = 0;
  if (!p->plan->nlaunches) return;
  put_places(b, p, entry, signature);
  nv_printf(b, "static const nvr_launch nvr_%u_%u_launches[] = {\n", (unsigned)entry, (unsigned)signature);
  for (uint32_t i = 0; i < p->plan->nlaunches; i++) {
    const nv_launch *l = &p->plan->launches[i];
    const nv_kernel *k = &p->plan->kernels[l->kernel];
    nv_dim grid[3];
    nv_kernel_grid(m->c, k, grid);
    const char *row = nv_format(m->c, "{%u, %d, %u, nvr_%u_%u_places + %u, {%" PRId64 ", %" PRId64 ", %" PRId64 "}},",
                                (unsigned)find_kernel(t, k->name), l->barrier, (unsigned)k->noperands, (unsigned)entry,
                                (unsigned)signature, (unsigned)place, nv_dim_value(m->c, grid[0]),
                                nv_dim_value(m->c, grid[1]), nv_dim_value(m->c, grid[2]));
    const bool fits = strlen(row) + strlen(k->name) + 11 <= NV_COLUMNS;
    nv_printf(b, fits ? "    %s /* %s */\n" : "    %s\n    /* %s */\n", row, k->name);
    place += k->noperands;
  }
  nv_puts(b, "};\n");
}

/* ---- entries ---- */

static void put_names(nv_buf *b, const nv_ctx *c, const char *what, uint32_t entry, const nv_port *ports, uint32_t n) {
  if (!n) return;
  nv_printf(b, "static const char *const nvr_%u_%s[] = {\n", (unsigned)entry, what);
  for (uint32_t k = 0; k < n; k++) {
    nv_puts(b, "    ");
    nv_put_cstring(b, nv_text(c, ports[k].name));
    nv_puts(b, ",\n");
  }
  nv_puts(b, "};\n");
}

static void put_entry(nv_buf *b, const nv_module *m, const kernels *t, uint32_t entry, uint32_t first, uint32_t end) {
  const nv_graph *g = m->programs[first].plan->graph;
  nv_puts(b, "\n/* ---- entry ");
  nv_put_comment(b, nv_text(m->c, m->programs[first].entry->name));
  nv_puts(b, " ---- */\n");
  put_names(b, m->c, "inputs", entry, g->inputs, g->ninputs);
  put_names(b, m->c, "outputs", entry, g->outputs, g->noutputs);
  for (uint32_t k = first; k < end; k++) {
    const nv_program *p = &m->programs[k];
    if (end - first > 1) nv_printf(b, "/* signature %u */\n", (unsigned)(k - first));
    const uint32_t *align = nv_port_aligns(p->plan);
    put_types(b, p->plan->graph, "inputs", entry, k - first, p->plan->graph->inputs, g->ninputs, align);
    put_types(b, p->plan->graph, "outputs", entry, k - first, p->plan->graph->outputs, g->noutputs, align + g->ninputs);
    put_launches(b, m, t, p, entry, k - first);
  }
  nv_printf(b, "static const nvr_signature nvr_%u_signatures[] = {\n", (unsigned)entry);
  for (uint32_t k = 0; k < end - first; k++) {
    const nv_plan *p = m->programs[first + k].plan;
    const char *names[3] = {"inputs", "outputs", "launches"};
    const uint32_t counts[3] = {g->ninputs, g->noutputs, p->nlaunches};
    nv_puts(b, "    {");
    for (int i = 0; i < 3; i++) {
      if (counts[i]) nv_printf(b, "nvr_%u_%u_%s, ", (unsigned)entry, (unsigned)k, names[i]);
      else nv_puts(b, "NULL, ");
    }
    nv_printf(b, "%u, %" PRId64 "},\n", (unsigned)p->nlaunches, nv_scratch_bytes(p));
  }
  nv_puts(b, "};\n");
}

static void put_entry_row(nv_buf *b, const nv_module *m, uint32_t entry, uint32_t first, uint32_t end) {
  const nv_graph *g = m->programs[first].plan->graph;
  nv_puts(b, "    {");
  nv_put_cstring(b, m->programs[first].symbol);
  if (g->ninputs) nv_printf(b, ", nvr_%u_inputs, %u", (unsigned)entry, (unsigned)g->ninputs);
  else nv_puts(b, ", NULL, 0");
  if (g->noutputs) nv_printf(b, ", nvr_%u_outputs, %u", (unsigned)entry, (unsigned)g->noutputs);
  else nv_puts(b, ", NULL, 0");
  nv_printf(b, ", nvr_%u_signatures, %u, %u},\n", (unsigned)entry, (unsigned)(end - first), (unsigned)first);
}

void nv_emit_tape(nv_buf *b, const nv_module *m) {
  kernels t = collect_kernels(m);
  put_kernels(b, &t);
  nv_puts(b, "\n/* Shapes of inputs and outputs. */\n");
  put_shapes(b, m);
  for (uint32_t first = 0, end, entry = 0; first < m->nprograms; first = end, entry++)
    put_entry(b, m, &t, entry, first, end = nv_entry_end(m, first));
  nv_puts(b, "\nstatic const nvr_entry nvr_entries[] = {\n");
  for (uint32_t first = 0, end, entry = 0; first < m->nprograms; first = end, entry++)
    put_entry_row(b, m, entry, first, end = nv_entry_end(m, first));
  nv_puts(b, "};\n");
  drop_kernels(m->c, &t);
}

/* GPU families (MTLGPUFamily) of which one is needed: simdgroup shuffles in the order needed are known from Apple7
 * and Mac2 on, threadgroups of any size from Apple4 and Mac1 (Metal's feature set tables). */
static void put_tape(nv_buf *b, const nv_module *m) {
  bool simd = false;
  uint32_t nkernels, nentries = 0;
  kernels t = collect_kernels(m);
  nkernels = t.n;
  for (uint32_t k = 0; k < t.n; k++) simd = simd || nv_kernel_is_simd(m->c, t.kernel[k]);
  drop_kernels(m->c, &t);
  for (uint32_t first = 0; first < m->nprograms; first = nv_entry_end(m, first)) nentries++;
  nv_puts(b, "\nstatic const nvr_tape nvr_the_tape = {\n    ");
  nv_put_cstring(b, m->name);
  nv_printf(b, ",\n    \"%s\",\n    \"%s\", %u, %u, /* the oldest system */\n", nv_tie_name(m), m->c->target->os,
            (unsigned)m->c->target->os_major, (unsigned)m->c->target->os_minor);
  nv_printf(b, "    %d, %d, /* GPU families, of which one is needed */\n", simd ? 1007 : 1004, simd ? 2002 : 2001);
  nv_printf(b, "    nvr_kernels, %u, nvr_entries, %u, %u};\n", (unsigned)nkernels, (unsigned)nentries,
            (unsigned)m->nprograms);
}

/* ---- public functions ---- */

/* Of style tree: the structs hold nothing but arrays, so they are passed on as such. */
static void put_tree_functions(nv_buf *b, const nv_module *m, uint32_t entry, const nv_program *p) {
  const unsigned nin = p->plan->graph->ninputs, nout = p->plan->graph->noutputs;
  const char *s = p->symbol;
  const char *arguments =
      nv_format(m->c, "%s_context *context, const %s_inputs *inputs, %s_outputs *outputs", m->prefix_c, s, s);
  const char *arrays = nv_format(m->c,
                                 "(nvr_context *)context, &nvr_entries[%u], (const nuvec_array *)(const void *)"
                                 "inputs, %u, (nuvec_array *)(void *)outputs, %u",
                                 (unsigned)entry, nin, nout);
  if (nin)
    nv_put_code(b, 0,
                "typedef char nvr_%u_inputs_are_arrays[\n"
                "    sizeof(%s_inputs) == %u * sizeof(nuvec_array) ? 1 : -1];",
                (unsigned)entry, s, nin);
  if (nout)
    nv_put_code(b, 0,
                "typedef char nvr_%u_outputs_are_arrays[\n"
                "    sizeof(%s_outputs) == %u * sizeof(nuvec_array) ? 1 : -1];",
                (unsigned)entry, s, nout);
  nv_put_code(b, 0, "nuvec_status %s_call(%s) {", s, arguments);
  nv_put_code(b, 2, "return nvr_call(%s);", arrays);
  nv_put_code(b, 0, "}");
  nv_put_code(b, 0, "nuvec_status %s_shapes(%s, size_t *scratch) {", s, arguments);
  nv_put_code(b, 2, "return nvr_shapes(%s, scratch);", arrays);
  nv_put_code(b, 0, "}");
}

static void put_array_function(nv_buf *b, const nv_module *m, uint32_t entry, const nv_program *p, const char *name,
                               bool shapes) {
  nv_put_code(b, 0,
              "nuvec_status %s_%s(%s_context *context, const nuvec_array *inputs, size_t ninputs, "
              "nuvec_array *outputs, size_t noutputs%s) {",
              p->symbol, name, m->prefix_c, shapes ? ", size_t *scratch" : "");
  nv_put_code(b, 2, "return nvr_%s((nvr_context *)context, &nvr_entries[%u], inputs, ninputs, outputs, noutputs%s);",
              shapes ? "shapes" : "call", (unsigned)entry, shapes ? ", scratch" : "");
  nv_put_code(b, 0, "}");
}

static void put_functions(nv_buf *b, const nv_module *m) {
  const char *name = m->prefix_c;
  nv_puts(b, "\n/* ---- the functions of ");
  nv_put_comment(b, m->name);
  nv_puts(b, ".h ---- */\n\n");
  nv_put_code(b, 0, "nuvec_status %s_create(const nuvec_options *options, %s_context **context) {", name, name);
  nv_puts(b, "  nvr_context *made = NULL;\n  nuvec_status status;\n  if (!context) return NUVEC_NULL;\n");
  nv_put_code(b, 2, "status = nvr_create(&nvr_the_tape, options, &made);");
  nv_put_code(b, 2, "*context = (%s_context *)made;", name);
  nv_puts(b, "  return status;\n}\n");
  nv_put_code(b, 0,
              "nuvec_status %s_destroy(%s_context *context) {\n  return nvr_destroy((nvr_context *)context);\n}",
              name, name);
  nv_put_code(b, 0, "const char *%s_error(%s_context *context) {\n  return nvr_error((nvr_context *)context);\n}", name,
              name);
  nv_put_code(b, 0, "void %s_release(nuvec_array *array) { nvr_release(array); }", name);
  for (uint32_t first = 0, entry = 0; first < m->nprograms; first = nv_entry_end(m, first), entry++) {
    const nv_program *p = &m->programs[first];
    nv_putc(b, '\n');
    if (p->style == NV_STYLE_TREE) {
      put_tree_functions(b, m, entry, p);
    } else {
      put_array_function(b, m, entry, p, "call", false);
      put_array_function(b, m, entry, p, "shapes", true);
    }
    put_array_function(b, m, entry, p, "packed", false);
  }
}

/* A file of the engine without its first comment and the inclusion that ends with it. */
static void put_engine(nv_buf *b, nv_ctx *c, const char *text, size_t n, const char *include) {
  const char *from = strstr(text, include);
  if (!from) nv_bug(c, "the replay engine lacks %s", include);
  from += strlen(include);
  nv_put(b, from, n - (size_t)(from - text));
}

void nv_emit_c(nv_buf *b, const nv_module *m) {
  nv_check_stub(m);
  nv_puts(b, "/* ");
  nv_put_comment(b, m->name);
  nv_puts(b, ".c - made by nuvecc " NUVECC_VERSION " from a spec: don't edit.\n *\n");
  nv_puts(b, " * Replays the graph on Metal: ");
  nv_put_comment(b, m->name);
  nv_puts(b, ".h says how to call it. First comes the replay engine, the same in\n"
             " * every generated file, then the tape: constant tables that say which kernels run on what. All but the\n"
             " * header's functions is static; nothing changes but what a context holds. C99. Link with Metal and\n"
             " * Foundation, and with CoreGraphics for a command-line tool on macOS:\n"
             " *   cc app.c ");
  nv_put_comment(b, m->name);
  nv_puts(b, ".c -framework Metal -framework Foundation -framework CoreGraphics -lobjc\n *\n"
             " * This file is yours: nuvecc's text in it asks for no licence notice, in source or in binaries. */\n");
  nv_printf(b, "#include \"%s.h\"\n\n", m->name);
  put_engine(b, m->c, nv_embed_replay_types, nv_embed_replay_types_size, "#include \"abi.h\"\n\n");
  nv_putc(b, '\n');
  put_engine(b, m->c, nv_embed_replay, nv_embed_replay_size, "#include \"replay.h\"\n\n");
  nv_puts(b, "\n/* ---- the tape ---- */\n\n");
  nv_emit_tape(b, m);
  put_tape(b, m);
  put_functions(b, m);
}
