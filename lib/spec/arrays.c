/* arrays.c - the files that constants name. What a file says is believed only after it was checked: a header may be
 * anything. */
#include "arrays.h"
#include "build.h"

#include <errno.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>

enum { MOST_TEXT = 256 };

typedef struct file {
  nv_str path;
  const uint8_t *bytes; /* NULL: can't be read */
  size_t n;
  const char *why;
  nv_ctx *own; /* of a .safetensors file: where its header's document lives, apart from the spec's */
  nv_doc *doc;
  const uint8_t *data;
  uint64_t room;
} file;

typedef struct reader {
  nv_ctx *c;
  nv_spec *s;
  file *files;
  uint32_t nfiles, cap;
  nv_map map; /* by path */
} reader;

static const char *const dtype_names[NV_NDTYPES] = {"BOOL", "U8",  "U16", "U32",  "U64", "I8", "I16",
                                                    "I32",  "I64", "F16", "BF16", "F32", "C64"};

int nv_safetensors_dtype(const char *name) {
  for (int d = 0; d < NV_NDTYPES; d++)
    if (!strcmp(name, dtype_names[d])) return d;
  return -1;
}

int64_t nv_array_bytes(const nv_array *a) {
  int64_t n = 1;
  bool empty = false;
  for (uint32_t k = 0; k < a->rank; k++) {
    empty = empty || !a->dims[k];
    if (a->dims[k] && (!nv_mul64(n, a->dims[k], &n) || n > INT64_C(1) << 48)) return -1;
  }
  return empty ? 0 : n * nv_dtype_size[a->dtype];
}

static void drop_files(void *arg) {
  const reader *r = arg;
  for (uint32_t k = 0; k < r->nfiles; k++) nv_ctx_free(r->files[k].own);
}

static bool ends_with(const char *text, const char *end) {
  const size_t n = strlen(text), m = strlen(end);
  return n >= m && !strcmp(text + n - m, end);
}

/* ---- a .safetensors file's header ---- */

static void first_text(void *user, const nuvecc_diagnostic *d) {
  char *text = user;
  if (!*text) snprintf(text, MOST_TEXT, "%s", d->text);
}

/* The header's document, in a context of its own. */
static nv_doc *parse_header(nv_ctx *own, const uint8_t *p, size_t n) {
  nv_doc *volatile doc = NULL;
  own->door_open = true;
  if (!setjmp(own->door)) doc = nv_doc_read(own, "header", NUVECC_FORMAT_JSON, p, n);
  own->door_open = false;
  nv_diag_flush(own);
  return own->errors || own->raised ? NULL : doc;
}

static const char *open_safetensors(reader *r, file *f) {
  char text[MOST_TEXT] = "";
  uint64_t length = 0;
  for (unsigned k = 0; f->n >= 8 && k < 8; k++) length |= (uint64_t)f->bytes[k] << 8 * k;
  if (f->n < 8 || length > f->n - 8)
    return nv_format(r->c, "it isn't a .safetensors file: its header doesn't fit in its %zu bytes", f->n);
  f->data = f->bytes + 8 + length;
  f->room = f->n - 8 - length;
  f->own = nv_ctx_new(&(nuvecc_options){.file = "header", .report = first_text, .user = text});
  if (!f->own) nv_raise(r->c, NUVECC_IO, "out of memory");
  f->doc = parse_header(f->own, f->bytes + 8, (size_t)length);
  if (!f->doc)
    return nv_format(r->c, "it isn't a .safetensors file: its header: %s", *text ? text : f->own->fault);
  if (nv_doc_at(f->doc, 0)->kind != NV_DOC_MAP) return "it isn't a .safetensors file: its header isn't a map";
  return NULL;
}

static bool read_size(const nv_doc *d, uint32_t node, uint64_t *v) {
  if (node == NV_NONE || nv_doc_at(d, node)->kind != NV_DOC_INT) return false;
  const char *text = nv_doc_text(d, node);
  char *stop;
  errno = 0;
  if (*text < '0' || *text > '9') return false;
  *v = strtoull(text, &stop, 10);
  return !errno && !*stop;
}

/* The node of a tensor; NV_NONE: *why says why. */
static uint32_t find_tensor(reader *r, const file *f, const nv_constant *k, const char **name, const char **why) {
  const char **names = NULL;
  uint32_t n = 0, cap = 0, node = NV_NONE;
  for (uint32_t key = nv_doc_at(f->doc, 0)->first, value; key != NV_NONE; key = nv_doc_at(f->doc, value)->next) {
    value = nv_doc_at(f->doc, key)->next;
    const char *text = nv_doc_text(f->doc, key);
    if (!strcmp(text, "__metadata__")) continue;
    NV_GROW(r->c, names, cap, (size_t)n + 1);
    names[n++] = text;
    if (k->tensor == NV_NONE || !strcmp(text, nv_text(r->c, k->tensor))) node = value, *name = text;
  }
  if (k->tensor == NV_NONE && n != 1) {
    node = NV_NONE;
    *why = nv_format(r->c, "it has %u tensors: 'tensor' says which", (unsigned)n);
  } else if (node == NV_NONE) {
    const char *wanted = nv_text(r->c, k->tensor), *near = nv_nearest(wanted, names, n);
    *why = nv_format(r->c, "it has no tensor '%s'%s", nv_shown(r->c, wanted, strlen(wanted)),
                     near ? nv_format(r->c, "; did you mean '%s'?", nv_shown(r->c, near, strlen(near))) : "");
  }
  nv_drop(r->c, names);
  return node;
}

static const char *read_shape(const nv_doc *d, uint32_t node, nv_array *a) {
  static const char why[] = "has no shape of at most 16 sizes";
  uint64_t size;
  if (node == NV_NONE || nv_doc_at(d, node)->kind != NV_DOC_LIST || nv_doc_at(d, node)->count > NV_MAX_RANK) return why;
  for (uint32_t at = nv_doc_at(d, node)->first; at != NV_NONE; at = nv_doc_at(d, at)->next) {
    if (!read_size(d, at, &size) || size > INT64_MAX) return why;
    a->dims[a->rank++] = (int64_t)size;
  }
  return NULL;
}

static const char *read_tensor(reader *r, const file *f, uint32_t node, nv_array *a) {
  const nv_doc *d = f->doc;
  if (nv_doc_at(d, node)->kind != NV_DOC_MAP) return "isn't a map of dtype, shape and data_offsets";
  const uint32_t dtype = nv_doc_get(d, node, "dtype"), offsets = nv_doc_get(d, node, "data_offsets");
  const char *text = dtype != NV_NONE && nv_doc_at(d, dtype)->kind == NV_DOC_STRING ? nv_doc_text(d, dtype) : "";
  const int known = nv_safetensors_dtype(text);
  uint64_t from = 0, to = 0;
  if (known < 0)
    return nv_format(r->c, "is of dtype '%s', which isn't one of the language's", nv_shown(r->c, text, strlen(text)));
  a->dtype = (nv_dtype)known;
  const char *why = read_shape(d, nv_doc_get(d, node, "shape"), a);
  if (why) return why;
  const int64_t bytes = nv_array_bytes(a);
  if (bytes < 0) return "has more than 2^48 elements";
  bool fits = offsets != NV_NONE && nv_doc_at(d, offsets)->kind == NV_DOC_LIST && nv_doc_at(d, offsets)->count == 2;
  if (fits) {
    const uint32_t first = nv_doc_at(d, offsets)->first;
    fits = read_size(d, first, &from) && read_size(d, nv_doc_at(d, first)->next, &to) && from <= to && to <= f->room &&
           to - from == (uint64_t)bytes;
  }
  if (!fits) return nv_format(r->c, "needs data_offsets of %lld bytes inside the file", (long long)bytes);
  a->bytes = f->data + from;
  a->n = (size_t)bytes;
  return NULL;
}

static nv_array read_safetensors(reader *r, const file *f, const nv_constant *k) {
  nv_array a = {0};
  const char *name = "";
  const uint32_t node = find_tensor(r, f, k, &name, &a.why);
  if (node == NV_NONE) return a;
  const char *why = read_tensor(r, f, node, &a);
  if (why) a.why = nv_format(r->c, "its tensor '%s' %s", nv_shown(r->c, name, strlen(name)), why);
  return a;
}

/* ---- constants ---- */

static file *open_file(reader *r, nv_str path) {
  const uint64_t hash = nv_hash(&path, sizeof path, 0);
  uint32_t at = 0, k;
  while ((k = nv_map_next(&r->map, hash, &at)) != NV_NONE)
    if (r->files[k].path == path) return &r->files[k];
  NV_GROW(r->c, r->files, r->cap, (size_t)r->nfiles + 1);
  file *f = &r->files[r->nfiles];
  const char *text = nv_text(r->c, path), *why = "files can't be read here";
  const nuvecc_options *o = &r->c->options;
  *f = (file){.path = path};
  nv_map_add(r->c, &r->map, hash, r->nfiles++);
  if (!ends_with(text, ".npy") && !ends_with(text, ".safetensors")) {
    f->why = "it is neither a .npy nor a .safetensors file";
    return f;
  }
  f->bytes = o->read ? o->read(o->reader, text, &f->n, &why) : NULL;
  if (!f->bytes) f->why = nv_format(r->c, "it can't be read: %s", why);
  else if (ends_with(text, ".safetensors")) f->why = open_safetensors(r, f);
  return f;
}

/* Bytes of bool arrays are 0 or 1. */
static bool are_bools(const nv_array *a) {
  uint8_t all = 0;
  for (size_t k = 0; a->dtype == NV_BOOL && k < a->n; k++) all |= a->bytes[k];
  return all <= 1;
}

static void read_constant(reader *r, nv_constant *k) {
  const file *f = open_file(r, k->file);
  const char *path = nv_text(r->c, k->file), *shown = nv_shown(r->c, path, strlen(path));
  const bool npy = ends_with(path, ".npy");
  nv_array a = {.why = f->why};
  k->broken = true;
  if (npy && k->tensor != NV_NONE) {
    nv_error(r->c, k->tensor_pos, "a .npy file has one array: 'tensor' stands beside a .safetensors file");
    return;
  }
  if (!a.why) a = npy ? nv_read_npy(r->c, f->bytes, f->n) : read_safetensors(r, f, k);
  if (!a.why && !are_bools(&a)) a.why = "it has bools that are neither 0 nor 1";
  if (a.why) {
    nv_error(r->c, k->tensor != NV_NONE && !f->why ? k->tensor_pos : k->file_pos, "file '%s': %s", shown, a.why);
    return;
  }
  if (k->dtype >= 0 && k->dtype != (int)a.dtype) {
    nv_error(r->c, k->dtype_pos, "file '%s' has %s here, not %s", shown, nv_dtype_name[a.dtype],
             nv_dtype_name[k->dtype]);
    return;
  }
  k->dtype = (int)a.dtype;
  k->rank = a.rank;
  memcpy(k->dims, a.dims, sizeof k->dims);
  k->bytes = a.bytes;
  k->nbytes = a.n;
  k->broken = false;
}

void nv_read_constant_files(nv_spec *s) {
  reader r = {.c = s->c, .s = s};
  nv_deferred deferred;
  nv_defer(r.c, &deferred, drop_files, &r);
  for (uint32_t i = 0; i < s->nconstants; i++)
    if (s->constants[i].file != NV_NONE) read_constant(&r, &s->constants[i]);
  nv_undefer(r.c);
  drop_files(&r);
  nv_drop(r.c, r.files);
  nv_map_drop(r.c, &r.map);
}
