// run.cu - runs the sample kernels on a GPU, checks against plain C, times with events. usage: run DIR [N]
#include "launch.h"
#include "../tests/expect.h"
#include <math.h>
#include <stdint.h>

static int fails;
static const char *dir;
static float *x, *y; // host copies, of the largest size needed

static msl_function kernel(const char *file, const char *name) {
  char path[512];
  snprintf(path, sizeof path, "%s/%s.cubin", dir, file);
  return load_function(path, name);
}
static double larger(double a, double b) { return !(b <= a) ? b : a; } // unlike fmax, keeps NaN
static float random_value() { return (float)rand() / RAND_MAX * 8 - 4; }
static void report(const char *name, double err, double tolerance, float ms, double bytes, double flop) {
  bool ok = err <= tolerance;
  fails += !ok;
  printf("%-18s err %-9.3g %s %9.4f ms", name, err, ok ? "ok  " : "FAIL", ms);
  if (bytes) printf("  %8.1f GB/s", bytes / ms / 1e6);
  if (flop) printf("  %8.1f GFLOP/s", flop / ms / 1e6);
  puts("");
}

static float bf_to_float(uint16_t u) {
  uint32_t i = (uint32_t)u << 16;
  float f;
  memcpy(&f, &i, 4);
  return f;
}
static uint16_t float_to_bf(float f) {
  uint32_t u;
  memcpy(&u, &f, 4);
  return (u & 0x7fffffff) > 0x7f800000 ? (u >> 16) | 64 : (u + 0x7fff + (u >> 16 & 1)) >> 16;
}
static float round_f32(float v) { return v; }
static float round_bf16(float v) { return bf_to_float(float_to_bf(v)); }
static float gelu(float a, float (*r)(float)) {
  float b = r(a * r(0.70710678f)), c = r(1 + r(erff(b))), d = r(a * 0.5f);
  return r(d * c);
}

static void test_gelu(unsigned n) {
  for (unsigned i = 0; i < n; i++) x[i] = random_value();
  msl_args a = {};
  a.buf[0] = upload(x, n * 4ul);
  a.buf[1] = upload(NULL, n * 4ul);
  a.buf[2] = upload(&n, 4);
  float ms = launch(kernel("gelu", "gelu_f32"), a, n, 256, 0, 20);
  download(y, a.buf[1], n * 4ul);
  double worst = 0;
  for (unsigned i = 0; i < n; i++) worst = larger(worst, fabs(y[i] - gelu(x[i], round_f32)));
  report("gelu_f32", worst, 1e-6, ms, 8.0 * n, 0);

  uint16_t *bx = (uint16_t *)x, *by = (uint16_t *)y;
  for (unsigned i = 0; i < n; i++) bx[i] = float_to_bf(random_value());
  CK(cudaMemcpy(a.buf[0], bx, n * 2ul, cudaMemcpyHostToDevice));
  ms = launch(kernel("gelu", "gelu_bf16"), a, n, 256, 0, 20);
  download(by, a.buf[1], n * 2ul);
  double differ = 0;
  for (unsigned i = 0; i < n; i++) differ += bf_to_float(by[i]) != gelu(bf_to_float(bx[i]), round_bf16);
  report("gelu_bf16 (#diff)", differ, n / 1e4, ms, 4.0 * n, 0);
  ms = launch(kernel("gelu", "gelu_f16"), a, n, 256, 0, 20);
  report("gelu_f16 (time)", 0, 0, ms, 4.0 * n, 0);

  int shape[3] = {100, 50, 200}, strides[3] = {200, 20000, 1}, ndim = 3;
  for (unsigned i = 0; i < 1000000; i++) x[i] = random_value();
  CK(cudaMemcpy(a.buf[0], x, 4000000, cudaMemcpyHostToDevice));
  a.buf[2] = upload(shape, 12);
  a.buf[3] = upload(strides, 12);
  a.buf[4] = upload(&ndim, 4);
  ms = launch(kernel("gelu", "gelu_f32_strided"), a, dim3(200, 50, 100), dim3(32, 8, 4), 0, 20);
  download(y, a.buf[1], 4000000);
  worst = 0;
  for (int i = 0; i < 100; i++)
    for (int j = 0; j < 50; j++)
      for (int k = 0; k < 200; k++)
        worst = larger(worst, fabs(y[(i * 50 + j) * 200 + k] - gelu(x[i * 200 + j * 20000 + k], round_f32)));
  report("gelu_f32_strided", worst, 1e-6, ms, 8e6, 0);
}

static void test_softmax(unsigned rows, unsigned width) {
  msl_args a = {};
  for (unsigned i = 0; i < rows * width; i++) x[i] = random_value();
  a.buf[0] = upload(x, rows * width * 4);
  a.buf[1] = upload(NULL, rows * width * 4);
  a.buf[2] = upload(&width, 4);
  msl_function k = kernel("softmax", "softmax_row_f32");
  float ms = launch(k, a, rows * 256, 256, 0, 20);
  download(y, a.buf[1], rows * width * 4);
  double worst = 0;
  for (unsigned q = 0; q < 64; q++) {
    const float *in = x + q * width;
    double max = -1e9, sum = 0;
    for (unsigned i = 0; i < width; i++) max = fmax(max, in[i]);
    for (unsigned i = 0; i < width; i++) sum += exp(in[i] - max);
    for (unsigned i = 0; i < width; i++) worst = larger(worst, fabs(y[q * width + i] - exp(in[i] - max) / sum));
  }
  report("softmax_row_f32", worst, 1e-8, ms, 8.0 * rows * width, 0);

  // refusals: groups of 48, and an edge group of 16
  const char *first = partial_simdgroups(k, dim3(96), dim3(48));
  bool refused = first != NULL;
  if (first) printf("refused: %s\n", first);
  refused = refused && partial_simdgroups(k, dim3(80), dim3(64)) && !partial_simdgroups(k, dim3(96), dim3(64));
  refused = refused && !partial_simdgroups(kernel("gelu", "gelu_f32"), dim3(100), dim3(48));
  report("partial simdgroups", !refused, 0, 0.001f, 0, 0);
}

static void test_matmul(unsigned M, unsigned N, unsigned K) {
  unsigned sizes[4] = {M, N, K, 0};
  float *b = (float *)malloc(K * N * 4);
  msl_args a = {};
  for (unsigned i = 0; i < M * K; i++) x[i] = random_value();
  for (unsigned i = 0; i < K * N; i++) b[i] = random_value();
  a.buf[0] = upload(x, M * K * 4);
  a.buf[1] = upload(b, K * N * 4);
  a.buf[2] = upload(NULL, M * N * 4);
  a.buf[3] = upload(sizes, 16);
  a.tgoff[1] = 1024;
  for (int v = 0; v < 2; v++) {
    float ms = v ? launch(kernel("matmul", "matmul_sg_f32"), a, dim3(N / 8 * 32, M / 8), 32, 0, 5)
                 : launch(kernel("matmul", "matmul_tiled_f32"), a, dim3(N, M), dim3(16, 16), 2048, 5);
    download(y, a.buf[2], M * N * 4);
    double worst = 0;
    for (unsigned i = 0; i < M; i += 37)
      for (unsigned j = 0; j < N; j += 11) {
        double r = 0;
        for (unsigned k = 0; k < K; k++) r += (double)x[i * K + k] * b[k * N + j];
        worst = larger(worst, fabs(r - y[i * N + j]));
      }
    report(v ? "matmul_sg_f32" : "matmul_tiled_f32", worst, 2e-3, ms, 0, 2.0 * M * N * K);
  }
  free(b);
}

static void test_scatter(unsigned n) {
  enum { BINS = 97 };
  int *index = (int *)malloc(n * 4);
  double expected[BINS] = {}, worst = 0;
  float out[BINS];
  msl_args a = {};
  for (unsigned i = 0; i < n; i++) {
    x[i] = (float)(rand() % 8);
    index[i] = rand() % BINS;
    expected[index[i]] += x[i];
  }
  a.buf[0] = upload(x, n * 4);
  a.buf[1] = upload(index, n * 4);
  a.buf[2] = upload(NULL, sizeof out);
  a.buf[3] = upload(NULL, 4);
  a.buf[4] = upload(&n, 4);
  CK(cudaMemset(a.buf[2], 0, sizeof out));
  CK(cudaMemset(a.buf[3], 0, 4));
  float ms = launch(kernel("scatter", "scatter_add_f32"), a, n, 256, 0, 0);
  download(out, a.buf[2], sizeof out);
  for (int i = 0; i < BINS; i++) worst = larger(worst, fabs(out[i] - expected[i]));
  report("scatter_add_f32", worst, 0, ms, 0, 0);
  free(index);
}

static void test_simd_full(unsigned n) {
  uint32_t *in = (uint32_t *)malloc(n * 4), *out = (uint32_t *)malloc(n * 96), s = 1;
  for (unsigned i = 0; i < n; i++) in[i] = i % 50 ? (s = s * 1664525u + 1013904223u) >> (i % 29) : 0;
  msl_args a = {};
  a.buf[0] = upload(in, n * 4);
  a.buf[1] = upload(NULL, n * 96);
  float ms = launch(kernel("simd_full", "simd_full"), a, n, 128, 0, 0);
  download(out, a.buf[1], n * 96);
  report("simd_full", check_simd_full(in, out, n), 0, ms, 0, 0);
  free(in);
  free(out);
}

static void test_atomics(unsigned n) {
  uint32_t u[9], *tickets = (uint32_t *)malloc(n * 4);
  int32_t s[3];
  float f[3];
  atomics_start(u, s, f);
  msl_args a = {};
  a.buf[0] = upload(u, sizeof u);
  a.buf[1] = upload(s, sizeof s);
  a.buf[2] = upload(f, sizeof f);
  a.buf[3] = upload(NULL, n * 4);
  a.buf[4] = upload(&n, 4);
  float ms = launch(kernel("atomics", "atomics"), a, n, 256, 0, 0);
  download(u, a.buf[0], sizeof u);
  download(s, a.buf[1], sizeof s);
  download(f, a.buf[2], sizeof f);
  download(tickets, a.buf[3], n * 4);
  report("atomics", check_atomics(u, s, f, tickets, n), 0, ms, 0, 0);
  free(tickets);
}

static void test_surface(unsigned n) {
  int32_t *in = (int32_t *)malloc(n * 8);
  float *f = (float *)malloc(n * 4), *packed = (float *)malloc(n * 12), *moved = (float *)malloc(n * 12);
  uint32_t *out = (uint32_t *)malloc(n * 160);
  surface_start(in, f, packed, n);
  msl_args a = {};
  a.buf[0] = upload(in, n * 8);
  a.buf[1] = upload(f, n * 4);
  a.buf[2] = upload(NULL, n * 160);
  a.buf[3] = upload(packed, n * 12);
  a.buf[4] = upload(NULL, n * 12);
  float ms = launch(kernel("surface", "surface"), a, n, 64, 0, 0);
  download(out, a.buf[2], n * 160);
  download(moved, a.buf[4], n * 12);
  report("surface", check_surface(in, f, out, packed, moved, n), 0, ms, 0, 0);
  free(in);
  free(f);
  free(packed);
  free(moved);
  free(out);
}

int main(int argc, char **argv) {
  dir = argv[1];
  unsigned n = argc > 2 ? (unsigned)atol(argv[2]) : 64u << 20;
  CK(cudaFree(0));
  CK(cuInit(0));
  cudaDeviceProp device;
  CK(cudaGetDeviceProperties(&device, 0));
  printf("%s sm_%d%d, n = %u\n", device.name, device.major, device.minor, n);
  size_t most = n > 4096u * 1024u ? n : 4096u * 1024u;
  x = (float *)malloc(most * 4);
  y = (float *)malloc(most * 4);
  test_gelu(n);
  test_softmax(4096, 1024);
  test_matmul(1024, 1024, 1024);
  test_scatter(1000000);
  test_simd_full(1 << 16);
  test_atomics(1000);
  test_surface(1024);
  puts(fails ? "FAILED" : "all ok");
  return fails != 0;
}
