#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# A plug-in without an entry of its own that links a library which has one: its note says nothing of that library, whose entry is
# not called.
. "$srcdir/tests/tap.sh"
build() { # FILE FLAGS...
    mkdir -p "${1%/*}" && file=$1 && shift && $CC $CFLAGS -std=c11 -D_GNU_SOURCE -fPIC -w -shared -Iinclude -I"$srcdir/include" \
        -o "$file" "$srcdir/tests/loader/tier0.c" "$@" $LDFLAGS
}
build_all() {
    build "$tap_dir/own/ndock-tier0.so" && build "$tap_dir/below/libbelow.so" &&
        build "$tap_dir/linked/ndock-tier0.so" -DMOCK_NO_ENTRY -Wl,--no-as-needed "$tap_dir/below/libbelow.so" \
            -Wl,-rpath,"$tap_dir/below"
}
# says FOLDER WORDS: of the plug-in in that folder, once it was opened.
says() {
    NDOCK_PLUGIN_PATH=$tap_dir/$1:$NDOCK_PLUGIN_PATH tools/ndock info | tee "$tap_dir/out"
    grep -q "$2" "$tap_dir/out"
}
no_device() { ! grep -q '^[* ] tier0:0 ' "$tap_dir/out"; }

check 'a plug-in, and one that links a library with its entry' build_all
check 'the first is loaded' says own '^[* ] tier0:0 '
check 'the second is refused: the library is named' says linked 'comes from .*/libbelow.so, a library that it links'
check 'and has no device' no_device
finish
