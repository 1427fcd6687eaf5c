/* test_ops.c - the op table: every row complete and consistent, names and aliases found, operand counts. */
#include "ir/op.h"

#include <ctype.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

static void find(void **state) {
  (void)state;
  assert_int_equal(nv_op_find("add"), NV_OP_add);
  assert_int_equal(nv_op_find("logaddexp"), NV_OP_logaddexp);
  assert_int_equal(nv_op_find("permute_dims"), NV_OP_transpose);
  const char *const unknown[] = {"", "ad", "addd", "Add", "input", "const", "gelu", "add ", "permute"};
  for (size_t k = 0; k < sizeof unknown / sizeof *unknown; k++)
    assert_int_equal(nv_op_find(unknown[k]), NV_NOPS);
}

static void every_name(void **state) {
  (void)state;
  for (int op = NV_OP_DATA + 1; op < NV_NOPS; op++) {
    assert_non_null(nv_ops[op].name);
    assert_int_equal(nv_op_find(nv_ops[op].name), nv_ops[op].flags & NV_INNER ? NV_NOPS : op);
    char words[128];
    snprintf(words, sizeof words, "%s", nv_ops[op].aliases ? nv_ops[op].aliases : "");
    for (char *rest = words, *word; (word = strtok_r(rest, " ", &rest));)
      assert_int_equal(nv_op_find(word), op);
  }
}

static void arity(void **state) {
  (void)state;
  static const struct {
    nv_op op;
    uint32_t min, max;
  } want[] = {{NV_OP_INPUT, 0, 0}, {NV_OP_CONST, 0, 0}, {NV_OP_exp, 1, 1}, {NV_OP_add, 2, 2},
              {NV_OP_where, 3, 3}, {NV_OP_clip, 1, 3},  {NV_OP_sum, 1, 1}, {NV_OP_reshape, 1, 1}};
  for (size_t k = 0; k < sizeof want / sizeof *want; k++) {
    uint32_t min, max;
    nv_op_arity(want[k].op, &min, &max);
    assert_int_equal(min, want[k].min);
    assert_int_equal(max, want[k].max);
  }
}

/* The attributes as MLX's Python has them. */
static void attributes(void **state) {
  (void)state;
  const nv_attr_info *a = nv_ops[NV_OP_sum].attrs;
  assert_string_equal(a[0].name, "axis");
  assert_int_equal(a[0].kind, NV_AT_AXES);
  assert_string_equal(a[0].default_, "None");
  assert_string_equal(a[1].name, "keepdims");
  assert_string_equal(a[1].default_, "false");
  assert_int_equal(a[2].kind, NV_AT_END);
  assert_null(nv_ops[NV_OP_expand_dims].attrs[0].default_);
  assert_string_equal(nv_ops[NV_OP_squeeze].attrs[0].default_, "None");
  assert_string_equal(nv_ops[NV_OP_transpose].attrs[0].default_, "None");
  assert_null(nv_ops[NV_OP_reshape].attrs[0].default_);
  assert_null(nv_ops[NV_OP_astype].attrs[0].default_);
}

/* Is each $ of a Metal text one of $0 $1 $2 (below the op's operands), $T, $O, $U, and do the brackets
 * match? */
static void check_text(const char *name, const char *text, uint32_t operands) {
  int depth = 0;
  for (const char *p = text; *p; p++) {
    if (*p == '(') depth++;
    if (*p == ')' && depth-- == 0) fail_msg("%s: brackets of %s", name, text);
    if (*p != '$') continue;
    p++;
    if (!strchr("TOU", *p) && !(isdigit((unsigned char)*p) && (uint32_t)(*p - '0') < operands))
      fail_msg("%s: $%c in %s", name, *p, text);
  }
  if (depth) fail_msg("%s: brackets of %s", name, text);
}

static void rows(void **state) {
  (void)state;
  for (int op = NV_OP_DATA + 1; op < NV_NOPS; op++) {
    const nv_op_info *o = &nv_ops[op];
    uint32_t min, max;
    nv_op_arity((nv_op)op, &min, &max);
    assert_true((min >= 1 || o->cls == NV_EXPAND || o->cls == NV_INDEX) && max <= NV_MAX_OPERANDS);
    assert_non_null(o->doc);
    assert_int_equal(o->doc[strlen(o->doc) - 1], '.');
    if (o->edges) assert_int_equal(o->edges[strlen(o->edges) - 1], '.');
    /* what isn't rounded alike everywhere says how far it may be off */
    if (o->cls == NV_ELEM && (o->domain & NV_BITS_FLOAT) && (o->flags & NV_EXACT ? o->ulp != NULL : !o->ulp))
      fail_msg("%s: exact or with an error?", o->name);
    assert_true(o->domain != 0 && (o->domain & ~NV_BITS_ALL) == 0);
    if (o->flags & NV_COMMUTES) assert_int_equal(min, 2);
    /* an op that becomes kernel text has it for every kind that it takes; astype's and where the kinds differ
     * aside */
    bool texts = o->cls == NV_ELEM || o->cls == NV_REDUCE || o->cls == NV_COPY;
    for (int d = 0; d < NV_NDTYPES && texts && op != NV_OP_astype; d++) {
      if (!nv_is((nv_dtype)d, o->domain)) continue;
      if (o->dtype == NV_DT_SUM && d == NV_BOOL) continue; /* joined as int32 */
      const char *text = o->msl[nv_kind_of((nv_dtype)d)];
      if (!text) fail_msg("%s has no Metal text for %s", o->name, nv_dtype_name[d]);
      check_text(o->name, text, o->cls == NV_REDUCE ? 2 : max);
    }
    /* the helpers are those that the float text calls */
    const char *text = o->msl[NV_KIND_FLOAT];
    if (o->helpers) {
      assert_non_null(text);
      assert_non_null(strstr(text, o->helpers));
    } else if (text) {
      assert_null(strstr(text, "nv_"));
    }
  }
}

/* The helpers' text: what "//: NAME needs …" lists is what the function calls, and all of it is defined
 * before. */
static bool listed(const char *list, const char *word, size_t n) {
  for (const char *p = list; (p = strstr(p, word)); p += n)
    if (p[-1] == ' ' && (p[n] == ' ' || p[n] == 0)) return true;
  return false;
}

static void needs(void **state) {
  (void)state;
  FILE *f = fopen("lib/ir/math.inc", "r");
  assert_non_null(f);
  char line[512], list[512] = " ", name[64] = "";
  unsigned functions = 0, called = 0, wanted = 0;
  char seen[2048] = " "; /* words that the current function has called */
  while (fgets(line, sizeof line, f)) {
    line[strcspn(line, "\n")] = 0;
    if (!strncmp(line, "//: ", 4)) {
      assert_int_equal(called, wanted);
      functions++;
      called = wanted = 0;
      strcpy(seen, " ");
      assert_int_equal(sscanf(line, "//: %63s needs", name), 1);
      const char *p = strstr(line, " needs");
      assert_non_null(p);
      strcpy(list, p + 6);
      for (p = list; (p = strstr(p, " nv_")); p++) wanted++;
      continue;
    }
    if (!strncmp(line, "//", 2)) continue;
    for (char *p = line; (p = strstr(p, "nv_"));) {
      const size_t n = strspn(p, "abcdefghijklmnopqrstuvwxyz0123456789_");
      char word[64];
      snprintf(word, sizeof word, "%.*s", (int)n, p);
      p += n;
      if (!strcmp(word, name) || listed(seen, word, n)) continue;
      if (!listed(list, word, n)) fail_msg("%s calls %s, which its line doesn't list", name, word);
      strcat(seen, word);
      strcat(seen, " ");
      called++;
    }
  }
  fclose(f);
  assert_int_equal(called, wanted);
  assert_true(functions > 20);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(find),  cmocka_unit_test(every_name),
                                     cmocka_unit_test(arity), cmocka_unit_test(attributes),
                                     cmocka_unit_test(rows),  cmocka_unit_test(needs)};
  return cmocka_run_group_tests_name("test_ops", tests, NULL, NULL);
}
