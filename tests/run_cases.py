#!/usr/bin/env python3
"""run_cases.py - runs the specs of tests/cases: every NAME.ENTRY.in.json (NAME.ENTRY.K.in.json: signature K) is a run of
NAME.yaml or NAME.json through hostrun --compare (evaluator, unfused, fused, both subnormal modes), and its outputs are
what the file .want.json beside it says: name to value, as --outputs writes them. run_cases.py [NAME …].
Ends with "N passed, N failed"."""
import json
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
BUILD = os.path.join(ROOT, os.environ.get('BUILD', 'build'))
FOLDER = os.path.join(HERE, 'cases')


def same(got, want):
    if isinstance(want, list):
        return isinstance(got, list) and len(got) == len(want) and all(map(same, got, want))
    return got == want and isinstance(got, bool) == isinstance(want, bool)


def check(spec, runs, tmp):
    batch = os.path.join(tmp, 'batch')
    with open(batch, 'w', encoding='utf-8') as f:
        for k, (entry, signature, path) in enumerate(runs):
            f.write('%s %d %s %s\n' % (entry, signature, path, os.path.join(tmp, 'out%d.json' % k)))
    r = subprocess.run([os.path.join(BUILD, 'hostrun'), spec, '--batch=' + batch, '--compare'], stdout=subprocess.PIPE,
                       stderr=subprocess.STDOUT, text=True)
    bad = [] if r.returncode == 0 else [r.stdout[-3000:]]
    for k, (entry, signature, path) in enumerate(runs):
        out, want = os.path.join(tmp, 'out%d.json' % k), path[:-len('in.json')] + 'want.json'
        if not os.path.exists(out):
            bad.append('%s: no outputs' % os.path.basename(path))
            continue
        with open(out, encoding='utf-8') as f, open(want, encoding='utf-8') as g:
            got, wanted = json.load(f), json.load(g)
        bad += ['%s: %s is %s, wanted %s' % (os.path.basename(path), name, json.dumps(got.get(name)), json.dumps(value))
                for name, value in wanted.items() if not same(got.get(name), value)]
        bad += ['%s: %s is not wanted' % (os.path.basename(path), name) for name in got if name not in wanted]
    return bad


def main():
    passed = failed = 0
    files = sorted(os.listdir(FOLDER))
    for spec in files:
        name, kind = os.path.splitext(spec)
        if kind not in ('.yaml', '.json') or name.endswith(('.in', '.want')):
            continue
        if sys.argv[1:] and name not in sys.argv[1:]:
            continue
        runs = []
        for f in files:
            parts = f.split('.')
            if parts[0] == name and f.endswith('.in.json'):
                runs.append((parts[1], int(parts[2]) if len(parts) == 5 else 0, os.path.join(FOLDER, f)))
        with tempfile.TemporaryDirectory() as tmp:
            bad = check(os.path.join(FOLDER, spec), runs, tmp) if runs else ['no runs']
        if bad:
            failed += 1
            print('%s:\n  %s' % (name, '\n  '.join(bad[:10])))
        else:
            passed += 1
    print('%d passed, %d failed' % (passed, failed))
    return failed != 0


if __name__ == '__main__':
    sys.exit(main())
