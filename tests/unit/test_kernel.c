/* test_kernel.c - plans: their printer and their verifier, on kernels made by hand. */
#include "ir/kernel.h"
#include "target.h"

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
  c->target = nv_target_find("macos14");
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
static nv_shape vector(int64_t n) { return nv_shape_of_ints(c, &n, 1); }

/* What call(arg) raised; NULL if nothing. */
static const char *raised(void (*call)(void *), void *arg) {
  c->door_open = true;
  if (setjmp(c->door)) return c->fault;
  call(arg);
  c->door_open = false;
  return NULL;
}

static nv_dim over(const char *name, int64_t n) { return nv_dim_index(c, str(name), nv_dim_const(c, n)); }

static uint32_t instr(nv_kernel *k, nv_instr i) {
  NV_GROW(c, k->instrs, k->instrs_cap, (size_t)k->ninstrs + 1);
  k->instrs[k->ninstrs] = i;
  return k->ninstrs++;
}
static uint32_t operand(nv_kernel *k, nv_value v, bool written, uint32_t port, int64_t elements,
                        int64_t extent) {
  NV_GROW(c, k->operands, k->operands_cap, (size_t)k->noperands + 1);
  k->operands[k->noperands] = (nv_operand_rec){v, NV_F32, written, port, elements, extent};
  return k->noperands++;
}
static void computes(nv_kernel *k, nv_node n) {
  NV_GROW(c, k->nodes, k->nodes_cap, (size_t)k->nnodes + 1);
  k->nodes[k->nnodes++] = n;
}

/* x [4, 6]: s = sum(exp(x), axis 1) to scratch; y = s + s; z = s * y. Three kernels, two arrays in scratch. */
static nv_plan *plan(void) {
  nv_graph *e = nv_graph_new(c, str("rows"));
  const int64_t axes[2] = {0, 1};
  nv_shape rows = vector(4), matrix = nv_shape_of_ints(c, (const int64_t[]){4, 6}, 2);
  nv_value x = nv_graph_input(e, str("x"), NV_F32, matrix, NV_NOWHERE);
  uint32_t from = nv_graph_origin(e, NV_NONE, str("rows"), str("s"), 0, NV_NOWHERE);
  nv_value ex = nv_graph_add(e, nv_op_find("exp"), &x, 1, NV_NO_ATTR, NV_F32, matrix, from);
  nv_value s = nv_graph_add(e, nv_op_find("sum"), &ex, 1, nv_attr_make(c, axes, 2), NV_F32, rows, from);
  nv_value y = nv_graph_add(e, nv_op_find("add"), (nv_value[]){s, s}, 2, NV_NO_ATTR, NV_F32, rows, NV_NONE);
  nv_value z =
      nv_graph_add(e, nv_op_find("multiply"), (nv_value[]){s, y}, 2, NV_NO_ATTR, NV_F32, rows, NV_NONE);
  nv_graph_output(e, z, str("z"), NV_NOWHERE);

  nv_plan *p = NV_NEW(c, nv_plan);
  p->graph = e;
  p->kernels = nv_grow(c, NULL, &p->kernels_cap, 3, sizeof *p->kernels);
  memset(p->kernels, 0, 3 * sizeof *p->kernels);
  p->nkernels = 3;
  nv_dim i = over("i4", 4), r = over("r6", 6), four = nv_dim_const(c, 4);

  nv_kernel *k = &p->kernels[0];
  k->kind = NV_K_REDUCE;
  k->rank = 1;
  k->extent[0] = four;
  k->symbol[0] = i;
  k->reduce_extent = nv_dim_const(c, 6);
  k->reduce_symbol = r;
  k->reduce_op = nv_op_find("sum");
  computes(k, 1);
  computes(k, 2);
  uint32_t from_x = operand(k, x, false, NV_NONE, 24, 24), to_s = operand(k, s, true, NV_NONE, 4, 4);
  nv_dim at = nv_dim_add(c, nv_dim_mul(c, nv_dim_const(c, 6), i), r);
  uint32_t a =
      instr(k, (nv_instr){.kind = NV_I_LOAD, .dtype = NV_F32, .operand = from_x, .offset = at, .value = x});
  a = instr(k, (nv_instr){.kind = NV_I_OP,
                          .dtype = NV_F32,
                          .op = (uint16_t)nv_op_find("exp"),
                          .nargs = 1,
                          .arg = {a},
                          .value = ex});
  a = instr(k, (nv_instr){.kind = NV_I_REDUCE,
                          .dtype = NV_F32,
                          .op = (uint16_t)nv_op_find("sum"),
                          .nargs = 1,
                          .arg = {a},
                          .value = s});
  instr(k, (nv_instr){.kind = NV_I_STORE,
                      .dtype = NV_F32,
                      .nargs = 1,
                      .arg = {a},
                      .operand = to_s,
                      .offset = i,
                      .value = s});

  for (int n = 1; n < 3; n++) {
    k = &p->kernels[n];
    k->rank = 1;
    k->extent[0] = four;
    k->symbol[0] = i;
    computes(k, n == 1 ? 3 : 4);
    uint32_t from_s = operand(k, s, false, NV_NONE, 4, 4);
    if (n == 2) operand(k, y, false, NV_NONE, 4, 4);
    uint32_t out = n == 1 ? operand(k, y, true, NV_NONE, 4, 4) : operand(k, z, true, 0, 4, 4);
    uint32_t b = a =
        instr(k, (nv_instr){.kind = NV_I_LOAD, .dtype = NV_F32, .operand = from_s, .offset = i, .value = s});
    if (n == 2)
      b = instr(k, (nv_instr){.kind = NV_I_LOAD, .dtype = NV_F32, .operand = 1, .offset = i, .value = y});
    nv_op op = nv_op_find(n == 1 ? "add" : "multiply");
    nv_value v = n == 1 ? y : z;
    a = instr(
        k, (nv_instr){
               .kind = NV_I_OP, .dtype = NV_F32, .op = (uint16_t)op, .nargs = 2, .arg = {a, b}, .value = v});
    instr(k, (nv_instr){.kind = NV_I_STORE,
                        .dtype = NV_F32,
                        .nargs = 1,
                        .arg = {a},
                        .operand = out,
                        .offset = i,
                        .value = v});
  }

  static const nv_place places[3][3] = {
      {{NV_PLACE_INPUT, 0, 0}, {NV_PLACE_SCRATCH, 0, 0}},
      {{NV_PLACE_SCRATCH, 0, 0}, {NV_PLACE_SCRATCH, 0, 256}},
      {{NV_PLACE_SCRATCH, 0, 0}, {NV_PLACE_SCRATCH, 0, 256}, {NV_PLACE_OUTPUT, 0, 0}}};
  p->launches = NV_NEW_N(c, nv_launch, 3);
  p->nlaunches = 3;
  for (uint32_t l = 0; l < 3; l++) {
    nv_place *own = NV_NEW_N(c, nv_place, 3);
    memcpy(own, places[l], sizeof places[l]);
    p->launches[l] = (nv_launch){l, own, l > 0};
  }
  p->scratch_bytes = 512;
  p->scratch_bound = 32;
  p->bytes_moved = 96 + 16 * 6;
  p->bytes_lower_bound = 112;
  p->cuts = nv_grow(c, NULL, &p->cuts_cap, 1, sizeof *p->cuts);
  p->cuts[p->ncuts++] = (nv_cut){s, 3, "a test"};
  return p;
}

static void plans(void **state) {
  (void)state;
  nv_plan *p = plan();
  nv_verify(p->graph, NV_STAGE_SIMPLIFIED);
  nv_plan_verify(p);
  nv_buf b;
  nv_buf_init(&b, c);
  nv_plan_print(&b, p);
  assert_string_equal(nv_buf_text(&b),
                      "plan rows: 3 kernels, 192 bytes moved of at least 112, scratch 512 of at least 32\n"
                      "kernel 0 reduce [i4 < 4] over r6 < 6\n"
                      "  nodes 1 2\n"
                      "  b0 = %0 : float32, 24 of 24 elements\n"
                      "  b1 = %2 : write float32, 4 of 4 elements\n"
                      "  v0 = load b0[6*i4 + r6] : float32\n"
                      "  v1 = exp v0 : float32  # rows.s\n"
                      "  v2 = reduce sum v1 : float32  # rows.s\n"
                      "  store b1[i4] = v2\n"
                      "kernel 1 map [i4 < 4]\n"
                      "  nodes 3\n"
                      "  b0 = %2 : float32, 4 of 4 elements\n"
                      "  b1 = %3 : write float32, 4 of 4 elements\n"
                      "  v0 = load b0[i4] : float32  # rows.s\n"
                      "  v1 = add v0, v0 : float32\n"
                      "  store b1[i4] = v1\n"
                      "kernel 2 map [i4 < 4]\n"
                      "  nodes 4\n"
                      "  b0 = %2 : float32, 4 of 4 elements\n"
                      "  b1 = %3 : float32, 4 of 4 elements\n"
                      "  b2 = %4 : write float32, 4 of 4 elements, output \"z\"\n"
                      "  v0 = load b0[i4] : float32  # rows.s\n"
                      "  v1 = load b1[i4] : float32\n"
                      "  v2 = multiply v0, v1 : float32\n"
                      "  store b2[i4] = v2\n"
                      "launch 0 kernel 0: input 0, scratch 0\n"
                      "launch 1 kernel 1: scratch 0, scratch 256; after a barrier\n"
                      "launch 2 kernel 2: scratch 0, scratch 256, output 0; after a barrier\n"
                      "cut %2 -> node 3: a test\n");
  b.n = 0;
  nv_plan_dot(&b, p);
  static const char *const parts[] = {
      "subgraph cluster_k0 {\n    style=\"rounded,filled\"; color=gray60; fillcolor=\"#fbeee4\"; label=\"kernel 0\";",
      "    k0_n2 [fillcolor=lightblue, label=\"sum\\ns\"];\n  }\n", "  in0 -> k0_n1;\n", "  k0_n1 -> k0_n2;\n",
      "  k0_n2 -> k1_n3 [color=chocolate, label=\"float32[4]\"];\n", "  k2_n4 -> out0;\n"};
  for (size_t k = 0; k < sizeof parts / sizeof *parts; k++)
    if (!strstr(nv_buf_text(&b), parts[k])) fail_msg("no %s in\n%s", parts[k], nv_buf_text(&b));
}

static void verify_plan(void *arg) { nv_plan_verify(arg); }
static void broken_plan(nv_plan *p, const char *part) {
  const char *fault = raised(verify_plan, p);
  if (!fault) fail_msg("not found: %s", part);
  if (!strstr(fault, part)) fail_msg("%s, want %s", fault, part);
  assert_int_equal(c->raised, NUVECC_INTERNAL);
}

static void plan_verifier(void **state) {
  (void)state;
  nv_plan *p;
#define BREAK(change, part) ((void)(p = plan()), (void)(change), broken_plan(p, part))
  BREAK(p->kernels[0].instrs[1].arg[0] = 1, "kernel 0 of rows: v1 uses v1, which isn't older");
  BREAK(p->kernels[1].instrs[1].dtype = NV_I32, "v1 is int32, not float32");
  BREAK(p->kernels[1].instrs[1].nargs = 1, "v1: add takes 2 operands, not 1");
  BREAK(p->kernels[1].instrs[1].op = (uint16_t)nv_op_find("reshape"), "v1 can't be reshape");
  BREAK(p->kernels[1].instrs[1].op = (uint16_t)nv_op_find("sum"), "v1 can't be sum");
  BREAK(p->kernels[0].reduce_op = nv_op_find("max"), "it reduces by another op than it says");
  BREAK(p->kernels[0].kind = NV_K_MAP, "1 reductions");
  BREAK(p->kernels[0].instrs[3].arg[0] = 1, "v3 uses a value inside the reduction");
  BREAK(p->kernels[0].instrs[3].offset = p->kernels[0].reduce_symbol,
        "an offset into operand 1 lies outside of it");
  BREAK(p->kernels[1].instrs[0].operand = 1, "v0 loads what is written, or the reverse");
  BREAK(p->kernels[1].instrs[0].operand = 7, "v0 has no operand");
  BREAK(p->kernels[1].instrs[0].offset = nv_dim_add(c, over("i4", 4), nv_dim_const(c, 1)), "lies outside");
  BREAK(p->kernels[1].instrs[2].kind = NV_I_LOAD, "v2 loads what is written, or the reverse");
  BREAK(p->kernels[1].operands[0].dtype = NV_I32, "operand 0 has another dtype than %2");
  BREAK(p->kernels[1].operands[0].extent = 5, "operand 0 has another extent");
  BREAK(p->kernels[1].operands[0].elements = 5, "operand 0 touches more elements than it has");
  BREAK(p->kernels[2].operands[1].value = 2, "");
  BREAK(p->kernels[2].operands[2].port = 1, "operand 2 isn't output 1");
  BREAK(p->kernels[2].operands[2].port = NV_NONE, "output 0 is never written");
  BREAK(p->kernels[2].ninstrs--, "operand 2 isn't touched");
  BREAK(p->kernels[1].extent[0] = nv_dim_const(c, INT64_C(1) << 31), "extent 2147483648");
  BREAK(operand(&p->kernels[1], 2, false, NV_NONE, 4, 4),
        "operand 2 is read and stands behind one that is written");
  BREAK(p->kernels[0].operands[1].value = 3, "%2 is read before it is written");
  p = plan();
  for (int k = 0; k < 30; k++) operand(&p->kernels[2], 2, false, NV_NONE, 4, 4);
  broken_plan(p, "kernel 2 of rows: 33 bindings");

  BREAK(p->launches[0].places[0].index = 1, "%0 isn't input 1");
  BREAK(p->launches[1].barrier = false, "no barrier between launches 0 and 1");
  BREAK(p->launches[2].barrier = false, "no barrier between launches 1 and 2");
  BREAK(p->launches[1].places[1].offset = 0, "%3 overwrites a value in scratch that is still used");
  BREAK(p->launches[1].places[1].offset = 100, "%3 lies outside of the scratch arena");
  BREAK(p->scratch_bytes = 271, "%3 lies outside of the scratch arena");
  BREAK(p->launches[2].places[1].offset = 0, "%3 isn't where it was written");
  BREAK(p->launches[2].places[2].kind = NV_PLACE_SCRATCH, "output 0 is written to scratch");
  BREAK(p->launches[2].kernel = 1, "launch 2 isn't of its kernel");
  BREAK(p->nlaunches = 2, "2 launches");
  p = plan(); /* without places: after the fuser */
  p->launches = NULL;
  nv_plan_verify(p);
#undef BREAK
}

/* Scratch under many lifetimes: what a first-fit allocator packs passes, one byte of overlap doesn't. */
static void scratch(void **state) {
  (void)state;
  enum { N = 400 };
  nv_graph *e = nv_graph_new(c, str("chain"));
  nv_value v[N + 1];
  int64_t size[N + 1];
  v[0] = nv_graph_input(e, str("x"), NV_F32, vector(100), NV_NOWHERE);
  size[0] = 100;
  for (int k = 1; k <= N; k++) {
    size[k] = 50 + k * 37 % 300; /* a reshape's freedom isn't needed: each node broadcasts one element */
    nv_shape s = vector(size[k]);
    const int64_t axes[2] = {0, 0};
    nv_value one =
        nv_graph_add(e, nv_op_find("sum"), &v[k - 1], 1, nv_attr_make(c, axes, 2), NV_F32, 0, NV_NONE);
    v[k] = nv_graph_add(e, nv_op_find("broadcast_to"), &one, 1, NV_NO_ATTR, NV_F32, s, NV_NONE);
  }
  nv_graph_output(e, v[N], str("o"), NV_NOWHERE);
  for (int overlap = 0; overlap < 2; overlap++) {
    nv_plan *p = NV_NEW(c, nv_plan);
    p->graph = e;
    p->nkernels = p->nlaunches = N;
    p->kernels = nv_grow(c, NULL, &p->kernels_cap, N, sizeof *p->kernels);
    memset(p->kernels, 0, N * sizeof *p->kernels);
    p->launches = NV_NEW_N(c, nv_launch, N);
    p->scratch_bytes = 1 << 12;
    int64_t before = 0; /* place of the value that is read */
    for (uint32_t k = 0; k < N; k++) {
      nv_kernel *kernel = &p->kernels[k];
      bool last = k + 1 == N;
      kernel->rank = 1;
      kernel->symbol[0] =
          nv_dim_index(c, nv_intern_z(c, nv_format(c, "s%u", (unsigned)size[k + 1])), nv_dim_const(c, size[k + 1]));
      kernel->extent[0] = nv_dim_const(c, size[k + 1]);
      operand(kernel, v[k], false, NV_NONE, 1, size[k]);
      operand(kernel, v[k + 1], true, last ? 0 : NV_NONE, size[k + 1], size[k + 1]);
      uint32_t a = instr(kernel, (nv_instr){.kind = NV_I_LOAD, .dtype = NV_F32, .value = v[k]});
      instr(kernel, (nv_instr){.kind = NV_I_STORE,
                               .dtype = NV_F32,
                               .nargs = 1,
                               .arg = {a},
                               .operand = 1,
                               .offset = kernel->symbol[0],
                               .value = v[k + 1]});
      nv_place *places = NV_NEW_N(c, nv_place, 2);
      int64_t bytes = (size[k] * 4 + 255) / 256 * 256, place = before < 2048 ? before + bytes : 0;
      if (place + size[k + 1] * 4 > 4096) place = 0;
      if (k && place < before + size[k] * 4 && place + size[k + 1] * 4 > before) place = 2048;
      if (overlap && k == N / 2) place = before + (bytes - 256); /* its last block */
      places[0] = k ? (nv_place){NV_PLACE_SCRATCH, 0, before} : (nv_place){NV_PLACE_INPUT, 0, 0};
      places[1] = last ? (nv_place){NV_PLACE_OUTPUT, 0, 0} : (nv_place){NV_PLACE_SCRATCH, 0, place};
      p->launches[k] = (nv_launch){k, places, k > 0};
      before = place;
    }
    p->scratch_bytes = 8192;
    if (overlap)
      broken_plan(p, "overwrites a value in scratch that is still used");
    else
      nv_plan_verify(p);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(plans),
      cmocka_unit_test(plan_verifier),
      cmocka_unit_test(scratch),
  };
  return cmocka_run_group_tests_name("kernel", tests, setup, teardown);
}
