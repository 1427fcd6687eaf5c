/* helpers.c - the helper functions that a .metal file holds: found by the names that its kernels call, closed over
 * what the functions need, printed once each in order of definition.
 *
 * Their text is lib/emit/runtime/prims.metal and lib/ir/math.inc, embedded by the build. There a line "//: NAME
 * needs A B" stands before each function, comment lines above it go with it; a function ends with its line or, of
 * several lines, with the first "}" in column 0. Callees stand before callers, all of prims.metal before math.inc.
 * Besides, nv_fold_OP_DTYPE joins the partial results of a reduction's block, nv_blocks_OP_DTYPE the results of several
 * blocks; their text is made here from the op's row. */
#include "metal.h"

#include <stdio.h>

extern const char nv_embed_prims[], nv_embed_math[];
extern const size_t nv_embed_prims_size, nv_embed_math_size;

typedef struct helper {
  nv_str name;
  const char *needs, *needs_end;
  const char *text, *end;
  bool used;
} helper;

typedef struct fold {
  nv_str name;
  bool blocks;
  nv_op op;
  nv_dtype dtype;
} fold;

typedef struct helpers {
  nv_ctx *c;
  helper *list;
  uint32_t n, cap;
  fold *folds;
  uint32_t nfolds, folds_cap;
  uint32_t *todo; /* used, needs not looked at yet */
  uint32_t ntodo, todo_cap;
  nv_map map; /* by name */
} helpers;

static const char MARK[] = "//: ", NEEDS[] = " needs";

static void read_helpers(helpers *h, const char *text, size_t size) {
  const char *end = text + size, *comment = NULL; /* first of the comment lines just above */
  for (const char *line = text, *next; line < end; line = next) {
    const char *newline = memchr(line, '\n', (size_t)(end - line));
    next = newline ? newline + 1 : end;
    if (strncmp(line, MARK, sizeof MARK - 1)) {
      if (strncmp(line, "//", 2))
        comment = NULL;
      else if (!comment)
        comment = line;
      continue;
    }
    const char *name = line + sizeof MARK - 1;
    const size_t n = strcspn(name, " \n");
    if (strncmp(name + n, NEEDS, sizeof NEEDS - 1))
      nv_bug(h->c, "a helper's line doesn't say what it needs: %.40s", line);
    helper r = {.name = nv_intern(h->c, name, n), .needs = name + n + sizeof NEEDS - 1, .needs_end = next};
    /* the function: one line, or up to a "}" in column 0 */
    const char *body = next, *stop = body;
    for (bool first = true;; first = false) {
      const char *e = memchr(stop, '\n', (size_t)(end - stop));
      if (!e) nv_bug(h->c, "helper %s has no end", nv_text(h->c, r.name));
      const bool last = *stop == '}' || (first && e[-1] == '}');
      stop = e + 1;
      if (last) break;
    }
    /* the comment above goes in front: it is printed without the mark's line */
    r.text = body;
    r.end = stop;
    if (comment) {
      char *joined = nv_format(h->c, "%.*s%.*s", (int)(line - comment), comment, (int)(stop - body), body);
      r.text = joined;
      r.end = joined + strlen(joined);
    }
    comment = NULL;
    next = stop;
    NV_GROW(h->c, h->list, h->cap, (size_t)h->n + 1);
    nv_map_add(h->c, &h->map, nv_hash(name, n, 0), h->n);
    h->list[h->n++] = r;
  }
}

static void use_op(helpers *h, nv_op op, nv_dtype d);

static void use(helpers *h, const char *name, size_t n) {
  const uint64_t hash = nv_hash(name, n, 0);
  uint32_t at = 0, k;
  while ((k = nv_map_next(&h->map, hash, &at)) != NV_NONE) {
    helper *r = &h->list[k];
    if (nv_text_len(h->c, r->name) != n || memcmp(nv_text(h->c, r->name), name, n)) continue;
    if (r->used) return;
    r->used = true;
    NV_GROW(h->c, h->todo, h->todo_cap, (size_t)h->ntodo + 1);
    h->todo[h->ntodo++] = k;
    return;
  }
  static const char prefixes[][12] = {"nv_fold_", "nv_blocks_"};
  const bool blocks = n > 10 && !memcmp(name, prefixes[1], 10);
  const size_t skip = strlen(prefixes[blocks]);
  if (n <= skip || memcmp(name, prefixes[blocks], skip)) return; /* a kernel's name, say */
  const char *dtype = name + n;
  while (dtype > name && dtype[-1] != '_') dtype--;
  const nv_op op = nv_op_find(nv_format(h->c, "%.*s", (int)(dtype - 1 - (name + skip)), name + skip));
  const int d = nv_dtype_find(dtype, (size_t)(name + n - dtype));
  const nv_str id = nv_intern(h->c, name, n);
  if (op == NV_NOPS || d < 0) nv_bug(h->c, "unknown helper %s", nv_text(h->c, id));
  for (uint32_t i = 0; i < h->nfolds; i++)
    if (h->folds[i].name == id) return;
  NV_GROW(h->c, h->folds, h->folds_cap, (size_t)h->nfolds + 1);
  h->folds[h->nfolds++] = (fold){id, blocks, op, (nv_dtype)d};
  use_op(h, op, (nv_dtype)d);
}

static bool is_letter(char ch) {
  return (ch >= 'a' && ch <= 'z') || (ch >= 'A' && ch <= 'Z') || (ch >= '0' && ch <= '9') || ch == '_';
}

/* Every word nv_… in text. */
static void use_words(helpers *h, const char *text, const char *end) {
  for (const char *p = text; end - p > 3;) {
    if (p[0] != 'n' || p[1] != 'v' || p[2] != '_' || (p > text && is_letter(p[-1]))) {
      p++;
      continue;
    }
    const char *word = p;
    while (p < end && is_letter(*p)) p++;
    use(h, word, (size_t)(p - word));
  }
}

static void use_op(helpers *h, nv_op op, nv_dtype d) {
  const char *text = nv_ops[op].msl[nv_kind_of(d)];
  if (text) use_words(h, text, text + strlen(text));
}

const char *nv_fold_name(nv_ctx *c, nv_op op, nv_dtype d) {
  return nv_format(c, "nv_fold_%s_%s", nv_ops[op == NV_OP_mean ? NV_OP_sum : op].name, nv_dtype_short[d]);
}

const char *nv_blocks_name(nv_ctx *c, nv_op op, nv_dtype d) {
  return nv_format(c, "nv_blocks_%s_%s", nv_ops[op == NV_OP_mean ? NV_OP_sum : op].name, nv_dtype_short[d]);
}

static void put_join(nv_buf *b, uint32_t indent, const char *name, nv_op op, nv_dtype d, const char *low,
                     const char *high) {
  for (uint32_t i = 0; i < indent; i++) nv_putc(b, ' ');
  nv_printf(b, "%s %s = ", nv_msl_type(d), name);
  nv_put_op(b, op, (nv_dtype[]){d, d}, (const char *const[]){low, high}, 2, d);
  nv_puts(b, ";\n");
}

/* nuvec-ops(5), "The order of a floating-point reduction": the columns (c0 o c2) o (c1 o c3), then the threads by
 * halving, the lower index on the left; what is missing is skipped. A thread's first element is number 4 * lane,
 * and of the threads that are joined with a step the upper one has elements when 4 * its number is below n. */
static void put_fold(nv_buf *b, const fold *f) {
  const char *type = nv_msl_type(f->dtype);
  nv_printf(
      b, "// Joins the four columns of all 32 threads of a block of n elements (1 to 1024); all get the result.\n");
  nv_printf(b, "static inline %s %s(%s c0, %s c1, %s c2, %s c3, uint lane, uint n) {\n", type, nv_text(b->c, f->name),
            type, type, type, type);
  nv_puts(b, "  uint first = lane * 4u;\n");
  put_join(b, 2, "c02", f->op, f->dtype, "c0", "c2");
  nv_printf(b, "  %s even = first + 2u < n ? c02 : c0;\n", type);
  put_join(b, 2, "c13", f->op, f->dtype, "c1", "c3");
  nv_printf(b, "  %s odd = first + 3u < n ? c13 : c1;\n", type);
  put_join(b, 2, "c0123", f->op, f->dtype, "even", "odd");
  nv_printf(b, "  %s value = first + 1u < n ? c0123 : even;\n", type);
  nv_puts(b, "  for (uint step = 16u; step > 0u; step >>= 1) {\n");
  if (f->dtype == NV_BOOL)
    nv_puts(b, "    bool other = metal::simd_shuffle_xor(ushort(value), ushort(step)) != 0;\n");
  else if (nv_dtype_size[f->dtype] == 8) /* the shuffles know no 64-bit types */
    nv_printf(b,
              "    uint2 halves = as_type<uint2>(value);\n"
              "    %s other = as_type<%s>(uint2(metal::simd_shuffle_xor(halves.x, ushort(step)),\n"
              "        metal::simd_shuffle_xor(halves.y, ushort(step))));\n",
              type, type);
  else
    nv_printf(b, "    %s other = metal::simd_shuffle_xor(value, ushort(step));\n", type);
  nv_puts(b, "    bool upper = (lane & step) != 0u;\n");
  nv_printf(b, "    %s low = upper ? other : value;\n    %s high = upper ? value : other;\n", type, type);
  put_join(b, 4, "joined", f->op, f->dtype, "low", "high");
  nv_puts(b, "    uint partner = (lane & (step - 1u)) | step;\n"
             "    value = partner * 4u < n ? joined : low;\n  }\n  return value;\n}\n");
}

/* As the elements of one block of which two threads have some. */
static void put_blocks(nv_buf *b, const fold *f) {
  const char *type = nv_msl_type(f->dtype), *stored = f->dtype == NV_BOOL ? "uchar" : type;
  const char *test = f->dtype == NV_BOOL ? " != 0" : "", *other = f->dtype == NV_BOOL ? "uchar(0)" : "part[0]";
  nv_printf(b, "// Joins the results of n blocks (2 to 8) in the order of the elements of one block.\n");
  nv_printf(b, "static inline %s %s(threadgroup const %s* part, uint n) {\n", type, nv_text(b->c, f->name), stored);
  nv_printf(b, "  %s c0 = part[0]%s;\n  %s c1 = part[1]%s;\n", type, test, type, test);
  for (unsigned k = 2; k < 8; k++) /* what is missing isn't read */
    nv_printf(b, "  %s c%u = (n > %uu ? part[%u] : %s)%s;\n", type, k, k, k, other, test);
  for (unsigned k = 0; k < 8; k += 4) {
    static const char *const names[2][5] = {{"c02", "even", "c13", "odd", "low"},
                                              {"c46", "even2", "c57", "odd2", "c4567"}};
    const char *const *v = names[k / 4];
    char c[4][4];
    for (unsigned j = 0; j < 4; j++) snprintf(c[j], sizeof c[j], "c%u", k + j);
    put_join(b, 2, v[0], f->op, f->dtype, c[0], c[2]);
    nv_printf(b, "  %s %s = n > %uu ? %s : %s;\n", type, v[1], k + 2, v[0], c[0]);
    put_join(b, 2, v[2], f->op, f->dtype, c[1], c[3]);
    nv_printf(b, "  %s %s = n > %uu ? %s : %s;\n", type, v[3], k + 3, v[2], c[1]);
    put_join(b, 2, v[4], f->op, f->dtype, v[1], v[3]);
  }
  nv_printf(b, "  %s high = n > 5u ? c4567 : even2;\n", type);
  put_join(b, 2, "all", f->op, f->dtype, "low", "high");
  nv_puts(b, "  return n > 4u ? all : low;\n}\n");
}

static int compare_folds(const fold *a, const fold *b) {
  if (a->blocks != b->blocks) return a->blocks ? 1 : -1;
  return a->op != b->op ? (a->op < b->op ? -1 : 1) : a->dtype < b->dtype ? -1 : a->dtype > b->dtype;
}

void nv_put_helpers(nv_buf *b, nv_ctx *c, const char *text, size_t n) {
  helpers h = {.c = c};
  read_helpers(&h, nv_embed_prims, nv_embed_prims_size);
  read_helpers(&h, nv_embed_math, nv_embed_math_size);
  static const char probe[] = "nv_probe"; /* what the last kernel calls */
  if (n) use_words(&h, text, text + n);
  use_words(&h, probe, probe + sizeof probe - 1);
  while (h.ntodo) {
    const helper *r = &h.list[h.todo[--h.ntodo]];
    use_words(&h, r->needs, r->needs_end);
  }
  for (uint32_t i = 0; i < h.n; i++)
    if (h.list[i].used) nv_put(b, h.list[i].text, (size_t)(h.list[i].end - h.list[i].text));
  for (uint32_t i = 1; i < h.nfolds; i++) /* few: by insertion */
    for (uint32_t k = i; k && compare_folds(&h.folds[k], &h.folds[k - 1]) < 0; k--) {
      const fold t = h.folds[k];
      h.folds[k] = h.folds[k - 1];
      h.folds[k - 1] = t;
    }
  for (uint32_t i = 0; i < h.nfolds; i++) (h.folds[i].blocks ? put_blocks : put_fold)(b, &h.folds[i]);
  nv_drop(c, h.list);
  nv_drop(c, h.folds);
  nv_drop(c, h.todo);
  nv_map_drop(c, &h.map);
}
