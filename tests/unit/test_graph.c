/* test_graph.c - shapes, attributes, building, inference, the printer and its reader, the verifier. */
#include "ir/graph.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

static nv_ctx *c;
static int setup(void **state) {
  (void)state;
  c = nv_ctx_new(NULL);
  if (!c) return -1;
  nv_dims_init(c);
  nv_graph_tables_init(c);
  return 0;
}
static int teardown(void **state) {
  (void)state;
  nv_ctx_free(c);
  return 0;
}

static nv_str str(const char *s) { return nv_intern_z(c, s); }
static nv_dim sym(const char *name) { return nv_dim_symbol(c, str(name), 0, 1024); }
static nv_shape shape(uint32_t rank, int64_t a, int64_t b, int64_t d) {
  const int64_t dims[3] = {a, b, d};
  return nv_shape_of_ints(c, dims, rank);
}
static const char *printed(const nv_graph *g) {
  nv_buf b;
  nv_buf_init(&b, c);
  nv_graph_print(&b, g);
  return nv_buf_text(&b);
}
static void fails(const char *why, const char *want) {
  assert_non_null(why);
  assert_string_equal(why, want);
}

/* Runs call(arg) behind a door; the text of what it raised, NULL if nothing. */
static const char *raised(void (*call)(void *), void *arg) {
  c->door_open = true;
  if (setjmp(c->door)) return c->fault;
  call(arg);
  c->door_open = false;
  return NULL;
}

/* ---- tables ---- */

static void shapes(void **state) {
  (void)state;
  nv_shape s = shape(3, 2, 3, 4);
  assert_int_equal(s, shape(3, 2, 3, 4));
  assert_int_not_equal(s, shape(3, 2, 4, 3));
  assert_int_equal(shape(0, 0, 0, 0), 0);
  assert_int_equal(nv_shape_rank(c, s), 3);
  assert_int_equal(nv_shape_count(c, s), 24);
  assert_int_equal(nv_shape_count(c, 0), 1);
  assert_string_equal(nv_shape_text(c, s), "[2, 3, 4]");
  assert_string_equal(nv_shape_text(c, 0), "[]");
  const nv_dim dims[2] = {sym("B"), nv_dim_add(c, sym("B"), nv_dim_const(c, 1))};
  nv_shape open = nv_shape_make(c, dims, 2);
  assert_false(nv_shape_is_static(c, open));
  assert_string_equal(nv_shape_text(c, open), "[B, B + 1]");
  nv_buf b;
  nv_buf_init(&b, c);
  nv_put_dim(&b, nv_shape_elements(c, open));
  assert_string_equal(nv_buf_text(&b), "B*B + B");
  const nv_dim *list = nv_shape_dims(c, s);
  for (int64_t k = 0; k < 2000; k++) shape(1, k, 0, 0); /* the table moves, the list doesn't */
  assert_ptr_equal(list, nv_shape_dims(c, s));
  assert_int_equal(nv_dim_value(c, list[2]), 4);

  int64_t big = INT64_C(1) << 40;
  assert_true(nv_shape_fits(c, open) && nv_shape_fits(c, shape(1, INT64_C(1) << 48, 0, 0)));
  assert_true(nv_shape_fits(c, shape(3, big, 0, big)));
  assert_int_equal(nv_shape_count(c, shape(3, big, 0, big)), 0);
  assert_int_equal(nv_dim_value(c, nv_shape_elements(c, shape(3, big, 0, big))), 0);
  assert_false(nv_shape_fits(c, shape(2, big, 257, 0)));
  assert_false(nv_shape_fits(c, shape(3, big, big, 2)));
  assert_int_equal(nv_shape_count(c, shape(3, big, big, 2)), INT64_MAX);
  assert_false(nv_shape_fits(c, shape(1, -1, 0, 0)));

  const int64_t v[3] = {1, -5, INT64_MAX};
  nv_attr a = nv_attr_make(c, v, 3);
  assert_int_equal(a, nv_attr_make(c, v, 3));
  assert_int_not_equal(a, nv_attr_make(c, v, 2));
  assert_int_equal(nv_attr_make(c, NULL, 0), NV_NO_ATTR);
  assert_int_equal(nv_attr_count(c, a), 3);
  assert_int_equal(nv_attr_list(c, a)[1], -5);
}

static void origins(void **state) {
  (void)state;
  nv_graph *g = nv_graph_new(c, str("g"));
  uint32_t h = nv_graph_origin(g, NV_NONE, str("ffn"), str("h"), 0, NV_NOWHERE);
  uint32_t y = nv_graph_origin(g, NV_NONE, str("ffn"), str("y"), 2, NV_NOWHERE);
  uint32_t e = nv_graph_origin(g, y, str("gelu"), str("e"), 0, NV_NOWHERE);
  uint32_t x = nv_graph_origin(g, e, str("erf"), str("/enc/0/Mat\"Mul\\"), 3, NV_NOWHERE);
  uint32_t o = nv_graph_origin(g, NV_NONE, str("ffn"), 0, 1, NV_NOWHERE);
  const struct {
    uint32_t origin;
    const char *text;
  } want[] = {{h, "ffn.h"},          {y, "ffn.y#2"},
              {e, "ffn.y#2/gelu.e"}, {x, "ffn.y#2/gelu.e/erf.\"/enc/0/Mat\\\"Mul\\\\\"#3"},
              {o, "ffn#1"},          {NV_NONE, ""}};
  for (size_t k = 0; k < sizeof want / sizeof *want; k++) {
    nv_buf b;
    nv_buf_init(&b, c);
    nv_put_origin(&b, g, want[k].origin);
    assert_string_equal(nv_buf_text(&b), want[k].text);
  }
}

/* ---- inference ---- */

static nv_graph *g;
static nv_value in(nv_dtype d, nv_shape s) { return nv_graph_input(g, str("x"), d, s, NV_NOWHERE); }

/* The op of a name, inner ones too. */
static nv_op named(const char *name) {
  int op = 0;
  while (op < NV_NOPS && strcmp(nv_ops[op].name, name)) op++;
  return (nv_op)op;
}

/* What nv_infer says of op on these: "float32[2, 3]", or its reason. want: the given result shape. */
static const char *infer(const char *op, const nv_value *v, uint32_t n, const int64_t *attr, uint32_t nattr,
                         nv_shape want) {
  nv_dtype d = NV_BOOL;
  const char *why = NULL;
  if (!nv_infer(g, named(op), v, n, nv_attr_make(c, attr, nattr), &d, &want, &why)) return why;
  return nv_format(c, "%s%s", nv_dtype_name[d], nv_shape_text(c, want));
}
#define INFER(op, want, ...)                                                               \
  do {                                                                                     \
    const nv_value v_[] = {__VA_ARGS__};                                                   \
    assert_string_equal(infer(op, v_, sizeof v_ / sizeof *v_, attr, nattr, result), want); \
  } while (0)
#define ATTR(...)                       \
  do {                                  \
    const int64_t a_[] = {__VA_ARGS__}; \
    nattr = sizeof a_ / sizeof *a_;     \
    memcpy(attr, a_, sizeof a_);        \
  } while (0)

static void inference(void **state) {
  (void)state;
  int64_t attr[20];
  uint32_t nattr = 0;
  nv_shape result = 0, s = shape(2, 2, 3, 0);
  g = nv_graph_new(c, str("g"));
  nv_value f = in(NV_F32, s), i = in(NV_I32, s), b = in(NV_BOOL, s), h = in(NV_F16, s), u8 = in(NV_U8, s);
  nv_value f3 = in(NV_F32, shape(1, 3, 0, 0)), f4 = in(NV_F32, shape(1, 4, 0, 0)), scalar = in(NV_F32, 0);
  nv_value thin = in(NV_F32, shape(3, 1, 3, 1)), none = in(NV_F32, shape(2, 0, 3, 0));
  const nv_dim open_dims[2] = {sym("B"), nv_dim_const(c, 3)};
  nv_value open = in(NV_F32, nv_shape_make(c, open_dims, 2));

  INFER("add", "float32[2, 3]", f, f);
  INFER("add", "int32[2, 3]", i, i);
  INFER("add", "bool[2, 3]", b, b);
  INFER("add", "float32[B, 3]", open, open);
  INFER("add", "add takes 2 operands, not 1", f);
  INFER("add", "add has 9 operands", f, f, f, f, f, f, f, f, f);
  nv_dtype d;
  const char *why = NULL;
  assert_false(nv_infer_dtype(c, nv_op_find("clip"), NULL, 0, NV_NO_ATTR, &d, &why));
  assert_string_equal(why, "clip takes 1 to 3 operands, not 0");
  INFER("negative", "negative takes 1 operand, not 2", f, f);
  INFER("add", "add has operands of float32 and int32", f, i);
  INFER("add", "shapes [3] and [4] don't broadcast", f3, f4);
  INFER("add", "add has operands of shapes [2, 3] and [3], not broadcast yet", f, f3);
  INFER("negative", "negative doesn't take bool", b);
  INFER("less", "bool[2, 3]", h, h);
  INFER("logical_and", "bool[2, 3]", b, b);
  INFER("logical_and", "logical_and takes bool, not float32", f, f);
  INFER("where", "float16[2, 3]", b, h, h);
  INFER("where", "where takes a bool condition, not int32", i, f, f);
  INFER("where", "where has operands of float32 and int32", b, f, i);
  INFER("exp", "float16[2, 3]", h);
  INFER("exp", "exp doesn't take int32", i);
  INFER("divide", "float32[2, 3]", f, f);
  ATTR(NV_I32);
  INFER("astype", "int32[2, 3]", f);
  INFER("add", "add has no attributes here", f, f);
  ATTR(99);
  INFER("astype", "astype needs a dtype", f);
  nattr = 0;
  INFER("astype", "astype needs a dtype", f);

  result = shape(3, 3, 1, 2);
  INFER("reshape", "float32[3, 1, 2]", f);
  result = shape(1, 4, 0, 0);
  INFER("reshape", "can't reshape 6 elements into [4]", f);
  INFER("reshape", "can't reshape 1 elements into [4]", scalar);
  INFER("broadcast_to", "can't broadcast [3] to [4]", f3);
  INFER("broadcast_to", "float32[4]", scalar);
  result = shape(3, 5, 2, 3);
  INFER("broadcast_to", "float32[5, 2, 3]", f3);
  INFER("broadcast_to", "can't broadcast [1, 3, 1] to [5, 2, 3]", thin);
  result = shape(1, 3, 0, 0);
  INFER("broadcast_to", "can't broadcast [2, 3] to [3]", f);
  result = shape(3, INT64_C(1) << 40, 257, 3);
  INFER("broadcast_to", "the result [1099511627776, 257, 3] has more than 2^48 elements or a negative size",
        f3);
  const nv_dim flat = nv_dim_mul(c, sym("B"), nv_dim_const(c, 3));
  result = nv_shape_make(c, &flat, 1);
  INFER("reshape", "float32[3*B]", open);

  ATTR(1, 0);
  INFER("transpose", "float32[3, 2]", f);
  INFER("transpose", "axis 1 is out of range for rank 1", f3);
  ATTR(0, 0);
  INFER("transpose", "axis 0 is given twice", f);
  ATTR(0);
  INFER("transpose", "transpose needs 2 axes, not 1", f);
  ATTR(0, 2);
  INFER("expand_dims", "float32[1, 3, 1]", f3);
  ATTR(0, 4);
  INFER("expand_dims", "axis 4 is out of range for rank 4", f);
  ATTR(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14);
  INFER("expand_dims", "rank 17 is above 16", f);
  ATTR(0, 2);
  INFER("squeeze", "float32[3]", thin);
  ATTR(1);
  INFER("squeeze", "axis 1 has size 3, not 1", thin);
  ATTR(0);
  INFER("squeeze", "axis 0 has size B, which isn't known to be 1", open);
  ATTR(2, 0);
  INFER("squeeze", "axis 0 stands behind axis 2", thin);

  result = shape(2, 2, 2, 0);
  ATTR(0, 2, 1, -2);
  INFER("slice", "float32[2, 2]", f);
  ATTR(0, 0, 1, 3);
  INFER("slice", "axis 1 of [2, 3] has no 2 elements from 0 by 3", f);
  ATTR(1, 0, 1, 1);
  INFER("slice", "axis 0 of [2, 3] has no 2 elements from 1 by 1", f);
  ATTR(0, 0, 0, 1);
  INFER("slice", "axis 0 of [2, 3] has no 2 elements from 0 by 0", f);
  ATTR(0, 0, INT64_MIN, 1);
  INFER("slice", "axis 0 of [2, 3] has no 2 elements from 0 by -9223372036854775808", f);
  ATTR(0, 0, 1);
  INFER("slice", "a slice of [2, 3] needs rank 2 and 4 numbers", f);
  INFER("slice", "a slice of [3] needs rank 1 and 2 numbers", f3);
  ATTR(0, 0, 1, 1);
  INFER("slice", "float32[2, 2]", open); /* a guard's matter */
  result = nv_shape_make(c, open_dims, 2);
  INFER("slice", "float32[B, 3]", open);
  ATTR(1, 0, 1, 1);
  INFER("slice", "not supported yet: a slice of an open size", open);
  result = shape(1, 1, 0, 0);
  ATTR(1, 2);
  INFER("slice", "axis 0 of [3] has no 1 elements from 1 by 2", f3);

  result = shape(2, 4, 3, 0);
  ATTR(1, 0);
  INFER("pad_edge", "float32[4, 3]", f);
  INFER("pad_edge", "not supported yet: padding of an open size", open);
  INFER("pad_edge", "padding of [3] needs rank 1 and 1 numbers", f3);
  ATTR(3, 0);
  INFER("pad_edge", "axis 0 of [2, 3] isn't padded to 4 by 3 before it", f);
  ATTR(-1, 0);
  INFER("pad_edge", "axis 0 of [2, 3] isn't padded to 4 by -1 before it", f);
  INFER("pad_edge", "axis 0 of [0, 3] isn't padded to 4 by -1 before it", none);
  ATTR(0, 0);
  INFER("pad_edge", "axis 0 of [0, 3] isn't padded to 4 by 0 before it", none);
  ATTR(0);
  INFER("pad_edge", "padding of [2, 3] needs rank 2 and 2 numbers", f);

  const int64_t i32 = NV_I32, i64 = NV_I64, f32 = NV_F32, many = INT64_C(1) << 32;
  const nv_shape line = shape(1, 5, 0, 0), long_line = shape(1, many, 0, 0);
  assert_string_equal(infer("iota", NULL, 0, &i32, 1, line), "int32[5]");
  assert_string_equal(infer("iota", NULL, 0, &i64, 1, long_line), "int64[4294967296]");
  assert_string_equal(infer("iota", NULL, 0, &i32, 1, long_line), "4294967296 indices don't fit int32");
  assert_string_equal(infer("iota", NULL, 0, &f32, 1, line), "iota has no float32 form");
  assert_string_equal(infer("iota", NULL, 0, &i32, 1, s), "iota has one axis, not [2, 3]");
  const nv_dim row = sym("B");
  assert_string_equal(infer("iota", NULL, 0, &i32, 1, nv_shape_make(c, &row, 1)), "int32[B]");

  const nv_value short_index = in(NV_I64, shape(1, 3, 0, 0));
  ATTR(-1, 1);
  INFER("pick", "float32[2, 3]", f, i);
  INFER("pick", "pick takes an index of int32 or int64, not uint8", f, u8);
  INFER("pick", "pick from [0, 3], which has no elements", none, i);
  INFER("pick", "not supported yet: a pick along an open size", open, i);
  INFER("pick", "pick of rank 1 needs as many numbers", f4, i);
  ATTR(-1);
  INFER("pick", "float32[2, 3]", f4, i);
  INFER("pick", "float32[3]", f3, short_index);
  ATTR(-1, -1);
  INFER("pick", "pick counts along one axis, not 2", f, i);
  ATTR(0, 1);
  INFER("pick", "pick counts along one axis, not 0", f, i);
  ATTR(-1, 0);
  INFER("pick", "axis 1 of [2, 3] isn't axis 0 of [2, 3]", f, i);
  ATTR(-1, -2);
  INFER("pick", "axis 1 of [2, 3] isn't axis -2 of [2, 3]", f, i);

  ATTR(0);
  const nv_shape updates = shape(2, 5, 3, 0);
  const nv_value u = in(NV_F32, updates), at = in(NV_I32, updates), half = in(NV_F16, updates);
  INFER("add_at", "float32[2, 3]", f, at, u);
  INFER("set_at", "set_at takes an index of int32 or int64, not float32", f, u, u);
  INFER("set_at", "set_at has operands of float32 and float16", f, at, half);
  INFER("maximum_at", "maximum_at at [5, 3] of [2, 3] along axis 0 of [2, 3]", f, at, f);
  INFER("add_at", "not supported yet: add_at of an open size", open, at, u);
  ATTR(2);
  INFER("add_at", "add_at needs an axis of [2, 3]", f, at, u);

  ATTR(0, 0, 1);
  INFER("sum", "float32[]", f);
  INFER("sum", "int32[]", b);
  INFER("sum", "uint32[]", u8);
  INFER("max", "uint8[]", u8);
  INFER("mean", "float16[]", h);
  INFER("mean", "mean doesn't take int32", i);
  ATTR(1, 1);
  INFER("sum", "float32[2, 1]", f);
  INFER("sum", "float32[B, 1]", open);
  INFER("max", "float32[0, 1]", none);
  ATTR(0, 0);
  INFER("sum", "float32[3]", none);
  INFER("max", "max over axis 0 of [0, 3], which has no elements", none);
  ATTR(0, 2);
  INFER("sum", "axis 2 is out of range for rank 2", f);
  ATTR(0, -1);
  INFER("sum", "axis -1 is out of range for rank 2", f);
  ATTR(0, 1, 0);
  INFER("sum", "axis 0 stands behind axis 1", f);
  ATTR(2);
  INFER("sum", "sum needs keepdims and axes", f);
  ATTR(0);
  INFER("sum", "float32[2, 3]", f);
  nattr = 0;
  INFER("sum", "sum needs keepdims and axes", f);
  INFER("cumsum", "cumsum needs an axis, reverse and exclusive", f);
  ATTR(1, 0, 1);
  INFER("cumsum", "float32[2, 3]", f);
  INFER("cumsum", "float32[0, 3]", none);
  INFER("logcumsumexp", "logcumsumexp doesn't take int32", i);
  ATTR(2, 0, 0);
  INFER("cummax", "axis 2 is out of range for rank 2", f);
  ATTR(1, 2, 0);
  INFER("cummax", "cummax needs an axis, reverse and exclusive", f);
  INFER("clip", "clip is no operation of the graph", f, f);
}

static void broadcasting(void **state) {
  (void)state;
  const char *why = NULL;
  nv_shape out, s[3] = {shape(2, 5, 1, 0), shape(1, 3, 0, 0), 0};
  assert_true(nv_broadcast_shapes(c, s, 3, &out, &why));
  assert_string_equal(nv_shape_text(c, out), "[5, 3]");
  s[2] = shape(3, 2, 4, 1);
  assert_false(nv_broadcast_shapes(c, s, 3, &out, &why));
  fails(why, "shapes [5, 1], [3] and [2, 4, 1] don't broadcast");
  s[0] = shape(1, 0, 0, 0);
  s[1] = shape(1, 1, 0, 0);
  assert_true(nv_broadcast_shapes(c, s, 2, &out, &why));
  assert_string_equal(nv_shape_text(c, out), "[0]");
  nv_dim b = sym("B"), n = sym("n");
  s[0] = nv_shape_make(c, &b, 1);
  s[1] = nv_shape_make(c, &n, 1);
  assert_true(nv_broadcast_shapes(c, s, 2, &out, &why));
  assert_string_equal(nv_shape_text(c, out), "[bcast(B, n)]");
  s[1] = shape(1, 2048, 0, 0); /* B is at most 1024, and may be 1 */
  assert_true(nv_broadcast_shapes(c, s, 2, &out, &why));
  n = nv_dim_symbol(c, str("many"), 2, 9);
  s[0] = nv_shape_make(c, &n, 1);
  assert_false(nv_broadcast_shapes(c, s, 2, &out, &why));
  fails(why, "shapes [many] and [2048] don't broadcast");
}

/* ---- printing and reading ---- */

/* x [B, 3] and p.w [3] to (x + w) * 0.5, its sum, and more kinds of lines. */
static nv_graph *example(void) {
  nv_graph *e = nv_graph_new(c, str("ffn"));
  const nv_dim dims[2] = {sym("B"), nv_dim_const(c, 3)},
               axis = nv_dim_floordiv(c, sym("B"), nv_dim_const(c, 2));
  nv_shape s = nv_shape_make(c, dims, 2);
  nv_value x = nv_graph_input(e, str("x"), NV_F32, s, NV_NOWHERE);
  nv_value w = nv_graph_input(e, str("p.w"), NV_F32, shape(1, 3, 0, 0), NV_NOWHERE);
  nv_graph_input(e, str("unused"), NV_BOOL, nv_shape_make(c, &axis, 1), NV_NOWHERE);
  uint32_t h = nv_graph_origin(e, NV_NONE, str("ffn"), str("h"), 0, NV_NOWHERE);
  uint32_t inner = nv_graph_origin(e, h, str("half"), str("a node"), 1, NV_NOWHERE);
  nv_value half = nv_graph_const(e, NV_F32, 0x3f000000, inner);
  nv_value wide = nv_graph_add(e, nv_op_find("broadcast_to"), &w, 1, NV_NO_ATTR, NV_F32, s, h);
  nv_value halves = nv_graph_add(e, nv_op_find("broadcast_to"), &half, 1, NV_NO_ATTR, NV_F32, s, h);
  const nv_value sum[2] = {x, wide};
  nv_value a = nv_graph_add(e, nv_op_find("add"), sum, 2, NV_NO_ATTR, NV_F32, s, h);
  const nv_value product[2] = {a, halves};
  nv_value m = nv_graph_add(e, nv_op_find("multiply"), product, 2, NV_NO_ATTR, NV_F32, s, inner);
  const int64_t axes[3] = {0, 0, 1}, to[1] = {NV_I32};
  nv_value total = nv_graph_add(e, nv_op_find("sum"), &m, 1, nv_attr_make(c, axes, 3), NV_F32, 0, NV_NONE);
  nv_value whole =
      nv_graph_add(e, nv_op_find("astype"), &total, 1, nv_attr_make(c, to, 1), NV_I32, 0, NV_NONE);
  nv_graph_output(e, m, str("y"), NV_NOWHERE);
  nv_graph_output(e, whole, str("total \"n\""), NV_NOWHERE);
  nv_graph_output(e, m, str("again"), NV_NOWHERE);
  return e;
}

static const char example_text[] = "graph ffn\n"
                                   "dim B 0..1024\n"
                                   "%0 = input \"x\" : float32[B, 3]\n"
                                   "%1 = input \"p.w\" : float32[3]\n"
                                   "%2 = input \"unused\" : bool[B//2]\n"
                                   "%3 = const 0x3f000000 : float32[]  # 0.5 ffn.h/half.\"a node\"#1\n"
                                   "%4 = broadcast_to %1 : float32[B, 3]  # ffn.h\n"
                                   "%5 = broadcast_to %3 : float32[B, 3]  # ffn.h\n"
                                   "%6 = add %0, %4 : float32[B, 3]  # ffn.h\n"
                                   "%7 = multiply %6, %5 : float32[B, 3]  # ffn.h/half.\"a node\"#1\n"
                                   "%8 = sum %7 {0, 0, 1} : float32[]\n"
                                   "%9 = astype %8 {7} : int32[]\n"
                                   "output \"y\" = %7\n"
                                   "output \"total \\\"n\\\"\" = %9\n"
                                   "output \"again\" = %7\n";

static nv_graph *read_back(const char *text, const char **why, uint32_t *line) {
  return nv_graph_read(c, text, strlen(text), why, line);
}

static void printing(void **state) {
  (void)state;
  const char *why;
  uint32_t line;
  nv_graph *e = example();
  nv_verify(e, NV_STAGE_TRACED);
  assert_string_equal(printed(e), example_text);
  nv_graph *r = read_back(example_text, &why, &line);
  if (!r) fail_msg("line %u: %s", line, why);
  nv_verify(r, NV_STAGE_TRACED);
  assert_string_equal(printed(r), example_text);
  assert_int_equal(r->norigins, 2); /* shared */
  assert_int_equal(r->ninputs, 3);
  /* in a context of its own the symbols come from the dim lines */
  nv_ctx *mine = c;
  c = nv_ctx_new(NULL);
  nv_dims_init(c);
  nv_graph_tables_init(c);
  r = read_back(example_text, &why, &line);
  assert_non_null(r);
  assert_string_equal(printed(r), example_text);
  nv_ctx_free(c);
  c = mine;
  /* free form */
  r = read_back("# a comment\n\n graph   \"two words\"  # so\r\n%0=input\"x\":i32[ 2 ,3 ]\n  output\"o\"=%0",
                &why, &line);
  assert_non_null(r);
  assert_string_equal(printed(r), "graph \"two words\"\n%0 = input \"x\" : int32[2, 3]\noutput \"o\" = %0\n");

  nv_buf b;
  nv_buf_init(&b, c);
  nv_graph_dot(&b, e);
  assert_non_null(
      strstr(nv_buf_text(&b), "n6 [fillcolor=lightblue, label=\"add\\nfloat32[B, 3]\\nffn.h\"];"));
  assert_non_null(strstr(nv_buf_text(&b), "n4 -> n6;"));
  assert_non_null(strstr(nv_buf_text(&b), "label=\"total \\\"n\\\"\"]"));
}

static void constants(void **state) {
  (void)state;
  const struct {
    nv_dtype d;
    uint64_t bits;
    const char *want;
  } rows[] = {{NV_BOOL, 1, "true"},
              {NV_U8, 255, "255"},
              {NV_I8, 0x80, "-128"},
              {NV_I64, UINT64_C(1) << 63, "-9223372036854775808"},
              {NV_U64, UINT64_MAX, "18446744073709551615"},
              {NV_F32, 0x80000000, "-0.0"},
              {NV_F32, 0x7f800000, "inf"},
              {NV_F16, 0x3c00, "1.0"},
              {NV_BF16, 0x7fc0, "nan"},
              {NV_C64, UINT64_C(0xc00000003f800000), "1.0-2.0j"},
              {NV_C64, UINT64_C(0x0000000080000000), "-0.0+0.0j"}};
  for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
    nv_buf b;
    nv_buf_init(&b, c);
    nv_put_const(&b, rows[k].d, rows[k].bits);
    assert_string_equal(nv_buf_text(&b), rows[k].want);
    nv_graph *e = nv_graph_new(c, str("k"));
    nv_value v = nv_graph_const(e, rows[k].d, rows[k].bits, NV_NONE);
    nv_graph_output(e, v, str("o"), NV_NOWHERE);
    const char *why, *text = printed(e);
    uint32_t line;
    nv_graph *r = read_back(text, &why, &line);
    assert_non_null(r);
    assert_int_equal(nv_attr_list(c, r->nodes[0].attr)[0], (int64_t)rows[k].bits);
    assert_string_equal(printed(r), text);
  }
}

static void sizes(void **state) {
  (void)state;
  static const char *const texts[] = {"2*B + 1",
                                      "(n + 3)//4",
                                      "min(B, n)",
                                      "max(B + 1, 2*n)",
                                      "bcast(B, n)",
                                      "B*n - 7",
                                      "2*(n//3)",
                                      "(B*n)//(n + 1)",
                                      "n%8",
                                      "4*(n%2) + 1",
                                      "-(n%4) + 9",
                                      "min(max(B, 3), 7)%5",
                                      "B*B*n + B*n",
                                      "(7*B + n)//(-n + 2000)",
                                      "0",
                                      "-B + 1030",
                                      "x.0 + 1",
                                      "\"a b\"*x.0",
                                      "min(bcast(B, n), 2)//3"};
  for (size_t k = 0; k < sizeof texts / sizeof *texts; k++) {
    const char *why, *head = "graph g\ndim B 0..1024\ndim n 0..1024\ndim x.0 0..5\ndim \"a b\" 1..7\n";
    uint32_t line;
    nv_graph *r = read_back(nv_format(c, "%s%%0 = input \"x\" : bool[%s]\n", head, texts[k]), &why, &line);
    if (!r) fail_msg("%s: line %u: %s", texts[k], line, why);
    const char *first = nv_shape_text(c, r->values[0].shape);
    r = read_back(nv_format(c, "%s%%0 = input \"x\" : bool%s\n", head, first), &why, &line);
    if (!r) fail_msg("%s: line %u: %s", first, line, why);
    assert_string_equal(nv_shape_text(c, r->values[0].shape), first);
  }
  /* other ways to write the same */
  static const char *const same[][2] = {{"1+2*B", "2*B + 1"},  {"((B))", "B"},   {"B-B+3", "3"},
                                        {"-2+B*1+5", "B + 3"}, {"12//4*2", "6"}, {"-(7)//2+9", "5"}};
  for (size_t k = 0; k < sizeof same / sizeof *same; k++) {
    const char *why;
    uint32_t line;
    nv_graph *r = read_back(
        nv_format(c, "graph g\ndim B 0..1024\n%%0 = input \"x\" : bool[%s]\n", same[k][0]), &why, &line);
    if (!r) fail_msg("%s: %s", same[k][0], why);
    assert_string_equal(nv_shape_text(c, r->values[0].shape), nv_format(c, "[%s]", same[k][1]));
  }
}

static void reading_wrong(void **state) {
  (void)state;
  const struct {
    const char *text;
    uint32_t line;
    const char *why;
  } rows[] = {
      {"", 1, "the text doesn't start with 'graph NAME'"},
      {"hello", 1, "the text doesn't start with 'graph NAME'"},
      {"graph", 1, "a name is missing"},
      {"graph g x", 1, "the line goes on behind its end"},
      {"graph g\nnode\n", 2, "a line starts with %, dim, source, guard or output"},
      {"graph g\n\n%1 = input \"x\" : bool[]\n", 3, "the next value is %0"},
      {"graph g\n%0 = input x : bool[]\n", 2, "'\"' is missing"},
      {"graph g\n%0 = input \"x : bool[]\n", 2, "a string doesn't end"},
      {"graph g\n%0 = input \"x\\q\" : bool[]\n", 2, "a string has an unknown escape"},
      {"graph g\n%0 = input \"x\" : float64[]\n", 2, "'float64' is no dtype"},
      {"graph g\n%0 = input \"x\" : bool[2\n", 2, "',' is missing"},
      {"graph g\n%0 = input \"x\" : bool[2,]\n", 2, "a size is missing"},
      {"graph g\n%0 = input \"x\" : bool[-2]\n", 2, "[-2] has more than 2^48 elements or a negative size"},
      {"graph g\n%0 = input \"x\" : bool[281474976710657]\n", 2,
       "[281474976710657] has more than 2^48 elements or a negative size"},
      {"graph g\n%0 = input \"x\" : bool[99999999999999999999]\n", 2, "a number is too large"},
      {"graph g\n%0 = input \"x\" : bool[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]\n", 2, "rank is above 16"},
      {"graph g\n%0 = input \"x\" : bool[C]\n", 2, "size 'C' isn't declared by a dim line"},
      {"graph g\ndim C 0..4\n%0 = input \"x\" : bool[C//(C-C)]\n", 3, "a size divides by zero"},
      {"graph g\ndim C 0..4\n%0 = input \"x\" : bool[(C]\n", 3, "a size has a bracket that doesn't close"},
      {"graph g\ndim C 0..4\n%0 = input \"x\" : bool[min(C)]\n", 3,
       "a size has a bracket that doesn't close"},
      {"graph g\ndim C 0..4\n%0 = input \"x\" : bool[C C]\n", 3, "',' is missing"},
      {"graph g\ndim C 0..4\n%0 = input \"x\" : bool[C + ]\n", 3, "a size is missing"},
      {"graph g\ndim C 4..0\n", 2, "a dim's bounds are empty"},
      {"graph g\ndim C 0..4\ndim C 0..4\n", 3, "size 'C' is declared twice"},
      {"graph g\n%0 = const 0x01 : bool[]\n%1 = input \"x\" : bool[]\n", 3,
       "an input stands behind another node"},
      {"graph g\n%0 = const 0x01 : float32[]\n", 2, "a float32 has 8 digits"},
      {"graph g\n%0 = const 0x02 : bool[]\n", 2, "a bool is 0x00 or 0x01"},
      {"graph g\n%0 = const 1 : bool[]\n", 2, "'0' is missing"},
      {"graph g\n%0 = const 0x01 : bool[2]\n", 2, "a constant has rank 0"},
      {"graph g\n%0 = const 0x01 : bool[]\n%1 = nothing %0 : bool[]\n", 3, "'nothing' is no op"},
      {"graph g\n%0 = const 0x01 : bool[]\n%1 = logical_not %1 : bool[]\n", 3, "%1 isn't defined yet"},
      {"graph g\n%0 = const 0x01 : bool[]\n%1 = logical_and %0 : bool[]\n", 3,
       "logical_and takes 2 operands, not 1"},
      {"graph g\n%0 = const 0x01 : bool[]\n%1 = logical_not %0 : int32[]\n", 3,
       "logical_not gives bool[], not int32[]"},
      {"graph g\n%0 = const 0x01 : bool[]\n%1, %2 = logical_not %0 : bool[]\n", 3,
       "logical_not has 1 result"},
      {"graph g\n%0 = const 0x01 : bool[]\n%1 = add %0, %0, %0, %0, %0, %0, %0, %0, %0 : bool[]\n", 3,
       "add has more than 8 operands"},
      {"graph g\n%0 = const 0x01 : bool[]\n%1 = logical_not %0 {1 2} : bool[]\n", 3, "',' is missing"},
      {"graph g\n%0 = const 0x01 : bool[]\noutput \"o\" = %1\n", 3, "%1 isn't defined yet"},
      {"graph g\n%0 = const 0x01 : bool[]\noutput \"o\" = %0\n%1 = logical_not %0 : bool[]\n", 4,
       "a node stands behind an output"},
      {"graph g\n%0 = const 0x01 : bool[]  # true f.g/\n", 2, "a name is missing"},
  };
  for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
    const char *why;
    uint32_t line;
    assert_null(read_back(rows[k].text, &why, &line));
    assert_string_equal(why, rows[k].why);
    assert_int_equal(line, rows[k].line);
  }
  const char *why;
  uint32_t line;
  assert_null(nv_graph_read(c, "graph g\n\0", 9, &why, &line));
  fails(why, "the text has a NUL");
}

typedef struct read_call {
  const char *text;
  size_t n;
  nv_graph *g;
} read_call;
static void do_read(void *arg) {
  read_call *r = arg;
  const char *why;
  uint32_t line;
  r->g = nv_graph_read(c, r->text, r->n, &why, &line);
  if (r->g)
    nv_verify(r->g, NV_STAGE_TRACED);
  else
    assert_true(why != NULL && line > 0);
}

/* Damaged texts: an answer, and a graph that is read keeps the invariants and prints so that it reads again. */
static void reading_damaged(void **state) {
  (void)state;
  static const char pieces[] = "%0123456789 ,:[](){}#\"\\/*-+.=xabBn\n";
  uint64_t seed = 12345;
  uint32_t read = 0;
  for (int round = 0; round < 4000; round++) {
    char *text = nv_format(c, "%s", example_text);
    size_t n = strlen(text);
    for (int k = 0; k < 1 + round % 4; k++) {
      seed = seed * 6364136223846793005u + 1442695040888963407u;
      size_t at = (size_t)(seed >> 33) % n;
      char piece = pieces[(seed >> 20) % (sizeof pieces - 1)];
      if (seed >> 60 < 5 && n > 1)
        memmove(text + at, text + at + 1, n - at), n--;
      else if (seed >> 60 < 6)
        n = at ? at : 1;
      else
        text[at] = piece;
    }
    read_call call = {text, n, NULL};
    const char *fault = raised(do_read, &call);
    if (fault) assert_int_equal(c->raised, NUVECC_SPEC);
    if (fault || !call.g) continue;
    read++;
    const char *again = printed(call.g), *why;
    uint32_t line;
    nv_graph *second = read_back(again, &why, &line);
    if (!second) fail_msg("line %u: %s\n%s", line, why, again);
    assert_string_equal(printed(second), again);
  }
  assert_true(read > 100);
  /* deep nesting of every kind */
  const char *opens[] = {"(", "min(", "-(", "1+("};
  for (size_t k = 0; k < sizeof opens / sizeof *opens; k++) {
    nv_buf b;
    nv_buf_init(&b, c);
    nv_puts(&b, "graph g\n%0 = input \"x\" : bool[");
    for (int i = 0; i < 100000; i++) nv_puts(&b, opens[k]);
    read_call call = {nv_buf_text(&b), b.n, NULL};
    assert_null(raised(do_read, &call));
    assert_null(call.g);
  }
}

/* ---- the verifier ---- */

static void verify_traced(void *arg) { nv_verify(arg, NV_STAGE_TRACED); }
static void verify_simplified(void *arg) { nv_verify(arg, NV_STAGE_SIMPLIFIED); }
static void broken(nv_graph *e, void (*verify)(void *), const char *part) {
  const char *fault = raised(verify, e);
  if (!fault) fail_msg("not found: %s", part);
  if (!strstr(fault, part)) fail_msg("%s", fault);
  assert_int_equal(c->raised, NUVECC_INTERNAL);
}

static void verifier(void **state) {
  (void)state;
  c->stage = "test";
  nv_graph *e = example();
  e->pool[e->nodes[6].operands] = 7;
  broken(e, verify_traced, "internal error in test: node 6 (add ffn.h) of ffn: operand %7 isn't older");
  e = example();
  e->values[6].dtype = NV_I32;
  broken(e, verify_traced, "the result is int32, not float32");
  e = example();
  e->values[6].shape = 0;
  broken(e, verify_traced, "the result is of shape [], not [B, 3]");
  e = example();
  e->nodes[6].op = (uint16_t)nv_op_find("logical_and");
  broken(e, verify_traced, "logical_and takes bool, not float32");
  e = example();
  e->values[6].node = 5;
  broken(e, verify_traced, "result 0 belongs to node 5");
  e = example();
  e->nodes[6].operands++;
  broken(e, verify_traced, "its operands aren't in order");
  e = example();
  e->nodes[6].result--;
  broken(e, verify_traced, "its results aren't in order");
  e = example();
  e->nodes[6].origin = 77;
  broken(e, verify_traced, "no such origin");
  e = example();
  e->origins[0].parent = 0;
  e->norigins = 1;
  e->nodes[3].origin = e->nodes[7].origin = 0;
  broken(e, verify_traced, "origin 0 has a parent that isn't older");
  e = example();
  e->inputs[1].value = 0;
  broken(e, verify_traced, "an input's port has another value");
  e = example();
  e->ninputs = 2;
  broken(e, verify_traced, "the inputs don't come first");
  e = example();
  e->outputs[1].value = 10;
  broken(e, verify_traced, "output 1 has no value");
  e = example();
  e->nodes[3].attr = nv_attr_make(c, (const int64_t[]){INT64_C(1) << 32}, 1);
  broken(e, verify_traced, "a constant has bits outside its dtype");

  nv_verify(example(), NV_STAGE_SIMPLIFIED); /* an unused input stays */
  e = example();
  e->noutputs = 1;
  broken(e, verify_simplified, "node 8 (sum) of ffn: nothing uses it");
  e = example();
  nv_value twice =
      nv_graph_add(e, nv_op_find("sum"), &(nv_value){7}, 1, e->nodes[8].attr, NV_F32, 0, NV_NONE);
  nv_graph_output(e, twice, str("twice"), NV_NOWHERE);
  broken(e, verify_simplified, "it is node 8 again");
  e = example();
  nv_value same = nv_graph_add(e, nv_op_find("reshape"), &(nv_value){7}, 1, NV_NO_ATTR, NV_F32,
                               e->values[7].shape, NV_NONE);
  nv_graph_output(e, same, str("same"), NV_NOWHERE);
  broken(e, verify_simplified, "it changes nothing");
  e = nv_graph_new(c, str("square"));
  nv_value x = nv_graph_input(e, str("x"), NV_F32, shape(2, 3, 3, 0), NV_NOWHERE);
  nv_value t = nv_graph_add(e, nv_op_find("transpose"), &x, 1, nv_attr_make(c, (const int64_t[]){1, 0}, 2),
                            NV_F32, e->values[0].shape, NV_NONE);
  nv_graph_output(e, t, str("o"), NV_NOWHERE);
  nv_verify(e, NV_STAGE_SIMPLIFIED); /* equal sizes, but moved */
  for (int k = 0; k < 2; k++) {
    nv_value copy =
        nv_graph_add(e, nv_op_find("copy"), &x, 1, NV_NO_ATTR, NV_F32, e->values[0].shape, NV_NONE);
    nv_graph_output(e, copy, str("copy"), NV_NOWHERE);
  }
  nv_verify(e, NV_STAGE_SIMPLIFIED); /* copies are kept apart */
}

/* A million nodes: quick, and no recursion. */
static void large(void **state) {
  (void)state;
  nv_graph *e = nv_graph_new(c, str("chain"));
  nv_shape s = shape(2, 8, 16, 0);
  nv_value v = nv_graph_input(e, str("x"), NV_F32, s, NV_NOWHERE);
  nv_op ops[2] = {nv_op_find("sin"), nv_op_find("abs")};
  uint32_t origin = NV_NONE;
  for (uint32_t k = 0; k < 300000; k++) {
    if (k % 3000 == 0) origin = nv_graph_origin(e, NV_NONE, str("f"), str("h"), k / 3000, NV_NOWHERE);
    v = nv_graph_add(e, ops[k & 1], &v, 1, NV_NO_ATTR, NV_F32, s, origin);
  }
  nv_graph_output(e, v, str("y"), NV_NOWHERE);
  nv_verify(e, NV_STAGE_SIMPLIFIED);
  const char *text = printed(e), *why;
  uint32_t line;
  nv_graph *r = read_back(text, &why, &line);
  assert_non_null(r);
  assert_string_equal(printed(r), text);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(shapes),       cmocka_unit_test(origins),       cmocka_unit_test(inference),
      cmocka_unit_test(broadcasting), cmocka_unit_test(printing),      cmocka_unit_test(constants),
      cmocka_unit_test(sizes),        cmocka_unit_test(reading_wrong), cmocka_unit_test(reading_damaged),
      cmocka_unit_test(verifier),     cmocka_unit_test(large),
  };
  return cmocka_run_group_tests_name("graph", tests, setup, teardown);
}
