// matmul.metal - a tiled product with threadgroup memory as arguments, and one of simdgroup matrices.
#include <metal_stdlib>
#include <metal_simdgroup_matrix>
#pragma METAL fp math_mode(safe)
#pragma METAL fp contract(off)
using namespace metal;
// C[m,n] = A[m,k] B[k,n]; 16x16 tiles; threadgroup memory as kernel arguments.
kernel void matmul_tiled_f32(device const float* A [[buffer(0)]], device const float* B [[buffer(1)]],
                             device float* C [[buffer(2)]],
                             constant const uint3& mnk [[buffer(3)]],
                             threadgroup float* ta [[threadgroup(0)]], threadgroup float* tb [[threadgroup(1)]],
                             uint3 gid [[threadgroup_position_in_grid]],
                             uint3 lid [[thread_position_in_threadgroup]]) {
  uint r = gid.y * 16u + lid.y;
  uint c = gid.x * 16u + lid.x;
  float acc = 0.0f;
  for (uint k0 = 0u; k0 < mnk.z; k0 += 16u) {
    ta[lid.y * 16u + lid.x] = (r < mnk.x && k0 + lid.x < mnk.z) ? A[r * mnk.z + k0 + lid.x] : 0.0f;
    tb[lid.y * 16u + lid.x] = (c < mnk.y && k0 + lid.y < mnk.z) ? B[(k0 + lid.y) * mnk.y + c] : 0.0f;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint k = 0u; k < 16u; ++k) { acc += ta[lid.y * 16u + k] * tb[k * 16u + lid.x]; }
    threadgroup_barrier(mem_flags::mem_threadgroup);
  }
  if (r < mnk.x && c < mnk.y) { C[r * mnk.y + c] = acc; }
}
// One simdgroup per 8x8 tile; sizes multiples of 8.
kernel void matmul_sg_f32(device const float* A [[buffer(0)]], device const float* B [[buffer(1)]],
                          device float* C [[buffer(2)]],
                          constant const uint3& mnk [[buffer(3)]], uint3 gid [[threadgroup_position_in_grid]]) {
  simdgroup_float8x8 acc = make_filled_simdgroup_matrix<float, 8, 8>(0.0f);
  simdgroup_float8x8 a;
  simdgroup_float8x8 b;
  for (uint k = 0u; k < mnk.z; k += 8u) {
    simdgroup_load(a, A + gid.y * 8u * mnk.z + k, ulong(mnk.z));
    simdgroup_load(b, B + k * mnk.y + gid.x * 8u, ulong(mnk.y));
    simdgroup_multiply_accumulate(acc, a, b, acc);
  }
  simdgroup_store(acc, C + gid.y * 8u * mnk.y + gid.x * 8u, ulong(mnk.y));
}
