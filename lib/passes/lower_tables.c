/* lower_tables.c - a kernel joins the plan, tables behind its bindings, limits of open sizes as guards (private to the
 * fuser: fuse.h). */
#include "../ir/data.h"
#include "../ir/sizes.h"
#include "fuse.h"

static bool is_table(const nv_graph *g, const nv_operand_rec *o) { return !o->written && nv_is_table(g, o->value); }

/* Puts the operands that are tables of the .metal file behind the others. */
static void put_tables_last(nv_ctx *c, const nv_graph *g, nv_kernel *k) {
  uint32_t n = 0, at = 0;
  for (uint32_t o = 0; o < k->noperands; o++) n += is_table(g, &k->operands[o]);
  k->ntables = n;
  if (!n) return;
  uint32_t *to = NV_NEW_N(c, uint32_t, k->noperands), table = k->noperands - n;
  nv_operand_rec *old = NV_NEW_N(c, nv_operand_rec, k->noperands);
  memcpy(old, k->operands, k->noperands * sizeof *old);
  for (uint32_t o = 0; o < k->noperands; o++) {
    to[o] = is_table(g, &old[o]) ? table++ : at++;
    k->operands[to[o]] = old[o];
  }
  for (uint32_t i = 0; i < k->ninstrs; i++)
    if (k->instrs[i].kind == NV_I_LOAD || k->instrs[i].kind == NV_I_STORE)
      k->instrs[i].operand = to[k->instrs[i].operand];
}

/* What a kernel's text takes for granted of open sizes: positions in the grid and counters of loops are uints. */
static void add_limits(nv_fuser *f, const nv_kernel *k) {
  nv_ctx *c = f->c;
  const uint32_t origin = k->nnodes ? f->g->nodes[k->nodes[k->nnodes - 1]].origin : NV_NONE;
  const bool loops = k->kind != NV_K_MAP || k->folds;
  int64_t least, most;
  if (origin != NV_NONE) c->where = f->g->origins[origin].pos;
  for (uint32_t d = 0; d < k->rank; d++) {
    nv_dim_bounds(c, k->extent[d], &least, &most);
    if (!nv_graph_guard(f->g, NV_AT_MOST, k->extent[d], nv_dim_const(c, INT32_MAX), origin))
      nv_raise(c, NUVECC_SPEC, "not supported yet: a kernel over an axis of %lld elements", (long long)least);
  }
  if (!loops) return;
  nv_dim_bounds(c, k->reduce_extent, &least, &most);
  if (!nv_graph_guard(f->g, NV_AT_MOST, k->reduce_extent, nv_dim_const(c, INT64_C(1) << 30), origin))
    nv_raise(c, NUVECC_SPEC, "not supported yet: a reduction over %lld elements", (long long)least);
}

void nv_add_kernel(nv_fuser *f, const nv_kernel *k) {
  nv_plan *p = f->plan;
  if (f->g->nsources) add_limits(f, k);
  NV_GROW(f->c, p->kernels, p->kernels_cap, (size_t)p->nkernels + 1);
  p->kernels[p->nkernels] = *k;
  put_tables_last(f->c, f->g, &p->kernels[p->nkernels++]);
}
