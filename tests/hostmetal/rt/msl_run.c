/* msl_run.c - runs MSL kernels on the CPU. One OS thread runs one threadgroup at a time; its GPU threads are fibers,
 * started lazily: a fiber runs thread after thread until one blocks in a barrier or simd function, so
 * barrier-free kernels never switch. */
#define _GNU_SOURCE
#include "msl_rt.h"
#include "msl_count.h"
#include "msl_fiber.h"
#include "msl_fpmode.h"
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { MAX_THREADS = 1024, TGMEM = 32 << 10, TGSLOT = TGMEM + (64 << 10), MAX_VARS = 64, MAX_WORKERS = 16 };
enum state { NEW, READY, IN_SIMD, IN_BARRIER, DONE };

typedef struct gpu_thread {
  unsigned char state;
  int site;        /* source line it blocks at */
  unsigned parity; /* which of the two exchange slots its next simd function uses */
  fiber *f;
} gpu_thread;

typedef struct worker {
  msl_tg g;
  const msl_kernel *kernel;
  unsigned n, next, current, ndone; /* threads in the group; next to start (in order); running; finished */
  fiber_home home;
  fiber *running, *idle;
  gpu_thread t[MAX_THREADS];
  unsigned short order[MAX_THREADS];
  int reorder;
  struct {
    unsigned mask[2];
    char slot[2][32][64];
  } simd[MAX_THREADS / 32];
  struct {
    void *p;
    size_t size;
  } var[MAX_VARS];
  size_t tgused;
  char *tgarena;
} worker;

msl_options msl_defaults = {.threads = 1};
static __thread worker *self;
static __thread char error_text[400];

__attribute__((constructor)) static void read_environment(void) {
  const char *e;
  msl_defaults.ftz = (e = getenv("MSL_FTZ")) && *e && *e != '0';
  msl_defaults.order = getenv("MSL_ORDER");
  if ((e = getenv("MSL_THREADS"))) msl_defaults.threads = atoi(e);
  if ((e = getenv("MSL_BYTES")) && *e && strcmp(e, "0")) {
    msl_defaults.count = 1;
    if (strcmp(e, "1")) msl_defaults.count_file = e;
  }
}

const char *msl_error(void) { return error_text; }

static void die(const char *m) {
  fprintf(stderr, "hostmetal: %s: %s\n", msl_where(), m);
  fflush(stderr);
  abort();
}

/* ---- threads of one threadgroup ---- */
static void fiber_main(void) {
  worker *w = self;
  fiber_started(&w->home);
  fiber *f = w->running;
  w->kernel->thunk(&w->g);
  f->link = w->idle;
  w->idle = f;
  fiber_yield(&w->home, f, 1);
  abort();
}

static fiber *take_fiber(worker *w) {
  fiber *f = w->idle;
  if (f) w->idle = f->link;
  else if (!(f = fiber_new())) die("no memory for fiber stacks");
  fiber_prepare(f, fiber_main);
  return f;
}

static void resume(worker *w, fiber *f) {
  w->running = f;
  fiber_resume(&w->home, f);
}

static int start_next(worker *w) {
  if (w->next >= w->n) return 0;
  unsigned i = w->reorder ? w->order[w->next] : w->next;
  w->next++;
  w->current = i;
  msl_tg *g = &w->g;
  g->tiitg = i;
  g->tpitg[0] = i % g->tgsz[0];
  g->tpitg[1] = i / g->tgsz[0] % g->tgsz[1];
  g->tpitg[2] = i / (g->tgsz[0] * g->tgsz[1]);
  for (int d = 0; d < 3; d++) g->tpig[d] = g->tgpos[d] * g->tgnom[d] + g->tpitg[d];
  return 1;
}

int msl_next(msl_tg *g) {
  worker *w = g->worker;
  w->t[w->current].state = DONE;
  w->ndone++;
  return start_next(w);
}

static void block(worker *w, int state, int site) {
  unsigned i = w->current;
  gpu_thread *t = &w->t[i];
  t->state = state;
  t->site = site;
  t->f = w->running;
  fiber_yield(&w->home, w->running, 0);
  w->current = i;
  w->running = t->f;
}

void msl_barrier(int site) { block(self, IN_BARRIER, site); }

const char *msl_simd_exchange(const void *v, unsigned size, unsigned *mask, unsigned *lane, int site) {
  worker *w = self;
  unsigned i = w->current, s = i / 32, l = i % 32;
  if (size > 64) die("simd operand over 64 bytes");
  unsigned p = w->t[i].parity ^= 1; /* double-buffered: one sync per simd function suffices */
  memcpy(w->simd[s].slot[p][l], v, size);
  w->simd[s].mask[p] |= 1u << l;
  block(w, IN_SIMD, site);
  *mask = w->simd[s].mask[p];
  *lane = l;
  return w->simd[s].slot[p][0];
}

void *msl_tgvar(unsigned id, size_t size, size_t align) { /* each variable ends at its own guard page */
  worker *w = self;
  if (id >= MAX_VARS || align > 16) die("too many or overaligned threadgroup variables");
  if (!w->var[id].p) {
    size_t r = (size + 15) & ~(size_t)15;
    if (w->tgused + r > TGMEM) die("threadgroup memory over 32768 bytes");
    w->var[id].p = w->tgarena + (size_t)id * TGSLOT + TGMEM - r;
    w->var[id].size = r;
    w->tgused += r;
    memset(w->var[id].p, 0xFF, r);
  }
  return w->var[id].p;
}

/* Every live thread is blocked: let the simdgroups go on that are complete; if there are none, the barrier. */
static int release_simdgroup(worker *w, unsigned s) {
  unsigned end = s * 32 + 32 < w->n ? s * 32 + 32 : w->n, parity = 0;
  int site = -1;
  for (unsigned i = s * 32; i < end; i++) {
    gpu_thread *t = &w->t[i];
    if (t->state == DONE) continue;
    if (t->state != IN_SIMD) return 0;
    if (site == -1) site = t->site, parity = t->parity;
    else if (site != t->site || parity != t->parity)
      die("simd function reached at different lines or iterations in one simdgroup (divergence)");
  }
  if (site == -1) return 0;
  w->simd[s].mask[parity ^ 1] = 0;
  for (unsigned i = s * 32; i < end; i++)
    if (w->t[i].state == IN_SIMD) w->t[i].state = READY;
  return 1;
}

static void release_barrier(worker *w) {
  int site = -1;
  for (unsigned i = 0; i < w->n; i++) {
    gpu_thread *t = &w->t[i];
    if (t->state == IN_BARRIER && (site < 0 || site == t->site)) {
      site = t->site;
      continue;
    }
    char m[160];
    snprintf(m, sizeof m, "threadgroup_barrier divergence: thread %u %s (line %d)", i,
             t->state == DONE      ? "returned before the barrier"
             : t->state == IN_SIMD ? "waits in a simd function"
                                   : "waits at another barrier",
             t->state == DONE ? 0 : t->site);
    w->current = i;
    die(m);
  }
  for (unsigned i = 0; i < w->n; i++) w->t[i].state = READY;
}

static void run_threadgroup(worker *w) {
  int blocked = 0;
  w->n = w->g.tgsz[0] * w->g.tgsz[1] * w->g.tgsz[2];
  w->next = w->ndone = 0;
  if (w->tgused) {
    memset(w->var, 0, sizeof w->var);
    w->tgused = 0;
  }
  while (w->next < w->n) {
    start_next(w);
    resume(w, take_fiber(w));
    if (w->ndone != w->next) blocked = 1;
  }
  while (w->ndone < w->n) {
    int progress = 0;
    for (unsigned k = 0; k < w->n; k++) {
      unsigned i = w->reorder ? w->order[k] : k;
      if (w->t[i].state != READY) continue;
      w->current = i;
      resume(w, w->t[i].f);
      progress = 1;
    }
    if (progress) continue;
    int released = 0;
    for (unsigned s = 0; s * 32 < w->n; s++) released |= release_simdgroup(w, s);
    if (!released) release_barrier(w);
  }
  memset(w->t, 0, w->n * sizeof *w->t);
  if (blocked)
    for (unsigned s = 0; s * 32 < w->n; s++) w->simd[s].mask[0] = w->simd[s].mask[1] = 0;
}

/* ---- a launch: threadgroups shared out over workers ---- */
typedef struct job {
  const msl_launch *l;
  void *buffer[MSL_BUFFERS]; /* what the kernel sees: counting may work on copies */
  unsigned ntg[3];
  unsigned long next, total;
  int nthreads, slot;
} job;
static worker *workers[MAX_WORKERS + 1]; /* the last: for a calling thread */
static pthread_mutex_t caller_slot = PTHREAD_MUTEX_INITIALIZER;

static worker *get_worker(int slot) {
  worker *w = workers[slot];
  if (w) return w;
  w = workers[slot] = calloc(1, sizeof *w);
  w->tgarena = mmap(NULL, MAX_VARS * TGSLOT, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  for (int i = 0; i < MAX_VARS; i++)
    mprotect(w->tgarena + i * TGSLOT + TGMEM, TGSLOT - TGMEM, PROT_NONE);
  return w;
}

static void make_order(worker *w, const char *order, unsigned long group) {
  unsigned n = w->g.tgsz[0] * w->g.tgsz[1] * w->g.tgsz[2];
  for (unsigned i = 0; i < n; i++) w->order[i] = n - 1 - i;
  if (!strcmp(order, "rev")) return;
  uint32_t s = atoi(order) * 2654435761u + group + 1;
  for (unsigned i = n - 1; i; i--) {
    s ^= s << 13;
    s ^= s >> 17;
    s ^= s << 5;
    unsigned k = s % (i + 1);
    unsigned short x = w->order[i];
    w->order[i] = w->order[k];
    w->order[k] = x;
  }
}

static void *work(void *arg) {
  job *j = arg;
  const msl_launch *l = j->l;
  int slot = __atomic_fetch_add(&j->slot, 1, __ATOMIC_RELAXED);
  worker *w = self = get_worker(j->nthreads <= 1 ? MAX_WORKERS : slot);
  w->kernel = l->kernel;
  w->g.worker = w;
  w->g.buf = j->buffer;
  w->g.tgmem = l->tgmem;
  memcpy(w->g.grid, l->grid, 12);
  memcpy(w->g.ntg, j->ntg, 12);
  memcpy(w->g.tgnom, l->group, 12);
  const char *order = msl_defaults.order;
  w->reorder = order && strcmp(order, "fwd");
  msl_fpword saved = msl_fp_get();
  msl_ftz = l->ftz;
  msl_fp_set(l->ftz ? MSL_FP_FLUSH : MSL_FP_KEEP);
  for (;;) {
    unsigned long q = __atomic_fetch_add(&j->next, 1, __ATOMIC_RELAXED);
    if (q >= j->total) break;
    w->g.tgpos[0] = q % j->ntg[0];
    w->g.tgpos[1] = q / j->ntg[0] % j->ntg[1];
    w->g.tgpos[2] = q / ((unsigned long)j->ntg[0] * j->ntg[1]);
    for (int d = 0; d < 3; d++) {
      unsigned rest = l->grid[d] - w->g.tgpos[d] * l->group[d];
      w->g.tgsz[d] = rest < l->group[d] ? rest : l->group[d];
    }
    if (w->reorder) make_order(w, order, q);
    run_threadgroup(w);
  }
  msl_fp_set(saved);
  msl_ftz = 0;
  w->kernel = NULL;
  return NULL;
}

static void run_here(job *j) {
  pthread_mutex_lock(&caller_slot);
  work(j);
  pthread_mutex_unlock(&caller_slot);
}

static void run_job(job *j) {
  const msl_kernel *k = j->l->kernel;
  int n = msl_defaults.threads < MAX_WORKERS ? msl_defaults.threads : MAX_WORKERS;
  int shared_tgmem = 0; /* threadgroup arguments are one block for all */
  for (int i = 0; k->args && i < k->nargs; i++) shared_tgmem |= k->args[i].kind == MSL_ARG_TGMEM;
  if (n <= 1 || j->total == 1 || shared_tgmem) {
    run_here(j);
    return;
  }
  static pthread_mutex_t one = PTHREAD_MUTEX_INITIALIZER;
  pthread_t th[MAX_WORKERS];
  pthread_mutex_lock(&one);
  j->nthreads = n;
  for (int i = 0; i < n; i++) pthread_create(&th[i], NULL, work, j);
  for (int i = 0; i < n; i++) pthread_join(th[i], NULL);
  pthread_mutex_unlock(&one);
}

static int refuse(const msl_kernel *k, const char *what) {
  snprintf(error_text, sizeof error_text, "%s: %s", k->name, what);
  return -1;
}

int msl_launch_run(const msl_launch *l) {
  const msl_kernel *k = l->kernel;
  int wanted = l->traffic || msl_defaults.count, counted = k->flags & MSL_COUNTED;
  int counting = wanted || l->on_bytes || (counted && msl_count_overlaps(l));
  job j = {.l = l, .total = 1};
  if ((unsigned long)l->group[0] * l->group[1] * l->group[2] > MAX_THREADS)
    return refuse(k, "over 1024 threads in a threadgroup");
  if (l->ftz && !(k->flags & MSL_STRICT))
    return refuse(k, "flush mode needs a library built without --no-strict");
  if (counting && !counted) return refuse(k, "counting bytes needs a library built with --count");
  for (int d = 0; d < 3; d++) {
    j.ntg[d] = (l->grid[d] + l->group[d] - 1) / l->group[d];
    j.total *= j.ntg[d];
  }
  memcpy(j.buffer, l->buffer, sizeof j.buffer);
  if (counting) msl_count_begin(l, j.buffer);
  run_job(&j);
  if (!counting) return 0;
  msl_traffic t[MSL_BUFFERS + 1];
  char why[200] = "";
  msl_count_end(l, t, why, sizeof why);
  if (*why) return refuse(k, why);
  if (l->traffic) memcpy(l->traffic, t, sizeof t);
  if (wanted) msl_count_report(l, t);
  return 0;
}

const char *msl_where(void) {
  static __thread char b[256];
  worker *w = self;
  if (!w || !w->kernel) return "host";
  unsigned i = w->current, x = w->g.tgsz[0], y = w->g.tgsz[1];
  snprintf(b, sizeof b, "kernel %s, threadgroup (%u,%u,%u) thread (%u,%u,%u)", w->kernel->name, w->g.tgpos[0],
           w->g.tgpos[1], w->g.tgpos[2], x ? i % x : 0, x && y ? i / x % y : 0, x && y ? i / (x * y) : 0);
  return b;
}
