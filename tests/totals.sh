#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# totals.sh [-v] DIR...: sum the test cases of `make check` runs from their .trs files; -v names what failed or was skipped.
# Exits with 1 if a case failed or there are none. Trees of other runs inside DIR (_check-*, ndock-*) are left out.
verbose=0
if [ "$1" = -v ]; then
    verbose=1
    shift
fi
find "$@" \( -name '_check-*' -o -name 'ndock-[0-9]*' \) -prune -o -name '*.trs' -print | sort | tr '\n' '\0' |
    xargs -0 awk -v verbose=$verbose '
        /^:test-result: (PASS|XFAIL)/ { passed++ }
        /^:test-result: (FAIL|XPASS|ERROR)/ { failed++; if (verbose) print FILENAME ": " $0 }
        /^:test-result: SKIP/ { skipped++; if (verbose) print FILENAME ": " $0 }
        END { printf "%d passed, %d failed, %d skipped\n", passed, failed, skipped; exit failed > 0 || passed == 0 }' /dev/null
