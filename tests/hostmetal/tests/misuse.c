/* misuse.c - wrong uses of Metal's classes, one by argument; each must be caught. usage: misuse LIBRARY [MISUSE] */
#include "run.h"
#include <stdlib.h>
#include <string.h>

static const char *bug;
#define BUG(s) if (!strcmp(bug, s))
static id buffer_with(id dev, NSUInteger n, NSUInteger options) {
  return MSG("@@:QQ", id, (id, SEL, NSUInteger, NSUInteger))(dev, SELN("newBufferWithLength:options:"), n, options);
}
extern void *_NSConcreteGlobalBlock[32];
static void wait_again(void *block, id cb);
static const unsigned long descriptor[2] = {0, 32};
static struct {
  void *isa;
  int flags, reserved;
  void (*invoke)(void *, id);
  const void *descriptor;
} handler = {_NSConcreteGlobalBlock, 1 << 28, 0, wait_again, descriptor};
static id queue;
static void wait_again(void *block, id cb) {
  (void)block;
  (void)cb;
  id other = mtl_cmdbuf(queue);
  mtl_commit(other);
  mtl_wait(other);
}

static void buffers(id dev) {
  char *mem = aligned_alloc(16384, 32768);
  BUG("no-copy-pointer") mtl_buffer_nocopy(dev, mem + 4096, 16384, NULL);
  BUG("no-copy-length") mtl_buffer_nocopy(dev, mem, 20480, NULL);
  BUG("zero-length") mtl_buffer(dev, 0);
  BUG("too-long") mtl_buffer(dev, 17ul << 30);
  BUG("managed") buffer_with(dev, 16, 16);
  BUG("options") buffer_with(dev, 16, 4096);
  BUG("no-label") mtl_release(mtl_buffer(dev, 16));
  free(mem);
}
static void objects(id dev) {
  BUG("url-type") {
    id err = NULL;
    MSG("@@:@^@", id, (id, SEL, id, id *))(dev, SELN("newLibraryWithURL:error:"), mtl_str("x"), &err);
  }
  BUG("data-type") mtl_library_data(dev, mtl_str("x"), NULL);
  BUG("device") for (int i = 0; i < 3; i++) mtl_release(dev);
  BUG("device-leak") MTLCreateSystemDefaultDevice();
  BUG("pool") {
    void *outer = objc_autoreleasePoolPush();
    mtl_str("x");
    void *inner = objc_autoreleasePoolPush();
    objc_autoreleasePoolPop(outer);
    objc_autoreleasePoolPop(inner);
  }
}

int main(int argc, char **argv) {
  bug = argc > 2 ? argv[2] : "";
  void *pool = objc_autoreleasePoolPush();
  id dev = MTLCreateSystemDefaultDevice(), lib = library_or_exit(dev, argv[1]), f = mtl_function(lib, "gelu_f32");
  id how = MSG("@@:", id, (id, SEL))(CLASS("MTLComputePipelineDescriptor"), SELN("new"));
  MSG("v@:@", void, (id, SEL, id))(how, SELN("setComputeFunction:"), f);
  mtl_set_label(how, "p");
  id p = MSG("@@:@Q^@^@", id, (id, SEL, id, NSUInteger, id *, id *))(
      dev, SELN("newComputePipelineStateWithDescriptor:options:reflection:error:"), how, 0, NULL, NULL);
  id x = mtl_buffer(dev, 400), y = mtl_buffer(dev, 400);
  queue = mtl_queue(dev);
  buffers(dev);
  objects(dev);
  id cb = mtl_cmdbuf(queue), e = mtl_encoder(cb, 1), named[] = {lib, queue, x, y, cb, e};
  for (int i = 0; i < 6; i++) mtl_set_label(named[i], "n");
  BUG("label-type") MSG("v@:@", void, (id, SEL, id))(e, SELN("setLabel:"), x);
  BUG("pipeline-label") mtl_set_label(p, "q");
  BUG("pop") mtl_pop(e);
  BUG("push") mtl_push(e, "g");
  BUG("scope") MSG("v@:Q", void, (id, SEL, NSUInteger))(e, SELN("memoryBarrierWithScope:"), 2);
  const range r[] = {{x, 0}, {y, 0}};
  encode(e, p, r, 2, 100);
  BUG("written-bytes") {
    char few[400];
    mtl_set_bytes(e, few, sizeof few, 1);
    mtl_threads(e, mtl_size(1, 1, 1), mtl_size(1, 1, 1));
  }
  BUG("constant-offset") {
    mtl_set_buffer(e, x, 16, 2);
    mtl_threads(e, mtl_size(1, 1, 1), mtl_size(1, 1, 1));
  }
  mtl_end(e);
  BUG("bad-block") {
    handler.isa = NULL;
    mtl_on_completed(cb, &handler);
  }
  BUG("wait-early") mtl_wait(cb);
  BUG("wait-in-handler") mtl_on_completed(cb, &handler);
  mtl_commit(cb);
  BUG("commit-twice") mtl_commit(cb);
  BUG("handler-late") mtl_on_completed(cb, &handler);
  mtl_wait(cb);
  id all[] = {x, y, p, how, f, lib, queue, dev};
  for (int i = 0; i < 8; i++) mtl_release(all[i]);
  objc_autoreleasePoolPop(pool);
  puts("no error");
  return 0;
}
