#!/usr/bin/env python3
"""run_wrong.py - the wrong specs of tests/wrong: each must be refused with exit status 1, every listed error at its place
(or one of the places in "also") with its words, and no others. Rows with "stage" wait until what they need is
supported: they must be refused all the same. run_wrong.py [NAME …]. Ends with "N passed, N failed"."""
import json
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
BUILD = os.path.join(ROOT, os.environ.get('BUILD', 'build'))
FOLDER = os.path.join(HERE, 'wrong')


def has(text, words):
    return any(w.lower() in text.lower() for w in words.split('|'))


def check(row):
    with tempfile.TemporaryDirectory() as tmp:
        r = subprocess.run([os.path.join(BUILD, 'nuvecc'), '--diagnostics=json', '-o', tmp, os.path.join(FOLDER, row['name'])],
                           stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        left = os.listdir(tmp)
    if r.returncode != 1:
        return ['exit status %d, wanted 1\n%s' % (r.returncode, r.stderr[:2000])]
    if left:
        return ['wrote %s' % left]
    try:
        got = [d for d in json.loads(r.stderr)['diagnostics'] if d['severity'] == 'error']
    except ValueError as e:
        return ['the diagnostics are no JSON: %s\n%s' % (e, r.stderr[:2000])]
    if row.get('stage'):
        return [] if got else ['no error']
    bad = []
    rest = list(got)
    for e in row['errors']:
        places = [[e['line'], e['column']]] + e['also']
        hit = [d for d in rest if [d.get('line'), d.get('column')] in places and all(has(d['text'], w) for w in e['words'])]
        if hit:
            rest.remove(hit[0])
        else:
            bad.append('no error at %s with %s' % (places, e['words']))
    bad += ['also said %s:%s: %s' % (d.get('line'), d.get('column'), d['text']) for d in rest]
    return bad


def main():
    with open(os.path.join(FOLDER, 'index.json'), encoding='utf-8') as f:
        index = json.load(f)
    listed = {row['name'] for row in index}
    passed = failed = 0
    for name in sorted(os.listdir(FOLDER)):
        if name != 'index.json' and name not in listed:
            failed += 1
            print('%s: has no row in index.json' % name)
    for row in index:
        if sys.argv[1:] and row['name'] not in sys.argv[1:]:
            continue
        bad = check(row)
        if bad:
            failed += 1
            print('%s:\n  %s' % (row['name'], '\n  '.join(bad)))
        else:
            passed += 1
    print('%d passed, %d failed' % (passed, failed))
    return failed != 0


if __name__ == '__main__':
    sys.exit(main())
