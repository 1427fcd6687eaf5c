/* trace_state.c - tracing: the outputs of an entry of style mut that are its state's next value. */
#include "trace.h"

#include "../spec/parse.h"

static uint32_t find_output(const nv_graph *g, const nv_map *outputs, nv_str name) {
  uint32_t at = 0, k;
  while ((k = nv_map_next(outputs, nv_str_hash(name), &at)) != NV_NONE && g->outputs[k].name != name) continue;
  return k;
}

/* The place of the state that a path begins with, or NULL. */
static const nv_pos *state_of(const nvt *t, const nv_map *states, nv_str path) {
  const char *text = nv_text(t->c, path);
  const nv_str root = nv_intern(t->c, text, strcspn(text, ".["));
  uint32_t at = 0, k;
  while ((k = nv_map_next(states, nv_str_hash(root), &at)) != NV_NONE)
    if (t->entry->state[k] == root) return &t->entry->state_pos[k];
  return NULL;
}

void nvt_check_state(nvt *t) {
  const nv_graph *g = t->g;
  nv_map outputs = {0}, states = {0};
  bool *taken = NV_NEW_N(t->c, bool, (size_t)g->noutputs + 1);
  if (t->entry->style != NV_STYLE_MUT) return;
  for (uint32_t k = 0; k < t->entry->nstate; k++) nv_map_add(t->c, &states, nv_str_hash(t->entry->state[k]), k);
  for (uint32_t k = 0; k < g->noutputs; k++) nv_map_add(t->c, &outputs, nv_str_hash(g->outputs[k].name), k);
  for (uint32_t k = 0; k < g->ninputs; k++) {
    const nv_port *leaf = &g->inputs[k];
    const nv_pos *pos = state_of(t, &states, leaf->name);
    if (!pos) continue;
    const uint32_t o = find_output(g, &outputs, leaf->name);
    if (o == NV_NONE) {
      nvt_error(t, *pos, "the outputs have no next value of the leaf '%s'", nv_text(t->c, leaf->name));
      continue;
    }
    const nv_value next = g->outputs[o].value;
    taken[o] = true;
    if (nv_dtype_of(g, next) != nv_dtype_of(g, leaf->value) ||
        nv_shape_rank(t->c, nv_shape_at(g, next)) != nv_shape_rank(t->c, nv_shape_at(g, leaf->value)))
      nvt_error(t, g->outputs[o].pos, "the next value of '%s' is %s; a leaf keeps its dtype and rank: %s",
                nv_text(t->c, leaf->name), nvt_show_array(t, next), nvt_show_array(t, leaf->value));
  }
  for (uint32_t k = 0; k < g->noutputs; k++)
    if (!taken[k] && state_of(t, &states, g->outputs[k].name))
      nvt_error(t, g->outputs[k].pos, "the state has no leaf '%s'", nv_text(t->c, g->outputs[k].name));
  nv_map_drop(t->c, &states);
  nv_map_drop(t->c, &outputs);
}
