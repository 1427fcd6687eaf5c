// integer.h - the functions on integers: order, saturation, bits, high halves.
namespace metal {
template <class T, MSL_IFINT(T)> MSL_FN T min(T a, T b) { return b < a ? b : a; }
template <class T, MSL_IFINT(T)> MSL_FN T max(T a, T b) { return a < b ? b : a; }
template <class T, MSL_IFINT(T)> MSL_FN T clamp(T x, T lo, T hi) { return min(max(x, lo), hi); }
template <class T, MSL_IFINT(T)> MSL_FN T abs(T a) { return a < (T)0 ? (T)(0ul - (ulong)a) : a; }

#if MSL_CUDA
#define MSL_POPCOUNT64(u) ::__popcll((unsigned long long)(u))
#define MSL_CLZ64(u) ::__clzll((long long)(u))
#define MSL_CTZ64(u) (::__ffsll((long long)(u)) - 1)
#else
#define MSL_POPCOUNT64(u) __builtin_popcountl(u)
#define MSL_CLZ64(u) __builtin_clzl(u)
#define MSL_CTZ64(u) __builtin_ctzl(u)
#endif
template <class T> MSL_FN ulong widen_(T a) { return (ulong)a & (~0ul >> (64 - 8 * sizeof(T))); }
template <class T, MSL_IFINT(T)> MSL_FN T popcount(T a) { return (T)MSL_POPCOUNT64(widen_(a)); }
template <class T, MSL_IFINT(T)> MSL_FN T clz(T a) {
  ulong u = widen_(a);
  return u ? (T)(MSL_CLZ64(u) - (64 - 8 * (int)sizeof(T))) : (T)(8 * sizeof(T));
}
template <class T, MSL_IFINT(T)> MSL_FN T ctz(T a) {
  ulong u = widen_(a);
  return u ? (T)MSL_CTZ64(u) : (T)(8 * sizeof(T));
}
template <class T, MSL_IFINT(T)> MSL_FN T absdiff(T a, T b) {
  return a < b ? (T)((ulong)b - (ulong)a) : (T)((ulong)a - (ulong)b);
}
template <class T, MSL_IFINT(T)> MSL_FN T addsat(T a, T b) {
  T r = (T)((ulong)a + (ulong)b);
  if constexpr ((T)-1 > (T)0) return r < a ? numeric_limits<T>::max() : r;
  else return b > (T)0 && r < a ? numeric_limits<T>::max() : b < (T)0 && r > a ? numeric_limits<T>::min() : r;
}
template <class T, MSL_IFINT(T)> MSL_FN T subsat(T a, T b) {
  T r = (T)((ulong)a - (ulong)b);
  if constexpr ((T)-1 > (T)0) return a < b ? (T)0 : r;
  else return b < (T)0 && r < a ? numeric_limits<T>::max() : b > (T)0 && r > a ? numeric_limits<T>::min() : r;
}
template <class T, MSL_IFINT(T)> MSL_FN T hadd(T a, T b) { return (T)((a & b) + (T)((T)(a ^ b) >> 1)); }
template <class T, MSL_IFINT(T)> MSL_FN T rhadd(T a, T b) { return (T)((a | b) - (T)((T)(a ^ b) >> 1)); }
template <class T, MSL_IFINT(T)> MSL_FN T rotate(T a, T n) {
  uint w = 8 * (uint)sizeof(T), k = (uint)(ulong)n & (w - 1);
  ulong u = widen_(a);
  return k == 0 ? a : (T)((u << k) | (u >> (w - k)));
}
template <class T, MSL_IFINT(T)> MSL_FN T reverse_bits(T a) {
  ulong u = widen_(a), r = 0;
  for (uint i = 0; i < 8 * sizeof(T); i++) r |= ((u >> i) & 1) << (8 * sizeof(T) - 1 - i);
  return (T)r;
}
template <class T, MSL_IFINT(T)> MSL_FN T extract_bits(T a, uint offset, uint bits) { // sign-extends when T is signed
  if (bits == 0) return (T)0;
  uint w = 8 * (uint)sizeof(T);
  return (T)((T)(widen_(a) << (w - bits - offset)) >> (w - bits));
}
template <class T, MSL_IFINT(T)> MSL_FN T insert_bits(T a, T b, uint offset, uint bits) {
  ulong mask = bits == 0 ? 0ul : (~0ul >> (64 - bits)) << offset;
  return (T)((widen_(a) & ~mask) | ((widen_(b) << offset) & mask));
}
template <class T, MSL_IFINT(T)> MSL_FN T min3(T a, T b, T c) { return min(min(a, b), c); }
template <class T, MSL_IFINT(T)> MSL_FN T max3(T a, T b, T c) { return max(max(a, b), c); }
template <class T, MSL_IFINT(T)> MSL_FN T median3(T a, T b, T c) { return max(min(a, b), min(max(a, b), c)); }
// 32 bits and fewer only: 64-bit mulhi is not known to work everywhere
template <class T, MSL_IFSMALLINT(T)> MSL_FN T mulhi(T a, T b) { return (T)(((long)a * (long)b) >> (8 * sizeof(T))); }
MSL_FN uint mulhi(uint a, uint b) { return (uint)(((ulong)a * b) >> 32); }
template <class T, MSL_IFSMALLINT(T)> MSL_FN T madhi(T a, T b, T c) { return (T)((ulong)mulhi(a, b) + (ulong)c); }
template <class T, MSL_IFWORD(T)> MSL_FN T mul24(T a, T b) { return (T)((uint)a * (uint)b); }
template <class T, MSL_IFWORD(T)> MSL_FN T mad24(T a, T b, T c) { return (T)((uint)a * (uint)b + (uint)c); }
template <class T, int N, MSL_IFINT(T)> MSL_FN vec<T, N> abs(vec<T, N> a) {
  for (int i = 0; i < N; i++) a[i] = abs((T)a[i]);
  return a;
}
template <class T, int N, MSL_IFINT(T)> MSL_FN vec<T, N> clamp(vec<T, N> x, vec<T, N> lo, vec<T, N> hi) {
  for (int i = 0; i < N; i++) x[i] = clamp((T)x[i], (T)lo[i], (T)hi[i]);
  return x;
}
} // namespace metal
