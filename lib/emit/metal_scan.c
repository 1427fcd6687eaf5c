/* metal_scan.c - SCAN kernels: a simdgroup a line where lines are rows, a thread a line where they are columns; of
 * lines that are cut, a simdgroup or thread a block.
 *
 * The order is the manual's: blocks of 128 elements, four neighbours a thread. A thread joins its four (array a), then
 * what stands to their left in the block, then what stands before the block. In a row the 32 threads of a block are the
 * simdgroup's, and exchange by shuffles. A thread that walks down a column is each of the 32 in turn: it keeps what
 * whole halves of 1, 2, 4, 8 and 16 threads came to. Blocks are joined by the same rule as elements, as they come. */
#include "metal_gen.h"

enum { GROUPS = NV_SCAN_BLOCK / 4, MOST_BLOCKS = NV_SCAN_BLOCK };

typedef struct scanner {
  nv_gen *e;
  nv_op op;
  nv_dtype d, result; /* of partial results, of the scan */
  const char *type;   /* of d */
  int64_t n, blocks;  /* of a line that this kernel walks along */
  bool rows, guarded; /* guarded: of the last block not all elements are there */
  const char *thread; /* number of the thread in its block */
} scanner;

/* ---- how the work is shared ---- */

uint32_t nv_scan_width(nv_ctx *c, const nv_kernel *k) {
  enum { MANY = 64, UNSEEN = -2 };
  const nv_instr *scan = NULL;
  int strides[MANY];
  bool any = false;
  if (k->noperands > MANY || nv_dim_value(c, k->reduce_extent) % 4) return 1;
  for (uint32_t o = 0; o < k->noperands; o++) strides[o] = UNSEEN;
  for (uint32_t i = 0; i < k->ninstrs; i++)
    if (k->instrs[i].kind == NV_I_SCAN) scan = &k->instrs[i];
  for (uint32_t i = 0; i < k->ninstrs; i++) {
    const nv_instr *p = &k->instrs[i];
    if (p->kind == NV_I_INDEX && nv_dim_uses(c, p->offset, k->reduce_symbol)) return 1;
    if (nv_picks(p)) return 1;
    if (!nv_moves(p)) continue;
    if (p->kind == NV_I_STORE ? k->scan.part == NV_SCAN_TOTALS : scan->nargs > 1 && scan->arg[1] == i) continue;
    const int s = nv_stride(c, p->offset, k->reduce_symbol);
    int *before = &strides[p->operand];
    if (s < 0 || (p->kind == NV_I_STORE && s == 0) || nv_dtype_size[p->dtype] > 4) return 1;
    if (*before != UNSEEN && *before != s) return 1; /* every access of a binding moves alike */
    *before = s;
    any = any || s == 1;
  }
  return any ? 4 : 1;
}

bool nv_scan_is_vector(nv_ctx *c, const nv_kernel *k, uint32_t operand) {
  for (uint32_t i = 0; i < k->ninstrs; i++)
    if (nv_moves(&k->instrs[i]) && k->instrs[i].operand == operand)
      return nv_stride(c, k->instrs[i].offset, k->reduce_symbol) == 1;
  return false;
}

void nv_scan_grid(nv_ctx *c, const nv_kernel *k, nv_dim grid[3]) {
  const nv_dim lines = k->extent[0], blocks = nv_dim_const(c, k->scan.blocks);
  int64_t x, y;
  grid[0] = lines;
  grid[1] = grid[2] = NV_DIM_ONE;
  if (k->scan.part == NV_SCAN_WHOLE && !k->scan.columns) {
    nv_row_grid(c, lines, grid);
  } else if (k->scan.part != NV_SCAN_WHOLE) {
    grid[0] = k->scan.columns ? lines : nv_dim_mul(c, blocks, nv_dim_const(c, 32));
    grid[1] = k->scan.columns ? blocks : lines;
  }
  if (nv_dim_value(c, k->reduce_extent) >= NV_NARROW || (nv_dim_is_const(c, grid[0], &x) && x > 32 * NV_ROWS) ||
      (nv_dim_is_const(c, grid[1], &y) && y >= NV_NARROW))
    nv_raise(c, NUVECC_SPEC, "not supported yet: a scan along %lld elements",
             (long long)nv_dim_value(c, k->reduce_extent));
}

const char *nv_scan_words(const nv_kernel *k) {
  const bool whole = k->scan.part == NV_SCAN_WHOLE;
  if (k->scan.columns) return whole ? "a thread a line" : "a thread a block of 128 of a line";
  return whole ? "a simdgroup a line" : "a simdgroup a block of 128 of a line";
}

void nv_gen_scan_symbols(nv_gen *e) {
  static const char *const names[] = {"a",     "group",     "j",     "at",              "step", "other", "both",
                                      "left",  "threads",   "total", "halves",          "own",  "run",   "block_halves",
                                      "whole", "thread_of", "earlier", "thread_of_block"};
  const nv_scan *s = &e->k->scan;
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) nv_names_take(&e->names, names[i]);
  nv_names_take(&e->names, "block");
  nv_names_take(&e->names, "before");
  if (s->part == NV_SCAN_WHOLE) return;
  nv_index_symbol(&e->index, s->block, "block");
  nv_index_symbol(&e->index, s->before, "earlier");
}

/* ---- pieces ---- */

/* Two partial results as one expression, the earlier on the left. */
static const char *join(const scanner *s, const char *left, const char *right) {
  nv_buf b;
  nv_buf_init(&b, s->e->c);
  nv_put_op(&b, s->op, (nv_dtype[]){s->d, s->d}, (const char *const[]){left, right}, 2, s->d);
  return nv_keep(&b);
}

static const char *converted(const scanner *s, nv_dtype from, nv_dtype to, const char *text) {
  nv_buf b;
  nv_buf_init(&b, s->e->c);
  nv_put_astype(&b, from, to, text);
  return nv_keep(&b);
}

/* The value that another lane of the simdgroup holds. */
static const char *shuffled(const scanner *s, const char *value, const char *lane) {
  nv_ctx *c = s->e->c;
  if (s->d == NV_BOOL) return nv_format(c, "metal::simd_shuffle(ushort(%s), ushort(%s)) != 0", value, lane);
  if (nv_dtype_size[s->d] < 8) return nv_format(c, "metal::simd_shuffle(%s, ushort(%s))", value, lane);
  return nv_format(c, /* the shuffles know no 64-bit types */
                   "as_type<%s>(uint2(metal::simd_shuffle(as_type<uint2>(%s).x, ushort(%s)), "
                   "metal::simd_shuffle(as_type<uint2>(%s).y, ushort(%s))))",
                   s->type, value, lane, value, lane);
}

static void open_loop(nv_gen *e, uint32_t *indent, const char *variable, int64_t from, int64_t to) {
  nv_line(e->b, *indent, "for (uint %s = %lldu; %s < %lldu; ++%s) {", variable, (long long)from, variable,
          (long long)to, variable);
  *indent += 2;
}

static void close_block(nv_gen *e, uint32_t *indent) {
  *indent -= 2;
  nv_line(e->b, *indent, "}");
}

static bool uses(const nv_gen *e, nv_dim symbol) {
  for (uint32_t i = 0; i < e->k->ninstrs; i++) {
    const nv_instr *p = &e->k->instrs[i];
    if ((nv_moves(p) || p->kind == NV_I_INDEX) && nv_dim_uses(e->c, p->offset, symbol)) return true;
  }
  return false;
}

/* ---- the four elements of a thread ---- */

static const char *component(const scanner *s) { return s->e->k->scan.reverse ? "3u - j" : "j"; }

/* Opens what stands around the element j of a thread's four, where it isn't moved in a vector, or around all four: its
 * place on the axis. Returns the braces that are open. */
static uint32_t open_element(const scanner *s, uint32_t *indent, bool vector, bool behind) {
  nv_gen *e = s->e;
  const bool same_scope = vector && behind && !s->guarded; /* as what stands before the scan */
  const long long n = (long long)(vector ? s->n / 4 : s->n);
  const char *place = "group", *variable = e->index.variables[1];
  if (!vector) {
    nv_line(e->b, *indent, "uint at = group * 4u + j;");
    place = "at";
  }
  if (s->guarded) {
    nv_line(e->b, *indent, "if (%s < %lldu) {", place, n);
    *indent += 2;
  }
  if (uses(e, e->k->reduce_symbol) && !same_scope) {
    if (e->k->scan.reverse)
      nv_line(e->b, *indent, "uint %s = %lldu - %s;", variable, n - 1, place);
    else
      nv_line(e->b, *indent, "uint %s = %s;", variable, place);
  }
  nv_index_declare(&e->index, e->b, *indent, NV_NONE);
  return s->guarded;
}

static bool is_vector_move(const scanner *s, uint32_t i) {
  const nv_instr *p = &s->e->k->instrs[i];
  return s->e->width == 4 && nv_moves(p) && s->e->vector[p->operand];
}

/* Instructions [from, to) of the element j, loads and stores of vectors aside. */
static void put_element(const scanner *s, uint32_t indent, uint32_t from, uint32_t to) {
  nv_gen *e = s->e;
  for (uint32_t i = from; i < to; i++) {
    const nv_instr *p = &e->k->instrs[i];
    if (!is_vector_move(s, i)) {
      nv_gen_scalar(e, indent, i, i + 1);
    } else if (p->kind == NV_I_STORE) {
      const char *value = e->text[p->arg[0]];
      nv_line(e->b, indent, p->dtype == NV_BOOL ? "%s[%s] = uchar(%s);" : "%s[%s] = %s;", e->text[i], component(s),
              value);
    }
  }
}

static void put_vector_loads(const scanner *s, uint32_t indent, uint32_t from, uint32_t to) {
  nv_gen *e = s->e;
  for (uint32_t i = from; i < to; i++) {
    const nv_instr *p = &e->k->instrs[i];
    if (!is_vector_move(s, i)) continue;
    const char *name = nv_gen_load_name(e, p->operand), *type = nv_gen_vector_type(e, (nv_dtype)p->dtype);
    if (p->kind == NV_I_STORE) {
      nv_line(e->b, indent, "%s %s;", type, name);
      e->text[i] = name;
      continue;
    }
    nv_line(e->b, indent, "%s %s = %s[%s];", type, name, e->buffer[p->operand], nv_index_text(&e->index, e->offset[i]));
    e->text[i] = nv_format(e->c, p->dtype == NV_BOOL ? "(%s[%s] != 0)" : "%s[%s]", name, component(s));
  }
}

static void put_vector_stores(const scanner *s, uint32_t indent, uint32_t from, uint32_t to) {
  nv_gen *e = s->e;
  for (uint32_t i = from; i < to; i++)
    if (is_vector_move(s, i) && e->k->instrs[i].kind == NV_I_STORE)
      nv_line(e->b, indent, "%s[%s] = %s;", e->buffer[e->k->instrs[i].operand], nv_index_text(&e->index, e->offset[i]),
              e->text[i]);
}

/* a[j] becomes what stands before the scan, of the element j. */
static void put_loads(const scanner *s, uint32_t indent) {
  nv_gen *e = s->e;
  const nv_instr *scan = &e->k->instrs[e->inner];
  const nv_dtype from = (nv_dtype)e->k->instrs[scan->arg[0]].dtype;
  const char *zero = nv_gen_literal(e, s->d, 0);
  uint32_t open = 0;
  nv_line(e->b, indent, "%s a[4] = {%s, %s, %s, %s};", s->type, zero, zero, zero, zero);
  if (e->width == 4) {
    open = open_element(s, &indent, true, false);
    put_vector_loads(s, indent, 0, e->inner);
  }
  open_loop(e, &indent, "j", 0, 4);
  if (e->width != 4) open += open_element(s, &indent, false, false);
  put_element(s, indent, 0, e->inner);
  nv_line(e->b, indent, "a[j] = %s;", converted(s, from, s->d, e->text[scan->arg[0]]));
  for (close_block(e, &indent); open; open--) close_block(e, &indent);
}

/* What stands behind the scan, of every element. */
static void put_stores(const scanner *s, uint32_t indent) {
  nv_gen *e = s->e;
  const uint32_t from = e->inner + 1, to = e->k->ninstrs;
  uint32_t open = 0;
  if (e->width == 4) {
    open = open_element(s, &indent, true, true);
    put_vector_loads(s, indent, from, to);
  }
  open_loop(e, &indent, "j", 0, 4);
  if (e->width != 4) open += open_element(s, &indent, false, true);
  e->text[e->inner] = "a[j]";
  if (s->result != s->d) {
    e->text[e->inner] = nv_gen_temporary(e, e->k->instrs[e->inner].value);
    nv_line(e->b, indent, "%s %s = %s;", nv_msl_type(s->result), e->text[e->inner],
            converted(s, s->d, s->result, "a[j]"));
  }
  put_element(s, indent, from, to);
  close_block(e, &indent);
  if (e->width == 4) put_vector_stores(s, indent, from, to);
  for (; open; open--) close_block(e, &indent);
}

/* ---- joining ---- */

/* The next of 32 threads or fewer, whose number is t, came to value: halves keeps what halves did, and into becomes
 * what all threads up to it come to. */
static void put_halves(const scanner *s, uint32_t indent, const char *t, int64_t threads, const char *value,
                       const char *halves, const char *into) {
  nv_gen *e = s->e;
  nv_line(e->b, indent, "%s = %s;", into, value);
  for (uint32_t k = 0; (int64_t)1 << k < threads; k++) {
    const char *half = nv_format(e->c, "%s[%u]", halves, (unsigned)k);
    const unsigned bit = 1u << k;
    nv_line(e->b, indent, "if ((%s & %uu) != 0u) {", t, bit);
    nv_line(e->b, indent + 2, "%s = %s;", into, join(s, half, into));
    if (k == 0)
      nv_line(e->b, indent, "} else {");
    else
      nv_line(e->b, indent, "} else if ((%s & %uu) == %uu) {", t, bit - 1, bit - 1);
    nv_line(e->b, indent + 2, "%s = %s;", half, into);
    nv_line(e->b, indent, "}");
  }
}

static uint32_t count_halves(int64_t threads) {
  uint32_t n = 0;
  while ((int64_t)1 << n < threads) n++;
  return n;
}

/* Variables for what stands before a block: of a line that is walked along. */
static void put_block_state(const scanner *s, uint32_t indent) {
  nv_gen *e = s->e;
  const char *zero = nv_gen_literal(e, s->d, 0);
  nv_line(e->b, indent, "%s before = %s;", s->type, zero);
  if (s->blocks <= 4) return;
  nv_line(e->b, indent, "%s run = %s;", s->type, zero);
  nv_line(e->b, indent, "%s whole = %s;", s->type, zero);
  const uint32_t n = count_halves((s->blocks + 3) / 4);
  if (n) nv_line(e->b, indent, "%s block_halves[%u];", s->type, (unsigned)n);
}

/* The block came to total: what stands before the next one. Blocks are joined as elements are. */
static void put_block(const scanner *s, uint32_t indent, const char *total) {
  nv_gen *e = s->e;
  if (s->blocks <= 4) {
    nv_line(e->b, indent, "before = block == 0u ? %s : %s;", total, join(s, "before", total));
    return;
  }
  nv_line(e->b, indent, "run = (block & 3u) == 0u ? %s : %s;", total, join(s, "run", total));
  nv_line(e->b, indent, "before = block < 4u ? run : %s;", join(s, "whole", "run"));
  nv_line(e->b, indent, "if ((block & 3u) == 3u) {");
  const int64_t threads = (s->blocks + 3) / 4;
  if (count_halves(threads)) nv_line(e->b, indent + 2, "uint thread_of = block >> 2;");
  put_halves(s, indent + 2, "thread_of", threads, "run", "block_halves", "whole");
  nv_line(e->b, indent, "}");
}

static void put_own(const scanner *s, uint32_t indent) {
  nv_gen *e = s->e;
  open_loop(e, &indent, "j", 1, 4);
  nv_line(e->b, indent, "a[j] = %s;", join(s, "a[j - 1u]", "a[j]"));
  close_block(e, &indent);
}

/* The thread's four with what stands to their left (in left, where thread isn't 0), and before the block. */
static void put_joins(const scanner *s, uint32_t indent, const char *has_before) {
  nv_gen *e = s->e;
  const bool exclusive = e->k->scan.exclusive;
  if (exclusive) { /* the element itself is left out */
    nv_line(e->b, indent, "for (uint j = 3u; j > 0u; --j) {");
    nv_line(e->b, indent + 2, "a[j] = a[j - 1u];");
    nv_line(e->b, indent, "}");
    nv_line(e->b, indent, "a[0] = %s;", nv_gen_literal(e, s->d, nv_scan_identity(s->op, s->d)));
  }
  if (s->n > 4) {
    nv_line(e->b, indent, "if (%s > 0u) {", s->thread);
    indent += 2;
    if (exclusive) nv_line(e->b, indent, "a[0] = left;");
    open_loop(e, &indent, "j", exclusive ? 1 : 0, 4);
    nv_line(e->b, indent, "a[j] = %s;", join(s, "left", "a[j]"));
    close_block(e, &indent);
    close_block(e, &indent);
  }
  if (!has_before) return;
  nv_line(e->b, indent, "if (%s) {", has_before);
  indent += 2;
  open_loop(e, &indent, "j", 0, 4);
  if (exclusive)
    nv_line(e->b, indent, "a[j] = (%s | j) == 0u ? before : %s;", s->thread, join(s, "before", "a[j]"));
  else
    nv_line(e->b, indent, "a[j] = %s;", join(s, "before", "a[j]"));
  close_block(e, &indent);
  close_block(e, &indent);
}

/* ---- kernels ---- */

/* Indices of what stands behind the scan, which are declared where it is printed. */
static void prepare_behind(nv_gen *e) {
  const nv_index before = e->index;
  nv_index_drop(&e->index);
  nv_index_init_beside(&e->index, &before);
  for (uint32_t k = 0; k < before.nsymbols; k++) nv_index_symbol(&e->index, before.symbols[k], before.variables[k]);
  for (uint32_t i = e->inner + 1; i < e->k->ninstrs; i++) {
    const nv_instr *p = &e->k->instrs[i];
    if (p->kind == NV_I_INDEX) nv_index_want(&e->index, p->offset, p->dtype == NV_I32);
    if (nv_moves(p)) nv_index_want(&e->index, e->offset[i], e->k->operands[p->operand].extent < NV_NARROW);
  }
}

/* What a block came to. */
static void put_total(const scanner *s, uint32_t indent, const char *value) {
  nv_gen *e = s->e;
  nv_index_declare(&e->index, e->b, indent, NV_NONE);
  e->text[e->inner] = value;
  nv_gen_scalar(e, indent, e->inner + 1, e->k->ninstrs);
}

/* The thread's lane in the simdgroup is its number in the block. */
static void put_row(const scanner *s, uint32_t indent) {
  nv_gen *e = s->e;
  const nv_scan *k = &e->k->scan;
  const bool walks = k->part == NV_SCAN_WHOLE && s->blocks > 1;
  if (walks) {
    put_block_state(s, indent);
    open_loop(e, &indent, "block", 0, s->blocks);
  }
  nv_line(e->b, indent, "uint group = %slane;", s->blocks > 1 ? "block * 32u + " : "");
  put_loads(s, indent);
  put_own(s, indent);
  if (s->n > 4) {
    nv_line(e->b, indent, "%s threads = a[3];", s->type);
    nv_line(e->b, indent, "for (uint step = 1u; step < 32u; step <<= 1) {");
    nv_line(e->b, indent + 2, "%s other = %s;", s->type, shuffled(s, "threads", "(lane | (2u * step - 1u)) - step"));
    nv_line(e->b, indent + 2, "%s both = %s;", s->type, join(s, "other", "threads"));
    nv_line(e->b, indent + 2, "threads = (lane & step) != 0u ? both : threads;");
    nv_line(e->b, indent, "}");
  }
  prepare_behind(e);
  if (k->part == NV_SCAN_TOTALS) {
    nv_line(e->b, indent, "if (lane == 31u) {");
    put_total(s, indent + 2, "threads");
    nv_line(e->b, indent, "}");
    return;
  }
  if (s->n > 4) nv_line(e->b, indent, "%s left = %s;", s->type, shuffled(s, "threads", "(lane - 1u) & 31u"));
  put_joins(s, indent, s->blocks > 1 ? "block > 0u" : NULL);
  put_stores(s, indent);
  if (!walks) return;
  nv_line(e->b, indent, "%s total = %s;", s->type, shuffled(s, "threads", "31u"));
  put_block(s, indent, "total");
  close_block(e, &indent);
}

/* The thread is those of a block one after the other. */
static void put_column(const scanner *s, uint32_t indent) {
  nv_gen *e = s->e;
  const nv_scan *k = &e->k->scan;
  const bool whole = k->part == NV_SCAN_WHOLE, cut = whole && s->blocks > 1;
  const int64_t groups = whole ? (s->n + 3) / 4 : GROUPS, threads = groups < GROUPS ? groups : GROUPS;
  if (cut) put_block_state(s, indent);
  if (groups > 1) nv_line(e->b, indent, "%s left = %s;", s->type, nv_gen_literal(e, s->d, 0));
  if (count_halves(threads)) nv_line(e->b, indent, "%s halves[%u];", s->type, (unsigned)count_halves(threads));
  open_loop(e, &indent, whole ? "group" : s->thread, 0, groups);
  if (!whole) nv_line(e->b, indent, "uint group = block * 32u + %s;", s->thread);
  if (cut) {
    nv_line(e->b, indent, "uint block = group >> 5;");
    nv_line(e->b, indent, "uint %s = group & 31u;", s->thread);
  }
  put_loads(s, indent);
  put_own(s, indent);
  prepare_behind(e);
  if (k->part != NV_SCAN_TOTALS) {
    if (groups > 1) nv_line(e->b, indent, "%s own = a[3];", s->type);
    put_joins(s, indent, s->blocks > 1 ? "block > 0u" : NULL);
    put_stores(s, indent);
  }
  const char *own = k->part == NV_SCAN_TOTALS ? "a[3]" : "own";
  if (groups > 1) put_halves(s, indent, s->thread, threads, own, "halves", "left");
  if (cut) {
    nv_line(e->b, indent, "if (%s == 31u) {", s->thread);
    put_block(s, indent + 2, "left");
    nv_line(e->b, indent, "}");
  }
  close_block(e, &indent);
  if (k->part == NV_SCAN_TOTALS) put_total(s, indent, "left");
}

void nv_gen_scan(nv_gen *e) {
  nv_ctx *c = e->c;
  nv_buf *b = e->b;
  const nv_kernel *k = e->k;
  const nv_instr *scan = &k->instrs[e->inner];
  scanner s = {.e = e, .op = k->reduce_op, .result = (nv_dtype)scan->dtype, .n = nv_dim_value(c, k->reduce_extent),
               .rows = !k->scan.columns};
  s.d = s.result == NV_F16 || s.result == NV_BF16 ? NV_F32 : s.result;
  s.type = nv_msl_type(s.d);
  s.blocks = (s.n + NV_SCAN_BLOCK - 1) / NV_SCAN_BLOCK;
  const bool whole = k->scan.part == NV_SCAN_WHOLE;
  if (whole && s.blocks > MOST_BLOCKS) nv_bug(c, "a scan of %lld blocks", (long long)s.blocks);
  s.thread = s.rows ? "lane" : !whole || s.blocks > 1 ? "thread_of_block" : "group";
  if (!s.rows && whole)
    s.guarded = e->width == 1 && s.n % 4 != 0;
  else
    s.guarded = k->scan.part != NV_SCAN_TOTALS && s.n % NV_SCAN_BLOCK != 0;
  const char *row = e->index.variables[0];
  if (whole && s.rows && nv_rows_are_many(c, k->extent[0])) {
    nv_gen_row_position(e, row, k->extent[0]);
  } else if (uses(e, k->symbol[0])) {
    nv_printf(b, "  uint %s = %s;\n", row, !s.rows ? "pos.x" : whole ? "pos.x >> 5" : "pos.y");
  }
  if (!whole) nv_printf(b, "  uint block = %s;\n", s.rows ? "pos.x >> 5" : "pos.y");
  if (k->scan.part == NV_SCAN_BLOCKS) nv_puts(b, "  uint earlier = block - 1u;\n");
  nv_index_declare(&e->index, b, 2, e->index.symbols[1]);
  if (k->scan.part == NV_SCAN_BLOCKS) {
    const uint32_t load = scan->arg[1];
    nv_line(b, 2, "%s before = %s;", s.type, nv_gen_literal(e, s.d, 0));
    nv_puts(b, "  if (block > 0u) {\n");
    nv_line(b, 4, "before = %s[%s];", e->buffer[k->instrs[load].operand], nv_index_text(&e->index, e->offset[load]));
    nv_puts(b, "  }\n");
    e->text[load] = "before";
  }
  if (s.rows)
    put_row(&s, 2);
  else
    put_column(&s, 2);
}
