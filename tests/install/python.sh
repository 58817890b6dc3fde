# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# The installed Python package imports the installed library, which loads the installed plug-in.
. "$srcdir/tests/tap.sh"
if [ -z "$PYTHON_SUFFIX" ]; then
    skip 'the installed package' 'this tree was configured without the Python package'
    finish
fi
cat >"$tap_dir/program.py" <<'END'
import sys
import ndock as nd

x = nd.arange(3, dtype=nd.float32, device="cpu")
assert repr(x + 1).startswith("array([1., 2., 3.]"), repr(x + 1)
assert nd.__file__.startswith(sys.argv[1] + "/ndock/"), nd.__file__
with open("/proc/self/maps") as maps:
    print(sorted({line.split()[-1] for line in maps if "ndock" in line}))
END
# An environment that names only what DESTDIR makes necessary: the module finds its library by its own RUNPATH, or by ldconfig.
runs() {
    env -i HOME="$tap_dir" PYTHONPATH="$pyexecdir" ${DESTDIR:+LD_LIBRARY_PATH="$libdir"} "$PYTHON" -B -W error -X dev \
        "$tap_dir/program.py" "$pyexecdir" >"$tap_dir/maps"
}
installed_files() { cat "$tap_dir/maps" && grep -q "$libdir/libndock" "$tap_dir/maps" && grep -q "$plugindir/ndock-cpu.so" "$tap_dir/maps"; }
no_libtool_files() { [ -z "$(find "$pyexecdir/ndock" -name '*.la' -o -name '*.a')" ]; }
check 'the installed package runs' runs
check 'with the installed library and plug-in' installed_files
check "no file of libtool's lies in it" no_libtool_files
finish
