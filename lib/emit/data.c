/* data.c - NAME.data: the constant arrays that kernels read from a buffer, in the order of their ids, behind a head.
 * The stub maps the file whole, so its length is a multiple of the largest page. */
#include "../ir/data.h"
#include "emit.h"

#include <inttypes.h>

enum { HEAD = 256, ALIGNMENT = 256, PAGE = 16384 };

void nv_lay_out_data(nv_module *m) {
  nv_ctx *c = m->c;
  bool *used = NV_NEW_N(c, bool, (size_t)nv_data_count(c) + 1), any = false;
  for (uint32_t i = 0; i < m->nprograms; i++) {
    const nv_graph *g = m->programs[i].traced;
    const nv_plan *p = m->programs[i].plan;
    for (uint32_t k = 0; k < g->nnodes && !any; k++)
      any = g->nodes[k].op == NV_OP_DATA && !nv_is_table(g, g->nodes[k].result);
    for (uint32_t l = 0; p && l < p->nlaunches; l++)
      for (uint32_t o = 0; o < p->kernels[l].noperands; o++)
        if (p->launches[l].places[o].kind == NV_PLACE_DATA) used[p->launches[l].places[o].index] = true;
  }
  m->has_data = any;
  if (!any) return;
  uint64_t hash = 0;
  int64_t at = HEAD;
  for (uint32_t k = 0; k < nv_data_count(c); k++) {
    nv_data *d = nv_data_at(c, k);
    if (!used[k]) continue;
    d->offset = at;
    hash = nv_hash(&d->hash, sizeof d->hash, hash);
    at += (int64_t)((d->n + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT);
  }
  m->data_bytes = (at + PAGE - 1) / PAGE * PAGE;
  m->data_hash = hash;
  if (m->data_bytes > UINT32_MAX - PAGE)
    nv_raise(c, NUVECC_SPEC, "the constant arrays have %" PRId64 " bytes: 4 GiB at most", m->data_bytes);
}

static void put_zeros(nv_buf *b, int64_t until) {
  static const char zeros[64];
  while (b->n < until) nv_put(b, zeros, until - b->n < 64 ? (size_t)(until - b->n) : 64);
}

void nv_emit_data(nv_buf *b, const nv_module *m) {
  nv_printf(b, "nuvec data 1\n%016" PRIx64 "\n%s\n", m->data_hash, m->name);
  put_zeros(b, HEAD);
  for (uint32_t k = 0; k < nv_data_count(m->c); k++) {
    const nv_data *d = nv_data_at(m->c, k);
    if (d->offset < 0) continue;
    put_zeros(b, d->offset);
    nv_put(b, (const char *)d->bytes, d->n);
  }
  put_zeros(b, m->data_bytes);
}
