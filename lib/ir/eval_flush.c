/* eval_flush.c - the evaluator's float32 loops, subnormals flushed as ops.md says. */
#define NV_FLUSH 1
#define NV_MODE(name) name##_flush
#include "eval_float.inc"
