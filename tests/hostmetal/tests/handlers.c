/* handlers.c - completion handlers: on another thread when nobody waits, done before a wait returns, free to take a
 * lock that a thread holds while it talks to Metal; blocks with helpers are copied and disposed of.
 * usage: handlers LIBRARY */
#include "run.h"
#include "hm_hooks.h"
#include <dispatch/dispatch.h>
#include <pthread.h>
#include <string.h>

static int bad;
#define EXPECT(e) ((e) ? (void)0 : (void)(bad++, fprintf(stderr, "line %d: %s\n", __LINE__, #e)))
extern void *_NSConcreteStackBlock[32];
struct block {
  void *isa;
  int flags, reserved;
  void (*invoke)(void *, id);
  const void *descriptor;
  int number;
};
static int copies, disposals, calls, scheduled_calls, last_number;
static NSUInteger last_status;
static pthread_t where;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static dispatch_semaphore_t done;
static void copy(void *to, const void *from) { copies += to != from; }
static void dispose(const void *block) { disposals += block != NULL; }
static const struct {
  unsigned long reserved, size;
  void (*copy)(void *, const void *);
  void (*dispose)(const void *);
} descriptor = {0, sizeof(struct block), copy, dispose};
static void completed(void *block, id cb) {
  pthread_mutex_lock(&lock);
  last_number = ((struct block *)block)->number;
  last_status = mtl_status(cb);
  where = pthread_self();
  calls++;
  pthread_mutex_unlock(&lock);
  dispatch_semaphore_signal(done);
}
static void scheduled(void *block, id cb) {
  (void)block;
  scheduled_calls += mtl_status(cb) == 3;
}

static id queue, pipeline, buffers[2];
static id make(int number, void (*f)(void *, id)) {
  id cb = mtl_cmdbuf(queue), e = mtl_encoder(cb, 0);
  const range r[] = {{buffers[0], 0}, {buffers[1], 0}};
  encode(e, pipeline, r, 2, 100);
  mtl_end(e);
  struct block b = {_NSConcreteStackBlock, 1 << 25, 0, f, &descriptor, number}; /* gone when this returns */
  mtl_on_completed(cb, &b);
  b.invoke = scheduled;
  MSG("v@:@?", void, (id, SEL, const void *))(cb, SELN("addScheduledHandler:"), &b);
  memset(&b, 0xAA, sizeof b);
  return cb;
}

int main(int argc, char **argv) {
  void *pool = objc_autoreleasePoolPush();
  id dev = MTLCreateSystemDefaultDevice(), lib = library_or_exit(dev, argv[argc - 1]);
  queue = mtl_queue(dev);
  pipeline = pipeline_or_exit(dev, lib, "gelu_f32");
  done = dispatch_semaphore_create(0);
  for (int i = 0; i < 2; i++) buffers[i] = mtl_buffer(dev, 400);
  memset(mtl_contents(buffers[0]), 0, 400);

  mtl_commit(make(1, completed));
  dispatch_semaphore_wait(done, DISPATCH_TIME_FOREVER);
  EXPECT(last_number == 1 && last_status == 4 && !pthread_equal(where, pthread_self()));

  id cb = make(2, completed);
  mtl_commit(cb);
  mtl_wait(cb);
  EXPECT(calls == 2 && last_number == 2);
  dispatch_semaphore_wait(done, DISPATCH_TIME_FOREVER);

  hm_fail(HM_FAIL_COMMIT, 1);
  mtl_commit(make(3, completed));
  dispatch_semaphore_wait(done, DISPATCH_TIME_FOREVER);
  EXPECT(last_status == 5);

  pthread_mutex_lock(&lock); /* the handler waits for this thread, which goes on making objects */
  mtl_commit(make(4, completed));
  for (int i = 0; i < 200; i++) {
    mtl_release(mtl_buffer(dev, 64));
    sched_yield();
  }
  EXPECT(calls == 3);
  pthread_mutex_unlock(&lock);
  dispatch_semaphore_wait(done, DISPATCH_TIME_FOREVER);

  for (int i = 5; i < 9; i++) mtl_commit(make(i, completed)); /* in the order of the commits */
  for (int i = 5; i < 9; i++) dispatch_semaphore_wait(done, DISPATCH_TIME_FOREVER);
  cb = make(9, completed);
  mtl_commit(cb);
  mtl_wait(cb);
  EXPECT(last_number == 9 && calls == 9 && scheduled_calls == 9 && copies == 18 && disposals == 18);
  dispatch_release(done);
  id all[] = {buffers[0], buffers[1], pipeline, lib, queue, dev};
  for (int i = 0; i < 6; i++) mtl_release(all[i]);
  objc_autoreleasePoolPop(pool);
  printf("handlers: %d wrong\n", bad);
  return bad != 0;
}
