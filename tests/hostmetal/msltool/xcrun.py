"""xcrun - stands in for `xcrun [-sdk X] metal ...` and `xcrun [-sdk X] metallib ...`.

Flags mean what Apple's mean as far as that matters here; one that is not known is an error. As Apple's, the compiler
is in fast-math mode unless told otherwise: __FAST_MATH__ is defined and unqualified functions are the fast ones.

HOSTMETAL_XCRUN=missing: there is no Metal toolchain, in the words of Xcode 26; =none: no developer tools at all."""
import os
import re
import shlex
import sys

from .build import HERE, Options, build_metallib, compile_air, link_metallib, read
from .lint import start_lint
from .source import Err

# language version -> least macOS, iOS
VERSIONS = {'1.1': (10.11, 9), '1.2': (10.12, 10), '2.0': (10.13, 11), '2.1': (10.14, 12), '2.2': (10.15, 13),
            '2.3': (11, 14), '2.4': (12, 15), '3.0': (13, 16), '3.1': (14, 17), '3.2': (15, 18), '4.0': (26, 26)}
SDKS = ('macosx', 'iphoneos', 'iphonesimulator')
IGNORED = re.compile(r'-w|-pedantic|-frecord-sources(=\w+)?|-gline-tables-only|-fdiagnostics-[\w=-]+|-c\+\+|'
                     r'-fmax-total-threads-per-threadgroup=\d+|-fpreserve-invariance|-v')


def usage(message):
    raise Err(f'xcrun: error: {message}')


class Command:
    """One metal command line, parsed."""

    def __init__(self, args, sdk):
        self.inputs, self.output, self.compile_only, self.standard = [], '', False, ''
        self.dep, self.depfile = False, ''
        self.warnings = []  # of the recipe; only the lint minds them
        self.os, self.os_version = ('ios' if sdk.startswith('iphone') else 'macos'), None
        self.o = Options(fast_mode=True, fast_functions=True)
        self._args = list(args)
        while self._args:
            self._flag(self._args.pop(0))
        if not self.inputs:
            usage('no input files')

    def _value(self, flag):
        if not self._args:
            usage(f"argument to '{flag}' is missing")
        return self._args.pop(0)

    def _flag(self, a):
        o = self.o
        if not a.startswith('-'):
            if not a.endswith(('.metal', '.air')):
                usage(f"don't know what to do with '{a}'")
            self.inputs.append(a)
        elif a == '-c':
            self.compile_only = True
        elif a == '-o':
            self.output = self._value(a)
        elif a in ('-I', '-D', '-U'):
            o.cpp.append(a + self._value(a))
        elif re.match(r'-[IDU].', a):
            o.cpp.append(a)
        elif a in ('-include', '-isystem', '-iquote'):
            o.cpp += [a, self._value(a)]
        elif a in ('-MD', '-MMD'):
            self.dep = True
        elif a == '-MF':
            self.depfile = self._value(a)
        elif a in ('-MT', '-MQ', '-x'):
            self._value(a)
        elif a == '-MP':
            pass
        elif a.startswith('-std='):
            self._standard(a[5:])
        elif a == '-target':
            self._target(self._value(a))
        elif re.match(r'-m(macosx|macos|ios|iphoneos|ios-simulator|iphonesimulator)-version-min=', a):
            self.os = 'macos' if a.startswith('-mmacos') else 'ios'
            self.os_version = self._version(a.split('=')[1])
        elif a in ('-ffast-math', '-fno-fast-math'):
            o.fast_mode = o.fast_functions = a == '-ffast-math'
        elif a.startswith('-fmetal-math-mode='):
            o.fast_mode = self._choice(a, 'safe', 'relaxed', 'fast') == 'fast'
        elif a.startswith('-fmetal-math-fp32-functions='):
            o.fast_functions = self._choice(a, 'precise', 'fast') == 'fast'
        elif a.startswith('-ffp-contract='):
            self._choice(a, 'off', 'on', 'fast')  # this compiler never contracts
        elif re.fullmatch(r'-O[0-3s]?', a):
            o.opt = a[2:] or '1'
        elif a in ('-g', '-gdwarf-4', '-gdwarf-5'):
            o.debug = True
        elif a in ('-Wall', '-Wextra', '-Werror'):
            self.warnings.append(a)
        elif not IGNORED.fullmatch(a) and not re.fullmatch(r'-W(?!l,)[\w=-]*', a):
            usage(f"unknown argument: '{a}'")

    def _choice(self, a, *values):
        flag, value = a.split('=', 1)
        if value not in values:
            usage(f"invalid value '{value}' in '{flag}='")
        return value

    def _version(self, text):
        if not re.fullmatch(r'\d+(\.\d+){0,2}', text):
            usage(f"invalid version number '{text}'")
        major, minor = (text.split('.') + ['0'])[:2]
        return int(major) + int(minor) / 100  # 10.15 -> 10.15, 14.4 -> 14.04

    def _standard(self, name):
        m = re.fullmatch(r'(?:(macos|ios)-)?metal(\d\.\d)', name)
        if not m or m[2] not in VERSIONS or bool(m[1]) != (m[2] < '3.0'):
            usage(f"invalid value '{name}' in '-std='")
        self.standard = m[2]
        self.os = m[1] or self.os

    def _target(self, triple):
        m = re.fullmatch(r'air64(?:_v\d+)?-apple-(macosx?|ios)([\d.]+)(-simulator)?', triple)
        if not m:
            usage(f"unknown target triple '{triple}'")
        self.os, self.os_version = 'macos' if m[1].startswith('macos') else 'ios', self._version(m[2])

    def finish(self):
        """What can be said only when every flag is known."""
        standard = self.standard or '3.1'
        if self.standard and self.os_version is not None:
            least = VERSIONS[standard][self.os == 'ios']
            if self.os_version < least:
                usage(f'metal{standard} needs {self.os} {least}, the deployment target is older')
        major, minor = standard.split('.')
        self.o.language = int(major) * 100 + int(minor) * 10
        if self.os == 'macos' and self.os_version is not None:
            self.o.target = round(self.os_version * 100)
        self.o.cpp += [f'-D__METAL_VERSION__={major}{minor}0', f'-D__METAL_{self.os.upper()}__=1']
        if self.compile_only and len(self.inputs) > 1 and self.output:
            usage("cannot specify '-o' with '-c' and several inputs")
        self._bed_options()

    def _bed_options(self):
        """MSLCFLAGS: the test bed's own choices, in the environment because a recipe does not know them."""
        for a in shlex.split(os.environ.get('MSLCFLAGS', '')):
            if a in ('--count', '--asan'):
                setattr(self.o, a[2:], True)
            elif a == '--no-strict':
                self.o.strict = False
            elif re.fullmatch(r'-O[0-3s]', a):
                self.o.opt = a[2:]
            elif a.startswith('--cxx='):
                self.o.cxx = a[6:]
            else:
                usage(f"MSLCFLAGS: unknown '{a}'")


def metal(args, sdk):
    if args == ['--version']:
        print('Apple metal version 0 (hostmetal, the test bed)')
        return 0
    c = Command(args, sdk)
    c.finish()
    sources = [f for f in c.inputs if f.endswith('.metal')]
    if c.compile_only:
        for f in sources:
            out = c.output or os.path.splitext(os.path.basename(f))[0] + '.air'
            if c.dep or c.depfile:
                c.o.depfile = c.depfile or os.path.splitext(out)[0] + '.d'
            check = start_lint(f, *read(f), c.o.cpp_flags(f), c.warnings)
            if compile_air(f, out, c.o, check):
                return 1
        return 0
    out = c.output or 'default.metallib'
    if len(sources) < len(c.inputs):
        if sources:
            usage('give .metal files or .air files, not both')
        return link_metallib(c.inputs, out, c.o)
    for f in sources:
        if start_lint(f, *read(f), c.o.cpp_flags(f), c.warnings)():
            return 1
    return build_metallib(sources, out, c.o)


def metallib(args, sdk):
    inputs, out, args = [], 'default.metallib', list(args)
    while args:
        a = args.pop(0)
        if a == '-o':
            if not args:
                usage("argument to '-o' is missing")
            out = args.pop(0)
        elif a.startswith('-'):
            usage(f"metallib: unknown argument: '{a}'")
        else:
            inputs.append(a)
    if not inputs:
        usage('metallib: no input files')
    c = Options()
    c.asan = '--asan' in os.environ.get('MSLCFLAGS', '').split()
    m = re.search(r'--cxx=(\S+)', os.environ.get('MSLCFLAGS', ''))
    c.cxx = m[1] if m else c.cxx
    return link_metallib(inputs, out, c)


def toolchain(tool):
    """Where HOSTMETAL_XCRUN says so, the tool can't be run."""
    how = os.environ.get('HOSTMETAL_XCRUN', '')
    if how == 'missing':
        raise Err(f"error: cannot execute tool '{tool}' due to missing Metal Toolchain; use: "
                  'xcodebuild -downloadComponent MetalToolchain')
    if how == 'none':
        usage(f'unable to find utility "{tool}", not a developer tool or in PATH')


def main(args):
    sdk, args = 'macosx', list(args)
    try:
        while args and args[0].startswith('-'):
            a = args.pop(0)
            if a in ('-sdk', '--sdk'):
                sdk = args.pop(0) if args else ''
                if not re.fullmatch('|'.join(SDKS) + r'|(macosx|iphoneos|iphonesimulator)[\d.]+', sdk):
                    usage(f"SDK '{sdk}' cannot be located")
            elif a in ('-f', '--find', '-find'):
                tool = args.pop(0) if args else ''
                if tool not in ('metal', 'metallib'):
                    usage(f"unable to find utility '{tool}'")
                toolchain(tool)
                print(os.path.join(HERE, 'bin', 'xcrun') + ' ' + tool)
                return 0
            elif a not in ('-r', '--run', '-run'):
                usage(f"unknown argument: '{a}'")
        tool = args.pop(0) if args else ''
        toolchain(tool)
        if tool == 'metal':
            return metal(args, sdk)
        if tool == 'metallib':
            return metallib(args, sdk)
        usage(f"unable to find utility '{tool}': only metal and metallib are emulated")
    except Err as e:
        print(e, file=sys.stderr)
        return 1
    except OSError as e:
        print(f'{e.filename}: {e.strerror}', file=sys.stderr)
        return 1
