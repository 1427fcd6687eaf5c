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
whole() { # status, the message in full, arguments of nuvecc... tests/run_messages.py holds the sources' texts against these
  want=$1 text=$2
  shift 2
  out=$("$N" "$@" 2>&1 > /dev/null)
  got=$?
  out=$(printf '%s\n' "$out" | sed '/^nuvecc --help lists the options$/d')
  [ "$got" = "$want" ] && [ "$out" = "nuvecc: error: $text" ] || { echo "exit status $got, wanted $want: $out"; return 1; }
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
t 'no spec' whole 2 'no spec given'
t 'two specs' whole 2 "more than one spec: 'add.yaml' and 'add.json'" add.yaml add.json
t 'unknown option' whole 2 "unknown option '--emit-metl'; did you mean '--emit-metal'?" --emit-metl add.yaml
t 'unknown option, with a value' whole 2 "unknown option '--colour=never'; did you mean '--color'?" --colour=never add.yaml
t 'unknown option, like none' whole 2 "unknown option '--sparse-windings'" --sparse-windings add.yaml
t 'unknown compiler option' whole 2 "unknown option '-fsyntax-onl'; did you mean '-fsyntax-only'?" -fsyntax-onl add.yaml
t 'missing argument' whole 2 "option '-o' needs an argument DIR" add.yaml -o
t 'empty argument' whole 2 "option '--entry=' needs NAME behind the =" --entry= add.yaml
t 'argument where none is taken' whole 2 "option '--no-fuse=yes' takes no argument" --no-fuse=yes add.yaml
t 'wrong stage' whole 2 "unknown stage 'middle': traced, simplified or fused" --emit-graph=middle add.yaml
t 'wrong stage of a picture' whole 2 "unknown stage 'last': traced, simplified or fused" --emit-dot=last add.yaml
t 'wrong form' whole 2 "unknown form 'xml': json, html or text" --explain=xml add.yaml
t 'wrong form of stats' whole 2 "unknown form 'html': json or text" --stats=html add.yaml
t 'wrong form of diagnostics' whole 2 "--diagnostics takes text or json, not 'sarif'" --diagnostics=sarif add.yaml
t 'wrong color' whole 2 "--color takes auto, always or never, not 'yes'" --color=yes add.yaml
t 'wrong format' whole 2 "--format takes json or yaml, not 'toml'" --format=toml add.yaml
t 'wrong memory' whole 2 "--memory takes 1 to 1048576 MiB, not '0'" --memory=0 add.yaml
t 'memory, no number' whole 2 "--memory takes 1 to 1048576 MiB, not '8G'" --memory=8G add.yaml
t 'wrong pow' whole 2 "--pow takes precise or fast, not 'slow'" --pow=slow add.yaml
t 'empty prefix' whole 2 '--prefix is empty' --prefix '' add.yaml
t 'wrong target' whole 2 "unknown target 'msdos'" --target=msdos add.yaml
t 'unknown entry' whole 2 "no entry is named 'sub'" --entry=sub add.yaml
t 'two texts' whole 2 'more than one text for standard output: give all but one a file' --emit-metal --emit-c add.yaml
t 'a text and a list' whole 2 'more than one text for standard output: give all but one a file' --stats --list-outputs add.yaml
t 'a text and results' whole 2 'more than one text for standard output: give all but one a file' --stats --eval=in.json add.yaml
t 'unknown ending' whole 2 'Makefile: is it JSON or YAML? end the name in .json or .yaml, or say --format' Makefile
for o in '-MF x.d' '-MT x' -MP; do
  t "$o alone" whole 2 '-MF, -MT and -MP need -MD' $o add.yaml
done
for o in --eval-output=x.json --eval-flush --signature=1; do
  t "$o alone" whole 2 '--eval-output, --eval-flush and --signature need --eval' $o add.yaml
done
t 'no such file' whole 3 'none.yaml: cannot be read: No such file or directory' none.yaml
t 'a directory' whole 3 '.: cannot be read: Is a directory' --format=yaml .
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
for name in math string TIME semaphore; do
  t "refused: $name" whole 2 "$name.h would hide the system's <$name.h>: choose another name with --prefix" --prefix=$name add.yaml
done
t 'functions of others' whole 2 \
  'functions like pthread_create or pthread_release exist already: choose another name with --prefix' --prefix=pthread add.yaml
stem=n$(printf '%0200d' 0)
t 'a name too long' whole 2 \
  'the name that files and symbols start with has 201 bytes: 200 at most (--prefix gives another)' --prefix="$stem" add.yaml
t 'a name of 200 bytes' silent --prefix="${stem%0}" add.yaml -o long
t 'its longest file' test -f "long/${stem%0}.nuvec.json"
mkdir full && chmod 500 full
[ "$(id -u)" = 0 ] || t 'a folder that is not writable' says 3 'full' add.yaml -o full
mkdir -p taken/add.metal
t 'a directory in the way' whole 3 'taken/add.metal: cannot be written: Is a directory' add.yaml -o taken
t 'and nothing else written' test "$(ls taken)" = add.metal
t 'a file where a folder must be' whole 3 'add.yaml/deep: cannot be made: Not a directory' add.yaml -o add.yaml/deep
cp add.yaml add.metal
t 'never over an input' whole 3 'add.metal would overwrite add.metal, which this run reads' --format=yaml add.metal
t 'the input is whole' cmp add.yaml add.metal
ln -s add.yaml link.c
t 'never over an input, by another name' whole 3 'link.c would overwrite add.yaml, which this run reads' --emit-c=link.c add.yaml
t 'never twice' whole 3 'one.txt would be written twice' --emit-c=one.txt --emit-metal=one.txt add.yaml
t 'and not written' test ! -e one.txt
rm -f add.metal link.c
if [ -e /dev/full ]; then
  t 'standard output is full' test "$("$N" --emit-metal add.yaml 2>&1 > /dev/full)" = \
    'nuvecc: error: standard output: cannot be written: No space left on device'
fi

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
t '--explain=html' says 0 '</main></body></html>' --explain=html add.yaml
t '--explain=json' says 0 'nuvec-explain-1' --explain=json add.yaml
t '--stats' says 0 'kernels' --stats add.yaml
t '--stats=json' says 0 '"nuvec-stats-1"' --stats=json add.yaml
t 'explain and all files' says 0 'plus.y' --explain -o both add.yaml
t 'all files are there' test -f both/add.nuvec.json
t '--time-passes' says 0 'simplify' --time-passes -o out add.yaml

# ---- standard input ----
t 'standard input' test "$("$N" --format=yaml --emit-metal - < add.yaml)" = "$(cat out/deep/add.metal)"
t 'standard input needs a form' whole 2 '-: is it JSON or YAML? end the name in .json or .yaml, or say --format' - < add.yaml
sed /name:/d add.yaml > nameless.yaml
t 'standard input needs a name' whole 2 "standard input has no name: give the spec a 'name', or use --prefix" --format=yaml - < nameless.yaml
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
sed 's/b: "float32\[4\]"/b: "float32[4]", c: "float32[4]"/' add.yaml > unused.yaml
t 'the caret' test "$("$N" wrong.yaml 2>&1 | tail -2)" = "$(printf '      - y = a + c\n                ^')"
t '--diagnostics=json' sh -c "$N --diagnostics=json wrong.yaml 2>&1 | python3 -c 'import json, sys; d = json.load(sys.stdin); e = d[\"diagnostics\"][-1]; assert d[\"format\"] == \"nuvec-diagnostics-1\" and (e[\"line\"], e[\"column\"], e[\"severity\"], e[\"file\"]) == (7, 17, \"error\", \"wrong.yaml\")'"
t '--diagnostics=json of a right spec' sh -c "$N --diagnostics=json -fsyntax-only add.yaml 2>&1 | python3 -c 'import json, sys; assert json.load(sys.stdin)[\"diagnostics\"] == []'"
t '-Werror says so' says 1 '^unused.yaml: error: warnings are errors here$' -Werror -fsyntax-only unused.yaml
json() { # status, what must hold of the parsed diagnostics d, arguments of nuvecc: nothing but JSON is said
  want=$1 test=$2
  shift 2
  "$N" --diagnostics=json "$@" > json.out 2> json.err
  got=$?
  [ "$got" = "$want" ] || { echo "exit status $got, wanted $want"; return 1; }
  python3 -c "import json; x = json.load(open('json.err')); d = x['diagnostics']; assert x['format'] == 'nuvec-diagnostics-1'; assert $test, d"
}
t 'JSON: a file that is not there' json 3 \
  "d == [{'severity': 'error', 'file': 'nuvecc', 'text': 'none.yaml: cannot be read: No such file or directory'}]" none.yaml
t 'JSON: an entry that is not there' json 2 "d[-1]['text'] == \"no entry is named 'sub'\"" --entry=sub add.yaml
t 'JSON: a wrong value' json 2 "d[-1]['text'] == \"--color takes auto, always or never, not 'no'\"" --color=no add.yaml
t 'JSON: two texts' json 2 "'standard output' in d[-1]['text']" --emit-metal --emit-c add.yaml
t 'JSON: warnings' json 0 "[x['severity'] for x in d] == ['warning']" -fsyntax-only unused.yaml
t 'JSON: warnings as errors' json 1 "[x['severity'] for x in d] == ['warning', 'error'] and 'line' not in d[1]" -Werror -fsyntax-only unused.yaml
t '--color=always' sh -c "$N --color=always wrong.yaml 2>&1 | grep -q '\\[1;31m'"
t '--color=never' sh -c "! $N --color=never wrong.yaml 2>&1 | grep -q '\\[1'"
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
t 'no inputs' whole 3 'none.json: cannot be read: No such file or directory' --eval=none.json add.yaml
echo '{"a": [1, 2, 3, 4], "b": [0, 0, 0, 0]}' > in.json
t 'a signature that is no number' whole 2 "--signature takes a number, not '-1'" --eval=in.json --signature=-1 add.yaml
t 'a signature that is not there' whole 2 'the entry has no signature number 1' --eval=in.json --signature=1 add.yaml
sed 's/^  plus:/  minus: {inputs: {a: float32}, outputs: -a}\n  plus:/' add.yaml > two.yaml
t 'several entries' whole 2 'the spec has several entries: say which with --entry' --eval=in.json two.yaml
t 'one of several' test "$("$N" --eval=in.json --entry=plus two.yaml | tr -d ' \n')" = '{"y":[1.0,2.0,3.0,4.0]}'

echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
