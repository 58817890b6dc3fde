#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# fuzz.sh SRCDIR SOURCE...: builds the core and every fuzz target with libFuzzer and the address and
# undefined-behaviour sanitizers, and runs the targets one after the other. What it builds and finds
# stays in _fuzz/ of the build tree; a crash ends it with the input's name.
set -eu
srcdir=$1
shift
cc=${FUZZ_CC:-clang}
command -v "$cc" >/dev/null || {
  echo "fuzz: $cc not found; install clang, or name one with make fuzz FUZZ_CC=..." >&2
  exit 1
}
mkdir -p _fuzz
compile() { # OBJECT SOURCE SANITIZER
  "$cc" -std=gnu11 -g -O1 -fsanitize="$3,address,undefined" -fno-sanitize-recover=undefined \
    -DND_PLUGINDIR='"/nonexistent"' -DND_CONFDIR='"/nonexistent"' \
    -DND_LIBDIR='"/nonexistent"' -DND_LIBEXECDIR='"/nonexistent"' -DPACKAGE_VERSION='"fuzz"' $FUZZ_FLAGS -c "$2" -o "$1"
}
objects=
for source; do
  case $source in *.c) ;; *) continue ;; esac
  object=_fuzz/$(echo "$source" | tr / -).o
  test "$object" -nt "$srcdir/$source" || compile "$object" "$srcdir/$source" fuzzer-no-link
  objects="$objects $object"
done
for name in $FUZZ_TARGETS; do
  compile "_fuzz/$name.o" "$srcdir/tests/fuzz/fuzz_$name.c" fuzzer-no-link
  "$cc" -fsanitize=fuzzer,address,undefined "_fuzz/$name.o" $objects -o "_fuzz/$name" \
    -ldl -lm -lpthread
done
# A request for more memory than there is is refused, as everywhere else.
export ASAN_OPTIONS=allocator_may_return_null=1
for name in $FUZZ_TARGETS; do
  mkdir -p "_fuzz/corpus-$name"
  echo "fuzz: $name, $FUZZ_SECONDS s"
  "_fuzz/$name" -max_total_time="$FUZZ_SECONDS" -max_len=4096 -timeout=10 -rss_limit_mb=1024 \
    -print_final_stats=1 -verbosity=0 -artifact_prefix="_fuzz/$name-" \
    "_fuzz/corpus-$name" "$srcdir/tests/fuzz/seeds/$name"
done
