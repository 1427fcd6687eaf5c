/* extra.c - source compilation, error objects, no-copy buffers, edge groups, floating-point and struct results. */
#include "mtl.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HEAD "#include <metal_stdlib>\nusing namespace metal;\n"
static const char undeclared[] =
    HEAD "kernel void k(device float* x [[buffer(0)]], uint i [[thread_position_in_grid]]) { y[i] = 1.0f; }\n";
static const char group_sizes[] =
    HEAD "kernel void k(device float* x [[buffer(0)]], uint2 p [[thread_position_in_grid]],\n"
         "  uint2 g [[threads_per_grid]], uint2 t [[threads_per_threadgroup]]) {\n"
         "  x[p.y * g.x + p.x] = float(t.x * 100u + t.y); }\n";

int main(void) {
  void *pool = objc_autoreleasePoolPush();
  id err = NULL, dev = MTLCreateSystemDefaultDevice(), queue = mtl_queue(dev);
  int bad = 0;
  if (mtl_library(dev, "/nonexistent.metallib", &err) || !err) bad++;
  else printf("error: %.60s\n", mtl_error_text(err));

  id options = MSG("@@:", id, (id, SEL))(CLASS("MTLCompileOptions"), SELN("new"));
  MSG("v@:B", void, (id, SEL, BOOL))(options, SELN("setFastMathEnabled:"), NO);
  id lib = mtl_library_source(dev, undeclared, options, &err);
  if (lib) bad++;
  else printf("compile error: %.100s\n", strstr(mtl_error_text(err), "error:"));
  lib = mtl_library_source(dev, group_sizes, options, &err);
  if (!lib) {
    printf("%s\n", mtl_error_text(err));
    return 1;
  }

  /* a 35x20 grid of 32x8 groups: the edge groups are smaller */
  float *mem = aligned_alloc(16384, 16384);
  memset(mem, 0, 16384);
  id b = mtl_buffer_nocopy(dev, mem, 16384, NULL), f = mtl_function(lib, "k"), p = mtl_pipeline(dev, f, &err);
  id cb = mtl_cmdbuf(queue), e = mtl_encoder(cb, 0);
  mtl_set_pipeline(e, p);
  mtl_set_buffer(e, b, 0, 0);
  mtl_threads(e, mtl_size(35, 20, 1), mtl_size(32, 8, 1));
  mtl_end(e);
  mtl_commit(cb);
  mtl_wait(cb);
  bad += mem[0] != 3208 || mem[34] != 308 || mem[19 * 35] != 3204 || mem[19 * 35 + 34] != 304;

  bad += mtl_gpu_end(cb) < mtl_gpu_start(cb) || mtl_gpu_start(cb) <= 0.0 || mtl_gpu_end(nil) != 0.0 ||
         mtl_contents(nil) != NULL;
  MTLSize most = mtl_device_max_threads(dev);
  bad += most.width != 1024 || most.height != 1024 || most.depth != 1024;

  mtl_release(b);
  mtl_release(f);
  mtl_release(p);
  mtl_release(lib);
  mtl_release(options);
  mtl_release(queue);
  mtl_release(dev);
  free(mem);
  objc_autoreleasePoolPop(pool);
  printf("extra: %s\n", bad ? "FAILED" : "ok");
  return bad != 0;
}
