/* infer.c - the result dtype and shape of an op, by its row's rules, with texts for people where operands don't fit. */
#include "graph.h"

/* Sets *why, and is false. */
static bool fail(nv_ctx *c, const char **why, const char *format, ...) NV_PRINTF(3, 4);
static bool fail(nv_ctx *c, const char **why, const char *format, ...) {
  va_list ap;
  va_start(ap, format);
  *why = nv_vformat(c, format, ap);
  va_end(ap);
  return false;
}

static const char *dim_text(nv_ctx *c, nv_dim d) {
  nv_buf b;
  nv_buf_init(&b, c);
  nv_put_dim(&b, d);
  return nv_buf_text(&b);
}

/* ---- dtypes ---- */

bool nv_infer_dtype(nv_ctx *c, nv_op op, const nv_dtype *operands, uint32_t n, nv_attr attr, nv_dtype *dtype,
                    const char **why) {
  const nv_op_info *row = &nv_ops[op];
  uint32_t min, max, first = row->dtype == NV_DT_SELECT ? 1 : 0;
  nv_op_arity(op, &min, &max);
  if (n < min || n > max) {
    if (min == max)
      return fail(c, why, "%s takes %u operand%s, not %u", row->name, min, min == 1 ? "" : "s", n);
    return fail(c, why, "%s takes %u to %u operands, not %u", row->name, min, max, n);
  }
  if (row->dtype == NV_DT_PICK) {
    if (operands[1] != NV_I32 && operands[1] != NV_I64)
      return fail(c, why, "%s takes an index of int32 or int64, not %s", row->name, nv_dtype_name[operands[1]]);
    if (n == 3 && operands[2] != operands[0])
      return fail(c, why, "%s has operands of %s and %s", row->name, nv_dtype_name[operands[0]],
                  nv_dtype_name[operands[2]]);
    n = 1;
  }
  if (first && operands[0] != NV_BOOL)
    return fail(c, why, "%s takes a bool condition, not %s", row->name, nv_dtype_name[operands[0]]);
  for (uint32_t k = first; k < n; k++) {
    if (operands[k] != operands[first])
      return fail(c, why, "%s has operands of %s and %s", row->name, nv_dtype_name[operands[first]],
                  nv_dtype_name[operands[k]]);
    if (row->dtype == NV_DT_LOGICAL && operands[k] != NV_BOOL)
      return fail(c, why, "%s takes bool, not %s", row->name, nv_dtype_name[operands[k]]);
    if (!nv_is(operands[k], row->domain))
      return fail(c, why, "%s doesn't take %s", row->name, nv_dtype_name[operands[k]]);
  }
  nv_dtype d = n > first ? operands[first] : NV_BOOL;
  switch (row->dtype) {
  case NV_DT_SAME:
  case NV_DT_PROMOTE:
  case NV_DT_SHIFT:
  case NV_DT_SELECT:
  case NV_DT_FLOAT:
  case NV_DT_PROMOTE_FLOAT:
  case NV_DT_MEAN:
  case NV_DT_CUMSUM:
  case NV_DT_PICK: break;
  case NV_DT_COMPARE:
  case NV_DT_LOGICAL: d = NV_BOOL; break;
  case NV_DT_ATTR: {
    int64_t to = nv_attr_count(c, attr) == 1 ? nv_attr_list(c, attr)[0] : -1;
    if (to < 0 || to >= NV_NDTYPES) return fail(c, why, "%s needs a dtype", row->name);
    const bool moves = n && row->msl[0]; /* a row with Metal text moves bits */
    if ((n == 0 && !nv_is((nv_dtype)to, row->domain)) || (moves && nv_dtype_size[to] != nv_dtype_size[d]))
      return fail(c, why, "%s has no %s form", row->name, nv_dtype_name[to]);
    d = (nv_dtype)to;
    break;
  }
  case NV_DT_INT32: d = NV_I32; break;
  case NV_DT_UINT32: d = NV_U32; break;
  case NV_DT_SUM: d = nv_sum_dtype(d); break;
  case NV_DT_REAL: d = d == NV_C64 ? NV_F32 : d; break;
  }
  *dtype = d;
  return true;
}

/* ---- shapes ---- */

bool nv_broadcast_shapes(nv_ctx *c, const nv_shape *shapes, uint32_t n, nv_shape *shape, const char **why) {
  nv_dim dims[NV_MAX_RANK];
  uint32_t rank = 0;
  for (uint32_t k = 0; k < n; k++)
    if (nv_shape_rank(c, shapes[k]) > rank) rank = nv_shape_rank(c, shapes[k]);
  nv_dim one = nv_dim_const(c, 1);
  for (uint32_t axis = 0; axis < rank; axis++) dims[axis] = one;
  for (uint32_t k = 0; k < n; k++) {
    uint32_t own = nv_shape_rank(c, shapes[k]);
    const nv_dim *from = nv_shape_dims(c, shapes[k]);
    for (uint32_t i = 0; i < own; i++) {
      nv_dim *to = &dims[rank - own + i];
      if (nv_dim_differ(c, *to, from[i]) && nv_dim_differ(c, *to, one) && nv_dim_differ(c, from[i], one)) {
        nv_buf b;
        nv_buf_init(&b, c);
        for (uint32_t j = 0; j < n; j++) {
          nv_puts(&b, j == 0 ? "" : j + 1 == n ? " and " : ", ");
          nv_put_shape(&b, shapes[j]);
        }
        return fail(c, why, "shapes %s don't broadcast", nv_buf_text(&b));
      }
      *to = nv_dim_bcast(c, *to, from[i]);
    }
  }
  *shape = nv_shape_make(c, dims, rank);
  return true;
}

static bool elementwise(nv_ctx *c, const nv_op_info *row, const nv_shape *operands, uint32_t n,
                        nv_shape *shape, const char **why) {
  for (uint32_t k = 1; k < n; k++) {
    if (operands[k] == operands[0]) continue;
    if (!nv_broadcast_shapes(c, operands, n, shape, why)) return false;
    return fail(c, why, "%s has operands of shapes %s and %s, not broadcast yet", row->name,
                nv_shape_text(c, operands[0]), nv_shape_text(c, operands[k]));
  }
  *shape = operands[0];
  return true;
}

static bool reshape(nv_ctx *c, nv_shape from, nv_shape to, const char **why) {
  nv_dim a = nv_shape_elements(c, from), b = nv_shape_elements(c, to);
  if (a == b || !nv_dim_differ(c, a, b)) return true;
  return fail(c, why, "can't reshape %s elements into %s", dim_text(c, a), nv_shape_text(c, to));
}

static bool broadcast_to(nv_ctx *c, nv_shape from, nv_shape to, const char **why) {
  uint32_t rank = nv_shape_rank(c, to), own = nv_shape_rank(c, from);
  const nv_dim *have = nv_shape_dims(c, from), *want = nv_shape_dims(c, to);
  bool fits = own <= rank;
  for (uint32_t k = 0; k < own && fits; k++)
    fits = !nv_dim_differ(c, have[k], want[rank - own + k]) || !nv_dim_differ(c, have[k], nv_dim_const(c, 1));
  if (fits) return true;
  return fail(c, why, "can't broadcast %s to %s", nv_shape_text(c, from), nv_shape_text(c, to));
}

/* The axes of an attribute as a set of bits. They rise where sorted is true. */
static bool axes(nv_ctx *c, const int64_t *list, uint32_t n, uint32_t rank, bool sorted, uint32_t *set,
                 const char **why) {
  *set = 0;
  for (uint32_t k = 0; k < n; k++) {
    if (list[k] < 0 || list[k] >= (int64_t)rank)
      return fail(c, why, "axis %lld is out of range for rank %u", (long long)list[k], rank);
    if (*set >> list[k] & 1) return fail(c, why, "axis %lld is given twice", (long long)list[k]);
    if (sorted && k && list[k] < list[k - 1])
      return fail(c, why, "axis %lld stands behind axis %lld", (long long)list[k], (long long)list[k - 1]);
    *set |= 1u << list[k];
  }
  return true;
}

static bool reduce(nv_ctx *c, const nv_op_info *row, nv_shape from, nv_attr attr, nv_shape *shape,
                   const char **why) {
  uint32_t rank = nv_shape_rank(c, from), n = nv_attr_count(c, attr), set, out = 0;
  const int64_t *list = nv_attr_list(c, attr);
  const nv_dim *dims = nv_shape_dims(c, from);
  if (n == 0 || list[0] < 0 || list[0] > 1) return fail(c, why, "%s needs keepdims and axes", row->name);
  if (!axes(c, list + 1, n - 1, rank, true, &set, why)) return false;
  nv_dim result[NV_MAX_RANK];
  for (uint32_t k = 0; k < rank; k++) {
    int64_t v;
    if (!(set >> k & 1)) {
      result[out++] = dims[k];
      continue;
    }
    if (nv_dim_is_const(c, dims[k], &v) && v == 0 && row->nothing == NV_NOTHING_ERROR)
      return fail(c, why, "%s over axis %u of %s, which has no elements", row->name, k,
                  nv_shape_text(c, from));
    if (list[0]) result[out++] = nv_dim_const(c, 1);
  }
  *shape = nv_shape_make(c, result, out);
  return true;
}

/* Attributes: axis, reverse, exclusive. */
static bool scan(nv_ctx *c, const nv_op_info *row, nv_shape from, nv_attr attr, nv_shape *shape, const char **why) {
  const int64_t *list = nv_attr_list(c, attr);
  uint32_t set;
  if (nv_attr_count(c, attr) != 3 || list[1] < 0 || list[1] > 1 || list[2] < 0 || list[2] > 1)
    return fail(c, why, "%s needs an axis, reverse and exclusive", row->name);
  *shape = from;
  return axes(c, list, 1, nv_shape_rank(c, from), true, &set, why);
}

static bool transpose(nv_ctx *c, nv_shape from, nv_attr attr, nv_shape *shape, const char **why) {
  uint32_t rank = nv_shape_rank(c, from), n = nv_attr_count(c, attr), set;
  const int64_t *list = nv_attr_list(c, attr);
  const nv_dim *dims = nv_shape_dims(c, from);
  if (!axes(c, list, n, rank, false, &set, why)) return false;
  if (n != rank) return fail(c, why, "transpose needs %u axes, not %u", rank, n);
  nv_dim result[NV_MAX_RANK];
  for (uint32_t k = 0; k < n; k++) result[k] = dims[list[k]];
  *shape = nv_shape_make(c, result, rank);
  return true;
}

static bool expand_dims(nv_ctx *c, nv_shape from, nv_attr attr, nv_shape *shape, const char **why) {
  uint32_t n = nv_attr_count(c, attr), old = nv_shape_rank(c, from), set, next = 0;
  const nv_dim *dims = nv_shape_dims(c, from);
  if (n > NV_MAX_RANK - old)
    return fail(c, why, "rank %llu is above %d", (unsigned long long)old + n, NV_MAX_RANK);
  if (!axes(c, nv_attr_list(c, attr), n, old + n, true, &set, why)) return false;
  nv_dim result[NV_MAX_RANK];
  for (uint32_t k = 0; k < old + n; k++) result[k] = set >> k & 1 ? nv_dim_const(c, 1) : dims[next++];
  *shape = nv_shape_make(c, result, old + n);
  return true;
}

static bool squeeze(nv_ctx *c, nv_shape from, nv_attr attr, nv_shape *shape, const char **why) {
  uint32_t rank = nv_shape_rank(c, from), set, out = 0;
  const nv_dim *dims = nv_shape_dims(c, from);
  if (!axes(c, nv_attr_list(c, attr), nv_attr_count(c, attr), rank, true, &set, why)) return false;
  nv_dim result[NV_MAX_RANK];
  for (uint32_t k = 0; k < rank; k++) {
    int64_t v;
    if (!(set >> k & 1))
      result[out++] = dims[k];
    else if (!nv_dim_is_const(c, dims[k], &v))
      return fail(c, why, "axis %u has size %s, which isn't known to be 1", k, dim_text(c, dims[k]));
    else if (v != 1)
      return fail(c, why, "axis %u has size %lld, not 1", k, (long long)v);
  }
  *shape = nv_shape_make(c, result, out);
  return true;
}

/* Attributes: the first element of every axis, then the steps. A step of 1 where at most one element is taken, a
 * first element of 0 where none is: so that what is the same has the same attributes. */
static bool slice(nv_ctx *c, nv_shape from, nv_attr attr, nv_shape to, const char **why) {
  uint32_t rank = nv_shape_rank(c, from);
  const int64_t *first = nv_attr_list(c, attr), *step = first + rank;
  const nv_dim *have = nv_shape_dims(c, from), *want = nv_shape_dims(c, to);
  if (nv_attr_count(c, attr) != 2 * rank || nv_shape_rank(c, to) != rank)
    return fail(c, why, "a slice of %s needs rank %u and %u numbers", nv_shape_text(c, from), rank, 2 * rank);
  for (uint32_t k = 0; k < rank; k++) {
    int64_t size, n, last;
    if (have[k] == want[k] && first[k] == 0 && step[k] == 1) continue;
    if (!nv_dim_is_const(c, want[k], &n)) return fail(c, why, "not supported yet: a slice of an open size");
    if (!nv_dim_is_const(c, have[k], &size)) size = INT64_MAX;
    bool fits = n >= 0 && (n > 1 || step[k] == 1) && (n > 0 || first[k] == 0) && step[k] != 0;
    if (fits && n > 0)
      fits = nv_mul64(n - 1, step[k], &last) && nv_add64(first[k], last, &last) && first[k] >= 0 &&
             first[k] < size && last >= 0 && last < size;
    if (!fits)
      return fail(c, why, "axis %u of %s has no %lld elements from %lld by %lld", k, nv_shape_text(c, from),
                  (long long)n, (long long)first[k], (long long)step[k]);
  }
  return true;
}

/* Attributes: of every axis, how often its first element stands before it; the result's size says how often its last
 * one stands behind it. */
static bool pad_edge(nv_ctx *c, nv_shape from, nv_attr attr, nv_shape to, const char **why) {
  uint32_t rank = nv_shape_rank(c, from);
  const int64_t *before = nv_attr_list(c, attr);
  if (nv_attr_count(c, attr) != rank || nv_shape_rank(c, to) != rank)
    return fail(c, why, "padding of %s needs rank %u and %u numbers", nv_shape_text(c, from), rank, rank);
  for (uint32_t k = 0; k < rank; k++) {
    int64_t size, n, least;
    if (!nv_dim_is_const(c, nv_shape_dims(c, from)[k], &size) || !nv_dim_is_const(c, nv_shape_dims(c, to)[k], &n))
      return fail(c, why, "not supported yet: padding of an open size");
    if (before[k] < 0 || !nv_add64(before[k], size, &least) || n < least || (size == 0 && n > 0))
      return fail(c, why, "axis %u of %s isn't padded to %lld by %lld before it", k, nv_shape_text(c, from),
                  (long long)n, (long long)before[k]);
  }
  return true;
}

static bool iota(nv_ctx *c, nv_dtype d, nv_shape to, const char **why) {
  int64_t n;
  if (nv_shape_rank(c, to) != 1) return fail(c, why, "iota has one axis, not %s", nv_shape_text(c, to));
  if (!nv_dim_is_const(c, nv_shape_dims(c, to)[0], &n)) return true;
  return nv_int_fits(d, n) || fail(c, why, "%lld indices don't fit %s", (long long)n, nv_dtype_name[d]);
}

/* The result has the index's shape; each axis of the operand but one is an axis of it. */
static bool pick(nv_graph *g, const nv_value *operands, nv_attr attr, nv_shape *shape, const char **why) {
  nv_ctx *c = g->c;
  const nv_shape from = nv_shape_at(g, operands[0]), to = nv_shape_at(g, operands[1]);
  const uint32_t rank = nv_shape_rank(c, from);
  const int64_t *list = nv_attr_list(c, attr);
  int64_t n = 0;
  uint32_t counted = 0;
  if (nv_attr_count(c, attr) != rank) return fail(c, why, "pick of rank %u needs as many numbers", rank);
  for (uint32_t k = 0; k < rank; k++) {
    const int64_t place = list[k];
    const nv_dim size = nv_shape_dims(c, from)[k];
    if (place == -1) {
      counted++;
      if (!nv_dim_is_const(c, size, &n)) return fail(c, why, "not supported yet: a pick along an open size");
    } else if (place < 0 || place >= (int64_t)nv_shape_rank(c, to) || nv_shape_dims(c, to)[place] != size) {
      return fail(c, why, "axis %u of %s isn't axis %lld of %s", k, nv_shape_text(c, from), (long long)place,
                  nv_shape_text(c, to));
    }
  }
  if (counted != 1) return fail(c, why, "pick counts along one axis, not %u", counted);
  if (n == 0) return fail(c, why, "pick from %s, which has no elements", nv_shape_text(c, from));
  *shape = to;
  return true;
}

/* The index and the updates are of one shape: how many updates, then the sizes of a without the axis. */
static bool fold_at(nv_graph *g, const nv_op_info *row, const nv_value *operands, nv_attr attr, nv_shape *shape,
                    const char **why) {
  nv_ctx *c = g->c;
  const nv_shape a = nv_shape_at(g, operands[0]), u = nv_shape_at(g, operands[2]);
  const uint32_t rank = nv_shape_rank(c, a);
  const int64_t axis = nv_attr_count(c, attr) == 1 ? nv_attr_list(c, attr)[0] : -1;
  if (axis < 0 || axis >= (int64_t)rank) return fail(c, why, "%s needs an axis of %s", row->name, nv_shape_text(c, a));
  bool fits = u == nv_shape_at(g, operands[1]) && nv_shape_rank(c, u) == rank;
  for (uint32_t k = 0; k < rank && fits; k++)
    if ((int64_t)k != axis) fits = nv_shape_dims(c, a)[k] == nv_shape_dims(c, u)[(int64_t)k < axis ? k + 1 : k];
  if (!fits)
    return fail(c, why, "%s at %s of %s along axis %lld of %s", row->name,
                nv_shape_text(c, nv_shape_at(g, operands[1])), nv_shape_text(c, u), (long long)axis,
                nv_shape_text(c, a));
  if (!nv_shape_is_static(c, a) || !nv_shape_is_static(c, u))
    return fail(c, why, "not supported yet: %s of an open size", row->name);
  *shape = a;
  return true;
}

bool nv_infer(nv_graph *g, nv_op op, const nv_value *operands, uint32_t n, nv_attr attr, nv_dtype *dtype,
              nv_shape *shape, const char **why) {
  nv_ctx *c = g->c;
  const nv_op_info *row = &nv_ops[op];
  nv_dtype dtypes[NV_MAX_OPERANDS];
  nv_shape shapes[NV_MAX_OPERANDS];
  if (row->cls == NV_LEAF || row->cls == NV_EXPAND)
    return fail(c, why, "%s is no operation of the graph", row->name);
  if (n > NV_MAX_OPERANDS) return fail(c, why, "%s has %u operands", row->name, n);
  for (uint32_t k = 0; k < n; k++) {
    dtypes[k] = nv_dtype_of(g, operands[k]);
    shapes[k] = nv_shape_at(g, operands[k]);
  }
  if (!nv_infer_dtype(c, op, dtypes, n, attr, dtype, why)) return false;
  bool bare = row->shape == NV_SH_RESHAPE || row->shape == NV_SH_BROADCAST_TO || !row->attrs[0].name;
  if (bare && nv_attr_count(c, attr) != 0) return fail(c, why, "%s has no attributes here", row->name);
  bool fits = false;
  switch (row->shape) {
  case NV_SH_ELEM: fits = elementwise(c, row, shapes, n, shape, why); break;
  case NV_SH_RESHAPE: fits = reshape(c, shapes[0], *shape, why); break;
  case NV_SH_BROADCAST_TO: fits = broadcast_to(c, shapes[0], *shape, why); break;
  case NV_SH_TRANSPOSE: fits = transpose(c, shapes[0], attr, shape, why); break;
  case NV_SH_EXPAND_DIMS: fits = expand_dims(c, shapes[0], attr, shape, why); break;
  case NV_SH_SQUEEZE: fits = squeeze(c, shapes[0], attr, shape, why); break;
  case NV_SH_SLICE: fits = slice(c, shapes[0], attr, *shape, why); break;
  case NV_SH_PAD_EDGE: fits = pad_edge(c, shapes[0], attr, *shape, why); break;
  case NV_SH_IOTA: fits = iota(c, *dtype, *shape, why); break;
  case NV_SH_REDUCE: fits = reduce(c, row, shapes[0], attr, shape, why); break;
  case NV_SH_PICK: fits = pick(g, operands, attr, shape, why); break;
  case NV_SH_SCAN: fits = scan(c, row, shapes[0], attr, shape, why); break;
  case NV_SH_FOLD: fits = fold_at(g, row, operands, attr, shape, why); break;
  case NV_SH_NONE: return fail(c, why, "not supported yet: %s", row->name);
  }
  if (!fits) return false;
  if (nv_shape_fits(c, *shape)) return true;
  return fail(c, why, "the result %s has more than 2^48 elements or a negative size",
              nv_shape_text(c, *shape));
}
