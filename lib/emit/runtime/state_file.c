/* state_file.c - the replay engine: states as .safetensors files: 8 bytes of length, a JSON object of names, dtypes,
 * shapes and offsets, the bytes of the arrays. */
#include "state_encode.c"

static const char *const nvr_file_dtypes[NVR_NDTYPES] = {"BOOL", "U8",  "U16", "U32", "U64",  "I8", "I16",
                                                         "I32",  "I64", "F16", "BF16", "F32", "C64"};

/* ---- writing ---- */

static int nvr_write_leaf_name(FILE *file, const char *name) {
  const unsigned char *p;
  int bad = fputc('"', file) < 0;
  for (p = (const unsigned char *)name; *p; p++)
    bad |= *p == '"' || *p == '\\' || *p < 32 ? fprintf(file, "\\u%04x", *p) < 0 : fputc(*p, file) < 0;
  return bad | (fputc('"', file) < 0);
}

/* The header, padded to a multiple of 8 bytes; its length in front is written when it is known. */
static int nvr_write_header(FILE *file, const nvr_form *f, void *leaves) {
  unsigned char length[8] = {0};
  size_t k, offset = 0, written = 0;
  int32_t d;
  long end;
  int bad = fwrite(length, 1, 8, file) != 8 || fputc('{', file) < 0;
  for (k = 0; !bad && k < f->ninputs; k++) {
    const nuvec_array *a = nvr_leaf_at(leaves, &f->inputs[k]);
    if (f->inputs[k].from != NVR_STATE) continue;
    if (written++) bad |= fputc(',', file) < 0;
    bad |= nvr_write_leaf_name(file, f->inputs[k].name);
    bad |= fprintf(file, ":{\"dtype\":\"%s\",\"shape\":[", nvr_file_dtypes[a->dtype]) < 0;
    for (d = 0; d < a->rank; d++) bad |= fprintf(file, d ? ",%lld" : "%lld", (long long)a->shape[d]) < 0;
    bad |= fprintf(file, "],\"data_offsets\":[%zu,%zu]}", offset, offset + nvr_bytes(a)) < 0;
    offset += nvr_bytes(a);
  }
  bad |= fputc('}', file) < 0;
  for (end = ftell(file); !bad && end % 8; end++) bad |= fputc(' ', file) < 0;
  for (k = 0; k < 8; k++) length[k] = (unsigned char)((uint64_t)(end - 8) >> 8 * k);
  return bad || fseek(file, 0, SEEK_SET) || fwrite(length, 1, 8, file) != 8 || fseek(file, 0, SEEK_END);
}

/* Writes beside the file and renames, so that a file is whole or as it was. */
static nuvec_status nvr_state_save(nvr_state *s, const char *path) {
  nvr_context *c;
  const nvr_entry *e;
  const nvr_form *f;
  nuvec_status status;
  char *other;
  FILE *file;
  size_t k;
  int bad;
  if (!s) return NUVEC_NULL;
  c = s->function->context;
  e = s->function->entry;
  if (!path) return nvr_fail(c, NUVEC_NULL, "%s: the path is NULL", e->name);
  status = nvr_ask_state(s, 1);
  if (status != NUVEC_OK) return status;
  other = (char *)malloc(strlen(path) + 5);
  if (!other) return nvr_fail(c, NUVEC_OUT_OF_MEMORY, "%s: no memory to save a state", e->name);
  strcpy(other, path);
  strcat(other, ".tmp");
  file = fopen(other, "wb");
  f = nvr_form_of_leaves(e, s->now);
  bad = !file || !f || nvr_write_header(file, f, s->now);
  for (k = 0; !bad && k < f->ninputs; k++) {
    const nuvec_array *a = nvr_leaf_at(s->now, &f->inputs[k]);
    if (f->inputs[k].from != NVR_STATE || !nvr_bytes(a)) continue;
    bad = fwrite(a->host, 1, nvr_bytes(a), file) != nvr_bytes(a);
  }
  if (file) bad |= fclose(file) != 0;
  bad = bad || rename(other, path);
  if (bad) {
    status = nvr_fail(c, NUVEC_FILE, "%s: %s can't be written", e->name, path);
    if (file) remove(other);
  }
  free(other);
  return status;
}

/* ---- reading ---- */

typedef struct nvr_json { /* a cursor; p == NULL: what was read is no JSON */
  const char *p, *end;
} nvr_json;

static int nvr_json_next(nvr_json *j, char want) { /* skips blanks; takes want if it stands there */
  while (j->p && j->p < j->end && strchr(" \t\r\n", *j->p) && *j->p) j->p++;
  if (!j->p || j->p == j->end || *j->p != want) return 0;
  j->p++;
  return 1;
}
static void nvr_json_must(nvr_json *j, char want) {
  if (!nvr_json_next(j, want)) j->p = NULL;
}
/* A string as it is spelt, between the quotes. */
static const char *nvr_json_string(nvr_json *j, size_t *n) {
  const char *start;
  nvr_json_must(j, '"');
  start = j->p;
  while (j->p && j->p < j->end && *j->p != '"') j->p += *j->p == '\\' && j->p + 1 < j->end ? 2 : 1;
  *n = j->p ? (size_t)(j->p - start) : 0;
  nvr_json_must(j, '"');
  return start;
}
static uint64_t nvr_json_number(nvr_json *j) {
  uint64_t n = 0;
  int digits = 0;
  (void)nvr_json_next(j, '\0');
  while (j->p && j->p < j->end && *j->p >= '0' && *j->p <= '9' && digits++ < 18) n = n * 10 + (uint64_t)(*j->p++ - '0');
  if (!digits || digits > 18) j->p = NULL;
  return n;
}
/* Any value; brackets are counted, not matched. */
static void nvr_json_skip(nvr_json *j) {
  size_t depth = 0, n;
  do {
    (void)nvr_json_next(j, '\0');
    if (!j->p || j->p == j->end) {
      j->p = NULL;
    } else if (*j->p == '"') {
      (void)nvr_json_string(j, &n);
    } else {
      if (*j->p == '{' || *j->p == '[') depth++;
      else if ((*j->p == '}' || *j->p == ']') && depth) depth--;
      else if (!depth)
        while (j->p + 1 < j->end && !strchr(",}] \t\r\n", j->p[1])) j->p++;
      j->p++;
    }
  } while (j->p && depth);
}

static int nvr_is(const char *text, size_t n, const char *want) { return n == strlen(want) && !memcmp(text, want, n); }

typedef struct nvr_tensor { /* a row of the header */
  int dtype, rank;
  int64_t shape[NVR_MAX_RANK];
  uint64_t start, end;
} nvr_tensor;

static void nvr_read_row(nvr_json *j, nvr_tensor *t) {
  size_t n;
  const char *text;
  int k;
  t->dtype = t->rank = -1;
  t->start = t->end = UINT64_MAX;
  nvr_json_must(j, '{');
  while (j->p && !nvr_json_next(j, '}')) {
    text = nvr_json_string(j, &n);
    nvr_json_must(j, ':');
    if (j->p && nvr_is(text, n, "dtype")) {
      text = nvr_json_string(j, &n);
      for (k = 0; j->p && k < NVR_NDTYPES; k++)
        if (nvr_is(text, n, nvr_file_dtypes[k])) t->dtype = k;
    } else if (j->p && nvr_is(text, n, "shape")) {
      nvr_json_must(j, '[');
      for (t->rank = 0; j->p && !nvr_json_next(j, ']'); t->rank++) {
        int64_t size = (int64_t)nvr_json_number(j);
        if (t->rank < NVR_MAX_RANK) t->shape[t->rank] = size;
        else j->p = NULL;
        (void)nvr_json_next(j, ',');
      }
    } else if (j->p && nvr_is(text, n, "data_offsets")) {
      nvr_json_must(j, '[');
      t->start = nvr_json_number(j);
      nvr_json_must(j, ',');
      t->end = nvr_json_number(j);
      nvr_json_must(j, ']');
    } else {
      nvr_json_skip(j);
    }
    (void)nvr_json_next(j, ',');
  }
}

/* The file's row of a leaf. 0: there is none; -1: the header isn't one. */
static int nvr_find_row(const char *header, size_t n, const char *name, nvr_tensor *t) {
  nvr_json j;
  size_t length;
  const char *text;
  j.p = header;
  j.end = header + n;
  nvr_json_must(&j, '{');
  while (j.p && !nvr_json_next(&j, '}')) {
    text = nvr_json_string(&j, &length);
    nvr_json_must(&j, ':');
    if (j.p && nvr_is(text, length, name)) {
      nvr_read_row(&j, t);
      return j.p ? 1 : -1;
    }
    nvr_json_skip(&j);
    (void)nvr_json_next(&j, ',');
  }
  return j.p ? 0 : -1;
}

typedef struct nvr_file {
  FILE *file;
  char *header;
  size_t length; /* of the header */
} nvr_file;

static int nvr_open(nvr_file *in, const char *path) {
  enum { LONGEST = 100000000 };
  unsigned char length[8];
  uint64_t n = 0;
  int k;
  in->file = fopen(path, "rb");
  if (!in->file || fread(length, 1, 8, in->file) != 8) return 0;
  for (k = 0; k < 8; k++) n |= (uint64_t)length[k] << 8 * k;
  if (!n || n > LONGEST) return 0;
  in->length = (size_t)n;
  in->header = (char *)malloc(in->length);
  return in->header && fread(in->header, 1, in->length, in->file) == in->length;
}

static const char *nvr_file_dtype(int dtype) {
  return dtype >= 0 && dtype < NVR_NDTYPES ? nvr_dtypes[dtype] : "?";
}

/* Types of the leaves as the file has them. The file keeps dtype and rank. */
static nuvec_status nvr_read_types(nvr_state *s, const nvr_form *f, const nvr_file *in, const char *path, void *leaves,
                                   int64_t *shape, uint64_t *starts) {
  nvr_context *c = s->function->context;
  const nvr_entry *e = s->function->entry;
  nvr_tensor t;
  size_t k;
  int d, found;
  memset(&t, 0, sizeof t);
  for (k = 0; k < f->ninputs; k++) {
    nuvec_array *a = nvr_leaf_at(leaves, &f->inputs[k]);
    const char *name = f->inputs[k].name;
    if (f->inputs[k].from != NVR_STATE) continue;
    found = nvr_find_row(in->header, in->length, name, &t);
    if (found < 0) return nvr_fail(c, NUVEC_FILE, "%s: %s has no header of a safetensors file", e->name, path);
    if (!found) return nvr_fail(c, NUVEC_FILE, "%s: %s has no array %s", e->name, path, name);
    if (t.dtype != (int)a->dtype || t.rank != a->rank)
      return nvr_fail(c, NUVEC_FILE, "%s: in %s %s is of dtype %s and rank %d; the state's is %s and %d", e->name, path,
                      name, nvr_file_dtype(t.dtype), t.rank, nvr_file_dtype((int)a->dtype), (int)a->rank);
    for (d = 0; d < t.rank; d++) shape[d] = t.shape[d];
    a->shape = shape;
    shape += t.rank;
    if (t.start > t.end || t.end - t.start != nvr_bytes(a))
      return nvr_fail(c, NUVEC_FILE, "%s: in %s the bytes of %s aren't those of its type", e->name, path, name);
    starts[k] = t.start;
  }
  return nvr_check_leaves(c, e, f, leaves);
}

/* Into memory of its own, which becomes the state's when all is read. */
static nuvec_status nvr_read_state(nvr_state *s, const nvr_file *in, const char *path) {
  nvr_context *c = s->function->context;
  const nvr_entry *e = s->function->entry;
  const nvr_form *f = nvr_form_of_leaves(e, s->now);
  void *leaves = malloc(s->size);
  int64_t *shapes = (int64_t *)malloc((f->ninputs * NVR_MAX_RANK + 1) * sizeof *shapes);
  uint64_t *starts = (uint64_t *)calloc(f->ninputs + 1, sizeof *starts);
  id buffers[NVR_NDTYPES];
  nuvec_status status = NUVEC_OK;
  size_t k;
  memset(buffers, 0, sizeof buffers);
  if (!leaves || !shapes || !starts) {
    status = nvr_fail(c, NUVEC_OUT_OF_MEMORY, "%s: no memory to load a state", e->name);
  } else {
    memcpy(leaves, s->now, s->size);
    status = nvr_read_types(s, f, in, path, leaves, shapes, starts);
  }
  if (status == NUVEC_OK) status = nvr_lay_out(c, e, f, leaves, buffers);
  for (k = 0; starts && status == NUVEC_OK && k < f->ninputs; k++) {
    const nuvec_array *a = nvr_leaf_at(leaves, &f->inputs[k]);
    if (f->inputs[k].from != NVR_STATE || !a->bytes) continue;
    if (starts[k] >> 40 ||
        fseek(in->file, (long)(8 + in->length + starts[k]), SEEK_SET) ||
        fread(a->host, 1, a->bytes, in->file) != a->bytes)
      status = nvr_fail(c, NUVEC_FILE, "%s: %s ends before the bytes of %s do", e->name, path, f->inputs[k].name);
  }
  if (leaves && status == NUVEC_OK) {
    memcpy(s->now, leaves, s->size);
    nvr_drop_buffers(s->now_buffers);
    memcpy(s->now_buffers, buffers, sizeof buffers);
    free(s->shapes);
    s->shapes = shapes;
    s->lost = 0;
    shapes = NULL;
  } else {
    nvr_drop_buffers(buffers);
  }
  free(leaves);
  free(shapes);
  free(starts);
  return status;
}

static nuvec_status nvr_state_load(nvr_state *s, const char *path) {
  nvr_context *c;
  nvr_file in;
  nuvec_status status;
  void *pool;
  if (!s) return NUVEC_NULL;
  c = s->function->context;
  if (!path) return nvr_fail(c, NUVEC_NULL, "%s: the path is NULL", s->function->entry->name);
  status = nvr_ask_state(s, 0);
  if (status != NUVEC_OK) return status;
  memset(&in, 0, sizeof in);
  pool = objc_autoreleasePoolPush();
  if (nvr_open(&in, path)) status = nvr_read_state(s, &in, path);
  else
    status =
        nvr_fail(c, NUVEC_FILE, "%s: %s can't be read, or is no safetensors file", s->function->entry->name, path);
  if (in.file) fclose(in.file);
  free(in.header);
  objc_autoreleasePoolPop(pool);
  return status;
}
