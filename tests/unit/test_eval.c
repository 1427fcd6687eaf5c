/* test_eval.c - the evaluator on graphs made by hand: views, reductions against the rule of nuvec-ops(5) written
 * out naively, empty arrays, shared arrays, freeing, alignment; single values in both subnormal modes. What
 * each op gives for which operands is test_vectors.c's. */
#include "ir/eval.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

static nv_ctx *ctx;
static nv_graph *g;

static int setup(void **state) {
  (void)state;
  ctx = nv_ctx_new(NULL);
  nv_dims_init(ctx);
  nv_graph_tables_init(ctx);
  g = nv_graph_new(ctx, nv_intern_z(ctx, "t"));
  return 0;
}
static int teardown(void **state) {
  (void)state;
  nv_ctx_free(ctx);
  return 0;
}

/* ---- building ---- */
#define LIST(...) \
  (const int64_t[]){__VA_ARGS__}, (uint32_t)(sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t))

static nv_shape shape(const int64_t *dims, uint32_t rank) { return nv_shape_of_ints(ctx, dims, rank); }
static nv_value input(nv_dtype d, const int64_t *dims, uint32_t rank) {
  return nv_graph_input(g, nv_intern_z(ctx, "x"), d, shape(dims, rank), NV_NOWHERE);
}
static nv_value node(nv_op op, const nv_value *v, uint32_t n, nv_attr a, nv_dtype d, nv_shape s) {
  return nv_graph_add(g, op, v, n, a, d, s, NV_NONE);
}
static nv_value unary(nv_op op, nv_value v) {
  return node(op, &v, 1, NV_NO_ATTR, nv_dtype_of(g, v), nv_shape_at(g, v));
}
static nv_value binary(nv_op op, nv_value a, nv_value b) {
  return node(op, (const nv_value[]){a, b}, 2, NV_NO_ATTR, nv_dtype_of(g, a), nv_shape_at(g, a));
}
static nv_value view(nv_op op, nv_value v, const int64_t *attr, uint32_t nattr, const int64_t *dims,
                     uint32_t rank) {
  return node(op, &v, 1, nv_attr_make(ctx, attr, nattr), nv_dtype_of(g, v), shape(dims, rank));
}
static void output(nv_value v) { nv_graph_output(g, v, nv_intern_z(ctx, "y"), NV_NOWHERE); }

static nuvecc_tensor tensor(void *data, size_t bytes) {
  return (nuvecc_tensor){.data = data, .bytes = bytes};
}
#define TENSOR(array) tensor(array, sizeof(array))

/* ---- views ---- */

static void transposes(void **state) {
  (void)state;
  int32_t x[24], y[24], want[24], z[24];
  for (int i = 0; i < 24; i++) x[i] = i;
  const nv_value v = input(NV_I32, LIST(2, 3, 4));
  output(view(NV_OP_transpose, v, LIST(2, 0, 1), LIST(4, 2, 3)));
  output(view(NV_OP_transpose, v, LIST(0, 1, 2), LIST(2, 3, 4)));
  nv_eval(g, &(nuvecc_tensor){.data = x, .bytes = sizeof x}, (nuvecc_tensor[]){TENSOR(y), TENSOR(z)}, false);
  for (int a = 0, k = 0; a < 4; a++)
    for (int b = 0; b < 2; b++)
      for (int c = 0; c < 3; c++) want[k++] = x[b * 12 + c * 4 + a];
  assert_memory_equal(y, want, sizeof y);
  assert_memory_equal(z, x, sizeof x);
}

static void slices(void **state) {
  (void)state;
  int32_t x[24], y[6], z[1] = {7};
  for (int i = 0; i < 24; i++) x[i] = i;
  const nv_value v = input(NV_I32, LIST(4, 6));
  output(view(NV_OP_slice, v, LIST(3, 1, -2, 2), LIST(2, 3)));
  output(view(NV_OP_slice, v, LIST(0, 5, 1, 1), LIST(0, 1)));
  nv_eval(g, &(nuvecc_tensor){.data = x, .bytes = sizeof x}, (nuvecc_tensor[]){TENSOR(y), {.data = z}}, false);
  const int32_t want[6] = {19, 21, 23, 7, 9, 11};
  assert_memory_equal(y, want, sizeof y);
  assert_int_equal(z[0], 7);
}

static void broadcasts(void **state) {
  (void)state;
  uint8_t x[6] = {1, 2, 3, 4, 5, 6}, y[36];
  const nv_value v = input(NV_U8, LIST(2, 1, 3));
  output(view(NV_OP_broadcast_to, v, NULL, 0, LIST(3, 2, 2, 3)));
  nv_eval(g, &(nuvecc_tensor){.data = x, .bytes = sizeof x}, &(nuvecc_tensor){.data = y, .bytes = sizeof y},
          false);
  for (int a = 0, k = 0; a < 3; a++)
    for (int b = 0; b < 2; b++)
      for (int c = 0; c < 2; c++)
        for (int d = 0; d < 3; d++) assert_int_equal(y[k++], x[b * 3 + d]);
}

/* A constant spread out; a double-width one moves its 8 bytes. */
static void constants(void **state) {
  (void)state;
  float y[5];
  uint64_t z[3];
  nv_value c = nv_graph_const(g, NV_F32, 0x3fc00000, NV_NONE),
           w = nv_graph_const(g, NV_U64, UINT64_MAX - 1, NV_NONE);
  output(view(NV_OP_broadcast_to, c, NULL, 0, LIST(5)));
  output(view(NV_OP_broadcast_to, w, NULL, 0, LIST(3)));
  nv_eval(g, NULL, (nuvecc_tensor[]){TENSOR(y), TENSOR(z)}, false);
  for (int k = 0; k < 5; k++) assert_true(y[k] == 1.5f);
  for (int k = 0; k < 3; k++) assert_true(z[k] == UINT64_MAX - 1);
}

/* Views of views of one array, used at different times; an output that is an input; a value that nobody
 * uses. */
static void sharing(void **state) {
  (void)state;
  float x[6] = {1, 2, 3, 4, 5, 6}, y[6], z[6], w[6];
  const nv_value v = input(NV_F32, LIST(2, 3));
  const nv_value n = unary(NV_OP_negative, v);
  const nv_value r = view(NV_OP_reshape, n, NULL, 0, LIST(6));
  unary(NV_OP_exp, r);
  const nv_value e = view(NV_OP_expand_dims, r, LIST(0), LIST(1, 6));
  const nv_value s = view(NV_OP_squeeze, e, LIST(0), LIST(6));
  const nv_value sum = binary(NV_OP_add, s, r);
  output(sum);
  output(view(NV_OP_reshape, r, NULL, 0, LIST(3, 2)));
  output(v);
  const size_t before = ctx->memory;
  nv_eval(g, &(nuvecc_tensor){.data = x, .bytes = sizeof x},
          (nuvecc_tensor[]){TENSOR(y), TENSOR(z), TENSOR(w)}, false);
  for (int k = 0; k < 6; k++) {
    assert_true(y[k] == -2 * x[k]);
    assert_true(z[k] == -x[k]);
    assert_true(w[k] == x[k]);
  }
  assert_true(ctx->memory == before); /* all of it given back */
}

/* A long chain holds two arrays at a time. */
static void frees(void **state) {
  (void)state;
  enum { N = 10000, LENGTH = 1000 };
  float *x = calloc(N, sizeof *x), *y = calloc(N, sizeof *y);
  nv_value v = input(NV_F32, LIST(N));
  const nv_value one =
      view(NV_OP_broadcast_to, nv_graph_const(g, NV_F32, 0x3f800000, NV_NONE), NULL, 0, LIST(N));
  for (int k = 0; k < LENGTH; k++) v = binary(NV_OP_add, v, one);
  output(v);
  ctx->memory_limit = ctx->memory + 5 * N * sizeof(float) + LENGTH * 100;
  nv_eval(g, &(nuvecc_tensor){.data = x, .bytes = N * sizeof *x},
          &(nuvecc_tensor){.data = y, .bytes = N * sizeof *y}, false);
  for (int k = 0; k < N; k++) assert_true(y[k] == (float)LENGTH);
  free(x);
  free(y);
}

static void memory_runs_out(void **state) {
  (void)state;
  float x[1] = {0};
  output(view(NV_OP_broadcast_to, input(NV_F32, LIST(1)), NULL, 0, LIST(1 << 20)));
  ctx->memory_limit = ctx->memory + (1 << 20);
  if (setjmp(ctx->door)) {
    assert_int_equal(ctx->raised, NUVECC_IO);
    return;
  }
  ctx->door_open = true;
  nv_eval(g, &(nuvecc_tensor){.data = x, .bytes = sizeof x}, &(nuvecc_tensor){.data = x, .bytes = 4 << 20},
          false);
  fail_msg("4 MiB were found under a limit of 1 MiB");
}

static void misaligned_input(void **state) {
  (void)state;
  const float values[3] = {1.5f, -2.0f, 8.0f};
  char room[sizeof values + 1];
  float y[3];
  memcpy(room + 1, values, sizeof values);
  output(unary(NV_OP_negative, input(NV_F32, LIST(3))));
  nv_eval(g, &(nuvecc_tensor){.data = room + 1, .bytes = sizeof values},
          &(nuvecc_tensor){.data = y, .bytes = sizeof y}, false);
  for (int k = 0; k < 3; k++) assert_true(y[k] == -values[k]);
}

static void short_input(void **state) {
  (void)state;
  float x[2] = {0};
  output(unary(NV_OP_negative, input(NV_F32, LIST(3))));
  if (setjmp(ctx->door)) {
    assert_int_equal(ctx->raised, NUVECC_INTERNAL);
    return;
  }
  ctx->door_open = true;
  nv_eval(g, &(nuvecc_tensor){.data = x, .bytes = sizeof x}, &(nuvecc_tensor){.data = x, .bytes = sizeof x},
          false);
  fail_msg("an input of 2 floats was taken for 3");
}

static void empty(void **state) {
  (void)state;
  float zeros[2] = {7, 7}, product = 7, average = 7;
  int32_t count = 7;
  uint8_t any = 7, all = 7;
  const nv_value v = input(NV_F32, LIST(2, 0)), b = input(NV_BOOL, LIST(0)), i = input(NV_I32, LIST(0));
  const nv_value n = unary(NV_OP_exp, v);
  output(view(NV_OP_transpose, n, LIST(1, 0), LIST(0, 2)));
  output(view(NV_OP_sum, n, LIST(0, 1), LIST(2)));
  output(view(NV_OP_prod, n, LIST(0, 0, 1), NULL, 0));
  output(view(NV_OP_mean, n, LIST(0, 0, 1), NULL, 0));
  output(view(NV_OP_sum, i, LIST(0, 0), NULL, 0));
  output(view(NV_OP_any, b, LIST(0, 0), NULL, 0));
  output(view(NV_OP_all, b, LIST(0, 0), NULL, 0));
  output(view(NV_OP_max, n, LIST(0, 0), LIST(0))); /* no results: nothing is asked of nothing */
  nuvecc_tensor in[3] = {{.bytes = 0}, {.bytes = 0}, {.bytes = 0}};
  nuvecc_tensor out[8] = {tensor(NULL, 0),   TENSOR(zeros),   tensor(&product, 4), tensor(&average, 4),
                          tensor(&count, 4), tensor(&any, 1), tensor(&all, 1),     tensor(NULL, 0)};
  nv_eval(g, in, out, false);
  assert_true(zeros[0] == 0 && zeros[1] == 0 && !signbit(zeros[0]));
  assert_true(product == 1 && isnan(average));
  assert_int_equal(count, 0);
  assert_int_equal(any, 0);
  assert_int_equal(all, 1);
}

/* ---- reductions ---- */

static float joined(nv_op op, float a, float b) {
  if (op == NV_OP_max) return a > b || isnan(a) ? a : b;
  if (op == NV_OP_min) return a < b || isnan(a) ? a : b;
  volatile float r = op == NV_OP_prod ? a * b : a + b;
  return r;
}

/* The rule of nuvec-ops(5), word for word: "have" says what is there. */
static float block(nv_op op, const float *x, size_t n) {
  float c[32][4] = {{0}};
  bool have[32][4] = {{false}};
  for (size_t e = 0; e < n; e++) {
    const size_t t = (e / 4) % 32, k = e % 4;
    c[t][k] = have[t][k] ? joined(op, c[t][k], x[e]) : x[e];
    have[t][k] = true;
  }
#define JOIN(a, ha, b, hb)  \
  do {                      \
    if (ha && hb)           \
      a = joined(op, a, b); \
    else if (hb)            \
      a = b;                \
    ha = ha || hb;          \
  } while (0)
  for (int t = 0; t < 32; t++) {
    JOIN(c[t][0], have[t][0], c[t][2], have[t][2]);
    JOIN(c[t][1], have[t][1], c[t][3], have[t][3]);
    JOIN(c[t][0], have[t][0], c[t][1], have[t][1]);
  }
  for (int s = 16; s; s /= 2)
    for (int t = 0; t < s; t++) JOIN(c[t][0], have[t][0], c[t + s][0], have[t + s][0]);
  return c[0][0];
}

static float rule(nv_op op, const float *x, size_t n) {
  float *level = malloc(n * sizeof *level);
  memcpy(level, x, n * sizeof *x);
  do {
    size_t m = 0;
    for (size_t e = 0; e < n; e += 1024) level[m++] = block(op, level + e, n - e < 1024 ? n - e : 1024);
    n = m;
  } while (n > 1);
  const float r = level[0];
  free(level);
  return r;
}

static void reduction_order(void **state) {
  (void)state;
  static const int64_t lengths[] = {1,   2,   3,   4,    5,    7,    31,   127,  128,    129,
                                    130, 131, 500, 1023, 1024, 1025, 1030, 4096, 100003, 1024 * 1024 + 17};
  uint32_t s = 1;
  for (size_t k = 0; k < sizeof lengths / sizeof *lengths; k++) {
    const size_t n = (size_t)lengths[k];
    float *x = malloc(n * sizeof *x);
    for (size_t i = 0; i < n; i++) {
      s = 1664525 * s + 1013904223;
      x[i] = ldexpf((float)(s >> 8) + 1, (int)(s % 23) - 34) * (s & 64 ? 1.0f : -1.0f);
      if (s % 11 == 0) x[i] = s & 128 ? 0.0f : -0.0f;
    }
    static const nv_op ops[] = {NV_OP_sum, NV_OP_prod, NV_OP_max, NV_OP_min};
    for (size_t o = 0; o < 4; o++) {
      teardown(NULL);
      setup(NULL);
      float y;
      output(view(ops[o], input(NV_F32, &lengths[k], 1), LIST(0, 0), NULL, 0));
      nv_eval(g, &(nuvecc_tensor){.data = x, .bytes = n * sizeof *x},
              &(nuvecc_tensor){.data = &y, .bytes = sizeof y}, false);
      const float want = rule(ops[o], x, n);
      assert_memory_equal(&y, &want, sizeof y);
    }
    free(x);
  }
}

/* Any axes: the reduced ones in row-major order, as a transposed copy would have them last. */
static void reduced_axes(void **state) {
  (void)state;
  float x[2 * 300 * 3 * 5], y[2 * 3], row[300 * 5], mean[2 * 300 * 5];
  for (size_t i = 0; i < sizeof x / sizeof *x; i++) x[i] = 1.0f / (float)(i + 1);
  const nv_value v = input(NV_F32, LIST(2, 300, 3, 5));
  output(view(NV_OP_sum, v, LIST(0, 1, 3), LIST(2, 3)));
  output(view(NV_OP_mean, v, LIST(1, 2), LIST(2, 300, 1, 5)));
  nv_eval(g, &(nuvecc_tensor){.data = x, .bytes = sizeof x}, (nuvecc_tensor[]){TENSOR(y), TENSOR(mean)},
          false);
  for (size_t a = 0; a < 2; a++)
    for (size_t c = 0; c < 3; c++) {
      for (size_t b = 0; b < 300; b++)
        for (size_t d = 0; d < 5; d++) row[b * 5 + d] = x[((a * 300 + b) * 3 + c) * 5 + d];
      const float want = rule(NV_OP_sum, row, 1500);
      assert_memory_equal(&y[a * 3 + c], &want, sizeof want);
    }
  for (size_t a = 0; a < 600; a++)
    for (size_t d = 0; d < 5; d++) {
      for (size_t c = 0; c < 3; c++) row[c] = x[(a * 3 + c) * 5 + d];
      const float want = rule(NV_OP_sum, row, 3) * (1.0f / 3.0f);
      assert_memory_equal(&mean[a * 5 + d], &want, sizeof want);
    }
}

static void integer_reductions(void **state) {
  (void)state;
  int8_t x[2000];
  int32_t sum, product;
  int8_t largest;
  uint8_t flags[2000] = {0};
  int32_t trues;
  for (int i = 0; i < 2000; i++) x[i] = (int8_t)(i % 256), flags[i] = i % 3 == 0;
  x[1999] = 127;
  const nv_value v = input(NV_I8, LIST(2000)), f = input(NV_BOOL, LIST(2000));
  output(node(NV_OP_sum, &v, 1, nv_attr_make(ctx, LIST(0, 0)), NV_I32, shape(NULL, 0)));
  output(node(NV_OP_prod, &v, 1, nv_attr_make(ctx, LIST(0, 0)), NV_I32, shape(NULL, 0)));
  output(view(NV_OP_max, v, LIST(0, 0), NULL, 0));
  output(node(NV_OP_sum, &f, 1, nv_attr_make(ctx, LIST(0, 0)), NV_I32, shape(NULL, 0)));
  nuvecc_tensor out[4] = {tensor(&sum, 4), tensor(&product, 4), tensor(&largest, 1), tensor(&trues, 4)};
  nv_eval(g, (nuvecc_tensor[]){TENSOR(x), TENSOR(flags)}, out, false);
  int32_t want = 0;
  for (int i = 0; i < 2000; i++) want += x[i];
  assert_int_equal(sum, want);
  assert_int_equal(product, 0);
  assert_int_equal(largest, 127);
  assert_int_equal(trues, 667);
}

static void reciprocals(void **state) {
  (void)state;
  assert_true(nv_reciprocal_of(1) == 1 && nv_reciprocal_of(3) == 1.0f / 3.0f &&
              nv_reciprocal_of(1 << 20) == 0x1p-20f);
  for (int64_t n = 1; n < 1 << 24; n += 977) assert_true(nv_reciprocal_of(n) == 1.0f / (float)n);
  /* 2^54 - 1 = 943201287 * 19099209 and 2^55 + 1 = 1614112203 * 22321123: 1/n lies so near the middle of two
   * floats that the double is the middle itself, and rounding that goes the wrong way */
  assert_true(nv_reciprocal_of(943201287) == 0x1.236e4ap-30f);
  assert_true(nv_reciprocal_of(1614112203) == 0x1.5497e2p-31f);
}

/* ---- single values ---- */

static uint64_t scalar(nv_op op, nv_dtype d, nv_dtype result, uint64_t a, uint64_t b, bool flush) {
  return nv_eval_scalar(op, (const nv_dtype[]){d, d}, result, (const uint64_t[]){a, b}, 2, flush);
}

static void subnormals(void **state) {
  (void)state;
  const uint64_t tiny = 1, one = 0x3f800000, smallest = 0x00800000, below_one = 0x3f7fffff,
                 minus = 0x80000000;
  assert_int_equal(scalar(NV_OP_multiply, NV_F32, NV_F32, tiny, one, false), tiny);
  assert_int_equal(scalar(NV_OP_multiply, NV_F32, NV_F32, tiny, one, true), 0);
  assert_int_equal(scalar(NV_OP_multiply, NV_F32, NV_F32, tiny | minus, one, true), minus);
  assert_int_equal(scalar(NV_OP_add, NV_F32, NV_F32, tiny, tiny, false), 2);
  assert_int_equal(scalar(NV_OP_subtract, NV_F32, NV_F32, smallest + 1, smallest, false), 1);
  assert_int_equal(scalar(NV_OP_subtract, NV_F32, NV_F32, smallest + 1, smallest, true), 0);
  assert_int_equal(scalar(NV_OP_equal, NV_F32, NV_BOOL, tiny, 0, false), 0);
  assert_int_equal(scalar(NV_OP_equal, NV_F32, NV_BOOL, tiny, 0, true), 1);
  assert_int_equal(scalar(NV_OP_maximum, NV_F32, NV_F32, 0, tiny, true), tiny); /* picked, not computed */
  assert_int_equal(scalar(NV_OP_negative, NV_F32, NV_F32, tiny, 0, true), tiny | minus);
  assert_int_equal(scalar(NV_OP_add, NV_BF16, NV_BF16, 1, 0, true), 0);
  assert_int_equal(scalar(NV_OP_add, NV_BF16, NV_BF16, 1, 0, false), 1);
  assert_int_equal(scalar(NV_OP_add, NV_F16, NV_F16, 1, 0, true), 1); /* float16 keeps its own */
  /* 2^-126 - 2^-150: IEEE rounds it up to the smallest normal; the processor decides before or after
   * rounding */
  assert_int_equal(scalar(NV_OP_multiply, NV_F32, NV_F32, below_one, smallest, false), smallest);
  assert_int_equal(scalar(NV_OP_multiply, NV_F32, NV_F32, below_one, smallest, true), 0);
  const nv_dtype f = NV_F32;
  assert_int_equal(nv_eval_scalar(NV_OP_astype, &f, NV_BOOL, &tiny, 1, true), 1);
}

static void conversions(void **state) {
  (void)state;
  /* astype of the evaluator and nv_convert are two roads to one meaning */
  static const uint32_t patterns[] = {0,          0x80000000, 1,          0x3f800000, 0xbf800000, 0x3fffffff,
                                      0x42c80000, 0x437f8000, 0x477fff00, 0x47800000, 0x4effffff, 0x4f000000,
                                      0x4f7fffff, 0x4f800000, 0x5effffff, 0x5f000000, 0x5f7fffff, 0x5f800000,
                                      0xc3008000, 0xcf000000, 0xcf000001, 0xdf000000, 0xdf000001, 0x7f800000,
                                      0xff800000, 0x7fc00000, 0x7f7fffff, 0x33800000, 0x387fe000};
  for (int from = 0; from < NV_C64; from++)
    for (int to = 0; to < NV_C64; to++)
      for (size_t k = 0; k < sizeof patterns / sizeof *patterns; k++) {
        const nv_dtype d = (nv_dtype)from;
        uint64_t bits = patterns[k] * UINT64_C(0x9e3779b1) ^ patterns[k];
        if (d == NV_BOOL)
          bits &= 1;
        else if (d == NV_F32)
          bits = patterns[k];
        else if (nv_dtype_size[d] < 8)
          bits &= (UINT64_C(1) << 8 * nv_dtype_size[d]) - 1;
        const uint64_t got = nv_eval_scalar(NV_OP_astype, &d, (nv_dtype)to, &bits, 1, false);
        const uint64_t want = nv_convert(d, (nv_dtype)to, bits, false);
        const bool nan = nv_is((nv_dtype)to, NV_BITS_FLOAT) && isnan(nv_bits_to_f32((nv_dtype)to, want));
        if (nan ? !isnan(nv_bits_to_f32((nv_dtype)to, got)) : got != want)
          fail_msg("%s %llx to %s: %llx, nv_convert says %llx", nv_dtype_name[from], (unsigned long long)bits,
                   nv_dtype_name[to], (unsigned long long)got, (unsigned long long)want);
      }
}

static void operations(void **state) {
  (void)state;
  assert_int_equal(scalar(NV_OP_add, NV_I32, NV_I32, 0x7fffffff, 1, false), 0x80000000);
  assert_int_equal(scalar(NV_OP_multiply, NV_I64, NV_I64, UINT64_C(1) << 63, UINT64_MAX, false), UINT64_C(1)
                                                                                                     << 63);
  assert_int_equal(scalar(NV_OP_abs, NV_I8, NV_I8, 0x80, 0, false), 0x80);
  assert_int_equal(scalar(NV_OP_less, NV_I16, NV_BOOL, 0xffff, 0, false), 1);
  assert_int_equal(scalar(NV_OP_less, NV_U16, NV_BOOL, 0xffff, 0, false), 0);
  assert_int_equal(scalar(NV_OP_maximum, NV_F32, NV_F32, 0x80000000, 0, false),
                   0); /* of equal zeros the second */
  assert_int_equal(scalar(NV_OP_logaddexp, NV_F32, NV_F32, 0x80000000, 0xff800000, false), 0x80000000);
  assert_int_equal(scalar(NV_OP_logaddexp, NV_F32, NV_F32, 0xff800000, 0xff800000, false), 0xff800000);
  assert_int_equal(scalar(NV_OP_erf, NV_F32, NV_F32, 0xff800000, 0, false), 0xbf800000);
  const nv_dtype select[3] = {NV_BOOL, NV_F32, NV_F32};
  const uint64_t bits[3] = {1, 0x7f800001, 0}; /* a signalling NaN moves as it is */
  assert_int_equal(nv_eval_scalar(NV_OP_where, select, NV_F32, bits, 3, true), 0x7f800001);
}

int main(void) {
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
  const struct CMUnitTest tests[] = {
      TEST(transposes),  TEST(slices),     TEST(broadcasts),      TEST(constants),        TEST(sharing),
      TEST(frees),       TEST(memory_runs_out), TEST(misaligned_input), TEST(short_input),
      TEST(empty),       TEST(reduction_order), TEST(reduced_axes),     TEST(integer_reductions),
      TEST(reciprocals), TEST(subnormals),      TEST(conversions),      TEST(operations)};
  return cmocka_run_group_tests_name("test_eval", tests, NULL, NULL);
}
