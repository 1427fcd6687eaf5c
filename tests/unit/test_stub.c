/* test_stub.c - NAME.h and NAME.c of modules made by hand: members of structs, tables of the tape, text in comments. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "emit/stub.h"

static nv_ctx *make_ctx(void) {
  static const nuvecc_options options = {.file = "test.yaml"};
  nv_ctx *c = nv_ctx_new(&options);
  assert_non_null(c);
  c->target = nv_target_find("macos14");
  nv_dims_init(c);
  nv_graph_tables_init(c);
  return c;
}

/* ---- fields ---- */

static const char *fields_of(nv_ctx *c, const char *const *paths, uint32_t n, const char **access) {
  nv_item *items = NV_NEW_N(c, nv_item, n + 1);
  for (uint32_t k = 0; k < n; k++) items[k] = (nv_item){.path = paths[k], .type = "nuvec_array"};
  const nv_fields *f = nv_fields_make(c, items, n);
  nv_buf b;
  nv_buf_init(&b, c);
  for (uint32_t k = 0; k < n; k++) {
    if (k) nv_putc(&b, ' ');
    nv_put_field(&b, f, k);
  }
  *access = nv_format(c, "%s", nv_buf_text(&b));
  nv_buf_init(&b, c);
  nv_put_fields(&b, f);
  return nv_buf_text(&b);
}
#define FIELDS(want, want_access, ...)                                                         \
  do {                                                                                         \
    static const char *const paths_[] = {__VA_ARGS__};                                         \
    const char *access_;                                                                       \
    assert_string_equal(fields_of(c, paths_, sizeof paths_ / sizeof *paths_, &access_), want); \
    assert_string_equal(access_, want_access);                                                 \
  } while (0)

static void test_fields(void **state) {
  (void)state;
  nv_ctx *c = make_ctx();
  FIELDS("  nuvec_array x;\n  nuvec_array y;\n", "x y", "x", "y");
  FIELDS("  nuvec_array x;\n  struct {\n    nuvec_array w1;\n    nuvec_array b1;\n  } p;\n  nuvec_array z;\n",
         "x p.w1 p.b1 z", "x", "p.w1", "p.b1", "z");
  FIELDS("  struct {\n    struct {\n      nuvec_array c;\n    } b;\n    nuvec_array d;\n  } a;\n", "a.b.c a.d", "a.b.c",
         "a.d");
  FIELDS("  nuvec_array x[3];\n", "x[0] x[1] x[2]", "x[0]", "x[1]", "x[2]");
  FIELDS("  struct {\n    nuvec_array w;\n    nuvec_array b[2];\n  } layers[2];\n",
         "layers[0].w layers[0].b[0] layers[0].b[1] layers[1].w layers[1].b[0] layers[1].b[1]", "layers[0].w",
         "layers[0].b[0]", "layers[0].b[1]", "layers[1].w", "layers[1].b[0]", "layers[1].b[1]");
  FIELDS("  nuvec_array m[2][2];\n", "m[0][0] m[0][1] m[1][0] m[1][1]", "m[0][0]", "m[0][1]", "m[1][0]", "m[1][1]");
  /* elements of different forms, in name or in depth */
  FIELDS("  struct {\n    nuvec_array _0;\n    struct {\n      nuvec_array a;\n    } _1;\n  } t;\n", "t._0 t._1.a",
         "t[0]", "t[1].a");
  FIELDS("  struct {\n    nuvec_array _0[1];\n    nuvec_array _1[2];\n  } t;\n", "t._0[0] t._1[0] t._1[1]", "t[0][0]",
         "t[1][0]", "t[1][1]");
  FIELDS("  struct {\n    struct {\n      nuvec_array a;\n    } _0;\n"
         "    struct {\n      nuvec_array b;\n    } _1;\n  } t;\n",
         "t._0.a t._1.b", "t[0].a", "t[1].b");
  nv_ctx_free(c);
}

/* What a member's comment says: of an array, what all of its elements have in common. */
static void test_comments(void **state) {
  (void)state;
  nv_ctx *c = make_ctx();
  static const nv_item items[] = {
      {"x", "nuvec_array", "float32[2]", "x"},
      {"l[0].w", "nuvec_array", "int8", "l[0].w"},
      {"l[0].v[0]", "nuvec_array", "int8[3]", "l[0].v[0]"},
      {"l[1].w", "nuvec_array", "int8", "l[1].w"},
      {"l[1].v[0]", "nuvec_array", "int8[4]", "l[1].v[0]"},
      {"n", "int64_t", NULL, NULL},
      {"odd", "nuvec_array", "bool", "*/ odd"}};
  nv_buf b;
  nv_buf_init(&b, c);
  nv_put_fields(&b, nv_fields_make(c, items, sizeof items / sizeof *items));
  assert_string_equal(nv_buf_text(&b), "  nuvec_array x; /* float32[2], x */\n"
                                       "  struct {\n"
                                       "    nuvec_array w; /* int8, l[i].w */\n"
                                       "    nuvec_array v[1]; /* l[i].v[0] */\n"
                                       "  } l[2];\n"
                                       "  int64_t n;\n"
                                       "  nuvec_array odd; /* bool, * / odd */\n");
  nv_ctx_free(c);
}

static void test_reserved_fields(void **state) {
  (void)state;
  nv_ctx *c = make_ctx();
  FIELDS("  nuvec_array in_;\n  nuvec_array class_;\n  nuvec_array out;\n  nuvec_array self_;\n  nuvec_array NULL_;\n"
         "  nuvec_array linux_;\n  nuvec_array _Bool_;\n  nuvec_array __x_;\n  nuvec_array _x;\n",
         "in_ class_ out self_ NULL_ linux_ _Bool_ __x_ _x", "in", "class", "out", "self", "NULL", "linux", "_Bool",
         "__x", "_x");
  /* an underscore more where the name is taken, among brothers only */
  FIELDS("  nuvec_array for_;\n  nuvec_array for__;\n  nuvec_array for___;\n", "for_ for__ for___", "for", "for_",
         "for__");
  FIELDS("  nuvec_array for_;\n  nuvec_array for__;\n", "for_ for__", "for_", "for");
  FIELDS("  nuvec_array for_;\n  struct {\n    nuvec_array for_;\n  } if_;\n", "for_ if_.for_", "for", "if.for");
  FIELDS("  nuvec_array _enc_0;\n  nuvec_array _2x;\n  nuvec_array _;\n", "_enc_0 _2x _", "/enc/0", "2x", "-");
  nv_ctx_free(c);
}

static void test_many_fields(void **state) {
  (void)state;
  nv_ctx *c = make_ctx();
  enum { N = 20000 };
  nv_item *items = NV_NEW_N(c, nv_item, N);
  for (uint32_t k = 0; k < N; k++)
    items[k] = (nv_item){.path = nv_format(c, "l[%u].m[%u].w", k / 10, k % 10), .type = "nuvec_array"};
  const nv_fields *f = nv_fields_make(c, items, N);
  nv_buf b;
  nv_buf_init(&b, c);
  nv_put_fields(&b, f);
  assert_string_equal(nv_buf_text(&b), "  struct {\n    struct {\n      nuvec_array w;\n    } m[10];\n  } l[2000];\n");
  /* deep: no recursion */
  nv_buf path;
  nv_buf_init(&path, c);
  for (int k = 0; k < 5000; k++) nv_puts(&path, k ? ".a" : "a");
  items[0].path = nv_buf_text(&path);
  nv_buf_init(&b, c);
  nv_put_field(&b, nv_fields_make(c, items, 1), 0);
  assert_string_equal(nv_buf_text(&b), nv_buf_text(&path));
  nv_ctx_free(c);
}

/* ---- text inside C ---- */

static void test_text(void **state) {
  (void)state;
  nv_ctx *c = make_ctx();
  /* clang-format off */
  static const char *const comments[][2] = {{"ffn.h#2", "ffn.h#2"},
                                            {"a*/b/*c", "a* /b/ *c"},
                                            {"?"
                                             "?/",
                                             "? ?/"},
                                            {"back\\", "back?"},
                                            {"\xe2\x80\xae\xc3\xa9", "?\xc3\xa9"},
                                            {"line\n", "line?"}};
  static const char *const strings[][2] = {{"x", "\"x\""},
                                           {"a\"b\\c", "\"a\\\"b\\\\c\""},
                                           {"?" "?" "?", "\"?\\?\\?\""},
                                           {"\xc3\xa9"
                                            "1\n",
                                            "\"\\303\\2511\\012\""}};
  /* clang-format on */
  nv_buf b;
  for (size_t k = 0; k < sizeof comments / sizeof *comments; k++) {
    nv_buf_init(&b, c);
    nv_put_comment(&b, comments[k][0]);
    assert_string_equal(nv_buf_text(&b), comments[k][1]);
  }
  for (size_t k = 0; k < sizeof strings / sizeof *strings; k++) {
    nv_buf_init(&b, c);
    nv_put_cstring(&b, strings[k][0]);
    assert_string_equal(nv_buf_text(&b), strings[k][1]);
  }
  nv_ctx_free(c);
}

static void refuse(const char *name) {
  nv_ctx *c = make_ctx();
  nv_module m = {.c = c, .name = name, .prefix_c = name};
  c->door_open = true;
  if (!setjmp(c->door)) {
    nv_check_stub(&m);
    fail_msg("%s was taken", name);
  }
  assert_int_equal(c->raised, NUVECC_USAGE);
  assert_non_null(strstr(c->fault, "--prefix"));
  nv_ctx_free(c);
}
static void test_symbols(void **state) {
  (void)state;
  static const char *const names[] = {"objc", "pthread", "dispatch", "nvr", "nvr_x"};
  for (size_t k = 0; k < sizeof names / sizeof *names; k++) refuse(names[k]);
  nv_ctx *c = make_ctx();
  nv_module m = {.c = c, .name = "objc2", .prefix_c = "objc2"};
  nv_check_stub(&m);
  nv_ctx_free(c);
}

/* ---- a module: t = x * w into scratch, y = t + 1; the second signature with 8 rows instead of 4 ---- */

static nv_instr load(uint32_t operand, nv_dim offset) {
  return (nv_instr){.kind = NV_I_LOAD, .dtype = NV_F32, .operand = operand, .offset = offset};
}
static nv_instr store(uint32_t operand, nv_dim offset, uint32_t value) {
  return (nv_instr){
      .kind = NV_I_STORE, .dtype = NV_F32, .nargs = 1, .arg = {value}, .operand = operand, .offset = offset};
}
static nv_instr binary(nv_op op, uint32_t a, uint32_t b) {
  return (nv_instr){.kind = NV_I_OP, .dtype = NV_F32, .op = (uint16_t)op, .nargs = 2, .arg = {a, b}};
}

static nv_kernel make_kernel(nv_ctx *c, int64_t rows, const nv_value *operands, uint32_t n, const nv_node *nodes,
                             uint32_t nnodes) {
  nv_kernel k = {.kind = NV_K_MAP, .rank = 2, .noperands = n, .nnodes = nnodes};
  k.extent[0] = nv_dim_const(c, rows);
  k.extent[1] = nv_dim_const(c, 100);
  k.symbol[0] = nv_dim_symbol(c, nv_intern_z(c, "i0"), 0, rows - 1);
  k.symbol[1] = nv_dim_symbol(c, nv_intern_z(c, "i1"), 0, 99);
  k.operands = NV_NEW_N(c, nv_operand_rec, n);
  k.nodes = NV_NEW_N(c, nv_node, nnodes);
  k.instrs = NV_NEW_N(c, nv_instr, 8);
  memcpy(k.nodes, nodes, nnodes * sizeof *nodes);
  for (uint32_t i = 0; i < n; i++)
    k.operands[i] = (nv_operand_rec){
        .value = operands[i], .dtype = NV_F32, .written = i + 1 == n, .elements = rows * 100, .extent = rows * 100};
  return k;
}

static nv_plan *make_plan(nv_ctx *c, int64_t rows) {
  nv_graph *g = nv_graph_new(c, nv_intern_z(c, "ffn"));
  const nv_shape shape = nv_shape_of_ints(c, (int64_t[]){rows, 100}, 2), row = nv_shape_of_ints(c, (int64_t[]){100}, 1);
  const nv_str f = nv_intern_z(c, "ffn");
  const uint32_t ot = nv_graph_origin(g, NV_NONE, f, nv_intern_z(c, "t"), 0, NV_NOWHERE),
                 oy = nv_graph_origin(g, NV_NONE, f, nv_intern_z(c, "a*/b"), 0, NV_NOWHERE);
  const nv_value x = nv_graph_input(g, nv_intern_z(c, "x"), NV_F32, shape, NV_NOWHERE),
                 w = nv_graph_input(g, nv_intern_z(c, "p.w"), NV_F32, row, NV_NOWHERE);
  const nv_value wide = nv_graph_add(g, NV_OP_broadcast_to, &w, 1, NV_NO_ATTR, NV_F32, shape, ot);
  const nv_value t = nv_graph_add(g, NV_OP_multiply, (nv_value[]){x, wide}, 2, NV_NO_ATTR, NV_F32, shape, ot);
  const nv_value y = nv_graph_add(g, NV_OP_add, (nv_value[]){t, t}, 2, NV_NO_ATTR, NV_F32, shape, oy);
  nv_graph_output(g, y, nv_intern_z(c, "y"), NV_NOWHERE);
  nv_plan *p = NV_NEW(c, nv_plan);
  p->graph = g;
  p->kernels = NV_NEW_N(c, nv_kernel, 2);
  p->launches = NV_NEW_N(c, nv_launch, 2);
  p->nkernels = p->nlaunches = 2;
  p->scratch_bytes = 1792;
  const nv_node first[] = {g->values[wide].node, g->values[t].node}, second[] = {g->values[y].node};
  nv_kernel *k = &p->kernels[0];
  *k = make_kernel(c, rows, (nv_value[]){x, w, t}, 3, first, 2);
  const nv_dim at = nv_dim_add(c, nv_dim_mul(c, k->symbol[0], nv_dim_const(c, 100)), k->symbol[1]);
  k->instrs[0] = load(0, at);
  k->instrs[1] = load(1, k->symbol[1]);
  k->instrs[2] = binary(NV_OP_multiply, 0, 1);
  k->instrs[3] = store(2, at, 2);
  k->ninstrs = 4;
  k = &p->kernels[1];
  *k = make_kernel(c, rows, (nv_value[]){t, y}, 2, second, 1);
  k->instrs[0] = load(0, at);
  k->instrs[1] = binary(NV_OP_add, 0, 0);
  k->instrs[2] = store(1, at, 1);
  k->ninstrs = 3;
  static nv_place a[3] = {{NV_PLACE_INPUT, 0, 0}, {NV_PLACE_INPUT, 1, 0}, {NV_PLACE_SCRATCH, 0, 256}},
                  b[2] = {{NV_PLACE_SCRATCH, 0, 256}, {NV_PLACE_OUTPUT, 0, 0}};
  p->launches[0] = (nv_launch){0, a, false};
  p->launches[1] = (nv_launch){1, b, true};
  return p;
}

static nv_module *make_module(nv_ctx *c, nv_style style, uint32_t signatures) {
  nv_module *m = NV_NEW(c, nv_module);
  nv_entry *e = NV_NEW(c, nv_entry);
  e->name = nv_intern_z(c, "ffn");
  e->style = style;
  m->c = c;
  m->name = m->prefix_c = "net";
  m->programs = NV_NEW_N(c, nv_program, signatures);
  m->nprograms = signatures;
  for (uint32_t k = 0; k < signatures; k++) {
    nv_plan *p = make_plan(c, 4 + 4 * k);
    m->programs[k] =
        (nv_program){.entry = e, .signature = k, .style = style, .traced = p->graph, .simplified = p->graph, .plan = p};
  }
  nv_emit_names(m);
  return m;
}

static void has(const char *text, const char *part) {
  if (strstr(text, part)) return;
  const char *name = getenv("TEST_STUB_TEXT"); /* a file for the text that lacks it */
  FILE *f = name ? fopen(name, "w") : NULL;
  if (f) {
    fputs(text, f);
    fclose(f);
  }
  fail_msg("lacks: %s", part);
}
static void lacks(const char *text, const char *part) {
  if (strstr(text, part)) fail_msg("has: %s", part);
}

static void test_tape(void **state) {
  (void)state;
  nv_ctx *c = make_ctx();
  nv_module *m = make_module(c, NV_STYLE_TREE, 2);
  nv_buf b, again;
  nv_buf_init(&b, c);
  nv_buf_init(&again, c);
  nv_emit_c(&b, m);
  nv_emit_c(&again, m);
  const char *text = nv_buf_text(&b);
  assert_string_equal(text, nv_buf_text(&again));
  has(text, "/* net.c - made by nuvecc ");
  has(text, "#include \"net.h\"\n");
  lacks(text, "#include \"abi.h\"");
  lacks(text, "#include \"replay.h\"");
  has(text, "\", 0, 0},\n");
  has(text, "\"ffn: t\", 0, 0},\n");
  has(text, "\"ffn: \\\"a*/b\\\"\", 0, 0},\n");
  has(text, "static const int64_t nvr_shape_4_100[] = {4, 100};\nstatic const int64_t nvr_shape_100[] = {100};\n"
            "static const int64_t nvr_shape_8_100[] = {8, 100};\n");
  has(text, "static const nvr_port nvr_0_form0_inputs[] = {\n    {\"x\", NVR_CALL, offsetof(net_ffn_inputs, x)},\n"
            "    {\"p.w\", NVR_CALL, offsetof(net_ffn_inputs, p.w)},\n};\n");
  has(text, "{NUVEC_FLOAT32, 2, nvr_shape_4_100, 1600, ");
  has(text, "{NUVEC_FLOAT32, 1, nvr_shape_100, 400, ");
  has(text, "    {NVR_INPUT, 0, 0}, /* x */\n    {NVR_INPUT, 1, 0}, /* p.w */\n    {NVR_SCRATCH, 0, 256},\n");
  has(text, "    {NVR_SCRATCH, 0, 256},\n    {NVR_OUTPUT, 0, 0}, /* y */\n");
  has(text, "    {0, 0, 3, nvr_0_0_places + 0, {");
  has(text, "    {1, 1, 2, nvr_0_0_places + 3, {");
  has(text, "    {&nvr_0_forms[0], NULL, nvr_0_0_inputs, nvr_0_0_outputs, nvr_0_0_launches, 2, 1792},\n"
            "    {&nvr_0_forms[0], NULL, nvr_0_1_inputs, nvr_0_1_outputs, nvr_0_1_launches, 2, 1792},\n");
  has(text, "    {\"net_ffn\", nvr_0_forms, sizeof nvr_0_forms / sizeof *nvr_0_forms, nvr_0_signatures, 2,\n"
            "     nvr_0_table, sizeof nvr_0_table / sizeof *nvr_0_table - 1, ");
  has(text, "\"macOS\", 14, 0, /* the oldest system */\n    1004, 2001,");
  has(text, "nvr_entries, 1};\n");
  has(text,
      "nuvec_status net_ffn_call(net_context *context, const net_ffn_inputs *inputs, net_ffn_outputs *outputs) {\n");
  nv_buf_init(&b, c);
  nv_emit_metal(&b, m);
  has(nv_buf_text(&b), nv_tie_name(m));
  has(text, nv_tie_name(m));
  nv_ctx_free(c);
}

static void test_same_signatures(void **state) {
  (void)state;
  nv_ctx *c = make_ctx();
  nv_module *m = make_module(c, NV_STYLE_TREE, 2);
  nv_buf b;
  nv_buf_init(&b, c);
  m->programs[1].plan = m->programs[0].plan;
  c->door_open = true;
  if (!setjmp(c->door)) {
    nv_emit_c(&b, m);
    fail_msg("two signatures of the same types were taken");
  }
  assert_int_equal(c->raised, NUVECC_SPEC);
  has(c->fault, "signatures 0 and 1 of entry 'ffn' are the same");
  nv_ctx_free(c);
}

static void test_header(void **state) {
  (void)state;
  nv_ctx *c = make_ctx();
  nv_module *m = make_module(c, NV_STYLE_TREE, 1);
  nv_buf b;
  nv_buf_init(&b, c);
  nv_emit_header(&b, m);
  const char *text = nv_buf_text(&b);
  has(text, "#ifndef NUVEC_ABI_1\n");
  has(text, " *   const int64_t shape[] = {4, 100};\n *   in.x = (nuvec_array){.host = data, .bytes = 1600, ");
  has(text, " *   input 0  x: float32[4, 100], 1600 bytes, offset a multiple of 16\n"
            " *   input 1  p.w: float32[100], 400 bytes, offset a multiple of 16\n"
            " *   output 0  y: float32[4, 100], 1600 bytes, offset a multiple of 16\n */\n");
  has(text,
      "typedef struct net_ffn_inputs {\n  nuvec_array x; /* float32[4, 100], x */\n"
      "  struct {\n    nuvec_array w; /* float32[100], p.w */\n  } p;\n} net_ffn_inputs;\n");
  has(text, "typedef struct net_ffn_outputs {\n  nuvec_array y; /* float32[4, 100], y */\n} net_ffn_outputs;\n");
  has(text, "#define net_ffn_SCRATCH_BYTES ((size_t)1792)\n");
  has(text, "nuvec_status net_create(const nuvec_options *options, net_context **context);\n");
  has(text,
      "nuvec_status net_ffn_call(net_context *context, const net_ffn_inputs *inputs, net_ffn_outputs *outputs);\n");
  lacks(text, "Signature 0");
  lacks(text, "NUVEC_SHAPE, NUVEC_SIGNATURE");
  nv_buf_init(&b, c);
  m = make_module(c, NV_STYLE_FLAT, 2);
  nv_emit_header(&b, m);
  text = nv_buf_text(&b);
  has(text, " * Signature 1:\n *   input 0  x: float32[8, 100], 3200 bytes");
  has(text, "nuvec_status net_ffn_call(net_context *context, const nuvec_array *inputs, size_t ninputs,\n"
            "    nuvec_array *outputs, size_t noutputs);\n");
  has(text, " *   in[0] = (nuvec_array){");
  has(text, "net_ffn_call(context, in, 2, out, 1)");
  has(text, "NUVEC_SIGNATURE (none fits)");
  lacks(text, "struct net_ffn_inputs");
  nv_ctx_free(c);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_fields),
      cmocka_unit_test(test_comments),          cmocka_unit_test(test_reserved_fields),
                                     cmocka_unit_test(test_many_fields),     cmocka_unit_test(test_text),
                                     cmocka_unit_test(test_symbols),         cmocka_unit_test(test_tape),
                                     cmocka_unit_test(test_same_signatures), cmocka_unit_test(test_header)};
  return cmocka_run_group_tests_name("test_stub", tests, NULL, NULL);
}
