/* lower_index.c - lowering: symbols of an iteration space, and row-major indices of known dims taken apart and joined
 * (private to the fuser: fuse.h). */
#include "fuse.h"

#include <stdio.h>

/* A symbol below extent. The point keeps the name apart from the dims of a spec. */
nv_dim nv_index_symbol_of(nv_ctx *c, const char *name, uint32_t number, int64_t extent) {
  char text[64];
  int n = snprintf(text, sizeof text, number == NV_NONE ? "%s.%lld" : "%s.%lld.%u", name, (long long)extent,
                   (unsigned)number);
  return nv_dim_symbol(c, nv_intern(c, text, (size_t)n), 0, extent - 1);
}

uint32_t nv_known_dims(nv_ctx *c, nv_shape s, int64_t *dims) {
  uint32_t n = nv_shape_rank(c, s);
  for (uint32_t k = 0; k < n; k++) dims[k] = nv_dim_value(c, nv_shape_dims(c, s)[k]);
  return n;
}

nv_dim nv_join_index(nv_ctx *c, const nv_dim *at, const int64_t *dims, uint32_t n) {
  nv_dim r = nv_dim_const(c, 0);
  int64_t stride = 1;
  for (uint32_t k = n; k-- > 0; stride *= dims[k]) r = nv_dim_add(c, r, nv_dim_mul(c, at[k], nv_dim_const(c, stride)));
  return r;
}

void nv_split_index(nv_ctx *c, nv_dim linear, const int64_t *dims, uint32_t n, nv_dim *at) {
  int64_t stride = 1, left = 1;
  for (uint32_t k = 0; k < n; k++) left *= dims[k];
  for (uint32_t k = n; k-- > 0;) {
    left /= dims[k];
    if (dims[k] == 1) {
      at[k] = nv_dim_const(c, 0);
      continue;
    }
    at[k] = nv_dim_floordiv(c, linear, nv_dim_const(c, stride));
    if (left > 1) at[k] = nv_dim_mod(c, at[k], nv_dim_const(c, dims[k]));
    stride *= dims[k];
  }
}
