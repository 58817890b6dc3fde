#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# plugins/mpi, compiled by mpicc as its own project does: every collective between two and four processes of mpirun. MPICC and MPIRUN name
# another MPI.
. "${srcdir:-.}/tests/tap.sh"
mpicc=${MPICC:-mpicc} mpirun=${MPIRUN:-mpirun}
if ! command -v "$mpicc" >/dev/null || ! command -v "$mpirun" >/dev/null; then
    echo '1..0 # SKIP no MPI (Debian and Ubuntu: libopenmpi-dev openmpi-bin, or libmpich-dev mpich)'
    exit 0
fi
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_btl_vader_single_copy_mechanism=none
export NDOCK_COMM_TIMEOUT=60000 NDOCK_NUM_THREADS=1
source=$srcdir/plugins/mpi
compile() {
    mkdir "$tap_dir/plugin" && "$mpicc" -std=gnu11 -O1 -Wall -Wextra -fPIC -shared -fvisibility=hidden -I"$srcdir/include" -Iinclude \
        -Wl,--version-script="$source/plugin.map" -Wl,-z,nodelete "$source"/*.c -o "$tap_dir/plugin/ndock-mpi.so" &&
        "$mpicc" -std=gnu11 -O1 -Wall -Wextra -I"$srcdir/include" -Iinclude "$source/tests/rank.c" -o "$tap_dir/rank" -L.libs -lndock
}
with_plugin() { NDOCK_PLUGIN_PATH=$NDOCK_PLUGIN_PATH:$tap_dir/plugin LD_LIBRARY_PATH=$PWD/.libs "$@"; }
exchange() {
    NDOCK_TEST_SLICE=1 with_plugin timeout 100 "$mpirun" -n "$1" "$(program)" >"$tap_dir/out" 2>&1 &&
        ! grep '^not ok' "$tap_dir/out" && [ "$(grep -c '^1\.\.12' "$tap_dir/out")" = "$1" ] || { cat "$tap_dir/out"; return 1; }
}
# Not libtool's wrapper, which would link once more for each rank at once.
program() { [ -x tests/comm/.libs/processes.t ] && echo tests/comm/.libs/processes.t || echo tests/comm/processes.t; }
own() { MPIRUN=$mpirun RANK_PROGRAM=$tap_dir/rank with_plugin sh "$source/tests/mpirun.sh"; }
info() { with_plugin tools/ndock info >"$tap_dir/info" 2>&1; grep -A3 '^ *mpi ' "$tap_dir/info" | grep -q 'carries communicators'; }
without() {
    timeout 100 env LD_LIBRARY_PATH="$PWD/.libs" "$mpirun" -n 2 "$(program)" >"$tap_dir/out" 2>&1
    grep -q 'there is no plug-in mpi' "$tap_dir/out"
}

check 'it compiles' compile
check 'two ranks: every collective' exchange 2
check 'four ranks' exchange 4
check 'larger arrays, and a rank that does not come' own
check 'ndock info says what it is for' info
check 'without the plug-in, the error says what is missing' without
finish
