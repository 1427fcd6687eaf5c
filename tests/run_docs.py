#!/usr/bin/env python3
"""run_docs.py - runs what the documents show: every `nuvecc …` line of README.md and of the manuals' literal blocks, in a
copy of specs/; every whole spec in a block is compiled; every option of --help stands in nuvecc(1) and the reverse;
the manuals are clean under mandoc. Ends with "N passed, N failed"."""
import os
import re
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
BUILD = os.path.join(ROOT, os.environ.get('BUILD', 'build'))
passed = failed = 0


def result(ok, text):
    global passed, failed
    if ok:
        passed += 1
    else:
        failed += 1
        print('FAILED ' + text)


def read(name):
    with open(os.path.join(ROOT, name), encoding='utf-8') as f:
        return f.read()


def markdown_blocks(text):
    return re.findall(r'^```[a-z]*\n(.*?)^```', text, re.M | re.S)


def manual_blocks(text):
    blocks = re.findall(r'^\.Bd -literal.*?\n(.*?)^\.Ed', text, re.M | re.S)
    return [b.replace('\\e', '\\').replace('\\-', '-').replace('\\&', '') for b in blocks]


def run_commands(where, block, env, cwd):
    """nuvecc's lines of a block, as a shell runs them; lines of other tools are left alone."""
    for line in block.splitlines():
        line = line.strip()
        line = line[2:] if line.startswith('$ ') else line
        if not line.startswith('nuvecc '):
            continue
        r = subprocess.run(line, shell=True, cwd=cwd, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        result(r.returncode == 0, '%s: %s\n%s' % (where, line, r.stdout[:1000]))


def run_spec(where, block, env, cwd):
    if not re.match(r'\s*(#.*\n)*nuvec: 1', block) and not re.match(r'\s*{\s*"nuvec": 1', block):
        return
    kind = 'json' if block.lstrip().startswith('{') else 'yaml'
    r = subprocess.run(['nuvecc', '--format=' + kind, '--prefix=example', '--emit-metal', '-'], input=block, cwd=cwd, env=env,
                       stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    result(r.returncode == 0, '%s: a spec that does not compile:\n%s\n%s' % (where, r.stdout[:1500], block[:400]))


def options(env):
    text = subprocess.run(['nuvecc', '--help'], env=env, stdout=subprocess.PIPE, text=True).stdout
    ours = set(re.findall(r'(?<![\w-])(--?[A-Za-z][\w-]*)', '\n'.join(l[:26] for l in text.splitlines() if l.startswith('  '))))
    manual = read('man/nuvecc.1')
    listed = set()
    for line in re.findall(r'^\.It (Fl .*)$', manual, re.M):
        listed |= {'-' + f for f in re.findall(r'Fl (-?[\w-]+)', line)}
    result(ours == listed, 'options of --help and of nuvecc(1) differ: %s' % sorted(ours ^ listed))


def main():
    with tempfile.TemporaryDirectory() as tmp:
        shutil.copytree(os.path.join(ROOT, 'specs'), os.path.join(tmp, 'specs'))
        env = dict(os.environ, PATH=BUILD + os.pathsep + os.environ['PATH'])
        manuals = sorted(f for f in os.listdir(os.path.join(ROOT, 'man')))
        for name in ['README.md', 'HACKING.md'] + ['man/' + m for m in manuals]:
            text = read(name)
            for block in (markdown_blocks if name.endswith('.md') else manual_blocks)(text):
                run_commands(name, block, env, tmp)
                run_spec(name, block, env, tmp)
        options(env)
        page = subprocess.run([os.path.join(BUILD, 'ops_page')], stdout=subprocess.PIPE, text=True).stdout
        result(page == read('man/nuvec-ops.5'), 'man/nuvec-ops.5 is stale: make man/nuvec-ops.5')
        for m in manuals:
            r = subprocess.run(['mandoc', '-T', 'lint', '-W', 'warning', os.path.join(ROOT, 'man', m)], stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT, text=True)
            result(r.returncode == 0 and not r.stdout.strip(), 'mandoc: %s' % r.stdout[:1000])
    print('%d passed, %d failed' % (passed, failed))
    return failed != 0


if __name__ == '__main__':
    sys.exit(main())
