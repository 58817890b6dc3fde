# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# The plug-in of this folder through the whole of `ndock conform`: as it is it passes; broken, a crash or a hang is one
# failed check, the others have their turn, there is no certificate, and the failure comes again when it is replayed.
. "$srcdir/tests/tap.sh"
# Checks of the kit end processes with work pending and blocks in use, on purpose.
export ASAN_OPTIONS="${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0"
here=$srcdir/tests/broken
NDOCK_CONFORM_DIR=$PWD/tests/abi:$PWD/tests/conform
export NDOCK_CONFORM_DIR

# build NAME FLAGS...
build() {
    mkdir -p "$tap_dir/$1" && file=$tap_dir/$1/ndock-sound.so && shift &&
        $CC $CFLAGS -std=c11 -O1 -D_GNU_SOURCE -fPIC -fvisibility=hidden -w -shared "$@" -Iinclude -I"$srcdir/include" \
            -o "$file" "$here"/*.c -Wl,--version-script="$here/plugin.map" -Wl,-z,nodelete -Wl,-z,relro,-z,now \
            $LDFLAGS -lm -lpthread
}
conform() { tools/ndock conform "$@" >"$tap_dir/out" 2>&1; }

groups=A,B,C,E,F,G
[ -z "$NDOCK_TEST_SLICE" ] || groups=A,B # broken.sh runs the others on it as well
passes() { build sound && conform --group $groups "$file" || { cat "$tap_dir/out"; return 1; }; }

# fails NAME GROUP CHECK WORDS OTHER: CHECK fails with WORDS, and OTHER passes.
fails() {
    build "$1" -DBREAK_NOW="break_$1" || return 1
    conform --group "$2" --tap -o "$tap_dir/certificate" "$file" && { echo "it passes"; return 1; }
    cat "$tap_dir/out"
    grep -q "^not ok .*$3" "$tap_dir/out" && grep -q "$4" "$tap_dir/out" && grep -q "^ok .*$5" "$tap_dir/out" &&
        [ ! -e "$tap_dir/certificate" ]
}
replay() { ! conform --replay "C.host_alloc_fault@1" "$tap_dir/host_alloc_null/ndock-sound.so"; }

check "the plug-in that is not broken passes" passes
case $CFLAGS in
*-fsanitize*)
    skip "a crash is one failed check" "the sanitizer ends the program its own way"
    skip "what failed fails again when it is replayed" "as before"
    ;;
*)
    check "a crash is one failed check" fails host_alloc_null C C.host_alloc_fault "died of signal" C.leaks
    check "what failed fails again when it is replayed" replay
    ;;
esac
check "so is the end of the process" fails shutdown_abort B B.shutdown_twice "signal" B.open_close
finish
