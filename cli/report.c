/* report.c - shows diagnostics: compiler style with the source line and a caret, or JSON. */
#include "cli.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const char *const words[] = {"error", "warning", "note"};

static void put_json(const char *s) {
  putc('"', stderr);
  for (; *s; s++) {
    unsigned char ch = (unsigned char)*s;
    if (ch == '"' || ch == '\\')
      fprintf(stderr, "\\%c", ch);
    else if (ch < 0x20 || ch == 0x7f)
      fprintf(stderr, "\\u%04x", ch);
    else
      putc(ch, stderr);
  }
  putc('"', stderr);
}

/* The line with a caret below; of a long line, the part around the column. */
static void put_source(const cli_report *r, const nuvecc_diagnostic *d) {
  enum { WIDTH = 160, BEFORE = 60 };
  size_t n = d->source_length, at = d->column - 1, from = 0;
  if (at > n) at = n;
  while (n && (d->source[n - 1] == '\r' || d->source[n - 1] == '\n')) n--;
  if (n > WIDTH && at > BEFORE) from = at - BEFORE;
  while (from && from < n && ((unsigned char)d->source[from] & 0xc0) == 0x80) from--;
  size_t to = n - from > WIDTH ? from + WIDTH : n;
  for (size_t i = from; i < to; i++) {
    unsigned char ch = (unsigned char)d->source[i];
    putc(ch < 0x20 && ch != '\t' ? ' ' : ch, stderr);
  }
  putc('\n', stderr);
  for (size_t i = from; i < at; i++) { /* one column a code point */
    unsigned char ch = i < n ? (unsigned char)d->source[i] : ' ';
    if ((ch & 0xc0) != 0x80) putc(ch == '\t' ? '\t' : ' ', stderr);
  }
  fprintf(stderr, "%s^%s\n", r->color ? "\033[1;32m" : "", r->color ? "\033[0m" : "");
}

void cli_report_one(void *user, const nuvecc_diagnostic *d) {
  cli_report *r = user;
  if (r->form == CLI_JSON) {
    fputs(r->open ? ",\n  {" : "{\"format\": \"nuvec-diagnostics-1\", \"diagnostics\": [\n  {", stderr);
    r->open = true;
    fprintf(stderr, "\"severity\": \"%s\", \"file\": ", words[d->severity]);
    put_json(d->file);
    if (d->line) fprintf(stderr, ", \"line\": %u, \"column\": %u", d->line, d->column);
    fputs(", \"text\": ", stderr);
    put_json(d->text);
    putc('}', stderr);
    return;
  }
  static const char *const colors[] = {"\033[1;31m", "\033[1;35m", "\033[1;36m"};
  const char *bold = r->color ? "\033[1m" : "", *color = r->color ? colors[d->severity] : "",
             *plain = r->color ? "\033[0m" : "";
  if (d->line)
    fprintf(stderr, "%s%s:%u:%u: ", bold, d->file, d->line, d->column);
  else
    fprintf(stderr, "%s%s: ", bold, d->file);
  fprintf(stderr, "%s%s: %s%s%s%s\n", color, words[d->severity], plain, bold, d->text, plain);
  if (d->line && d->source) put_source(r, d);
}

void cli_report_end(cli_report *r) {
  if (r->form != CLI_JSON) return;
  fputs(r->open ? "\n]}\n" : "{\"format\": \"nuvec-diagnostics-1\", \"diagnostics\": []}\n", stderr);
}

static cli_report *in_json; /* what diagnostics go to as JSON, NULL: they are text */

void cli_report_start(cli_report *r) { in_json = r->form == CLI_JSON ? r : NULL; }

int cli_fail(nuvecc_status status, const char *format, ...) {
  va_list ap;
  va_start(ap, format);
  if (in_json) {
    char text[4096];
    vsnprintf(text, sizeof text, format, ap);
    va_end(ap);
    cli_report_one(in_json, &(nuvecc_diagnostic){.severity = NUVECC_ERROR, .file = "nuvecc", .text = text});
    return (int)status;
  }
  fputs("nuvecc: error: ", stderr);
  vfprintf(stderr, format, ap);
  va_end(ap);
  putc('\n', stderr);
  return (int)status;
}
