#!/usr/bin/env python3
"""graphs.py - what large graphs cost: processor seconds and peak memory a node, from text to written files, for graphs
of 1e3 to 1e6 nodes of several forms. Flat: the worst of 1e4 … 1e6 over the best of them, at most WIDER.
graphs.py [FORM …]: these forms alone; SIZES="1e4 1e5" in the environment: these sizes."""
import os
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
NUVECC = os.path.join(ROOT, os.environ.get('BUILD', 'build'), 'nuvecc')
SIZES = [int(float(s)) for s in os.environ.get("SIZES", "1e3 1e4 1e5 1e6").split()]
LIMIT_S, LIMIT_MB, WIDER = 3, 600, 2  # of the first form at 1e6; of a form from 1e4 on


def elementwise(n):
    """A chain of element-wise ops, each also of the input."""
    ops = ('exp(%s)', '%s * 0.5', '%s + x', 'maximum(%s, x)', 'tanh(%s)')
    v = 'x'
    for k in range(n):
        yield 'v%d = %s' % (k, ops[k % 5] % v)
        v = 'v%d' % k


def mixed(n):
    """Element-wise ops, views and reductions in turn."""
    ops = ('%s * y', 'transpose(%s)', 'exp(%s)', '%s - max(x, axis=0)', 'flip(%s)', 'reshape(%s, [4, 4])', '%s + x',
           'sum(%s, axis=1) + x')
    v = 'x'
    for k in range(n):
        yield 'v%d = %s' % (k, ops[k % 8] % v)
        v = 'v%d' % k


def one_constant(n):
    """All nodes use one constant."""
    v = 'x'
    for k in range(n):
        yield 'v%d = %s + 0.0' % (k, v)
        v = 'v%d' % k


def fan_in(n):
    """A tree of sums whose leaves are slices of one input: n / 2 of them."""
    leaves = n // 2
    for k in range(leaves):
        yield 'a%d = w[%d:%d]' % (k, k, k + 4)
    for k in range(leaves - 1):
        yield 'a%d = a%d + a%d' % (leaves + k, 2 * k, 2 * k + 1)
    yield 'v%d = a%d' % (n - 1, 2 * leaves - 2)


def deep_and_wide(n):
    """Long chains beside each other that meet now and then."""
    wide = 100
    last = ['x'] * wide
    for k in range(n):
        a, b = k % wide, (k * 7 + k // wide) % wide
        yield 'v%d = %s %s %s' % (k, last[a], '+*-'[k % 3], last[b] if k // wide % 10 == 0 else 'y')
        last[a] = 'v%d' % k


def views(n):
    """Views of views, with an op now and then."""
    ops = ('transpose(%s)', '%s[::-1]', 'reshape(%s, [2, 8])', 'reshape(%s, [4, 4])', '%s[:, ::-1]')
    v = 'x'
    for k in range(n):
        yield 'v%d = %s' % (k, '-' + v if k % 50 == 49 else ops[k % 5] % v)
        v = 'v%d' % k


def many_outputs(n):
    """10,000 outputs (a tenth of a smaller graph's nodes), of n nodes."""
    for k in range(n):
        yield 'v%d = %s * %d' % (k, 'x' if k % 100 == 0 else 'v%d' % (k - 1), k % 7)


FORMS = (elementwise, mixed, one_constant, fan_in, deep_and_wide, views, many_outputs)


def write(path, form, n):
    outputs = ['v%d' % (n - 1)]
    if form is many_outputs:
        count = min(10000, n // 10)
        outputs = ['v%d' % (k * (n // count)) for k in range(count)]
    with open(path, 'w', encoding='utf-8') as f:
        f.write('nuvec: 1\nname: g\nfunctions:\n  f:\n    inputs: {x: "float32[4, 4]", y: float32, w: "float32[%d]"}\n'
                '    nodes: |\n' % (n + 8))
        for line in form(n):
            f.write('      %s\n' % line)
        f.write('    outputs: [%s]\n' % ', '.join(outputs))


def cost(command):
    """Processor seconds and peak megabytes of one run."""
    pid = os.fork()
    if pid == 0:
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, 1)
        os.dup2(null, 2)
        os.execv(command[0], command)
    _, status, usage = os.wait4(pid, 0)
    if status:
        subprocess.run(command, check=False)
        raise SystemExit('%s failed: %d' % (' '.join(command), status))
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss * (1 if sys.platform == 'darwin' else 1024) / 1e6


def main():
    print('%-14s %8s %9s %9s %9s %9s' % ('graph', 'nodes', 'cpu s', 'MB', 'us/node', 'B/node'))
    with tempfile.TemporaryDirectory() as tmp:
        for form in FORMS:
            if sys.argv[1:] and form.__name__ not in sys.argv[1:]:
                continue
            seen = []
            for n in SIZES:
                spec = os.path.join(tmp, 'g.yaml')
                write(spec, form, n)
                seconds, mb = cost([NUVECC, spec, '-o', os.path.join(tmp, 'out')])
                print('%-14s %8d %9.3f %9.1f %9.2f %9.0f' % (form.__name__, n, seconds, mb, seconds * 1e6 / n,
                                                              mb * 1e6 / n), flush=True)
                if n >= 10000:
                    seen.append((seconds / n, mb / n))
            widths = [max(s[i] for s in seen) / min(s[i] for s in seen) for i in (0, 1)]
            print('%-14s time within %.2f, memory within %.2f (limit %d)%s' % (
                form.__name__, *widths, WIDER, '; %.0f%% of %d s, %.0f%% of %d MB' % (
                    100 * seconds / LIMIT_S, LIMIT_S, 100 * mb / LIMIT_MB, LIMIT_MB)
                if form is elementwise else ''), flush=True)


if __name__ == '__main__':
    main()
