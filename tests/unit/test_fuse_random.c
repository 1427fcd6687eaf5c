/* test_fuse_random.c - random graphs through simplify, fuse and plan, under random limits: every plan is verified and
 * run on the CPU against the evaluator; the simplifier's second run changes nothing. The seed of a failure is printed;
 * the program takes a range of seeds, for longer runs. */
#include "plan_run.h"

static uint64_t state;
static uint32_t below(uint32_t n) { /* xorshift64 */
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return (uint32_t)((state >> 11) % n);
}
#define ONE_OF(list) (list)[below((uint32_t)(sizeof(list) / sizeof *(list)))]

enum { MOST_ELEMENTS = 2000 };
static const int64_t sizes[] = {1, 2, 3, 4, 6, 2, 4, 3, 1, 12};
static uint32_t oldest; /* operands are picked from the values behind it */

static bool views_only; /* nothing else but an operation here and there */

static nv_value pick(const nv_graph *g) { return oldest + below(g->nvalues - oldest); }

static nv_value add(nv_graph *g, nv_op op, const nv_value *operands, uint32_t n, nv_attr attr, nv_shape shape) {
  nv_dtype d;
  const char *why;
  if (!nv_infer(g, op, operands, n, attr, &d, &shape, &why)) return NV_NONE;
  return nv_graph_add(g, op, operands, n, attr, d, shape, NV_NONE);
}

static nv_value widen(nv_graph *g, nv_value v, nv_shape to) {
  return nv_shape_at(g, v) == to ? v : add(g, NV_OP_broadcast_to, &v, 1, NV_NO_ATTR, to);
}

/* Float ops keep small integers exact, so that sums have the same bits in any order. */
static void add_binary(nv_graph *g, nv_value a) {
  static const nv_op of_float[] = {NV_OP_maximum, NV_OP_minimum,  NV_OP_maximum, NV_OP_minimum,
                                   NV_OP_add,     NV_OP_subtract, NV_OP_less,    NV_OP_equal};
  static const nv_op of_int[] = {NV_OP_multiply, NV_OP_add,  NV_OP_subtract,
                                 NV_OP_maximum,  NV_OP_less, NV_OP_bitwise_xor};
  static const nv_op of_bool[] = {NV_OP_logical_and, NV_OP_logical_or, NV_OP_not_equal};
  nv_dtype d = nv_dtype_of(g, a);
  nv_value b = pick(g);
  const char *why;
  nv_shape out;
  for (int k = 0; k < 20 && nv_dtype_of(g, b) != d; k++) b = pick(g);
  nv_shape two[2] = {nv_shape_at(g, a), nv_shape_at(g, b)};
  if (nv_dtype_of(g, b) != d || !nv_broadcast_shapes(c, two, 2, &out, &why)) return;
  if (nv_shape_count(c, out) > MOST_ELEMENTS) return;
  nv_value operands[2] = {widen(g, a, out), widen(g, b, out)};
  add(g, d == NV_F32 ? ONE_OF(of_float) : d == NV_BOOL ? ONE_OF(of_bool) : ONE_OF(of_int), operands, 2, NV_NO_ATTR, 0);
}

static void add_with_constant(nv_graph *g, nv_value a) {
  nv_dtype d = nv_dtype_of(g, a);
  int64_t x = (int64_t)below(5) - 2;
  uint64_t bits = d == NV_BOOL ? (uint64_t)(x & 1) : d == NV_F32 ? nv_f32_to_bits(d, (float)x) : nv_int_to_bits(d, x);
  nv_value operands[2] = {a, widen(g, nv_graph_const(g, d, bits, NV_NONE), nv_shape_at(g, a))};
  if (below(2)) {
    operands[0] = operands[1];
    operands[1] = a;
  }
  add(g, d == NV_BOOL ? NV_OP_logical_and : d == NV_F32 ? NV_OP_maximum : NV_OP_add, operands, 2, NV_NO_ATTR, 0);
}

static void add_where(nv_graph *g, nv_value a) {
  nv_value condition = NV_NONE, b = NV_NONE;
  for (int k = 0; k < 30; k++) {
    nv_value v = pick(g);
    if (nv_shape_at(g, v) != nv_shape_at(g, a)) continue;
    if (nv_dtype_of(g, v) == NV_BOOL) condition = v;
    if (nv_dtype_of(g, v) == nv_dtype_of(g, a)) b = v;
  }
  nv_value operands[3] = {condition, a, b};
  if (condition != NV_NONE && b != NV_NONE) add(g, NV_OP_where, operands, 3, NV_NO_ATTR, 0);
}

static void add_view(nv_graph *g, nv_value a) {
  nv_shape s = nv_shape_at(g, a);
  uint32_t rank = nv_shape_rank(c, s), n = 0;
  int64_t list[2 * NV_MAX_RANK], dims[NV_MAX_RANK], left = nv_shape_count(c, s);
  for (uint32_t k = 0; k < rank; k++) dims[k] = nv_dim_value(c, nv_shape_dims(c, s)[k]);
  switch (below(10)) {
  case 8: /* axes of size 1 repeated in their places */
    for (uint32_t k = 0; k < rank; k++)
      if (dims[k] == 1 && left * 3 < MOST_ELEMENTS) left *= dims[k] = 1 + below(3);
    add(g, NV_OP_broadcast_to, &a, 1, NV_NO_ATTR, nv_shape_of_ints(c, dims, rank));
    return;
  case 9:
    for (uint32_t k = 0; k < rank; k++) {
      const int64_t more = dims[k] && left * 3 < MOST_ELEMENTS ? (int64_t)below(3) : 0;
      list[k] = below((uint32_t)more + 1);
      if (more) left = left / dims[k] * (dims[k] + more);
      dims[k] += more;
    }
    add(g, NV_OP_pad_edge, &a, 1, nv_attr_make(c, list, rank), nv_shape_of_ints(c, dims, rank));
    return;
  case 5:
  case 6:
    for (uint32_t k = 0; k < rank; k++) {
      int64_t first = below((uint32_t)dims[k] + 1), step = below(2) ? 1 : (int64_t)below(5) - 2;
      if (!step) step = 1;
      if (first == dims[k]) first = step > 0 || !dims[k] ? 0 : first - 1;
      int64_t most = !dims[k] ? 0 : step > 0 ? (dims[k] - 1 - first) / step + 1 : first / -step + 1;
      dims[k] = most && below(12) ? 1 + below((uint32_t)most) : 0;
      if (dims[k] > most) dims[k] = most;
      list[k] = dims[k] ? first : 0;
      list[rank + k] = dims[k] > 1 ? step : 1;
    }
    add(g, NV_OP_slice, &a, 1, nv_attr_make(c, list, 2 * rank), nv_shape_of_ints(c, dims, rank));
    return;
  case 0:
  case 1:
    for (uint32_t k = 0; k < rank; k++) { /* a shuffle, as it is dealt */
      uint32_t j = below(k + 1);
      list[k] = list[j];
      list[j] = k;
    }
    add(g, NV_OP_transpose, &a, 1, nv_attr_make(c, list, rank), 0);
    return;
  case 2:
    if (left == 0) return;
    while (n < 3 && left > 1) {
      int64_t f = ONE_OF(sizes);
      list[n] = left % f ? left : f;
      left /= list[n++];
    }
    if (left > 1 || n == 0) list[n++] = left;
    add(g, NV_OP_reshape, &a, 1, NV_NO_ATTR, nv_shape_of_ints(c, list, n));
    return;
  case 3:
    list[0] = below(rank + 1);
    if (rank < 5) add(g, NV_OP_expand_dims, &a, 1, nv_attr_make(c, list, 1), 0);
    return;
  case 4:
    for (uint32_t k = 0; k < rank; k++)
      if (dims[k] == 1 && below(2)) list[n++] = k;
    add(g, NV_OP_squeeze, &a, 1, nv_attr_make(c, list, n), 0);
    return;
  default:
    list[0] = 1 + below(3);
    memcpy(list + 1, dims, rank * sizeof *dims);
    if (rank < 4 && list[0] * left < MOST_ELEMENTS)
      add(g, NV_OP_broadcast_to, &a, 1, NV_NO_ATTR, nv_shape_of_ints(c, list, rank + 1));
  }
}

static void add_reduction(nv_graph *g, nv_value a) {
  nv_shape s = nv_shape_at(g, a);
  nv_dtype d = nv_dtype_of(g, a);
  int64_t attr[NV_MAX_RANK + 1] = {below(2)}, count = 1;
  uint32_t n = 1;
  for (uint32_t k = 0; k < nv_shape_rank(c, s); k++) {
    if (below(2)) continue;
    attr[n++] = k;
    count *= nv_dim_value(c, nv_shape_dims(c, s)[k]);
  }
  bool exact = (count & (count - 1)) == 0; /* 1/count is a power of two */
  nv_op op = d == NV_F32 ? (!exact ? NV_OP_max : below(2) ? NV_OP_mean : NV_OP_sum)
             : d == NV_BOOL ? (below(2) ? NV_OP_any : NV_OP_sum) : below(2) ? NV_OP_sum : NV_OP_max;
  if (count > 0 || op != NV_OP_max) add(g, op, &a, 1, nv_attr_make(c, attr, n), 0);
}

/* A value joined with what a reduction of its rows gives, as in softmax and the norms. */
static void add_normalized(nv_graph *g, nv_value a) {
  nv_shape s = nv_shape_at(g, a);
  nv_dtype d = nv_dtype_of(g, a);
  uint32_t rank = nv_shape_rank(c, s), from = rank ? below(rank) : 0, n = 1;
  int64_t attr[NV_MAX_RANK + 1] = {1}, count = nv_shape_count(c, s);
  for (uint32_t k = from; k < rank; k++) attr[n++] = k;
  if (!count || !rank || (d != NV_I32 && d != NV_F32)) return;
  nv_value r = add(g, below(2) || d == NV_F32 ? NV_OP_max : NV_OP_sum, &a, 1, nv_attr_make(c, attr, n), 0);
  if (below(2)) r = add(g, NV_OP_negative, &r, 1, NV_NO_ATTR, 0);
  nv_value with = below(4) ? a : pick(g), operands[2] = {with, widen(g, r, s)};
  if (nv_shape_at(g, with) == s && nv_dtype_of(g, with) == d) add(g, NV_OP_maximum, operands, 2, NV_NO_ATTR, 0);
}

static void add_random(nv_graph *g) {
  static const nv_op unary[] = {NV_OP_abs, NV_OP_negative, NV_OP_sign, NV_OP_stop_gradient, NV_OP_copy};
  static const int64_t dtypes[] = {NV_I32, NV_F32, NV_BOOL, NV_I32};
  nv_value a = pick(g);
  int64_t to;
  switch (views_only && below(5) ? 16 : below(16)) {
  case 0: add(g, ONE_OF(unary), &a, 1, NV_NO_ATTR, 0); return;
  case 1:
  case 2:
  case 3:
  case 4: add_binary(g, a); return;
  case 5: add_with_constant(g, a); return;
  case 6: add_where(g, a); return;
  case 7: add_reduction(g, a); return;
  case 8:
    to = ONE_OF(dtypes);
    add(g, NV_OP_astype, &a, 1, nv_attr_make(c, &to, 1), 0);
    return;
  case 9:
  case 10: add_normalized(g, a); return;
  default: add_view(g, a);
  }
}

static nv_graph *random_graph(uint32_t nodes) {
  nv_graph *g = nv_graph_new(c, nv_intern_z(c, "t"));
  views_only = below(4) == 0;
  int64_t pool[6]; /* few sizes, so that shapes meet */
  for (int k = 0; k < 6; k++) pool[k] = ONE_OF(sizes);
  if (below(40) == 0) pool[below(6)] = 0;
  for (uint32_t k = 0, n = 1 + below(4); k < n; k++) {
    int64_t dims[4];
    uint32_t rank = below(4);
    for (uint32_t a = 0; a < rank; a++) dims[a] = ONE_OF(pool);
    nv_graph_input(g, nv_intern_z(c, nv_format(c, "i%u", (unsigned)k)), below(3) ? NV_I32 : NV_F32,
                   nv_shape_of_ints(c, dims, rank), NV_NOWHERE);
  }
  uint32_t window = 4 + below(40);
  while (g->nnodes < nodes) {
    oldest = g->nvalues > window && below(4) ? g->nvalues - window : 0;
    add_random(g);
  }
  oldest = g->nvalues > 10 ? g->nvalues - 10 : 0;
  for (uint32_t k = 0, n = 1 + below(5) + (below(10) ? 0 : below(45)); k < n; k++)
    nv_graph_output(g, below(3) ? pick(g) : below(g->nvalues), nv_intern_z(c, nv_format(c, "o%u", (unsigned)k)),
                    NV_NOWHERE);
  return g;
}

static const char *printed(const nv_graph *g) {
  nv_buf b;
  nv_buf_init(&b, c);
  nv_graph_print(&b, g);
  return nv_buf_text(&b);
}

/* Do two shapes differ by axes of size 1 only? */
static bool differ_by_ones(nv_shape a, nv_shape b) {
  const nv_shape two[2] = {a, b};
  int64_t dims[2][NV_MAX_RANK];
  uint32_t n[2] = {0, 0};
  for (int i = 0; i < 2; i++)
    for (uint32_t k = 0; k < nv_shape_rank(c, two[i]); k++) {
      const int64_t d = nv_dim_value(c, nv_shape_dims(c, two[i])[k]);
      if (d != 1) dims[i][n[i]++] = d;
    }
  return n[0] == n[1] && (n[0] == 0 || !memcmp(dims[0], dims[1], n[0] * sizeof **dims));
}

/* How far outward a view stands (simplify_view.c). */
static int place_of(const nv_graph *g, nv_value v) {
  switch (nv_node_of(g, v)->op) {
  case NV_OP_slice:
  case NV_OP_pad_edge: return 1;
  case NV_OP_transpose: return 2;
  case NV_OP_reshape: return 3;
  case NV_OP_broadcast_to: return 4;
  default: return 0;
  }
}

/* May view v of x, a view, stay? In the one order that is left, none of its own kind (simplify_view.c). */
static bool may_stay(const nv_graph *g, nv_value v, nv_value x) {
  const int outer = place_of(g, v), inner = place_of(g, x);
  if (inner == 3) {
    const nv_value y = nv_operand(g, nv_node_of(g, x), 0);
    if (outer < 3 && !differ_by_ones(nv_shape_at(g, x), nv_shape_at(g, y))) return true;
  }
  if (outer == 3 && inner == 4) return !differ_by_ones(nv_shape_at(g, v), nv_shape_at(g, x));
  return outer > inner || (outer == 1 && inner == 1 && nv_node_of(g, v)->op != nv_node_of(g, x)->op);
}

static void check_views(const nv_graph *g) {
  for (nv_node k = 0; k < g->nnodes; k++) {
    const nv_node_rec *n = &g->nodes[k];
    if (!place_of(g, n->result) || nv_shape_count(c, nv_shape_at(g, n->result)) == 0) continue;
    const nv_value x = nv_operand(g, n, 0);
    if (place_of(g, x) && !may_stay(g, n->result, x))
      nv_bug(c, "%s of %s is left in\n%s", nv_ops[n->op].name, nv_ops[nv_node_of(g, x)->op].name, printed(g));
  }
}

static void check_seed(uint64_t seed) {
  state = seed * UINT64_C(0x9e3779b97f4a7c15) + 1;
  for (int k = 0; k < 5; k++) below(2);
  if (below(3) == 0) { /* a poor device: limits bite in small graphs */
    target.max_buffers = 26 + below(6);
    target.max_statements = 40 + below(20);
    target.max_live = 10 + below(30);
  }
  nv_graph *g = graph_of(printed(random_graph(5 + below(below(4) ? 30 : 200))));
  nv_graph *s = nv_simplify(g);
  nv_verify(s, NV_STAGE_SIMPLIFIED);
  check_views(s);
  if (strcmp(printed(s), printed(nv_simplify(s)))) nv_bug(c, "a second run of the simplifier changes something");
  for (int k = 0; k < 4; k++) {
    nv_plan *p = nv_fuse(k < 2 ? s : nv_drop_dead(g), k % 2 == 0);
    nv_place_buffers(p);
    nv_plan_verify(p);
    for (uint32_t i = 0; i < p->nkernels && k % 2 == 0; i++)
      if (p->kernels[i].live > target.max_live) nv_bug(c, "%u values alive", (unsigned)p->kernels[i].live);
    if (p->bytes_moved < p->bytes_lower_bound) nv_bug(c, "fewer bytes move than the lower bound");
    const char *why = plan_compare(g, p);
    if (why) nv_bug(c, "%s", why);
  }
}

static uint64_t first = 1, last = 400;

static void random_graphs(void **unused) {
  (void)unused;
  for (volatile uint64_t seed = first; seed <= last; seed++) {
    assert_int_equal(setup(NULL), 0);
    c->stage = "a random graph";
    c->door_open = true;
    if (setjmp(c->door)) fail_msg("seed %llu: %s", (unsigned long long)seed, c->fault);
    check_seed(seed);
    teardown(NULL);
  }
  assert_true(plan_loose_reads <= plan_reads / 100); /* bytes are claimed exactly but for rare shapes */
}

int main(int argc, char **argv) {
  if (argc == 3) {
    first = strtoull(argv[1], NULL, 10);
    last = strtoull(argv[2], NULL, 10);
  }
  const struct CMUnitTest tests[] = {cmocka_unit_test(random_graphs)};
  return cmocka_run_group_tests_name("fuse_random", tests, NULL, NULL);
}
