#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# No file of core/ includes a header of a higher layer or calls a function of one, folders are in no circle, and no circle of files
# is large: tests/layers/graph.py says so of the sources and of the built objects. Run at the top of the build tree.
. "${srcdir:-.}/tests/tap.sh"
if ! command -v nm >/dev/null || ! "${PYTHON:-python3}" -c '' 2>/dev/null; then
    echo '1..0 # SKIP needs nm and Python'
    exit 0
fi
graph() { "${PYTHON:-python3}" -B "$srcdir/tests/layers/graph.py" --build . --check "$@" >"$tap_dir/graph"; }
holds() { graph || { cat "$tap_dir/graph"; return 1; }; }
# The layers of that file of rows break the rules, and the text names a pair.
fails() { ! graph --layers "$tap_dir/layers" && grep -q "$1" "$tap_dir/graph"; }

calls=$(nm -g core/base/.libs/libcore_la-status.o core/base/libcore_la-status.o 2>/dev/null | grep -c " [TU] ")
check 'objects of the core are looked at' [ "$calls" -gt 0 ]
check 'nothing climbs, folders are in no circle, circles of files are small' holds
sed -e '/^base$/d' -e '$a base' "$srcdir/tests/layers/layers.txt" >"$tap_dir/layers"
check 'a call that climbs is named' fails '^  model core/model/[a-z]*\.c -> base core/base/status\.c: '
check 'an include that climbs is named' fails '^  model core/model/model\.h -> base core/base/base\.h'
finish
