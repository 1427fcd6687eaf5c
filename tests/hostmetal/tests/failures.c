/* failures.c - calls that are made to fail do so as Metal's would, once, and leave nothing behind.
 * usage: failures LIBRARY */
#include "run.h"
#include "hm_hooks.h"
#include <math.h>
#include <string.h>

static int bad;
#define EXPECT(e) ((e) ? (void)0 : (void)(bad++, fprintf(stderr, "line %d: %s\n", __LINE__, #e)))

int main(int argc, char **argv) {
  void *pool = objc_autoreleasePoolPush();
  id err = NULL, dev;
  hm_fail(HM_FAIL_DEVICE, 1);
  EXPECT(!MTLCreateSystemDefaultDevice());
  dev = MTLCreateSystemDefaultDevice();
  EXPECT(dev && hm_calls(HM_FAIL_DEVICE) == 2);

  hm_fail(HM_FAIL_QUEUE, 1);
  EXPECT(!mtl_queue(dev));
  id queue = mtl_queue(dev), b[3];

  hm_fail(HM_FAIL_ALLOC, 2);
  b[0] = mtl_buffer(dev, 400);
  b[1] = mtl_buffer_bytes(dev, argv, 16);
  b[2] = mtl_buffer(dev, 400);
  EXPECT(b[0] && !b[1] && b[2] && hm_calls(HM_FAIL_ALLOC) == 3);
  hm_fail(HM_FAIL_ALLOC, 1);
  hm_fail(HM_FAIL_ALLOC, 0); /* none after all */
  b[1] = mtl_buffer(dev, 400);
  EXPECT(b[1] != nil);

  hm_fail(HM_FAIL_LIBRARY, 1);
  EXPECT(!mtl_library(dev, argv[argc - 1], &err) && err && mtl_error_code(err) == 2);
  err = NULL;
  hm_fail(HM_FAIL_LIBRARY, 1);
  EXPECT(!mtl_library(dev, argv[argc - 1], NULL));
  id lib = library_or_exit(dev, argv[argc - 1]), f = mtl_function(lib, "gelu_f32");

  hm_fail(HM_FAIL_PIPELINE, 1);
  EXPECT(!mtl_pipeline(dev, f, &err) && err && strstr(mtl_error_text(err), "internal error"));
  id p = mtl_pipeline(dev, f, &err);

  hm_fail(HM_FAIL_COMMAND, 1);
  EXPECT(!mtl_cmdbuf(queue));
  id cb = mtl_cmdbuf(queue);
  hm_fail(HM_FAIL_ENCODER, 1);
  EXPECT(!mtl_encoder(cb, 0));

  /* three dispatches, two of them done when it fails */
  float *x = mtl_contents(b[0]), *y = mtl_contents(b[1]), *z = mtl_contents(b[2]);
  for (int i = 0; i < 100; i++) x[i] = 1;
  hm_fail(HM_FAIL_COMMIT, 1);
  for (int again = 0; again < 2; again++) {
    cb = mtl_cmdbuf(queue);
    id e = mtl_encoder(cb, 0);
    const range first[] = {{b[0], 0}, {b[1], 0}}, last[] = {{b[0], 0}, {b[2], 0}};
    encode(e, p, first, 2, 100);
    encode(e, p, first, 2, 100);
    encode(e, p, last, 2, 100);
    mtl_end(e);
    mtl_commit(cb);
    mtl_wait(cb);
    err = mtl_error(cb);
    EXPECT(mtl_status(cb) == (again ? 4u : 5u) && (err == nil) == again);
    EXPECT(!isnan(y[99]) && (isnan(z[99]) != 0) == !again);
    EXPECT(again || (mtl_error_code(err) == 2 && strstr(mtl_error_text(err), "GPU Timeout")));
  }
  id all[] = {b[0], b[1], b[2], p, f, lib, queue, dev};
  for (int i = 0; i < 8; i++) mtl_release(all[i]);
  objc_autoreleasePoolPop(pool);
  EXPECT(hm_get_stats().live == 0);
  printf("failures: %d wrong\n", bad);
  return bad != 0;
}
