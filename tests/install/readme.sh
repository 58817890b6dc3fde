# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# The program in README.md compiles, runs, and prints what README.md says.
. "$srcdir/tests/tap.sh"

# block LANGUAGE: the first such code block of README.md
block() {
    awk -v start="\`\`\`$1" '$0 == start { inside = 1; next } inside && /^```/ { exit } inside' "$srcdir/README.md"
}
if [ "$ND_INSTALLED" = yes ]; then
    export PKG_CONFIG_PATH PKG_CONFIG_SYSROOT_DIR
    flags=$(pkg-config --cflags ndock) libs=$(pkg-config --libs ndock)
    LD_LIBRARY_PATH=$libdir${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
    unset NDOCK_PLUGIN_PATH
else
    flags="-I$srcdir/include -Iinclude" libs='-L.libs -lndock'
    LD_LIBRARY_PATH=$PWD/.libs${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} NDOCK_PLUGIN_PATH=$PWD/backends/cpu/.libs
    export NDOCK_PLUGIN_PATH
fi
NDOCK_DEVICE=cpu
export LD_LIBRARY_PATH NDOCK_DEVICE

block c >"$tap_dir/example.c"
block text >"$tap_dir/expected"
compiles() { $CC $CFLAGS -std=c11 -Wall -Wextra $flags $LDFLAGS "$tap_dir/example.c" -o "$tap_dir/example" $libs; }
runs() { "$tap_dir/example" >"$tap_dir/output"; }
check 'there is an example' test -s "$tap_dir/example.c" -a -s "$tap_dir/expected"
check 'it compiles' compiles
check 'it runs' runs
check 'it prints what README.md says' diff -u "$tap_dir/expected" "$tap_dir/output"
finish
