#!/bin/sh
# deps.sh build|check - sees to it that what the build (or the tests, too) needs is installed. As root with apt it
# installs what is missing; elsewhere it prints the one command that does.
set -u
what=${1:-build}
CC=${CC:-cc}

missing=
need() { # a debian package, a brew formula ("-": part of the system), a test that succeeds where it is installed
  deb=$1 brew=$2
  shift 2
  if ! "$@" > /dev/null 2>&1; then
    missing="$missing $deb"
    [ "$brew" = - ] || formulas="${formulas:-} $brew"
  fi
}
header() { printf '#include <stddef.h>\n#include <stdarg.h>\n#include <setjmp.h>\n#include <stdint.h>\n#include <%s>\n' "$1" \
  | $CC $(pkg-config --cflags yaml-0.1 jansson cmocka 2> /dev/null) -E -x c - ; }
clang_rt() { [ -e "$(clang-19 -print-file-name=libclang_rt.asan-x86_64.a)" ] || [ -d /usr/lib/clang/19/lib ] ||
  [ "$(uname)" = Darwin ]; }
python_() { python3 -c "import $1" || /usr/bin/python3 -c "import $1"; }
clang_() { command -v clang-19 || [ "$(uname)" = Darwin ]; }

probe() {
  missing=
  formulas=
  need gcc - command -v "$CC"
  need libc6-dev - header stdio.h
  need pkg-config pkg-config command -v pkg-config
  need libyaml-dev libyaml header yaml.h
  need libjansson-dev jansson header jansson.h
  if [ "$what" = check ]; then
    need libcmocka-dev cmocka header cmocka.h
    need g++ - command -v g++
    need clang-19 - clang_
    need libclang-rt-19-dev - clang_rt
    need python3 python3 command -v python3
    [ "$(uname)" = Darwin ] || need python3-yaml - python_ yaml
    [ "$(uname)" = Darwin ] || need python3-jsonschema - python_ jsonschema
    [ "$(uname)" = Darwin ] || need mandoc - command -v mandoc
  fi
}

probe
[ -z "$missing" ] && exit 0
if command -v apt-get > /dev/null; then
  if [ "$(id -u)" = 0 ]; then
    echo "installing:$missing"
    { apt-get update -q && DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends $missing; } \
      > /tmp/nuvecc-deps.$$ 2>&1 || { cat /tmp/nuvecc-deps.$$; rm -f /tmp/nuvecc-deps.$$; exit 1; }
    rm -f /tmp/nuvecc-deps.$$
    probe
    [ -z "$missing" ] && exit 0
    echo "still missing after the installation:$missing"
    exit 1
  fi
  echo "missing packages; install them with:"
  echo "  sudo apt-get install --no-install-recommends$missing"
elif command -v brew > /dev/null; then
  echo "missing packages; install them with:"
  echo "  brew install$formulas"
else
  echo "missing (Debian's names):$missing"
fi
exit 1
