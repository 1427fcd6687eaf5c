/* trace_count.c - tracing: how many nodes and calls a function comes to at the least, before any is made.
 *
 * Counted are calls that surely happen: of the branches of an if that isn't decided by a literal the smaller, of a loop
 * whose range isn't literal nothing. What isn't counted here meets the limits while it is traced. */
#include "trace.h"

static nvt_cost add(nvt_cost a, nvt_cost b, int64_t times) {
  int64_t n, k;
  if (!nv_mul64(b.nodes, times, &n) || !nv_add64(a.nodes, n, &a.nodes)) a.nodes = INT64_MAX;
  if (!nv_mul64(b.calls, times, &k) || !nv_add64(a.calls, k, &a.calls)) a.calls = INT64_MAX;
  return a;
}

static nvt_cost smaller(nvt_cost a, nvt_cost b) {
  return (nvt_cost){a.nodes < b.nodes ? a.nodes : b.nodes, a.calls < b.calls ? a.calls : b.calls};
}

typedef struct block {
  const nv_stmt_block *b;
  uint32_t next;
  nvt_cost sum;
  nvt_cost then;  /* of an if whose else_ is being counted */
  bool has_then;
} block;

typedef struct counter {
  nvt *t;
  const nv_function *fn; /* whose body it is */
  nv_ast *asts; uint32_t nasts, asts_cap;
  block *blocks; uint32_t nblocks, blocks_cap;
  uint32_t *missing; uint32_t nmissing, missing_cap; /* functions whose cost isn't known yet */
} counter;

static void later(counter *w, nv_ast a) {
  if (a == NV_NONE) return;
  NV_GROW(w->t->c, w->asts, w->asts_cap, (size_t)w->nasts + 1);
  w->asts[w->nasts++] = a;
}

/* The function that a call means (trace_expr.c), or NV_NONE. */
static uint32_t callee(counter *w, const nv_ast_node *n) {
  nvt *t = w->t;
  const nvt_slot *s = nvt_slot_of(t, n->text);
  const bool functions = !(n->flags & NV_CALL_OP), builtins = !(n->flags & NV_CALL_FUNCTION);
  const bool itself = s->user != NV_NONE && w->fn == &t->s->functions[s->user];
  if (functions && s->user != NV_NONE && !w->fn->builtin && !itself) return s->user;
  return builtins && !itself ? s->builtin : NV_NONE;
}

static void count_call(counter *w, const nv_ast_node *n, nvt_cost *sum) {
  nvt *t = w->t;
  const uint32_t f = callee(w, n);
  if (f == NV_NONE) {
    const nv_op op = nvt_op_of(t, n->text);
    const bool maybe_static = nvt_is_static_function(nv_text(t->c, n->text));
    *sum = add(*sum, (nvt_cost){!maybe_static && op != NV_NOPS && nv_ops[op].cls != NV_VIEW, 0}, 1);
    return;
  }
  *sum = add(*sum, (nvt_cost){0, 1}, 1);
  if (t->costs[f].nodes >= 0) {
    *sum = add(*sum, t->costs[f], 1);
    return;
  }
  NV_GROW(t->c, w->missing, w->missing_cap, (size_t)w->nmissing + 1);
  w->missing[w->nmissing++] = f;
}

static void count_expr(counter *w, nv_ast a, nvt_cost *sum) {
  later(w, a);
  while (w->nasts) {
    const nv_ast_node *n = nvt_at(w->t, w->asts[--w->nasts]);
    const bool either = n->kind == NV_AST_BINARY && (n->op == NV_OPR_AND || n->op == NV_OPR_OR);
    if (n->kind == NV_AST_CALL) count_call(w, n, sum);
    if (either)
      later(w, n->first);
    else
      for (nv_ast c = n->first; c != NV_NONE; c = nvt_at(w->t, c)->next) later(w, c);
  }
}

static void open_block(counter *w, const nv_stmt_block *b) {
  NV_GROW(w->t->c, w->blocks, w->blocks_cap, (size_t)w->nblocks + 1);
  w->blocks[w->nblocks++] = (block){.b = b};
}

/* Elements of a literal list or range(n); else 0. */
static int64_t literal_count(counter *w, nv_ast a) {
  if (a == NV_NONE) return 0;
  const nv_ast_node *n = nvt_at(w->t, a);
  if (n->kind == NV_AST_LIST) return n->count;
  if (n->kind != NV_AST_CALL || n->count != 1 || strcmp(nv_text(w->t->c, n->text), "range")) return 0;
  const nv_ast_node *k = nvt_at(w->t, n->first);
  const int64_t v = k->kind == NV_AST_INT ? strtoll(nv_text(w->t->c, k->text), NULL, 0) : 0;
  return v < 0 || v > NVT_MAX_ITERATIONS ? 0 : v;
}

/* 1, 0: a literal decides so; -1: none does. */
static int literal_truth(const nvt *t, nv_ast a) {
  const nv_ast_node *n = a == NV_NONE ? NULL : nvt_at(t, a);
  return n && n->kind == NV_AST_BOOL ? n->op != 0 : -1;
}

/* A statement's own expressions, or the opening of its first block. true: a block was opened. */
static bool enter(counter *w, const nv_stmt *s, nvt_cost *sum) {
  count_expr(w, s->kind == NV_STMT_MAP ? NV_NONE : s->expr, sum);
  if (s->kind == NV_STMT_IF) {
    open_block(w, s->then_);
    return true;
  }
  if (s->kind != NV_STMT_FOR || !s->then_ || !literal_count(w, s->expr)) return false;
  open_block(w, s->then_);
  return true;
}

static nvt_cost count_block(counter *w, const nv_stmt_block *body) {
  static const nv_stmt_block nothing = {NULL, 0, 0};
  nvt_cost done = {0, 0};
  open_block(w, body);
  while (w->nblocks) {
    block *top = &w->blocks[w->nblocks - 1];
    if (!top->b) top->b = &nothing;
    if (top->next < top->b->n) {
      const nv_stmt *s = &top->b->stmts[top->next];
      nvt_cost sum = top->sum;
      const bool inner = enter(w, s, &sum);
      w->blocks[w->nblocks - 1 - inner].sum = sum;
      if (!inner) top->next++;
      continue;
    }
    done = top->sum;
    if (--w->nblocks == 0) break;
    top = &w->blocks[w->nblocks - 1];
    const nv_stmt *s = &top->b->stmts[top->next];
    if (s->kind == NV_STMT_FOR) {
      top->sum = add(top->sum, done, literal_count(w, s->expr));
    } else if (!top->has_then) {
      top->then = done;
      top->has_then = true;
      open_block(w, s->else_);
      continue;
    } else {
      const int known = literal_truth(w->t, s->expr);
      top->sum = add(top->sum, known == 1 ? top->then : known == 0 ? done : smaller(top->then, done), 1);
      top->has_then = false;
    }
    top->next++;
  }
  return done;
}

static nvt_cost count_body(counter *w, const nv_function *fn) {
  w->fn = fn;
  nvt_cost sum = count_block(w, &fn->body);
  count_expr(w, fn->outputs, &sum);
  return sum;
}

/* Functions that f needs first are counted first: calls never lead back (the parser has seen to it). */
static void count_functions(counter *w) {
  nvt *t = w->t;
  uint32_t *stack = NULL, n = 0, cap = 0;
  for (uint32_t k = 0; k < w->nmissing; k++) {
    NV_GROW(t->c, stack, cap, (size_t)n + 1);
    stack[n++] = w->missing[k];
  }
  while (n) {
    const uint32_t f = stack[n - 1];
    if (t->costs[f].nodes >= 0) {
      n--;
      continue;
    }
    w->nmissing = 0;
    const nvt_cost cost = count_body(w, &t->s->functions[f]);
    if (!w->nmissing) {
      t->costs[f] = cost;
      n--;
      continue;
    }
    NV_GROW(t->c, stack, cap, (size_t)n + w->nmissing);
    for (uint32_t k = 0; k < w->nmissing; k++) stack[n++] = w->missing[k];
  }
  w->nmissing = 0;
  nv_drop(t->c, stack);
}

/* b: a block of fn; NULL: its body and outputs. */
static nvt_cost least(nvt *t, const nv_function *fn, const nv_stmt_block *b) {
  counter w = {.t = t, .fn = fn};
  if (!t->costs) {
    t->costs = NV_NEW_N(t->c, nvt_cost, (size_t)t->s->nfunctions + 1);
    for (uint32_t k = 0; k < t->s->nfunctions; k++) t->costs[k].nodes = -1;
  }
  nvt_cost cost;
  for (;;) {
    cost = b ? count_block(&w, b) : count_body(&w, fn);
    if (!w.nmissing) break;
    count_functions(&w);
    w.fn = fn;
  }
  nv_drop(t->c, w.asts);
  nv_drop(t->c, w.blocks);
  nv_drop(t->c, w.missing);
  return cost;
}

nvt_cost nvt_least_cost(nvt *t, const nv_function *fn) { return least(t, fn, NULL); }

struct nvt_body {
  const nv_stmt_block *b;
  nvt_cost cost;
};

/* Counted once a block: a loop may start as often as there are iterations. */
nvt_cost nvt_least_of_block(nvt *t, const nv_stmt_block *b) {
  const uint64_t hash = nv_hash(&b, sizeof b, 0); /* of an address: for looking up only */
  uint32_t at = 0, k;
  while ((k = nv_map_next(&t->body_map, hash, &at)) != NV_NONE)
    if (t->bodies[k].b == b) return t->bodies[k].cost;
  const nvt_cost cost = least(t, nvt_top(t)->fn, b);
  NV_GROW(t->c, t->bodies, t->bodies_cap, (size_t)t->nbodies + 1);
  t->bodies[t->nbodies] = (struct nvt_body){b, cost};
  nv_map_add(t->c, &t->body_map, hash, t->nbodies++);
  return cost;
}

bool nvt_affords(nvt *t, nvt_cost cost, int64_t times, nv_pos pos) {
  const nvt_cost sum = add((nvt_cost){t->g->nnodes, t->calls}, cost, times);
  if (sum.nodes <= NVT_MAX_NODES && sum.calls <= NVT_MAX_NODES) return true;
  if (!t->stop)
    nvt_error(t, pos, "more than %lld %s", (long long)NVT_MAX_NODES, sum.nodes > NVT_MAX_NODES ? "nodes" : "calls");
  t->stop = true;
  return false;
}
