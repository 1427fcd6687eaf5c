/* stub.h - what stub.c and header.c share: the entries of a module, the fields of their structs, text inside C. */
#ifndef NV_STUB_H
#define NV_STUB_H

#include "emit.h"

/* Programs of one entry stand side by side, one a signature: the index behind the last of the entry that begins at
 * program first. Checks that they agree in the names of inputs and outputs. */
uint32_t nv_entry_end(const nv_module *m, uint32_t first);
/* Refuses what no stub can be written for: NUVECC_USAGE for a NAME whose functions would be others' (objc_release,
 * pthread_create, ...), NUVECC_SPEC for two signatures of an entry that dtypes and shapes don't tell apart. The
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
/* The strictest alignment in bytes that kernels ask for, of each input and behind them of each output. */
uint32_t *nv_port_aligns(const nv_plan *p);
/* Scratch of a program: never nothing where a kernel's operand is empty, as it must be bound to some memory. */
int64_t nv_scratch_bytes(const nv_plan *p);

/* The tables of NAME.c without the name of the tie kernel: what nv_emit_tie may hash. */
void nv_emit_tape(nv_buf *b, const nv_module *m);
/* Name of the tie kernel, "NAME_tie_0123456789abcdef". */
const char *nv_tie_name(const nv_module *m);

/* ---- fields.c: paths ("layers[3].w") as members of a C struct ---- */
typedef struct nv_fields nv_fields;
/* The struct that n paths, in tree order, are the leaves of. Lists whose elements have one form become C arrays; other
 * lists structs with members _0, _1, …; words of C, C++, Objective-C and Swift get an underscore behind them. */
nv_fields *nv_fields_make(nv_ctx *c, const nv_port *ports, uint32_t n);
/* The members, one a line, two blanks deep: "  nuvec_array x;". */
void nv_put_fields(nv_buf *b, const nv_fields *f);
/* How port k is reached: "layers[3].w". */
void nv_put_field(nv_buf *b, const nv_fields *f, uint32_t k);

#endif
