#!/bin/sh
# run_unit.sh - runs the cmocka programs (built under ASan and UBSan) and sums up their tests.
cd "$(dirname "$0")/.." || exit 2
passed=0
failed=0
for t in "$BUILD"/unit/test_*; do
  case $t in *.d | *.dSYM) continue ;; esac
  out=$("$t" 2>&1)
  status=$?
  p=$(echo "$out" | sed -n 's/^\[  PASSED  \] \([0-9]*\) test.*/\1/p' | tail -1)
  f=$(echo "$out" | sed -n 's/^ *\([0-9]*\) FAILED TEST.*/\1/p' | tail -1)
  if [ "$status" != 0 ] && [ -z "$f" ]; then f=1; fi
  passed=$((passed + ${p:-0}))
  failed=$((failed + ${f:-0}))
  [ "$status" = 0 ] || echo "$out" | grep -v '^\[       OK\|^\[ RUN' | tail -60
  echo "${t##*/}: ${p:-0} passed, ${f:-0} failed"
done
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
