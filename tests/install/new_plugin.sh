# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# What an author of a plug-in does with the installed package alone, in an empty folder whose path has a space: projects of every kind
# build without a warning and conform, every command of the guide runs, and the training job runs on the new device.
. "$srcdir/tests/tap.sh"
if ! command -v pkg-config >/dev/null; then
    skip 'new plug-ins' 'no pkg-config'
    finish
fi
srcdir=$(cd "$srcdir" && pwd) work="$tap_dir/a b"
mkdir -p "$work" "$tap_dir/bin"
# An installation below DESTDIR is not where its files say: paths get the prefix that they lack.
cat >"$tap_dir/bin/pkg-config" <<END
#!/bin/sh
case " \$* " in
    *" --variable="*) printf '%s%s\n' '$DESTDIR' "\$('$(command -v pkg-config)' "\$@")" ;;
    *) exec '$(command -v pkg-config)' "\$@" ;;
esac
END
chmod +x "$tap_dir/bin/pkg-config"
PATH=$tap_dir/bin:$bindir:$PATH HOME=$work NDOCK_CONFORM_COUNT=${NDOCK_CONFORM_COUNT:-4}
[ -z "$NDOCK_TEST_SLICE" ] || NDOCK_CONFORM_COUNT=2
LD_LIBRARY_PATH=$libdir${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
data=${NDOCK_FASHION_DATA:-/usr/share/datasets/fashion-mnist}
export PATH HOME LD_LIBRARY_PATH PKG_CONFIG_PATH PKG_CONFIG_SYSROOT_DIR NDOCK_CONFORM_COUNT CC CXX
unset NDOCK_PLUGIN_PATH CFLAGS CPPFLAGS LDFLAGS CXXFLAGS MAKEFLAGS MFLAGS MAKELEVEL
cd "$work" || exit 1

# ---- refusals leave nothing ----

# refused WORDS... : exit status 1 or 2 and a message; the folder is as it was
refused() {
    ls -A "$work" >"$tap_dir/before"
    ndock new-plugin "$@" 2>"$tap_dir/message"
    status=$?
    ls -A "$work" >"$tap_dir/after"
    cat "$tap_dir/message"
    { [ $status = 1 ] || [ $status = 2 ]; } && [ -s "$tap_dir/message" ] && cmp "$tap_dir/before" "$tap_dir/after"
}
says() { grep -q "$1" "$tap_dir/message"; }
for name in Mychip 9chip my-chip 'my chip' '' a23456789012345678901234567890123 cpu auto; do
    check "the name \"$name\" is refused" refused "$name"
done
check 'a name of 31 characters is not' ndock new-plugin a234567890123456789012345678901 -o longest
check 'an unknown language is refused' refused chip --lang rust
check 'an unknown build system is refused' refused chip --build bazel
check 'an unknown tier is refused' refused chip --tier 3
check 'tier 2 of CUDA is refused' refused chip --lang cuda --tier 2
check 'and says what there is' says 'it takes 0 or 1'
check 'no name is refused' refused
check 'two names are refused' refused one two
check 'a parent that is not there is refused' refused chip -o none/chip
mkdir full && echo mine >full/README.md
check 'a folder with a file in it is refused' refused chip -o full
check 'and says so' says 'will not overwrite'
check 'and is left alone' sh -c 'test "$(cat full/README.md)" = mine && test "$(ls -A full)" = README.md'
check 'templates that are not there are refused' refused chip --templates /nowhere
mkdir half && cp "$(dirname "$bindir")/share/ndock/templates/device.c.tmpl" half 2>/dev/null
check 'half of the templates leave no half of a project' refused chip --templates half
mkdir empty
check 'an empty folder is taken' sh -c 'ndock new-plugin chip -o empty/ && test -x empty/ci.sh && test -f empty/.github/workflows/ci.yml'

# ---- projects of every kind ----

exports_one() {
    nm -D --defined-only "$1" | awk 'NF { n++; name = $NF } END { print n, name; exit !(n == 1 && name == "ndock_plugin_entry_0") }'
}
links_nothing_of_ndock() { ! readelf -d "$1" | grep 'NEEDED.*ndock' && readelf -d "$1" | grep -q NODELETE && readelf -d "$1" | grep -q BIND_NOW; }
loads() { NDOCK_PLUGIN_PATH="$1" ndock info | tee /dev/stderr | grep -q "mychip:0 "; }
says_no_gpu() { NDOCK_PLUGIN_PATH="$1" ndock info | tee /dev/stderr | grep -q 'mychip *NO_DEVICE'; }

# project LANG BUILD TIER: its ci.sh passes in a folder whose name has a space; plug is its file
project() {
    dir="$work/$1 $2 $3"
    case $2 in
        make) plug="$dir/ndock-mychip.so" ;;
        meson) plug="$dir/_build/ndock-mychip.so" ;;
        autotools) plug="$dir/.libs/ndock-mychip.so" ;;
    esac
    [ "$1 $2" = 'cuda autotools' ] && plug="$dir/ndock-mychip.so"
    text="$1, $2, tier $3"
    case $2 in
        meson) command -v meson >/dev/null && command -v ninja >/dev/null || { skip "$text" 'no Meson with Ninja'; return; } ;;
        autotools) command -v autoreconf >/dev/null && command -v libtoolize >/dev/null || { skip "$text" 'no autotools'; return; } ;;
    esac
    case $1 in
        c++) echo 'int main() {}' | $CXX -std=c++20 -x c++ -fsyntax-only - 2>/dev/null || { skip "$text" 'no C++20 compiler'; return; } ;;
        cuda) command -v nvcc >/dev/null || [ -x /usr/local/cuda/bin/nvcc ] || { skip "$text" 'no nvcc'; return; } ;;
    esac
    check "$text" ndock new-plugin mychip --lang "$1" --build "$2" --tier "$3" -o "$dir"
    check "$text: ci.sh passes" "$dir/ci.sh"
    check "$text: one symbol is exported" exports_one "$plug"
    check "$text: it links nothing of ndock, and stays loaded" links_nothing_of_ndock "$plug"
    if [ "$1" != cuda ] || nvidia-smi -L >/dev/null 2>&1; then
        check "$text: the device is there" loads "$plug"
    else
        check "$text: it says that there is no GPU" says_no_gpu "$plug"
    fi
}
# The language and the tier are what conform sees, not the build system: those of autotools and Meson run some groups of it, and in a slice
# all: the guide below runs the whole of it on the smallest device and the largest.
printf '#!/bin/sh\nexec "%s/ndock" "$@" --group A,D,E --count 1\n' "$bindir" >"$tap_dir/bin/some-groups"
chmod +x "$tap_dir/bin/some-groups"
some_groups() { NDOCK=$tap_dir/bin/some-groups && export NDOCK; }
[ -z "$NDOCK_TEST_SLICE" ] || some_groups
project c make 0
project c make 2
project c make 1
project c++ make 1
some_groups
project c++ autotools 0
project c meson 0
if [ -z "$NDOCK_TEST_SLICE" ]; then
    project c autotools 1
    project c autotools 2
fi
unset NDOCK
project cuda make 1
if [ -z "$NDOCK_TEST_SLICE" ]; then
    project c++ make 2
    # The usual count of cases, which is what an author runs.
    check 'c, make, tier 2: a whole run leaves a certificate' env -u NDOCK_CONFORM_COUNT \
        ndock conform --tier 2 -o "$tap_dir/certificate" "$work/c make 2/ndock-mychip.so"
    check 'and it says so' grep -q '"tier": *2' "$tap_dir/certificate"
    project c++ meson 1
    project c meson 2
    project cuda autotools 0
    project cuda meson 0
fi
small() { wc -l <"$work/c make 0/device.c" && [ "$(wc -l <"$work/c make 0/device.c")" -le 150 ]; }
check 'the device of tier 0 has at most 150 lines' small
if command -v clang-format >/dev/null; then
    cp "$srcdir/.clang-format" . 2>/dev/null
    check 'what is written is formatted' sh -c 'clang-format --dry-run -Werror "c make 0"/*.c "c make 1"/*.[ch] "c make 2"/*.[ch]'
else
    skip 'what is written is formatted' 'no clang-format'
fi

# ---- the guide ----

# Its n-th block of commands, or of changes to files; each runs where the one before it stopped, with its variables.
block() {
    awk -v n="$1" '/^```(sh|diff)$/ { if (++i == n) { print substr($0, 4); inside = 1; next } } inside && /^```/ { exit } inside' \
        "$srcdir/docs/plugin-guide.md"
}
# It trains four times; a slice on a tenth of the images.
if [ -n "$NDOCK_TEST_SLICE" ] && [ -e "$data/train-images-idx3-ubyte.gz" ]; then
    check 'the first images' sh "$srcdir/tests/fashion_cut.sh" "$data" "$work/cut"
    NDOCK_FASHION_DATA=$work/cut data=$work/cut
    export NDOCK_FASHION_DATA
fi
mkdir guide
printf 'cd "%s"\n' "$work/guide" >"$tap_dir/state"
run_block() {
    {
        cat "$tap_dir/state"
        [ "$kind" = diff ] && echo "patch -p1 <'$tap_dir/block'" || cat "$tap_dir/block"
        echo "printf 'cd \"%s\"; export NDOCK_PLUGIN_PATH=\"%s\" data=\"%s\"\n' \"\$PWD\" \"\${NDOCK_PLUGIN_PATH-}\" \"\${data-}\" >'$tap_dir/state'"
    } >"$tap_dir/script"
    ${SHELL:-sh} -ex "$tap_dir/script"
}
for n in 1 2 3 4 5 6 7 8 9 10 11 12 13 14; do
    block $n >"$tap_dir/whole"
    [ -s "$tap_dir/whole" ] || break
    kind=$(head -n 1 "$tap_dir/whole")
    sed 1d "$tap_dir/whole" >"$tap_dir/block"
    text="the guide, block $n: $(head -n 1 "$tap_dir/block")"
    if grep -q fashion "$tap_dir/block" && [ ! -e "$data/train-images-idx3-ubyte.gz" ] && [ ! -e "$data/train-images-idx3-ubyte" ]; then
        sed -i '/fashion --data/d; /report.json/d' "$tap_dir/block"
        text="$text (without Fashion-MNIST, which is not in $data)"
    fi
    if [ "$kind" = diff ] && ! command -v patch >/dev/null; then
        skip "$text" 'no patch'
    else
        check "$text" run_block
    fi
done
check 'the guide has its blocks' [ "$n" -ge 11 ]
finish
