#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# threaded.sh SRCDIR TEST...: those of the tests in which threads meet, which are what the thread sanitizer can find something in:
# whatever starts threads, or works with streams of the simulated device, which have a thread each.
srcdir=$1
shift
for test; do
  source=$srcdir/${test%.t}.c
  case $test in
    tests/stream/*.t | tests/sim/*.t | tests/allocators/*.t | tests/memory/*.t | tests/interop/*.t | tests/cache/*.t) echo "$test" ;;
    tests/hook/*.t | tests/loader/*.t) echo "$test" ;;
    *.t) ! grep -qsE 'pthread_create|"sim:' "$source" || echo "$test" ;;
    *.py) ! grep -qsE 'threading|nd\.Stream\(' "$srcdir/$test" || echo "$test" ;;
  esac
done
