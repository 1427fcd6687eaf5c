// gelu.metal - fused x * 0.5 * (1 + erf(x / sqrt 2)), one kernel per dtype and layout; a complex square.
#include <metal_stdlib>
#pragma METAL fp math_mode(safe)
#pragma METAL fp contract(off)
using namespace metal;
constant float erf_hi[6] = {-1.72853470e-5f, 3.83197126e-4f, -3.88396438e-3f,
                               2.42546219e-2f, -1.06777877e-1f, -6.34846687e-1f};
inline float nv_erf(float a) {
  float t = metal::fabs(a);
  float s = a * a;
  if (t > 0.927734375f) {
    float r = metal::fma(erf_hi[0], t, erf_hi[1]);
    float u = metal::fma(erf_hi[2], t, erf_hi[3]);
    r = metal::fma(r, s, u);
    r = metal::fma(r, t, erf_hi[4]);
    r = metal::fma(r, t, erf_hi[5]);
    r = metal::fma(r, t, -1.28717512e-1f);
    r = metal::fma(r, t, -t);
    return metal::copysign(1.0f - metal::precise::exp(r), a);
  }
  float r = -5.96761703e-4f;
  r = metal::fma(r, s, 4.99119423e-3f);
  r = metal::fma(r, s, -2.67681349e-2f);
  r = metal::fma(r, s, 1.12819925e-1f);
  r = metal::fma(r, s, -3.76125336e-1f);
  r = metal::fma(r, s, 1.28379166e-1f);
  return metal::fma(r, a, a);
}
inline uint nv_loc(uint elem, constant const int* shape, constant const int* strides, int ndim) {
  uint loc = 0u;
  for (int d = ndim - 1; d >= 0; --d) {
    loc += (elem % uint(shape[d])) * uint(strides[d]);
    elem /= uint(shape[d]);
  }
  return loc;
}

kernel void gelu_f32(device const float* x [[buffer(0)]], device float* y [[buffer(1)]],
                     constant const uint& size [[buffer(2)]], uint i [[thread_position_in_grid]]) {
  if (i >= size) { return; }
  float a = x[i];
  float b = a * 0.70710678f;
  float c = 1.0f + nv_erf(b);
  float d = a * 0.5f;
  y[i] = d * c;
}
kernel void gelu_f16(device const half* x [[buffer(0)]], device half* y [[buffer(1)]],
                     constant const uint& size [[buffer(2)]], uint i [[thread_position_in_grid]]) {
  if (i >= size) { return; }
  half a = x[i];
  half b = a * half(0.70710678f);
  half c = half(1.0f) + half(nv_erf(float(b)));
  half d = a * half(0.5f);
  y[i] = d * c;
}
kernel void gelu_bf16(device const bfloat* x [[buffer(0)]], device bfloat* y [[buffer(1)]],
                      constant const uint& size [[buffer(2)]], uint i [[thread_position_in_grid]]) {
  if (i >= size) { return; }
  bfloat a = x[i];
  bfloat b = bfloat(float(a) * float(bfloat(0.70710678f)));
  bfloat c = bfloat(1.0f + float(bfloat(nv_erf(float(b)))));
  bfloat d = bfloat(float(a) * 0.5f);
  y[i] = bfloat(float(d) * float(c));
}
kernel void gelu_f32_strided(device const float* x [[buffer(0)]], device float* y [[buffer(1)]],
                             constant const int* shape [[buffer(2)]], constant const int* strides [[buffer(3)]],
                             constant const int& ndim [[buffer(4)]],
                             uint3 pos [[thread_position_in_grid]], uint3 grid [[threads_per_grid]]) {
  uint i = pos.x + grid.x * (pos.y + grid.y * pos.z);
  float a = x[nv_loc(i, shape, strides, ndim)];
  float b = a * 0.70710678f;
  float c = 1.0f + nv_erf(b);
  float d = a * 0.5f;
  y[i] = d * c;
}
// complex as a plain struct, moved member by member so that no implicit copy crosses address spaces
struct nv_c64 { float re; float im; };
inline nv_c64 nv_cmul(nv_c64 a, nv_c64 b) { return nv_c64{a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re}; }
kernel void csquare_c64(device const nv_c64* x [[buffer(0)]], device nv_c64* y [[buffer(1)]],
                        constant const uint& size [[buffer(2)]], uint i [[thread_position_in_grid]]) {
  if (i >= size) { return; }
  nv_c64 a = nv_c64{x[i].re, x[i].im};
  nv_c64 b = nv_cmul(a, a);
  y[i].re = b.re;
  y[i].im = b.im;
}
