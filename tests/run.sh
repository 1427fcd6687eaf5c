#!/bin/sh
# run.sh - everything that `make check` runs: one group after the other, each ending with "N passed, N failed"; the sum
# stands on the last line. LONG=1 adds what takes long. run.sh [GROUP …] runs those groups only.
cd "$(dirname "$0")/.." || exit 2
BUILD=${BUILD:-build}
export BUILD
export PYTHONDONTWRITEBYTECODE=1
passed=0
failed=0
only=$*
log=$BUILD/check.log

wanted() { [ -z "$only" ] || case " $only " in *" $1 "*) ;; *) return 1 ;; esac; }

group() { # name, command...: its output is shown when it fails
  name=$1
  shift
  wanted "$name" || return 0
  start=$(date +%s)
  "$@" > "$log" 2>&1
  status=$?
  line=$(grep -E '^[0-9]+ passed, [0-9]+ failed$' "$log" | tail -1)
  p=${line%% *}
  f=${line#*, }
  f=${f%% *}
  if [ -z "$line" ]; then p=0 f=1; fi
  [ "$status" != 0 ] && [ "$f" = 0 ] && f=1
  passed=$((passed + p))
  failed=$((failed + f))
  [ "$f" = 0 ] || cat "$log"
  echo "$name: $p passed, $f failed ($(($(date +%s) - start)) s)"
}

group unit sh tests/run_unit.sh
group style sh tests/style.sh
[ -n "${LONG:-}" ] && group lint sh tests/lint.sh
group cli sh tests/cli.sh
group schema python3 tests/run_schema.py
group wrong python3 tests/run_wrong.py
stride=4099 # of the float32 patterns that a function is measured on
[ -z "$LONG" ] || stride=1
group halves python3 tests/run_halves.py
group composites python3 tests/run_composites.py
group numerics sh tests/numerics/run.sh
group literals python3 tests/run_literals.py
group ulp-keep "$BUILD/ulp_keep" $stride
group ulp-flush "$BUILD/ulp_flush" $stride
group messages python3 tests/run_messages.py
group bed sh tests/hostmetal/run_tests.sh
group stub sh tests/stub/run_tests.sh
group cases python3 tests/run_cases.py
group corpus python3 tests/run_corpus.py
group examples python3 tests/run_examples.py
group vectors python3 tests/run_vectors.py
[ -z "$LONG" ] || group ubsan sh tests/ubsan.sh
group moves python3 tests/moves/run_moves.py
group reductions python3 tests/reductions/run_reductions.py
group rows python3 tests/run_rows.py
group random python3 tests/random/run.py
group hostile python3 tests/hostile.py
group fuzz python3 tests/fuzz/run.py
group golden python3 tests/run_golden.py
group docs python3 tests/run_docs.py
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
