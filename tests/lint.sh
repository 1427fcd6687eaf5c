#!/bin/sh
# lint.sh - clang-tidy (.clang-tidy) and cppcheck (tests/cppcheck.txt) over lib and cli; part of make check-long.
cd "$(dirname "$0")/.." || exit 2
passed=0
failed=0
files=$(ls lib/*.c lib/*/*.c cli/*.c)
if command -v clang-tidy > /dev/null; then
  out=$(echo "$files" | xargs -P2 -n6 sh -c 'clang-tidy -quiet "$@" -- -std=c11 -D_XOPEN_SOURCE=700 -Ilib 2> /dev/null' x)
  if echo "$out" | grep -qE '(error|warning):'; then
    failed=$((failed + 1))
    echo "$out" | head -60
  else
    passed=$((passed + 1))
  fi
else
  echo 'clang-tidy is not installed: not run'
fi
if command -v cppcheck > /dev/null; then
  if out=$(cppcheck -q -j2 --std=c11 --error-exitcode=1 --enable=warning,portability --inline-suppr -D_XOPEN_SOURCE=700 \
      --suppressions-list=tests/cppcheck.txt $files 2>&1); then
    passed=$((passed + 1))
  else
    failed=$((failed + 1))
    echo "$out" | head -60
  fi
else
  echo 'cppcheck is not installed: not run'
fi
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
