#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""save, load and from_file against NumPy's files and hand-made IDX and safetensors."""
import gzip
import json
import os
import pathlib
import struct
import tempfile

import ndock as nd
from arrays import ALL, DEVICES, from_numpy, np, pair, same
from tap import cases, main, raises

folder = tempfile.TemporaryDirectory()
PATH = os.path.join(folder.name, "file")


@cases(*DEVICES)
def test_npy(device):
    rng = np.random.default_rng(2)
    for dtype in ALL:
        for shape in [(), (3, 4), (0, 2)]:
            x, y = pair(rng, dtype, shape, device)
            nd.save(PATH, y)
            read = np.load(PATH)
            assert read.dtype == x.dtype and read.shape == x.shape
            np.testing.assert_array_equal(read, x)
            for order in ("C", "F"):
                with open(PATH, "wb") as f:
                    np.save(f, np.asarray(x, order=order))
                back = nd.load(PATH, device=device)
                assert back.device == y.device
                same(back, x)


def test_paths():
    x = nd.arange(3)
    for path in (PATH, PATH.encode(), pathlib.Path(PATH)):
        nd.save(path, x, sync=True)
        same(nd.load(path), np.arange(3))
    with raises(OSError):
        nd.load(PATH + "-absent")
    with raises(OSError):
        nd.save(os.path.join(folder.name, "absent", "x"), x)
    with raises(TypeError):
        nd.save(3, x)


@cases(*DEVICES)
def test_safetensors(device):
    rng = np.random.default_rng(3)
    (a, x), (b, y) = pair(rng, "float32", (2, 3), device), pair(rng, "int8", (4,), device)
    nd.save(PATH, {"weights": x, "ä": y}, metadata={"made by": "test"})
    with open(PATH, "rb") as f:
        n, = struct.unpack("<Q", f.read(8))
        header = json.loads(f.read(n))
    assert header["weights"]["shape"] == [2, 3] and header["__metadata__"] == {"made by": "test"}
    got = nd.load(PATH, device=device)
    assert set(got) == {"weights", "ä"}
    same(got["weights"], a)
    same(got["ä"], b)
    assert set(nd.load(PATH, names=["ä"])) == {"ä"}
    assert nd.load_metadata(PATH, "made by") == "test" and nd.load_metadata(PATH, "absent") is None
    with raises(IndexError, "weights"):
        nd.load(PATH, names=["absent"])
    with raises(ValueError, "metadata"):
        nd.save(PATH, x, metadata={"a": "b"})
    with raises(TypeError, "ndock.Array"):
        nd.save(PATH, {"a": 1})


@cases(*DEVICES)
def test_idx(device):
    x = np.arange(24, dtype=">i2").reshape(2, 3, 4)
    content = struct.pack(">HBBIII", 0, 0x0B, 3, *x.shape) + x.tobytes()
    for data in (content, gzip.compress(content)):
        with open(PATH, "wb") as f:
            f.write(data)
        same(nd.load(PATH, device=device), x.astype("int16"))


@cases(*DEVICES)
def test_raw_bytes(device):
    x = np.arange(6, dtype="float32")
    with open(PATH, "wb") as f:
        f.write(b"1234" + x.tobytes())
    same(nd.from_file(PATH, nd.float32, offset=4, device=device), x)
    same(nd.from_file(PATH, "float32", (2, 2), offset=8, device=device), x[1:5].reshape(2, 2))
    with raises(ValueError, "too few"):
        nd.from_file(PATH, nd.float64, (4,))
    with raises(ValueError, "dtype"):
        nd.from_file(PATH, shape=(4,))
    nd.save(PATH, nd.arange(2))
    same(nd.from_file(PATH), np.arange(2))


def test_what_is_no_such_file_is_refused():
    for content in (b"", b"hello, world", b"\x93NUMPY", b"\0\0\x0b\x01", struct.pack("<Q", 99) + b"{"):
        with open(PATH, "wb") as f:
            f.write(content)
        with raises(ValueError):
            nd.load(PATH)


if __name__ == "__main__":
    main(globals())
