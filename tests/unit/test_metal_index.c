/* test_metal_index.c - index arithmetic of kernels: division by constants, texts, and random expressions whose text
 * is evaluated again. */
#include "emit/metal.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

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

/* ---- division by constants ---- */

static uint64_t mulhi64(uint64_t a, uint64_t b) { /* nv_mulhi64 of prims.metal */
  const uint64_t low = (a & 0xffffffffu) * (b & 0xffffffffu), middle = (a >> 32) * (b & 0xffffffffu) + (low >> 32);
  const uint64_t other = (a & 0xffffffffu) * (b >> 32) + (middle & 0xffffffffu);
  return (a >> 32) * (b >> 32) + (middle >> 32) + (other >> 32);
}

static uint64_t divisor_random(uint64_t *seed) {
  *seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return *seed >> 11;
}

static void magic32(uint32_t d) {
  const uint64_t most = (UINT64_C(1) << 31) - 1;
  const nv_magic m = nv_magic32(d);
  assert_true(m.multiplier <= UINT32_MAX);
  uint64_t seed = d;
  for (int k = 0; k < 400; k++) {
    uint64_t n = divisor_random(&seed) & most;
    if (k < 16)
      n = (uint64_t)k;
    else if (k < 32)
      n = most - (uint64_t)(k - 16);
    else if (k < 200)
      n = n - n % d + (uint64_t)k % 3 - 1; /* next to a multiple */
    else if (k < 220)
      n = most / d * d + (uint64_t)(k - 210);
    if (n > most) continue;
    const uint64_t q = (n * m.multiplier >> 32) >> m.shift;
    if (q != n / d) fail_msg("%" PRIu64 " / %" PRIu32 " gives %" PRIu64, n, d, q);
  }
}
static void magic64(uint64_t d) {
  const uint64_t most = (UINT64_C(1) << 63) - 1;
  const nv_magic m = nv_magic64(d);
  uint64_t seed = d;
  for (int k = 0; k < 400; k++) {
    uint64_t n = (divisor_random(&seed) << 11 | divisor_random(&seed)) & most;
    if (k < 16)
      n = (uint64_t)k;
    else if (k < 32)
      n = most - (uint64_t)(k - 16);
    else if (k < 200)
      n = n - n % d + (uint64_t)k % 3 - 1;
    else if (k < 220)
      n = most / d * d + (uint64_t)(k - 210);
    if (n > most) continue;
    const uint64_t q = mulhi64(n, m.multiplier) >> m.shift;
    if (q != n / d) fail_msg("%" PRIu64 " / %" PRIu64 " gives %" PRIu64, n, d, q);
  }
}

static void divisions(void **state) {
  (void)state;
  for (uint32_t d = 3; d < 4000; d++) {
    if (!(d & (d - 1))) continue;
    magic32(d);
    magic64(d);
  }
  for (int bit = 3; bit < 63; bit++)
    for (int64_t off = -3; off <= 3; off++) {
      const uint64_t d = (UINT64_C(1) << bit) + (uint64_t)off;
      if (!(d & (d - 1))) continue;
      if (d < UINT64_C(1) << 31) magic32((uint32_t)d);
      if (d < UINT64_C(1) << 63) magic64(d);
    }
  uint64_t seed = 1;
  for (int k = 0; k < 3000; k++) {
    const uint64_t d = divisor_random(&seed) >> (k % 40);
    if (d < 3 || !(d & (d - 1))) continue;
    if (d < UINT64_C(1) << 31) magic32((uint32_t)d);
    magic64(d);
  }
}

/* ---- index arithmetic ---- */

/* Evaluates what the emitter writes: declarations `uint q = …;` and one expression, at values of the iteration
 * variables. */
typedef struct machine {
  const char *p;
  const char *names[32];
  uint64_t values[32];
  bool wide[32];
  int n;
} machine;
typedef struct number {
  uint64_t v;
  bool wide;
} number;

static number expression(machine *m);
static bool sign(machine *m, const char *text) {
  while (*m->p == ' ' || *m->p == '\n') m->p++;
  if (strncmp(m->p, text, strlen(text))) return false;
  m->p += strlen(text);
  return true;
}
static number cut(uint64_t v, bool wide) { return (number){wide ? v : (uint32_t)v, wide}; }
static number primary(machine *m) {
  if (sign(m, "(")) {
    number x = expression(m);
    assert_true(sign(m, ")"));
    return x;
  }
  if (sign(m, "ulong(int(")) {
    number x = expression(m);
    assert_true(sign(m, "))"));
    assert_false(x.wide);
    return (number){(uint64_t)(int64_t)(int32_t)(uint32_t)x.v, true};
  }
  if (sign(m, "uint(") || sign(m, "ulong(")) {
    const bool wide = m->p[-5] == 'l' || m->p[-2] == 'g';
    number x = expression(m);
    assert_true(sign(m, ")"));
    return cut(x.v, wide);
  }
  static const char *const calls[] = {"metal::mulhi(", "nv_mulhi64(", "metal::min(", "metal::max("};
  for (int k = 0; k < 4; k++) {
    if (!sign(m, calls[k])) continue;
    number a = expression(m);
    assert_true(sign(m, ","));
    number b = expression(m);
    assert_true(sign(m, ")"));
    assert_int_equal(a.wide, b.wide); /* else the call is ambiguous */
    if (k == 0) assert_false(a.wide);
    if (k == 1) assert_true(a.wide);
    if (k == 0) return cut(a.v * b.v >> 32, false);
    if (k == 1) return cut(mulhi64(a.v, b.v), true);
    return (a.v < b.v) == (k == 2) ? a : b;
  }
  while (*m->p == ' ') m->p++;
  if (*m->p >= '0' && *m->p <= '9') {
    char *end;
    number x = {strtoull(m->p, &end, 10), false};
    m->p = end;
    if (sign(m, "ul"))
      x.wide = true;
    else
      sign(m, "u");
    if (!x.wide) assert_true(x.v <= UINT32_MAX);
    return x;
  }
  const size_t n = strspn(m->p, "abcdefghijklmnopqrstuvwxyz_0123456789");
  for (int k = 0; k < m->n; k++)
    if (strlen(m->names[k]) == n && !memcmp(m->names[k], m->p, n)) {
      m->p += n;
      return (number){m->values[k], m->wide[k]};
    }
  fail_msg("unknown name: %s", m->p);
  return (number){0, false};
}
static number product(machine *m) {
  number x = primary(m);
  while (sign(m, "*")) {
    number y = primary(m);
    x = cut(x.v * y.v, x.wide || y.wide);
  }
  return x;
}
static number sum(machine *m) {
  number x = product(m);
  for (;;) {
    if (sign(m, "+")) {
      number y = product(m);
      x = cut(x.v + y.v, x.wide || y.wide);
    } else if (sign(m, "-")) {
      number y = product(m);
      x = cut(x.v - y.v, x.wide || y.wide);
    } else {
      return x;
    }
  }
}
static number shift(machine *m) {
  number x = sum(m);
  while (sign(m, ">>")) {
    number y = sum(m);
    x.v >>= y.v;
  }
  return x;
}
static number expression(machine *m) {
  number x = shift(m);
  while (sign(m, "&")) {
    number y = shift(m);
    x = cut(x.v & y.v, x.wide || y.wide);
  }
  return x;
}
static uint64_t evaluate(machine *m, const char *declarations, const char *text) {
  const int before = m->n;
  char *copy = nv_format(c, "%s", declarations);
  char *save = NULL;
  for (char *line = strtok_r(copy, ";", &save); line; line = strtok_r(NULL, ";", &save)) {
    line += strspn(line, " \n");
    if (line[0] == '/') { /* the comment behind the declaration before */
      line = strchr(line, '\n');
      if (!line) continue;
      line += strspn(line, " \n");
    }
    if (!*line) continue;
    m->wide[m->n] = !strncmp(line, "ulong ", 6);
    char *name = strchr(line, ' ') + 1, *equals = strchr(name, ' ');
    *equals = 0;
    m->p = equals + 3;
    number x = expression(m);
    if (*m->p) fail_msg("%s is left of\n%s", m->p, declarations);
    m->names[m->n] = name;
    m->values[m->n] = cut(x.v, m->wide[m->n]).v;
    m->n++;
  }
  m->p = text;
  number x = expression(m);
  assert_int_equal(*m->p, 0);
  m->n = before;
  return x.v;
}

/* A dim's value, directly. */
static int64_t value_of(nv_dim d, const nv_dim *symbols, const int64_t *values, uint32_t n) {
  nv_dim constants[4];
  for (uint32_t k = 0; k < n; k++) constants[k] = nv_dim_const(c, values[k]);
  return nv_dim_value(c, nv_dim_replace(c, d, symbols, constants, n));
}

static nv_dim number_dim(int64_t v) { return nv_dim_const(c, v); }

static const char *index_text(nv_dim d, const nv_dim *symbols, const char *const *names, uint32_t n,
                              const char **declarations) {
  nv_names s;
  nv_index x;
  nv_buf b = buffer();
  nv_names_init(&s, c);
  nv_index_init(&x, c, &s);
  for (uint32_t k = 0; k < n; k++) nv_index_symbol(&x, symbols[k], nv_names_take(&s, names[k]));
  nv_index_want(&x, d, false);
  nv_index_declare(&x, &b, 0, NV_NONE);
  *declarations = taken(&b);
  const char *text = nv_index_text(&x, d);
  nv_index_drop(&x);
  nv_names_drop(&s);
  return text;
}

static void index_texts(void **state) {
  (void)state;
  const nv_dim i = nv_dim_index(c, nv_intern_z(c, "s0"), number_dim(100)),
               j = nv_dim_index(c, nv_intern_z(c, "s1"), number_dim(512));
  const nv_dim symbols[] = {i, j};
  const char *const names[] = {"row", "col"};
  const char *declarations;
#define IS(d, before, text)                                                     \
  do {                                                                          \
    assert_string_equal(index_text(d, symbols, names, 2, &declarations), text); \
    assert_string_equal(declarations, before);                                  \
  } while (0)
  IS(number_dim(0), "", "0");
  IS(i, "", "row");
  const nv_dim flat = nv_dim_add(c, nv_dim_mul(c, i, number_dim(512)), j);
  IS(flat, "", "row * 512u + col");
  IS(nv_dim_sub(c, number_dim(99), i), "", "99u - row");
  IS(nv_dim_floordiv(c, nv_dim_add(c, j, i), number_dim(8)), "", "(row + col) >> 3");
  IS(nv_dim_mod(c, j, number_dim(8)), "", "col & 7u");
  IS(nv_dim_add(c, nv_dim_mul(c, nv_dim_mod(c, j, number_dim(8)), number_dim(100)), i), "",
     "(col & 7u) * 100u + row");
  IS(nv_dim_floordiv(c, j, number_dim(3)), "uint q = metal::mulhi(col, 2863311531u) >> 1; // col / 3\n", "q");
  IS(nv_dim_mod(c, j, number_dim(3)), "uint q = metal::mulhi(col, 2863311531u) >> 1; // col / 3\n", "col - q * 3u");
  IS(nv_dim_min(c, j, number_dim(200)), "", "metal::min(col, 200u)");
  IS(nv_dim_mul(c, j, number_dim(INT64_C(1) << 33)), "", "ulong(col) * 8589934592ul");
#undef IS
}

static void open_texts(void **state) {
  (void)state;
  const char *declarations;
  const nv_dim B = nv_dim_symbol(c, nv_intern_z(c, "B"), 0, INT64_MAX),
               N = nv_dim_symbol(c, nv_intern_z(c, "N"), 0, 1000);
  const nv_dim i = nv_dim_index(c, nv_intern_z(c, "s0"), B), j = nv_dim_index(c, nv_intern_z(c, "s1"), N);
  const nv_dim symbols[] = {i, j}, one = number_dim(1);
  static const char *const names[] = {"row", "col"};
#define IS(d, declared, text)                                                                                         \
  do {                                                                                                                \
    assert_string_equal(index_text(d, symbols, names, 2, &declarations), text);                                       \
    assert_string_equal(declarations, declared);                                                                      \
  } while (0)
  const nv_dim at = nv_dim_add(c, nv_dim_mul(c, i, N), j);
  IS(at, "", "ulong(row) * sizes.N + ulong(col)");
  IS(nv_dim_mul(c, i, nv_dim_add(c, nv_dim_mul(c, N, number_dim(2)), one)), "", "ulong(row) * sizes.n0");
  IS(nv_dim_sub(c, nv_dim_sub(c, N, one), j), "", "uint(sizes.n0) - col");
  IS(nv_dim_floordiv(c, at, N), "", "row");
  IS(nv_dim_mod(c, at, N), "", "col");
  IS(nv_dim_floordiv(c, i, N), "ulong q = ulong(row / uint(sizes.N));\n", "q");
  IS(nv_dim_floordiv(c, j, nv_dim_add(c, N, number_dim(-2))), "uint q = col / uint(sizes.n0);\n", "q");
#undef IS
  RAISES(index_text(nv_dim_floordiv(c, nv_dim_sub(c, j, i), number_dim(3)), symbols, names, 2, &declarations),
         "not supported yet");
}

/* Random expressions against their own evaluation, with small and with large extents. */
static void index_values(void **state) {
  (void)state;
  uint64_t seed = 42;
#define PICK(n) ((int64_t)((divisor_random(&seed) >> 20) % (uint64_t)(n)))
  for (int round = 0; round < 3000; round++) {
    const int64_t big = round % 4 == 3 ? INT64_C(1) << 30 : 3000;
    const int64_t extents[3] = {1 + PICK(big), 1 + PICK(big), 1 + PICK(round % 8 == 7 ? 8 : 64)};
    nv_dim symbols[3], pool[12];
    for (uint32_t k = 0; k < 3; k++)
      pool[k] = symbols[k] =
          nv_dim_index(c, nv_intern_z(c, nv_format(c, "r%d.%u", round, (unsigned)k)), number_dim(extents[k]));
    static const int64_t divisors[] = {2, 3, 4, 5, 7, 8, 10, 16, 24, 96, 100, 512, 1000, 1024, 4099};
    uint32_t n = 3;
    for (; n < 9; n++) {
      const nv_dim a = pool[PICK(n)], b = pool[PICK(n)];
      const nv_dim d = number_dim(divisors[PICK(15)]);
      switch (PICK(7)) {
      case 0: pool[n] = nv_dim_add(c, a, nv_dim_mul(c, b, number_dim(PICK(50)))); break;
      case 1: pool[n] = nv_dim_add(c, nv_dim_sub(c, a, b), number_dim(PICK(100))); break;
      case 2: pool[n] = nv_dim_floordiv(c, a, d); break;
      case 3: pool[n] = nv_dim_mod(c, a, d); break;
      case 4:
        pool[n] = nv_dim_add(c, nv_dim_mul(c, nv_dim_mod(c, a, d), number_dim(7)), nv_dim_floordiv(c, b, d));
        break;
      case 5: pool[n] = nv_dim_min(c, a, b); break;
      default: pool[n] = nv_dim_max(c, a, nv_dim_sub(c, b, d)); break;
      }
      int64_t lo, hi;
      nv_dim_bounds(c, pool[n], &lo, &hi);
      if (lo < -(INT64_C(1) << 40) || hi > INT64_C(1) << 40) pool[n] = a;
    }
    nv_dim d = pool[n - 1];
    int64_t lo, hi;
    nv_dim_bounds(c, d, &lo, &hi);
    if (lo < 0) d = nv_dim_sub(c, d, number_dim(lo)); /* an offset is never negative */
    static const char *const names[] = {"slab", "row", "col"};
    const char *declarations, *text = index_text(d, symbols, names, 3, &declarations);
    assert_null(strchr(text, '%'));
    for (int point = 0; point < 20; point++) {
      int64_t values[3];
      machine m = {.n = 3};
      for (int k = 0; k < 3; k++) {
        values[k] = point == 0 ? 0 : point == 1 ? extents[k] - 1 : PICK(extents[k]);
        m.names[k] = names[k];
        m.values[k] = (uint64_t)values[k];
      }
      const int64_t want = value_of(d, symbols, values, 3);
      const uint64_t got = evaluate(&m, declarations, text);
      if (got != (uint64_t)want)
        fail_msg("at %" PRId64 ", %" PRId64 ", %" PRId64 ": %" PRId64 ", not %" PRIu64 ", is the value of\n%s%s",
                 values[0], values[1], values[2], want, got, declarations, text);
    }
  }
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
int main(void) {
  const struct CMUnitTest tests[] = {TEST(divisions), TEST(index_texts), TEST(open_texts), TEST(index_values)};
  return cmocka_run_group_tests_name("test_metal_index", tests, NULL, NULL);
}
