#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# `ndock graph show` prints and draws the dump of a graph, and says what is no dump.
. "$srcdir/tests/tap.sh"

cat >"$tap_dir/graph.json" <<'END'
{"ndock_graph": 1, "device": "cpu:0", "later": [1, {"a": null}],
 "pool": {"id": 1, "segments": 1, "reserved_bytes": 2097152},
 "segments": [
  {"then_eager": true, "nodes": [
    {"id": 0, "op": "exp", "stream": 3, "after": [], "writes": [{"dtype": "f32", "shape": [4, 5]}]},
    {"id": 1, "op": "a<b", "tag": "loss", "stream": 4, "after": [0], "writes": [{"dtype": "f64", "shape": []}]}]},
  {"nodes": [{"id": 0, "op": "copy", "stream": 3, "after": [], "bytes": 7}]}]}
END
show() { tools/ndock graph show "$tap_dir/graph.json" "$@"; }
prints() { show >"$tap_dir/out" && grep '3 operations in 2 segments, 2097152 bytes' "$tap_dir/out" &&
    grep 'exp *f32 *4 x 5' "$tap_dir/out" && grep 'a<b .*loss *0$' "$tap_dir/out" && grep "program's own part" "$tap_dir/out"; }
dot() { show --dot >"$tap_dir/dot" && grep 'n0 -> n1;' "$tap_dir/dot" && [ "$(grep -c -e '->' "$tap_dir/dot")" = 1 ]; }
draws() { show "$tap_dir/p.svg" && grep -c '<rect' "$tap_dir/p.svg" | grep '^3$' && grep 'a&#60;b' "$tap_dir/p.svg" &&
    tail -1 "$tap_dir/p.svg" | grep '^</svg>$'; }
refuses() { tools/ndock graph "$@" >"$tap_dir/out" 2>&1; [ $? = "$status" ]; }
every_cut_is_told() {
    n=$(wc -c <"$tap_dir/graph.json")
    for cut in 0 1 20 $((n / 3)) $((n / 2)) $((n - 3)); do
        head -c "$cut" "$tap_dir/graph.json" >"$tap_dir/cut.json"
        tools/ndock graph show "$tap_dir/cut.json" 2>"$tap_dir/err" >/dev/null
        [ $? = 1 ] && grep -q 'no graph that nd_graph_dump wrote' "$tap_dir/err" || { echo "cut at $cut"; return 1; }
    done
}
cycle() { sed 's/"after": \[0\]/"after": [9]/' "$tap_dir/graph.json" >"$tap_dir/bad.json"; status=1; refuses show "$tap_dir/bad.json"; }
check 'a table' prints
check 'for Graphviz' dot
check 'a picture' draws
check '--help' tools/ndock graph --help
status=2
check 'no file: status 2' refuses show
check 'an unknown ending: status 2' refuses show "$tap_dir/graph.json" picture.png
status=1
check 'a missing file: status 1' refuses show "$tap_dir/none.json"
check 'a file cut short is told' every_cut_is_told
check 'an order that cannot be' cycle
finish
