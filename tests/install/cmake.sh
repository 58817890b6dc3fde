# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# A CMake project finds the installed package, links ndock::ndock, and runs.
. "$srcdir/tests/tap.sh"
if ! command -v cmake >/dev/null; then
    skip 'find_package(ndock)' 'no cmake'
    finish
fi
LD_LIBRARY_PATH=$libdir${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export LD_LIBRARY_PATH
# The project of README.md, and its program.
block() {
    awk -v start="\`\`\`$1" '$0 == start { inside = 1; next } inside && /^```/ { exit } inside' "$srcdir/README.md"
}
block cmake >"$tap_dir/CMakeLists.txt"
block c >"$tap_dir/example.c"
cat >>"$tap_dir/CMakeLists.txt" <<'END'
if(NOT EXISTS "${ndock_PLUGIN_DIR}/ndock-cpu.so")
  message(FATAL_ERROR "no plug-in in ${ndock_PLUGIN_DIR}")
endif()
END
# CMake takes a compiler of several words, "ccache gcc", from the environment alone.
configure_consumer() { CC=$CC CFLAGS=$CFLAGS cmake -S "$tap_dir" -B "$tap_dir/build" -Dndock_DIR="$cmakedir"; }
check 'find_package(ndock)' configure_consumer
check 'it builds' cmake --build "$tap_dir/build"
check 'it runs' env NDOCK_DEVICE=cpu "$tap_dir/build/example"
finish
