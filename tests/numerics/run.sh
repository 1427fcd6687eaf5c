#!/bin/sh
# run.sh - floating-point semantics of the generated file: no product and sum contracted, --pow, a build with fast math.
# Ends with "N passed, N failed".
cd "$(dirname "$0")/../.." || exit 2
ROOT=$PWD
BUILD=${BUILD:-build}
case $BUILD in /*) ;; *) BUILD=$ROOT/$BUILD ;; esac
S=$ROOT/tests/numerics
T=$(mktemp -d)
trap 'rm -rf "$T"' EXIT
cd "$T" || exit 2
passed=0
failed=0

t() { # name, command...: passes when the command succeeds
  name=$1
  shift
  if out=$("$@" 2>&1); then
    passed=$((passed + 1))
  else
    failed=$((failed + 1))
    echo "FAILED $name: $out" | head -20
  fi
}
not() { if "$@"; then return 1; else return 0; fi; }

# ---- contraction ----
# 1 + 2^-12 squared is 1 + 2^-11 + 2^-24: rounded, 2^-24 is lost; a fused multiply-add keeps it.
one=1.000244140625
cat > in.json << X
{"a": [$one, 0.1, 3, -$one], "b": [$one, 0.9, 0.333333343, $one], "c": [-1.00048828125, -0.0900000036, -1, 1.00048828125]}
X
values() { python3 -IS "$S/contract.py" "$T/in.json" "$1"; }
no_fma() { # of the spec's own arithmetic, no pair of operators in one statement, and the pragma that rules contraction
  "$BUILD/nuvecc" "$S/contract.yaml" --emit-metal > contract.metal || return 1
  grep -q '^#pragma METAL fp contract(off)$' contract.metal || return 1
  grep -q '^#pragma METAL fp math_mode(safe)$' contract.metal || return 1
  ! sed -n '/^\/\/ Computes/,$p' contract.metal | grep -E '^ *float|fma' | grep -E 'fma\(|= [^;[]*\*[^;[]*[-+]|= [^;[]*[-+] [^;[]*\* '
}
t 'no contraction in the text' no_fma
t 'three ways give the same bits' "$BUILD/hostrun" "$S/contract.yaml" --inputs=in.json --outputs=fused.json --compare
t 'unfused values' "$BUILD/hostrun" "$S/contract.yaml" --inputs=in.json --outputs=unfused.json --no-fuse
t 'evaluator values' "$BUILD/nuvecc" "$S/contract.yaml" --eval=in.json --eval-output=eval.json
for f in fused unfused eval; do t "$f: every product rounded" values $f.json; done

# ---- --pow ----
pow() { # entry, options...
  entry=$1
  shift
  "$BUILD/hostrun" "$S/pow.yaml" --entry="$entry" --random=1 --compare "$@"
}
text() { # entry, fast or precise, --pow
  "$BUILD/nuvecc" "$S/pow.yaml" --entry="$1" --pow="$3" --emit-metal | grep -q "metal::$2::pow("
}
for e in fused alone half; do
  t "pow of $e, default" pow $e
  t "pow of $e, precise text" text $e precise precise
done
t 'fast pow alone is precise' text alone precise fast
t 'fast pow alone agrees' pow alone --pow=fast
t 'fast pow fused' text fused fast fast
t 'fast pow of float16, fused' text half fast fast
t 'the bed sees the fast function' not pow fused --pow=fast
manifest() { "$BUILD/nuvecc" "$S/pow.yaml" --pow="$1" -o "$1" && grep -q "\"pow\": \"$1\"" "$1/pow.nuvec.json"; }
t 'manifest says fast' manifest fast
t 'manifest says precise' manifest precise
usage() { "$BUILD/nuvecc" "$S/pow.yaml" --pow=slow --emit-metal > /dev/null 2> said; [ $? = 2 ] && grep -q "precise or fast" said; }
t 'another word is a usage error' usage

echo "$passed passed, $failed failed"
[ $failed = 0 ]
