#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# How many instructions a sum of 16 f32 from C takes, its result made and released: small_add under callgrind, more rounds less
# fewer. Compare builds with the same flags and SIMD level: the CPU plug-in's loop is among them.
# small_add.sh [PROGRAM]; NDOCK_PLUGIN_PATH names the CPU plug-in.
program=${1:-bench/small_add}
command -v valgrind >/dev/null || { echo 'small_add.sh: there is no valgrind' >&2; exit 1; }
collected() {
    NDOCK_NUM_THREADS=1 NDOCK_PLUGIN_PROBE=off valgrind --tool=callgrind --callgrind-out-file=/dev/null "$program" "$1" 2>&1 |
        sed -n 's/.*Collected : \([0-9]*\).*/\1/p'
}
few=$(collected 1000) many=$(collected 3000)
[ -n "$few" ] && [ -n "$many" ] || { echo 'small_add.sh: callgrind counted nothing' >&2; exit 1; }
echo "nd_add of 16 f32 and nd_release: $(((many - few) / 2000)) instructions"
