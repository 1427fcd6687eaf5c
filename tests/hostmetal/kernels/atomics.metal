// atomics.metal - every atomic operation, in ways whose outcome does not depend on the order of the threads.
#include <metal_stdlib>
#include <metal_atomic>
using namespace metal;
kernel void atomics(device atomic_uint* u [[buffer(0)]], device atomic_int* s [[buffer(1)]],
                    device atomic_float* f [[buffer(2)]], device uint* tickets [[buffer(3)]],
                    constant const uint& n [[buffer(4)]], uint i [[thread_position_in_grid]]) {
  if (i >= n) { return; }
  atomic_fetch_add_explicit(&u[0], i, memory_order_relaxed);
  atomic_fetch_sub_explicit(&u[1], 3u, memory_order_relaxed);
  atomic_fetch_and_explicit(&u[2], ~(1u << (i % 16u)), memory_order_relaxed);
  atomic_fetch_or_explicit(&u[3], 1u << (i % 24u), memory_order_relaxed);
  atomic_fetch_xor_explicit(&u[4], i, memory_order_relaxed);
  atomic_fetch_max_explicit(&u[5], i * 7u, memory_order_relaxed);
  atomic_fetch_sub_explicit(&s[0], int(i), memory_order_relaxed);
  atomic_fetch_min_explicit(&s[1], -int(i), memory_order_relaxed);
  atomic_fetch_add_explicit(&f[0], 0.25f, memory_order_relaxed);
  atomic_fetch_sub_explicit(&f[1], 0.5f, memory_order_relaxed);
  uint old = atomic_exchange_explicit(&u[6], i + 1u, memory_order_relaxed);
  atomic_fetch_add_explicit(&u[7], (i + 1u) - old, memory_order_relaxed);
  // a compare-and-exchange loop that adds 2.0 to a float, and one that hands out tickets
  float want = atomic_load_explicit(&f[2], memory_order_relaxed);
  while (!atomic_compare_exchange_weak_explicit(&f[2], &want, want + 2.0f, memory_order_relaxed,
                                                memory_order_relaxed)) { }
  uint ticket = atomic_load_explicit(&u[8], memory_order_relaxed);
  while (!atomic_compare_exchange_weak_explicit(&u[8], &ticket, ticket + 1u, memory_order_relaxed,
                                                memory_order_relaxed)) { }
  tickets[ticket] = i;
  if (i == 0u) { atomic_store_explicit(&s[2], -77, memory_order_relaxed); }
}
