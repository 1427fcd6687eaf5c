/* metal.h - what the files of the Metal emitter share: names, literals, statements, index expressions, helpers. */
#ifndef NV_METAL_H
#define NV_METAL_H

#include "emit.h"

enum { NV_COLUMNS = 120 }; /* no generated line is longer */

/* ---- metal_text.c ---- */
const char *nv_msl_type(nv_dtype d);
/* The text of b in the arena; b is dropped. */
const char *nv_keep(nv_buf *b);
/* A constant that reads back to the same bits in its dtype. */
void nv_put_literal(nv_buf *b, nv_dtype d, uint64_t bits);
/* Can text be a variable of ours: a short identifier that is no word of MSL, C++ or of our own scheme? */
bool nv_msl_ident(const char *text, size_t n);
/* The names of one scope. */
typedef struct nv_names {
  nv_ctx *c;
  nv_map map; /* of list */
  const char **list;
  uint32_t n, cap;
} nv_names;
void nv_names_init(nv_names *s, nv_ctx *c);
void nv_names_drop(nv_names *s);
/* Takes a name: NULL when it is taken already, else the name, which lives as long as the context. */
const char *nv_names_take(nv_names *s, const char *text);
/* Takes base, or the first free one of base2, base3, … */
const char *nv_names_fresh(nv_names *s, const char *base);
const char *nv_names_fresh_of(nv_names *s, nv_str base); /* the same, without a copy of it */

/* One statement or declaration on a line of its own; longer than NV_COLUMNS, it goes on in lines indented by 4
 * more. */
void nv_line(nv_buf *b, uint32_t indent, const char *format, ...) NV_PRINTF(3, 4);
/* The same for text that stands in b from offset start, indentation included; ends the line. */
void nv_end_line(nv_buf *b, uint32_t start, uint32_t indent);

/* op applied to operands (texts of names or literals, their dtypes), as one expression of type result. */
void nv_put_op(nv_buf *b, nv_op op, const nv_dtype *dtypes, const char *const *operands, uint32_t n, nv_dtype result);
/* The same in a kernel of several operations, where --pow=fast counts. */
void nv_put_fused_op(nv_buf *b, nv_op op, const nv_dtype *dtypes, const char *const *operands, uint32_t n,
                     nv_dtype result);
/* An operand converted (astype). */
void nv_put_astype(nv_buf *b, nv_dtype from, nv_dtype to, const char *operand);

/* ---- metal_index.c: dims as unsigned arithmetic ---- */
/* Constant division without `/` (unsigned 32-bit division is miscompiled before macOS 26.6): for d
 * that is no power of two and 0 <= n < 2^31,  n / d = mulhi(n, multiplier) >> shift; for 0 <= n < 2^63 the same with
 * 64 bits. */
typedef struct nv_magic {
  uint64_t multiplier;
  uint32_t shift;
} nv_magic;
nv_magic nv_magic32(uint32_t d); /* 3 <= d < 2^31 */
nv_magic nv_magic64(uint64_t d); /* 3 <= d < 2^63 */

typedef struct nv_index_entry {
  nv_dim dim;
  uint32_t uses;                   /* by offsets and by other entries */
  bool narrow, wide, negative;     /* known to be below 2^31; computed in 64 bits; can be below 0 */
  bool expanded, placed;           /* children are known; text is made */
  uint8_t kind, precedence;        /* of text */
  uint32_t first_child, nchildren; /* in nv_index.pool: entries that the text is made of */
  uint32_t first_part, nparts;     /* in nv_index.parts: of an open sum */
  uint64_t divisor;
  int64_t bias; /* added to the dividend, in divisors, or to both sides of a minimum */
  const char *text;
} nv_index_entry;

/* A field of the struct of sizes that a kernel of open sizes is given. */
typedef struct nv_index_field {
  nv_kernel_field field;
  const char *name;
  const char *text; /* what it is, where the name doesn't say it; NULL: it does */
} nv_index_field;
typedef struct nv_index_fields {
  nv_index_field *list;
  uint32_t n, cap;
} nv_index_fields;

typedef struct nv_index_part { /* of a sum of open sizes: factor times its children */
  nv_dim factor;
  uint32_t child; /* of the factor, where it is open */
  uint32_t first, n;
} nv_index_part;

typedef struct nv_index {
  nv_ctx *c;
  nv_names *names;
  nv_index_fields *fields;
  nv_index_part *parts;
  uint32_t nparts, parts_cap;
  nv_dim symbols[5]; /* iteration symbols and their variables */
  const char *variables[5];
  uint32_t nsymbols;
  nv_index_entry *entries;
  uint32_t nentries, entries_cap;
  uint32_t *pool;
  uint32_t npool, pool_cap;
  uint32_t *order; /* entries, what each is made of first */
  uint32_t norder, order_cap;
  nv_map map;
} nv_index;
void nv_index_init(nv_index *x, nv_ctx *c, nv_names *names);
/* One for another place in the same kernel: without symbols, the fields are shared. */
void nv_index_init_beside(nv_index *x, const nv_index *first);
void nv_index_drop(nv_index *x);
/* The symbol's values are those of a uint variable. */
void nv_index_symbol(nv_index *x, nv_dim symbol, const char *variable);
/* Announces a use of offset. narrow: its value is known to be below 2^31, whatever its bounds say. */
void nv_index_want(nv_index *x, nv_dim offset, bool narrow);
/* Does an announced offset depend on the symbol? */
bool nv_index_uses(nv_index *x, nv_dim symbol);
/* Prints variables for what offsets share; except: only what doesn't depend on that symbol, NV_NONE: all that is
 * left. Announce everything before the first call. */
void nv_index_declare(nv_index *x, nv_buf *b, uint32_t indent, nv_dim except);
/* What stands between the brackets; declared before. */
const char *nv_index_text(nv_index *x, nv_dim offset);
/* The same as a term of a sum. */
const char *nv_index_term(nv_index *x, nv_dim offset);

/* A number that is the same for the whole launch, as an expression: of a field, the variable is called sizes. */
const char *nv_index_size(nv_index *x, nv_dim d, bool wide);
const char *nv_index_number(nv_index *x, nv_attr expr, nv_dtype d);
/* "struct STEM_sizes { … };", with all fields that were asked for. */
void nv_index_put_fields(const nv_index *x, nv_buf *b, const char *stem);

/* ---- metal_tables.c ---- */
/* The constant arrays that kernels read from tables, in order of first use. */
void nv_put_tables(nv_buf *b, const nv_module *m);

/* ---- metal_kernel.c ---- */
/* Elements a thread computes: 4 when every operand can be moved as a vector of four along the innermost dim or stays
 * the same along it, else 1. tail: the extent is no multiple of 4. */
uint32_t nv_kernel_width(nv_ctx *c, const nv_kernel *k, bool *tail);
/* Is operand moved as vectors in a kernel of width 4? */
bool nv_operand_is_vector(nv_ctx *c, const nv_kernel *k, uint32_t operand);

/* ---- metal_rows.c ---- */
/* Threads of a simdgroup that share a row of a ROWS kernel: 1 to 32, a power of two. */
uint32_t nv_rows_lanes(nv_ctx *c, const nv_kernel *k);

/* ---- metal_column.c ---- */
/* Is this a REDUCE kernel of which each thread computes a point alone? Else a simdgroup does. */
bool nv_kernel_is_column(nv_ctx *c, const nv_kernel *k);
/* Do threads of a simdgroup exchange values? */
static inline bool nv_kernel_is_simd(nv_ctx *c, const nv_kernel *k) {
  if (k->kind == NV_K_SCAN) return !k->scan.columns;
  return k->kind == NV_K_ROWS || (k->kind == NV_K_REDUCE && !nv_kernel_is_column(c, k));
}

/* ---- metal_scan.c ---- */
/* How the threads of a SCAN kernel share the work, in words. */
const char *nv_scan_words(const nv_kernel *k);

/* ---- helpers.c ---- */
/* Helper functions that text calls, with all that they need, each once, in order of definition. */
void nv_put_helpers(nv_buf *b, nv_ctx *c, const char *text, size_t n);
/* Name of the function that joins the partial results of one block of a reduction. */
const char *nv_fold_name(nv_ctx *c, nv_op op, nv_dtype d);
/* Name of the function that joins the results of 2 to 8 blocks, in threadgroup memory, as elements of one block. */
const char *nv_blocks_name(nv_ctx *c, nv_op op, nv_dtype d);

/* ---- stats.c: what explain.c and manifest.c share with it ---- */
/* Distinct bytes of a binding; that a launch of k reads or writes. -1: the sizes of a call say. */
int64_t nv_operand_bytes(const nv_operand_rec *r);
int64_t nv_kernel_bytes(const nv_kernel *k, bool written);
/* n, or where it is below 0 "null" in JSON, "?" in text. */
void nv_put_amount(nv_buf *b, int64_t n, bool json);
/* A number, or where the size is open a string with its expression. */
void nv_put_json_dim(nv_buf *b, nv_dim d);
/* Members of an object where sizes are open: their bounds, guards, bytes of the pieces of scratch; else nothing. */
void nv_put_json_sizes(nv_buf *b, const nv_plan *p, const char *indent);
/* A NUL-terminated text as a JSON string. */
void nv_put_json_text(nv_buf *b, const char *text);
/* `"entry": "ffn", "signature": 0, ` … through scratch_bytes: the counts of one program, as members of an object. */
void nv_put_counts(nv_buf *b, const nv_program *p, const char *indent);

#endif
