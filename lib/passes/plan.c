/* plan.c - where every operand of every launch lies, which launches wait for others, and how many bytes move. */
#include "../ir/data.h"
#include "passes.h"
#include "region.h"

#include <stdlib.h>

/* of a value in scratch: covers every device's rule for buffer offsets (Metal's feature set tables) */
enum { ALIGNMENT = 256 };

typedef struct range { /* a value in scratch, in order of first; of an open plan as if it had one byte */
  nv_value value;
  uint32_t first, last; /* launches that write it and use it last */
  uint32_t until;       /* ranges [own index, until) start while it is alive */
  int64_t bytes, size;  /* size: a multiple of ALIGNMENT */
  nv_dim slot;          /* of an open plan: its bytes */
  int64_t offset;       /* -1: none yet */
} range;

typedef struct planner {
  nv_ctx *c;
  nv_plan *p;
  nv_graph *g;
  bool open;
  uint32_t *range_of;   /* a value: its range, or NV_NONE */
  uint32_t *output_of;  /* a value: the output that it is read from, or NV_NONE */
  uint32_t *writer;     /* a value: launch */
  range *ranges; uint32_t nranges, ranges_cap;
} planner;

static int64_t add_bytes(planner *s, int64_t a, int64_t count, nv_dtype d) {
  int64_t bytes;
  if (!nv_mul64(count, nv_dtype_size[d], &bytes) || !nv_add64(a, bytes, &a))
    nv_raise(s->c, NUVECC_SPEC, "the byte counts of '%s' overflow 63 bits", nv_text(s->c, s->g->name));
  return a;
}

/* ---- lifetimes ---- */

static void find_ranges(planner *s) {
  for (uint32_t k = 0; k < s->p->nkernels; k++) {
    const nv_kernel *x = &s->p->kernels[k];
    for (uint32_t i = 0; i < x->noperands; i++) {
      const nv_operand_rec *o = &x->operands[i];
      uint32_t r = s->range_of[o->value];
      if (r != NV_NONE) s->ranges[r].last = k;
      if (!o->written) continue;
      if (o->port != NV_NONE) {
        if (s->output_of[o->value] == NV_NONE) s->output_of[o->value] = o->port, s->writer[o->value] = k;
        continue;
      }
      int64_t bytes = s->open ? 1 : add_bytes(s, 0, o->extent, (nv_dtype)o->dtype);
      const nv_dim slot = s->open ? nv_dim_mul(s->c, nv_shape_elements(s->c, nv_shape_at(s->g, o->value)),
                                               nv_dim_const(s->c, nv_dtype_size[o->dtype]))
                                  : NV_DIM_ZERO;
      NV_GROW(s->c, s->ranges, s->ranges_cap, (size_t)s->nranges + 1);
      s->ranges[s->nranges] = (range){.value = o->value, .first = k, .last = k, .bytes = bytes, .offset = -1,
                                      .slot = slot,
                                      .size = add_bytes(s, bytes, ALIGNMENT - 1, NV_U8) / ALIGNMENT * ALIGNMENT};
      s->writer[o->value] = k;
      s->range_of[o->value] = s->nranges++;
    }
  }
}

/* index of the first range that starts behind launch */
static uint32_t first_after(const planner *s, uint32_t launch) {
  uint32_t low = 0, high = s->nranges;
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    if (s->ranges[middle].first <= launch) low = middle + 1;
    else high = middle;
  }
  return low;
}

/* ---- the arena ---- */

typedef struct by_size {
  int64_t size;
  uint32_t index;
} by_size;

static int compare_sizes(const void *a, const void *b) { /* largest first */
  const by_size *x = a, *y = b;
  if (x->size != y->size) return x->size > y->size ? -1 : 1;
  return x->index < y->index ? -1 : x->index > y->index;
}

typedef struct hole {
  int64_t from, to;
} hole;

static int compare_holes(const void *a, const void *b) {
  const hole *x = a, *y = b;
  if (x->from != y->from) return x->from < y->from ? -1 : 1;
  return x->to < y->to ? -1 : x->to > y->to;
}

/* Largest first, each into the smallest gap that takes it between those that are alive with it. pairs: of ranges that
 * are alive at once; the work and the memory grow with it. */
static void pack_by_size(planner *s, uint32_t pairs) {
  nv_ctx *c = s->c;
  uint32_t n = s->nranges;
  uint32_t *start = NV_NEW_N(c, uint32_t, (size_t)n + 2), *older = NV_NEW_N(c, uint32_t, (size_t)pairs + 1);
  by_size *order = NV_NEW_N(c, by_size, n);
  hole *taken = NV_NEW_N(c, hole, n);
  for (uint32_t i = 0; i < n; i++)
    for (uint32_t j = i + 1; j < s->ranges[i].until; j++) start[j + 2]++;
  for (uint32_t i = 0; i < n; i++) start[i + 2] += start[i + 1];
  for (uint32_t i = 0; i < n; i++)
    for (uint32_t j = i + 1; j < s->ranges[i].until; j++) older[start[j + 1]++] = i;
  for (uint32_t i = 0; i < n; i++) order[i] = (by_size){s->ranges[i].size, i};
  qsort(order, n, sizeof *order, compare_sizes);
  for (uint32_t k = 0; k < n; k++) {
    range *r = &s->ranges[order[k].index];
    uint32_t i = order[k].index, ntaken = 0;
    for (uint32_t j = start[i]; j < start[i + 1]; j++)
      if (s->ranges[older[j]].offset >= 0)
        taken[ntaken++] = (hole){s->ranges[older[j]].offset, s->ranges[older[j]].offset + s->ranges[older[j]].size};
    for (uint32_t j = i + 1; j < r->until; j++)
      if (s->ranges[j].offset >= 0)
        taken[ntaken++] = (hole){s->ranges[j].offset, s->ranges[j].offset + s->ranges[j].size};
    if (ntaken) qsort(taken, ntaken, sizeof *taken, compare_holes);
    int64_t end = 0, best = INT64_MAX;
    for (uint32_t j = 0; j < ntaken; j++) {
      int64_t gap = taken[j].from - end;
      if (gap >= r->size && gap < best) best = gap, r->offset = end;
      if (taken[j].to > end) end = taken[j].to;
    }
    if (r->offset < 0) r->offset = end;
  }
}

/* In order of time, each where one of equal size was, else behind all: for very many values alive at once, and for open
 * sizes, of which nobody knows the larger. */
static void pack_by_time(planner *s) {
  nv_ctx *c = s->c;
  uint32_t nlaunches = s->p->nkernels;
  uint32_t *dying = NV_NEW_N(c, uint32_t, (size_t)nlaunches + 1); /* a launch: last range that it ends, plus one */
  uint32_t *next = NV_NEW_N(c, uint32_t, s->nranges);             /* of those, and of the free ones of one size */
  uint32_t *free_of = NV_NEW_N(c, uint32_t, s->nranges);          /* a size: its first free range, plus one */
  uint32_t *bin = NV_NEW_N(c, uint32_t, s->nranges);
  nv_map map = {0};
  int64_t end = 0;
  for (uint32_t i = 0, k = 0; k < nlaunches; k++) {
    for (; i < s->nranges && s->ranges[i].first == k; i++) {
      range *r = &s->ranges[i];
      uint64_t hash = nv_hash(&r->size, sizeof r->size, r->slot);
      uint32_t at = 0;
      do bin[i] = nv_map_next(&map, hash, &at);
      while (bin[i] != NV_NONE && (s->ranges[bin[i]].size != r->size || s->ranges[bin[i]].slot != r->slot));
      if (bin[i] == NV_NONE) nv_map_add(c, &map, hash, bin[i] = i);
      uint32_t old = free_of[bin[i]];
      if (old) {
        r->offset = s->ranges[old - 1].offset;
        free_of[bin[i]] = next[old - 1];
      } else {
        r->offset = end;
        if (!nv_add64(end, r->size, &end)) nv_bug(c, "scratch memory overflows 63 bits");
      }
      next[i] = dying[r->last];
      dying[r->last] = i + 1;
    }
    for (uint32_t r = dying[k]; r;) {
      uint32_t following = next[r - 1];
      next[r - 1] = free_of[bin[r - 1]];
      free_of[bin[r - 1]] = r;
      r = following;
    }
  }
  nv_map_drop(c, &map);
}

static void pack(planner *s) {
  enum { MOST_PAIRS = 4 << 20 };
  uint64_t pairs = 0;
  for (uint32_t i = 0; i < s->nranges; i++) {
    s->ranges[i].until = first_after(s, s->ranges[i].last);
    pairs += s->ranges[i].until - i - 1;
  }
  if (pairs <= MOST_PAIRS && !s->open) pack_by_size(s, (uint32_t)pairs);
  else pack_by_time(s);
  int64_t *dies = NV_NEW_N(s->c, int64_t, (size_t)s->p->nkernels + 1), alive = 0; /* bytes that end with a launch */
  for (uint32_t i = 0, k = 0; k < s->p->nkernels; k++) {
    for (; i < s->nranges && s->ranges[i].first == k; i++) {
      const range *r = &s->ranges[i];
      alive = add_bytes(s, alive, r->bytes, NV_U8);
      dies[r->last] += r->bytes;
      if (r->offset + r->size > s->p->scratch_bytes) s->p->scratch_bytes = r->offset + r->size;
    }
    if (alive > s->p->scratch_bound) s->p->scratch_bound = alive;
    alive -= dies[k];
  }
}

/* ---- launches ---- */

/* The last use of every byte of the arena, as a tree over the stretches between the ends of all ranges: inside[k] is
 * the latest of any stretch below node k, all[k] of the stretches below it that were set through k. Uses only rise. */
typedef struct timeline {
  int64_t *ends;
  uint32_t nends, leaves;
  uint32_t *inside, *all;
} timeline;

static int compare_ends(const void *a, const void *b) {
  int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
  return (x > y) - (x < y);
}

static void make_timeline(planner *s, timeline *t) {
  t->ends = NV_NEW_N(s->c, int64_t, 2 * (size_t)s->nranges + 1);
  for (uint32_t i = 0; i < s->nranges; i++) {
    t->ends[2 * i] = s->ranges[i].offset;
    t->ends[2 * i + 1] = s->ranges[i].offset + s->ranges[i].size;
  }
  qsort(t->ends, 2 * (size_t)s->nranges, sizeof *t->ends, compare_ends);
  for (uint32_t i = 0; i < 2 * s->nranges; i++)
    if (t->nends == 0 || t->ends[t->nends - 1] != t->ends[i]) t->ends[t->nends++] = t->ends[i];
  for (t->leaves = 1; t->leaves < t->nends;) t->leaves *= 2;
  t->inside = NV_NEW_N(s->c, uint32_t, 2 * (size_t)t->leaves);
  t->all = NV_NEW_N(s->c, uint32_t, 2 * (size_t)t->leaves);
}

static uint32_t find_end(const timeline *t, int64_t offset) {
  uint32_t low = 0, high = t->nends;
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    if (t->ends[middle] < offset) low = middle + 1;
    else high = middle;
  }
  return low;
}

/* The latest use of any byte of r before (launch plus one; 0: none); then r's own last use is. */
static uint32_t occupy(timeline *t, const range *r) {
  uint32_t before = 0, use = r->last + 1;
  uint32_t low = find_end(t, r->offset) + t->leaves, high = find_end(t, r->offset + r->size) + t->leaves;
  while (low < high) {
    uint32_t parts[2], n = 0;
    if (low & 1) parts[n++] = low++;
    if (high & 1) parts[n++] = --high;
    while (n) {
      uint32_t k = parts[--n];
      if (t->inside[k] > before) before = t->inside[k];
      for (uint32_t up = k; up; up /= 2)
        if (t->all[up] > before) before = t->all[up];
      if (t->all[k] < use) t->all[k] = use;
      for (uint32_t up = k; up && t->inside[up] < use; up /= 2) t->inside[up] = use;
    }
    low /= 2;
    high /= 2;
  }
  return before;
}

static nv_place place_of(const planner *s, const nv_operand_rec *o) {
  const nv_node_rec *n = nv_node_of(s->g, o->value);
  if (o->written && o->port != NV_NONE) return (nv_place){.kind = NV_PLACE_OUTPUT, .index = o->port};
  if (n->op == NV_OP_INPUT)
    return (nv_place){.kind = NV_PLACE_INPUT, .index = (uint32_t)nv_attr_list(s->c, n->attr)[0]};
  if (n->op == NV_OP_DATA)
    return (nv_place){.kind = nv_is_table(s->g, o->value) ? NV_PLACE_TABLE : NV_PLACE_DATA,
                      .index = (uint32_t)nv_attr_list(s->c, n->attr)[0]};
  if (s->output_of[o->value] != NV_NONE)
    return (nv_place){.kind = NV_PLACE_OUTPUT, .index = s->output_of[o->value]};
  if (s->range_of[o->value] == NV_NONE) nv_bug(s->c, "%%%u is read but never written", (unsigned)o->value);
  const int64_t offset = s->ranges[s->range_of[o->value]].offset;
  if (s->open) return (nv_place){.kind = NV_PLACE_SCRATCH, .index = (uint32_t)(offset / ALIGNMENT)};
  return (nv_place){.kind = NV_PLACE_SCRATCH, .offset = offset};
}

static void place_launches(planner *s) {
  nv_plan *p = s->p;
  timeline t = {0};
  uint32_t since = 0; /* launch of the last barrier */
  make_timeline(s, &t);
  p->nlaunches = p->nkernels;
  p->launches = NV_NEW_N(s->c, nv_launch, (size_t)p->nlaunches + 1);
  for (uint32_t k = 0; k < p->nlaunches; k++) {
    const nv_kernel *x = &p->kernels[k];
    nv_launch *l = &p->launches[k];
    uint32_t after = 0; /* launch plus one that this one must come after */
    l->kernel = k;
    l->places = NV_NEW_N(s->c, nv_place, (size_t)x->noperands + 1);
    for (uint32_t i = 0; i < x->noperands; i++) {
      const nv_operand_rec *o = &x->operands[i];
      uint32_t by = 0;
      l->places[i] = place_of(s, o);
      if (o->written) {
        if (l->places[i].kind == NV_PLACE_SCRATCH) by = occupy(&t, &s->ranges[s->range_of[o->value]]);
      } else if (l->places[i].kind == NV_PLACE_OUTPUT || l->places[i].kind == NV_PLACE_SCRATCH) {
        by = s->writer[o->value] + 1;
      }
      if (by > after) after = by;
      if (!s->open) p->bytes_moved = add_bytes(s, p->bytes_moved, o->elements, (nv_dtype)o->dtype);
    }
    l->barrier = after > since;
    if (l->barrier) since = k;
  }
}

/* ---- the lower bound ---- */

static bool is_empty(const planner *s, nv_value v) { return nv_shape_count(s->c, nv_shape_at(s->g, v)) == 0; }

/* What is needed of a value. Boxes are kept while few, and then too few rather than too many. */
enum { MOST_BOXES = 32 };
typedef struct need {
  bool all;
  int64_t picked; /* elements that indices choose */
  nv_run *boxes; /* else: n of them, one behind the other */
  uint32_t n, cap;
} need;

static void need_all(planner *s, need *of) {
  nv_drop(s->c, of->boxes);
  *of = (need){.all = true, .picked = of->picked};
}

static void need_box(planner *s, need *needs, nv_value v, const nv_run *box) {
  nv_shape shape = nv_shape_at(s->g, v);
  uint32_t rank = nv_shape_rank(s->c, shape);
  need *of = &needs[v];
  if (of->all) return;
  if (nv_box_count(box, rank) == nv_shape_count(s->c, shape)) {
    need_all(s, of);
    return;
  }
  for (uint32_t i = 0; i < of->n; i++)
    if (nv_box_holds(of->boxes + i * rank, box, rank)) return;
  if (of->n == MOST_BOXES) return;
  NV_GROW(s->c, of->boxes, of->cap, ((size_t)of->n + 1) * rank + 1);
  memcpy(of->boxes + of->n++ * rank, box, rank * sizeof *box);
}

/* What a view's operand must hold for this box of its result; false: nothing can be told. */
static bool box_before(planner *s, const nv_node_rec *n, const nv_run *box, nv_run *out) {
  nv_ctx *c = s->c;
  nv_shape from = nv_shape_at(s->g, nv_operand(s->g, n, 0)), to = nv_shape_at(s->g, n->result);
  const int64_t *attr = nv_attr_list(c, n->attr);
  uint32_t rank = nv_shape_rank(c, from), drop = nv_shape_rank(c, to) - rank;
  switch (n->op) {
  case NV_OP_transpose:
    for (uint32_t k = 0; k < rank; k++) out[attr[k]] = box[k];
    return true;
  case NV_OP_broadcast_to:
    for (uint32_t k = 0; k < rank; k++)
      out[k] = nv_dim_value(c, nv_shape_dims(c, from)[k]) == 1 ? (nv_run){0, 1, 1} : box[k + drop];
    return true;
  case NV_OP_slice:
    for (uint32_t k = 0; k < rank; k++) {
      int64_t step = attr[rank + k], first = attr[k] + box[k].first * step, by = box[k].step * step;
      if (by < 0) first += by * (box[k].n - 1), by = -by;
      out[k] = (nv_run){first, box[k].n > 1 ? by : 1, box[k].n};
    }
    return true;
  case NV_OP_pad_edge: /* runs of neighbours stay such */
    for (uint32_t k = 0; k < rank; k++) {
      int64_t last = nv_dim_value(c, nv_shape_dims(c, from)[k]) - 1, low = box[k].first - attr[k];
      int64_t high = low + (box[k].n - 1) * box[k].step;
      if (box[k].n > 1 && box[k].step != 1) return false;
      low = low < 0 ? 0 : low > last ? last : low;
      high = high < 0 ? 0 : high > last ? last : high;
      out[k] = (nv_run){low, 1, high - low + 1};
    }
    return true;
  default: return nv_box_reshape(c, box, to, from, out);
  }
}

/* The kept axes as the result's, the reduced ones whole. */
static void box_before_reduction(planner *s, const nv_node_rec *n, const nv_run *box, nv_run *out) {
  nv_shape from = nv_shape_at(s->g, nv_operand(s->g, n, 0));
  const int64_t *attr = nv_attr_list(s->c, n->attr);
  uint32_t next = 0, axis = 1, naxes = nv_attr_count(s->c, n->attr);
  for (uint32_t k = 0; k < nv_shape_rank(s->c, from); k++) {
    bool reduced = axis < naxes && attr[axis] == k;
    out[k] = reduced ? (nv_run){0, 1, nv_dim_value(s->c, nv_shape_dims(s->c, from)[k])} : box[next];
    axis += reduced;
    next += !reduced || attr[0];
  }
}

/* Elements chosen by indices: as many as are chosen, as if all were different. They are passed on through views. */
static void need_picked(planner *s, need *needs, nv_value v, int64_t count) {
  if (!nv_add64(needs[v].picked, count, &needs[v].picked)) needs[v].picked = INT64_MAX;
  if (needs[v].picked > nv_shape_count(s->c, nv_shape_at(s->g, v)))
    needs[v].picked = nv_shape_count(s->c, nv_shape_at(s->g, v));
}

/* What is needed of a pick's result is needed of its index, and is chosen from its operand. */
static void pass_on_pick(planner *s, need *needs, const nv_node_rec *n) {
  const need *of = &needs[n->result];
  const nv_value index = nv_operand(s->g, n, 1);
  const nv_shape shape = nv_shape_at(s->g, n->result);
  const uint32_t rank = nv_shape_rank(s->c, shape);
  int64_t count = of->all ? nv_shape_count(s->c, shape) : 0;
  if (of->all) need_all(s, &needs[index]);
  for (uint32_t b = 0; b < of->n; b++) {
    const int64_t own = nv_box_count(of->boxes + b * rank, rank);
    if (own > count) count = own;
    need_box(s, needs, index, of->boxes + b * rank);
  }
  need_picked(s, needs, nv_operand(s->g, n, 0), count);
}

/* Passes what is needed of a node's result on to its operands. */
static void pass_on(planner *s, need *needs, const nv_node_rec *n) {
  nv_graph *g = s->g;
  const need *of = &needs[n->result];
  nv_shape shape = nv_shape_at(g, n->result);
  uint32_t rank = nv_shape_rank(s->c, shape);
  nv_run whole[NV_MAX_RANK], box[NV_MAX_RANK];
  if (nv_ops[n->op].cls == NV_VIEW && of->picked) need_picked(s, needs, nv_operand(g, n, 0), of->picked);
  if (nv_ops[n->op].cls == NV_PICK) {
    pass_on_pick(s, needs, n);
    return;
  }
  if (!of->all && !of->n) return;
  if (nv_ops[n->op].cls == NV_FOLD) {
    for (uint32_t i = 0; i < n->noperands; i++) need_all(s, &needs[nv_operand(g, n, i)]);
    return;
  }
  if (of->all && n->op != NV_OP_slice) {
    for (uint32_t i = 0; i < n->noperands; i++)
      if (!is_empty(s, nv_operand(g, n, i))) need_all(s, &needs[nv_operand(g, n, i)]);
    return;
  }
  for (uint32_t k = 0; k < rank; k++) whole[k] = (nv_run){0, 1, nv_dim_value(s->c, nv_shape_dims(s->c, shape)[k])};
  for (uint32_t b = 0; b < (of->all ? 1 : of->n); b++) {
    const nv_run *at = of->all ? whole : of->boxes + b * rank;
    if (nv_ops[n->op].cls == NV_VIEW) {
      if (box_before(s, n, at, box)) need_box(s, needs, nv_operand(g, n, 0), box);
    } else if (nv_ops[n->op].cls == NV_REDUCE) {
      if (is_empty(s, nv_operand(g, n, 0))) return;
      box_before_reduction(s, n, at, box);
      need_box(s, needs, nv_operand(g, n, 0), box);
    } else {
      for (uint32_t i = 0; i < n->noperands; i++) need_box(s, needs, nv_operand(g, n, i), at);
    }
  }
}

/* Every input element that an output depends on once, every output element once. */
static void find_lower_bound(planner *s) {
  nv_graph *g = s->g;
  uint32_t cap = 0;
  need *needs = nv_grow(s->c, NULL, &cap, (size_t)g->nvalues + 1, sizeof *needs);
  int64_t bytes = 0;
  memset(needs, 0, g->nvalues * sizeof *needs);
  for (uint32_t k = 0; k < g->noutputs; k++) {
    nv_value v = g->outputs[k].value;
    bytes = add_bytes(s, bytes, nv_shape_count(s->c, nv_shape_at(g, v)), nv_dtype_of(g, v));
    if (!is_empty(s, v)) needs[v].all = true;
  }
  for (uint32_t k = g->nnodes; k-- > 0;) {
    const nv_node_rec *n = &g->nodes[k];
    need *of = &needs[n->result];
    for (uint32_t i = 1; i < nv_op_results((nv_op)n->op); i++)
      if (needs[n->result + i].all || needs[n->result + i].n) need_all(s, of);
    pass_on(s, needs, n);
    if (n->op == NV_OP_INPUT || n->op == NV_OP_DATA) {
      nv_shape shape = nv_shape_at(g, n->result);
      int64_t least = of->all ? nv_shape_count(s->c, shape) : 0, most;
      if (of->n) nv_boxes_count(s->c, of->boxes, of->n, nv_shape_rank(s->c, shape), &least, &most);
      if (!nv_add64(least, of->picked, &least) || least > nv_shape_count(s->c, shape))
        least = nv_shape_count(s->c, shape);
      bytes = add_bytes(s, bytes, least, nv_dtype_of(g, n->result));
    }
    nv_drop(s->c, of->boxes);
    of->boxes = NULL;
  }
  nv_drop(s->c, needs);
  s->p->bytes_lower_bound = bytes;
}

static void list_slots(planner *s) {
  nv_plan *p = s->p;
  p->nslots = (uint32_t)(p->scratch_bytes / ALIGNMENT);
  p->slots = NV_NEW_N(s->c, nv_dim, (size_t)p->nslots + 1);
  for (uint32_t i = 0; i < s->nranges; i++) p->slots[s->ranges[i].offset / ALIGNMENT] = s->ranges[i].slot;
  p->bytes_moved = p->bytes_lower_bound = p->scratch_bytes = p->scratch_bound = -1;
}

void nv_place_buffers(nv_plan *p) {
  planner s = {.c = p->graph->c, .p = p, .g = p->graph, .open = p->graph->nsources > 0};
  size_t n = (size_t)s.g->nvalues + 1;
  s.range_of = NV_NEW_N(s.c, uint32_t, n);
  s.output_of = NV_NEW_N(s.c, uint32_t, n);
  s.writer = NV_NEW_N(s.c, uint32_t, n);
  for (size_t k = 0; k < n; k++) s.range_of[k] = s.output_of[k] = NV_NONE;
  p->scratch_bytes = p->scratch_bound = p->bytes_moved = 0;
  find_ranges(&s);
  pack(&s);
  place_launches(&s);
  if (s.open) list_slots(&s);
  else find_lower_bound(&s);
  nv_drop(s.c, s.ranges);
}
