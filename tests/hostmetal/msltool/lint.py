"""lint - address spaces by clang's C++ for OpenCL mode, and rules on the text that clang has no opinion about."""
import os
import re
import subprocess
import sys

from .source import call_graph, line_at, parse_functions, reachable, replace_tgvars

HERE = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))
CLANG_FLAGS = (
    '-x clcpp -cl-std=clc++2021 -cl-no-stdinc -nostdinc -fsyntax-only -cl-single-precision-constant '
    '-Xclang -cl-ext=-__opencl_c_pipes,-__opencl_c_device_enqueue,-__opencl_c_program_scope_global_variables,'
    '-cl_khr_fp64,-__opencl_c_fp64 '
    '-Wall -Wno-unknown-attributes -Wno-unknown-pragmas -Wno-missing-braces -Wno-builtin-macro-redefined '
    '-Werror=implicit-float-conversion -Werror=double-promotion -Werror=shorten-64-to-32 '
    '-Werror=implicit-int-float-conversion').split()
TYPES = r'(?:float|half|bfloat|bool|char|uchar|short|ushort|int|uint|long|ulong|size_t|u?int\d+_t)[234]?'
AVOIDED = (r'\b(double|long long|goto|virtual|new|delete|try|catch|throw|dynamic_cast|typeid|thread_local|asm|'
           r'union|recursive|register)\b')
UNSUFFIXED = r'(?<![\w.])(?:\d+\.\d*|\.\d+|\d+(?=[eE]))(?:[eE][+-]?\d+)?(?![\w.])'
PRAGMA = (r'^\s*#\s*pragma\s+METAL\s+(?!fp\s+(?:math_mode\((?:safe|relaxed|fast)\)|'
          r'contract\((?:off|on|fast)\))\s*$)(.*)$')


def text_rules(s, kernels):
    """(line, message) for each breach."""
    found = []
    types = '|'.join([TYPES] + re.findall(r'\bstruct\s+(\w+)', s))
    declarator = (r'(?<=[(,;{}])\s*((?:const\s+)?(?:%s)(?:\s+const)?\s*[*&])\s*'
                  r'(?:const\s+)?(\w+)\s*(?=[,)=;\[])' % types)

    def rule(pattern, message, group=0, flags=0):
        for m in re.finditer(pattern, s, flags):
            found.append((line_at(s, m.start(group)), message(m)))

    rule(declarator, lambda m: f"'{m[1]} {m[2]}' needs an address space (device/constant/threadgroup/thread)", 1)
    rule(UNSUFFIXED, lambda m: f'float literal {m[0]} without suffix')
    rule(AVOIDED, lambda m: f"'{m[1]}' avoided")
    rule(r'\bstruct\s+\w+\s*:|\bmain\s*\(|\[\s*[&=]?\s*\]\s*\(',
         lambda m: f"'{m[0]}' avoided (base class, main, lambda)")
    rule(r'\.\s*[xyzwrgba]{2,4}\b', lambda m: 'swizzle: the vectors of the running modes have none')
    rule(r'\b0[xX][\da-fA-F]*\.?[\da-fA-F]*[pP]', lambda m: 'hexadecimal float: not known to compile before Metal 4')
    rule(r'\bthreadgroup\s+bool\b', lambda m: 'threadgroup bool: compilers fail on it, use uint')
    rule(PRAGMA, lambda m: f"unknown '#pragma METAL {m[1].strip()}'", flags=re.M)
    for k in kernels:
        for a in k.args:
            if re.search(r'\b(size_t|ptrdiff_t)\b', a.type):
                found.append((k.line, f"{k.name}: '{a.name}': no kernel argument may be size_t or ptrdiff_t"))
    functions = parse_functions(s)
    calls = call_graph(s, functions)
    for f in functions:
        if f.name in reachable(calls[f.name], calls):
            found.append((line_at(s, f.body[0]), f"'{f.name}' may be recursive"))
    return sorted(found)


def start_lint(path, s, kernels, cpp_flags=(), warnings=()):
    """Starts clang; calling the result waits, reports, and gives 0 when the file passes."""
    replace_tgvars(s, kernels, lambda k, T, v, d: '')  # for its own checks
    clang = os.environ.get('MSL_CLANG', 'clang-19')
    quiet = [] if '-Wall' in warnings else ['-Wno-unused']
    process = subprocess.Popen([clang, *warnings, *CLANG_FLAGS, *quiet, '-isystem', HERE + '/msl', *cpp_flags, path])
    found = text_rules(s, kernels)

    def finish():
        status = process.wait()
        for line, text in found:
            print(f'{path}:{line}: error: {text}', file=sys.stderr)
        return 1 if found or status else 0
    return finish
