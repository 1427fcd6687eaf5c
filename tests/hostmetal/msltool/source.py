"""source - reads the text of a .metal file: kernels, their arguments, helper functions, threadgroup variables.

Clang's own AST is no use for this: it drops attributes that it doesn't know, and [[buffer(n)]] is one."""
import re


class Err(Exception):
    """A mistake in the input; the message starts with 'line: '."""


def strip_comments(text):
    """Comments become spaces, so that every offset and line number stays."""
    pattern = r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\])*"'
    return re.sub(pattern, lambda m: m[0] if m[0][0] == '"' else re.sub(r'[^\n]', ' ', m[0]), text, flags=re.S)


BRACKETS = {'(': re.compile(r'[()]'), '{': re.compile(r'[{}]')}


def match_bracket(s, i, opening, closing):
    """The offset of the bracket that closes the one at i."""
    depth = 0
    for m in BRACKETS[opening].finditer(s, i):
        depth += 1 if m[0] == opening else -1
        if depth == 0:
            return m.start()
    raise Err(f'{line_at(s, i)}: unbalanced {opening}')


def line_at(s, offset):
    return s.count('\n', 0, offset) + 1


def split_commas(s):
    """Splits at commas outside brackets."""
    parts, depth, part = [], 0, ''
    for ch in s:
        depth += (ch in '([{<') - (ch in ')]}>')
        if ch == ',' and depth == 0:
            parts.append(part)
            part = ''
        else:
            part += ch
    return parts + [part] if part.strip() else parts


# ---- kernel inputs: how the thunk computes each from the running threadgroup `g` ----
def _position(field):
    def expression(T, n):
        if not n:
            return f'({T}){field}[0]'
        return f'{T}{{' + ','.join(f'({T[:-1]}){field}[{i}]' for i in range(n)) + '}'
    return expression


def _scalar(e):
    return lambda T, n: f'({T})({e})'


VECTOR_INPUTS = dict(
    thread_position_in_grid='g->tpig', threads_per_grid='g->grid',
    threadgroup_position_in_grid='g->tgpos', threadgroups_per_grid='g->ntg',
    thread_position_in_threadgroup='g->tpitg', threads_per_threadgroup='g->tgsz',
    dispatch_threads_per_threadgroup='g->tgnom')
SCALAR_INPUTS = dict(
    thread_index_in_threadgroup='g->tiitg',
    thread_index_in_simdgroup='g->tiitg%32', simdgroup_index_in_threadgroup='g->tiitg/32',
    threads_per_simdgroup='32', thread_execution_width='32',
    simdgroups_per_threadgroup='(g->tgsz[0]*g->tgsz[1]*g->tgsz[2]+31)/32')
INPUTS = {**{a: _position(f) for a, f in VECTOR_INPUTS.items()}, **{a: _scalar(e) for a, e in SCALAR_INPUTS.items()}}


class Arg:
    """kind: buffer, threadgroup or input; index: its number, or the input's name."""

    def __init__(self, kind, index, type_, name):
        self.kind, self.index, self.type, self.name = kind, index, type_, name


class Kernel:
    def __init__(self, name, host_name, args, body, line, max_threads):
        self.name, self.host_name, self.args, self.body, self.line = name, host_name, args, body, line
        self.max_threads = max_threads  # of [[max_total_threads_per_threadgroup(n)]], or None
        self.tgvars = []  # sizes, as C++ expressions, of kernel-scope threadgroup variables


KERNEL = re.compile(r'(?:\bkernel|\[\[\s*kernel\s*\]\])\s+void\s+(\w+)\s*\(')
ATTRIBUTES = re.compile(r'(?:\[\[[^]]*\]\]\s*)+$')  # those before `kernel`
HOST_NAME = re.compile(r'\bhost_name\(\s*"([^"]+)"\s*\)')
MAX_THREADS = re.compile(r'\bmax_total_threads_per_threadgroup\(\s*(\d+)\s*\)')
PARAMETER = re.compile(r'\s*(.*?)\s*(\w+)\s*\[\[\s*(\w+)\s*(?:\(\s*(\d+)\s*\))?\s*\]\]\s*', re.S)


def _parse_arg(text, where, used):
    m = PARAMETER.fullmatch(text)
    if not m:
        raise Err(f'{where}: parameter without [[attribute]]: {text.strip()}')
    T, name, attribute, number = re.sub(r'\s+', ' ', m[1]).strip(), m[2], m[3], m[4]
    if attribute in ('buffer', 'threadgroup'):
        n = int(number)
        if (attribute, n) in used:
            raise Err(f'{where}: duplicate [[{attribute}({n})]]')
        used.add((attribute, n))
        if n > 30:
            raise Err(f'{where}: buffer index {n} > 30')
        if not re.search(r'[*&]$', T):
            raise Err(f'{where}: {name}: [[{attribute}]] needs a pointer or reference')
        space = r'\b(device|constant)\b' if attribute == 'buffer' else r'\bthreadgroup\b'
        if not re.search(space, T):
            raise Err(f'{where}: {name}: wrong or missing address space: {T}')
        return Arg(attribute, n, T, name)
    if attribute in INPUTS:
        v = re.fullmatch(r'(u?short|u?int)([23]?)', T)
        if not v or (v[2] and attribute in SCALAR_INPUTS):
            raise Err(f'{where}: {name}: bad type {T} for [[{attribute}]]')
        return Arg('input', attribute, T, name)
    raise Err(f'{where}: unsupported [[{attribute}]]')


def parse_kernels(s):
    kernels, line, counted = [], 1, 0
    for m in KERNEL.finditer(s):
        line, counted = line + s.count('\n', counted, m.start()), m.start()
        close = match_bracket(s, m.end() - 1, '(', ')')
        body = s.index('{', close)
        before = ATTRIBUTES.search(s[max(0, m.start() - 400):m.start()].rstrip())
        attributes = (before[0] if before else '') + m[0]
        host, most = HOST_NAME.search(attributes), MAX_THREADS.search(attributes)
        used = set()
        args = [_parse_arg(p, f'{line}: {m[1]}', used) for p in split_commas(s[m.end():close])]
        kernels.append(Kernel(m[1], host[1] if host else m[1], args, (body, match_bracket(s, body, '{', '}')), line,
                              int(most[1]) if most else None))
    if not kernels:
        raise Err('1: no kernels found')
    seen = set()
    for k in kernels:
        if k.host_name in seen:
            raise Err(f'{k.line}: kernel name {k.host_name} is used twice')
        seen.add(k.host_name)
    return kernels


# ---- helper functions ----
FUNCTION = re.compile(r'\b(\w+)\s*\([^;{}()]*\)\s*(?:const|thread|\s)*\{')


class Function:
    def __init__(self, name, start, body, prefix, text):
        self.name, self.start, self.body, self.prefix, self.text = name, start, body, prefix, text


def parse_functions(s):
    """Functions other than kernels, at any depth; prefix is what stands before the name in its declaration."""
    functions = []
    for m in FUNCTION.finditer(s):
        if m[1] in ('if', 'for', 'while', 'switch'):
            continue
        end = match_bracket(s, m.end() - 1, '{', '}')
        before = max(s.rfind(c, 0, m.start()) for c in ';}{')
        prefix = re.sub(r'^\s*#.*$', '', s[before + 1:m.start()], flags=re.M)
        functions.append(Function(m[1], m.start(), (m.end(), end), prefix, s[m.start():end + 1]))
    return functions


CALL = re.compile(r'\b(\w+)\s*\(')


def called(text, names):
    return {name for name in CALL.findall(text) if name in names}


def call_graph(s, functions):
    names = {f.name for f in functions}
    calls = {}
    for f in functions:
        calls.setdefault(f.name, set()).update(called(s[f.body[0]:f.body[1]], names))
    return calls


def reachable(start, calls):
    seen, todo = set(), list(start)
    while todo:
        f = todo.pop()
        if f not in seen:
            seen.add(f)
            todo += calls.get(f, ())
    return seen


SIMD = re.compile(r'\bsimd_\w+\s*\(|\bsimdgroup_(?:load|store|multiply\w*)\s*\(')


def uses_simd(s, kernel, functions):
    """Whether a kernel may reach a simd function (a macro that names one counts for every kernel)."""
    if any(SIMD.search(line) for line in re.findall(r'^\s*#\s*define\b.*$', s, re.M)):
        return True
    body = s[kernel.body[0]:kernel.body[1]]
    reached = reachable(called(body, {f.name for f in functions}), call_graph(s, functions))
    return bool(SIMD.search(body) or any(SIMD.search(f.text) for f in functions if f.name in reached))


# ---- threadgroup variables at kernel scope ----
TGVAR = re.compile(r'\bthreadgroup\s+((?:const\s+)?[A-Za-z_]\w*(?:<[^;*&]*?>)?)\s+(\w+)\s*((?:\[[^\]]*\]\s*)*);')
TGVARS = re.compile(r'\bthreadgroup\s+[\w<>]+\s+\w+\s*(\[[^\]]*\]\s*)*,')
TGARG = re.compile(r'\[\[\s*threadgroup\s*\(\s*\d+\s*\)\s*\]\]')


def replace_tgvars(s, kernels, replacement):
    """Replaces each kernel-scope threadgroup declaration by replacement(kernel, type, name, dimensions)."""
    s = TGARG.sub(lambda m: ' ' * len(m[0]), s)
    out, last = '', 0
    for k in kernels:
        begin, end = k.body
        if TGVARS.search(s[begin:end]):
            raise Err(f'{k.line}: {k.name}: one threadgroup variable per declaration')
        k.tgvars = []
        out += s[last:begin] + TGVAR.sub(lambda m: replacement(k, m[1], m[2], m[3].strip()), s[begin:end])
        last = end
    return out + s[last:]


def call_expression(k, strip_spaces=False):
    """The call of a kernel from its thunk."""
    args = []
    for a in k.args:
        if a.kind == 'input':
            digits = re.search(r'([23])$', a.type)
            args.append(INPUTS[a.index](a.type, int(digits[1]) if digits else 0))
            continue
        pointer = re.sub(r'&$', '*', a.type)
        if strip_spaces:
            pointer = re.sub(r'\b(device|constant|thread|threadgroup)\s+', '', pointer)
        table = 'buf' if a.kind == 'buffer' else 'tgmem'
        args.append(('*' if a.type.endswith('&') else '') + f'({pointer})g->{table}[{a.index}]')
    return f"{k.name}({', '.join(args)})"
