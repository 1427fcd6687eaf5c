/* calls.c - who calls whom among the functions of a spec. */
#include "../ir/op.h"
#include "parse.h"

enum { MAX_CALLS = 256 }; /* deep */

uint32_t nv_find_function(const nv_reader *r, nv_str name, bool builtin) {
  const nv_map *m = builtin ? &r->builtin : &r->user;
  uint32_t at = 0, k;
  while ((k = nv_map_next(m, nv_str_hash(name), &at)) != NV_NONE)
    if (r->s->functions[k].name == name) return k;
  return NV_NONE;
}

/* A name that a user's function hides: an op's, a composite's or a static function's. */
static bool is_builtin_name(const nv_reader *r, nv_str name) {
  static const char *const statics[] = {"min", "max", "int", "float", "len", "range", "variant", "trainable"};
  const char *text = nv_text(r->c, name);
  for (size_t k = 0; k < sizeof statics / sizeof *statics; k++)
    if (!strcmp(statics[k], text)) return true;
  return nv_find_function(r, name, true) != NV_NONE || nv_op_find(text) != NV_NOPS;
}

/* The function that a call in function f means, NV_NONE when it is an op's or unknown. Inside its own body a function's
 * name means the built-in. */
static uint32_t resolve(const nv_reader *r, uint32_t f, const nv_ast_node *call) {
  const nv_function *in = &r->s->functions[f];
  uint32_t k = NV_NONE;
  bool itself = in->name == call->text && call->flags != NV_CALL_FUNCTION;
  if (!in->builtin && !itself && call->flags != NV_CALL_OP) k = nv_find_function(r, call->text, false);
  if (k == NV_NONE && call->flags != NV_CALL_FUNCTION && !(in->builtin && itself))
    k = nv_find_function(r, call->text, true);
  return itself && !in->builtin && !is_builtin_name(r, call->text) ? f : k;
}

/* In the plain form of a call of callee in f, a text that is given to a numeric static is an expression. */
static void read_static_arguments(nv_reader *r, uint32_t f, nv_ast call, uint32_t callee) {
  nv_spec *s = r->s;
  for (nv_ast a = s->ast[call].first; a != NV_NONE; a = s->ast[a].next) {
    if (s->ast[a].kind != NV_AST_KEYWORD || s->ast[s->ast[a].first].kind != NV_AST_STRING) continue;
    const nv_decl *d = nv_find_decl(r, callee, s->ast[a].text);
    if (!d || d->kind != NV_DECL_STATIC || d->index >= s->functions[callee].nstatics) continue;
    nv_static_kind kind = s->functions[callee].statics[d->index].kind;
    if (kind == NV_STATIC_STRING || kind == NV_STATIC_ENUM) continue;
    nv_ast x = nv_read_expr(r, s->ast[s->ast[a].first].pos.node & ~NV_BUILTIN);
    if (x == NV_NONE)
      s->functions[f].broken = true;
    else
      s->ast[a].first = x;
  }
}

typedef struct edge {
  uint32_t callee;
  nv_ast call;
} edge;
typedef struct step { /* of the depth-first walk */
  uint32_t f, next;   /* the function, and its next edge */
} step;

typedef struct calls {
  nv_reader *r;
  edge *edges; /* those of function f: from first[f] to first[f + 1] */
  uint32_t nedges, edges_cap, *first;
  step *stack;
  uint32_t n, cap;
  uint16_t *depth; /* calls below a function, itself counted; 0: not seen */
  bool *open, *cyclic;
} calls;

static void find_edges(calls *w) {
  nv_reader *r = w->r;
  nv_spec *s = r->s;
  for (uint32_t f = 0; f < s->nfunctions; f++) {
    w->first[f] = w->nedges;
    for (nv_ast a = r->ranges[f].from; a < r->ranges[f].to; a++) {
      if (s->ast[a].kind != NV_AST_CALL) continue;
      uint32_t k = resolve(r, f, &s->ast[a]);
      if (k == NV_NONE) continue;
      if (s->ast[a].flags == NV_CALL_FUNCTION) read_static_arguments(r, f, a, k);
      if (k != f && !s->functions[f].builtin) s->functions[k].called = true;
      NV_GROW(r->c, w->edges, w->edges_cap, (size_t)w->nedges + 1);
      w->edges[w->nedges++] = (edge){k, a};
    }
  }
  w->first[s->nfunctions] = w->nedges;
}

/* The edge leads from the top of the stack back to a function on it. */
static void report_cycle(calls *w, const edge *e) {
  nv_spec *s = w->r->s;
  nv_ctx *c = w->r->c;
  uint32_t top = w->stack[w->n - 1].f, from = w->n - 1;
  while (w->stack[from].f != e->callee) from--;
  bool known = w->cyclic[top] && w->cyclic[e->callee];
  for (uint32_t i = from; i < w->n; i++) {
    w->cyclic[w->stack[i].f] = true;
    s->functions[w->stack[i].f].broken = true;
  }
  if (known) return;
  if (from == w->n - 1) {
    nv_error(c, s->ast[e->call].pos, "function '%s' calls itself", nv_shown_str(c, s->functions[top].name));
    return;
  }
  nv_buf b;
  nv_buf_init(&b, c);
  for (uint32_t i = from; i < w->n; i++) {
    bool skip = w->n - from > 8 && i > from + 3 && i < w->n - 3;
    if (!skip)
      nv_printf(&b, "'%s' calls ", nv_shown_str(c, s->functions[w->stack[i].f].name));
    else if (i == from + 4)
      nv_puts(&b, "… calls ");
  }
  nv_error(c, s->ast[e->call].pos, "functions call each other in a circle: %s'%s'", nv_buf_text(&b),
           nv_shown_str(c, s->functions[e->callee].name));
  nv_drop(c, b.p);
}

static void push(calls *w, uint32_t f) {
  NV_GROW(w->r->c, w->stack, w->cap, (size_t)w->n + 1);
  w->stack[w->n++] = (step){f, w->first[f]};
  w->open[f] = true;
  w->depth[f] = 1;
}

/* Depth first from f. */
static void walk(calls *w, uint32_t f) {
  nv_spec *s = w->r->s;
  for (push(w, f); w->n;) {
    step *top = &w->stack[w->n - 1];
    f = top->f;
    if (top->next == w->first[f + 1]) {
      w->open[f] = false;
      w->n--;
      continue;
    }
    const edge *e = &w->edges[top->next];
    uint32_t g = e->callee;
    if (w->open[g]) {
      report_cycle(w, e);
    } else if (!w->depth[g]) {
      push(w, g);
      continue; /* this edge again, when g is done */
    }
    top->next++;
    if (s->functions[g].broken) s->functions[f].broken = true;
    if (w->open[g] || w->depth[g] < w->depth[f]) continue;
    if (w->depth[g] >= MAX_CALLS) {
      nv_error(w->r->c, s->ast[e->call].pos, "calls nest deeper than %d", MAX_CALLS);
      s->functions[f].broken = true;
      w->depth[f] = 1;
    } else {
      w->depth[f] = (uint16_t)(w->depth[g] + 1);
    }
  }
}

void nv_check_calls(nv_reader *r) {
  nv_spec *s = r->s;
  calls w = {.r = r};
  w.first = NV_NEW_N(r->c, uint32_t, s->nfunctions + 1u);
  w.depth = NV_NEW_N(r->c, uint16_t, s->nfunctions);
  w.open = NV_NEW_N(r->c, bool, s->nfunctions);
  w.cyclic = NV_NEW_N(r->c, bool, s->nfunctions);
  find_edges(&w);
  for (uint32_t f = 0; f < s->nfunctions; f++) {
    const nv_function *fn = &s->functions[f];
    if (!w.depth[f]) walk(&w, f);
    if (!fn->builtin && is_builtin_name(r, fn->name))
      nv_warn(r->c, fn->pos, "function '%s' hides the built-in of that name", nv_shown_str(r->c, fn->name));
  }
  nv_drop(r->c, w.edges);
  nv_drop(r->c, w.stack);
}
