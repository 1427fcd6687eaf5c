/* trace_stmt.c - tracing: statements, blocks and outputs; one step of the machine. */
#include "trace.h"

/* ---- targets ---- */

/* The name at the root of a target, and its links from the outermost (last) to the innermost. */
static nv_ast target_root(const nvt *t, nv_ast a, nv_ast *links, uint32_t *n) {
  *n = 0;
  while (nvt_at(t, a)->kind != NV_AST_NAME) {
    if (*n < NVT_MAX_NEST) links[(*n)++] = a;
    a = nvt_at(t, a)->first;
  }
  return a;
}

/* The tree that a map's yield rebinds. */
static nv_str yield_name(const nvt *t, nv_ast yield) {
  const nv_ast value = nvt_at(t, yield)->first, path = value == NV_NONE ? NV_NONE : nvt_at(t, value)->next;
  nv_ast links[NVT_MAX_NEST];
  uint32_t n;
  return path == NV_NONE ? nvt_at(t, yield)->text : nvt_at(t, target_root(t, path, links, &n))->text;
}

/* The statement's name in origins: its first target as written. */
static nv_str target_name(nvt *t, nv_ast a) {
  if (a == NV_NONE) return 0;
  if (nvt_at(t, a)->kind == NV_AST_NAME) return nvt_at(t, a)->text;
  nv_ast links[NVT_MAX_NEST];
  uint32_t n;
  nv_buf b;
  nv_buf_init(&b, t->c);
  nv_puts(&b, nv_text(t->c, nvt_at(t, target_root(t, a, links, &n))->text));
  while (n--) {
    const nv_ast_node *l = nvt_at(t, links[n]);
    if (l->kind == NV_AST_FIELD)
      nv_printf(&b, ".%s", nv_text(t->c, l->text));
    else {
      const nv_ast_node *i = nvt_at(t, nvt_at(t, l->first)->next);
      nv_printf(&b, "[%s]", i->kind == NV_AST_INT || i->kind == NV_AST_NAME ? nv_text(t->c, i->text) : "...");
    }
  }
  return nv_intern(t->c, b.p, b.n);
}

/* The index expressions of a target, outermost first: they are evaluated behind the statement's value. */
static uint32_t target_indices(const nvt *t, nv_ast a, nv_ast *indices) {
  uint32_t n = 0;
  for (; nvt_at(t, a)->kind != NV_AST_NAME; a = nvt_at(t, a)->first)
    if (nvt_at(t, a)->kind == NV_AST_INDEX && n < NVT_MAX_NEST)
      indices[n++] = nvt_at(t, nvt_at(t, a)->first)->next;
  return n;
}

/* The tree that a path target starts at, with the part at the path replaced by v. indices: their values. */
static void rebind_path(nvt *t, nv_ast a, nvt_val v, const nvt_val *indices, uint32_t nindices) {
  nv_ast links[NVT_MAX_NEST];
  nvt_val parts[NVT_MAX_NEST + 1];
  uint32_t places[NVT_MAX_NEST], n;
  const nv_ast_node *root = nvt_at(t, target_root(t, a, links, &n));
  const nvt_binding *b = nvt_find(t, root->text);
  if (!b) {
    nvt_error(t, root->pos, "unknown name '%s'%s", nv_text(t->c, root->text),
              nvt_suggest(t, root->text, true, NULL, 0));
    return;
  }
  parts[0] = b->value;
  for (uint32_t k = 0; k < n; k++) {
    const nv_ast link = links[n - 1 - k];
    const nv_ast_node *l = nvt_at(t, link);
    nvt_val part;
    uint32_t place = 0;
    if (l->kind == NV_AST_FIELD) {
      if (parts[k].kind == NVT_ARRAY) {
        nvt_error(t, l->pos, "%s is no tree", nvt_show(t, parts[k]));
        return;
      }
      part = nvt_get_field(t, parts[k], l);
      if (parts[k].kind != NVT_TREE) return;
      place = nvt_field(t, parts[k].u.seq, l->text);
      if (place == NV_NONE) return;
    } else {
      const nv_ast index = nvt_at(t, l->first)->next;
      const nvt_val i = indices[--nindices];
      if (parts[k].kind == NVT_POISON || nvt_is_poison(i)) return;
      if (parts[k].kind != NVT_LIST) {
        nvt_error(t, nvt_at(t, index)->pos, "%s can't be rebound in part: values never change", nvt_show(t, parts[k]));
        return;
      }
      part = nvt_index_list(t, parts[k], i, nvt_at(t, index)->pos);
      if (i.kind != NVT_INT || i.u.i >= parts[k].u.seq->n || i.u.i < -(int64_t)parts[k].u.seq->n) return;
      place = (uint32_t)(i.u.i < 0 ? i.u.i + parts[k].u.seq->n : i.u.i);
    }
    places[k] = place;
    parts[k + 1] = part;
  }
  for (uint32_t k = n; k-- > 0;) {
    const nvt_seq *s = parts[k].u.seq;
    nvt_val *at = NV_NEW_N(t->c, nvt_val, (size_t)s->n + 1);
    memcpy(at, s->at, s->n * sizeof *at);
    if (v.kind == NVT_ARRAY || nvt_is_number(v)) { /* the form stays */
      v.frozen = at[places[k]].frozen;
      v.fixed = at[places[k]].fixed;
    }
    at[places[k]] = v;
    v = nvt_seq_make(t, parts[k].kind, at, s->names, s->n);
    v.variant = parts[k].variant;
  }
  nvt_rebind(t, root->text, v, root->pos);
}

void nvt_bind_path(nvt *t, nv_ast path, nvt_val v) {
  nv_ast indices[NVT_MAX_NEST];
  nvt_val values[NVT_MAX_NEST];
  const nv_ast_node *n = nvt_at(t, path);
  if (n->kind == NV_AST_NAME) {
    nvt_rebind(t, n->text, v, n->pos);
    return;
  }
  const uint32_t k = target_indices(t, path, indices);
  for (uint32_t i = 0; i < k; i++) values[i] = nvt_eval_now(t, indices[i]);
  rebind_path(t, path, v, values, k);
}

nv_str nvt_path_name(nvt *t, nv_ast path) { return target_name(t, path); }

static void bind_target(nvt *t, nv_ast a, nvt_val v) {
  const nv_ast_node *n = nvt_at(t, a);
  const char *text = nv_text(t->c, n->text);
  if (!strcmp(text, "_")) return;
  const nvt_binding *b = nvt_find(t, n->text);
  if (b && nvt_in_block(t, b)) {
    if (nvt_error(t, n->pos, "'%s' is bound already", text))
      nv_note(t->c, nvt_place(t, b->pos), "'%s' is bound here", text);
    return;
  }
  if (!b && nvt_slot_of(t, n->text)->constant != NV_NONE && !nvt_top(t)->fn->builtin) {
    nvt_error(t, n->pos, "'%s' is a constant of the document: choose another name", text);
    return;
  }
  nvt_bind(t, n->text, v, n->pos);
}

/* The values of all index expressions of the targets lie on the stack, above the statement's value. */
static void assign(nvt *t, const nv_stmt *s) {
  nv_ast scratch[NVT_MAX_NEST];
  uint32_t n = 0;
  for (nv_ast a = s->first_target; a != NV_NONE; a = nvt_at(t, a)->next) n += target_indices(t, a, scratch);
  nvt_val *indices = NV_NEW_N(t->c, nvt_val, (size_t)n + 1);
  t->nvals -= n;
  if (n) memcpy(indices, t->vals + t->nvals, n * sizeof *indices);
  const nvt_val v = nvt_pop(t);
  const bool many = s->ntargets != 1, fits = v.kind == NVT_LIST && v.u.seq->n == s->ntargets;
  if (many && !fits && v.kind != NVT_POISON) {
    const nv_ast_node *e = nvt_at(t, s->expr);
    const nv_pos pos = nvt_at(t, s->first_target)->pos;
    const char *who = e->kind == NV_AST_CALL ? nv_format(t->c, "'%s'", nv_text(t->c, e->text)) : "the value";
    if (v.kind == NVT_LIST)
      nvt_error(t, pos, "%u names, but %s gives %u values", s->ntargets, who, v.u.seq->n);
    else
      nvt_error(t, pos, "%u names, but %s gives 1 value (%s)", s->ntargets, who, nvt_show(t, v));
  }
  uint32_t i = 0;
  for (nv_ast a = s->first_target; a != NV_NONE; a = nvt_at(t, a)->next, i++) {
    const nvt_val part = !many ? v : fits ? v.u.seq->at[i] : nvt_poison();
    const uint32_t k = target_indices(t, a, scratch);
    if (nvt_at(t, a)->kind == NV_AST_NAME)
      bind_target(t, a, part);
    else
      rebind_path(t, a, part, indices, k);
    indices += k;
  }
}

/* ---- if ---- */

static void mark_target(nvt *t, nv_str name, nv_pos pos, nvt_targets what) {
  nvt_slot_of(t, name)->mark = t->stamp;
  if (what == NVT_TARGETS_POISON) nvt_rebind(t, name, nvt_poison(), pos);
  if (what == NVT_TARGETS_BIND && !nvt_find(t, name)) nvt_bind(t, name, nvt_poison(), pos);
}

/* Those of a block: its own targets, the carried names, those of inner ifs. */
void nvt_mark_targets(nvt *t, const nv_stmt_block *block, nvt_targets what) {
  const nv_stmt_block *stack[2 * NVT_MAX_NEST];
  uint32_t n = 0;
  t->stamp++;
  if (block) stack[n++] = block;
  while (n) {
    const nv_stmt_block *b = stack[--n];
    for (uint32_t i = 0; i < b->n; i++) {
      const nv_stmt *s = &b->stmts[i];
      nv_ast a = s->kind == NV_STMT_ASSIGN ? s->first_target : s->kind == NV_STMT_MAP ? s->yields : NV_NONE;
      for (; a != NV_NONE; a = nvt_at(t, a)->next) {
        nv_ast links[NVT_MAX_NEST];
        uint32_t k;
        const nv_str name =
            s->kind == NV_STMT_MAP ? yield_name(t, a) : nvt_at(t, target_root(t, a, links, &k))->text;
        mark_target(t, name, nvt_at(t, a)->pos, what);
      }
      for (uint32_t k = 0; k < s->ncarry; k++)
        mark_target(t, s->carry[k], s->pos, what == NVT_TARGETS_POISON ? what : NVT_TARGETS_MARK);
      if (s->kind == NV_STMT_IF && n + 2 <= 2 * NVT_MAX_NEST) {
        if (s->then_) stack[n++] = s->then_;
        if (s->else_) stack[n++] = s->else_;
      }
    }
  }
}

static void start_if(nvt *t, const nv_stmt *s) {
  const nvt_val v = nvt_pop(t);
  const bool open = v.kind == NVT_SIZE, bad = v.kind == NVT_ARRAY || nvt_is_seq(v) || open;
  if (open)
    nvt_known(t, v, s->expr == NV_NONE ? s->pos : nvt_at(t, s->expr)->pos);
  else if (bad && !nvt_is_poison(v))
    nvt_error(t, s->expr == NV_NONE ? s->pos : nvt_at(t, s->expr)->pos,
              "the condition of an if is static, not %s%s", nvt_show(t, v),
              v.kind == NVT_ARRAY ? "; where(condition, a, b) chooses element by element" : "");
  if (bad || nvt_is_poison(v)) { /* neither branch is traced: what they bind is poison */
    nvt_mark_targets(t, s->then_, NVT_TARGETS_BIND);
    nvt_mark_targets(t, s->else_, NVT_TARGETS_BIND);
    return;
  }
  const bool yes = nvt_truth(v);
  const nv_stmt_block *b = yes ? s->then_ : s->else_;
  if (!b) return;
  nvt_scope_push(t);
  nvt_do_work(t, NVT_IF_END, NV_NONE, yes, s);
  nvt_do_work(t, NVT_BLOCK, NV_NONE, 0, b);
}

/* Names bound in both branches, or before, keep what the branch gave them. */
static void end_if(nvt *t, const nv_stmt *s, bool yes) {
  const uint32_t mark = t->scopes[t->nscopes - 1], n = t->nbindings - mark;
  NV_GROW(t->c, t->leaving, t->leaving_cap, (size_t)n + 1);
  nvt_binding *made = t->leaving;
  if (n) memcpy(made, t->bindings + mark, n * sizeof *made);
  nvt_mark_targets(t, yes ? s->else_ : s->then_, NVT_TARGETS_MARK);
  nvt_scope_pop(t);
  for (uint32_t i = 0; i < n; i++)
    if (nvt_find(t, made[i].name) || t->slots[made[i].name].mark == t->stamp)
      nvt_rebind(t, made[i].name, made[i].value, made[i].pos);
}

/* ---- for ---- */

/* Is there room for the nodes of all iterations? false: reported. Of a loop that may have too many the iterations are
 * walked beforehand, and with them those of the loops inside. */
static bool affords_loop(nvt *t, const nv_stmt *s, const nvt_seq *list, nv_pos pos) {
  const nvt_cost body = nvt_cost_of_block(t, s->then_);
  const int64_t room = NVT_MAX_NODES - t->g->nnodes - t->skipped.nodes;
  if (!nvt_affords(t, body, list->n, pos)) return false;
  if (!list->n || body.peak <= room / list->n) return true;
  if (t->foreseen.frames == t->nframes && t->nwork > t->foreseen.work) return true;
  t->foreseen.frames = t->nframes;
  t->foreseen.work = t->nwork;
  return nvt_affords(t, (nvt_cost){.nodes = nvt_foresee(t, s, list, room)}, 1, pos);
}

static void start_for(nvt *t, const nv_stmt *s) {
  nvt_val v = nvt_pop(t);
  const nv_pos pos = s->expr == NV_NONE ? s->pos : nvt_at(t, s->expr)->pos;
  bool good = v.kind == NVT_LIST;
  if (!good && !nvt_is_poison(v)) nvt_error(t, pos, "a for walks a list or a range, not %s", nvt_show(t, v));
  for (uint32_t i = 0; i < s->ncarry; i++)
    if (!nvt_find(t, s->carry[i])) {
      nvt_error(t, s->pos, "'%s' is carried, but not bound before the loop", nv_text(t->c, s->carry[i]));
      good = false;
    }
  if (good) t->iterations += v.u.seq->n;
  if (t->iterations > NVT_MAX_ITERATIONS) {
    nvt_over(t, pos, "more than %lld iterations", (long long)NVT_MAX_ITERATIONS);
    good = false;
  }
  if (good && s->then_ && !affords_loop(t, s, v.u.seq, pos)) good = false;
  if (!good) {
    for (uint32_t i = 0; i < s->ncarry; i++) nvt_rebind(t, s->carry[i], nvt_poison(), s->pos);
    return;
  }
  nvt_push(t, v);
  nvt_do_work(t, NVT_FOR_NEXT, NV_NONE, 0, s);
}

enum { MOST_AFTER_ERROR = 256 }; /* iterations that are traced where an error was found: they find more of them */

static void next_of_for(nvt *t, const nv_stmt *s, uint32_t i) {
  const nvt_val list = t->vals[t->nvals - 1];
  if (i >= list.u.seq->n || t->stop || (t->failed && i >= MOST_AFTER_ERROR)) {
    t->nvals--;
    return;
  }
  nvt_do_work(t, NVT_FOR_NEXT, NV_NONE, i + 1, s);
  nvt_do_work(t, NVT_FOR_END, NV_NONE, 0, s);
  if (s->then_) nvt_do_work(t, NVT_BLOCK, NV_NONE, 0, s->then_);
  nvt_scope_push(t);
  nvt_bind(t, s->name, list.u.seq->at[i], s->pos);
}

static void end_of_for(nvt *t, const nv_stmt *s) {
  NV_GROW(t->c, t->leaving, t->leaving_cap, (size_t)s->ncarry + 1);
  for (uint32_t i = 0; i < s->ncarry; i++) {
    const nvt_binding *b = nvt_find(t, s->carry[i]);
    t->leaving[i].value = b ? b->value : nvt_poison();
    t->leaving[i].pos = b ? b->pos : s->pos;
  }
  nvt_scope_pop(t);
  for (uint32_t i = 0; i < s->ncarry; i++) nvt_rebind(t, s->carry[i], t->leaving[i].value, t->leaving[i].pos);
}

/* ---- blocks ---- */

static void context(nvt *t, nv_str name, nv_ast root) {
  nvt_frame *f = nvt_top(t);
  f->stmt = name;
  f->ordinal = 0;
  f->root = root;
}

static void start_assign(nvt *t, const nv_stmt *s) {
  context(t, target_name(t, s->first_target), s->expr);
  nvt_do_work(t, NVT_ASSIGN, NV_NONE, 0, s);
  const uint32_t from = t->nwork;
  for (nv_ast a = s->first_target; a != NV_NONE; a = nvt_at(t, a)->next) {
    nv_ast indices[NVT_MAX_NEST];
    const uint32_t n = target_indices(t, a, indices);
    for (uint32_t i = 0; i < n; i++) nvt_do_work(t, NVT_EVAL, indices[i], 0, NULL);
  }
  nvt_reverse_work(t, from);
}

static void next_in_block(nvt *t, const nv_stmt_block *b, uint32_t i) {
  if (i >= b->n || t->stop) return;
  const nv_stmt *s = &b->stmts[i];
  nvt_do_work(t, NVT_BLOCK, NV_NONE, i + 1, b);
  switch (s->kind) {
  case NV_STMT_ASSIGN: start_assign(t, s); break;
  case NV_STMT_IF:
    context(t, nv_intern_z(t->c, "if"), NV_NONE);
    nvt_do_work(t, NVT_IF, NV_NONE, 0, s);
    break;
  case NV_STMT_FOR:
    context(t, s->name, NV_NONE);
    nvt_do_work(t, NVT_FOR, NV_NONE, 0, s);
    break;
  case NV_STMT_MAP: {
    context(t, nv_intern_z(t->c, "map"), NV_NONE);
    nvt_do_work(t, NVT_MAP, NV_NONE, 0, s);
    const uint32_t from = t->nwork;
    for (nv_ast a = s->bindings; a != NV_NONE; a = nvt_at(t, a)->next)
      nvt_do_work(t, NVT_EVAL, nvt_at(t, a)->first, 0, NULL);
    nvt_reverse_work(t, from);
    return;
  }
  }
  nvt_do_work(t, NVT_EVAL, s->expr, 0, NULL);
}

/* ---- outputs ---- */

static bool is_structure(nvt *t, nv_ast a) {
  return a != NV_NONE && nvt_top(t)->fn->outputs_kind != NV_OUT_SINGLE &&
         (nvt_at(t, a)->kind == NV_AST_LIST || nvt_at(t, a)->kind == NV_AST_TREE);
}

static nv_str numbered(nvt *t, const char *format, const char *prefix, uint32_t k) {
  nv_buf b;
  nv_buf_init(&b, t->c);
  nv_printf(&b, format, prefix, k);
  const nv_str name = nv_intern(t->c, b.p, b.n);
  nv_drop(t->c, b.p);
  return name;
}

/* An output, or a list or tree of them; name: its own path, 0 at the top. */
static void output(nvt *t, nv_ast a, nv_str name) {
  const bool entry = t->nframes == 1;
  if (!is_structure(t, a)) {
    if (!name)
      name =
          a != NV_NONE && nvt_at(t, a)->kind == NV_AST_NAME ? nvt_at(t, a)->text : nv_intern_z(t->c, "out0");
    if (entry) nvt_do_work(t, NVT_OUT_LEAF, a, name, NULL);
    nvt_do_work(t, NVT_EVAL, a, 0, NULL);
    nvt_do_work(t, NVT_CONTEXT, a, name, NULL);
    return;
  }
  const nv_ast_node *n = nvt_at(t, a);
  if (!entry) nvt_do_work(t, NVT_OUT_BUILD, a, 0, NULL);
  const uint32_t from = t->nwork;
  uint32_t k = 0;
  for (nv_ast c = n->first; c != NV_NONE; c = nvt_at(t, c)->next, k++) {
    const nv_ast_node *e = nvt_at(t, c);
    nv_str path;
    if (n->kind == NV_AST_TREE) {
      const char *field = nv_text(t->c, e->text);
      path = name ? nv_intern_z(t->c, nv_format(t->c, "%s.%s", nv_text(t->c, name), field)) : e->text;
      nvt_do_work(t, NVT_OUT, e->first, path, NULL);
      continue;
    }
    if (name)
      path = numbered(t, "%s[%u]", nv_text(t->c, name), k);
    else if (e->kind == NV_AST_NAME && !(entry && nvt_slot_of(t, e->text)->output))
      path = e->text;
    else
      path = numbered(t, "%s%u", "out", k);
    if (entry && !name) {
      if (nvt_slot_of(t, path)->output)
        nvt_error(t, e->pos, "two outputs would be called '%s'", nv_text(t->c, path));
      nvt_slot_of(t, path)->output = true;
    }
    nvt_do_work(t, NVT_OUT, c, path, NULL);
  }
  nvt_reverse_work(t, from);
}

static void build_outputs(nvt *t, nv_ast a) {
  const nv_ast_node *n = nvt_at(t, a);
  nv_str *names = NV_NEW_N(t->c, nv_str, (size_t)n->count + 1);
  uint32_t i = 0;
  for (nv_ast c = n->first; c != NV_NONE; c = nvt_at(t, c)->next) names[i++] = nvt_at(t, c)->text;
  const nvt_val v =
      nvt_seq_make(t, n->kind == NV_AST_TREE ? NVT_TREE : NVT_LIST, t->vals + (t->nvals - i), names, i);
  t->nvals -= i;
  nvt_push(t, v);
}

typedef struct part {
  nvt_val v;
  nv_str name;
} part;

/* The value on the stack becomes outputs of the graph: one, or the leaves of a tree. */
static void output_leaf(nvt *t, nv_ast a, nv_str name) {
  const nv_pos pos = a == NV_NONE ? nvt_top(t)->fn->pos : nvt_at(t, a)->pos;
  part *stack = NULL;
  uint32_t n = 0, cap = 0;
  NV_GROW(t->c, stack, cap, 8);
  stack[n++] = (part){nvt_pop(t), name};
  const uint32_t before = t->g->noutputs;
  bool whole = true; /* nothing was wrong */
  while (n) {
    part p = stack[--n];
    if (p.v.fixed && p.name != name) continue; /* part of the tree's form */
    if (p.v.kind == NVT_LIST || p.v.kind == NVT_TREE) {
      const nvt_seq *s = p.v.u.seq;
      NV_GROW(t->c, stack, cap, (size_t)n + s->n);
      for (uint32_t i = s->n; i-- > 0;) {
        const nv_str path = p.v.kind == NVT_LIST
                                ? numbered(t, "%s[%u]", nv_text(t->c, p.name), i)
                                : nv_intern_z(t->c, nv_format(t->c, "%s.%s", nv_text(t->c, p.name),
                                                              nv_text(t->c, s->names[i])));
        stack[n++] = (part){s->at[i], path};
      }
      continue;
    }
    if (nvt_is_number(p.v)) p.v = nvt_alone(t, p.v, pos);
    whole = whole && p.v.kind == NVT_ARRAY;
    if (p.v.kind == NVT_POISON) continue;
    if (p.v.kind != NVT_ARRAY) {
      nvt_error(t, pos, "an output is an array or a tree of arrays, not %s", nvt_show(t, p.v));
      continue;
    }
    if (t->g->ninputs + t->g->noutputs >= NVT_MAX_PORTS) {
      nvt_over(t, pos, "more than %d inputs and outputs", NVT_MAX_PORTS);
      break;
    }
    nv_graph_output(t->g, p.v.u.v, p.name, pos);
  }
  if (whole && t->g->noutputs == before) nvt_error(t, pos, "output '%s' is empty", nv_text(t->c, name));
  nv_drop(t->c, stack);
}

void nvt_start_body(nvt *t) {
  const nv_function *fn = nvt_top(t)->fn;
  nvt_do_work(t, NVT_RETURN, NV_NONE, 0, NULL);
  nvt_do_work(t, NVT_OUT, fn->outputs, 0, NULL);
  nvt_do_work(t, NVT_BLOCK, NV_NONE, 0, &fn->body);
}

static void leave(nvt *t) {
  const nvt_frame *f = nvt_top(t);
  nvt_end_of_call(t);
  while (t->nscopes > f->scopes) nvt_scope_pop(t);
  t->nframes--;
}

/* ---- the machine ---- */

static void step(nvt *t) {
  const nvt_work w = t->work[--t->nwork];
  switch (w.what) {
  case NVT_EVAL: nvt_eval(t, w.ast); break;
  case NVT_APPLY: nvt_apply(t, w.ast); break;
  case NVT_SHORT: nvt_short(t, w.ast); break;
  case NVT_BLOCK: next_in_block(t, w.p, w.i); break;
  case NVT_ASSIGN: assign(t, w.p); break;
  case NVT_IF: start_if(t, w.p); break;
  case NVT_IF_END: end_if(t, w.p, w.i != 0); break;
  case NVT_FOR: start_for(t, w.p); break;
  case NVT_FOR_NEXT: next_of_for(t, w.p, w.i); break;
  case NVT_FOR_END: end_of_for(t, w.p); break;
  case NVT_MAP: nvt_start_map(t, w.p); break;
  case NVT_MAP_NEXT: nvt_next_of_map(t, w.p, w.i); break;
  case NVT_MAP_WHERE: nvt_where_of_map(t, w.p, w.i); break;
  case NVT_MAP_LEAF: nvt_leaf_of_map(t, w.p, w.i); break;
  case NVT_CONTEXT: context(t, w.i, w.ast); break;
  case NVT_OUT: output(t, w.ast, w.i); break;
  case NVT_OUT_LEAF: output_leaf(t, w.ast, w.i); break;
  case NVT_OUT_BUILD: build_outputs(t, w.ast); break;
  case NVT_RETURN: leave(t); break;
  }
}

void nvt_run(nvt *t, uint32_t mark) {
  while (t->nwork > mark) {
    nvt_count(t, 1);
    step(t);
  }
}
