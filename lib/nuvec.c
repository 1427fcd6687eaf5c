/* nuvec.c - the library's entry points, and the pipeline. */
#include "emit/emit.h"
#include "emit/stub.h"
#include "ir/data.h"
#include "ir/eval.h"
#include "ir/sizes.h"
#include "spec/arrays.h"
#include "spec/doc.h"

#include <stdlib.h>
#include <time.h>

_Static_assert((int)NV_C64 == (int)NUVECC_COMPLEX64, "nv_dtype and nuvecc_dtype list the same types in one order");

enum { NPASSES = 6, NARTIFACTS = NUVECC_PASS_TIMES + 1, MAX_NAME = 200 /* file systems take NAME.nuvec.json */ };
static const char *const pass_names[NPASSES] = {"read", "trace", "simplify", "fuse", "plan", "emit"};

struct nuvecc_unit {
  nv_ctx *c;
  nv_module module;
  nuvecc_program *programs;
  bool finished; /* artifacts can be asked for */
  struct {
    const char *p;
    size_t n;
  } text[NARTIFACTS];
  double seconds[NPASSES];
};

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* The pass named by k is about to run: its name for faults, its time for --time-passes. */
static double begin(nuvecc_unit *u, int k) {
  u->c->stage = pass_names[k];
  return now();
}
static void end(nuvecc_unit *u, int k, double start) { u->seconds[k] += now() - start; }

static void verify(const nv_graph *g, nv_stage stage) {
  if (g->c->options.verify) nv_verify(g, stage);
}

/* Everything between a traced graph and its launches. */
static void lower(nuvecc_unit *u, nv_program *p) {
  const nuvecc_options *o = &u->c->options;
  double t = begin(u, 2);
  u->c->where = p->entry->signatures[p->signature].pos;
  p->simplified = o->no_simplify ? nv_drop_dead(p->traced) : nv_simplify(p->traced);
  verify(p->simplified, o->no_simplify ? NV_STAGE_TRACED : NV_STAGE_SIMPLIFIED);
  end(u, 2, t);
  if (o->graphs_only) return;
  t = begin(u, 3);
  p->plan = nv_fuse(p->simplified, !o->no_fuse);
  end(u, 3, t);
  t = begin(u, 4);
  nv_place_buffers(p->plan);
  if (o->verify) nv_plan_verify(p->plan);
  end(u, 4, t);
}

static const char *base_name(const char *file) {
  const char *slash = strrchr(file, '/');
  return slash ? slash + 1 : file;
}

/* NAME: --prefix, else the document's name, else the file's base name without its last ending. Characters that C names
   lack become "_", and a leading digit gets one before it. */
static const char *module_name(nv_ctx *c, const nv_spec *s) {
  const nuvecc_options *o = &c->options;
  if (!o->prefix && s->name == NV_NONE && !strcmp(o->file, "-"))
    nv_raise(c, NUVECC_USAGE, "standard input has no name: give the spec a 'name', or use --prefix");
  const char *from = o->prefix ? o->prefix : s->name != NV_NONE ? nv_text(c, s->name) : base_name(o->file);
  char *name = nv_format(c, "_%s", from);
  if (!o->prefix && s->name == NV_NONE) {
    char *dot = strrchr(name, '.');
    if (dot && dot > name + 1) *dot = 0;
  }
  for (char *p = name; *p; p++)
    if (!((*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z') || (*p >= '0' && *p <= '9'))) *p = '_';
  if (name[1] && !(name[1] >= '0' && name[1] <= '9')) name++;
  if (strlen(name) > MAX_NAME)
    nv_raise(c, o->prefix ? NUVECC_USAGE : NUVECC_SPEC,
             "the name that files and symbols start with has %zu bytes: %d at most (--prefix gives another)",
             strlen(name), MAX_NAME);
  return name;
}

static void describe(nuvecc_unit *u) {
  nv_ctx *c = u->c;
  u->programs = NV_NEW_N(c, nuvecc_program, u->module.nprograms + 1);
  for (uint32_t k = 0; k < u->module.nprograms; k++) {
    const nv_program *p = &u->module.programs[k];
    const nv_graph *g = p->traced;
    nuvecc_tensor *ports = NV_NEW_N(c, nuvecc_tensor, (size_t)g->ninputs + g->noutputs + 1);
    for (uint32_t i = 0; i < g->ninputs + g->noutputs; i++) {
      const nv_port *port = i < g->ninputs ? &g->inputs[i] : &g->outputs[i - g->ninputs];
      nuvecc_tensor *t = &ports[i];
      nv_shape shape = nv_shape_at(g, port->value);
      t->name = nv_text(c, port->name);
      t->dtype = (nuvecc_dtype)nv_dtype_of(g, port->value);
      t->rank = (int32_t)nv_shape_rank(c, shape);
      for (int32_t d = 0; d < t->rank; d++)
        if (!nv_dim_is_const(c, nv_shape_dims(c, shape)[d], &t->shape[d])) t->shape[d] = -1;
      if (nv_shape_is_static(c, shape)) t->bytes = (size_t)nv_shape_count(c, shape) * nv_dtype_size[t->dtype];
    }
    nuvecc_size *sizes = NV_NEW_N(c, nuvecc_size, (size_t)g->nsources + 1);
    for (uint32_t i = 0; i < g->nsources; i++) {
      nv_buf name;
      nv_buf_init(&name, c);
      nv_put_dim(&name, g->sources[i].symbol);
      sizes[i].name = nv_buf_text(&name);
      nv_dim_bounds(c, g->sources[i].symbol, &sizes[i].min, &sizes[i].max);
    }
    u->programs[k] = (nuvecc_program){.sizes = sizes,
                                      .nsizes = g->nsources,
                                      .entry = nv_text(c, p->entry->name),
                                      .symbol = p->symbol,
                                      .signature = p->signature,
                                      .inputs = ports,
                                      .outputs = ports + g->ninputs,
                                      .ninputs = g->ninputs,
                                      .noutputs = g->noutputs};
  }
}

static nuvecc_status run(nuvecc_unit *u, const void *bytes, size_t n) {
  nv_ctx *c = u->c;
  nv_module *m = &u->module;
  double t = begin(u, 0);
  c->target = nv_target_find(c->options.target ? c->options.target : nv_target_names[0]);
  if (!c->target) nv_raise(c, NUVECC_USAGE, "unknown target '%s'", c->options.target);
  nv_dims_init(c);
  nv_graph_tables_init(c);
  nv_doc *d = nv_doc_read(c, c->options.file, c->options.format, bytes, n);
  nv_spec *s = d ? nv_spec_parse(c, d) : NULL;
  if (s) nv_read_constant_files(s);
  end(u, 0, t);

  t = begin(u, 1);
  m->c = c;
  m->spec = s;
  bool known = !c->options.entry;
  for (uint32_t i = 0; s && i < s->nentries; i++) {
    const nv_entry *e = &s->entries[i];
    if (c->options.entry && strcmp(c->options.entry, nv_text(c, e->name))) continue;
    known = true;
    for (uint32_t k = 0; k < e->nsignatures; k++) {
      nv_graph *g = nv_trace(s, e, k);
      if (!g) continue;
      verify(g, NV_STAGE_TRACED);
      NV_GROW(c, m->programs, m->programs_cap, (size_t)m->nprograms + 1);
      m->programs[m->nprograms++] = (nv_program){.entry = e, .signature = k, .style = e->style, .traced = g};
    }
  }
  if (s) {
    nv_drop(c, s->ast); /* large, and nothing behind the trace reads it; nor statements */
    s->ast = NULL;
    s->nast = s->ast_cap = 0;
    for (uint32_t i = 0; i < s->nfunctions; i++) {
      nv_drop(c, s->functions[i].body.stmts);
      s->functions[i].body = (nv_stmt_block){0};
    }
  }
  end(u, 1, t);
  if (s && !known && !c->errors) nv_raise(c, NUVECC_USAGE, "no entry is named '%s'", c->options.entry);
  bool wrong = c->errors || (c->options.werror && c->warnings);
  uint32_t more = c->errors > NV_MAX_ERRORS ? c->errors - NV_MAX_ERRORS : 0;
  nv_diag_flush(c);
  if (more && c->options.report) {
    nuvecc_diagnostic tail = {.severity = NUVECC_NOTE,
                              .file = c->options.file,
                              .text = nv_format(c, "%u more error%s not shown", more, more == 1 ? " is" : "s are")};
    c->options.report(c->options.user, &tail);
  }
  if (wrong && !c->errors && c->options.report) {
    nuvecc_diagnostic tail = {.severity = NUVECC_ERROR, .file = c->options.file, .text = "warnings are errors here"};
    c->options.report(c->options.user, &tail);
  }
  if (wrong) return NUVECC_SPEC;

  m->name = m->prefix_c = module_name(c, s);
  if (!c->options.syntax_only) {
    for (uint32_t k = 0; k < m->nprograms; k++) lower(u, &m->programs[k]);
    t = begin(u, 5);
    if (!c->options.graphs_only) {
      nv_lay_out_data(m);
      nv_emit_names(m);
      nv_check_stub(m);
    }
    end(u, 5, t);
    u->finished = true;
  }
  if (c->options.syntax_only) nv_lay_out_data(m);
  describe(u);
  return NUVECC_OK;
}

/* A user's mistake that was raised: shown with what was found before it. */
static void report_fault(nuvecc_unit *u) {
  nv_ctx *c = u->c;
  c->door_open = true;
  if (setjmp(c->door)) return;
  nv_error(c, c->where, "%s", c->fault);
  nv_diag_flush(c);
}

nuvecc_status nuvecc_compile(const nuvecc_options *options, const void *bytes, size_t n, nuvecc_unit **unit) {
  nuvecc_unit *u = calloc(1, sizeof *u);
  *unit = u;
  if (!u) return NUVECC_IO;
  u->c = nv_ctx_new(options);
  if (!u->c) {
    free(u);
    *unit = NULL;
    return NUVECC_IO;
  }
  nv_locale l = nv_enter_c_locale();
  nuvecc_status status;
  u->c->door_open = true;
  if (setjmp(u->c->door)) {
    status = u->c->raised;
    if (status == NUVECC_SPEC) report_fault(u);
  } else {
    status = run(u, bytes, n);
  }
  u->c->door_open = false;
  nv_leave_c_locale(l);
  return status;
}

void nuvecc_free(nuvecc_unit *u) {
  if (!u) return;
  nv_ctx_free(u->c);
  free(u);
}

const char *nuvecc_error(const nuvecc_unit *u) { return u ? u->c->fault : "out of memory"; }
bool nuvecc_has_data(const nuvecc_unit *u) { return u->module.has_data; }
nuvecc_status nuvecc_failure(const nuvecc_unit *u) { return u ? u->c->raised : NUVECC_IO; }
const char *nuvecc_name(const nuvecc_unit *u) { return u->module.name; }
size_t nuvecc_nprograms(const nuvecc_unit *u) { return u->module.nprograms; }
const nuvecc_program *nuvecc_get_program(const nuvecc_unit *u, size_t k) { return &u->programs[k]; }
size_t nuvecc_dtype_size(nuvecc_dtype d) { return nv_dtype_size[d]; }
const char *nuvecc_dtype_name(nuvecc_dtype d) { return nv_dtype_name[d]; }

/* Graphs and plans of all programs, one behind the other. */
static void put_stages(nv_buf *b, const nv_module *m, nuvecc_artifact what) {
  for (uint32_t k = 0; k < m->nprograms; k++) {
    const nv_program *p = &m->programs[k];
    if (k) nv_putc(b, '\n');
    switch (what) {
    case NUVECC_GRAPH_TRACED: nv_graph_print(b, p->traced); break;
    case NUVECC_GRAPH_SIMPLIFIED: nv_graph_print(b, p->simplified); break;
    case NUVECC_GRAPH_FUSED: nv_plan_print(b, p->plan); break;
    case NUVECC_DOT_TRACED: nv_graph_dot(b, p->traced); break;
    case NUVECC_DOT_SIMPLIFIED: nv_graph_dot(b, p->simplified); break;
    default: nv_plan_dot(b, p->plan); break;
    }
  }
}

static void put_artifact(nuvecc_unit *u, nv_buf *b, nuvecc_artifact what) {
  const nv_module *m = &u->module;
  switch (what) {
  case NUVECC_METAL: nv_emit_metal(b, m); break;
  case NUVECC_C: nv_emit_c(b, m); break;
  case NUVECC_HEADER: nv_emit_header(b, m); break;
  case NUVECC_DATA: nv_emit_data(b, m); break;
  case NUVECC_MK: nv_emit_mk(b, m); break;
  case NUVECC_MANIFEST: nv_emit_manifest(b, m); break;
  case NUVECC_EXPLAIN: nv_emit_explain(b, m, false); break;
  case NUVECC_EXPLAIN_JSON: nv_emit_explain(b, m, true); break;
  case NUVECC_EXPLAIN_HTML: nv_explain_html(b, m); break;
  case NUVECC_STATS: nv_emit_stats(b, m, false); break;
  case NUVECC_STATS_JSON: nv_emit_stats(b, m, true); break;
  case NUVECC_PASS_TIMES:
    for (int k = 0; k < NPASSES; k++) nv_printf(b, "%-9s %9.3f ms\n", pass_names[k], 1e3 * u->seconds[k]);
    break;
  default: put_stages(b, m, what); break;
  }
}

const char *nuvecc_text(nuvecc_unit *u, nuvecc_artifact what, size_t *n) {
  nv_ctx *c = u->c;
  if (!u->finished) return NULL;
  if (!u->text[what].p) {
    nv_locale l = nv_enter_c_locale();
    c->door_open = true;
    if (!setjmp(c->door)) {
      nv_buf b;
      nv_buf_init(&b, c);
      double t = begin(u, 5);
      put_artifact(u, &b, what);
      u->text[what].p = nv_buf_text(&b);
      u->text[what].n = b.n;
      end(u, 5, t);
    }
    c->door_open = false;
    nv_leave_c_locale(l);
  }
  if (n) *n = u->text[what].n;
  return u->text[what].p;
}

/* Runs work in the unit's context, as nuvecc_compile does. */
static nuvecc_status enter(nuvecc_unit *u, const char *stage, void (*work)(nuvecc_unit *u, void *with), void *with) {
  nv_ctx *c = u->c;
  nv_locale l = nv_enter_c_locale();
  nuvecc_status status = NUVECC_OK;
  c->door_open = true;
  c->stage = stage;
  if (setjmp(c->door))
    status = c->raised;
  else
    work(u, with);
  c->door_open = false;
  nv_leave_c_locale(l);
  return status;
}

typedef struct inputs_at {
  size_t k;
  const int64_t *values;
  nuvecc_tensor *in;
  bool wrong;
} inputs_at;

static void put_inputs_at(nuvecc_unit *u, void *with) {
  inputs_at *at = with;
  nv_ctx *c = u->c;
  const nv_graph *g = u->module.programs[at->k].traced;
  nv_dim *symbols = NV_NEW_N(c, nv_dim, (size_t)g->nsources + 1);
  for (uint32_t i = 0; i < g->nsources; i++) symbols[i] = g->sources[i].symbol;
  for (uint32_t i = 0; i < g->ninputs; i++) {
    const nv_shape shape = nv_shape_at(g, g->inputs[i].value);
    nuvecc_tensor *t = &at->in[i];
    void *data = t->data;
    *t = u->programs[at->k].inputs[i];
    t->data = data;
    const nv_dim *dims = nv_shape_dims(c, shape);
    for (int32_t d = 0; d < t->rank; d++)
      at->wrong = at->wrong || !nv_dim_eval(c, dims[d], symbols, at->values, g->nsources, &t->shape[d]) ||
                  t->shape[d] < 0;
    if (at->wrong) return;
    t->bytes = (size_t)nv_shape_count(c, nv_shape_of_ints(c, t->shape, (uint32_t)t->rank)) * nv_dtype_size[t->dtype];
  }
}

nuvecc_status nuvecc_inputs_at(nuvecc_unit *u, size_t k, const int64_t *values, nuvecc_tensor *in) {
  inputs_at at = {k, values, in, false};
  nuvecc_status status = enter(u, "shapes", put_inputs_at, &at);
  return status == NUVECC_OK && at.wrong ? NUVECC_SPEC : status;
}

typedef struct evaluation {
  size_t k;
  const nuvecc_tensor *in;
  nuvecc_tensor *out;
  bool flush;
} evaluation;

/* The program's graph at the sizes of these inputs. */
static const nv_graph *graph_of(nuvecc_unit *u, const evaluation *e) {
  nv_ctx *c = u->c;
  const nv_graph *g = u->module.programs[e->k].traced;
  const char *why = "";
  const int64_t **shapes = NV_NEW_N(c, const int64_t *, (size_t)g->ninputs + 1);
  int64_t *values = NV_NEW_N(c, int64_t, (size_t)g->nsources + 1);
  if (!g->nsources) return g;
  for (uint32_t i = 0; i < g->ninputs; i++) shapes[i] = e->in[i].shape;
  g = nv_graph_sizes(g, shapes, values, &why) ? nv_graph_at(g, values, &why) : NULL;
  if (!g) nv_raise(c, NUVECC_SPEC, "%s", why);
  return g;
}

static void put_shapes(nuvecc_unit *u, void *with) {
  const evaluation *e = with;
  nv_ctx *c = u->c;
  const nv_graph *g = graph_of(u, e);
  for (uint32_t i = 0; i < g->noutputs; i++) {
    const nv_shape shape = nv_shape_at(g, g->outputs[i].value);
    nuvecc_tensor *t = &e->out[i];
    void *data = t->data;
    *t = u->programs[e->k].outputs[i];
    t->data = data;
    for (int32_t d = 0; d < t->rank; d++) t->shape[d] = nv_dim_value(c, nv_shape_dims(c, shape)[d]);
    t->bytes = (size_t)nv_shape_count(c, shape) * nv_dtype_size[t->dtype];
  }
}

static void eval(nuvecc_unit *u, void *with) {
  const evaluation *e = with;
  nv_eval(graph_of(u, e), e->in, e->out, e->flush);
}

nuvecc_status nuvecc_shapes(nuvecc_unit *u, size_t k, const nuvecc_tensor *in, nuvecc_tensor *out) {
  evaluation e = {k, in, out, false};
  return enter(u, "shapes", put_shapes, &e);
}

nuvecc_status nuvecc_eval(nuvecc_unit *u, size_t k, const nuvecc_tensor *in, nuvecc_tensor *out, bool flush) {
  evaluation e = {k, in, out, flush};
  return enter(u, "evaluator", eval, &e);
}
