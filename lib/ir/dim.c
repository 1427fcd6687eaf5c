/* dim.c - dimensions: interned sums of products over symbols, divisions, minima; their simplification by bounds.
 * dim_table.h says how they are kept; dim_walk.c goes through them. */
#include "dim_table.h"

#define MAX_TERMS 4096 /* of a sum */
/* Sums of more terms than FEW_TERMS have at most MAX_LONG_TERMS together: one that is built up term by term leaves a
 * sum of each length. */
#define FEW_TERMS 64
#define MAX_LONG_TERMS (1 << 21)
#define UNKNOWN_MIN INT64_MIN
#define UNKNOWN_MAX INT64_MAX

/* ---- bounds ---- */

static bool known(int64_t bound) { return bound != UNKNOWN_MIN && bound != UNKNOWN_MAX; }

/* Sum and product of bounds; what overflows is unknown on the side where it went. */
static int64_t bound_add(int64_t a, int64_t b) {
  int64_t r;
  if (!known(a)) return a;
  if (!known(b)) return b;
  return nv_add64(a, b, &r) ? r : a < 0 ? UNKNOWN_MIN : UNKNOWN_MAX;
}

static int64_t bound_mul(int64_t a, int64_t b) {
  int64_t r;
  if (a == 0 || b == 0) return 0;
  if (known(a) && known(b) && nv_mul64(a, b, &r)) return r;
  return (a < 0) == (b < 0) ? UNKNOWN_MAX : UNKNOWN_MIN;
}

static bounds range_mul(bounds a, bounds b) {
  int64_t v[4] = {bound_mul(a.min, b.min), bound_mul(a.min, b.max), bound_mul(a.max, b.min),
                  bound_mul(a.max, b.max)};
  bounds r = {v[0], v[0]};
  for (int k = 1; k < 4; k++) {
    if (v[k] < r.min) r.min = v[k];
    if (v[k] > r.max) r.max = v[k];
  }
  return r;
}

static int64_t floor_div(int64_t a, int64_t b) { /* b > 0 */
  return a / b - (a % b < 0);
}

static int64_t bound_div(int64_t a, int64_t b) { return known(a) ? floor_div(a, b) : a; }

static bounds range_of_atom(nv_atom_kind kind, bounds a, bounds b) {
  bounds r = {UNKNOWN_MIN, UNKNOWN_MAX};
  switch (kind) {
  case NV_ATOM_FLOORDIV:
    if (b.min < 1) break;
    r.min = a.min >= 0 ? (known(b.max) ? bound_div(a.min, b.max) : 0) : bound_div(a.min, b.min);
    r.max = a.max >= 0 ? bound_div(a.max, b.min) : known(b.max) ? bound_div(a.max, b.max) : -1;
    break;
  case NV_ATOM_MOD:
    if (b.min < 1) break;
    r.min = 0;
    r.max = known(b.max) ? b.max - 1 : UNKNOWN_MAX;
    if (a.min >= 0 && a.max < r.max) r.max = a.max;
    break;
  case NV_ATOM_MIN:
    r.min = a.min < b.min ? a.min : b.min;
    r.max = a.max < b.max ? a.max : b.max;
    break;
  case NV_ATOM_MAX:
    r.min = a.min > b.min ? a.min : b.min;
    r.max = a.max > b.max ? a.max : b.max;
    break;
  default: /* BCAST: one of the two */
    r.min = a.min < b.min ? a.min : b.min;
    r.max = a.max > b.max ? a.max : b.max;
  }
  return r;
}

/* Do all values lie in one [k*d, k*d + d)? */
static bool in_one_block(bounds r, int64_t d, int64_t *k) {
  if (!known(r.min) || !known(r.max)) return false;
  *k = floor_div(r.min, d);
  return floor_div(r.max, d) == *k;
}

/* ---- atoms and products ---- */

/* Joins v to a hash: one step of SplitMix64 (Steele, Lea, Flood: "Fast splittable pseudorandom number generators"). */
static uint64_t mix(uint64_t seed, uint64_t v) {
  uint64_t z = (seed ^ v) + UINT64_C(0x9e3779b97f4a7c15);
  z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
  z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
  return z ^ z >> 31;
}

static uint32_t size_add(uint32_t a, uint32_t b) { return a > UINT32_MAX - b ? UINT32_MAX : a + b; }

/* The atom's id; made when new. NV_NONE: make is false and there is none. */
static uint32_t atom_of(nv_ctx *c, nv_atom a, bool make, bounds range) {
  struct nv_dims *t = c->dims;
  uint64_t hash;
  if (a.kind == NV_ATOM_SYMBOL)
    hash = nv_hash(nv_text(c, a.name), nv_text_len(c, a.name), NV_ATOM_SYMBOL);
  else
    hash = mix(mix((uint64_t)a.kind, t->dims[a.a].hash), t->dims[a.b].hash);
  uint32_t at = 0, id;
  while ((id = nv_map_next(&t->atom_map, hash, &at)) != NV_NONE) {
    const nv_atom *o = &t->atoms[id]->atom;
    if (o->kind != a.kind || o->name != a.name || o->a != a.a || o->b != a.b) continue;
    const bounds r = t->atoms[id]->range;
    if (a.kind != NV_ATOM_SYMBOL || (r.min == range.min && r.max == range.max)) return id;
  }
  if (!make) return NV_NONE;
  atom_rec *r = NV_NEW(c, atom_rec);
  r->atom = a;
  r->hash = hash;
  r->range = range;
  r->size = 1;
  if (a.kind == NV_ATOM_SYMBOL) {
    r->symbols = UINT64_C(1) << (hash & 63);
    r->index = a.a != NV_DIM_ZERO;
  } else {
    r->index = t->dims[a.a].index || t->dims[a.b].index;
    r->symbols = t->dims[a.a].symbols | t->dims[a.b].symbols;
    bounds by = t->dims[a.b].range; /* of an index: at least 1, where there are elements to count */
    if (r->index && by.min < 1 && by.max >= 1 && (a.kind == NV_ATOM_FLOORDIV || a.kind == NV_ATOM_MOD)) by.min = 1;
    r->range = range_of_atom(a.kind, t->dims[a.a].range, by);
    r->size = size_add(1, size_add(t->dims[a.a].size, t->dims[a.b].size));
  }
  NV_GROW(c, t->atoms, t->atoms_cap, (size_t)t->natoms + 1);
  id = t->natoms++;
  t->atoms[id] = r;
  nv_map_add(c, &t->atom_map, hash, id);
  return id;
}

static int compare_atoms(const nv_ctx *c, uint32_t x, uint32_t y) {
  if (x == y) return 0;
  const atom_rec *a = c->dims->atoms[x], *b = c->dims->atoms[y];
  if (a->atom.kind != b->atom.kind) return a->atom.kind < b->atom.kind ? -1 : 1;
  if (a->atom.kind == NV_ATOM_SYMBOL) {
    const int order = strcmp(nv_text(c, a->atom.name), nv_text(c, b->atom.name));
    if (order) return order;
  }
  if (a->hash != b->hash) return a->hash < b->hash ? -1 : 1;
  return x < y ? -1 : 1;
}

static int compare_products(const nv_ctx *c, uint32_t x, uint32_t y) {
  if (x == y) return 0;
  const product_rec *a = &c->dims->products[x], *b = &c->dims->products[y];
  if (a->n != b->n) return a->n > b->n ? -1 : 1;
  for (uint32_t k = 0; k < a->n; k++) {
    int order = compare_atoms(c, a->atoms[k], b->atoms[k]);
    if (order) return order;
  }
  return 0;
}

static uint32_t product_of(nv_ctx *c, const uint32_t *atoms, uint32_t n) {
  struct nv_dims *t = c->dims;
  uint64_t hash = n;
  for (uint32_t k = 0; k < n; k++) hash = mix(hash, t->atoms[atoms[k]]->hash);
  uint32_t at = 0, id;
  while ((id = nv_map_next(&t->product_map, hash, &at)) != NV_NONE)
    if (t->products[id].n == n && (n == 0 || memcmp(t->products[id].atoms, atoms, n * sizeof *atoms) == 0))
      return id;
  uint32_t *copy = NV_NEW_N(c, uint32_t, n);
  if (n) memcpy(copy, atoms, n * sizeof *atoms);
  product_rec r = {copy, n, hash, {1, 1}};
  for (uint32_t k = 0; k < n; k++) r.range = range_mul(r.range, t->atoms[atoms[k]]->range);
  NV_GROW(c, t->products, t->products_cap, (size_t)t->nproducts + 1);
  id = t->nproducts++;
  t->products[id] = r;
  nv_map_add(c, &t->product_map, hash, id);
  return id;
}

/* Product of two products: merged atoms. */
static uint32_t multiply_products(nv_ctx *c, uint32_t x, uint32_t y) {
  const product_rec a = c->dims->products[x], b = c->dims->products[y];
  if (a.n == 0) return y;
  if (b.n == 0) return x;
  if (a.n + b.n > MAX_FACTORS)
    nv_raise(c, NUVECC_SPEC, "a size expression has a product of more than %d factors", MAX_FACTORS);
  uint32_t atoms[MAX_FACTORS];
  for (uint32_t i = 0, j = 0; i + j < a.n + b.n;) {
    bool first = j == b.n || (i < a.n && compare_atoms(c, a.atoms[i], b.atoms[j]) <= 0);
    uint32_t next = first ? a.atoms[i] : b.atoms[j];
    atoms[i + j] = next;
    if (first)
      i++;
    else
      j++;
  }
  return product_of(c, atoms, a.n + b.n);
}

/* ---- sums ---- */

static void overflow(nv_ctx *c) { nv_raise(c, NUVECC_SPEC, "a size expression overflows 64 bits"); }

void nv_sum_start(nv_ctx *c) { c->dims->nsum = 0; }

static void sum_add(nv_ctx *c, int64_t coef, uint32_t product) {
  struct nv_dims *t = c->dims;
  if (coef == 0) return;
  NV_GROW(c, t->sum, t->sum_cap, (size_t)t->nsum + 1);
  t->sum[t->nsum++] = (term){coef, product};
}

void nv_sum_add_dim(nv_ctx *c, nv_dim d, int64_t factor) {
  const dim_rec *r = &c->dims->dims[d];
  for (uint32_t k = 0; k < r->n; k++) {
    int64_t coef;
    if (!nv_mul64(r->terms[k].coef, factor, &coef)) overflow(c);
    sum_add(c, coef, r->terms[k].product);
  }
}

/* The end of the sorted run that starts at term k. */
static uint32_t run_end(const nv_ctx *c, const term *terms, uint32_t k, uint32_t n) {
  while (++k < n && compare_products(c, terms[k - 1].product, terms[k].product) <= 0) continue;
  return k < n ? k : n;
}

/* Sorts the terms of the sum (merge sort of the runs that are there: a sum of dims has one a dim) and adds up equal
 * products. */
static void sum_sort(nv_ctx *c) {
  struct nv_dims *t = c->dims;
  uint32_t n = t->nsum;
  bool sorted = true;
  for (uint32_t k = 1; k < n && sorted; k++)
    sorted = compare_products(c, t->sum[k - 1].product, t->sum[k].product) < 0;
  if (sorted) return;
  NV_GROW(c, t->sum, t->sum_cap, 2 * (size_t)n);
  term *from = t->sum, *to = t->sum + n;
  for (uint32_t runs = 2; runs > 1;) {
    runs = 0;
    for (uint32_t low = 0, high; low < n; low = high, runs++) {
      const uint32_t middle = run_end(c, from, low, n);
      high = middle < n ? run_end(c, from, middle, n) : n;
      uint32_t i = low, j = middle;
      for (uint32_t k = low; k < high; k++) {
        bool first = j == high || (i < middle && compare_products(c, from[i].product, from[j].product) <= 0);
        to[k] = first ? from[i++] : from[j++];
      }
    }
    term *swap = from;
    from = to;
    to = swap;
  }
  uint32_t out = 0;
  for (uint32_t k = 0; k < n;) {
    term sum = from[k++];
    for (; k < n && from[k].product == sum.product; k++)
      if (!nv_add64(sum.coef, from[k].coef, &sum.coef)) overflow(c);
    if (sum.coef) t->sum[out++] = sum; /* out <= k: nothing unread is overwritten */
  }
  t->nsum = out;
}

static nv_dim dim_of(nv_ctx *c, const term *terms, uint32_t n) {
  struct nv_dims *t = c->dims;
  uint64_t hash = n;
  for (uint32_t k = 0; k < n; k++)
    hash = mix(mix(hash, (uint64_t)terms[k].coef), t->products[terms[k].product].hash);
  uint32_t at = 0, id;
  while ((id = nv_map_next(&t->dim_map, hash, &at)) != NV_NONE) {
    const dim_rec *o = &t->dims[id];
    bool same = o->n == n;
    for (uint32_t k = 0; k < n && same; k++)
      same = o->terms[k].coef == terms[k].coef && o->terms[k].product == terms[k].product;
    if (same) return id;
  }
  if (n > MAX_TERMS) nv_raise(c, NUVECC_SPEC, "a size expression has more than %d terms", MAX_TERMS);
  if (n > FEW_TERMS && (t->long_terms += n) > MAX_LONG_TERMS)
    nv_raise(c, NUVECC_SPEC, "size expressions of more than %d terms have more than %d in all", FEW_TERMS,
             MAX_LONG_TERMS);
  term *copy = NV_NEW_N(c, term, n);
  dim_rec r = {copy, n, n ? 0 : 1, false, hash, 0, {0, 0}};
  for (uint32_t k = 0; k < n; k++) {
    const product_rec *p = &t->products[terms[k].product];
    copy[k] = terms[k];
    bounds of_term = range_mul(p->range, (bounds){terms[k].coef, terms[k].coef});
    r.range.min = bound_add(r.range.min, of_term.min);
    r.range.max = bound_add(r.range.max, of_term.max);
    r.size = size_add(r.size, 1);
    for (uint32_t i = 0; i < p->n; i++) {
      const atom_rec *a = t->atoms[p->atoms[i]];
      r.symbols |= a->symbols;
      r.index = r.index || a->index;
      r.size = size_add(r.size, a->size);
    }
  }
  NV_GROW(c, t->dims, t->dims_cap, (size_t)t->ndims + 1);
  id = t->ndims++;
  t->dims[id] = r;
  nv_map_add(c, &t->dim_map, hash, id);
  return id;
}

uint32_t nv_only_atom(const nv_ctx *c, uint32_t product) {
  const product_rec *p = &c->dims->products[product];
  return p->n == 1 ? p->atoms[0] : NV_NONE;
}

uint32_t nv_atom_alone(const nv_ctx *c, nv_dim d) {
  const dim_rec *r = &c->dims->dims[d];
  return r->n == 1 && r->terms[0].coef == 1 ? nv_only_atom(c, r->terms[0].product) : NV_NONE;
}

bool nv_constant_of(const nv_ctx *c, nv_dim d, int64_t *v) {
  const dim_rec *r = &c->dims->dims[d];
  if (r->n > 1 || (r->n == 1 && r->terms[0].product != 0)) return false;
  *v = r->n ? r->terms[0].coef : 0;
  return true;
}

/* For k*(x % n) in the sorted sum: the place of k*n*(x // n) in it, NV_NONE where there is none. */
static uint32_t partner(nv_ctx *c, int64_t coef, const nv_atom *mod) {
  struct nv_dims *t = c->dims;
  int64_t n, want;
  if (!nv_constant_of(c, mod->b, &n) || !nv_mul64(coef, n, &want)) return NV_NONE;
  nv_atom quotient = {NV_ATOM_FLOORDIV, 0, mod->a, mod->b};
  uint32_t inner = nv_atom_alone(c, mod->a);
  if (inner != NV_NONE && t->atoms[inner]->atom.kind == NV_ATOM_FLOORDIV) { /* (y//e)//n is y//(e*n) */
    int64_t e, product;
    if (nv_constant_of(c, t->atoms[inner]->atom.b, &e) && nv_mul64(e, n, &product)) {
      quotient.a = t->atoms[inner]->atom.a;
      quotient.b = dim_of(c, &(term){product, 0}, 1);
    }
  }
  uint32_t atom = atom_of(c, quotient, false, (bounds){0, 0});
  if (atom == NV_NONE) return NV_NONE;
  for (uint32_t k = 0; k < t->nsum; k++)
    if (t->sum[k].coef == want && nv_only_atom(c, t->sum[k].product) == atom) return k;
  return NV_NONE;
}

/* The dim of the sum. k*n*(x//n) + k*(x%n) becomes k*x. */
nv_dim nv_sum_end(nv_ctx *c) {
  struct nv_dims *t = c->dims;
  sum_sort(c);
  for (uint32_t k = 0; k < t->nsum; k++) {
    uint32_t atom = nv_only_atom(c, t->sum[k].product);
    if (atom == NV_NONE || t->atoms[atom]->atom.kind != NV_ATOM_MOD) continue;
    const nv_atom *mod = &t->atoms[atom]->atom;
    int64_t coef = t->sum[k].coef;
    uint32_t other = partner(c, coef, mod);
    if (other == NV_NONE) continue;
    t->sum[k].coef = t->sum[other].coef = 0;
    nv_sum_add_dim(c, mod->a, coef);
    sum_sort(c);
    uint32_t out = 0; /* where nothing had to be sorted the emptied terms are still there */
    for (uint32_t i = 0; i < t->nsum; i++)
      if (t->sum[i].coef) t->sum[out++] = t->sum[i];
    t->nsum = out;
    k = UINT32_MAX; /* from the start again; atoms get fewer or older each time */
  }
  return dim_of(c, t->sum, t->nsum);
}

static nv_dim combine(nv_ctx *c, nv_dim a, int64_t ka, nv_dim b, int64_t kb) {
  nv_sum_start(c);
  nv_sum_add_dim(c, a, ka);
  nv_sum_add_dim(c, b, kb);
  return nv_sum_end(c);
}

nv_dim nv_dim_of_atom(nv_ctx *c, uint32_t atom) { return dim_of(c, &(term){1, product_of(c, &atom, 1)}, 1); }

static nv_dim make_atom(nv_ctx *c, nv_atom_kind kind, nv_dim a, nv_dim b) {
  return nv_dim_of_atom(c, atom_of(c, (nv_atom){kind, 0, a, b}, true, (bounds){0, 0}));
}

/* ---- constructors ---- */

void nv_dims_init(nv_ctx *c) {
  c->dims = NV_NEW(c, struct nv_dims);
  product_of(c, NULL, 0);
  nv_dim_const(c, 0); /* NV_DIM_ZERO */
  nv_dim_const(c, 1); /* NV_DIM_ONE */
}

nv_dim nv_dim_const(nv_ctx *c, int64_t v) { return dim_of(c, &(term){v, 0}, v != 0); }

nv_dim nv_dim_symbol(nv_ctx *c, nv_str name, int64_t min, int64_t max) {
  return nv_dim_of_atom(c, atom_of(c, (nv_atom){NV_ATOM_SYMBOL, name, 0, 0}, true, (bounds){min, max}));
}

nv_dim nv_dim_index(nv_ctx *c, nv_str name, nv_dim extent) {
  bounds range = {0, c->dims->dims[extent].range.max};
  if (known(range.max)) range.max--;
  return nv_dim_of_atom(c, atom_of(c, (nv_atom){NV_ATOM_SYMBOL, name, extent, 0}, true, range));
}

bool nv_dim_is_size(nv_ctx *c, nv_dim d) { return !c->dims->dims[d].index; }

bool nv_dim_is_const(nv_ctx *c, nv_dim d, int64_t *v) { return nv_constant_of(c, d, v); }

int64_t nv_dim_value(nv_ctx *c, nv_dim d) {
  int64_t v = 0;
  if (!nv_constant_of(c, d, &v)) {
    nv_buf b;
    nv_buf_init(&b, c);
    nv_put_dim(&b, d);
    nv_bug(c, "the size %s is no constant", nv_buf_text(&b));
  }
  return v;
}

nv_dim nv_dim_add(nv_ctx *c, nv_dim a, nv_dim b) { return combine(c, a, 1, b, 1); }
nv_dim nv_dim_sub(nv_ctx *c, nv_dim a, nv_dim b) { return combine(c, a, 1, b, -1); }

nv_dim nv_dim_mul(nv_ctx *c, nv_dim a, nv_dim b) {
  struct nv_dims *t = c->dims;
  const dim_rec x = t->dims[a], y = t->dims[b];
  if (x.n > MAX_TERMS / (y.n ? y.n : 1))
    nv_raise(c, NUVECC_SPEC, "a size expression has more than %d terms", MAX_TERMS);
  nv_sum_start(c);
  for (uint32_t i = 0; i < x.n; i++)
    for (uint32_t j = 0; j < y.n; j++) {
      int64_t coef;
      if (!nv_mul64(x.terms[i].coef, y.terms[j].coef, &coef)) overflow(c);
      sum_add(c, coef, multiply_products(c, x.terms[i].product, y.terms[j].product));
    }
  return nv_sum_end(c);
}

/* ---- division by a constant ---- */

static int64_t gcd(int64_t a, int64_t b) { /* b > 0; a any but INT64_MIN */
  if (a < 0) a = -a;
  while (a) {
    int64_t r = b % a;
    b = a;
    a = r;
  }
  return b;
}

/* Where the terms of a that g divides leave a rest within one block [k*g, k*g + g): that rest's k and, for
 * a = g*whole + rest, both parts are made. g is the largest such divisor of d above 1. */
static bool split(nv_ctx *c, nv_dim a, int64_t d, int64_t *g, nv_dim *whole, nv_dim *rest) {
  struct nv_dims *t = c->dims;
  const dim_rec r = t->dims[a];
  int64_t limit = d; /* candidates, each below the one before */
  for (int tries = 0; tries < 32; tries++) {
    int64_t best = 1;
    for (uint32_t k = 0; k < r.n; k++) {
      if (r.terms[k].product == 0 || r.terms[k].coef == INT64_MIN) continue;
      int64_t with = gcd(r.terms[k].coef, d);
      if (with > best && with < limit) best = with;
    }
    if (best == 1) return false;
    limit = best;
    bounds range = {0, 0};
    int64_t k_block;
    for (uint32_t k = 0; k < r.n; k++) {
      int64_t coef = r.terms[k].coef;
      if (r.terms[k].product == 0)
        coef -= floor_div(coef, best) * best;
      else if (coef % best == 0)
        continue;
      bounds of_term = range_mul(t->products[r.terms[k].product].range, (bounds){coef, coef});
      range.min = bound_add(range.min, of_term.min);
      range.max = bound_add(range.max, of_term.max);
    }
    if (!in_one_block(range, best, &k_block)) continue;
    nv_sum_start(c);
    sum_add(c, k_block, 0);
    for (uint32_t k = 0; k < r.n; k++) {
      if (r.terms[k].product == 0)
        sum_add(c, floor_div(r.terms[k].coef, best), 0);
      else if (r.terms[k].coef % best == 0)
        sum_add(c, r.terms[k].coef / best, r.terms[k].product);
    }
    *g = best;
    *whole = nv_sum_end(c);
    *rest = combine(c, a, 1, *whole, -best);
    return true;
  }
  return false;
}

/* a = d*whole + rest with the rest's coefficients below d in magnitude, its constant in [0, d). */
static void take_out(nv_ctx *c, nv_dim a, int64_t d, nv_dim *whole, nv_dim *rest) {
  const dim_rec r = c->dims->dims[a];
  bool any = false;
  for (uint32_t k = 0; k < r.n && !any; k++)
    any = r.terms[k].coef >= d || r.terms[k].coef <= -d || (r.terms[k].product == 0 && r.terms[k].coef < 0);
  *whole = 0;
  *rest = a;
  if (!any) return;
  nv_sum_start(c);
  for (uint32_t k = 0; k < r.n; k++) {
    int64_t coef = r.terms[k].coef;
    sum_add(c, r.terms[k].product == 0 ? floor_div(coef, d) : coef / d, r.terms[k].product);
  }
  *whole = nv_sum_end(c);
  nv_sum_start(c);
  for (uint32_t k = 0; k < r.n; k++) {
    int64_t coef = r.terms[k].coef % d;
    sum_add(c, r.terms[k].product == 0 && coef < 0 ? coef + d : coef, r.terms[k].product);
  }
  *rest = nv_sum_end(c);
}

/* a % d, d > 0. In the loop the result is done + factor * (a % d). */
static nv_dim modulo(nv_ctx *c, nv_dim a, int64_t d) {
  struct nv_dims *t = c->dims;
  nv_dim done = 0;
  int64_t factor = 1;
  for (;;) {
    int64_t k, g;
    nv_dim whole, rest;
    if (d == 1) return done;
    if (in_one_block(t->dims[a].range, d, &k)) {
      a = combine(c, a, 1, nv_dim_const(c, k), -d);
      break;
    }
    take_out(c, a, d, &whole, &rest);
    if (rest != a) {
      a = rest;
      continue;
    }
    /* (x % n) % d is x % d where d divides n, in a sum too. */
    const dim_rec r = t->dims[a];
    bool found = false;
    for (uint32_t i = 0; i < r.n && !found; i++) {
      uint32_t atom = nv_only_atom(c, r.terms[i].product);
      int64_t n;
      if (atom == NV_NONE || t->atoms[atom]->atom.kind != NV_ATOM_MOD) continue;
      const nv_atom *inner = &t->atoms[atom]->atom;
      if (!nv_constant_of(c, inner->b, &n) || n % d != 0) continue;
      found = true;
      a = combine(c, a, 1, nv_dim_of_atom(c, atom), -r.terms[i].coef);
      a = combine(c, a, 1, inner->a, r.terms[i].coef);
    }
    if (found) continue;
    if (split(c, a, d, &g, &whole, &rest)) { /* (g*w + rest) % d = g*(w % (d/g)) + rest, rest in [0, g) */
      done = combine(c, done, 1, rest, factor);
      a = whole;
      d /= g;
      factor *= g;
      continue;
    }
    a = make_atom(c, NV_ATOM_MOD, a, nv_dim_const(c, d));
    break;
  }
  return combine(c, done, 1, a, factor);
}

/* a // d, d > 0. In the loop the result is done + a // d, on which the open remainders are still to be taken. */
static nv_dim divide(nv_ctx *c, nv_dim a, int64_t d) {
  struct nv_dims *t = c->dims;
  struct {
    nv_dim done;
    int64_t n;
  } open[16]; /* inside out: result = open.done + result % open.n */
  uint32_t nopen = 0;
  nv_dim done = 0;
  for (;;) {
    int64_t k, g, n;
    nv_dim whole, rest;
    if (d == 1) break;
    if (in_one_block(t->dims[a].range, d, &k)) {
      a = nv_dim_const(c, k);
      break;
    }
    take_out(c, a, d, &whole, &rest);
    if (rest != a) {
      done = nv_dim_add(c, done, whole);
      a = rest;
      continue;
    }
    const dim_rec r = t->dims[a];
    uint32_t atom = r.n && r.terms[0].coef == 1 ? nv_only_atom(c, r.terms[0].product) : NV_NONE;
    if (atom != NV_NONE && nv_constant_of(c, t->atoms[atom]->atom.b, &n) && n > 0) {
      const nv_atom *inner = &t->atoms[atom]->atom;
      bool constant_rest = r.n == 1 || (r.n == 2 && r.terms[1].product == 0);
      int64_t product, added = 0;
      if (inner->kind == NV_ATOM_MOD && r.n == 1 && n % d == 0 &&
          nopen < 16) { /* (x % n)//d = (x//d) % (n/d) */
        open[nopen].done = done;
        open[nopen++].n = n / d;
        done = 0;
        a = inner->a;
        continue;
      }
      if (inner->kind == NV_ATOM_FLOORDIV && constant_rest && nv_mul64(n, d, &product) &&
          (r.n == 1 || nv_mul64(r.terms[1].coef, n, &added))) { /* (x//n + k)//d = (x + k*n)//(n*d) */
        a = combine(c, inner->a, 1, nv_dim_const(c, added), 1);
        d = product;
        continue;
      }
    }
    if (split(c, a, d, &g, &whole, &rest)) { /* (g*w + rest)//d = w//(d/g), rest in [0, g) */
      a = whole;
      d /= g;
      continue;
    }
    a = make_atom(c, NV_ATOM_FLOORDIV, a, nv_dim_const(c, d));
    break;
  }
  a = nv_dim_add(c, done, a);
  while (nopen) {
    nopen--;
    a = nv_dim_add(c, open[nopen].done, modulo(c, a, open[nopen].n));
  }
  return a;
}

/* a / b where b is one product with a coefficient that divides every term of a. */
static bool divides(nv_ctx *c, nv_dim a, nv_dim b, nv_dim *quotient) {
  struct nv_dims *t = c->dims;
  const dim_rec x = t->dims[a], y = t->dims[b];
  if (y.n != 1) return false;
  const product_rec by = t->products[y.terms[0].product];
  nv_sum_start(c);
  for (uint32_t k = 0; k < x.n; k++) {
    const product_rec p = t->products[x.terms[k].product];
    uint32_t left[MAX_FACTORS], nleft = 0, j = 0;
    if (y.terms[0].coef == -1 && x.terms[k].coef == INT64_MIN) return false;
    if (x.terms[k].coef % y.terms[0].coef != 0) return false;
    for (uint32_t i = 0; i < p.n; i++) {
      if (j < by.n && p.atoms[i] == by.atoms[j])
        j++;
      else
        left[nleft++] = p.atoms[i];
    }
    if (j < by.n) return false;
    sum_add(c, x.terms[k].coef / y.terms[0].coef, product_of(c, left, nleft));
  }
  *quotient = nv_sum_end(c);
  return true;
}

/* ---- division of indices by open sizes ---- */

/* The least or greatest value that d takes over its index symbols, an expression of sizes. false: it can't be told. */
static bool extreme(nv_ctx *c, nv_dim d, bool greatest, nv_dim *out) {
  const nv_dim *symbols;
  const uint32_t n = nv_dim_symbols(c, &d, 1, &symbols);
  for (uint32_t k = 0; k < n; k++) {
    const nv_dim extent = c->dims->atoms[nv_atom_alone(c, symbols[k])]->atom.a;
    nv_dim slope, rest;
    if (extent == NV_DIM_ZERO) continue;
    if (!nv_dim_slope(c, d, symbols[k], &slope, &rest)) return false;
    const bounds r = c->dims->dims[slope].range;
    if (r.min < 0 && r.max > 0) return false;
    if ((r.min >= 0) == greatest)
      rest = nv_dim_add(c, rest, nv_dim_mul(c, slope, nv_dim_sub(c, extent, NV_DIM_ONE)));
    d = rest;
  }
  *out = d;
  return true;
}

void nv_dim_index_bounds(nv_ctx *c, nv_dim d, int64_t *min, int64_t *max) {
  nv_dim least, greatest;
  nv_dim_bounds(c, d, min, max);
  if (known(*min) && known(*max)) return;
  if (extreme(c, d, false, &least) && c->dims->dims[least].range.min > *min) *min = c->dims->dims[least].range.min;
  if (!extreme(c, d, true, &greatest)) return;
  if (c->dims->dims[greatest].range.max < *max) *max = c->dims->dims[greatest].range.max;
}

/* Is 0 <= a < b wherever the iteration space isn't empty? */
static bool is_within(nv_ctx *c, nv_dim a, nv_dim b) {
  nv_dim least, greatest;
  if (!extreme(c, a, false, &least) || !extreme(c, a, true, &greatest)) return false;
  return c->dims->dims[least].range.min >= 0 && c->dims->dims[nv_dim_sub(c, b, greatest)].range.min >= 1;
}

/* The term of a that the first term of b divides, over it; 0: there is none. */
static nv_dim leading_quotient(nv_ctx *c, nv_dim a, nv_dim b) {
  const struct nv_dims *t = c->dims;
  const term by = t->dims[b].terms[0];
  for (uint32_t k = 0; k < t->dims[a].n; k++) {
    nv_dim quotient;
    const term one = t->dims[a].terms[k];
    if (divides(c, dim_of(c, &one, 1), dim_of(c, &by, 1), &quotient)) return quotient;
  }
  return 0;
}

/* a = b*whole + rest, where a holds index symbols, b is open, and 0 <= rest < b. */
static bool divide_index(nv_ctx *c, nv_dim a, nv_dim b, nv_dim *whole, nv_dim *rest) {
  enum { MOST_STEPS = 64 };
  if (nv_dim_is_size(c, a) || !nv_dim_is_size(c, b)) return false;
  *whole = 0;
  *rest = a;
  for (int k = 0; k < MOST_STEPS && !is_within(c, *rest, b); k++) {
    const nv_dim step = leading_quotient(c, *rest, b);
    if (step == 0) return false;
    *whole = nv_dim_add(c, *whole, step);
    *rest = nv_dim_sub(c, *rest, nv_dim_mul(c, step, b));
  }
  return is_within(c, *rest, b);
}

nv_dim nv_dim_floordiv(nv_ctx *c, nv_dim a, nv_dim b) {
  int64_t d, v;
  nv_dim quotient;
  if (nv_constant_of(c, b, &d)) {
    if (d == 0) nv_raise(c, NUVECC_SPEC, "a size expression divides by zero");
    if (d > 0) return nv_constant_of(c, a, &v) ? nv_dim_const(c, floor_div(v, d)) : divide(c, a, d);
    if (d == INT64_MIN) overflow(c);
    return divide(c, combine(c, 0, 1, a, -1), -d);
  }
  if (a == b) return nv_dim_const(c, 1);
  if (divides(c, a, b, &quotient)) return quotient;
  bounds x = c->dims->dims[a].range, y = c->dims->dims[b].range;
  if (x.min >= 0 && known(x.max) && y.min > x.max) return 0;
  nv_dim rest;
  if (divide_index(c, a, b, &quotient, &rest)) return quotient;
  return make_atom(c, NV_ATOM_FLOORDIV, a, b);
}

nv_dim nv_dim_mod(nv_ctx *c, nv_dim a, nv_dim b) {
  int64_t d, v;
  nv_dim quotient;
  if (nv_constant_of(c, b, &d)) {
    if (d == 0) nv_raise(c, NUVECC_SPEC, "a size expression divides by zero");
    if (d > 0)
      return nv_constant_of(c, a, &v) ? nv_dim_const(c, v % d < 0 ? v % d + d : v % d) : modulo(c, a, d);
    if (d == INT64_MIN) overflow(c);
    return combine(c, 0, 1, modulo(c, combine(c, 0, 1, a, -1), -d), -1);
  }
  if (a == b || divides(c, a, b, &quotient)) return 0;
  bounds x = c->dims->dims[a].range, y = c->dims->dims[b].range;
  if (x.min >= 0 && known(x.max) && y.min > x.max) return a;
  nv_dim rest;
  if (divide_index(c, a, b, &quotient, &rest)) return rest;
  return make_atom(c, NV_ATOM_MOD, a, b);
}

/* ---- minimum, maximum, broadcast ---- */

/* Bounds of a - b, term by term, without making it: equal terms cancel. */
static bounds range_of_difference(const nv_ctx *c, nv_dim a, nv_dim b) {
  const struct nv_dims *t = c->dims;
  const dim_rec *x = &t->dims[a], *y = &t->dims[b];
  bounds r = {0, 0};
  for (uint32_t i = 0, j = 0; i < x->n || j < y->n;) {
    int order = i == x->n   ? 1
                : j == y->n ? -1
                            : compare_products(c, x->terms[i].product, y->terms[j].product);
    uint32_t product = order <= 0 ? x->terms[i].product : y->terms[j].product;
    int64_t left = order <= 0 ? x->terms[i++].coef : 0, right = order >= 0 ? y->terms[j++].coef : 0, coef;
    if (!nv_sub64(left, right, &coef)) return (bounds){UNKNOWN_MIN, UNKNOWN_MAX};
    bounds of_term = range_mul(t->products[product].range, (bounds){coef, coef});
    r.min = bound_add(r.min, of_term.min);
    r.max = bound_add(r.max, of_term.max);
  }
  return r;
}

/* Operands of a commutative atom in the order of what they are. */
static nv_dim make_sorted(nv_ctx *c, nv_atom_kind kind, nv_dim a, nv_dim b) {
  const dim_rec *x = &c->dims->dims[a], *y = &c->dims->dims[b];
  int order = 0;
  for (uint32_t k = 0; order == 0 && (k < x->n || k < y->n); k++) {
    if (k == x->n || k == y->n)
      order = k == x->n ? 1 : -1;
    else
      order = compare_products(c, x->terms[k].product, y->terms[k].product);
    if (order == 0 && x->terms[k].coef != y->terms[k].coef)
      order = x->terms[k].coef < y->terms[k].coef ? -1 : 1;
  }
  return order > 0 ? make_atom(c, kind, b, a) : make_atom(c, kind, a, b);
}

nv_dim nv_dim_min(nv_ctx *c, nv_dim a, nv_dim b) {
  bounds difference = range_of_difference(c, a, b);
  if (difference.max <= 0) return a;
  if (difference.min >= 0) return b;
  return make_sorted(c, NV_ATOM_MIN, a, b);
}

nv_dim nv_dim_max(nv_ctx *c, nv_dim a, nv_dim b) {
  bounds difference = range_of_difference(c, a, b);
  if (difference.max <= 0) return b;
  if (difference.min >= 0) return a;
  return make_sorted(c, NV_ATOM_MAX, a, b);
}

nv_dim nv_dim_bcast(nv_ctx *c, nv_dim a, nv_dim b) {
  int64_t v;
  if (a == b || (nv_constant_of(c, b, &v) && v == 1)) return a;
  if (nv_constant_of(c, a, &v) && v == 1) return b;
  return make_sorted(c, NV_ATOM_BCAST, a, b);
}

bool nv_dim_differ(nv_ctx *c, nv_dim a, nv_dim b) {
  bounds difference = range_of_difference(c, a, b);
  return difference.min > 0 || difference.max < 0;
}

/* ---- parts ---- */

void nv_dim_bounds(nv_ctx *c, nv_dim d, int64_t *min, int64_t *max) {
  *min = c->dims->dims[d].range.min;
  *max = c->dims->dims[d].range.max;
}

uint32_t nv_dim_nterms(nv_ctx *c, nv_dim d) { return c->dims->dims[d].n; }

void nv_dim_term(nv_ctx *c, nv_dim d, uint32_t k, int64_t *coef, const uint32_t **atoms, uint32_t *natoms) {
  const term *t = &c->dims->dims[d].terms[k];
  *coef = t->coef;
  *atoms = c->dims->products[t->product].atoms;
  *natoms = c->dims->products[t->product].n;
}

const nv_atom *nv_dim_atom(nv_ctx *c, uint32_t atom) { return &c->dims->atoms[atom]->atom; }

uint32_t nv_dim_size(nv_ctx *c, nv_dim d) { return c->dims->dims[d].size; }

bool nv_dim_linear(nv_ctx *c, nv_dim d, nv_dim symbol, int64_t *coefficient, nv_dim *rest) {
  struct nv_dims *t = c->dims;
  const dim_rec r = t->dims[d];
  uint32_t own = nv_atom_alone(c, symbol);
  int64_t coef = 0;
  for (uint32_t k = 0; k < r.n; k++)
    if (nv_only_atom(c, r.terms[k].product) == own) coef = r.terms[k].coef;
  nv_sum_start(c);
  for (uint32_t k = 0; k < r.n; k++)
    if (nv_only_atom(c, r.terms[k].product) != own) sum_add(c, r.terms[k].coef, r.terms[k].product);
  nv_dim others = dim_of(c, t->sum, t->nsum);
  if (nv_dim_uses(c, others, symbol)) return false;
  *coefficient = coef;
  *rest = others;
  return true;
}

bool nv_dim_slope(nv_ctx *c, nv_dim d, nv_dim symbol, nv_dim *coefficient, nv_dim *rest) {
  struct nv_dims *t = c->dims;
  const uint32_t own = nv_atom_alone(c, symbol), n = t->dims[d].n;
  nv_dim others = 0, by = 0;
  for (uint32_t k = 0; k < n; k++) {
    const term m = t->dims[d].terms[k];
    const product_rec p = t->products[m.product];
    uint32_t left[MAX_FACTORS], nleft = 0;
    for (uint32_t i = 0; i < p.n; i++)
      if (p.atoms[i] != own || i != nleft) left[nleft++] = p.atoms[i];
    if (nleft == p.n) {
      others = nv_dim_add(c, others, dim_of(c, &m, 1));
    } else {
      const uint32_t product = product_of(c, left, nleft);
      by = nv_dim_add(c, by, dim_of(c, &(term){m.coef, product}, 1));
    }
  }
  if (nv_dim_uses(c, others, symbol) || nv_dim_uses(c, by, symbol)) return false;
  *coefficient = by;
  *rest = others;
  return true;
}
