/* metal_reduce.c - REDUCE kernels: a simdgroup a point (metal_column.c: a thread).
 *
 * The order is the manual's: blocks of 1024 elements; in a block, element e belongs to thread (e / 4) mod 32, column e
 * mod 4, step e / 128; a thread joins its columns' elements step by step, then nv_fold_… joins columns and threads.
 * The results of blocks are the elements of the next level, reduced by the same rule while the blocks are walked:
 * level l holds the results of level l - 1 in four columns a thread until a block of them is full. */
#include "../ir/eval.h"
#include "../ir/sizes.h"
#include "metal_gen.h"

#include <math.h>

enum { BLOCK = 1024, MAX_LEVELS = 4 };

typedef struct level {
  int64_t elements;   /* of the whole level: of level 1 the reduced ones, of level l + 1 one a block of level l; where
                         that is open, the most */
  const char *size;   /* the same as an expression */
  bool open;
  const char *column; /* array of four */
  const char *count;  /* elements of the current block, as an expression */
  const char *block;  /* number of the current block, "" when there is one */
  const char *step;   /* from level 2: number in the block of the element that comes next */
} level;

const char *nv_gen_join(nv_gen *e, nv_dtype d, const char *low, const char *high) {
  nv_buf b;
  nv_buf_init(&b, e->c);
  nv_put_op(&b, e->k->reduce_op, (nv_dtype[]){d, d}, (const char *const[]){low, high}, 2, d);
  return nv_keep(&b);
}

const char *nv_gen_astype(nv_gen *e, nv_dtype from, nv_dtype to, const char *text) {
  nv_buf b;
  nv_buf_init(&b, e->c);
  nv_put_astype(&b, from, to, text);
  return nv_keep(&b);
}

static void put_columns(nv_gen *e, uint32_t indent, level *l, nv_dtype d) {
  const char *zero = nv_gen_literal(e, d, 0);
  l->column = nv_names_fresh(&e->names, "c");
  nv_line(e->b, indent, "%s %s[4] = {%s, %s, %s, %s};", nv_msl_type(d), l->column, zero, zero, zero, zero);
}

/* n values join columns column[0] … (one: the column that name says). first: whether these are the columns' first,
 * NULL: they are. */
static void put_joins(nv_gen *e, uint32_t indent, const char *first, const char *const *columns,
                      const char *const *values, uint32_t n, nv_dtype d) {
  if (first) nv_line(e->b, indent, "if (%s) {", first);
  for (uint32_t i = 0; i < n; i++) nv_line(e->b, indent + (first ? 2 : 0), "%s = %s;", columns[i], values[i]);
  if (!first) return;
  nv_line(e->b, indent, "} else {");
  for (uint32_t i = 0; i < n; i++)
    nv_line(e->b, indent + 2, "%s = %s;", columns[i], nv_gen_join(e, d, columns[i], values[i]));
  nv_line(e->b, indent, "}");
}

/* The fold of a level's columns into a new variable, which every thread then holds. */
static const char *put_fold(nv_gen *e, uint32_t indent, const level *l, nv_dtype d) {
  const char *name = nv_names_fresh(&e->names, e->k->reduce_op == NV_OP_mean ? "sum" : nv_ops[e->k->reduce_op].name);
  nv_line(e->b, indent, "%s %s = %s(%s[0], %s[1], %s[2], %s[3], lane, %s);", nv_msl_type(d), name,
          nv_fold_name(e->c, e->k->reduce_op, d), l->column, l->column, l->column, l->column, l->count);
  return name;
}

/* A block of level 1: loads and what stands before the reduction, into the columns. */
static void put_elements(nv_gen *e, uint32_t indent, const level *l, nv_dtype d) {
  nv_ctx *c = e->c;
  const uint32_t from = e->k->instrs[e->inner].arg[0], start = indent;
  const nv_dtype element = (nv_dtype)e->k->instrs[from].dtype;
  const int64_t unit = e->width; /* elements or vectors */
  const char *variable = e->index.variables[1], *step = "", *first = NULL;
  if (l->elements > 128) {
    step = nv_names_fresh(&e->names, "k");
    first = nv_format(c, "%s == 0u", step);
    if (!l->open && (l->elements <= BLOCK || l->elements % BLOCK == 0))
      nv_line(e->b, indent, "for (uint %s = 0u; %s < %lldu; ++%s) {", step, step,
              (long long)((l->elements > BLOCK ? BLOCK : l->elements) + 127) / 128, step);
    else
      nv_line(e->b, indent, "for (uint %s = 0u; %s * 128u < %s; ++%s) {", step, step, l->count, step);
    indent += 2;
  }
  const char *at = "";
  if (*l->block) at = nv_format(c, "%s * %lldu + ", l->block, (long long)(BLOCK / unit));
  if (*step) at = nv_format(c, "%s%s * %lldu + ", at, step, (long long)(128 / unit));
  const char *column = NULL;
  if (e->width == 4) {
    nv_line(e->b, indent, "uint %s = %slane;", variable, at);
  } else {
    column = nv_names_fresh(&e->names, "j");
    nv_line(e->b, indent, "for (uint %s = 0u; %s < 4u; ++%s) {", column, column, column);
    indent += 2;
    nv_line(e->b, indent, "uint %s = %slane * 4u + %s;", variable, at, column);
  }
  if (l->open || l->elements % 128 != 0) {
    const nv_dim n = nv_dim_floordiv(c, e->k->reduce_extent, nv_dim_const(c, unit));
    nv_line(e->b, indent, "if (%s < %s) {", variable, unit == 1 ? l->size : nv_index_size(&e->index, n, false));
    indent += 2;
  }
  nv_index_declare(&e->index, e->b, indent, NV_NONE);
  const char *columns[4], *values[4];
  if (e->width == 4) {
    nv_gen_vector_loads(e, indent);
    if (e->nresults) nv_gen_calls(e, indent, false);
    nv_gen_vector_stores(e, indent);
    for (uint32_t i = 0; i < 4; i++) {
      columns[i] = nv_format(c, "%s[%u]", l->column, (unsigned)i);
      values[i] = nv_gen_astype(e, element, d, nv_gen_component(e, from, i));
    }
    put_joins(e, indent, first, columns, values, 4, d);
  } else {
    nv_gen_scalar(e, indent, 0, e->inner);
    columns[0] = nv_format(c, "%s[%s]", l->column, column);
    values[0] = nv_gen_astype(e, element, d, e->text[from]);
    put_joins(e, indent, first, columns, values, 1, d);
  }
  while (indent > start) indent -= 2, nv_line(e->b, indent, "}");
}

/* The elements themselves; of an open size at most as many as a guard lets through. */
static void put_first_level(nv_gen *e, level *l) {
  enum { MOST = 1 << 30 };
  int64_t least;
  nv_dim_bounds(e->c, e->k->reduce_extent, &least, &l->elements);
  l->open = least != l->elements;
  if (!l->open) {
    l->size = nv_format(e->c, "%lldu", (long long)l->elements);
    return;
  }
  if (l->elements > MOST) l->elements = MOST;
  l->size = nv_names_fresh(&e->names, "n");
  nv_line(e->b, 2, "uint %s = %s;", l->size, nv_index_size(&e->index, e->k->reduce_extent, false));
}

/* All levels; returns the variable that holds the result. */
static const char *put_levels(nv_gen *e, nv_dtype d) {
  nv_ctx *c = e->c;
  level levels[MAX_LEVELS + 1] = {{0}};
  uint32_t top = 1, indent = 2;
  put_first_level(e, &levels[1]);
  while (levels[top].elements > BLOCK) {
    if (++top > MAX_LEVELS - 1)
      nv_raise(c, NUVECC_SPEC, "not supported yet: a reduction over %lld elements", (long long)levels[1].elements);
    level *this = &levels[top];
    this->open = levels[1].open;
    this->elements = (levels[top - 1].elements + BLOCK - 1) / BLOCK;
    this->size = nv_format(c, "%lldu", (long long)this->elements);
    if (!this->open) continue;
    this->size = nv_names_fresh(&e->names, "n");
    nv_line(e->b, indent, "uint %s = (%s + 1023u) >> 10;", this->size, levels[top - 1].size);
  }
  for (uint32_t l = top; l >= 1; l--) { /* outermost first */
    level *this = &levels[l];
    const bool whole = l == top, full = !this->open && this->elements % BLOCK == 0;
    this->block = whole ? "" : levels[l + 1].step;
    if (!whole && l + 1 < top) { /* the step counts in its own block */
      this->block = nv_names_fresh(&e->names, "n");
      nv_line(e->b, indent, "uint %s = %s * 1024u + %s;", this->block, levels[l + 1].block, levels[l + 1].step);
    }
    if (whole || full) {
      this->count = whole ? this->size : nv_format(c, "%du", BLOCK);
    } else {
      this->count = nv_names_fresh(&e->names, "m");
      nv_line(e->b, indent, "uint %s = metal::min(1024u, %s - %s * 1024u);", this->count, this->size, this->block);
    }
    put_columns(e, indent, this, d);
    if (l == 1) break;
    this->step = nv_names_fresh(&e->names, "b");
    nv_line(e->b, indent, "for (uint %s = 0u; %s < %s; ++%s) {", this->step, this->step, this->count, this->step);
    indent += 2;
  }
  put_elements(e, indent, &levels[1], d);
  const char *result = put_fold(e, indent, &levels[1], d);
  for (uint32_t l = 2; l <= top; l++) {
    const level *this = &levels[l];
    const char *column = nv_format(c, "%s[%s & 3u]", this->column, this->step);
    const char *first = this->elements > 128 ? nv_format(c, "%s < 128u", this->step) : NULL;
    nv_line(e->b, indent, "if (((%s >> 2) & 31u) == lane) {", this->step);
    put_joins(e, indent + 2, first, &column, &result, 1, d);
    nv_line(e->b, indent, "}");
    indent -= 2;
    nv_line(e->b, indent, "}");
    result = put_fold(e, indent, this, d);
  }
  return result;
}

void nv_gen_outer(nv_gen *e) {
  nv_ctx *c = e->c;
  const nv_kernel *k = e->k;
  nv_buf *b = e->b;
  nv_index_declare(&e->index, b, 2, e->index.symbols[1]);
  for (uint32_t i = 0; i < e->inner; i++) {
    const nv_instr *p = &k->instrs[i];
    if (p->kind == NV_I_INDEX && !nv_dim_uses(c, e->offset[i], e->index.symbols[1])) {
      if (!e->text[i]) e->text[i] = nv_names_fresh(&e->names, "at");
      nv_line(b, 2, "%s %s = %s;", nv_msl_type((nv_dtype)p->dtype), e->text[i], nv_gen_index(e, i));
    }
    if (p->kind != NV_I_LOAD || nv_picks(p) || nv_dim_uses(c, e->offset[i], e->index.symbols[1])) continue;
    if (!e->text[i]) e->text[i] = nv_gen_load_name(e, p->operand);
    nv_line(b, 2, "%s %s = %s;", nv_msl_type((nv_dtype)p->dtype), e->text[i], nv_gen_read(e, i));
  }
  nv_gen_leads(e, 2);
}

nv_dtype nv_gen_accumulator(const nv_gen *e) {
  const nv_dtype result = (nv_dtype)e->k->instrs[e->inner].dtype;
  return result == NV_F16 || result == NV_BF16 ? NV_F32 : result;
}

/* 1/n of the elements, rounded once to float32. */
static const char *reciprocal(nv_gen *e) {
  const nv_dim n = e->k->reduce_extent;
  int64_t known;
  if (nv_dim_is_const(e->c, n, &known)) {
    const float scale = nv_reciprocal_of(known);
    uint32_t bits;
    memcpy(&bits, &scale, sizeof bits);
    return nv_gen_literal(e, NV_F32, bits);
  }
  const int64_t expr[4] = {NV_SIZE_DIM, nv_dim_max(e->c, n, NV_DIM_ONE), NV_SIZE_RECIPROCAL, 0};
  return nv_index_number(&e->index, nv_attr_make(e->c, expr, 4), NV_F32);
}

void nv_gen_finish(nv_gen *e, const char *value) {
  const nv_instr *reduction = &e->k->instrs[e->inner];
  const nv_dtype result = (nv_dtype)reduction->dtype, d = nv_gen_accumulator(e);
  if (e->k->reduce_op == NV_OP_mean && e->k->reduce_extent != NV_DIM_ZERO) {
    const char *sum = value, *scale = reciprocal(e);
    value = nv_gen_temporary(e, result == d ? reduction->value : NV_NONE);
    nv_line(e->b, 2, "%s %s = %s * %s;", nv_msl_type(d), value, sum, scale);
  }
  if (result != d) value = nv_gen_astype(e, d, result, value);
  e->text[e->inner] = value;
}

void nv_gen_reduce(nv_gen *e) {
  nv_ctx *c = e->c;
  nv_buf *b = e->b;
  const nv_kernel *k = e->k;
  const nv_dtype d = nv_gen_accumulator(e);
  int64_t least, most;
  const char *row = e->index.variables[0], *nothing = NULL; /* what no elements come to */
  nv_dim_bounds(c, k->reduce_extent, &least, &most);
  if (!most || (least <= 0 && nv_ops[k->reduce_op].nothing != NV_NOTHING_ERROR))
    nothing = nv_gen_literal(e, d, nv_value_of_nothing(c, k->reduce_op, d));
  if (nv_rows_are_many(c, k->extent[0])) {
    nv_gen_row_position(e, row, k->extent[0]);
  } else if (nv_index_uses(&e->index, k->symbol[0])) {
    nv_printf(b, "  uint %s = pos.x >> 5;\n", row);
  }
  nv_gen_outer(e);
  const char *value = most ? put_levels(e, d) : nothing;
  if (most && nothing)
    nv_line(b, 2, "if (%s == 0u) {\n    %s = %s;\n  }", nv_index_size(&e->index, k->reduce_extent, false), value,
            nothing);
  nv_gen_finish(e, value);
  nv_line(b, 2, "if (lane == 0u) {");
  nv_gen_scalar(e, 4, e->inner + 1, k->ninstrs);
  nv_line(b, 2, "}");
}
