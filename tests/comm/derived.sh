#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Collectives that a plug-in lacks are made of those that it has: local.t on a simulator that has no more than is said here.
. "${srcdir:-.}/tests/tap.sh"
with() { NDOCK_SIM_COMM=$1 tests/comm/local.t >"$tap_dir/out" || { grep -v '^ok' "$tap_dir/out"; return 1; }; }
for left in all_gather broadcast send,recv all_reduce,all_gather; do
    check "all collectives by $left alone" with "$left"
done
finish
