#!/usr/bin/env python3
"""run_messages.py - what is said about wrong texts: every row of tests/messages/*.txt gets exactly its diagnostics, and
every message of the sources is in a row, those of the command in a `whole` of cli.sh. run_messages.py [--write] [FILE …]; --write puts what is said now into the rows
(read the difference). Ends with "N passed, N failed".

A row is a line "=== title [options]" and a text. Under a line of the text stand the diagnostics at it, a caret in their
column (bytes from 1):
      y = x + c
              ^ error: unknown name 'c'
Those that belong to no line of the text are written "LINE:COLUMN: error: …", without a place "error: …". Options:
  json          the text is JSON              full      all passes and artifacts, not the syntax only
  werror        -Werror                       shapeless --shapeless
  entry=NAME    --entry                       file=NAME the file's name
  tensors=WANT  the text is JSON of tensors; WANT is name:dtype:size,size;…
  safetensors=WANT   the text is the header of such a file; bytes=N: so many bytes of data behind it
  escapes       \\xNN \\n \\t in the text are what they mean, {{text*n}} is n times the text, {{1..9|text}} the text
                with the numbers for <n> and the ones before for <n-1>; diagnostics stand at the end
Behind a line "--- frame" stands a text, up to the next row, that holds the rows below at its "@"; "--- whole" ends that."""
import glob
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, 'messages'))
from files import FILES
ROOT = os.path.dirname(HERE)
BUILD = os.path.join(ROOT, os.environ.get('BUILD', 'build'))
CARET = re.compile(r'^( *)\^ (error|warning|note): (.*)$')
PLACED = re.compile(r'^(?:(\d+):(\d+): )?(error|warning|note): (.*)$')


# ---- rows ----

def count(m):
    """{{1..3|text}}: the text with the numbers for <n>, and the ones before for <n-1>."""
    return ''.join(m.group(3).replace('<n>', str(k)).replace('<n-1>', str(k - 1))
                   for k in range(int(m.group(1)), int(m.group(2)) + 1))


class Row:
    def __init__(self, path, at, title, options, frame):
        self.path, self.at, self.title, self.options, self.frame = path, at, title, options, frame
        self.lines = []     # as in the file, without diagnostics
        self.want = []      # (line, column, severity, text); line 0: no place
        self.said = []
        self.status = ''

    def start(self):
        """Number of the frame's lines above the row's."""
        return self.frame.index([x for x in self.frame if x.strip() == '@'][0]) if self.frame else 0

    def text(self):
        lines = self.lines
        if 'escapes' in self.options:
            whole = re.sub(r'\{\{(.*?)\*(\d+)\}\}', lambda m: m.group(1) * int(m.group(2)), '\n'.join(lines), flags=re.S)
            whole = re.sub(r'\{\{(\d+)\.\.(\d+)\|(.*?)\}\}', count, whole, flags=re.S)
            whole = re.sub(r'\\(x[0-9a-f]{2}|n|t)', lambda m: {'n': '\n', 't': '\t'}.get(m.group(1)) or
                           bytes([int(m.group(1)[1:], 16)]).decode('utf-8', 'surrogateescape'), whole)
            lines = whole.split('\n')
        if self.frame:
            k = self.start()
            lines = self.frame[:k] + lines + self.frame[k + 1:]
        if self.options.get('bare'):
            return '\n'.join(lines).encode('utf-8', 'surrogateescape')
        return ('\n'.join(lines) + '\n').encode('utf-8', 'surrogateescape')

    def request(self):
        o, data = self.options, self.text()
        how, form, want = 'full' if 'full' in o else 'spec', 'json' if 'json' in o else 'yaml', ''
        if 'tensors' in o:
            how, form, want = 'tensors', 'json', o['tensors']
        if 'safetensors' in o:
            how, form, want = 'tensors', 'safetensors', o['safetensors']
            data = len(data).to_bytes(8, 'little') + data + bytes(int(o.get('bytes', 0)))
        if 'raw' in o:
            data = data[8:]
        flags = ('w' if 'werror' in o else '') + ('s' if 'shapeless' in o else '')
        head = '\t'.join([how, form, o.get('file', 't.' + form), flags, o.get('entry', ''), want, str(len(data))])
        return head.encode() + b'\n' + data

    def written(self):
        """The row's lines with what is said now."""
        rest, out, first = list(self.said), [], self.start()
        for k, line in enumerate(self.lines):
            out.append(line)
            for d in list(rest):
                fits = d[0] == first + k + 1 and 'escapes' not in self.options and line.isascii() and '\t' not in line
                if fits:
                    out.append('%s^ %s: %s' % (' ' * (d[1] - 1), d[2], d[3]))
                    rest.remove(d)
        return out + [('%d:%d: ' % d[:2] if d[0] else '') + '%s: %s' % d[2:] for d in rest]


def read_rows(path):
    """[str or Row]: what is no row is kept as it is, for --write."""
    parts, frame, row, reading = [], None, None, False
    with open(path, encoding='utf-8') as f:
        for at, line in enumerate(f.read().split('\n')[:-1], 1):
            if line.startswith('=== '):
                m = re.match(r'^=== (.*?)(?: \[(.*)\])?$', line)
                options = dict((x.split('=', 1) + [''])[:2] for x in (m.group(2) or '').split())
                row, reading = Row(path, at, m.group(1), options, frame), False
                parts += [line, row]
            elif line.startswith('--- '):
                row, reading = None, line == '--- frame'
                frame = [] if reading else None
                parts.append(line)
            elif row is None:
                if reading:
                    frame.append(line)
                parts.append(line)
            else:
                caret, placed = CARET.match(line), PLACED.match(line)
                if caret:
                    row.want.append((row.start() + len(row.lines), len(caret.group(1)) + 1) + caret.groups()[1:])
                elif placed:
                    line_, column = (int(x or 0) for x in placed.groups()[:2])
                    row.want.append((line_, column) + placed.groups()[2:])
                else:
                    row.lines.append(line)
    return parts


def ask(rows):
    """Fills in what is said about every row."""
    with tempfile.TemporaryDirectory() as folder:
        for name, data in FILES.items():
            with open(os.path.join(folder, name), 'wb') as f:
                f.write(data)
        r = subprocess.run([os.path.join(BUILD, 'say')], input=b''.join(x.request() for x in rows),
                           stdout=subprocess.PIPE, env=dict(os.environ, SAY_FILES=folder))
    answers = iter(r.stdout.decode('utf-8', 'replace').split('\n'))
    for row in rows:
        for line in answers:
            f = line.split('\t', 4)
            if f[0] == '=':
                row.status = f[1]
                if len(f) > 2 and f[2]:
                    row.said.append((0, 0, 'error', f[2]))
                break
            if len(f) == 5:
                row.said.append((int(f[1]), int(f[2]), f[0], f[4]))
        else:
            row.said.append((0, 0, 'error', 'no answer: the process died'))
            return


# ---- the messages of the sources ----

CALL = re.compile(r'\b(nv_error|nv_warn|nv_note|nvt_error|nvt_over|nvt_warn|nvt_refuse|NV_AT_ERROR|CALLER_ERROR|nv_parse_error|FAIL|'
                  r'fail|nv_raise|cli_fail|wrong|failed)\s*\(')
STRING = re.compile(r'"((?:[^"\\]|\\.)*)"|\'(?:[^\'\\]|\\.)\'')
# What no row can have: limits that take minutes to reach, guards of what an earlier stage splits or refuses.
GUARDS = {'lib/passes/fuse.c'}  # these and the emitters say "not supported yet" of what tracing refuses before
BEYOND = {'more than %lld nodes', 'nodes', '%s: a spec has at most 1 GiB',  # hostile.py has that one
          'more than %d input files', 'more than %d output files', 'out of memory', "out of memory: '%s' has %zu bytes",
          'not supported yet: a kernel over an axis of %lld elements'}
WHOLE = re.compile(r"""\bwhole \d+ (?:\\\n +)?(?:'([^']*)'|"([^"]*)")""")  # of cli.sh: what the command says
SPEC = re.compile(r'%(-?[0-9]*(?:\.[0-9*]+)?)(?:z|ll|l|h)?([sducxXg%])')


def arguments(text, at):
    """The arguments of the call whose bracket opened before at."""
    depth, start, out = 1, at, []
    while depth:
        ch = text[at]
        if ch in '"\'':
            quote, at = ch, at + 1
            while text[at] != quote:
                at += 2 if text[at] == '\\' else 1
        elif ch in '([{':
            depth += 1
        elif ch in ')]}' or (ch == ',' and depth == 1):
            depth -= ch != ','
            if not depth or ch == ',':
                out.append(text[start:at])
                start = at + 1
        at += 1
    return out


def literals(code):
    """The string literals of a piece of C, adjacent ones joined."""
    code, out, end = re.sub(r'/\*.*?\*/', '', code, flags=re.S), [], -1
    for m in STRING.finditer(code):
        text = m.group(1)
        if text is None:
            continue
        text = re.sub(r'\\(.)', lambda e: {'n': '\n', 't': '\t'}.get(e.group(1), e.group(1)), text)
        if out and not code[end:m.start()].strip():
            out[-1] += text
        else:
            out.append(text)
        end = m.end()
    return out


def pattern(form):
    """A printf format as a regular expression."""
    out, at = '', 0
    for m in SPEC.finditer(form):
        out += re.escape(form[at:m.start()])
        out += {'s': '.*', 'c': '.', '%': '%', 'x': '[0-9a-f]+'}.get(m.group(2), r'-?[0-9]+(?:\.[0-9]+)?')
        at = m.end()
    return out + re.escape(form[at:])


def weight(form):
    return len(SPEC.sub('', form))


class Message:
    def __init__(self, place, call, speaker, form, parts):
        self.place, self.form, self.parts, self.speaker = place, form, parts, speaker
        prefix = {'nvt_error': r"(?:'[^']*': )?", 'nvt_over': r"(?:'[^']*': )?", 'nvt_warn': r"(?:'[^']*': )?", 'nvt_refuse': 'not supported yet: ',
                  'fail': r"(?:'[^']*': )?(?:[a-z0-9_]+: )?", 'failed': '.*: '}.get(call, '')
        self.match = re.compile(prefix + pattern(form) + (': .*$' if call == 'failed' else '$'), re.S)
        self.weight = weight(form) + (len(prefix) if call == 'nvt_refuse' else 0)


def messages():
    out = []
    for path in sorted(glob.glob(os.path.join(ROOT, 'lib', '*.c')) + glob.glob(os.path.join(ROOT, 'lib', '*', '*.c')) +
                       glob.glob(os.path.join(ROOT, 'cli', '*.c'))):
        if os.path.relpath(path, ROOT) in GUARDS or os.path.basename(os.path.dirname(path)) == 'emit':
            continue
        with open(path, encoding='utf-8') as f:
            text = re.sub(r'/\*.*?\*/', lambda m: re.sub(r'[^\n]', ' ', m.group(0)), f.read(), flags=re.S)
        for m in CALL.finditer(text):
            if re.match(r'.*(#define|static bool (fail|failed|wrong)\b|NV_NORETURN)', text[text.rfind('\n', 0, m.start()) + 1:m.start()] + ' '):
                continue
            args = arguments(text, m.end())[m.group(1) == 'failed':]  # failed's first is a path
            usage = m.group(1) == 'nv_raise' and any('NUVECC_USAGE' in a for a in args)
            if m.group(1) == 'nv_raise' and not usage and 'NUVECC_SPEC' not in [a.strip() for a in args]:
                continue
            speaker = 'infer' if m.group(1) == 'fail' else 'command' if usage or '/cli/' in path else 'spec'
            with_text = [k for k, a in enumerate(args) if '"' in a]
            if not with_text:
                continue
            place = '%s:%d' % (os.path.relpath(path, ROOT), text.count('\n', 0, m.start()) + 1)
            parts = [s for a in args[with_text[0] + 1:] for s in literals(a) if len(re.sub('[^a-z]', '', SPEC.sub('', s))) > 2]
            for form in literals(args[with_text[0]]):
                if form not in ('%s', '%s: %s', '%s: %s: %s', '') and form not in BEYOND:
                    out.append(Message(place, m.group(1), speaker, form, parts))
    return out


def missing(said):
    """Messages that nothing in said is, and parts of messages that are in none of theirs."""
    known = messages()
    pinned = set(said)
    for path in glob.glob(os.path.join(HERE, 'unit', '*.c')):   # lib/ir speaks to programs: its texts are pinned there
        with open(path, encoding='utf-8') as f:
            for s in literals(f.read()):
                pinned.update(re.sub(r'^(\d+:\d+: )?(error|warning|note): ', '', x) for x in s.split('\n') if len(x) > 5)
    with open(os.path.join(HERE, 'cli.sh'), encoding='utf-8') as f:
        commands = {a or b for a, b in WHOLE.findall(f.read())}
    theirs = {id(m): [] for m in known}
    # nvt_emit shows infer's texts: told apart by nothing but who says them
    for speaker, texts in ('spec', pinned), ('infer', pinned), ('command', commands):
        for text in texts:
            hits = [m for m in known if m.speaker == speaker and m.match.match(text)]
            best = max((m.weight for m in hits), default=0)
            for m in hits:
                if m.weight == best:
                    theirs[id(m)].append(text)
    out = []
    for m in known:
        texts = theirs[id(m)]
        if not texts:
            out.append('%s: no row has "%s"' % (m.place, m.form))
        else:
            out += ['%s: no row has "%s" with "%s"' % (m.place, m.form, p) for p in m.parts if p not in BEYOND
                    if not any(re.search(pattern(p), t) for t in texts)]
    return sorted(set(out), key=lambda s: (s.split(':')[0], int(s.split(':')[1])))


def main():
    write = '--write' in sys.argv
    only = [a for a in sys.argv[1:] if a != '--write']
    paths = only or sorted(glob.glob(os.path.join(HERE, 'messages', '*.txt')))
    parts = {p: read_rows(p) for p in paths}
    rows = [x for p in paths for x in parts[p] if isinstance(x, Row)]
    ask(rows)
    if write:
        for p in paths:
            lines = [y for x in parts[p] for y in (x.written() if isinstance(x, Row) else [x])]
            with open(p, 'w', encoding='utf-8') as f:
                f.write('\n'.join(lines) + '\n')
        return 0
    passed = failed = 0
    for row in rows:
        want, said = sorted(row.want), sorted(row.said)
        if want == said:
            passed += 1
            continue
        failed += 1
        print('%s:%d: %s' % (os.path.relpath(row.path, ROOT), row.at, row.title))
        for mark, some, others in (('wanted', want, said), ('said  ', said, want)):
            for d in some:
                if d not in others:
                    print('  %s %d:%d: %s: %s' % ((mark,) + d))
    if not only:
        lacking = missing([d[3] for row in rows for d in row.said])
        for line in lacking:
            print(line)
        passed += not lacking
        failed += len(lacking)
    print('%d passed, %d failed' % (passed, failed))
    return failed != 0


if __name__ == '__main__':
    sys.exit(main())
