# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# shellcheck shell=sh
# Sourced before every test (AM_TESTS_ENVIRONMENT): takes away the variables by which the caller's environment would turn ndock or
# the interpreter. Those that say how much is tested, or with which data, are the caller's to set, and stay.
for variable in $(env | sed -n 's/^\(NDOCK_[A-Za-z0-9_]*\)=.*/\1/p'); do
    case $variable in
        NDOCK_TEST_SLICE | NDOCK_TEST_THREADED | NDOCK_TEST_LONG | NDOCK_TEST_BREAKS | NDOCK_TEST_PROGRAMS) ;;
        NDOCK_CONFORM_COUNT | NDOCK_CONFORM_SEED | NDOCK_MEMORY_OPS | NDOCK_KILLS | NDOCK_FASHION_DATA) ;;
        NDOCK_SANITIZER_LINES | NDOCK_SANITIZER_SECONDS | NDOCK_SANITIZER_SLICE) ;;
        *) unset "$variable" ;;
    esac
done
unset variable
# Python's -O leaves out every assertion of the tests; CUDA's variable makes every launch wait, as NDOCK_LAUNCH_BLOCKING does.
unset PYTHONOPTIMIZE PYTHONINSPECT PYTHONSAFEPATH PYTHONWARNINGS CUDA_LAUNCH_BLOCKING
