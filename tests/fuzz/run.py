#!/usr/bin/env python3
"""run.py - runs each fuzzer over the seeds, for 2 seconds, with LONG=1 for 10 minutes (or SECONDS given as argument), and
prints what it did: executions, edges of the code covered. Inputs that end a run are left in build/fuzz/found. Ends with
"N passed, N failed"."""
import os
import re
import shutil
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
FUZZ = os.path.join(ROOT, os.environ.get('BUILD', 'build'), 'fuzz')
TARGETS = ('json', 'yaml', 'expr', 'graph', 'compile')


def main():
    args = [a for a in sys.argv[1:] if a not in TARGETS]
    seconds = int(args[0]) if args else 600 if os.environ.get('LONG') else 2
    found = os.path.join(FUZZ, 'found')
    os.makedirs(found, exist_ok=True)
    passed = failed = 0
    for target in [t for t in TARGETS if t in sys.argv[1:]] or TARGETS:
        binary, corpus = os.path.join(FUZZ, target), os.path.join(FUZZ, 'corpus', target)
        if not os.path.exists(binary):
            print('%s: not built (it takes clang-19 with libFuzzer)' % target)
            continue
        os.makedirs(corpus, exist_ok=True)
        seeds = os.path.join(FUZZ, 'seeds', target)
        r = subprocess.run([binary, '-max_total_time=%d' % seconds, '-timeout=10', '-rss_limit_mb=3000', '-max_len=16384',
                            '-print_final_stats=1', '-verbosity=1', '-seed=1', '-dict=' + os.path.join(FUZZ, 'seeds', 'nuvec.dict'),
                            '-artifact_prefix=%s/%s-' % (found, target), corpus, seeds],
                           stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False)
        text = r.stderr.decode('utf-8', 'replace')
        cover = re.findall(r'cov: (\d+) ft: (\d+)', text)
        count = re.findall(r'number_of_executed_units: (\d+)', text) or re.findall(r'#(\d+)', text)[-1:]
        print('%-8s %s executions in %d s, %s edges covered, %s features' % (
            (target, count[-1] if count else 'no', seconds) + (cover[-1] if cover else ('no', 'no'))))
        if r.returncode:
            failed += 1
            print(text[-6000:])
        else:
            passed += 1
            if seconds < 60:
                shutil.rmtree(corpus)
    print('%d passed, %d failed' % (passed, failed))
    return failed != 0


if __name__ == '__main__':
    sys.exit(main())
