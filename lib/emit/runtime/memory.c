/* memory.c - the replay engine: prepared replays and their cache; buffers of a call, and who owns them. */
#include "sizes.c"

/* ---- buffers ---- */

/* A new shared buffer of n > 0 bytes, labelled "ENTRY NAME". */
static nuvec_status nvr_new_buffer(nvr_context *c, const nvr_entry *e, const char *name, size_t n, id *out) {
  char label[512];
  if (n > c->max_buffer)
    return nvr_fail(c, NUVEC_BUFFER_LIMIT, "%s: %s needs %zu bytes; the largest buffer of %s has %lu", e->name, name, n,
                    nvr_utf8(c, nvr_get(c, c->device, NVR_S_name)), c->max_buffer);
  *out = NVR_SEND("@@:QQ", id, (id, SEL, nvr_uint, nvr_uint))(c->device, c->sel[NVR_S_newBufferWithLength], n, 0);
  if (!*out) return nvr_fail(c, NUVEC_OUT_OF_MEMORY, "%s: no memory for the %zu bytes of %s", e->name, n, name);
  snprintf(label, sizeof label, "%s %s", e->name, name);
  nvr_set(c, *out, NVR_S_setLabel, nvr_string(c, label));
  return NUVEC_OK;
}

static void *nvr_contents(const nvr_context *c, id buffer) {
  return NVR_SEND("^v@:", void *, (id, SEL))(buffer, c->sel[NVR_S_contents]);
}

/* ---- prepared replays ---- */

static void nvr_free_slot(nvr_slot *s) {
  const nvr_form *f = s->signature->form;
  size_t k;
  for (k = 0; s->bound && k < f->ninputs + f->noutputs; k++) objc_release(s->bound[k].kept);
  objc_release(s->scratch);
  free(s->bound);
  free(s->spans);
#if NVR_OPEN
  free(s->own);
#endif
  free(s);
}
/* A list of them, linked by older. */
static void nvr_free_slots(nvr_slot *s) {
  nvr_slot *older;
  for (; s; s = older) {
    older = s->older;
    nvr_free_slot(s);
  }
}

/* The lock is held. */
static void nvr_push_slot(nvr_slot *s) {
  nvr_function *f = s->function;
#if NVR_OPEN
  nvr_slot **list = &f->idle[s->list];
#else
  nvr_slot **list = &f->idle[s->signature - f->entry->signatures];
#endif
  s->previous = s->newer = NULL;
  s->next = *list;
  s->older = f->newest;
  if (s->next) s->next->previous = s;
  if (s->older) s->older->newer = s;
  else f->oldest = s;
  *list = f->newest = s;
  f->waiting++;
  f->bytes += s->bytes;
}
static void nvr_pull_slot(nvr_slot *s) {
  nvr_function *f = s->function;
  if (s->next) s->next->previous = s->previous;
  if (s->previous) s->previous->next = s->next;
#if NVR_OPEN
  else f->idle[s->list] = s->next;
#else
  else f->idle[s->signature - f->entry->signatures] = s->next;
#endif
  if (s->older) s->older->newer = s->newer;
  else f->oldest = s->newer;
  if (s->newer) s->newer->older = s->older;
  else f->newest = s->older;
  f->waiting--;
  f->bytes -= s->bytes;
}
/* Takes out those that have no room beside more of them, the oldest first; the caller frees them without the lock. */
static nvr_slot *nvr_evict(nvr_function *f, size_t more) {
  nvr_slot *gone = NULL, *s;
  while ((s = f->oldest) != NULL && f->waiting + f->in_flight + more > f->capacity) {
    nvr_pull_slot(s);
    f->evictions++;
    s->older = gone;
    gone = s;
  }
  return gone;
}

static nvr_slot *nvr_evict_all(nvr_function *f) {
  nvr_slot *gone = f->newest;
  f->newest = f->oldest = NULL;
  f->waiting = f->bytes = 0;
  return gone;
}

static nvr_slot *nvr_new_slot(nvr_function *f, const nvr_signature *s, nuvec_status *status) {
  nvr_context *c = f->context;
  size_t n = s->form->ninputs + s->form->noutputs;
  nvr_slot *slot = (nvr_slot *)calloc(1, sizeof *slot);
  if (slot) {
    slot->function = f;
    slot->signature = s;
    slot->bytes = s->scratch;
    slot->bound = (nvr_bound *)calloc(n + 1, sizeof *slot->bound);
    slot->spans = (nvr_span *)calloc(n + 1, sizeof *slot->spans);
  }
  if (!slot || !slot->bound || !slot->spans)
    *status = nvr_fail(c, NUVEC_OUT_OF_MEMORY, "%s: no memory for a call", f->entry->name);
  else if (s->scratch) *status = nvr_new_buffer(c, f->entry, "scratch", s->scratch, &slot->scratch);
  if (*status == NUVEC_OK) return slot;
  if (slot) nvr_free_slot(slot);
  return NULL;
}

#if NVR_OPEN
/* A waiting replay for the sizes of the call, or NULL. s: the tape's signature, or where sizes are open the first that
 * fits but for them. The lock is held. */
static nvr_slot *nvr_find_slot(const nvr_function *f, size_t list, const nvr_signature *s, const nvr_arrays *a,
                               long said) {
  nvr_slot *slot = f->idle[list];
  size_t first;
  while (slot && s->open && (slot->said != said || slot->signature->form != s->form ||
                             nvr_distance(slot->signature, a, &first)))
    slot = slot->next;
  return slot;
}

/* An idle slot of the signature at the sizes of the call, or a new one, or NULL. Counts the call as in flight when it
 * succeeds. s as for nvr_find_slot. */
static nvr_slot *nvr_take_slot(nvr_function *f, const nvr_signature *s, const nvr_arrays *a, nuvec_status *status) {
  nvr_context *c = f->context;
  const long said = a->packed ? a->signature : -1;
  size_t list = (size_t)(s - f->entry->signatures);
  nvr_slot *slot, *gone = NULL;
  nvr_known *known = NULL;
  *status = NUVEC_OK;
  if (s->open) list = f->entry->nsignatures + (size_t)(nvr_hash(s->form, a) % NVR_LISTS);
  pthread_mutex_lock(&c->lock);
  slot = nvr_find_slot(f, list, s, a, said);
  if (slot) {
    nvr_pull_slot(slot);
    f->hits++;
    c->in_flight++;
    f->in_flight++;
  }
  pthread_mutex_unlock(&c->lock);
  if (slot) return slot;
  if (s->open) {
    known = nvr_fit(c, f->entry, s, a, status);
    if (!known) return NULL;
    s = &known->signature;
  }
  pthread_mutex_lock(&c->lock);
  gone = nvr_evict(f, 1);
  f->misses++;
  c->in_flight++;
  f->in_flight++;
  pthread_mutex_unlock(&c->lock);
  nvr_free_slots(gone);
  slot = nvr_new_slot(f, s, status);
  if (slot) {
    slot->own = known;
    slot->said = said;
    slot->list = list;
    return slot;
  }
  free(known);
  pthread_mutex_lock(&c->lock);
  f->in_flight--;
  if (--c->in_flight == 0) pthread_cond_broadcast(&c->quiet);
  pthread_mutex_unlock(&c->lock);
  return NULL;
}
#else
/* An idle slot of the signature, or a new one, or NULL. Counts the call as in flight when it succeeds. */
static nvr_slot *nvr_take_slot(nvr_function *f, const nvr_signature *s, nuvec_status *status) {
  nvr_context *c = f->context;
  nvr_slot *slot, *gone = NULL;
  *status = NUVEC_OK;
  pthread_mutex_lock(&c->lock);
  slot = f->idle[s - f->entry->signatures];
  if (slot) {
    nvr_pull_slot(slot);
    f->hits++;
  } else {
    gone = nvr_evict(f, 1);
    f->misses++;
  }
  c->in_flight++;
  f->in_flight++;
  pthread_mutex_unlock(&c->lock);
  nvr_free_slots(gone);
  if (!slot) slot = nvr_new_slot(f, s, status);
  if (slot) return slot;
  pthread_mutex_lock(&c->lock);
  f->in_flight--;
  if (--c->in_flight == 0) pthread_cond_broadcast(&c->quiet);
  pthread_mutex_unlock(&c->lock);
  return NULL;
}
#endif

/* The replay waits for the next call, or goes. The call still counts as in flight in the context: nvr_over. */
static void nvr_give_slot(nvr_slot *slot) {
  nvr_function *f = slot->function;
  nvr_slot *gone;
  pthread_mutex_lock(&f->context->lock);
  f->in_flight--;
  nvr_push_slot(slot);
  gone = nvr_evict(f, 0);
  pthread_mutex_unlock(&f->context->lock);
  nvr_free_slots(gone);
}
static void nvr_over(nvr_context *c) {
  pthread_mutex_lock(&c->lock);
  if (--c->in_flight == 0) pthread_cond_broadcast(&c->quiet);
  pthread_mutex_unlock(&c->lock);
}

/* Sets how many replays are kept, where capacity isn't NULL; reads what happened, where counts isn't. */
static nuvec_status nvr_cache(nvr_function *f, const size_t *capacity, nuvec_cache *counts) {
  nvr_slot *gone = NULL;
  void *pool;
  if (!f) return NUVEC_NULL;
  if (f->context->made != NUVEC_OK) return f->context->made;
  pthread_mutex_lock(&f->context->lock);
  if (capacity) {
    f->capacity = *capacity;
    gone = nvr_evict(f, 0);
  }
  if (counts) {
    counts->hits = f->hits;
    counts->misses = f->misses;
    counts->evictions = f->evictions;
    counts->capacity = f->capacity;
    counts->replays = f->waiting + f->in_flight;
    counts->bytes = f->bytes;
  }
  pthread_mutex_unlock(&f->context->lock);
  pool = objc_autoreleasePoolPush();
  nvr_free_slots(gone);
  objc_autoreleasePoolPop(pool);
  return NUVEC_OK;
}

/* ---- memory of a call ---- */

/* The app's buffer: checks it and notes its memory in *span. */
static nuvec_status nvr_bind_buffer(nvr_context *c, const nvr_entry *e, const char *what, const char *name,
                                    const nvr_type *t, const nuvec_array *a, nvr_bound *b, nvr_span *span) {
  id buffer = (id)a->buffer;
  size_t length = nvr_get_uint(c, buffer, NVR_S_length), room = a->offset < length ? length - a->offset : 0;
  uintptr_t contents = (uintptr_t)nvr_contents(c, buffer);
  if (a->bytes && a->bytes < room) room = a->bytes;
  if (room < t->bytes)
    return nvr_fail(c, NUVEC_SHORT_BUFFER,
                    "%s: %s %s needs %zu bytes; its buffer has %zu, of which %zu from offset %zu on are the array's",
                    e->name, what, name, t->bytes, length, room, a->offset);
  if (a->offset % t->align)
    return nvr_fail(c, NUVEC_MISALIGNED, "%s: %s %s: offset %zu isn't a multiple of the %zu bytes that a kernel moves",
                    e->name, what, name, a->offset, t->align);
  b->buffer = buffer;
  b->offset = a->offset;
  span->base = contents ? 0 : (uintptr_t)buffer;
  span->start = contents + a->offset;
  return NUVEC_OK;
}

/* The app's memory: wrapped where Metal can, else copied (an output after the call). */
static nuvec_status nvr_bind_host(nvr_context *c, const nvr_entry *e, const char *what, const char *name,
                                  const nvr_type *t, const nuvec_array *a, int is_output, nvr_bound *b,
                                  nvr_span *span, size_t *bytes) {
  nuvec_status status = NUVEC_OK;
  if (a->bytes < t->bytes)
    return nvr_fail(c, NUVEC_SHORT_BUFFER, "%s: %s %s needs %zu bytes; its host memory has %zu", e->name, what, name,
                    t->bytes, a->bytes);
  span->base = 0;
  span->start = (uintptr_t)a->host;
  b->offset = 0;
  if ((uintptr_t)a->host % NVR_PAGE == 0 && a->bytes % NVR_PAGE == 0 && a->bytes <= c->max_buffer) {
    b->made = NVR_SEND("@@:^vQQ@?", id, (id, SEL, void *, nvr_uint, nvr_uint, const void *))(
        c->device, c->sel[NVR_S_newBufferWithBytesNoCopy], a->host, a->bytes, 0, NULL);
    if (b->made) nvr_set(c, b->made, NVR_S_setLabel, nvr_string(c, name));
    b->buffer = b->made;
  }
  if (!b->buffer) {
    if (!b->kept) {
      status = nvr_new_buffer(c, e, name, t->bytes, &b->kept);
      if (status != NUVEC_OK) return status;
      *bytes += t->bytes;
    }
    b->buffer = b->kept;
    if (is_output) b->copy = nvr_contents(c, b->kept), b->host = a->host;
    else memcpy(nvr_contents(c, b->kept), a->host, t->bytes);
  }
  return NUVEC_OK;
}

static int nvr_is_before(const nvr_span *a, const nvr_span *b) {
  if (a->base != b->base) return a->base < b->base;
  return a->start != b->start ? a->start < b->start : a->index < b->index;
}
/* Heap sort: unlike a library's qsort it allocates nothing. */
static void nvr_sort_spans(nvr_span *spans, size_t n) {
  size_t start = n / 2, at, child;
  nvr_span moved;
  while (n > 1) {
    if (start) moved = spans[--start];
    else {
      moved = spans[--n];
      spans[n] = spans[0];
    }
    for (at = start; (child = 2 * at + 1) < n; at = child) {
      if (child + 1 < n && nvr_is_before(&spans[child], &spans[child + 1])) child++;
      if (!nvr_is_before(&moved, &spans[child])) break;
      spans[at] = spans[child];
    }
    spans[at] = moved;
  }
}

static const char *nvr_array_name(const nvr_form *f, size_t index) {
  return index < f->ninputs ? f->inputs[index].name : f->outputs[index - f->ninputs].name;
}

/* Does an output share memory with any other array? In order of their starts, an array overlaps an earlier one when
 * it starts before the furthest end so far; two inputs may. */
static nuvec_status nvr_check_aliasing(nvr_context *c, const nvr_entry *e, const nvr_form *f, nvr_span *spans,
                                       size_t n) {
  const nvr_span *input = NULL, *output = NULL, *clash; /* those that reach furthest */
  size_t k;
  nvr_sort_spans(spans, n);
  for (k = 0; k < n; k++) {
    const nvr_span *s = &spans[k];
    int is_output = s->index >= f->ninputs;
    if (k && s->base != spans[k - 1].base) input = output = NULL;
    clash = output && s->start < output->end ? output : is_output && input && s->start < input->end ? input : NULL;
    if (clash) {
      const nvr_span *a = is_output ? s : clash, *b = is_output ? clash : s;
      return nvr_fail(c, NUVEC_ALIASING, "%s: output %s shares memory with %s %s", e->name, nvr_array_name(f, a->index),
                      b->index < f->ninputs ? "input" : "output", nvr_array_name(f, b->index));
    }
    if (is_output) output = !output || s->end > output->end ? s : output;
    else input = !input || s->end > input->end ? s : input;
  }
  return NUVEC_OK;
}

/* Checks the memory of all arrays, then makes what the call needs. Outputs' arrays aren't written yet. */
static nuvec_status nvr_bind(nvr_slot *slot) {
  const nvr_entry *e = slot->function->entry;
  const nvr_signature *s = slot->signature;
  const nvr_form *f = s->form;
  nvr_context *c = slot->function->context;
  size_t k, nspans = 0, n = f->ninputs + f->noutputs;
  nuvec_status status = NUVEC_OK;
  for (k = 0; status == NUVEC_OK && k < n; k++) {
    int is_output = k >= f->ninputs;
    const nuvec_array *a = is_output ? nvr_out(&slot->arrays, f, k - f->ninputs) : nvr_in(&slot->arrays, f, k);
    const nvr_type *t = is_output ? &s->outputs[k - f->ninputs] : &s->inputs[k];
    const char *what = is_output ? "output" : "input", *name = nvr_array_name(f, k);
    nvr_bound *b = &slot->bound[k];
    nvr_span *span = &slot->spans[nspans];
    if (!t->bytes) continue;
    if (a->buffer) status = nvr_bind_buffer(c, e, what, name, t, a, b, span);
    else if (a->host) status = nvr_bind_host(c, e, what, name, t, a, is_output, b, span, &slot->bytes);
    else if (!is_output)
      status = nvr_fail(c, NUVEC_NULL, "%s: input %s has neither a buffer nor host memory", e->name, name);
    else {
      status = nvr_new_buffer(c, e, name, t->bytes, &b->made);
      b->buffer = b->made;
      continue; /* new memory overlaps nothing */
    }
    span->end = span->start + t->bytes;
    span->index = k;
    nspans++;
  }
  return status == NUVEC_OK ? nvr_check_aliasing(c, e, f, slot->spans, nspans) : status;
}

/* The outputs that the call allocated are the caller's from now on, and all are described. */
static void nvr_hand_over(nvr_slot *slot) {
  const nvr_form *f = slot->signature->form;
  size_t k;
  for (k = 0; k < f->noutputs; k++) {
    nvr_bound *b = &slot->bound[f->ninputs + k];
    const nvr_type *t = &slot->signature->outputs[k];
    nuvec_array *a = nvr_out(&slot->arrays, f, k);
    nvr_describe(t, a);
    if (a->buffer || a->host || !t->bytes) continue;
    a->buffer = b->made;
    a->host = nvr_contents(slot->function->context, b->made);
    a->offset = 0;
    a->bytes = t->bytes;
    b->made = NULL;
  }
}

/* Gives back what the call made, results in the app's memory copied there when all went well; leaves the slot ready
 * for the next call. */
static void nvr_unbind(nvr_slot *slot, nuvec_status status) {
  const nvr_form *f = slot->signature->form;
  size_t k;
  for (k = 0; k < f->ninputs + f->noutputs; k++) {
    nvr_bound *b = &slot->bound[k];
    if (status == NUVEC_OK && b->copy)
      memcpy(b->host, b->copy, slot->signature->outputs[k - f->ninputs].bytes);
    objc_release(b->made);
    b->made = b->buffer = NULL;
    b->copy = b->host = NULL;
  }
}
