/* trace_count.c - tracing: how many nodes and calls a function comes to at the least, before any is made.
 *
 * Counted are calls that surely happen, and operators that surely have an array: of the branches of an if that isn't
 * decided by a literal the smaller, of a loop whose range isn't literal nothing (but what its body comes to is noted).
 * What isn't counted here is foreseen when a loop starts (trace_foresee.c), rehearsed (trace_rehearse.c), or meets the
 * limits while it is traced. */
#include "trace.h"

static void times(int64_t *sum, int64_t n, int64_t k) {
  if (!nv_mul64(n, k, &n) || !nv_add64(*sum, n, sum)) *sum = INT64_MAX;
}

static nvt_cost add(nvt_cost a, nvt_cost b, int64_t k) {
  times(&a.nodes, b.nodes, k);
  times(&a.calls, b.calls, k);
  times(&a.most, b.most, k ? k : 1);
  times(&a.peak, b.peak, k ? k : NVT_MAX_ITERATIONS);
  return a;
}

static nvt_cost of_nodes(int64_t n) { return (nvt_cost){.nodes = n, .peak = n}; }

static int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }

/* Of two branches. known: 1, 0: a literal says which; -1: none does. */
static nvt_cost either(nvt_cost yes, nvt_cost no, int known) {
  if (known >= 0) return known ? yes : no;
  return (nvt_cost){.nodes = smaller(yes.nodes, no.nodes),
                    .calls = smaller(yes.calls, no.calls),
                    .most = yes.most > no.most ? yes.most : no.most,
                    .peak = yes.peak > no.peak ? yes.peak : no.peak};
}

typedef struct change { /* of what is known of a name */
  nv_str name;
  bool array; /* before */
} change;

typedef struct block {
  const nv_stmt_block *b;
  uint32_t next;
  nvt_cost sum;
  nvt_cost then;  /* of an if whose else_ is being counted */
  bool has_then;
  uint32_t changes; /* made before it was opened */
} block;

typedef struct part { /* of the expression that is counted */
  nv_ast a;
  uint32_t parent;
  bool array; /* an operand is an array, surely; then: it is one */
} part;

typedef struct counter {
  nvt *t;
  const nv_function *fn; /* whose body it is */
  bool entry;            /* as the entry: its inputs are arrays; what a call gives may be a number */
  bool wary;             /* what a loop carries isn't taken for an array */
  bool mistaken;         /* it was, and isn't one */
  part *parts; uint32_t nparts, parts_cap;
  change *changes; uint32_t nchanges, changes_cap;
  block *blocks; uint32_t nblocks, blocks_cap;
  uint32_t *missing; uint32_t nmissing, missing_cap; /* functions whose cost isn't known yet */
} counter;

/* Is what the name means an array, surely? */
static bool is_array(counter *w, nv_str name) { return nvt_slot_of(w->t, name)->mark == w->t->arrays; }

static void know(counter *w, nv_str name, bool array) {
  nvt_slot *s = nvt_slot_of(w->t, name);
  NV_GROW(w->t->c, w->changes, w->changes_cap, (size_t)w->nchanges + 1);
  w->changes[w->nchanges++] = (change){name, s->mark == w->t->arrays};
  s->mark = array ? w->t->arrays : 0;
}

/* A block ends: an array is what was one before and is one still. */
static void forget(counter *w, uint32_t from, bool loop) {
  while (w->nchanges > from) {
    const change *k = &w->changes[--w->nchanges];
    nvt_slot *s = nvt_slot_of(w->t, k->name);
    const bool now = s->mark == w->t->arrays;
    if (loop && k->array && !now) w->mistaken = true;
    s->mark = now && k->array ? s->mark : 0;
  }
}

static void later(counter *w, nv_ast a, uint32_t parent) {
  if (a == NV_NONE) return;
  NV_GROW(w->t->c, w->parts, w->parts_cap, (size_t)w->nparts + 1);
  w->parts[w->nparts++] = (part){a, parent, false};
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

/* true: it gives an array, surely. */
static bool count_call(counter *w, const nv_ast_node *n, nvt_cost *sum) {
  nvt *t = w->t;
  const uint32_t f = callee(w, n);
  if (f == NV_NONE) {
    const nv_op op = nvt_op_of(t, n->text);
    if (nvt_is_static_function(nv_text(t->c, n->text)) || op == NV_NOPS) return false;
    *sum = add(*sum, of_nodes(nv_ops[op].cls != NV_VIEW), 1);
    return nv_ops[op].cls == NV_ELEM || nv_ops[op].cls == NV_REDUCE;
  }
  *sum = add(*sum, (nvt_cost){.calls = 1, .most = 1}, 1);
  if (t->costs[f].nodes >= 0) {
    *sum = add(*sum, t->costs[f], 1);
    return false;
  }
  NV_GROW(t->c, w->missing, w->missing_cap, (size_t)w->nmissing + 1);
  w->missing[w->nmissing++] = f;
  return false;
}

/* Nodes of an operator that has an array: a power and a sign may be none. */
static int64_t nodes_of(nv_operator op) { return op != NV_OPR_POW && op != NV_OPR_POS && op != NV_OPR_MATMUL; }

/* true: its value is an array, surely. Parts stand before their own parts, so the way back meets operands first. */
static bool count_expr(counter *w, nv_ast a, nvt_cost *sum) {
  w->nparts = 0;
  later(w, a, NV_NONE);
  for (uint32_t i = 0; i < w->nparts; i++) {
    const nv_ast_node *n = nvt_at(w->t, w->parts[i].a);
    const bool first = n->kind == NV_AST_BINARY && (n->op == NV_OPR_AND || n->op == NV_OPR_OR);
    for (nv_ast c = n->first; c != NV_NONE; c = first ? NV_NONE : nvt_at(w->t, c)->next) later(w, c, i);
  }
  bool array = false;
  for (uint32_t i = w->nparts; i-- > 0;) {
    const part *p = &w->parts[i];
    const nv_ast_node *n = nvt_at(w->t, p->a);
    array = false;
    if (n->kind == NV_AST_CALL) {
      array = count_call(w, n, sum);
    } else if (n->kind == NV_AST_NAME) {
      array = is_array(w, n->text);
    } else if (n->kind == NV_AST_BINARY || n->kind == NV_AST_UNARY) {
      array = p->array;
      if (array) *sum = add(*sum, of_nodes(nodes_of((nv_operator)n->op)), 1);
    }
    if (array && p->parent != NV_NONE) w->parts[p->parent].array = true;
  }
  return array;
}

static void open_block(counter *w, const nv_stmt_block *b) {
  NV_GROW(w->t->c, w->blocks, w->blocks_cap, (size_t)w->nblocks + 1);
  w->blocks[w->nblocks++] = (block){.b = b, .changes = w->nchanges};
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

/* What a block inside a statement comes to: counted once, for a loop may start as often as there are iterations. */
static struct nvt_body *body_of(nvt *t, const nv_stmt_block *b, bool entry) {
  const uint64_t hash = nv_hash(&b, sizeof b, entry); /* of an address: for looking up only */
  uint32_t at = 0, k;
  while ((k = nv_map_next(&t->body_map, hash, &at)) != NV_NONE)
    if (t->bodies[k].b == b && t->bodies[k].entry == entry) return &t->bodies[k];
  return NULL;
}

static void note_body(nvt *t, const nv_stmt_block *b, bool entry, nvt_cost cost) {
  struct nvt_body *known = body_of(t, b, entry);
  if (known) {
    known->cost = cost;
    return;
  }
  NV_GROW(t->c, t->bodies, t->bodies_cap, (size_t)t->nbodies + 1);
  t->bodies[t->nbodies] = (struct nvt_body){b, entry, cost};
  nv_map_add(t->c, &t->body_map, nv_hash(&b, sizeof b, entry), t->nbodies++);
}

static void assigned(counter *w, const nv_stmt *s, bool array) {
  for (nv_ast a = s->first_target; a != NV_NONE; a = nvt_at(w->t, a)->next)
    if (nvt_at(w->t, a)->kind == NV_AST_NAME) know(w, nvt_at(w->t, a)->text, array && s->ntargets == 1);
}

/* A statement's own expressions, or the opening of its first block. true: a block was opened. */
static bool enter(counter *w, const nv_stmt *s, nvt_cost *sum) {
  const bool array = count_expr(w, s->kind == NV_STMT_MAP ? NV_NONE : s->expr, sum);
  if (s->kind == NV_STMT_ASSIGN) assigned(w, s, array);
  if (s->kind == NV_STMT_ASSIGN || (!s->then_ && s->kind != NV_STMT_IF)) return false;
  open_block(w, s->then_);
  if (s->kind == NV_STMT_FOR) know(w, s->name, false);
  for (uint32_t k = 0; k < s->ncarry && w->wary; k++) know(w, s->carry[k], false);
  for (nv_ast a = s->kind == NV_STMT_MAP ? s->bindings : NV_NONE; a != NV_NONE; a = nvt_at(w->t, a)->next)
    know(w, nvt_at(w->t, a)->text, false);
  return true;
}

/* The block on top has come to done. true: another branch of the same statement was opened. */
static bool leave(counter *w, const nv_stmt *s, nvt_cost done) {
  block *top = &w->blocks[w->nblocks - 1];
  const nv_stmt_block *b = s->kind == NV_STMT_IF && top->has_then ? s->else_ : s->then_;
  if (b) note_body(w->t, b, w->entry, done);
  if (s->kind != NV_STMT_IF) {
    top->sum = add(top->sum, done, s->kind == NV_STMT_FOR ? literal_count(w, s->expr) : 0);
  } else if (!top->has_then) {
    top->then = done;
    top->has_then = true;
    open_block(w, s->else_);
    return true;
  } else {
    top->sum = add(top->sum, either(top->then, done, literal_truth(w->t, s->expr)), 1);
    top->has_then = false;
  }
  return false;
}

static nvt_cost count_block(counter *w, const nv_stmt_block *body) {
  static const nv_stmt_block nothing = {NULL, 0, 0};
  nvt_cost done = {0};
  for (open_block(w, body); w->nblocks;) {
    block *top = &w->blocks[w->nblocks - 1];
    if (!top->b) top->b = &nothing;
    if (top->next < top->b->n) {
      const nv_stmt *s = &top->b->stmts[top->next];
      nvt_cost sum = top->sum;
      const bool inner = enter(w, s, &sum);
      top = &w->blocks[w->nblocks - 1 - inner];
      sum.own = sum.nodes - top->sum.nodes + top->sum.own;
      top->sum = sum;
      if (!inner) top->next++;
      continue;
    }
    done = top->sum;
    if (--w->nblocks == 0) break;
    const uint32_t from = top->changes;
    top = &w->blocks[w->nblocks - 1];
    const nv_stmt *s = &top->b->stmts[top->next];
    forget(w, from, s->kind == NV_STMT_FOR);
    if (!leave(w, s, done)) top->next++;
  }
  return done;
}

/* Inputs that are arrays whatever is given for them: a number has no axes. */
static void know_inputs(counter *w) {
  const nv_function *fn = w->fn;
  w->t->arrays = ++w->t->stamp;
  for (uint32_t i = 0; i < fn->ninputs; i++) {
    const nv_type_node *n = &w->t->s->types[fn->inputs[i].type];
    const bool array = n->kind == NV_TYPE_ARRAY;
    if (array && (w->entry || (n->ndims && w->t->s->type_dims[n->first_dim].kind != NV_DIM_ELLIPSIS)))
      know(w, fn->inputs[i].name, true);
  }
}

static nvt_cost count_body(counter *w, const nv_function *fn) {
  w->fn = fn;
  w->wary = false;
  for (;;) {
    w->mistaken = false;
    know_inputs(w);
    nvt_cost sum = count_block(w, &fn->body);
    const bool one = fn->outputs_kind == NV_OUT_SINGLE || fn->outputs == NV_NONE;
    if (one) count_expr(w, fn->outputs, &sum);
    for (nv_ast a = one ? NV_NONE : nvt_at(w->t, fn->outputs)->first; a != NV_NONE; a = nvt_at(w->t, a)->next)
      count_expr(w, a, &sum); /* each by itself: there may be many */
    w->nchanges = 0;
    if (!w->mistaken || w->wary) return sum;
    w->wary = true;
  }
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

/* As the entry, or as what others call. */
static nvt_cost least(nvt *t, const nv_function *fn, bool entry) {
  counter w = {.t = t};
  if (!t->s->costs) { /* of every entry and signature the same */
    nvt_cost *costs = NV_NEW_N(t->c, nvt_cost, (size_t)t->s->nfunctions + 1);
    for (uint32_t k = 0; k < t->s->nfunctions; k++) costs[k].nodes = -1;
    t->s->costs = costs;
  }
  t->costs = t->s->costs;
  nvt_cost cost;
  for (;;) {
    w.entry = entry;
    cost = count_body(&w, fn);
    if (!w.nmissing) break;
    w.entry = false;
    count_functions(&w);
  }
  nv_drop(t->c, w.parts);
  nv_drop(t->c, w.changes);
  nv_drop(t->c, w.blocks);
  nv_drop(t->c, w.missing);
  return cost;
}

nvt_cost nvt_least_cost(nvt *t, const nv_function *fn, bool entry) { return least(t, fn, entry); }

nvt_cost nvt_cost_of_block(nvt *t, const nv_stmt_block *b) {
  const bool entry = t->nframes == 1;
  if (!b) return (nvt_cost){0};
  if (!body_of(t, b, entry)) least(t, nvt_top(t)->fn, entry);
  const struct nvt_body *body = body_of(t, b, entry);
  return body ? body->cost : (nvt_cost){0};
}

bool nvt_affords(nvt *t, nvt_cost cost, int64_t k, nv_pos pos) {
  const nvt_cost sum = add((nvt_cost){.nodes = t->g->nnodes + t->skipped.nodes, .calls = t->calls}, cost, k);
  if (sum.nodes <= NVT_MAX_NODES && sum.calls <= NVT_MAX_NODES) return true;
  nvt_over(t, pos, "more than %lld %s", (long long)NVT_MAX_NODES, sum.nodes > NVT_MAX_NODES ? "nodes" : "calls");
  return false;
}
