"""emit_host - the C++ file that the CPU compilers get: the .metal text, a thunk and an argument table a kernel."""
import hashlib
import os
import re

from .source import Err, call_expression, parse_functions, replace_tgvars

STRICT, COUNTED, FAST = 1, 2, 4  # as in rt/msl_rt.h
CONST, CONSTANT = r'\bconst(ant)?\b', r'\bconstant\b'


def _replace_tgvar(k, T, name, dims):
    size = f'sizeof({T}{dims})'
    k.tgvars.append(size)
    return f'{T} (&{name}){dims} = *({T}(*){dims})msl_tgvar({len(k.tgvars) - 1}, {size}, alignof({T}));'


def _table(i, k, flags, language, target):
    out = f'static void thunk_{i}(msl_tg *g) {{ do {call_expression(k)}; while (msl_next(g)); }}\n'
    out += f'static const msl_arg args_{i}[] = {{\n'
    for a in k.args:
        if a.kind == 'input':
            out += f'  {{ MSL_ARG_BUILTIN, 0, 0, 0, 1, 0, "{a.name}" }},\n'
            continue
        element = re.sub(r'\s*[*&]$', '', a.type)
        kind = 'BUFFER' if a.kind == 'buffer' else 'TGMEM'
        out += (f'  {{ MSL_ARG_{kind}, {a.index}, sizeof({element}), {int(a.type.endswith("&"))}, '
                f'{int(bool(re.search(CONST, a.type)))}, {int(bool(re.search(CONSTANT, a.type)))}, "{a.name}" }},\n')
    out += '};\n'
    tgmem = ' + '.join(k.tgvars or ['0'])
    out += (f'static const msl_kernel kernel_{i} = {{ "{k.host_name}", thunk_{i}, {len(k.args)}, args_{i}, '
            f'{tgmem}, {flags}, {k.max_threads or 0}, {language}, {target} }};\n')
    return out


def symbol(text):
    """Any name as an identifier."""
    return re.sub(r'\W', lambda m: f'_{ord(m[0]):x}_', text)


def link_marks(s, kernels):
    """Symbols by which the metallib step sees clashes between .air files: kernels, and helpers that are not static."""
    marks = {f'msl_kernel_{symbol(k.host_name)}' for k in kernels}
    for f in parse_functions(s):
        if re.search(r'\b(static|struct|class)\b', f.prefix) or not f.prefix.strip():
            continue
        if re.search(r'\b(inline|METAL_FUNC|template|constexpr)\b', f.prefix):
            text = re.sub(r'\s+', ' ', f.prefix + f.text)
            marks.add(f'msl_inline_{f.name}_{hashlib.sha256(text.encode()).hexdigest()[:16]}')
        else:
            marks.add(f'msl_extern_{f.name}')
    return sorted(marks)


def emit(src, s, kernels, flags, language, target):
    body = replace_tgvars(s, kernels, _replace_tgvar)
    out = [f'#include <metal_stdlib>\n#line 1 "{src}"\n{body}\n',
           f'#line 1 "{os.path.basename(src)}.thunks"\nusing namespace metal;\n']
    for i, k in enumerate(kernels):
        if k.tgvars:
            out.append(f'static_assert({" + ".join(k.tgvars)} <= 32768, '
                       f'"{k.name}: threadgroup memory over 32768 bytes");\n')
        out.append(_table(i, k, flags, language, target))
    out.append('__attribute__((section("msl_kernels"), used, aligned(8))) '
               'static const msl_kernel *const kernels_[] = { '
               + ', '.join(f'&kernel_{i}' for i in range(len(kernels))) + ' };\n')
    for mark in link_marks(s, kernels):
        out.append(f'extern "C" __attribute__((visibility("hidden"), weak, used)) const char {mark} = 1;\n')
    return ''.join(out)
