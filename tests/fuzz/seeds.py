#!/usr/bin/env python3
"""seeds.py - what the fuzzers start from, made of specs/ and tests/: seeds.py FOLDER writes FOLDER/TARGET/… and
FOLDER/nuvec.dict, the language's words."""
import glob
import json
import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.path.join(ROOT, os.environ.get('BUILD', 'build'))
WORDS = '''nuvec name doc types constants functions entries inputs nodes outputs dtypes dims static op call names const dtype
shape rank type trainable strides list of enum default min max multiple_of value file tensor function style shapeless state
donate bind cache_capacity state_mode signatures tree flat mut any float int number if then else for in carry do map where yield
and or not true false inf nan None range len sqrt variant x- &a *a << !!str ... ? **  // == != <= >= graph input output
add sum mean axis= keepdims= reshape( astype( float32[ float32[] bool[] 0x3f800000 : -> %0'''.split()
LARGEST = 16384


def main():
    folder = sys.argv[1]
    seeds = {t: {} for t in ('json', 'yaml', 'expr', 'graph', 'compile')}
    files = sorted(glob.glob(os.path.join(ROOT, 'specs', '*.*')) + glob.glob(os.path.join(ROOT, 'tests', '**', '*.*'), recursive=True))
    for path in files:
        name = os.path.relpath(path, ROOT).replace('/', '-')
        form = 'json' if path.endswith('.json') else 'yaml' if path.endswith(('.yaml', '.yml')) else None
        if not form or os.path.getsize(path) > LARGEST:
            continue
        with open(path, encoding='utf-8') as f:
            text = f.read()
        seeds[form][name] = text
        if 'nuvec' not in text or name.endswith(('.in.json', '.want.json')):
            continue
        seeds['compile'][name] = text if form == 'json' and text[0] == '{' else ' ' + text
        for k, line in enumerate(re.findall(r'^ +(?:- )?((?:\w|[.,\[\] ])+ = .*)$', text, re.M)):
            seeds['expr']['%s-%d' % (name, k)] = 'e' + line
            seeds['expr']['%s-%d-value' % (name, k)] = 'd' + line.split(' = ', 1)[1]
        for k, block in enumerate(re.findall(r'\|\n((?: {4,}.*\n)+)', text)):
            seeds['expr']['%s-block-%d' % (name, k)] = 'f' + re.sub(r'^ +', '', block, flags=re.M)
        for k, kind in enumerate(set(re.findall(r'(?:float32|int32|bool|any|float)\[[^]\n]*\]', text))):
            seeds['expr']['%s-type-%d' % (name, k)] = 'g' + kind
        if '/wrong/' in path:
            continue
        for stage in 'traced', 'simplified':
            r = subprocess.run([os.path.join(BUILD, 'nuvecc'), '--emit-graph=' + stage, path], stdout=subprocess.PIPE,
                               stderr=subprocess.DEVNULL, check=False)
            if r.returncode == 0 and len(r.stdout) < LARGEST:
                seeds['graph'][name + '-' + stage] = r.stdout.decode()
    for target, texts in seeds.items():
        os.makedirs(os.path.join(folder, target), exist_ok=True)
        for name, text in texts.items():
            with open(os.path.join(folder, target, name), 'w', encoding='utf-8') as f:
                f.write(text)
    ops = json.loads(subprocess.run([os.path.join(BUILD, 'oplist')], stdout=subprocess.PIPE, check=True).stdout)
    with open(os.path.join(folder, 'nuvec.dict'), 'w', encoding='utf-8') as f:
        for word in sorted(set(WORDS + [o['name'] for o in ops])):
            f.write('"%s"\n' % word.replace('\\', '\\\\').replace('"', '\\"'))
    print(', '.join('%s %d' % (t, len(s)) for t, s in seeds.items()))


if __name__ == '__main__':
    main()
