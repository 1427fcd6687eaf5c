/* null.c - a stub on an Objective-C runtime that does nothing: what our own code costs, what it allocates and looks up,
 * and what its cache counts over a million calls with a thousand signatures. many.yaml is made by run_tests.sh: entry
 * `one` has signatures [1] to [SIGNATURES], entry `chain` LAUNCHES kernels. usage: null [CALLS] */
#include "many.h"
#include <objc/message.h>
#include <objc/runtime.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static int failures;
static void check(int ok, const char *what, int line) {
  if (ok) return;
  failures++;
  fprintf(stderr, "null.c:%d: %s\n", line, what);
}
#define CHECK(x) check((x) != 0, #x, __LINE__)

/* ---- the runtime ---- */

enum { STRING, STATUS, LENGTH, CONTENTS, THREADS, WIDTH, BUFFER, WAIT, DISPATCH, SUPPORTS, OS, MAX, SELECTORS };
static const char *const names[SELECTORS] = {
    "stringWithUTF8String:", "status", "length", "contents", "maxTotalThreadsPerThreadgroup", "threadExecutionWidth",
    "newBufferWithLength:options:", "waitUntilCompleted", "dispatchThreads:threadsPerThreadgroup:", "supportsFamily:",
    "isOperatingSystemAtLeastVersion:", "maxBufferLength"};
struct objc_selector {
  int number;
};
static struct objc_selector selectors[SELECTORS + 1];
static struct {
  unsigned long messages, selectors, classes, strings, buffers, live, dispatches, requests, compared;
} count;
static long object[2], buffers_here; /* any object; what its address tells from a buffer */
static char memory[1 << 16];

SEL sel_registerName(const char *name) {
  int k = 0;
  count.selectors++;
  while (k < SELECTORS && strcmp(names[k], name)) k++;
  selectors[k].number = k;
  return (SEL)(void *)&selectors[k];
}
Class objc_getClass(const char *name) {
  (void)name;
  count.classes++;
  return (Class)(void *)object;
}
id null_send(id self, SEL op, ...) __asm__("objc_msgSend"); /* the header declares it as Apple's does: void(void) */
id null_send(id self, SEL op, ...) {
  (void)self;
  count.messages++;
  switch (((struct objc_selector *)(void *)op)->number) {
  case STRING: count.strings++; break;
  case STATUS: return (id)4; /* completed */
  case LENGTH:
  case MAX: return (id)((uintptr_t)1 << 40);
  case CONTENTS: return (id)(void *)memory;
  case THREADS: return (id)1024;
  case WIDTH: return (id)32;
  case SUPPORTS:
  case OS: return (id)1;
  case BUFFER: count.buffers++, count.live++; return (id)(void *)&buffers_here;
  case WAIT: memset(memory, 0, 256); break; /* the test of the arithmetic finds no difference */
  case DISPATCH: count.dispatches++; break;
  default: break;
  }
  return (id)(void *)object;
}
id objc_retain(id o);
void objc_release(id o);
void *objc_autoreleasePoolPush(void);
void objc_autoreleasePoolPop(void *pool);
id MTLCreateSystemDefaultDevice(void);
id dispatch_data_create(const void *bytes, size_t length, id queue, const void *destructor);
id objc_retain(id o) { return o; }
void objc_release(id o) { count.live -= o == (id)(void *)&buffers_here; }
void *objc_autoreleasePoolPush(void) { return object; }
void objc_autoreleasePoolPop(void *pool) { (void)pool; }
id MTLCreateSystemDefaultDevice(void) { return (id)(void *)object; }
id dispatch_data_create(const void *b, size_t n, id q, const void *d) {
  (void)b, (void)n, (void)q, (void)d;
  return NULL;
}
extern void *_NSConcreteStackBlock[32];
void *_NSConcreteStackBlock[32];

/* what the stub's memory and comparisons of texts come from: null.h */
void *null_calloc(size_t n, size_t size);
void *null_malloc(size_t n);
int null_strcmp(const char *a, const char *b);
void *null_calloc(size_t n, size_t size) { count.requests++; return calloc(n, size); }
void *null_malloc(size_t n) { count.requests++; return malloc(n); }
int null_strcmp(const char *a, const char *b) { count.compared++; return strcmp(a, b); }

static double seconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ---- a cache as textbooks have it ---- */
enum { CAPACITY = 8 };
static struct {
  int key[CAPACITY], n; /* latest first */
  unsigned long hits, misses, evictions;
} lru;
static void use(int key) {
  int k = 0;
  while (k < lru.n && lru.key[k] != key) k++;
  if (k < lru.n) {
    lru.hits++;
  } else {
    lru.misses++;
    if (lru.n == CAPACITY) lru.evictions++, k--;
    else lru.n++;
  }
  memmove(lru.key + 1, lru.key, (size_t)k * sizeof *lru.key);
  lru.key[0] = key;
}

static many_context *context;
static float data[SIGNATURES], result[SIGNATURES];
static nuvec_array array(void *p, const int64_t *shape) {
  nuvec_array a;
  memset(&a, 0, sizeof a);
  a.buffer = object; /* the app's own: nothing is copied */
  a.host = p;
  a.shape = shape;
  a.rank = 1;
  a.dtype = NUVEC_FLOAT32;
  return a;
}

static void many_signatures(long calls) {
  many_one_inputs in;
  many_one_outputs out;
  nuvec_cache n;
  uint64_t random = 1;
  int64_t shape[1];
  unsigned long most = 0, start;
  double t;
  long i;
  memset(&out, 0, sizeof out);
  start = count.live;
  t = seconds();
  for (i = 0; i < calls; i++) {
    int size;
    random = random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    size = (int)(random >> 33) % (random >> 61 ? 10 : SIGNATURES); /* a few sizes mostly, all of them sometimes */
    shape[0] = size + 1;
    in.x = array(data, shape);
    out.y = array(result, NULL);
    out.y.offset = 4 * SIGNATURES;
    if (many_one_call(context, &in, &out) != NUVEC_OK) break;
    use(size);
    if (count.live - start > most) most = count.live - start;
  }
  t = seconds() - t;
  CHECK(i == calls);
  if (i != calls) puts(many_error(context));
  CHECK(many_one_cache(context, NULL, &n) == NUVEC_OK);
  CHECK(n.hits == lru.hits && n.misses == lru.misses && n.evictions == lru.evictions && n.replays == CAPACITY);
  CHECK(most <= CAPACITY && n.capacity == CAPACITY);
  printf("%ld calls with %d signatures, capacity %d: %lu hits, %lu misses, %lu evictions, as a textbook's; at most %lu "
         "scratch buffers; %.0f ns a call\n",
         calls, SIGNATURES, CAPACITY, lru.hits, lru.misses, lru.evictions, most, 1e9 * t / (double)calls);
}

static void second_call(void) {
  enum { CALLS = 20000 };
  many_chain_inputs in;
  many_chain_outputs out;
  int64_t shape[1] = {64};
  double t, best = 1e9;
  int i, k;
  memset(&out, 0, sizeof out);
  in.x = array(data, shape);
  out.y = array(result, NULL);
  out.y.offset = 4096;
  CHECK(many_chain_call(context, &in, &out) == NUVEC_OK);
  memset(&count, 0, sizeof count);
  for (k = 0; k < 5; k++) {
    t = seconds();
    for (i = 0; i < CALLS; i++)
      if (many_chain_call(context, &in, &out) != NUVEC_OK) break;
    CHECK(i == CALLS);
    t = seconds() - t;
    if (t < best) best = t;
  }
  CHECK(count.dispatches == 5ul * CALLS * LAUNCHES);
  CHECK(!count.requests && !count.buffers && !count.selectors && !count.classes && !count.strings && !count.compared);
  printf("second call, %d launches: %.1f ns a launch of our own code and %.1f messages; allocations %lu, look-ups by "
         "text %lu\n",
         LAUNCHES, 1e9 * best / CALLS / LAUNCHES, (double)count.messages / 5 / CALLS / LAUNCHES,
         count.requests + count.buffers, count.selectors + count.classes + count.strings + count.compared);
  CHECK(1e9 * best / CALLS / LAUNCHES < 2000); /* the goal is 200; a busy machine is no fault */
}

int main(int argc, char **argv) {
  nuvec_options o;
  memset(&o, 0, sizeof o);
  o.path = "none";
  if (many_create(&o, &context) != NUVEC_OK) return puts(many_error(context)), 1;
  many_signatures(argc > 1 ? atol(argv[1]) : 1000000);
  second_call();
  CHECK(many_destroy(context) == NUVEC_OK && count.live + 0 == count.live);
  return failures != 0;
}
