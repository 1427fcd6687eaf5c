/* view.c - an entry as its callers see it: what tells its signatures apart, and where in which C struct each array and
 * each static stands.
 *
 * A static, a variant or a trainable bit is a member only where signatures differ in it. An enum node whose variant
 * differs becomes a member `variant` and a union `of` with a member a variant. Signatures with the same variants have
 * trees of one form; those of a form are told apart by a hash of the other members, of dtypes and of shapes. */
#include "metal.h"
#include "stub.h"

#include "../spec/parse.h"

#include <stdlib.h>
#include <string.h>

/* ---- what signatures differ in ---- */

static uint32_t find_key(const nv_view *v, const nv_map *map, nv_key_kind kind, nv_str path) {
  uint32_t at = 0, k;
  while ((k = nv_map_next(map, nv_hash(&path, sizeof path, kind == NV_KEY_TRAINABLE), &at)) != NV_NONE)
    if (v->keys[k].path == path && (v->keys[k].kind == NV_KEY_TRAINABLE) == (kind == NV_KEY_TRAINABLE)) break;
  return k;
}

static int64_t choice_of(nv_ctx *c, nv_view_key *k, nv_str text) {
  for (uint32_t i = 0; i < k->nchoices; i++)
    if (k->choices[i] == text) return i;
  NV_GROW(c, k->choices, k->choices_cap, (size_t)k->nchoices + 1);
  k->choices[k->nchoices] = text;
  return k->nchoices++;
}

/* All keys of all signatures, in the order in which they come. */
static void collect_keys(nv_view *v) {
  nv_ctx *c = v->m->c;
  nv_map map = {0};
  uint32_t cap = 0;
  for (uint32_t i = 0; i < v->n; i++) {
    const nv_graph *g = v->program[i].traced;
    for (uint32_t j = 0; g && j < g->nkeys; j++) {
      const nv_key *key = &g->keys[j];
      uint32_t k = find_key(v, &map, key->kind, key->path);
      if (k == NV_NONE) {
        NV_GROW(c, v->keys, cap, (size_t)v->nkeys + 1);
        k = v->nkeys++;
        v->keys[k] = (nv_view_key){.kind = key->kind,
                                   .path = key->path,
                                   .values = NV_NEW_N(c, int64_t, v->n),
                                   .has = NV_NEW_N(c, bool, v->n)};
        nv_map_add(c, &map, nv_hash(&key->path, sizeof key->path, key->kind == NV_KEY_TRAINABLE), k);
        for (uint32_t s = 0; key->kind == NV_KEY_TRAINABLE && s < v->n; s++) {
          v->keys[k].values[s] = 1;
          v->keys[k].has[s] = true;
        }
      }
      v->keys[k].values[i] = key->text == NV_NONE ? key->value : choice_of(c, &v->keys[k], key->text);
      v->keys[k].has[i] = true;
    }
  }
  nv_map_drop(c, &map);
}

bool nv_key_differs(const nv_view *v, const nv_view_key *k) {
  uint32_t i = 0, j;
  while (i < v->n && !k->has[i]) i++;
  for (j = i + 1; j < v->n; j++)
    if (k->has[j] && k->values[j] != k->values[i]) return true;
  return false;
}

/* Keeps what differs, what tells forms apart first. */
static void keep_keys(nv_view *v) {
  nv_view_key *kept = NV_NEW_N(v->m->c, nv_view_key, (size_t)v->nkeys + 1);
  uint32_t n = 0;
  for (int variants = 1; variants >= 0; variants--) {
    for (uint32_t k = 0; k < v->nkeys; k++)
      if (nv_is_form_key(&v->keys[k]) == variants && nv_key_differs(v, &v->keys[k])) kept[n++] = v->keys[k];
    if (variants) v->nvariants = n;
  }
  v->keys = kept;
  v->nkeys = n;
}

static bool same_variants(const nv_view *v, uint32_t a, uint32_t b) {
  for (uint32_t k = 0; k < v->nvariants; k++) {
    const nv_view_key *key = &v->keys[k];
    if (key->has[a] != key->has[b] || (key->has[a] && key->values[a] != key->values[b])) return false;
  }
  return true;
}

static bool same_trees(const nv_graph *a, const nv_graph *b) {
  bool same = a->ninputs == b->ninputs && a->noutputs == b->noutputs;
  for (uint32_t k = 0; same && k < a->ninputs; k++) same = a->inputs[k].name == b->inputs[k].name;
  for (uint32_t k = 0; same && k < a->noutputs; k++) same = a->outputs[k].name == b->outputs[k].name;
  return same;
}

static void find_forms(nv_view *v) {
  nv_ctx *c = v->m->c;
  v->form = NV_NEW_N(c, uint32_t, v->n);
  uint32_t *firsts = NV_NEW_N(c, uint32_t, v->n);
  for (uint32_t i = 0; i < v->n; i++) {
    uint32_t f = 0;
    while (f < v->nforms && !same_variants(v, firsts[f], i)) f++;
    if (f == v->nforms) firsts[v->nforms++] = i;
    else if (!same_trees(v->program[firsts[f]].plan->graph, v->program[i].plan->graph))
      nv_raise(c, NUVECC_SPEC, "not supported yet: signatures %u and %u of entry '%s' have outputs of different trees",
               (unsigned)firsts[f], (unsigned)i, nv_text(c, v->program->entry->name));
    v->form[i] = f;
  }
}

/* ---- members of structs ---- */

/* A path as that of a member: behind a node whose variant differs stands the variant that signature i has. */
static const char *member_path(const nv_view *v, const nv_map *variants, uint32_t i, const char *path) {
  nv_ctx *c = v->m->c;
  nv_buf b;
  nv_buf_init(&b, c);
  for (const char *p = path;; p++) {
    if (p > path && (*p == '.' || *p == '[' || !*p)) {
      const nv_str node = nv_intern(c, path, (size_t)(p - path));
      uint32_t at = 0, k;
      while ((k = nv_map_next(variants, nv_str_hash(node), &at)) != NV_NONE && v->keys[k].path != node) continue;
      if (k != NV_NONE)
        nv_printf(&b, ".%cof.%s", NV_FIELD_UNION, nv_text(c, v->keys[k].choices[v->keys[k].values[i]]));
    }
    if (!*p) break;
    nv_putc(&b, *p);
  }
  return nv_keep(&b);
}

typedef struct builder {
  nv_view *v;
  nv_map variants;              /* keys by path */
  nv_map sources;               /* places in bind, then in state, by name */
  nv_map known[NV_SOURCES + 1]; /* items by path; the last: outputs */
} builder;

/* Where an input, or a tree of inputs, is given. */
static nv_place_of source_of(const builder *b, nv_str path) {
  nv_ctx *c = b->v->m->c;
  const nv_entry *e = b->v->program->entry;
  const char *text = nv_text(c, path);
  const nv_str root = nv_intern(c, text, strcspn(text, ".["));
  uint32_t at = 0, k;
  while ((k = nv_map_next(&b->sources, nv_str_hash(root), &at)) != NV_NONE)
    if ((k < e->nbind ? e->bind[k] : e->state[k - e->nbind]) == root)
      return k < e->nbind ? NV_FROM_BOUND : NV_FROM_STATE;
  return NV_FROM_CALL;
}

static uint32_t add_item(builder *b, uint32_t list, const char *path, const char *type) {
  nv_view *v = b->v;
  nv_item **items = list == NV_SOURCES ? &v->out_items : &v->items[list];
  uint32_t *n = list == NV_SOURCES ? &v->nout_items : &v->nitems[list], at = 0, k;
  const uint64_t h = nv_hash(path, strlen(path), (uint64_t)*type);
  while ((k = nv_map_next(&b->known[list], h, &at)) != NV_NONE)
    if (!strcmp((*items)[k].path, path) && (*items)[k].type == type) return k;
  NV_GROW(v->m->c, *items, *(list == NV_SOURCES ? &v->out_items_cap : &v->items_cap[list]), (size_t)*n + 1);
  (*items)[*n] = (nv_item){.path = path, .type = type};
  nv_map_add(v->m->c, &b->known[list], h, *n);
  return (*n)++;
}

static const char array_type[] = "nuvec_array";

/* The item of an array of signature i, and what is known of it in all of them. */
static uint32_t add_array(builder *b, uint32_t list, uint32_t i, const char *path, const nv_port *port) {
  nv_view *v = b->v;
  const uint32_t k = add_item(b, list, path, array_type);
  nv_item *item = &(list == NV_SOURCES ? v->out_items : v->items[list])[k];
  nv_buf what;
  nv_buf_init(&what, v->m->c);
  nv_put_value_type(&what, v->program[i].plan->graph, port->value);
  if (!item->what) item->what = nv_keep(&what);
  else if (strcmp(item->what, nv_buf_text(&what))) item->what = "";
  item->name = nv_text(v->m->c, port->name);
  return k;
}

/* A static of the function, not a node or field of a tree. */
static bool is_static(const nv_view *v, const nv_view_key *k) {
  return k->kind != NV_KEY_TRAINABLE && k->kind != NV_KEY_VARIANT && !k->length &&
         !strpbrk(nv_text(v->m->c, k->path), ".[");
}

static void add_key(builder *b, nv_view_key *k) {
  nv_view *v = b->v;
  nv_ctx *c = v->m->c;
  static const char int_type[] = "int64_t", float_type[] = "double", choice_type[] = "int";
  const char *path = nv_text(c, k->path);
  uint32_t i = 0;
  while (!k->has[i]) i++;
  k->spot.source = source_of(b, k->path);
  if (k->length) {
    path = nv_format(c, "%s_count", member_path(v, &b->variants, i, path));
    k->path = nv_intern_z(c, nv_format(c, "%s_count", nv_text(c, k->path)));
  } else if (k->kind == NV_KEY_TRAINABLE) {
    char *name = nv_format(c, "%s_trainable", path);
    for (char *p = name; *p; p++)
      if (strchr(".[]", *p)) *p = '_';
    path = name;
    k->spot.source = NV_FROM_CALL;
  } else if (k->kind == NV_KEY_VARIANT) {
    const nv_str own = k->path;
    k->path = NV_NONE; /* its own node isn't behind itself */
    path = nv_format(c, "%s.variant", member_path(v, &b->variants, i, path));
    k->path = own;
  } else if (!is_static(v, k)) {
    path = member_path(v, &b->variants, i, path);
  }
  if (k->spot.source == NV_FROM_CALL && v->flat) k->spot.source = NV_FROM_STATICS;
  k->spot.item = add_item(b, k->spot.source, path,
                          k->kind == NV_KEY_INT     ? int_type
                          : k->kind == NV_KEY_FLOAT ? float_type
                                                    : choice_type);
}

static void add_ports(builder *b, uint32_t i) {
  nv_view *v = b->v;
  nv_ctx *c = v->m->c;
  const nv_graph *g = v->program[i].plan->graph;
  uint32_t place = 0;
  v->inputs[i] = NV_NEW_N(c, nv_spot, (size_t)g->ninputs + 1);
  v->outputs[i] = NV_NEW_N(c, nv_spot, (size_t)g->noutputs + 1);
  for (uint32_t k = 0; k < g->ninputs; k++) {
    nv_spot *s = &v->inputs[i][k];
    s->source = source_of(b, g->inputs[k].name);
    if (s->source == NV_FROM_CALL && v->flat) s->item = place++;
    else
      s->item = add_array(b, s->source, i, member_path(v, &b->variants, i, nv_text(c, g->inputs[k].name)),
                          &g->inputs[k]);
  }
  place = 0;
  for (uint32_t k = 0; k < g->noutputs; k++) {
    nv_spot *s = &v->outputs[i][k];
    const char *path = nv_text(c, g->outputs[k].name);
    s->source = source_of(b, g->outputs[k].name) == NV_FROM_STATE ? NV_FROM_STATE : NV_FROM_CALL;
    if (s->source == NV_FROM_STATE)
      s->item = add_array(b, NV_FROM_STATE, i, member_path(v, &b->variants, i, path), &g->outputs[k]);
    else
      s->item = v->flat ? place++ : add_array(b, NV_SOURCES, i, path, &g->outputs[k]);
  }
}

/* ---- finding a signature ---- */

static uint64_t mix(uint64_t h, uint64_t word) {
  h = (h ^ word) * UINT64_C(0x9e3779b97f4a7c15);
  return h ^ h >> 29;
}

/* Of a signature with open sizes the sizes don't count. */
static uint64_t hash_of(const nv_view *v, uint32_t i) {
  const nv_graph *g = v->program[i].plan->graph;
  const bool open = nv_is_open(&v->program[i]);
  uint64_t h = g->ninputs;
  for (uint32_t k = 0; k < v->nkeys; k++)
    if (v->keys[k].has[i]) h = mix(h, (uint64_t)v->keys[k].values[i]);
  for (uint32_t k = 0; k < g->ninputs; k++) {
    const nv_shape s = nv_shape_at(g, g->inputs[k].value);
    const uint32_t rank = nv_shape_rank(g->c, s);
    h = mix(h, (uint64_t)nv_dtype_of(g, g->inputs[k].value) << 32 | rank);
    for (uint32_t d = 0; !open && d < rank; d++) h = mix(h, (uint64_t)nv_dim_value(g->c, nv_shape_dims(g->c, s)[d]));
  }
  return h;
}

static void put_number(const nv_view *v, uint16_t *table, uint32_t size, uint32_t i) {
  uint32_t at = (uint32_t)hash_of(v, i) & (size - 1);
  while (table[at]) at = (at + 1) & (size - 1);
  table[at] = (uint16_t)(i + 1);
}

static uint16_t *new_table(const nv_view *v, uint32_t *size) {
  for (*size = 4; *size < 2 * v->n;) *size *= 2;
  return NV_NEW_N(v->m->c, uint16_t, *size);
}

uint16_t *nv_view_table(const nv_view *v, uint32_t *size) {
  if (v->n == 1) return NULL;
  uint16_t *table = new_table(v, size);
  for (uint32_t i = 0; i < v->n; i++)
    if (!nv_is_open(&v->program[i])) put_number(v, table, *size, i);
  return table;
}

static uint32_t count_open_axes(const nv_graph *g) {
  uint32_t n = 0;
  int64_t known;
  for (uint32_t k = 0; k < g->ninputs; k++) {
    const nv_shape s = nv_shape_at(g, g->inputs[k].value);
    for (uint32_t d = 0; d < nv_shape_rank(g->c, s); d++)
      n += !nv_dim_is_const(g->c, nv_shape_dims(g->c, s)[d], &known);
  }
  return n;
}

typedef struct openness {
  uint32_t axes, signature;
} openness;
static int compare_openness(const void *a, const void *b) {
  const openness *x = a, *y = b;
  if (x->axes != y->axes) return x->axes < y->axes ? -1 : 1;
  return x->signature < y->signature ? -1 : 1;
}

uint16_t *nv_view_open_table(const nv_view *v, uint32_t *size) {
  openness *open = NV_NEW_N(v->m->c, openness, v->n);
  uint32_t n = 0;
  for (uint32_t i = 0; i < v->n; i++)
    if (nv_is_open(&v->program[i])) open[n++] = (openness){count_open_axes(v->program[i].plan->graph), i};
  if (v->n == 1 || !n) return NULL;
  uint16_t *table = new_table(v, size);
  qsort(open, n, sizeof *open, compare_openness); /* of those that fit, the one with the fewest is found first */
  for (uint32_t i = 0; i < n; i++) put_number(v, table, *size, open[i].signature);
  return table;
}

static bool same_signature(const nv_view *v, uint32_t a, uint32_t b) {
  const nv_graph *g = v->program[a].plan->graph, *o = v->program[b].plan->graph;
  if (v->form[a] != v->form[b]) return false;
  for (uint32_t k = 0; k < v->nkeys; k++)
    if (v->keys[k].has[a] && v->keys[k].values[a] != v->keys[k].values[b]) return false;
  for (uint32_t k = 0; k < g->ninputs; k++)
    if (nv_dtype_of(g, g->inputs[k].value) != nv_dtype_of(o, o->inputs[k].value) ||
        nv_shape_at(g, g->inputs[k].value) != nv_shape_at(o, o->inputs[k].value))
      return false;
  return true;
}

/* Two signatures that nothing tells apart would be one. */
static void check_distinct(const nv_view *v) {
  nv_ctx *c = v->m->c;
  nv_map seen = {0};
  for (uint32_t i = 0; i < v->n; i++) {
    const uint64_t h = hash_of(v, i);
    uint32_t at = 0, other;
    while ((other = nv_map_next(&seen, h, &at)) != NV_NONE)
      if (same_signature(v, other, i))
        nv_raise(c, NUVECC_SPEC, "signatures %u and %u of entry '%s' are the same", (unsigned)other, (unsigned)i,
                 nv_text(c, v->program->entry->name));
    nv_map_add(c, &seen, h, i);
  }
  nv_map_drop(c, &seen);
}

/* ---- the whole ---- */

uint32_t nv_entry_end(const nv_module *m, uint32_t first) {
  uint32_t end = first + 1;
  while (end < m->nprograms && m->programs[end].entry == m->programs[first].entry) end++;
  return end;
}

bool nv_is_in_place(const nv_program *p) { return p->entry->in_place; }

static nv_view *make_view(const nv_module *m, uint32_t first) {
  nv_ctx *c = m->c;
  nv_view *v = NV_NEW(c, nv_view);
  builder b = {.v = v};
  *v = (nv_view){.m = m, .first = first, .n = nv_entry_end(m, first) - first, .program = &m->programs[first]};
  v->flat = v->program->style == NV_STYLE_FLAT;
  v->bound = v->program->entry->nbind != 0;
  collect_keys(v);
  nv_view_lists(v);
  keep_keys(v);
  find_forms(v);
  check_distinct(v);
  for (uint32_t k = 0; k < v->nvariants; k++)
    if (!v->keys[k].length) nv_map_add(c, &b.variants, nv_str_hash(v->keys[k].path), k);
  const nv_entry *e = v->program->entry;
  for (uint32_t k = 0; k < e->nbind; k++) nv_map_add(c, &b.sources, nv_str_hash(e->bind[k]), k);
  for (uint32_t k = 0; k < e->nstate; k++) nv_map_add(c, &b.sources, nv_str_hash(e->state[k]), e->nbind + k);
  v->inputs = NV_NEW_N(c, nv_spot *, v->n);
  v->outputs = NV_NEW_N(c, nv_spot *, v->n);
  for (int statics = 1; statics >= 0; statics--)
    for (uint32_t k = 0; k < v->nkeys; k++)
      if (is_static(v, &v->keys[k]) == statics) add_key(&b, &v->keys[k]);
  for (uint32_t i = 0; i < v->n; i++) add_ports(&b, i);
  for (uint32_t s = 0; s < NV_SOURCES; s++)
    if (v->nitems[s]) v->fields[s] = nv_fields_make(c, v->items[s], v->nitems[s]);
  if (v->nout_items) v->out_fields = nv_fields_make(c, v->out_items, v->nout_items);
  static const char *const names[NV_SOURCES + 1] = {"inputs", "bound", "leaves", "statics", "outputs"};
  for (uint32_t s = 0; s <= NV_SOURCES; s++) v->structs[s] = nv_format(c, "%s_%s", v->program->symbol, names[s]);
  for (uint32_t s = 0; s <= NV_SOURCES; s++) {
    nv_map_drop(c, &b.known[s]);
  }
  nv_map_drop(c, &b.sources);
  nv_map_drop(c, &b.variants);
  return v;
}

const nv_view *nv_view_of(const nv_module *m, uint32_t first) {
  if (!m->views[first]) m->views[first] = make_view(m, first);
  return m->views[first];
}

void nv_put_spot(nv_buf *b, const nv_view *v, nv_spot s, bool output) {
  nv_put_field(b, output && s.source == NV_FROM_CALL ? v->out_fields : v->fields[s.source], s.item);
}

const char *nv_struct_name(const nv_view *v, nv_place_of s, bool output) {
  return v->structs[output && s == NV_FROM_CALL ? NV_SOURCES : s];
}

const char *nv_choice_name(const nv_view *v, const nv_view_key *k, uint32_t choice) {
  nv_ctx *c = v->m->c;
  char *name = nv_format(c, "%s_%s_%s", v->program->symbol, nv_text(c, k->path), nv_text(c, k->choices[choice]));
  for (char *p = name; *p; p++)
    if (!((*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z') || (*p >= '0' && *p <= '9'))) *p = '_';
  return name;
}
