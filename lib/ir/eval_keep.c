/* eval_keep.c - the evaluator's float32 loops, subnormals kept. */
#define NV_FLUSH 0
#define NV_MODE(name) name##_keep
#include "eval_float.inc"
