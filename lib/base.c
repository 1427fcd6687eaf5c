/* base.c - the compilation context: arena, growing arrays, interned strings, text, maps, diagnostics. */
#include "base.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- context and doors ---- */

struct nv_chunk {
  nv_chunk *next;
  size_t size;
};
struct nv_block { /* a growing array: header before the data, doubly linked */
  nv_block *next, *prev;
  size_t size;
  size_t pad; /* keeps the data 16-aligned */
};

typedef struct nv_string {
  const char *text;
  uint32_t length;
} nv_string;
struct nv_strings {
  nv_string *list;
  uint32_t n, cap;
  nv_map map;
};

void nv_raise(nv_ctx *c, nuvecc_status status, const char *format, ...) {
  va_list ap;
  va_start(ap, format);
  vsnprintf(c->fault, sizeof c->fault, format, ap);
  va_end(ap);
  c->raised = status;
  while (c->deferred) {
    nv_deferred *d = c->deferred;
    c->deferred = d->next;
    d->run(d->arg);
  }
  if (!c->door_open) abort(); /* a library function was called outside an entry point */
  c->door_open = false;
  longjmp(c->door, 1);
}

void nv_bug(nv_ctx *c, const char *format, ...) {
  char text[384];
  va_list ap;
  va_start(ap, format);
  vsnprintf(text, sizeof text, format, ap);
  va_end(ap);
  nv_raise(c, NUVECC_INTERNAL, "internal error in %s: %s (please report it with the spec)",
           c->stage ? c->stage : "the compiler", text);
}

void nv_defer(nv_ctx *c, nv_deferred *d, void (*run)(void *arg), void *arg) {
  d->next = c->deferred;
  d->run = run;
  d->arg = arg;
  c->deferred = d;
}
void nv_undefer(nv_ctx *c) { c->deferred = c->deferred->next; }

nv_ctx *nv_ctx_new(const nuvecc_options *options) {
  nv_ctx *c = calloc(1, sizeof *c);
  if (!c) return NULL;
  c->where = NV_NOWHERE;
  if (options) c->options = *options, c->memory_limit = options->memory_limit;
  return c;
}

void nv_ctx_free(nv_ctx *c) {
  if (!c) return;
  while (c->chunks) {
    nv_chunk *k = c->chunks;
    c->chunks = k->next;
    free(k);
  }
  while (c->blocks) {
    nv_block *b = c->blocks;
    c->blocks = b->next;
    free(b);
  }
  free(c);
}

nv_locale nv_enter_c_locale(void) {
  nv_locale l = {newlocale(LC_ALL_MASK, "C", (locale_t)0), (locale_t)0};
  if (l.c) l.before = uselocale(l.c);
  return l;
}
void nv_leave_c_locale(nv_locale l) {
  if (!l.c) return;
  uselocale(l.before);
  freelocale(l.c);
}

/* ---- memory ---- */

static void account(nv_ctx *c, size_t more) {
  if (c->memory_limit && (more > c->memory_limit || c->memory > c->memory_limit - more))
    nv_raise(c, NUVECC_IO, "out of memory: the limit of %zu bytes is reached", c->memory_limit);
  c->memory += more;
}

enum { CHUNK = 1 << 16, ALIGN = 16 };

void *nv_alloc(nv_ctx *c, size_t n) {
  size_t room = (n + ALIGN - 1) & ~(size_t)(ALIGN - 1);
  if (room < n) nv_raise(c, NUVECC_IO, "out of memory: %zu bytes asked for", n);
  if (!c->chunks || c->chunk_size - c->chunk_used < room) {
    size_t header = (sizeof(nv_chunk) + ALIGN - 1) & ~(size_t)(ALIGN - 1);
    size_t size = room > CHUNK / 4 ? room : CHUNK;
    if (size > SIZE_MAX - header) nv_raise(c, NUVECC_IO, "out of memory: %zu bytes asked for", n);
    account(c, size + header);
    nv_chunk *k = calloc(1, size + header);
    if (!k) nv_raise(c, NUVECC_IO, "out of memory: %zu bytes asked for", n);
    k->size = size;
    if (size == room && c->chunks) { /* a big one of its own: the current chunk stays in use */
      k->next = c->chunks->next;
      c->chunks->next = k;
      return (char *)k + header;
    }
    k->next = c->chunks;
    c->chunks = k;
    c->chunk_size = size + header;
    c->chunk_used = header;
  }
  void *p = (char *)c->chunks + c->chunk_used;
  c->chunk_used += room;
  return p;
}

void *nv_alloc_n(nv_ctx *c, size_t n, size_t size) {
  if (size && n > SIZE_MAX / size)
    nv_raise(c, NUVECC_IO, "out of memory: %zu elements of %zu bytes asked for", n, size);
  return nv_alloc(c, n * size);
}

static void unlink_block(nv_ctx *c, nv_block *b) {
  if (b->prev)
    b->prev->next = b->next;
  else
    c->blocks = b->next;
  if (b->next) b->next->prev = b->prev;
}

void *nv_grow(nv_ctx *c, void *p, uint32_t *cap, size_t need, size_t size) {
  if (p && need <= *cap) return p;
  if (need >= UINT32_MAX) nv_raise(c, NUVECC_IO, "out of memory: %zu elements asked for", need);
  size_t n = *cap < 8 ? 8 : (size_t)*cap + *cap / 2;
  if (n < need) n = need;
  if (n >= UINT32_MAX) n = UINT32_MAX - 1;
  if (n > (SIZE_MAX - sizeof(nv_block)) / size) nv_raise(c, NUVECC_IO, "out of memory: %zu elements asked for", need);
  nv_block *old = p ? (nv_block *)p - 1 : NULL;
  size_t bytes = sizeof(nv_block) + n * size, before = old ? old->size : 0;
  account(c, bytes > before ? bytes - before : 0);
  if (old) unlink_block(c, old);
  nv_block *b = realloc(old, bytes);
  if (!b) {
    if (old) { /* still ours to free with the context */
      old->prev = NULL;
      old->next = c->blocks;
      if (old->next) old->next->prev = old;
      c->blocks = old;
    }
    nv_raise(c, NUVECC_IO, "out of memory: %zu bytes asked for", bytes);
  }
  b->size = bytes;
  b->prev = NULL;
  b->next = c->blocks;
  if (b->next) b->next->prev = b;
  c->blocks = b;
  *cap = (uint32_t)n;
  return b + 1;
}

void nv_drop(nv_ctx *c, void *p) {
  if (!p) return;
  nv_block *b = (nv_block *)p - 1;
  unlink_block(c, b);
  c->memory -= b->size < c->memory ? b->size : c->memory;
  free(b);
}

/* ---- hashing and maps ---- */

uint64_t nv_hash(const void *p, size_t n, uint64_t seed) {
  const unsigned char *s = p;
  uint64_t h = 0xcbf29ce484222325u ^ (seed * 0x9e3779b97f4a7c15u);
  for (size_t i = 0; i < n; i++) h = (h ^ s[i]) * 0x100000001b3u;
  h ^= h >> 32; /* finalizer: spreads the last bytes over all bits */
  h *= 0xd6e8feb86659fd93u;
  return h ^ h >> 32;
}

uint32_t nv_map_next(const nv_map *m, uint64_t hash, uint32_t *at) {
  if (!m->cap) return NV_NONE;
  uint32_t mask = m->cap - 1;
  for (uint32_t i = ((uint32_t)hash + *at) & mask; m->slots[i].id != NV_NONE; i = (i + 1) & mask) {
    ++*at;
    if (m->slots[i].hash == (uint32_t)hash) return m->slots[i].id;
  }
  return NV_NONE;
}

static void map_put(nv_map *m, uint32_t hash, uint32_t id) {
  uint32_t mask = m->cap - 1, i = hash & mask;
  while (m->slots[i].id != NV_NONE) i = (i + 1) & mask;
  m->slots[i] = (nv_slot){id, hash};
}
void nv_map_add(nv_ctx *c, nv_map *m, uint64_t hash, uint32_t id) {
  if (m->n + 1 > m->cap / 4 * 3) {
    nv_map bigger = {NULL, m->cap ? m->cap * 2 : 16, m->n};
    if (bigger.cap < m->cap) nv_raise(c, NUVECC_IO, "out of memory: a table is full");
    uint32_t cap = 0;
    bigger.slots = nv_grow(c, NULL, &cap, bigger.cap, sizeof *bigger.slots);
    for (uint32_t i = 0; i < bigger.cap; i++) bigger.slots[i].id = NV_NONE;
    for (uint32_t i = 0; i < m->cap; i++)
      if (m->slots[i].id != NV_NONE) map_put(&bigger, m->slots[i].hash, m->slots[i].id);
    nv_drop(c, m->slots);
    *m = bigger;
  }
  map_put(m, (uint32_t)hash, id);
  m->n++;
}
void nv_map_drop(nv_ctx *c, nv_map *m) {
  nv_drop(c, m->slots);
  *m = (nv_map){0};
}

/* ---- strings ---- */

nv_str nv_intern(nv_ctx *c, const char *p, size_t n) {
  if (!c->strings) {
    c->strings = NV_NEW(c, struct nv_strings);
    NV_GROW(c, c->strings->list, c->strings->cap, 1);
    c->strings->list[0] = (nv_string){"", 0};
    c->strings->n = 1;
  }
  if (!n) return 0;
  struct nv_strings *t = c->strings;
  uint64_t h = nv_hash(p, n, 0);
  uint32_t at = 0, id;
  while ((id = nv_map_next(&t->map, h, &at)) != NV_NONE)
    if (t->list[id].length == n && !memcmp(t->list[id].text, p, n)) return id;
  if (n >= UINT32_MAX) nv_bug(c, "a text of %zu bytes", n);
  char *copy = nv_alloc(c, n + 1);
  memcpy(copy, p, n);
  NV_GROW(c, t->list, t->cap, (size_t)t->n + 1);
  t->list[t->n] = (nv_string){copy, (uint32_t)n};
  nv_map_add(c, &t->map, h, t->n);
  return t->n++;
}
nv_str nv_intern_z(nv_ctx *c, const char *p) { return nv_intern(c, p, strlen(p)); }
const char *nv_text(const nv_ctx *c, nv_str s) { return s ? c->strings->list[s].text : ""; }
size_t nv_text_len(const nv_ctx *c, nv_str s) { return s ? c->strings->list[s].length : 0; }

char *nv_vformat(nv_ctx *c, const char *format, va_list ap) {
  va_list again;
  va_copy(again, ap);
  int n = vsnprintf(NULL, 0, format, again);
  va_end(again);
  if (n < 0) nv_bug(c, "bad format '%s'", format);
  char *s = nv_alloc(c, (size_t)n + 4); /* shorten() may write three more */
  vsnprintf(s, (size_t)n + 1, format, ap);
  return s;
}
char *nv_format(nv_ctx *c, const char *format, ...) {
  va_list ap;
  va_start(ap, format);
  char *s = nv_vformat(c, format, ap);
  va_end(ap);
  return s;
}

/* ---- text output ---- */

void nv_buf_init(nv_buf *b, nv_ctx *c) { *b = (nv_buf){c, NULL, 0, 0}; }
void nv_put(nv_buf *b, const char *p, size_t n) {
  NV_GROW(b->c, b->p, b->cap, (size_t)b->n + n + 1);
  memcpy(b->p + b->n, p, n);
  b->n += (uint32_t)n;
}
void nv_puts(nv_buf *b, const char *p) { nv_put(b, p, strlen(p)); }
void nv_putc(nv_buf *b, char ch) {
  NV_GROW(b->c, b->p, b->cap, (size_t)b->n + 2);
  b->p[b->n++] = ch;
}
void nv_printf(nv_buf *b, const char *format, ...) {
  char local[256];
  va_list ap;
  va_start(ap, format);
  int n = vsnprintf(local, sizeof local, format, ap);
  va_end(ap);
  if (n < 0) nv_bug(b->c, "bad format '%s'", format);
  if ((size_t)n < sizeof local) {
    nv_put(b, local, (size_t)n);
    return;
  }
  NV_GROW(b->c, b->p, b->cap, b->n + (size_t)n + 1);
  va_start(ap, format);
  vsnprintf(b->p + b->n, (size_t)n + 1, format, ap);
  va_end(ap);
  b->n += (uint32_t)n;
}
const char *nv_buf_text(nv_buf *b) {
  NV_GROW(b->c, b->p, b->cap, (size_t)b->n + 1);
  b->p[b->n] = 0;
  return b->p;
}

void nv_put_json(nv_buf *b, const char *p, size_t n) {
  nv_putc(b, '"');
  for (size_t i = 0; i < n; i++) {
    unsigned char ch = (unsigned char)p[i];
    if (ch == '"' || ch == '\\')
      nv_printf(b, "\\%c", ch);
    else if (ch == '\n')
      nv_puts(b, "\\n");
    else if (ch == '\t')
      nv_puts(b, "\\t");
    else if (ch < 0x20 || ch == 0x7f)
      nv_printf(b, "\\u%04x", ch);
    else
      nv_putc(b, (char)ch);
  }
  nv_putc(b, '"');
}

static void put_shortest(nv_buf *b, double x, bool single) {
  char s[40];
  if (x != x) {
    nv_puts(b, "nan");
    return;
  }
  if (x - x != 0) {
    nv_puts(b, x < 0 ? "-inf" : "inf");
    return;
  }
  for (int digits = 1; digits <= 17; digits++) {
    snprintf(s, sizeof s, "%.*g", digits, x);
    if (single ? strtof(s, NULL) == (float)x : strtod(s, NULL) == x) break;
  }
  nv_puts(b, s);
  if (!strpbrk(s, ".e")) nv_puts(b, ".0");
}
void nv_put_float(nv_buf *b, float x) { put_shortest(b, (double)x, true); }
void nv_put_double(nv_buf *b, double x) { put_shortest(b, x, false); }

/* ---- checked arithmetic ---- */

bool nv_add64(int64_t a, int64_t b, int64_t *r) {
  if (b > 0 ? a > INT64_MAX - b : a < INT64_MIN - b) return false;
  *r = a + b;
  return true;
}
bool nv_sub64(int64_t a, int64_t b, int64_t *r) {
  if (b < 0 ? a > INT64_MAX + b : a < INT64_MIN + b) return false;
  *r = a - b;
  return true;
}
bool nv_mul64(int64_t a, int64_t b, int64_t *r) {
  if (a && b) {
    if (a > 0 ? (b > 0 ? a > INT64_MAX / b : b < INT64_MIN / a) : (b > 0 ? a < INT64_MIN / b : b < INT64_MAX / a))
      return false;
  }
  *r = a * b;
  return true;
}

/* ---- diagnostics ---- */

/* A message as it may be shown: one line; words of the user's that are longer than any name in part; not endless. Cut
   between characters of UTF-8. */
static const char *shorten(char *text) {
  enum { LONGEST_WORD = 300, KEPT = 60, LONGEST = 2000 };
  static const char dots[] = "…";
  size_t to = 0;
  for (size_t at = 0; text[at];) {
    size_t n = 0;
    while (text[at + n] && text[at + n] != ' ') n++;
    n += !n; /* a blank */
    size_t kept = n > LONGEST_WORD ? KEPT : n;
    bool last = to + kept > LONGEST;
    if (last) kept = LONGEST - to;
    while (kept < n && kept && ((unsigned char)text[at + kept] & 0xC0) == 0x80) kept--;
    memmove(text + to, text + at, kept);
    to += kept;
    if (kept < n) {
      memcpy(text + to, dots, sizeof dots - 1); /* in the place of what was longer, or of the text's rest */
      to += sizeof dots - 1;
    }
    if (last) break;
    at += n;
  }
  text[to] = 0;
  for (char *p = text; *p; p++)
    if ((unsigned char)*p < 0x20 || *p == 0x7F) *p = '?';
  return text;
}

static void add_diag(nv_ctx *c, nuvecc_severity severity, nv_pos pos, const char *format, va_list ap) {
  if (severity == NUVECC_ERROR && c->errors++ >= NV_MAX_ERRORS) {
    c->notes_dropped = true;
    return;
  }
  if (severity == NUVECC_WARNING) c->warnings++;
  if (severity == NUVECC_NOTE && (c->notes_dropped || !c->ndiags)) return;
  if (severity != NUVECC_NOTE) c->notes_dropped = false;
  NV_GROW(c, c->diags, c->diags_cap, (size_t)c->ndiags + 1);
  uint32_t owner = severity == NUVECC_NOTE ? c->diags[c->ndiags - 1].owner : c->ndiags;
  c->diags[c->ndiags++] = (nv_diag){severity, owner, pos, shorten(nv_vformat(c, format, ap))};
}
void nv_error(nv_ctx *c, nv_pos pos, const char *format, ...) {
  va_list ap;
  va_start(ap, format);
  add_diag(c, NUVECC_ERROR, pos, format, ap);
  va_end(ap);
}
void nv_warn(nv_ctx *c, nv_pos pos, const char *format, ...) {
  va_list ap;
  va_start(ap, format);
  add_diag(c, NUVECC_WARNING, pos, format, ap);
  va_end(ap);
}
void nv_note(nv_ctx *c, nv_pos pos, const char *format, ...) {
  va_list ap;
  va_start(ap, format);
  add_diag(c, NUVECC_NOTE, pos, format, ap);
  va_end(ap);
}

const char *nv_nearest(const char *name, const char *const *names, size_t n) {
  enum { LONGEST = 64 };
  size_t length = strlen(name), best_distance = SIZE_MAX;
  const char *best = NULL;
  if (!length || length > LONGEST) return NULL;
  for (size_t k = 0; k < n; k++) {
    const char *other = names[k];
    size_t m = strlen(other), row[LONGEST + 1], before[LONGEST + 1]; /* rows of the distance with transpositions */
    if (m > LONGEST || (m > length ? m - length : length - m) > length / 3 + 1) continue;
    for (size_t j = 0; j <= m; j++) row[j] = j, before[j] = 0;
    for (size_t i = 1; i <= length; i++) {
      size_t diagonal = row[0], last[LONGEST + 1];
      memcpy(last, row, sizeof last);
      row[0] = i;
      for (size_t j = 1; j <= m; j++) {
        size_t d = diagonal + (name[i - 1] != other[j - 1]);
        if (last[j] + 1 < d) d = last[j] + 1;
        if (row[j - 1] + 1 < d) d = row[j - 1] + 1;
        if (i > 1 && j > 1 && name[i - 1] == other[j - 2] && name[i - 2] == other[j - 1] && before[j - 2] + 1 < d)
          d = before[j - 2] + 1;
        diagonal = last[j];
        row[j] = d;
      }
      memcpy(before, last, sizeof before);
    }
    if (row[m] < best_distance) best_distance = row[m], best = other;
  }
  size_t limit = length < 3 ? 1 : length / 3;
  return best_distance <= limit && best_distance < length ? best : NULL;
}
