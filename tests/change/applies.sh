# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# The kept patches apply to the tree as it is, and touch as many files as CONTRIBUTING.md says; none more than its aim.
. "$srcdir/tests/tap.sh"
. "$srcdir/tests/change/count.sh"

applies() { patch --dry-run --batch --forward --fuzz=0 -p1 -d "$srcdir" <"$srcdir/tests/change/$1.patch"; }
as_stated() {
    echo "the patch touches $(files_of "$srcdir" "$1") files, CONTRIBUTING.md says $(stated "$srcdir" "$1"), at most $2 is the aim"
    [ "$(files_of "$srcdir" "$1")" = "$(stated "$srcdir" "$1")" ] && [ "$(files_of "$srcdir" "$1")" -le "$2" ]
}

while read -r kind aim; do
    if command -v patch >/dev/null; then
        check "$kind.patch applies" applies "$kind"
    else
        skip "$kind.patch applies" 'there is no program patch'
    fi
    check "it touches as many files as CONTRIBUTING.md says, and at most $aim" as_stated "$kind" "$aim"
done <<END
elementwise 3
reduction 6
class 8
dtype 12
END
finish
