# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Files that are broken before any of their code runs, each found by one check of group A of `ndock conform`; and a plug-in
# that crashes, through the whole runner.
. "$srcdir/tests/tap.sh"
here=$srcdir/tests/broken
map="-Wl,--version-script=$here/plugin.map"
nodelete=-Wl,-z,nodelete
NDOCK_CONFORM_DIR=$PWD/tests/abi:$PWD/tests/conform
export NDOCK_CONFORM_DIR

# build NAME FLAGS...
build() {
    mkdir -p "$tap_dir/$1" && out=$tap_dir/$1/ndock-sound.so && shift &&
        $CC $CFLAGS -std=c11 -O1 -D_GNU_SOURCE -fPIC -fvisibility=hidden -w -shared -Iinclude -I"$srcdir/include" \
            -o "$out" "$here"/*.c -Wl,-z,relro,-z,now "$@" $LDFLAGS -lm -lpthread
}

conform() { tools/ndock conform "$@" >"$tap_dir/out" 2>&1; }
good() { build good $map $nodelete && conform --group A --tap "$tap_dir/good/ndock-sound.so"; }

# finds CHECK FLAGS...: CHECK fails, and of group A no other.
finds() {
    id=$1
    shift
    build "$id" "$@" || return 1
    [ "$id" = A.needed ] && rm -f "$tap_dir/libgone.so"
    conform --group A --tap "$tap_dir/$id/ndock-sound.so" && { echo "it passes"; return 1; }
    failed=$(sed -n 's/^not ok [0-9]* - \([A-Z]\.[a-z_]*\).*/\1/p' "$tap_dir/out")
    [ "$failed" = "$id" ] || { echo "what fails: $failed"; cat "$tap_dir/out"; return 1; }
}

crash_is_a_failure() {
    build crash -DBREAK_NOW=break_host_alloc_null $map $nodelete || return 1
    conform --group C --tap "$tap_dir/crash/ndock-sound.so" && return 1
    grep -q '^not ok .*C.host_alloc_fault' "$tap_dir/out" && grep -q 'died of signal' "$tap_dir/out" &&
        grep -q '^ok .*C.leaks' "$tap_dir/out"
}
replay_fails_again() { ! conform --replay C.host_alloc_fault@1 "$tap_dir/crash/ndock-sound.so"; }

if ! good && ! grep -q '^not ok' "$tap_dir/out"; then
    skip "group A" "$(sed -n '/did not run/{p;q}' "$tap_dir/out")"
    finish
fi
echo 'int gone(void) { return 0; }' >"$tap_dir/gone.c"
$CC -shared -fPIC -o "$tap_dir/libgone.so" "$tap_dir/gone.c"
check "the file that is not broken passes group A" good
check "A.note finds a file without a note" finds A.note $map $nodelete -DNO_NOTE
check "A.abi finds a note of another ABI" finds A.abi $map $nodelete -DOTHER_MINOR=99
check "A.isa finds code of another processor" finds A.isa $map $nodelete -DOTHER_ISA=0x00ff0000u
check "A.exports finds a second export" finds A.exports $nodelete -DSECOND_EXPORT
case $(uname -m) in
x86_64) check "A.textrel finds an address in code" finds A.textrel $map $nodelete -DTEXT_RELOCATION -Wl,-z,notext ;;
*) skip "A.textrel finds an address in code" "its assembler is for x86-64" ;;
esac
check "A.execstack finds a stack that runs as code" finds A.execstack $map $nodelete -Wl,-z,execstack
check "A.runpath finds a search path of the current folder" finds A.runpath $map $nodelete -Wl,-rpath,../lib
check "A.needed finds a library that is not there" finds A.needed $map $nodelete -Wl,--no-as-needed -L"$tap_dir" -lgone
check "A.nodelete finds a file that may be unloaded" finds A.nodelete $map
check "a crash is one failed check, and the others have their turn" crash_is_a_failure
check "what failed fails again when it is replayed" replay_fails_again
finish
