/* trace_attr.c - tracing: arguments of an op sorted into operands and attributes, these made canonical (graph.h). */
#include "trace.h"

/* Name k of a row's space-separated params, without its '?'. */
static size_t param_name(nv_op op, uint32_t k, const char **name) {
  const char *p = nv_ops[op].params;
  while (k--) p += strcspn(p, " ") + 1;
  *name = p;
  const size_t n = strcspn(p, " ");
  return p[n - 1] == '?' ? n - 1 : n;
}

static uint32_t count_attrs(nv_op op) {
  uint32_t n = 0;
  while (nv_ops[op].attrs[n].kind != NV_AT_END) n++;
  return n;
}

static const char *counted(nvt *t, uint32_t n, const char *what) {
  return nv_format(t->c, "%u %s%s", n, what, n == 1 ? "" : "s");
}

/* "maximum needs b", with what it takes. */
static void missing(nvt *t, const nvt_opcall *call, uint32_t k) {
  const char *name;
  const size_t n = param_name(call->op, k, &name);
  nvt_error(t, call->pos, "%s needs %.*s", nv_ops[call->op].name, (int)n, name);
}

static nvt_arg *by_keyword(nvt *t, nv_str key, nvt_opcall *call, uint32_t most, uint32_t nattrs) {
  const char *text = nv_text(t->c, key), *name;
  for (uint32_t k = 0; k < most; k++) {
    const size_t n = param_name(call->op, k, &name);
    if (strlen(text) == n && !memcmp(text, name, n)) return &call->in[k];
  }
  for (uint32_t k = 0; k < nattrs; k++)
    if (!strcmp(nv_ops[call->op].attrs[k].name, text)) return &call->attr[k];
  return NULL;
}

static void unknown_keyword(nvt *t, const nvt_opcall *call, nv_str key, nv_pos pos, uint32_t nattrs) {
  const char *known[NV_MAX_ATTRS + 1], *meant = nvt_meant_attribute(nv_text(t->c, key));
  for (uint32_t k = 0; k < nattrs; k++) known[k] = nv_ops[call->op].attrs[k].name;
  const char *hint = nvt_suggest(t, key, false, known, nattrs);
  for (uint32_t k = 0; meant && k < nattrs; k++)
    if (!strcmp(meant, known[k])) hint = nv_format(t->c, "; did you mean '%s'?", meant);
  if (!*hint && nattrs == 1) hint = nv_format(t->c, "; it has '%s'", known[0]);
  nvt_error(t, pos, "%s has no attribute '%s'%s", nv_ops[call->op].name, nv_text(t->c, key), hint);
}

bool nvt_sort_args(nvt *t, nv_ast ast, const nvt_val *args, nvt_opcall *call) {
  const nv_op_info *row = &nv_ops[call->op];
  uint32_t least, most, k = 0, given = 0;
  nv_op_arity(call->op, &least, &most);
  const uint32_t nattrs = count_attrs(call->op);
  for (nv_ast a = nvt_at(t, ast)->first; a != NV_NONE; a = nvt_at(t, a)->next, k++) {
    const nv_ast_node *n = nvt_at(t, a);
    nvt_arg *into;
    if (n->kind == NV_AST_KEYWORD) {
      into = by_keyword(t, n->text, call, most, nattrs);
      if (!into) {
        unknown_keyword(t, call, n->text, n->pos, nattrs);
        return false;
      }
      if (into->given) {
        nvt_error(t, n->pos, "%s: '%s' is given twice", row->name, nv_text(t->c, n->text));
        return false;
      }
      const nv_ast value = n->first == NV_NONE ? a : n->first;
      *into = (nvt_arg){args[k], value, nvt_at(t, value)->pos, true};
      continue;
    }
    if (k >= most + nattrs) {
      const nv_attr_kind last = nattrs ? (nv_attr_kind)row->attrs[0].kind : NV_AT_END;
      const bool list = (last == NV_AT_SHAPE || last == NV_AT_PERM || last == NV_AT_AXES) && args[k].kind == NVT_INT;
      nvt_error(
          t, n->pos, "%s takes %s, got %u%s", row->name,
          nattrs ? nv_format(t->c, "%s and %s", counted(t, most, "operand"), counted(t, nattrs, "attribute"))
                 : counted(t, most, "operand"),
          nvt_at(t, ast)->count, list ? nv_format(t->c, "; %s is one list: [...]", row->attrs[0].name) : "");
      return false;
    }
    into = k < most ? &call->in[k] : &call->attr[k - most];
    *into = (nvt_arg){args[k], a, n->pos, true};
    given++;
    if (k == most && (!strcmp(row->name, "min") || !strcmp(row->name, "max"))) {
      const char *other = !strcmp(row->name, "min") ? "minimum" : "maximum"; /* with keepdims or -1 an axis is meant */
      if (args[k].kind == NVT_INT && args[k].u.i >= 0 && nvt_at(t, ast)->count == 2)
        nvt_warn(t, n->pos, "%s(x, %lld) reduces over axis %lld; element by element it is %s", row->name,
                 (long long)args[k].u.i, (long long)args[k].u.i, other);
      if (args[k].kind == NVT_ARRAY || args[k].kind == NVT_FLOAT) {
        nvt_error(t, n->pos, "%s reduces over axes; element by element it is %s", row->name, other);
        return false;
      }
    }
  }
  call->n = most;
  for (k = 0; k < least; k++) {
    if (call->in[k].given) continue;
    if (given || least == 1)
      missing(t, call, k);
    else
      nvt_error(t, call->pos, "%s takes %s, got 0", row->name, counted(t, most, "operand"));
    return false;
  }
  for (k = least; k < most; k++)
    if (call->in[k].v.kind == NVT_NONE) call->in[k].given = false;
  for (k = 0; k < nattrs; k++)
    if (!call->attr[k].given && !row->attrs[k].default_) {
      nvt_error(t, call->pos, "%s needs %s", row->name, row->attrs[k].name);
      return false;
    }
  return true;
}

/* ---- canonical attributes ---- */

static nvt_arg attr_or_default(const nvt_opcall *call, uint32_t k) {
  nvt_arg a = call->attr[k];
  if (a.given) return a;
  const char *text = nv_ops[call->op].attrs[k].default_;
  a.pos = call->pos;
  if (!strcmp(text, "None"))
    a.v = nvt_none();
  else if (!strcmp(text, "true") || !strcmp(text, "false"))
    a.v = nvt_bool(*text == 't');
  else if (nv_dtype_find(text, strlen(text)) >= 0)
    a.v = nvt_dtype((nv_dtype)nv_dtype_find(text, strlen(text)));
  else
    a.v = strchr(text, '.') ? nvt_float(strtod(text, NULL)) : nvt_int(strtoll(text, NULL, 10));
  return a;
}

static bool wrong_kind(nvt *t, const nvt_opcall *call, uint32_t k, const nvt_arg *a, const char *want) {
  nvt_error(t, a->pos, "%s: %s must be %s, not %s", nv_ops[call->op].name, nv_ops[call->op].attrs[k].name,
            want, nvt_show(t, a->v));
  return false;
}

/* Place of element i of an attribute that was written as a list; else of the attribute. */
static nv_pos element_pos(const nvt *t, const nvt_arg *a, uint32_t i) {
  if (a->ast == NV_NONE || nvt_at(t, a->ast)->kind != NV_AST_LIST) return a->pos;
  nv_ast e = nvt_at(t, a->ast)->first;
  while (i-- && e != NV_NONE) e = nvt_at(t, e)->next;
  return e == NV_NONE ? a->pos : nvt_at(t, e)->pos;
}

static int compare_int(const void *a, const void *b) {
  const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
  return (x > y) - (x < y);
}

/* Axes of a list, an int or None (all: rank of them), normalised into v in their own order, distinct. */
static bool axes(nvt *t, const nvt_opcall *call, uint32_t k, const nvt_arg *a, uint32_t rank, int64_t *v,
                 uint32_t *n) {
  const char *op = nv_ops[call->op].name, *name = nv_ops[call->op].attrs[k].name;
  const bool list = a->v.kind == NVT_LIST;
  if (a->v.kind != NVT_INT && !list) return wrong_kind(t, call, k, a, "an int or a list of ints");
  *n = list ? a->v.u.seq->n : 1;
  if (*n > rank && list) {
    nvt_error(t, a->pos, "%s: %u axes, but rank %u", op, *n, rank);
    return false;
  }
  bool seen[NV_MAX_RANK] = {false};
  for (uint32_t i = 0; i < *n; i++) {
    const nvt_val e = list ? a->v.u.seq->at[i] : a->v;
    const nv_pos pos = list ? element_pos(t, a, i) : a->pos;
    if (e.kind != NVT_INT) return wrong_kind(t, call, k, a, "a list of ints");
    if (e.u.i < -(int64_t)rank || e.u.i >= (int64_t)rank) {
      nvt_error(t, pos, "%s: %s %lld is out of range for rank %u", op, name, (long long)e.u.i, rank);
      return false;
    }
    v[i] = e.u.i < 0 ? e.u.i + rank : e.u.i;
    if (seen[v[i]]) {
      nvt_error(t, pos, "%s: %s %lld occurs twice", op, name, (long long)e.u.i);
      return false;
    }
    seen[v[i]] = true;
  }
  return true;
}

/* What a list of sizes says: the product of those that are known, and of all; the place of a -1, NV_NONE. */
typedef struct size_list {
  nv_dim dims[NV_MAX_RANK], product;
  uint32_t n, open;
} size_list;

static bool read_sizes(nvt *t, const nvt_opcall *call, uint32_t k, const nvt_arg *a, bool reshape, size_list *out) {
  const char *op = nv_ops[call->op].name;
  if (a->v.kind != NVT_LIST || !a->v.u.seq->static_) return wrong_kind(t, call, k, a, "a list of sizes");
  const nvt_seq *s = a->v.u.seq;
  if (s->n > NV_MAX_RANK) {
    nvt_error(t, a->pos, "%s: rank %u is over the limit of %d", op, s->n, NV_MAX_RANK);
    return false;
  }
  *out = (size_list){.n = s->n, .open = NV_NONE, .product = nv_dim_const(t->c, 1)};
  int64_t known = 1;
  for (uint32_t i = 0; i < s->n; i++) {
    int64_t v = 0;
    if (!nvt_dim_of(t, s->at[i], &out->dims[i])) return wrong_kind(t, call, k, a, "a list of sizes");
    const bool fixed = nv_dim_is_const(t->c, out->dims[i], &v);
    if (v == -1 && reshape && out->open == NV_NONE) {
      out->open = i;
      continue;
    }
    if (v < 0) {
      nvt_error(t, element_pos(t, a, i), "%s: size %lld is negative", op, (long long)v);
      return false;
    }
    if (fixed && (v > NVT_MAX_ELEMENTS || !nv_mul64(known, v, &known))) {
      nvt_error(t, element_pos(t, a, i), "%s: more than 2^48 elements", op);
      return false;
    }
    const nv_dim zero = nv_dim_const(t->c, 0);
    if (!fixed && !nvt_guard(t, NV_AT_MOST, zero, out->dims[i], element_pos(t, a, i))) {
      nvt_error(t, element_pos(t, a, i), "%s: size %s is negative", op, nvt_show_dim(t, out->dims[i]));
      return false;
    }
    out->product = nv_dim_mul(t->c, out->product, out->dims[i]);
  }
  return true;
}

/* The sizes of a list; reshape's -1 is worked out from shape. */
static bool sizes(nvt *t, const nvt_opcall *call, uint32_t k, const nvt_arg *a, nv_shape shape, bool reshape,
                  nv_shape *out) {
  const char *op = nv_ops[call->op].name;
  size_list list;
  if (!read_sizes(t, call, k, a, reshape, &list)) return false;
  const nv_dim elements = reshape ? nv_shape_elements(t->c, shape) : 0, zero = nv_dim_const(t->c, 0);
  if (list.open != NV_NONE) {
    const nv_pos pos = element_pos(t, a, list.open);
    if (!nvt_guard(t, NV_AT_MOST, nv_dim_const(t->c, 1), list.product, pos) ||
        !nvt_guard(t, NV_EQUAL, nv_dim_mod(t->c, elements, list.product), zero, pos)) {
      nvt_error(t, pos, "%s: %s elements don't divide by %s, so -1 has no value", op, nvt_show_dim(t, elements),
                nvt_show_dim(t, list.product));
      return false;
    }
    list.dims[list.open] = nv_dim_floordiv(t->c, elements, list.product);
  }
  *out = nv_shape_make(t->c, list.dims, list.n);
  if (reshape && list.open == NV_NONE && !nvt_guard(t, NV_EQUAL, list.product, elements, a->pos)) {
    nvt_error(t, a->pos, "%s: %s has %s elements, %s has %s", op, nvt_show_shape(t, shape), nvt_show_dim(t, elements),
              nvt_show_shape(t, *out), nvt_show_dim(t, list.product));
    return false;
  }
  return true;
}

static bool dtype_of(nvt *t, const nvt_opcall *call, uint32_t k, const nvt_arg *a, int64_t *out) {
  if (a->v.kind == NVT_DTYPE) {
    *out = a->v.u.d;
    return true;
  }
  if (a->v.kind != NVT_STRING) return wrong_kind(t, call, k, a, "a dtype");
  const char *text = nv_text(t->c, a->v.u.s);
  *out = nv_dtype_find(text, strlen(text));
  if (*out >= 0) return true;
  const char *meant = nvt_meant_name(t, text);
  nvt_error(t, a->pos, "unknown dtype '%s'%s", nv_shown(t->c, text, strlen(text)),
            *meant ? meant : nvt_suggest(t, a->v.u.s, false, nv_dtype_name, NV_NDTYPES));
  return false;
}

void nvt_slice_bounds(const nvt_val *p, int64_t n, int64_t *first, int64_t *step, int64_t *count) {
  *step = p[2].kind == NVT_INT ? p[2].u.i : 1;
  if (*step == INT64_MIN) *step = -INT64_MAX;
  const int64_t lo = *step > 0 ? 0 : -1, hi = *step > 0 ? n : n - 1; /* where start and stop are clamped to */
  int64_t ends[2];
  for (uint32_t i = 0; i < 2; i++) {
    int64_t e = (i == 0) == (*step > 0) ? lo : hi;
    if (p[i].kind == NVT_INT) {
      e = p[i].u.i < 0 ? p[i].u.i + n : p[i].u.i;
      e = e < lo ? lo : e > hi ? hi : e;
    }
    ends[i] = e;
  }
  const int64_t span = *step > 0 ? ends[1] - ends[0] : ends[0] - ends[1], width = *step > 0 ? *step : -*step;
  *count = span > 0 ? (span - 1) / width + 1 : 0;
  *first = *count ? ends[0] : 0;
  if (*count <= 1) *step = 1;
}

bool nvt_slice_axis(nvt *t, const nvt_val *p, nv_dim size, nv_pos pos, int64_t *first, int64_t *step, nv_dim *count) {
  int64_t n, taken;
  *first = 0;
  *step = 1;
  *count = size;
  if (nv_dim_is_const(t->c, size, &n)) {
    nvt_slice_bounds(p, n, first, step, &taken);
    *count = nv_dim_const(t->c, taken);
    return true;
  }
  const bool from_start = p[0].kind == NVT_NONE || (p[0].kind == NVT_INT && p[0].u.i == 0);
  const bool by_one = p[2].kind == NVT_NONE || (p[2].kind == NVT_INT && p[2].u.i == 1);
  nv_dim stop;
  const bool to_end = p[1].kind == NVT_NONE || (nvt_dim_of(t, p[1], &stop) && stop == size);
  if (from_start && by_one && to_end) return true;
  nvt_refuse(t, pos, "a slice of an axis of run-time size (a signature fixes it)");
  return false;
}

/* start, stop and step of slice, from attribute k on: firsts and steps into v, the result's shape. */
static bool slice(nvt *t, const nvt_opcall *call, uint32_t k, nv_shape shape, int64_t *v, nv_shape *out) {
  const char *op = nv_ops[call->op].name;
  const uint32_t rank = nv_shape_rank(t->c, shape);
  nvt_arg a[3];
  for (uint32_t i = 0; i < 3; i++) {
    a[i] = attr_or_default(call, k + i);
    if (a[i].v.kind == NVT_NONE) continue;
    if (a[i].v.kind != NVT_LIST) return wrong_kind(t, call, k + i, &a[i], "a list of ints and None");
    if (a[i].v.u.seq->n <= rank) continue;
    nvt_error(t, a[i].pos, "%s: %u values of %s, but rank %u", op, a[i].v.u.seq->n, nv_ops[call->op].attrs[k + i].name,
              rank);
    return false;
  }
  nv_dim count[NV_MAX_RANK];
  for (uint32_t axis = 0; axis < rank; axis++) {
    nvt_val p[3] = {{0}};
    for (uint32_t i = 0; i < 3; i++) {
      p[i] = nvt_none();
      if (a[i].v.kind == NVT_NONE || axis >= a[i].v.u.seq->n) continue;
      p[i] = a[i].v.u.seq->at[axis];
      if (p[i].kind != NVT_NONE && p[i].kind != NVT_INT)
        return wrong_kind(t, call, k + i, &a[i], "a list of ints and None");
    }
    if (p[2].kind == NVT_INT && p[2].u.i == 0) {
      nvt_error(t, element_pos(t, &a[2], axis), "step 0 of a slice");
      return false;
    }
    if (!nvt_slice_axis(t, p, nv_shape_dims(t->c, shape)[axis], call->pos, &v[axis], &v[rank + axis], &count[axis]))
      return false;
  }
  *out = nv_shape_make(t->c, count, rank);
  return true;
}

bool nvt_read_attrs(nvt *t, const nvt_opcall *call, nv_shape shape, nvt_attrs *out) {
  const nv_op_info *row = &nv_ops[call->op];
  const uint32_t n = count_attrs(call->op), rank = nv_shape_rank(t->c, shape);
  int64_t v[2 * NV_MAX_RANK + NV_MAX_ATTRS];
  uint32_t count = 0;
  *out = (nvt_attrs){NV_NO_ATTR, shape};
  for (uint32_t k = 0; k < n; k++) {
    const nvt_arg a = attr_or_default(call, k);
    switch (row->attrs[k].kind) {
    case NV_AT_AXIS:
      if (a.v.kind != NVT_INT) return wrong_kind(t, call, k, &a, "an int");
      uint32_t one;
      if (!axes(t, call, k, &a, rank, v + count, &one)) return false;
      count++;
      break;
    case NV_AT_AXES: {
      int64_t list[NV_MAX_RANK];
      uint32_t m = 0, result = rank;
      if (row->shape == NV_SH_EXPAND_DIMS) {
        result += a.v.kind == NVT_LIST ? a.v.u.seq->n : 1;
        if (result > NV_MAX_RANK) {
          nvt_error(t, a.pos, "%s: rank %u is over the limit of %d", row->name, result, NV_MAX_RANK);
          return false;
        }
      }
      if (a.v.kind == NVT_NONE && !row->attrs[k].default_)
        return wrong_kind(t, call, k, &a, "an int or a list of ints");
      if (a.v.kind != NVT_NONE && !axes(t, call, k, &a, result, list, &m)) return false;
      for (uint32_t i = 0; i < rank && (a.v.kind == NVT_NONE || row->shape == NV_SH_SQUEEZE); i++) {
        int64_t size = 0;
        const bool fixed = nv_dim_is_const(t->c, nv_shape_dims(t->c, shape)[i], &size);
        if (a.v.kind == NVT_NONE) {
          if (row->shape != NV_SH_SQUEEZE || (fixed && size == 1)) list[m++] = i;
          continue;
        }
        for (uint32_t j = 0; j < m; j++)
          if (list[j] == i && !(fixed && size == 1)) {
            nvt_error(t, element_pos(t, &a, j), "%s: axis %u of %s isn't of size 1", row->name, i,
                      nvt_show_shape(t, shape));
            return false;
          }
      }
      qsort(list, m, sizeof *list, compare_int);
      /* reductions: {keepdims, axes…}; the row has axis first */
      for (uint32_t i = 0; i < m; i++) v[NV_MAX_ATTRS + i] = list[i];
      if (row->shape == NV_SH_REDUCE) {
        const nvt_arg keep = attr_or_default(call, k + 1);
        if (keep.v.kind != NVT_BOOL) return wrong_kind(t, call, k + 1, &keep, "true or false");
        v[count++] = keep.v.u.b;
        k++;
      }
      memmove(v + count, v + NV_MAX_ATTRS, m * sizeof *v);
      count += m;
      break;
    }
    case NV_AT_PERM:
      if (a.v.kind == NVT_NONE) {
        for (uint32_t i = 0; i < rank; i++) v[count++] = rank - 1 - i;
      } else {
        uint32_t m;
        if (a.v.kind == NVT_INT && rank != 1) return wrong_kind(t, call, k, &a, "a list of all axes");
        if (!axes(t, call, k, &a, rank, v + count, &m)) return false;
        if (m != rank) {
          nvt_error(t, a.pos, "%s: %u axes, but rank %u", row->name, m, rank);
          return false;
        }
        count += m;
      }
      break;
    case NV_AT_SHAPE:
      if (!sizes(t, call, k, &a, shape, row->shape == NV_SH_RESHAPE, &out->shape)) return false;
      if (!nvt_check_shape(t, out->shape, a.pos)) return false;
      break;
    case NV_AT_SLICE:
      if (!slice(t, call, k, shape, v, &out->shape)) return false;
      count = 2 * rank;
      k += 2;
      break;
    case NV_AT_BOOL:
      if (a.v.kind != NVT_BOOL) return wrong_kind(t, call, k, &a, "true or false");
      v[count++] = a.v.u.b;
      break;
    case NV_AT_INT:
      if (a.v.kind != NVT_INT) return wrong_kind(t, call, k, &a, "an int");
      v[count++] = a.v.u.i;
      break;
    case NV_AT_DTYPE:
      if (!dtype_of(t, call, k, &a, &v[count++])) return false;
      break;
    case NV_AT_NUMBER:
    case NV_AT_VALUE:
    case NV_AT_END: break;
    }
  }
  out->attr = nv_attr_make(t->c, v, count);
  return true;
}

/* ---- for expansions ---- */

nvt_arg nvt_attr(const nvt_opcall *call, uint32_t k) { return attr_or_default(call, k); }
bool nvt_wrong_attr(nvt *t, const nvt_opcall *call, uint32_t k, const nvt_arg *a, const char *want) {
  return wrong_kind(t, call, k, a, want);
}
bool nvt_axes(nvt *t, const nvt_opcall *call, uint32_t k, const nvt_arg *a, uint32_t rank, int64_t *v, uint32_t *n) {
  return axes(t, call, k, a, rank, v, n);
}
bool nvt_sizes(nvt *t, const nvt_opcall *call, uint32_t k, const nvt_arg *a, nv_shape shape, bool whole,
               nv_shape *out) {
  return sizes(t, call, k, a, shape, whole, out);
}
bool nvt_attr_dtype(nvt *t, const nvt_opcall *call, uint32_t k, const nvt_arg *a, int64_t *out) {
  return dtype_of(t, call, k, a, out);
}
nv_pos nvt_element_pos(const nvt *t, const nvt_arg *a, uint32_t i) { return element_pos(t, a, i); }
