# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Group A of `ndock conform`: a sound file passes every check, and each way to break one fails the check that is meant for it, and that one alone.
. "$srcdir/tests/tap.sh"
mkdir -p "$tap_dir/a folder"
good='-Wl,-z,nodelete -Wl,-z,noexecstack'
file="$tap_dir/a folder/ndock-stat.so"
NDOCK_CONFORM_DIR=$tap_dir
export NDOCK_CONFORM_DIR

# build OPTION...: of the compiler and the linker
build() {
    $CC $CFLAGS -Wno-unused-function -I"$srcdir/include" -Iinclude -fPIC -fvisibility=hidden -shared \
        $LDFLAGS "$srcdir/tests/kit/static.c" "$@" -o "$file"
}
# The ids of the checks of group A that failed, in order.
failed_checks() {
    tools/ndock conform --group A --tap "$file" >"$tap_dir/tap"
    status=$?
    cat "$tap_dir/tap" >&2
    sed -n 's/^not ok [0-9]* - \(A\.[a-z]*\).*/\1/p' "$tap_dir/tap" | tr '\n' ' '
    return $status
}
sound() { build "$@" && [ -z "$(failed_checks)" ] && grep -c '^ok' "$tap_dir/tap" | grep -qx 9; }
# breaks "IDS" TEXT OPTION...
breaks() {
    ids=$1 words=$2
    shift 2
    build "$@" || return
    found=$(failed_checks)
    status=$?
    echo "failed: $found, exit status $status"
    [ "$status" = 1 ] && [ "$found" = "$ids " ] && grep -q -e "$words" "$tap_dir/tap"
}
links_with() { # its own library, which stays or goes
    echo 'int from_elsewhere(void); int from_elsewhere(void) { return 1; }' >"$tap_dir/elsewhere.c"
    $CC -fPIC -shared $LDFLAGS "$tap_dir/elsewhere.c" -Wl,-soname,libelsewhere-of-stat.so -o "$tap_dir/libelsewhere.so"
}
raw() { echo "-DRAW_NOTE -DMINOR=${1:-NDP_ABI_MINOR} -DISA=${2:-NDP_NOTE_ISA} -DSANITIZERS=${3:-NDP_NOTE_SANITIZERS}"; }

check 'a sound file, in a folder with a blank' sound $good
check 'sound with an absolute folder and $ORIGIN' sound $good -Wl,-rpath,/usr/lib:'$ORIGIN/lib'
check 'A.note: there is none' breaks A.note 'without ndock' $good -DNO_NOTE
check 'A.note: another name than the file' breaks A.note 'ndock-stat.so' $good '-DNAME="other"'
check 'A.note: a name that no device can have' breaks A.note 'lower-case letter' $good '-DNAME="a b:c"'
check 'A.note: a group without a version' breaks A.note 'ndp.op' $good '-DGROUPS="ndp.op"'
check 'A.note: no dtype' breaks A.note 'no dtype' $good -DDTYPES=0
check 'A.abi: of another minor' breaks A.abi 'ABI 0.99' $good $(raw 99)
check 'A.isa: of another architecture' breaks A.isa 'level 7' $good $(raw '' 0x20007)
check 'A.isa: of a level that is not yet made' breaks A.isa 'x86-64-v9' $good $(raw '' 0x10009)
check 'A.exports: another function' breaks A.exports helper $good -DANOTHER_EXPORT
check 'A.exports: no entry' breaks A.exports ndock_plugin_entry_0 $good -DNO_ENTRY
check 'A.execstack: an executable stack' breaks A.execstack noexecstack -Wl,-z,nodelete -Wl,-z,execstack
check 'A.runpath: a relative folder' breaks A.runpath 'has ."lib' $good -Wl,-rpath,/usr/lib:lib
check 'A.runpath: an empty folder' breaks A.runpath 'current folder' $good -Wl,-rpath,/usr/lib:
check 'A.nodelete: not set' breaks A.nodelete nodelete -Wl,-z,noexecstack
check 'a library of its own' links_with
check 'A.needed: a library that is not there' breaks A.needed libelsewhere-of-stat $good -DNEEDS -L"$tap_dir" -lelsewhere
check 'A.needed: ndock itself' breaks A.needed 'links nothing of ndock' $good -Wl,--no-as-needed -L.libs -lndock
check 'A.textrel: code that is changed' breaks A.textrel fPIC $good -DTEXTREL -Wl,-z,notext

# sentence WORDS: one line, on standard error, and nothing else; status 2.
sentence() {
    tools/ndock conform "$file" >"$tap_dir/out" 2>"$tap_dir/err"
    [ $? = 2 ] && cat "$tap_dir/err" && ! [ -s "$tap_dir/out" ] && [ "$(wc -l <"$tap_dir/err")" = 1 ] && grep -q -e "$1" "$tap_dir/err"
}
not_elf() { echo 'no ELF file' >"$file" && sentence 'is no plug-in: '; }
cut_off() {
    build $good || return
    head -c 700 "$file" >"$tap_dir/cut" && mv "$tap_dir/cut" "$file"
    tools/ndock conform --group A "$file"
    [ $? = 1 ]
}
other_library() { links_with && cp "$tap_dir/libelsewhere.so" "$file" && sentence 'no note of ndock.s and exports no ndock_plugin_entry_0'; }
no_file() { tools/ndock conform "$tap_dir/none.so" 2>"$tap_dir/err"; [ $? = 2 ] && grep 'No such file' "$tap_dir/err"; }
check 'a text is no plug-in: one sentence' not_elf
check 'a file cut short' cut_off
check 'nor a library of something else' other_library
check 'no file: status 2' no_file
finish
