/* trace_map.c - tracing: map statements, which walk trees of one form together, leaf by leaf. */
#include "trace.h"

struct nvt_map {
  const nv_stmt *s;
  uint32_t ntrees, nleaves, nyields;
  nvt_val *trees;
  nvt_val *leaves;  /* leaf by leaf, ntrees each */
  nvt_val *results; /* leaf by leaf, nyields each */
  uint32_t *source; /* of a yield: the tree that gives the form, and the leaf where the condition fails */
};

/* ---- forms ---- */

typedef struct place { /* on the way to a leaf, for messages */
  uint32_t up, at;     /* index of the place above, NV_NONE: a root; child's number */
  nv_str name;         /* or NV_NONE: a list's element */
} place;

typedef struct walker {
  nvt *t;
  nvt_map *m;
  place *places; uint32_t nplaces, places_cap;
  nvt_val *rows; uint32_t nrows, rows_cap; /* open: ntrees values each */
  uint32_t *of, of_cap;                    /* place of each row */
  uint32_t leaves_cap;
} walker;

static nv_ast binding(const nvt *t, const nvt_map *m, uint32_t k) {
  nv_ast a = m->s->bindings;
  while (k--) a = nvt_at(t, a)->next;
  return a;
}

/* ".layers[3].w" */
static const char *path_text(const walker *w, uint32_t at) {
  uint32_t *chain = NULL, n = 0, cap = 0;
  nv_buf b;
  nv_buf_init(&b, w->t->c);
  for (; w->places[at].up != NV_NONE; at = w->places[at].up) {
    NV_GROW(w->t->c, chain, cap, (size_t)n + 1);
    chain[n++] = at;
  }
  while (n) {
    const place *p = &w->places[chain[--n]];
    if (p->name == NV_NONE)
      nv_printf(&b, "[%u]", p->at);
    else
      nv_printf(&b, ".%s", nv_text(w->t->c, p->name));
  }
  nv_drop(w->t->c, chain);
  return nv_buf_text(&b);
}

static bool differ(walker *w, uint32_t at, uint32_t k, nvt_val first, nvt_val other) {
  nvt *t = w->t;
  const nv_ast_node *a = nvt_at(t, binding(t, w->m, 0)), *b = nvt_at(t, binding(t, w->m, k));
  if (first.kind == NVT_TREE && other.kind == NVT_TREE && first.variant == other.variant) {
    const nvt_seq *x = first.u.seq, *y = other.u.seq;
    for (uint32_t i = 0; i < x->n + y->n; i++) {
      const nv_str field = i < x->n ? x->names[i] : y->names[i - x->n];
      if (nvt_field(t, i < x->n ? y : x, field) != NV_NONE) continue;
      nvt_error(t, b->pos, "map: '%s' and '%s' aren't of one form: %s%s has no field '%s'", nv_text(t->c, a->text),
                nv_text(t->c, b->text), nv_text(t->c, (i < x->n ? b : a)->text), path_text(w, at),
                nv_text(t->c, field));
      return false;
    }
  }
  nvt_error(t, b->pos, "map: '%s' and '%s' aren't of one form: %s%s is %s, %s%s is %s", nv_text(t->c, a->text),
            nv_text(t->c, b->text), nv_text(t->c, a->text), path_text(w, at), nvt_show_form(t, first),
            nv_text(t->c, b->text), path_text(w, at), nvt_show_form(t, other));
  return false;
}

static void push_row(walker *w, uint32_t up, uint32_t at, nv_str name) {
  NV_GROW(w->t->c, w->places, w->places_cap, (size_t)w->nplaces + 1);
  w->places[w->nplaces] = (place){up, at, name};
  NV_GROW(w->t->c, w->rows, w->rows_cap, ((size_t)w->nrows + 1) * w->m->ntrees);
  NV_GROW(w->t->c, w->of, w->of_cap, (size_t)w->nrows + 1);
  w->of[w->nrows++] = w->nplaces++;
}

/* Is a place that holds no array in any tree a static field, which is part of the form? */
static bool is_fixed(const nvt_val *row, uint32_t n) {
  for (uint32_t k = 0; k < n; k++)
    if (row[k].kind == NVT_ARRAY) return false;
  for (uint32_t k = 0; k < n; k++)
    if (row[k].fixed || !nvt_is_number(row[k])) return true;
  return false;
}

static bool same_fixed(nvt_val a, nvt_val b) {
  if (a.kind != b.kind) return false;
  switch (a.kind) {
  case NVT_INT: return a.u.i == b.u.i;
  case NVT_FLOAT: return !memcmp(&a.u.f, &b.u.f, sizeof a.u.f);
  case NVT_BOOL: return a.u.b == b.u.b;
  case NVT_STRING: return a.u.s == b.u.s;
  default: return false;
  }
}

static bool same_form(nvt_val a, nvt_val b) {
  if (a.variant != b.variant) return false;
  const bool tree = nvt_is_seq(a);
  if (!tree) return !nvt_is_seq(b);
  if (a.kind != b.kind || a.u.seq->n != b.u.seq->n) return false;
  return a.kind != NVT_TREE || !a.u.seq->n ||
         !memcmp(a.u.seq->names, b.u.seq->names, a.u.seq->n * sizeof *a.u.seq->names);
}

/* The leaves of all trees, depth first; false: reported. */
static bool list_leaves(walker *w) {
  nvt *t = w->t;
  nvt_map *m = w->m;
  const uint32_t n = m->ntrees;
  nvt_val *row = NV_NEW_N(t->c, nvt_val, n);
  push_row(w, NV_NONE, 0, NV_NONE);
  memcpy(w->rows, m->trees, n * sizeof *row);
  while (w->nrows) {
    const uint32_t at = w->of[--w->nrows];
    memcpy(row, w->rows + (size_t)w->nrows * n, n * sizeof *row);
    for (uint32_t k = 1; k < n; k++)
      if (!same_form(row[0], row[k])) return differ(w, at, k, row[0], row[k]);
    if (nvt_is_seq(row[0])) {
      const nvt_seq *s = row[0].u.seq;
      for (uint32_t i = s->n; i-- > 0;) {
        push_row(w, at, i, row[0].kind == NVT_TREE ? s->names[i] : NV_NONE);
        for (uint32_t k = 0; k < n; k++) w->rows[(size_t)(w->nrows - 1) * n + k] = row[k].u.seq->at[i];
      }
      continue;
    }
    const bool fixed = is_fixed(row, n);
    for (uint32_t k = 0; k < n; k++)
      if (fixed ? !same_fixed(row[0], row[k]) : row[k].kind != NVT_ARRAY && !nvt_is_number(row[k]))
        return differ(w, at, k, row[0], row[k]);
    if (fixed) continue;
    NV_GROW(t->c, m->leaves, w->leaves_cap, ((size_t)m->nleaves + 1) * n);
    memcpy(m->leaves + (size_t)m->nleaves++ * n, row, n * sizeof *row);
  }
  return true;
}

/* ---- results ---- */

typedef struct level {
  nvt_val form;
  uint32_t next, vals;
} level;

/* The form of a yield's tree with the results as its leaves. */
static nvt_val build(nvt *t, const nvt_map *m, uint32_t yield) {
  level *levels = NULL;
  uint32_t n = 0, cap = 0, leaf = 0, column = m->source[yield];
  nvt_val next = m->trees[column];
  for (;;) {
    if (nvt_is_seq(next)) {
      NV_GROW(t->c, levels, cap, (size_t)n + 1);
      levels[n++] = (level){next, 0, t->nvals};
    } else {
      const bool fixed = leaf >= m->nleaves || next.kind == NVT_STRING || next.fixed;
      nvt_push(t, fixed ? next : m->results[(size_t)leaf++ * m->nyields + yield]);
    }
    while (n && levels[n - 1].next == levels[n - 1].form.u.seq->n) {
      const level *l = &levels[--n];
      nvt_val made = nvt_seq_make(t, l->form.kind, t->vals + l->vals, l->form.u.seq->names, l->form.u.seq->n);
      made.variant = l->form.variant;
      t->nvals = l->vals;
      nvt_push(t, made);
    }
    if (!n) break;
    next = levels[n - 1].form.u.seq->at[levels[n - 1].next++];
  }
  nv_drop(t->c, levels);
  return nvt_pop(t);
}

static nv_ast yield_path(const nvt *t, nv_ast yield) { return nvt_at(t, nvt_at(t, yield)->first)->next; }

static void bind_yields(nvt *t, const nvt_map *m, bool poison) {
  uint32_t k = 0;
  for (nv_ast y = m->s->yields; y != NV_NONE; y = nvt_at(t, y)->next, k++)
    nvt_bind_path(t, yield_path(t, y), poison ? nvt_poison() : build(t, m, k));
}

/* ---- the walk ---- */

void nvt_start_map(nvt *t, const nv_stmt *s) {
  nvt_map *m = NV_NEW(t->c, nvt_map);
  bool poison = false;
  m->s = s;
  for (nv_ast b = s->bindings; b != NV_NONE; b = nvt_at(t, b)->next) m->ntrees++;
  for (nv_ast y = s->yields; y != NV_NONE; y = nvt_at(t, y)->next) m->nyields++;
  m->trees = NV_NEW_N(t->c, nvt_val, m->ntrees);
  t->nvals -= m->ntrees;
  memcpy(m->trees, t->vals + t->nvals, m->ntrees * sizeof *m->trees);
  for (uint32_t k = 0; k < m->ntrees; k++) {
    poison = poison || nvt_is_poison(m->trees[k]);
    if (m->trees[k].kind == NVT_LIST || m->trees[k].kind == NVT_TREE || m->trees[k].kind == NVT_ARRAY) continue;
    if (!nvt_is_poison(m->trees[k]))
      nvt_error(t, nvt_at(t, binding(t, m, k))->pos, "map: '%s' is a tree, not %s",
                nv_text(t->c, nvt_at(t, binding(t, m, k))->text), nvt_show(t, m->trees[k]));
    poison = true;
  }
  walker w = {.t = t, .m = m};
  poison = poison || !list_leaves(&w);
  nv_drop(t->c, w.places);
  nv_drop(t->c, w.rows);
  nv_drop(t->c, w.of);
  t->iterations += m->nleaves;
  if (t->iterations > NVT_MAX_ITERATIONS) {
    nvt_error(t, s->pos, "more than %lld iterations", (long long)NVT_MAX_ITERATIONS);
    t->stop = poison = true;
  }
  if (poison) {
    bind_yields(t, m, true);
    return;
  }
  m->results = NV_NEW_N(t->c, nvt_val, (size_t)m->nleaves * m->nyields + 1);
  m->source = NV_NEW_N(t->c, uint32_t, m->nyields);
  nv_str *paths = NV_NEW_N(t->c, nv_str, m->ntrees);
  uint32_t y = 0, k = 0;
  for (nv_ast b = s->bindings; b != NV_NONE; b = nvt_at(t, b)->next)
    paths[k++] = nvt_path_name(t, nvt_at(t, b)->first);
  for (nv_ast a = s->yields; a != NV_NONE; a = nvt_at(t, a)->next, y++) {
    const nv_str path = nvt_path_name(t, yield_path(t, a));
    while (k-- > 0)
      if (paths[k] == path) m->source[y] = k;
    k = m->ntrees;
  }
  nvt_do_work(t, NVT_MAP_NEXT, NV_NONE, 0, m);
}

void nvt_next_of_map(nvt *t, const nvt_map *m, uint32_t i) {
  if (t->stop) return;
  if (i == m->nleaves) {
    bind_yields(t, m, false);
    return;
  }
  const nvt_val *row = m->leaves + (size_t)i * m->ntrees;
  const nv_ast where = m->s->expr;
  nvt_do_work(t, NVT_MAP_NEXT, NV_NONE, i + 1, m);
  nvt_scope_push(t);
  uint32_t k = 0;
  for (nv_ast b = m->s->bindings; b != NV_NONE; b = nvt_at(t, b)->next)
    nvt_bind(t, nvt_at(t, b)->text, row[k++], nvt_at(t, b)->pos);
  nvt_do_work(t, NVT_MAP_WHERE, NV_NONE, i, m);
  if (where == NV_NONE)
    nvt_push(t, nvt_bool(true));
  else if (nvt_at(t, where)->kind == NV_AST_NAME && !strcmp(nv_text(t->c, nvt_at(t, where)->text), "trainable"))
    nvt_push(t, nvt_bool(!row[0].frozen));
  else
    nvt_do_work(t, NVT_EVAL, where, 0, NULL);
}

/* The condition of leaf i lies on the stack. */
void nvt_where_of_map(nvt *t, const nvt_map *m, uint32_t i) {
  const nvt_val v = nvt_pop(t);
  nvt_val *results = m->results + (size_t)i * m->nyields;
  bool poison = nvt_is_poison(v) || (v.kind == NVT_SIZE && !nvt_known(t, v, nvt_at(t, m->s->expr)->pos));
  if (!poison && (v.kind == NVT_ARRAY || nvt_is_seq(v))) {
    nvt_error(t, nvt_at(t, m->s->expr)->pos, "where is static, not %s", nvt_show(t, v));
    poison = true;
  }
  if (!poison && nvt_truth(v)) {
    nvt_do_work(t, NVT_MAP_LEAF, NV_NONE, i, m);
    if (m->s->then_) nvt_do_work(t, NVT_BLOCK, NV_NONE, 0, m->s->then_);
    return;
  }
  for (uint32_t y = 0; y < m->nyields; y++)
    results[y] = poison ? nvt_poison() : m->leaves[(size_t)i * m->ntrees + m->source[y]];
  nvt_scope_pop(t);
}

/* Leaf i is computed: its results are taken by name. */
void nvt_leaf_of_map(nvt *t, const nvt_map *m, uint32_t i) {
  uint32_t y = 0;
  for (nv_ast a = m->s->yields; a != NV_NONE; a = nvt_at(t, a)->next, y++) {
    const nv_ast_node *name = nvt_at(t, nvt_at(t, a)->first);
    const nvt_binding *b = nvt_find(t, name->text);
    nvt_val v = b ? b->value : nvt_poison();
    if (!b)
      nvt_error(t, name->pos, "unknown name '%s'%s", nv_text(t->c, name->text),
                nvt_suggest(t, name->text, true, NULL, 0));
    else if (!nvt_is_poison(v) && v.kind != NVT_ARRAY && !nvt_is_number(v)) {
      nvt_error(t, name->pos, "yield: a leaf is an array, not %s", nvt_show(t, v));
      v = nvt_poison();
    }
    v.frozen = m->leaves[(size_t)i * m->ntrees + m->source[y]].frozen;
    v.fixed = false;
    v.variant = m->leaves[(size_t)i * m->ntrees + m->source[y]].variant;
    m->results[(size_t)i * m->nyields + y] = v;
  }
  nvt_scope_pop(t);
}
