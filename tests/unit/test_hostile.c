/* test_hostile.c - specs cut off at every byte, memory that is limited, messages about endless words. */
#include "nuvec.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

typedef struct said {
  int errors;
  size_t longest;
  char last[4096];
} said;

static void report(void *user, const nuvecc_diagnostic *d) {
  said *s = user;
  size_t n = strlen(d->text);
  s->errors += d->severity == NUVECC_ERROR;
  if (n > s->longest) s->longest = n;
  snprintf(s->last, sizeof s->last, "%s", d->text);
  assert_true(d->line ? d->column > 0 : d->column == 0);
  if (d->line) assert_true(d->column <= d->source_length + 2);
}

/* Compiles n bytes that end where the sanitizer sees it. */
static nuvecc_status compile(const char *text, size_t n, nuvecc_format format, size_t memory, said *s, char **fault) {
  char *exact = malloc(n ? n : 1);
  assert_non_null(exact);
  memcpy(exact, text, n);
  *s = (said){0};
  nuvecc_options o = {.file = "t.yaml", .format = format, .memory_limit = memory, .report = report, .user = s};
  nuvecc_unit *u;
  nuvecc_status status = nuvecc_compile(&o, exact, n, &u);
  if (fault) {
    *fault = malloc(600);
    assert_non_null(*fault);
    snprintf(*fault, 600, "%s", nuvecc_error(u));
  }
  nuvecc_free(u);
  free(exact);
  return status;
}

static const char yaml_text[] =
    "# \xC3\xA9: cut off anywhere\nnuvec: 1\nname: cut\nx-a: &t {a: \"float32[4]\", b: 'float32[N]'}\n"
    "types: {pair: *t}\nconstants: {k: {value: [1, 2.5], dtype: float32}}\nfunctions:\n  g:\n    dims: {N: {min: 1}}\n"
    "    dtypes: {T: [float32]}\n    static: {n: 3, act: {enum: [relu, gelu], default: relu}}\n"
    "    inputs: {x: \"float32[4, N]\", w: T, p: pair}\n    nodes:\n      - |\n        y = (x + 1e-3) * \\\n"
    "      - if: act == 'relu'\n        then: [\"y = maximum(x, 0)\"]\n        else: >\n          y = gelu(x)\n\n"
    "      - {for: i, in: \"range(n)\", carry: [y], do: [y = y + i]}\n"
    "      - {name: z, op: sum, inputs: [y, {const: [1, 2], dtype: int32}], axis: -1}\n"
    "    outputs: {z: z, \"q\\u0041\\x41\": [y, 'it''s']}\nentries: {g: {signatures: [{N: 4, T: float32}]}}\n";
static const char json_text[] =
    "{\"nuvec\": 1, \"name\": \"cut\", \"functions\": {\"f\": {\"doc\": \"\\u00e9\\ud83d\\ude00 \xC3\xA9\\n\","
    "\"inputs\": {\"x\": {\"dtype\": \"float32\", \"shape\": [4, null]}}, \"nodes\": [\"a = x[1:, None] ** -0.5\","
    "{\"name\": \"/y/0\", \"op\": \"add\", \"inputs\": [\"a\", {\"const\": [[1e-3, -2]], \"dtype\": \"float32\"}]},"
    "{\"name\": \"y\", \"op\": \"sum\", \"inputs\": [\"/y/0\"], \"axis\": [0], \"keepdims\": true}],"
    "\"outputs\": [\"y\", \"a\"]}}, \"entries\": {\"f\": {\"style\": \"flat\", "
    "\"signatures\": [{\"x\": \"float32[4,4]\"}]}}}";

static void cut_everywhere(void **state) {
  (void)state;
  said s;
  for (size_t n = 0; n < sizeof yaml_text; n++) {
    nuvecc_status status = compile(yaml_text, n, NUVECC_FORMAT_YAML, 0, &s, NULL);
    assert_true(status == NUVECC_OK || (status == NUVECC_SPEC && s.errors > 0));
  }
  for (size_t n = 0; n < sizeof json_text - 2; n++) {
    assert_int_equal(compile(json_text, n, NUVECC_FORMAT_JSON, 0, &s, NULL), NUVECC_SPEC);
    assert_true(s.errors > 0);
  }
}

/* A byte changed into each of a few others. */
static void changed_everywhere(void **state) {
  (void)state;
  static const char others[] = {0, '\n', '"', '\'', '[', '}', ':', '&', '*', '9', '\t', '\x80', '\xFF'};
  said s;
  for (int json = 0; json < 2; json++) {
    size_t n = json ? sizeof json_text - 1 : sizeof yaml_text - 1;
    char *text = malloc(n);
    assert_non_null(text);
    memcpy(text, json ? json_text : yaml_text, n);
    for (size_t at = 0; at < n; at++)
      for (size_t k = at % 3; k < sizeof others; k += 3) {
        char was = text[at];
        text[at] = others[k];
        nuvecc_status status = compile(text, n, json ? NUVECC_FORMAT_JSON : NUVECC_FORMAT_YAML, 0, &s, NULL);
        assert_true(status == NUVECC_OK || (status == NUVECC_SPEC && s.errors > 0));
        text[at] = was;
      }
    free(text);
  }
}

/* Wherever memory ends, the status says so, and nothing leaks. */
static void memory_ends(void **state) {
  (void)state;
  static const char text[] = "nuvec: 1\nname: m\nfunctions:\n  f:\n    inputs: {x: \"float32[4]\"}\n"
                             "    nodes: |\n      y = x\n      z = exp(y) + y * 2\n    outputs: [y, z]\n";
  said s;
  char *fault;
  int refused = 0;
  for (size_t memory = 1000; memory < 4000000; memory += memory / 4) {
    nuvecc_status status = compile(text, sizeof text - 1, NUVECC_FORMAT_YAML, memory, &s, &fault);
    char want[100];
    snprintf(want, sizeof want, "out of memory: the limit of %zu bytes is reached", memory);
    assert_true(status == NUVECC_OK || status == NUVECC_IO);
    if (status == NUVECC_IO) {
      assert_string_equal(fault, want);
      refused++;
    }
    free(fault);
  }
  assert_true(refused > 5);
  assert_int_equal(compile(text, sizeof text - 1, NUVECC_FORMAT_YAML, 0, &s, NULL), NUVECC_OK);
}

/* Endless words are shown in part, control characters not at all. */
static void long_words(void **state) {
  (void)state;
  enum { N = 100000 };
  char *text = malloc(N + 300);
  assert_non_null(text);
  int n = sprintf(text, "nuvec: 1\nname: m\nfunctions:\n  f:\n    inputs: {x: \"float32[4]\"}\n"
                        "    outputs: \"x + '\\\\n");
  for (int k = 0; k < N / 2; k++) n += sprintf(text + n, "\xC3\xA9");
  n += sprintf(text + n, "'\"\n");
  said s;
  assert_int_equal(compile(text, (size_t)n, NUVECC_FORMAT_YAML, 0, &s, NULL), NUVECC_SPEC);
  free(text);
  assert_true(s.longest < 400);
  assert_non_null(strstr(s.last, "'?\xC3\xA9"));
  assert_non_null(strstr(s.last, "\xC3\xA9\xE2\x80\xA6"));
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(cut_everywhere), cmocka_unit_test(changed_everywhere),
                                     cmocka_unit_test(memory_ends), cmocka_unit_test(long_words)};
  return cmocka_run_group_tests_name("test_hostile", tests, NULL, NULL);
}
