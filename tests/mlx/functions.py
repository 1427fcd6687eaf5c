"""functions.py - random MLX functions, imported by tools/mlx2nuvec.py and compared three ways:
 - the imported graph, computed by MLX node by node, gives the very bits of the function (the import changed nothing);
 - every node of it, computed by nuvecc on MLX's operands, is held to the rule of the op-by-op comparison;
 - the whole function by nuvecc: dtypes and shapes, and the same bits where all its ops are exact."""
import os
import random
import subprocess
import sys

import arrays
import compare
import mlx.core as mx
import mlx.nn as nn
import ops
from arrays import Bits
from compare import Case, Refused, evaluate, mlx_op, type_text

sys.path.insert(0, os.path.join(compare.ROOT, 'tools'))
import mlx2nuvec  # noqa: E402

INPUT_DTYPES = ('float32',) * 4 + ('int32', 'bool') * 2 + ('float16', 'bfloat16', 'int8', 'int16', 'int64', 'uint8',
                                                          'uint16', 'uint32', 'uint64', 'complex64')


# ---- steps: a function of the random generator and of operands gives one that uses only the operands ----
def plain(name):
    return lambda rng, *s: lambda *a: getattr(mx, name)(*a)


def layer(name):
    return lambda rng, *s: getattr(nn, name)


def scalar(f, *choices):
    """f(x, number)"""
    def step(rng, *s):
        c = rng.choice(choices)
        return lambda x: f(x, c)
    return step


def axes(rng, rank):
    return None if rng.random() < 0.3 else rng.sample(range(-rank, 0), rng.randint(1, rank)) if rank else None


def reduced(name, **more):
    def step(rng, x):
        a, keep = axes(rng, x.ndim), rng.random() < 0.5
        return lambda x: getattr(mx, name)(x, axis=a, keepdims=keep, **more)
    return step


def one_axis(name):
    def step(rng, x):
        a = rng.randrange(x.ndim)
        return lambda x: getattr(mx, name)(x, axis=a)
    return step


def to_dtype(rng, x):
    d = compare.mx_dtype(rng.choice(INPUT_DTYPES))
    return lambda x: x.astype(d)


def captured(rng, x):
    c = mx.array([rng.uniform(-2, 2) for _ in range(x.shape[-1])]).astype(x.dtype)
    return lambda x: x + c


def reshaped(rng, x):
    shapes = [[-1], [1, -1], list(x.shape) + [1]] + ([[x.shape[1], x.shape[0], *x.shape[2:]]] if x.ndim > 1 else [])
    shape = rng.choice(shapes)
    return lambda x: mx.reshape(x, shape)


def permuted(rng, x):
    order = rng.sample(range(x.ndim), x.ndim)
    return lambda x: mx.transpose(x, order)


def sliced(rng, x):
    def end():
        return rng.choice((None, rng.randrange(-8, 9)))
    index = tuple(slice(end(), end(), rng.choice((None, 1, 2, -1, -2))) for _ in range(x.ndim))
    return lambda x: x[index]


def counted(rng, n, shape):
    """Indices inside n, of either sign."""
    return mx.array([rng.randrange(-n, n) for _ in range(ops.elements(shape))]).reshape(shape)


def taken(rng, x):
    axis, shape = rng.choice((None, *range(x.ndim))), rng.choice(((2,), (2, 3), ()))
    i = counted(rng, x.size if axis is None else x.shape[axis], shape)
    return lambda x: mx.take(x, i, axis)


def taken_along(rng, x):
    axis = rng.randrange(x.ndim)
    i = counted(rng, x.shape[axis], [2 if k == axis else n for k, n in enumerate(x.shape)])
    return lambda x: mx.take_along_axis(x, i, axis)


def indexed(rng, x):
    i = [counted(rng, n, (3,)) for n in x.shape]
    which = rng.randrange(3)
    return lambda x: x[i[0]] if which == 0 else x[i[0], ..., i[-1]] if which == 1 and x.ndim > 1 else x[tuple(i)]


def by_value(rng, a, b):
    """Indices that are computed."""
    n, axis = a.shape[0], rng.choice((0, -1))
    return lambda a, b: mx.take(a, b.astype(mx.int32) % n if axis == 0 else mx.abs(b.astype(mx.int8)) % a.shape[-1], axis)


def cut_out(rng, x):
    axis = rng.randrange(x.ndim)
    size = [max(n // 2, 1) if k == axis else n for k, n in enumerate(x.shape)]
    start = mx.array([rng.randint(0, x.shape[axis] - size[axis])])
    return lambda x: mx.slice(x, start, (axis,), size)


def set_part(rng, x):
    index = tuple(slice(None, None, rng.choice((1, 2, -1))) for _ in range(x.ndim))

    def f(x):
        y = mx.array(x)
        y[index] = mx.abs(x[index])
        return y
    return f


def set_block(rng, x):
    axis = rng.randrange(x.ndim)
    size = [slice(0, max(n // 2, 1)) if k == axis else slice(None) for k, n in enumerate(x.shape)]
    start = mx.array([rng.randint(0, x.shape[axis] - size[axis].stop)])
    return lambda x: mx.slice_update(x, x[tuple(size)], start, (axis,))


def put(rng, x):
    axis = rng.randrange(x.ndim)
    i = counted(rng, x.shape[axis], [1 if k == axis else n for k, n in enumerate(x.shape)])
    return lambda x: mx.put_along_axis(x, i, mx.array(1).astype(x.dtype), axis)


def updated(name):
    def step(rng, x):
        i = mx.array(rng.sample(range(x.shape[0]), min(x.shape[0], 3)))  # MLX takes equal ones in any order
        return lambda x: getattr(x.at[i], name)(mx.abs(x[:i.size]))
    return step


def strided(rng, x):
    n = x.size
    return lambda x: mx.as_strided(x, (2, max(n - 1, 1)), (1 if n > 1 else 0, 1))


def scanned(name):
    def step(rng, x):
        a, form = rng.randrange(x.ndim), {'reverse': rng.random() < 0.5, 'inclusive': rng.random() < 0.5}
        return lambda x: getattr(mx, name)(x, axis=a, **form)
    return step


def drawn(rng, x):
    key = mx.array([rng.getrandbits(32), rng.getrandbits(32)], dtype=mx.uint32)
    return lambda x: x * mx.random.bernoulli(0.5, x.shape, mx.random.split(key)[0])


def sampled(rng, x):
    key, n = mx.array([rng.getrandbits(32), 7], dtype=mx.uint32), rng.choice((None, 3))
    return lambda x: mx.random.categorical(mx.reshape(x, (1, -1)), num_samples=n, key=key)


def gradient(rng, x):
    f = rng.choice((lambda v: mx.sum(mx.square(v)), lambda v: mx.sum(mx.sin(v) * v), lambda v: mx.sum(nn.gelu(v)),
                    lambda v: mx.sum(mx.abs(v))))
    return mx.grad(f)


def compiled(rng, x):
    k = rng.choice((0.5, 3.0))
    return mx.compile(lambda v: mx.maximum(v * k, v) - 1)


UNARY = {n: plain(n) for n in (
    'abs negative sign square reciprocal sqrt rsqrt exp expm1 log log2 log10 log1p sin cos tan arcsin arccos arctan '
    'sinh cosh tanh arcsinh arccosh arctanh sigmoid erf erfinv floor ceil round logical_not bitwise_invert conjugate '
    'real imag isnan isinf isposinf isneginf isfinite degrees radians stop_gradient nan_to_num flatten squeeze '
    'transpose contiguous softmax logsumexp positive trunc').split()}
UNARY.update({'nn.' + n: layer(n) for n in (
    'relu relu2 relu6 leaky_relu elu celu selu silu gelu gelu_approx gelu_fast_approx softplus softsign mish '
    'log_sigmoid hardswish hard_tanh hard_shrink softshrink step').split()})
UNARY.update({
    'x + k': scalar(lambda x, k: x + k, 1, 2, 0.5, -3), 'k - x': scalar(lambda x, k: k - x, 1, 2.5),
    'x * k': scalar(lambda x, k: x * k, 2, -1, 0.1), 'x / k': scalar(lambda x, k: x / k, 2, 3.0),
    'x // k': scalar(lambda x, k: x // k, 3, 2), 'x % k': scalar(lambda x, k: x % k, 3, 7),
    'x ** k': scalar(lambda x, k: x ** k, 2, 3), 'x << k': scalar(mx.left_shift, 1, 3),
    'x >> k': scalar(mx.right_shift, 1, 3), 'x & k': scalar(mx.bitwise_and, 3, 12), '~x': lambda rng, x: lambda x: ~x,
    'x > k': scalar(lambda x, k: x > k, 0, 1), 'maximum(x, k)': scalar(mx.maximum, 0, 1.0),
    'clip': scalar(lambda x, k: mx.clip(x, -k, k), 1, 3), 'round 2': lambda rng, x: lambda x: mx.round(x, 2),
    'astype': to_dtype, 'captured': captured, 'reshape': reshaped, 'transpose by': permuted, 'grad': gradient,
    'compile': compiled, 'where k': lambda rng, x: lambda x: mx.where(x > 0, x, 0),
    'view': lambda rng, x: lambda x: mx.view(x, mx.int32 if x.dtype.size == 4 else mx.int8),
    'array': lambda rng, x: mx.array, 'vmap': lambda rng, x: mx.vmap(lambda v: mx.abs(v) + 1),
    'checkpoint': lambda rng, x: lambda x: mx.checkpoint(mx.tanh)(x),
    'expand_dims': lambda rng, x: lambda x: mx.expand_dims(x, 0),
    'broadcast_to': lambda rng, x: lambda x: mx.broadcast_to(x, (2, *x.shape)),
    'full_like': lambda rng, x: lambda x: mx.ones_like(x), 'argmax': one_axis('argmax'), 'argmin': one_axis('argmin'),
    'softmax 0': one_axis('softmax'), 'var 1': reduced('var', ddof=1)})
UNARY.update({'slice': sliced, 'index': lambda rng, x: lambda x: x[-1],
              'split': lambda rng, x: lambda x: mx.split(x, 2, -1)[1], 'take': taken,
              'take_along_axis': taken_along, 'index arrays': indexed, 'slice from': cut_out, 'set slice': set_part, 'set block': set_block, 'put': put,
              'as_strided': strided,
              'pad': lambda rng, x: lambda x: mx.pad(x, 1, constant_values=2), 'roll': lambda rng, x: lambda x: mx.roll(x, 1),
              'nn.glu': layer('glu'), 'narrow view': lambda rng, x: lambda x: mx.view(x, mx.uint8),
              'wide view': lambda rng, x: lambda x: mx.view(x, mx.uint64), 'tril': lambda rng, x: lambda x: mx.tril(x),
              'arange': lambda rng, x: lambda x: x + mx.arange(x.shape[-1])})
UNARY.update({n: scanned(n) for n in ('cumsum', 'cumprod', 'cummax', 'cummin')})
UNARY['drawn'] = drawn
UNARY['sampled'] = sampled
UNARY.update({n: reduced(n) for n in 'sum prod max min mean var std any all'.split()})
BINARY = {n: plain(n) for n in (
    'add subtract multiply divide floor_divide remainder divmod power maximum minimum logaddexp arctan2 equal '
    'not_equal less less_equal greater greater_equal logical_and logical_or bitwise_and bitwise_or bitwise_xor '
    'left_shift right_shift array_equal outer').split()}
BINARY['equal_nan'] = lambda rng, *s: lambda a, b: mx.array_equal(a, b, equal_nan=True)
UNARY.update({'at ' + n: updated(n) for n in ('add', 'multiply', 'maximum', 'minimum')})
BINARY['take by'] = by_value
BINARY['concatenate'] = lambda rng, *s: lambda a, b: mx.concatenate([a, b], -1)
BINARY['depends'] = lambda rng, *s: lambda a, b: mx.depends([a], [b])[0]
BINARY['select'] = lambda rng, *s: lambda a, b: mx.where(a > b, a, b)
TRAPS = ('floor_divide', 'remainder', 'divmod')  # MLX's process dies of an integer division by zero
WIDE = ('outer',)


def first(out):
    return out[0] if isinstance(out, (tuple, list)) else out


class Function:
    """A random function: steps on the values so far, built while MLX computes them."""

    def __init__(self, rng, kinds):
        self.inputs, self.steps = [], []
        shape = tuple(rng.choice((1, 2, 3, 4, 7)) for _ in range(rng.choice((1, 2, 2, 3))))
        for _ in range(rng.randint(1, 3)):
            d = rng.choice(INPUT_DTYPES)
            s = shape[rng.randrange(len(shape)):] if rng.random() < 0.3 else shape
            n = 1
            for k in s:
                n *= k
            self.inputs.append(Bits(d, s, arrays.packed(d, rng.sample(arrays.some(rng, d, 4 * n), n))))
        pool = [a.mlx() for a in self.inputs]
        for _ in range(60):
            if len(self.steps) >= rng.randint(1, 30):
                break
            self.grow(rng, kinds, pool)
        self.outputs = sorted(rng.sample(range(len(pool)), min(len(pool), 2)) + [len(pool) - 1])

    def grow(self, rng, kinds, pool):
        name, n, make, _ = rng.choice(kinds)
        take = [rng.randrange(max(0, len(pool) - 6), len(pool)) for _ in range(n)]
        ins = [pool[k] for k in take]
        if name in TRAPS and mx.any(mx.abs(ins[1].astype(mx.float32)) < 2).item():
            return
        if name in WIDE and ins[0].size * ins[1].size > 200:
            return
        try:
            f = make(rng, *ins)
            out = first(f(*ins))
            mx.eval(out)
        except (ValueError, IndexError, TypeError, RuntimeError):
            return
        if 0 < out.size <= 1000 and out.ndim <= 6:
            self.steps.append((f, take))
            pool.append(out)

    def __call__(self, *args):
        pool = list(args)
        for f, take in self.steps:
            pool.append(first(f(*[pool[k] for k in take])))
        return [pool[k] for k in self.outputs]


# ---- the imported graph ----
def constant(c):
    d = c['dtype']
    x = complex(*map(float, c['const'])) if d == 'complex64' else c['const']
    if d in arrays.FLOATS:
        return Bits(d, (), arrays.packed(d, [arrays.round_to(float(x), d)]))
    if d == 'complex64':
        return Bits(d, (), arrays.packed(d, [tuple(arrays.round_to(p, 'float32') for p in (x.real, x.imag))]))
    return Bits(d, (), arrays.packed(d, [int(x) & ((1 << (8 * arrays.SIZE[d])) - 1)]))


def flat(inputs):
    """Operands without their lists."""
    return [i for x in inputs for i in (x if isinstance(x, list) else [x])]


def operands(node, values):
    return [values[i] if isinstance(i, str) else constant(i) for i in flat(node['inputs'])]


def attributes(node):
    return {k: v for k, v in node.items() if k not in ('name', 'names', 'op', 'inputs')}


def names_of(node):
    return node.get('names') or [node['name']]


def by_mlx(function, values):
    """All values of the imported graph, by MLX."""
    values = dict(values)
    for node in function['nodes']:
        out = mlx_op(node['op'], [a.mlx() for a in operands(node, values)], attributes(node))
        values.update(zip(names_of(node), map(arrays.from_mlx, out)))
    return values


def node_by_node(function, values, folder):
    """Every node by nuvecc, on values as its operands: name -> Bits."""
    nodes, inputs = [], {}
    for node in function['nodes']:
        ins = []
        for i in node['inputs']:
            inputs.update({'i_' + n: values[n] for n in flat([i]) if isinstance(n, str)})
            own = ['i_' + n if isinstance(n, str) else n for n in flat([i])]
            ins.append(own if isinstance(i, list) else own[0])
        nodes.append({**node, 'inputs': ins})
    outs = [n for node in nodes for n in names_of(node)]
    document = {'nuvec': 1, 'name': 'f', 'functions': {'f': {
        'inputs': [{k: type_text(a)} for k, a in inputs.items()], 'nodes': nodes, 'outputs': {n: n for n in outs}}}}
    return evaluate(mlx2nuvec.dumped(document), inputs, folder) if outs else {}


class Run:
    def __init__(self, oplist, tally, folder):
        self.rows = {o['name']: o for o in oplist}
        self.exact = {o['name']: ops.is_exact(o) for o in oplist}
        self.tally, self.folder = tally, folder
        self.functions = self.nodes = self.whole = self.later = self.on_bed = 0

    def one(self, f, kernels):
        program = mlx2nuvec.convert(f, [a.mlx() for a in f.inputs], name='f')
        function = program.function
        given = [next(iter(i)) for i in function['inputs']]
        values = dict(zip(given, f.inputs + [arrays.from_mlx(a) for a in program.constants.values()]))
        fed = dict(values)
        direct = [arrays.from_mlx(a) for a in f(*[a.mlx() for a in f.inputs])]
        values = by_mlx(function, values)
        for k, (name, want) in enumerate(zip(function['outputs'], direct)):
            got = values[name]
            if (got.dtype, got.shape) != (want.dtype, want.shape) or arrays.distance(got, want).any():
                self.tally.failures.append('output %d: the import changed it\n%s' % (k, program.text()))
                return
        try:
            cut = node_by_node(function, values, self.folder)
            outputs = {'out%d' % k: n for k, n in enumerate(function['outputs'])}
            document = {**program.document(), 'functions': {'f': {**function, 'outputs': outputs}}}
            whole = evaluate(mlx2nuvec.dumped(document), fed, self.folder)
        except Refused as e:
            later = e.later or 'has no complex64 form' in str(e)  # the table of exceptions has these
            if not later:
                self.tally.failures.append('%s\n%s' % (e, program.text()))
            self.later += later
            return
        self.functions += 1
        excused, failed, same = sum(n for n, _ in self.tally.used.values()), len(self.tally.failures), True
        for node in function['nodes']:
            names = names_of(node)
            case = Case(node['op'], operands(node, values), attributes(node), len(names))
            exact = ops.is_exact(self.rows[node['op']], case)
            self.tally.compare(case, [cut[n] for n in names], [values[n] for n in names], exact)
            self.nodes += 1
            same = same and exact
        same = same and len(self.tally.failures) == failed and excused == sum(n for n, _ in self.tally.used.values())
        for k, want in enumerate(direct):
            got = whole['out%d' % k]
            if (got.dtype, got.shape) != (want.dtype, want.shape) or same and arrays.distance(got, want).any():
                self.tally.failures.append('output %d of the whole function: ours %s, MLX %s\n%s' % (
                    k, type_text(got), type_text(want), program.text()))
        self.whole += same
        if kernels:
            self.bed(whole)

    def bed(self, whole):
        """The same file through the emitted kernels: fused, unfused and evaluated bits, and these against --eval's."""
        paths = [os.path.join(self.folder, n) for n in ('spec.json', 'in.safetensors', 'bed.safetensors')]
        command = [os.path.join(compare.BUILD, 'hostrun'), paths[0], '--inputs=' + paths[1], '--outputs=' + paths[2]]
        r = subprocess.run(command + ['--compare'], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if r.returncode:
            self.tally.failures.append('hostrun --compare: ' + r.stdout[-2000:])
            return
        self.on_bed += 1
        for name, a in arrays.read(paths[2]).items():
            if arrays.distance(a, whole[name]).any():
                self.tally.failures.append("%s: the kernels' bits are not the evaluator's" % name)


def importable(rng, exact):
    """The steps that this tool can import, and those that it cannot yet, with the primitives that lack."""
    kinds, lacking = [], {}
    for n, table in ((1, UNARY), (2, BINARY)):
        for name, make in table.items():
            for dtype in (mx.float32, mx.int32, mx.bool_):
                x = mx.ones((2, 3), dtype)
                try:
                    f = make(rng, *[x] * n)
                    program = mlx2nuvec.convert(lambda *a, f=f: first(f(*a)), [x] * n)
                except mlx2nuvec.Unsupported as e:
                    lacking[name] = e.lines
                    break
                except (ValueError, TypeError, IndexError, RuntimeError):
                    continue
                kinds.append((name, n, make, all(exact[node['op']] for node in program.function['nodes'])))
                break
    return kinds, lacking


def run(oplist, tally, folder, count, seed, kernels):
    rng = random.Random(seed)
    r, before = Run(oplist, tally, folder), len(tally.failures)
    kinds, lacking = importable(rng, r.exact)
    exact = [k for k in kinds if k[3]]
    while r.functions + r.later < count and len(tally.failures) < before + 20:
        f = Function(rng, exact if rng.random() < 0.5 else kinds)
        if not f.steps:
            continue
        try:
            r.one(f, r.on_bed < kernels)
        except mlx2nuvec.Unsupported as e:  # the primitives of a step depend on its shape
            lacking.update({line.split(':')[0].split(', ')[1]: [line] for line in e.lines})
    return r, lacking
