/* ast.h - a spec after parsing: functions, types, entries, and the expressions and statements in them.
 *
 * Everything sits in arrays of the nv_spec and is addressed by index; children of an expression are linked by next.
 * The plain form of a node ({name: y, op: exp, inputs: [x]}) becomes the same statement as the text form (y =
 * exp(x)), so nothing behind the parser can tell them apart. Parsing checks form (keys, syntax, names that are words,
 * limits); lib/passes/trace.c gives meaning. Constructs are all represented here; what isn't built yet is refused by
 * trace. */
#ifndef NV_AST_H
#define NV_AST_H

#include "../base.h"
#include "../ir/dtype.h"
#include "doc.h"

typedef enum nv_ast_kind {
  NV_AST_INT,   /* text: digits as written, "_" removed, 0x/0b kept; a "-" directly before is part of it, a "+" not */
  NV_AST_FLOAT, /* text as written, "_" removed; also inf and nan; a "-" directly before is part of it */
  NV_AST_IMAG,  /* text without the j */
  NV_AST_STRING,   /* text: value */
  NV_AST_BOOL,     /* op: 0 or 1 */
  NV_AST_NONE,     /* None: in an index, or an attribute's value */
  NV_AST_DTYPE,    /* op: nv_dtype */
  NV_AST_NAME,     /* text: name */
  NV_AST_CALL,     /* text: function name; children: arguments. flags: NV_CALL_* */
  NV_AST_CAST,     /* dtype name called: op: nv_dtype; children: arguments */
  NV_AST_KEYWORD,  /* argument k=v: text: k; one child */
  NV_AST_UNARY,    /* op: nv_operator; one child */
  NV_AST_BINARY,   /* op: nv_operator, one comparison too; two children; pos is the operator's */
  NV_AST_COMPARE,  /* a chain a < b < c of two operators or more: children a, <, b, <, c; pos is the first operator's
                    */
  NV_AST_OPERATOR, /* op: nv_operator, inside COMPARE */
  NV_AST_FIELD,    /* text: field; one child */
  NV_AST_INDEX,    /* children: the base, then the indices; pos is the bracket's */
  NV_AST_SLICE,    /* three children: start, stop, step; NV_AST_NONE where left out */
  NV_AST_ELLIPSIS,
  NV_AST_LIST,  /* children */
  NV_AST_TREE,  /* children: NV_AST_KEYWORD */
  NV_AST_CONST, /* plain form {const: …, dtype: …}: op: nv_dtype; one child: number or LIST of them */
  NV_AST_ERROR  /* what didn't parse, reported already: a value of which nothing is known and nothing follows */
} nv_ast_kind;

typedef enum nv_operator {
  NV_OPR_OR,
  NV_OPR_AND,
  NV_OPR_NOT,
  NV_OPR_EQ,
  NV_OPR_NE,
  NV_OPR_LT,
  NV_OPR_LE,
  NV_OPR_GT,
  NV_OPR_GE,
  NV_OPR_BOR,
  NV_OPR_BXOR,
  NV_OPR_BAND,
  NV_OPR_SHL,
  NV_OPR_SHR,
  NV_OPR_ADD,
  NV_OPR_SUB,
  NV_OPR_MUL,
  NV_OPR_DIV,
  NV_OPR_FLOORDIV,
  NV_OPR_MOD,
  NV_OPR_MATMUL,
  NV_OPR_NEG,
  NV_OPR_POS,
  NV_OPR_INVERT,
  NV_OPR_POW
} nv_operator;
extern const char *const nv_operator_text[]; /* "or", "and", …, "**" */

enum {
  NV_CALL_ANY = 0,
  NV_CALL_OP = 1 /* plain form's op: built-ins only */,
  NV_CALL_FUNCTION = 2 /* call: functions only */
};

typedef uint32_t nv_ast; /* index into nv_spec.ast; NV_NONE: none */

typedef struct nv_ast_node {
  uint8_t kind, op;
  uint16_t flags;
  nv_pos pos; /* of the piece to point at: the operator, the name, the literal, the call's name */
  nv_str text;
  nv_ast first, next; /* first child, next sibling */
  uint32_t count;     /* children */
} nv_ast_node;

/* ---- types ---- */
typedef enum nv_dim_kind { NV_DIM_ELLIPSIS, NV_DIM_OPEN /* ? */, NV_DIM_EXPR } nv_dim_kind;
typedef struct nv_type_dim {
  nv_dim_kind kind;
  nv_ast expr; /* INT, NAME and BINARY (+ - * //) only */
  nv_pos pos;
} nv_type_dim;

typedef enum nv_type_kind {
  NV_TYPE_ARRAY, /* dtype or class or variable, dims */
  NV_TYPE_NAMED, /* of types: */
  NV_TYPE_LIST,  /* count, of */
  NV_TYPE_TREE,  /* fields (also the literal list [t, t]: fields without names) */
  NV_TYPE_ENUM,
  NV_TYPE_STATIC
} nv_type_kind;

typedef enum nv_class { NV_CLASS_NONE, NV_CLASS_ANY, NV_CLASS_FLOAT, NV_CLASS_INT, NV_CLASS_NUMBER } nv_class;

typedef uint32_t nv_type; /* index into nv_spec.types */

typedef struct nv_field {
  nv_str name; /* NV_NONE in a list */
  nv_type type;
  nv_pos pos;
} nv_field;

typedef struct nv_type_node {
  nv_type_kind kind;
  nv_pos pos;
  /* ARRAY */
  int dtype;                 /* nv_dtype, or -1 */
  nv_class cls;              /* or NV_CLASS_NONE */
  nv_str variable;           /* dtype variable, or NV_NONE */
  bool any_rank;             /* [...] alone is dims = one ELLIPSIS; rank: N is N open dims */
  uint32_t first_dim, ndims; /* in nv_spec.type_dims */
  bool trainable;            /* default true */
  bool says_trainable;       /* it is written */
  bool strides_any;
  int64_t *strides; /* elements, ndims of them; NULL: dense (or any) */
  /* NAMED */
  nv_str name;
  /* LIST: count, of; TREE, ENUM: fields in nv_spec.fields */
  nv_ast count;
  nv_type of;
  uint32_t first_field, nfields;
  nv_str default_variant;
  uint32_t static_; /* STATIC: index into nv_spec.statics */
} nv_type_node;

/* ---- statements ---- */
typedef enum nv_stmt_kind { NV_STMT_ASSIGN, NV_STMT_IF, NV_STMT_FOR, NV_STMT_MAP } nv_stmt_kind;
typedef struct nv_stmt nv_stmt;
typedef struct nv_stmt_block {
  nv_stmt *stmts;
  uint32_t n, cap;
} nv_stmt_block;
struct nv_stmt {
  nv_stmt_kind kind;
  nv_pos pos;
  /* ASSIGN: targets are NAME ("_" is a NAME too) or FIELD/INDEX chains over one; plain nodes may have names that are
     no identifiers. */
  nv_ast first_target;
  uint32_t ntargets;
  nv_ast expr;     /* ASSIGN: the value; IF: the condition; FOR: what is iterated; MAP: where, or NV_NONE */
  nv_ast bindings; /* MAP: NV_AST_KEYWORD list name = path, linked by next */
  nv_ast yields;   /* MAP: NV_AST_KEYWORD list; text: the path as written; children: value NAME, path */
  nv_str name;     /* FOR: the loop name */
  nv_str *carry;   /* FOR */
  uint32_t ncarry;
  nv_stmt_block *then_, *else_; /* IF: both; FOR and MAP: then_ is the body */
};

/* ---- functions, entries ---- */
typedef enum nv_static_kind {
  NV_STATIC_INT,
  NV_STATIC_FLOAT,
  NV_STATIC_BOOL,
  NV_STATIC_STRING,
  NV_STATIC_ENUM
} nv_static_kind;
typedef struct nv_static {
  nv_str name;
  nv_pos pos;
  nv_static_kind kind;
  nv_str *choices; /* ENUM */
  uint32_t nchoices;
  nv_ast default_; /* literal, or NV_NONE: required */
} nv_static;
typedef struct nv_dim_decl {
  nv_str name;
  nv_pos pos;
  int64_t value;                 /* fixed: >= 0; else -1 */
  int64_t min, max, multiple_of; /* defaults 0, 2^48, 1 */
} nv_dim_decl;
typedef struct nv_dtype_decl {
  nv_str name;
  nv_pos pos;
  uint32_t allowed; /* bit a dtype */
} nv_dtype_decl;
typedef struct nv_param {
  nv_str name;
  nv_pos pos;
  nv_type type;
} nv_param;

/* Outputs: SINGLE: one expression; LIST: several (a list of one is SINGLE); MAP: a tree. Expressions in out as an
   AST: SINGLE: the expression; LIST: NV_AST_LIST; MAP: NV_AST_TREE, nested lists and trees inside. source text of
   each leaf is its node's position. */
typedef enum nv_outputs_kind { NV_OUT_SINGLE, NV_OUT_LIST, NV_OUT_MAP } nv_outputs_kind;

typedef struct nv_function {
  nv_str name;
  nv_pos pos;
  bool builtin; /* from composites.yaml */
  nv_dtype_decl *dtypes;
  uint32_t ndtypes;
  nv_dim_decl *dims;
  uint32_t ndims;
  nv_static *statics;
  uint32_t nstatics;
  nv_param *inputs;
  uint32_t ninputs;
  nv_stmt_block body;
  nv_outputs_kind outputs_kind;
  nv_ast outputs;
  bool called;  /* by another function of the document */
  bool checked; /* trace has warned about its unused names */
  bool broken;  /* errors were reported in its declarations, or in those of a function that it calls */
} nv_function;

typedef enum nv_style { NV_STYLE_TREE, NV_STYLE_FLAT, NV_STYLE_MUT } nv_style;
typedef struct nv_binding { /* one key of a signature */
  nv_str key;               /* dim, static, dtype variable, or path */
  nv_pos pos, value_pos;
  nv_ast value; /* INT, STRING, DTYPE, BOOL, FLOAT; STRING "?" for open */
  nv_type type; /* where the value reads as a type; NV_NONE otherwise */
} nv_binding;
typedef struct nv_signature {
  nv_pos pos;
  nv_binding *bindings;
  uint32_t nbindings;
} nv_signature;
typedef struct nv_entry {
  nv_str name, function;
  nv_pos pos, function_pos;
  nv_style style;
  bool shapeless;
  int64_t cache_capacity;
  bool in_place; /* state_mode */
  nv_str *state, *donate, *bind;
  nv_pos *state_pos, *donate_pos, *bind_pos;
  uint32_t nstate, ndonate, nbind;
  nv_signature *signatures; /* at least one: {} when none are declared */
  uint32_t nsignatures;
  bool declared; /* under entries: */
} nv_entry;

typedef struct nv_constant {
  nv_str name;
  nv_pos pos;
  nv_ast value; /* NV_AST_CONST, or NV_NONE: from a file */
  nv_str file, tensor; /* NV_NONE: none */
  nv_pos file_pos, tensor_pos, dtype_pos;
  int dtype; /* or -1 */
  /* of a file: what it has; lives as long as the context (arrays.h) */
  bool broken; /* reported */
  uint32_t rank;
  int64_t dims[NV_MAX_RANK];
  const uint8_t *bytes;
  size_t nbytes;
} nv_constant;

typedef struct nv_spec {
  nv_ctx *c;
  nv_str name; /* of the document, NV_NONE when absent */
  nv_pos name_pos;
  nv_ast_node *ast;
  uint32_t nast, ast_cap;
  nv_type_node *types;
  uint32_t ntypes, types_cap;
  nv_type_dim *type_dims;
  uint32_t ntype_dims, type_dims_cap;
  nv_field *fields;
  uint32_t nfields, fields_cap;
  nv_static *statics;
  uint32_t nstatics, statics_cap; /* of types */
  nv_param *named_types;
  uint32_t nnamed_types, named_types_cap; /* types: name, pos, type */
  nv_constant *constants;
  uint32_t nconstants, constants_cap;
  nv_function *functions;
  uint32_t nfunctions, functions_cap; /* the built-in composites first */
  nv_entry *entries;
  uint32_t nentries, entries_cap;
  void *costs; /* the trace pass's: what each function comes to at the least; NULL: not asked for yet */
} nv_spec;

/* Parses the user's document (c->doc) and the built-in composites into one spec. Errors are reported; NULL only when
 * nothing can be traced (no functions). A statement that doesn't parse keeps its targets, with NV_AST_ERROR as value.
 * An entry that has errors of its own, or whose function is broken, isn't among the entries. */
nv_spec *nv_spec_parse(nv_ctx *c, nv_doc *doc);

/* ---- the expression parser (lib/spec/expr.c) ---- */
/* Parses one expression, statement, type or dim from text[from, to) of document node pos.node; offsets of positions
 * count in that node's decoded text. NV_NONE and a reported error when it isn't one. */
nv_ast nv_parse_expr(nv_spec *s, uint32_t doc_node, const char *text, size_t from, size_t to);
bool nv_parse_statement(nv_spec *s, uint32_t doc_node, const char *text, size_t from, size_t to, nv_stmt *out);
/* A block string: one statement a line; a line inside open brackets goes on; # starts a comment. false when a line is
 * in error whose targets can't be told. */
bool nv_parse_block(nv_spec *s, uint32_t doc_node, const char *text, size_t n, nv_stmt_block *out);
nv_type nv_parse_type(nv_spec *s, uint32_t doc_node, const char *text, size_t n);
/* Is text an identifier (not reserved, 255 bytes at most)? */
bool nv_is_ident(const char *text, size_t n);
bool nv_is_reserved(const char *text, size_t n);

static inline const nv_ast_node *nv_ast_at(const nv_spec *s, nv_ast a) { return &s->ast[a]; }

#endif
