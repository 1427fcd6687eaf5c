/* dim_walk.c - what goes through whole size expressions: replacing symbols, evaluation, occurrence, printing. */
#include "dim_table.h"

#include <stdlib.h>

/* ---- walks over an expression ---- */

static int compare_ids(const void *a, const void *b) {
  uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
  return (x > y) - (x < y);
}

/* Puts the atoms of d that are not marked yet behind the walk's, each once, and marks them. */
static void walk_add(nv_ctx *c, nv_dim d) {
  struct nv_dims *t = c->dims;
  const dim_rec *r = &t->dims[d];
  for (uint32_t k = 0; k < r->n; k++) {
    const product_rec *p = &t->products[r->terms[k].product];
    for (uint32_t i = 0; i < p->n; i++) {
      atom_rec *a = t->atoms[p->atoms[i]];
      if (a->epoch == t->epoch) continue;
      a->epoch = t->epoch;
      NV_GROW(c, t->walk, t->walk_cap, (size_t)t->nwalk + 1);
      t->walk[t->nwalk++] = p->atoms[i];
    }
  }
}

/* A new walk: all marks are gone. */
static void walk_start(nv_ctx *c) {
  struct nv_dims *t = c->dims;
  t->nwalk = 0;
  if (++t->epoch != 0) return;
  for (uint32_t k = 0; k < t->natoms; k++) t->atoms[k]->epoch = 0; /* the counter came round */
  t->epoch = 1;
}

/* What lies under the walk's atoms. */
static void walk_down(nv_ctx *c) {
  struct nv_dims *t = c->dims;
  for (uint32_t k = 0; k < t->nwalk; k++) {
    const nv_atom *a = &t->atoms[t->walk[k]]->atom;
    if (a->kind == NV_ATOM_SYMBOL) continue;
    walk_add(c, a->a);
    walk_add(c, a->b);
  }
}

/* All atoms in d, operands before users. */
static void walk_all(nv_ctx *c, nv_dim d) {
  walk_start(c);
  walk_add(c, d);
  walk_down(c);
  if (c->dims->nwalk > 1) qsort(c->dims->walk, c->dims->nwalk, sizeof *c->dims->walk, compare_ids);
}

static atom_rec *symbol_of(nv_ctx *c, nv_dim symbol) {
  uint32_t atom = nv_atom_alone(c, symbol);
  if (atom == NV_NONE || c->dims->atoms[atom]->atom.kind != NV_ATOM_SYMBOL) nv_bug(c, "a size is no symbol");
  return c->dims->atoms[atom];
}

/* d with every atom replaced by results[its slot]. */
static nv_dim rebuild(nv_ctx *c, nv_dim d, const nv_dim *results) {
  struct nv_dims *t = c->dims;
  const dim_rec r = t->dims[d];
  nv_dim few[16], *values = r.n <= 16 ? few : NV_NEW_N(c, nv_dim, r.n);
  for (uint32_t k = 0; k < r.n; k++) {
    const product_rec p = t->products[r.terms[k].product];
    values[k] = p.n ? results[t->atoms[p.atoms[0]]->slot] : nv_dim_const(c, 1);
    for (uint32_t i = 1; i < p.n; i++)
      values[k] = nv_dim_mul(c, values[k], results[t->atoms[p.atoms[i]]->slot]);
  }
  nv_sum_start(c);
  for (uint32_t k = 0; k < r.n; k++) nv_sum_add_dim(c, values[k], r.terms[k].coef);
  return nv_sum_end(c);
}

nv_dim nv_dim_replace(nv_ctx *c, nv_dim d, const nv_dim *from, const nv_dim *to, uint32_t n) {
  struct nv_dims *t = c->dims;
  uint64_t symbols = 0;
  for (uint32_t k = 0; k < n; k++) symbols |= symbol_of(c, from[k])->symbols;
  if (!(t->dims[d].symbols & symbols)) return d;
  walk_all(c, d);
  uint32_t natoms = t->nwalk;
  uint32_t few_atoms[32], *atoms = natoms <= 32 ? few_atoms : NV_NEW_N(c, uint32_t, natoms);
  nv_dim few[32], *results = natoms <= 32 ? few : NV_NEW_N(c, nv_dim, natoms);
  memcpy(atoms, t->walk, natoms * sizeof *atoms);
  for (uint32_t k = 0; k < natoms; k++) {
    t->atoms[atoms[k]]->slot = k;
    results[k] = NV_NONE;
  }
  for (uint32_t k = n; k-- > 0;) { /* the first of two equal ones counts */
    const atom_rec *a = symbol_of(c, from[k]);
    if (a->epoch == t->epoch) results[a->slot] = to[k];
  }
  for (uint32_t k = 0; k < natoms; k++) {
    const nv_atom a = t->atoms[atoms[k]]->atom;
    if (results[k] != NV_NONE) continue;
    if (!(t->atoms[atoms[k]]->symbols & symbols)) {
      results[k] = nv_dim_of_atom(c, atoms[k]);
      continue;
    }
    if (a.kind == NV_ATOM_SYMBOL) {
      results[k] = nv_dim_of_atom(c, atoms[k]);
      continue;
    }
    nv_dim x = rebuild(c, a.a, results), y = rebuild(c, a.b, results);
    switch (a.kind) {
    case NV_ATOM_FLOORDIV: results[k] = nv_dim_floordiv(c, x, y); break;
    case NV_ATOM_MOD: results[k] = nv_dim_mod(c, x, y); break;
    case NV_ATOM_MIN: results[k] = nv_dim_min(c, x, y); break;
    case NV_ATOM_MAX: results[k] = nv_dim_max(c, x, y); break;
    default: results[k] = nv_dim_bcast(c, x, y); break;
    }
  }
  return rebuild(c, d, results);
}

/* Value of d from those of its atoms. */
static bool evaluate(const nv_ctx *c, nv_dim d, const int64_t *values, int64_t *out) {
  const struct nv_dims *t = c->dims;
  const dim_rec *r = &t->dims[d];
  int64_t sum = 0;
  for (uint32_t k = 0; k < r->n; k++) {
    const product_rec *p = &t->products[r->terms[k].product];
    int64_t v = r->terms[k].coef;
    for (uint32_t i = 0; i < p->n; i++)
      if (!nv_mul64(v, values[t->atoms[p->atoms[i]]->slot], &v)) return false;
    if (!nv_add64(sum, v, &sum)) return false;
  }
  *out = sum;
  return true;
}

static bool evaluate_atom(nv_atom_kind kind, int64_t a, int64_t b, int64_t *out) {
  switch (kind) {
  case NV_ATOM_FLOORDIV:
  case NV_ATOM_MOD: {
    if (b == 0 || (b == -1 && a == INT64_MIN)) return false;
    int64_t quotient = a / b, rest = a % b;
    bool down = rest != 0 && (rest < 0) != (b < 0);
    *out = kind == NV_ATOM_FLOORDIV ? quotient - down : rest + (down ? b : 0);
    return true;
  }
  case NV_ATOM_MIN: *out = a < b ? a : b; return true;
  case NV_ATOM_MAX: *out = a > b ? a : b; return true;
  default: *out = a == 1 ? b : a; return a == b || a == 1 || b == 1;
  }
}

bool nv_dim_eval(nv_ctx *c, nv_dim d, const nv_dim *symbols, const int64_t *values, uint32_t n,
                 int64_t *out) {
  struct nv_dims *t = c->dims;
  walk_all(c, d);
  int64_t few[32], *results = t->nwalk <= 32 ? few : NV_NEW_N(c, int64_t, t->nwalk);
  bool few_given[32], *given = t->nwalk <= 32 ? few_given : NV_NEW_N(c, bool, t->nwalk);
  for (uint32_t k = 0; k < t->nwalk; k++) {
    t->atoms[t->walk[k]]->slot = k;
    given[k] = false;
  }
  for (uint32_t k = n; k-- > 0;) {
    const atom_rec *a = symbol_of(c, symbols[k]);
    if (a->epoch != t->epoch) continue;
    results[a->slot] = values[k];
    given[a->slot] = true;
  }
  for (uint32_t k = 0; k < t->nwalk; k++) {
    const nv_atom *a = &t->atoms[t->walk[k]]->atom;
    int64_t x, y;
    if (a->kind == NV_ATOM_SYMBOL) {
      if (!given[k]) return false;
    } else if (!evaluate(c, a->a, results, &x) || !evaluate(c, a->b, results, &y) ||
               !evaluate_atom(a->kind, x, y, &results[k])) {
      return false;
    }
  }
  return evaluate(c, d, results, out);
}

bool nv_dim_uses(nv_ctx *c, nv_dim d, nv_dim symbol) {
  struct nv_dims *t = c->dims;
  const atom_rec *s = symbol_of(c, symbol);
  if (!(t->dims[d].symbols & s->symbols)) return false;
  walk_start(c);
  walk_add(c, d);
  for (uint32_t k = 0; k < t->nwalk; k++) {
    const atom_rec *a = t->atoms[t->walk[k]];
    if (a == s) return true;
    if (a->atom.kind == NV_ATOM_SYMBOL || !(a->symbols & s->symbols)) continue;
    walk_add(c, a->atom.a);
    walk_add(c, a->atom.b);
  }
  return false;
}

typedef struct named {
  const char *name;
  nv_dim symbol;
} named;

static int compare_names(const void *a, const void *b) {
  return strcmp(((const named *)a)->name, ((const named *)b)->name);
}

uint32_t nv_dim_symbols(nv_ctx *c, const nv_dim *dims, uint32_t n, const nv_dim **symbols) {
  struct nv_dims *t = c->dims;
  walk_start(c);
  for (uint32_t k = 0; k < n; k++) walk_add(c, dims[k]);
  walk_down(c);
  named *found = NV_NEW_N(c, named, t->nwalk);
  uint32_t nfound = 0;
  for (uint32_t k = 0; k < t->nwalk; k++) {
    const nv_atom *a = &t->atoms[t->walk[k]]->atom;
    if (a->kind == NV_ATOM_SYMBOL)
      found[nfound++] = (named){nv_text(c, a->name), nv_dim_of_atom(c, t->walk[k])};
  }
  qsort(found, nfound, sizeof *found, compare_names);
  nv_dim *list = NV_NEW_N(c, nv_dim, nfound);
  for (uint32_t k = 0; k < nfound; k++) list[k] = found[k].symbol;
  *symbols = list;
  return nfound;
}

/* ---- printing ---- */

/* Letters, digits and _, with dots where they are allowed, as they are; everything else as a JSON string. */
static void put_word(nv_buf *b, nv_str name, bool dots) {
  const char *p = nv_text(b->c, name);
  size_t n = nv_text_len(b->c, name);
  bool plain = n > 0 && !(p[0] >= '0' && p[0] <= '9') && p[0] != '.';
  for (size_t k = 0; k < n && plain; k++)
    plain = (p[k] >= 'a' && p[k] <= 'z') || (p[k] >= 'A' && p[k] <= 'Z') || (p[k] >= '0' && p[k] <= '9') ||
            p[k] == '_' || (dots && p[k] == '.');
  if (plain)
    nv_put(b, p, n);
  else
    nv_put_json(b, p, n);
}

void nv_put_name(nv_buf *b, nv_str name) { put_word(b, name, false); }

/* What is still to be printed, last first. */
typedef enum piece_kind {
  TEXT,
  WHOLE /* a dim */,
  OPERAND /* a dim, bracketed unless simple */,
  TERM,
  ATOM,
  FACTOR
} piece_kind;
typedef struct piece {
  piece_kind kind;
  uint32_t id, k; /* dim or atom; TERM: which of the dim's */
  const char *text;
} piece;
typedef struct pieces {
  nv_ctx *c;
  piece *p;
  uint32_t n, cap;
} pieces;

static void later(pieces *s, piece_kind kind, uint32_t id, uint32_t k, const char *text) {
  NV_GROW(s->c, s->p, s->cap, (size_t)s->n + 1);
  s->p[s->n++] = (piece){kind, id, k, text};
}

static void put_term(nv_buf *b, pieces *s, nv_dim d, uint32_t k) {
  const struct nv_dims *t = s->c->dims;
  const term *m = &t->dims[d].terms[k];
  const product_rec *p = &t->products[m->product];
  bool negative = m->coef < 0;
  uint64_t size = negative ? 0 - (uint64_t)m->coef : (uint64_t)m->coef;
  nv_puts(b, k == 0 ? (negative ? "-" : "") : negative ? " - " : " + ");
  if (p->n == 0 || size != 1) nv_printf(b, "%llu%s", (unsigned long long)size, p->n ? "*" : "");
  bool factor = p->n > 1 || size != 1 || (negative && k == 0);
  for (uint32_t i = p->n; i-- > 0;) {
    later(s, factor ? FACTOR : ATOM, p->atoms[i], 0, NULL);
    if (i) later(s, TEXT, 0, 0, "*");
  }
}

static void put_atom(nv_buf *b, pieces *s, uint32_t atom) {
  const nv_atom *a = &s->c->dims->atoms[atom]->atom;
  if (a->kind == NV_ATOM_SYMBOL) {
    put_word(b, a->name, true);
  } else if (a->kind == NV_ATOM_FLOORDIV || a->kind == NV_ATOM_MOD) {
    later(s, OPERAND, a->b, 0, NULL);
    later(s, TEXT, 0, 0, a->kind == NV_ATOM_MOD ? "%" : "//");
    later(s, OPERAND, a->a, 0, NULL);
  } else {
    nv_puts(b, a->kind == NV_ATOM_MIN ? "min(" : a->kind == NV_ATOM_MAX ? "max(" : "bcast(");
    later(s, TEXT, 0, 0, ")");
    later(s, WHOLE, a->b, 0, NULL);
    later(s, TEXT, 0, 0, ", ");
    later(s, WHOLE, a->a, 0, NULL);
  }
}

/* Is d a number, a symbol or a call: an operand that needs no brackets? */
static bool is_simple(const nv_ctx *c, nv_dim d) {
  int64_t v;
  if (nv_constant_of(c, d, &v)) return v >= 0;
  uint32_t atom = nv_atom_alone(c, d);
  if (atom == NV_NONE) return false;
  nv_atom_kind kind = c->dims->atoms[atom]->atom.kind;
  return kind != NV_ATOM_FLOORDIV && kind != NV_ATOM_MOD;
}

void nv_put_dim(nv_buf *b, nv_dim d) {
  const struct nv_dims *t = b->c->dims;
  if (t->dims[d].size > NV_DIM_MAX_SIZE)
    nv_raise(b->c, NUVECC_SPEC, "a size expression is too long: more than %d parts", NV_DIM_MAX_SIZE);
  pieces s = {b->c, NULL, 0, 0};
  later(&s, WHOLE, d, 0, NULL);
  while (s.n) {
    piece p = s.p[--s.n];
    switch (p.kind) {
    case TEXT: nv_puts(b, p.text); break;
    case OPERAND:
      if (!is_simple(b->c, p.id)) {
        nv_putc(b, '(');
        later(&s, TEXT, 0, 0, ")");
      }
      later(&s, WHOLE, p.id, 0, NULL);
      break;
    case WHOLE:
      if (t->dims[p.id].n == 0) nv_putc(b, '0');
      for (uint32_t k = t->dims[p.id].n; k-- > 0;) later(&s, TERM, p.id, k, NULL);
      break;
    case TERM: put_term(b, &s, p.id, p.k); break;
    case FACTOR: {
      nv_atom_kind kind = t->atoms[p.id]->atom.kind;
      bool bracket = kind == NV_ATOM_FLOORDIV || kind == NV_ATOM_MOD;
      if (bracket) {
        nv_putc(b, '(');
        later(&s, TEXT, 0, 0, ")");
      }
      put_atom(b, &s, p.id);
      break;
    }
    case ATOM: put_atom(b, &s, p.id); break;
    }
  }
  nv_drop(b->c, s.p);
}
