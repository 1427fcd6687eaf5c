/* lists.c - signatures whose lists differ in length (lists.yaml): the counts select them. C99. */
#include "lists.h"
#include <stdio.h>
#include <string.h>

static int failures;
static void check(int ok, const char *what, int line) {
  if (ok) return;
  failures++;
  fprintf(stderr, "lists.c:%d: %s\n", line, what);
}
#define CHECK(x) check((x) != 0, #x, __LINE__)

static const int64_t two[] = {2};
static float x[2] = {1, -2}, last[2] = {0.5f, 0.25f}, w[3][2] = {{2, 3}, {-1, 4}, {0.5f, 2}}, b[3] = {1, 10, -3};
static nuvec_array array(float *data, int n) {
  nuvec_array a;
  memset(&a, 0, sizeof a);
  a.host = data;
  a.bytes = (size_t)n * sizeof *data;
  a.shape = two;
  a.rank = n > 1;
  a.dtype = NUVEC_FLOAT32;
  return a;
}
static int is(const nuvec_array *a, float first, float second) {
  const float *got = (const float *)a->host;
  return got && got[0] == first && got[1] == second;
}

static void trees(lists_context *context) {
  static const int64_t counts[] = {2, 0, 3, 1, 4};
  int k, i;
  for (k = 0; k < 5; k++) {
    lists_f_inputs in;
    lists_f_outputs out;
    float y[2];
    memset(&in, 0, sizeof in);
    memset(&out, 0, sizeof out);
    memcpy(y, x, sizeof y);
    in.x = array(x, 2);
    in.p.last = array(last, 2);
    in.p.layers_count = counts[k];
    for (i = 0; i < 3 && i < counts[k]; i++) {
      in.p.layers[i].w = array(w[i], 2);
      in.p.layers[i].b = array(&b[i], 1);
      y[0] = y[0] * w[i][0] + b[i];
      y[1] = y[1] * w[i][1] + b[i];
    }
    CHECK((lists_f_inputs_leaf(&in, "p.layers[2].w") != NULL) == (counts[k] == 3));
    if (k > 2) { /* compiled for neither */
      CHECK(lists_f_call(context, &in, &out) == NUVEC_SIGNATURE);
      check(strstr(lists_error(context), "p.layers_count") != NULL, lists_error(context), __LINE__);
      continue;
    }
    check(lists_f_call(context, &in, &out) == NUVEC_OK, lists_error(context), __LINE__);
    CHECK(is(&out.y, y[0] + last[0], y[1] + last[1]));
    lists_release(&out.y);
  }
}

static void states(lists_context *context) {
  int k, i;
  for (k = 1; k <= 2; k++) {
    lists_st_leaves leaves;
    lists_st_inputs in;
    lists_st_outputs out;
    lists_st_state *state;
    memset(&leaves, 0, sizeof leaves);
    memset(&in, 0, sizeof in);
    memset(&out, 0, sizeof out);
    leaves.m_count = k;
    for (i = 0; i < k; i++) leaves.m[i] = array(w[i], 2);
    in.g = array(last, 2);
    check(lists_st_state_create(context, &leaves, &state) == NUVEC_OK, lists_error(context), __LINE__);
    check(lists_st_step(state, &in, &out) == NUVEC_OK, lists_error(context), __LINE__);
    CHECK(is(&out.first, w[0][0] + last[0], w[0][1] + last[1]));
    CHECK(lists_st_state_leaves(state, &leaves) == NUVEC_OK && leaves.m_count == k);
    for (i = 0; i < k; i++) CHECK(is(&leaves.m[i], w[i][0] + last[0], w[i][1] + last[1]));
    CHECK(lists_st_state_save(state, "lists.safetensors") == NUVEC_OK);
    CHECK(lists_st_step(state, &in, &out) == NUVEC_OK);
    CHECK(lists_st_state_load(state, "lists.safetensors") == NUVEC_OK);
    CHECK(lists_st_step(state, &in, &out) == NUVEC_OK);
    CHECK(is(&out.first, w[0][0] + 2 * last[0], w[0][1] + 2 * last[1]));
    lists_release(&out.first);
    CHECK(lists_st_state_destroy(state) == NUVEC_OK);
  }
}

static void flat(lists_context *context) {
  lists_flat_statics statics;
  nuvec_array in[3], out;
  int k;
  memset(&statics, 0, sizeof statics);
  memset(&out, 0, sizeof out);
  for (k = 0; k < 3; k++) in[k] = array(w[k], 2);
  statics.m_count = 3;
  check(lists_flat_call(context, &statics, in, 3, &out, 1) == NUVEC_OK, lists_error(context), __LINE__);
  CHECK(is(&out, 2 * w[0][0] + w[0][0] + w[1][0] + w[2][0], 2 * w[0][1] + w[0][1] + w[1][1] + w[2][1]));
  CHECK(lists_flat_call(context, &statics, in, 1, &out, 1) != NUVEC_OK);
  statics.m_count = 1;
  CHECK(lists_flat_call(context, &statics, in, 1, &out, 1) == NUVEC_OK && is(&out, 3 * w[0][0], 3 * w[0][1]));
  lists_release(&out);
}

int main(void) {
  nuvec_options o = {0};
  lists_context *context;
  o.path = "lists.metallib";
  if (lists_create(&o, &context) != NUVEC_OK) return puts(lists_error(context)), 1;
  trees(context);
  states(context);
  flat(context);
  CHECK(lists_destroy(context) == NUVEC_OK);
  return failures != 0;
}
