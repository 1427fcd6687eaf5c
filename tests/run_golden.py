#!/usr/bin/env python3
"""run_golden.py - what is emitted for the examples, for review: tests/golden holds NAME.metal, NAME.h without the shared
types, and NAME.tape.c, the tables and functions of NAME.c behind the replay engine. They are compared byte by byte;
`make accept` (run_golden.py --accept) writes them anew. And for every spec of the repository that compiles: no emitted
line has more than 120 columns, none ends in a blank. Ends with "N passed, N failed"."""
import difflib
import glob
import os
import re
import subprocess
import sys
import tempfile

from tally import finish, result

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
BUILD = os.path.join(ROOT, os.environ.get('BUILD', 'build'))
GOLDEN = os.path.join(HERE, 'golden')
EXAMPLES = ['gelu', 'swiglu', 'adam', 'black_scholes', 'tonemap', 'bias_gelu_residual', 'softmax', 'layer_norm',
            'rms_norm']


def read(path):
    with open(path, encoding='utf-8') as f:
        return f.read()


def emit(spec, out):
    r = subprocess.run([os.path.join(BUILD, 'nuvecc'), spec, '-o', out], stdout=subprocess.DEVNULL,
                       stderr=subprocess.PIPE, text=True)
    return r.returncode == 0, r.stderr


def shown(out, name):
    """File name -> the text that is kept."""
    def tie(text):  # a hash of all of it
        return re.sub(r'_tie_[0-9a-f]{16}', '_tie_HASH', text)
    header = read(os.path.join(out, name + '.h'))
    stub = read(os.path.join(out, name + '.c'))
    return {name + '.metal': tie(read(os.path.join(out, name + '.metal'))),
            name + '.h': re.sub(r'#ifndef NUVEC_ABI_1\n.*?\n#endif\n', '/* the shared types: lib/emit/runtime/abi.h */\n',
                                header, count=1, flags=re.S),
            name + '.tape.c': tie(stub[stub.index('/* ---- the tape ---- */'):])}


def lines(out, spec):
    for path in sorted(glob.glob(os.path.join(out, '*'))):
        if path.endswith(('.json', '.data')):
            continue
        for n, line in enumerate(read(path).split('\n'), 1):
            if len(line) > 120 or line != line.rstrip():
                result(False, '%s, %s:%d: %d columns: %s' % (spec, os.path.basename(path), n, len(line), line[:150]))
                break
        else:
            result(True, '')


def main():
    accept = '--accept' in sys.argv[1:]
    os.makedirs(GOLDEN, exist_ok=True)
    kept = set()
    for name in EXAMPLES:
        with tempfile.TemporaryDirectory() as out:
            ok, errors = emit(os.path.join(ROOT, 'specs', name + '.yaml'), out)
            result(ok, '%s: %s' % (name, errors))
            for file, text in shown(out, name).items() if ok else ():
                kept.add(file)
                path = os.path.join(GOLDEN, file)
                old = read(path) if os.path.exists(path) else ''
                if accept and old != text:
                    with open(path, 'w', encoding='utf-8') as f:
                        f.write(text)
                    print('wrote tests/golden/%s' % file)
                    old = text
                diff = difflib.unified_diff(old.splitlines(), text.splitlines(), 'golden/' + file, 'now', lineterm='', n=2)
                result(old == text, '%s changed; if it is better, make accept:\n%s' % (
                    file, '\n'.join(list(diff)[:60])))
    result(set(os.listdir(GOLDEN)) == kept, 'tests/golden holds %s' % sorted(set(os.listdir(GOLDEN)) ^ kept))
    specs = [f for d in ('specs', 'tests/corpus', 'tests/cases', 'tests/stub') for e in ('yaml', 'json')
             for f in sorted(glob.glob(os.path.join(ROOT, d, '*.' + e)))
             if not re.search(r'\.(in|want)\.json$|(^|/)index\.json$|\.schema\.json$|composites', f)]
    compiled = 0
    for spec in specs:
        with tempfile.TemporaryDirectory() as out:
            if emit(spec, out)[0]:
                compiled += 1
                lines(out, os.path.relpath(spec, ROOT))
    result(compiled > len(specs) // 4, 'only %d of %d specs compile' % (compiled, len(specs)))
    print('%d of %d specs compiled' % (compiled, len(specs)))
    return finish()


if __name__ == '__main__':
    sys.exit(main())
