/* tape.c - the tape of a graph: constant tables in NAME.c that say what to replay. */
#include "../ir/data.h"
#include "metal.h"
#include "stub.h"

#include <inttypes.h>
#include <string.h>

enum { MAX_NODES_TEXT = 160 }; /* bytes of the spec nodes that a kernel's row lists */

/* ---- shared with header.c ---- */

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
  for (uint32_t first = 0; first < m->nprograms; first = nv_entry_end(m, first)) {
    m->c->where = m->programs[first].entry->pos;
    nv_view_of(m, first);
  }
  m->c->where = NV_NOWHERE;
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

nv_dim nv_value_size(const nv_graph *g, nv_value v) {
  return nv_dim_mul(g->c, nv_shape_elements(g->c, nv_shape_at(g, v)),
                    nv_dim_const(g->c, nv_dtype_size[nv_dtype_of(g, v)]));
}

void nv_put_size_comment(nv_buf *b, nv_dim d) {
  nv_buf text;
  nv_buf_init(&text, b->c);
  nv_put_dim(&text, d);
  nv_put_comment(b, nv_buf_text(&text));
  nv_drop(b->c, text.p);
}

bool nv_is_open(const nv_program *p) { return p->plan->graph->nsources != 0; }
bool nv_any_open(const nv_module *m) {
  uint32_t k = 0;
  while (k < m->nprograms && !nv_is_open(&m->programs[k])) k++;
  return k < m->nprograms;
}

int64_t nv_scratch_bytes(const nv_plan *p) {
  bool empty = false;
  if (p->graph->nsources) return 0;
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
  nv_map_drop(c, &t->map);
}

/* "ffn: h, y": the spec's statements that a kernel computes, the first of them when there are many. */
static const char *nodes_text(const nv_program *program, const nv_kernel *k) {
  const nv_graph *g = program->plan->graph;
  nv_statements seen = {.g = g};
  nv_buf b;
  uint32_t left = 0, n = 0;
  nv_buf_init(&b, g->c);
  nv_printf(&b, "%s:", nv_text(g->c, program->entry->name));
  for (uint32_t i = 0; i < k->nnodes; i++) {
    if (g->nodes[k->nodes[i]].op == NV_OP_CONST || g->nodes[k->nodes[i]].op == NV_OP_INPUT) continue;
    const uint32_t origin = g->nodes[k->nodes[i]].origin;
    if (origin == NV_NONE || !nv_statement_is_new(&seen, origin)) continue;
    if (b.n > MAX_NODES_TEXT) {
      left++;
      continue;
    }
    nv_puts(&b, n++ ? ", " : " ");
    nv_put_statement(&b, g, origin);
  }
  if (left) nv_printf(&b, " and %u more", (unsigned)left);
  nv_statements_drop(&seen);
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

/* The shape with -1 for its open sizes. */
static nv_shape pattern_of(nv_ctx *c, nv_shape s) {
  int64_t sizes[NV_MAX_RANK];
  for (uint32_t k = 0; k < nv_shape_rank(c, s); k++)
    if (!nv_dim_is_const(c, nv_shape_dims(c, s)[k], &sizes[k])) sizes[k] = -1;
  return nv_shape_of_ints(c, sizes, nv_shape_rank(c, s));
}

static void put_shape_name(nv_buf *b, nv_ctx *c, nv_shape s) {
  nv_puts(b, "nvr_shape");
  for (uint32_t k = 0; k < nv_shape_rank(c, s); k++) {
    int64_t size;
    if (nv_dim_is_const(c, nv_shape_dims(c, s)[k], &size) && size >= 0) nv_printf(b, "_%" PRId64, size);
    else nv_puts(b, "_open");
  }
}

static void put_shapes(nv_buf *b, const nv_module *m) {
  nv_map seen = {0};
  for (uint32_t i = 0; i < m->nprograms; i++) {
    const nv_graph *g = m->programs[i].plan->graph;
    for (uint32_t k = 0; k < g->ninputs + g->noutputs; k++) {
      const nv_port *port = k < g->ninputs ? &g->inputs[k] : &g->outputs[k - g->ninputs];
      const nv_shape s = pattern_of(g->c, nv_shape_at(g, port->value));
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
  nv_map_drop(m->c, &seen);
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
      if (at->kind != NV_PLACE_INPUT && at->kind != NV_PLACE_OUTPUT) continue;
      const uint32_t need = nv_operand_align(g->c, k, j);
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
    nv_printf(b, ", %" PRId64 ", %u}, /* ",
              nv_shape_is_static(g->c, s) ? nv_value_bytes(g, ports[k].value)
                                          : (int64_t)nv_dtype_size[nv_dtype_of(g, ports[k].value)],
              (unsigned)align[k]);
    nv_put_comment(b, nv_text(g->c, ports[k].name));
    nv_puts(b, " */\n");
  }
  nv_puts(b, "};\n");
}

/* ---- launches ---- */

static void put_data_place(nv_buf *b, const nv_data *d) {
  nv_printf(b, "    {NVR_DATA, 0, %" PRId64 "},", d->offset);
  if (d->name) {
    nv_puts(b, " /* ");
    nv_put_comment(b, nv_text(b->c, d->name));
    nv_puts(b, " */");
  }
  nv_putc(b, '\n');
}

/* What a launch's row ends in: the sizes that the call says, where they count. */
static const char *sizes_of(nv_ctx *c, const nv_module *m, const nv_program *p, uint32_t entry, uint32_t signature,
                            uint32_t launch) {
  if (!nv_any_open(m)) return "";
  if (!nv_is_open(p)) return ", NULL, NULL";
  return nv_format(c, ", nvr_%u_%u_sizes + %u, NULL", (unsigned)entry, (unsigned)signature, (unsigned)launch);
}

static void put_places(nv_buf *b, const nv_program *p, uint32_t entry, uint32_t signature) {
  const nv_graph *g = p->plan->graph;
  nv_printf(b, "static const nvr_place nvr_%u_%u_places[] = {\n", (unsigned)entry, (unsigned)signature);
  for (uint32_t i = 0; i < p->plan->nlaunches; i++) {
    const nv_launch *l = &p->plan->launches[i];
    const nv_kernel *k = &p->plan->kernels[l->kernel];
    nv_printf(b, "    /* %s */\n", k->name);
    for (uint32_t j = 0; j < k->noperands - k->ntables; j++) {
      const nv_place *at = &l->places[j];
      if (at->kind == NV_PLACE_DATA) {
        put_data_place(b, nv_data_at(g->c, at->index));
        continue;
      }
      if (at->kind == NV_PLACE_SCRATCH) {
        nv_printf(b, "    {NVR_SCRATCH, %u, %" PRId64 "},\n", nv_is_open(p) ? (unsigned)at->index : 0, at->offset);
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
    int64_t threads[3] = {0, 0, 0};
    nv_kernel_grid(m->c, k, grid);
    for (int d = 0; d < 3 && !nv_is_open(p); d++) threads[d] = nv_dim_value(m->c, grid[d]);
    const char *row = nv_format(m->c, "{%u, %d, %u, nvr_%u_%u_places + %u, {%" PRId64 ", %" PRId64 ", %" PRId64 "}%s},",
                                (unsigned)find_kernel(t, k->name), l->barrier,
                                (unsigned)(k->noperands - k->ntables), (unsigned)entry,
                                (unsigned)signature, (unsigned)place, threads[0], threads[1], threads[2],
                                sizes_of(m->c, m, p, entry, signature, i));
    const bool fits = strlen(row) + strlen(k->name) + 11 <= NV_COLUMNS;
    nv_printf(b, fits ? "    %s /* %s */\n" : "    %s\n    /* %s */\n", row, k->name);
    place += k->noperands - k->ntables;
  }
  nv_puts(b, "};\n");
}

/* ---- entries ---- */

static const char *const source_names[NV_SOURCES] = {"NVR_CALL", "NVR_BOUND", "NVR_STATE", "NVR_STATICS"};

/* Where a port or key stands, as two initializers. */
static void put_place(nv_buf *b, const nv_view *v, nv_spot s, bool array, bool output) {
  nv_printf(b, "%s, ", source_names[s.source]);
  if (array && v->flat && s.source == NV_FROM_CALL) {
    nv_printf(b, "%u * sizeof(nuvec_array)", (unsigned)s.item);
    return;
  }
  nv_printf(b, "offsetof(%s, ", nv_struct_name(v, s.source, output));
  nv_put_spot(b, v, s, output);
  nv_putc(b, ')');
}

static void put_ports(nv_buf *b, const nv_view *v, uint32_t entry, uint32_t form, const char *what,
                      const nv_port *ports, uint32_t n, const nv_spot *spots, bool output) {
  if (!n) return;
  nv_printf(b, "static const nvr_port nvr_%u_form%u_%s[] = {\n", (unsigned)entry, (unsigned)form, what);
  for (uint32_t k = 0; k < n; k++) {
    nv_puts(b, "    {");
    nv_put_cstring(b, nv_text(v->m->c, ports[k].name));
    nv_puts(b, ", ");
    put_place(b, v, spots[k], true, output);
    nv_puts(b, "},\n");
  }
  nv_puts(b, "};\n");
}

static bool has_choices(const nv_view_key *k) { return k->kind == NV_KEY_CHOICE || k->kind == NV_KEY_VARIANT; }

static void put_choices(nv_buf *b, const nv_view *v, uint32_t entry) {
  for (uint32_t k = 0; k < v->nkeys; k++) {
    if (!has_choices(&v->keys[k])) continue;
    nv_printf(b, "static const char *const nvr_%u_choices%u[] = {", (unsigned)entry, (unsigned)k);
    for (uint32_t i = 0; i < v->keys[k].nchoices; i++) {
      nv_puts(b, i ? ",\n    " : "\n    ");
      nv_put_cstring(b, nv_text(v->m->c, v->keys[k].choices[i]));
    }
    nv_puts(b, "};\n");
  }
}

static void put_int64(nv_buf *b, int64_t value) {
  if (value == INT64_MIN) nv_puts(b, "INT64_MIN");
  else nv_printf(b, "INT64_C(%" PRId64 ")", value);
}

static void put_keys(nv_buf *b, const nv_view *v, uint32_t entry, uint32_t form, uint32_t i) {
  uint32_t nvariants = 0;
  if (!v->nkeys) return;
  nv_printf(b, "static const nvr_key nvr_%u_form%u_keys[] = {\n", (unsigned)entry, (unsigned)form);
  for (uint32_t k = 0; k < v->nkeys; k++) {
    const nv_view_key *key = &v->keys[k];
    if (!key->has[i]) continue;
    nvariants += k < v->nvariants;
    nv_puts(b, "    {");
    nv_put_cstring(b, nv_text(v->m->c, key->path));
    nv_printf(b, ", %s, ",
              key->kind == NV_KEY_INT     ? "NVR_INT"
              : key->kind == NV_KEY_FLOAT ? "NVR_FLOAT"
                                          : "NVR_CHOICE");
    put_place(b, v, key->spot, false, false);
    if (has_choices(key))
      nv_printf(b, ", nvr_%u_choices%u, %u},\n", (unsigned)entry, (unsigned)k, (unsigned)key->nchoices);
    else
      nv_puts(b, ", NULL, 0},\n");
  }
  nv_puts(b, "};\n");
  if (!nvariants) return;
  nv_printf(b, "static const int64_t nvr_%u_form%u_variants[] = {", (unsigned)entry, (unsigned)form);
  for (uint32_t k = 0, n = 0; k < v->nvariants; k++)
    if (v->keys[k].has[i]) nv_printf(b, "%s%" PRId64, n++ ? ", " : "", v->keys[k].values[i]);
  nv_puts(b, "};\n");
}

static uint32_t count_keys(const nv_view *v, uint32_t i, uint32_t n) {
  uint32_t count = 0;
  for (uint32_t k = 0; k < n; k++) count += v->keys[k].has[i];
  return count;
}

static void put_forms(nv_buf *b, const nv_view *v, uint32_t entry) {
  uint32_t *firsts = NV_NEW_N(v->m->c, uint32_t, v->nforms);
  put_choices(b, v, entry);
  for (uint32_t i = v->n; i-- > 0;) firsts[v->form[i]] = i;
  for (uint32_t f = 0; f < v->nforms; f++) {
    const nv_graph *g = v->program[firsts[f]].plan->graph;
    put_ports(b, v, entry, f, "inputs", g->inputs, g->ninputs, v->inputs[firsts[f]], false);
    put_ports(b, v, entry, f, "outputs", g->outputs, g->noutputs, v->outputs[firsts[f]], true);
    put_keys(b, v, entry, f, firsts[f]);
  }
  nv_printf(b, "static const nvr_form nvr_%u_forms[] = {\n", (unsigned)entry);
  for (uint32_t f = 0; f < v->nforms; f++) {
    const nv_graph *g = v->program[firsts[f]].plan->graph;
    const unsigned e = (unsigned)entry, nkeys = (unsigned)count_keys(v, firsts[f], v->nkeys),
                   nvariants = (unsigned)count_keys(v, firsts[f], v->nvariants);
    nv_puts(b, "    {");
    if (g->ninputs) nv_printf(b, "nvr_%u_form%u_inputs, ", e, (unsigned)f);
    else nv_puts(b, "NULL, ");
    if (g->noutputs) nv_printf(b, "nvr_%u_form%u_outputs, ", e, (unsigned)f);
    else nv_puts(b, "NULL, ");
    nv_printf(b, "%u, %u, ", (unsigned)g->ninputs, (unsigned)g->noutputs);
    if (v->nkeys) nv_printf(b, "nvr_%u_form%u_keys, ", e, (unsigned)f);
    else nv_puts(b, "NULL, ");
    nv_printf(b, "%u, %u, ", nkeys, nvariants);
    if (nvariants) nv_printf(b, "nvr_%u_form%u_variants},\n", e, (unsigned)f);
    else nv_puts(b, "NULL},\n");
  }
  nv_puts(b, "};\n");
}

static void put_signature(nv_buf *b, const nv_module *m, const kernels *t, const nv_view *v, uint32_t entry,
                          uint32_t i) {
  const nv_plan *p = v->program[i].plan;
  const nv_graph *g = p->graph;
  const uint32_t *align = nv_port_aligns(p);
  if (v->n > 1) nv_printf(b, "/* signature %u */\n", (unsigned)i);
  put_types(b, g, "inputs", entry, i, g->inputs, g->ninputs, align);
  put_types(b, g, "outputs", entry, i, g->outputs, g->noutputs, align + g->ninputs);
  if (nv_is_open(&v->program[i])) nv_put_open(b, &v->program[i], entry, i);
  put_launches(b, m, t, &v->program[i], entry, i);
  if (!count_keys(v, i, v->nkeys)) return;
  nv_printf(b, "static const int64_t nvr_%u_%u_keys[] = {", (unsigned)entry, (unsigned)i);
  for (uint32_t k = 0, n = 0; k < v->nkeys; k++) {
    if (!v->keys[k].has[i]) continue;
    nv_puts(b, n % 4 ? ", " : n ? ",\n    " : "\n    ");
    put_int64(b, v->keys[k].values[i]);
    n++;
  }
  nv_puts(b, "};\n");
}

static void put_table(nv_buf *b, uint32_t entry, const char *name, const uint16_t *table, uint32_t size) {
  if (!table) return;
  nv_printf(b, "static const unsigned short nvr_%u_%s[] = {", (unsigned)entry, name);
  for (uint32_t k = 0; k < size; k++)
    nv_printf(b, "%s%u", k % 20 ? ", " : k ? ",\n    " : "\n    ", (unsigned)table[k]);
  nv_puts(b, "};\n");
}

static void put_entry(nv_buf *b, const nv_module *m, const kernels *t, uint32_t entry, uint32_t first) {
  const nv_view *v = nv_view_of(m, first);
  nv_puts(b, "\n/* ---- entry ");
  nv_put_comment(b, nv_text(m->c, v->program->entry->name));
  nv_puts(b, " ---- */\n");
  put_forms(b, v, entry);
  for (uint32_t i = 0; i < v->n; i++) put_signature(b, m, t, v, entry, i);
  nv_printf(b, "static const nvr_signature nvr_%u_signatures[] = {\n", (unsigned)entry);
  for (uint32_t k = 0; k < v->n; k++) {
    const nv_plan *p = v->program[k].plan;
    const char *names[4] = {"keys", "inputs", "outputs", "launches"};
    const uint32_t counts[4] = {count_keys(v, k, v->nkeys), p->graph->ninputs, p->graph->noutputs, p->nlaunches};
    nv_printf(b, "    {&nvr_%u_forms[%u], ", (unsigned)entry, (unsigned)v->form[k]);
    for (int i = 0; i < 4; i++) {
      if (counts[i]) nv_printf(b, "nvr_%u_%u_%s, ", (unsigned)entry, (unsigned)k, names[i]);
      else nv_puts(b, "NULL, ");
    }
    nv_printf(b, "%u, %" PRId64, (unsigned)p->nlaunches, nv_scratch_bytes(p));
    if (nv_is_open(&v->program[k])) nv_printf(b, ", &nvr_%u_%u_open", (unsigned)entry, (unsigned)k);
    else if (nv_any_open(m)) nv_puts(b, ", NULL");
    nv_puts(b, "},\n");
  }
  nv_puts(b, "};\n");
  uint32_t size = 0;
  const uint16_t *table = nv_view_table(v, &size);
  put_table(b, entry, "table", table, size);
  table = nv_view_open_table(v, &size);
  put_table(b, entry, "open_table", table, size);
}

static void put_entry_row(nv_buf *b, const nv_module *m, uint32_t entry, uint32_t first) {
  const nv_program *p = &m->programs[first];
  const unsigned e = (unsigned)entry, n = (unsigned)(nv_entry_end(m, first) - first);
  nv_puts(b, "    {");
  nv_put_cstring(b, p->symbol);
  nv_printf(b, ", nvr_%u_forms, sizeof nvr_%u_forms / sizeof *nvr_%u_forms, nvr_%u_signatures, %u,\n     ", e, e, e,
            e, n);
  if (n > 1) nv_printf(b, "nvr_%u_table, sizeof nvr_%u_table / sizeof *nvr_%u_table - 1", e, e, e);
  else nv_puts(b, "NULL, 0");
  if (nv_any_open(m)) {
    uint32_t size;
    if (!nv_view_open_table(nv_view_of(m, first), &size)) nv_puts(b, ", NULL, 0");
    else nv_printf(b, ", nvr_%u_open_table, %u", e, (unsigned)size - 1);
  }
  nv_printf(b, ", %" PRId64 ", %d},\n", p->entry->cache_capacity, nv_is_in_place(p));
}

void nv_emit_tape(nv_buf *b, const nv_module *m) {
  kernels t = collect_kernels(m);
  put_kernels(b, &t);
  nv_puts(b, "\n/* Shapes of inputs and outputs. */\n");
  put_shapes(b, m);
  for (uint32_t first = 0, end, entry = 0; first < m->nprograms; first = end, entry++)
    put_entry(b, m, &t, entry, first), end = nv_entry_end(m, first);
  nv_puts(b, "\nstatic const nvr_entry nvr_entries[] = {\n");
  for (uint32_t first = 0, end, entry = 0; first < m->nprograms; first = end, entry++)
    put_entry_row(b, m, entry, first), end = nv_entry_end(m, first);
  nv_puts(b, "};\n");
  if (m->has_data)
    nv_printf(b, "\nstatic const nvr_data nvr_the_data = {\"%016" PRIx64 "\", %" PRId64 "};\n", m->data_hash,
              m->data_bytes);
  drop_kernels(m->c, &t);
}

/* GPU families (MTLGPUFamily) of which one is needed: simdgroup shuffles in the order needed are known from Apple7
 * and Mac2 on, threadgroups of any size from Apple4 and Mac1 (Metal's feature set tables). */
void nv_emit_the_tape(nv_buf *b, const nv_module *m) {
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
  nv_printf(b, "    nvr_kernels, %u, nvr_entries, %u};\n", (unsigned)nkernels, (unsigned)nentries);
}
