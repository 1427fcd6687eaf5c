/* kernel_verify.c - the invariants of a plan: bodies, bindings, who writes what before whom, and where it lies. */
#include "data.h"
#include "kernel.h"
#include "../target.h"
#include "sizes.h"

#include <stdlib.h>

typedef struct verifier {
  const nv_plan *p;
  const nv_graph *g;
  nv_ctx *c;
  uint32_t kernel;
  uint32_t *writer;   /* a value: kernel that writes it first + 1, 0: none yet */
  uint32_t *last_use; /* a value: last kernel that writes or reads it */
} verifier;

static NV_NORETURN void broken(const verifier *v, const char *format, ...) NV_PRINTF(2, 3);
static NV_NORETURN void broken(const verifier *v, const char *format, ...) {
  va_list ap;
  va_start(ap, format);
  const char *what = nv_vformat(v->c, format, ap);
  va_end(ap);
  nv_bug(v->c, "kernel %u of %s: %s", v->kernel, nv_text(v->c, v->g->name), what);
}

/* ---- one kernel ---- */

static void check_space(const verifier *v, const nv_kernel *k) {
  int64_t extent;
  if (k->rank > 3 || (k->kind != NV_K_MAP && k->rank != 1)) broken(v, "rank %u", k->rank);
  if (k->kind == NV_K_ROWS && nv_dim_value(v->c, k->reduce_extent) > NV_LONGEST_ROW) broken(v, "too long a row");
  for (uint32_t d = 0; d < k->rank; d++)
    if (nv_dim_is_const(v->c, k->extent[d], &extent) && (extent < 0 || extent > 1 << 30))
      broken(v, "extent %lld", (long long)extent);
  if (k->guarded && k->kind != NV_K_MAP) broken(v, "a reduction with a guard");
  if (k->noperands - k->ntables + (v->g->nsources > 0) > v->c->target->max_buffers)
    broken(v, "%u bindings", k->noperands);
}

static void check_operands(const verifier *v, const nv_kernel *k) {
  bool writes = false;
  for (uint32_t i = 0; i < k->noperands; i++) {
    const nv_operand_rec *o = &k->operands[i];
    if (o->value >= v->g->nvalues) broken(v, "operand %u has no value", i);
    if (o->dtype != nv_dtype_of(v->g, o->value))
      broken(v, "operand %u has another dtype than %%%u", i, o->value);
    if (i + k->ntables >= k->noperands) {
      if (o->written || !nv_is_table(v->g, o->value)) broken(v, "operand %u is no table", i);
      continue;
    }
    if (writes && !o->written) broken(v, "operand %u is read and stands behind one that is written", i);
    writes |= o->written;
    if (o->elements > o->extent) broken(v, "operand %u touches more elements than it has", i);
    nv_shape s = nv_shape_at(v->g, o->value);
    if (nv_shape_most(v->c, s) != o->extent) broken(v, "operand %u has another extent", i);
    if (o->written && o->port != NV_NONE &&
        (o->port >= v->g->noutputs || v->g->outputs[o->port].value != o->value))
      broken(v, "operand %u isn't output %u", i, o->port);
  }
}

/* Are d's bounds exact: a sum of symbols? Those of other sums may be too wide, never too narrow. */
static bool has_exact_bounds(nv_ctx *c, nv_dim d) {
  for (uint32_t k = 0; k < nv_dim_nterms(c, d); k++) {
    int64_t coef;
    const uint32_t *atoms;
    uint32_t n;
    nv_dim_term(c, d, k, &coef, &atoms, &n);
    if (n > 1 || (n == 1 && nv_dim_atom(c, atoms[0])->kind != NV_ATOM_SYMBOL)) return false;
  }
  return true;
}

static void check_offset(const verifier *v, const nv_kernel *k, const nv_instr *i, bool behind) {
  int64_t min, max;
  const nv_operand_rec *o = &k->operands[i->operand];
  nv_dim_bounds(v->c, i->offset, &min, &max);
  if (v->g->nsources) return; /* bounds of open sizes say little */
  if (i->kind == NV_I_LOAD && i->nargs) {
    const int64_t stride = nv_dim_value(v->c, i->stride);
    *(stride < 0 ? &min : &max) += (nv_dim_value(v->c, i->count) - 1) * stride;
  }
  bool exact = !k->guarded && has_exact_bounds(v->c, i->offset);
  if (o->extent && (max < 0 || min >= o->extent || (exact && (min < 0 || max >= o->extent))))
    broken(v, "an offset into operand %u lies outside of it", i->operand);
  if (k->kind == NV_K_REDUCE && behind && nv_dim_uses(v->c, i->offset, k->reduce_symbol))
    broken(v, "an offset behind the reduction uses its symbol");
}

static void check_instr(const verifier *v, const nv_kernel *k, uint32_t n, uint32_t reduction) {
  const nv_instr *i = &k->instrs[n];
  bool behind = reduction < n;
  if (i->dtype >= NV_NDTYPES) broken(v, "v%u has no dtype", n);
  for (uint32_t a = 0; a < i->nargs; a++) {
    if (i->arg[a] >= n) broken(v, "v%u uses v%u, which isn't older", n, i->arg[a]);
    const nv_instr *from = &k->instrs[i->arg[a]];
    if (from->kind == NV_I_STORE) broken(v, "v%u uses a store", n);
    if (behind && i->arg[a] < reduction && !nv_is_inline(from))
      broken(v, "v%u uses a value inside the reduction", n);
  }
  switch (i->kind) {
  case NV_I_CONST:
    if (nv_dtype_size[i->dtype] < 8 && i->bits >> (8 * nv_dtype_size[i->dtype]))
      broken(v, "v%u has bits outside its dtype", n);
    break;
  case NV_I_SIZE:
    if (!nv_size_is_valid(v->c, i->attr)) broken(v, "v%u is no number", n);
    break;
  case NV_I_INDEX:
    if (i->dtype != NV_I32 && i->dtype != NV_I64) broken(v, "v%u is an index of %s", n, nv_dtype_name[i->dtype]);
    if (i->nargs) broken(v, "v%u has %u arguments", n, i->nargs);
    if (behind && nv_dim_uses(v->c, i->offset, k->reduce_symbol)) broken(v, "v%u uses the reduction's symbol", n);
    break;
  case NV_I_LOAD:
  case NV_I_STORE:
    if (i->operand >= k->noperands) broken(v, "v%u has no operand", n);
    if (k->operands[i->operand].written != (i->kind == NV_I_STORE))
      broken(v, "v%u loads what is written, or the reverse", n);
    if (k->operands[i->operand].dtype != i->dtype) broken(v, "v%u has another dtype than its operand", n);
    if (i->nargs > 1 || (i->kind == NV_I_STORE && !i->nargs)) broken(v, "v%u has %u arguments", n, i->nargs);
    if (i->kind == NV_I_LOAD && i->nargs) {
      const nv_dtype index = (nv_dtype)k->instrs[i->arg[0]].dtype;
      if (index != NV_I32 && index != NV_I64) broken(v, "v%u has an index of %s", n, nv_dtype_name[index]);
    }
    if (i->kind == NV_I_STORE && k->instrs[i->arg[0]].dtype != i->dtype)
      broken(v, "v%u stores another dtype", n);
    if (i->kind == NV_I_STORE && k->kind != NV_K_MAP && k->kind != NV_K_ROWS && !behind)
      broken(v, "v%u stores inside the reduction", n);
    check_offset(v, k, i, behind);
    break;
  case NV_I_FOLD: {
    const nv_instr *by = &k->instrs[i->arg[1]];
    if (k->kind != NV_K_MAP || i->nargs != 3 || (by->dtype != NV_BOOL && by->dtype != NV_I64) ||
        k->instrs[i->arg[0]].dtype != i->dtype || k->instrs[i->arg[2]].dtype != i->dtype)
      broken(v, "v%u can't fold", n);
    break;
  }
  case NV_I_OP:
  case NV_I_REDUCE: {
    nv_dtype dtypes[3], dtype;
    const char *why = "";
    if (i->op >= NV_NOPS || i->nargs > 3) broken(v, "v%u has no op", n);
    bool fits = i->kind == NV_I_REDUCE ? nv_ops[i->op].cls == NV_REDUCE
                                       : nv_ops[i->op].cls == NV_ELEM || nv_ops[i->op].cls == NV_COPY;
    if (!fits) broken(v, "v%u can't be %s", n, nv_ops[i->op].name);
    for (uint32_t a = 0; a < i->nargs; a++) dtypes[a] = (nv_dtype)k->instrs[i->arg[a]].dtype;
    if (!nv_infer_dtype(v->c, (nv_op)i->op, dtypes, i->nargs, i->attr, &dtype, &why))
      broken(v, "v%u: %s", n, why);
    if (dtype != i->dtype) broken(v, "v%u is %s, not %s", n, nv_dtype_name[i->dtype], nv_dtype_name[dtype]);
    break;
  }
  case NV_I_SCAN: {
    const nv_dtype wide = i->dtype == NV_F16 || i->dtype == NV_BF16 ? NV_F32 : (nv_dtype)i->dtype;
    if (nv_ops[i->op].cls != NV_SCAN) broken(v, "v%u can't be %s", n, nv_ops[i->op].name);
    if (i->nargs != 1u + (k->scan.part == NV_SCAN_BLOCKS)) broken(v, "v%u has %u arguments", n, i->nargs);
    if (k->instrs[i->arg[0]].dtype != i->dtype || (i->nargs > 1 && k->instrs[i->arg[1]].dtype != wide))
      broken(v, "v%u scans another dtype", n);
    break;
  }
  default: broken(v, "v%u is of no kind", n);
  }
}

/* What runs once a point uses nothing that runs once an element, but for reductions. */
static void check_rates(const verifier *v, const nv_kernel *k) {
  bool *each = NULL;
  uint32_t cap = 0;
  NV_GROW(v->c, each, cap, (size_t)k->ninstrs + 1);
  nv_kernel_rates(v->c, k, each);
  for (uint32_t n = 0; n < k->ninstrs; n++)
    if (k->instrs[n].kind == NV_I_STORE && !each[n] && each[k->instrs[n].arg[0]])
      broken(v, "v%u stores a value of an element once a point", n);
  nv_drop(v->c, each);
}

static void check_body(const verifier *v, const nv_kernel *k) {
  uint32_t reduction = NV_NONE, nreductions = 0;
  uint32_t *touched = NULL, cap = 0;
  NV_GROW(v->c, touched, cap, (size_t)k->noperands + 1);
  for (uint32_t i = 0; i < k->noperands; i++) touched[i] = 0;
  for (uint32_t n = 0; n < k->ninstrs; n++)
    if (k->instrs[n].kind == NV_I_REDUCE || k->instrs[n].kind == NV_I_SCAN) reduction = n, nreductions++;
  if (k->kind == NV_K_ROWS) {
    check_rates(v, k);
    reduction = NV_NONE;
  } else if (nreductions != (k->kind != NV_K_MAP)) {
    broken(v, "%u reductions", nreductions);
  } else if (nreductions && k->instrs[reduction].op != k->reduce_op) {
    broken(v, "it reduces by another op than it says");
  }
  for (uint32_t n = 0; n < k->ninstrs; n++) {
    check_instr(v, k, n, reduction);
    if (k->instrs[n].kind == NV_I_LOAD || k->instrs[n].kind == NV_I_STORE) touched[k->instrs[n].operand]++;
  }
  for (uint32_t i = 0; i < k->noperands; i++) {
    if (touched[i] == 0) broken(v, "operand %u isn't touched", i);
    if (k->operands[i].written && touched[i] > 1) broken(v, "operand %u is stored %u times", i, touched[i]);
  }
  nv_drop(v->c, touched);
}

/* ---- between kernels ---- */

static void check_flow(verifier *v) {
  const nv_plan *p = v->p;
  bool *written = NV_NEW_N(v->c, bool, v->g->noutputs);
  for (v->kernel = 0; v->kernel < p->nkernels; v->kernel++) {
    const nv_kernel *k = &p->kernels[v->kernel];
    for (uint32_t i = 0; i < k->noperands; i++) {
      const nv_operand_rec *o = &k->operands[i];
      v->last_use[o->value] = v->kernel;
      if (!o->written) {
        if (nv_node_of(v->g, o->value)->op != NV_OP_INPUT && !nv_data_of(v->g, o->value) && !v->writer[o->value])
          broken(v, "%%%u is read before it is written", o->value);
        continue;
      }
      if (o->port != NV_NONE) {
        if (written[o->port]) broken(v, "output %u is written twice", o->port);
        written[o->port] = true;
      } else if (v->writer[o->value]) {
        broken(v, "%%%u is written twice", o->value);
      }
    }
    for (uint32_t i = 0; i < k->noperands; i++) /* visible to later kernels only */
      if (k->operands[i].written && !v->writer[k->operands[i].value])
        v->writer[k->operands[i].value] = v->kernel + 1;
  }
  for (uint32_t k = 0; k < v->g->noutputs; k++) {
    nv_shape s = nv_shape_at(v->g, v->g->outputs[k].value);
    bool empty = nv_shape_is_empty(v->c, s);
    if (!written[k] && !empty) nv_bug(v->c, "%s: output %u is never written", nv_text(v->c, v->g->name), k);
  }
}

/* ---- scratch: no two values that are alive at once share a byte, and barriers stand where launches depend ---- */

/* A tree over the pieces between the ends of all ranges. latest is the last launch that touches any byte of a piece;
 * mark applies to a whole subtree. Both only rise. */
typedef struct pieces {
  int64_t *at; /* sorted ends */
  uint32_t n;  /* leaves: a power of two */
  uint32_t *latest, *mark;
} pieces;

static int compare_offsets(const void *a, const void *b) {
  int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
  return (x > y) - (x < y);
}

static uint32_t place_of(const pieces *t, uint32_t nends, int64_t offset) {
  uint32_t low = 0, high = nends;
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    if (t->at[middle] < offset)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

/* Latest launch + 1 that touches a piece in [low, high); 0: none. Then they are marked with now (0: not). */
static uint32_t touch(pieces *t, uint32_t low, uint32_t high, uint32_t now) {
  uint32_t latest = 0;
  for (uint32_t l = low + t->n, h = high + t->n; l < h; l /= 2, h /= 2) {
    uint32_t ends[2] = {l & 1 ? l++ : 0, h & 1 ? --h : 0};
    for (int e = 0; e < 2; e++) {
      if (!ends[e]) continue;
      if (t->latest[ends[e]] > latest) latest = t->latest[ends[e]];
      for (uint32_t up = ends[e]; up; up /= 2)
        if (t->mark[up] > latest) latest = t->mark[up];
      if (now <= t->mark[ends[e]]) continue;
      t->mark[ends[e]] = now;
      for (uint32_t up = ends[e]; up && t->latest[up] < now; up /= 2) t->latest[up] = now;
    }
  }
  return latest;
}

/* Where a value begins in scratch, and its bytes; of an open plan as if every slot had 256. */
static int64_t start_of(const verifier *v, const nv_place *at) {
  return v->g->nsources ? 256 * (int64_t)at->index : at->offset;
}

static int64_t bytes_of(const verifier *v, nv_value x) {
  nv_shape s = nv_shape_at(v->g, x);
  int64_t bytes = 0;
  if (v->g->nsources) return 256;
  if (!nv_shape_is_static(v->c, s) ||
      !nv_mul64(nv_shape_count(v->c, s), nv_dtype_size[nv_dtype_of(v->g, x)], &bytes))
    nv_bug(v->c, "%s: %%%u has no size", nv_text(v->c, v->g->name), x);
  return bytes;
}

static void check_place(const verifier *v, const nv_operand_rec *o, const nv_place *at) {
  const nv_graph *g = v->g;
  switch (at->kind) {
  case NV_PLACE_INPUT:
    if (o->written || at->index >= g->ninputs || g->inputs[at->index].value != o->value)
      broken(v, "%%%u isn't input %u", o->value, at->index);
    break;
  case NV_PLACE_OUTPUT:
    if (at->index >= g->noutputs || g->outputs[at->index].value != o->value ||
        (o->written && o->port != at->index))
      broken(v, "%%%u isn't output %u", o->value, at->index);
    break;
  case NV_PLACE_SCRATCH:
    if (o->written && o->port != NV_NONE) broken(v, "output %u is written to scratch", o->port);
    if (g->nsources) {
      const nv_dim bytes = nv_dim_mul(v->c, nv_shape_elements(v->c, nv_shape_at(g, o->value)),
                                      nv_dim_const(v->c, nv_dtype_size[o->dtype]));
      if (at->offset || at->index >= v->p->nslots || v->p->slots[at->index] != bytes)
        broken(v, "%%%u lies in no slot of its size", o->value);
      break;
    }
    if (at->offset < 0 || at->offset % 256 || at->offset > v->p->scratch_bytes ||
        bytes_of(v, o->value) > v->p->scratch_bytes - at->offset)
      broken(v, "%%%u lies outside of the scratch arena", o->value);
    break;
  case NV_PLACE_DATA:
  case NV_PLACE_TABLE:
    if (o->written || !nv_data_of(g, o->value) || nv_data_at(v->c, at->index) != nv_data_of(g, o->value) ||
        nv_is_table(g, o->value) != (at->kind == NV_PLACE_TABLE))
      broken(v, "%%%u isn't constant array %u", o->value, at->index);
    break;
  default: broken(v, "%%%u has no place", o->value);
  }
  if (!o->written && nv_node_of(g, o->value)->op == NV_OP_INPUT && at->kind != NV_PLACE_INPUT)
    broken(v, "input %%%u lies elsewhere", o->value);
}

static void check_launches(verifier *v) {
  const nv_plan *p = v->p;
  const nv_graph *g = v->g;
  int64_t *place = NV_NEW_N(v->c, int64_t, g->nvalues);         /* a value in scratch: its offset */
  uint32_t *output = NV_NEW_N(v->c, uint32_t, g->noutputs + 1); /* an output: launch that writes it + 1 */
  uint32_t *scratch =
      NV_NEW_N(v->c, uint32_t, g->nvalues); /* a value: launch that writes it to scratch + 1 */
  pieces t = {NULL, 1, NULL, NULL};
  uint32_t nends = 0, cap = 0, barrier = 0; /* launch of the last barrier */
  if (p->nlaunches != p->nkernels) nv_bug(v->c, "%s: %u launches", nv_text(v->c, g->name), p->nlaunches);
  for (uint32_t l = 0; l < p->nlaunches; l++) {
    v->kernel = p->launches[l].kernel;
    if (v->kernel != l) nv_bug(v->c, "%s: launch %u isn't of its kernel", nv_text(v->c, g->name), l);
    for (uint32_t i = 0; i < p->kernels[l].noperands; i++) {
      const nv_operand_rec *o = &p->kernels[l].operands[i];
      check_place(v, o, &p->launches[l].places[i]);
      if (!o->written || p->launches[l].places[i].kind != NV_PLACE_SCRATCH) continue;
      NV_GROW(v->c, t.at, cap, (size_t)nends + 2);
      t.at[nends++] = start_of(v, &p->launches[l].places[i]);
      t.at[nends++] = start_of(v, &p->launches[l].places[i]) + bytes_of(v, o->value);
    }
  }
  if (nends) qsort(t.at, nends, sizeof *t.at, compare_offsets);
  while (t.n < nends + 1) t.n *= 2;
  t.latest = NV_NEW_N(v->c, uint32_t, 2 * (size_t)t.n);
  t.mark = NV_NEW_N(v->c, uint32_t, 2 * (size_t)t.n);
  for (uint32_t l = 0; l < p->nlaunches; l++) {
    const nv_kernel *k = &p->kernels[l];
    v->kernel = l;
    if (p->launches[l].barrier) barrier = l;
    for (uint32_t i = 0; i < k->noperands; i++) { /* first what is read, then what is written */
      const nv_operand_rec *o = &k->operands[i];
      const nv_place *at = &p->launches[l].places[i];
      uint32_t by = 0; /* launch + 1 that this one must come after */
      if (at->kind == NV_PLACE_OUTPUT) {
        by = output[at->index];
        if (!o->written && !by) broken(v, "output %u is read before it is written", at->index);
        if (o->written) output[at->index] = l + 1;
      } else if (at->kind == NV_PLACE_SCRATCH) {
        const int64_t start = start_of(v, at);
        uint32_t low = place_of(&t, nends, start), high = place_of(&t, nends, start + bytes_of(v, o->value));
        if (o->written) {
          by = touch(&t, low, high, v->last_use[o->value] + 1);
          if (by > l) broken(v, "%%%u overwrites a value in scratch that is still used", o->value);
          place[o->value] = start;
          scratch[o->value] = l + 1;
        } else {
          if (!scratch[o->value] || place[o->value] != start)
            broken(v, "%%%u isn't where it was written", o->value);
          by = scratch[o->value];
        }
      }
      if (by && barrier < by) broken(v, "no barrier between launches %u and %u", by - 1, l);
    }
  }
  nv_drop(v->c, t.at);
}

void nv_plan_verify(const nv_plan *p) {
  verifier v = {.p = p, .g = p->graph, .c = p->graph->c};
  v.writer = NV_NEW_N(v.c, uint32_t, v.g->nvalues);
  v.last_use = NV_NEW_N(v.c, uint32_t, v.g->nvalues);
  for (v.kernel = 0; v.kernel < p->nkernels; v.kernel++) {
    const nv_kernel *k = &p->kernels[v.kernel];
    check_space(&v, k);
    check_operands(&v, k);
    check_body(&v, k);
  }
  check_flow(&v);
  if (p->launches) check_launches(&v);
}
