/* hand.c - the replay engine on a hand-written tape: every status, values, what a second call costs, threads. Runs in
 * the test bed, which finds leaks and misuse by itself. usage: hand GROUP */
#include "hand.h"
#include <hm_hooks.h>
#include <stdint.h>

static int failures;
static void check(int ok, const char *what, int line) {
  if (ok) return;
  failures++;
  fprintf(stderr, "hand.c:%d: %s\n", line, what);
}
#define CHECK(x) check((x) != 0, #x, __LINE__)

/* The call must have failed with this status and a text that has all of the words. */
static void expect(nvr_context *c, nuvec_status got, nuvec_status want, const char *words, int line) {
  char text[512], *word;
  if (got != want) {
    failures++;
    fprintf(stderr, "hand.c:%d: status %d, expected %d: %s\n", line, (int)got, (int)want, nvr_error(c));
    return;
  }
  snprintf(text, sizeof text, "%s", words);
  for (word = strtok(text, "|"); word; word = strtok(NULL, "|"))
    if (!strstr(nvr_error(c), word)) {
      failures++;
      fprintf(stderr, "hand.c:%d: '%s' isn't in: %s\n", line, word, nvr_error(c));
    }
}
#define EXPECT(c, call, status, words) expect(c, call, status, words, __LINE__)

static float x_data[800], w_data[100];

static nuvec_array host(void *p, size_t bytes, nuvec_dtype dtype, int32_t rank, const int64_t *shape) {
  nuvec_array a;
  memset(&a, 0, sizeof a);
  a.host = p;
  a.bytes = bytes;
  a.dtype = dtype;
  a.rank = rank;
  a.shape = shape;
  return a;
}
static void inputs(nuvec_array in[2], int rows) {
  size_t i;
  for (i = 0; i < 800; i++) x_data[i] = (float)i * 0.25f - 20.0f;
  for (i = 0; i < 100; i++) w_data[i] = (float)(i % 7) - 3.0f;
  in[0] = host(x_data, (size_t)rows * 400, NUVEC_FLOAT32, 2, rows == 4 ? shape_4_100 : shape_8_100);
  in[1] = host(w_data, 400, NUVEC_FLOAT32, 1, shape_100);
}
/* y exactly; s in any order, as the terms are multiples of 1/4 */
static int right(const float *y, const float *s, int rows) {
  int r, i;
  for (r = 0; r < rows; r++) {
    float sum = 0;
    for (i = 0; i < 100; i++) {
      if (y[r * 100 + i] != x_data[r * 100 + i] * w_data[i] + 1.0f) return 0;
      sum += y[r * 100 + i];
    }
    if (s[r] != sum) return 0;
  }
  return 1;
}

static const char *metallib = "hand.metallib";
static nvr_context *make_of(const nvr_tape *tape) {
  nvr_context *c = NULL;
  nuvec_options o;
  memset(&o, 0, sizeof o);
  o.path = metallib;
  if (nvr_create(tape, &o, &c) != NUVEC_OK) {
    fprintf(stderr, "create: %s\n", nvr_error(c));
    exit(1);
  }
  return c;
}
static nvr_context *make(void) { return make_of(&hand_tape); }
static nvr_arrays arrays(const nuvec_array *in, size_t nin, nuvec_array *out, size_t nout) { /* style flat */
  nvr_arrays a = nvr_packed(-1, in, nin, out, nout);
  a.packed = 0;
  return a;
}
static nuvec_status call_entry(nvr_context *c, size_t entry, const nuvec_array *in, size_t nin, nuvec_array *out,
                               size_t nout) {
  return nvr_call(nvr_default(c, entry), arrays(in, nin, out, nout), NULL);
}
static nuvec_status call(nvr_context *c, const nuvec_array *in, nuvec_array *out) {
  return call_entry(c, 0, in, 2, out, 2);
}
static void fill_table(void) { /* of the two signatures of the first entry */
  nuvec_array in[2];
  size_t k, at;
  for (k = 0; k < 2; k++) {
    nvr_arrays a = arrays(in, 2, NULL, 2);
    inputs(in, k ? 8 : 4);
    for (at = (size_t)nvr_hash(hand_form, &a) & 3; hand_table[at];) at = (at + 1) & 3;
    hand_table[at] = (unsigned short)(k + 1);
  }
}
static id buffer(nvr_context *c, size_t n, nvr_uint options) {
  id b = NVR_SEND("@@:QQ", id, (id, SEL, nvr_uint, nvr_uint))(c->device, c->sel[NVR_S_newBufferWithLength], n, options);
  void *pool = objc_autoreleasePoolPush();
  nvr_set(c, b, NVR_S_setLabel, nvr_string(c, "the app's"));
  objc_autoreleasePoolPop(pool);
  return b;
}
static nuvec_array in_buffer(id b, size_t offset, const nuvec_array *like) {
  nuvec_array a = *like;
  a.buffer = b;
  a.host = NULL;
  a.offset = offset;
  a.bytes = 0;
  return a;
}

/* ---- groups ---- */

static void values(void) {
  nvr_context *c = make();
  nuvec_array in[2], out[2];
  float y[800], s[8], *page;
  int rows;
  for (rows = 4; rows <= 8; rows += 4) { /* outputs made by the call, then used again, then the app's memory */
    inputs(in, rows);
    memset(out, 0, sizeof out);
    CHECK(call(c, in, out) == NUVEC_OK && right(out[0].host, out[1].host, rows));
    CHECK(out[0].rank == 2 && out[0].shape[0] == rows && out[0].dtype == NUVEC_FLOAT32 && !out[0].strides);
    CHECK(out[0].bytes == (size_t)rows * 400 && out[1].bytes == (size_t)rows * 4);
    x_data[0] = 5;
    CHECK(call(c, in, out) == NUVEC_OK && right(out[0].host, out[1].host, rows));
    nvr_release(&out[0]);
    nvr_release(&out[1]);
    CHECK(!out[0].buffer && !out[0].host && !out[0].bytes);
    nvr_release(&out[0]);
    memset(out, 0, sizeof out);
    out[0].host = y, out[0].bytes = sizeof y;
    out[1].host = s, out[1].bytes = sizeof s;
    CHECK(call(c, in, out) == NUVEC_OK && right(y, s, rows) && out[0].host == y);
  }
  /* one graph's output is another's input; memory of whole pages is used in place */
  CHECK(posix_memalign((void **)&page, 16384, 16384) == 0);
  memcpy(page, x_data, sizeof x_data);
  in[0].host = page, in[0].bytes = 16384;
  memset(out, 0, sizeof out);
  CHECK(call(c, in, out) == NUVEC_OK && right(out[0].host, out[1].host, 8));
  {
    nuvec_array next[2], again[2];
    next[0] = out[0];
    next[1] = in[1];
    memset(again, 0, sizeof again);
    again[0].host = page, again[0].bytes = 16384;
    CHECK(call(c, next, again) == NUVEC_OK);
    memcpy(x_data, out[0].host, sizeof x_data);
    CHECK(right(page, again[1].host, 8));
    nvr_release(&again[1]);
  }
  nvr_release(&out[0]);
  nvr_release(&out[1]);
  free(page);
  CHECK(nvr_destroy(c) == NUVEC_OK);
}

static void empty(void) {
  nvr_context *c = make();
  int32_t a[5] = {1, -2, 3, 0, 5}, *b;
  char flag = 1;
  nuvec_array in[2], out[2], one = host(&flag, 1, NUVEC_BOOL, 0, NULL);
  in[0] = host(a, sizeof a, NUVEC_INT32, 1, shape_5);
  in[1] = host(NULL, 0, NUVEC_INT32, 1, shape_0);
  memset(out, 0, sizeof out);
  CHECK(call_entry(c, 1, in, 2, out, 2) == NUVEC_OK);
  b = out[0].host;
  CHECK(b && b[0] == -1 && b[1] == 2 && b[4] == -5);
  CHECK(!out[1].buffer && !out[1].host && out[1].shape[0] == 0 && out[1].rank == 1);
  nvr_release(&out[0]);
  CHECK(call_entry(c, 2, &one, 1, NULL, 0) == NUVEC_OK);
  CHECK(nvr_destroy(c) == NUVEC_OK);
}

static void wrong(void) {
  nvr_context *c = make();
  nuvec_array in[2], out[2], bad[2], one = host(w_data, 1, NUVEC_BOOL, 1, shape_5);
  int64_t huge[40] = {100, 7}, strides[2] = {100, 1};
  memset(out, 0, sizeof out);
  inputs(in, 4);
#define WITH(field, value) (memcpy(bad, in, sizeof bad), bad[0].field = value, bad)
  EXPECT(c, call(c, WITH(dtype, NUVEC_INT32), out), NUVEC_SIGNATURE,
         "hand|none of 2|number 0|input x|float32[4, 100]|int32[4, 100]");
  EXPECT(c, call(c, WITH(dtype, (nuvec_dtype)77), out), NUVEC_SIGNATURE, "dtype 77");
  EXPECT(c, call(c, WITH(rank, 1), out), NUVEC_SIGNATURE, "got float32[4]");
  EXPECT(c, call(c, WITH(rank, -1), out), NUVEC_SIGNATURE, "got float32[]");
  EXPECT(c, call(c, WITH(shape, huge), out), NUVEC_SIGNATURE, "got float32[100, 7]");
  EXPECT(c, call(c, (WITH(shape, huge), bad[0].rank = 40, bad), out), NUVEC_SIGNATURE, "float32[100, 7, 0, 0");
  EXPECT(c, call(c, WITH(shape, NULL), out), NUVEC_NULL, "input x|rank 2|shape is NULL");
  EXPECT(c, call(c, WITH(host, NULL), out), NUVEC_NULL, "input x|neither");
  EXPECT(c, call(c, WITH(bytes, 1599), out), NUVEC_SHORT_BUFFER, "input x|1600|1599");
  EXPECT(c, call(c, NULL, out), NUVEC_NULL, "inputs are NULL");
  EXPECT(c, call(c, in, NULL), NUVEC_NULL, "outputs are NULL");
  CHECK(call_entry(NULL, 0, in, 2, out, 2) == NUVEC_NULL);
  EXPECT(c, call_entry(c, 0, in, 1, out, 2), NUVEC_SIGNATURE,
         "takes 2 inputs and has 2 outputs|has 1 and 2");
  EXPECT(c, call_entry(c, 0, in, 2, out, 3), NUVEC_SIGNATURE, "2 and 3");
  /* the only signature: its own status */
  EXPECT(c, call_entry(c, 2, &one, 1, NULL, 0), NUVEC_RANK,
         "nothing|input a: expected bool[], got bool[5]");
  one.dtype = NUVEC_UINT8;
  EXPECT(c, call_entry(c, 2, &one, 1, NULL, 0), NUVEC_DTYPE, "got uint8[5]");
  one = host(x_data, 20, NUVEC_INT32, 1, shape_4);
  bad[0] = one, bad[1] = one;
  EXPECT(c, call_entry(c, 1, bad, 2, out, 2), NUVEC_SHAPE, "input a: expected int32[5], got int32[4]");
  /* strides */
  CHECK(call(c, WITH(strides, strides), out) == NUVEC_OK);
  nvr_release(&out[0]), nvr_release(&out[1]);
  memset(out, 0, sizeof out);
  strides[0] = 1, strides[1] = 4;
  EXPECT(c, call(c, WITH(strides, strides), out), NUVEC_STRIDES, "input x|got 4 instead of 1 for axis 1");
  /* outputs that say what they are */
  out[0].shape = shape_8_100, out[0].rank = 2, out[0].dtype = NUVEC_FLOAT32;
  EXPECT(c, call(c, in, out), NUVEC_SHAPE, "output y is float32[4, 100], but its array says float32[8, 100]");
  out[0].dtype = NUVEC_FLOAT16;
  EXPECT(c, call(c, in, out), NUVEC_DTYPE, "float16");
  out[0].dtype = NUVEC_FLOAT32, out[0].rank = 1;
  EXPECT(c, call(c, in, out), NUVEC_RANK, "float32[8]");
  memset(out, 0, sizeof out);
  out[1].host = strides, out[1].bytes = 15;
  EXPECT(c, call(c, in, out), NUVEC_SHORT_BUFFER, "output s|16|15");
  CHECK(!out[0].buffer && !out[0].shape);
  CHECK(nvr_destroy(c) == NUVEC_OK);
}

static void buffers(void) {
  nvr_context *c = make();
  nuvec_array in[2], out[2], bad[2], clean[2];
  id a, b, other;
  char *p;
  inputs(in, 4);
  a = buffer(c, 4096, 0);
  b = buffer(c, 4096, 0);
  p = nvr_contents(c, a);
  memset(clean, 0, sizeof clean);
  memcpy(p + 64, x_data, 1600);
  memcpy(p + 2000, w_data, 400);
  in[0] = in_buffer(a, 64, &in[0]);
  in[1] = in_buffer(a, 2000, &in[1]);
  out[0] = in_buffer(a, 2400, &clean[0]); /* one buffer holds all; y ends where it ends, s lies between x and w */
  out[1] = in_buffer(a, 1664, &clean[1]);
  out[0].bytes = 1696;
  CHECK(call(c, in, out) == NUVEC_OK && right((float *)(p + 2400), (float *)(p + 1664), 4));
  CHECK((id)out[0].buffer == a && out[0].offset == 2400 && !out[0].host && out[0].bytes == 1696);

  memcpy(bad, in, sizeof bad);
  bad[0].offset = 62;
  EXPECT(c, call(c, bad, out), NUVEC_MISALIGNED, "input x|offset 62|4 bytes");
  bad[0].offset = 2500;
  EXPECT(c, call(c, bad, out), NUVEC_SHORT_BUFFER, "input x needs 1600|has 4096|1596 from offset 2500");
  bad[0].offset = 5000;
  EXPECT(c, call(c, bad, out), NUVEC_SHORT_BUFFER, "input x|0 from offset 5000");
  bad[0].offset = 64, bad[0].bytes = 1000;
  EXPECT(c, call(c, bad, out), NUVEC_SHORT_BUFFER, "input x|1000 from offset 64");

  /* aliasing: with an input, by another buffer on the same memory, with another output; touching is not overlapping */
  memcpy(bad, out, sizeof bad);
  bad[1].offset = 1660;
  EXPECT(c, call(c, in, bad), NUVEC_ALIASING, "output s shares memory with input x");
  bad[1].offset = 2396;
  EXPECT(c, call(c, in, bad), NUVEC_ALIASING, "output s shares memory with input p.w");
  bad[1].offset = 3000;
  EXPECT(c, call(c, in, bad), NUVEC_ALIASING, "shares memory with output");
  bad[1].buffer = NULL, bad[1].host = p + 100, bad[1].bytes = 16, bad[1].offset = 0;
  EXPECT(c, call(c, in, bad), NUVEC_ALIASING, "output s shares memory with input x");
  bad[0] = in_buffer(b, 0, &out[0]);
  bad[1].host = NULL, bad[1].buffer = b, bad[1].offset = 1600;
  CHECK(call(c, in, bad) == NUVEC_OK && right(nvr_contents(c, b), (float *)((char *)nvr_contents(c, b) + 1600), 4));
  memcpy(bad, in, sizeof bad); /* inputs may overlap */
  bad[1].offset = 64;
  CHECK(call(c, bad, out) == NUVEC_OK);
  objc_release(b);

  /* private memory, which has no address: told apart by buffer and offset */
  b = buffer(c, 4096, 32);
  memcpy(bad, clean, sizeof bad);
  bad[0].buffer = bad[1].buffer = b;
  bad[1].offset = 1600;
  CHECK(call(c, in, bad) == NUVEC_OK && !bad[1].host);
  bad[1].offset = 1596;
  EXPECT(c, call(c, in, bad), NUVEC_ALIASING, "shares memory with output");
  bad[1].buffer = other = buffer(c, 16, 32); /* the same offset of another one */
  bad[0].offset = bad[1].offset = 0;
  CHECK(call(c, in, bad) == NUVEC_OK);
  objc_release(other);
  objc_release(b);
  objc_release(a);
  CHECK(nvr_destroy(c) == NUVEC_OK);
}

/* Every failure of Metal: its status, no leak, and the next call is right again. */
static void failures_of_metal(void) {
  nvr_context *c;
  nuvec_array in[2], out[2];
  nuvec_options o;
  unsigned long n, live;
  float y[400], s[4];
  memset(&o, 0, sizeof o);
  o.path = metallib;
  inputs(in, 4);
#define FAILS(kind, nth, status, words)                     \
  hm_fail(kind, nth);                                       \
  EXPECT(c, nvr_create(&hand_tape, &o, &c), status, words); \
  EXPECT(c, call(c, in, out), status, words);               \
  CHECK(nvr_destroy(c) == NUVEC_OK)
  FAILS(HM_FAIL_DEVICE, 1, NUVEC_GPU_TOO_OLD, "no Metal device|CoreGraphics");
  FAILS(HM_FAIL_QUEUE, 1, NUVEC_OUT_OF_MEMORY, "command queue");
  FAILS(HM_FAIL_LIBRARY, 1, NUVEC_METALLIB, "hand.metallib|internal error");
  FAILS(HM_FAIL_PIPELINE, 3, NUVEC_MISSING_KERNEL, "hand_k2_sum|computes hand.s|internal error");
  /* the test of the arithmetic that ends a context's creation */
  FAILS(HM_FAIL_PIPELINE, 5, NUVEC_MISSING_KERNEL, "hand_tie_1|a test of the arithmetic|internal error");
  FAILS(HM_FAIL_ALLOC, 1, NUVEC_OUT_OF_MEMORY, "no memory for a test of the arithmetic");
  FAILS(HM_FAIL_COMMAND, 1, NUVEC_GPU_ERROR, "no command encoder");
  FAILS(HM_FAIL_ENCODER, 1, NUVEC_GPU_ERROR, "no command encoder");
  FAILS(HM_FAIL_COMMIT, 1, NUVEC_GPU_ERROR, "gave up on a test of the arithmetic");
  c = make();
  memset(out, 0, sizeof out);
  live = hm_get_stats().live;
  for (n = 1; n <= 5; n++) { /* scratch, x, w, y, s */
    hm_fail(HM_FAIL_ALLOC, n);
    EXPECT(c, call(c, in, out), NUVEC_OUT_OF_MEMORY, "hand: no memory for the");
    CHECK(!out[0].buffer && !out[1].buffer && !out[0].shape);
    CHECK(nvr_destroy(c) == NUVEC_OK);
    c = make();
    CHECK(hm_get_stats().live == live);
  }
  hm_fail(HM_FAIL_COMMAND, 1);
  EXPECT(c, call(c, in, out), NUVEC_GPU_ERROR, "no command buffer");
  hm_fail(HM_FAIL_ENCODER, 1);
  EXPECT(c, call(c, in, out), NUVEC_GPU_ERROR, "no encoder");
  hm_fail(HM_FAIL_COMMIT, 1);
  EXPECT(c, call(c, in, out), NUVEC_GPU_ERROR, "hand: the GPU gave up|3 kernels|hand_k0_multiply");
  CHECK(!out[0].buffer && !out[0].shape);
  out[0].host = y, out[0].bytes = sizeof y, out[1].host = s, out[1].bytes = sizeof s;
  memset(y, 7, sizeof y);
  hm_fail(HM_FAIL_COMMIT, 1);
  EXPECT(c, call(c, in, out), NUVEC_GPU_ERROR, "gave up");
  CHECK(((char *)y)[0] == 7);
  CHECK(call(c, in, out) == NUVEC_OK && right(y, s, 4));
  CHECK(nvr_destroy(c) == NUVEC_OK);
}

static void system_(void) {
  nvr_context *c;
  nuvec_options o;
  nuvec_array in[2], out[2];
  hm_system normal = hm_now;
  memset(&o, 0, sizeof o);
  o.path = metallib;
#define REFUSED(status, words)                              \
  EXPECT(c, nvr_create(&hand_tape, &o, &c), status, words); \
  CHECK(nvr_destroy(c) == NUVEC_OK)
  hm_set_os("13.6");
  REFUSED(NUVEC_OS_TOO_OLD, "hand needs macOS 14.0 or later; this is |13.6");
  hm_set_os("26.0");
  hm_set_family("apple6");
  REFUSED(NUVEC_GPU_TOO_OLD, "Apple7 or Mac2");
  hm_set_family("mac2");
  hm_now.width = 16;
  REFUSED(NUVEC_GPU_TOO_OLD, "hand_k2_sum|hand.s|simdgroups of 32|have 16");
  hm_now = normal;
  hm_set_family("apple9,mac2,metal3");
  hm_now.max_buffer = 1800;
  inputs(in, 4);
  memset(out, 0, sizeof out);
  c = make();
  EXPECT(c, call(c, in, out), NUVEC_BUFFER_LIMIT, "scratch needs 1856 bytes|1800");
  CHECK(nvr_destroy(c) == NUVEC_OK);
  hm_now.max_threads = 96; /* groups of 64 */
  hm_now.max_buffer = normal.max_buffer;
  c = make();
  CHECK(c->pipelines[0].limit == 64);
  CHECK(call(c, in, out) == NUVEC_OK && right(out[0].host, out[1].host, 4));
  nvr_release(&out[0]), nvr_release(&out[1]);
  CHECK(nvr_destroy(c) == NUVEC_OK);
  hm_now = normal;
}

static void metallibs(void) {
  nvr_context *c, *d;
  nuvec_options o;
  nvr_tape other = hand_tape;
  nvr_kernel kernels[2] = {{"hand_k0_multiply", "hand.t", 0, 0}, {"hand_k9_gone", "hand.z#3", 0, 0}};
  nuvec_array in[2], out[2];
  void *bytes;
  long n;
  FILE *f = fopen(metallib, "rb");
  fseek(f, 0, SEEK_END);
  n = ftell(f);
  rewind(f);
  bytes = malloc((size_t)n);
  CHECK(fread(bytes, 1, (size_t)n, f) == (size_t)n);
  fclose(f);
  inputs(in, 4);
  memset(out, 0, sizeof out);
  memset(&o, 0, sizeof o);
  o.bytes = bytes, o.length = (size_t)n; /* in memory */
  CHECK(nvr_create(&hand_tape, &o, &c) == NUVEC_OK);
  memset(bytes, 0, (size_t)n);
  CHECK(call(c, in, out) == NUVEC_OK && right(out[0].host, out[1].host, 4));
  nvr_release(&out[0]), nvr_release(&out[1]);
  EXPECT(d, nvr_create(&hand_tape, &o, &d), NUVEC_METALLIB, "bytes of the metallib can't be loaded|Invalid library");
  CHECK(nvr_destroy(d) == NUVEC_OK);
  free(bytes);
  /* with the app's queue, and with its device: both are held */
  memset(&o, 0, sizeof o);
  o.queue = c->queue;
  o.path = metallib;
  CHECK(nvr_create(&hand_tape, &o, &d) == NUVEC_OK && d->queue == c->queue && d->device == c->device);
  CHECK(nvr_destroy(c) == NUVEC_OK);
  CHECK(call(d, in, out) == NUVEC_OK && right(out[0].host, out[1].host, 4));
  o.device = d->device;
  o.queue = NULL;
  CHECK(nvr_create(&hand_tape, &o, &c) == NUVEC_OK && d->queue != c->queue && d->device == c->device);
  CHECK(nvr_destroy(d) == NUVEC_OK);
  CHECK(call(c, in, out) == NUVEC_OK);
  CHECK(nvr_destroy(c) == NUVEC_OK);
  nvr_release(&out[0]), nvr_release(&out[1]); /* outputs outlive the context */
  /* found beside the executable */
  CHECK(nvr_create(&hand_tape, NULL, &c) == NUVEC_OK);
  CHECK(nvr_destroy(c) == NUVEC_OK);
  other.name = "nowhere";
  EXPECT(c, nvr_create(&other, NULL, &c), NUVEC_METALLIB,
         "nowhere: metallib|/nowhere.metallib can't be loaded|No such file");
  CHECK(nvr_destroy(c) == NUVEC_OK);
  o.device = NULL;
  o.path = metallib;
  other = hand_tape;
  other.tie = "hand_tie_2";
  EXPECT(c, nvr_create(&other, &o, &c), NUVEC_WRONG_METALLIB, "hand: the metallib wasn't built from|hand_tie_2");
  CHECK(nvr_destroy(c) == NUVEC_OK);
  other = hand_tape;
  other.kernels = kernels;
  other.nkernels = 2;
  EXPECT(c, nvr_create(&other, &o, &c), NUVEC_MISSING_KERNEL, "no kernel hand_k9_gone|computes hand.z#3");
  CHECK(nvr_destroy(c) == NUVEC_OK);
  CHECK(nvr_create(&hand_tape, NULL, NULL) == NUVEC_NULL && nvr_destroy(NULL) == NUVEC_OK);
  CHECK(!strcmp(nvr_error(NULL), "the context is NULL"));
}

/* Metallibs whose arithmetic is that of fast math in one respect each (run_tests.sh). */
static void fast_math(void) {
  static const char *const built[][2] = {{"contract", "contracted products and sums"}, {"zeros", "signed zeros"},
                                         {"infinities", "infinities"}, {"order", "sums in another order"},
                                         {"division", "division"}, {"functions", "functions"}};
  nuvec_array in[2], out[2];
  nuvec_options o;
  nvr_context *c;
  char path[64];
  size_t k;
  memset(&o, 0, sizeof o);
  inputs(in, 4);
  memset(out, 0, sizeof out);
  for (k = 0; k < sizeof built / sizeof *built; k++) {
    snprintf(path, sizeof path, "hand_%s.metallib", built[k][0]);
    o.path = path;
    snprintf(path + 32, 32, "%s", built[k][1]);
    EXPECT(c, nvr_create(&hand_tape, &o, &c), NUVEC_FAST_MATH, path + 32);
    EXPECT(c, call(c, in, out), NUVEC_FAST_MATH, "hand: the metallib was built with fast math|hand.mk");
    CHECK(nvr_destroy(c) == NUVEC_OK);
  }
}

static void shapes(void) {
  nvr_context *c = make();
  nuvec_array in[2], out[2];
  size_t scratch = 0;
  hm_stats before = hm_get_stats(), after;
  inputs(in, 8);
  in[0].host = in[1].host = NULL;
  in[0].bytes = in[1].bytes = 0;
  memset(out, 0, sizeof out);
  CHECK(nvr_shapes(nvr_default(c, 0), arrays(in, 2, out, 2), &scratch) == NUVEC_OK);
  CHECK(scratch == 3456 && out[0].bytes == 3200 && out[0].shape[0] == 8 && out[1].rank == 1 && out[1].bytes == 32);
  CHECK(nvr_shapes(nvr_default(c, 0), arrays(in, 2, NULL, 2), NULL) == NUVEC_OK);
  in[1].rank = 0;
  EXPECT(c, nvr_shapes(nvr_default(c, 0), arrays(in, 2, out, 2), &scratch), NUVEC_SIGNATURE,
         "number 1, input p.w is float32[100], got float32[]");
  EXPECT(c, nvr_shapes(nvr_default(c, 0), arrays(in, 2, out, 1), &scratch), NUVEC_SIGNATURE, "2 and 1");
  after = hm_get_stats();
  CHECK(after.objects == before.objects && after.messages == before.messages);
  CHECK(nvr_destroy(c) == NUVEC_OK);
}

/* The second call of a signature: a command buffer and an encoder are made, nothing else, and nothing is looked up. */
static void steady(void) {
  nvr_context *c = make();
  nuvec_array in[2], out[2];
  hm_stats before, after;
  int i;
  inputs(in, 4);
  memset(out, 0, sizeof out);
  CHECK(call(c, in, out) == NUVEC_OK);
  before = hm_get_stats();
  for (i = 0; i < 10; i++) CHECK(call(c, in, out) == NUVEC_OK);
  after = hm_get_stats();
  CHECK(after.objects - before.objects == 20 && after.buffers == before.buffers && after.live == before.live);
  CHECK(after.selectors == before.selectors && after.classes == before.classes);
  CHECK(after.encoders - before.encoders == 10 && after.commits - before.commits == 10);
  CHECK(after.dispatches - before.dispatches == 30 && after.barriers - before.barriers == 20);
  printf("%lu messages a call of 3 kernels\n", (after.messages - before.messages) / 10);
  nvr_release(&out[0]), nvr_release(&out[1]);
  CHECK(nvr_destroy(c) == NUVEC_OK);
}

static void *caller(void *context) {
  nvr_context *c = context;
  nuvec_array in[2], out[2];
  int i;
  in[0] = host(x_data, 1600, NUVEC_FLOAT32, 2, shape_4_100);
  in[1] = host(w_data, 400, NUVEC_FLOAT32, 1, shape_100);
  memset(out, 0, sizeof out);
  for (i = 0; i < 50; i++) {
    if (call(c, in, out) != NUVEC_OK || !right(out[0].host, out[1].host, 4)) return (void *)1;
    in[1].rank = 0;
    if (call(c, in, out) != NUVEC_SIGNATURE || !strstr(nvr_error(c), "p.w")) return (void *)2;
    in[1].rank = 1;
  }
  nvr_release(&out[0]), nvr_release(&out[1]);
  return NULL;
}
static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
static int failed_calls;             /* guarded by the context's lock */
static void *failer(void *context) { /* fails once and lives until the gate opens */
  nvr_context *c = context;
  call(c, NULL, NULL);
  pthread_mutex_lock(&c->lock);
  failed_calls++;
  pthread_mutex_unlock(&c->lock);
  pthread_mutex_lock(&gate);
  pthread_mutex_unlock(&gate);
  return NULL;
}
static void threads(void) {
  nvr_context *c = make();
  nuvec_array in[2];
  const nvr_signature *s = &hand_signatures[0];
  nvr_slot *slot;
  nuvec_status status;
  const nvr_message *m;
  pthread_t t[8], many[70];
  int i, n = 0;
  inputs(in, 4);
  for (i = 0; i < 8; i++) CHECK(pthread_create(&t[i], NULL, caller, c) == 0);
  for (i = 0; i < 8; i++) {
    void *result = NULL;
    pthread_join(t[i], &result);
    CHECK(result == NULL);
  }
  CHECK(!strcmp(nvr_error(c), "")); /* another thread's failure isn't this one's */
  /* more threads at once than texts are kept: the latest are */
  pthread_mutex_lock(&gate);
  for (i = 0; i < 70; i++) CHECK(pthread_create(&many[i], NULL, failer, c) == 0);
  while (n < 70) {
    pthread_mutex_lock(&c->lock);
    n = failed_calls;
    pthread_mutex_unlock(&c->lock);
  }
  for (n = 0, m = c->messages; m; m = m->next) n++;
  CHECK(n == NVR_MESSAGES);
  pthread_mutex_unlock(&gate);
  for (i = 0; i < 70; i++) pthread_join(many[i], NULL);
#if NVR_OPEN
  {
    nvr_arrays a = arrays(in, 2, NULL, 2);
    slot = nvr_take_slot(nvr_default(c, 0), s, &a, &status);
  }
#else
  slot = nvr_take_slot(nvr_default(c, 0), s, &status);
#endif
  CHECK(slot && status == NUVEC_OK);
  EXPECT(c, nvr_destroy(c), NUVEC_BUSY, "1 calls are in flight");
  nvr_give_slot(slot);
  nvr_over(c);
  CHECK(nvr_destroy(c) == NUVEC_OK);
}

static void groups(void) {
  static const struct {
    nvr_uint limit;
    unsigned fixed;
    size_t grid[3];
    nvr_size want;
  } rows[] = {{256, 0, {1, 1, 1}, {1, 1, 1}},        {256, 0, {5, 1, 1}, {8, 1, 1}},
              {256, 0, {1000, 7, 1}, {256, 1, 1}},   {256, 0, {100, 1000, 1}, {128, 2, 1}},
              {256, 0, {3, 1000, 9}, {4, 64, 1}},    {256, 0, {3, 4, 1000}, {4, 4, 16}},
              {64, 0, {4096, 1, 1}, {64, 1, 1}},     {96, 96, {9600, 7, 1}, {96, 1, 1}}};
  size_t i;
  for (i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    nvr_size g = nvr_group(rows[i].limit, rows[i].fixed, rows[i].grid);
    CHECK(g.width == rows[i].want.width && g.height == rows[i].want.height && g.depth == rows[i].want.depth);
  }
}

#include "ways.c"
#if NVR_OPEN
#include "open.c"
#endif

int main(int argc, char **argv) {
  static const struct {
    const char *name;
    void (*run)(void);
  } all[] = {{"values", values},
             {"empty", empty},
             {"wrong", wrong},
             {"buffers", buffers},
             {"failures", failures_of_metal},
             {"system", system_},
             {"metallibs", metallibs},
             {"fast-math", fast_math},
             {"shapes", shapes},
             {"steady", steady},
             {"threads", threads},
             {"groups", groups},
             {"cache", cache},
             {"async", async},
             {"encode", encode},
             {"bind", bind},
             {"busy", busy},
#if NVR_OPEN
             {"open", open_sizes},
             {"numbers", numbers},
             {"open-wrong", open_wrong},
             {"open-cache", open_cache},
             {"open-ways", open_ways},
             {"open-threads", open_threads},
#endif
             {"mixed", mixed}};
  size_t i;
  for (i = 0; argc == 3 && i < sizeof all / sizeof all[0]; i++)
    if (!strcmp(argv[1], all[i].name)) {
      metallib = argv[2];
      fill_table();
#if NVR_OPEN
      open_fill_tables();
#endif
      all[i].run();
      return failures != 0;
    }
  fprintf(stderr, "usage: hand GROUP METALLIB\n");
  return 2;
}
