#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Runs in the bare system of fresh.sh, in a copy of the tree: the README's two commands, `make install`, and the tests again with
# what was installed in the way and every variable set that could turn them. The last line of ours begins with "## ".
set -uo pipefail
failures=()
export CONFIG_SITE=$HOME/config.site
cat /config.site >"$CONFIG_SITE"
# A slice is compiled without much optimisation, and for one kind of processor, since fast code would take most of the time; unless
# a cache may have it already.
if [ -n "${SLICE:-}" ]; then
    export NDOCK_TEST_SLICE=1 NDOCK_CONFORM_COUNT=6 NDOCK_MEMORY_OPS=20000
    echo 'test -n "$enable_static" || enable_static=no' >>"$CONFIG_SITE"
    if [ -z "${CCACHE:-}" ]; then
        export CFLAGS='-O1 -g1 -fno-tree-vectorize'
        echo 'test -n "$enable_cpu_variants" || enable_cpu_variants=no' >>"$CONFIG_SITE"
    fi
fi
export VERBOSE=1

as_root() { if [ "$(id -u)" = 0 ]; then "$@"; else sudo -n "$@"; fi; }

# One cache for root and the user, whose trees lie in folders of their own.
with_ccache() {
    export CCACHE_DIR=/var/cache/ccache CCACHE_UMASK=000 CCACHE_NOHASHDIR=1 CCACHE_COMPILERCHECK=content CCACHE_SLOPPINESS=locale CCACHE_BASEDIR=$PWD PATH=/usr/lib/ccache:$PATH
    as_root apt-get -q -y update && as_root apt-get -q -y install --no-install-recommends ccache
}

step() {
    local name=$1 start=$SECONDS
    shift
    printf '\n#### %s\n' "$name"
    if "$@"; then
        printf '#### %s: done in %d s\n' "$name" $((SECONDS - start))
    else
        printf '#### %s: FAILED after %d s\n' "$name" $((SECONDS - start))
        failures+=("$name")
    fi
}

package_built() { ls -l _build/python/ndock/_ndock.pyi && grep -c '^:test-result: PASS' _build/tests/python/test_array.trs; }

install_it() { as_root make -s -C _build install && as_root ldconfig; }

# From a folder of no meaning, with nothing in the environment that names the build tree.
works_installed() (
    cd / && ndock info && ndock --version &&
        python3 -c 'import ndock as nd; x = nd.ones(3) + 1; print(nd.__file__, x); assert x.tolist() == [2, 2, 2] and "_build" not in nd.__file__'
)

# What a test must not see: plug-ins that cannot be loaded, named by plugins.d and lying in the installed folder, and variables.
lay_traps() {
    local folder
    folder=$(pkg-config --variable=plugindir ndock) || return
    printf 'no plug-in\n' | as_root tee "$folder/ndock-trap.so" "$folder/ndock-cuda.so" >/dev/null
    as_root mkdir -p /usr/local/etc/ndock/plugins.d
    printf 'path=%s\npriority=1000\n' "$folder/ndock-trap.so" | as_root tee /usr/local/etc/ndock/plugins.d/trap.conf >/dev/null
    printf 'path=relative\n' | as_root tee /usr/local/etc/ndock/plugins.d/wrong.conf >/dev/null
}

trapped() (
    # Assigned by the shell itself, so that a file that is missing or empty is a failure.
    set -a
    . tests/fresh/traps.env && [ "$NDOCK_PLUGINS" = '^cpu' ] || exit 1
    set +a
    "$@"
)

# As `make distcheck` has it: a release can be made of the unpacked release, nothing of ours stays where it was installed, and nothing
# in the build folder but what quickstart wrote there.
removed_and_cleaned() {
    local left
    make -s -C _build dist && as_root make -s -C _build uninstall && make -s -C _build distclean || return
    left=$(find /usr/local _build -type f ! -name 'ndock-trap.so' ! -name ndock-cuda.so ! -name '*.conf' ! -name 'ndock-*.tar.*' ! -path '_build/fashion*' ! -path _build/status)
    [ -z "$left" ] || { printf 'left behind: %s\n' $left; return 1; }
}

# The tests, or with a cache of what was compiled elsewhere those that may have another answer here.
checked() {
    local tests
    [ -n "${CCACHE:-}" ] || { ./quickstart check; return; }
    tests=$(printf 'include Makefile\nprint-tests: ; @echo $(TESTS)\n' | make -s -C _build -f - print-tests | tail -n 1) || return
    tests=$(sh tests/fresh/elsewhere.sh $tests | tr '\n' ' ')
    MAKEFLAGS="TESTS=${tests// /\\ }" ./quickstart check
}

checked_again() {
    make -C _build --no-print-directory check -j"$JOBS"
    local status=$?
    sh tests/totals.sh -v _build || status=1
    return $status
}

[ -z "${CCACHE:-}" ] || step ccache with_ccache
step quickstart ./quickstart --epochs="$([ -n "${SLICE:-}" ] && echo 1 || echo 10)"
if [ -n "${SLICE:-}" ]; then
    # The tests once, where most could go wrong.
    step 'make install' install_it
    step 'installed' works_installed
    step 'traps' lay_traps
    step 'quickstart check after make install' trapped checked
    first='in a slice'
else
    step 'quickstart check' ./quickstart check
    first=$(sh tests/totals.sh _build)
    step 'make install' install_it
    step 'installed' works_installed
    step 'traps' lay_traps
    step 'make check after make install' trapped checked_again
fi
step 'Python package' package_built
installed=$(sh tests/totals.sh _build)
[ -z "${SLICE:-}" ] || step 'removed and cleaned' removed_and_cleaned
[ ${#failures[@]} = 0 ] || printf '\nFAILED: %s\n' "${failures[*]}"
printf '## fresh: %s; installed: %s\n' "$first" "$installed"
[ ${#failures[@]} = 0 ]
