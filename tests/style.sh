#!/bin/sh
# style.sh - what can be checked of the sources without running them: every C file is warning-free with gcc and clang,
# lines under 120 columns, files under 900 lines, no machine paths, no mutable state in the library.
cd "$(dirname "$0")/.." || exit 2
passed=0
failed=0
ok() { passed=$((passed + 1)); }
bad() { failed=$((failed + 1)); echo "FAILED $1"; }
check() { # name, command...: no output, status 0
  name=$1
  shift
  out=$("$@" 2>&1)
  if [ $? = 0 ] && [ -z "$out" ]; then ok; else bad "$name"; echo "$out" | head -40; fi
}
WARN='-std=c11 -D_XOPEN_SOURCE=700 -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror -fsyntax-only'
FLAGS=$(pkg-config --cflags yaml-0.1 jansson cmocka 2> /dev/null)
ours() { git ls-files "$@" 2> /dev/null || find . -path ./build -prune -o -type f -print | sed 's,^\./,,'; }

"$BUILD/nuvecc" specs/tonemap.yaml -o "$BUILD/style" || bad 'no header for tools/demo_tonemap.c'
for cc in gcc clang-19 clang; do
  command -v $cc > /dev/null || continue
  for f in lib/*.c lib/*/*.c cli/*.c tools/*.c tests/*.c tests/hostrun/*.c tests/unit/*.c bench/*.c; do
    [ -e "$f" ] && check "$cc $f" $cc $WARN $FLAGS -Ilib -Itests/unit -I"$BUILD/style" "$f"
  done
  [ $cc = clang-19 ] && break
done

long=$(ours | grep -E '\.(c|h|inc|metal|mk)$|^Makefile$' | python3 -c 'import os, sys
for f in sys.stdin.read().split():
    for n, line in enumerate(open(f, encoding="utf-8"), 1) if os.path.exists(f) else ():
        if len(line.rstrip("\n")) > 120: print("%s:%d: %d columns" % (f, n, len(line) - 1))')
if [ -z "$long" ]; then ok; else bad 'lines over 120 columns'; echo "$long" | head -20; fi
big=$(ours | grep -E '\.(c|h|py|sh)$' | grep -v '^tests/vectors/' | while read -r f; do
  [ -f "$f" ] && n=$(wc -l < "$f") && [ "$n" -gt 900 ] && echo "$f: $n lines"; done)
if [ -z "$big" ]; then ok; else bad 'files over 900 lines'; echo "$big"; fi
marks=$(ours | grep -vE '^tests/(corpus|vectors|style\.sh)' | while read -r f; do
  [ -f "$f" ] && grep -HnE '\b(TODO|FIXME|XXX)\b|/home/|/root/|/work/' "$f"; done)
if [ -z "$marks" ]; then ok; else bad 'marks or machine paths'; echo "$marks" | head -20; fi
data=$(size -A "$BUILD/libnuvec.a" 2> /dev/null | awk '/\.o /{ f = $1 } /^\.(data|bss) / && $2 > 0 { print f " " $1 " " $2 }')
if [ -z "$data" ]; then ok; else bad 'mutable data in the library'; echo "$data"; fi
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
