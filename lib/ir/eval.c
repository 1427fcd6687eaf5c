/* eval.c - the CPU evaluator: a graph run node by node, every value an array of its own, freed after its last
 * use. */
#include "data.h"
#include "eval_loops.h"

/* Where a value's elements lie. Views that keep the row-major order share the array of root; uses and the
 * array itself are kept at the root. */
typedef struct place {
  const void *p;
  void *owned;   /* to free; NULL: an input's or the cell's */
  uint64_t cell; /* a constant's element */
  nv_value root;
  uint32_t uses; /* still to come, of all values that share it */
} place;

typedef struct run {
  const nv_graph *g;
  place *places;   /* one a value */
  uint32_t *users; /* operands and outputs that name a value */
  bool flush;
} run;

/* n bytes, aligned for any element type; freed with nv_drop. */
static void *room(nv_ctx *c, size_t n) {
  uint32_t cap = 0;
  return nv_grow(c, NULL, &cap, n / 16 + 1, 16);
}

static size_t count_of(const run *r, nv_value v) {
  return (size_t)nv_shape_count(r->g->c, nv_shape_at(r->g, v));
}
static size_t bytes_of(const run *r, nv_value v) {
  return count_of(r, v) * nv_dtype_size[nv_dtype_of(r->g, v)];
}
static const void *data_of(const run *r, nv_value v) { return r->places[r->places[v].root].p; }

static void *fresh(run *r, nv_value v) {
  place *p = &r->places[v];
  p->root = v;
  p->uses = r->users[v];
  p->p = p->owned = room(r->g->c, bytes_of(r, v));
  return p->owned;
}

static void share(run *r, nv_value v, nv_value operand) {
  const nv_value root = r->places[operand].root;
  r->places[v].root = root;
  r->places[root].uses += r->users[v];
}

static void release(run *r, nv_value v) {
  place *p = &r->places[r->places[v].root];
  if (p->uses || !p->owned) return;
  nv_drop(r->g->c, p->owned);
  p->p = p->owned = NULL;
}

static void used(run *r, nv_value v) {
  r->places[r->places[v].root].uses--;
  release(r, v);
}

/* Sizes of a static shape; returns the rank. */
static uint32_t sizes_of(const run *r, nv_value v, int64_t *sizes) {
  nv_ctx *c = r->g->c;
  const nv_shape s = nv_shape_at(r->g, v);
  const uint32_t rank = nv_shape_rank(c, s);
  for (uint32_t k = 0; k < rank; k++) sizes[k] = nv_dim_value(c, nv_shape_dims(c, s)[k]);
  return rank;
}

static void row_major(uint32_t rank, const int64_t *sizes, int64_t *strides) {
  int64_t s = 1;
  for (uint32_t k = rank; k-- > 0;) {
    strides[k] = s;
    s *= sizes[k];
  }
}

static void broadcast(run *r, nv_value v, nv_value a) {
  int64_t from[NV_MAX_RANK], dims[NV_MAX_RANK], dense[NV_MAX_RANK], strides[NV_MAX_RANK] = {0};
  const uint32_t small = sizes_of(r, a, from), rank = sizes_of(r, v, dims);
  row_major(small, from, dense);
  for (uint32_t k = 0; k < small; k++)
    if (from[k] != 1) strides[rank - small + k] = dense[k];
  nv_eval_strided(data_of(r, a), fresh(r, v), rank, dims, strides, nv_dtype_size[nv_dtype_of(r->g, v)]);
}

static void transpose(run *r, nv_value v, nv_value a, const int64_t *perm) {
  int64_t from[NV_MAX_RANK], dims[NV_MAX_RANK], dense[NV_MAX_RANK], strides[NV_MAX_RANK];
  const uint32_t rank = sizes_of(r, a, from);
  row_major(rank, from, dense);
  for (uint32_t k = 0; k < rank; k++) {
    dims[k] = from[perm[k]];
    strides[k] = dense[perm[k]];
  }
  nv_eval_strided(data_of(r, a), fresh(r, v), rank, dims, strides, nv_dtype_size[nv_dtype_of(r->g, v)]);
}

static void slice(run *r, nv_value v, nv_value a, const int64_t *first) {
  int64_t from[NV_MAX_RANK], dims[NV_MAX_RANK], dense[NV_MAX_RANK], strides[NV_MAX_RANK], start = 0;
  const uint32_t rank = sizes_of(r, a, from);
  const size_t size = nv_dtype_size[nv_dtype_of(r->g, v)];
  sizes_of(r, v, dims);
  row_major(rank, from, dense);
  for (uint32_t k = 0; k < rank; k++) {
    start += first[k] * dense[k];
    strides[k] = first[rank + k] * dense[k];
  }
  const char *x = data_of(r, a);
  nv_eval_strided(count_of(r, v) ? x + start * (int64_t)size : x, fresh(r, v), rank, dims, strides, size);
}

static void pad_edge(run *r, nv_value v, nv_value a, const int64_t *before) {
  int64_t from[NV_MAX_RANK], dims[NV_MAX_RANK];
  const uint32_t rank = sizes_of(r, a, from);
  sizes_of(r, v, dims);
  nv_eval_padded(r->g->c, data_of(r, a), fresh(r, v), rank, from, before, dims, nv_dtype_size[nv_dtype_of(r->g, v)]);
}

/* The element of a at index along the axis whose place is -1, at the result's own along the others. */
static void pick(run *r, nv_value v, nv_value a, nv_value index, const int64_t *places) {
  int64_t from[NV_MAX_RANK], dims[NV_MAX_RANK], dense[NV_MAX_RANK], strides[NV_MAX_RANK] = {0}, n = 0, stride = 0;
  const uint32_t rank = sizes_of(r, a, from), out = sizes_of(r, v, dims);
  row_major(rank, from, dense);
  for (uint32_t k = 0; k < rank; k++)
    if (places[k] < 0)
      n = from[k], stride = dense[k];
    else
      strides[places[k]] += dense[k];
  nv_eval_pick(data_of(r, a), data_of(r, index), nv_dtype_of(r->g, index) == NV_I64, fresh(r, v), out, dims, strides, n,
               stride, nv_dtype_size[nv_dtype_of(r->g, v)]);
}

static void fold(run *r, nv_op op, nv_value v, const nv_node_rec *node, uint32_t axis) {
  int64_t dims[NV_MAX_RANK], own[NV_MAX_RANK];
  const nv_value a = nv_operand(r->g, node, 0), index = nv_operand(r->g, node, 1), u = nv_operand(r->g, node, 2);
  const uint32_t rank = sizes_of(r, v, dims);
  size_t outer = 1, inner = 1;
  for (uint32_t k = 0; k < rank; k++)
    if (k != axis) *(k < axis ? &outer : &inner) *= (size_t)dims[k];
  sizes_of(r, u, own);
  void *out = fresh(r, v);
  if (bytes_of(r, v)) memcpy(out, data_of(r, a), bytes_of(r, v));
  nv_eval_fold(nv_fold_joins(op), nv_dtype_of(r->g, v), out, data_of(r, index), nv_dtype_of(r->g, index) == NV_I64,
               data_of(r, u), (size_t)own[0], outer, (size_t)dims[axis], inner, r->flush);
}

static void iota(run *r, nv_value v) {
  const size_t n = count_of(r, v);
  void *out = fresh(r, v);
  for (size_t i = 0; i < n; i++)
    if (nv_dtype_of(r->g, v) == NV_I32)
      ((int32_t *)out)[i] = (int32_t)i;
    else
      ((int64_t *)out)[i] = (int64_t)i;
}

/* Kept axes outside, reduced ones inside, each in order; gathered first unless they lie so already. */
static void reduce(run *r, nv_op op, nv_value v, nv_value a, const int64_t *axes, uint32_t naxes) {
  nv_ctx *c = r->g->c;
  int64_t from[NV_MAX_RANK], dense[NV_MAX_RANK], dims[NV_MAX_RANK], strides[NV_MAX_RANK];
  const uint32_t rank = sizes_of(r, a, from);
  const nv_dtype d = nv_dtype_of(r->g, a), result = nv_dtype_of(r->g, v);
  bool reduced[NV_MAX_RANK] = {false};
  size_t rows = 1, n = 1;
  uint32_t at = 0;
  row_major(rank, from, dense);
  for (uint32_t k = 0; k < naxes; k++) reduced[axes[k]] = true;
  for (int inner = 0; inner < 2; inner++)
    for (uint32_t k = 0; k < rank; k++)
      if (reduced[k] == (inner == 1)) {
        dims[at] = from[k];
        strides[at++] = dense[k];
        *(inner ? &n : &rows) *= (size_t)from[k];
      }
  bool in_place = true;
  for (uint32_t k = 1; k < rank; k++)
    if (strides[k] > strides[k - 1]) in_place = false;

  void *out = fresh(r, v), *gathered = NULL;
  const void *x = data_of(r, a);
  if (!in_place && rows && n) {
    gathered = room(c, rows * n * nv_dtype_size[d]);
    nv_eval_strided(x, gathered, rank, dims, strides, nv_dtype_size[d]);
    x = gathered;
  }
  if (n == 0 && nv_ops[op].nothing == NV_NOTHING_ERROR && rows) nv_bug(c, "%s of nothing", nv_ops[op].name);
  void *spare = room(c, n * sizeof(nv_c64));
  nv_eval_rows(op, d, result, x, out, rows, n, spare, r->flush);
  nv_drop(c, spare);
  nv_drop(c, gathered);
}

/* The scanned axis inside, in the scan's direction: gathered, scanned row by row, and put back. */
static void scan(run *r, nv_op op, nv_value v, nv_value a, const int64_t *attr) {
  int64_t from[NV_MAX_RANK], dense[NV_MAX_RANK], dims[NV_MAX_RANK], strides[NV_MAX_RANK], back[NV_MAX_RANK];
  const uint32_t rank = sizes_of(r, a, from), axis = (uint32_t)attr[0];
  const nv_dtype d = nv_dtype_of(r->g, v);
  const size_t size = nv_dtype_size[d], n = (size_t)from[axis], bytes = bytes_of(r, v);
  const bool reverse = attr[1] != 0;
  char *out = fresh(r, v);
  int64_t lines = 1;
  if (!bytes) return;
  row_major(rank, from, dense);
  for (uint32_t k = rank, at = rank - 1; k-- > 0;) {
    if (k == axis) continue;
    dims[--at] = from[k];
    strides[at] = dense[k];
    back[k] = lines * (int64_t)n;
    lines *= from[k];
  }
  dims[rank - 1] = from[axis];
  strides[rank - 1] = reverse ? -dense[axis] : dense[axis];
  back[axis] = reverse ? -1 : 1;
  char *rows = room(r->g->c, bytes);
  const char *x = data_of(r, a);
  nv_eval_strided(reverse ? x + (int64_t)(n - 1) * dense[axis] * (int64_t)size : x, rows, rank, dims, strides, size);
  nv_eval_scan(r->g->c, op, d, rows, rows, (size_t)lines, n, attr[2] != 0, r->flush);
  nv_eval_strided(reverse ? rows + (n - 1) * size : rows, out, rank, from, back, size);
  nv_drop(r->g->c, rows);
}

/* Somebody else's array, or a copy where it isn't aligned for its elements. */
static void bind(run *r, nv_value v, const void *data) {
  if ((uintptr_t)data % nv_dtype_size[nv_dtype_of(r->g, v)] != 0) {
    memcpy(fresh(r, v), data, bytes_of(r, v));
    return;
  }
  r->places[v].p = data;
  r->places[v].root = v;
  r->places[v].uses = r->users[v];
}

static void run_node(run *r, const nv_node_rec *node) {
  const nv_graph *g = r->g;
  const nv_op op = (nv_op)node->op;
  const nv_value v = node->result;
  const int64_t *attr = nv_attr_list(g->c, node->attr);
  const uint32_t nattr = nv_attr_count(g->c, node->attr);
  switch (nv_ops[op].cls) {
  case NV_LEAF:
    if (op == NV_OP_DATA) bind(r, v, nv_data_of(g, v)->bytes);
    if (op == NV_OP_CONST) {
      const uint64_t bits = (uint64_t)attr[0];
      uint8_t *bytes = (uint8_t *)&r->places[v].cell; /* little-endian, as arrays are */
      for (unsigned k = 0; k < sizeof bits; k++) bytes[k] = (uint8_t)(bits >> 8 * k);
      r->places[v].p = bytes;
      r->places[v].root = v;
      r->places[v].uses = r->users[v];
    }
    return;
  case NV_VIEW:
    if (op == NV_OP_transpose)
      transpose(r, v, nv_operand(g, node, 0), attr);
    else if (op == NV_OP_broadcast_to)
      broadcast(r, v, nv_operand(g, node, 0));
    else if (op == NV_OP_slice)
      slice(r, v, nv_operand(g, node, 0), attr);
    else if (op == NV_OP_pad_edge)
      pad_edge(r, v, nv_operand(g, node, 0), attr);
    else
      share(r, v, nv_operand(g, node, 0));
    break;
  case NV_REDUCE:
    if (nattr == 1) { /* over no axes: the identity, with the result's dtype */
      const nv_value a = nv_operand(g, node, 0);
      if (nv_dtype_of(g, a) == nv_dtype_of(g, v))
        share(r, v, a);
      else
        nv_eval_convert(nv_dtype_of(g, a), nv_dtype_of(g, v), data_of(r, a), fresh(r, v), count_of(r, v));
      break;
    }
    reduce(r, op, v, nv_operand(g, node, 0), attr + 1, nattr - 1); break;
  case NV_SCAN: scan(r, op, v, nv_operand(g, node, 0), attr); break;
  case NV_ELEM:
  case NV_COPY: {
    nv_dtype dtypes[NV_MAX_OPERANDS];
    const void *in[NV_MAX_OPERANDS];
    for (uint32_t k = 0; k < node->noperands; k++) {
      dtypes[k] = nv_dtype_of(g, nv_operand(g, node, k));
      in[k] = data_of(r, nv_operand(g, node, k));
    }
    nv_eval_elem(op, dtypes, nv_dtype_of(g, v), in, fresh(r, v), count_of(r, v), r->flush);
    break;
  }
  case NV_INDEX: iota(r, v); break;
  case NV_FOLD: fold(r, op, v, node, (uint32_t)attr[0]); break;
  case NV_PICK: pick(r, v, nv_operand(g, node, 0), nv_operand(g, node, 1), attr); break;
  case NV_EXPAND: nv_bug(g->c, "evaluation of %s", nv_ops[op].name);
  }
  for (uint32_t k = 0; k < node->noperands; k++) used(r, nv_operand(g, node, k));
}

static void bind_input(run *r, nv_value v, const nuvecc_tensor *t) {
  const size_t bytes = bytes_of(r, v);
  if (t->bytes < bytes)
    nv_bug(r->g->c, "input %s has %zu bytes, not %zu", t->name ? t->name : "", t->bytes, bytes);
  bind(r, v, t->data);
}

void nv_eval(const nv_graph *g, const nuvecc_tensor *in, nuvecc_tensor *out, bool flush) {
  nv_ctx *c = g->c;
  uint32_t cap = 0;
  run r = {.g = g, .flush = flush};
  NV_GROW(c, r.places, cap, (size_t)g->nvalues + 1);
  cap = 0;
  NV_GROW(c, r.users, cap, (size_t)g->nvalues + 1);
  memset(r.places, 0, g->nvalues * sizeof *r.places);
  memset(r.users, 0, g->nvalues * sizeof *r.users);
  for (uint32_t k = 0; k < g->nnodes; k++)
    for (uint32_t i = 0; i < g->nodes[k].noperands; i++) r.users[nv_operand(g, &g->nodes[k], i)]++;
  for (uint32_t k = 0; k < g->noutputs; k++) r.users[g->outputs[k].value]++;
  for (uint32_t k = 0; k < g->ninputs; k++) bind_input(&r, g->inputs[k].value, &in[k]);

  for (uint32_t k = 0; k < g->nnodes; k++) {
    run_node(&r, &g->nodes[k]);
    release(&r, g->nodes[k].result); /* a value that nobody uses */
  }
  for (uint32_t k = 0; k < g->noutputs; k++) {
    const nv_value v = g->outputs[k].value;
    const size_t bytes = bytes_of(&r, v);
    if (bytes) memcpy(out[k].data, data_of(&r, v), bytes);
    used(&r, v);
  }
  nv_drop(c, r.users);
  nv_drop(c, r.places);
}
