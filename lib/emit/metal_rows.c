/* metal_rows.c - ROWS kernels: a row's elements are walked in passes, one a reduction that needs an earlier one's
 * result; what later passes need of them stays in registers.
 *
 * The order of each reduction is the manual's (metal_reduce.c). Rows of up to 64 elements share a simdgroup, rows of up
 * to 1024 have one each, longer rows have one a block of 1024, all of one threadgroup, whose results meet in
 * threadgroup memory. Where rows are made of whole vectors a thread works on four neighbours at once. */
#include "../ir/eval.h"
#include "metal_gen.h"

enum {
  BLOCK = 1024,
  KEPT_BYTES = 256 /* a thread's, in registers between two passes; what is beyond is read or computed again */
};

typedef struct row_pass {
  bool *computed; /* an instruction: in this pass's loop */
  uint32_t *params, nparams, *results, nresults;
  const char *function, *type; /* of one element; its result's type. NULL: nothing is computed */
} row_pass;

typedef struct nv_rows {
  int64_t length, points;
  uint32_t lanes, steps, blocks;
  nv_dim counter;   /* what the loops count: elements or vectors */
  uint32_t npasses;
  row_pass *passes;
  /* an instruction */
  bool *each;             /* runs once an element */
  uint32_t *ready; /* once an element: the first pass that can compute it; else the pass before which it is known */
  bool *kept;             /* stays in registers for later passes */
  uint32_t *first, *last; /* passes that compute it and use it */
  const char **array;     /* kept: where */
  const char *(*part)[4]; /* its components in the pass that is being printed */
  struct row_parts { /* results of blocks, in threadgroup memory: used again in the pass after the next */
    const char *name;
    nv_dtype dtype;
    uint32_t pass;
  } *parts;
  uint32_t nparts, parts_cap;
  const char *e, *k, *j, *whole; /* variables: what is counted, step, column, is this thread's row one */
} nv_rows;

/* ---- shape ---- */

uint32_t nv_rows_lanes(nv_ctx *c, const nv_kernel *k) {
  const int64_t n = nv_dim_value(c, k->reduce_extent);
  uint32_t lanes = 1;
  while (lanes < 32 && 4 * lanes < n) lanes *= 2;
  return lanes;
}

static uint32_t blocks_of(nv_ctx *c, const nv_kernel *k) {
  return (uint32_t)((nv_dim_value(c, k->reduce_extent) + BLOCK - 1) / BLOCK);
}

uint32_t nv_kernel_group(nv_ctx *c, const nv_kernel *k) {
  const uint32_t blocks = k->kind == NV_K_ROWS ? blocks_of(c, k) : 1;
  return blocks > 1 ? 32 * blocks : 0;
}

/* Rows along the grid's x. */
static int64_t rows_across(nv_ctx *c, const nv_kernel *k) {
  return blocks_of(c, k) > 1 ? NV_ROWS / 8 : 32 * NV_ROWS / nv_rows_lanes(c, k);
}

void nv_rows_grid(nv_ctx *c, const nv_kernel *k, nv_dim grid[3]) {
  const nv_dim points = k->extent[0], across = nv_dim_const(c, rows_across(c, k));
  const nv_dim each = nv_dim_const(c, (int64_t)nv_rows_lanes(c, k) * blocks_of(c, k));
  const nv_dim threads = nv_dim_mul(c, nv_dim_min(c, points, across), each);
  grid[0] = nv_dim_mul(c, nv_groups_of(c, threads, 32), nv_dim_const(c, 32));
  grid[1] = nv_groups_of(c, points, rows_across(c, k));
}

/* Can an operand move as vectors: is it the same for none, and do all accesses step by one? */
bool nv_row_is_vector(nv_ctx *c, const nv_kernel *k, uint32_t operand) {
  const int64_t n = nv_dim_value(c, k->reduce_extent);
  if (n % 4 || nv_dtype_size[k->operands[operand].dtype] > 4) return false;
  for (uint32_t i = 0; i < k->ninstrs; i++)
    if (nv_picks(&k->instrs[i])) return false; /* elements are taken one by one */
  for (uint32_t i = 0; i < k->ninstrs; i++)
    if (nv_moves(&k->instrs[i]) && k->instrs[i].operand == operand &&
        nv_stride(c, k->instrs[i].offset, k->reduce_symbol) != 1)
      return false;
  return true;
}

uint32_t nv_rows_width(nv_ctx *c, const nv_kernel *k) {
  for (uint32_t o = 0; o < k->noperands; o++)
    if (nv_row_is_vector(c, k, o)) return 4;
  return 1;
}

/* ---- passes ---- */

static void find_ready(nv_gen *e) {
  nv_rows *r = e->rows;
  const nv_kernel *k = e->k;
  nv_kernel_rates(e->c, k, r->each);
  for (uint32_t i = 0; i < k->ninstrs; i++) {
    const nv_instr *p = &k->instrs[i];
    for (uint32_t a = 0; a < p->nargs; a++)
      if (r->ready[i] < r->ready[p->arg[a]]) r->ready[i] = r->ready[p->arg[a]];
    if (p->kind == NV_I_REDUCE) r->ready[i]++;
    const uint32_t n = r->ready[i] + (p->kind == NV_I_STORE && r->each[i]);
    if ((p->kind == NV_I_REDUCE || (p->kind == NV_I_STORE && r->each[i])) && r->npasses < n) r->npasses = n;
  }
}

/* Is i, a reduction or a store, done in pass q? */
static bool is_done_in(const nv_gen *e, uint32_t i, uint32_t q) {
  const nv_instr *p = &e->k->instrs[i];
  return (p->kind == NV_I_REDUCE && e->rows->ready[p->arg[0]] == q) ||
         (p->kind == NV_I_STORE && e->rows->each[i] && e->rows->ready[i] == q);
}

/* What each pass computes, and when values are used, with what is kept as it is. */
static void walk_passes(nv_gen *e) {
  nv_rows *r = e->rows;
  const nv_kernel *k = e->k;
  for (uint32_t i = 0; i < k->ninstrs; i++) r->first[i] = r->last[i] = NV_NONE;
  for (uint32_t q = 0; q < r->npasses; q++) {
    bool *computed = r->passes[q].computed;
    memset(computed, 0, k->ninstrs);
    for (uint32_t i = k->ninstrs; i-- > 0;) {
      const nv_instr *p = &k->instrs[i];
      if (is_done_in(e, i, q)) computed[p->arg[0]] = r->each[p->arg[0]];
      if (!computed[i]) continue;
      r->last[i] = q;
      if (r->kept[i] && r->first[i] != NV_NONE) { /* it is there */
        computed[i] = false;
        continue;
      }
      if (r->first[i] == NV_NONE) r->first[i] = q;
      for (uint32_t a = 0; a < p->nargs; a++)
        if (r->each[p->arg[a]]) computed[p->arg[a]] = true;
    }
  }
}

static bool is_cheap(nv_op op) {
  return op == NV_OP_add || op == NV_OP_subtract || op == NV_OP_multiply || op == NV_OP_square ||
         op == NV_OP_negative || op == NV_OP_abs || op == NV_OP_astype || op == NV_OP_maximum || op == NV_OP_minimum;
}

static bool is_held(const nv_rows *r, uint32_t i) { return r->kept[i] && r->first[i] != r->last[i]; }

/* Is what i is computed from held as long as i would be? */
static bool is_implied(const nv_gen *e, uint32_t i) {
  const nv_rows *r = e->rows;
  const nv_instr *p = &e->k->instrs[i];
  if (p->kind != NV_I_OP || !is_cheap((nv_op)p->op)) return false;
  for (uint32_t a = 0; a < p->nargs; a++)
    if (r->each[p->arg[a]] && !(is_held(r, p->arg[a]) && r->last[p->arg[a]] >= r->last[i])) return false;
  return true;
}

/* A value to give up where too much is held between two passes, or NV_NONE: rather one that is loaded. */
static uint32_t find_excess(const nv_gen *e) {
  const nv_rows *r = e->rows;
  const nv_kernel *k = e->k;
  for (uint32_t q = 0; q + 1 < r->npasses; q++) {
    uint32_t bytes = 0, loaded = NV_NONE, any = NV_NONE;
    for (uint32_t i = 0; i < k->ninstrs; i++) {
      if (!r->kept[i] || r->first[i] == NV_NONE || r->first[i] > q || r->last[i] <= q) continue;
      bytes += 4 * r->steps * nv_dtype_size[k->instrs[i].dtype];
      any = i;
      if (k->instrs[i].kind == NV_I_LOAD) loaded = i;
    }
    if (bytes > KEPT_BYTES) return loaded != NV_NONE ? loaded : any;
  }
  return NV_NONE;
}

static void choose_kept(nv_gen *e) {
  nv_rows *r = e->rows;
  const nv_kernel *k = e->k;
  for (uint32_t i = 0; i < k->ninstrs; i++) {
    const nv_instr *p = &k->instrs[i];
    const bool widens = p->kind == NV_I_OP && p->op == NV_OP_astype &&
                        nv_dtype_size[k->instrs[p->arg[0]].dtype] < nv_dtype_size[p->dtype];
    r->kept[i] = r->each[i] && (p->kind == NV_I_LOAD || p->kind == NV_I_OP) && !widens;
  }
  walk_passes(e);
  for (uint32_t i = 0; i < k->ninstrs; i++)
    if (is_held(r, i) && is_implied(e, i)) r->kept[i] = false;
  walk_passes(e);
  for (uint32_t i; (i = find_excess(e)) != NV_NONE;) {
    r->kept[i] = false;
    walk_passes(e);
  }
  for (uint32_t i = 0; i < k->ninstrs; i++) r->kept[i] = is_held(r, i);
}

/* ---- the function of a pass ---- */

static void add_once(uint32_t *list, uint32_t *n, bool *seen, uint32_t i) {
  if (seen[i]) return;
  seen[i] = true;
  list[(*n)++] = i;
}

/* Width 4: finds what the function of pass q takes and gives, and prints it. */
static void put_function(nv_gen *e, uint32_t q) {
  nv_ctx *c = e->c;
  nv_buf *b = e->b;
  nv_rows *r = e->rows;
  const nv_kernel *k = e->k;
  row_pass *s = &r->passes[q];
  bool *given = NV_NEW_N(c, bool, k->ninstrs + 1), *taken = NV_NEW_N(c, bool, k->ninstrs + 1);
  s->params = NV_NEW_N(c, uint32_t, k->ninstrs + 1);
  s->results = NV_NEW_N(c, uint32_t, k->ninstrs + 1);
  for (uint32_t i = 0; i < k->ninstrs; i++) {
    const nv_instr *p = &k->instrs[i];
    const bool op = s->computed[i] && p->kind == NV_I_OP;
    for (uint32_t a = 0; op && a < p->nargs; a++) {
      const uint32_t from = p->arg[a];
      if (k->instrs[from].kind != NV_I_CONST && !(s->computed[from] && k->instrs[from].kind == NV_I_OP))
        add_once(s->params, &s->nparams, taken, from);
    }
    if (op && r->kept[i] && r->first[i] == q) add_once(s->results, &s->nresults, given, i);
    if (is_done_in(e, i, q) && s->computed[p->arg[0]] && k->instrs[p->arg[0]].kind == NV_I_OP)
      add_once(s->results, &s->nresults, given, p->arg[0]);
  }
  if (!s->nresults) return;
  const char **text = NV_NEW_N(c, const char *, k->ninstrs + 1), **items = NV_NEW_N(c, const char *, s->nparams + 1);
  for (uint32_t i = 0; i < k->ninstrs; i++)
    if (k->instrs[i].kind == NV_I_CONST) text[i] = e->text[i];
  for (uint32_t i = 0; i < s->nparams; i++) {
    const nv_instr *p = &k->instrs[s->params[i]];
    uint32_t others = 0; /* loads of the same operand */
    for (uint32_t j = 0; p->kind == NV_I_LOAD && j < s->nparams; j++)
      others += k->instrs[s->params[j]].kind == NV_I_LOAD && k->instrs[s->params[j]].operand == p->operand;
    text[s->params[i]] = others == 1             ? e->buffer[p->operand]
                         : p->kind == NV_I_LOAD  ? nv_gen_load_name(e, p->operand)
                         : p->kind == NV_I_INDEX ? nv_names_fresh(&e->names, "at")
                         : p->kind == NV_I_SIZE  ? nv_names_fresh(&e->names, "n")
                         : p->kind == NV_I_OP    ? nv_gen_temporary(e, p->value)
                                                 : nv_names_fresh(&e->names, nv_ops[p->op].name);
    items[i] = nv_format(c, "%s %s", nv_msl_type((nv_dtype)p->dtype), text[s->params[i]]);
  }
  s->function = nv_format(c, "%s_pass%u", e->stem, (unsigned)q + 1);
  s->type = nv_msl_type((nv_dtype)k->instrs[s->results[0]].dtype);
  nv_buf body;
  nv_buf_init(&body, c);
  e->b = &body;
  for (uint32_t i = 0; i < k->ninstrs; i++)
    if (s->computed[i] && k->instrs[i].kind == NV_I_OP) nv_gen_statement(e, 2, i, text);
  e->b = b;
  if (s->nresults > 1) { /* member by member: aggregate literals are slow to compile */
    s->type = nv_format(c, "%s_values%u", e->stem, (unsigned)q + 1);
    nv_printf(b, "struct %s {\n", s->type);
    for (uint32_t i = 0; i < s->nresults; i++) {
      e->field[s->results[i]] = text[s->results[i]];
      nv_printf(b, "  %s %s;\n", nv_msl_type((nv_dtype)k->instrs[s->results[i]].dtype), text[s->results[i]]);
    }
    nv_puts(b, "};\n");
  }
  nv_printf(b, "static inline %s %s", s->type, s->function);
  nv_put_list(b, 4, items, s->nparams, ") {");
  nv_put(b, body.p, body.n);
  nv_drop(c, body.p);
  if (s->nresults == 1) {
    nv_printf(b, "  return %s;\n}\n", text[s->results[0]]);
    return;
  }
  const char *values = nv_names_fresh(&e->names, "values");
  nv_printf(b, "  %s %s;\n", s->type, values);
  for (uint32_t i = 0; i < s->nresults; i++)
    nv_line(b, 2, "%s.%s = %s;", values, text[s->results[i]], text[s->results[i]]);
  nv_printf(b, "  return %s;\n}\n", values);
}

static void prepare(nv_gen *e) {
  nv_ctx *c = e->c;
  const nv_kernel *k = e->k;
  const uint32_t n = k->ninstrs;
  nv_rows *r = e->rows = NV_NEW(c, nv_rows);
  int64_t unused;
  r->length = nv_dim_value(c, k->reduce_extent);
  nv_dim_bounds(c, k->extent[0], &unused, &r->points);
  r->lanes = nv_rows_lanes(c, k);
  r->blocks = blocks_of(c, k);
  r->steps = r->blocks > 1 ? BLOCK / 128 : (uint32_t)((r->length + 127) / 128);
  r->each = NV_NEW_N(c, bool, n + 1);
  r->kept = NV_NEW_N(c, bool, n + 1);
  r->ready = NV_NEW_N(c, uint32_t, n + 1);
  r->first = NV_NEW_N(c, uint32_t, n + 1);
  r->last = NV_NEW_N(c, uint32_t, n + 1);
  r->array = NV_NEW_N(c, const char *, n + 1);
  r->part = nv_alloc(c, (n + 1) * sizeof *r->part);
  e->buffer = NV_NEW_N(c, const char *, k->noperands + 1);
  e->nloads = NV_NEW_N(c, uint32_t, k->noperands + 1);
  e->vector = NV_NEW_N(c, bool, k->noperands + 1);
  e->text = NV_NEW_N(c, const char *, n + 1);
  e->field = NV_NEW_N(c, const char *, n + 1);
  e->offset = NV_NEW_N(c, nv_dim, n + 1);
  e->width = nv_rows_width(c, k);
  r->counter = k->reduce_symbol;
  if (e->width == 4)
    r->counter = nv_vector_counter(c, k->reduce_extent);
  static const char *const taken[] = {"pos", "lane", "block", "row", "e"};
  for (size_t i = 0; i < sizeof taken / sizeof *taken; i++) nv_names_take(&e->names, taken[i]);
  if (e->g->nsources) {
    nv_names_take(&e->names, "sizes");
    nv_names_take(&e->names, nv_format(c, "%s_sizes", e->stem));
  }
  nv_names_take(&e->names, e->name); /* a variable that hid a function that the kernel calls would be its end */
  for (uint32_t o = 0; o < k->noperands; o++) {
    e->buffer[o] = nv_gen_buffer_name(e, o);
    e->vector[o] = e->width == 4 && nv_row_is_vector(c, k, o);
  }
  for (uint32_t i = 0; i < n; i++)
    if (k->instrs[i].kind == NV_I_CONST)
      e->text[i] = nv_gen_literal(e, (nv_dtype)k->instrs[i].dtype, k->instrs[i].bits);
    else if (k->instrs[i].kind == NV_I_SIZE)
      e->text[i] = nv_names_fresh(&e->names, "n");
  r->e = e->width == 4 && r->steps == 1 ? "lane" : "e";
  r->k = nv_names_fresh(&e->names, "k");
  r->j = nv_names_fresh(&e->names, "j");
}

void nv_gen_row_functions(nv_gen *e) {
  prepare(e);
  nv_rows *r = e->rows;
  find_ready(e);
  r->passes = NV_NEW_N(e->c, row_pass, r->npasses + 1);
  for (uint32_t q = 0; q < r->npasses; q++) {
    r->passes[q].computed = NV_NEW_N(e->c, bool, e->k->ninstrs + 1);
    nv_names_take(&e->names, nv_format(e->c, "%s_pass%u", e->stem, (unsigned)q + 1));
    nv_names_take(&e->names, nv_format(e->c, "%s_values%u", e->stem, (unsigned)q + 1));
  }
  choose_kept(e);
  for (uint32_t q = 0; q < r->npasses && e->width == 4; q++) put_function(e, q);
}

/* ---- the loop of a pass ---- */

static nv_dtype accumulator(nv_dtype result) { return result == NV_F16 || result == NV_BF16 ? NV_F32 : result; }

static const char *converted(nv_gen *e, nv_dtype from, nv_dtype to, const char *text) {
  nv_buf b;
  nv_buf_init(&b, e->c);
  nv_put_astype(&b, from, to, text);
  return nv_keep(&b);
}

/* The offset of component n, as the loop counts. */
static nv_dim offset_of(nv_gen *e, uint32_t i, uint32_t n) {
  nv_ctx *c = e->c;
  const nv_rows *r = e->rows;
  const nv_instr *p = &e->k->instrs[i];
  if (e->width == 1) return p->offset;
  if (nv_moves(p) && e->vector[p->operand]) return nv_in_vectors(c, p->offset, e->k->reduce_symbol, r->counter);
  const nv_dim at = nv_dim_add(c, nv_dim_mul(c, r->counter, nv_dim_const(c, 4)), nv_dim_const(c, n));
  return nv_dim_replace(c, p->offset, &e->k->reduce_symbol, &at, 1);
}

/* Components that i has offsets of its own for. */
static uint32_t count_places(const nv_gen *e, uint32_t i) {
  const nv_instr *p = &e->k->instrs[i];
  return e->width == 1 || (nv_moves(p) && e->vector[p->operand]) ? 1 : 4;
}

static const char *place(nv_gen *e, uint32_t i, uint32_t n) {
  return nv_format(e->c, "%s[%s]", e->buffer[e->k->instrs[i].operand], nv_index_text(&e->index, offset_of(e, i, n)));
}

static bool is_in_loop(const nv_gen *e, uint32_t i, uint32_t q) {
  const nv_instr *p = &e->k->instrs[i];
  if (p->kind == NV_I_STORE) return is_done_in(e, i, q);
  return (p->kind == NV_I_LOAD || p->kind == NV_I_INDEX) && e->rows->passes[q].computed[i];
}

/* Is a kept value an array of vectors? Bools are computed as such, and loaded as uchar4. */
static bool is_packed(const nv_gen *e, uint32_t i) {
  const nv_instr *p = &e->k->instrs[i];
  if (e->width == 1) return false;
  return p->kind == NV_I_LOAD ? e->vector[p->operand] : nv_dtype_size[p->dtype] <= 4 && p->dtype != NV_BOOL;
}

/* A kept value at this step, of component n where it isn't packed. */
static const char *kept_text(nv_gen *e, uint32_t i, uint32_t n) {
  const nv_rows *r = e->rows;
  const char *column = e->width == 1 ? r->j : nv_format(e->c, "%uu", (unsigned)n);
  if (is_packed(e, i)) return r->steps > 1 ? nv_format(e->c, "%s[%s]", r->array[i], r->k) : r->array[i];
  return r->steps > 1 ? nv_format(e->c, "%s[%s * 4u + %s]", r->array[i], r->k, column)
                      : nv_format(e->c, "%s[%s]", r->array[i], column);
}

static void declare_kept(nv_gen *e, uint32_t q) {
  nv_rows *r = e->rows;
  for (uint32_t i = 0; i < e->k->ninstrs; i++) {
    const nv_instr *p = &e->k->instrs[i];
    if (!r->kept[i] || r->first[i] != q) continue;
    r->array[i] = p->kind == NV_I_LOAD ? nv_names_fresh(&e->names, nv_format(e->c, "%.30s_row", e->buffer[p->operand]))
                                       : nv_gen_temporary(e, p->value);
    if (!is_packed(e, i))
      nv_line(e->b, 2, "%s %s[%u];", nv_msl_type((nv_dtype)p->dtype), r->array[i], (unsigned)(4 * r->steps));
    else if (r->steps > 1)
      nv_line(e->b, 2, "%s %s[%u];", nv_gen_vector_type(e, (nv_dtype)p->dtype), r->array[i], (unsigned)r->steps);
    else
      nv_line(e->b, 2, "%s %s;", nv_gen_vector_type(e, (nv_dtype)p->dtype), r->array[i]);
  }
}

/* Component n of what text is a vector of. */
static const char *component(nv_gen *e, nv_dtype d, const char *text, uint32_t n) {
  return nv_format(e->c, d == NV_BOOL ? "%s.%c != 0" : "%s.%c", text, nv_component_names[n]);
}

static void put_row_load(nv_gen *e, uint32_t indent, uint32_t i) {
  nv_rows *r = e->rows;
  const nv_instr *p = &e->k->instrs[i];
  const nv_dtype d = (nv_dtype)p->dtype;
  const bool vector = e->width == 4 && e->vector[p->operand];
  const char *type = vector ? nv_gen_vector_type(e, d) : nv_msl_type(d), *name = NULL;
  for (uint32_t n = 0; n < count_places(e, i); n++) {
    if (r->kept[i]) {
      name = kept_text(e, i, n);
      nv_line(e->b, indent, "%s = %s;", name, place(e, i, n));
    } else {
      name = nv_gen_load_name(e, p->operand);
      nv_line(e->b, indent, "%s %s = %s;", type, name, place(e, i, n));
    }
    r->part[i][n] = name;
  }
  for (uint32_t n = 0; n < 4 && vector; n++) r->part[i][n] = component(e, d, name, n);
}

/* Components of what the loop's statements use. */
static const char *part_of(nv_gen *e, uint32_t q, uint32_t i, uint32_t n) {
  nv_rows *r = e->rows;
  const nv_instr *p = &e->k->instrs[i];
  if (!r->each[i]) return e->text[i];
  if (r->passes[q].computed[i]) return r->part[i][n];
  const char *text = kept_text(e, i, n);
  return is_packed(e, i) ? component(e, (nv_dtype)p->dtype, text, n) : text;
}

/* Width 1: what the pass loads and computes, statement by statement. */
static void put_statements(nv_gen *e, uint32_t indent, uint32_t q) {
  nv_rows *r = e->rows;
  const char **points = e->text, **text = NV_NEW_N(e->c, const char *, e->k->ninstrs + 1);
  e->text = text;
  for (uint32_t i = 0; i < e->k->ninstrs; i++) {
    const nv_instr *p = &e->k->instrs[i];
    if (!r->each[i]) text[i] = points[i];
    else if (!r->passes[q].computed[i] && r->array[i]) text[i] = kept_text(e, i, 0);
    if (!r->passes[q].computed[i]) continue;
    if (p->kind == NV_I_OP) {
      nv_gen_statement(e, indent, i, text);
    } else if (p->kind == NV_I_INDEX) {
      text[i] = nv_gen_index(e, i);
    } else if (r->kept[i]) {
      text[i] = kept_text(e, i, 0);
      nv_line(e->b, indent, "%s = %s;", text[i], nv_gen_read(e, i));
    } else {
      text[i] = nv_gen_load_name(e, p->operand);
      nv_line(e->b, indent, "%s %s = %s;", nv_msl_type((nv_dtype)p->dtype), text[i], nv_gen_read(e, i));
    }
    r->part[i][0] = text[i];
  }
  e->text = points;
}

static void put_calls(nv_gen *e, uint32_t indent, uint32_t q) {
  nv_rows *r = e->rows;
  const row_pass *s = &r->passes[q];
  const char **items = NV_NEW_N(e->c, const char *, s->nparams + 1);
  for (uint32_t n = 0; n < 4; n++) {
    for (uint32_t i = 0; i < s->nparams; i++) items[i] = part_of(e, q, s->params[i], n);
    const char *name = nv_names_fresh(&e->names, nv_format(e->c, "p%c", nv_component_names[n]));
    for (uint32_t k = 0; k < indent; k++) nv_putc(e->b, ' ');
    nv_printf(e->b, "%s %s = %s", s->type, name, s->function);
    nv_put_list(e->b, indent + 4, items, s->nparams, ");");
    for (uint32_t i = 0; i < s->nresults; i++)
      r->part[s->results[i]][n] = s->nresults > 1 ? nv_format(e->c, "%s.%s", name, e->field[s->results[i]]) : name;
  }
}

static void put_vector(nv_gen *e, uint32_t indent, const char *to, nv_dtype d, const char *const *items) {
  for (uint32_t k = 0; k < indent; k++) nv_putc(e->b, ' ');
  nv_printf(e->b, "%s = %s", to, nv_gen_vector_type(e, d));
  nv_put_list(e->b, indent + 4, items, 4, ");");
}

/* Values computed in the pass that later ones need. */
static void put_row_keeps(nv_gen *e, uint32_t indent, uint32_t q) {
  nv_rows *r = e->rows;
  for (uint32_t i = 0; i < e->k->ninstrs; i++) {
    const nv_instr *p = &e->k->instrs[i];
    if (p->kind != NV_I_OP || !r->passes[q].computed[i] || !r->kept[i] || r->first[i] != q) continue;
    if (is_packed(e, i)) put_vector(e, indent, kept_text(e, i, 0), (nv_dtype)p->dtype, r->part[i]);
    for (uint32_t n = 0; n < e->width && !is_packed(e, i); n++)
      nv_line(e->b, indent, "%s = %s;", kept_text(e, i, n), r->part[i][n]);
  }
}

static void put_row_stores(nv_gen *e, uint32_t indent, uint32_t q) {
  const char *items[4], *whole = e->rows->whole;
  for (uint32_t i = 0; i < e->k->ninstrs; i++) {
    const nv_instr *p = &e->k->instrs[i];
    if (p->kind != NV_I_STORE || !is_done_in(e, i, q)) continue;
    const bool vector = e->width == 4 && e->vector[p->operand];
    for (uint32_t n = 0; n < e->width; n++) {
      items[n] = part_of(e, q, p->arg[0], n);
      if (p->dtype == NV_BOOL && vector) items[n] = nv_format(e->c, "uchar(%s)", items[n]);
    }
    if (whole) nv_line(e->b, indent, "if (%s) {", whole), indent += 2;
    if (vector) put_vector(e, indent, place(e, i, 0), (nv_dtype)p->dtype, items);
    for (uint32_t n = 0; n < e->width && !vector; n++) nv_line(e->b, indent, "%s = %s;", place(e, i, n), items[n]);
    if (whole) indent -= 2, nv_line(e->b, indent, "}");
  }
}

/* Joins the pass's elements to the columns of its reductions. */
static void put_row_joins(nv_gen *e, uint32_t indent, uint32_t q, const char *const *columns) {
  const nv_rows *r = e->rows;
  const nv_kernel *k = e->k;
  const bool several = r->steps > 1;
  for (uint32_t first = several ? 1 : 0; first < 2; first--) { /* at the first step, at later ones */
    bool any = false;
    for (uint32_t i = 0; i < k->ninstrs; i++) {
      const nv_instr *p = &k->instrs[i];
      if (p->kind != NV_I_REDUCE || !is_done_in(e, i, q)) continue;
      if (!any && several && first) nv_line(e->b, indent, "if (%s == 0u) {", r->k);
      if (!any && several && !first) nv_line(e->b, indent, "} else {");
      any = true;
      const nv_dtype d = accumulator((nv_dtype)p->dtype), from = (nv_dtype)k->instrs[p->arg[0]].dtype;
      for (uint32_t n = 0; n < e->width; n++) {
        const char *value = converted(e, from, d, part_of(e, q, p->arg[0], n));
        const char *column = e->width == 1 ? nv_format(e->c, "%s[%s]", columns[i], r->j)
                                           : nv_format(e->c, "%s[%u]", columns[i], (unsigned)n);
        nv_buf join;
        nv_buf_init(&join, e->c);
        nv_put_op(&join, (nv_op)p->op, (nv_dtype[]){d, d}, (const char *const[]){column, value}, 2, d);
        nv_line(e->b, indent + (several ? 2 : 0), "%s = %s;", column,
                !several || first ? value : nv_buf_text(&join));
        nv_drop(e->c, join.p);
      }
    }
    if (any && several && !first) nv_line(e->b, indent, "}");
  }
}

static void put_loop(nv_gen *e, uint32_t q, const char *const *columns) {
  nv_rows *r = e->rows;
  nv_buf *b = e->b;
  uint32_t indent = 2;
  nv_index points = e->index;
  nv_index_init_beside(&e->index, &points);
  nv_index_symbol(&e->index, e->k->symbol[0], "row");
  nv_index_symbol(&e->index, r->counter, r->e);
  for (uint32_t i = 0; i < e->k->ninstrs; i++) {
    const nv_instr *p = &e->k->instrs[i];
    if (!is_in_loop(e, i, q)) continue;
    const bool narrow = nv_moves(p) ? e->k->operands[p->operand].extent < NV_NARROW : p->dtype == NV_I32;
    for (uint32_t n = 0; n < count_places(e, i); n++) nv_index_want(&e->index, offset_of(e, i, n), narrow);
  }
  const char *at = r->blocks > 1 ? nv_format(e->c, "block * %uu + ", BLOCK / e->width) : "";
  if (r->steps > 1) {
    nv_puts(b, "#pragma unroll\n");
    nv_line(b, indent, "for (uint %s = 0u; %s < %uu; ++%s) {", r->k, r->k, (unsigned)r->steps, r->k);
    indent += 2;
    at = nv_format(e->c, "%s%s * %uu + ", at, r->k, 128 / e->width);
  }
  if (e->width == 1) {
    nv_puts(b, "#pragma unroll\n");
    nv_line(b, indent, "for (uint %s = 0u; %s < 4u; ++%s) {", r->j, r->j, r->j);
    indent += 2;
    nv_line(b, indent, "uint e = %slane * 4u + %s;", at, r->j);
  } else if (r->steps > 1) {
    nv_line(b, indent, "uint e = %slane;", at);
  }
  if (r->length < (int64_t)4 * r->lanes * r->steps * r->blocks) {
    nv_line(b, indent, "if (%s < %lldu) {", r->e, (long long)(r->length / e->width));
    indent += 2;
  }
  nv_index_declare(&e->index, b, indent, NV_NONE);
  if (e->width == 1) put_statements(e, indent, q);
  for (uint32_t i = 0; i < e->k->ninstrs && e->width == 4; i++) {
    if (!is_in_loop(e, i, q)) continue;
    if (e->k->instrs[i].kind == NV_I_LOAD) put_row_load(e, indent, i);
    for (uint32_t n = 0; e->k->instrs[i].kind == NV_I_INDEX && n < e->width; n++)
      r->part[i][n] = nv_format(e->c, "%s(%s)", nv_msl_type((nv_dtype)e->k->instrs[i].dtype),
                                nv_index_text(&e->index, offset_of(e, i, n)));
  }
  if (r->passes[q].nresults) put_calls(e, indent, q);
  put_row_keeps(e, indent, q);
  put_row_stores(e, indent, q);
  put_row_joins(e, indent, q, columns);
  while (indent > 2) indent -= 2, nv_line(b, indent, "}");
  nv_index_drop(&e->index);
  e->index = points;
}

/* ---- between the passes ---- */

/* An array for the results of blocks. What the last pass but one left in it has been read by all threads: they have met
 * at the last pass's barrier since. */
static const char *find_parts(nv_gen *e, nv_dtype d, uint32_t q) {
  nv_rows *r = e->rows;
  for (uint32_t i = 0; i < r->nparts; i++) {
    struct row_parts *p = &r->parts[i];
    if (p->dtype != d || p->pass + 2 > q) continue;
    p->pass = q;
    return p->name;
  }
  const char *name = nv_names_fresh(&e->names, "part");
  NV_GROW(e->c, r->parts, r->parts_cap, (size_t)r->nparts + 1);
  r->parts[r->nparts++] = (struct row_parts){name, d, q};
  nv_line(e->b, 2, "threadgroup %s %s[%u];", d == NV_BOOL ? "uchar" : nv_msl_type(d), name, (unsigned)r->blocks);
  return name;
}

/* The results of the pass's reductions, which all threads then hold. */
static void put_folds(nv_gen *e, uint32_t q, const char *const *columns, const char *count) {
  nv_rows *r = e->rows;
  nv_ctx *c = e->c;
  const nv_kernel *k = e->k;
  const char **part = NV_NEW_N(c, const char *, k->ninstrs + 1);
  for (uint32_t i = 0; i < k->ninstrs; i++) {
    const nv_instr *p = &k->instrs[i];
    if (p->kind != NV_I_REDUCE || !is_done_in(e, i, q)) continue;
    const nv_dtype d = accumulator((nv_dtype)p->dtype);
    e->text[i] = nv_names_fresh(&e->names, p->op == NV_OP_mean ? "sum" : nv_ops[p->op].name);
    nv_line(e->b, 2, "%s %s = %s(%s[0], %s[1], %s[2], %s[3], lane, %s);", nv_msl_type(d), e->text[i],
            nv_fold_name(c, (nv_op)p->op, d), columns[i], columns[i], columns[i], columns[i], count);
    if (r->blocks == 1) continue;
    part[i] = find_parts(e, d, q);
    nv_line(e->b, 2, "if (lane == 0u) {");
    nv_line(e->b, 4, d == NV_BOOL ? "%s[block] = uchar(%s);" : "%s[block] = %s;", part[i], e->text[i]);
    nv_line(e->b, 2, "}");
  }
  bool met = false;
  for (uint32_t i = 0; i < k->ninstrs; i++) {
    const nv_instr *p = &k->instrs[i];
    if (p->kind != NV_I_REDUCE || !is_done_in(e, i, q)) continue;
    const nv_dtype result = (nv_dtype)p->dtype, d = accumulator(result);
    if (r->blocks > 1) {
      if (!met) nv_line(e->b, 2, "threadgroup_barrier(mem_flags::mem_threadgroup);");
      met = true;
      const char *name = nv_names_fresh(&e->names, e->text[i]);
      nv_line(e->b, 2, "%s %s = %s(%s, %uu);", nv_msl_type(d), name, nv_blocks_name(c, (nv_op)p->op, d), part[i],
              (unsigned)r->blocks);
      e->text[i] = name;
    }
    if (p->op == NV_OP_mean) { /* times 1/n, rounded once to float32 */
      const float scale = nv_reciprocal_of(r->length);
      uint32_t bits;
      memcpy(&bits, &scale, sizeof bits);
      const char *name = nv_gen_temporary(e, result == d ? p->value : NV_NONE);
      nv_line(e->b, 2, "%s %s = %s * %s;", nv_msl_type(d), name, e->text[i], nv_gen_literal(e, NV_F32, bits));
      e->text[i] = name;
    }
    if (result != d) {
      const char *name = nv_gen_temporary(e, p->value);
      nv_line(e->b, 2, "%s %s = %s;", nv_msl_type(result), name, converted(e, d, result, e->text[i]));
      e->text[i] = name;
    }
  }
}

/* What runs once a row and is known before pass q. */
static void put_points(nv_gen *e, uint32_t q) {
  const nv_rows *r = e->rows;
  for (uint32_t i = 0; i < e->k->ninstrs; i++) {
    const nv_instr *p = &e->k->instrs[i];
    if (r->each[i] || r->ready[i] != q) continue;
    if (p->kind == NV_I_OP) nv_gen_statement(e, 2, i, e->text);
    if (p->kind == NV_I_INDEX) e->text[i] = nv_gen_index(e, i);
    if (p->kind != NV_I_LOAD) continue;
    e->text[i] = nv_gen_load_name(e, p->operand);
    nv_line(e->b, 2, "%s %s = %s;", nv_msl_type((nv_dtype)p->dtype), e->text[i], nv_gen_read(e, i));
  }
}

static bool is_multiple(nv_ctx *c, nv_dim d, int64_t of) {
  return nv_dim_mod(c, d, nv_dim_const(c, of)) == NV_DIM_ZERO;
}

/* Which row a thread works on; one behind the last works on the last too where its simdgroup has others. */
static void put_row(nv_gen *e, bool used) {
  nv_rows *r = e->rows;
  const int64_t across = rows_across(e->c, e->k);
  const nv_dim points = e->k->extent[0];
  const bool beyond = r->points > across && !is_multiple(e->c, points, across);
  /* the last simdgroup has too few rows */
  const bool shared = !is_multiple(e->c, nv_dim_mul(e->c, points, nv_dim_const(e->c, r->lanes)), 32);
  uint32_t shift = 0;
  while (1u << shift < r->lanes) shift++;
  const char *x = r->blocks > 1 ? "pos.x" : shift ? nv_format(e->c, "(pos.x >> %u)", (unsigned)shift) : "pos.x";
  if (r->lanes == 1) nv_line(e->b, 2, "uint lane = 0u;");
  else if (r->lanes < 32) nv_line(e->b, 2, "uint lane = pos.x & %uu;", (unsigned)r->lanes - 1);
  if (r->points > across) nv_line(e->b, 2, "uint row = pos.y * %lldu + %s;", (long long)across, x);
  else if (used || shared) nv_line(e->b, 2, shift && r->blocks == 1 ? "uint row = pos.x >> %u;" : "uint row = pos.x;",
                                   (unsigned)shift);
  if (shared) {
    r->whole = nv_names_fresh(&e->names, "whole");
    nv_line(e->b, 2, "bool %s = row < %s;", r->whole, nv_index_size(&e->index, points, false));
    nv_line(e->b, 2, "row = metal::min(row, %s);",
            nv_index_size(&e->index, nv_dim_sub(e->c, points, NV_DIM_ONE), false));
  } else if (beyond) {
    nv_line(e->b, 2, "if (row >= %s) {\n    return;\n  }", nv_index_size(&e->index, points, false));
  }
}

void nv_gen_rows(nv_gen *e) {
  nv_ctx *c = e->c;
  nv_rows *r = e->rows;
  const nv_kernel *k = e->k;
  bool used = false, stores = false;
  nv_index_symbol(&e->index, k->symbol[0], "row");
  for (uint32_t i = 0; i < k->ninstrs; i++) {
    const nv_instr *p = &k->instrs[i];
    if (!nv_moves(p) && p->kind != NV_I_INDEX) continue;
    e->offset[i] = p->offset;
    used = used || nv_dim_uses(c, p->offset, k->symbol[0]);
    if (r->each[i]) continue;
    stores = stores || p->kind == NV_I_STORE;
    nv_index_want(&e->index, p->offset,
                  nv_moves(p) ? k->operands[p->operand].extent < NV_NARROW : p->dtype == NV_I32);
  }
  put_row(e, used);
  nv_index_declare(&e->index, e->b, 2, NV_NONE);
  const char *count = nv_format(c, "%lldu", (long long)(r->blocks > 1 ? BLOCK : r->length));
  if (r->blocks > 1 && r->length % BLOCK) {
    count = nv_names_fresh(&e->names, "m");
    nv_line(e->b, 2, "uint %s = metal::min(1024u, %lldu - block * 1024u);", count, (long long)r->length);
  }
  put_points(e, 0);
  for (uint32_t q = 0; q < r->npasses; q++) {
    const char **columns = NV_NEW_N(c, const char *, k->ninstrs + 1);
    for (uint32_t i = 0; i < k->ninstrs; i++) {
      const nv_instr *p = &k->instrs[i];
      if (p->kind != NV_I_REDUCE || !is_done_in(e, i, q)) continue;
      const nv_dtype d = accumulator((nv_dtype)p->dtype);
      const char *zero = nv_gen_literal(e, d, 0);
      columns[i] = nv_names_fresh(&e->names, "c");
      nv_line(e->b, 2, "%s %s[4] = {%s, %s, %s, %s};", nv_msl_type(d), columns[i], zero, zero, zero, zero);
    }
    declare_kept(e, q);
    put_loop(e, q, columns);
    put_folds(e, q, columns, count);
    put_points(e, q + 1);
  }
  nv_drop(c, r->parts);
  if (!stores) return;
  const char *all = r->blocks > 1 ? " && block == 0u" : r->whole ? nv_format(c, " && %s", r->whole) : "";
  nv_line(e->b, 2, "if (lane == 0u%s) {", all);
  for (uint32_t i = 0; i < k->ninstrs; i++)
    if (k->instrs[i].kind == NV_I_STORE && !r->each[i])
      nv_line(e->b, 4, "%s[%s] = %s;", e->buffer[k->instrs[i].operand], nv_index_text(&e->index, e->offset[i]),
              e->text[k->instrs[i].arg[0]]);
  nv_line(e->b, 2, "}");
}
