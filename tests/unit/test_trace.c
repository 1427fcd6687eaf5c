/* test_trace.c - tracing: graphs and origins of small specs, weak values, generic functions, outputs, errors with
 * their places. */
#include "ir/eval.h"
#include "passes/passes.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

/* What a run came to: the graphs' text, one after the other, or the diagnostics, "line:column: error: text". */
static char *told;
static nv_buf *into;

static void report(void *user, const nuvecc_diagnostic *d) {
  static const char *const names[] = {"error", "warning", "note"};
  (void)user;
  nv_printf(into, "%u:%u: %s: %s\n", d->line, d->column, names[d->severity], d->text);
}

enum { POINTS = 13 };
static float *points; /* where not NULL: what a run's last graph gives for -3, -2.5, …, 3 is put there */

static void evaluate(const nv_graph *g) {
  float x[POINTS];
  for (int i = 0; i < POINTS; i++) x[i] = (float)(i - 6) / 2;
  nuvecc_tensor in = {
      .name = "x", .dtype = NUVECC_FLOAT32, .rank = 1, .shape = {POINTS}, .bytes = sizeof x, .data = x};
  nuvecc_tensor out = in;
  out.data = points;
  nv_eval(g, &in, &out, false);
}

static const char *run(const char *text, nuvecc_format format, bool graphs) {
  nuvecc_options options = {.file = "t.yaml", .format = format, .report = report};
  nv_ctx *c = nv_ctx_new(&options);
  assert_non_null(c);
  nv_buf b;
  nv_buf_init(&b, c);
  into = &b;
  c->door_open = true;
  if (setjmp(c->door) == 0) {
    c->target = nv_target_find("macos14");
    nv_dims_init(c);
    nv_graph_tables_init(c);
    nv_doc *d = nv_doc_read(c, "t.yaml", format, text, strlen(text));
    nv_spec *s = d ? nv_spec_parse(c, d) : NULL;
    for (uint32_t i = 0; s && i < s->nentries; i++)
      for (uint32_t k = 0; k < s->entries[i].nsignatures; k++) {
        const nv_graph *g = nv_trace(s, &s->entries[i], k);
        if (!g) continue;
        nv_verify(g, NV_STAGE_TRACED);
        if (graphs) nv_graph_print(&b, g);
        if (points) evaluate(g);
      }
    nv_diag_flush(c);
  } else {
    nv_printf(&b, "raised: %s\n", c->fault);
  }
  free(told);
  told = strdup(nv_buf_text(&b));
  nv_ctx_free(c);
  return told;
}

/* The spec's one function f, by what stands under it. */
static const char *function(const char *inputs, const char *nodes, const char *outputs) {
  static char text[16384];
  snprintf(text, sizeof text,
           "nuvec: 1\nfunctions:\n  f:\n    inputs: {%s}\n    nodes: |\n%s\n    outputs: %s\n", inputs, nodes,
           outputs);
  return text;
}

#define TRACES(spec, want) assert_string_equal(run((spec), NUVECC_FORMAT_YAML, true), (want))
#define SAYS(spec, want) assert_string_equal(run((spec), NUVECC_FORMAT_YAML, false), (want))
#define CONTAINS(spec, want)                                                                               \
  do {                                                                                                     \
    if (!strstr(run((spec), NUVECC_FORMAT_YAML, true), (want))) fail_msg("no '%s' in:\n%s", (want), told); \
  } while (0)

/* ---- graphs ---- */

static void origins(void **state) {
  (void)state;
  TRACES(function("x: \"float32[2, 3]\", y: \"float32[3]\"", "      h = exp(x) * y + 1", "h"),
         "graph f\n"
         "%0 = input \"x\" : float32[2, 3]\n"
         "%1 = input \"y\" : float32[3]\n"
         "%2 = exp %0 : float32[2, 3]  # f.h#1\n"
         "%3 = broadcast_to %1 : float32[2, 3]  # f.h#2\n"
         "%4 = multiply %2, %3 : float32[2, 3]  # f.h#2\n"
         "%5 = const 0x3f800000 : float32[]  # 1.0 f.h\n"
         "%6 = broadcast_to %5 : float32[2, 3]  # f.h\n"
         "%7 = add %4, %6 : float32[2, 3]  # f.h\n"
         "output \"h\" = %7\n");
}

static void calls(void **state) {
  (void)state;
  TRACES("nuvec: 1\n"
         "functions:\n"
         "  twice: {inputs: {v: \"any[...]\"}, nodes: [w = v + v], outputs: w}\n"
         "  f:\n"
         "    inputs: {x: \"int32[2]\"}\n"
         "    nodes: [\"a = twice(x) + x\", \"b = twice(a)\"]\n"
         "    outputs: [b, twice(x), x]\n",
         "graph f\n"
         "%0 = input \"x\" : int32[2]\n"
         "%1 = add %0, %0 : int32[2]  # f.a#1/twice.w\n"
         "%2 = add %1, %0 : int32[2]  # f.a\n"
         "%3 = add %2, %2 : int32[2]  # f.b/twice.w\n"
         "%4 = add %0, %0 : int32[2]  # f.out1/twice.w\n"
         "output \"b\" = %3\n"
         "output \"out1\" = %4\n"
         "output \"x\" = %0\n");
}

static void plain_is_text(void **state) {
  (void)state;
  const char *plain = "nuvec: 1\n"
                      "functions:\n"
                      "  f:\n"
                      "    inputs: {x: \"float32[2, 3]\"}\n"
                      "    nodes:\n"
                      "      - {name: a, op: multiply, inputs: [x, 0.1]}\n"
                      "      - {name: s, op: sum, inputs: [a], axis: [-1], keepdims: true}\n"
                      "      - {name: c, op: clip, inputs: [s, 0, 1]}\n"
                      "      - {name: g, op: gelu, inputs: [c]}\n"
                      "      - {name: t, op: astype, inputs: [g], dtype: int32}\n"
                      "    outputs: t\n";
  char *first = strdup(run(plain, NUVECC_FORMAT_YAML, true));
  assert_non_null(strstr(first, "output \"t\""));
  TRACES(function(
             "x: \"float32[2, 3]\"",
             "      a = x * 0.1\n      s = sum(a, -1, true)\n      c = clip(s, 0, max=1)\n      g = gelu(c)\n"
             "      t = astype(g, int32)",
             "t"),
         first);
  free(first);
}

static void promotion(void **state) {
  (void)state;
  TRACES(
      function(
          "i: \"int32[2]\", x: float32, p: \"bool[2]\"",
          "      a = i + x\n      b = i / 2\n      c = where(i, p, 2)\n      d = i and p\n      e = sum(p)\n"
          "      g = mean(i)",
          "{a: a, b: b, c: c, d: d, e: e, g: g}"),
      "graph f\n"
      "%0 = input \"i\" : int32[2]\n"
      "%1 = input \"x\" : float32[]\n"
      "%2 = input \"p\" : bool[2]\n"
      "%3 = astype %0 {11} : float32[2]  # f.a\n"
      "%4 = broadcast_to %1 : float32[2]  # f.a\n"
      "%5 = add %3, %4 : float32[2]  # f.a\n"
      "%6 = astype %0 {11} : float32[2]  # f.b\n"
      "%7 = const 0x40000000 : float32[]  # 2.0 f.b\n"
      "%8 = broadcast_to %7 : float32[2]  # f.b\n"
      "%9 = divide %6, %8 : float32[2]  # f.b\n"
      "%10 = astype %0 {0} : bool[2]  # f.c\n"
      "%11 = astype %2 {7} : int32[2]  # f.c\n"
      "%12 = const 0x00000002 : int32[]  # 2 f.c\n"
      "%13 = broadcast_to %12 : int32[2]  # f.c\n"
      "%14 = where %10, %11, %13 : int32[2]  # f.c\n"
      "%15 = astype %0 {0} : bool[2]  # f.d\n"
      "%16 = logical_and %15, %2 : bool[2]  # f.d\n"
      "%17 = astype %2 {7} : int32[2]  # f.e\n"
      "%18 = sum %17 {0, 0} : int32[]  # f.e\n"
      "%19 = astype %0 {11} : float32[2]  # f.g\n"
      "%20 = mean %19 {0, 0} : float32[]  # f.g\n"
      "output \"a\" = %5\n"
      "output \"b\" = %9\n"
      "output \"c\" = %14\n"
      "output \"d\" = %16\n"
      "output \"e\" = %18\n"
      "output \"g\" = %20\n");
}

static void powers(void **state) {
  (void)state;
  TRACES(
      function(
          "x: float32, i: int32",
          "      a = x ** 2\n      b = x ** 0.5\n      c = x ** -0.5\n      d = x ** -1\n      e = x ** 1\n"
          "      g = i ** 2.0\n      h = -x ** 2",
          "[a, b, c, d, e, g, h]"),
      "graph f\n"
      "%0 = input \"x\" : float32[]\n"
      "%1 = input \"i\" : int32[]\n"
      "%2 = square %0 : float32[]  # f.a\n"
      "%3 = sqrt %0 : float32[]  # f.b\n"
      "%4 = rsqrt %0 : float32[]  # f.c\n"
      "%5 = reciprocal %0 : float32[]  # f.d\n"
      "%6 = astype %1 {11} : float32[]  # f.g#1\n"
      "%7 = square %6 : float32[]  # f.g\n"
      "%8 = square %0 : float32[]  # f.h#1\n"
      "%9 = negative %8 : float32[]  # f.h\n"
      "output \"a\" = %2\n"
      "output \"b\" = %3\n"
      "output \"c\" = %4\n"
      "output \"d\" = %5\n"
      "output \"e\" = %0\n"
      "output \"g\" = %7\n"
      "output \"h\" = %9\n");
  CONTAINS(function("x: \"float32[2, 2]\"", "      a = x @ x", "a"),
           "6:13: error: not supported yet: matmul");
  CONTAINS(function("x: \"float32[2, 2]\"", "      a = x @ transpose(x) @ reshape(x, [4])", "a"),
           "6:13: error: not supported yet: matmul");
  CONTAINS(function("x: \"float32[2, 2]\"", "      a = x @ reshape(x, [4])", "a"),
           "6:13: error: matmul: inner sizes 2 and 4 differ in [2, 2] @ [4]");
}

static void shapes(void **state) {
  (void)state;
  TRACES(
      function(
          "x: \"float32[2, 3, 1]\"",
          "      a = reshape(x, [3, -1])\n      b = transpose(x)\n      c = transpose(x, axes=[1, 0, -1])\n"
          "      d = squeeze(x)\n      e = expand_dims(d, [0, -1])\n      g = max(x, axis=[1, -3], "
          "keepdims=true)\n"
          "      h = reshape(x, [x.shape[1], x.size // x.shape[1]])\n      k = broadcast_to(d, [4, x.ndim - "
          "1, 3])\n"
          "      l = d[:, None]\n      n = x[...]",
          "[a, b, c, d, e, g, h, k, l, n]"),
      "graph f\n"
      "%0 = input \"x\" : float32[2, 3, 1]\n"
      "%1 = reshape %0 : float32[3, 2]  # f.a\n"
      "%2 = transpose %0 {2, 1, 0} : float32[1, 3, 2]  # f.b\n"
      "%3 = transpose %0 {1, 0, 2} : float32[3, 2, 1]  # f.c\n"
      "%4 = squeeze %0 {2} : float32[2, 3]  # f.d\n"
      "%5 = expand_dims %4 {0, 3} : float32[1, 2, 3, 1]  # f.e\n"
      "%6 = max %0 {1, 0, 1} : float32[1, 1, 1]  # f.g\n"
      "%7 = reshape %0 : float32[3, 2]  # f.h\n"
      "%8 = broadcast_to %4 : float32[4, 2, 3]  # f.k\n"
      "%9 = expand_dims %4 {1} : float32[2, 1, 3]  # f.l\n"
      "output \"a\" = %1\n"
      "output \"b\" = %2\n"
      "output \"c\" = %3\n"
      "output \"d\" = %4\n"
      "output \"e\" = %5\n"
      "output \"g\" = %6\n"
      "output \"h\" = %7\n"
      "output \"k\" = %8\n"
      "output \"l\" = %9\n"
      "output \"n\" = %0\n");
}

static void trees(void **state) {
  (void)state;
  TRACES("nuvec: 1\n"
         "types: {layer: {w: \"float32[2]\", b: float32}}\n"
         "functions:\n"
         "  f:\n"
         "    inputs: {p: {layers: {list: 2, of: layer}, a: float32}}\n"
         "    nodes:\n"
         "      - s = p.a\n"
         "      - for: l\n"
         "        in: p.layers\n"
         "        carry: [s]\n"
         "        do: s = s * l.w + l.b\n"
         "      - \"q = {s: s, t: [p.a, s]}\"\n"
         "      - q.t[0] = q.s + 1\n"
         "    outputs: {q: q, again: {b: [\"p.layers[-1].b\", 2]}}\n",
         "graph f\n"
         "%0 = input \"p.a\" : float32[]\n"
         "%1 = input \"p.layers[0].b\" : float32[]\n"
         "%2 = input \"p.layers[0].w\" : float32[2]\n"
         "%3 = input \"p.layers[1].b\" : float32[]\n"
         "%4 = input \"p.layers[1].w\" : float32[2]\n"
         "%5 = broadcast_to %0 : float32[2]  # f.s#1\n"
         "%6 = multiply %5, %2 : float32[2]  # f.s#1\n"
         "%7 = broadcast_to %1 : float32[2]  # f.s\n"
         "%8 = add %6, %7 : float32[2]  # f.s\n"
         "%9 = multiply %8, %4 : float32[2]  # f.s#1\n"
         "%10 = broadcast_to %3 : float32[2]  # f.s\n"
         "%11 = add %9, %10 : float32[2]  # f.s\n"
         "%12 = const 0x3f800000 : float32[]  # 1.0 f.\"q.t[0]\"\n"
         "%13 = broadcast_to %12 : float32[2]  # f.\"q.t[0]\"\n"
         "%14 = add %11, %13 : float32[2]  # f.\"q.t[0]\"\n"
         "%15 = const 0x00000002 : int32[]  # 2 f.\"again.b[1]\"\n"
         "output \"q.s\" = %11\n"
         "output \"q.t[0]\" = %14\n"
         "output \"q.t[1]\" = %11\n"
         "output \"again.b[0]\" = %3\n"
         "output \"again.b[1]\" = %15\n");
}

/* ---- static values ---- */

/* The one constant that an expression of statics ends as. */
static void constant(const char *expression, const char *want) {
  char nodes[256], line[256];
  snprintf(nodes, sizeof nodes, "      y = %s", expression);
  snprintf(line, sizeof line, "%%1 = const %s f.y\n", want);
  run(function("_x: \"float32[]\"", nodes, "y"), NUVECC_FORMAT_YAML, true);
  const char *at = strstr(told, "%1 = const ");
  if (!at || strncmp(at, line, strlen(line) - 5)) fail_msg("%s: wanted %s, got\n%s", expression, line, told);
}

static void statics(void **state) {
  (void)state;
  constant("1/3", "0x3eaaaaab : float32[]  # 0.33333334");
  constant("7//2", "0x00000003 : int32[]  # 3");
  constant("7//-2", "0xfffffffc : int32[]  # -4");
  constant("-7 % 3", "0x00000002 : int32[]  # 2");
  constant("7.5 // 2", "0x40400000 : float32[]  # 3.0");
  constant("-7.5 % 2", "0x3f000000 : float32[]  # 0.5");
  constant("2 ** 3 ** 2", "0x00000200 : int32[]  # 512");
  constant("2 ** -1", "0x3f000000 : float32[]  # 0.5");
  constant("16 ** 0.5", "0x40800000 : float32[]  # 4.0");
  constant("4 ** -0.5", "0x3f000000 : float32[]  # 0.5");
  constant("0.5 ** 8", "0x3b800000 : float32[]  # 0.00390625");
  constant("1 << 31", "0x0000000080000000 : int64[]  # 2147483648");
  constant("1 << 30", "0x40000000 : int32[]  # 1073741824");
  constant("true + 1", "0x00000002 : int32[]  # 2");
  constant("1 < 2 <= 2 and not 3 == 4", "0x01 : bool[]  # true");
  constant("1 < 2.5 and 2", "0x00000002 : int32[]  # 2");
  constant("false or 0", "0x00000000 : int32[]  # 0");
  constant("sqrt(2)", "0x3fb504f3 : float32[]  # 1.4142135");
  constant("max(1, 5, 2) + min([3, 4])", "0x00000008 : int32[]  # 8");
  constant("floor(-2.5) + ceil(2.5) + int(-2.5)", "0xfffffffe : int32[]  # -2");
  constant("abs(-3) + len(range(0, 10, 3)) + len(range(5, 0, -2))", "0x0000000a : int32[]  # 10");
  constant("0x10 + 0b11 + 1_000", "0x000003fb : int32[]  # 1019");
  constant("float32(0.1)", "0x3dcccccd : float32[]  # 0.1");
  constant("int32(-2147483648)", "0x80000000 : int32[]  # -2147483648");
  constant("bool(0.5)", "0x01 : bool[]  # true");
  constant("[1, 2, 3][1:][-1]", "0x00000003 : int32[]  # 3");
}

static void static_errors(void **state) {
  (void)state;
  SAYS(function("_x: float32", "      y = 9223372036854775807 + 1", "y"),
       "6:31: error: 9223372036854775807 + 1 overflows int64\n");
  SAYS(function("_x: float32", "      y = 1 // 0", "y"), "6:13: error: 1 // 0: division by zero\n");
  SAYS(function("_x: float32", "      y = 2 ** 0.25", "y"),
       "6:13: error: a static ** takes an integer exponent, 0.5 or -0.5, not 0.25\n");
  SAYS(function("_x: float32", "      y = sqrt(-1)", "y"), "6:11: error: root of the negative -1\n");
  SAYS(function("x: \"int32[3]\"", "      y = x + 2147483648", "y"),
       "6:15: error: 2147483648 is out of range for int32\n");
  SAYS(function("x: \"float32[3]\"", "      y = int(x)", "y"),
       "6:11: error: int takes a static number, not float32[3]; astype(x, int32) converts arrays\n");
  SAYS(function("x: \"float32[3]\"", "      y = float32(x)", "y"),
       "6:11: error: float32(...) makes a constant; an array is converted by astype(x, float32)\n");
  SAYS(function("x: \"float32[3]\"", "      y = x * 1e39", "y"),
       "6:15: warning: 1e+39 becomes infinite in float32\n");
}

/* ---- functions, entries, signatures ---- */

static void signatures(void **state) {
  (void)state;
  const char *spec = "nuvec: 1\n"
                     "functions:\n"
                     "  g:\n"
                     "    dtypes: {T: [int32, float32]}\n"
                     "    static: {k: 2, mode: {enum: [up, down]}}\n"
                     "    dims: {N: {min: 1, multiple_of: 2}}\n"
                     "    inputs: {x: \"T[N, 3]\", y: \"any[..., N]\"}\n"
                     "    nodes:\n"
                     "      - if: mode == 'up'\n"
                     "        then: z = x * k\n"
                     "        else: z = x - k\n"
                     "    outputs: {z: z, y: y}\n"
                     "entries:\n"
                     "  e: {function: g, signatures: [{N: 2, T: int32, mode: up, y: \"float32[5, 2]\"},\n"
                     "     {N: 4, T: float32, mode: down, k: 3, y: \"bool[4]\"}]}\n";
  TRACES(spec, "graph e\n"
               "%0 = input \"x\" : int32[2, 3]\n"
               "%1 = input \"y\" : float32[5, 2]\n"
               "%2 = const 0x00000002 : int32[]  # 2 g.z\n"
               "%3 = broadcast_to %2 : int32[2, 3]  # g.z\n"
               "%4 = multiply %0, %3 : int32[2, 3]  # g.z\n"
               "output \"z\" = %4\n"
               "output \"y\" = %1\n"
               "graph e\n"
               "%0 = input \"x\" : float32[4, 3]\n"
               "%1 = input \"y\" : bool[4]\n"
               "%2 = const 0x40400000 : float32[]  # 3.0 g.z\n"
               "%3 = broadcast_to %2 : float32[4, 3]  # g.z\n"
               "%4 = subtract %0, %3 : float32[4, 3]  # g.z\n"
               "output \"z\" = %4\n"
               "output \"y\" = %1\n");
}

static const char *with_signature(const char *signature) {
  static char text[2048];
  snprintf(
      text, sizeof text,
      "nuvec: 1\nfunctions:\n  f:\n    dims: {N: {min: 1, max: 8, multiple_of: 2}}\n    dtypes: {T: "
      "[float32]}\n"
      "    static: {k: {int: null}}\n    inputs: {x: \"T[N]\", y: \"any[...]\"}\n    outputs: [x * k, y]\n"
      "entries:\n  f: {signatures: [%s]}\n",
      signature);
  return text;
}

static void signature_errors(void **state) {
  (void)state;
  CONTAINS(with_signature("{N: 3, T: float32, k: 1, y: float32}"), "10:24: error: size 'N' is 3");
  CONTAINS(with_signature("{N: 10, T: float32, k: 1, y: float32}"), "10:24: error: size 'N' is 10");
  CONTAINS(with_signature("{N: 2, T: int32, k: 1, y: float32}"), "10:30: error: ");
  CONTAINS(with_signature("{N: 2, T: float32, k: 1.5, y: float32}"), "10:42: error: ");
  CONTAINS(with_signature("{N: 2, T: float32, y: float32}"), "10:20: error: ");
  CONTAINS(with_signature("{N: 2, k: 1}"),
           "10:20: error: entry 'f': the signature must fix 'T', the dtype of 'y', the rank of 'y'");
  CONTAINS(with_signature("{T: float32, k: 1, y: float32}"),
           "dim N 1..8\n%0 = input \"x\" : float32[N]\n");
  CONTAINS(with_signature("{N: \"?\", T: float32, k: 1, y: float32}"), "source N %0 0 1 0\nguard N%2 == 0\n");
}

static void generic_errors(void **state) {
  (void)state;
  const char *head =
      "nuvec: 1\nfunctions:\n"
      "  g: {dtypes: {T: [int32, float32]}, inputs: {v: \"T[N]\", w: \"T[N]\"}, outputs: v * w}\n"
      "  h: {inputs: {v: \"float[..., 2]\"}, outputs: v}\n"
      "  f:\n"
      "    inputs: {a: \"float32[3]\", b: \"float32[4]\", c: \"int32[3]\", d: \"bool[3]\"}\n";
  char text[2048];
#define CALL(node, want)                                                                                          \
  do {                                                                                                            \
    snprintf(text, sizeof text, "%s    nodes:\n      - y = %s\n    outputs: [y, a, b, c, d]\nentries: {f: {}}\n", \
             head, node);                                                                                         \
    SAYS(text, want);                                                                                             \
  } while (0)
  CALL("g(a, b)", "8:18: error: 'g': size 'N' is 3 in 'v', but 4 in 'w'\n3:58: note: input 'w' is declared here\n");
  CALL("g(a, c)",
       "8:18: error: 'g': input 'w' is int32, but 'T' is float32 in 'v'\n3:58: note: input 'w' is declared here\n");
  CALL("g(d, d)", "8:15: error: 'g': input 'v': 'T' doesn't allow bool\n3:47: note: input 'v' is declared here\n");
  CALL("g(a, 2)",
       "8:18: error: 'g': input 'w' is T[N] (rank 1), got the static 2\n3:58: note: input 'w' is declared here\n");
  CALL("g(a)", "8:13: error: 'g' needs its input 'w'\n3:3: note: function 'g' is declared here\n");
  CALL("g(a, a, a)", "8:21: error: 'g' takes 2 inputs, got 3\n3:3: note: function 'g' is declared here\n");
  CALL("g(a, u=a)", "8:18: error: 'g' has no input or static 'u'\n3:3: note: function 'g' is declared here\n");
  CALL("h(c)", "8:15: error: 'h': input 'v' is of class float, got int32\n4:16: note: input 'v' is declared here\n");
  CALL("h(a)", "8:15: error: 'h': input 'v': a size is 2, got 3\n4:16: note: input 'v' is declared here\n");
}

static void weak_through_calls(void **state) {
  (void)state;
  CONTAINS("nuvec: 1\nfunctions:\n"
           "  g: {inputs: {a: any, b: \"float[...]\"}, outputs: a / 3 * b}\n"
           "  f: {inputs: {x: \"float32[2]\"}, outputs: \"g(2, x)\"}\n",
           "%1 = const 0x3f2aaaab : float32[]  # 0.6666667");
  /* a declared dtype makes an array of it: the product is float32's, twice rounded */
  CONTAINS("nuvec: 1\nfunctions:\n"
           "  g: {inputs: {a: float32}, outputs: a * a}\n"
           "  f: {inputs: {x: \"float32[2]\"}, outputs: [x, g(0.1)]}\n",
           "%2 = multiply %1, %1 : float32[]");
}

static void composites(void **state) {
  (void)state;
  TRACES(function("x: \"float32[2]\"", "      y = leaky_relu(x, 0.25)", "y"),
         "graph f\n"
         "%0 = input \"x\" : float32[2]\n"
         "%1 = const 0x3e800000 : float32[]  # 0.25 f.y/leaky_relu.y#1\n"
         "%2 = broadcast_to %1 : float32[2]  # f.y/leaky_relu.y#1\n"
         "%3 = multiply %2, %0 : float32[2]  # f.y/leaky_relu.y#1\n"
         "%4 = maximum %3, %0 : float32[2]  # f.y/leaky_relu.y\n"
         "output \"y\" = %4\n");
  SAYS(function("x: \"bool[2]\"", "      y = softplus(x, x)", "y"),
       "6:23: error: 'softplus' takes 1 input, got 2\n");
  SAYS(function("x: \"bool[2]\"", "      y = log_sigmoid(x)", "y"),
       "6:11: error: 'log_sigmoid': negative has no bool form\n");
  /* a function of the document hides the built-in, but not inside itself */
  CONTAINS("nuvec: 1\nfunctions:\n"
           "  gelu: {inputs: {x: \"float32[2]\"}, nodes: [y = gelu(x) * 2], outputs: y}\n"
           "  f: {inputs: {x: \"float32[2]\"}, nodes: [y = gelu(x)], outputs: y}\n",
           "f.y/gelu.y#1/gelu.e");
  for (const char *const *name =
           (const char *const[]){"relu",         "relu6",      "relu2",     "leaky_relu",  "elu",
                                 "celu",         "selu",       "silu",      "gelu",        "gelu_approx",
                                 "gelu_fast",    "softplus",   "softsign",  "mish",        "log_sigmoid",
                                 "hard_sigmoid", "hard_swish", "hard_tanh", "hard_shrink", "softshrink",
                                 "step",         NULL};
       *name; name++) {
    char node[64];
    snprintf(node, sizeof node, "      y = %s(x)", *name);
    CONTAINS(function("x: \"float32[2]\"", node, "y"), "output \"y\"");
    CONTAINS(function("x: \"int32[2]\"", node, "y"), "output \"y\"");
  }
}

static double relu(double x) { return x > 0 ? x : 0; }
static double relu6(double x) { return fmin(relu(x), 6); }
static double relu2(double x) { return relu(x) * relu(x); }
static double leaky_relu(double x) { return x > 0 ? x : 0.01 * x; }
static double elu(double x) { return x > 0 ? x : exp(x) - 1; }
static double selu(double x) { return 1.0507 * (x > 0 ? x : 1.67326 * (exp(x) - 1)); }
static double silu(double x) { return x / (1 + exp(-x)); }
static double gelu(double x) { return x * (1 + erf(x / sqrt(2))) / 2; }
static double gelu_approx(double x) {
  return 0.5 * x * (1 + tanh(sqrt(2 / acos(-1)) * (x + 0.044715 * x * x * x)));
}
static double gelu_fast(double x) { return x / (1 + exp(-1.702 * x)); }
static double softplus(double x) { return log(1 + exp(x)); }
static double softsign(double x) { return x / (1 + fabs(x)); }
static double mish(double x) { return x * tanh(softplus(x)); }
static double log_sigmoid(double x) { return -log(1 + exp(-x)); }
static double hard_sigmoid(double x) { return fmin(fmax(x + 3, 0), 6) / 6; }
static double hard_swish(double x) { return x * hard_sigmoid(x); }
static double hard_tanh(double x) { return fmin(fmax(x, -1), 1); }
static double hard_shrink(double x) { return fabs(x) > 0.5 ? x : 0; }
static double softshrink(double x) { return x > 0.5 ? x - 0.5 : x < -0.5 ? x + 0.5 : 0; }
static double step(double x) { return x >= 0; }

static void composite_values(void **state) {
  (void)state;
  static const struct {
    const char *name;
    double (*f)(double);
  } rows[] = {{"relu(x)", relu},
              {"relu6(x)", relu6},
              {"relu2(x)", relu2},
              {"leaky_relu(x)", leaky_relu},
              {"prelu(x, float32(0.01))", leaky_relu},
              {"elu(x)", elu},
              {"celu(x)", elu},
              {"selu(x)", selu},
              {"silu(x)", silu},
              {"gelu(x)", gelu},
              {"gelu_approx(x)", gelu_approx},
              {"gelu_fast(x)", gelu_fast},
              {"softplus(x)", softplus},
              {"softsign(x)", softsign},
              {"mish(x)", mish},
              {"log_sigmoid(x)", log_sigmoid},
              {"hard_sigmoid(x)", hard_sigmoid},
              {"hard_swish(x)", hard_swish},
              {"hard_tanh(x)", hard_tanh},
              {"hard_shrink(x)", hard_shrink},
              {"softshrink(x)", softshrink},
              {"astype(step(x), float32)", step}};
  float got[POINTS];
  points = got;
  for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
    char node[64];
    snprintf(node, sizeof node, "      y = %s", rows[k].name);
    run(function("x: \"float32[13]\"", node, "y"), NUVECC_FORMAT_YAML, false);
    for (int i = 0; i < POINTS; i++) {
      const double want = rows[k].f((double)(i - 6) / 2);
      if (!(fabs(got[i] - want) <= 3e-6 * fmax(1, fabs(want))))
        fail_msg("%s at %g: %.9g, wanted %.9g", rows[k].name, (double)(i - 6) / 2, (double)got[i], want);
    }
  }
  points = NULL;
}

static void constants(void **state) {
  (void)state;
  TRACES("nuvec: 1\nconstants: {k: {value: 0.1, dtype: float32}}\nfunctions:\n"
         "  f:\n    inputs: {x: float32}\n    nodes:\n      - a = x * k\n"
         "      - {name: \"b/1\", op: add, inputs: [a, {const: \"nan\", dtype: float32}]}\n"
         "      - {name: c, op: add, inputs: [\"b/1\", {const: \"-3\", dtype: int32}]}\n"
         "      - d = c * float32(inf)\n"
         "    outputs: d\n",
         "graph f\n"
         "%0 = input \"x\" : float32[]\n"
         "%1 = const 0x3dcccccd : float32[]  # 0.1 f.a#1\n"
         "%2 = multiply %0, %1 : float32[]  # f.a\n"
         "%3 = const 0x7fc00000 : float32[]  # nan f.\"b/1\"#1\n"
         "%4 = add %2, %3 : float32[]  # f.\"b/1\"\n"
         "%5 = const 0xfffffffd : int32[]  # -3 f.c#1\n"
         "%6 = astype %5 {11} : float32[]  # f.c\n"
         "%7 = add %4, %6 : float32[]  # f.c\n"
         "%8 = const 0x7f800000 : float32[]  # inf f.d#1\n"
         "%9 = multiply %7, %8 : float32[]  # f.d\n"
         "output \"d\" = %9\n");
}

/* ---- statements ---- */

static void blocks(void **state) {
  (void)state;
  SAYS("nuvec: 1\nfunctions:\n  f:\n    static: {s: true}\n    inputs: {x: float32}\n    nodes:\n"
       "      - if: s\n        then: |\n          a = x\n          b = x\n        else: |\n          a = x * "
       "2\n"
       "      - c = a + 1\n      - d = b + 1\n    outputs: [c, d]\n",
       "14:13: error: unknown name 'b'\n");
  SAYS("nuvec: 1\nfunctions:\n  f:\n    inputs: {x: float32}\n    nodes:\n"
       "      - if: x > 0\n        then: a = x\n      - for: i\n        in: range(2)\n        carry: [q]\n   "
       "     do: q = x\n"
       "    outputs: a\n",
       "6:15: error: the condition of an if is static, not bool; where(condition, a, b) chooses element by element\n"
       "8:9: error: 'q' is carried, but not bound before the loop\n");
  SAYS(function("x: float32", "      h = x * 2\n      k = h + 1\n      h = exp(k)\n      x = k", "h"),
       "8:7: error: 'h' is bound already\n6:7: note: 'h' is bound here\n"
       "9:7: error: 'x' is bound already\n4:14: note: 'x' is bound here\n");
  CONTAINS("nuvec: 1\nfunctions:\n  f:\n    inputs: {x: float32}\n    nodes:\n      - y = x\n      - for: i\n"
           "        in: [2, 3.5]\n        carry: [y]\n        do: y = y * i\n    outputs: y\n",
           "# 3.5 f.y");
  SAYS(function("x: float32", "      a, b = exp(x)", "a"),
       "6:7: error: 2 names, but 'exp' gives 1 value (float32)\n6:10: warning: 'b' is never used\n");
}

/* ---- errors ---- */

static void errors(void **state) {
  (void)state;
  SAYS(function("x: \"float32[2, 3]\", z: \"float32[4]\"", "      a = exp(x)\n      y = a * 2 + z", "y"),
       "7:17: error: shapes [2, 3] and [4] don't broadcast\n");
  SAYS(function("x: \"float32[3]\"",
                "      a = foo(x)\n      b = a + 1\n      c = b * x\n      d = exq(x)\n      e = c + d", "e"),
       "6:11: error: unknown function 'foo'\n9:11: error: unknown function 'exq'; did you mean 'exp'?\n");
  SAYS(function("x: \"float32[3]\"", "      a = x + b\n      b = x * 2", "[a, b]"),
       "6:15: error: 'b' is used before it is bound\n");
  SAYS(function("x: \"float32[3]\"", "      y = 0 < x < 1", "y"),
       "6:17: error: a chain of comparisons is for static values; join two comparisons with 'and'\n");
  SAYS(function("x: \"float32[3]\"", "      y = -(x > 0)", "y"),
       "6:11: error: negative has no bool form; 'not' inverts\n");
  SAYS(function("x: \"float32[3, 4]\"", "      y = sum(x, axis=2)", "y"),
       "6:23: error: sum: axis 2 is out of range for rank 2\n");
  SAYS(function("x: \"float32[3, 4]\"", "      y = sum(x, axis=[0, -2])", "y"),
       "6:27: error: sum: axis -2 occurs twice\n");
  SAYS(function("x: \"float32[3, 4]\"", "      y = reshape(x, [5, -1])", "y"),
       "6:26: error: reshape: 12 elements don't divide by 5, so -1 has no value\n");
  SAYS(function("x: \"float32[3, 4]\"", "      y = reshape(x, [6])", "y"),
       "6:22: error: reshape: [3, 4] has 12 elements, [6] has 6\n");
  SAYS(function("x: \"float32[3]\"", "      y = exp(x, x)", "y"),
       "6:18: error: exp takes 1 operand, got 2\n");
  SAYS(function("x: \"float32[3]\"", "      y = maximum(x)", "y"), "6:11: error: maximum needs b\n");
  SAYS(function("x: \"float32[3]\"", "      y = sum(x, axes=0)", "y"),
       "6:18: error: sum has no attribute 'axes'; did you mean 'axis'?\n");
  SAYS(function("x: \"float32[3]\"", "      y = astype(x, float33)", "y"),
       "6:21: error: unknown name 'float33'; did you mean 'float32'?\n");
  SAYS(function("x: \"float32[3]\"", "      y = min(x, 0)", "y"),
       "6:18: warning: min(x, 0) reduces over axis 0; element by element it is minimum\n");
  SAYS(function("x: \"float32[0]\"", "      y = max(x)", "y"), "6:11: error: max of nothing: [0]\n");
  SAYS(function("p: {w1: float32, b1: float32}", "      y = p.w2", "y"),
       "6:13: error: 'p' has no field 'w2', only 'b1', 'w1'; did you mean 'w1'?\n");
  SAYS(function("x: \"float32[6]\"", "      y = x[::0]", "y"), "6:15: error: step 0 of a slice\n");
  SAYS(function("x: \"float32[6]\"", "      y = x[6]", "y"),
       "6:13: error: index 6 is out of range for axis 0 of float32[6]\n");
  SAYS(function("x: \"float32[6]\"", "      y = x[1, 2]", "y"), "6:12: error: too many indices: 2 for float32[6]\n");
  SAYS(function("x: \"uint8[6]\"", "      y = x * 300", "y"), "6:15: error: 300 is out of range for uint8\n");
  SAYS(function("x: \"complex64[6]\"", "      y = expm1(x)", "y"), "6:11: error: expm1 has no complex64 form\n");
  SAYS(function("x: \"float32[6]\"", "      y = round(x, decimals=0.5)", "y"),
       "6:29: error: round: 'decimals' must be an int, not the static 0.5\n");
  SAYS(function("x: \"float32[6]\"", "      y = nan_to_num(x, nan = None, posinf='a')", "y"),
       "6:44: error: nan_to_num: 'posinf' must be a static number, not the string 'a'\n");
  SAYS(function("x: \"float32[7]\"", "      y = view(x, int64)", "y"),
       "6:11: error: view: float32[7] doesn't hold a whole number of int64 along its last axis\n");
  SAYS(function("x: \"uint8[6]\"", "      q, r = divmod(x, 3)\n      y = q + r", "y"), "");
  SAYS(function("x: float32, u: float32", "      y = x\n      z = x", "y"),
       "4:26: warning: input 'u' is never used\n7:7: warning: 'z' is never used\n");
}

static void in_calls(void **state) {
  (void)state;
  /* one place, found by two calls and two signatures: reported once, with the first call that led there */
  SAYS("nuvec: 1\nfunctions:\n"
       "  g: {inputs: {u: \"any[...]\", v: \"any[...]\"}, nodes: [w = u + v], outputs: w}\n"
       "  f: {inputs: {x: \"float32[3]\", y: \"float32[N]\"}, nodes: [\"a = g(x, y)\", \"b = g(y, x)\"], "
       "outputs: [a, b]}\n"
       "entries: {f: {signatures: [{N: 4}, {N: 5}]}}\n",
       "3:61: error: shapes [3] and [4] don't broadcast\n4:64: note: in this call of 'g'\n");
}

static void limits(void **state) {
  (void)state;
  CONTAINS(function("x: float32", "      y = range(1048577)[0] * x", "y"),
           "error: range of more than 1048576 elements");
  CONTAINS("nuvec: 1\nfunctions:\n  f:\n    inputs: {x: float32}\n    nodes:\n      - for: i\n        in: "
           "range(1025)\n"
           "        carry: [x]\n        do:\n          - for: j\n            in: range(1024)\n            "
           "carry: [x]\n"
           "            do: x = x\n    outputs: x\n",
           "11:17: error: more than 1048576 iterations");
  CONTAINS(function("x: \"float32[16777217, 16777216]\"", "      y = x", "y"),
           "4:18: error: [16777217, 16777216] has more than 2^48 elements");
  CONTAINS(function("x: \"float32[16777217, 1]\", z: \"float32[16777216]\"", "      y = x + z", "y"),
           "6:13: error: [16777217, 16777216] has more than 2^48 elements");
  CONTAINS(function("x: float32", "      y = broadcast_to(x, [4294967296, 4294967296])", "y"),
           "error: broadcast_to: more than 2^48 elements");
  CONTAINS(function("x: \"float32[1, 1, 1, 1, 1, 1, 1, 1, 1]\"",
                    "      y = expand_dims(x, [0, 1, 2, 3, 4, 5, 6, 7])", "y"),
           "6:26: error: expand_dims: rank 17 is over the limit of 16");
}

/* ---- size ---- */

static void chain(void **state) {
  (void)state;
  enum { N = 20000 };
  char *text = malloc((size_t)N * 40 + 200), *p = text;
  p += sprintf(p, "nuvec: 1\nfunctions:\n  f:\n    inputs: {n0: \"float32[8]\"}\n    nodes: |\n");
  for (int i = 0; i < N; i++) p += sprintf(p, "      n%d = n%d * 0.5 + n0\n", i + 1, i);
  sprintf(p, "    outputs: n%d\n", N);
  run(text, NUVECC_FORMAT_YAML, true);
  free(text);
  char want[64];
  sprintf(want, "output \"n%d\" = %%%d\n", N, 4 * N);
  assert_non_null(strstr(told, want));
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(origins),
                                     cmocka_unit_test(calls),
                                     cmocka_unit_test(plain_is_text),
                                     cmocka_unit_test(promotion),
                                     cmocka_unit_test(powers),
                                     cmocka_unit_test(shapes),
                                     cmocka_unit_test(trees),
                                     cmocka_unit_test(statics),
                                     cmocka_unit_test(static_errors),
                                     cmocka_unit_test(signatures),
                                     cmocka_unit_test(signature_errors),
                                     cmocka_unit_test(generic_errors),
                                     cmocka_unit_test(weak_through_calls),
                                     cmocka_unit_test(composites),
                                     cmocka_unit_test(blocks),
                                     cmocka_unit_test(composite_values),
                                     cmocka_unit_test(constants),
                                     cmocka_unit_test(errors),
                                     cmocka_unit_test(in_calls),
                                     cmocka_unit_test(limits),
                                     cmocka_unit_test(chain)};
  const int failed = cmocka_run_group_tests_name("test_trace", tests, NULL, NULL);
  free(told);
  return failed;
}
