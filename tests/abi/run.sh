# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# conform-abi on this tree's plug-ins, in ways the kit's own runner does not go: each passes, a case is replayed, and what
# is not understood is an error.
. "$srcdir/tests/tap.sh"
# Checks of the kit end processes with work pending and blocks in use, on purpose.
export ASAN_OPTIONS="${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0"
kit=tests/abi/conform-abi
cpu=backends/cpu/.libs/ndock-cpu.so
sim=plugins/sim/.libs/ndock-sim.so

passes() {
    $kit "$@" >"$tap_dir/out" || { grep -A12 '^not ok' "$tap_dir/out"; return 1; }
    grep -q "^1\.\.[1-9]" "$tap_dir/out"
}
refuses() { ! $kit "$@" >"$tap_dir/out" 2>&1 && grep -q '^usage:' "$tap_dir/out"; }
lists_all() { [ "$($kit --list | grep -c '^[BCEFGHP]\.[a-z_]*: ')" = "$($kit --list | wc -l)" ]; }
replays() { passes --replay C.roundtrip@7 "$cpu" && grep -q '^ok 1 - C.roundtrip' "$tap_dir/out"; }

for group in B C E F G H P; do
    check "cpu passes group $group" passes --group $group --with "$sim" "$cpu"
    check "sim passes group $group" passes --group $group "$sim"
done
# Where there is no driver or no GPU, what needs none is checked.
cuda=backends/cuda/.libs/ndock-cuda.so
for group in B C E F G H; do
    if [ -e "$cuda" ]; then
        check "cuda passes group $group" passes --group $group --with "$cpu" "$cuda"
    else
        skip "cuda passes group $group" "it was not built"
    fi
done
check "every check has a line in the list" lists_all
check "one case is run again" replays
check "a file that is not there is an error" refuses --group B /nowhere/ndock-none.so
check "an unknown group is an error" refuses --group Z "$cpu"
check "a seed that is no number is an error" refuses --seed one "$cpu"
finish
