#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# sanitizer-check.sh SRCDIR TARGET KIND [GOAL...]: configure a build tree named _TARGET with the sanitizer and make the goals in it:
# its tests that say something there (check-sanitized), if none is given.
set -e
srcdir=$1 tree=_$2 kind=$3
shift 3
[ $# != 0 ] || set -- check-sanitized
mkdir -p "$tree"
cd "$tree"
# Reports show lines and the names of functions; without more of it, and without vectorised loops, the kernels take a third less time,
# and a quarter less again than at -O1 by what debugging allows, which takes nothing away that a sanitizer could see.
# Without optimisation they compile in two thirds of the time, and the tests take twice as long below the address sanitizer.
# Threads meet in the same places whatever the instructions, and a slice has those of the baseline alone.
variants=; [ "$kind" != thread ] && [ -z "$NDOCK_TEST_SLICE" ] || variants=--disable-cpu-variants
test -f Makefile || "$srcdir/configure" -q --disable-static --with-cuda=no --enable-sanitizer="$kind" $variants CFLAGS='-Og -g1 -fno-tree-vectorize'
# What the thread sanitizer cannot find anything in, a slice leaves out: cases of one thread.
[ "$kind" != thread ] || [ -z "$NDOCK_TEST_SLICE" ] || export NDOCK_TEST_THREADED=1
export ASAN_OPTIONS=detect_leaks=1:allocator_may_return_null=1 TSAN_OPTIONS=halt_on_error=1:allocator_may_return_null=1:suppressions=$srcdir/build-aux/tsan.supp UBSAN_OPTIONS=print_stacktrace=1
for goal; do
  ${MAKE:-make} "$goal"
done
