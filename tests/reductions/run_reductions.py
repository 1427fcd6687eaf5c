#!/usr/bin/env python3
"""run_reductions.py - reductions in all the forms that kernels have for them: each case is an entry, computed by the
evaluator and by unfused and fused kernels in both subnormal modes, with threads in several orders and threadgroups small
and large; all bits equal. A case says which form its reduction must take. Then values of those with exponentials. Ends
with "N passed, N failed"."""
import json
import math
import os
import struct
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.path.join(ROOT, os.environ.get('BUILD', 'build'))
sys.path.insert(0, os.path.join(ROOT, 'tests'))
import tally  # noqa: E402

os.environ.setdefault('MSLCFLAGS', '-O0')  # many kernels, little data
THREAD, SIMD = 'a thread a point', 'a simdgroup a point'
ENVIRONMENTS = [{}, {'MSL_ORDER': 'rev', 'HOSTMETAL_MAXTHREADS': '96'},
                {'MSL_ORDER': '7', 'MSL_THREADS': '2', 'HOSTMETAL_MAXTHREADS': '32'}]


def cases():
    """(type of x, statement, the forms of its kernels)."""
    for n in (2, 3, 4, 5, 7, 8, 13, 14, 15, 16, 20, 29, 31, 32):  # short rows
        yield 'float32[5, %d]' % n, 'y = sum(x, axis=1)', [THREAD]
    for n in (6, 13, 24):
        yield 'float32[3, %d]' % n, 'y = prod(x, axis=1) - 1', [THREAD]
        yield 'bfloat16[3, %d]' % n, 'y = mean(x * x, axis=1)', [THREAD]
    for n in (33, 64, 99, 126, 127, 128, 129, 131, 257, 1024):  # columns
        yield 'float32[%d, 4096]' % n, 'y = sum(x * 2 + 1, axis=0)', [THREAD]
    yield 'float16[66, 4100]', 'y = sum(x, axis=0)', [THREAD]
    yield 'int8[70, 4096]', 'y = sum(x, axis=0)', [THREAD]
    yield 'bool[70, 4096]', 'y = any(x, axis=0)', [THREAD]
    yield 'complex64[35, 4096]', 'y = prod(x, axis=0)', [THREAD]
    yield 'uint64[35, 4096]', 'y = max(x, axis=0)', [THREAD]
    yield 'float32[2, 50, 2048]', 'y = min(x, axis=1, keepdims=true) * 2', [THREAD]
    yield 'float32[10, 64, 4, 64]', 'y = max(x, axis=[0, 2])', [THREAD]
    yield 'float32[4096, 40]', 'y = sum(transpose(x) * 3, axis=0)', [SIMD]
    yield 'float32[40, 4096]', 'y = sum(transpose(x) * 3, axis=1)', [THREAD]
    yield 'float32[33, 4095]', 'y = sum(x, axis=0)', [SIMD]
    for n in (33, 127, 1024, 1025, 4100):  # rows
        yield 'float32[3, %d]' % n, 'y = sum(x, axis=1)', [SIMD]
    yield 'float32[3, 40, 5, 60]', 'y = mean(x, axis=[1, 3])', [SIMD]
    yield 'float32[2048, 4096]', 'y = sum(x, axis=0)', [THREAD, THREAD]  # blocks, then what they come to
    yield 'float16[2, 2048, 3, 7]', 'y = mean(x, axis=1, keepdims=true) * 2', [SIMD, THREAD]
    yield 'int8[3072, 5]', 'y = sum(x, axis=0)', [SIMD, THREAD]
    yield 'int8[2097152, 2]', 'y = sum(x, axis=0)', [THREAD, SIMD, THREAD]  # blocks of blocks
    yield 'float32[131072]', 'y = sum(x * x) + 1', [SIMD, SIMD]
    yield 'bfloat16[2, 32768, 2]', 'y = mean(x, axis=[1, 2])', [SIMD, SIMD]
    yield 'float32[3, 65536]', 'y = max(x, axis=-1)', [SIMD, SIMD]
    yield 'bool[65536]', 'y = all(x)', [SIMD, SIMD]
    yield 'float32[2049, 5]', 'y = sum(x, axis=0)', [SIMD]
    yield 'float32[0, 40]', 'y = sum(x, axis=1)', []
    yield 'float32[3, 0]', 'y = sum(x, axis=1)', ['one element a thread']
    yield 'float32[0]', 'y = prod(x)', ['one element a thread']


def forms(explained):
    """The forms of each function's kernels, from --explain."""
    found, name = {}, None
    for line in explained.splitlines():
        if ', signature 0:' in line:
            name = line.split(',')[0]
            found[name] = []
        elif ' bytes read, ' in line:
            found[name].append(line.rsplit('; ', 1)[1])
    return found


# ---- values ----
NAN, INF = math.nan, math.inf
ROWS = [[0.5, -1.25, 3.0, 2.0, -0.5], [0.0] * 5, [-2000.0, -2001.5, -2000.25, -2003.0, -2009.0],
        [3e38, 1.0, -3e38, 0.0, 2.0], [88.0, 89.0, 90.5, 91.0, 88.5], [-INF, 1.0, -INF, 2.0, 0.0], [-INF] * 5,
        [INF, 1.0, 2.0, 3.0, 4.0], [NAN, 1.0, 2.0, 3.0, 4.0], [1e-40, 0.0, -1e-40, 0.0, 0.0]]


def log_of_sum(row):
    most = max(row) if not any(v != v for v in row) else NAN
    return most if math.isinf(most) else most + math.log(sum(math.exp(v - most) for v in row))


def softmax(row):
    most = max(row) if not any(v != v for v in row) else NAN
    each = [math.exp(v - most) if v - most == v - most else NAN for v in row]
    return [v / sum(each) for v in each]


VALUES = {'logsumexp(x, axis=1)': log_of_sum, 'logsumexp(x, [-1], true)': lambda row: [log_of_sum(row)],
          'softmax(x, axis=1)': softmax, 'softmax(x, axis=-1, precise=true)': softmax,
          'log_softmax(x)': lambda row: [v - log_of_sum(row) for v in row]}
TOLERANCE = {'float32': 3e-7, 'float16': 2 ** -11 * 1.01, 'bfloat16': 2 ** -8 * 1.01}  # relative; log_softmax cancels


def number(v):
    return {'nan': NAN, 'inf': INF, '-inf': -INF}.get(v, v)


def near(got, want, size, dtype):
    got = number(got)
    if abs(want) > 3.5e38:
        return math.isinf(got) and (got < 0) == (want < 0)
    if want != want:
        return got != got
    return abs(got - want) <= TOLERANCE[dtype] * abs(want) + 3e-7 * size + (3e-8 if dtype == 'float16' else 1e-44)


def run_values(tmp):
    """Against exponentials and logarithms in double."""
    functions = {'of_' + d: {'inputs': {'x': '%s[%d, 5]' % (d, len(ROWS))},
                             'nodes': ['y%d = %s' % p for p in enumerate(VALUES)],
                             'outputs': ['y%d' % k for k in range(len(VALUES))]} for d in TOLERANCE}
    spec, given, batch = (os.path.join(tmp, n) for n in ('values.json', 'in.json', 'batch'))
    with open(spec, 'w', encoding='utf-8') as f:
        json.dump({'nuvec': 1, 'name': 'values', 'functions': functions}, f)
    with open(batch, 'w', encoding='utf-8') as f:
        f.writelines('of_%s 0 %s.%s %s.%s.out\n' % (d, given, d, given, d) for d in TOLERANCE)
    rows = {d: [[fitted(v, d) for v in row] for row in ROWS] for d in TOLERANCE}
    for d in TOLERANCE:
        with open(given + '.' + d, 'w', encoding='utf-8') as f:
            json.dump({'x': [[v if abs(v) < INF else str(v) for v in row] for row in rows[d]]}, f)
    r = subprocess.run([os.path.join(BUILD, 'hostrun'), spec, '--batch=' + batch, '--compare'], stdout=subprocess.PIPE,
                       stderr=subprocess.STDOUT, text=True, check=False)
    tally.result(r.returncode == 0, r.stdout[-3000:])
    for d in TOLERANCE:
        if not os.path.exists('%s.%s.out' % (given, d)):
            continue
        with open('%s.%s.out' % (given, d), encoding='utf-8') as f:
            out = json.load(f)
        for k, (text, f) in enumerate(VALUES.items()):
            for row, got in zip(rows[d], out['y%d' % k]):
                want, size = f(row), max([abs(v) for v in row if abs(v) < INF], default=0) if 'log' in text else 0
                pairs = list(zip(got, want)) if isinstance(want, list) else [(got, want)]
                tally.result(all(near(a, b, size, d) for a, b in pairs),
                             '%s of %s %s: %s, not %s' % (text, d, row, got, want))


def fitted(v, dtype):
    """v rounded to what the dtype holds."""
    if v != v or math.isinf(v):
        return v
    if dtype == 'float16':
        return struct.unpack('<e', struct.pack('<e', v))[0] if abs(v) < 65504 else math.copysign(INF, v)
    u = struct.unpack('<I', struct.pack('<f', v))[0]
    return struct.unpack('<f', struct.pack('<I', u & 0xffff0000 if dtype == 'bfloat16' else u))[0]


def main():
    every = list(cases())
    functions = {'case%d' % k: {'inputs': {'x': t}, 'nodes': [s], 'outputs': 'y'} for k, (t, s, _) in enumerate(every)}
    with tempfile.TemporaryDirectory() as tmp:
        spec = os.path.join(tmp, 'reductions.json')
        with open(spec, 'w', encoding='utf-8') as f:
            json.dump({'nuvec': 1, 'name': 'reductions', 'functions': functions}, f)
        r = subprocess.run([os.path.join(BUILD, 'nuvecc'), spec, '--explain'], stdout=subprocess.PIPE, text=True,
                           check=False)
        found = forms(r.stdout)
        for k, (t, s, want) in enumerate(every):
            got = found.get('case%d' % k)
            tally.result(got == want, '%s of %s: %s, not %s' % (s, t, got, want))
        for e in ENVIRONMENTS:
            r = subprocess.run([os.path.join(BUILD, 'hostrun'), spec, '--all', '--random=1', '--compare'],
                               env=dict(os.environ, **e), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                               check=False)
            tally.result(r.returncode == 0, '%s: %s' % (e, r.stdout[-3000:]))
        run_values(tmp)
    return tally.finish()


if __name__ == '__main__':
    sys.exit(main())
