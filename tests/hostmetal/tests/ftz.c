/* ftz.c - both subnormal modes against a model in plain C. usage: ftz LIBRARY
 * The model: operators flush operands, and results as the processor does (see msl_fpmode.h); library functions
 * flush operands and the IEEE result by bits; copies, negation, selection and conversion to bfloat keep bits;
 * half never flushes. */
#include "mtl.h"
#include "msl_rt.h"
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int flush; /* the mode being modelled */
static uint32_t bits(float f) { uint32_t u; memcpy(&u, &f, 4); return u; }
static float from_bits(uint32_t u) { float f; memcpy(&f, &u, 4); return f; }
static float by_bits(float x) { return flush && !(bits(x) & 0x7f800000u) ? from_bits(bits(x) & 0x80000000u) : x; }

/* a product or quotient, exact or nearly so in double, rounded to float as the processor does in flush mode */
static float by_processor(double exact) {
#if defined(__x86_64__)
  double tiny = 0x1p-126 - 0x1p-151; /* below this it is tiny after rounding */
#else
  double tiny = 0x1p-126; /* tiny before rounding */
#endif
  if (flush && exact != 0 && fabs(exact) < tiny) return copysignf(0.0f, (float)exact);
  return (float)exact;
}
static float mul(float a, float b) { return by_processor((double)by_bits(a) * (double)by_bits(b)); }
static float divide(float a, float b) { return by_processor((double)by_bits(a) / (double)by_bits(b)); }
static float add(float a, float b) { return by_bits(by_bits(a) + by_bits(b)); } /* a subnormal sum is exact */
static float lib1(double (*f)(double), float a) { return by_bits((float)f((double)by_bits(a))); }
static float lib2(double (*f)(double, double), float a, float b) {
  return by_bits((float)f((double)by_bits(a), (double)by_bits(b)));
}
static int less(float a, float b) { return by_bits(a) < by_bits(b); }
static int equal(float a, float b) { return by_bits(a) == by_bits(b); }
static float smaller(float a, float b) { return by_bits(less(b, a) || isnan(a) ? b : a); }
static float larger(float a, float b) { return by_bits(less(a, b) || isnan(a) ? b : a); }

static float bf(uint16_t u) { return from_bits((uint32_t)u << 16); }
static uint16_t tobf(float f) {
  uint32_t u = bits(f);
  return (u & 0x7fffffffu) > 0x7f800000u ? (uint16_t)(u >> 16 | 64) : (uint16_t)((u + 0x7fff + (u >> 16 & 1)) >> 16);
}
static uint16_t hbits(_Float16 h) { uint16_t u; memcpy(&u, &h, 2); return u; }
static _Float16 from_hbits(uint16_t u) { _Float16 h; memcpy(&h, &u, 2); return h; }

enum kind { BITS, FLOAT, BFLOAT, HALF }; /* how a slot is compared: NaNs of a type are equal */
typedef struct slot { const char *name; enum kind kind; } slot;
static const slot f32_slots[32] = {{"x*1", FLOAT},
                                   {"x+(-0)", FLOAT},
                                   {"x-y", FLOAT},
                                   {"x+y", FLOAT},
                                   {"x*y", FLOAT},
                                   {"x/y", FLOAT},
                                   {"fma", FLOAT},
                                   {"x==y", BITS},
                                   {"x<y", BITS},
                                   {"x!=0", BITS},
                                   {"min", FLOAT},
                                   {"max", FLOAT},
                                   {"x<y?x:y", BITS},
                                   {"x>y?x:y", BITS},
                                   {"-x", BITS},
                                   {"copy", BITS},
                                   {"int->float", BITS},
                                   {"float->int", BITS},
                                   {"fabs", FLOAT},
                                   {"sqrt", FLOAT},
                                   {"exp", FLOAT},
                                   {"sin", FLOAT},
                                   {"float->half", HALF},
                                   {"x/1", FLOAT},
                                   {"x*-1", FLOAT},
                                   {"fmod", FLOAT},
                                   {"ldexp", FLOAT},
                                   {"floor", FLOAT},
                                   {"select", BITS},
                                   {"x-0", FLOAT},
                                   {"float->bfloat", BFLOAT},
                                   {"pow", FLOAT}};
static const slot bf16_slots[16] = {{"bf x+y", BFLOAT}, {"bf x-y", BFLOAT},      {"bf x*y", BFLOAT},
                                    {"bf x/y", BFLOAT}, {"bf by float", BFLOAT}, {"bf x==y", BITS},
                                    {"bf x<y", BITS},   {"bf copy", BITS},       {"bf->float", BITS},
                                    {"bf x*1", BFLOAT}, {"bf exp", BFLOAT},      {"bf x<y?x:y", BITS}};
static const slot f16_slots[16] = {
    {"half x+y", HALF}, {"half x-y", HALF}, {"half x*y", HALF}, {"half x/y", HALF}, {"half x*1", HALF},
    {"half x==y", BITS}, {"half x<y", BITS}, {"half->float", FLOAT}, {"half exp", HALF}, {"half fma", HALF},
    {"half sqrt", HALF}, {"half min", HALF}};

static void model_f32(uint32_t *o, float a, float b, float c) {
  int32_t as_int = (int32_t)bits(a);
  float fa = by_bits(a);
  const uint32_t r[32] = {bits(mul(a, 1)),
                          bits(add(a, -0.0f)),
                          bits(add(a, -b)),
                          bits(add(a, b)),
                          bits(mul(a, b)),
                          bits(divide(a, b)),
                          bits(by_bits(fmaf(fa, by_bits(b), by_bits(c)))),
                          equal(a, b),
                          less(a, b),
                          !equal(a, 0),
                          bits(smaller(a, b)),
                          bits(larger(a, b)),
                          less(a, b) ? bits(a) : bits(b),
                          less(b, a) ? bits(a) : bits(b),
                          bits(a) ^ 0x80000000u,
                          bits(a),
                          bits((float)as_int),
                          fabsf(a) < 1e9f ? (uint32_t)(int32_t)fa : 0,
                          bits(fabsf(fa)),
                          bits(lib1(sqrt, a)),
                          bits(lib1(exp, a)),
                          bits(lib1(sin, a)),
                          hbits((_Float16)fa),
                          bits(divide(a, 1)),
                          bits(mul(a, -1)),
                          bits(lib2(fmod, a, b)),
                          bits(by_bits(ldexpf(fa, -3))),
                          bits(floorf(fa)),
                          less(a, b) ? bits(b) : bits(a),
                          bits(add(a, -0.0f)),
                          tobf(a),
                          bits(lib2(pow, a, b))};
  memcpy(o, r, sizeof r);
}
static void model_bf16(uint32_t *o, uint16_t x, uint16_t y) {
  float a = bf(x), b = bf(y);
  const uint32_t r[12] = {tobf(add(a, b)), tobf(add(a, -b)), tobf(mul(a, b)),    tobf(divide(a, b)),
                          tobf(mul(a, b)), equal(a, b),      less(a, b),         x,
                          bits(a),         tobf(mul(a, 1)),  tobf(lib1(exp, a)), less(a, b) ? x : y};
  memcpy(o, r, sizeof r);
}
static void model_f16(uint32_t *o, uint16_t x, uint16_t y) {
  _Float16 ha = from_hbits(x), hb = from_hbits(y);
  float a = (float)ha, b = (float)hb;
  const uint32_t r[12] = {hbits((_Float16)(a + b)), hbits((_Float16)(a - b)), hbits((_Float16)(a * b)),
                          hbits((_Float16)(a / b)), hbits(ha), a == b, a < b, bits(a),
                          hbits((_Float16)(float)exp((double)a)), hbits((_Float16)((double)a * b + a)),
                          hbits((_Float16)sqrtf(a)), hbits((_Float16)(b < a || isnan(a) ? b : a))};
  memcpy(o, r, sizeof r);
}

static int is_nan(uint32_t u, enum kind k) {
  return k == FLOAT    ? (u & 0x7fffffffu) > 0x7f800000u
         : k == BFLOAT ? (u & 0x7fffu) > 0x7f80u
         : k == HALF   ? (u & 0x7fffu) > 0x7c00u
                       : 0;
}

static id device, queue, library;
static void run(const char *name, id *buffers, int nbuffers, unsigned n) {
  void *pool = objc_autoreleasePoolPush();
  id err = NULL, f = mtl_function(library, name), p = mtl_pipeline(device, f, &err);
  id cb = mtl_cmdbuf(queue), e = mtl_encoder(cb, 0);
  mtl_set_pipeline(e, p);
  for (int i = 0; i < nbuffers; i++) mtl_set_buffer(e, buffers[i], 0, i);
  mtl_threads(e, mtl_size(n, 1, 1), mtl_size(256, 1, 1));
  mtl_end(e);
  mtl_commit(cb);
  mtl_wait(cb);
  mtl_release(p);
  mtl_release(f);
  objc_autoreleasePoolPop(pool);
}

static int wrong, changed[3][32]; /* changed: how often flushing makes a difference, per type and slot */
static void compare(const slot *slots, int n, const uint32_t *got, const uint32_t *want, unsigned i) {
  for (int s = 0; s < n && slots[s].name; s++) {
    enum kind k = slots[s].kind;
    if (got[s] == want[s] || (is_nan(got[s], k) && is_nan(want[s], k))) continue;
    if (wrong++ < 10)
      fprintf(stderr, "flush=%d %s, item %u: got %08x, expected %08x\n", flush, slots[s].name, i, got[s], want[s]);
  }
}

static uint32_t seed = 1;
static uint32_t rnd(void) { seed ^= seed << 13; seed ^= seed >> 17; seed ^= seed << 5; return seed; }
static const uint32_t special[] = {
    0,          0x80000000u, 1,          0x80000001u, 2,           0x7fffff,   0x807fffffu, 0x400000,
    0x800000,   0x80800000u, 0x800001,   0xffffff,    0x1000000,   0x3f800000, 0xbf800000u, 0x3f7fffff,
    0x3f800001, 0x3f000000,  0x40000000, 0x3effffff,  0x7f7fffff,  0x7f800000, 0xff800000u, 0x7fc00000,
    0x7e800000, 0x7e800001,  0x7f000000, 0xc2ae0000u, 0xc2ce0000u, 0x00018000, 0x00008000};
enum { NS = sizeof special / sizeof *special, N = NS * NS * 4 + 20000 };
static uint32_t pick(int i) { /* near the limits of the exponent, or anything */
  uint32_t r = rnd();
  return i % 3 == 0 ? (r & 0x807fffffu) | ((r >> 8 & 3) << 23) : i % 3 == 1 ? (r & 0x87ffffffu) | 0x38000000u : r;
}

int main(int argc, char **argv) {
  void *pool = objc_autoreleasePoolPush();
  id err = NULL;
  device = MTLCreateSystemDefaultDevice();
  queue = mtl_queue(device);
  library = mtl_library(device, argv[argc - 1], &err);
  if (!library) return fprintf(stderr, "%s\n", mtl_error_text(err)), 1;
  id b[4];
  for (int i = 0; i < 3; i++) b[i] = mtl_buffer(device, N * 4);
  b[3] = mtl_buffer(device, (NSUInteger)N * 128);
  float *x = mtl_contents(b[0]), *y = mtl_contents(b[1]), *z = mtl_contents(b[2]);
  uint32_t *out = mtl_contents(b[3]);
  for (int i = 0; i < N; i++) {
    int s = i / 4 < NS * NS;
    x[i] = from_bits(s ? special[i / 4 / NS] : pick(i));
    y[i] = from_bits(s ? special[i / 4 % NS] : pick(i / 3));
    z[i] = from_bits(i % 4 < 3 ? special[rnd() % NS] : pick(i / 9));
  }
  uint32_t *keep_f32 = malloc((size_t)N * 128), want[32];
  for (int mode = 0; mode < 2; mode++) {
    flush = msl_defaults.ftz = mode;
    run("ftz_f32", b, 4, N);
    for (int i = 0; i < N; i++) {
      model_f32(want, x[i], y[i], z[i]);
      compare(f32_slots, 32, out + i * 32, want, i);
      for (int s = 0; mode && s < 32; s++) changed[0][s] += keep_f32[i * 32 + s] != out[i * 32 + s];
    }
    memcpy(keep_f32, out, (size_t)N * 128);
  }
  /* 16-bit types: every pattern against a few, and random pairs */
  uint16_t *hx = (uint16_t *)x, *hy = (uint16_t *)y;
  for (int i = 0; i < N; i++) {
    uint32_t r = rnd();
    hx[i] = (uint16_t)(i % 4 == 0 ? special[i / 4 % NS] >> 16 : i % 4 == 1 ? r & 0x83ff : r);
    hy[i] = (uint16_t)(i % 5 == 0 ? special[i / 5 % NS] >> 16 : i % 5 == 1 ? (r >> 16) & 0x81ff : r >> 16);
  }
  id h[3] = {b[0], b[1], b[3]};
  for (int type = 1; type < 3; type++)
    for (int mode = 0; mode < 2; mode++) {
      flush = msl_defaults.ftz = mode;
      run(type == 1 ? "ftz_bf16" : "ftz_f16", h, 3, N);
      for (int i = 0; i < N; i++) {
        type == 1 ? model_bf16(want, hx[i], hy[i]) : model_f16(want, hx[i], hy[i]);
        compare(type == 1 ? bf16_slots : f16_slots, 12, out + i * 16, want, i);
        for (int s = 0; mode && s < 12; s++) changed[type][s] += keep_f32[i * 16 + s] != out[i * 16 + s];
      }
      memcpy(keep_f32, out, (size_t)N * 64);
    }
  if (getenv("FTZ_VERBOSE")) {
    printf("results that the flush mode changes, of %d:", N);
    for (int s = 0; s < 32; s++) printf(" %s %d,", f32_slots[s].name, changed[0][s]);
    for (int s = 0; s < 12; s++) printf(" %s %d,", bf16_slots[s].name, changed[1][s]);
    for (int s = 0; s < 12; s++) printf(" %s %d,", f16_slots[s].name, changed[2][s]);
    puts("");
  }
  /* the mode must do something where it should, and nothing where it should not */
  static const int must[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 18, 19, 23, 24, 25, 26, 29};
  static const int never[] = {14, 15, 16, 17, 22, 30};
  for (unsigned i = 0; i < sizeof must / sizeof *must; i++) wrong += !changed[0][must[i]];
  for (unsigned i = 0; i < sizeof never / sizeof *never; i++) wrong += changed[0][never[i]] != 0;
  for (int s = 0; s < 12; s++) wrong += changed[2][s] != 0;
  for (int s = 0; s < 5; s++) wrong += !changed[1][s];
  for (int i = 0; i < 4; i++) mtl_release(b[i]);
  mtl_release(library);
  mtl_release(queue);
  mtl_release(device);
  free(keep_f32);
  objc_autoreleasePoolPop(pool);
  printf("ftz: %d items, %d wrong\n", N, wrong);
  return wrong != 0;
}
