// prims.metal - the primitives of lib/ir/math.inc in Metal's language, one operation each, and what kernels need
// besides. Before each function stands what it calls; the emitter prints the functions that a file uses, and only
// those.

//: nv_add needs
static inline float nv_add(float a, float b) { return a + b; }
//: nv_sub needs
static inline float nv_sub(float a, float b) { return a - b; }
//: nv_mul needs
static inline float nv_mul(float a, float b) { return a * b; }
//: nv_div needs
static inline float nv_div(float a, float b) { return a / b; }
//: nv_fma needs
static inline float nv_fma(float a, float b, float c) { return metal::fma(a, b, c); }
//: nv_neg needs
static inline float nv_neg(float a) { return -a; }
//: nv_abs needs
static inline float nv_abs(float a) { return metal::fabs(a); }
//: nv_copysign needs
static inline float nv_copysign(float a, float b) { return metal::copysign(a, b); }
//: nv_lt needs
static inline bool nv_lt(float a, float b) { return a < b; }
//: nv_le needs
static inline bool nv_le(float a, float b) { return a <= b; }
//: nv_eq needs
static inline bool nv_eq(float a, float b) { return a == b; }
//: nv_isnan needs
static inline bool nv_isnan(float a) { return metal::isnan(a); }
//: nv_bits needs
static inline uint nv_bits(float a) { return as_type<uint>(a); }
//: nv_float needs
static inline float nv_float(uint a) { return as_type<float>(a); }
//: nv_floor needs
static inline float nv_floor(float a) { return metal::floor(a); }
//: nv_ceil needs
static inline float nv_ceil(float a) { return metal::ceil(a); }
//: nv_rint needs
static inline float nv_rint(float a) { return metal::rint(a); }
//: nv_sqrt needs
static inline float nv_sqrt(float a) { return metal::precise::sqrt(a); }
//: nv_rsqrt needs
static inline float nv_rsqrt(float a) { return metal::precise::rsqrt(a); }
//: nv_exp needs
static inline float nv_exp(float a) { return metal::precise::exp(a); }
//: nv_log needs
static inline float nv_log(float a) { return metal::precise::log(a); }
//: nv_log2 needs
static inline float nv_log2(float a) { return metal::precise::log2(a); }
//: nv_log10 needs
static inline float nv_log10(float a) { return metal::precise::log10(a); }
//: nv_sin needs
static inline float nv_sin(float a) { return metal::precise::sin(a); }
//: nv_cos needs
static inline float nv_cos(float a) { return metal::precise::cos(a); }
//: nv_sinh needs
static inline float nv_sinh(float a) { return metal::precise::sinh(a); }
//: nv_cosh needs
static inline float nv_cosh(float a) { return metal::precise::cosh(a); }
//: nv_tanh needs
static inline float nv_tanh(float a) { return metal::precise::tanh(a); }
//: nv_atan2 needs
static inline float nv_atan2(float a, float b) { return metal::precise::atan2(a, b); }
//: nv_fmod needs
static inline float nv_fmod(float a, float b) { return metal::precise::fmod(a, b); }
//: nv_complex needs
static inline float2 nv_complex(float re, float im) { return float2(re, im); }
// a divisor that no compiler knows: unsigned division by constants is miscompiled before macOS 26.6
//: nv_divisor_uint needs
static inline uint nv_divisor_uint(uint a) {
  volatile uint hidden = a;
  return hidden;
}
//: nv_divisor_ulong needs
static inline ulong nv_divisor_ulong(ulong a) {
  volatile ulong hidden = a;
  return hidden;
}
//: nv_pow needs
static inline float nv_pow(float a, float b) { return metal::precise::pow(a, b); }

// upper half of a 128-bit product, in 32-bit pieces: Metal's own mulhi of 64 bits is better avoided
//: nv_mulhi64 needs
static inline ulong nv_mulhi64(ulong a, ulong b) {
  ulong low = (a & 0xfffffffful) * (b & 0xfffffffful);
  ulong middle = (a >> 32) * (b & 0xfffffffful) + (low >> 32);
  ulong other = (a & 0xfffffffful) * (b >> 32) + (middle & 0xfffffffful);
  return (a >> 32) * (b >> 32) + (middle >> 32) + (other >> 32);
}

// What fast math would change: v holds 17 patterns of float32, and behind them room for 6 results, all of them 0 where
// the arithmetic is as written: a product and a sum contracted; -0 + 0; inf * 0; sums reassociated; a division made a
// product; functions without a variant's name other than the precise ones. The stub runs it once.
//: nv_probe needs
static inline void nv_probe(device uint* v) {
  float product = as_type<float>(v[0]) * as_type<float>(v[1]);
  float difference = product - as_type<float>(v[2]);
  v[17] = as_type<uint>(difference);
  float zero = as_type<float>(v[3]) + 0.0f;
  v[18] = as_type<uint>(zero);
  float none = as_type<float>(v[4]) * 0.0f;
  v[19] = (as_type<uint>(none) & 0x7fffffffu) > 0x7f800000u ? 0u : 1u;
  float sum = as_type<float>(v[5]) + as_type<float>(v[6]);
  float rest = sum - as_type<float>(v[5]);
  v[20] = as_type<uint>(rest);
  float quotient = as_type<float>(v[7]) / as_type<float>(v[8]);
  v[21] = as_type<uint>(quotient) ^ v[9];
  uint other = 0u; // any that differs
  for (uint i = 10u; i < 17u; i++) {
    float x = as_type<float>(v[i]);
    other |= as_type<uint>(metal::exp(x)) ^ as_type<uint>(metal::precise::exp(x));
    other |= as_type<uint>(metal::sin(x)) ^ as_type<uint>(metal::precise::sin(x));
  }
  v[22] = other;
}
// The element at place of a line of n, of which every run elements are in order, once pairs of runs are merged: as many
// of the lower run stand before it as a search for the place where both sides fit says. No two elements are equal.
//: nv_merged needs
static inline long nv_merged(const device long* line, uint n, uint run, uint place) {
  uint first = place & ~(2u * run - 1u), middle = metal::min(first + run, n), end = metal::min(middle + run, n);
  uint before = place - first, low = before - metal::min(before, end - middle);
  uint high = metal::min(before, middle - first);
  while (low < high) {
    uint half_way = (low + high) / 2u;
    if (line[first + half_way] < line[middle + (before - 1u - half_way)]) {
      low = half_way + 1u;
    } else {
      high = half_way;
    }
  }
  uint lower = first + low, upper = middle + (before - low);
  if (lower < middle && (upper >= end || line[lower] < line[upper])) {
    return line[lower];
  }
  return line[upper];
}
// How many of n elements in order are below the bound.
//: nv_below needs
static inline long nv_below(const device long* line, uint n, long bound) {
  uint low = 0u, high = n;
  while (low < high) {
    uint half_way = (low + high) / 2u;
    if (line[half_way] < bound) {
      low = half_way + 1u;
    } else {
      high = half_way;
    }
  }
  return long(low);
}
