#!/usr/bin/env python3
"""compile.py - what the compiler itself costs: of each example, and of the graphs in bench/set, kernels, bytes against the
lower bound, scratch against its own; milliseconds from exec to exit; time and memory for generated chains."""
import json
import os
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BUILD = os.path.join(ROOT, os.environ.get('BUILD', 'build'))
NUVECC = os.path.join(BUILD, 'nuvecc')
SET = os.path.join(ROOT, 'bench', 'set')
EXAMPLES = ('gelu.yaml', 'swiglu.yaml', 'bias_gelu_residual.yaml', 'adam.yaml', 'black_scholes.yaml', 'tonemap.yaml')
EXEC_LIMIT_MS, CHAIN_LIMIT_S, CHAIN_LIMIT_MB = 20, 1, 200


def timed(command, times):
    """Best and median seconds of a command."""
    seconds = []
    for _ in range(times):
        start = time.perf_counter()
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        seconds.append(time.perf_counter() - start)
    seconds.sort()
    return seconds[0], seconds[len(seconds) // 2]


def peak(command):
    """Seconds and peak resident megabytes of one run."""
    pid = os.fork()
    if pid == 0:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        os.execv(command[0], command)
    start = time.perf_counter()
    _, status, usage = os.wait4(pid, 0)
    seconds = time.perf_counter() - start
    if status:
        raise SystemExit('%s failed: %d' % (command, status))
    scale = 1 if sys.platform == 'darwin' else 1024
    return seconds, usage.ru_maxrss * scale / 1e6


def chain(n):
    ops = ('exp(%s)', '%s * 0.5', '%s + x', 'maximum(%s, x)', 'tanh(%s)')
    lines, v = [], 'x'
    for k in range(n):
        lines.append('v%d = %s' % (k, ops[k % len(ops)] % v))
        v = 'v%d' % k
    return json.dumps({'nuvec': 1, 'name': 'chain', 'functions': {'chain': {
        'inputs': {'x': 'float32[4096]'}, 'nodes': lines, 'outputs': v}}})


def main():
    print('%-22s %7s %11s %11s %7s %11s %11s %8s %8s %6s' % (
        'entry', 'kernels', 'bytes moved', 'lower bound', 'ratio', 'scratch', 'its bound', 'best ms', 'median', 'of 20'))
    specs = [os.path.join(ROOT, 'specs', name) for name in EXAMPLES]
    specs += [os.path.join(SET, name) for name in sorted(os.listdir(SET))]
    with tempfile.TemporaryDirectory() as tmp:
        for spec in specs:
            text = subprocess.run([NUVECC, '--stats=json', spec], check=True, stdout=subprocess.PIPE).stdout
            best, median = timed([NUVECC, spec, '-o', tmp], 20)
            for k, e in enumerate(json.loads(text)['entries']):
                if k and spec.startswith(os.path.join(ROOT, 'specs')):
                    break
                print('%-22s %7d %11d %11d %7.3f %11d %11d' % (
                    e['entry'], e['kernels'], e['bytes_moved'], e['bytes_lower_bound'],
                    e['bytes_moved'] / e['bytes_lower_bound'], e['scratch_bytes'], e['scratch_bound']) +
                    (' %8.2f %8.2f %5.0f%%' % (best * 1e3, median * 1e3, 100 * median * 1e3 / EXEC_LIMIT_MS)
                     if k == 0 else ''))
        for n in (1000, 10000, 100000):
            spec = os.path.join(tmp, 'chain.json')
            with open(spec, 'w', encoding='utf-8') as f:
                f.write(chain(n))
            seconds, mb = peak([NUVECC, spec, '-o', os.path.join(tmp, 'out')])
            print('chain of %6d nodes: %.3f s, %.0f MB%s' % (n, seconds, mb, '' if n < 100000 else
                  ' (%.0f%% of %d s, %.0f%% of %d MB)' % (100 * seconds / CHAIN_LIMIT_S, CHAIN_LIMIT_S,
                                                         100 * mb / CHAIN_LIMIT_MB, CHAIN_LIMIT_MB)))


if __name__ == '__main__':
    main()
