#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# The first real job on a CUDA device: the same bits twice, and the loss of the CPU.
. "$srcdir/tests/tap.sh"
. "$srcdir/tests/cuda/device.sh"
data=${NDOCK_FASHION_DATA:-/usr/share/datasets/fashion-mnist}

# train NAME DEVICE [OPTION...]
train() {
    name=$1 device=$2
    shift 2
    NDOCK_FALLBACK=error examples/fashion --device "$device" --data "$data" --epochs 1 --save "$tap_dir/$name" "$@" >"$tap_dir/$name.log"
}
same_bits() { cmp "$tap_dir/first" "$tap_dir/$1"; }
learnt() { awk '/^ +1  / { print; exit !($3 > 80 && $2 < 0.6) }' "$tap_dir/first.log"; }
# f32 sums in another order: over an epoch the difference grows to about 1e-4.
agrees() {
    awk '/^ +1  / { print; loss[n++] = $2 } END { d = loss[0] - loss[1]; exit !(n == 2 && d < 1e-3 && d > -1e-3) }' \
        "$tap_dir/first.log" "$tap_dir/cpu.log"
}

need_cuda 'Fashion-MNIST on cuda:0'
if [ ! -e "$data/train-images-idx3-ubyte.gz" ] && [ ! -e "$data/train-images-idx3-ubyte" ]; then
    skip 'Fashion-MNIST on cuda:0' "no $data (Debian: dataset-fashion-mnist)"
    finish
fi
check 'an epoch of training, nothing staged' train first cuda:0
check 'it has learnt' learnt
check 'again' train again cuda:0
check 'the same bits again' same_bits again
check 'on four streams' train streams cuda:0 --streams 4
check 'the same bits on four streams' same_bits streams
check 'on the CPU' train cpu cpu
check 'the loss of the CPU within 1e-3' agrees
finish
