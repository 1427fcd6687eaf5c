/* leaf.c - the replay engine: a leaf of a struct by its path. For entries that have structs. */
#include "calls.c"

/* The leaf of a struct that a path names, or NULL: inputs or outputs of a call, bound inputs, leaves of a state. */
static nuvec_array *nvr_leaf(const nvr_entry *e, void *tree, unsigned from, int outputs, const char *path) {
  nvr_arrays a;
  const nvr_form *f;
  size_t i, k;
  if (!tree || !path) return NULL;
  a = nvr_arrays_of(NULL, NULL);
  a.in[from] = a.out[from] = tree;
  for (i = 0; i < e->nforms; i++) {
    f = outputs ? &e->forms[i] : nvr_form_in(e, &a, from);
    for (k = 0; f && k < (outputs ? f->noutputs : f->ninputs); k++) {
      const nvr_port *p = outputs ? &f->outputs[k] : &f->inputs[k];
      if (p->from == from && !strcmp(p->name, path)) return (nuvec_array *)(void *)((char *)tree + p->at);
    }
  }
  return NULL;
}
