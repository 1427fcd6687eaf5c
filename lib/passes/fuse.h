/* fuse.h - what the fuser's files share (fuse.c, fuse_align.c, fuse_split.c, lower.c).
 *
 * The unit of the partition is the item: a node that computes (element-wise, reduction, copy, a view that has to be
 * written), or an output that isn't just an item's result. Views are no items: an edge leads through them to its base,
 * and they become index arithmetic. Items are in graph order, outputs behind them. */
#ifndef NV_FUSE_H
#define NV_FUSE_H

#include "passes.h"

typedef enum nv_edge_kind {
  NV_EDGE_CONST, /* a constant, or a number that follows from sizes: inline */
  NV_EDGE_INDEX, /* an index: computed where it is used */
  NV_EDGE_INPUT, /* read from an input of the graph */
  NV_EDGE_JOIN,  /* the base's own instruction where both are in one kernel, else read */
  NV_EDGE_CLONE, /* the base is computed again where it is used, from what it reads */
  NV_EDGE_CUT    /* written by an earlier kernel, and read */
} nv_edge_kind;

typedef enum nv_why { /* an edge was not fused */
  NV_WHY_NONE, NV_WHY_OFF, NV_WHY_REDUCED, NV_WHY_OUTER, NV_WHY_LONG, NV_WHY_OPEN, NV_WHY_LENGTHS, NV_WHY_ROW,
  NV_WHY_REDUCES, NV_WHY_REPEATS, NV_WHY_PART, NV_WHY_ORDER, NV_WHY_KEPT,
  NV_WHY_CYCLE, NV_WHY_PICKED, NV_WHY_FOLDED, NV_WHY_BUFFERS, NV_WHY_STATEMENTS, NV_WHY_UNROLLED, NV_WHY_LIVE, NV_NWHY
} nv_why;

typedef struct nv_edge {
  nv_value operand, base; /* base: operand without its views */
  uint32_t item;          /* that computes base, or NV_NONE */
  uint8_t kind, why;
} nv_edge;

typedef enum nv_item_kind {
  NV_ITEM_OP,    /* op applied to the edges' values, element by element */
  NV_ITEM_MOVE,  /* the edge's value: copy, output */
  NV_ITEM_VIEW,  /* the edge's value at another index: a view that is written */
  NV_ITEM_CONST, /* a reduction of nothing */
  NV_ITEM_PICK,  /* the second edge's base, read where the first edge's value says */
  NV_ITEM_REDUCE,
  NV_ITEM_SCAN, /* joined along an axis; as a reduction, it has an epilogue */
  NV_ITEM_FOLD  /* updates joined to elements; the same */
} nv_item_kind;

/* Its kernel is its own, with what it reads and an epilogue. */
#define nv_is_walk(item) \
  ((item)->kind == NV_ITEM_REDUCE || (item)->kind == NV_ITEM_SCAN || (item)->kind == NV_ITEM_FOLD)

typedef struct nv_item {
  nv_value value;     /* what it computes, or, an output, stores */
  nv_node node;       /* NV_NONE: an output */
  uint32_t port;      /* the graph output that it writes, or NV_NONE */
  uint32_t edges;     /* offset into nv_fuser.edges */
  uint8_t nedges, kind;
  uint16_t op;
  nv_attr attr;
  uint8_t held;       /* splitting: values held at once while it is computed, as a tree; 255: or more */
  bool kept;          /* never computed twice */
  bool needed, cloned;/* computed in a kernel of its level; computed again elsewhere */
  bool stored;        /* read by another kernel */
  bool exclusive;     /* it and all that it joins have one user */
  uint32_t uses;      /* items that use it */
  uint32_t reduction; /* in this reduction's epilogue, or NV_NONE */
  uint32_t length;    /* a reduction of rows: elements of a row. 0: it has a kernel of its own */
  uint8_t why;        /* a reduction with length 0: why others don't use its results in its kernel */
  uint32_t row;       /* runs once a row of this space in the kernel of the space's reductions, or NV_NONE */
  uint32_t level;     /* as early as possible, then as settled: kernels of one level don't depend on each other */
  uint32_t late, clone_late; /* latest level, for itself and for its clones */
  uint32_t ops;              /* of a clone: items, counted once a use */
  uint32_t depth;            /* of a clone: views passed on the longest way */
  uint32_t up, align;        /* union of spaces: parent item, own order relative to the parent's; a reduction of rows
                                stands for its operand there */
  uint32_t row_length, row_order; /* first item of a space with rows: their length, the order in which they lie in a
                                     row of their own; 0: no rows */
  uint32_t group;
  uint32_t piece, pending;   /* splitting: part of the group; users in the group that are still to come */
  uint32_t mark, instr;      /* lowering: kernel epoch, instruction */
} nv_item;

/* Orders. The elements of two values that belong together one to one are related by a chain of transpositions of their
 * linear indices (reshapes change none): lin(b) = steps(lin(a)). An order is such a chain, interned in a tree; 0 is the
 * empty one, so equal ids mean equal indices. */
typedef struct nv_step {
  uint32_t n;                /* axes, neither of size 1 nor next to each other before and after */
  nv_dim dims[NV_MAX_RANK];  /* before */
  uint8_t perm[NV_MAX_RANK]; /* axis k after is perm[k] before */
} nv_step;
typedef struct nv_order {
  uint32_t parent, step, depth;
} nv_order;
/* steps of an order, views of an edge: index expressions double with each */
enum { NV_MAX_ORDER = 8, NV_MAX_VIEWS = 8 };

typedef struct nv_memo { /* lowering: an instruction's value by graph value and element index */
  nv_dim at;
  uint32_t instr, next;
} nv_memo;

typedef struct nv_fuser {
  nv_ctx *c;
  nv_graph *g;
  nv_plan *plan;
  bool fuse;
  uint32_t max_buffers;     /* operands of a kernel */
  nv_item *items; uint32_t nitems, items_cap;
  nv_edge *edges; uint32_t nedges, edges_cap;
  uint32_t nnode_items;     /* items before the outputs */
  /* a value */
  uint32_t *item_of;        /* NV_NONE: none */
  nv_value *base, *next;    /* of a view: what it is a view of in the end, and in one step */
  uint32_t *order;          /* relative to base; NV_NONE: elements are repeated or left out */
  bool *part;               /* a slice stands on the way to base */
  uint16_t *picked;         /* axes along which elements are picked from it */
  uint8_t *views;           /* on the way to base */
  /* orders */
  nv_step *steps; uint32_t nsteps, steps_cap;
  nv_order *orders; uint32_t norders, orders_cap;
  nv_map step_map, order_map;
  /* groups: items that become one kernel, or several when it would be too large */
  uint32_t ngroups;
  uint32_t *group_start, *members; /* members of group k: [group_start[k], group_start[k + 1]) */
  /* lowering; a value */
  uint32_t epoch;
  uint32_t *memo_mark, *memo_head, *operand_mark, *operand_index;
  nv_memo *memo; uint32_t nmemo, memo_cap;
  const char *why[NV_NWHY]; /* texts */
} nv_fuser;

/* Bytes of a value, as they are weighed (nv_shape_weight). */
static inline int64_t nv_value_weight(const nv_fuser *f, nv_value v) {
  int64_t bytes;
  const bool fits = nv_mul64(nv_shape_weight(f->c, nv_shape_at(f->g, v)), nv_dtype_size[nv_dtype_of(f->g, v)], &bytes);
  return fits ? bytes : INT64_MAX / 4;
}
/* Is it a constant, or a number that follows from sizes? */
static inline bool nv_is_number(const nv_fuser *f, nv_value v) {
  const uint16_t op = nv_node_of(f->g, v)->op;
  return op == NV_OP_CONST || op == NV_OP_SIZE;
}
/* Do two values have as many elements, for all sizes that fit? */
static inline bool nv_as_many(const nv_fuser *f, nv_value a, nv_value b) {
  return nv_shape_elements(f->c, nv_shape_at(f->g, a)) == nv_shape_elements(f->c, nv_shape_at(f->g, b));
}

/* ---- fuse_align.c ---- */
void nv_orders_init(nv_fuser *f);
/* a followed by transposing an array of shape by perm. */
uint32_t nv_order_transpose(nv_fuser *f, uint32_t a, nv_shape shape, nv_attr perm);
/* a followed by b; NV_NONE: longer than NV_MAX_ORDER. */
uint32_t nv_order_then(nv_fuser *f, uint32_t a, uint32_t b);
uint32_t nv_order_inverse(nv_fuser *f, uint32_t a);
/* The space (its first item) that an item belongs to, and its order relative to that item's. */
uint32_t nv_space(nv_fuser *f, uint32_t item, uint32_t *order);
/* Makes lin(b) = order(lin(a)) true of items a and b, unless something else is true of them already. */
void nv_space_join(nv_fuser *f, uint32_t a, uint32_t b, uint32_t order);

/* ---- fuse_rows.c ---- */
/* Sets the length of a reduction (or why it has none). */
void nv_find_row_length(nv_fuser *f, uint32_t item);
/* Sets the rows of all spaces; a reduction that has others loses its length. */
void nv_find_rows(nv_fuser *f);
/* The space whose row an item gives a value for, or NV_NONE. */
uint32_t nv_row_of(nv_fuser *f, uint32_t item);
/* Does the edge of an item of the space lead, from each element of a row, to the row's number? */
bool nv_is_repeated_row(nv_fuser *f, uint32_t item, const nv_edge *d, uint32_t top);

/* ---- fuse_split.c ---- */
/* Lowers a group of element-wise items and reductions of rows to kernels within the target's limits. */
void nv_split_group(nv_fuser *f, uint32_t *items, uint32_t n);

/* ---- lower_index.c ---- */
/* A symbol below extent. The point in its name keeps it apart from the dims of a spec; number NV_NONE: none. */
nv_dim nv_index_symbol_of(nv_ctx *c, const char *name, uint32_t number, nv_dim extent);
/* The row-major index of the element at[0], at[1], … of an array of n dims, and back. */
nv_dim nv_join_index(nv_ctx *c, const nv_dim *at, const nv_dim *dims, uint32_t n);
void nv_split_index(nv_ctx *c, nv_dim linear, const nv_dim *dims, uint32_t n, nv_dim *at);
typedef struct nv_element { /* which element of an array a point works on */
  nv_shape shape;
  nv_dim linear;            /* row-major */
  bool split;               /* at[] is known */
  bool part;                /* a slice leaves elements of the array out */
  nv_dim at[NV_MAX_RANK];
} nv_element;
void nv_split_element(nv_ctx *c, nv_element *e);
/* The same linear index in another shape. */
nv_element nv_reshaped(nv_ctx *c, const nv_element *e, nv_shape shape);
/* The element of a view's operand that its element e is. */
nv_element nv_before_view(nv_fuser *f, nv_value view, nv_element e);
/* What an order makes of a linear index. */
nv_dim nv_follow_order(nv_fuser *f, uint32_t order, nv_dim linear);

/* ---- lower.c ---- */
/* A MAP kernel of items, which are in an order that respects their edges. */
void nv_lower_map(nv_fuser *f, const uint32_t *items, uint32_t n, nv_kernel *k);
/* The same with reductions of rows and what runs once a row: a ROWS kernel, or a simpler one where that does. */
void nv_lower_rows(nv_fuser *f, const uint32_t *items, uint32_t n, nv_kernel *k);
/* A REDUCE kernel: items[0] is the reduction, the others are its epilogue. */
void nv_lower_reduce(nv_fuser *f, const uint32_t *items, uint32_t n, nv_kernel *k);
/* Does a step along axis of a view move by as many elements of its base everywhere? */
bool nv_is_even(nv_fuser *f, nv_value view, uint32_t axis);
/* A MAP kernel: items[0] is the fold, the others are its epilogue. */
void nv_lower_fold(nv_fuser *f, const uint32_t *items, uint32_t n, nv_kernel *k);
/* A SCAN kernel: items[0] is the scan, the others are its epilogue. */
void nv_lower_scan(nv_fuser *f, const uint32_t *items, uint32_t n, nv_kernel *k);
/* Instructions that become a statement: all but constants. */
uint32_t nv_kernel_statements(const nv_kernel *k);
void nv_kernel_drop(nv_ctx *c, nv_kernel *k);

/* ---- lower_tables.c ---- */
/* Its tables behind its other operands. */
void nv_add_kernel(nv_fuser *f, const nv_kernel *k);

#endif
