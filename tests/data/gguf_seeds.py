#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes the GGUF files of tests/fuzz/seeds/gguf with the PyPI package gguf, of a fixed seed: gguf_seeds.py FOLDER"""
import os
import struct
import sys

import gguf
import numpy as np
from gguf.constants import GGMLQuantizationType


def write(path, tensors, metadata, alignment=None):
    w = gguf.GGUFWriter(path, "tiny")
    if alignment:
        w.add_custom_alignment(alignment)
    metadata(w)
    for name, array, kind in tensors:
        w.add_tensor(name, array, raw_dtype=kind)
    w.write_header_to_file()
    w.write_kv_data_to_file()
    w.write_tensors_to_file()
    w.close()


def every_type(w):
    w.add_uint8("u8", 255)
    w.add_int8("i8", -128)
    w.add_uint16("u16", 65535)
    w.add_int16("i16", -32768)
    w.add_uint32("u32", 2**32 - 1)
    w.add_int32("i32", -2**31)
    w.add_uint64("u64", 2**64 - 1)
    w.add_int64("i64", -2**63)
    w.add_float32("f32", 0.1)
    w.add_float64("f64", 0.1)
    w.add_bool("bool", True)
    w.add_string("text", "h\u00e9llo")
    w.add_array("numbers", [1, 2, 3])
    w.add_array("floats", [1.5, -2.5])
    w.add_array("texts", ["a", "bc", "\u00e9"])
    w.add_array("bools", [True, False])
    w.add_array("nested", [[1, 2], [3]])


def zero_and_huge(path):
    """A tensor without elements, of which one extent is beyond what strides can be; the package writes none."""
    extents = (0, 6917529027641081858, 0)
    head = b"GGUF" + struct.pack("<IQQ", 3, 1, 0) + struct.pack("<Q", 1) + b"t" + struct.pack("<I3QIQ", 3, *extents, 0, 0)
    with open(path, "wb") as f:
        f.write(head + bytes(-len(head) % 32))


def main():
    folder = sys.argv[1]
    rng = np.random.default_rng(16)
    x = rng.standard_normal((2, 64)).astype(np.float32)
    plain = [(np.dtype(t).name, rng.integers(-50, 50, (2, 3)).astype(t), None)
             for t in (np.float32, np.float16, np.float64, np.int8, np.int16, np.int32, np.int64)]
    blocks = []
    for name in ("BF16", "Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0"):
        kind = GGMLQuantizationType[name]
        blocks.append((name, gguf.quants.quantize(x, kind), kind))
    write(os.path.join(folder, "plain"), plain, every_type)
    write(os.path.join(folder, "blocks"), blocks, lambda w: None)
    write(os.path.join(folder, "aligned"), plain[:2], lambda w: None, 64)
    write(os.path.join(folder, "other"), [("ternary", gguf.quants.quantize(np.ones((1, 256), np.float32), GGMLQuantizationType.TQ2_0),
                                           GGMLQuantizationType.TQ2_0), *plain[:1]], lambda w: None)
    zero_and_huge(os.path.join(folder, "zero_and_huge"))


main()
