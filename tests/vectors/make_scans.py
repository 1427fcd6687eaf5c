#!/usr/bin/env python3
"""Oracle vectors for the scans of nuvec-ops(5): cumsum, cumprod, cummax, cummin, logcumsumexp, in the order that the page
fixes, with make_vectors.py's arithmetic (floats), plain integers, and MPFR (logcumsumexp).

    make_scans.py [--out FOLDER]"""
import argparse
import json
import os

import gmpy2
import numpy as np

import make_vectors as mv

LENGTHS = (0, 1, 2, 7, 129, 300)
FORMS = ((False, True), (True, True), (False, False), (True, False))  # reverse, inclusive


def ordered(op, x, inclusive, identity):
    """The scan of a float32 array: blocks of 128, 32 threads of four; what is missing is skipped."""
    n = len(x)
    blocks = -(-n // 128)
    if not n:
        return x
    v = np.zeros(blocks * 128, np.float32)
    v[:n] = x
    v = v.reshape(blocks, 32, 4)
    own = v.copy()
    for c in range(1, 4):
        own[:, :, c] = op(own[:, :, c - 1], v[:, :, c])
    thread = own[:, :, 3].copy()
    for step in (1, 2, 4, 8, 16):
        upper = np.array([t for t in range(32) if t & step])
        thread[:, upper] = op(thread[:, (upper | 2 * step - 1) - step], thread[:, upper])
    before = ordered(op, thread[:-1, 31], True, identity)[:, None, None] if blocks > 1 else None
    if inclusive:
        r = own
        r[:, 1:] = op(np.repeat(thread[:, :-1, None], 4, 2), r[:, 1:])
        if blocks > 1:
            r[1:] = op(np.broadcast_to(before, r[1:].shape).astype(np.float32), r[1:])
    else:
        r = np.empty_like(own)
        r[:, :, 1:] = own[:, :, :3]
        r[:, 1:, 1:] = op(np.repeat(thread[:, :-1, None], 3, 2), r[:, 1:, 1:])
        r[:, 1:, 0] = thread[:, :-1]
        r[0, 0, 0] = identity
        if blocks > 1:
            first = r[1:, 0, 0].copy()
            first[:] = before[:, 0, 0]
            r[1:] = op(np.broadcast_to(before, r[1:].shape).astype(np.float32), r[1:])
            r[1:, 0, 0] = first
    return r.reshape(-1)[:n]


def floats(name, t, bits, reverse, inclusive):
    """A list of tokens an element."""
    x = mv.as_f32(t, bits)
    identity = {'cumsum': 0.0, 'cumprod': 1.0, 'cummax': -np.inf, 'cummin': np.inf}[name]
    ways = [mv.np_add] if name == 'cumsum' else [mv.np_mul] if name == 'cumprod' else \
        [mv.np_pick(name == 'cummax', f) for f in ((True, False) if mv.FTZ else (False,))]
    rows = []
    for op in ways:
        r = ordered(op, x[::-1] if reverse else x, inclusive, np.float32(identity))
        rows.append([mv.finish(t, v) for v in (r[::-1] if reverse else r)])
    return ['|'.join(mv.uniq(list(c))) for c in zip(*rows)]


def integers(name, t, bits, reverse, inclusive):
    out = 'int32' if t == 'bool' and name == 'cumsum' else t
    x = [b if t == 'bool' else mv.to_int(t, b) for b in bits]
    w = 1 if out == 'bool' else mv.INTS[out]
    low, high = (-1 << (w - 1), (1 << (w - 1)) - 1) if out in mv.SIGNED else (0, (1 << w) - 1)
    join = {'cumsum': lambda a, b: a + b, 'cumprod': lambda a, b: a * b, 'cummax': max, 'cummin': min}[name]
    acc, r = {'cumsum': 0, 'cumprod': 1, 'cummax': low, 'cummin': high}[name], []
    for v in x[::-1] if reverse else x:
        following = join(acc, v)
        r.append(following if inclusive else acc)
        acc = following
    r = r[::-1] if reverse else r
    return ['%0*x' % (mv.WIDTH[out] // 4, v & ((1 << mv.WIDTH[out]) - 1)) for v in r]


def logs(t, bits, reverse, inclusive):
    """logcumsumexp: exact but for 200 bits, rounded once."""
    gmpy2.get_context().precision = 200
    acc, r = gmpy2.mpfr('-inf'), []
    x = [gmpy2.mpfr(float(v)) for v in mv.as_f32(t, bits)]
    for v in x[::-1] if reverse else x:
        high, low = max(acc, v), min(acc, v)
        if gmpy2.is_nan(acc) or gmpy2.is_nan(v):
            following = gmpy2.mpfr('nan')
        else:
            following = high if gmpy2.is_infinite(high) or gmpy2.is_infinite(low) else \
                high + gmpy2.log1p(gmpy2.exp(low - high))
        r.append(following if inclusive else acc)
        acc = following
    out = []
    for v in r[::-1] if reverse else r:
        if gmpy2.is_nan(v):
            out.append('nan')
        elif gmpy2.is_infinite(v):
            out.append(mv.hexbits(t, mv.inf_bits(t) | (mv.sign_bit(t) if v < 0 else 0)))
        else:
            out.append(mv.put(t, mv.fin(gmpy2.mpq(v))))
    return out


def case(name, t, label, n, bits, form, tokens, out, ulp=0):
    c = {'dtypes': [t], 'out': [out], 'attrs': {'reverse': form[0], 'inclusive': form[1]}, 'name': label, 'length': n,
         'in': [[mv.hexbits(t, b) for b in bits]], 'want': [tokens[0]]}
    if tokens[1] != tokens[0]:
        c['want_ftz'] = [tokens[1]]
    c['mode'], c['ulp'] = 'keep', ulp
    return c


def scans(name):
    base = {'cumsum': 'sum', 'cumprod': 'prod', 'cummax': 'max', 'cummin': 'min'}[name]
    cases = []
    for turn, t in enumerate(('float16', 'bfloat16', 'float32', 'bool', 'uint8', 'int8', 'uint16', 'int16', 'uint32', 'int32',
                               'uint64', 'int64')):
        for n in LENGTHS + ((700, 1200) if t == 'float32' else ()):
            form = FORMS[(turn + n) % 4]  # one for all cases of a length: they share a kernel
            seen = set()
            for label, gen, patch in mv.variants(base, t, n):
                if label in seen or (n >= 300 and len(seen) > 1) or (n == 0 and seen):
                    continue
                seen.add(label)
                bits = mv.generate(t, n, gen, patch)
                tokens = []
                for mv.FTZ in (False, True):
                    tokens.append((floats if t in mv.FLOATS else integers)(name, t, bits, *form))
                mv.FTZ = False
                out = 'int32' if t == 'bool' and name == 'cumsum' else t
                cases.append(case(name, t, label, n, bits, form, tokens, out))
    if name == 'cumsum':  # complex64: part by part
        for n, form in zip((1, 5, 129, 300), FORMS):
            bits = mv.randoms('complex64', mv.rng_for('complex scan', str(n)), n)
            tokens = []
            for mv.FTZ in (False, True):
                re, im = ([floats(name, 'float32', [mv.parts(b)[k] for b in bits], *form) for k in (0, 1)])
                tokens.append(['%s,%s' % p for p in zip(re, im)])
            mv.FTZ = False
            cases.append(case(name, 'complex64', 'finite', n, bits, form, tokens, 'complex64'))
    return cases


def logarithms():
    cases = []
    for turn, t in enumerate(mv.FLOATS):
        _, eb, mb = mv.FLOATS[t]
        bias, full, sign, inf = (1 << (eb - 1)) - 1, (1 << mb) - 1, mv.sign_bit(t), mv.inf_bits(t)
        for n in LENGTHS:
            rng = mv.rng_for('logcumsumexp', t, str(n))
            for label, places in (('positive', ()), ('-inf', (inf | sign,) * 3), ('inf', (inf,)), ('nan', (mv.nan_bits(t),))):
                if n < 2 and label != 'positive':
                    continue
                gen = {'kind': 'exp', 'seed': rng.getrandbits(32), 'lo': bias - 1, 'n': 4, 'signs': 0, 'mask': full}
                patch = [[rng.randrange(n), mv.hexbits(t, b)] for b in places]
                bits = mv.generate(t, n, gen, patch)
                form = FORMS[(turn + n) % 4]
                tokens = logs(t, bits, *form)
                cases.append(case('logcumsumexp', t, label, n, bits, form, (tokens, tokens), t, 12 if t == 'float32' else 1))
    return cases


def main():
    p = argparse.ArgumentParser()
    p.add_argument('--out', default=os.path.dirname(os.path.abspath(__file__)))
    a = p.parse_args()
    mv.SEED = '1'
    np.seterr(all='ignore')
    for name in ('cumsum', 'cumprod', 'cummax', 'cummin', 'logcumsumexp'):
        cases = logarithms() if name == 'logcumsumexp' else scans(name)
        with open(os.path.join(a.out, name + '.json'), 'w', encoding='ascii', newline='\n') as f:
            head = json.dumps({'op': name, 'format': 1, 'seed': '1'}, separators=(',', ':'))[:-1]
            f.write(head + ',"cases":[\n' + ',\n'.join(json.dumps(c, separators=(',', ':')) for c in cases) + '\n]}\n')


if __name__ == '__main__':
    main()
