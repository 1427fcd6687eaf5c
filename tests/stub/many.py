"""many.py - writes many.yaml: N signatures of one entry, and an entry of a chain of operations. many.py N LAUNCHES"""
import sys

n, launches = int(sys.argv[1]), int(sys.argv[2])
print('nuvec: 1\nname: many\nfunctions:\n  one:\n    inputs: {x: "float32[N]"}\n    nodes: |')
print('      s = sum(x)\n      t = x / s\n      y = t - sum(t)\n    outputs: {y: y}')
print('  chain:\n    inputs: {x: "float32[64]"}\n    nodes: |')
for k in range(launches):
    print('      x%d = %s' % (k, ('-%s' if k % 2 else '%s * 2') % ('x%d' % (k - 1) if k else 'x')))
print('    outputs: {y: x%d}' % (launches - 1))
print('entries:\n  one: {signatures: [%s]}\n  chain: {}' % ', '.join('{N: %d}' % (k + 1) for k in range(n)))
