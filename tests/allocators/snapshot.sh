# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Snapshots and their pictures (C25), judged by Python: the JSON, the pickle, the drawings, and files that stay whole
# under kill -9. NDOCK_KILLS: how often (20).
. "$srcdir/tests/tap.sh"
: "${PYTHON:=python3}"
if ! command -v "$PYTHON" >/dev/null; then
    echo '1..0 # SKIP needs Python'
    exit 0
fi
kills=${NDOCK_KILLS:-20}
writer=tests/allocators/snapshot
tool=tools/ndock
golden=$tap_dir/golden.json

judge() { "$PYTHON" "$srcdir/tests/allocators/judge.py" "$@"; }
draws() { $tool mem snapshot "$@" >"$tap_dir/out"; }
draws_by_default() { cp "$golden" "$tap_dir/training.json" && draws "$tap_dir/training.json" && [ -s "$tap_dir/training.html" ]; }
# Against Python's own sums of the same file.
prints_sums() {
    $tool mem stats "$golden" >"$tap_dir/stats" &&
        "$PYTHON" - "$golden" "$tap_dir/stats" <<'END'
import json, sys
snap, text = json.load(open(sys.argv[1])), open(sys.argv[2]).read().split("\n")
sums = {"reserved": sum(s["total_size"] for s in snap["segments"]),
        "allocated": sum(s["allocated_size"] for s in snap["segments"]),
        "asked": sum(b["requested_size"] for s in snap["segments"] for b in s["blocks"]
                     if b["state"] == "active_allocated")}
rows = {line.split()[0]: line.split()[-1] for line in text if line.startswith("  ")}
for name, value in sums.items():
    assert rows[name] == str(value), (name, rows[name], value)
live = peak = 0
for e in snap["device_traces"][0]:
    live += e["size"] * {"alloc": 1, "free_completed": -1}.get(e["action"], 0)
    peak = max(peak, live)
assert rows["peak"] == str(peak), (rows["peak"], peak)
END
}
refuses() { ! $tool mem snapshot "$@" >"$tap_dir/out" 2>"$tap_dir/err" && [ -s "$tap_dir/err" ]; }
names_the_byte() {
    head -c 300 "$golden" >"$tap_dir/cut.json"
    refuses "$tap_dir/cut.json" "$tap_dir/cut.html" && grep 'byte 300' "$tap_dir/err" && [ ! -e "$tap_dir/cut.html" ]
}
names_the_pickle() { refuses "$tap_dir/all.pickle" && grep 'pickle' "$tap_dir/err"; }
not_a_snapshot() { echo '{}' >"$tap_dir/x.json" && refuses "$tap_dir/x.json" && grep 'not a snapshot' "$tap_dir/err"; }
no_file() { refuses "$tap_dir/none.json" && grep 'none.json' "$tap_dir/err"; }
usage() { $tool mem "$@" 2>"$tap_dir/err"; [ $? = 2 ] && grep -q Usage "$tap_dir/err"; }

check 'a model of training' "$PYTHON" "$srcdir/tests/allocators/training.py" 12 3 "$golden"
check 'C25: a scripted life of memory' $writer write "$tap_dir"
check 'C25: JSON and pickle hold it, by name, at the end of the process too' judge snapshot "$tap_dir"
for format in html svg; do
    check "a picture ($format)" draws "$golden" "$tap_dir/p.$format"
    check "well-formed, self-contained, of the snapshot's sizes ($format)" judge picture "$golden" "$tap_dir/p.$format"
    check "of two devices ($format)" draws "$tap_dir/all.json" "$tap_dir/two.$format"
    check "well-formed too ($format)" judge picture "$tap_dir/all.json" "$tap_dir/two.$format"
done
check 'SNAPSHOT.html by default' draws_by_default
check 'stats prints the sums' prints_sums
check 'a cut file is refused, with the place' names_the_byte
check 'a pickle is refused, with advice' names_the_pickle
check 'another JSON is refused' not_a_snapshot
check 'a missing file is named' no_file
check 'no command: usage' usage
check 'an unknown one: usage' usage paint
check "$kills kills of a program that saves snapshots" judge kills "$kills" "$tap_dir/k.json" $writer loop "$tap_dir/k.json"
check "$kills kills of the drawing" judge kills "$kills" "$tap_dir/k.html" \
    sh -c "while :; do $tool mem snapshot '$golden' '$tap_dir/k.html' >/dev/null; done"
finish
