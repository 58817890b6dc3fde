#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# NDOCK_HOOK=trace: a line a call in the documented form, which `ndock replay` makes again with the same statuses; and a
# slice of the conformance suite under NDOCK_HOOK=check, which breaks no rule.
. "$srcdir/tests/tap.sh"
# What a replay wraps, and the kernels of mocks, live to the end of the process.
export ASAN_OPTIONS="${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0"
mock="$PWD/tests/hook/.libs/ndock-defect.so"

# Runs a slice of the suite on device $1 with hooks $2; the trace is $tap_dir/trace. Some names of each class do for a trace.
few=add,divide,less,exp,where,clip,copy,fill,sum,var,argmax,cumulative_sum,softmax,layer_norm,matmul,take,gather,scatter_add
few=$few,select,nonzero,sort,topk,searchsorted,philox,random_normal,random_refusals,concat,pad,arange,reshape,errors_indices
few=$few,errors_wrapped_memory,runtime_ops
count=5 names= least=150
# Large products take most of the time below a sanitizer, and are traced as other calls are.
[ -z "$NDOCK_TEST_SLICE" ] || few=$(echo "$few" | sed 's/matmul,//') count=2 names= least=25
[ -z "$NDOCK_TEST_SLICE" ] || names="--only $few"
traced() {
    NDOCK_HOOK=trace NDOCK_HOOK_TRACE=$tap_dir/trace NDOCK_CONFORM_COUNT=$count ./tests/conform/conform.t "$1" --only $few \
        >"$tap_dir/log" 2>&1
    status=$?
    grep -v '^ok ' "$tap_dir/log"
    [ $status = 0 ] && [ "$(grep -c '^ok ' "$tap_dir/log")" -gt 25 ]
}

slice() {
    NDOCK_HOOK=$2 NDOCK_HOOK_TRACE=$tap_dir/trace NDOCK_CONFORM_COUNT=2 ./tests/conform/conform.t "$1" $names >"$tap_dir/log" 2>&1
    status=$?
    grep -v '^ok ' "$tap_dir/log"
    [ $status = 0 ] && [ "$(grep -c '^ok ' "$tap_dir/log")" -gt $least ]
}

# Every line but the header: time, thread, device, function, key=value ... = status ... duration.
in_form() {
    [ "$(head -c 16 "$tap_dir/trace")" = '# ndock trace 1,' ] && [ "$(grep -vc '^#' "$tap_dir/trace")" -gt 1000 ] &&
        ! grep -v '^#' "$tap_dir/trace" | grep -Evn \
            '^[0-9]+\.[0-9]{9} t[0-9]+ [a-z][a-z0-9_]*(:[0-9]+)? [a-z]+\.[a-z_]+( [a-z_]+=("([^"\\]|\\.)*"|[^ "]+))* = (OK|[A-Z_]+|0x?[0-9a-f]*)( [a-z_]+=("([^"\\]|\\.)*"|[^ "]+))* [0-9]+ns$'
}

# Handles are numbered from 1 in the order they appear.
numbered() {
    sed -n 's/.* plugin.alloc .* = OK mem=m\([0-9]*\) .*/\1/p' "$tap_dir/trace" | awk '$1 <= last { exit 1 } { last = $1 }'
}

same() {
    ./tools/ndock replay "$@" "$tap_dir/trace" >"$tap_dir/replayed"
    status=$?
    cat "$tap_dir/replayed"
    [ $status = 0 ] && grep -q ' 0 differ' "$tap_dir/replayed" && [ "$(awk 'END { print $1 }' "$tap_dir/replayed")" -gt 1000 ]
}

# A trace made by hand, of the mock without defects: on the mock with one, the status of its call differs, and is told.
by_hand() {
    cat >"$tap_dir/trace" <<'END'
# ndock trace 1, plug-in ABI 0.1, ndock 0
0.000000001 t1 defect plugin.probe n=512 = OK count=1 10ns
0.000000002 t1 defect:0 plugin.open index=0 = OK dev=0 10ns
0.000000003 t1 defect:0 plugin.alloc nbytes=64 = OK mem=m1 10ns
0.000000004 t1 defect:0 plugin.write stream=0 mem=m1 offset=0 nbytes=64 = OK 10ns
0.000000005 t1 defect:0 op.find op=add mode=0 in=f32[4]/[1]c@m1+0 in=f32[4]/[0]#2.5 out=f32[4]/[1]c@m1+32 n=512 = OK kernel=k1 10ns
0.000000006 t1 defect:0 kernel.run kernel=k1 stream=0 op=add mode=0 in=f32[4]/[1]c@m1+0 in=f32[4]/[0]#2.5 out=f32[4]/[1]c@m1+32 = OK 10ns
0.000000007 t1 defect:0 plugin.read stream=0 mem=m1 offset=32 nbytes=16 = OK 10ns
0.000000008 t1 defect:0 plugin.free mem=m1 = 0 10ns
END
}

replay_mock() { # defect, what the last line says
    NDOCK_DEFECT_KIND=$1 ./tools/ndock replay --plugin "$mock" "$tap_dir/trace" >"$tap_dir/replayed"
    cat "$tap_dir/replayed"
    tail -n 1 "$tap_dir/replayed" | grep -q "$2"
}

says() { # words, command...
    words=$1
    shift
    "$@" >"$tap_dir/said" 2>&1
    status=$?
    cat "$tap_dir/said"
    [ $status = 2 ] && grep -q "$words" "$tap_dir/said"
}

check 'a slice of the suite on cpu:0 is traced' traced cpu
check 'every line of it has the form' in_form
check 'handles are numbered in the order they appear' numbered
check 'replayed, every status is the same' same
check 'and with other bytes' same --seed 7
check 'a slice of the suite on sim:0 is traced' traced sim:0
check 'every line of it has the form' in_form
check 'replayed, every status is the same' same
check 'the calls of one plug-in alone, too' same --only sim
check 'and the calls of sim on the CPU plug-in of a file' same --only cpu --plugin "$PWD/backends/cpu/.libs/ndock-cpu.so"

check 'a slice on cpu breaks no rule of the check' slice cpu check
check 'nor on sim, with the trace as well' slice sim:0 check,trace
mocks() {
    for device in tier0:1 tier1:0; do
        NDOCK_PLUGIN_PATH=$PWD/tests/loader/.libs/ndock-${device%:*}.so:$NDOCK_PLUGIN_PATH NDOCK_CONFORM_FALLBACK=allow \
            NDOCK_HOOK=check NDOCK_CONFORM_COUNT=2 ./tests/conform/conform.t $device --only $few >"$tap_dir/log" 2>&1
        status=$?
        grep -v '^ok ' "$tap_dir/log"
        [ $status = 0 ] && [ "$(grep -c '^ok ' "$tap_dir/log")" -gt 25 ] || return 1
    done
}
check 'nor on plug-ins that are staged, or have a few kernels' mocks
by_hand
check 'a trace written by hand is replayed on the mock' replay_mock none '^7 calls replayed, 0 differ, 1 left out'
check 'with a defect, the call that differs is told' replay_mock found_runs '^7 calls replayed, 1 differ, 1 left out'
check 'with its place' grep -q 'trace:7: defect:0 kernel.run gave OK, and now UNSUPPORTED' "$tap_dir/replayed"
echo 'nothing like it' >"$tap_dir/trace"
check 'a file that is no trace is refused' says 'is no trace' ./tools/ndock replay "$tap_dir/trace"
by_hand
echo '0.1 t1 defect:0 plugin.alloc nbytes="64' >>"$tap_dir/trace"
check 'so is a line that is cut off, with its number' says ':10: a text in it does not end' ./tools/ndock replay "$tap_dir/trace"
check 'so is a file that is not there' says 'No such file' ./tools/ndock replay "$tap_dir/nowhere"
check 'and an option that there is not' says 'Usage' ./tools/ndock replay --loud "$tap_dir/trace"

# Traces that were changed: no call reaches out of its block, whatever they say.
changed() { # words, lines behind an alloc of 64 bytes as m1
    words=$1
    shift
    printf '# ndock trace 1, plug-in ABI 0.1, ndock 0\n0.1 t1 cpu:0 plugin.alloc nbytes=64 = OK mem=m1 1ns\n' >"$tap_dir/trace"
    printf '0.2 t1 cpu:0 %s 1ns\n' "$@" >>"$tap_dir/trace"
    ./tools/ndock replay "$tap_dir/trace" >"$tap_dir/said" 2>&1
    status=$?
    cat "$tap_dir/said"
    [ $status = 1 ] && grep -q "$words" "$tap_dir/said"
}
view='f32[4]/[1]c@m1+0' far='f32[4]/[4611686018427387904]@m1+0' out='f32[4]/[1]c@m1+52'
check 'a write behind the block' changed 'out of its block' 'plugin.write stream=0 mem=m1 offset=1000000 nbytes=4096 = OK'
check 'a read across its end' changed 'out of its block' 'plugin.read stream=0 mem=m1 offset=60 nbytes=8 = OK'
check 'one whose end wraps around' changed 'out of its block' 'plugin.write stream=0 mem=m1 offset=18446744073709551608 nbytes=16 = OK'
check 'one of all the bytes there are' changed 'out of its block' 'plugin.write stream=0 mem=m1 offset=0 nbytes=18446744073709551615 = OK'
check 'a write without a block' changed 'was not made' 'plugin.write stream=0 offset=0 nbytes=64 = OK'
check 'into block 0' changed 'was not made' 'plugin.write stream=0 mem=0 offset=0 nbytes=64 = OK'
check 'into a block that is freed' changed 'was not made' 'plugin.free mem=m1 = 0' 'plugin.write stream=0 mem=m1 offset=0 nbytes=64 = OK'
check 'twice freed' changed 'was not made' 'plugin.free mem=m1 = 0' 'plugin.free mem=m1 = 0'
check 'a copy out of a block that there is not' changed 'was not made' 'plugin.copy stream=0 dst=m1 dst_offset=0 src=m9 src_offset=0 nbytes=8 = OK'
for operand in "$far" "$out"; do
    check "an operand $operand" changed 'rule bounds' "op.find op=negative mode=0 in=$view out=$operand = OK kernel=k1"
done
check 'a kernel with operands that it was not found for' changed 'not found for' \
    "op.find op=negative mode=0 in=$view out=$view = OK kernel=k1" "kernel.run kernel=k1 stream=0 op=add mode=0 in=$view in=$view out=$view = OK"
check 'and one that was not found at all' changed 'was not made' "kernel.run kernel=k7 stream=0 op=negative mode=0 in=$view out=$view = OK"
: >"$tap_dir/trace"
check 'an empty file is no trace' says 'empty' ./tools/ndock replay "$tap_dir/trace"
check 'a folder neither' says 'folder' ./tools/ndock replay "$tap_dir"
mkfifo "$tap_dir/pipe"
check 'a pipe is not waited for' says 'pipe' timeout 20 ./tools/ndock replay "$tap_dir/pipe"
unclosed() { # what it makes and does not free; the sanitizer says so
    by_hand
    sed -i '/plugin.free/d;s/ defect/ cpu/' "$tap_dir/trace"
    ASAN_OPTIONS=detect_leaks=1 ./tools/ndock replay "$tap_dir/trace" 2>&1 | tee "$tap_dir/said"
    ! grep LeakSanitizer "$tap_dir/said" && grep 'replayed' "$tap_dir/said"
}
check 'blocks that the trace leaves are freed in the end' unclosed
unwritable() {
    NDOCK_HOOK=trace NDOCK_HOOK_TRACE="$tap_dir/no/folder" ./tools/ndock info 2>&1 | grep 'NDOCK_HOOK_TRACE=.*No such file'
}
check 'a trace file that cannot be made is an error that names it' unwritable
finish
