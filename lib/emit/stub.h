/* stub.h - what stub.c and header.c share: the entries of a module, the fields of their structs, text inside C. */
#ifndef NV_STUB_H
#define NV_STUB_H

#include "emit.h"

/* Programs of one entry stand side by side, one a signature: the index behind the last of the entry that begins at
 * program first. */
uint32_t nv_entry_end(const nv_module *m, uint32_t first);
/* Refuses what no stub can be written for: NUVECC_USAGE for a NAME whose functions would be others' (objc_release,
 * pthread_create, ...), NUVECC_SPEC for two signatures of an entry that nothing tells apart. The
 * emitters check it too; asked right after nv_emit_names, it comes before any artifact. */
void nv_check_stub(const nv_module *m);

/* text inside a C comment: what would end it, or reorder it on a screen, is changed. */
void nv_put_comment(nv_buf *b, const char *text);
/* "text" as a C string literal, ASCII. */
void nv_put_cstring(nv_buf *b, const char *text);
enum { NV_CODE_COLUMNS = 110 };
/* A line of C; a longer one goes on behind a comma, indented by 4 more. */
void nv_put_code(nv_buf *b, uint32_t indent, const char *format, ...) NV_PRINTF(3, 4);
/* "float32[32, 512]"; rank 0: "float32". */
void nv_put_value_type(nv_buf *b, const nv_graph *g, nv_value v);
extern const char *const nv_dtype_constant[NV_NDTYPES]; /* "NUVEC_FLOAT32" */
int64_t nv_value_bytes(const nv_graph *g, nv_value v);
nv_dim nv_value_size(const nv_graph *g, nv_value v); /* the same where sizes may be open */
/* A size inside a C comment: a number or an expression. */
void nv_put_size_comment(nv_buf *b, nv_dim d);
/* The strictest alignment in bytes that kernels ask for, of each input and behind them of each output. */
uint32_t *nv_port_aligns(const nv_plan *p);
/* Are some of its sizes known at run time only? */
bool nv_is_open(const nv_program *p);
bool nv_any_open(const nv_module *m);
/* Scratch of a program: never nothing where a kernel's operand is empty, as it must be bound to some memory. */
int64_t nv_scratch_bytes(const nv_plan *p);

/* The tables of NAME.c without the name of the tie kernel: what nv_emit_tie may hash; then the tape itself. */
void nv_emit_tape(nv_buf *b, const nv_module *m);
void nv_emit_the_tape(nv_buf *b, const nv_module *m);
/* Name of the tie kernel, "NAME_tie_0123456789abcdef". */
const char *nv_tie_name(const nv_module *m);

/* ---- open.c ---- */
/* Tables of a signature with open sizes: nvr_<entry>_<signature>_open, and _sizes of its launches. */
void nv_put_open(nv_buf *b, const nv_program *program, uint32_t entry, uint32_t signature);

/* ---- fields.c: paths ("layers[3].w") as members of a C struct ---- */
typedef struct nv_fields nv_fields;
typedef struct nv_item { /* a leaf */
  const char *path;
  const char *type; /* "nuvec_array", "int64_t", "double" or "int" */
  const char *what; /* of an array: "float32[4, 6]", "" where signatures differ in it; NULL: nothing is said */
  const char *name; /* its path in the tree, beside what */
} nv_item;
enum { NV_FIELD_UNION = 1 }; /* a component of a path that starts with this character: its members are a union */
/* The struct that n paths, in tree order, are the leaves of. Lists whose elements have one form become C arrays; other
 * lists structs with members _0, _1, …; words of C, C++, Objective-C and Swift get an underscore behind them. */
nv_fields *nv_fields_make(nv_ctx *c, const nv_item *items, uint32_t n);
/* The members, one a line, two blanks deep: "  nuvec_array x;", and what is
 * known of an array behind it. */
void nv_put_fields(nv_buf *b, const nv_fields *f);
/* How item k is reached: "layers[3].w". */
void nv_put_field(nv_buf *b, const nv_fields *f, uint32_t k);

/* ---- view.c: an entry as its callers see it ---- */
/* The structs that inputs and outputs stand in. SOURCES: a mut entry's state; STATICS: of style flat, whose inputs are
 * an array. */
typedef enum nv_place_of { NV_FROM_CALL, NV_FROM_BOUND, NV_FROM_STATE, NV_FROM_STATICS, NV_SOURCES } nv_place_of;
typedef struct nv_spot { /* where an array or a key stands */
  nv_place_of source;
  uint32_t item; /* of that struct; style flat, CALL: place in the array */
} nv_spot;

typedef struct nv_view_key { /* what signatures of the entry differ in beside dtypes and shapes */
  nv_key_kind kind;
  bool length; /* INT: of the list that path names; then the member is LIST_count */
  nv_str path;
  nv_spot spot;
  nv_str *choices; /* CHOICE, VARIANT: texts in order of the signatures */
  uint32_t nchoices, choices_cap;
  int64_t *values; /* of each signature: value, or index of the choice */
  bool *has;       /* whether the signature has it: it may be a field of a variant */
} nv_view_key;

typedef struct nv_view {
  const nv_module *m;
  uint32_t first, n; /* programs: the entry's signatures */
  const nv_program *program;
  nv_view_key *keys; /* variants first */
  uint32_t nkeys, nvariants;
  uint32_t *form, nforms; /* of each signature; a form is numbered by its first one's place among them */
  nv_item *items[NV_SOURCES];
  uint32_t nitems[NV_SOURCES], items_cap[NV_SOURCES];
  nv_fields *fields[NV_SOURCES]; /* of what the caller gives; CALL of style flat: NULL */
  nv_item *out_items;
  uint32_t nout_items, out_items_cap;
  nv_fields *out_fields;
  nv_spot **inputs, **outputs; /* of each signature */
  const char *structs[NV_SOURCES + 1]; /* names; the last: of outputs */
  bool bound, flat;
} nv_view;
/* The entry that begins at program first; made once. Raises NUVECC_SPEC for signatures that nothing tells apart, and
 * for those whose trees differ in more than variants. */
const nv_view *nv_view_of(const nv_module *m, uint32_t first);
/* Does a key's value differ between signatures? */
bool nv_key_differs(const nv_view *v, const nv_view_key *k);
/* Does it tell forms apart: is it a variant, or a list's length? */
static inline bool nv_is_form_key(const nv_view_key *k) { return k->kind == NV_KEY_VARIANT || k->length; }
/* view_lists.c: adds keys for the lists whose lengths differ to those of variants and statics. */
void nv_view_lists(nv_view *v);
/* May a failed step lose the state? --state, else state_mode. */
bool nv_is_in_place(const nv_program *p);
/* The member that a spot is: "layers[3].w". */
void nv_put_spot(nv_buf *b, const nv_view *v, nv_spot s, bool output);
/* Struct of a source: "X_inputs", "X_outputs", "X_bound", "X_leaves", "X_statics". */
const char *nv_struct_name(const nv_view *v, nv_place_of s, bool output);
/* The table that finds signatures whose sizes are all known: numbers + 1, 0 where there is none; *size is a power of
 * two. NULL: there is one signature. As nvr_hash of the replay engine computes it. */
uint16_t *nv_view_table(const nv_view *v, uint32_t *size);
/* The same for signatures with open sizes, as nvr_open_hash; NULL: there are none, or no others. */
uint16_t *nv_view_open_table(const nv_view *v, uint32_t *size);
/* "X_path_choice", the constant of a choice. */
const char *nv_choice_name(const nv_view *v, const nv_view_key *k, uint32_t choice);

/* ---- header_entry.c ---- */
void nv_put_entry_header(nv_buf *b, const nv_view *v);

#endif
