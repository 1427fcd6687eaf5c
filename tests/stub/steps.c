/* steps.c - the steps of steps.yaml give what they must, call after call. C99. */
#include "steps.h"
#include <stdio.h>
#include <string.h>

static int failures;
static void check(int ok, const char *what, int line) {
  if (ok) return;
  failures++;
  fprintf(stderr, "steps.c:%d: %s\n", line, what);
}
#define CHECK(x) check((x) != 0, #x, __LINE__)
#define DONE(call) check((call) == NUVEC_OK, steps_error(context), __LINE__)

static steps_context *context;
static nuvec_array array(void *data, size_t bytes, nuvec_dtype dtype, int rank, const int64_t *shape) {
  nuvec_array a;
  memset(&a, 0, sizeof a);
  a.host = data;
  a.bytes = bytes;
  a.dtype = dtype;
  a.rank = rank;
  a.shape = shape;
  return a;
}
static float number(const nuvec_array *a) { return a->host ? *(float *)a->host : -1; }

/* Three steps draw what three calls with their keys do, each something else; from the same key the same again. */
static void draw(void) {
  static const int64_t eight[] = {8}, two[] = {2};
  float x[8], seen[3][8];
  int round, k;
  for (k = 0; k < 8; k++) x[k] = 1;
  for (round = 0; round < 2; round++) {
    uint32_t key[2] = {0, 0};
    steps_draw_state *state;
    steps_draw_leaves leaves = {0};
    steps_draw_inputs in = {0};
    steps_draw_outputs out = {0};
    leaves.key = array(key, sizeof key, NUVEC_UINT32, 1, two);
    in.x = array(x, sizeof x, NUVEC_FLOAT32, 1, eight);
    DONE(steps_draw_state_create(context, &leaves, &state));
    for (k = 0; k < 3; k++) {
      steps_once_inputs one = {0};
      steps_once_outputs got = {0};
      one.key = array(key, sizeof key, NUVEC_UINT32, 1, two);
      one.x = in.x;
      DONE(steps_once_call(context, &one, &got));
      DONE(steps_draw_step(state, &in, &out));
      DONE(steps_draw_state_leaves(state, &leaves));
      if (!out.n.host || !got.n.host || !leaves.key.host) return;
      CHECK(!memcmp(out.n.host, got.n.host, sizeof x) && !memcmp(leaves.key.host, got.key.host, sizeof key));
      CHECK(memcmp(key, got.key.host, sizeof key));
      memcpy(key, got.key.host, sizeof key);
      if (round) CHECK(!memcmp(seen[k], out.n.host, sizeof x));
      memcpy(seen[k], out.n.host, sizeof x);
      if (k) CHECK(memcmp(seen[k - 1], seen[k], sizeof x));
      steps_release(&got.n);
      steps_release(&got.key);
    }
    steps_release(&out.n);
    CHECK(steps_draw_state_destroy(state) == NUVEC_OK);
  }
}

static void through(void) {
  static const int64_t w_shape[] = {2, 3}, b_shape[] = {2}, x_shape[] = {1, 3};
  float w[6] = {1, 1, 1, 1, 1, 1}, b[2] = {0, 0}, x[3] = {1, 2, 3};
  steps_through_state *state;
  steps_through_leaves leaves = {0};
  steps_through_inputs in = {0};
  steps_through_outputs out = {0};
  int k;
  leaves.w = array(w, sizeof w, NUVEC_FLOAT32, 2, w_shape);
  leaves.b = array(b, sizeof b, NUVEC_FLOAT32, 1, b_shape);
  in.x = array(x, sizeof x, NUVEC_FLOAT32, 2, x_shape);
  DONE(steps_through_state_create(context, &leaves, &state));
  for (k = 0; k < 2; k++) {
    DONE(steps_through_step(state, &in, &out));
    CHECK(number(&out.loss) == 12);
    DONE(steps_through_state_leaves(state, &leaves));
    CHECK(!memcmp(leaves.w.host, w, sizeof w) && !memcmp(leaves.b.host, b, sizeof b));
  }
  steps_release(&out.loss);
  CHECK(steps_through_state_destroy(state) == NUVEC_OK);
}

static void batch(void) {
  static const int64_t sizes[3] = {4, 4, 2};
  static const float want_w[] = {0.875f, 0.6875f, 0.34375f}, want_m[] = {0.5f, 0.75f, 1.375f};
  float w = 1, m = 0, x[4];
  steps_batch_state *state;
  steps_batch_leaves leaves = {0};
  int k, i;
  leaves.w = array(&w, sizeof w, NUVEC_FLOAT32, 0, NULL);
  leaves.m = array(&m, sizeof m, NUVEC_FLOAT32, 0, NULL);
  DONE(steps_batch_state_create(context, &leaves, &state));
  for (k = 0; k < 3; k++) {
    steps_batch_inputs in = {0};
    steps_batch_outputs out = {0};
    for (i = 0; i < 4; i++) x[i] = k < 2 ? 1 : 2;
    in.x = array(x, (size_t)sizes[k] * sizeof *x, NUVEC_FLOAT32, 1, &sizes[k]);
    DONE(steps_batch_step(state, &in, &out));
    DONE(steps_batch_state_leaves(state, &leaves));
    CHECK(number(&out.now) == want_w[k] && number(&leaves.w) == want_w[k] && number(&leaves.m) == want_m[k]);
    steps_release(&out.now);
  }
  CHECK(steps_batch_state_destroy(state) == NUVEC_OK);
}

static void both(void) {
  static const int64_t four[] = {4};
  float x[4] = {1, 2, 3, 4};
  steps_both_inputs in = {0};
  steps_both_outputs out = {0};
  int k;
  in.x = in.y = array(x, sizeof x, NUVEC_FLOAT32, 1, four);
  DONE(steps_both_call(context, &in, &out));
  for (k = 0; out.n.host && k < 4; k++) CHECK(((float *)out.n.host)[k] == 2 * x[k] * x[k]);
  in.x = in.y = out.n; /* one buffer of Metal's */
  memset(&out, 0, sizeof out);
  DONE(steps_both_call(context, &in, &out));
  for (k = 0; out.n.host && k < 4; k++) CHECK(((float *)out.n.host)[k] == 8 * x[k] * x[k] * x[k] * x[k]);
  steps_release(&in.x);
  steps_release(&out.n);
}

int main(void) {
  nuvec_options o = {0};
  o.path = "steps.metallib";
  if (steps_create(&o, &context) != NUVEC_OK) return puts(steps_error(context)), 1;
  draw();
  through();
  batch();
  both();
  CHECK(steps_destroy(context) == NUVEC_OK);
  return failures != 0;
}
