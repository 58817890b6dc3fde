#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# The conformance suite on the simulated device: running by itself and stepped, one device and the last of four.
. "$srcdir/tests/tap.sh"

conform() { # mode devices device
    NDOCK_SIM_MODE=$1 NDOCK_SIM_DEVICES=$2 NDOCK_FALLBACK=error NDOCK_CONFORM_COUNT=${NDOCK_CONFORM_COUNT:-12} \
        ./tests/conform/conform.t "$3" >"$tap_dir/log" 2>&1
    status=$?
    grep -v '^ok ' "$tap_dir/log"
    [ $status = 0 ] && [ "$(grep -c '^ok ' "$tap_dir/log")" -gt 150 ]
}

check 'one device, running by itself' conform auto 1 sim:0
if [ -z "$NDOCK_TEST_SLICE" ]; then
    check 'one device, stepped' conform stepped 1 sim:0
    check 'the last of four devices, running by itself' conform auto 4 sim:3
fi
check 'the last of four devices, stepped' conform stepped 4 sim:3
lists_a_kernel() {
    ! ./tests/conform/conform.t cpu --only add --count 1 --staged multiply,add >"$tap_dir/log" 2>&1 && grep 'the device has kernels of add' "$tap_dir/log"
}
check 'what a device is said to lack, and has' lists_a_kernel
finish
