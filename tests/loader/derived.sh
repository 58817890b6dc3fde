#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# What a device lacks is derived from what it has, without the CPU: staging is forbidden here. Kernels that want dense operands (tier1),
# or refuse negative strides (upward), strides of zero (whole) or both, get operands without them.
. "$srcdir/tests/tap.sh"
for name in tier1 upward whole both; do
    NDOCK_PLUGIN_PATH=$PWD/tests/loader/.libs/ndock-$name.so:$NDOCK_PLUGIN_PATH
done
export NDOCK_PLUGIN_PATH

conform() { # device operation
    NDOCK_CONFORM_COUNT=60 ./tests/conform/conform.t "$1" --only "$2" >"$tap_dir/log" 2>&1
    status=$?
    grep '^#' "$tap_dir/log"
    [ $status = 0 ] && grep -q "^ok 1 - $2 on $1" "$tap_dir/log"
}

for op in multiply subtract divide maximum less fill copy square relu logical_not greater greater_equal not_equal clip; do
    check "$op on tier1" conform tier1 $op
done
for device in upward whole both; do
    for op in multiply subtract less fill copy relu clip; do
        check "$op on $device" conform $device $op
    done
done
finish
