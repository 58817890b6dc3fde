#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# The conformance suite on a CUDA device, nothing staged through the CPU.
. "$srcdir/tests/tap.sh"
. "$srcdir/tests/cuda/device.sh"

# The names of what failed first, since the lines that are shown have an end.
conform() {
    NDOCK_FALLBACK=error NDOCK_CONFORM_COUNT=${NDOCK_CONFORM_COUNT:-100} ./tests/conform/conform.t cuda:0 >"$tap_dir/log" 2>&1
    status=$?
    grep '^not ok ' "$tap_dir/log"
    grep -vE '^(not )?ok ' "$tap_dir/log"
    [ $status = 0 ] && [ "$(grep -c '^ok ' "$tap_dir/log")" -gt 150 ]
}

# Case 47: bf16 in groups of four channels, of which an engine of cuDNN gave 7.5 for 7.71.
narrow_groups() {
    NDOCK_FALLBACK=error NDOCK_CONFORM_COUNT=60 ./tests/conform/conform.t cuda:0 --only conv_transpose --seed 2 >"$tap_dir/log" 2>&1
    status=$?
    grep -vE '^ok ' "$tap_dir/log"
    return $status
}

need_cuda 'F8 the conformance suite on cuda:0'
check 'F8 the conformance suite on cuda:0' conform
check 'sums of groups of few channels in bf16' narrow_groups
finish
