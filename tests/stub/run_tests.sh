#!/bin/sh
# run_tests.sh - the stub on the test bed: the replay engine on a hand-written tape, then what nuvecc writes for two
# specs. A line a group, then "N passed, N failed". Needs $BUILD/nuvecc and $BUILD/hostmetal (BUILD: default build).
cd "$(dirname "$0")/../.." || exit 2
BUILD=${BUILD:-build}
root=$PWD
case $BUILD in /*) build=$BUILD ;; *) build=$root/$BUILD ;; esac
out=$build/stub
stub=$root/tests/stub
bed=$root/tests/hostmetal
export HOSTMETAL_LIB=$build/hostmetal HOSTMETAL_TYPES=require HOSTMETAL_LABELS=require
CLANG=clang-19
command -v $CLANG > /dev/null || CLANG=clang
WARN='-Wall -Wextra -pedantic -Wshadow -Wconversion -Werror'
FRAMEWORKS='-lobjc -framework Metal -framework Foundation -framework CoreGraphics'
passed=0
failed=0

group() { # name, command...: its output is shown when it fails
  name=$1
  shift
  if sh "$stub/run_tests.sh" --run "$@" > "$out/log" 2>&1; then # a shell of its own, so that its set -e counts
    passed=$((passed + 1))
    echo "$name: ok"
  else
    failed=$((failed + 1))
    echo "$name: FAILED"
    cat "$out/log"
  fi
}
all() { # run a command in each: compiler and C standard
  for cc in gcc "$CLANG"; do for std in c99 c11; do "$@"; done; done
}
strict() { $cc -std=$std $WARN -O2 -I "$bed/objc" "$@"; }

# ---- the engine on a hand-written tape ----
engine() {
  for open in 0 1; do
    strict -Wno-unused-function -DNVR_OPEN=$open -c "$root/lib/emit/runtime/data.c" -o engine.o
  done
}
fast() { # name, an edit of the probe's text that does what fast math would: hand_NAME.metallib
  sed "$2" hand.metal > hand_$1.metal
  ! cmp -s hand.metal hand_$1.metal
  python3 -IS "$bed/mslc.py" hand_$1.metal --count -o hand_$1.metallib
}
hand_build() {
  sed -n '/^static inline void nv_probe/,/^}/p' "$root/lib/emit/runtime/prims.metal" > probe.metal
  sed '/^\/\/ nv_probe of/r probe.metal' "$stub/hand.metal" > hand.metal
  python3 -IS "$bed/mslc.py" hand.metal --lint
  python3 -IS "$bed/mslc.py" hand.metal --count -o hand.metallib
  python3 -IS "$bed/mslc.py" hand.metal --count --fast-math -o hand_functions.metallib
  fast contract 's/difference = .*/difference = fma(as_type<float>(v[0]), as_type<float>(v[1]), -as_type<float>(v[2]));/'
  fast zeros 's/zero = .*/zero = as_type<float>(v[3]);/'
  fast infinities 's/none = .*/none = 0.0f;/'
  fast order 's/rest = .*/rest = as_type<float>(v[6]);/'
  fast division 's/quotient = .*/quotient = as_type<float>(v[7]) * (1.0f \/ as_type<float>(v[8]));/'
  HAND="$bed/bin/hostcc -D_POSIX_C_SOURCE=200809L -g -Wall -Wextra -Werror -Wno-unused-function -I$bed/rt $stub/hand.c"
  $HAND -std=c11 -pthread -o hand $FRAMEWORKS # every message checked
  $HAND -std=c99 -pthread -DNVR_OPEN=0 -o hand99 $FRAMEWORKS # as in graphs without open sizes
  echo leak:libhostmetal > lsan # the bed never frees an object, so that it can tell who uses a dead one; it counts them
  $HAND -std=c99 -pthread -O1 -fsanitize=address,undefined -fno-sanitize-recover=all -o hand_san $FRAMEWORKS
  $HAND -std=c99 -pthread -O1 -fsanitize=thread -o hand_tsan $FRAMEWORKS
}
hand() { # group
  ./hand "$1" hand.metallib
  case $1 in open* | numbers) ;; *) HOSTMETAL_TYPES=0 ./hand99 "$1" hand.metallib ;; esac
  export HOSTMETAL_TYPES=0 HOSTMETAL_NOSEGV=1 LSAN_OPTIONS=suppressions=lsan:print_suppressions=0
  ./hand_san "$1" hand.metallib
}

hand_threads() { # group
  HOSTMETAL_TYPES=0 HOSTMETAL_NOSEGV=1 ./hand_tsan "$1" hand.metallib
}

# ---- what nuvecc writes ----
generate() {
  cp "$stub/consts.yaml" .
  python3 -IS -c "import struct; h = b\"{'descr': '<f4', 'fortran_order': False, 'shape': (1024, 4)}\\n\"
open('consts.npy', 'wb').write(b'\x93NUMPY\1\0' + struct.pack('<H', len(h)) + h + struct.pack('<4096f', *[k % 13 / 2 for k in range(4096)]))"
  "$build/nuvecc" consts.yaml -o .
  PATH="$bed/bin:$PATH" make -s -f consts.mk
  for s in forms second keys states lists steps sizes; do
    "$build/nuvecc" "$stub/$s.yaml" -o .
    PATH="$bed/bin:$PATH" make -s -f $s.mk
  done
  mkdir -p again
  "$build/nuvecc" "$stub/forms.yaml" -o again
  for f in forms.c forms.h forms.metal; do cmp $f again/$f; done
}
portable() { for s in forms second keys states consts lists sizes; do strict -c $s.c -o $s.o; done; }
portable_header() { printf '#include "forms.h"\n#include "second.h"\nint x;\n' > h.c && strict -c h.c -o h.o; }
analyzed() { # as Xcode's Analyze would: no finding. A minute a stub: the one with most of the engine, LONG all
  for s in states ${LONG:+forms second keys consts}; do
    "$CLANG" --analyze -std=c99 -I "$bed/objc" $s.c -o analyzed 2>&1
  done | tee analyzed.txt
  ! grep -q warning: analyzed.txt
}
symbols() { # nothing external but NAME_..., nothing that changes, no name of another's
  for cc in gcc "$CLANG"; do
    for s in forms second keys states consts sizes; do
      $cc -std=c99 -O1 -I "$bed/objc" -c $s.c -o $s.o
      if nm $s.o | grep -E ' [TDBRVWC] ' | grep -v " T ${s}_"; then return 1; fi
      if nm $s.o | grep -E ' [bBC] '; then return 1; fi
      size -A $s.o | awk '($1 == ".data" || $1 == ".bss") && $2 { print; bad = 1 } END { exit bad }'
    done
  done
}
app() {
  for cc in gcc "$CLANG"; do
    HOSTCC=$cc "$bed/bin/hostcc" -std=c99 $WARN "$stub/app.c" forms.c second.c -I. -o app99 $FRAMEWORKS
    HOSTMETAL_TYPES=0 ./app99
    HOSTCC=$cc "$bed/bin/hostcc" -std=c11 $WARN "$stub/app.c" forms.c second.c -I. -o app $FRAMEWORKS
    ./app
  done
}
keys() {
  VERSION=$("$build/nuvecc" --version | sed -n 's/^nuvecc \([^ ]*\).*/\1/p')
  "$bed/bin/hostcc" -std=c11 $WARN "-Dkeys_VERSION_WANTED=\"$VERSION\"" "$stub/keys.c" keys.c -I. -o keys_app $FRAMEWORKS
  ./keys_app
}
states() { # twice: as it is, and under the sanitizers
  unset HOSTMETAL_TYPES HOSTMETAL_LABELS
  for san in '' '-O1 -fsanitize=address,undefined -fno-sanitize-recover=all'; do
    gcc -std=c11 -g $san $WARN -include "$stub/fault.h" -I "$bed/objc" -c states.c -o states_stub.o
    "$bed/bin/hostcc" -std=c11 -g $san $WARN -D_POSIX_C_SOURCE=200809L -I"$bed/rt" "$stub/states.c" states_stub.o -I. \
      -o states_app -pthread $FRAMEWORKS
    HOSTMETAL_NOSEGV=1 LSAN_OPTIONS=suppressions=lsan:print_suppressions=0 ./states_app
    export HOSTMETAL_TYPES=0
  done
}
by_hand() { # a program over one spec's stub
  "$bed/bin/hostcc" -std=c99 $WARN "$stub/$1.c" $1.c -I. -o $1_app $FRAMEWORKS
  HOSTMETAL_TYPES=0 ./$1_app
}
consts() { # also with another folder for the results
  for san in '' '-O1 -fsanitize=address,undefined -fno-sanitize-recover=all'; do
    "$bed/bin/hostcc" -std=c11 -g $san $WARN -D_POSIX_C_SOURCE=200809L -I"$bed/rt" "$stub/consts.c" consts.c -I. \
      -o consts_app $FRAMEWORKS
    HOSTMETAL_NOSEGV=1 LSAN_OPTIONS=suppressions=lsan:print_suppressions=0 ./consts_app
    export HOSTMETAL_TYPES=0
  done
  rm -rf elsewhere
  PATH="$bed/bin:$PATH" make -s -f consts.mk consts_OUT=elsewhere
  cmp consts.data elsewhere/consts.data
}
sizes() { # twice, as states
  unset HOSTMETAL_TYPES HOSTMETAL_LABELS
  for san in '' '-O1 -fsanitize=address,undefined -fno-sanitize-recover=all'; do
    "$bed/bin/hostcc" -std=c11 -g $san $WARN "$stub/sizes.c" sizes.c -I. -o sizes_app $FRAMEWORKS
    HOSTMETAL_NOSEGV=1 LSAN_OPTIONS=suppressions=lsan:print_suppressions=0 ./sizes_app
    export HOSTMETAL_TYPES=0
  done
}
null() { # what our own code costs: on a runtime that does nothing
  python3 -IS "$stub/many.py" 200 24 > many.yaml
  "$build/nuvecc" --no-fuse many.yaml -o .
  gcc -std=c99 -O2 $WARN -include "$stub/null.h" -I "$bed/objc" -c many.c -o many.o
  gcc -std=c99 -O2 -D_POSIX_C_SOURCE=200809L $WARN -DSIGNATURES=200 -DLAUNCHES=24 -I "$bed/objc" -I. "$stub/null.c" \
    many.o -o null_app -pthread
  ./null_app > null.txt
}
examples() { # the steps of specs/examples: evaluator, unfused and fused kernels give the same bits
  for s in "$root"/specs/examples/*.yaml; do "$build/hostrun" "$s" --all --random=1 --compare; done
}
cplusplus() {
  for cxx in g++ clang++-19; do
    command -v $cxx > /dev/null || continue
    for std in c++11 c++20; do
      $cxx -std=$std -Wall -Wextra -pedantic -Wshadow -Wconversion -Werror -I. -c "$stub/app.cc" -o app.o
      HOSTCC=$cxx "$bed/bin/hostcc" app.o second.o -o app_cc $FRAMEWORKS
      HOSTMETAL_TYPES=0 ./app_cc
    done
  done
}

if [ "$1" = --run ]; then
  shift
  set -e
  cd "$out"
  "$@"
  exit
fi
rm -rf "$out"
mkdir -p "$out"
group 'engine compiles' all engine
group 'hand-written tape builds' hand_build
for g in values empty wrong buffers failures system metallibs fast-math shapes steady threads groups cache async encode \
  bind busy mixed open numbers open-wrong open-cache open-ways open-threads; do
  group "engine: $g" hand $g
done
for g in threads async busy mixed open-ways open-threads; do group "engine: $g, as ThreadSanitizer sees them" hand_threads $g; done
group 'two specs compile to the same bytes again' generate
group 'generated C is free of warnings' all portable
group 'generated headers are free of warnings' all portable_header
group "clang's analyzer finds nothing" analyzed
group 'symbols and data' symbols
group 'two graphs in one program' app
group 'statics, variants, trainable bits' keys
group 'lists of different lengths' by_hand lists
group 'steps: random keys, state passed through, batches, one buffer twice' by_hand steps
group 'states: steps, files, every failure in turn' states
group 'constant arrays in a data file' consts
group 'open sizes: values, shapes, refusals, cache, states' sizes
group 'a million calls, and what a second call costs' null
cat "$out/null.txt" 2> /dev/null
group 'examples with a state' examples
group 'C++' cplusplus
echo "$passed passed, $failed failed"
[ $failed = 0 ]
