#!/usr/bin/env python3
"""run_composites.py - the built-in composites (specs/composites.yaml) three ways, bits compared, and against double
precision in Python within stated tolerances, for float32, float16 and bfloat16. Ends with "N passed, N failed"."""
import json
import math
import os
import re
import struct
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
BUILD = os.path.join(ROOT, os.environ.get('BUILD', 'build'))
os.environ.setdefault('MSLCFLAGS', '-O0')
inf = math.inf


def exp(x):
    return inf if x > 709 else math.exp(x)


def sigmoid(x):
    return 1 / (1 + exp(-x)) if x > -709 else 0.0


def softplus(x):
    return max(x, 0) + math.log1p(exp(-abs(x)))


def relu6(x):
    return min(max(x, 0), 6)


def log(x):
    return math.log(x) if x > 0 else -inf


def huber(d, delta):
    return 0.5 * min(d, delta) ** 2 + delta * (d - min(d, delta))


# call, function of double precision; x and y run over VALUES, p over probabilities, t over [0, 1]
TABLE = {
    'relu(x)': lambda x, y, p, t: max(x, 0),
    'relu6(x)': lambda x, y, p, t: relu6(x),
    'relu2(x)': lambda x, y, p, t: max(x, 0) ** 2,
    'leaky_relu(x)': lambda x, y, p, t: max(0.01 * x, x),
    'leaky_relu(x, negative_slope=0.25)': lambda x, y, p, t: max(0.25 * x, x),
    'prelu(x, y)': lambda x, y, p, t: max(x, 0) + y * min(x, 0),
    'elu(x)': lambda x, y, p, t: x if x > 0 else math.expm1(x),
    'elu(x, 0.5)': lambda x, y, p, t: x if x > 0 else 0.5 * math.expm1(x),
    'celu(x, alpha=2.0)': lambda x, y, p, t: max(x, 0) + 2 * math.expm1(min(x, 0) / 2),
    'selu(x)': lambda x, y, p, t: 1.0507 * (x if x > 0 else 1.67326 * math.expm1(x)),
    'silu(x)': lambda x, y, p, t: x * sigmoid(x),
    'glu(stack([x, y], 1))[:, 0]': lambda x, y, p, t: x * sigmoid(y),
    'glu(stack([x, y]), axis=0)[0]': lambda x, y, p, t: x * sigmoid(y),
    'gelu(x)': lambda x, y, p, t: x * math.erfc(-x / math.sqrt(2)) / 2,
    'gelu_approx(x)': lambda x, y, p, t: 0.5 * x * (1 + math.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x ** 3))),
    'gelu_fast(x)': lambda x, y, p, t: x * sigmoid(1.702 * x),
    'softplus(x)': lambda x, y, p, t: softplus(x),
    'softsign(x)': lambda x, y, p, t: x / (1 + abs(x)),
    'mish(x)': lambda x, y, p, t: x * math.tanh(softplus(x)),
    'log_sigmoid(x)': lambda x, y, p, t: -softplus(-x),
    'hard_sigmoid(x)': lambda x, y, p, t: relu6(x + 3) / 6,
    'hard_swish(x)': lambda x, y, p, t: x * relu6(x + 3) / 6,
    'hard_tanh(x)': lambda x, y, p, t: min(max(x, -1), 1),
    'hard_shrink(x)': lambda x, y, p, t: x if abs(x) > 0.5 else 0,
    'softshrink(x)': lambda x, y, p, t: math.copysign(max(abs(x) - 0.5, 0), x),
    'step(x)': lambda x, y, p, t: float(x >= 0),
    'step(x, threshold=1.5)': lambda x, y, p, t: float(x >= 1.5),
    'clip(x, -2, 2)': lambda x, y, p, t: min(max(x, -2), 2),
    'lerp(x, y, t)': lambda x, y, p, t: x + t * (y - x),
    'hypot(x, y)': lambda x, y, p, t: math.hypot(x, y),
    'sinc(x)': lambda x, y, p, t: math.sin(math.pi * x) / (math.pi * x) if x else 1,
    'heaviside(x, y)': lambda x, y, p, t: y if x == 0 else float(x >= 0),
    'logit(p)': lambda x, y, p, t: log(p / (1 - p)) if p < 1 else inf,
    'smooth_l1(x, y)': lambda x, y, p, t: 0.5 * (x - y) ** 2 if abs(x - y) < 1 else abs(x - y) - 0.5,
    'smooth_l1(x, y, beta=2.0)': lambda x, y, p, t: (x - y) ** 2 / 4 if abs(x - y) < 2 else abs(x - y) - 1,
    'huber(x, y)': lambda x, y, p, t: huber(abs(x - y), 1),
    'huber(x, y, delta=0.5)': lambda x, y, p, t: huber(abs(x - y), 0.5),
    'binary_cross_entropy(p, t)': lambda x, y, p, t: -(t * max(log(p), -100) + (1 - t) * max(log(1 - p), -100)),
    'binary_cross_entropy_with_logits(x, t)': lambda x, y, p, t: softplus(x) - x * t,
}
VALUES = [0.0, 0.5, -0.5, 1.0, -1.0, 1.5, 2.0, -2.0, 3.0, -3.0, 0.25, -0.25, 1e-3, -1e-3, 4.0, -4.0, 6.0, -6.0, 7.5, -7.5,
          0.7, -0.7, 1.25, -1.25]
# relative, and absolute in units of the larger operand: what a chain of a dozen rounded steps may come to; the forms of
# MLX cancel (celu's exp - 1, gelu's 1 + erf, log_sigmoid, log of 1 - p), which the absolute part is for
TOLERANCE = {'float32': 2e-6, 'float16': 2 ** -8, 'bfloat16': 2 ** -5}


def rounded(x, dtype):
    if dtype == 'float16':
        return struct.unpack('<e', struct.pack('<e', x))[0]
    u = struct.unpack('<I', struct.pack('<f', x))[0]
    if dtype == 'bfloat16':
        u = (u + 0x7fff + (u >> 16 & 1)) & 0xffff0000
    return struct.unpack('<f', struct.pack('<I', u))[0]


def inputs(dtype):
    n = len(VALUES)
    x = VALUES * 3
    y = VALUES[7:] + VALUES[:7] + VALUES[11:] + VALUES[:11] + VALUES[2:] + VALUES[:2]
    t = [k % 9 / 8 for k in range(3 * n)]
    p = [(k * 5 % (3 * n)) / (3 * n) for k in range(3 * n)]
    return {k: [rounded(v, dtype) for v in w] for k, w in zip('xypt', (x, y, p, t))}


def main():
    passed = failed = 0
    with open(os.path.join(ROOT, 'specs/composites.yaml'), encoding='utf-8') as f:
        names = re.findall(r'^  (\w+):$', f.read(), re.M)
    missing = [k for k in names if not any(c.startswith(k + '(') for c in TABLE)]
    for k in missing:
        print('FAILED composite %s is not in the table' % k)
    failed += len(missing)
    with tempfile.TemporaryDirectory() as tmp:
        for dtype, tolerance in TOLERANCE.items():
            given = inputs(dtype)
            n = len(given['x'])
            spec = {'nuvec': 1, 'name': 'composites', 'functions': {'f': {
                'inputs': {k: '%s[%d]' % (dtype, n) for k in given},
                'nodes': '\n'.join('v%d = %s' % (k, c) for k, c in enumerate(TABLE)) + '\n',
                'outputs': {'v%d' % k: 'v%d' % k for k in range(len(TABLE))}}}}
            paths = [os.path.join(tmp, f) for f in ('composites_test.json', 'in.json', 'out.json')]
            for path, what in zip(paths, (spec, given)):
                with open(path, 'w', encoding='utf-8') as f:
                    json.dump(what, f)
            r = subprocess.run([os.path.join(BUILD, 'hostrun'), paths[0], '--inputs=' + paths[1], '--outputs=' + paths[2],
                                '--compare'], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
            if r.returncode:
                print('FAILED %s:\n%s' % (dtype, r.stdout[-3000:]))
                failed += 1
                continue
            with open(paths[2], encoding='utf-8') as f:
                got = json.load(f)
            for k, (call, f) in enumerate(TABLE.items()):
                bad = []
                for i, (g, x, y, p, t) in enumerate(zip(got['v%d' % k], *(given[v] for v in 'xypt'))):
                    w = float(f(x, y, p, t))
                    g = float(g)
                    scale = max(abs(x), abs(y), 1) if 'celu' in call or '(x, y' in call or 'cross' in call else max(abs(x), 1)
                    if not (g == w or abs(g - w) <= tolerance * (abs(w) + scale)):
                        bad.append('%s of %s: x %g, y %g, p %g, t %g: %.9g, wanted %.9g' % (call, dtype, x, y, p, t, g, w))
                print('\n'.join(bad[:3]), end='\n' if bad else '')
                passed += not bad
                failed += bool(bad)
    print('%d passed, %d failed' % (passed, failed))
    return failed != 0


if __name__ == '__main__':
    sys.exit(main())
