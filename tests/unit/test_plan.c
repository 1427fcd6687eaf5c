/* test_plan.c - places, scratch, barriers, byte counts. nv_plan_verify holds every plan against its hazards. */
#include "plan_run.h"

static nv_plan *place(nv_graph *g, bool fuse) {
  nv_plan *p = nv_fuse(g, fuse);
  nv_place_buffers(p);
  nv_plan_verify(p);
  return p;
}
static nv_plan *placed(const char *text, bool fuse) {
  nv_graph *g = graph_of(text);
  nv_plan *p = place(g, fuse);
  const char *why = plan_compare(g, p);
  if (why) fail_msg("%s", why);
  return p;
}

static uint32_t barriers(const nv_plan *p) {
  uint32_t n = 0;
  for (uint32_t k = 0; k < p->nlaunches; k++) n += p->launches[k].barrier;
  return n;
}

TEST(places) {
  nv_plan *p = placed("graph t\n%0 = input \"a\" : int32[4]\n%1 = input \"b\" : int32[4]\n%2 = negative %1 : int32[4]\n"
                      "%3 = add %2, %0 : int32[4]\n%4 = negative %3 : int32[4]\noutput \"x\" = %4\n"
                      "output \"y\" = %3\n", false);
  assert_int_equal(p->nlaunches, 3);
  assert_int_equal(p->launches[0].places[0].kind, NV_PLACE_INPUT);
  assert_int_equal(p->launches[0].places[0].index, 1);
  assert_int_equal(p->launches[0].places[1].kind, NV_PLACE_SCRATCH);
  assert_int_equal(p->launches[1].places[0].kind, NV_PLACE_SCRATCH);
  assert_int_equal(p->launches[1].places[2].kind, NV_PLACE_OUTPUT);
  assert_int_equal(p->launches[1].places[2].index, 1);
  assert_int_equal(p->launches[2].places[0].kind, NV_PLACE_OUTPUT); /* what lies in an output is read from there */
  assert_int_equal(p->launches[2].places[0].index, 1);
  assert_int_equal(p->launches[2].places[1].index, 0);
  assert_int_equal(p->scratch_bytes, 256);
  assert_int_equal(p->scratch_bound, 16);
  assert_int_equal(p->bytes_moved, 16 * (2 + 3 + 2));
  assert_int_equal(p->bytes_lower_bound, 16 * 4);
}

TEST(a_chain_alternates_between_two_places) {
  nv_shape s = nv_shape_of_ints(c, (int64_t[]){1000}, 1);
  nv_graph *g = nv_graph_new(c, nv_intern_z(c, "t"));
  nv_value x = nv_graph_input(g, nv_intern_z(c, "x"), NV_F32, s, NV_NOWHERE);
  for (int k = 0; k < 1000; k++) x = nv_graph_add(g, NV_OP_negative, &x, 1, NV_NO_ATTR, NV_F32, s, NV_NONE);
  nv_graph_output(g, x, nv_intern_z(c, "y"), NV_NOWHERE);
  nv_plan *p = place(g, false);
  assert_int_equal(p->nlaunches, 1000);
  assert_int_equal(p->scratch_bytes, 2 * 4096);
  assert_int_equal(p->scratch_bound, 2 * 4000);
  assert_int_equal(barriers(p), 999); /* each reads what the last wrote */
  assert_false(p->launches[0].barrier);
}

TEST(growing_values_fill_the_bound) { /* each is twice the one before: packed by size, not by time */
  nv_plan *p = placed("graph t\n%0 = input \"x\" : int32[64]\n%1 = broadcast_to %0 : int32[2, 64]\n"
                      "%2 = broadcast_to %1 : int32[2, 2, 64]\n%3 = broadcast_to %2 : int32[2, 2, 2, 64]\n"
                      "%4 = broadcast_to %3 : int32[2, 2, 2, 2, 64]\n%5 = sum %4 {0, 0, 1, 2, 3} : int32[64]\n"
                      "output \"y\" = %5\n", false);
  assert_int_equal(p->scratch_bound, 256 * (8 + 16));
  assert_int_equal(p->scratch_bytes, p->scratch_bound);
}

TEST(barriers_only_where_launches_depend) {
  /* four independent launches, then one that reads two of them, then one that reads the others: no second barrier */
  nv_plan *p = placed("graph t\n%0 = input \"x\" : int32[4]\n%1 = negative %0 : int32[4]\n%2 = abs %0 : int32[4]\n"
                      "%3 = sign %0 : int32[4]\n%4 = square %0 : int32[4]\n%5 = add %1, %2 : int32[4]\n"
                      "%6 = add %3, %4 : int32[4]\n"
                      "output \"a\" = %5\noutput \"b\" = %6\n", false);
  assert_int_equal(p->nlaunches, 6);
  assert_int_equal(barriers(p), 1);
  assert_true(p->launches[4].barrier);
  /* a place that is used again waits for its last reader, though nothing is read from it */
  p = placed("graph t\n%0 = input \"x\" : int32[4]\n%1 = negative %0 : int32[4]\n%2 = abs %1 : int32[4]\n"
             "%3 = sign %0 : int32[4]\n"
             "%4 = abs %3 : int32[4]\noutput \"a\" = %2\noutput \"b\" = %4\n", false);
  assert_int_equal(p->scratch_bytes, 256);
  assert_true(p->launches[2].barrier);
  assert_int_equal(barriers(p), 3);
}

TEST(crowded_scratch) { /* too many values alive at once for packing by size */
  nv_shape s = nv_shape_of_ints(c, (int64_t[]){3}, 1), big = nv_shape_of_ints(c, (int64_t[]){100, 3}, 2);
  nv_graph *g = nv_graph_new(c, nv_intern_z(c, "t"));
  nv_value x = nv_graph_input(g, nv_intern_z(c, "x"), NV_I32, s, NV_NOWHERE), v[3000];
  for (int round = 0; round < 2; round++) {
    for (int k = 0; k < 3000; k++) v[k] = nv_graph_add(g, NV_OP_negative, &x, 1, NV_NO_ATTR, NV_I32, s, NV_NONE);
    for (int k = 0; k < 3000; k++) {
      nv_value pair[2] = {x, v[k]};
      x = nv_graph_add(g, NV_OP_add, pair, 2, NV_NO_ATTR, NV_I32, s, NV_NONE);
    }
  }
  nv_value wide = nv_graph_add(g, NV_OP_broadcast_to, &x, 1, NV_NO_ATTR, NV_I32, big, NV_NONE);
  wide = nv_graph_add(g, NV_OP_negative, &wide, 1, NV_NO_ATTR, NV_I32, big, NV_NONE);
  nv_graph_output(g, wide, nv_intern_z(c, "y"), NV_NOWHERE);
  nv_plan *p = place(g, false);
  assert_int_equal(p->nlaunches, 12002);
  /* the second round uses the first one's places: 3,000 values, two sums and the wide one */
  assert_true(p->scratch_bytes <= 3003 * 256 + 1280);
  assert_null(plan_compare(g, p));
}

TEST(lower_bound) {
  nv_plan *p = placed("graph t\n%0 = input \"x\" : int32[2, 3]\n%1 = input \"unused\" : int32[100]\n"
                      "%2 = input \"s\" : int32[]\n"
                      "%3 = input \"empty\" : float32[0, 5]\n%4 = broadcast_to %2 : int32[2, 3]\n"
                      "%5 = add %0, %4 : int32[2, 3]\n"
                      "%6 = sum %3 {0, 0} : float32[5]\n%7 = exp %3 : float32[0, 5]\noutput \"a\" = %5\n"
                      "output \"b\" = %5\n"
                      "output \"c\" = %6\noutput \"d\" = %7\n", true);
  assert_int_equal(p->bytes_lower_bound, 24 + 4 + 2 * 24 + 20);
  assert_int_equal(p->bytes_moved, p->bytes_lower_bound);
  assert_int_equal(p->nlaunches, 2);
  /* an input that only something empty depends on isn't counted */
  p = placed("graph t\n%0 = input \"x\" : int32[1, 3]\n%1 = broadcast_to %0 : int32[0, 3]\n"
             "%2 = sum %1 {0, 0} : int32[3]\n"
             "output \"y\" = %2\n", true);
  assert_int_equal(p->bytes_lower_bound, 12);
}

/* What slices leave of an input: elements that a kernel reads, and the lower bound. */
static void reads(const char *nodes, int64_t elements, int64_t least) {
  for (int fuse = 0; fuse < 2; fuse++) {
    nv_plan *p = placed(nv_format(c, "graph t\n%%0 = input \"x\" : int32[8, 12]\n%s", nodes), fuse);
    const nv_graph *g = p->graph;
    int64_t bytes = 0;
    for (uint32_t k = 0; k < g->noutputs; k++) bytes += 4 * nv_shape_count(c, nv_shape_at(g, g->outputs[k].value));
    assert_int_equal((p->bytes_lower_bound - bytes) / 4, least);
    if (fuse) assert_int_equal(p->kernels[0].operands[0].elements, elements);
  }
}

TEST(slices_read_a_part) {
#define ONE(text) text "output \"y\" = %1\n"
  reads(ONE("%1 = slice %0 {0, 0, 1, 1} : int32[1, 12]\n"), 12, 12);
  reads(ONE("%1 = slice %0 {7, 11, -2, -1} : int32[4, 12]\n"), 48, 48);
  reads(ONE("%1 = slice %0 {1, 1, 3, 5} : int32[3, 3]\n"), 9, 9);
  /* neighbours: what the two have in common counts once */
#define TWO(a, b) a b "%3 = add %1, %2 : int32[8, 11]\noutput \"y\" = %3\n"
  reads(TWO("%1 = slice %0 {0, 0, 1, 1} : int32[8, 11]\n", "%2 = slice %0 {0, 1, 1, 1} : int32[8, 11]\n"), 96, 96);
  reads(TWO("%1 = slice %0 {0, 0, 1, 1} : int32[8, 11]\n", "%2 = slice %0 {7, 10, -1, -1} : int32[8, 11]\n"), 88, 88);
  /* even and odd rows; uneven steps that meet: the bound is too low rather than too high */
  reads("%1 = slice %0 {0, 2, 2, 1} : int32[4, 3]\n%2 = slice %0 {1, 3, 2, 1} : int32[4, 3]\n"
        "%3 = add %1, %2 : int32[4, 3]\noutput \"y\" = %3\n", 24, 24);
  reads("%1 = slice %0 {0, 0, 1, 1} : int32[4, 12]\n%2 = slice %0 {1, 2, 1, 3} : int32[4, 3]\n"
        "%3 = sum %2 {0, 1} : int32[4]\n%4 = sum %1 {0, 1} : int32[4]\n%5 = add %3, %4 : int32[4]\n"
        "output \"y\" = %5\n", 12, 48);
  /* through other views: flattened, cut, transposed */
  reads("%1 = reshape %0 : int32[96]\n%2 = slice %1 {5, 1} : int32[20]\noutput \"y\" = %2\n", 20, 12);
  reads("%1 = reshape %0 : int32[96]\n%2 = slice %1 {12, 1} : int32[48]\noutput \"y\" = %2\n", 48, 48);
  reads("%1 = transpose %0 {1, 0} : int32[12, 8]\n%2 = slice %1 {3, 0, 2, 1} : int32[2, 8]\n"
        "%3 = reshape %2 : int32[2, 2, 4]\noutput \"y\" = %3\n", 16, 16);
  /* computed before it is cut: only the part is computed where it is used */
  reads("%1 = negative %0 : int32[8, 12]\n%2 = slice %1 {2, 0, 1, 1} : int32[3, 12]\noutput \"y\" = %2\n", 36, 36);
}

TEST(no_kernels) {
  nv_plan *p = placed("graph t\n%0 = input \"x\" : int32[0]\noutput \"y\" = %0\n", true);
  assert_int_equal(p->nlaunches, 0);
  assert_int_equal(p->scratch_bytes, 0);
  assert_int_equal(p->bytes_lower_bound, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
      T(places), T(a_chain_alternates_between_two_places), T(growing_values_fill_the_bound),
      T(barriers_only_where_launches_depend), T(crowded_scratch), T(lower_bound), T(slices_read_a_part), T(no_kernels),
  };
  return cmocka_run_group_tests_name("plan", tests, NULL, NULL);
}
