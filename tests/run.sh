#!/bin/sh
# run.sh - everything that `make check` runs: groups of tests, each ending with "N passed, N failed"; the sum stands on
# the last line. As many groups at a time as there are cores (JOBS), longest first; what is held to a time runs alone.
# LONG=1 adds what takes long. run.sh [GROUP …] runs those groups only.
cd "$(dirname "$0")/.." || exit 2
BUILD=${BUILD:-build}
export BUILD
export PYTHONDONTWRITEBYTECODE=1
JOBS=${JOBS:-$(getconf _NPROCESSORS_ONLN 2> /dev/null || echo 2)}
only=$*
out=$BUILD/check # NAME.log: what a group said; NAME.sum: its line
stride=4099      # of the float32 patterns that a function is measured on
[ -z "${LONG:-}" ] || stride=1

wanted() { [ -z "$only" ] || case " $only " in *" $1 "*) ;; *) return 1 ;; esac; }

group() { # name, command...: once, whoever comes first; its output is shown when it fails
  name=$1
  shift
  wanted "$name" || return 0
  mkdir "$out/$name.taken" 2> /dev/null || return 0
  start=$(date +%s)
  "$@" > "$out/$name.log" 2>&1
  status=$?
  line=$(grep -E '^[0-9]+ passed, [0-9]+ failed$' "$out/$name.log" | tail -1)
  p=${line%% *}
  f=${line#*, }
  f=${f%% *}
  if [ -z "$line" ]; then p=0 f=1; fi
  [ "$status" != 0 ] && [ "$f" = 0 ] && f=1
  { [ "$f" = 0 ] || cat "$out/$name.log"
    echo "$name: $p passed, $f failed ($(($(date +%s) - start)) s)"; } > "$out/$name.said"
  cat "$out/$name.said"
  echo "$p $f" > "$out/$name.sum"
}
long() { [ -z "${LONG:-}" ] || group "$@"; }

side_by_side() {
  long ubsan sh tests/ubsan.sh
  group vectors python3 tests/run_vectors.py
  group random python3 tests/random/run.py
  group stub sh tests/stub/run_tests.sh
  group cases python3 tests/run_cases.py
  group corpus python3 tests/run_corpus.py
  group moves python3 tests/moves/run_moves.py
  group reductions python3 tests/reductions/run_reductions.py
  group rows python3 tests/run_rows.py
  group scatters python3 tests/run_scatters.py
  group examples python3 tests/run_examples.py
  group bed sh tests/hostmetal/run_tests.sh
  group ulp-keep "$BUILD/ulp_keep" $stride
  group ulp-flush "$BUILD/ulp_flush" $stride
  group halves python3 tests/run_halves.py
  group composites python3 tests/run_composites.py
  group numerics sh tests/numerics/run.sh
  group literals python3 tests/run_literals.py
  long lint sh tests/lint.sh
  group unit sh tests/run_unit.sh
  group messages python3 tests/run_messages.py
  group cli sh tests/cli.sh
  group schema python3 tests/run_schema.py
  group wrong python3 tests/run_wrong.py
  group golden python3 tests/run_golden.py
  group docs python3 tests/run_docs.py
  group style sh tests/style.sh
}
alone() {
  group hostile python3 tests/hostile.py
  group fuzz python3 tests/fuzz/run.py
}

rm -rf "$out"
mkdir -p "$out"
trap 'trap - INT TERM; kill 0' INT TERM
lane=1
while [ "$lane" -lt "$JOBS" ]; do
  side_by_side &
  lane=$((lane + 1))
done
side_by_side
wait
alone
cat "$out"/*.sum 2> /dev/null | awk '{ p += $1; f += $2 } END { print p + 0 " passed, " f + 0 " failed"; exit f != 0 || NR == 0 }'
