/* trace.c - the trace pass: an entry's function run on placeholders of its declared types becomes one flat graph. */
#include "trace.h"

/* What every name of the document stands for. The first of two functions of a name counts. */
static void know_names(nvt *t) {
  const nv_spec *s = t->s;
  for (uint32_t i = s->nfunctions; i-- > 0;) {
    nvt_slot *slot = nvt_slot_of(t, s->functions[i].name);
    if (s->functions[i].builtin)
      slot->builtin = i;
    else
      slot->user = i;
  }
  for (uint32_t i = s->nconstants; i-- > 0;) nvt_slot_of(t, s->constants[i].name)->constant = i;
  for (uint32_t i = s->nnamed_types; i-- > 0;) nvt_slot_of(t, s->named_types[i].name)->type = i;
}

static void check_entry(nvt *t) {
  const nv_entry *e = t->entry;
  if (e->shapeless)
    nvt_refuse(t, e->pos, "shapeless");
  else if (t->c->options.shapeless)
    nvt_refuse(t, NV_NOWHERE, "--shapeless");
}

static nvt *start(nv_spec *s, const nv_entry *e, uint32_t signature) {
  nv_ctx *c = s->c;
  uint32_t cap = 0;
  nvt *t = nv_grow(c, NULL, &cap, sizeof *t, 1); /* large, and there are as many as entries and signatures */
  memset(t, 0, sizeof *t);
  t->c = c;
  t->s = s;
  t->entry = e;
  t->signature = &e->signatures[signature];
  t->signature_used = NV_NEW_N(c, bool, (size_t)t->signature->nbindings + 1);
  t->g = nv_graph_new(c, e->name);
  know_names(t);
  return t;
}

static void run(nvt *t, const nv_function *fn) {
  t->frames[t->nframes++] = (nvt_frame){.fn = fn, .parent = NV_NONE, .root = NV_NONE, .act = NV_NONE};
  nvt_scope_push(t);
  nvt_entry_inputs(t, fn);
  nvt_start_body(t);
  nvt_run(t, 0);
  t->nframes = 0;
}

static void end(nvt *t) {
  nv_ctx *c = t->c;
  nv_drop(c, t->slots);
  nv_drop(c, t->bindings);
  nv_drop(c, t->scopes);
  nv_drop(c, t->work);
  nv_drop(c, t->vals);
  nv_drop(c, t->args);
  nv_drop(c, t->leaving);
  nv_drop(c, t->bodies);
  nv_map_drop(c, &t->body_map);
  nv_drop(c, t->refusals);
  nv_drop(c, t);
}

nv_graph *nv_trace(nv_spec *s, const nv_entry *e, uint32_t signature) {
  nv_ctx *c = s->c;
  nvt *t = start(s, e, signature);
  const uint32_t errors = c->errors, k = nvt_slot_of(t, e->function)->user;
  if (k == NV_NONE) nv_bug(c, "an entry of the unknown function '%s'", nv_text(c, e->function));
  const nv_function *fn = &s->functions[k];
  for (uint32_t i = 0; i < s->nfunctions; i++)
    if (!s->functions[i].builtin && !s->functions[i].checked) {
      s->functions[i].checked = true;
      nvt_warn_unused(t, &s->functions[i]);
    }
  if (nvt_least_cost(t, fn, true).most > NVT_REHEARSED_CALLS) {
    nvt *first = start(s, e, signature);
    nvt_rehearse(first);
    run(first, fn);
    nvt_rehearsed(first);
    end(first);
  }
  if (c->errors == errors) {
    check_entry(t);
    run(t, fn);
    if (!t->failed && c->errors == errors && !t->nrefusals) nvt_check_state(t);
  }
  const bool failed = t->failed || c->errors != errors;
  for (uint32_t i = 0; !failed && i < t->nrefusals; i++)
    nvt_error(t, t->refusals[i].pos, "not supported yet: %s", t->refusals[i].what);
  nv_graph *g = t->g;
  end(t);
  return failed || c->errors ? NULL : g;
}
