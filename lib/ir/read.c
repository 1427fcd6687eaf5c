/* read.c - the reader of printed graphs. Its text may come from anywhere: everything is checked, nothing recurses. */
#include "data.h"
#include "sizes.h"

typedef struct declared {
  nv_str name;
  nv_dim symbol;
} declared;

typedef struct reader {
  nv_ctx *c;
  nv_graph *g;
  const char *p, *end; /* of the current line: what is left */
  const char *why;     /* NULL: nothing wrong so far */
  declared *symbols;
  uint32_t nsymbols, symbols_cap;
  nv_map symbol_map, origin_map;
  nv_dim *values; /* stacks of the expression reader */
  char *operators;
  uint32_t values_cap, operators_cap;
} reader;

static bool bad(reader *r, const char *format, ...) NV_PRINTF(2, 3);
static bool bad(reader *r, const char *format, ...) {
  va_list ap;
  va_start(ap, format);
  if (!r->why) r->why = nv_vformat(r->c, format, ap);
  va_end(ap);
  return false;
}

/* ---- words ---- */

static bool is_letter(char ch) { return (ch >= 'a' && ch <= 'z') || (ch >= 'A' && ch <= 'Z') || ch == '_'; }
static bool is_digit(char ch) { return ch >= '0' && ch <= '9'; }

static void blanks(reader *r) {
  while (r->p < r->end && (*r->p == ' ' || *r->p == '\t' || *r->p == '\r')) r->p++;
}

/* The next character after blanks; NUL at the end of the line. */
static char peek(reader *r) {
  blanks(r);
  return r->p < r->end ? *r->p : 0;
}

static bool take(reader *r, char ch) {
  if (peek(r) != ch) return false;
  r->p++;
  return true;
}

static bool want(reader *r, char ch) { return take(r, ch) || bad(r, "'%c' is missing", ch); }

/* The next word of letters and digits; false: there is none. */
static bool word(reader *r, const char **text, size_t *n) {
  blanks(r);
  const char *start = r->p;
  if (start < r->end && is_letter(*start))
    while (r->p < r->end && (is_letter(*r->p) || is_digit(*r->p))) r->p++;
  *text = start;
  *n = (size_t)(r->p - start);
  return *n > 0;
}

static bool same(const char *text, size_t n, const char *z) {
  return strlen(z) == n && memcmp(text, z, n) == 0;
}

static int hex(char ch) {
  return is_digit(ch)             ? ch - '0'
         : ch >= 'a' && ch <= 'f' ? ch - 'a' + 10
         : ch >= 'A' && ch <= 'F' ? ch - 'A' + 10
                                  : -1;
}

/* A string as nv_put_json writes it. */
static bool string(reader *r, nv_str *out) {
  nv_buf b;
  nv_buf_init(&b, r->c);
  if (!want(r, '"')) return false;
  for (;;) {
    if (r->p == r->end) return bad(r, "a string doesn't end");
    char ch = *r->p++;
    if (ch == '"') break;
    if (ch != '\\') {
      nv_putc(&b, ch);
      continue;
    }
    ch = r->p < r->end ? *r->p++ : 0;
    if (ch == '"' || ch == '\\') {
      nv_putc(&b, ch);
    } else if (ch == 'n' || ch == 't') {
      nv_putc(&b, ch == 'n' ? '\n' : '\t');
    } else if (ch == 'u' && r->end - r->p >= 4 && r->p[0] == '0' && r->p[1] == '0' && hex(r->p[2]) >= 0 &&
               hex(r->p[2]) < 8 && hex(r->p[3]) >= 0) {
      nv_putc(&b, (char)(hex(r->p[2]) * 16 + hex(r->p[3])));
      r->p += 4;
    } else {
      return bad(r, "a string has an unknown escape");
    }
  }
  *out = nv_intern(r->c, b.p ? b.p : "", b.n);
  nv_drop(r->c, b.p);
  return true;
}

/* An identifier or a string. */
static bool name(reader *r, nv_str *out) {
  const char *text;
  size_t n;
  if (peek(r) == '"') return string(r, out);
  if (!word(r, &text, &n)) return bad(r, "a name is missing");
  *out = nv_intern(r->c, text, n);
  return true;
}

/* A size's name: dots may stand in it. */
static bool symbol_name(reader *r, nv_str *out) {
  if (!is_letter(peek(r))) return name(r, out);
  const char *start = r->p;
  while (r->p < r->end && (is_letter(*r->p) || is_digit(*r->p) || *r->p == '.')) r->p++;
  *out = nv_intern(r->c, start, (size_t)(r->p - start));
  return true;
}

/* A decimal integer, with a sign where negative is true. */
static bool integer(reader *r, bool negative, int64_t *out) {
  bool minus = negative && take(r, '-');
  uint64_t v = 0, most = minus ? UINT64_C(1) << 63 : INT64_MAX;
  if (!is_digit(peek(r))) return bad(r, "a number is missing");
  for (; r->p < r->end && is_digit(*r->p); r->p++) {
    uint64_t digit = (uint64_t)(*r->p - '0');
    if (v > (most - digit) / 10) return bad(r, "a number is too large");
    v = 10 * v + digit;
  }
  *out = minus ? (int64_t)(0 - v) : (int64_t)v;
  return true;
}

/* ---- size expressions: an operator-precedence reader with two stacks ---- */

/* Operators on the stack: + - ~ (a sign: 0 - x) * / (floor-division) % ( and calls i (min) a (max) b (bcast), which
 * become I A B behind their comma. */
static int binding(char op) {
  return op == '+' || op == '-' ? 1 : op == '*' || op == '/' || op == '%' ? 2 : op == '~' ? 3 : 0;
}

static bool apply(reader *r, char op, uint32_t *nvalues) {
  nv_ctx *c = r->c;
  nv_dim b = r->values[--*nvalues], *a = &r->values[*nvalues - 1];
  int64_t v;
  if ((op == '/' || op == '%') && nv_dim_is_const(c, b, &v) && v == 0)
    return bad(r, "a size divides by zero");
  switch (op) {
  case '+': *a = nv_dim_add(c, *a, b); break;
  case '-':
  case '~': *a = nv_dim_sub(c, *a, b); break;
  case '*': *a = nv_dim_mul(c, *a, b); break;
  case '/': *a = nv_dim_floordiv(c, *a, b); break;
  case '%': *a = nv_dim_mod(c, *a, b); break;
  case 'I': *a = nv_dim_min(c, *a, b); break;
  case 'A': *a = nv_dim_max(c, *a, b); break;
  default: *a = nv_dim_bcast(c, *a, b);
  }
  return true;
}

static void push_value(reader *r, uint32_t *n, nv_dim d) {
  NV_GROW(r->c, r->values, r->values_cap, (size_t)*n + 1);
  r->values[(*n)++] = d;
}

static void push_operator(reader *r, uint32_t *n, char op) {
  NV_GROW(r->c, r->operators, r->operators_cap, (size_t)*n + 1);
  r->operators[(*n)++] = op;
}

static bool symbol(reader *r, nv_str id, nv_dim *out) {
  uint32_t at = 0, k;
  while ((k = nv_map_next(&r->symbol_map, nv_hash(&id, sizeof id, 0), &at)) != NV_NONE) {
    if (r->symbols[k].name != id) continue;
    *out = r->symbols[k].symbol;
    return true;
  }
  return bad(r, "size '%s' isn't declared by a dim line", nv_text(r->c, id));
}

/* Reads operands: numbers, symbols, signs and opening brackets, up to the first complete operand. */
static bool dim_operand(reader *r, uint32_t *nvalues, uint32_t *noperators) {
  for (bool first = true;; first = false) {
    char ch = peek(r);
    nv_dim d = 0;
    if (is_digit(ch)) {
      int64_t v;
      if (!integer(r, false, &v)) return false;
      push_value(r, nvalues, nv_dim_const(r->c, v));
      return true;
    }
    if (ch == '(') {
      r->p++;
      push_operator(r, noperators, '(');
      continue;
    }
    if (ch == '-' &&
        (*noperators == 0 || !binding(r->operators[*noperators - 1]))) { /* starts an expression */
      r->p++;
      push_value(r, nvalues, nv_dim_const(r->c, 0));
      push_operator(r, noperators, '~');
      continue;
    }
    if (ch != '"' && !is_letter(ch)) return bad(r, first ? "a size is missing" : "a size isn't complete");
    const char *start = r->p;
    nv_str id;
    if (!symbol_name(r, &id)) return false;
    size_t n = (size_t)(r->p - start);
    char call = same(start, n, "min") ? 'i' : same(start, n, "max") ? 'a' : same(start, n, "bcast") ? 'b' : 0;
    if (call && take(r, '(')) {
      push_operator(r, noperators, call);
      continue;
    }
    if (!symbol(r, id, &d)) return false;
    push_value(r, nvalues, d);
    return true;
  }
}

static bool dim(reader *r, nv_dim *out) {
  uint32_t nvalues = 0, noperators = 0;
  if (!dim_operand(r, &nvalues, &noperators)) return false;
  for (;;) {
    char ch = peek(r);
    char op = ch == '~' || (ch == '/' && (r->end - r->p < 2 || r->p[1] != '/')) ? 0 : ch;
    if (binding(op)) {
      r->p += op == '/' ? 2 : 1;
      while (noperators && binding(r->operators[noperators - 1]) >= binding(op))
        if (!apply(r, r->operators[--noperators], &nvalues)) return false;
      push_operator(r, &noperators, op);
      if (!dim_operand(r, &nvalues, &noperators)) return false;
      continue;
    }
    while (noperators && binding(r->operators[noperators - 1]))
      if (!apply(r, r->operators[--noperators], &nvalues)) return false;
    if (noperators == 0) break; /* a comma or bracket that belongs to the shape, or something wrong there */
    char *open = &r->operators[noperators - 1];
    r->p += ch == ',' || ch == ')';
    if (ch == ',' && (*open == 'i' || *open == 'a' || *open == 'b')) {
      *open = *open == 'i' ? 'I' : *open == 'a' ? 'A' : 'B';
      if (!dim_operand(r, &nvalues, &noperators)) return false;
    } else if (ch == ')' && *open == '(') {
      noperators--;
    } else if (ch == ')' && (*open == 'I' || *open == 'A' || *open == 'B')) {
      if (!apply(r, *open, &nvalues)) return false;
      noperators--;
    } else {
      return bad(r, "a size has a bracket that doesn't close");
    }
  }
  *out = r->values[0];
  return true;
}

/* ---- parts of a line ---- */

static bool type(reader *r, nv_dtype *dtype, nv_shape *shape) {
  const char *text;
  size_t n;
  nv_dim dims[NV_MAX_RANK];
  uint32_t rank = 0;
  if (!want(r, ':')) return false;
  if (!word(r, &text, &n)) return bad(r, "a dtype is missing");
  int d = nv_dtype_find(text, n);
  if (d < 0) return bad(r, "'%.*s' is no dtype", n > 40 ? 40 : (int)n, text);
  if (!want(r, '[')) return false;
  while (!take(r, ']')) {
    if (rank && !want(r, ',')) return false;
    if (rank == NV_MAX_RANK) return bad(r, "rank is above %d", NV_MAX_RANK);
    if (!dim(r, &dims[rank++])) return false;
  }
  *dtype = (nv_dtype)d;
  *shape = nv_shape_make(r->c, dims, rank);
  if (!nv_shape_fits(r->c, *shape))
    return bad(r, "%s has more than 2^48 elements or a negative size", nv_shape_text(r->c, *shape));
  return true;
}

static bool value(reader *r, nv_value *out) {
  int64_t v;
  if (!want(r, '%') || !integer(r, false, &v)) return false;
  if (v >= (int64_t)r->g->nvalues) return bad(r, "%%%lld isn't defined yet", (long long)v);
  *out = (nv_value)v;
  return true;
}

/* The origin of these parts, made when new. */
static uint32_t origin_of(reader *r, uint32_t parent, nv_str function, nv_str own, uint32_t ordinal) {
  const uint32_t key[4] = {parent, function, own, ordinal};
  uint64_t hash = nv_hash(key, sizeof key, 0);
  uint32_t at = 0, k;
  while ((k = nv_map_next(&r->origin_map, hash, &at)) != NV_NONE) {
    const nv_origin *o = &r->g->origins[k];
    if (o->parent == parent && o->function == function && o->name == own && o->ordinal == ordinal) return k;
  }
  k = nv_graph_origin(r->g, parent, function, own, ordinal, NV_NOWHERE);
  nv_map_add(r->c, &r->origin_map, hash, k);
  return k;
}

/* The comment: for a constant its value, which is skipped, then the origin; NV_NONE where there is none. */
static bool origin(reader *r, bool skip_value, uint32_t *out) {
  *out = NV_NONE;
  if (!take(r, '#')) return true;
  blanks(r);
  if (skip_value)
    while (r->p < r->end && *r->p != ' ') r->p++;
  if (peek(r) == 0) return true;
  do {
    nv_str function, own = 0;
    int64_t ordinal = 0;
    if (!name(r, &function) || (take(r, '.') && !name(r, &own))) return false;
    if (take(r, '#') && !integer(r, false, &ordinal)) return false;
    if (ordinal > UINT32_MAX) return bad(r, "a number is too large");
    *out = origin_of(r, *out, function, own, (uint32_t)ordinal);
  } while (take(r, '/'));
  return true;
}

/* ---- lines ---- */

static bool dim_line(reader *r) {
  nv_str id;
  int64_t min, max;
  if (r->g->nnodes) return bad(r, "a dim line stands behind a node");
  if (!symbol_name(r, &id) || !integer(r, true, &min) || !want(r, '.') || !want(r, '.') ||
      !integer(r, true, &max))
    return false;
  if (min > max) return bad(r, "a dim's bounds are empty");
  uint64_t hash = nv_hash(&id, sizeof id, 0);
  uint32_t at = 0, k;
  while ((k = nv_map_next(&r->symbol_map, hash, &at)) != NV_NONE)
    if (r->symbols[k].name == id) return bad(r, "size '%s' is declared twice", nv_text(r->c, id));
  NV_GROW(r->c, r->symbols, r->symbols_cap, (size_t)r->nsymbols + 1);
  r->symbols[r->nsymbols] = (declared){id, nv_dim_symbol(r->c, id, min, max)};
  nv_map_add(r->c, &r->symbol_map, hash, r->nsymbols++);
  return true;
}

static bool input_line(reader *r) {
  nv_str id;
  nv_dtype dtype;
  nv_shape shape;
  if (r->g->nnodes != r->g->ninputs) return bad(r, "an input stands behind another node");
  if (!string(r, &id) || !type(r, &dtype, &shape)) return false;
  nv_graph_input(r->g, id, dtype, shape, NV_NOWHERE);
  return true;
}

/* Hexadecimal digits behind 0x; how many. */
static uint32_t hex_digits(reader *r, uint64_t *bits) {
  uint32_t digits = 0;
  for (*bits = 0; r->p < r->end && hex(*r->p) >= 0; r->p++, digits++) *bits = *bits << 4 | (uint64_t)hex(*r->p);
  return digits;
}

static bool const_line(reader *r) {
  uint64_t bits;
  nv_dtype dtype;
  nv_shape shape;
  uint32_t from;
  if (!want(r, '0') || r->p == r->end || *r->p++ != 'x') return bad(r, "a constant is written 0x…");
  const uint32_t digits = hex_digits(r, &bits);
  if (!type(r, &dtype, &shape)) return false;
  if (digits != 2u * nv_dtype_size[dtype])
    return bad(r, "a %s has %d digits", nv_dtype_name[dtype], 2 * nv_dtype_size[dtype]);
  if (dtype == NV_BOOL && bits > 1) return bad(r, "a bool is 0x00 or 0x01");
  if (nv_shape_rank(r->c, shape) != 0) return bad(r, "a constant has rank 0");
  if (!origin(r, true, &from)) return false;
  nv_graph_const(r->g, dtype, bits, from);
  return true;
}

/* Its content isn't part of the text. */
static bool data_line(reader *r) {
  uint64_t hash;
  nv_dtype dtype;
  nv_shape shape;
  uint32_t from;
  if (!want(r, '0') || r->p == r->end || *r->p++ != 'x' || hex_digits(r, &hash) != 16)
    return bad(r, "a constant array is written 0x and 16 digits");
  const uint32_t id = nv_data_find(r->c, hash);
  const int64_t attr = id;
  if (!type(r, &dtype, &shape)) return false;
  if (id == NV_NONE || nv_data_at(r->c, id)->dtype != dtype || nv_data_at(r->c, id)->shape != shape)
    return bad(r, "no such constant array is known");
  if (!origin(r, true, &from)) return false;
  nv_graph_add(r->g, NV_OP_DATA, NULL, 0, nv_attr_make(r->c, &attr, 1), dtype, shape, from);
  return true;
}

/* One part behind an @: its name. */
static bool size_operator(reader *r, int64_t *part) {
  const char *text;
  size_t n;
  if (!word(r, &text, &n)) return bad(r, "an operation on sizes is missing");
  part[0] = nv_size_find(text, n);
  part[1] = 0;
  if (part[0] == NV_SIZE_POWER) return integer(r, true, &part[1]);
  if (part[0] != NV_NSIZE_KINDS) return true;
  return bad(r, "'%.*s' is no operation on sizes", n > 40 ? 40 : (int)n, text);
}

static bool size_line(reader *r) {
  int64_t *list = NULL;
  uint32_t n = 0, cap = 0, from;
  nv_dtype dtype;
  nv_shape shape;
  do {
    int64_t part[2] = {NV_SIZE_DIM, 0};
    nv_dim d;
    const char ch = peek(r);
    if (ch == '@') {
      r->p++;
      if (!size_operator(r, part)) return false;
    } else if (ch == '0' && r->end - r->p > 1 && r->p[1] == 'x') {
      uint64_t bits;
      r->p += 2;
      if (hex_digits(r, &bits) != 16) return bad(r, "a double has 16 digits");
      part[0] = NV_SIZE_DOUBLE;
      part[1] = (int64_t)bits;
    } else {
      if (!dim(r, &d)) return false;
      part[1] = d;
    }
    NV_GROW(r->c, list, cap, (size_t)n + 2);
    list[n++] = part[0];
    list[n++] = part[1];
  } while (take(r, ','));
  if (!type(r, &dtype, &shape) || !origin(r, false, &from)) return false;
  const nv_attr attr = nv_attr_make(r->c, list, n);
  nv_drop(r->c, list);
  if (!nv_size_is_valid(r->c, attr)) return bad(r, "a size's operations lack operands, or leave some");
  if (nv_shape_rank(r->c, shape) != 0) return bad(r, "a size has rank 0");
  nv_graph_add(r->g, NV_OP_SIZE, NULL, 0, attr, dtype, shape, from);
  return true;
}

static bool source_line(reader *r) {
  nv_str id;
  nv_value v;
  nv_source s = {0};
  int64_t axis;
  if (!symbol_name(r, &id) || !symbol(r, id, &s.symbol) || !value(r, &v) || !integer(r, false, &axis) ||
      !integer(r, true, &s.factor) || !integer(r, true, &s.offset))
    return false;
  if (nv_node_of(r->g, v)->op != NV_OP_INPUT) return bad(r, "a size is read off an input");
  s.input = r->g->values[v].node;
  const nv_shape shape = nv_shape_at(r->g, v);
  if (axis >= (int64_t)nv_shape_rank(r->c, shape)) return bad(r, "the input has no axis %lld", (long long)axis);
  s.axis = (uint32_t)axis;
  const nv_dim want = nv_dim_add(r->c, nv_dim_mul(r->c, s.symbol, nv_dim_const(r->c, s.factor)),
                                 nv_dim_const(r->c, s.offset));
  if (s.factor < 1 || nv_shape_dims(r->c, shape)[s.axis] != want)
    return bad(r, "that axis has another size than the source says");
  for (uint32_t k = 0; k < r->g->nsources; k++)
    if (r->g->sources[k].symbol == s.symbol) return bad(r, "size '%s' has two sources", nv_text(r->c, id));
  NV_GROW(r->c, r->g->sources, r->g->sources_cap, (size_t)r->g->nsources + 1);
  r->g->sources[r->g->nsources++] = s;
  return true;
}

static bool guard_line(reader *r) {
  nv_dim a, b;
  uint32_t from, before = r->g->nguards;
  nv_relation relation;
  if (!dim(r, &a)) return false;
  const char ch = peek(r), next = r->end - r->p > 1 ? r->p[1] : 0;
  if (ch == '~') relation = next == '>' ? NV_REPEATS : NV_BROADCASTS;
  else if (ch == '=' && next == '=') relation = NV_EQUAL;
  else if (ch == '<' && next == '=') relation = NV_AT_MOST;
  else return bad(r, "a guard says ==, ~, ~> or <=");
  r->p += relation == NV_BROADCASTS ? 1 : 2;
  if (!dim(r, &b) || !origin(r, false, &from)) return false;
  if (!nv_graph_guard(r->g, relation, a, b, from)) return bad(r, "a guard never holds");
  return r->g->nguards > before || bad(r, "a guard always holds, or stands there already");
}

static bool op_line(reader *r, nv_op op) {
  nv_value operands[NV_MAX_OPERANDS];
  int64_t *list = NULL;
  uint32_t n = 0, nlist = 0, list_cap = 0, from;
  nv_dtype dtype, inferred;
  nv_shape shape, shape_inferred;
  const char *why = NULL;
  while (peek(r) == '%' || (n && peek(r) == ',')) {
    if (n && !want(r, ',')) return false;
    if (n == NV_MAX_OPERANDS) return bad(r, "%s has more than %d operands", nv_ops[op].name, NV_MAX_OPERANDS);
    if (!value(r, &operands[n++])) return false;
  }
  if (take(r, '{')) {
    while (!take(r, '}')) {
      int64_t v;
      if (nlist && !want(r, ',')) return false;
      if (!integer(r, true, &v)) return false;
      NV_GROW(r->c, list, list_cap, (size_t)nlist + 1);
      list[nlist++] = v;
    }
  }
  if (!type(r, &dtype, &shape) || !origin(r, false, &from)) return false;
  nv_attr attr = nv_attr_make(r->c, list, nlist);
  nv_drop(r->c, list);
  shape_inferred = shape;
  if (!nv_infer(r->g, op, operands, n, attr, &inferred, &shape_inferred, &why)) return bad(r, "%s", why);
  if (inferred != dtype || shape_inferred != shape)
    return bad(r, "%s gives %s%s, not %s%s", nv_ops[op].name, nv_dtype_name[inferred],
               nv_shape_text(r->c, shape_inferred), nv_dtype_name[dtype], nv_shape_text(r->c, shape));
  nv_graph_add(r->g, op, operands, n, attr, dtype, shape, from);
  return true;
}

static bool node_line(reader *r) {
  uint32_t results = 0;
  const char *text;
  size_t n;
  do {
    int64_t v;
    if (!want(r, '%') || !integer(r, false, &v)) return false;
    if (v != (int64_t)r->g->nvalues + results)
      return bad(r, "the next value is %%%u", r->g->nvalues + results);
    results++;
  } while (take(r, ','));
  if (!want(r, '=')) return false;
  if (!word(r, &text, &n)) return bad(r, "an op is missing");
  uint32_t op = 0;
  while (op < NV_NOPS && !same(text, n, nv_ops[op].name)) op++;
  if (op == NV_NOPS) return bad(r, "'%.*s' is no op", n > 40 ? 40 : (int)n, text);
  if (results != nv_op_results((nv_op)op))
    return bad(r, "%s has %u result%s", nv_ops[op].name, nv_op_results((nv_op)op),
               nv_op_results((nv_op)op) == 1 ? "" : "s");
  return op == NV_OP_INPUT   ? input_line(r)
         : op == NV_OP_CONST ? const_line(r)
         : op == NV_OP_SIZE  ? size_line(r)
         : op == NV_OP_DATA  ? data_line(r)
                             : op_line(r, (nv_op)op);
}

static bool output_line(reader *r) {
  nv_str id;
  nv_value v;
  if (!string(r, &id) || !want(r, '=') || !value(r, &v)) return false;
  nv_graph_output(r->g, v, id, NV_NOWHERE);
  return true;
}

static bool read_line(reader *r) {
  const char *text;
  size_t n;
  char ch = peek(r);
  bool read;
  if (ch == 0 || ch == '#') return true;
  if (!r->g) {
    nv_str id;
    if (!word(r, &text, &n) || !same(text, n, "graph"))
      return bad(r, "the text doesn't start with 'graph NAME'");
    read = name(r, &id);
    if (read) r->g = nv_graph_new(r->c, id);
  } else if (ch == '%') {
    read = r->g->noutputs ? bad(r, "a node stands behind an output") : node_line(r);
  } else if (!word(r, &text, &n)) {
    return bad(r, "a line starts with %%, dim, source, guard or output");
  } else if (same(text, n, "dim")) {
    read = dim_line(r);
  } else if (same(text, n, "source")) {
    read = source_line(r);
  } else if (same(text, n, "guard")) {
    read = guard_line(r);
  } else if (same(text, n, "output")) {
    read = output_line(r);
  } else {
    return bad(r, "a line starts with %%, dim, source, guard or output");
  }
  if (!read) return false;
  ch = peek(r);
  return ch == 0 || ch == '#' || bad(r, "the line goes on behind its end");
}

nv_graph *nv_graph_read(nv_ctx *c, const char *text, size_t n, const char **why, uint32_t *line) {
  reader r = {.c = c};
  const char *p = text, *end = text + n;
  *why = NULL;
  for (*line = 1; p < end; ++*line) {
    const char *stop = memchr(p, '\n', (size_t)(end - p));
    r.p = p;
    r.end = stop ? stop : end;
    if (memchr(r.p, 0, (size_t)(r.end - r.p)))
      bad(&r, "the text has a NUL");
    else
      read_line(&r);
    if (r.why) break;
    p = r.end + (stop != NULL);
  }
  if (!r.g && !r.why) bad(&r, "the text doesn't start with 'graph NAME'");
  nv_drop(c, r.symbols);
  nv_drop(c, r.values);
  nv_drop(c, r.operators);
  *why = r.why;
  return r.why ? NULL : r.g;
}
