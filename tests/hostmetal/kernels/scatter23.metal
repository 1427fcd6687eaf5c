// scatter23.metal - written for metal2.3: integer atomics only.
#include <metal_stdlib>
#include <metal_atomic>
using namespace metal;
kernel void scatter_count(device const int* idx [[buffer(0)]], device atomic_uint* out [[buffer(1)]],
                          constant const uint& n [[buffer(2)]], uint i [[thread_position_in_grid]]) {
  if (i >= n) { return; }
  atomic_fetch_add_explicit(&out[idx[i]], 1u, memory_order_relaxed);
}
