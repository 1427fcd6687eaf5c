#!/usr/bin/env python3
"""run_vectors.py - runs tests/vectors through the emitted kernels: for every (op, dtypes) a spec entry, in both subnormal
modes; hostrun --compare holds evaluator, unfused and fused kernels to one another, this script holds the fused ones to
the files. run_vectors.py [--ops a,b] [--dtypes all|float32,int32,…] [--no-compare]. Ends with "N passed, N failed"."""
import argparse
import json
import os
import struct
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
os.environ.setdefault('MSLCFLAGS', '-O0')  # many kernels, little data
ROOT = os.path.dirname(HERE)
BUILD = os.path.join(ROOT, os.environ.get('BUILD', 'build'))
SIZE = {'bool': 1, 'uint8': 1, 'uint16': 2, 'uint32': 4, 'uint64': 8, 'int8': 1, 'int16': 2, 'int32': 4, 'int64': 8,
        'float16': 2, 'bfloat16': 2, 'float32': 4, 'complex64': 8}
ST = {'bool': 'BOOL', 'uint8': 'U8', 'uint16': 'U16', 'uint32': 'U32', 'uint64': 'U64', 'int8': 'I8', 'int16': 'I16',
      'int32': 'I32', 'int64': 'I64', 'float16': 'F16', 'bfloat16': 'BF16', 'float32': 'F32', 'complex64': 'C64'}
FLOAT = {'float16': (5, 10), 'bfloat16': (8, 7), 'float32': (8, 23)}
REDUCTIONS = ('sum', 'prod', 'max', 'min', 'mean', 'var', 'std', 'any', 'all', 'argmax', 'argmin')
SCANS = ('cumsum', 'cumprod', 'cummax', 'cummin', 'logcumsumexp')
ROWS = REDUCTIONS + SCANS  # a case is a row


# ---- patterns and tokens (tests/vectors/README.md) ----
def pattern(text, dtype):
    bits = int(text, 16)
    if dtype == 'complex64':  # 16 digits: the real part first
        return struct.pack('<II', bits >> 32, bits & 0xffffffff)
    return bits.to_bytes(SIZE[dtype], 'little')


def place(bits, dtype, flush):
    """The number of a finite or infinite float among the values of its dtype."""
    e, m = FLOAT[dtype]
    magnitude = bits & ((1 << (e + m)) - 1)
    if flush and dtype != 'float16' and magnitude:
        magnitude = max(magnitude - (1 << m) + 1, 0)
    return -magnitude if bits >> (e + m) else magnitude


def is_nan(bits, dtype):
    e, m = FLOAT[dtype]
    return bits & ((1 << (e + m)) - 1) > ((1 << e) - 1) << m


def matches_one(got, token, dtype, ulp, flush):
    if token == 'any':
        return True
    if token == 'nan':
        return dtype in FLOAT and is_nan(got, dtype)
    want = int(token, 16)
    if got == want:
        return True
    if dtype not in FLOAT or (ulp == 0 and not flush) or is_nan(got, dtype) or is_nan(want, dtype):
        return False
    e, m = FLOAT[dtype]
    if want & ((1 << (e + m)) - 1) == 0 and got & ((1 << (e + m)) - 1) == 0:
        return False  # zeros of different sign
    return abs(place(got, dtype, flush) - place(want, dtype, flush)) <= ulp


def value32(bits):
    return struct.unpack('<f', struct.pack('<I', bits))[0]


def matches_norm(got, want, ulp):
    """complex64 by norm: both parts within ulp times the float32 spacing at the larger part of the wanted value."""
    g = [value32(p) for p in got]
    w = [value32(p) for p in want]
    if any(x != x or abs(x) == float('inf') for x in w):
        return all(a == b or (a != a and b != b) for a, b in zip(g, w))
    biggest = struct.unpack('<I', struct.pack('<f', max(abs(w[0]), abs(w[1]))))[0]
    spacing = value32(biggest + 1) - value32(biggest)
    return all(abs(a - b) <= ulp * spacing for a, b in zip(g, w))


def matches(got, token, dtype, ulp, measure, flush):
    for choice in token.split('|') if ',' not in token else [token]:
        if dtype != 'complex64':
            if matches_one(int.from_bytes(got, 'little'), choice, dtype, ulp, flush):
                return True
            continue
        parts = struct.unpack('<II', got)
        if choice == 'any':
            return True
        if choice == 'nan':
            if any(is_nan(p, 'float32') for p in parts):
                return True
            continue
        if ',' in choice:
            halves = choice.split(',')
        else:
            halves = [choice[:8], choice[8:]]
        if measure == 'norm' and not any(set(h) - set('0123456789abcdef') for h in halves):
            if matches_norm(parts, [int(h, 16) for h in halves], ulp):
                return True
        if all(any(matches_one(p, alt, 'float32', ulp, flush) for alt in h.split('|')) for p, h in zip(parts, halves)):
            return True
    return False


def generated(case):
    """A long reduction's input."""
    if 'gen' not in case:
        return case['in'][0]
    g, dtype, n = case['gen'], case['dtypes'][0], case['length']
    digits, width = SIZE[dtype] * 2, SIZE[dtype] * 8
    out, s = [], g.get('seed', 0)
    for _ in range(n):
        s = (1664525 * s + 1013904223) & 0xffffffff
        u = ((2654435769 * s) & 0xffffffff) >> 16
        if g['kind'] == 'const':
            out.append(g['bits'])
            continue
        if g['kind'] == 'exp':
            m = FLOAT[dtype][1]
            sign = s >> 31 if g['signs'] else 0
            bits = sign << (width - 1) | (g['lo'] + (u * g['n'] >> 16)) << m | ((s >> (31 - m)) & ((1 << m) - 1) & g['mask'])
        elif g['kind'] == 'near':
            bits = int(g['base'], 16) + (u * (g['below'] + g['above']) >> 16) - g['below']
        else:  # int
            bits = (s * 0x9E3779B97F4A7C15) & 0xffffffffffffffff if width == 64 else s >> (32 - width)
            if dtype.startswith('int') and bits >> (width - 1):
                bits -= 1 << width
            bits = (bits >> g.get('shift', 0)) | g.get('or', 0)
            bits &= (1 << width) - 1
        out.append('%0*x' % (digits, bits))
    for at, text in case.get('patch', []):
        out[at] = text
    return out


# ---- specs ----
def attributes(op, attrs):
    words = []
    for key in ('dtype', 'decimals', 'ddof'):
        if key in attrs:
            words.append('%s=%s' % (key, attrs[key]))
    words += ['%s=%s' % (k, str(attrs[k]).lower()) for k in ('reverse', 'inclusive') if k in attrs]
    return words


def statement(op, case, names):
    attrs = case.get('attrs', {})
    if op == 'clip':
        args = [names[0]] + ['%s=%s' % (b, n) for b, n in zip(attrs['bounds'], names[1:])]
    elif op in ROWS:
        args = [names[0], 'axis=1']
    else:
        args = list(names)
    if op == 'nan_to_num':
        args += ['%s=%s' % (k, attrs[k]) for k in ('nan', 'posinf', 'neginf') if k in attrs]
    targets = ', '.join('y%d' % k for k in range(len(case['out'])))
    return '%s = %s(%s)' % (targets, op, ', '.join(args + attributes(op, attrs)))


class Job:
    """One spec entry: cases that share op, dtypes and attributes (reductions: and length), laid side by side."""

    def __init__(self, op, case, name):
        self.op, self.first, self.name, self.cases = op, case, name, [case]

    def columns(self):
        if self.op in ROWS:
            return [[t for c in self.cases for t in generated(c)]]
        return [[t for c in self.cases for t in c['in'][k]] for k in range(len(self.first['dtypes']))]

    def spec(self):
        f, names = self.first, ['x%d' % k for k in range(len(self.first['dtypes']))]
        n = len(self.cases) if self.op in ROWS else sum(len(c['in'][0]) for c in self.cases)
        shape = [n, f['length']] if self.op in ROWS else [n]
        outs = ['y%d' % k for k in range(len(f['out']))]
        return {'inputs': {k: '%s[%s]' % (d, ', '.join(map(str, shape))) for k, d in zip(names, f['dtypes'])},
                'nodes': [statement(self.op, f, names)],
                'outputs': outs if len(outs) > 1 else outs[0]}, shape

    def write_inputs(self, path):
        header, data = {}, b''
        _, shape = self.spec()
        for k, (dtype, column) in enumerate(zip(self.first['dtypes'], self.columns())):
            part = b''.join(pattern(t, dtype) for t in column)
            header['x%d' % k] = {'dtype': ST[dtype], 'shape': shape, 'data_offsets': [len(data), len(data) + len(part)]}
            data += part
        text = json.dumps(header).encode()
        text += b' ' * (-len(text) % 8)
        with open(path, 'wb') as f:
            f.write(struct.pack('<Q', len(text)) + text + data)

    def check(self, path, flush):
        with open(path, 'rb') as f:
            raw = f.read()
        n = struct.unpack('<Q', raw[:8])[0]
        header, data, bad, total = json.loads(raw[8:8 + n]), raw[8 + n:], [], 0
        for k, dtype in enumerate(self.first['out']):
            entry = header['y%d' % k]
            if entry['dtype'] != ST[dtype]:
                return total, ['%s: result has dtype %s, wanted %s' % (self.name, entry['dtype'], dtype)]
            part, size = data[slice(*entry['data_offsets'])], SIZE[dtype]
            at = 0
            for c in self.cases:
                want = (c['want_ftz'] if flush and 'want_ftz' in c else c['want'])[k]
                for i, token in enumerate(want):
                    ulp = c['ulp'][i] if isinstance(c['ulp'], list) else c['ulp']
                    got = part[at * size:(at + 1) * size]
                    total += 1
                    if not matches(got, token, dtype, ulp, c.get('measure'), flush):
                        inputs = ' '.join(c['in'][j][i] for j in range(len(c['in']))) if self.op not in ROWS else \
                            '%s of %d' % (c.get('name', ''), c['length'])
                        bad.append('%s %s %s: %s gives %s, wanted %s (%s ulp)' % (
                            self.op, ','.join(self.first['dtypes']), 'flush' if flush else 'keep', inputs,
                            got[::-1].hex(), token, ulp))
                    at += 1
        return total, bad


def collect(ops, dtypes):
    jobs = {}
    for name in sorted(os.listdir(os.path.join(HERE, 'vectors'))):
        op = name[:-5]
        if not name.endswith('.json') or op == 'promotion' or (ops and op not in ops):
            continue
        with open(os.path.join(HERE, 'vectors', name), encoding='utf-8') as f:
            cases = json.load(f)['cases']
        for c in cases:
            if c.get('error') or (dtypes and set(c['dtypes'] + c['out']) - dtypes):
                continue
            key = (op, tuple(c['dtypes']), json.dumps(c.get('attrs', {}), sort_keys=True), c.get('length'))
            if key in jobs:
                jobs[key].cases.append(c)
            else:
                jobs[key] = Job(op, c, 'v%d_%s' % (len(jobs), op))
    return list(jobs.values())


def write_spec(path, jobs):
    """One function a line, so that an error's line says whose it is."""
    with open(path, 'w', encoding='utf-8') as f:
        f.write('{"nuvec": 1, "name": "vectors", "functions": {\n')
        f.write(',\n'.join('%s: %s' % (json.dumps(j.name), json.dumps(j.spec()[0])) for j in jobs))
        f.write('\n}}\n')


def supported(path, jobs):
    """The jobs that the compiler takes; those that it refuses as not supported yet are counted, any other refusal is
    printed. An error hides those behind it (20 a run), so this goes on until none is left."""
    later = wrong = 0
    while True:
        write_spec(path, jobs)
        r = subprocess.run([os.path.join(BUILD, 'nuvecc'), '-fsyntax-only', '--diagnostics=json', path],
                           stderr=subprocess.PIPE, text=True)
        if r.returncode == 0 or not jobs:
            return jobs, later, wrong
        drop = set()
        for d in json.loads(r.stderr)['diagnostics']:
            if d['severity'] != 'error':
                continue
            job = jobs[d['line'] - 2]
            known = 'not supported yet' in d['text'] or d['text'].startswith("unknown op '%s'" % job.op)
            if job.name not in drop and not known:
                print('FAILED %s: %s' % (job.op, d['text']))
                wrong += 1
            elif job.name not in drop:
                later += 1
            drop.add(job.name)
        jobs = [j for j in jobs if j.name not in drop]


def main():
    p = argparse.ArgumentParser()
    p.add_argument('--ops', default='')
    p.add_argument('--dtypes', default='all')
    p.add_argument('--no-compare', action='store_true')
    a = p.parse_args()
    dtypes = None if a.dtypes == 'all' else set(a.dtypes.split(','))
    jobs = collect(set(filter(None, a.ops.split(','))), dtypes)
    passed = failed = values = 0
    if not jobs:
        print('no vectors')
        print('0 passed, 1 failed')
        return 1
    with tempfile.TemporaryDirectory() as tmp:
        path = os.path.join(tmp, 'vectors.json')
        jobs, later, failed = supported(path, jobs)
        with open(os.path.join(tmp, 'batch'), 'w', encoding='utf-8') as f:
            for j in jobs:
                j.write_inputs(os.path.join(tmp, j.name + '.safetensors'))
                f.write('%s 0 %s %s %s\n' % (j.name, *(os.path.join(tmp, j.name + e + '.safetensors') for e in
                                                       ('', '.keep', '.flush'))))
        command = [os.path.join(BUILD, 'hostrun'), path, '--batch=' + os.path.join(tmp, 'batch')]
        if not a.no_compare:
            command.append('--compare')
        r = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if r.returncode:
            print(r.stdout[-6000:])
            failed += 1
        for j in jobs:
            bad = []
            for mode, flush in (('.keep', False), ('.flush', True)):
                out = os.path.join(tmp, j.name + mode + '.safetensors')
                if not os.path.exists(out):
                    bad.append('%s: no result' % j.name)
                    continue
                n, wrong = j.check(out, flush)
                values += n
                bad += wrong
            if bad:
                failed += 1
                print('\n'.join(bad[:5]))
            else:
                passed += 1
    print('%d values; %d groups of vectors wait for what is not supported yet' % (values, later))
    print('%d passed, %d failed' % (passed, failed))
    return failed != 0


if __name__ == '__main__':
    sys.exit(main())
