/* simd.c - simd functions and atomics. usage: simd DIR SUFFIX
 * simd_probe has partial simdgroups, lanes that returned early and poison from them; simd_full whole ones. */
#include "mtl.h"
#include "expect.h"
#include <math.h>
#include <stdio.h>

static id device, queue;
static const char *dir, *suffix;

static void run(const char *file, const char *kernel, id *buffers, int nbuffers, unsigned value, unsigned n,
                unsigned group) {
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
  for (int i = 0; i < nbuffers; i++) mtl_set_buffer(e, buffers[i], 0, i);
  mtl_set_bytes(e, &value, 4, nbuffers);
  mtl_threads(e, mtl_size(n, 1, 1), mtl_size(group, 1, 1));
  mtl_end(e);
  mtl_commit(cb);
  mtl_wait(cb);
  mtl_release(p);
  mtl_release(f);
  mtl_release(lib);
  objc_autoreleasePoolPop(pool);
}

static int probe_thread(const float *x, const float *o, unsigned i, unsigned n, unsigned group, unsigned skip) {
  unsigned start = i / group * group, first = start + (i - start) / 32 * 32, end = first + 32;
  if (end > start + group) end = start + group;
  if (end > n) end = n;
  unsigned low = first + skip; /* lanes below returned early */
  if (i < low) return !isnan(o[0]);
  float sum = 0, max = -1, min = 1e9f, prefix = 0;
  for (unsigned j = low; j < end; j++) {
    sum += x[j];
    max = fmaxf(max, x[j]);
    min = fminf(min, x[j]);
    if (j <= i) prefix += x[j];
  }
  int bad = o[0] != sum || o[1] != max || o[2] != min || o[5] != prefix || o[6] != x[low] || o[7] != 0;
  unsigned down = i + 1, across = first + ((i - first) ^ 1);
  if (down >= first + 32) bad += o[3] != x[i];
  else bad += down < end ? o[3] != x[down] : !isnan(o[3]);
  bad += across >= low && across < end ? o[4] != x[across] : !isnan(o[4]);
  return bad;
}

int main(int argc, char **argv) {
  dir = argv[1];
  suffix = argc > 2 ? argv[2] : "";
  void *pool = objc_autoreleasePoolPush();
  device = MTLCreateSystemDefaultDevice();
  queue = mtl_queue(device);
  unsigned n = 1000, skip = 3, bad = 0;
  id x = mtl_buffer(device, 4096), out = mtl_buffer(device, 1024 * 96), b[2] = {x, out};
  float *px = mtl_contents(x), *po = mtl_contents(out);
  for (unsigned i = 0; i < n; i++) px[i] = (float)(i * 7 % 101);
  run("simd", "simd_probe", b, 2, skip, n, 96);
  for (unsigned i = 0; i < n; i++) bad += probe_thread(px, po + i * 8, i, n, 96, skip);

  uint32_t *ux = mtl_contents(x), s = 1;
  for (unsigned i = 0; i < 1024; i++) ux[i] = i % 50 ? (s = s * 1664525u + 1013904223u) >> (i % 29) : 0;
  run("simd_full", "simd_full", b, 2, 0, 1024, 128);
  bad += check_simd_full(ux, mtl_contents(out), 1024);

  id u = mtl_buffer(device, 36), si = mtl_buffer(device, 12), f = mtl_buffer(device, 12), a[4] = {u, si, f, out};
  atomics_start(mtl_contents(u), mtl_contents(si), mtl_contents(f));
  run("atomics", "atomics", a, 4, n, n, 256);
  bad += check_atomics(mtl_contents(u), mtl_contents(si), mtl_contents(f), mtl_contents(out), n);
  id all[] = {x, out, u, si, f, queue, device};
  for (int i = 0; i < 7; i++) mtl_release(all[i]);
  objc_autoreleasePoolPop(pool);
  printf("simd and atomics: %u wrong\n", bad);
  return bad != 0;
}
