/* region.c - counting the elements that slices leave of an array (region.h). */
#include "region.h"

enum {
  MOST_BOXES = 512,     /* that are compared pair by pair */
  MOST_WORK = 1 << 22 /* fragments of boxes that overlap, compared with a box */
};

static int64_t last_of(const nv_run *r) { return r->first + (r->n - 1) * r->step; }

bool nv_box_holds(const nv_run *a, const nv_run *b, uint32_t rank) {
  for (uint32_t k = 0; k < rank; k++)
    if (b[k].first < a[k].first || last_of(&b[k]) > last_of(&a[k]) || (b[k].first - a[k].first) % a[k].step ||
        (b[k].n > 1 && b[k].step % a[k].step))
      return false;
  return true;
}

int64_t nv_box_count(const nv_run *box, uint32_t rank) {
  int64_t n = 1;
  for (uint32_t k = 0; k < rank; k++) n *= box[k].n;
  return n;
}

/* ---- unions ---- */

/* Gives every run of an axis the same step, and its first as a quotient with the rest in place of the step: runs of
 * different rests don't meet. false: the steps differ. */
static bool make_even(nv_run *boxes, uint32_t n, uint32_t rank, uint32_t axis) {
  int64_t step = 0;
  for (uint32_t i = 0; i < n; i++) {
    const nv_run *r = &boxes[i * rank + axis];
    if (r->n == 1) continue;
    if (step && r->step != step) return false;
    step = r->step;
  }
  if (!step) step = 1;
  for (uint32_t i = 0; i < n; i++) {
    nv_run *r = &boxes[i * rank + axis];
    r->step = r->first % step;
    r->first /= step;
  }
  return true;
}

static bool is_apart(const nv_run *a, const nv_run *b, uint32_t rank) {
  for (uint32_t k = 0; k < rank; k++)
    if (a[k].step != b[k].step || a[k].first >= b[k].first + b[k].n || b[k].first >= a[k].first + a[k].n) return true;
  return false;
}

/* What a holds beside b, as boxes behind one another in out: at most two an axis. */
static uint32_t subtract(const nv_run *a, const nv_run *b, uint32_t rank, nv_run *out) {
  nv_run rest[NV_MAX_RANK];
  uint32_t n = 0;
  memcpy(rest, a, rank * sizeof *a);
  for (uint32_t k = 0; k < rank; k++) {
    const int64_t from = rest[k].first, to = from + rest[k].n, low = b[k].first, high = low + b[k].n;
    if (from < low) {
      memcpy(out + n * rank, rest, rank * sizeof *rest);
      out[n++ * rank + k].n = low - from;
    }
    if (high < to) {
      memcpy(out + n * rank, rest, rank * sizeof *rest);
      out[n * rank + k].first = high;
      out[n++ * rank + k].n = to - high;
    }
    rest[k].first = from > low ? from : low;
    rest[k].n = (to < high ? to : high) - rest[k].first;
  }
  return n;
}

/* Elements of the union of even boxes, or -1: too many fragments. Each box is taken, less those before it. */
static int64_t count_union(nv_ctx *c, const nv_run *boxes, uint32_t n, uint32_t rank) {
  nv_run *now = NULL, *next = NULL;
  uint32_t now_cap = 0, next_cap = 0;
  int64_t total = 0, work = 0;
  for (uint32_t i = 0; i < n && total >= 0; i++) {
    uint32_t nnow = 1;
    NV_GROW(c, now, now_cap, (size_t)rank + 1);
    memcpy(now, boxes + i * rank, rank * sizeof *now);
    for (uint32_t j = 0; j < i && nnow; j++) {
      uint32_t nnext = 0;
      for (uint32_t f = 0; f < nnow; f++) {
        NV_GROW(c, next, next_cap, ((size_t)nnext + 2 * rank + 1) * rank + 1);
        if (is_apart(now + f * rank, boxes + j * rank, rank))
          memcpy(next + nnext++ * rank, now + f * rank, rank * sizeof *now);
        else
          nnext += subtract(now + f * rank, boxes + j * rank, rank, next + nnext * rank);
      }
      nv_run *swap = now;
      const uint32_t cap = now_cap;
      now = next, now_cap = next_cap, nnow = nnext;
      next = swap, next_cap = cap;
      work += nnow;
      if (work > MOST_WORK) break;
    }
    for (uint32_t f = 0; f < nnow; f++) total += nv_box_count(now + f * rank, rank);
    if (work > MOST_WORK) total = -1;
  }
  nv_drop(c, now);
  nv_drop(c, next);
  return total;
}

void nv_boxes_count(nv_ctx *c, const nv_run *boxes, uint32_t n, uint32_t rank, int64_t *least, int64_t *most) {
  *least = *most = 0;
  for (uint32_t i = 0; i < n; i++) {
    const int64_t count = nv_box_count(boxes + i * rank, rank);
    if (count > *least) *least = count;
    if (!nv_add64(*most, count, most)) *most = INT64_MAX;
  }
  if (n < 2 || n > MOST_BOXES) return;
  nv_run *kept = NULL;
  uint32_t nkept = 0, cap = 0;
  NV_GROW(c, kept, cap, (size_t)n * rank + 1);
  for (uint32_t i = 0; i < n; i++) {
    const nv_run *b = boxes + i * rank;
    bool held = false;
    for (uint32_t j = 0; j < nkept && !held; j++) held = nv_box_holds(kept + j * rank, b, rank);
    if (held) continue;
    uint32_t m = 0;
    for (uint32_t j = 0; j < nkept; j++)
      if (!nv_box_holds(b, kept + j * rank, rank)) memmove(kept + m++ * rank, kept + j * rank, rank * sizeof *kept);
    memcpy(kept + m * rank, b, rank * sizeof *kept);
    nkept = m + 1;
  }
  *most = 0;
  for (uint32_t i = 0; i < nkept; i++)
    if (!nv_add64(*most, nv_box_count(kept + i * rank, rank), most)) *most = INT64_MAX;
  bool even = true;
  for (uint32_t k = 0; k < rank && even; k++) even = make_even(kept, nkept, rank, k);
  const int64_t count = even ? count_union(c, kept, nkept, rank) : -1;
  if (count >= 0) *least = *most = count;
  nv_drop(c, kept);
}

/* ---- reshapes ---- */

/* The run of a group of axes in row-major order that a box of these axes is; false: it isn't one. */
static bool join_runs(const nv_run *runs, const int64_t *dims, uint32_t n, nv_run *out) {
  int64_t stride = 1;
  *out = (nv_run){0, 1, 1};
  for (uint32_t k = n; k-- > 0; stride *= dims[k]) {
    const int64_t step = runs[k].step * stride;
    out->first += runs[k].first * stride;
    if (runs[k].n == 1) continue;
    if (out->n == 1)
      out->step = step;
    else if (step != out->step * out->n)
      return false;
    out->n *= runs[k].n;
  }
  return true;
}

/* The reverse: as much of a run as a box of the axes holds. false: nothing. */
static bool split_run(nv_run run, const int64_t *dims, uint32_t n, nv_run *out) {
  for (uint32_t k = n; k-- > 0;) {
    const int64_t d = dims[k];
    if (k == 0 || run.n == 1) {
      out[k] = (nv_run){k ? run.first % d : run.first, 1, 1};
      if (k) {
        run.first /= d;
        continue;
      }
      out[k].step = run.n > 1 ? run.step : 1;
      out[k].n = run.n;
    } else if (run.step % d == 0) {
      out[k] = (nv_run){run.first % d, 1, 1};
      run.first /= d;
      run.step /= d;
    } else if (run.first % d + (run.n - 1) * run.step < d) {
      out[k] = (nv_run){run.first % d, run.step, run.n};
      run = (nv_run){run.first / d, 1, 1};
    } else if (d % run.step == 0) { /* whole rows of it */
      const int64_t per = d / run.step, rest = run.first % d % run.step;
      const int64_t skip = (d - run.first % d + rest) % d / run.step;
      const int64_t rows = run.n > skip ? (run.n - skip) / per : 0;
      if (!rows) return false;
      out[k] = (nv_run){rest, run.step, per};
      run = (nv_run){(run.first + skip * run.step) / d, 1, rows};
    } else {
      return false;
    }
  }
  return true;
}

bool nv_box_reshape(nv_ctx *c, const nv_run *box, nv_shape to, nv_shape from, nv_run *out) {
  int64_t t[NV_MAX_RANK], f[NV_MAX_RANK];
  const uint32_t nt = nv_shape_rank(c, to), nf = nv_shape_rank(c, from);
  uint32_t i = 0, j = 0;
  for (uint32_t k = 0; k < nt; k++) t[k] = nv_dim_value(c, nv_shape_dims(c, to)[k]);
  for (uint32_t k = 0; k < nf; k++) f[k] = nv_dim_value(c, nv_shape_dims(c, from)[k]);
  while (i < nf || j < nt) { /* groups of axes that hold as many elements in both shapes */
    const uint32_t i0 = i, j0 = j;
    int64_t a = i < nf ? f[i++] : 1, b = j < nt ? t[j++] : 1;
    while (a != b) {
      if (a < b)
        a *= f[i++];
      else
        b *= t[j++];
    }
    nv_run run;
    if (!join_runs(box + j0, t + j0, j - j0, &run) || !split_run(run, f + i0, i - i0, out + i0)) {
      bool whole = true; /* or all of it */
      for (uint32_t k = j0; k < j; k++) whole = whole && box[k].n == t[k];
      if (!whole) return false;
      for (uint32_t k = i0; k < i; k++) out[k] = (nv_run){0, 1, f[k]};
    }
  }
  return true;
}

/* ---- offsets ---- */

typedef struct pace { /* a symbol's part in an offset: n steps of by elements */
  int64_t by, n;
} pace;

/* An offset as its least value and its paces by falling step, those that go on in each other joined. false: it isn't
 * a sum of multiples of the symbols. */
static bool paces_of(nv_ctx *c, nv_dim offset, const nv_dim *symbols, const int64_t *extents, uint32_t n, pace *p,
                     uint32_t *np, int64_t *base) {
  nv_dim rest = offset;
  *np = 0;
  *base = 0;
  for (uint32_t k = 0; k < n; k++) {
    int64_t by;
    if (!nv_dim_linear(c, rest, symbols[k], &by, &rest)) return false;
    if (by == 0 || extents[k] == 1) continue;
    if (by < 0) *base += by * (extents[k] - 1);
    uint32_t at = (*np)++;
    by = by < 0 ? -by : by;
    for (; at && p[at - 1].by < by; at--) p[at] = p[at - 1];
    p[at] = (pace){by, extents[k]};
  }
  int64_t constant;
  if (!nv_dim_is_const(c, rest, &constant)) return false;
  *base += constant;
  uint32_t m = 0;
  for (uint32_t k = 0; k < *np; k++) {
    if (m && p[m - 1].by == p[k].by * p[k].n)
      p[m - 1] = (pace){p[k].by, p[m - 1].n * p[k].n};
    else
      p[m++] = p[k];
  }
  *np = m;
  return true;
}

/* An offset as a box over axes of these strides (falling, the last is 1), total elements in all. A pace that no axis
 * takes drops a stride, which joins two axes: then *again. false: it is no box. */
static bool box_of(const pace *p, uint32_t np, int64_t base, int64_t *strides, uint32_t *n, int64_t total, nv_run *box,
                   bool *again) {
  for (uint32_t k = 0; k < *n; k++)
    box[k] = (nv_run){base / strides[k] % ((k ? strides[k - 1] : total) / strides[k]), 1, 1};
  for (uint32_t i = 0; i < np; i++) {
    uint32_t k = 0, drop = NV_NONE;
    while (strides[k] > p[i].by) k++;
    const int64_t size = (k ? strides[k - 1] : total) / strides[k];
    if (p[i].by % strides[k])
      drop = k;
    else if (box[k].first + p[i].by / strides[k] * (p[i].n - 1) >= size)
      drop = k - 1; /* not for the first axis: the offset lies inside */
    else if (box[k].n > 1)
      return false;
    if (drop != NV_NONE) {
      memmove(strides + drop, strides + drop + 1, (*n - drop - 1) * sizeof *strides);
      --*n;
      *again = true;
      return true;
    }
    box[k].step = p[i].by / strides[k];
    box[k].n = p[i].n;
  }
  return true;
}

int64_t nv_count_touched(nv_ctx *c, nv_shape s, const nv_dim *offsets, uint32_t noffsets, const nv_dim *symbols,
                         const int64_t *extents, uint32_t nsymbols) {
  const int64_t total = nv_shape_count(c, s);
  int64_t strides[NV_MAX_RANK + 1], stride = 1, least, most;
  uint32_t n = 0, cap = 0;
  strides[n++] = 1;
  for (uint32_t k = nv_shape_rank(c, s); k-- > 0;) {
    stride *= nv_dim_value(c, nv_shape_dims(c, s)[k]);
    if (stride != strides[n - 1] && stride < total) strides[n++] = stride;
  }
  for (uint32_t k = 0; k < n / 2; k++) {
    const int64_t swap = strides[k];
    strides[k] = strides[n - 1 - k];
    strides[n - 1 - k] = swap;
  }
  nv_run *boxes = NULL;
  NV_GROW(c, boxes, cap, (size_t)noffsets * n + 1);
  for (uint32_t i = 0; i < noffsets; i++) {
    pace p[NV_MAX_RANK];
    uint32_t np;
    int64_t base;
    bool again = false;
    if (!paces_of(c, offsets[i], symbols, extents, nsymbols, p, &np, &base) ||
        !box_of(p, np, base, strides, &n, total, boxes + i * n, &again)) {
      nv_drop(c, boxes);
      return total;
    }
    if (again) i = UINT32_MAX; /* from the start, over the joined axes */
  }
  nv_boxes_count(c, boxes, noffsets, n, &least, &most);
  nv_drop(c, boxes);
  return most < total ? most : total;
}
