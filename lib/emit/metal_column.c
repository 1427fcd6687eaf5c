/* metal_column.c - REDUCE kernels of which each thread computes a point alone, in the order that metal_reduce.c keeps
 * with a simdgroup: for columns, whose neighbours are loaded by neighbouring threads, and for short rows.
 *
 * The manual's threads t are visited by their bits reversed, so those that are joined come one behind the other: the
 * result of each odd visit joins the one before, of each second pair the pair before, and so on. Five partial results
 * are all that has to be kept. Of n elements, up to 128, threads 0 … (n + 3) / 4 - 1 have some; rounded up to a power
 * of two, threads without elements are only met in the first join of a visit. */
#include "metal_gen.h"

enum {
  SHORTEST = 32,  /* elements of a row that a thread walks as fast as a simdgroup */
  LONGEST = 1024, /* one block */
  FEWEST = 4096   /* columns that keep a device busy */
};

/* ---- the choice ---- */

/* Does d have a term by 1 in what moves with one symbol and not with the other? */
static bool moves_by_one(nv_ctx *c, nv_dim d, nv_dim with, nv_dim without) {
  for (uint32_t t = 0, n = nv_dim_nterms(c, d); t < n; t++) {
    int64_t factor;
    const uint32_t *atoms;
    uint32_t natoms;
    nv_dim_term(c, d, t, &factor, &atoms, &natoms);
    if (natoms != 1 || (factor != 1 && factor != -1)) continue;
    const nv_atom *a = nv_dim_atom(c, atoms[0]);
    if (a->kind == NV_ATOM_SYMBOL) {
      if (nv_dim_of_atom(c, atoms[0]) == with) return true;
      continue;
    }
    if (a->kind == NV_ATOM_MOD && nv_dim_uses(c, a->a, with) && !nv_dim_uses(c, a->a, without)) return true;
  }
  return false;
}

bool nv_kernel_is_column(nv_ctx *c, const nv_kernel *k) {
  if (k->kind != NV_K_REDUCE) return false;
  int64_t n, points;
  if (!nv_dim_is_const(c, k->reduce_extent, &n)) return false;
  if (!nv_dim_is_const(c, k->extent[0], &points)) points = FEWEST;
  if (n <= SHORTEST) return n > 0;
  if (n > LONGEST || points < FEWEST) return false;
  const nv_dim point = k->symbol[0], element = k->reduce_symbol;
  bool columns = false;
  for (uint32_t i = 0; k->instrs[i].kind != NV_I_REDUCE; i++) {
    const nv_dim at = k->instrs[i].offset;
    if (k->instrs[i].kind != NV_I_LOAD || !nv_dim_uses(c, at, point) || !nv_dim_uses(c, at, element)) continue;
    if (moves_by_one(c, at, element, point)) return false;
    columns = columns || moves_by_one(c, at, point, element);
  }
  return columns;
}

/* ---- the text ---- */

typedef struct column {
  nv_gen *e;
  nv_dtype d;            /* of partial results */
  uint32_t n;            /* elements */
  uint32_t threads, log; /* that have elements; log2 of their number, rounded up */
  const char *thread;    /* number of the one visited, "" where there is one */
  const char *value;     /* its result */
  const char *part[4];   /* of its four columns; one array where elements are loaded one by one */
  const char *stack[5];
} column;

static const char *join(const column *w, const char *low, const char *high) {
  return nv_gen_join(w->e, w->d, low, high);
}

static void put_zeros(const column *w, uint32_t indent, const char *const *names, uint32_t n) {
  for (uint32_t i = 0; i < n; i++)
    nv_line(w->e->b, indent, "%s %s = %s;", nv_msl_type(w->d), names[i], nv_gen_literal(w->e, w->d, 0));
}

/* values[0 … n) joined to columns, first for k = 0. */
static void put_parts(const column *w, uint32_t indent, const char *step, const char *const *parts,
                      const char *const *values, uint32_t n) {
  nv_buf *b = w->e->b;
  if (*step) nv_line(b, indent, "if (%s == 0u) {", step);
  for (uint32_t i = 0; i < n; i++) nv_line(b, indent + (*step ? 2 : 0), "%s = %s;", parts[i], values[i]);
  if (!*step) return;
  nv_line(b, indent, "} else {");
  for (uint32_t i = 0; i < n; i++) nv_line(b, indent + 2, "%s = %s;", parts[i], join(w, parts[i], values[i]));
  nv_line(b, indent, "}");
}

/* What stands before the reduction for the elements of one thread, into its columns. */
static void put_elements(const column *w, uint32_t indent) {
  nv_gen *e = w->e;
  nv_ctx *c = e->c;
  nv_buf *b = e->b;
  const uint32_t from = e->k->instrs[e->inner].arg[0], start = indent, unit = e->width;
  const nv_dtype element = (nv_dtype)e->k->instrs[from].dtype;
  const char *variable = e->index.variables[1], *step = "", *at = "", *values[4];
  if (w->n > 128) {
    step = nv_names_fresh(&e->names, "k");
    nv_line(b, indent, "for (uint %s = 0u; %s < %uu; ++%s) {", step, step, (unsigned)(w->n + 127) / 128, step);
    at = nv_format(c, "%s * %uu", step, (unsigned)(128 / unit));
    indent += 2;
  }
  if (*w->thread) at = nv_format(c, "%s%s%s%s", at, *at ? " + " : "", w->thread, unit == 4 ? "" : " * 4u");
  if (unit == 4) {
    const bool guard = w->n > 128 && w->n % 128;
    nv_line(b, indent, "uint %s = %s;", variable, *at ? at : "0u");
    if (guard) nv_line(b, indent, "if (%s < %uu) {", variable, (unsigned)(w->n / 4)), indent += 2;
    nv_index_declare(&e->index, b, indent, NV_NONE);
    nv_gen_vector_loads(e, indent);
    if (e->nresults) nv_gen_calls(e, indent, false);
    for (uint32_t i = 0; i < 4; i++) values[i] = nv_gen_astype(e, element, w->d, nv_gen_component(e, from, i));
    put_parts(w, indent, step, w->part, values, 4);
  } else {
    const char *j = nv_names_fresh(&e->names, "j"), *part = nv_format(c, "%s[%s]", w->part[0], j);
    const bool guard = w->n % (w->n > 128 ? 128 : 4) && w->n > 4;
    nv_line(b, indent, "for (uint %s = 0u; %s < %uu; ++%s) {", j, j, (unsigned)(w->n < 4 ? w->n : 4), j);
    indent += 2;
    const char *place = guard ? nv_names_fresh(&e->names, "place") : variable;
    nv_line(b, indent, "uint %s = %s%s%s;", place, at, *at ? " + " : "", j);
    if (guard) nv_line(b, indent, "uint %s = metal::min(%s, %uu);", variable, place, (unsigned)w->n - 1);
    nv_index_declare(&e->index, b, indent, NV_NONE);
    nv_gen_scalar(e, indent, 0, e->inner);
    values[0] = nv_gen_astype(e, element, w->d, e->text[from]);
    const char *joined = values[0];
    if (*step) joined = nv_format(c, "%s == 0u ? %s : %s", step, joined, join(w, part, joined));
    if (guard) joined = nv_format(c, "%s >= %uu ? %s : %s", place, (unsigned)w->n, part, joined);
    nv_line(b, indent, "%s = %s;", part, joined); /* no branch that a load would wait for */
  }
  while (indent > start) indent -= 2, nv_line(b, indent, "}");
}

/* The columns joined: (c0 o c2) o (c1 o c3), without those that the last thread lacks. */
static void put_thread(column *w, uint32_t indent) {
  nv_gen *e = w->e;
  nv_buf *b = e->b;
  const uint32_t have = w->n >= 128 || w->n % 4 == 0 ? 4 : w->n % 4; /* columns of the last thread */
  const char *c[4];
  const char *low;
  if (e->width == 4) {
    for (uint32_t i = 0; i < 4; i++) w->part[i] = nv_names_fresh(&e->names, "c");
    put_zeros(w, indent, w->part, 4);
  } else {
    const char *zero = nv_gen_literal(e, w->d, 0);
    w->part[0] = nv_names_fresh(&e->names, "c");
    nv_line(b, indent, "%s %s[4] = {%s, %s, %s, %s};", nv_msl_type(w->d), w->part[0], zero, zero, zero, zero);
  }
  for (uint32_t i = 0; i < 4; i++)
    c[i] = e->width == 4 ? w->part[i] : nv_format(e->c, "%s[%u]", w->part[0], (unsigned)i);
  put_elements(w, indent);
  if (have == 4) {
    low = nv_names_fresh(&e->names, "even");
    const char *high = nv_names_fresh(&e->names, "odd");
    nv_line(b, indent, "%s %s = %s;", nv_msl_type(w->d), low, join(w, c[0], c[2]));
    nv_line(b, indent, "%s %s = %s;", nv_msl_type(w->d), high, join(w, c[1], c[3]));
    nv_line(b, indent, "%s = %s;", w->value, join(w, low, high));
    return;
  }
  if (w->threads == 1) { /* so are all threads */
    if (have == 3) nv_line(b, indent, "%s = %s;", c[0], join(w, c[0], c[2]));
    nv_line(b, indent, "%s = %s;", w->value, have > 1 ? join(w, c[0], c[1]) : c[0]);
    return;
  }
  static const uint32_t pairs[3][2] = {{0, 2}, {1, 3}, {0, 1}};
  for (uint32_t p = 0, guarded = 0; p < 3; p++) {
    const uint32_t lower = pairs[p][0], upper = pairs[p][1], guard = upper >= have;
    if (guard > guarded) nv_line(b, indent, "if (%s != %uu) {", w->thread, (unsigned)(w->threads - 1));
    if (guard < guarded) nv_line(b, indent, "}");
    nv_line(b, indent + 2 * guard, "%s = %s;", c[lower], join(w, c[lower], c[upper]));
    if (guard && p == 2) nv_line(b, indent, "}");
    guarded = guard;
  }
  nv_line(b, indent, "%s = %s;", w->value, c[0]);
}

static void put_reversed(column *w, const char *i, uint32_t indent) {
  nv_buf text;
  nv_buf_init(&text, w->e->c);
  for (uint32_t bit = 0; bit < w->log; bit++) {
    const uint32_t to = w->log - 1 - bit;
    nv_printf(&text, bit ? " | " : "");
    if (w->log == 1)
      nv_puts(&text, i);
    else if (to == bit)
      nv_printf(&text, "(%s & %uu)", i, 1u << bit);
    else
      nv_printf(&text, "((%s & %uu) %s %u)", i, 1u << bit, to > bit ? "<<" : ">>", to > bit ? to - bit : bit - to);
  }
  nv_line(w->e->b, indent, "uint %s = %s;", w->thread, nv_keep(&text));
}

/* All threads; returns the variable that holds the result. */
static const char *put_block(column *w) {
  nv_gen *e = w->e;
  nv_buf *b = e->b;
  const char *type = nv_msl_type(w->d);
  const char *total = nv_names_fresh(&e->names, e->k->reduce_op == NV_OP_mean ? "sum" : nv_ops[e->k->reduce_op].name);
  put_zeros(w, 2, &total, 1);
  if (w->threads == 1) {
    w->thread = "";
    w->value = total;
    put_thread(w, 2);
    return total;
  }
  const char *i = nv_names_fresh(&e->names, "i");
  w->thread = nv_names_fresh(&e->names, "t");
  w->value = nv_names_fresh(&e->names, "value");
  for (uint32_t l = 0; l < w->log; l++) w->stack[l] = nv_names_fresh(&e->names, "s");
  put_zeros(w, 2, w->stack, w->log);
  nv_line(b, 2, "for (uint %s = 0u; %s < %uu; ++%s) {", i, i, 1u << w->log, i);
  put_reversed(w, i, 4);
  nv_line(b, 4, "%s %s = %s;", type, w->value, nv_gen_literal(e, w->d, 0));
  const bool guard = w->threads < 1u << w->log;
  if (guard) nv_line(b, 4, "if (%s < %uu) {", w->thread, (unsigned)w->threads);
  put_thread(w, guard ? 6 : 4);
  if (guard) nv_line(b, 4, "}");
  uint32_t indent = 4;
  for (uint32_t l = 0; l < w->log; l++, indent += 2) {
    nv_line(b, indent, "if ((%s & %uu) == 0u) {", i, 1u << l);
    nv_line(b, indent + 2, "%s = %s;", w->stack[l], w->value);
    nv_line(b, indent, "} else {");
    const char *joined = join(w, w->stack[l], w->value);
    if (l == 0 && guard)
      nv_line(b, indent + 2, "%s = %s < %uu ? %s : %s;", w->value, w->thread, (unsigned)w->threads, joined,
              w->stack[l]);
    else
      nv_line(b, indent + 2, "%s = %s;", w->value, joined);
  }
  nv_line(b, indent, "%s = %s;", total, w->value);
  while (indent > 2) indent -= 2, nv_line(b, indent, "}");
  return total;
}

void nv_gen_column(nv_gen *e) {
  column w = {.e = e, .d = nv_gen_accumulator(e), .n = (uint32_t)nv_dim_value(e->c, e->k->reduce_extent)};
  w.threads = w.n < 128 ? (w.n + 3) / 4 : 32;
  while (1u << w.log < w.threads) w.log++;
  if (nv_index_uses(&e->index, e->k->symbol[0])) nv_printf(e->b, "  uint %s = pos.x;\n", e->index.variables[0]);
  nv_gen_outer(e);
  nv_gen_finish(e, put_block(&w));
  nv_gen_scalar(e, 2, e->inner + 1, e->k->ninstrs);
}
