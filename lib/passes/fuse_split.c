/* fuse_split.c - from a group of items to kernels within the target's limits.
 *
 * A group that fits becomes one kernel, its statements in graph order. One that only has too many results, of few
 * operands, becomes several kernels of some of the results each, which compute what they share again. Any other is put
 * in depth-first order from its results, which keeps few values open, and cut where the limits say so: each piece is
 * the longest run of items that fits. Pieces only read older pieces. */
#include "fuse.h"

enum { LOOK_AHEAD = 128 }; /* items tried behind the last place where a piece could end */

typedef struct piece { /* so far */
  uint32_t reads, writes; /* buffers */
  uint32_t open;          /* values that would have to be written if it ended here */
  uint32_t statements, live, peak;
} piece;

typedef struct splitter {
  nv_fuser *f;
  uint32_t group;
  uint32_t most;   /* statements of a kernel */
  uint32_t epoch;  /* of the group: f->memo_head[base] counts the reads of base that are still to come */
  uint32_t number; /* of the piece, from 1 */
  uint32_t mark;   /* of the piece: f->operand_mark[base] says that it is read */
  piece now;
} splitter;

static bool is_inside(const splitter *s, const nv_edge *d) {
  return d->kind == NV_EDGE_JOIN && s->f->items[d->item].group == s->group;
}

static bool is_written(const nv_item *w) { return w->stored || w->port != NV_NONE; }

/* Counts a read of base: the first in this piece is a statement and takes a buffer. */
static void read_base(splitter *s, nv_value base) {
  if (s->f->operand_mark[base] == s->mark) return;
  s->f->operand_mark[base] = s->mark;
  s->now.reads++;
  s->now.statements++;
  s->now.live++;
}

/* What a clone reads (at most 64 instructions: fuse.c). */
static void read_clone(splitter *s, const nv_edge *clone) {
  nv_fuser *f = s->f;
  uint32_t stack[256], n = 0;
  stack[n++] = clone->item;
  while (n) {
    const nv_item *u = &f->items[stack[--n]];
    for (uint32_t e = u->edges; e < u->edges + u->nedges; e++) {
      const nv_edge *d = &f->edges[e];
      if (d->kind == NV_EDGE_CONST) continue;
      if (d->kind == NV_EDGE_JOIN || d->kind == NV_EDGE_CLONE) {
        if (n == sizeof stack / sizeof *stack) nv_bug(f->c, "a clone is too large");
        stack[n++] = d->item;
        continue;
      }
      s->now.statements++;
      if (f->operand_mark[d->base] == s->mark) continue;
      f->operand_mark[d->base] = s->mark;
      s->now.reads++;
    }
  }
  s->now.statements += f->items[clone->item].ops;
}

static void place(splitter *s, uint32_t item) {
  nv_fuser *f = s->f;
  nv_item *w = &f->items[item];
  for (uint32_t e = w->edges; e < w->edges + w->nedges; e++) {
    const nv_edge *d = &f->edges[e];
    if (d->kind == NV_EDGE_CLONE) read_clone(s, d);
    else if (is_inside(s, d) ? f->items[d->item].piece != s->number : d->kind != NV_EDGE_CONST) read_base(s, d->base);
  }
  if (s->now.peak < s->now.live) s->now.peak = s->now.live;
  for (uint32_t e = w->edges; e < w->edges + w->nedges; e++) {
    const nv_edge *d = &f->edges[e];
    if (d->kind == NV_EDGE_CONST || d->kind == NV_EDGE_CLONE) continue;
    if (!is_inside(s, d)) {
      if (--f->memo_head[d->base] == 0) s->now.live--;
      continue;
    }
    nv_item *u = &f->items[d->item];
    if (--u->pending) continue;
    s->now.live--;
    if (u->piece == s->number && !is_written(u)) s->now.open--;
  }
  w->piece = s->number;
  s->now.statements += w->kind == NV_ITEM_OP || w->kind == NV_ITEM_PICK || w->kind == NV_ITEM_REDUCE;
  if (is_written(w)) s->now.writes++, s->now.statements++;
  else if (w->pending) s->now.open++;
  if (w->pending) s->now.live++;
  if (s->now.peak < s->now.live) s->now.peak = s->now.live;
}

/* Takes back what place() counted for what is still to come. */
static void take_back(splitter *s, uint32_t item) {
  nv_fuser *f = s->f;
  const nv_item *w = &f->items[item];
  for (uint32_t e = w->edges; e < w->edges + w->nedges; e++) {
    const nv_edge *d = &f->edges[e];
    if (d->kind == NV_EDGE_CONST || d->kind == NV_EDGE_CLONE) continue;
    if (is_inside(s, d)) f->items[d->item].pending++;
    else f->memo_head[d->base]++;
  }
}

/* Why the piece can't go on whatever comes; NV_WHY_NONE: it may. */
static nv_why is_over(const splitter *s) {
  const nv_target *t = s->f->c->target;
  if (s->now.reads + s->now.writes > s->f->max_buffers) return NV_WHY_BUFFERS;
  if (s->now.statements > s->most) return s->most < t->max_statements ? NV_WHY_UNROLLED : NV_WHY_STATEMENTS;
  return s->now.peak > t->max_live ? NV_WHY_LIVE : NV_WHY_NONE;
}

static bool may_end(const splitter *s) {
  return s->now.reads + s->now.writes + s->now.open <= s->f->max_buffers &&
         s->now.statements + s->now.open <= s->most;
}

/* The end of the piece that starts at start, and why it ends there. */
static uint32_t find_end(splitter *s, const uint32_t *items, uint32_t start, uint32_t n, nv_why *why) {
  uint32_t end = start, placed = start;
  nv_why over = NV_WHY_NONE;
  s->now = (piece){0};
  s->mark = ++s->f->epoch;
  while (placed < n && placed - end <= LOOK_AHEAD && over == NV_WHY_NONE) {
    place(s, items[placed++]);
    over = is_over(s);
    if (over == NV_WHY_NONE && may_end(s)) end = placed;
  }
  *why = end == n ? NV_WHY_NONE : over != NV_WHY_NONE ? over : NV_WHY_BUFFERS;
  if (end == start) end = start + 1; /* a single item always fits */
  while (placed > end) {
    take_back(s, items[--placed]);
    s->f->items[items[placed]].piece = 0;
  }
  return end;
}

/* Values held at once while each item is computed from what it reads, operand by operand, the one that holds most first
 * (Sethi and Ullman's numbers: exact for trees). Items in an order that respects their edges. */
static void count_held(splitter *s, const uint32_t *items, uint32_t n) {
  nv_fuser *f = s->f;
  for (uint32_t k = 0; k < n; k++) {
    nv_item *w = &f->items[items[k]];
    uint32_t most[3] = {0, 0, 0}, held = 1; /* of the operands, largest first */
    for (uint32_t e = w->edges; e < w->edges + w->nedges; e++) {
      const nv_edge *d = &f->edges[e];
      uint32_t x = d->kind == NV_EDGE_CONST ? 0 : is_inside(s, d) ? f->items[d->item].held : 1;
      for (uint32_t i = 0; i < 3; i++) {
        const uint32_t smaller = most[i] < x ? most[i] : x;
        most[i] = most[i] < x ? x : most[i];
        x = smaller;
      }
    }
    for (uint32_t i = 0; i < 3; i++)
      if (most[i] && most[i] + i > held) held = most[i] + i;
    w->held = (uint8_t)(held < UINT8_MAX ? held : UINT8_MAX);
  }
}

/* Depth first from the items that nothing in the group uses, in their order; operands before users, what holds most
 * first, of those the youngest: it tends to be the end of the longest chain. */
static void reorder(splitter *s, uint32_t *items, uint32_t n) {
  nv_fuser *f = s->f;
  nv_ctx *c = f->c;
  uint32_t used = ++f->epoch, done = ++f->epoch, nout = 0, depth = 0, cap = 0, out_cap = 0;
  uint32_t *stack = NULL, *out = nv_grow(c, NULL, &out_cap, n, sizeof *out);
  for (uint32_t k = 0; k < n; k++) {
    const nv_item *w = &f->items[items[k]];
    for (uint32_t e = w->edges; e < w->edges + w->nedges; e++)
      if (is_inside(s, &f->edges[e])) f->items[f->edges[e].item].mark = used;
  }
  for (uint32_t k = 0; k < n; k++) {
    if (f->items[items[k]].mark == used || f->items[items[k]].mark == done) continue;
    NV_GROW(c, stack, cap, 1);
    stack[depth++] = items[k];
    while (depth) {
      uint32_t top = stack[depth - 1], next = NV_NONE;
      nv_item *w = &f->items[top];
      w->mark = done;
      for (uint32_t e = w->edges; e < w->edges + w->nedges; e++) {
        const nv_edge *d = &f->edges[e];
        if (!is_inside(s, d) || f->items[d->item].mark == done) continue;
        const int more = next == NV_NONE ? 1 : (int)f->items[d->item].held - (int)f->items[next].held;
        if (more > 0 || (more == 0 && d->item > next)) next = d->item;
      }
      if (next == NV_NONE) {
        out[nout++] = top;
        depth--;
      } else {
        NV_GROW(c, stack, cap, (size_t)depth + 1);
        stack[depth++] = next;
      }
    }
  }
  if (nout != n) nv_bug(c, "a group's items depend on each other in a ring");
  memcpy(items, out, n * sizeof *out);
  nv_drop(c, out);
  nv_drop(c, stack);
}

static void split(nv_fuser *f, uint32_t *items, uint32_t n, uint32_t most) {
  splitter s = {.f = f, .group = f->items[items[0]].group, .most = most};
  count_held(&s, items, n);
  reorder(&s, items, n);
  s.epoch = ++f->epoch;
  for (uint32_t k = 0; k < n; k++) {
    const nv_item *w = &f->items[items[k]];
    for (uint32_t e = w->edges; e < w->edges + w->nedges; e++) {
      const nv_edge *d = &f->edges[e];
      if (d->kind == NV_EDGE_CONST || d->kind == NV_EDGE_CLONE) continue;
      if (is_inside(&s, d)) {
        f->items[d->item].pending++;
        continue;
      }
      if (f->memo_mark[d->base] != s.epoch) {
        f->memo_mark[d->base] = s.epoch;
        f->memo_head[d->base] = 0;
      }
      f->memo_head[d->base]++;
    }
  }
  struct end {
    uint32_t at;
    nv_why why;
  } *ends = NULL;
  uint32_t nends = 0, cap = 0;
  for (uint32_t at = 0; at < n; nends++) {
    NV_GROW(f->c, ends, cap, (size_t)nends + 1);
    s.number = nends + 1;
    at = ends[nends].at = find_end(&s, items, at, n, &ends[nends].why);
  }
  for (uint32_t k = 0; k < n; k++) {
    const nv_item *w = &f->items[items[k]];
    for (uint32_t e = w->edges; e < w->edges + w->nedges; e++) {
      nv_edge *d = &f->edges[e];
      if (!is_inside(&s, d) || f->items[d->item].piece == w->piece) continue;
      f->items[d->item].stored = true;
      d->why = (uint8_t)ends[f->items[d->item].piece - 1].why;
    }
  }
  for (uint32_t k = 0, at = 0; k < nends; at = ends[k++].at) {
    nv_kernel kernel = {0};
    nv_lower_rows(f, items + at, ends[k].at - at, &kernel);
    if (kernel.noperands > f->max_buffers) nv_bug(f->c, "a kernel has too many buffers");
    nv_add_kernel(f, &kernel);
  }
  nv_drop(f->c, ends);
}

/* Statements that a kernel may have: a row's loops are unrolled, up to 32 elements a thread. */
static uint32_t most_statements(nv_fuser *f, const uint32_t *items, uint32_t n) {
  enum { UNROLLED = 16384 };
  uint32_t most = f->c->target->max_statements, row = NV_NONE;
  for (uint32_t k = 0; k < n && row == NV_NONE; k++) row = nv_row_of(f, items[k]);
  if (row == NV_NONE) return most;
  uint32_t length = f->items[row].row_length, elements = 4 * (length >= 1024 ? 8 : (length + 127) / 128);
  return UNROLLED / elements < most ? UNROLLED / elements : most;
}

/* ---- by results ---- */

static int64_t operand_bytes(const nv_fuser *f, const nv_kernel *k, bool written) {
  int64_t bytes = 0;
  for (uint32_t i = 0; i < k->noperands; i++)
    if (k->operands[i].written == written)
      bytes += k->operands[i].elements < 0 ? nv_value_weight(f, k->operands[i].value)
                                           : k->operands[i].elements * nv_dtype_size[k->operands[i].dtype];
  return bytes;
}

/* Lowers those of n items that results [from, to) among them need, and stores these alone. */
static void lower_results(nv_fuser *f, const uint32_t *items, uint32_t n, uint32_t from, uint32_t to, nv_kernel *k) {
  struct result {
    bool stored;
    uint32_t port;
  } *kept = NV_NEW_N(f->c, struct result, n);
  uint32_t *list = NV_NEW_N(f->c, uint32_t, n), mark = ++f->epoch, group = f->items[items[0]].group, count = 0;
  for (uint32_t i = 0, number = 0; i < n; i++) {
    nv_item *w = &f->items[items[i]];
    kept[i] = (struct result){w->stored, w->port};
    if (!is_written(w)) continue;
    if (number >= from && number < to) w->mark = mark;
    else w->stored = false, w->port = NV_NONE;
    number++;
  }
  for (uint32_t i = n; i-- > 0;) { /* users before what they use */
    const nv_item *w = &f->items[items[i]];
    if (w->mark != mark) continue;
    list[n - ++count] = items[i];
    for (uint32_t e = w->edges; e < w->edges + w->nedges; e++) {
      const nv_edge *d = &f->edges[e];
      if (d->kind == NV_EDGE_JOIN && f->items[d->item].group == group) f->items[d->item].mark = mark;
    }
  }
  nv_lower_map(f, list + n - count, count, k);
  for (uint32_t i = 0; i < n; i++) {
    f->items[items[i]].stored = kept[i].stored;
    f->items[items[i]].port = kept[i].port;
  }
}

static bool fits(const nv_fuser *f, const nv_kernel *k, uint32_t statements) {
  const nv_target *t = f->c->target;
  return k->noperands <= f->max_buffers && nv_kernel_statements(k) <= statements && k->live <= t->max_live;
}

/* Of a group that has too many results in one kernel (whole), several kernels of some of them each, where reading the
 * operands again moves at most half as many bytes more, and at most as many statements as one kernel may have are
 * computed again. */
static bool split_by_results(nv_fuser *f, const uint32_t *items, uint32_t n, const nv_kernel *whole) {
  enum { MOST = 8 };
  const nv_target *t = f->c->target;
  nv_kernel parts[MOST];
  uint32_t reads = 0, results = 0;
  const int64_t read = operand_bytes(f, whole, false), written = operand_bytes(f, whole, true);
  for (uint32_t i = 0; i < whole->noperands; i++) reads += !whole->operands[i].written;
  for (uint32_t i = 0; i < n; i++) {
    if (f->items[items[i]].kept && f->items[items[i]].node != NV_NONE) return false;
    results += is_written(&f->items[items[i]]);
  }
  if (reads >= f->max_buffers || whole->live > t->max_live) return false;
  const uint32_t most = f->max_buffers - reads, number = (results + most - 1) / most;
  if (number < 2 || number > MOST || 2 * (number - 1) * read > read + written) return false;
  if ((number - 1) * nv_kernel_statements(whole) > t->max_statements) return false;
  bool good = true;
  uint32_t made = 0;
  for (; made < number && good; made++) {
    parts[made] = (nv_kernel){0};
    lower_results(f, items, n, results * made / number, results * (made + 1) / number, &parts[made]);
    good = fits(f, &parts[made], t->max_statements);
  }
  for (uint32_t i = 0; i < made; i++)
    if (good) nv_add_kernel(f, &parts[i]);
    else nv_kernel_drop(f->c, &parts[i]);
  return good;
}

void nv_split_group(nv_fuser *f, uint32_t *items, uint32_t n) {
  const uint32_t most = most_statements(f, items, n);
  if (n <= most) {
    nv_kernel k = {0};
    uint32_t ncuts = f->plan->ncuts;
    nv_lower_rows(f, items, n, &k);
    if (fits(f, &k, most)) {
      nv_add_kernel(f, &k);
      return;
    }
    f->plan->ncuts = ncuts;
    const bool done = split_by_results(f, items, n, &k);
    nv_kernel_drop(f->c, &k);
    if (done) return;
    f->plan->ncuts = ncuts;
  }
  split(f, items, n, most);
}
