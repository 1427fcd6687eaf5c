#!/usr/bin/env python3
"""read.py - what reading a spec costs, up to its parsed form: processor seconds and peak bytes (the file among them) a
node, in JSON and YAML, plain and text form. The goal: 1 us and 400 bytes for the text form in YAML, no form over three
times that."""
import json
import os
import subprocess
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
READ = os.path.join(ROOT, os.environ.get('BUILD', 'build'), 'bench-read')
LIMIT_US, LIMIT_BYTES, WIDER = 1.0, 400, 3
OPS = (('add', '+'), ('multiply', '*'), ('subtract', '-'))


def nodes(n, plain):
    before = 'x'
    for k in range(n):
        op, sign = OPS[k % 3]
        yield {'name': 'v%d' % k, 'op': op, 'inputs': [before, 'x']} if plain else 'v%d = %s %s x' % (k, before, sign)
        before = 'v%d' % k


def write(path, n, form, plain):
    head = {'nuvec': 1, 'name': 'read', 'functions': {'f': {'inputs': {'x': 'float32[16]'}}}}
    with open(path, 'w', encoding='utf-8') as f:
        if form == 'json':
            text = json.dumps(head)[:-3]
            f.write(text + ', "outputs": "v%d", "nodes": [\n' % (n - 1))
            for k, node in enumerate(nodes(n, plain)):
                f.write((',\n' if k else '') + json.dumps(node))
            f.write(']}}}\n')
            return
        f.write('nuvec: 1\nname: read\nfunctions:\n  f:\n    inputs: {x: "float32[16]"}\n    outputs: v%d\n    nodes:%s\n' % (
            n - 1, '' if plain else ' |'))
        for node in nodes(n, plain):
            f.write('      - {name: %s, op: %s, inputs: [%s, %s]}\n' % ((node['name'], node['op']) + tuple(node['inputs']))
                    if plain else '      %s\n' % node)


def main():
    print('%-28s %10s %9s %9s %9s %9s' % ('reading', 'nodes', 'seconds', 'us/node', 'of goal', 'bytes/node'))
    with tempfile.TemporaryDirectory() as tmp:
        for form, plain in (('yaml', False), ('yaml', True), ('json', False), ('json', True)):
            for n in (10000, 1000000):
                path = os.path.join(tmp, 'read.' + form)
                write(path, n, form, plain)
                runs = [subprocess.run([READ, path], check=True, stdout=subprocess.PIPE).stdout.split() for _ in range(3)]
                seconds, peak = min(float(r[0]) for r in runs), min(float(r[1]) for r in runs)
                wider = 1 if form == 'yaml' and not plain else WIDER
                us, size = seconds / n * 1e6, peak / n
                print('%-28s %10d %9.4f %9.3f %8.0f%% %9.0f (%.0f%% of %d)' % (
                    '%s, %s form' % (form.upper(), 'plain' if plain else 'text'), n, seconds, us, 100 * us / LIMIT_US / wider,
                    size, 100 * size / LIMIT_BYTES / wider, LIMIT_BYTES * wider))


if __name__ == '__main__':
    main()
