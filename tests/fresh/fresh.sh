#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# README.md's two commands on a bare machine, which is a chroot with nothing but the release's required packages and apt; then
# `make install`, and the tests again beside what was installed. Prints one line of totals a machine at the end.
set -uo pipefail
top=$(cd "$(dirname "$0")/../.." && pwd)
here=$top/tests/fresh

usage() {
    cat <<'END'
Usage: tests/fresh/fresh.sh [--release NAME]... [--as root|user]... [--tarball FILE] [--slice] [--ccache]
                            [--site FILE] [--cache DIR] [--keep]

  --release NAME   bookworm, trixie (Debian 12, 13) or noble (Ubuntu 24.04); default: all three
  --as WHO         root, or a user with sudo; default: both
  --tarball FILE   a release instead of this tree
  --slice          compiled without much optimisation (but with --ccache), one epoch of training, of the tests' repetitions a
                   slice, and the tests once, beside what was installed, which is removed at the end
  --ccache         put ccache before the compilers, with one cache a release: a second run need not compile again
  --site FILE      defaults of its ./configure, a config.site; with --ccache those of the build that filled the cache
  --cache DIR      where packages and bare systems are kept for the next time; default: /var/cache/ndock-fresh
  --keep           leave the chroots where they are, for a look

Needs root (or sudo without a password). The archives and proxies are those of this machine's /etc/apt and environment; for another
distribution than this machine's, FRESH_DEBIAN and FRESH_UBUNTU name one, else it is the default of debootstrap.
Status: 0 all is well, 1 something failed, 77 nothing was tested since no archive was reached.
END
}

die() { printf 'fresh: %s\n' "$*" >&2; exit 1; }
# Whose option lacks its value says so, not the shell.
value() { [ $# -gt 1 ] || die "$1 wants a value; --help"; printf '%s' "$2"; }

releases=() whos=() tarball='' slice='' ccache='' site='' cache=/var/cache/ndock-fresh keep='' all=("$@")
while [ $# -gt 0 ]; do
    case $1 in
        --release) releases+=("$(value "$@")") || exit; shift ;;
        --as) whos+=("$(value "$@")") || exit; shift ;;
        --site) site=$(value "$@") || exit; shift ;;
        --cache) cache=$(value "$@") || exit; shift ;;
        --tarball) tarball=$(value "$@") || exit; shift ;;
        --slice) slice=yes ;;
        --ccache) ccache=yes ;;
        --keep) keep=yes ;;
        -h|--help) usage; exit 0 ;;
        *) usage >&2; die "unknown argument '$1'" ;;
    esac
    shift
done
[ ${#releases[@]} -gt 0 ] || releases=(bookworm trixie noble)
[ ${#whos[@]} -gt 0 ] || whos=(root user)
for who in "${whos[@]}"; do case $who in root|user) ;; *) die "--as $who: it is root or user" ;; esac; done
for release in "${releases[@]}"; do
    case $release in bookworm|trixie|noble) ;; *) die "--release $release: bookworm, trixie and noble are known" ;; esac
done
[ -z "$tarball" ] || [ -r "$tarball" ] || die "--tarball $tarball: no such file"
[ -z "$site" ] || [ -r "$site" ] || die "--site $site: no such file"
if [ "$(id -u)" != 0 ]; then
    sudo -n true 2>/dev/null || die 'a chroot needs root, and sudo asks for a password here'
    exec sudo -n --preserve-env=http_proxy,https_proxy,no_proxy,JOBS,FRESH_DEBIAN,FRESH_UBUNTU "$0" "${all[@]}"
fi

# shellcheck source=tests/fresh/base.sh
. "$here/base.sh"

# ---- one machine ----

# A release as it is unpacked; or this tree as git has it, with what is not committed yet; of an unpacked release everything.
copy_tree() {
    mkdir -p "$1"
    if [ -n "$tarball" ]; then
        tar -C "$1" --strip-components=1 -xf "$tarball"
    elif git -C "$top" -c safe.directory="$top" rev-parse HEAD >/dev/null 2>&1; then
        git -C "$top" -c safe.directory="$top" ls-files -z --cached --others --exclude-standard |
            (cd "$top" && xargs -0 sh -c 'for f; do [ ! -e "$f" ] || printf "%s\0" "$f"; done' sh) | tar -C "$top" --null -T - -cf - | tar -C "$1" -xf -
    else
        tar -C "$top" --exclude='./_*' -cf - . | tar -C "$1" -xf -
    fi
}

# machine RELEASE WHO: a bare system, and machine.sh in it.
machine() {
    local release=$1 who=$2 root home status
    root=$(mktemp -d /var/tmp/ndock-fresh.XXXXXX)
    tar -C "$root" -xf "$cache/$release.tar" --exclude=./dev || { rm -rf "$root"; return 1; }
    home=/root
    if [ "$who" = user ]; then
        home=/home/fresh
        chroot "$root" useradd -m -s /bin/bash fresh
        echo 'fresh ALL=(ALL) NOPASSWD: ALL' >"$root/etc/sudoers.d/fresh"
    fi
    copy_tree "$root$home/ndock"
    cp "$here/machine.sh" "$root/machine.sh"
    cat "${site:-/dev/null}" >"$root/config.site"
    [ "$who" = root ] || chroot "$root" chown -R fresh: "$home/ndock"
    inside "$release" "$root" runuser -l "$([ "$who" = root ] && echo root || echo fresh)" \
        -c "cd ndock && JOBS='${JOBS:-$(nproc)}' SLICE='$slice' CCACHE='$ccache' bash /machine.sh"
    status=$?
    if [ -n "$keep" ]; then echo "# the chroot is $root"; else rm -rf --one-file-system "$root"; fi
    return $status
}

# tried RELEASE WHO: a machine, and its line of the summary.
tried() {
    local log start=$SECONDS result=ok
    printf '\n#### %s, as %s\n' "$1" "$2"
    log=$(mktemp)
    machine "$1" "$2" 2>&1 | tee "$log" || result=FAILED
    lines+=("$1, as $2: $result in $((SECONDS - start)) s; $(sed -n 's/^## //p' "$log" | tail -n 1)")
    rm -f "$log"
    [ $result = ok ]
}

# A function, since the shell reads on in this file meanwhile, and somebody may be at work in it.
main() {
    local failed=0 tested=0 release who
    lines=()
    prepare_host
    for release in "${releases[@]}"; do
        if ! base "$release"; then
            lines+=("$release: skipped, since no bare system could be made of its archive: $why")
            continue
        fi
        for who in "${whos[@]}"; do
            tested=1
            tried "$release" "$who" || failed=1
        done
    done
    printf '\n'
    printf '%s\n' "${lines[@]}"
    [ $tested = 1 ] || exit 77
    exit $failed
}
main
