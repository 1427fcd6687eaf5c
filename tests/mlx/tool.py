"""tool.py - tools/mlx2nuvec.py by its command line: files, constants, refusals."""
import json
import os
import subprocess
import sys

import arrays
import compare
import mlx.core as mx
from model import block

TOOL = os.path.join(compare.ROOT, 'tools', 'mlx2nuvec.py')
MODEL = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'model.py')


def tool(*arguments):
    command = [sys.executable, TOOL, *arguments]
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def imported(folder):
    """Texts of what is wrong with a function that can be imported."""
    bad, files = [], []
    for k in range(2):
        path = os.path.join(folder, 'block%d.json' % k)
        r = tool(MODEL + ':block', '--args', 'float32[2, 3]', 'mask=bool[2, 3]', '-o', path)
        if r.returncode or r.stdout or r.stderr:
            return ['mlx2nuvec.py: status %d: %s' % (r.returncode, r.stdout + r.stderr)]
        files.append([open(p, 'rb').read() for p in (path, path[:-5] + '.safetensors')])
    if files[0] != files[1]:
        bad.append('two runs write different bytes')
    function = json.loads(files[0][0])['functions']['block']
    constants = arrays.read(os.path.join(folder, 'block0.safetensors'))
    if [next(iter(i)) for i in function['inputs']] != ['x', 'mask', 'c0'] or list(constants) != ['c0']:
        bad.append('inputs are %s, constants %s' % (function['inputs'], list(constants)))
    if sorted(function['outputs']) != ['half', 'y'] or len(function['outputs']['y']) != 2:
        bad.append('outputs are %s' % function['outputs'])
    x = arrays.from_mlx(mx.array([[1.0, -2.0, 3.0], [0.5, 0.0, -0.25]]))
    mask = arrays.from_mlx(mx.array([[True, False, True], [False, True, True]]))
    leaves = {'a': function['outputs']['y'][0], 'b': function['outputs']['y'][1], 'h': function['outputs']['half']}
    document = json.loads(files[0][0])
    document['functions']['block']['outputs'] = leaves
    found = compare.evaluate(document, {'x': x, 'mask': mask, **constants}, folder)
    want = block(x.mlx(), mask.mlx())
    for name, value in (('a', want['y'][0]), ('b', want['y'][1]), ('h', want['half'])):
        if not (arrays.distance(found[name], arrays.from_mlx(value)) <= 8).all():
            bad.append('output %s is %s, MLX: %s' % (name, found[name].values(), value))
    return bad


def refused(folder):
    """Texts of what is wrong with refusals: all findings at once, status 1, nothing written."""
    bad = []
    for name, words in (('lacking', ['node 0, Sort(0): float32[4] -> float32[4]: no op for it',
                                     'node 2, Partition(1, 0): float32[4] -> float32[4]: no op for it']),
                        ('not_exported', ['Sort: no op for it', 'CumLogAddExp: MLX cannot export it']),
                        ('double', ['float64[4]: no such dtype on a Metal GPU'])):
        path = os.path.join(folder, name + '.json')
        r = tool(MODEL + ':' + name, '--args', 'float32[4]', '-o', path)
        lines = r.stderr.strip().split('\n')
        if r.returncode != 1 or os.path.exists(path) or not all(any(w in x for x in lines) for w in words) or \
                'Traceback' in r.stderr:
            bad.append('%s: status %d: %s' % (name, r.returncode, r.stderr))
    r = tool('no_colon')
    if r.returncode == 0 or 'expected MODULE:FUNCTION' not in r.stderr:
        bad.append('no_colon: status %d: %s' % (r.returncode, r.stderr))
    return bad


def run(folder):
    """(checks made, texts of what is wrong)"""
    return 5, imported(folder) + refused(folder)
