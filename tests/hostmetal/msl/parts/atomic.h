// atomic.h - relaxed atomics, as MSL has them: int and uint everything; float no min, max or bit operations.
namespace metal {
enum memory_order { memory_order_relaxed };
template <class T> struct atomic { T v_; };
#if MSL_LINT // OpenCL predeclares these names
#define atomic_int msl_atomic_int
#define atomic_uint msl_atomic_uint
#define atomic_float msl_atomic_float
#define atomic_bool msl_atomic_bool
#endif
typedef atomic<int> atomic_int;
typedef atomic<uint> atomic_uint;
typedef atomic<bool> atomic_bool;
#if __METAL_VERSION__ >= 300
typedef atomic<float> atomic_float;
#endif

#if MSL_LINT
// what an address space takes: float is for device memory only
#define MSL_IFDEVICE(T) enable_if_t<MSL_ISWORD(T) || MSL_SAME(T, bool) || MSL_SAME(T, float), int> = 0
#define MSL_IFTHREADGROUP(T) enable_if_t<MSL_ISWORD(T) || MSL_SAME(T, bool), int> = 0
#define MSL_IFDEVICESUM(T) enable_if_t<MSL_ISWORD(T) || MSL_SAME(T, float), int> = 0
#define MSL_ATOMIC_RMW(AS, name, IF) template <class T, IF(T)> T name(volatile AS atomic<T> *o, T v, memory_order);
#define MSL_ATOMICS(AS, IF, IFSUM)                                                                           \
  template <class T, IF(T)> T atomic_load_explicit(const volatile AS atomic<T> *o, memory_order);            \
  template <class T, IF(T)> void atomic_store_explicit(volatile AS atomic<T> *o, T v, memory_order);         \
  template <class T, IF(T)>                                                                                  \
  bool atomic_compare_exchange_weak_explicit(volatile AS atomic<T> *o, __private T *expected, T v,           \
                                             memory_order, memory_order);                                    \
  MSL_ATOMIC_RMW(AS, atomic_exchange_explicit, IF)                                                           \
  MSL_ATOMIC_RMW(AS, atomic_fetch_add_explicit, IFSUM)                                                       \
  MSL_ATOMIC_RMW(AS, atomic_fetch_sub_explicit, IFSUM)                                                       \
  MSL_ATOMIC_RMW(AS, atomic_fetch_max_explicit, MSL_IFWORD)                                                  \
  MSL_ATOMIC_RMW(AS, atomic_fetch_min_explicit, MSL_IFWORD)                                                  \
  MSL_ATOMIC_RMW(AS, atomic_fetch_and_explicit, MSL_IFWORD)                                                  \
  MSL_ATOMIC_RMW(AS, atomic_fetch_or_explicit, MSL_IFWORD)                                                   \
  MSL_ATOMIC_RMW(AS, atomic_fetch_xor_explicit, MSL_IFWORD)
MSL_ATOMICS(__global, MSL_IFDEVICE, MSL_IFDEVICESUM)
MSL_ATOMICS(__local, MSL_IFTHREADGROUP, MSL_IFWORD)

#elif MSL_HOST
#if MSL_COUNT // the compilers' instrumentation of atomics differs: counted here
#define MSL_ATOMIC_READ(o) msl_count((const void *)&(o)->v_, sizeof(o)->v_, 0)
#define MSL_ATOMIC_WRITE(o) msl_count((const void *)&(o)->v_, sizeof(o)->v_, 1)
#else
#define MSL_ATOMIC_READ(o) ((void)0)
#define MSL_ATOMIC_WRITE(o) ((void)0)
#endif
template <class T> MSL_FN T atomic_load_explicit(const volatile atomic<T> *o, memory_order) {
  T r;
  MSL_ATOMIC_READ(o);
  __atomic_load(&o->v_, &r, __ATOMIC_RELAXED);
  return r;
}
template <class T> MSL_FN void atomic_store_explicit(volatile atomic<T> *o, T v, memory_order) {
  MSL_ATOMIC_WRITE(o);
  __atomic_store(&o->v_, &v, __ATOMIC_RELAXED);
}
template <class T>
MSL_FN bool atomic_compare_exchange_weak_explicit(volatile atomic<T> *o, T *expected, T v, memory_order,
                                                  memory_order) {
  MSL_ATOMIC_READ(o);
  MSL_ATOMIC_WRITE(o);
  return __atomic_compare_exchange(&o->v_, expected, &v, 1, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}
template <class T> MSL_FN T atomic_exchange_explicit(volatile atomic<T> *o, T v, memory_order) {
  T r;
  MSL_ATOMIC_READ(o);
  MSL_ATOMIC_WRITE(o);
  __atomic_exchange(&o->v_, &v, &r, __ATOMIC_RELAXED);
  return r;
}
#define MSL_ATOMIC_RMW(name, e)                                                                              \
  template <class T> MSL_FN T name(volatile atomic<T> *o, T b, memory_order) {                               \
    T a, r;                                                                                                  \
    MSL_ATOMIC_READ(o);                                                                                      \
    MSL_ATOMIC_WRITE(o);                                                                                     \
    __atomic_load(&o->v_, &a, __ATOMIC_RELAXED);                                                             \
    do r = e;                                                                                                \
    while (!__atomic_compare_exchange(&o->v_, &a, &r, 1, __ATOMIC_RELAXED, __ATOMIC_RELAXED));               \
    return a;                                                                                                \
  }
MSL_ATOMIC_RMW(atomic_fetch_add_explicit, a + b) MSL_ATOMIC_RMW(atomic_fetch_sub_explicit, a - b)
MSL_ATOMIC_RMW(atomic_fetch_max_explicit, max(a, b)) MSL_ATOMIC_RMW(atomic_fetch_min_explicit, min(a, b))
MSL_ATOMIC_RMW(atomic_fetch_and_explicit, a &b) MSL_ATOMIC_RMW(atomic_fetch_or_explicit, a | b)
MSL_ATOMIC_RMW(atomic_fetch_xor_explicit, a ^ b)

#else // CUDA
template <class T> MSL_FN T atomic_load_explicit(const volatile atomic<T> *o, memory_order) { return o->v_; }
template <class T> MSL_FN void atomic_store_explicit(volatile atomic<T> *o, T v, memory_order) { o->v_ = v; }
#define MSL_ATOMIC_RMW(name, f)                                                                              \
  template <class T> MSL_FN T name(volatile atomic<T> *o, T v, memory_order) { return f((T *)&o->v_, v); }
MSL_ATOMIC_RMW(atomic_exchange_explicit, ::atomicExch) MSL_ATOMIC_RMW(atomic_fetch_add_explicit, ::atomicAdd)
MSL_ATOMIC_RMW(atomic_fetch_max_explicit, ::atomicMax) MSL_ATOMIC_RMW(atomic_fetch_min_explicit, ::atomicMin)
MSL_ATOMIC_RMW(atomic_fetch_and_explicit, ::atomicAnd) MSL_ATOMIC_RMW(atomic_fetch_or_explicit, ::atomicOr)
MSL_ATOMIC_RMW(atomic_fetch_xor_explicit, ::atomicXor)
template <class T> MSL_FN T atomic_fetch_sub_explicit(volatile atomic<T> *o, T v, memory_order) {
  if constexpr (MSL_SAME(T, float)) return ::atomicAdd((T *)&o->v_, -v);
  else return ::atomicAdd((T *)&o->v_, (T)(0u - (uint)v));
}
template <class T> // compared by bits, so a float NaN can be exchanged
MSL_FN bool atomic_compare_exchange_weak_explicit(volatile atomic<T> *o, T *expected, T v, memory_order,
                                                  memory_order) {
  static_assert(sizeof(T) == 4, "atomics are 32 bits wide");
  uint want = as_type_<uint>(*expected), was = ::atomicCAS((uint *)&o->v_, want, as_type_<uint>(v));
  *expected = as_type_<T>(was);
  return was == want;
}
#endif
} // namespace metal
