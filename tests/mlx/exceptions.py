"""exceptions.py - where nuvec and MLX differ, each with its reason. A row that explains nothing any more is a failure:
the table holds what is true now. Kinds:
  ours      by intent: ops.md says so
  MLX       a fault of MLX's CPU build, or a limit of it
  library   MLX's CPU build computes the function by a coarser approximation
  order     sums and products are taken in another order, or rounded at another place"""
import numpy as np

SIXTEEN = ('float16', 'bfloat16')
REAL_FLOATS = ('float16', 'bfloat16', 'float32')
INTS = ('uint8', 'uint16', 'uint32', 'uint64', 'int8', 'int16', 'int32', 'int64')
WIDTH = {'uint8': 8, 'int8': 8, 'uint16': 16, 'int16': 16, 'uint32': 32, 'int32': 32, 'uint64': 64, 'int64': 64}
EPS = {'float16': 2.0**-10, 'bfloat16': 2.0**-7, 'float32': 2.0**-23, 'complex64': 2.0**-23}
TINY = 2.0**-126
REDUCTIONS = ('sum', 'prod', 'max', 'min', 'mean', 'var', 'std', 'any', 'all', 'argmax', 'argmin', 'cumsum', 'cumprod', 'cummax',
              'cummin', 'logcumsumexp')  # whose operands aren't laid beside the result


class Row:
    """what: 'value', 'dtype', 'ours refuses' or 'MLX refuses'. ops: names, None for all. test(case): does the row
    speak of this case? where(case, distance): of which elements."""

    def __init__(self, kind, ops, why, where=None, test=None, what='value'):
        self.kind, self.ops, self.why = kind, ops and tuple(ops.split()), why
        self.where, self.test, self.what = where, test, what

    def applies(self, case):
        return (self.ops is None or case.op in self.ops) and (self.test is None or self.test(case))


def number(values):
    """As float64 or complex128."""
    return values if np.iscomplexobj(values) else values.astype(np.float64)


def ours(case):
    return number(case.ours.values())


def theirs(case):
    return number(case.theirs.values())


def has_complex(case):
    return 'complex64' in case.dtypes


def operands(case):
    """The element-wise operands as numbers; none of a reduction."""
    return [number(case.x(k)) for k in range(len(case.ins))] if case.op not in REDUCTIONS else []


def not_finite(case, d):
    """An operand or a result has a part that is no finite number."""
    return ~np.all([np.isfinite(v) for v in (ours(case), theirs(case), *operands(case))], axis=0)


def nan_operand(case, d):
    return np.any([np.isnan(v) for v in operands(case)], axis=0)


def within(error):
    """|ours - MLX's| at most error, of numbers that are finite on both sides."""
    return lambda case, d: np.isfinite(d) & (np.abs(ours(case) - theirs(case)) <= error)


def ulp(n):
    return lambda case, d: d <= n


def both_zero(case, d):
    return (case.ours.values() == 0) & (case.theirs.values() == 0)


def result(*dtypes):
    return lambda case: case.ours.dtype in dtypes


def first(*dtypes):
    return lambda case: case.dtypes[0] in dtypes


def extreme_exp(case, d):
    """Where exp is subnormal, or within 1% of the largest exponent."""
    a, b = np.abs(ours(case)), np.abs(theirs(case))
    return ((a < 2 * TINY) & (b < 2 * TINY)) | ((a > 2.0**126) & (b > 2.0**126))


def out_of_range(case, d):
    """float to integer: NaN, or a number that the integer dtype hasn't."""
    x, t = np.real(case.x(len(case.ins) - 1)), case.ours.dtype
    low = -2.0**(WIDTH[t] - 1) if t[0] == 'i' else 0.0
    high = 2.0**(WIDTH[t] - 1) if t[0] == 'i' else 2.0**WIDTH[t]
    return ~((np.trunc(x) >= low) & (np.trunc(x) < high))


def at_a_bound(case, d):
    y = case.ours.values()
    return (y == np.iinfo(y.dtype).max) | (y == np.iinfo(y.dtype).min)


def shift_out_of_range(case, d):
    y = case.promoted(1)
    return (y < 0) | (y >= WIDTH[case.ours.dtype]) if case.ours.dtype[0] == 'i' else y >= WIDTH[case.ours.dtype]


def accumulated(case, d):
    """A reduction's rounding: within eps of the result's dtype times the count, of the sum of magnitudes (prod: of the
    product)."""
    x = number(case.ins[0].values()).reshape(case.ins[0].shape)
    axis = case.attrs.get('axis')
    axis = tuple(range(x.ndim)) if axis is None else tuple(axis)
    n = np.prod([x.shape[k] for k in axis]) if axis else 1
    size = np.abs(ours(case)) if case.op == 'prod' else np.sum(np.abs(x), axis=axis).reshape(-1)
    if case.op == 'mean':
        size = size / max(n, 1)
    return np.isfinite(d) & (np.abs(ours(case) - theirs(case)) <= EPS[case.ours.dtype] * n * size)


def scanned(case, d):
    """A scan's rounding: within 2 eps of the result's dtype times the count, of the sum of magnitudes (cumprod: of the
    product; logcumsumexp: of the largest)."""
    x = np.abs(number(case.ins[0].values()).reshape(case.ins[0].shape))
    axis = case.attrs.get('axis')
    x, axis = (x.reshape(-1), 0) if axis is None else (x, axis)
    n = x.shape[axis] + 1
    whole = np.sum(x, axis=axis, keepdims=True) if case.op == 'cumsum' else np.max(x, axis=axis, keepdims=True) + 1
    size = np.abs(ours(case)) if case.op == 'cumprod' else np.broadcast_to(whole, x.shape).reshape(-1)
    return np.isfinite(d) & (np.abs(ours(case) - theirs(case)) <= 2 * EPS[case.ours.dtype] * n * size)


def joined(case, d):
    """The same for reductions of differences: within eps times the count of the result, or of the largest operand where
    they are logarithms."""
    x = number(case.ins[0].values()).reshape(case.ins[0].shape)
    axis = case.attrs.get('axis')
    n = np.prod([x.shape[k] for k in axis]) if axis else x.size
    size = np.max(np.abs(x), initial=1) if 'log' in case.op else np.abs(ours(case))
    return np.isfinite(d) & (np.abs(ours(case) - theirs(case)) <= EPS[case.ours.dtype] * max(n, 4) * size)


def through_log(case, d):
    """exp(b log a): the exponent's rounding, in eps, is the result's."""
    a, b = case.x(0).astype(np.complex128), case.x(1).astype(np.complex128)
    return np.abs(ours(case) - theirs(case)) <= 8 * 2.0**-23 * (1 + np.abs(b * np.log(a))) * np.abs(ours(case))


def cancelled(case, d):
    """logaddexp: within an ulp of the larger operand."""
    larger = np.maximum(np.abs(case.x(0).astype(np.float64)), np.abs(case.x(1).astype(np.float64)))
    return np.isfinite(d) & (np.abs(ours(case) - theirs(case)) <= EPS[case.ours.dtype] * np.maximum(larger, 1))


def accuracy(n):
    """Within n eps of the operand or of 1, whichever is larger."""
    def test(case, d):
        size = np.maximum(np.abs(number(case.x(0))), 1)
        return np.isfinite(d) & (np.abs(ours(case) - theirs(case)) <= n * EPS[case.ours.dtype] * size)
    return test


TABLE = [
    Row('ours', 'astype full_like', 'float to integer out of range saturates and NaN is 0; C++ leaves it undefined',
        out_of_range, lambda c: c.dtypes[-1] in (*REAL_FLOATS, 'complex64') and c.ours.dtype in INTS),
    Row('ours', 'left_shift right_shift', 'the count is taken modulo the width; C++ leaves it undefined',
        shift_out_of_range),
    Row('ours', 'round', 'with decimals: back to an integer dtype saturates; MLX wraps, C++ leaves it undefined',
        at_a_bound, result(*INTS)),
    Row('ours', 'view', 'a bool is 0 or 1; MLX keeps the byte', lambda c, d: (c.ours.data != 0) & (c.theirs.data != 0),
        result('bool')),
    Row('ours', 'remainder divmod', 'bool: false; MLX gives x % False = x', None, result('bool')),
    Row('ours', 'mean', 'integers are summed in float32; MLX wraps in the integer dtype first', None, first(*INTS)),
    Row('ours', 'sum prod', "over no axes the result still has the dtype of a sum; MLX keeps the operand's",
        what='dtype', test=lambda c: c.attrs.get('axis') == [] or c.ins[0].shape == ()),
    Row('ours', 'arcsinh arccosh arctanh', 'no complex form', test=has_complex, what='ours refuses'),
    Row('ours', 'floor_divide logaddexp logcumsumexp nan_to_num', 'no complex form: ops.md gives it no meaning', test=has_complex,
        what='ours refuses'),
    Row('ours', 'var std logsumexp softmax log_softmax argmax argmin', 'no complex form: ops.md gives it no meaning',
        test=has_complex, what='ours refuses'),
    Row('ours', 'isposinf isneginf', 'of complex: either part; MLX compares with inf + 0j', None, has_complex),
    Row('ours', 'maximum minimum clip', 'of complex, with a NaN', nan_operand, has_complex),
    Row('ours', 'sign square reciprocal round degrees radians multiply divide power prod mean', 'complex by the plain '
        'formulas: where a part is or becomes infinite or NaN nothing is recovered', not_finite, has_complex),
    Row('ours', 'exp sin cos sinh cosh', 'complex: another sign of an infinity or zero where C99 leaves it open, and a '
        'product of finite parts that overflows where the result would not', not_finite, has_complex),
    Row('MLX', 'softshrink', 'the most negative integer gives 0: its abs is negative',
        lambda c, d: (c.theirs.values() == 0) & (c.x(0) == -2.0**(WIDTH.get(c.dtypes[0], 1) - 1))),
    Row('MLX', 'power', 'C99: anything to the power 0 is 1; MLX gives NaN for some NaN',
        lambda c, d: c.promoted(1) == 0, result('bfloat16')),
    Row('MLX', 'var std logsumexp softmax log_softmax', 'integers and bools are subtracted in their own dtype, where '
        'they wrap; here in float32', None, first(*INTS, 'bool')),
    Row('MLX', 'softmax log_softmax', 'integers keep their dtype over several axes', what='dtype',
        test=lambda c: c.dtypes[0] in (*INTS, 'bool')),
    Row('order', 'var std softmax logsumexp log_softmax', 'another order and another exp, and in 16 bits MLX rounds '
        'every step', joined),
    Row('order', 'sum prod mean', 'another order, and in 16 bits MLX rounds every step', accumulated,
        result(*REAL_FLOATS, 'complex64')),
    Row('order', 'cumsum cumprod logcumsumexp', 'another order, and in 16 bits MLX rounds every step', scanned,
        result(*REAL_FLOATS, 'complex64')),
    Row('library', 'exp sigmoid logaddexp', 'a vector exp that overflows above 88 and flushes below -87', extreme_exp),
    Row('library', 'exp sigmoid logaddexp', 'a vector exp, up to 60 ulp off', ulp(60)),
    Row('library', 'power', 'complex: exp(b log a), both in float32', through_log, has_complex),
    Row('library', 'sigmoid', 'in float16 exp(-x) is rounded to float16 and overflows below -11.09',
        lambda c, d: np.abs(ours(c)) < 2.0**-15, result('float16')),
    Row('library', 'logaddexp', 'where the terms cancel an ulp of the larger operand is left', cancelled),
    Row('library', 'elu celu selu silu gelu gelu_approx gelu_fast softplus mish log_sigmoid',
        "exp, erf, tanh and sigmoid as above; where terms cancel, few eps of the larger term are left", accuracy(8)),
    Row('library', 'sin', 'a vector sin: sin(-0) is +0', both_zero),
    Row('library', 'cos', 'a vector cos, 1e-10 off near its zeros', within(1e-10)),
    Row('library', 'erf', 'a vector erf, 6e-7 off everywhere, so that near 0 hardly a digit is right; erf(0) is -0',
        lambda c, d: np.abs(ours(c) - theirs(c)) <= 6e-7),
]
