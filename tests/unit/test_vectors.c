/* test_vectors.c - the evaluator against tests/vectors (README there says the format): every file, every
 * case, both subnormal modes, whole arrays through nv_eval and single values through nv_eval_scalar. */
#include "ir/eval.h"

#include <jansson.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

enum { MOST = 3 }; /* operands */

typedef struct tally {
  unsigned cases, values, refused, wrong;
} tally;

/* One case, decoded. */
typedef struct vcase {
  nv_op op;
  const char *name;
  uint32_t n; /* operands */
  nv_dtype dtypes[MOST], out;
  size_t length; /* elements an operand */
  uint64_t *in[MOST];
  const json_t *json, *bounds;
  bool reduction;
} vcase;

static nv_dtype dtype_of(const json_t *name) {
  const char *text = json_string_value(name);
  const int d = nv_dtype_find(text, strlen(text));
  assert_true(d >= 0);
  return (nv_dtype)d;
}

/* In memory and in nv_eval_scalar a complex64's real part is the low half; in the files it stands first. */
static uint64_t pattern(nv_dtype d, const char *text) {
  const uint64_t u = strtoull(text, NULL, 16);
  return d == NV_C64 ? u >> 32 | u << 32 : u;
}

/* ---- generated inputs ---- */

static unsigned mantissa_of(nv_dtype d) { return d == NV_F16 ? 10 : d == NV_BF16 ? 7 : 23; }

static uint64_t generated(const json_t *gen, nv_dtype d, uint32_t s) {
  const char *kind = json_string_value(json_object_get(gen, "kind"));
  const uint64_t u = (uint32_t)(UINT32_C(2654435769) * s) >> 16;
  const unsigned w = 8u * nv_dtype_size[d], m = mantissa_of(d);
#define INT(key) ((uint64_t)json_integer_value(json_object_get(gen, key)))
  if (strcmp(kind, "exp") == 0) {
    const uint64_t sign = json_is_true(json_object_get(gen, "signs")) || INT("signs") ? s >> 31 : 0;
    uint64_t mantissa = (s >> (31 - m)) & ((UINT64_C(1) << m) - 1);
    const json_t *mask = json_object_get(gen, "mask");
    if (json_is_string(mask))
      mantissa &= strtoull(json_string_value(mask), NULL, 16);
    else if (mask)
      mantissa &= INT("mask");
    return sign << (w - 1) | (INT("lo") + (u * INT("n") >> 16)) << m | mantissa;
  }
  if (strcmp(kind, "near") == 0)
    return strtoull(json_string_value(json_object_get(gen, "base")), NULL, 16) +
           (u * (INT("below") + INT("above")) >> 16) - INT("below");
  if (strcmp(kind, "const") == 0) return strtoull(json_string_value(json_object_get(gen, "bits")), NULL, 16);
  assert_string_equal(kind, "int");
  uint64_t x = w == 64 ? s * UINT64_C(0x9E3779B97F4A7C15) : s >> (32 - w);
  const uint64_t mask = w == 64 ? UINT64_MAX : (UINT64_C(1) << w) - 1;
  const uint64_t shift = INT("shift");
  if (nv_is(d, NV_BITS_SIGNED) && x >> (w - 1)) x |= ~mask; /* arithmetic shift */
  x = shift == 0 ? x : nv_is(d, NV_BITS_SIGNED) && x >> 63 ? ~(~x >> shift) : x >> shift;
  return (x | INT("or")) & mask;
#undef INT
}

static void read_inputs(vcase *c) {
  const json_t *lists = json_object_get(c->json, "in"), *gen = json_object_get(c->json, "gen"), *patch, *p;
  size_t i;
  if (lists) {
    c->length = json_array_size(json_array_get(lists, 0));
    for (uint32_t k = 0; k < c->n; k++) {
      c->in[k] = calloc(c->length + 1, sizeof *c->in[k]);
      json_array_foreach(json_array_get(lists, k), i, p) c->in[k][i] =
          pattern(c->dtypes[k], json_string_value(p));
    }
    return;
  }
  c->length = (size_t)json_integer_value(json_object_get(c->json, "length"));
  c->in[0] = calloc(c->length + 1, sizeof *c->in[0]);
  uint32_t s = (uint32_t)json_integer_value(json_object_get(gen, "seed"));
  for (i = 0; i < c->length; i++) {
    s = UINT32_C(1664525) * s + UINT32_C(1013904223);
    c->in[0][i] = generated(gen, c->dtypes[0], s);
  }
  patch = json_object_get(c->json, "patch");
  json_array_foreach(patch, i, p) c->in[0][json_integer_value(json_array_get(p, 0))] =
      pattern(c->dtypes[0], json_string_value(json_array_get(p, 1)));
}

/* ---- the graph of a case ---- */

static nv_value convert(nv_graph *g, nv_value v, nv_dtype to) {
  if (nv_dtype_of(g, v) == to) return v;
  const int64_t attr = to;
  return nv_graph_add(g, NV_OP_astype, &v, 1, nv_attr_make(g->c, &attr, 1), to, nv_shape_at(g, v), NV_NONE);
}

/* op on operands converted as its row asks; NV_NONE where the row's domain says "not yet". */
static nv_value apply(nv_graph *g, nv_op op, nv_value *v, uint32_t n, nv_attr attr, nv_dtype out,
                      nv_shape shape) {
  const nv_op_info *info = &nv_ops[op];
  const uint32_t first = info->dtype == NV_DT_SELECT ? 1 : 0;
  nv_dtype d = nv_dtype_of(g, v[first]);
  for (uint32_t k = first + 1; k < n; k++) d = nv_promote(d, nv_dtype_of(g, v[k]));
  if (info->dtype == NV_DT_FLOAT || info->dtype == NV_DT_PROMOTE_FLOAT || info->dtype == NV_DT_MEAN)
    d = nv_at_least_float(d);
  if (info->dtype == NV_DT_LOGICAL) d = NV_BOOL;
  if (info->dtype == NV_DT_SHIFT && d == NV_BOOL) d = NV_U8;
  if (info->dtype == NV_DT_CUMSUM && d == NV_BOOL) d = NV_I32;
  if (!nv_is(d, info->domain) || (op == NV_OP_astype && !nv_is(out, info->domain))) return NV_NONE;
  if (first) v[0] = convert(g, v[0], NV_BOOL);
  for (uint32_t k = first; k < n; k++) v[k] = convert(g, v[k], d);
  return nv_graph_add(g, op, v, n, attr, out, shape, NV_NONE);
}

static nv_graph *build(nv_ctx *ctx, const vcase *c) {
  nv_graph *g = nv_graph_new(ctx, nv_intern_z(ctx, c->name));
  const int64_t length = (int64_t)c->length, reduce_all[2] = {0, 0}, to = c->out;
  const nv_shape shape = nv_shape_of_ints(ctx, &length, 1);
  nv_value v[MOST], r;
  if (json_object_get(json_object_get(c->json, "attrs"), "decimals"))
    return NULL; /* trace expands it */
  if (c->out == NV_C64 || (nv_ops[c->op].cls == NV_EXPAND && c->op != NV_OP_clip)) return NULL;
  if (c->op == NV_OP_view && nv_dtype_size[c->dtypes[0]] != nv_dtype_size[c->out]) return NULL;
  for (uint32_t k = 0; k < c->n; k++) {
    if (c->dtypes[k] == NV_C64) return NULL; /* tests/run_vectors.py compares the parts of complex64 */
    v[k] = nv_graph_input(g, nv_intern_z(ctx, "x"), c->dtypes[k], shape, NV_NOWHERE);
  }
  if (c->op == NV_OP_clip) { /* minimum(maximum(x, min), max) in the promoted dtype */
    nv_dtype d = c->dtypes[0];
    for (uint32_t k = 1; k < c->n; k++) d = nv_promote(d, c->dtypes[k]);
    r = convert(g, v[0], d);
    for (uint32_t k = 1; k < c->n; k++) {
      const char *bound = json_string_value(json_array_get(c->bounds, k - 1));
      nv_value pair[2] = {r, v[k]};
      r = apply(g, strcmp(bound, "min") == 0 ? NV_OP_maximum : NV_OP_minimum, pair, 2, NV_NO_ATTR, d, shape);
    }
  } else if (c->reduction) {
    r = apply(g, c->op, v, 1, nv_attr_make(ctx, reduce_all, 2), c->out, nv_shape_of_ints(ctx, NULL, 0));
  } else if (nv_ops[c->op].cls == NV_SCAN) {
    const json_t *attrs = json_object_get(c->json, "attrs");
    const int64_t form[3] = {0, json_is_true(json_object_get(attrs, "reverse")),
                             !json_is_true(json_object_get(attrs, "inclusive"))};
    r = apply(g, c->op, v, 1, nv_attr_make(ctx, form, 3), c->out, shape);
  } else {
    r = apply(g, c->op, v, c->n, c->op == NV_OP_astype ? nv_attr_make(ctx, &to, 1) : NV_NO_ATTR, c->out,
              shape);
  }
  if (r == NV_NONE) return NULL;
  nv_graph_output(g, r, nv_intern_z(ctx, "y"), NV_NOWHERE);
  return g;
}

static void put(nv_dtype d, void *to, uint64_t bits) {
  for (unsigned k = 0; k < nv_dtype_size[d]; k++) ((uint8_t *)to)[k] = (uint8_t)(bits >> 8 * k);
}
static uint64_t get(nv_dtype d, const void *from) {
  uint64_t bits = 0;
  for (unsigned k = 0; k < nv_dtype_size[d]; k++) bits |= (uint64_t)((const uint8_t *)from)[k] << 8 * k;
  return bits;
}

static void evaluate(const vcase *c, const nv_graph *g, uint64_t *results, size_t nresults, bool flush) {
  nuvecc_tensor in[MOST] = {{0}}, out = {0};
  for (uint32_t k = 0; k < c->n; k++) {
    const size_t size = nv_dtype_size[c->dtypes[k]];
    in[k].bytes = c->length * size;
    in[k].data = malloc(in[k].bytes + 1);
    for (size_t i = 0; i < c->length; i++) put(c->dtypes[k], (char *)in[k].data + i * size, c->in[k][i]);
  }
  out.bytes = nresults * nv_dtype_size[c->out];
  out.data = malloc(out.bytes + 1);
  nv_eval(g, in, &out, flush);
  for (size_t i = 0; i < nresults; i++)
    results[i] = get(c->out, (char *)out.data + i * nv_dtype_size[c->out]);
  for (uint32_t k = 0; k < c->n; k++) free(in[k].data);
  free(out.data);
}

/* ---- comparison ---- */

static bool is_nan(nv_dtype d, uint64_t u) { return nv_is(d, NV_BITS_FLOAT) && isnan(nv_bits_to_f32(d, u)); }

/* Its number among the values of d: zeros 0, then by size. In flush mode there are no subnormals. */
static int64_t place(nv_dtype d, uint64_t u, bool flush) {
  const unsigned w = 8u * nv_dtype_size[d], m = mantissa_of(d);
  int64_t p = (int64_t)(u & ((UINT64_C(1) << (w - 1)) - 1));
  if (flush && d != NV_F16) p = p < (INT64_C(1) << m) ? 0 : p - (INT64_C(1) << m) + 1;
  return u >> (w - 1) ? -p : p;
}

static bool near(nv_dtype d, uint64_t got, const char *token, double ulp, bool flush) {
  if (strcmp(token, "any") == 0) return true;
  if (strcmp(token, "nan") == 0) return is_nan(d, got);
  const uint64_t want = strtoull(token, NULL, 16);
  if (got == want) return true;
  if (!nv_is(d, NV_BITS_FLOAT) || is_nan(d, got) || is_nan(d, want)) return false;
  const float x = nv_bits_to_f32(d, got), y = nv_bits_to_f32(d, want);
  if (x == 0 && y == 0) return false; /* signs differ */
  const int64_t distance = place(d, got, flush) - place(d, want, flush);
  return (double)(distance < 0 ? -distance : distance) <= ulp;
}

static bool matches(nv_dtype d, uint64_t got, const char *tokens, double ulp, bool flush) {
  char one[64];
  for (const char *p = tokens; *p;) {
    const size_t n = strcspn(p, "|");
    assert_true(n < sizeof one);
    memcpy(one, p, n);
    one[n] = 0;
    if (near(d, got, one, ulp, flush)) return true;
    p += n + (p[n] == '|');
  }
  return false;
}

static void compare(const vcase *c, const uint64_t *got, size_t n, const json_t *want, bool flush,
                    const char *way, tally *t) {
  const json_t *ulp = json_object_get(c->json, "ulp");
  for (size_t i = 0; i < n; i++) {
    const char *token = json_string_value(json_array_get(want, i));
    const double allowed = json_number_value(json_is_array(ulp) ? json_array_get(ulp, i) : ulp);
    t->values++;
    if (matches(c->out, got[i], token, allowed, flush)) continue;
    if (t->wrong++ < 20) {
      print_message("%s %s", c->name, nv_dtype_name[c->dtypes[0]]);
      for (uint32_t k = 1; k < c->n; k++) print_message(", %s", nv_dtype_name[c->dtypes[k]]);
      print_message(" -> %s, %s, %s, value %zu of %zu:", nv_dtype_name[c->out], flush ? "flush" : "keep", way,
                    i, n);
      for (uint32_t k = 0; k < c->n && !c->reduction; k++)
        print_message(" %llx", (unsigned long long)c->in[k][i]);
      print_message(" gives %llx, wanted %s\n", (unsigned long long)got[i], token);
    }
  }
}

static void run_case(nv_ctx *ctx, vcase *c, tally *t) {
  if (json_is_true(json_object_get(c->json, "error"))) return; /* infer's and trace's to refuse */
  read_inputs(c);
  const nv_graph *g = build(ctx, c);
  if (!g) {
    t->refused++;
    return;
  }
  t->cases++;
  const json_t *want = json_object_get(c->json, "want"), *ftz = json_object_get(c->json, "want_ftz");
  const size_t n = c->reduction ? 1 : c->length;
  uint64_t *got = calloc(n + 1, sizeof *got);
  for (int flush = 0; flush < 2; flush++) {
    const json_t *tokens = json_array_get(flush && ftz ? ftz : want, 0);
    assert_int_equal(json_array_size(tokens), n);
    evaluate(c, g, got, n, flush);
    compare(c, got, n, tokens, flush, "array", t);
    const nv_node_rec *last = &g->nodes[g->nnodes - 1];
    if (nv_ops[last->op].cls != NV_ELEM || last->noperands != c->n || g->nnodes != c->n + 1) continue;
    for (size_t i = 0; i < n; i++) { /* no conversions: the op alone */
      uint64_t bits[MOST];
      for (uint32_t k = 0; k < c->n; k++) bits[k] = c->in[k][i];
      got[i] = nv_eval_scalar((nv_op)last->op, c->dtypes, c->out, bits, c->n, flush);
    }
    compare(c, got, n, tokens, flush, "scalar", t);
  }
  free(got);
}

static void run_file(const char *name, nv_op op, tally *t) {
  char path[256];
  json_error_t e;
  snprintf(path, sizeof path, "tests/vectors/%s.json", name);
  json_t *file = json_load_file(path, 0, &e);
  if (!file) fail_msg("%s:%d: %s", path, e.line, e.text);
  const json_t *cases = json_object_get(file, "cases"), *j, *d;
  size_t i, k;
  json_array_foreach(cases, i, j) {
    nv_ctx *ctx = nv_ctx_new(NULL);
    nv_dims_init(ctx);
    nv_graph_tables_init(ctx);
    vcase c = {.op = op, .name = name, .json = j};
    c.bounds = json_object_get(json_object_get(j, "attrs"), "bounds");
    c.reduction = nv_ops[op].cls == NV_REDUCE;
    json_array_foreach(json_object_get(j, "dtypes"), k, d) c.dtypes[c.n++] = dtype_of(d);
    c.out = dtype_of(json_array_get(json_object_get(j, "out"), 0));
    run_case(ctx, &c, t);
    for (k = 0; k < MOST; k++) free(c.in[k]);
    nv_ctx_free(ctx);
  }
  json_decref(file);
}

static void vectors(void **state) {
  (void)state;
  tally total = {0};
  unsigned files = 0;
  for (int op = 0; op < NV_NOPS; op++) {
    char path[256];
    snprintf(path, sizeof path, "tests/vectors/%s.json", nv_ops[op].name);
    FILE *f = fopen(path, "r");
    if (!f) continue;
    fclose(f);
    tally t = {0};
    run_file(nv_ops[op].name, (nv_op)op, &t);
    if (t.wrong || t.refused)
      print_message("%s: %u cases, %u values, %u wrong; %u cases left to run_vectors.py\n",
                    nv_ops[op].name, t.cases, t.values, t.wrong, t.refused);
    files++;
    total.cases += t.cases;
    total.values += t.values;
    total.refused += t.refused;
    total.wrong += t.wrong;
  }
  print_message("%u files, %u cases, %u values, %u wrong; %u cases left to run_vectors.py\n", files,
                total.cases, total.values, total.wrong, total.refused);
  assert_true(files > 60);
  assert_int_equal(total.wrong, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(vectors)};
  return cmocka_run_group_tests_name("test_vectors", tests, NULL, NULL);
}
