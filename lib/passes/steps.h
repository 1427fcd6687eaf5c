/* steps.h - what trace_steps.c, trace_create.c, trace_move.c, trace_index.c and trace_reduce.c share (private to
 * tracing). */
#ifndef NV_STEPS_H
#define NV_STEPS_H

#include "trace.h"

/* ---- trace_steps.c: operands, attributes, steps ----
 * Steps take the call that they belong to; last: the step's result is the call's, and has its origin. They pass
 * NV_NONE on, which stands for an error that was reported. Sizes are known. */
nvt_val nvt_done(nv_value v);
nv_value nvt_array_operand(nvt *t, const nvt_arg *a); /* a number as an array of rank 0 */
uint32_t nvt_sizes_of(nvt *t, nv_value v, int64_t *dims);
bool nvt_int_attr(nvt *t, const nvt_opcall *call, uint32_t k, int64_t *out);
bool nvt_axis_attr(nvt *t, const nvt_opcall *call, uint32_t k, uint32_t rank, uint32_t *out);
bool nvt_dtype_attr(nvt *t, const nvt_opcall *call, uint32_t k, nv_dtype none, nv_dtype *out); /* none: of None */
void nvt_step_origin(nvt *t, const nvt_opcall *call, bool last);
nv_value nvt_reshaped(nvt *t, const nvt_opcall *call, bool last, nv_value v, const int64_t *dims, uint32_t rank);
/* To a shape whose sizes may be open; v fits it. */
nv_value nvt_reshaped_to(nvt *t, const nvt_opcall *call, bool last, nv_value v, nv_shape shape);
nv_value nvt_repeated_to(nvt *t, const nvt_opcall *call, bool last, nv_value v, nv_shape shape);
nv_value nvt_repeated(nvt *t, const nvt_opcall *call, bool last, nv_value v, const int64_t *dims, uint32_t rank);
nv_value nvt_transposed(nvt *t, const nvt_opcall *call, bool last, nv_value v, const int64_t *perm);
/* step NULL: 1 for every axis. */
nv_value nvt_sliced(nvt *t, const nvt_opcall *call, bool last, nv_value v, const int64_t *first, const int64_t *step,
                    const int64_t *count);
/* pad_edge: to shape dims, before[k] elements before the first of axis k. */
nv_value nvt_padded(nvt *t, const nvt_opcall *call, bool last, nv_value v, const int64_t *before, const int64_t *dims);
nv_value nvt_converted(nvt *t, const nvt_opcall *call, bool last, nv_value v, nv_dtype d);
/* 0, 1, … n - 1 in an array of shape dims, which has n elements: int32, or int64 where most, up to which they are to be
 * added to something, is beyond 2^31 - 1. */
nv_value nvt_indices(nvt *t, const nvt_opcall *call, bool last, int64_t n, int64_t most, const int64_t *dims,
                     uint32_t rank);
/* An element-wise op on one to three operands (None: no operand); numbers are weak. */
nvt_val nvt_step(nvt *t, const nvt_opcall *call, bool last, nv_op op, nvt_val a, nvt_val b, nvt_val c);

/* ---- trace_create.c ---- */
/* op of (row + k, column) for an n by m matrix: bool[n, m]. */
nvt_val nvt_diagonal_mask(nvt *t, const nvt_opcall *call, bool last, nv_op op, int64_t n, int64_t m, int64_t k);

/* ---- trace_index.c ---- */
/* take: flat, of x flattened. pos: of the indices. */
nvt_val nvt_taken(nvt *t, const nvt_opcall *call, nv_value x, nvt_val indices, nv_pos pos, bool flat, uint32_t axis);

/* ---- trace_scan.c ---- */
/* cumsum, cumprod, …: its operand is converted to d first. */
nvt_val nvt_scan(nvt *t, const nvt_opcall *call, nv_dtype d);

/* ---- ops that are made of others: BY, AT and OF of lib/ops.def ----
 * The call's operands aren't poison; x is its only one. */
typedef nvt_val nvt_by(nvt *t, const nvt_opcall *call);
typedef nvt_val nvt_of(nvt *t, const nvt_opcall *call, nv_value x);
nvt_by nvt_clip, nvt_divmod, nvt_nan_to_num, nvt_round, nvt_depends; /* trace_expand.c */
nvt_by nvt_view; /* trace_steps.c */
nvt_of nvt_flatten, nvt_unflatten, nvt_moveaxis, nvt_swapaxes, nvt_flip;
/* trace_create.c */
nvt_by nvt_full, nvt_zeros, nvt_ones, nvt_full_like, nvt_zeros_like, nvt_ones_like;
nvt_by nvt_arange, nvt_linspace, nvt_eye, nvt_identity, nvt_tri;
nvt_of nvt_tril, nvt_triu;
nvt_by nvt_concatenate, nvt_stack, nvt_meshgrid; /* trace_move.c */
nvt_of nvt_split, nvt_pad, nvt_repeat, nvt_tile, nvt_roll, nvt_diag, nvt_diagonal, nvt_trace;
/* trace_index.c */
nvt_of nvt_take, nvt_take_along_axis, nvt_gather, nvt_dynamic_slice;
nvt_of nvt_slice_update, nvt_dynamic_slice_update, nvt_put_along_axis, nvt_scatter, nvt_as_strided, nvt_contiguous;
nvt_of nvt_reduce; /* trace_reduce.c */
nvt_by nvt_random; /* trace_random.c */

#endif
