#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Expressions on a CUDA device give the bits of their operations called one by one, from C and from Python.
. "$srcdir/tests/tap.sh"
. "$srcdir/tests/cuda/device.sh"
NDOCK_TEST_DEVICES=cuda:0
NDOCK_TEST_FUSED=1
export NDOCK_TEST_DEVICES NDOCK_TEST_FUSED

quiet() { "$@" >"$tap_dir/log" 2>&1 || { grep -v '^ok ' "$tap_dir/log"; return 1; }; }
python() {
    PYTHONPATH=$PWD/python:$srcdir/tests/python LD_LIBRARY_PATH=$PWD/.libs quiet "$PYTHON" -B "$srcdir/tests/python/$1"
}

need_cuda 'expressions on cuda:0'
check 'every operation, every conversion and random expressions have the same bits' quiet tests/fuse/same_bits.t
check 'fused functions of Python have the same bits' python test_fuse.py
check 'and those that the driver assembles, operation by operation' python test_fuse_words.py
finish
