#!/usr/bin/env python3
"""run_reductions.py - reductions in all the forms that kernels have for them: each case is an entry, computed by the
evaluator and by unfused and fused kernels in both subnormal modes, with threads in several orders and threadgroups small
and large; all bits equal. A case says which form its reduction must take. Ends with "N passed, N failed"."""
import json
import os
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


def main():
    every = list(cases())
    functions = {'case%d' % k: {'inputs': {'x': t}, 'nodes': [s], 'outputs': 'y'} for k, (t, s, _) in enumerate(every)}
    with tempfile.TemporaryDirectory() as tmp:
        spec = os.path.join(tmp, 'reductions.json')
        with open(spec, 'w', encoding='utf-8') as f:
            json.dump({'nuvec': 1, 'name': 'reductions', 'functions': functions}, f)
        r = subprocess.run([os.path.join(BUILD, 'nuvecc'), spec, '--explain'], capture_output=True, text=True, check=False)
        found = forms(r.stdout)
        for k, (t, s, want) in enumerate(every):
            got = found.get('case%d' % k)
            tally.result(got == want, '%s of %s: %s, not %s' % (s, t, got, want))
        for e in ENVIRONMENTS:
            r = subprocess.run([os.path.join(BUILD, 'hostrun'), spec, '--all', '--random=1', '--compare'],
                               env=dict(os.environ, **e), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                               check=False)
            tally.result(r.returncode == 0, '%s: %s' % (e, r.stdout[-3000:]))
    return tally.finish()


if __name__ == '__main__':
    sys.exit(main())
