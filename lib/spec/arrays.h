/* arrays.h - arrays in the files that constants name: .npy and .safetensors, both read where they lie. */
#ifndef NV_ARRAYS_H
#define NV_ARRAYS_H

#include "ast.h"

/* What a file says of one array: bytes lie in the file's. why: what is wrong with it (in the arena), else NULL. */
typedef struct nv_array {
  nv_dtype dtype;
  int64_t dims[NV_MAX_RANK];
  uint32_t rank;
  const uint8_t *bytes;
  size_t n;
  const char *why;
} nv_array;

/* The array of a .npy file's n bytes, as NumPy writes them: version 1.0 to 3.0, little-endian, C order. */
nv_array nv_read_npy(nv_ctx *c, const uint8_t *p, size_t n);
/* The name as it stands in safetensors' headers to a dtype, or -1. */
int nv_safetensors_dtype(const char *name);
/* Elements times bytes an element; -1: more than 2^48 elements. */
int64_t nv_array_bytes(const nv_array *a);

/* Reads what every constant with a file is; what is wrong is reported at the constant's keys, once a constant. Files
 * are opened by nuvecc_options.read, once a path. */
void nv_read_constant_files(nv_spec *s);

#endif
