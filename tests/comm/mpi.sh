#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# plugins/mpi, compiled by mpicc as its own project does: every collective between two and four processes of mpirun; mpi4py beside. By the MPI
# that mpicc and mpirun name, and by MPICH where that is another one (Debian's names). MPICC and MPIRUN name one alone.
. "${srcdir:-.}/tests/tap.sh"
if ! command -v "${MPICC:-mpicc}" >/dev/null || ! command -v "${MPIRUN:-mpirun}" >/dev/null; then
    echo '1..0 # SKIP no MPI (Debian and Ubuntu: libopenmpi-dev openmpi-bin, or libmpich-dev mpich)'
    exit 0
fi
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_btl_vader_single_copy_mechanism=none
export NDOCK_COMM_TIMEOUT=60000 NDOCK_NUM_THREADS=1
source=$srcdir/plugins/mpi
compile() {
    mkdir "$dir" && "$mpicc" -std=gnu11 -O1 -Wall -Wextra -fPIC -shared -fvisibility=hidden -I"$srcdir/include" -Iinclude \
        -Wl,--version-script="$source/plugin.map" -Wl,-z,nodelete "$source"/*.c -o "$dir/ndock-mpi.so" &&
        "$mpicc" -std=gnu11 -O1 -Wall -Wextra -I"$srcdir/include" -Iinclude "$source/tests/rank.c" -o "$dir/rank" -L.libs -lndock
}
with_plugin() { NDOCK_PLUGIN_PATH=$NDOCK_PLUGIN_PATH:$dir LD_LIBRARY_PATH=$PWD/.libs${abi:+:$abi} "$@"; }
# Lines of ranks may come mixed, printed at once as they are.
exchange() {
    NDOCK_TEST_SLICE=1 with_plugin timeout 100 "$mpirun" -n "$1" "$(program)" >"$tap_dir/out" 2>&1 &&
        ! grep 'not ok' "$tap_dir/out" && [ "$(grep -o '1\.\.12' "$tap_dir/out" | wc -l)" = "$1" ] || { cat "$tap_dir/out"; return 1; }
}
# Not libtool's wrapper, which would link once more for each rank at once.
program() { [ -x tests/comm/.libs/processes.t ] && echo tests/comm/.libs/processes.t || echo tests/comm/processes.t; }
own() { MPIRUN=$mpirun RANK_PROGRAM=$dir/rank with_plugin sh "$source/tests/mpirun.sh"; }
info() {
    with_plugin tools/ndock info >"$tap_dir/info" 2>&1
    grep -A3 '^ *mpi ' "$tap_dir/info" | grep -q 'carries communicators' && grep -q '^ *mpi  *plug-in mpi, between processes' "$tap_dir/info" &&
        with_plugin tools/ndock info --doctor 2>&1 | grep -q '^ *ok *mpi  *plug-in mpi, between processes' &&
        tools/ndock info --doctor 2>&1 | grep -q '^ *-- *mpi  *not there: build plugins/mpi'
}
without() {
    timeout 100 env LD_LIBRARY_PATH="$PWD/.libs" "$mpirun" -n 2 "$(program)" >"$tap_dir/out" 2>&1
    grep -q 'there is no plug-in mpi' "$tap_dir/out"
}
# A library built with a sanitizer cannot be loaded into Python.
has_mpi4py() { ! nm -D .libs/libndock.so 2>/dev/null | grep -Eq ' U __(asan|tsan|ubsan)_' && ${PYTHON:-python3} -c 'import mpi4py, numpy' 2>/dev/null; }
mpi4py() {
    PYTHONPATH=$PWD/python${PYTHONPATH:+:$PYTHONPATH} with_plugin timeout 100 "$mpirun" -n 2 ${PYTHON:-python3} -B "$srcdir/tests/clients/mpi4py_ranks.py" 2 >"$tap_dir/out" 2>&1 &&
        [ "$(grep -o 'plug-in mpi beside\|is content with mpi4py' "$tap_dir/out" | wc -l)" = 4 ] || { cat "$tap_dir/out"; return 1; }
}
# Wheels of mpi4py look for MPICH under the name of its common ABI, which Debian's has not.
abi_of_mpich() {
    abi=$tap_dir/abi MPI4PY_MPIABI=mpich
    mkdir -p "$abi"
    for folder in /usr/lib/*/; do [ ! -e "$folder/libmpich.so.12" ] || ln -sf "$folder/libmpich.so.12" "$abi/libmpi.so.12"; done
    export MPI4PY_MPIABI
}
by() { # NAME MPICC MPIRUN
    mpi=$1 mpicc=$2 mpirun=$3 dir=$tap_dir/$1 abi=
    ! "$mpirun" --version 2>/dev/null | grep -q HYDRA || abi_of_mpich
    check "$mpi: the plug-in compiles" compile
    check "$mpi: two ranks, every collective" exchange 2
    check "$mpi: four ranks" exchange 4
    check "$mpi: larger arrays, and a rank that does not come" own
    check "$mpi: ndock info and --doctor say what it is for, and what is missing without it" info
    check "$mpi: without the plug-in, the error says what is missing" without
    if has_mpi4py; then
        check "$mpi: mpi4py on ndock's arrays, and communicators beside" mpi4py
    else
        skip "$mpi: mpi4py" 'mpi4py is not installed'
    fi
}

by mpi "${MPICC:-mpicc}" "${MPIRUN:-mpirun}"
if [ -n "$MPICC$MPIRUN" ] || mpirun --version 2>/dev/null | grep -q HYDRA; then
    :
elif command -v mpicc.mpich >/dev/null && command -v mpirun.mpich >/dev/null; then
    by mpich mpicc.mpich mpirun.mpich
else
    skip 'mpich' 'MPICH is not installed beside (Debian and Ubuntu: libmpich-dev mpich)'
fi
finish
