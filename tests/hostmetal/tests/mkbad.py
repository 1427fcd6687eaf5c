#!/usr/bin/env python3
"""mkbad - each seeded mistake must be rejected by lint (or, failing that, by the compiler). -v shows every message."""
import concurrent.futures
import os
import subprocess
import sys
import tempfile

MSLC = os.path.join(os.path.dirname(os.path.dirname(os.path.realpath(__file__))), 'mslc.py')
P = '#include <metal_stdlib>\nusing namespace metal;\n'
I = 'uint i [[thread_position_in_grid]]'
RELAXED = 'memory_order_relaxed'
K = ('kernel void k(device float* x [[buffer(0)]], constant const uint& n [[buffer(1)]], '
     'uint i [[thread_position_in_grid]]) { %s }\n')
CASES = {
    'ok': K % 'if (i < n) { x[i] = x[i] * 2.0f; }',
    'helper param without address space': 'inline float f(float* p) { return p[0]; }\n' + K % 'x[i] = f(x);',
    'device ptr to thread ptr': 'inline float f(thread float* p) { return p[0]; }\n' + K % 'x[i] = f(x);',
    'threadgroup ptr to device ptr': K % 'threadgroup float t[4]; device float* q = t; x[i] = q[0];',
    'thread ptr to device ptr': K % 'float a[4]; device float* q = a; x[i] = q[0];',
    'local pointer without address space': K % 'float* q = x; x[i] = q[0];',
    'write to constant': K % 'n = 3u;',
    'write through device const':
        'kernel void k(device const float* x [[buffer(0)]], uint i [[thread_position_in_grid]]) { x[i] = 1.0f; }',
    'non-const program-scope variable': 'float tab[2] = {1.0f, 2.0f};\n' + K % 'x[i] = tab[0];',
    'buffer arg without address space': 'kernel void k(float* x [[buffer(0)]]) { x[0] = 1.0f; }',
    'kernel arg without attribute': 'kernel void k(device float* x) { x[0] = 1.0f; }',
    'duplicate buffer index':
        'kernel void k(device float* x [[buffer(0)]], device float* y [[buffer(0)]]) { x[0] = y[0]; }',
    'buffer index 31': 'kernel void k(device float* x [[buffer(31)]]) { x[0] = 1.0f; }',
    'threadgroup variable in helper': 
        'inline float f() { threadgroup float t[4]; return t[0]; }\n' + K % 'x[i] = f();',
    'threadgroup initializer': K % 'threadgroup float t[2] = {1.0f, 2.0f}; x[i] = t[0];',
    'double': K % 'double d = 1.0f; x[i] = float(d);',
    'unsuffixed literal': K % 'x[i] = x[i] * 0.5;',
    'implicit float to bfloat':
        f'kernel void k(device bfloat* y [[buffer(0)]], device float* x [[buffer(1)]], {I}) {{ y[i] = x[i]; }}',
    'bfloat math':
        f'kernel void k(device bfloat* y [[buffer(0)]], {I}) {{ y[i] = bfloat(metal::exp(y[i])); }}',
    'erf does not exist': K % 'x[i] = metal::erf(x[i]);',
    'expf does not exist': K % 'x[i] = expf(x[i]);',
    'std::': K % 'x[i] = std::fabs(x[i]);',
    'printf': K % 'printf("x");',
    'max of mixed types': K % 'x[i] = metal::max(x[i], 1);',
    'recursion': 'inline float f(float a) { return a > 1.0f ? f(a - 1.0f) : a; }\n' + K % 'x[i] = f(x[i]);',
    'goto': K % 'again: if (x[i] > 1.0f) { x[i] -= 1.0f; goto again; }',
    'new': K % 'thread float* p = new float; x[i] = p[0];',
    'virtual': 'struct S { virtual float f() { return 1.0f; } };\n' + K % 'S s; x[i] = s.f();',
    'function pointer': 'inline float f(float a) { return a; }\n' + K % 'float (*g)(float) = f; x[i] = g(x[i]);',
    'atomic on plain pointer': K % 'atomic_fetch_add_explicit(&x[i], 1.0f, memory_order_relaxed);',
    'atomic seq_cst':
        'kernel void k(device atomic_uint* x [[buffer(0)]]) '
        '{ atomic_fetch_add_explicit(x, 1u, memory_order_seq_cst); }',
    'float atomic max':
        'kernel void k(device atomic_float* x [[buffer(0)]]) '
        f'{{ atomic_fetch_max_explicit(x, 1.0f, {RELAXED}); }}',
    'plain read of an atomic':
        'kernel void k(device atomic_uint* x [[buffer(0)]], device uint* y [[buffer(1)]]) { y[0] = x[0] + 1u; }',
    'simd_sum of long':
        'kernel void k(device long* x [[buffer(0)]], uint i [[thread_position_in_grid]]) { x[i] = simd_sum(x[i]); }',
    'static local': K % 'static float s = 1.0f; x[i] = s;',
    'undeclared name': K % 'x[i] = y;',
    'return value from kernel': K % 'return 1;',
    'builtin with bad type':
        'kernel void k(device float* x [[buffer(0)]], float i [[thread_position_in_grid]]) { x[0] = i; }',
    'pointer arg to device from constant':
        'inline float f(device const float* p) { return p[0]; }\n'
        'kernel void k(constant const float* c [[buffer(0)]], device float* x [[buffer(1)]]) { x[0] = f(c); }',
    'unreachable: uint3 to uint attr mismatch':
        'kernel void k(device float* x [[buffer(0)]], uint3 i [[thread_index_in_simdgroup]]) { x[i.x] = 1.0f; }',
    'pointer cast dropping address space': K % 'thread float* p = (thread float*)x; x[i] = p[0];',
    'base class': 'struct A { float a; };\nstruct B : A { float b; };\n' + K % 'B b; b.a = 1.0f; x[i] = b.a;',
    'lambda': K % 'auto f = [&](float a) { return a; }; x[i] = f(x[i]);',
    'duplicate host_name':
        '[[host_name("a")]] ' + K % '' + '[[host_name("a")]] ' + (K % '').replace('void k', 'void k2'),
    'over 32K threadgroup memory': K % 'threadgroup float t[9000]; t[i] = x[i]; x[i] = t[0];',
    'precise:: of half is float': 'kernel void k(device half* x [[buffer(0)]]) { x[0] = metal::precise::exp(x[0]); }',
    'bit operation on an atomic float':
        'kernel void k(device atomic_float* x [[buffer(0)]]) '
        f'{{ atomic_fetch_or_explicit(x, 1.0f, {RELAXED}); }}',
    'threadgroup atomic_float':
        K % f'threadgroup atomic_float t[1]; atomic_fetch_add_explicit(&t[0], 1.0f, {RELAXED}); x[i] = 1.0f;',
    'hexadecimal float': K % 'x[i] = 0x1.8p1f;',
    'threadgroup bool': K % 'threadgroup bool t[4]; t[i & 3u] = true; x[i] = t[0] ? 1.0f : 0.0f;',
    'unknown METAL pragma': '#pragma METAL fp math_mode(exact)\n' + K % 'x[i] = 1.0f;',
    'size_t kernel argument':
        'kernel void k(device float* x [[buffer(0)]], constant const size_t& n [[buffer(1)]]) { x[n] = 1.0f; }',
    'pragmas that are known':
        '#pragma METAL fp math_mode(safe)\n#pragma METAL fp contract(off)\n' + K % 'x[i] = 1.0f;',
    'simd_and of float': K % 'x[i] = simd_and(x[i]);',
}

GOOD = ('ok', 'pragmas that are known')


def run(*args):
    return subprocess.run([sys.executable, '-IS', MSLC, *args], capture_output=True, text=True)


def one(tmp, item):
    """Whether the case is as expected, and the first line that was said of it."""
    number, (name, text) = item
    source, library = (os.path.join(tmp, f'{number}.{end}') for end in ('metal', 'metallib'))
    with open(source, 'w', encoding='utf-8') as f:
        f.write(P + text + '\n')
    r = run(source, '--lint')
    if r.returncode == 0:
        r = run(source, '-O', '0', '-o', library)
    return (r.returncode != 0) != (name in GOOD), (r.stderr.strip().splitlines() or ['-'])[0].replace(source, '')


def main():
    with tempfile.TemporaryDirectory() as tmp, concurrent.futures.ThreadPoolExecutor(2) as pool:
        results = list(pool.map(lambda item: one(tmp, item), enumerate(CASES.items())))
    for name, (ok, said) in zip(CASES, results):
        if not ok or '-v' in sys.argv:
            print(('caught  ' if ok else 'MISSED  ') + f'{name:42}', said[:110])
    as_expected = sum(ok for ok, _ in results)
    print(f'{as_expected}/{len(CASES)} as expected')
    return as_expected != len(CASES)


sys.exit(main())
