#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# sanitizer-check.sh SRCDIR TARGET KIND: configure a build tree named _TARGET with the sanitizer and run its tests.
set -e
srcdir=$1 tree=_$2 kind=$3
mkdir -p "$tree"
cd "$tree"
test -f Makefile || "$srcdir/configure" -q --disable-static --with-cuda=no --enable-sanitizer="$kind" CFLAGS='-O1 -g'
export ASAN_OPTIONS=detect_leaks=1:allocator_may_return_null=1 TSAN_OPTIONS=halt_on_error=1:allocator_may_return_null=1:suppressions=$srcdir/build-aux/tsan.supp UBSAN_OPTIONS=print_stacktrace=1
${MAKE:-make} check
