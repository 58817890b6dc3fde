#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Products of whole numbers, which are exact in every dtype, beside NumPy's in float64: of every number of rows and columns that
kernels and their last panels tell apart, dense and transposed, and of operands that fill more than the second cache."""
import itertools
import os

import ndock as nd
from arrays import np
from tap import main

RNG = np.random.default_rng(5)
SLICE = bool(os.environ.get("NDOCK_TEST_SLICE"))
SMALL = (1, 4, 5, 8, 9, 12, 13, 16, 17, 20, 24, 31, 32, 33, 48, 49, 64, 77)[:: -2 if SLICE else 1]
DTYPES = ("float32", "float64", "complex64", "complex128", "int32", "int64", "int8")


def whole(shape, dtype):
    x = RNG.integers(-3, 4, shape)
    return (x + 1j * RNG.integers(-3, 4, shape)).astype(dtype) if dtype.startswith("complex") else x.astype(dtype)


def product(m, k, n, dtype, turned):
    """ndock's product is NumPy's; turned: operands as they lie transposed."""
    a, b = whole((m, k), dtype), whole((k, n), dtype)
    x = nd.asarray(np.ascontiguousarray(a.T), copy=True).T if turned & 1 else nd.asarray(a, copy=True)
    y = nd.asarray(np.ascontiguousarray(b.T), copy=True).T if turned & 2 else nd.asarray(b, copy=True)
    wide = "complex128" if dtype.startswith("complex") else "float64"
    want = (a.astype(wide) @ b.astype(wide)).astype(dtype)
    assert np.array_equal(np.asarray(x @ y), want), f"{m} x {k} by {k} x {n} {dtype} turned {turned}"


def test_edges():
    for dtype in DTYPES:
        if dtype == "int8":
            continue
        for m, n in itertools.product(SMALL, SMALL):
            product(m, 1 + (7 * m + n) % 40, n, dtype, (m + n) % 4)


def test_bytes_wrap():
    for m, n in itertools.product((9, 12, 17, 33), (9, 16, 33)):
        product(m, 14, n, "int8", m % 4)  # at most 14 * 9 = 126


def test_one_tile():
    for n in (100, 127, 128, 129, 150):
        for dtype in ("float32", "float64"):
            product(n, n, n, dtype, 0)


def test_batches_of_small_ones():
    """Kernels that ask for the operands of the next product on the way: the last one, broadcast and strided ones, and columns that
    end in a part of a panel."""
    for dtype, (m, k, n) in itertools.product(DTYPES[:6], ((32, 32, 32), (13, 7, 33), (12, 64, 49), (37, 5, 130))):
        a, b = whole((7, m, k), dtype), whole((7, k, n), dtype)
        wide = "complex128" if dtype.startswith("complex") else "float64"
        want = (a.astype(wide) @ b.astype(wide)).astype(dtype)
        x, y = nd.asarray(a, copy=True), nd.asarray(b, copy=True)
        turned = nd.permute_dims(nd.asarray(np.ascontiguousarray(a.transpose(0, 2, 1)), copy=True), (0, 2, 1))
        wider = nd.asarray(np.concatenate([b, b], axis=2), copy=True)[:, :, n:]
        for left, right, order in ((x, y, slice(None)), (turned, y, slice(None)), (x, wider, slice(None)), (x[::2], y[::2], slice(None, None, 2)),
                                   (x[::-1], y[::-1], slice(None, None, -1))):
            assert np.array_equal(np.asarray(left @ right), want[order]), f"{dtype} {m} x {k} by {k} x {n} {order}"
        assert np.array_equal(np.asarray(x @ y[0]), (a.astype(wide) @ b[0].astype(wide)).astype(dtype))


def test_packed_for_all_tiles():
    for i, dtype in enumerate(DTYPES):
        for turned in () if dtype == "int8" else (i % 4,) if SLICE else range(4):
            product(401, 519, 333, dtype, turned)  # two blocks of k, of 260 and 259


def test_beyond_the_second_cache():
    if not SLICE:
        product(1100, 700, 901, "float32", 0)
        product(611, 600, 700, "float64", 1)
        product(960, 512, 960, "int32", 2)
    product(500, 520, 461, "complex64", 0)


if __name__ == "__main__":
    nd.set_default_device("cpu")
    main(globals())
