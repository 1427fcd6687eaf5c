/* eval_flush.c - the evaluator's float32 loops, subnormals flushed as nuvec-ops(5) says. */
#define NV_FLUSH 1
#define NV_MODE(name) name##_flush
#include "eval_float.inc"
