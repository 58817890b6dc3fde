#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# What `ndock info` says to somebody in trouble: --doctor, --offline, --params, --suggest.
. "$srcdir/tests/tap.sh"
tool=tools/ndock
mocks=$PWD/tests/loader/.libs
unset NDOCK_DEVICE NDOCK_PLUGINS NDOCK_FALLBACK NDOCK_FALLBACK_REPORT NDOCK_TEST_SLICE
NDOCK_KERNEL_CACHE_DIR=$tap_dir/kernels
export NDOCK_KERNEL_CACHE_DIR
good=$NDOCK_PLUGIN_PATH

# says STATUS WORDS... -- COMMAND...: the exit status, and every word in what is printed (on one line each).
says() {
    want=$1
    shift
    words=$tap_dir/words
    : >"$words"
    while [ "$1" != -- ]; do
        printf '%s\n' "$1" >>"$words"
        shift
    done
    shift
    "$@" >"$tap_dir/out" 2>&1
    got=$?
    cat "$tap_dir/out"
    [ "$got" = "$want" ] || { echo "exit status $got, not $want"; return 1; }
    while IFS= read -r word; do
        grep -qF -- "$word" "$tap_dir/out" || { echo "lacks: $word"; return 1; }
    done <"$words"
}
doctor() { env "$@" $tool info --doctor; }
is_json() { command -v python3 >/dev/null || return 0; python3 -c 'import json,sys; json.load(open(sys.argv[1]))' "$1"; }
json_of() { $tool info --json "$@" >"$tap_dir/json"; is_json "$tap_dir/json"; }

# ---- the doctor ----
check 'nothing is wrong' says 0 'cpu:0' 'Nothing is wrong' -- doctor
check 'a device that is there' says 0 'cpu:0' -- $tool info --doctor cpu:0
alone() { # the device's section, without other plug-ins and the rest
    $tool info --doctor cpu:0 >"$tap_dir/alone"
    cat "$tap_dir/alone"
    grep -q '^  ok   cpu ' "$tap_dir/alone" && ! grep -q -e 'sim' -e '^Environment' -e '^Kernel cache' "$tap_dir/alone"
}
check 'and that one alone' alone
check 'one that is not' says 1 'cuda:0' 'no plug-in ndock-cuda.so is in' 'PCI bus' -- $tool info --doctor cuda:0
check 'one that NDOCK_DEVICE names' says 1 'cuda:0' -- doctor NDOCK_DEVICE=cuda:0,cpu
check 'a plug-in of another ABI' says 1 '!!   tier0' 'ABI ' 'do    rebuild the plug-in' -- \
    doctor NDOCK_PLUGIN_PATH="$mocks/ndock-abi.so:$good"
check 'one without a device, in its own words' says 1 'NO_DEVICE' 'why ' 'do    the plug-in works' -- \
    doctor NDOCK_PLUGIN_PATH="$mocks/ndock-nodevice.so:$good"
check 'a short table' says 1 'SHORT' 'do    fill in the required functions' -- \
    doctor NDOCK_PLUGIN_PATH="$mocks/ndock-noread.so:$good"
check 'a device that does not open' says 1 '!!   openfails:0' 'why ' -- \
    doctor NDOCK_PLUGIN_PATH="$mocks/ndock-openfails.so:$good"
check 'a path that does not exist' says 1 'MISSING' 'do    correct the path' -- \
    doctor NDOCK_PLUGIN_PATH="$tap_dir/none.so:$good"
mkdir "$tap_dir/open" && cp "$mocks/ndock-tier0.so" "$tap_dir/open/ndock-tier0.so" && chmod o+w "$tap_dir/open/ndock-tier0.so"
check 'a file that everyone can write, with the command' says 1 'PERMISSION' 'chmod o-w' -- \
    doctor NDOCK_PLUGIN_PATH="$tap_dir/open:$good"
mkdir "$tap_dir/cut" && head -c 3000 "$mocks/ndock-tier0.so" >"$tap_dir/cut/ndock-tier0.so"
check 'a truncated file' says 1 'do ' -- doctor NDOCK_PLUGIN_PATH="$tap_dir/cut/ndock-tier0.so:$good"
check 'a filter is no problem' says 0 '--   sim' 'FILTERED' 'NDOCK_PLUGINS' -- doctor NDOCK_PLUGINS=cpu
check 'an unknown variable' says 1 'NDOCK_FALBACK' 'did you mean NDOCK_FALLBACK?' -- doctor NDOCK_FALBACK=warn
check 'a value that is not understood' says 1 'NDOCK_FALLBACK=never is not understood' 'allow|warn|error' -- \
    doctor NDOCK_FALLBACK=never
mkdir "$tap_dir/locked" && chmod a-w "$tap_dir/locked"
if [ "$(id -u)" = 0 ]; then
    skip 'a kernel cache that cannot be written' 'root can write everywhere'
else
    check 'a kernel cache that cannot be written' says 1 'cannot be written' -- \
        doctor NDOCK_KERNEL_CACHE_DIR="$tap_dir/locked"
fi
check 'the error of a missing device sends to the doctor' says 1 'ndock info --doctor' -- tests/tools/fallbacks nosuch:0
check 'as JSON' json_of --doctor
check 'which names problems' says 1 '"ok": false' '"problems": 1' '"advice": "rebuild' -- \
    env NDOCK_PLUGIN_PATH="$mocks/ndock-abi.so:$good" $tool info --doctor --json

# ---- a file, of which nothing runs ----
check 'a plug-in that would load' says 0 'tier0' 'ndock_plugin_entry_0' 'libc.so.6: /' -- \
    $tool info --offline "$mocks/ndock-tier0.so"
check 'the CPU plug-in' says 0 'cpu' 'f32' 'ndp.op/1' -- $tool info --offline backends/cpu/.libs/ndock-cpu.so
cp "$mocks/ndock-tier0.so" "$tap_dir/ndock-foreign.so" && printf '\001\003' | # e_machine of a FR-V
    dd of="$tap_dir/ndock-foreign.so" bs=1 seek=18 conv=notrunc 2>/dev/null
check 'one of another machine' says 1 '!! ARCHITECTURE' -- $tool info --offline "$tap_dir/ndock-foreign.so"
check 'a truncated file' says 1 '!!' -- $tool info --offline "$tap_dir/cut/ndock-tier0.so"
check 'no plug-in' says 1 '!!' -- $tool info --offline .libs/libndock.so
check 'no ELF file' says 1 'no ELF file' -- $tool info --offline "$srcdir/tests/tap.sh"
check 'no file' says 1 'No such file' -- $tool info --offline /nonexistent/x.so
check 'as JSON' json_of --offline "$mocks/ndock-tier0.so"
# Independent readers: binutils, and the dynamic linker.
same_as_binutils() {
    file=$1
    $tool info --offline "$file" >"$tap_dir/out" || return 1
    readelf -d "$file" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' | sort >"$tap_dir/needed"
    sed -n '/^  needs/,/^  linked/s/^ *\(needs *\)\{0,1\}\([^ :]*\): .*/\2/p' "$tap_dir/out" | sort >"$tap_dir/needed.ours"
    diff "$tap_dir/needed" "$tap_dir/needed.ours" || return 1
    id=$(readelf -n "$file" | sed -n 's/.*Build ID: //p')
    [ -z "$id" ] || grep -qx "  build-id    $id" "$tap_dir/out"
}
needs_program() { command -v "$1" >/dev/null; }
if needs_program readelf; then
    check 'needs and build-id as readelf says' same_as_binutils "$PWD/backends/cpu/.libs/ndock-cpu.so"
    check 'the same of libndock' eval "$tool info --offline .libs/libndock.so | grep -q nd_zeros || $tool info --offline .libs/libndock.so | grep -q 'and .* more'"
else
    skip 'needs and build-id as readelf says' 'there is no readelf'
    skip 'the same of libndock' 'there is no readelf'
fi
if $CC -shared -fPIC -x c /dev/null -o "$tap_dir/libgone.so" 2>/dev/null &&
    echo 'int x;' >"$tap_dir/x.c" &&
    $CC -shared -fPIC "$tap_dir/x.c" -o "$tap_dir/ndock-x.so" -Wl,--no-as-needed "$tap_dir/libgone.so" 2>/dev/null; then
    rm "$tap_dir/libgone.so"
    check 'a library that is missing' says 1 'NOT FOUND' 'libgone.so' -- $tool info --offline "$tap_dir/ndock-x.so"
else
    skip 'a library that is missing' 'no shared object can be linked here'
fi

# ---- threads: as many as there are processors that the process may run on ----
one_thread() {
    processor=$(taskset -pc $$ | sed 's/.*: //; s/[-,].*//')
    env -u NDOCK_NUM_THREADS -u OMP_NUM_THREADS NDOCK_PLUGIN_PATH="$good" taskset -c "$processor" $tool info | grep -q 'threads  *1$'
}
if command -v taskset >/dev/null; then
    check 'one processor, one thread' one_thread
else
    skip 'one processor, one thread' 'there is no taskset'
fi

# ---- parameters ----
check 'parameters' says 0 '* NDOCK_FALLBACK ' 'allow' 'max_split_size_mb' 'NDOCK_SIM_DEVICES' 'NDOCK_CPU_ISA' -- \
    env NDOCK_FALLBACK=allow $tool info --params
check 'as JSON' json_of --params
check 'none is read in a set-user-ID program' grep -q secure_getenv "$srcdir/core/base/env.c"

# ---- what fell back ----
report=$tap_dir/report.json
falls_back() { NDOCK_FALLBACK=allow NDOCK_FALLBACK_REPORT=$report NDOCK_PLUGIN_PATH="$mocks/ndock-$1.so:$good" tests/tools/fallbacks "$1:$2" $3; }
check 'a device without kernels: everything is staged' \
    says 0 'exp f32->f32 tier0:1 staged calls 3 bytes 24000 timed 1' 'square f32->f32 tier0:1 staged calls 5 bytes 40000 timed 1' -- falls_back tier0 1
check 'the report is JSON' is_json "$report"
check 'it is ranked' says 0 'exp f32->f32' 'square f32->f32' 'tier0:1' 'staged' 'no kernels' -- $tool info --suggest "$report"
json_suggest() { $tool info --json --suggest "$report" >"$tap_dir/json" && is_json "$tap_dir/json"; }
check 'as JSON' json_suggest
check 'a device with some kernels: what can be is derived' \
    says 0 'square f32->f32 tier1:0 derived calls 5 bytes 0' 'exp f32->f32 tier1:0 staged calls 3 bytes 24000' -- falls_back tier1 0
rm -f "$report"
falls_back tier0 1 crash >/dev/null 2>&1
check 'after a crash there is the report of a second before' says 0 'exp f32->f32' -- $tool info --suggest "$report"
rm -f "$report"
falls_back tier0 1 fork >/dev/null 2>&1
once() { $tool info --json --suggest "$report" | grep -q '"calls": 3'; }
check 'a forked child leaves the report to its parent' once
report=$tap_dir/each-%p.json
falls_back tier0 1 fork >/dev/null 2>&1
two() { [ "$(ls "$tap_dir"/each-*.json | wc -l)" = 2 ] && cat "$tap_dir"/each-*.json | grep -q '"items": \[\]'; }
check 'with %p it writes its own, which begins at nothing' two
echo '{"version": "1"}' >"$tap_dir/other.json"
check 'another file is refused' says 1 'no fallback report' -- $tool info --suggest "$tap_dir/other.json"
head -c 120 "$tap_dir"/each-*.json >"$tap_dir/cut.json" 2>/dev/null
check 'a cut one too' says 1 'at byte' -- $tool info --suggest "$tap_dir/cut.json"
check 'without a file it says how to make one' says 0 'NDOCK_FALLBACK_REPORT=' -- $tool info --suggest
mkfifo "$tap_dir/pipe"
check 'a pipe is not waited for: --suggest' says 1 'it is a pipe' -- timeout 20 $tool info --suggest "$tap_dir/pipe"
check 'mem' says 1 'it is a pipe' -- timeout 20 $tool mem stats "$tap_dir/pipe"
check 'conform' says 2 'is no plug-in' -- timeout 60 $tool conform --group A "$tap_dir/pipe"
check 'conform --expect' says 2 'it is a pipe' -- timeout 20 $tool conform --expect "$tap_dir/pipe" "$mocks/ndock-tier0.so"
check 'and a folder is no report' says 1 'it is a folder' -- $tool info --suggest "$tap_dir"
many() { # every one of 300 files is told
    mkdir "$tap_dir/many"
    i=0
    while [ $((i += 1)) -le 300 ]; do echo >"$tap_dir/many/ndock-m$i.so"; done
    NDOCK_PLUGIN_PATH=$tap_dir/many $tool info --json >"$tap_dir/out" 2>/dev/null
    [ "$(grep -o 'many/ndock-m[0-9]*\.so"' "$tap_dir/out" | sort -u | wc -l)" = 300 ]
}
check 'more plug-ins than 256 are told' many
check 'two kinds at once' says 2 'do not go together' -- $tool info --ops --params
check 'an unknown option' says 2 'unknown option "--frob"' -- $tool info --frob
check 'a name too many' says 2 'one argument too many' -- $tool info --params x
finish
