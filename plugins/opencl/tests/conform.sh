#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# ndock's conformance suite on opencl:0: every operation that the plug-in claims, nothing staged. NDOCK_CONFORM_COUNT random
# cases of each (4: a slice; a whole run has 300), NDOCK_CONFORM_ONLY instead of the slice's operations ("all": every one).
. "$srcdir/tests/tap.sh"
. "$srcdir/tests/env.sh"
NDOCK_OPENCL_BINARIES=0 # each kernel runs in this process alone
export NDOCK_OPENCL_BINARIES
slice=add,divide,floor_divide,pow,bitwise_left_shift,equal,maximum,exp,sin,sqrt,gelu,isnan,where,clip,fma,copy,fill,iota
slice=$slice,sum,mean,min,var,any,logsumexp,argmax,cumulative_sum,softmax,log_softmax,layer_norm,matmul,take,gather,scatter
slice=$slice,scatter_add,sort,argsort,topk,searchsorted,random_uniform,random_normal,random_integers
only=${NDOCK_CONFORM_ONLY:-$slice}

operations() {
    set -- --count "${NDOCK_CONFORM_COUNT:-4}"
    [ "$only" = all ] || set -- "$@" --only "$only"
    NDOCK_FALLBACK=error "$kit/conform-ops" opencl:0 "$@" >"$tap_dir/log" 2>&1
    status=$?
    grep -v '^ok ' "$tap_dir/log"
    [ $status = 0 ] && [ "$(grep -c '^ok ' "$tap_dir/log")" -ge 1 ]
}

reason=$(lacks_device)
[ -n "$reason" ] || [ -x "$kit/conform-ops" ] || reason="$kit/conform-ops is not installed"
if [ -n "$reason" ]; then
    skip 'operations' "$reason"
else
    check 'operations are those of the op table' operations
fi
finish
