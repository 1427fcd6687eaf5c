// packed.h - packed_float4 and its like: a vector's components at the alignment of one, for loads and stores.
namespace metal {
#if MSL_LINT
#define MSL_PACKED(T, N) typedef T packed_##T##N __attribute__((ext_vector_type(N), aligned(sizeof(T))));
#else
template <class T, int N> struct packed_vec_ {
  T v_[N];
  packed_vec_() = default;
  MSL_MEMBER packed_vec_(vec<T, N> a) {
    for (int i = 0; i < N; i++) v_[i] = a[i];
  }
  MSL_MEMBER operator vec<T, N>() const {
    vec<T, N> r;
    for (int i = 0; i < N; i++) r[i] = v_[i];
    return r;
  }
  MSL_MEMBER T &operator[](int i) { return v_[i]; }
  MSL_MEMBER const T &operator[](int i) const { return v_[i]; }
};
#define MSL_PACKED(T, N) typedef packed_vec_<T, N> packed_##T##N;
#endif
#define MSL_PACKED_ALL(T) MSL_PACKED(T, 2) MSL_PACKED(T, 3) MSL_PACKED(T, 4)
MSL_PACKED_ALL(float) MSL_PACKED_ALL(half) MSL_PACKED_ALL(int) MSL_PACKED_ALL(uint) MSL_PACKED_ALL(short)
MSL_PACKED_ALL(ushort) MSL_PACKED_ALL(char) MSL_PACKED_ALL(uchar)
#if __METAL_VERSION__ >= 230
MSL_PACKED_ALL(long)
#endif
#if __METAL_VERSION__ >= 310
MSL_PACKED_ALL(bfloat)
#endif
} // namespace metal
