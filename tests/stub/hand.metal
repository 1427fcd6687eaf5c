// hand.metal - kernels of the hand-written tape in hand.c: y = x * w + 1, s = sum of y over the last axis.
#include <metal_stdlib>
#pragma METAL fp math_mode(safe)
#pragma METAL fp contract(off)
using namespace metal;

// nv_probe of lib/emit/runtime/prims.metal: run_tests.sh puts it here.
kernel void hand_tie_1(device uint *v [[buffer(0)]]) { nv_probe(v); }

kernel void hand_k0_multiply(device const float *x [[buffer(0)]], device const float *w [[buffer(1)]],
                             device float *t [[buffer(2)]], uint2 p [[thread_position_in_grid]]) {
  t[p.y * 100u + p.x] = x[p.y * 100u + p.x] * w[p.x];
}

kernel void hand_k1_add(device const float *t [[buffer(0)]], device float *y [[buffer(1)]],
                        uint2 p [[thread_position_in_grid]]) {
  y[p.y * 100u + p.x] = t[p.y * 100u + p.x] + 1.0f;
}

kernel void hand_k2_sum(device const float *y [[buffer(0)]], device float *s [[buffer(1)]],
                        uint p [[thread_position_in_grid]]) {
  uint row = p / 32u;
  uint lane = p % 32u;
  float a = 0.0f;
  for (uint e = lane; e < 100u; e += 32u) { a = a + y[row * 100u + e]; }
  for (ushort d = 16; d != 0; d = d >> 1) { a = a + simd_shuffle_xor(a, d); }
  if (lane == 0u) { s[row] = a; }
}

kernel void hand_k3_negative(device const int *a [[buffer(0)]], device const int *none [[buffer(1)]],
                             device int *b [[buffer(2)]], uint p [[thread_position_in_grid]]) {
  (void)none;
  b[p] = -a[p];
}

// Kernels of open sizes: t = x * w, y = t + number, s = 0, 1, 2, ...
kernel void open_k0_times(device const float *x [[buffer(0)]], device const float *w [[buffer(1)]],
                          device float *t [[buffer(2)]], constant long *sizes [[buffer(3)]],
                          uint p [[thread_position_in_grid]]) {
  t[p] = x[p] * w[long(p) % sizes[0]];
}

kernel void open_k1_plus(device const float *t [[buffer(0)]], device float *y [[buffer(1)]],
                         constant ulong *sizes [[buffer(2)]], uint p [[thread_position_in_grid]]) {
  y[p] = t[p] + as_type<float>(uint(sizes[0]));
}

kernel void open_k2_count(device float *s [[buffer(0)]], uint p [[thread_position_in_grid]]) { s[p] = float(p); }
