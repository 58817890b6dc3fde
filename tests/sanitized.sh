#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# sanitized.sh TEST...: those of the tests that say something under a sanitizer. The others measure or provoke what the sanitizer
# itself changes; each with its reason. A slice (NDOCK_TEST_SLICE=1) leaves out as well what others have run already.
for test; do
  case $test in
    tests/unit/handles.t) ;;             # names callers by their frames, between which the sanitizer's functions lie
    tests/hook/check.t) ;;               # how much the heap grows is the sanitizer's
    tests/comm/mpi.sh) ;;                # compiled by mpicc, without the sanitizer, and Open MPI leaks of its own
    tests/python/test_lifecycle.py) ;;   # a child forked beside the sanitizer's threads may wait for ever
    tests/python/test_examples.py) ;;    # trains, for minutes
    tests/python/test_dlpack.py) ;;      # looks at addresses of empty blocks
    *) echo "$test" ;;
  esac
done
