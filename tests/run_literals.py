#!/usr/bin/env python3
"""run_literals.py - every constant reads back to its own bits: compiles what build/literals writes (all values of the
16-bit and 8-bit types, edges and a sample of the others) by the bed and compares what the kernels copy out, in both
subnormal modes. Ends with "N passed, N failed"."""
import ctypes as C
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
BUILD = os.path.join(ROOT, os.environ.get('BUILD', 'build'))


class Kernel(C.Structure):  # tests/hostmetal/rt/msl_rt.h
    _fields_ = [('name', C.c_char_p)]


class Library(C.Structure):
    _fields_ = [('version', C.c_int), ('begin', C.POINTER(C.POINTER(Kernel))), ('end', C.POINTER(C.POINTER(Kernel)))]


class Launch(C.Structure):
    _fields_ = [('kernel', C.POINTER(Kernel)), ('grid', C.c_uint * 3), ('group', C.c_uint * 3),
                ('buffer', C.c_void_p * 31), ('bytes', C.c_size_t * 31), ('tgmem', C.c_void_p * 31), ('ftz', C.c_int),
                ('traffic', C.c_void_p), ('on_bytes', C.c_void_p), ('context', C.c_void_p)]


def main():
    passed = failed = 0
    env = dict(os.environ, HOSTMETAL_LIB=os.path.join(BUILD, 'hostmetal'))
    with tempfile.TemporaryDirectory() as tmp:
        metal, want, lib = (os.path.join(tmp, f) for f in ('literals.metal', 'want', 'literals.metallib'))
        subprocess.run([os.path.join(BUILD, 'literals'), metal, want], check=True)
        subprocess.run([sys.executable, '-IS', os.path.join(HERE, 'hostmetal/mslc.py'), metal, '-O0', '-o', lib],
                       check=True, env=env)
        bed = C.CDLL(os.path.join(BUILD, 'hostmetal/libhostmetal.so'), mode=C.RTLD_GLOBAL)
        bed.msl_error.restype = C.c_char_p
        library = Library.in_dll(C.CDLL(lib), 'msl_library_v3')
        kernels = {}
        at = C.addressof(library.begin.contents)
        while at < C.addressof(library.end.contents):
            k = C.POINTER(Kernel).from_address(at)
            if k:
                kernels[k.contents.name.decode()] = k
            at += C.sizeof(C.c_void_p)
        with open(want, encoding='utf-8') as f, open(want + '.bin', 'rb') as g:
            for line in f:
                dtype, size, n = line.split()
                size, n = int(size), int(n)
                bits = g.read(size * n)
                for ftz in (0, 1):
                    out = C.create_string_buffer(size * n)
                    launch = Launch(kernel=kernels['copy_' + dtype], grid=(n, 1, 1), group=(64, 1, 1), ftz=ftz)
                    launch.buffer[0] = C.addressof(out)
                    launch.bytes[0] = size * n
                    if bed.msl_launch_run(C.byref(launch)):
                        print('%s: %s' % (dtype, bed.msl_error().decode()))
                        failed += 1
                        continue
                    bad = [k for k in range(n) if out.raw[k * size:(k + 1) * size] != bits[k * size:(k + 1) * size]] \
                        if out.raw != bits else []
                    for k in bad[:5]:
                        print('%s: 0x%s reads back as 0x%s' % (dtype, bits[k * size:(k + 1) * size][::-1].hex(),
                                                               out.raw[k * size:(k + 1) * size][::-1].hex()))
                    print('%s, %s: %d values, %d differ' % (dtype, 'flush' if ftz else 'keep', n, len(bad)))
                    passed += not bad
                    failed += bool(bad)
    print('%d passed, %d failed' % (passed, failed))
    return failed != 0


if __name__ == '__main__':
    sys.exit(main())
