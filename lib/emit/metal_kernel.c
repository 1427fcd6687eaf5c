/* metal_kernel.c - one kernel's text: how many elements a thread computes, the grid, names, offsets, the
 * parameters. */
#include "../ir/data.h"
#include "metal_gen.h"

#include <stdio.h>

/* ---- what a thread computes ---- */

static nv_dim nv_inner_symbol(const nv_kernel *k) {
  return k->kind != NV_K_MAP ? k->reduce_symbol : k->rank ? k->symbol[k->rank - 1] : NV_NONE;
}

/* How an operand moves along the innermost dim: -1 neither by one nor not at all, or not by whole vectors. */
int nv_stride(nv_ctx *c, nv_dim offset, nv_dim symbol) {
  int64_t coefficient;
  nv_dim rest;
  if (!nv_dim_linear(c, offset, symbol, &coefficient, &rest)) return -1;
  if (coefficient == 0) return 0;
  if (coefficient != 1) return -1;
  for (uint32_t t = 0, n = nv_dim_nterms(c, rest); t < n; t++) {
    const uint32_t *atoms;
    uint32_t natoms;
    int64_t factor;
    nv_dim_term(c, rest, t, &factor, &atoms, &natoms);
    if (factor % 4) return -1;
  }
  return 1;
}

/* Instructions that run once an element of the innermost dim: all of a MAP, a REDUCE's before its reduction. */
static uint32_t inner_count(const nv_kernel *k) {
  uint32_t n = 0;
  while (n < k->ninstrs && k->instrs[n].kind != NV_I_REDUCE && k->instrs[n].kind != NV_I_SCAN) n++;
  return n;
}

bool *nv_gen_varying(nv_ctx *c, const nv_kernel *k) {
  const nv_dim symbol = nv_inner_symbol(k);
  bool *varies = NULL;
  for (uint32_t i = 0; i < k->ninstrs && !varies; i++)
    if (nv_picks(&k->instrs[i])) varies = NV_NEW_N(c, bool, k->ninstrs);
  for (uint32_t i = 0; i < k->ninstrs && varies; i++) {
    const nv_instr *p = &k->instrs[i];
    if ((p->kind == NV_I_LOAD || p->kind == NV_I_INDEX) && symbol != NV_NONE)
      varies[i] = nv_dim_uses(c, p->offset, symbol);
    for (uint32_t a = 0; a < p->nargs; a++) varies[i] = varies[i] || varies[p->arg[a]];
  }
  return varies;
}

/* Instructions that indices are made of. */
static bool *find_leads(nv_ctx *c, const nv_kernel *k) {
  bool *leads = NV_NEW_N(c, bool, k->ninstrs);
  for (uint32_t i = k->ninstrs; i-- > 0;)
    for (uint32_t a = 0; (leads[i] || nv_picks(&k->instrs[i])) && a < k->instrs[i].nargs; a++)
      leads[k->instrs[i].arg[a]] = true;
  return leads;
}

/* Is the offset the symbol plus a constant? */
static bool is_known_step(nv_ctx *c, nv_dim offset, nv_dim symbol) {
  int64_t value;
  return nv_dim_is_const(c, nv_dim_sub(c, offset, symbol), &value);
}

uint32_t nv_kernel_width(nv_ctx *c, const nv_kernel *k, bool *tail) {
  enum { LEAST = 8, MANY = 64, UNSEEN = -2 };
  int64_t known;
  int strides[MANY];
  *tail = false;
  if (k->kind == NV_K_ROWS) return nv_rows_width(c, k);
  const nv_dim symbol = nv_inner_symbol(k);
  const bool reduce = k->kind == NV_K_REDUCE;
  if (k->kind == NV_K_SCAN) return nv_scan_width(c, k);
  if (symbol == NV_NONE || k->noperands > MANY || k->folds) return 1;
  const nv_dim extent = reduce ? k->reduce_extent : k->extent[k->rank - 1], four = nv_dim_const(c, 4);
  const bool whole = nv_dim_mod(c, extent, four) == NV_DIM_ZERO; /* vectors */
  if (nv_dim_is_const(c, extent, &known) && (known < LEAST || (!whole && known >= NV_NARROW))) return 1;
  if (!whole && (reduce || k->rank != 1 || k->guarded)) return 1;
  if (!reduce && k->guarded && (nv_stride(c, k->guard, symbol) != 1 || nv_dim_value(c, k->limit) % 4)) return 1;
  for (uint32_t o = 0; o < k->noperands; o++) strides[o] = UNSEEN;
  const uint32_t inner = inner_count(k);
  const bool *varies = nv_gen_varying(c, k);
  bool any = false;
  if (varies && !whole) return 1;
  for (uint32_t i = 0; i < k->ninstrs; i++) {
    const nv_instr *p = &k->instrs[i];
    if (p->kind == NV_I_INDEX && i < inner && nv_dim_uses(c, p->offset, symbol)) return 1;
    if (!nv_moves(p)) continue;
    int *before = &strides[p->operand];
    if (i >= inner) { /* once a point: the binding stays scalar */
      if (*before == 1) return 1;
      continue;
    }
    const int s = nv_stride(c, p->offset, symbol);
    if (nv_picks(p) && (varies[p->arg[0]] || (s == 1 && nv_dim_mod(c, p->stride, four)))) return 1;
    if (s < 0 || (p->kind == NV_I_STORE && s == 0) || nv_dtype_size[p->dtype] > 4) return 1;
    if (s == 1 && !whole && !is_known_step(c, p->offset, symbol)) return 1;
    if (*before != UNSEEN && *before != s) return 1; /* every access of a binding moves alike */
    *before = s;
    any = any || s == 1;
  }
  *tail = any && !whole;
  return any ? 4 : 1;
}

bool nv_operand_is_vector(nv_ctx *c, const nv_kernel *k, uint32_t operand) {
  bool tail;
  if (k->kind == NV_K_ROWS) return nv_row_is_vector(c, k, operand);
  if (nv_kernel_width(c, k, &tail) != 4) return false;
  if (k->kind == NV_K_SCAN) return nv_scan_is_vector(c, k, operand);
  for (uint32_t i = 0, n = inner_count(k); i < n; i++)
    if (nv_moves(&k->instrs[i]) && k->instrs[i].operand == operand)
      return nv_stride(c, k->instrs[i].offset, nv_inner_symbol(k)) == 1;
  return false;
}

uint32_t nv_operand_align(nv_ctx *c, const nv_kernel *k, uint32_t operand) {
  const uint32_t size = nv_dtype_size[k->operands[operand].dtype];
  return nv_operand_is_vector(c, k, operand) ? 4 * size : size;
}

nv_dim nv_groups_of(nv_ctx *c, nv_dim n, int64_t each) {
  return nv_dim_floordiv(c, nv_dim_add(c, n, nv_dim_const(c, each - 1)), nv_dim_const(c, each));
}

bool nv_rows_are_many(nv_ctx *c, nv_dim rows) {
  int64_t least, most;
  nv_dim_bounds(c, rows, &least, &most);
  return most > NV_ROWS;
}

void nv_row_grid(nv_ctx *c, nv_dim rows, nv_dim grid[3]) {
  const nv_dim many = nv_dim_const(c, NV_ROWS);
  grid[0] = nv_dim_mul(c, nv_dim_const(c, 32), nv_dim_min(c, rows, many));
  if (nv_rows_are_many(c, rows)) grid[1] = nv_groups_of(c, rows, NV_ROWS);
}

void nv_gen_row_position(nv_gen *e, const char *row, nv_dim rows) {
  nv_printf(e->b, "  uint %s = pos.y * %lldu + (pos.x >> 5);\n", row, (long long)NV_ROWS);
  nv_printf(e->b, "  if (%s >= %s) {\n    return;\n  }\n", row, nv_index_size(&e->index, rows, false));
}

void nv_kernel_grid(nv_ctx *c, const nv_kernel *k, nv_dim grid[3]) {
  bool tail;
  int64_t known;
  grid[0] = grid[1] = grid[2] = nv_dim_const(c, 1);
  if (k->kind == NV_K_SCAN) {
    nv_scan_grid(c, k, grid);
    return;
  }
  if (k->kind == NV_K_ROWS) {
    nv_rows_grid(c, k, grid);
    return;
  }
  if (k->kind == NV_K_REDUCE) {
    if (nv_kernel_is_column(c, k)) grid[0] = k->extent[0];
    else nv_row_grid(c, k->extent[0], grid);
    return;
  }
  for (uint32_t d = 0; d < k->rank; d++) grid[k->rank - 1 - d] = k->extent[d];
  if (nv_kernel_width(c, k, &tail) == 4) grid[0] = nv_groups_of(c, grid[0], 4);
  for (int d = 0; d < 3; d++)
    if (nv_dim_is_const(c, grid[d], &known) && known >= NV_NARROW)
      nv_raise(c, NUVECC_SPEC, "not supported yet: a kernel over an axis of %lld elements", (long long)known);
}

/* ---- names ---- */

static const char *port_path(nv_ctx *c, nv_str name) {
  nv_buf b;
  nv_buf_init(&b, c);
  for (const char *p = nv_text(c, name); *p; p++)
    if (*p == '.' || *p == '[')
      nv_putc(&b, '_');
    else if (*p != ']')
      nv_putc(&b, *p);
  return nv_keep(&b);
}

/* The spec's name of a value: a statement's target, of whichever function; 0 when it has none. */
static nv_str spec_name(const nv_graph *g, nv_value v) {
  if (v == NV_NONE) return 0;
  const uint32_t origin = nv_node_of(g, v)->origin;
  if (origin == NV_NONE) return 0;
  const nv_origin *o = &g->origins[origin];
  if (o->ordinal || !o->name) return 0;
  const char *name = nv_text(g->c, o->name); /* an output without a name is out0 …: its function says more */
  const bool unnamed = !strncmp(name, "out", 3) && name[3] && !name[3 + strspn(name + 3, "0123456789")];
  return unnamed && o->parent != NV_NONE ? o->function : o->name;
}

const char *nv_gen_buffer_name(nv_gen *e, uint32_t operand) {
  enum { FEW = 256 }; /* outputs that are searched by value; beyond, the nodes' own names must do */
  const nv_graph *g = e->g;
  const nv_operand_rec *o = &e->k->operands[operand];
  const nv_node_rec *node = nv_node_of(g, o->value);
  const char *text = NULL;
  if (node->op == NV_OP_INPUT) {
    text = port_path(e->c, g->inputs[nv_attr_list(e->c, node->attr)[0]].name);
  } else if (nv_data_of(g, o->value) && nv_data_of(g, o->value)->name) {
    text = nv_text(e->c, nv_data_of(g, o->value)->name);
  } else {
    for (uint32_t i = 0; g->noutputs <= FEW && i < g->noutputs && !text; i++)
      if (g->outputs[i].value == o->value) text = port_path(e->c, g->outputs[i].name);
    const nv_str name = text ? 0 : spec_name(g, o->value);
    if (name) text = nv_text(g->c, name);
  }
  const bool fits = text && nv_msl_ident(text, strlen(text));
  const char *name = fits ? nv_names_take(&e->names, text) : NULL;
  if (fits && !name && o->written) name = nv_names_take(&e->names, nv_format(e->c, "%s_out", text));
  return name ? name
              : nv_names_fresh(&e->names, nv_format(e->c, "%s%u", o->written ? "out" : "in", (unsigned)operand));
}

const char *nv_gen_temporary(nv_gen *e, nv_value v) {
  const nv_str text = spec_name(e->g, v);
  const char *name =
      text && nv_msl_ident(nv_text(e->c, text), nv_text_len(e->c, text)) ? nv_names_fresh_of(&e->names, text) : NULL;
  while (!name) {
    char t[16];
    snprintf(t, sizeof t, "t%u", (unsigned)e->ntemporaries++);
    name = nv_names_take(&e->names, t);
  }
  return name;
}

const char *nv_gen_load_name(nv_gen *e, uint32_t operand) {
  const char *base = e->buffer[operand], *name = NULL;
  const char last = base[strlen(base) - 1];
  while (!name)
    name = nv_names_take(&e->names, nv_format(e->c, last >= '0' && last <= '9' ? "%s_%u" : "%s%u", base,
                                              (unsigned)e->nloads[operand]++));
  return name;
}

/* ---- the kernel ---- */

/* The stem of a kernel's name: through its number. The names of ops hold no "_k" with digits behind. */
static const char *stem_of(nv_ctx *c, const char *name) {
  size_t end = strlen(name);
  for (const char *p = name; (p = strstr(p, "_k")) != NULL; p += 2) {
    const size_t digits = strspn(p + 2, "0123456789");
    if (digits && (p[2 + digits] == '_' || !p[2 + digits])) end = (size_t)(p - name) + 2 + digits;
  }
  return nv_format(c, "%.*s", (int)end, name);
}

nv_dim nv_in_vectors(nv_ctx *c, nv_dim d, nv_dim symbol, nv_dim counter) {
  const nv_dim four = nv_dim_const(c, 4), by = nv_dim_mul(c, counter, four);
  return nv_dim_floordiv(c, nv_dim_replace(c, d, &symbol, &by, 1), four);
}

nv_dim nv_vector_counter(nv_ctx *c, nv_dim extent) {
  const nv_dim vectors = nv_dim_floordiv(c, extent, nv_dim_const(c, 4));
  int64_t known;
  const char *name = nv_dim_is_const(c, vectors, &known) ? nv_format(c, "vectors:%lld", (long long)known) : "vectors";
  return nv_dim_index(c, nv_intern_z(c, name), vectors);
}

/* Variables for the iteration symbols, offsets as they are printed, names and literals. */
static void prepare(nv_gen *e) {
  static const char *const names[4][3] = {{NULL}, {"i"}, {"row", "col"}, {"slab", "row", "col"}};
  nv_ctx *c = e->c;
  const nv_kernel *k = e->k;
  const bool reduce = k->kind != NV_K_MAP, scan = k->kind == NV_K_SCAN, simd = nv_kernel_is_simd(c, k);
  const uint32_t n = k->ninstrs;
  e->inner = inner_count(k);
  e->width = nv_kernel_width(c, k, &e->tail);
  e->buffer = NV_NEW_N(c, const char *, k->noperands + 1);
  e->nloads = NV_NEW_N(c, uint32_t, k->noperands + 1);
  e->vector = NV_NEW_N(c, bool, k->noperands + 1);
  e->text = NV_NEW_N(c, const char *, n + 1);
  e->field = NV_NEW_N(c, const char *, n + 1);
  e->offset = NV_NEW_N(c, nv_dim, n + 1);
  e->varies = nv_gen_varying(c, k);
  if (e->varies) e->leads = find_leads(c, k);

  nv_dim inner = nv_inner_symbol(k), counter = inner;
  if (e->width == 4 && !e->tail) { /* the innermost dim in vectors */
    counter = nv_vector_counter(c, reduce ? k->reduce_extent : k->extent[k->rank - 1]);
  }
  nv_names_take(&e->names, "pos");
  if (e->g->nsources) {
    nv_names_take(&e->names, "sizes");
    nv_names_take(&e->names, nv_format(c, "%s_sizes", e->stem));
  }
  nv_names_take(&e->names, e->name); /* a variable that hid a function that the kernel calls would be its end */
  nv_names_take(&e->names, nv_format(c, "%s_point", e->stem));
  nv_names_take(&e->names, nv_format(c, "%s_values", e->stem));
  if (simd) nv_names_take(&e->names, "lane");
  for (uint32_t d = 0; d < (reduce ? 1 : k->rank); d++) {
    const bool last = !reduce && d + 1 == k->rank;
    nv_index_symbol(&e->index, last ? counter : k->symbol[d],
                    nv_names_take(&e->names, scan ? "line" : simd ? "row" : reduce ? "point" : names[k->rank][d]));
  }
  if (reduce) nv_index_symbol(&e->index, counter, nv_names_take(&e->names, "e"));
  if (scan) nv_gen_scan_symbols(e);
  if (k->folds) nv_index_symbol(&e->index, k->reduce_symbol, nv_names_fresh(&e->names, "j"));

  for (uint32_t i = 0; i < n; i++) {
    const nv_instr *p = &k->instrs[i];
    if (p->kind == NV_I_CONST) e->text[i] = nv_gen_literal(e, (nv_dtype)p->dtype, p->bits);
    if (p->kind == NV_I_SIZE) e->text[i] = nv_names_fresh(&e->names, "n");
    if (p->kind == NV_I_INDEX) {
      e->offset[i] = p->offset;
      if (!scan || i < e->inner) nv_index_want(&e->index, p->offset, p->dtype == NV_I32);
    }
    if (!nv_moves(p)) continue;
    e->offset[i] = p->offset;
    if (e->width == 4 && (i < e->inner || scan) && nv_stride(c, p->offset, inner) == 1) {
      e->vector[p->operand] = true;
      if (!e->tail) e->offset[i] = nv_in_vectors(c, p->offset, inner, counter);
    }
    if (!scan || i < e->inner)
      nv_index_want(&e->index, e->offset[i], k->operands[p->operand].extent < NV_NARROW);
  }
  if (!reduce && k->guarded) {
    const bool vectors = e->width == 4;
    e->guard = vectors ? nv_in_vectors(c, k->guard, inner, counter) : k->guard;
    e->limit = nv_dim_value(c, k->limit) / (vectors ? 4 : 1);
    nv_index_want(&e->index, e->guard, false);
  }
  for (uint32_t o = 0; o < k->noperands; o++) e->buffer[o] = nv_gen_buffer_name(e, o);
  for (uint32_t i = 0; e->width == 4 && !scan && i < e->inner; i++)
    if (k->instrs[i].kind == NV_I_LOAD)
      e->text[i] = nv_gen_load_name(e, k->instrs[i].operand);
    else if (k->instrs[i].kind == NV_I_INDEX)
      e->text[i] = nv_names_fresh(&e->names, "at");
}

/* Variables for the numbers that follow from sizes. */
static void put_numbers(nv_gen *e) {
  for (uint32_t i = 0; i < e->k->ninstrs; i++) {
    const nv_instr *p = &e->k->instrs[i];
    if (p->kind != NV_I_SIZE) continue;
    nv_line(e->b, 2, "%s %s = %s;", nv_msl_type((nv_dtype)p->dtype), e->text[i],
            nv_index_number(&e->index, p->attr, (nv_dtype)p->dtype));
  }
}

static void keep_fields(nv_ctx *c, const nv_index *x, nv_kernel *k) {
  k->nfields = x->fields->n;
  if (!k->nfields) return;
  NV_GROW(c, k->fields, k->fields_cap, k->nfields);
  for (uint32_t i = 0; i < k->nfields; i++) k->fields[i] = x->fields->list[i].field;
}

void nv_emit_kernel_body(nv_buf *b, const nv_module *m, const nv_plan *p, nv_kernel *k) {
  nv_ctx *c = m->c;
  nv_buf body;
  const bool rows = k->kind == NV_K_ROWS;
  nv_gen e = {.b = b, .c = c, .g = p->graph, .k = k, .name = k->name ? k->name : "K"};
  for (uint32_t i = 0; i < k->ninstrs; i++)
    e.noperations += nv_computes(&k->instrs[i]);
  e.stem = stem_of(c, e.name);
  nv_names_init(&e.names, c);
  nv_index_init(&e.index, c, &e.names);
  if (rows) nv_gen_row_functions(&e);
  else prepare(&e);
  if (!rows && e.width == 4 && k->kind != NV_K_SCAN) nv_gen_point(&e);

  nv_buf_init(&body, c); /* before the parameters: it says which sizes are used */
  e.b = &body;
  nv_gen_tables(&e);
  put_numbers(&e);
  if (rows) nv_gen_rows(&e);
  else if (k->kind == NV_K_SCAN) nv_gen_scan(&e);
  else if (nv_kernel_is_simd(c, k)) nv_gen_reduce(&e);
  else if (k->kind == NV_K_REDUCE) nv_gen_column(&e);
  else nv_gen_map(&e);
  keep_fields(c, &e.index, k);
  if (k->nfields) nv_index_put_fields(&e.index, b, e.stem);

  const char **items = NV_NEW_N(c, const char *, k->noperands + 5);
  uint32_t n = 0;
  for (uint32_t o = 0; o < k->noperands - k->ntables; o++) {
    const nv_operand_rec *r = &k->operands[o];
    const char *type =
        e.vector[o] && !e.tail ? nv_gen_vector_type(&e, (nv_dtype)r->dtype) : nv_msl_type((nv_dtype)r->dtype);
    items[n++] =
        nv_format(c, "device %s%s* %s [[buffer(%u)]]", r->written ? "" : "const ", type, e.buffer[o], (unsigned)o);
  }
  if (k->nfields)
    items[n++] = nv_format(c, "constant %s_sizes& sizes [[buffer(%u)]]", e.stem,
                           (unsigned)(k->noperands - k->ntables));
  if (nv_kernel_group(c, k)) items[n++] = "uint3 pos [[threadgroup_position_in_grid]]";
  else if (k->kind != NV_K_MAP || k->rank) items[n++] = "uint3 pos [[thread_position_in_grid]]";
  if (rows ? nv_rows_lanes(c, k) == 32 : nv_kernel_is_simd(c, k))
    items[n++] = "uint lane [[thread_index_in_simdgroup]]";
  if (nv_kernel_group(c, k)) items[n++] = "uint block [[simdgroup_index_in_threadgroup]]";
  nv_printf(b, "kernel void %s", e.name);
  nv_put_list(b, 4, items, n, ") {");
  if (body.n) nv_put(b, body.p, body.n);
  nv_puts(b, "}\n");
  nv_drop(c, body.p);
  nv_index_drop(&e.index);
  nv_names_drop(&e.names);
}
