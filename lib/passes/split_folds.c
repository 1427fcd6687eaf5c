/* split_folds.c - updates by index, where every element walking through all of them would take too long: the updates
 * are sorted by the element that they are for, and every element takes its own, in their order. Only the fuser sees
 * the result; no bit changes.
 *
 * A key is the index in the upper half of an int64, the number of the update in the lower one, so keys are all
 * different, and in their order an element's updates lie side by side as they came. Runs of keys that are in order are
 * merged until one is left: log2 n steps in each of which every place of the result finds its own key. Where the index
 * is the same for all lines (rows are scattered) one line of keys does, else every line has its own. */
#include "passes.h"

enum {
  FEWEST = 256,  /* updates that are sorted */
  STEPS = 1 << 24 /* elements times updates: what is walked through sooner than sorted */
};

static const int64_t MOST = INT64_C(1) << 30; /* updates */

typedef struct split {
  nv_ctx *c;
  nv_graph *g;
  uint32_t origin;             /* of what is in between: without a name of its own */
  uint32_t axis, rank;         /* rank: of the elements, and of the updates */
  int64_t dims[NV_MAX_RANK];   /* of the elements */
  int64_t n, count, lines;     /* elements of a line; updates; lines of keys */
  nv_shape elements, updates;
} split;

bool nv_fold_is_split(nv_ctx *c, const nv_graph *g, const nv_node_rec *node) {
  const nv_shape a = nv_shape_at(g, node->result), u = nv_shape_at(g, nv_operand(g, node, 2));
  if (node->op == NV_OP_fold_runs || !nv_shape_is_static(c, a) || !nv_shape_count(c, a)) return false;
  const int64_t count = nv_dim_value(c, nv_shape_dims(c, u)[0]);
  const int64_t n = nv_dim_value(c, nv_shape_dims(c, a)[nv_attr_list(c, node->attr)[0]]);
  return count >= FEWEST && count <= MOST && n < INT32_MAX && nv_shape_count(c, a) > STEPS / count;
}

/* ---- steps ---- */

static nv_value step(split *s, nv_op op, nv_value a, nv_value b) {
  const nv_value in[2] = {a, b};
  const nv_dtype d = op == NV_OP_equal || op == NV_OP_greater ? NV_BOOL : nv_dtype_of(s->g, a);
  return nv_graph_add(s->g, op, in, 2, NV_NO_ATTR, d, nv_shape_at(s->g, a), s->origin);
}

static nv_value to_shape(split *s, nv_op op, nv_value v, nv_shape shape) {
  if (nv_shape_at(s->g, v) == shape) return v;
  return nv_graph_add(s->g, op, &v, 1, NV_NO_ATTR, nv_dtype_of(s->g, v), shape, s->origin);
}

static nv_value number(split *s, nv_value like, int64_t x) {
  const nv_dtype d = nv_dtype_of(s->g, like);
  const nv_value v = nv_graph_const(s->g, d, d == NV_I64 ? (uint64_t)x : (uint64_t)x & UINT32_MAX, s->origin);
  return to_shape(s, NV_OP_broadcast_to, v, nv_shape_at(s->g, like));
}

static nv_value with(split *s, nv_op op, nv_value a, int64_t x) { return step(s, op, a, number(s, a, x)); }

static nv_value converted(split *s, nv_value v, nv_dtype d) {
  const int64_t to = d;
  if (nv_dtype_of(s->g, v) == d) return v;
  return nv_graph_add(s->g, NV_OP_astype, &v, 1, nv_attr_make(s->c, &to, 1), d, nv_shape_at(s->g, v), s->origin);
}

static nv_value transposed(split *s, nv_value v, const int64_t *perm, uint32_t rank) {
  nv_dim dims[NV_MAX_RANK];
  bool moved = false;
  const nv_shape from = nv_shape_at(s->g, v);
  for (uint32_t k = 0; k < rank; k++) {
    dims[k] = nv_shape_dims(s->c, from)[perm[k]];
    moved = moved || perm[k] != (int64_t)k;
  }
  if (!moved) return v;
  return nv_graph_add(s->g, NV_OP_transpose, &v, 1, nv_attr_make(s->c, perm, rank), nv_dtype_of(s->g, v),
                      nv_shape_make(s->c, dims, rank), s->origin);
}

static nv_shape table(const split *s, int64_t n) { return nv_shape_of_ints(s->c, (int64_t[]){s->lines, n}, 2); }

/* 0, 1, … n - 1 in every line. */
static nv_value counted(split *s, nv_dtype d, int64_t n) {
  const int64_t to = d;
  const nv_value v = nv_graph_add(s->g, NV_OP_iota, NULL, 0, nv_attr_make(s->c, &to, 1), d,
                                  nv_shape_of_ints(s->c, &n, 1), s->origin);
  return to_shape(s, NV_OP_broadcast_to, v, table(s, n));
}

/* op, which reads a at an index along the last axis of lines; more: of its attribute, behind the places, 0: nothing. */
static nv_value in_line(split *s, nv_op op, nv_value a, nv_value index, int64_t more) {
  const nv_value in[2] = {a, index};
  return nv_graph_add(s->g, op, in, 2, nv_attr_make(s->c, (int64_t[]){0, -1, more}, more ? 3 : 2),
                      nv_dtype_of(s->g, a), nv_shape_at(s->g, index), s->origin);
}

/* Lines of n as the whole array that has them along axis: that of the elements, or of the updates, whose first axis it
 * is. */
static nv_value spread(split *s, nv_value v, uint32_t axis, nv_shape whole) {
  int64_t dims[NV_MAX_RANK], perm[NV_MAX_RANK];
  const int64_t n = nv_dim_value(s->c, nv_shape_dims(s->c, whole)[axis]);
  uint32_t m = 0;
  if (s->lines == 1) {
    for (uint32_t k = 0; k < s->rank; k++) dims[k] = k == axis ? n : 1;
    v = to_shape(s, NV_OP_reshape, v, nv_shape_of_ints(s->c, dims, s->rank));
    return to_shape(s, NV_OP_broadcast_to, v, whole);
  }
  for (uint32_t k = 0; k < s->rank; k++)
    if (k != s->axis) dims[m++] = s->dims[k];
  dims[m] = n;
  v = to_shape(s, NV_OP_reshape, v, nv_shape_of_ints(s->c, dims, s->rank));
  for (uint32_t k = 0; k < s->rank; k++) perm[k] = k == axis ? m : k < axis ? k : k - 1;
  return transposed(s, v, perm, s->rank);
}

/* ---- keys ---- */

/* The index as lines of updates; the same for all: one line. */
static nv_value lines_of(split *s, nv_value index) {
  const nv_node_rec *node = nv_node_of(s->g, index);
  int64_t perm[NV_MAX_RANK];
  s->lines = 1;
  if (node->op == NV_OP_broadcast_to) {
    const nv_value x = nv_operand(s->g, node, 0);
    const nv_shape from = nv_shape_at(s->g, x);
    if (nv_shape_rank(s->c, from) == s->rank && nv_dim_value(s->c, nv_shape_dims(s->c, from)[0]) == s->count &&
        nv_shape_count(s->c, from) == s->count)
      return to_shape(s, NV_OP_reshape, x, table(s, s->count));
  }
  for (uint32_t k = 0; k < s->rank; k++) {
    perm[k] = (k + 1) % s->rank;
    if (k != s->axis) s->lines *= s->dims[k];
  }
  return to_shape(s, NV_OP_reshape, transposed(s, index, perm, s->rank), table(s, s->count));
}

/* The keys in order. What is outside lies before those of element 0, or behind those of the last. */
static nv_value sorted(split *s, nv_value index) {
  const nv_value place = counted(s, NV_I32, s->count);
  nv_value v = with(s, NV_OP_maximum, with(s, NV_OP_minimum, index, s->n), -1);
  v = with(s, NV_OP_left_shift, converted(s, v, NV_I64), 32);
  v = step(s, NV_OP_bitwise_or, v, counted(s, NV_I64, s->count));
  for (int64_t run = 1; run < s->count; run *= 2) v = in_line(s, NV_OP_merged, v, place, run);
  return v;
}

/* ---- results ---- */

/* u at these numbers, which are lines of n along axis of whole. */
static nv_value updates_at(split *s, nv_value u, nv_value numbers, uint32_t axis, nv_shape whole) {
  int64_t places[NV_MAX_RANK] = {-1};
  const nv_value in[2] = {u, spread(s, numbers, axis, whole)};
  for (uint32_t k = 1; k < s->rank; k++) places[k] = k - 1 < axis ? k - 1 : k;
  return nv_graph_add(s->g, NV_OP_pick, in, 2, nv_attr_make(s->c, places, s->rank), nv_dtype_of(s->g, u), whole,
                      s->origin);
}

/* The last update of every element that has one. */
static nv_value last_ones(split *s, uint32_t origin, nv_value a, nv_value keys, nv_value u) {
  const nv_value element = counted(s, NV_I64, s->n);
  const nv_value end = in_line(s, NV_OP_below, keys, with(s, NV_OP_left_shift, with(s, NV_OP_add, element, 1), 32), 0);
  const nv_value key = in_line(s, NV_OP_pick, keys, with(s, NV_OP_subtract, end, 1), 0);
  const nv_value own = step(s, NV_OP_equal, with(s, NV_OP_right_shift, key, 32), element);
  const nv_value has = step(s, NV_OP_logical_and, own, with(s, NV_OP_greater, end, 0));
  const nv_value in[3] = {spread(s, has, s->axis, s->elements),
                          updates_at(s, u, converted(s, key, NV_I32), s->axis, s->elements), a};
  return nv_graph_add(s->g, NV_OP_where, in, 3, NV_NO_ATTR, nv_dtype_of(s->g, a), s->elements, origin);
}

/* All updates of every element joined to it: in the order of keys they are those from first up to end, which are kept
 * in the lower and the upper half of one number. */
static nv_value joined(split *s, uint32_t origin, nv_op op, nv_value a, nv_value keys, nv_value u) {
  const nv_value element = counted(s, NV_I64, s->n);
  const nv_value first = in_line(s, NV_OP_below, keys, with(s, NV_OP_left_shift, element, 32), 0);
  const nv_value end = in_line(s, NV_OP_below, keys, with(s, NV_OP_left_shift, with(s, NV_OP_add, element, 1), 32), 0);
  const nv_value run = step(s, NV_OP_bitwise_or, with(s, NV_OP_left_shift, end, 32), first);
  const nv_value in[3] = {a, spread(s, run, s->axis, s->elements),
                          updates_at(s, u, converted(s, keys, NV_I32), 0, s->updates)};
  return nv_graph_add(s->g, NV_OP_fold_runs, in, 3, nv_attr_make(s->c, (int64_t[]){s->axis, op}, 2),
                      nv_dtype_of(s->g, a), s->elements, origin);
}

static uint32_t nameless(nv_graph *g, uint32_t origin) {
  if (origin == NV_NONE) return NV_NONE;
  const nv_origin o = g->origins[origin];
  return nv_graph_origin(g, o.parent, o.function, o.name, o.ordinal + 1, o.pos);
}

nv_value nv_split_fold(nv_graph *g, const nv_node_rec *node, const nv_value *operands, nv_sorted *last) {
  split s = {.c = g->c, .g = g, .axis = (uint32_t)nv_attr_list(g->c, node->attr)[0]};
  s.elements = nv_shape_at(g, operands[0]);
  s.updates = nv_shape_at(g, operands[2]);
  s.rank = nv_shape_rank(s.c, s.elements);
  for (uint32_t k = 0; k < s.rank; k++) s.dims[k] = nv_dim_value(s.c, nv_shape_dims(s.c, s.elements)[k]);
  s.n = s.dims[s.axis];
  s.count = nv_dim_value(s.c, nv_shape_dims(s.c, s.updates)[0]);
  s.origin = nameless(g, node->origin);
  if (last->keys == NV_NONE || last->index != operands[1] || last->n != s.n) {
    const nv_value lines = lines_of(&s, operands[1]);
    *last = (nv_sorted){operands[1], sorted(&s, lines), s.n, s.lines};
  }
  s.lines = last->lines;
  if (node->op == NV_OP_set_at) return last_ones(&s, node->origin, operands[0], last->keys, operands[2]);
  return joined(&s, node->origin, (nv_op)node->op, operands[0], last->keys, operands[2]);
}
