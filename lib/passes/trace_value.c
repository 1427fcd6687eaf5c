/* trace_value.c - tracing: errors, names in scope, values and how messages show them. */
#include "trace.h"

#include <math.h>

enum { MOST_WARNINGS = 1000 }; /* diagnostics a run, before warnings are left out */
enum { MOST_CALLS = 8 };       /* shown with an error inside functions */

/* ---- errors ---- */

nv_pos nvt_place(const nvt *t, nv_pos pos) {
  if (!t->nframes) return pos;
  const nvt_frame *f = &t->frames[t->nframes - 1];
  return f->fn->builtin ? f->user_pos : pos;
}

static const char *text_of(nvt *t, const char *format, va_list ap) {
  va_list again;
  va_copy(again, ap);
  char few[256];
  const int n = vsnprintf(few, sizeof few, format, ap);
  char *text = few;
  if (n >= (int)sizeof few) {
    text = nv_alloc(t->c, (size_t)n + 1);
    vsnprintf(text, (size_t)n + 1, format, again);
  }
  va_end(again);
  return text == few ? nv_format(t->c, "%s", few) : text;
}

static const char *placed_text(nvt *t, const char *text) {
  const nvt_frame *f = t->nframes ? nvt_top(t) : NULL;
  return f && f->fn->builtin ? nv_format(t->c, "'%s': %s", nv_text(t->c, f->user_name), text) : text;
}

/* The same place was reported before: another signature, iteration or call of the same function found it. */
static bool reported(const nv_ctx *c, nuvecc_severity severity, nv_pos pos) {
  for (uint32_t i = 0; i < c->ndiags; i++) {
    const nv_diag *d = &c->diags[i];
    if (d->severity == severity && d->pos.node == pos.node && d->pos.offset == pos.offset) return true;
  }
  return false;
}

/* The calls that lead to the running function, innermost first: the error at pos is in it. */
static void note_calls(nvt *t, nv_pos pos) {
  uint32_t shown = 0;
  for (uint32_t i = t->nframes; i-- > 1;) {
    const nvt_frame *f = &t->frames[i];
    if (f->fn->builtin || (f->call_pos.node == pos.node && f->call_pos.offset == pos.offset)) continue;
    if (++shown == MOST_CALLS && i > 1) {
      nv_note(t->c, f->call_pos, "in this call of '%s', %u calls deep", nv_text(t->c, f->fn->name), i);
      return;
    }
    nv_note(t->c, f->call_pos, "in this call of '%s'", nv_text(t->c, f->fn->name));
  }
}

static bool report(nvt *t, nv_pos pos, const char *format, va_list ap) {
  pos = nvt_place(t, pos);
  t->failed = true;
  if (t->stop) return false; /* what follows from a limit isn't reported again */
  if (t->c->errors < NV_MAX_ERRORS && reported(t->c, NUVECC_ERROR, pos)) return false;
  nv_error(t->c, pos, "%s", placed_text(t, text_of(t, format, ap)));
  note_calls(t, pos);
  return true;
}

bool nvt_error(nvt *t, nv_pos pos, const char *format, ...) {
  va_list ap;
  if (t->foresight) return false;
  if (t->rehearsal) { /* the real thing will find it */
    t->stop = true;
    return false;
  }
  va_start(ap, format);
  const bool said = report(t, pos, format, ap);
  va_end(ap);
  return said;
}

void nvt_over(nvt *t, nv_pos pos, const char *format, ...) {
  va_list ap;
  va_start(ap, format);
  report(t, pos, format, ap);
  va_end(ap);
  t->stop = true;
}

void nvt_warn(nvt *t, nv_pos pos, const char *format, ...) {
  if (t->rehearsal || t->foresight || t->c->ndiags >= MOST_WARNINGS) return;
  va_list ap;
  va_start(ap, format);
  pos = nvt_place(t, pos);
  if (!reported(t->c, NUVECC_WARNING, pos)) {
    nv_warn(t->c, pos, "%s", placed_text(t, text_of(t, format, ap)));
  }
  va_end(ap);
}

void nvt_refuse(nvt *t, nv_pos pos, const char *format, ...) {
  va_list ap;
  if (t->rehearsal || t->foresight) return;
  va_start(ap, format);
  const char *what = text_of(t, format, ap);
  va_end(ap);
  for (uint32_t i = 0; i < t->nrefusals; i++)
    if (!strcmp(t->refusals[i].what, what)) return;
  if (t->nrefusals >= NV_MAX_ERRORS) return;
  NV_GROW(t->c, t->refusals, t->refusals_cap, (size_t)t->nrefusals + 1);
  t->refusals[t->nrefusals++] = (nvt_refusal){nvt_place(t, pos), what};
}

/* ---- names ---- */

nvt_slot *nvt_slot_of(nvt *t, nv_str name) {
  if (name >= t->nslots) {
    const uint32_t n = name + 1024;
    NV_GROW(t->c, t->slots, t->slots_cap, n);
    for (uint32_t i = t->nslots; i < n; i++)
      t->slots[i] =
          (nvt_slot){NV_NONE, NV_NONE, NV_NONE, NV_NONE, NV_NONE, NV_NONE, NV_NOPS, false, false, 0};
    t->nslots = n;
  }
  return &t->slots[name];
}

nvt_binding *nvt_find(nvt *t, nv_str name) {
  const uint32_t b = nvt_slot_of(t, name)->binding;
  return b != NV_NONE && t->bindings[b].frame == t->nframes ? &t->bindings[b] : NULL;
}

bool nvt_in_block(const nvt *t, const nvt_binding *b) {
  return (uint32_t)(b - t->bindings) >= t->scopes[t->nscopes - 1];
}

nvt_binding *nvt_bind(nvt *t, nv_str name, nvt_val v, nv_pos pos) {
  nvt_slot *s = nvt_slot_of(t, name);
  NV_GROW(t->c, t->bindings, t->bindings_cap, (size_t)t->nbindings + 1);
  nvt_binding *b = &t->bindings[t->nbindings];
  *b = (nvt_binding){
      .name = name, .outer = s->binding, .frame = t->nframes, .value = v, .pos = pos, .by = NV_NONE};
  s->binding = t->nbindings++;
  return b;
}

void nvt_rebind(nvt *t, nv_str name, nvt_val v, nv_pos pos) {
  nvt_binding *b = nvt_find(t, name);
  if (b && nvt_in_block(t, b))
    b->value = v;
  else
    nvt_bind(t, name, v, pos);
}

void nvt_scope_push(nvt *t) {
  NV_GROW(t->c, t->scopes, t->scopes_cap, (size_t)t->nscopes + 1);
  t->scopes[t->nscopes++] = t->nbindings;
}

void nvt_scope_pop(nvt *t) {
  const uint32_t mark = t->scopes[--t->nscopes];
  while (t->nbindings > mark) {
    const nvt_binding *b = &t->bindings[--t->nbindings];
    t->slots[b->name].binding = b->outer;
  }
}

const char *nvt_suggest(nvt *t, nv_str name, bool scope, const char *const *others, uint32_t n) {
  if (t->c->errors >= NV_MAX_ERRORS) return "";
  const uint32_t most = n + (scope ? t->nbindings : 0);
  const char **all = NV_NEW_N(t->c, const char *, (size_t)most + 1);
  uint32_t k = 0;
  for (uint32_t i = t->nbindings; scope && i-- > 0 && t->bindings[i].frame == t->nframes;)
    all[k++] = nv_text(t->c, t->bindings[i].name);
  for (uint32_t i = 0; i < n; i++) all[k++] = others[i];
  const char *best = nv_nearest(nv_text(t->c, name), all, k);
  return best ? nv_format(t->c, "; did you mean '%s'?", best) : "";
}

/* ---- values ---- */

typedef struct named {
  const char *text;
  uint32_t i;
} named;

static int by_text(const void *a, const void *b) {
  return strcmp(((const named *)a)->text, ((const named *)b)->text);
}

void nvt_count(nvt *t, int64_t steps) {
  t->steps += steps;
  if (t->foresight) return;
  if (t->rehearsal) nvt_too_long(t);
  const int64_t nodes = t->g->nnodes + t->skipped.nodes;
  if (t->stop || t->steps <= NVT_MAX_STEPS || t->steps / 32 <= nodes + NVT_MAX_STEPS / 32) return;
  const nv_ast root = t->nframes ? nvt_top(t)->root : NV_NONE;
  nvt_over(t, root != NV_NONE ? nvt_at(t, root)->pos : t->entry->pos,
           "tracing takes more than %lld steps (elements of lists and trees count, too)", (long long)NVT_MAX_STEPS);
}

nvt_val nvt_seq_make(nvt *t, nvt_kind kind, const nvt_val *at, const nv_str *names, uint32_t n) {
  nvt_count(t, 16 * (int64_t)n); /* memory, too */
  nvt_seq *s = NV_NEW(t->c, nvt_seq);
  s->n = n;
  s->at = NV_NEW_N(t->c, nvt_val, (size_t)n + 1);
  s->static_ = true;
  if (kind == NVT_TREE) {
    named *order = NV_NEW_N(t->c, named, (size_t)n + 1);
    for (uint32_t i = 0; i < n; i++) order[i] = (named){nv_text(t->c, names[i]), i};
    qsort(order, n, sizeof *order, by_text);
    s->names = NV_NEW_N(t->c, nv_str, (size_t)n + 1);
    for (uint32_t i = 0; i < n; i++) {
      s->names[i] = names[order[i].i];
      s->at[i] = at[order[i].i];
    }
  } else if (n) {
    memcpy(s->at, at, n * sizeof *at);
  }
  for (uint32_t i = 0; i < n; i++) {
    s->static_ = s->static_ && nvt_is_static(s->at[i]);
    s->poison = s->poison || nvt_is_poison(s->at[i]);
  }
  return (nvt_val){.kind = kind, .u = {.seq = s}};
}

uint32_t nvt_field(nvt *t, const nvt_seq *s, nv_str name) {
  uint32_t lo = 0, hi = s->n;
  while (lo < hi) {
    const uint32_t mid = lo + (hi - lo) / 2;
    if (s->names[mid] == name) return mid;
    if (strcmp(nv_text(t->c, s->names[mid]), nv_text(t->c, name)) < 0)
      lo = mid + 1;
    else
      hi = mid;
  }
  return NV_NONE;
}

const char *nvt_show_shape(nvt *t, nv_shape s) {
  nv_buf b;
  nv_buf_init(&b, t->c);
  nv_put_shape(&b, s);
  return nv_buf_text(&b);
}

const char *nvt_show_array(nvt *t, nv_value v) {
  const nv_shape s = nv_shape_at(t->g, v);
  const char *dtype = nv_dtype_name[nv_dtype_of(t->g, v)];
  return nv_shape_rank(t->c, s) ? nv_format(t->c, "%s%s", dtype, nvt_show_shape(t, s)) : dtype;
}

const char *nvt_show_number(nvt *t, nvt_val v) {
  if (v.kind == NVT_INT) return nv_format(t->c, "%lld", (long long)v.u.i);
  if (v.kind == NVT_SIZE) return nvt_show_size(t, v);
  if (v.kind == NVT_BOOL) return v.u.b ? "true" : "false";
  nv_buf b;
  nv_buf_init(&b, t->c);
  if (v.kind == NVT_COMPLEX) {
    if (v.u.z[0] != 0) nv_put_double(&b, v.u.z[0]);
    if (v.u.z[0] != 0 && !signbit(v.u.z[1])) nv_putc(&b, '+');
    nv_put_double(&b, v.u.z[1]);
    nv_putc(&b, 'j');
  } else {
    nv_put_double(&b, v.u.f);
  }
  return nv_buf_text(&b);
}

const char *nvt_show(nvt *t, nvt_val v) {
  switch (v.kind) {
  case NVT_POISON: return "an error";
  case NVT_SIZE: return nvt_show_size(t, v);
  case NVT_INT:
  case NVT_FLOAT:
  case NVT_COMPLEX:
  case NVT_BOOL: return nv_format(t->c, "the static %s", nvt_show_number(t, v));
  case NVT_STRING:
    return nv_format(t->c, "the string '%s'", nv_shown(t->c, nv_text(t->c, v.u.s), nv_text_len(t->c, v.u.s)));
  case NVT_DTYPE: return nv_format(t->c, "the dtype %s", nv_dtype_name[v.u.d]);
  case NVT_NONE: return "None";
  case NVT_ELLIPSIS: return "...";
  case NVT_SLICE: return "a slice";
  case NVT_LIST: return nv_format(t->c, "a list of %u", v.u.seq->n);
  case NVT_TREE: return "a tree";
  case NVT_ARRAY: return nvt_show_array(t, v.u.v);
  }
  return "a value";
}

const char *nvt_show_form(nvt *t, nvt_val v) {
  const char *text = nvt_show(t, v);
  return v.variant ? nv_format(t->c, "the variant '%s' (%s)", nv_text(t->c, v.variant), text) : text;
}

/* ---- stacks ---- */

void nvt_push(nvt *t, nvt_val v) {
  NV_GROW(t->c, t->vals, t->vals_cap, (size_t)t->nvals + 1);
  t->vals[t->nvals++] = v;
}

nvt_val nvt_pop(nvt *t) { return t->vals[--t->nvals]; }

void nvt_do_work(nvt *t, nvt_do what, nv_ast ast, uint32_t i, const void *p) {
  NV_GROW(t->c, t->work, t->work_cap, (size_t)t->nwork + 1);
  t->work[t->nwork++] = (nvt_work){what, ast, i, p};
}

void nvt_reverse_work(nvt *t, uint32_t from) {
  for (uint32_t i = from, j = t->nwork; i + 1 < j; i++) {
    const nvt_work w = t->work[i];
    t->work[i] = t->work[--j];
    t->work[j] = w;
  }
}
