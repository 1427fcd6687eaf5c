/* sizes.c - calls the entries of sizes.yaml at many sizes: values, shapes asked for beforehand, refusals, the cache,
 * states. C99. */
#include "sizes.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failures;
static void check(int ok, const char *what, int line) {
  if (ok) return;
  failures++;
  fprintf(stderr, "sizes.c:%d: %s\n", line, what);
}
#define CHECK(x) check((x) != 0, #x, __LINE__)
#define SAYS(call, status, words) \
  check((call) == (status) && strstr(sizes_error(context), words), sizes_error(context), __LINE__)

enum { MOST = 70000 };
static float x_data[MOST], w_data[1000];
static int32_t k_data = 3;
static int64_t x_shape[2], w_shape[1];
static sizes_context *context;

static nuvec_array array(void *host, size_t bytes, nuvec_dtype dtype, int32_t rank, const int64_t *shape) {
  nuvec_array a;
  memset(&a, 0, sizeof a);
  a.host = host;
  a.bytes = bytes;
  a.dtype = dtype;
  a.rank = rank;
  a.shape = shape;
  return a;
}
static void inputs(nuvec_array in[3], int64_t b, int64_t n) {
  x_shape[0] = b;
  x_shape[1] = w_shape[0] = n;
  in[0] = array(x_data, (size_t)(b * n) * 4, NUVEC_FLOAT32, 2, x_shape);
  in[1] = array(w_data, (size_t)n * 4, NUVEC_FLOAT32, 1, w_shape);
  in[2] = array(&k_data, 4, NUVEC_INT32, 0, NULL);
}
/* y exactly; z as a sum of what is exact in any order where N is a power of two. */
static int right(const nuvec_array *y, const nuvec_array *z, int64_t b, int64_t n) {
  const float *p = (const float *)y->host, *q = (const float *)z->host, number = (float)(2.0 / (double)n);
  int64_t i, j;
  if (y->rank != 2 || y->shape[0] != b || y->shape[1] != n || z->rank != 1 || z->shape[0] != b) return 0;
  for (i = 0; i < b; i++) {
    float sum = 0;
    for (j = 0; j < n; j++) {
      if (p[i * n + j] != x_data[i * n + j] * w_data[j] + number) return 0;
      sum += p[i * n + j];
    }
    if (!(n & (n - 1)) && q[i] != sum * 3) return 0;
    if (q[i] - sum * 3 > 1e-3f * (float)n || sum * 3 - q[i] > 1e-3f * (float)n) return 0;
  }
  return 1;
}

static const int64_t list[][2] = {{1, 2},   {2, 2},    {0, 4},     {3, 8},   {4, 100},  {5, 100},
                                  {0, 100}, {7, 6},    {33, 32},   {17, 64}, {65, 128}, {129, 256},
                                  {1, 1000}, {1000, 2}, {70, 1000}, {9, 130}};
enum { LIST = sizeof list / sizeof list[0] };

static void trees(void) {
  sizes_scale_inputs in;
  sizes_scale_outputs out, asked;
  nuvec_array flat[3], results[2], packed[2];
  size_t k, scratch = 0;
  nuvec_cache n;
  for (k = 0; k < LIST; k++) {
    const int64_t b = list[k][0], size = list[k][1];
    inputs(flat, b, size);
    in.x = flat[0], in.w = flat[1], in.k = flat[2];
    memset(&out, 0, sizeof out);
    memset(&asked, 0, sizeof asked);
    memset(results, 0, sizeof results);
    memset(packed, 0, sizeof packed);
    CHECK(sizes_scale_shapes(context, &in, &asked, &scratch) == NUVEC_OK);
    CHECK(asked.y.bytes == (size_t)(b * size) * 4 && asked.z.bytes == (size_t)b * 4 && !asked.y.buffer);
    CHECK(asked.y.shape[0] == b && asked.y.shape[1] == size && asked.z.shape[0] == b);
    CHECK(sizes_scale_call(context, &in, &out) == NUVEC_OK && right(&out.y, &out.z, b, size));
    CHECK(sizes_scale_call(context, &in, &out) == NUVEC_OK && right(&out.y, &out.z, b, size)); /* the same memory */
    CHECK(sizes_flat_call(context, flat, 3, results, 2) == NUVEC_OK && right(&results[0], &results[1], b, size));
    CHECK(sizes_scale_packed(context, 2, flat, 3, packed, 2) == NUVEC_OK && right(&packed[0], &packed[1], b, size));
    CHECK(!b || !memcmp(packed[0].host, out.y.host, out.y.bytes)); /* known or open: the same bits */
    CHECK(!b || !memcmp(packed[1].host, out.z.host, out.z.bytes));
    sizes_release(&out.y), sizes_release(&out.z);
    CHECK(!out.y.shape && !out.y.buffer);
    sizes_release(&results[0]), sizes_release(&results[1]);
    sizes_release(&packed[0]), sizes_release(&packed[1]);
  }
  CHECK(sizes_scale_cache(context, NULL, &n) == NUVEC_OK && n.capacity == 3 && n.replays == 3);
  CHECK(n.hits == LIST && n.misses == 2 * LIST && n.evictions == 2 * LIST - 3);
}

static void refused(void) {
  sizes_scale_inputs in;
  sizes_scale_outputs out;
  nuvec_array flat[3], results[2];
  int64_t other[2];
  memset(&out, 0, sizeof out);
  memset(results, 0, sizeof results);
#define AT(b, n) (inputs(flat, b, n), in.x = flat[0], in.w = flat[1], in.k = flat[2])
  AT(1001, 2);
  SAYS(sizes_scale_call(context, &in, &out), NUVEC_GUARD, "size B is 1001, above its max 1000 (axis 0 of input x)");
  AT(3, 7);
  SAYS(sizes_scale_call(context, &in, &out), NUVEC_GUARD, "N%2 is 1, but 0");
  SAYS(sizes_flat_call(context, flat, 3, results, 2), NUVEC_GUARD, "sizes_flat: N%2 is 1, but 0");
  AT(3, 8);
  other[0] = 6;
  in.w.shape = flat[1].shape = other;
  SAYS(sizes_scale_call(context, &in, &out), NUVEC_SHAPE,
       "input w: axis 0 has size 6, but N is 8 (axis 1 of input x)");
  SAYS(sizes_scale_shapes(context, &in, &out, NULL), NUVEC_SHAPE, "N is 8");
  in.w.rank = 0;
  SAYS(sizes_scale_call(context, &in, &out), NUVEC_SIGNATURE, "number 2, input w is float32[N], got float32[]");
  AT(3, 8);
  in.k.dtype = NUVEC_FLOAT32;
  SAYS(sizes_scale_call(context, &in, &out), NUVEC_SIGNATURE, "input k is int32[], got float32[]");
  AT(3, 8);
  SAYS(sizes_scale_packed(context, 1, flat, 3, results, 2), NUVEC_SHAPE, "float32[B, 100], got float32[3, 8]");
  SAYS(sizes_scale_packed(context, 0, flat, 3, results, 2), NUVEC_SHAPE, "float32[4, 100], got float32[3, 8]");
  AT(3, 0);
  CHECK(sizes_scale_call(context, &in, &out) == NUVEC_GUARD); /* 2 / N has no value */
  CHECK(!out.y.shape && !out.y.buffer);
  AT(3, 8);
  CHECK(sizes_scale_call(context, &in, &out) == NUVEC_OK);
  AT(5, 8);
  SAYS(sizes_scale_call(context, &in, &out), NUVEC_SHAPE,
       "output y is float32[5, 8], but its array says float32[3, 8]");
  sizes_release(&out.y), sizes_release(&out.z);
  CHECK(sizes_scale_call(context, &in, &out) == NUVEC_OK && right(&out.y, &out.z, 5, 8)); /* given back: any size */
  sizes_release(&out.y), sizes_release(&out.z);
}

static void held(void) {
  sizes_held_bound bound;
  sizes_held_function *f = NULL;
  sizes_held_inputs in;
  sizes_held_outputs out;
  nuvec_array flat[3];
  int64_t b;
  inputs(flat, 1, 8);
  bound.w = flat[1];
  CHECK(sizes_held_function_create(context, NULL, &bound, &f) == NUVEC_OK);
  for (b = 0; b < 40; b += 13) {
    inputs(flat, b, 8);
    in.x = flat[0], in.k = flat[2];
    memset(&out, 0, sizeof out);
    CHECK(sizes_held_call(f, &in, &out) == NUVEC_OK && right(&out.y, &out.z, b, 8));
    sizes_release(&out.y), sizes_release(&out.z);
  }
  inputs(flat, 2, 10);
  in.x = flat[0];
  SAYS(sizes_held_call(f, &in, &out), NUVEC_SHAPE, "input w: axis 0 has size 8, but N is 10");
  CHECK(sizes_held_function_destroy(f) == NUVEC_OK);
}

static void states(void) {
  sizes_decay_state *s = NULL;
  sizes_decay_leaves leaves, now;
  sizes_decay_inputs in;
  sizes_decay_outputs out;
  float m[2][5] = {{1, 2, 3, 4, 5}, {-2, -4, -6, -8, -10}}, g[7] = {8, 8, 8, 8, 8, 8, 8};
  int64_t shape[2] = {2, 5}, strides[2] = {5, 1}, g_shape[1] = {5};
  int i;
  memset(&out, 0, sizeof out);
  SAYS(sizes_decay_state_create(context, NULL, &s), NUVEC_NULL, "leaf m has open sizes: the leaves must say theirs");
  leaves.m = array(m, sizeof m, NUVEC_FLOAT32, 2, shape);
  strides[0] = 6;
  leaves.m.strides = strides;
  SAYS(sizes_decay_state_create(context, &leaves, &s), NUVEC_STRIDES, "leaf m");
  strides[0] = 5;
  shape[0] = 3;
  SAYS(sizes_decay_state_create(context, &leaves, &s), NUVEC_SIGNATURE, "m is float32[2, N], got float32[3, 5]");
  shape[0] = 2;
  CHECK(sizes_decay_state_create(context, &leaves, &s) == NUVEC_OK);
  shape[1] = 77; /* the state has its own */
  in.g = array(g, 20, NUVEC_FLOAT32, 1, g_shape);
  for (i = 0; i < 3; i++) CHECK(sizes_decay_step(s, &in, &out) == NUVEC_OK);
  CHECK(sizes_decay_state_leaves(s, &now) == NUVEC_OK && now.m.shape[1] == 5 && now.m.bytes == 40);
  CHECK(((float *)now.m.host)[4] == 5.0f / 8 + 14 && ((float *)now.m.host)[5] == -2.0f / 8 + 14);
  CHECK(*(float *)out.most.host == 5.0f / 8 + 14);
  g_shape[0] = 7;
  in.g.bytes = 28;
  SAYS(sizes_decay_step(s, &in, &out), NUVEC_SHAPE, "axis 0 has size 7, but N is 5");
  CHECK(sizes_decay_state_save(s, "decay.safetensors") == NUVEC_OK);
  CHECK(sizes_decay_state_destroy(s) == NUVEC_OK);
  shape[1] = 1; /* a state may be loaded at another size */
  leaves.m.strides = NULL;
  CHECK(sizes_decay_state_create(context, &leaves, &s) == NUVEC_OK);
  CHECK(sizes_decay_state_load(s, "decay.safetensors") == NUVEC_OK);
  g_shape[0] = 5;
  CHECK(sizes_decay_step(s, &in, &out) == NUVEC_OK);
  CHECK(sizes_decay_state_leaves(s, &now) == NUVEC_OK && ((float *)now.m.host)[4] == 5.0f / 16 + 15);
  CHECK(sizes_decay_state_destroy(s) == NUVEC_OK);
  sizes_release(&out.most);
}

int main(void) {
  int i;
  for (i = 0; i < MOST; i++) x_data[i] = (float)(i % 64) * 0.25f - 4.0f;
  for (i = 0; i < 1000; i++) w_data[i] = (float)(i % 5) - 2.0f;
  if (sizes_create(NULL, &context) != NUVEC_OK) return puts(sizes_error(context)), 1;
  trees();
  refused();
  held();
  states();
  CHECK(sizes_destroy(context) == NUVEC_OK);
  return failures != 0;
}
