#!/usr/bin/env python3
"""run_scatters.py - updates by index that are sorted first, as there are too many to be walked through by every element:
the evaluator, unfused and fused kernels in both subnormal modes, with threads in several orders and threadgroups small and
large; all bits equal. A case says how often its keys are merged (one sort: log2 of the updates). Ends with "N passed,
N failed"."""
import json
import os
import subprocess
import sys
import tempfile

from tally import finish, result

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
BUILD = os.path.join(ROOT, os.environ.get('BUILD', 'build'))
os.environ.setdefault('MSLCFLAGS', '-O0')  # many kernels, little data
ENVIRONMENTS = [{}, {'MSL_ORDER': 'rev', 'HOSTMETAL_MAXTHREADS': '96'},
                {'MSL_ORDER': '7', 'MSL_THREADS': '2', 'HOSTMETAL_MAXTHREADS': '32'}]
OPS = ('scatter', 'scatter_add', 'scatter_prod', 'scatter_max', 'scatter_min')
DTYPES = ('float32', 'float16', 'complex64', 'int8', 'uint64', 'bool')
SORT = 13  # of 4,100 updates


def cases():
    """(inputs, statements, merges)."""
    for k, d in enumerate(DTYPES):  # equal indices, indices from the end and outside
        lines = {'a': d + '[4200]', 'i': 'int32[4100]', 'u': d + '[4100]'}
        for op in OPS if d == 'float32' else (OPS[k % 5],):
            yield lines, ['y = %s(a, i %% 9000 - 4300, u)' % op], SORT
    few = {'a': 'float32[4200]', 'i': 'int32[4100]', 'u': 'float32[4100]'}
    yield few, ['y = scatter_add(a, i * 0 + 3, u)'], SORT  # one element takes all
    yield few, ['y = scatter(a, i * 0, u)'], SORT
    yield few, ['y = scatter_add(a, i * 0 - 4201, u)'], SORT  # all are outside
    yield few, ['y = scatter(a, i * 0 + 4200, u)'], SORT
    yield few, ['k = i % 50', 'y = scatter_add(a, k, u) / scatter_add(zeros([4200], float32), k, 1)'], SORT  # sorted once
    yield ({'a': 'float32[1000]', 'i': 'int32[17000]', 'u': 'float32[17000]'}, ['y = softmax(scatter(a, i % 900, u))'],
           15)
    yield few, ['y = sum(scatter_add(a * 2, i % 4000, u - 1))'], SORT
    yield ({'a': 'float32[4200]', 'u': 'float32[4100]'}, ['y = cumsum(scatter_max(a, arange(4100), u))'], SORT)
    for count, n, merges in ((4096, 4097, 12), (4097, 4096, 13), (256, 65537, 8), (257, 65537, 9), (70000, 300, 17)):
        yield ({'a': 'float16[%d]' % n, 'i': 'int64[%d]' % count, 'u': 'float16[%d]' % count},
               ['y = scatter_add(a, i %% %d, u)' % n], merges)
    yield {'a': 'float32[2, 2]', 'i': 'int32[255]', 'u': 'float32[255, 2]'}, ['y = scatter(a, i, u)'], 0
    rows = {'a': 'float32[3000, 3]', 'i': 'uint16[50, 82]', 'u': 'float32[50, 82, 3]'}
    yield {'a': 'float32[3000, 3]', 'i': 'uint16[50, 82]'}, ['y = scatter_max(a, i % 2900, 0.5)'], SORT
    yield rows, ['y = scatter_add(a, i % 2900, u)'], SORT
    yield rows, ['y = scatter(a, i % 2900, u[:, :, ::-1]) + 1'], SORT
    yield ({'a': 'float32[3, 3000]', 'i': 'int32[4100]', 'u': 'float32[4100, 3]'},
           ['y = scatter_add(a, i % 2900, u, axis=1)'], SORT)
    yield ({'a': 'float32[40, 3, 100]', 'i': 'int32[4100]', 'j': 'int32[4100]', 'u': 'float32[4100, 3]'},
           ['y = scatter_add(a, [i % 40, j % 100], u, axis=[0, 2])'], SORT)
    for axis, shape, own in ((0, '2100, 3', '4100, 3'), (1, '3, 2100', '3, 4100'), (1, '2, 2100, 2', '2, 4100, 2')):
        yield ({'a': 'float32[%s]' % shape, 'i': 'int32[%s]' % own, 'u': 'float32[%s]' % own},
               ['y = put_along_axis(a, i %% 2050, u, %d)' % axis], SORT)
    yield ({'a': 'float32[3, 2100]', 'i': 'int32[1, 4100]', 'u': 'float32[3, 4100]'},
           ['y = put_along_axis(a, i % 2050, u, 1)'], SORT)


def write(path, every):
    functions = {'case%d' % k: {'inputs': i, 'nodes': n, 'outputs': 'y'} for k, (i, n, _) in enumerate(every)}
    with open(path, 'w', encoding='utf-8') as f:
        json.dump({'nuvec': 1, 'name': 'scatters', 'functions': functions}, f)


def main():
    every = list(cases())
    with tempfile.TemporaryDirectory() as tmp:
        spec = os.path.join(tmp, 'scatters.json')
        write(spec, every)
        r = subprocess.run([os.path.join(BUILD, 'nuvecc'), spec, '--explain=json'], stdout=subprocess.PIPE, text=True,
                           check=False)
        for e, (inputs, nodes, merges) in zip(json.loads(r.stdout)['entries'], every):
            got = sum(k['name'].endswith('_merged') for k in e['per_kernel'])
            result(got == merges, '%s of %s: %d merges, not %d' % (nodes, inputs, got, merges))
        for k, e in enumerate(ENVIRONMENTS):
            if k == 1:
                write(spec, every[::5])
            r = subprocess.run([os.path.join(BUILD, 'hostrun'), spec, '--all', '--random=1', '--compare'],
                               env=dict(os.environ, **e), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                               check=False)
            result(r.returncode == 0, '%s: %s' % (e, r.stdout[-3000:]))
    return finish()


if __name__ == '__main__':
    sys.exit(main())
