/* trace.h - private to trace*.c: what tracing works on.
 *
 * Tracing is one machine with two stacks: work (what is still to be done) and values (results). Expressions,
 * statements, loops and inlined calls are all work items, so nothing recurses over what the user wrote. Evaluating an
 * expression leaves exactly one value. A value that could not be made is poison: what follows from it is poison too
 * and is not reported again. */
#ifndef NV_TRACE_H
#define NV_TRACE_H

#include "../ir/sizes.h"
#include "../spec/build.h"
#include "passes.h"

#include <stdio.h>
#include <stdlib.h>

#define NVT_MAX_CALLS 256
#define NVT_MAX_NODES (INT64_C(1) << 26)
#define NVT_MAX_ELEMENTS (INT64_C(1) << 48)
#define NVT_MAX_ITERATIONS (INT64_C(1) << 20)
#define NVT_MAX_PORTS 65535
#define NVT_MAX_STEPS (INT64_C(1) << 26) /* of work that makes no node; each node brings 32 more */
#define NVT_MAX_NEST 256

/* ---- values ---- */
typedef enum nvt_kind {
  NVT_POISON,
  NVT_SIZE, NVT_INT, NVT_FLOAT, NVT_COMPLEX, NVT_BOOL, /* weak numbers; SIZE: known at run time only */
  NVT_STRING, NVT_DTYPE, NVT_NONE,
  NVT_ELLIPSIS, NVT_SLICE,                /* only inside an index; SLICE: seq of three */
  NVT_LIST, NVT_TREE,                     /* of any values; a tree's fields are sorted by name */
  NVT_ARRAY
} nvt_kind;

typedef struct nvt_seq nvt_seq;
typedef struct nvt_val {
  nvt_kind kind;
  union {
    int64_t i;
    double f;
    bool b;
    nv_str s;
    nv_dtype d;
    nv_value v;
    nv_attr attr;    /* SIZE: an expression (sizes.h) */
    const nvt_seq *seq;
    const double *z; /* COMPLEX: real and imaginary part */
  } u;
  nv_str variant;    /* of an enum node, whose value is that of the variant; 0: none */
  bool frozen;       /* a leaf declared trainable: false */
  bool fixed;        /* a static field of a tree: part of its form, no leaf */
} nvt_val;
struct nvt_seq { /* immutable once made */
  uint32_t n;
  bool static_;   /* no array inside */
  bool poison;    /* a poison inside */
  nv_str *names;  /* TREE */
  nvt_val *at;
};

static inline nvt_val nvt_poison(void) { return (nvt_val){.kind = NVT_POISON, .u = {0}}; }
static inline nvt_val nvt_none(void) { return (nvt_val){.kind = NVT_NONE, .u = {0}}; }
static inline nvt_val nvt_int(int64_t i) { return (nvt_val){.kind = NVT_INT, .u = {.i = i}}; }
static inline nvt_val nvt_float(double f) { return (nvt_val){.kind = NVT_FLOAT, .u = {.f = f}}; }
static inline nvt_val nvt_bool(bool b) { return (nvt_val){.kind = NVT_BOOL, .u = {.b = b}}; }
static inline nvt_val nvt_string(nv_str s) { return (nvt_val){.kind = NVT_STRING, .u = {.s = s}}; }
static inline nvt_val nvt_dtype(nv_dtype d) { return (nvt_val){.kind = NVT_DTYPE, .u = {.d = d}}; }
static inline nvt_val nvt_array(nv_value v) { return (nvt_val){.kind = NVT_ARRAY, .u = {.v = v}}; }
static inline bool nvt_is_number(nvt_val v) { return v.kind >= NVT_SIZE && v.kind <= NVT_BOOL; }
static inline bool nvt_is_seq(nvt_val v) { return v.kind == NVT_LIST || v.kind == NVT_TREE || v.kind == NVT_SLICE; }
static inline bool nvt_is_poison(nvt_val v) { return v.kind == NVT_POISON || (nvt_is_seq(v) && v.u.seq->poison); }
static inline bool nvt_is_static(nvt_val v) { return v.kind != NVT_ARRAY && (!nvt_is_seq(v) || v.u.seq->static_); }

/* ---- names ---- */
typedef struct nvt_binding {
  nv_str name;
  uint32_t outer; /* binding of the same name that this one hides, or NV_NONE */
  uint32_t frame;
  nvt_val value;
  nv_pos pos;
  nv_str by;      /* a dim or dtype variable: the parameter that bound it, or NV_NONE */
} nvt_binding;

typedef struct nvt_slot { /* what one interned text means; index: nv_str */
  uint32_t binding;  /* innermost, NV_NONE */
  uint32_t user, builtin, constant, type, signature; /* NV_NONE: none */
  uint16_t op;       /* nv_op, or NV_NOPS */
  bool looked_up;    /* op is known */
  bool output;       /* an output has this name */
  uint32_t mark;     /* equal to nvt.stamp: marked; to nvt.arrays: an array, surely (trace_count.c) */
} nvt_slot;

/* ---- machine ---- */
typedef enum nvt_do {
  NVT_EVAL,      /* ast: leaves one value */
  NVT_APPLY,     /* ast, whose children's values lie on the stack */
  NVT_SHORT,     /* ast: and, or; the first operand's value lies on the stack */
  NVT_BLOCK,     /* p: block, i: next statement */
  NVT_ASSIGN,    /* p: stmt; its value lies on the stack, then those of its targets' indices */
  NVT_IF,        /* p: stmt; the condition lies on the stack */
  NVT_IF_END,    /* p: stmt, i: 1 when then_ ran */
  NVT_FOR,       /* p: stmt; what is iterated lies on the stack */
  NVT_FOR_NEXT,  /* p: stmt, i: next element; the list stays on the stack */
  NVT_FOR_END,   /* p: stmt: one iteration is over */
  NVT_MAP,       /* p: stmt; the trees lie on the stack */
  NVT_MAP_NEXT,  /* p: nvt_map, i: next leaf */
  NVT_MAP_WHERE, /* p: nvt_map, i: leaf; its condition lies on the stack */
  NVT_MAP_LEAF,  /* p: nvt_map, i: leaf, which is computed */
  NVT_CONTEXT,   /* ast, i: name: values from now on belong to an output */
  NVT_OUT,       /* ast, i: name: an output or a tree of outputs */
  NVT_OUT_LEAF,  /* ast, i: name: the value on the stack is an output of the entry */
  NVT_OUT_BUILD, /* ast: list or tree of outputs of an inlined call */
  NVT_RETURN     /* the frame ends; its value lies on the stack */
} nvt_do;
typedef struct nvt_work {
  nvt_do what;
  nv_ast ast;
  uint32_t i;
  const void *p;
} nvt_work;

typedef struct nvt_frame {
  const nv_function *fn;
  nv_pos call_pos;
  nv_pos user_pos;      /* inside a built-in: the user's call */
  nv_str user_name;     /* inside a built-in: the function that the user called */
  uint32_t parent;      /* origin of the call, NV_NONE for the entry */
  uint32_t scopes;      /* open blocks below it */
  nv_str stmt;          /* name of the running statement */
  uint32_t ordinal;     /* inner values numbered so far */
  nv_ast root;          /* its expression */
  uint32_t act;         /* of the rehearsal (trace_rehearse.c), NV_NONE: none */
} nvt_frame;

typedef struct nvt_refusal {
  nv_pos pos;
  const char *what;
} nvt_refusal;

typedef struct nvt_cost { /* of a function's body, at the least */
  int64_t nodes, calls;
  int64_t most; /* calls at the most, each loop of unknown length taken once */
  int64_t peak; /* nodes at the most, of what is counted: each loop of unknown length taken as a long one */
  int64_t own;  /* nodes without those of inner blocks */
} nvt_cost;

struct nvt_body { /* a block inside a statement */
  const nv_stmt_block *b;
  bool entry; /* counted as the entry's */
  nvt_cost cost;
};

typedef struct nvt_arg nvt_arg;
struct nvt_opcall;
typedef struct nvt {
  nv_ctx *c;
  nv_spec *s;
  nv_graph *g;
  const nv_entry *entry;
  const nv_signature *signature;
  bool *signature_used;

  nvt_slot *slots; uint32_t nslots, slots_cap;
  nvt_binding *bindings; uint32_t nbindings, bindings_cap;
  uint32_t *scopes; uint32_t nscopes, scopes_cap; /* bindings at the start of each open block */
  nvt_work *work; uint32_t nwork, work_cap;
  nvt_val *vals; uint32_t nvals, vals_cap;
  nvt_frame frames[NVT_MAX_CALLS + 1]; uint32_t nframes;
  uint32_t origin;      /* of the op being made */
  uint32_t stamp;       /* of the newest marking of slots */
  int64_t iterations, calls; /* so far */
  int64_t steps;        /* of work so far: work items, elements of lists and trees */
  uint32_t arrays;      /* the stamp of the newest count */
  struct nvt_rehearsal *rehearsal; /* NULL: this is the real thing */
  struct { /* by the rehearsal, as these calls were seen before */
    int64_t nodes, steps;
  } skipped;
  nvt_cost *costs;      /* nv_spec's, a function: NULL until one is asked for; nodes -1: not known yet */
  struct nvt_body *bodies; uint32_t nbodies, bodies_cap;
  nv_map body_map;
  nvt_arg *args; uint32_t args_cap; /* of the call that is being matched */
  struct { nv_shape shape; nvt_val list; } asked; /* the last shape that was asked for, as a list */
  nvt_binding *leaving; uint32_t leaving_cap; /* what a block leaves bound */
  nvt_refusal *refusals; uint32_t nrefusals, refusals_cap;
  bool foresight;       /* what is evaluated now makes nothing and reports nothing (trace_foresee.c) */
  struct { uint32_t frames, work; } foreseen; /* the loop that was: the loops in its body need not be */
  bool failed;          /* an error was found */
  bool stop;            /* a limit was hit: wind down */
} nvt;

static inline nvt_frame *nvt_top(nvt *t) { return &t->frames[t->nframes - 1]; }
static inline const nv_ast_node *nvt_at(const nvt *t, nv_ast a) { return &t->s->ast[a]; }

/* ---- trace_value.c: errors, names, values ---- */
/* At pos in the running function; inside a built-in at the user's call, with the built-in's name before the text.
 * false: an error at that place was reported before (another signature, call or iteration found it). */
bool nvt_error(nvt *t, nv_pos pos, const char *format, ...) NV_PRINTF(3, 4);
void nvt_warn(nvt *t, nv_pos pos, const char *format, ...) NV_PRINTF(3, 4);
nv_pos nvt_place(const nvt *t, nv_pos pos);
/* A limit is passed: reported once, also in a rehearsal, and the trace stops. */
void nvt_over(nvt *t, nv_pos pos, const char *format, ...) NV_PRINTF(3, 4);
/* "not supported yet: what": reported at the end, when nothing else was wrong; once for each text. */
void nvt_refuse(nvt *t, nv_pos pos, const char *format, ...) NV_PRINTF(3, 4);
nvt_slot *nvt_slot_of(nvt *t, nv_str name);
nvt_binding *nvt_find(nvt *t, nv_str name); /* in the running function; NULL: none */
bool nvt_in_block(const nvt *t, const nvt_binding *b); /* bound in the innermost open block? */
nvt_binding *nvt_bind(nvt *t, nv_str name, nvt_val v, nv_pos pos);
void nvt_rebind(nvt *t, nv_str name, nvt_val v, nv_pos pos); /* in the innermost open block */
void nvt_scope_push(nvt *t);
void nvt_scope_pop(nvt *t);
/* "; did you mean exp?" or "", from the names in scope and the n others. */
const char *nvt_suggest(nvt *t, nv_str name, bool scope, const char *const *others, uint32_t n);
/* So many steps of work more: what makes no node must end too. */
void nvt_count(nvt *t, int64_t steps);
nvt_val nvt_seq_make(nvt *t, nvt_kind kind, const nvt_val *at, const nv_str *names, uint32_t n);
uint32_t nvt_field(nvt *t, const nvt_seq *s, nv_str name); /* index of a tree's field, NV_NONE: none */
const char *nvt_show(nvt *t, nvt_val v);      /* "float32[3, 4]", "the int 3", "a tree" */
const char *nvt_show_form(nvt *t, nvt_val v); /* the same, with an enum node's variant */
const char *nvt_show_number(nvt *t, nvt_val v);
const char *nvt_show_array(nvt *t, nv_value v);
const char *nvt_show_shape(nvt *t, nv_shape s);
void nvt_push(nvt *t, nvt_val v);
nvt_val nvt_pop(nvt *t);
void nvt_do_work(nvt *t, nvt_do what, nv_ast ast, uint32_t i, const void *p);
void nvt_reverse_work(nvt *t, uint32_t from); /* so that what was pushed since from is done in order */

/* ---- trace_static.c: arithmetic on static values ---- */
nvt_val nvt_literal(nvt *t, nv_ast a);
nvt_val nvt_static_unary(nvt *t, nv_operator op, nvt_val a, nv_pos pos);
nvt_val nvt_static_binary(nvt *t, nv_operator op, nvt_val a, nvt_val b, nv_pos pos);
nvt_val nvt_static_compare(nvt *t, nv_operator op, nvt_val a, nvt_val b, nv_pos pos);
bool nvt_truth(nvt_val v);
bool nvt_is_static_function(const char *name);
/* A call of one on static operands (len: on any list); ast is the call. */
nvt_val nvt_static_call(nvt *t, nv_ast ast, const nvt_val *args);
/* Bits of a weak number in a dtype, rounded once. false: out of range, reported at pos. */
bool nvt_weak_bits(nvt *t, nvt_val v, nv_dtype d, nv_pos pos, uint64_t *bits);
/* dtype(...) on a static value: rounded once; a literal (kind NV_AST_INT or NV_AST_FLOAT; else NV_AST_NONE) from its
 * text, anything else from v. false: reported at pos. */
bool nvt_strong_bits(nvt *t, nv_dtype d, nv_ast_kind kind, const char *text, nvt_val v, nv_pos pos, uint64_t *bits);

/* ---- trace_size.c: sizes that are known at run time only ---- */
nvt_val nvt_size(nvt *t, nv_dim d);               /* an int where the dim is constant */
bool nvt_is_whole(nvt *t, nvt_val v);             /* an int, known or not? */
bool nvt_dim_of(nvt *t, nvt_val v, nv_dim *d);    /* that int */
nvt_val nvt_size_float(nvt *t, nvt_val v, nv_pos pos);
const char *nvt_show_dim(nvt *t, nv_dim d);
const char *nvt_show_size(nvt *t, nvt_val v);
/* Is v no number that is known at run time only? false: reported. */
bool nvt_known(nvt *t, nvt_val v, nv_pos pos);
/* What must hold in every call, because of what stands at pos; false: it never does. */
bool nvt_guard(nvt *t, nv_relation relation, nv_dim a, nv_dim b, nv_pos pos);
nv_value nvt_size_value(nvt *t, nvt_val v, nv_dtype dtype, nv_pos pos);
/* Static arithmetic where an operand is of kind SIZE. */
nvt_val nvt_size_binary(nvt *t, nv_operator op, nvt_val a, nvt_val b, nv_pos pos);
nvt_val nvt_size_unary(nvt *t, nv_operator op, nvt_val a, nv_pos pos);
nvt_val nvt_size_compare(nvt *t, nv_operator op, nvt_val a, nvt_val b, nv_pos pos);
nvt_val nvt_size_call(nvt *t, const char *name, const nvt_val *v, uint32_t n, nv_pos pos);
/* Does a call have operands or attributes of open sizes? */
bool nvt_is_open(nvt *t, const struct nvt_opcall *call);
nvt_val nvt_refuse_open(nvt *t, const struct nvt_opcall *call);
bool nvt_open_steps(nvt *t, const struct nvt_opcall *call, nvt_val *out); /* both; false: all sizes are known */

/* ---- trace_ops.c, trace_attr.c: nodes ---- */
struct nvt_arg {
  nvt_val v;
  nv_ast ast; /* NV_NONE: an operand of an operator that trace made up */
  nv_pos pos;
  bool given;
};
typedef struct nvt_opcall {
  nv_op op;
  nv_pos pos;           /* operator, or the call's name */
  bool root;            /* it is the statement's own value */
  nvt_arg in[NV_MAX_OPERANDS];
  uint32_t n;           /* operands, left-out ones among them */
  nvt_arg attr[NV_MAX_ATTRS];
} nvt_opcall;

nv_op nvt_op_of(nvt *t, nv_str name); /* NV_NOPS: none */
bool nvt_is_future_op(const char *name);
uint32_t nvt_future_ops(const char *const **names); /* their number */
/* An op without a row yet, on these operands. */
void nvt_refuse_op(nvt *t, const char *name, nv_pos pos, const nvt_arg *in, uint32_t n);
nvt_val nvt_apply_op(nvt *t, nvt_opcall *call);
/* trace_expand.c: an op that is made of others; NVT_NONE: it is a node. */
nvt_val nvt_expand(nvt *t, const nvt_opcall *call);
/* Sorts the arguments of a call of op into operands and attributes; false: reported. */
bool nvt_sort_args(nvt *t, nv_ast ast, const nvt_val *args, nvt_opcall *call);
nvt_val nvt_operator(nvt *t, nv_operator op, nv_ast ast, const nvt_val *args);
nvt_val nvt_constant(nvt *t, nv_dtype d, uint64_t bits, nv_pos pos, bool root);
/* A weak number that ends as an array of its own. */
nvt_val nvt_alone(nvt *t, nvt_val v, nv_pos pos);
nv_dtype nvt_alone_dtype(nvt *t, nvt_val v);
/* A weak number in a dtype, with the origin that was set last; NV_NONE: out of range, reported at pos. */
nv_value nvt_weak_value(nvt *t, nvt_val v, nv_dtype d, nv_pos pos);
void nvt_origin(nvt *t, nv_pos pos, bool root); /* sets t->origin for the next op */
nv_value nvt_emit(nvt *t, nv_op op, const nv_value *in, uint32_t n, nv_attr attr, nv_shape shape, nv_pos pos);
bool nvt_check_shape(nvt *t, nv_shape s, nv_pos pos);

/* Attributes in canonical form. shape: of the operand; false: reported. */
typedef struct nvt_attrs {
  nv_attr attr;
  nv_shape shape; /* reshape, broadcast_to: the result's */
} nvt_attrs;
/* Python's slice of n elements: p is start, stop, step, each an int or None; the step isn't 0. A step of 1 where at
 * most one element is taken, a first of 0 where none is. */
void nvt_slice_bounds(const nvt_val *p, int64_t n, int64_t *first, int64_t *step, int64_t *count);
/* The same of one axis, whose size may be open: then all of it, or refused. */
bool nvt_slice_axis(nvt *t, const nvt_val *p, nv_dim size, nv_pos pos, int64_t *first, int64_t *step, nv_dim *count);
bool nvt_read_attrs(nvt *t, const nvt_opcall *call, nv_shape shape, nvt_attrs *out);
/* Attribute k as it was written, or its default. */
nvt_arg nvt_attr(const nvt_opcall *call, uint32_t k);
/* Reports that attribute k isn't what it must be; false. */
bool nvt_wrong_attr(nvt *t, const nvt_opcall *call, uint32_t k, const nvt_arg *a, const char *want);
/* Axes of a list or an int, normalised into v in their own order; false: reported (so below). */
bool nvt_axes(nvt *t, const nvt_opcall *call, uint32_t k, const nvt_arg *a, uint32_t rank, int64_t *v, uint32_t *n);
/* A list of sizes; whole: they hold shape's elements, one may be -1. */
bool nvt_sizes(nvt *t, const nvt_opcall *call, uint32_t k, const nvt_arg *a, nv_shape shape, bool whole, nv_shape *out);
bool nvt_attr_dtype(nvt *t, const nvt_opcall *call, uint32_t k, const nvt_arg *a, int64_t *out);
nv_pos nvt_element_pos(const nvt *t, const nvt_arg *a, uint32_t i); /* of element i of a list */

/* ---- trace_const.c: constant arrays ---- */
/* {const: lists, dtype: d} of the plain form, and a document's constant with lists as its value. */
nvt_val nvt_list_constant(nvt *t, nv_ast a, nv_str name);
nvt_val nvt_file_constant(nvt *t, const nv_constant *k, nv_pos pos, bool root);

/* ---- trace_expr.c ---- */
void nvt_eval(nvt *t, nv_ast a);
void nvt_apply(nvt *t, nv_ast a);
void nvt_short(nvt *t, nv_ast a);
nvt_val nvt_eval_now(nvt *t, nv_ast a); /* expressions without calls: sizes */
nvt_val nvt_get_field(nvt *t, nvt_val base, const nv_ast_node *n);
nvt_val nvt_index_list(nvt *t, nvt_val base, nvt_val index, nv_pos pos);

/* ---- trace_call.c ---- */
/* Matches the arguments and pushes a frame, or leaves poison. Circles of calls were refused by the parser. */
void nvt_call(nvt *t, nv_ast ast, uint32_t function, const nvt_val *args);

/* ---- trace_type.c: declared types, the entry's inputs ---- */
/* Do the sizes bound in the running function keep to what it declares? */
bool nvt_check_dims(nvt *t, const nv_function *fn, nv_pos pos);
/* Binds what the entry's signature and types say; an input that they don't settle is poison, reported or refused. */
void nvt_entry_inputs(nvt *t, const nv_function *fn);
nv_type nvt_named_type(nvt *t, nv_type type); /* through names; NV_NONE: unknown, reported */
uint32_t nvt_sorted_fields(nvt *t, const nv_type_node *n, const nv_field ***fields);
bool nvt_static_value(nvt *t, const nv_static *d, nvt_val v, nv_pos pos, nvt_val *out);
uint32_t nvt_class_bits(nv_class cls);
const char *nvt_class_name(nv_class cls);
const char *nvt_show_type(nvt *t, const nv_type_node *n);

/* ---- trace_state.c ---- */
/* The next value of every state leaf is an output of its path, dtype and rank, and no other output is below a state. */
void nvt_check_state(nvt *t);

/* ---- trace_key.c: what tells signatures apart beside types ---- */
void nvt_key_static(nvt *t, nv_str path, nvt_val v);
void nvt_key_variant(nvt *t, nv_str path, nv_str variant);
void nvt_key_frozen(nvt *t, nv_str path);

/* ---- trace_hint.c: what people who know NumPy, MLX or PyTorch may have meant ---- */
const char *nvt_meant_function(const char *name);  /* "concatenate" for "cat"; NULL: nothing is known */
const char *nvt_meant_attribute(const char *name); /* "axis" for "dim"; NULL */
const char *nvt_meant_name(nvt *t, const char *name); /* "; write None" for "newaxis"; "" */
const char *nvt_meant_field(nvt *t, nv_str field); /* of an array: "; write transpose(x)" for "T", or what it has */

/* ---- trace_count.c ---- */
/* What fn's body and outputs come to at the least, entry: called by nobody; what a block of a statement of the running
 * function does, once; NULL: nothing. */
nvt_cost nvt_least_cost(nvt *t, const nv_function *fn, bool entry);
nvt_cost nvt_cost_of_block(nvt *t, const nv_stmt_block *block);
/* Is there room for so many times this within 64 Mi nodes and calls? false: reported at pos, and the trace stops. */
bool nvt_affords(nvt *t, nvt_cost cost, int64_t times, nv_pos pos);

/* ---- trace_foresee.c ---- */
/* What a loop over the list comes to at the least: nodes, found without making any; more than room is too many. */
int64_t nvt_foresee(nvt *t, const nv_stmt *loop, const nvt_seq *list, int64_t room);

/* ---- trace_rehearse.c ---- */
#define NVT_REHEARSED_CALLS (INT64_C(1) << 16) /* what may come to more is rehearsed */
/* Makes t a rehearsal: it reports limits only. */
void nvt_rehearse(nvt *t);
void nvt_rehearsed(nvt *t); /* frees what it took */
/* The call of the top frame, its parameters bound: true when it was seen before, and its value is pushed. */
bool nvt_seen_call(nvt *t);
void nvt_end_of_call(nvt *t); /* of the top frame; its value lies on the stack */
/* The work so far is too much for a rehearsal, which ends without a result. */
void nvt_too_long(nvt *t);

/* ---- trace_map.c ---- */
typedef struct nvt_map nvt_map; /* a map statement at work */
void nvt_start_map(nvt *t, const nv_stmt *s);
void nvt_next_of_map(nvt *t, const nvt_map *m, uint32_t i);
void nvt_where_of_map(nvt *t, const nvt_map *m, uint32_t i);
void nvt_leaf_of_map(nvt *t, const nvt_map *m, uint32_t i);

/* ---- trace_stmt.c ---- */
typedef enum nvt_targets { /* the names that a block may leave bound */
  NVT_TARGETS_MARK,   /* get the stamp */
  NVT_TARGETS_BIND,   /* and are poison where nothing was bound */
  NVT_TARGETS_POISON  /* are poison */
} nvt_targets;
void nvt_mark_targets(nvt *t, const nv_stmt_block *block, nvt_targets what);
nv_str nvt_path_name(nvt *t, nv_ast path); /* "p.layers[3].w" */
/* Binds or rebinds what a path of names and indices without calls leads to. */
void nvt_bind_path(nvt *t, nv_ast path, nvt_val v);
void nvt_run(nvt *t, uint32_t mark); /* until the work above mark is done */
void nvt_start_body(nvt *t); /* pushes the work of the top frame: its body and outputs */

/* ---- trace_unused.c ---- */
void nvt_warn_unused(nvt *t, nv_function *fn);

#endif
