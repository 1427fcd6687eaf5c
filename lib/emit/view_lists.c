/* view_lists.c - lists whose lengths differ between the signatures of an entry: a member LIST_count beside each says
 * which one a call means. Lengths are read off the paths of inputs. */
#include "stub.h"

#include <stdlib.h>

typedef struct lists {
  nv_view *v;
  nv_view_key *keys; /* one a list */
  uint32_t n, cap;
  nv_map map; /* by path */
} lists;

static uint64_t hash_of(nv_str path) { return nv_hash(&path, sizeof path, 0); }

static nv_view_key *find_or_add(lists *l, nv_str path) {
  nv_ctx *c = l->v->m->c;
  uint32_t at = 0, k;
  while ((k = nv_map_next(&l->map, hash_of(path), &at)) != NV_NONE)
    if (l->keys[k].path == path) return &l->keys[k];
  NV_GROW(c, l->keys, l->cap, (size_t)l->n + 1);
  nv_map_add(c, &l->map, hash_of(path), l->n);
  l->keys[l->n] = (nv_view_key){.kind = NV_KEY_INT, .length = true, .path = path,
                                .values = NV_NEW_N(c, int64_t, l->v->n), .has = NV_NEW_N(c, bool, l->v->n)};
  return &l->keys[l->n++];
}

/* Every "[digits]" of a path makes the list in front of it at least so long. */
static void note_path(lists *l, uint32_t signature, const char *path) {
  for (const char *p = strchr(path, '['); p; p = strchr(p + 1, '[')) {
    nv_view_key *k = find_or_add(l, nv_intern(l->v->m->c, path, (size_t)(p - path)));
    const int64_t length = (int64_t)strtoul(p + 1, NULL, 10) + 1;
    if (length > k->values[signature]) k->values[signature] = length;
    k->has[signature] = true;
  }
}

/* Is node the path of an enum node that list stands in? */
static bool is_inside(const char *list, const char *node) {
  const size_t n = strlen(node);
  return !strncmp(list, node, n) && (list[n] == '.' || list[n] == '[' || !list[n]);
}

/* A list without elements shows in no path: where the same variants stand around it, it is there all the same. */
static void note_empty(const nv_view *v, nv_view_key *k) {
  const char *path = nv_text(v->m->c, k->path);
  uint32_t first = 0;
  while (!k->has[first]) first++;
  for (uint32_t i = 0; i < v->n; i++) {
    bool same = !k->has[i];
    for (uint32_t j = 0; same && j < v->nkeys; j++) {
      const nv_view_key *variant = &v->keys[j];
      if (variant->kind != NV_KEY_VARIANT || !is_inside(path, nv_text(v->m->c, variant->path))) continue;
      same = variant->has[i] && variant->has[first] && variant->values[i] == variant->values[first];
    }
    k->has[i] = k->has[i] || same;
  }
}

void nv_view_lists(nv_view *v) {
  nv_ctx *c = v->m->c;
  lists l = {.v = v};
  for (uint32_t i = 0; v->n > 1 && i < v->n; i++) {
    const nv_graph *g = v->program[i].plan->graph;
    for (uint32_t k = 0; k < g->ninputs; k++) note_path(&l, i, nv_text(c, g->inputs[k].name));
  }
  nv_view_key *all = NV_NEW_N(c, nv_view_key, (size_t)v->nkeys + l.n + 1);
  uint32_t n = v->nkeys;
  if (n) memcpy(all, v->keys, n * sizeof *all);
  for (uint32_t k = 0; k < l.n; k++) {
    note_empty(v, &l.keys[k]);
    if (nv_key_differs(v, &l.keys[k])) all[n++] = l.keys[k];
  }
  v->keys = all;
  v->nkeys = n;
  nv_drop(c, l.keys);
  nv_map_drop(c, &l.map);
}
