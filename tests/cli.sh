#!/bin/sh
# cli.sh - the command: what it writes, where, when not, and what it says.
cd "$(dirname "$0")/.." || exit 2
ROOT=$(pwd)
N=$ROOT/$BUILD/san/nuvecc
T=$(mktemp -d)
trap 'rm -rf "$T"' EXIT
cd "$T" || exit 2
passed=0
failed=0
export LC_ALL=C

t() { # name, command...: passes when the command succeeds
  name=$1
  shift
  if out=$("$@" 2>&1); then passed=$((passed + 1)); else failed=$((failed + 1)); echo "FAILED $name: $out" | head -20; fi
}
says() { # status, words (a regular expression), arguments of nuvecc...
  want=$1 words=$2
  shift 2
  out=$("$N" "$@" 2>&1)
  got=$?
  [ "$got" = "$want" ] || { echo "exit status $got, wanted $want: $out"; return 1; }
  echo "$out" | grep -qE -- "$words" || { echo "'$words' not in: $out"; return 1; }
}
silent() { # nothing printed, status 0
  out=$("$N" "$@" 2>&1) && [ -z "$out" ] || { echo "said: $out"; return 1; }
}

cat > add.yaml << 'X'
nuvec: 1
name: add
functions:
  plus:
    inputs: {a: "float32[4]", b: "float32[4]"}
    nodes:
      - y = a + b
    outputs: y
X
cat > add.json << 'X'
{"nuvec": 1, "name": "add", "functions": {"plus": {
  "inputs": {"a": "float32[4]", "b": "float32[4]"},
  "nodes": [{"name": "y", "op": "add", "inputs": ["a", "b"]}],
  "outputs": "y"}}}
X
sed 's/a + b/a + c/' add.yaml > wrong.yaml
files='add.c add.h add.metal add.mk add.nuvec.json'

# ---- the command line ----
t version says 0 '^nuvecc [0-9]+\.[0-9]+\.[0-9]+$' --version
t help says 0 'fsyntax-only' --help
t 'no spec' says 2 'no spec'
t 'two specs' says 2 'more than one spec' add.yaml add.json
t 'unknown option' says 2 "did you mean '--emit-metal'" --emit-metl add.yaml
t 'unknown compiler option' says 2 "did you mean '-fsyntax-only'" -fsyntax-onl add.yaml
t 'missing argument' says 2 'needs an argument' add.yaml -o
t 'argument where none is taken' says 2 'takes no argument' --no-fuse=yes add.yaml
t 'wrong stage' says 2 'traced, simplified or fused' --emit-graph=middle add.yaml
t 'wrong target' says 2 'msdos' --target=msdos add.yaml
t 'unknown entry' says 2 "'sub'" --entry=sub add.yaml
t 'two texts' says 2 'standard output' --emit-metal --emit-c add.yaml
t 'unknown ending' says 2 'JSON or YAML' Makefile
t '-MF alone' says 2 'need -MD' -MF x.d add.yaml
t '--eval-output alone' says 2 'need --eval' --eval-output=x.json add.yaml
t 'no such file' says 3 'No such file' none.yaml
t 'a directory' says 3 'directory' --format=yaml .
t 'wrong spec' says 1 "^wrong.yaml:7:17: error: .*'c'" wrong.yaml
t 'nothing was written' test "$(ls)" = "$(printf 'add.json\nadd.yaml\nwrong.yaml')"

# ---- writing ----
t 'writes' silent add.yaml -o out/deep
t 'the five files' test "$(ls out/deep | tr '\n' ' ')" = "$files "
t 'list-outputs' test "$("$N" --list-outputs -o out/deep add.yaml)" = "$(printf 'out/deep/%s\n' add.metal add.c add.h add.mk add.nuvec.json)"
t 'JSON' silent add.json -o json
t 'JSON and YAML give the same bytes' diff -r out/deep json
t 'plain and text node give the same graph' test "$("$N" --emit-graph=traced add.yaml)" = "$("$N" --emit-graph=traced add.json)"
t 'again' silent add.yaml -o again
t 'same bytes' diff -r out/deep again
mkdir elsewhere # the order of keys and the folder are no meaning
printf 'functions:\n  plus:\n    outputs: y\n    nodes: ["y = a + b"]\n    inputs: {a: "float32[4]", b: "float32[4]"}\nname: add\nnuvec: 1\n' > elsewhere/other.yaml
t 'keys in another order, in another folder' silent elsewhere/other.yaml -o reordered
t 'give the same bytes' diff -r out/deep reordered
touch -t 200001010000 again/*
t 'unchanged' silent add.yaml -o again
t 'unchanged files keep their time' test -z "$(find again -name add.metal -newer add.yaml)"
t 'the stamp is new' test -n "$(find again -name add.nuvec.json -newer add.yaml)"
cp -r again before
t 'a wrong spec fails' says 1 error --prefix=add -o again wrong.yaml
t 'and leaves the old set' diff -r before again
t 'no temporaries' test -z "$(find . -name '.*nuvecc*')"
t 'in place' silent add.yaml
t 'here' test -f add.nuvec.json
rm -f $files
t '-oDIR' silent -oout2 add.yaml
t '-oDIR writes there' test -f out2/add.c
t 'a name of its own' silent --prefix=sum -o out3 add.yaml
t 'prefix names files' test -f out3/sum.metal
t 'prefix names symbols' grep -q '^nuvec_status sum_plus_call' out3/sum.h
printf 'nuvec: 1\nname: 3d math!\nfunctions: {f: {inputs: {x: "float32[2]"}, outputs: x}}\n' > odd.yaml
t 'odd names' silent odd.yaml -o odd
t 'odd names become C names' test -f odd/_3d_math_.c
for name in math string TIME semaphore; do t "refused: $name" says 2 "$name.h.*--prefix" --prefix=$name -o out add.yaml; done
t 'functions of others' says 2 'pthread_create.*--prefix' --prefix=pthread -o out add.yaml
mkdir full && chmod 500 full
[ "$(id -u)" = 0 ] || t 'a folder that is not writable' says 3 'full' add.yaml -o full
mkdir -p taken/add.metal
t 'a directory in the way' says 3 'add.metal' add.yaml -o taken
t 'and nothing else written' test "$(ls taken)" = add.metal
cp add.yaml add.metal
t 'never over an input' says 3 'would overwrite' --format=yaml add.metal
t 'the input is whole' cmp add.yaml add.metal
ln -s add.yaml link.c
t 'never over an input, by another name' says 3 'would overwrite' --emit-c=link.c add.yaml
rm -f add.metal link.c
if [ -e /dev/full ]; then t 'standard output is full' sh -c "! $N --emit-metal add.yaml > /dev/full"; fi

# ---- one artifact ----
for k in metal c header; do
  end=$(echo $k | sed 's/header/h/')
  t "--emit-$k" test "$("$N" --emit-$k add.yaml)" = "$(cat out/deep/add.$end)"
  t "--emit-$k=FILE" silent --emit-$k=one.$end add.yaml
  t "--emit-$k=FILE has it" cmp one.$end out/deep/add.$end
done
t 'nothing else written' test ! -e add.c
for stage in traced simplified fused; do
  t "--emit-graph=$stage" says 0 'add' --emit-graph=$stage add.yaml
  t "--emit-dot=$stage" says 0 'digraph' --emit-dot=$stage add.yaml
done
t '--explain' says 0 'plus.y' --explain add.yaml
t '--explain=json' says 0 'nuvec-explain-1' --explain=json add.yaml
t '--stats' says 0 'kernels' --stats add.yaml
t '--stats=json' says 0 '"nuvec-stats-1"' --stats=json add.yaml
t 'explain and all files' says 0 'plus.y' --explain -o both add.yaml
t 'all files are there' test -f both/add.nuvec.json
t '--time-passes' says 0 'simplify' --time-passes -o out add.yaml

# ---- standard input ----
t 'standard input' test "$("$N" --format=yaml --emit-metal - < add.yaml)" = "$(cat out/deep/add.metal)"
t 'standard input needs a form' sh -c "$N --emit-metal - < add.yaml 2>&1 | grep -q 'JSON or YAML'"
t 'standard input needs a name' sh -c "sed /name:/d add.yaml | $N --format=yaml --emit-metal - 2>&1 | grep -q -- --prefix"
t 'standard input with a name' sh -c "sed /name:/d add.yaml | $N --format=yaml --prefix=add --emit-metal - | cmp - out/deep/add.metal"

# ---- dependencies ----
t '-MD' silent -MD -o dep add.yaml
t '-MD says' test "$(cat dep/add.d)" = 'dep/add.nuvec.json: add.yaml'
t '-MD -MF -MT -MP' silent -MD -MF x.d -MT 'a b' -MP -o dep add.yaml
t 'as asked' test "$(cat x.d)" = "$(printf 'a b: add.yaml\nadd.yaml:')"
mkdir 'a b' && cp add.yaml 'a b/c#$.yaml'
t '-MD of an odd name' silent -MD -MF y.d -fsyntax-only 'a b/c#$.yaml'
t 'is quoted for Make' test "$(cat y.d)" = 'add.nuvec.json: a\ b/c\#$$.yaml'
t 'the rule works in Make' sh -c "printf 'all: z/add.nuvec.json\nz/add.nuvec.json:\n\t$N -MD -MP -o z add.yaml\n-include z/add.d\n' > M && make -s -f M && touch -t 203001010000 add.yaml && make -f M | grep -q nuvecc && touch add.yaml"
t '-fsyntax-only' silent -fsyntax-only -o none add.yaml
t '-fsyntax-only writes nothing' test ! -e none
t '-fsyntax-only finds errors' says 1 error -fsyntax-only wrong.yaml

# ---- diagnostics ----
t 'the caret' test "$("$N" wrong.yaml 2>&1 | tail -2)" = "$(printf '      - y = a + c\n                ^')"
t '--diagnostics=json' sh -c "$N --diagnostics=json wrong.yaml 2>&1 | python3 -c 'import json, sys; d = json.load(sys.stdin); e = d[\"diagnostics\"][-1]; assert d[\"format\"] == \"nuvec-diagnostics-1\" and (e[\"line\"], e[\"column\"], e[\"severity\"], e[\"file\"]) == (7, 17, \"error\", \"wrong.yaml\")'"
t '--diagnostics=json of a right spec' sh -c "$N --diagnostics=json -fsyntax-only add.yaml 2>&1 | python3 -c 'import json, sys; assert json.load(sys.stdin)[\"diagnostics\"] == []'"
t '--color=always' sh -c "$N --color=always wrong.yaml 2>&1 | grep -q '\\[1;31m'"
t '--color=never' sh -c "! $N --color=never wrong.yaml 2>&1 | grep -q '\\[1'"
sed 's/b: "float32\[4\]"/b: "float32[4]", c: "float32[4]"/' add.yaml > unused.yaml
t 'a warning' says 0 "warning: .*'c'" -fsyntax-only unused.yaml
t '-Werror' says 1 "warning: .*'c'" -Werror -fsyntax-only unused.yaml

# ---- --eval ----
echo '{"a": [1, 2.5, "inf", -0.0], "b": [0.1, 1e-45, "nan", -0.0]}' > in.json
t '--eval' test "$("$N" --eval=in.json add.yaml | tr -d ' \n')" = '{"y":[1.1,2.5,"nan",-0.0]}'
t '--eval-output' silent --eval=in.json --eval-output=y.safetensors add.yaml
t 'safetensors' python3 -c 'import json, struct; b = open("y.safetensors", "rb").read(); n = struct.unpack("<Q", b[:8])[0]; h = json.loads(b[8:8 + n]); assert h["y"]["dtype"] == "F32" and h["y"]["shape"] == [4] and struct.unpack("<f", b[8 + n:12 + n])[0] == struct.unpack("<f", struct.pack("<f", 1.1))[0]'
echo '{"a": [1, 2.5, 3], "b": [0, 0, 0, 0]}' > in.json
t 'inputs of the wrong length' says 1 '^in.json:1:7: error: expected a list of 4, found a list of 3' --eval=in.json add.yaml
echo '{"a": [1, 2, 3, 4], "bb": [0, 0, 0, 0]}' > in.json
t 'inputs of the wrong name' says 1 "did you mean 'b'" --eval=in.json add.yaml
t 'missing inputs' says 1 "no input is named 'bb'; did you mean 'b'" --eval=in.json add.yaml
echo '{"a": [1, 2, 3, true], "b": [0, 0, 0, 0]}' > in.json
t 'inputs of the wrong kind' says 1 '^in.json:1:17: error: expected a number' --eval=in.json add.yaml
t 'no inputs' says 3 'No such file' --eval=none.json add.yaml

echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
