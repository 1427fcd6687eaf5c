/* eval_view.c - copies by strides: transpose, broadcast_to and the gathering of reduced axes; by index: pick. */
#include "eval_loops.h"

/* The innermost axis: n elements of size bytes, step elements apart. */
static void copy_line(const char *in, char *out, size_t n, int64_t step, size_t size) {
  if (step == 1) {
    memcpy(out, in, n * size);
    return;
  }
#define BODY(T) \
  for (size_t i = 0; i < n; i++) ((T *)out)[i] = ((const T *)in)[(int64_t)i * step];
  switch (size) {
  case 1: BODY(uint8_t) break;
  case 2: BODY(uint16_t) break;
  case 4: BODY(uint32_t) break;
  default: BODY(uint64_t) break;
  }
#undef BODY
}

void nv_eval_strided(const void *in, void *out, uint32_t rank, const int64_t *dims, const int64_t *strides,
                     size_t size) {
  int64_t d[NV_MAX_RANK], s[NV_MAX_RANK], index[NV_MAX_RANK] = {0};
  uint32_t r = 0;
  /* axes of size 1 say nothing; neighbours that lie as one axis are one: long lines for the inner loop */
  for (uint32_t k = 0; k < rank; k++) {
    if (dims[k] == 0) return;
    if (dims[k] == 1) continue;
    if (r && s[r - 1] == strides[k] * dims[k]) {
      d[r - 1] *= dims[k];
      s[r - 1] = strides[k];
    } else {
      d[r] = dims[k];
      s[r++] = strides[k];
    }
  }
  if (r == 0) {
    memcpy(out, in, size);
    return;
  }
  const size_t line = (size_t)d[r - 1];
  const char *from = in;
  char *to = out;
  for (;;) {
    copy_line(from, to, line, s[r - 1], size);
    to += line * size;
    uint32_t k = r - 1; /* the next line, as an odometer */
    for (;; k--) {
      if (k == 0) return;
      from += s[k - 1] * (int64_t)size;
      if (++index[k - 1] < d[k - 1]) break;
      from -= d[k - 1] * s[k - 1] * (int64_t)size;
      index[k - 1] = 0;
    }
  }
}

void nv_eval_padded(nv_ctx *c, const void *in, void *out, uint32_t rank, const int64_t *from, const int64_t *before,
                    const int64_t *dims, size_t size) {
  int64_t *at[NV_MAX_RANK] = {NULL}, index[NV_MAX_RANK] = {0}, stride = 1, count = 1;
  for (uint32_t k = rank; k-- > 0;) { /* where each place of an axis comes from, in elements */
    uint32_t cap = 0;
    at[k] = nv_grow(c, NULL, &cap, (size_t)dims[k] + 1, sizeof *at[k]);
    for (int64_t i = 0; i < dims[k]; i++) {
      const int64_t j = i - before[k], last = from[k] - 1;
      at[k][i] = (j < 0 ? 0 : j > last ? last : j) * stride;
    }
    stride *= from[k];
    count *= dims[k];
  }
  char *to = out;
  for (int64_t n = 0; n < count; n++, to += size) {
    int64_t offset = 0;
    for (uint32_t k = 0; k < rank; k++) offset += at[k][index[k]];
    memcpy(to, (const char *)in + offset * (int64_t)size, size);
    for (uint32_t k = rank; k-- > 0;) { /* the next element, as an odometer */
      if (++index[k] < dims[k]) break;
      index[k] = 0;
    }
  }
  for (uint32_t k = 0; k < rank; k++) nv_drop(c, at[k]);
}

void nv_eval_pick(const void *in, const void *index, bool wide, void *out, uint32_t rank, const int64_t *dims,
                  const int64_t *strides, int64_t n, int64_t stride, size_t size) {
  int64_t at[NV_MAX_RANK] = {0}, count = 1, offset = 0;
  for (uint32_t k = 0; k < rank; k++) count *= dims[k];
  char *to = out;
  for (int64_t i = 0; i < count; i++, to += size) {
    const int64_t chosen = wide ? ((const int64_t *)index)[i] : ((const int32_t *)index)[i];
    if (chosen >= 0 && chosen < n)
      memcpy(to, (const char *)in + (offset + chosen * stride) * (int64_t)size, size);
    else
      memset(to, 0, size);
    for (uint32_t k = rank; k-- > 0;) { /* the next element, as an odometer */
      offset += strides[k];
      if (++at[k] < dims[k]) break;
      offset -= strides[k] * dims[k];
      at[k] = 0;
    }
  }
}

void nv_eval_fold(nv_op op, nv_dtype d, void *out, const void *index, bool wide, const void *u, size_t count,
                  size_t outer, size_t n, size_t inner, bool flush) {
  const size_t size = nv_dtype_size[d];
  const nv_dtype dtypes[2] = {d, d};
  for (size_t i = 0; i < count * outer * inner; i++) {
    const int64_t at = wide ? ((const int64_t *)index)[i] : ((const int32_t *)index)[i];
    if (at < 0 || (uint64_t)at >= n) continue;
    const size_t rest = i % (outer * inner);
    char *to = (char *)out + ((rest / inner * n + (size_t)at) * inner + rest % inner) * size;
    const char *from = (const char *)u + i * size;
    if (op == NV_OP_copy) {
      memcpy(to, from, size);
      continue;
    }
    _Alignas(8) char joined[8];
    nv_eval_elem(op, dtypes, d, (const void *const[]){to, from}, joined, 1, flush);
    memcpy(to, joined, size);
  }
}
