/* test_dtype.c - names, promotion, rounding and conversion of single values. */
#include "ir/dtype.h"

#include <jansson.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

static nv_ctx *ctx;
static int setup(void **state) {
  (void)state;
  return (ctx = nv_ctx_new(NULL)) ? 0 : -1;
}
static int teardown(void **state) {
  (void)state;
  nv_ctx_free(ctx);
  return 0;
}

static json_t *vectors(const char *name) {
  char path[256];
  json_error_t e;
  snprintf(path, sizeof path, "tests/vectors/%s.json", name);
  json_t *j = json_load_file(path, 0, &e);
  if (!j) fail_msg("%s:%d: %s", path, e.line, e.text);
  return j;
}

static nv_dtype dtype(const char *name) {
  int d = nv_dtype_find(name, strlen(name));
  assert_true(d >= 0);
  return (nv_dtype)d;
}

static void names(void **state) {
  (void)state;
  assert_int_equal(nv_dtype_find("float32", 7), NV_F32);
  assert_int_equal(nv_dtype_find("f32", 3), NV_F32);
  assert_int_equal(nv_dtype_find("bf16", 4), NV_BF16);
  assert_int_equal(nv_dtype_find("complex64[2]", 9), NV_C64);
  assert_int_equal(nv_dtype_find("bool", 4), NV_BOOL);
  assert_int_equal(nv_dtype_find("float", 5), -1);
  assert_int_equal(nv_dtype_find("float64", 7), -1);
  assert_int_equal(nv_dtype_find("float32", 6), -1);
  assert_int_equal(nv_dtype_find("Float32", 7), -1);
  assert_int_equal(nv_dtype_find("", 0), -1);
  size_t bytes = 0;
  for (int d = 0; d < NV_NDTYPES; d++) bytes += nv_dtype_size[d];
  assert_int_equal(bytes, 1 + 2 * (1 + 2 + 4 + 8) + 2 + 2 + 4 + 8);
}

/* The rules said another way: the narrowest candidate that holds both integers' ranges; of floats the one
 * that there is, float32 where there are two. */
static nv_dtype promote_by_ranges(nv_dtype a, nv_dtype b) {
  static const struct {
    nv_dtype d;
    int below, above; /* values from -2^below (0: none below zero) to 2^above - 1 */
  } ints[] = {{NV_BOOL, 0, 1}, {NV_U8, 0, 8},    {NV_I8, 7, 7},   {NV_U16, 0, 16}, {NV_I16, 15, 15},
              {NV_U32, 0, 32}, {NV_I32, 31, 31}, {NV_U64, 0, 64}, {NV_I64, 63, 63}};
  if (a == NV_C64 || b == NV_C64) return NV_C64;
  uint32_t floats = (NV_BIT(a) | NV_BIT(b)) & NV_BITS_FLOAT;
  if (floats) return floats == NV_BIT(NV_F16) ? NV_F16 : floats == NV_BIT(NV_BF16) ? NV_BF16 : NV_F32;
  int below = 0, above = 0;
  for (size_t k = 0; k < sizeof ints / sizeof *ints; k++)
    if (ints[k].d == a || ints[k].d == b) {
      if (ints[k].below > below) below = ints[k].below;
      if (ints[k].above > above) above = ints[k].above;
    }
  for (size_t k = 0; k < sizeof ints / sizeof *ints; k++)
    if (ints[k].below >= below && ints[k].above >= above && (below > 0) == (ints[k].below > 0)) return ints[k].d;
  return NV_F32;
}

static void promotion(void **state) {
  (void)state;
  json_t *file = vectors("promotion");
  const json_t *facts = json_array_get(json_object_get(file, "cases"), 0), *pairs = json_object_get(facts, "promote");
  assert_int_equal(json_object_size(pairs), 169);
  for (int a = 0; a < NV_NDTYPES; a++) {
    for (int b = 0; b < NV_NDTYPES; b++) {
      char key[64];
      snprintf(key, sizeof key, "%s,%s", nv_dtype_name[a], nv_dtype_name[b]);
      nv_dtype got = nv_promote((nv_dtype)a, (nv_dtype)b);
      assert_string_equal(nv_dtype_name[got], json_string_value(json_object_get(pairs, key)));
      assert_int_equal(got, promote_by_ranges((nv_dtype)a, (nv_dtype)b));
    }
    const char *want = json_string_value(json_object_get(json_object_get(facts, "at_least_float"), nv_dtype_name[a]));
    assert_string_equal(nv_dtype_name[nv_at_least_float((nv_dtype)a)], want);
  }
  json_decref(file);
}

/* The bits that a static value takes beside an array: ints and floats rounded once, from the integer or the double.
 */
static void weak_values(void **state) {
  (void)state;
  json_t *file = vectors("promotion");
  const json_t *weak = json_object_get(json_array_get(json_object_get(file, "cases"), 0), "weak"), *row;
  size_t k, tested = 0;
  json_array_foreach(weak, k, row) {
    const char *kind = json_string_value(json_object_get(row, "kind")), *end;
    const char *text = json_string_value(json_object_get(row, "static"));
    const char *bits = json_string_value(json_object_get(row, "bits"));
    if (!bits || strchr(bits, '|')) continue;
    nv_dtype d = dtype(json_string_value(json_object_get(row, "takes")));
    uint64_t want = strtoull(bits, NULL, 16), got;
    if (d == NV_C64) want = strlen(bits) == 16 ? want >> 32 : want; /* real part first in the file */
    if (strcmp(kind, "int") == 0) {
      char *stop;
      long long v = strtoll(text, &stop, 0);
      end = stop;
      if (*end) continue;
      got = nv_int_to_bits(d, v);
      if (nv_is(d, NV_BITS_INT)) assert_true(nv_int_fits(d, v));
    } else if (strcmp(kind, "float") == 0) {
      double v = strtod(text, NULL);
      got = nv_double_to_bits(d, v);
    } else {
      continue;
    }
    if (got != want) fail_msg("%s as %s: %llx, want %s", text, nv_dtype_name[d], (unsigned long long)got, bits);
    tested++;
  }
  assert_true(tested > 100);
  json_decref(file);
}

/* One token of a vectors file. */
static bool agrees(nv_dtype d, uint64_t bits, const char *token) {
  char one[64];
  while (*token) {
    size_t n = strcspn(token, "|");
    assert_true(n < sizeof one);
    memcpy(one, token, n);
    one[n] = 0;
    token += n + (token[n] == '|');
    if (strcmp(one, "any") == 0) return true;
    if (d == NV_C64) {
      char *comma = strchr(one, ',');
      if (comma) {
        *comma = 0;
        if (agrees(NV_F32, bits & 0xffffffff, one) && agrees(NV_F32, bits >> 32, comma + 1)) return true;
        continue;
      }
      uint64_t want = strtoull(one, NULL, 16);
      if (bits == (want << 32 | want >> 32)) return true;
      continue;
    }
    if (strcmp(one, "nan") == 0) {
      if (isnan(nv_bits_to_f32(d, bits))) return true;
      continue;
    }
    if (bits == strtoull(one, NULL, 16)) return true;
  }
  return false;
}

static void astype(void **state) {
  (void)state;
  json_t *file = vectors("astype");
  const json_t *row;
  size_t k, values = 0;
  json_array_foreach(json_object_get(file, "cases"), k, row) {
    nv_dtype from = dtype(json_string_value(json_array_get(json_object_get(row, "dtypes"), 0)));
    nv_dtype to = dtype(json_string_value(json_array_get(json_object_get(row, "out"), 0)));
    const json_t *in = json_array_get(json_object_get(row, "in"), 0);
    const json_t *want = json_array_get(json_object_get(row, "want"), 0);
    const json_t *flushed = json_array_get(json_object_get(row, "want_ftz"), 0);
    for (size_t i = 0; i < json_array_size(in); i++) {
      const char *text = json_string_value(json_array_get(in, i));
      uint64_t bits = strtoull(text, NULL, 16);
      if (from == NV_C64) bits = bits << 32 | bits >> 32;
      for (int flush = 0; flush < 2; flush++) {
        const char *token = json_string_value(json_array_get(flush && flushed ? flushed : want, i));
        uint64_t got = nv_convert(from, to, bits, flush);
        if (!agrees(to, got, token))
          fail_msg("%s %s as %s, %s: %llx, want %s", nv_dtype_name[from], text, nv_dtype_name[to],
                   flush ? "flush" : "keep", (unsigned long long)got, token);
        values++;
      }
    }
  }
  assert_true(values > 10000);
  json_decref(file);
}

/* Every 16-bit pattern survives the way to float32 and back; NaNs stay NaNs. */
static void round_trips(void **state) {
  (void)state;
  for (uint32_t h = 0; h < 65536; h++) {
    for (int k = 0; k < 2; k++) {
      nv_dtype d = k ? NV_BF16 : NV_F16;
      float x = nv_bits_to_f32(d, h);
      uint64_t back = nv_f32_to_bits(d, x);
      if (isnan(x))
        assert_true(isnan(nv_bits_to_f32(d, back)));
      else
        assert_int_equal(back, h);
      if (!isnan(x)) assert_int_equal(nv_double_to_bits(d, x), h);
    }
  }
}

/* Between two neighbours: below the middle down, above it up, at it to the even one; from float32, double and text.
 */
static void ties(void **state) {
  (void)state;
  static const struct {
    nv_dtype d;
    uint32_t infinity;
  } formats[] = {{NV_F16, 0x7c00}, {NV_BF16, 0x7f80}, {NV_F32, 0x7f800000}};
  for (int f = 0; f < 3; f++) {
    nv_dtype d = formats[f].d;
    uint32_t step = d == NV_F32 ? 65521 : 7;
    for (uint32_t low = 0; low + 1 < formats[f].infinity; low += step) {
      double a = nv_bits_to_f32(d, low), b = nv_bits_to_f32(d, low + 1), middle = (a + b) / 2;
      uint32_t even = low & 1 ? low + 1 : low;
      char text[400];
      assert_int_equal(nv_double_to_bits(d, middle), even);
      assert_int_equal(nv_double_to_bits(d, nextafter(middle, 0)), low);
      assert_int_equal(nv_double_to_bits(d, nextafter(middle, INFINITY)), low + 1);
      assert_int_equal(nv_double_to_bits(d, -middle),
                       even | (formats[f].infinity == 0x7f800000 ? 0x80000000u : 0x8000u));
      if (d == NV_F16) assert_int_equal(nv_f32_to_bits(d, (float)middle), even);
      if (low % 5) continue;
      snprintf(text, sizeof text, "%.170f", middle);
      assert_int_equal(nv_decimal_to_bits(ctx, d, text), even);
      strcat(text, "000000000000000000001"); /* a double can't see it */
      assert_int_equal(nv_decimal_to_bits(ctx, d, text), low + 1);
      snprintf(text, sizeof text, "-%.170f", middle);
      size_t n = strlen(text);
      while (text[n - 1] == '0') n--;
      if (text[n - 1] == '.') continue; /* an integer: the digit before would need a borrow */
      text[n - 1]--;
      strcpy(text + n, "9999999999999999999999999999999999999999");
      assert_int_equal(nv_decimal_to_bits(ctx, d, text) & (formats[f].infinity | (formats[f].infinity - 1)), low);
    }
  }
}

static void decimals(void **state) {
  (void)state;
  assert_int_equal(nv_decimal_to_bits(ctx, NV_F32, "0.1"), 0x3dcccccd);
  assert_int_equal(nv_decimal_to_bits(ctx, NV_F16, "0.1"), 0x2e66);
  assert_int_equal(nv_decimal_to_bits(ctx, NV_BF16, "0.1"), 0x3dcd);
  assert_int_equal(nv_decimal_to_bits(ctx, NV_C64, "-2.5"), 0xc0200000);
  assert_int_equal(nv_decimal_to_bits(ctx, NV_F32, "1e400"), 0x7f800000);
  assert_int_equal(nv_decimal_to_bits(ctx, NV_F32, "-1e400"), 0xff800000);
  assert_int_equal(nv_decimal_to_bits(ctx, NV_F32, "1e-400"), 0);
  assert_int_equal(nv_decimal_to_bits(ctx, NV_F32, "-0.0"), 0x80000000);
  assert_int_equal(nv_decimal_to_bits(ctx, NV_F16, "-0"), 0x8000);
  assert_int_equal(nv_decimal_to_bits(ctx, NV_F16, "65519.99999999999999999999999"), 0x7bff);
  assert_int_equal(nv_decimal_to_bits(ctx, NV_F16, "65520"), 0x7c00);
  assert_int_equal(nv_decimal_to_bits(ctx, NV_F16, "6.552e4"), 0x7c00);
  assert_int_equal(nv_decimal_to_bits(ctx, NV_F16, "2.98023223876953125e-8"), 0); /* half the smallest: to even */
  assert_int_equal(nv_decimal_to_bits(ctx, NV_F16, "2.98023223876953126e-8"), 1);
  assert_int_equal(nv_decimal_to_bits(ctx, NV_F16, "0.0000000298023223876953125001"), 1);
  assert_int_equal(nv_decimal_to_bits(ctx, NV_F16, ".5"), 0x3800);
  assert_int_equal(nv_decimal_to_bits(ctx, NV_F16, "5E-1"), 0x3800);
  assert_int_equal(nv_decimal_to_bits(ctx, NV_F16, "+inf"), 0x7c00);
  assert_int_equal(nv_decimal_to_bits(ctx, NV_BF16, "-inf"), 0xff80);
  assert_true(isnan(nv_bits_to_f32(NV_F16, nv_decimal_to_bits(ctx, NV_F16, "nan"))));
  assert_int_equal(nv_decimal_to_bits(ctx, NV_F32, "0x10"), 0x41800000);
  assert_int_equal(nv_decimal_to_bits(ctx, NV_F16, "-0b101"), 0xc500);
  assert_int_equal(nv_decimal_to_bits(ctx, NV_F32, "0x1000001"), 0x4b800000); /* a tie */
  assert_int_equal(nv_decimal_to_bits(ctx, NV_F32, "0x1000001000000000000000000001"),
                   0x75800001); /* just above one */
  assert_int_equal(nv_decimal_to_bits(ctx, NV_F32, "0x1000001000000000000000000000"), 0x75800000);
}

static void integers(void **state) {
  (void)state;
  assert_true(nv_int_fits(NV_U8, 255) && !nv_int_fits(NV_U8, 256) && !nv_int_fits(NV_U8, -1));
  assert_true(nv_int_fits(NV_I8, -128) && !nv_int_fits(NV_I8, 128) && !nv_int_fits(NV_I8, -129));
  assert_true(nv_int_fits(NV_U32, 4294967295) && !nv_int_fits(NV_U32, 4294967296));
  assert_true(nv_int_fits(NV_U64, INT64_MAX) && !nv_int_fits(NV_U64, -1));
  assert_true(nv_int_fits(NV_I64, INT64_MIN));
  assert_false(nv_int_fits(NV_F32, 1));
  assert_int_equal(nv_int_to_bits(NV_I16, -2), 0xfffe);
  assert_int_equal(nv_int_to_bits(NV_I64, -1), UINT64_MAX);
  assert_int_equal(nv_int_to_bits(NV_F16, -3), 0xc200);
  assert_int_equal(nv_int_to_bits(NV_F32, INT64_MIN), 0xdf000000);
  assert_int_equal(nv_int_to_bits(NV_F32, 16777217), 0x4b800000);
  assert_int_equal(nv_int_to_bits(NV_F32, INT64_MAX), 0x5f000000);
  /* bfloat16 of an integer: once where the value is static, by way of float32 where it is an array's */
  assert_int_equal(nv_int_to_bits(NV_BF16, 0x01010001), 0x4b81);
  assert_int_equal(nv_convert(NV_I32, NV_BF16, 0x01010001, false), 0x4b80);
  /* saturation */
  assert_int_equal(nv_convert(NV_F32, NV_I8, 0xc3008000, false), 0x80); /* -128.5 */
  assert_int_equal(nv_convert(NV_F32, NV_I64, 0x5f000000, false), INT64_MAX);
  assert_int_equal(nv_convert(NV_F32, NV_I64, 0xff800000, false), UINT64_C(1) << 63);
  assert_int_equal(nv_convert(NV_F32, NV_U64, 0x7f800000, false), UINT64_MAX);
  assert_int_equal(nv_convert(NV_F32, NV_U64, 0x5f7fffff, false), UINT64_C(0xffffff0000000000));
  assert_int_equal(nv_convert(NV_F32, NV_U8, 0xbf7fffff, false), 0);
  assert_int_equal(nv_convert(NV_F32, NV_I32, 0x7fc00000, false), 0);
  /* a subnormal is true on every device */
  assert_int_equal(nv_convert(NV_F32, NV_BOOL, 1, true), 1);
  assert_int_equal(nv_convert(NV_F32, NV_BOOL, 0x80000000, true), 0);
  assert_int_equal(nv_convert(NV_C64, NV_BOOL, UINT64_C(0x0000000180000000), false), 1);
  assert_int_equal(nv_convert(NV_F32, NV_F16, 1, true), 0);
  assert_int_equal(nv_convert(NV_F32, NV_F16, 0x33800000, true), 1); /* 2^-24: float16 keeps its subnormals */
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(names),    cmocka_unit_test(promotion),   cmocka_unit_test(weak_values),
      cmocka_unit_test(astype),   cmocka_unit_test(round_trips), cmocka_unit_test(ties),
      cmocka_unit_test(decimals), cmocka_unit_test(integers),
  };
  return cmocka_run_group_tests_name("dtype", tests, setup, teardown);
}
