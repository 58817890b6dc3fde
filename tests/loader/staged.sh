#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# A device with the required functions alone passes the whole conformance suite: every operation is staged through the CPU.
: "${NDOCK_CONFORM_COUNT:=$([ -z "$NDOCK_TEST_LONG" ] && echo 16 || echo 40)}"
NDOCK_PLUGIN_PATH="$PWD/tests/loader/.libs/ndock-tier0.so:$NDOCK_PLUGIN_PATH" \
NDOCK_CONFORM_COUNT=$NDOCK_CONFORM_COUNT NDOCK_CONFORM_FALLBACK=allow exec ./tests/conform/conform.t tier0:1
