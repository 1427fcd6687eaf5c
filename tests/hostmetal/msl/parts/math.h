// math.h - the math functions: precise::, fast::, and the unqualified names, which are one or the other.
//
// precise:: and fast:: exist for float and its vectors only; a half argument becomes float and the result is float.
// Unqualified names take half too (computed in float, rounded once). bfloat has no math: convert.
//
// On the CPU fast:: differs from precise:: on purpose where Apple's accuracy table lets it differ: the lowest bit
// of a finite non-zero result is flipped, pow(x < 0, y) and tanh(x > 44) are NaN, and min, max and clamp of a NaN
// are NaN. So a kernel that names the wrong one is seen. Functions that are exact in both stay equal.
//
// In flush mode (msl_ftz) operands and results are flushed by bits: fl_() here, or inside rt/msl_math.c.
#define MSL_LIST_INEXACT1(X)                                                                                 \
  X(acos) X(acosh) X(asin) X(asinh) X(atan) X(atanh) X(cos) X(cosh) X(cospi) X(exp) X(exp2) X(exp10) X(log)  \
  X(log2) X(log10) X(rsqrt) X(sin) X(sinh) X(sinpi) X(sqrt) X(tan) X(tanpi)
#define MSL_LIST_EXACT1(X) X(ceil) X(fabs) X(floor) X(fract) X(rint) X(round) X(saturate) X(sign) X(trunc)
#define MSL_LIST_INEXACT2(X) X(atan2) X(divide) X(fmod)
#define MSL_LIST_EXACT2(X) X(copysign) X(fdim) X(nextafter) X(step)
#define MSL_LIST_ORDER(X) X(fmax) X(fmin) X(max) X(min) /* exact, but fast:: is undefined with NaN */
#define MSL_LIST_1(X) MSL_LIST_INEXACT1(X) X(tanh) MSL_LIST_EXACT1(X)
#define MSL_LIST_2(X) MSL_LIST_INEXACT2(X) X(pow) X(powr) MSL_LIST_EXACT2(X) MSL_LIST_ORDER(X)

namespace metal {
#if MSL_LINT
#define MSL_DECL1(n) float n(float); template <int N> vec<float, N> n(vec<float, N>);
#define MSL_DECL2(n) float n(float, float); template <int N> vec<float, N> n(vec<float, N>, vec<float, N>);
namespace precise {
MSL_LIST_1(MSL_DECL1) MSL_LIST_2(MSL_DECL2)
float abs(float); float clamp(float, float, float); float mix(float, float, float);
float sincos(float, __private float &); float modf(float, __private float &); float frexp(float, __private int &);
float ldexp(float, int); int ilogb(float);
} // namespace precise
namespace fast { using namespace precise; }
#define MSL_UNQUALIFIED1(n)                                                                                  \
  template <class T, MSL_IFFP(T)> T n(T); template <class T, int N> vec<T, N> n(vec<T, N>);
#define MSL_UNQUALIFIED2(n)                                                                                  \
  template <class T, MSL_IFFP(T)> T n(T, T); template <class T, int N> vec<T, N> n(vec<T, N>, vec<T, N>);
MSL_LIST_1(MSL_UNQUALIFIED1) MSL_LIST_2(MSL_UNQUALIFIED2)
template <class T, MSL_IFFP(T)> T abs(T);
template <class T, MSL_IFFP(T)> T clamp(T, T, T);
template <class T, MSL_IFFP(T)> T mix(T, T, T);
template <class T, MSL_IFFP(T)> T fma(T, T, T);
template <class T, MSL_IFFP(T)> T sincos(T, __private T &);
template <class T, MSL_IFFP(T)> T modf(T, __private T &);
template <class T, MSL_IFFP(T)> T frexp(T, __private int &);
template <class T, MSL_IFFP(T)> T ldexp(T, int);
template <class T, MSL_IFFP(T)> int ilogb(T);
#else

namespace base_ { // scalar float, one definition a function
#if MSL_CUDA
#define MSL_C(n) ::n##f
MSL_FN float fl_(float x) { return x; }
#define MSL_LIBM1(n) MSL_FN float n(float x) { return ::n##f(x); }
MSL_LIBM1(acos) MSL_LIBM1(acosh) MSL_LIBM1(asin) MSL_LIBM1(asinh) MSL_LIBM1(atan) MSL_LIBM1(atanh)
MSL_LIBM1(cos) MSL_LIBM1(cosh) MSL_LIBM1(cospi) MSL_LIBM1(exp) MSL_LIBM1(exp2) MSL_LIBM1(exp10) MSL_LIBM1(log)
MSL_LIBM1(log2) MSL_LIBM1(log10) MSL_LIBM1(sin) MSL_LIBM1(sinh) MSL_LIBM1(sinpi) MSL_LIBM1(sqrt) MSL_LIBM1(tan)
MSL_LIBM1(tanh)
MSL_FN float rsqrt(float x) { return 1.0f / ::sqrtf(x); }
MSL_FN float tanpi(float x) { return ::sinpif(x) / ::cospif(x); }
MSL_FN float atan2(float y, float x) { return ::atan2f(y, x); }
MSL_FN float fmod(float x, float y) { return ::fmodf(x, y); }
MSL_FN float pow(float x, float y) { return ::powf(x, y); }
MSL_FN float nextafter(float x, float y) { return ::nextafterf(x, y); }
MSL_FN float fma(float x, float y, float z) { return ::fmaf(x, y, z); }
MSL_FN float ldexp(float x, int e) { return ::ldexpf(x, e); }
MSL_FN float frexp(float x, int &e) { return ::frexpf(x, &e); }
#else
#define MSL_C(n) __builtin_##n##f
MSL_FN float flushed_(float x) {
  uint u = __builtin_bit_cast(uint, x);
  return u & 0x7f800000u ? x : __builtin_bit_cast(float, u & 0x80000000u);
}
MSL_FN float fl_(float x) { return __builtin_expect(msl_ftz, 0) ? flushed_(x) : x; }
#define MSL_LIBM1(n) MSL_FN float n(float x) { return msl_##n(x); }
#define MSL_LIBM2(n) MSL_FN float n(float x, float y) { return msl_##n(x, y); }
MSL_LIBM1(acos) MSL_LIBM1(acosh) MSL_LIBM1(asin) MSL_LIBM1(asinh) MSL_LIBM1(atan) MSL_LIBM1(atanh)
MSL_LIBM1(cos) MSL_LIBM1(cosh) MSL_LIBM1(cospi) MSL_LIBM1(exp) MSL_LIBM1(exp2) MSL_LIBM1(exp10) MSL_LIBM1(log)
MSL_LIBM1(log2) MSL_LIBM1(log10) MSL_LIBM1(rsqrt) MSL_LIBM1(sin) MSL_LIBM1(sinh) MSL_LIBM1(sinpi) MSL_LIBM1(tan)
MSL_LIBM1(tanh) MSL_LIBM1(tanpi)
MSL_LIBM2(atan2) MSL_LIBM2(fmod) MSL_LIBM2(pow) MSL_LIBM2(nextafter)
MSL_FN float sqrt(float x) { return __builtin_sqrtf(fl_(x)); }
MSL_FN float fma(float x, float y, float z) {
  return __builtin_expect(msl_ftz, 0) ? msl_fma(x, y, z) : __builtin_fmaf(x, y, z);
}
MSL_FN float ldexp(float x, int e) { return msl_ldexp(x, e); }
MSL_FN float frexp(float x, int &e) { return msl_frexp(x, &e); }
#endif
MSL_FN float powr(float x, float y) { return x < 0 ? __builtin_nanf("") : pow(x, y); }
MSL_FN float divide(float x, float y) { return x / y; }
MSL_FN float ceil(float x) { return MSL_C(ceil)(fl_(x)); }
MSL_FN float floor(float x) { return MSL_C(floor)(fl_(x)); }
MSL_FN float trunc(float x) { return MSL_C(trunc)(fl_(x)); }
MSL_FN float rint(float x) { return MSL_C(rint)(fl_(x)); }
MSL_FN float round(float x) { return MSL_C(round)(fl_(x)); }
MSL_FN float fabs(float x) { return MSL_C(fabs)(fl_(x)); }
MSL_FN float copysign(float x, float y) { return MSL_C(copysign)(fl_(x), y); }
#if MSL_CUDA
MSL_FN float fmin(float x, float y) { return ::fminf(x, y); }
MSL_FN float fmax(float x, float y) { return ::fmaxf(x, y); }
#else // spelled out: libm's take a signalling NaN differently, and MSL knows no such thing
MSL_FN float fmin(float x, float y) { return fl_(y < x || x != x ? y : x); }
MSL_FN float fmax(float x, float y) { return fl_(x < y || x != x ? y : x); }
#endif
MSL_FN float min(float x, float y) { return fmin(x, y); }
MSL_FN float max(float x, float y) { return fmax(x, y); }
MSL_FN float fdim(float x, float y) { return x != x || y != y ? x + y : x > y ? x - y : 0.0f; }
MSL_FN float fract(float x) { return fmin(x - floor(x), 0x1.fffffep-1f); }
MSL_FN float saturate(float x) { return fmin(fmax(x, 0.0f), 1.0f); }
MSL_FN float sign(float x) {
  float y = fl_(x);
  return y > 0 ? 1.0f : y < 0 ? -1.0f : y == 0 ? y : 0.0f;
}
MSL_FN float step(float edge, float x) { return x < edge ? 0.0f : 1.0f; }
MSL_FN float clamp(float x, float lo, float hi) { return fmin(fmax(x, lo), hi); }
MSL_FN int ilogb(float x) {
  int e;
  float y = fl_(x);
  if (y == 0) return -2147483647 - 1;
  if (y != y || y == __builtin_huge_valf() || y == -__builtin_huge_valf()) return 2147483647;
  frexp(y, e);
  return e - 1;
}
} // namespace base_

#define MSL_VECTOR1(n)                                                                                       \
  template <int N> MSL_FN vec<float, N> n(vec<float, N> a) {                                                 \
    for (int i = 0; i < N; i++) a[i] = n((float)a[i]);                                                       \
    return a;                                                                                                \
  }
#define MSL_VECTOR2(n)                                                                                       \
  template <int N> MSL_FN vec<float, N> n(vec<float, N> a, vec<float, N> b) {                                \
    for (int i = 0; i < N; i++) a[i] = n((float)a[i], (float)b[i]);                                          \
    return a;                                                                                                \
  }
namespace precise {
#define MSL_PRECISE1(n) MSL_FN float n(float x) { return base_::n(x); } MSL_VECTOR1(n)
#define MSL_PRECISE2(n) MSL_FN float n(float x, float y) { return base_::n(x, y); } MSL_VECTOR2(n)
MSL_LIST_1(MSL_PRECISE1) MSL_LIST_2(MSL_PRECISE2)
MSL_FN float abs(float x) { return base_::fabs(x); }
MSL_FN float clamp(float x, float lo, float hi) { return base_::clamp(x, lo, hi); }
MSL_FN float mix(float x, float y, float a) { return x + (y - x) * a; }
MSL_FN float ldexp(float x, int e) { return base_::ldexp(x, e); }
MSL_FN int ilogb(float x) { return base_::ilogb(x); }
MSL_FN float frexp(float x, int &e) { return base_::frexp(x, e); }
MSL_FN float sincos(float x, float &c) { c = base_::cos(x); return base_::sin(x); }
MSL_FN float modf(float x, float &whole) {
  whole = base_::trunc(x);
  bool infinite = x == __builtin_huge_valf() || x == -__builtin_huge_valf();
  return base_::copysign(infinite ? 0.0f : x - whole, x);
}
} // namespace precise

#if MSL_CUDA
namespace fast { using namespace precise; }
#else
namespace fast {
MSL_FN float flip_(float r) {
  uint u = __builtin_bit_cast(uint, r);
  return (u << 1) == 0 || (u & 0x7f800000u) == 0x7f800000u ? r : __builtin_bit_cast(float, u ^ 1u);
}
MSL_FN float nan_if_(bool c, float r) { return c ? __builtin_nanf("") : r; }
#define MSL_FLIP1(n) MSL_FN float n(float x) { return flip_(precise::n(x)); } MSL_VECTOR1(n)
#define MSL_FLIP2(n) MSL_FN float n(float x, float y) { return flip_(precise::n(x, y)); } MSL_VECTOR2(n)
#define MSL_NANS2(n)                                                                                         \
  MSL_FN float n(float x, float y) { return nan_if_(x != x || y != y, precise::n(x, y)); } MSL_VECTOR2(n)
MSL_LIST_INEXACT1(MSL_FLIP1) MSL_LIST_INEXACT2(MSL_FLIP2) MSL_LIST_ORDER(MSL_NANS2)
MSL_LIST_EXACT1(MSL_PRECISE1) MSL_LIST_EXACT2(MSL_PRECISE2)
MSL_FN float tanh(float x) { return nan_if_(x > 44.0f, flip_(precise::tanh(x))); } MSL_VECTOR1(tanh)
MSL_FN float pow(float x, float y) { return nan_if_(x < 0.0f, flip_(precise::pow(x, y))); } MSL_VECTOR2(pow)
MSL_FN float powr(float x, float y) { return flip_(precise::powr(x, y)); } MSL_VECTOR2(powr)
MSL_FN float sincos(float x, float &c) { c = cos(x); return sin(x); }
MSL_FN float clamp(float x, float lo, float hi) { return min(max(x, lo), hi); }
using precise::abs; using precise::frexp; using precise::ilogb; using precise::ldexp; using precise::mix;
using precise::modf;
} // namespace fast
#endif

#if MSL_FAST_FUNCTIONS && !MSL_CUDA
namespace named_ = fast;
#else
namespace named_ = precise;
#endif
/* what an unqualified name means: by the flags for float, always precise for half */
#define MSL_PICK(T, call) ((T)(sizeof(T) == 4 ? named_::call : precise::call))
#define MSL_UNQUALIFIED1(n)                                                                                  \
  template <class T, MSL_IFFP(T)> MSL_FN T n(T a) { float x = (float)a; return MSL_PICK(T, n(x)); }          \
  template <class T, int N> MSL_FN vec<T, N> n(vec<T, N> a) {                                                \
    for (int i = 0; i < N; i++) a[i] = n((T)a[i]);                                                           \
    return a;                                                                                                \
  }
#define MSL_UNQUALIFIED2(n)                                                                                  \
  template <class T, MSL_IFFP(T)> MSL_FN T n(T a, T b) {                                                     \
    float x = (float)a, y = (float)b;                                                                        \
    return MSL_PICK(T, n(x, y));                                                                             \
  }                                                                                                          \
  template <class T, int N> MSL_FN vec<T, N> n(vec<T, N> a, vec<T, N> b) {                                   \
    for (int i = 0; i < N; i++) a[i] = n((T)a[i], (T)b[i]);                                                  \
    return a;                                                                                                \
  }
MSL_LIST_1(MSL_UNQUALIFIED1) MSL_LIST_2(MSL_UNQUALIFIED2)
template <class T, MSL_IFFP(T)> MSL_FN T abs(T a) { return fabs(a); }
template <class T, MSL_IFFP(T)> MSL_FN T clamp(T x, T lo, T hi) { return fmin(fmax(x, lo), hi); }
template <class T, MSL_IFFP(T)> MSL_FN T mix(T x, T y, T a) { return x + (y - x) * a; }
template <class T, MSL_IFFP(T)> MSL_FN T ldexp(T x, int e) { return (T)precise::ldexp((float)x, e); }
template <class T, MSL_IFFP(T)> MSL_FN int ilogb(T x) { return precise::ilogb((float)x); }
template <class T, MSL_IFFP(T)> MSL_FN T frexp(T x, int &e) { return (T)precise::frexp((float)x, e); }
template <class T, MSL_IFFP(T)> MSL_FN T sincos(T x, T &c) { c = cos(x); return sin(x); }
template <class T, MSL_IFFP(T)> MSL_FN T modf(T x, T &whole) {
  float w, f = precise::modf((float)x, w);
  whole = (T)w;
  return (T)f;
}
MSL_FN float fma(float a, float b, float c) { return base_::fma(a, b, c); }
MSL_FN half fma(half a, half b, half c) { // exact product; no midpoint can be lost in the double sum
  return (half)((double)(float)a * (double)(float)b + (double)(float)c);
}
template <class T, int N> MSL_FN vec<T, N> fma(vec<T, N> a, vec<T, N> b, vec<T, N> c) {
  for (int i = 0; i < N; i++) a[i] = fma((T)a[i], (T)b[i], (T)c[i]);
  return a;
}
#endif
// on three operands; of one NaN and two numbers, the numbers count
template <class T, MSL_IFFP(T)> MSL_FN T fmin3(T a, T b, T c) { return fmin(fmin(a, b), c); }
template <class T, MSL_IFFP(T)> MSL_FN T fmax3(T a, T b, T c) { return fmax(fmax(a, b), c); }
template <class T, MSL_IFFP(T)> MSL_FN T min3(T a, T b, T c) { return fmin3(a, b, c); }
template <class T, MSL_IFFP(T)> MSL_FN T max3(T a, T b, T c) { return fmax3(a, b, c); }
template <class T, MSL_IFFP(T)> MSL_FN T fmedian3(T a, T b, T c) { return fmax(fmin(a, b), fmin(fmax(a, b), c)); }
template <class T, MSL_IFFP(T)> MSL_FN T median3(T a, T b, T c) { return fmedian3(a, b, c); }
template <class T, MSL_IFFP(T)> MSL_FN T smoothstep(T lo, T hi, T x) {
  T t = clamp((T)((x - lo) / (hi - lo)), (T)0.0f, (T)1.0f);
  return (T)(t * t * ((T)3.0f - (T)((T)2.0f * t)));
}
} // namespace metal
