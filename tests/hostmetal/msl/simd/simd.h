// simd.h - all of it is in metal_stdlib.
#include <metal_stdlib>
