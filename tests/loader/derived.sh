#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# What a device lacks is derived from what it has, without the CPU: staging is forbidden here. Dense-only kernels get packed operands.
NDOCK_PLUGIN_PATH="$PWD/tests/loader/.libs/ndock-tier1.so:$NDOCK_PLUGIN_PATH"
export NDOCK_PLUGIN_PATH
n=0 failed=0
for op in multiply subtract divide maximum less fill copy square relu logical_not greater greater_equal not_equal clip; do
  n=$((n + 1))
  if NDOCK_CONFORM_COUNT=60 ./tests/conform/conform.t tier1 --only $op | sed -n '/^#/p; /^not ok/q1' >&2; then
    echo "ok $n - $op on tier1"
  else
    echo "not ok $n - $op on tier1"
    failed=1
  fi
done
echo "1..$n"
exit $failed
