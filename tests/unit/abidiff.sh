#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# build-aux/abidiff.sh: a function that went and a struct that changed are found, a function that came is fine.
. "$srcdir/tests/tap.sh"
if ! command -v abidiff >/dev/null 2>&1; then
    echo '1..0 # SKIP abidiff is not installed (package abigail-tools)'
    exit 0
fi
mkdir "$tap_dir/include"

# name, the struct's second field, functions
library() {
    printf 'typedef struct { int size; %s } box;\nint one(box *); int two(box *); int three(box *);\n' "$2" \
        >"$tap_dir/include/box.h"
    { echo '#include "box.h"'; for f in $3; do echo "int $f(box *b) { return b->size; }"; done; } >"$tap_dir/$1.c"
    $CC -g -shared -fPIC -I"$tap_dir/include" -o "$tap_dir/$1.so" "$tap_dir/$1.c"
}
compare() {
    sh "$srcdir/build-aux/abidiff.sh" compare "$tap_dir/$1.so" "$tap_dir/stored.gz" "$tap_dir/include"
}
differs() {
    ! compare "$1" >"$tap_dir/said" && grep -q "$2" "$tap_dir/said"
}

library stored 'int width;' 'one two'
check 'what there is can be stored' sh "$srcdir/build-aux/abidiff.sh" update "$tap_dir/stored.so" "$tap_dir/stored.gz" \
    "$tap_dir/include"
library same 'int width;' 'one two'
check 'the same library is the same' compare same
library more 'int width;' 'one two three'
check 'a function more is fine' compare more
library less 'int width;' 'one'
check 'a function less is found' differs less 'two'
library wider 'long width;' 'one two'
check 'a field of another type is found' differs wider 'width'
finish
