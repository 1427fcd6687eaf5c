#!/usr/bin/env python3
"""run_examples.py - the examples of specs/: values against double-precision Python, all three ways compared bit by bit in
both subnormal modes, one kernel each, bytes moved at the lower bound (which hostrun holds against the bed's own count).
Ends with "N passed, N failed"."""
import json
import math
import os
import random
import struct
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
BUILD = os.path.join(ROOT, os.environ.get('BUILD', 'build'))


def f32(x):
    return struct.unpack('<f', struct.pack('<f', x))[0]


def cdf(x):
    return 0.5 * math.erfc(-x / math.sqrt(2))


def gelu(i):
    return {'y': [x * cdf(x) for x in i['x']]}


def swiglu(i):
    return {'y': [g / (1 + math.exp(-g)) * u for g, u in zip(i['gate'], i['up'])]}


def bias_gelu_residual(i):
    d = len(i['bias'])
    h = [x + i['bias'][k % d] for k, x in enumerate(i['x'])]
    return {'y': [x * cdf(x) + r for x, r in zip(h, i['residual'])]}


def adam(i):
    lr, b1, b2, eps, (c1,), (c2,) = 0.001, 0.9, 0.999, 1e-8, i['c1'], i['c2']
    m = [b1 * m + (1 - b1) * g for m, g in zip(i['m'], i['g'])]
    v = [b2 * v + (1 - b2) * g * g for v, g in zip(i['v'], i['g'])]
    p = [p - lr * m * c1 / (math.sqrt(v * c2) + eps) for p, m, v in zip(i['p'], m, v)]
    return {'p': p, 'm': m, 'v': v}


def black_scholes(i):
    (rate,), call, put = i['rate'], [], []
    for s, k, t, vol in zip(i['spot'], i['strike'], i['years'], i['volatility']):
        width = vol * math.sqrt(t)
        d1 = (math.log(s / k) + (rate + vol * vol / 2) * t) / width
        d2, discounted = d1 - width, k * math.exp(-rate * t)
        call.append(s * cdf(d1) - discounted * cdf(d2))
        put.append(discounted * cdf(-d2) - s * cdf(-d1))
    return {'call': call, 'put': put}


def tonemap(i):
    (exposure,), y = i['exposure'], []
    for x in i['rgb']:
        x *= 2 ** exposure
        c = min(max(x * (2.51 * x + 0.03) / (x * (2.43 * x + 0.59) + 0.14), 0), 1)
        y.append(12.92 * c if c <= 0.0031308 else 1.055 * c ** (1 / 2.4) - 0.055)
    return {'y': y}


def rows(values, n):
    return [values[k:k + n] for k in range(0, len(values), n)]


def softmax(i):
    y = []
    for x in rows(i['x'], 4096):
        top = max(x)
        e = [math.exp(v - top) for v in x]
        total = sum(e)
        y += [v / total for v in e]
    return {'y': y}


def layer_norm(i):
    y, means, rstds, n = [], [], [], len(i['scale'])
    for x in rows(i['x'], n):
        mean = sum(x) / n
        rstd = 1 / math.sqrt(sum((v - mean) ** 2 for v in x) / n + 1e-5)
        y += [(v - mean) * rstd * g + b for v, g, b in zip(x, i['scale'], i['shift'])]
        means.append(mean)
        rstds.append(rstd)
    return {'y': y, 'mean': means, 'rstd': rstds}


def rms_norm(i):
    h, y, n = [x + r for x, r in zip(i['x'], i['r'])], [], len(i['scale'])
    for x in rows(h, n):
        r = 1 / math.sqrt(sum(v * v for v in x) / n + 1e-6)
        y += [v * r * g for v, g in zip(x, i['scale'])]
    return {'h': h, 'y': y}


# file, entry, reference, range of each input, absolute tolerance (float32 rounding of values of this size)
EXAMPLES = [
    ('gelu.yaml', 'small', gelu, {'x': (-6, 6)}, 2e-6),
    ('swiglu.yaml', 'swiglu', swiglu, {'gate': (-8, 8), 'up': (-3, 3)}, 6e-6),
    ('bias_gelu_residual.yaml', 'bias_gelu_residual', bias_gelu_residual,
     {'x': (-4, 4), 'bias': (-1, 1), 'residual': (-2, 2)}, 4e-6),
    ('adam.yaml', 'adam', adam,
     {'p': (-1, 1), 'g': (-1, 1), 'm': (-1, 1), 'v': (0.01, 1), 'c1': (1, 2), 'c2': (1, 9)}, 1e-6),
    ('adam.json', 'adam_step', adam,
     {'p': (-1, 1), 'g': (-1, 1), 'm': (-1, 1), 'v': (0.01, 1), 'c1': (1, 2), 'c2': (1, 9)}, 1e-6),
    ('black_scholes.yaml', 'black_scholes', black_scholes,
     {'spot': (50, 150), 'strike': (50, 150), 'years': (0.1, 2), 'volatility': (0.1, 0.6), 'rate': (0.01, 0.05)}, 2e-4),
    ('tonemap.yaml', 'tonemap', tonemap, {'rgb': (0, 4), 'exposure': (-1, 2)}, 4e-6),
    ('softmax.yaml', 'softmax', softmax, {'x': (-8, 8)}, 1e-6),
    ('layer_norm.yaml', 'layer_norm', layer_norm, {'x': (-3, 5), 'scale': (-2, 2), 'shift': (-1, 1)}, 4e-6),
    ('rms_norm.yaml', 'rms_norm', rms_norm, {'x': (-3, 3), 'r': (-3, 3), 'scale': (-2, 2)}, 4e-6),
]


def write(path, arrays):
    header, data = {}, b''
    for name, (shape, values) in arrays.items():
        part = struct.pack('<%df' % len(values), *values)
        header[name] = {'dtype': 'F32', 'shape': shape, 'data_offsets': [len(data), len(data) + len(part)]}
        data += part
    text = json.dumps(header).encode()
    text += b' ' * (-len(text) % 8)
    with open(path, 'wb') as f:
        f.write(struct.pack('<Q', len(text)) + text + data)


def read(path):
    with open(path, 'rb') as f:
        raw = f.read()
    n = struct.unpack('<Q', raw[:8])[0]
    out = {}
    for name, h in json.loads(raw[8:8 + n]).items():
        part = raw[8 + n + h['data_offsets'][0]:8 + n + h['data_offsets'][1]]
        out[name] = struct.unpack('<%df' % (len(part) // 4), part)
    return out


def inputs_of(spec, entry):
    """Shapes of an entry's inputs, from the manifest."""
    with tempfile.TemporaryDirectory() as tmp:
        subprocess.run([os.path.join(BUILD, 'nuvecc'), spec, '--entry=' + entry, '--prefix=m', '-o', tmp], check=True)
        with open(os.path.join(tmp, 'm.nuvec.json'), encoding='utf-8') as f:
            manifest = json.load(f)
    return {i['name']: i['shape'] for i in manifest['entries'][0]['signatures'][0]['inputs']}


def run(file, entry, reference, ranges, tolerance):
    spec, rng, bad = os.path.join(ROOT, 'specs', file), random.Random(file), []
    stats = subprocess.run([os.path.join(BUILD, 'nuvecc'), '--stats=json', '--entry=' + entry, spec], stdout=subprocess.PIPE,
                           check=True).stdout
    e = json.loads(stats)['entries'][0]
    if e['kernels'] != 1 or e['launches'] != 1 or e['bytes_moved'] != e['bytes_lower_bound']:
        bad.append('%(kernels)d kernels, %(launches)d launches, %(bytes_moved)d bytes, bound %(bytes_lower_bound)d' % e)
    arrays = {}
    for name, shape in inputs_of(spec, entry).items():
        low, high = ranges[name]
        arrays[name] = (shape, [f32(rng.uniform(low, high)) for _ in range(math.prod(shape))])
    with tempfile.TemporaryDirectory() as tmp:
        source, result = os.path.join(tmp, 'in.safetensors'), os.path.join(tmp, 'out.safetensors')
        write(source, arrays)
        r = subprocess.run([os.path.join(BUILD, 'hostrun'), spec, '--entry=' + entry, '--inputs=' + source,
                            '--outputs=' + result, '--compare'], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if r.returncode:
            return bad + [r.stdout[-2000:]]
        if 'touched %d bytes, --stats claims %d\n' % (e['bytes_moved'], e['bytes_moved']) not in r.stdout:
            bad.append('the bed counted other bytes: ' + r.stdout)
        got = read(result)
    for name, values in reference({k: v for k, (_, v) in arrays.items()}).items():
        if len(values) != len(got[name]):
            bad.append('%s has %d elements, wanted %d' % (name, len(got[name]), len(values)))
            continue
        worst = max(abs(a - b) if a == a else math.inf for a, b in zip(got[name], values))
        print('%s: %s: largest difference %.3g' % (file, name, worst))
        if not worst <= tolerance:
            bad.append('%s is off by %g, allowed %g' % (name, worst, tolerance))
    return bad


def main():
    passed = failed = 0
    for example in EXAMPLES:
        bad = run(*example)
        passed, failed = passed + (not bad), failed + bool(bad)
        if bad:
            print('FAILED %s: %s' % (example[0], '\n  '.join(bad)))
    listed = {e[0] for e in EXAMPLES} | {'composites.yaml', 'nuvec.schema.json'}
    for name in sorted(os.listdir(os.path.join(ROOT, 'specs'))):
        if name.endswith(('.yaml', '.json')) and name not in listed:
            failed += 1
            print('FAILED specs/%s is not tested' % name)
    print('%d passed, %d failed' % (passed, failed))
    return failed != 0


if __name__ == '__main__':
    sys.exit(main())
