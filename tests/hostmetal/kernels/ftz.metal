// ftz.metal - probes of the flush mode: one result a slot, as bits. tests/ftz.c holds the model, with the same slots.
#include <metal_stdlib>
#pragma METAL fp math_mode(safe)
#pragma METAL fp contract(off)
using namespace metal;
kernel void ftz_f32(device const float* x [[buffer(0)]], device const float* y [[buffer(1)]],
                    device const float* z [[buffer(2)]], device uint* out [[buffer(3)]],
                    uint i [[thread_position_in_grid]]) {
  float a = x[i];
  float b = y[i];
  float c = z[i];
  device uint* o = out + i * 32u;
  o[0] = as_type<uint>(a * 1.0f);
  o[1] = as_type<uint>(a + (-0.0f));
  o[2] = as_type<uint>(a - b);
  o[3] = as_type<uint>(a + b);
  o[4] = as_type<uint>(a * b);
  o[5] = as_type<uint>(a / b);
  o[6] = as_type<uint>(metal::fma(a, b, c));
  o[7] = a == b ? 1u : 0u;
  o[8] = a < b ? 1u : 0u;
  o[9] = a != 0.0f ? 1u : 0u;
  o[10] = as_type<uint>(metal::precise::min(a, b));
  o[11] = as_type<uint>(metal::precise::max(a, b));
  o[12] = as_type<uint>(a < b ? a : b);
  o[13] = as_type<uint>(a > b ? a : b);
  o[14] = as_type<uint>(-a);
  o[15] = as_type<uint>(a);
  o[16] = as_type<uint>(float(as_type<int>(a)));
  o[17] = metal::precise::fabs(a) < 1.0e9f ? uint(int(a)) : 0u;
  o[18] = as_type<uint>(metal::precise::fabs(a));
  o[19] = as_type<uint>(metal::precise::sqrt(a));
  o[20] = as_type<uint>(metal::precise::exp(a));
  o[21] = as_type<uint>(metal::precise::sin(a));
  o[22] = uint(as_type<ushort>(half(a)));
  o[23] = as_type<uint>(a / 1.0f);
  o[24] = as_type<uint>(a * -1.0f);
  o[25] = as_type<uint>(metal::precise::fmod(a, b));
  o[26] = as_type<uint>(metal::precise::ldexp(a, -3));
  o[27] = as_type<uint>(metal::precise::floor(a));
  o[28] = as_type<uint>(metal::select(a, b, a < b));
  o[29] = as_type<uint>(a - 0.0f);
  o[30] = uint(as_type<ushort>(bfloat(a)));
  o[31] = as_type<uint>(metal::precise::pow(a, b));
}
kernel void ftz_bf16(device const ushort* x [[buffer(0)]], device const ushort* y [[buffer(1)]],
                     device uint* out [[buffer(2)]], uint i [[thread_position_in_grid]]) {
  bfloat a = as_type<bfloat>(x[i]);
  bfloat b = as_type<bfloat>(y[i]);
  device uint* o = out + i * 16u;
  o[0] = uint(as_type<ushort>(a + b));
  o[1] = uint(as_type<ushort>(a - b));
  o[2] = uint(as_type<ushort>(a * b));
  o[3] = uint(as_type<ushort>(a / b));
  o[4] = uint(as_type<ushort>(bfloat(float(a) * float(b))));
  o[5] = float(a) == float(b) ? 1u : 0u;
  o[6] = float(a) < float(b) ? 1u : 0u;
  o[7] = uint(as_type<ushort>(a));
  o[8] = as_type<uint>(float(a));
  o[9] = uint(as_type<ushort>(bfloat(float(a) * 1.0f)));
  o[10] = uint(as_type<ushort>(bfloat(metal::precise::exp(float(a)))));
  o[11] = uint(as_type<ushort>(float(a) < float(b) ? a : b));
}
kernel void ftz_f16(device const half* x [[buffer(0)]], device const half* y [[buffer(1)]],
                    device uint* out [[buffer(2)]], uint i [[thread_position_in_grid]]) {
  half a = x[i];
  half b = y[i];
  device uint* o = out + i * 16u;
  o[0] = uint(as_type<ushort>(half(a + b)));
  o[1] = uint(as_type<ushort>(half(a - b)));
  o[2] = uint(as_type<ushort>(half(a * b)));
  o[3] = uint(as_type<ushort>(half(a / b)));
  o[4] = uint(as_type<ushort>(half(a * half(1.0f))));
  o[5] = a == b ? 1u : 0u;
  o[6] = a < b ? 1u : 0u;
  o[7] = as_type<uint>(float(a));
  o[8] = uint(as_type<ushort>(half(metal::precise::exp(float(a)))));
  o[9] = uint(as_type<ushort>(metal::fma(a, b, a)));
  o[10] = uint(as_type<ushort>(metal::sqrt(a)));
  o[11] = uint(as_type<ushort>(half(metal::precise::min(float(a), float(b)))));
}
