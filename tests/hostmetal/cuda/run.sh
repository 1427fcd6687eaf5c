#!/bin/bash
# run.sh - builds every sample kernel and the runner with nvcc, then runs on the GPU where there is one.
# usage: cuda/run.sh [ELEMENTS]; OUT: output folder (default build/hostmetal/cuda), ARCH: default sm_90, NVCC
set -e
here=$(cd "$(dirname "$0")/.." && pwd)
NVCC=${NVCC:-$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)}
ARCH=${ARCH:-sm_90}
OUT=${OUT:-$here/../../build/hostmetal/cuda}
mkdir -p "$OUT"
STUBS=$(dirname "$(dirname "$(readlink -f "$NVCC")")")/lib64/stubs
for k in gelu softmax matmul scatter simd_full atomics surface; do
  python3 -IS "$here/mslc.py" "$here/kernels/$k.metal" --cuda "$OUT/$k.cu"
  $NVCC -std=c++17 -arch="$ARCH" -O3 -fmad=false -prec-div=true -prec-sqrt=true -ftz=false -I"$here/msl" -cubin \
    -o "$OUT/$k.cubin" "$OUT/$k.cu"
done
$NVCC -std=c++17 -O2 -I"$here/cuda" -Xcompiler -ffp-contract=off -o "$OUT/run" "$here/cuda/run.cu" -lcuda -L"$STUBS"
if [ ! -e /dev/nvidiactl ] && [ ! -e /dev/nvidia0 ]; then
  echo "compiled; no GPU here: not run"
  exit 0
fi
"$OUT/run" "$OUT" "$@"
