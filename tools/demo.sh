#!/bin/sh
# demo.sh - real specs to running kernels: gelu, and a tone-mapping curve over a picture. On Linux the kernels and the
# stub run unmodified on the test bed, on a Mac with the Metal toolchain on its GPU.
set -e
cd "$(dirname "$0")/.."
ROOT=$(pwd)
BUILD=${BUILD:-build}
OUT=$BUILD/demo
rm -rf "$OUT"
mkdir -p "$OUT"
say() { printf '\n== %s\n' "$*"; }

if [ "$(uname)" = Darwin ]; then
  if ! xcrun -find metal > /dev/null 2>&1; then
    echo "Apple's Metal compiler is missing: xcodebuild -downloadComponent MetalToolchain"
    exit 1
  fi
  build_app() { cc -std=c11 -O2 -I"$OUT" tools/demo_tonemap.c "$OUT/tonemap.c" -o "$OUT/demo_tonemap" -lobjc \
    -framework Metal -framework Foundation -framework CoreGraphics -lm; }
else
  PATH=$ROOT/tests/hostmetal/bin:$PATH
  HOSTMETAL_LIB=$ROOT/$BUILD/hostmetal
  export HOSTMETAL_LIB
  build_app() { "$ROOT/tests/hostmetal/bin/hostcc" -std=c11 -O2 -I"$OUT" tools/demo_tonemap.c "$OUT/tonemap.c" \
    -o "$OUT/demo_tonemap" -lobjc -framework Metal -framework Foundation; }
fi

say 'gelu: the spec'
cat specs/gelu.yaml
say 'its kernel, fused'
"$BUILD/nuvecc" specs/gelu.yaml --entry=gelu --emit-metal | sed -n '/^\/\/ .*gelu/,$p'
say 'fused and unfused: kernels, launches, bytes moved against the lower bound'
"$BUILD/nuvecc" specs/gelu.yaml --entry=gelu --stats
"$BUILD/nuvecc" specs/gelu.yaml --entry=gelu --stats --no-fuse
say 'the same bits from the evaluator, the unfused and the fused kernels (1 x 1000 x 4096 random numbers)'
"$BUILD/hostrun" specs/gelu.yaml --entry=small --random=1 --compare

say 'tone-mapping: exposure, a filmic curve and the sRGB transfer in one kernel'
"$BUILD/nuvecc" specs/tonemap.yaml -o "$OUT"
"$BUILD/nuvecc" specs/tonemap.yaml --explain
make -s -f "$OUT/tonemap.mk"
build_app
"$OUT/demo_tonemap" "$OUT/tonemap.metallib" specs/rocket.ppm "$OUT/rocket.ppm" 1.5
echo "specs/rocket.ppm -> $OUT/rocket.ppm, one and a half stops brighter"
say 'the same bits over the picture'
"$BUILD/hostrun" specs/tonemap.yaml --random=2 --compare
