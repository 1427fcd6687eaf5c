/* metal_fold.c - MAP kernels that fold: every thread walks the updates in order and takes those for its own element.
 * What says whether an update is one of them is computed for all, the update itself only then. Sorted updates: every
 * thread walks its own run of them. */
#include "metal_gen.h"

static const char *joined(nv_gen *e, const nv_instr *p, const char *value, const char *update) {
  const nv_dtype d = (nv_dtype)p->dtype;
  if (p->op == NV_OP_copy) return update;
  nv_buf b;
  nv_buf_init(&b, e->c);
  nv_put_op(&b, (nv_op)p->op, (nv_dtype[]){d, d}, (const char *const[]){value, update}, 2, d);
  return nv_keep(&b);
}

void nv_gen_fold(nv_gen *e) {
  const nv_kernel *k = e->k;
  bool *inside = NV_NEW_N(e->c, bool, k->ninstrs), *asks = NV_NEW_N(e->c, bool, k->ninstrs);
  uint32_t fold = 0;
  for (; k->instrs[fold].kind != NV_I_FOLD; fold++) {
    const nv_instr *p = &k->instrs[fold];
    inside[fold] = (p->kind == NV_I_LOAD || p->kind == NV_I_INDEX) && nv_dim_uses(e->c, p->offset, k->reduce_symbol);
    for (uint32_t a = 0; a < p->nargs; a++) inside[fold] = inside[fold] || inside[p->arg[a]];
  }
  const nv_instr *p = &k->instrs[fold];
  asks[p->arg[1]] = true;
  for (uint32_t i = fold; i-- > 0;)
    for (uint32_t a = 0; asks[i] && a < k->instrs[i].nargs; a++) asks[k->instrs[i].arg[a]] = true;
  for (uint32_t i = 0; i < fold; i++)
    if (!inside[i]) nv_gen_scalar(e, 2, i, i + 1);
  const char *value = nv_gen_temporary(e, p->value), *step = e->index.variables[e->index.nsymbols - 1];
  const char *by = e->text[p->arg[1]]; /* known already: the element's run of updates */
  nv_line(e->b, 2, "%s %s = %s;", nv_msl_type((nv_dtype)p->dtype), value, e->text[p->arg[0]]);
  if (k->instrs[p->arg[1]].dtype == NV_I64) {
    const char *end = nv_names_fresh(&e->names, "end");
    nv_line(e->b, 2, "for (uint %s = uint(%s), %s = uint(%s >> 32); %s < %s; ++%s) {", step, by, end, by, step, end,
            step);
    nv_index_declare(&e->index, e->b, 4, NV_NONE);
    for (uint32_t i = 0; i < fold; i++)
      if (inside[i]) nv_gen_scalar(e, 4, i, i + 1);
    nv_line(e->b, 4, "%s = %s;", value, joined(e, p, value, e->text[p->arg[2]]));
    nv_line(e->b, 2, "}");
    e->text[fold] = value;
    nv_gen_scalar(e, 2, fold + 1, k->ninstrs);
    return;
  }
  nv_line(e->b, 2, "for (uint %s = 0u; %s < %s; ++%s) {", step, step,
          nv_index_size(&e->index, k->reduce_extent, false), step);
  nv_index_declare(&e->index, e->b, 4, NV_NONE);
  for (uint32_t i = 0; i < fold; i++)
    if (inside[i] && asks[i]) nv_gen_scalar(e, 4, i, i + 1);
  nv_line(e->b, 4, "if (%s) {", e->text[p->arg[1]]);
  for (uint32_t i = 0; i < fold; i++)
    if (inside[i] && !asks[i]) nv_gen_scalar(e, 6, i, i + 1);
  nv_line(e->b, 6, "%s = %s;", value, joined(e, p, value, e->text[p->arg[2]]));
  nv_line(e->b, 4, "}");
  nv_line(e->b, 2, "}");
  e->text[fold] = value;
  nv_gen_scalar(e, 2, fold + 1, k->ninstrs);
}
