/* open.c - the tape of a signature with open sizes: what the stub computes from the sizes of a call.
 *
 * All sizes, guards, grids and numbers of a signature are one straight line of operations on numbers (replay.h): what
 * several of them share is computed once. Numbers are listed before they are used, the sources first. */
#include "stub.h"

#include "../ir/sizes.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { LONGEST_TEXT = 64 /* of a size in messages */, LONGEST_COMMENT = 80 };

typedef struct operation {
  const char *op; /* NVR_ADD, … */
  uint32_t a, b;
} operation;

typedef struct atom { /* of dims, with its number */
  uint32_t id, number; /* number: NV_NONE until it is known */
} atom;

typedef struct line {
  nv_ctx *c;
  const nv_graph *g;
  operation *list;
  uint32_t n, cap;
  atom *atoms;
  uint32_t natoms, atoms_cap;
  nv_map operations, known; /* of list; of atoms, by id */
} line;

static uint32_t add(line *l, const char *op, uint32_t a, uint32_t b) {
  const uint64_t words[2] = {(uint64_t)a << 32 | b, nv_hash(op, strlen(op), 0)};
  const uint64_t h = nv_hash(words, sizeof words, 0);
  uint32_t at = 0, k;
  while ((k = nv_map_next(&l->operations, h, &at)) != NV_NONE)
    if (!strcmp(l->list[k].op, op) && l->list[k].a == a && l->list[k].b == b) return l->g->nsources + k;
  NV_GROW(l->c, l->list, l->cap, (size_t)l->n + 1);
  l->list[l->n] = (operation){op, a, b};
  nv_map_add(l->c, &l->operations, h, l->n);
  return l->g->nsources + l->n++;
}
static uint32_t whole(line *l, int64_t value) {
  return add(l, "NVR_WHOLE", (uint32_t)value, (uint32_t)((uint64_t)value >> 32));
}

static atom *find_atom(line *l, uint32_t id) {
  uint32_t at = 0, k;
  while ((k = nv_map_next(&l->known, nv_hash(&id, sizeof id, 0), &at)) != NV_NONE)
    if (l->atoms[k].id == id) return &l->atoms[k];
  return NULL;
}
static void add_atom(line *l, uint32_t id, uint32_t number) {
  NV_GROW(l->c, l->atoms, l->atoms_cap, (size_t)l->natoms + 1);
  l->atoms[l->natoms] = (atom){id, number};
  nv_map_add(l->c, &l->known, nv_hash(&id, sizeof id, 0), l->natoms++);
}

/* Atoms of d that aren't there yet, behind the others. */
static void add_atoms_of(line *l, nv_dim d) {
  for (uint32_t k = 0; k < nv_dim_nterms(l->c, d); k++) {
    int64_t coefficient;
    const uint32_t *ids;
    uint32_t n;
    nv_dim_term(l->c, d, k, &coefficient, &ids, &n);
    for (uint32_t i = 0; i < n; i++)
      if (!find_atom(l, ids[i])) add_atom(l, ids[i], NV_NONE);
  }
}

/* The number of a dim whose atoms have theirs. */
static uint32_t number_of_sum(line *l, nv_dim d) {
  uint32_t sum = NV_NONE;
  for (uint32_t k = 0; k < nv_dim_nterms(l->c, d); k++) {
    int64_t coefficient;
    const uint32_t *ids;
    uint32_t n, i = 0, product;
    nv_dim_term(l->c, d, k, &coefficient, &ids, &n);
    product = coefficient == 1 && n ? find_atom(l, ids[i++])->number : whole(l, coefficient);
    for (; i < n; i++) product = add(l, "NVR_MUL", product, find_atom(l, ids[i])->number);
    sum = sum == NV_NONE ? product : add(l, "NVR_ADD", sum, product);
  }
  return sum == NV_NONE ? whole(l, 0) : sum;
}

static int compare_ids(const void *a, const void *b) {
  const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
  return (x > y) - (x < y);
}

/* The number of a dim: first its atoms get theirs, those that others consist of, which have lower ids, first. */
static uint32_t number_of(line *l, nv_dim d) {
  static const char *const ops[] = {[NV_ATOM_FLOORDIV] = "NVR_DIV", [NV_ATOM_MOD] = "NVR_MOD",
                                    [NV_ATOM_MIN] = "NVR_MIN", [NV_ATOM_MAX] = "NVR_MAX",
                                    [NV_ATOM_BCAST] = "NVR_BCAST"};
  const uint32_t first = l->natoms;
  add_atoms_of(l, d);
  for (uint32_t k = first; k < l->natoms; k++) {
    const nv_atom *a = nv_dim_atom(l->c, l->atoms[k].id);
    if (a->kind == NV_ATOM_SYMBOL) nv_bug(l->c, "size '%s' has no source", nv_text(l->c, a->name));
    add_atoms_of(l, a->a);
    add_atoms_of(l, a->b);
  }
  const uint32_t n = l->natoms - first;
  uint32_t *ids = NV_NEW_N(l->c, uint32_t, (size_t)n + 1);
  for (uint32_t k = 0; k < n; k++) ids[k] = l->atoms[first + k].id;
  qsort(ids, n, sizeof *ids, compare_ids);
  for (uint32_t k = 0; k < n; k++) {
    const nv_atom *a = nv_dim_atom(l->c, ids[k]);
    const uint32_t x = number_of_sum(l, a->a), y = number_of_sum(l, a->b);
    find_atom(l, ids[k])->number = add(l, ops[a->kind], x, y);
  }
  return number_of_sum(l, d);
}

/* The number of an expression of sizes.h; *real: it is a double. */
static uint32_t number_of_size(line *l, nv_attr expression, bool *real) {
  static const char *const binary[] = {[NV_SIZE_ADD] = "NVR_PLUS", [NV_SIZE_SUB] = "NVR_MINUS",
                                       [NV_SIZE_MUL] = "NVR_TIMES", [NV_SIZE_DIV] = "NVR_OVER"};
  const int64_t *list = nv_attr_list(l->c, expression);
  const uint32_t count = nv_attr_count(l->c, expression);
  struct {
    uint32_t number;
    bool real;
  } *stack = NULL;
  uint32_t depth = 0, cap = 0;
  NV_GROW(l->c, stack, cap, (size_t)count + 2);
  for (uint32_t k = 0; k < count; k += 2) {
    const nv_size_kind kind = (nv_size_kind)list[k];
    const uint32_t operands = kind <= NV_SIZE_DOUBLE ? 0 : kind <= NV_SIZE_DIV ? 2 : 1;
    for (uint32_t i = 0; i < operands && kind != NV_SIZE_RECIPROCAL; i++)
      if (!stack[depth - 1 - i].real)
        stack[depth - 1 - i].number = add(l, "NVR_TO_REAL", stack[depth - 1 - i].number, 0);
    depth -= operands;
    const uint32_t a = stack[depth].number, b = stack[depth + 1].number;
    uint32_t r = a; /* FLOAT */
    if (kind == NV_SIZE_DIM) r = number_of(l, (nv_dim)list[k + 1]);
    else if (kind == NV_SIZE_DOUBLE)
      r = add(l, "NVR_REAL", (uint32_t)list[k + 1], (uint32_t)((uint64_t)list[k + 1] >> 32));
    else if (operands == 2) r = add(l, binary[kind], a, b);
    else if (kind == NV_SIZE_NEG) r = add(l, "NVR_NEGATIVE", a, 0);
    else if (kind == NV_SIZE_ABS) r = add(l, "NVR_ABSOLUTE", a, 0);
    else if (kind == NV_SIZE_SQRT) r = add(l, "NVR_ROOT", a, 0);
    else if (kind == NV_SIZE_POWER) r = add(l, "NVR_POWER", a, whole(l, list[k + 1]));
    else if (kind == NV_SIZE_RECIPROCAL) r = add(l, "NVR_RECIPROCAL", a, 0);
    stack[depth].number = r;
    stack[depth++].real = kind != NV_SIZE_DIM;
  }
  const uint32_t number = stack[0].number;
  *real = stack[0].real;
  nv_drop(l->c, stack);
  return number;
}

/* ---- texts ---- */

static void put_dim_string(nv_buf *b, nv_dim d) {
  nv_buf text;
  nv_buf_init(&text, b->c);
  if (nv_dim_size(b->c, d) < LONGEST_TEXT) nv_put_dim(&text, d);
  if (!text.n || text.n > LONGEST_TEXT) {
    text.n = 0;
    nv_puts(&text, "a size that follows from others");
  }
  nv_put_cstring(b, nv_buf_text(&text));
  nv_drop(b->c, text.p);
}

/* ---- tables ---- */

typedef struct writer {
  nv_buf *b;
  nv_buf rows; /* of what comes behind the operations: they are known when it is made */
  line line;
  const nv_plan *p;
  unsigned entry, signature;
} writer;

static void put_start(nv_buf *b, const writer *w, const char *type, const char *name) {
  nv_printf(b, "static const %s nvr_%u_%u_%s[] = {\n", type, w->entry, w->signature, name);
}

/* A source that a dim follows from. */
static uint32_t source_of(const nv_graph *g, nv_dim d) {
  uint32_t k = 0;
  while (k + 1 < g->nsources && !nv_dim_uses(g->c, d, g->sources[k].symbol)) k++;
  return k;
}

static void put_sources(writer *w) {
  const nv_graph *g = w->p->graph;
  put_start(w->b, w, "nvr_source", "sources");
  for (uint32_t k = 0; k < g->nsources; k++) {
    const nv_source *s = &g->sources[k];
    int64_t least, most;
    nv_dim_bounds(g->c, s->symbol, &least, &most);
    nv_puts(w->b, "    {");
    put_dim_string(w->b, s->symbol);
    nv_printf(w->b, ", %u, %u, %" PRId64 ", %" PRId64 ", %" PRId64 ", ", (unsigned)s->input, (unsigned)s->axis,
              s->factor, s->offset, least);
    if (most == INT64_MAX) nv_puts(w->b, "INT64_MAX");
    else nv_printf(w->b, "%" PRId64, most);
    nv_puts(w->b, "}, /* ");
    nv_put_comment(w->b, nv_text(g->c, g->inputs[s->input].name));
    nv_puts(w->b, " */\n");
  }
  nv_puts(w->b, "};\n");
}

/* The open axes of ports; how many. */
static uint32_t put_axes(writer *w, const char *name, const nv_port *ports, uint32_t n) {
  const nv_graph *g = w->p->graph;
  uint32_t count = 0;
  int64_t known;
  for (uint32_t k = 0; k < n; k++) {
    const nv_shape s = nv_shape_at(g, ports[k].value);
    for (uint32_t axis = 0; axis < nv_shape_rank(g->c, s); axis++) {
      const nv_dim d = nv_shape_dims(g->c, s)[axis];
      if (nv_dim_is_const(g->c, d, &known)) continue;
      if (!count++) put_start(&w->rows, w, "nvr_axis", name);
      nv_printf(&w->rows, "    {%u, %u, %u, %u, ", (unsigned)k, (unsigned)axis, (unsigned)number_of(&w->line, d),
                (unsigned)source_of(g, d));
      put_dim_string(&w->rows, d);
      nv_puts(&w->rows, "}, /* ");
      nv_put_comment(&w->rows, nv_text(g->c, ports[k].name));
      nv_puts(&w->rows, " */\n");
    }
  }
  if (count) nv_puts(&w->rows, "};\n");
  return count;
}

static void put_guards(writer *w) {
  static const char *const relations[] = {[NV_EQUAL] = "NVR_EQUAL", [NV_BROADCASTS] = "NVR_BROADCASTS",
                                          [NV_REPEATS] = "NVR_REPEATS", [NV_AT_MOST] = "NVR_AT_MOST"};
  const nv_graph *g = w->p->graph;
  if (!g->nguards) return;
  put_start(&w->rows, w, "nvr_guard", "guards");
  for (uint32_t k = 0; k < g->nguards; k++) {
    const nv_guard *guard = &g->guards[k];
    const uint32_t a = number_of(&w->line, guard->a), b = number_of(&w->line, guard->b);
    nv_printf(&w->rows, "    {%s, %u, %u, ", relations[guard->relation], (unsigned)a, (unsigned)b);
    for (int side = 0; side < 2; side++) {
      const nv_dim d = side ? guard->b : guard->a;
      int64_t known;
      if (nv_dim_is_const(g->c, d, &known)) nv_puts(&w->rows, "NULL");
      else put_dim_string(&w->rows, d);
      nv_puts(&w->rows, side ? ",\n     " : ", ");
    }
    if (guard->origin == NV_NONE) {
      nv_puts(&w->rows, "NULL},\n");
    } else {
      nv_buf origin;
      nv_buf_init(&origin, g->c);
      nv_put_origin(&origin, g, guard->origin);
      nv_put_cstring(&w->rows, nv_buf_text(&origin));
      nv_puts(&w->rows, "},\n");
      nv_drop(g->c, origin.p);
    }
  }
  nv_puts(&w->rows, "};\n");
}

static void put_slots(writer *w) {
  if (!w->p->nslots) return;
  put_start(&w->rows, w, "unsigned", "slots");
  for (uint32_t k = 0; k < w->p->nslots; k++)
    nv_printf(&w->rows, "%s%u", k % 20 ? ", " : k ? ",\n    " : "    ", (unsigned)number_of(&w->line, w->p->slots[k]));
  nv_puts(&w->rows, "};\n");
}

static void put_fields(writer *w) {
  uint32_t n = 0;
  for (uint32_t i = 0; i < w->p->nlaunches; i++) {
    const nv_kernel *k = &w->p->kernels[w->p->launches[i].kernel];
    for (uint32_t j = 0; j < k->nfields; j++) {
      bool real;
      const uint32_t number = number_of_size(&w->line, k->fields[j].expr, &real);
      if (!n++) put_start(&w->rows, w, "nvr_field", "fields");
      nv_printf(&w->rows, "    {%u, %d, %s}, /* ", (unsigned)number, real, nv_dtype_constant[k->fields[j].dtype]);
      nv_buf text;
      nv_buf_init(&text, w->b->c);
      nv_put_size(&text, k->fields[j].expr);
      nv_put_comment(&w->rows, text.n < LONGEST_COMMENT ? nv_buf_text(&text) : k->name);
      nv_puts(&w->rows, " */\n");
      nv_drop(w->b->c, text.p);
    }
  }
  if (n) nv_puts(&w->rows, "};\n");
}

static void put_sizes(writer *w) {
  uint32_t at = 0;
  if (!w->p->nlaunches) return;
  put_start(&w->rows, w, "nvr_sizes", "sizes");
  for (uint32_t i = 0; i < w->p->nlaunches; i++) {
    const nv_kernel *k = &w->p->kernels[w->p->launches[i].kernel];
    nv_dim grid[3];
    nv_kernel_grid(w->b->c, k, grid);
    nv_puts(&w->rows, "    {{");
    for (int d = 0; d < 3; d++) nv_printf(&w->rows, d ? ", %u" : "%u", (unsigned)number_of(&w->line, grid[d]));
    nv_printf(&w->rows, "}, %u, ", (unsigned)k->nfields);
    if (k->nfields) nv_printf(&w->rows, "nvr_%u_%u_fields + %u},", w->entry, w->signature, (unsigned)at);
    else nv_puts(&w->rows, "NULL},");
    nv_printf(&w->rows, " /* %s */\n", k->name);
    at += k->nfields;
  }
  nv_puts(&w->rows, "};\n");
}

static void put_operations(const writer *w) {
  const line *l = &w->line;
  if (!l->n) return;
  put_start(w->b, w, "nvr_operation", "steps");
  for (uint32_t k = 0; k < l->n; k++)
    nv_printf(w->b, "    {%s, %u, %u}, /* %u */\n", l->list[k].op, (unsigned)l->list[k].a, (unsigned)l->list[k].b,
              (unsigned)(l->g->nsources + k));
  nv_puts(w->b, "};\n");
}

static void put_name(const writer *w, const char *name, uint32_t n) {
  if (n) nv_printf(w->b, "    nvr_%u_%u_%s,\n", w->entry, w->signature, name);
  else nv_puts(w->b, "    NULL,\n");
}

void nv_put_open(nv_buf *b, const nv_program *program, uint32_t entry, uint32_t signature) {
  const nv_graph *g = program->plan->graph;
  nv_ctx *c = g->c;
  writer w = {.b = b, .line = {.c = c, .g = g}, .p = program->plan, .entry = entry, .signature = signature};
  nv_buf_init(&w.rows, c);
  for (uint32_t k = 0; k < g->nsources; k++) {
    int64_t coefficient;
    const uint32_t *ids;
    uint32_t n;
    nv_dim_term(c, g->sources[k].symbol, 0, &coefficient, &ids, &n);
    add_atom(&w.line, ids[0], k);
  }
  put_sources(&w);
  const uint32_t ninputs = put_axes(&w, "open_inputs", g->inputs, g->ninputs),
                 noutputs = put_axes(&w, "open_outputs", g->outputs, g->noutputs);
  put_guards(&w);
  put_slots(&w);
  put_fields(&w);
  put_sizes(&w);
  put_operations(&w);
  nv_put(b, w.rows.p, w.rows.n);
  nv_printf(b, "static const nvr_open_sizes nvr_%u_%u_open = {\n", w.entry, w.signature);
  put_name(&w, "sources", g->nsources);
  put_name(&w, "steps", w.line.n);
  put_name(&w, "open_inputs", ninputs);
  put_name(&w, "open_outputs", noutputs);
  put_name(&w, "guards", g->nguards);
  put_name(&w, "slots", program->plan->nslots);
  nv_printf(b, "    %u, %u, %u, %u, %u, %u};\n", (unsigned)g->nsources, (unsigned)w.line.n, (unsigned)ninputs,
            (unsigned)noutputs, (unsigned)g->nguards, (unsigned)program->plan->nslots);
  nv_drop(c, w.rows.p);
  nv_drop(c, w.line.list);
  nv_drop(c, w.line.atoms);
  nv_map_drop(c, &w.line.operations);
  nv_map_drop(c, &w.line.known);
}
