/* base.h - what every part of the library stands on: the compilation context, memory, strings, text, diagnostics.
 *
 * Memory belongs to the context and is freed in one go by nv_ctx_free(); nothing on the ordinary path is freed before.
 * A failure that no caller can mend (memory, a broken invariant) unwinds to the door that the library's entry point
 * opened: nv_raise() and nv_bug() never return. So no foreign handle (yaml_parser_t, json_t, FILE) may be live where a
 * raise is possible, unless nv_defer() will close it. Errors of the user's are reported with nv_error() and the work
 * goes on; the entry point looks at nv_ctx.errors between stages. */
#ifndef NV_BASE_H
#define NV_BASE_H

#include "nuvec.h"

#include <locale.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#if defined(__APPLE__)
#include <xlocale.h>
#endif

#define NV_NONE UINT32_MAX /* no node, no value, no string, … */
#define NV_MAX_RANK NUVECC_MAX_RANK
#define NV_MAX_ERRORS 20 /* reported a run */

#if defined(__GNUC__)
#define NV_PRINTF(f, a) __attribute__((format(printf, f, a)))
#define NV_NORETURN _Noreturn
#else
#define NV_PRINTF(f, a)
#define NV_NORETURN _Noreturn
#endif

typedef uint32_t nv_str; /* interned text; equal text, equal id. 0 is the empty string */

/* A place in the spec: a node of the document tree, and 0 where the node itself is meant, else 1 + the offset of a byte
 * of its decoded text (nv_text_pos). Resolved to line and column only when shown: nv_doc_locate(). */
typedef struct nv_pos {
  uint32_t node, offset;
} nv_pos;
#define NV_NOWHERE ((nv_pos){NV_NONE, 0})
#define NV_BUILTIN 0x80000000u /* bit of nv_pos.node: a node of the built-in document (nv_ctx.builtin) */

typedef struct nv_chunk nv_chunk;
typedef struct nv_block nv_block;
typedef struct nv_diag nv_diag;
typedef struct nv_deferred nv_deferred;

typedef struct nv_ctx {
  jmp_buf door;            /* set by the library's entry points */
  bool door_open;
  nuvecc_status raised;    /* why the door was used */
  char fault[512];         /* its text */
  const char *stage;       /* name of the running pass, for faults */
  nv_pos where;            /* what is being worked on: the place of a user's mistake that is raised */
  nv_deferred *deferred;   /* run when the door is used, last first */
  nuvecc_options options;
  const struct nv_target *target;

  nv_chunk *chunks;        /* arena */
  size_t chunk_used, chunk_size;
  nv_block *blocks;        /* growing arrays */
  size_t memory, memory_limit; /* bytes held; 0: no limit */

  struct nv_strings *strings;
  struct nv_dims *dims;     /* lib/ir/dim.c */
  struct nv_shapes *shapes; /* lib/ir/graph.c */
  struct nv_attrs *attrs;   /* lib/ir/graph.c */
  struct nv_data_table *data; /* lib/ir/data.c; NULL: none */
  struct nv_doc *doc;       /* the user's document; positions are resolved against it */
  struct nv_doc *builtin;   /* the embedded composites */

  nv_diag *diags;           /* kept until nv_diag_flush, which sorts them by place */
  uint32_t ndiags, diags_cap, errors, warnings;
  bool notes_dropped;       /* the last error was over the limit: its notes go too */
} nv_ctx;

/* A context, or NULL for lack of memory. */
nv_ctx *nv_ctx_new(const nuvecc_options *options);
void nv_ctx_free(nv_ctx *c);

/* Leaves by the door. The text says what happened. */
NV_NORETURN void nv_raise(nv_ctx *c, nuvecc_status status, const char *format, ...) NV_PRINTF(3, 4);
/* A broken invariant of ours: names the stage, asks for a report. */
NV_NORETURN void nv_bug(nv_ctx *c, const char *format, ...) NV_PRINTF(2, 3);

/* What must be closed when the door is used (a yaml_parser_t, say): run(arg). Nested like brackets: nv_undefer takes
 * the last one off without running it. The record is the caller's, and lives until then. */
struct nv_deferred {
  nv_deferred *next;
  void (*run)(void *arg);
  void *arg;
};
void nv_defer(nv_ctx *c, nv_deferred *d, void (*run)(void *arg), void *arg);
void nv_undefer(nv_ctx *c);

/* The library works in the "C" locale, whatever the calling thread's is: numbers read and print the same everywhere. */
typedef struct nv_locale {
  locale_t c, before;
} nv_locale;
nv_locale nv_enter_c_locale(void);
void nv_leave_c_locale(nv_locale l);

/* ---- memory ---- */
/* n zeroed bytes, aligned for anything; never NULL. Lives as long as the context. */
void *nv_alloc(nv_ctx *c, size_t n);
#define NV_NEW(c, type) ((type *)nv_alloc((c), sizeof(type)))
#define NV_NEW_N(c, type, n) ((type *)nv_alloc_n((c), (n), sizeof(type)))
void *nv_alloc_n(nv_ctx *c, size_t n, size_t size); /* overflow-checked */
/* A growing array: makes room for need elements of size bytes in *cap; returns the (moved) array. p may be NULL.
 * New space is not zeroed. Freed with the context, or early with nv_drop(). */
void *nv_grow(nv_ctx *c, void *p, uint32_t *cap, size_t need, size_t size);
#define NV_GROW(c, p, cap, need) \
  ((void)((p) && (need) <= (cap) ? 0 : ((p) = nv_grow((c), (p), &(cap), (need), sizeof *(p)), 0)))
void nv_drop(nv_ctx *c, void *p); /* frees an array of nv_grow; NULL is fine */

/* ---- strings ---- */
nv_str nv_intern(nv_ctx *c, const char *p, size_t n);
nv_str nv_intern_z(nv_ctx *c, const char *p);
const char *nv_text(const nv_ctx *c, nv_str s); /* NUL-terminated; stable for the context's life */
size_t nv_text_len(const nv_ctx *c, nv_str s);
char *nv_format(nv_ctx *c, const char *format, ...) NV_PRINTF(2, 3); /* in the arena */
char *nv_vformat(nv_ctx *c, const char *format, va_list ap);

/* ---- text output ---- */
typedef struct nv_buf {
  nv_ctx *c;
  char *p;
  uint32_t n, cap;
} nv_buf;
void nv_buf_init(nv_buf *b, nv_ctx *c);
void nv_put(nv_buf *b, const char *p, size_t n);
void nv_puts(nv_buf *b, const char *p);
void nv_putc(nv_buf *b, char ch);
void nv_printf(nv_buf *b, const char *format, ...) NV_PRINTF(2, 3);
/* NUL-terminates (the NUL isn't counted in n) and returns the text. */
const char *nv_buf_text(nv_buf *b);
/* Writes p as a JSON string with its quotes; ASCII output except valid UTF-8, which passes. */
void nv_put_json(nv_buf *b, const char *p, size_t n);
/* The shortest decimal that reads back to the same float or double ("0.1", "1e-07", "-0.0", "inf", "nan").
 * Always has a point or an exponent, so that it reads as a floating-point number. */
void nv_put_float(nv_buf *b, float x);
void nv_put_double(nv_buf *b, double x);

/* ---- numbers ---- */
/* 64-bit hash of bytes (FNV-1a with a finalizer); stable across machines, so it may reach names. */
uint64_t nv_hash(const void *p, size_t n, uint64_t seed);
/* Checked int64 arithmetic: false on overflow, *r untouched. */
bool nv_add64(int64_t a, int64_t b, int64_t *r);
bool nv_sub64(int64_t a, int64_t b, int64_t *r);
bool nv_mul64(int64_t a, int64_t b, int64_t *r);

/* ---- an open-addressing map from 64-bit hash to 32-bit id; the caller compares ---- */
typedef struct nv_slot {
  uint32_t id, hash; /* NV_NONE: free; the low half of the hash */
} nv_slot;
typedef struct nv_map {
  nv_slot *slots;
  uint32_t cap, n;
} nv_map;
/* Walks candidates: start with *at = 0; returns NV_NONE when there are no more. Distinct keys may share a hash. */
uint32_t nv_map_next(const nv_map *m, uint64_t hash, uint32_t *at);
void nv_map_add(nv_ctx *c, nv_map *m, uint64_t hash, uint32_t id);
void nv_map_drop(nv_ctx *c, nv_map *m); /* empty again, without memory */

/* ---- diagnostics ---- */
struct nv_diag {
  nuvecc_severity severity;
  uint32_t owner; /* itself; a note: the diagnostic that it belongs to */
  nv_pos pos;
  const char *text;
};
/* An error, warning or note at pos. Notes follow the error or warning reported just before. After NV_MAX_ERRORS errors
 * further ones only count. Text: short, lower case, names the thing, says what was expected. */
void nv_error(nv_ctx *c, nv_pos pos, const char *format, ...) NV_PRINTF(3, 4);
void nv_warn(nv_ctx *c, nv_pos pos, const char *format, ...) NV_PRINTF(3, 4);
void nv_note(nv_ctx *c, nv_pos pos, const char *format, ...) NV_PRINTF(3, 4);
/* Hands what was collected to options.report, in source order, notes behind their owner. */
void nv_diag_flush(nv_ctx *c);
/* The nearest of n names (edit distance at most a third of the length), or NULL: for "did you mean". */
const char *nv_nearest(const char *name, const char *const *names, size_t n);

#endif
