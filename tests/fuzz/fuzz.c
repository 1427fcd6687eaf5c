/* fuzz.c - libFuzzer's way into the parts that read what others wrote. Built once for each FUZZ_TARGET:
 *   JSON, YAML: a document, and the place of every byte of its texts
 *   EXPR: an expression, statement, block or type (the first byte says which)
 *   GRAPH: a printed graph; one that is read keeps the invariants and prints so that it reads again
 *   COMPILE: a spec (the first byte: { or anything else, and options), and every artifact of it
 * A fault of ours (NUVECC_INTERNAL), a report that isn't one line at a place of the file, memory that leaks and what
 * the sanitizers find end the run. */
#include "../../lib/ir/graph.h"
#include "../../lib/spec/parse.h"

#include <stdio.h>
#include <stdlib.h>

#define JSON 0
#define YAML 1
#define EXPR 2
#define GRAPH 3
#define COMPILE 4

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MUST(x) ((x) ? (void)0 : (fprintf(stderr, "not so: %s\n", #x), abort()))

static void report(void *user, const nuvecc_diagnostic *d) {
  (void)user;
  MUST(d->text && *d->text && strlen(d->text) < 4096);
  for (const char *p = d->text; *p; p++) MUST((unsigned char)*p >= 0x20 && *p != 0x7F);
  MUST(d->line ? d->column > 0 : d->column == 0);
  if (d->line && d->source) MUST(d->column <= d->source_length + 2);
}

static nuvecc_options options(nuvecc_format format) {
  return (nuvecc_options){
      .file = "fuzz", .format = format, .prefix = "fuzz", .memory_limit = (size_t)1 << 29,
      .verify = true, .report = report};
}

#if FUZZ_TARGET != COMPILE
static void work(nv_ctx *c, const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  nuvecc_options o = options(FUZZ_TARGET == YAML ? NUVECC_FORMAT_YAML : NUVECC_FORMAT_JSON);
  nv_ctx *c = nv_ctx_new(&o);
  if (!c) return 0;
  c->door_open = true;
  if (!setjmp(c->door))
    work(c, data, size);
  else
    MUST(c->raised != NUVECC_INTERNAL);
  nv_ctx_free(c);
  return 0;
}
#endif

#if FUZZ_TARGET == JSON || FUZZ_TARGET == YAML
/* Every place of the document lies in it, and places of one text rise. */
static void locate_all(nv_ctx *c, const nv_doc *d) {
  for (uint32_t n = 0; n < d->nnodes; n++) {
    uint32_t line, column, before_line = 0, before_column = 0, most = d->nodes[n].length;
    for (uint32_t at = 0; at <= most && at < 300; at++) {
      MUST(nv_doc_locate(c, nv_text_pos(n, at), &line, &column, NULL, NULL));
      MUST(line > before_line || (line == before_line && column >= before_column));
      before_line = line, before_column = column;
    }
    const char *source;
    size_t length;
    MUST(nv_doc_locate(c, (nv_pos){n, 0}, &line, &column, &source, &length));
    MUST(source >= d->source && source + length <= d->source + d->source_length);
  }
}

static void work(nv_ctx *c, const uint8_t *data, size_t size) {
  nv_doc *d = nv_doc_read(c, "fuzz", c->options.format, data, size);
  MUST(d || c->errors);
  if (d) locate_all(c, d);
  nv_diag_flush(c);
}
#endif

#if FUZZ_TARGET == EXPR
static void work(nv_ctx *c, const uint8_t *data, size_t size) {
  if (!size) return;
  nv_spec *s = NV_NEW(c, nv_spec);
  s->c = c;
  nv_buf b; /* a document of one text */
  nv_buf_init(&b, c);
  nv_putc(&b, '[');
  nv_put_json(&b, (const char *)data + 1, size - 1);
  nv_putc(&b, ']');
  nv_doc *d = nv_doc_read(c, "fuzz", NUVECC_FORMAT_JSON, nv_buf_text(&b), b.n);
  if (!d) return; /* not UTF-8 */
  uint32_t node = nv_doc_at(d, 0)->first;
  size_t n = nv_doc_at(d, node)->length;
  char *text = malloc(n + 1); /* its end is the sanitizer's */
  if (!text) return;
  memcpy(text, nv_doc_text(d, node), n);
  char *exact = realloc(text, n ? n : 1);
  nv_stmt st;
  nv_stmt_block block = {0};
  bool read = true;
  switch (data[0] % 4) {
  case 0: read = nv_parse_expr(s, node, exact, 0, n) != NV_NONE; break;
  case 1: read = nv_parse_statement(s, node, exact, 0, n, &st); break;
  case 2: read = nv_parse_block(s, node, exact, n, &block); break;
  default: read = nv_parse_type(s, node, exact, n) != NV_NONE; break;
  }
  free(exact);
  MUST(read || c->errors);
  for (uint32_t i = 0; i < s->nast; i++) { /* a tree: children are made before or after, never themselves */
    uint32_t count = 0;
    for (nv_ast k = s->ast[i].first; k != NV_NONE; k = s->ast[k].next)
      MUST(k < s->nast && k != i && ++count <= s->nast);
  }
  nv_diag_flush(c);
}
#endif

#if FUZZ_TARGET == GRAPH
static void work(nv_ctx *c, const uint8_t *data, size_t size) {
  const char *why = NULL;
  uint32_t line = 0;
  nv_dims_init(c);
  nv_graph_tables_init(c);
  nv_graph *g = nv_graph_read(c, (const char *)data, size, &why, &line);
  MUST(g || (why && line));
  if (!g) return;
  nv_verify(g, NV_STAGE_TRACED);
  nv_buf first, second;
  nv_buf_init(&first, c);
  nv_graph_print(&first, g);
  nv_graph *again = nv_graph_read(c, first.p, first.n, &why, &line);
  MUST(again);
  nv_buf_init(&second, c);
  nv_graph_print(&second, again);
  MUST(first.n == second.n && !memcmp(first.p, second.p, first.n));
}
#endif

#if FUZZ_TARGET == COMPILE
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (!size) return 0;
  nuvecc_options o = options(data[0] == '{' ? NUVECC_FORMAT_JSON : NUVECC_FORMAT_YAML);
  o.no_simplify = data[0] == '1';
  o.no_fuse = data[0] == '1' || data[0] == '2';
  size_t skip = data[0] == '{' ? 0 : 1;
  nuvecc_unit *u;
  nuvecc_status status = nuvecc_compile(&o, data + skip, size - skip, &u);
  if (status == NUVECC_INTERNAL) fprintf(stderr, "%s\n", nuvecc_error(u));
  MUST(status != NUVECC_INTERNAL);
  for (int k = NUVECC_METAL; status == NUVECC_OK && k < NUVECC_PASS_TIMES; k++) {
    size_t n = 0;
    const char *text = nuvecc_text(u, (nuvecc_artifact)k, &n);
    if (!text) fprintf(stderr, "%s\n", nuvecc_error(u));
    MUST((text && (k == NUVECC_DATA || strlen(text) == n)) || strstr(nuvecc_error(u), "out of memory"));
    if (!text) break;
  }
  nuvecc_free(u);
  return 0;
}
#endif
