/* npy.c - .npy files: a magic number, a version, the length of a header, the header (a literal of Python's), the
 * elements. NumPy's numpy.lib.format describes it. */
#include "arrays.h"

typedef struct cursor {
  const char *p, *end;
} cursor;

static void skip_blanks(cursor *r) {
  while (r->p < r->end && (*r->p == ' ' || *r->p == '\n')) r->p++;
}
static bool take(cursor *r, char ch) {
  skip_blanks(r);
  if (r->p == r->end || *r->p != ch) return false;
  r->p++;
  return true;
}
/* Text between quotes, without escapes. */
static bool take_text(cursor *r, const char **text, size_t *n) {
  skip_blanks(r);
  if (r->p == r->end || (*r->p != '\'' && *r->p != '"')) return false;
  const char quote = *r->p++, *end = memchr(r->p, quote, (size_t)(r->end - r->p));
  if (!end) return false;
  *text = r->p;
  *n = (size_t)(end - r->p);
  r->p = end + 1;
  return true;
}
static bool take_word(cursor *r, const char *word) {
  const size_t n = strlen(word);
  skip_blanks(r);
  if ((size_t)(r->end - r->p) < n || memcmp(r->p, word, n)) return false;
  r->p += n;
  return true;
}
static bool take_size(cursor *r, int64_t *v) {
  skip_blanks(r);
  if (r->p == r->end || *r->p < '0' || *r->p > '9') return false;
  for (*v = 0; r->p < r->end && *r->p >= '0' && *r->p <= '9'; r->p++)
    if (!nv_mul64(*v, 10, v) || !nv_add64(*v, *r->p - '0', v)) return false;
  return true;
}

/* ( [ size { "," size } [ "," ] ] ) */
static bool take_shape(cursor *r, nv_array *a) {
  if (!take(r, '(')) return false;
  for (a->rank = 0; !take(r, ')'); a->rank++) {
    if (a->rank == NV_MAX_RANK || !take_size(r, &a->dims[a->rank])) return false;
    if (take(r, ',')) continue;
    a->rank++;
    return take(r, ')');
  }
  return true;
}

/* "<f4", "|u1": byte order, kind, bytes. */
static const char *dtype_of(nv_ctx *c, const char *text, size_t n, nv_dtype *d) {
  static const struct {
    const char *text;
    nv_dtype dtype;
  } known[] = {{"b1", NV_BOOL}, {"u1", NV_U8},  {"u2", NV_U16}, {"u4", NV_U32}, {"u8", NV_U64}, {"i1", NV_I8},
               {"i2", NV_I16},  {"i4", NV_I32}, {"i8", NV_I64}, {"f2", NV_F16}, {"f4", NV_F32}, {"c8", NV_C64}};
  const char *shown = nv_format(c, "%.*s", (int)(n > 20 ? 20 : n), text);
  for (char *p = (char *)(uintptr_t)shown; *p; p++)
    if (*p < 32 || *p > 126) *p = '?';
  for (size_t k = 0; n == 3 && k < sizeof known / sizeof *known; k++) {
    if (memcmp(known[k].text, text + 1, 2)) continue;
    *d = known[k].dtype;
    if (text[0] == '<' || (nv_dtype_size[*d] == 1 && text[0] == '|')) return NULL;
    if (text[0] == '>') return nv_format(c, "its elements are big-endian ('%s'): save it little-endian", shown);
  }
  if (n == 3 && !memcmp(text + 1, "f8", 2)) return "its elements are float64, which no GPU has: save it as float32";
  return nv_format(c, "its elements are of dtype '%s', which isn't one of the language's", shown);
}

static const char *read_header(nv_ctx *c, cursor *r, nv_array *a) {
  static const char none[] = "its header isn't {'descr': …, 'fortran_order': …, 'shape': …}";
  bool fortran = false, descr = false, order = false, shape = false;
  if (!take(r, '{')) return none;
  while (!take(r, '}')) {
    const char *key, *text;
    size_t n, length;
    if (!take_text(r, &key, &n) || !take(r, ':')) return none;
    if (n == 5 && !memcmp(key, "descr", 5) && !descr) {
      if (!take_text(r, &text, &length)) return none;
      const char *why = dtype_of(c, text, length, &a->dtype);
      if (why) return why;
      descr = true;
    } else if (n == 13 && !memcmp(key, "fortran_order", 13) && !order) {
      order = true;
      fortran = take_word(r, "True");
      if (!fortran && !take_word(r, "False")) return none;
    } else if (n == 5 && !memcmp(key, "shape", 5) && !shape) {
      shape = true;
      if (!take_shape(r, a)) return "its header has no shape of at most 16 sizes";
    } else {
      return none;
    }
    if (take(r, ',')) continue;
    if (!take(r, '}')) return none;
    break;
  }
  skip_blanks(r);
  if (!descr || !order || !shape || r->p != r->end) return none;
  if (fortran && a->rank > 1) return "it is in Fortran's order: save it with numpy.ascontiguousarray";
  return NULL;
}

nv_array nv_read_npy(nv_ctx *c, const uint8_t *p, size_t n) {
  nv_array a = {0};
  if (n < 10 || memcmp(p, "\x93NUMPY", 6)) {
    a.why = "it doesn't start as a .npy file does";
    return a;
  }
  if (p[6] < 1 || p[6] > 3 || p[7]) {
    a.why = nv_format(c, "it is of version %d.%d of the format: 1.0 to 3.0 are known", p[6], p[7]);
    return a;
  }
  const size_t start = p[6] == 1 ? 10 : 12;
  uint64_t length = p[8] | (uint64_t)p[9] << 8;
  if (n >= start && p[6] > 1) length |= (uint64_t)p[10] << 16 | (uint64_t)p[11] << 24;
  if (n < start || length > n - start) {
    a.why = "it ends inside its header";
    return a;
  }
  cursor r = {(const char *)p + start, (const char *)p + start + length};
  a.why = read_header(c, &r, &a);
  if (a.why) return a;
  a.bytes = p + start + length;
  a.n = n - start - (size_t)length;
  const int64_t want = nv_array_bytes(&a);
  if (want < 0) a.why = "it has more than 2^48 elements";
  else if ((uint64_t)want != a.n)
    a.why = nv_format(c, "its shape comes to %lld bytes, but %zu follow its header", (long long)want, a.n);
  return a;
}
