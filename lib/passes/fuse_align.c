/* fuse_align.c - orders of elements, and the spaces of items that share one iteration space (fuse.h). */
#include "fuse.h"

void nv_orders_init(nv_fuser *f) {
  NV_GROW(f->c, f->orders, f->orders_cap, 1);
  f->orders[0] = (nv_order){0, NV_NONE, 0};
  f->norders = 1;
}

/* Drops axes of size 1 and merges axes that stay neighbours. */
static void normalize(nv_ctx *c, nv_step *s) {
  uint8_t axis[NV_MAX_RANK]; /* new number of an axis */
  uint32_t n = 0;
  for (uint32_t k = 0; k < s->n; k++)
    if (s->dims[s->perm[k]] != NV_DIM_ONE) s->perm[n++] = s->perm[k];
  uint32_t place[NV_MAX_RANK]; /* of an axis, after */
  for (uint32_t k = 0; k < s->n; k++) place[k] = NV_NONE;
  for (uint32_t k = 0; k < n; k++) place[s->perm[k]] = k;
  nv_dim dims[NV_MAX_RANK];
  uint32_t m = 0, last = NV_NONE;
  for (uint32_t k = 0; k < s->n; k++) {
    if (place[k] == NV_NONE) continue;
    if (last != NV_NONE && place[k] == place[last] + 1) {
      dims[m - 1] = nv_dim_mul(c, dims[m - 1], s->dims[k]);
      axis[k] = UINT8_MAX; /* follows its neighbour */
    } else {
      dims[m] = s->dims[k];
      axis[k] = (uint8_t)m++;
    }
    last = k;
  }
  uint32_t out = 0;
  for (uint32_t k = 0; k < n; k++)
    if (axis[s->perm[k]] != UINT8_MAX) s->perm[out++] = axis[s->perm[k]];
  s->n = m;
  memcpy(s->dims, dims, m * sizeof *dims);
}

static bool is_identity(const nv_step *s) { return s->n < 2; } /* a normal form that moves nothing has one axis */

static uint32_t intern_step(nv_fuser *f, const nv_step *s) {
  uint64_t hash = nv_hash(s->dims, s->n * sizeof *s->dims, nv_hash(s->perm, s->n, s->n));
  uint32_t at = 0;
  for (uint32_t k; (k = nv_map_next(&f->step_map, hash, &at)) != NV_NONE;) {
    const nv_step *o = &f->steps[k];
    if (o->n == s->n && !memcmp(o->dims, s->dims, s->n * sizeof *s->dims) && !memcmp(o->perm, s->perm, s->n)) return k;
  }
  NV_GROW(f->c, f->steps, f->steps_cap, (size_t)f->nsteps + 1);
  f->steps[f->nsteps] = *s;
  nv_map_add(f->c, &f->step_map, hash, f->nsteps);
  return f->nsteps++;
}

/* a followed by s; a last step of a that s works on is joined with it. */
static uint32_t push(nv_fuser *f, uint32_t a, nv_step s) {
  for (;;) {
    normalize(f->c, &s);
    if (is_identity(&s)) return a;
    if (a == 0) break;
    const nv_step *t = &f->steps[f->orders[a].step];
    bool fits = t->n == s.n;
    for (uint32_t k = 0; k < s.n && fits; k++) fits = t->dims[t->perm[k]] == s.dims[k];
    if (!fits) break;
    for (uint32_t k = 0; k < s.n; k++) s.perm[k] = t->perm[s.perm[k]];
    memcpy(s.dims, t->dims, s.n * sizeof *s.dims);
    a = f->orders[a].parent;
  }
  uint32_t key[2] = {a, intern_step(f, &s)}, at = 0;
  uint64_t hash = nv_hash(key, sizeof key, 2);
  for (uint32_t k; (k = nv_map_next(&f->order_map, hash, &at)) != NV_NONE;)
    if (f->orders[k].parent == a && f->orders[k].step == key[1]) return k;
  NV_GROW(f->c, f->orders, f->orders_cap, (size_t)f->norders + 1);
  f->orders[f->norders] = (nv_order){a, key[1], f->orders[a].depth + 1};
  nv_map_add(f->c, &f->order_map, hash, f->norders);
  return f->norders++;
}

uint32_t nv_order_transpose(nv_fuser *f, uint32_t a, nv_shape shape, nv_attr perm) {
  nv_step s = {.n = nv_shape_rank(f->c, shape)};
  for (uint32_t k = 0; k < s.n; k++) {
    s.dims[k] = nv_shape_dims(f->c, shape)[k];
    s.perm[k] = (uint8_t)nv_attr_list(f->c, perm)[k];
  }
  return push(f, a, s);
}

uint32_t nv_order_then(nv_fuser *f, uint32_t a, uint32_t b) {
  uint32_t steps[2 * NV_MAX_ORDER], n = f->orders[b].depth;
  if (n > NV_MAX_ORDER) return NV_NONE;
  for (uint32_t k = n; k-- > 0; b = f->orders[b].parent) steps[k] = f->orders[b].step;
  for (uint32_t k = 0; k < n; k++) a = push(f, a, f->steps[steps[k]]);
  return f->orders[a].depth > NV_MAX_ORDER ? NV_NONE : a;
}

uint32_t nv_order_inverse(nv_fuser *f, uint32_t a) {
  uint32_t r = 0;
  for (; a; a = f->orders[a].parent) {
    const nv_step s = f->steps[f->orders[a].step];
    nv_step t = {.n = s.n};
    for (uint32_t k = 0; k < s.n; k++) {
      t.dims[k] = s.dims[s.perm[k]];
      t.perm[s.perm[k]] = (uint8_t)k;
    }
    r = push(f, r, t);
  }
  return r;
}

/* ---- spaces: a union of items in which each knows its order relative to its parent ---- */

uint32_t nv_space(nv_fuser *f, uint32_t item, uint32_t *order) {
  nv_item *items = f->items;
  uint32_t top = item;
  while (items[top].up != top) top = items[top].up;
  /* What hangs below the top is hung on it, from the top down: the way is turned round and walked back. */
  uint32_t back = top, i = item;
  while (i != top) {
    uint32_t up = items[i].up;
    items[i].up = back;
    back = i;
    i = up;
  }
  uint32_t above = 0; /* order of the item above, relative to the top */
  while (back != top) {
    uint32_t below = items[back].up;
    items[back].align = above = nv_order_then(f, above, items[back].align);
    if (above == NV_NONE) nv_bug(f->c, "an order grew too long");
    items[back].up = top;
    back = below;
  }
  *order = items[item].up == item ? 0 : items[item].align;
  return top;
}

/* Orders relative to the first item of a space have at most NV_MAX_ORDER steps: a join that would make longer ones
 * isn't done. The bound stands in the first item's field late, which is free until levels are settled. */
void nv_space_join(nv_fuser *f, uint32_t a, uint32_t b, uint32_t order) {
  uint32_t to_a, to_b, top_a = nv_space(f, a, &to_a), top_b = nv_space(f, b, &to_b);
  if (top_a == top_b) return;
  uint32_t between = nv_order_then(f, to_a, order);
  if (between != NV_NONE) between = nv_order_then(f, between, nv_order_inverse(f, to_b));
  if (between == NV_NONE) return;
  uint32_t longest = f->orders[between].depth + f->items[top_b].late;
  if (longest > NV_MAX_ORDER) return;
  f->items[top_b].up = top_a;
  f->items[top_b].align = between;
  if (f->items[top_a].late < longest) f->items[top_a].late = longest;
}
