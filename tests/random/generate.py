"""generate.py - random graphs as spec documents: many entries a document, the (op, dtype) pairs that came least often
drawn first. Deterministic: the same seed gives the same documents everywhere."""
import random

from moves import DTYPES, EXPANSIONS, expand

MAX_ELEMENTS = 3000
INTS = ('uint8', 'uint16', 'uint32', 'uint64', 'int8', 'int16', 'int32', 'int64')
SIZE = {'bool': 1, 'uint8': 1, 'uint16': 2, 'uint32': 4, 'uint64': 8, 'int8': 1, 'int16': 2, 'int32': 4, 'int64': 8,
        'float16': 2, 'bfloat16': 2, 'float32': 4, 'complex64': 8}
FLOATS = ('float16', 'bfloat16', 'float32')
REDUCTIONS = ('var', 'std', 'logsumexp', 'softmax', 'log_softmax', 'argmax', 'argmin', 'nansum', 'nanprod', 'nanmax',
              'nanmin', 'nanmean', 'nanvar', 'nanstd')


def elements(shape):
    n = 1
    for d in shape:
        n *= d
    return n


def accumulated(dtype):
    """The result dtype of sum and prod."""
    if dtype in ('bool', 'int8', 'int16', 'int32'):
        return 'int32'
    if dtype in ('uint8', 'uint16', 'uint32'):
        return 'uint32'
    return dtype


class Graph:
    """One entry: values by name, each with dtype and shape; statements in the text form."""

    def __init__(self, rng, supported):
        self.rng, self.supported = rng, supported
        self.inputs, self.nodes, self.values, self.counts = {}, [], [], []
        rank = rng.choice((0, 1, 1, 2, 2, 2, 3, 3, 4))
        sizes = (0,) if rng.random() < 0.02 else (1, 2, 3, 5, 8, 16, 33)
        self.base = tuple(rng.choice(sizes) for _ in range(rank))
        if rank and rng.random() < 0.15:  # a long axis: more than one block of a reduction
            self.base = self.base[:-1] + (rng.choice((127, 128, 129, 1023, 1024, 1025, 2500)),)
        while elements(self.base) > MAX_ELEMENTS:
            self.base = self.base[1:]

    # ---- operands ----
    def broadcastable(self):
        """A shape that broadcasts to the base shape."""
        shape = tuple(1 if self.rng.random() < 0.25 else d for d in self.base)
        return shape[self.rng.randrange(len(shape) + 1):] if self.rng.random() < 0.3 else shape

    def input(self, dtype, shape):
        name = 'x%d' % len(self.inputs)
        self.inputs[name] = '%s[%s]' % (dtype, ', '.join(map(str, shape)))
        self.values.append((name, dtype, shape))
        return self.values[-1]

    def node(self, text, dtype, shape, pair):
        name = 'v%d' % len(self.nodes)
        self.nodes.append('%s = %s' % (name, text))
        self.values.append((name, dtype, shape))
        self.counts.append(pair)
        return self.values[-1]

    def fits(self, shape, other):
        """The broadcast of two shapes, None when they don't."""
        out, n = [], max(len(shape), len(other))
        for a, b in zip((1,) * (n - len(shape)) + shape, (1,) * (n - len(other)) + other):
            if a != b and a != 1 and b != 1:
                return None
            out.append(b if a == 1 else a)
        return tuple(out)

    def operand(self, dtype, shape=None):
        """A value of dtype that broadcasts with shape: an old one most of the time, recent ones more often."""
        good = [v for v in self.values if v[1] == dtype and (shape is None or self.fits(v[2], shape) is not None)]
        r = self.rng.random()
        if good and r < 0.75:
            return good[max(self.rng.randrange(len(good)), self.rng.randrange(len(good)))]
        other = [v for v in self.values if shape is None or self.fits(v[2], shape) is not None]
        if other and r < 0.9 and dtype in self.supported.get('astype', ()):
            v = self.rng.choice(other)
            return self.node('astype(%s, %s)' % (v[0], dtype), dtype, v[2], ('astype', v[1]))
        if good and len(self.inputs) >= 6:
            return self.rng.choice(good)
        return self.input(dtype, self.broadcastable() if shape is None or self.fits(self.broadcastable(), shape) is None
                          else shape)

    def literal(self, dtype):
        r = self.rng
        if dtype == 'bool':
            return r.choice(('true', 'false'))
        if dtype == 'complex64':
            return r.choice(('0.5', '2', '1j', '-0.25j'))
        if dtype in FLOATS:
            return r.choice(('0.5', '2.0', '-1.25', '0.1', '3', '-0.0', '1e-3', '0.333333343'))
        return r.choice(('1', '2', '3', '7') if dtype.startswith('u') else ('1', '2', '3', '-5'))

    # ---- one node ----
    def add(self, op, dtype):
        """Appends a node of op whose operands have dtype; False when it can't."""
        r, cls = self.rng, op['class']
        if cls == 'elem' or cls == 'copy':
            return self.add_elem(op, dtype)
        v = self.operand(dtype)
        name, _, shape = v
        if cls == 'reduce':
            axes = sorted(r.sample(range(len(shape)), r.randrange(len(shape) + 1)))
            if r.random() < 0.5 and len(shape):
                axes = [len(shape) - 1]
            if op['name'] in ('max', 'min') and any(shape[a] == 0 for a in axes):
                return False
            keep = r.random() < 0.5
            written = [a - len(shape) if r.random() < 0.3 else a for a in axes]
            text = '%s(%s, axis=%s%s)' % (op['name'], name, written, ', keepdims=true' if keep else '')
            out = tuple(1 if k in axes else d for k, d in enumerate(shape) if keep or k not in axes)
            rule = op['dtype']
            result = {'sum': accumulated(dtype), 'mean': dtype if dtype in FLOATS + ('complex64',) else 'float32'}.get(rule, dtype)
            if rule not in ('sum', 'mean', 'same'):
                result = 'bool' if op['name'] in ('any', 'all') else result
            self.node(text, result, out, (op['name'], dtype))
            return True
        if cls == 'view':
            return self.add_view(op['name'], v)
        if cls == 'scan':
            return self.add_scan(op['name'], v)
        if op['name'] == 'divmod':
            other = self.operand(dtype, shape)
            both = self.fits(shape, other[2])
            if both is None or elements(both) > 4 * MAX_ELEMENTS:
                return False
            self.node('floor_divide(%s, %s)' % (name, other[0]), dtype, both, ('divmod', dtype))
            self.nodes[-1] = 'v%d, w%d = divmod(%s, %s)' % (len(self.nodes) - 1, len(self.nodes) - 1, name, other[0])
            self.values.append(('w%d' % (len(self.nodes) - 1), dtype, both))
            return True
        if op['name'] in ('nan_to_num', 'depends'):
            more = ', ' + r.choice(self.values)[0] if op['name'] == 'depends' else \
                r.choice(('', ', nan=1', ', posinf=2, neginf=-3'))
            self.node('%s(%s%s)' % (op['name'], name, more), dtype, shape, (op['name'], dtype))
            return True
        if op['name'] == 'clip':
            low, high = self.literal(dtype), self.literal(dtype)
            self.node('clip(%s, %s, %s)' % (name, low, high), dtype, shape, ('clip', dtype))
            return True
        if op['name'] in REDUCTIONS:
            return self.add_reduction(op, dtype, v)
        return expand(self, op['name'], dtype, v)

    def add_reduction(self, op, dtype, v):
        """Of those that are made of others."""
        r, (name, _, shape) = self.rng, v
        attrs = {a['name'] for a in op['attrs']}
        axes = sorted(r.sample(range(len(shape)), r.randrange(len(shape) + 1)))
        one = op['name'] in ('argmax', 'argmin')
        if one or r.random() < 0.5:
            axes = axes[-1:] or list(range(len(shape)))[-1:]
        if one and r.random() < 0.2:
            axes, written = list(range(len(shape))), 'None'
        else:
            written = [a - len(shape) if r.random() < 0.3 else a for a in axes]
            written = written[0] if one and written else 'None' if one else written
        if op['name'] in ('argmax', 'argmin', 'nanmax', 'nanmin') and any(shape[a] == 0 for a in axes):
            return False
        keep = 'keepdims' not in attrs or r.random() < 0.5
        text = '%s(%s, axis=%s' % (op['name'], name, written)
        if keep and 'keepdims' in attrs:
            text += ', keepdims=true'
        if 'ddof' in attrs and r.random() < 0.5:
            text += ', ddof=%d' % r.choice((1, 1, 2, -1))
        out = tuple(1 if k in axes else d for k, d in enumerate(shape) if keep or k not in axes)
        if 'keepdims' not in attrs:
            out = shape
        result = {'sum': accumulated(dtype), 'mean': dtype if dtype in FLOATS else 'float32',
                  'uint32': 'uint32'}.get(op['dtype'], dtype)
        self.node(text + ')', result, out, (op['name'], dtype))
        return True

    def add_elem(self, op, dtype):
        r, rule = self.rng, op['dtype']
        params = op['params'].split()
        if any(a['kind'] not in ('dtype', 'int', 'number') for a in op['attrs']) or op['results'] != 1:
            return False
        if op['name'] == 'view' and dtype in FLOATS + ('complex64',):
            if len(self.inputs) >= 6:  # a computed float may be any NaN
                return False
            first = self.input(dtype, self.broadcastable())
        else:
            first = self.operand('bool' if rule == 'select' else dtype)
        shape, names, array = first[2], [first[0]], rule != 'select'
        for k in range(1, len(params)):
            if params[k].endswith('?') and r.random() < 0.5:
                break
            if array and r.random() < 0.2 and k == len(params) - 1:
                names.append(self.literal(dtype))
                continue
            v = self.operand(dtype, shape)
            both = self.fits(shape, v[2])
            if both is None or elements(both) > 4 * MAX_ELEMENTS:
                return False
            shape, array = both, True
            names.append(v[0])
        result = dtype
        if rule in ('compare', 'logical'):
            result = 'bool'
        elif rule in ('float', 'promote_float') and dtype not in FLOATS + ('complex64',):
            result = 'float32'
        elif rule == 'real' and dtype == 'complex64':
            result = 'float32'
        elif rule == 'shift' and dtype == 'bool':
            result = 'uint8'
        elif rule == 'attr':
            result = r.choice([d for d in self.supported['astype'] if op['name'] != 'view' or SIZE[d] == SIZE[dtype]])
            names.append(result)
        elif rule == 'other':
            return False
        self.node('%s(%s)' % (op['name'], ', '.join(names)), result, shape, (op['name'], dtype))
        return True

    def add_scan(self, op, v):
        r, (name, dtype, shape) = self.rng, v
        flat = not shape or r.random() < 0.15
        axis = None if flat else r.choice((len(shape) - 1, r.randrange(len(shape)))) - r.choice((0, len(shape)))
        form = ''.join(', %s=%s' % (k, r.choice(('true', 'false'))) for k in ('reverse', 'inclusive') if r.random() < 0.6)
        out = (elements(shape),) if flat else shape
        self.node('%s(%s, %s%s)' % (op, name, axis, form), dtype, out, (op, dtype))
        return True

    def add_view(self, op, v):
        r, (name, dtype, shape) = self.rng, v
        n = elements(shape)
        if op == 'reshape':
            out, rest = [], n
            while rest > 1 and len(out) < 3:
                divisors = [d for d in range(1, min(rest, 64) + 1) if rest % d == 0]
                out.append(r.choice(divisors))
                rest //= out[-1]
            out.append(rest)
            r.shuffle(out)
            written = list(out)
            if n and r.random() < 0.3:
                written[r.randrange(len(written))] = -1
            text, out = 'reshape(%s, %s)' % (name, written), tuple(out)
        elif op == 'transpose':
            axes = list(range(len(shape)))
            r.shuffle(axes)
            text, out = 'transpose(%s, %s)' % (name, axes), tuple(shape[a] for a in axes)
            if r.random() < 0.3:
                text, out = 'transpose(%s)' % name, shape[::-1]
        elif op == 'broadcast_to':
            out = tuple(r.choice((2, 3)) if d == 1 and r.random() < 0.6 else d for d in shape)
            if len(out) < 4 and r.random() < 0.4:
                out = (r.choice((1, 2, 4)),) + out
            text = 'broadcast_to(%s, %s)' % (name, list(out))
        elif op == 'expand_dims':
            if len(shape) > 4:
                return False
            at = r.randrange(len(shape) + 1)
            text, out = 'expand_dims(%s, %d)' % (name, at), shape[:at] + (1,) + shape[at:]
        elif op == 'squeeze':
            ones = [k for k, d in enumerate(shape) if d == 1]
            if not ones:
                return False
            at = r.choice(ones)
            text, out = 'squeeze(%s, %d)' % (name, at), shape[:at] + shape[at + 1:]
        elif op == 'slice':
            parts, out = [], []
            for d in shape:
                bounds = [r.choice((None, r.randint(-d - 1, d + 1))) for _ in range(2)]
                step = r.choice((None, 1, 1, 2, 3, -1, -2))
                if r.random() < 0.3 and d:
                    parts.append(str(r.randrange(-d, d)))
                    continue
                if r.random() < 0.2:
                    parts.append('None')
                    out.append(1)
                n = len(range(d)[slice(bounds[0], bounds[1], step)])
                if not n and r.random() < 0.9:
                    bounds, n = [None, None], len(range(d)[::step])
                parts.append(':'.join('' if x is None else str(x) for x in bounds + [step]))
                out.append(n)
            if not parts or len(out) > 5:
                return False
            if parts[-1] == ':' and r.random() < 0.5:
                parts[-1] = '...'
            text, out = '%s[%s]' % (name, ', '.join(parts)), tuple(out)
        else:
            return False
        if elements(out) > 4 * MAX_ELEMENTS:
            return False
        self.node(text, dtype, out, (op, dtype))
        return True

    def function(self):
        """The spec's function: outputs are what nothing uses, and some of the others."""
        used = ' '.join(s.split('=', 1)[1] for s in self.nodes)
        used = set(used.replace('(', ' ').replace(')', ' ').replace('[', ' ').replace(']', ' ').replace(',', ' ').split())
        names = [n for s in self.nodes for n in s.split(' =', 1)[0].split(', ')]
        outputs = [n for n in names if n not in used or self.rng.random() < 0.08]
        if self.rng.random() < 0.05:
            outputs.append(self.rng.choice(list(self.inputs)))
        if self.rng.random() < 0.05:
            outputs.append(outputs[0])
        return {'inputs': self.inputs, 'nodes': self.nodes, 'outputs': {'o%d' % k: n for k, n in enumerate(outputs)}}


class Generator:
    def __init__(self, ops, seed):
        self.ops = {o['name']: o for o in ops}
        self.rng = random.Random(seed)
        self.supported = {o['name']: [d for d in o['domain']] for o in ops}
        self.pairs = {(o['name'], d): 0 for o in ops for d in o['domain']
                      if self.possible(o) and (o['name'] not in EXPANSIONS or d in DTYPES)}
        self.dead = set()

    @staticmethod
    def possible(o):
        kinds = {a['kind'] for a in o['attrs']}
        if o['name'] in EXPANSIONS:
            return True
        if o['class'] == 'elem':
            return o['results'] == 1 and o['dtype'] != 'other' and not kinds - {'dtype', 'int', 'number'}
        if o['class'] == 'expand':
            return o['name'] != 'trace'  # its result has another dtype; tests/moves has it
        return o['class'] in ('view', 'reduce', 'scan', 'copy') and o['dtype'] != 'other'

    def graph(self):
        g = Graph(self.rng, self.supported)
        target = self.rng.choice((4, 8, 12, 20, 30))
        order = sorted(self.pairs, key=lambda p: (self.pairs[p], self.rng.random()))
        k = 0
        while len(g.nodes) < target and k < len(order) * 2:
            op, dtype = order[k % max(1, len(order) // 3)] if self.rng.random() < 0.4 else self.rng.choice(order)
            k += 1
            g.add(self.ops[op], dtype)
        for p in g.counts:
            if p in self.pairs:
                self.pairs[p] += 1
        return g.function()

    def document(self, name, count):
        return {'nuvec': 1, 'name': name, 'functions': {'g%d' % k: self.graph() for k in range(count)}}
