#!/usr/bin/env python3
"""run_docs.py - runs what the documents show, in a copy of specs/. Ends with "N passed, N failed".

Blocks: fenced in Markdown (.md), `.Bd -literal` in the manuals (mdoc).
  nuvec: 1 … or a part of a spec   is compiled; `# not supported yet` as its first line: it must be refused so;
                                   `# error: WORDS`: it must be refused with these words.
                                   Parts: top keys without `nuvec: 1`; `name:` with a function's keys; lines of inputs;
                                   statements or `- …` nodes, which stand in a function with the inputs of STANDARD.
                                   `y = …  # float32[4, 6]` behind a statement is the type of y, `# int32 3` its value.
  $ command, then what it prints   is run by the shell and compared; a line `...` stands for any lines. `cc` and `xcrun`
                                   are the test bed's (tests/hostmetal). Lines without `$ `: only nuvecc's are run.
  ```yaml NAME, ```c NAME          a file of that name; in the manuals behind a line `.\\" file NAME`.
  C (section 3)                    is built with the stub of specs/bias_gelu_residual.yaml, and run.
Options: --help and nuvecc(1) have the same; generated parts are as their tables say; completion completes; mandoc."""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

from tally import finish, result

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
BUILD = os.path.join(ROOT, os.environ.get('BUILD', 'build'))
STANDARD = '''{x: "float32[4, 6]", y: "float32[4, 6]", v: "float32[6]", k: "int32[4, 6]", c: "bool[4, 6]", s: float32,
      p: {w: "float32[6]", b: "float32[6]"}, layers: {list: 3, of: {w: "float32[6]", b: "float32[6]"}}}'''
TOP = ('types', 'constants', 'functions', 'entries', 'name', 'doc')
IN_FUNCTION = ('doc', 'dtypes', 'dims', 'static', 'inputs', 'nodes', 'outputs')


def read(name):
    with open(os.path.join(ROOT, name), encoding='utf-8') as f:
        return f.read()


def weights(folder):
    """The file of constants that the manual speaks of."""
    head = b'{"enc.w":{"dtype":"F32","shape":[3,3],"data_offsets":[0,36]},"enc.b":{"dtype":"F32","shape":[0],"data_offsets":[36,36]}}'
    with open(os.path.join(folder, 'weights.safetensors'), 'wb') as f:
        f.write(len(head).to_bytes(8, 'little') + head + bytes(36))


def write(path, text):
    with open(path, 'w', encoding='utf-8') as f:
        f.write(text)


def blocks(name, text):
    """(line, info, text) of each block."""
    out = []
    if name.endswith('.md'):
        for m in re.finditer(r'^```([^\n]*)\n(.*?)^```', text, re.M | re.S):
            out.append((text[:m.start()].count('\n') + 1, m.group(1), m.group(2)))
        return out
    for m in re.finditer(r'^(?:\.\\" file (\S+)\n)?\.Bd -literal.*?\n(.*?)^\.Ed', text, re.M | re.S):
        block = m.group(2).replace('\\-', '-').replace('\\&', '').replace('\\e', '\\')
        out.append((text[:m.start()].count('\n') + 1, 'make ' + m.group(1) if m.group(1) else '', block))
    return out


def run(command, cwd, env, stdin=None):
    return subprocess.run(command, shell=isinstance(command, str), cwd=cwd, env=env, input=stdin,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors='replace')


# ---- commands ----

def same(want, got):
    """Do the printed lines agree, '...' standing for any number of them?"""
    pattern = ''.join('(?:.*\n)*?' if line.strip() == '...' else re.escape(line.rstrip()) + '[ \t]*\n' for line in want)
    return re.fullmatch(pattern, ''.join(line + '\n' for line in got)) is not None


def run_console(where, block, env, cwd):
    todo = []
    for line in block.splitlines():
        if line.startswith('$ '):
            todo.append([line[2:], []])
        elif todo and todo[-1][0].endswith('\\'):
            todo[-1][0] = todo[-1][0][:-1] + line
        elif todo:
            todo[-1][1].append(line)
    for command, want in todo:
        r = run(command, cwd, env)
        got = r.stdout.splitlines()
        ok = same(want, got) and (r.returncode == 0 or any('error' in w for w in want))
        result(ok, '%s: $ %s\nstatus %d\n%s\n-- instead of --\n%s' % (
            where, command, r.returncode, '\n'.join(got[:40]), '\n'.join(want)))


def run_commands(where, block, env, cwd):
    """nuvecc's lines of a block, as a shell runs them; lines of other tools are left alone."""
    for line in block.splitlines():
        if line.strip().startswith('nuvecc '):
            r = run(line.strip(), cwd, env)
            result(r.returncode == 0, '%s: %s\n%s' % (where, line, r.stdout[:1000]))


# ---- specs ----

def indent(text, n):
    return ''.join(' ' * n + line if line.strip() else line for line in text.splitlines(True))


STATEMENT = re.compile(r'(?:[A-Za-z_][\w.\[\]]*, )*[A-Za-z_][\w.\[\]]* = ')


def whole(block):
    """The spec that a block is, or is a part of; None if it is none. And the annotated names: {name: comment}."""
    lines = [line for line in block.splitlines() if line.strip() and not line.startswith('#')]
    first = lines[0] if lines else ''
    if first.startswith('nuvec: 1') or re.match(r'\s*{\s*"nuvec": 1', block):
        return block, {}
    if first.split(':')[0] in TOP and ':' in first:
        text = 'nuvec: 1\n' + block
        if 'functions:' not in block:
            text += 'functions:\n  f: {inputs: {x: float32}, outputs: x}\n'
        return text, {}
    second = lines[1].strip() if len(lines) > 1 else ''
    if re.match(r'\w+:$', first) and second.split(':')[0] in IN_FUNCTION:
        return 'nuvec: 1\nfunctions:\n' + indent(block, 2), {}
    if all(re.match(r'\w+: |  ', line) for line in lines) and lines:
        return ('nuvec: 1\nfunctions:\n  f:\n    inputs:\n' + indent(block, 6) + '    outputs: 1\n'
                '  g: {inputs: {x: float32}, outputs: x}\nentries: {g: {}}\n'), {}
    head = 'nuvec: 1\nfunctions:\n  f:\n    inputs: %s\n' % STANDARD
    if first.startswith('- '):
        names = re.findall(r'name: "?([A-Za-z_]\w*)\b', block) or ['x']
        return head + '    nodes:\n' + indent(block, 6) + '    outputs: {y: %s}\n' % names[-1], {}
    if STATEMENT.match(first):
        seen, notes = [], {}
        for line in lines:
            m = STATEMENT.match(line)
            for target in re.findall(r'\w[\w.\[\]]*', m.group().split(' = ')[0]) if m else []:
                target = re.split(r'[.\[]', target)[0]
                if target not in seen and target != '_':
                    seen.append(target)
            note = re.search(r'\s# (\w+(?:\[[\d, ]*\]| -?[\w.+-]+)?)$', line)
            if m and note:
                notes[seen[-1]] = note.group(1)
        return (head + '    nodes: |\n' + indent(block, 6) +
                '    outputs: {%s}\n' % ', '.join('out_%s: %s' % (n, n) for n in seen)), notes
    return None, {}


def types(graph):
    """Output name -> its type, or dtype and value for a constant, from a printed graph."""
    value, out = {}, {}
    for line in graph.splitlines():
        m = re.match(r'(%\d+) = (\w+).* : (\w+)\[([\d, ]*)\](?:  # (\S+))?', line)
        if m:
            value[m.group(1)] = ('%s %s' % (m.group(3), m.group(5)) if m.group(2) == 'const' else
                                 '%s[%s]' % (m.group(3), m.group(4)) if m.group(4) else m.group(3))
        m = re.match(r'output "out_(\w+)" = (%\d+)', line)
        if m:
            out[m.group(1)] = value[m.group(2)]
    return out


def run_spec(where, block, env, cwd):
    mark = re.match(r'# (not supported yet|error: .*)\n', block)
    spec, notes = whole(block[mark.end():] if mark else block)
    if spec is None:
        return mark is not None and result(False, '%s: marked, but no spec:\n%s' % (where, block)) or False
    kind = '--format=json' if spec.lstrip().startswith('{') else '--format=yaml'
    r = run(['nuvecc', kind, '--prefix=example', '--emit-metal', '-'], cwd, env, spec)
    if mark:
        words = mark.group(1)
        words = words[7:] if words.startswith('error: ') else words
        result(r.returncode == 1 and words in r.stdout, '%s: not refused with "%s":\n%s\n%s' % (
            where, words, r.stdout[:1500], spec))
        return True
    result(r.returncode == 0, '%s: a spec that does not compile:\n%s\n%s' % (where, r.stdout[:1500], spec))
    if notes:
        found = types(run(['nuvecc', kind, '--prefix=example', '--emit-graph=traced', '-'], cwd, env, spec).stdout)
        for name, note in notes.items():
            result(found.get(name) == note, '%s: %s is %s, not %s' % (where, name, found.get(name), note))
    return True


# ---- C ----

STUB = 'bias_gelu_residual'


def run_c(where, block, env, cwd):
    """A program, or the middle of a function where `context` is open, built with the stub of STUB and run on the bed."""
    program = block
    if '#include' not in block:
        own = '%s_context *context;' % STUB in block
        program = '#include "%s.h"\n#include <stdio.h>\nint main(void) {\n' % STUB
        if not own:
            program += '%s_context *context;\n{\nif (%s_create(NULL, &context) != NUVEC_OK) return 1;\n' % (STUB, STUB)
        program += block + ('return 0;\n}\n' if own else '}\nreturn %s_destroy(context) != NUVEC_OK;\n}\n' % STUB)
    write(os.path.join(cwd, 'example.c'), program)
    r = run('cc -std=c99 -Wall -Wextra -pedantic -Wno-unused-but-set-variable -Werror example.c %s.c -o example -lobjc'
            ' -framework Metal -framework Foundation -framework CoreGraphics && ./example' % STUB, cwd, env)
    result(r.returncode == 0, '%s: C that does not compile or run:\n%s\n%s' % (where, r.stdout[:1500], program))


# ---- options, generated parts ----

def options(env):
    text = run(['nuvecc', '--help'], ROOT, env).stdout
    ours = set(re.findall(r'(?<![\w-])(--?[A-Za-z][\w-]*)', '\n'.join(l[:26] for l in text.splitlines() if l.startswith('  '))))
    listed = set()
    for line in re.findall(r'^\.It (Fl .*)$', read('man/nuvecc.1'), re.M):
        listed |= {'-' + f for f in re.findall(r'Fl (-?[\w-]+)', line)}
    result(ours == listed, 'options of --help and of nuvecc(1) differ: %s' % sorted(ours ^ listed))
    return ours


def generated(env):
    for command, name in [
            (['ops_page', 'man/nuvec-ops.5', 'specs/composites.yaml'], 'man/nuvec-ops.5'),
            (['opts_page', 'man', 'man/nuvecc.1'], 'man/nuvecc.1')]:
        page = run([os.path.join(BUILD, command[0])] + command[1:], ROOT, env).stdout
        result(page == read(name), '%s is stale: make %s' % (name, name))


def edges(env, cwd):
    """`op(-0, inf) = value` in nuvec-ops(5) is what the evaluator gives, in float32."""
    text = read('man/nuvec-ops.5').replace('\\-', '-')
    number = r'-?(?:[\d.]+|inf|NaN)'
    found = sorted(set(re.findall(r'\b([a-z]\w*)\((%s(?:, %s)?)\) = (-?[\w/]+(?:\.\d+)?)' % (number, number), text)))
    names = {'NaN': 'nan', 'pi/2': '1.5707964', '-pi/2': '-1.5707964', '-0': '-0.0'}
    spec, inputs, want = 'nuvec: 1\nfunctions:\n  f:\n    inputs: {', [], []
    nodes, outputs = '', []
    for k, (op, arguments, value) in enumerate(found):
        operands = []
        for j, a in enumerate(arguments.split(', ')):
            a = names.get(a, a)
            inputs.append(('i%d_%d' % (k, j), '"%s"' % a if a.lstrip('-') in ('inf', 'nan') else a))
            operands.append(inputs[-1][0])
        nodes += '      y%d = %s(%s)\n' % (k, op, ', '.join(operands))
        outputs.append('y%d' % k)
        want.append(float(names.get(value, value)))
    spec += ', '.join(n + ': float32' for n, _ in inputs) + '}\n    nodes: |\n' + nodes
    spec += '    outputs: [%s]\n' % ', '.join(outputs)
    write(os.path.join(cwd, 'edges.yaml'), spec)
    write(os.path.join(cwd, 'edges.json'), '{%s}' % ', '.join('"%s": %s' % i for i in inputs))
    r = run(['nuvecc', 'edges.yaml', '--eval=edges.json', '--eval-output=out.json'], cwd, env)
    result(r.returncode == 0 and len(found) > 20, 'edges of nuvec-ops(5): %s\n%s' % (r.stdout[:1000], spec))
    if r.returncode:
        return
    got = json.loads(read_from(cwd, 'out.json'))
    for k, (op, arguments, value) in enumerate(found):
        g = got[outputs[k]]
        g = g.get('value', g) if isinstance(g, dict) else g
        result(repr(float(g)) == repr(want[k]) or abs(float(g) - want[k]) < 1e-7 * abs(want[k]),
               'nuvec-ops(5): %s(%s) = %s, not %s' % (op, arguments, g, value))


def complete(words, env, cwd):
    """What bash offers for the last word; a word of bash ends at =."""
    script = '. ./completion.bash; COMP_WORDS=(%s); COMP_CWORD=%d; _nuvecc; printf "%%s\\n" "${COMPREPLY[@]}"' % (
        ' '.join("'%s'" % w for w in words), len(words) - 1)
    return [w.strip() for w in run(['bash', '--norc', '-c', script], cwd, env).stdout.splitlines()]


def completion(ours, env, cwd):
    for shell in ('bash', 'zsh'):
        text = run([os.path.join(BUILD, 'opts_page'), shell], ROOT, env).stdout
        write(os.path.join(cwd, 'completion.' + shell), text)
        result(all(o in text for o in ours), 'completion for %s lacks %s' % (shell, [o for o in ours if o not in text]))
        if shutil.which(shell):
            r = run([shell, '-n', 'completion.' + shell], cwd, env)
            result(r.returncode == 0, '%s: %s' % (shell, r.stdout))
    result({o.rstrip('=') for o in complete(['nuvecc', '-'], env, cwd)} == ours, 'not every option is offered for -')
    for words, want in [
            (['nuvecc', '--emit-'], ['--emit-metal', '--emit-c', '--emit-header', '--emit-graph', '--emit-dot']),
            (['nuvecc', '--pre'], ['--prefix=']),
            (['nuvecc', '--color', '=', 'a'], ['auto', 'always']),
            (['nuvecc', '--color', '='], ['auto', 'always', 'never']),
            (['nuvecc', '--color', 'n'], ['never']),
            (['nuvecc', '--emit-graph', '=', 's'], ['simplified']),
            (['nuvecc', '--emit-graph', 'specs/ge'], ['specs/gelu.yaml']),
            (['nuvecc', '-o', 'spe'], ['specs']),
            (['nuvecc', '-MF', 'specs/roc'], ['specs/rocket.ppm']),
            (['nuvecc', 'specs/ro'], ['']),
            (['nuvecc', '-v', 'specs/adam'], ['specs/adam.json', 'specs/adam.yaml'])]:
        got = complete(words, env, cwd)
        result(sorted(got) == sorted(want), 'completion of %s: %s' % (words, got))
    for option, values in re.findall(r"^  1(--[\w-]+)[^)]*\) COMPREPLY=\(\$\(compgen -W \$'(.*?)'",
                                     read_from(cwd, 'completion.bash'), re.M):
        for value in values.split('\\n'):
            r = run(['nuvecc', '%s=%s' % (option, value), 'specs/gelu.yaml' if value != 'json' else 'specs/adam.json'],
                    cwd, env)
            result(r.returncode == 0, '%s=%s is offered, and refused: %s' % (option, value, r.stdout[:300]))


def read_from(cwd, name):
    with open(os.path.join(cwd, name), encoding='utf-8') as f:
        return f.read()


def main():
    only = sys.argv[1:]
    with tempfile.TemporaryDirectory() as tmp:
        bed = os.path.join(HERE, 'hostmetal/bin')
        tools = os.path.join(tmp, 'tools')
        os.mkdir(tools)
        os.symlink(os.path.join(bed, 'hostcc'), os.path.join(tools, 'cc'))
        env = dict(os.environ, LC_ALL='C', HOSTMETAL_LIB=os.path.join(BUILD, 'hostmetal'),
                   PATH=os.pathsep.join([BUILD, tools, bed, os.environ['PATH']]))
        manuals = sorted(os.listdir(os.path.join(ROOT, 'man')))
        guides = sorted('docs/' + f for f in os.listdir(os.path.join(ROOT, 'docs')))
        for name in only or ['README.md', 'HACKING.md'] + guides + ['man/' + m for m in manuals]:
            cwd = os.path.join(tmp, name.replace('/', '_'))
            shutil.copytree(os.path.join(ROOT, 'specs'), os.path.join(cwd, 'specs'))
            weights(cwd)
            if '.3' in name:
                r = run('nuvecc specs/%s.yaml && make -s -f %s.mk && mkdir build && cp %s.metallib build' % (
                    STUB, STUB, STUB), cwd, env)
                result(not r.returncode, 'no stub for %s: %s' % (name, r.stdout))
            for line, info, block in blocks(name, read(name)):
                where = '%s:%d' % (name, line)
                file = re.match(r'(?:yaml|json|c|make) (\S+)', info)
                if file:
                    write(os.path.join(cwd, file.group(1)), block)
                elif block.startswith('$ '):
                    run_console(where, block, env, cwd)
                elif '.3' in name and ';' in block:
                    run_c(where, block, env, cwd)
                else:
                    run_spec(where, block, env, cwd) or run_commands(where, block, env, cwd)
        if not only:
            cwd = os.path.join(tmp, 'completion')
            shutil.copytree(os.path.join(ROOT, 'specs'), os.path.join(cwd, 'specs'))
            completion(options(env), env, cwd)
            generated(env)
            edges(env, cwd)
            for m in manuals:
                r = run(['mandoc', '-T', 'lint', '-W', 'warning', os.path.join(ROOT, 'man', m)], ROOT, env)
                result(r.returncode == 0 and not r.stdout.strip(), 'mandoc: %s' % r.stdout[:1000])
    return finish()


if __name__ == '__main__':
    sys.exit(main())
