#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# The conformance suite on a CUDA device, nothing staged through the CPU but what the plug-in is known to lack, linear algebra, which
# fails here as soon as it has kernels.
. "$srcdir/tests/tap.sh"
. "$srcdir/tests/cuda/device.sh"

lacking=cholesky,lu,qr,solve_triangular,solve,lu_solve,eigh,eig,svd,singular

conform() {
    NDOCK_FALLBACK=error NDOCK_CONFORM_COUNT=${NDOCK_CONFORM_COUNT:-100} ./tests/conform/conform.t cuda:0 --staged "$lacking" >"$tap_dir/log" 2>&1
    status=$?
    grep -v '^ok ' "$tap_dir/log"
    [ $status = 0 ] && [ "$(grep -c '^ok ' "$tap_dir/log")" -gt 150 ]
}

need_cuda 'F8 the conformance suite on cuda:0'
check 'F8 the conformance suite on cuda:0' conform
finish
