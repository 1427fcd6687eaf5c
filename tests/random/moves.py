"""moves.py - for generate.py: calls of the ops that are expanded while tracing (views, creation, movement). They don't look
at dtypes, so a few stand for all."""
DTYPES = ('bool', 'uint8', 'int64', 'float16', 'float32')
VIEWS = ('flatten', 'unflatten', 'moveaxis', 'swapaxes', 'flip')
CREATION = ('full', 'zeros', 'ones', 'full_like', 'zeros_like', 'ones_like', 'arange', 'linspace', 'eye', 'identity', 'tri',
            'tril', 'triu')
EXPANSIONS = VIEWS + CREATION


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
        return 'linspace(%d, %d, %d, %s)' % (r.randint(0, 3), r.randint(0, 9), n, dtype), (n,)
    if op == 'identity':
        return 'identity(%d, %s)' % (n, dtype), (n, n)
    if op in ('eye', 'tri'):
        return '%s(%d, %d, %d, %s)' % (op, n, m, k, dtype), (n, m)
    if len(shape) < 2:
        return None
    return '%s(%s, %d)' % (op, name, k), shape


def expand(g, op, dtype, v):
    """Appends a call of op, which takes (or gives) dtype; v is a value of it. False when it can't."""
    made = view(g.rng, op, v[0], v[2]) if op in VIEWS else create(g, op, dtype, v[0], v[2]) if op in CREATION else None
    if not made:
        return False
    n = 1
    for d in made[1]:
        n *= d
    if n > 12000 or len(made[1]) > 5:
        return False
    g.node(made[0], dtype, made[1], (op, dtype))
    return True
