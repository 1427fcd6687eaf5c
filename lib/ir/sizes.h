/* sizes.h - sizes that are known at run time only: numbers computed from them, what they must keep to, where they are
 * read off, and a graph at given ones.
 *
 * An open size is a symbol (dim.h). A graph reads each symbol off one axis of an input (its source) and keeps guards:
 * what its nodes took for granted and could not be proved for all values. A number that follows from sizes, as
 * `2 / x.shape[0]`, is a node of its own (op size), whose attribute is an expression in postfix order: exact int64 for
 * dims, double by correctly rounded operations for the rest, so that every compiler and stub gets the same bits. */
#ifndef NV_SIZES_H
#define NV_SIZES_H

#include "graph.h"

/* ---- numbers ---- */
typedef enum nv_size_kind { /* of a part: each is two int64 of the attribute, the kind and what stands behind it */
  NV_SIZE_DIM,    /* a dim: an int */
  NV_SIZE_DOUBLE, /* the bits of a double */
  NV_SIZE_ADD, NV_SIZE_SUB, NV_SIZE_MUL, NV_SIZE_DIV, /* of two, as doubles */
  NV_SIZE_FLOAT, NV_SIZE_NEG, NV_SIZE_ABS, NV_SIZE_SQRT, /* of one, as a double */
  NV_SIZE_POWER, /* of one: to this integer, by squaring from the lowest bit up; below 0, 1 over that */
  NV_SIZE_RECIPROCAL, /* of an int from 1 to 2^53: 1 over it, rounded once, to float32 */
  NV_NSIZE_KINDS
} nv_size_kind;

typedef struct nv_number {
  bool whole; /* i counts, else f */
  int64_t i;
  double f;
} nv_number;

/* The operation of this name ("add", "sqrt", …); NV_NSIZE_KINDS: none. */
nv_size_kind nv_size_find(const char *name, size_t n);
/* x to the power n by squaring, from the lowest bit up: the same steps in every compiler and stub. */
double nv_power_double(double x, uint64_t n);
/* The expression that is a dim alone. */
nv_attr nv_size_of_dim(nv_ctx *c, nv_dim d);
/* Is the attribute an expression that leaves one number? */
bool nv_size_is_valid(const nv_ctx *c, nv_attr a);
/* Is it a dim alone (true: *d), of which the number is an int? */
bool nv_size_dim(const nv_ctx *c, nv_attr a, nv_dim *d);
/* Its value where symbols[k] is values[k]. false: it has none there (a division by 0, the root of a negative number,
 * an overflow). */
bool nv_size_eval(nv_ctx *c, nv_attr a, const nv_dim *symbols, const int64_t *values, uint32_t n, nv_number *out);
/* Postfix, parts separated by commas: "B - 1", "0x4000000000000000, B, /". */
void nv_put_size(nv_buf *b, nv_attr a);

/* ---- guards ---- */
/* Adds what must hold for every call, unless it always does or stands there already. false: it never holds. */
bool nv_graph_guard(nv_graph *g, nv_relation relation, nv_dim a, nv_dim b, uint32_t origin);
/* "B is 3, but N is 4", what is wrong with a guard where symbols[k] is values[k]; false: it holds. */
bool nv_guard_fails(nv_ctx *c, const nv_guard *guard, const nv_dim *symbols, const int64_t *values, uint32_t n,
                    const char **why);
void nv_put_guard(nv_buf *b, const nv_guard *guard); /* "B == N", "1 <= N", … (graph.h) */

/* ---- a graph at given sizes ---- */
/* Reads the symbols' values off the inputs' shapes (shapes[k]: rank sizes of input k), and checks bounds, sizes of all
 * inputs and guards. values: one a source. false: a text for people in *why, in the arena. */
bool nv_graph_sizes(const nv_graph *g, const int64_t *const *shapes, int64_t *values, const char **why);
/* The graph where the symbols of the sources have these values, all sizes known. NULL: an expression has no value or
 * a number doesn't fit its dtype; a text in *why. */
nv_graph *nv_graph_at(const nv_graph *g, const int64_t *values, const char **why);

#endif
