// softmax.metal - softmax over rows: simd reductions and one array of threadgroup memory.
#include <metal_stdlib>
#pragma METAL fp math_mode(safe)
#pragma METAL fp contract(off)
using namespace metal;
// One threadgroup per row; any multiple of 32 threads up to 1024.
kernel void softmax_row_f32(device const float* x [[buffer(0)]], device float* y [[buffer(1)]],
                            constant const uint& n [[buffer(2)]],
                            uint row [[threadgroup_position_in_grid]], uint lid [[thread_position_in_threadgroup]],
                            uint tgs [[threads_per_threadgroup]],
                            uint lane [[thread_index_in_simdgroup]], uint sg [[simdgroup_index_in_threadgroup]]) {
  threadgroup float part[32];
  device const float* in = x + size_t(row) * n;
  device float* out = y + size_t(row) * n;
  float m = -INFINITY;
  for (uint i = lid; i < n; i += tgs) { m = metal::fmax(m, in[i]); }
  m = simd_max(m);
  if (lane == 0u) { part[sg] = m; }
  threadgroup_barrier(mem_flags::mem_threadgroup);
  uint nsg = tgs / 32u;
  m = simd_max(lane < nsg ? part[lane] : -INFINITY);
  threadgroup_barrier(mem_flags::mem_threadgroup);
  float s = 0.0f;
  for (uint i = lid; i < n; i += tgs) { s += metal::precise::exp(in[i] - m); }
  s = simd_sum(s);
  if (lane == 0u) { part[sg] = s; }
  threadgroup_barrier(mem_flags::mem_threadgroup);
  s = simd_sum(lane < nsg ? part[lane] : 0.0f);
  for (uint i = lid; i < n; i += tgs) { out[i] = metal::precise::exp(in[i] - m) / s; }
}
