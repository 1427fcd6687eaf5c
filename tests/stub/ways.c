/* ways.c - a part of hand.c: the cache of replays, calls that don't wait, calls in the app's command buffer, bound
 * inputs; and all of these at once. */

static void free_outputs(nuvec_array out[2]) {
  nvr_release(&out[0]);
  nvr_release(&out[1]);
}

/* The counters against what a textbook's cache does, and memory that doesn't grow. */
static void cache(void) {
  nvr_context *c = make();
  nvr_function *f = nvr_default(c, 0);
  nuvec_array in[2], out[2];
  nuvec_cache n;
  size_t capacity = 1;
  unsigned long live;
  int i;
  CHECK(nvr_cache(f, NULL, &n) == NUVEC_OK && n.capacity == 8 && !n.hits && !n.misses && !n.replays && !n.bytes);
  for (i = 0; i < 10; i++) {
    inputs(in, i % 2 ? 8 : 4);
    memset(out, 0, sizeof out);
    CHECK(call(c, in, out) == NUVEC_OK && right(out[0].host, out[1].host, i % 2 ? 8 : 4));
    free_outputs(out);
  }
  CHECK(nvr_cache(f, NULL, &n) == NUVEC_OK && n.misses == 2 && n.hits == 8 && !n.evictions && n.replays == 2);
  CHECK(n.bytes == 1856 + 1600 + 400 + 3456 + 3200 + 400); /* scratch, copies of x and w */
  CHECK(nvr_cache(f, &capacity, &n) == NUVEC_OK && n.evictions == 1 && n.replays == 1 && n.bytes == 3456 + 3200 + 400);
  live = hm_get_stats().live;
  for (i = 0; i < 10; i++) { /* the one that is kept is the other one, always */
    inputs(in, i % 2 ? 8 : 4);
    memset(out, 0, sizeof out);
    CHECK(call(c, in, out) == NUVEC_OK && right(out[0].host, out[1].host, i % 2 ? 8 : 4));
    free_outputs(out);
  }
  CHECK(nvr_cache(f, NULL, &n) == NUVEC_OK && n.misses == 12 && n.hits == 8 && n.evictions == 11 && n.replays == 1);
  CHECK(hm_get_stats().live == live);
  capacity = 0; /* keeps nothing */
  CHECK(nvr_cache(f, &capacity, &n) == NUVEC_OK && n.evictions == 12 && !n.replays && !n.bytes);
  for (i = 0; i < 3; i++) {
    memset(out, 0, sizeof out);
    CHECK(call(c, in, out) == NUVEC_OK);
    free_outputs(out);
  }
  CHECK(nvr_cache(f, NULL, &n) == NUVEC_OK && n.misses == 15 && n.evictions == 15 && !n.replays && !n.bytes);
  CHECK(nvr_cache(NULL, NULL, &n) == NUVEC_NULL);
  CHECK(nvr_destroy(c) == NUVEC_OK);
}

typedef struct told { /* what a callback was told */
  pthread_mutex_t lock;
  pthread_cond_t changed;
  nvr_context *context;
  int calls, here;
  nuvec_status status;
  double seconds;
  char text[512];
  pthread_t caller;
} told;
static void told_init(told *t, nvr_context *c) {
  memset(t, 0, sizeof *t);
  pthread_mutex_init(&t->lock, NULL);
  pthread_cond_init(&t->changed, NULL);
  t->context = c;
  t->caller = pthread_self();
}
static void tell(void *user, nuvec_status status, double seconds) {
  told *t = user;
  pthread_mutex_lock(&t->lock);
  t->calls++;
  t->status = status;
  t->seconds = seconds;
  t->here = pthread_equal(t->caller, pthread_self()) != 0;
  snprintf(t->text, sizeof t->text, "%s", status ? nvr_error(t->context) : "");
  pthread_cond_broadcast(&t->changed);
  pthread_mutex_unlock(&t->lock);
}
static void wait_for(told *t, int calls) {
  pthread_mutex_lock(&t->lock);
  while (t->calls < calls) pthread_cond_wait(&t->changed, &t->lock);
  pthread_mutex_unlock(&t->lock);
}
static nuvec_status call_async(nvr_context *c, const nuvec_array *in, nuvec_array *out, told *t) {
  return nvr_call_async(nvr_default(c, 0), arrays(in, 2, out, 2), tell, t);
}

static void async(void) {
  enum { N = 6 };
  nvr_context *c = make();
  nuvec_array in[2], out[N][2], bad[2];
  float w[100];
  told t[N];
  nuvec_cache n;
  float y[400], s[4];
  unsigned long live;
  int i;
  inputs(in, 4);
  live = hm_get_stats().live;
  for (i = 0; i < N; i++) { /* all in flight at once, each on memory of its own; the inputs' struct may go */
    nuvec_array own[2];
    memcpy(own, in, sizeof own);
    memcpy(w, w_data, sizeof w);
    own[1].host = w; /* copied while the call is made */
    memset(out[i], 0, sizeof out[i]);
    told_init(&t[i], c);
    CHECK(call_async(c, own, out[i], &t[i]) == NUVEC_OK);
    memset(own, 0xff, sizeof own);
    memset(w, 0xff, sizeof w);
  }
  for (i = 0; i < N; i++) {
    wait_for(&t[i], 1);
    CHECK(t[i].status == NUVEC_OK && t[i].seconds > 0 && !t[i].here && right(out[i][0].host, out[i][1].host, 4));
    CHECK(out[i][0].rank == 2 && out[i][0].bytes == 1600);
  }
  CHECK(nvr_wait(c) == NUVEC_OK && nvr_cache(nvr_default(c, 0), NULL, &n) == NUVEC_OK);
  CHECK(n.misses + n.hits == N && n.replays == n.misses && !n.evictions);
  for (i = 0; i < N; i++) free_outputs(out[i]);
  /* the app's memory, which is filled before it is told */
  memset(out[0], 0, sizeof out[0]);
  out[0][0].host = y, out[0][0].bytes = sizeof y, out[0][1].host = s, out[0][1].bytes = sizeof s;
  told_init(&t[0], c);
  CHECK(call_async(c, in, out[0], &t[0]) == NUVEC_OK);
  wait_for(&t[0], 1);
  CHECK(right(y, s, 4));
  /* failures before it is on its way: a status, and nobody is told */
  memcpy(bad, in, sizeof bad);
  bad[0].host = NULL;
  EXPECT(c, call_async(c, bad, out[0], &t[0]), NUVEC_NULL, "input x has neither");
  hm_fail(HM_FAIL_COMMAND, 1);
  EXPECT(c, call_async(c, in, out[0], &t[0]), NUVEC_GPU_ERROR, "no command buffer");
  hm_fail(HM_FAIL_ENCODER, 1);
  EXPECT(c, call_async(c, in, out[0], &t[0]), NUVEC_GPU_ERROR, "no encoder");
  EXPECT(c, nvr_call_async(nvr_default(c, 0), arrays(in, 2, out[0], 2), NULL, NULL), NUVEC_NULL, "callback is NULL");
  CHECK(nvr_call_async(NULL, arrays(in, 2, out[0], 2), tell, t) == NUVEC_NULL);
  CHECK(t[0].calls == 1);
  /* the GPU's: the callback has status and text, the outputs stay, and the next call is right */
  memset(out[1], 0, sizeof out[1]);
  told_init(&t[1], c);
  hm_fail(HM_FAIL_COMMIT, 1);
  CHECK(call_async(c, in, out[1], &t[1]) == NUVEC_OK);
  wait_for(&t[1], 1);
  CHECK(t[1].status == NUVEC_GPU_ERROR && strstr(t[1].text, "the GPU gave up on this call") && t[1].seconds == 0);
  CHECK(!out[1][0].buffer && !out[1][0].shape);
  CHECK(call_async(c, in, out[1], &t[1]) == NUVEC_OK);
  wait_for(&t[1], 2);
  CHECK(t[1].status == NUVEC_OK && right(out[1][0].host, out[1][1].host, 4));
  free_outputs(out[1]);
  CHECK(nvr_wait(c) == NUVEC_OK && nvr_wait(NULL) == NUVEC_NULL);
  CHECK(hm_get_stats().live >= live);
  CHECK(nvr_destroy(c) == NUVEC_OK);
}

static id command_buffer(nvr_context *c) {
  id b = objc_retain(nvr_get(c, c->queue, NVR_S_commandBuffer));
  nvr_set(c, b, NVR_S_setLabel, nvr_string(c, "the app's"));
  return b;
}
static nuvec_status encode_into(nvr_context *c, id command, const nuvec_array *in, nuvec_array *out) {
  return nvr_encode(nvr_default(c, 0), command, arrays(in, 2, out, 2));
}

static void encode(void) {
  nvr_context *c = make();
  void *pool = objc_autoreleasePoolPush();
  nuvec_array in[2], next[2], out[2], last[2], mine[2];
  float y[400], s[4];
  nuvec_cache n;
  id command = command_buffer(c);
  int i;
  inputs(in, 4);
  memset(out, 0, sizeof out);
  memset(last, 0, sizeof last);
  memset(mine, 0, sizeof mine);
  mine[0].host = y, mine[0].bytes = sizeof y, mine[1].host = s, mine[1].bytes = sizeof s;
  /* two calls, the second on what the first makes, and one into the app's memory; nothing runs before the commit */
  CHECK(encode_into(c, command, in, out) == NUVEC_OK && out[0].buffer && out[0].bytes == 1600 && out[0].rank == 2);
  next[0] = out[0];
  next[1] = in[1];
  CHECK(encode_into(c, command, next, last) == NUVEC_OK);
  CHECK(encode_into(c, command, in, mine) == NUVEC_OK && mine[0].shape[1] == 100);
  CHECK(nvr_cache(nvr_default(c, 0), NULL, &n) == NUVEC_OK && n.misses == 3 && n.replays == 3 && !n.bytes);
  EXPECT(c, nvr_destroy(c), NUVEC_BUSY, "3 calls are in flight");
  nvr_do(c, command, NVR_S_commit);
  nvr_do(c, command, NVR_S_waitUntilCompleted);
  objc_release(command);
  CHECK(nvr_wait(c) == NUVEC_OK && right(out[0].host, out[1].host, 4) && right(y, s, 4));
  memcpy(x_data, out[0].host, 1600);
  CHECK(right(last[0].host, last[1].host, 4));
  CHECK(nvr_cache(nvr_default(c, 0), NULL, &n) == NUVEC_OK && n.replays == 3 && n.bytes >= 3 * 1856);
  free_outputs(out);
  free_outputs(last);
  /* failures: of the arrays, of Metal; the app's command buffer that fails; one that is never committed */
  inputs(in, 4);
  memset(out, 0, sizeof out);
  EXPECT(c, encode_into(c, NULL, in, out), NUVEC_NULL, "command buffer is NULL");
  command = command_buffer(c);
  next[0] = in[0], next[1] = in[1];
  next[1].bytes = 10;
  EXPECT(c, encode_into(c, command, next, out), NUVEC_SHORT_BUFFER, "input p.w");
  hm_fail(HM_FAIL_ENCODER, 1);
  EXPECT(c, encode_into(c, command, in, out), NUVEC_GPU_ERROR, "no encoder");
  CHECK(!out[0].buffer);
  objc_release(command);
  command = command_buffer(c);
  memset(y, 7, sizeof y);
  CHECK(encode_into(c, command, in, mine) == NUVEC_OK);
  hm_fail(HM_FAIL_COMMIT, 1);
  nvr_do(c, command, NVR_S_commit);
  nvr_do(c, command, NVR_S_waitUntilCompleted);
  objc_release(command);
  CHECK(nvr_wait(c) == NUVEC_OK && ((char *)y)[0] == 7);
  for (i = 0; i < 2; i++) {
    command = command_buffer(c);
    CHECK(encode_into(c, command, in, out) == NUVEC_OK);
    objc_release(command);
    objc_autoreleasePoolPop(pool); /* lets it go */
    pool = objc_autoreleasePoolPush();
    free_outputs(out);
    CHECK(nvr_wait(c) == NUVEC_OK);
  }
  objc_autoreleasePoolPop(pool);
  CHECK(nvr_destroy(c) == NUVEC_OK);
}

static void bind(void) {
  nvr_context *c = make();
  nvr_function *f = NULL, *g = NULL;
  nuvec_array in[2], out[2];
  bound_inputs bound;
  nuvec_cache n;
  size_t capacity = 5;
  int64_t *shape = (int64_t *)malloc(8), strides[1] = {2};
  float *w = (float *)malloc(400);
  double seconds = -1;
  unsigned long k;
  id b;
  inputs(in, 4);
  memset(out, 0, sizeof out);
  memcpy(w, w_data, 400);
  shape[0] = 100;
  bound.w = host(w, 400, NUVEC_FLOAT32, 1, shape);
  CHECK(nvr_function_create(c, 3, NULL, &bound, sizeof bound, &f) == NUVEC_OK && f);
  b = buffer(c, 4096, 0);
  memcpy((char *)nvr_contents(c, b) + 64, w_data, 400);
  bound.w = in_buffer(b, 64, &bound.w);
  CHECK(nvr_function_create(c, 3, &capacity, &bound, sizeof bound, &g) == NUVEC_OK && g);
  objc_release(b); /* the function object holds it */
  memset(w, 0xff, 400);
  shape[0] = 7;
  free(w);
  free(shape);
  memset(&bound, 0xff, sizeof bound);
  CHECK(nvr_call(f, arrays(in, 1, out, 2), &seconds) == NUVEC_OK && right(out[0].host, out[1].host, 4) && seconds > 0);
  CHECK(nvr_call(g, arrays(in, 1, out, 2), NULL) == NUVEC_OK && right(out[0].host, out[1].host, 4));
  CHECK(nvr_cache(f, NULL, &n) == NUVEC_OK && n.misses == 1 && n.capacity == 2);
  CHECK(nvr_cache(g, NULL, &n) == NUVEC_OK && n.misses == 1 && n.capacity == 5);
  free_outputs(out);
  EXPECT(c, nvr_call(f, arrays(in, 2, out, 2), NULL), NUVEC_SIGNATURE, "takes 1 inputs and has 2 outputs|has 2 and 2");
  EXPECT(c, nvr_destroy(c), NUVEC_BUSY, "2 function objects or states");
  /* packed: all inputs, on the context */
  CHECK(nvr_call(nvr_default(c, 3), nvr_packed(-1, in, 2, out, 2), NULL) == NUVEC_OK);
  CHECK(right(out[0].host, out[1].host, 4));
  CHECK(nvr_call(nvr_default(c, 3), nvr_packed(0, in, 2, out, 2), NULL) == NUVEC_OK);
  EXPECT(c, nvr_call(nvr_default(c, 3), nvr_packed(1, in, 2, out, 2), NULL), NUVEC_SIGNATURE,
         "has 1 signatures|number 1");
  EXPECT(c, nvr_call(nvr_default(c, 3), nvr_packed(-2, in, 2, out, 2), NULL), NUVEC_SIGNATURE, "number -2");
  EXPECT(c, nvr_call(nvr_default(c, 3), arrays(in, 1, out, 2), NULL), NUVEC_NULL, "inputs are NULL");
  free_outputs(out);
  CHECK(nvr_function_destroy(f) == NUVEC_OK && nvr_function_destroy(g) == NUVEC_OK);
  CHECK(nvr_function_destroy(NULL) == NUVEC_OK);
  /* what is bound is checked */
  bound.w = in[1];
#define BAD(field, value, status, words)                                                    \
  do {                                                                                      \
    bound_inputs bad = bound;                                                               \
    bad.w.field = value;                                                                    \
    f = (nvr_function *)c;                                                                  \
    EXPECT(c, nvr_function_create(c, 3, NULL, &bad, sizeof bad, &f), status, words);        \
    CHECK(!f);                                                                              \
  } while (0)
  BAD(host, NULL, NUVEC_NULL, "bound input p.w has neither");
  BAD(bytes, 399, NUVEC_SHORT_BUFFER, "bound input p.w needs 400|399");
  BAD(shape, NULL, NUVEC_NULL, "bound input p.w has rank 1, but its shape is NULL");
  BAD(rank, 17, NUVEC_RANK, "bound input p.w has rank 17");
  BAD(dtype, (nuvec_dtype)99, NUVEC_SHAPE, "bound input p.w has no such type");
  BAD(strides, strides, NUVEC_STRIDES, "bound input p.w|got 2 instead of 1");
  EXPECT(c, nvr_function_create(c, 3, NULL, NULL, 0, &f), NUVEC_NULL, "bound inputs are NULL");
  CHECK(nvr_function_create(NULL, 3, NULL, &bound, sizeof bound, &f) == NUVEC_NULL);
  CHECK(nvr_function_create(c, 3, NULL, &bound, sizeof bound, NULL) == NUVEC_NULL);
  k = hm_get_stats().live;
  hm_fail(HM_FAIL_ALLOC, 1);
  EXPECT(c, nvr_function_create(c, 3, NULL, &bound, sizeof bound, &f), NUVEC_OUT_OF_MEMORY, "no memory for the 400");
  CHECK(hm_get_stats().live == k);
  /* of another type than any signature's: the call says so */
  bound.w.dtype = NUVEC_INT32;
  CHECK(nvr_function_create(c, 3, NULL, &bound, sizeof bound, &f) == NUVEC_OK);
  EXPECT(c, nvr_call(f, arrays(in, 1, out, 2), NULL), NUVEC_DTYPE, "input p.w: expected float32[100], got int32[100]");
  CHECK(nvr_function_destroy(f) == NUVEC_OK);
  CHECK(nvr_destroy(c) == NUVEC_OK);
}

/* Nothing that calls in flight use goes away under them. */
static void busy(void) {
  nvr_context *c = make();
  nvr_function *f;
  bound_inputs bound;
  nuvec_array in[2], out[2];
  size_t none = 0;
  nuvec_cache n;
  told t;
  inputs(in, 4);
  memset(out, 0, sizeof out);
  bound.w = in[1];
  CHECK(nvr_function_create(c, 3, &none, &bound, sizeof bound, &f) == NUVEC_OK);
  told_init(&t, c);
  pthread_mutex_lock(&t.lock); /* so that the callback can't end */
  CHECK(nvr_call_async(f, arrays(in, 1, out, 2), tell, &t) == NUVEC_OK);
  EXPECT(c, nvr_destroy(c), NUVEC_BUSY, "1 calls are in flight");
  CHECK(nvr_cache(f, &none, &n) == NUVEC_OK && n.replays <= 1);
  pthread_mutex_unlock(&t.lock);
  wait_for(&t, 1);
  CHECK(nvr_wait(c) == NUVEC_OK && right(out[0].host, out[1].host, 4));
  CHECK(nvr_cache(f, NULL, &n) == NUVEC_OK && !n.replays && n.misses == 1 && n.evictions == 1);
  free_outputs(out);
  CHECK(nvr_function_destroy(f) == NUVEC_OK);
  CHECK(nvr_destroy(c) == NUVEC_OK);
}

/* Every way to call, from several threads, on one context that keeps fewer replays than are in flight. */
static void *mixer(void *context) {
  nvr_context *c = context;
  void *pool = objc_autoreleasePoolPush();
  nuvec_array in[2], out[3][2];
  told t;
  int i;
  in[0] = host(x_data, 1600, NUVEC_FLOAT32, 2, shape_4_100);
  in[1] = host(w_data, 400, NUVEC_FLOAT32, 1, shape_100);
  for (i = 0; i < 20; i++) {
    id command = command_buffer(c);
    memset(out, 0, sizeof out);
    told_init(&t, c);
    if (call_async(c, in, out[0], &t) != NUVEC_OK || encode_into(c, command, in, out[1]) != NUVEC_OK) return (void *)1;
    if (call(c, in, out[2]) != NUVEC_OK || !right(out[2][0].host, out[2][1].host, 4)) return (void *)2;
    nvr_do(c, command, NVR_S_commit);
    nvr_do(c, command, NVR_S_waitUntilCompleted);
    objc_release(command);
    if (!right(out[1][0].host, out[1][1].host, 4)) return (void *)3;
    wait_for(&t, 1);
    if (t.status != NUVEC_OK || !right(out[0][0].host, out[0][1].host, 4)) return (void *)4;
    free_outputs(out[0]), free_outputs(out[1]), free_outputs(out[2]);
  }
  objc_autoreleasePoolPop(pool);
  return NULL;
}
static void mixed(void) {
  nvr_context *c = make();
  nuvec_array in[2];
  size_t two = 2;
  nuvec_cache n;
  pthread_t t[4];
  int i;
  inputs(in, 4);
  CHECK(nvr_cache(nvr_default(c, 0), &two, NULL) == NUVEC_OK);
  for (i = 0; i < 4; i++) CHECK(pthread_create(&t[i], NULL, mixer, c) == 0);
  for (i = 0; i < 4; i++) {
    void *result = NULL;
    pthread_join(t[i], &result);
    CHECK(result == NULL);
  }
  CHECK(nvr_wait(c) == NUVEC_OK && nvr_cache(nvr_default(c, 0), NULL, &n) == NUVEC_OK);
  CHECK(n.hits + n.misses == 4 * 20 * 3 && n.replays == 2 && n.misses - n.evictions == 2);
  CHECK(nvr_destroy(c) == NUVEC_OK);
}
