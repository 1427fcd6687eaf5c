/* ulp.c - largest errors of lib/ir/math.inc's float32 functions, in units of the last place of the result, against
 * libm in double (right to far better than 0.001 ulp of float32).
 *   ulp [-jTHREADS] [STRIDE [NAME]]   STRIDE 1 (default): every pattern; a prime such as 4099 samples them
 * Of two operands every pattern of the first meets one of the second, drawn from the values near it. Exit status 1 when
 * a function is off by more than its limit, or not exact at 0, -0, inf, -inf, NaN. Ends with "N passed, N failed".
 * Built twice: -DNV_FLUSH=0 and -DNV_FLUSH=1. Threads: one a processor by default. */
#include "../../lib/ir/eval_prims.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static double sigmoid(double x) { return x < 0 ? exp(x) / (1 + exp(x)) : 1 / (1 + exp(-x)); }

/* logaddexp(x, 0), which is softplus, over all x. */
static float softplus_f(float x) { return nv_logaddexp(x, 0.0f); }
static double softplus(double x) { return isnan(x) ? x : fmax(x, 0) + log1p(exp(-fabs(x))); }

/* The second operand of logaddexp for the first: within 40 of it, at a distance that depends on its bits. Where one
 * of them is below 0 the result may cancel, and the error of exp(min - max) counts in places that are gone: such pairs
 * are left out. */
static float other_of(float x) {
  const float y = nv_fl(x);
  const uint32_t u = nv_bits(y) * UINT32_C(2654435769);
  return fabsf(y) + (float)(u >> 8) * 0x1p-24f * 40.0f;
}
static float logaddexp_f(float x) { return nv_logaddexp(fabsf(x), other_of(x)); }
static double logaddexp(double x) {
  const double a = fabs(x), b = (double)other_of((float)x);
  return isnan(x) || isinf(x) ? a : fmax(a, b) + log1p(exp(-fabs(a - b)));
}

/* By Halley's rule on erf, or above 1/2 on erfc, where 1 - |x| is exact. */
static double erfinv(double x) {
  const double a = fabs(x), w = -log1p(-a * a);
  if (!(a < 1)) return a == 1 ? copysign(INFINITY, x) : NAN;
  double y = a < 0.5 ? a : sqrt(w);
  for (int k = 0; k < 12; k++) {
    const double off = (a < 0.5 ? erf(y) - a : (1 - a) - erfc(y)) * 0.88622692545275801365 * exp(y * y);
    y -= off / (1 + y * off);
  }
  return copysign(a < 1e-8 ? a * 0.88622692545275801365 : y, x);
}

static const struct {
  const char *name;
  float (*f)(float);
  double (*exact)(double);
  double limit; /* ulp */
} functions[] = {{"erf", nv_erf, erf, 1},
                 {"erfinv", nv_erfinv, erfinv, 2},
                 {"log1p", nv_log1p, log1p, 1},
                 {"expm1", nv_expm1, expm1, 1},
                 {"sigmoid", nv_sigmoid, sigmoid, 1},
                 {"softplus", softplus_f, softplus, 2},
                 {"logaddexp", logaddexp_f, logaddexp, 2}};
enum { FUNCTIONS = sizeof functions / sizeof *functions, MAX_THREADS = 64 };

/* The distance of r from the exact result, in the spacing of float32 there. */
static double error_of(float r, double exact) {
  if (isnan(exact) || isnan(r)) return isnan(exact) && isnan(r) ? 0 : INFINITY;
  if ((double)r == exact) return exact != 0 || !signbit(r) == !signbit(exact) ? 0 : INFINITY;
#if NV_FLUSH
  if (r == 0 && fabs(exact) < 0x1p-126) return 0;
#endif
  const float rounded = (float)exact;
  if (isinf(rounded) || isinf(r)) return rounded == r ? 0 : INFINITY;
  int e;
  frexp(exact, &e);
  return fabs((double)r - exact) / ldexp(1, (e < -125 ? -125 : e) - 24);
}

typedef struct slice { /* patterns first, first + step, ... of one function */
  size_t k;
  uint64_t first, step, n, above;
  double worst;
  float at;
} slice;

static void *measure(void *argument) {
  slice *s = argument;
  for (uint64_t u = s->first; u < UINT64_C(1) << 32; u += s->step) {
    const float x = nv_float((uint32_t)u);
    const double d = error_of(functions[s->k].f(x), functions[s->k].exact((double)nv_fl(x)));
    if (d > s->worst) s->worst = d, s->at = x;
    s->above += d > 1;
    s->n++;
  }
  return NULL;
}

static slice measure_all(size_t k, uint64_t stride, long threads) {
  slice part[MAX_THREADS], sum = {.k = k};
  pthread_t id[MAX_THREADS];
  bool started[MAX_THREADS];
  for (long t = 0; t < threads; t++) {
    part[t] = (slice){.k = k, .first = (uint64_t)t * stride, .step = stride * (uint64_t)threads};
    started[t] = !pthread_create(&id[t], NULL, measure, &part[t]);
    if (!started[t]) measure(&part[t]);
  }
  for (long t = 0; t < threads; t++) {
    if (started[t]) pthread_join(id[t], NULL);
    if (part[t].worst > sum.worst) sum.worst = part[t].worst, sum.at = part[t].at;
    sum.n += part[t].n, sum.above += part[t].above;
  }
  return sum;
}

int main(int argc, char **argv) {
  long threads = sysconf(_SC_NPROCESSORS_ONLN);
  if (argc > 1 && !strncmp(argv[1], "-j", 2)) threads = strtol(argv[1] + 2, NULL, 10), argc--, argv++;
  const uint64_t stride = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
  int passed = 0, failed = 0;
  threads = threads < 1 ? 1 : threads > MAX_THREADS ? MAX_THREADS : threads;
  if (!stride) return 2;
  for (size_t k = 0; k < FUNCTIONS; k++) {
    if (argc > 2 && strcmp(argv[2], functions[k].name) != 0) continue;
    const slice s = measure_all(k, stride, threads);
    bool bad = !(s.worst <= functions[k].limit);
    static const float edges[] = {0.0f, -0.0f, INFINITY, -INFINITY, NAN};
    for (size_t i = 0; i < sizeof edges / sizeof *edges; i++)
      if (functions[k].limit <= 1 && error_of(functions[k].f(edges[i]), functions[k].exact((double)edges[i])) != 0)
        printf("%s(%g) is %g\n", functions[k].name, (double)edges[i], (double)functions[k].f(edges[i])), bad = true;
    printf("%-9s %-5s largest error %.4f ulp at %.9g (0x%08x), above 1 ulp: %llu of %llu\n", functions[k].name,
           NV_FLUSH ? "flush" : "keep", s.worst, (double)s.at, (unsigned)nv_bits(s.at), (unsigned long long)s.above,
           (unsigned long long)s.n);
    fflush(stdout);
    passed += !bad, failed += bad;
  }
  printf("%d passed, %d failed\n", passed, failed);
  return failed != 0;
}
