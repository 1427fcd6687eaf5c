/* hm_command.c - queue and command buffers. Work runs lazily, at a wait: results read too early are poison. A command
 * buffer with completion handlers runs a little later on a thread of its own, if nobody waits before. */
#define _GNU_SOURCE
#include "hm.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

struct hm_queue {
  hm_object o;
  pthread_mutex_t lock; /* of the list; not held while work or a handler runs */
  pthread_cond_t changed;
  hm_command *head, *tail;
  int running;
  pthread_t runner;
};
int hm_background, hm_trace;
enum { MAX_HANDLERS = 8, TIMEOUT = 2 /* MTLCommandBufferError */ };

id hm_new_queue(id d, SEL s) {
  (void)d; (void)s;
  if (hm_fails(HM_FAIL_QUEUE)) return NULL;
  hm_queue *q = hm_new(&C_MTLCommandQueue, sizeof *q);
  pthread_mutex_init(&q->lock, NULL);
  pthread_cond_init(&q->changed, NULL);
  return (id)q;
}
static hm_command *command_of(hm_queue *q) {
  if (hm_fails(HM_FAIL_COMMAND)) return NULL;
  hm_command *c = hm_new(&C_MTLCommandBuffer, sizeof *c);
  c->queue = (hm_queue *)objc_retain((id)q);
  c->end = &c->first;
  return (hm_command *)objc_autorelease((id)c);
}
static id command_new(id q, SEL s) { (void)s; return (id)command_of((hm_queue *)q); }
static id command_new_unretained(id q, SEL s) {
  (void)s;
  hm_command *c = command_of((hm_queue *)q);
  if (c) c->unretained = 1;
  return (id)c;
}
void hm_keep(hm_command *c, id o) {
  if (c->unretained) return;
  c->kept = realloc(c->kept, (c->nkept + 1) * sizeof *c->kept);
  c->kept[c->nkept++] = objc_retain(o);
}
void hm_append(hm_command *c, hm_dispatch *d) {
  *c->end = d;
  c->end = &d->next;
}
static void let_go(hm_command *c) {
  for (hm_dispatch *d = c->first, *next; d; d = next) {
    next = d->next;
    free(d->only);
    free(d);
  }
  c->first = NULL;
  for (int i = 0; i < c->nkept; i++) objc_release(c->kept[i]);
  free(c->kept);
  c->kept = NULL;
  c->nkept = 0;
  for (int i = 0; i < c->nbytes; i++) hm_release_memory(&c->bytes[i], "setBytes");
  free(c->bytes);
  c->bytes = NULL;
  c->nbytes = 0;
}

/* ---- running ---- */
static double seconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}
static void run_dispatch(hm_dispatch *d) {
  const msl_kernel *k = d->pipeline->k;
  msl_launch l = {.kernel = k, .ftz = msl_defaults.ftz};
  hm_memory tg[MSL_BUFFERS];
  memcpy(l.grid, d->grid, sizeof l.grid);
  memcpy(l.group, d->group, sizeof l.group);
  for (int i = 0; i < MSL_BUFFERS; i++) {
    hm_bind *b = &d->bind[i];
    if (b->kind == BOUND_BUFFER) {
      if (b->buffer->o.isa != &C_MTLBuffer)
        hm_bad("%s: the buffer at index %d was deallocated before it ran", k->name, i);
      l.buffer[i] = hm_buffer_bytes(b->buffer) + b->offset;
      l.bytes[i] = b->buffer->length - b->offset;
    } else if (b->kind == BOUND_BYTES) {
      l.buffer[i] = b->bytes.p;
      l.bytes[i] = b->bytes.length;
    }
    if (!d->tgmem[i]) continue;
    tg[i] = hm_alloc(d->tgmem[i], 0xFF);
    l.tgmem[i] = tg[i].p;
  }
  if (hm_trace) {
    const char *label = d->pipeline->o.label;
    fprintf(stderr, "hostmetal: %s grid %ux%ux%u group %ux%ux%u%s%s\n", k->name, d->grid[0], d->grid[1], d->grid[2],
            d->group[0], d->group[1], d->group[2], label ? " pipeline " : "", label ? label : "");
  }
  hm_hazard_launch(d, &l);
  if (msl_launch_run(&l)) hm_bad("%s", msl_error());
  for (int i = 0; i < MSL_BUFFERS; i++) {
    if (d->tgmem[i]) hm_release_memory(&tg[i], k->name);
    if (d->bind[i].kind == BOUND_BUFFER && !d->bind[i].buffer->user) hm_check(&d->bind[i].buffer->g, k->name);
  }
}
static void run_command(hm_command *c) {
  void *pool = objc_autoreleasePoolPush();
  int left = c->will_fail ? (c->ndispatches + 1) / 2 : c->ndispatches;
  if (hm_trace) fprintf(stderr, "hostmetal: command buffer %s\n", c->o.label ? c->o.label : "without a label");
  __atomic_store_n(&c->status, SCHEDULED, __ATOMIC_SEQ_CST);
  for (int i = 0; i < c->nscheduled; i++) {
    ((void (*)(void *, id))c->scheduled[i]->invoke)(c->scheduled[i], (id)c);
    _Block_release(c->scheduled[i]);
  }
  c->start_time = seconds();
  for (hm_dispatch *d = c->first; d; d = d->next) {
    if (!d->pipeline) hm_hazard_barrier(d);
    else if (left-- > 0) run_dispatch(d);
  }
  c->end_time = seconds();
  let_go(c);
  if (c->will_fail) {
    hm_set_error(&c->error, "MTLCommandBufferErrorDomain", TIMEOUT,
                 "Caused GPU Timeout Error (00000002:kIOGPUCommandBufferCallbackErrorTimeout)");
    objc_retain(c->error);
  }
  __atomic_store_n(&c->status, c->will_fail ? FAILED : COMPLETED, __ATOMIC_SEQ_CST);
  for (int i = 0; i < c->nhandlers; i++) {
    ((void (*)(void *, id))c->handler[i]->invoke)(c->handler[i], (id)c);
    _Block_release(c->handler[i]);
  }
  objc_autoreleasePoolPop(pool);
}
static void drain(hm_queue *q, hm_command *upto) { /* NULL: all */
  pthread_mutex_lock(&q->lock);
  while (upto ? !upto->handled : q->head || q->running) {
    if (q->running) {
      if (pthread_equal(q->runner, pthread_self())) {
        if (upto && upto->status >= COMPLETED) break; /* inside one of its own handlers */
        hm_bad("waitUntilCompleted inside a completion handler of the same queue");
      }
      pthread_cond_wait(&q->changed, &q->lock);
      continue;
    }
    hm_command *c = q->head;
    if (!(q->head = c->next)) q->tail = NULL;
    q->running = 1;
    q->runner = pthread_self();
    pthread_mutex_unlock(&q->lock);
    run_command(c);
    pthread_mutex_lock(&q->lock);
    c->handled = 1;
    q->running = 0;
    pthread_cond_broadcast(&q->changed);
    pthread_mutex_unlock(&q->lock);
    objc_release((id)c);
    pthread_mutex_lock(&q->lock);
  }
  pthread_mutex_unlock(&q->lock);
}
static void *drain_later(void *c) { /* handlers run on a thread of Metal's own */
  usleep(2000);
  drain(((hm_command *)c)->queue, c);
  objc_release(c);
  __atomic_sub_fetch(&hm_background, 1, __ATOMIC_SEQ_CST);
  return NULL;
}

/* ---- methods ---- */
static id command_encoder(id c, SEL s) { (void)s; return hm_new_encoder((hm_command *)c, 0); }
static id command_encoder_type(id c, SEL s, NSUInteger type) {
  (void)s;
  if (type > 1) hm_bad("computeCommandEncoderWithDispatchType: %lu", type);
  return hm_new_encoder((hm_command *)c, type == 1);
}
static void command_enqueue(id o, SEL s) {
  (void)s;
  hm_command *c = (hm_command *)o;
  if (c->status) hm_bad("enqueue: already enqueued or committed");
  c->status = ENQUEUED; /* its place in the queue is taken at the commit: with one queue and thread the same */
}
static void command_commit(id o, SEL s) {
  (void)s;
  hm_command *c = (hm_command *)o;
  if (c->status >= COMMITTED) hm_bad("commit: already committed");
  if (c->encoder_open) hm_bad("commit: an encoder was not ended");
  if (c->debug_depth) hm_bad("commit: %d debug groups were not popped", c->debug_depth);
  HM_COUNT(commits);
  c->will_fail = hm_fails(HM_FAIL_COMMIT);
  objc_retain(o);
  pthread_mutex_lock(&c->queue->lock);
  c->status = COMMITTED;
  if (c->queue->tail) c->queue->tail->next = c;
  else c->queue->head = c;
  c->queue->tail = c;
  pthread_mutex_unlock(&c->queue->lock);
  if (!c->nhandlers) return;
  pthread_t t;
  objc_retain(o);
  __atomic_add_fetch(&hm_background, 1, __ATOMIC_SEQ_CST);
  pthread_create(&t, NULL, drain_later, c);
  pthread_detach(t);
}
static void command_wait(id o, SEL s) {
  (void)s;
  hm_command *c = (hm_command *)o;
  if (c->status < COMMITTED) hm_bad("waitUntilCompleted before commit");
  drain(c->queue, c);
}
static void command_wait_scheduled(id o, SEL s) {
  (void)s;
  if (((hm_command *)o)->status < COMMITTED) hm_bad("waitUntilScheduled before commit");
}
static NSUInteger command_status(id o, SEL s) {
  (void)s;
  return __atomic_load_n(&((hm_command *)o)->status, __ATOMIC_SEQ_CST);
}
static id command_error(id o, SEL s) {
  (void)s;
  hm_command *c = (hm_command *)o;
  return c->error ? objc_autorelease(objc_retain(c->error)) : NULL;
}
static double command_start(id o, SEL s) { (void)s; return ((hm_command *)o)->start_time; }
static double command_end(id o, SEL s) { (void)s; return ((hm_command *)o)->end_time; }
static id command_queue(id o, SEL s) { (void)s; return (id)((hm_command *)o)->queue; }
static BOOL command_retains(id o, SEL s) { (void)s; return !((hm_command *)o)->unretained; }
static void add_handler(hm_command *c, const hm_block *b, hm_block **list, int *n, const char *what) {
  if (c->status >= COMMITTED) hm_bad("%s after commit", what);
  if (*n == MAX_HANDLERS) hm_bad("%s: too many", what);
  list[(*n)++] = hm_copy_block(b, what);
}
static void command_handler(id o, SEL s, const hm_block *b) {
  (void)s;
  hm_command *c = (hm_command *)o;
  add_handler(c, b, c->handler, &c->nhandlers, "addCompletedHandler:");
}
static void command_scheduled(id o, SEL s, const hm_block *b) {
  (void)s;
  hm_command *c = (hm_command *)o;
  add_handler(c, b, c->scheduled, &c->nscheduled, "addScheduledHandler:");
}
static void push_group(id o, SEL s, id name) {
  (void)s;
  hm_text(name, "pushDebugGroup:");
  hm_debug_group(&((hm_command *)o)->debug_depth, 1, "command buffer");
}
static void pop_group(id o, SEL s) { (void)s; hm_debug_group(&((hm_command *)o)->debug_depth, -1, "command buffer"); }
static void command_dealloc(hm_object *o) {
  hm_command *c = (hm_command *)o;
  if (c->status < COMMITTED && c->ndispatches)
    fprintf(stderr, "hostmetal: warning: command buffer with work released uncommitted\n");
  for (int i = 0; c->status < COMMITTED && i < c->nhandlers; i++) _Block_release(c->handler[i]);
  for (int i = 0; c->status < COMMITTED && i < c->nscheduled; i++) _Block_release(c->scheduled[i]);
  let_go(c);
  objc_release(c->error);
  objc_release((id)c->queue);
}

static hm_method queue_methods[] = {{"commandBuffer", command_new, 0},
                                    {"commandBufferWithUnretainedReferences", command_new_unretained, 0},
                                    HM_LABELLED,
                                    HM_END};
HM_CLASS(MTLCommandQueue, queue_methods, NULL, NULL)
static hm_method command_methods[] = {{"computeCommandEncoder", command_encoder, 0},
                                      {"computeCommandEncoderWithDispatchType:", command_encoder_type, 0},
                                      {"enqueue", command_enqueue, 0},
                                      {"commit", command_commit, 0},
                                      {"waitUntilCompleted", command_wait, 0},
                                      {"waitUntilScheduled", command_wait_scheduled, 0},
                                      {"status", command_status, 0},
                                      {"error", command_error, 0},
                                      {"addCompletedHandler:", command_handler, 0},
                                      {"addScheduledHandler:", command_scheduled, 0},
                                      {"GPUStartTime", command_start, 0},
                                      {"GPUEndTime", command_end, 0},
                                      {"kernelStartTime", command_start, 0},
                                      {"kernelEndTime", command_end, 0},
                                      {"commandQueue", command_queue, 0},
                                      {"retainedReferences", command_retains, 0},
                                      {"pushDebugGroup:", push_group, 0},
                                      {"popDebugGroup", pop_group, 0},
                                      HM_LABELLED,
                                      HM_END};
HM_CLASS(MTLCommandBuffer, command_methods, NULL, command_dealloc)
