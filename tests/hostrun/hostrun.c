/* hostrun.c - compiles a spec, builds the emitted kernels and stub through the emitted .mk, and runs them: on Linux on
 * the test bed, on a Mac on its GPU.
 *
 *   hostrun SPEC [--entry=E] [--signature=K] (--inputs=IN | --random=SEED [--dim NAME=VALUE]…) [--outputs=OUT]
 *           [--no-fuse] [--compare]
 *   hostrun SPEC --all --random=SEED [--compare]         every entry and signature
 *   hostrun SPEC --batch=FILE [--compare]                a line a run: ENTRY SIGNATURE IN OUT [OUT-FLUSHED]; IN may be
 *                                                        random=SEED, OUT -
 *
 * --compare runs the evaluator, the unfused and the fused kernels, on the bed in both subnormal modes, and says which
 * bits differ, where; on the bed it also holds the bytes that each launch really touched against --stats. Exit status 0
 * only if nothing differs. --keep leaves the built files and says where.
 *
 * Where sizes are open, --inputs has them; random inputs are made at many sizes: 0, 1, odd ones, powers of two and
 * their neighbours, bounds, equal and mixed. --dim fixes some; all fixed, it is one run. Sizes that the compiler
 * refuses the stub must refuse, too. */
#include "../../lib/nuvec.h"
#include "../../lib/emit/runtime/abi.h"
#include "random.h"

#include <dlfcn.h>
#include <errno.h>
#include <jansson.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* ---- the bed's controls (tests/hostmetal/rt/msl_rt.h), found at run time: on a Mac there are none ---- */
#include "../hostmetal/rt/msl_rt.h"

typedef struct built { /* a spec compiled one way, loaded */
  nuvecc_unit *unit;
  const char *label;
  void *library;
  void *context;
  json_t *stats;
} built;

typedef struct job {
  size_t program;
  const char *in, *out, *out_flushed; /* files, or NULL */
  uint64_t seed;
  const int64_t *sizes; /* without in: values of the program's sizes */
} job;

typedef struct fixed { /* --dim */
  const char *name;
  size_t length;
  int64_t value;
  bool used;
} fixed;

static struct {
  const char *spec, *entry, *inputs, *outputs, *batch, *on;
  unsigned long signature;
  uint64_t seed;
  bool random, all, fast_pow, no_fuse, compare, keep, simplify_off;
  char root[1024]; /* of the project: where tests/hostmetal is */
  char *dir;       /* of the built files */
  fixed *dims;
  size_t ndims;
  bool host;       /* on the bed */
  msl_options *bed;
  void (*observe)(msl_observer *, void *);
  size_t differences;
} g;

static void fail(const char *format, ...) {
  va_list ap;
  va_start(ap, format);
  fputs("hostrun: ", stderr);
  vfprintf(stderr, format, ap);
  va_end(ap);
  putc('\n', stderr);
  exit(2);
}

static char *print(const char *format, ...) {
  va_list ap, again;
  va_start(ap, format);
  va_copy(again, ap);
  int n = vsnprintf(NULL, 0, format, ap);
  char *s = malloc((size_t)n + 1);
  if (!s) fail("out of memory");
  vsnprintf(s, (size_t)n + 1, format, again);
  va_end(again);
  va_end(ap);
  return s;
}

static char *read_file(const char *path, size_t *n) {
  FILE *f = fopen(path, "rb");
  char *bytes = NULL;
  size_t room = 0;
  *n = 0;
  if (!f) fail("%s: %s", path, strerror(errno));
  do {
    room = room ? room * 2 : 65536;
    bytes = realloc(bytes, room);
    if (!bytes) fail("out of memory");
    *n += fread(bytes + *n, 1, room - *n, f);
  } while (*n == room);
  if (ferror(f)) fail("%s: %s", path, strerror(errno));
  fclose(f);
  bytes[*n] = 0;
  return bytes;
}

static void write_file(const char *path, const char *bytes, size_t n) {
  FILE *f = fopen(path, "wb");
  if (!f || fwrite(bytes, 1, n, f) != n || fclose(f)) fail("%s: %s", path, strerror(errno));
}

static bool ends_with(const char *s, const char *end) {
  size_t n = strlen(s), m = strlen(end);
  return n >= m && !strcmp(s + n - m, end);
}

/* ---- building ---- */

static void shell(const char *command) {
  fflush(NULL);
  int status = system(command);
  if (status) fail("failed (%d): %s", WIFEXITED(status) ? WEXITSTATUS(status) : status, command);
}

static void show(void *user, const nuvecc_diagnostic *d) {
  (void)user;
  static const char *const words[] = {"error", "warning", "note"};
  fprintf(stderr, "%s:%u:%u: %s: %s\n", d->file, d->line, d->column, words[d->severity], d->text);
}

/* Files that the spec names: beside it. They live as long as the process. */
static const void *read_named(void *reader, const char *path, size_t *n, const char **why) {
  (void)reader, (void)why;
  const char *slash = strrchr(g.spec, '/');
  char *whole = print("%.*s%s", slash && *path != '/' ? (int)(slash - g.spec) + 1 : 0, g.spec, path);
  const void *bytes = read_file(whole, n);
  free(whole);
  return bytes;
}

static nuvecc_unit *compile(bool fuse) {
  size_t n;
  char *bytes = read_file(g.spec, &n); /* lives as long as the unit */
  nuvecc_options o = {.file = g.spec,
                      .format = ends_with(g.spec, ".json") ? NUVECC_FORMAT_JSON : NUVECC_FORMAT_YAML,
                      .entry = g.entry,
                      .no_fuse = !fuse,
                      .verify = true,
                      .fast_pow = g.fast_pow,
                      .no_simplify = !fuse && g.simplify_off,
                      .report = show,
                      .read = read_named};
  nuvecc_unit *u;
  nuvecc_status status = nuvecc_compile(&o, bytes, n, &u);
  if (status)
    fail("%s: status %d: %s", g.spec, (int)status, status == NUVECC_SPEC ? "the spec is wrong" : nuvecc_error(u));
  return u;
}

static void emit(nuvecc_unit *u, const char *dir) {
  static const struct {
    const char *ending;
    nuvecc_artifact what;
  } files[] = {{".metal", NUVECC_METAL}, {".c", NUVECC_C}, {".h", NUVECC_HEADER}, {".mk", NUVECC_MK},
               {".data", NUVECC_DATA}};
  if (mkdir(dir, 0777)) fail("%s: %s", dir, strerror(errno));
  for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
    size_t n;
    if (files[i].what == NUVECC_DATA && !nuvecc_has_data(u)) continue;
    const char *text = nuvecc_text(u, files[i].what, &n);
    if (!text) fail("%s", nuvecc_error(u));
    char *path = print("%s/%s%s", dir, nuvecc_name(u), files[i].ending);
    write_file(path, text, n);
    free(path);
  }
}

/* The bed goes first and for all to see; the stubs stay apart, as they have the same symbols. */
static void load_bed(void) {
  const char *dir = getenv("HOSTMETAL_LIB");
  char *path = dir ? print("%s/libhostmetal.so", dir) : print("%s/build/hostmetal/libhostmetal.so", g.root);
  void *bed = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
  if (!bed) fail("%s", dlerror());
  g.bed = dlsym(bed, "msl_defaults");
  *(void **)&g.observe = dlsym(bed, "msl_observe");
  if (!g.bed || !g.observe) fail("%s: no test bed", path);
  free(path);
}

static built build(bool fuse) {
  built b = {.unit = compile(fuse), .label = fuse ? "fused" : "unfused"};
  char *dir = print("%s/%s", g.dir, b.label);
  const char *name = nuvecc_name(b.unit);
  emit(b.unit, dir);
  const char *count = g.compare && g.host ? "MSLCFLAGS=\"--count $MSLCFLAGS\" " : "";
  char *make = g.host ? print("cd '%s' && PATH='%s/tests/hostmetal/bin':\"$PATH\" %smake -s -f %s.mk", dir, g.root,
                              count, name)
                      : print("cd '%s' && make -s -f %s.mk", dir, name);
  shell(make);
  const char *flags = "-std=c11 -O1 -g -Wall -Wextra -pedantic -Werror";
  char *cc =
      g.host ? print("cd '%s' && '%s/tests/hostmetal/bin/hostcc' %s -fPIC -shared %s.c -o %s.so -lobjc -framework "
                     "Metal -framework Foundation",
                     dir, g.root, flags, name, name)
             : print("cd '%s' && cc %s -fPIC -shared %s.c -o %s.so -lobjc -framework Metal -framework Foundation "
                     "-framework CoreGraphics",
                     dir, flags, name, name);
  shell(cc);
  char *so = print("%s/%s.so", dir, name), *lib = print("%s/%s.metallib", dir, name);
  b.library = dlopen(so, RTLD_NOW | RTLD_LOCAL);
  if (!b.library) fail("%s", dlerror());
  char *create = print("%s_create", name), *error = print("%s_error", name);
  nuvec_status (*make_context)(const nuvec_options *, void **);
  *(void **)&make_context = dlsym(b.library, create);
  if (!make_context) fail("%s", dlerror());
  nuvec_options o = {.path = lib};
  nuvec_status status = make_context(&o, &b.context);
  if (status) {
    const char *(*text)(void *);
    *(void **)&text = dlsym(b.library, error);
    fail("%s: status %d: %s", create, (int)status, text && b.context ? text(b.context) : "");
  }
  size_t n;
  const char *stats = nuvecc_text(b.unit, NUVECC_STATS_JSON, &n);
  b.stats = json_loadb(stats, n, 0, NULL);
  if (!b.stats) fail("the stats are no JSON");
  free(dir), free(make), free(cc), free(so), free(lib), free(create), free(error);
  return b;
}

static void unload(built *b) {
  char *name = print("%s_destroy", nuvecc_name(b->unit));
  nuvec_status (*destroy)(void *);
  *(void **)&destroy = dlsym(b->library, name);
  nuvec_status status = destroy ? destroy(b->context) : NUVEC_NULL;
  if (status) fail("%s: status %d", name, (int)status);
  free(name);
  json_decref(b->stats);
  nuvecc_free(b->unit);
}

/* ---- running ---- */

/* Room for tensors of these types, which may be in it already. */
static void make_data(nuvecc_tensor *t, size_t n) {
  for (size_t i = 0; i < n; i++) {
    t[i].data = calloc(t[i].bytes ? t[i].bytes : 1, 1);
    if (!t[i].data) fail("out of memory: '%s' has %zu bytes", t[i].name, t[i].bytes);
  }
}
static nuvecc_tensor *make_tensors(const nuvecc_tensor *d, size_t n) {
  nuvecc_tensor *t = calloc(n + 1, sizeof *t);
  if (!t) fail("out of memory");
  if (n) memcpy(t, d, n * sizeof *t);
  make_data(t, n);
  return t;
}
static void drop_tensors(nuvecc_tensor *t, size_t n) {
  for (size_t i = 0; i < n; i++) free(t[i].data);
  free(t);
}

static nuvec_array array_of(nuvecc_tensor *t) {
  nuvec_array a = {
      .host = t->data, .bytes = t->bytes, .shape = t->shape, .rank = t->rank, .dtype = (nuvec_dtype)t->dtype};
  return a;
}

/* ---- bytes that a launch touched, against what --stats claims ---- */

typedef struct count {
  json_t *kernels; /* of the program */
  size_t at, touched, claimed;
  bool wrong, open;
} count;

static void observe(void *context, const msl_launch *l, const msl_traffic *traffic) {
  count *c = context;
  size_t read = traffic[MSL_TOTAL].read, written = traffic[MSL_TOTAL].written;
  json_t *k = json_array_get(c->kernels, c->at++);
  if (c->open) return; /* the sizes say: --stats claims nothing */
  size_t said_read = (size_t)json_integer_value(json_object_get(k, "read")),
         said_written = (size_t)json_integer_value(json_object_get(k, "written"));
  c->touched += read + written;
  c->claimed += said_read + said_written;
  if (k && read <= said_read && written == said_written) return; /* a load whose value isn't used may be dropped */
  printf("bytes: launch %zu of %s: read %zu, written %zu; --stats claims %zu and %zu\n", c->at - 1, l->kernel->name,
         read, written, said_read, said_written);
  c->wrong = true;
}

static void call(built *b, size_t program, nuvecc_tensor *in, nuvecc_tensor *out, bool flush) {
  const nuvecc_program *p = nuvecc_get_program(b->unit, program);
  char *name = print("%s_packed", p->symbol);
  nuvec_status (*packed)(void *, long, nuvec_array *, size_t, nuvec_array *, size_t);
  *(void **)&packed = dlsym(b->library, name);
  if (!packed) fail("%s", dlerror());
  nuvec_array *arrays = calloc(p->ninputs + p->noutputs + 1, sizeof *arrays);
  if (!arrays) fail("out of memory");
  for (size_t i = 0; i < p->ninputs; i++) arrays[i] = array_of(&in[i]);
  for (size_t i = 0; i < p->noutputs; i++) {
    memset(out[i].data, 0xa5, out[i].bytes); /* what isn't written shows */
    arrays[p->ninputs + i] = array_of(&out[i]);
  }
  count c = {.kernels = json_object_get(json_array_get(json_object_get(b->stats, "entries"), program), "per_kernel")};
  c.open = p->nsizes != 0;
  bool counting = g.bed && g.compare;
  if (g.bed) g.bed->ftz = flush;
  if (counting) {
    g.bed->count = 1;
    g.bed->count_file = "/dev/null"; /* the lines; the observer gets the numbers */
    g.observe(observe, &c);
  }
  nuvec_status status = packed(b->context, (long)p->signature, arrays, p->ninputs, arrays + p->ninputs, p->noutputs);
  if (counting) g.observe(NULL, NULL);
  if (counting && !c.wrong && (c.open ? c.at > json_array_size(c.kernels) : c.at != json_array_size(c.kernels))) {
    printf("launches: %zu; --stats claims %zu\n", c.at, json_array_size(c.kernels));
    c.wrong = true;
  }
  if (status) {
    char *error = print("%s_error", nuvecc_name(b->unit));
    const char *(*text)(void *);
    *(void **)&text = dlsym(b->library, error);
    fail("%s: status %d: %s", name, (int)status, text ? text(b->context) : "");
  }
  if (counting && !c.wrong && !c.open && !strcmp(b->label, "fused") && !flush)
    printf("%s, signature %u: touched %zu bytes, --stats claims %zu\n", p->entry, p->signature, c.touched, c.claimed);
  if (c.wrong) {
    printf("  in %s, signature %u, %s%s\n", p->entry, p->signature, b->label, flush ? ", flushed" : "");
    g.differences++;
  }
  free(name);
  free(arrays);
}

/* ---- comparing ---- */

static uint64_t element(const nuvecc_tensor *t, size_t i) {
  size_t size = nuvecc_dtype_size(t->dtype);
  uint64_t bits = 0;
  const unsigned char *p = (const unsigned char *)t->data + i * size;
  for (size_t k = 0; k < size; k++) bits |= (uint64_t)p[k] << 8 * k;
  return bits;
}
static bool is_nan(nuvecc_dtype d, uint64_t bits) {
  if (d == NUVECC_FLOAT16) return (bits & 0x7fff) > 0x7c00;
  if (d == NUVECC_BFLOAT16) return (bits & 0x7fff) > 0x7f80;
  return d == NUVECC_FLOAT32 && (bits & 0x7fffffff) > 0x7f800000;
}
/* nuvec-ops(5): wherever bits are compared, all NaNs of a dtype are equal. */
static bool same(nuvecc_dtype d, uint64_t a, uint64_t b) {
  if (d == NUVECC_COMPLEX64)
    return same(NUVECC_FLOAT32, a & 0xffffffff, b & 0xffffffff) && same(NUVECC_FLOAT32, a >> 32, b >> 32);
  return a == b || (is_nan(d, a) && is_nan(d, b));
}

static void compare(const nuvecc_program *p, const char *mode, const char *aname, const nuvecc_tensor *a,
                    const char *bname, const nuvecc_tensor *b) {
  for (size_t k = 0; k < p->noutputs; k++) {
    size_t size = nuvecc_dtype_size(a[k].dtype), n = a[k].bytes / size, wrong = 0;
    for (size_t i = 0; i < n; i++) {
      uint64_t x = element(&a[k], i), y = element(&b[k], i);
      if (same(a[k].dtype, x, y)) continue;
      if (wrong++ >= 3) continue;
      printf("%s, signature %u, %s: %s[", p->entry, p->signature, mode, a[k].name);
      size_t stride = n, at = i;
      for (int32_t d = 0; d < a[k].rank; d++) {
        stride /= (size_t)a[k].shape[d];
        printf(d ? ", %zu" : "%zu", at / stride);
        at %= stride;
      }
      printf("]: %s 0x%0*llx, %s 0x%0*llx\n", aname, (int)size * 2, (unsigned long long)x, bname, (int)size * 2,
             (unsigned long long)y);
    }
    if (wrong) {
      printf("%s, signature %u, %s: %s: %zu of %zu elements differ between %s and %s\n", p->entry, p->signature, mode,
             a[k].name, wrong, n, aname, bname);
      g.differences++;
    }
  }
}

static void save(const char *path, const nuvecc_tensor *t, size_t ntensors) {
  size_t n;
  char *text = nuvecc_write_tensors(
      ends_with(path, ".safetensors") ? NUVECC_TENSORS_SAFETENSORS : NUVECC_TENSORS_JSON, t, ntensors, &n);
  if (!text) fail("out of memory");
  if (!strcmp(path, "-"))
    fwrite(text, 1, n, stdout);
  else
    write_file(path, text, n);
  free(text);
}

/* The sizes of a run, for messages. */
static char *sizes_text(const nuvecc_program *p, const int64_t *sizes) {
  char *text = print("%s", "");
  for (size_t i = 0; i < p->nsizes; i++) {
    char *longer = print("%s%s%s=%lld", text, i ? ", " : "", p->sizes[i].name, (long long)sizes[i]);
    free(text);
    text = longer;
  }
  return text;
}

/* The compiler refuses these sizes: does the stub? */
static void check_refusal(built *b, size_t program, const int64_t *sizes, const nuvecc_tensor *in) {
  const nuvecc_program *p = nuvecc_get_program(b->unit, program);
  nuvecc_tensor *t = make_tensors(in, p->ninputs);
  nuvec_array *arrays = calloc(p->ninputs + p->noutputs + 1, sizeof *arrays);
  char *name = print("%s_packed", p->symbol);
  nuvec_status (*packed)(void *, long, nuvec_array *, size_t, nuvec_array *, size_t);
  *(void **)&packed = dlsym(b->library, name);
  if (!packed || !arrays) fail("%s can't be called", name);
  for (size_t i = 0; i < p->ninputs; i++) arrays[i] = array_of(&t[i]);
  if (!packed(b->context, (long)p->signature, arrays, p->ninputs, arrays + p->ninputs, p->noutputs)) {
    char *text = sizes_text(p, sizes);
    printf("%s, signature %u, %s: the compiler refuses these sizes (%s), %s doesn't\n", p->entry, p->signature, text,
           nuvecc_error(b->unit), name);
    free(text);
    g.differences++;
  }
  drop_tensors(t, p->ninputs);
  free(arrays);
  free(name);
}

/* The inputs, with data, and the types of the outputs; false: the sizes are refused, by both sides. */
static bool make_inputs(built *b, const job *j, nuvecc_tensor *in, nuvecc_tensor *out) {
  const nuvecc_program *p = nuvecc_get_program(b->unit, j->program);
  memcpy(in, p->inputs, p->ninputs * sizeof *in);
  if (j->in) {
    size_t n;
    char *bytes = read_file(j->in, &n);
    nuvecc_options o = {.file = j->in, .report = show};
    nuvecc_tensor_format format =
        ends_with(j->in, ".safetensors") ? NUVECC_TENSORS_SAFETENSORS : NUVECC_TENSORS_JSON;
    nuvecc_tensor *types = calloc(p->ninputs + 1, sizeof *types);
    if (!types) fail("out of memory");
    if (nuvecc_read_shapes(&o, format, bytes, n, p->inputs, p->ninputs, in)) fail("%s: wrong inputs", j->in);
    memcpy(types, in, p->ninputs * sizeof *in);
    make_data(in, p->ninputs);
    if (nuvecc_read_tensors(&o, format, bytes, n, types, p->ninputs, in)) fail("%s: wrong inputs", j->in);
    free(types);
    free(bytes);
    if (nuvecc_shapes(b->unit, j->program, in, out)) fail("%s: %s", j->in, nuvecc_error(b->unit));
    return true;
  }
  if (nuvecc_inputs_at(b->unit, j->program, j->sizes, in)) return false;
  if (nuvecc_shapes(b->unit, j->program, in, out)) {
    check_refusal(b, j->program, j->sizes, in);
    return false;
  }
  make_data(in, p->ninputs);
  for (size_t i = 0; i < p->ninputs; i++) random_fill(&in[i], j->seed + i);
  return true;
}

/* false: the sizes don't fit. */
static bool run(built *fused, built *unfused, const job *j) {
  built *main_ = fused ? fused : unfused;
  const nuvecc_program *p = nuvecc_get_program(main_->unit, j->program);
  nuvecc_tensor *in = calloc(p->ninputs + 1, sizeof *in), *out = calloc(p->noutputs + 1, sizeof *out), *ways[3];
  if (!in || !out) fail("out of memory");
  if (!make_inputs(main_, j, in, out)) {
    free(in);
    free(out);
    return false;
  }
  for (int w = 0; w < 3; w++) ways[w] = make_tensors(out, p->noutputs);
  const size_t before = g.differences;
  for (int flush = 0; flush < (g.host && (g.compare || j->out_flushed) ? 2 : 1); flush++) {
    call(main_, j->program, in, ways[0], flush);
    if (g.compare) {
      const char *mode = flush ? "subnormals flushed" : "subnormals kept";
      call(unfused, j->program, in, ways[1], flush);
      compare(p, mode, "unfused", ways[1], "fused", ways[0]);
      if (g.host) { /* a GPU's library functions are its own: there only fused and unfused are bound to agree */
        if (nuvecc_eval(main_->unit, j->program, in, ways[2], flush))
          fail("evaluator: %s", nuvecc_error(main_->unit));
        compare(p, mode, "evaluator", ways[2], "fused", ways[0]);
      }
    }
    const char *path = flush ? j->out_flushed : j->out;
    if (path) save(path, ways[0], p->noutputs);
  }
  if (j->sizes && p->nsizes && g.differences > before) {
    char *text = sizes_text(p, j->sizes);
    printf("  at %s\n", text);
    free(text);
  }
  for (int w = 0; w < 3; w++) drop_tensors(ways[w], p->noutputs);
  drop_tensors(in, p->ninputs);
  free(out);
  return true;
}

/* ---- random sizes ---- */

enum { ROUNDS = 40, MANY_BYTES = 1 << 23, ENOUGH = 10, SECONDS = 5 };

static bool is_small(nuvecc_unit *u, size_t program, const int64_t *sizes) {
  const nuvecc_program *p = nuvecc_get_program(u, program);
  nuvecc_tensor *t = calloc(p->ninputs + p->noutputs + 1, sizeof *t);
  size_t bytes = 0;
  if (!t) fail("out of memory");
  bool small = !nuvecc_inputs_at(u, program, sizes, t);
  for (size_t i = 0; small && i < p->ninputs; i++) small = (bytes += t[i].bytes) <= MANY_BYTES;
  if (small && !nuvecc_shapes(u, program, t, t + p->ninputs))
    for (size_t i = 0; small && i < p->noutputs; i++) small = (bytes += t[p->ninputs + i].bytes) <= MANY_BYTES;
  free(t);
  return small;
}

/* Round after round: all sizes alike, from a list; then each its own. */
static void choose(const nuvecc_program *p, int round, uint64_t *random, int64_t *sizes) {
  static const int64_t list[] = {1, 0, 2, 3, 5, 7, 8, 16, 17, 31, 32, 33, 64, 65, 100, 127, 128, 129, 255, 256, 257};
  enum { LIST = sizeof list / sizeof *list };
  for (size_t i = 0; i < p->nsizes; i++) {
    const nuvecc_size *s = &p->sizes[i];
    int64_t value = list[round < LIST ? round : (int)(random_next(random) % LIST)];
    if (round == LIST) value = s->min;
    if (round == LIST + 1 && s->max <= 4096) value = s->max;
    if (value < s->min) value = s->min + (value & 3);
    if (value > s->max) value = s->max - (value & 1);
    for (size_t k = 0; k < g.ndims; k++)
      if (strlen(s->name) == g.dims[k].length && !memcmp(s->name, g.dims[k].name, g.dims[k].length))
        value = g.dims[k].value, g.dims[k].used = true;
    sizes[i] = value;
  }
}

static void run_random(built *fused, built *unfused, const job *j) {
  enum { FEW = 3 };
  built *main_ = fused ? fused : unfused;
  const nuvecc_program *p = nuvecc_get_program(main_->unit, j->program);
  int64_t *sizes = calloc(p->nsizes + 1, sizeof *sizes), *last = calloc(p->nsizes + 1, sizeof *last);
  uint64_t random = j->seed + 17;
  size_t ran = 0;
  job one = *j;
  if (!sizes || !last) fail("out of memory");
  one.sizes = sizes;
  choose(p, 0, &random, sizes);
  bool all = true;
  for (size_t k = 0; k < p->nsizes; k++) {
    bool given = false;
    for (size_t i = 0; i < g.ndims; i++)
      given = given || (strlen(p->sizes[k].name) == g.dims[i].length &&
                        !memcmp(p->sizes[k].name, g.dims[i].name, g.dims[i].length));
    all = all && given;
  }
  if (all) {
    if (!run(fused, unfused, &one)) fail("%s, signature %u: %s", p->entry, p->signature, nuvecc_error(main_->unit));
  } else {
    const clock_t start = clock();
    for (int round = 0; round < ROUNDS; round++) {
      if (ran >= ENOUGH && clock() - start > (clock_t)SECONDS * CLOCKS_PER_SEC) break; /* large sizes come late */
      choose(p, round, &random, sizes);
      if (round && !memcmp(sizes, last, p->nsizes * sizeof *sizes)) continue;
      memcpy(last, sizes, p->nsizes * sizeof *sizes);
      if (!is_small(main_->unit, j->program, sizes)) continue;
      ran += run(fused, unfused, &one);
    }
    printf("%s, signature %u: ran at %zu sets of sizes\n", p->entry, p->signature, ran);
    if (ran < FEW) fail("%s, signature %u: few sizes fit: give some by --dim", p->entry, p->signature);
  }
  free(sizes);
  free(last);
}

/* ---- the command line ---- */

static const char *value_of(const char *word, const char *name) {
  size_t n = strlen(name);
  return !strncmp(word, name, n) && word[n] == '=' ? word + n + 1 : NULL;
}

static void add_dim(const char *text) {
  const char *equal = strchr(text, '=');
  char *end;
  if (!equal) fail("--dim takes NAME=VALUE");
  g.dims = realloc(g.dims, (g.ndims + 1) * sizeof *g.dims);
  if (!g.dims) fail("out of memory");
  g.dims[g.ndims] = (fixed){.name = text, .length = (size_t)(equal - text), .value = strtoll(equal + 1, &end, 10)};
  if (end == equal + 1 || *end || g.dims[g.ndims++].value < 0) fail("--dim %s: no size", text);
}

static void parse(int argc, char **argv) {
  g.on = "host";
#if defined(__APPLE__)
  g.on = "metal";
#endif
  for (int i = 1; i < argc; i++) {
    const char *w = argv[i], *v;
    if ((v = value_of(w, "--entry")))
      g.entry = v;
    else if ((v = value_of(w, "--signature")))
      g.signature = strtoul(v, NULL, 10);
    else if ((v = value_of(w, "--inputs")))
      g.inputs = v;
    else if ((v = value_of(w, "--outputs")))
      g.outputs = v;
    else if ((v = value_of(w, "--batch")))
      g.batch = v;
    else if ((v = value_of(w, "--on")))
      g.on = v;
    else if ((v = value_of(w, "--random")))
      g.random = true, g.seed = strtoull(v, NULL, 10);
    else if ((v = value_of(w, "--dim")))
      add_dim(v);
    else if (!strcmp(w, "--dim") && i + 1 < argc)
      add_dim(argv[++i]);
    else if (!strcmp(w, "--all"))
      g.all = true;
    else if (!strcmp(w, "--pow=fast"))
      g.fast_pow = true;
    else if (!strcmp(w, "--no-fuse"))
      g.no_fuse = true;
    else if (!strcmp(w, "--no-simplify"))
      g.simplify_off = true;
    else if (!strcmp(w, "--compare"))
      g.compare = true;
    else if (!strcmp(w, "--keep"))
      g.keep = true;
    else if (w[0] == '-' && w[1])
      fail("unknown option '%s'", w);
    else if (g.spec)
      fail("more than one spec");
    else
      g.spec = w;
  }
  if (!g.spec || !(g.inputs || g.random || g.batch))
    fail("usage: hostrun SPEC [--entry=E] [--signature=K] (--inputs=IN | --random=SEED [--dim NAME=VALUE]... | "
         "--batch=FILE) [--all] [--outputs=OUT] [--no-fuse] [--no-simplify] [--pow=fast] [--compare] [--keep] "
         "[--on=host|metal]");
  if (strcmp(g.on, "host") && strcmp(g.on, "metal")) fail("--on takes host or metal");
  g.host = !strcmp(g.on, "host");
#if !defined(__APPLE__)
  if (!g.host) {
    puts("no Metal: not run");
    exit(0);
  }
#endif
}

/* The project's root: two folders above this program (build/hostrun), or $NUVECC_ROOT. */
static void find_root(const char *self) {
  const char *env = getenv("NUVECC_ROOT");
  char *slash;
  if (env) {
    snprintf(g.root, sizeof g.root, "%s", env);
  } else {
    char *path = realpath(self, NULL);
    if (!path) fail("%s: %s", self, strerror(errno));
    for (int up = 0; up < 2 && (slash = strrchr(path, '/')); up++) *slash = 0;
    snprintf(g.root, sizeof g.root, "%s", path);
    free(path);
  }
}

static size_t find_program(nuvecc_unit *u, const char *entry, unsigned long signature) {
  for (size_t k = 0; k < nuvecc_nprograms(u); k++) {
    const nuvecc_program *p = nuvecc_get_program(u, k);
    if ((!entry || !strcmp(p->entry, entry)) && p->signature == signature) return k;
  }
  fail("no entry '%s' with signature %lu", entry ? entry : "", signature);
  return 0;
}

static void run_batch(built *fused, built *unfused) {
  size_t n;
  nuvecc_unit *u = (fused ? fused : unfused)->unit;
  char *text = read_file(g.batch, &n);
  for (char *line = strtok(text, "\n"), *rest; line; line = rest) {
    char entry[256], in[1024], out[1024], flushed[1024];
    unsigned long signature;
    rest = strtok(NULL, "\n");
    int got = sscanf(line, "%255s %lu %1023s %1023s %1023s", entry, &signature, in, out, flushed);
    if (got < 4) fail("%s: a line must be ENTRY SIGNATURE IN OUT [OUT-FLUSHED]: %s", g.batch, line);
    job j = {find_program(u, entry, signature), in, strcmp(out, "-") ? out : NULL, got > 4 ? flushed : NULL, 0, NULL};
    const char *seed = value_of(in, "random");
    if (seed) {
      j.in = NULL;
      j.seed = strtoull(seed, NULL, 10);
      run_random(fused, unfused, &j);
    } else {
      run(fused, unfused, &j);
    }
  }
  free(text);
}

int main(int argc, char **argv) {
  parse(argc, argv);
  find_root(argv[0]);
  const char *tmp = getenv("TMPDIR");
  g.dir = print("%s/hostrun.XXXXXX", tmp ? tmp : "/tmp");
  if (!mkdtemp(g.dir)) fail("%s: %s", g.dir, strerror(errno));

  if (g.host) load_bed();
  built fused = {0}, unfused = {0};
  bool both = g.compare || !g.no_fuse;
  if (both) fused = build(true);
  if (g.compare || g.no_fuse) unfused = build(false);
  built *f = both ? &fused : NULL, *u = g.compare || g.no_fuse ? &unfused : NULL;
  nuvecc_unit *unit = (f ? f : u)->unit;
  if (g.batch) {
    run_batch(f, u);
  } else if (g.all) {
    for (size_t k = 0; k < nuvecc_nprograms(unit); k++)
      run_random(f, u, &(job){.program = k, .seed = g.seed + 1000 * k});
  } else {
    job j = {find_program(unit, g.entry, g.signature), g.inputs, g.outputs, NULL, g.seed, NULL};
    if (j.in) run(f, u, &j);
    else run_random(f, u, &j);
    const char *entry = nuvecc_get_program(unit, j.program)->entry;
    for (size_t k = 0; g.compare && k < nuvecc_nprograms(unit); k++) /* every signature of the entry */
      if (k != j.program && g.random && !strcmp(nuvecc_get_program(unit, k)->entry, entry))
        run_random(f, u, &(job){.program = k, .seed = g.seed + 1000 * k});
  }
  for (size_t k = 0; k < g.ndims; k++)
    if (!g.dims[k].used) fail("--dim %s: no such size is open", g.dims[k].name);
  if (f) unload(f);
  if (u) unload(u);
  if (g.keep)
    printf("built files: %s\n", g.dir);
  else {
    char *rm = print("rm -rf '%s'", g.dir);
    shell(rm);
    free(rm);
  }
  free(g.dir);
  if (g.compare) puts(g.differences ? "bits differ" : "all bits agree");
  return g.differences ? 1 : 0;
}
