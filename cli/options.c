/* options.c - reads the command line by opts.def, and prints the help from it. */
#include "cli.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct row {
  const char *id, *name;
  char letter;
  const char *argument, *text;
} rows[NOPTS] = {
#define OPT(id, name, letter, argument, text, values, more) {#id, name, letter, argument, text},
#include "opts.def"
#undef OPT
};

static bool compiler_style(const struct row *r) { return !strncmp(r->id, "CC_", 3); }
static bool optional(const struct row *r) { return r->argument && r->argument[0] == '['; }

static bool wrong(const char *format, const char *a, const char *b) {
  fputs("nuvecc: error: ", stderr);
  fprintf(stderr, format, a, b);
  fputs("\nnuvecc --help lists the options\n", stderr);
  return false;
}

/* Fewest insertions, deletions and changes; names are short. */
static size_t distance(const char *a, const char *b) {
  size_t m = strlen(b), row[64];
  if (m >= 64) return 64;
  for (size_t j = 0; j <= m; j++) row[j] = j;
  for (size_t i = 1; a[i - 1]; i++) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= m; j++) {
      size_t d = diagonal + (a[i - 1] != b[j - 1]);
      if (row[j] + 1 < d) d = row[j] + 1;
      if (row[j - 1] + 1 < d) d = row[j - 1] + 1;
      diagonal = row[j];
      row[j] = d;
    }
  }
  return row[m];
}

static bool unknown(const char *word) {
  char name[64];
  const char *start = word + strspn(word, "-");
  size_t n = strcspn(start, "="), best = 3;
  const struct row *near = NULL;
  if (n < sizeof name) {
    memcpy(name, start, n);
    name[n] = 0;
    for (int k = 0; k < NOPTS; k++) {
      size_t d = distance(name, rows[k].name);
      if (d < best && d < n) best = d, near = &rows[k];
    }
  }
  if (!near) return wrong("unknown option '%s'%s", word, "");
  char hint[80];
  snprintf(hint, sizeof hint, "; did you mean '%s%s'?", compiler_style(near) ? "-" : "--", near->name);
  return wrong("unknown option '%s'%s", word, hint);
}

static bool set(cli_options *o, int k, const char *value) {
  o->given[k] = true;
  o->value[k] = value;
  return true;
}

/* One option word; *used says whether the next word was its argument. */
static bool option(cli_options *o, const char *word, const char *next, bool *used) {
  *used = false;
  for (int k = 0; k < NOPTS; k++) {
    const struct row *r = &rows[k];
    size_t n = strlen(r->name);
    const char *rest = NULL; /* behind the name */
    if (word[1] == '-' && !compiler_style(r) && !strncmp(word + 2, r->name, n))
      rest = word + 2 + n;
    else if (word[1] != '-' && compiler_style(r) && !strcmp(word + 1, r->name))
      rest = word + 1 + n;
    if (rest && *rest && *rest != '=') rest = NULL;
    if (!rest && word[1] != '-' && r->letter && word[1] == r->letter) { /* -oDIR, -o DIR */
      if (!r->argument && word[2]) continue;
      if (r->argument && word[2]) return set(o, k, word + 2);
      rest = word + 2;
    }
    if (!rest) continue;
    if (*rest == '=' && !r->argument) return wrong("option '%s' takes no argument%s", word, "");
    if (*rest == '=')
      return rest[1] ? set(o, k, rest + 1) : wrong("option '%s' needs %s behind the =", word, r->argument);
    if (!r->argument || optional(r)) return set(o, k, NULL);
    if (!next) return wrong("option '%s' needs an argument %s", word, r->argument);
    *used = true;
    return set(o, k, next);
  }
  return unknown(word);
}

bool cli_parse(cli_options *o, int argc, char **argv) {
  bool options = true;
  memset(o, 0, sizeof *o);
  for (int i = 1; i < argc; i++) {
    const char *word = argv[i];
    if (options && !strcmp(word, "--")) {
      options = false;
    } else if (options && word[0] == '-' && word[1]) {
      bool used;
      if (!option(o, word, i + 1 < argc ? argv[i + 1] : NULL, &used)) return false;
      i += used;
    } else if (o->spec) {
      return wrong("more than one spec: '%s' and '%s'", o->spec, word);
    } else {
      o->spec = word;
    }
  }
  if (o->given[OPT_HELP] || o->given[OPT_VERSION]) return true;
  return o->spec ? true : wrong("no spec given%s%s", "", "");
}

void cli_help(void) {
  puts("usage: nuvecc [options] SPEC\n"
       "Compiles a graph of array functions (JSON or YAML; '-': standard input) to Metal kernels and a C replay "
       "stub.\n");
  for (int k = 0; k < NOPTS; k++) {
    const struct row *r = &rows[k];
    char left[64];
    int n = r->letter ? snprintf(left, sizeof left, "-%c, ", r->letter) : 0;
    const char *dash = compiler_style(r) ? "-" : "--";
    if (!r->argument)
      snprintf(left + n, sizeof left - (size_t)n, "%s%s", dash, r->name);
    else if (optional(r))
      snprintf(left + n, sizeof left - (size_t)n, "%s%s[=%.*s]", dash, r->name, (int)strlen(r->argument) - 2,
               r->argument + 1);
    else
      snprintf(left + n, sizeof left - (size_t)n, "%s%s%s%s", dash, r->name, compiler_style(r) ? " " : "=",
               r->argument);
    printf("  %-24s %s\n", left, r->text);
  }
  puts("\nexit status: 0 done, 1 the spec is wrong, 2 the command line is wrong, 3 a file could not be read or "
       "written,\n"
       "70 a fault of nuvecc's own");
}
