#!/usr/bin/env python3
"""run_halves.py - every unary function on all 65,536 patterns of float16 and of bfloat16: three ways and both subnormal
modes with the same bits (hostrun --compare), and the fused results against Python's double precision, rounded once to the
dtype, within the limits of tests/vectors/README.md. Ends with "N passed, N failed"."""
import json
import math
import os
import struct
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
BUILD = os.path.join(ROOT, os.environ.get('BUILD', 'build'))
os.environ.setdefault('MSLCFLAGS', '-O0')
INF, NAN = math.inf, math.nan


def reciprocal(x):
    return math.copysign(INF, x) if x == 0 else 1 / x


def log_of(f):
    return lambda x: -INF if x == 0 else f(x)


def sigmoid(x):
    return 1 / (1 + math.exp(-x)) if x > -700 else 0.0


def arctanh(x):
    return math.copysign(INF, x) if abs(x) == 1 else math.atanh(x)


def whole(f):
    return lambda x: x if math.isinf(x) or x == 0 else math.copysign(f(x), x)


# op: function of doubles (an error stands for NaN, an overflow for infinity), limit in places
TABLE = {
    'abs': (abs, 0), 'negative': (lambda x: -x, 0), 'sign': (lambda x: float((x > 0) - (x < 0)), 0),
    'square': (lambda x: x * x, 0), 'reciprocal': (reciprocal, 0), 'sqrt': (math.sqrt, 0),
    'rsqrt': (lambda x: reciprocal(math.sqrt(x)), 1), 'floor': (whole(math.floor), 0), 'ceil': (whole(math.ceil), 0),
    'round': (whole(round), 0), 'exp': (math.exp, 1), 'expm1': (math.expm1, 1), 'log': (log_of(math.log), 1),
    'log2': (log_of(math.log2), 1), 'log10': (log_of(math.log10), 1),
    'log1p': (lambda x: -INF if x == -1 else math.log1p(x), 1), 'sin': (math.sin, 1), 'cos': (math.cos, 1),
    'tan': (math.tan, 1), 'arcsin': (math.asin, 1), 'arccos': (math.acos, 1), 'arctan': (math.atan, 1),
    'sinh': (math.sinh, 1), 'cosh': (math.cosh, 1), 'tanh': (math.tanh, 1), 'arcsinh': (math.asinh, 1),
    'arccosh': (math.acosh, 1), 'arctanh': (arctanh, 1), 'sigmoid': (sigmoid, 1), 'erf': (math.erf, 1),
    'degrees': (math.degrees, 2), 'radians': (math.radians, 2)}


def to_bits(x, dtype):
    """A double rounded to the dtype's pattern, ties to even."""
    if dtype == 'float16':
        if math.isinf(x) or abs(x) >= 65520:
            return 0xfc00 if x < 0 else 0x7c00
        return struct.unpack('<H', struct.pack('<e', x))[0]
    if abs(x) >= 3.4e38:
        return 0xff80 if x < 0 else 0x7f80
    u = struct.unpack('<I', struct.pack('<f', x))[0]
    return (u + 0x7fff + (u >> 16 & 1)) >> 16


def values(dtype):
    if dtype == 'float16':
        return struct.unpack('<65536e', struct.pack('<65536H', *range(65536)))
    return struct.unpack('<65536f', struct.pack('<65536I', *(k << 16 for k in range(65536))))


def reference(op, f, dtype, xs):
    """Patterns, None for NaN."""
    out = []
    for x in xs:
        if x != x:
            out.append(0 if op == 'sign' else None)
            continue
        try:
            y = f(x)
        except ValueError:
            y = NAN
        except OverflowError:
            y = -INF if x < 0 and op == 'sinh' else INF
        out.append(None if y != y else to_bits(y, dtype))
    return out


def place(u):
    return -(u & 0x7fff) if u & 0x8000 else u


def agree(got, want, limit, top, flush):
    """top: the pattern of inf. flush: bfloat16 subnormals may be zeros."""
    if want is None:
        return got & 0x7fff > top
    if got == want:
        return True
    if got & 0x7fff > top:
        return False
    if flush and want & 0x7fff <= 0x80 and got & 0x7fff == 0:
        return got == want & 0x8000
    if got & 0x7fff == 0 and want & 0x7fff == 0:
        return False
    return abs(place(got) - place(want)) <= limit


def run(tmp, dtype):
    st = {'float16': 'F16', 'bfloat16': 'BF16'}[dtype]
    spec = {'nuvec': 1, 'name': 'halves', 'functions': {
        'f_' + op: {'inputs': {'x': dtype + '[65536]'}, 'nodes': ['y = %s(x)' % op], 'outputs': 'y'} for op in TABLE}}
    path = os.path.join(tmp, 'halves.json')
    with open(path, 'w', encoding='utf-8') as f:
        json.dump(spec, f)
    header = json.dumps({'x': {'dtype': st, 'shape': [65536], 'data_offsets': [0, 131072]}}).encode()
    header += b' ' * (-len(header) % 8)
    with open(os.path.join(tmp, 'x.safetensors'), 'wb') as f:
        f.write(struct.pack('<Q', len(header)) + header + struct.pack('<65536H', *range(65536)))
    with open(os.path.join(tmp, 'batch'), 'w', encoding='utf-8') as f:
        for op in TABLE:
            f.write('f_%s 0 %s %s %s\n' % (op, os.path.join(tmp, 'x.safetensors'), *(
                os.path.join(tmp, '%s.%s.safetensors' % (op, m)) for m in ('keep', 'flush'))))
    return subprocess.run([os.path.join(BUILD, 'hostrun'), path, '--batch=' + os.path.join(tmp, 'batch'), '--compare'],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def main():
    passed = failed = 0
    for dtype, top in (('float16', 0x7c00), ('bfloat16', 0x7f80)):
        xs = values(dtype)
        with tempfile.TemporaryDirectory() as tmp:
            r = run(tmp, dtype)
            if r.returncode:
                print('FAILED %s:\n%s' % (dtype, r.stdout[-3000:]))
                failed += 1
            for op, (f, limit) in TABLE.items():
                want = reference(op, f, dtype, xs)
                for mode in ('keep', 'flush'):
                    flush = mode == 'flush' and dtype == 'bfloat16'
                    with open(os.path.join(tmp, '%s.%s.safetensors' % (op, mode)), 'rb') as g:
                        got = struct.unpack('<65536H', g.read()[-131072:])
                    bad = []
                    for k, (a, b) in enumerate(zip(got, want)):
                        if a == b or agree(a, b, limit, top, flush):
                            continue
                        if flush and 0 < k & 0x7fff < 0x80 and agree(a, want[k & 0x8000], limit, top, True):
                            continue  # a subnormal operand is a zero
                        if op == 'rsqrt' and k == 0x8000 and a & 0x7fff == top:
                            continue
                        bad.append(k)
                    for k in bad[:3]:
                        print('%s of %s, %s: 0x%04x gives 0x%04x, wanted %s' % (
                            op, dtype, mode, k, got[k], 'nan' if want[k] is None else '0x%04x' % want[k]))
                    passed += not bad
                    failed += bool(bad)
    print('%d passed, %d failed' % (passed, failed))
    return failed != 0


if __name__ == '__main__':
    sys.exit(main())
