#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes fp8_golden.inc: the values of all codes of float8_e4m3fn and float8_e5m2 as bits of float32, and numbers of float32, random
ones and those halfway between neighbours among them, with the codes that they are rounded to. By ml_dtypes of PyPI, which does not
saturate: only numbers in the formats' range are written. fp8_golden.py >fp8_golden.inc"""
import ml_dtypes
import numpy as np


def show(kind, name, values, form):
    print(f"static const {kind} {name}[] = {{")
    for i in range(0, len(values), 8):
        print("    " + " ".join(format(int(v), form) + "," for v in values[i:i + 8]))
    print("};")


print("/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception\n * Written by fp8_golden.py. */")
for name, dtype, most in (("e4m3", ml_dtypes.float8_e4m3fn, 448), ("e5m2", ml_dtypes.float8_e5m2, 57344)):
    codes = np.arange(256, dtype=np.uint8)
    values = codes.view(dtype).astype(np.float32)
    show("uint32_t", f"values_{name}", values.view(np.uint32), "#010x")
    rng = np.random.default_rng(8)
    near = np.sort(values[np.isfinite(values) & (values >= 0)])
    middle = (near[1:] + near[:-1]) / 2
    some = np.concatenate([middle, np.nextafter(middle, np.float32(0)), np.nextafter(middle, np.float32(1e9)),
                           (rng.standard_normal(64) * 2.0 ** rng.integers(-14, 7, 64)).astype(np.float32)])
    some = np.concatenate([some, -some]).astype(np.float32)
    some = some[np.abs(some) <= most]
    show("uint32_t", f"numbers_{name}", some.view(np.uint32), "#010x")
    show("uint8_t", f"codes_{name}", some.astype(dtype).view(np.uint8), "#04x")
