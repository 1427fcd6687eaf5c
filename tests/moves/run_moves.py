#!/usr/bin/env python3
"""run_moves.py - runs moves.json (what make_moves.py had from NumPy): every case is an entry, all of a document in one
process, through evaluator, unfused and fused kernels in both subnormal modes; outputs equal to the bit. Ends with "N passed,
N failed"."""
import json
import os
import struct
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
os.environ.setdefault('MSLCFLAGS', '-O0')  # many kernels, little data
ROOT = os.path.dirname(os.path.dirname(HERE))
BUILD = os.path.join(ROOT, os.environ.get('BUILD', 'build'))
A_DOCUMENT = 60  # cases


def nested(flat, shape):
    if not shape:
        return flat[0]
    step = len(flat) // shape[0] if shape[0] else 0
    return [nested(flat[k * step:k * step + step], shape[1:]) for k in range(shape[0])]


def flattened(value, out):
    for v in value if isinstance(value, list) else ():
        flattened(v, out)
    if not isinstance(value, list):
        out.append(value)
    return out


def same(got, want, dtype):
    """Equal to the bit, NaNs aside: both are rounded to the dtype from their decimals."""
    if dtype[:5] != 'float':
        return got == want
    pack = '<e' if dtype == 'float16' else '<f'
    return struct.pack(pack, float(got)) == struct.pack(pack, float(want))


def check(case, got):
    bad = []
    for name, (dtype, shape, flat) in case['outputs'].items():
        if name not in got:
            bad.append('%s: missing' % name)
            continue
        value = got[name]
        if isinstance(value, dict):
            if (value['dtype'], value['shape']) != (dtype, shape):
                bad.append('%s: %s%s, wanted %s%s' % (name, value['dtype'], value['shape'], dtype, shape))
                continue
            value = value['value']
        values = flattened(value, [])
        wrong = [k for k in range(len(flat)) if k >= len(values) or not same(values[k], flat[k], dtype)]
        if wrong or len(values) != len(flat):
            bad.append('%s: got %s, wanted %s' % (name, values[:40], flat[:40]))
    return bad


def run(cases, tmp):
    functions, lines = {}, []
    for k, c in enumerate(cases):
        functions['case%d' % k] = {'inputs': {n: '%s[%s]' % (d, ', '.join(map(str, s))) for n, (d, s, _) in c['inputs'].items()},
                                'nodes': c['nodes'], 'outputs': {n: n for n in c['outputs']}}
        at = os.path.join(tmp, 'in%d.json' % k)
        with open(at, 'w', encoding='utf-8') as f:
            json.dump({n: nested(v, s) for n, (_, s, v) in c['inputs'].items()}, f)
        lines.append('case%d 0 %s %s\n' % (k, at, os.path.join(tmp, 'out%d.json' % k)))
    spec, batch = os.path.join(tmp, 'moves.json'), os.path.join(tmp, 'batch')
    with open(spec, 'w', encoding='utf-8') as f:
        json.dump({'nuvec': 1, 'name': 'moves', 'functions': functions}, f)
    with open(batch, 'w', encoding='utf-8') as f:
        f.writelines(lines)
    r = subprocess.run([os.path.join(BUILD, 'hostrun'), spec, '--batch=' + batch, '--compare'], stdout=subprocess.PIPE,
                       stderr=subprocess.STDOUT, text=True)
    failed = 0
    if r.returncode:
        failed += 1
        print(r.stdout[-3000:])
    for k, c in enumerate(cases):
        path = os.path.join(tmp, 'out%d.json' % k)
        bad = ['no outputs']
        if os.path.exists(path):
            with open(path, encoding='utf-8') as f:
                bad = check(c, json.load(f))
        if bad:
            failed += 1
            print('%s on %s:\n  %s' % ('; '.join(c['nodes']), {n: v[:2] for n, v in c['inputs'].items()}, '\n  '.join(bad)))
    return failed


def main():
    with open(os.path.join(HERE, 'moves.json'), encoding='utf-8') as f:
        cases = json.load(f)
    failed = 0
    for at in range(0, len(cases), A_DOCUMENT):
        with tempfile.TemporaryDirectory() as tmp:
            failed += run(cases[at:at + A_DOCUMENT], tmp)
    print('%d passed, %d failed' % (len(cases) - failed if failed <= len(cases) else 0, failed))
    return failed != 0


if __name__ == '__main__':
    sys.exit(main())
