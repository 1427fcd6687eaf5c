/* graph.c - interned shapes and attributes, and the building of graphs. */
#include "graph.h"

#define MAX_ELEMENTS (INT64_C(1) << 48)

/* ---- shapes ---- */

typedef struct shape_rec {
  const nv_dim *dims;
  uint32_t rank;
  nv_dim elements; /* NV_NONE until asked for */
  int64_t count;   /* -1: not static */
} shape_rec;

struct nv_shapes {
  shape_rec *shapes;
  uint32_t n, cap;
  nv_map map;
};

/* ---- attributes ---- */

typedef struct attr_rec {
  const int64_t *list;
  uint32_t n;
} attr_rec;

struct nv_attrs {
  attr_rec *attrs;
  uint32_t n, cap;
  nv_map map;
};

void nv_graph_tables_init(nv_ctx *c) {
  c->shapes = NV_NEW(c, struct nv_shapes);
  c->attrs = NV_NEW(c, struct nv_attrs);
  nv_shape_make(c, NULL, 0);
  nv_attr_make(c, NULL, 0);
}

nv_shape nv_shape_make(nv_ctx *c, const nv_dim *dims, uint32_t rank) {
  struct nv_shapes *t = c->shapes;
  uint64_t hash = rank ? nv_hash(dims, rank * sizeof *dims, rank) : 0;
  uint32_t at = 0, id;
  while ((id = nv_map_next(&t->map, hash, &at)) != NV_NONE)
    if (t->shapes[id].rank == rank &&
        (rank == 0 || memcmp(t->shapes[id].dims, dims, rank * sizeof *dims) == 0))
      return id;
  shape_rec r = {NULL, rank, NV_NONE, 1};
  nv_dim *copy = NV_NEW_N(c, nv_dim, rank);
  bool empty = false;
  for (uint32_t k = 0; k < rank; k++) {
    int64_t v;
    copy[k] = dims[k];
    if (!nv_dim_is_const(c, dims[k], &v))
      r.count = -1;
    else if (v == 0)
      empty = true;
    else if (r.count >= 0 && !nv_mul64(r.count, v, &r.count))
      r.count = INT64_MAX;
  }
  if (empty && r.count >= 0) r.count = 0;
  r.dims = copy;
  NV_GROW(c, t->shapes, t->cap, (size_t)t->n + 1);
  id = t->n++;
  t->shapes[id] = r;
  nv_map_add(c, &t->map, hash, id);
  return id;
}

nv_shape nv_shape_of_ints(nv_ctx *c, const int64_t *dims, uint32_t rank) {
  nv_dim d[NV_MAX_RANK];
  if (rank > NV_MAX_RANK) nv_bug(c, "a shape of rank %u", rank);
  for (uint32_t k = 0; k < rank; k++) d[k] = nv_dim_const(c, dims[k]);
  return nv_shape_make(c, d, rank);
}

uint32_t nv_shape_rank(const nv_ctx *c, nv_shape s) { return c->shapes->shapes[s].rank; }
const nv_dim *nv_shape_dims(const nv_ctx *c, nv_shape s) { return c->shapes->shapes[s].dims; }
bool nv_shape_is_static(nv_ctx *c, nv_shape s) { return c->shapes->shapes[s].count >= 0; }

nv_dim nv_shape_elements(nv_ctx *c, nv_shape s) {
  shape_rec *r = &c->shapes->shapes[s];
  if (r->elements == NV_NONE) {
    nv_dim product = nv_dim_const(c, 1);
    if (r->count == 0)
      product = nv_dim_const(c, 0); /* without the other sizes, which may overflow */
    else
      for (uint32_t k = 0; k < r->rank; k++) product = nv_dim_mul(c, product, r->dims[k]);
    r->elements = product;
  }
  return r->elements;
}

int64_t nv_shape_count(nv_ctx *c, nv_shape s) {
  int64_t count = c->shapes->shapes[s].count;
  if (count < 0) nv_bug(c, "the shape %s is not static", nv_shape_text(c, s));
  return count;
}

bool nv_shape_is_empty(nv_ctx *c, nv_shape s) {
  const shape_rec r = c->shapes->shapes[s];
  for (uint32_t k = 0; k < r.rank; k++)
    if (r.dims[k] == NV_DIM_ZERO) return true;
  return false;
}

/* Elements where open sizes count as open, but within their bounds. */
static int64_t count_as(nv_ctx *c, nv_shape s, int64_t open) {
  const shape_rec r = c->shapes->shapes[s];
  int64_t count = 1;
  if (r.count >= 0) return r.count;
  for (uint32_t k = 0; k < r.rank; k++) {
    int64_t min, max;
    nv_dim_bounds(c, r.dims[k], &min, &max);
    if (!nv_mul64(count, min > open ? min : max < open ? max : open, &count)) return INT64_MAX;
  }
  return count;
}
int64_t nv_shape_weight(nv_ctx *c, nv_shape s) { return count_as(c, s, 4096); }
int64_t nv_shape_most(nv_ctx *c, nv_shape s) { return count_as(c, s, INT64_MAX); }

bool nv_shape_fits(nv_ctx *c, nv_shape s) {
  const shape_rec r = c->shapes->shapes[s];
  int64_t least = 1;
  for (uint32_t k = 0; k < r.rank; k++) {
    int64_t min, max;
    nv_dim_bounds(c, r.dims[k], &min, &max);
    if (max < 0 || min > MAX_ELEMENTS) return false;
    if (!nv_mul64(least, min < 0 ? 0 : min, &least)) least = INT64_MAX;
  }
  return least <= MAX_ELEMENTS;
}

void nv_put_shape(nv_buf *b, nv_shape s) {
  const shape_rec r = b->c->shapes->shapes[s];
  nv_putc(b, '[');
  for (uint32_t k = 0; k < r.rank; k++) {
    if (k) nv_puts(b, ", ");
    nv_put_dim(b, r.dims[k]);
  }
  nv_putc(b, ']');
}

const char *nv_shape_text(nv_ctx *c, nv_shape s) {
  nv_buf b;
  nv_buf_init(&b, c);
  nv_put_shape(&b, s);
  return nv_buf_text(&b);
}

nv_attr nv_attr_make(nv_ctx *c, const int64_t *v, uint32_t n) {
  struct nv_attrs *t = c->attrs;
  uint64_t hash = n ? nv_hash(v, n * sizeof *v, n) : 0;
  uint32_t at = 0, id;
  while ((id = nv_map_next(&t->map, hash, &at)) != NV_NONE)
    if (t->attrs[id].n == n && (n == 0 || memcmp(t->attrs[id].list, v, n * sizeof *v) == 0)) return id;
  int64_t *copy = NV_NEW_N(c, int64_t, n);
  if (n) memcpy(copy, v, n * sizeof *v);
  NV_GROW(c, t->attrs, t->cap, (size_t)t->n + 1);
  id = t->n++;
  t->attrs[id] = (attr_rec){copy, n};
  nv_map_add(c, &t->map, hash, id);
  return id;
}

uint32_t nv_attr_count(const nv_ctx *c, nv_attr a) { return c->attrs->attrs[a].n; }
const int64_t *nv_attr_list(const nv_ctx *c, nv_attr a) { return c->attrs->attrs[a].list; }

/* ---- graphs ---- */

nv_graph *nv_graph_new(nv_ctx *c, nv_str name) {
  nv_graph *g = NV_NEW(c, nv_graph);
  g->c = c;
  g->name = name;
  return g;
}

nv_value nv_graph_add(nv_graph *g, nv_op op, const nv_value *operands, uint32_t n, nv_attr attr,
                      nv_dtype dtype, nv_shape shape, uint32_t origin) {
  uint32_t results = nv_op_results(op);
  NV_GROW(g->c, g->nodes, g->nodes_cap, (size_t)g->nnodes + 1);
  NV_GROW(g->c, g->values, g->values_cap, (size_t)g->nvalues + results);
  NV_GROW(g->c, g->pool, g->pool_cap, (size_t)g->npool + n);
  nv_value first = g->nvalues;
  g->nodes[g->nnodes] = (nv_node_rec){(uint16_t)op, (uint16_t)n, g->npool, first, attr, origin};
  for (uint32_t k = 0; k < n; k++) g->pool[g->npool++] = operands[k];
  for (uint32_t k = 0; k < results; k++)
    g->values[g->nvalues++] = (nv_value_rec){g->nnodes, shape, (uint8_t)dtype};
  g->nnodes++;
  return first;
}

nv_value nv_graph_input(nv_graph *g, nv_str name, nv_dtype dtype, nv_shape shape, nv_pos pos) {
  if (g->nnodes != g->ninputs) nv_bug(g->c, "an input behind another node");
  int64_t index = g->ninputs;
  nv_value v = nv_graph_add(g, NV_OP_INPUT, NULL, 0, nv_attr_make(g->c, &index, 1), dtype, shape, NV_NONE);
  NV_GROW(g->c, g->inputs, g->inputs_cap, (size_t)g->ninputs + 1);
  g->inputs[g->ninputs++] = (nv_port){v, name, pos};
  return v;
}

nv_value nv_graph_const(nv_graph *g, nv_dtype dtype, uint64_t bits, uint32_t origin) {
  int64_t list = (int64_t)bits; /* two's complement: the same bits */
  return nv_graph_add(g, NV_OP_CONST, NULL, 0, nv_attr_make(g->c, &list, 1), dtype, 0, origin);
}

uint32_t nv_graph_origin(nv_graph *g, uint32_t parent, nv_str function, nv_str name, uint32_t ordinal,
                         nv_pos pos) {
  if (g->origins && !g->origins_cap) nv_bug(g->c, "an origin is added to those of another graph");
  NV_GROW(g->c, g->origins, g->origins_cap, (size_t)g->norigins + 1);
  g->origins[g->norigins] = (nv_origin){parent, function, name, ordinal, pos};
  return g->norigins++;
}

void nv_graph_share_origins(nv_graph *g, const nv_graph *from) {
  g->origins = from->origins;
  g->norigins = from->norigins;
  g->origins_cap = 0;
}

void nv_graph_output(nv_graph *g, nv_value v, nv_str name, nv_pos pos) {
  NV_GROW(g->c, g->outputs, g->outputs_cap, (size_t)g->noutputs + 1);
  g->outputs[g->noutputs++] = (nv_port){v, name, pos};
}

/* short_: no ordinals, and not the outermost function where the statement has a name. */
static void put_origin(nv_buf *b, const nv_graph *g, uint32_t origin, bool short_) {
  uint32_t *chain = NULL, n = 0, cap = 0;
  for (; origin != NV_NONE && n <= g->norigins; origin = g->origins[origin].parent) {
    NV_GROW(b->c, chain, cap, (size_t)n + 1);
    chain[n++] = origin;
  }
  for (uint32_t k = n; k-- > 0;) {
    const nv_origin *o = &g->origins[chain[k]];
    const bool function = !short_ || k + 1 < n || !o->name;
    if (function) nv_put_name(b, o->function);
    if (function && o->name) nv_putc(b, '.');
    if (o->name) nv_put_name(b, o->name);
    if (o->ordinal && !short_) nv_printf(b, "#%u", o->ordinal);
    if (k) nv_putc(b, '/');
  }
  nv_drop(b->c, chain);
}

void nv_put_origin(nv_buf *b, const nv_graph *g, uint32_t origin) { put_origin(b, g, origin, false); }
void nv_put_statement(nv_buf *b, const nv_graph *g, uint32_t origin) { put_origin(b, g, origin, true); }

static bool same_statement(const nv_graph *g, uint32_t a, uint32_t b) {
  for (; a != b; a = g->origins[a].parent, b = g->origins[b].parent) {
    if (a == NV_NONE || b == NV_NONE) return false;
    if (g->origins[a].function != g->origins[b].function || g->origins[a].name != g->origins[b].name) return false;
  }
  return true;
}

bool nv_statement_is_new(nv_statements *s, uint32_t origin) {
  uint64_t hash = 0;
  for (uint32_t o = origin; o != NV_NONE; o = s->g->origins[o].parent) {
    const nv_str part[] = {s->g->origins[o].function, s->g->origins[o].name};
    hash = nv_hash(part, sizeof part, hash);
  }
  uint32_t at = 0, other;
  while ((other = nv_map_next(&s->map, hash, &at)) != NV_NONE)
    if (same_statement(s->g, origin, other)) return false;
  nv_map_add(s->g->c, &s->map, hash, origin);
  return true;
}
void nv_statements_drop(nv_statements *s) { nv_map_drop(s->g->c, &s->map); }
