/* main.c - the command: reads a spec, compiles it, writes what was asked for. */
#include "cli.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* MiB that a compilation may hold. 64 Mi nodes and what is made of them stay below it by far on the way to an error
   that names the limit; a machine that has less swaps or fails earlier. */
enum { MEMORY = 8192, MOST_MEMORY = 1 << 20 };

typedef struct run {
  cli_options o;
  cli_report report;
  nuvecc_unit *unit;
  const char *dir; /* of the outputs, or NULL: here */
  char *spec;
  char **named; /* files that the spec names and that could be read */
  size_t nnamed;
} run;

static char *print(const char *format, ...) {
  va_list ap, again;
  va_start(ap, format);
  va_copy(again, ap);
  int n = vsnprintf(NULL, 0, format, ap);
  char *s = n < 0 ? NULL : malloc((size_t)n + 1);
  if (s) vsnprintf(s, (size_t)n + 1, format, again);
  va_end(again);
  va_end(ap);
  if (!s) exit(cli_fail(NUVECC_IO, "out of memory"));
  return s;
}

/* ---- names ---- */

/* Headers of C11 and POSIX.1-2017: a NAME.h of such a name would stand before the system's. */
static const char *const system_headers[] = {
    "aio",       "arpa",   "assert",   "complex",     "cpio",     "ctype",   "dirent",    "dlfcn",    "errno",
    "fcntl",     "fenv",   "float",    "fmtmsg",      "fnmatch",  "ftw",     "glob",      "grp",      "iconv",
    "inttypes",  "iso646", "langinfo", "libgen",      "limits",   "locale",  "math",      "monetary", "mqueue",
    "ndbm",      "netdb",  "nl_types", "poll",        "pthread",  "pwd",     "regex",     "sched",    "search",
    "semaphore", "setjmp", "signal",   "spawn",       "stdalign", "stdarg",  "stdatomic", "stdbool",  "stddef",
    "stdint",    "stdio",  "stdlib",   "stdnoreturn", "string",   "strings", "stropts",   "syslog",   "tar",
    "termios",   "tgmath", "threads",  "time",        "trace",    "uchar",   "ulimit",    "unistd",   "utime",
    "utmpx",     "wchar",  "wctype",   "wordexp"};

static bool refused(const char *name) {
  char lower[16]; /* file systems that ignore case are common on macOS */
  size_t n = strlen(name);
  if (n >= sizeof lower) return false;
  for (size_t i = 0; i <= n; i++) lower[i] = (char)(name[i] >= 'A' && name[i] <= 'Z' ? name[i] - 'A' + 'a' : name[i]);
  for (size_t k = 0; k < sizeof system_headers / sizeof *system_headers; k++)
    if (!strcmp(lower, system_headers[k])) return true;
  return false;
}

static const struct {
  const char *ending;
  nuvecc_artifact what;
} outputs[] = {{".metal", NUVECC_METAL},
               {".c", NUVECC_C},
               {".h", NUVECC_HEADER},
               {".mk", NUVECC_MK},
               {".data", NUVECC_DATA},
               {".nuvec.json", NUVECC_MANIFEST}}; /* the manifest last: it is the stamp that Make compares */
enum { NOUTPUTS = sizeof outputs / sizeof *outputs };

/* The data file is written only where there are constant arrays to stand in it. */
static bool is_written(const run *r, size_t output) {
  return outputs[output].what != NUVECC_DATA || nuvecc_has_data(r->unit);
}

static char *output_path(const run *r, const char *ending) {
  const char *dir = r->dir ? r->dir : "";
  bool slash = *dir && dir[strlen(dir) - 1] != '/';
  return print("%s%s%s%s", dir, slash ? "/" : "", nuvecc_name(r->unit), ending);
}

/* ---- the dependency file ---- */

/* A name as Make reads it: blanks and # behind a backslash, $ doubled. */
static size_t put_make(char *to, const char *name) {
  size_t n = 0;
  for (; *name; name++) {
    if (*name == ' ' || *name == '\t' || *name == '#') to[n++] = '\\';
    if (*name == '$') to[n++] = '$';
    to[n++] = *name;
  }
  to[n] = 0;
  return n;
}

static bool stage_dependencies(const run *r) {
  const char *target = r->o.value[OPT_CC_MT];
  char *own = target ? NULL : output_path(r, ".nuvec.json");
  size_t room = 2 * (strlen(target ? target : own) + 2 * strlen(r->o.spec)) + 16, n;
  for (size_t k = 0; k < r->nnamed; k++) room += 4 * strlen(r->named[k]) + 4;
  char *text = malloc(room),
       *path = r->o.given[OPT_CC_MF] ? print("%s", r->o.value[OPT_CC_MF]) : output_path(r, ".d");
  if (!text) return false;
  bool standard = !strcmp(r->o.spec, "-"); /* standard input is no file to depend on */
  if (target)
    n = (size_t)sprintf(text, "%s", target); /* as given: -MT takes Make's own spelling */
  else
    n = put_make(text, own);
  text[n++] = ':';
  if (!standard) {
    text[n++] = ' ';
    n += put_make(text + n, r->o.spec);
  }
  for (size_t k = 0; k < r->nnamed; k++) {
    text[n++] = ' ';
    n += put_make(text + n, r->named[k]);
  }
  text[n++] = '\n';
  if (r->o.given[OPT_CC_MP] && !standard) {
    n += put_make(text + n, r->o.spec);
    n += (size_t)sprintf(text + n, ":\n");
  }
  for (size_t k = 0; r->o.given[OPT_CC_MP] && k < r->nnamed; k++) {
    n += put_make(text + n, r->named[k]);
    n += (size_t)sprintf(text + n, ":\n");
  }
  free(own);
  bool ok = cli_stage(path, text, n, true);
  free(path);
  return ok; /* text lives until the commit; the process ends soon after */
}

/* ---- files that the spec names ---- */

/* nuvecc_options.read: a path is relative to the folder of the spec, or, of standard input, to the current one. */
static const void *read_named(void *reader, const char *path, size_t *n, const char **why) {
  run *r = reader;
  const char *slash = strrchr(r->o.spec, '/');
  const int folder = slash && *path != '/' ? (int)(slash - r->o.spec) + 1 : 0;
  char *whole = print("%.*s%s", folder, r->o.spec, path);
  const void *bytes = cli_map(whole, n, why);
  char **more = bytes ? realloc(r->named, (r->nnamed + 1) * sizeof *more) : NULL;
  if (bytes && (!more || !cli_note_input(whole))) exit(cli_fail(NUVECC_IO, "out of memory"));
  if (!bytes) {
    free(whole);
    return NULL;
  }
  r->named = more;
  r->named[r->nnamed++] = whole;
  return bytes;
}

/* ---- --eval ---- */

static bool ends_with(const char *s, const char *end) {
  size_t n = strlen(s), m = strlen(end);
  return n >= m && !strcmp(s + n - m, end);
}

static bool allocate(nuvecc_tensor *t) {
  t->data = calloc(t->bytes ? t->bytes : 1, 1);
  if (!t->data) cli_fail(NUVECC_IO, "out of memory: '%s' has %zu bytes", t->name, t->bytes);
  return t->data != NULL;
}

static int evaluate(run *r) {
  const char *in_path = r->o.value[OPT_EVAL], *out_path = r->o.value[OPT_EVAL_OUTPUT];
  unsigned long wanted = 0;
  if (r->o.given[OPT_SIGNATURE]) {
    char *stop;
    const char *text = r->o.value[OPT_SIGNATURE];
    wanted = strtoul(text, &stop, 10);
    if (*text < '0' || *text > '9' || *stop)
      return cli_fail(NUVECC_USAGE, "--signature takes a number, not '%s'", text);
  }
  const nuvecc_program *p = NULL;
  size_t k = 0;
  for (size_t i = 0; i < nuvecc_nprograms(r->unit); i++) {
    const nuvecc_program *q = nuvecc_get_program(r->unit, i);
    if (p && strcmp(p->entry, q->entry))
      return cli_fail(NUVECC_USAGE, "the spec has several entries: say which with --entry");
    if (q->signature == wanted || !p) p = q, k = i;
  }
  if (!p || p->signature != wanted) return cli_fail(NUVECC_USAGE, "the entry has no signature number %lu", wanted);

  size_t n;
  char *bytes = cli_read(in_path, true, &n);
  if (!bytes || !cli_note_input(in_path)) return NUVECC_IO;
  nuvecc_tensor *in = calloc(p->ninputs + p->noutputs + 1, sizeof *in), *out = in ? in + p->ninputs : NULL;
  if (!in) return cli_fail(NUVECC_IO, "out of memory");
  const nuvecc_options reading = {.file = in_path, .report = cli_report_one, .user = &r->report};
  const nuvecc_tensor_format format =
      ends_with(in_path, ".safetensors") ? NUVECC_TENSORS_SAFETENSORS : NUVECC_TENSORS_JSON;
  nuvecc_status status = nuvecc_read_shapes(&reading, format, bytes, n, p->inputs, p->ninputs, in);
  if (status) return (int)status;
  for (size_t i = 0; i < p->ninputs; i++)
    if (!allocate(&in[i])) return NUVECC_IO;
  status = nuvecc_read_tensors(&reading, format, bytes, n, in, p->ninputs, in);
  free(bytes);
  if (status) return (int)status;
  status = nuvecc_shapes(r->unit, k, in, out);
  if (status) return cli_fail(status, "%s: %s", in_path, nuvecc_error(r->unit));
  for (size_t i = 0; i < p->noutputs; i++)
    if (!allocate(&out[i])) return NUVECC_IO;
  status = nuvecc_eval(r->unit, k, in, out, r->o.given[OPT_EVAL_FLUSH]);
  if (status) return cli_fail(status, "%s", nuvecc_error(r->unit));
  char *text = nuvecc_write_tensors(out_path && ends_with(out_path, ".safetensors") ? NUVECC_TENSORS_SAFETENSORS
                                                                                    : NUVECC_TENSORS_JSON,
                                    out, p->noutputs, &n);
  for (size_t i = 0; i < p->ninputs + p->noutputs; i++) free(in[i].data);
  free(in);
  if (!text) return cli_fail(NUVECC_IO, "out of memory");
  if (!out_path) {
    bool ok = cli_print(text, n);
    free(text);
    return ok ? 0 : NUVECC_IO;
  }
  return cli_stage(out_path, text, n, false) ? 0 : NUVECC_IO; /* text lives until the commit */
}

/* ---- what was asked for ---- */

typedef struct printed { /* an artifact by itself: to standard output, or to path */
  nuvecc_artifact what;
  const char *path;
} printed;

/* The stage that --emit-graph=STAGE names, added to the artifact of the first; -1: unknown. */
static int stage_of(const char *stage) {
  static const char *const stages[] = {"traced", "simplified", "fused"};
  if (!stage) return 2;
  for (int k = 0; k < 3; k++)
    if (!strcmp(stage, stages[k])) return k;
  return -1;
}

/* What --explain=FORM adds to the artifact of the text; -1: unknown. */
static int form_of(const char *form) {
  static const char *const forms[] = {"text", "json", "html"};
  for (int k = 0; k < 3; k++)
    if (!strcmp(form, forms[k])) return k;
  return -1;
}

/* Lists what is printed by itself; -1 after a message. */
static int collect(const run *r, printed *list) {
  static const struct {
    cli_opt opt;
    nuvecc_artifact what;
    enum { FILES, STAGES, FORMS, FORMS_AND_PAGE } takes;
  } kinds[] = {{OPT_EMIT_METAL, NUVECC_METAL, FILES},     {OPT_EMIT_C, NUVECC_C, FILES},
               {OPT_EMIT_HEADER, NUVECC_HEADER, FILES},   {OPT_EMIT_GRAPH, NUVECC_GRAPH_TRACED, STAGES},
               {OPT_EMIT_DOT, NUVECC_DOT_TRACED, STAGES}, {OPT_EXPLAIN, NUVECC_EXPLAIN, FORMS_AND_PAGE},
               {OPT_STATS, NUVECC_STATS, FORMS}};
  int n = 0, standard = 0;
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
    if (!r->o.given[kinds[i].opt]) continue;
    const char *value = r->o.value[kinds[i].opt];
    printed p = {kinds[i].what, NULL};
    if (kinds[i].takes == FILES) {
      p.path = value && strcmp(value, "-") ? value : NULL;
    } else if (kinds[i].takes == STAGES) {
      int stage = stage_of(value);
      if (stage < 0) {
        cli_fail(NUVECC_USAGE, "unknown stage '%s': traced, simplified or fused", value);
        return -1;
      }
      p.what = (nuvecc_artifact)((int)p.what + stage);
    } else if (value) {
      const int form = form_of(value);
      if (form < 0 || (form == 2 && kinds[i].takes == FORMS)) {
        cli_fail(NUVECC_USAGE, "unknown form '%s': %s", value,
                 kinds[i].takes == FORMS ? "json or text" : "json, html or text");
        return -1;
      }
      p.what = (nuvecc_artifact)((int)p.what + form);
    }
    if (!p.path) standard++;
    list[n++] = p;
  }
  if (r->o.given[OPT_LIST_OUTPUTS]) standard++;
  if (r->o.given[OPT_EVAL] && !r->o.given[OPT_EVAL_OUTPUT]) standard++;
  if (standard > 1) {
    cli_fail(NUVECC_USAGE, "more than one text for standard output: give all but one a file");
    return -1;
  }
  return n;
}

static int list_outputs(const run *r) {
  int status = 0;
  for (size_t i = 0; !status && i < NOUTPUTS; i++) {
    if (!is_written(r, i)) continue;
    char *path = output_path(r, outputs[i].ending);
    puts(path);
    free(path);
  }
  return cli_print("", 0) ? status : NUVECC_IO;
}

static int write_outputs(run *r, const printed *list, int n) {
  bool whole = (!n && !r->o.given[OPT_EVAL]) || r->o.given[OPT_OUTPUT];
  size_t length;
  for (int i = 0; i < n; i++) {
    const char *text = nuvecc_text(r->unit, list[i].what, &length);
    if (!text) return cli_fail(nuvecc_failure(r->unit), "%s", nuvecc_error(r->unit));
    if (list[i].path && !cli_stage(list[i].path, text, length, false)) return NUVECC_IO;
  }
  if (r->o.given[OPT_EVAL]) {
    int status = evaluate(r);
    if (status) return status;
  }
  if (r->dir && (whole || r->o.given[OPT_CC_MD]) && !cli_make_dir(r->dir)) return NUVECC_IO;
  if (r->o.given[OPT_CC_MD] && !stage_dependencies(r)) return NUVECC_IO;
  for (size_t i = 0; whole && i < NOUTPUTS; i++) {
    if (!is_written(r, i)) continue;
    const char *text = nuvecc_text(r->unit, outputs[i].what, &length);
    if (!text) return cli_fail(nuvecc_failure(r->unit), "%s", nuvecc_error(r->unit));
    char *path = output_path(r, outputs[i].ending);
    bool ok = cli_stage(path, text, length, outputs[i].what == NUVECC_MANIFEST);
    free(path);
    if (!ok) return NUVECC_IO;
  }
  if (!cli_commit(r->o.given[OPT_VERBOSE])) return NUVECC_IO;
  for (int i = 0; i < n; i++) {
    const char *text = nuvecc_text(r->unit, list[i].what, &length);
    if (!list[i].path && !cli_print(text, length)) return NUVECC_IO;
  }
  return 0;
}

/* MiB; 0: not a number of them. */
static size_t memory_of(const cli_options *o) {
  const char *text = o->value[OPT_MEMORY];
  char *end;
  if (!o->given[OPT_MEMORY]) return MEMORY;
  const unsigned long n = *text >= '0' && *text <= '9' ? strtoul(text, &end, 10) : 0;
  return n && !*end && n <= MOST_MEMORY ? n : 0;
}

/* Options whose values are words; false after a message. */
static bool settle(run *r, nuvecc_format *format) {
  const cli_options *o = &r->o;
  const char *color = o->value[OPT_COLOR], *form = o->value[OPT_DIAGNOSTICS], *read = o->value[OPT_FORMAT];
  if (form && strcmp(form, "text") && strcmp(form, "json"))
    return cli_fail(NUVECC_USAGE, "--diagnostics takes text or json, not '%s'", form), false;
  r->report.form = form && !strcmp(form, "json") ? CLI_JSON : CLI_TEXT;
  cli_report_start(&r->report);
  if (color && strcmp(color, "auto") && strcmp(color, "always") && strcmp(color, "never"))
    return cli_fail(NUVECC_USAGE, "--color takes auto, always or never, not '%s'", color), false;
  r->report.color = color && strcmp(color, "auto") ? !strcmp(color, "always") : isatty(2) == 1;
  if (read && strcmp(read, "json") && strcmp(read, "yaml"))
    return cli_fail(NUVECC_USAGE, "--format takes json or yaml, not '%s'", read), false;
  if (o->given[OPT_POW] && strcmp(o->value[OPT_POW], "precise") && strcmp(o->value[OPT_POW], "fast"))
    return cli_fail(NUVECC_USAGE, "--pow takes precise or fast, not '%s'", o->value[OPT_POW]), false;
  if (!memory_of(o))
    return cli_fail(NUVECC_USAGE, "--memory takes 1 to 1048576 MiB, not '%s'", o->value[OPT_MEMORY]), false;
  if (!read) {
    if (ends_with(o->spec, ".json"))
      read = "json";
    else if (ends_with(o->spec, ".yaml") || ends_with(o->spec, ".yml"))
      read = "yaml";
    else
      return cli_fail(NUVECC_USAGE, "%s: is it JSON or YAML? end the name in .json or .yaml, or say --format",
                      o->spec),
             false;
  }
  *format = !strcmp(read, "json") ? NUVECC_FORMAT_JSON : NUVECC_FORMAT_YAML;
  if (!o->given[OPT_CC_MD] && (o->given[OPT_CC_MF] || o->given[OPT_CC_MT] || o->given[OPT_CC_MP]))
    return cli_fail(NUVECC_USAGE, "-MF, -MT and -MP need -MD"), false;
  if (!o->given[OPT_EVAL] && (o->given[OPT_EVAL_OUTPUT] || o->given[OPT_EVAL_FLUSH] || o->given[OPT_SIGNATURE]))
    return cli_fail(NUVECC_USAGE, "--eval-output, --eval-flush and --signature need --eval"), false;
  if (o->given[OPT_PREFIX] && !*o->value[OPT_PREFIX]) return cli_fail(NUVECC_USAGE, "--prefix is empty"), false;
  return true;
}

/* Is nothing asked for that needs kernels? */
static bool graphs_only(const run *r, const printed *list, int n) {
  if (r->o.given[OPT_OUTPUT] || (!n && !r->o.given[OPT_EVAL])) return false;
  for (int i = 0; i < n; i++)
    if (list[i].what != NUVECC_GRAPH_TRACED && list[i].what != NUVECC_GRAPH_SIMPLIFIED &&
        list[i].what != NUVECC_DOT_TRACED && list[i].what != NUVECC_DOT_SIMPLIFIED)
      return false;
  return true;
}

static int compile(run *r, printed *list, int n, nuvecc_format format) {
  const cli_options *o = &r->o;
  size_t length;
  r->spec = cli_read(o->spec, false, &length);
  if (!r->spec) return length > CLI_MAX_SPEC ? NUVECC_SPEC : NUVECC_IO;
  if (!cli_note_input(o->spec)) return NUVECC_IO;
  bool check_only = o->given[OPT_CC_SYNTAX] || o->given[OPT_LIST_OUTPUTS];
  nuvecc_options options = {.file = o->spec,
                            .format = format,
                            .prefix = o->value[OPT_PREFIX],
                            .entry = o->value[OPT_ENTRY],
                            .target = o->value[OPT_TARGET],
                            .no_simplify = o->given[OPT_NO_SIMPLIFY],
                            .no_fuse = o->given[OPT_NO_FUSE],
                            .werror = o->given[OPT_CC_WERROR],
                            .verify = o->given[OPT_VERIFY_EACH],
                            .fast_pow = o->given[OPT_POW] && !strcmp(o->value[OPT_POW], "fast"),
                            .syntax_only = check_only,
                            .graphs_only = graphs_only(r, list, n),
                            .memory_limit = memory_of(o) << 20,
                            .report = cli_report_one,
                            .user = &r->report,
                            .read = read_named,
                            .reader = r};
  nuvecc_status status = nuvecc_compile(&options, r->spec, length, &r->unit);
  if (status == NUVECC_SPEC) return NUVECC_SPEC;
  if (status) return cli_fail(status, "%s", nuvecc_error(r->unit));
  if (refused(nuvecc_name(r->unit)) && !o->given[OPT_CC_SYNTAX])
    return cli_fail(NUVECC_USAGE, "%s.h would hide the system's <%s.h>: choose another name with --prefix",
                    nuvecc_name(r->unit), nuvecc_name(r->unit));
  if (o->given[OPT_LIST_OUTPUTS]) return list_outputs(r);
  if (o->given[OPT_CC_SYNTAX]) {
    if (!o->given[OPT_CC_MD]) return 0;
    return (!r->dir || cli_make_dir(r->dir)) && stage_dependencies(r) && cli_commit(o->given[OPT_VERBOSE])
               ? 0
               : NUVECC_IO;
  }
  int code = write_outputs(r, list, n);
  if (!code && o->given[OPT_TIME_PASSES]) fputs(nuvecc_text(r->unit, NUVECC_PASS_TIMES, NULL), stderr);
  return code;
}

int main(int argc, char **argv) {
  run r = {0};
  if (!cli_parse(&r.o, argc, argv)) return NUVECC_USAGE;
  if (r.o.given[OPT_HELP]) {
    cli_help();
    return cli_print("", 0) ? 0 : NUVECC_IO;
  }
  if (r.o.given[OPT_VERSION])
    return cli_print("nuvecc " NUVECC_VERSION "\n", sizeof "nuvecc " NUVECC_VERSION) ? 0 : NUVECC_IO;
  printed list[16];
  nuvecc_format format;
  r.dir = r.o.value[OPT_OUTPUT];
  int n = settle(&r, &format) ? collect(&r, list) : -1;
  int code = n < 0 ? (int)NUVECC_USAGE : compile(&r, list, n, format);
  cli_report_end(&r.report);
  nuvecc_free(r.unit);
  free(r.spec);
  for (size_t k = 0; k < r.nnamed; k++) free(r.named[k]);
  free(r.named);
  return code;
}
