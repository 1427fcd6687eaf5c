"""build - compiles .metal to .air (an ELF object) and links .air files to a .metallib (an ELF .so)."""
import dataclasses
import functools
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

from . import emit_host
from .source import Err, parse_kernels, strip_comments

HERE = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))
LIB = os.environ.get('HOSTMETAL_LIB') or os.path.join(HERE, '../../build/hostmetal')
COMMON = ('-std=c++17 -fPIC -ffp-contract=off -fno-fast-math -fno-strict-aliasing -fvisibility=hidden '
          '-Wno-attributes').split()
CLANG = ('-Wno-unknown-attributes -Wno-duplicate-decl-specifier -Wno-unknown-pragmas '
         '-Xclang -ffloat16-excess-precision=none').split()
GCC = '-fexcess-precision=16 -Wno-unknown-pragmas'.split()
# Strict: no folding of x*1, x+(-0), x-x; comparisons as written. So the processor's flush mode has its effect.
CLANG_STRICT = ['-ffp-exception-behavior=strict']
# g++ makes minss of a<b?a:b, which flushes what it copies: no if-conversion, no vectorizing.
GCC_STRICT = ('-fsignaling-nans -frounding-math -fno-if-conversion -fno-if-conversion2 -fno-tree-loop-if-convert '
              '-fno-tree-vectorize').split()
# Out-of-line calls before every access (rt/count_hooks.c answers them); opt=0: a load must not hide a later store.
CLANG_COUNT = ('-DMSL_COUNT=1 -fsanitize=kernel-address -mllvm -asan-instrumentation-with-call-threshold=0 '
               '-mllvm -asan-opt=0 -mllvm -asan-stack=0 -mllvm -asan-globals=0 '
               '-mllvm -asan-kernel-mem-intrinsic-prefix=1').split()
GCC_COUNT = ('-DMSL_COUNT=1 -fsanitize=kernel-address --param asan-instrumentation-with-call-threshold=0 '
             '--param asan-stack=0 --param asan-globals=0').split()


@dataclasses.dataclass
class Options:
    cxx: str = dataclasses.field(default_factory=lambda: os.environ.get('MSL_CXX', 'clang++-19'))
    opt: str = '1'
    asan: bool = False
    strict: bool = True
    count: bool = False
    fast_mode: bool = False       # math mode fast: __FAST_MATH__
    fast_functions: bool = False  # unqualified functions are the fast ones
    cpp: list = dataclasses.field(default_factory=list)  # -I, -D, -U
    debug: bool = False
    depfile: str = ''
    keep: bool = False
    language: int = 310           # -std=metal3.1
    target: int = 0               # macOS deployment target, 100 * major + minor

    @property
    def gcc(self):
        return 'clang' not in self.cxx and 'g++' in self.cxx

    def cpp_flags(self, src):
        flags = ['-iquote', os.path.dirname(src) or '.', *self.cpp]
        if self.fast_mode:
            flags.append('-D__FAST_MATH__=1')
        if self.fast_functions:
            flags.append('-DMSL_FAST_FUNCTIONS=1')
        return flags


def scratch():
    """A temporary folder, below the bed's own build folder if that can be."""
    where = os.path.join(LIB, 'tmp')
    try:
        os.makedirs(where, exist_ok=True)
    except OSError:
        where = None
    return tempfile.TemporaryDirectory(prefix='mslc', dir=where)


@functools.lru_cache
def read(path):
    """The file's text without comments, and its kernels."""
    with open(path, encoding='utf-8') as f:
        s = strip_comments(f.read())
    try:
        return s, parse_kernels(s)
    except Err as e:
        raise Err(f'{path}:{e}')


def compile_air(src, out, o, check=None):
    """0, or the compiler's status; check: a started lint, whose word counts first."""
    s, kernels = read(src)
    flags = emit_host.STRICT * o.strict | emit_host.COUNTED * o.count | emit_host.FAST * o.fast_functions
    try:
        text = emit_host.emit(os.path.abspath(src), s, kernels, flags, o.language, o.target)
    except Err as e:
        raise Err(f'{src}:{e}')
    with scratch() as tmp:
        cpp = out + '.cpp' if o.keep else os.path.join(tmp, os.path.basename(src) + '.cpp')
        with open(cpp, 'w', encoding='utf-8') as f:
            f.write(text)
        command = [o.cxx, *COMMON, *(GCC if o.gcc else CLANG), '-O' + o.opt]
        if o.debug or o.asan:
            command.append('-g' if o.debug else '-g1')
        if o.strict:
            command += GCC_STRICT if o.gcc else CLANG_STRICT
        if o.count:
            command += GCC_COUNT if o.gcc else CLANG_COUNT
        if o.asan:
            command.append('-fsanitize=address')
        command += shlex.split(os.environ.get('MSL_CXXFLAGS', ''))  # such as -mf16c
        if o.depfile:
            command += ['-MMD', '-MF', os.path.join(tmp, 'd'), '-MT', out]
        air = os.path.join(tmp, 'air')
        command += ['-isystem', HERE + '/msl', '-isystem', HERE + '/rt', *o.cpp_flags(src), '-c', cpp, '-o', air]
        r = subprocess.run(command, stderr=subprocess.PIPE)
        if check and check():
            return 1
        sys.stderr.buffer.write(r.stderr)
        if r.returncode:
            return r.returncode
        shutil.move(air, out)
        if o.depfile:
            with open(os.path.join(tmp, 'd'), encoding='utf-8') as f:
                deps = f.read().replace(cpp, src)
            with open(o.depfile, 'w', encoding='utf-8') as f:
                f.write(deps)
    return 0


def check_clashes(airs):
    """Kernels and helpers that several .air files define: Metal's linker would refuse, or merge in silence."""
    owner, inline, counted = {}, {}, False
    for air in airs:
        r = subprocess.run(['nm', air], capture_output=True, text=True)
        if r.returncode:
            raise Err(f'{air}: not an .air file')
        names = re.findall(r'\b(msl_(?:kernel|extern|inline)_\w+)$', r.stdout, re.M)
        counted |= '__asan_' in r.stdout and '_noabort' in r.stdout
        if not any(n.startswith('msl_kernel_') for n in names):
            raise Err(f'{air}: not an .air file')
        for n in names:
            what, name = n.split('_', 2)[1:]
            if what == 'inline':
                name, text_hash = name.rsplit('_', 1)
                first, seen = inline.setdefault(name, (air, text_hash))
                if seen != text_hash:
                    raise Err(f"{air}: inline function '{name}' differs from the one in {first}, and the linker "
                              'would take one of them for both: make it static')
            else:
                first = owner.setdefault(n, air)
                if first != air:
                    kind = 'kernel' if what == 'kernel' else 'function'
                    advice = '' if what == 'kernel' else ': make it static'
                    raise Err(f"{air}: {kind} '{name}' is also in {first}{advice}")
    return counted  # whether one of them was built with --count


def link_metallib(airs, out, o):
    counted = check_clashes(airs)
    command = [o.cxx, '-shared', '-fPIC', '-O2', '-fvisibility=hidden', '-I', HERE + '/rt']
    command += ['-fno-gnu-unique'] if o.gcc else []  # unique symbols would keep it from ever being unloaded
    command += ['-x', 'c', HERE + '/rt/library.c']
    if counted:
        command += ['-x', 'c', HERE + '/rt/count_hooks.c']  # g++ wants the -x again
    command += ['-x', 'none', *airs, '-o', out, '-lm']
    command += ([] if o.gcc else ['-nostdlib++']) + (['-fsanitize=address'] if o.asan else [])
    if not o.gcc:
        command.insert(1, '-Wno-deprecated')  # clang++ given a C file
    return subprocess.run(command).returncode


def build_metallib(sources, out, o):
    """Both steps."""
    with scratch() as tmp:
        airs = []
        for i, src in enumerate(sources):
            air = os.path.join(tmp, f'{i}.air')
            status = compile_air(src, air, o)
            if status:
                return status
            airs.append(air)
        return link_metallib(airs, out, o)
