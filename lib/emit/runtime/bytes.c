/* bytes.c - the replay engine: how large arrays are. For entries that hold arrays. */
#include "leaf.c"

/* Bytes of a dense array of this type; SIZE_MAX: there is no such type. */
static size_t nvr_bytes(const nuvec_array *a) {
  static const size_t sizes[NVR_NDTYPES] = {1, 1, 2, 4, 8, 1, 2, 4, 8, 2, 2, 4, 8};
  size_t n;
  int32_t k;
  if ((unsigned)a->dtype >= NVR_NDTYPES) return SIZE_MAX;
  for (n = sizes[a->dtype], k = 0; k < a->rank; k++) {
    if (a->shape[k] < 0 || (a->shape[k] && n > SIZE_MAX / 2 / (uint64_t)a->shape[k])) return SIZE_MAX;
    n *= (size_t)a->shape[k];
  }
  return n;
}
