"""contract.py IN OUT - checks contract.yaml's outputs against products and sums that are rounded one by one, and that
the inputs would show a fused multiply-add."""
import json
import struct
import sys
from fractions import Fraction


def rounded(x):
    """x (a Fraction of a double's range) rounded once to float32: doubles hold products of float32 exactly."""
    return struct.unpack('<f', struct.pack('<f', float(x)))[0]


with open(sys.argv[1], encoding='utf-8') as f:
    given = json.load(f)
with open(sys.argv[2], encoding='utf-8') as f:
    got = json.load(f)
a, b, c = ([Fraction(rounded(x)) for x in given[k]] for k in 'abc')
product = [Fraction(rounded(x * y)) for x, y in zip(a, b)]
want = {'add': [p + z for p, z in zip(product, c)], 'sub': [p - z for p, z in zip(product, c)],
        'rsub': [z - p for p, z in zip(product, c)], 'zero': [Fraction(0)] * 4,
        'square_sum': [Fraction(rounded(x * x)) + z for x, z in zip(a, c)]}
fused = {'add': [x * y + z for x, y, z in zip(a, b, c)]}
assert any(rounded(x) != rounded(y) for x, y in zip(want['add'], fused['add'])), 'the inputs show nothing'
bad = ['%s: %s, wanted %s' % (k, got[k], [rounded(x) for x in v]) for k, v in want.items()
       if [rounded(x) for x in got[k]] != [rounded(x) for x in v]]
print('\n'.join(bad))
sys.exit(bool(bad))
