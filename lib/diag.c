/* diag.c - hands collected diagnostics out: in source order, each with its place, notes behind their owner. */
#include "spec/doc.h"

#include <stdlib.h>

typedef struct nv_placed {
  uint32_t line, column; /* of the owner */
  uint32_t index;
} nv_placed;

static int by_place(const void *a, const void *b) {
  const nv_placed *x = a, *y = b;
  if (x->line != y->line) return x->line < y->line ? -1 : 1;
  if (x->column != y->column) return x->column < y->column ? -1 : 1;
  return x->index < y->index ? -1 : x->index > y->index;
}

void nv_diag_flush(nv_ctx *c) {
  uint32_t n = c->ndiags;
  if (!n) return;
  nv_placed *order = NV_NEW_N(c, nv_placed, n);
  nuvecc_diagnostic *all = NV_NEW_N(c, nuvecc_diagnostic, n);
  for (uint32_t i = 0; i < n; i++) {
    const nv_diag *d = &c->diags[i];
    nuvecc_diagnostic *o = &all[i];
    o->severity = d->severity;
    o->file = c->options.file;
    o->text = d->text;
    if (!nv_doc_locate(c, d->pos, &o->line, &o->column, &o->source, &o->source_length))
      o->line = o->column = 0;
    else if (d->pos.node & NV_BUILTIN)
      o->file = "<built-in>";
    order[i] = (nv_placed){all[d->owner].line, all[d->owner].column, i};
  }
  qsort(order, n, sizeof *order, by_place);
  c->ndiags = 0;
  if (!c->options.report) return;
  for (uint32_t i = 0; i < n; i++) c->options.report(c->options.user, &all[order[i].index]);
}
