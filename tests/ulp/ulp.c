/* ulp.c - largest errors of lib/ir/math.inc's one-operand functions over all float32 inputs, in units of the
 * last place of the result, against libm in double (right to far better than 0.001 ulp of float32).
 *   ulp [STRIDE [NAME]]     STRIDE 1 (default): every pattern; a prime such as 4099 samples them
 * Exit status 1 when a function is off by more than its limit (2 ulp; sigmoid, of several rounded steps, 3), or
 * not exact at 0, -0, inf, -inf, NaN. Build twice: -DNV_FLUSH=0 and -DNV_FLUSH=1. */
#include "../../lib/ir/eval_prims.h"

#include <stdio.h>
#include <stdlib.h>

static double sigmoid(double x) { return x < 0 ? exp(x) / (1 + exp(x)) : 1 / (1 + exp(-x)); }

static const struct {
  const char *name;
  float (*f)(float);
  double (*exact)(double);
  double limit; /* ulp */
} functions[] = {{"erf", nv_erf, erf, 2},
                 {"log1p", nv_log1p, log1p, 2},
                 {"expm1", nv_expm1, expm1, 2},
                 {"sigmoid", nv_sigmoid, sigmoid, 3}};

/* The distance of r from the exact result, in the spacing of float32 there. */
static double error_of(float r, double exact) {
  if (isnan(exact) || isnan(r)) return isnan(exact) && isnan(r) ? 0 : INFINITY;
  if ((double)r == exact) return !signbit(r) == !signbit(exact) ? 0 : INFINITY;
#if NV_FLUSH
  if (r == 0 && fabs(exact) < 0x1p-126) return 0;
#endif
  const float rounded = (float)exact;
  if (isinf(rounded) || isinf(r)) return rounded == r ? 0 : INFINITY;
  int e;
  frexp(exact, &e);
  return fabs((double)r - exact) / ldexp(1, (e < -125 ? -125 : e) - 24);
}

int main(int argc, char **argv) {
  const uint64_t stride = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
  int bad = 0;
  for (size_t k = 0; k < sizeof functions / sizeof *functions; k++) {
    if (argc > 2 && strcmp(argv[2], functions[k].name) != 0) continue;
    double worst = 0, above = 0;
    float at = 0;
    uint64_t n = 0;
    for (uint64_t u = 0; u < UINT64_C(1) << 32; u += stride) {
      const float x = nv_float((uint32_t)u);
      const double d = error_of(functions[k].f(x), functions[k].exact((double)nv_fl(x)));
      if (d > worst) worst = d, at = x;
      if (d > 1) above++;
      n++;
    }
    static const float edges[] = {0.0f, -0.0f, INFINITY, -INFINITY, NAN};
    for (size_t i = 0; i < sizeof edges / sizeof *edges; i++)
      if (error_of(functions[k].f(edges[i]), functions[k].exact((double)edges[i])) != 0)
        printf("%s(%g) is %g\n", functions[k].name, (double)edges[i], (double)functions[k].f(edges[i])),
            bad = 1;
    printf("%-8s %-5s largest error %.4f ulp at %.9g (0x%08x), above 1 ulp: %.0f of %llu\n",
           functions[k].name, NV_FLUSH ? "flush" : "keep", worst, (double)at, (unsigned)nv_bits(at), above,
           (unsigned long long)n);
    if (!(worst <= functions[k].limit)) bad = 1;
  }
  return bad;
}
