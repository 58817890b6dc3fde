#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes quant_golden.inc: random blocks of every quantised format with the elements that the PyPI package gguf finds in them, and
elements with the blocks that gguf (q4_0, q8_0) and ggml itself (q4_K, q6_K: libggml-base of the PyPI package pywhispercpp, given as
argument) make of them. Needs gguf and NumPy: quant_golden.py libggml-base.so >quant_golden.inc"""
import ctypes
import sys

import gguf
import numpy as np
from gguf.constants import GGML_QUANT_SIZES, GGMLQuantizationType

READ = ["q4_0", "q4_1", "q5_0", "q5_1", "q8_0", "q2_K", "q3_K", "q4_K", "q5_K", "q6_K", "iq4_nl"]
WRITTEN = ["q4_0", "q8_0", "q4_K", "q6_K"]


def number(name):
    return GGMLQuantizationType[name.upper()]


def show(kind, name, values, form):
    print(f"static const {kind} {name}[] = {{")
    for i in range(0, len(values), 16):
        print("    " + " ".join(format(v, form) + "," for v in values[i:i + 16].tolist()))
    print("};")


def blocks_of(name, rng):
    """Random bytes, but scales (the f16 at the places named) are finite."""
    block, nbytes = GGML_QUANT_SIZES[number(name)]
    raw = rng.integers(0, 256, (1 if block == 256 else 3, nbytes), dtype=np.uint8)
    halves = {"q4_1": [0, 2], "q5_1": [0, 2], "q2_K": [80, 82], "q3_K": [108], "q4_K": [0, 2], "q5_K": [0, 2], "q6_K": [208]}
    for at in halves.get(name, [0]):
        raw[:, at:at + 2] = rng.standard_normal((len(raw), 1)).astype(np.float16).view(np.uint8)
    return raw


def elements(rng):
    x = (rng.standard_normal((4, 256)) * [[1], [1e-3], [300], [1]]).astype(np.float32)
    x[3, :64] = 0
    x[3, 64:96] = 1
    x[3, 96:128] = -np.abs(x[3, 96:128])
    x[3, 128:160] = np.round(x[3, 128:160] * 2) / 2
    return x


def encoded(name, x, base):
    if name in ("q4_0", "q8_0"):
        return gguf.quants.quantize(x, number(name))
    block, nbytes = GGML_QUANT_SIZES[number(name)]
    out = np.zeros((len(x), x.shape[1] // block * nbytes), np.uint8)
    function = getattr(base, f"quantize_row_{name}_ref")
    function.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64]
    function(x.ctypes.data, out.ctypes.data, x.size)
    return out


def main():
    base = ctypes.CDLL(sys.argv[1])
    rng = np.random.default_rng(16)
    print(f"/* Written by quant_golden.py with the packages gguf and pywhispercpp. */")
    for name in READ:
        raw = blocks_of(name, rng)
        show("uint8_t", f"blocks_{name}", raw.ravel(), "d")
        show("uint32_t", f"elements_{name}", gguf.quants.dequantize(raw, number(name)).ravel().view(np.uint32), "#x")
    x = elements(rng)
    show("uint32_t", "given", x.ravel().view(np.uint32), "#x")
    for name in WRITTEN:
        show("uint8_t", f"encoded_{name}", encoded(name, x, base).ravel(), "d")


main()
