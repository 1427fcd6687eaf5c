/* metal_index.c - dims over iteration symbols as unsigned arithmetic: 32-bit where the values allow it, without /
 * and %.
 *
 * Every dim that occurs, and every atom in it, is an entry. A sum's children are its atoms; a division's or
 * remainder's child is the dividend (and the quotient); a minimum's the two sides. What is used twice, is long, or
 * takes a multiplication by a magic constant gets a variable. Sums may wrap on the way: their value is what counts.
 * Dividends and sides of a minimum that can be negative are moved up by a multiple of the divisor first; a quotient
 * or minimum that is negative itself stands for its value modulo 2^32 or 2^64. */
#include "metal.h"

enum { CONSTANT, SYMBOL, SUM, SHIFT, DIVIDE, MASK, REMAINDER, MINIMUM, MAXIMUM }; /* kinds */
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

void nv_index_init(nv_index *x, nv_ctx *c, nv_names *names) { *x = (nv_index){.c = c, .names = names}; }

void nv_index_drop(nv_index *x) {
  nv_drop(x->c, x->entries);
  nv_drop(x->c, x->pool);
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

static void bounds(nv_ctx *c, nv_dim d, int64_t *lo, int64_t *hi) {
  nv_dim_bounds(c, d, lo, hi);
  if (*lo == INT64_MIN || *hi == INT64_MAX)
    nv_raise(c, NUVECC_SPEC, "not supported yet: sizes known at run time only");
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

static void expand_division(nv_index *x, uint32_t k, const nv_atom *atom) {
  nv_ctx *c = x->c;
  int64_t divisor, lo, hi;
  if (!nv_dim_is_const(c, atom->b, &divisor) || divisor <= 0)
    nv_raise(c, NUVECC_SPEC, "not supported yet: sizes known at run time only");
  bounds(c, atom->a, &lo, &hi);
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
  bounds(c, atom->a, &lo, &hi);
  bounds(c, atom->b, &other, &hi);
  if (other < lo) lo = other;
  const nv_dim up = nv_dim_const(c, lo < 0 ? -lo : 0);
  x->entries[k].kind = atom->kind == NV_ATOM_MIN ? MINIMUM : MAXIMUM;
  x->entries[k].bias = lo < 0 ? -lo : 0;
  add_child(x, k, nv_dim_add(c, atom->a, up));
  add_child(x, k, nv_dim_add(c, atom->b, up));
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
  bounds(c, d, &lo, &hi);
  x->entries[k].wide = (hi >= NARROW || lo < -NARROW) && !x->entries[k].narrow;
  x->entries[k].negative = lo < 0;
  if (!single_atom(c, d, &atom)) {
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
  } else if (atom.kind == NV_ATOM_FLOORDIV || atom.kind == NV_ATOM_MOD) {
    expand_division(x, k, &atom);
  } else if (atom.kind == NV_ATOM_MIN || atom.kind == NV_ATOM_MAX) {
    expand_minimum(x, k, &atom);
  } else {
    nv_raise(c, NUVECC_SPEC, "not supported yet: sizes known at run time only");
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
    if (!e->text) nv_raise(c, NUVECC_SPEC, "not supported yet: sizes known at run time only");
    e->precedence = P_PRIMARY;
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
    if (e->kind == CONSTANT || e->kind == SYMBOL) continue;
    if (e->uses < 2 && e->kind != DIVIDE && strlen(e->text) <= LONGEST_INLINE) continue;
    const char *base = e->kind == DIVIDE || e->kind == SHIFT     ? "q"
                       : e->kind == MASK || e->kind == REMAINDER ? "r"
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
