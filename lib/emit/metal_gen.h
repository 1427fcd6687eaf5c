/* metal_gen.h - one kernel on its way to text: what metal_kernel.c, metal_point.c, metal_map.c, metal_reduce.c
 * and metal_column.c share. */
#ifndef NV_METAL_GEN_H
#define NV_METAL_GEN_H

#include "metal.h"

#define NV_NARROW (INT64_C(1) << 31) /* what fits 32-bit index arithmetic is below */
#define NV_ROWS (INT64_C(1) << 26)   /* points of a reduction along the grid's x: 32 threads each, below 2^32 */

typedef struct nv_gen {
  nv_buf *b;
  nv_ctx *c;
  const nv_graph *g;
  const nv_kernel *k;
  const char *name, *stem; /* ffn_k0_mul_add, ffn_k0 */
  uint32_t width;
  bool tail;
  nv_names names;
  nv_index index;
  uint32_t ntemporaries, noperations; /* operations: of the kernel, joins of a reduction included */
  const char **buffer; /* operand: its variable */
  uint32_t *nloads;    /* operand: load variables named so far */
  bool *vector;        /* operand: moved as vectors */
  const char **text;   /* instruction: its value as an operand, a variable or a literal */
  nv_dim *offset;      /* load or store: as it is printed, in vectors where it moves vectors */
  bool *varies;        /* instruction: along the innermost dim; only where the kernel picks by an index */
  bool *leads;         /* instruction: an index is made of it; the same */
  /* width 4 */
  nv_dim guard; /* of a guarded kernel: as it is printed, below limit */
  int64_t limit;
  uint32_t inner;     /* instructions that run once an element */
  const char **field; /* instruction: where a result of the point function is found, NULL: it is none */
  uint32_t *params, nparams, *results, nresults;
  const char *point[4]; /* what the point function gave for x, y, z, w: a call or a variable */
  struct nv_rows *rows; /* of a ROWS kernel */
} nv_gen;

/* ---- metal_kernel.c ---- */
static inline bool nv_moves(const nv_instr *i) { return i->kind == NV_I_LOAD || i->kind == NV_I_STORE; }
/* How an offset moves along the innermost dim: 0 not at all, 1 by one and whole vectors stay whole, -1 otherwise. */
int nv_stride(nv_ctx *c, nv_dim offset, nv_dim symbol);
/* An operation, or what joins many. */
static inline bool nv_computes(const nv_instr *i) {
  return i->kind == NV_I_OP || i->kind == NV_I_REDUCE || i->kind == NV_I_SCAN || i->kind == NV_I_FOLD;
}
static inline bool nv_picks(const nv_instr *i) { return i->kind == NV_I_LOAD && i->nargs; }
/* Does an element's index, or a constant's place, change along the innermost dim? NULL: the kernel picks nothing. */
bool *nv_gen_varying(nv_ctx *c, const nv_kernel *k);
/* An offset or guard that moves by one with symbol, counted in vectors: symbol is four times counter. */
nv_dim nv_in_vectors(nv_ctx *c, nv_dim d, nv_dim symbol, nv_dim counter);
/* The counter of vectors of four along an axis of whole ones. */
nv_dim nv_vector_counter(nv_ctx *c, nv_dim extent);
/* n in groups of each, the last of which may be smaller. */
nv_dim nv_groups_of(nv_ctx *c, nv_dim n, int64_t each);
/* The grid of a simdgroup a row, over x and, where the rows may be many, y. */
void nv_row_grid(nv_ctx *c, nv_dim rows, nv_dim grid[3]);
bool nv_rows_are_many(nv_ctx *c, nv_dim rows);
/* The variable row of a grid with many rows, and the end of threads that have none. */
void nv_gen_row_position(nv_gen *e, const char *row, nv_dim rows);
/* The variable that an operand is bound to: the name of what it holds. */
const char *nv_gen_buffer_name(nv_gen *e, uint32_t operand);
/* A new variable for a graph value: the spec's name of it, else t0, t1, … */
const char *nv_gen_temporary(nv_gen *e, nv_value v);
/* A new variable for what is loaded from a binding: x0, x1, … */
const char *nv_gen_load_name(nv_gen *e, uint32_t operand);

/* ---- metal_tables.c ---- */
/* Variables of a kernel for the tables that it reads. */
void nv_gen_tables(nv_gen *e);

/* ---- metal_point.c ---- */
extern const char nv_component_names[]; /* "xyzw" */
const char *nv_gen_literal(nv_gen *e, nv_dtype d, uint64_t bits);
/* `float4` of a dtype; bools move as uchar4 (vectors of bool are to be avoided in memory). */
const char *nv_gen_vector_type(nv_gen *e, nv_dtype d);
/* An index as a value, where the kernel's indices are declared: `int(row)`. */
const char *nv_gen_index(nv_gen *e, uint32_t i);
/* A comma-separated list in brackets behind what stands in b already, broken between items where a line gets full. */
void nv_put_list(nv_buf *b, uint32_t indent, const char *const *items, uint32_t n, const char *end);
/* One operation into a new variable; text: of the instructions, where the variable is noted. */
void nv_gen_statement(nv_gen *e, uint32_t indent, uint32_t i, const char **text);
/* Instructions [from, to) as statements, one point at a time; loads that have a variable already are left out. */
void nv_gen_scalar(nv_gen *e, uint32_t indent, uint32_t from, uint32_t to);
/* What a load reads, as an expression of its type, or of its vector type. */
const char *nv_gen_read(nv_gen *e, uint32_t i);
/* Statements for indices that are the same along the innermost dim and, where vectors aren't moved, what they choose;
 * before nv_gen_vector_loads. */
void nv_gen_leads(nv_gen *e, uint32_t indent);
/* Width 4: finds the point function's parameters (loads that operations use) and results (operations that are
 * stored or reduced) and prints it. */
void nv_gen_point(nv_gen *e);
void nv_gen_vector_loads(nv_gen *e, uint32_t indent);
/* The point function for each component: in variables, or in place where its one result is wanted once. */
void nv_gen_calls(nv_gen *e, uint32_t indent, bool in_place);
void nv_gen_vector_stores(nv_gen *e, uint32_t indent);
/* Component n of an instruction's four values. */
const char *nv_gen_component(nv_gen *e, uint32_t i, uint32_t n);

/* ---- metal_reduce.c: pieces of a REDUCE kernel ---- */
/* What is the same for all elements of a point. */
void nv_gen_outer(nv_gen *e);
/* The dtype of partial results. */
nv_dtype nv_gen_accumulator(const nv_gen *e);
/* Two partial results as one expression, the lower on the left. */
const char *nv_gen_join(nv_gen *e, nv_dtype d, const char *low, const char *high);
/* A value converted, as an expression. */
const char *nv_gen_astype(nv_gen *e, nv_dtype from, nv_dtype to, const char *text);
/* The reduction's value, from all elements joined. */
void nv_gen_finish(nv_gen *e, const char *joined);

/* ---- metal_scan.c ---- */
uint32_t nv_scan_width(nv_ctx *c, const nv_kernel *k);
bool nv_scan_is_vector(nv_ctx *c, const nv_kernel *k, uint32_t operand);
void nv_scan_grid(nv_ctx *c, const nv_kernel *k, nv_dim grid[3]);
/* The symbols of blocks, and their variables. */
void nv_gen_scan_symbols(nv_gen *e);

/* ---- metal_fold.c: a MAP kernel's statements, where it folds ---- */
void nv_gen_fold(nv_gen *e);

/* ---- metal_map.c, metal_reduce.c, metal_column.c, metal_scan.c: what stands between a kernel's braces ---- */
void nv_gen_map(nv_gen *e);
void nv_gen_reduce(nv_gen *e);
void nv_gen_column(nv_gen *e);
void nv_gen_scan(nv_gen *e);

/* ---- metal_rows.c ---- */
/* Elements a thread takes at once, and which operands move as vectors: as nv_kernel_width and nv_operand_is_vector. */
uint32_t nv_rows_width(nv_ctx *c, const nv_kernel *k);
bool nv_row_is_vector(nv_ctx *c, const nv_kernel *k, uint32_t operand);
void nv_rows_grid(nv_ctx *c, const nv_kernel *k, nv_dim grid[3]);
/* Plans the passes over a row, and prints the function of each, that works on one element. */
void nv_gen_row_functions(nv_gen *e);
void nv_gen_rows(nv_gen *e);

#endif
