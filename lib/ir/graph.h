/* graph.h - the graph IR: one flat graph an entry and signature.
 *
 *   node   op, operands (offset, count into one pool), first result, attributes, origin       20 bytes
 *   value  node, shape, dtype                                                                 12 bytes
 *
 * A value is (node, result k): id nodes[n].result + k. Operands are older than users, always, also after every pass:
 * liveness, dead code and evaluation are plain loops. Promotion and broadcasting are explicit nodes: an element-wise
 * node's operands have one shape, and the dtypes that its row asks for. Shapes and attributes are interned: equal
 * content, equal id.
 *
 * Attributes (int64 lists) an op:
 *   INPUT {index}   CONST {bits}   SIZE {parts…} (sizes.h)   DATA {id} (data.h)
 *   astype {dtype}   transpose {permutation…}   expand_dims,
 *   squeeze {axes…} (sorted, counted in the result for expand_dims, in the operand for squeeze)   reshape, broadcast_to
 *   {} (the result's shape says it)   slice {firsts…, steps…}   pad_edge {elements before…}   iota {dtype}   pick
 *   {places…} (of every axis of the operand, the axis of the result that it is; -1: the index counts along it)
 *   set_at, add_at, … {axis}   sum, max, mean, … {keepdims, axes…} (sorted; all of them listed, never "None")
 *   cumsum, … {axis, reverse, exclusive}
 *   others {}
 */
#ifndef NV_GRAPH_H
#define NV_GRAPH_H

#include "dim.h"
#include "op.h"

typedef uint32_t nv_node, nv_value, nv_shape, nv_attr;

/* ---- interned shapes and attributes ---- */
void nv_graph_tables_init(nv_ctx *c);                                 /* shapes and attributes of a context */
nv_shape nv_shape_make(nv_ctx *c, const nv_dim *dims, uint32_t rank); /* rank 0 is shape 0 */
nv_shape nv_shape_of_ints(nv_ctx *c, const int64_t *dims, uint32_t rank);
uint32_t nv_shape_rank(const nv_ctx *c, nv_shape s);
const nv_dim *nv_shape_dims(const nv_ctx *c, nv_shape s); /* stable for the context's life, as attribute lists are */
nv_dim nv_shape_elements(nv_ctx *c, nv_shape s);          /* the product */
bool nv_shape_is_static(nv_ctx *c, nv_shape s);
int64_t nv_shape_count(nv_ctx *c, nv_shape s); /* elements of a static shape; overflow: INT64_MAX */
bool nv_shape_is_empty(nv_ctx *c, nv_shape s); /* has no elements, whatever the open sizes are */
/* Elements where every open size is 4096, or its bound next to that: what choices between kernels are weighed by. */
int64_t nv_shape_weight(nv_ctx *c, nv_shape s);
int64_t nv_shape_most(nv_ctx *c, nv_shape s); /* most elements that the bounds allow; INT64_MAX: or more */
/* false: it has a negative size, or surely more than 2^48 elements, the language's limit. */
bool nv_shape_fits(nv_ctx *c, nv_shape s);
void nv_put_shape(nv_buf *b, nv_shape s);         /* "[2, B, 3]" */
const char *nv_shape_text(nv_ctx *c, nv_shape s); /* the same, in the arena */
nv_attr nv_attr_make(nv_ctx *c, const int64_t *v, uint32_t n);
uint32_t nv_attr_count(const nv_ctx *c, nv_attr a);
const int64_t *nv_attr_list(const nv_ctx *c, nv_attr a);
#define NV_NO_ATTR ((nv_attr)0) /* the empty list */

/* ---- origins: which spec node a value comes from ---- */
/* name: the statement's first target ("h"), or of an inner value the ordinal in evaluation order from 1 (0: the value
 * of the statement itself). parent: the origin of the call that the statement's function was inlined for, or NV_NONE.
 * Printed "ffn.h", "ffn.h#2", "ffn.y/gelu.e". */
typedef struct nv_origin {
  uint32_t parent;
  nv_str function, name;
  uint32_t ordinal;
  nv_pos pos;
} nv_origin;

typedef struct nv_node_rec {
  uint16_t op, noperands;
  uint32_t operands; /* offset into nv_graph.pool */
  nv_value result;   /* first */
  nv_attr attr;
  uint32_t origin;
} nv_node_rec;

typedef struct nv_value_rec {
  nv_node node;
  nv_shape shape;
  uint8_t dtype; /* nv_dtype */
} nv_value_rec;

typedef struct nv_port { /* an input or output of the graph */
  nv_value value;
  nv_str name; /* path of an input; name of an output as the evaluator's files have it */
  nv_pos pos;
} nv_port;

/* ---- sizes that are known at run time only (sizes.h) ---- */
typedef enum nv_relation {
  NV_EQUAL,      /* a == b */
  NV_BROADCASTS, /* a == b, or one of them is 1 */
  NV_REPEATS,    /* a == b, or a is 1 */
  NV_AT_MOST     /* a <= b */
} nv_relation;
typedef struct nv_guard { /* holds in every call, or the call is refused */
  nv_relation relation;
  nv_dim a, b;
  uint32_t origin; /* the node that needs it; NV_NONE: a declaration */
} nv_guard;
typedef struct nv_source { /* a symbol's value: size of an axis of an input, minus offset, over factor */
  nv_dim symbol;
  uint32_t input, axis;
  int64_t factor, offset;
} nv_source;
/* What a call says beside its arrays, as it was while tracing: a static's value, an enum node's variant, a leaf that
 * isn't trainable. */
typedef enum nv_key_kind {
  NV_KEY_INT,
  NV_KEY_FLOAT,    /* value: the double's bits */
  NV_KEY_BOOL,     /* value: 0 or 1 */
  NV_KEY_CHOICE,   /* of an enum or a string: text */
  NV_KEY_VARIANT,  /* text */
  NV_KEY_TRAINABLE /* value: 0; leaves that are trainable have none */
} nv_key_kind;
typedef struct nv_key {
  nv_key_kind kind;
  nv_str path; /* of the static, node or leaf */
  int64_t value;
  nv_str text;
} nv_key;

typedef struct nv_graph {
  nv_ctx *c;
  nv_str name; /* the entry */
  nv_node_rec *nodes;
  uint32_t nnodes, nodes_cap;
  nv_value_rec *values;
  uint32_t nvalues, values_cap;
  nv_value *pool;
  uint32_t npool, pool_cap;
  nv_origin *origins;
  uint32_t norigins, origins_cap;
  nv_port *inputs;
  uint32_t ninputs, inputs_cap; /* INPUT nodes come first, in this order */
  nv_port *outputs;
  uint32_t noutputs, outputs_cap; /* distinct outputs may hold one value */
  nv_source *sources;
  uint32_t nsources, sources_cap; /* one a symbol */
  nv_guard *guards;
  uint32_t nguards, guards_cap;
  nv_map guard_map;
  nv_key *keys;                   /* of a traced graph, in order of statics and inputs: outer nodes before inner ones */
  uint32_t nkeys, keys_cap;
} nv_graph;

nv_graph *nv_graph_new(nv_ctx *c, nv_str name);
/* Appends a node. Result dtypes and shapes are given by the caller (nv_infer computes them). Returns the first
 * result. */
nv_value nv_graph_add(nv_graph *g, nv_op op, const nv_value *operands, uint32_t n, nv_attr attr, nv_dtype dtype,
                      nv_shape shape, uint32_t origin);
nv_value nv_graph_input(nv_graph *g, nv_str name, nv_dtype dtype, nv_shape shape, nv_pos pos);
nv_value nv_graph_const(nv_graph *g, nv_dtype dtype, uint64_t bits, uint32_t origin);
/* g, which has none, gets the origins of from; neither gets more of them. */
void nv_graph_share_origins(nv_graph *g, const nv_graph *from);
uint32_t nv_graph_origin(nv_graph *g, uint32_t parent, nv_str function, nv_str name, uint32_t ordinal, nv_pos pos);
void nv_graph_output(nv_graph *g, nv_value v, nv_str name, nv_pos pos);

static inline const nv_node_rec *nv_node_of(const nv_graph *g, nv_value v) { return &g->nodes[g->values[v].node]; }
static inline nv_dtype nv_dtype_of(const nv_graph *g, nv_value v) { return (nv_dtype)g->values[v].dtype; }
static inline nv_shape nv_shape_at(const nv_graph *g, nv_value v) { return g->values[v].shape; }
static inline nv_value nv_operand(const nv_graph *g, const nv_node_rec *n, uint32_t k) {
  return g->pool[n->operands + k];
}

/* Result dtype and shape of op on operands that have the dtypes and shapes its row asks for; false when they don't
 * (text for people in *why, in the arena: it names the op or what doesn't fit). For reshape, broadcast_to, slice,
 * pad_edge and iota, *shape is given by the caller and checked. Sizes that aren't known pass unless they can't fit: the
 * guard is the caller's. */
bool nv_infer(nv_graph *g, nv_op op, const nv_value *operands, uint32_t n, nv_attr attr, nv_dtype *dtype,
              nv_shape *shape, const char **why);

/* Least and largest value of an element of v, of an integer dtype, whatever the inputs are: never too narrow. What is
 * beyond int64, or can't be told from few nodes: the dtype's own, cut to int64. (range.c) */
void nv_range(const nv_graph *g, nv_value v, int64_t *least, int64_t *most);

/* The dtype part of nv_infer, on operand dtypes after conversion. */
bool nv_infer_dtype(nv_ctx *c, nv_op op, const nv_dtype *operands, uint32_t n, nv_attr attr, nv_dtype *dtype,
                    const char **why);
/* The shape that n shapes broadcast to; false and *why where they don't. Sizes of which neither is 1 and that can't
 * be told apart are taken to be equal: those pairs need a guard (nv_dim_bcast makes the size). */
bool nv_broadcast_shapes(nv_ctx *c, const nv_shape *shapes, uint32_t n, nv_shape *shape, const char **why);

void nv_put_origin(nv_buf *b, const nv_graph *g,
                   uint32_t origin); /* "ffn.h#2"; names that are no identifiers quoted */
void nv_put_statement(nv_buf *b, const nv_graph *g,
                      uint32_t origin); /* the statement alone, without the entry's function: "h", "y/gelu.e" */
/* Statements, each once: origins that differ in ordinals alone are one. */
typedef struct nv_statements {
  const nv_graph *g;
  nv_map map;
} nv_statements;
bool nv_statement_is_new(nv_statements *s, uint32_t origin); /* not asked about before */
void nv_statements_drop(nv_statements *s);

void nv_put_const(nv_buf *b, nv_dtype dtype, uint64_t bits); /* "true", "-3", "0.5", "nan", "1.0-2.0j" */

/* Text that nv_graph_read takes back. One line a node:
 *   graph ffn
 *   dim B 0..1024                                (symbols that occur, with their bounds)
 *   %0 = input "x" : float32[B, 512]
 *   %1 = const 0x3f000000 : float32[]  # 0.5     (the value; then the origin)
 *   %2 = size 2*B : float32[]  # ffn.h#1         (a number that follows from sizes)
 *   %7 = data 0x0123456789abcdef : float32[512]  (a constant array of the context, by the hash of its content)
 *   %3 = add %0, %2 : float32[B, 512]  # ffn.h   (the origin)
 *   %4 = sum %3 {0, 1} : float32[B]
 *   %5, %6 = divmod %0, %3 : float32[B, 512]
 *   source B %0 1 2 3                            (B is (size of axis 1 of input %0 - 3) / 2)
 *   guard B <= N + 1  # ffn.h                    (also ==, ~: or one of them is 1, ~>: or the first is)
 *   output "y" = %4
 * Values are numbered as in the graph. Blank lines and lines that start with # are skipped. */
void nv_graph_print(nv_buf *b, const nv_graph *g);
/* NULL, a text in *why and the line (from 1) in *line when it isn't one; the graph keeps every invariant that
 * nv_verify checks at NV_STAGE_TRACED, and nv_graph_print prints it the same. Sizes that overflow 64 bits raise
 * NUVECC_SPEC. */
nv_graph *nv_graph_read(nv_ctx *c, const char *text, size_t n, const char **why, uint32_t *line);
/* Graphviz. */
void nv_graph_dot(nv_buf *b, const nv_graph *g);

/* Checks every invariant of the graph: operand order, arity, dtypes and shapes against nv_infer, ports; simplified:
 * no dead node, no view or conversion that changes nothing, no operation twice. nv_bug names stage and node when one
 * fails. */
typedef enum nv_stage { NV_STAGE_TRACED, NV_STAGE_SIMPLIFIED } nv_stage;
void nv_verify(const nv_graph *g, nv_stage stage);

#endif
