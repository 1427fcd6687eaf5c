/* expect.h - what simd_full, atomics and surface must give, in plain C; shared by the CPU tests and the CUDA runner.
 * Sums are taken as the header documents: by halving, prefix sums in lane order. */
#ifndef EXPECT_H
#define EXPECT_H
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static inline uint32_t float_bits(float f) {
  uint32_t u;
  memcpy(&u, &f, 4);
  return u;
}
static inline uint32_t count_ones(uint64_t u) {
  uint32_t n = 0;
  for (; u; u &= u - 1) n++;
  return n;
}
static inline uint32_t leading(uint64_t u, int width) {
  uint32_t n = 0;
  for (int b = width - 1; b >= 0 && !(u >> b & 1); b--) n++;
  return n;
}
static inline uint32_t trailing(uint64_t u, int width) {
  uint32_t n = 0;
  for (int b = 0; b < width && !(u >> b & 1); b++) n++;
  return n;
}

/* mismatches over n threads (whole simdgroups) */
static inline int check_simd_full(const uint32_t *x, const uint32_t *out, unsigned n) {
  int bad = 0;
  for (unsigned g = 0; g < n; g += 32) {
    uint32_t sum = 0, all_and = ~0u, all_or = 0, all_xor = 0, any = 0;
    int32_t max = -100000;
    float f[32], t[32], min = 1e9f;
    for (int l = 0; l < 32; l++) {
      uint32_t v = x[g + l];
      int32_t s = (int32_t)(v % 2001u) - 1000;
      f[l] = t[l] = (float)s * 0.125f;
      sum += v;
      all_and &= v | 0xffff0000u;
      all_or |= v & 0xffffu;
      all_xor ^= v;
      any |= v % 64 == 7;
      if (s > max) max = s;
      if (f[l] < min) min = f[l];
    }
    for (int d = 16; d; d >>= 1)
      for (int l = 0; l < d; l++) t[l] += t[l + d];
    uint32_t prefix = 0;
    float fprefix = 0;
    for (int l = 0; l < 32; l++) {
      const uint32_t v = x[g + l], *o = out + (g + l) * 24;
      const uint32_t want[24] = {sum,
                                 float_bits(t[0]),
                                 (uint32_t)max,
                                 float_bits(min),
                                 all_and,
                                 all_or,
                                 all_xor,
                                 any,
                                 !any,
                                 prefix + v,
                                 prefix,
                                 float_bits(fprefix + f[l]),
                                 float_bits(fprefix),
                                 x[g],
                                 x[g + 17],
                                 x[g + 31 - l],
                                 l + 3 < 32 ? x[g + l + 3] : v,
                                 l >= 3 ? x[g + l - 3] : v,
                                 x[g + (l ^ 5)],
                                 count_ones(v),
                                 leading(v, 32),
                                 trailing(v, 32),
                                 count_ones(v & 0xffff) + leading(v & 0xffff, 16) * 100 +
                                     trailing(v & 0xff, 8) * 10000,
                                 leading((uint64_t)v << 7, 64) + count_ones((uint64_t)v * v)};
      for (int k = 0; k < 24; k++) bad += o[k] != want[k];
      prefix += v;
      fprefix += f[l];
    }
  }
  return bad;
}

/* initial: u = {5, 5, ~0, 0, 0, 0, 0, 0, 0}, s = {9, 9, 9}, f = {0.5, 0.5, 0.5} */
static inline void atomics_start(uint32_t *u, int32_t *s, float *f) {
  const uint32_t u0[9] = {5, 5, ~0u};
  memcpy(u, u0, sizeof u0);
  for (int i = 0; i < 3; i++) s[i] = 9, f[i] = 0.5f;
}
static inline int check_atomics(const uint32_t *u, const int32_t *s, const float *f, const uint32_t *tickets,
                                uint32_t n) {
  uint32_t sum = 0, parity = 0;
  for (uint32_t i = 0; i < n; i++) sum += i, parity ^= i;
  int bad = u[0] != 5 + sum || u[1] != 5 - 3 * n || u[2] != 0xffff0000u || u[3] != 0xffffffu || u[4] != parity;
  bad += u[5] != (n - 1) * 7 || u[7] != u[6] || u[8] != n; /* exchanges telescope to the last value */
  bad += s[0] != 9 - (int32_t)sum || s[1] != -(int32_t)(n - 1) || s[2] != -77;
  bad += f[0] != 0.5f + 0.25f * n || f[1] != 0.5f - 0.5f * n || f[2] != 0.5f + 2.0f * n;
  unsigned char *seen = (unsigned char *)calloc(n, 1);
  for (uint32_t i = 0; i < n; i++) bad += tickets[i] >= n || seen[tickets[i]]++;
  free(seen);
  return bad;
}

/* ---- surface: x has two ints a thread, f and packed one and three floats; 40 words a thread, 34 used ---- */
static inline int64_t fit(int64_t v, int64_t low, int64_t high) { return v < low ? low : v > high ? high : v; }
static inline uint32_t reverse(uint32_t u) {
  uint32_t r = 0;
  for (int i = 0; i < 32; i++) r |= (u >> i & 1) << (31 - i);
  return r;
}
static inline int64_t median(int64_t a, int64_t b, int64_t c) {
  int64_t low = a < b ? a : b, high = a < b ? b : a;
  return c < low ? low : c > high ? high : c;
}
static inline uint32_t rotated(uint32_t u, unsigned n, unsigned width) {
  return n % width ? (u << n | u >> (width - n)) & (width == 32 ? ~0u : (1u << width) - 1) : u;
}
static inline void surface_start(int32_t *x, float *g, float *packed, unsigned n) {
  uint32_t s = 3;
  static const int32_t special[] = {0, 1, -1, INT32_MAX, INT32_MIN, 127, -128, 128, 255, 5, -5};
  static const float values[] = {1, -0.5f, 0, 1e-40f, INFINITY, NAN, 0x1p-126f, 4};
  for (unsigned i = 0; i < 2 * n; i++) {
    s = s * 1664525u + 1013904223u;
    x[i] = i < 242 ? special[i % 2 ? i / 2 % 11 : i / 22 % 11] : (int32_t)(s >> (i % 28));
  }
  for (unsigned i = 0; i < n; i++) g[i] = values[i % 8];
  for (unsigned i = 0; i < 3 * n; i++) packed[i] = (float)i;
}
static inline int check_surface(const int32_t *x, const float *g, const uint32_t *out, const float *packed,
                                const float *moved, unsigned n) {
  int bad = 0;
  for (unsigned i = 0; i < n; i++) {
    int64_t a = x[2 * i], c = x[2 * i + 1], ca = (int8_t)a, cc = (int8_t)c;
    uint32_t ua = (uint32_t)a, uc = (uint32_t)c, ha = ua & 255, hc = uc & 255, inc = 1, exc = 1;
    int lane = (int)(i % 32), first = (int)i - lane, normal = isnormal(g[i]), nan = isnan(g[i]);
    for (int l = 0; l <= lane; l++) {
      exc = inc;
      inc *= (uint32_t)x[2 * (first + l)] | 1;
    }
    if (lane == 0) exc = 1;
    int64_t m3 = a > c ? a : c, n3 = a < c ? a : c;
    const uint32_t want[34] = {(uint32_t)fit(a + c, INT32_MIN, INT32_MAX),
                               (uint32_t)fit(a - c, INT32_MIN, INT32_MAX),
                               (uint32_t)fit((int64_t)ua + uc, 0, UINT32_MAX),
                               ua < uc ? 0 : ua - uc,
                               (uint32_t)(a < c ? c - a : a - c),
                               (uint32_t)fit(ca + cc, -128, 127),
                               (uint32_t)fit(ca - cc, -128, 127),
                               (uint32_t)fit(ha + hc, 0, 255),
                               (uint32_t)((ca + cc) >> 1),
                               (uint32_t)((ca + cc + 1) >> 1),
                               rotated(ua, uc & 31, 32),
                               rotated(ha, uc & 7, 8),
                               reverse(ua),
                               (uint32_t)((int32_t)(ua << 16) >> 21),
                               ua >> 5 & 0x7ff,
                               (ua & ~(0x1ffu << 7)) | ((uc & 0x1ff) << 7),
                               (uint32_t)((a * c) >> 32),
                               (uint32_t)(((uint64_t)ua * uc) >> 32),
                               (uint32_t)median(a, c, 0),
                               (uint32_t)(m3 > 5 ? m3 : 5) ^ (uint32_t)(n3 < -5 ? n3 : -5),
                               (uint32_t)(fit(a, -100, 100) + fit(c, -100, 100)),
                               ((ua | 1) >> 31 ? 0u - (ua | 1) : ua | 1) ^
                                   ((uc | 1) >> 31 ? 0u - (uc | 1) : uc | 1),
                               (uint32_t)(normal | (nan ? 0 : 2) | (nan ? 4 : 0)),
                               float_bits(nan || g[i] > 1 ? 1 : g[i]),
                               float_bits(i & 1 ? 0.70710678118654752440f : 3.14159265358979323846f),
                               float_bits(0.15625f),
                               lane + 3 < 32 ? (uint32_t)x[2 * (i + 3)] : (uint32_t)x[2 * (i + 3 - 32) + 1],
                               lane >= 3 ? (uint32_t)x[2 * (i - 3)] : (uint32_t)x[2 * (i - 3 + 32) + 1],
                               (uint32_t)x[2 * (first + (lane + 3) % 32)],
                               (uint32_t)x[2 * (first + (lane + 29) % 32)],
                               inc,
                               exc,
                               lane == 0,
                               0x7ffffffeu};
    for (int k = 0; k < 34; k++) {
      if (out[i * 40 + k] == want[k]) continue;
      if (bad++ < 10) fprintf(stderr, "thread %d slot %d: got %08x, expected %08x\n", i, k, out[i * 40 + k], want[k]);
    }
    for (int k = 0; k < 3; k++) bad += moved[3 * i + k] != packed[3 * i + k] + 1;
  }
  return bad;
}
#endif
