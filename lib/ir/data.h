/* data.h - constant arrays of a context: what specs have in files and in lists, each content once.
 *
 * A small array of numbers becomes a table in the .metal file; all others go into one file beside the metallib. */
#ifndef NV_DATA_H
#define NV_DATA_H

#include "graph.h"

enum { NV_TABLE_BYTES = 1024 }; /* most bytes of a table in the .metal file */

typedef struct nv_data {
  nv_dtype dtype;
  nv_shape shape;       /* static, not empty */
  const uint8_t *bytes; /* dense, row-major, little-endian; lives as long as the context */
  size_t n;
  uint64_t hash;        /* of dtype, shape and bytes */
  nv_str name;          /* of the constant that had it first; 0: none */
  int64_t least, most;  /* integers and bools: of the elements; beyond int64: INT64_MAX */
  bool table;           /* stands in the .metal file */
  int64_t offset;       /* in the data file, a multiple of 256; -1: not there (yet) */
} nv_data;

/* The id of an array: that of an equal one (then name and bytes stay those of the first), or a new one. */
uint32_t nv_data_add(nv_ctx *c, nv_dtype dtype, nv_shape shape, const uint8_t *bytes, size_t n, nv_str name);
uint32_t nv_data_count(const nv_ctx *c);
nv_data *nv_data_at(nv_ctx *c, uint32_t id);
/* The array of this hash, or NV_NONE. */
uint32_t nv_data_find(nv_ctx *c, uint64_t hash);
/* A value's array, where a node of op data gives it; else NULL. */
nv_data *nv_data_of(const nv_graph *g, nv_value v);
/* Does the value stand in a table of the .metal file? */
bool nv_is_table(const nv_graph *g, nv_value v);
/* The bits of element i. */
uint64_t nv_data_bits(const nv_data *d, size_t i);

#endif
