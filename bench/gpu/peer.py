#!/usr/bin/env python3
"""peer.py - the same functions as prepare.py's in PyTorch, eager and compiled, on the GPU: GB/s of the lower bound's bytes."""
import sys

import torch
import torch.nn.functional as F

ROWS, D = int(sys.argv[1]) if len(sys.argv) > 1 else 31744, 4096


def timed(f, *args):
    for _ in range(3):
        f(*args)
    best = 1e30
    for _ in range(3):
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record()
        for _ in range(10):
            f(*args)
        end.record()
        torch.cuda.synchronize()
        best = min(best, start.elapsed_time(end) / 10)
    return best


def adam(p, g, m, v, c1, c2):
    m2 = 0.9 * m + 0.1 * g
    v2 = 0.999 * v + 0.001 * g * g
    return p - 0.001 * (m2 * c1) / (torch.sqrt(v2 * c2) + 1e-8), m2, v2


CASES = {  # name: function, inputs (x: rows x D, X: 32 x 1000 x D, r: D, s: scalar), elements of outputs
    'copy': (lambda x: x.clone(), 'x', 'x'),
    'gelu': (lambda x: F.gelu(x), 'x', 'x'),
    'swiglu': (lambda g, u: F.silu(g) * u, 'xx', 'x'),
    'bias_gelu_residual': (lambda x, b, r: F.gelu(x + b) + r, 'xrx', 'x'),
    'softmax': (lambda x: torch.softmax(x, -1), 'x', 'x'),
    'layer_norm': (lambda x, g, b: F.layer_norm(x, (D,), g, b), 'xrr', 'x'),
    'row_sum': (lambda x: x.sum(-1), 'x', 'n'),
    'column_sum': (lambda x: x.sum(0), 'x', 'r'),
    'sum_all': (lambda x: x.sum(), 'x', 's'),
    'row_max': (lambda x: x.amax(-1), 'x', 'n'),
    'row_argmax': (lambda x: x.argmax(-1), 'x', 'n'),
    'row_mean': (lambda x: x.mean(-1), 'x', 'n'),
    'row_var': (lambda x: x.var(-1, correction=0), 'x', 'n'),
    'box_sum_first': (lambda x: x.sum(0), 'X', 'P'),
    'box_sum_middle': (lambda x: x.sum(1), 'X', 'Q'),
    'box_sum_last': (lambda x: x.sum(2), 'X', 'N'),
    'row_cumsum': (lambda x: x.cumsum(-1), 'x', 'x'),
    'column_cumsum': (lambda x: x.cumsum(0), 'x', 'x'),
    'transpose': (lambda x: x.t().contiguous(), 'x', 'x'),
    'adam': (adam, 'xxxxss', 'xxx'),
}


def main():
    torch.set_float32_matmul_precision('highest')
    sizes = {'x': ROWS * D, 'r': D, 's': 1, 'n': ROWS, 'X': 32000 * D, 'P': 1000 * D, 'Q': 32 * D, 'N': 32000}
    print('torch %s, %s' % (torch.__version__, torch.cuda.get_device_name()))
    print('%-28s %12s %12s' % ('case', 'eager GB/s', 'compiled'))
    for short, dtype in (('f32', torch.float32), ('f16', torch.float16), ('bf16', torch.bfloat16)):
        for name, (f, ins, outs) in CASES.items():
            if name == 'adam' and short != 'f32':
                continue
            shapes = {'x': (ROWS, D), 'X': (32, 1000, D), 'r': (D,), 's': ()}
            args = [torch.rand(shapes[k], device='cuda').mul(8).sub(4).abs().to(dtype) for k in ins]
            n = sum(sizes[k] for k in ins + outs) * args[0].element_size()
            eager = timed(f, *args)
            compiled = timed(torch.compile(f), *args)
            print('%-28s %12.1f %12.1f' % (name + '_' + short, n / eager / 1e6, n / compiled / 1e6), flush=True)


if __name__ == '__main__':
    main()
