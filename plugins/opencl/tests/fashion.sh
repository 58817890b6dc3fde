#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# The Fashion-MNIST job of ndock's examples on opencl:0 with nothing staged: one pass over the images, or with
# NDOCK_FASHION_EPOCHS=10 the whole run, which reaches 88.5 %. NDOCK_FASHION names its program or its folder of sources.
. "$srcdir/tests/tap.sh"
. "$srcdir/tests/env.sh"
epochs=${NDOCK_FASHION_EPOCHS:-1}
data=${NDOCK_FASHION_DATA:-/usr/share/datasets/fashion-mnist}
least=80
[ "$epochs" -lt 10 ] || least=88.5

build_program() {
    $CC -O2 -I"$NDOCK_FASHION" $NDOCK_CFLAGS -o "$tap_dir/fashion" "$NDOCK_FASHION/fashion.c" $NDOCK_LIBS -lm
}
trains() {
    NDOCK_FALLBACK=error "$program" --device opencl:0 --epochs "$epochs" --data "$data" --save "$tap_dir/weights" \
        >"$tap_dir/log" 2>&1
    status=$?
    head -20 "$tap_dir/log"
    [ $status = 0 ] && awk -v least="$least" '/test images right/ { found = $2 >= least } END { exit !found }' "$tap_dir/log"
}

reason=$(lacks_device)
[ -n "$reason" ] || [ -n "$NDOCK_FASHION" ] || reason='NDOCK_FASHION does not say where examples/fashion.c is'
[ -n "$reason" ] || [ -d "$data" ] || reason="no data in $data"
if [ -n "$reason" ]; then
    skip 'Fashion-MNIST' "$reason"
    finish
fi
program=$NDOCK_FASHION
if [ -d "$NDOCK_FASHION" ]; then
    program=$tap_dir/fashion
    check 'the job compiles against the installed ndock' build_program
fi
check "epochs: $epochs, at least $least % of the test images right, nothing staged" trains
finish
