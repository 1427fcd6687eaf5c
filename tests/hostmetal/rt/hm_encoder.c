/* hm_encoder.c - MTLComputeCommandEncoder: bindings, and every check of a dispatch. */
#include "hm.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_TGMEM = 32768, MAX_SET_BYTES = 4096, SCOPE_BUFFERS = 1 };
typedef struct hm_encoder {
  hm_object o;
  hm_command *command;
  int ended, concurrent, debug_depth;
  hm_pipeline *pipeline;
  hm_bind bind[MSL_BUFFERS];
  NSUInteger tgmem[MSL_BUFFERS];
  struct hm_touch {
    hm_buffer *buffer;
    NSUInteger offset;
    int written;
  } *touches; /* of kernels not built with --count, since the last barrier */
  int ntouches, capacity;
} hm_encoder;

id hm_new_encoder(hm_command *c, int concurrent) {
  if (c->status >= COMMITTED) hm_bad("computeCommandEncoder: command buffer already committed");
  if (c->encoder_open) hm_bad("computeCommandEncoder: the previous encoder was not ended");
  if (hm_fails(HM_FAIL_ENCODER)) return NULL;
  hm_encoder *e = hm_new(&C_MTLComputeCommandEncoder, sizeof *e);
  e->command = (hm_command *)objc_retain((id)c);
  e->concurrent = concurrent;
  c->encoder_open = 1;
  HM_COUNT(encoders);
  hm_append(c, calloc(1, sizeof(hm_dispatch))); /* what came before is done with */
  return objc_autorelease((id)e);
}
static void encoder_dealloc(hm_object *o) {
  hm_encoder *e = (hm_encoder *)o;
  if (!e->ended) hm_bad("compute encoder deallocated without endEncoding");
  free(e->touches);
  objc_release((id)e->command);
}
static hm_encoder *open_encoder(id o, const char *what) {
  hm_encoder *e = (hm_encoder *)o;
  if (e->ended) hm_bad("%s after endEncoding", what);
  return e;
}

/* ---- bindings ---- */
static void set_pipeline(id o, SEL s, id p) {
  (void)s;
  hm_encoder *e = open_encoder(o, "setComputePipelineState:");
  hm_want(p, &C_MTLComputePipelineState, "setComputePipelineState:");
  e->pipeline = (hm_pipeline *)p;
  hm_keep(e->command, p);
}
static void set_buffer(id o, SEL s, id b, NSUInteger offset, NSUInteger i) {
  (void)s;
  hm_encoder *e = open_encoder(o, "setBuffer:");
  if (i >= MSL_BUFFERS) hm_bad("setBuffer: index %lu > 30", i);
  if (!b) {
    e->bind[i].kind = UNBOUND;
    return;
  }
  hm_want(b, &C_MTLBuffer, "setBuffer:");
  NSUInteger length = ((hm_buffer *)b)->length;
  if (offset >= length) hm_bad("setBuffer: offset %lu >= length %lu at index %lu", offset, length, i);
  e->bind[i] = (hm_bind){.kind = BOUND_BUFFER, .buffer = (hm_buffer *)b, .offset = offset};
  hm_keep(e->command, b);
}
static void set_buffers(id o, SEL s, const id *b, const NSUInteger *offsets, NSRange r) {
  for (NSUInteger i = 0; i < r.length; i++) set_buffer(o, s, b[i], offsets[i], r.location + i);
}
static void set_buffer_offset(id o, SEL s, NSUInteger offset, NSUInteger i) {
  hm_encoder *e = open_encoder(o, "setBufferOffset:");
  if (i >= MSL_BUFFERS || e->bind[i].kind != BOUND_BUFFER) hm_bad("setBufferOffset: no buffer at index %lu", i);
  set_buffer(o, s, (id)e->bind[i].buffer, offset, i);
}
static void set_bytes(id o, SEL s, const void *p, NSUInteger n, NSUInteger i) {
  (void)s;
  hm_encoder *e = open_encoder(o, "setBytes:");
  if (i >= MSL_BUFFERS) hm_bad("setBytes: index %lu > 30", i);
  if (!n || n > MAX_SET_BYTES) hm_bad("setBytes: length %lu (1..4096)", n);
  hm_memory g = hm_alloc(n, 0);
  memcpy(g.p, p, n);
  hm_command *c = e->command;
  c->bytes = realloc(c->bytes, (c->nbytes + 1) * sizeof g);
  c->bytes[c->nbytes++] = g;
  e->bind[i] = (hm_bind){.kind = BOUND_BYTES, .bytes = g};
}
static void set_tgmem(id o, SEL s, NSUInteger n, NSUInteger i) {
  (void)s;
  hm_encoder *e = open_encoder(o, "setThreadgroupMemoryLength:");
  if (i >= MSL_BUFFERS) hm_bad("setThreadgroupMemoryLength: index %lu", i);
  if (n & 15) hm_bad("setThreadgroupMemoryLength: %lu is not a multiple of 16", n);
  e->tgmem[i] = n;
}
static void use_resource(id o, SEL s, id b, NSUInteger usage) {
  (void)s; (void)usage;
  hm_want(b, &C_MTLBuffer, "useResource:");
  hm_keep(open_encoder(o, "useResource:")->command, b);
}

/* ---- barriers ---- */
static void barrier(hm_encoder *e, const id *only, NSUInteger n) {
  hm_dispatch *d = calloc(1, sizeof *d);
  HM_COUNT(barriers);
  if (only) {
    d->only = calloc(n + 1, sizeof *d->only);
    d->nonly = n;
    for (NSUInteger i = 0; i < n; i++) {
      hm_want(only[i], &C_MTLBuffer, "memoryBarrierWithResources:");
      d->only[i] = (hm_buffer *)only[i];
      hm_keep(e->command, only[i]);
    }
  }
  hm_append(e->command, d);
  int kept = 0;
  for (int t = 0; only && t < e->ntouches; t++) {
    int cleared = 0;
    for (NSUInteger i = 0; i < n; i++) cleared |= e->touches[t].buffer == (hm_buffer *)only[i];
    if (!cleared) e->touches[kept++] = e->touches[t];
  }
  e->ntouches = kept;
}
static void barrier_scope(id o, SEL s, NSUInteger scope) {
  (void)s;
  if (!(scope & SCOPE_BUFFERS)) hm_bad("memoryBarrierWithScope: %lu does not have buffers in it", scope);
  barrier(open_encoder(o, "memoryBarrierWithScope:"), NULL, 0);
}
static void barrier_resources(id o, SEL s, const id *resources, NSUInteger n) {
  (void)s;
  barrier(open_encoder(o, "memoryBarrierWithResources:"), resources, n);
}

/* ---- dispatch ---- */
static void check_group(const hm_pipeline *p, MTLSize grid, MTLSize group) {
  const msl_kernel *k = p->k;
  if (!group.width || !group.height || !group.depth || !grid.width || !grid.height || !grid.depth)
    hm_bad("%s: dispatch of zero size", k->name);
  if (group.width > 1024 || group.height > 1024 || group.depth > 1024 ||
      group.width * group.height * group.depth > p->max_threads)
    hm_bad("%s: threadgroup %lux%lux%lu exceeds %lu threads", k->name, group.width, group.height, group.depth,
           p->max_threads);
}

static void check_binding(hm_encoder *e, const msl_kernel *k, const msl_arg *a) {
  hm_bind *b = &e->bind[a->index];
  if (b->kind == UNBOUND) hm_bad("%s: missing buffer binding at index %d for %s", k->name, a->index, a->name);
  if (b->kind == BOUND_BUFFER && b->buffer->o.isa != &C_MTLBuffer)
    hm_bad("%s: buffer at index %d was deallocated", k->name, a->index);
  if (b->kind == BOUND_BYTES && !a->is_constant && !a->is_const)
    hm_bad("%s: setBytes data at index %d for %s, which the kernel may write", k->name, a->index, a->name);
  size_t available = b->kind == BOUND_BUFFER ? b->buffer->length - b->offset : b->bytes.length;
  unsigned alignment = a->elem_size & -a->elem_size;
  if (alignment > 16) alignment = 16;
  if (available < a->elem_size)
    hm_bad("%s: binding at index %d for %s has %zu bytes, needs %u", k->name, a->index, a->name, available,
           a->elem_size);
  if (b->kind == BOUND_BUFFER && b->offset % alignment)
    hm_bad("%s: offset %lu at index %d not aligned to %u", k->name, b->offset, a->index, alignment);
  NSUInteger wanted = hm_has_family(2001) ? 32 : 4; /* of constant buffers: on Macs with other than Apple's GPUs 32 */
  if (b->kind == BOUND_BUFFER && a->is_constant && b->offset % wanted)
    hm_bad("%s: offset %lu at index %d of a constant buffer not aligned to %lu", k->name, b->offset, a->index, wanted);
}

/* A concurrent encoder's kernels that cannot say which bytes they touch: the same binding of the same buffer. */
static void check_touches(hm_encoder *e, const msl_kernel *k) {
  int before = e->ntouches;
  for (int i = 0; i < k->nargs; i++) {
    const msl_arg *a = &k->args[i];
    if (a->kind != MSL_ARG_BUFFER || e->bind[a->index].kind != BOUND_BUFFER) continue;
    struct hm_touch now = {e->bind[a->index].buffer, e->bind[a->index].offset, !a->is_const};
    for (int t = 0; t < before; t++)
      if (e->touches[t].buffer == now.buffer && e->touches[t].offset == now.offset &&
          (e->touches[t].written || now.written))
        hm_bad("%s: %s hazards an earlier dispatch of this concurrent encoder; memoryBarrier missing",
               k->name, a->name);
    if (e->ntouches == e->capacity)
      e->touches = realloc(e->touches, (e->capacity = 2 * e->capacity + 16) * sizeof *e->touches);
    e->touches[e->ntouches++] = now;
  }
}

static void dispatch(hm_encoder *e, MTLSize grid, MTLSize group, int in_groups) {
  if (!e->pipeline) hm_bad("dispatch without a pipeline state");
  const msl_kernel *k = e->pipeline->k;
  check_group(e->pipeline, grid, group);
  hm_dispatch *d = calloc(1, sizeof *d);
  d->pipeline = e->pipeline;
  d->concurrent = e->concurrent;
  NSUInteger G[3] = {grid.width, grid.height, grid.depth}, T[3] = {group.width, group.height, group.depth};
  for (int i = 0; i < 3; i++) {
    NSUInteger x = in_groups ? G[i] * T[i] : G[i];
    if (x > 0xffffffffUL) hm_bad("%s: grid dimension %lu over 32 bits", k->name, x);
    d->grid[i] = x;
    d->group[i] = T[i];
  }
  NSUInteger total = k->static_tgmem;
  for (int i = 0; i < k->nargs; i++) {
    const msl_arg *a = &k->args[i];
    if (a->kind == MSL_ARG_BUFFER) check_binding(e, k, a);
    if (a->kind != MSL_ARG_TGMEM) continue;
    if (!e->tgmem[a->index]) hm_bad("%s: no threadgroup memory at index %d for %s", k->name, a->index, a->name);
    total += e->tgmem[a->index];
  }
  if (total > MAX_TGMEM) hm_bad("%s: %lu bytes of threadgroup memory > 32768", k->name, total);
  if (e->concurrent && !(k->flags & MSL_COUNTED)) check_touches(e, k);
  memcpy(d->bind, e->bind, sizeof d->bind);
  memcpy(d->tgmem, e->tgmem, sizeof d->tgmem);
  HM_COUNT(dispatches);
  e->command->ndispatches++;
  hm_append(e->command, d);
}
static void dispatch_threads(id o, SEL s, MTLSize grid, MTLSize group) {
  (void)s;
  dispatch(open_encoder(o, "dispatchThreads:"), grid, group, 0);
}
static void dispatch_groups(id o, SEL s, MTLSize grid, MTLSize group) {
  (void)s;
  dispatch(open_encoder(o, "dispatchThreadgroups:"), grid, group, 1);
}

static void push_group(id o, SEL s, id name) {
  (void)s;
  const char *n = hm_text(name, "pushDebugGroup:");
  if (hm_trace) fprintf(stderr, "hostmetal: debug group %s\n", n);
  hm_debug_group(&open_encoder(o, "pushDebugGroup:")->debug_depth, 1, "encoder");
}
static void pop_group(id o, SEL s) {
  (void)s;
  hm_debug_group(&open_encoder(o, "popDebugGroup")->debug_depth, -1, "encoder");
}
static void signpost(id o, SEL s, id name) {
  (void)s;
  hm_text(name, "insertDebugSignpost:");
  open_encoder(o, "insertDebugSignpost:");
}
static NSUInteger dispatch_type(id o, SEL s) { (void)s; return ((hm_encoder *)o)->concurrent; }
static void end_encoding(id o, SEL s) {
  (void)s;
  hm_encoder *e = open_encoder(o, "endEncoding");
  if (e->debug_depth) hm_bad("endEncoding: %d debug groups were not popped", e->debug_depth);
  e->ended = 1;
  e->command->encoder_open = 0;
}

static hm_method encoder_methods[] = {{"setComputePipelineState:", set_pipeline, 0},
                                      {"setBuffer:offset:atIndex:", set_buffer, 0},
                                      {"setBuffers:offsets:withRange:", set_buffers, 0},
                                      {"setBufferOffset:atIndex:", set_buffer_offset, 0},
                                      {"setBytes:length:atIndex:", set_bytes, 0},
                                      {"setThreadgroupMemoryLength:atIndex:", set_tgmem, 0},
                                      {"useResource:usage:", use_resource, 0},
                                      {"dispatchThreads:threadsPerThreadgroup:", dispatch_threads, 0},
                                      {"dispatchThreadgroups:threadsPerThreadgroup:", dispatch_groups, 0},
                                      {"memoryBarrierWithScope:", barrier_scope, 0},
                                      {"memoryBarrierWithResources:count:", barrier_resources, 0},
                                      {"pushDebugGroup:", push_group, 0},
                                      {"popDebugGroup", pop_group, 0},
                                      {"insertDebugSignpost:", signpost, 0},
                                      {"dispatchType", dispatch_type, 0},
                                      {"endEncoding", end_encoding, 0},
                                      HM_LABELLED,
                                      HM_END};
HM_CLASS(MTLComputeCommandEncoder, encoder_methods, NULL, encoder_dealloc)
