// simd_full.metal - every simd function on whole simdgroups (the CUDA form takes no others), and bit counts.
#include <metal_stdlib>
using namespace metal;
kernel void simd_full(device const uint* x [[buffer(0)]], device uint* out [[buffer(1)]],
                      uint i [[thread_position_in_grid]], uint lane [[thread_index_in_simdgroup]]) {
  uint v = x[i];
  int s = int(v % 2001u) - 1000;
  float f = float(s) * 0.125f;
  device uint* o = out + i * 24u;
  o[0] = simd_sum(v);
  o[1] = as_type<uint>(simd_sum(f));
  o[2] = as_type<uint>(simd_max(s));
  o[3] = as_type<uint>(simd_min(f));
  o[4] = simd_and(v | 0xffff0000u);
  o[5] = simd_or(v & 0x0000ffffu);
  o[6] = simd_xor(v);
  o[7] = simd_any(v % 64u == 7u) ? 1u : 0u;
  o[8] = simd_all(v % 64u != 7u) ? 1u : 0u;
  o[9] = simd_prefix_inclusive_sum(v);
  o[10] = simd_prefix_exclusive_sum(v);
  o[11] = as_type<uint>(simd_prefix_inclusive_sum(f));
  o[12] = as_type<uint>(simd_prefix_exclusive_sum(f));
  o[13] = simd_broadcast_first(v);
  o[14] = simd_broadcast(v, ushort(17));
  o[15] = simd_shuffle(v, ushort(31u - lane));
  o[16] = simd_shuffle_down(v, ushort(3));
  o[17] = simd_shuffle_up(v, ushort(3));
  o[18] = simd_shuffle_xor(v, ushort(5));
  o[19] = popcount(v);
  o[20] = clz(v);
  o[21] = ctz(v);
  o[22] = uint(popcount(ushort(v)) + clz(ushort(v)) * ushort(100)) + uint(ctz(uchar(v))) * 10000u;
  o[23] = uint(clz(ulong(v) << 7u) + popcount(ulong(v) * ulong(v)));
}
