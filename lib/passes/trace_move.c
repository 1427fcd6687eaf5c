/* trace_move.c - tracing: ops that move elements (concatenate, stack, split, pad, repeat, tile, roll, meshgrid, diag,
 * diagonal, trace). All is index arithmetic: joining arrays is a choice, by index, between arrays that are padded by
 * their own edges, so it fuses with what makes the parts and with what uses the whole, and every part is read once. */
#include "steps.h"

/* ---- choices by index ---- */

/* bool of rank axes, 1 but for axis: is its index (op) than bound? */
static nvt_val beside(nvt *t, const nvt_opcall *call, nv_op op, uint32_t rank, uint32_t axis, int64_t n,
                      int64_t bound) {
  int64_t dims[NV_MAX_RANK];
  for (uint32_t k = 0; k < rank; k++) dims[k] = k == axis ? n : 1;
  const nvt_val i = nvt_done(nvt_indices(t, call, false, n, n, dims, rank));
  return nvt_step(t, call, false, op, i, nvt_int(bound), nvt_none());
}

/* n arrays of one dtype and, but for axis, of one shape, behind one another along axis; none is empty. At most
 * SOME are chosen between at once, more in turns: the work an element is some for each turn. */
static nv_value join(nvt *t, const nvt_opcall *call, nv_value *v, uint32_t n, uint32_t axis) {
  enum { SOME = 8 };
  while (n > 1) {
    uint32_t next = 0;
    for (uint32_t from = 0; from < n; from += SOME) {
      const uint32_t to = from + SOME < n ? from + SOME : n;
      int64_t dims[NV_MAX_RANK], own[NV_MAX_RANK], before[NV_MAX_RANK] = {0}, first[SOME], whole = 0;
      const uint32_t rank = nvt_sizes_of(t, v[from], dims);
      for (uint32_t k = from; k < to; k++) {
        nvt_sizes_of(t, v[k], own);
        first[k - from] = whole;
        whole += own[axis];
      }
      dims[axis] = whole;
      nvt_val r = nvt_none();
      for (uint32_t k = to; k-- > from;) {
        before[axis] = first[k - from];
        const nv_value x = nvt_padded(t, call, false, v[k], before, dims);
        if (x == NV_NONE) return x;
        if (r.kind == NVT_NONE) {
          r = nvt_array(x);
          continue;
        }
        const nvt_val here = beside(t, call, NV_OP_less, rank, axis, whole, first[k + 1 - from]);
        r = nvt_step(t, call, k == from && n <= SOME, NV_OP_where, here, nvt_array(x), r);
        if (r.kind != NVT_ARRAY) return NV_NONE;
      }
      v[next++] = r.u.v;
    }
    n = next;
  }
  return v[0];
}

/* ---- lists of arrays ---- */

/* The arrays of a list, of one dtype; false: reported. */
static bool list_operand(nvt *t, const nvt_opcall *call, nv_value **out, uint32_t *n) {
  const nvt_arg *a = &call->in[0];
  const char *op = nv_ops[call->op].name;
  if (a->v.kind != NVT_LIST || !a->v.u.seq->n) {
    nvt_error(t, a->pos, "%s takes a list of arrays, not %s", op, nvt_show(t, a->v));
    return false;
  }
  const nvt_seq *s = a->v.u.seq;
  nv_dtype d = NV_BOOL;
  *out = NV_NEW_N(t->c, nv_value, s->n);
  *n = s->n;
  for (uint32_t i = 0; i < s->n; i++) {
    if (s->at[i].kind != NVT_ARRAY) {
      nvt_error(t, nvt_element_pos(t, a, i), "%s takes a list of arrays, not of %s", op, nvt_show(t, s->at[i]));
      return false;
    }
    (*out)[i] = s->at[i].u.v;
    d = i ? nv_promote(d, nv_dtype_of(t->g, (*out)[i])) : nv_dtype_of(t->g, (*out)[i]);
  }
  for (uint32_t i = 0; i < s->n; i++)
    if (((*out)[i] = nvt_converted(t, call, false, (*out)[i], d)) == NV_NONE) return false;
  return true;
}

/* The arrays that aren't empty, in order; the first of all when all are empty. How many. */
static uint32_t drop_empty(nvt *t, nv_value *v, uint32_t n) {
  uint32_t m = 0;
  for (uint32_t i = 0; i < n; i++)
    if (nv_shape_count(t->c, nv_shape_at(t->g, v[i]))) v[m++] = v[i];
  return m;
}

nvt_val nvt_concatenate(nvt *t, const nvt_opcall *call) {
  nv_value *v;
  uint32_t n, axis = 0;
  const nvt_arg a = nvt_attr(call, 0);
  if (!list_operand(t, call, &v, &n)) return nvt_poison();
  if (a.v.kind == NVT_NONE)
    for (uint32_t i = 0; i < n; i++) {
      const int64_t count = nv_shape_count(t->c, nv_shape_at(t->g, v[i]));
      if ((v[i] = nvt_reshaped(t, call, n == 1, v[i], &count, 1)) == NV_NONE) return nvt_poison();
    }
  int64_t dims[NV_MAX_RANK], own[NV_MAX_RANK], whole = 0;
  const uint32_t rank = nvt_sizes_of(t, v[0], dims);
  if (rank == 0) {
    nvt_error(t, nvt_element_pos(t, &call->in[0], 0), "concatenate takes arrays of rank 1 or more, not %s",
              nvt_show_array(t, v[0]));
    return nvt_poison();
  }
  if (a.v.kind != NVT_NONE && !nvt_axis_attr(t, call, 0, rank, &axis)) return nvt_poison();
  for (uint32_t i = 0; i < n; i++) {
    bool fits = nvt_sizes_of(t, v[i], own) == rank;
    for (uint32_t k = 0; k < rank && fits; k++) fits = k == axis || own[k] == dims[k];
    if (!fits) {
      nvt_error(t, nvt_element_pos(t, &call->in[0], i), "concatenate: %s and %s differ in more than axis %u",
                nvt_show_shape(t, nv_shape_at(t->g, v[0])), nvt_show_shape(t, nv_shape_at(t->g, v[i])), axis);
      return nvt_poison();
    }
    whole += own[axis];
  }
  dims[axis] = whole;
  if (!nvt_check_shape(t, nv_shape_of_ints(t->c, dims, rank), call->pos)) return nvt_poison();
  const uint32_t m = drop_empty(t, v, n);
  if (m == 0) return nvt_done(nvt_padded(t, call, true, v[0], (int64_t[NV_MAX_RANK]){0}, dims));
  return nvt_done(join(t, call, v, m, axis));
}

nvt_val nvt_stack(nvt *t, const nvt_opcall *call) {
  nv_value *v;
  uint32_t n, axis;
  int64_t dims[NV_MAX_RANK + 1], out[NV_MAX_RANK + 1];
  if (!list_operand(t, call, &v, &n)) return nvt_poison();
  const nv_shape shape = nv_shape_at(t->g, v[0]);
  for (uint32_t i = 1; i < n; i++)
    if (nv_shape_at(t->g, v[i]) != shape) {
      nvt_error(t, nvt_element_pos(t, &call->in[0], i), "stack takes arrays of one shape, not %s and %s",
                nvt_show_shape(t, shape), nvt_show_shape(t, nv_shape_at(t->g, v[i])));
      return nvt_poison();
    }
  const uint32_t rank = nvt_sizes_of(t, v[0], dims);
  if (rank == NV_MAX_RANK) {
    nvt_error(t, call->pos, "rank %u is over the limit of %d", rank + 1, NV_MAX_RANK);
    return nvt_poison();
  }
  if (!nvt_axis_attr(t, call, 0, rank + 1, &axis)) return nvt_poison();
  for (uint32_t k = 0; k <= rank; k++) out[k] = k < axis ? dims[k] : k == axis ? 1 : dims[k - 1];
  const bool empty = nv_shape_count(t->c, shape) == 0;
  if (empty) out[axis] = n, n = 1;
  for (uint32_t i = 0; i < n; i++)
    if ((v[i] = nvt_reshaped(t, call, n == 1, v[i], out, rank + 1)) == NV_NONE) return nvt_poison();
  return nvt_done(join(t, call, v, n, axis));
}

/* ---- parts ---- */

static nvt_val part(nvt *t, const nvt_opcall *call, nv_value x, uint32_t axis, int64_t from, int64_t to) {
  int64_t dims[NV_MAX_RANK], first[NV_MAX_RANK] = {0};
  nvt_sizes_of(t, x, dims);
  const int64_t n = dims[axis];
  from = from < 0 ? from + n : from; /* as Python's slices */
  to = to < 0 ? to + n : to;
  from = from < 0 ? 0 : from > n ? n : from;
  to = to < from ? from : to > n ? n : to;
  if (from == 0 && to == n) return nvt_array(x);
  first[axis] = from;
  dims[axis] = to - from;
  return nvt_done(nvt_sliced(t, call, true, x, first, NULL, dims));
}

nvt_val nvt_split(nvt *t, const nvt_opcall *call, nv_value x) {
  int64_t dims[NV_MAX_RANK];
  const uint32_t rank = nvt_sizes_of(t, x, dims);
  uint32_t axis;
  const nvt_arg a = nvt_attr(call, 0);
  if (!nvt_axis_attr(t, call, 1, rank, &axis)) return nvt_poison();
  const int64_t n = dims[axis];
  nvt_val *at;
  uint32_t parts;
  if (a.v.kind == NVT_INT) {
    if (a.v.u.i < 1 || n % a.v.u.i || a.v.u.i > NVT_MAX_PORTS) {
      nvt_error(t, a.pos, "split: axis %u of %s isn't cut into %lld equal parts", axis,
                nvt_show_shape(t, nv_shape_at(t->g, x)), (long long)a.v.u.i);
      return nvt_poison();
    }
    parts = (uint32_t)a.v.u.i;
    at = NV_NEW_N(t->c, nvt_val, parts);
    for (uint32_t i = 0; i < parts; i++) at[i] = part(t, call, x, axis, n / parts * i, n / parts * (i + 1));
  } else {
    if (a.v.kind != NVT_LIST) return nvt_wrong_attr(t, call, 0, &a, "an int or a list of ints"), nvt_poison();
    const nvt_seq *s = a.v.u.seq;
    for (uint32_t i = 0; i < s->n; i++)
      if (s->at[i].kind != NVT_INT) return nvt_wrong_attr(t, call, 0, &a, "an int or a list of ints"), nvt_poison();
    parts = s->n + 1;
    at = NV_NEW_N(t->c, nvt_val, parts);
    for (uint32_t i = 0; i < parts; i++)
      at[i] = part(t, call, x, axis, i ? s->at[i - 1].u.i : 0, i < s->n ? s->at[i].u.i : n);
  }
  for (uint32_t i = 0; i < parts; i++)
    if (at[i].kind != NVT_ARRAY) return nvt_poison();
  return nvt_seq_make(t, NVT_LIST, at, NULL, parts);
}

/* ---- padding ---- */

/* pad_width: an int, a pair, or a pair an axis. */
static bool widths(nvt *t, const nvt_opcall *call, uint32_t rank, int64_t *before, int64_t *after) {
  const nvt_arg a = nvt_attr(call, 0);
  const nvt_val v = a.v, *at = v.kind == NVT_LIST ? v.u.seq->at : NULL;
  const uint32_t n = at ? v.u.seq->n : 0;
  const bool pairs = n && at[0].kind == NVT_LIST, alike = v.kind == NVT_INT || (n == 1 && !pairs);
  bool good = alike || pairs || n == 2;
  if (pairs && n != 1 && n != rank) good = false;
  for (uint32_t k = 0; k < rank && good; k++) {
    nvt_val two[2] = {v, v};
    if (pairs) {
      const nvt_val own = at[n == 1 ? 0 : k];
      good = own.kind == NVT_LIST && own.u.seq->n == 2;
      for (uint32_t i = 0; i < 2 && good; i++) two[i] = own.u.seq->at[i];
    } else if (v.kind != NVT_INT) {
      two[0] = at[0];
      two[1] = at[n - 1];
    }
    for (uint32_t i = 0; i < 2 && good; i++) {
      good = two[i].kind == NVT_INT;
      if (!good) break;
      if (two[i].u.i < 0 || two[i].u.i > NVT_MAX_ELEMENTS) {
        nvt_error(t, a.pos, "pad: a width must be a size, not %lld", (long long)two[i].u.i);
        return false;
      }
      (i ? after : before)[k] = two[i].u.i;
    }
  }
  return good || nvt_wrong_attr(t, call, 0, &a, nv_format(t->c, "an int, a pair, or a list of %u pairs", rank));
}

nvt_val nvt_pad(nvt *t, const nvt_opcall *call, nv_value x) {
  int64_t dims[NV_MAX_RANK], out[NV_MAX_RANK], before[NV_MAX_RANK], after[NV_MAX_RANK];
  const uint32_t rank = nvt_sizes_of(t, x, dims);
  const nvt_arg mode = call->attr[1];
  const nv_dtype d = nv_dtype_of(t->g, x);
  bool edge = false;
  if (mode.given) {
    const char *text = mode.v.kind == NVT_STRING ? nv_text(t->c, mode.v.u.s) : "";
    edge = !strcmp(text, "edge");
    if (!edge && strcmp(text, "constant")) {
      nvt_error(t, mode.pos, "pad: mode must be 'constant' or 'edge', not %s", nvt_show(t, mode.v));
      return nvt_poison();
    }
  }
  if (!widths(t, call, rank, before, after)) return nvt_poison();
  for (uint32_t k = 0; k < rank; k++) out[k] = before[k] + dims[k] + after[k];
  if (!nvt_check_shape(t, nv_shape_of_ints(t->c, out, rank), call->pos)) return nvt_poison();
  const bool empty = nv_shape_count(t->c, nv_shape_at(t->g, x)) == 0;
  if (edge && empty && nv_shape_count(t->c, nv_shape_of_ints(t->c, out, rank))) {
    nvt_error(t, call->pos, "pad: %s has no edge", nvt_show_array(t, x));
    return nvt_poison();
  }
  if (edge) return nvt_done(nvt_padded(t, call, true, x, before, out));

  nvt_val value = nvt_attr(call, 2).v;
  if (nvt_is_number(value)) {
    uint64_t bits;
    if (value.kind == NVT_FLOAT && nv_is(d, NV_BITS_INT)) {
      nvt_error(t, nvt_attr(call, 2).pos, "pad: %s is no %s", nvt_show(t, value), nv_dtype_name[d]);
      return nvt_poison();
    }
    if (!nvt_weak_bits(t, value, d, nvt_attr(call, 2).pos, &bits)) return nvt_poison();
    value = nvt_constant(t, d, bits, call->pos, false);
  } else if (value.kind != NVT_ARRAY || nv_shape_rank(t->c, nv_shape_at(t->g, value.u.v))) {
    const nvt_arg a = nvt_attr(call, 2);
    nvt_wrong_attr(t, call, 2, &a, "a number or an array of rank 0");
    return nvt_poison();
  } else {
    value = nvt_done(nvt_converted(t, call, false, value.u.v, d));
  }
  if (value.kind != NVT_ARRAY) return value;
  if (empty) return nvt_done(nvt_repeated(t, call, true, value.u.v, out, rank));
  nvt_val r = nvt_done(nvt_padded(t, call, false, x, before, out));
  uint32_t last = NV_NONE;
  for (uint32_t k = 0; k < rank; k++)
    if (before[k] || after[k]) last = k;
  for (uint32_t k = 0; k < rank && r.kind == NVT_ARRAY; k++) {
    if (!before[k] && !after[k]) continue;
    if (before[k])
      r = nvt_step(t, call, k == last && !after[k], NV_OP_where,
                   beside(t, call, NV_OP_less, rank, k, out[k], before[k]), value, r);
    if (after[k] && r.kind == NVT_ARRAY)
      r = nvt_step(t, call, k == last, NV_OP_where,
                   beside(t, call, NV_OP_less, rank, k, out[k], before[k] + dims[k]), r, value);
  }
  return r;
}

/* ---- repetition ---- */

static bool is_count(nvt *t, const nvt_arg *a, const nvt_opcall *call, nvt_val v, const char *what) {
  if (v.kind == NVT_INT && v.u.i >= 0 && v.u.i <= NVT_MAX_ELEMENTS) return true;
  nvt_error(t, a->pos, "%s: %s must be %s, not %s", nv_ops[call->op].name, nv_ops[call->op].attrs[0].name, what,
            nvt_show(t, v));
  return false;
}

/* Every element repeats times, next to one another, along an axis. */
nvt_val nvt_repeat(nvt *t, const nvt_opcall *call, nv_value x) {
  int64_t dims[NV_MAX_RANK + 1], out[NV_MAX_RANK + 1];
  const nvt_arg a = nvt_attr(call, 0), axes = nvt_attr(call, 1);
  uint32_t axis = 0, rank = nv_shape_rank(t->c, nv_shape_at(t->g, x));
  if (!is_count(t, &a, call, a.v, "a count")) return nvt_poison();
  if (axes.v.kind == NVT_NONE) {
    const int64_t n = nv_shape_count(t->c, nv_shape_at(t->g, x));
    if ((x = nvt_reshaped(t, call, false, x, &n, 1)) == NV_NONE) return nvt_poison();
    rank = 1;
  } else if (!nvt_axis_attr(t, call, 1, rank, &axis)) {
    return nvt_poison();
  }
  nvt_sizes_of(t, x, dims);
  if (rank == NV_MAX_RANK) {
    nvt_refuse(t, call->pos, "repeat of rank %u", rank);
    return nvt_poison();
  }
  for (uint32_t k = 0; k <= rank; k++) out[k] = k <= axis ? dims[k] : k == axis + 1 ? 1 : dims[k - 1];
  nv_value v = nvt_reshaped(t, call, false, x, out, rank + 1);
  out[axis + 1] = a.v.u.i;
  v = nvt_repeated(t, call, false, v, out, rank + 1);
  if (!nv_mul64(dims[axis], a.v.u.i, &dims[axis])) dims[axis] = NVT_MAX_ELEMENTS + 1;
  return nvt_done(nvt_reshaped(t, call, true, v, dims, rank));
}

nvt_val nvt_tile(nvt *t, const nvt_opcall *call, nv_value x) {
  int64_t dims[NV_MAX_RANK], reps[NV_MAX_RANK], thin[2 * NV_MAX_RANK], wide[2 * NV_MAX_RANK], out[NV_MAX_RANK];
  const nvt_arg a = nvt_attr(call, 0);
  const uint32_t own = nvt_sizes_of(t, x, dims), n = a.v.kind == NVT_LIST ? a.v.u.seq->n : 1;
  const uint32_t rank = own > n ? own : n;
  uint32_t m = 0;
  if (rank > NV_MAX_RANK) {
    nvt_error(t, a.pos, "rank %u is over the limit of %d", rank, NV_MAX_RANK);
    return nvt_poison();
  }
  for (uint32_t k = 0; k < rank; k++) {
    reps[k] = 1;
    if (k + n < rank) continue;
    const nvt_val v = a.v.kind == NVT_LIST ? a.v.u.seq->at[k + n - rank] : a.v;
    if (!is_count(t, &a, call, v, "an int or a list of counts")) return nvt_poison();
    reps[k] = v.u.i;
  }
  for (uint32_t k = 0; k < rank; k++) { /* an axis of repetitions before each axis that has some */
    const int64_t size = k + own < rank ? 1 : dims[k + own - rank];
    if (!nv_mul64(size, reps[k], &out[k])) out[k] = NVT_MAX_ELEMENTS + 1;
    if (reps[k] != 1 && size != 1) thin[m] = 1, wide[m++] = reps[k];
    thin[m] = size;
    wide[m++] = size == 1 ? reps[k] : size;
  }
  if (m > NV_MAX_RANK) {
    nvt_refuse(t, call->pos, "tile over %u axes", m);
    return nvt_poison();
  }
  nv_value v = nvt_reshaped(t, call, false, x, thin, m);
  v = nvt_repeated(t, call, false, v, wide, m);
  return nvt_done(nvt_reshaped(t, call, true, v, out, rank));
}

/* An axis twice behind itself, and of that as many elements from where the shift says. */
static nv_value roll_axis(nvt *t, const nvt_opcall *call, nv_value x, uint32_t axis, int64_t shift) {
  int64_t dims[NV_MAX_RANK], wide[NV_MAX_RANK + 1], first[NV_MAX_RANK] = {0};
  const uint32_t rank = nvt_sizes_of(t, x, dims);
  const int64_t n = dims[axis];
  const int64_t from = n ? ((-(shift % n)) % n + n) % n : 0;
  if (from == 0) return x;
  for (uint32_t k = 0; k <= rank; k++) wide[k] = k < axis ? dims[k] : k == axis ? 1 : dims[k - 1];
  nv_value v = nvt_reshaped(t, call, false, x, wide, rank + 1);
  wide[axis] = 2;
  v = nvt_repeated(t, call, false, v, wide, rank + 1);
  dims[axis] = 2 * n;
  v = nvt_reshaped(t, call, false, v, dims, rank);
  dims[axis] = n;
  first[axis] = from;
  return nvt_sliced(t, call, true, v, first, NULL, dims);
}

nvt_val nvt_roll(nvt *t, const nvt_opcall *call, nv_value x) {
  const nvt_arg a = nvt_attr(call, 0), b = nvt_attr(call, 1);
  int64_t axes[NV_MAX_RANK], shifts[NV_MAX_RANK], sum = 0, dims[NV_MAX_RANK];
  const uint32_t rank = nvt_sizes_of(t, x, dims), n = a.v.kind == NVT_LIST ? a.v.u.seq->n : 1;
  uint32_t naxes;
  for (uint32_t i = 0; i < n; i++) {
    const nvt_val v = a.v.kind == NVT_LIST ? a.v.u.seq->at[i] : a.v;
    if (v.kind != NVT_INT) return nvt_wrong_attr(t, call, 0, &a, "an int or a list of ints"), nvt_poison();
    const int64_t count = nv_shape_count(t->c, nv_shape_at(t->g, x));
    if (i < NV_MAX_RANK) shifts[i] = v.u.i;
    sum = count ? (sum + v.u.i % count) % count : 0;
  }
  if (b.v.kind == NVT_NONE) {
    const int64_t count = nv_shape_count(t->c, nv_shape_at(t->g, x));
    nv_value v = nvt_reshaped(t, call, false, x, &count, 1);
    if (v != NV_NONE) v = roll_axis(t, call, v, 0, sum);
    return nvt_done(nvt_reshaped(t, call, true, v, dims, rank));
  }
  if (!nvt_axes(t, call, 1, &b, rank, axes, &naxes)) return nvt_poison();
  if (a.v.kind == NVT_LIST && n != naxes) {
    nvt_error(t, a.pos, "roll: %u shifts for %u axes", n, naxes);
    return nvt_poison();
  }
  if (rank == NV_MAX_RANK) {
    nvt_refuse(t, call->pos, "roll of rank %u", rank);
    return nvt_poison();
  }
  for (uint32_t i = 0; i < naxes && x != NV_NONE; i++)
    x = roll_axis(t, call, x, (uint32_t)axes[i], a.v.kind == NVT_LIST ? shifts[i] : a.v.u.i);
  return nvt_done(x);
}

/* ---- grids ---- */

nvt_val nvt_meshgrid(nvt *t, const nvt_opcall *call) {
  nvt_val at[NV_MAX_OPERANDS];
  int64_t sizes[NV_MAX_OPERANDS], dims[NV_MAX_RANK];
  uint32_t n = 0;
  const nvt_arg sparse = nvt_attr(call, 0), indexing = call->attr[1];
  if (sparse.v.kind != NVT_BOOL) return nvt_wrong_attr(t, call, 0, &sparse, "true or false"), nvt_poison();
  const char *text = !indexing.given ? "xy" : indexing.v.kind == NVT_STRING ? nv_text(t->c, indexing.v.u.s) : "";
  if (strcmp(text, "xy") && strcmp(text, "ij")) {
    nvt_error(t, indexing.pos, "meshgrid: indexing must be 'xy' or 'ij', not %s", nvt_show(t, indexing.v));
    return nvt_poison();
  }
  nv_value v[NV_MAX_OPERANDS];
  for (; n < call->n && call->in[n].given; n++) {
    if ((v[n] = nvt_array_operand(t, &call->in[n])) == NV_NONE) return nvt_poison();
    if (nvt_sizes_of(t, v[n], dims) > 1) {
      nvt_error(t, call->in[n].pos, "meshgrid takes arrays of rank 1, not %s", nvt_show_array(t, v[n]));
      return nvt_poison();
    }
    sizes[n] = nv_shape_count(t->c, nv_shape_at(t->g, v[n]));
  }
  const bool swapped = *text == 'x' && n > 1;
  for (uint32_t i = 0; i < n; i++) {
    const uint32_t place = swapped && i < 2 ? 1 - i : i;
    int64_t own[NV_MAX_OPERANDS], all[NV_MAX_OPERANDS];
    for (uint32_t k = 0; k < n; k++) {
      own[k] = k == place ? sizes[i] : 1;
      all[k] = sizes[swapped && k < 2 ? 1 - k : k];
    }
    nv_value x = nvt_reshaped(t, call, sparse.v.u.b, v[i], own, n);
    if (!sparse.v.u.b) x = nvt_repeated(t, call, true, x, all, n);
    at[i] = nvt_done(x);
    if (at[i].kind != NVT_ARRAY) return nvt_poison();
  }
  return nvt_seq_make(t, NVT_LIST, at, NULL, n);
}

/* ---- diagonals ---- */

/* Diagonal offset of axes one and two, as the last axis: the square that holds it, every (n + 1)-th element. */
static nv_value diagonal_of(nvt *t, const nvt_opcall *call, bool last, nv_value x, int64_t offset, uint32_t one,
                            uint32_t two) {
  int64_t dims[NV_MAX_RANK], perm[NV_MAX_RANK], first[NV_MAX_RANK] = {0}, step[NV_MAX_RANK];
  const uint32_t rank = nvt_sizes_of(t, x, dims);
  uint32_t k = 0;
  bool moved = false;
  for (uint32_t i = 0; i < rank; i++)
    if (i != one && i != two) perm[k++] = i;
  perm[k++] = one;
  perm[k] = two;
  for (uint32_t i = 0; i < rank; i++) moved = moved || perm[i] != (int64_t)i;
  if (moved) x = nvt_transposed(t, call, false, x, perm);
  if (x == NV_NONE) return x;
  nvt_sizes_of(t, x, dims);
  const int64_t rows = dims[rank - 2], columns = dims[rank - 1];
  const int64_t down = offset < 0 ? (offset < -rows ? rows : -offset) : 0;
  const int64_t right = offset > 0 ? (offset > columns ? columns : offset) : 0;
  const int64_t n = rows - down < columns - right ? rows - down : columns - right;
  first[rank - 2] = down;
  first[rank - 1] = right;
  dims[rank - 2] = dims[rank - 1] = n;
  x = nvt_sliced(t, call, false, x, first, NULL, dims);
  dims[rank - 2] = n * n;
  x = nvt_reshaped(t, call, false, x, dims, rank - 1);
  for (uint32_t i = 0; i + 1 < rank; i++) first[i] = 0, step[i] = 1;
  step[rank - 2] = n + 1;
  dims[rank - 2] = n;
  return nvt_sliced(t, call, last, x, first, step, dims);
}

/* The diagonal of the first three attributes; NV_NONE: reported. */
static nv_value diagonal(nvt *t, const nvt_opcall *call, bool last, nv_value x) {
  const uint32_t rank = nv_shape_rank(t->c, nv_shape_at(t->g, x));
  int64_t offset;
  uint32_t one, two;
  if (rank < 2) {
    nvt_error(t, call->pos, "%s takes arrays of rank 2 or more, not %s", nv_ops[call->op].name, nvt_show_array(t, x));
    return NV_NONE;
  }
  if (!nvt_int_attr(t, call, 0, &offset) || !nvt_axis_attr(t, call, 1, rank, &one) ||
      !nvt_axis_attr(t, call, 2, rank, &two))
    return NV_NONE;
  if (one == two) {
    nvt_error(t, call->pos, "%s: axis1 and axis2 are both %u", nv_ops[call->op].name, one);
    return NV_NONE;
  }
  return diagonal_of(t, call, last, x, offset, one, two);
}

nvt_val nvt_diagonal(nvt *t, const nvt_opcall *call, nv_value x) { return nvt_done(diagonal(t, call, true, x)); }

nvt_val nvt_trace(nvt *t, const nvt_opcall *call, nv_value x) {
  const nv_value v = diagonal(t, call, false, x);
  nv_dtype d;
  if (v == NV_NONE || !nvt_dtype_attr(t, call, 3, nv_dtype_of(t->g, x), &d)) return nvt_poison();
  nvt_opcall sum = {.op = NV_OP_sum, .pos = call->pos, .root = call->root, .n = 1};
  sum.in[0] = (nvt_arg){nvt_done(nvt_converted(t, call, false, v, d)), NV_NONE, call->pos, true};
  sum.attr[0] = (nvt_arg){nvt_int(-1), NV_NONE, call->pos, true};
  return nvt_apply_op(t, &sum);
}

nvt_val nvt_diag(nvt *t, const nvt_opcall *call, nv_value x) {
  int64_t dims[NV_MAX_RANK], k, before[1], wide[2];
  const uint32_t rank = nvt_sizes_of(t, x, dims);
  if (!nvt_int_attr(t, call, 0, &k)) return nvt_poison();
  if (rank == 2) return nvt_done(diagonal_of(t, call, true, x, k, 0, 1));
  if (rank != 1) {
    nvt_error(t, call->pos, "diag takes arrays of rank 1 or 2, not %s", nvt_show_array(t, x));
    return nvt_poison();
  }
  const int64_t more = k < 0 ? (k < -NVT_MAX_ELEMENTS ? NVT_MAX_ELEMENTS : -k) : k;
  const int64_t n = more > NVT_MAX_ELEMENTS ? NVT_MAX_ELEMENTS : dims[0] + more;
  wide[0] = wide[1] = n;
  if (!nvt_check_shape(t, nv_shape_of_ints(t->c, wide, 2), call->pos)) return nvt_poison();
  const nvt_val zero = nvt_constant(t, nv_dtype_of(t->g, x), 0, call->pos, false);
  if (zero.kind != NVT_ARRAY) return zero;
  if (dims[0] == 0) return nvt_done(nvt_repeated(t, call, true, zero.u.v, wide, 2));
  /* k >= 0: element (i, i + k) is x[i]; else element (j - k, j) is x[j] */
  const int64_t row[2] = {k >= 0 ? n : 1, k >= 0 ? 1 : n};
  before[0] = 0;
  nv_value v = nvt_padded(t, call, false, x, before, &n);
  v = nvt_reshaped(t, call, false, v, row, 2);
  if (v == NV_NONE) return nvt_poison();
  return nvt_step(t, call, true, NV_OP_where, nvt_diagonal_mask(t, call, false, NV_OP_equal, n, n, k), nvt_array(v),
                  zero);
}
