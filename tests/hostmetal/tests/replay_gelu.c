/* replay_gelu.c - a stub as a compiler would write it: plain C, no Objective-C compiler.
 *   macOS: cc replay_gelu.c -lobjc -framework Metal -framework Foundation -framework CoreGraphics
 *   Linux: bin/hostcc with the same arguments
 * A second argument seeds a misuse by name; run_tests.sh knows what each must be reported as. */
#include "mtl.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *bug = "";
static int is_bug(const char *name) { return !strcmp(bug, name); }

/* a completion handler as a global block, by hand */
static int handlers_run;
static void completed(void *block, id command_buffer) {
  (void)block;
  (void)command_buffer;
  __atomic_add_fetch(&handlers_run, 1, __ATOMIC_SEQ_CST);
}
extern void *_NSConcreteGlobalBlock[32];
static struct {
  unsigned long reserved, size;
} descriptor = {0, 32};
static struct {
  void *isa;
  int flags, reserved;
  void (*invoke)(void *, id);
  void *descriptor;
} handler = {_NSConcreteGlobalBlock, 1 << 28, 0, completed, &descriptor};

int main(int argc, char **argv) {
  static char big[8192];
  unsigned n = 100003;
  id err = NULL;
  bug = argc > 2 ? argv[2] : "";
  void *pool = objc_autoreleasePoolPush();
  id device = MTLCreateSystemDefaultDevice(), library = mtl_library(device, argv[1], &err);
  if (!library) {
    fprintf(stderr, "library: %s\n", mtl_error_text(err));
    return 1;
  }
  id function = mtl_function(library, is_bug("name") ? "nope" : "gelu_f32");
  if (!function) {
    fprintf(stderr, "no such kernel\n");
    return 1;
  }
  id pipeline = mtl_pipeline(device, function, &err), queue = mtl_queue(device);
  id x = mtl_buffer(device, n * 4), y = mtl_buffer(device, is_bug("short") ? n * 4 - 400 : n * 4);
  float *px = mtl_contents(x), *py = mtl_contents(y);
  for (unsigned i = 0; i < n; i++) px[i] = (float)((int)i - 50000) * 1e-4f;

  id cb = mtl_cmdbuf(queue), e = mtl_encoder(cb, 1);
  mtl_set_pipeline(e, pipeline);
  mtl_set_buffer(e, x, is_bug("offset") ? n * 4 : 0, 0);
  if (!is_bug("unbound")) mtl_set_buffer(e, y, 0, 1);
  mtl_set_bytes(e, is_bug("bytes") ? (void *)big : &n, is_bug("bytes") ? sizeof big : is_bug("size") ? 2 : 4,
                is_bug("index") ? 31 : 2);
  NSUInteger group = is_bug("tg") ? 2048 : mtl_max_threads(pipeline);
  mtl_threads(e, mtl_size(n, 1, 1), mtl_size(group, 1, 1));
  if (!is_bug("barrier")) mtl_barrier(e);
  if (is_bug("released")) mtl_release(y);
  mtl_set_buffer(e, x, 0, 0); /* the second dispatch writes y again, so it needs the barrier */
  mtl_threads(e, mtl_size(n, 1, 1), mtl_size(group, 1, 1));
  if (!is_bug("noend")) mtl_end(e);
  mtl_on_completed(cb, &handler);
  mtl_commit(cb);
  if (!is_bug("nowait")) mtl_wait(cb);
  if (is_bug("selector")) MSG("v@:", void, (id, SEL))(cb, SELN("waitUntilComplete"));

  double worst = 0;
  for (unsigned i = 0; i < n; i++) {
    double err_i = fabs(py[i] - 0.5 * px[i] * (1 + erf(px[i] * 0.70710678118654752)));
    if (!(err_i <= worst)) worst = err_i; /* keeps NaN */
  }
  printf("gelu_f32: max abs error %.3g, status %lu, handlers run %d\n", worst, mtl_status(cb), handlers_run);
  if (is_bug("overrun")) py[n] = 1;
  if (is_bug("underrun")) py[-1] = 1;
  if (!is_bug("leak")) mtl_release(x);
  mtl_release(y);
  if (is_bug("double")) mtl_release(y);
  mtl_release(queue);
  mtl_release(pipeline);
  mtl_release(function);
  mtl_release(library);
  mtl_release(device);
  objc_autoreleasePoolPop(pool);
  return worst < 1e-5 ? 0 : 2;
}
