/* dim_table.h - how dims are kept; private to dim.c and dim_walk.c.
 *
 *   dim     sorted terms {coefficient, product}; the constant term is last; 0 has no terms
 *   product sorted atoms; product 0 is the empty one, of the constant term
 *   atom    a symbol, or an operation on two dims, which consist of older atoms: no recursion is needed anywhere,
 * work over an expression goes through its atoms by rising id
 *
 * Terms and atoms are sorted by what they are (products of more atoms first, symbols by name, the rest by a hash of
 * their structure), not by when they were made: so what is printed doesn't depend on what else was compiled. */
#ifndef NV_DIM_TABLE_H
#define NV_DIM_TABLE_H

#include "dim.h"

#define MAX_FACTORS 64 /* of a product */

typedef struct bounds {
  int64_t min, max;
} bounds;

typedef struct term {
  int64_t coef;
  uint32_t product;
} term;

typedef struct atom_rec {
  nv_atom atom;
  uint64_t hash;    /* of the structure */
  uint64_t symbols; /* a bit for each symbol inside, by name: a quick "doesn't occur" */
  bounds range;
  bool index;           /* holds an index symbol */
  uint32_t size;        /* as nv_dim_size */
  uint32_t epoch, slot; /* marks of one walk */
} atom_rec;

typedef struct product_rec {
  const uint32_t *atoms;
  uint32_t n;
  uint64_t hash;
  bounds range;
} product_rec;

typedef struct dim_rec {
  const term *terms;
  uint32_t n, size;
  bool index;
  uint64_t hash, symbols;
  bounds range;
} dim_rec;

struct nv_dims {
  atom_rec **atoms;
  uint32_t natoms, atoms_cap;
  product_rec *products;
  uint32_t nproducts, products_cap;
  dim_rec *dims;
  uint32_t ndims, dims_cap;
  nv_map atom_map, product_map, dim_map;

  uint32_t long_terms; /* of dims with many terms */

  term *sum; /* the sum being built */
  uint32_t nsum, sum_cap;
  uint32_t *walk; /* atoms of a walk, then used as its work list */
  uint32_t nwalk, walk_cap, epoch;
};

/* A constant's value; false: d is none. */
bool nv_constant_of(const nv_ctx *c, nv_dim d, int64_t *v);
/* The one atom of a product; NV_NONE where it isn't one. */
uint32_t nv_only_atom(const nv_ctx *c, uint32_t product);
/* The atom that d is; NV_NONE where it is anything else. */
uint32_t nv_atom_alone(const nv_ctx *c, nv_dim d);

/* A sum: start, add multiples of dims, end. One at a time; no other dim may be made in between. */
void nv_sum_start(nv_ctx *c);
void nv_sum_add_dim(nv_ctx *c, nv_dim d, int64_t factor);
nv_dim nv_sum_end(nv_ctx *c);

#endif
