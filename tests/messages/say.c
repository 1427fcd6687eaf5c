/* say.c - what the library says about many texts, in one process: tests/run_messages.py writes requests to standard
 * input, each a line of fields with tabs between them, and the text's bytes behind it:
 *   how (spec, full or tensors), format (json, yaml, safetensors), file, flags (w: -Werror, s: --shapeless), entry or
 *   "", wanted tensors (name:dtype:size,size;…) or "", length
 * and reads back a line for every diagnostic (severity, line, column, file, text) and one for the status ("=", status,
 * the text of a status that isn't the spec's). */
#include "nuvec.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_WANTED = 16 };

static void say(void *user, const nuvecc_diagnostic *d) {
  static const char *const words[] = {"error", "warning", "note"};
  (void)user;
  printf("%s\t%u\t%u\t%s\t%s\n", words[d->severity], d->line, d->column, d->file, d->text);
}

/* nuvecc_options.read: files of the folder that the environment names. They are left to the end of the process. */
static const void *read_named(void *reader, const char *path, size_t *n, const char **why) {
  enum { ROOM = 1 << 16 };
  const char *folder = getenv("SAY_FILES");
  char whole[1024], *bytes = malloc(ROOM);
  (void)reader;
  snprintf(whole, sizeof whole, "%s/%s", folder ? folder : ".", path);
  FILE *f = fopen(whole, "rb");
  *why = "No such file or directory";
  if (!f || !bytes) return NULL;
  *n = fread(bytes, 1, ROOM, f);
  fclose(f);
  return bytes;
}

static void compile(const nuvecc_options *o, const char *bytes, size_t n) {
  nuvecc_unit *unit = NULL;
  nuvecc_status status = nuvecc_compile(o, bytes, n, &unit);
  const char *text = status > NUVECC_SPEC ? nuvecc_error(unit) : "";
  for (int what = NUVECC_METAL; !status && !o->syntax_only && what < NUVECC_PASS_TIMES; what++)
    if (!nuvecc_text(unit, (nuvecc_artifact)what, NULL)) {
      printf("=\t%d\t%s\n", NUVECC_SPEC, nuvecc_error(unit));
      nuvecc_free(unit);
      return;
    }
  printf("=\t%d\t%s\n", (int)status, text);
  nuvecc_free(unit);
}

static void read_tensors(const nuvecc_options *o, const char *format, char *wanted, const char *bytes, size_t n) {
  nuvecc_tensor want[MOST_WANTED] = {{0}}, out[MOST_WANTED] = {{0}};
  size_t nwant = 0;
  for (char *p = wanted; *p && nwant < MOST_WANTED; nwant++) {
    nuvecc_tensor *w = &want[nwant];
    char *dtype = strchr(p, ':') + 1, *sizes = strchr(dtype, ':') + 1, *end = strchr(sizes, ';');
    dtype[-1] = sizes[-1] = 0;
    w->name = p;
    while (strcmp(nuvecc_dtype_name(w->dtype), dtype)) w->dtype++;
    w->bytes = nuvecc_dtype_size(w->dtype);
    for (p = sizes; *p && *p != ';'; p += *p == ',') {
      w->shape[w->rank] = strtoll(p, &p, 10);
      w->bytes *= (size_t)w->shape[w->rank++];
    }
    p = end ? end + 1 : p;
    out[nwant].data = calloc(w->bytes + 1, 1);
  }
  nuvecc_tensor_format f = strcmp(format, "json") ? NUVECC_TENSORS_SAFETENSORS : NUVECC_TENSORS_JSON;
  printf("=\t%d\t\n", (int)nuvecc_read_tensors(o, f, bytes, n, want, nwant, out));
  for (size_t i = 0; i < nwant; i++) free(out[i].data);
}

int main(void) {
  char line[4096];
  while (fgets(line, sizeof line, stdin)) {
    char *field[7] = {line};
    int k = 1;
    for (char *p = line; *p; p++)
      if (*p == '\t' && k < 7) *p = 0, field[k++] = p + 1;
    if (k < 7) return 2;
    size_t n = strtoul(field[6], NULL, 10);
    char *bytes = malloc(n + 1);
    if (!bytes || fread(bytes, 1, n, stdin) != n) return 2;
    nuvecc_options o = {.file = field[2],
                        .format = strcmp(field[1], "yaml") ? NUVECC_FORMAT_JSON : NUVECC_FORMAT_YAML,
                        .entry = *field[4] ? field[4] : NULL,
                        .werror = strchr(field[3], 'w') != NULL,
                        .shapeless = strchr(field[3], 's') != NULL,
                        .syntax_only = strcmp(field[0], "full") != 0,
                        .report = say,
                        .read = read_named};
    if (strcmp(field[0], "tensors"))
      compile(&o, bytes, n);
    else
      read_tensors(&o, field[1], field[5], bytes, n);
    fflush(stdout);
    free(bytes);
  }
  return 0;
}
