"""erfinv.py - where the coefficients of nv_erfinv (lib/ir/math.inc) come from: least squares of the relative error of
erfinv(x) / x as a function of w = -log(1 - x^2), weighted towards the largest errors; each coefficient, highest power
first, is rounded to float32 before the lower ones are fitted again. Prints the error in units of 2^-24."""
import math
import struct


def f32(x):
    return struct.unpack('<f', struct.pack('<f', x))[0]


def quotient(w):
    """erfinv(x) / x, by Halley's rule; 1 - x = exp(-w) / (1 + x)."""
    x = math.sqrt(-math.expm1(-w))
    rest = math.exp(-w) / (1 + x)
    y = math.sqrt(w) * 0.9 if w > 1 else x * 0.886
    for _ in range(60):
        off = math.erf(y) - x if x < 0.5 else rest - math.erfc(y)
        off *= math.sqrt(math.pi) / 2 * math.exp(y * y)
        step = off / (1 + y * off)
        y -= step
        if abs(step) < 1e-17 * y:
            break
    return y / x


def solve(a, b):
    """Gaussian elimination with pivots."""
    n = len(b)
    a = [row[:] + [v] for row, v in zip(a, b)]
    for i in range(n):
        p = max(range(i, n), key=lambda k: abs(a[k][i]))
        a[i], a[p] = a[p], a[i]
        for k in range(i + 1, n):
            m = a[k][i] / a[i][i]
            for j in range(i, n + 1):
                a[k][j] -= m * a[i][j]
    x = [0] * n
    for i in range(n - 1, -1, -1):
        x[i] = (a[i][n] - sum(a[i][j] * x[j] for j in range(i + 1, n))) / a[i][i]
    return x


def fit(lo, hi, degree, variable):
    points = [(lo + hi) / 2 + (hi - lo) / 2 * math.cos(math.pi * (i + 0.5) / 200) for i in range(200)]
    values, us = [quotient(p) for p in points], [variable(p) for p in points]
    fixed, weights, scale = {}, [1.0] * 200, max(abs(u) for u in us)
    for top in range(degree, -1, -1):
        for _ in range(30 if top == degree else 1):
            n = range(top + 1)
            rows = [[(u / scale) ** k / v * math.sqrt(w) for k in n] for u, v, w in zip(us, values, weights)]
            known = [sum(c * u ** k for k, c in fixed.items()) for u in us]
            right = [(1 - q / v) * math.sqrt(w) for q, v, w in zip(known, values, weights)]
            c = solve([[math.fsum(r[i] * r[j] for r in rows) for j in n] for i in n],
                      [math.fsum(r[i] * t for r, t in zip(rows, right)) for i in n])
            c = [x / scale ** k for k, x in enumerate(c)]
            if top == degree:
                errors = [abs(sum(x * u ** k for k, x in enumerate(c)) / v - 1) for u, v in zip(us, values)]
                weights = [w * (e / max(errors) + 1e-3) for w, e in zip(weights, errors)]
                weights = [w * 200 / sum(weights) for w in weights]
        fixed[top] = f32(c[top])
    error = max(abs(sum(c * u ** k for k, c in fixed.items()) / v - 1) for u, v in zip(us, values))
    return error * 2 ** 24, [fixed[k] for k in range(degree, -1, -1)]


print('w below 2:', fit(0.0, 2.0, 6, lambda w: w))
print('w - 4 from 2 to 6:', fit(1.99, 6.0, 8, lambda w: w - 4))
print('sqrt(w) - 3.2 above 6:', fit(5.99, 16.0, 8, lambda w: math.sqrt(w) - 3.2))
