/* test_sizes.c - sizes that are known at run time only: what tracing makes of them, their text, guards, and graphs at
 * given sizes. */
#include "ir/sizes.h"
#include "passes/passes.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

static nv_ctx *c;
static nv_buf said;

static void report(void *user, const nuvecc_diagnostic *d) {
  (void)user;
  nv_printf(&said, "%u:%u: error: %s\n", d->line, d->column, d->text);
}

static int setup(void **state) {
  static const nuvecc_options options = {.file = "t.yaml", .format = NUVECC_FORMAT_YAML, .report = report};
  (void)state;
  c = nv_ctx_new(&options);
  if (!c) return 1;
  c->target = nv_target_find("macos14");
  nv_buf_init(&said, c);
  nv_dims_init(c);
  nv_graph_tables_init(c);
  return 0;
}

static int teardown(void **state) {
  (void)state;
  nv_ctx_free(c);
  return 0;
}

/* The graph of a function f with these dims, inputs, statements and output; NULL: said has why. */
static nv_graph *trace(const char *dims, const char *inputs, const char *nodes, const char *output) {
  const char *text = nv_format(c, "nuvec: 1\nfunctions:\n  f:\n    dims: {%s}\n    inputs: {%s}\n"
                                  "    nodes: |\n      %s\n    outputs: %s\n", dims, inputs, nodes, output);
  nv_graph *g = NULL;
  said.n = 0;
  nv_puts(&said, "");
  c->door_open = true;
  if (setjmp(c->door) == 0) {
    nv_doc *d = nv_doc_read(c, "t.yaml", NUVECC_FORMAT_YAML, text, strlen(text));
    nv_spec *s = d ? nv_spec_parse(c, d) : NULL;
    g = s ? nv_trace(s, &s->entries[0], 0) : NULL;
    nv_diag_flush(c);
  } else {
    nv_printf(&said, "raised: %s\n", c->fault);
  }
  c->door_open = false;
  if (!g) return NULL;
  nv_verify(g, NV_STAGE_TRACED);
  nv_verify(nv_simplify(g), NV_STAGE_SIMPLIFIED);
  return g;
}

static const char *print(const nv_graph *g) {
  nv_buf b;
  nv_buf_init(&b, c);
  nv_graph_print(&b, g);
  return nv_buf_text(&b);
}

/* The printed graph is taken back and printed the same. */
static void check_text(const nv_graph *g) {
  const char *text = print(g), *why;
  uint32_t line;
  nv_graph *again = nv_graph_read(c, text, strlen(text), &why, &line);
  if (!again) fail_msg("line %u: %s\n%s", (unsigned)line, why, text);
  assert_string_equal(print(again), text);
  nv_verify(again, NV_STAGE_TRACED);
}

/* Text of the lines of g that start with word. */
static const char *lines(const nv_graph *g, const char *word) {
  nv_buf b;
  nv_buf_init(&b, c);
  for (const char *p = print(g); *p;) {
    const size_t n = strcspn(p, "\n");
    if (!strncmp(p, word, strlen(word))) nv_printf(&b, "%.*s;", (int)(n - strlen(word) - 1), p + strlen(word) + 1);
    p += n + (p[n] != 0);
  }
  return nv_buf_text(&b);
}

/* What a call with these sizes of all inputs' axes comes to: the outputs' shapes, or why it is refused. */
static const char *call(const nv_graph *g, const int64_t *sizes) {
  const int64_t *shapes[8];
  int64_t values[8];
  const char *why = "";
  for (uint32_t k = 0; k < g->ninputs; k++) {
    shapes[k] = sizes;
    sizes += nv_shape_rank(c, nv_shape_at(g, g->inputs[k].value));
  }
  assert_true(g->ninputs <= 8 && g->nsources <= 8);
  if (!nv_graph_sizes(g, shapes, values, &why)) return why;
  nv_graph *at = nv_graph_at(g, values, &why);
  if (!at) return why;
  nv_verify(at, NV_STAGE_TRACED);
  nv_buf b;
  nv_buf_init(&b, c);
  for (uint32_t k = 0; k < at->noutputs; k++) nv_put_shape(&b, nv_shape_at(at, at->outputs[k].value));
  return nv_buf_text(&b);
}
#define CALL(g, ...) call(g, (const int64_t[]){__VA_ARGS__})

static void sources(void **state) {
  (void)state;
  const nv_graph *g = trace("", "x: 'float32[2*B + 1, N]', y: 'float32[B]'", "s = sum(x) + sum(y)", "s");
  assert_non_null(g);
  assert_string_equal(lines(g, "source"), "B %1 0 1 0;N %0 1 1 0;"); /* the axis that is B alone */
  check_text(g);
  assert_string_equal(CALL(g, 7, 4, 3), "[]");
  assert_string_equal(CALL(g, 8, 4, 3), "axis 0 of 'x' has size 8, but 2*B + 1 is 7");

  g = trace("B: {min: 2, max: 9, multiple_of: 2}", "x: 'float32[3*B + 1]'", "y = x + 1", "y");
  assert_non_null(g);
  assert_string_equal(lines(g, "source"), "B %0 0 3 1;");
  check_text(g);
  assert_string_equal(CALL(g, 13), "[13]");
  assert_string_equal(CALL(g, 14), "axis 0 of 'x' has size 14, which no 'B' gives");
  assert_string_equal(CALL(g, 4), "size 'B' is 1, below its min 2 (axis 0 of 'x')");
  assert_string_equal(CALL(g, 31), "size 'B' is 10, above its max 9 (axis 0 of 'x')");
  assert_string_equal(CALL(g, 10), "B%2 is 1, but 0");

  assert_null(trace("", "x: 'float32[B*N]'", "y = x", "y"));
  assert_string_equal(nv_buf_text(&said), "3:3: error: size 'B' can't be read off an input: no axis is it, a multiple "
                      "of it, or it and a constant\n");
}

static void guards(void **state) {
  (void)state;
  const nv_graph *g = trace("", "x: 'float32[N]', y: 'float32[M]'", "z = x + y", "z");
  assert_non_null(g);
  check_text(g);
  assert_string_equal(lines(g, "guard"), "N ~ M  # f.z;");
  assert_string_equal(CALL(g, 5, 5), "[5]");
  assert_string_equal(CALL(g, 1, 5), "[5]");
  assert_string_equal(CALL(g, 0, 1), "[0]");
  assert_string_equal(CALL(g, 4, 5), "N is 4, which doesn't broadcast with M is 5 (f.z)");

  g = trace("", "x: 'float32[N]'", "z = x + broadcast_to(x, [3])", "z");
  assert_non_null(g);
  check_text(g);
  assert_string_equal(CALL(g, 3), "[3]");
  assert_string_equal(CALL(g, 1), "[3]");
  assert_string_equal(CALL(g, 2), "N is 2, which doesn't broadcast to 3 (f.z)");

  g = trace("", "x: 'float32[N, M]'", "z = reshape(x, [M, -1])", "z");
  assert_non_null(g);
  assert_string_equal(CALL(g, 6, 4), "[4, 6]");
  assert_string_equal(CALL(g, 6, 0), "1, above M is 0 (f.z)");

  g = trace("", "x: 'float32[N]'", "z = reshape(x, [2, -1, 3])", "z");
  assert_non_null(g);
  check_text(g);
  assert_string_equal(CALL(g, 12), "[2, 2, 3]");
  assert_string_equal(CALL(g, 0), "[2, 0, 3]");
  assert_string_equal(CALL(g, 13), "N%6 is 1, but 0 (f.z)");

  g = trace("", "x: 'float32[N]'", "z = max(x)", "z");
  assert_non_null(g);
  assert_string_equal(CALL(g, 1), "[]");
  assert_string_equal(CALL(g, 0), "1, above N is 0 (f.z)");

  g = trace("", "x: 'float32[N, 4]'", "z = x[2, 1:3]", "z");
  assert_non_null(g);
  check_text(g);
  assert_string_equal(CALL(g, 3, 4), "[2]");
  assert_string_equal(CALL(g, 2, 4), "3, above N is 2 (f.z)");
}

static void numbers(void **state) {
  (void)state;
  const nv_graph *g = trace("", "x: 'float32[N, M]'", "z = x * (2 / N) + sqrt(M) - x.size // 2 + N**2", "z");
  assert_non_null(g);
  check_text(g);
  const char *text = print(g);
  assert_non_null(strstr(text, "size 0x4000000000000000, N, @div : float32[]"));
  assert_non_null(strstr(text, "size M, @sqrt : float32[]"));
  assert_non_null(strstr(text, "size (M*N)//2 : float32[]"));
  assert_non_null(strstr(text, "size N*N : float32[]"));
  const int64_t sizes[2] = {3, 5}, *shapes[1] = {sizes};
  int64_t values[2];
  const char *why = "";
  assert_true(nv_graph_sizes(g, shapes, values, &why));
  const nv_graph *at = nv_graph_at(g, values, &why);
  assert_non_null(at);
  text = print(at);
  assert_non_null(strstr(text, "# 0.6666667"));
  assert_non_null(strstr(text, "# 2.236068"));
  assert_non_null(strstr(text, "# 7.0 "));
  assert_non_null(strstr(text, "# 9.0 "));

  g = trace("", "x: 'uint8[N]'", "z = x + N", "z");
  assert_non_null(g);
  assert_string_equal(CALL(g, 255), "[255]");
  assert_string_equal(CALL(g, 256), "N is 256, above 255 (f.z)");

  g = trace("", "x: 'float32[N]'", "z = arange(1, N + 1, dtype=uint16)", "z");
  assert_non_null(g);
  check_text(g);
  assert_string_equal(CALL(g, 4), "[4]");
}

static void statics(void **state) {
  (void)state;
  const nv_graph *g = trace("N: {min: 1}", "x: 'float32[N]'", "y = x * (N >= 1)", "y"); /* true of all sizes */
  assert_non_null(g);
  assert_null(strstr(print(g), "size"));
  assert_null(trace("", "x: 'float32[N]'", "y = sum(x, axis=N)", "y"));
  assert_string_equal(nv_buf_text(&said), "7:23: error: sum: axis must be an int or a list of ints, not the run-time "
                      "size N (a signature fixes it)\n");
  assert_null(trace("", "x: 'float32[N]'", "y = x + (N == 4)", "y"));
  assert_string_equal(nv_buf_text(&said), "7:18: error: this depends on the run-time size N (a signature fixes it)\n");
}

/* Texts that aren't graphs. */
static void wrong_texts(void **state) {
  (void)state;
  static const struct {
    const char *lines, *why;
  } rows[] = {
      {"%1 = size B, @add : float32[]", "a size's operations lack operands, or leave some"},
      {"%1 = size B, B : float32[]", "a size's operations lack operands, or leave some"},
      {"%1 = size @sin : float32[]", "'sin' is no operation on sizes"},
      {"%1 = size 0x12 : float32[]", "a double has 16 digits"},
      {"%1 = size B : float32[2]", "a size has rank 0"},
      {"source B %0 1 1 0", "the input has no axis 1"},
      {"source B %0 0 2 0", "that axis has another size than the source says"},
      {"source B %0 0 1 0\nsource B %0 0 1 0", "size 'B' has two sources"},
      {"%1 = negative %0 : float32[B]\nsource B %1 0 1 0", "a size is read off an input"},
      {"guard B < 4", "a guard says ==, ~, ~> or <="},
      {"guard B <= 2000", "a guard always holds, or stands there already"},
      {"guard B == 2000", "a guard never holds"},
  };
  for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
    const char *why, *head = "graph f\ndim B 0..1024\n%0 = input \"x\" : float32[B]\n";
    const char *text = nv_format(c, "%s%s\n", head, rows[k].lines);
    uint32_t line;
    assert_null(nv_graph_read(c, text, strlen(text), &why, &line));
    assert_string_equal(why, rows[k].why);
  }
}

/* Sizes that a file says where the type leaves them open. */
static void files(void **state) {
  (void)state;
  static const nuvecc_options options = {.file = "in", .report = report};
  const nuvecc_tensor want = {.name = "x", .dtype = NUVECC_FLOAT32, .rank = 2, .shape = {-1, 3}};
  nuvecc_tensor got;
  const char *json = "{\"x\": [[1, 2, 3], [4, 5, 6]]}";
  assert_int_equal(nuvecc_read_shapes(&options, NUVECC_TENSORS_JSON, json, strlen(json), &want, 1, &got), NUVECC_OK);
  assert_true(got.shape[0] == 2 && got.shape[1] == 3 && got.bytes == 24);
  json = "{\"y\": 1}"; /* what is missing is found when the elements are read */
  assert_int_equal(nuvecc_read_shapes(&options, NUVECC_TENSORS_JSON, json, strlen(json), &want, 1, &got), NUVECC_OK);
  assert_true(got.shape[0] == 0 && got.bytes == 0);
  static const char *const shapes[] = {"[2, 3]", "[9000000000000000000, 3]", "[40, 3]", "[]"};
  for (int k = 0; k < 4; k++) {
    char file[256] = {0};
    const int n = snprintf(file + 8, sizeof file - 8,
                           "{\"x\": {\"dtype\": \"F32\", \"shape\": %s, \"data_offsets\": [0, 24]}}", shapes[k]);
    file[0] = (char)n;
    said.n = 0;
    nv_puts(&said, "");
    const nuvecc_status s =
        nuvecc_read_shapes(&options, NUVECC_TENSORS_SAFETENSORS, file, (size_t)n + 32, &want, 1, &got);
    assert_int_equal(s, k == 1 || k == 2 ? NUVECC_SPEC : NUVECC_OK);
    if (k == 0) assert_true(got.shape[0] == 2 && got.bytes == 24);
    if (s) assert_string_equal(nv_buf_text(&said), "0:0: error: 'x' would have more bytes than the file\n");
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(sources, setup, teardown),
      cmocka_unit_test_setup_teardown(guards, setup, teardown),
      cmocka_unit_test_setup_teardown(numbers, setup, teardown),
      cmocka_unit_test_setup_teardown(statics, setup, teardown),
      cmocka_unit_test_setup_teardown(wrong_texts, setup, teardown),
      cmocka_unit_test_setup_teardown(files, setup, teardown),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
