/* spec_run.h - for the tests of lib/spec: a context, a document or spec read in it, and what was reported, as text. */
#ifndef SPEC_RUN_H
#define SPEC_RUN_H

#include "spec/ast.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

static char said[1 << 16]; /* "line:column: error: text" lines */

static void spec_report(void *user, const nuvecc_diagnostic *d) {
  static const char *const names[] = {"error", "warning", "note"};
  size_t n = strlen(said);
  (void)user;
  snprintf(said + n, sizeof said - n, "%u:%u: %s: %s\n", d->line, d->column, names[d->severity], d->text);
}

static nv_ctx *spec_ctx(nuvecc_format format) {
  static nuvecc_options options;
  options = (nuvecc_options){.file = "t", .format = format, .report = spec_report};
  nv_ctx *c = nv_ctx_new(&options);
  assert_non_null(c);
  c->door_open = true;
  said[0] = 0;
  return c;
}

/* Calls work(c, arg) with the door open; what it raises is said too. */
static void spec_guard(nv_ctx *c, void (*work)(nv_ctx *c, void *arg), void *arg) {
  if (setjmp(c->door))
    snprintf(said, sizeof said, "raised %d: %s\n", (int)c->raised, c->fault);
  else {
    work(c, arg);
    nv_diag_flush(c);
  }
}

typedef struct spec_text {
  const char *text;
  size_t n;
  nuvecc_format format;
  bool parse; /* up to the spec, not the document only */
  nv_doc *doc;
  nv_spec *spec;
} spec_text;

static void spec_work(nv_ctx *c, void *arg) {
  spec_text *t = arg;
  t->doc = nv_doc_read(c, "t", t->format, t->text, t->n);
  t->spec = t->doc && t->parse ? nv_spec_parse(c, t->doc) : NULL;
}

/* Reads a text. The context is the caller's to free. */
static nv_ctx *spec_read(spec_text *t, const char *text, size_t n, nuvecc_format format, bool parse) {
  *t = (spec_text){text, n, format, parse, NULL, NULL};
  nv_ctx *c = spec_ctx(format);
  spec_guard(c, spec_work, t);
  return c;
}

/* What reading a text reports. */
static inline const char *spec_says(const char *text, size_t n, nuvecc_format format, bool parse) {
  spec_text t;
  nv_ctx_free(spec_read(&t, text, n, format, parse));
  return said;
}

/* An expression as text: (+ a (call f b)). Those of the tests are shallow. */
static inline void spec_put(nv_buf *b, const nv_spec *s, nv_ast a) {
  static const char *const names[] = {"",      "",      "j ",  "str ", "",     "None",   "",     "",
                                      "call ", "cast ", "",    "",     "",     "cmp",    "",     ".",
                                      "index", "slice", "...", "list", "tree", "const ", "ERROR"};
  const nv_ast_node *n = nv_ast_at(s, a);
  bool plain = !n->count && n->kind != NV_AST_CALL && n->kind != NV_AST_CAST && n->kind != NV_AST_LIST;
  if (!plain) nv_putc(b, '(');
  nv_puts(b, names[n->kind]);
  if (n->kind == NV_AST_BOOL) nv_puts(b, n->op ? "true" : "false");
  if (n->kind == NV_AST_DTYPE || n->kind == NV_AST_CAST || n->kind == NV_AST_CONST)
    nv_puts(b, nv_dtype_name[n->op]);
  if (n->kind == NV_AST_UNARY || n->kind == NV_AST_BINARY || n->kind == NV_AST_OPERATOR)
    nv_puts(b, nv_operator_text[n->op]);
  if (n->text != NV_NONE) nv_puts(b, nv_text(s->c, n->text));
  if (n->kind == NV_AST_KEYWORD) nv_putc(b, '=');
  uint32_t count = 0;
  for (nv_ast child = n->first; child != NV_NONE; child = nv_ast_at(s, child)->next, count++) {
    if (n->kind != NV_AST_KEYWORD || count) nv_putc(b, ' ');
    spec_put(b, s, child);
  }
  assert_int_equal(count, n->count);
  if (!plain) nv_putc(b, ')');
}

#endif
