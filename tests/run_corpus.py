#!/usr/bin/env python3
"""run_corpus.py - runs the specs of tests/corpus that the compiler is far enough for: every run of a spec through
hostrun --compare (evaluator, unfused, fused, both subnormal modes), the outputs against its want files; those with open
sizes also on random inputs of many sizes. No entry of known sizes has more kernels than index.json's expect_kernels.
run_corpus.py [NAME …]. Specs beyond STAGE must be refused in words ("not supported yet") or pass. Ends with
"N passed, N failed"."""
import json
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
BUILD = os.path.join(ROOT, os.environ.get('BUILD', 'build'))
CORPUS = os.path.join(HERE, 'corpus')
STAGE = 2  # index.json's needs.issue up to which every spec must pass

sys.path.insert(0, CORPUS)
sys.dont_write_bytecode = True
import compare  # noqa: E402


def differences(got, want):
    bad = []
    for name, o in want.items():
        if name not in got:
            bad.append('%s: missing' % name)
        else:
            bad += compare.walk(got[name], o['value'], o['shape'], dict(o, name=name), '')
    return bad + ['%s: not wanted' % k for k in got if k not in want]


def stats(spec):
    r = subprocess.run([os.path.join(BUILD, 'nuvecc'), '--stats=json', spec], stdout=subprocess.PIPE,
                       stderr=subprocess.PIPE, text=True)
    return r.returncode, r.stderr if r.returncode else r.stdout


def refused(spec):
    """What nuvecc says of a spec, None when it compiles."""
    code, text = stats(spec)
    return None if code == 0 else (code, text)


def run(e, tmp):
    spec = os.path.join(CORPUS, e['file'])
    lines = []
    for k, r in enumerate(e['runs']):
        lines.append('%s %d %s %s\n' % (e['entry'], r.get('signature', 0), os.path.join(CORPUS, r['in']),
                                        os.path.join(tmp, 'out%d.json' % k)))
    entries, most = json.loads(stats(spec)[1])['entries'], e['expect_kernels']
    lines += ['%s %d random=%d -\n' % (p['entry'], p['signature'], k)  # many sizes
              for k, p in enumerate(entries) if 'sizes' in p]
    batch = os.path.join(tmp, 'batch')
    with open(batch, 'w', encoding='utf-8') as f:
        f.writelines(lines)
    p = subprocess.run([os.path.join(BUILD, 'hostrun'), spec, '--batch=' + batch, '--compare'], stdout=subprocess.PIPE,
                       stderr=subprocess.STDOUT, text=True)
    bad = [] if p.returncode == 0 else [p.stdout[-3000:]]
    bad += ['%s, signature %d: %d kernels, not %d' % (s['entry'], s['signature'], s['kernels'], most)
            for s in entries if most is not None and 'sizes' not in s and s['kernels'] > most]
    for k, r in enumerate(e['runs']):
        out = os.path.join(tmp, 'out%d.json' % k)
        if not os.path.exists(out):
            bad.append('no outputs of run %d' % k)
            continue
        with open(out, encoding='utf-8') as f, open(os.path.join(CORPUS, r['want']), encoding='utf-8') as g:
            bad += differences(json.load(f), json.load(g))
    return bad


def evaluated(e):
    """A spec of open sizes, which has no kernels yet: every run by the command's evaluator."""
    bad = []
    for r in e['runs']:
        p = subprocess.run([os.path.join(BUILD, 'nuvecc'), '--eval=' + os.path.join(CORPUS, r['in']),
                            '--entry=' + e['entry'], '--signature=%d' % r.get('signature', 0),
                            os.path.join(CORPUS, e['file'])], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if p.returncode:
            bad.append('%s: %s' % (r['in'], p.stdout))
            continue
        with open(os.path.join(CORPUS, r['want']), encoding='utf-8') as f:
            bad += differences(json.loads(p.stdout), json.load(f))
    return bad


def main():
    with open(os.path.join(CORPUS, 'index.json'), encoding='utf-8') as f:
        index = json.load(f)
    passed = failed = later = 0
    for e in index:
        if sys.argv[1:] and e['name'] not in sys.argv[1:]:
            continue
        said = refused(os.path.join(CORPUS, e['file']))
        if said and e['needs']['issue'] > STAGE:
            if said[0] == 1 and 'not supported yet: kernels of open sizes' in said[1]:
                bad = evaluated(e)
                passed, failed = passed + (not bad), failed + bool(bad)
                if bad:
                    print('%s:\n  %s' % (e['name'], '\n  '.join(bad)))
            elif said[0] == 1 and 'not supported yet' in said[1]:
                later += 1
            else:
                failed += 1
                print('%s: refused without saying what is not supported yet:\n%s' % (e['name'], said[1][:1500]))
            continue
        with tempfile.TemporaryDirectory() as tmp:
            bad = [said[1]] if said else run(e, tmp)
        if bad:
            failed += 1
            print('%s:\n  %s' % (e['name'], '\n  '.join(bad[:10])))
        else:
            passed += 1
            print('%s: ok%s' % (e['name'], '' if e['needs']['issue'] <= STAGE else ' (ahead of its stage)'))
    print('%d specs wait for what is not supported yet' % later)
    print('%d passed, %d failed' % (passed, failed))
    return failed != 0


if __name__ == '__main__':
    sys.exit(main())
