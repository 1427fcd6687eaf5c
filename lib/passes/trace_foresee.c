/* trace_foresee.c - tracing: how many nodes a loop comes to, found by walking it without making any.
 *
 * Of a loop that may come to too many the iterations are walked beforehand: conditions and assignments that need
 * nothing but numbers (of the loop's name, of statics and shapes, of each other) are evaluated, all other values are
 * unknown. Blocks that are surely entered cost what trace_count.c counted for their own statements; of an if that isn't
 * decided the cheaper branch. So the sum is never above what the loop really comes to. */
#include "trace.h"

/* Of the walk: beyond, what was found so far is the answer. */
enum { MOST_STATEMENTS = 1 << 22, MOST_STEPS = 1 << 26 };

typedef struct walk { /* an open block */
  const nv_stmt_block *b;
  uint32_t next;
  const nv_stmt *loop; /* it is the body of this one, or NULL */
  const nvt_seq *list; /* what that walks */
  uint32_t i;
} walk;

typedef struct seer {
  nvt *t;
  walk *open; uint32_t nopen, open_cap;
  nvt_val *carried; uint32_t carried_cap;
  int64_t nodes, room;
  uint32_t statements, iterations;
} seer;

static bool is_query(const char *field) {
  static const char *const queries[] = {"shape", "size", "ndim", "dtype"};
  for (size_t k = 0; k < sizeof queries / sizeof *queries; k++)
    if (!strcmp(field, queries[k])) return true;
  return false;
}

/* Is the expression's value static, with names that are known now? lists: lists may be made on the way. */
static bool is_known(nvt *t, nv_ast a, bool lists) {
  nv_ast stack[NVT_MAX_NEST];
  uint32_t n = 0;
  if (a == NV_NONE) return false;
  for (stack[n++] = a; n;) {
    const nv_ast_node *e = nvt_at(t, stack[--n]);
    bool leaf = false;
    switch ((nv_ast_kind)e->kind) {
    case NV_AST_INT: case NV_AST_FLOAT: case NV_AST_BOOL: case NV_AST_STRING: leaf = true; break;
    case NV_AST_NAME: {
      const nvt_binding *b = nvt_find(t, e->text);
      if (!b || b->value.kind == NVT_SIZE || nvt_is_poison(b->value) || !nvt_is_static(b->value)) return false;
      leaf = true;
      break;
    }
    case NV_AST_FIELD: {
      const nv_ast_node *of = nvt_at(t, e->first);
      const nvt_binding *b = of->kind == NV_AST_NAME ? nvt_find(t, of->text) : NULL;
      if (!b || b->value.kind != NVT_ARRAY || !is_query(nv_text(t->c, e->text))) return false;
      if (!nv_shape_is_static(t->c, nv_shape_at(t->g, b->value.u.v))) return false;
      leaf = true;
      break;
    }
    case NV_AST_CALL: {
      const nvt_slot *s = nvt_slot_of(t, e->text);
      const char *text = nv_text(t->c, e->text);
      if (s->user != NV_NONE || !nvt_is_static_function(text) || (!lists && !strcmp(text, "range"))) return false;
      break;
    }
    case NV_AST_LIST:
      if (!lists) return false;
      break;
    case NV_AST_UNARY: case NV_AST_BINARY: case NV_AST_COMPARE: case NV_AST_INDEX: case NV_AST_OPERATOR: break;
    default: return false;
    }
    for (nv_ast c = leaf ? NV_NONE : e->first; c != NV_NONE; c = nvt_at(t, c)->next) {
      if (n == NVT_MAX_NEST) return false;
      stack[n++] = c;
    }
  }
  return true;
}

/* The value of an expression, poison where it isn't known. */
static nvt_val value_of(seer *w, nv_ast a, bool lists) {
  nvt *t = w->t;
  const nv_ast_node *n = a == NV_NONE ? NULL : nvt_at(t, a);
  const nvt_binding *b = n && n->kind == NV_AST_NAME ? nvt_find(t, n->text) : NULL;
  if (b && b->value.kind == NVT_LIST) return b->value;
  if (!is_known(t, a, lists)) return nvt_poison();
  const nvt_val v = nvt_eval_now(t, a);
  return v.kind == NVT_SIZE ? nvt_poison() : v;
}

static void spend(seer *w, int64_t nodes) {
  if (!nv_add64(w->nodes, nodes, &w->nodes)) w->nodes = INT64_MAX;
}

static void enter(seer *w, const nv_stmt_block *b) {
  if (!b) return;
  NV_GROW(w->t->c, w->open, w->open_cap, (size_t)w->nopen + 1);
  w->open[w->nopen++] = (walk){.b = b};
  spend(w, nvt_cost_of_block(w->t, b).own);
}

static void start_iteration(seer *w) {
  walk *top = &w->open[w->nopen - 1];
  top->next = 0;
  nvt_scope_push(w->t);
  nvt_bind(w->t, top->loop->name, top->list->at[top->i++], top->loop->pos);
  spend(w, nvt_cost_of_block(w->t, top->b).own);
  w->iterations++;
}

static void start_loop(seer *w, const nv_stmt *s, const nvt_seq *list) {
  if (!list->n || !s->then_) return;
  NV_GROW(w->t->c, w->open, w->open_cap, (size_t)w->nopen + 1);
  w->open[w->nopen++] = (walk){.b = s->then_, .loop = s, .list = list};
  start_iteration(w);
}

/* An iteration is over: what it leaves in the carried names goes on. */
static void end_iteration(seer *w) {
  nvt *t = w->t;
  const nv_stmt *s = w->open[w->nopen - 1].loop;
  NV_GROW(t->c, w->carried, w->carried_cap, (size_t)s->ncarry + 1);
  for (uint32_t k = 0; k < s->ncarry; k++) {
    const nvt_binding *b = nvt_find(t, s->carry[k]);
    w->carried[k] = b ? b->value : nvt_poison();
  }
  nvt_scope_pop(t);
  for (uint32_t k = 0; k < s->ncarry; k++) nvt_rebind(t, s->carry[k], w->carried[k], s->pos);
}

/* Nothing is known any more of what the block assigns. */
static void forget(seer *w, const nv_stmt_block *b) { nvt_mark_targets(w->t, b, NVT_TARGETS_POISON); }

static void foresee_statement(seer *w, const nv_stmt *s) {
  nvt *t = w->t;
  if (s->kind == NV_STMT_ASSIGN || s->kind == NV_STMT_MAP) {
    const bool one = s->kind == NV_STMT_ASSIGN && s->ntargets == 1 && nvt_at(t, s->first_target)->kind == NV_AST_NAME;
    if (one) {
      const nv_ast_node *target = nvt_at(t, s->first_target);
      nvt_rebind(t, target->text, value_of(w, s->expr, false), target->pos);
    } else {
      forget(w, &(nv_stmt_block){(nv_stmt *)s, 1, 0});
    }
    return;
  }
  const nvt_val v = value_of(w, s->expr, s->kind == NV_STMT_FOR);
  if (s->kind == NV_STMT_FOR) {
    if (v.kind == NVT_LIST) start_loop(w, s, v.u.seq);
    else forget(w, &(nv_stmt_block){(nv_stmt *)s, 1, 0});
  } else if (nvt_is_number(v) || v.kind == NVT_STRING) {
    enter(w, nvt_truth(v) ? s->then_ : s->else_);
  } else {
    const int64_t yes = nvt_cost_of_block(t, s->then_).nodes, no = nvt_cost_of_block(t, s->else_).nodes;
    spend(w, yes < no ? yes : no);
    forget(w, s->then_);
    forget(w, s->else_);
  }
}

int64_t nvt_foresee(nvt *t, const nv_stmt *loop, const nvt_seq *list, int64_t room) {
  seer w = {.t = t, .room = room};
  const int64_t steps = t->steps;
  const uint32_t scopes = t->nscopes;
  t->foresight = true;
  nvt_scope_push(t); /* what is bound here goes again */
  start_loop(&w, loop, list);
  while (w.nopen && !t->stop && w.nodes <= room && w.statements < MOST_STATEMENTS &&
         t->steps - steps < MOST_STEPS && w.iterations < NVT_MAX_ITERATIONS) {
    walk *top = &w.open[w.nopen - 1];
    if (top->next < top->b->n) {
      w.statements++;
      foresee_statement(&w, &top->b->stmts[top->next++]);
    } else {
      if (top->loop) end_iteration(&w);
      if (top->loop && top->i < top->list->n) start_iteration(&w);
      else w.nopen--;
    }
  }
  while (t->nscopes > scopes) nvt_scope_pop(t);
  t->foresight = false;
  t->steps = steps;
  nv_drop(t->c, w.open);
  nv_drop(t->c, w.carried);
  return w.nodes;
}
