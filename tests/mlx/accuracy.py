"""accuracy.py - the errors of float32 sums of many elements, in units in the last place of the exact result, beside MLX's
and NumPy's: the table in nuvec-ops(5). Exact arithmetic is math.fsum, of running sums NumPy's longdouble. Run by hand:
build/mlx/bin/python tests/mlx/accuracy.py"""
import math
import os
import tempfile

import arrays
import compare
import mlx.core as mx
import numpy as np

LENGTHS = (1000, 30001, 1000000)


def logsumexp(x):
    most = x.max()
    return most + np.log(np.exp(x - most).sum())


def exact(op, x):
    wide = x.astype(np.float64)
    if op == 'sum':
        return math.fsum(wide)
    mean = math.fsum(wide) / len(x)
    if op == 'mean':
        return mean
    if op == 'var':
        return math.fsum((wide - mean) ** 2) / len(x)
    if op == 'logsumexp':
        return float(wide.max()) + math.log(math.fsum(np.exp(wide - wide.max())))
    return np.cumsum(x.astype(np.longdouble))


NUMPY = {'sum': np.sum, 'mean': np.mean, 'var': np.var, 'logsumexp': logsumexp, 'cumsum': np.cumsum}


def units(got, want):
    want = np.asarray(want, np.longdouble)
    unit = np.spacing(np.abs(want).astype(np.float32)).astype(np.longdouble)
    return float(np.max(np.abs(np.asarray(got, np.longdouble) - want) / unit))


def inputs(kind, n):
    r = np.random.default_rng(n)
    if kind == 'uniform':
        return r.random(n, np.float32)
    if kind == 'far from 0':  # most of the digits are the same ones
        return (1000 + r.standard_normal(n)).astype(np.float32)
    return np.exp2(r.uniform(-20, 20, n)).astype(np.float32)  # sizes of all kinds


def main():
    ops = list(NUMPY)
    print('%-12s %9s  %s' % ('', 'elements', '  '.join('%-24s' % op for op in ops)))
    with tempfile.TemporaryDirectory() as folder:
        for kind in ('uniform', 'far from 0', 'all sizes'):
            for n in LENGTHS:
                x = inputs(kind, n)
                document = {'nuvec': 1, 'name': 'a', 'functions': {'f': {
                    'inputs': {'x': 'float32[%d]' % n}, 'nodes': ['y%d = %s(x)' % p for p in enumerate(ops)],
                    'outputs': {op: 'y%d' % k for k, op in enumerate(ops)}}}}
                ours = compare.evaluate(document, {'x': arrays.Bits('float32', (n,), x.view(np.uint32))}, folder)
                row = []
                for op in ops:
                    want = exact(op, x)
                    mine = ours[op].data.view(np.float32)
                    mine = mine if op == 'cumsum' else mine.reshape(-1)[0]
                    theirs = np.array(getattr(mx, op)(mx.array(x)))
                    row.append('%6.1f %8.1f %8.1f' % tuple(units(v, want) for v in (mine, theirs, NUMPY[op](x))))
                print('%-12s %9d  %s' % (kind, n, '  '.join(row)))


if __name__ == '__main__':
    os.chdir(compare.ROOT)
    main()
