// simdgroup_matrix.h - 8x8 matrices: lane l holds row r, columns c and c + 1 (the layout that MLX relies on).
namespace metal {
template <class T, int R = 8, int C = 8> struct simdgroup_matrix { T e[2]; };
typedef simdgroup_matrix<float> simdgroup_float8x8;
typedef simdgroup_matrix<half> simdgroup_half8x8;
#if __METAL_VERSION__ >= 310
typedef simdgroup_matrix<bfloat> simdgroup_bfloat8x8;
#endif
#if MSL_LINT
#define MSL_MATRIX_IO(AS)                                                                                    \
  template <class T>                                                                                         \
  void simdgroup_load(__private simdgroup_matrix<T> &m, const AS T *p, ulong stride = 8,                     \
                      ulong2 origin = (ulong2)0, bool transpose = false);                                    \
  template <class T>                                                                                         \
  void simdgroup_store(simdgroup_matrix<T> m, AS T *p, ulong stride = 8, ulong2 origin = (ulong2)0,          \
                       bool transpose = false);
MSL_MATRIX_IO(__global) MSL_MATRIX_IO(__local)
template <class T, class A, class B>
void simdgroup_multiply_accumulate(__private simdgroup_matrix<T> &d, simdgroup_matrix<A> a, simdgroup_matrix<B> b,
                                   simdgroup_matrix<T> c);
template <class T, class A, class B>
void simdgroup_multiply(__private simdgroup_matrix<T> &d, simdgroup_matrix<A> a, simdgroup_matrix<B> b);
template <class T, int R, int C> simdgroup_matrix<T> make_filled_simdgroup_matrix(T v);
#else
#if MSL_HOST
MSL_FN unsigned lane_() { return lanes_<int>(0, 0).me; }
#endif
MSL_FN int row_of_(unsigned l) { return ((l / 4) & 4) + (l / 2) % 4; }
MSL_FN int column_of_(unsigned l) { return ((l / 4) & 2) * 2 + (l % 2) * 2; }
MSL_FN int holder_(int r, int c) { return (r & 4) * 4 + (c & 4) * 2 + (r & 3) * 2 + ((c & 3) >> 1); }
MSL_FN ulong element_(unsigned l, int i, ulong stride, ulong2 origin, bool transpose) {
  ulong r = row_of_(l), c = column_of_(l) + i;
  return transpose ? (origin.y + c) * stride + origin.x + r : (origin.y + r) * stride + origin.x + c;
}
template <class T>
MSL_FN void simdgroup_load(simdgroup_matrix<T> &m, const T *p, ulong stride = 8, ulong2 origin = ulong2(0ul, 0ul),
                           bool transpose = false) {
  unsigned l = lane_();
  for (int i = 0; i < 2; i++) m.e[i] = p[element_(l, i, stride, origin, transpose)];
}
template <class T>
MSL_FN void simdgroup_store(simdgroup_matrix<T> m, T *p, ulong stride = 8, ulong2 origin = ulong2(0ul, 0ul),
                            bool transpose = false) {
  unsigned l = lane_();
  for (int i = 0; i < 2; i++) p[element_(l, i, stride, origin, transpose)] = m.e[i];
}
template <class T, int R, int C> MSL_FN simdgroup_matrix<T> make_filled_simdgroup_matrix(T v) {
  simdgroup_matrix<T> m;
  m.e[0] = m.e[1] = v;
  return m;
}
template <class T, class A, class B>
MSL_FN void simdgroup_multiply_accumulate(simdgroup_matrix<T> &d, simdgroup_matrix<A> a, simdgroup_matrix<B> b,
                                          simdgroup_matrix<T> c) {
  float acc[2] = {(float)c.e[0], (float)c.e[1]};
#if MSL_CUDA
  unsigned l = lane_();
  int r = row_of_(l), c0 = column_of_(l);
  for (int k = 0; k < 8; k++) {
    int row = holder_(r, k), column = holder_(k, c0);
    float x0 = __shfl_sync(MSL_FULL, (float)a.e[0], row), x1 = __shfl_sync(MSL_FULL, (float)a.e[1], row);
    float y0 = __shfl_sync(MSL_FULL, (float)b.e[0], column), y1 = __shfl_sync(MSL_FULL, (float)b.e[1], column);
    float x = k & 1 ? x1 : x0;
    acc[0] = base_::fma(x, y0, acc[0]);
    acc[1] = base_::fma(x, y1, acc[1]);
  }
#else
  struct pair { simdgroup_matrix<A> a; simdgroup_matrix<B> b; };
  lanes_<pair> L(pair{a, b}, -2); // one exchange: slots are valid only until the next one
  int r = row_of_(L.me), c0 = column_of_(L.me);
  for (int k = 0; k < 8; k++) {
    float x = (float)L.get(holder_(r, k)).a.e[k & 1];
    simdgroup_matrix<B> y = L.get(holder_(k, c0)).b;
    acc[0] = base_::fma(x, (float)y.e[0], acc[0]);
    acc[1] = base_::fma(x, (float)y.e[1], acc[1]);
  }
#endif
  d.e[0] = (T)acc[0];
  d.e[1] = (T)acc[1];
}
template <class T, class A, class B>
MSL_FN void simdgroup_multiply(simdgroup_matrix<T> &d, simdgroup_matrix<A> a, simdgroup_matrix<B> b) {
  simdgroup_multiply_accumulate(d, a, b, make_filled_simdgroup_matrix<T, 8, 8>((T)0.0f));
}
#endif
} // namespace metal
