#!/bin/bash
# run_tests.sh - the bed's own tests: a line a group, then 'N passed, N failed'. usage: run_tests.sh [GROUP ...]
# BUILD: build folder, relative to the root (default build); bed.mk makes the library there first.
# JOBS: groups at a time (default 2). LONG=1 adds ASan, aarch64 under qemu, and nvcc, where they are installed.
# Each group runs in a bash of its own, so that `set -e` holds in it and a failure ends only that group.
[ -n "${BASH_VERSION:-}" ] || exec bash "$0" "$@"
set -eu
set -o pipefail
here=$(cd "$(dirname "$0")" && pwd)
cd "$here/../.."
unset MSLCFLAGS MSL_CXXFLAGS MSL_FTZ MSL_BYTES MSL_ORDER MSL_THREADS
for v in $(env | sed -n 's/^\(HOSTMETAL_[A-Z]*\)=.*/\1/p'); do unset "$v"; done # the caller's own choices
export BUILD=${BUILD:-build}
export HOSTMETAL_LIB=$(readlink -f "$BUILD/hostmetal") TMPDIR=$(readlink -f "$BUILD/hostmetal")/tmp
CLANG=${MSL_CLANG:-clang-19} CLANGXX=${MSL_CXX:-clang++-19}
S=$HOSTMETAL_LIB/t # programs and libraries that several groups use; T: the group's own folder; K: the sample kernels
T=$S/of-${2:-}
K=$here/kernels
WARN='-Wall -Wextra -Werror'
LINK="-I$here/objc -I$here/tests -I$here/rt -L$HOSTMETAL_LIB -lhostmetal -lm -Wl,-rpath,$HOSTMETAL_LIB"
RECIPE='-std=metal3.1 -target air64-apple-macos14.0 -fno-fast-math -ffp-contract=off -Wall -Wextra -Werror'

fail() { echo "$*"; exit 1; }
mslc() { python3 -IS "$here/mslc.py" "$@"; }
xcrun() { "$here/bin/xcrun" -sdk macosx "$@"; }
once() { # file, command...: makes a shared file, also when two groups want it at the same time
  local file=$1
  shift
  (
    flock 9
    [ -e "$file" ] || "$@"
  ) 9> "$file.lock"
}
program() { # name [flag...]: a test in C
  local name=$1
  shift
  once "$S/$name" gcc -std=gnu11 -O1 -g $WARN -ffp-contract=off "$@" "$here/tests/$name.c" -o "$S/$name" $LINK
}
library() { # suffix kernel [mslc flag...]: $S/KERNEL.SUFFIX.metallib
  local suffix=$1 kernel=$2
  shift 2
  once "$S/$kernel.$suffix.metallib" mslc "$K/$kernel.metal" -o "$S/$kernel.$suffix.metallib" "$@"
}
libraries() { # compiler kernel...: suffix of the file is the compiler's name
  local cxx=$1 k
  shift
  for k in "$@"; do library "$(basename "$cxx")" "$k" --cxx "$cxx"; done
}
gelu() { # sets lib, the library that tests of other things load
  libraries "$CLANGXX" gelu
  lib=$S/gelu.$(basename "$CLANGXX").metallib
}
refused() { # pattern, command...
  local want=$1 out
  shift
  if out=$("$@" 2>&1); then fail "'$*' was not refused"; fi
  grep -q -- "$want" <<< "$out" || fail "'$*': expected '$want', got: $out"
}
seeded() { # program..., then lines "name|message" on standard input: each must fail with its own message
  local bug want out n=0
  while IFS='|' read -r bug want; do
    out=$( ("$@" "$bug"; echo "rc $?") 2>&1) || true
    if grep -q '^rc 0' <<< "$out" || ! grep -qE -- "$want" <<< "$out"; then
      fail "'$bug' NOT caught as '$want': $out"
    fi
    n=$((n + 1))
  done
  echo "$n seeded misuses, each caught by its own message"
}

# ---- kernels ----
group_lint() {
  local k n=0
  for k in "$K"/*.metal; do
    MSLCFLAGS=-O0 xcrun metal $RECIPE -c "$k" -o "$T/lint.air" # lint runs with the recipe's warnings as errors
    n=$((n + 1))
  done
  echo "$n sample kernels pass"
}
group_lint_mistakes() { python3 -B "$here/tests/mkbad.py"; }
group_subset() { # what is in the header beyond what the samples use
  program surface
  local c
  for c in "$CLANGXX" g++; do
    libraries "$c" surface
    "$S/surface" "$S/surface.$(basename "$c").metallib"
  done
}
on_compiler() { # compiler: every sample kernel in every order, in parallel, and in flush mode
  local s o t
  s=$(basename "$1")
  program kernels -DSMALL=1
  program simd
  libraries "$1" gelu softmax matmul scatter simd simd_full atomics
  for o in fwd rev 1; do
    for t in kernels simd; do MSL_ORDER=$o "$S/$t" "$S" ".$s"; done
  done
  for t in kernels simd; do MSL_THREADS=2 "$S/$t" "$S" ".$s"; done
  MSL_FTZ=1 "$S/kernels" "$S" ".$s"
  echo "samples right in 3 thread orders, with 2 threads, in flush mode"
}
group_clang() { on_compiler "$CLANGXX"; }
group_gcc() { on_compiler g++; }
group_fastmath() {
  program fastmath
  local c how
  for c in "$CLANGXX" g++; do
    mslc "$K/fastmath.metal" -o "$T/precise.metallib" --cxx "$c"
    mslc "$K/fastmath.metal" -o "$T/fast.metallib" --cxx "$c" --fast-math
    for how in precise fast; do "$S/fastmath" "$T/$how.metallib" $how; done
  done
}
subnormals() { # compiler, flag...: against the model; with each flag, which undoes strict code, it must be wrong
  local cxx=$1 o undo
  shift
  program ftz
  for o in 0 1 2; do
    mslc "$K/ftz.metal" -o "$T/ftz.metallib" --cxx "$cxx" -O$o
    "$S/ftz" "$T/ftz.metallib"
  done
  MSL_THREADS=2 "$S/ftz" "$T/ftz.metallib"
  for undo in "$@"; do
    MSL_CXXFLAGS=$undo mslc "$K/ftz.metal" -o "$T/ftz.metallib" --cxx "$cxx" -O2
    if "$S/ftz" "$T/ftz.metallib" > /dev/null 2>&1; then fail "control: $undo: the wrong code was not seen"; fi
  done
  echo "-O0, -O1, -O2 and 2 threads agree with the model, $# controls seen"
}
group_subnormals_clang() { subnormals "$CLANGXX" '-ffp-exception-behavior=ignore'; }
group_subnormals_gcc() { subnormals g++ '-fno-signaling-nans' '-fif-conversion -fif-conversion2'; }
group_no_strict() {
  program replay_gelu
  library loose gelu --no-strict
  local lib=$S/gelu.loose.metallib
  "$S/replay_gelu" "$lib"
  refused 'flush mode needs a library built without --no-strict' env MSL_FTZ=1 "$S/replay_gelu" "$lib"
  echo "refused in flush mode"
}
group_bytes() {
  program bytes
  local c k
  for c in "$CLANGXX" g++; do
    for k in gelu softmax matmul scatter atomics; do
      mslc "$K/$k.metal" -o "$T/$k.counted.metallib" --cxx "$c" --count
    done
    "$S/bytes" "$T" .counted
  done
  rm -f "$T/bytes.json"
  MSL_BYTES=$T/bytes.json MSL_THREADS=2 "$S/bytes" "$T" .counted
  python3 -IS -c "import json, sys
rows = [json.loads(l) for l in open(sys.argv[1])]
assert len(rows) == 13, rows
assert [r['written'] for r in rows if r['kernel'] == 'gelu_f32'] == [4012] * 3 + [280] * 2, rows" "$T/bytes.json"
  echo "exact for 11 launches, both compilers, 2 threads"
}

# ---- Metal's classes ----
group_replay() {
  program replay_gelu -pedantic
  gelu
  "$S/replay_gelu" "$lib"
}
group_headers() { # the stub's wrappers are portable: with the bed's checks and without
  local std cc flags="-O2 $WARN -I$here/objc -I$here/tests -c -o /dev/null"
  for std in c99 c11; do
    for cc in gcc "$CLANG"; do echo '#include "mtl.h"' | $cc -std=$std -pedantic $flags -x c -; done
  done
  for cc in g++ "$CLANGXX"; do echo '#include "mtl.h"' | $cc -std=c++17 $flags -x c++ -; done
  echo "C99, C11, C++17 without a warning"
}
group_hostcc() {
  cd "$T"
  "$here/bin/hostcc" -std=c99 -Wall -Wextra -pedantic -I"$here/tests" -c "$here/tests/replay_gelu.c" -o hostcc.o
  "$here/bin/hostcc" hostcc.o -o replay_hostcc -lobjc -framework Metal -framework Foundation -framework CoreGraphics
  gelu
  ./replay_hostcc "$lib"
}
group_api() {
  program extra -pedantic
  program api -pedantic
  gelu
  cp "$S/api" "$T/api"
  cp "$lib" "$T/beside.metallib"
  mkdir -p "$T/bundle"
  cp "$T/beside.metallib" "$T/bundle/inside.metallib"
  HOSTMETAL_TYPES=require HOSTMETAL_MSLC="python3 -IS $here/mslc.py" "$S/extra"
  HOSTMETAL_TYPES=require "$T/api" "$T" beside
  HOSTMETAL_TYPES=require HOSTMETAL_BUNDLE=$T/bundle "$T/api" "$T" inside
}
group_system() { # what the environment makes of the system, and the stamps of a metallib
  program system
  xcrun metal $RECIPE -c "$K/gelu.metal" -o "$T/system.air"
  xcrun metallib "$T/system.air" -o "$T/system.metallib"
  xcrun metal -std=macos-metal2.3 -target air64-apple-macos14.2 -c "$K/scatter23.metal" -o "$T/target.air"
  xcrun metallib "$T/target.air" -o "$T/target.metallib"
  "$S/system" "$T/system.metallib" os=26.0 apple9 mac2 metal3 no-apple10 loads threads=1024 width=32 page=16384
  HOSTMETAL_OS=14.0 "$S/system" "$T/system.metallib" os=14.0 loads
  HOSTMETAL_OS=13.6 "$S/system" "$T/system.metallib" os=13.6 'refused=language version 3.1, which is not supported'
  HOSTMETAL_OS=14.1 "$S/system" "$T/target.metallib" 'refused=deployment target'
  HOSTMETAL_OS=14.2 "$S/system" "$T/target.metallib" loads
  HOSTMETAL_FAMILY=apple6 "$S/system" "$T/system.metallib" apple6 no-apple7 no-mac2 no-metal3
  HOSTMETAL_FAMILY=mac2 "$S/system" "$T/system.metallib" no-apple1 mac2 no-metal3
  HOSTMETAL_MAXTHREADS=256 HOSTMETAL_WIDTH=16 HOSTMETAL_PAGE=4096 HOSTMETAL_MAXBUFFER=65536 \
    "$S/system" "$T/system.metallib" threads=256 width=16 page=4096 buffer=65536
  refused "'x' is no version" env HOSTMETAL_OS=x "$S/system" "$T/system.metallib"
  refused 'unrecognized selector before macOS 10.15' env HOSTMETAL_OS=10.13 "$S/system" "$T/system.metallib" apple9
  echo "OS, families, limits and library stamps as asked for"
}
group_failures() {
  program failures
  gelu
  "$S/failures" "$lib"
  program replay_gelu
  HOSTMETAL_FAIL=commit:1 "$S/replay_gelu" "$lib" | grep -q 'status 5'
  HOSTMETAL_FAIL=commit:2,library:2 "$S/replay_gelu" "$lib" | grep -q 'status 4'
  refused 'asked for by HOSTMETAL_FAIL' env HOSTMETAL_FAIL=alloc:9,library:1 "$S/replay_gelu" "$lib"
  refused 'expected device' env HOSTMETAL_FAIL=foo:1 "$S/replay_gelu" "$lib"
  echo "by hook and by environment"
}
group_handlers() {
  program handlers -pthread
  gelu
  "$S/handlers" "$lib"
}
group_ranges() { # two ranges of one buffer, overlapping or not; hazards byte by byte
  program ranges
  local c
  for c in "$CLANGXX" g++; do
    mslc "$K/ranges.metal" -o "$T/ranges.metallib" --cxx "$c" --count
    "$S/ranges" "$T/ranges.metallib" ok
    seeded "$S/ranges" "$T/ranges.metallib" << 'X'
in-place|bindings 0 \(x\) and 1 \(y\) overlap: byte 0 of x, byte 0 of y, written by y
shifted|bindings 0 \(x\) and 1 \(y\) overlap: byte 4 of x, byte 0 of y
two-writers|bindings 1 \(y\) and 2 \(z\) overlap: byte 396 of y, byte 0 of z
past-end|out-of-bounds access .*byte 8192 of a 8192-byte MTLBuffer
before-start|binding 0 \(x\): byte -4, outside the binding, was read
raw|memoryBarrier missing
war|was read by an earlier dispatch .* is written; memoryBarrier missing
waw|was written by an earlier dispatch .* is written; memoryBarrier missing
other-resource|memoryBarrier missing
X
  done
}
group_misuse() {
  program replay_gelu
  gelu
  seeded "$S/replay_gelu" "$lib" << 'X'
name|no such kernel
short|out-of-bounds access .*byte 399616 of a 399612-byte MTLBuffer
offset|offset 400012 >= length 400012
unbound|missing buffer binding at index 1 for y
bytes|setBytes: length 8192
size|has 2 bytes, needs 4
index|setBytes: index 31
tg|threadgroup 2048x1x1 exceeds 1024
barrier|memoryBarrier missing
released|deallocated 400012-byte MTLBuffer
noend|an encoder was not ended
nowait|max abs error nan
selector|unrecognized selector
overrun|byte 400012, past length 400012
underrun|4 bytes before the start
leak|leak: MTLBuffer
double|sent to a deallocated object
X
}
group_misuse_api() {
  program misuse
  gelu
  seeded env HOSTMETAL_LABELS=require "$S/misuse" "$lib" << 'X'
no-copy-pointer|multiples of the 16384-byte page
no-copy-length|multiples of the 16384-byte page
zero-length|newBufferWithLength:: length 0
too-long|over maxBufferLength
managed|managed storage is not modelled
options|options 0x
pop|popDebugGroup without pushDebugGroup
push|1 debug groups were not popped
scope|does not have buffers in it
label-type|setLabel:: expected a NSString, got MTLBuffer
no-label|MTLBuffer serial .* never got a label
written-bytes|setBytes data at index 1 for y, which the kernel may write
constant-offset|offset 16 at index 2 of a constant buffer not aligned to 32
url-type|newLibraryWithURL:: expected a NSURL, got NSString
data-type|newLibraryWithData:: expected a OS_dispatch_data, got NSString
pipeline-label|unrecognized selector
device|MTLDevice over-released
device-leak|leak: MTLDevice retained 1 times
commit-twice|already committed
handler-late|addCompletedHandler: after commit
bad-block|its isa is neither
wait-early|waitUntilCompleted before commit
wait-in-handler|waitUntilCompleted inside a completion handler
pool|popped out of order
X
}
CASTS='int-index|setBytes:length:atIndex:\]: cast: expected v@:r\^vQQ, got v@:\^vQi
float-result|GPUEndTime\]: cast: expected d@:, got f@:
size-by-pointer|threadsPerThreadgroup:\]: cast: expected v@:\{\?=QQQ\}\{\?=QQQ\}, got v@:\^v\^v
string|setBuffer:offset:atIndex:\]: type string: expected v@:@QQ, got v@:@Q
missing-argument|newBufferWithLength:options:\]: cast: expected @@:QQ, got @@:Q
nil-receiver|nil memoryBarrierWithScope:\]: type string: expected v@:Q, got v@:i
unknown|unrecognized selector
untyped|name\]: sent without a type string'
group_casts() {
  program casts
  "$S/casts"
  [ "$(uname -m)" != x86_64 ] || CASTS="$CASTS
stret|come through objc_msgSend_stret on x86-64"
  HOSTMETAL_TYPES=require seeded "$S/casts" <<< "$CASTS"
}
group_casts_c99() { # without _Generic the type strings are still held against the table
  gcc -std=gnu99 -O1 -w "$here/tests/casts.c" -o "$T/casts99" $LINK
  HOSTMETAL_TYPES=require seeded "$T/casts99" << 'X'
string|setBuffer:offset:atIndex:\]: type string: expected v@:@QQ, got v@:@Q
nil-receiver|nil memoryBarrierWithScope:\]: type string
X
}
group_table() { program table; "$S/table"; }

# ---- building ----
group_recipe() {
  program two
  program fastmath
  bash "$here/tests/xcrun.sh" "$T" "$S"
}
group_reload() { # a metallib replaced at its path is seen, and an unloaded one is gone
  program reload
  local c i
  for c in "$CLANGXX" g++; do
    for i in 1 2; do
      sed "s/FACTOR/$i.0f/" "$K/reload.metal.in" > "$T/reload$i.metal"
      mslc "$T/reload$i.metal" -o "$T/reload$i.metallib" --cxx "$c"
    done
    "$S/reload" "$T/reload1.metallib" "$T/reload2.metallib" "$T/reload.metallib"
  done
}
group_clean() { # nothing is written beside the sources
  local made
  made=$(find "$here" -name __pycache__ -o -name '*.o' -o -name '*.so' -o -name '*.air' -o -name '*.metallib')
  [ -z "$made" ] || fail "$made"
  echo "no output beside the sources"
}

# ---- LONG=1 ----
group_asan() {
  local r
  r=$(dirname "$("$CLANG" -shared-libasan -print-file-name=libclang_rt.asan-x86_64.so)")
  [ -e "$r/libclang_rt.asan-x86_64.so" ] || { echo "not installed: not run"; return; }
  make -s -f tests/hostmetal/bed.mk BUILD="$T/asan" BED_CC="$CLANG" BED_SAN='-fsanitize=address -shared-libasan'
  "$CLANG" -fsanitize=address -shared-libasan -std=gnu11 -O1 -w -ffp-contract=off "$here/tests/kernels.c" \
    -o "$T/asan/kernels" -I"$here/objc" -I"$here/tests" -L"$T/asan/hostmetal" -lhostmetal -lm \
    -Wl,-rpath,"$T/asan/hostmetal"
  for k in gelu softmax matmul scatter; do mslc "$K/$k.metal" -o "$T/asan/$k.metallib" --cxx "$CLANGXX" --asan; done
  ASAN_OPTIONS=detect_leaks=0 LD_LIBRARY_PATH=$r HOSTMETAL_NOSEGV=1 "$T/asan/kernels" "$T/asan"
}
group_aarch64() {
  if ! command -v qemu-aarch64 > /dev/null || ! command -v aarch64-linux-gnu-gcc > /dev/null; then
    echo "not installed: not run"
    return
  fi
  local a=$T/arm q='qemu-aarch64 -L /usr/aarch64-linux-gnu' k t
  mkdir -p "$a"
  printf '#!/bin/sh\nexec %s --target=aarch64-linux-gnu -march=armv8.2-a+fp16 "$@"\n' "$CLANGXX" > "$a/clang++"
  chmod +x "$a/clang++"
  make -s -f tests/hostmetal/bed.mk BUILD="$a" BED_CC=aarch64-linux-gnu-gcc
  for k in gelu softmax matmul scatter ftz simd simd_full atomics; do
    mslc "$K/$k.metal" -o "$a/$k.metallib" --cxx "$a/clang++"
  done
  for t in kernels ftz simd casts; do
    aarch64-linux-gnu-gcc -std=gnu11 -O1 -w -ffp-contract=off -march=armv8.2-a+fp16 "$here/tests/$t.c" -o "$a/$t" \
      -I"$here/objc" -I"$here/tests" -I"$here/rt" -L"$a/hostmetal" -lhostmetal -lm -Wl,-rpath,"$a/hostmetal"
  done
  for t in kernels simd; do $q "$a/$t" "$a"; done
  $q "$a/ftz" "$a/ftz.metallib"
  HOSTMETAL_TYPES=require seeded $q "$a/casts" <<< "$CASTS"
}
group_cuda() {
  command -v nvcc > /dev/null || [ -x /usr/local/cuda/bin/nvcc ] || { echo "not installed: not run"; return; }
  OUT=$T/cuda bash "$here/cuda/run.sh"
}

ALL='lint lint_mistakes subset clang gcc fastmath subnormals_clang subnormals_gcc no_strict bytes replay headers hostcc
  api system failures handlers ranges misuse misuse_api casts casts_c99 table recipe reload clean'
[ -z "${LONG:-}" ] || ALL="$ALL asan aarch64 cuda"
case ${1:-} in
--group)
  "group_$2"
  exit
  ;;
--report) # one group and its line; the file $T.failed says that it failed
  mkdir -p "$T"
  if out=$(bash "$here/run_tests.sh" --group "$2" 2>&1); then
    printf '%-18s %s\n' "$2" "$(tail -1 <<< "$out")"
  else
    touch "$T.failed"
    printf '%-18s FAILED\n%s\n' "$2" "$(tail -30 <<< "$out")"
  fi
  exit
  ;;
esac
[ -e "$HOSTMETAL_LIB/libhostmetal.so" ] || fail "no $HOSTMETAL_LIB/libhostmetal.so: make -f tests/hostmetal/bed.mk"
rm -rf "$S"
mkdir -p "$S" "$TMPDIR"
all=${*:-$ALL}
printf '%s\n' $all | xargs -P "${JOBS:-2}" -n 1 bash "$here/run_tests.sh" --report
failed=$(find "$S" -maxdepth 1 -name '*.failed' | wc -l)
echo "$(($(wc -w <<< "$all") - failed)) passed, $failed failed"
[ "$failed" = 0 ]
