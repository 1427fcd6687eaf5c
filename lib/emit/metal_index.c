/* metal_index.c - dims over iteration symbols as unsigned arithmetic: 32-bit where the values allow it, without /
 * and %.
 *
 * Every dim that occurs, and every atom in it, is an entry. A sum's children are its atoms; a division's or
 * remainder's child is the dividend (and the quotient); a minimum's the two sides. What is used twice, is long, or
 * takes a multiplication by a magic constant gets a variable. Sums may wrap on the way: their value is what counts.
 * Dividends and sides of a minimum that can be negative are moved up by a multiple of the divisor first; a quotient
 * or minimum that is negative itself stands for its value modulo 2^32 or 2^64.
 *
 * Sizes that are known at run time only come as 64-bit fields of a struct (kernel.h), one for every largest part of an
 * expression that holds no iteration symbol. A divisor that is one is divided by with / : what isn't known at compile
 * time isn't miscompiled. */
#include "../ir/sizes.h"
#include "metal.h"

enum { /* kinds */
  CONSTANT, SYMBOL, FIELD, SUM, OPEN_SUM, SHIFT, DIVIDE, OPEN_DIVIDE, MASK, REMAINDER, OPEN_REMAINDER, MINIMUM, MAXIMUM
};
enum { P_AND, P_SHIFT, P_ADD, P_MUL, P_PRIMARY };                                 /* precedence, loosest first */
enum { LONGEST_INLINE = 60 };
static const int64_t NARROW = INT64_C(1) << 31;

static uint32_t ceil_log2(uint64_t d) {
  uint32_t l = 0;
  while (l < 64 && (UINT64_C(1) << l) < d) l++;
  return l;
}

/* Granlund and Montgomery, "Division by invariant integers using multiplication" (PLDI 1994), theorem 4.2: with l =
 * ceil(log2 d), any m with 2^(N+l) <= m*d <= 2^(N+l) + 2^l gives n / d = floor(m*n / 2^(N+l)) for 0 <= n < 2^N.
 * Here N is 31 (63), m = ceil(2^(N+l) / d) fits 32 (64) bits, and mulhi takes 32 (64) of the N+l places. */
nv_magic nv_magic32(uint32_t d) {
  const uint32_t l = ceil_log2(d);
  return (nv_magic){((UINT64_C(1) << (31 + l)) + d - 1) / d, l - 1};
}
nv_magic nv_magic64(uint64_t d) {
  const uint32_t l = ceil_log2(d);
  uint64_t quotient = 0, rest = 0;
  for (int32_t bit = (int32_t)(63 + l); bit >= 0; bit--) { /* long division of 2^(63+l) */
    rest = rest * 2 + (bit == (int32_t)(63 + l));
    quotient *= 2;
    if (rest >= d) rest -= d, quotient++;
  }
  return (nv_magic){quotient + (rest != 0), l - 1};
}

void nv_index_init(nv_index *x, nv_ctx *c, nv_names *names) {
  *x = (nv_index){.c = c, .names = names, .fields = NV_NEW(c, nv_index_fields)};
}

void nv_index_init_beside(nv_index *x, const nv_index *first) {
  *x = (nv_index){.c = first->c, .names = first->names, .fields = first->fields};
}

void nv_index_drop(nv_index *x) {
  nv_drop(x->c, x->entries);
  nv_drop(x->c, x->pool);
  nv_drop(x->c, x->parts);
  nv_drop(x->c, x->order);
  nv_map_drop(x->c, &x->map);
}

void nv_index_symbol(nv_index *x, nv_dim symbol, const char *variable) {
  x->symbols[x->nsymbols] = symbol;
  x->variables[x->nsymbols++] = variable;
}

static uint64_t dim_hash(nv_dim d) { return nv_hash(&d, sizeof d, 0); }

static uint32_t find(const nv_index *x, nv_dim d) {
  uint32_t at = 0, k;
  const uint64_t h = dim_hash(d);
  while ((k = nv_map_next(&x->map, h, &at)) != NV_NONE)
    if (x->entries[k].dim == d) return k;
  return NV_NONE;
}

static uint32_t use(nv_index *x, nv_dim d) {
  uint32_t k = find(x, d);
  if (k == NV_NONE) {
    NV_GROW(x->c, x->entries, x->entries_cap, (size_t)x->nentries + 1);
    k = x->nentries++;
    x->entries[k] = (nv_index_entry){.dim = d};
    nv_map_add(x->c, &x->map, dim_hash(d), k);
  }
  x->entries[k].uses++;
  return k;
}

static void add_child(nv_index *x, uint32_t parent, nv_dim d) {
  const uint32_t child = use(x, d);
  NV_GROW(x->c, x->pool, x->pool_cap, (size_t)x->npool + 1);
  x->pool[x->npool++] = child;
  x->entries[parent].nchildren++;
}

/* d is one atom with coefficient 1 and nothing else. */
static bool single_atom(nv_ctx *c, nv_dim d, nv_atom *atom) {
  int64_t coefficient;
  const uint32_t *atoms;
  uint32_t natoms;
  if (nv_dim_nterms(c, d) != 1) return false;
  nv_dim_term(c, d, 0, &coefficient, &atoms, &natoms);
  if (coefficient != 1 || natoms != 1) return false;
  *atom = *nv_dim_atom(c, atoms[0]);
  return true;
}

static NV_NORETURN void refuse(nv_ctx *c) {
  nv_raise(c, NUVECC_SPEC, "not supported yet: an index that may be far below 0 in a division by open sizes");
}

static void expand_open_division(nv_index *x, uint32_t k, const nv_atom *atom, int64_t least) {
  const bool quotient = atom->kind == NV_ATOM_FLOORDIV;
  if (least < 0 || !nv_dim_is_size(x->c, atom->b)) refuse(x->c);
  x->entries[k].kind = quotient ? OPEN_DIVIDE : OPEN_REMAINDER;
  add_child(x, k, atom->a);
  if (!quotient) add_child(x, k, nv_dim_floordiv(x->c, atom->a, atom->b));
  add_child(x, k, atom->b);
}

static void expand_division(nv_index *x, uint32_t k, const nv_atom *atom) {
  nv_ctx *c = x->c;
  int64_t divisor, lo, hi;
  nv_dim_index_bounds(c, atom->a, &lo, &hi);
  if (!nv_dim_is_const(c, atom->b, &divisor)) {
    expand_open_division(x, k, atom, lo);
    return;
  }
  if (divisor <= 0 || lo == INT64_MIN) refuse(c);
  const int64_t bias = lo < 0 ? -(lo + 1) / divisor + 1 : 0;
  const nv_dim dividend = nv_dim_add(c, atom->a, nv_dim_const(c, bias * divisor));
  const bool power = (divisor & (divisor - 1)) == 0, quotient = atom->kind == NV_ATOM_FLOORDIV;
  nv_index_entry *e = &x->entries[k];
  e->kind = quotient ? (power ? SHIFT : DIVIDE) : (power ? MASK : REMAINDER);
  e->divisor = (uint64_t)divisor;
  e->bias = bias;
  add_child(x, k, dividend);
  if (!quotient && !power) add_child(x, k, nv_dim_floordiv(c, dividend, atom->b));
}

static void expand_minimum(nv_index *x, uint32_t k, const nv_atom *atom) {
  nv_ctx *c = x->c;
  int64_t lo, hi, other;
  nv_dim_index_bounds(c, atom->a, &lo, &hi);
  nv_dim_index_bounds(c, atom->b, &other, &hi);
  if (other < lo) lo = other;
  if (lo == INT64_MIN) refuse(c);
  const nv_dim up = nv_dim_const(c, lo < 0 ? -lo : 0);
  x->entries[k].kind = atom->kind == NV_ATOM_MIN ? MINIMUM : MAXIMUM;
  x->entries[k].bias = lo < 0 ? -lo : 0;
  add_child(x, k, nv_dim_add(c, atom->a, up));
  add_child(x, k, nv_dim_add(c, atom->b, up));
}

/* Splits a term's atoms into those of the iteration space, which come first, and the factor that the others make. */
static nv_dim split_term(nv_index *x, nv_dim d, uint32_t t, uint32_t *inner, uint32_t *n) {
  nv_ctx *c = x->c;
  int64_t coefficient;
  const uint32_t *atoms;
  uint32_t natoms;
  nv_dim_term(c, d, t, &coefficient, &atoms, &natoms);
  nv_dim factor = nv_dim_const(c, coefficient);
  *n = 0;
  for (uint32_t i = 0; i < natoms; i++) {
    nv_dim_term(c, d, t, &coefficient, &atoms, &natoms); /* new dims may have moved the list */
    const nv_dim atom = nv_dim_of_atom(c, atoms[i]);
    nv_dim_term(c, d, t, &coefficient, &atoms, &natoms);
    if (nv_dim_is_size(c, atom)) factor = nv_dim_mul(c, factor, atom);
    else inner[(*n)++] = atoms[i];
  }
  return factor;
}

/* A sum over open sizes: for every product of iteration symbols one factor. */
static void expand_open_sum(nv_index *x, uint32_t k) {
  enum { MOST_FACTORS = 64 };
  nv_ctx *c = x->c;
  const nv_dim d = x->entries[k].dim;
  const uint32_t nterms = nv_dim_nterms(c, d), first = x->nparts;
  x->entries[k].kind = OPEN_SUM;
  for (uint32_t t = 0; t < nterms; t++) {
    uint32_t inner[MOST_FACTORS], n, p = first;
    const nv_dim factor = split_term(x, d, t, inner, &n);
    nv_dim product = NV_DIM_ONE;
    for (uint32_t i = 0; i < n; i++) product = nv_dim_mul(c, product, nv_dim_of_atom(c, inner[i]));
    while (p < x->nparts && x->parts[p].child != product) p++; /* child: the product, until all are found */
    if (p < x->nparts) {
      x->parts[p].factor = nv_dim_add(c, x->parts[p].factor, factor);
      continue;
    }
    NV_GROW(c, x->parts, x->parts_cap, (size_t)x->nparts + 1);
    x->parts[x->nparts++] = (nv_index_part){.factor = factor, .child = product};
  }
  x->entries[k].first_part = first;
  x->entries[k].nparts = x->nparts - first;
  for (uint32_t p = first; p < x->nparts; p++) {
    const nv_dim product = x->parts[p].child;
    int64_t known;
    if (!nv_dim_is_const(c, x->parts[p].factor, &known)) {
      x->parts[p].child = x->npool;
      add_child(x, k, x->parts[p].factor);
    }
    x->parts[p].first = x->npool;
    if (product == NV_DIM_ONE) continue;
    int64_t one;
    const uint32_t *atoms;
    uint32_t natoms;
    nv_dim_term(c, product, 0, &one, &atoms, &natoms);
    for (uint32_t i = 0; i < natoms; i++) {
      add_child(x, k, nv_dim_of_atom(c, atoms[i]));
      nv_dim_term(c, product, 0, &one, &atoms, &natoms);
    }
    x->parts[p].n = natoms;
  }
}

/* Does a sum have a coefficient, or a term, of open sizes? */
static bool is_open_sum(nv_ctx *c, nv_dim d) {
  for (uint32_t t = 0, n = nv_dim_nterms(c, d); t < n; t++) {
    int64_t coefficient;
    const uint32_t *atoms;
    uint32_t natoms;
    nv_dim_term(c, d, t, &coefficient, &atoms, &natoms);
    for (uint32_t i = 0; i < natoms; i++) {
      const nv_dim atom = nv_dim_of_atom(c, atoms[i]);
      if (nv_dim_is_size(c, atom)) return true;
      nv_dim_term(c, d, t, &coefficient, &atoms, &natoms);
    }
  }
  return false;
}

static void expand(nv_index *x, uint32_t k) {
  nv_ctx *c = x->c;
  const nv_dim d = x->entries[k].dim;
  int64_t lo, hi;
  nv_atom atom;
  x->entries[k].expanded = true;
  x->entries[k].first_child = x->npool;
  if (nv_dim_is_const(c, d, &lo)) {
    x->entries[k].kind = CONSTANT;
    x->entries[k].wide = lo >= NARROW;
    return;
  }
  nv_dim_index_bounds(c, d, &lo, &hi);
  x->entries[k].wide = (hi >= NARROW || lo < -NARROW) && !x->entries[k].narrow;
  x->entries[k].negative = lo < 0;
  if (nv_dim_is_size(c, d)) {
    x->entries[k].kind = FIELD;
    x->entries[k].wide = true;
  } else if (!single_atom(c, d, &atom) && is_open_sum(c, d)) {
    expand_open_sum(x, k);
  } else if (!single_atom(c, d, &atom)) {
    x->entries[k].kind = SUM;
    for (uint32_t t = 0, n = nv_dim_nterms(c, d); t < n; t++) {
      int64_t coefficient;
      const uint32_t *atoms;
      uint32_t natoms;
      nv_dim_term(c, d, t, &coefficient, &atoms, &natoms);
      for (uint32_t i = 0; i < natoms; i++) {
        add_child(x, k, nv_dim_of_atom(c, atoms[i]));
        nv_dim_term(c, d, t, &coefficient, &atoms, &natoms); /* new dims may have moved the list */
      }
    }
  } else if (atom.kind == NV_ATOM_SYMBOL) {
    x->entries[k].kind = SYMBOL;
    x->entries[k].wide = false; /* a uint, by a guard where the bounds don't say so */
  } else if (atom.kind == NV_ATOM_FLOORDIV || atom.kind == NV_ATOM_MOD) {
    expand_division(x, k, &atom);
  } else if (atom.kind == NV_ATOM_MIN || atom.kind == NV_ATOM_MAX) {
    expand_minimum(x, k, &atom);
  } else {
    nv_bug(c, "an index holds a broadcast size");
  }
}

void nv_index_want(nv_index *x, nv_dim offset, bool narrow) {
  const uint32_t first = x->nentries, k = use(x, offset);
  if (narrow) x->entries[k].narrow = true, x->entries[k].wide = false;
  for (uint32_t i = first; i < x->nentries; i++) expand(x, i);
}

bool nv_index_uses(nv_index *x, nv_dim symbol) { return find(x, symbol) != NV_NONE; }

/* ---- text ---- */

static const char *suffix(bool wide) { return wide ? "ul" : "u"; }

/* Text of an entry as a value of the wanted width, in brackets unless it binds at least as tightly as least. */
static const char *operand(nv_index *x, uint32_t k, bool wide, int least) {
  const nv_index_entry *e = &x->entries[k];
  int64_t v;
  if (e->kind == CONSTANT && nv_dim_is_const(x->c, e->dim, &v))
    return nv_format(x->c, "%lld%s", (long long)v, suffix(wide));
  if (e->wide != wide)
    return nv_format(x->c, !wide ? "uint(%s)" : e->negative ? "ulong(int(%s))" : "ulong(%s)", e->text);
  return e->precedence >= least ? e->text : nv_format(x->c, "(%s)", e->text);
}

/* One term of a sum, its sign left to the caller. factors: the entries of its atoms. */
static void put_term(nv_index *x, nv_buf *b, bool wide, uint64_t size, const uint32_t *factors, uint32_t n,
                     int least) {
  const bool factor = n && size != 1; /* the coefficient is printed */
  if (n > 1 || factor) least = P_MUL;
  for (uint32_t i = 0; i < n; i++) {
    if (i) nv_puts(b, " * ");
    nv_puts(b, operand(x, factors[i], wide, least));
  }
  if (factor) nv_puts(b, " * ");
  if (factor || !n) nv_printf(b, "%llu%s", (unsigned long long)size, suffix(wide));
}

/* Products with positive coefficients first, the largest leading ("row * 512u + col"), then a positive constant,
 * then what is subtracted. */
static const char *sum_text(nv_index *x, const nv_index_entry *e) {
  nv_ctx *c = x->c;
  nv_buf b;
  nv_buf_init(&b, c);
  const uint32_t n = nv_dim_nterms(c, e->dim);
  int64_t coefficient;
  const uint32_t *atoms;
  uint32_t natoms;
  for (int64_t below = INT64_MAX; below > 0;) { /* positive products, by falling coefficient */
    int64_t next = 0;
    const uint32_t *child = x->pool + e->first_child;
    for (uint32_t t = 0; t < n; t++, child += natoms) {
      nv_dim_term(c, e->dim, t, &coefficient, &atoms, &natoms);
      if (!natoms || coefficient > below) continue;
      if (coefficient == below) {
        if (b.n) nv_puts(&b, " + ");
        put_term(x, &b, e->wide, (uint64_t)coefficient, child, natoms, P_ADD);
      } else if (coefficient > next) {
        next = coefficient;
      }
    }
    below = next;
  }
  for (int negative = 0; negative < 2; negative++) {
    const uint32_t *child = x->pool + e->first_child;
    for (uint32_t t = 0; t < n; t++, child += natoms) {
      nv_dim_term(c, e->dim, t, &coefficient, &atoms, &natoms);
      if (negative ? coefficient > 0 : coefficient < 0 || natoms) continue;
      if (negative)
        nv_puts(&b, b.n ? " - " : e->wide ? "0ul - " : "0u - ");
      else if (b.n)
        nv_puts(&b, " + ");
      const uint64_t size = negative ? 0 - (uint64_t)coefficient : (uint64_t)coefficient;
      put_term(x, &b, e->wide, size, child, natoms, P_MUL);
    }
  }
  return nv_keep(&b);
}

/* Parts with open factors first, then as a sum of known ones: by falling factor, what is subtracted last. */
static const char *open_sum_text(nv_index *x, const nv_index_entry *e) {
  nv_ctx *c = x->c;
  nv_buf b;
  int64_t factor;
  nv_buf_init(&b, c);
  const nv_index_part *parts = x->parts + e->first_part;
  for (int pass = 0; pass < 4; pass++) { /* open factors of symbols, known ones, what holds no symbol, below 0 */
    for (uint32_t p = 0; p < e->nparts; p++) {
      const bool closed = nv_dim_is_const(c, parts[p].factor, &factor);
      if (pass != (closed && factor < 0 ? 3 : !parts[p].n ? 2 : closed ? 1 : 0)) continue;
      const uint32_t *child = x->pool + parts[p].first;
      const char *before = pass == 3 ? (b.n ? " - " : e->wide ? "0ul - " : "0u - ") : b.n ? " + " : "";
      nv_puts(&b, before);
      if (closed) {
        put_term(x, &b, e->wide, factor < 0 ? 0 - (uint64_t)factor : (uint64_t)factor, child, parts[p].n,
                 pass == 3 ? P_MUL : P_ADD);
        continue;
      }
      for (uint32_t i = 0; i < parts[p].n; i++) nv_printf(&b, "%s * ", operand(x, child[i], e->wide, P_MUL));
      nv_puts(&b, operand(x, x->pool[parts[p].child], e->wide, P_MUL));
    }
  }
  return nv_keep(&b);
}

/* A division by an open size in 64 bits, unless both fit 32. */
static bool is_wide_division(const nv_index *x, uint32_t dividend, uint32_t divisor) {
  int64_t min, max;
  nv_dim_bounds(x->c, x->entries[divisor].dim, &min, &max);
  return x->entries[dividend].wide || max >= NARROW;
}

/* Text and precedence of an entry whose children have theirs. */
static void make_text(nv_index *x, uint32_t k) {
  nv_ctx *c = x->c;
  nv_index_entry *e = &x->entries[k];
  const uint32_t *child = x->pool + e->first_child;
  const bool inner = e->nchildren && x->entries[child[0]].wide; /* width of the operation itself */
  const char *u = suffix(inner);
  const unsigned long long divisor = e->divisor;
  bool cast = inner != e->wide; /* the result has another width */
  int64_t v;
  switch (e->kind) {
  case CONSTANT:
    nv_dim_is_const(c, e->dim, &v);
    e->text = nv_format(c, v < NARROW ? "%lld" : "%lldul", (long long)v);
    e->precedence = P_PRIMARY;
    return;
  case SYMBOL:
    for (uint32_t s = 0; s < x->nsymbols; s++)
      if (x->symbols[s] == e->dim) e->text = x->variables[s];
    if (!e->text) nv_bug(c, "an index has a symbol without a variable");
    e->precedence = P_PRIMARY;
    return;
  case FIELD:
    e->text = nv_index_size(x, e->dim, true);
    e->precedence = P_PRIMARY;
    return;
  case OPEN_SUM:
    e->text = open_sum_text(x, e);
    e->precedence = e->nparts == 1 ? P_MUL : P_ADD;
    return;
  case SUM: {
    int64_t coefficient;
    const uint32_t *atoms;
    uint32_t natoms;
    nv_dim_term(c, e->dim, 0, &coefficient, &atoms, &natoms);
    e->text = sum_text(x, e);
    e->precedence = nv_dim_nterms(c, e->dim) == 1 && coefficient > 0 ? P_MUL : P_ADD;
    return;
  }
  case SHIFT:
    e->text = nv_format(c, "%s >> %u", operand(x, child[0], inner, P_PRIMARY), (unsigned)ceil_log2(e->divisor));
    e->precedence = P_SHIFT;
    break;
  case DIVIDE: {
    const nv_magic m = inner ? nv_magic64(e->divisor) : nv_magic32((uint32_t)e->divisor);
    e->text = nv_format(c, "%s(%s, %llu%s) >> %u", inner ? "nv_mulhi64" : "metal::mulhi",
                        operand(x, child[0], inner, P_AND), (unsigned long long)m.multiplier, u, (unsigned)m.shift);
    e->precedence = P_SHIFT;
    break;
  }
  case OPEN_DIVIDE: {
    const bool wide = is_wide_division(x, child[0], child[1]);
    e->text = nv_format(c, "%s / %s", operand(x, child[0], wide, P_MUL), operand(x, child[1], wide, P_PRIMARY));
    e->precedence = P_MUL;
    cast = wide != e->wide;
    break;
  }
  case OPEN_REMAINDER:
    e->text = nv_format(c, "%s - %s * %s", operand(x, child[0], e->wide, P_ADD), operand(x, child[1], e->wide, P_MUL),
                        operand(x, child[2], e->wide, P_MUL));
    e->precedence = P_ADD;
    cast = false;
    break;
  case MASK:
    e->text = nv_format(c, "%s & %llu%s", operand(x, child[0], inner, P_PRIMARY), divisor - 1, u);
    e->precedence = P_AND;
    break;
  case REMAINDER: /* the difference is small: it can be taken in the result's width */
    e->text = nv_format(c, "%s - %s * %llu%s", operand(x, child[0], e->wide, P_ADD),
                        operand(x, child[1], e->wide, P_MUL), divisor, suffix(e->wide));
    e->precedence = P_ADD;
    cast = false;
    break;
  default: { /* MINIMUM, MAXIMUM */
    const bool wide = inner || x->entries[child[1]].wide;
    e->text = nv_format(c, "metal::%s(%s, %s)", e->kind == MINIMUM ? "min" : "max", operand(x, child[0], wide, P_AND),
                        operand(x, child[1], wide, P_AND));
    e->precedence = P_PRIMARY;
    u = suffix(wide);
    cast = wide != e->wide;
    break;
  }
  }
  if (e->bias && e->kind != MASK && e->kind != REMAINDER) {
    e->text = nv_format(c, e->precedence >= P_ADD ? "%s - %lld%s" : "(%s) - %lld%s", e->text, (long long)e->bias, u);
    e->precedence = P_ADD;
  }
  if (cast) {
    e->text = nv_format(c, "%s(%s)", e->wide ? "ulong" : "uint", e->text);
    e->precedence = P_PRIMARY;
  }
}

/* Children before parents, by an explicit stack: how deep divisions nest is the user's choice. */
static void sort(nv_index *x) {
  nv_ctx *c = x->c;
  NV_GROW(c, x->order, x->order_cap, (size_t)x->nentries + 1);
  uint32_t *stack = NULL, *next = NULL, cap = 0, next_cap = 0, depth;
  bool *seen = NULL;
  uint32_t seen_cap = 0;
  NV_GROW(c, stack, cap, (size_t)x->nentries + 1);
  NV_GROW(c, next, next_cap, (size_t)x->nentries + 1);
  NV_GROW(c, seen, seen_cap, (size_t)x->nentries + 1);
  memset(seen, 0, x->nentries);
  for (uint32_t root = 0; root < x->nentries; root++) {
    if (seen[root]) continue;
    seen[root] = true;
    stack[0] = root;
    next[0] = 0;
    depth = 1;
    while (depth) {
      const uint32_t k = stack[depth - 1];
      const nv_index_entry *e = &x->entries[k];
      if (next[depth - 1] < e->nchildren) {
        const uint32_t child = x->pool[e->first_child + next[depth - 1]++];
        if (seen[child]) continue;
        seen[child] = true;
        stack[depth] = child;
        next[depth++] = 0;
      } else {
        x->order[x->norder++] = k;
        depth--;
      }
    }
  }
  nv_drop(c, stack);
  nv_drop(c, next);
  nv_drop(c, seen);
}

void nv_index_declare(nv_index *x, nv_buf *b, uint32_t indent, nv_dim except) {
  nv_ctx *c = x->c;
  if (x->norder != x->nentries) sort(x);
  for (uint32_t i = 0; i < x->norder; i++) {
    nv_index_entry *e = &x->entries[x->order[i]];
    if (e->placed || (except != NV_NONE && nv_dim_uses(c, e->dim, except))) continue;
    make_text(x, x->order[i]);
    e->placed = true;
    if (e->kind == CONSTANT || e->kind == SYMBOL || e->kind == FIELD) continue;
    if (e->uses < 2 && e->kind != DIVIDE && e->kind != OPEN_DIVIDE && strlen(e->text) <= LONGEST_INLINE) continue;
    const char *base = e->kind == DIVIDE || e->kind == OPEN_DIVIDE || e->kind == SHIFT     ? "q"
                       : e->kind == MASK || e->kind == REMAINDER || e->kind == OPEN_REMAINDER ? "r"
                                                                 : "at";
    const char *name = nv_names_fresh(x->names, base);
    const uint32_t start = b->n;
    nv_line(b, indent, "%s %s = %s;", e->wide ? "ulong" : "uint", name, e->text);
    if (e->kind == DIVIDE && !e->bias) { /* say what the multiplication means */
      const nv_index_entry *dividend = &x->entries[x->pool[e->first_child]];
      const char *text = nv_format(c, dividend->precedence == P_PRIMARY ? " // %s / %llu" : " // (%s) / %llu",
                                   dividend->text, (unsigned long long)e->divisor);
      if (b->n - start + strlen(text) <= NV_COLUMNS) {
        b->n--; /* the line's end */
        nv_puts(b, text);
        nv_putc(b, '\n');
      }
    }
    e->text = name;
    e->precedence = P_PRIMARY;
  }
}

const char *nv_index_text(nv_index *x, nv_dim offset) {
  const uint32_t k = find(x, offset);
  if (k == NV_NONE || !x->entries[k].placed) nv_bug(x->c, "an offset is used before its variables");
  return x->entries[k].text;
}

const char *nv_index_term(nv_index *x, nv_dim offset) {
  const char *text = nv_index_text(x, offset);
  return x->entries[find(x, offset)].precedence >= P_ADD ? text : nv_format(x->c, "(%s)", text);
}

/* ---- fields ---- */

static bool has_field(const nv_index *x, const char *name) {
  for (uint32_t k = 0; k < x->fields->n; k++)
    if (!strcmp(x->fields->list[k].name, name)) return true;
  return false;
}

static const char *field_text(nv_index *x, nv_attr expr, nv_dtype d) {
  nv_ctx *c = x->c;
  for (uint32_t k = 0; k < x->fields->n; k++)
    if (x->fields->list[k].field.expr == expr && x->fields->list[k].field.dtype == (uint8_t)d)
      return nv_format(c, "sizes.%s", x->fields->list[k].name);
  nv_buf b;
  nv_buf_init(&b, c);
  nv_put_size(&b, expr);
  const char *text = nv_keep(&b);
  const bool named = d == NV_I64 && nv_msl_ident(text, strlen(text)) && !has_field(x, text);
  const char *name = named ? text : nv_format(c, "n%u", (unsigned)x->fields->n);
  while (!named && has_field(x, name)) name = nv_format(c, "%sn", name);
  if (x->fields->n == NV_MOST_FIELDS)
    nv_raise(c, NUVECC_SPEC, "not supported yet: a kernel that is given more than %d sizes", NV_MOST_FIELDS);
  NV_GROW(c, x->fields->list, x->fields->cap, (size_t)x->fields->n + 1);
  nv_index_field *f = &x->fields->list[x->fields->n];
  *f = (nv_index_field){{expr, (uint8_t)d}, name, named ? NULL : text};
  x->fields->n++;
  return nv_format(c, "sizes.%s", f->name);
}

const char *nv_index_size(nv_index *x, nv_dim d, bool wide) {
  int64_t v;
  if (nv_dim_is_const(x->c, d, &v)) return nv_format(x->c, "%lld%s", (long long)v, suffix(wide));
  const char *text = field_text(x, nv_size_of_dim(x->c, d), NV_I64);
  return wide ? text : nv_format(x->c, "uint(%s)", text);
}

const char *nv_index_number(nv_index *x, nv_attr expr, nv_dtype d) {
  nv_ctx *c = x->c;
  const char *text = field_text(x, expr, d);
  switch (d) {
  case NV_BOOL: return nv_format(c, "%s != 0ul", text);
  case NV_F32: return nv_format(c, "as_type<float>(uint(%s))", text);
  case NV_F16:
  case NV_BF16: return nv_format(c, "as_type<%s>(ushort(%s))", nv_msl_type(d), text);
  case NV_C64: return nv_format(c, "float2(as_type<float>(uint(%s)), as_type<float>(uint(%s >> 32)))", text, text);
  default: return nv_format(c, "%s(%s)", nv_msl_type(d), text);
  }
}

void nv_index_put_fields(const nv_index *x, nv_buf *b, const char *stem) {
  enum { LONGEST = 80 };
  nv_printf(b, "struct %s_sizes {\n", stem);
  for (uint32_t k = 0; k < x->fields->n; k++) {
    const char *text = x->fields->list[k].text;
    nv_printf(b, "  ulong %s;", x->fields->list[k].name);
    if (text) nv_printf(b, strlen(text) > LONGEST ? " // %.*s..." : " // %.*s", LONGEST, text);
    nv_putc(b, '\n');
  }
  nv_puts(b, "};\n");
}
