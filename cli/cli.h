/* cli.h - the command: its options, its diagnostics, its files. */
#ifndef NV_CLI_H
#define NV_CLI_H

#include "../lib/nuvec.h"

/* ---- options.c ---- */
typedef enum cli_opt {
#define OPT(id, name, letter, argument, text, values, more) OPT_##id,
#include "opts.def"
#undef OPT
  NOPTS
} cli_opt;

typedef struct cli_options {
  bool given[NOPTS];
  const char *value[NOPTS]; /* the argument; NULL where it was left out */
  const char *spec;         /* "-": standard input */
} cli_options;

/* Fills o. On a wrong command line says so on standard error and returns false. */
bool cli_parse(cli_options *o, int argc, char **argv);
void cli_help(void);

/* ---- report.c ---- */
typedef enum cli_form { CLI_TEXT, CLI_JSON } cli_form;
typedef struct cli_report {
  cli_form form;
  bool color;
  bool open; /* JSON: the list was started */
} cli_report;
/* A nuvecc_options.report; user is a cli_report. Writes to standard error. */
void cli_report_one(void *user, const nuvecc_diagnostic *d);
/* From here on what cli_fail says goes the way of diagnostics. */
void cli_report_start(cli_report *r);
/* Ends a JSON list. */
void cli_report_end(cli_report *r);
/* "nuvecc: error: …" for what has no place in a spec; in JSON a diagnostic of the file "nuvecc". Returns status. */
int cli_fail(nuvecc_status status, const char *format, ...);

/* ---- files.c ---- */
#define CLI_MAX_SPEC ((size_t)1 << 30) /* bytes */
/* Reads a whole file ("-": standard input). Unless binary is set it has at most CLI_MAX_SPEC bytes (else *n is beyond
 * that), and reading stops at a NUL byte, which no spec holds. The bytes are from malloc; NULL after a message. */
char *cli_read(const char *path, bool binary, size_t *n);
/* The bytes of a regular file, mapped until the process ends; NULL: *why says why not. */
const void *cli_map(const char *path, size_t *n, const char **why);
/* Remembers a file as read, so that no output replaces it. */
bool cli_note_input(const char *path);
/* DIR and its parents are made. */
bool cli_make_dir(const char *dir);
/* Output files are staged, each to a temporary beside its place, and put in place together by cli_commit(), in the
 * order staged. always: also when the bytes are there already (its time is then new). A path that isn't a regular file
 * (/dev/stdout, a FIFO) is written in cli_commit(). bytes must live until then. */
bool cli_stage(const char *path, const char *bytes, size_t n, bool always);
bool cli_commit(bool verbose);
/* Standard output in one piece; false after a message. */
bool cli_print(const char *bytes, size_t n);

#endif
