/* trace_unused.c - tracing: warnings about a function as written: inputs and names that nothing uses, an if of
 * constants. */
#include "trace.h"

typedef struct walker {
  nvt *t;
  nv_ast *asts;
  uint32_t n, cap;
  const nv_stmt_block **blocks;
  uint32_t nblocks, blocks_cap;
  bool broken; /* an expression couldn't be read: what it uses isn't known */
} walker;

static void later(walker *w, nv_ast a) {
  for (; a != NV_NONE; a = nvt_at(w->t, a)->next) {
    NV_GROW(w->t->c, w->asts, w->cap, (size_t)w->n + 1);
    w->asts[w->n++] = a;
  }
}

static void later_block(walker *w, const nv_stmt_block *b) {
  if (!b) return;
  NV_GROW(w->t->c, w->blocks, w->blocks_cap, (size_t)w->nblocks + 1);
  w->blocks[w->nblocks++] = b;
}

/* Marks every name that an expression mentions. */
static void mark(walker *w) {
  while (w->n) {
    const nv_ast_node *n = nvt_at(w->t, w->asts[--w->n]);
    if (n->kind == NV_AST_NAME) nvt_slot_of(w->t, n->text)->mark = w->t->stamp;
    later(w, n->first);
  }
}

/* One expression, without its siblings. */
static void mention(walker *w, nv_ast a) {
  if (a == NV_NONE) return;
  NV_GROW(w->t->c, w->asts, w->cap, (size_t)w->n + 1);
  w->asts[w->n++] = a;
  mark(w);
}

/* Is an expression made of literals only? */
static bool is_constant(walker *w, nv_ast a) {
  bool constant = true;
  if (a == NV_NONE) return false;
  NV_GROW(w->t->c, w->asts, w->cap, (size_t)w->n + 1);
  w->asts[w->n++] = a;
  while (w->n) {
    const nv_ast_node *n = nvt_at(w->t, w->asts[--w->n]);
    constant = constant && n->kind != NV_AST_NAME && n->kind != NV_AST_CALL && n->kind != NV_AST_ERROR;
    later(w, n->first);
  }
  return constant;
}

static void mark_statement(walker *w, const nv_stmt *s) {
  nvt *t = w->t;
  w->broken = w->broken || (s->expr != NV_NONE && nvt_at(t, s->expr)->kind == NV_AST_ERROR);
  if (s->kind == NV_STMT_IF && is_constant(w, s->expr))
    nvt_warn(t, nvt_at(t, s->expr)->pos, "a condition of constants: one branch is always taken");
  mention(w, s->expr);
  if (s->kind == NV_STMT_ASSIGN) /* a path target uses the tree */
    for (nv_ast a = s->first_target; a != NV_NONE; a = nvt_at(t, a)->next)
      if (nvt_at(t, a)->kind != NV_AST_NAME) mention(w, a);
  for (uint32_t i = 0; i < s->ncarry; i++) nvt_slot_of(t, s->carry[i])->mark = t->stamp;
  if (s->kind == NV_STMT_MAP) {
    later(w, s->bindings);
    later(w, s->yields);
    mark(w);
  }
  later_block(w, s->then_);
  later_block(w, s->else_);
}

static void warn_targets(walker *w, const nv_stmt *s) {
  nvt *t = w->t;
  if (s->kind != NV_STMT_ASSIGN) return;
  for (nv_ast a = s->first_target; a != NV_NONE; a = nvt_at(t, a)->next) {
    const nv_ast_node *n = nvt_at(t, a);
    if (n->kind != NV_AST_NAME || nvt_slot_of(t, n->text)->mark == t->stamp) continue;
    if (*nv_text(t->c, n->text) != '_') nvt_warn(t, n->pos, "'%s' is never used", nv_text(t->c, n->text));
  }
}

void nvt_warn_unused(nvt *t, nv_function *fn) {
  walker w = {.t = t};
  t->stamp++;
  /* blocks are listed once and walked twice: first for what they mention, then for what they bind */
  later_block(&w, &fn->body);
  for (uint32_t i = 0; i < w.nblocks; i++)
    for (uint32_t k = 0; k < w.blocks[i]->n; k++) mark_statement(&w, &w.blocks[i]->stmts[k]);
  mention(&w, fn->outputs);
  for (uint32_t i = 0; i < fn->ninputs && !w.broken; i++)
    if (nvt_slot_of(t, fn->inputs[i].name)->mark != t->stamp && *nv_text(t->c, fn->inputs[i].name) != '_')
      nvt_warn(t, fn->inputs[i].pos, "input '%s' is never used", nv_text(t->c, fn->inputs[i].name));
  for (uint32_t i = 0; i < w.nblocks && !w.broken; i++)
    for (uint32_t k = 0; k < w.blocks[i]->n; k++) warn_targets(&w, &w.blocks[i]->stmts[k]);
  nv_drop(t->c, w.asts);
  nv_drop(t->c, w.blocks);
}
