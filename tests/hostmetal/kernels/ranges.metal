// ranges.metal - kernels that bind ranges of one buffer. tests/ranges.c
#include <metal_stdlib>
using namespace metal;
kernel void plus_one(device const float* x [[buffer(0)]], device float* y [[buffer(1)]],
                     constant const uint& n [[buffer(2)]], uint i [[thread_position_in_grid]]) {
  if (i >= n) { return; }
  y[i] = x[i] + 1.0f;
}
kernel void before(device const float* x [[buffer(0)]], device float* y [[buffer(1)]],
                   constant const uint& n [[buffer(2)]], uint i [[thread_position_in_grid]]) {
  if (i >= n) { return; }
  y[i] = (x + i)[-1];
}
kernel void both(device const float* x [[buffer(0)]], device float* y [[buffer(1)]], device float* z [[buffer(2)]],
                 constant const uint& n [[buffer(3)]], uint i [[thread_position_in_grid]]) {
  if (i >= n) { return; }
  float a = x[i];
  y[i] = a;
  z[i] = a * 2.0f;
}
