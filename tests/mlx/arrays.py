"""arrays.py - arrays as bits: between NumPy, MLX and .safetensors files, their values, distances in ulp, and the
values that the comparison with MLX feeds. An array here is a Bits: dtype name, shape, and a flat NumPy array of
unsigned integers (complex64: uint32, two an element, the real part first)."""
import json
import random
import struct

import mlx.core as mx
import numpy as np

SIZE = {'bool': 1, 'uint8': 1, 'uint16': 2, 'uint32': 4, 'uint64': 8, 'int8': 1, 'int16': 2, 'int32': 4, 'int64': 8,
        'float16': 2, 'bfloat16': 2, 'float32': 4, 'complex64': 8}
DTYPES = tuple(SIZE)
FLOATS = {'float16': (5, 10), 'bfloat16': (8, 7), 'float32': (8, 23)}  # bits of exponent and fraction
INTS = DTYPES[1:9]
NAMES = {'bool': 'BOOL', 'uint8': 'U8', 'uint16': 'U16', 'uint32': 'U32', 'uint64': 'U64', 'int8': 'I8',
         'int16': 'I16', 'int32': 'I32', 'int64': 'I64', 'float16': 'F16', 'bfloat16': 'BF16', 'float32': 'F32',
         'complex64': 'C64'}
FROM_NAME = {v: k for k, v in NAMES.items()}


def word(dtype):
    """The NumPy type that holds the bits."""
    return np.dtype('<u%d' % (4 if dtype == 'complex64' else SIZE[dtype]))


class Bits:
    def __init__(self, dtype, shape, data):
        self.dtype, self.shape = dtype, tuple(shape)
        self.data = np.frombuffer(data, word(dtype)) if isinstance(data, (bytes, memoryview)) else data

    def values(self):
        """As numbers: floats as float64, complex64 as complex128, integers as they are."""
        if self.dtype == 'complex64':
            return self.data.view('<f4').astype(np.float64).view(np.complex128)
        if self.dtype == 'bfloat16':
            return (self.data.astype(np.uint32) << 16).view('<f4').astype(np.float64)
        if self.dtype in FLOATS:
            return self.data.view('<f2' if self.dtype == 'float16' else '<f4').astype(np.float64)
        return self.data.view({'bool': np.bool_}.get(self.dtype, self.dtype))

    def mlx(self):
        if self.dtype == 'complex64':
            return mx.array(self.data.view('<c8').reshape(self.shape))
        flat = mx.array(self.data)
        dtype = getattr(mx, 'bool_' if self.dtype == 'bool' else self.dtype)
        return mx.view(flat, dtype).reshape(self.shape) if flat.size else mx.zeros(self.shape, dtype)


def from_mlx(a):
    dtype = str(a.dtype).rsplit('.', 1)[-1]
    if dtype == 'complex64':
        return Bits(dtype, a.shape, np.ascontiguousarray(np.array(a)).reshape(-1).view('<u4'))
    if not a.size:
        return Bits(dtype, a.shape, np.zeros(0, word(dtype)))
    unsigned = {1: mx.uint8, 2: mx.uint16, 4: mx.uint32, 8: mx.uint64}[SIZE[dtype]]
    return Bits(dtype, a.shape, np.array(mx.view(mx.contiguous(a.reshape(-1)), unsigned)))


# ---- files ----
def write(path, arrays):
    header, parts, at = {}, [], 0
    for name, a in arrays.items():
        part = a.data.tobytes()
        header[name] = {'dtype': NAMES[a.dtype], 'shape': list(a.shape), 'data_offsets': [at, at + len(part)]}
        parts.append(part)
        at += len(part)
    text = json.dumps(header).encode()
    text += b' ' * (-len(text) % 8)
    with open(path, 'wb') as f:
        f.write(struct.pack('<Q', len(text)) + text + b''.join(parts))


def read(path):
    with open(path, 'rb') as f:
        raw = f.read()
    n = struct.unpack('<Q', raw[:8])[0]
    out = {}
    for name, e in json.loads(raw[8:8 + n]).items():
        if name != '__metadata__':
            first, end = e['data_offsets']
            out[name] = Bits(FROM_NAME[e['dtype']], e['shape'], raw[8 + n + first:8 + n + end])
    return out


# ---- distances ----
def places(bits, dtype):
    """Number of each float among the values of its dtype, zeros at 0, infinities next to the largest."""
    e, m = FLOATS[dtype]
    magnitude = (bits & ((1 << (e + m)) - 1)).astype(np.int64)
    return np.where(bits >> (e + m), -magnitude, magnitude)


def is_nan(bits, dtype):
    e, m = FLOATS[dtype]
    return (bits & ((1 << (e + m)) - 1)) > (((1 << e) - 1) << m)


def distance(a, b):
    """Of each element of two arrays of one dtype and shape, in ulp: 0 for equal bits or two NaN, inf where one is NaN
    or an infinity, where zeros differ in sign, and where integers differ. complex64: in ulp of the larger part."""
    if a.dtype == 'complex64':
        return complex_distance(a, b)
    out = np.where(a.data == b.data, 0.0, np.inf)
    if a.dtype not in FLOATS:
        return out
    e, m = FLOATS[a.dtype]
    na, nb = is_nan(a.data, a.dtype), is_nan(b.data, b.dtype)
    inf = ((1 << e) - 1) << m
    finite = ((a.data & inf) != inf) & ((b.data & inf) != inf)
    steps = np.abs(places(a.data, a.dtype) - places(b.data, b.dtype)).astype(np.float64)
    out = np.where(finite & (steps > 0), steps, out)
    return np.where(na & nb, 0.0, out)


def complex_distance(a, b):
    x, y = a.data.view('<f4').reshape(-1, 2), b.data.view('<f4').reshape(-1, 2)
    with np.errstate(all='ignore'):
        same = ((a.data == b.data).reshape(-1, 2) | (np.isnan(x) & np.isnan(y))).all(axis=1)
        larger = np.abs(y).max(axis=1)
        steps = np.abs(x.astype(np.float64) - y).max(axis=1) / np.spacing(np.where(np.isfinite(larger), larger, 1))
    finite = np.isfinite(x).all(axis=1) & np.isfinite(y).all(axis=1)
    return np.where(same, 0.0, np.where(finite, steps, np.inf))


# ---- values to feed ----
def round_to(x, dtype):
    """Bits of a Python float in a float dtype, rounded to nearest even (through float32 for bfloat16)."""
    with np.errstate(all='ignore'):
        if dtype == 'float16':
            return int(np.float16(x).view('<u2'))
        bits = int(np.float32(x).view('<u4'))
    if dtype == 'float32':
        return bits
    if bits & 0x7fffffff > 0x7f800000:
        return bits >> 16 | 0x40
    return (bits + 0x7fff + (bits >> 16 & 1)) >> 16


EDGE = (0.0, 1.0, 2.0, 3.0, 0.5, 0.25, 0.1, 1.5, 2.5, 3.141592653589793, 2.718281828459045, 7.0, 10.0, 88.5, 104.0,
        127.0, 128.0, 255.0, 256.0, 1000.0, 32768.0, 65536.0, 2.0**31, 2.0**32, 2.0**63, 2.0**64, 1e-3, 1e-6, 1e-20,
        1e20)


def float_edges(dtype):
    e, m = FLOATS[dtype]
    inf = ((1 << e) - 1) << m
    one = round_to(1.0, dtype)
    magnitudes = [round_to(x, dtype) for x in EDGE]
    magnitudes += [1, (1 << m) - 1, 1 << m, (1 << m) + 1, one - 1, one + 1, inf - 1, inf]
    magnitudes = [x for x in dict.fromkeys(magnitudes) if x <= inf]
    return magnitudes + [x | 1 << (e + m) for x in magnitudes] + [inf | 1 << (m - 1)]


def edges(dtype):
    """Bits (or pairs of bits) of the values that matter in a dtype."""
    if dtype == 'bool':
        return [0, 1]
    if dtype == 'complex64':
        part = [round_to(x, 'float32') for x in (0.0, 1.0, -1.0, 0.5, -2.5, 100.0)]
        part += [0x80000000, 0x7f800000, 0x7fc00000]
        return [(a, b) for a in part for b in part]
    if dtype in FLOATS:
        return float_edges(dtype)
    bits = 8 * SIZE[dtype]
    top = (1 << bits) - 1
    near = [0, 1, 2, 3, 5, 7, 8, 10, 15, 16, 31, 32, 63, 64, 100, 127]
    near += [top - x for x in (0, 1, 2, 4, 6, 7, 9, 99)] + [(1 << (bits - 1)) + x for x in (-1, 0, 1)]
    return sorted(set(x & top for x in near))


def some(rng, dtype, n):
    """n random values: half of any bits, half of ordinary size."""
    if dtype == 'bool':
        return [rng.randrange(2) for _ in range(n)]
    if dtype == 'complex64':
        return list(zip(some(rng, 'float32', n), some(rng, 'float32', n)))
    bits = 8 * SIZE[dtype]
    out = [rng.getrandbits(bits) for _ in range(n // 2)]
    if dtype in FLOATS:
        return out + [round_to(rng.gauss(0, 1) * 2.0 ** rng.randrange(-4, 5), dtype) for _ in range(n - n // 2)]
    small = [rng.randrange(-20, 21) if dtype[0] == 'i' else rng.randrange(41) for _ in range(n - n // 2)]
    return out + [x & ((1 << bits) - 1) for x in small]


def packed(dtype, values):
    if dtype == 'complex64':
        values = [part for pair in values for part in pair]
    return np.array(values, word(dtype))


def column(dtype, seed, n=1500):
    """Values for a unary op: all there are of up to 16 bits, else edges and random ones."""
    if dtype not in ('bool', 'complex64') and SIZE[dtype] <= 2:
        data = np.arange(1 << (8 * SIZE[dtype]), dtype=word(dtype))
    else:
        data = packed(dtype, edges(dtype) + some(random.Random(seed), dtype, n))
    return Bits(dtype, (len(data) // (2 if dtype == 'complex64' else 1),), data)


def columns(dtypes, seed, n=600):
    """Values for two operands: every pair of edges, then random pairs."""
    rng = random.Random(seed)
    a, b = edges(dtypes[0]), edges(dtypes[1])
    left = [x for x in a for _ in b] + some(rng, dtypes[0], n)
    right = [y for _ in a for y in b] + some(rng, dtypes[1], n)
    return [Bits(d, (len(v),), packed(d, v)) for d, v in zip(dtypes, (left, right))]
