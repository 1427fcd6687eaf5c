/* test_simplify.c - the simplifier: what it merges, folds and drops, and what it must leave alone. */
#include "plan_run.h"

#include <math.h>

/* The graph's text without comments. */
static const char *printed(const nv_graph *g) {
  nv_buf b;
  nv_buf_init(&b, c);
  nv_graph_print(&b, g);
  char *from = (char *)(uintptr_t)nv_buf_text(&b), *to = from;
  bool comment = false;
  for (const char *p = from; *p; p++) {
    comment = comment ? *p != '\n' : p[0] == ' ' && p[1] == ' ' && p[2] == '#';
    if (!comment) *to++ = *p;
  }
  *to = 0;
  return from;
}

/* Simplifies text: the result is want, a second run changes nothing, and the values stay. */
static void becomes(const char *text, const char *want) {
  nv_graph *g = graph_of(text), *s = nv_simplify(g);
  nv_verify(s, NV_STAGE_SIMPLIFIED);
  assert_string_equal(printed(s), want);
  assert_string_equal(printed(nv_simplify(s)), want);
  nv_plan *p = nv_fuse(s, true);
  nv_place_buffers(p);
  nv_plan_verify(p);
  const char *why = plan_compare(g, p);
  if (why) fail_msg("%s", why);
}

static void stays(const char *text) { becomes(text, text); }

static bool is_nan(nv_dtype d, uint64_t bits) {
  const float x = nv_bits_to_f32(d, bits);
  return x != x;
}

#define X "graph t\n%0 = input \"x\" : float32[2, 3]\n"

TEST(equal_nodes) {
  becomes(X "%1 = exp %0 : float32[2, 3]\n%2 = exp %0 : float32[2, 3]\n%3 = add %1, %2 : float32[2, 3]\n"
            "output \"y\" = %3\n",
          X "%1 = exp %0 : float32[2, 3]\n%2 = add %1, %1 : float32[2, 3]\noutput \"y\" = %2\n");
  /* other attributes or dtypes: other values */
  stays(X "%1 = sum %0 {0, 0} : float32[3]\n%2 = sum %0 {1, 0} : float32[1, 3]\n%3 = astype %0 {7} : int32[2, 3]\n"
          "%4 = astype %0 {0} : bool[2, 3]\noutput \"a\" = %1\noutput \"b\" = %2\noutput \"c\" = %3\n"
          "output \"d\" = %4\n");
}

TEST(commuted_operands) {
  becomes(X "%1 = exp %0 : float32[2, 3]\n%2 = add %0, %1 : float32[2, 3]\n%3 = add %1, %0 : float32[2, 3]\n"
            "output \"a\" = %2\noutput \"b\" = %3\n",
          X "%1 = exp %0 : float32[2, 3]\n%2 = add %0, %1 : float32[2, 3]\noutput \"a\" = %2\noutput \"b\" = %2\n");
  /* maximum picks its second operand of two zeros: it doesn't commute */
  stays(X "%1 = exp %0 : float32[2, 3]\n%2 = maximum %0, %1 : float32[2, 3]\n%3 = maximum %1, %0 : float32[2, 3]\n"
          "%4 = subtract %1, %0 : float32[2, 3]\noutput \"a\" = %2\noutput \"b\" = %3\noutput \"c\" = %4\n");
}

/* Two results of one dtype: the same bits, NaNs being equal. */
static bool agree(nv_dtype d, uint64_t p, uint64_t q) {
  if (p == q) return true;
  if (nv_is(d, NV_BITS_FLOAT)) return is_nan(d, p) && is_nan(d, q);
  if (d != NV_C64) return false;
  for (int part = 0; part < 2; part++, p >>= 32, q >>= 32)
    if ((uint32_t)p != (uint32_t)q && !(is_nan(NV_F32, (uint32_t)p) && is_nan(NV_F32, (uint32_t)q))) return false;
  return true;
}

/* The k-th of N^3 pairs of operands. */
enum { N = 14 };
static void some_pair(nv_dtype d, int k, uint64_t *x, uint64_t *y) {
  static const double values[N] = {0.0,  -0.0,  1,      -1,       2.5,       -3,  1e-30,
                                   3e38, 1e-42, -1e-42, INFINITY, -INFINITY, NAN, 7};
  const double a = values[k % N], b = values[k / N % N], e = values[k / N / N];
  if (nv_is(d, NV_BITS_FLOAT)) {
    *x = nv_double_to_bits(d, a);
    *y = nv_double_to_bits(d, b);
  } else if (d == NV_C64) {
    *x = nv_double_to_bits(NV_F32, a) | nv_double_to_bits(NV_F32, b) << 32;
    *y = nv_double_to_bits(NV_F32, e) | nv_double_to_bits(NV_F32, a) << 32;
  } else {
    *x = d == NV_BOOL ? k & 1 : nv_int_to_bits(d, k % N * 37 - 100);
    *y = d == NV_BOOL ? k >> 1 & 1 : nv_int_to_bits(d, k / N * 91 - 600);
  }
}

/* Every op that is said to commute gives the same bits with its operands exchanged, in both subnormal modes. */
TEST(what_commutes_does_so_exactly) {
  uint32_t pairs = 0;
  for (int op = 0; op < NV_NOPS; op++) {
    for (int d = 0; d < NV_NDTYPES; d++) {
      if (!(nv_ops[op].flags & NV_COMMUTES) || !(nv_ops[op].domain & NV_BIT(d))) continue;
      const nv_dtype two[2] = {(nv_dtype)d, (nv_dtype)d};
      const char *why;
      nv_dtype to;
      assert_true(nv_infer_dtype(c, (nv_op)op, two, 2, NV_NO_ATTR, &to, &why));
      for (int k = 0; k < 2 * N * N * N; k++, pairs++) {
        uint64_t x, y;
        some_pair((nv_dtype)d, k / 2, &x, &y);
        const uint64_t p = nv_eval_scalar((nv_op)op, two, to, (uint64_t[]){x, y}, 2, k % 2),
                       q = nv_eval_scalar((nv_op)op, two, to, (uint64_t[]){y, x}, 2, k % 2);
        if (!agree(to, p, q))
          fail_msg("%s of %s: %llx, %llx", nv_ops[op].name, nv_dtype_name[d], (unsigned long long)x,
                   (unsigned long long)y);
      }
    }
  }
  assert_true(pairs > 100000);
}

TEST(constants) {
  becomes("graph t\n%0 = const 0x3f800000 : float32[]\n%1 = const 0x3f800000 : float32[]\n"
          "%2 = const 0x00000000 : float32[]\n"
          "%3 = const 0x80000000 : float32[]\n%4 = const 0x3f800000 : int32[]\noutput \"a\" = %0\noutput \"b\" = %1\n"
          "output \"c\" = %2\noutput \"d\" = %3\noutput \"e\" = %4\n",
          "graph t\n%0 = const 0x3f800000 : float32[]\n%1 = const 0x00000000 : float32[]\n"
          "%2 = const 0x80000000 : float32[]\n"
          "%3 = const 0x3f800000 : int32[]\noutput \"a\" = %0\noutput \"b\" = %0\noutput \"c\" = %1\n"
          "output \"d\" = %2\n"
          "output \"e\" = %3\n");
  /* 1 + 2, repeated, reshaped, converted: one constant repeated */
  becomes("graph t\n%0 = const 0x3f800000 : float32[]\n%1 = const 0x40000000 : float32[]\n%2 = add %0, %1 : float32[]\n"
          "%3 = broadcast_to %2 : float32[2, 3]\n%4 = multiply %3, %3 : float32[2, 3]\n"
          "%5 = transpose %4 {1, 0} : float32[3, 2]\n"
          "%6 = reshape %5 : float32[6]\n%7 = astype %6 {7} : int32[6]\noutput \"y\" = %7\n",
          "graph t\n%0 = const 0x00000009 : int32[]\n%1 = broadcast_to %0 : int32[6]\noutput \"y\" = %1\n");
}

/* op of two float32 constants: folded or not. */
static bool folds(const char *op, uint32_t a, uint32_t b) {
  const char *text = nv_format(c, "graph t\n%%0 = const 0x%08x : float32[]\n%%1 = const 0x%08x : float32[]\n"
                               "%%2 = %s %%0, %%1 : float32[]\noutput \"y\" = %%2\n", (unsigned)a, (unsigned)b, op);
  nv_graph *s = nv_simplify(graph_of(text));
  return nv_node_of(s, s->outputs[0].value)->op == NV_OP_CONST;
}
static bool converts(uint32_t bits, nv_dtype to) {
  const char *text = nv_format(c, "graph t\n%%0 = const 0x%08x : float32[]\n%%1 = astype %%0 {%d} : %s[]\n"
                                  "output \"y\" = %%1\n",
                               (unsigned)bits, (int)to, nv_dtype_name[to]);
  nv_graph *s = nv_simplify(graph_of(text));
  return nv_node_of(s, s->outputs[0].value)->op == NV_OP_CONST;
}

TEST(folding_only_what_all_devices_round_alike) {
  assert_true(folds("divide", 0x3f800000, 0x40400000));   /* 1/3 */
  assert_true(folds("divide", 0x3f800000, 0x00000000));   /* inf */
  assert_false(folds("divide", 0x00000000, 0x00000000));  /* NaN */
  assert_false(folds("add", 0x7fc00000, 0x3f800000));     /* NaN */
  assert_false(folds("add", 0x00000001, 0x3f800000));     /* a subnormal operand */
  assert_false(folds("multiply", 0x00800000, 0x3f000000)); /* a subnormal result */
  assert_false(folds("multiply", 0x00ffffff, 0x3f000000)); /* rounds up to 2^-126: a device may flush before */
  assert_true(folds("multiply", 0x01000000, 0x3f800001));
  assert_false(folds("logaddexp", 0x3f800000, 0x3f800000)); /* not exactly rounded */
  assert_true(converts(0x4effffff, NV_I32));  /* 2147483520 */
  assert_false(converts(0x4f000000, NV_I32)); /* 2^31 saturates */
  assert_true(converts(0xcf000000, NV_I32));  /* -2^31 */
  assert_false(converts(0x7fc00000, NV_I32)); /* NaN */
  assert_false(converts(0x00000001, NV_BOOL)); /* a subnormal */
  assert_true(converts(0x80000000, NV_BOOL));
}

TEST(inexact_identities_stay) {
  stays(X "%1 = const 0x00000000 : float32[]\n%2 = broadcast_to %1 : float32[2, 3]\n%3 = add %0, %2 : float32[2, 3]\n"
          "%4 = const 0x3f800000 : float32[]\n%5 = broadcast_to %4 : float32[2, 3]\n"
          "%6 = multiply %0, %5 : float32[2, 3]\n"
          "%7 = divide %0, %5 : float32[2, 3]\n%8 = negative %0 : float32[2, 3]\n%9 = negative %8 : float32[2, 3]\n"
          "output \"a\" = %3\noutput \"b\" = %6\noutput \"c\" = %7\noutput \"d\" = %9\n");
  /* -0.0 is exact in value, but a device that flushes changes a subnormal */
  stays(X "%1 = const 0x80000000 : float32[]\n%2 = broadcast_to %1 : float32[2, 3]\n%3 = add %0, %2 : float32[2, 3]\n"
          "%4 = subtract %0, %0 : float32[2, 3]\n%5 = divide %0, %0 : float32[2, 3]\n"
          "output \"a\" = %3\noutput \"b\" = %4\noutput \"c\" = %5\n");
  /* through a smaller dtype and back, of bits or of range */
  stays(X "%1 = astype %0 {7} : int32[2, 3]\n%2 = astype %1 {11} : float32[2, 3]\noutput \"y\" = %2\n");
  stays(X "%1 = astype %0 {10} : bfloat16[2, 3]\n%2 = astype %1 {11} : float32[2, 3]\noutput \"y\" = %2\n");
  stays("graph t\n%0 = input \"x\" : int32[4]\n%1 = astype %0 {11} : float32[4]\n%2 = astype %1 {7} : int32[4]\n"
        "output \"y\" = %2\n");
  /* other bases, other functions */
  stays(X "%1 = log %0 : float32[2, 3]\n%2 = log2 %0 : float32[2, 3]\n%3 = log10 %0 : float32[2, 3]\n"
          "%4 = exp %1 : float32[2, 3]\noutput \"a\" = %1\noutput \"b\" = %2\noutput \"c\" = %3\n"
          "output \"d\" = %4\n");
}

TEST(identities_go) {
  becomes(X "%1 = reshape %0 : float32[2, 3]\n%2 = transpose %1 {0, 1} : float32[2, 3]\n"
            "%3 = broadcast_to %2 : float32[2, 3]\n"
            "%4 = expand_dims %3 {} : float32[2, 3]\n%5 = squeeze %4 {} : float32[2, 3]\n"
            "%6 = astype %5 {11} : float32[2, 3]\n"
            "%7 = stop_gradient %6 : float32[2, 3]\n%8 = exp %7 : float32[2, 3]\noutput \"y\" = %8\n",
          X "%1 = exp %0 : float32[2, 3]\noutput \"y\" = %1\n");
  becomes(X "%1 = expand_dims %0 {0, 2} : float32[1, 2, 1, 3]\n%2 = squeeze %1 {0, 2} : float32[2, 3]\n"
            "output \"y\" = %2\n",
          X "output \"y\" = %0\n");
  becomes(X "%1 = transpose %0 {1, 0} : float32[3, 2]\n%2 = transpose %1 {1, 0} : float32[2, 3]\noutput \"y\" = %2\n",
          X "output \"y\" = %0\n");
}

TEST(slices) {
  becomes(X "%1 = slice %0 {0, 0, 1, 1} : float32[2, 3]\noutput \"y\" = %1\n", X "output \"y\" = %0\n");
  becomes("graph t\n%0 = input \"x\" : float32[10, 9]\n%1 = slice %0 {9, 1, -2, 2} : float32[5, 4]\n"
          "%2 = slice %1 {1, 3, 2, -1} : float32[2, 3]\n%3 = slice %2 {1, 0, 1, 2} : float32[1, 2]\n"
          "output \"y\" = %3\n",
          "graph t\n%0 = input \"x\" : float32[10, 9]\n%1 = slice %0 {3, 7, 1, -4} : float32[1, 2]\n"
          "output \"y\" = %1\n");
  becomes("graph t\n%0 = input \"x\" : float32[4]\n%1 = slice %0 {3, -1} : float32[4]\n"
          "%2 = slice %1 {3, -1} : float32[4]\noutput \"y\" = %2\n",
          "graph t\n%0 = input \"x\" : float32[4]\noutput \"y\" = %0\n");
  stays("graph t\n%0 = input \"x\" : float32[4]\n%1 = slice %0 {3, -1} : float32[4]\noutput \"y\" = %1\n");
  /* of a constant, and of nothing */
  becomes(X "%1 = const 0x3f800000 : float32[]\n%2 = broadcast_to %1 : float32[5]\n"
            "%3 = slice %2 {1, 2} : float32[2]\noutput \"y\" = %3\n",
          X "%1 = const 0x3f800000 : float32[]\n%2 = broadcast_to %1 : float32[2]\noutput \"y\" = %2\n");
  becomes("graph t\n%0 = input \"x\" : float32[4]\n%1 = slice %0 {1, 1} : float32[3]\n"
          "%2 = slice %1 {0, 1} : float32[0]\noutput \"y\" = %2\n",
          "graph t\n%0 = input \"x\" : float32[4]\n%1 = slice %0 {0, 1} : float32[0]\noutput \"y\" = %1\n");
}

TEST(views_of_views) {
  becomes(X "%1 = reshape %0 : float32[6]\n%2 = expand_dims %1 {0} : float32[1, 6]\n%3 = reshape %2 : float32[3, 2]\n"
            "output \"y\" = %3\n",
          X "%1 = reshape %0 : float32[3, 2]\noutput \"y\" = %1\n");
  becomes("graph t\n%0 = input \"x\" : float32[2, 3, 4]\n%1 = transpose %0 {1, 2, 0} : float32[3, 4, 2]\n"
          "%2 = transpose %1 {1, 0, 2} : float32[4, 3, 2]\noutput \"y\" = %2\n",
          "graph t\n%0 = input \"x\" : float32[2, 3, 4]\n%1 = transpose %0 {2, 1, 0} : float32[4, 3, 2]\n"
          "output \"y\" = %1\n");
  becomes("graph t\n%0 = input \"x\" : float32[3]\n%1 = expand_dims %0 {0} : float32[1, 3]\n"
          "%2 = broadcast_to %1 : float32[2, 3]\n"
          "%3 = broadcast_to %2 : float32[4, 2, 3]\noutput \"y\" = %3\n",
          "graph t\n%0 = input \"x\" : float32[3]\n%1 = broadcast_to %0 : float32[4, 2, 3]\noutput \"y\" = %1\n");
  /* axes of size 1: a transpose or a broadcast that only moves or adds those is a reshape */
  becomes("graph t\n%0 = input \"x\" : float32[2, 1, 3]\n%1 = transpose %0 {1, 0, 2} : float32[1, 2, 3]\n"
          "%2 = broadcast_to %1 : float32[1, 1, 2, 3]\noutput \"y\" = %2\n",
          "graph t\n%0 = input \"x\" : float32[2, 1, 3]\n%1 = reshape %0 : float32[1, 1, 2, 3]\noutput \"y\" = %1\n");
  /* a trailing axis of 1 that is then repeated must stay */
  stays("graph t\n%0 = input \"x\" : float32[3]\n%1 = reshape %0 : float32[3, 1]\n"
        "%2 = broadcast_to %1 : float32[3, 2]\noutput \"y\" = %2\n");
  /* what is repeated at the edges twice; an axis of size 1 is repeated whole */
  becomes(X "%1 = pad_edge %0 {1, 0} : float32[4, 3]\n%2 = pad_edge %1 {0, 2} : float32[5, 6]\noutput \"y\" = %2\n",
          X "%1 = pad_edge %0 {1, 2} : float32[5, 6]\noutput \"y\" = %1\n");
  becomes("graph t\n%0 = input \"x\" : float32[1, 3]\n%1 = pad_edge %0 {2, 0} : float32[4, 3]\noutput \"y\" = %1\n",
          "graph t\n%0 = input \"x\" : float32[1, 3]\n%1 = broadcast_to %0 : float32[4, 3]\noutput \"y\" = %1\n");
  becomes("graph t\n%0 = input \"x\" : float32[1, 3]\n%1 = pad_edge %0 {2, 1} : float32[4, 5]\noutput \"y\" = %1\n",
          "graph t\n%0 = input \"x\" : float32[1, 3]\n%1 = pad_edge %0 {0, 1} : float32[1, 5]\n"
          "%2 = broadcast_to %1 : float32[4, 5]\noutput \"y\" = %2\n");
  becomes(X "%1 = pad_edge %0 {1, 2} : float32[4, 7]\n%2 = slice %1 {1, 2, 1, 1} : float32[2, 3]\noutput \"y\" = %2\n",
          X "output \"y\" = %0\n");
  stays(X "%1 = pad_edge %0 {1, 2} : float32[4, 7]\n%2 = slice %1 {1, 1, 1, 1} : float32[2, 3]\noutput \"y\" = %2\n");
  /* nothing is added: the identity */
  becomes(X "%1 = pad_edge %0 {0, 0} : float32[2, 3]\noutput \"y\" = %1\n", X "output \"y\" = %0\n");
}

/* A view moves inward past views of another kind, so that it meets its own. */
TEST(views_past_views) {
  /* x[1][2] is one slice */
  becomes(X "%1 = slice %0 {1, 0, 1, 1} : float32[1, 3]\n%2 = squeeze %1 {0} : float32[3]\n"
            "%3 = slice %2 {2, 1} : float32[1]\n%4 = squeeze %3 {0} : float32[]\noutput \"y\" = %4\n",
          X "%1 = slice %0 {1, 2, 1, 1} : float32[1, 1]\n%2 = reshape %1 : float32[]\noutput \"y\" = %2\n");
  /* a part of what is repeated */
  becomes("graph t\n%0 = input \"x\" : float32[3]\n%1 = broadcast_to %0 : float32[5, 3]\n"
          "%2 = slice %1 {1, 0, 2, 1} : float32[2, 3]\n%3 = slice %1 {0, 2, 1, -1} : float32[5, 2]\n"
          "output \"y\" = %2\noutput \"z\" = %3\n",
          "graph t\n%0 = input \"x\" : float32[3]\n%1 = broadcast_to %0 : float32[2, 3]\n"
          "%2 = slice %0 {2, -1} : float32[2]\n%3 = broadcast_to %2 : float32[5, 2]\n"
          "output \"y\" = %1\noutput \"z\" = %3\n");
  /* the two ways to write it are one */
  becomes(X "%1 = transpose %0 {1, 0} : float32[3, 2]\n%2 = slice %1 {1, 0, 1, 1} : float32[2, 2]\n"
            "%3 = slice %0 {0, 1, 1, 1} : float32[2, 2]\n%4 = transpose %3 {1, 0} : float32[2, 2]\n"
            "%5 = add %2, %4 : float32[2, 2]\noutput \"y\" = %5\n",
          X "%1 = slice %0 {0, 1, 1, 1} : float32[2, 2]\n%2 = transpose %1 {1, 0} : float32[2, 2]\n"
            "%3 = add %2, %2 : float32[2, 2]\noutput \"y\" = %3\n");
  /* repeated, then transposed */
  becomes("graph t\n%0 = input \"x\" : float32[3]\n%1 = broadcast_to %0 : float32[2, 3]\n"
          "%2 = transpose %1 {1, 0} : float32[3, 2]\noutput \"y\" = %2\n",
          "graph t\n%0 = input \"x\" : float32[3]\n%1 = reshape %0 : float32[3, 1]\n"
          "%2 = broadcast_to %1 : float32[3, 2]\noutput \"y\" = %2\n");
  /* through axes of size 1 */
  becomes(X "%1 = transpose %0 {1, 0} : float32[3, 2]\n%2 = expand_dims %1 {1} : float32[3, 1, 2]\n"
            "%3 = transpose %2 {2, 1, 0} : float32[2, 1, 3]\n%4 = squeeze %3 {1} : float32[2, 3]\noutput \"y\" = %4\n",
          X "output \"y\" = %0\n");
  becomes(X "%1 = broadcast_to %0 : float32[4, 2, 3]\n%2 = expand_dims %1 {2} : float32[4, 2, 1, 3]\n"
            "%3 = broadcast_to %2 : float32[4, 2, 5, 3]\noutput \"y\" = %3\n",
          X "%1 = reshape %0 : float32[2, 1, 3]\n%2 = broadcast_to %1 : float32[4, 2, 5, 3]\noutput \"y\" = %2\n");
  becomes(X "%1 = transpose %0 {1, 0} : float32[3, 2]\n%2 = pad_edge %1 {0, 1} : float32[3, 4]\n"
            "output \"y\" = %2\n",
          X "%1 = pad_edge %0 {1, 0} : float32[4, 3]\n%2 = transpose %1 {1, 0} : float32[3, 4]\n"
            "output \"y\" = %2\n");
  /* a reshape that regroups stays where it is */
  stays(X "%1 = reshape %0 : float32[6]\n%2 = slice %1 {1, 1} : float32[4]\n%3 = reshape %2 : float32[2, 2]\n"
          "%4 = transpose %3 {1, 0} : float32[2, 2]\noutput \"y\" = %4\n");
  /* reshape doesn't go through a transpose */
  stays(X "%1 = transpose %0 {1, 0} : float32[3, 2]\n%2 = reshape %1 : float32[6]\noutput \"y\" = %2\n");
}

TEST(reductions_of_nothing_much) {
  becomes(X "%1 = sum %0 {0} : float32[2, 3]\n%2 = mean %1 {1} : float32[2, 3]\n%3 = max %2 {0} : float32[2, 3]\n"
            "output \"y\" = %3\n",
          X "output \"y\" = %0\n");
  becomes("graph t\n%0 = input \"x\" : bool[2, 1, 3]\n%1 = sum %0 {0, 1} : int32[2, 3]\n"
          "%2 = sum %0 {1, 1} : int32[2, 1, 3]\n"
          "output \"y\" = %1\noutput \"z\" = %2\n",
          "graph t\n%0 = input \"x\" : bool[2, 1, 3]\n%1 = astype %0 {7} : int32[2, 1, 3]\n"
          "%2 = reshape %1 : int32[2, 3]\n"
          "output \"y\" = %2\noutput \"z\" = %1\n");
  /* a mean is always computed, and not every axis is 1 */
  stays("graph t\n%0 = input \"x\" : float32[2, 1, 3]\n%1 = mean %0 {0, 1} : float32[2, 3]\n"
        "%2 = sum %0 {0, 1, 2} : float32[2]\n"
        "output \"y\" = %1\noutput \"z\" = %2\n");
}

TEST(copies_stay) {
  stays(X "%1 = copy %0 : float32[2, 3]\n%2 = copy %0 : float32[2, 3]\noutput \"a\" = %1\noutput \"b\" = %2\n"
          "output \"c\" = %0\n");
}

TEST(dead_nodes_and_ports) {
  becomes("graph t\n%0 = input \"x\" : float32[2]\n%1 = input \"unused\" : int32[5]\n%2 = exp %0 : float32[2]\n"
          "%3 = log %2 : float32[2]\n%4 = negative %0 : float32[2]\noutput \"a\" = %4\noutput \"b\" = %4\n"
          "output \"c\" = %0\n",
          "graph t\n%0 = input \"x\" : float32[2]\n%1 = input \"unused\" : int32[5]\n%2 = negative %0 : float32[2]\n"
          "output \"a\" = %2\noutput \"b\" = %2\noutput \"c\" = %0\n");
  nv_graph *g = nv_drop_dead(graph_of("graph t\n%0 = input \"x\" : float32[2]\n%1 = exp %0 : float32[2]\n"
                                      "%2 = exp %0 : float32[2]\n"
                                      "%3 = exp %2 : float32[2]\noutput \"y\" = %2\n"));
  assert_string_equal(printed(g), "graph t\n%0 = input \"x\" : float32[2]\n%1 = exp %0 : float32[2]\n"
                                  "output \"y\" = %1\n");
}

TEST(origins_are_those_of_the_first) {
  becomes("graph t\n%0 = input \"x\" : float32[2]\n%1 = exp %0 : float32[2]  # f.a\n%2 = exp %0 : float32[2]  # f.b\n"
          "%3 = add %1, %2 : float32[2]  # f.c\noutput \"y\" = %3\n",
          "graph t\n%0 = input \"x\" : float32[2]\n%1 = exp %0 : float32[2]\n%2 = add %1, %1 : float32[2]\n"
          "output \"y\" = %2\n");
}

TEST(long_chains) {
  nv_shape s = nv_shape_of_ints(c, (int64_t[]){4}, 1);
  nv_graph *g = nv_graph_new(c, nv_intern_z(c, "t"));
  nv_value x = nv_graph_input(g, nv_intern_z(c, "x"), NV_F32, s, NV_NOWHERE);
  for (int k = 0; k < 200000; k++) { /* every node twice: half of them merge, link by link */
    nv_value twice[2];
    for (int i = 0; i < 2; i++) twice[i] = nv_graph_add(g, NV_OP_negative, &x, 1, NV_NO_ATTR, NV_F32, s, NV_NONE);
    x = nv_graph_add(g, NV_OP_add, twice, 2, NV_NO_ATTR, NV_F32, s, NV_NONE);
  }
  nv_graph_output(g, x, nv_intern_z(c, "y"), NV_NOWHERE);
  nv_graph *r = nv_simplify(g);
  assert_int_equal(r->nnodes, 400001);
  assert_int_equal(nv_simplify(r)->nnodes, 400001);
}

/* A fresh zero for every sum: they become one constant with 40,000 users, and no sum goes, since -0.0 + 0.0 is 0.0. */
TEST(one_constant_of_many_users) {
  enum { USERS = 40000 };
  nv_graph *g = nv_graph_new(c, nv_intern_z(c, "t"));
  nv_value x = nv_graph_input(g, nv_intern_z(c, "x"), NV_F32, nv_shape_make(c, NULL, 0), NV_NOWHERE);
  for (int k = 0; k < USERS; k++) {
    const nv_value two[2] = {x, nv_graph_const(g, NV_F32, 0, NV_NONE)};
    x = nv_graph_add(g, NV_OP_add, two, 2, NV_NO_ATTR, NV_F32, nv_shape_make(c, NULL, 0), NV_NONE);
  }
  nv_graph_output(g, x, nv_intern_z(c, "y"), NV_NOWHERE);
  nv_graph *s = nv_simplify(g);
  assert_int_equal(s->nnodes, USERS + 2);
  for (int k = 0; k < 2; k++) {
    uint32_t in = k ? 0x80000000u : 0x3f800000u, out = 1;
    const nuvecc_tensor from = {.dtype = NUVECC_FLOAT32, .data = &in, .bytes = 4};
    nuvecc_tensor to = {.dtype = NUVECC_FLOAT32, .data = &out, .bytes = 4};
    nv_eval(s, &from, &to, false);
    assert_int_equal(out, k ? 0 : 0x3f800000u);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
      T(equal_nodes), T(commuted_operands), T(what_commutes_does_so_exactly), T(constants),
      T(folding_only_what_all_devices_round_alike), T(inexact_identities_stay), T(identities_go), T(slices),
      T(views_of_views), T(views_past_views), T(reductions_of_nothing_much), T(copies_stay), T(dead_nodes_and_ports),
      T(origins_are_those_of_the_first), T(long_chains),
      T(one_constant_of_many_users),
  };
  return cmocka_run_group_tests_name("simplify", tests, NULL, NULL);
}
