/* data.c - constant arrays of a context, once a content. */
#include "data.h"

struct nv_data_table {
  nv_data *list;
  uint32_t n, cap;
  nv_map map; /* by hash */
};

static struct nv_data_table *table_of(nv_ctx *c) {
  if (!c->data) c->data = NV_NEW(c, struct nv_data_table);
  return c->data;
}

uint32_t nv_data_count(const nv_ctx *c) { return c->data ? c->data->n : 0; }
nv_data *nv_data_at(nv_ctx *c, uint32_t id) { return &c->data->list[id]; }

uint64_t nv_data_bits(const nv_data *d, size_t i) {
  const unsigned size = nv_dtype_size[d->dtype];
  uint64_t bits = 0;
  for (unsigned k = 0; k < size; k++) bits |= (uint64_t)d->bytes[i * size + k] << 8 * k;
  return bits;
}

static void find_range(nv_data *d) {
  const unsigned unused = 64 - 8 * (unsigned)nv_dtype_size[d->dtype];
  d->least = INT64_MAX;
  d->most = INT64_MIN;
  for (size_t i = 0; i < d->n / nv_dtype_size[d->dtype]; i++) {
    const uint64_t bits = nv_data_bits(d, i);
    int64_t x = bits > INT64_MAX ? INT64_MAX : (int64_t)bits;
    if (nv_is(d->dtype, NV_BITS_SIGNED)) x = (int64_t)(bits << unused) / ((int64_t)1 << unused);
    if (x < d->least) d->least = x;
    if (x > d->most) d->most = x;
  }
}

/* Whose elements have a literal that every compiler reads alike. Tables of half break on Intel's GPUs. */
static bool is_table(const nv_data *d) {
  if (d->n > NV_TABLE_BYTES || d->dtype == NV_F16 || d->dtype == NV_BF16 || d->dtype == NV_C64) return false;
  for (size_t i = 0; d->dtype == NV_F32 && i < d->n / 4; i++) {
    const uint64_t exponent = nv_data_bits(d, i) >> 23 & 0xff;
    if (exponent == 0xff || (exponent == 0 && nv_data_bits(d, i) << 33)) return false; /* inf, nan, subnormals */
  }
  return true;
}

uint32_t nv_data_add(nv_ctx *c, nv_dtype dtype, nv_shape shape, const uint8_t *bytes, size_t n, nv_str name) {
  struct nv_data_table *t = table_of(c);
  int64_t dims[NV_MAX_RANK + 1] = {0};
  uint32_t at = 0, id;
  for (uint32_t k = 0; k < nv_shape_rank(c, shape); k++) dims[k] = nv_dim_value(c, nv_shape_dims(c, shape)[k]);
  const uint64_t hash = nv_hash(bytes, n, nv_hash(dims, sizeof dims, (uint64_t)dtype));
  while ((id = nv_map_next(&t->map, hash, &at)) != NV_NONE) {
    const nv_data *d = &t->list[id];
    if (d->dtype == dtype && d->shape == shape && d->n == n && !memcmp(d->bytes, bytes, n)) return id;
  }
  NV_GROW(c, t->list, t->cap, (size_t)t->n + 1);
  nv_data *d = &t->list[t->n];
  *d = (nv_data){.dtype = dtype, .shape = shape, .bytes = bytes, .n = n, .hash = hash, .name = name, .offset = -1};
  if (nv_is(dtype, NV_BITS_INT) || dtype == NV_BOOL) find_range(d);
  d->table = is_table(d);
  nv_map_add(c, &t->map, hash, t->n);
  return t->n++;
}

uint32_t nv_data_find(nv_ctx *c, uint64_t hash) {
  uint32_t at = 0;
  return c->data ? nv_map_next(&c->data->map, hash, &at) : NV_NONE;
}

nv_data *nv_data_of(const nv_graph *g, nv_value v) {
  const nv_node_rec *n = nv_node_of(g, v);
  return n->op == NV_OP_DATA ? nv_data_at(g->c, (uint32_t)nv_attr_list(g->c, n->attr)[0]) : NULL;
}

bool nv_is_table(const nv_graph *g, nv_value v) {
  const nv_data *d = nv_data_of(g, v);
  return d && d->table;
}
