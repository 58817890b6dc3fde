# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# shellcheck shell=bash
# Bare systems for fresh.sh, which sources this file and says $cache: their making, kept as tar files, and what runs in one.
: "${cache:?is set by fresh.sh}"

# What this machine lacks to make them. apt-get is at hand, else a chroot of a Debian could be of no use here.
prepare_host() {
    local missing=()
    command -v apt-get >/dev/null || die 'apt-get is needed: the machines are those of Debian and Ubuntu'
    command -v mmdebstrap >/dev/null || missing+=(mmdebstrap)
    command -v debootstrap >/dev/null || missing+=(debootstrap)
    command -v unshare >/dev/null || missing+=(util-linux)
    if [ ${#missing[@]} -gt 0 ]; then
        echo "# installing ${missing[*]}"
        apt-get -q -y update && apt-get -q -y install --no-install-recommends "${missing[@]}" || die "apt-get could not install ${missing[*]}"
    fi
    mkdir -p "$cache" || die "$cache cannot be made; --cache DIR names another folder"
}

# The archive of a distribution (debian, ubuntu): as told, as in this machine's /etc/apt, or debootstrap's default.
mirror() {
    local told own
    case $1 in debian) told=${FRESH_DEBIAN:-} ;; *) told=${FRESH_UBUNTU:-} ;; esac
    # Of several suites the first that names neither updates nor fixes is the release itself.
    own=$(apt-get indextargets --format '$(ORIGIN) $(CODENAME) $(COMPONENT) $(REPO_URI)' 2>/dev/null |
        awk -v origin="$1" 'tolower($1) == origin && $2 !~ /-/ && $3 == "main" { print $4; exit }')
    if [ -n "$told$own" ]; then
        echo "${told:-$own}"
    elif [ "$1" = ubuntu ]; then
        sed -n 's/^[[:space:]]*default_mirror \(.*archive.*\)/\1/p' /usr/share/debootstrap/scripts/jammy
    else
        sed -n 's/^DEF_MIRROR="\(.*\)"/\1/p' /usr/sbin/debootstrap
    fi
}

# What apt has to know to reach an archive from here, proxies and the like, for a system of its own.
apt_access() {
    local name
    apt-config dump | grep -E '^Acquire::(https?|Check|ftp)[:-].*"..*";$' || :
    for name in http https; do
        local variable=${name}_proxy
        [ -z "${!variable:-}" ] || printf 'Acquire::%s::Proxy "%s";\n' "$name" "${!variable}"
    done
}

# Ubuntu's keys. Where this machine's archive lacks the package, Debian 13's has it.
ubuntu_keys() {
    local file=usr/share/keyrings/ubuntu-archive-keyring.gpg root
    [ ! -e "/$file" ] || { cp "/$file" "$cache/ubuntu.gpg"; return; }
    [ ! -e "$cache/ubuntu.gpg" ] || return 0
    base trixie || return
    root=$(mktemp -d /var/tmp/ndock-fresh.XXXXXX)
    tar -C "$root" -xf "$cache/trixie.tar" --exclude=./dev &&
        inside trixie "$root" sh -ec 'cd /tmp; apt-get -q update; apt-get -q download ubuntu-keyring; dpkg-deb -x ubuntu-*.deb /tmp/keys' &&
        cp "$root/tmp/keys/$file" "$cache/ubuntu.gpg"
    local status=$?
    rm -rf --one-file-system "$root"
    return $status
}

# base RELEASE: $cache/RELEASE.tar, a week old at most. On failure $why says what was amiss.
base() {
    local release=$1 file=$cache/$1.tar distribution=debian components=main keys=() archive
    why=
    [ -z "$(find "$file" -mtime -7 2>/dev/null)" ] || return 0
    if [ "$release" = noble ]; then
        distribution=ubuntu components=main,universe keys=(--keyring="$cache/ubuntu.gpg")
        ubuntu_keys || { why="no keys for Ubuntu's archive ($why)"; return 1; }
    fi
    archive=$(mirror $distribution)
    apt_access >"$cache/apt.conf"
    echo "# making a bare $release"
    if ! mmdebstrap --format=tar --variant=minbase --include=apt,sudo,ca-certificates --components=$components --aptopt="$cache/apt.conf" "${keys[@]}" \
        "$release" "$file.new" "$archive" >"$cache/$release.log" 2>&1; then
        why=$(grep -E '^(E|W):' "$cache/$release.log" | head -n 3 | tr '\n' ' ')
        rm -f "$file.new"
        return 1
    fi
    mv "$file.new" "$file"
}

# inside RELEASE ROOT COMMAND...: in the bare system, with its own /proc, /dev and mounts, which end with the command, and with
# the packages that were fetched before.
inside() {
    local release=$1 root=$2
    shift 2
    mkdir -p "$cache/$release.packages/partial" "$cache/$release.ccache" "$root/var/cache/ccache" "$root/dev"
    chmod 1777 "$cache/$release.ccache"
    cp -L /etc/resolv.conf "$root/etc/resolv.conf"
    apt_access >"$root/etc/apt/apt.conf.d/99fresh"
    # apt's own user fetches; it need not be able to write where we keep them.
    echo 'APT::Sandbox::User "root";' >>"$root/etc/apt/apt.conf.d/99fresh"
    # shellcheck disable=SC2016  # expanded by the inner shell
    env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin TERM=dumb LC_ALL=C.UTF-8 \
        unshare --mount --pid --ipc --fork --kill-child sh -euc '
            root=$1 packages=$2 ccache=$3; shift 3
            mount -t proc proc "$root/proc"
            mount --rbind -o ro /sys "$root/sys"
            mount -t tmpfs -o mode=755 tmpfs "$root/dev"
            mkdir "$root/dev/shm" "$root/dev/pts"
            mount -t tmpfs -o mode=1777 tmpfs "$root/dev/shm"
            mount -t devpts -o newinstance,ptmxmode=666,gid=5,mode=620 devpts "$root/dev/pts"
            ln -s pts/ptmx "$root/dev/ptmx"
            for f in null:3 zero:5 full:7 random:8 urandom:9; do mknod -m 666 "$root/dev/${f%:*}" c 1 "${f#*:}"; done
            mknod -m 666 "$root/dev/tty" c 5 0
            ln -s /proc/self/fd "$root/dev/fd"
            for f in 0:stdin 1:stdout 2:stderr; do ln -s "/proc/self/fd/${f%:*}" "$root/dev/${f#*:}"; done
            mount --bind "$packages" "$root/var/cache/apt/archives"
            mount --bind "$ccache" "$root/var/cache/ccache"
            exec chroot "$root" "$@"' sh "$root" "$cache/$release.packages" "$cache/$release.ccache" "$@" </dev/null
}
