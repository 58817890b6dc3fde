#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# sanitized.sh TEST...: those of the tests that say something under a sanitizer. The others measure or provoke what the sanitizer
# itself changes; each with its reason. A slice (NDOCK_TEST_SLICE=1) leaves out as well what others have run already.
# What a slice leaves out (NDOCK_TEST_SLICE=1): defects that `ndock conform` must find, and the comparison of bits, whose kernels run
# in tests/conform/conform.t; programs that train; and programs in Python about values, each of which costs seconds below a sanitizer
# while what they call runs in tests/conform, tests/calls and under the fuzzers.
repeated() {
  [ -n "$NDOCK_TEST_SLICE" ] || return 1
  case $1 in
    tests/kit/* | tests/broken/* | tests/abi/run.sh | tests/conform/bits.sh | tests/change/* | tests/layers/*) ;;
    tests/unit/jobs.sh | tests/unit/fashion.sh | tests/unit/convnet.sh | tests/unit/manpages.sh | tests/unit/symbols.sh) ;;
    bench/overlap.sh) ;; # what a measurement prints
    tests/fuzz/*.t | tests/fuzz/objects.py) ;; # check-fuzz, fuzz-calls and fuzz-python run them, for longer
    tests/allocators/whole.sh | tests/python/test_kernel_cache.py | tests/python/test_paths.py) ;;
    tests/python/test_calculus.py | tests/python/test_decompositions.py | tests/python/test_distributions.py | tests/python/test_docs.py) ;;
    tests/python/test_einsum.py | tests/python/test_fft.py | tests/python/test_fuse_words.py | tests/python/test_histogram.py) ;;
    tests/python/test_idioms.py | tests/python/test_long_lines.py | tests/python/test_threads.py) ;;
    tests/python/test_linalg*.py | tests/python/test_nn*.py | tests/python/test_needle*.py | tests/python/test_norms.py) ;;
    tests/python/test_package.py | tests/python/test_quantile.py | tests/python/test_readme.py | tests/python/test_selection.py) ;;
    tests/python/test_signal.py | tests/python/test_sorting.py | tests/python/test_special*.py | tests/python/test_stacking.py) ;;
    tests/python/test_statistics.py | tests/python/test_matrix.py | tests/ops/distributions.t) ;;
    tests/python/test_index.py | tests/python/test_manipulation.py | tests/python/test_reduce_shapes.py) ;;
    # What a compiler makes of sources, how memory grows, files that the fuzzers read and damage, and what interpreters of their own
    # say of settings.
    tests/python/test_kernel_sources.py | tests/python/test_kernel_reductions.py | tests/python/test_leaks.py | tests/python/test_npz.py) ;;
    tests/python/test_text_files.py | tests/python/test_device.py) ;;
    *) return 1 ;;
  esac
}

for test; do
  ! repeated "$test" || continue
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
