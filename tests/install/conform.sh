# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# The installed kit, as a plug-in's author has it: the installed `ndock conform` finds its programs and runs on installed plug-ins.
. "$srcdir/tests/tap.sh"
LD_LIBRARY_PATH=$libdir${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} XDG_STATE_HOME=$tap_dir/state
export LD_LIBRARY_PATH XDG_STATE_HOME
unset NDOCK_PLUGIN_PATH NDOCK_CONFORM_DIR

programs() { ls -l "$pkglibexecdir/conform-ops" "$pkglibexecdir/conform-abi"; }
conforms() { # PLUGIN TIER
    cd "$tap_dir" || return
    "$bindir/ndock" conform --count 3 --group A,B,C,D,E,F,G --tier "$2" --junit "$1.xml" "$plugindir/ndock-$1.so" &&
        grep -q '<testsuite ' "$1.xml"
}
export PKG_CONFIG_PATH PKG_CONFIG_SYSROOT_DIR
variable() { pkg-config --variable=conform_dir ndock | grep '/ndock$'; }
check 'its programs are installed' programs
check 'the installed cpu conforms' conforms cpu 1
check 'the installed sim conforms' conforms sim 2
if command -v pkg-config >/dev/null; then check 'pkg-config says where' variable; else skip 'pkg-config says where' 'no pkg-config'; fi
finish
