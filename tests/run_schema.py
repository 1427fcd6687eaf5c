#!/usr/bin/env python3
"""run_schema.py - specs/nuvec.schema.json against every spec of the repository: the right ones are accepted; the structural
mistakes of tests/schema and those of tests/wrong whose error is about a key or a form are refused, each at its place.
Ends with "N passed, N failed".

tests/schema/wrong.yaml holds the mistakes: documents, each a map of `at` (path of the value that the schema refuses, an
array of keys) and `spec`. tests/schema/right.yaml holds legal odd ones."""
import glob
import json
import os
import re
import subprocess
import sys

from tally import finish, result

try:
    import jsonschema
    import yaml
except ImportError:  # another Python than the system's comes first: Debian's packages are the system's
    if sys.platform == 'darwin':
        print('no jsonschema or PyYAML (pip3 install jsonschema pyyaml): not run\n0 passed, 0 failed')
        sys.exit(0)
    if sys.executable == '/usr/bin/python3' or not os.path.exists('/usr/bin/python3'):
        raise
    os.execv('/usr/bin/python3', ['/usr/bin/python3'] + sys.argv)

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
BUILD = os.path.join(ROOT, os.environ.get('BUILD', 'build'))


class Core(yaml.SafeLoader):
    """YAML 1.2's core schema, as nuvecc and today's editors read it: PyYAML alone is 1.1 (yes, on, 1:30, 0777, dates)."""


Core.yaml_implicit_resolvers = {}
for tag, pattern, first in [
        ('null', r'~|null|Null|NULL|', '~nN\0'),
        ('bool', r'true|True|TRUE|false|False|FALSE', 'tTfF'),
        ('int', r'[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+', '-+0123456789'),
        ('float', r'[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?|[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)',
         '-+.0123456789')]:
    for c in first:
        Core.yaml_implicit_resolvers.setdefault('' if c == '\0' else c, []).append(
            ('tag:yaml.org,2002:' + tag, re.compile('^(?:%s)$' % pattern)))


def construct_int(loader, node):
    text = node.value.replace('+', '')
    return int(text, 8 if text.startswith('0o') else 16 if text.startswith('0x') else 10)


def construct_map(loader, node):
    """Keys are their text; one that stands twice is an error."""
    out = {}
    for key, value in node.value:
        if not isinstance(key, yaml.ScalarNode) or key.value in out:
            raise yaml.constructor.ConstructorError(None, None, 'a key twice, or no text', key.start_mark)
        out[key.value] = loader.construct_object(value, deep=True)
    return out


Core.add_constructor('tag:yaml.org,2002:int', construct_int)
Core.add_constructor('tag:yaml.org,2002:map', construct_map)


def no_duplicates(pairs):
    if len({k for k, _ in pairs}) != len(pairs):
        raise ValueError('a key twice')
    return dict(pairs)


def load(path):
    with open(path, encoding='utf-8-sig') as f:
        text = f.read()
    return json.loads(text, object_pairs_hook=no_duplicates) if path.endswith('.json') else yaml.load(text, Core)


def deepest(errors):
    """The places of the errors, those of sub-schemas included."""
    places, todo = set(), list(errors)
    while todo:
        e = todo.pop()
        places.add(tuple(map(str, e.absolute_path)))
        todo += e.context or []
    return places


def is_spec(path):
    name = os.path.basename(path)
    return not re.search(r'\.(in|want)\.json$|^index\.json$|\.schema\.json$', name)


def right(validator):
    files = [f for d in ('specs', 'tests/corpus', 'tests/cases', 'tests/stub') for e in ('yaml', 'json')
             for f in sorted(glob.glob(os.path.join(ROOT, d, '*.' + e))) if is_spec(f)]
    for path in files:
        spec = load(path)
        if not isinstance(spec, dict) or 'nuvec' not in spec:
            continue
        errors = list(validator.iter_errors(spec))
        result(not errors, '%s is refused: %s' % (os.path.relpath(path, ROOT), '; '.join(
            '%s at %s' % (e.message[:200], list(e.absolute_path)) for e in errors[:3])))
    with open(os.path.join(HERE, 'schema/right.yaml'), encoding='utf-8') as f:
        for k, spec in enumerate(yaml.load_all(f, Core)):
            errors = list(validator.iter_errors(spec))
            result(not errors, 'tests/schema/right.yaml, document %d: %s' % (k, [e.message[:200] for e in errors]))


def wrong(validator):
    with open(os.path.join(HERE, 'schema/wrong.yaml'), encoding='utf-8') as f:
        for k, case in enumerate(yaml.load_all(f, Core)):
            places = deepest(validator.iter_errors(case['spec']))
            result(tuple(map(str, case['at'])) in places, 'tests/schema/wrong.yaml, document %d: %s refused, not %s' % (
                k, sorted(places) or 'nothing', case['at']))
            r = subprocess.run([os.path.join(BUILD, 'nuvecc'), '-fsyntax-only', '--format=json', '--prefix=w', '-'],
                               input=json.dumps(case['spec']), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
            result(r.returncode == 1, 'tests/schema/wrong.yaml, document %d: nuvecc takes it' % k)
    # What nuvecc refuses as a wrong key or form, the schema refuses too, or the reader before it (a key twice).
    for path in sorted(glob.glob(os.path.join(HERE, 'wrong/*.*'))):
        if not path.endswith(('.yaml', '.json')) or not is_spec(path):
            continue
        r = subprocess.run([os.path.join(BUILD, 'nuvecc'), '-fsyntax-only', path], stdout=subprocess.DEVNULL,
                           stderr=subprocess.PIPE, errors='replace')
        structural = re.search(r"unknown key|split this at a comma|stands twice in|a key here|there is no float64|"
                               r"highest rank|^.*error: (a|an) .* without |version \d+ is not known", r.stderr, re.M)
        if not structural:
            continue
        try:
            refused = bool(list(validator.iter_errors(load(path))))
        except (ValueError, yaml.YAMLError):
            refused = True
        result(refused, '%s is accepted; nuvecc: %s' % (os.path.relpath(path, ROOT), r.stderr.splitlines()[0][:200]))


def main():
    with open(os.path.join(ROOT, 'specs/nuvec.schema.json'), encoding='utf-8') as f:
        schema = json.load(f)
    try:
        jsonschema.Draft7Validator.check_schema(schema)
        result(True, '')
    except jsonschema.SchemaError as e:
        result(False, 'not a schema: %s' % e.message)
    validator = jsonschema.Draft7Validator(schema)
    right(validator)
    wrong(validator)
    return finish()


if __name__ == '__main__':
    sys.exit(main())
