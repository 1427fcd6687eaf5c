#!/usr/bin/env python3
"""make_moves.py - writes moves.json: what views, creation, movement, indexing and some reductions give, computed by NumPy (MLX's formula where it
says so). One case a line: statements in the text form, inputs and wanted outputs with dtype, shape and flat values. Floats
are multiples of 1/8, so that their decimals are exact. Needs Python 3 with NumPy; run_moves.py needs neither."""
import json
import os
import warnings

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
cases = []


def array(shape, dtype='float32'):
    """Distinct values, where the dtype has room for them."""
    n = int(np.prod(shape))
    if dtype == 'bool':
        return (np.arange(n) * 7 % 5 < 2).reshape(shape)
    values = np.arange(n) - (n // 3 if dtype[0] != 'u' else 0)
    return (values / 8 if dtype[:5] == 'float' else values).astype(dtype).reshape(shape)


def packed(a):
    a = np.asarray(a)
    return [a.dtype.name, list(a.shape), [
        str(v) if str(v) in ('inf', '-inf', 'nan') or a.dtype.kind in 'iu' and abs(v) > 2**53 else v
        for v in a.reshape(-1).tolist()]]


def case(text, want, **inputs):
    """text: the expression; want: an array, or a list of them for a text that gives a list."""
    many = isinstance(want, (list, tuple))
    names = ['out%d' % k for k in range(len(want))] if many else ['out']
    cases.append({'nodes': ['%s = %s' % (', '.join(names) if len(names) > 1 or not many else 'l', text)]
                  + (['out0 = l[0]'] if many and len(names) == 1 else []),
                  'inputs': {k: packed(v) for k, v in inputs.items()},
                  'outputs': {n: packed(v) for n, v in zip(names, want if many else [want])}})


def bit_views():
    """view between sizes: NumPy's, on a machine that has the lower bytes first."""
    kinds = ('bool', 'uint8', 'int8', 'uint16', 'int16', 'float16', 'uint32', 'int32', 'float32', 'uint64', 'int64')
    for a in kinds:
        for b in kinds:
            if np.dtype(a).itemsize == np.dtype(b).itemsize or 'bool' in (a, b) and 'float' in a + b:
                continue
            x = array((3, 8), b if 'float' in b else a).view(a)  # finite numbers of few digits
            case('view(x, %s)' % b, x.view('uint8') != 0 if b == 'bool' else x.view(b), x=x)
    x = array((2, 3, 4), 'uint16')
    case('view(x, uint64)', x.view('uint64'), x=x)
    case('view(x[:, ::-1], int32)', np.ascontiguousarray(x[:, ::-1]).view('int32'), x=x)
    case('view(x, uint8)', np.zeros((3, 0), 'uint8'), x=array((3, 0), 'int32'))
    case('view(x, float32)', array((4,)), x=array((4,)).view('uint8'))


def views():
    x = array((2, 3, 4))
    case('flatten(x)', x.reshape(-1), x=x)
    case('flatten(x, 1)', x.reshape(2, 12), x=x)
    case('flatten(x, 0, 1)', x.reshape(6, 4), x=x)
    case('flatten(x, start_axis=-2, end_axis=-1)', x.reshape(2, 12), x=x)
    case('flatten(x, 1, 1)', x, x=x)
    case('flatten(x)', array(()).reshape(1), x=array(()))
    case('flatten(x)', array((0,)), x=array((3, 0)))
    case('unflatten(x, 2, [2, -1])', x.reshape(2, 3, 2, 2), x=x)
    case('unflatten(x, axis=-2, shape=[3, 1])', x.reshape(2, 3, 1, 4), x=x)
    case('unflatten(x, 0, [2])', x, x=x)
    for a in range(3):
        for b in (-3, -1, 1):
            case('moveaxis(x, %d, %d)' % (a, b), np.moveaxis(x, a, b), x=x)
            case('swapaxes(x, %d, %d)' % (a, b), np.swapaxes(x, a, b), x=x)
    for d in ('bool', 'uint8', 'int64', 'float16', 'float32'):
        y = array((3, 5), d)
        case('flip(x)', np.flip(y), x=y)
        case('flip(x, 0)', np.flip(y, 0), x=y)
        case('flip(x, axis=[-1])', np.flip(y, -1), x=y)
    case('flip(x, [0, 2])', np.flip(x, (0, 2)), x=x)
    case('flip(x)', array(()), x=array(()))
    case('flip(x)', array((0, 2)), x=array((0, 2)))


def no_axes():
    """Over no axes a reduction is the identity: subnormals stay, in flush mode too."""
    x = (np.arange(12).astype('float32') * np.float32(2.0 ** -149)).reshape(3, 4)
    for op in ('sum', 'max', 'mean'):
        case('%s(x, axis=[])' % op, x, x=x)
    case('sum(x, axis=[])', array((3,), 'uint8').astype('uint32'), x=array((3,), 'uint8'))


def arange(start, stop, step, dtype):
    """MLX's formula: start + i * (second - start), each in the dtype."""
    n = max(int(np.ceil((stop - start) / step)), 0)
    first, second = (np.array(v).astype(dtype) for v in (start, start + step))
    return np.arange(n).astype(dtype) * (second - first) + first


def linspace(start, stop, num, dtype='float32', endpoint=True):
    f = np.float32
    if num == 1:
        return np.array([start]).astype(dtype)
    t = np.arange(num).astype(f) / f(max(num - endpoint, 1))
    return ((f(1) - t) * f(start) + t * f(stop)).astype(dtype)


def creation():
    case('zeros([2, 3])', np.zeros((2, 3), 'float32'))
    case('zeros(4, int16)', np.zeros(4, 'int16'))
    case('zeros([], bool)', np.zeros((), 'bool'))
    case('zeros([0, 3])', np.zeros((0, 3), 'float32'))
    for d in ('bool', 'uint8', 'int64', 'float16', 'float32'):
        case('ones([3, 3], dtype=%s)' % d, np.ones((3, 3), d))
        case('full([2, 5], 1, %s)' % d, np.full((2, 5), 1, d))
        x = array((2, 3), d)
        case('zeros_like(x)', np.zeros_like(x), x=x)
        case('ones_like(x)', np.ones_like(x), x=x)
        case('full_like(x, true)', np.full_like(x, True), x=x)
        case('tril(x)', np.tril(x), x=x)
        case('eye(3, 4, 1, %s)' % d, np.eye(3, 4, 1, d))
        case('tri(4, 3, -1, %s)' % d, np.tri(4, 3, -1, d))
    x = array((3, 4))
    for k in (0, 1, -1, 3, -9, 9):
        case('tril(x, %d)' % k, np.tril(x, k), x=x)
        case('triu(x, k=%d)' % k, np.triu(x, k), x=x)
        case('eye(4, k=%d)' % k, np.eye(4, k=k, dtype='float32'))
        case('tri(4, 3, k=%d)' % k, np.tri(4, 3, k, 'float32'))
    case('full([2, 2], 3)', np.full((2, 2), 3, 'int32'))
    case('full([9], 2.5)', np.full(9, 2.5, 'float32'))
    case('full(3, 2.5, float16)', np.full(3, 2.5, 'float16'))
    x = array((3, 1), 'int16')
    case('full([2, 3, 4], x)', np.full((2, 3, 4), x, 'int16'), x=x)
    case('full([3, 1], x, float32)', x.astype('float32'), x=x)
    case('full_like(y, x, int32)', np.full((2, 3, 4), x, 'int32'), x=x, y=array((2, 3, 4)))
    case('full_like(y, 7)', np.full((2, 3), 7, 'float32'), y=array((2, 3)))
    case('eye(3)', np.eye(3, dtype='float32'))
    case('eye(0)', np.eye(0, dtype='float32'))
    case('identity(4, int32)', np.identity(4, 'int32'))
    case('identity(1)', np.identity(1, 'float32'))
    case('tri(3)', np.tri(3, dtype='float32'))
    x = array((2, 3, 5))
    case('tril(x)', np.tril(x), x=x)
    case('triu(x)', np.triu(x), x=x)
    case('tril(x) + triu(x, 1)', x, x=x)
    for a in ((0, 10, 1), (3, 10, 2), (10, 3, -3), (-5, 5, 4), (5, 5, 1), (5, 2, 1), (0, 1, 5)):
        case('arange(%d, %d, %d)' % a, arange(*a, 'int32'))
        for d in ('int64', 'int8', 'float32', 'float16'):
            case('arange(%d, %d, step=%d, dtype=%s)' % (*a, d), arange(*a, d))
    case('arange(7)', arange(0, 7, 1, 'int32'))
    case('arange(0)', arange(0, 0, 1, 'int32'))
    case('arange(2.5)', arange(0, 2.5, 1, 'float32'))
    case('arange(stop=3)', arange(0, 3, 1, 'int32'))
    case('arange(6, dtype=uint8)', arange(0, 6, 1, 'uint8'))
    case('arange(0, 1, 0.125)', arange(0, 1, 0.125, 'float32'))
    case('arange(0, 1, 0.1)', arange(0, 1, 0.1, 'float32'))
    case('arange(1.5, -1, -0.25, float16)', arange(1.5, -1, -0.25, 'float16'))
    case('arange(0.5, 3, 0.5, int32)', arange(0.5, 3, 0.5, 'int32'))
    case('arange(3000000000, 3000000005)', arange(3000000000, 3000000005, 1, 'int64'))
    case('arange(2147483640, 2147483650, 3)', arange(2147483640, 2147483650, 3, 'int64'))
    for a in ((0, 1, 5), (-1, 1, 7), (2, -3, 11), (0, 10, 50), (1, 1, 3), (5, 9, 1), (0, 1, 0), (0, 3, 2)):
        case('linspace(%d, %d, %d)' % a, linspace(*a))
    case('linspace(0, 1)', linspace(0, 1, 50))
    case('linspace(0.25, 7, num=9, dtype=int32)', linspace(0.25, 7, 9, 'int32'))
    case('linspace(0, 1, 6, dtype=float16)', linspace(0, 1, 6, 'float16'))
    for n in (5, 1, 0):
        case('linspace(-1, 1, %d, false)' % n, linspace(-1, 1, n, endpoint=False))
    for d in ('int8', 'float16', 'bool'):
        x = array((2, 3))
        case('zeros_like(x, %s)' % d, np.zeros((2, 3), d), x=x)
        case('ones_like(x, dtype=%s)' % d, np.ones((2, 3), d), x=x)
    y = array((4, 6))
    case('sum(where(expand_dims(arange(4), 1) > arange(6), y, 0), axis=1)',
         np.where(np.arange(4)[:, None] > np.arange(6), y, np.float32(0)).sum(1, dtype='float32'), y=y)
    case('sum(arange(3000))', np.arange(3000).sum(dtype='int32'))
    case('sum(arange(100) * astype(y, int32), keepdims=true)', (np.arange(100) * 3).sum(dtype='int32').reshape(1),
         y=np.full((1, 1, 100), 3, 'int8').reshape(100))
    case('transpose(reshape(arange(24), [2, 3, 4]), [2, 0, 1])', np.arange(24, dtype='int32').reshape(2, 3, 4).transpose(2, 0, 1))
    case('flip(arange(9)) + arange(9)', np.full(9, 8, 'int32'))
    case('sum(x, axis=1) + arange(5)', array((5, 40), 'int32').sum(1, dtype='int32') + np.arange(5, dtype='int32'),
         x=array((5, 40), 'int32'))


def movement():
    x, y, z = array((2, 3)), array((2, 4)) + 100, array((2, 0))
    case('concatenate([x, y], 1)', np.concatenate([x, y], 1), x=x, y=y)
    case('concatenate([x, z, y, x], axis=-1)', np.concatenate([x, z, y, x], -1), x=x, y=y, z=z)
    case('concatenate([x, x * 2])', np.concatenate([x, x * 2]), x=x)
    case('concatenate([x, y], None)', np.concatenate([x, y], None), x=x, y=y)
    case('concatenate([z, z])', np.concatenate([z, z]), z=z)
    case('concatenate([x])', x, x=x)
    i8, u8 = array((3,), 'int8'), array((2,), 'uint8')
    case('concatenate([x, y])', np.concatenate([i8, u8]), x=i8, y=u8)
    many = [array((k % 3 + 1, 2)) + k for k in range(20)]
    case('concatenate([%s])' % ', '.join('x%d' % k for k in range(20)), np.concatenate(many),
         **{'x%d' % k: v for k, v in enumerate(many)})
    case('concatenate([x, y], 1)[:, 2:5] + 1', np.concatenate([x, y], 1)[:, 2:5] + np.float32(1), x=x, y=y)
    case('sum(concatenate([x, y], 1), axis=1)', np.concatenate([x, y], 1).sum(1, dtype='float32'), x=x, y=y)
    for a in (0, 1, -1):
        case('stack([x, x + 1, x], %d)' % a, np.stack([x, x + 1, x], a), x=x)
    case('stack([x])', np.stack([x]), x=x)
    case('stack([z, z], 1)', np.stack([z, z], 1), z=z)
    w = array((6, 4))
    case('split(x, 3)', np.split(w, 3), x=w)
    case('split(x, [1, 3], axis=1)', np.split(w, [1, 3], 1), x=w)
    case('split(x, [2, -1, 9])', np.split(w, [2, -1, 9]), x=w)
    case('split(x, 1)', [w], x=w)
    for d in ('bool', 'int16', 'float32'):
        v = array((3, 4), d)
        case('pad(x, 2)', np.pad(v, 2), x=v)
        case('pad(x, [1, 3], "edge")', np.pad(v, (1, 3), 'edge'), x=v)
    case('pad(x, [[0, 1], [2, 0]], constant_values=7)', np.pad(w, ((0, 1), (2, 0)), constant_values=7), x=w)
    case('pad(x, [[1, 0], [0, 0]], "constant", -0.5)', np.pad(w, ((1, 0), (0, 0)), constant_values=-0.5), x=w)
    case('pad(x, 0)', w, x=w)
    case('pad(x, 1, constant_values=3)', np.full((4, 2), 3, 'float32'), x=z)
    case('sum(pad(x, 1, "edge"), axis=0)', np.pad(w, 1, 'edge').sum(0, dtype='float32'), x=w)
    for a in (0, 1, -1):
        case('repeat(x, 3, %d)' % a, np.repeat(w, 3, a), x=w)
        case('roll(x, 2, %d)' % a, np.roll(w, 2, a), x=w)
        case('roll(x, -7, axis=%d)' % a, np.roll(w, -7, a), x=w)
    case('repeat(x, 2)', np.repeat(w, 2), x=w)
    case('repeat(x, 0)', np.repeat(w, 0), x=w)
    case('roll(x, 5)', np.roll(w, 5), x=w)
    case('roll(x, [1, 2], [0, 1])', np.roll(w, (1, 2), (0, 1)), x=w)
    case('roll(x, 1, [0, 1])', np.roll(w, 1, (0, 1)), x=w)
    case('roll(x, 1)', z, x=z)
    case('tile(x, 2)', np.tile(w, 2), x=w)
    case('tile(x, [2, 3])', np.tile(w, (2, 3)), x=w)
    case('tile(x, [2, 1, 3])', np.tile(w, (2, 1, 3)), x=w)
    case('tile(x, [0, 1])', np.tile(w, (0, 1)), x=w)
    case('tile(x, [3])', np.tile(array(()), 3), x=array(()))
    a, b, c = array((2,)), array((3,)), array((4,))
    case('meshgrid(x, y)', np.meshgrid(a, b), x=a, y=b)
    case('meshgrid(x, y, z, indexing="ij")', np.meshgrid(a, b, c, indexing='ij'), x=a, y=b, z=c)
    case('meshgrid(x, y, z, sparse=true)', np.meshgrid(a, b, c, sparse=True), x=a, y=b, z=c)
    t = array((3, 4, 5))
    for k in (0, 1, -1, 2, -3, 9):
        case('diagonal(x, %d)' % k, np.diagonal(w, k), x=w)
        case('diag(x, %d)' % k, np.diag(w, k), x=w)
        case('trace(x, %d)' % k, np.array(np.trace(w, k), 'float32'), x=w)
        case('diag(x, k=%d)' % min(k, 3), np.diag(c, min(k, 3)), x=c)
    case('diagonal(x, 1, 2, 0)', np.diagonal(t, 1, 2, 0), x=t)
    case('diagonal(x, axis1=-1, axis2=1)', np.diagonal(t, 0, -1, 1), x=t)
    case('trace(x, dtype=int32)', np.trace(t.astype('int32')).astype('int32'), x=t)


def inside(i, n):
    """An index counted from the end where it is negative, and whether it is one of n elements."""
    i = np.asarray(i).astype(object)
    i = np.where(i < 0, i + n, i)
    good = ((i >= 0) & (i < n)).astype(bool)
    return np.where(good, i, 0).astype('int64'), good


def taken(x, i, axis=None):
    """numpy.take; 0 where the index is outside."""
    x, axis = (x.reshape(-1), 0) if axis is None else (x, axis % x.ndim)
    at, good = inside(i, x.shape[axis])
    if not x.size:
        return np.zeros(x.shape[:axis] + at.shape + x.shape[axis + 1:], x.dtype)
    return np.where(good.reshape(good.shape + (1,) * (x.ndim - axis - 1)), np.take(x, at, axis), x.dtype.type(0))


def taken_along(x, i, axis):
    axis %= x.ndim
    shape = np.broadcast_shapes(*((s[:axis] + (1,) + s[axis + 1:]) for s in (x.shape, i.shape)))
    x = np.broadcast_to(x, shape[:axis] + (x.shape[axis],) + shape[axis + 1:])
    i = np.broadcast_to(i, shape[:axis] + (i.shape[axis],) + shape[axis + 1:])
    at, good = inside(i, x.shape[axis])
    return np.where(good, np.take_along_axis(x, at, axis), x.dtype.type(0))


def gathered(x, indices, axes, sizes=None):
    """Element by element, as the manual says it."""
    lead = np.broadcast_shapes(*(np.shape(i) for i in indices))
    sizes = [1 if k in axes else d for k, d in enumerate(x.shape)] if sizes is None else sizes
    out = np.zeros(lead + tuple(sizes), x.dtype)
    indices = [np.broadcast_to(i, lead).astype(object) for i in indices]
    for place in np.ndindex(*out.shape):
        at = list(place[len(lead):])
        for i, axis in zip(indices, axes):
            first = i[place[:len(lead)]]
            at[axis] += first + x.shape[axis] if first < 0 else first
        if all(0 <= a < d for a, d in zip(at, x.shape)):
            out[place] = x[tuple(at)]
    return out


def reads():
    i32 = np.array([[3, 0, -1], [-5, 4, 99]], 'int32')
    far = np.array([2**40, -2**40, -2, 1, -2**63, 2**63 - 1, 2**32 + 1, 2**31], 'int64')
    x = array((4, 5, 3))
    for d in ('bool', 'uint8', 'int64', 'float16', 'float32'):
        v = array((4, 8), d)
        case('take(x, i, 0)', taken(v, i32, 0), x=v, i=i32)
        case('take(x, i, axis=1)', taken(v, i32, 1), x=v, i=i32)
        case('x[i]', taken(v, i32, 0), x=v, i=i32)
    for a in (0, 1, 2, -1, -2, None):
        text = 'take(x, i%s)' % ('' if a is None else ', %d' % a)
        case(text, taken(x, i32, a), x=x, i=i32)
        case(text, taken(x, far, a), x=x, i=far)
        case(text, taken(x, i32[:0], a), x=x, i=i32[:0])
        case(text, taken(x, i32[0, 2], a), x=x, i=i32[0, 2])
    for d, v in (('uint8', [3, 0, 200]), ('int8', [3, -4, -128]), ('uint16', [1, 65535]), ('int16', [-1, 32767]),
                 ('uint32', [2, 2**32 - 1, 2**31]), ('uint64', [0, 2**64 - 1, 2**63, 2**32])):
        i = np.array(v, d)
        case('take(x, i, 1) + 1', taken(x, i, 1) + np.float32(1), x=x, i=i)
        case('sum(take(x, i, 1), axis=1)', taken(x, i, 1).sum(1, dtype='float32'), x=x, i=i)
    lut, img = array((256,)), array((5, 7), 'uint8') * 9
    case('x[i]', lut[img], x=lut, i=img)
    case('take(x, -2, 1)', x[:, -2], x=x)
    case('take(x, 7, 1)', np.zeros((4, 3), 'float32'), x=x)
    case('take(x, i + 1, 0) * 2', taken(x, i32 + 1, 0) * np.float32(2), x=x, i=i32)
    case('take(x, i % 4)', x.reshape(-1)[i32 % 4], x=x, i=i32)
    case('take(x, clip(i, 0, 3), 0)', np.take(x, np.clip(i32, 0, 3), 0), x=x, i=i32)
    case('take(x, arange(3)[::-1], 1)', x[:, 2::-1], x=x)
    case('take(arange(9) * 2, i)', taken(np.arange(9, dtype='int32') * 2, i32), i=i32)
    case('take(full([6], 7), i)', taken(np.full(6, 7, 'int32'), i32), i=i32)
    case('take(x[::-1, 1:4], i, 1)', taken(x[::-1, 1:4], i32, 1), x=x, i=i32)
    case('take(x[:, ::-2], i, 1)', taken(x[:, ::-2], i32, 1), x=x, i=i32)
    case('take(transpose(x), i, 0)', taken(x.T, i32, 0), x=x, i=i32)
    case('take(pad(x, 1, "edge"), i, 0)', taken(np.pad(x, 1, 'edge'), i32, 0), x=x, i=i32)
    case('take(reshape(transpose(x), [5, 12]), i, 1)', taken(x.T.reshape(5, 12), i32, 1), x=x, i=i32)
    case('take(broadcast_to(x, [2, 4, 5, 3]), i, 0)', taken(np.broadcast_to(x, (2, 4, 5, 3)), i32, 0), x=x, i=i32)
    j = np.array([4, 0, -1, 9], 'int32')
    case('take(take(x, i, 0), j, 2)', taken(taken(x, i32[0], 0), j, 2), x=x, i=i32[0], j=j)
    case('take(x, take(j, i), 0)', taken(x, taken(j, i32), 0), x=x, i=i32, j=j)
    case('x[x]', taken(j, j, 0), x=j)
    case('take(x * 1, x * 1)', taken(j, j), x=j)
    wide = array((6, 64))
    case('take(x, i, 0)', taken(wide, j, 0), x=wide, i=j)
    case('take(x, i, 0) + y', taken(wide, j, 0) + wide[:4], x=wide, y=wide[:4], i=j)
    case('sum(take(x, i, 0), axis=1)', taken(wide, j, 0).sum(1, dtype='float32'), x=wide, i=j)
    case('sum(take(x, i, 0), axis=0)', taken(wide, j, 0).sum(0, dtype='float32'), x=wide, i=j)
    case('sum(x, axis=1) + take(y, i)', wide[:4].sum(1, dtype='float32') + taken(j.astype('float32'), j), x=wide[:4],
         y=j.astype('float32'), i=j)
    case('take(x, i, 0) * expand_dims(astype(i, float32), 1)', taken(wide, j, 0) * j.astype('float32')[:, None], x=wide, i=j)
    case('take(x, i, 0)', taken(array((6, 32), 'bool'), j, 0), x=array((6, 32), 'bool'), i=j)
    case('take(x, i, 0)', np.zeros((2, 3, 4), 'float32'), x=np.zeros((0, 4), 'float32'), i=i32)
    case('take(x, i, 1)', np.zeros((0, 2, 3), 'float32'), x=np.zeros((0, 4), 'float32'), i=i32)
    case('take(x, i)', np.zeros((2, 3), 'float32'), x=np.zeros((0, 4), 'float32'), i=i32)

    y = array((4, 5))
    i = np.array([[1, -1], [4, 0], [9, -5], [-6, 2]], 'int32')
    case('take_along_axis(x, i, 1)', taken_along(y, i, 1), x=y, i=i)
    case('take_along_axis(x, i, axis=-1)', taken_along(y, i.astype('uint64') % 7, 1), x=y, i=i.astype('uint64') % 7)
    case('take_along_axis(x, i, 0)', taken_along(y, i[:, :1], 0), x=y, i=i[:, :1])
    case('take_along_axis(x, i, 1)', taken_along(y[:1], i, 1), x=y[:1], i=i)
    case('take_along_axis(x, i, 1)', taken_along(y, i[:0, :1].reshape(1, 0), 1), x=y, i=i[:0, :1].reshape(1, 0))
    case('take_along_axis(x, i, None)', taken_along(y.reshape(-1), i[:, 0], 0), x=y, i=i[:, 0])
    case('take_along_axis(x, i)', taken_along(y, i, 1), x=y, i=i)

    a, b = np.array([0, 3, -1, 7], 'int32'), np.array([[2], [-5], [4]], 'int64')
    for axes in ([0, 1], [1, 0], [0, 2], [2, 1]):
        case('gather(x, [i, j], %s)' % axes, gathered(x, [a, b], axes), x=x, i=a, j=b)
        sizes = [2, 3, 1]
        case('gather(x, [i, j], %s, slice_sizes=%s)' % (axes, sizes), gathered(x, [a, b], axes, sizes), x=x, i=a, j=b)
    case('gather(x, [i], [1])', gathered(x, [a], [1]), x=x, i=a)
    case('gather(x, i, 1)', gathered(x, [a], [1]), x=x, i=a)
    case('gather(x, [i], [1], [4, 2, 3])', gathered(x, [a], [1], [4, 2, 3]), x=x, i=a)
    case('gather(x, [i], [0], [2, 2, 2])', gathered(x, [a], [0], [2, 2, 2]), x=x, i=a)
    case('gather(x, [i, 1, j], [0, 1, 2])', gathered(x, [a, np.int32(1), b], [0, 1, 2]), x=x, i=a, j=b)
    case('gather(x, [i, j], [0, 1])', gathered(x, [a[:0], b], [0, 1]), x=x, i=a[:0], j=b)
    case('gather(x, [i % 4, j % 5], [0, 1])', gathered(x, [a % 4, b % 5], [0, 1]), x=x, i=a, j=b)
    s = np.array([2, -1], 'int32')
    case('dynamic_slice(x, i, [0, 1], [2, 3, 3])', gathered(x, list(s), [0, 1], [2, 3, 3]), x=x, i=s)
    case('dynamic_slice(x, i, axes=[2, 0], slice_size=[2, 5, 1])', gathered(x, list(s), [2, 0], [2, 5, 1]), x=x, i=s)
    case('dynamic_slice(x, i, [1], [4, 2, 3])', gathered(x, [np.int64(3)], [1], [4, 2, 3]), x=x, i=np.array([3], 'int64'))
    case('dynamic_slice(x, i, 1, [1, 2, 2])', gathered(x, [np.uint8(4)], [1], [1, 2, 2]), x=x, i=np.array(4, 'uint8'))
    case('dynamic_slice(x, i, [0], [0, 2, 2])', np.zeros((0, 2, 2), 'float32'), x=x, i=s[:1])


def replaced(x, u, **parts):
    """x with a slice of it replaced."""
    out = x.copy()
    names = ('start', 'stop', 'step')
    n = max(len(v) for v in parts.values())
    out[tuple(slice(*((parts.get(k, []) + [None] * n)[a] for k in names)) for a in range(n))] = u
    return out


def block_replaced(x, u, start, axes):
    """x with u's block at start replaced, element by element."""
    out, u = x.copy(), np.broadcast_to(u, x.shape[:x.ndim - u.ndim] + u.shape).astype(x.dtype)
    first = [0] * x.ndim
    for a, s in zip(axes, start):
        first[a] = s + x.shape[a] if s < 0 else s
    for place in np.ndindex(*u.shape):
        at = tuple(p + f for p, f in zip(place, first))
        if all(0 <= a < d for a, d in zip(at, x.shape)):
            out[at] = u[place]
    return out


def strided(x, shape, strides, offset=0):
    at = np.full(shape, offset, 'int64')
    for k, (n, s) in enumerate(zip(shape, strides)):
        at += (np.arange(n) * s).reshape([n if i == k else 1 for i in range(len(shape))])
    return x.reshape(-1)[at]


def updates():
    x = array((6, 5))
    for d in ('bool', 'uint8', 'float16', 'float32'):
        v, u = array((6, 5), d), array((2, 5), d)[::-1]
        case('slice_update(x, y, [1], [3])', replaced(v, u, start=[1], stop=[3]), x=v, y=u)
    u = array((3, 2)) + 50
    case('slice_update(x, y, [0, 1], [6, 5], [2, 3])', replaced(x, u, start=[0, 1], stop=[6, 5], step=[2, 3]), x=x, y=u)
    case('slice_update(x, y, start=[5, None], stop=[None, 2], step=[-2])',
         replaced(x, u, start=[5, None], stop=[None, 2], step=[-2, None]), x=x, y=u)
    case('slice_update(x, y, start=[4], stop=[1], step=[-1])', replaced(x, u[:, :1], start=[4], stop=[1], step=[-1]), x=x,
         y=u[:, :1])
    case('slice_update(x, y[0], start=[2, 1], stop=[4, 3])', replaced(x, u[0], start=[2, 1], stop=[4, 3]), x=x, y=u)
    case('slice_update(x, 7, start=[-2])', replaced(x, 7, start=[-2]), x=x)
    case('slice_update(x, y, start=[4], stop=[2])', x, x=x, y=np.zeros((0, 5), 'float32'))
    case('slice_update(x, y)', x[::-1], x=x, y=x[::-1])
    case('slice_update(x, y, step=[-1, -1])', x, x=x, y=x[::-1, ::-1])
    case('slice_update(x, y, [0], [1])', replaced(x.astype('int32'), np.arange(5), start=[0], stop=[1]),
         x=x.astype('int32'), y=np.arange(5, dtype='float32') + np.float32(0.5))
    case('slice_update(x, x[0:2] * 2, [4]) + 1', replaced(x, x[:2] * 2, start=[4]) + np.float32(1), x=x)
    case('sum(slice_update(x, y, [0, 1], [6, 5], [2, 3]), axis=1)',
         replaced(x, u, start=[0, 1], stop=[6, 5], step=[2, 3]).sum(1, dtype='float32'), x=x, y=u)
    z = array((6,))
    two = z * np.float32(2)
    case('slice_update(zeros([6]), y, [5], None, [-1])', two, y=two[::-1])
    t = array((2, 8, 4), 'float16')
    k = array((2, 1, 4), 'float16') + np.float16(3)
    for s in (0, 3, 7, -1, -8, 8, -9):
        case('dynamic_slice_update(x, y, i, axes=[1])', block_replaced(t, k, [s], [1]), x=t, y=k, i=np.array([s], 'int32'))
    u = array((3, 2)) + 50
    for s in ([0, 0], [2, 3], [4, 4], [-1, -2], [9, 0]):
        case('dynamic_slice_update(x, y, i, [0, 1])', block_replaced(x, u, s, [0, 1]), x=x, y=u, i=np.array(s, 'int64'))
        case('dynamic_slice_update(x, y, i, [1, 0])', block_replaced(x, u, s, [1, 0]), x=x, y=u, i=np.array(s, 'int8'))
    case('dynamic_slice_update(x, y, i, 0)', block_replaced(x, u, [1], [0]), x=x, y=u, i=np.array(1, 'uint8'))
    case('dynamic_slice_update(x, y, i, [1])', block_replaced(x, u[0], [1], [1]), x=x, y=u[0], i=np.array([1], 'int32'))
    case('dynamic_slice_update(x, 3.5, i, [1])', block_replaced(x, np.full((6, 5), 3.5, 'float32'), [2], [1]), x=x,
         i=np.array([2], 'int32'))
    case('dynamic_slice_update(x, y, i, [0])', x, x=x, y=u[:0], i=np.array([2], 'int32'))
    y = array((4, 6))
    for s, b, o in (((3, 4), (2, 1), 0), ((2, 2, 3), (6, 1, 2), 5), ((4, 6), (1, 4), 0), ((6,), (-1,), 5), ((5,), (0,), 23),
                    ((0, 3), (100, 1), 0), ((), (), 7), ((24,), (1,), 0)):
        case('as_strided(x, %s, %s, %d)' % (list(s), list(b), o), strided(y, s, b, o), x=y)
    case('as_strided(x)', y, x=y)
    case('as_strided(transpose(x), offset=0)', y.T, x=y)
    case('as_strided(x, strides=[1, 4])', strided(y, (4, 6), (1, 4)), x=y)
    case('sum(as_strided(x * 2, [5, 4], [1, 1]), axis=1)', (strided(y, (5, 4), (1, 1)) * 2).sum(1, dtype='float32'), x=y)
    case('contiguous(transpose(x))', y.T, x=y)


def numbers(shape, every):
    """Multiples of 1/2 whose sums, means of 8 and squares are exact, NaN in every so many places."""
    n = int(np.prod(shape))
    x = ((np.arange(n) * 5 % 16) / 2 - 3).astype('float32')
    if every:
        x[::every] = np.nan
    return x.reshape(shape)


def reductions():
    x, y, gone = numbers((3, 8), 0), numbers((4, 9), 9), numbers((2, 3), 1)
    for name in ('nansum', 'nanprod', 'nanmax', 'nanmin', 'nanmean'):
        f = getattr(np, name)
        for d in ('float32', 'float16'):
            a = y.astype(d)
            case(name + '(x)', f(a.astype('float32')).astype(d), x=a)
            case(name + '(x, axis=1)', f(a.astype('float32'), axis=1).astype(d), x=a)
            case(name + '(x, [0], true)', f(a.astype('float32'), axis=0, keepdims=True).astype(d), x=a)
        case(name + '(x, axis=-1)', f(gone, axis=-1), x=gone)
        case(name + '(x, axis=0)', f(x, axis=0), x=x)
        case(name + '(x, axis=[])', x, x=x)
    i = array((3, 8), 'int32')
    for name in ('nansum', 'nanmax', 'nanmin'):
        case(name + '(x, axis=1)', getattr(np, name)(i, axis=1).astype('int32'), x=i)
    case('nanmean(x, axis=1)', np.mean(i, axis=1, dtype='float32'), x=i)
    case('nansum(x, axis=0)', np.zeros(3, 'float32'), x=array((0, 3)))
    case('nanmean(x, axis=0)', np.full(3, np.nan, 'float32'), x=array((0, 3)))
    for name in ('nanvar', 'nanstd'):
        f = getattr(np, name)
        case(name + '(x, axis=1)', f(y, axis=1), x=y)
        case(name + '(x, axis=1, keepdims=true, ddof=1)', f(y, axis=1, keepdims=True, ddof=1), x=y)
        case(name + '(x, axis=1)', f(gone, axis=1), x=gone)
        case(name + '(x, axis=[1], ddof=8)', f(y, axis=1, ddof=8), x=y)
    for name in ('argmax', 'argmin'):
        f = getattr(np, name)
        for d in ('bool', 'uint8', 'int16', 'uint32', 'int64', 'float16', 'float32'):
            a = numbers((5, 12), 0).astype(d) if d[0] != 'u' else (numbers((5, 12), 0) + 3).astype(d)
            case(name + '(x)', f(a).astype('uint32'), x=a)
            case(name + '(x, axis=0)', f(a, axis=0).astype('uint32'), x=a)
            case(name + '(x, axis=-1, keepdims=true)', f(a, axis=-1, keepdims=True).astype('uint32'), x=a)
        case(name + '(x, axis=1)', f(y, axis=1).astype('uint32'), x=y)
        case(name + '(x, keepdims=true)', f(x, keepdims=True).astype('uint32'), x=x)
        case(name + '(x)', np.uint32(0), x=array(()))
        case(name + '(x, axis=1)', np.zeros(0, 'uint32'), x=array((0, 4)))
    for name in ('var', 'std'):
        f = getattr(np, name)
        for at, more in (('axis=1', {'axis': 1}), ('axis=-1, keepdims=true', {'axis': -1, 'keepdims': True})):
            case('%s(x, %s)' % (name, at), f(x, **more), x=x)
        case(name + '(x, axis=0)', np.full(2, np.nan, 'float32'), x=array((0, 2)))
        case(name + '(x, axis=1, ddof=1)', np.full(3, np.nan, 'float32'), x=array((3, 1)))


JOINS = {'scatter': lambda a, u: u, 'scatter_add': lambda a, u: a | u if a.dtype == bool else a + u,
         'scatter_prod': lambda a, u: a & u if a.dtype == bool else a * u, 'scatter_max': np.maximum, 'scatter_min': np.minimum}


def scattered(op, x, indices, u, axes=(0,)):
    """Element by element, in order, as the manual says it."""
    out = x.copy()
    lead = np.broadcast_shapes(*(np.shape(i) for i in indices))
    rest = tuple(d for k, d in enumerate(x.shape) if k not in axes)
    indices = [np.broadcast_to(i, lead).astype(object) for i in indices]
    u = np.broadcast_to(np.asarray(u).astype(x.dtype), lead + rest)
    for place in np.ndindex(*lead):
        at = [slice(None)] * x.ndim
        good = True
        for i, axis in zip(indices, axes):
            a = i[place] + (x.shape[axis] if i[place] < 0 else 0)
            good = good and 0 <= a < x.shape[axis]
            at[axis] = int(a)
        if good:
            at = tuple(at)
            with np.errstate(all='ignore'):
                out[at] = JOINS[op](out[at], u[place]).astype(x.dtype)
    return out


def put_along(x, i, u, axis):
    out = x.copy()
    i = np.broadcast_to(i, x.shape[:axis] + (i.shape[axis],) + x.shape[axis + 1:])
    u = np.broadcast_to(u, i.shape)
    for place in np.ndindex(*i.shape):
        a = int(i[place]) + (x.shape[axis] if i[place] < 0 else 0)
        if 0 <= a < x.shape[axis]:
            out[place[:axis] + (a,) + place[axis + 1:]] = u[place]
    return out


def scatters():
    i = np.array([2, 0, 2, -1, 2, 9, -7, 0], 'int32')
    far = np.array([[2**32, 1], [-2**40, -1]], 'int64')
    for d in ('bool', 'uint8', 'int16', 'int64', 'float16', 'float32'):
        x, u = array((5, 3), d), array((8, 3), d)
        for op in JOINS:
            case('%s(x, i, u)' % op, scattered(op, x, [i], u), x=x, i=i, u=u)
    x = array((5, 3)) + np.float32(0.1)
    big = np.array([[1e8, 1, -1e8, 3.3e-3, 2, 1e-9, 7, -0.0]], 'float32').T
    for op in JOINS:
        case('%s(x, i, u)' % op, scattered(op, x, [i], big), x=x, i=i, u=big)
        case('%s(x, i, u, axis=1)' % op, scattered(op, x, [i], big, (1,)), x=x, i=i, u=big)
        case('%s(x, i, u, -1)' % op, scattered(op, x, [far], 3, (1,)), x=x, i=far, u=np.array(3, 'uint8'))
        case('%s(x, i, 2, 0) * 2' % op, scattered(op, x, [i], 2) * np.float32(2), x=x, i=i)
        case('%s(x, i, u)' % op, scattered(op, x, [i[3]], big[0]), x=x, i=i[3], u=big[0])
        case('%s(x, i, u)' % op, x, x=x, i=i[:0], u=big[:0])
        case('%s(x, i, u)' % op, np.zeros((0, 3), 'float32'), x=np.zeros((0, 3), 'float32'), i=i, u=big)
        case('%s(x, i, u)' % op, np.zeros((5, 0), 'float32'), x=np.zeros((5, 0), 'float32'), i=i, u=big)
    t = array((3, 4, 5))
    a, b = np.array([0, 2, -1, 2, 5], 'int32'), np.array([1, -1, 3, 3, 0], 'int64')
    for op in ('scatter', 'scatter_add', 'scatter_max'):
        for axes, rest in (((0, 1), 5), ((0, 2), 4), ((2, 1), 3), ((1, 2), 3)):
            u = array((5, rest)) + 9
            case('%s(x, [i, j], u, %s)' % (op, list(axes)), scattered(op, t, [a, b], u, axes), x=t, i=a, j=b, u=u)
        case('%s(x, [i, j, 1], 4, [0, 1, 2])' % op, scattered(op, t, [a[:, None], b, np.int32(1)], 4, (0, 1, 2)), x=t,
             i=a[:, None], j=b)
    count = np.bincount(np.array([1, 3, 1, 1, 0, 3]), minlength=7).astype('int32')
    case('scatter_add(zeros([7], int32), x, 1)', count, x=np.array([1, 3, 1, 1, 0, 3], 'uint8'))
    case('scatter_add(x * 2, i + 1, u * 3) + 1', scattered('scatter_add', x * np.float32(2), [i + 1], big * np.float32(3))
         + np.float32(1), x=x, i=i, u=big)
    case('sum(scatter_add(x, i, u), axis=1)', scattered('scatter_add', t[0], [a], 2).sum(1, dtype='float32'), x=t[0], i=a,
         u=np.array(2, 'float32'))
    case('scatter(x, arange(3), u)', t[0][[0, 0, 0, 3]], x=t[0], u=t[0][0])
    case('scatter(x, arange(4)[::-1], x)', t[0][::-1], x=t[0])
    case('scatter_add(transpose(x), i, u)', scattered('scatter_add', t[0].T, [a], t[0].T), x=t[0], i=a, u=t[0].T)
    case('scatter_add(x[::-1], i, u[:, ::2])', scattered('scatter_add', t[0][::-1], [a], array((5, 10))[:, ::2]), x=t[0], i=a,
         u=array((5, 10)))
    case('scatter(x, x, x)', scattered('scatter', a, [a], a), x=a)
    y = array((4, 5))
    k = np.array([[1, -1, 1], [4, 0, 4], [9, -5, 2], [-6, 2, 2]], 'int32')
    v = array((4, 3)) + 70
    case('put_along_axis(x, i, u, 1)', put_along(y, k, v, 1), x=y, i=k, u=v)
    case('put_along_axis(x, i, u, axis=-1)', put_along(y, k[:1], v, 1), x=y, i=k[:1], u=v)
    case('put_along_axis(x, i, 3, axis=0)', put_along(y, k[:, :1], np.float32(3), 0), x=y, i=k[:, :1])
    case('put_along_axis(x, i, u[0])', put_along(y.reshape(-1), k[:, 0], np.float32(8), 0).reshape(4, 5), x=y, i=k[:, 0],
         u=np.array([8], 'float32'))
    case('put_along_axis(x, i, u, 1)', y, x=y, i=k[:, :0], u=v[:, :0])
    case('put_along_axis(x, argx, 0.0, 1) + x', put_along(y, k[:, 1:2], np.float32(0), 1) + y, x=y, argx=k[:, 1:2])


def main():
    bit_views()
    views()
    no_axes()
    creation()
    movement()
    reads()
    updates()
    with np.errstate(all='ignore'), warnings.catch_warnings():
        warnings.simplefilter('ignore')
        reductions()
    scatters()
    with open(os.path.join(HERE, 'moves.json'), 'w', encoding='utf-8') as f:
        f.write('[\n' + ',\n'.join(json.dumps(c, separators=(',', ':')) for c in cases) + '\n]\n')
    print('%d cases' % len(cases))


main()
