/* tensors.c - arrays in files: .json (nested lists) and .safetensors, to and from nuvecc_tensor. */
#include "ir/dtype.h"
#include "spec/build.h"

#include <errno.h>
#include <stdlib.h>

static const char *const st_names[NV_NDTYPES] = {
    "BOOL", "U8",  "U16", "U32",  "U64", "I8", "I16",
    "I32",  "I64", "F16", "BF16", "F32", "C64"}; /* safetensors' dtypes */

/* ---- elements in memory, little-endian whatever the machine ---- */
static void store(unsigned char *p, nv_dtype d, uint64_t bits) {
  for (unsigned i = 0; i < nv_dtype_size[d]; i++) p[i] = (unsigned char)(bits >> 8 * i);
}
static uint64_t fetch(const unsigned char *p, nv_dtype d) {
  uint64_t bits = 0;
  for (unsigned i = 0; i < nv_dtype_size[d]; i++) bits |= (uint64_t)p[i] << 8 * i;
  return bits;
}

static void put_shape(nv_buf *b, const nuvecc_tensor *t) {
  nv_putc(b, '[');
  for (int32_t d = 0; d < t->rank; d++) nv_printf(b, d ? ", %lld" : "%lld", (long long)t->shape[d]);
  nv_putc(b, ']');
}

/* ---- reading JSON ---- */

/* A node as it may stand in a message. */
static const char *found(nv_ctx *c, uint32_t node) {
  const nv_doc_node *x = nv_doc_at(c->doc, node);
  switch ((nv_doc_kind)x->kind) {
  case NV_DOC_LIST: return nv_format(c, "a list of %u", x->count);
  case NV_DOC_MAP: return "a map";
  case NV_DOC_STRING: return nv_format(c, "the text '%s'", nv_shown(c, nv_doc_text(c->doc, node), x->length));
  default: return nv_shown(c, nv_doc_text(c->doc, node), x->length);
  }
}

/* One scalar of the document as dtype d; false with an error reported. */
static bool read_scalar(nv_ctx *c, uint32_t node, nv_dtype d, uint64_t *bits) {
  const nv_doc *doc = c->doc;
  const nv_doc_node *x = nv_doc_at(doc, node);
  const char *text = nv_doc_text(doc, node);
  nv_pos pos = {node, 0};
  if (d == NV_BOOL) {
    *bits = x->kind == NV_DOC_BOOL && text[0] == 't';
    if (x->kind == NV_DOC_BOOL) return true;
  } else if (nv_is(d, NV_BITS_INT)) {
    if (x->kind == NV_DOC_INT || x->kind == NV_DOC_STRING) {
      char *stop;
      errno = 0;
      bool negative = text[0] == '-';
      unsigned long long u = strtoull(negative ? text + 1 : text, &stop, 10);
      const char *digits = negative ? text + 1 : text;
      if (*digits >= '0' && *digits <= '9' && !*stop) {
        bool fits = !errno && (negative ? u <= (unsigned long long)INT64_MAX + 1 : true);
        if (fits && d == NV_U64)
          fits = !negative || !u;
        else if (fits && !negative)
          fits = u <= INT64_MAX && nv_int_fits(d, (int64_t)u);
        else if (fits)
          fits = nv_int_fits(d, (int64_t)(0 - u));
        if (!fits) {
          nv_error(c, pos, "%s is out of range for %s", nv_shown(c, text, x->length), nv_dtype_name[d]);
          return false;
        }
        *bits = negative ? 0 - (uint64_t)u : (uint64_t)u;
        return true;
      }
    }
  } else if (x->kind == NV_DOC_INT || x->kind == NV_DOC_FLOAT ||
             (x->kind == NV_DOC_STRING && (!strcmp(text, "nan") || !strcmp(text, "inf") || !strcmp(text, "-inf")))) {
    *bits = nv_decimal_to_bits(c, d, text);
    return true;
  }
  nv_error(c, pos, "expected %s (%s), found %s",
           d == NV_BOOL            ? "true or false"
           : nv_is(d, NV_BITS_INT) ? "a whole number"
                                   : "a number",
           nv_dtype_name[d], found(c, node));
  return false;
}

static bool read_element(nv_ctx *c, uint32_t node, nv_dtype d, unsigned char *p) {
  uint64_t bits = 0, im = 0;
  if (d == NV_C64) {
    const nv_doc_node *x = nv_doc_at(c->doc, node);
    if (x->kind != NV_DOC_LIST || x->count != 2) {
      nv_error(c, (nv_pos){node, 0}, "expected [re, im] (complex64), found %s", found(c, node));
      return false;
    }
    if (!read_scalar(c, x->first, NV_F32, &bits) || !read_scalar(c, nv_doc_at(c->doc, x->first)->next, NV_F32, &im))
      return false;
    bits |= im << 32;
  } else if (!read_scalar(c, node, d, &bits)) {
    return false;
  }
  store(p, d, bits);
  return true;
}

/* Walks nested lists with a stack of one position a dimension. */
static bool read_nested(nv_ctx *c, uint32_t node, const nuvecc_tensor *want, unsigned char *p) {
  uint32_t at[NV_MAX_RANK + 1];
  nv_dtype d = (nv_dtype)want->dtype;
  int32_t level = 0;
  if (!want->bytes) { /* no elements: any empty nesting will do */
    if (nv_doc_at(c->doc, node)->kind == NV_DOC_LIST) return true;
    nv_error(c, (nv_pos){node, 0}, "expected a list, found %s", found(c, node));
    return false;
  }
  at[0] = node;
  for (;;) {
    bool up = at[level] == NV_NONE;
    if (!up && level < want->rank) { /* a list of the next dimension */
      const nv_doc_node *x = nv_doc_at(c->doc, at[level]);
      if (x->kind != NV_DOC_LIST || x->count != (uint64_t)want->shape[level]) {
        nv_error(c, (nv_pos){at[level], 0}, "expected a list of %lld, found %s", (long long)want->shape[level],
                 found(c, at[level]));
        return false;
      }
      at[++level] = x->first;
      continue;
    }
    if (!up) {
      if (!read_element(c, at[level], d, p)) return false;
      p += nv_dtype_size[d];
    } else {
      level--;
    }
    if (level == 0) return true;
    at[level] = nv_doc_at(c->doc, at[level])->next;
  }
}

/* name -> index in want, NV_NONE when it isn't one */
typedef struct names {
  nv_map map;
  const nuvecc_tensor *want;
} names;
static void names_init(nv_ctx *c, names *t, const nuvecc_tensor *want, size_t n) {
  *t = (names){.want = want};
  for (size_t i = 0; i < n; i++) nv_map_add(c, &t->map, nv_hash(want[i].name, strlen(want[i].name), 0), (uint32_t)i);
}
static uint32_t names_find(const names *t, const char *name, size_t n) {
  uint32_t at = 0, id;
  while ((id = nv_map_next(&t->map, nv_hash(name, n, 0), &at)) != NV_NONE)
    if (strlen(t->want[id].name) == n && !memcmp(t->want[id].name, name, n)) return id;
  return NV_NONE;
}
/* Reports a name that is no input's; the input that it may mean isn't reported as missing. */
static void unknown_name(nv_ctx *c, nv_pos pos, const char *name, const nuvecc_tensor *want, size_t nwant,
                         bool *seen) {
  const char **list = NV_NEW_N(c, const char *, nwant + 1);
  for (size_t i = 0; i < nwant; i++) list[i] = want[i].name;
  const char *near = nv_nearest(name, list, nwant);
  for (size_t i = 0; near && i < nwant; i++) seen[i] = seen[i] || near == want[i].name;
  nv_error(c, pos, "no input is named '%s'%s", nv_shown(c, name, strlen(name)),
           near ? nv_format(c, "; did you mean '%s'?", near) : "");
}

static void read_json(nv_ctx *c, const void *bytes, size_t n, const nuvecc_tensor *want, size_t nwant,
                      nuvecc_tensor *out) {
  nv_doc *doc = nv_doc_read(c, c->options.file, NUVECC_FORMAT_JSON, bytes, n);
  if (!doc) return;
  const nv_doc_node *root = nv_doc_at(doc, 0);
  if (root->kind != NV_DOC_MAP) {
    nv_error(c, (nv_pos){0, 0}, "expected a map from input names to nested lists, found %s", found(c, 0));
    return;
  }
  names table;
  names_init(c, &table, want, nwant);
  bool *seen = NV_NEW_N(c, bool, nwant + 1);
  for (uint32_t key = root->first; key != NV_NONE;) {
    uint32_t value = nv_doc_at(doc, key)->next;
    uint32_t i = names_find(&table, nv_doc_text(doc, key), nv_doc_at(doc, key)->length);
    if (i == NV_NONE) {
      unknown_name(c, (nv_pos){key, 0}, nv_doc_text(doc, key), want, nwant, seen);
    } else {
      seen[i] = true;
      read_nested(c, value, &want[i], out[i].data);
    }
    key = nv_doc_at(doc, value)->next;
  }
  for (size_t i = 0; i < nwant; i++)
    if (!seen[i]) nv_error(c, (nv_pos){0, 0}, "input '%s' is missing", want[i].name);
}

/* ---- reading safetensors: 8 bytes of header length, a JSON header, the data ---- */

static bool doc_int(const nv_doc *d, uint32_t node, uint64_t *v) {
  if (node == NV_NONE || nv_doc_at(d, node)->kind != NV_DOC_INT) return false;
  const char *text = nv_doc_text(d, node);
  char *stop;
  errno = 0;
  if (*text == '-') return false;
  *v = strtoull(text, &stop, 10);
  return !errno && !*stop;
}

static void read_safetensors(nv_ctx *c, const void *bytes, size_t n, const nuvecc_tensor *want, size_t nwant,
                             nuvecc_tensor *out) {
  const unsigned char *p = bytes;
  uint64_t length = n >= 8 ? fetch(p, NV_U64) : UINT64_MAX;
  if (n < 8 || length > n - 8) {
    nv_error(c, NV_NOWHERE, "not a .safetensors file: its header does not fit in %zu bytes", n);
    return;
  }
  nv_doc *doc = nv_doc_read(c, c->options.file, NUVECC_FORMAT_JSON, p + 8, (size_t)length);
  if (!doc) return;
  const unsigned char *data = p + 8 + length;
  uint64_t room = n - 8 - length;
  const nv_doc_node *root = nv_doc_at(doc, 0);
  if (root->kind != NV_DOC_MAP) {
    nv_error(c, (nv_pos){0, 0}, "expected a map of tensors, found %s", found(c, 0));
    return;
  }
  names table;
  names_init(c, &table, want, nwant);
  bool *seen = NV_NEW_N(c, bool, nwant + 1);
  for (uint32_t key = root->first, value; key != NV_NONE; key = nv_doc_at(doc, value)->next) {
    value = nv_doc_at(doc, key)->next;
    const char *name = nv_doc_text(doc, key);
    if (!strcmp(name, "__metadata__")) continue;
    uint32_t i = names_find(&table, name, nv_doc_at(doc, key)->length);
    if (i == NV_NONE) {
      unknown_name(c, (nv_pos){key, 0}, name, want, nwant, seen);
      continue;
    }
    seen[i] = true;
    if (nv_doc_at(doc, value)->kind != NV_DOC_MAP) {
      nv_error(c, (nv_pos){value, 0}, "expected a map with dtype, shape and data_offsets, found %s",
               found(c, value));
      continue;
    }
    const nuvecc_tensor *w = &want[i];
    uint32_t dtype = nv_doc_get(doc, value, "dtype"), shape = nv_doc_get(doc, value, "shape"),
             offsets = nv_doc_get(doc, value, "data_offsets");
    if (dtype == NV_NONE || strcmp(nv_doc_text(doc, dtype), st_names[w->dtype])) {
      nv_error(c, (nv_pos){dtype == NV_NONE ? value : dtype, 0}, "'%s' must have dtype %s", name, st_names[w->dtype]);
      continue;
    }
    bool fits = shape != NV_NONE && nv_doc_at(doc, shape)->kind == NV_DOC_LIST &&
                nv_doc_at(doc, shape)->count == (uint32_t)w->rank;
    uint32_t at = fits ? nv_doc_at(doc, shape)->first : NV_NONE;
    for (int32_t k = 0; fits && k < w->rank; k++, at = nv_doc_at(doc, at)->next) {
      uint64_t size;
      fits = doc_int(doc, at, &size) && size == (uint64_t)w->shape[k];
    }
    if (!fits) {
      nv_buf b;
      nv_buf_init(&b, c);
      put_shape(&b, w);
      nv_error(c, (nv_pos){shape == NV_NONE ? value : shape, 0}, "'%s' must have shape %s", name, nv_buf_text(&b));
      continue;
    }
    uint64_t from = 0, to = 0;
    fits = offsets != NV_NONE && nv_doc_at(doc, offsets)->kind == NV_DOC_LIST && nv_doc_at(doc, offsets)->count == 2;
    if (fits) {
      uint32_t first = nv_doc_at(doc, offsets)->first;
      fits = doc_int(doc, first, &from) && doc_int(doc, nv_doc_at(doc, first)->next, &to) && from <= to &&
             to <= room && to - from == w->bytes;
    }
    if (!fits) {
      nv_error(c, (nv_pos){offsets == NV_NONE ? value : offsets, 0},
               "'%s' needs data_offsets of %zu bytes inside the file", name, w->bytes);
      continue;
    }
    if (w->bytes) memcpy(out[i].data, data + from, w->bytes);
  }
  for (size_t i = 0; i < nwant; i++)
    if (!seen[i]) nv_error(c, (nv_pos){0, 0}, "input '%s' is missing", want[i].name);
}

/* ---- sizes that the types leave open ---- */

/* Of nested lists: the lengths of the first list of every dimension. */
static void json_shape(const nv_doc *doc, uint32_t node, nuvecc_tensor *t) {
  for (int32_t k = 0; k < t->rank; k++) {
    const nv_doc_node *x = node == NV_NONE ? NULL : nv_doc_at(doc, node);
    const bool list = x && x->kind == NV_DOC_LIST;
    if (t->shape[k] < 0) t->shape[k] = list ? (int64_t)x->count : 0;
    node = list ? x->first : NV_NONE;
  }
}

static void safetensors_shape(const nv_doc *doc, uint32_t node, nuvecc_tensor *t) {
  const uint32_t shape = node != NV_NONE && nv_doc_at(doc, node)->kind == NV_DOC_MAP
                             ? nv_doc_get(doc, node, "shape")
                             : NV_NONE;
  const bool list = shape != NV_NONE && nv_doc_at(doc, shape)->kind == NV_DOC_LIST;
  uint32_t at = list ? nv_doc_at(doc, shape)->first : NV_NONE;
  for (int32_t k = 0; k < t->rank; k++) {
    uint64_t size = 0;
    if (at != NV_NONE && !doc_int(doc, at, &size)) size = 0;
    if (t->shape[k] < 0) t->shape[k] = size <= INT64_MAX ? (int64_t)size : 0;
    if (at != NV_NONE) at = nv_doc_at(doc, at)->next;
  }
}

/* Fills out's open sizes from the file; what is wrong with it is found when its elements are read. */
static void read_shapes(nv_ctx *c, nuvecc_tensor_format format, const void *bytes, size_t n, size_t nwant,
                        nuvecc_tensor *out) {
  const unsigned char *p = bytes;
  const size_t whole = n;
  if (format == NUVECC_TENSORS_SAFETENSORS) {
    const uint64_t length = n >= 8 ? fetch(p, NV_U64) : UINT64_MAX;
    n = n >= 8 && length <= n - 8 ? (size_t)length : 0;
    p = n ? p + 8 : NULL;
  }
  nv_doc *doc = p ? nv_doc_read(c, c->options.file, NUVECC_FORMAT_JSON, p, n) : NULL;
  const bool map = doc && nv_doc_at(doc, 0)->kind == NV_DOC_MAP;
  for (size_t i = 0; i < nwant; i++) {
    const uint32_t value = map ? nv_doc_get(doc, 0, out[i].name) : NV_NONE;
    int64_t count = (int64_t)nv_dtype_size[out[i].dtype];
    if (format == NUVECC_TENSORS_JSON)
      json_shape(doc, value, &out[i]);
    else
      safetensors_shape(doc, value, &out[i]);
    bool fits = true;
    for (int32_t k = 0; k < out[i].rank; k++) fits = nv_mul64(count, out[i].shape[k], &count) && fits;
    if (format == NUVECC_TENSORS_SAFETENSORS && (!fits || (uint64_t)count > whole))
      nv_raise(c, NUVECC_SPEC, "'%s' would have more bytes than the file", out[i].name);
    out[i].bytes = (size_t)count;
  }
}

typedef struct job { /* what the two readers share */
  nuvecc_tensor_format format;
  const void *bytes;
  size_t n;
  const nuvecc_tensor *want;
  size_t nwant;
  nuvecc_tensor *out;
  bool shapes;
} job;

static nuvecc_status run(const nuvecc_options *options, const job *j) {
  nv_ctx *c = nv_ctx_new(options);
  if (!c) return NUVECC_IO;
  nuvecc_status status = NUVECC_OK;
  for (size_t i = 0; i < j->nwant; i++) {
    void *data = j->out[i].data;
    j->out[i] = j->want[i];
    j->out[i].data = data;
  }
  nv_locale l = nv_enter_c_locale();
  c->stage = "tensor reader";
  c->door_open = true;
  if (setjmp(c->door)) {
    nuvecc_diagnostic d = {.severity = NUVECC_ERROR, .file = options->file, .text = c->fault};
    if (options->report) options->report(options->user, &d);
    status = c->raised;
  } else {
    if (j->shapes)
      read_shapes(c, j->format, j->bytes, j->n, j->nwant, j->out);
    else if (j->format == NUVECC_TENSORS_JSON)
      read_json(c, j->bytes, j->n, j->want, j->nwant, j->out);
    else
      read_safetensors(c, j->bytes, j->n, j->want, j->nwant, j->out);
    if (c->errors) status = NUVECC_SPEC;
    nv_diag_flush(c);
  }
  nv_leave_c_locale(l);
  nv_ctx_free(c);
  return status;
}

nuvecc_status nuvecc_read_tensors(const nuvecc_options *options, nuvecc_tensor_format format, const void *bytes,
                                  size_t n, const nuvecc_tensor *want, size_t nwant, nuvecc_tensor *out) {
  const job j = {format, bytes, n, want, nwant, out, false};
  return run(options, &j);
}

nuvecc_status nuvecc_read_shapes(const nuvecc_options *options, nuvecc_tensor_format format, const void *bytes,
                                 size_t n, const nuvecc_tensor *want, size_t nwant, nuvecc_tensor *out) {
  const job j = {format, bytes, n, want, nwant, out, true};
  return run(options, &j);
}

/* ---- writing ---- */

static void put_element(nv_buf *b, nv_dtype d, uint64_t bits) {
  if (d == NV_BOOL) {
    nv_puts(b, bits & 1 ? "true" : "false");
  } else if (nv_is(d, NV_BITS_UNSIGNED)) {
    nv_printf(b, bits > (1ull << 53) ? "\"%llu\"" : "%llu", (unsigned long long)bits);
  } else if (nv_is(d, NV_BITS_SIGNED)) {
    unsigned width = 8u * nv_dtype_size[d];
    int64_t v = width == 64
                    ? (int64_t)bits
                    : (int64_t)(bits ^ (1ull << (width - 1))) - (int64_t)(1ull << (width - 1)); /* sign extension */
    nv_printf(b, v > (1ll << 53) || v < -(1ll << 53) ? "\"%lld\"" : "%lld", (long long)v);
  } else {
    float x = nv_bits_to_f32(d, bits);
    bool quoted = x - x != 0;
    if (quoted) nv_putc(b, '"');
    nv_put_float(b, x);
    if (quoted) nv_putc(b, '"');
  }
}

static void put_tensor(nv_buf *b, const nuvecc_tensor *t) {
  nv_dtype d = (nv_dtype)t->dtype;
  const unsigned char *p = t->data;
  int64_t at[NV_MAX_RANK] = {0};
  int32_t level = 0; /* open brackets */
  for (;;) {
    while (level < t->rank) {
      nv_putc(b, '[');
      at[level++] = 0;
      if (!t->shape[level - 1]) break;
    }
    if (level == t->rank && (!level || t->shape[level - 1])) {
      uint64_t bits = fetch(p, d);
      if (d == NV_C64) {
        nv_putc(b, '[');
        put_element(b, NV_F32, bits & 0xffffffffu);
        nv_puts(b, ", ");
        put_element(b, NV_F32, bits >> 32);
        nv_putc(b, ']');
      } else {
        put_element(b, d, bits);
      }
      p += nv_dtype_size[d];
    }
    while (level && ++at[level - 1] >= t->shape[level - 1]) {
      nv_putc(b, ']');
      level--;
    }
    if (!level) return;
    nv_puts(b, ", ");
  }
}

static void write_json(nv_buf *b, const nuvecc_tensor *t, size_t n) {
  nv_putc(b, '{');
  for (size_t i = 0; i < n; i++) {
    nv_puts(b, i ? ",\n " : "\n ");
    nv_put_json(b, t[i].name, strlen(t[i].name));
    nv_puts(b, ": ");
    put_tensor(b, &t[i]);
  }
  nv_puts(b, "\n}\n");
}

static void write_safetensors(nv_buf *b, const nuvecc_tensor *t, size_t n) {
  nv_buf h;
  nv_buf_init(&h, b->c);
  size_t offset = 0;
  nv_putc(&h, '{');
  for (size_t i = 0; i < n; i++) {
    if (i) nv_putc(&h, ',');
    nv_put_json(&h, t[i].name, strlen(t[i].name));
    nv_printf(&h, ":{\"dtype\":\"%s\",\"shape\":", st_names[t[i].dtype]);
    put_shape(&h, &t[i]);
    nv_printf(&h, ",\"data_offsets\":[%zu,%zu]}", offset, offset + t[i].bytes);
    offset += t[i].bytes;
  }
  nv_putc(&h, '}');
  while (h.n % 8) nv_putc(&h, ' ');
  unsigned char length[8];
  store(length, NV_U64, h.n);
  nv_put(b, (const char *)length, 8);
  nv_put(b, h.p, h.n);
  for (size_t i = 0; i < n; i++) nv_put(b, t[i].data, t[i].bytes);
}

char *nuvecc_write_tensors(nuvecc_tensor_format format, const nuvecc_tensor *tensors, size_t ntensors, size_t *n) {
  nv_ctx *c = nv_ctx_new(NULL);
  char *volatile text = NULL;
  if (!c) return NULL;
  nv_locale l = nv_enter_c_locale();
  c->stage = "tensor writer";
  c->door_open = true;
  if (!setjmp(c->door)) {
    nv_buf b;
    nv_buf_init(&b, c);
    if (format == NUVECC_TENSORS_JSON)
      write_json(&b, tensors, ntensors);
    else
      write_safetensors(&b, tensors, ntensors);
    nv_buf_text(&b);
    text = malloc((size_t)b.n + 1);
    if (text) memcpy(text, b.p, (size_t)b.n + 1);
    *n = b.n;
  }
  nv_leave_c_locale(l);
  nv_ctx_free(c);
  return text;
}
