/* state.c - the replay engine: states of entries of style mut, and their steps.
 *
 * A state's leaves lie twice, in `now` and in `next`, each in one buffer a dtype. A step reads now and writes next;
 * when it has succeeded the two change places. So a step that fails, wherever it fails, leaves the state as it was.
 * Steps in the app's command buffer change places at once, as the next one reads what they write: one that fails loses
 * the state. */
#include "bind.c"

enum { NVR_LEAF_ALIGN = 256 };

static nuvec_array *nvr_leaf_at(void *leaves, const nvr_port *p) {
  return (nuvec_array *)(void *)((char *)leaves + p->at);
}
static const nvr_form *nvr_form_of_leaves(const nvr_entry *e, const void *leaves) {
  nvr_arrays a = nvr_arrays_of(NULL, NULL);
  a.in[NVR_STATE] = leaves;
  return nvr_form_in(e, &a, NVR_STATE);
}
static void nvr_drop_buffers(id buffers[NVR_NDTYPES]) {
  size_t k;
  for (k = 0; k < NVR_NDTYPES; k++) {
    objc_release(buffers[k]);
    buffers[k] = NULL;
  }
}

/* Gives the leaves, whose types are set, memory: one buffer a dtype. */
static nuvec_status nvr_lay_out(nvr_context *c, const nvr_entry *e, const nvr_form *f, void *leaves,
                                id buffers[NVR_NDTYPES]) {
  size_t total[NVR_NDTYPES], k, n;
  char *host[NVR_NDTYPES];
  nuvec_status status = NUVEC_OK;
  memset(total, 0, sizeof total);
  for (k = 0; k < f->ninputs; k++) {
    nuvec_array *a;
    if (f->inputs[k].from != NVR_STATE) continue;
    a = nvr_leaf_at(leaves, &f->inputs[k]);
    a->strides = NULL;
    a->bytes = nvr_bytes(a);
#if NVR_OPEN
    if (a->bytes > c->max_buffer)
      return nvr_fail(c, NUVEC_BUFFER_LIMIT, "%s: leaf %s needs more bytes than a buffer can have", e->name,
                      f->inputs[k].name);
#endif
    a->offset = total[a->dtype];
    n = (a->bytes + NVR_LEAF_ALIGN - 1) & ~(size_t)(NVR_LEAF_ALIGN - 1);
    total[a->dtype] += n;
  }
  for (k = 0; status == NUVEC_OK && k < NVR_NDTYPES; k++) {
    host[k] = NULL;
    if (!total[k]) continue;
    status = nvr_new_buffer(c, e, nvr_dtypes[k], total[k], &buffers[k]);
    if (status == NUVEC_OK) host[k] = (char *)nvr_contents(c, buffers[k]);
  }
  if (status != NUVEC_OK) {
    nvr_drop_buffers(buffers);
    return status;
  }
  for (k = 0; k < f->ninputs; k++) {
    nuvec_array *a;
    if (f->inputs[k].from != NVR_STATE) continue;
    a = nvr_leaf_at(leaves, &f->inputs[k]);
    a->buffer = a->bytes ? buffers[a->dtype] : NULL;
    a->host = a->bytes ? host[a->dtype] + a->offset : NULL;
  }
  return NUVEC_OK;
}

/* Is there a signature for a state of these types? */
static nuvec_status nvr_check_leaves(nvr_context *c, const nvr_entry *e, const nvr_form *f, void *leaves) {
  const nvr_signature *s = NULL;
  size_t i, k, first = 0, nearest = 0;
  nvr_type_text want, got;
  for (i = 0; i < e->nsignatures; i++) {
    s = &e->signatures[i];
    if (s->form != f) continue;
    for (k = 0; k < f->ninputs; k++)
      if (f->inputs[k].from == NVR_STATE && nvr_compare(&s->inputs[k], nvr_leaf_at(leaves, &f->inputs[k]))) break;
    if (k == f->ninputs) return NUVEC_OK;
    if (k >= first) first = k, nearest = i;
  }
  s = &e->signatures[nearest];
  return nvr_fail(c, NUVEC_SIGNATURE, "%s: no signature takes such a state; in number %zu, %s is %s, got %s", e->name,
                  nearest, f->inputs[first].name,
#if NVR_OPEN
                  nvr_print_input(want, sizeof want, s, first),
#else
                  nvr_print_type(want, sizeof want, s->inputs[first].dtype, s->inputs[first].rank,
                                 s->inputs[first].shape),
#endif
                  nvr_print_type(got, sizeof got, nvr_leaf_at(leaves, &f->inputs[first])->dtype,
                                 nvr_leaf_at(leaves, &f->inputs[first])->rank,
                                 nvr_leaf_at(leaves, &f->inputs[first])->shape));
}

/* The types of the first signature's state, where all have the same. */
static nuvec_status nvr_default_leaves(nvr_context *c, const nvr_entry *e, void *leaves) {
  const nvr_form *f = e->forms;
  size_t i, k;
#if NVR_OPEN
  int32_t d;
  for (k = 0; k < f->ninputs; k++)
    for (d = 0; f->inputs[k].from == NVR_STATE && d < e->signatures->inputs[k].rank; d++)
      if (e->signatures->inputs[k].shape[d] < 0)
        return nvr_fail(c, NUVEC_NULL, "%s: leaf %s has open sizes: the leaves must say theirs", e->name,
                        f->inputs[k].name);
#endif
  for (k = 0; k < f->ninputs; k++)
    if (f->inputs[k].from == NVR_STATE) nvr_describe(&e->signatures->inputs[k], nvr_leaf_at(leaves, &f->inputs[k]));
  for (i = 0; i < e->nsignatures; i++)
    for (k = 0; k < f->ninputs; k++)
      if (e->nforms > 1 || (f->inputs[k].from == NVR_STATE &&
                            nvr_compare(&e->signatures[i].inputs[k], nvr_leaf_at(leaves, &f->inputs[k]))))
        return nvr_fail(c, NUVEC_NULL, "%s: signatures have states of different types: the leaves must say theirs",
                        e->name);
  return NUVEC_OK;
}

/* The app's leaves: types checked, shapes copied. */
static nuvec_status nvr_copy_types(nvr_context *c, const nvr_entry *e, const nvr_form *f, void *leaves,
                                   int64_t **shapes) {
  size_t k, n = 0;
  int32_t d;
  int64_t *shape;
  for (k = 0; k < f->ninputs; k++) {
    const nuvec_array *a = nvr_leaf_at(leaves, &f->inputs[k]);
    if (f->inputs[k].from != NVR_STATE) continue;
    if (a->rank < 0 || a->rank > NVR_MAX_RANK || (a->rank && !a->shape))
      return nvr_fail(c, a->shape ? NUVEC_RANK : NUVEC_NULL, "%s: leaf %s has rank %d%s", e->name, f->inputs[k].name,
                      (int)a->rank, a->shape ? "" : ", but its shape is NULL");
    n += (size_t)a->rank;
  }
  *shapes = shape = (int64_t *)malloc((n + 1) * sizeof *shape);
  if (!shape) return nvr_fail(c, NUVEC_OUT_OF_MEMORY, "%s: no memory for a state", e->name);
  for (k = 0; k < f->ninputs; k++) {
    nuvec_array *a = nvr_leaf_at(leaves, &f->inputs[k]);
    if (f->inputs[k].from != NVR_STATE) continue;
    for (d = 0; d < a->rank; d++) shape[d] = a->shape[d];
    a->shape = shape;
    shape += a->rank;
  }
  return nvr_check_leaves(c, e, f, leaves);
}

/* What the app's leaf holds, or zeros. */
static nuvec_status nvr_fill_leaf(nvr_context *c, const nvr_entry *e, const char *name, const nuvec_array *app,
                                  const nuvec_array *a) {
  const char *from = (const char *)app->host;
  size_t room = app->bytes;
  if (!a->bytes) return NUVEC_OK;
  if (app->buffer) {
    size_t length = nvr_get_uint(c, (id)app->buffer, NVR_S_length);
    from = (const char *)nvr_contents(c, (id)app->buffer);
    if (!from) return nvr_fail(c, NUVEC_NULL, "%s: leaf %s lies in a buffer that the CPU can't read", e->name, name);
    from += app->offset;
    room = app->offset < length ? length - app->offset : 0;
    if (app->bytes && app->bytes < room) room = app->bytes;
  }
  if (from && room < a->bytes)
    return nvr_fail(c, NUVEC_SHORT_BUFFER, "%s: leaf %s needs %zu bytes; its memory has %zu", e->name, name, a->bytes,
                    room);
  if (from) memcpy(a->host, from, a->bytes);
  else memset(a->host, 0, a->bytes);
  return NUVEC_OK;
}

static nuvec_status nvr_fill_state(nvr_state *s, const void *initial) {
  nvr_context *c = s->function->context;
  const nvr_entry *e = s->function->entry;
  const nvr_form *f = e->forms;
  nuvec_array none, app;
  nvr_type type;
  nuvec_status status;
  size_t k;
  memset(&none, 0, sizeof none);
  if (initial) memcpy(s->now, initial, s->size);
  if (initial) f = nvr_form_of_leaves(e, initial);
  if (!f) return nvr_fail(c, NUVEC_SIGNATURE, "%s: no signature has the variants of the state", e->name);
  status = initial ? nvr_copy_types(c, e, f, s->now, &s->shapes) : nvr_default_leaves(c, e, s->now);
  if (status == NUVEC_OK) status = nvr_lay_out(c, e, f, s->now, s->now_buffers);
  for (k = 0; status == NUVEC_OK && k < f->ninputs; k++) {
    if (f->inputs[k].from != NVR_STATE) continue;
    app = none;
    if (initial) memcpy(&app, (const char *)initial + f->inputs[k].at, sizeof app);
    type.rank = nvr_leaf_at(s->now, &f->inputs[k])->rank;
    type.shape = nvr_leaf_at(s->now, &f->inputs[k])->shape;
    type.bytes = nvr_leaf_at(s->now, &f->inputs[k])->bytes;
    status = nvr_check_strides(c, e, "leaf", f->inputs[k].name, &type, &app);
    if (status == NUVEC_OK)
      status = nvr_fill_leaf(c, e, f->inputs[k].name, &app, nvr_leaf_at(s->now, &f->inputs[k]));
  }
  memcpy(s->next, s->now, s->size);
  for (k = 0; k < f->ninputs; k++)
    if (f->inputs[k].from == NVR_STATE) memset(nvr_leaf_at(s->next, &f->inputs[k]), 0, sizeof none);
  return status;
}

static void nvr_free_state(nvr_state *s) {
  nvr_drop_buffers(s->now_buffers);
  nvr_drop_buffers(s->next_buffers);
  free(s->now);
  free(s->next);
  free(s->shapes);
  free(s);
}

/* initial: the app's leaves, of size bytes, or NULL: zeros. */
static nuvec_status nvr_state_create(nvr_function *f, const void *initial, size_t size, nvr_state **out) {
  nvr_state *s;
  nvr_context *c;
  nuvec_status status;
  void *pool;
  *out = NULL;
  if (!f) return NUVEC_NULL;
  c = f->context;
  if (c->made != NUVEC_OK) return c->made;
  s = (nvr_state *)calloc(1, sizeof *s);
  if (s) {
    s->function = f;
    s->size = size;
    s->now = calloc(1, size);
    s->next = calloc(1, size);
  }
  pool = objc_autoreleasePoolPush();
  if (!s || !s->now || !s->next)
    status = nvr_fail(c, NUVEC_OUT_OF_MEMORY, "%s: no memory for a state", f->entry->name);
  else
    status = nvr_fill_state(s, initial);
  if (s && status == NUVEC_OK) {
    pthread_mutex_lock(&c->lock);
    c->objects++;
    f->states++;
    pthread_mutex_unlock(&c->lock);
    *out = s;
  } else if (s) {
    nvr_free_state(s);
  }
  objc_autoreleasePoolPop(pool);
  return status;
}

/* BUSY while steps are in flight; LOST, where that is asked, when one lost the state. The lock is held. */
static nuvec_status nvr_check_state(const nvr_state *s, int ask_lost) {
  if (s->steps) return NUVEC_BUSY;
  return s->lost && ask_lost ? NUVEC_LOST : NUVEC_OK;
}
static nuvec_status nvr_state_fails(const nvr_state *s, nuvec_status status) {
  return nvr_fail(s->function->context, status,
                  status == NUVEC_BUSY ? "%s: a step on this state is in flight"
                                       : "%s: a step that failed left this state undefined: load it",
                  s->function->entry->name);
}
static nuvec_status nvr_ask_state(nvr_state *s, int ask_lost) {
  nuvec_status status;
  pthread_mutex_lock(&s->function->context->lock);
  status = nvr_check_state(s, ask_lost);
  pthread_mutex_unlock(&s->function->context->lock);
  return status == NUVEC_OK ? status : nvr_state_fails(s, status);
}

static nuvec_status nvr_state_destroy(nvr_state *s) {
  nvr_context *c;
  nuvec_status status;
  void *pool;
  if (!s) return NUVEC_OK;
  c = s->function->context;
  pthread_mutex_lock(&c->lock);
  status = nvr_check_state(s, 0);
  if (status == NUVEC_OK) {
    c->objects--;
    s->function->states--;
  }
  pthread_mutex_unlock(&c->lock);
  if (status != NUVEC_OK) return nvr_state_fails(s, status);
  pool = objc_autoreleasePoolPush();
  nvr_free_state(s);
  objc_autoreleasePoolPop(pool);
  return NUVEC_OK;
}

/* The leaves as they are, in the state's own memory: good until the next step. */
static nuvec_status nvr_state_leaves(nvr_state *s, void *leaves) {
  const nvr_form *f;
  nuvec_status status;
  size_t k;
  if (!s) return NUVEC_NULL;
  if (!leaves) return nvr_fail(s->function->context, NUVEC_NULL, "%s: the leaves are NULL", s->function->entry->name);
  status = nvr_ask_state(s, 1);
  if (status != NUVEC_OK) return status;
  memcpy(leaves, s->now, s->size);
  f = nvr_form_of_leaves(s->function->entry, s->now);
  for (k = 0; f && k < f->ninputs; k++) {
    nuvec_array *a = nvr_leaf_at(leaves, &f->inputs[k]);
    if (f->inputs[k].from == NVR_STATE) a->bytes = nvr_bytes(a); /* the memory may be longer */
  }
  return NUVEC_OK;
}

/* ---- steps ---- */

/* Next has room for what the signature makes. */
static nuvec_status nvr_prepare_next(nvr_state *s, const nvr_signature *sig) {
  const nvr_form *f = sig->form;
  nuvec_status status;
  int fits = 1;
  size_t k;
  for (k = 0; k < f->noutputs; k++)
    if (f->outputs[k].from == NVR_STATE)
      fits = fits && nvr_leaf_at(s->next, &f->outputs[k])->bytes >= sig->outputs[k].bytes;
  for (k = 0; k < f->noutputs; k++)
    if (f->outputs[k].from == NVR_STATE) nvr_describe(&sig->outputs[k], nvr_leaf_at(s->next, &f->outputs[k]));
  if (fits) return NUVEC_OK;
  nvr_drop_buffers(s->next_buffers);
  status = nvr_lay_out(s->function->context, s->function->entry, f, s->next, s->next_buffers);
  for (k = 0; status != NUVEC_OK && k < f->noutputs; k++)
    if (f->outputs[k].from == NVR_STATE) nvr_leaf_at(s->next, &f->outputs[k])->bytes = 0;
  return status;
}

/* The lock is held. */
static void nvr_exchange(nvr_state *s) {
  void *leaves = s->now;
  id buffers[NVR_NDTYPES];
  s->now = s->next;
  s->next = leaves;
  memcpy(buffers, s->now_buffers, sizeof buffers);
  memcpy(s->now_buffers, s->next_buffers, sizeof buffers);
  memcpy(s->next_buffers, buffers, sizeof buffers);
}
/* A step is over: it happened whole, or not at all. */
static void nvr_step_over(nvr_slot *slot, nuvec_status status) {
  nvr_state *s = slot->state;
  pthread_mutex_lock(&s->function->context->lock);
  if (status == NUVEC_OK) nvr_exchange(s);
  else if (s->function->entry->in_place && slot->sent) s->lost = 1;
  s->steps--;
  pthread_mutex_unlock(&s->function->context->lock);
}
/* A step in the app's command buffer is over; now and next changed places when it was encoded. */
static void nvr_encoded_over(nvr_slot *slot, nuvec_status status) {
  nvr_state *s = slot->state;
  pthread_mutex_lock(&s->function->context->lock);
  if (status != NUVEC_OK) s->lost = 1;
  s->steps--;
  pthread_mutex_unlock(&s->function->context->lock);
}

/* A step that has begun, or NULL. */
static nvr_slot *nvr_begin_step(nvr_state *s, nvr_arrays *a, int encoded, nuvec_status *status) {
  nvr_function *f = s->function;
  nvr_context *c = f->context;
  const nvr_signature *sig;
  nvr_slot *slot = NULL;
  pthread_mutex_lock(&c->lock);
  *status = s->lost ? NUVEC_LOST : s->steps && !encoded ? NUVEC_BUSY : NUVEC_OK;
  if (*status == NUVEC_OK) s->steps++;
  pthread_mutex_unlock(&c->lock);
  if (*status != NUVEC_OK) {
    nvr_state_fails(s, *status);
    return NULL;
  }
  a->in[NVR_BOUND] = f->bound;
  a->in[NVR_STATE] = s->now;
  a->out[NVR_STATE] = s->next;
  sig = nvr_match(c, f->entry, a, status);
#if NVR_OPEN
  if (sig) slot = nvr_take_slot(f, sig, a, status);
  if (slot) {
    *status = nvr_prepare_next(s, slot->signature);
    if (*status == NUVEC_OK) {
      slot = nvr_start(slot, a, status);
    } else {
      nvr_give_slot(slot);
      nvr_over(c);
      slot = NULL;
    }
  }
#else
  if (sig) *status = nvr_prepare_next(s, sig);
  if (sig && *status == NUVEC_OK) slot = nvr_begin_as(f, sig, a, status);
#endif
  if (slot) {
    slot->state = s;
    slot->settle = encoded ? nvr_encoded_over : nvr_step_over;
    return slot;
  }
  pthread_mutex_lock(&c->lock);
  s->steps--;
  pthread_mutex_unlock(&c->lock);
  return NULL;
}

static nuvec_status nvr_step(nvr_state *s, nvr_arrays a, double *seconds) {
  nuvec_status status;
  nvr_slot *slot;
  void *pool;
  if (!s) return NUVEC_NULL;
  pool = objc_autoreleasePoolPush();
  slot = nvr_begin_step(s, &a, 0, &status);
  if (slot) status = nvr_finish(slot, seconds);
  objc_autoreleasePoolPop(pool);
  return status;
}

static nuvec_status nvr_step_async(nvr_state *s, nvr_arrays a, nuvec_done done, void *user) {
  nuvec_status status;
  nvr_slot *slot;
  void *pool;
  if (!s) return NUVEC_NULL;
  if (!done) return nvr_fail(s->function->context, NUVEC_NULL, "%s: the callback is NULL", s->function->entry->name);
  pool = objc_autoreleasePoolPush();
  slot = nvr_begin_step(s, &a, 0, &status);
  if (slot) status = nvr_dispatch(slot, done, user);
  objc_autoreleasePoolPop(pool);
  return status;
}

static nuvec_status nvr_state_shapes(nvr_state *s, nvr_arrays a, size_t *scratch) {
  if (!s) return NUVEC_NULL;
  a.in[NVR_STATE] = s->now;
  return nvr_shapes(s->function, a, scratch);
}
