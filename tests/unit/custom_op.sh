# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# examples/custom_op: the CPU form, the same staged on the simulated device, and the CUDA form where there is a GPU.
. "$srcdir/tests/tap.sh"
. "$srcdir/tests/cuda/device.sh"

on() { examples/custom_op --device "$@" >"$tap_dir/out" 2>&1; }
agrees() { on "$@"; status=$?; cat "$tap_dir/out"; [ $status = 0 ] && grep -q 'all results agree' "$tap_dir/out"; }
own_form() { NDOCK_FALLBACK=error agrees "$1" && grep -q 'its own form, 0 calls staged' "$tap_dir/out"; }
staged() { agrees sim:0 && grep -q "the CPU's form, [1-9][0-9]* calls staged" "$tap_dir/out"; }
refused() {
    NDOCK_FALLBACK=error on sim:0
    [ $? = 1 ] && grep 'fused_silu.*NDOCK_FALLBACK=error' "$tap_dir/out"
}
usage() { on cpu --bad; [ $? = 2 ]; }

check 'on the CPU' own_form cpu
check 'staged on sim:0, and counted' staged
check 'which NDOCK_FALLBACK=error refuses' refused
check 'an unknown option ends with status 2' usage
need_cuda 'on cuda:0, by its own kernels'
check 'on cuda:0, by its own kernels' own_form cuda:0
finish
