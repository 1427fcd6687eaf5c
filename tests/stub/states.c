/* states.c - states of states.yaml: what steps make, what is refused, files, and every single failure of memory, Metal
 * and GPU in turn: a step happens whole, or the state is as it was. Runs in the test bed. */
#include "states.h"
#include <hm_hooks.h>
#include <objc/message.h>
#include <objc/runtime.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failures;
static void check(int ok, const char *what, int line) {
  if (ok) return;
  failures++;
  fprintf(stderr, "states.c:%d: %s\n", line, what);
}
#define CHECK(x) check((x) != 0, #x, __LINE__)
static states_context *context;
#define SAYS(call, status, words)                                                                                   \
  do {                                                                                                              \
    check((call) == (status), #call, __LINE__);                                                                     \
    check(strstr(states_error(context), words) != NULL, states_error(context), __LINE__);                           \
  } while (0)

/* ---- memory that fails ---- */
static unsigned long requests, failing_request; /* 0: none */
void *fault_malloc(size_t n) { return ++requests == failing_request ? NULL : malloc(n); }
void *fault_calloc(size_t n, size_t size) { return ++requests == failing_request ? NULL : calloc(n, size); }

/* ---- the step in C, on what a state holds ---- */
typedef struct model {
  float w[2][4], keep[3], a[4], b[4], h[4], unused[2];
  int32_t count;
} model;
typedef struct result {
  float loss, twice[4], again[4], old[4];
} result;
static float gradient[4] = {1, -2, 0.5f, 8};
static float rate = 0.25f;

static result advance(model *m) {
  result r;
  int i;
  memcpy(r.old, m->a, sizeof r.old);
  r.loss = 0;
  for (i = 0; i < 4; i++) {
    float t = rate * gradient[i];
    m->w[0][i] = m->w[0][i] - t;
    m->w[1][i] = m->w[1][i] + m->w[0][i];
    r.loss += m->w[1][i]; /* exact: few bits */
    m->a[i] = m->b[i];
    m->b[i] = r.old[i];
    m->h[i] += 1;
  }
  memcpy(r.twice, m->w[0], sizeof r.twice);
  memcpy(r.again, m->w[0], sizeof r.again);
  m->count++;
  return r;
}
static model begin(void) {
  static const model m = {{{1, 2, 3, 4}, {5, 6, 7, 8}}, {0.5f, 1.5f, 2.5f}, {1, 1, 2, 3}, {9, 8, 7, 6}, {0, 1, 2, 3},
                          {-1, -2},                     7};
  return m;
}

static const int64_t two[] = {2}, three[] = {3}, four[] = {4}, five[] = {5};
static nuvec_array array(void *p, size_t bytes, nuvec_dtype dtype, int32_t rank, const int64_t *shape) {
  nuvec_array a;
  memset(&a, 0, sizeof a);
  a.host = p;
  a.bytes = bytes;
  a.dtype = dtype;
  a.rank = rank;
  a.shape = shape;
  return a;
}
/* Small whole numbers only. */
static uint16_t half(float x) {
  int n = (int)x, e = 0;
  if (!n) return 0;
  while (n >> (e + 1)) e++;
  return (uint16_t)((e + 15) << 10 | (n << (10 - e) & 0x3ff));
}
static uint16_t halves[4];
static states_train_leaves leaves_of(model *m) {
  states_train_leaves l;
  int i;
  for (i = 0; i < 4; i++) halves[i] = half(m->h[i]);
  memset(&l, 0, sizeof l);
  l.net.layers[0].w = array(m->w[0], 16, NUVEC_FLOAT32, 1, four);
  l.net.layers[1].w = array(m->w[1], 16, NUVEC_FLOAT32, 1, four);
  l.net.keep = array(m->keep, 12, NUVEC_FLOAT32, 1, three);
  l.a = array(m->a, 16, NUVEC_FLOAT32, 1, four);
  l.b = array(m->b, 16, NUVEC_FLOAT32, 1, four);
  l.h = array(halves, 8, NUVEC_FLOAT16, 1, four);
  l.count = array(&m->count, 4, NUVEC_INT32, 0, NULL);
  l.unused = array(m->unused, 8, NUVEC_FLOAT32, 1, two);
  return l;
}
static int holds(const states_train_leaves *l, const model *m) {
  int i;
  for (i = 0; i < 4; i++)
    if (((uint16_t *)l->h.host)[i] != half(m->h[i])) return 0;
  return !memcmp(l->net.layers[0].w.host, m->w[0], 16) && !memcmp(l->net.layers[1].w.host, m->w[1], 16) &&
         !memcmp(l->net.keep.host, m->keep, 12) && !memcmp(l->a.host, m->a, 16) && !memcmp(l->b.host, m->b, 16) &&
         !memcmp(l->count.host, &m->count, 4) && !memcmp(l->unused.host, m->unused, 8);
}
static int state_holds(states_train_state *s, const model *m) {
  states_train_leaves l;
  return states_train_state_leaves(s, &l) == NUVEC_OK && holds(&l, m);
}
static states_train_inputs inputs(void) {
  states_train_inputs in;
  in.g = array(gradient, 16, NUVEC_FLOAT32, 1, four);
  in.lr = array(&rate, 4, NUVEC_FLOAT32, 0, NULL);
  return in;
}
static int made(const states_train_outputs *out, const result *r) {
  return *(float *)out->loss.host == r->loss && !memcmp(out->twice.host, r->twice, 16) &&
         !memcmp(out->again.host, r->again, 16) && !memcmp(out->old.host, r->old, 16);
}
static void release(states_train_outputs *out) {
  states_release(&out->loss), states_release(&out->twice), states_release(&out->again), states_release(&out->old);
}

/* ---- steps ---- */

static void values(void) {
  model m = begin(), other;
  states_train_leaves l = leaves_of(&m), seen;
  states_train_inputs in = inputs();
  states_train_outputs out;
  states_train_state *s, *zeros;
  nuvec_cache n;
  hm_stats before, after;
  result r;
  double seconds = 0;
  int i;
  memset(&out, 0, sizeof out);
  memset(&other, 0, sizeof other);
  CHECK(states_train_state_create(context, &l, &s) == NUVEC_OK && state_holds(s, &m));
  CHECK(states_train_state_create(context, NULL, &zeros) == NUVEC_OK && state_holds(zeros, &other));
  for (i = 0; i < 5; i++) { /* several states of one entry don't mix */
    r = advance(&m);
    CHECK(states_train_step(s, &in, &out) == NUVEC_OK && state_holds(s, &m) && made(&out, &r));
    r = advance(&other);
    CHECK(states_train_step_timed(zeros, &in, &out, &seconds) == NUVEC_OK && state_holds(zeros, &other));
    CHECK(made(&out, &r) && seconds > 0);
  }
  before = hm_get_stats(); /* a later step makes a command buffer and an encoder, nothing else */
  requests = 0;
  for (i = 0; i < 3; i++) {
    r = advance(&m);
    CHECK(states_train_step(s, &in, &out) == NUVEC_OK && made(&out, &r));
  }
  after = hm_get_stats();
  CHECK(after.objects - before.objects == 6 && after.buffers == before.buffers && !requests);
  CHECK(after.selectors == before.selectors && after.classes == before.classes);
  /* one buffer a dtype; a leaf of the state as an input; its path */
  CHECK(states_train_state_leaves(s, &seen) == NUVEC_OK && seen.a.buffer == seen.net.keep.buffer);
  CHECK(seen.h.buffer != seen.a.buffer && seen.a.bytes == 16 && seen.count.rank == 0);
  CHECK(states_train_leaves_leaf(&seen, "net.layers[1].w") == &seen.net.layers[1].w);
  memcpy(gradient, m.b, sizeof gradient);
  in.g = seen.b;
  r = advance(&m);
  CHECK(states_train_step(s, &in, &out) == NUVEC_OK && state_holds(s, &m) && made(&out, &r));
  /* refused before anything is done: an output in the state's memory, the same memory for two outputs */
  in = inputs();
  CHECK(states_train_state_leaves(s, &seen) == NUVEC_OK);
  release(&out);
  out.twice = seen.a;
  SAYS(states_train_step(s, &in, &out), NUVEC_ALIASING, "output twice shares memory with input");
  memset(&out, 0, sizeof out);
  out.twice.host = out.again.host = other.a;
  out.twice.bytes = out.again.bytes = 16;
  SAYS(states_train_step(s, &in, &out), NUVEC_ALIASING, "shares memory with output");
  in.lr.dtype = NUVEC_FLOAT16;
  SAYS(states_train_step(s, &in, &out), NUVEC_DTYPE, "states_train: input lr: expected float32[], got float16[]");
  CHECK(state_holds(s, &m));
  CHECK(states_train_cache(context, NULL, &n) == NUVEC_OK && n.misses == 1 && n.replays == 1);
  SAYS(states_destroy(context), NUVEC_BUSY, "2 function objects or states");
  CHECK(states_train_state_destroy(s) == NUVEC_OK && states_train_state_destroy(zeros) == NUVEC_OK);
  CHECK(states_train_state_destroy(NULL) == NUVEC_OK && states_train_step(NULL, &in, &out) == NUVEC_NULL);
}

static void creation(void) {
  model m = begin();
  states_train_leaves l = leaves_of(&m);
  states_train_state *s;
  model want = m;
#define BAD(field, value, status, words)                                         \
  do {                                                                           \
    states_train_leaves bad = l;                                                 \
    bad.field = value;                                                           \
    SAYS(states_train_state_create(context, &bad, &s), status, words);           \
    CHECK(!s);                                                                   \
  } while (0)
  BAD(a.dtype, NUVEC_INT32, NUVEC_SIGNATURE,
      "no signature takes such a state; in number 0, a is float32[4], got int32[4]");
  BAD(net.keep.rank, 0, NUVEC_SIGNATURE, "net.keep is float32[3], got float32[]");
  BAD(net.keep.rank, -1, NUVEC_RANK, "leaf net.keep has rank -1");
  BAD(h.shape, NULL, NUVEC_NULL, "leaf h has rank 1, but its shape is NULL");
  BAD(b.bytes, 15, NUVEC_SHORT_BUFFER, "leaf b needs 16 bytes; its memory has 15");
  l.b.host = NULL; /* zeros */
  memset(want.b, 0, sizeof want.b);
  CHECK(states_train_state_create(context, &l, &s) == NUVEC_OK && state_holds(s, &want));
  CHECK(states_train_state_destroy(s) == NUVEC_OK);
  CHECK(states_train_state_create(context, &l, NULL) == NUVEC_NULL);
}

/* ---- without waiting ---- */

typedef struct told {
  pthread_mutex_t lock;
  pthread_cond_t changed;
  int calls;
  nuvec_status status;
} told;
static void told_init(told *t) {
  memset(t, 0, sizeof *t);
  pthread_mutex_init(&t->lock, NULL);
  pthread_cond_init(&t->changed, NULL);
}
static void tell(void *user, nuvec_status status, double seconds) {
  told *t = user;
  pthread_mutex_lock(&t->lock);
  t->calls++;
  t->status = status;
  CHECK(status == NUVEC_OK || seconds == 0);
  pthread_cond_broadcast(&t->changed);
  pthread_mutex_unlock(&t->lock);
}
static nuvec_status told_status(told *t) {
  pthread_mutex_lock(&t->lock);
  while (!t->calls) pthread_cond_wait(&t->changed, &t->lock);
  pthread_mutex_unlock(&t->lock);
  return t->status;
}

static void async(void) {
  model m = begin(), before = m;
  states_train_leaves l = leaves_of(&m);
  states_train_inputs in = inputs();
  states_train_outputs out, none;
  states_train_state *s;
  told t;
  result r;
  memset(&out, 0, sizeof out);
  memset(&none, 0, sizeof none);
  CHECK(states_train_state_create(context, &l, &s) == NUVEC_OK);
  told_init(&t);
  r = advance(&m);
  CHECK(states_train_step_async(s, &in, &out, tell, &t) == NUVEC_OK);
  SAYS(states_train_step(s, &in, &none), NUVEC_BUSY, "a step on this state is in flight");
  SAYS(states_train_state_leaves(s, &l), NUVEC_BUSY, "in flight");
  SAYS(states_train_state_save(s, "busy.safetensors"), NUVEC_BUSY, "in flight");
  SAYS(states_train_state_load(s, "busy.safetensors"), NUVEC_BUSY, "in flight");
  SAYS(states_train_state_destroy(s), NUVEC_BUSY, "in flight");
  CHECK(told_status(&t) == NUVEC_OK && made(&out, &r));
  CHECK(states_wait(context) == NUVEC_OK && state_holds(s, &m));
  SAYS(states_train_step_async(s, &in, &out, NULL, NULL), NUVEC_NULL, "callback is NULL");
  release(&out);
  memset(&out, 0, sizeof out);
  told_init(&t);
  before = m;
  hm_fail(HM_FAIL_COMMIT, 1); /* the GPU gives up half way */
  CHECK(states_train_step_async(s, &in, &out, tell, &t) == NUVEC_OK);
  CHECK(told_status(&t) == NUVEC_GPU_ERROR && states_wait(context) == NUVEC_OK);
  CHECK(state_holds(s, &before) && !out.loss.buffer);
  r = advance(&m);
  CHECK(states_train_step(s, &in, &out) == NUVEC_OK && state_holds(s, &m) && made(&out, &r));
  release(&out);
  CHECK(states_train_state_destroy(s) == NUVEC_OK);
}

/* ---- in place ---- */

static void (*const volatile message)(void) = (void (*)(void))objc_msgSend;
static id send(id o, const char *selector) { return ((id(*)(id, SEL))message)(o, sel_registerName(selector)); }
extern id MTLCreateSystemDefaultDevice(void);
extern id objc_retain(id), objc_autoreleasePoolPush(void);
extern void objc_release(id), objc_autoreleasePoolPop(void *);

static void in_place(void) {
  model m = begin();
  states_train_leaves l = leaves_of(&m), seen;
  states_train_inputs train = inputs();
  states_place_inputs in;
  states_place_outputs out;
  states_place_state *s;
  states_place_leaves leaves;
  id device = MTLCreateSystemDefaultDevice(), queue = send(device, "newCommandQueue"), command;
  void *pool = objc_autoreleasePoolPush();
  states_context *own = context;
  nuvec_options o;
  int i;
  memset(&o, 0, sizeof o);
  o.queue = queue;
  o.path = "states.metallib";
  CHECK(states_create(&o, &context) == NUVEC_OK);
  memcpy(&leaves, &l, sizeof leaves);
  memcpy(&in, &train, sizeof in);
  memset(&out, 0, sizeof out);
  CHECK(states_place_state_create(context, &leaves, &s) == NUVEC_OK);
  command = objc_retain(send(queue, "commandBuffer"));
  for (i = 0; i < 4; i++) { /* one behind the other, each on what the one before makes */
    advance(&m);
    CHECK(states_place_encode(s, command, &in, &out) == NUVEC_OK);
  }
  SAYS(states_place_step(s, &in, &out), NUVEC_BUSY, "in flight");
  SAYS(states_place_state_leaves(s, &leaves), NUVEC_BUSY, "in flight");
  send(command, "commit"), send(command, "waitUntilCompleted");
  objc_release(command);
  CHECK(states_wait(context) == NUVEC_OK && states_place_state_leaves(s, &leaves) == NUVEC_OK);
  memcpy(&seen, &leaves, sizeof seen);
  CHECK(holds(&seen, &m));
  SAYS(states_place_encode(s, NULL, &in, &out), NUVEC_NULL, "command buffer is NULL");
  CHECK(states_place_state_save(s, "place.safetensors") == NUVEC_OK);
  /* what fails before the GPU has it leaves the state; what fails there loses it, until it is loaded */
  command = objc_retain(send(queue, "commandBuffer"));
  hm_fail(HM_FAIL_ENCODER, 1);
  SAYS(states_place_encode(s, command, &in, &out), NUVEC_GPU_ERROR, "no encoder");
  objc_release(command);
  hm_fail(HM_FAIL_COMMAND, 1);
  SAYS(states_place_step(s, &in, &out), NUVEC_GPU_ERROR, "no command buffer");
  CHECK(states_place_state_leaves(s, &leaves) == NUVEC_OK);
  memcpy(&seen, &leaves, sizeof seen);
  CHECK(holds(&seen, &m));
  for (i = 0; i < 3; i++) { /* in the app's command buffer; one that is let go; in a step */
    if (i < 2) command = objc_retain(send(queue, "commandBuffer"));
    if (i < 2) CHECK(states_place_encode(s, command, &in, &out) == NUVEC_OK);
    if (i != 1) hm_fail(HM_FAIL_COMMIT, 1);
    if (i == 0) send(command, "commit"), send(command, "waitUntilCompleted");
    if (i == 2) SAYS(states_place_step(s, &in, &out), NUVEC_GPU_ERROR, "the GPU gave up");
    if (i < 2) objc_release(command);
    objc_autoreleasePoolPop(pool);
    pool = objc_autoreleasePoolPush();
    CHECK(states_wait(context) == NUVEC_OK);
    SAYS(states_place_step(s, &in, &out), NUVEC_LOST, "a step that failed left this state undefined: load it");
    SAYS(states_place_encode(s, queue, &in, &out), NUVEC_LOST, "load it");
    SAYS(states_place_state_leaves(s, &leaves), NUVEC_LOST, "load it");
    SAYS(states_place_state_save(s, "lost.safetensors"), NUVEC_LOST, "load it");
    CHECK(states_place_state_load(s, "place.safetensors") == NUVEC_OK);
    CHECK(states_place_state_leaves(s, &leaves) == NUVEC_OK);
    memcpy(&seen, &leaves, sizeof seen);
    CHECK(holds(&seen, &m));
  }
  advance(&m);
  CHECK(states_place_step(s, &in, &out) == NUVEC_OK && states_place_state_leaves(s, &leaves) == NUVEC_OK);
  memcpy(&seen, &leaves, sizeof seen);
  CHECK(holds(&seen, &m));
  states_release(&out.loss), states_release(&out.twice), states_release(&out.again), states_release(&out.old);
  CHECK(states_place_state_destroy(s) == NUVEC_OK && states_destroy(context) == NUVEC_OK);
  context = own;
  objc_release(queue), objc_release(device);
  objc_autoreleasePoolPop(pool);
}

/* ---- bound inputs, signatures ---- */

static void bound(void) {
  int32_t c = 10, s3[3] = {1, 2, 3}, s5[5] = {1, 2, 3, 4, 5};
  states_scale_bound b;
  states_scale_function *f;
  states_scale_state *s, *t;
  states_scale_leaves l;
  states_scale_inputs in;
  states_scale_outputs out;
  memset(&in, 0, sizeof in);
  memset(&out, 0, sizeof out);
  b.c = array(&c, 4, NUVEC_INT32, 0, NULL);
  CHECK(states_scale_function_create(context, NULL, &b, &f) == NUVEC_OK);
  SAYS(states_scale_state_create(f, NULL, &s), NUVEC_NULL, "signatures have states of different types");
  l.s = array(s3, 12, NUVEC_INT32, 1, three);
  CHECK(states_scale_state_create(f, &l, &s) == NUVEC_OK);
  l.s = array(s5, 20, NUVEC_INT32, 1, five);
  CHECK(states_scale_state_create(f, &l, &t) == NUVEC_OK);
  SAYS(states_scale_function_destroy(f), NUVEC_BUSY, "2 states of it");
  in.up = 1;
  CHECK(states_scale_step(s, &in, &out) == NUVEC_OK && states_scale_step(t, &in, &out) == NUVEC_OK);
  in.up = 0;
  CHECK(states_scale_step(t, &in, &out) == NUVEC_OK);
  SAYS(states_scale_step(s, &in, &out), NUVEC_SIGNATURE,
       "none of 3 signatures fits; in the nearest, number 0, up is 1, got 0");
  CHECK(states_scale_state_leaves(s, &l) == NUVEC_OK && ((int32_t *)l.s.host)[2] == 30);
  CHECK(states_scale_state_leaves(t, &l) == NUVEC_OK && ((int32_t *)l.s.host)[4] == 40);
  /* a leaf keeps dtype and rank, not its sizes */
  CHECK(states_scale_state_save(t, "five.safetensors") == NUVEC_OK);
  CHECK(states_scale_state_load(s, "five.safetensors") == NUVEC_OK && states_scale_step(s, &in, &out) == NUVEC_OK);
  CHECK(states_scale_state_leaves(s, &l) == NUVEC_OK && l.s.shape[0] == 5 && ((int32_t *)l.s.host)[4] == 30);
  CHECK(states_scale_state_destroy(s) == NUVEC_OK && states_scale_state_destroy(t) == NUVEC_OK);
  CHECK(states_scale_function_destroy(f) == NUVEC_OK);
}

/* ---- files ---- */

static size_t read_file(const char *path, char *bytes, size_t room) {
  FILE *f = fopen(path, "rb");
  size_t n = f ? fread(bytes, 1, room, f) : 0;
  if (f) fclose(f);
  return n;
}
static void write_file(const char *path, const char *bytes, size_t n) {
  FILE *f = fopen(path, "wb");
  CHECK(f && fwrite(bytes, 1, n, f) == n && !fclose(f));
}

static void files(void) {
  static char bytes[8192], bad[8192];
  model m = begin(), zero;
  states_train_leaves l = leaves_of(&m);
  states_train_state *s, *t;
  size_t n, i, loaded = 0;
  uint64_t random = 1;
  memset(&zero, 0, sizeof zero);
  CHECK(states_train_state_create(context, &l, &s) == NUVEC_OK);
  CHECK(states_train_state_create(context, NULL, &t) == NUVEC_OK);
  CHECK(states_train_state_save(s, "state.safetensors") == NUVEC_OK);
  CHECK(states_train_state_load(t, "state.safetensors") == NUVEC_OK && state_holds(t, &m));
  n = read_file("state.safetensors", bytes, sizeof bytes);
  CHECK(n > 300 && strstr(bytes + 8, "\"net.layers[1].w\":{\"dtype\":\"F32\",\"shape\":[4],\"data_offsets\":["));
  CHECK(states_train_state_destroy(t) == NUVEC_OK && states_train_state_create(context, NULL, &t) == NUVEC_OK);
  SAYS(states_train_state_load(t, "nowhere.safetensors"), NUVEC_FILE, "nowhere.safetensors can't be read");
  SAYS(states_train_state_load(t, NULL), NUVEC_NULL, "path is NULL");
  SAYS(states_train_state_save(t, "no/such/folder.safetensors"), NUVEC_FILE, "folder.safetensors can't be written");
  for (i = 0; i < n; i++) { /* cut off anywhere: refused, and the state is as it was */
    write_file("bad.safetensors", bytes, i);
    CHECK(states_train_state_load(t, "bad.safetensors") == NUVEC_FILE && state_holds(t, &zero));
  }
  for (i = 0; i < 2000; i++) { /* any byte of the header changed: loaded or refused, never worse */
    size_t at;
    nuvec_status status;
    random = random * UINT64_C(6364136223846793005) + 1442695040888963407u;
    at = (size_t)(random >> 33) % (n - 100);
    memcpy(bad, bytes, n);
    bad[at] = (char)(random >> 24);
    write_file("bad.safetensors", bad, n);
    status = states_train_state_load(t, "bad.safetensors");
    if (status == NUVEC_OK) {
      loaded++;
      CHECK(states_train_state_destroy(t) == NUVEC_OK && states_train_state_create(context, NULL, &t) == NUVEC_OK);
    } else {
      CHECK(status == NUVEC_FILE || status == NUVEC_SIGNATURE || status == NUVEC_OUT_OF_MEMORY);
      CHECK(state_holds(t, &zero));
    }
  }
  CHECK(loaded < 1000);
#define FILE_SAYS(from, to, status, words)                                      \
  do {                                                                          \
    char *p;                                                                    \
    memcpy(bad, bytes, n);                                                      \
    p = strstr(bad + 8, from);                                                  \
    CHECK(p != NULL);                                                           \
    if (p) memcpy(p, to, strlen(to));                                           \
    write_file("bad.safetensors", bad, n);                                      \
    SAYS(states_train_state_load(t, "bad.safetensors"), status, words);         \
  } while (0)
  FILE_SAYS("\"count\"", "\"c0unt\"", NUVEC_FILE, "bad.safetensors has no array count");
  FILE_SAYS("\"F16\"", "\"I16\"", NUVEC_FILE, "h is of dtype int16 and rank 1; the state's is float16 and 1");
  FILE_SAYS("[3]", "[2]", NUVEC_FILE, "the bytes of net.keep aren't those of its type");
  FILE_SAYS("{\"", "[\"", NUVEC_FILE, "no header of a safetensors file");
  CHECK(states_train_state_destroy(s) == NUVEC_OK && states_train_state_destroy(t) == NUVEC_OK);
}

/* ---- every failure in turn ---- */

enum { REQUEST = HM_FAIL_KINDS, POINTS };
static unsigned long count(int kind) { return kind == REQUEST ? requests : hm_calls((enum hm_fail_kind)kind); }
static void fail_at(int kind, unsigned long n) {
  if (kind == REQUEST) failing_request = n ? requests + n : 0;
  else hm_fail((enum hm_fail_kind)kind, n);
}

typedef struct run {
  states_context *c;
  states_train_state *s;
  states_train_outputs out;
  model m;
  int refused; /* operations that failed */
} run;

/* An operation that fails is tried again, and must succeed; between the two the state is what it was. */
#define TRY(r, call)                                              \
  do {                                                            \
    if ((call) != NUVEC_OK) {                                     \
      (r)->refused++;                                             \
      context = (r)->c;                                           \
      if ((r)->s) CHECK(state_holds((r)->s, &(r)->m));            \
      CHECK((call) == NUVEC_OK);                                  \
    }                                                             \
  } while (0)

static nuvec_status create_context(run *r) {
  nuvec_options o;
  nuvec_status status;
  memset(&o, 0, sizeof o);
  o.path = "states.metallib";
  status = states_create(&o, &r->c);
  if (status != NUVEC_OK) CHECK(states_destroy(r->c) == NUVEC_OK);
  return status;
}
static nuvec_status step_async(run *r) {
  states_train_inputs in = inputs();
  told t;
  nuvec_status status;
  told_init(&t);
  status = states_train_step_async(r->s, &in, &r->out, tell, &t);
  if (status == NUVEC_OK) status = told_status(&t);
  CHECK(states_wait(r->c) == NUVEC_OK);
  return status;
}

static int scenario(void) {
  run r;
  states_train_inputs in = inputs();
  states_train_leaves l;
  result made_;
  int i;
  memset(&r, 0, sizeof r);
  TRY(&r, create_context(&r));
  r.m = begin();
  l = leaves_of(&r.m);
  TRY(&r, states_train_state_create(r.c, &l, &r.s));
  CHECK(state_holds(r.s, &r.m));
  for (i = 0; i < 3; i++) {
    TRY(&r, states_train_step(r.s, &in, &r.out));
    made_ = advance(&r.m);
    CHECK(state_holds(r.s, &r.m) && made(&r.out, &made_));
    if (i == 1) release(&r.out);
    TRY(&r, step_async(&r));
    made_ = advance(&r.m);
    CHECK(state_holds(r.s, &r.m) && made(&r.out, &made_));
  }
  TRY(&r, states_train_state_save(r.s, "sweep.safetensors"));
  TRY(&r, states_train_state_load(r.s, "sweep.safetensors"));
  TRY(&r, states_train_step(r.s, &in, &r.out));
  made_ = advance(&r.m);
  CHECK(state_holds(r.s, &r.m) && made(&r.out, &made_));
  release(&r.out);
  CHECK(states_train_state_destroy(r.s) == NUVEC_OK && states_destroy(r.c) == NUVEC_OK);
  return r.refused;
}

static void sweep(void) {
  static const char *const names[POINTS] = {"device",         "queue",   "buffer", "library", "pipeline",
                                            "command buffer", "encoder", "commit", "malloc"};
  unsigned long start[POINTS], points[POINTS], total = 0, tried = 0, live, n;
  states_context *own = context;
  int k, wrong = failures;
  for (k = 0; k < POINTS; k++) start[k] = count(k);
  CHECK(scenario() == 0);
  for (k = 0; k < POINTS; k++) total += points[k] = count(k) - start[k];
  live = hm_get_stats().live;
  for (k = 0; k < POINTS; k++)
    for (n = 1; n <= points[k]; n++) {
      int before = failures, refused;
      fail_at(k, n);
      refused = scenario();
      fail_at(k, 0);
      tried++;
      CHECK(refused == 1);
      CHECK(hm_get_stats().live == live);
      if (failures != before) fprintf(stderr, "  %s %lu of %lu: %d refused\n", names[k], n, points[k], refused);
    }
  context = own;
  CHECK(tried == total && total > 60);
  printf("%lu fault points tried, those of a traced run:", tried);
  for (k = 0; k < POINTS; k++) printf(" %lu %s,", points[k], names[k]);
  printf(" states lost or half written: %d\n", failures - wrong);
}

int main(void) {
  nuvec_options o;
  memset(&o, 0, sizeof o);
  o.path = "states.metallib";
  if (states_create(&o, &context) != NUVEC_OK) return puts(states_error(context)), 1;
  values();
  creation();
  async();
  in_place();
  bound();
  files();
  sweep();
  CHECK(states_destroy(context) == NUVEC_OK);
  return failures != 0;
}
