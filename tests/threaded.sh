#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# threaded.sh SRCDIR TEST...: those of the tests in which threads meet, which are what the thread sanitizer can find something in:
# whatever starts threads, or works with streams of the simulated device, which have a thread each. Most of tests/memory and tests/cache
# are one thread on a pretended device.
srcdir=$1
shift
for test; do
  source=$srcdir/${test%.t}.c
  case $test in
    tests/stream/*.t | tests/sim/*.t | tests/allocators/*.t | tests/interop/*.t) echo "$test" ;;
    tests/hook/*.t | tests/loader/*.t) echo "$test" ;;
    tests/memory/*.t | tests/cache/*.t) ! grep -qsE 'pthread_create|"sim|nd_device_get' "$source" || echo "$test" ;;
    *.t) ! grep -qsE 'pthread_create|"sim:|open_sim|comm/team.h' "$source" || echo "$test" ;;
    *.py) ! grep -qsE 'threading|nd\.Stream\(' "$srcdir/$test" || echo "$test" ;;
  esac
done
