"""signatures.py - names, order and defaults of our ops' and composites' attributes against MLX's Python functions, by
introspection: mlx.core's own signature texts, inspect for mlx.nn."""
import ast
import inspect
import os
import re

import compare
import mlx.core as mx

# (op, ours, MLX's): what is said otherwise on purpose.
OTHERWISE = {
    'clip': "MLX: a, a_min, a_max; ops.md: x, min, max",
    'depends': "MLX: two lists of arrays",
    'slice': "MLX: x[start:stop:step]; its mx.slice is dynamic_slice here",
    'slice_update': "MLX: x[start:stop:step] = update; its mx.slice_update is dynamic_slice_update here",
    'dynamic_slice': "MLX: mx.slice with an array of starts",
    'dynamic_slice_update': "MLX: mx.slice_update",
    'gather': "MLX: x[i, j] with index arrays",
    'meshgrid': "MLX: any number of arrays",
    'copy': "MLX: mx.array(a), or copy.copy",
    'arange': "MLX's is overloaded: arange(stop) and arange(start, stop, step)",
    'tri': "MLX's dtype is None, which is float32",
    'log_softmax': "mlx.nn's has axis only, and it is an operation here",
    **{n: "MLX: random.%s, the key last, shape [] by default" % n for n in ('uniform', 'normal', 'bernoulli', 'randint', 'gumbel')},
    'categorical': "MLX: random.categorical, the key last",
    'random_key': "MLX: random.key",
    'random_split': "MLX: random.split",
    'dropout': "MLX: nn.Dropout, a layer",
    'nan_equal': "MLX: only inside array_equal(equal_nan=True)",
}
OURS_ALONE = ('hard_sigmoid', 'lerp', 'hypot', 'sinc', 'heaviside', 'logit', 'smooth_l1', 'huber',
              'binary_cross_entropy', 'binary_cross_entropy_with_logits')  # losses: MLX reduces in the same function


def core_signature(name):
    """[(name, default text or None, positional only?)] of mx.NAME, without stream."""
    text = getattr(mx, name).__nb_signature__[0][0]
    arguments = ast.parse(re.sub(r'\s*->.*', '', text) + ': pass').body[0].args
    out = []
    every = arguments.posonlyargs + arguments.args
    defaults = [None] * (len(every) - len(arguments.defaults)) + arguments.defaults
    for k, (a, d) in enumerate(zip(every, defaults)):
        out.append((a.arg, d and ast.unparse(d), k < len(arguments.posonlyargs)))
    for a, d in zip(arguments.kwonlyargs, arguments.kw_defaults):
        out.append((a.arg, d and ast.unparse(d), False))
    return [p for p in out if p[0] != 'stream']


def canonical(default):
    """A default's text as a comparable value; None: no default."""
    if default is None:
        return 'required'
    text = {'true': 'True', 'false': 'False'}.get(str(default), str(default))
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text


def check_op(o):
    """Texts of what differs."""
    name = o['name']
    theirs = core_signature(name)
    operands = o['params'].split()
    bad = []
    if len(theirs) < len(operands):
        return ['%s: MLX takes %s' % (name, [p[0] for p in theirs])]
    for mine, (their, _, positional) in zip(operands, theirs):
        if not positional and mine.rstrip('?') != their:
            bad.append('%s: operand %s, MLX: %s' % (name, mine, their))
    attributes = [(a['name'], canonical(a['default'])) for a in o['attrs']]
    wanted = [(p[0], canonical(p[1])) for p in theirs[len(operands):]]
    if attributes != wanted:
        bad.append('%s: attributes %s, MLX: %s' % (name, attributes, wanted))
    return bad


def composites():
    """name -> [(parameter, default)] of specs/composites.yaml."""
    with open(os.path.join(compare.ROOT, 'specs', 'composites.yaml'), encoding='utf-8') as f:
        text = f.read()
    out = {}
    for name, body in re.findall(r'^  (\w+):\n((?:    .*\n|\s*\n)*)', text, re.M):
        inputs = re.search(r'^    inputs: \{(.*)\}', body, re.M)
        static = re.search(r'^    static: \{(.*)\}', body, re.M)
        parameters = [(k, 'required') for k in re.findall(r'(\w+): "', inputs[1])] if inputs else []
        parameters += [(k, canonical(v)) for k, v in re.findall(r'(\w+): ([-\w.]+)', static[1])] if static else []
        out[name] = parameters
    return out


def check_composite(name, mine):
    f = compare.python_function(name)
    if f is None:
        return [] if name in OURS_ALONE else ['%s: neither mlx.nn nor mlx.core has it' % name]
    try:
        theirs = [(p.name, 'required' if p.default is p.empty else p.default)
                  for p in inspect.signature(inspect.unwrap(f)).parameters.values()]
    except (ValueError, TypeError):
        theirs = [(p[0], canonical(p[1])) for p in core_signature(name)]
    if mine != theirs:
        return ['%s: parameters %s, MLX: %s' % (name, mine, theirs)]
    return []


def run(oplist):
    """(ops and composites compared, texts of what differs)"""
    n, bad = 0, []
    for o in oplist:
        if o['name'] not in OTHERWISE and compare.mlx_has(o['name']):
            n += 1
            bad += check_op(o)
    for name, mine in composites().items():
        n += 1
        bad += check_composite(name, mine)
    return n, bad
