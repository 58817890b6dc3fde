#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# What the built library and the CPU plug-in export, import and need; run at the top of the build tree.
. "${srcdir:-.}/tests/tap.sh"
lib=.libs/libndock.so
plugin=backends/cpu/.libs/ndock-cpu.so
tool=tools/.libs/ndock # without libtool's wrapper
if [ ! -f $lib ] || ! command -v nm >/dev/null || ! command -v readelf >/dev/null; then
    echo '1..0 # SKIP needs nm, readelf and a shared libndock'
    exit 0
fi

# A library reports through status codes: it never writes to the terminal and never ends the process.
forbidden='abort exit _exit _Exit quick_exit printf vprintf dprintf vdprintf __printf_chk __vprintf_chk
    puts putchar putc fputs fputc perror psignal __assert_fail err errx verr warn warnx vwarn error
    stdout stderr stdin setlocale signal sigaction setenv unsetenv putenv'

exported() { nm -D --defined-only "$1" | awk '$2 != "A" { sub(/@.*/, "", $NF); print $NF }'; }
imported() { nm -D --undefined-only "$1" | awk '{ sub(/@.*/, "", $NF); print $NF }'; }
needed() { readelf -d "$1" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p'; }

only_nd() { ! exported $lib | grep -v '^nd_[a-z]'; }
versioned() {
    nm -D --defined-only $lib | grep -q ' A NDOCK_0$' &&
        ! readelf --dyn-syms -W $lib | awk '$7 != "UND" { print $8 }' | grep '^nd_' | grep -v '@@NDOCK_0$'
}
only_entry() { [ "$(exported $plugin)" = ndock_plugin_entry_0 ]; }
nothing_of_ours() { ! imported $plugin | grep -E '^ndp?_'; }
no_forbidden() {
    bad=0
    for name in $forbidden; do
        ! imported "$1" | grep -qx "$name" || { echo "$1 imports $name"; bad=1; }
    done
    return $bad
}
only_libc() { ! needed $lib | grep -vE '^(libc\.so|libm\.so|ld-linux|ld\.so)'; }
small() {
    strip -o "$tap_dir/stripped.so" $lib && size=$(wc -c <"$tap_dir/stripped.so") &&
        echo "$size bytes" && [ "$size" -le 1572864 ]
}
# glibc keeps some 1.6 KB of static thread-local storage for all libraries that dlopen() brings, Python's and
# PyTorch's too: the sum of ours must be small.
little_tls() {
    sum=0
    for file in "$@"; do
        n=$(readelf -lW "$file" | awk '$1 == "TLS" { print $6 }')
        sum=$((sum + ${n:-0}))
    done
    echo "$sum bytes"
    [ "$sum" -le 400 ]
}
# The CUDA runtime that CUB brings has 4 KiB of it, which must not be wanted at once.
no_static_tls() { [ ! -e "$1" ] || ! readelf -dW "$1" | grep STATIC_TLS; }
# Files are written through a handle; the standard streams are nobody's.
no_streams() {
    ! grep -rnE '\b(stdout|stderr)\b|\bfprintf *\(|\bassert *\(' "$srcdir/core" "$srcdir/backends" \
        --include='*.c' --include='*.h' --include='*.cu' | grep -v '/dev/stdout'
}
# A step inside the call of another may fail, and the call runs with what is not there: each has a variable of its own.
no_nested_steps() {
    find "$srcdir/core" -name '*.c' -exec sh -c 'for file; do
        tr "\n" " " <"$file" | grep -oE "ND_STEP(_DO)?\([^;]*[^a-z_](nd__step([0-9]|_[a-z]+))\([^;]*;" | sed "s|^|$file: |"
    done' sh {} + >"$tap_dir/nested"
    cat "$tap_dir/nested"
    [ ! -s "$tap_dir/nested" ]
}

check 'the library exports only nd_ names' only_nd
check 'each of them has version NDOCK_0' versioned
check 'the CPU plug-in exports its entry alone' only_entry
check 'the CPU plug-in asks for no symbol of ours' nothing_of_ours
check 'the sources use no standard stream and no assert' no_streams
check 'no step is made inside the call of another' no_nested_steps
if imported $lib | grep -qE '^__(asan|ubsan|tsan|msan|lsan)_'; then
    for text in 'the CUDA plug-in takes no static thread-local storage' 'thread-local storage is left to others' 'only libc and libm are needed' 'the stripped library is at most 1.5 MiB' \
        'the library imports nothing that prints or exits' 'nor does the CPU plug-in'; do
        skip "$text" 'built with a sanitizer, which has needs of its own'
    done
else
    check 'the CUDA plug-in takes no static thread-local storage' no_static_tls backends/cuda/.libs/ndock-cuda.so
    check 'thread-local storage is left to others' little_tls $lib $plugin plugins/sim/.libs/ndock-sim.so
    check 'only libc and libm are needed' only_libc
    check 'the stripped library is at most 1.5 MiB' small
    check 'the library imports nothing that prints or exits' no_forbidden $lib
    check 'nor does the CPU plug-in' no_forbidden $plugin
fi

# Timed, so told and never judged: the aim is below 10 ms.
if [ -x $tool ]; then
    LD_LIBRARY_PATH=.libs
    export LD_LIBRARY_PATH
    begin=$(date +%s%N)
    $tool info >"$tap_dir/info" 2>&1
    end=$(date +%s%N)
    echo "# ndock info took $(((end - begin) / 1000)) us"
fi
finish
