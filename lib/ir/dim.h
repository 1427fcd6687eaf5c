/* dim.h - dimensions as interned expressions.
 *
 * A dim is an id; equal normal forms have equal ids, so equality of sizes that can be proved is integer equality.
 * Normal form: a sum of products of atoms with integer coefficients; atoms are symbols and floor-div, mod, min, max,
 * bcast of two dims. Symbols carry bounds, by which divisions and minima that can't bite are dropped:
 * (8*i + j)//8 is i when 0 <= j < 8. Index arithmetic inside kernels uses the same expressions over iteration
 * symbols. All arithmetic is exact in int64; an overflow raises NUVECC_SPEC with a text. */
#ifndef NV_DIM_H
#define NV_DIM_H

#include "../base.h"

typedef uint32_t nv_dim;

void nv_dims_init(nv_ctx *c);
nv_dim nv_dim_const(nv_ctx *c, int64_t v);
/* A symbol: the same name and bounds give the same id. Bounds are inclusive. */
nv_dim nv_dim_symbol(nv_ctx *c, nv_str name, int64_t min, int64_t max);
/* A symbol of an iteration space: 0 <= symbol < extent, which may be an expression of sizes. Known below what it is
 * divided by, it vanishes from divisions: (i*B + j)//B is i where j < B. */
nv_dim nv_dim_index(nv_ctx *c, nv_str name, nv_dim extent);
/* Does it hold no such symbol: is it the same for a whole iteration space? */
bool nv_dim_is_size(nv_ctx *c, nv_dim d);
#define NV_DIM_ZERO ((nv_dim)0)
#define NV_DIM_ONE ((nv_dim)1)
bool nv_dim_is_const(nv_ctx *c, nv_dim d, int64_t *v);
int64_t nv_dim_value(nv_ctx *c, nv_dim d); /* a constant's value; nv_bug otherwise */

nv_dim nv_dim_add(nv_ctx *c, nv_dim a, nv_dim b);
nv_dim nv_dim_sub(nv_ctx *c, nv_dim a, nv_dim b);
nv_dim nv_dim_mul(nv_ctx *c, nv_dim a, nv_dim b);
/* Python's: rounded down, the rest has the divisor's sign. b constant 0: raises NUVECC_SPEC. Where another b is 0
 * there is no value, and simplification may drop the division: (B*512)//B is 512. */
nv_dim nv_dim_floordiv(nv_ctx *c, nv_dim a, nv_dim b);
nv_dim nv_dim_mod(nv_ctx *c, nv_dim a, nv_dim b);
nv_dim nv_dim_min(nv_ctx *c, nv_dim a, nv_dim b);
nv_dim nv_dim_max(nv_ctx *c, nv_dim a, nv_dim b);
/* a if equal or b = 1, b if a = 1, else kept as an atom: it has no value where the sizes don't fit. */
nv_dim nv_dim_bcast(nv_ctx *c, nv_dim a, nv_dim b);

/* Inclusive bounds; INT64_MIN or INT64_MAX when unknown. */
void nv_dim_bounds(nv_ctx *c, nv_dim d, int64_t *min, int64_t *max);

/* The same where index symbols are below their extents, which are at least 1: tighter where sizes cancel. */
void nv_dim_index_bounds(nv_ctx *c, nv_dim d, int64_t *min, int64_t *max);

/* A normal form's parts, for printers, code generation and evaluation: nterms terms; term k is coef times natoms
 * atoms (0: the constant term). */
typedef enum nv_atom_kind {
  NV_ATOM_SYMBOL,
  NV_ATOM_FLOORDIV,
  NV_ATOM_MOD,
  NV_ATOM_MIN,
  NV_ATOM_MAX,
  NV_ATOM_BCAST
} nv_atom_kind;
typedef struct nv_atom {
  nv_atom_kind kind;
  nv_str name; /* SYMBOL */
  nv_dim a, b; /* the others; a of an index symbol: its extent, of any other symbol 0 */
} nv_atom;
uint32_t nv_dim_nterms(nv_ctx *c, nv_dim d); /* 0: the constant 0. The constant term is the last */
void nv_dim_term(nv_ctx *c, nv_dim d, uint32_t k, int64_t *coef, const uint32_t **atoms, uint32_t *natoms);
const nv_atom *nv_dim_atom(nv_ctx *c, uint32_t atom);
nv_dim nv_dim_of_atom(nv_ctx *c, uint32_t atom); /* the atom alone */
/* Length of d written out, in symbols, numbers and operations; UINT32_MAX for that or more. Nested divisions share
 * their parts, so it can be far more than what d takes in memory: whoever builds dims from dims in a loop looks at
 * it. */
uint32_t nv_dim_size(nv_ctx *c, nv_dim d);
#define NV_DIM_MAX_SIZE 65536 /* of what nv_put_dim prints */
/* Value where symbols[i] (a symbol's dim) is values[i]. false: a symbol without a value, a division by 0, a bcast of
 * sizes that don't fit, or an overflow. */
bool nv_dim_eval(nv_ctx *c, nv_dim d, const nv_dim *symbols, const int64_t *values, uint32_t n, int64_t *out);
/* Are a and b different for all values of the symbols? (By bounds: false may mean "can't tell".) */
bool nv_dim_differ(nv_ctx *c, nv_dim a, nv_dim b);
/* Replaces symbols: from[i] (a symbol's dim) by to[i], and normalises again. */
nv_dim nv_dim_replace(nv_ctx *c, nv_dim d, const nv_dim *from, const nv_dim *to, uint32_t n);
/* d = coefficient * symbol + rest, rest free of the symbol: true; false when symbol sits inside an atom or product.
 */
bool nv_dim_linear(nv_ctx *c, nv_dim d, nv_dim symbol, int64_t *coefficient, nv_dim *rest);
/* The same with a coefficient that may be an expression, free of the symbol. */
bool nv_dim_slope(nv_ctx *c, nv_dim d, nv_dim symbol, nv_dim *coefficient, nv_dim *rest);
/* Does symbol occur anywhere in d? */
bool nv_dim_uses(nv_ctx *c, nv_dim d, nv_dim symbol);

/* The distinct symbols in n dims, by rising name; how many. The list is in the arena. */
uint32_t nv_dim_symbols(nv_ctx *c, const nv_dim *dims, uint32_t n, const nv_dim **symbols);

/* Readable: "2*B + 1", "(n + 3)//4", "min(a, b)"; Python's precedence. Symbols as nv_put_name, but with dots. More
 * than NV_DIM_MAX_SIZE: raises NUVECC_SPEC. */
void nv_put_dim(nv_buf *b, nv_dim d);
/* A name as it is where it is an identifier, else as a JSON string. */
void nv_put_name(nv_buf *b, nv_str name);

#endif
