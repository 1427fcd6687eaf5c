/* kernels.c - runs the sample kernels through the Metal API and compares with plain C. usage: kernels DIR SUFFIX */
#include "mtl.h"
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#ifndef SMALL /* 1: a tenth of the work */
#define SMALL 0
#endif
static id device, queue;
static const char *dir, *suffix;
static int fails;

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}
static float random_value(void) { return (float)rand() / (float)RAND_MAX * 8 - 4; }
static double larger(double a, double b) { return !(b <= a) ? b : a; } /* unlike fmax, keeps NaN */
static void report(const char *name, double err, double tolerance, double seconds, double items) {
  int ok = err <= tolerance;
  fails += !ok;
  printf("%-18s err %-9.3g %s  %8.2f ms  %7.1f M/s\n", name, err, ok ? "ok  " : "FAIL", seconds * 1e3,
         items / seconds / 1e6);
}

static id open_library(const char *name) {
  char path[512];
  snprintf(path, sizeof path, "%s/%s%s.metallib", dir, name, suffix);
  id e = NULL, l = mtl_library(device, path, &e);
  if (!l) {
    fprintf(stderr, "%s\n", mtl_error_text(e));
    exit(1);
  }
  return l;
}

typedef struct arg {
  id buffer; /* or nil and bytes */
  const void *bytes;
  NSUInteger n;
} arg;
#define BUFFER(b) {b, NULL, 0}
#define BYTES(v) {nil, &v, sizeof v}

enum { THREADS, GROUPS };
/* seconds that the launch took */
static double run(id library, const char *kernel, const arg *a, int nargs, MTLSize grid, MTLSize group, int in_groups,
                  NSUInteger tgmem0, NSUInteger tgmem1) {
  void *pool = objc_autoreleasePoolPush();
  id err = NULL, f = mtl_function(library, kernel), p = mtl_pipeline(device, f, &err);
  id cb = mtl_cmdbuf(queue), e = mtl_encoder(cb, 0);
  mtl_set_pipeline(e, p);
  for (int i = 0; i < nargs; i++) {
    if (a[i].buffer) mtl_set_buffer(e, a[i].buffer, 0, (NSUInteger)i);
    else mtl_set_bytes(e, a[i].bytes, a[i].n, (NSUInteger)i);
  }
  if (tgmem0) mtl_set_tgmem(e, tgmem0, 0);
  if (tgmem1) mtl_set_tgmem(e, tgmem1, 1);
  if (in_groups == GROUPS) mtl_groups(e, grid, group);
  else mtl_threads(e, grid, group);
  mtl_end(e);
  mtl_commit(cb);
  double start = now();
  mtl_wait(cb);
  double seconds = now() - start;
  mtl_release(p);
  mtl_release(f);
  objc_autoreleasePoolPop(pool);
  return seconds;
}

/* ---- gelu, one reference for three dtypes: every operation is rounded by r ---- */
static float bf_to_float(uint16_t u) {
  uint32_t i = (uint32_t)u << 16;
  float f;
  memcpy(&f, &i, 4);
  return f;
}
static uint16_t float_to_bf(float f) {
  uint32_t u;
  memcpy(&u, &f, 4);
  return (u & 0x7fffffff) > 0x7f800000 ? (uint16_t)(u >> 16 | 64) : (uint16_t)((u + 0x7fff + (u >> 16 & 1)) >> 16);
}
static float round_f32(float x) { return x; }
static float round_f16(float x) { return (float)(_Float16)x; }
static float round_bf16(float x) { return bf_to_float(float_to_bf(x)); }
static float gelu(float a, float (*r)(float)) {
  float b = r(a * r(0.70710678f)), c = r(1 + r(erff(b))), d = r(a * 0.5f);
  return r(d * c);
}

static void test_gelu(unsigned n) {
  id l = open_library("gelu"), x = mtl_buffer(device, n * 4), y = mtl_buffer(device, n * 4);
  float *px = mtl_contents(x), *py = mtl_contents(y);
  double worst = 0, s;
  const arg whole[] = {BUFFER(x), BUFFER(y), BYTES(n)};
  const MTLSize line = mtl_size(n, 1, 1), wide = mtl_size(1024, 1, 1);
  for (unsigned i = 0; i < n; i++) px[i] = random_value();
  s = run(l, "gelu_f32", whole, 3, line, wide, THREADS, 0, 0);
  for (unsigned i = 0; i < n; i++) worst = larger(worst, fabs(py[i] - gelu(px[i], round_f32)));
  report("gelu_f32", worst, 1e-6, s, n);

  enum { A = SMALL ? 20 : 100, B = 50, C = SMALL ? 100 : 200 };
  int shape[3] = {A, B, C}, strides[3] = {C, A * C, 1}, ndim = 3; /* x is [B][A][C], read transposed */
  const arg strided[] = {BUFFER(x), BUFFER(y), BYTES(shape), BYTES(strides), BYTES(ndim)};
  s = run(l, "gelu_f32_strided", strided, 5, mtl_size(C, B, A), mtl_size(32, 8, 4), THREADS, 0, 0);
  worst = 0;
  for (int i = 0; i < A; i++)
    for (int j = 0; j < B; j++)
      for (int k = 0; k < C; k++)
        worst = larger(worst, fabs(py[(i * B + j) * C + k] - gelu(px[i * C + j * A * C + k], round_f32)));
  report("gelu_f32_strided", worst, 1e-6, s, A * B * C);

  unsigned m = n / 2;
  const arg complex[] = {BUFFER(x), BUFFER(y), BYTES(m)};
  s = run(l, "csquare_c64", complex, 3, mtl_size(m, 1, 1), mtl_size(256, 1, 1), THREADS, 0, 0);
  worst = 0;
  for (unsigned i = 0; i < m; i++) {
    volatile float re = px[2 * i], im = px[2 * i + 1], p = re * re, q = im * im, t = re * im;
    worst = larger(worst, larger(fabs(py[2 * i] - (p - q)), fabs(py[2 * i + 1] - (t + t))));
  }
  report("csquare_c64", worst, 0, s, m);

  unsigned differ = 0;
  _Float16 *hx = (_Float16 *)px, *hy = (_Float16 *)py;
  for (unsigned i = 0; i < n; i++) hx[i] = (_Float16)random_value();
  s = run(l, "gelu_f16", whole, 3, line, wide, THREADS, 0, 0);
  for (unsigned i = 0; i < n; i++) differ += (float)hy[i] != gelu((float)hx[i], round_f16);
  report("gelu_f16 (#diff)", differ, n / 1e4, s, n);

  uint16_t *bx = (uint16_t *)px, *by = (uint16_t *)py;
  for (unsigned i = 0; i < n; i++) bx[i] = float_to_bf(random_value());
  s = run(l, "gelu_bf16", whole, 3, line, wide, THREADS, 0, 0);
  differ = 0;
  for (unsigned i = 0; i < n; i++) differ += bf_to_float(by[i]) != gelu(bf_to_float(bx[i]), round_bf16);
  report("gelu_bf16 (#diff)", differ, n / 1e4, s, n);
  mtl_release(x);
  mtl_release(y);
  mtl_release(l);
}

static void test_softmax(unsigned rows, unsigned width) {
  id l = open_library("softmax"), x = mtl_buffer(device, rows * width * 4), y = mtl_buffer(device, rows * width * 4);
  float *px = mtl_contents(x), *py = mtl_contents(y);
  for (unsigned i = 0; i < rows * width; i++) px[i] = random_value();
  const arg a[] = {BUFFER(x), BUFFER(y), BYTES(width)};
  for (unsigned t = 64; t <= 1024; t *= 4) {
    double s = run(l, "softmax_row_f32", a, 3, mtl_size(rows, 1, 1), mtl_size(t, 1, 1), GROUPS, 0, 0), worst = 0;
    for (unsigned r = 0; r < rows; r++) {
      const float *in = px + r * width, *out = py + r * width;
      double max = -1e9, sum = 0;
      for (unsigned i = 0; i < width; i++) max = fmax(max, in[i]);
      for (unsigned i = 0; i < width; i++) sum += exp(in[i] - max);
      for (unsigned i = 0; i < width; i++) worst = larger(worst, fabs(out[i] - exp(in[i] - max) / sum));
    }
    report("softmax_row_f32", worst, 1e-8, s, rows * width);
  }
  mtl_release(x);
  mtl_release(y);
  mtl_release(l);
}

static void test_matmul(unsigned M, unsigned N, unsigned K) {
  unsigned sizes[4] = {M, N, K, 0};
  id l = open_library("matmul");
  id a = mtl_buffer(device, M * K * 4), b = mtl_buffer(device, N * K * 4), c = mtl_buffer(device, M * N * 4);
  float *pa = mtl_contents(a), *pb = mtl_contents(b), *pc = mtl_contents(c);
  for (unsigned i = 0; i < M * K; i++) pa[i] = random_value();
  for (unsigned i = 0; i < N * K; i++) pb[i] = random_value();
  const arg args[] = {BUFFER(a), BUFFER(b), BUFFER(c), BYTES(sizes)};
  for (int v = 0; v < 2; v++) {
    double worst = 0, s;
    if (v) s = run(l, "matmul_sg_f32", args, 4, mtl_size(N / 8, M / 8, 1), mtl_size(32, 1, 1), GROUPS, 0, 0);
    else
      s = run(l, "matmul_tiled_f32", args, 4, mtl_size((N + 15) / 16, (M + 15) / 16, 1), mtl_size(16, 16, 1), GROUPS,
              1024, 1024);
    for (unsigned i = 0; i < M; i++)
      for (unsigned j = 0; j < N; j++) {
        double r = 0;
        for (unsigned k = 0; k < K; k++) r += (double)pa[i * K + k] * pb[k * N + j];
        worst = larger(worst, fabs(r - pc[i * N + j]));
      }
    report(v ? "matmul_sg (MACs)" : "matmul_tiled(MACs)", worst, 1e-3, s, (double)M * N * K);
  }
  mtl_release(a);
  mtl_release(b);
  mtl_release(c);
  mtl_release(l);
}

static void test_scatter(unsigned n) {
  enum { BINS = 97 };
  id l = open_library("scatter"), v = mtl_buffer(device, n * 4), index = mtl_buffer(device, n * 4);
  id out = mtl_buffer(device, BINS * 4), count = mtl_buffer(device, 4);
  float *pv = mtl_contents(v), *po = mtl_contents(out);
  int *pi = mtl_contents(index);
  unsigned *pc = mtl_contents(count);
  double expected[BINS] = {0}, worst;
  *pc = 0;
  for (unsigned i = 0; i < BINS; i++) po[i] = 0;
  for (unsigned i = 0; i < n; i++) {
    pv[i] = (float)(rand() % 64);
    pi[i] = rand() % BINS;
    expected[pi[i]] += pv[i];
  }
  const arg a[] = {BUFFER(v), BUFFER(index), BUFFER(out), BUFFER(count), BYTES(n)};
  double s = run(l, "scatter_add_f32", a, 5, mtl_size(n, 1, 1), mtl_size(256, 1, 1), THREADS, 0, 0);
  worst = fabs((double)*pc - n);
  for (unsigned i = 0; i < BINS; i++) worst = larger(worst, fabs(expected[i] - po[i]));
  report("scatter_add_f32", worst, 0, s, n);
  mtl_release(v);
  mtl_release(index);
  mtl_release(out);
  mtl_release(count);
  mtl_release(l);
}

int main(int argc, char **argv) {
  dir = argv[1];
  suffix = argc > 2 ? argv[2] : "";
  void *pool = objc_autoreleasePoolPush();
  device = MTLCreateSystemDefaultDevice();
  queue = mtl_queue(device);
  srand(1);
  test_gelu(SMALL ? 100003 : 1000003);
  test_softmax(SMALL ? 40 : 300, 1001);
  test_matmul(136, SMALL ? 40 : 120, 200);
  test_scatter(SMALL ? 20000 : 100000);
  mtl_release(queue);
  mtl_release(device);
  objc_autoreleasePoolPop(pool);
  printf("%s\n", fails ? "FAILED" : "all ok");
  return fails != 0;
}
