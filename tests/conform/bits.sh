#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# The same bits on any number of threads, at every SIMD level, and in every run. NDOCK_BITS names the program.
. "$srcdir/tests/tap.sh"
program=${NDOCK_BITS:-tests/conform/bits}
NDOCK_DEVICE=cpu
NDOCK_CPU_BLAS=own
NDOCK_CPU_LAPACK=own
export NDOCK_DEVICE NDOCK_CPU_BLAS NDOCK_CPU_LAPACK
unset NDOCK_NUM_THREADS NDOCK_CPU_NUM_THREADS OMP_NUM_THREADS NDOCK_CPU_ISA

# bits NAME [VARIABLE=VALUE...]: the hashes of one run, in a file of that name.
bits() {
    name=$1
    shift
    env "$@" "$program" >"$tap_dir/$name"
}
same() {
    diff "$tap_dir/one" "$tap_dir/$1"
}
hashes() {
    [ "$(grep -c '[0-9a-f]\{16\}$' "$tap_dir/one")" -ge 160 ]
}

check "runs with one thread" bits one NDOCK_NUM_THREADS=1
check "gives a hash for every operation" hashes
if [ -z "$NDOCK_TEST_SLICE" ]; then
    check "runs with two threads" bits two NDOCK_NUM_THREADS=2
    check "two threads: the same bits" same two
    check "runs with four threads" bits four NDOCK_NUM_THREADS=4
    check "four threads: the same bits" same four
fi
check "runs with OMP_NUM_THREADS" bits omp OMP_NUM_THREADS=6
check "OMP_NUM_THREADS=6: the same bits" same omp
# Another run of as many threads as before, too.
check "runs at the lowest SIMD level" bits baseline NDOCK_CPU_ISA=baseline NDOCK_NUM_THREADS=4
check "lowest SIMD level: the same bits" same baseline
# Where the processor has AVX-512 VNNI, products of quantised arrays had it above.
check "runs with AVX-512 at most" bits avx512 NDOCK_CPU_ISA=avx512
check "AVX-512 at most: the same bits" same avx512
finish
