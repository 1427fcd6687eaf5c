/* fastmath.c - precise:: is (float)f((double)x); fast:: differs from it where it may; unqualified is one of them.
 * usage: fastmath LIBRARY precise|fast (what the unqualified names are expected to be) */
#include "mtl.h"
#define _GNU_SOURCE
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
double exp10(double);

enum rule { FLIP, SAME, ORDER, POW, TANH, POWR };
typedef struct row {
  const char *name;
  enum rule rule;
  double (*f1)(double), (*f2)(double, double); /* NULL: only the rule is checked */
} row;
static double rsqrt(double x) { return 1 / sqrt(x); }
static double quotient(double x, double y) { return x / y; }
static const row rows[] = {
    {"exp", FLIP, exp, 0}, {"exp2", FLIP, exp2, 0}, {"exp10", FLIP, exp10, 0}, {"log", FLIP, log, 0},
    {"log2", FLIP, log2, 0}, {"log10", FLIP, log10, 0}, {"sin", FLIP, sin, 0}, {"cos", FLIP, cos, 0},
    {"tan", FLIP, tan, 0}, {"asin", FLIP, asin, 0}, {"acos", FLIP, acos, 0}, {"atan", FLIP, atan, 0},
    {"sinh", FLIP, sinh, 0}, {"cosh", FLIP, cosh, 0}, {"tanh", TANH, tanh, 0}, {"asinh", FLIP, asinh, 0},
    {"acosh", FLIP, acosh, 0}, {"atanh", FLIP, atanh, 0}, {"sqrt", FLIP, sqrt, 0}, {"rsqrt", FLIP, rsqrt, 0},
    {"pow", POW, 0, pow}, {"atan2", FLIP, 0, atan2}, {"fmod", FLIP, 0, fmod}, {"divide", FLIP, 0, quotient},
    {"floor", SAME, floor, 0}, {"ceil", SAME, ceil, 0}, {"trunc", SAME, trunc, 0}, {"rint", SAME, rint, 0},
    {"round", SAME, round, 0}, {"fabs", SAME, fabs, 0}, {"fmin", ORDER, 0, fmin}, {"fmax", ORDER, 0, fmax},
    {"min", ORDER, 0, fmin}, {"max", ORDER, 0, fmax}, {"copysign", SAME, 0, copysign}, {"fdim", SAME, 0, fdim},
    {"sinpi", FLIP, 0, 0}, {"cospi", FLIP, 0, 0}, {"powr", POWR, 0, 0}, {"sign", SAME, 0, 0}, {"clamp", ORDER, 0, 0}};
enum { NROWS = sizeof rows / sizeof *rows, N = 4096 };

static uint32_t bits(float f) { uint32_t u; memcpy(&u, &f, 4); return u; }
static float from_bits(uint32_t u) { float f; memcpy(&f, &u, 4); return f; }
static int same(float a, float b) { return bits(a) == bits(b) || (isnan(a) && isnan(b)); }
static int zeros(float a, float b) { return a == 0 && b == 0; }
static float flipped(float r) { return r == 0 || isnan(r) || isinf(r) ? r : from_bits(bits(r) ^ 1); }
static float fast_of(enum rule rule, float precise, float x, float y) {
  switch (rule) {
  case SAME: return precise;
  case ORDER: return isnan(x) || isnan(y) ? NAN : precise;
  case POW: return x < 0 ? NAN : flipped(precise);
  case TANH: return x > 44 ? NAN : flipped(precise);
  default: return flipped(precise);
  }
}

int main(int argc, char **argv) {
  int unqualified_fast = argc > 2 && !strcmp(argv[2], "fast"), bad = 0, differ[NROWS] = {0};
  void *pool = objc_autoreleasePoolPush();
  id err = NULL, dev = MTLCreateSystemDefaultDevice(), queue = mtl_queue(dev), lib = mtl_library(dev, argv[1], &err);
  if (!lib) return fprintf(stderr, "%s\n", mtl_error_text(err)), 1;
  id f = mtl_function(lib, "fastmath"), p = mtl_pipeline(dev, f, &err);
  id bx = mtl_buffer(dev, N * 4), by = mtl_buffer(dev, N * 4), bo = mtl_buffer(dev, N * 512);
  float *x = mtl_contents(bx), *y = mtl_contents(by);
  uint32_t *out = mtl_contents(bo), s = 7;
  for (int i = 0; i < N; i++) {
    static const float special[] = {0.0f,   -0.0f, 1.0f,     -1.0f,     0.5f, 45.0f,
                                    100.0f, -3.0f, INFINITY, -INFINITY, NAN,  2.0f};
    s = s * 1664525u + 1013904223u;
    x[i] = i % 4 == 0 ? special[i / 4 % 12] : i % 4 == 1 ? from_bits(s) : (float)(int)s * 0x1p-28f;
    s = s * 1664525u + 1013904223u;
    y[i] = i % 3 == 0 ? special[s >> 16 & 7] : (float)(int)s * 0x1p-29f;
  }
  id cb = mtl_cmdbuf(queue), e = mtl_encoder(cb, 0);
  mtl_set_pipeline(e, p);
  mtl_set_buffer(e, bx, 0, 0);
  mtl_set_buffer(e, by, 0, 1);
  mtl_set_buffer(e, bo, 0, 2);
  mtl_threads(e, mtl_size(N, 1, 1), mtl_size(64, 1, 1));
  mtl_end(e);
  mtl_commit(cb);
  mtl_wait(cb);
  for (int i = 0; i < N; i++)
    for (int r = 0; r < NROWS; r++) {
      float precise = from_bits(out[i * 128 + r * 3]), fast = from_bits(out[i * 128 + r * 3 + 1]);
      float unqualified = from_bits(out[i * 128 + r * 3 + 2]), want = precise;
      if (rows[r].f1) want = (float)rows[r].f1((double)x[i]);
      if (rows[r].f2) want = (float)rows[r].f2((double)x[i], (double)y[i]);
      int ok = same(precise, want) || (rows[r].rule == ORDER && zeros(precise, want));
      ok &= same(fast, fast_of(rows[r].rule, precise, x[i], y[i]));
      ok &= same(unqualified, unqualified_fast ? fast : precise);
      differ[r] += !same(fast, precise);
      if (!ok && bad++ < 10)
        fprintf(stderr, "%s(%a, %a): precise %a (expected %a), fast %a, unqualified %a\n", rows[r].name, x[i], y[i],
                precise, want, fast, unqualified);
    }
  for (int r = 0; r < NROWS; r++) bad += (differ[r] > 0) != (rows[r].rule != SAME);
  for (int i = 0; i < N; i++) {
    _Float16 h = (_Float16)x[i], want = (_Float16)(float)exp((double)(float)h), got;
    uint16_t u = (uint16_t)out[i * 128 + 123];
    memcpy(&got, &u, 2);
    bad += !same((float)got, (float)want);
    bad += !same(from_bits(out[i * 128 + 125]), flipped((float)exp((double)y[i])));
  }
  id all[] = {bx, by, bo, p, f, lib, queue, dev};
  for (int i = 0; i < 8; i++) mtl_release(all[i]);
  objc_autoreleasePoolPop(pool);
  printf("fastmath, unqualified %s: %d wrong\n", unqualified_fast ? "fast" : "precise", bad);
  return bad != 0;
}
