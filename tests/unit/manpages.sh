#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Every function that the library exports has a man page, with text from its header; run at the top of the build tree.
. "${srcdir:-.}/tests/tap.sh"
lib=.libs/libndock.so
man3=docs/man3
if [ ! -f $lib ] || ! command -v nm >/dev/null; then
    echo '1..0 # SKIP needs nm and a shared libndock'
    exit 0
fi
functions() { nm -D --defined-only $lib | awk '$2 == "T" { sub(/@.*/, "", $NF); print $NF }'; }
# The page of a function, through .so of pages that several share.
page() {
    read -r first <"$man3/$1.3" || return 1
    case $first in
    '.so man3/'*) echo "$man3/${first#.so man3/}" ;;
    *) echo "$man3/$1.3" ;;
    esac
}
each_has_one() {
    bad=0
    for f in $(functions); do
        [ -f "$man3/$f.3" ] || { echo "no page for $f"; bad=1; }
    done
    return $bad
}
# Its prototype is there, and a sentence of its own, not the stand-in for a missing one.
each_is_described() {
    bad=0
    for f in $(functions); do
        file=$(page "$f") && grep -q "[ *]$f(" "$file" && ! grep -q 'a function of ndock' "$file" ||
            { echo "$f is not described in $file"; bad=1; }
    done
    return $bad
}
says() { grep -q "$2" "$(page "$1")"; }
check 'there are many functions' [ "$(functions | wc -l)" -gt 500 ]
check 'each has a page' each_has_one
check 'each page has the prototype and a description' each_is_described
check 'the text is the header'"'"'s' says nd_reshape 'nd_reshape_copy copies then'
check 'options are shown' says nd_sum 'nd_reduce_opts'
check 'operations have the text of op.def' says nd_hypot_into 'without undue overflow'
check 'functions of <ndock/check.h> too' says nd_print 'standard output'
check 'the page on debugging is linked' says nd_add 'ndock\\-debugging'
if command -v groff >/dev/null; then
    no_warnings() { [ -z "$(cd docs && groff -man -Tascii -ww man3/nd_[a-f]*.3 2>&1 >/dev/null | head -5 | tee /dev/stderr)" ]; }
    check 'groff has nothing to say about them' no_warnings
else
    skip 'groff has nothing to say about them' 'no groff'
fi
finish
