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


def package():
    try:
        import gguf
    except ImportError:
        raise Skip("the package gguf is not installed")
    return gguf


NUMBERS = {"F32": "float32", "F16": "float16", "F64": "float64", "I8": "int8", "I16": "int16", "I32": "int32", "I64": "int64"}
BLOCKS = ("Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0", "Q2_K", "Q3_K", "Q4_K", "Q5_K", "Q6_K", "IQ4_NL")


def packed(gguf, rng, name):
    """Two rows of 512 elements as bytes: by the package where it quantises, else any."""
    kind = gguf.GGMLQuantizationType[name]
    block, nbytes = gguf.GGML_QUANT_SIZES[kind]
    try:
        return gguf.quants.quantize(rng.standard_normal((2, 512)).astype(np.float32), kind)
    except NotImplementedError:
        return rng.integers(0, 60, (2, 512 // block * nbytes), dtype=np.uint8)


def test_files_of_the_package():
    """Every type that the package writes: equal elements, bit for bit, and the bytes as they are."""
    gguf, rng, want = package(), np.random.default_rng(3), {}
    w = gguf.GGUFWriter(PATH, "tiny")
    for name, dtype in NUMBERS.items():
        want[name] = rng.integers(-50, 50, (2, 3)).astype(dtype)
        w.add_tensor(name, want[name])
    for name in ("BF16",) + BLOCKS:
        raw = packed(gguf, rng, name)
        w.add_tensor(name, raw, raw_dtype=gguf.GGMLQuantizationType[name])
        want[name] = raw, gguf.quants.dequantize(raw, gguf.GGMLQuantizationType[name])
    w.write_header_to_file()
    w.write_kv_data_to_file()
    w.write_tensors_to_file()
    w.close()
    with nd.load(PATH) as f:
        assert sorted(f) == sorted(want)
        for name in NUMBERS:
            assert f[name].dtype.name == NUMBERS[name] and np.array_equal(np.asarray(f[name]), want[name]), name
        assert np.array_equal(np.asarray(f["BF16"].astype(nd.float32)), want["BF16"][1])
        for name in BLOCKS:
            raw, elements = want[name]
            got = np.asarray(nd.dequantize(f[name]))
            assert f[name].format.upper() == name and np.array_equal(np.asarray(f[name].blocks), raw), name
            assert np.array_equal(got.view(np.uint32), elements.view(np.uint32)), name


def test_our_files_by_the_package():
    """Every type that we write, quantised arrays of any format among them."""
    gguf, rng = package(), np.random.default_rng(4)
    x = rng.standard_normal((3, 512)).astype(np.float32)
    plain = {name: rng.integers(-50, 50, (2, 3)).astype(dtype) for name, dtype in NUMBERS.items()}
    blocks = {name: packed(gguf, rng, name) for name in BLOCKS}
    made = {k: nd.quantize(nd.asarray(x, device="cpu"), k) for k in ("q4_0", "q8_0", "q4_K", "q6_K")}
    ours = {**{k: nd.asarray(v, device="cpu") for k, v in plain.items()}, "BF16": nd.asarray(x, device="cpu").astype(nd.bfloat16),
            **{k: nd.QuantArray(nd.asarray(v, device="cpu"), k.lower().replace("_k", "_K")) for k, v in blocks.items()}, **made}
    metadata = {k: v for k, v in METADATA.items() if k != "nested"}  # the package reads no lists of lists
    nd.save_gguf(PATH, ours, metadata=metadata, types={"u8": "uint8", "f32": "float32"})
    r = gguf.GGUFReader(PATH)
    for k, v in metadata.items():
        assert r.get_field(k).contents() == v, k
    theirs = {t.name: t for t in r.tensors}
    assert list(theirs) == list(ours)
    for name, want in plain.items():
        assert theirs[name].tensor_type.name == name and np.array_equal(theirs[name].data, want), name
    assert np.array_equal(gguf.quants.dequantize(theirs["BF16"].data, theirs["BF16"].tensor_type), np.asarray(ours["BF16"].astype(nd.float32)))
    for name, raw in blocks.items():
        assert theirs[name].tensor_type.name == name and np.array_equal(np.asarray(theirs[name].data).reshape(raw.shape), raw), name
    for name, q in made.items():
        got = gguf.quants.dequantize(theirs[name].data, theirs[name].tensor_type)
        assert theirs[name].tensor_type.name == name.upper() and np.array_equal(got, np.asarray(nd.dequantize(q))), name


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
