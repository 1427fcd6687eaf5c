#!/usr/bin/env python3
"""run.py - random graphs through evaluator, unfused and fused kernels, in both subnormal modes, bits compared.
run.py [--graphs N] [--seed S] [--keep DIR]. Prints the coverage; fails when bits differ, when an (op, dtype) pair came in
fewer than 3 graphs, or when under half of the graphs have a kernel of 5 or more operations."""
import argparse
import json
import os
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
from generate import Generator  # noqa: E402

os.environ.setdefault('MSLCFLAGS', '-O0')  # many kernels, little data
ROOT = os.path.dirname(os.path.dirname(HERE))
BUILD = os.path.join(ROOT, os.environ.get('BUILD', 'build'))
A_DOCUMENT = 50  # graphs


def output(*command):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def main():
    p = argparse.ArgumentParser()
    p.add_argument('--graphs', type=int, default=100000 if os.environ.get('LONG') else 700)
    p.add_argument('--seed', type=int, default=1)
    p.add_argument('--keep', help='leave the documents here')
    p.add_argument('--dtypes', default='all', help='only these, by commas; all: every one')
    a = p.parse_args()
    ops = json.loads(output(os.path.join(BUILD, 'oplist')).stdout)
    for o in ops:
        if a.dtypes != 'all':
            o['domain'] = [d for d in o['domain'] if d in a.dtypes.split(',')]
    g = Generator(ops, a.seed)
    passed = failed = graphs = large = 0
    with tempfile.TemporaryDirectory() as tmp:
        folder = a.keep or tmp
        os.makedirs(folder, exist_ok=True)
        while graphs < a.graphs:
            n = min(A_DOCUMENT, a.graphs - graphs)
            path = os.path.join(folder, 'random%d.json' % graphs)
            with open(path, 'w', encoding='utf-8') as f:
                json.dump(g.document('random', n), f, indent=1)
            r = output(os.path.join(BUILD, 'hostrun'), path, '--all', '--random=%d' % (a.seed + graphs), '--compare')
            if r.returncode == 0:
                passed += 1
            else:
                failed += 1
                print('graphs %d to %d (seed %d):\n%s' % (graphs, graphs + n - 1, a.seed, (r.stdout + r.stderr)[-4000:]))
            s = output(os.path.join(BUILD, 'nuvecc'), '--stats=json', path)
            try:
                for e in json.loads(s.stdout)['entries']:
                    large += any(k['ops'] >= 5 for k in e['per_kernel'])
            except (ValueError, KeyError) as e:
                print('no stats: %s %s' % (e, s.stdout[:500]))
            graphs += n
    rare = sorted((n, p) for p, n in g.pairs.items() if n < 3)
    print('%d graphs, %d pairs of op and dtype, the rarest %d times; %d graphs have a kernel of 5 or more ops'
          % (graphs, len(g.pairs), min(g.pairs.values()), large))
    for bad, text in ((rare if graphs >= 200 else [], 'pairs that came fewer than 3 times: %s' % rare[:20]),
                      (2 * large < graphs, 'under half of the graphs have a kernel of 5 or more ops')):
        if bad:
            failed += 1
            print(text)
        else:
            passed += 1
    print('%d passed, %d failed' % (passed, failed))
    return failed != 0


if __name__ == '__main__':
    sys.exit(main())
