/* ulp.c - largest errors of lib/ir/math.inc's float32 functions, in units of the last place of the result, against
 * libm in double (right to far better than 0.001 ulp of float32).
 *   ulp [-jTHREADS] [STRIDE [NAME]]   STRIDE 1 (default): every pattern; a prime such as 4099 samples them
 * Of two operands every pattern of the first meets one of the second, drawn from the values below it. Exit status 1
 * when a function is off by more than its limit, or not exact at those of 0, -0, inf, -inf, NaN where the result is a
 * float32 number. Ends with "N passed, N failed".
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

/* The second operand of logaddexp for the first: at a distance below it that depends on its bits, half of them up to
 * 110, half of any size from 2^-30 to 2. */
static float other_of(float of) {
  const float x = nv_fl(of);
  const uint32_t u = nv_bits(x) * UINT32_C(2654435769);
  const float part = (float)(u >> 8) * 0x1p-24f;
  return nv_fl(x - (u & 128 ? part * 110.0f : ldexpf(1.0f + part, -(int)(u % 31))));
}
static double logaddexp(double a, double b) {
  return isnan(a) || isinf(a) ? a : fmax(a, b) + log1p(exp(-fabs(a - b)));
}
static float above_f(float x) { return nv_logaddexp(other_of(fabsf(x)), fabsf(x)); }
static double above(double x) { return logaddexp(fabs(x), (double)other_of(fabsf((float)x))); }

/* Of two operands below 0 the sum may cancel: the error is in places of the larger operand, or of the result. */
static float below_f(float x) { return nv_logaddexp(-fabsf(x), other_of(-fabsf(x))); }
static double below(double x) { return logaddexp(-fabs(x), (double)other_of(-fabsf((float)x))); }

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
  enum {
    ONE,    /* of one operand */
    SUM,    /* a sum, of which two parts below 2^-126 may be flushed: they aren't counted */
    CANCELS /* one in places of x where x is larger than the result */
  } kind;
} functions[] = {{"erf", nv_erf, erf, 1, ONE},
                 {"erfinv", nv_erfinv, erfinv, 2, ONE},
                 {"log1p", nv_log1p, log1p, 1, ONE},
                 {"expm1", nv_expm1, expm1, 1, ONE},
                 {"sigmoid", nv_sigmoid, sigmoid, 1, ONE},
                 {"softplus", softplus_f, softplus, 1, ONE},
                 {"logaddexp", above_f, above, 1, SUM},
                 {"logaddexp below 0", below_f, below, 1, CANCELS}};
enum { FUNCTIONS = sizeof functions / sizeof *functions, MAX_THREADS = 64 };

/* The distance of r from the exact result, in the spacing of float32 at the larger of it and scale. */
static double error_of(float r, double exact, double scale) {
  if (isnan(exact) || isnan(r)) return isnan(exact) && isnan(r) ? 0 : INFINITY;
  if ((double)r == exact) return exact != 0 || !signbit(r) == !signbit(exact) ? 0 : INFINITY;
#if NV_FLUSH
  if (r == 0 && fabs(exact) < 0x1p-126) return 0;
#endif
  const float rounded = (float)exact;
  if (isinf(rounded) || isinf(r)) return rounded == r ? 0 : INFINITY;
  int e;
  frexp(fmax(fabs(exact), fabs(scale)), &e);
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
    double exact = functions[s->k].exact((double)nv_fl(x));
    const double scale = functions[s->k].kind == CANCELS ? (double)nv_fl(x) : 0;
    const float r = functions[s->k].f(x);
    if (NV_FLUSH && functions[s->k].kind != ONE && isfinite(r))
      exact = (double)r - copysign(fmax(fabs((double)r - exact) - 0x1p-125, 0), (double)r - exact);
    const double d = error_of(r, exact, scale);
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
    for (size_t i = 0; i < sizeof edges / sizeof *edges; i++) {
      const double exact = functions[k].exact((double)edges[i]);
      if (!isnan(exact) && (double)(float)exact != exact) continue;
      if (functions[k].limit > 1 || error_of(functions[k].f(edges[i]), exact, 0) == 0) continue;
      printf("%s(%g) is %g\n", functions[k].name, (double)edges[i], (double)functions[k].f(edges[i])), bad = true;
    }
    printf("%-17s %-5s largest error %.4f ulp at %.9g (0x%08x), above 1 ulp: %llu of %llu\n", functions[k].name,
           NV_FLUSH ? "flush" : "keep", s.worst, (double)s.at, (unsigned)nv_bits(s.at), (unsigned long long)s.above,
           (unsigned long long)s.n);
    fflush(stdout);
    passed += !bad, failed += bad;
  }
  printf("%d passed, %d failed\n", passed, failed);
  return failed != 0;
}
