# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# A small TAP producer for shell tests: `check TEXT COMMAND...`, `skip TEXT REASON`, and `finish` at the end. Sourced.
tap_count=0 tap_failures=0
tap_dir=$(mktemp -d "${TMPDIR:-/tmp}/ndock-test.XXXXXX")
trap 'rm -rf "$tap_dir"' EXIT

# The command runs in a subshell with no input; what it said is shown when it fails.
check() {
    tap_text=$1
    shift
    tap_count=$((tap_count + 1))
    if tap_output=$("$@" 2>&1 </dev/null); then
        echo "ok $tap_count - $tap_text"
    else
        echo "not ok $tap_count - $tap_text"
        printf '%s\n' "$tap_output" | sed 's/^/# /; 40q'
        tap_failures=$((tap_failures + 1))
    fi
}

skip() {
    tap_count=$((tap_count + 1))
    echo "ok $tap_count - $1 # SKIP $2"
}

finish() {
    echo "1..$tap_count"
    [ "$tap_failures" = 0 ]
    exit
}
