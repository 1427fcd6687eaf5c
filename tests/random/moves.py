"""moves.py - for generate.py: calls of the ops that are expanded while tracing (views, creation, movement, indexing). They
don't look at dtypes, so a few stand for all."""
DTYPES = ('bool', 'uint8', 'int64', 'float16', 'float32')
VIEWS = ('flatten', 'unflatten', 'moveaxis', 'swapaxes', 'flip')
CREATION = ('full', 'zeros', 'ones', 'full_like', 'zeros_like', 'ones_like', 'arange', 'linspace', 'eye', 'identity', 'tri',
            'tril', 'triu')
MOVEMENT = ('concatenate', 'stack', 'split', 'pad', 'repeat', 'tile', 'roll', 'meshgrid', 'diag', 'diagonal')
INDEXING = ('take', 'take_along_axis', 'gather', 'dynamic_slice', 'slice_update', 'dynamic_slice_update', 'as_strided',
            'contiguous', 'put_along_axis', 'scatter', 'scatter_add', 'scatter_prod', 'scatter_max', 'scatter_min')
RANDOM = ('random_bits', 'uniform', 'normal', 'bernoulli', 'randint', 'gumbel', 'categorical', 'dropout')
EXPANSIONS = RANDOM + ('random_key', 'random_split') + VIEWS + CREATION + MOVEMENT + INDEXING
INTS = ('uint8', 'uint16', 'uint32', 'uint64', 'int8', 'int16', 'int32', 'int64')


def view(r, op, name, shape):
    rank = len(shape)
    if op == 'flatten':
        if not rank:
            return 'flatten(%s)' % name, (1,)
        a = r.randrange(rank)
        b = r.randrange(a, rank)
        n = 1
        for d in shape[a:b + 1]:
            n *= d
        return 'flatten(%s, %d, %d)' % (name, a, b - rank), shape[:a] + (n,) + shape[b + 1:]
    if not rank:
        return ('flip(%s)' % name, shape) if op == 'flip' else None
    a, b = r.randrange(rank), r.randrange(rank)
    if op == 'unflatten':
        divisors = [d for d in range(1, min(shape[a], 40) + 1) if shape[a] % d == 0] or [1]
        first = r.choice(divisors)
        if rank > 4:
            return None
        return 'unflatten(%s, %d, [%d, -1])' % (name, a, first), shape[:a] + (first, shape[a] // first) + shape[a + 1:]
    if op == 'moveaxis':
        out = list(shape)
        out.insert(b, out.pop(a))
        return 'moveaxis(%s, %d, %d)' % (name, a, b - rank), tuple(out)
    if op == 'swapaxes':
        out = list(shape)
        out[a], out[b] = out[b], out[a]
        return 'swapaxes(%s, %d, %d)' % (name, a - rank, b), tuple(out)
    axes = r.sample(range(rank), r.randint(1, rank))
    return ('flip(%s)' % name if r.random() < 0.3 else 'flip(%s, %s)' % (name, axes)), shape


def create(g, op, dtype, name, shape):
    r = g.rng
    some = g.broadcastable()
    n = r.choice(tuple(shape[-1:]) + (1, 2, 5, 33))
    m, k = r.choice(tuple(shape[-1:]) + (1, 3, 8)), r.randint(-3, 4)
    if op in ('zeros', 'ones'):
        return '%s(%s, %s)' % (op, list(some), dtype), some
    if op == 'full':
        return 'full(%s, %s, %s)' % (list(some), g.literal(dtype), dtype), some
    if op == 'full_like':
        return 'full_like(%s, %s)' % (name, g.literal(dtype)), shape
    if op in ('zeros_like', 'ones_like'):
        return '%s(%s)' % (op, name), shape
    if op == 'arange':
        if dtype == 'bool':
            return None
        start, step = r.choice((0, 0, 1, 3)), r.choice((1, 1, 2))
        if dtype in ('float16', 'float32') and r.random() < 0.5:
            return 'arange(%g, %g, 0.5, %s)' % (start, start + n / 2, dtype), (n,)
        return 'arange(%d, %d, %d, %s)' % (start, start + n * step, step, dtype), (n,)
    if op == 'linspace':
        if dtype == 'bool':
            return None
        return 'linspace(%d, %d, %d, dtype=%s)' % (r.randint(0, 3), r.randint(0, 9), n, dtype), (n,)
    if op == 'identity':
        return 'identity(%d, %s)' % (n, dtype), (n, n)
    if op in ('eye', 'tri'):
        return '%s(%d, %d, %d, %s)' % (op, n, m, k, dtype), (n, m)
    if len(shape) < 2:
        return None
    return '%s(%s, %d)' % (op, name, k), shape


def move(g, op, dtype, name, shape):
    r, rank = g.rng, len(shape)
    if op == 'meshgrid':
        return ('meshgrid(%s, %s)[%d]' % (name, name, r.randrange(2)), shape * 2) if rank == 1 else None
    if not rank or rank > 4:
        return None
    a, n = r.randrange(rank), r.randint(0, 3)
    if op == 'concatenate':
        fits = [v for v in g.values if v[1] == dtype and len(v[2]) == rank and v[2][:a] + v[2][a + 1:] == shape[:a] + shape[a + 1:]]
        parts = [r.choice(fits) for _ in range(r.choice((2, 2, 3, 9)))]
        out = shape[:a] + (sum(v[2][a] for v in parts),) + shape[a + 1:]
        return 'concatenate([%s], %d)' % (', '.join(v[0] for v in parts), a - rank), out
    if op == 'stack':
        fits = [v for v in g.values if v[1] == dtype and v[2] == shape]
        parts = [r.choice(fits) for _ in range(r.choice((1, 2, 3)))]
        return 'stack([%s], %d)' % (', '.join(v[0] for v in parts), a), shape[:a] + (len(parts),) + shape[a:]
    if op == 'split':
        at = sorted(r.randint(0, shape[a]) for _ in range(2))
        k = r.randrange(3)
        d = (at[0], at[1] - at[0], shape[a] - at[1])[k]
        return 'split(%s, %s, %d)[%d]' % (name, at, a, k), shape[:a] + (d,) + shape[a + 1:]
    if op == 'pad':
        w = [(r.randint(0, 2), r.randint(0, 3)) for _ in shape]
        mode = r.choice((', "edge"', '', ', constant_values=%s' % g.literal(dtype)))
        if 'edge' in mode and 0 in shape:
            return None
        return 'pad(%s, %s%s)' % (name, [list(p) for p in w], mode), tuple(d + p[0] + p[1] for d, p in zip(shape, w))
    if op == 'repeat':
        return 'repeat(%s, %d, %d)' % (name, n, a), shape[:a] + (shape[a] * n,) + shape[a + 1:]
    if op == 'tile':
        reps = [r.choice((1, 1, 2, 3)) for _ in shape]
        return 'tile(%s, %s)' % (name, reps), tuple(d * k for d, k in zip(shape, reps))
    if op == 'roll':
        return 'roll(%s, %d%s)' % (name, r.randint(-9, 9), ', %d' % a if r.random() < 0.7 else ''), shape
    k = r.randint(-4, 4)
    if op == 'diag' and rank == 1:
        return 'diag(%s, %d)' % (name, k), (shape[0] + abs(k),) * 2
    if rank < 2:
        return None
    b = (a + 1) % rank
    if op == 'diag' and rank != 2:
        return None
    if op == 'diag':
        a, b = 0, 1
    m = max(min(shape[a] - max(-k, 0), shape[b] - max(k, 0)), 0)
    out = tuple(d for i, d in enumerate(shape) if i not in (a, b)) + (m,)
    return ('diag(%s, %d)' % (name, k) if op == 'diag' else 'diagonal(%s, %d, %d, %d)' % (name, k, a, b)), out


def indices(g, fits=lambda shape: True):
    """An array of integers: a value that is one, else a new input, often brought near the sizes that occur."""
    r = g.rng
    good = [v for v in g.values if v[1] in INTS and fits(v[2])]
    if good and r.random() < 0.7:
        name, dtype, shape = r.choice(good)
    elif len(g.inputs) < 8:
        shape = r.choice([s for s in ((), (3,), (2, 3), (1, 5), (4,), (0,)) if fits(s)] or [None])
        if shape is None:
            return None
        name, dtype, shape = g.input(r.choice(INTS), shape)
    else:
        return None
    if r.random() < 0.5:
        return '%s %% %d' % (name, r.choice((2, 3, 5, 9))), shape
    return name, shape


def n_of(shape):
    n = 1
    for d in shape:
        n *= d
    return n


def index(g, op, dtype, name, shape):
    r, rank = g.rng, len(shape)
    if not rank:
        return None
    a = r.randrange(rank)
    if op == 'take':
        i = indices(g)
        if not i:
            return None
        if r.random() < 0.2:
            return 'take(%s, %s)' % (name, i[0]), i[1]
        if a == 0 and r.random() < 0.5:
            return '(%s)[%s]' % (name, i[0]), i[1] + shape[1:]
        return 'take(%s, %s, %d)' % (name, i[0], a - rank), shape[:a] + i[1] + shape[a + 1:]
    if op == 'take_along_axis':
        def fits(s):
            return len(s) == rank and all(k == a or d == e or d == 1 or e == 1 for k, (d, e) in enumerate(zip(s, shape)))
        i = indices(g, fits)
        if not i:
            return None
        out = tuple(d if k == a else e if d == 1 else d for k, (d, e) in enumerate(zip(i[1], shape)))
        return 'take_along_axis(%s, %s, %d)' % (name, i[0], a), out
    if op == 'put_along_axis':
        i = indices(g, lambda s: len(s) == rank and all(k == a or d in (1, e) for k, (d, e) in enumerate(zip(s, shape))))
        return i and ('put_along_axis(%s, %s, %s, %d)' % (name, i[0], g.literal(dtype), a), shape)
    if op.startswith('scatter'):
        i = indices(g)
        if not i or n_of(i[1]) * n_of(shape) > 60000:
            return None
        rest = i[1] + shape[:a] + shape[a + 1:]
        u = [v[0] for v in g.values if v[1] == dtype and g.fits(v[2], rest) == rest]
        u = r.choice(u) if u and r.random() < 0.8 else g.literal(dtype)
        return '%s(%s, %s, %s, %d)' % (op, name, i[0], u, a - rank), shape
    if op == 'contiguous':
        return 'contiguous(%s)' % name, shape
    if op == 'as_strided':
        n, least, most, strides = 1, 0, 0, []
        for d in shape:
            n *= d
        out = tuple(r.choice((1, 2, 3, 5)) for _ in range(r.randint(1, 3)))
        for d in out:
            s = r.choice((0, 1, 1, 2, -1, 3))
            strides.append(s if most - least + abs(s) * (d - 1) < n else 0)
            least, most = least + min(strides[-1] * (d - 1), 0), most + max(strides[-1] * (d - 1), 0)
        return ('as_strided(%s, %s, %s, %d)' % (name, list(out), strides, -least), out) if n else None
    if op == 'slice_update':
        k = r.choice((1, 2, -1))
        u = [v for v in g.values if len(v[2]) <= 1 and (v[2] in ((), (1,)))]
        what = r.choice(u)[0] if u and r.random() < 0.6 else '%s[%s]' % (name, ', '.join(['::-1'] * a + ['::%d' % k]))
        return 'slice_update(%s, %s, step=[%s])' % (name, what, ', '.join(['1'] * a + [str(k)])), shape
    sizes = [r.randint(0 if r.random() < 0.1 else min(d, 1), d) for d in shape]
    if op == 'dynamic_slice_update':
        axes = r.sample(range(rank), r.choice((1, 1, rank)))
        i = indices(g, lambda s: s == (len(axes),) or (s == () and len(axes) == 1))
        block = ', '.join(':%d' % d for d in sizes)
        return i and ('dynamic_slice_update(%s, %s[%s], %s, %s)' % (name, name, block, i[0], axes), shape)
    if op == 'dynamic_slice':
        axes = r.sample(range(rank), r.choice((1, 1, rank)))
        i = indices(g, lambda s: s == (len(axes),) or (s == () and len(axes) == 1))
        return i and ('dynamic_slice(%s, %s, %s, %s)' % (name, i[0], axes, sizes), tuple(sizes))
    axes = r.sample(range(rank), r.randint(1, min(rank, 2)))
    at, lead = [], ()
    for _ in axes:
        i = indices(g, lambda s: g.fits(s, lead) is not None)
        if not i:
            return None
        at.append(i[0])
        lead = g.fits(i[1], lead)
    if r.random() < 0.5:
        sizes = [1 if k in axes else d for k, d in enumerate(shape)]
        return 'gather(%s, [%s], %s)' % (name, ', '.join(at), axes), lead + tuple(sizes)
    return 'gather(%s, [%s], %s, %s)' % (name, ', '.join(at), axes, sizes), lead + tuple(sizes)


def draw(g, op, dtype, name, shape):
    """A draw by a key that is made of another, so that several are of one graph."""
    r, some = g.rng, list(g.broadcastable())
    key = 'random_split(random_key(%d))[%d]' % (r.randrange(3), r.randrange(2))
    if op == 'random_bits':
        return 'random_bits(%s, %s, 1)' % (key, some), tuple(some)
    if op == 'dropout':
        return 'dropout(%s, %s, %s)' % (name, key, r.choice(('0.5', '0.1'))), shape
    if op == 'bernoulli':
        return 'bernoulli(%s, %s, %s)' % (key, r.choice(('0.5', '0.3')), some), tuple(some)
    if op == 'randint':
        return 'randint(%s, 1, %d, %s, %s)' % (key, r.choice((4, 100)), some, dtype), tuple(some)
    if op == 'gumbel':
        return 'gumbel(%s, %s, %s)' % (key, some, dtype), tuple(some)
    if op == 'categorical':
        axis = r.randrange(len(shape)) if shape else 0
        if not shape or not shape[axis]:
            return None
        rest = tuple(d for k, d in enumerate(shape) if k != axis)
        if r.random() < 0.5:
            return 'categorical(%s, %s, %d)' % (name, key, axis), rest
        return 'categorical(%s, %s, %d, num_samples=2)' % (name, key, axis), rest + (2,)
    if op == 'normal':
        return 'normal(%s, %s, %s%s)' % (key, some, dtype, r.choice(('', ', scale=2'))), tuple(some)
    return 'uniform(%s, 0, 1, %s, %s)' % (key, some, dtype), tuple(some)


def expand(g, op, dtype, v):
    """Appends a call of op, which takes (or gives) dtype; v is a value of it. False when it can't."""
    made = draw(g, op, dtype, v[0], v[2]) if op in RANDOM else view(g.rng, op, v[0], v[2]) if op in VIEWS else create(g, op, dtype, v[0], v[2]) if op in CREATION else \
        move(g, op, dtype, v[0], v[2]) if op in MOVEMENT else index(g, op, dtype, v[0], v[2]) if op in INDEXING else None
    if not made:
        return False
    n = 1
    for d in made[1]:
        n *= d
    if n > 12000 or len(made[1]) > 5:
        return False
    g.node(made[0], 'uint32' if op == 'categorical' else dtype, made[1], (op, dtype))
    return True
