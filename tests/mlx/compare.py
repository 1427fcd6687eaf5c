"""compare.py - one case (an op on arrays) computed by nuvecc --eval and by MLX, and the comparison of the two."""
import json
import os
import subprocess

import arrays
import mlx.core as mx
import mlx.nn as nn
import numpy as np

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.path.join(ROOT, os.environ.get('BUILD', 'build'))
ULP = 4  # what a function may differ by where the op isn't exact


# ---- MLX's side ----
def mx_dtype(name):
    return getattr(mx, 'bool_' if name == 'bool' else name)


def keyword(attrs):
    out = {k: mx_dtype(v) if k == 'dtype' else v for k, v in attrs.items()}
    if isinstance(out.get('axis'), list) and len(out['axis']) == 1:
        out['axis'] = out['axis'][0]  # argmax takes no list
    return out


def gather(x, indices, at):
    """By an index array for every axis: the block's start, and within it the element's own place."""
    axes = [at['axes']] if isinstance(at['axes'], int) else at['axes']
    sizes = at.get('slice_sizes') or [1 if k in axes else n for k, n in enumerate(x.shape)]
    rank, every = x.ndim, []
    for k, n in enumerate(sizes):
        own = mx.arange(n).reshape([n if i == k else 1 for i in range(rank)])
        start = indices[axes.index(k)] if k in axes else None
        if start is not None:
            start = mx.where(start < 0, start + x.shape[k], start)
            own = mx.expand_dims(start, list(range(start.ndim, start.ndim + rank))) + own
        every.append(own)
    lead = max((i.ndim for i in indices), default=0) + rank
    return x[tuple(mx.broadcast_arrays(*[e.reshape([1] * (lead - e.ndim) + list(e.shape)) for e in every]))]


def replaced(x, update, at):
    x = mx.array(x)
    x[tuple(slice(*t) for t in zip(*(at.get(k) or [None] * x.ndim for k in ('start', 'stop', 'step'))))] = update
    return x


def drawn(name):
    """mx.random.NAME, whose key comes last."""
    return lambda ins, at: getattr(mx.random, name)(**keyword(at), key=ins[0])


def updated(name, ins, at):
    """x.at[…].NAME(updates), or x[…] = updates."""
    x, places, u = ins[0], list(ins[1:-1]), ins[-1]
    axes = at.get('axis', 0)
    axes = [axes] if isinstance(axes, int) else list(axes)
    axes = [a % x.ndim for a in axes]
    order = [*axes, *(k for k in range(x.ndim) if k not in axes)]
    x = mx.transpose(mx.array(x), order)
    index = tuple(mx.broadcast_arrays(*places)) if len(places) > 1 else places[0]
    if name:
        x = getattr(x.at[index], name)(u)
    else:
        x[index] = u
    return mx.transpose(x, [order.index(k) for k in range(x.ndim)])


# Ops that aren't mx.NAME(*inputs, **attributes).
CALLS = {
    **{name: drawn(name) for name in ('uniform', 'normal', 'bernoulli', 'randint', 'gumbel')},
    'categorical': lambda ins, at: mx.random.categorical(ins[0], key=ins[1], **at),
    'random_key': lambda ins, at: mx.random.key(at['seed']),
    'random_split': lambda ins, at: mx.random.split(ins[0], at['num']),
    'dropout': lambda ins, at: (mx.random.bernoulli(1 - at['p'], ins[0].shape, ins[1]) * ins[0]) * (1 / (1 - at['p'])),
    'nan_equal': lambda ins, at: mx.logical_or(mx.equal(*ins), mx.logical_and(mx.not_equal(ins[0], ins[0]),
                                                                             mx.not_equal(ins[1], ins[1]))),
    'astype': lambda ins, at: ins[0].astype(mx_dtype(at['dtype'])),
    'copy': lambda ins, at: mx.array(ins[0]),
    'slice': lambda ins, at: ins[0][tuple(slice(*t) for t in zip(*(at.get(k) or [None] * ins[0].ndim
                                                                    for k in ('start', 'stop', 'step'))))],
    'depends': lambda ins, at: mx.depends([ins[0]], list(ins[1:]))[0],
    'gather': lambda ins, at: gather(ins[0], ins[1:], at),
    **{op: lambda ins, at, name=name: updated(name, ins, at) for op, name in (
        ('scatter', None), ('scatter_add', 'add'), ('scatter_prod', 'multiply'), ('scatter_max', 'maximum'),
        ('scatter_min', 'minimum'))},
    'slice_update': lambda ins, at: replaced(*ins, at),
    'dynamic_slice_update': lambda ins, at: mx.slice_update(*ins, at['axes']),
    'dynamic_slice': lambda ins, at: mx.slice(*ins, at['axes'], at['slice_size']),
    'concatenate': lambda ins, at: mx.concatenate(ins, **at),
    'stack': lambda ins, at: mx.stack(ins, **at),
    'tile': lambda ins, at: mx.tile(ins[0], at['reps']),
}
LISTS = ('concatenate', 'stack')  # their operand is one list


COMPOSITES = {'hard_swish': 'hardswish', 'gelu_fast': 'gelu_fast_approx'}  # those with another name in mlx.nn


def python_function(op):
    """MLX's function of an op's or a composite's name, or None."""
    return getattr(mx, op, None) or getattr(nn, COMPOSITES.get(op, op), None)


def mlx_op(op, ins, attrs):
    """The results as a list, evaluated."""
    call = CALLS.get(op)
    out = call(ins, attrs) if call else python_function(op)(*ins, **keyword(attrs))
    out = list(out) if isinstance(out, (tuple, list)) else [out]
    mx.eval(out)
    return out


def mlx_has(op):
    return op in CALLS or python_function(op) is not None


# ---- our side ----
class Refused(Exception):
    """The compiler's own words; .later when the op or dtype isn't built yet."""

    def __init__(self, text):
        super().__init__(text)
        self.later = 'not supported yet' in text


def type_text(a):
    return '%s[%s]' % (a.dtype, ', '.join(map(str, a.shape))) if a.shape else a.dtype


def evaluate(document, inputs, folder, entry=None):
    """nuvecc --eval: the outputs by name."""
    paths = [os.path.join(folder, n) for n in ('spec.json', 'in.safetensors', 'out.safetensors')]
    with open(paths[0], 'w', encoding='utf-8') as f:
        f.write(document if isinstance(document, str) else json.dumps(document))
    arrays.write(paths[1], inputs)
    command = [os.path.join(BUILD, 'nuvecc'), '--eval=' + paths[1], '--eval-output=' + paths[2], paths[0]]
    r = subprocess.run(command + (['--entry=' + entry] if entry else []), stderr=subprocess.PIPE, text=True)
    if r.returncode:
        raise Refused(r.stderr)
    return arrays.read(paths[2])


class Case:
    """An op on arrays: .op, .dtypes, .ins (Bits), .attrs, .results (their number). While results are compared .ours
    and .theirs are the part-th of them."""

    def __init__(self, op, ins, attrs=None, results=1):
        self.op, self.ins, self.attrs, self.results = op, ins, attrs or {}, results
        self.dtypes = tuple(a.dtype for a in ins)
        self.ours = self.theirs = None
        self.part = 0

    def __str__(self):
        attrs = ''.join(', %s=%s' % kv for kv in self.attrs.items())
        return '%s(%s%s)' % (self.op, ', '.join(self.dtypes), attrs)

    def document(self):
        names = ['x%d' % k for k in range(len(self.ins))]
        outs = ['y%d' % k for k in range(self.results)]
        node = {'op': self.op, 'inputs': [names] if self.op in LISTS else names, **self.attrs}
        node.update({'name': outs[0]} if self.results == 1 else {'names': outs})
        return {'nuvec': 1, 'name': 'f', 'functions': {'f': {
            'inputs': [{n: type_text(a)} for n, a in zip(names, self.ins)], 'nodes': [node],
            'outputs': outs[0] if self.results == 1 else outs}}}

    def run(self, folder):
        """(our results, MLX's results), either of them the exception of a refusal."""
        try:
            found = evaluate(self.document(), {'x%d' % k: a for k, a in enumerate(self.ins)}, folder)
            ours = [found['y%d' % k] for k in range(self.results)]
        except Refused as e:
            ours = e
        try:
            theirs = [arrays.from_mlx(a) for a in mlx_op(self.op, [a.mlx() for a in self.ins], self.attrs)]
        except (ValueError, TypeError, RuntimeError) as e:
            theirs = e
        return ours, theirs

    # ---- what the table of exceptions asks ----
    def x(self, k):
        """Operand k as numbers, spread over the result's shape."""
        v = self.ins[k].values()
        return np.broadcast_to(v.reshape(self.ins[k].shape), self.ours.shape).reshape(-1)

    def promoted(self, k):
        """Operand k as numbers after conversion to the result's dtype, for ops whose operands have it."""
        a = arrays.from_mlx(mx.broadcast_to(self.ins[k].mlx().astype(mx_dtype(self.ours.dtype)), self.ours.shape))
        return a.values()

    def common(self, k):
        """Operand k as numbers after conversion to the dtype that all operands promote to."""
        dtype = self.ins[0].mlx().dtype
        for a in self.ins[1:]:
            dtype = mx.result_type(dtype, mx_dtype(a.dtype))
        a = arrays.from_mlx(mx.broadcast_to(self.ins[k].mlx().astype(dtype), self.ours.shape))
        return a.values()


class Tally:
    """What the comparison came to: values, the largest distance an op, and how often each exception applied."""

    def __init__(self, table):
        self.table = table
        self.cases = self.values = self.later = self.equal = 0
        self.used = {id(row): [0, None] for row in table}
        self.worst = {}
        self.failures = []

    def use(self, row, count, example):
        entry = self.used[id(row)]
        entry[0] += int(count)
        entry[1] = entry[1] or example

    def compare(self, case, ours, theirs, exact):
        """Holds one case's results to the rule; what the table explains is counted there, the rest is a failure."""
        if isinstance(ours, Refused) and ours.later:
            self.later += 1
            return
        self.cases += 1
        if isinstance(ours, Exception) or isinstance(theirs, Exception):
            self.refusals(case, ours, theirs)
            return
        for k, (a, b) in enumerate(zip(ours, theirs)):
            case.part, case.ours, case.theirs = k, a, b
            if (a.dtype, a.shape) != (b.dtype, b.shape):
                row = next((r for r in self.table if r.applies(case) and r.what == 'dtype'), None)
                if row:
                    self.use(row, 1, str(case))
                else:
                    self.failures.append('%s: ours %s, MLX %s' % (case, type_text(a), type_text(b)))
                continue
            self.elements(case, a, b, exact)

    def refusals(self, case, ours, theirs):
        mine, yours = isinstance(ours, Exception), isinstance(theirs, Exception)
        if mine and yours:
            return
        what = 'ours refuses' if mine else 'MLX refuses'
        row = next((r for r in self.table if r.what == what and r.applies(case)), None)
        if row:
            self.use(row, 1, str(case))
        else:
            self.failures.append('%s: %s: %s' % (case, what, str(ours if mine else theirs).strip().split('\n')[0]))

    def elements(self, case, a, b, exact):
        self.values += a.data.size
        d = arrays.distance(a, b)
        left = d > (0 if exact or a.dtype not in (*arrays.FLOATS, 'complex64') else ULP)
        self.equal += int((d == 0).sum())
        for row in self.table:
            if not left.any():
                break
            if row.what != 'value' or not row.applies(case):
                continue
            with np.errstate(all='ignore'):
                hit = left & row.where(case, d) if row.where else left
            if hit.any():
                at = int(np.flatnonzero(hit)[0])
                self.use(row, hit.sum(), self.shown(case, at))
                left = left & ~hit
                d = np.where(hit, 0.0, d)
        if left.any():
            wrong = np.flatnonzero(left)
            self.failures.append('%s: %d of %d values: %s' % (case, len(wrong), len(left), '; '.join(
                self.shown(case, int(i)) + ' (%g ulp)' % d[i] for i in wrong[:4])))
        elif d.size:
            key = (case.op, a.dtype)
            self.worst[key] = max(self.worst.get(key, 0.0), float(d.max()))

    @staticmethod
    def shown(case, i):
        ins = []
        for k in range(len(case.ins)):
            try:
                ins.append(str(case.x(k)[i]))
            except ValueError:  # a reduction's operand
                ins.append('…')
        return '%s(%s) ours %s MLX %s' % (case.op, ', '.join(ins), case.ours.values()[i], case.theirs.values()[i])
