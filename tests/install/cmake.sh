# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# A CMake project finds the installed package, links ndock::ndock, and runs.
. "$srcdir/tests/tap.sh"
if ! command -v cmake >/dev/null; then
    skip 'find_package(ndock)' 'no cmake'
    finish
fi
LD_LIBRARY_PATH=$libdir${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export LD_LIBRARY_PATH
cat >"$tap_dir/CMakeLists.txt" <<'END'
cmake_minimum_required(VERSION 3.13)
project(consumer C)
find_package(ndock 0.1 REQUIRED)
if(NOT EXISTS "${ndock_PLUGIN_DIR}/ndock-cpu.so")
  message(FATAL_ERROR "no plug-in in ${ndock_PLUGIN_DIR}")
endif()
add_executable(consumer consumer.c)
target_link_libraries(consumer ndock::ndock)
END
cat >"$tap_dir/consumer.c" <<'END'
#include <ndock/ndock.h>
int main(void) { return nd_version()[0] == 0; }
END
configure_consumer() { CFLAGS=$CFLAGS cmake -S "$tap_dir" -B "$tap_dir/build" -Dndock_DIR="$cmakedir" -DCMAKE_C_COMPILER="${CC%% *}"; }
check 'find_package(ndock)' configure_consumer
check 'it builds' cmake --build "$tap_dir/build"
check 'it runs' "$tap_dir/build/consumer"
finish
