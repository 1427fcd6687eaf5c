// simdgroup.h - barriers and simd functions.
// Sums go by halving (lane l with l + 16, 8, ...), prefix sums in lane order, in the CPU and the CUDA form alike,
// so that both give the same bits; Apple promises no order. On the CPU a lane that takes no part reads as poison
// (0xFF) and a simdgroup that diverges is an error. In the CUDA form all 32 lanes must take part: a launch with
// partial simdgroups is refused by the wrapper (msltool/emit_cuda.py).
namespace metal {
enum class mem_flags { mem_none = 0, mem_device = 1, mem_threadgroup = 2, mem_texture = 4 };
MSL_CONSTEXPR mem_flags operator|(mem_flags a, mem_flags b) { return (mem_flags)((int)a | (int)b); }

#if MSL_LINT
void threadgroup_barrier(mem_flags);
void simdgroup_barrier(mem_flags);
#define MSL_SIMD_LANE(n) template <class T, MSL_IFSIMD(T)> T n(T v, ushort lane);
#define MSL_SIMD_ANY(n) template <class T, MSL_IFSIMD(T)> T n(T v);
#define MSL_SIMD_INT(n) template <class T, MSL_IFSIMDINT(T)> T n(T v);
MSL_SIMD_LANE(simd_shuffle) MSL_SIMD_LANE(simd_shuffle_down) MSL_SIMD_LANE(simd_shuffle_up)
MSL_SIMD_LANE(simd_shuffle_xor) MSL_SIMD_LANE(simd_broadcast)
MSL_SIMD_ANY(simd_broadcast_first) MSL_SIMD_ANY(simd_sum) MSL_SIMD_ANY(simd_product)
MSL_SIMD_ANY(simd_max) MSL_SIMD_ANY(simd_min)
MSL_SIMD_ANY(simd_prefix_inclusive_sum) MSL_SIMD_ANY(simd_prefix_exclusive_sum)
MSL_SIMD_ANY(simd_prefix_inclusive_product) MSL_SIMD_ANY(simd_prefix_exclusive_product)
MSL_SIMD_LANE(simd_shuffle_rotate_down) MSL_SIMD_LANE(simd_shuffle_rotate_up)
template <class T, MSL_IFSIMD(T)> T simd_shuffle_and_fill_down(T v, T fill, ushort n);
template <class T, MSL_IFSIMD(T)> T simd_shuffle_and_fill_up(T v, T fill, ushort n);
MSL_SIMD_INT(simd_and) MSL_SIMD_INT(simd_or) MSL_SIMD_INT(simd_xor)
bool simd_all(bool);
bool simd_any(bool);
bool simd_is_first();

#elif MSL_HOST
MSL_FN void threadgroup_barrier(mem_flags, int site_ = __builtin_LINE()) { msl_barrier(site_); }
template <class T> struct lanes_ { // the values of all lanes at one simd function
  unsigned mask, me;
  const char *slots;
  lanes_(T v, int site) { slots = msl_simd_exchange(&v, sizeof v, &mask, &me, site); }
  bool on(unsigned l) const { return l < 32 && mask >> l & 1; }
  T get(unsigned l) const {
    T t;
    __builtin_memcpy(&t, slots + 64 * (l & 31), sizeof t);
    return t;
  }
  T at(unsigned l) const { // poison from a lane that takes no part
    if (on(l)) return get(l);
    T t;
    __builtin_memset((void *)&t, 0xFF, sizeof t);
    return t;
  }
};
MSL_FN void simdgroup_barrier(mem_flags, int site_ = __builtin_LINE()) { lanes_<int>(0, site_); }
#define MSL_SIMD_LANE(name, e)                                                                               \
  template <class T, MSL_IFSIMD(T)> MSL_FN T name(T v, ushort n MSL_SITE) {                                  \
    lanes_<T> L(v, site_);                                                                                   \
    return e;                                                                                                \
  }
MSL_SIMD_LANE(simd_shuffle, L.at(n))
MSL_SIMD_LANE(simd_broadcast, L.at(n))
MSL_SIMD_LANE(simd_shuffle_xor, L.at(L.me ^ n))
MSL_SIMD_LANE(simd_shuffle_down, L.me + n < 32 ? L.at(L.me + n) : v)
MSL_SIMD_LANE(simd_shuffle_up, L.me >= n ? L.at(L.me - n) : v)
MSL_SIMD_LANE(simd_shuffle_rotate_down, L.at((L.me + n) % 32))
MSL_SIMD_LANE(simd_shuffle_rotate_up, L.at((L.me + 32 - n % 32) % 32))
// the lanes past the end come from the other end of `fill`
#define MSL_SIMD_FILL(name, inside, from)                                                                    \
  template <class T, MSL_IFSIMD(T)> MSL_FN T name(T v, T fill, ushort n MSL_SITE) {                          \
    struct both { T v, fill; };                                                                              \
    lanes_<both> L(both{v, fill}, site_);                                                                    \
    return inside ? L.at((from) & 31).v : L.at((from) & 31).fill;                                            \
  }
MSL_SIMD_FILL(simd_shuffle_and_fill_down, L.me + n < 32, L.me + n)
MSL_SIMD_FILL(simd_shuffle_and_fill_up, L.me >= n, L.me - n)
template <class T, MSL_IFSIMD(T)> MSL_FN T simd_broadcast_first(T v MSL_SITE) {
  lanes_<T> L(v, site_);
  return L.get(__builtin_ctz(L.mask));
}
template <class T, class F> MSL_FN T halving_(lanes_<T> L, F f) {
  T v[32];
  unsigned m = L.mask;
  for (int l = 0; l < 32; l++) v[l] = L.get(l);
  for (int s = 16; s; s >>= 1) {
    for (int l = 0; l < s; l++) {
      bool low = m >> l & 1, high = m >> (l + s) & 1;
      v[l] = low && high ? f(v[l], v[l + s]) : low ? v[l] : v[l + s];
    }
    m |= m >> s;
  }
  return v[0];
}
#define MSL_SIMD_REDUCE(name, IF, e)                                                                         \
  template <class T, IF(T)> MSL_FN T name(T v MSL_SITE) {                                                    \
    return halving_(lanes_<T>(v, site_), [](T a, T b) -> T { return (T)(e); });                              \
  }
#define MSL_SIMD_PREFIX(name, lane_before_end, first, op)                                                    \
  template <class T, MSL_IFSIMD(T)> MSL_FN T name(T v MSL_SITE) {                                            \
    lanes_<T> L(v, site_);                                                                                   \
    T r = (T)first;                                                                                          \
    for (unsigned l = 0; lane_before_end; l++)                                                               \
      if (L.on(l)) r = (T)(r op L.get(l));                                                                   \
    return r;                                                                                                \
  }
MSL_SIMD_PREFIX(simd_prefix_inclusive_sum, l <= L.me, 0, +)
MSL_SIMD_PREFIX(simd_prefix_exclusive_sum, l < L.me, 0, +)
MSL_SIMD_PREFIX(simd_prefix_inclusive_product, l <= L.me, 1, *)
MSL_SIMD_PREFIX(simd_prefix_exclusive_product, l < L.me, 1, *)
MSL_FN bool simd_is_first(int site_ = __builtin_LINE()) {
  lanes_<int> L(0, site_);
  return L.me == (unsigned)__builtin_ctz(L.mask);
}
MSL_FN bool simd_all(bool v MSL_SITE) { return halving_(lanes_<int>(v, site_), [](int a, int b) { return a & b; }); }
MSL_FN bool simd_any(bool v MSL_SITE) { return halving_(lanes_<int>(v, site_), [](int a, int b) { return a | b; }); }

#else // CUDA
#define MSL_FULL 0xffffffffu
MSL_FN void threadgroup_barrier(mem_flags) { __syncthreads(); }
MSL_FN void simdgroup_barrier(mem_flags) { __syncwarp(); }
MSL_FN unsigned lane_() {
  unsigned l;
  asm("mov.u32 %0, %%laneid;" : "=r"(l));
  return l;
}
// types that the shuffles don't know go as 32-bit words
template <class T> struct carrier_ { typedef T type; };
template <> struct carrier_<char> { typedef int type; };
template <> struct carrier_<signed char> { typedef int type; };
template <> struct carrier_<uchar> { typedef uint type; };
template <> struct carrier_<short> { typedef int type; };
template <> struct carrier_<ushort> { typedef uint type; };
#define MSL_CARRY(T, v) ((typename carrier_<T>::type)(v))
#define MSL_SIMD_LANE(name, shuffle)                                                                         \
  template <class T, MSL_IFSIMD(T)> MSL_FN T name(T v, ushort n) { return (T)shuffle(MSL_FULL, MSL_CARRY(T, v), n); }
MSL_SIMD_LANE(simd_shuffle, __shfl_sync)
MSL_SIMD_LANE(simd_broadcast, __shfl_sync)
MSL_SIMD_LANE(simd_shuffle_xor, __shfl_xor_sync)
MSL_SIMD_LANE(simd_shuffle_down, __shfl_down_sync)
MSL_SIMD_LANE(simd_shuffle_up, __shfl_up_sync)
template <class T, MSL_IFSIMD(T)> MSL_FN T simd_broadcast_first(T v) { return simd_broadcast(v, 0); }
#define MSL_SIMD_REDUCE(name, IF, e)                                                                         \
  template <class T, IF(T)> MSL_FN T name(T a) {                                                             \
    for (int s = 16; s; s >>= 1) {                                                                           \
      T b = simd_shuffle_xor(a, (ushort)s);                                                                  \
      a = (T)(e);                                                                                            \
    }                                                                                                        \
    return a;                                                                                                \
  }
#define MSL_SIMD_PREFIX(name, takes, first, op)                                                              \
  template <class T, MSL_IFSIMD(T)> MSL_FN T name(T v) {                                                     \
    unsigned me = lane_();                                                                                   \
    T r = (T)first;                                                                                          \
    for (unsigned l = 0; l < 32; l++) {                                                                      \
      T t = simd_shuffle(v, (ushort)l);                                                                      \
      if (takes) r = (T)(r op t);                                                                            \
    }                                                                                                        \
    return r;                                                                                                \
  }
MSL_SIMD_PREFIX(simd_prefix_inclusive_sum, l <= me, 0, +)
MSL_SIMD_PREFIX(simd_prefix_exclusive_sum, l < me, 0, +)
MSL_SIMD_PREFIX(simd_prefix_inclusive_product, l <= me, 1, *)
MSL_SIMD_PREFIX(simd_prefix_exclusive_product, l < me, 1, *)
template <class T, MSL_IFSIMD(T)> MSL_FN T simd_shuffle_rotate_down(T v, ushort n) {
  return simd_shuffle(v, (ushort)((lane_() + n) & 31));
}
template <class T, MSL_IFSIMD(T)> MSL_FN T simd_shuffle_rotate_up(T v, ushort n) {
  return simd_shuffle(v, (ushort)((lane_() - n) & 31));
}
template <class T, MSL_IFSIMD(T)> MSL_FN T simd_shuffle_and_fill_down(T v, T fill, ushort n) {
  T a = simd_shuffle_rotate_down(v, n), b = simd_shuffle_rotate_down(fill, n);
  return lane_() + n < 32 ? a : b;
}
template <class T, MSL_IFSIMD(T)> MSL_FN T simd_shuffle_and_fill_up(T v, T fill, ushort n) {
  T a = simd_shuffle_rotate_up(v, n), b = simd_shuffle_rotate_up(fill, n);
  return lane_() >= n ? a : b;
}
MSL_FN bool simd_is_first() { return lane_() == 0; }
MSL_FN bool simd_all(bool v) { return __all_sync(MSL_FULL, v); }
MSL_FN bool simd_any(bool v) { return __any_sync(MSL_FULL, v); }
#endif

#if !MSL_LINT
MSL_SIMD_REDUCE(simd_sum, MSL_IFSIMD, a + b)
MSL_SIMD_REDUCE(simd_product, MSL_IFSIMD, a *b)
MSL_SIMD_REDUCE(simd_max, MSL_IFSIMD, max(a, b))
MSL_SIMD_REDUCE(simd_min, MSL_IFSIMD, min(a, b))
MSL_SIMD_REDUCE(simd_and, MSL_IFSIMDINT, a &b)
MSL_SIMD_REDUCE(simd_or, MSL_IFSIMDINT, a | b)
MSL_SIMD_REDUCE(simd_xor, MSL_IFSIMDINT, a ^ b)
#endif
} // namespace metal
