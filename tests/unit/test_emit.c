/* test_emit.c - Metal text and reports: literals, names, kernels of hand-made plans, whole files, statistics. */
#include "emit/metal.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>
#include <jansson.h>

static nv_ctx *c;
static int setup(void **state) {
  (void)state;
  static const nuvecc_options options = {.file = "t.yaml"};
  c = nv_ctx_new(&options);
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

/* What stands in b since the last call. */
static const char *taken(nv_buf *b) {
  const char *text = nv_format(c, "%s", nv_buf_text(b));
  b->n = 0;
  return text;
}
static nv_buf buffer(void) {
  nv_buf b;
  nv_buf_init(&b, c);
  return b;
}

#define RAISES(expression, part)                                   \
  do {                                                             \
    c->door_open = true;                                           \
    if (setjmp(c->door) == 0) {                                    \
      (void)(expression);                                          \
      c->door_open = false;                                        \
      fail_msg("nothing was raised");                              \
    }                                                              \
    if (!strstr(c->fault, part)) fail_msg("raised: %s", c->fault); \
  } while (0)

/* ---- literals ---- */

static const char *literal(nv_dtype d, uint64_t bits) {
  nv_buf b = buffer();
  nv_put_literal(&b, d, bits);
  return taken(&b);
}

static void literals(void **state) {
  (void)state;
  assert_string_equal(literal(NV_BOOL, 1), "true");
  assert_string_equal(literal(NV_BOOL, 0), "false");
  assert_string_equal(literal(NV_I32, 7), "7");
  assert_string_equal(literal(NV_I32, (uint64_t)INT64_C(-7)), "-7");
  assert_string_equal(literal(NV_I32, 0x80000000u), "(-2147483647 - 1)");
  assert_string_equal(literal(NV_I64, UINT64_C(1) << 63), "(-9223372036854775807l - 1l)");
  assert_string_equal(literal(NV_U32, 0xffffffffu), "4294967295u");
  assert_string_equal(literal(NV_U64, UINT64_MAX), "18446744073709551615ul");
  assert_string_equal(literal(NV_I8, 0x80), "int8_t(-128)");
  assert_string_equal(literal(NV_F32, 0x3f800000u), "1.0f");
  assert_string_equal(literal(NV_F32, 0x80000000u), "-0.0f");
  assert_string_equal(literal(NV_F32, 0x3eaaaaabu), "0.33333334f");
  assert_string_equal(literal(NV_F32, 0x7f800000u), "INFINITY");
  assert_string_equal(literal(NV_F32, 0xff800000u), "-INFINITY");
  assert_string_equal(literal(NV_F32, 0x7fc00000u), "as_type<float>(0x7fc00000u)");
  assert_string_equal(literal(NV_F32, 1), "as_type<float>(0x00000001u)");
  assert_string_equal(literal(NV_F16, 0x3c00), "as_type<half>(ushort(0x3c00u))");
  uint32_t bits = 12345;
  for (int k = 0; k < 20000; k++) {
    bits = bits * 1664525u + 1013904223u;
    if ((bits & 0x7f800000u) == 0x7f800000u || !(bits & 0x7f800000u)) continue;
    const char *text = literal(NV_F32, bits);
    char *end;
    const float x = strtof(text, &end);
    uint32_t back;
    memcpy(&back, &x, sizeof back);
    if (back != bits || strcmp(end, "f")) fail_msg("%08x is printed %s", (unsigned)bits, text);
  }
}

/* ---- identifiers and lines ---- */

static bool ident(const char *text) { return nv_msl_ident(text, strlen(text)); }

static void identifiers(void **state) {
  (void)state;
  static const char *const good[] = {"x", "p_w1", "h2", "X", "Float", "in", "logits", "exp", "i", "row"};
  static const char *const bad[] = {
      "",        "2x",      "_x",     "x__y",     "nv_erf",  "float",
      "float4",  "kernel",  "thread", "while",    "NAN",     "M_PI_F",
      "FLT_MAX", "half3x2", "xor_eq", "CHAR_BIT", "vertex",  "a.b",
      "grün",    "/enc/0",  "linux",  "simd_x",   "alignas", "a_name_that_is_much_too_long_to_be_read_by_anyone"};
  for (size_t k = 0; k < sizeof good / sizeof *good; k++)
    if (!ident(good[k])) fail_msg("%s is refused", good[k]);
  for (size_t k = 0; k < sizeof bad / sizeof *bad; k++)
    if (ident(bad[k])) fail_msg("%s is taken", bad[k]);
  nv_names s;
  nv_names_init(&s, c);
  assert_string_equal(nv_names_take(&s, "x"), "x");
  assert_null(nv_names_take(&s, "x"));
  assert_string_equal(nv_names_fresh(&s, "x"), "x2");
  assert_string_equal(nv_names_fresh(&s, "x"), "x3");
  assert_string_equal(nv_names_fresh(&s, "w1"), "w1");
  assert_string_equal(nv_names_fresh(&s, "w1"), "w1_2");
  nv_names_drop(&s);
}

static void lines(void **state) {
  (void)state;
  nv_buf b = buffer();
  nv_line(&b, 2, "int x = %d;", 5);
  assert_string_equal(taken(&b), "  int x = 5;\n");
  char word[64];
  memset(word, 'a', 50);
  word[50] = 0;
  nv_line(&b, 2, "%s + %s + %s;", word, word, word);
  assert_string_equal(taken(&b), nv_format(c, "  %s + %s +\n      %s;\n", word, word, word));
  for (int n = 1; n < 400; n += 7) {
    nv_puts(&b, "    ");
    for (int k = 0; k < n; k++) nv_puts(&b, "word ");
    nv_puts(&b, "end");
    nv_end_line(&b, 0, 4);
    uint32_t words = 0;
    for (char *line = strtok(nv_format(c, "%s", nv_buf_text(&b)), "\n"); line; line = strtok(NULL, "\n")) {
      assert_true(strlen(line) <= NV_COLUMNS);
      for (char *p = line; (p = strstr(p, "word")) != NULL; p++) words++;
    }
    assert_int_equal(words, n);
    b.n = 0;
  }
}

static const char *op(nv_op o, nv_dtype d, nv_dtype result, const char *x, const char *y) {
  nv_buf b = buffer();
  nv_put_op(&b, o, (nv_dtype[]){d, d}, (const char *const[]){x, y}, y ? 2 : 1, result);
  return taken(&b);
}

static void operations(void **state) {
  (void)state;
  assert_string_equal(op(NV_OP_add, NV_F32, NV_F32, "x", "y"), "x + y");
  assert_string_equal(op(NV_OP_add, NV_I32, NV_I32, "x", "1"), "int(uint(x) + uint(1))");
  assert_string_equal(op(NV_OP_add, NV_F16, NV_F16, "x", "y"), "half(float(x) + float(y))");
  assert_string_equal(op(NV_OP_less, NV_BF16, NV_BOOL, "x", "y"), "float(x) < float(y)");
  assert_string_equal(op(NV_OP_negative, NV_F32, NV_F32, "x", NULL), "-x");
  assert_string_equal(op(NV_OP_negative, NV_F32, NV_F32, "-1.0f", NULL), "-(-1.0f)");
  assert_string_equal(op(NV_OP_exp, NV_F32, NV_F32, "x", NULL), "metal::precise::exp(x)");
  assert_string_equal(op(NV_OP_copy, NV_F16, NV_F16, "x", NULL), "x");
  assert_string_equal(op(NV_OP_astype, NV_F32, NV_BOOL, "x", NULL), "(as_type<uint>(x) << 1) != 0u");
  assert_string_equal(op(NV_OP_astype, NV_I32, NV_BOOL, "x", NULL), "x != 0");
  assert_string_equal(op(NV_OP_astype, NV_BOOL, NV_F32, "x", NULL), "float(x)");
  assert_string_equal(op(NV_OP_astype, NV_I32, NV_BF16, "x", NULL), "bfloat(float(x))");
  assert_string_equal(op(NV_OP_astype, NV_F32, NV_I32, "x", NULL), "nv_to_int32(x)");
  assert_string_equal(op(NV_OP_astype, NV_F16, NV_I8, "x", NULL), "nv_to_int8(float(x))");
  RAISES(op(NV_OP_exp, NV_I32, NV_I32, "x", NULL), "not supported yet: exp of int32");
  assert_string_equal(op(NV_OP_astype, NV_C64, NV_F32, "x", NULL), "x.x");
  assert_string_equal(op(NV_OP_astype, NV_C64, NV_I8, "x", NULL), "nv_to_int8(x.x)");
  assert_string_equal(op(NV_OP_astype, NV_I32, NV_C64, "x", NULL), "float2(float(x), 0.0f)");
  assert_string_equal(op(NV_OP_astype, NV_C64, NV_BOOL, "x", NULL),
                      "((as_type<uint>(x.x) | as_type<uint>(x.y)) << 1) != 0u");
  assert_string_equal(op(NV_OP_multiply, NV_C64, NV_C64, "x", "y"), "nv_mul_c64(x, y)");
}

/* ---- kernels of hand-made plans ---- */

static nv_dim number_dim(int64_t v) { return nv_dim_const(c, v); }

static nv_graph *graph; /* of the kernel that is being made */
static nv_plan *plan;

static nv_value input(const char *name, nv_dtype d, int64_t elements) {
  return nv_graph_input(graph, nv_intern_z(c, name), d, nv_shape_of_ints(c, &elements, 1), NV_NOWHERE);
}
/* A node that stands for a computed value; name NULL: it has none in the spec. */
static nv_value computed(const char *name, nv_op o, nv_value x, nv_dtype d, int64_t elements) {
  const uint32_t origin =
      nv_graph_origin(graph, NV_NONE, nv_intern_z(c, "f"), name ? nv_intern_z(c, name) : nv_intern_z(c, "y"),
                      name ? 0 : 1, NV_NOWHERE);
  return nv_graph_add(graph, o, &x, 1, NV_NO_ATTR, d, nv_shape_of_ints(c, &elements, 1), origin);
}
static void begin(void) {
  graph = nv_graph_new(c, nv_intern_z(c, "f"));
  plan = NV_NEW(c, nv_plan);
  plan->graph = graph;
}
static nv_kernel *kernel(nv_kernel_kind kind, uint32_t rank, const int64_t *extents) {
  nv_kernel *k = NV_NEW(c, nv_kernel);
  k->kind = kind;
  k->rank = rank;
  for (uint32_t d = 0; d < rank; d++) {
    k->extent[d] = number_dim(extents[d]);
    k->symbol[d] =
        nv_dim_index(c, nv_intern_z(c, nv_format(c, "k%u:%" PRId64, (unsigned)d, extents[d])), k->extent[d]);
  }
  return k;
}
static uint32_t binding(nv_kernel *k, nv_value v, nv_dtype d, bool written, int64_t extent) {
  NV_GROW(c, k->operands, k->operands_cap, (size_t)k->noperands + 1);
  k->operands[k->noperands] = (nv_operand_rec){
      .value = v, .dtype = (uint8_t)d, .written = written, .port = NV_NONE, .elements = extent, .extent = extent};
  return k->noperands++;
}
static uint32_t instr(nv_kernel *k, nv_instr i) {
  NV_GROW(c, k->instrs, k->instrs_cap, (size_t)k->ninstrs + 1);
  k->instrs[k->ninstrs] = i;
  return k->ninstrs++;
}
static uint32_t load(nv_kernel *k, uint32_t operand, nv_dim offset) {
  return instr(k, (nv_instr){.kind = NV_I_LOAD,
                             .dtype = k->operands[operand].dtype,
                             .operand = operand,
                             .offset = offset,
                             .value = k->operands[operand].value});
}
static void store(nv_kernel *k, uint32_t operand, nv_dim offset, uint32_t value) {
  instr(k, (nv_instr){.kind = NV_I_STORE,
                      .dtype = k->operands[operand].dtype,
                      .nargs = 1,
                      .arg = {value},
                      .operand = operand,
                      .offset = offset,
                      .value = NV_NONE});
}
static uint32_t constant(nv_kernel *k, float x) {
  uint32_t bits;
  memcpy(&bits, &x, sizeof bits);
  return instr(k, (nv_instr){.kind = NV_I_CONST, .dtype = NV_F32, .bits = bits, .value = NV_NONE});
}
static uint32_t binary(nv_kernel *k, nv_op o, uint32_t a, uint32_t b, nv_dtype d, nv_value v) {
  return instr(
      k, (nv_instr){.kind = NV_I_OP, .op = (uint16_t)o, .dtype = (uint8_t)d, .nargs = 2, .arg = {a, b}, .value = v});
}
static const char *body(nv_kernel *k) {
  nv_module m = {.c = c, .name = "f", .prefix_c = "f"};
  nv_buf b = buffer();
  nv_emit_kernel_body(&b, &m, plan, k);
  const char *text = taken(&b);
  for (const char *line = text; *line; line = strchr(line, '\n') + 1) assert_true(strcspn(line, "\n") <= NV_COLUMNS);
  return text;
}
static void grid_is(const nv_kernel *k, int64_t x, int64_t y, int64_t z) {
  nv_dim grid[3];
  nv_kernel_grid(c, k, grid);
  assert_int_equal(nv_dim_value(c, grid[0]), x);
  assert_int_equal(nv_dim_value(c, grid[1]), y);
  assert_int_equal(nv_dim_value(c, grid[2]), z);
}

/* y[n] = h + x[n], h = 2 x[n], also written: one dim. */
static nv_kernel *chain(int64_t n) {
  begin();
  const nv_value x = input("p.x[0]", NV_F32, n), h = computed("h", NV_OP_exp, x, NV_F32, n),
                 y = computed("y", NV_OP_exp, h, NV_F32, n);
  nv_graph_output(graph, h, nv_intern_z(c, "h"), NV_NOWHERE);
  nv_graph_output(graph, y, nv_intern_z(c, "float"), NV_NOWHERE);
  nv_kernel *k = kernel(NV_K_MAP, 1, &n);
  binding(k, x, NV_F32, false, n);
  binding(k, h, NV_F32, true, n);
  binding(k, y, NV_F32, true, n);
  const uint32_t x0 = load(k, 0, k->symbol[0]), t = binary(k, NV_OP_multiply, x0, constant(k, 2), NV_F32, h);
  store(k, 1, k->symbol[0], t);
  store(k, 2, k->symbol[0], binary(k, NV_OP_add, t, x0, NV_F32, y));
  return k;
}

static void maps(void **state) {
  (void)state;
  assert_string_equal(body(chain(7)), "kernel void K(\n"
                                      "    device const float* p_x_0 [[buffer(0)]], device float* h [[buffer(1)]], "
                                      "device float* out2 [[buffer(2)]],\n"
                                      "    uint3 pos [[thread_position_in_grid]]) {\n"
                                      "  uint i = pos.x;\n"
                                      "  float p_x_0_0 = p_x_0[i];\n"
                                      "  float h2 = p_x_0_0 * 2.0f;\n"
                                      "  h[i] = h2;\n"
                                      "  float y = h2 + p_x_0_0;\n"
                                      "  out2[i] = y;\n"
                                      "}\n");
  grid_is(chain(7), 7, 1, 1);
  static const char values[] = "struct K_values {\n  float h;\n  float out2;\n};\n"
                               "static inline K_values K_point(float p_x_0) {\n"
                               "  float h2 = p_x_0 * 2.0f;\n"
                               "  float y = h2 + p_x_0;\n"
                               "  K_values values;\n  values.h = h2;\n  values.out2 = y;\n  return values;\n}\n";
  nv_kernel *k = chain(1024);
  assert_string_equal(
      body(k),
      nv_format(c, "%s%s", values,
                "kernel void K(\n"
                "    device const float4* p_x_0 [[buffer(0)]], device float4* h [[buffer(1)]], device float4* "
                "out2 [[buffer(2)]],\n"
                "    uint3 pos [[thread_position_in_grid]]) {\n"
                "  uint i = pos.x;\n"
                "  float4 p_x_0_0 = p_x_0[i];\n"
                "  K_values px = K_point(p_x_0_0.x);\n"
                "  K_values py = K_point(p_x_0_0.y);\n"
                "  K_values pz = K_point(p_x_0_0.z);\n"
                "  K_values pw = K_point(p_x_0_0.w);\n"
                "  h[i] = float4(px.h, py.h, pz.h, pw.h);\n"
                "  out2[i] = float4(px.out2, py.out2, pz.out2, pw.out2);\n"
                "}\n"));
  grid_is(k, 256, 1, 1);
  for (uint32_t o = 0; o < 3; o++) assert_int_equal(nv_operand_align(c, k, o), 16);
  assert_int_equal(nv_operand_align(c, chain(7), 0), 4);
  k = chain(1001);
  assert_string_equal(
      body(k) + strlen(values),
      "kernel void K(\n"
      "    device const float* p_x_0 [[buffer(0)]], device float* h [[buffer(1)]], device float* out2 "
      "[[buffer(2)]],\n"
      "    uint3 pos [[thread_position_in_grid]]) {\n"
      "  uint i = pos.x * 4u;\n"
      "  if (i + 4u <= 1001u) {\n"
      "    float4 p_x_0_0 = *reinterpret_cast<device const float4*>(p_x_0 + i);\n"
      "    K_values px = K_point(p_x_0_0.x);\n"
      "    K_values py = K_point(p_x_0_0.y);\n"
      "    K_values pz = K_point(p_x_0_0.z);\n"
      "    K_values pw = K_point(p_x_0_0.w);\n"
      "    *reinterpret_cast<device float4*>(h + i) = float4(px.h, py.h, pz.h, pw.h);\n"
      "    *reinterpret_cast<device float4*>(out2 + i) = float4(px.out2, py.out2, pz.out2, pw.out2);\n"
      "  } else {\n"
      "    for (; i < 1001u; ++i) {\n"
      "      K_values p = K_point(p_x_0[i]);\n"
      "      h[i] = p.h;\n"
      "      out2[i] = p.out2;\n"
      "    }\n"
      "  }\n"
      "}\n");
  grid_is(k, 251, 1, 1);
  assert_int_equal(nv_operand_align(c, k, 0), 16);
}

/* A transpose of 3 x 5, bools; a copy. */
static void moves(void **state) {
  (void)state;
  begin();
  const int64_t extents[2] = {3, 5}, many[3] = {8, 8, 8}, none[1] = {0};
  nv_value x = input("kernel", NV_BOOL, 15), y = computed("y", NV_OP_copy, x, NV_BOOL, 15);
  nv_kernel *k = kernel(NV_K_MAP, 2, extents);
  binding(k, x, NV_BOOL, false, 15);
  binding(k, y, NV_BOOL, true, 15);
  store(k, 1, nv_dim_add(c, nv_dim_mul(c, k->symbol[0], number_dim(5)), k->symbol[1]),
        load(k, 0, nv_dim_add(c, nv_dim_mul(c, k->symbol[1], number_dim(3)), k->symbol[0])));
  assert_string_equal(body(k), "kernel void K(\n"
                               "    device const bool* in0 [[buffer(0)]], device bool* y [[buffer(1)]], uint3 pos "
                               "[[thread_position_in_grid]]) {\n"
                               "  uint row = pos.y;\n"
                               "  uint col = pos.x;\n"
                               "  bool in0_0 = in0[col * 3u + row];\n"
                               "  y[row * 5u + col] = in0_0;\n"
                               "}\n");
  grid_is(k, 5, 3, 1);

  begin();
  x = input("x", NV_BOOL, 512), y = computed("y", NV_OP_copy, x, NV_BOOL, 512);
  k = kernel(NV_K_MAP, 3, many);
  binding(k, x, NV_BOOL, false, 512);
  binding(k, y, NV_BOOL, true, 512);
  const nv_dim flat = nv_dim_add(
      c, nv_dim_add(c, nv_dim_mul(c, k->symbol[0], number_dim(64)), nv_dim_mul(c, k->symbol[1], number_dim(8))),
      k->symbol[2]);
  store(k, 1, flat, load(k, 0, flat));
  assert_string_equal(body(k), "kernel void K(\n"
                               "    device const uchar4* x [[buffer(0)]], device uchar4* y [[buffer(1)]], uint3 pos "
                               "[[thread_position_in_grid]]) {\n"
                               "  uint slab = pos.z;\n  uint row = pos.y;\n  uint col = pos.x;\n"
                               "  uint at = slab * 16u + row * 2u + col;\n"
                               "  uchar4 x0 = x[at];\n"
                               "  y[at] = x0;\n"
                               "}\n");
  grid_is(k, 2, 8, 8);
  assert_int_equal(nv_operand_align(c, k, 1), 4);

  begin();
  y = computed("y", NV_OP_copy, input("x", NV_F32, 1), NV_F32, 1);
  k = kernel(NV_K_MAP, 0, none);
  binding(k, y, NV_F32, true, 1);
  store(k, 0, number_dim(0), constant(k, -1));
  assert_string_equal(body(k), "kernel void K(device float* y [[buffer(0)]]) {\n  y[0] = -1.0f;\n}\n");
  grid_is(k, 1, 1, 1);
}

/* More points than a grid's dim: 3 * 2^30 elements as rows of 2^30 and a guard; and a 64-bit offset. */
static void large(void **state) {
  (void)state;
  begin();
  const int64_t all = INT64_C(5) << 29, row = INT64_C(1) << 30, extents[2] = {3, row};
  const nv_value x = input("x", NV_F32, all), y = computed("y", NV_OP_copy, x, NV_F32, all);
  nv_kernel *k = kernel(NV_K_MAP, 2, extents);
  binding(k, x, NV_F32, false, all);
  binding(k, y, NV_F32, true, all);
  const nv_dim flat = nv_dim_add(c, nv_dim_mul(c, k->symbol[0], number_dim(row)), k->symbol[1]);
  k->guarded = true;
  k->guard = flat;
  k->limit = number_dim(all);
  store(k, 1, flat, load(k, 0, flat));
  assert_string_equal(strstr(body(k), "  uint row"), "  uint row = pos.y;\n"
                                                     "  uint col = pos.x;\n"
                                                     "  uint at = row * 268435456u + col;\n"
                                                     "  if (at >= 671088640u) {\n"
                                                     "    return;\n"
                                                     "  }\n"
                                                     "  float4 x0 = x[at];\n"
                                                     "  y[at] = x0;\n"
                                                     "}\n");
  grid_is(k, row / 4, 3, 1);
  k->instrs[0].offset = nv_dim_add(c, nv_dim_mul(c, k->symbol[1], number_dim(3)), k->symbol[0]); /* transposed */
  assert_string_equal(strstr(body(k), "  uint row"), "  uint row = pos.y;\n"
                                                     "  uint col = pos.x;\n"
                                                     "  ulong at = ulong(row) * 1073741824ul + ulong(col);\n"
                                                     "  if (at >= 2684354560ul) {\n"
                                                     "    return;\n"
                                                     "  }\n"
                                                     "  float x0 = x[ulong(col) * 3ul + ulong(row)];\n"
                                                     "  y[at] = x0;\n"
                                                     "}\n");
}

/* s = mean over n of x * x, plus b, of points. */
static nv_kernel *rows(int64_t points, int64_t n, nv_op o) {
  begin();
  const nv_value x = input("x", NV_F32, points * n), b = input("b", NV_F32, points),
                 q = computed("q", NV_OP_square, x, NV_F32, points * n),
                 s = computed("s", NV_OP_square, x, NV_F32, points);
  nv_kernel *k = kernel(NV_K_REDUCE, 1, &points);
  k->reduce_extent = number_dim(n);
  k->reduce_symbol = nv_dim_index(c, nv_intern_z(c, nv_format(c, "e:%" PRId64, n)), nv_dim_const(c, n));
  k->reduce_op = o;
  binding(k, x, NV_F32, false, points * n);
  binding(k, b, NV_F32, false, points);
  binding(k, s, NV_F32, true, points);
  const uint32_t x0 = load(k, 0, nv_dim_add(c, nv_dim_mul(c, k->symbol[0], number_dim(n)), k->reduce_symbol));
  const uint32_t r = instr(k, (nv_instr){.kind = NV_I_REDUCE,
                                         .op = (uint16_t)o,
                                         .dtype = NV_F32,
                                         .nargs = 1,
                                         .arg = {binary(k, NV_OP_multiply, x0, x0, NV_F32, q)},
                                         .value = NV_NONE});
  store(k, 2, k->symbol[0], binary(k, NV_OP_add, r, load(k, 1, k->symbol[0]), NV_F32, s));
  return k;
}

static void reductions(void **state) {
  (void)state;
  nv_kernel *k = rows(6, 37, NV_OP_sum);
  assert_string_equal(body(k),
                      "kernel void K(\n"
                      "    device const float* x [[buffer(0)]], device const float* b [[buffer(1)]], device float* s "
                      "[[buffer(2)]],\n"
                      "    uint3 pos [[thread_position_in_grid]], uint lane [[thread_index_in_simdgroup]]) {\n"
                      "  uint row = pos.x >> 5;\n"
                      "  float c[4] = {0.0f, 0.0f, 0.0f, 0.0f};\n"
                      "  for (uint j = 0u; j < 4u; ++j) {\n"
                      "    uint e = lane * 4u + j;\n"
                      "    if (e < 37u) {\n"
                      "      float x0 = x[row * 37u + e];\n"
                      "      float q = x0 * x0;\n"
                      "      c[j] = q;\n"
                      "    }\n"
                      "  }\n"
                      "  float sum = nv_fold_sum_f32(c[0], c[1], c[2], c[3], lane, 37u);\n"
                      "  if (lane == 0u) {\n"
                      "    float b0 = b[row];\n"
                      "    float s2 = sum + b0;\n"
                      "    s[row] = s2;\n"
                      "  }\n"
                      "}\n");
  grid_is(k, 192, 1, 1);
  k = rows(2, 5000, NV_OP_mean);
  assert_string_equal(strstr(body(k), "  uint row"),
                      "  uint row = pos.x >> 5;\n"
                      "  float c[4] = {0.0f, 0.0f, 0.0f, 0.0f};\n"
                      "  for (uint b2 = 0u; b2 < 5u; ++b2) {\n"
                      "    uint m = metal::min(1024u, 5000u - b2 * 1024u);\n"
                      "    float c2[4] = {0.0f, 0.0f, 0.0f, 0.0f};\n"
                      "    for (uint k = 0u; k * 128u < m; ++k) {\n"
                      "      uint e = b2 * 256u + k * 32u + lane;\n"
                      "      if (e < 1250u) {\n"
                      "        float4 x0 = x[row * 1250u + e];\n"
                      "        float px = K_point(x0.x);\n"
                      "        float py = K_point(x0.y);\n"
                      "        float pz = K_point(x0.z);\n"
                      "        float pw = K_point(x0.w);\n"
                      "        if (k == 0u) {\n"
                      "          c2[0] = px;\n"
                      "          c2[1] = py;\n"
                      "          c2[2] = pz;\n"
                      "          c2[3] = pw;\n"
                      "        } else {\n"
                      "          c2[0] = c2[0] + px;\n"
                      "          c2[1] = c2[1] + py;\n"
                      "          c2[2] = c2[2] + pz;\n"
                      "          c2[3] = c2[3] + pw;\n"
                      "        }\n"
                      "      }\n"
                      "    }\n"
                      "    float sum = nv_fold_sum_f32(c2[0], c2[1], c2[2], c2[3], lane, m);\n"
                      "    if (((b2 >> 2) & 31u) == lane) {\n"
                      "      c[b2 & 3u] = sum;\n"
                      "    }\n"
                      "  }\n"
                      "  float sum2 = nv_fold_sum_f32(c[0], c[1], c[2], c[3], lane, 5u);\n"
                      "  float t0 = sum2 * 0.0002f;\n"
                      "  if (lane == 0u) {\n"
                      "    float b0 = b[row];\n"
                      "    float s2 = t0 + b0;\n"
                      "    s[row] = s2;\n"
                      "  }\n"
                      "}\n");
  assert_int_equal(nv_operand_align(c, k, 0), 16);
  assert_int_equal(nv_operand_align(c, k, 1), 4);
  assert_non_null(strstr(body(rows(1, 1050001, NV_OP_max)), "uint n = b2 * 1024u + b3;\n")); /* three levels */
  assert_non_null(strstr(body(rows(3, 33, NV_OP_sum)), "if (e < 33u)"));
  k = rows((INT64_C(1) << 26) + 1, 40, NV_OP_sum);
  assert_non_null(strstr(
      body(k), "  uint row = pos.y * 67108864u + (pos.x >> 5);\n  if (row >= 67108865u) {\n    return;\n  }\n"));
  grid_is(k, INT64_C(1) << 31, 2, 1);
  /* of nothing */
  assert_non_null(strstr(body(rows(2, 0, NV_OP_sum)), "float s2 = 0.0f + b0;"));
  assert_non_null(strstr(body(rows(2, 0, NV_OP_mean)), "float s2 = as_type<float>(0x7fc00000u) + b0;"));
  RAISES(body(rows(2, 0, NV_OP_max)), "internal error");
}

/* ---- whole modules ---- */

static nuvecc_unit *unit;
static const char *compile(const char *spec, nuvecc_artifact what) {
  static const nuvecc_options options = {.file = "t.yaml", .format = NUVECC_FORMAT_YAML};
  nuvecc_free(unit);
  assert_int_equal(nuvecc_compile(&options, spec, strlen(spec), &unit), NUVECC_OK);
  const char *text = nuvecc_text(unit, what, NULL);
  if (!text) fail_msg("%s", nuvecc_error(unit));
  return text;
}
static int free_unit(void **state) {
  nuvecc_free(unit);
  unit = NULL;
  return teardown(state);
}
static uint32_t count(const char *text, const char *part) {
  uint32_t n = 0;
  for (; (text = strstr(text, part)) != NULL; text++) n++;
  return n;
}

static const char two_entries[] =
    "nuvec: 1\nname: m\nfunctions:\n"
    "  m:\n    dims: {N: {min: 1, max: 64}}\n    inputs: {x: 'float32[N, 35]'}\n"
    "    nodes: |\n      h = erf(x) * 2\n      y = sum(h[:, 1:], axis=1)\n    outputs: [h, y]\n"
    "  other:\n    inputs: {x: 'float32[4, 3]'}\n    nodes: |\n      h = erf(x) * 2\n    outputs: h\n"
    "entries: {m: {signatures: [{N: 4}, {N: 5}]}, other: {}}\n";

/* A thread a point. */
static void short_rows(void **state) {
  (void)state;
  nv_kernel *k = rows(6, 7, NV_OP_sum);
  assert_string_equal(body(k),
                      "kernel void K(\n"
                      "    device const float* x [[buffer(0)]], device const float* b [[buffer(1)]], device float* s "
                      "[[buffer(2)]],\n"
                      "    uint3 pos [[thread_position_in_grid]]) {\n"
                      "  uint point = pos.x;\n"
                      "  float sum = 0.0f;\n"
                      "  float s2 = 0.0f;\n"
                      "  for (uint i = 0u; i < 2u; ++i) {\n"
                      "    uint t = i;\n"
                      "    float value = 0.0f;\n"
                      "    float c[4] = {0.0f, 0.0f, 0.0f, 0.0f};\n"
                      "    for (uint j = 0u; j < 4u; ++j) {\n"
                      "      uint place = t * 4u + j;\n"
                      "      uint e = metal::min(place, 6u);\n"
                      "      float x0 = x[point * 7u + e];\n"
                      "      float q = x0 * x0;\n"
                      "      c[j] = place >= 7u ? c[j] : q;\n"
                      "    }\n"
                      "    c[0] = c[0] + c[2];\n"
                      "    if (t != 1u) {\n"
                      "      c[1] = c[1] + c[3];\n"
                      "    }\n"
                      "    c[0] = c[0] + c[1];\n"
                      "    value = c[0];\n"
                      "    if ((i & 1u) == 0u) {\n"
                      "      s2 = value;\n"
                      "    } else {\n"
                      "      value = s2 + value;\n"
                      "      sum = value;\n"
                      "    }\n"
                      "  }\n"
                      "  float b0 = b[point];\n"
                      "  float s3 = sum + b0;\n"
                      "  s[point] = s3;\n"
                      "}\n");
  grid_is(k, 6, 1, 1);
  k = rows(3, 32, NV_OP_mean);
  assert_non_null(strstr(body(k), "float4 x0 = x[point * 8u + e];\n"));
  assert_int_equal(nv_operand_align(c, k, 0), 16);
}

static void metal_files(void **state) {
  (void)state;
  const char *text = compile(two_entries, NUVECC_METAL);
  static const char head[] = "// Generated by nuvecc " NUVECC_VERSION " from m.\n#include <metal_stdlib>\n";
  assert_memory_equal(text, head, strlen(head));
  assert_non_null(strstr(text, "\n#pragma METAL fp math_mode(safe)\n#pragma METAL fp contract(off)\n"));
  assert_null(strstr(text, "t.yaml"));
  /* helpers: used ones once, callees before callers, no others */
  assert_int_equal(count(text, "static inline float nv_erf("), 1);
  assert_int_equal(count(text, "static inline float nv_mul("), 1);
  assert_int_equal(count(text, "static inline float nv_fold_sum_f32("), 1);
  assert_true(strstr(text, "static inline float nv_mul(") < strstr(text, "static inline float nv_erf("));
  assert_null(strstr(text, "nv_log1p"));
  assert_null(strstr(text, "nv_mulhi64"));
  /* equal texts once, names counted an entry */
  assert_int_equal(count(text, "kernel void m_k0_"), 1);
  assert_int_equal(count(text, "kernel void m_k1_"), 1);
  assert_int_equal(count(text, "kernel void m_other_k"), 0);
  assert_int_equal(count(text, "\nkernel void m_tie_"), 1);
  assert_non_null(strstr(text, "// m: h\n"));
  /* the same spec gives the same bytes; the tie follows text and tape */
  char *first = strdup(text), *tie = strdup(strstr(text, "kernel void m_tie_"));
  assert_string_equal(compile(two_entries, NUVECC_METAL), first);
  char *changed = strdup(two_entries);
  strstr(changed, "* 2")[2] = '3';
  assert_string_not_equal(strstr(compile(changed, NUVECC_METAL), "kernel void m_tie_"), tie);
  memcpy(changed, two_entries, sizeof two_entries);
  memcpy(strstr(changed, "outputs: [h, y]"), "outputs: [y, h]", 15); /* the same kernels, another tape */
  assert_string_not_equal(strstr(compile(changed, NUVECC_METAL), "kernel void m_tie_"), tie);
  free(first);
  free(tie);
  free(changed);
  /* a long chain's name ends in a hash that knows its constants */
  static const char chain_spec[] =
      "nuvec: 1\nname: c\nfunctions:\n  c:\n    inputs: {x: 'float32[9]'}\n    nodes: |\n"
      "      y = -exp(tanh(sqrt(log(abs(exp(tanh(sqrt(x * 3))))))))\n    outputs: y\n";
  const char *name = strstr(compile(chain_spec, NUVECC_METAL), "kernel void c_k0_mul_sqrt_tanh_exp_abs_log_");
  assert_non_null(name);
  char *long_name = strdup(name);
  assert_true(strcspn(long_name, "(") < 64);
  changed = strdup(chain_spec);
  strstr(changed, "* 3")[2] = '5';
  name = strstr(compile(changed, NUVECC_METAL), "kernel void c_k0_mul_sqrt_tanh_exp_abs_log_");
  assert_non_null(name);
  assert_true(strncmp(name, long_name, strcspn(long_name, "(")) != 0);
  free(long_name);
  free(changed);
}

/* Node names of any length and with any characters stand in comments; no line gets long. */
static void comments(void **state) {
  (void)state;
  nv_buf b = buffer();
  nv_puts(&b, "nuvec: 1\nname: t\nfunctions:\n  t:\n    inputs: {x: 'float32[5]'}\n    nodes:\n");
  char name[512] = "x";
  for (int k = 0; k < 40; k++) {
    char last[512];
    strcpy(last, name);
    char part[256] = "";
    for (int n = 0; n < (k * 13) % 240; n += 6) strcat(part, n % 36 == 30 ? "\xc3\xbc\xc3\xbc\xc3\xbc" : "MatMul");
    snprintf(name, sizeof name, "/enc/%d/%.230s\\", k, part);
    if (k == 39) strcpy(name, "y");
    nv_printf(&b, "      - {name: '%s', op: exp, inputs: ['%s']}\n", name, last);
  }
  nv_puts(&b, "    outputs: y\n");
  const char *text = compile(nv_buf_text(&b), NUVECC_METAL);
  for (const char *line = text; *line; line = strchr(line, '\n') + 1) {
    const size_t n = strcspn(line, "\n");
    if (n > NV_COLUMNS) fail_msg("%zu columns: %.*s", n, (int)n, line);
    if (n) assert_true(line[n - 1] != '\\');
  }
  assert_non_null(strstr(text, "// t: \"/enc/0/??\", \"/enc/1/MatMulMatMulMatMul??\","));
  assert_non_null(strstr(text, " more\n"));
}

static json_t *parse(const char *text, const char *format) {
  json_error_t error;
  json_t *j = json_loads(text, JSON_REJECT_DUPLICATES, &error);
  if (!j) fail_msg("line %d: %s\n%s", error.line, error.text, text);
  assert_string_equal(json_string_value(json_object_get(j, "format")), format);
  return j;
}
static json_int_t integer(json_t *object, const char *key) {
  assert_true(json_is_integer(json_object_get(object, key)));
  return json_integer_value(json_object_get(object, key));
}

static void reports(void **state) {
  (void)state;
  json_t *j = parse(compile(two_entries, NUVECC_STATS_JSON), "nuvec-stats-1"),
         *entries = json_object_get(j, "entries");
  assert_int_equal(json_array_size(entries), 3);
  json_t *e = json_array_get(entries, 1);
  assert_string_equal(json_string_value(json_object_get(e, "entry")), "m");
  assert_int_equal(integer(e, "signature"), 1);
  assert_true(integer(e, "nodes_traced") >= integer(e, "nodes_simplified"));
  const json_int_t kernels = integer(e, "kernels"), launches = integer(e, "launches");
  assert_int_equal(kernels, launches);
  assert_true(integer(e, "bytes_moved") >= integer(e, "bytes_lower_bound"));
  assert_int_equal(integer(e, "bytes_lower_bound"), 4 * (175 + 175 + 5));
  assert_true(integer(e, "scratch_bytes") >= 0);
  json_t *list = json_object_get(e, "per_kernel");
  assert_int_equal(json_array_size(list), launches);
  json_int_t moved = 0;
  for (size_t k = 0; k < json_array_size(list); k++) {
    json_t *one = json_array_get(list, k);
    moved += integer(one, "read") + integer(one, "written");
    assert_non_null(strstr(json_string_value(json_object_get(one, "kernel")), "m_k"));
  }
  assert_int_equal(moved, integer(e, "bytes_moved"));
  json_decref(j);

  j = parse(compile(two_entries, NUVECC_EXPLAIN_JSON), "nuvec-explain-1");
  e = json_array_get(json_object_get(j, "entries"), 0);
  json_t *node = json_array_get(json_object_get(json_array_get(json_object_get(e, "per_kernel"), 0), "nodes"), 0);
  assert_string_equal(json_string_value(json_object_get(node, "name")), "m.h#1");
  assert_int_equal(integer(node, "line"), 8);
  json_decref(j);

  j = parse(compile(two_entries, NUVECC_MANIFEST), "nuvec-manifest-1");
  assert_string_equal(json_string_value(json_object_get(j, "nuvecc")), NUVECC_VERSION);
  entries = json_object_get(j, "entries");
  assert_int_equal(json_array_size(entries), 2);
  assert_int_equal(json_array_size(json_object_get(json_array_get(entries, 0), "signatures")), 2);
  assert_string_equal(json_string_value(json_object_get(json_array_get(entries, 1), "symbol")), "m_other");
  json_t *files = json_object_get(j, "files");
  assert_string_equal(json_string_value(json_array_get(files, 0)), "m.metal");
  const char *tie = json_string_value(json_object_get(j, "tie"));
  assert_non_null(strstr(nuvecc_text(unit, NUVECC_METAL, NULL), tie));
  assert_non_null(strstr(nuvecc_text(unit, NUVECC_C, NULL), tie));
  json_decref(j);

  const char *text = compile(two_entries, NUVECC_STATS);
  assert_non_null(strstr(text, "other, signature 0: nodes traced "));
  text = compile(two_entries, NUVECC_EXPLAIN);
  assert_non_null(strstr(text, "erf m.h#1 (line 8)\n"));
  assert_non_null(strstr(text, "    writes h: float32[4, 3], 48 bytes\n"));
}

/* The page of --explain=html: whole, all tags closed, nothing from outside, every kernel and line in it, the same each
 * time; a name that is HTML stays text. */
static void page(void **state) {
  (void)state;
  static const char *const tags[] = {"section", "details", "summary", "div", "svg", "text", "table", "tr", "td", "pre",
                                     "code",    "span",    "p",       "h2",  "h3",  "title", "defs", "main", "tspan"};
  char *text = strdup(compile(two_entries, NUVECC_EXPLAIN_HTML));
  assert_non_null(text);
  for (size_t k = 0; k < sizeof tags / sizeof *tags; k++) {
    char open[16], wide[16], close[16];
    (void)snprintf(open, sizeof open, "<%s>", tags[k]);
    (void)snprintf(wide, sizeof wide, "<%s ", tags[k]);
    (void)snprintf(close, sizeof close, "</%s>", tags[k]);
    if (count(text, open) + count(text, wide) != count(text, close)) fail_msg("%s isn't closed", tags[k]);
    if (strcmp(tags[k], "defs")) assert_true(count(text, close) > 0);
  }
  assert_null(strstr(text, "http"));
  assert_null(strstr(text, "url(h"));
  json_t *j = parse(compile(two_entries, NUVECC_EXPLAIN_JSON), "nuvec-explain-1");
  const json_t *list = json_object_get(json_array_get(json_object_get(j, "entries"), 0), "per_kernel");
  assert_true(json_array_size(list) > 0);
  for (size_t k = 0; k < json_array_size(list); k++)
    assert_non_null(strstr(text, json_string_value(json_object_get(json_array_get(list, k), "name"))));
  json_decref(j);
  assert_non_null(strstr(text, "kernel void m_k0"));
  assert_string_equal(text, compile(two_entries, NUVECC_EXPLAIN_HTML));
  free(text);
}

/* What is computed more than once is said, with its kernels; what goes through scratch too. */
static void recomputed(void **state) {
  (void)state;
  static const char twice[] =
      "nuvec: 1\nname: t\nfunctions:\n  f:\n    inputs: {x: \"float32[64, 8]\", w: \"float32[8]\"}\n    nodes: |\n"
      "      e = x - exp(w) * 2\n      s = sum(e, axis=0)\n      y = e / s\n    outputs: y\n";
  const char *text = compile(twice, NUVECC_EXPLAIN);
  const char *line = strstr(text, "  computed more than once, for fewer bytes:\n");
  assert_non_null(strstr(text, "scratch arena 256 bytes, lower bound 32 (the most alive at once)\n"));
  if (!line) fail_msg("%s", text);
  assert_non_null(strstr(line, "    subtract f.e (line 7): 2 times, in t_f_k0_"));
  json_t *j = parse(compile(twice, NUVECC_EXPLAIN_JSON), "nuvec-explain-1");
  const json_t *e = json_array_get(json_object_get(j, "entries"), 0), *list = json_object_get(e, "recomputed");
  assert_int_equal(json_array_size(list), 3); /* exp, the product, the difference */
  for (size_t k = 0; k < json_array_size(list); k++) {
    assert_int_equal(integer(json_array_get(list, k), "times"), 2);
    assert_int_equal(json_array_size(json_object_get(json_array_get(list, k), "kernels")), 2);
  }
  const json_t *kernels = json_object_get(e, "per_kernel");
  assert_int_equal(integer(json_array_get(kernels, 0), "scratch"), 32);
  assert_int_equal(integer(json_array_get(kernels, 1), "scratch"), 32);
  json_decref(j);
}

static void makefiles(void **state) {
  (void)state;
  const char *text = compile(two_entries, NUVECC_MK);
  assert_non_null(strstr(text, "m_DIR := $(dir $(lastword $(MAKEFILE_LIST)))\n"));
  assert_non_null(strstr(text, "m_STD ?= -std=metal3.1\nm_MIN ?= -mmacosx-version-min=14.0\n"));
  assert_non_null(strstr(text, "-fno-fast-math -ffp-contract=off"));
  assert_non_null(strstr(text, "\t$(m_XCRUN) -sdk $(m_SDK) metal \\\n\t  $(m_RECIPE) -c $< -o $@\n"));
  assert_non_null(strstr(text, "$(m_METALLIB): $(m_AIR)\n"
                               "\t$(m_XCRUN) -sdk $(m_SDK) metal \\\n\t  $(m_RECIPE) $< -o $@\n"));
  assert_null(strstr(text, "$_"));
  assert_null(strstr(text, "%%"));
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, free_unit)
int main(void) {
  const struct CMUnitTest tests[] = {TEST(literals),    TEST(identifiers), TEST(lines),   TEST(operations),
                                     TEST(maps),        TEST(moves),       TEST(large),   TEST(reductions),
                                     TEST(short_rows),
                                     TEST(metal_files), TEST(comments),    TEST(reports), TEST(page),
                                     TEST(recomputed),  TEST(makefiles)};
  return cmocka_run_group_tests_name("test_emit", tests, NULL, NULL);
}
