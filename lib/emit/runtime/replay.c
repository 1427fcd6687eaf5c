/* replay.c - the replay engine: encodes the tape; a call from its arrays to its results; completion handlers. */
#include "memory.c"

/* ---- encoding ---- */

/* A threadgroup for a grid: what the kernel must have, else a power of two of threads, x first, no wider than the grid
 * needs. */
static nvr_size nvr_group(nvr_uint limit, unsigned fixed, const size_t grid[3]) {
  nvr_size g = {1, 1, 1};
  if (fixed) {
    g.width = fixed;
    return g;
  }
  while (g.width < limit && g.width < grid[0]) g.width *= 2;
  while (g.width * g.height < limit && g.height < grid[1]) g.height *= 2;
  while (g.width * g.height * g.depth < limit && g.depth < grid[2]) g.depth *= 2;
  return g;
}

static void nvr_encode_launch(nvr_context *c, id encoder, const nvr_slot *slot, const nvr_launch *l) {
  const nvr_pipeline *p = &c->pipelines[l->kernel];
  nvr_size grid;
  unsigned k;
  nvr_set(c, encoder, NVR_S_pushDebugGroup, p->label);
  nvr_set(c, encoder, NVR_S_setComputePipelineState, p->state);
  for (k = 0; k < l->nplaces; k++) {
    const nvr_place *place = &l->places[k];
    id buffer = place->space == NVR_DATA ? c->data : slot->scratch;
    size_t offset = place->offset;
    if (place->space == NVR_INPUT || place->space == NVR_OUTPUT) {
      const nvr_bound *b =
          &slot->bound[place->index + (place->space == NVR_OUTPUT ? slot->signature->form->ninputs : 0)];
      if (b->buffer) buffer = b->buffer; /* an empty array has none: any memory will do */
      offset = b->buffer ? b->offset : 0;
    }
    NVR_SEND("v@:@QQ", void, (id, SEL, id, nvr_uint, nvr_uint))(encoder, c->sel[NVR_S_setBuffer], buffer, offset, k);
  }
#if NVR_OPEN
  if (l->words)
    NVR_SEND("v@:r^vQQ", void, (id, SEL, const void *, nvr_uint, nvr_uint))
    (encoder, c->sel[NVR_S_setBytes], l->words, l->sizes->nfields * sizeof *l->words, k);
#endif
  grid.width = l->grid[0];
  grid.height = l->grid[1];
  grid.depth = l->grid[2];
  NVR_SEND("v@:{?=QQQ}{?=QQQ}", void, (id, SEL, nvr_size, nvr_size))
  (encoder, c->sel[NVR_S_dispatchThreads], grid, nvr_group(p->limit, c->tape->kernels[l->kernel].group, l->grid));
  nvr_do(c, encoder, NVR_S_popDebugGroup);
}

/* One encoder for the whole graph: launches run side by side but where a barrier stands. */
static nuvec_status nvr_encode_slot(const nvr_slot *slot, id command) {
  enum { CONCURRENT = 1 /* MTLDispatchType */, BUFFERS = 1 /* MTLBarrierScope */ };
  const nvr_function *f = slot->function;
  const nvr_signature *s = slot->signature;
  nvr_context *c = f->context;
  size_t k;
  int barrier = 0;
  id encoder = NVR_SEND("@@:Q", id, (id, SEL, nvr_uint))(command, c->sel[NVR_S_computeCommandEncoder], CONCURRENT);
  if (!encoder) return nvr_fail(c, NUVEC_GPU_ERROR, "%s: the command buffer gives no encoder", f->entry->name);
  nvr_set(c, encoder, NVR_S_setLabel, f->label);
  for (k = 0; k < s->nlaunches; k++) {
    const nvr_launch *l = &s->launches[k];
    barrier |= l->barrier;
    if (!l->grid[0] || !l->grid[1] || !l->grid[2]) continue; /* nothing to compute */
    if (barrier)
      NVR_SEND("v@:Q", void, (id, SEL, nvr_uint))(encoder, c->sel[NVR_S_memoryBarrierWithScope], BUFFERS);
    barrier = 0;
    nvr_encode_launch(c, encoder, slot, l);
  }
  nvr_do(c, encoder, NVR_S_endEncoding);
  return NUVEC_OK;
}

/* ---- one call, from its arrays to its results ---- */

#if NVR_OPEN
/* A call in a slot that was taken for it. */
static nvr_slot *nvr_start(nvr_slot *slot, const nvr_arrays *a, nuvec_status *status) {
  const nvr_function *f = slot->function;
  const nvr_signature *s = slot->signature;
  size_t k;
  slot->arrays = *a;
  slot->done = NULL;
  slot->settle = NULL;
  slot->sent = 0;
  *status = NUVEC_OK;
  for (k = 0; *status == NUVEC_OK && k < s->form->ninputs; k++)
    *status = nvr_check_strides(f->context, f->entry, "input", s->form->inputs[k].name, &s->inputs[k],
                                nvr_in(a, s->form, k));
  if (*status == NUVEC_OK) *status = nvr_check_outputs(f->context, f->entry, s, a);
  if (*status == NUVEC_OK) *status = nvr_bind(slot);
  if (*status == NUVEC_OK) return slot;
  nvr_unbind(slot, *status);
  nvr_give_slot(slot);
  nvr_over(f->context);
  return NULL;
}
/* Everything before encoding; NULL: *status says why. Afterwards the call is in flight: nvr_end, then nvr_over. */
static nvr_slot *nvr_begin_as(nvr_function *f, const nvr_signature *s, const nvr_arrays *a, nuvec_status *status) {
  nvr_slot *slot = nvr_take_slot(f, s, a, status);
  return slot ? nvr_start(slot, a, status) : NULL;
}
#else
/* Everything before encoding; NULL: *status says why. Afterwards the call is in flight: nvr_end, then nvr_over. */
static nvr_slot *nvr_begin_as(nvr_function *f, const nvr_signature *s, const nvr_arrays *a, nuvec_status *status) {
  nvr_slot *slot;
  *status = nvr_check_outputs(f->context, f->entry, s, a);
  if (*status != NUVEC_OK) return NULL;
  slot = nvr_take_slot(f, s, status);
  if (!slot) return NULL;
  slot->arrays = *a;
  slot->done = NULL;
  slot->settle = NULL;
  slot->sent = 0;
  *status = nvr_bind(slot);
  if (*status == NUVEC_OK) return slot;
  nvr_unbind(slot, *status);
  nvr_give_slot(slot);
  nvr_over(f->context);
  return NULL;
}
#endif
static nvr_slot *nvr_begin(nvr_function *f, const nvr_arrays *a, nuvec_status *status) {
  const nvr_signature *s = nvr_match(f->context, f->entry, a, status);
  return s ? nvr_begin_as(f, s, a, status) : NULL;
}

static void nvr_end(nvr_slot *slot, nuvec_status status) {
  nvr_unbind(slot, status);
  if (slot->settle) slot->settle(slot, status);
  nvr_give_slot(slot);
}

/* What became of a command buffer. */
static nuvec_status nvr_result(const nvr_slot *slot, id command) {
  enum { COMPLETED = 4, OUT_OF_MEMORY = 8 }; /* MTLCommandBufferStatus, MTLCommandBufferError */
  nvr_context *c = slot->function->context;
  const nvr_signature *s = slot->signature;
  id error;
  long code;
  if (nvr_get_uint(c, command, NVR_S_status) == COMPLETED) return NUVEC_OK;
  error = nvr_get(c, command, NVR_S_error);
  code = error ? NVR_SEND("q@:", long, (id, SEL))(error, c->sel[NVR_S_code]) : 0;
  return nvr_fail(c, code == OUT_OF_MEMORY ? NUVEC_OUT_OF_MEMORY : NUVEC_GPU_ERROR,
                  "%s: the GPU gave up on this call (%zu kernels, the first %s): %s", slot->function->entry->name,
                  s->nlaunches, s->nlaunches ? c->tape->kernels[s->launches[0].kernel].name : "none",
                  nvr_error_text(c, error));
}
static double nvr_gpu_seconds(const nvr_context *c, id command) {
  double start = NVR_SEND("d@:", double, (id, SEL))(command, c->sel[NVR_S_GPUStartTime]);
  return NVR_SEND("d@:", double, (id, SEL))(command, c->sel[NVR_S_GPUEndTime]) - start;
}

/* A command buffer of the context's queue with the call in it. */
static nuvec_status nvr_command(const nvr_slot *slot, id *command) {
  const nvr_function *f = slot->function;
  nvr_context *c = f->context;
  *command = nvr_get(c, c->queue, NVR_S_commandBuffer);
  if (!*command) return nvr_fail(c, NUVEC_GPU_ERROR, "%s: the queue gives no command buffer", f->entry->name);
  nvr_set(c, *command, NVR_S_setLabel, f->label);
  return nvr_encode_slot(slot, *command);
}

static nuvec_status nvr_wait_for(nvr_slot *slot, double *seconds) {
  nvr_context *c = slot->function->context;
  nuvec_status status;
  id command;
  if (seconds) *seconds = 0;
  if (!slot->signature->nlaunches) return NUVEC_OK;
  status = nvr_command(slot, &command);
  if (status != NUVEC_OK) return status;
  slot->sent = 1;
  nvr_do(c, command, NVR_S_commit);
  nvr_do(c, command, NVR_S_waitUntilCompleted);
  status = nvr_result(slot, command);
  if (status == NUVEC_OK && seconds) *seconds = nvr_gpu_seconds(c, command);
  return status;
}

/* ---- completion handlers ---- */

typedef struct nvr_block { /* a block, as the compilers lay them out */
  void *isa;
  int flags, reserved;
  void (*invoke)(struct nvr_block *block, id command);
  const void *descriptor;
  nvr_slot *slot; /* NULL: it was told */
} nvr_block;

static void nvr_completed(nvr_slot *slot, nuvec_status status, double seconds) {
  nvr_context *c = slot->function->context;
  nuvec_done done = slot->done;
  void *user = slot->user;
  if (status == NUVEC_OK && done) nvr_hand_over(slot); /* encoded calls did it at once */
  nvr_end(slot, status);
  if (done) done(user, status, seconds);
  nvr_over(c);
}
static void nvr_invoke(nvr_block *block, id command) {
  nvr_slot *slot = block->slot;
  void *pool = objc_autoreleasePoolPush();
  nuvec_status status = nvr_result(slot, command);
  block->slot = NULL;
  nvr_completed(slot, status, status == NUVEC_OK ? nvr_gpu_seconds(slot->function->context, command) : 0);
  objc_autoreleasePoolPop(pool);
}
static void nvr_copy_block(void *to, const void *from) { (void)to, (void)from; }
/* The app let its command buffer go without committing it. */
static void nvr_dispose_block(const void *block) {
  nvr_slot *slot = ((const nvr_block *)block)->slot;
  void *pool;
  if (!slot) return;
  pool = objc_autoreleasePoolPush();
  nvr_completed(slot, NUVEC_GPU_ERROR, 0);
  objc_autoreleasePoolPop(pool);
}
static const struct {
  unsigned long reserved, size;
  void (*copy)(void *to, const void *from);
  void (*dispose)(const void *block);
} nvr_block_descriptor = {0, sizeof(nvr_block), nvr_copy_block, nvr_dispose_block};

static void nvr_when_completed(nvr_slot *slot, id command) {
  enum { HAS_HELPERS = 1 << 25 };
  nvr_block block;
  block.isa = _NSConcreteStackBlock;
  block.flags = HAS_HELPERS;
  block.reserved = 0;
  block.invoke = nvr_invoke;
  block.descriptor = &nvr_block_descriptor;
  block.slot = slot;
  NVR_SEND("v@:@?", void, (id, SEL, const void *))
  (command, slot->function->context->sel[NVR_S_addCompletedHandler], &block);
}

/* ---- the ways to call ---- */

/* The function object that calls on the context itself go through. */
static nvr_function *nvr_default(void *context, size_t entry) {
  return context ? &((nvr_context *)context)->functions[entry] : NULL;
}

/* Runs what was begun, and waits. */
static nuvec_status nvr_finish(nvr_slot *slot, double *seconds) {
  nvr_context *c = slot->function->context;
  nuvec_status status = nvr_wait_for(slot, seconds);
  if (status == NUVEC_OK) nvr_hand_over(slot);
  nvr_end(slot, status);
  nvr_over(c);
  return status;
}
/* Commits what was begun. */
static nuvec_status nvr_dispatch(nvr_slot *slot, nuvec_done done, void *user) {
  nvr_context *c = slot->function->context;
  id command;
  nuvec_status status = nvr_command(slot, &command);
  if (status == NUVEC_OK) {
    slot->done = done;
    slot->user = user;
    slot->sent = 1;
    nvr_when_completed(slot, command);
    nvr_do(c, command, NVR_S_commit);
  } else {
    nvr_end(slot, status);
    nvr_over(c);
  }
  return status;
}
static nuvec_status nvr_call(nvr_function *f, nvr_arrays a, double *seconds) {
  nuvec_status status;
  nvr_slot *slot;
  void *pool;
  if (!f) return NUVEC_NULL;
  a.in[NVR_BOUND] = f->bound;
  pool = objc_autoreleasePoolPush();
  slot = nvr_begin(f, &a, &status);
  if (slot) status = nvr_finish(slot, seconds);
  objc_autoreleasePoolPop(pool);
  return status;
}

/* Until no call on the context is in flight. */
static nuvec_status nvr_wait(nvr_context *c) {
  if (!c) return NUVEC_NULL;
  pthread_mutex_lock(&c->lock);
  while (c->in_flight) pthread_cond_wait(&c->quiet, &c->lock);
  pthread_mutex_unlock(&c->lock);
  return NUVEC_OK;
}

/* Gives back a buffer that a call allocated. */
static void nvr_release(nuvec_array *a) {
  void *pool;
  if (!a) return;
  pool = objc_autoreleasePoolPush();
  objc_release((id)a->buffer);
  objc_autoreleasePoolPop(pool);
  a->buffer = a->host = NULL;
#if NVR_OPEN
  a->shape = NULL; /* the next call may make another one */
#endif
  a->offset = a->bytes = 0;
}

/* ---- the end ---- */

/* Frees what a function object holds but itself. */
static void nvr_drop_function(nvr_function *f) {
  const nvr_form *form = f->form;
  size_t k;
  nvr_free_slots(nvr_evict_all(f));
  for (k = 0; form && k < form->ninputs; k++)
    if (form->inputs[k].from == NVR_BOUND)
      objc_release((id)((nuvec_array *)(void *)((char *)f->bound + form->inputs[k].at))->buffer);
  objc_release(f->label);
  free(f->bound);
  free(f->shapes);
  free(f->idle);
}

static nuvec_status nvr_destroy(nvr_context *c) {
  size_t k, in_flight, objects;
  nvr_message *m;
  void *pool;
  if (!c) return NUVEC_OK;
  pthread_mutex_lock(&c->lock);
  in_flight = c->in_flight;
  objects = c->objects;
  pthread_mutex_unlock(&c->lock);
  if (in_flight) return nvr_fail(c, NUVEC_BUSY, "%s: %zu calls are in flight", c->tape->name, in_flight);
  if (objects)
    return nvr_fail(c, NUVEC_BUSY, "%s: %zu function objects or states of this context are still there", c->tape->name,
                    objects);
  pool = objc_autoreleasePoolPush();
  for (k = 0; k < c->tape->nentries; k++)
    if (c->functions[k].entry) nvr_drop_function(&c->functions[k]);
  for (k = 0; c->pipelines && k < c->tape->nkernels; k++) {
    objc_release(c->pipelines[k].state);
    objc_release(c->pipelines[k].label);
  }
  if (c->drop_data) c->drop_data(c);
  objc_release(c->library);
  objc_release(c->queue);
  objc_release(c->device);
  objc_autoreleasePoolPop(pool);
  while ((m = c->messages) != NULL) {
    c->messages = m->next;
    free(m);
  }
#if NVR_OPEN
  while (c->all_shapes) {
    nvr_kept_shape *shape = c->all_shapes;
    c->all_shapes = shape->next;
    free(shape);
  }
#endif
  free(c->pipelines);
  pthread_cond_destroy(&c->quiet);
  pthread_mutex_destroy(&c->lock);
  free(c);
  return NUVEC_OK;
}
