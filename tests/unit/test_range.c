/* test_range.c - what values an integer array can hold: by dtype, through ops, at the edges of int64, and never too
 * narrow for graphs too large to look at. */
#include "ir/graph.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static nv_ctx *c;

static void holds(const char *nodes, int64_t least, int64_t most) {
  uint32_t line = 0;
  const char *why = NULL;
  const char *text = nv_format(c, "graph g\n%s", nodes);
  nv_graph *g = nv_graph_read(c, text, strlen(text), &why, &line);
  if (!g) fail_msg("line %u: %s", (unsigned)line, why);
  int64_t a, b;
  nv_range(g, g->nvalues - 1, &a, &b);
  if (a != least || b != most)
    fail_msg("%s is %lld to %lld, not %lld to %lld", nodes, (long long)a, (long long)b, (long long)least,
             (long long)most);
}

#define U8 "%0 = input \"x\" : uint8[4]\n"
#define I8 "%0 = input \"x\" : int8[4]\n"
#define I32 "%0 = input \"x\" : int32[4]\n"
#define I64 "%0 = input \"x\" : int64[4]\n"
#define U64 "%0 = input \"x\" : uint64[4]\n"
#define K(n, bits, dtype) "%" n " = const " bits " : " dtype "[]\n"
#define SPREAD(n, from, dtype) "%" n " = broadcast_to %" from " : " dtype "[4]\n"

static void leaves(void **state) {
  (void)state;
  holds(U8, 0, 255);
  holds(I8, -128, 127);
  holds(I64, INT64_MIN, INT64_MAX);
  holds(U64, 0, INT64_MAX);
  holds("%0 = input \"x\" : bool[2]\n", 0, 1);
  holds(K("0", "0xfffffffe", "int32"), -2, -2);
  holds(K("0", "0xff", "int8"), -1, -1);
  holds(K("0", "0xff", "uint8"), 255, 255);
  holds(K("0", "0xffffffffffffffff", "uint64"), 0, INT64_MAX);
  holds(K("0", "0x8000000000000000", "int64"), INT64_MIN, INT64_MIN);
  holds("%0 = iota {7} : int32[9]\n", 0, 8);
}

static void ops(void **state) {
  (void)state;
  holds(U8 "%1 = astype %0 {7} : int32[4]\n", 0, 255);
  holds(I8 "%1 = astype %0 {3} : uint32[4]\n", 0, UINT32_MAX);
  holds(U64 "%1 = astype %0 {8} : int64[4]\n", INT64_MIN, INT64_MAX);
  holds("%0 = input \"x\" : float32[4]\n%1 = astype %0 {7} : int32[4]\n", INT32_MIN, INT32_MAX);
  holds(I32 K("1", "0x00000005", "int32") SPREAD("2", "1", "int32") "%3 = remainder %0, %2 : int32[4]\n", 0, 4);
  holds(I32 K("1", "0xfffffffb", "int32") SPREAD("2", "1", "int32") "%3 = remainder %0, %2 : int32[4]\n", -4, 0);
  holds(I32 K("1", "0x00000000", "int32") SPREAD("2", "1", "int32")
        "%3 = remainder %0, %2 : int32[4]\n", INT32_MIN, INT32_MAX);
  holds(I32 K("1", "0x00000005", "int32") SPREAD("2", "1", "int32") "%3 = minimum %0, %2 : int32[4]\n", INT32_MIN, 5);
  holds(I32 K("1", "0x00000005", "int32") SPREAD("2", "1", "int32") "%3 = maximum %0, %2 : int32[4]\n", 5, INT32_MAX);
  holds(U64 K("1", "0x0000000000000005", "uint64") SPREAD("2", "1", "uint64")
        "%3 = minimum %0, %2 : uint64[4]\n", 0, 5);
  holds(I32 K("1", "0x00000005", "int32") SPREAD("2", "1", "int32")
        "%3 = add %0, %2 : int32[4]\n", INT32_MIN, INT32_MAX);
  holds(U8 "%1 = astype %0 {7} : int32[4]\n" K("2", "0xfffffffe", "int32") SPREAD("3", "2", "int32")
        "%4 = multiply %1, %3 : int32[4]\n", -510, 0);
  holds(U8 "%1 = astype %0 {7} : int32[4]\n" K("2", "0x00000064", "int32") SPREAD("3", "2", "int32")
        "%4 = subtract %1, %3 : int32[4]\n", -100, 155);
  holds(U8 K("1", "0x02", "uint8") SPREAD("2", "1", "uint8") "%3 = subtract %0, %2 : uint8[4]\n", 0, 255);
  holds(I64 K("1", "0x0000000000000002", "int64") SPREAD("2", "1", "int64")
        "%3 = multiply %0, %2 : int64[4]\n", INT64_MIN, INT64_MAX);
  holds(I8 K("1", "0x03", "int8") SPREAD("2", "1", "int8") "%3 = floor_divide %0, %2 : int8[4]\n", -43, 42);
}

/* where(i < 0, i + n, i) */
#define WRAPPED \
  K("1", "0x00000000", "int32") SPREAD("2", "1", "int32") K("3", "0x0000000a", "int32") SPREAD("4", "3", "int32")

static void from_the_end(void **state) {
  (void)state;
  holds(I32 WRAPPED "%5 = less %0, %2 : bool[4]\n%6 = add %0, %4 : int32[4]\n%7 = where %5, %6, %0 : int32[4]\n",
        INT32_MIN + 10, INT32_MAX);
  holds(I32 WRAPPED "%5 = less %0, %2 : bool[4]\n%6 = add %4, %0 : int32[4]\n%7 = where %5, %6, %0 : int32[4]\n",
        INT32_MIN + 10, INT32_MAX);
  /* of -10 to 9: all inside */
  holds(I32 WRAPPED K("5", "0xfffffff6", "int32") SPREAD("6", "5", "int32") K("7", "0x00000009", "int32")
            SPREAD("8", "7", "int32") "%9 = maximum %0, %6 : int32[4]\n%10 = minimum %9, %8 : int32[4]\n"
                                      "%11 = less %10, %2 : bool[4]\n%12 = add %10, %4 : int32[4]\n"
                                      "%13 = where %11, %12, %10 : int32[4]\n",
        0, 9);
  /* another condition: both sides as they are */
  holds(I32 WRAPPED "%5 = less %0, %4 : bool[4]\n%6 = where %5, %4, %2 : int32[4]\n", 0, 10);
}

static void large(void **state) {
  (void)state;
  nv_buf b;
  nv_buf_init(&b, c);
  nv_puts(&b, U8);
  for (int k = 1; k < 300; k++) nv_printf(&b, "%%%d = copy %%%d : uint8[4]\n", k, k - 1);
  holds(nv_buf_text(&b), 0, 255);
  nv_drop(c, b.p);
  nv_buf_init(&b, c);
  nv_puts(&b, U8 "%1 = astype %0 {7} : int32[4]\n");
  for (int k = 2; k < 300; k++) nv_printf(&b, "%%%d = copy %%%d : int32[4]\n", k, k - 1);
  holds(nv_buf_text(&b), INT32_MIN, INT32_MAX); /* too far to see */
}

static int start(void **state) {
  (void)state;
  c = nv_ctx_new(NULL);
  if (!c) return -1;
  nv_dims_init(c);
  nv_graph_tables_init(c);
  return 0;
}

static int end(void **state) {
  (void)state;
  nv_ctx_free(c);
  return 0;
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(leaves, start, end), cmocka_unit_test_setup_teardown(ops, start, end),
      cmocka_unit_test_setup_teardown(from_the_end, start, end), cmocka_unit_test_setup_teardown(large, start, end)};
  return cmocka_run_group_tests_name("test_range", tests, NULL, NULL);
}
