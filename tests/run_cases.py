#!/usr/bin/env python3
"""run_cases.py - runs the specs of tests/cases: every NAME.ENTRY.in.json (NAME.ENTRY.K.in.json: signature K) is a run of
NAME.yaml or NAME.json through hostrun --compare (evaluator, unfused, fused, both subnormal modes), and its outputs are
what the file .want.json beside it says: name to value, as --outputs writes them, signs of zeros too ({"near": value,
"rel": r}: that close). NAME.ENTRY.plan.json says what becomes of the entry: keys of its --explain=json with their values
({"at_most": n}), and
  ratio      bytes moved over the lower bound, at most     inputs   of every kernel, names
  bindings   of a kernel, at most                          source_has, source_lacks   patterns of the Metal source
run_cases.py [NAME …]. Ends with "N passed, N failed"."""
import json
import math
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
BUILD = os.path.join(ROOT, os.environ.get('BUILD', 'build'))
FOLDER = os.path.join(HERE, 'cases')


def number(x):
    return float(x) if isinstance(x, str) else x


def near(got, want, rel):
    if isinstance(want, list):
        return isinstance(got, list) and len(got) == len(want) and all(near(g, w, rel) for g, w in zip(got, want))
    return math.isclose(number(got), number(want), rel_tol=rel)


def same(got, want):
    if isinstance(want, dict):
        return near(got, want['near'], want['rel'])
    if isinstance(want, list):
        return isinstance(got, list) and len(got) == len(want) and all(map(same, got, want))
    if got != want or isinstance(got, bool) != isinstance(want, bool):
        return False
    return got != 0 or isinstance(got, bool) or math.copysign(1, got) == math.copysign(1, want)


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


def nuvecc(*arguments):
    r = subprocess.run([os.path.join(BUILD, 'nuvecc'), *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                       text=True)
    if r.returncode:
        raise ValueError(r.stdout[-2000:])
    return r.stdout


def check_plan(spec, entry, want):
    """What a plan file says and the compiler doesn't."""
    e = json.loads(nuvecc('--explain=json', '--entry=' + entry, spec))['entries'][0]
    kernels = e['per_kernel']
    e['ratio'] = e['bytes_moved'] / max(e['bytes_lower_bound'], 1)
    e['bindings'] = max((len(k['inputs']) + len(k['outputs']) for k in kernels), default=0)
    e['inputs'] = [[i['name'] for i in k['inputs']] for k in kernels]
    bad = []
    for key, value in want.items():
        if key in ('source_has', 'source_lacks'):
            text = nuvecc('--emit-metal', '--entry=' + entry, spec)
            bad += ['%s: %s %s' % (entry, key, p) for p in value if (re.search(p, text) is None) == (key == 'source_has')]
            continue
        most = value['at_most'] if isinstance(value, dict) else value if key in ('ratio', 'bindings') else None
        if e[key] != value if most is None else e[key] > most:
            bad.append('%s: %s is %s, wanted %s' % (entry, key, e[key], value))
    return bad


def check_plans(spec, name, files):
    bad = []
    for f in files:
        parts = f.split('.')
        if parts[0] == name and f.endswith('.plan.json'):
            with open(os.path.join(FOLDER, f), encoding='utf-8') as g:
                want = json.load(g)
            try:
                bad += check_plan(spec, parts[1], want)
            except ValueError as e:
                bad.append('%s: %s' % (f, e))
    return bad


def main():
    passed = failed = 0
    files = sorted(os.listdir(FOLDER))
    for spec in files:
        name, kind = os.path.splitext(spec)
        if kind not in ('.yaml', '.json') or name.endswith(('.in', '.want', '.plan')):
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
        bad += check_plans(os.path.join(FOLDER, spec), name, files)
        if bad:
            failed += 1
            print('%s:\n  %s' % (name, '\n  '.join(bad[:10])))
        else:
            passed += 1
    print('%d passed, %d failed' % (passed, failed))
    return failed != 0


if __name__ == '__main__':
    sys.exit(main())
