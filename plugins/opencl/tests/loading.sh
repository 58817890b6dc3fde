#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# What the file is: one symbol, a note, libc alone; what it says of a machine without a loader or driver; that it
# gives way to the CPU; that compiled kernels are kept.
. "$srcdir/tests/tap.sh"
. "$srcdir/tests/env.sh"

exports_one_symbol() {
    nm -D --defined-only "$plugin" | tee "$tap_dir/symbols"
    [ "$(wc -l <"$tap_dir/symbols")" = 1 ] && grep -q ' ndock_plugin_entry_0$' "$tap_dir/symbols"
}
links_libc_alone() {
    readelf -d "$plugin" >"$tap_dir/dynamic" && cat "$tap_dir/dynamic" || return
    ! grep NEEDED "$tap_dir/dynamic" | grep -Ev 'libc\.so|libdl\.so|libpthread\.so|ld-linux'
}
stays_loaded() {
    readelf -d "$plugin" | grep FLAGS_1 | tee "$tap_dir/flags"
    grep -q NODELETE "$tap_dir/flags" && grep -q NOW "$tap_dir/flags"
}
has_note() {
    readelf -n "$plugin" | tee "$tap_dir/note"
    grep -q '\.note\.ndock' "$tap_dir/note"
}
# says TEXT: `ndock info` has TEXT as the reason why there is no opencl:0.
says() {
    "$ndock" info >"$tap_dir/said" 2>&1
    cat "$tap_dir/said"
    grep -q "$1" "$tap_dir/said" && ! grep -q 'opencl:0' "$tap_dir/said"
}
without_driver() (
    mkdir -p "$tap_dir/vendors"
    OCL_ICD_VENDORS=$tap_dir/vendors
    export OCL_ICD_VENDORS
    says "OpenCL's loader knows no driver.*pocl-opencl-icd"
)
# A library of that name that is none comes first, and there is no other.
without_loader() (
    mkdir -p "$tap_dir/none"
    echo 'int nothing;' >"$tap_dir/none/empty.c"
    $CC -shared -fPIC -o "$tap_dir/none/libOpenCL.so.1" "$tap_dir/none/empty.c" || return
    cp "$tap_dir/none/libOpenCL.so.1" "$tap_dir/none/libOpenCL.so"
    LD_LIBRARY_PATH=$tap_dir/none:$LD_LIBRARY_PATH
    export LD_LIBRARY_PATH
    says 'libOpenCL.so.1.*ocl-icd-libopencl1'
)
cpu_comes_first() {
    "$ndock" info | tee "$tap_dir/info" | grep -q '^\* cpu:0'
}
keeps_kernels() {
    "$NDOCK_CONFORM_PROGRAM" opencl:0 --count 3 --only negative || return
    find "$NDOCK_KERNEL_CACHE_DIR" -type f | tee "$tap_dir/kept"
    [ -s "$tap_dir/kept" ] && "$NDOCK_CONFORM_PROGRAM" opencl:0 --count 3 --only negative
}

if command -v readelf >/dev/null && command -v nm >/dev/null; then
    check 'it exports its entry and nothing else' exports_one_symbol
    check 'it links libc alone' links_libc_alone
    check 'it stays loaded, and is bound at once' stays_loaded
    check 'it has the note' has_note
else
    skip 'the file' 'no readelf or no nm'
fi
if [ -z "$ndock" ]; then
    skip 'reasons' "the installed ndock's command was not found in $NDOCK_BINDIR"
else
    check 'without a loader the reason says so, and what to install' without_loader
    check 'without drivers the reason says so, and what to install' without_driver
fi
reason=$(lacks_device)
NDOCK_CONFORM_PROGRAM=$kit/conform-ops
if [ -n "$reason" ]; then
    skip 'with a device' "$reason"
else
    check 'the CPU comes first' cpu_comes_first
    if [ -x "$NDOCK_CONFORM_PROGRAM" ]; then
        check 'compiled kernels are kept in files, and run from there' keeps_kernels
    else
        skip 'compiled kernels' "$NDOCK_CONFORM_PROGRAM is not installed"
    fi
fi
finish
