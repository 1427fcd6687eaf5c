/* ranges.c - bindings that are ranges of one buffer, with kernels built with --count: told apart byte by byte, also
 * between the dispatches of a concurrent encoder. usage: ranges LIBRARY ok|MISUSE */
#include "run.h"
#include "msl_rt.h"
#include <string.h>

enum { N = 100, LENGTH = 8192 };
static id device, queue, library, plus_one, before, both;
static msl_traffic seen[MSL_BUFFERS + 1];
static int launches;
static void observe(void *context, const msl_launch *l, const msl_traffic *t) {
  (void)context;
  (void)l;
  memcpy(seen, t, sizeof seen);
  launches++;
}

/* dispatches of plus_one on ranges of b, one after another in one encoder; a barrier where the list has 0, 0 */
static void chain(id b, const NSUInteger (*list)[2], int n, int concurrent, id barrier_only) {
  void *pool = objc_autoreleasePoolPush();
  id cb = mtl_cmdbuf(queue), e = mtl_encoder(cb, concurrent);
  for (int i = 0; i < n; i++) {
    if (list[i][0] == 0 && list[i][1] == 0) {
      if (barrier_only)
        MSG("v@:r^@Q", void, (id, SEL, const id *, NSUInteger))
        (e, SELN("memoryBarrierWithResources:count:"), &barrier_only, 1);
      else mtl_barrier(e);
      continue;
    }
    const range r[] = {{b, list[i][0]}, {b, list[i][1]}};
    encode(e, plus_one, r, 2, N);
  }
  mtl_end(e);
  mtl_commit(cb);
  mtl_wait(cb);
  objc_autoreleasePoolPop(pool);
}
static void one(id pipeline, const range *r, int nranges) {
  void *pool = objc_autoreleasePoolPush();
  id cb = mtl_cmdbuf(queue), e = mtl_encoder(cb, 0);
  encode(e, pipeline, r, nranges, N);
  mtl_end(e);
  mtl_commit(cb);
  mtl_wait(cb);
  objc_autoreleasePoolPop(pool);
}

static int legal(id b, id other) {
  int bad = 0;
  float *p = mtl_contents(b);
  msl_observe(observe, NULL);
  msl_defaults.count = 1;
  msl_defaults.count_file = "/dev/null";
  for (int i = 0; i < LENGTH / 4; i++) p[i] = (float)i;
  /* far apart, and side by side */
  for (NSUInteger to = 4096; to > 0; to = to == 4096 ? 400 : 0) {
    const range r[] = {{b, 0}, {b, to}};
    one(plus_one, r, 2);
    for (int i = 0; i < N; i++) bad += p[to / 4 + i] != (float)i + 1 || p[i] != (float)i;
    bad += seen[0].read != 400 || seen[0].written || seen[1].read || seen[1].written != 400 || seen[2].read != 4;
    bad += seen[MSL_TOTAL].read != 404 || seen[MSL_TOTAL].written != 400;
  }
  /* the same range read through two bindings counts once in all; the other buffer is written */
  const range twice[] = {{b, 0}, {other, 0}, {b, 4096}};
  one(both, twice, 3);
  bad += seen[0].read != 400 || seen[1].written != 400 || seen[2].written != 400 || p[1024 + 3] != 6;
  /* concurrent: disjoint ranges need no barrier; a chain has them */
  const NSUInteger disjoint[][2] = {{0, 2048}, {400, 4096}, {0, 6144}};
  chain(b, disjoint, 3, 1, nil);
  const NSUInteger steps[][2] = {{4, 2048}, {0, 0}, {2048, 4096}, {0, 0}, {4096, 2048}};
  chain(b, steps, 5, 1, nil);
  chain(b, steps, 5, 1, b);
  bad += p[512] != 1 + 3;
  const NSUInteger serial[][2] = {{4, 2048}, {2048, 4096}};
  chain(b, serial, 2, 0, nil);
  chain(b, serial, 1, 1, nil); /* between encoders Metal waits by itself */
  bad += launches != 3 + 3 + 3 + 3 + 2 + 1;
  return bad;
}

int main(int argc, char **argv) {
  const char *what = argc > 2 ? argv[2] : "";
  void *pool = objc_autoreleasePoolPush();
  device = MTLCreateSystemDefaultDevice();
  queue = mtl_queue(device);
  library = library_or_exit(device, argv[1]);
  plus_one = pipeline_or_exit(device, library, "plus_one");
  before = pipeline_or_exit(device, library, "before");
  both = pipeline_or_exit(device, library, "both");
  id b = mtl_buffer(device, LENGTH), other = mtl_buffer(device, LENGTH);
  int bad = 0;
#define CASE(s) if (!strcmp(what, s))
  CASE("ok") bad = legal(b, other);
  CASE("in-place") one(plus_one, (const range[]){{b, 0}, {b, 0}}, 2);
  CASE("shifted") one(plus_one, (const range[]){{b, 0}, {b, 4}}, 2);
  CASE("two-writers") one(both, (const range[]){{b, 0}, {b, 4096}, {b, 4096 + 396}}, 3);
  CASE("past-end") one(plus_one, (const range[]){{b, 0}, {b, LENGTH - 396}}, 2);
  CASE("before-start") one(before, (const range[]){{b, 4096}, {b, 0}}, 2);
  CASE("raw") chain(b, (const NSUInteger[][2]){{4, 2048}, {2048, 4096}}, 2, 1, nil);
  CASE("war") chain(b, (const NSUInteger[][2]){{4, 2048}, {4096, 4}}, 2, 1, nil);
  CASE("waw") chain(b, (const NSUInteger[][2]){{4, 2048}, {4096, 2048}}, 2, 1, nil);
  CASE("other-resource") chain(b, (const NSUInteger[][2]){{4, 2048}, {0, 0}, {2048, 4096}}, 3, 1, other);
  id all[] = {b, other, both, before, plus_one, library, queue, device};
  for (int i = 0; i < 8; i++) mtl_release(all[i]);
  objc_autoreleasePoolPop(pool);
  printf("ranges: %d wrong\n", bad);
  return bad != 0;
}
