// launch.h - loads kernels that mslc --cuda and nvcc made, and launches them as dispatchThreads would.
#ifndef MSL_LAUNCH_H
#define MSL_LAUNCH_H
#include <cuda.h>
#include <cuda_runtime.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#define CK(x)                                                                                                \
  do {                                                                                                       \
    int e_ = (int)(x);                                                                                       \
    if (e_) {                                                                                                \
      fprintf(stderr, "%s:%d: %s: error %d\n", __FILE__, __LINE__, #x, e_);                                  \
      exit(1);                                                                                               \
    }                                                                                                        \
  } while (0)

struct msl_args { // as in the generated .cu files
  void *buf[31];
  unsigned grid[3], tgoff[4];
};
struct msl_function {
  const char *name;
  CUfunction f;
  bool simd; // it may call simd functions: whole simdgroups only
};

static msl_function load_function(const char *cubin, const char *name) {
  char k[160];
  CUmodule module;
  CUdeviceptr p;
  size_t n;
  unsigned simd = 1;
  msl_function r = {name, 0, true};
  CK(cuModuleLoad(&module, cubin));
  snprintf(k, sizeof k, "k_%s", name);
  CK(cuModuleGetFunction(&r.f, module, k));
  snprintf(k, sizeof k, "k_%s_simd", name);
  if (cuModuleGetGlobal(&p, &n, module, k) == CUDA_SUCCESS && n == 4) CK(cuMemcpyDtoH(&simd, p, 4));
  r.simd = simd != 0;
  return r;
}

// NULL, or why this launch would have partial simdgroups (as in the kernel's own check)
static const char *partial_simdgroups(const msl_function &k, dim3 grid, dim3 group) {
  static char text[256];
  if (!k.simd) return NULL;
  unsigned g[3] = {grid.x, grid.y, grid.z}, t[3] = {group.x, group.y, group.z}, cut[3];
  for (int d = 0; d < 3; d++) cut[d] = g[d] % t[d] ? g[d] % t[d] : t[d];
  bool whole = t[0] * t[1] * t[2] % 32 == 0 || (g[0] <= t[0] && g[1] <= t[1] && g[2] <= t[2]);
  bool edges = (cut[0] == t[0] || t[1] * t[2] == 1) && (cut[1] == t[1] || t[2] == 1) &&
               cut[0] * cut[1] * cut[2] % 32 == 0;
  if (whole && edges) return NULL;
  snprintf(text, sizeof text,
           "%s: grid %ux%ux%u in threadgroups of %ux%ux%u leaves partial simdgroups; a kernel with simd functions "
           "needs whole ones in the CUDA form", k.name, g[0], g[1], g[2], t[0], t[1], t[2]);
  return text;
}

// milliseconds a launch, over `repeats` after one to warm up (0: one launch only); grid in threads
static float launch(const msl_function &k, msl_args a, dim3 grid, dim3 group, unsigned dynamic, int repeats) {
  const char *why = partial_simdgroups(k, grid, group);
  if (why) {
    fprintf(stderr, "%s\n", why);
    exit(1);
  }
  cudaEvent_t start, end;
  float ms;
  a.grid[0] = grid.x, a.grid[1] = grid.y, a.grid[2] = grid.z;
  void *parameters[] = {&a};
  CK(cudaEventCreate(&start));
  CK(cudaEventCreate(&end));
  for (int i = 0; i <= repeats; i++) {
    if (i == 1 || repeats == 0) CK(cudaEventRecord(start));
    CK(cuLaunchKernel(k.f, (grid.x + group.x - 1) / group.x, (grid.y + group.y - 1) / group.y,
                      (grid.z + group.z - 1) / group.z, group.x, group.y, group.z, dynamic, 0, parameters, 0));
  }
  CK(cudaEventRecord(end));
  CK(cudaEventSynchronize(end));
  CK(cudaEventElapsedTime(&ms, start, end));
  return ms / (repeats ? repeats : 1);
}

static void *upload(const void *host, size_t n) { // NULL: filled with 0xFF, which is NaN
  void *d;
  CK(cudaMalloc(&d, n));
  if (host) CK(cudaMemcpy(d, host, n, cudaMemcpyHostToDevice));
  else CK(cudaMemset(d, 0xFF, n));
  return d;
}
static void download(void *host, const void *d, size_t n) { CK(cudaMemcpy(host, d, n, cudaMemcpyDeviceToHost)); }
#endif
