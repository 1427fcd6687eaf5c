// surface.metal - what the other samples use nothing of. tests/expect.h knows the same slots.
#include <metal_stdlib>
#include <metal_simdgroup>
using namespace metal;
constant float table[2] = {M_PI_F, M_SQRT1_2_F};
[[max_total_threads_per_threadgroup(64)]] kernel void surface(
    device const int* x [[buffer(0)]], device const float* f [[buffer(1)]], device uint* out [[buffer(2)]],
    device const packed_float3* p [[buffer(3)]], device packed_float3* q [[buffer(4)]],
    uint i [[thread_position_in_grid]]) {
  int a = x[2u * i];
  int b = x[2u * i + 1u];
  uint ua = uint(a);
  uint ub = uint(b);
  char ca = char(a);
  char cb = char(b);
  uchar ha = uchar(ua);
  uchar hb = uchar(ub);
  device uint* o = out + i * 40u;
  o[0] = as_type<uint>(addsat(a, b));
  o[1] = as_type<uint>(subsat(a, b));
  o[2] = addsat(ua, ub);
  o[3] = subsat(ua, ub);
  o[4] = uint(absdiff(a, b));
  o[5] = as_type<uint>(int(addsat(ca, cb)));
  o[6] = as_type<uint>(int(subsat(ca, cb)));
  o[7] = uint(addsat(ha, hb));
  o[8] = as_type<uint>(int(hadd(ca, cb)));
  o[9] = as_type<uint>(int(rhadd(ca, cb)));
  o[10] = rotate(ua, ub & 31u);
  o[11] = uint(rotate(ha, uchar(ub & 7u)));
  o[12] = reverse_bits(ua);
  o[13] = as_type<uint>(extract_bits(a, 5u, 11u));
  o[14] = extract_bits(ua, 5u, 11u);
  o[15] = insert_bits(ua, ub, 7u, 9u);
  o[16] = as_type<uint>(mulhi(a, b));
  o[17] = mulhi(ua, ub);
  o[18] = as_type<uint>(median3(a, b, 0));
  o[19] = as_type<uint>(max3(a, b, 5)) ^ as_type<uint>(min3(a, b, -5));
  int4 v = clamp(int4(a, b, a, b), int4(-100), int4(100));
  o[20] = as_type<uint>(v.x + v.y);
  int2 w = abs(int2(a | 1, b | 1));
  o[21] = uint(w.x) ^ uint(w.y);
  float g = f[i];
  o[22] = (metal::isnormal(g) ? 1u : 0u) | (metal::isordered(g, 1.0f) ? 2u : 0u);
  o[22] = o[22] | (metal::isunordered(g, g) ? 4u : 0u);
  o[23] = as_type<uint>(metal::precise::fmin(fmin3(g, 1.0f, 2.0f), fmedian3(3.0f, 1.0f, 2.0f)));
  o[24] = as_type<uint>(table[i & 1u]);
  o[25] = as_type<uint>(smoothstep(0.0f, 2.0f, 0.5f));
  o[26] = simd_shuffle_and_fill_down(ua, ub, ushort(3));
  o[27] = simd_shuffle_and_fill_up(ua, ub, ushort(3));
  o[28] = simd_shuffle_rotate_down(ua, ushort(3));
  o[29] = simd_shuffle_rotate_up(ua, ushort(3));
  o[30] = simd_prefix_inclusive_product(ua | 1u);
  o[31] = simd_prefix_exclusive_product(ua | 1u);
  o[32] = simd_is_first() ? 1u : 0u;
  o[33] = uint(INT_MAX) + UINT_MAX;
  float3 t = float3(p[i]);
  q[i] = packed_float3(t + float3(1.0f));
}
