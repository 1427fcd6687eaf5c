/* match.c - the replay engine: which signature a call has; types and numbers of its arrays. */
#include "context.c"

/* ---- arrays and keys of a call ---- */

static const nuvec_array *nvr_in(const nvr_arrays *a, const nvr_form *f, size_t k) {
  const nvr_port *p = &f->inputs[k];
  if (a->packed) return (const nuvec_array *)a->in[NVR_CALL] + k;
  return (const nuvec_array *)(const void *)((const char *)a->in[p->from] + p->at);
}
static nuvec_array *nvr_out(const nvr_arrays *a, const nvr_form *f, size_t k) {
  const nvr_port *p = &f->outputs[k];
  if (a->packed) return (nuvec_array *)a->out[NVR_CALL] + k;
  return (nuvec_array *)(void *)((char *)a->out[p->from] + p->at);
}
static int64_t nvr_key_value(const nvr_arrays *a, const nvr_key *k) {
  const char *p = (const char *)a->in[k->from] + k->at;
  int64_t wide;
  int choice;
  if (k->kind == NVR_CHOICE) {
    memcpy(&choice, p, sizeof choice);
    return choice;
  }
  memcpy(&wide, p, sizeof wide); /* a double by its bits */
  return wide;
}

static nvr_arrays nvr_arrays_of(const void *in, void *out) {
  nvr_arrays a;
  memset(&a, 0, sizeof a);
  a.in[NVR_CALL] = in;
  a.out[NVR_CALL] = out;
  a.nin = a.nout = NVR_KNOWN;
  a.signature = -1;
  return a;
}
static nvr_arrays nvr_packed(long signature, const nuvec_array *in, size_t nin, nuvec_array *out, size_t nout) {
  nvr_arrays a = nvr_arrays_of(in, out);
  a.nin = nin;
  a.nout = nout;
  a.packed = 1;
  a.signature = signature;
  return a;
}

/* How many inputs and outputs stand in the call's own arrays. */
static void nvr_count(const nvr_form *f, int packed, size_t *nin, size_t *nout) {
  size_t k;
  *nin = *nout = 0;
  for (k = 0; k < f->ninputs; k++) *nin += packed || f->inputs[k].from == NVR_CALL;
  for (k = 0; k < f->noutputs; k++) *nout += packed || f->outputs[k].from == NVR_CALL;
}

/* ---- texts ---- */

typedef char nvr_type_text[NVR_TEXT / 3]; /* "float32[32, 512]"; cut when rank is absurd */

static const char *nvr_print_type(char *text, size_t size, nuvec_dtype dtype, int32_t rank, const int64_t *shape) {
  size_t n;
  int32_t k;
  if ((unsigned)dtype < NVR_NDTYPES) snprintf(text, size, "%s[", nvr_dtypes[dtype]);
  else snprintf(text, size, "dtype %d[", (int)dtype);
  for (k = 0; k < rank; k++) {
    n = strlen(text);
    if (n + 24 > size) break;
    snprintf(text + n, size - n, k ? ", %lld" : "%lld", (long long)shape[k]);
  }
  n = strlen(text);
  snprintf(text + n, size - n, k < rank ? ", ...]" : "]");
  return text;
}

static const char *nvr_print_key(char *text, size_t size, const nvr_key *k, int64_t value) {
  double number;
  if (k->kind == NVR_FLOAT) {
    memcpy(&number, &value, sizeof number);
    snprintf(text, size, "%.17g", number);
  } else if (k->kind == NVR_CHOICE && value >= 0 && (size_t)value < k->nchoices) {
    snprintf(text, size, "%s", k->choices[value]);
  } else {
    snprintf(text, size, "%lld", (long long)value);
  }
  return text;
}

/* ---- which signature? ---- */

#if NVR_OPEN
/* The type of an input as the signature has it, open sizes as expressions. */
static const char *nvr_print_input(char *text, size_t size, const nvr_signature *s, size_t input) {
  const nvr_type *t = &s->inputs[input];
  size_t i = 0, n;
  int32_t k;
  if (!s->open) return nvr_print_type(text, size, t->dtype, t->rank, t->shape);
  snprintf(text, size, "%s[", nvr_dtypes[t->dtype]);
  for (k = 0; k < t->rank; k++) {
    n = strlen(text);
    for (; i < s->open->ninputs && (s->open->inputs[i].array != input || s->open->inputs[i].axis != (unsigned)k);) i++;
    if (t->shape[k] >= 0 || i == s->open->ninputs) {
      snprintf(text + n, size - n, k ? ", %lld" : "%lld", (long long)t->shape[k]);
      i = 0;
    } else {
      snprintf(text + n, size - n, k ? ", %s" : "%s", s->open->inputs[i].text);
    }
  }
  n = strlen(text);
  snprintf(text + n, size - n, "]");
  return text;
}
#endif

/* NUVEC_OK, or the first of dtype, rank and shape that isn't t's. */
static nuvec_status nvr_compare(const nvr_type *t, const nuvec_array *a) {
#if NVR_OPEN
  int32_t k;
#endif
  if (a->dtype != t->dtype) return NUVEC_DTYPE;
  if (a->rank != t->rank) return NUVEC_RANK;
#if NVR_OPEN
  for (k = 0; k < t->rank; k++)
    if (a->shape[k] < 0 || (a->shape[k] != t->shape[k] && t->shape[k] >= 0)) return NUVEC_SHAPE;
  return NUVEC_OK;
#else
  return t->rank && memcmp(a->shape, t->shape, (size_t)t->rank * sizeof *t->shape) ? NUVEC_SHAPE : NUVEC_OK;
#endif
}

/* The form whose variants the call has, of those that stand in one struct (or any: NVR_SOURCES); NULL: none.
 * Signatures of one form are told apart by a table. */
static const nvr_form *nvr_form_in(const nvr_entry *e, const nvr_arrays *a, unsigned from) {
  size_t i, k;
  for (i = 0; i < e->nforms; i++) {
    const nvr_form *f = &e->forms[i];
    for (k = 0; k < f->nvariants; k++)
      if ((from == NVR_SOURCES || f->keys[k].from == from) && nvr_key_value(a, &f->keys[k]) != f->variants[k]) break;
    if (k == f->nvariants) return f;
  }
  return NULL;
}

/* As the compiler computes it for the table. */
static uint64_t nvr_mix(uint64_t h, uint64_t word) {
  h = (h ^ word) * UINT64_C(0x9e3779b97f4a7c15);
  return h ^ h >> 29;
}
static uint64_t nvr_hash(const nvr_form *f, const nvr_arrays *a) {
  uint64_t h = f->ninputs;
  size_t k;
  int32_t d;
  if (!a->packed)
    for (k = 0; k < f->nkeys; k++) h = nvr_mix(h, (uint64_t)nvr_key_value(a, &f->keys[k]));
  for (k = 0; k < f->ninputs; k++) {
    const nuvec_array *x = nvr_in(a, f, k);
    h = nvr_mix(h, (uint64_t)(unsigned)x->dtype << 32 | (uint32_t)x->rank);
    for (d = 0; d < x->rank; d++) h = nvr_mix(h, (uint64_t)x->shape[d]);
  }
  return h;
}

/* How far the call is from a signature of its form: how many keys and arrays differ. *first: the first of them, arrays
 * behind keys. */
static size_t nvr_distance(const nvr_signature *s, const nvr_arrays *a, size_t *first) {
  const nvr_form *f = s->form;
  size_t k, n = 0;
  *first = f->nkeys + f->ninputs;
  for (k = f->ninputs; k-- > 0;)
    if (nvr_compare(&s->inputs[k], nvr_in(a, f, k)) != NUVEC_OK) *first = f->nkeys + k, n++;
  if (!a->packed)
    for (k = f->nkeys; k-- > 0;)
      if (nvr_key_value(a, &f->keys[k]) != s->keys[k]) *first = k, n++;
  return n;
}

static nuvec_status nvr_differs(nvr_context *c, const nvr_entry *e, const nvr_signature *s, const nvr_arrays *a,
                                size_t at, int only) {
  const nvr_form *f = s->form;
  nvr_type_text want, got;
  const char *what = "", *name;
  nuvec_status status = NUVEC_SIGNATURE;
  if (at < f->nkeys) {
    name = f->keys[at].name;
    nvr_print_key(want, sizeof want, &f->keys[at], s->keys[at]);
    nvr_print_key(got, sizeof got, &f->keys[at], nvr_key_value(a, &f->keys[at]));
  } else {
    const nvr_type *t = &s->inputs[at - f->nkeys];
    const nuvec_array *x = nvr_in(a, f, at - f->nkeys);
    what = "input ";
    name = f->inputs[at - f->nkeys].name;
#if NVR_OPEN
    nvr_print_input(want, sizeof want, s, at - f->nkeys);
#else
    nvr_print_type(want, sizeof want, t->dtype, t->rank, t->shape);
#endif
    nvr_print_type(got, sizeof got, x->dtype, x->rank, x->shape);
    if (only) status = nvr_compare(t, x);
  }
  if (only) return nvr_fail(c, status, "%s: %s%s: expected %s, got %s", e->name, what, name, want, got);
  return nvr_fail(c, status, "%s: none of %zu signatures fits; in the nearest, number %zu, %s%s is %s, got %s", e->name,
                  e->nsignatures, (size_t)(s - e->signatures), what, name, want, got);
}

/* No signature has the call's variants (outer nodes come before inner ones): names the one of which the most from the
 * first on are right, and what differs then. */
static nuvec_status nvr_no_form(nvr_context *c, const nvr_entry *e, const nvr_arrays *a) {
  size_t i, k, nearest = 0, first = 0;
  for (i = 0; i < e->nsignatures; i++) {
    const nvr_signature *s = &e->signatures[i];
    for (k = 0; k < s->form->nvariants && nvr_key_value(a, &s->form->keys[k]) == s->keys[k];) k++;
    if (k > first) first = k, nearest = i;
  }
  return nvr_differs(c, e, &e->signatures[nearest], a, first, 0);
}

/* No signature fits: says which is nearest (the fewest keys and arrays differ) and what differs first. */
static nuvec_status nvr_no_signature(nvr_context *c, const nvr_entry *e, const nvr_form *f, const nvr_arrays *a) {
  size_t i, n, at, nearest = 0, first = 0, least = SIZE_MAX;
  for (i = 0; i < e->nsignatures; i++) {
    if (e->signatures[i].form != f) continue;
    n = nvr_distance(&e->signatures[i], a, &at);
    if (n < least) least = n, nearest = i, first = at;
  }
  return nvr_differs(c, e, &e->signatures[nearest], a, first, e->nsignatures == 1);
}

/* Number and types as far as they can be checked without a signature. */
static nuvec_status nvr_check_inputs(nvr_context *c, const nvr_entry *e, const nvr_form *f, const nvr_arrays *a) {
  size_t k, nin, nout;
  if (a->nin != NVR_KNOWN) {
    nvr_count(f, a->packed, &nin, &nout);
    if (a->nin != nin || a->nout != nout)
      return nvr_fail(c, NUVEC_SIGNATURE, "%s takes %zu inputs and has %zu outputs; the call has %zu and %zu", e->name,
                      nin, nout, a->nin, a->nout);
  }
  for (k = 0; k < f->ninputs; k++) {
    const nuvec_array *x;
    if (!a->in[a->packed ? NVR_CALL : f->inputs[k].from])
      return nvr_fail(c, NUVEC_NULL, "%s: the inputs are NULL", e->name);
    x = nvr_in(a, f, k);
    if (x->rank > 0 && !x->shape)
      return nvr_fail(c, NUVEC_NULL, "%s: input %s has rank %d, but its shape is NULL", e->name, f->inputs[k].name,
                      (int)x->rank);
  }
  return NUVEC_OK;
}

static nuvec_status nvr_check_strides(nvr_context *c, const nvr_entry *e, const char *what, const char *name,
                                      const nvr_type *t, const nuvec_array *a) {
  int64_t dense = 1;
  int32_t k;
  if (!a->strides || !t->bytes) return NUVEC_OK;
  for (k = t->rank; k-- > 0; dense *= t->shape[k])
    if (t->shape[k] != 1 && a->strides[k] != dense)
      return nvr_fail(c, NUVEC_STRIDES,
                      "%s: %s %s: expected dense row-major strides, got %lld instead of %lld for axis %d", e->name,
                      what, name, (long long)a->strides[k], (long long)dense, (int)k);
  return NUVEC_OK;
}

/* What a packed call says it has, or can be told from its arrays. */
static nuvec_status nvr_packed_form(nvr_context *c, const nvr_entry *e, const nvr_arrays *a, const nvr_form **f) {
  *f = e->forms;
  if (a->signature >= 0 && (size_t)a->signature < e->nsignatures) {
    *f = e->signatures[a->signature].form;
    return NUVEC_OK;
  }
  if (a->signature != -1)
    return nvr_fail(c, NUVEC_SIGNATURE, "%s has %zu signatures; the call says number %ld", e->name, e->nsignatures,
                    a->signature);
  if (e->nsignatures > 1 && (e->nforms > 1 || e->forms->nkeys))
    return nvr_fail(c, NUVEC_SIGNATURE, "%s: arrays alone don't tell its %zu signatures apart: the call must say which",
                    e->name, e->nsignatures);
  return NUVEC_OK;
}

/* A signature by the table of the entry, or NULL. */
static const nvr_signature *nvr_find(const nvr_entry *e, const nvr_form *f, const nvr_arrays *a) {
  size_t at, number, first;
  if (!e->table) return e->signatures->form == f && !nvr_distance(e->signatures, a, &first) ? e->signatures : NULL;
  for (at = (size_t)nvr_hash(f, a) & e->mask; (number = e->table[at]) != 0; at = (at + 1) & e->mask) {
    const nvr_signature *s = &e->signatures[number - 1];
    if (s->form == f && !nvr_distance(s, a, &first)) return s;
  }
  return NULL;
}

#if NVR_OPEN
static uint64_t nvr_open_hash(const nvr_form *f, const nvr_arrays *a) {
  uint64_t h = f->ninputs;
  size_t k;
  if (!a->packed)
    for (k = 0; k < f->nkeys; k++) h = nvr_mix(h, (uint64_t)nvr_key_value(a, &f->keys[k]));
  for (k = 0; k < f->ninputs; k++) {
    const nuvec_array *x = nvr_in(a, f, k);
    h = nvr_mix(h, (uint64_t)(unsigned)x->dtype << 32 | (uint32_t)x->rank);
  }
  return h;
}

/* The next signature with open sizes that fits, but for what only the sizes can tell; *at is SIZE_MAX at first. */
static const nvr_signature *nvr_find_open(const nvr_entry *e, const nvr_form *f, const nvr_arrays *a, size_t *at) {
  size_t number, first;
  if (!e->open_table) return NULL;
  if (*at == SIZE_MAX) *at = (size_t)nvr_open_hash(f, a) & e->open_mask;
  while ((number = e->open_table[*at]) != 0) {
    const nvr_signature *s = &e->signatures[number - 1];
    *at = (*at + 1) & e->open_mask;
    if (s->form == f && !nvr_distance(s, a, &first)) return s;
  }
  return NULL;
}
#endif

/* The signature of a call, or NULL and what is wrong. Of the inputs reads dtype, rank, shape and strides only. */
static const nvr_signature *nvr_match(nvr_context *c, const nvr_entry *e, const nvr_arrays *a, nuvec_status *status) {
  const nvr_signature *s = NULL;
  const nvr_form *f;
  size_t k, first;
  *status = c->made;
  if (c->made != NUVEC_OK) return NULL;
  if (a->packed) {
    *status = nvr_packed_form(c, e, a, &f);
    if (*status != NUVEC_OK) return NULL;
  } else {
    for (k = 0; k < e->forms->nkeys; k++)
      if (!a->in[e->forms->keys[k].from]) {
        *status = nvr_fail(c, NUVEC_NULL, "%s: the inputs are NULL", e->name);
        return NULL;
      }
    f = nvr_form_in(e, a, NVR_SOURCES);
    if (!f) {
      *status = nvr_no_form(c, e, a);
      return NULL;
    }
  }
  *status = nvr_check_inputs(c, e, f, a);
  if (*status != NUVEC_OK) return NULL;
  if (a->packed && a->signature >= 0) {
    s = &e->signatures[a->signature];
    if (nvr_distance(s, a, &first)) {
      *status = nvr_differs(c, e, s, a, first, 1);
      return NULL;
    }
  } else {
    s = nvr_find(e, f, a);
#if NVR_OPEN
    first = SIZE_MAX;
    if (!s) s = nvr_find_open(e, f, a, &first);
#endif
    if (!s) {
      *status = nvr_no_signature(c, e, f, a);
      return NULL;
    }
  }
#if NVR_OPEN
  return s;
#else
  for (k = 0; *status == NUVEC_OK && k < f->ninputs; k++)
    *status = nvr_check_strides(c, e, "input", f->inputs[k].name, &s->inputs[k], nvr_in(a, f, k));
  return *status == NUVEC_OK ? s : NULL;
#endif
}

/* Outputs that say what they are must be that. */
static nuvec_status nvr_check_outputs(nvr_context *c, const nvr_entry *e, const nvr_signature *s,
                                      const nvr_arrays *a) {
  const nvr_form *f = s->form;
  size_t k;
  nuvec_status status = NUVEC_OK;
  for (k = 0; status == NUVEC_OK && k < f->noutputs; k++) {
    const nvr_type *t = &s->outputs[k];
    const nuvec_array *x;
    nvr_type_text want, got;
    if (!a->out[a->packed ? NVR_CALL : f->outputs[k].from])
      return nvr_fail(c, NUVEC_NULL, "%s: the outputs are NULL", e->name);
    x = nvr_out(a, f, k);
    if (!x->shape) continue;
    status = nvr_compare(t, x);
    if (status != NUVEC_OK)
      return nvr_fail(c, status, "%s: output %s is %s, but its array says %s", e->name, f->outputs[k].name,
                      nvr_print_type(want, sizeof want, t->dtype, t->rank, t->shape),
                      nvr_print_type(got, sizeof got, x->dtype, x->rank, x->shape));
    status = nvr_check_strides(c, e, "output", f->outputs[k].name, t, x);
  }
  return status;
}

static void nvr_describe(const nvr_type *t, nuvec_array *a) {
  a->dtype = t->dtype;
  a->rank = t->rank;
  a->shape = t->shape;
  a->strides = NULL;
}

#if !NVR_OPEN
/* Shapes of the outputs and bytes of scratch for inputs of these types; allocates nothing. */
static nuvec_status nvr_shapes(nvr_function *f, nvr_arrays a, size_t *scratch) {
  const nvr_signature *s;
  nuvec_status status;
  size_t k;
  if (!f) return NUVEC_NULL;
  a.in[NVR_BOUND] = f->bound;
  s = nvr_match(f->context, f->entry, &a, &status);
  if (!s) return status;
  for (k = 0; k < s->form->noutputs; k++) {
    nuvec_array *x;
    if (!a.out[a.packed ? NVR_CALL : s->form->outputs[k].from]) continue;
    x = nvr_out(&a, s->form, k);
    nvr_describe(&s->outputs[k], x);
    x->bytes = s->outputs[k].bytes;
  }
  if (scratch) *scratch = s->scratch;
  return NUVEC_OK;
}
#endif
