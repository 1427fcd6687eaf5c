"""ops.py - the comparison with MLX op by op: for every op of build/oplist the cases to compute, over all dtypes."""
import random

import arrays
import mlx.core as mx
import numpy as np
from arrays import DTYPES, FLOATS
from compare import LISTS, Case, mlx_has, mx_dtype

REDUCED = (((3, 5), {}), ((3, 5), {'axis': [0]}), ((4, 700), {'axis': [1], 'keepdims': True}),
           ((2, 3, 4), {'axis': [0, 2]}), ((2, 5), {'axis': []}), ((3, 1), {'axis': [1]}), ((0, 3), {'axis': [0]}),
           ((), {}))
SCANNED = (((7,), {}), ((3, 5), {}), ((3, 5), {'axis': 0}), ((2, 3, 40), {'axis': -1, 'reverse': True}),
           ((4, 200), {'axis': 1, 'inclusive': False}), ((300, 2), {'axis': 0, 'reverse': True, 'inclusive': False}),
           ((0, 3), {'axis': 0}), ((), {}))
CREATED = {'full': ({'shape': [2, 3], 'vals': 7, 'dtype': 'int32'},), 'zeros': ({'shape': [2], 'dtype': 'int8'},),
           'ones': ({'shape': [2, 1], 'dtype': 'float16'},), 'eye': ({'n': 3, 'm': 4, 'k': 1, 'dtype': 'float32'},),
           'identity': ({'n': 3, 'dtype': 'int32'},), 'tri': ({'n': 3, 'm': 4, 'k': -1, 'dtype': 'float32'},),
           'linspace': ({'start': 0.0, 'stop': 1.0, 'num': 7, 'dtype': 'float32'},
                        {'start': 1.0, 'stop': 9.0, 'num': 5, 'endpoint': False, 'dtype': 'float16'}),
           'arange': ({'start': 1, 'stop': 9, 'step': 3, 'dtype': 'int32'},)}
REDUCTIONS = ('var', 'std', 'logsumexp', 'softmax', 'log_softmax', 'argmax', 'argmin')  # made of other ops
ATTRIBUTES = {'round': ({}, {'decimals': 1}, {'decimals': 3}, {'decimals': -1}),
              'nan_to_num': ({}, {'nan': 1.5, 'posinf': 7.0, 'neginf': -3.5})}
VIEWS = {'reshape': (((2, 6), {'shape': [3, 4]}), ((2, 6), {'shape': [-1]}), ((1,), {'shape': []})),
         'transpose': (((2, 3, 4), {}), ((2, 3, 4), {'axes': [1, 2, 0]})),
         'broadcast_to': (((3, 1), {'shape': [2, 3, 4]}), ((), {'shape': [2]})),
         'expand_dims': (((2, 3), {'axis': [0, 2]}), ((2, 3), {'axis': -1})),
         'slice': (((5, 7), {'start': [1], 'stop': [4]}),
                   ((5, 7), {'start': [-1, None], 'stop': [None, 5], 'step': [-2, 3]}),
                   ((4,), {'start': [3], 'stop': [-9], 'step': [-1]}), ((4,), {'start': [2], 'stop': [1]})),
         'flatten': (((2, 3, 4), {}), ((2, 3, 4), {'start_axis': 1})),
         'unflatten': (((2, 6), {'axis': 1, 'shape': [2, 3]}), ((2, 6), {'axis': -1, 'shape': [3, -1]})),
         'moveaxis': (((2, 3, 4), {'source': 0, 'destination': 2}),),
         'swapaxes': (((2, 3, 4), {'axis1': 0, 'axis2': -1}),),
         'tril': (((3, 4), {}), ((3, 4), {'k': -1})), 'triu': (((3, 4), {}), ((3, 4), {'k': 1})),
         'as_strided': (((4, 6), {'shape': [3, 4], 'strides': [2, 1]}), ((4, 6), {'shape': [6], 'strides': [-1], 'offset': 5}),
                        ((4, 6), {})),
         'contiguous': (((2, 3), {}),),
         'zeros_like': (((2, 3), {}), ((2,), {'dtype': 'int8'})),
         'ones_like': (((2, 3), {}), ((2,), {'dtype': 'complex64'})),
         'flip': (((2, 3, 4), {}), ((2, 3, 4), {'axis': [0, -1]})),
         'concatenate': (((2, 3), {}), ((2, 3), {'axis': -1})), 'stack': (((2, 3), {}), ((2, 3), {'axis': 1})),
         'pad': (((2, 3), {'pad_width': 1}), ((2, 3), {'pad_width': [[0, 2], [1, 0]], 'constant_values': 1})),
         'repeat': (((2, 3), {'repeats': 2}), ((2, 3), {'repeats': 3, 'axis': -1})),
         'tile': (((2, 3), {'reps': 2}), ((2, 3), {'reps': [2, 1, 3]})),
         'roll': (((2, 3), {'shift': 4}), ((2, 3), {'shift': -1, 'axis': 1})),
         'diagonal': (((3, 4), {}), ((2, 3, 4), {'offset': 1, 'axis1': 1, 'axis2': 2})),
         'diag': (((3,), {'k': -1}), ((3, 4), {'k': 1})),
         'squeeze': (((1, 3, 1), {}), ((1, 3, 1), {'axis': [0]}))}

# Shape, shapes of the index arrays, attributes.
RANDOM = {'random_split': ({'num': 2}, {'num': 5}, {'num': 0}),
          'uniform': ({}, {'shape': [7]}, {'shape': [3, 4], 'low': -2, 'high': 3.5}, {'shape': [90], 'dtype': 'float16'},
                      {'shape': [91], 'dtype': 'bfloat16', 'low': 100}, {'shape': [0, 2]}),
          'normal': ({'shape': [200]}, {'shape': [3, 33], 'dtype': 'bfloat16', 'loc': 1, 'scale': 2.5},
                     {'shape': [50], 'dtype': 'float16', 'scale': 0.1}),
          'bernoulli': ({}, {'shape': [99]}, {'shape': [8, 8], 'p': 0.25}, {'shape': [64], 'p': 1.0}),
          'randint': ({'low': 0, 'high': 7, 'shape': [99]}, {'low': -500, 'high': 1000000, 'shape': [64]},
                      {'low': 3, 'high': 250, 'shape': [5, 5], 'dtype': 'uint8'}),
          'gumbel': ({}, {'shape': [70]}, {'shape': [40], 'dtype': 'float16'}, {'shape': [4, 5], 'dtype': 'bfloat16'})}
CATEGORIES = ({}, {'axis': 0}, {'num_samples': 3}, {'axis': 0, 'num_samples': 2}, {'shape': [2, 3]})
INDEXED = {'take': (((4, 5), [(2, 3)], {'axis': 1}), ((4, 5), [(3,)], {'axis': 0}), 
                    ((4, 5), [()], {'axis': -2}), ((7,), [(9,)], {})),
           'take_along_axis': (((4, 5), [(4, 2)], {'axis': 1}), ((4, 5), [(1, 5)], {'axis': 0}), ((6,), [(4,)], {})),
           'gather': (((4, 5), [(3,)], {'axes': 1}), ((4, 4, 5), [(3,)], {'axes': [0], 'slice_sizes': [1, 2, 5]})),
           'dynamic_slice': (((4, 9), [(1,)], {'axes': [1], 'slice_size': [2, 3]}), ((4, 9), [()], {'axes': [0], 'slice_size': [1, 9]}))}


# The random functions have them, with indices in range: MLX writes outside of the array where one isn't.
UPDATES = ('slice_update', 'dynamic_slice_update', 'put_along_axis', 'scatter', 'scatter_add', 'scatter_prod', 'scatter_max',
           'scatter_min')
SEVERAL = {'split': ((((4, 6),), {'indices_or_sections': 2}), (((4, 6),), {'indices_or_sections': [1], 'axis': 1})),
           'meshgrid': ((((3,), (2,)), {}), (((3,), (2,)), {'sparse': True, 'indexing': 'ij'}))}  # two results


def elements(shape):
    n = 1
    for d in shape:
        n *= d
    return n


def filled(dtype, shape, rng, small=False):
    """Random values: reductions of floats take ordinary ones only."""
    if small and dtype in FLOATS:
        values = [arrays.round_to(rng.gauss(0, 2), dtype) for _ in range(elements(shape))]
    elif small and dtype == 'complex64':
        values = [tuple(arrays.round_to(rng.gauss(0, 2), 'float32') for _ in range(2)) for _ in range(elements(shape))]
    else:
        values = arrays.some(rng, dtype, elements(shape))
        rng.shuffle(values)
    return arrays.Bits(dtype, shape, arrays.packed(dtype, values))


def without_traps(op, ins):
    """Integer division by zero, and of the most negative number by -1, kills MLX's process (SIGFPE): such divisors are
    replaced by 1. What we give there is held by tests/vectors."""
    if op not in ('floor_divide', 'remainder', 'divmod'):
        return ins
    dtype = str(mx.result_type(*(mx_dtype(a.dtype) for a in ins))).rsplit('.', 1)[-1]
    if dtype not in arrays.INTS:
        return ins
    a, b = (arrays.from_mlx(v.mlx().astype(mx_dtype(dtype))).data for v in ins)
    width = 8 * arrays.SIZE[dtype]
    bad = (b == 0) | ((a == 1 << (width - 1)) & (b == (1 << width) - 1))
    return [ins[0], arrays.Bits(ins[1].dtype, ins[1].shape, np.where(bad, 1, ins[1].data).astype(ins[1].data.dtype))]


def element_wise(o, n):
    attrs = ATTRIBUTES.get(o['name'], ({},))
    if o['name'] == 'astype':
        attrs = [{'dtype': d} for d in DTYPES]
    for at in attrs:
        if n == 1:
            for d in DTYPES:
                yield [arrays.column(d, d)], at
        elif n == 2:
            for a in DTYPES:
                for b in DTYPES:
                    yield without_traps(o['name'], arrays.columns((a, b), a + b)), at
        elif o['name'] == 'where':
            for c, a, b in [('bool', a, b) for a in DTYPES for b in DTYPES] + [(c, *['float32'] * 2) for c in DTYPES]:
                rng = random.Random(c + a + b)
                first = arrays.column(c, c, 200)
                size = first.shape[0]
                others = [arrays.Bits(d, (size,), arrays.packed(d, arrays.some(rng, d, size))) for d in (a, b)]
                yield [first] + others, at
        else:  # clip
            for d in DTYPES:
                rng = random.Random(d)
                yield [arrays.Bits(d, (900,), arrays.packed(d, arrays.some(rng, d, 900))) for _ in range(n)], at


def cases(o):
    """The cases of one row of build/oplist."""
    name, n = o['name'], len(o['params'].split())
    rng = random.Random(name)
    if name in (*RANDOM, 'dropout', 'categorical'):
        for seed in (0, 1, 0x123456789abcdef):
            key = arrays.Bits('uint32', (2,), np.array([seed >> 32, seed & 0xffffffff], np.uint32))
            for at in RANDOM.get(name, ()):
                yield Case(name, [key], at)
            for at in CATEGORIES if name == 'categorical' else ():
                for d in DTYPES[:-1]:
                    yield Case(name, [filled(d, (3, 7), rng, True), key], at)
            for at in ({}, {'num_samples': 9}, {'shape': [3, 4]}, {'shape': [1]}) if name == 'categorical' else ():
                for d in FLOATS:
                    yield Case(name, [filled(d, (7,), rng, True), key], at)
                    yield Case(name, [filled(d, (1, 7), rng, True), key], at)
            for d in FLOATS if name == 'dropout' else ():
                yield Case(name, [filled(d, (3, 7), rng, True), key], {'p': 0.3})
        return
    if name == 'random_key':
        for seed in (0, 7, 0x123456789abcdef):
            yield Case(name, [], {'seed': seed})
        return
    if name in SEVERAL:
        for d in DTYPES:
            for shapes, at in SEVERAL[name]:
                yield Case(name, [filled(d, shape, rng) for shape in shapes], at, 2)
    elif name in CREATED or not n:
        for at in CREATED.get(name, ()):
            yield Case(name, [], at)
    elif o['class'] in ('elem', 'copy', 'expand') and name not in (*VIEWS, *INDEXED, *REDUCTIONS, *UPDATES, 'view'):
        for ins, at in element_wise(o, n):
            yield Case(name, ins, at, o['results'])
    elif name in INDEXED:
        for d in DTYPES:
            for shape, others, at in INDEXED[name]:
                least = min(shape) if 'axis' in at or 'axes' in at else elements(shape)
                low = 0 if name == 'dynamic_slice' else -least
                yield Case(name, [filled(d, shape, rng)] + [
                    arrays.Bits('int32', s, arrays.packed('int32', [rng.randrange(low, least - 2 * (low == 0)) & 0xffffffff
                                                                    for _ in range(elements(s))])) for s in others], at)
    elif name == 'view':
        for a in DTYPES:
            for b in DTYPES:
                yield Case(name, [filled(a, (3, 8), rng)], {'dtype': b})
    elif name in VIEWS:
        for d in DTYPES:
            for shape, at in VIEWS.get(name, ()):
                yield Case(name, [filled(d, shape, rng) for _ in range(2 if name in LISTS else 1)], at)
    elif o['class'] == 'scan':
        for d in DTYPES:
            for shape, at in SCANNED:
                if name != 'cumprod' or elements(shape) < 100 or d not in (*FLOATS, 'complex64'):
                    yield Case(name, [filled(d, shape, rng, True)], at)
    elif o['class'] == 'reduce' or name in REDUCTIONS:
        one = name in ('argmax', 'argmin')
        for d in DTYPES:
            for shape, at in REDUCED:
                if one and len(at.get('axis', [0])) != 1:
                    continue
                if name in ('logsumexp', 'softmax', 'log_softmax') and (0 in shape or not at.get('axis', [0])):
                    continue  # MLX 0.32.4's process may die of those
                if name == 'log_softmax' and not shape:
                    continue
                if name in ('softmax', 'log_softmax'):
                    at = {k: v for k, v in at.items() if k != 'keepdims'}
                if one and 'axis' in at:
                    at = {**at, 'axis': at['axis'][0]}
                for ddof in ({}, {'ddof': 1}) if name in ('var', 'std') else ({},):
                    yield Case(name, [filled(d, shape, rng, True)], {**at, **ddof})
            special = arrays.column(d, d, 50)
            if name in ('max', 'min', 'any', 'all', 'argmax', 'argmin') and special.shape[0] < 2000:
                rows = arrays.Bits(d, (special.shape[0], 2), arrays.columns((d, d), d)[0].data[:2 * special.data.size])
                yield Case(name, [rows], {'axis': 1 if one else [1]})


def composite_cases(name, parameters):
    """A composite on all its array parameters, of real dtypes (nobody activates complex numbers), statics at their
    defaults and, where there is one, at another value."""
    arrays_of = [p for p, default in parameters if default == 'required']
    statics = [(p, default) for p, default in parameters if default != 'required']
    for at in [{}] + ([{statics[0][0]: 0.75}] if statics else []):
        for d in DTYPES[:-1]:
            rng = random.Random(d)
            column = arrays.column(d, d)
            ins = [column] + [arrays.Bits(d, column.shape, arrays.packed(d, arrays.some(rng, d, column.shape[0])))
                              for _ in arrays_of[1:]]
            yield Case(name, ins, at)


def run_composites(composites, tally, folder):
    """The same for the composites; name -> parameters."""
    lacking, compared = [], 0
    for name, parameters in composites.items():
        if not mlx_has(name):
            lacking.append(name)
            continue
        compared += 1
        for case in composite_cases(name, parameters):
            tally.compare(case, *case.run(folder), False)
    return compared, lacking


ROUNDS_COMPLEX = ('abs', 'sign', 'square', 'reciprocal', 'sqrt', 'multiply', 'divide')  # complex64: several roundings


def is_exact(o, case=None):
    """Has the op one right result, bit for bit?"""
    if case and 'complex64' in case.dtypes and o['name'] in ROUNDS_COMPLEX:
        return False
    picks = ('max', 'min', 'any', 'all', 'argmax', 'argmin', 'cummax', 'cummin')
    moves = (*VIEWS, *CREATED, *SEVERAL, *INDEXED, *RANDOM, 'random_key', 'dropout', 'categorical',
             'slice_update', 'dynamic_slice_update', 'put_along_axis', 'scatter', 'full_like', 'depends')
    if o['name'] in ('normal', 'gumbel'):
        return False
    return o['exact'] or o['class'] in ('view', 'copy') or o['name'] in picks or o['name'] in moves


def run(oplist, tally, folder):
    """Computes and compares every case; returns (ops compared, ops that MLX doesn't have)."""
    lacking, compared = [], 0
    for o in oplist:
        if not mlx_has(o['name']):
            lacking.append(o['name'])
            continue
        compared += 1
        for case in cases(o):
            tally.compare(case, *case.run(folder), is_exact(o, case))
    return compared, lacking
