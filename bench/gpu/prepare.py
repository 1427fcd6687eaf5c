#!/usr/bin/env python3
"""prepare.py - makes build/gpu for a machine with an NVIDIA GPU: the emitted kernels of each case, fused and unfused, as
cubins, with a tape a small runner can replay (run.cu), and the runner. Needs nvcc, no GPU. prepare.py [--rows N]"""
import argparse
import json
import os
import shutil
import subprocess

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.path.join(ROOT, os.environ.get('BUILD', 'build'))
BED = os.path.join(ROOT, 'tests', 'hostmetal')
OUT = os.path.join(BUILD, 'gpu')
NVCC = shutil.which('nvcc') or '/usr/local/cuda/bin/nvcc'
ARCH = os.environ.get('ARCH', 'sm_90')
SIZE = {'float32': 4, 'float16': 2, 'bfloat16': 2, 'uint32': 4}
D = 4096


def case(inputs, nodes, outputs='y'):
    return {'inputs': inputs, 'nodes': nodes, 'outputs': outputs}


def cases(rows):
    """name -> (spec function, dtype); shapes are [rows, D]."""
    out = {}
    for dtype, short in (('float32', 'f32'), ('float16', 'f16'), ('bfloat16', 'bf16')):
        full, row = '%s[%d, %d]' % (dtype, rows, D), '%s[%d]' % (dtype, D)
        out['copy_' + short] = case({'x': full}, [], 'x'), dtype
        out['gelu_' + short] = case({'x': full}, ['y = x * (1 + erf(x / sqrt(2))) / 2']), dtype
        out['swiglu_' + short] = case({'g': full, 'u': full}, ['y = silu(g) * u']), dtype
        out['bias_gelu_residual_' + short] = case({'x': full, 'b': row, 'r': full}, ['y = gelu(x + b) + r']), dtype
        out['softmax_' + short] = case({'x': full}, ['e = exp(x - max(x, -1, keepdims=true))',
                                                     'y = e / sum(e, -1, keepdims=true)']), dtype
        out['layer_norm_' + short] = case({'x': full, 'g': row, 'b': row}, [
            'c = x - mean(x, -1, keepdims=true)',
            'y = c * rsqrt(mean(square(c), -1, keepdims=true) + 1e-5) * g + b']), dtype
        out['rms_norm_' + short] = case({'x': full, 'g': row}, [
            'y = x * rsqrt(mean(square(x), -1, keepdims=true) + 1e-5) * g']), dtype
        out['row_sum_' + short] = case({'x': full}, ['y = sum(x, -1)']), dtype
        out['column_sum_' + short] = case({'x': full}, ['y = sum(x, 0)']), dtype
        out['sum_all_' + short] = case({'x': full}, ['y = sum(x)']), dtype
        for op in ('max', 'argmax', 'mean', 'var'):
            out['row_%s_%s' % (op, short)] = case({'x': full}, ['y = %s(x, axis=-1)' % op]), dtype
        for axis, name in enumerate(('first', 'middle', 'last')):
            out['box_sum_%s_%s' % (name, short)] = case({'x': '%s[32, 1000, %d]' % (dtype, D)},
                                                        ['y = sum(x, axis=%d)' % axis]), dtype
        out['row_cumsum_' + short] = case({'x': full}, ['y = cumsum(x, -1)']), dtype
        out['column_cumsum_' + short] = case({'x': full}, ['y = cumsum(x, 0)']), dtype
        out['transpose_' + short] = case({'x': full}, ['y = transpose(x)']), dtype
    full = 'float32[%d, %d]' % (rows, D)
    out['adam_f32'] = case({'p': full, 'g': full, 'm': full, 'v': full, 'c1': 'float32', 'c2': 'float32'}, [
        'm2 = 0.9 * m + 0.1 * g', 'v2 = 0.999 * v + 0.001 * square(g)',
        'p2 = p - 0.001 * (m2 * c1) / (sqrt(v2 * c2) + 1e-8)'], {'p': 'p2', 'm': 'm2', 'v': 'v2'}), 'float32'
    return out


def run(*command, **more):
    return subprocess.run(command, check=True, **more)


def build(name, function, dtype, fuse):
    folder = os.path.join(OUT, name, 'fused' if fuse else 'unfused')
    os.makedirs(folder)
    spec, metal = os.path.join(folder, name + '.json'), os.path.join(folder, name + '.metal')
    with open(spec, 'w', encoding='utf-8') as f:
        json.dump({'nuvec': 1, 'name': name, 'functions': {name: function}}, f)
    flags = [] if fuse else ['--no-fuse']
    run(os.path.join(BUILD, 'nuvecc'), spec, '--emit-metal=' + metal, *flags)
    text = run(os.path.join(BUILD, 'nuvecc'), spec, '--stats=json', *flags, stdout=subprocess.PIPE).stdout
    entry = json.loads(text)['entries'][0]
    run(os.path.join(BUILD, 'nuvecc'), spec, '-o', folder, '--prefix=m', *flags)
    with open(os.path.join(folder, 'm.nuvec.json'), encoding='utf-8') as f:
        signature = json.load(f)['entries'][0]['signatures'][0]
    run('python3', '-IS', os.path.join(BED, 'mslc.py'), metal, '--cuda', os.path.join(folder, 'k.cu'))
    run(NVCC, '-std=c++17', '-arch=' + ARCH, '-O3', '-fmad=false', '-prec-div=true', '-prec-sqrt=true', '-ftz=false',
        '-I' + os.path.join(BED, 'msl'), '-cubin', '-o', os.path.join(folder, 'k.cubin'), os.path.join(folder, 'k.cu'))

    def bytes_of(port):
        n = SIZE[port['dtype']]
        for d in port['shape']:
            n *= d
        return n
    with open(os.path.join(folder, 'tape'), 'w', encoding='utf-8') as f:
        f.write('%d %d %d %s\n' % (entry['bytes_lower_bound'], entry['bytes_moved'], entry['scratch_bytes'], dtype))
        for kind in ('inputs', 'outputs'):
            f.write('%d %s\n' % (len(signature[kind]), ' '.join(str(bytes_of(p)) for p in signature[kind])))
        f.write('%d\n' % len(entry['per_kernel']))
        for k in entry['per_kernel']:
            bound = ' '.join('%s %d' % (w[0], n) for b in k['bound'] for w, n in b.items())
            f.write('%s %d %d %d %d %d %s\n' % (k['kernel'], *k['grid'], k['group'], len(k['bound']), bound))
    for junk in os.listdir(folder):
        if junk not in ('k.cubin', 'tape', name + '.metal'):
            os.remove(os.path.join(folder, junk))


def main():
    p = argparse.ArgumentParser()
    p.add_argument('--rows', type=int, default=31744)
    p.add_argument('--only', default='')
    a = p.parse_args()
    shutil.rmtree(OUT, ignore_errors=True)
    os.makedirs(OUT)
    stubs = os.path.join(os.path.dirname(os.path.dirname(os.path.realpath(NVCC))), 'lib64', 'stubs')
    run(NVCC, '-std=c++17', '-O2', '-I' + os.path.join(BED, 'cuda'), '-o', os.path.join(OUT, 'run'),
        os.path.join(ROOT, 'bench', 'gpu', 'run.cu'), '-lcuda', '-L' + stubs)
    for name, (function, dtype) in cases(a.rows).items():
        if a.only and not name.startswith(tuple(a.only.split(','))):
            continue
        for fuse in (True, False):
            build(name, function, dtype, fuse)
        print(name, flush=True)


if __name__ == '__main__':
    main()
