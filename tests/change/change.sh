#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# change.sh SOURCES KIND...: for each kind a copy of the sources below _check-change/, the kept patch applied to it, built, and tried by
# the tests that the line "Tests:" of the patch names, and by KIND.py or KIND.sh. MAKE, CC, CFLAGS and
# PYTHON are those to use.
top=$1 here=$PWD
shift
. "$top/tests/change/count.sh"

# What git knows of, as it lies there; of a tarball all but build trees.
copy_sources() {
    mkdir -p "$1" || return
    if [ -e "$top/.git" ]; then
        git -C "$top" ls-files -z --cached --others --exclude-standard | tar -C "$top" --null --files-from=- -cf - | tar -C "$1" -xf -
    else
        tar -C "$top" --exclude='./_*' --exclude=.libs --exclude='*.o' --exclude='*.lo' --exclude=config.status -cf - . | tar -C "$1" -xf -
    fi
}

build() {
    autoreconf -fi >autoreconf.log 2>&1 || { cat autoreconf.log; return 1; }
    mkdir build && cd build && ../configure -q --without-cuda --disable-static --enable-werror CC="$CC" CFLAGS="$CFLAGS" PYTHON="$PYTHON" >configure.log &&
        $MAKE --no-print-directory >make.log 2>&1 || { tail -n 30 make.log; return 1; }
}

# The programs among the tests are compiled first: `make check` would compile all there are.
run_tests() {
    programs=$(printf '%s\n' "$@" | grep '\.t$')
    # shellcheck disable=SC2086 # names without spaces
    $MAKE --no-print-directory $programs tests/conform/conform.t >>make.log 2>&1 || { tail -n 30 make.log; return 1; }
    NDOCK_CONFORM_COUNT=${NDOCK_CONFORM_COUNT:-10} NDOCK_TEST_SLICE=1 VERBOSE=1 \
        $MAKE --no-print-directory check-TESTS TESTS="$*" >check.log 2>&1 || { grep -E '^(FAIL|ERROR|not ok)' check.log; tail -n 30 check.log; return 1; }
    grep -E '^# (TOTAL|PASS|SKIP)' check.log
}

# KIND.py in the package, or KIND.sh.
by_use() {
    if [ -e "$top/tests/change/$1.sh" ]; then
        sh "$top/tests/change/$1.sh"
    else
        in_python "$1"
    fi
}

in_python() {
    [ -e python/package.stamp ] || { echo 'skipped: no Python package was built'; return 0; }
    NDOCK_PLUGIN_PATH=$PWD/backends/cpu/.libs:$PWD/plugins/sim/.libs LD_LIBRARY_PATH=$PWD/.libs PYTHONPATH=$PWD/python \
        "$PYTHON" -B "$top/tests/change/$1.py"
}

# try KIND: in a subshell.
try() {
    copy=$here/_check-change/$1
    rm -rf "$copy" && copy_sources "$copy" && cd "$copy" || return
    patch --batch --forward --fuzz=0 -p1 <"$top/tests/change/$1.patch" || return
    # shellcheck disable=SC2046 # names without spaces
    build && run_tests $(sed -n 's/^Tests: //p' "$top/tests/change/$1.patch") && by_use "$1"
}

status=0
for kind; do
    if (try "$kind") && [ "$(files_of "$top" "$kind")" -le "$(stated "$top" "$kind")" ]; then
        echo "check-change: $kind: built and tried; $(files_of "$top" "$kind") files touched"
    else
        echo "check-change: $kind: FAILED; $(files_of "$top" "$kind") files touched, CONTRIBUTING.md says $(stated "$top" "$kind")"
        status=1
    fi
done
exit $status
