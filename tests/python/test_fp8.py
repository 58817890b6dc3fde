#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The 8-bit floating dtypes from Python: lists, text, files, exchange with ml_dtypes and PyTorch where they are installed, and products
with scales against NumPy."""
import os
import pickle
import tempfile

import ndock as nd
from arrays import DEVICES, np
from tap import Skip, cases, main, raises

FORMATS = ("float8_e4m3fn", "float8_e5m2")
# Smallest subnormal, smallest normal, largest: OCP 8-bit floating point specification 1.0, tables 1 and 2.
ENDS = {"float8_e4m3fn": (2.0**-9, 2.0**-6, 448.0), "float8_e5m2": (2.0**-16, 2.0**-14, 57344.0)}


@cases(*[(device, name) for device in DEVICES for name in FORMATS])
def test_lists_and_text(device, name):
    least, _, most = ENDS[name]
    x = nd.asarray([0.0, -1.5, least, most, 3.0], dtype=name, device=device)
    assert x.dtype == getattr(nd, name) and x.itemsize == 1 and x.nbytes == 5
    assert x.tolist() == [0.0, -1.5, least, most, 3.0]
    assert f"dtype={name}" in repr(x) and "-1.5" in repr(x)
    assert nd.asarray([1.0625, 1.1875], dtype="float8_e4m3fn", device=device).tolist() == [1.0, 1.25]  # ties to even
    assert float(x[3]) == most and not bool(x[0])


@cases(*FORMATS)
def test_limits(name):
    least, normal, most = ENDS[name]
    limits = nd.finfo(name)
    assert (limits.bits, limits.max, limits.smallest_normal, limits.smallest_subnormal) == (8, most, normal, least)
    assert nd.asarray(1.0, dtype=name) + 0 == 1 and (1 + limits.eps) == float(nd.asarray(1 + limits.eps, dtype=name))
    assert nd.isdtype(getattr(nd, name), "real floating")


@cases(*FORMATS)
def test_casts_saturate(name):
    most = ENDS[name][2]
    x = nd.asarray([1e9, -1e9, float("inf"), float("nan")], dtype=nd.float64).astype(name).tolist()
    assert x[:3] == [most, -most, most] and x[3] != x[3]


@cases(*[(device, name) for device in DEVICES for name in FORMATS])
def test_operations_round_to_the_dtype(device, name):
    rng = np.random.default_rng(3)
    x = nd.asarray(rng.uniform(-3, 3, 100), device=device).astype(name)
    wide = np.asarray(x.astype("float32").to_device("cpu"))
    for ours, theirs in ((x * x, wide * wide), (nd.exp(x), np.exp(wide)), (x + 1, wide + np.float32(1)), (-x, -wide),
                         (nd.where(x > 0, x, 0 * x), np.where(wide > 0, wide, 0))):
        assert ours.dtype == x.dtype
        assert ours.tolist() == nd.asarray(theirs.astype(np.float32)).astype(name).tolist()
    assert nd.max(x).item() == wide.max() and nd.argsort(x).tolist() == np.argsort(wide, kind="stable").tolist()
    assert nd.sum(x, dtype=nd.float32).dtype == nd.float32
    with raises(TypeError, "float32", "astype"):
        x + nd.asarray(wide, device=device)


@cases(*FORMATS)
def test_files(name):
    x = nd.asarray([1.5, -2.0, 0.25], dtype=name)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "x.safetensors")
        nd.save(path, {"x": x})
        back = nd.load(path)["x"]
        assert back.dtype == x.dtype and back.tolist() == x.tolist()
        path = os.path.join(folder, "x.npy")
        nd.save(path, x)
        back = nd.load(path, dtype=name)
        assert back.dtype == x.dtype and back.tolist() == x.tolist()
    assert pickle.loads(pickle.dumps(x)).tolist() == x.tolist()


@cases(*FORMATS)
def test_ml_dtypes(name):
    try:
        import ml_dtypes
    except ImportError:
        raise Skip("no ml_dtypes") from None
    theirs = np.arange(256, dtype=np.uint8).view(getattr(ml_dtypes, name))
    x = nd.asarray(theirs, device="cpu")
    assert x.dtype == getattr(nd, name)
    wide, want = np.asarray(x.astype("float32")), theirs.astype(np.float32)
    assert np.all((wide == want) | (np.isnan(wide) & np.isnan(want)))
    # Without saturation, so in range alone.
    some = np.random.default_rng(1).uniform(-400, 400, 1000).astype(np.float32)
    assert nd.asarray(some, device="cpu").astype(name).tolist() == some.astype(getattr(ml_dtypes, name)).tolist()


@cases(*FORMATS)
def test_nonzero(name):
    x = nd.asarray([0.0, -0.0, 1.0, -2.0, 0.0], dtype=name, device="cpu")
    assert nd.nonzero(x)[0].tolist() == [2, 3]


@cases(*FORMATS)
def test_dlpack(name):
    x = nd.asarray([1.5, -2.0], dtype=name, device="cpu")
    assert nd.from_dlpack(x).dtype == x.dtype
    if "san.so" in os.environ.get("LD_PRELOAD", ""):
        raise Skip("PyTorch does not start below a sanitizer's library")
    try:
        import torch
    except ImportError:
        raise Skip("no torch") from None
    try:
        t = torch.from_dlpack(x)
    except (RuntimeError, BufferError, TypeError) as e:
        raise Skip(f"this PyTorch exchanges no 8-bit floats: {e}") from None
    assert t.dtype == getattr(torch, name) and t.float().tolist() == [1.5, -2.0]
    assert nd.from_dlpack(t).tolist() == [1.5, -2.0]


@cases(*DEVICES)
def test_scaled_mm(device):
    rng = np.random.default_rng(5)
    wide = [rng.uniform(-2, 2, shape).astype(np.float32) for shape in ((20, 48), (32, 48))]
    a, b = (nd.asarray(x, device=device).astype("float8_e4m3fn") for x in wide)
    left, right = (np.asarray(x.astype("float32").to_device("cpu")).astype(np.float64) for x in (a, b))
    rows, columns = rng.uniform(1, 2, (20, 1)).astype(np.float32), rng.uniform(1, 2, (1, 32)).astype(np.float32)
    bias = rng.uniform(-1, 1, 32).astype(np.float32)

    def close(got, want, tolerance):
        return np.allclose(np.asarray(got.astype("float32").to_device("cpu")), want, rtol=tolerance, atol=tolerance)
    assert close(nd.scaled_mm(a, b.T, 0.5, 3.0), left @ right.T * 1.5, 1e-5)
    on = [nd.asarray(x, device=device) for x in (rows, columns, bias)]
    got = nd.scaled_mm(a, b.T, on[0], on[1], bias=on[2], dtype=nd.bfloat16)
    assert got.dtype == nd.bfloat16 and close(got, left @ right.T * rows * columns + bias, 2e-2)
    out = nd.zeros((20, 32), dtype=nd.float32, device=device)
    assert nd.scaled_mm(a, b.T, 1.0, 1.0, out=out) is out and close(out, left @ right.T, 1e-5)
    with raises(TypeError, "float32", "float8_e4m3fn"):
        nd.scaled_mm(on[0], b.T, 1.0, 1.0)
    with raises(ValueError, "inner"):
        nd.scaled_mm(a, b, 1.0, 1.0)


if __name__ == "__main__":
    main(globals())
