// types.h - half, bfloat, and the traits that say which functions take which types.
#if MSL_LINT
typedef __bf16 bfloat;
#else
#if MSL_HOST
typedef _Float16 half; // build with excess precision off: see msltool/build.py
#endif
// A class, not the compilers' own __bf16: clang 19 can't compile that with -ffp-exception-behavior=strict.
// Arithmetic is float's, rounded once to nearest even; conversion works on the bits, so it keeps subnormals.
struct bfloat {
  unsigned short bits_;
  bfloat() = default;
  MSL_CONSTEXPR explicit bfloat(float f) : bits_(round_(__builtin_bit_cast(unsigned, f))) {}
  MSL_CONSTEXPR operator float() const { return __builtin_bit_cast(float, (unsigned)bits_ << 16); }
  MSL_CONSTEXPR bfloat operator-() const { return __builtin_bit_cast(bfloat, (unsigned short)(bits_ ^ 0x8000)); }
  static MSL_CONSTEXPR unsigned short round_(unsigned u) {
    return (u & 0x7fffffffu) > 0x7f800000u ? (unsigned short)((u >> 16) | 0x40) // NaN stays, quiet
                                           : (unsigned short)((u + 0x7fffu + ((u >> 16) & 1)) >> 16);
  }
};
#define MSL_OP(o)                                                                                            \
  MSL_MEMBER bfloat operator o(bfloat a, bfloat b) { return bfloat((float)a o(float) b); }                   \
  MSL_MEMBER bfloat &operator o##=(bfloat &a, bfloat b) { return a = a o b; }
MSL_OP(+) MSL_OP(-) MSL_OP(*) MSL_OP(/)
#undef MSL_OP
#endif

namespace metal {
#if !MSL_LINT
using ::half;
#endif
#if __METAL_VERSION__ >= 310
using ::bfloat;
#endif
template <class A, class B> struct is_same { enum { value = 0 }; };
template <class A> struct is_same<A, A> { enum { value = 1 }; };
template <bool C, class T = void> struct enable_if {};
template <class T> struct enable_if<true, T> { typedef T type; };
template <bool C, class T = void> using enable_if_t = typename enable_if<C, T>::type;
template <bool C, class A, class B> struct conditional { typedef A type; };
template <class A, class B> struct conditional<false, A, B> { typedef B type; };

#define MSL_SAME(A, B) (is_same<A, B>::value)
#define MSL_ISFP(T) (MSL_SAME(T, float) || MSL_SAME(T, half)) /* no bfloat: Apple's math has none */
#define MSL_ISANYFP(T) (MSL_ISFP(T) || MSL_SAME(T, bfloat))
#define MSL_ISINT(T)                                                                                         \
  (MSL_SAME(T, char) || MSL_SAME(T, signed char) || MSL_SAME(T, uchar) || MSL_SAME(T, short) ||              \
   MSL_SAME(T, ushort) || MSL_SAME(T, int) || MSL_SAME(T, uint) || MSL_SAME(T, long) || MSL_SAME(T, ulong))
#define MSL_ISWORD(T) (MSL_SAME(T, int) || MSL_SAME(T, uint))
#define MSL_IFFP(T) enable_if_t<MSL_ISFP(T), int> = 0
#define MSL_IFANYFP(T) enable_if_t<MSL_ISANYFP(T), int> = 0
#define MSL_IFINT(T) enable_if_t<MSL_ISINT(T), int> = 0
#define MSL_IFSMALLINT(T) enable_if_t<MSL_ISINT(T) && sizeof(T) <= 4, int> = 0
#define MSL_IFWORD(T) enable_if_t<MSL_ISWORD(T), int> = 0
/* Apple has no 64-bit simd functions */
#define MSL_IFSIMD(T) enable_if_t<(MSL_ISFP(T) || MSL_ISINT(T)) && sizeof(T) <= 4, int> = 0
#define MSL_IFSIMDINT(T) enable_if_t<MSL_ISINT(T) && sizeof(T) <= 4, int> = 0
} // namespace metal
