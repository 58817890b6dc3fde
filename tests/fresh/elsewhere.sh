#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# elsewhere.sh TEST...: those of the tests whose answer can be another one on another machine, of the same release, that compiles the
# same files by the same compiler with the same flags. The others compute values, look at sources, or at what the kit says of plug-ins
# that are broken in one way: these run where the cache was filled, and a machine that has the cache leaves them out in a slice.
for test; do
  case $test in
    tests/broken/* | tests/change/* | tests/layers/* | tests/fft/* | tests/ops/* | tests/fuzz/*) ;;
    tests/conform/conform.t) echo "$test" ;; # one of each kind
    tests/python/test_fft.py | tests/python/test_linalg.py | tests/python/test_nn.py) echo "$test" ;;
    tests/conform/* | tests/unit/fashion.sh | tests/unit/convnet.sh | tests/unit/special.t) ;;
    tests/abi/run.sh | tests/kit/static.sh | tests/kit/operations.sh | tests/python/test_leaks.py) ;;
    tests/python/test_calculus.py | tests/python/test_decompositions.py | tests/python/test_distributions.py) ;;
    tests/python/test_editing.py | tests/python/test_einsum.py | tests/python/test_fuse_words.py | tests/python/test_histogram.py | tests/python/test_index.py) ;;
    tests/python/test_kernel_reductions.py | tests/python/test_linalg_*.py | tests/python/test_long_lines.py | tests/python/test_math.py) ;;
    tests/python/test_manipulation.py | tests/python/test_nn_*.py | tests/python/test_needle*.py | tests/python/test_norms.py) ;;
    tests/python/test_products.py | tests/python/test_quantile.py | tests/python/test_quantized.py | tests/python/test_random.py) ;;
    tests/python/test_reduce_shapes.py | tests/python/test_selection.py | tests/python/test_signal.py) ;;
    tests/python/test_sorting.py | tests/python/test_special*.py | tests/python/test_stacking.py | tests/python/test_statistics.py) ;;
    tests/python/test_threads.py) ;;
    *) echo "$test" ;;
  esac
done
