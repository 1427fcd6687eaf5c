#!/bin/bash
# xcrun.sh - the two-step build, its flags, and what it must refuse. usage: xcrun.sh EMPTY-DIRECTORY PROGRAMS
set -eu
bed=$(cd "$(dirname "$0")/.." && pwd)
X="$bed/bin/xcrun -sdk macosx"
programs=$2
cd "$1"
export MSLCFLAGS=-O0 # quick; the recipe's own -O2 gives way to it
RECIPE='-std=metal3.1 -target air64-apple-macos14.0 -fno-fast-math -ffp-contract=off -Wall -Wextra -Werror'
n=0
fail() { echo "xcrun: $*"; exit 1; }
must_fail() { # pattern, command...
  local want=$1 out
  shift
  if out=$("$@" 2>&1); then fail "'$*' was accepted"; fi
  grep -qE -- "$want" <<< "$out" || fail "'$*': expected '$want', got: $out"
  n=$((n + 1))
}
source_of() { # file, text before the kernel, kernel's name, type of x, body
  printf '#include <metal_stdlib>\nusing namespace metal;\n%s\n' "$2" > "$1"
  printf 'kernel void %s(device %s* x [[buffer(0)]], uint i [[thread_position_in_grid]]) { %s }\n' \
    "$3" "$4" "$5" >> "$1"
}

# several .air files to one metallib; -MD, -I, -D, -g
mkdir -p inc
printf '#define FACTOR 3.0f\n' > inc/factor.h
source_of a.metal '#include "factor.h"
static inline float f(float x) { return x * FACTOR; }' ka float 'x[i] = f(x[i]) + OFFSET;'
source_of b.metal 'static inline float f(float x) { return x * 5.0f; }' kb float 'x[i] = f(x[i]);'
$X metal $RECIPE -g -Iinc -D OFFSET=1.0f -MD -MF a.d -c a.metal -o a.air
$X metal -std=metal3.1 -mmacosx-version-min=14.0 -fmetal-math-mode=safe -fmetal-math-fp32-functions=precise -O2 \
  -gline-tables-only -frecord-sources -c b.metal -o b.air
$X metallib a.air b.air -o ab.metallib
grep -q '^a.air: *a.metal' a.d && grep -q 'inc/factor.h' a.d || fail "a.d is wrong: $(cat a.d)"
! grep -q metal_stdlib a.d || fail "a.d names the bed's own headers"
"$programs/two" ab.metallib # runs both kernels

# the bed's own options reach a recipe through the environment
MSLCFLAGS="-O0 --count" $X metal $RECIPE -Iinc -D OFFSET=1.0f -c a.metal -o ac.air
MSLCFLAGS="-O0 --count" $X metal $RECIPE -c b.metal -o bc.air
$X metallib ac.air bc.air -o abc.metallib
counted=$(MSL_BYTES=1 "$programs/two" abc.metallib 2>&1 | grep -c '"read":40,"written":40}')
[ "$counted" = 2 ] || fail 'bytes not counted'

# by default, as Apple's: fast math; by the recipe: precise
cp "$bed/kernels/fastmath.metal" .
$X metal -c fastmath.metal -o f.air
$X metallib f.air -o f.metallib
"$programs/fastmath" f.metallib fast > /dev/null
$X metal $RECIPE -c fastmath.metal -o f.air
$X metallib f.air -o f.metallib
"$programs/fastmath" f.metallib precise > /dev/null
$X metal -fmetal-math-fp32-functions=precise fastmath.metal -o f.metallib
"$programs/fastmath" f.metallib precise > /dev/null
source_of m.metal '#ifndef __FAST_MATH__
#error no fast math
#endif' k float 'x[i] = 1.0f;'
$X metal -c m.metal -o m.air
must_fail 'no fast math' $X metal -fno-fast-math -c m.metal -o m.air
must_fail 'no fast math' $X metal -fmetal-math-mode=safe -c m.metal -o m.air

# unknown or wrong flags
for bad in -ffoo -fno-contract -std=metal9.9 -std=macos-metal3.1 -std=metal2.3 -fmetal-math-mode=strict \
  -ffp-contract=maybe -mmacosx-version-min=x -O9 -lfoo; do
  must_fail 'unknown argument|invalid' $X metal $bad -c b.metal -o b2.air
done
must_fail "unknown target" $X metal -target x86_64-linux -c b.metal -o b2.air
must_fail 'needs macos 14' $X metal -std=metal3.1 -target air64-apple-macos13.0 -c b.metal -o b2.air
must_fail 'unknown argument' $X metallib --foo a.air -o x.metallib
must_fail 'no input files' $X metallib -o x.metallib
must_fail 'not an .air file' $X metallib a.metal -o x.metallib
must_fail 'unable to find utility' $X swiftc a.swift
must_fail 'No such file' $X metal -c nowhere.metal -o x.air

# where there is no toolchain
must_fail 'missing Metal Toolchain; use: xcodebuild -downloadComponent MetalToolchain' \
  env HOSTMETAL_XCRUN=missing $X metal -c b.metal -o b2.air
must_fail 'unable to find utility "metal"' env HOSTMETAL_XCRUN=none $X --find metal
[ "$($X --find metal)" = "$bed/bin/xcrun metal" ]
$X metal --version | grep -q '^Apple metal'

# the recipe's warnings count, and lint's errors come first
source_of w.metal '' k float 'float unused = 1.0f; x[i] = 1.0f;'
$X metal -c w.metal -o w.air 2> /dev/null
must_fail 'unused variable' $X metal $RECIPE -c w.metal -o w2.air
[ ! -e w2.air ] || fail 'w2.air was written in spite of an error'

# what an older language lacks
source_of bf.metal '' k bfloat 'x[i] = bfloat(1.0f);'
$X metal -std=metal3.1 -c bf.metal -o bf.air
must_fail 'bfloat_needs_metal_3_1' $X metal -std=metal3.0 -c bf.metal -o bf.air
source_of at.metal '' k atomic_float 'atomic_fetch_add_explicit(&x[i], 1.0f, memory_order_relaxed);'
must_fail 'atomic_float' $X metal -std=macos-metal2.4 -c at.metal -o at.air

# clashes between .air files
source_of c.metal '' ka float 'x[i] = 1.0f;'
$X metal -c c.metal -o c.air
must_fail "kernel 'ka' is also in a.air" $X metallib a.air c.air -o x.metallib
for i in 1 2; do
  source_of e$i.metal 'float g(float x) { return x; }' k$i float 'x[i] = g(x[i]);'
  source_of i$i.metal "inline float g(float x) { return x + $i.0f; }" k$i float 'x[i] = g(x[i]);'
  $X metal -c e$i.metal -o e$i.air
  $X metal -c i$i.metal -o i$i.air
done
must_fail "function 'g' is also in e1.air: make it static" $X metallib e1.air e2.air -o x.metallib
must_fail "inline function 'g' differs" $X metallib i1.air i2.air -o x.metallib
echo "two-step build ok, $n refusals as expected"
