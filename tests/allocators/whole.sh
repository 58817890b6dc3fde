# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# The environment's ways to look at memory and to change who gives it (C19, C20, C25), on real plug-ins.
. "$srcdir/tests/tap.sh"
: "${PYTHON:=python3}"
if ! command -v "$PYTHON" >/dev/null; then
    echo '1..0 # SKIP needs Python'
    exit 0
fi
program=tests/allocators/whole
tool=tools/ndock
# The program's arrays live on to its end on purpose, as the snapshot shows.
export ASAN_OPTIONS="${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0"
weights=$((5 * 256 * 256 * 4)) # five matrices of f32

judge() { "$PYTHON" "$srcdir/tests/allocators/judge.py" "$@"; }
# trains DEVICE FILE VARIABLE=VALUE...
trains() {
    device=$1 file=$2
    shift 2
    rm -f "$tap_dir/$file"
    env "$@" NDOCK_MEMORY_SNAPSHOT="$tap_dir/$file" $program "$device" 4 >"$tap_dir/stats"
}
has() { grep "$1" "$tap_dir/stats" || { cat "$tap_dir/stats"; return 1; }; }
draws() { $tool mem snapshot "$tap_dir/$1" "$tap_dir/p.svg" && judge picture "$tap_dir/$1" "$tap_dir/p.svg"; }
stray() {
    env NDOCK_ALLOC_CONF=backend:debug $program stray >"$tap_dir/report" && head -1 "$tap_dir/report" | grep -x 2 &&
        grep 'cpu:0: written past the end: byte 400 is 0x01, block of 400 bytes at 0x[0-9a-f]*, tag "the victim"' "$tap_dir/report" &&
        grep 'cpu:0: live, block of 400 bytes' "$tap_dir/report"
}
nothing_said() { # HOW DEVICE
    env NDOCK_SIM_MODE=stepped NDOCK_ALLOC_CONF=backend:debug $program "$1" "$2" >"$tap_dir/report"
    cat "$tap_dir/report"
    grep -qx 0 "$tap_dir/report"
}
info_prints() { $tool info --memory >"$tap_dir/info" && grep 'reserved' "$tap_dir/info" && grep 'settings.*backend' "$tap_dir/info"; }
info_json() { $tool info --json --memory | judge info; }
warns() {
    NDOCK_MEMORY_SNAPSHOT=/nowhere/x.json $program cpu:0 1 >"$tap_dir/stats" 2>"$tap_dir/err" && grep -q '/nowhere/x.json' "$tap_dir/err" &&
        NDOCK_LOG=off NDOCK_MEMORY_SNAPSHOT=/nowhere/x.json $program cpu:0 1 >"$tap_dir/stats" 2>"$tap_dir/err" && [ ! -s "$tap_dir/err" ]
}

for device in cpu:0 sim:0; do
    $program $device 0 >/dev/null 2>&1
    if [ $? = 3 ]; then
        skip "$device" 'there is no such device'
        continue
    fi
    check "$device: a training, traced" trains $device caching.json X=1
    check "$device: C25: the snapshot at its end" judge whole "$tap_dir/caching.json" $device caching $weights
    check "$device: drawn" draws caching.json
    check "$device: the same as a pickle" trains $device all.pickle X=1
    check "$device: C25: holds the same" judge whole "$tap_dir/all.pickle" $device caching $weights
    check "$device: C19: NDOCK_NO_CACHE=0" trains $device off.json NDOCK_NO_CACHE=0
    check "$device: C19: means off" judge whole "$tap_dir/off.json" $device caching $weights
    check "$device: C19: NDOCK_NO_CACHE=1" trains $device none.json NDOCK_NO_CACHE=1
    check "$device: C19: no byte is rounded, none is kept" has "allocated $weights requested $weights reserved $weights "
    check "$device: C19: every block by itself" judge whole "$tap_dir/none.json" $device none $weights
    check "$device: C20: the debug allocator" trains $device debug.json NDOCK_ALLOC_CONF=backend:debug
    check "$device: C20: by the snapshot" judge whole "$tap_dir/debug.json" $device debug $weights
    check "$device: drawn too" draws debug.json
    check "$device: C20: a freed block is seen whole from every stream" nothing_said other_stream $device
    check "$device: C20: work of a stream that is gone is waited for" nothing_said gone_stream $device
done
check 'C20: a write past the end of an array is told, with its tag' stray
check 'a snapshot that cannot be written is told, and not under NDOCK_LOG=off' warns
check 'ndock info --memory' info_prints
check 'ndock info --json --memory adds up' info_json
finish
