#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# ndock's conformance suite on opencl:0, nothing staged: a slice of the operations, since each kernel is compiled once. Case i
# of an operation has its i-th dtype. NDOCK_CONFORM_COUNT=100 (say) runs the whole kit instead, with so many cases of each
# operation: minutes.
. "$srcdir/tests/tap.sh"
. "$srcdir/tests/env.sh"
NDOCK_OPENCL_BINARIES=0 # each kernel runs in this process alone
export NDOCK_OPENCL_BINARIES

# operations COUNT [NAME,...]: nothing is staged, unless $fallback is allow.
operations() {
    count=$1 only=$2
    set -- --count "$count"
    [ -z "$only" ] || set -- "$@" --only "$only"
    NDOCK_CONFORM_FALLBACK=${fallback:-error} "$kit/conform-ops" opencl:0 "$@" >"$tap_dir/log" 2>&1
    status=$?
    grep -v '^ok ' "$tap_dir/log"
    [ $status = 0 ] && [ "$(grep -c '^ok ' "$tap_dir/log")" -ge 1 ]
}

reason=$(lacks_device)
[ -n "$reason" ] || [ -x "$kit/conform-ops" ] || reason="$kit/conform-ops is not installed"
if [ -n "$reason" ]; then
    skip 'operations' "$reason"
elif [ -n "$NDOCK_CONFORM_COUNT" ]; then
    check "the whole kit, $NDOCK_CONFORM_COUNT cases of each operation" \
        "$ndock" conform --tier 2 --count "$NDOCK_CONFORM_COUNT" "$plugin"
else
    check 'operations on floating dtypes' operations 6 divide,exp,sin,gelu,log_softmax
    check 'operations on every dtype' operations 15 sum,where
    fallback=allow
    check 'copies, where those of 8-bit floats are made by the CPU' operations 4 copy
    fallback=
    check 'expressions as one kernel' operations 2 fused
    check 'the other classes' operations 4 fma,max,var,argmax,cumulative_sum,layer_norm,take,scatter_add,matmul,topk,random_uniform
fi
finish
