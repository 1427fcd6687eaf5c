/* metal_text.c - the small change of Metal text: types, literals, identifiers, statements, one op as an expression. */
#include "metal.h"

#include <stdio.h>
#include <stdlib.h>

/* int8_t, not char: its sign is the same everywhere the text is compiled. */
const char *nv_msl_type(nv_dtype d) {
  static const char *const types[NV_NDTYPES] = {"bool", "uchar", "ushort", "uint",   "ulong", "int8_t", "short",
                                                "int",  "long",  "half",   "bfloat", "float", "float2"};
  return types[d];
}

const char *nv_keep(nv_buf *b) {
  const char *text = nv_format(b->c, "%s", nv_buf_text(b));
  nv_drop(b->c, b->p);
  return text;
}

static const char *unsigned_type(nv_dtype d) {
  return nv_msl_type(nv_is(d, NV_BITS_SIGNED) ? (nv_dtype)(d - NV_I8 + NV_U8) : d);
}

/* ---- literals ---- */

/* Decimals with f; INFINITY is an expression of type float. NaNs keep their payload, and
 * subnormals are given by bits so that no compiler flushes them while reading. */
static void put_float(nv_buf *b, uint32_t bits) {
  const uint32_t exponent = bits & 0x7f800000u, fraction = bits & 0x007fffffu;
  if (exponent == 0x7f800000u && !fraction) {
    nv_puts(b, bits >> 31 ? "-INFINITY" : "INFINITY");
  } else if (fraction && (exponent == 0x7f800000u || exponent == 0)) {
    nv_printf(b, "as_type<float>(0x%08xu)", (unsigned)bits);
  } else {
    float x;
    memcpy(&x, &bits, sizeof x);
    nv_put_float(b, x);
    nv_putc(b, 'f');
  }
}

/* A literal's type is long where int can't hold it: the least value of each signed type is a difference. */
static void put_signed(nv_buf *b, nv_dtype d, int64_t x) {
  if (d == NV_I64) {
    if (x == INT64_MIN)
      nv_puts(b, "(-9223372036854775807l - 1l)");
    else
      nv_printf(b, "%lldl", (long long)x);
  } else if (d == NV_I32) {
    if (x == INT32_MIN)
      nv_puts(b, "(-2147483647 - 1)");
    else
      nv_printf(b, "%lld", (long long)x);
  } else {
    nv_printf(b, "%s(%lld)", nv_msl_type(d), (long long)x);
  }
}

void nv_put_literal(nv_buf *b, nv_dtype d, uint64_t bits) {
  switch (d) {
  case NV_BOOL: nv_puts(b, bits ? "true" : "false"); break;
  case NV_U8:
  case NV_U16: nv_printf(b, "%s(%llu)", nv_msl_type(d), (unsigned long long)bits); break;
  case NV_U32: nv_printf(b, "%lluu", (unsigned long long)(uint32_t)bits); break;
  case NV_U64: nv_printf(b, "%lluul", (unsigned long long)bits); break;
  case NV_I8: put_signed(b, d, (int8_t)bits); break;
  case NV_I16: put_signed(b, d, (int16_t)bits); break;
  case NV_I32: put_signed(b, d, (int32_t)bits); break;
  case NV_I64: put_signed(b, d, (int64_t)bits); break;
  case NV_F16:
  case NV_BF16: nv_printf(b, "as_type<%s>(ushort(0x%04xu))", nv_msl_type(d), (unsigned)(bits & 0xffffu)); break;
  case NV_F32: put_float(b, (uint32_t)bits); break;
  default:
    nv_puts(b, "float2(");
    put_float(b, (uint32_t)bits);
    nv_puts(b, ", ");
    put_float(b, (uint32_t)(bits >> 32));
    nv_putc(b, ')');
  }
}

/* ---- identifiers ---- */

/* Words of MSL and C++, macros of <metal_stdlib> macros of the C library that a host
 * compiler's headers bring along. Sorted by strcmp. */
/* clang-format off */
static const char *const reserved[] = {
    "CHAR_BIT", "CHAR_MAX", "CHAR_MIN", "EOF", "INFINITY", "INT_MAX", "INT_MIN", "LLONG_MAX", "LLONG_MIN", "LONG_MAX",
    "LONG_MIN", "MAXDOUBLE", "MAXFLOAT", "MAXHALF", "METAL_FUNC", "NAN", "NULL", "SCHAR_MAX", "SCHAR_MIN", "SHRT_MAX",
    "SHRT_MIN", "UCHAR_MAX", "UINT_MAX", "ULLONG_MAX", "ULONG_MAX", "USHRT_MAX", "alignas", "alignof", "and", "and_eq",
    "array", "as_type", "asm", "assert", "atomic", "atomic_bool", "atomic_float", "atomic_int", "atomic_uint",
    "atomic_ulong", "auto", "bfloat", "bfloat2", "bfloat3", "bfloat4", "bitand", "bitor", "bool", "bool2", "bool3",
    "bool4", "break", "case", "catch", "char", "char16_t", "char2", "char3", "char32_t", "char4", "char8_t", "class",
    "co_await", "co_return", "co_yield", "coherent", "compl", "complex", "concept", "const", "const_cast",
    "consteval", "constant", "constexpr", "constinit", "continue", "decltype", "default", "delete", "device", "do",
    "double", "dynamic_cast", "else", "enum", "errno", "explicit", "export", "extern", "false", "final", "float",
    "float2", "float2x2", "float2x3", "float2x4", "float3", "float3x2", "float3x3", "float3x4", "float4", "float4x2",
    "float4x3", "float4x4", "for", "fragment", "friend", "goto", "half", "half2", "half2x2", "half2x3", "half2x4",
    "half3", "half3x2", "half3x3", "half3x4", "half4", "half4x2", "half4x3", "half4x4", "if", "imaginary",
    "import", "inline", "int", "int16_t", "int2", "int3", "int32_t", "int4", "int64_t", "int8_t", "kernel", 
    "linux", "llong", "long", "long2", "long3", "long4", "main", "matrix", "metal", "module", "mutable", "namespace",
    "new", "noexcept", "not", "not_eq", "nullptr", "object_data", "operator", "or", "or_eq", "override",
    "packed_vec", "private", "protected", "ptrdiff_t", "public", "quad", "ray_data", "register",
    "reinterpret_cast", "requires", "restrict", "return", "sampler", "short", "short2", "short3", "short4",
    "signed", "size_t", "sizeof", "static", "static_assert", "static_cast", "std", "stderr", "stdin", "stdout",
    "struct", "switch", "template", "this", "thread", "thread_local", "threadgroup", "threadgroup_imageblock", "throw",
    "true", "try", "typedef", "typeid", "typename", "typeof", "uchar", "uchar2", "uchar3", "uchar4", "uint",
    "uint16_t", "uint2", "uint3", "uint32_t", "uint4", "uint64_t", "uint8_t", "ullong", "ulong", "ulong2", "ulong3",
    "ulong4", "union", "unix", "unsigned", "ushort", "ushort2", "ushort3", "ushort4", "using", "vec", "vertex",
    "virtual", "void", "volatile", "wchar_t", "while", "xor", "xor_eq"};
/* clang-format on */

/* Families of macros and types: everything that starts so. */
static const char *const reserved_starts[] = {"DBL_", "FLT_",    "FP_", "HALF_",   "HUGE_VAL", "MAXBF", "M_",
                                              "MTL",  "TARGET_", "nv_", "packed_", "simd_",    "MSL_"};
static int compare_words(const void *a, const void *b) {
  const char *const text = a, *const word = *(const char *const *)b;
  return text[0] != word[0] ? (unsigned char)text[0] - (unsigned char)word[0] : strcmp(text, word);
}

bool nv_msl_ident(const char *text, size_t n) {
  if (!n || n > 40 || strlen(text) != n) return false;
  if (!((text[0] >= 'a' && text[0] <= 'z') || (text[0] >= 'A' && text[0] <= 'Z'))) return false;
  for (size_t i = 1; i < n; i++) {
    const char ch = text[i];
    const bool letter = (ch >= 'a' && ch <= 'z') || (ch >= 'A' && ch <= 'Z') || (ch >= '0' && ch <= '9');
    if (!letter && (ch != '_' || text[i - 1] == '_')) return false;
  }
  for (size_t i = 0; i < sizeof reserved_starts / sizeof *reserved_starts; i++)
    if (text[0] == *reserved_starts[i] && !strncmp(text, reserved_starts[i], strlen(reserved_starts[i]))) return false;
  return !bsearch(text, reserved, sizeof reserved / sizeof *reserved, sizeof *reserved, compare_words);
}

void nv_names_init(nv_names *s, nv_ctx *c) { *s = (nv_names){.c = c}; }
void nv_names_drop(nv_names *s) {
  nv_map_drop(s->c, &s->map);
  nv_drop(s->c, s->list);
  *s = (nv_names){.c = s->c};
}

/* Takes a text that lives as long as the context (kept), or a copy of it. */
static const char *take(nv_names *s, const char *text, bool kept) {
  const size_t n = strlen(text);
  const uint64_t h = nv_hash(text, n, 0);
  uint32_t at = 0, other;
  while ((other = nv_map_next(&s->map, h, &at)) != NV_NONE)
    if (!strcmp(s->list[other], text)) return NULL;
  if (!kept) text = memcpy(nv_alloc(s->c, n + 1), text, n + 1);
  NV_GROW(s->c, s->list, s->cap, (size_t)s->n + 1);
  nv_map_add(s->c, &s->map, h, s->n);
  return s->list[s->n++] = text;
}
static const char *fresh(nv_names *s, const char *base, bool kept) {
  const char *name = take(s, base, kept);
  for (uint32_t k = 2; !name; k++) {
    char text[64];
    snprintf(text, sizeof text, "%.48s%s%u", base, base[0] && strchr("0123456789", base[strlen(base) - 1]) ? "_" : "",
             (unsigned)k);
    name = take(s, text, false);
  }
  return name;
}

const char *nv_names_take(nv_names *s, const char *text) { return take(s, text, false); }
const char *nv_names_fresh(nv_names *s, const char *base) { return fresh(s, base, false); }
const char *nv_names_fresh_of(nv_names *s, nv_str base) { return fresh(s, nv_text(s->c, base), true); }

/* ---- lines ---- */

void nv_end_line(nv_buf *b, uint32_t start, uint32_t indent) {
  uint32_t from = start; /* of the line that is looked at */
  while (b->n - from > NV_COLUMNS) {
    const uint32_t least = from + indent + (from == start ? 0 : 4);
    uint32_t cut = from + NV_COLUMNS;
    while (cut > least && b->p[cut] != ' ') cut--;
    if (cut <= least) break;
    const uint32_t rest = b->n - cut - 1; /* behind the blank that becomes the line's end */
    char *tail = nv_format(b->c, "%.*s", (int)rest, b->p + cut + 1);
    b->n = cut;
    nv_putc(b, '\n');
    from = b->n;
    for (uint32_t i = 0; i < indent + 4; i++) nv_putc(b, ' ');
    nv_put(b, tail, rest);
  }
  nv_putc(b, '\n');
}

void nv_line(nv_buf *b, uint32_t indent, const char *format, ...) {
  const uint32_t start = b->n;
  for (uint32_t i = 0; i < indent; i++) nv_putc(b, ' ');
  va_list ap;
  va_start(ap, format);
  nv_puts(b, nv_vformat(b->c, format, ap));
  va_end(ap);
  nv_end_line(b, start, indent);
}

/* ---- one op ---- */

/* 16-bit floats are computed in float32 and rounded after every op (nuvec-ops(5)); for + - * / and sqrt the
 * second rounding changes nothing, as 24 >= 2 * 11 + 2. */
static bool is_short_float(nv_dtype d) { return d == NV_F16 || d == NV_BF16; }

/* Saturates; NaN becomes 0 (lib/ir/math.inc). */
static void put_float_to_int(nv_buf *b, nv_dtype to, const char *x) {
  nv_printf(b, "nv_to_%s(%s)", nv_dtype_name[to], x);
}

static void put_real_astype(nv_buf *b, nv_dtype from, nv_dtype to, const char *x) {
  const nv_kind f = nv_kind_of(from), t = nv_kind_of(to);
  const char *type = nv_msl_type(to);
  if (from == to) {
    nv_puts(b, x);
  } else if (to == NV_BOOL && from == NV_F32) { /* a test of bits: a subnormal is true on every device */
    nv_printf(b, "(as_type<uint>(%s) << 1) != 0u", x);
  } else if (to == NV_BOOL && f == NV_KIND_FLOAT) {
    nv_printf(b, "(as_type<ushort>(%s) & 0x7fffu) != 0u", x);
  } else if (to == NV_BOOL) {
    nv_printf(b, "%s != 0", x);
  } else if (f == NV_KIND_FLOAT && t != NV_KIND_FLOAT) {
    put_float_to_int(b, to, is_short_float(from) ? nv_format(b->c, "float(%s)", x) : x);
  } else if (to == NV_BF16 || (from == NV_BF16 && to == NV_F16)) { /* bfloat only by way of float */
    nv_printf(b, from == NV_F32 ? "%s(%s)" : "%s(float(%s))", type, x);
  } else {
    nv_printf(b, "%s(%s)", type, x);
  }
}

void nv_put_astype(nv_buf *b, nv_dtype from, nv_dtype to, const char *x) {
  if (from == to) {
    nv_puts(b, x);
    return;
  }
  if (from == NV_C64 && to == NV_BOOL) {
    nv_printf(b, "((as_type<uint>(%s.x) | as_type<uint>(%s.y)) << 1) != 0u", x, x);
    return;
  }
  if (from == NV_C64) { /* the real part */
    x = nv_format(b->c, "%s.x", x);
    from = NV_F32;
  }
  const bool complex_result = to == NV_C64;
  if (complex_result) {
    nv_puts(b, "float2(");
    to = NV_F32;
  }
  put_real_astype(b, from, to, x);
  if (complex_result) nv_puts(b, ", 0.0f)");
}

static void put_op(nv_buf *b, nv_op op, const nv_dtype *dtypes, const char *const *operands, uint32_t n,
                   nv_dtype result, bool fused) {
  if (op == NV_OP_astype) {
    nv_put_astype(b, dtypes[0], result, operands[0]);
    return;
  }
  const nv_dtype d = nv_ops[op].dtype == NV_DT_SELECT ? dtypes[n - 1] : dtypes[0];
  const char *text = nv_ops[op].msl[nv_kind_of(d)];
  if (fused && nv_ops[op].msl_fast && nv_kind_of(d) == NV_KIND_FLOAT) text = nv_ops[op].msl_fast;
  if (!text)
    nv_raise(b->c, NUVECC_SPEC, "not supported yet: %s of %s in a kernel", nv_ops[op].name, nv_dtype_name[d]);
  /* moves keep the 16-bit type, everything else is float32's text between conversions */
  const bool moves = nv_ops[op].dtype == NV_DT_SELECT || nv_ops[op].dtype == NV_DT_ATTR || !strcmp(text, "$0");
  if (moves && result == NV_BOOL && d != NV_BOOL) text = "$0 != 0"; /* bits as bool: as_type doesn't know it */
  const bool rounds = is_short_float(result) && !moves;
  if (rounds) nv_printf(b, "%s(", nv_msl_type(result));
  for (const char *p = text; *p; p++) {
    if (p[0] == '-' && p[1] == '(' && p[2] == '$' && p[4] == ')' && operands[p[3] - '0'][0] != '-' &&
        dtypes[p[3] - '0'] == NV_F32) { /* -($0) needs its brackets for a negative literal only */
      nv_printf(b, "-%s", operands[p[3] - '0']);
      p += 4;
      continue;
    }
    if (*p != '$') {
      nv_putc(b, *p);
      continue;
    }
    p++;
    if (*p == 'T')
      nv_puts(b, nv_msl_type(result));
    else if (*p == 'O')
      nv_puts(b, nv_msl_type(d));
    else if (*p == 'U')
      nv_puts(b, unsigned_type(d));
    else {
      const uint32_t k = (uint32_t)(*p - '0');
      if (k >= n)
        nv_bug(b->c, "the Metal text of %s names operand %u of %u", nv_ops[op].name, (unsigned)k, (unsigned)n);
      const char *text_k = operands[k];
      const bool bracketed =
          text_k[0] == '(' && p > text + 1 && p[-2] == '(' && p[1] == ')'; /* (…) of a literal in (…) */
      if (is_short_float(dtypes[k]) && !moves)
        nv_printf(b, "float(%s)", text_k);
      else if (bracketed)
        nv_put(b, text_k + 1, strlen(text_k) - 2);
      else
        nv_puts(b, text_k);
    }
  }
  if (rounds) nv_putc(b, ')');
}

void nv_put_op(nv_buf *b, nv_op op, const nv_dtype *dtypes, const char *const *operands, uint32_t n,
               nv_dtype result) {
  put_op(b, op, dtypes, operands, n, result, false);
}

void nv_put_fused_op(nv_buf *b, nv_op op, const nv_dtype *dtypes, const char *const *operands, uint32_t n,
                     nv_dtype result) {
  put_op(b, op, dtypes, operands, n, result, b->c->options.fast_pow);
}
