/* read.c - reads one spec, up to its parsed form, and prints seconds and peak resident bytes (the file's own included):
 * the cost of the readers alone, for bench/read.py. read FILE.json|FILE.yaml */
#include "../lib/ir/graph.h"
#include "../lib/spec/ast.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

static void report(void *user, const nuvecc_diagnostic *d) {
  (void)user;
  fprintf(stderr, "%s:%u:%u: %s\n", d->file, d->line, d->column, d->text);
}

static double peak(void) {
  struct rusage u;
  getrusage(RUSAGE_SELF, &u);
#ifdef __APPLE__
  return (double)u.ru_maxrss;
#else
  return 1024.0 * (double)u.ru_maxrss;
#endif
}

int main(int argc, char **argv) {
  FILE *f = argc == 2 ? fopen(argv[1], "rb") : NULL;
  if (!f || fseek(f, 0, SEEK_END)) return 2;
  long size = ftell(f);
  char *bytes = size < 0 ? NULL : malloc((size_t)size + 1);
  rewind(f);
  double before = peak();
  if (!bytes || fread(bytes, 1, (size_t)size, f) != (size_t)size) return 2;
  fclose(f);
  size_t n = strlen(argv[1]);
  nuvecc_options o = {.file = argv[1],
                      .format = n > 5 && !strcmp(argv[1] + n - 5, ".json") ? NUVECC_FORMAT_JSON : NUVECC_FORMAT_YAML,
                      .report = report};
  nv_ctx *c = nv_ctx_new(&o);
  if (!c) return 3;
  struct timespec from, to;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &from);
  nv_locale l = nv_enter_c_locale();
  c->door_open = true;
  nv_spec *s = NULL;
  if (!setjmp(c->door)) {
    nv_dims_init(c);
    nv_graph_tables_init(c);
    nv_doc *d = nv_doc_read(c, argv[1], o.format, bytes, (size_t)size);
    s = d ? nv_spec_parse(c, d) : NULL;
    nv_diag_flush(c);
  } else {
    fprintf(stderr, "%s\n", c->fault);
  }
  nv_leave_c_locale(l);
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &to);
  bool read = s && !c->errors;
  /* a small spec stays below the peak that a process inherits: then what the context holds at the end */
  double held = (double)c->memory + (double)size, resident = peak() - before;
  printf("%.6f %.0f\n", (double)(to.tv_sec - from.tv_sec) + 1e-9 * (double)(to.tv_nsec - from.tv_nsec),
         resident > held ? resident : held);
  nv_ctx_free(c);
  free(bytes);
  return read ? 0 : 1;
}
