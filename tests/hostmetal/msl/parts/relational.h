// relational.h - tests on values (bfloat too), select, any, all.
namespace metal {
template <class T, MSL_IFANYFP(T)> MSL_FN bool isnan(T a) { return (float)a != (float)a; }
template <class T, MSL_IFANYFP(T)> MSL_FN bool isinf(T a) {
  float x = (float)a;
  return x == __builtin_huge_valf() || x == -__builtin_huge_valf();
}
template <class T, MSL_IFANYFP(T)> MSL_FN bool isfinite(T a) { return !isnan(a) && !isinf(a); }
template <class T, MSL_IFANYFP(T)> MSL_FN bool isordered(T a, T b) { return !isnan(a) && !isnan(b); }
template <class T, MSL_IFANYFP(T)> MSL_FN bool isunordered(T a, T b) { return isnan(a) || isnan(b); }
template <class T, MSL_IFANYFP(T)> MSL_FN bool isnormal(T a) { // of its own type: a small half is not
  float x = (float)a;
  return isfinite(a) && !(x < (float)numeric_limits<T>::min() && -x < (float)numeric_limits<T>::min());
}
template <class T, MSL_IFANYFP(T)> MSL_FN bool signbit(T a) { return (as_type_<uint>((float)a) >> 31) != 0; }
template <class T> MSL_FN T select(T a, T b, bool c) { return c ? b : a; }
#if !MSL_LINT
template <class T, int N> MSL_FN vec<T, N> select(vec<T, N> a, vec<T, N> b, vec<bool, N> c) {
  for (int i = 0; i < N; i++) a[i] = c[i] ? b[i] : a[i];
  return a;
}
template <int N> MSL_FN bool any(vec<bool, N> c) {
  bool r = false;
  for (int i = 0; i < N; i++) r = r || c[i];
  return r;
}
template <int N> MSL_FN bool all(vec<bool, N> c) {
  bool r = true;
  for (int i = 0; i < N; i++) r = r && c[i];
  return r;
}
#endif
} // namespace metal
