#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""GGUF files: those of the PyPI package gguf (kept as seeds of the fuzzer, and made here where it can be imported), round trips,
and what is refused."""
import os
import tempfile

import ndock as nd
from arrays import DEVICES, np
from tap import Skip, cases, main, raises

folder = tempfile.TemporaryDirectory()
PATH = os.path.join(folder.name, "file.gguf")
SEEDS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "fuzz", "seeds", "gguf")
METADATA = {"general.architecture": "tiny", "u8": 255, "i8": -128, "u16": 65535, "i16": -32768, "u32": 2**32 - 1, "i32": -2**31,
            "u64": 2**64 - 1, "i64": -2**63, "f32": float(np.float32(0.1)), "f64": 0.1, "bool": True, "text": "h\u00e9llo",
            "numbers": [1, 2, 3], "floats": [1.5, -2.5], "texts": ["a", "bc", "\u00e9"], "bools": [True, False],
            "nested": [[1, 2], [3]]}
PLAIN = ["float32", "float16", "float64", "int8", "int16", "int32", "int64"]


@cases(*DEVICES)
def test_a_file_of_gguf(device):
    rng = np.random.default_rng(16)
    rng.standard_normal((2, 64))
    with nd.load(os.path.join(SEEDS, "plain"), device=device) as f:
        assert f.metadata == METADATA and f.types["u16"] == "uint16" and f.types["texts"] == "str[]"
        assert list(f) == PLAIN and len(f) == 7 and f.shapes["int8"] == (2, 3)
        for name in PLAIN:
            x = rng.integers(-50, 50, (2, 3)).astype(name)
            assert f[name].dtype == getattr(nd, name) and np.array_equal(np.asarray(f[name].to_device("cpu")), x)
    with nd.load(os.path.join(SEEDS, "blocks")) as f:
        assert f.formats == {"BF16": "bfloat16", "Q4_0": "q4_0", "Q4_1": "q4_1", "Q5_0": "q5_0", "Q5_1": "q5_1", "Q8_0": "q8_0"}
        x = nd.dequantize(f["Q8_0"])
        for name in ("Q4_0", "Q4_1", "Q5_0", "Q5_1"):
            assert f[name].shape == (2, 64) and nd.max(nd.abs(nd.dequantize(f[name]) - x)) < 0.4


def test_both_directions():
    try:
        import gguf
    except ImportError:
        raise Skip("the package gguf is not installed")
    kinds = gguf.GGMLQuantizationType
    rng = np.random.default_rng(3)
    x = rng.standard_normal((3, 512)).astype(np.float32)
    w = gguf.GGUFWriter(PATH, "tiny")
    want = {}
    for kind in (kinds.F16, kinds.BF16, kinds.Q4_0, kinds.Q4_1, kinds.Q5_0, kinds.Q5_1, kinds.Q8_0):
        raw = gguf.quants.quantize(x, kind)
        w.add_tensor(kind.name, raw, raw_dtype=kind)
        want[kind.name] = gguf.quants.dequantize(raw, kind)
    w.write_header_to_file()
    w.write_kv_data_to_file()
    w.write_tensors_to_file()
    w.close()
    f = nd.load(PATH)
    for name, y in want.items():
        a = f[name]
        assert np.array_equal(np.asarray(nd.dequantize(a) if isinstance(a, nd.QuantArray) else a.astype(nd.float32)), y), name
    other = os.path.join(folder.name, "other.gguf")
    ours = {"a": nd.asarray(x), "b": nd.asarray(x).astype(nd.bfloat16), **{k: nd.quantize(nd.asarray(x), k) for k in ("q4_K", "q6_K")}}
    metadata = {k: v for k, v in METADATA.items() if k != "nested"}
    nd.save_gguf(other, ours, metadata=metadata, types={"u8": "uint8", "f32": "float32"})
    r = gguf.GGUFReader(other)
    for k, v in metadata.items():
        assert r.get_field(k).contents() == v, k
    for t in r.tensors:
        if t.name in ("q4_K", "q6_K"):
            assert np.array_equal(gguf.quants.dequantize(t.data, t.tensor_type), np.asarray(nd.dequantize(ours[t.name])))
    assert np.array_equal(r.tensors[0].data, x) and len(r.tensors) == 4


@cases(*DEVICES)
def test_round_trip(device):
    x = nd.reshape(nd.arange(2 * 256, dtype=nd.float32, device=device), (2, 256))
    tensors = {"plain": x, "scalar": x[0, 0], "part": x[:, ::2], "empty": x[:0], "q": nd.quantize(x, "q4_K")}
    metadata = {"layers": 2, "names": ["a", ""], "none": [], "big": [1, -1, 2**40], "eps": 1e-5, "odd": "\udcff"}
    nd.save_gguf(PATH, tensors, metadata=metadata)
    with nd.load(PATH, device=device) as f:
        assert f.metadata == metadata and f.types == {"layers": "uint32", "names": "str[]", "none": "uint32[]", "big": "int64[]",
                                                      "eps": "float64", "odd": "str"}
        for name in ("plain", "scalar", "part", "empty"):
            assert f[name].shape == tensors[name].shape and nd.all(f[name] == tensors[name])
        assert nd.all(f["q"].blocks == tensors["q"].blocks) and "q" in f and "r" not in f
        kept = f["plain"]
    assert kept[1, 0] == 256
    with raises(ValueError, "closed"):
        f["plain"]


def test_errors():
    x = nd.ones(2)
    with raises(TypeError, "uint8"):
        nd.save_gguf(PATH, {"x": x.astype(nd.uint8)})
    with raises(TypeError, "NoneType"):
        nd.save_gguf(PATH, {}, metadata={"a": None})
    with raises(TypeError, "different types"):
        nd.save_gguf(PATH, {}, metadata={"a": [1, "b"]})
    with raises(ValueError, "uint8"):
        nd.save_gguf(PATH, {}, metadata={"a": 256}, types={"a": "uint8"})
    with raises(ValueError, "u9"):
        nd.save_gguf(PATH, {}, metadata={"a": 256}, types={"a": "u9"})
    with raises(OverflowError):
        nd.save_gguf(PATH, {}, metadata={"a": 2**64})
    nd.save_gguf(PATH, {"x": x})
    with raises(KeyError, "'y'", "'x'"):
        nd.load(PATH)["y"]
    with open(PATH, "r+b") as f:
        f.truncate(40)
    with raises(ValueError, "at byte"):
        nd.load(PATH)
    with raises(OSError):
        nd.gguf.GgufFile(PATH + ".missing")
    with nd.load(os.path.join(SEEDS, "other")) as f:
        with raises(TypeError, "35"):
            f["ternary"]


if __name__ == "__main__":
    main(globals())
