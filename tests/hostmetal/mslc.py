#!/usr/bin/env python3
"""mslc - compiles an unmodified .metal file on Linux.

  mslc.py f.metal -o f.metallib          an ELF .so for libhostmetal.so
  mslc.py f.metal -c -o f.air            one step of two; then mslc.py a.air b.air -o f.metallib
  mslc.py f.metal --lint                 address spaces and text rules
  mslc.py f.metal --cuda f.cu            text for nvcc"""
import argparse
import os
import sys

HERE = os.path.dirname(os.path.realpath(__file__))
sys.path.insert(0, HERE)
LIB = os.environ.get('HOSTMETAL_LIB') or os.path.join(HERE, '../../build/hostmetal')
sys.pycache_prefix = os.path.abspath(os.path.join(LIB, 'pycache'))

from msltool import emit_cuda, xcrun  # noqa: E402
from msltool.build import Options, build_metallib, compile_air, link_metallib, read  # noqa: E402
from msltool.lint import start_lint  # noqa: E402
from msltool.source import Err  # noqa: E402


def main(args):
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument('sources', nargs='+')
    p.add_argument('-o')
    p.add_argument('-c', action='store_true', help='compile only, to .air')
    p.add_argument('--lint', action='store_true')
    p.add_argument('--cuda', metavar='FILE')
    p.add_argument('--cxx', default=Options().cxx, help='clang++-19 (default) or g++')
    p.add_argument('-O', default='1')
    p.add_argument('-g', action='store_true')
    p.add_argument('-I', action='append', default=[])
    p.add_argument('-D', action='append', default=[])
    p.add_argument('--fast-math', action='store_true', help='unqualified functions are fast::')
    p.add_argument('--no-strict', action='store_true', help='faster code that can not run in flush mode')
    p.add_argument('--count', action='store_true', help='code that can count the bytes it touches')
    p.add_argument('--asan', action='store_true')
    p.add_argument('--keep', action='store_true', help='keep the generated C++ file')
    a = p.parse_args(args)
    o = Options(cxx=a.cxx, opt=a.O, debug=a.g, asan=a.asan, strict=not a.no_strict, count=a.count, keep=a.keep,
                fast_mode=a.fast_math, fast_functions=a.fast_math,
                cpp=['-I' + d for d in a.I] + ['-D' + d for d in a.D])
    src = a.sources[0]
    try:
        if a.lint:
            return max(start_lint(f, *read(f), o.cpp_flags(f))() for f in a.sources)
        if a.cuda:
            text = emit_cuda.emit(os.path.abspath(src), *read(src))
            with open(a.cuda, 'w', encoding='utf-8') as f:
                f.write(text)
            return 0
        if not a.o:
            p.error('-o is missing')
        if a.c:
            return compile_air(src, a.o, o)
        if all(f.endswith('.air') for f in a.sources):
            return link_metallib(a.sources, a.o, o)
        return build_metallib(a.sources, a.o, o)
    except Err as e:
        print(e, file=sys.stderr)
    except OSError as e:
        print(f'{e.filename}: {e.strerror}', file=sys.stderr)
    return 1


if __name__ == '__main__':
    args = sys.argv[1:]
    sys.exit(xcrun.main(args[1:]) if args[:1] == ['--xcrun'] else main(args))
