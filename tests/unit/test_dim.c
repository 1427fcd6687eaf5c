/* test_dim.c - size expressions: their normal form, simplification by bounds, and agreement with direct evaluation. */
#include "ir/dim.h"

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
  return 0;
}
static int teardown(void **state) {
  (void)state;
  nv_ctx_free(c);
  return 0;
}

static nv_dim num(int64_t v) { return nv_dim_const(c, v); }
static nv_dim sym(const char *name, int64_t min, int64_t max) {
  return nv_dim_symbol(c, nv_intern_z(c, name), min, max);
}
static nv_dim add(nv_dim a, nv_dim b) { return nv_dim_add(c, a, b); }
static nv_dim mul(nv_dim a, nv_dim b) { return nv_dim_mul(c, a, b); }
static nv_dim divide(nv_dim a, int64_t b) { return nv_dim_floordiv(c, a, num(b)); }
static nv_dim mod(nv_dim a, int64_t b) { return nv_dim_mod(c, a, num(b)); }
static const char *text(nv_dim d) {
  nv_buf b;
  nv_buf_init(&b, c);
  nv_put_dim(&b, d);
  return nv_buf_text(&b);
}
static void is(nv_dim d, const char *want) { assert_string_equal(text(d), want); }

#define RAISES(expression, text_)                                  \
  do {                                                             \
    c->door_open = true;                                           \
    if (setjmp(c->door) == 0) {                                    \
      (void)(expression);                                          \
      c->door_open = false;                                        \
      fail_msg("nothing was raised");                              \
    }                                                              \
    assert_int_equal(c->raised, NUVECC_SPEC);                      \
    assert_string_equal(c->fault, text_);                          \
  } while (0)

static void sums(void **state) {
  (void)state;
  nv_dim b = sym("B", 0, 1024), n = sym("n", 0, 1024);
  int64_t v;
  is(num(0), "0");
  is(num(-3), "-3");
  is(add(mul(num(2), b), num(1)), "2*B + 1");
  is(add(num(1), mul(b, num(2))), "2*B + 1");
  assert_int_equal(add(add(b, n), num(1)), add(num(1), add(n, b)));
  is(mul(add(b, num(1)), add(b, num(-1))), "B*B - 1");
  is(mul(add(b, n), add(b, n)), "B*B + 2*B*n + n*n");
  is(nv_dim_sub(c, b, b), "0");
  is(nv_dim_sub(c, num(0), b), "-B");
  is(nv_dim_sub(c, num(1), mul(b, n)), "-B*n + 1");
  assert_true(nv_dim_is_const(c, nv_dim_sub(c, add(b, num(7)), b), &v) && v == 7);
  assert_false(nv_dim_is_const(c, b, &v));
  assert_int_equal(nv_dim_value(c, mul(num(6), num(7))), 42);
  assert_int_not_equal(sym("B", 5, 6), b); /* other bounds, another symbol */
  int64_t min, max;
  nv_dim_bounds(c, add(mul(num(-2), b), num(1)), &min, &max);
  assert_int_equal(min, -2047);
  assert_int_equal(max, 1);
  nv_dim_bounds(c, sym("free", INT64_MIN, INT64_MAX), &min, &max);
  assert_true(min == INT64_MIN && max == INT64_MAX);
  is(sym("x.0", 0, 9), "x.0");
  is(sym("x[0]", 0, 9), "\"x[0]\"");
  is(sym(".x", 0, 9), "\".x\"");
}

static void divisions(void **state) {
  (void)state;
  nv_dim i = sym("i", 0, 999), j = sym("j", 0, 7), k = sym("k", 0, 3), n = sym("N", 0, INT64_MAX);
  nv_dim ij = add(mul(num(8), i), j);
  assert_int_equal(divide(ij, 8), i);
  assert_int_equal(mod(ij, 8), j);
  is(divide(add(n, num(3)), 4), "(N + 3)//4");
  is(mod(add(n, num(3)), 4), "(N + 3)%4");
  assert_int_equal(divide(n, 1), n);
  is(mod(n, 1), "0");
  is(divide(j, 8), "0");
  assert_int_equal(mod(j, 8), j);
  is(divide(add(n, num(8)), 8), "N//8 + 1");
  is(divide(add(n, num(-1)), 8), "(N + 7)//8 - 1");
  is(divide(add(mul(num(9), i), j), 8), "i + (i + j)//8");
  is(mod(add(mul(num(9), i), j), 8), "(i + j)%8");
  is(divide(add(mul(num(4), i), k), 8), "i//2");
  is(mod(add(mul(num(4), i), k), 8), "k + 4*(i%2)");
  is(divide(add(mul(num(32), i), add(mul(num(4), j), k)), 16), "2*i + j//4");
  is(divide(divide(n, 3), 4), "N//12");
  is(divide(add(divide(n, 3), num(1)), 4), "(N + 3)//12");
  is(mod(mod(n, 12), 4), "N%4");
  is(mod(add(mod(n, 12), j), 4), "(N + j)%4");
  is(divide(mod(n, 12), 4), "(N//4)%3");
  /* a quotient and its rest make the whole again, in any order and nested */
  assert_int_equal(add(mul(num(8), divide(n, 8)), mod(n, 8)), n);
  assert_int_equal(add(mod(n, 8), mul(num(8), divide(n, 8))), n);
  nv_dim digits[3] = {mul(num(12), divide(n, 12)), mul(num(4), mod(divide(n, 4), 3)), mod(n, 4)};
  static const int orders[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
  for (int o = 0; o < 6; o++)
    assert_int_equal(add(add(digits[orders[o][0]], digits[orders[o][1]]), digits[orders[o][2]]), n);
  nv_dim s = add(mul(num(9), i), j);
  assert_int_equal(add(mul(num(24), divide(s, 8)), mul(num(3), mod(s, 8))), mul(num(3), s));
  /* the divisor's sign */
  is(divide(n, -4), "(-N)//4");
  is(mod(n, -4), "-((-N)%4)");
  assert_int_equal(nv_dim_value(c, divide(num(7), -2)), -4);
  assert_int_equal(nv_dim_value(c, mod(num(7), -2)), -1);
  assert_int_equal(nv_dim_value(c, divide(num(-7), 2)), -4);
  assert_int_equal(nv_dim_value(c, mod(num(-7), 2)), 1);
  /* divisors that aren't known */
  nv_dim b = sym("B1", 1, 1024);
  assert_int_equal(nv_dim_floordiv(c, mul(num(512), b), b), num(512));
  is(nv_dim_floordiv(c, mul(mul(num(6), b), n), mul(num(2), b)), "3*N");
  is(nv_dim_mod(c, mul(num(512), b), b), "0");
  is(nv_dim_floordiv(c, n, b), "N//B1");
  is(nv_dim_mod(c, add(n, num(1)), add(b, num(1))), "(N + 1)%(B1 + 1)");
  is(nv_dim_floordiv(c, j, sym("big", 8, 99)), "0");
  assert_int_equal(nv_dim_mod(c, j, sym("big", 8, 99)), j);
  is(mul(num(2), divide(n, 3)), "2*(N//3)");
  is(mul(divide(n, 3), b), "B1*(N//3)");
  int64_t min, max;
  nv_dim_bounds(c, mod(n, 5), &min, &max);
  assert_true(min == 0 && max == 4);
  nv_dim_bounds(c, divide(i, 10), &min, &max);
  assert_true(min == 0 && max == 99);
}

static void choices(void **state) {
  (void)state;
  nv_dim i = sym("i", 0, 999), j = sym("j", 0, 7), n = sym("N", 0, INT64_MAX), one = num(1);
  assert_int_equal(nv_dim_min(c, j, num(7)), j);
  assert_int_equal(nv_dim_max(c, j, num(7)), num(7));
  assert_int_equal(nv_dim_min(c, n, add(n, num(3))), n);
  assert_int_equal(nv_dim_max(c, n, add(n, num(3))), add(n, num(3)));
  is(nv_dim_min(c, n, num(5)), "min(N, 5)");
  assert_int_equal(nv_dim_min(c, i, n), nv_dim_min(c, n, i));
  is(nv_dim_max(c, i, mul(num(2), j)),
     nv_dim_max(c, mul(num(2), j), i) ? text(nv_dim_max(c, mul(num(2), j), i)) : "");
  assert_int_equal(nv_dim_bcast(c, n, one), n);
  assert_int_equal(nv_dim_bcast(c, one, n), n);
  assert_int_equal(nv_dim_bcast(c, n, n), n);
  assert_int_equal(nv_dim_bcast(c, one, one), one);
  is(nv_dim_bcast(c, n, i), "bcast(N, i)");
  assert_int_equal(nv_dim_bcast(c, i, n), nv_dim_bcast(c, n, i));
  is(divide(nv_dim_min(c, n, num(100)), 200), "0");
  assert_true(nv_dim_differ(c, n, add(n, one)));
  assert_true(nv_dim_differ(c, num(2), num(3)));
  assert_false(nv_dim_differ(c, n, i));
  assert_true(nv_dim_differ(c, j, num(8)));
}

static void parts(void **state) {
  (void)state;
  nv_dim i = sym("i", 0, 999), j = sym("j", 0, 7), n = sym("N", 0, INT64_MAX);
  nv_dim d = add(add(mul(num(3), mul(i, j)), mul(num(-2), divide(n, 5))), num(9));
  int64_t coef;
  const uint32_t *atoms;
  uint32_t natoms;
  assert_int_equal(nv_dim_nterms(c, d), 3);
  nv_dim_term(c, d, 0, &coef, &atoms, &natoms);
  assert_true(coef == 3 && natoms == 2);
  assert_string_equal(nv_text(c, nv_dim_atom(c, atoms[0])->name), "i");
  nv_dim_term(c, d, 1, &coef, &atoms, &natoms);
  assert_true(coef == -2 && natoms == 1);
  const nv_atom *a = nv_dim_atom(c, atoms[0]);
  assert_true(a->kind == NV_ATOM_FLOORDIV && a->a == n && a->b == num(5));
  nv_dim_term(c, d, 2, &coef, &atoms, &natoms);
  assert_true(coef == 9 && natoms == 0);
  assert_int_equal(nv_dim_nterms(c, num(0)), 0);

  nv_dim rest;
  assert_true(nv_dim_uses(c, d, i) && nv_dim_uses(c, d, n) && !nv_dim_uses(c, d, sym("other", 0, 1)));
  nv_dim e = add(add(mul(num(4096), i), j), divide(n, 2));
  assert_true(nv_dim_linear(c, e, i, &coef, &rest));
  assert_int_equal(coef, 4096);
  assert_int_equal(rest, add(j, divide(n, 2)));
  assert_false(nv_dim_linear(c, e, n, &coef, &rest));
  assert_false(nv_dim_linear(c, d, i, &coef, &rest)); /* in a product */
  assert_true(nv_dim_linear(c, d, sym("other", 0, 1), &coef, &rest));
  assert_true(coef == 0 && rest == d);

  /* replaced and normalised again, at once for all symbols */
  assert_int_equal(nv_dim_replace(c, e, &n, &(nv_dim){mul(num(2), i)}, 1), add(mul(num(4097), i), j));
  nv_dim swap[2] = {j, i}, both[2] = {i, j};
  assert_int_equal(nv_dim_replace(c, add(mul(num(3), i), j), both, swap, 2), add(mul(num(3), j), i));
  is(nv_dim_replace(c, divide(add(mul(num(3), n), num(1)), 5), &n, &(nv_dim){num(8)}, 1), "5");
  assert_int_equal(nv_dim_replace(c, e, &(nv_dim){sym("other", 0, 1)}, &i, 1), e);
  nv_dim view = add(mul(num(8), mod(n, 4)), divide(n, 4)); /* of 4 x 8 */
  nv_dim at = add(mul(num(4), i), sym("k", 0, 3));
  is(nv_dim_replace(c, view, &n, &at, 1), "i + 8*k");
}

static void limits(void **state) {
  (void)state;
  nv_dim n = sym("N", 0, INT64_MAX), big = num(INT64_MAX);
  RAISES(add(big, num(1)), "a size expression overflows 64 bits");
  RAISES(mul(mul(num(INT64_C(1) << 40), n), num(INT64_C(1) << 40)), "a size expression overflows 64 bits");
  RAISES(divide(n, 0), "a size expression divides by zero");
  RAISES(mod(num(3), 0), "a size expression divides by zero");
  RAISES(divide(num(3), INT64_MIN), "a size expression overflows 64 bits");
  nv_dim power = n;
  for (int k = 1; k < 64; k++) power = mul(power, n);
  RAISES(mul(power, n), "a size expression has a product of more than 64 factors");
  nv_dim sum = num(0);
  for (int k = 0; k < 80; k++) {
    char name[16];
    snprintf(name, sizeof name, "s%d", k);
    sum = add(sum, sym(name, 0, 9));
  }
  RAISES(mul(sum, sum), "a size expression has more than 4096 terms");
  is(num(INT64_MIN), "-9223372036854775808");
  assert_int_equal(nv_dim_value(c, divide(num(INT64_MIN), 2)), INT64_MIN / 2);

  /* written out, each step doubles it; here it stays small, and goes on quickly */
  nv_dim d = n;
  for (int k = 0; k < 200; k++) d = add(d, divide(mul(d, num(3)), 7 + k));
  assert_int_equal(nv_dim_size(c, d), UINT32_MAX);
  RAISES(text(d), "a size expression is too long: more than 65536 parts");
  int64_t v;
  assert_true(nv_dim_eval(c, nv_dim_replace(c, d, &n, &(nv_dim){num(0)}, 1), NULL, NULL, 0, &v));
  assert_int_equal(v, 0);
}

/* Many nested divisions: no recursion, no blow-up. */
static void depth(void **state) {
  (void)state;
  nv_dim n = sym("N", 0, 1 << 30), d = n;
  for (int k = 0; k < 20000; k++) d = nv_dim_max(c, mod(add(d, num(k)), 1000003 + k), num(k % 17));
  int64_t v;
  assert_true(nv_dim_eval(c, d, &n, &(int64_t){12345}, 1, &v));
  nv_dim e = nv_dim_replace(c, d, &n, &(nv_dim){num(12345)}, 1);
  assert_int_equal(nv_dim_value(c, e), v);
  assert_true(nv_dim_uses(c, d, n));
}

/* ---- normal form = direct evaluation ---- */

static uint64_t seed = 88172645463325252u;
static uint32_t rnd(uint32_t n) {
  seed ^= seed << 13;
  seed ^= seed >> 7;
  seed ^= seed << 17;
  return (uint32_t)(seed >> 33) % n;
}

#define NSYM 5
#define NODES 14
static const int64_t low[NSYM] = {0, 0, 1, -20, 0}, high[NSYM] = {7, 31, 6, 20, 1000};

typedef struct step {
  int kind; /* 0 symbol, 1 number, 2 + … */
  int a, b;
  int64_t v;
} step;

/* Python's // and %. */
static int64_t floor_div(int64_t a, int64_t b) {
  int64_t q = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? q - 1 : q;
}

static bool direct(const step *s, int n, const int64_t *symbols, int64_t *out) {
  int64_t v[NODES];
  for (int k = 0; k < n; k++) {
    int64_t a = k ? v[s[k].a] : 0, b = k ? v[s[k].b] : 0;
    switch (s[k].kind) {
    case 0: v[k] = symbols[s[k].v]; break;
    case 1: v[k] = s[k].v; break;
    case 2:
      if (!nv_add64(a, b, &v[k])) return false;
      break;
    case 3:
      if (!nv_sub64(a, b, &v[k])) return false;
      break;
    case 4:
      if (!nv_mul64(a, b, &v[k])) return false;
      break;
    case 5:
      if (b == 0) return false;
      v[k] = floor_div(a, b);
      break;
    case 6:
      if (b == 0) return false;
      v[k] = a - b * floor_div(a, b);
      break;
    case 7: v[k] = a < b ? a : b; break;
    case 8: v[k] = a > b ? a : b; break;
    default:
      if (a != b && a != 1 && b != 1) return false;
      v[k] = a == 1 ? b : a;
    }
    if (v[k] > INT64_C(1) << 40 || v[k] < -(INT64_C(1) << 40)) return false; /* far from any overflow */
  }
  *out = v[n - 1];
  return true;
}

static nv_dim symbols[NSYM];

static void build(step *s, nv_dim *d, int n) {
  static const int64_t numbers[] = {1, 2, 3, 4, 6, 8, 12, 16, 32, 5, 7, 0, -1, -8, 64, 100};
  static const int often[] = {2, 5, 6, 4}; /* more divisions and sums: the index arithmetic of views */
  for (int k = 0; k < n; k++) {
    int kind = k < 2 ? (int)rnd(2) : (int)rnd(14);
    if (kind >= 10) kind = often[kind - 10];
    s[k] = (step){kind, k ? (int)rnd((uint32_t)k) : 0, k ? (int)rnd((uint32_t)k) : 0, 0};
    nv_dim a = k ? d[s[k].a] : 0, b = k ? d[s[k].b] : 0;
    int64_t v;
    if ((kind == 5 || kind == 6) && nv_dim_is_const(c, b, &v) && v == 0) s[k].kind = 2;
    switch (s[k].kind) {
    case 0: s[k].v = rnd(NSYM), d[k] = symbols[s[k].v]; break;
    case 1: s[k].v = numbers[rnd(16)], d[k] = num(s[k].v); break;
    case 2: d[k] = nv_dim_add(c, a, b); break;
    case 3: d[k] = nv_dim_sub(c, a, b); break;
    case 4: d[k] = nv_dim_mul(c, a, b); break;
    case 5: d[k] = nv_dim_floordiv(c, a, b); break;
    case 6: d[k] = nv_dim_mod(c, a, b); break;
    case 7: d[k] = nv_dim_min(c, a, b); break;
    case 8: d[k] = nv_dim_max(c, a, b); break;
    default: d[k] = nv_dim_bcast(c, a, b);
    }
  }
}

/* false: an overflow was raised. */
static bool try_build(step *s, nv_dim *d, int n) {
  c->door_open = true;
  if (setjmp(c->door)) return false;
  build(s, d, n);
  c->door_open = false;
  return true;
}

static void property(void **state) {
  (void)state;
  uint32_t compared = 0, inside = 0;
  for (int k = 0; k < NSYM; k++) {
    const char name[3] = {'p', (char)('0' + k), 0};
    symbols[k] = sym(name, low[k], high[k]);
  }
  for (int round = 0; round < 20000; round++) {
    step s[NODES];
    nv_dim d[NODES];
    int n = 3 + (int)rnd(NODES - 3);
    if (!try_build(s, d, n)) continue;
    for (int t = 0; t < 12; t++) {
      int64_t values[NSYM], want, got, min, max;
      nv_dim to[NSYM];
      for (int k = 0; k < NSYM; k++) {
        values[k] = t == 0   ? low[k]
                    : t == 1 ? high[k]
                             : low[k] + (int64_t)rnd((uint32_t)(high[k] - low[k] + 1));
        to[k] = num(values[k]);
      }
      if (!direct(s, n, values, &want)) continue;
      if (!nv_dim_eval(c, d[n - 1], symbols, values, NSYM, &got)) fail_msg("%s has no value", text(d[n - 1]));
      if (got != want)
        fail_msg("%s at %lld %lld %lld %lld %lld: %lld, want %lld", text(d[n - 1]), (long long)values[0],
                 (long long)values[1], (long long)values[2], (long long)values[3], (long long)values[4],
                 (long long)got, (long long)want);
      nv_dim_bounds(c, d[n - 1], &min, &max);
      assert_true((min == INT64_MIN || min <= got) && (max == INT64_MAX || got <= max));
      if (max < INT64_MAX) inside++;
      compared++;
      if (t < 4) assert_int_equal(nv_dim_value(c, nv_dim_replace(c, d[n - 1], symbols, to, NSYM)), want);
      if (t == 4) { /* half of the symbols now, the others later */
        nv_dim part = nv_dim_replace(c, d[n - 1], symbols, to, 2);
        assert_true(nv_dim_eval(c, part, symbols + 2, values + 2, NSYM - 2, &got));
        assert_int_equal(got, want);
      }
    }
  }
  assert_true(compared > 50000 && inside > 10000);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(sums),     cmocka_unit_test(divisions), cmocka_unit_test(choices),
      cmocka_unit_test(parts),    cmocka_unit_test(limits),    cmocka_unit_test(depth),
      cmocka_unit_test(property),
  };
  return cmocka_run_group_tests_name("dim", tests, setup, teardown);
}
