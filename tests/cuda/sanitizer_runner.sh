#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# F8: sanitizer.sh, which runs the conformance suite under NVIDIA's compute-sanitizer, fails when that finds anything, and when it
# found out nothing at all. The sanitizer, the suite and `ndock info` are scripts here, so that no GPU is needed; where there is one
# and the tool as well, `make check-cuda-sanitizer` is the real thing.
. "$srcdir/tests/tap.sh"
case $srcdir in /*) ;; *) srcdir=$PWD/$srcdir ;; esac
export srcdir
tree=$tap_dir/tree # as the top of a build tree
mkdir -p "$tree/tools" "$tree/tests/conform" "$tree/bin"
script() { # FILE, whose text is the input
    { echo '#!/bin/sh'; cat; } >"$tree/$1" && chmod +x "$tree/$1"
}
script tools/ndock <<'END'
echo "* $DEVICE NVIDIA something"
END
script tests/conform/conform.t <<'END'
[ "$1" = cpu ] && for name in add sort take; do echo "ok 1 - $name on cpu:0"; done
[ "$1" = cpu ] || echo "ok 1 - $3 on cuda:0"
END
# Runs what it is given, unless SILENT, and says SAYS; its arguments go to a file.
script bin/compute-sanitizer <<'END'
echo "$*" >>"$CALLS"
while [ "$1" != tests/conform/conform.t ]; do shift; done
[ -n "$SILENT" ] || "$@"
echo "========= $SAYS"
exit ${STATUS:-0}
END
fine='ERROR SUMMARY: 0 errors'
calls=$tap_dir/calls
export CALLS=$calls
# runs VARIABLE=VALUE... -- ARGUMENTS of sanitizer.sh
runs() {
    : >"$calls"
    (
        cd "$tree" && PATH=$tree/bin:$PATH DEVICE=cuda:0 SAYS=$fine
        export PATH DEVICE SAYS
        while [ "$1" != -- ]; do
            export "$1"
            shift
        done
        shift
        sh "$srcdir/tests/cuda/sanitizer.sh" "$@"
    ) >"$tap_dir/out" 2>&1
    status=$?
    cat "$tap_dir/out"
    return $status
}
finds() { # WORDS VARIABLE=VALUE...: it fails, and says so
    words=$1
    shift
    runs "$@" -- memcheck add && return 1
    grep -q "$words" "$tap_dir/out"
}
tools_of_all() {
    runs -- || return 1
    grep -q -- '--tool memcheck .*--only add,sort,take$' "$calls" && grep -q -- '--tool racecheck .*--only sqrt,' "$calls" &&
        grep -q -- '--tool initcheck .*--only sqrt,' "$calls" && ! grep -v -- '--error-exitcode 9' "$calls"
}

check 'F8 nothing found' runs -- memcheck add
check 'F8 memcheck sees every name of the suite, racecheck and initcheck one of each class' tools_of_all
check 'F8 errors' finds 'ERROR SUMMARY: 2 errors' STATUS=9 'SAYS=ERROR SUMMARY: 2 errors'
check 'F8 races' finds 'RACECHECK SUMMARY: 1 hazard' STATUS=9 'SAYS=RACECHECK SUMMARY: 1 hazard displayed'
check 'F8 a case that fails' finds 'exit status 1' STATUS=1
check 'F8 errors that the exit status does not tell' finds 'no summary' 'SAYS=ERROR SUMMARY: 2 errors'
check 'F8 a run without a summary' finds 'no summary' SAYS=done
check 'F8 a run of no case' finds 'nothing ran' SILENT=1
nobody() { runs DEVICE=cpu:0 -- && grep -q 'nothing was checked' "$tap_dir/out" && [ ! -s "$calls" ]; }
check 'F8 without a device nothing is run, and it says so' nobody
rm "$tree/bin/compute-sanitizer"
lacking() { PATH=/usr/bin:/bin command -v compute-sanitizer || [ -x /usr/local/cuda/bin/compute-sanitizer ] || finds 'was not found'; }
check 'F8 without the tool it fails' lacking
finish
