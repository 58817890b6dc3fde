#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Running sums, logsumexp and softmax of lines that are long, or many side by side, so that devices share them out, beside NumPy's
in float64. Elements of sums are multiples of 1/8, so that every sum is exact in float64 and there is one right result."""
import ndock as nd
from arrays import DEVICES, np
from tap import cases, main

UNIT = {"float32": 2.0**-23, "float16": 2.0**-10, "bfloat16": 2.0**-7}


def made(shape, dtype, device, step, seed=1):
    """Multiples of step within 32 of 0, as NumPy's float64 and as an array of the dtype."""
    a = np.random.default_rng(seed).integers(-32, 33, shape) * step
    return a, nd.asarray(a.astype(np.float32), device=device).astype(getattr(nd, dtype))


def read(x):
    return np.from_dlpack(nd.asarray(x.astype(nd.float64), device="cpu"))


# Columns: whole strips, a strip that is not full, strips of the least width; rows: a last tile that is not full.
@cases(*((device, dtype) for device in DEVICES for dtype in ("float32", "float64", "float16", "int32", "uint8", "complex64")))
def test_running_sums_of_neighbouring_lines(device, dtype):
    for shape in ((521, 8468), (1025, 1600), (3, 700, 1412)):
        a = np.random.default_rng(2).integers(0, 9, shape) / (1 if dtype in ("int32", "uint8") else 8)
        a = a.astype(dtype)
        x, axis = nd.asarray(a, device=device), len(shape) - 2
        wide = {"complex64": np.complex128, "int32": np.int64, "uint8": np.uint64}.get(dtype, np.float64)
        want = np.cumsum(a.astype(wide), axis)
        got = np.from_dlpack(nd.asarray(nd.cumulative_sum(x, axis=axis), device="cpu"))
        assert (got == want.astype(got.dtype)).all(), (shape, int((got != want.astype(got.dtype)).sum()))
        again = np.from_dlpack(nd.asarray(nd.cumulative_sum(x, axis=axis), device="cpu"))
        assert got.tobytes() == again.tobytes()


# Sums of few columns are those of longer lines, several rows of which are one: widths that repeat in them, and others.
@cases(*((device, dtype) for device in DEVICES for dtype in ("float32", "float64", "int32", "complex64")))
def test_reductions_of_few_columns(device, dtype):
    rng = np.random.default_rng(4)
    for width in (1, 2, 3, 4, 5, 8, 12, 16, 17, 31):
        for rows in (70001, 1 << 16):
            a = rng.integers(-8, 9, (rows, width)).astype(dtype)
            x = nd.asarray(a, device=device)
            wide = {"complex64": np.complex128, "int32": np.int64}.get(dtype, np.float64)
            assert (np.asarray(nd.asarray(nd.sum(x, axis=0), device="cpu")) == a.sum(0, dtype=wide)).all(), (width, rows)
            if dtype == "complex64":
                continue
            assert (np.asarray(nd.asarray(nd.max(x, axis=0), device="cpu")) == a.max(0)).all(), (width, rows)
            assert (np.asarray(nd.asarray(nd.argmax(x, axis=0), device="cpu")) == a.argmax(0)).all(), (width, rows)


# Many tiles and groups of them, a last one that is not full, several lines at once: who waits for whom, and the same bits each time.
@cases(*((device, dtype) for device in DEVICES for dtype in ("float32", "float64", "float16", "int32", "uint8", "complex64")))
def test_running_sums_of_long_lines(device, dtype):
    for shape in ((280004,), (3, 1 << 20), (1 << 22,)):
        a = (np.random.default_rng(4).integers(0, 9000, shape) < (1 if dtype == "float16" else 4000)).astype(dtype)
        x = nd.asarray(a, device=device)
        wide = {"complex64": np.complex128, "int32": np.int64, "uint8": np.uint64}.get(dtype, np.float64)
        want = np.cumsum(a.astype(wide), -1)
        for _ in range(3):
            got = np.from_dlpack(nd.asarray(nd.cumulative_sum(x, axis=-1), device="cpu"))
            assert (got == want.astype(got.dtype)).all(), (shape, int((got != want.astype(got.dtype)).sum()))


@cases(*DEVICES)
def test_running_sums_have_the_same_bits_each_time(device):
    x = nd.asarray(np.random.default_rng(5).standard_normal(1 << 22).astype(np.float32), device=device)
    results = {np.from_dlpack(nd.asarray(nd.cumulative_sum(x), device="cpu")).tobytes() for _ in range(4)}
    assert len(results) == 1


@cases(*DEVICES)
def test_running_sums_of_views(device):
    a = np.random.default_rng(3).integers(-9, 9, (600, 2064)).astype(np.float32)
    x = nd.asarray(a, device=device)
    for view, b in ((x[:, 8:], a[:, 8:]), (x[:, 1:2049], a[:, 1:2049]), (x[::-1, :2048], a[::-1, :2048]), (x.T, a.T)):
        got = np.from_dlpack(nd.asarray(nd.cumulative_sum(view, axis=0), device="cpu"))
        assert (got == np.cumsum(b.astype(np.float64), 0)).all()


def lse(a, axis):
    most = a.max(axis, keepdims=True)
    return np.log(np.exp(a - most).sum(axis)) + np.squeeze(most, axis)


@cases(*((device, dtype) for device in DEVICES for dtype in ("float32", "float16", "bfloat16")))
def test_logsumexp_of_long_rows(device, dtype):
    for rows, n in ((40, 1003), (70, 1024), (3, 4096), (5, 4104), (7, 8192), (9, 8200), (270, 16384), (4, 16388), (2, 16392), (3, 32768)):
        a, x = made((rows, n), dtype, device, 0.5)
        a[0], a[1, 3] = -40.0, 60.0
        x = nd.asarray(a.astype(np.float32), device=device).astype(getattr(nd, dtype))
        want, got = lse(a, 1), read(nd.logsumexp(x, axis=1))
        bound = (2 if dtype == "float32" else 1) * UNIT[dtype] * np.abs(want)
        assert (np.abs(got - want) <= bound).all(), (rows, n, np.abs((got - want) / bound).max())


@cases(*DEVICES)
def test_logsumexp_of_rows_with_infinities(device):
    for n in (8192, 16384):
        a = np.zeros((5, n), np.float32)
        a[0], a[1, 7], a[2, n - 1], a[3, 5] = -np.inf, np.inf, np.nan, -np.inf
        got = read(nd.logsumexp(nd.asarray(a, device=device), axis=1))
        assert got[0] == -np.inf and got[1] == np.inf and np.isnan(got[2])
        assert abs(got[3] - np.log(n - 1)) < 2e-6 and abs(got[4] - np.log(n)) < 2e-6


def softmax(a, axis):
    e = np.exp(a - a.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


# Rows that a cluster holds in one tile, in many, in a last one that is not full; rows of no whole number of blocks.
@cases(*((device, dtype) for device in DEVICES for dtype in ("float32", "float16", "bfloat16")))
def test_softmax_of_columns(device, dtype):
    for shape in ((130, 4104), (1027, 520), (2048, 264), (8191, 72), (16384, 40), (16385, 24), (3, 300, 1032)):
        a, x = made(shape, dtype, device, 0.25)
        axis = len(shape) - 2
        want = softmax(a, axis)
        far = 1 + np.abs(a - a.max(axis, keepdims=True)) / 4
        got = read(nd.nn.softmax(x, dim=axis))
        least = 2.0**-24 if dtype == "float16" else 0
        bound = (2 if dtype == "float32" else 1) * UNIT[dtype] * far * want + least
        assert (np.abs(got - want) <= bound).all(), (shape, np.abs((got - want) / bound).max())
        logs = np.log(want)
        got = read(nd.nn.log_softmax(x, dim=axis))
        bound = (2 if dtype == "float32" else 1) * UNIT[dtype] * np.maximum(np.abs(logs), 4 * (far - 1))
        assert (np.abs(got - logs) <= bound).all(), (shape, np.abs((got - logs) / bound).max())


@cases(*DEVICES)
def test_softmax_of_columns_with_infinities(device):
    for n in (1024, 16384):
        a = np.zeros((n, 68), np.float32)
        a[3, 0], a[n - 1, 1], a[:, 2], a[5, 3] = np.nan, np.inf, -np.inf, -np.inf
        got = read(nd.nn.softmax(nd.asarray(a, device=device), dim=0))
        assert np.isnan(got[:, :3]).all() and got[5, 3] == 0
        assert (got[:5, 3] == np.float32(1 / (n - 1))).all() and (got[:, 4:] == 1 / n).all()


if __name__ == "__main__":
    main(globals())
