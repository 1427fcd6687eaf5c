// scatter.metal - scatter with float and integer atomics.
#include <metal_stdlib>
#include <metal_atomic>
using namespace metal;
kernel void scatter_add_f32(device const float* v [[buffer(0)]], device const int* idx [[buffer(1)]],
                            device atomic_float* out [[buffer(2)]], device atomic_uint* count [[buffer(3)]],
                            constant const uint& n [[buffer(4)]], uint i [[thread_position_in_grid]]) {
  if (i >= n) { return; }
  atomic_fetch_add_explicit(&out[idx[i]], v[i], memory_order_relaxed);
  atomic_fetch_add_explicit(&count[0], 1u, memory_order_relaxed);
}
