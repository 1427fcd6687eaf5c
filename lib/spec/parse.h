/* parse.h - private to lib/spec: the lexer, the expression machine on top of it, and what the parts of the document's
 * parser share. */
#ifndef NV_PARSE_H
#define NV_PARSE_H

#include "ast.h"
#include "build.h"

/* ---- lex.c ---- */
typedef enum nv_token {
  NV_T_END,   /* of the text, or of a block's statement */
  NV_T_ERROR, /* reported */
  NV_T_INT,
  NV_T_FLOAT,
  NV_T_IMAG,
  NV_T_STRING,
  NV_T_NAME,
  NV_T_DTYPE,
  NV_T_TRUE,
  NV_T_FALSE,
  NV_T_INF,
  NV_T_NAN,
  NV_T_NONE,
  NV_T_RESERVED, /* if for in is */
  NV_T_OPERATOR, /* op says which; "-" and "+" are SUB and ADD, "~" is INVERT */
  NV_T_ASSIGN,
  NV_T_WALRUS,
  NV_T_AUGMENTED,
  NV_T_LPAREN,
  NV_T_RPAREN,
  NV_T_LBRACKET,
  NV_T_RBRACKET,
  NV_T_LBRACE,
  NV_T_RBRACE,
  NV_T_COMMA,
  NV_T_COLON,
  NV_T_DOT,
  NV_T_ELLIPSIS,
  NV_T_QUESTION
} nv_token;

typedef struct nv_parser {
  nv_spec *s;
  nv_ctx *c;
  uint32_t node; /* document node whose text this is */
  const char *text;
  size_t to;
  bool block;        /* a line end ends the statement, outside brackets; # starts a comment */
  bool sizes;        /* the expression is a dim's */
  uint32_t brackets; /* open ones */
  /* the current token, text[start, at) */
  nv_token tok;
  uint8_t op; /* nv_operator or nv_dtype */
  bool first; /* the first of its line, behind a line end that the brackets hid */
  size_t start, at;
} nv_parser;

nv_parser nv_parser_on(nv_spec *s, uint32_t node, const char *text, size_t from, size_t to);
/* Reads the next token. */
void nv_lex(nv_parser *p);
static inline nv_pos nv_parser_pos(const nv_parser *p, size_t offset) { return nv_text_pos(p->node, offset); }
/* Reports an error at a byte of the text. Returns false. */
bool nv_parse_error(const nv_parser *p, size_t offset, const char *format, ...) NV_PRINTF(3, 4);
/* The current token as it may stand in a message. */
const char *nv_token_text(const nv_parser *p);
/* The current token's value: a name; a number's text without "_"; a string's value (NV_NONE and an error). */
nv_str nv_token_number(const nv_parser *p, bool negative);
nv_str nv_token_string(const nv_parser *p);

/* ---- expr.c ---- */
nv_ast nv_ast_new(nv_spec *s, nv_ast_kind kind, unsigned op, nv_pos pos, nv_str text);
/* Links child behind *last (NV_NONE: the first) of parent. */
void nv_ast_append(nv_spec *s, nv_ast parent, nv_ast *last, nv_ast child);
/* Parses an expression from the current token up to one that can't go on with it, which stays current. */
nv_ast nv_parse_expression(nv_parser *p);
/* Reports the current token, which should have been the end. Returns false. */
bool nv_unexpected(nv_parser *p);

typedef struct nv_ast_range {
  nv_ast from, to;
} nv_ast_range;

/* What a name is in a function's one namespace: the index-th of its dtypes, dims, statics or inputs. */
typedef enum nv_decl_kind { NV_DECL_DTYPE, NV_DECL_DIM, NV_DECL_STATIC, NV_DECL_INPUT } nv_decl_kind;
typedef struct nv_decl {
  uint32_t function; /* index into nv_spec.functions */
  nv_str name;
  nv_decl_kind kind;
  uint32_t index;
  nv_pos pos;
} nv_decl;

/* ---- values.c: what all parts of the document's parser use ---- */
typedef struct nv_reader {
  nv_ctx *c;
  nv_spec *s;
  nv_doc *d;
  uint32_t mark;        /* NV_BUILTIN for the built-in document, else 0 */
  nv_function *f;       /* the function that is being read, or NULL */
  nv_map odd_names;     /* its node names that are no identifiers; id: nv_str */
  nv_map types;         /* id: index into nv_spec.named_types */
  bool types_read;      /* all of them are */
  nv_map constants;     /* id: index into nv_spec.constants */
  nv_map user, builtin; /* id: index into nv_spec.functions */
  nv_map declared;      /* id: index into decls */
  nv_decl *decls;
  uint32_t ndecls, decls_cap;
  nv_ast_range *ranges; /* of each function's expressions */
  uint32_t ranges_cap;
  uint32_t *marks; /* a type: the walk that saw it last */
  uint32_t marks_cap, nmarks, walk;
  uint32_t *stack; /* scratch of walks */
  uint32_t stack_cap;
} nv_reader;

static inline uint64_t nv_str_hash(nv_str s) { return nv_hash(&s, sizeof s, 0); }
static inline nv_pos nv_at(const nv_reader *r, uint32_t node) { return (nv_pos){node | r->mark, 0}; }
static inline nv_doc_kind nv_kind_at(const nv_reader *r, uint32_t node) {
  return (nv_doc_kind)r->d->nodes[node].kind;
}
static inline const char *nv_text_at(const nv_reader *r, uint32_t node) { return nv_doc_text(r->d, node); }
static inline uint32_t nv_length_at(const nv_reader *r, uint32_t node) { return r->d->nodes[node].length; }
static inline uint32_t nv_first_at(const nv_reader *r, uint32_t node) { return r->d->nodes[node].first; }
static inline uint32_t nv_next_at(const nv_reader *r, uint32_t node) { return r->d->nodes[node].next; }
static inline uint32_t nv_count_at(const nv_reader *r, uint32_t node) { return r->d->nodes[node].count; }
#define NV_AT_ERROR(r, node, ...) nv_error((r)->c, nv_at((r), (node)), __VA_ARGS__)

nv_str nv_str_at(const nv_reader *r, uint32_t node);
const char *nv_shown_at(const nv_reader *r, uint32_t node); /* text for a message */
const char *nv_shown_str(nv_ctx *c, nv_str s);
bool nv_text_is(const nv_reader *r, uint32_t node, const char *text);
/* A scalar that may be read as text: a string, or any plain scalar of YAML that isn't empty. */
bool nv_is_textual(const nv_reader *r, uint32_t node);
const char *nv_found(const nv_reader *r, uint32_t node); /* "a list", "'3'" */
/* Reports a node that isn't of this kind, called what in the message. */
bool nv_expect(nv_reader *r, uint32_t node, nv_doc_kind kind, const char *what);
bool nv_is_tool_key(const nv_reader *r, uint32_t key); /* x-… */
/* Walks the pairs of map, told of as what ("a function"): values[k] becomes the value of keys[k], NV_NONE when
 * absent or, with an error, split by YAML. Reports unknown keys. false when it isn't a map. */
bool nv_read_keys(nv_reader *r, uint32_t map, const char *what, const char *const *keys, size_t nkeys,
                  uint32_t *values);
/* "; did you mean 'x'?" or "". */
const char *nv_suggest(nv_ctx *c, const char *name, const char *const *names, size_t n);
/* Reports key when it is no identifier, told of as what ("input"). */
bool nv_check_name(nv_reader *r, uint32_t key, const char *what);
/* A whole number in [min, max], a truth value, a dtype; false or -1 with an error. */
bool nv_read_int(nv_reader *r, uint32_t node, const char *what, int64_t min, int64_t max, int64_t *value);
bool nv_read_bool(nv_reader *r, uint32_t node, const char *what, bool *value);
int nv_read_dtype(nv_reader *r, uint32_t node);
/* A scalar as INT, FLOAT, BOOL, STRING or NONE; one that holds an expression. NV_NONE with an error. */
nv_ast nv_read_literal(nv_reader *r, uint32_t node);
nv_ast nv_read_expr(nv_reader *r, uint32_t node);
/* Nested lists as NV_AST_LIST, with trees also maps as NV_AST_TREE; leaf reads everything else. NV_NONE when a leaf
 * could not be read. */
typedef nv_ast nv_leaf_reader(nv_reader *r, uint32_t node, const void *arg);
nv_ast nv_read_nested(nv_reader *r, uint32_t node, bool trees, nv_leaf_reader *leaf, const void *arg);
/* A number or nested lists of them as NV_AST_CONST at node. NV_NONE with an error. */
nv_ast nv_read_const(nv_reader *r, uint32_t node, uint32_t value, int dtype);
/* YAML made two items of one text: in a {…} or […], a plain scalar whose brackets don't balance. Reports it and sets
 * *next to the item behind its end. */
bool nv_split_at_comma(nv_reader *r, uint32_t parent, uint32_t node, uint32_t *next);
/* YAML made a map of a text: reports it. */
bool nv_seen_as_key(nv_reader *r, uint32_t node);

/* ---- types.c ---- */
nv_type nv_read_type(nv_reader *r, uint32_t node); /* NV_NONE with an error */
void nv_read_named_types(nv_reader *r, uint32_t map);
uint32_t nv_named_type(const nv_reader *r, nv_str name); /* index into nv_spec.named_types, or NV_NONE */
bool nv_read_static(nv_reader *r, uint32_t node, nv_static *out);
/* Starts a walk over types: in one walk, a type that is met again (by its name) is not entered again. */
void nv_begin_walk(nv_reader *r);
/* Why a type is a template ("is of class float"), or NULL: a class, a dtype variable, any rank, leading "...". */
const char *nv_template_reason(nv_reader *r, nv_type type);
/* Calls visit for every name in the sizes of type. */
void nv_each_size_name(nv_reader *r, nv_type type, void (*visit)(void *arg, nv_str name, nv_pos pos), void *arg);

/* ---- nodes.c ---- */
bool nv_read_program(nv_reader *r, uint32_t node, nv_stmt_block *out); /* false: r->f is broken */
bool nv_read_outputs(nv_reader *r, uint32_t node);
/* A path (ident { "." ident | "[" digits | ident "]" }) in the text of node; NV_NONE without a report when it is
 * none. */
nv_ast nv_read_path(nv_reader *r, uint32_t node);

/* ---- program.c ---- */
const nv_decl *nv_find_decl(const nv_reader *r, uint32_t function, nv_str name); /* NULL: none */

/* ---- calls.c ---- */
uint32_t nv_find_function(const nv_reader *r, nv_str name, bool builtin); /* NV_NONE: none */
/* Who calls whom, once all functions are read: sets called and broken, reports cycles and calls too deep. */
void nv_check_calls(nv_reader *r);

/* ---- entries.c ---- */
void nv_read_entries(nv_reader *r, uint32_t map); /* map: NV_NONE without entries: */

#endif
