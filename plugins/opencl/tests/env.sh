# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Where the installed ndock and the plug-in are. Sourced; the folders come from configure.
plugin=$PWD/.libs/ndock-opencl.so
LD_LIBRARY_PATH=$NDOCK_LIBDIR${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
NDOCK_PLUGIN_PATH=$NDOCK_PLUGINDIR:$PWD/.libs
NDOCK_KERNEL_CACHE_DIR=$PWD/kernel-cache
POCL_CACHE_DIR=$PWD/pocl-cache
export LD_LIBRARY_PATH NDOCK_PLUGIN_PATH NDOCK_KERNEL_CACHE_DIR POCL_CACHE_DIR
mkdir -p "$POCL_CACHE_DIR" "$NDOCK_KERNEL_CACHE_DIR"
ndock=
[ ! -x "$NDOCK_BINDIR/ndock" ] || ndock=$NDOCK_BINDIR/ndock
kit=${NDOCK_CONFORM_DIR:-$NDOCK_KITDIR}

# The reason why there is no opencl:0; empty if there is one.
lacks_device() {
    if [ -z "$ndock" ]; then
        echo "the installed ndock's command was not found in $NDOCK_BINDIR"
    elif ! "$ndock" info >"$tap_dir/device" 2>&1 || ! grep -q 'opencl:0' "$tap_dir/device"; then
        sed -n '/^ *opencl /,/^[^ ]/p' "$tap_dir/device" | sed 1d | head -1
        echo "there is no opencl:0"
    fi
}
