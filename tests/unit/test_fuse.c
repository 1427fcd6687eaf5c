/* test_fuse.c - the fuser: what joins, what ends a kernel and why, index arithmetic, limits. Every plan is verified,
 * and run on the CPU against the evaluator. */
#include "plan_run.h"

static nv_plan *fused(const nv_graph *g, bool fuse) {
  nv_plan *p = nv_fuse(nv_simplify(g), fuse);
  nv_place_buffers(p);
  nv_plan_verify(p);
  return p;
}

/* The fused plan of text, after checking fused and unfused values. */
static nv_plan *plan_of(const char *text) {
  nv_graph *g = graph_of(text);
  nv_plan *p = fused(g, true), *one_by_one = fused(g, false);
  const char *why = plan_compare(g, p);
  if (why) fail_msg("fused: %s", why);
  why = plan_compare(g, one_by_one);
  if (why) fail_msg("unfused: %s", why);
  return p;
}

/* A graph text line by line. */
typedef struct text {
  nv_buf b;
  uint32_t values;
} text;
static text start_text(void) {
  text t = {.values = 0};
  nv_buf_init(&t.b, c);
  nv_puts(&t.b, "graph t\n");
  return t;
}
static uint32_t node(text *t, const char *format, ...) NV_PRINTF(2, 3);
static uint32_t node(text *t, const char *format, ...) {
  char line[256];
  va_list ap;
  va_start(ap, format);
  vsnprintf(line, sizeof line, format, ap);
  va_end(ap);
  nv_printf(&t->b, "%%%u = %s\n", (unsigned)t->values, line);
  return t->values++;
}
static void output(text *t, uint32_t v) {
  nv_printf(&t->b, "output \"o%u\" = %%%u\n", (unsigned)t->b.n, (unsigned)v);
}

static void is_optimal(const nv_plan *p) {
  assert_int_equal(p->nkernels, 1);
  assert_int_equal(p->bytes_moved, p->bytes_lower_bound);
  assert_int_equal(p->scratch_bytes, 0);
  assert_int_equal(p->ncuts, 0);
}

static const char *kernel_text(const nv_plan *p) { /* the plan's kernels: no first line, no launches */
  nv_buf b;
  nv_buf_init(&b, c);
  nv_plan_print(&b, p);
  char *s = (char *)(uintptr_t)strchr(nv_buf_text(&b), '\n') + 1, *end = strstr(s, "launch");
  if (end) *end = 0;
  return s;
}

static bool has_reason(const nv_plan *p, const char *words) {
  for (uint32_t k = 0; k < p->ncuts; k++)
    if (strstr(p->cuts[k].why, words)) return true;
  return false;
}

static uint32_t most_bindings(const nv_plan *p) { /* of the largest kernel */
  uint32_t most = 0;
  for (uint32_t k = 0; k < p->nkernels; k++)
    if (p->kernels[k].noperands > most) most = p->kernels[k].noperands;
  return most;
}

/* ---- what joins ---- */

TEST(a_chain_is_one_kernel) {
  nv_plan *p = plan_of("graph t\n%0 = input \"x\" : float32[2, 3]\n%1 = input \"b\" : float32[3]\n"
                       "%2 = broadcast_to %1 : float32[2, 3]\n%3 = add %0, %2 : float32[2, 3]\n"
                       "%4 = const 0x3f000000 : float32[]\n%5 = broadcast_to %4 : float32[2, 3]\n"
                       "%6 = multiply %3, %5 : float32[2, 3]\noutput \"y\" = %6\n");
  is_optimal(p);
  assert_string_equal(kernel_text(p), "kernel 0 map [y.2 < 2, x.3 < 3]\n  nodes 2 3 6\n"
                                      "  b0 = %0 : float32, 6 of 6 elements\n  b1 = %1 : float32, 3 of 3 elements\n"
                                      "  b2 = %6 : write float32, 6 of 6 elements, output \"y\"\n"
                                      "  v0 = load b0[x.3 + 3*y.2] : float32\n  v1 = load b1[x.3] : float32\n"
                                      "  v2 = add v0, v1 : float32\n  v3 = const 0x3f000000 : float32  # 0.5\n"
                                      "  v4 = multiply v2, v3 : float32\n  store b2[x.3 + 3*y.2] = v4\n");
}

TEST(several_outputs_and_rank_0_inputs) { /* an Adam step's form */
  nv_plan *p = plan_of(
      "graph t\n%0 = input \"p\" : int32[4, 5]\n%1 = input \"g\" : int32[4, 5]\n%2 = input \"m\" : int32[4, 5]\n"
      "%3 = input \"s\" : int32[]\n%4 = add %1, %2 : int32[4, 5]\n%5 = multiply %1, %1 : int32[4, 5]\n"
      "%6 = negative %3 : int32[]\n%7 = broadcast_to %6 : int32[4, 5]\n%8 = multiply %4, %7 : int32[4, 5]\n"
      "%9 = subtract %0, %8 : int32[4, 5]\noutput \"p\" = %9\noutput \"m\" = %4\noutput \"v\" = %5\n");
  is_optimal(p);
  assert_int_equal(p->bytes_moved, 4 * (3 * 20 + 1 + 3 * 20));
}

TEST(views_are_index_arithmetic) {
  nv_plan *p = plan_of("graph t\n%0 = input \"x\" : int32[3, 4]\n%1 = input \"y\" : int32[4, 3]\n"
                       "%2 = negative %0 : int32[3, 4]\n%3 = transpose %2 {1, 0} : int32[4, 3]\n"
                       "%4 = add %3, %1 : int32[4, 3]\n%5 = reshape %4 : int32[2, 6]\n%6 = negative %5 : int32[2, 6]\n"
                       "output \"a\" = %6\noutput \"b\" = %2\noutput \"c\" = %4\n");
  is_optimal(p);
  assert_int_equal(p->kernels[0].rank, 2);
}

TEST(reshapes_need_no_divisions) {
  nv_plan *p = plan_of("graph t\n%0 = input \"x\" : int32[2, 6]\n%1 = reshape %0 : int32[3, 4]\n"
                       "%2 = negative %1 : int32[3, 4]\n"
                       "%3 = reshape %2 : int32[12]\n%4 = negative %3 : int32[12]\noutput \"a\" = %4\n");
  is_optimal(p);
  assert_non_null(strstr(kernel_text(p), "map [x.12 < 12]"));
  assert_null(strstr(kernel_text(p), "//"));
}

TEST(a_value_under_two_orders_is_computed_twice) {
  nv_plan *p = plan_of("graph t\n%0 = input \"x\" : int32[4, 4]\n%1 = negative %0 : int32[4, 4]\n"
                       "%2 = transpose %1 {1, 0} : int32[4, 4]\n%3 = add %1, %2 : int32[4, 4]\noutput \"y\" = %3\n");
  is_optimal(p);
  /* unless that takes too much: 20 steps are cut, with a reason */
  text t = start_text();
  uint32_t x = node(&t, "input \"x\" : int32[4, 4]"), s = node(&t, "input \"s\" : int32[4, 4]");
  for (int k = 0; k < 20; k++) x = node(&t, "%s %%%u, %%%u : int32[4, 4]", k % 2 ? "add" : "subtract", x, s);
  uint32_t moved = node(&t, "transpose %%%u {1, 0} : int32[4, 4]", x);
  output(&t, node(&t, "add %%%u, %%%u : int32[4, 4]", x, moved));
  p = plan_of(nv_buf_text(&t.b));
  assert_int_equal(p->nkernels, 2);
  assert_true(has_reason(p, "another order"));
}

TEST(a_cheap_value_under_a_broadcast_is_computed_again) {
  for (int steps = 1; steps <= 40; steps += 39) {
    text t = start_text();
    uint32_t x = node(&t, "input \"x\" : int32[5, 4]"), b = node(&t, "input \"b\" : int32[4]"), r = b;
    for (int k = 0; k < steps; k++) r = node(&t, "%s %%%u, %%%u : int32[4]", k % 2 ? "add" : "subtract", r, b);
    uint32_t wide = node(&t, "broadcast_to %%%u : int32[5, 4]", r);
    output(&t, node(&t, "add %%%u, %%%u : int32[5, 4]", x, wide));
    nv_plan *p = plan_of(nv_buf_text(&t.b));
    assert_int_equal(p->nkernels, steps == 1 ? 1 : 2);
    assert_int_equal(has_reason(p, "repeated"), steps != 1);
  }
}

TEST(copies_are_never_computed_twice) {
  nv_plan *p = plan_of("graph t\n%0 = input \"x\" : int32[5, 4]\n%1 = input \"b\" : int32[4]\n%2 = copy %1 : int32[4]\n"
                       "%3 = broadcast_to %2 : int32[5, 4]\n%4 = add %0, %3 : int32[5, 4]\noutput \"y\" = %4\n");
  assert_int_equal(p->nkernels, 2);
  assert_true(has_reason(p, "copy"));
  is_optimal(plan_of("graph t\n%0 = input \"x\" : int32[5]\n%1 = copy %0 : int32[5]\n%2 = negative %1 : int32[5]\n"
                     "output \"y\" = %2\n"));
}

TEST(independent_chains) {
  nv_plan *p = plan_of("graph t\n%0 = input \"x\" : int32[6]\n%1 = input \"y\" : int32[6]\n"
                       "%2 = negative %0 : int32[6]\n"
                       "%3 = negative %1 : int32[6]\noutput \"a\" = %2\noutput \"b\" = %3\n");
  assert_int_equal(p->nkernels, 2); /* nothing in common */
  assert_int_equal(p->ncuts, 0);
  assert_false(p->launches[1].barrier);
  is_optimal(plan_of("graph t\n%0 = input \"x\" : int32[6]\n%1 = negative %0 : int32[6]\n%2 = abs %0 : int32[6]\n"
                     "output \"a\" = %1\noutput \"b\" = %2\n"));
  is_optimal(plan_of("graph t\n%0 = input \"x\" : int32[2, 3]\n%1 = negative %0 : int32[2, 3]\n"
                     "%2 = transpose %0 {1, 0} : int32[3, 2]\n%3 = abs %2 : int32[3, 2]\noutput \"a\" = %1\n"
                     "output \"b\" = %3\n"));
}

TEST(outputs_that_are_not_computed) {
  nv_plan *p = plan_of("graph t\n%0 = input \"x\" : int32[2, 3]\n%1 = transpose %0 {1, 0} : int32[3, 2]\n"
                       "%2 = const 0x00000007 : int32[]\n%3 = broadcast_to %2 : int32[4]\noutput \"a\" = %0\n"
                       "output \"b\" = %0\n"
                       "output \"c\" = %1\noutput \"d\" = %3\noutput \"e\" = %2\n");
  assert_int_equal(p->nkernels, 3);
  assert_int_equal(p->kernels[0].noperands, 4); /* one load, three stores */
  assert_int_equal(p->bytes_moved, p->bytes_lower_bound);
  assert_int_equal(p->kernels[2].rank, 0);
}

TEST(an_output_in_another_shape_is_written_once) {
  nv_plan *p = plan_of("graph t\n%0 = input \"x\" : int32[2, 3]\n%1 = copy %0 : int32[2, 3]\n"
                       "%2 = reshape %1 : int32[6]\n"
                       "%3 = sum %1 {0, 0} : int32[3]\noutput \"a\" = %2\noutput \"b\" = %3\n");
  assert_int_equal(p->nkernels, 2);
  assert_int_equal(p->scratch_bytes, 0); /* the reduction reads the output */
}

TEST(no_fuse_is_one_kernel_a_node) {
  nv_graph *g = graph_of("graph t\n%0 = input \"x\" : float32[2, 3]\n%1 = input \"b\" : float32[3]\n"
                         "%2 = broadcast_to %1 : float32[2, 3]\n%3 = add %0, %2 : float32[2, 3]\n"
                         "%4 = const 0x3f000000 : float32[]\n%5 = broadcast_to %4 : float32[2, 3]\n"
                         "%6 = multiply %3, %5 : float32[2, 3]\n%7 = transpose %6 {1, 0} : float32[3, 2]\n"
                         "%8 = sum %7 {0, 0} : float32[2]\noutput \"y\" = %8\n");
  nv_plan *p = fused(g, false);
  assert_int_equal(p->nkernels, 5);
  for (uint32_t k = 0; k < p->nkernels; k++) assert_int_equal(p->kernels[k].nnodes, 1);
  for (uint32_t k = 0; k < p->ncuts; k++) assert_string_equal(p->cuts[k].why, "--no-fuse");
  assert_null(plan_compare(g, p));
}

/* ---- reductions ---- */

TEST(reductions_take_in_what_is_theirs) {
  nv_plan *p = plan_of("graph t\n%0 = input \"x\" : int32[3, 4, 5]\n%1 = multiply %0, %0 : int32[3, 4, 5]\n"
                       "%2 = sum %1 {1, 1} : int32[3, 1, 5]\n%3 = negative %2 : int32[3, 1, 5]\n"
                       "%4 = reshape %3 : int32[15]\n%5 = abs %4 : int32[15]\noutput \"y\" = %5\n");
  is_optimal(p);
  assert_int_equal(p->kernels[0].kind, NV_K_REDUCE);
  assert_int_equal(nv_dim_value(c, p->kernels[0].reduce_extent), 4);
  assert_int_equal(nv_dim_value(c, p->kernels[0].extent[0]), 15);
}

TEST(axes_of_a_reduction_merge) {
  nv_plan *p = plan_of("graph t\n%0 = input \"x\" : int32[2, 3, 4, 5]\n%1 = sum %0 {0, 2, 3} : int32[2, 3]\n"
                       "output \"y\" = %1\n");
  assert_non_null(strstr(kernel_text(p), "load b0[e.20 + 20*p.6]"));
  p = plan_of("graph t\n%0 = input \"x\" : int32[2, 3, 4, 5]\n%1 = sum %0 {0, 0, 2} : int32[3, 5]\n"
              "output \"y\" = %1\n");
  assert_non_null(strstr(kernel_text(p), "reduce [p.15 < 15] over e.8 < 8"));
}

TEST(a_kernel_never_waits_for_itself) { /* y is needed by the maximum and beside it */
  nv_plan *p = plan_of("graph t\n%0 = input \"x\" : int32[3, 4]\n%1 = copy %0 : int32[3, 4]\n"
                       "%2 = max %1 {1, 0} : int32[1, 4]\n"
                       "%3 = broadcast_to %2 : int32[3, 4]\n%4 = subtract %1, %3 : int32[3, 4]\noutput \"y\" = %4\n");
  assert_int_equal(p->nkernels, 3);
  assert_true(has_reason(p, "wait for itself"));
  assert_true(has_reason(p, "ends with its results"));
  /* cheap: computed inside the reduction and again beside it */
  p = plan_of("graph t\n%0 = input \"x\" : int32[3, 4]\n%1 = negative %0 : int32[3, 4]\n"
              "%2 = max %1 {1, 0} : int32[1, 4]\n"
              "%3 = broadcast_to %2 : int32[3, 4]\n%4 = subtract %1, %3 : int32[3, 4]\noutput \"y\" = %4\n");
  assert_int_equal(p->nkernels, 2);
  /* crosswise: each of two element-wise kernels would feed the other's reduction */
  p = plan_of("graph t\n%0 = input \"x\" : int32[4, 2]\n%1 = input \"y\" : int32[4, 2]\n"
              "%2 = copy %0 : int32[4, 2]\n%3 = copy %1 : int32[4, 2]\n"
              "%4 = sum %2 {1, 0} : int32[1, 2]\n%5 = sum %3 {1, 0} : int32[1, 2]\n"
              "%6 = broadcast_to %4 : int32[4, 2]\n%7 = broadcast_to %5 : int32[4, 2]\n"
              "%8 = add %2, %7 : int32[4, 2]\n%9 = add %3, %6 : int32[4, 2]\n"
              "%10 = multiply %8, %9 : int32[4, 2]\noutput \"a\" = %10\noutput \"b\" = %2\noutput \"c\" = %3\n");
  assert_int_equal(p->bytes_moved, 4 * (32 + 2 * (8 + 2) + 2 * (8 + 2) + 8));
}

/* ---- rows ---- */

TEST(layer_norm_reads_its_input_once) {
  nv_plan *p = plan_of("graph t\n%0 = input \"x\" : float32[4, 8]\n%1 = mean %0 {1, 1} : float32[4, 1]\n"
                       "%2 = broadcast_to %1 : float32[4, 8]\n%3 = subtract %0, %2 : float32[4, 8]\n"
                       "%4 = multiply %3, %3 : float32[4, 8]\n%5 = mean %4 {1, 1} : float32[4, 1]\n"
                       "%6 = abs %5 : float32[4, 1]\n"
                       "%7 = broadcast_to %6 : float32[4, 8]\n%8 = multiply %3, %7 : float32[4, 8]\n"
                       "output \"y\" = %8\n");
  is_optimal(p);
  assert_int_equal(p->kernels[0].kind, NV_K_ROWS);
  assert_non_null(strstr(kernel_text(p), "rows [p.4 < 4] over e.8 < 8"));
}

TEST(reductions_of_the_same_rows_share_a_kernel) { /* whatever their axes are called, and with what each row gives */
  nv_plan *p = plan_of("graph t\n%0 = input \"x\" : int32[3, 2, 4]\n%1 = sum %0 {0, 1, 2} : int32[3]\n"
                       "%2 = reshape %0 : int32[3, 8]\n%3 = max %2 {1, 1} : int32[3, 1]\n"
                       "%4 = multiply %2, %2 : int32[3, 8]\n%5 = sum %4 {0, 1} : int32[3]\n"
                       "%6 = reshape %3 : int32[3]\n%7 = add %6, %5 : int32[3]\n"
                       "output \"a\" = %1\noutput \"b\" = %3\noutput \"c\" = %7\noutput \"d\" = %4\n");
  is_optimal(p);
  /* one beside its operand */
  p = plan_of("graph t\n%0 = input \"x\" : int32[3, 4]\n%1 = abs %0 : int32[3, 4]\n%2 = sum %1 {0, 1} : int32[3]\n"
              "output \"a\" = %1\noutput \"b\" = %2\n");
  is_optimal(p);
  /* one alone needs no registers for its row */
  p = plan_of("graph t\n%0 = input \"x\" : int32[3, 4]\n%1 = abs %0 : int32[3, 4]\n%2 = sum %1 {0, 1} : int32[3]\n"
              "%3 = negative %2 : int32[3]\noutput \"b\" = %3\n");
  is_optimal(p);
  assert_int_equal(p->kernels[0].kind, NV_K_REDUCE);
}

TEST(rows_of_two_lengths_have_kernels_of_their_own) {
  nv_plan *p = plan_of("graph t\n%0 = input \"x\" : int32[3, 4]\n%1 = sum %0 {1, 1} : int32[3, 1]\n"
                       "%2 = broadcast_to %1 : int32[3, 4]\n%3 = subtract %0, %2 : int32[3, 4]\n"
                       "%4 = sum %3 {1, 0, 1} : int32[1, 1]\n%5 = broadcast_to %4 : int32[3, 4]\n"
                       "%6 = add %3, %5 : int32[3, 4]\noutput \"y\" = %6\n");
  assert_int_equal(p->nkernels, 3);
  assert_true(has_reason(p, "rows of one length"));
  /* sums of sums, and a softmax of what is one value a row of another kernel */
  p = plan_of("graph t\n%0 = input \"x\" : int32[3, 4, 2]\n%1 = sum %0 {0, 2} : int32[3, 4]\n"
              "%2 = max %1 {1, 1} : int32[3, 1]\n%3 = broadcast_to %2 : int32[3, 4]\n"
              "%4 = subtract %1, %3 : int32[3, 4]\n%5 = sum %4 {1, 1} : int32[3, 1]\n"
              "%6 = broadcast_to %5 : int32[3, 4]\n%7 = add %4, %6 : int32[3, 4]\noutput \"y\" = %7\n");
  assert_int_equal(p->nkernels, 2);
  assert_int_equal(p->bytes_moved, 4 * (24 + 12 + 12 + 12));
}

TEST(what_ends_a_row) {
  nv_plan *p = plan_of("graph t\n%0 = input \"x\" : int32[2, 8193]\n%1 = sum %0 {1, 1} : int32[2, 1]\n"
                       "%2 = broadcast_to %1 : int32[2, 8193]\n%3 = subtract %0, %2 : int32[2, 8193]\n"
                       "output \"y\" = %3\n");
  assert_int_equal(p->nkernels, 2);
  assert_true(has_reason(p, "rows of more than 8192 elements"));
  /* a row's value beside another row's elements */
  p = plan_of("graph t\n%0 = input \"x\" : int32[4, 4]\n%1 = sum %0 {0, 1} : int32[4]\n"
              "%2 = broadcast_to %1 : int32[4, 4]\n%3 = subtract %0, %2 : int32[4, 4]\noutput \"y\" = %3\n");
  assert_int_equal(p->nkernels, 2);
  assert_true(has_reason(p, "those of its own row"));
  /* a detour: what is needed again comes from a kernel that needs it */
  p = plan_of("graph t\n%0 = input \"x\" : int32[3, 4]\n%1 = sum %0 {1, 1} : int32[3, 1]\n"
              "%2 = broadcast_to %1 : int32[3, 4]\n%3 = subtract %0, %2 : int32[3, 4]\n"
              "%4 = sum %3 {1, 0} : int32[1, 4]\n%5 = broadcast_to %4 : int32[3, 4]\n"
              "%6 = add %3, %5 : int32[3, 4]\n%7 = max %6 {1, 1} : int32[3, 1]\n%8 = add %7, %1 : int32[3, 1]\n"
              "%9 = broadcast_to %8 : int32[3, 4]\n%10 = multiply %6, %9 : int32[3, 4]\noutput \"y\" = %10\n");
  assert_int_equal(p->nkernels, 3);
  /* limits */
  target.max_buffers = 6;
  text t = start_text();
  uint32_t x = node(&t, "input \"x\" : int32[3, 4]"), y = x;
  for (int k = 1; k <= 20; k++) node(&t, "input \"i%d\" : int32[3, 4]", k);
  for (uint32_t k = 1; k <= 20; k++) {
    y = node(&t, "add %%%u, %%%u : int32[3, 4]", y, x + k);
    uint32_t r = node(&t, "sum %%%u {1, 1} : int32[3, 1]", y);
    r = node(&t, "abs %%%u : int32[3, 1]", r);
    r = node(&t, "broadcast_to %%%u : int32[3, 4]", r);
    y = node(&t, "subtract %%%u, %%%u : int32[3, 4]", y, r);
  }
  output(&t, y);
  p = plan_of(nv_buf_text(&t.b));
  assert_true(p->nkernels <= 7);
  assert_true(has_reason(p, "more than 6 buffers"));
}

TEST(nothing_is_reduced_to_a_constant) {
  nv_plan *p = plan_of("graph t\n%0 = input \"x\" : float32[2, 0]\n%1 = sum %0 {0, 1} : float32[2]\n"
                       "%2 = mean %0 {0, 1} : float32[2]\n"
                       "%3 = exp %0 : float32[2, 0]\n%4 = reshape %3 : float32[0, 7]\n%5 = add %1, %1 : float32[2]\n"
                       "output \"a\" = %5\noutput \"b\" = %2\noutput \"c\" = %3\noutput \"d\" = %4\n");
  assert_int_equal(p->nkernels, 2);
  for (uint32_t k = 0; k < p->nkernels; k++) assert_int_equal(p->kernels[k].kind, NV_K_MAP);
  assert_int_equal(p->bytes_moved, 16);
  assert_int_equal(p->bytes_lower_bound, 16);
}

/* ---- the grid ---- */

TEST(at_most_three_dims) {
  nv_plan *p = plan_of("graph t\n%0 = input \"x\" : int32[2, 3, 2, 3, 2]\n"
                       "%1 = transpose %0 {4, 3, 2, 1, 0} : int32[2, 3, 2, 3, 2]\n"
                       "%2 = add %0, %1 : int32[2, 3, 2, 3, 2]\noutput \"y\" = %2\n");
  is_optimal(p);
  assert_int_equal(p->kernels[0].rank, 3);
  assert_int_equal(nv_dim_value(c, p->kernels[0].extent[0]), 12);
  /* rank 16 */
  p = plan_of("graph t\n%0 = input \"x\" : int32[2, 1, 1, 1, 3, 1, 1, 1, 1, 1, 2, 1, 1, 1, 1, 2]\n"
              "%1 = transpose %0 {15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0} : "
              "int32[2, 1, 1, 1, 1, 2, 1, 1, 1, 1, 1, 3, 1, 1, 1, 2]\n"
              "%2 = negative %1 : int32[2, 1, 1, 1, 1, 2, 1, 1, 1, 1, 1, 3, 1, 1, 1, 2]\noutput \"y\" = %2\n");
  is_optimal(p);
  assert_int_equal(p->kernels[0].rank, 3);
}

static const nv_kernel *huge(const char *shape, const char *perm, const char *moved) {
  const char *t = nv_format(c, "graph t\n%%0 = input \"x\" : bool[%s]\n%%1 = transpose %%0 {%s} : bool[%s]\n"
                            "%%2 = logical_not %%1 : bool[%s]\noutput \"y\" = %%2\n", shape, perm, moved, moved);
  nv_plan *p = fused(graph_of(t), true);
  assert_int_equal(p->nkernels, 1);
  return &p->kernels[0];
}

TEST(long_dims_are_cut) {
  const nv_kernel *k = huge("1073741824", "0", "1073741824"); /* 2^30 fits */
  assert_int_equal(k->rank, 1);
  k = huge("1073741825", "0", "1073741825");
  assert_int_equal(k->rank, 2);
  assert_true(k->guarded);
  assert_int_equal(nv_dim_value(c, k->limit), 1073741825);
  assert_int_equal(nv_dim_value(c, k->extent[0]), 1025);
  assert_int_equal(nv_dim_value(c, k->extent[1]), 1 << 20);
  k = huge("2147483648", "0", "2147483648"); /* even: no guard */
  assert_int_equal(k->rank, 2);
  assert_false(k->guarded);
  /* the middle one: the outer two share a dim that is cut */
  k = huge("3, 2147483653, 5", "2, 1, 0", "5, 2147483653, 3");
  assert_int_equal(k->rank, 3);
  assert_true(k->guarded);
  k = huge("2147483653, 5, 3", "2, 1, 0", "3, 5, 2147483653");
  assert_int_equal(k->rank, 3);
  assert_int_equal(nv_dim_value(c, k->extent[0]), 15);
  k = huge("2, 3, 2147483653, 5", "3, 2, 1, 0", "5, 2147483653, 3, 2");
  assert_int_equal(k->rank, 3);
}

/* ---- limits ---- */

TEST(bindings) {
  for (uint32_t n = 30; n <= 62; n++) { /* the sum of n inputs */
    text t = start_text();
    uint32_t x = 0;
    for (uint32_t k = 0; k < n; k++) node(&t, "input \"i%u\" : int32[4]", (unsigned)k);
    for (uint32_t k = 1; k < n; k++) x = node(&t, "add %%%u, %%%u : int32[4]", x, k);
    output(&t, x);
    nv_plan *p = plan_of(nv_buf_text(&t.b));
    assert_int_equal(p->nkernels, n <= 30 ? 1 : n <= 59 ? 2 : 3);
    assert_int_equal(has_reason(p, "31 buffers"), n > 30);
    assert_true(most_bindings(p) <= 31);
  }
}

TEST(many_outputs) {
  for (int order = 0; order < 2; order++) { /* each result behind its product, and all products first */
    text t = start_text();
    uint32_t x = node(&t, "input \"x\" : int32[17]"), product[40];
    uint32_t sums[40];
    for (uint32_t k = 0; k < 40; k++) {
      uint32_t f = node(&t, "const 0x%08x : int32[]", k + 2), wide = node(&t, "broadcast_to %%%u : int32[17]", f);
      product[k] = node(&t, "multiply %%%u, %%%u : int32[17]", x, wide);
      if (order == 0) sums[k] = node(&t, "add %%%u, %%%u : int32[17]", product[k], x);
    }
    for (uint32_t k = 0; k < 40 && order == 1; k++) sums[k] = node(&t, "add %%%u, %%%u : int32[17]", product[k], x);
    for (uint32_t k = 0; k < 40; k++) output(&t, sums[k]);
    nv_plan *p = plan_of(nv_buf_text(&t.b));
    assert_int_equal(p->nkernels, 2);
    assert_int_equal(p->bytes_moved, 4 * 17 * 42);
  }
}

TEST(one_value_as_many_outputs) {
  text t = start_text();
  uint32_t x = node(&t, "input \"x\" : int32[5]"), y = node(&t, "negative %%%u : int32[5]", x);
  for (int k = 0; k < 70; k++) output(&t, y);
  nv_plan *p = plan_of(nv_buf_text(&t.b));
  assert_int_equal(p->nkernels, 3);
  assert_true(most_bindings(p) <= 31);
  t = start_text();
  x = node(&t, "input \"x\" : int32[5, 5]");
  y = node(&t, "sum %%%u {0, 1} : int32[5]", x);
  for (int k = 0; k < 40; k++) output(&t, y);
  p = plan_of(nv_buf_text(&t.b));
  assert_true(most_bindings(p) <= 31);
}

TEST(statements) {
  for (uint32_t n = 4093; n <= 4096; n++) { /* with its load and store, a chain of 4094 fills a kernel */
    text t = start_text();
    uint32_t x = node(&t, "input \"x\" : int32[4]");
    for (uint32_t k = 0; k < n; k++) x = node(&t, "%s %%%u : int32[4]", k % 2 ? "abs" : "negative", x);
    output(&t, x);
    nv_plan *p = plan_of(nv_buf_text(&t.b));
    assert_int_equal(p->nkernels, n <= 4094 ? 1 : 2);
    assert_int_equal(has_reason(p, "4096 statements"), n > 4094);
  }
}

/* n values, each the next one's operand, that a sum and then a product need: all alive at once. */
static nv_plan *crowd(uint32_t n) {
  text t = start_text();
  uint32_t x = node(&t, "input \"x\" : int32[4]"), first = t.values, s = first;
  for (uint32_t k = 0; k < n; k++) node(&t, "%s %%%u : int32[4]", k % 2 ? "abs" : "negative", k ? t.values - 1 : x);
  for (uint32_t k = 1; k < n; k++) s = node(&t, "add %%%u, %%%u : int32[4]", s, first + k);
  for (uint32_t k = 0; k < n; k++) s = node(&t, "multiply %%%u, %%%u : int32[4]", s, first + k);
  output(&t, s);
  return plan_of(nv_buf_text(&t.b));
}

TEST(live_values) {
  nv_plan *p = crowd(63);
  assert_int_equal(p->nkernels, 1);
  assert_int_equal(p->kernels[0].live, 64);
  p = crowd(64);
  assert_true(p->nkernels > 1);
  assert_true(has_reason(p, "64 values"));
  for (uint32_t k = 0; k < p->nkernels; k++) assert_true(p->kernels[k].live <= 64);
  /* alive only because of the order they are written in: another order is one kernel */
  text t = start_text();
  uint32_t x = node(&t, "input \"x\" : int32[4]"), first = t.values, s = first;
  for (uint32_t k = 0; k < 100; k++) {
    uint32_t f = node(&t, "const 0x%08x : int32[]", k + 2), wide = node(&t, "broadcast_to %%%u : int32[4]", f);
    node(&t, "multiply %%%u, %%%u : int32[4]", x, wide);
  }
  for (uint32_t k = 0; k < 100; k++) s = node(&t, "add %%%u, %%%u : int32[4]", k ? s : x, first + 3 * k + 2);
  output(&t, s);
  is_optimal(plan_of(nv_buf_text(&t.b)));
}

TEST(a_long_chain_is_quick) {
  nv_shape s = nv_shape_of_ints(c, (int64_t[]){1024}, 1);
  nv_graph *g = nv_graph_new(c, nv_intern_z(c, "t"));
  nv_value x = nv_graph_input(g, nv_intern_z(c, "x"), NV_F32, s, NV_NOWHERE);
  for (int k = 0; k < 100000; k++) x = nv_graph_add(g, NV_OP_negative, &x, 1, NV_NO_ATTR, NV_F32, s, NV_NONE);
  nv_graph_output(g, x, nv_intern_z(c, "y"), NV_NOWHERE);
  nv_plan *p = fused(g, true);
  assert_int_equal(p->nkernels, 25);
  assert_int_equal(p->scratch_bytes, 8192); /* two that alternate */
}

TEST(long_chains_of_views_stay_readable) { /* expressions that double with each view are cut by a copy */
  text t = start_text();
  uint32_t x = node(&t, "input \"x\" : int32[4, 6]");
  for (int k = 0; k < 30; k++) {
    x = node(&t, "transpose %%%u {1, 0} : int32[6, 4]", x);
    x = node(&t, "reshape %%%u : int32[3, 8]", x);
    x = node(&t, "transpose %%%u {1, 0} : int32[8, 3]", x);
    x = node(&t, "reshape %%%u : int32[4, 6]", x);
  }
  output(&t, x);
  nv_plan *p = plan_of(nv_buf_text(&t.b));
  for (uint32_t k = 0; k < p->nkernels; k++)
    for (uint32_t i = 0; i < p->kernels[k].ninstrs; i++)
      assert_true(p->kernels[k].instrs[i].kind == NV_I_OP || nv_dim_size(c, p->kernels[k].instrs[i].offset) < 2000);
}

TEST(what_is_not_built_is_refused) {
  static const char open[] = "graph t\n"
                             "dim B 0..64\n"
                             "%0 = input \"x\" : float32[B]\n"
                             "%1 = cumsum %0 {0, 0, 0} : float32[B]\n"
                             "source B %0 0 1 0\n"
                             "output \"y\" = %1\n";
  const char *why;
  uint32_t line;
  nv_graph *g = nv_graph_read(c, open, sizeof open - 1, &why, &line);
  assert_non_null(g);
  if (setjmp(c->door) == 0) {
    nv_fuse(g, true);
    fail_msg("no error");
  }
  assert_int_equal(c->raised, NUVECC_SPEC);
  assert_non_null(strstr(c->fault, "not supported yet"));
}

int main(void) {
  const struct CMUnitTest tests[] = {
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
      T(a_chain_is_one_kernel), T(several_outputs_and_rank_0_inputs), T(views_are_index_arithmetic),
      T(reshapes_need_no_divisions), T(a_value_under_two_orders_is_computed_twice),
      T(a_cheap_value_under_a_broadcast_is_computed_again), T(copies_are_never_computed_twice), T(independent_chains),
      T(outputs_that_are_not_computed), T(an_output_in_another_shape_is_written_once), T(no_fuse_is_one_kernel_a_node),
      T(reductions_take_in_what_is_theirs), T(axes_of_a_reduction_merge), T(a_kernel_never_waits_for_itself),
      T(layer_norm_reads_its_input_once), T(reductions_of_the_same_rows_share_a_kernel),
      T(rows_of_two_lengths_have_kernels_of_their_own), T(what_ends_a_row),
      T(nothing_is_reduced_to_a_constant), T(at_most_three_dims),
      T(long_dims_are_cut), T(bindings), T(many_outputs), T(one_value_as_many_outputs), T(statements), T(live_values),
      T(a_long_chain_is_quick), T(long_chains_of_views_stay_readable), T(what_is_not_built_is_refused),
  };
  return cmocka_run_group_tests_name("fuse", tests, NULL, NULL);
}
