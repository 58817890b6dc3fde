# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The dtype of dtype.patch, from Python: made, filled, converted, printed, saved, exchanged, and refused for arithmetic, on both devices.
What an element means comes from Python's struct module, whose binary16 has the same upper byte; the nearest element is searched for."""
import math
import os
import random
import struct
import tempfile

import ndock as nd

VALUES = [struct.unpack(">e", bytes((code, 0)))[0] for code in range(256)]
FINITE = sorted((v, code) for code, v in enumerate(VALUES) if math.isfinite(v) and code != 0x80)
TYPES = (nd.bool, nd.int8, nd.int16, nd.int32, nd.int64, nd.uint8, nd.uint16, nd.uint32, nd.uint64, nd.float16, nd.bfloat16, nd.float32,
         nd.float64, nd.complex64, nd.complex128)


def same(a, b):
    return math.isnan(a) and math.isnan(b) or a == b and math.copysign(1, a) == math.copysign(1, b)


def nearest(x):
    """The value of the element next to x, the even one of two; infinite from half a step beyond the largest."""
    if math.isnan(x) or x == 0 or abs(x) >= 61440:
        return x if math.isnan(x) or x == 0 else math.copysign(math.inf, x)
    value, _ = min(FINITE, key=lambda f: (abs(f[0] - x), f[1] & 1))
    return math.copysign(value, x)


def refused(call, *words):
    try:
        call()
    except (TypeError, BufferError) as e:
        assert all(w in str(e) for w in words), e
    else:
        raise AssertionError(f"not refused: {words}")


def saturated(x, low, high):
    return 0 if math.isnan(x) else low if x <= low else high if x >= high else int(x)


def every_element(device):
    path = os.path.join(tempfile.mkdtemp(), "all.npy")
    with open(path, "wb") as file:  # the 256 elements, as bytes that NumPy calls void
        header = "{'descr': '|V1', 'fortran_order': False, 'shape': (256,), }"
        header += " " * (117 - len(header)) + "\n"
        file.write(b"\x93NUMPY\1\0" + struct.pack("<H", len(header)) + header.encode() + bytes(range(256)))
    refused(lambda: nd.load(path, device=device), "V1")
    return nd.load(path, dtype=nd.frob8, device=device), path


def conversions(x, device):
    assert all(same(a, b) for a, b in zip(x.tolist(), VALUES)), device
    for dtype in TYPES:
        got = nd.astype(x, dtype).tolist()
        for v, y in zip(VALUES, got):
            if dtype == nd.bool:
                assert y is (v != 0), (dtype, v, y)
            elif dtype.kind in "iu":
                info = nd.iinfo(dtype)
                assert y == saturated(v, info.min, info.max), (dtype, v, y)
            else:  # each holds every value
                assert same(y.real, v) and y.imag == 0, (dtype, v, y)
    rng = random.Random(7)
    some = [rng.choice((-1, 1)) * rng.random() * 2.0 ** rng.randrange(-20, 18) for _ in range(500)]
    some += [(a[0] + b[0]) / 2 * by for a, b in zip(FINITE, FINITE[1:]) for by in (1, 1 - 2.0 ** -30, 1 + 2.0 ** -30)]
    some += [61440.0, 61439.99, -61440.0, 1e300, math.inf, -math.inf, math.nan, 0.0, -0.0, 2.0 ** -17, 2.0 ** -17 * (1 + 2.0 ** -40)]
    got = nd.astype(nd.asarray(some, dtype=nd.float64, device=device), nd.frob8).tolist()
    assert all(same(a, nearest(b)) for a, b in zip(got, some)), device
    ints = [0, 1, -1, 5, 9, 11, 13, 100, -1000, 57344, 61439, 61440, 2**40, -2**62]
    got = nd.astype(nd.asarray(ints, dtype=nd.int64, device=device), nd.frob8).tolist()
    assert got == [nearest(float(i)) for i in ints], (device, got)
    assert nd.astype(nd.asarray([True, False], device=device), nd.frob8).tolist() == [1.0, 0.0]


def moves(x, device):
    y = nd.asarray([[1.5, -2.0, 448.0], [0.1, math.inf, 0.0]], dtype=nd.frob8, device=device)
    assert y.dtype == nd.frob8 == "frob8" and y.itemsize == 1, y
    assert repr(y).splitlines()[0].startswith("array([[") and "frob8" in repr(y), repr(y)
    assert y.T[::2, ::-1].tolist() == [[nearest(0.1), 1.5], [0.0, 448.0]]
    assert nd.full((2, 3), 3.0, dtype=nd.frob8, device=device).tolist() == [[3.0] * 3] * 2
    assert nd.concat([y, y[:1]]).tolist()[2] == [1.5, -2.0, 448.0]
    assert nd.take(y, nd.asarray([2, 0], device=device), axis=1).tolist()[0] == [448.0, 1.5]
    assert y[nd.asarray([True, False], device=device)].tolist() == [[1.5, -2.0, 448.0]]
    z = y.copy()
    z[0, 1:] = 7
    z[1, 0] = nd.asarray(2.0, dtype=nd.float32, device=device)
    assert z.tolist() == [[1.5, 7.0, 7.0], [2.0, math.inf, 0.0]], z
    try:
        nd.full(1, 1e6, dtype=nd.frob8, device=device)
    except OverflowError as e:
        assert "frob8" in str(e)
    else:
        raise AssertionError("1e6 is no frob8")
    assert nd.result_type(nd.frob8, nd.bool) == nd.frob8
    assert nd.finfo(nd.frob8).max == 57344.0 and nd.finfo(nd.frob8).eps == 0.25
    assert (y + y).dtype == nd.frob8 and (y + y).tolist()[0] == [3.0, -4.0, 896.0]
    for call in (lambda: y @ y.T, lambda: nd.scaled_mm(y, y.T, 1.0, 1.0), lambda: nd.arange(3, dtype=nd.frob8, device=device),
                 lambda: nd.random.uniform(size=3, dtype=nd.frob8, device=device)):
        refused(call, "frob8")
    refused(lambda: y + nd.ones(3, dtype=nd.float32, device=device), "frob8")


def outside(x, path, device):
    nd.save(path, x[::-1])
    assert all(same(a, b) for a, b in zip(nd.load(path, dtype=nd.frob8, device=device).tolist(), VALUES[::-1]))
    file = path + ".safetensors"
    nd.save(file, {"x": x})
    assert all(same(a, b) for a, b in zip(nd.load(file, device=device)["x"].tolist(), VALUES))
    back = nd.from_dlpack(x)
    assert back.dtype == nd.frob8 and all(same(a, b) for a, b in zip(back.tolist(), VALUES))
    if device == "cpu:0":
        refused(lambda: memoryview(x), "frob8")


for device in "cpu:0", "sim:0":
    x, path = every_element(device)
    conversions(x, device)
    moves(x, device)
    outside(x, path, device)
print("nd.frob8 on cpu:0 and sim:0")
