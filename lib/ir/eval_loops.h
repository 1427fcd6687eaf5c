/* eval_loops.h - the evaluator's parts, among themselves.
 *
 * Elements are computed in carriers, one an element kind: bool in uint8_t (0, 1), unsigned in uint64_t,
 * signed in int64_t, floats in float, complex64 in nv_c64. Arrays of other widths pass through carriers in
 * chunks; float32, complex64 and bool arrays are their own carriers. So a row of ops.def has one text a kind, and
 * 16-bit floats are rounded after every op. */
#ifndef NV_EVAL_LOOPS_H
#define NV_EVAL_LOOPS_H

#include "eval.h"

enum { NV_CHUNK = 1024 }; /* elements; also the block of a reduction (nuvec-ops(5)) */

/* Two's complement, as every compiler has it. */
static inline int64_t nv_signed(uint64_t u) { return (int64_t)u; }

/* n elements of dtype d to and from carriers of its kind. Integers are cut to their width, floats rounded. */
void nv_to_carrier(nv_dtype d, const void *from, void *carrier, size_t n);
void nv_from_carrier(nv_dtype d, const void *carrier, void *to, size_t n);
/* n elements of one dtype to another (astype). */
void nv_eval_convert(nv_dtype from, nv_dtype to, const void *a, void *out, size_t n);

/* An element-wise op with an evaluation in ops.def, over n elements: carriers a, b of dtype d to carriers, or
 * bools, out. eval_keep.c, eval_flush.c: by subnormal mode. */
void nv_elem_keep(nv_op op, nv_dtype d, const float *a, const float *b, void *out, size_t n);
void nv_elem_flush(nv_op op, nv_dtype d, const float *a, const float *b, void *out, size_t n);
/* The same for complex64: out has complex64, float32 or bool elements. */
void nv_complex_keep(nv_op op, const nv_c64 *a, const nv_c64 *b, void *out, size_t n);
void nv_complex_flush(nv_op op, const nv_c64 *a, const nv_c64 *b, void *out, size_t n);
/* A float reduction of n elements in the manual's order. x is overwritten. NV_OP_mean: the sum times 1/n. */
float nv_reduce_keep(nv_op op, float *x, size_t n);
float nv_reduce_flush(nv_op op, float *x, size_t n);
nv_c64 nv_reduce_c64_keep(nv_op op, nv_c64 *x, size_t n);
nv_c64 nv_reduce_c64_flush(nv_op op, nv_c64 *x, size_t n);

/* A scan of n elements in the manual's order, x overwritten; exclusive: the first becomes identity. spare has room for
 * n / 64 + 64 elements. */
void nv_scan_keep(nv_op op, float *x, size_t n, bool exclusive, float identity, float *spare);
void nv_scan_flush(nv_op op, float *x, size_t n, bool exclusive, float identity, float *spare);
void nv_scan_c64_keep(nv_op op, nv_c64 *x, size_t n, bool exclusive, nv_c64 identity, nv_c64 *spare);
void nv_scan_c64_flush(nv_op op, nv_c64 *x, size_t n, bool exclusive, nv_c64 identity, nv_c64 *spare);

/* An element-wise op (or copy) on arrays: operands in[k] of dtypes[k], n elements each, to out. */
void nv_eval_elem(nv_op op, const nv_dtype *dtypes, nv_dtype result, const void *const *in, void *out,
                  size_t n, bool flush);
/* out, dense row-major of shape dims, from in by strides in elements of size bytes (0: repeated). */
void nv_eval_strided(const void *in, void *out, uint32_t rank, const int64_t *dims, const int64_t *strides,
                     size_t size);
/* out, of shape dims, from in of shape from: of every axis the first element before[k] times before it, the last one
 * behind it as often as dims has room for. */
void nv_eval_padded(nv_ctx *c, const void *in, void *out, uint32_t rank, const int64_t *from, const int64_t *before,
                    const int64_t *dims, size_t size);
/* out, of shape dims, from in by strides in elements and, for every element of out, index (int64 where wide, else
 * int32) times stride; 0 where the index isn't from 0 below n. */
void nv_eval_pick(const void *in, const void *index, bool wide, void *out, uint32_t rank, const int64_t *dims,
                  const int64_t *strides, int64_t n, int64_t stride, size_t size);
/* Joins to out, of shape outer × n × inner, in order, each of count × outer × inner updates u at its index (int64
 * where wide, else int32) along n; op is element-wise, or NV_OP_copy: the update replaces. */
void nv_eval_fold(nv_op op, nv_dtype d, void *out, const void *index, bool wide, const void *u, size_t count,
                  size_t outer, size_t n, size_t inner, bool flush);
/* A reduction of rows: in is [rows, n] of dtype d, out [rows] of dtype result. spare has room for n
 * float32 or, where d is complex64, complex64 elements. */
void nv_eval_rows(nv_op op, nv_dtype d, nv_dtype result, const void *in, void *out, size_t rows, size_t n,
                  void *spare, bool flush);
/* A scan of rows: in and out are [rows, n] of dtype d. */
void nv_eval_scan(nv_ctx *c, nv_op op, nv_dtype d, const void *in, void *out, size_t rows, size_t n, bool exclusive,
                  bool flush);

#endif
