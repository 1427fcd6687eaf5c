#!/usr/bin/env python3
"""run_rows.py - softmax, norms and their like over rows of many lengths and dtypes: one kernel each that reads its input
once, all three ways compared bit by bit in both subnormal modes, under several orders of threads, and on a device with
small threadgroups. Ends with "N passed, N failed"."""
import json
import os
import subprocess
import sys
import tempfile

from tally import finish, result

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
BUILD = os.path.join(ROOT, os.environ.get('BUILD', 'build'))
FLOATS = ('float32', 'float16', 'bfloat16')
os.environ.setdefault('MSLCFLAGS', '-O0')  # many kernels, little data

# name: inputs ('x' full, 'r' a row, 'p' one a row), statements, outputs, dtypes
FORMS = {
    'softmax': ({'x': 'x'}, ['e = exp(x - max(x, -1, keepdims=true))', 'y = e / sum(e, -1, keepdims=true)'], ['y'], FLOATS),
    'layer_norm': ({'x': 'x', 'g': 'r', 'b': 'r'}, [
        'm = mean(x, -1, keepdims=true)', 'c = x - m',
        'y = c * rsqrt(mean(square(c), -1, keepdims=true) + 1e-5) * g + b'], ['y', 'm'], FLOATS),
    'rms_norm': ({'x': 'x', 'g': 'r'}, ['h = astype(x, float32)', 'y = h * rsqrt(mean(square(h), -1, keepdims=true)) * g'], ['y'],
                 FLOATS),
    'moments': ({'x': 'x'}, ['a = sum(x, -1)', 'b = max(x, -1)', 'c = sum(x * x, -1)', 'd = any(x > 0, -1)',
                             'e = all(x < 3, -1)', 'f = prod(x, -1)', 'h = min(x, -1)'], list('abcdefh'),
                ('float32', 'int8', 'uint64', 'bfloat16')),
    'backward': ({'y': 'x', 'g': 'x', 'x': 'x', 's': 'p'}, [  # more rows than registers hold
        's1 = sum(g * y, -1, keepdims=true)', 's2 = mean(g + x, -1, keepdims=true)', 't = (g - s2) * s + y * s1 + x',
        'u = max(abs(t), -1, keepdims=true)', 'o = t / u + g * y - x'], ['o', 'u', 't'], ('float32', 'float16')),
    'again': ({'x': 'x'}, ['a = x - mean(x, -1, keepdims=true)', 'b = a / max(a, -1, keepdims=true)',
                           'c = b - mean(b, -1, keepdims=true)', 'd = c * sum(c + x, -1, keepdims=true)',
                           'y = d - min(d, -1, keepdims=true)'], ['y'], ('float32',)),
    'causal': ({'x': 'x'}, ['i = arange(N)', 'z = where(i <= 40, x, -1000)', 'e = exp(z - max(z, -1, keepdims=true))',
                            'y = e / sum(e, -1, keepdims=true)'], ['y'], ('float32',)),
    'flags': ({'x': 'x', 'm': 'x'}, ['n = m & (x == max(x, -1, keepdims=true))', 'c = sum(astype(n, int32), -1, keepdims=true)',
                                     'y = where(n, c, -c)', 'k = logical_not(n)'], ['y', 'k', 'n'], ('int16',)),
    'wide': ({'x': 'x'}, ['m = max(x, -1, keepdims=true)', 'y = (x - m) * sum(x, -1, keepdims=true)'], ['y'],
             ('int64', 'complex64')),
}
LENGTHS = (2, 5, 16, 63, 64, 130, 500, 1024, 1027, 1500, 4096, 5000, 8192)


def document(lengths, dtypes, rows):
    functions = {}
    for n in lengths:
        for name, (inputs, nodes, outputs, of) in FORMS.items():
            for d in of:
                if d not in dtypes or (d == 'complex64' and n > 100):
                    continue
                shape = {'x': '%s[%d, %d]' % (d, rows, n), 'r': '%s[%d]' % (d, n), 'p': '%s[%d, 1]' % (d, rows)}
                types = {k: shape[v] for k, v in inputs.items()}
                if name == 'flags':
                    types['m'] = 'bool[%d, %d]' % (rows, n)
                functions['%s_%s_%d' % (name, d, n)] = {
                    'inputs': types, 'nodes': [s.replace('N', str(n)) for s in nodes],
                    'outputs': {'o%d' % k: o for k, o in enumerate(outputs)}}
    return {'nuvec': 1, 'name': 'rows', 'functions': functions}


def hostrun(spec, **env):
    return subprocess.run([os.path.join(BUILD, 'hostrun'), spec, '--all', '--random=3', '--compare'],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=dict(os.environ, **env))


def main():
    with tempfile.TemporaryDirectory() as tmp:
        spec = os.path.join(tmp, 'rows.json')

        def write(what):
            with open(spec, 'w', encoding='utf-8') as f:
                json.dump(what, f)
        every = ('float32', 'float16', 'bfloat16', 'int8', 'int16', 'int64', 'uint64', 'complex64')
        for k, part in enumerate((LENGTHS[:5], LENGTHS[5:8], LENGTHS[8:10], LENGTHS[10:11], LENGTHS[11:])):
            write(document(part, every, 7 if k < 2 else 2))
            stats = subprocess.run([os.path.join(BUILD, 'nuvecc'), spec, '--stats=json'], stdout=subprocess.PIPE).stdout
            for e in json.loads(stats)['entries']:
                one = e['kernels'] == 1 and e['bytes_moved'] == e['bytes_lower_bound']
                result(one, '%(entry)s: %(kernels)d kernels, %(bytes_moved)d bytes of %(bytes_lower_bound)d' % e)
            r = hostrun(spec, MSL_ORDER=('fwd', 'rev', '7', '8', '9')[k])
            result(r.returncode == 0, 'rows of %s: %s' % (part, r.stdout[-3000:]))
        write(document((1500,), ('float32',), 3))
        for env in ({'MSL_ORDER': '5'}, {'MSL_ORDER': 'rev'}, {'HOSTMETAL_MAXTHREADS': '64'}):
            r = hostrun(spec, **env)
            result(r.returncode == 0, '%s: %s' % (env, r.stdout[-3000:]))
        r = hostrun(spec, HOSTMETAL_MAXTHREADS='48')
        result(r.returncode != 0 and 'needs threadgroups of 64 threads; here they have room for 48' in r.stdout,
               'small threadgroups: ' + r.stdout[-1000:])
    return finish()


if __name__ == '__main__':
    sys.exit(main())
