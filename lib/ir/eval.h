/* eval.h - the CPU evaluator: a graph run op by op on concrete arrays, to the bit of nuvec-ops(5). */
#ifndef NV_EVAL_H
#define NV_EVAL_H

#include "graph.h"

/* in: one tensor an input of g, in order, dense row-major. out: one an output; data points at room for it.
 * flush: float32 and bfloat16 subnormals are flushed in arithmetic, as nuvec-ops(5) says. Shapes must be static.
 * Frees intermediates after their last use. Raises NUVECC_IO for lack of memory. */
void nv_eval(const nv_graph *g, const nuvecc_tensor *in, nuvecc_tensor *out, bool flush);
/* One element-wise op on single values, for constant folding. */
uint64_t nv_eval_scalar(nv_op op, const nv_dtype *dtypes, nv_dtype result, const uint64_t *bits, uint32_t n,
                        bool flush);
/* 1/n rounded once to float32: the factor of a mean over n > 0 elements. */
float nv_reciprocal_of(int64_t n);
/* a/n rounded once to float32; n is not 0. */
float nv_quotient_of(int64_t a, int64_t n);

#endif
