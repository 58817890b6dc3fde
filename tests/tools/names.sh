#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Every variable NDOCK_... that the sources name is a row of core/base/param.def or a plug-in's parameter, and every row that is
# listed is in ndock(7).
. "$srcdir/tests/tap.sh"

sed -n 's/^ND_PARAM(\([A-Z0-9_]*\),.*/NDOCK_\1/p' "$srcdir/core/base/param.def" | sort >"$tap_dir/rows"
sed -n 's/^ND_PARAM(\([A-Z0-9_]*\), "\(core\|python\)".*/NDOCK_\1/p' "$srcdir/core/base/param.def" | sort >"$tap_dir/listed"

# In quotes, so that macros and guards of headers are left out. NDOCK_<PLUGIN>_... are the plug-ins' own.
named() {
    (cd "$srcdir" && grep -rhoE "[\"']NDOCK_[A-Z0-9_]+" --include='*.c' --include='*.h' --include='*.cu' --include='*.py' \
        core backends plugins tools python/src python/ndock libexec 2>/dev/null) |
        sed 's/^.//; s/_$//' | grep -vE '^NDOCK_(CPU|CUDA|SIM|OPENCL)_|^NDOCK$' | sort -u
}
all_in_table() {
    named >"$tap_dir/named"
    [ "$(wc -l <"$tap_dir/named")" -gt 15 ] || { echo 'hardly any name was found'; return 1; }
    missing=$(comm -23 "$tap_dir/named" "$tap_dir/rows")
    [ -z "$missing" ] || { echo "not in core/base/param.def: $missing"; return 1; }
}
no_row_twice() { [ -z "$(uniq -d "$tap_dir/rows")" ]; }
all_in_manual() {
    bad=0
    while read -r name; do
        grep -q "$name\b" "$srcdir/docs/man/ndock.7" || { echo "ndock(7) lacks $name"; bad=1; }
    done <"$tap_dir/listed"
    return $bad
}
check 'every variable of the sources is in the table' all_in_table
check 'none is there twice' no_row_twice
check 'every variable that is listed is in the manual' all_in_manual
finish
