/* hm_hazard.c - hazards between the dispatches of a concurrent encoder, byte by byte. A kernel built with --count says
 * which bytes it read and wrote; each buffer remembers them until the next barrier. Where one encoder starts and
 * another ends Metal waits by itself, so a barrier stands there too. */
#include "hm.h"
#include <stdlib.h>
#include <string.h>

enum { READ = 1, WRITTEN = 2 };
static unsigned long epoch = 1; /* grows at every barrier for all buffers */

void hm_hazard_barrier(const hm_dispatch *d) {
  if (!d->only) __atomic_add_fetch(&epoch, 1, __ATOMIC_SEQ_CST);
  for (NSUInteger i = 0; i < d->nonly; i++) d->only[i]->epoch = 0;
}

static void one_binding(void *context, const msl_launch *l, int index, size_t bytes, const unsigned char *read,
                        const unsigned char *written) {
  hm_bind *bind = &((hm_dispatch *)context)->bind[index];
  if (bind->kind != BOUND_BUFFER) return;
  hm_buffer *b = bind->buffer;
  if (!b->touched) b->touched = malloc(b->length);
  if (b->epoch != epoch) {
    memset(b->touched, 0, b->length);
    b->epoch = epoch;
  }
  unsigned char *old = b->touched + bind->offset;
  for (size_t i = 0; i < bytes;
       i++) { /* this dispatch's own marks are in the upper half until all bindings are done */
    unsigned now = read[i] * READ | written[i] * WRITTEN, was = old[i] & 15;
    if (!now) continue;
    if ((was | now) & WRITTEN && was)
      hm_bad("%s: byte %zu at index %d was %s by an earlier dispatch of this concurrent encoder and is %s; "
             "memoryBarrier missing",
             l->kernel->name, i, index, was & WRITTEN ? "written" : "read",
             now & WRITTEN ? "written" : "read");
    old[i] |= now << 4;
  }
}
static void settle(hm_dispatch *d) {
  for (int i = 0; i < MSL_BUFFERS; i++) {
    hm_buffer *b = d->bind[i].kind == BOUND_BUFFER ? d->bind[i].buffer : NULL;
    if (!b || !b->touched || b->epoch != epoch) continue;
    for (NSUInteger k = d->bind[i].offset; k < b->length; k++)
      b->touched[k] = (b->touched[k] | b->touched[k] >> 4) & 15;
  }
}
static void all_bindings(void *context, const msl_launch *l, const msl_bytes *maps, int n) {
  for (int i = 0; i < n; i++) one_binding(context, l, maps[i].index, maps[i].bytes, maps[i].read, maps[i].written);
  settle(context);
}

void hm_hazard_launch(hm_dispatch *d, msl_launch *l) {
  if (!d->concurrent || !(l->kernel->flags & MSL_COUNTED)) return;
  l->on_bytes = all_bindings;
  l->on_bytes_context = d;
}
