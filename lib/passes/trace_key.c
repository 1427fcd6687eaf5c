/* trace_key.c - tracing: notes what tells signatures apart beside dtypes and shapes, for the stub. */
#include "trace.h"

static void add(nvt *t, nv_key key) {
  nv_graph *g = t->g;
  NV_GROW(t->c, g->keys, g->keys_cap, (size_t)g->nkeys + 1);
  g->keys[g->nkeys++] = key;
}

void nvt_key_static(nvt *t, nv_str path, nvt_val v) {
  nv_key key = {.kind = NV_KEY_INT, .path = path, .text = NV_NONE};
  switch (v.kind) {
  case NVT_INT: key.value = v.u.i; break;
  case NVT_FLOAT:
    key.kind = NV_KEY_FLOAT;
    memcpy(&key.value, &v.u.f, sizeof key.value);
    break;
  case NVT_BOOL:
    key.kind = NV_KEY_BOOL;
    key.value = v.u.b;
    break;
  case NVT_STRING:
    key.kind = NV_KEY_CHOICE;
    key.text = v.u.s;
    break;
  default: return; /* reported */
  }
  add(t, key);
}

void nvt_key_variant(nvt *t, nv_str path, nv_str variant) {
  add(t, (nv_key){.kind = NV_KEY_VARIANT, .path = path, .text = variant});
}

void nvt_key_frozen(nvt *t, nv_str path) {
  add(t, (nv_key){.kind = NV_KEY_TRAINABLE, .path = path, .text = NV_NONE});
}
