/* bytes.c - the bytes that launches read and write are counted exactly, each once. usage: bytes DIR SUFFIX
 * Buffers are longer than what is touched; one case binds two ranges of one buffer; one uses atomics. */
#include "mtl.h"
#include "msl_rt.h"
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static id device, queue;
static const char *dir, *suffix;
static msl_traffic seen[MSL_BUFFERS + 1];
static int launches, bad;
static void observe(void *context, const msl_launch *l, const msl_traffic *t) {
  (void)context;
  (void)l;
  memcpy(seen, t, sizeof seen);
  launches++;
}

typedef struct binding {
  id buffer; /* nil: constant bytes */
  NSUInteger offset;
  const void *bytes;
  NSUInteger n;
  size_t read, written; /* expected */
} binding;

static void run(const char *file, const char *kernel, const binding *b, int n, MTLSize grid, MTLSize group,
                int groups) {
  char path[512];
  snprintf(path, sizeof path, "%s/%s%s.metallib", dir, file, suffix);
  void *pool = objc_autoreleasePoolPush();
  id err = NULL, lib = mtl_library(device, path, &err);
  if (!lib) {
    fprintf(stderr, "%s\n", mtl_error_text(err));
    exit(1);
  }
  id f = mtl_function(lib, kernel), p = mtl_pipeline(device, f, &err), cb = mtl_cmdbuf(queue), e = mtl_encoder(cb, 0);
  mtl_set_pipeline(e, p);
  for (int i = 0; i < n; i++) {
    if (b[i].buffer) mtl_set_buffer(e, b[i].buffer, b[i].offset, i);
    else mtl_set_bytes(e, b[i].bytes, b[i].n, i);
  }
  if (groups) mtl_groups(e, grid, group);
  else mtl_threads(e, grid, group);
  mtl_end(e);
  mtl_commit(cb);
  int before = launches;
  mtl_wait(cb);
  if (launches != before + 1) bad++;
  for (int i = 0; i < n; i++)
    if (seen[i].read != b[i].read || seen[i].written != b[i].written) {
      fprintf(stderr, "%s, buffer %d: read %zu (expected %zu), written %zu (expected %zu)\n", kernel, i, seen[i].read,
              b[i].read, seen[i].written, b[i].written);
      bad++;
    }
  mtl_release(p);
  mtl_release(f);
  mtl_release(lib);
  objc_autoreleasePoolPop(pool);
}

/* without Metal: the library by hand, both subnormal modes and the counts in fields of the launch */
static void direct(void) {
  char path[512];
  snprintf(path, sizeof path, "%s/gelu%s.metallib", dir, suffix);
  void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  const msl_library *lib = handle ? dlsym(handle, "msl_library_v3") : NULL;
  const msl_kernel *k = NULL;
  for (const msl_kernel *const *p = lib ? lib->begin : NULL; lib && p < lib->end; p++)
    if (*p && !strcmp((*p)->name, "gelu_f32")) k = *p;
  if (!k) {
    bad++;
    return;
  }
  float x[100], y[100];
  unsigned n = 70;
  for (int mode = 0; mode < 2; mode++) {
    msl_traffic t[MSL_BUFFERS + 1];
    msl_launch l = {.kernel = k, .grid = {100, 1, 1}, .group = {32, 1, 1}, .ftz = mode, .traffic = t};
    l.buffer[0] = x, l.bytes[0] = sizeof x;
    l.buffer[1] = y, l.bytes[1] = sizeof y;
    l.buffer[2] = &n, l.bytes[2] = sizeof n;
    for (int i = 0; i < 100; i++) x[i] = 1e-40f, y[i] = 1;
    if (msl_launch_run(&l)) bad++;
    bad += t[0].read != 280 || t[0].written || t[1].written != 280 || t[2].read != 4 || y[69] == 1 || y[70] != 1;
    bad += (y[0] == 0) != mode; /* a subnormal in: flushed to 0, or not */
  }
  dlclose(handle);
}

int main(int argc, char **argv) {
  dir = argv[1];
  suffix = argc > 2 ? argv[2] : "";
  void *pool = objc_autoreleasePoolPush();
  device = MTLCreateSystemDefaultDevice();
  queue = mtl_queue(device);
  msl_observe(observe, NULL);
  msl_defaults.count = 1;
  if (!getenv("MSL_BYTES")) msl_defaults.count_file = "/dev/null";
  unsigned n = 1003, rows = 7, width = 101, m = 1000, sizes[4] = {24, 16, 40, 0};
  id x = mtl_buffer(device, 100000), y = mtl_buffer(device, 100000);
  memset(mtl_contents(x), 0, 100000);
#define BUFFER(b, read, written) {b, 0, NULL, 0, read, written}
#define BYTES(v, read) {nil, 0, &v, sizeof v, read, 0}
  binding gelu[] = {BUFFER(x, n * 4, 0), BUFFER(y, 0, n * 4), BYTES(n, 4)};
  run("gelu", "gelu_f32", gelu, 3, mtl_size(n, 1, 1), mtl_size(256, 1, 1), 0);
  run("gelu", "gelu_f32", gelu, 3, mtl_size(n + 500, 1, 1), mtl_size(256, 1, 1), 0);
  binding gelu16[] = {BUFFER(x, n * 2, 0), BUFFER(y, 0, n * 2), BYTES(n, 4)};
  run("gelu", "gelu_f16", gelu16, 3, mtl_size(n, 1, 1), mtl_size(256, 1, 1), 0);
  run("gelu", "gelu_bf16", gelu16, 3, mtl_size(n, 1, 1), mtl_size(256, 1, 1), 0);
  binding complex[] = {BUFFER(x, n * 8, 0), BUFFER(y, 0, n * 8), BYTES(n, 4)};
  run("gelu", "csquare_c64", complex, 3, mtl_size(n, 1, 1), mtl_size(256, 1, 1), 0);
  /* an arena: input and output are ranges of one buffer */
  binding arena[] = {{x, 1024, NULL, 0, n * 4, 0}, {x, 8192, NULL, 0, 0, n * 4}, BYTES(n, 4)};
  run("gelu", "gelu_f32", arena, 3, mtl_size(n, 1, 1), mtl_size(256, 1, 1), 0);
  int shape[3] = {10, 5, 20}, strides[3] = {0, 20, 1}, ndim = 3; /* broadcast over the first axis */
  binding strided[] = {BUFFER(x, 100 * 4, 0), BUFFER(y, 0, 4000), BYTES(shape, 12), BYTES(strides, 12),
                       BYTES(ndim, 4)};
  run("gelu", "gelu_f32_strided", strided, 5, mtl_size(20, 5, 10), mtl_size(32, 8, 4), 0);
  binding softmax[] = {BUFFER(x, rows * width * 4, 0), BUFFER(y, 0, rows * width * 4), BYTES(width, 4)};
  run("softmax", "softmax_row_f32", softmax, 3, mtl_size(rows, 1, 1), mtl_size(64, 1, 1), 1);
  binding matmul[] = {BUFFER(x, 24 * 40 * 4, 0), BUFFER(x, 0, 0), BUFFER(y, 0, 24 * 16 * 4),
                      BYTES(sizes, 8)}; /* it does not read the first */
  matmul[1].offset = 4096;
  matmul[1].read = 40 * 16 * 4;
  run("matmul", "matmul_sg_f32", matmul, 4, mtl_size(2, 3, 1), mtl_size(32, 1, 1), 1);
  id ix = mtl_buffer(device, 100000), count = mtl_buffer(device, 4);
  int *pi = mtl_contents(ix);
  for (unsigned i = 0; i < m; i++) pi[i] = (int)(i % 97) * 2; /* every second one */
  memset(mtl_contents(y), 0, 100000);
  memset(mtl_contents(count), 0, 4);
  binding scatter[] = {BUFFER(x, m * 4, 0), BUFFER(ix, m * 4, 0), BUFFER(y, 97 * 4, 97 * 4),
                       BUFFER(count, 4, 4), BYTES(m, 4)};
  run("scatter", "scatter_add_f32", scatter, 5, mtl_size(m, 1, 1), mtl_size(256, 1, 1), 0);
  /* exchange and compare-exchange read and write; a store only writes (the last of the ints) */
  memset(mtl_contents(x), 0, 100000);
  memset(mtl_contents(y), 0, 100000);
  binding atomics[] = {BUFFER(x, 36, 36),
                       {x, 4096, NULL, 0, 8, 12},
                       {x, 8192, NULL, 0, 12, 12},
                       BUFFER(y, 0, m * 4),
                       BYTES(m, 4)};
  run("atomics", "atomics", atomics, 5, mtl_size(m, 1, 1), mtl_size(256, 1, 1), 0);
  int through_metal = launches;
  direct();
  id all[] = {x, y, ix, count, queue, device};
  for (int i = 0; i < 6; i++) mtl_release(all[i]);
  objc_autoreleasePoolPop(pool);
  printf("bytes: %d launches, %d wrong\n", through_metal, bad);
  return bad != 0;
}
