/* open.c - a part of hand.c: sizes that the call says. */
#include "open.h"

static float open_x[4096], open_w[256];

static void open_inputs_of(nuvec_array in[2], int64_t shape[2], int64_t b, int64_t n) {
  size_t i;
  shape[0] = b, shape[1] = n;
  for (i = 0; i < 4096; i++) open_x[i] = (float)(i % 999) * 0.5f - 100.0f;
  for (i = 0; i < 256; i++) open_w[i] = (float)(i % 7) - 3.0f;
  in[0] = host(open_x, (size_t)(b * n) * 4, NUVEC_FLOAT32, 2, shape);
  in[1] = host(open_w, (size_t)n * 4, NUVEC_FLOAT32, 1, shape + 1);
}
static int open_right(const nuvec_array out[2], int64_t b, int64_t n, float number) {
  const float *y = (const float *)out[0].host, *s = (const float *)out[1].host;
  int64_t i;
  if (out[0].rank != 2 || out[0].shape[0] != b || out[0].shape[1] != n || out[0].bytes != (size_t)(b * n) * 4) return 0;
  if (out[1].rank != 1 || out[1].shape[0] != b + n || out[1].bytes != (size_t)(b + n) * 4) return 0;
  for (i = 0; i < b * n; i++)
    if (y[i] != open_x[i] * open_w[i % n] + number) return 0;
  for (i = 0; i < b + n; i++)
    if (s[i] != (float)i) return 0;
  return 1;
}
static void open_fill_tables(void) {
  nuvec_array in[2];
  int64_t shape[2];
  nvr_arrays a;
  size_t at;
  unsigned short k;
  open_inputs_of(in, shape, 4, 100);
  a = arrays(in, 2, NULL, 2);
  open_table[nvr_hash(open_form, &a) & 3] = 1;
  for (k = 2; k <= 3; k++) { /* that with fewer open sizes first */
    for (at = (size_t)nvr_open_hash(open_form, &a) & 3; open_open_table[at];) at = (at + 1) & 3;
    open_open_table[at] = k;
  }
}
static nuvec_status open_call(nvr_context *c, size_t entry, const nuvec_array *in, nuvec_array *out) {
  return call_entry(c, entry, in, 2, out, 2);
}

static const int64_t open_list[][2] = {{1, 1}, {3, 5}, {0, 7}, {0, 1},   {4, 100}, {5, 100}, {1, 100}, {40, 100},
                                       {0, 100}, {2, 64}, {7, 63}, {17, 17}, {800, 5}, {1, 200}, {1000, 1}};
enum { OPEN_LIST = sizeof open_list / sizeof open_list[0] };
static float open_number(int64_t b, int64_t n) {
  return b == 4 && n == 100 ? 1.0f : (float)((n == 100 ? 4.0 : 2.0) / (double)n);
}

static void open_sizes(void) {
  nvr_context *c = make_of(&open_tape);
  nuvec_array in[2], out[2], asked[2];
  int64_t shape[2];
  size_t k, scratch;
  int again;
  for (k = 0; k + 1 < OPEN_LIST; k++) { /* the last one breaks a guard */
    const int64_t b = open_list[k][0], n = open_list[k][1];
    hm_stats before;
    open_inputs_of(in, shape, b, n);
    memset(asked, 0, sizeof asked);
    before = hm_get_stats();
    CHECK(nvr_shapes(nvr_default(c, 0), arrays(in, 2, asked, 2), &scratch) == NUVEC_OK);
    CHECK(hm_get_stats().objects == before.objects && hm_get_stats().messages == before.messages);
    CHECK(asked[0].shape[0] == b && asked[0].shape[1] == n && asked[1].shape[0] == b + n && !asked[0].buffer);
    CHECK(asked[0].bytes == (size_t)(b * n) * 4 && asked[1].bytes == (size_t)(b + n) * 4);
    CHECK(scratch == (b == 4 && n == 100 ? 1856u : 256u + (((size_t)(b * n) * 4 + 255) & ~(size_t)255)));
    memset(out, 0, sizeof out);
    for (again = 0; again < 2; again++) {
      before = hm_get_stats();
      CHECK(open_call(c, 0, in, out) == NUVEC_OK && open_right(out, b, n, open_number(b, n)));
      CHECK(out[0].shape == asked[0].shape); /* both are the context's */
      if (again) {
        CHECK(hm_get_stats().buffers == before.buffers && hm_get_stats().objects - before.objects == 2);
        CHECK(hm_get_stats().selectors == before.selectors);
      }
      CHECK(hm_get_stats().dispatches - before.dispatches == (b ? 3 : 1)); /* no empty grid */
    }
    shape[0]++; /* what is kept of the call isn't the app's */
    CHECK(out[0].shape[0] == b);
    nvr_release(&out[0]), nvr_release(&out[1]);
    CHECK(!out[0].shape);
  }
  CHECK(nvr_destroy(c) == NUVEC_OK);
}

/* Every operation, against the machine's own arithmetic. */
static void numbers(void) {
  static const int64_t ints[] = {0, 1, -1, 2, -2, 3, 7, -7, 255, 1 << 30, INT64_MAX, INT64_MIN, INT64_MIN + 1};
  static const double reals[] = {0.0, -0.0, 1.0, -1.0, 0.1, 1e-320, 65519.9, 65520.0, 6e-8, 2.9e-8, 3e38, 3.4028236e38,
                                 1e300, 1e-46, 0.333333333333333314829616256247};
  enum { INTS = sizeof ints / sizeof *ints, REALS = sizeof reals / sizeof *reals };
  size_t i, j;
  uint32_t bits, n;
  uint64_t s = 1;
  for (i = 0; i < INTS; i++)
    for (j = 0; j < INTS; j++) {
      const int64_t a = ints[i], b = ints[j];
      int64_t want = 0;
      nvr_number r = nvr_of_wholes(NVR_ADD, a, b);
      CHECK(r.known == !__builtin_add_overflow(a, b, &want) && (!r.known || r.whole == want));
      r = nvr_of_wholes(NVR_MUL, a, b);
      CHECK(r.known == !__builtin_mul_overflow(a, b, &want) && (!r.known || r.whole == want));
      r = nvr_of_wholes(NVR_DIV, a, b);
      CHECK(r.known == (b != 0 && !(a == INT64_MIN && b == -1)));
      if (r.known) { /* a = b q + r, r of b's sign and smaller */
        nvr_number rest = nvr_of_wholes(NVR_MOD, a, b);
        CHECK((uint64_t)b * (uint64_t)r.whole + (uint64_t)rest.whole == (uint64_t)a);
        CHECK(!rest.whole || (rest.whole < 0) == (b < 0));
        CHECK(b < 0 ? rest.whole > b : rest.whole < b);
      }
      r = nvr_of_wholes(NVR_BCAST, a, b);
      CHECK(r.known == (a == b || a == 1 || b == 1) && (!r.known || r.whole == (a == 1 ? b : a)));
      CHECK(nvr_of_wholes(NVR_MIN, a, b).whole == (a < b ? a : b));
      CHECK(nvr_of_wholes(NVR_MAX, a, b).whole == (a < b ? b : a));
    }
  for (i = 0; i < REALS; i++) {
    float f = (float)reals[i];
    memcpy(&bits, &f, sizeof bits);
    CHECK(nvr_round_double(8, 23, reals[i]) == bits);
  }
  CHECK(nvr_round_double(5, 10, 65519.9) == 0x7bff && nvr_round_double(5, 10, 65520.0) == 0x7c00);
  CHECK(nvr_round_double(5, 10, 2.9e-8) == 0 && nvr_round_double(5, 10, 3e-8) == 1);
  CHECK(nvr_round_double(5, 10, 1) == 0x3c00 && nvr_round_double(5, 10, 6.1e-5) == 0x3ff);
  CHECK(nvr_round_double(8, 7, 1.0 / 3) == 0x3eab && nvr_round_double(8, 7, -1e300) == 0xff80);
  CHECK(nvr_round_double(8, 23, NAN) << 1 > 0xff000000 && nvr_round_double(5, 10, -INFINITY) == 0xfc00);
  for (i = 0; i < 200000; i++) { /* integers and quotients of all lengths */
    float f;
    s = s * UINT64_C(6364136223846793005) + 1442695040888963407;
    f = (float)((int64_t)s >> i % 64);
    memcpy(&bits, &f, sizeof bits);
    CHECK(nvr_round(8, 23, (int64_t)s < 0, (int64_t)s >> i % 64 < 0 ? 0 - (uint64_t)((int64_t)s >> i % 64)
                                                                    : (uint64_t)((int64_t)s >> i % 64), 0) == bits);
    n = (uint32_t)(s >> 34) >> i % 30;
    if (!n) continue;
    f = (float)(1.0L / n); /* 64 bits hold the quotient apart from every middle: n has 30 at most */
    CHECK(nvr_reciprocal(n).real == (double)f);
  }
  CHECK(!nvr_reciprocal(0).known && !nvr_reciprocal(((int64_t)1 << 30) + 1).known && nvr_reciprocal(4).real == 0.25);
  CHECK(nvr_power(3, 5) == 243 && nvr_power(2, -3) == 0.125 && nvr_power(7, 0) == 1);
  CHECK(!nvr_of_reals(NVR_OVER, 1, 0, 0).known && !nvr_of_reals(NVR_ROOT, -1, 0, 0).known);
  CHECK(!nvr_of_reals(NVR_POWER, 0, 0, -1).known && nvr_of_reals(NVR_ROOT, 2, 0, 0).real == sqrt(2));
  {
    static const struct {
      nuvec_dtype dtype;
      int64_t least, most;
    } rows[] = {{NUVEC_INT8, -128, 127}, {NUVEC_UINT8, 0, 255}, {NUVEC_INT32, INT32_MIN, INT32_MAX},
                {NUVEC_UINT32, 0, UINT32_MAX}, {NUVEC_UINT64, 0, INT64_MAX}, {NUVEC_INT64, INT64_MIN, INT64_MAX}};
    for (i = 0; i < sizeof rows / sizeof *rows; i++) {
      nvr_field f = {0, 0, NUVEC_BOOL};
      nvr_number least = nvr_whole(rows[i].least), most = nvr_whole(rows[i].most), over, under;
      uint64_t word = 0;
      f.dtype = rows[i].dtype;
      over = nvr_of_wholes(NVR_ADD, most.whole, 1);
      under = nvr_of_wholes(NVR_ADD, least.whole, -1);
      CHECK(nvr_set_word(&f, &least, &word) && nvr_set_word(&f, &most, &word) && word == (uint64_t)most.whole);
      CHECK(!nvr_set_word(&f, &over, &word) && !nvr_set_word(&f, &under, &word));
    }
  }
}

static void open_wrong(void) {
  nvr_context *c = make_of(&open_tape);
  nuvec_array in[2], out[2];
  int64_t shape[2], other[2];
  memset(out, 0, sizeof out);
#define AT_SIZES(b, n, status, words) \
  open_inputs_of(in, shape, b, n);    \
  EXPECT(c, open_call(c, 0, in, out), status, words)
  AT_SIZES(1001, 3, NUVEC_GUARD, "open: size B is 1001, above its max 1000 (axis 0 of input x)");
  AT_SIZES(-1, 3, NUVEC_SIGNATURE, "input x is float32[B, N], got float32[-1, 3]");
  AT_SIZES(1, 201, NUVEC_GUARD, "size N is 201, above its max 200 (axis 1 of input x)");
  AT_SIZES(41, 98, NUVEC_GUARD, "open: B*N is 4018, above 4000 (open.y)");
  AT_SIZES(950, 1, NUVEC_GUARD, "open: 2^64*(B//900) has no value");
  AT_SIZES(5, 0, NUVEC_GUARD, "a number that follows from the sizes has no value|float32|open_k1_plus|open.y");
  AT_SIZES(1001, 100, NUVEC_SIGNATURE, "none of 3 signatures fits; in the nearest, number 1, size B is 1001");
  open_inputs_of(in, shape, 3, 5);
  other[0] = 6;
  in[1].shape = other;
  EXPECT(c, open_call(c, 0, in, out), NUVEC_SHAPE,
         "open: input w: axis 0 has size 6, but N is 5 (axis 1 of input x)");
  in[1].rank = 0;
  EXPECT(c, open_call(c, 0, in, out), NUVEC_SIGNATURE, "number 2, input w is float32[N], got float32[]");
  open_inputs_of(in, shape, 3, 100);
  in[1].dtype = NUVEC_INT32;
  EXPECT(c, open_call(c, 0, in, out), NUVEC_SIGNATURE, "number 1, input w is float32[100], got int32[100]");
  open_inputs_of(in, shape, 3, 5);
  in[0].bytes = 59;
  EXPECT(c, open_call(c, 0, in, out), NUVEC_SHORT_BUFFER, "input x needs 60 bytes");
  open_inputs_of(in, shape, 3, 5);
  other[0] = 5, other[1] = 3;
  out[0].shape = other, out[0].rank = 2, out[0].dtype = NUVEC_FLOAT32;
  EXPECT(c, open_call(c, 0, in, out), NUVEC_SHAPE, "output y is float32[3, 5], but its array says float32[5, 3]");
  memset(out, 0, sizeof out);
  in[0].strides = other; /* 5, 3 */
  EXPECT(c, open_call(c, 0, in, out), NUVEC_STRIDES, "input x|got 3 instead of 1 for axis 1");
  EXPECT(c, nvr_shapes(nvr_default(c, 0), arrays(in, 2, out, 2), NULL), NUVEC_STRIDES, "axis 1");
  open_inputs_of(in, shape, 41, 98);
  EXPECT(c, nvr_shapes(nvr_default(c, 0), arrays(in, 2, out, 2), NULL), NUVEC_GUARD, "above 4000");
  CHECK(!out[0].shape && !out[0].buffer);
  /* packed, with and without the number of the signature */
  open_inputs_of(in, shape, 4, 100);
  CHECK(nvr_call(nvr_default(c, 0), nvr_packed(2, in, 2, out, 2), NULL) == NUVEC_OK && open_right(out, 4, 100, 0.02f));
  CHECK(nvr_call(nvr_default(c, 0), nvr_packed(1, in, 2, out, 2), NULL) == NUVEC_OK && open_right(out, 4, 100, 0.04f));
  CHECK(nvr_call(nvr_default(c, 0), nvr_packed(-1, in, 2, out, 2), NULL) == NUVEC_OK && open_right(out, 4, 100, 1));
  open_inputs_of(in, shape, 4, 98);
  EXPECT(c, nvr_call(nvr_default(c, 0), nvr_packed(1, in, 2, out, 2), NULL), NUVEC_SHAPE, "float32[B, 100], got");
  nvr_release(&out[0]), nvr_release(&out[1]);
  memset(out, 0, sizeof out);
  open_inputs_of(in, shape, 41, 98);
  EXPECT(c, nvr_call(nvr_default(c, 0), nvr_packed(2, in, 2, out, 2), NULL), NUVEC_GUARD, "B*N is 4018");
  CHECK(nvr_destroy(c) == NUVEC_OK);
}

/* Least recently used out first, exact counters, memory that doesn't grow. */
static void open_cache(void) {
  enum { KEPT = 3, SIZES = 7, CALLS = 500 };
  nvr_context *c = make_of(&open_tape);
  nvr_function *f = nvr_default(c, 0);
  nuvec_array in[2], out[2];
  nuvec_cache n;
  int64_t shape[2];
  size_t capacity = KEPT, k, lru[KEPT] = {99, 99, 99}, hits = 0, misses = 0, evictions = 0, bytes = 0;
  unsigned long live = 0;
  uint64_t s = 7;
  int i, j;
  CHECK(nvr_cache(f, &capacity, NULL) == NUVEC_OK);
  for (i = 0; i < CALLS; i++) {
    s = s * UINT64_C(6364136223846793005) + 1442695040888963407;
    k = (size_t)(s >> 60) % SIZES;
    for (j = 0; j < KEPT - 1 && lru[j] != k;) j++;
    if (lru[j] == k) hits++;
    else misses++, evictions += lru[j] != 99;
    for (; j > 0; j--) lru[j] = lru[j - 1];
    lru[0] = k;
    open_inputs_of(in, shape, (int64_t)k + 1, 9);
    memset(out, 0, sizeof out);
    CHECK(open_call(c, 0, in, out) == NUVEC_OK && open_right(out, (int64_t)k + 1, 9, (float)(2.0 / 9)));
    free_outputs(out);
    CHECK(nvr_cache(f, NULL, &n) == NUVEC_OK && n.hits == hits && n.misses == misses && n.evictions == evictions);
    if (i == CALLS / 2) live = hm_get_stats().live, bytes = n.bytes;
  }
  CHECK(n.replays == KEPT && hits > 50 && evictions > 50 && hm_get_stats().live == live);
  for (bytes = 0, j = 0; j < KEPT; j++) /* scratch, copies of x and w */
    bytes += 256 + (((lru[j] + 1) * 36 + 255) & ~(size_t)255) + (lru[j] + 1) * 36 + 36;
  CHECK(n.bytes == bytes);
  capacity = 0;
  CHECK(nvr_cache(f, &capacity, &n) == NUVEC_OK && !n.replays && !n.bytes);
  CHECK(nvr_destroy(c) == NUVEC_OK);
}

/* Calls that don't wait, the app's command buffer, bound inputs. */
static void open_ways(void) {
  enum { N = 6 };
  nvr_context *c = make_of(&open_tape);
  nvr_function *f = NULL;
  nuvec_array in[2], out[N][2];
  int64_t shape[2];
  bound_inputs bound;
  told t[N];
  void *pool;
  id command;
  int i;
  for (i = 0; i < N; i++) { /* all in flight at once, at sizes of their own, more than are kept */
    size_t capacity = 2;
    CHECK(nvr_cache(nvr_default(c, 0), &capacity, NULL) == NUVEC_OK);
    open_inputs_of(in, shape, i, 9);
    memset(out[i], 0, sizeof out[i]);
    told_init(&t[i], c);
    CHECK(nvr_call_async(nvr_default(c, 0), arrays(in, 2, out[i], 2), tell, &t[i]) == NUVEC_OK);
    shape[0] = shape[1] = 77;
  }
  for (i = 0; i < N; i++) {
    wait_for(&t[i], 1);
    CHECK(t[i].status == NUVEC_OK && open_right(out[i], i, 9, (float)(2.0 / 9)));
    free_outputs(out[i]);
  }
  CHECK(nvr_wait(c) == NUVEC_OK);
  pool = objc_autoreleasePoolPush();
  command = nvr_get(c, c->queue, NVR_S_commandBuffer);
  nvr_set(c, command, NVR_S_setLabel, nvr_string(c, "the app's"));
  for (i = 0; i < N; i++) {
    open_inputs_of(in, shape, 2 * i + 1, 100);
    memset(out[i], 0, sizeof out[i]);
    CHECK(nvr_encode(nvr_default(c, 0), command, arrays(in, 2, out[i], 2)) == NUVEC_OK);
    CHECK(out[i][0].shape[0] == 2 * i + 1);
  }
  nvr_do(c, command, NVR_S_commit);
  nvr_do(c, command, NVR_S_waitUntilCompleted);
  objc_autoreleasePoolPop(pool);
  CHECK(nvr_wait(c) == NUVEC_OK);
  for (i = 0; i < N; i++) {
    CHECK(open_right(out[i], 2 * i + 1, 100, 0.04f));
    free_outputs(out[i]);
  }
  open_inputs_of(in, shape, 3, 5);
  bound.w = in[1];
  CHECK(nvr_function_create(c, 1, NULL, &bound, sizeof bound, &f) == NUVEC_OK);
  for (i = 0; i < N; i++) {
    open_inputs_of(in, shape, i, 5);
    memset(out[i], 0, sizeof out[i]);
    CHECK(nvr_call(f, arrays(in, 1, out[i], 2), NULL) == NUVEC_OK && open_right(out[i], i, 5, 0.4f));
    free_outputs(out[i]);
  }
  open_inputs_of(in, shape, 3, 6);
  EXPECT(c, nvr_call(f, arrays(in, 1, out[0], 2), NULL), NUVEC_SHAPE, "held: input w: axis 0 has size 5, but N is 6");
  CHECK(nvr_function_destroy(f) == NUVEC_OK);
  CHECK(nvr_destroy(c) == NUVEC_OK);
}

static void *open_caller(void *context) {
  nvr_context *c = context;
  nuvec_array in[2], out[2];
  int64_t shape[2];
  int i;
  for (i = 0; i < 60; i++) {
    const int64_t *sizes = open_list[i % (OPEN_LIST - 1)];
    shape[0] = sizes[0], shape[1] = sizes[1];
    in[0] = host(open_x, (size_t)(sizes[0] * sizes[1]) * 4, NUVEC_FLOAT32, 2, shape);
    in[1] = host(open_w, (size_t)sizes[1] * 4, NUVEC_FLOAT32, 1, shape + 1);
    memset(out, 0, sizeof out);
    if (open_call(c, 0, in, out) != NUVEC_OK || !open_right(out, sizes[0], sizes[1], open_number(sizes[0], sizes[1])))
      return (void *)1;
    nvr_release(&out[0]), nvr_release(&out[1]);
    shape[0] = 1001;
    if (open_call(c, 0, in, out) == NUVEC_OK || !strstr(nvr_error(c), "B is 1001")) return (void *)2;
  }
  return NULL;
}
static void open_threads(void) {
  nvr_context *c = make_of(&open_tape);
  nuvec_array in[2];
  int64_t shape[2];
  pthread_t t[6];
  int i;
  open_inputs_of(in, shape, 1, 1);
  for (i = 0; i < 6; i++) CHECK(pthread_create(&t[i], NULL, open_caller, c) == 0);
  for (i = 0; i < 6; i++) {
    void *result = NULL;
    pthread_join(t[i], &result);
    CHECK(result == NULL);
  }
  CHECK(nvr_destroy(c) == NUVEC_OK);
}
