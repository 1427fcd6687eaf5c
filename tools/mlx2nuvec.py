#!/usr/bin/env python3
"""mlx2nuvec.py - writes an MLX function as a nuvec spec in the plain form, and its constants as .safetensors.

    python3 tools/mlx2nuvec.py model.py:loss --args 'float32[2, 3]' 'int32[2]' mask='bool[2]' -o out/loss.json

The function is traced by mx.export_function(callback, …), which gives MLX's own primitives after MLX's own
simplification. TABLE below says which op each one is. A primitive that nuvec has no op for is listed with its place in
the graph, all of them at once; the exit status is then 1 and nothing is written. As a module: convert(f, args,
kwargs) takes trees (lists, tuples, dicts) of arrays and returns a Program.

What the result looks like:
- Inputs have the parameters' names; a leaf of a tree has its path, joined by '_'. Shapes are fixed.
- A constant of one element (rank 0) stands in the node that uses it. Every other captured array is an input named
  c0, c1, …, in the order of first use, and its value a tensor of that name in the .safetensors beside the spec.
- An array that the function captures before it is evaluated is part of the graph: mx.eval() makes it a constant.
- Outputs keep the function's result: one array, a list, or a map whose lists and maps may nest.
- MLX cannot export bitwise_invert, contiguous and checkpoint. While it traces, this tool puts a bitwise_xor with all
  ones (which it then writes as bitwise_invert) and the identity in their places, under mlx.core's names."""
import argparse
import contextlib
import importlib
import importlib.util
import inspect
import io
import json
import os
import re
import struct
import sys

import mlx.core as mx

DTYPES = ('bool', 'uint8', 'uint16', 'uint32', 'uint64', 'int8', 'int16', 'int32', 'int64', 'float16', 'bfloat16',
          'float32', 'complex64')
SAFETENSORS = {'bool': 'BOOL', 'uint8': 'U8', 'uint16': 'U16', 'uint32': 'U32', 'uint64': 'U64', 'int8': 'I8',
               'int16': 'I16', 'int32': 'I32', 'int64': 'I64', 'float16': 'F16', 'bfloat16': 'BF16', 'float32': 'F32',
               'complex64': 'C64'}
RESERVED = {'and', 'or', 'not', 'true', 'false', 'inf', 'nan', 'None', 'if', 'for', 'in', 'is', *DTYPES, 'u8', 'u16',
            'u32', 'u64', 'i8', 'i16', 'i32', 'i64', 'f16', 'bf16', 'f32', 'c64'}


class Unsupported(Exception):
    """What cannot be written; .lines has one text a finding."""

    def __init__(self, lines):
        super().__init__('\n'.join(lines))
        self.lines = lines


# ---- primitive -> op ----
# A rule takes the node and gives (op, attributes) or (op, attributes, operands); a list of these has one for each
# result. None instead of an op: this form of the primitive has none yet.
def element(op):
    """An element-wise primitive without attributes: its operands broadcast by themselves."""
    return lambda node: (op, {})


def choice(ops):
    """An element-wise primitive whose first argument picks the op."""
    return lambda node: (ops.get(node.arguments[0]), {})


def shaped(op, **attributes):
    """A movement or reduction; attributes: name -> the number of the argument, or a function of the node."""
    def rule(node):
        return op, {k: a(node) if callable(a) else node.arguments[a] for k, a in attributes.items()}
    return rule


def reduction(node):
    op = {0: 'all', 1: 'any', 2: 'sum', 3: 'prod', 4: 'min', 5: 'max'}.get(node.arguments[0])
    return op, {'axis': node.arguments[1], 'keepdims': True}


def scan(node):
    kind, axis, reverse, inclusive = node.arguments
    op = {0: 'cummax', 1: 'cummin', 2: 'cumsum', 3: 'cumprod', 4: 'logcumsumexp'}.get(kind)
    return op, {'axis': axis, 'reverse': reverse, 'inclusive': inclusive}


def place_of_extreme(node):
    return {0: 'argmin', 1: 'argmax'}.get(node.arguments[0]), {'axis': node.arguments[1], 'keepdims': True}


def same_value(node):
    """The primitive only says how the value is stored."""
    return 'alias', {}


def bitwise(node):
    op = ('bitwise_and', 'bitwise_or', 'bitwise_xor', 'left_shift', 'right_shift')[node.arguments[0]]
    ones = {'uint8': 2**8 - 1, 'uint16': 2**16 - 1, 'uint32': 2**32 - 1, 'uint64': 2**64 - 1, 'bool': True}
    if op == 'bitwise_xor' and node.scalar(1) == ones.get(node.outputs[0].dtype, -1):
        return 'bitwise_invert', {}, node.inputs[:1]
    return op, {}


def split(node):
    """One slice for each result."""
    (places, axis), shape, out, at = node.arguments, node.inputs[0].shape, [], 0
    for end in (*places, shape[axis]):
        start, stop = [0] * len(shape), list(shape)
        start[axis], stop[axis] = at, end
        out.append(('slice', {'start': start, 'stop': stop, 'step': [1] * len(shape)}))
        at = end
    return out


NO_REDUCTION = 4  # of Scatter and SliceUpdate: the update itself
SCATTERS = ('scatter_max', 'scatter_min', 'scatter_add', 'scatter_prod', 'scatter')


def slice_update(node):
    """x[slice] = update; x.at[slice].add(update) and its like have no op."""
    mode, start, stop, step = node.arguments
    return ('slice_update' if mode == NO_REDUCTION else None), {'start': start, 'stop': stop, 'step': step}


def arange(node):
    """The numbers come as floats; of integers they are written as such."""
    dtype = node.outputs[0].dtype
    numbers = [int(x) if 'int' in dtype and x == int(x) else Number(repr(x)) for x in node.arguments]
    return 'arange', {**dict(zip(('start', 'stop', 'step'), numbers)), 'dtype': dtype}


def pad(node):
    """By one finite real number; axes that aren't named stay."""
    axes, low, high = node.arguments
    value, width = node.scalar(1), [[0, 0] for _ in node.inputs[0].shape]
    value = value.real if isinstance(value, complex) and not value.imag else value
    if value is None or isinstance(value, complex) or value - value != 0:
        return None, {}
    for axis, before, behind in zip(axes, low, high):
        width[axis] = [before, behind]
    value = Number('%.9g' % value) if isinstance(value, float) else value
    return 'pad', {'pad_width': width, 'constant_values': value}, node.inputs[:1]


def scatter(node):
    """The updates of MLX's primitive have axes of size 1 where the index arrays count; larger blocks have no op."""
    mode, axes = node.arguments
    x, places, u = node.inputs[0], node.inputs[1:-1], node.inputs[-1]
    lead = len(u.shape) - len(x.shape)
    if any(u.shape[lead + a] != 1 for a in axes) or any(
            k not in axes and u.shape[lead + k] != n for k, n in enumerate(x.shape)):
        return None, {}
    thin = [n for k, n in enumerate(u.shape) if k < lead or k - lead not in axes]
    axis = list(axes) if len(axes) > 1 else axes[0]
    return SCATTERS[mode], {'axis': axis}, [x, indices(places), ('reshape', [u], {'shape': thin})]


def scatter_axis(node):
    """Mode 0 adds."""
    mode, axis = node.arguments
    return ('put_along_axis' if mode == 1 else None), {'axis': axis}


def indices(arrays):
    return arrays[0] if len(arrays) == 1 else arrays


def gather(node):
    """x[1], that is constant indices of rank 0, is a slice; index arrays of several axes are a list."""
    (axes, sizes), shape = node.arguments, node.inputs[0].shape
    start = [0] * len(shape)
    for k, axis in enumerate(axes):
        at = node.scalar(k + 1)
        if at is None or node.inputs[k + 1].shape:
            return 'gather', {'axes': list(axes), 'slice_sizes': list(sizes)}, [node.inputs[0], indices(node.inputs[1:])]
        start[axis] = at + shape[axis] if at < 0 else at
    stop = [a + n for a, n in zip(start, sizes)]
    if any(b > n for b, n in zip(stop, shape)):
        return 'gather', {'axes': list(axes), 'slice_sizes': list(sizes)}, [node.inputs[0], indices(node.inputs[1:])]
    return 'slice', {'start': start, 'stop': stop, 'step': [1] * len(shape)}, node.inputs[:1]


ELEMENT_WISE = {
    **{name: element(op) for name, op in {
        'Abs': 'abs', 'Add': 'add', 'ArcCos': 'arccos', 'ArcCosh': 'arccosh', 'ArcSin': 'arcsin', 'ArcSinh': 'arcsinh',
        'ArcTan': 'arctan', 'ArcTan2': 'arctan2', 'ArcTanh': 'arctanh', 'Ceil': 'ceil', 'Conjugate': 'conjugate',
        'Cos': 'cos', 'Cosh': 'cosh', 'Divide': 'divide', 'Erf': 'erf', 'ErfInv': 'erfinv', 'Exp': 'exp',
        'Expm1': 'expm1', 'Floor': 'floor', 'FloorDivide': 'floor_divide', 'Greater': 'greater', 'GreaterEqual': 'greater_equal',
        'Imag': 'imag', 'Less': 'less', 'LessEqual': 'less_equal', 'Log1p': 'log1p', 'LogAddExp': 'logaddexp',
        'LogicalAnd': 'logical_and', 'LogicalNot': 'logical_not', 'LogicalOr': 'logical_or', 'Maximum': 'maximum',
        'Minimum': 'minimum', 'Multiply': 'multiply', 'Negative': 'negative', 'NotEqual': 'not_equal',
        'Power': 'power', 'Real': 'real', 'Remainder': 'remainder', 'Round': 'round', 'Select': 'where',
        'Sigmoid': 'sigmoid', 'Sign': 'sign', 'Sin': 'sin', 'Sinh': 'sinh', 'Square': 'square', 'Subtract': 'subtract',
        'Tan': 'tan', 'Tanh': 'tanh'}.items()},
    'BitwiseBinary': bitwise,
    'DivMod': element('divmod'),
    'Equal': choice({False: 'equal', True: 'nan_equal'}),
    'Log': choice({0: 'log2', 1: 'log10', 2: 'log'}),
    'Sqrt': choice({False: 'sqrt', True: 'rsqrt'}),
}
TABLE = {
    **ELEMENT_WISE,
    'ArgReduce': place_of_extreme,
    'AsStrided': shaped('as_strided', shape=0, strides=1, offset=2),
    'AsType': shaped('astype', dtype=lambda n: n.outputs[0].dtype),
    'Arange': arange,
    'Broadcast': shaped('broadcast_to', shape=0),
    'Concatenate': lambda node: ('concatenate', {'axis': node.arguments[0]}, [node.inputs]),
    'Copy': shaped('copy'),
    'Depends': shaped('depends'),
    'DynamicSlice': shaped('dynamic_slice', axes=0, slice_size=1),
    'DynamicSliceUpdate': shaped('dynamic_slice_update', axes=0),
    'ExpandDims': shaped('expand_dims', axis=0),
    'Flatten': shaped('reshape', shape=lambda n: n.outputs[0].shape),
    'Full': same_value,
    'Gather': gather,
    'GatherAxis': shaped('take_along_axis', axis=0),
    'LogSumExp': shaped('logsumexp', axis=lambda n: -1, keepdims=lambda n: True),
    'RandomBits': shaped('random_bits', shape=0, width=1),
    'Pad': pad,
    'Reduce': reduction,
    'Reshape': shaped('reshape', shape=0),
    'Scan': scan,
    'Slice': shaped('slice', start=0, stop=1, step=2),
    'Scatter': scatter,
    'ScatterAxis': scatter_axis,
    'SliceUpdate': slice_update,
    'Softmax': shaped('softmax', axis=lambda n: -1),
    'Split': split,
    'Squeeze': shaped('squeeze', axis=0),
    'StopGradient': shaped('stop_gradient'),
    'Transpose': shaped('transpose', axes=0),
    'Unflatten': shaped('reshape', shape=lambda n: n.outputs[0].shape),
    'View': shaped('view', dtype=lambda n: n.outputs[0].dtype),
}


# ---- MLX's side ----
def dtype_name(dtype):
    return str(dtype).rsplit('.', 1)[-1]


class Value:
    """A value of the traced graph: an input, a constant or a node's result."""

    def __init__(self, name, shape, dtype):
        self.name, self.shape, self.dtype = name, tuple(shape), dtype_name(dtype)
        self.array = None  # of a constant
        self.spread = None  # the constant of one element that this is the broadcast of
        self.written = None  # its name in the spec

    def __str__(self):
        return '%s[%s]' % (self.dtype, ', '.join(map(str, self.shape)))


class Node:
    def __init__(self, place, primitive, arguments, inputs, outputs):
        self.place, self.primitive, self.arguments = place, primitive, arguments
        self.inputs, self.outputs = inputs, outputs

    def scalar(self, k):
        """The operand's value where it is the same constant everywhere, else None."""
        v = self.inputs[k].spread or self.inputs[k]
        return v.array.item() if v.array is not None and not v.shape else None

    def __str__(self):
        arguments = '(%s)' % ', '.join(map(str, self.arguments)) if self.arguments else ''
        return 'node %d, %s%s: %s -> %s' % (self.place, self.primitive, arguments, ', '.join(map(str, self.inputs)),
                                            ', '.join(map(str, self.outputs)))


def all_ones(a):
    if a.dtype == mx.bool_:
        return mx.array(True)
    if mx.issubdtype(a.dtype, mx.signedinteger):
        return mx.array(-1, a.dtype)
    if a.dtype == mx.uint64:  # which takes no number above 2^63 - 1
        ones = mx.view(mx.array(-1, mx.int64), mx.uint64)
        mx.eval(ones)
        return ones
    return mx.array(mx.iinfo(a.dtype).max, a.dtype)


@contextlib.contextmanager
def exportable():
    """Replaces what MLX has no export for by what gives the same values."""
    def invert(a, *, stream=None):
        return mx.bitwise_xor(a, all_ones(a)) if mx.issubdtype(a.dtype, mx.integer) or a.dtype == mx.bool_ else \
            plain_invert(a, stream=stream)
    plain_invert, operator = mx.bitwise_invert, mx.array.__invert__
    contiguous, checkpoint = mx.contiguous, mx.checkpoint
    mx.bitwise_invert, mx.array.__invert__ = invert, invert
    mx.contiguous, mx.checkpoint = lambda a, allow_col_major=False, *, stream=None: a, lambda f: f
    try:
        yield
    finally:
        mx.bitwise_invert, mx.array.__invert__ = plain_invert, operator
        mx.contiguous, mx.checkpoint = contiguous, checkpoint


def leaves(tree, path=()):
    """(path, leaf) of a tree, in order."""
    if isinstance(tree, dict):
        for k, v in tree.items():
            yield from leaves(v, path + (k,))
    elif isinstance(tree, (list, tuple)):
        for k, v in enumerate(tree):
            yield from leaves(v, path + (k,))
    else:
        yield path, tree


def rebuilt(tree, values):
    """The tree with its leaves taken from the iterator values."""
    if isinstance(tree, dict):
        return {k: rebuilt(v, values) for k, v in tree.items()}
    if isinstance(tree, (list, tuple)):
        return type(tree)(rebuilt(v, values) for v in tree)
    return next(values)


class Trace:
    """MLX's graph of f(*args, **kwargs)."""

    def __init__(self, f, args, kwargs):
        self.values, self.nodes, self.inputs, self.outputs = {}, [], [], []
        self.result = None
        tree = (tuple(args), dict(kwargs))
        flat = [a for _, a in leaves(tree)]
        for path, leaf in leaves(tree):
            if not isinstance(leaf, mx.array):
                raise Unsupported(['argument %s is no array: %r' % (path, leaf)])

        def flattened(*arrays):
            args, kwargs = rebuilt(tree, iter(arrays))
            self.result = f(*args, **kwargs)
            found = [a for _, a in leaves(self.result)]
            for a in found:
                if not isinstance(a, mx.array):
                    raise Unsupported(['the function returns %r, which is no array' % (a,)])
            return found

        try:
            with exportable():
                mx.export_function(self.take, flattened, *flat)
        except ValueError as e:
            primitive = re.search(r'Unable to get state for primitive (\w+)', str(e))
            if not primitive:
                raise
            with exportable():
                raise Unsupported(self.lacking_by_name(flattened(*flat), primitive[1])) from None

    def take(self, record):
        kind = record['type']
        if kind == 'inputs':
            self.inputs = [self.value(*v) for v in record['inputs']]
        elif kind == 'outputs':
            self.outputs = [self.value(*v) for v in record['outputs']]
        elif kind == 'constants':
            for name, array in record['constants']:
                self.value(name, array.shape, array.dtype).array = array
        elif kind == 'primitive':
            self.nodes.append(Node(len(self.nodes), record['name'], record['arguments'],
                                   [self.value(*v) for v in record['inputs']],
                                   [self.value(*v) for v in record['outputs']]))

    def value(self, name, shape, dtype):
        if name not in self.values:
            self.values[name] = Value(name, shape, dtype)
        return self.values[name]

    @staticmethod
    def lacking_by_name(outputs, primitive):
        """All primitives without an op, by MLX's drawing of the graph, which knows names and order only."""
        text = io.StringIO()
        mx.export_to_dot(text, *outputs)
        names = re.findall(r'\[label ="(\w+)", shape=rectangle\]', text.getvalue())
        return ['node %d of %d, %s: %s' % (k, len(names), n,
                                           'MLX cannot export it' if n == primitive else 'no op for it')
                for k, n in enumerate(names) if n == primitive or n not in TABLE]


# ---- nuvec's side ----
def written_number(x, dtype):
    """A number as the plain form has it; texts for what JSON has no number for."""
    if dtype == 'bool':
        return bool(x)
    if dtype == 'complex64':
        return [written_number(x.real, 'float32'), written_number(x.imag, 'float32')]
    if isinstance(x, int):
        return x if -2**63 <= x < 2**63 else str(x)
    if x != x:
        return 'nan'
    if x in (float('inf'), -float('inf')):
        return 'inf' if x > 0 else '-inf'
    return Number('%.9g' % x)


class Number(float):
    """A float that JSON writes with its own text: 9 digits give back every float32."""

    def __new__(cls, text):
        self = super().__new__(cls, text)
        self.text = text if re.search(r'[.e]', text) else text + '.0'
        return self

    def __repr__(self):
        return self.text


def dumped(x, level=0):
    """JSON text; a node, an input and a short list on one line."""
    if isinstance(x, Number):
        return x.text
    flat = None
    if isinstance(x, dict):
        flat = '{%s}' % ', '.join('%s: %s' % (json.dumps(k), dumped(v)) for k, v in x.items())
    elif isinstance(x, (list, tuple)):
        flat = '[%s]' % ', '.join(dumped(v) for v in x)
    if flat is None:
        return json.dumps(x)
    if level == 0 or not x or len(flat) < 100 and not any(isinstance(v, (dict, list)) for v in x):
        return flat
    pad = ' ' * (2 * (4 - level) + 2)
    rows = ['%s: %s' % (json.dumps(k), dumped(v, level - 1)) for k, v in x.items()] if isinstance(x, dict) else \
        [dumped(v, level - 1) for v in x]
    both = '{}' if isinstance(x, dict) else '[]'
    return '%s\n%s%s\n%s%s' % (both[0], pad, (',\n' + pad).join(rows), pad[2:], both[1])


class Program:
    """A function in the plain form: .function (inputs, nodes, outputs), .constants (name -> array)."""

    def __init__(self, name, function, constants, trace):
        self.name, self.function, self.constants, self.trace = name, function, constants, trace

    def document(self):
        return {'nuvec': 1, 'name': self.name, 'functions': {self.name: self.function}}

    def text(self):
        return dumped(self.document(), 4) + '\n'

    def write(self, path):
        with open(path, 'w', encoding='utf-8') as f:
            f.write(self.text())
        if self.constants:
            write_safetensors(os.path.splitext(path)[0] + '.safetensors', self.constants)


def array_bytes(a):
    name = dtype_name(a.dtype)
    wide = {1: mx.uint8, 2: mx.uint16, 4: mx.uint32, 8: mx.uint64}[a.dtype.size]
    a = mx.contiguous(mx.flatten(a))
    if name == 'complex64':
        a, wide = mx.stack([mx.real(a), mx.imag(a)], axis=1).flatten(), mx.uint32
    mx.eval(a)
    return bytes(memoryview(mx.view(a, wide))) if a.size else b''


def write_safetensors(path, arrays):
    header, parts, at = {}, [], 0
    for name, a in arrays.items():
        part = array_bytes(a)
        header[name] = {'dtype': SAFETENSORS[dtype_name(a.dtype)], 'shape': list(a.shape),
                        'data_offsets': [at, at + len(part)]}
        parts.append(part)
        at += len(part)
    text = json.dumps(header).encode()
    text += b' ' * (-len(text) % 8)
    with open(path, 'wb') as f:
        f.write(struct.pack('<Q', len(text)) + text + b''.join(parts))


class Writer:
    def __init__(self, trace, names):
        self.trace, self.nodes, self.constants, self.taken = trace, [], {}, set()
        self.inputs = []
        for value, name in zip(trace.inputs, names):
            value.written = self.fresh(re.sub(r'\W', '_', name, flags=re.ASCII) or 'x')
            self.inputs.append({value.written: str(value)})

    def fresh(self, name):
        if name in RESERVED or name[0].isdigit():
            name = '_' + name
        while name in self.taken:
            name += '_'
        self.taken.add(name)
        return name

    def node(self, op, inputs, attributes, count=1):
        """Adds a node; the names of its results."""
        k = len(self.nodes)
        names = [self.fresh('v%d%s' % (k, '' if count == 1 else '_%d' % part)) for part in range(count)]
        who = {'name': names[0]} if count == 1 else {'names': names}
        self.nodes.append({**who, 'op': op, 'inputs': inputs, **attributes})
        return names

    def operand(self, value):
        """A value as an operand: its name, or its constant; what is only spread out gets a node of its own. Lists have
        one operand an element; (op, inputs, attributes) is a node of its own."""
        if isinstance(value, list):
            return [self.operand(v) for v in value]
        if isinstance(value, tuple):
            op, inputs, attributes = value
            return self.node(op, [self.operand(v) for v in inputs], attributes)[0]
        if value.written is not None:
            return value.written
        if value.spread is not None:
            value.written = self.node('broadcast_to', [self.operand(value.spread)], {'shape': value.shape})[0]
        elif value.array is not None and not value.shape:
            return {'const': written_number(value.array.item(), value.dtype), 'dtype': value.dtype}
        elif value.array is not None:
            value.written = self.fresh('c%d' % len(self.constants))
            self.constants[value.written] = value.array
            self.inputs.append({value.written: str(value)})
        return value.written

    def write(self, node, parts):
        """Writes a primitive as its rule's parts."""
        first = node.inputs[0] if node.inputs else None
        if node.primitive == 'Broadcast' and first.array is not None and not first.shape:
            node.outputs[0].spread = first  # written where it is used
        elif len(parts) == 1:
            self.part(node, *parts[0], outputs=node.outputs)
        else:
            for part, out in zip(parts, node.outputs):
                self.part(node, *part, outputs=[out])

    def part(self, node, op, attributes, inputs=None, outputs=()):
        inputs = node.inputs if inputs is None else inputs
        if op == 'alias':
            outputs[0].written, outputs[0].spread, outputs[0].array = \
                inputs[0].written, inputs[0].spread, inputs[0].array
            return
        if node.primitive in ELEMENT_WISE and any(v.spread is None and v.shape == outputs[0].shape for v in inputs):
            inputs = [v.spread if v.spread and v.written is None else v for v in inputs]
        names = self.node(op, [self.operand(v) for v in inputs], attributes, len(outputs))
        for value, name in zip(outputs, names):
            value.written = name

    def output(self, value):
        name = self.operand(value)
        return name if isinstance(name, str) else self.node('copy', [name], {})[0]


def parameter_names(f, args, kwargs):
    """A name for every leaf of the arguments: its parameter's, with the path inside a tree."""
    try:
        parameters = list(inspect.signature(f).parameters.values())
    except (TypeError, ValueError):
        parameters = []
    heads = []
    for k in range(len(args)):
        p = parameters[k] if k < len(parameters) else parameters[-1] if parameters else None
        if p is None or p.kind in (p.VAR_POSITIONAL, p.KEYWORD_ONLY, p.VAR_KEYWORD):
            heads.append('%s%d' % (p.name if p and p.kind == p.VAR_POSITIONAL else 'x', k))
        else:
            heads.append(p.name)
    for head, tree in [*zip(heads, args), *kwargs.items()]:
        for path, _ in leaves(tree):
            yield '_'.join([head, *map(str, path)])


def convert(f, args=(), kwargs=None, name=None):
    """The Program of f(*args, **kwargs): Unsupported lists everything that nuvec has no op for."""
    kwargs = kwargs or {}
    trace = Trace(f, args, kwargs)
    lines = ['%s: no such dtype on a Metal GPU' % v for v in trace.values.values() if v.dtype not in DTYPES]
    writer = Writer(trace, parameter_names(f, args, kwargs))
    for node in trace.nodes:
        parts = TABLE[node.primitive](node) if node.primitive in TABLE else (None, {})
        parts = parts if isinstance(parts, list) else [parts]
        if any(part[0] is None for part in parts):
            lines.append('%s: no op for it' % node)
        elif not lines:
            writer.write(node, parts)
    if lines:
        raise Unsupported(lines)
    outputs = rebuilt(trace.result, iter([writer.output(v) for v in trace.outputs]))
    name = re.sub(r'\W', '_', name or getattr(f, '__name__', 'f'), flags=re.ASCII)
    function = {'inputs': writer.inputs, 'nodes': writer.nodes, 'outputs': outputs}
    return Program('f' if name.startswith('_') or name in RESERVED else name, function, writer.constants, trace)


# ---- the command ----
def example(text):
    """An array of a type such as 'float32[2, 3]'."""
    m = re.fullmatch(r'\s*(\w+)\s*(?:\[([\d\s,]*)\])?\s*', text)
    if not m or m[1] not in DTYPES:
        raise argparse.ArgumentTypeError("'%s' is no type such as float32[2, 3]" % text)
    shape = [int(d) for d in (m[2] or '').replace(',', ' ').split()]
    return mx.zeros(shape, getattr(mx, 'bool_' if m[1] == 'bool' else m[1]))


def argument(text):
    name, equals, kind = text.partition('=')
    return (name, example(kind)) if equals else (None, example(text))


def load(text):
    """The function that MODULE:FUNCTION or FILE.py:FUNCTION names; FUNCTION may be a path a.b."""
    module, colon, name = text.rpartition(':')
    if not colon:
        raise SystemExit("mlx2nuvec.py: '%s': expected MODULE:FUNCTION" % text)
    sys.path.insert(0, os.path.dirname(os.path.abspath(module)) if module.endswith('.py') else os.getcwd())
    if module.endswith('.py'):
        spec = importlib.util.spec_from_file_location(os.path.basename(module)[:-3], module)
        if not os.path.exists(module):
            raise SystemExit("mlx2nuvec.py: '%s': no such file" % module)
        found = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(found)
    else:
        found = importlib.import_module(module)
    for part in name.split('.'):
        found = getattr(found, part)
    return found


def main(argv=None):
    p = argparse.ArgumentParser(description='Writes an MLX function as a nuvec spec in the plain form.')
    p.add_argument('function', help='MODULE:FUNCTION or FILE.py:FUNCTION')
    p.add_argument('--args', nargs='*', type=argument, default=[], metavar='TYPE',
                   help="the arguments' types in order: 'float32[2, 3]', or NAME=TYPE for a keyword")
    p.add_argument('-o', '--output', help='the spec; NAME.safetensors beside it takes the constants (default: the '
                   'spec to standard output)')
    p.add_argument('--name', help="the spec's and the function's name (default: the function's own)")
    a = p.parse_args(argv)
    try:
        f = load(a.function)
        program = convert(f, [v for n, v in a.args if n is None], {n: v for n, v in a.args if n is not None}, a.name)
    except Unsupported as e:
        for line in e.lines:
            print('mlx2nuvec.py: %s: %s' % (a.function, line), file=sys.stderr)
        return 1
    if a.output:
        program.write(a.output)
    else:
        sys.stdout.write(program.text())
        if program.constants:
            print('mlx2nuvec.py: the constants %s are written with -o only' % ', '.join(program.constants),
                  file=sys.stderr)
    return 0


if __name__ == '__main__':
    sys.exit(main())
