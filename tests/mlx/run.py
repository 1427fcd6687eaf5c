#!/usr/bin/env python3
"""run.py - `make check-mlx`: nuvec held to MLX, op by op and over random functions. Runs in the environment that the
Makefile makes; prints the table of exceptions, the largest differences and, last, "N passed, N failed".
run.py [--ops a,b] [--functions N] [--seed S] [--kernels N]"""
import argparse
import collections
import importlib.metadata
import json
import os
import subprocess
import sys
import tempfile
import warnings

import mlx.core as mx

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import compare  # noqa: E402
import exceptions  # noqa: E402
import functions  # noqa: E402
import ops  # noqa: E402
import signatures  # noqa: E402
import tool  # noqa: E402


def table(tally):
    """The exceptions that applied, as printed; the rows that did not."""
    stale = []
    print('\n%-8s %-9s %s' % ('kind', 'values', 'where: why (an example)'))
    for row in tally.table:
        count, example = tally.used[id(row)]
        if not count:
            stale.append(row)
            continue
        print('%-8s %-9d %s: %s%s' % (row.kind, count, ' '.join(row.ops or ['every op']),
                                     row.why, '' if row.what == 'value' else ' (%s)' % row.what))
        print('%-18s   %s' % ('', example))
    return stale


def worst(tally):
    """The largest distances left, by op, where not zero."""
    by = collections.defaultdict(list)
    for (op, dtype), d in sorted(tally.worst.items()):
        if d:
            by[op].append('%s %g' % (dtype, d))
    print('\nlargest difference in ulp where no exception applies (none: the same bits everywhere)')
    for op, parts in by.items():
        print('  %-14s %s' % (op, ', '.join(parts)))


def main():
    p = argparse.ArgumentParser()
    p.add_argument('--ops', default='', help='only these, and no functions')
    p.add_argument('--functions', type=int, default=200)
    p.add_argument('--seed', type=int, default=1)
    p.add_argument('--kernels', type=int, default=10, help='functions that hostrun --compare runs too')
    a = p.parse_args()
    warnings.simplefilter('ignore')
    mx.disable_compile()  # what mx.compile makes of a function has other bits than the function
    listing = subprocess.run([os.path.join(compare.BUILD, 'oplist')], stdout=subprocess.PIPE, text=True)
    listed = json.loads(listing.stdout)
    only = set(filter(None, a.ops.split(',')))
    tally = compare.Tally(exceptions.TABLE)
    failed = []
    print('MLX %s on the CPU' % importlib.metadata.version('mlx'))
    with tempfile.TemporaryDirectory() as folder:
        compared, lacking = ops.run([o for o in listed if not only or o['name'] in only], tally, folder)
        print('op by op: %d ops, %d cases, %d values, %d of them the same bits; %d cases wait for what is not '
              'supported yet' % (compared, tally.cases, tally.values, tally.equal, tally.later))
        if lacking:
            print('not in mlx.core: ' + ' '.join(lacking))
        checks = compared
        if not only:
            composites = signatures.composites()
            before = tally.cases, tally.values
            compared, alone = ops.run_composites(composites, tally, folder)
            print('composites: %d, %d cases, %d values; MLX has no %s' % (
                compared, tally.cases - before[0], tally.values - before[1], ', '.join(alone)))
            checks += compared
            n, bad = tool.run(folder)
            checks += n
            failed += bad
            n, bad = signatures.run(listed)
            print('names, attributes and defaults: %d ops and composites' % n)
            checks += n
            failed += bad
            r, steps = functions.run(listed, tally, folder, a.functions, a.seed, a.kernels)
            print('random functions: %d of 1 to 30 steps, %d nodes; %d of them exact, end to end the same bits; %d '
                  'through the emitted kernels; %d more use a form that nuvec has not'
                  % (r.functions, r.nodes, r.whole, r.on_bed, r.later))
            checks += r.functions
            if steps:
                print('steps that cannot be imported yet: ' + ', '.join(sorted(steps)))
    stale = table(tally)
    worst(tally)
    failed += tally.failures
    if not only:
        failed += ['an exception that nothing needs: %s: %s' % (' '.join(r.ops or ['every op']), r.why) for r in stale]
    for text in failed:
        print('FAILED ' + text)
    print('%d passed, %d failed' % (checks, len(failed)))
    return bool(failed)


if __name__ == '__main__':
    sys.exit(main())
