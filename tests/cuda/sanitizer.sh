#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# sanitizer.sh [TOOL [NAME,NAME...]]: NVIDIA's compute-sanitizer over the kernels, at the top of a build tree, on cuda:0.
# memcheck sees the whole conformance suite in slices, every array an allocation of its own, so that a byte past its end is
# seen; racecheck and initcheck see a kernel of each class. One line a slice; exits with 1 if anything was found.
. "${srcdir:?}/tests/cuda/device.sh"
PATH=$PATH:/usr/local/cuda/bin
# One of each class: elementwise of 1, 2 and 3 inputs, conversion, copy, fill, iota, random, reductions, scan, norm, product,
# reading and writing by index, selection, sorting, searching.
classes='sqrt add where assign_in_place copy full arange random_uniform sum argmax cumulative_sum softmax matmul take gather scatter_add select nonzero sort topk searchsorted'
most=${NDOCK_SANITIZER_SECONDS:-60}
export NDOCK_NO_CACHE=1 NDOCK_CONFORM_COUNT="${NDOCK_CONFORM_COUNT:-3}"
found=0
log=$(mktemp) || exit 1
trap 'rm -f "$log"' EXIT

# slice TOOL NAME,NAME...
slice() {
    begin=$(date +%s)
    timeout $((2 * most)) compute-sanitizer --tool "$1" --error-exitcode 9 --report-api-errors no --print-limit 20 \
        tests/conform/conform.t cuda:0 --only "$2" >"$log" 2>&1
    status=$?
    seconds=$(($(date +%s) - begin))
    verdict='nothing found'
    [ "$(grep -c '^ok ' "$log")" -gt 0 ] || verdict='nothing ran'
    grep -q 'SUMMARY: 0 ' "$log" || verdict='no summary'
    [ $status = 0 ] || verdict="exit status $status"
    [ $status != 124 ] || verdict="not done after $((2 * most)) s"
    [ $status != 9 ] || verdict=$(sed -n 's/^=* *\(ERROR SUMMARY: .*\)/\1/p; s/^=* *\(RACECHECK SUMMARY: .*\)/\1/p' "$log" | tail -n 1)
    echo "$1 $2: $seconds s, $verdict"
    [ "$seconds" -le "$most" ] || echo "# longer than $most s: give fewer names, or a smaller NDOCK_CONFORM_COUNT"
    [ "$verdict" = 'nothing found' ] && return
    found=1
    grep -E '^(=========|not ok|Bail|# )' "$log" | head -n "${NDOCK_SANITIZER_LINES:-40}"
}

# slices TOOL N NAME...: so many names to a slice.
slices() {
    tool=$1 n=$2
    shift 2
    while [ $# -gt 0 ]; do
        names=$1 i=1
        shift
        while [ $# -gt 0 ] && [ $i -lt "$n" ]; do
            names=$names,$1 i=$((i + 1))
            shift
        done
        slice "$tool" "$names"
    done
}

# Every name of the suite, as it says them on the CPU.
names() { NDOCK_CONFORM_STAGED='' NDOCK_CONFORM_COUNT=1 tests/conform/conform.t cpu | sed -n 's/^ok [0-9]* - \([a-z_0-9]*\) on cpu.*/\1/p' | sort -u; }

if ! tools/ndock info | grep -q '^[* ] cuda:0 '; then
    echo 'no CUDA device: nothing was checked'
    exit 0
fi
if ! command -v compute-sanitizer >/dev/null; then
    echo 'compute-sanitizer was not found: it comes with the CUDA toolkit' >&2
    exit 1
fi
if [ $# -gt 0 ]; then
    slices "$1" "${NDOCK_SANITIZER_SLICE:-12}" $(echo "${2:-$classes}" | tr , ' ')
else
    slices memcheck "${NDOCK_SANITIZER_SLICE:-12}" $(names)
    slices racecheck 4 $classes
    slices initcheck 4 $classes
fi
exit $found
