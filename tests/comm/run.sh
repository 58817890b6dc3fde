#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# `ndock run`: ranks find each other and exchange; what they print has their number; when one fails all end, and its words come last.
. "${srcdir:-.}/tests/tap.sh"
run() { timeout 100 tools/ndock run "$@" >"$tap_dir/out" 2>"$tap_dir/err"; }
exchange() { run -n "$1" tests/comm/processes.t && ! grep -q 'not ok' "$tap_dir/out" && grep -q "^\[$(($1 - 1))\] ok 12" "$tap_dir/out"; }
fails() { run -n 3 sh -c 'echo out of "$RANK"; test "$RANK" = 1 || exec sleep 60; sleep 1; echo bad news >&2; exit 7'; test $? = 7; }
words_last() { tail -n 1 "$tap_dir/err" | grep -q 'rank 1 ended with status 7' && tail -n 3 "$tap_dir/err" | grep -q 'bad news'; }
killed() { run -n 2 sh -c 'test "$RANK" = 1 || exec sleep 60; kill -9 $$'; test $? = 137 && grep -q 'signal 9' "$tap_dir/err"; }
says() { run "$@"; grep -q "$want" "$tap_dir/out" "$tap_dir/err"; }

check 'two ranks: every collective' exchange 2
check 'four ranks' exchange 4
check 'the status of the rank that failed is that of the command' fails
check 'lines begin with the rank' grep -q '^\[1\] out of 1' "$tap_dir/out"
check 'what the rank said comes last' words_last
check 'a rank that is killed ends the others' killed
want='NDOCK_DEVICE=cuda:1' check 'a device for each' says -n 2 --device cuda sh -c 'echo "NDOCK_DEVICE=$NDOCK_DEVICE"'
want='mpirun -n 2 --host a,b -x NDOCK_PLUGIN_PATH program x' check 'several machines: how MPI does it' says -n 2 --hosts a,b program x
want='1 to 256' check 'a number is needed' says program
want='cannot\|No such file' check 'a program that is not there' says -n 2 ./not-there
finish
