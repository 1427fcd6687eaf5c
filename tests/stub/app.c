/* app.c - a program with two graphs in it, as an app would call them: forms.yaml and second.yaml. C99. */
#include "forms.h"
#include "second.h"
#include <stdio.h>
#include <string.h>

static int failures;
static void check(int ok, const char *what, int line) {
  if (ok) return;
  failures++;
  fprintf(stderr, "app.c:%d: %s\n", line, what);
}
#define CHECK(x) check((x) != 0, #x, __LINE__)

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

static const int64_t two_by_four[] = {2, 4}, three_by_four[] = {3, 4}, four[] = {4}, eight[] = {8};
static float x[12], in[4] = {1, 2, 3, 4}, w0[4] = {1, -1, 1, -1}, w1[4] = {2, 2, 2, 0.5f}, b0 = 1, b1 = -3;

static float expected(int r, int i) {
  float h = x[4 * r + i] * in[i], h1 = h * w0[i] + b0;
  return h1 * w1[i] + b1;
}
static int right(const forms_outputs *out, int rows) {
  const float *y = (const float *)out->y.host, *sums = (const float *)out->sums.rows.host;
  int r, i;
  for (r = 0; r < rows; r++) {
    float sum = 0;
    for (i = 0; i < 4; i++) {
      if (y[4 * r + i] != expected(r, i)) return 0;
      sum += y[4 * r + i];
    }
    if (sums[r] != sum) return 0;
  }
  return 1;
}

static void forms_tree(forms_context *c, second_context *d) {
  forms_inputs inputs;
  forms_outputs outputs, other;
  second_inputs next;
  second_outputs last;
  size_t scratch = 1;
  int i;
  for (i = 0; i < 12; i++) x[i] = (float)i - 5;
  memset(&inputs, 0, sizeof inputs);
  memset(&outputs, 0, sizeof outputs);
  memset(&other, 0, sizeof other);
  memset(&last, 0, sizeof last);
  inputs.x = host(x, 32, NUVEC_FLOAT32, 2, two_by_four);
  inputs.class_.new_ = host(in, 16, NUVEC_FLOAT32, 1, four);
  inputs.class_.layers[0].w = host(w0, 16, NUVEC_FLOAT32, 1, four);
  inputs.class_.layers[0].b = host(&b0, 4, NUVEC_FLOAT32, 0, NULL);
  inputs.class_.layers[1].w = host(w1, 16, NUVEC_FLOAT32, 1, four);
  inputs.class_.layers[1].b = host(&b1, 4, NUVEC_FLOAT32, 0, NULL);
  CHECK(forms_call(c, &inputs, &outputs) == NUVEC_OK && right(&outputs, 2));
  /* another signature, by the packed form */
  inputs.x = host(x, 48, NUVEC_FLOAT32, 2, three_by_four);
  CHECK(forms_packed(c, -1, &inputs.x, 6, &other.y, 2) == NUVEC_OK && right(&other, 3));
  CHECK(forms_shapes(c, &inputs, &other, &scratch) == NUVEC_OK && scratch <= forms_SCRATCH_BYTES);
  CHECK(other.sums.rows.rank == 1 && other.sums.rows.shape[0] == 3 && other.sums.rows.bytes == 12);
  inputs.class_.layers[1].b.rank = 1;
  inputs.class_.layers[1].b.shape = four;
  CHECK(forms_call(c, &inputs, &other) == NUVEC_SIGNATURE);
  CHECK(strstr(forms_error(c), "input class.layers[1].b is float32[], got float32[4]") != NULL);
  CHECK(!strcmp(second_error(d), ""));
  /* one graph's output is another's input */
  next.x = outputs.y;
  CHECK(second_call(d, &next, &last) == NUVEC_OK);
  for (i = 0; i < 8; i++)
    CHECK(((const float *)last.out0.host)[i] == 1 - ((const float *)outputs.y.host)[i]);
  forms_release(&outputs.y);
  forms_release(&outputs.sums.rows);
  forms_release(&other.y);
  forms_release(&other.sums.rows);
  second_release(&last.out0);
}

static void count_flat(forms_context *c) {
  int32_t a[8] = {1, -2, 3, -4, 0, 6, 7, INT32_MIN}, got[8];
  unsigned char b[8] = {1, 0, 0, 1, 1, 0, 1, 0}, positive[8];
  nuvec_array inputs[2], outputs[2];
  int i;
  inputs[0] = host(a, sizeof a, NUVEC_INT32, 1, eight);
  inputs[1] = host(b, sizeof b, NUVEC_BOOL, 1, eight);
  outputs[0] = host(got, sizeof got, NUVEC_INT32, 1, eight);
  outputs[1] = host(positive, sizeof positive, NUVEC_BOOL, 1, eight);
  CHECK(forms_count_call(c, inputs, 2, outputs, 2) == NUVEC_OK);
  for (i = 0; i < 8; i++) {
    int32_t want = b[i] || a[i] == INT32_MIN ? a[i] : -a[i];
    CHECK(got[i] == want && positive[i] == (want > 0));
  }
  CHECK(forms_count_call(c, inputs, 1, outputs, 2) == NUVEC_SIGNATURE);
  inputs[0].dtype = NUVEC_UINT32;
  CHECK(forms_count_call(c, inputs, 2, outputs, 2) == NUVEC_DTYPE);
  CHECK(!strcmp(forms_error(c), "forms_count: input a: expected int32[8], got uint32[8]"));
}

int main(void) {
  forms_context *c;
  second_context *d;
  nuvec_options o;
  memset(&o, 0, sizeof o);
  o.path = "second.metallib";
  if (forms_create(NULL, &c) != NUVEC_OK) return puts(forms_error(c)), 1;
  if (second_create(&o, &d) != NUVEC_OK) return puts(second_error(d)), 1;
  forms_tree(c, d);
  count_flat(c);
  CHECK(forms_destroy(c) == NUVEC_OK && second_destroy(d) == NUVEC_OK);
  o.path = "second.metallib"; /* of another graph */
  CHECK(forms_create(&o, &c) == NUVEC_WRONG_METALLIB && strstr(forms_error(c), "forms_tie_") != NULL);
  CHECK(forms_destroy(c) == NUVEC_OK);
  return failures != 0;
}
