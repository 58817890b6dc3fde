# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# plugins/opencl as a vendor would build it: copied to an empty folder, against the installed ndock alone, and its own tests.
. "$srcdir/tests/tap.sh"
for tool in pkg-config autoreconf automake libtoolize make; do
    if ! command -v $tool >/dev/null; then
        skip 'plugins/opencl' "no $tool"
        finish
    fi
done
if ! echo '#include <CL/cl.h>' | $CC $CPPFLAGS -DCL_TARGET_OPENCL_VERSION=120 -fsyntax-only -x c - 2>/dev/null; then
    skip 'plugins/opencl' "no CL/cl.h (Debian and Ubuntu: opencl-headers)"
    finish
fi
unset NDOCK_CONFORM_COUNT NDOCK_PLUGIN_PATH MAKEFLAGS MFLAGS MAKELEVEL CPPFLAGS CFLAGS LDFLAGS
NDOCK_CONFORM_DIR=$pkglibexecdir
NDOCK_FASHION=$(cd "$srcdir" && pwd)/examples
export CC PKG_CONFIG_PATH PKG_CONFIG_SYSROOT_DIR NDOCK_CONFORM_DIR NDOCK_FASHION
source=$(cd "$srcdir" && pwd)/plugins/opencl

copy() {
    mkdir "$tap_dir/opencl" && (cd "$source" && tar cf - --exclude=build-aux --exclude=autom4te.cache .) |
        (cd "$tap_dir/opencl" && tar xf - && chmod -R u+w .)
}
in_folder() {
    (cd "$tap_dir/opencl" && "$@")
}
# The library's own headers are not in its way: nothing of ndock's tree is on a compiler's command line, but the installed
# headers and the folder to install in, which may lie below it (make distcheck).
builds() { in_folder make V=1 >"$tap_dir/commands"; }
uses_installed_only() {
    tree=$(cd "$srcdir" && pwd)
    ! sed "s#$includedir##g; s#-rpath [^ ]*##g" "$tap_dir/commands" | grep -F "$tree/"
}
# In a slice, those of its kernels and of training are left to the whole run.
own_tests() {
    set -- VERBOSE=1
    [ -z "$NDOCK_TEST_SLICE" ] || set -- "$@" TESTS='tests/loading.sh tests/abi.sh'
    in_folder make check "$@" >"$tap_dir/check" 2>&1
    status=$?
    grep -E '^# (TOTAL|PASS|SKIP|FAIL|ERROR)' "$tap_dir/check"
    cat "$tap_dir"/opencl/tests/*.log | grep -E '^(ok|not ok|#)' >"$tap_dir/lines"
    [ $status = 0 ] || tail -n 60 "$tap_dir/check"
    return $status
}
# Kernels that programs bring, from Python, where the package was built.
from_python() {
    env PYTHONPATH="$PWD/python:$source/../../tests/python" LD_LIBRARY_PATH="$PWD/.libs" KERNEL_TEST_DEVICES=opencl:0 \
        NDOCK_PLUGIN_PATH="$PWD/backends/cpu/.libs:$PWD/plugins/sim/.libs:$tap_dir/opencl/.libs" POCL_CACHE_DIR="$tap_dir/opencl" \
        "${PYTHON:-python3}" -B "$source/../../tests/python/$1" >"$tap_dir/kernels" 2>&1
    status=$?
    grep -v '^ok ' "$tap_dir/kernels"
    return $status
}

check 'it is copied' copy
check 'autoreconf' in_folder autoreconf -fi
check 'configure' in_folder ./configure -q
check 'it builds' builds
check 'it builds from the installed headers alone' uses_installed_only
check 'its own tests pass' own_tests
if [ -e python/package.stamp ] && ls /etc/OpenCL/vendors/*.icd >/dev/null 2>&1 && [ -z "$NDOCK_TEST_SLICE" ]; then
    check 'modules of programs from Python' from_python test_modules.py
    check 'reductions by formula from Python' from_python test_kernel_reductions.py
else
    skip 'kernels of programs from Python' "the package was not built, there is no OpenCL driver, or it is a slice"
fi
[ ! -f "$tap_dir/lines" ] || sed 's/^/# /' "$tap_dir/lines"
finish
