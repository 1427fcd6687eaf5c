#!/usr/bin/env python3
"""hostile.py - specs that mean harm. Each of a megabyte or less ends within 2 s of processor time and 100 MB, larger ones
in memory that is bounded by their size; with an error exit status 1 and nothing written. hostile.py [-v] [WORD …]: the
cases whose names hold a WORD. Ends with "N passed, N failed"."""
import os
import re
import resource
import shutil
import signal
import sys
import tempfile
import threading

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
NUVECC = os.path.join(ROOT, os.environ.get('BUILD', 'build'), 'nuvecc')
SECONDS, MEGABYTES = 2, 100
MIB = 1 << 20
CASES = []


class Case:
    """words: a regular expression that the diagnostics hold; status 1 with words, else 0. feed: what is written into a
    FIFO of the spec's name, again and again. seconds, megabytes: the limits."""

    def __init__(self, name, form, text, words=None, status=None, seconds=SECONDS, megabytes=MEGABYTES, feed=None, path=None,
                 options=()):
        self.name, self.form, self.text, self.words, self.feed, self.path = name, form, text, words, feed, path
        self.status = status if status is not None else 1 if words else 0
        self.seconds, self.megabytes, self.options = seconds, megabytes, list(options)
        CASES.append(self)


def yaml(name, text, words=None, **more):
    Case(name, 'yaml', text, words, **more)


def json(name, text, words=None, **more):
    Case(name, 'json', text, words, **more)


def spec(nodes='y = x', outputs='y', inputs='x: "float32[4]"', above='', below='', head=''):
    """A YAML spec with these statements, as a block."""
    block = ''.join('      %s\n' % line for line in nodes.split('\n'))
    return ('nuvec: 1\nname: h\n%sfunctions:\n%s  f:\n%s    inputs: {%s}\n    nodes: |\n%s    outputs: %s\n%s'
            % (above, '', head, inputs, block, outputs, below))


def plain(nodes, inputs='"x": "float32[4]"', outputs='"y"'):
    return '{"nuvec": 1, "name": "h", "functions": {"f": {"inputs": {%s}, "nodes": [%s], "outputs": %s}}}' % (
        inputs, nodes, outputs)


# ---- depth ----
DEEP = 100000
for mark, close in ('[', ']'), ('{"a":', '}'), ('[{"a":', '}]'):
    json('depth: %s' % mark, lambda m=mark: m * DEEP, r':1:\d+: error: nesting deeper than 256')
    json('depth, closed: %s' % mark, lambda m=mark, c=close: m * DEEP + '1' + c * DEEP, 'nesting deeper than 256')
    yaml('depth in flow: %s' % mark, lambda m=mark: m.replace(':', ': ') * DEEP, 'nesting deeper than 256')
yaml('depth: - - -', lambda: '- ' * DEEP + 'a\n', 'nesting deeper than 256')
yaml('depth: ? ? ?', lambda: '? ' * DEEP + 'a\n', 'a key must be text')
yaml('depth: block maps', lambda: ''.join(' ' * k + 'a:\n' for k in range(1400)), 'nesting deeper than 256')
for opening, closing in (('(', ')'), ('[', ']'), ('{a: ', '}'), ('exp(', ')'), ('x[', ']'), ('-', ''), ('not ', ''), ('~', ''),
                         ('+', ''), ('2 ** ', ''), ('float16(', ')'), ('x + (', ')'), ('1 if (', ')')):
    yaml('depth in text: %s' % opening, lambda o=opening, c=closing: spec('y = ' + o * DEEP + 'x' + c * DEEP),
         "deeper than 256|not part|unexpected|expected|no operator")
    yaml('depth in text, open: %s' % opening, lambda o=opening: spec('y = ' + o * DEEP), 'error')
for link in '.a', '[0]', '[None]', '(x)', '.shape':
    yaml('a long chain of %s' % link, lambda l=link: spec('y = x' + l * DEEP), 'error')
    yaml('a long target of %s' % link, lambda l=link: spec('x' + l * DEEP + ' = x'), 'error')
yaml('depth of types', lambda: spec(inputs='x: ' + '[' * 300 + 'float32' + ']' * 300), 'nesting deeper than 256')
yaml('depth in a dim', lambda: spec(inputs='x: "float32[%s1%s]"' % ('(' * DEEP, ')' * DEEP)), 'deeper than 256')
yaml('depth of named types', lambda: spec(above='types:\n  t0: float32\n' + ''.join(
    '  t%d: {a: t%d}\n' % (k + 1, k) for k in range(20000)), inputs='x: t20000', nodes='y = 1'), 'deep')
yaml('depth of statements', lambda: 'nuvec: 1\nname: h\nfunctions:\n  f:\n    inputs: {x: float32}\n    nodes: ' +
     '[{if: true, then: ' * 127 + '[y = x]' + '}]' * 127 + '\n    outputs: x\n', 'nesting deeper than 256')
yaml('depth of calls', lambda: 'nuvec: 1\nname: h\nfunctions:\n' + ''.join(
    '  g%d: {inputs: {x: float32}, nodes: ["y = g%d(x)"], outputs: y}\n' % (k, k + 1) for k in range(15000)) +
     '  g15000: {inputs: {x: float32}, outputs: x}\n', 'calls.*deep|deep.*calls|256')

# ---- aliases and cycles ----
yaml('alias bomb', lambda: 'nuvec: 1\nx-a0: &a0 [l, o, l]\n' + ''.join(
    'x-a%d: &a%d [%s]\n' % (k + 1, k + 1, ', '.join(['*a%d' % k] * 10)) for k in range(40)) + 'functions: *a40\n',
     'aliases expand to more than')
yaml('alias bomb of nodes', lambda: 'nuvec: 1\nname: h\nx-a0: &a0 {if: true, then: [y = x]}\n' + ''.join(
    'x-a%d: &a%d {if: true, then: [%s]}\n' % (k + 1, k + 1, ', '.join(['*a%d' % k] * 10)) for k in range(40)) +
     'functions: {f: {inputs: {x: float32}, nodes: [*a40], outputs: x}}\n', 'aliases expand to more than')
yaml('a cycle of aliases', 'nuvec: 1\nx-a: &a [*a]\n', "2:10: error: alias 'a' stands inside its own anchor")
yaml('a cycle of aliases, two', 'nuvec: 1\nx-a: &a [*b]\nx-b: &b [*a]\n', "2:10: error: unknown anchor 'b'")
yaml('a cycle of calls', 'nuvec: 1\nname: h\nfunctions:\n  f: {inputs: {x: float32}, nodes: ["y = g(x)"], outputs: y}\n'
     '  g: {inputs: {x: float32}, nodes: ["y = f(x)"], outputs: y}\n', 'circle|itself')
yaml('a long cycle of calls', lambda: 'nuvec: 1\nname: h\nfunctions:\n' + ''.join(
    '  g%d: {inputs: {x: float32}, nodes: ["y = g%d(x)"], outputs: y}\n' % (k, (k + 1) % 10000) for k in range(10000)),
     'circle|itself|deep')
yaml('a cycle of types', spec(above='types: {t: {a: u}, u: {b: t}}\n', inputs='x: t', nodes='y = 1'), 'circle|itself')
yaml('a long cycle of types', lambda: spec(above='types:\n' + ''.join(
    '  t%d: {a: t%d}\n' % (k, (k + 1) % 20000) for k in range(20000)), inputs='x: t5', nodes='y = 1'), 'circle|itself|deep')
yaml('many anchors', lambda: 'nuvec: 1\n' + ''.join('x-%d: &a%d 1\n' % (k, k) for k in range(50000)), 'functions')
yaml('many anchors of nothing', lambda: 'nuvec: 1\n' + ''.join('&k%d x-%d: &v%d\n' % (k, k, k) for k in range(30000)),
     'functions')
yaml('one anchor, many times', lambda: 'nuvec: 1\n' + ''.join('x-%d: &a [*b]\n' % k for k in range(50000)), 'unknown anchor')
yaml('many tag directives', lambda: ''.join('%%TAG !t%d! a\n' % k for k in range(50000)) + '---\nnuvec: 1\n', 'directive')
yaml('many tags', lambda: 'nuvec: 1\n' + ''.join('x-%d: !!str 1\n' % k for k in range(50000)), 'functions')
yaml('a tag of a megabyte', lambda: 'nuvec: 1\nname: !%s a\n' % ('a' * MIB), 'unknown tag')
yaml('an anchor of a megabyte', lambda: 'nuvec: 1\nname: *%s\n' % ('a' * MIB), 'unknown anchor')
yaml('many documents', lambda: '---\n' * 200000, 'a second document')
yaml('many comments', lambda: '#\n' * 500000 + spec(), None)
yaml('many blank lines', lambda: '\n' * 1000000 + spec(), None)
yaml('many indents', lambda: 'nuvec: 1\nname: h\nx-a:\n' + ''.join('  a%d:\n    - b\n' % k for k in range(40000)), 'functions')

# ---- numbers ----
for dim in '1e30', '-1', '99999999999999999999', '281474976710657', '1.5', '0x10', "'a b'", '4 4', '9' * 10000:
    yaml('a dim of %s' % dim[:24], spec(inputs='x: "float32[%s]"' % dim), 'error')
    yaml('a dim of %s in shape' % dim[:24], spec(inputs='x: {dtype: float32, shape: [%s]}' % dim), 'error')
    if dim != '0x10': # YAML's 16
        yaml('a dim of %s in a signature' % dim[:24], spec(inputs='x: "float32[N]"', below='entries: {f: {signatures: [{N: %s}]}}\n' % dim), 'error')
yaml('elements over 2^48', spec(inputs='x: "float32[1048576, 1048576, 1048576]"'), 'elements|too large')
yaml('elements over 2^63', spec(inputs='x: "float32[%s]"' % ', '.join(['281474976710656'] * 16)), 'elements|too large')
yaml('elements over 2^48 by broadcasting', spec('y = broadcast_to(x, [1048576, 1048576, 1048576, 4])'), 'elements|too large')
yaml('elements over 2^48 by an operator', spec('y = x + z', inputs='x: "float32[16777216, 1]", z: "float32[16777217]"'),
     'elements|too large')
yaml('2^48 elements', spec('y = exp(x)', inputs='x: "float32[16777216, 16777216]"'), None)
yaml('rank 17', spec(inputs='x: "float32[%s]"' % ', '.join(['1'] * 17)), '16')
yaml('rank 100,000', lambda: spec(inputs='x: "float32[%s]"' % ', '.join(['1'] * DEEP)), '16')
yaml('rank: 1e9', spec(inputs='x: {dtype: float32, rank: 1000000000}'), 'error')
LONG = '9' * 10000
for name, text in (('y = x + %s', 'text'), ('y = %s', 'alone'), ('y = uint64(%s)', 'uint64'),
                   ('y = x * 0x%s', 'hex'), ('y = x[%s]', 'index'), ('y = x[%s:]', 'slice')):
    yaml('an int of 10,000 digits: %s' % text, spec(name % LONG), 'error', status=None)
for name in 'y = float16(%s)', 'y = x * %s.0', 'y = x * 1e%s', 'y = x * 1e-%s':
    yaml('10,000 digits: %s' % name, spec(name % LONG), None)
json('an int of 10,000 digits as an operand', plain('{"name": "y", "op": "add", "inputs": ["x", %s]}' % LONG), 'error')
json('a float of a megabyte as an operand', lambda: plain('{"name": "y", "op": "add", "inputs": ["x", 1.%s]}' % ('1' * MIB)), None)
json('an int of a megabyte as the version', lambda: '{"nuvec": %s}' % ('1' * MIB), 'version|nuvec')
for text in '2 ** 9223372036854775807', '1 ** 9223372036854775807', '(-1) ** 9223372036854775807', '0 ** -1', '1 // 0', '1 % 0', \
            '1 / 0', '-9223372036854775808 // -1', '9223372036854775807 + 1', '1 << 64', '1 << -1', 'int(1e300)', 'int(nan)', \
            'floor(inf)', '2.0 ** 9223372036854775807', '1.0000001 ** 9223372036854775807', 'abs(-9223372036854775808)', \
            'sqrt(-1)', '-9223372036854775808 % -1', '2 ** 100000000000000000000':
    yaml('static: %s' % text, spec('y = x + (%s)' % text), 'any')
for text in 'range(1000000000000)', 'range(0, 9223372036854775807, 2)', 'range(1000000000000, 0, -1)', 'range(-9223372036854775808, 9223372036854775807)', \
            'range(0, 10, 0)':
    yaml('static: sum of %s' % text[:24], spec('y = x + len(%s)' % text), 'any')
    yaml('for over %s' % text[:24], spec('y = x').replace('nodes: |\n      y = x\n', 'nodes: [y = x, {for: i, in: "%s", carry: [y], do: '
                                         '[y = y + 1]}]\n' % text), 'error')
yaml('loops in loops', spec().replace('nodes: |\n      y = x\n', 'nodes: [y = x, ' + '{for: i, in: "range(1000000)", carry: [y], do: [' * 4
                                      + 'y = y' + ']}' * 4 + ']\n'), 'error')
yaml('range of a million in a list', lambda: spec('y = x + len([%s])' % ', '.join(['range(1000000)'] * 1000)), 'any')

# ---- text ----
NAME = 'n' * MIB
yaml('a name of a megabyte: node', lambda: spec('%s = x' % NAME), '255 at most')
yaml('a name of a megabyte: used', lambda: spec('y = %s' % NAME), '255 at most')
yaml('a name of a megabyte: called', lambda: spec('y = %s(x)' % NAME), '255 at most')
yaml('a name of a megabyte: input', lambda: spec(inputs='? %s : float32' % NAME), '255 at most')
yaml('a name of a megabyte: key', lambda: 'nuvec: 1\n? %s\n: 1\n' % NAME, 'error')
yaml('a name of a megabyte: function', lambda: 'nuvec: 1\nfunctions: {? %s : {}}\n' % NAME, 'error')
yaml('a name of a megabyte: type', lambda: spec(inputs='x: %s' % NAME), 'error')
yaml('a name of a megabyte: spec', lambda: 'nuvec: 1\nname: %s\nfunctions: {f: {inputs: {x: float32}, outputs: x}}\n' % NAME, 'error')
yaml('a name of a megabyte: string', lambda: spec('y = x + "%s"' % NAME), 'error')
json('a name of a megabyte: plain', lambda: plain('{"name": "%s", "op": "exp", "inputs": ["x"]}' % NAME), '255 at most')
json('a name of a megabyte: op', lambda: plain('{"name": "y", "op": "%s", "inputs": ["x"]}' % NAME), 'error')
json('a name of a megabyte: operand', lambda: plain('{"name": "y", "op": "exp", "inputs": ["%s"]}' % NAME), '255 at most')
json('a name of a megabyte: attribute', lambda: plain('{"name": "y", "op": "exp", "inputs": ["x"], "%s": 1}' % NAME), 'error')
json('a file of a megabyte', lambda: '{"nuvec": 1, "functions": {}, "constants": {"c": {"file": "%s"}}}' % NAME, 'error')
yaml('a prefix of 100,000', spec(), 'has 100000 bytes: 200 at most', status=2, options=['--prefix=' + 'n' * 100000])
for where, text in (('start', b'\0nuvec: 1\n'), ('value', b'nuvec: 1\nname: a\0b\n'), ('end', spec().encode() + b'\0'),
                    ('all', b'\0' * 1000)):
    yaml('NUL at the %s' % where, lambda t=text: t, r'error: .*(0x00|NUL|control|UTF-8)')
json('NUL in a string', lambda: b'{"nuvec": 1, "name": "a\0b"}', r':1:24: error: a control character \(0x00\)')
json('NUL behind', lambda: plain('{"name": "y", "op": "exp", "inputs": ["x"]}').encode() + b'\0', 'error')
json('an escaped NUL', '{"nuvec": 1, "name": "a\\u0000b"}', r'\\u0000')
for what, bad in (('a lone byte', b'\xff'), ('cut off', b'\xe2\x82'), ('overlong', b'\xc0\xaf'), ('a surrogate', b'\xed\xa0\x80'),
                  ('beyond Unicode', b'\xf4\x90\x80\x80'), ('Latin-1', b'h\xe9t\xe9')):
    yaml('UTF-8, %s' % what, lambda b=bad: b'nuvec: 1\nname: ' + b + b'\n', r':2:\d+: error: invalid UTF-8')
    yaml('UTF-8, %s, in a comment' % what, lambda b=bad: b'nuvec: 1 # ' + b + b'\n', r':1:\d+: error: invalid UTF-8')
    json('UTF-8, %s' % what, lambda b=bad: b'{"nuvec": 1,\n"name": "' + b + b'"}', r':2:\d+: error: invalid UTF-8')
    json('UTF-8, %s, outside' % what, lambda b=bad: b'{"nuvec": 1, ' + b + b'}', 'error')
yaml('UTF-16', lambda: spec().encode('utf-16'), 'UTF-8|control')
json('UTF-16', lambda: plain('').encode('utf-16'), 'error')
json('UTF-32', lambda: plain('').encode('utf-32'), 'error')
yaml('a byte order mark', lambda: b'\xef\xbb\xbf' + spec().encode(), None)
yaml('two byte order marks', lambda: b'\xef\xbb\xbf' * 2 + spec().encode(), 'any')
json('a byte order mark', lambda: b'\xef\xbb\xbf{}', ':1:1: error: a byte order mark')
for form, ending in ('yaml', 'yaml'), ('json', 'json'):
    Case('empty (%s)' % form, form, '', ':1:1: error: ')
    Case('a blank (%s)' % form, form, ' ', 'error: ')
    Case('line ends (%s)' % form, form, '\n' * 1000, 'error: ')
    for scalar in '1', '"a"', 'null', '[]', '{}', 'true':
        Case('%s alone (%s)' % (scalar, form), form, scalar, 'error: ')

# ---- many ----
MANY = 20000
yaml('many duplicate keys', lambda: 'nuvec: 1\n' + 'x-a: 1\n' * 100000, "duplicate key 'x-a'")
json('many duplicate keys', lambda: '{"nuvec": 1%s}' % (', "x-a": 1' * 90000), "duplicate key 'x-a'")
json('many duplicate long keys', lambda: '{"nuvec": 1%s}' % ((', "x-%s": 1' % ('a' * 10000)) * 100), 'duplicate key')
yaml('many unknown keys', lambda: 'nuvec: 1\n' + ''.join('functionz%d: 1\n' % k for k in range(50000)), 'unknown key')
yaml('many unknown names', lambda: spec('\n'.join('y%d = z%d' % (k, k) for k in range(50000))), "unknown name 'z0'")
yaml('many unknown names, many known', lambda: spec('\n'.join('abcdefgh%d = x + %d' % (k, k) for k in range(MANY)) + '\n' + '\n'.join(
    'y%d = abcdefg%d' % (k, k) for k in range(MANY))), "unknown name 'abcdefg0'")
yaml('many unknown functions', lambda: spec('\n'.join('y%d = g%d(x)' % (k, k) for k in range(40000))), "unknown")
yaml('many unknown functions, many known', lambda: 'nuvec: 1\nname: h\nfunctions:\n' + ''.join(
    '  abcdefg%d: {inputs: {x: float32}, nodes: ["y = abcdefgh%d(x)"], outputs: y}\n' % (k, k) for k in range(11000)) +
     'entries: {%s}\n' % ', '.join('abcdefg%d: {}' % k for k in range(4000)), "unknown function 'abcdefgh0'; did you mean 'abcdefg0'")
yaml('many unknown types', lambda: spec(above='types:\n' + ''.join('  abcdefgh%d: float32\n' % k for k in range(MANY)),
                                        inputs=', '.join('a%d: abcdefg%d' % (k, k) for k in range(MANY))), 'unknown')
yaml('many unknown attributes', lambda: spec('y = sum(x, %s)' % ', '.join('axi%d=1' % k for k in range(80000))), 'error')
yaml('many arguments', lambda: spec('y = exp(%s)' % ', '.join(['x'] * 300000)), 'error')
yaml('many positional attributes', lambda: spec('y = sum(x, %s)' % ', '.join(['0'] * 300000)), 'error')
yaml('many axes', lambda: spec('y = sum(x, axis=[%s])' % ', '.join(['0'] * 300000)), 'error')
yaml('many targets', lambda: spec('%s = x' % ', '.join('a%d' % k for k in range(100000)), 'x'), 'error')
yaml('many targets, one name', lambda: spec('%s = x' % ', '.join('a' for k in range(100000)), 'x'), 'error')
yaml('many outputs', lambda: spec(outputs='[%s]' % ', '.join(['y'] * 1000000)).replace(', ', ','), '65535|65,535', megabytes=250, seconds=3)
yaml('many outputs, 60,000', lambda: spec(outputs='[%s]' % ','.join(['y'] * 60000)), 'any')
yaml('many inputs', lambda: spec(inputs=', '.join('a%d: f32' % k for k in range(70000)), nodes='y = a1'), '65535|65,535')
yaml('65,534 inputs', lambda: spec(inputs=','.join('a%d: f32' % k for k in range(65534)), nodes='y = a1'), None)
yaml('65,534 inputs, all used', lambda: spec(inputs=','.join('a%d: f32' % k for k in range(20000)), nodes='y = a0' + ''.join('+a%d' % k for k in range(1, 20000))), None)
yaml('a list type of 10^12', spec(inputs='x: {list: 1000000000000, of: float32}', nodes='y = 1'), 'error')
yaml('lists of lists', spec(inputs='x: {list: 1000000, of: {list: 1000000, of: float32}}', nodes='y = 1'), '65535|65,535|not supported')
yaml('lists of lists of nothing', spec(inputs='x: {list: 1000000, of: {list: 1000000, of: {list: 0, of: float32}}}', nodes='y = 1'), 'error')
yaml('types that double', lambda: spec(above='types:\n  t0: float32\n' + ''.join(
    '  t%d: {a: t%d, b: t%d}\n' % (k + 1, k, k) for k in range(60)), inputs='x: t60', nodes='y = 1'), 'error')
yaml('types of nothing that double', lambda: spec(above='types:\n  t0: {list: 0, of: float32}\n' + ''.join(
    '  t%d: {a: t%d, b: t%d}\n' % (k + 1, k, k) for k in range(60)), inputs='x: t60', nodes='y = 1'), 'error')
yaml('trees that double', lambda: spec('t0 = x\n' + '\n'.join('t%d = {a: t%d, b: t%d}' % (k + 1, k, k) for k in range(60)) + '\ny = t60'), 'error')
yaml('trees that double, unused', lambda: spec('t0 = x\n' + '\n'.join('t%d = {a: t%d, b: t%d}' % (k + 1, k, k) for k in range(60)) + '\ny = x'), 'any')
yaml('lists that double', lambda: spec('t0 = 1\n' + '\n'.join('t%d = [t%d, t%d]' % (k + 1, k, k) for k in range(60)) + '\ny = reshape(x, t60)'), 'error')
yaml('lists that double, compared', lambda: spec('t0 = 1\n' + '\n'.join('t%d = [t%d, t%d]' % (k + 1, k, k) for k in range(60)) + '\ny = x + (t60 == t60)'), 'error')
yaml('lists of arrays that double, summed', lambda: spec('t0 = x\n' + '\n'.join('t%d = [t%d, t%d]' % (k + 1, k, k) for k in range(60)) + '\ny = t60 + 1'), 'error')
yaml('constants that double', lambda: spec('\n'.join('t%d = %s' % (k, '[%s]' % ', '.join(['t%d' % (k - 1)] * 20) if k else 'x') for k in range(20)) + '\ny = stack(t19)'), 'error')
yaml('f1 calls f2 twice, 60 levels', lambda: 'nuvec: 1\nname: h\nfunctions:\n' + ''.join(
    '  g%d: {inputs: {x: "float32[4]"}, nodes: ["a = g%d(x)", "y = g%d(a)"], outputs: y}\n' % (k, k + 1, k + 1) for k in range(60)) +
     '  g60: {inputs: {x: "float32[4]"}, nodes: ["y = x + 1"], outputs: y}\n', 'nodes')
yaml('f1 calls f2 twice, 60 levels, nothing below', lambda: 'nuvec: 1\nname: h\nfunctions:\n' + ''.join(
    '  g%d: {inputs: {x: "float32[4]"}, nodes: ["a = g%d(x)", "y = g%d(a)"], outputs: y}\n' % (k, k + 1, k + 1) for k in range(60)) +
     '  g60: {inputs: {x: "float32[4]"}, outputs: x}\n', 'error')
yaml('f1 calls f2 twice, 60 levels, statics', lambda: 'nuvec: 1\nname: h\nfunctions:\n' + ''.join(
    '  g%d: {static: {n: 1}, inputs: {x: "float32[4]"}, nodes: ["a = g%d(x, n=n)", "y = g%d(a, n=n+1)"], outputs: y}\n' % (k, k + 1, k + 1) for k in range(60)) +
     '  g60: {static: {n: 1}, inputs: {x: "float32[4]"}, outputs: x}\n', 'error')

def doubling(levels, condition, below, static='static: {n: 1}, ', argument='', do='a = g%d(x%s)", "y = g%d(a%s)'):
    """g0 calls g1 twice, and so on, each under a condition that no literal decides."""
    return 'nuvec: 1\nname: h\nfunctions:\n' + ''.join(
        '  g%d: {%sinputs: {x: "float32[4]"}, nodes: [y = x, {if: "%s", then: ["%s"]}], outputs: y}\n'
        % (k, static, condition, do % (k + 1, argument, k + 1, argument)) for k in range(levels)) + (
            '  g%d: {%sinputs: {x: "float32[4]"}, nodes: ["y = %s"], outputs: y}\n' % (levels, static, below))


yaml('doubling under a static, nodes', lambda: doubling(60, 'n > 0', 'x + 1'), 'more than 67108864 nodes')
yaml('doubling under a static, nothing below', lambda: doubling(60, 'n > 0', 'x'), 'takes more than 67108864 steps')
yaml('doubling under a static that is passed on', lambda: doubling(60, 'n > 0', 'exp(x)', argument=', n=n'), 'takes more than 67108864 steps')
yaml('doubling under a static that counts', lambda: doubling(60, 'n > 0', 'exp(x)', argument=', n=n+1'), 'takes more than 67108864 steps')
yaml('doubling under a shape', lambda: doubling(60, 'x.shape[0] == 4', 'x * x', static=''), 'takes more than 67108864 steps')
yaml('doubling under an and', lambda: doubling(60, 'n > 0 and x.ndim == 1', 'x * x'), 'takes more than 67108864 steps')
yaml('doubling, 17 levels', lambda: doubling(17, 'n > 0', 'x'), None)
yaml('doubling that ends by its static', lambda: doubling(60, 'n < 8', 'x + 1', argument=', n=n+1'), None)
for name, text in (('sum', 'y' + ' + x' * 100), ('product of a loop name', 'y * i' + ' * x' * 99), ('sign', '-' * 100 + 'y'),
                   ('comparison', ' + '.join(['(y < x)'] * 60)), ('function', 'exp(' * 90 + 'y' + ')' * 90)):
    for times in 'range(1000000)', 'range(n)':
        yaml('a long for over a %s, %s' % (name, times), lambda t=text, n=times: spec(head='    static: {n: 1000000}\n').replace(
            'nodes: |\n      y = x\n', 'nodes: [y = x, {for: i, in: "%s", carry: [y], do: ["y = %s"]}]\n' % (n, t)),
             'more than 67108864 nodes')
def loop(nodes, static='{n: 1000000}'):
    return spec(head='    static: %s\n' % static).replace('nodes: |\n      y = x\n', 'nodes: [y = x, %s]\n' % nodes)


MUCH = 'y = y' + ' + x' * 100
for name, nodes in (
        ('of its name', '{for: i, in: range(n), carry: [y], do: [{if: i > 0, then: [%s]}]}'),
        ('of its name, else', '{for: i, in: range(n), carry: [y], do: [{if: i == 7, then: [y = x], else: [%s]}]}'),
        ('of a number of it', '{for: i, in: range(n), carry: [y], do: [k = abs(i - 3) %% 7, {if: k != 3 and k < 20, then: [%s]}]}'),
        ('of what is carried', 'k = 0, {for: i, in: range(n), carry: [y, k], do: [k = k + 1, {if: k > 2, then: [%s]}]}'),
        ('of a shape', '{for: i, in: range(n), carry: [y], do: [{if: "x.shape[0] > 3 or i > 3", then: [%s]}]}'),
        ('under another', '{for: i, in: range(n), carry: [y], do: [{if: i > 0, then: [{if: i > 1, then: [%s]}]}]}'),
        ('in a loop', '{for: i, in: range(1000), carry: [y], do: [{for: j, in: range(1000), carry: [y], do: [{if: i > 0, then: [%s]}]}]}'),
        ('in a loop of its length', '{for: i, in: range(1400), carry: [y], do: [{for: j, in: range(i), carry: [y], do: [{if: j > 0, then: [%s]}]}]}'),
        ('of lists', '{for: k, in: "[range(1000), range(1000)]", carry: [y], do: [{for: i, in: k, carry: [y], do: [{for: j, in: k, '
                     'carry: [y], do: [{if: i > 2, then: [%s]}]}]}]}')):
    yaml('a long for, an if %s' % name, lambda n=nodes: loop(n % MUCH), 'more than (67108864 nodes|1048576 iterations)')
yaml('a long for, an if that is seldom', lambda: loop('{for: i, in: range(n), carry: [y], do: [{if: i < 100, then: [%s]}]}' % MUCH), None)
yaml('a long for, an if of an array', lambda: loop('{for: i, in: range(n), carry: [y], do: [{if: y > 100, then: [%s]}]}' % MUCH),
     'the condition of an if is static')
yaml('a long for over numbers', lambda: spec().replace(
    'nodes: |\n      y = x\n', 'nodes: [s = 0, {for: i, in: "range(100000)", carry: [s], do: ["s = s%s"]}, y = x + s]\n' % (' + 1' * 50)), None)
yaml('a long for over what is an array once', lambda: spec().replace(
    'nodes: |\n      y = x\n', 'nodes: [y = x, s = x, {for: i, in: "range(100000)", carry: [s], do: ["t = s%s", "s = 1"]}]\n' % (
        ' + 1' * 100)), None)
yaml('many statics, many calls', lambda: 'nuvec: 1\nname: h\nfunctions:\n  g: {static: {%s}, inputs: {x: float32}, outputs: x}\n  f:\n'
     '    inputs: {x: float32}\n    nodes: |\n%s      y = x\n    outputs: y\n' % (
         ', '.join('s%d: 1' % k for k in range(30000)), '      y = g(x)\n'.replace('y', '_') * 20000), 'steps')
yaml('a for over much', lambda: spec().replace('nodes: |\n      y = x\n', 'nodes: [y = x, {for: i, in: range(1000000), carry: [y], do: ['
                                                '"_ = len([%s])"]}]\n' % ', '.join(['1'] * 200000)), 'steps')
yaml('many signatures', lambda: spec(inputs='x: "float32[N]"', below='entries: {f: {signatures: [%s]}}\n' % ', '.join(
    '{N: %d}' % k for k in range(60000))), 'more than 4096 entries')
yaml('many equal signatures', lambda: spec(below='entries: {f: {signatures: [%s]}}\n' % ','.join(['{}'] * 200000)), 'more than 4096 entries')
yaml('a huge signature', lambda: spec(inputs='x: "float32[N]"', below='entries: {f: {signatures: [{%s}]}}\n' % ', '.join(
    'N%d: %d' % (k, k) for k in range(60000))), 'error')
yaml('many entries', lambda: spec(below='entries:\n' + ''.join('  e%d: {function: f}\n' % k for k in range(40000))), 'more than 4096 entries')
yaml('many functions', lambda: 'nuvec: 1\nname: h\nfunctions:\n' + ''.join(
    '  g%d: {inputs: {x: float32}, outputs: x}\n' % k for k in range(20000)), 'more than 4096 entries')
yaml('many dims', lambda: spec(inputs='x: "float32[N0]"', head='    dims: {%s}\n' % ', '.join('N%d: %d' % (k, k) for k in range(50000))), 'any')
yaml('many statics', lambda: spec(head='    static: {%s}\n' % ', '.join('N%d: %d' % (k, k) for k in range(50000))), 'any')
yaml('many choices', lambda: spec(head='    static: {s: {enum: [%s], default: b}}\n' % ', '.join('N%d' % k for k in range(80000))), 'error')
yaml('many choices, one name', lambda: spec(head='    static: {s: {enum: [%s], default: a}}\n' % ', '.join(['a'] * 150000)), 'error')
yaml('many state inputs', lambda: spec(below='entries: {f: {style: mut, state: [%s]}}\n' % ','.join(['x'] * 200000)), 'error')
yaml('many donated inputs', lambda: spec(inputs=','.join('a%d: f32' % k for k in range(30000)), nodes='y = a1', below='entries: {f: {donate: [%s]}}\n' % ','.join('a%d' % k for k in range(30000))), 'any')
yaml('many donated inputs, unknown', lambda: spec(inputs=','.join('abcdefgh%d: f32' % k for k in range(20000)), nodes='y = abcdefgh1', below='entries: {f: {donate: [%s]}}\n' % ','.join('abcdefg%d' % k for k in range(20000))), 'error')
yaml('many unused names', lambda: spec('\n'.join('z%d = x' % k for k in range(60000)) + '\ny = x'), None)
json('many unused names on one line', lambda: plain(','.join('"z%d=x"' % k for k in range(60000)) + ',"y=x"'), None)
yaml('many unused names in a flow list', lambda: spec().replace('nodes: |\n      y = x\n', 'nodes: [%s, y=x]\n' % ','.join('z%d=x' % k for k in range(60000))), None)
yaml('many unused inputs of functions', lambda: 'nuvec: 1\nname: h\nfunctions: {%s}\n' % ', '.join(
    'g%d: {inputs: {x: float32, y: float32}, outputs: x}' % k for k in range(3000)), None)
yaml('a flow list with its error at the end', lambda: spec().replace('nodes: |\n      y = x\n', 'nodes: [%s, y=q]\n' % ','.join('z%d=x' % k for k in range(60000))), "'q'")
yaml('many statements split at a comma', lambda: spec().replace('nodes: |\n      y = x\n', 'nodes: [%s, y=x]\n' % ','.join('z%d=f(x,x)' % k for k in range(50000))), 'split this at a comma')
yaml('brackets that never close', lambda: spec().replace('nodes: |\n      y = x\n', 'nodes: [%s, y=x]\n' % ','.join('z%d=f((x' % k for k in range(50000))), 'split this at a comma')
yaml('many lines inside a bracket', lambda: spec('y = x + (' + '\n'.join(['1 +'] * 200000) + '\n1)'), None)
yaml('many bad lines', lambda: spec('\n'.join('y%d = $' % k for k in range(60000))), 'error')
yaml('many bad lines, brackets open', lambda: spec('\n'.join('y%d = (' % k for k in range(60000))), 'error')
yaml('many bad strings', lambda: spec('\n'.join('y%d = "' % k for k in range(60000))), 'error')
yaml('a long sum', lambda: spec('y = x' + '+x' * 400000), None, megabytes=160)  # legal: about 370 bytes a term, over the goal
for mib, stage in (1, 'reading'), (16, 'tracing'), (64, 'simplifying'), (110, 'fusing'):
    yaml('memory ends while %s' % stage, lambda: spec('y = x' + '+x' * 400000), 'out of memory: the limit of %d bytes is reached' % (mib * MIB),
         status=3, options=['--memory=%d' % mib], megabytes=1.1 * mib + 40)
yaml('memory ends while writing', lambda: spec(outputs='[%s]' % ','.join(['y'] * 60000)), 'out of memory: the limit of %d bytes' % (40 * MIB),
     status=3, options=['--memory=40'])
yaml('a long power', lambda: spec('y = x' + '**x' * 300000), 'deeper than 256')
yaml('a long comparison', lambda: spec('y = x + (1' + '<1' * 400000 + ')'), 'any')
yaml('a long and', lambda: spec('y = x' + ' and x' * 150000), None)
yaml('a long and of statics', lambda: spec('y = x + (1' + ' and 1' * 150000 + ')'), 'any')
yaml('a long sum of statics', lambda: spec('y = x + (1' + '+1' * 400000 + ')'), 'any')
yaml('a long dim', lambda: spec(inputs='x: "float32[0%s]"' % ('+1' * 400000)), 'any')
yaml('a long dim of names', lambda: spec(inputs='x: "float32[%s]"' % '+'.join('N%d' % k for k in range(60000))),
     r':5:\d+: error: size expressions of more than 64 terms have more than 2097152 in all')
yaml('many long dims of names', lambda: spec(inputs=', '.join('x%d: "float32[%s]"' % (j, '+'.join(
    'N%d' % (k * 7 ** j % 1021) for k in range(1021))) for j in range(150))), r':5:\d+: error: size expressions of more than 64 terms')
yaml('a dim whose product explodes', lambda: spec(inputs='x: "float32[%s]"' % ' * '.join(['(A+B+C+D+E+F+G+H)'] * 2000)), 'error')
yaml('a sum of many attributes', lambda: spec('y = x' + ''.join('\ny%d = x.shape[0] + %d' % (k, k) for k in range(30000))), None)
json('many nodes', lambda: plain(','.join('"z%d=x+%d"' % (k, k) for k in range(50000)) + ',"y=x"'), None)
json('a wide node', lambda: plain('{"name": "y", "op": "concatenate", "inputs": [[%s]]}' % ','.join(['"x"'] * 200000)), None, megabytes=105)  # at the goal's edge: 480 bytes an operand
json('a constant of a megabyte', lambda: plain('{"name": "y", "op": "add", "inputs": ["x", {"const": [%s], "dtype": "float32"}]}' % ','.join(['1'] * 500000)), 'any')
json('a ragged constant', lambda: plain('{"name": "y", "op": "add", "inputs": ["x", {"const": [%s], "dtype": "float32"}]}' % ','.join(['[1]', '[1, 2]'] * 90000)), 'error')
json('a constant of empty lists', lambda: plain('{"name": "y", "op": "add", "inputs": ["x", {"const": [%s], "dtype": "float32"}]}' % ','.join(['[]'] * 300000)), 'error')
yaml('escapes', lambda: 'nuvec: 1\nname: "%s"\n' % ('\\x41' * 200000), 'error')
yaml('an error behind many escapes', lambda: spec().replace('nodes: |\n      y = x\n', 'nodes: "y = x + %s $"\n' % ('\\x31' * 200000)), 'error')
json('an error behind many escapes', lambda: plain('"y = x + %s $"' % ('\\u0031' * 150000)), 'error')
yaml('many errors behind many escapes', lambda: spec().replace('nodes: |\n      y = x\n', 'nodes: "%s"\n' % ('y = $\\n' * 100000)), 'error')
yaml('a folded megabyte', lambda: 'nuvec: 1\nname: >\n' + '  a\n' * 200000, 'error')
yaml('a plain scalar of many lines', lambda: 'nuvec: 1\nname: a\n' + '  a\n' * 200000, 'error')
yaml('blank lines in a plain scalar', lambda: 'nuvec: 1\nname: a\n' + '\n' * 900000 + '  b\n', 'error')
yaml('carriage returns', lambda: '\r' * 900000, 'empty')
json('many carriage returns', lambda: '\r' * 900000, 'error')
yaml('many question marks', lambda: 'nuvec: 1\n' + '?\n' * 300000, 'error')
yaml('many dashes', lambda: '-\n' * 400000, 'error')
yaml('many colons', lambda: ': ' * 400000, 'error')
yaml('many empty pairs', lambda: '{' + ',' * 400000, 'error')
yaml('many pairs in a list', lambda: 'nuvec: 1\nx-a: [' + 'a: 1, ' * 150000 + ']\n', 'functions')
yaml('many bindings of one name', lambda: spec('y = x\n' * 100000 + 'y = x'), 'error')
yaml('kernels and kernels', lambda: spec('\n'.join('y%d = sum(x * %d)' % (k, k) for k in range(5000)) + '\ny = x', outputs='[%s]' % ','.join('y%d' % k for k in range(5000))), None)

# ---- beyond a megabyte: memory bounded by the size, at reading speed ----
BIG = 100 * MIB


def write_big(path, head, part, times, tail):
    with open(path, 'wb') as f:
        f.write(head)
        for _ in range(times):
            f.write(part)
        f.write(tail)


def big(name, form, head, part, tail, words, **more):
    times = BIG // len(part)
    Case(name, form, lambda path: write_big(path, head.encode(), part.encode() * 1024, times // 1024, tail.encode()), words, **more)


big('a line of 100 MB: a value', 'yaml', 'nuvec: 1\nname: ', 'a', '\n', 'error', seconds=5, megabytes=700)
big('a line of 100 MB: a value', 'json', '{"nuvec": 1, "name": "', 'a', '"}', 'error', seconds=5, megabytes=700)
big('a line of 100 MB: blanks', 'yaml', 'nuvec: 1\nname: ', ' ', 'h\n', 'functions', seconds=5, megabytes=700)
big('a line of 100 MB: blanks', 'json', '{"nuvec": 1', ' ', '}', 'functions', seconds=5, megabytes=700)
big('a line of 100 MB: a comment', 'yaml', 'nuvec: 1 #', '#', '\n', 'functions', seconds=5, megabytes=700)
big('a line of 100 MB: a statement', 'yaml', spec('y = x + 1').replace('1\n    outputs: y\n', ''), '1', '\n    outputs: y\n', 'error', seconds=5, megabytes=900)
big('a line of 100 MB: a key', 'json', '{"', 'a', '": 1}', 'unknown key', seconds=5, megabytes=700)
big('100 MB of a list', 'json', '{"nuvec": 1, "x-a": [1', ',1', ']}', 'functions', seconds=12, megabytes=6000)
big('100 MB of a list', 'yaml', 'nuvec: 1\nx-a: [1', ', 1', ']\n', 'functions', seconds=60, megabytes=6000)
yaml('a directory', None, 'directory', status=3, path='.')
yaml('/dev/zero', None, r':1:1: error: a control character \(0x00\)', path='/dev/zero')
json('/dev/zero', None, r':1:1: error: ', path='/dev/zero')
yaml('/dev/null', None, ':1:1: error: the file is empty', path='/dev/null')
yaml('a FIFO that never ends', None, 'a spec has at most 1 GiB', feed=b'# a comment that goes on and on\n' * 32768, seconds=10,
     megabytes=1200)
json('a FIFO that never ends', None, 'a spec has at most 1 GiB', feed=b'[1, 2, 3],\n' * 65536, seconds=10, megabytes=1200)
yaml('a FIFO of NULs', None, r':1:1: error: a control character \(0x00\)', feed=b'\0' * 65536)
yaml('a FIFO that ends', None, 'error', feed=b'')


# ---- running them ----

def in_child(work):
    """Runs work in a process of its own, so that its memory isn't ours (a child starts with its parent's peak)."""
    pid = os.fork()
    if pid == 0:
        try:
            work()
            os._exit(0)
        except BaseException as e:  # pylint: disable=broad-except
            sys.stderr.write('%r\n' % e)
            os._exit(1)
    if os.waitpid(pid, 0)[1]:
        raise SystemExit('a case could not be written')


def write_case(case, path):
    text = case.text
    if callable(text):
        if text.__code__.co_argcount and not text.__defaults__:
            return text(path)
        text = text()
    with open(path, 'wb') as f:
        f.write(text if isinstance(text, bytes) else text.encode())


def feed_fifo(path, part):
    try:
        with open(path, 'wb', buffering=0) as f:
            while part:
                f.write(part)
    except OSError:
        pass


def execute(command, stderr):
    """Exit status (minus the signal's number), processor seconds and peak megabytes."""
    pid = os.fork()
    if pid == 0:
        null = os.open(os.devnull, os.O_RDWR)
        os.dup2(null, 0)
        os.dup2(null, 1)
        os.dup2(os.open(stderr, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666), 2)
        resource.setrlimit(resource.RLIMIT_CPU, (60, 60))
        resource.setrlimit(resource.RLIMIT_AS, (10 << 30, 10 << 30))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        os.execv(command[0], command)
    _, status, usage = os.wait4(pid, 0)
    code = os.WEXITSTATUS(status) if os.WIFEXITED(status) else -os.WTERMSIG(status)
    scale = 1 if sys.platform == 'darwin' else 1024
    return code, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * scale / 1e6


def run(case, tmp):
    path, out, said = os.path.join(tmp, 'h.' + case.form), os.path.join(tmp, 'out'), os.path.join(tmp, 'said')
    feeder = None
    if case.path:
        path = case.path
    elif case.feed is not None:
        os.mkfifo(path)
        feeder = threading.Thread(target=feed_fifo, args=(path, case.feed))
        feeder.start()
    else:
        in_child(lambda: write_case(case, path))
    code, seconds, megabytes = execute([NUVECC, '--format=' + case.form, '-o', out] + case.options + [path], said)
    if feeder:
        feeder.join()
    with open(said, 'rb') as f:
        text = f.read(1 << 20).decode('utf-8', 'replace')
    bad = []
    want = case.status if case.words != 'any' else 1 if code == 1 else 0
    if code != want:
        bad.append('exit status %d, wanted %d' % (code, want))
    if code and os.path.exists(out) and os.listdir(out):
        bad.append('wrote %s' % os.listdir(out))
    if code and case.words not in (None, 'any') and not re.search(case.words, text):
        bad.append('no %r' % case.words)
    if code == 1 and 'error' not in text:
        bad.append('no error said')
    if seconds > case.seconds:
        bad.append('%.2f s, at most %g' % (seconds, case.seconds))
    if megabytes > case.megabytes:
        bad.append('%.0f MB, at most %d' % (megabytes, case.megabytes))
    for line in text.split('\n'):
        if len(line) > 1000:
            bad.append('a line of %d bytes said' % len(line))
            break
    return bad, code, seconds, megabytes, text


def main():
    args = sys.argv[1:]
    verbose = '-v' in args
    words = [w for w in args if w != '-v']
    passed = failed = 0
    slowest = largest = (0, '')
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    for case in CASES:
        name = '%s (%s)' % (case.name, case.form)
        if words and not any(w in name for w in words):
            continue
        tmp = tempfile.mkdtemp()
        try:
            bad, code, seconds, megabytes, text = run(case, tmp)
        finally:
            shutil.rmtree(tmp)
        if verbose or bad:
            print('%s%s: status %d, %.2f s, %.0f MB%s\n    %s' % ('FAILED ' if bad else '', name, code, seconds, megabytes, ''.join(
                '\n    ' + b for b in bad), '\n    '.join(line[:160] for line in text.split('\n')[:4])))
            sys.stdout.flush()
        passed += not bad
        failed += bool(bad)
        if case.seconds == SECONDS:
            slowest, largest = max(slowest, (seconds, name)), max(largest, (megabytes, name))
    print('of those up to a megabyte the slowest took %.2f s (%s), the largest %.0f MB (%s)' % (slowest + largest))
    print('%d passed, %d failed' % (passed, failed))
    return failed != 0


if __name__ == '__main__':
    sys.exit(main())
