// qualifiers.h - address spaces and `kernel` as macros, and the names that live outside namespace metal.
#if MSL_HOST // kernel-scope threadgroup variables are rewritten by mslc
#define device
#define thread
#define threadgroup
#ifdef __clang__
#define constant const
#else
#define constant
#endif
#define kernel static
#elif MSL_CUDA // the wrapper strips the address spaces: as a macro, `device` would break __device__
#define kernel static __device__ __forceinline__
#define inline __device__ __forceinline__
#define METAL_FUNC __device__ __forceinline__
#endif
#ifndef METAL_FUNC
#define METAL_FUNC inline __attribute__((always_inline))
#endif
#define M_E_F 2.71828182845904523536028747135266250f
#define M_LOG2E_F 1.44269504088896340735992468100189214f
#define M_LOG10E_F 0.434294481903251827651128918916605082f
#define M_LN2_F 0.693147180559945309417232121458176568f
#define M_LN10_F 2.30258509299404568401799145468436421f
#define M_PI_F 3.14159265358979323846264338327950288f
#define M_PI_2_F 1.57079632679489661923132169163975144f
#define M_PI_4_F 0.785398163397448309615660845819875721f
#define M_1_PI_F 0.318309886183790671537767526745028724f
#define M_2_PI_F 0.636619772367581343075535053490057448f
#define M_2_SQRTPI_F 1.12837916709551257389615890312154517f
#define M_SQRT2_F 1.41421356237309504880168872420969808f
#define M_SQRT1_2_F 0.707106781186547524400844362104849039f
#undef INFINITY
#undef NAN
#undef HUGE_VALF
#undef FLT_MAX
#undef FLT_MIN
#undef FLT_EPSILON
#undef MAXFLOAT
#undef INT_MAX
#undef INT_MIN
#undef UINT_MAX
#undef LONG_MAX
#undef LONG_MIN
#undef ULONG_MAX
#define INFINITY __builtin_huge_valf()
#define HUGE_VALF __builtin_huge_valf()
#define NAN __builtin_nanf("")
#define FLT_MAX __FLT_MAX__
#define FLT_MIN __FLT_MIN__
#define FLT_EPSILON __FLT_EPSILON__
#define MAXFLOAT __FLT_MAX__
#define HUGE_VALH half(__builtin_huge_valf())
#define MAXHALF half(65504.0f)
#define HALF_MAX half(65504.0f)
#define INT_MAX 2147483647
#define INT_MIN (-2147483647 - 1)
#define UINT_MAX 4294967295u
#define LONG_MAX 9223372036854775807l
#define LONG_MIN (-9223372036854775807l - 1l)
#define ULONG_MAX 18446744073709551615ul
#if MSL_LINT && __METAL_VERSION__ < 310
#define bfloat bfloat_needs_metal_3_1
#endif
