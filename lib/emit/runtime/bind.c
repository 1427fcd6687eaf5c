/* bind.c - the replay engine: function objects, which hold the inputs that are given once. For entries with bind. */
#include "bytes.c"

/* Makes the app's array one that lives as long as the function object: its buffer held, or its memory copied; its shape
 * at *shape, which moves on. a is a copy of the app's. */
static nuvec_status nvr_hold(nvr_context *c, const nvr_entry *e, const char *name, nuvec_array *a, int64_t **shape) {
  nuvec_array app = *a;
  nvr_type t;
  nuvec_status status;
  int32_t k;
  a->buffer = NULL; /* until it is held */
  t.dtype = app.dtype;
  t.rank = app.rank;
  t.shape = app.shape;
  t.align = 1;
  t.bytes = nvr_bytes(&app);
  if (t.bytes == SIZE_MAX) return nvr_fail(c, NUVEC_SHAPE, "%s: bound input %s has no such type", e->name, name);
  status = nvr_check_strides(c, e, "bound input", name, &t, &app);
  if (status != NUVEC_OK) return status;
  a->strides = NULL;
  a->shape = app.rank > 0 ? *shape : NULL;
  for (k = 0; k < app.rank; k++) *(*shape)++ = app.shape[k];
  if (app.buffer) {
    a->buffer = objc_retain((id)app.buffer);
    return NUVEC_OK;
  }
  a->host = NULL;
  if (!t.bytes) return NUVEC_OK;
  if (!app.host)
    return nvr_fail(c, NUVEC_NULL, "%s: bound input %s has neither a buffer nor host memory", e->name, name);
  if (app.bytes < t.bytes)
    return nvr_fail(c, NUVEC_SHORT_BUFFER, "%s: bound input %s needs %zu bytes; its host memory has %zu", e->name, name,
                    t.bytes, app.bytes);
  status = nvr_new_buffer(c, e, name, t.bytes, (id *)(void *)&a->buffer);
  if (status == NUVEC_OK) memcpy(nvr_contents(c, (id)a->buffer), app.host, t.bytes);
  a->offset = 0;
  a->bytes = t.bytes;
  return status;
}

/* bound: the app's struct of size bytes. Inputs are held one by one, so that what is there can be freed at any time. */
static nuvec_status nvr_bind_inputs(nvr_function *f, const void *bound, size_t size) {
  nvr_context *c = f->context;
  const nvr_entry *e = f->entry;
  const nvr_form *form;
  nvr_arrays a = nvr_arrays_of(NULL, NULL);
  nuvec_status status = NUVEC_OK;
  size_t k, n = 0;
  int64_t *shape;
  if (!bound) return nvr_fail(c, NUVEC_NULL, "%s: the bound inputs are NULL", e->name);
  a.in[NVR_BOUND] = bound;
  form = nvr_form_in(e, &a, NVR_BOUND);
  if (!form) return nvr_fail(c, NUVEC_SIGNATURE, "%s: no signature has the variants of the bound inputs", e->name);
  for (k = 0; k < form->ninputs; k++) {
    const nuvec_array *x;
    if (form->inputs[k].from != NVR_BOUND) continue;
    x = nvr_in(&a, form, k);
    if (x->rank > NVR_MAX_RANK || (x->rank > 0 && !x->shape))
      return nvr_fail(c, x->shape ? NUVEC_RANK : NUVEC_NULL, "%s: bound input %s has rank %d%s", e->name,
                      form->inputs[k].name, (int)x->rank, x->shape ? "" : ", but its shape is NULL");
    n += x->rank > 0 ? (size_t)x->rank : 0;
  }
  f->bound = malloc(size);
  f->shapes = shape = (int64_t *)malloc((n + 1) * sizeof *shape);
  if (!f->bound || !f->shapes)
    return nvr_fail(c, NUVEC_OUT_OF_MEMORY, "%s: no memory for a function object", e->name);
  memcpy(f->bound, bound, size);
  a.out[NVR_BOUND] = f->bound;
  f->form = form;
  for (k = 0; k < form->ninputs; k++) {
    nuvec_array *x = (nuvec_array *)(void *)((char *)f->bound + form->inputs[k].at);
    if (form->inputs[k].from != NVR_BOUND) continue;
    if (status == NUVEC_OK) status = nvr_hold(c, e, form->inputs[k].name, x, &shape);
    else x->buffer = NULL; /* the app's: not held */
  }
  return status;
}

static nuvec_status nvr_function_create(nvr_context *c, size_t entry, const size_t *capacity, const void *bound,
                                        size_t size, nvr_function **out) {
  nvr_function *f;
  nuvec_status status;
  void *pool;
  if (!out) return NUVEC_NULL;
  *out = NULL;
  if (!c) return NUVEC_NULL;
  if (c->made != NUVEC_OK) return c->made;
  f = (nvr_function *)calloc(1, sizeof *f);
  if (!f)
    return nvr_fail(c, NUVEC_OUT_OF_MEMORY, "%s: no memory for a function object", c->tape->entries[entry].name);
  pool = objc_autoreleasePoolPush();
  status = nvr_init_function(c, f, &c->tape->entries[entry], capacity);
  if (status == NUVEC_OK) status = nvr_bind_inputs(f, bound, size);
  if (status == NUVEC_OK) {
    pthread_mutex_lock(&c->lock);
    c->objects++;
    pthread_mutex_unlock(&c->lock);
    *out = f;
  } else {
    nvr_drop_function(f);
    free(f);
  }
  objc_autoreleasePoolPop(pool);
  return status;
}

static nuvec_status nvr_function_destroy(nvr_function *f) {
  nvr_context *c;
  size_t in_flight, states;
  void *pool;
  if (!f) return NUVEC_OK;
  c = f->context;
  pthread_mutex_lock(&c->lock);
  in_flight = f->in_flight;
  states = f->states;
  if (!in_flight && !states) c->objects--;
  pthread_mutex_unlock(&c->lock);
  if (in_flight) return nvr_fail(c, NUVEC_BUSY, "%s: %zu calls are in flight", f->entry->name, in_flight);
  if (states) return nvr_fail(c, NUVEC_BUSY, "%s: %zu states of it are still there", f->entry->name, states);
  pool = objc_autoreleasePoolPush();
  nvr_drop_function(f);
  objc_autoreleasePoolPop(pool);
  free(f);
  return NUVEC_OK;
}
