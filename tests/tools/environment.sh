#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# What tests/environment.sh, sourced before every test, leaves of a caller's environment. Which folders are then looked into is
# tests/loader/places.c; both with an installed ndock and all of these variables is tests/fresh.
. "$srcdir/tests/tap.sh"

# The caller's: how much is tested, and with which data.
cat >"$tap_dir/stays" <<'END'
NDOCK_CONFORM_COUNT
NDOCK_CONFORM_SEED
NDOCK_FASHION_DATA
NDOCK_KILLS
NDOCK_MEMORY_OPS
NDOCK_SANITIZER_LINES
NDOCK_SANITIZER_SECONDS
NDOCK_SANITIZER_SLICE
NDOCK_TEST_BREAKS
NDOCK_TEST_LONG
NDOCK_TEST_PROGRAMS
NDOCK_TEST_SLICE
NDOCK_TEST_THREADED
END
sed -n 's/^ND_PARAM(\([A-Z0-9_]*\),.*/NDOCK_\1/p' "$srcdir/core/base/param.def" >"$tap_dir/variables"
sed 's/=.*//' "$srcdir/tests/fresh/traps.env" >>"$tap_dir/variables"

# Every variable that ndock knows, and those of fresh, set in a shell that then does what each test's does.
left() {
    (
        while read -r name; do export "$name=trap"; done <"$tap_dir/variables"
        . "$srcdir/tests/environment.sh"
        env
    ) | sed 's/=.*//' | sort
}
only_these_stay() {
    [ "$(wc -l <"$tap_dir/variables")" -gt 60 ] || { echo 'hardly any variable was found'; return 1; }
    left | grep '^NDOCK_' >"$tap_dir/left"
    diff "$tap_dir/stays" "$tap_dir/left"
}
no_optimised_python() { ! left | grep -E '^(PYTHONOPTIMIZE|PYTHONWARNINGS|CUDA_LAUNCH_BLOCKING)$'; }
values_stay() { [ "$(NDOCK_MEMORY_OPS='2 0' sh -c '. "$srcdir/tests/environment.sh"; echo "$NDOCK_MEMORY_OPS"')" = '2 0' ]; }
# A value of several lines that looks like another variable's.
lines_are_no_names() { (NDOCK_X='a
NDOCK_MEMORY_OPS; touch x=1' && export NDOCK_X && . "$srcdir/tests/environment.sh" && [ -z "${NDOCK_X+set}" ]); }
# As this test itself was started by make.
given_here() {
    env | sed -n 's/^\(NDOCK_[A-Z_]*\)=.*/\1/p' | grep -vxFf "$tap_dir/stays" | sort | tr '\n' ' ' >"$tap_dir/given"
    cat "$tap_dir/given"
    [ "$(cat "$tap_dir/given")" = 'NDOCK_KERNEL_CACHE_DIR NDOCK_PLUGIN_DIR NDOCK_PLUGIN_PATH ' ]
}

export srcdir
check 'of all variables of ndock those that say how much is tested stay' only_these_stay
check 'Python runs the assertions, CUDA as it would' no_optimised_python
check 'with their values' values_stay
check 'a value of several lines' lines_are_no_names
check 'make check itself sets where plug-ins and kernels are, and nothing else' given_here
finish
