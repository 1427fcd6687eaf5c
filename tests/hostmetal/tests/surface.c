/* surface.c - functions of the header that no other sample uses, against plain C. usage: surface LIBRARY */
#include "mtl.h"
#include "expect.h"
#include <stdio.h>

enum { N = 1024 };
int main(int argc, char **argv) {
  void *pool = objc_autoreleasePoolPush();
  id err = NULL, dev = MTLCreateSystemDefaultDevice(), queue = mtl_queue(dev),
     lib = mtl_library(dev, argv[argc - 1], &err);
  if (!lib) return fprintf(stderr, "%s\n", mtl_error_text(err)), 1;
  id f = mtl_function(lib, "surface"), p = mtl_pipeline(dev, f, &err), b[5];
  static const NSUInteger sizes[5] = {N * 8, N * 4, N * 160, N * 12, N * 12};
  int bad = mtl_max_threads(p) != 64;
  for (int i = 0; i < 5; i++) b[i] = mtl_buffer(dev, sizes[i]);
  int32_t *x = mtl_contents(b[0]);
  float *g = mtl_contents(b[1]), *packed = mtl_contents(b[3]), *moved = mtl_contents(b[4]);
  uint32_t *out = mtl_contents(b[2]);
  surface_start(x, g, packed, N);
  id cb = mtl_cmdbuf(queue), e = mtl_encoder(cb, 0);
  mtl_set_pipeline(e, p);
  for (NSUInteger i = 0; i < 5; i++) mtl_set_buffer(e, b[i], 0, i);
  mtl_threads(e, mtl_size(N, 1, 1), mtl_size(64, 1, 1));
  mtl_end(e);
  mtl_commit(cb);
  mtl_wait(cb);
  bad += check_surface(x, g, out, packed, moved, N);
  id all[] = {b[0], b[1], b[2], b[3], b[4], p, f, lib, queue, dev};
  for (int i = 0; i < 10; i++) mtl_release(all[i]);
  objc_autoreleasePoolPop(pool);
  printf("surface: %d wrong\n", bad);
  return bad != 0;
}
