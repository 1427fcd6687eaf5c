/* keys.c - calls every signature of keys.yaml by its members, compares with the packed form, and reads what a call is
 * told that fits none. C99. */
#include "keys.h"
#include <stdio.h>
#include <string.h>

static int failures;
static void check(int ok, const char *what, int line) {
  if (ok) return;
  failures++;
  fprintf(stderr, "keys.c:%d: %s\n", line, what);
}
#define CHECK(x) check((x) != 0, #x, __LINE__)
#define SAYS(call, words) \
  check((call) == NUVEC_SIGNATURE && strstr(keys_error(context), words), keys_error(context), __LINE__)

static const int64_t two[] = {2};
static int32_t data[6][2] = {{3, -4}, {10, 20}, {1, 2}, {5, 7}, {-1, 8}, {100, 200}};
static nuvec_array array(int k) {
  nuvec_array a;
  memset(&a, 0, sizeof a);
  a.host = data[k];
  a.bytes = sizeof data[k];
  a.shape = two;
  a.rank = 1;
  a.dtype = NUVEC_INT32;
  return a;
}

static keys_context *context;

/* As signature k has it. */
static keys_inputs inputs_of(int k) {
  keys_inputs in;
  memset(&in, 0, sizeof in);
  in.x = array(0);
  in.p.w = array(1);
  in.q[0] = array(2);
  in.q[1] = array(3);
  in.n = k == 1 ? 3 : k == 2 ? -2147483647 - 1 : 1;
  in.scale = k == 2 ? 0.1 : 1.5;
  in.on = k == 3;
  in.mode = k == 3 ? keys_mode_up : k == 4 ? keys_mode_down : keys_mode_same;
  in.label = k == 3 ? keys_label_a__b_ : keys_label_;
  in.p_w_trainable = k != 5;
  in.p.act.variant = k == 4 ? keys_p_act_bias : k > 4 ? keys_p_act_nest : keys_p_act_none;
  if (k == 4) in.p.act.of.bias = array(4);
  if (k > 4) {
    in.p.act.of.nest.a = array(4);
    in.p.act.of.nest.i.variant = k == 5 ? keys_p_act_i_plus : keys_p_act_i_times;
    if (k == 5) in.p.act.of.nest.i.of.plus.v = array(5);
    else in.p.act.of.nest.i.of.times.k = k == 6 ? 2 : 7;
  }
  return in;
}

static void signatures(void) {
  int k;
  for (k = 0; k < 8; k++) {
    keys_inputs in = inputs_of(k);
    keys_outputs out;
    nuvec_array packed[8], got[3];
    size_t n = 0, scratch;
    int j;
    memset(&out, 0, sizeof out);
    memset(got, 0, sizeof got);
    if (k == 4) packed[n++] = array(4); /* in the order of the paths: p.act, p.w */
    if (k > 4) packed[n++] = array(4);
    if (k == 5) packed[n++] = array(5);
    packed[n++] = array(1);
    memmove(packed + 1, packed, n * sizeof *packed);
    packed[0] = array(0);
    n++;
    packed[n++] = array(2);
    packed[n++] = array(3);
    CHECK(keys_shapes(context, &in, &out, &scratch) == NUVEC_OK && out.z.dtype == NUVEC_FLOAT32);
    CHECK(keys_call(context, &in, &out) == NUVEC_OK);
    CHECK(keys_packed(context, k, packed, n, got, 3) == NUVEC_OK);
    for (j = 0; out.y.host && got[0].host && j < 2; j++) {
      CHECK(((int32_t *)out.y.host)[j] == ((int32_t *)got[0].host)[j]);
      CHECK(((float *)out.z.host)[j] == ((float *)got[1].host)[j]);
      CHECK(((int32_t *)out.q.host)[j] == data[2][j] + data[3][j]);
    }
    for (j = 0; j < 3; j++) keys_release(&got[j]);
    keys_release(&out.y), keys_release(&out.z), keys_release(&out.q);
  }
}

static void none_fits(void) {
  keys_inputs in = inputs_of(0);
  keys_outputs out;
  nuvec_array packed[4];
  memset(&out, 0, sizeof out);
  in.n = 5;
  SAYS(keys_call(context, &in, &out), "keys: none of 8 signatures fits; in the nearest, number 0, n is 1, got 5");
  in = inputs_of(2);
  in.scale = 0.25;
  SAYS(keys_call(context, &in, &out), "number 2, scale is 0.1000000000000000"); /* 17 digits */
  in = inputs_of(3);
  in.mode = keys_mode_down;
  SAYS(keys_call(context, &in, &out), "number 3, mode is up, got down");
  in = inputs_of(3);
  in.label = 77;
  SAYS(keys_call(context, &in, &out), "number 3, label is a \"b\", got 77");
  in = inputs_of(4);
  in.p.act.variant = 9;
  SAYS(keys_call(context, &in, &out), "p.act is none, got 9");
  in = inputs_of(5);
  in.p.act.of.nest.i.variant = 3;
  SAYS(keys_call(context, &in, &out), "number 5, p.act.i is plus, got 3");
  in = inputs_of(5);
  in.p_w_trainable = 1;
  SAYS(keys_call(context, &in, &out), "number 5, p.w is 0, got 1");
  in = inputs_of(6);
  in.p.act.of.nest.i.of.times.k = 3;
  SAYS(keys_call(context, &in, &out), "number 6, p.act.i.k is 2, got 3");
  in = inputs_of(4);
  in.p.act.of.bias.rank = 0;
  SAYS(keys_call(context, &in, &out), "number 4, input p.act is int32[2], got int32[]");
  in.n = 2;
  SAYS(keys_call(context, &in, &out), "number 4, n is 1, got 2");
  CHECK(keys_call(context, NULL, &out) == NUVEC_NULL);
  packed[0] = array(0), packed[1] = array(1), packed[2] = array(2), packed[3] = array(3);
  SAYS(keys_packed(context, -1, packed, 4, &out.y, 3), "keys: arrays alone don't tell its 8 signatures apart");
  SAYS(keys_packed(context, 8, packed, 4, &out.y, 3), "keys has 8 signatures; the call says number 8");
  SAYS(keys_packed(context, 4, packed, 4, &out.y, 3), "keys takes 5 inputs and has 3 outputs; the call has 4 and 3");
}

static void flat(void) {
  keys_raise__statics statics = {2};
  nuvec_array in = array(0), out;
  memset(&out, 0, sizeof out);
  CHECK(keys_raise__call(context, &statics, &in, 1, &out, 1) == NUVEC_OK && ((int32_t *)out.host)[1] == 16);
  statics.n = 3;
  CHECK(keys_raise__call(context, &statics, &in, 1, &out, 1) == NUVEC_OK && ((int32_t *)out.host)[1] == -64);
  statics.n = 4;
  SAYS(keys_raise__call(context, &statics, &in, 1, &out, 1), "keys_raise_: none of 2 signatures fits");
  CHECK(keys_raise__call(context, NULL, &in, 1, &out, 1) == NUVEC_NULL);
  CHECK(keys_raise__packed(context, 1, &in, 1, &out, 1) == NUVEC_OK && ((int32_t *)out.host)[0] == 27);
  keys_release(&out);
}

static void held(void) {
  keys_held_bound bound;
  keys_held_function *f = NULL, *g = NULL;
  keys_held_inputs in;
  keys_held_outputs out;
  memset(&bound, 0, sizeof bound);
  memset(&out, 0, sizeof out);
  in.x = array(0);
  bound.a.variant = keys_held_a_none;
  CHECK(keys_held_function_create(context, NULL, &bound, &f) == NUVEC_OK);
  bound.a.variant = keys_held_a_bias;
  *keys_held_bound_leaf(&bound, "a") = array(1);
  CHECK(&bound.a.of.bias == keys_held_bound_leaf(&bound, "a") && !keys_held_bound_leaf(&bound, "b"));
  CHECK(keys_held_function_create(context, NULL, &bound, &g) == NUVEC_OK);
  memset(&bound, 0xff, sizeof bound);
  CHECK(keys_held_call(f, &in, &out) == NUVEC_OK && ((int32_t *)out.y.host)[0] == 3);
  CHECK(keys_held_call(g, &in, &out) == NUVEC_OK && ((int32_t *)out.y.host)[0] == -7);
  CHECK(keys_held_function_destroy(f) == NUVEC_OK && keys_held_function_destroy(g) == NUVEC_OK);
  bound.a.variant = 5;
  SAYS(keys_held_function_create(context, NULL, &bound, &f), "no signature has the variants of the bound inputs");
  keys_release(&out.y);
}

static void leaves(void) {
  keys_inputs in = inputs_of(6);
  keys_outputs out;
  CHECK(keys_inputs_leaf(&in, "q[1]") == &in.q[1] && keys_inputs_leaf(&in, "p.w") == &in.p.w);
  CHECK(keys_inputs_leaf(&in, "p.act.a") == &in.p.act.of.nest.a && !keys_inputs_leaf(&in, "p.act.i.v"));
  CHECK(!keys_inputs_leaf(&in, "p.act") && !keys_inputs_leaf(&in, "q") && !keys_inputs_leaf(NULL, "x"));
  in = inputs_of(4);
  CHECK(keys_inputs_leaf(&in, "p.act") == &in.p.act.of.bias && !keys_inputs_leaf(&in, NULL));
  CHECK(keys_outputs_leaf(&out, "z") == &out.z && !keys_outputs_leaf(&out, "x"));
}

int main(void) {
  CHECK(!strcmp(NUVEC_VERSION, keys_VERSION_WANTED));
  if (keys_create(NULL, &context) != NUVEC_OK) return puts(keys_error(context)), 1;
  signatures();
  none_fits();
  flat();
  held();
  leaves();
  CHECK(keys_destroy(context) == NUVEC_OK);
  return failures != 0;
}
