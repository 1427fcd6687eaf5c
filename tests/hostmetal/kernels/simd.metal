// simd.metal - simd functions on a partial last simdgroup with lanes that returned early; 8 floats a thread.
#include <metal_stdlib>
using namespace metal;
kernel void simd_probe(device const float* x [[buffer(0)]], device float* out [[buffer(1)]],
                       constant const uint& skip [[buffer(2)]],
                       uint i [[thread_position_in_grid]], uint lane [[thread_index_in_simdgroup]]) {
  if (lane < skip) { return; }
  float v = x[i];
  out[i * 8u + 0u] = simd_sum(v);
  out[i * 8u + 1u] = simd_max(v);
  out[i * 8u + 2u] = simd_min(v);
  out[i * 8u + 3u] = simd_shuffle_down(v, ushort(1));
  out[i * 8u + 4u] = simd_shuffle_xor(v, ushort(1));
  out[i * 8u + 5u] = simd_prefix_inclusive_sum(v);
  out[i * 8u + 6u] = simd_broadcast_first(v);
  out[i * 8u + 7u] = simd_any(v > 100.0f) ? 1.0f : 0.0f;
}
