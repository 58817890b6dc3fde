#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# ndock's conformance kit below the library: loading, memory, streams, threads, process.
. "$srcdir/tests/tap.sh"
. "$srcdir/tests/env.sh"

group() {
    "$kit/conform-abi" --group "$1" --with "$NDOCK_PLUGINDIR/ndock-cpu.so" "$plugin" >"$tap_dir/log" 2>&1
    status=$?
    cat "$tap_dir/log"
    [ $status = 0 ] && ! grep -q '^not ok' "$tap_dir/log"
}

reason=$(lacks_device)
[ -n "$reason" ] || [ -x "$kit/conform-abi" ] || reason="$kit/conform-abi is not installed"
for letter in B C E F G; do
    if [ -n "$reason" ]; then
        skip "group $letter" "$reason"
    else
        check "group $letter of the conformance kit" group $letter
    fi
done
finish
