# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# pkg-config finds ndock and its folder of plug-ins, and the installed command runs with the installed plug-in.
. "$srcdir/tests/tap.sh"
if ! command -v pkg-config >/dev/null; then
    skip 'pkg-config' 'no pkg-config'
    finish
fi
export PKG_CONFIG_PATH PKG_CONFIG_SYSROOT_DIR
LD_LIBRARY_PATH=$libdir${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export LD_LIBRARY_PATH
unset NDOCK_PLUGIN_PATH

finds_plugins() {
    dir=$(pkg-config --variable=plugindir ndock)
    echo "plugindir=$dir, installed in $plugindir"
    { [ "$dir" = "$plugindir" ] || [ "$PKG_CONFIG_SYSROOT_DIR$dir" = "$plugindir" ]; } && ls "$plugindir/ndock-cpu.so"
}
command_works() {
    "$bindir/ndock" info >"$tap_dir/info" || return
    cat "$tap_dir/info"
    grep -q "$plugindir/ndock-cpu.so" "$tap_dir/info" && grep -q 'cpu:0' "$tap_dir/info"
}
check 'the package exists' pkg-config --exists --print-errors ndock
check 'the version is that of the headers' sh -c \
    'grep -q "ND_VERSION \"$(pkg-config --modversion ndock)\"" "$1/ndock/version.h"' sh "$includedir"
check 'plugindir holds the CPU plug-in' finds_plugins
check 'the installed command loads the installed plug-in' command_works
finish
