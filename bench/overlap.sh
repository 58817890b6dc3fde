#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# That bench/overlap measures what it says, on devices that every machine has. How fast they are is nobody's business here.
. "$srcdir/tests/tap.sh"

# DEVICE: a line for each direction, with positive times and a ratio.
lines() {
    ./bench/overlap --ms 0.5 "$1" >"$tap_dir/lines" || return
    cat "$tap_dir/lines"
    awk '$1 == "copy" && $5 > 0 && $7 >= 0 && $10 > 0 && $13 > 0 && $15 > 0 { good++ } END { exit !(good == 2 && NR == 2) }' "$tap_dir/lines"
}

json() {
    ./bench/overlap --json --ms 0.5 sim:0 >"$tap_dir/json" || return
    "$PYTHON" -c 'import json, sys
rows = json.load(open(sys.argv[1]))
assert sorted(rows) == ["from the device", "to the device"], rows
for r in rows.values():
    assert abs(r["ratio"] - r["both_ms"] / max(r["copy_ms"], r["kernel_ms"])) < 1e-2 * r["ratio"], r' "$tap_dir/json"
}

check 'P6 bench/overlap on cpu' lines cpu
check 'P6 bench/overlap on sim:0' lines sim:0
check 'P6 bench/overlap as JSON' json
finish
