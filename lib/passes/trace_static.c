/* trace_static.c - tracing: arithmetic on static values (nuvec-spec(5), "Static values") and their way into a dtype. */
#include "trace.h"

#include <math.h>

/* ---- literals ---- */

/* Sign and magnitude of an integer literal; false: beyond 64 bits. */
static bool magnitude(const char *text, bool *negative, uint64_t *m) {
  *negative = *text == '-';
  if (*text == '-' || *text == '+') text++;
  unsigned base = 10;
  if (text[0] == '0' && (text[1] == 'x' || text[1] == 'X'))
    base = 16, text += 2;
  else if (text[0] == '0' && (text[1] == 'b' || text[1] == 'B'))
    base = 2, text += 2;
  *m = 0;
  for (; *text; text++) {
    const char ch = *text;
    const unsigned digit = ch <= '9' ? (unsigned)(ch - '0') : (unsigned)((ch | 32) - 'a') + 10;
    if (*m > (UINT64_MAX - digit) / base) return false;
    *m = *m * base + digit;
  }
  return true;
}

static bool signed_value(bool negative, uint64_t m, int64_t *v) {
  if (negative && m == (uint64_t)1 << 63)
    *v = INT64_MIN;
  else if (m > INT64_MAX)
    return false;
  else
    *v = negative ? -(int64_t)m : (int64_t)m;
  return true;
}

static nvt_val make_complex(nvt *t, double re, double im) {
  double *z = NV_NEW_N(t->c, double, 2);
  z[0] = re;
  z[1] = im;
  return (nvt_val){.kind = NVT_COMPLEX, .u = {.z = z}};
}

nvt_val nvt_literal(nvt *t, nv_ast a) {
  const nv_ast_node *n = nvt_at(t, a);
  const char *text = n->text == NV_NONE ? "" : nv_text(t->c, n->text);
  switch ((nv_ast_kind)n->kind) {
  case NV_AST_INT: {
    bool negative;
    uint64_t m;
    int64_t v;
    if (magnitude(text, &negative, &m) && signed_value(negative, m, &v)) return nvt_int(v);
    nvt_error(t, n->pos, "%s is out of range for int64; a uint64 is written uint64(...)",
              nv_shown(t->c, text, strlen(text)));
    return nvt_poison();
  }
  case NV_AST_FLOAT: {
    const double v = strtod(text, NULL);
    if (isinf(v) && !strchr(text, 'i')) nvt_warn(t, n->pos, "%s becomes infinite", nv_shown(t->c, text, strlen(text)));
    return nvt_float(v);
  }
  case NV_AST_IMAG: return make_complex(t, 0, strtod(text, NULL));
  case NV_AST_STRING: return nvt_string(n->text);
  case NV_AST_BOOL: return nvt_bool(n->op != 0);
  case NV_AST_DTYPE: return nvt_dtype((nv_dtype)n->op);
  case NV_AST_ELLIPSIS: return (nvt_val){.kind = NVT_ELLIPSIS, .u = {0}};
  default: return nvt_none();
  }
}

/* ---- arithmetic ---- */

static double as_double(nvt_val v) {
  return v.kind == NVT_FLOAT ? v.u.f : v.kind == NVT_BOOL ? v.u.b : (double)v.u.i;
}
static int64_t as_int(nvt_val v) { return v.kind == NVT_BOOL ? v.u.b : v.u.i; }
static bool real_number(nvt_val v) { return nvt_is_number(v) && v.kind != NVT_COMPLEX; }

bool nvt_truth(nvt_val v) {
  switch (v.kind) {
  case NVT_BOOL: return v.u.b;
  case NVT_INT: return v.u.i != 0;
  case NVT_FLOAT: return v.u.f != 0;
  case NVT_COMPLEX: return v.u.z[0] != 0 || v.u.z[1] != 0;
  case NVT_NONE: return false;
  default: return true;
  }
}

static nvt_val overflow(nvt *t, nv_operator op, nvt_val a, nvt_val b, nv_pos pos) {
  nvt_error(t, pos, "%s %s %s overflows int64", nvt_show_number(t, a), nv_operator_text[op],
            nvt_show_number(t, b));
  return nvt_poison();
}

static nvt_val by_zero(nvt *t, nvt_val a, nv_operator op, nv_pos pos) {
  nvt_error(t, pos, "%s %s 0: division by zero", nvt_show_number(t, a), nv_operator_text[op]);
  return nvt_poison();
}

static int64_t floor_divide(int64_t a, int64_t b) {
  const int64_t q = a / b;
  return a % b && (a % b < 0) != (b < 0) ? q - 1 : q;
}

static nvt_val power(nvt *t, nvt_val a, nvt_val b, nv_pos pos) {
  if (b.kind == NVT_FLOAT) {
    const double e = b.u.f;
    if (fabs(e) == 0.5) {
      const double root = sqrt(as_double(a));
      if (as_double(a) < 0) {
        nvt_error(t, pos, "root of the negative %s", nvt_show_number(t, a));
        return nvt_poison();
      }
      if (e < 0 && root == 0) return by_zero(t, nvt_int(1), NV_OPR_DIV, pos);
      return nvt_float(e > 0 ? root : 1 / root);
    }
    if (!(fabs(e) < 0x1p53) || floor(e) != e) {
      nvt_error(t, pos, "a static ** takes an integer exponent, 0.5 or -0.5, not %s", nvt_show_number(t, b));
      return nvt_poison();
    }
    a = nvt_float(as_double(a));
    b = nvt_int((int64_t)e);
  }
  const int64_t n = as_int(b);
  const uint64_t m = n < 0 ? 0 - (uint64_t)n : (uint64_t)n;
  if (n < 0 && as_double(a) == 0) return by_zero(t, nvt_int(1), NV_OPR_DIV, pos);
  if (n < 0) return nvt_float(1 / nv_power_double(as_double(a), m));
  if (a.kind == NVT_FLOAT) return nvt_float(nv_power_double(a.u.f, m));
  int64_t r = 1, x = as_int(a);
  for (uint64_t k = m; k; k >>= 1) {
    if ((k & 1) && !nv_mul64(r, x, &r)) return overflow(t, NV_OPR_POW, a, b, pos);
    if (k > 1 && !nv_mul64(x, x, &x)) return overflow(t, NV_OPR_POW, a, b, pos);
  }
  return nvt_int(r);
}

static nvt_val of_ints(nvt *t, nv_operator op, nvt_val a, nvt_val b, nv_pos pos) {
  const int64_t x = as_int(a), y = as_int(b);
  int64_t r = 0;
  switch (op) {
  case NV_OPR_ADD: return nv_add64(x, y, &r) ? nvt_int(r) : overflow(t, op, a, b, pos);
  case NV_OPR_SUB: return nv_sub64(x, y, &r) ? nvt_int(r) : overflow(t, op, a, b, pos);
  case NV_OPR_MUL: return nv_mul64(x, y, &r) ? nvt_int(r) : overflow(t, op, a, b, pos);
  case NV_OPR_DIV: return y ? nvt_float((double)x / (double)y) : by_zero(t, a, op, pos);
  case NV_OPR_FLOORDIV:
    if (!y) return by_zero(t, a, op, pos);
    return x == INT64_MIN && y == -1 ? overflow(t, op, a, b, pos) : nvt_int(floor_divide(x, y));
  case NV_OPR_MOD:
    if (!y) return by_zero(t, a, op, pos);
    return nvt_int(y == -1 ? 0 : x - y * floor_divide(x, y));
  case NV_OPR_SHL:
  case NV_OPR_SHR:
    if (y < 0) {
      nvt_error(t, pos, "negative shift count %lld", (long long)y);
      return nvt_poison();
    }
    if (op == NV_OPR_SHR) return nvt_int(y > 62 ? (x < 0 ? -1 : 0) : floor_divide(x, INT64_C(1) << y));
    if (x == 0) return nvt_int(0);
    return y <= 62 && nv_mul64(x, INT64_C(1) << y, &r) ? nvt_int(r) : overflow(t, op, a, b, pos);
  case NV_OPR_BAND: return nvt_int((int64_t)((uint64_t)x & (uint64_t)y));
  case NV_OPR_BOR: return nvt_int((int64_t)((uint64_t)x | (uint64_t)y));
  case NV_OPR_BXOR: return nvt_int((int64_t)((uint64_t)x ^ (uint64_t)y));
  default: nv_bug(t->c, "static operator %d", (int)op);
  }
}

static nvt_val no_form(nvt *t, nv_operator op, nvt_val a, nvt_val b, nv_pos pos) {
  nvt_error(t, pos, "'%s' has no form for %s and %s", nv_operator_text[op], nvt_show(t, a), nvt_show(t, b));
  return nvt_poison();
}

/* (a + bj) / (c + dj), scaled by the larger of c and d so that neither square overflows (Smith, Algorithm 116, CACM
 * 5, 1962). */
static void divide_complex(const double *x, const double *y, double *r) {
  const bool big = fabs(y[0]) >= fabs(y[1]);
  const double q = big ? y[1] / y[0] : y[0] / y[1], d = big ? y[0] + y[1] * q : y[0] * q + y[1];
  r[0] = (big ? x[0] + x[1] * q : x[0] * q + x[1]) / d;
  r[1] = (big ? x[1] - x[0] * q : x[1] * q - x[0]) / d;
}

static nvt_val of_complex(nvt *t, nv_operator op, nvt_val a, nvt_val b, nv_pos pos) {
  const double x[2] = {a.kind == NVT_COMPLEX ? a.u.z[0] : as_double(a), a.kind == NVT_COMPLEX ? a.u.z[1] : 0};
  const double y[2] = {b.kind == NVT_COMPLEX ? b.u.z[0] : as_double(b), b.kind == NVT_COMPLEX ? b.u.z[1] : 0};
  double r[2] = {1, 0}, p[2] = {x[0], x[1]};
  switch (op) {
  case NV_OPR_ADD: return make_complex(t, x[0] + y[0], x[1] + y[1]);
  case NV_OPR_SUB: return make_complex(t, x[0] - y[0], x[1] - y[1]);
  case NV_OPR_MUL: return make_complex(t, x[0] * y[0] - x[1] * y[1], x[0] * y[1] + x[1] * y[0]);
  case NV_OPR_DIV:
    if (y[0] == 0 && y[1] == 0) return by_zero(t, a, op, pos);
    divide_complex(x, y, r);
    return make_complex(t, r[0], r[1]);
  case NV_OPR_POW: {
    if (b.kind != NVT_INT) break;
    if (b.u.i < 0 && x[0] == 0 && x[1] == 0) return by_zero(t, nvt_int(1), NV_OPR_DIV, pos);
    for (uint64_t n = b.u.i < 0 ? 0 - (uint64_t)b.u.i : (uint64_t)b.u.i; n; n >>= 1) {
      const double re = r[0] * p[0] - r[1] * p[1], im = r[0] * p[1] + r[1] * p[0];
      if (n & 1) r[0] = re, r[1] = im;
      const double square = p[0] * p[0] - p[1] * p[1];
      p[1] = 2 * (p[0] * p[1]);
      p[0] = square;
    }
    const double one[2] = {1, 0};
    double inverse[2] = {r[0], r[1]};
    if (b.u.i < 0) divide_complex(one, r, inverse);
    return make_complex(t, inverse[0], inverse[1]);
  }
  default: break;
  }
  return no_form(t, op, a, b, pos);
}

nvt_val nvt_static_binary(nvt *t, nv_operator op, nvt_val a, nvt_val b, nv_pos pos) {
  if (nvt_is_poison(a) || nvt_is_poison(b)) return nvt_poison();
  if (real_number(a) && real_number(b) && (a.kind == NVT_SIZE || b.kind == NVT_SIZE))
    return nvt_size_binary(t, op, a, b, pos);
  if (nvt_is_number(a) && nvt_is_number(b) && (a.kind == NVT_COMPLEX || b.kind == NVT_COMPLEX))
    return of_complex(t, op, a, b, pos);
  if (!real_number(a) || !real_number(b) || op == NV_OPR_MATMUL) return no_form(t, op, a, b, pos);
  if (op == NV_OPR_POW) return power(t, a, b, pos);
  if (a.kind == NVT_BOOL && b.kind == NVT_BOOL) {
    if (op == NV_OPR_BAND) return nvt_bool(a.u.b && b.u.b);
    if (op == NV_OPR_BOR) return nvt_bool(a.u.b || b.u.b);
    if (op == NV_OPR_BXOR) return nvt_bool(a.u.b != b.u.b);
  }
  if (a.kind != NVT_FLOAT && b.kind != NVT_FLOAT) return of_ints(t, op, a, b, pos);
  const double x = as_double(a), y = as_double(b);
  switch (op) {
  case NV_OPR_ADD: return nvt_float(x + y);
  case NV_OPR_SUB: return nvt_float(x - y);
  case NV_OPR_MUL: return nvt_float(x * y);
  case NV_OPR_DIV: return y != 0 ? nvt_float(x / y) : by_zero(t, a, op, pos);
  case NV_OPR_FLOORDIV:
  case NV_OPR_MOD: { /* both follow from fmod, which is exact */
    if (y == 0) return by_zero(t, a, op, pos);
    double r = fmod(x, y);
    if (r != 0 && (r < 0) != (y < 0)) r += y;
    if (op == NV_OPR_MOD) return nvt_float(r);
    const double q = (x - r) / y, whole = floor(q);
    return nvt_float(q - whole > 0.5 ? whole + 1 : whole);
  }
  default: return no_form(t, op, a, b, pos);
  }
}

nvt_val nvt_static_unary(nvt *t, nv_operator op, nvt_val a, nv_pos pos) {
  if (nvt_is_poison(a)) return nvt_poison();
  if (a.kind == NVT_SIZE) return nvt_size_unary(t, op, a, pos);
  if (op == NV_OPR_NOT && !nvt_is_seq(a)) return nvt_bool(!nvt_truth(a));
  if (nvt_is_number(a)) {
    if (op == NV_OPR_POS) return a.kind == NVT_BOOL ? nvt_int(a.u.b) : a;
    if (op == NV_OPR_NEG && a.kind == NVT_FLOAT) return nvt_float(-a.u.f);
    if (op == NV_OPR_NEG && a.kind == NVT_COMPLEX) return make_complex(t, -a.u.z[0], -a.u.z[1]);
    if (op == NV_OPR_NEG) return nvt_static_binary(t, NV_OPR_SUB, nvt_int(0), a, pos);
    if (op == NV_OPR_INVERT && a.kind == NVT_BOOL) return nvt_bool(!a.u.b);
    if (op == NV_OPR_INVERT && a.kind == NVT_INT) return nvt_int(-1 - a.u.i);
  }
  nvt_error(t, pos, "'%s' has no form for %s", nv_operator_text[op], nvt_show(t, a));
  return nvt_poison();
}

/* -1, 0, 1; 2: not ordered. Exact, also between an int and a double. */
static int order(nvt_val a, nvt_val b) {
  if (a.kind != NVT_FLOAT && b.kind != NVT_FLOAT) return (as_int(a) > as_int(b)) - (as_int(a) < as_int(b));
  if (a.kind == NVT_FLOAT && b.kind == NVT_FLOAT) {
    if (a.u.f != a.u.f || b.u.f != b.u.f) return 2;
    return (a.u.f > b.u.f) - (a.u.f < b.u.f);
  }
  if (a.kind == NVT_FLOAT) {
    const int r = order(b, a);
    return r == 2 ? 2 : -r;
  }
  const double f = b.u.f;
  if (f != f) return 2;
  if (f >= 0x1p63) return -1;
  if (f < -0x1p63) return 1;
  const int64_t whole = (int64_t)floor(f);
  if (as_int(a) != whole) return as_int(a) < whole ? -1 : 1;
  return floor(f) < f ? -1 : 0;
}

/* Equal values of one kind; -1: they can't be compared. Lists: of numbers and strings only. */
static int equal(nvt_val a, nvt_val b) {
  if (real_number(a) && real_number(b)) return order(a, b) == 0;
  if (a.kind == NVT_NONE || b.kind == NVT_NONE) return a.kind == b.kind;
  if (a.kind != b.kind) return -1;
  if (a.kind == NVT_COMPLEX) return a.u.z[0] == b.u.z[0] && a.u.z[1] == b.u.z[1];
  if (a.kind == NVT_STRING) return a.u.s == b.u.s;
  if (a.kind == NVT_DTYPE) return a.u.d == b.u.d;
  return -1;
}

nvt_val nvt_static_compare(nvt *t, nv_operator op, nvt_val a, nvt_val b, nv_pos pos) {
  if (nvt_is_poison(a) || nvt_is_poison(b)) return nvt_poison();
  if (real_number(a) && real_number(b) && (a.kind == NVT_SIZE || b.kind == NVT_SIZE))
    return nvt_size_compare(t, op, a, b, pos);
  if (op == NV_OPR_EQ || op == NV_OPR_NE) {
    int same = -1;
    if (a.kind == NVT_LIST && b.kind == NVT_LIST) {
      same = a.u.seq->n == b.u.seq->n;
      for (uint32_t i = 0; same == 1 && i < a.u.seq->n; i++) same = equal(a.u.seq->at[i], b.u.seq->at[i]);
    } else {
      same = equal(a, b);
    }
    if (same >= 0) return nvt_bool((same == 1) == (op == NV_OPR_EQ));
  } else if (real_number(a) && real_number(b)) {
    const int r = order(a, b);
    if (r == 2) return nvt_bool(false);
    return nvt_bool(op == NV_OPR_LT ? r < 0 : op == NV_OPR_LE ? r <= 0 : op == NV_OPR_GT ? r > 0 : r >= 0);
  }
  nvt_error(t, pos, "'%s' can't compare %s with %s", nv_operator_text[op], nvt_show(t, a), nvt_show(t, b));
  return nvt_poison();
}

/* ---- functions ---- */

typedef enum static_function {
  F_ABS,
  F_CEIL,
  F_FLOAT,
  F_FLOOR,
  F_INT,
  F_LEN,
  F_MAX,
  F_MIN,
  F_RANGE,
  F_SQRT,
  F_TRAINABLE,
  F_VARIANT,
  NFUNCTIONS
} static_function;
static const char *const function_names[NFUNCTIONS] = {
    "abs", "ceil", "float", "floor", "int", "len", "max", "min", "range", "sqrt", "trainable", "variant"};

static static_function which(const char *name) {
  int f = 0;
  while (f < NFUNCTIONS && strcmp(name, function_names[f])) f++;
  return (static_function)f;
}

bool nvt_is_static_function(const char *name) { return which(name) != NFUNCTIONS; }

static nvt_val to_int(nvt *t, double f, nv_pos pos) {
  if (f >= -0x1p63 && f < 0x1p63) return nvt_int((int64_t)f);
  nvt_error(t, pos, "%s is out of range for int64", nvt_show_number(t, nvt_float(f)));
  return nvt_poison();
}

static nvt_val extreme(nvt *t, static_function f, const nvt_val *at, uint32_t n, nv_pos pos) {
  nvt_val best = n ? at[0] : nvt_poison();
  for (uint32_t i = 0; i < n; i++) {
    if (!real_number(at[i])) {
      nvt_error(t, pos, "%s takes numbers, not %s", function_names[f], nvt_show(t, at[i]));
      return nvt_poison();
    }
    const int r = order(at[i], best);
    if (f == F_MAX ? r == 1 : r == -1) best = at[i];
  }
  if (!n) nvt_error(t, pos, "%s of nothing", function_names[f]);
  return best;
}

static nvt_val range(nvt *t, const nvt_val *args, uint32_t n, nv_pos pos) {
  int64_t v[3] = {0, 0, 1};
  for (uint32_t i = 0; i < n; i++) {
    if (args[i].kind != NVT_INT) {
      nvt_error(t, pos, "range takes ints, not %s", nvt_show(t, args[i]));
      return nvt_poison();
    }
    v[n == 1 ? 1 : i] = args[i].u.i;
  }
  if (v[2] == 0) {
    nvt_error(t, pos, "range: step is 0");
    return nvt_poison();
  }
  int64_t span, count = 0;
  if (!nv_sub64(v[1], v[0], &span)) span = v[1] > v[0] ? INT64_MAX : INT64_MIN;
  if ((span > 0) == (v[2] > 0) && span) count = (span - (v[2] > 0 ? 1 : -1)) / v[2] + 1;
  if (count > NVT_MAX_ITERATIONS) {
    nvt_error(t, pos, "range of more than %lld elements", (long long)NVT_MAX_ITERATIONS);
    return nvt_poison();
  }
  nvt_count(t, 32 * count);
  if (t->stop) return nvt_poison();
  nvt_val *at = NV_NEW_N(t->c, nvt_val, (size_t)count + 1);
  for (int64_t i = 0; i < count; i++) at[i] = nvt_int(v[0] + i * v[2]);
  return nvt_seq_make(t, NVT_LIST, at, NULL, (uint32_t)count);
}

nvt_val nvt_static_call(nvt *t, nv_ast ast, const nvt_val *args) {
  const nv_ast_node *call = nvt_at(t, ast);
  const static_function f = which(nv_text(t->c, call->text));
  const uint32_t n = call->count;
  const nv_pos pos = call->pos;
  const uint32_t most = f == F_RANGE ? 3 : f == F_MAX || f == F_MIN ? UINT32_MAX : 1;
  if (n < 1 || n > most) {
    nvt_error(t, pos, "%s takes %s, not %u", function_names[f],
              f == F_RANGE ? "1 to 3 arguments"
              : most == 1  ? "1 argument"
                           : "at least 1 argument",
              n);
    return nvt_poison();
  }
  uint32_t k = 0;
  for (nv_ast a = call->first; a != NV_NONE; a = nvt_at(t, a)->next, k++) {
    if (nvt_at(t, a)->kind == NV_AST_KEYWORD) {
      nvt_error(t, nvt_at(t, a)->pos, "%s takes no keywords", function_names[f]);
      return nvt_poison();
    }
    if (nvt_is_poison(args[k])) return nvt_poison();
  }
  const nvt_val a = args[0];
  if (f == F_LEN) {
    if (a.kind == NVT_LIST) return nvt_int(a.u.seq->n);
    if (a.kind == NVT_ARRAY && nv_shape_rank(t->c, nv_shape_at(t->g, a.u.v)))
      return nvt_size(t, nv_shape_dims(t->c, nv_shape_at(t->g, a.u.v))[0]);
    nvt_error(t, pos, "len takes a list or an array with axes, not %s", nvt_show(t, a));
    return nvt_poison();
  }
  if (f == F_VARIANT) {
    if (a.variant) return nvt_string(a.variant);
    nvt_error(t, pos, "variant takes an enum node, not %s", nvt_show(t, a));
    return nvt_poison();
  }
  if (f == F_TRAINABLE) {
    if (a.kind == NVT_ARRAY || nvt_is_number(a)) return nvt_bool(!a.frozen);
    nvt_error(t, pos, "trainable takes a leaf, not %s", nvt_show(t, a));
    return nvt_poison();
  }
  const nvt_val *list = (f == F_MAX || f == F_MIN) && n == 1 && a.kind == NVT_LIST ? a.u.seq->at : args;
  const uint32_t nlist = list == args ? n : a.u.seq->n;
  for (uint32_t i = 0; i < nlist; i++)
    if (list[i].kind == NVT_SIZE) return nvt_size_call(t, function_names[f], list, nlist, pos);
  if (f == F_RANGE) return range(t, args, n, pos);
  if (f == F_MAX || f == F_MIN) return extreme(t, f, list, nlist, pos);
  if (!real_number(a)) {
    const bool converts = a.kind == NVT_ARRAY && (f == F_INT || f == F_FLOAT);
    nvt_error(t, pos, "%s takes a static number, not %s%s", function_names[f], nvt_show(t, a),
              !converts    ? ""
              : f == F_INT ? "; astype(x, int32) converts arrays"
                           : "; astype(x, float32) converts arrays");
    return nvt_poison();
  }
  switch (f) {
  case F_ABS:
    if (a.kind == NVT_FLOAT) return nvt_float(fabs(a.u.f));
    return as_int(a) < 0 ? nvt_static_unary(t, NV_OPR_NEG, a, pos) : nvt_int(as_int(a));
  case F_CEIL: return a.kind == NVT_FLOAT ? to_int(t, ceil(a.u.f), pos) : nvt_int(as_int(a));
  case F_FLOOR: return a.kind == NVT_FLOAT ? to_int(t, floor(a.u.f), pos) : nvt_int(as_int(a));
  case F_INT: return a.kind == NVT_FLOAT ? to_int(t, trunc(a.u.f), pos) : nvt_int(as_int(a));
  case F_FLOAT: return nvt_float(as_double(a));
  default: /* F_SQRT */
    if (as_double(a) < 0) {
      nvt_error(t, pos, "root of the negative %s", nvt_show_number(t, a));
      return nvt_poison();
    }
    return nvt_float(sqrt(as_double(a)));
  }
}

/* ---- into a dtype ---- */

static void warn_infinite(nvt *t, nvt_val v, nv_dtype d, uint64_t bits, nv_pos pos) {
  if (nv_is(d, NV_BITS_FLOAT) && isinf(nv_bits_to_f32(d, bits)))
    nvt_warn(t, pos, "%s becomes infinite in %s", nvt_show_number(t, v), nv_dtype_name[d]);
}

bool nvt_weak_bits(nvt *t, nvt_val v, nv_dtype d, nv_pos pos, uint64_t *bits) {
  if (d == NV_BOOL)
    *bits = nvt_truth(v);
  else if (v.kind == NVT_FLOAT) {
    *bits = nv_double_to_bits(d, v.u.f);
    if (!isinf(v.u.f)) warn_infinite(t, v, d, *bits, pos);
  } else if (v.kind == NVT_COMPLEX) {
    *bits = nv_double_to_bits(NV_F32, v.u.z[1]) << 32 | nv_double_to_bits(NV_F32, v.u.z[0]);
  } else if (nv_is(d, NV_BITS_INT) && !nv_int_fits(d, as_int(v))) {
    nvt_error(t, pos, "%s is out of range for %s", nvt_show_number(t, v), nv_dtype_name[d]);
    return false;
  } else {
    *bits = nv_int_to_bits(d, as_int(v));
    warn_infinite(t, v, d, *bits, pos);
  }
  return true;
}

bool nvt_strong_bits(nvt *t, nv_dtype d, nv_ast_kind kind, const char *text, nvt_val v, nv_pos pos,
                     uint64_t *bits) {
  const bool digits =
      kind == NV_AST_INT ? !strpbrk(text, "xXbB") : kind == NV_AST_FLOAT && !strpbrk(text, "in");
  if (digits && nv_is(d, NV_BITS_FLOAT)) {
    *bits = nv_decimal_to_bits(t->c, d, text);
    if (isinf(nv_bits_to_f32(d, *bits)))
      nvt_warn(t, pos, "%s becomes infinite in %s", nv_shown(t->c, text, strlen(text)), nv_dtype_name[d]);
    return true;
  }
  if (kind == NV_AST_INT) {
    bool negative;
    uint64_t m;
    int64_t i;
    const bool known = magnitude(text, &negative, &m);
    if (known && !negative && d == NV_U64) {
      *bits = m;
      return true;
    }
    if (!known || !signed_value(negative, m, &i)) {
      nvt_error(t, pos, "%s is out of range for %s", nv_shown(t->c, text, strlen(text)), nv_dtype_name[d]);
      return false;
    }
    v = nvt_int(i);
  } else if (kind == NV_AST_FLOAT) {
    v = nvt_float(strtod(text, NULL));
  }
  if (!nvt_is_number(v)) {
    nvt_error(t, pos, "%s(...) takes a number, not %s", nv_dtype_name[d], nvt_show(t, v));
    return false;
  }
  if (v.kind == NVT_COMPLEX && d != NV_C64 && d != NV_BOOL) {
    nvt_error(t, pos, "%s has no imaginary part", nv_dtype_name[d]);
    return false;
  }
  if (v.kind == NVT_FLOAT && nv_is(d, NV_BITS_INT)) {
    if (floor(v.u.f) != v.u.f || !(fabs(v.u.f) < 0x1p63)) {
      nvt_error(t, pos, "%s is no %s", nvt_show_number(t, v), nv_dtype_name[d]);
      return false;
    }
    v = nvt_int((int64_t)v.u.f);
  }
  return nvt_weak_bits(t, v, d, pos, bits);
}
