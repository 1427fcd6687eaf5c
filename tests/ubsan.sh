#!/bin/sh
# ubsan.sh - the vectors' kernels under UBSan, float to integer conversions included: undefined behaviour ends the run.
# First a control: an overflow that must be instrumented. Ends with "N passed, N failed".
cd "$(dirname "$0")/.." || exit 2
BUILD=${BUILD:-build}
CHECKS=undefined,float-cast-overflow
export MSL_CXXFLAGS="-fsanitize=$CHECKS -fsanitize-trap=$CHECKS"
T=$(mktemp -d)
trap 'rm -rf "$T"' EXIT
printf '#include <metal_stdlib>\nkernel void over(device int* v [[buffer(0)]]) { v[0] = v[0] + 1; }\n' > "$T/over.metal"
export HOSTMETAL_LIB="$PWD/$BUILD/hostmetal"
mslc() { python3 -IS tests/hostmetal/mslc.py "$T/over.metal" -O0 -o "$1"; }
mslc "$T/with" || exit 1
(MSL_CXXFLAGS='' && mslc "$T/without")
if [ "$(wc -c < "$T/with")" = "$(wc -c < "$T/without")" ] && cmp -s "$T/with" "$T/without"; then
  echo 'the sanitizer changed nothing'
  echo '0 passed, 1 failed'
  exit 1
fi
python3 tests/run_vectors.py --dtypes all "$@"
