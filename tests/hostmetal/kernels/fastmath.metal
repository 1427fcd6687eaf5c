// fastmath.metal - three results a function: precise, fast, unqualified. tests/fastmath.c knows the same rows.
#include <metal_stdlib>
using namespace metal;
#define ROW(n, call)                                   \
  o[n * 3u] = as_type<uint>(metal::precise::call);     \
  o[n * 3u + 1u] = as_type<uint>(metal::fast::call);   \
  o[n * 3u + 2u] = as_type<uint>(metal::call);
kernel void fastmath(device const float* x [[buffer(0)]], device const float* y [[buffer(1)]],
                     device uint* out [[buffer(2)]], uint i [[thread_position_in_grid]]) {
  float a = x[i];
  float b = y[i];
  device uint* o = out + i * 128u;
  ROW(0u, exp(a)) ROW(1u, exp2(a)) ROW(2u, exp10(a)) ROW(3u, log(a)) ROW(4u, log2(a)) ROW(5u, log10(a))
  ROW(6u, sin(a)) ROW(7u, cos(a)) ROW(8u, tan(a)) ROW(9u, asin(a)) ROW(10u, acos(a)) ROW(11u, atan(a))
  ROW(12u, sinh(a)) ROW(13u, cosh(a)) ROW(14u, tanh(a)) ROW(15u, asinh(a)) ROW(16u, acosh(a)) ROW(17u, atanh(a))
  ROW(18u, sqrt(a)) ROW(19u, rsqrt(a)) ROW(20u, pow(a, b)) ROW(21u, atan2(a, b)) ROW(22u, fmod(a, b))
  ROW(23u, divide(a, b)) ROW(24u, floor(a)) ROW(25u, ceil(a)) ROW(26u, trunc(a)) ROW(27u, rint(a))
  ROW(28u, round(a)) ROW(29u, fabs(a)) ROW(30u, fmin(a, b)) ROW(31u, fmax(a, b)) ROW(32u, min(a, b))
  ROW(33u, max(a, b)) ROW(34u, copysign(a, b)) ROW(35u, fdim(a, b)) ROW(36u, sinpi(a)) ROW(37u, cospi(a))
  ROW(38u, powr(a, b)) ROW(39u, sign(a)) ROW(40u, clamp(a, b, 4.0f))
  half h = half(a);
  o[123] = uint(as_type<ushort>(metal::exp(h)));                         // half: computed in float, rounded once
  float4 v = metal::fast::exp(float4(a, b, 1.0f, 0.0f));
  o[125] = as_type<uint>(v.y);
}
