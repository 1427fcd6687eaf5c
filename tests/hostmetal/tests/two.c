/* two.c - runs ka and kb of a metallib made from two .air files; both have a static helper of the same name. */
#include "mtl.h"
#include <stdio.h>
int main(int argc, char **argv) {
  static const char *const kernels[] = {"ka", "kb"};
  static const float expected[] = {7.0f, 10.0f}; /* 2 * 3 + 1, 2 * 5 */
  void *pool = objc_autoreleasePoolPush();
  id err = NULL, dev = MTLCreateSystemDefaultDevice(), queue = mtl_queue(dev),
     lib = mtl_library(dev, argv[argc - 1], &err);
  if (!lib) return fprintf(stderr, "%s\n", mtl_error_text(err)), 1;
  int bad = 0;
  for (int k = 0; k < 2; k++) {
    id b = mtl_buffer(dev, 40), f = mtl_function(lib, kernels[k]), p = mtl_pipeline(dev, f, &err);
    float *x = mtl_contents(b);
    for (int i = 0; i < 10; i++) x[i] = 2.0f;
    id cb = mtl_cmdbuf(queue), e = mtl_encoder(cb, 0);
    mtl_set_pipeline(e, p);
    mtl_set_buffer(e, b, 0, 0);
    mtl_threads(e, mtl_size(10, 1, 1), mtl_size(10, 1, 1));
    mtl_end(e);
    mtl_commit(cb);
    mtl_wait(cb);
    for (int i = 0; i < 10; i++) bad += x[i] != expected[k];
    mtl_release(b);
    mtl_release(f);
    mtl_release(p);
  }
  mtl_release(lib);
  mtl_release(queue);
  mtl_release(dev);
  objc_autoreleasePoolPop(pool);
  if (bad) printf("two: %d wrong\n", bad);
  return bad != 0;
}
