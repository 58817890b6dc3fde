# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# The pages name files that exist, and ARCHITECTURE.md stays short.
. "$srcdir/tests/tap.sh"

# Words in backquotes that hold a slash, except names of a plug-in's groups.
named_paths() {
    grep -o '`[^` ]*/[^` ]*`' "$srcdir/$1" | tr -d '`' | grep -v '^ndp\.' | sort -u
}
all_exist() {
    missing=0
    for path in $(named_paths "$1"); do
        [ -e "$srcdir/$path" ] || { echo "$1 names $path"; missing=1; }
    done
    return $missing
}
# Programs of bench/ that a page names as a command.
benchmarks_run() {
    failed=0
    for program in $(cd "$srcdir" && grep -ohE 'bench/[a-z_]+\.py' README.md CONTRIBUTING.md docs/*.md | sort -u); do
        [ -x "$srcdir/$program" ] || { echo "$program cannot be run"; failed=1; }
    done
    return $failed
}
short() { [ "$(wc -l <"$srcdir/ARCHITECTURE.md")" -le 180 ]; }
for page in ARCHITECTURE.md README.md CONTRIBUTING.md; do
    check "every path in $page exists" all_exist "$page"
done
check 'benchmarks that pages name can be run' benchmarks_run
check 'ARCHITECTURE.md has no more than 180 lines' short
finish
