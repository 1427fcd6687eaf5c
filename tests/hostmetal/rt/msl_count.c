/* msl_count.c - the distinct bytes of each binding that a launch reads and writes.
 *
 * Two maps a binding, one byte a byte: marking is a plain store of 1, so threads need no locks.
 *
 * Bindings that share memory (ranges of one arena; every binding reaches to the end of its buffer) are told apart by
 * giving the kernel copies, each ending at an unreadable page. Afterwards the bytes that were written go back. So an
 * access belongs to the binding it was made through; that two bindings met in a byte which one of them wrote is an
 * error, as Metal allows no overlap; and when they did not meet, the copies can't have changed a result. */
#define _GNU_SOURCE
#include "msl_count.h"
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { PAGE = 4096 };
static const size_t most_copied = (size_t)1 << 29; /* over this no copies: by the highest start at or below */
typedef struct range {
  uintptr_t start, end; /* where the kernel sees it */
  uintptr_t original;
  int index;
  unsigned char *read, *written;
  char *map; /* of a copy */
  size_t map_length;
} range;
static range ranges[MSL_BUFFERS];
static int nranges;
static uintptr_t lowest, highest;
static struct { /* the first access beside a copy, yet not so far that it faulted */
  int index, write;
  long byte;
} stray;
static pthread_mutex_t one_launch = PTHREAD_MUTEX_INITIALIZER, report_lock = PTHREAD_MUTEX_INITIALIZER;

static int by_start(const void *a, const void *b) {
  const range *x = a, *y = b;
  return x->start < y->start ? -1 : x->start > y->start ? 1 : x->index - y->index;
}
static const msl_arg *argument(const msl_kernel *k, int index) {
  for (int i = 0; i < k->nargs; i++)
    if (k->args[i].kind == MSL_ARG_BUFFER && k->args[i].index == index) return &k->args[i];
  return NULL;
}
static const char *argument_name(const msl_kernel *k, int index) {
  const msl_arg *a = argument(k, index);
  return a ? a->name : "";
}

int msl_count_overlaps(const msl_launch *l) {
  for (int i = 0; i < MSL_BUFFERS; i++) {
    const msl_arg *a = argument(l->kernel, i);
    if (!a || a->is_const || !l->buffer[i]) continue;
    uintptr_t start = (uintptr_t)l->buffer[i], end = start + l->bytes[i];
    for (int j = 0; j < MSL_BUFFERS; j++) {
      uintptr_t other = (uintptr_t)l->buffer[j];
      if (j != i && other && argument(l->kernel, j) && other < end && start < other + l->bytes[j]) return 1;
    }
  }
  return 0;
}

/* ---- copies ---- */
static void make_copy(range *r) {
  size_t n = r->end - r->start, pages = (n + 16 + PAGE - 1) / PAGE * PAGE;
  r->map_length = pages + 2 * PAGE;
  r->map = mmap(NULL, r->map_length, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (r->map == MAP_FAILED) abort();
  mprotect(r->map + PAGE, pages, PROT_READ | PROT_WRITE);
  uintptr_t start = (uintptr_t)r->map + PAGE + pages - n;
  start -= (start - r->original) & 15; /* as aligned as the original */
  memcpy((void *)start, (void *)r->original, n);
  r->start = start;
  r->end = start + n;
}
static void put_back(range *r) {
  char *from = (char *)r->start, *to = (char *)r->original;
  for (size_t k = 0; k < r->end - r->start; k++)
    if (r->written[k]) to[k] = from[k];
}
char *msl_original(char *address) {
  for (int i = 0; i < nranges; i++) {
    range *r = &ranges[i];
    if (r->map && address >= r->map && address < r->map + r->map_length)
      return (char *)r->original + (address - (char *)r->start);
  }
  return address;
}

void msl_count_begin(const msl_launch *l, void *seen[MSL_BUFFERS]) {
  pthread_mutex_lock(&one_launch);
  nranges = 0;
  for (int i = 0; i < MSL_BUFFERS; i++) {
    if (!l->buffer[i] || !l->bytes[i] || !argument(l->kernel, i)) continue;
    uintptr_t start = (uintptr_t)l->buffer[i];
    ranges[nranges++] =
        (range){start, start + l->bytes[i], start, i, calloc(1, l->bytes[i]), calloc(1, l->bytes[i]), 0, 0};
  }
  qsort(ranges, nranges, sizeof *ranges, by_start);
  size_t copied = 0;
  uintptr_t kept_end = 0;
  for (int i = 0; i < nranges; i++) {
    range *r = &ranges[i];
    size_t n = r->end - r->start;
    if (r->start >= kept_end) kept_end = r->end;
    else if (copied + n <= most_copied) {
      make_copy(r);
      copied += n;
    }
    seen[r->index] = (void *)r->start;
  }
  qsort(ranges, nranges, sizeof *ranges, by_start);
  stray.index = -1;
  lowest = UINTPTR_MAX, highest = 0;
  for (int i = 0; i < nranges; i++) {
    const range *r = &ranges[i];
    uintptr_t low = r->map ? (uintptr_t)r->map : r->start, high = r->map ? low + r->map_length : r->end;
    if (low < lowest) lowest = low;
    if (high > highest) highest = high;
  }
}

static int beside(const range *r, uintptr_t a, int write) {
  if (!r->map || a < (uintptr_t)r->map || a >= (uintptr_t)r->map + r->map_length) return 0;
  if (stray.index < 0) stray.byte = (long)(a - r->start), stray.write = write, stray.index = r->index;
  return 1;
}
void msl_count(const void *p, size_t n, int write) {
  uintptr_t a = (uintptr_t)p;
  if (a < lowest || a >= highest) return;
  int i = nranges - 1;
  while (i > 0 && ranges[i].start > a) i--;
  range *r = &ranges[i];
  if (a < r->start || a >= r->end) {
    if (!beside(r, a, write) && i + 1 < nranges) beside(r + 1, a, write);
    return;
  }
  if (n > r->end - a) {
    beside(r, r->end, write);
    n = r->end - a;
  }
  memset((write ? r->written : r->read) + (a - r->start), 1, n);
}

/* ---- sums ---- */
static size_t sum(const unsigned char *map, size_t n) {
  size_t total = 0, k = 0;
  for (; k + 8 <= n; k += 8) {
    uint64_t w;
    memcpy(&w, map + k, 8);
    if (w) total += (w * 0x0101010101010101u) >> 56;
  }
  for (; k < n; k++) total += map[k];
  return total;
}
static int by_original(const void *a, const void *b) {
  const range *x = a, *y = b;
  return x->original < y->original ? -1 : x->original > y->original ? 1 : x->index - y->index;
}
/* Bindings first..last-1 share memory from `start` on: marks each byte once, and finds what met. */
static void merge(const msl_launch *l, int first, int last, uintptr_t start, uintptr_t end,
                  msl_traffic *total, char *why, size_t size) {
  size_t n = end - start;
  unsigned char *by = calloc(1, n), *read = calloc(1, n), *written = calloc(1, n);
  for (int i = first; i < last; i++) {
    range *r = &ranges[i];
    size_t at = r->original - start, length = r->end - r->start;
    for (size_t k = 0; k < length; k++) {
      if (!(r->read[k] | r->written[k])) continue;
      size_t o = at + k;
      if (by[o] && (written[o] | r->written[k]) && !*why) {
        const char *a = argument_name(l->kernel, by[o] - 1), *b = argument_name(l->kernel, r->index);
        snprintf(why, size,
                 "bindings %d (%s) and %d (%s) overlap: byte %zu of %s, byte %zu of %s, written by %s",
                 by[o] - 1, a, r->index, b, o + start - (uintptr_t)l->buffer[by[o] - 1], a, k, b,
                 r->written[k] ? b : a);
      }
      if (!by[o]) by[o] = r->index + 1;
      read[o] |= r->read[k];
      written[o] |= r->written[k];
    }
  }
  total->read += sum(read, n);
  total->written += sum(written, n);
  free(by);
  free(read);
  free(written);
}

void msl_count_end(const msl_launch *l, msl_traffic out[MSL_BUFFERS + 1], char *why, size_t size) {
  msl_bytes maps[MSL_BUFFERS];
  msl_traffic *total = &out[MSL_TOTAL];
  memset(out, 0, (MSL_BUFFERS + 1) * sizeof *out);
  lowest = UINTPTR_MAX, highest = 0;
  qsort(ranges, nranges, sizeof *ranges, by_original);
  for (int i = 0; i < nranges; i++) {
    range *r = &ranges[i];
    msl_traffic *t = &out[r->index];
    t->bytes = r->end - r->start;
    t->read = sum(r->read, t->bytes);
    t->written = sum(r->written, t->bytes);
    maps[i] = (msl_bytes){r->index, t->bytes, r->read, r->written};
    if (r->map) put_back(r);
  }
  for (int i = 0, last; i < nranges; i = last) {
    uintptr_t end = ranges[i].original + out[ranges[i].index].bytes;
    for (last = i + 1; last < nranges && ranges[last].original < end; last++) {
      uintptr_t e = ranges[last].original + out[ranges[last].index].bytes;
      if (e > end) end = e;
    }
    total->bytes += end - ranges[i].original;
    if (last > i + 1) merge(l, i, last, ranges[i].original, end, total, why, size);
    else {
      total->read += out[ranges[i].index].read;
      total->written += out[ranges[i].index].written;
    }
  }
  if (stray.index >= 0)
    snprintf(why, size, "binding %d (%s): byte %ld, outside the binding, was %s", stray.index,
             argument_name(l->kernel, stray.index), stray.byte, stray.write ? "written" : "read");
  if (l->on_bytes && !*why) l->on_bytes(l->on_bytes_context, l, maps, nranges);
  for (int i = 0; i < nranges; i++) {
    free(ranges[i].read);
    free(ranges[i].written);
    if (ranges[i].map) munmap(ranges[i].map, ranges[i].map_length);
  }
  nranges = 0;
  pthread_mutex_unlock(&one_launch);
}

static msl_observer *observer;
static void *observer_context;
void msl_observe(msl_observer *f, void *context) {
  observer = f;
  observer_context = context;
}

void msl_count_report(const msl_launch *l, const msl_traffic t[MSL_BUFFERS + 1]) {
  if (observer) observer(observer_context, l, t);
  if (!msl_defaults.count) return;
  pthread_mutex_lock(&report_lock);
  FILE *f = msl_defaults.count_file ? fopen(msl_defaults.count_file, "a") : stderr;
  if (f) {
    const char *comma = "";
    fprintf(f, "{\"kernel\":\"%s\",\"buffers\":[", l->kernel->name);
    for (int i = 0; i < MSL_BUFFERS; i++) {
      if (!t[i].bytes) continue;
      fprintf(f, "%s{\"index\":%d,\"name\":\"%s\",\"bytes\":%zu,\"read\":%zu,\"written\":%zu}", comma, i,
              argument_name(l->kernel, i), t[i].bytes, t[i].read, t[i].written);
      comma = ",";
    }
    fprintf(f, "],\"read\":%zu,\"written\":%zu}\n", t[MSL_TOTAL].read, t[MSL_TOTAL].written);
    if (f != stderr) fclose(f);
  }
  pthread_mutex_unlock(&report_lock);
}
