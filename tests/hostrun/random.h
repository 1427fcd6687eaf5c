/* random.h - random inputs: ordinary values with edge values among them, the same for a seed everywhere. */
#ifndef HOSTRUN_RANDOM_H
#define HOSTRUN_RANDOM_H

#include "../../lib/nuvec.h"

/* Fills t->data. Floats: three quarters ordinary (|x| mostly below 8), the rest edges (zeros of both signs, subnormals,
 * the largest, infinities, NaN) and any bits; integers: small, edges, any; bool: both. */
static inline uint64_t random_next(uint64_t *s) { /* splitmix64 */
  uint64_t z = *s += 0x9e3779b97f4a7c15u;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
  z = (z ^ z >> 27) * 0x94d049bb133111ebu;
  return z ^ z >> 31;
}

static inline uint64_t random_float(uint64_t *s, int exponent_bits, int mantissa_bits) {
  static const int edges = 10;
  uint64_t r = random_next(s), sign = (r >> 63) << (exponent_bits + mantissa_bits);
  uint64_t bias = (1u << (exponent_bits - 1)) - 1, one = (uint64_t)1 << mantissa_bits,
           top = (2 * bias + 1) << mantissa_bits;
  uint64_t mantissa = (r >> 20) & (one - 1);
  int pick = (int)(r & 15);
  if (pick < 12) return sign | (bias - 4 + ((r >> 4) % 7)) << mantissa_bits | mantissa;
  if (pick < 14) { /* an edge */
    uint64_t edge[] = {0,
                       1,
                       one - 1,
                       one,
                       bias << mantissa_bits,
                       top - 1,
                       top,
                       top | one >> 1,
                       (bias - 1) << mantissa_bits,
                       (bias + 1) << mantissa_bits};
    return sign | edge[(r >> 8) % (uint64_t)edges];
  }
  return r >> 10 & ((one << (exponent_bits + 1)) - 1);
}

static inline void random_fill(nuvecc_tensor *t, uint64_t seed) {
  uint64_t s = seed * 0x2545f4914f6cdd1du + 1;
  size_t size = nuvecc_dtype_size(t->dtype), n = t->bytes / size;
  unsigned char *p = t->data;
  for (size_t i = 0; i < n; i++, p += size) {
    uint64_t bits, r;
    switch (t->dtype) {
    case NUVECC_BOOL: bits = random_next(&s) & 1; break;
    case NUVECC_FLOAT16: bits = random_float(&s, 5, 10); break;
    case NUVECC_BFLOAT16: bits = random_float(&s, 8, 7); break;
    case NUVECC_FLOAT32: bits = random_float(&s, 8, 23); break;
    case NUVECC_COMPLEX64:
      bits = random_float(&s, 8, 23);
      bits |= random_float(&s, 8, 23) << 32;
      break;
    default:
      r = random_next(&s);
      bits = r & 8 ? (r >> 8) % 17 - 8 : r & 4 ? r >> 8 : ((uint64_t)1 << (r >> 8) % (8 * size)) - (r >> 3 & 1);
      break;
    }
    for (size_t k = 0; k < size; k++) p[k] = (unsigned char)(bits >> 8 * k);
  }
}
#endif
