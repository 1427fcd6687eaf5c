/* emit.h - text for people and tools from a finished module. Every function appends to b; same module, same bytes. */
#ifndef NV_EMIT_H
#define NV_EMIT_H

#include "../passes/passes.h"

#define NV_NO_MOST (INT64_C(1) << 48) /* a bound of an open size that is none: the language's own limit */

/* names.c: C symbols of programs, names of kernels, and which kernels are the same text. Needed by all others. */
void nv_emit_names(nv_module *m);

void nv_emit_metal(nv_buf *b, const nv_module *m);
void nv_emit_c(nv_buf *b, const nv_module *m);      /* NAME.c: tape tables, wrappers, replay engine */
void nv_emit_header(nv_buf *b, const nv_module *m); /* NAME.h */
/* data.c: gives constant arrays their places in NAME.data. Needed by the tape. */
void nv_lay_out_data(nv_module *m);
void nv_emit_data(nv_buf *b, const nv_module *m); /* NAME.data, bytes */
void nv_emit_mk(nv_buf *b, const nv_module *m);
void nv_emit_manifest(nv_buf *b, const nv_module *m);
void nv_emit_explain(nv_buf *b, const nv_module *m, bool json);
void nv_explain_html(nv_buf *b, const nv_module *m);
void nv_emit_stats(nv_buf *b, const nv_module *m, bool json);

/* One kernel's text without its name, as names.c hashes it: equal text, equal kernel. Sets the kernel's fields. */
void nv_emit_kernel_body(nv_buf *b, const nv_module *m, const nv_plan *p, nv_kernel *k);
/* Threads of a launch: grid in threads, and the threadgroup's size is the pipeline's choice (a multiple of 32). */
void nv_kernel_grid(nv_ctx *c, const nv_kernel *k, nv_dim grid[3]);
/* Threads that a threadgroup must have, all of the grid's x: a kernel whose threadgroups are its rows. 0: any. */
uint32_t nv_kernel_group(nv_ctx *c, const nv_kernel *k);
/* Bytes that a binding's offset must be a multiple of: the operand's element, or four of them where the kernel loads
 * and stores vectors (float4 and the like). The stub checks the app's arrays against it (NUVEC_MISALIGNED). */
uint32_t nv_operand_align(nv_ctx *c, const nv_kernel *k, uint32_t operand);
/* Hash that ties stub and metallib: of the .metal text and the tape, without itself. Computed once: by nv_emit_metal
 * where that comes first. nv_emit_tie_init before either. */
uint64_t nv_emit_tie(const nv_module *m);
void nv_emit_tie_init(nv_module *m);

#endif
