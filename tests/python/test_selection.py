#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Medians, partitions, histograms and counts of long arrays, which are selected and counted in other ways than short ones, against
NumPy: ties, signed zeros, NaN, infinities, integers at their limits, strided views, edges of every kind."""
import ndock as nd
from arrays import DEVICES, from_numpy, host, np
from tap import cases, main, raises

INTS = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")
FLOATS = ("float16", "float32", "float64")
SIZES = (257, 1000, 1025, 5000, 300001)


def numbers(rng, dtype, n, kind):
    if np.dtype(dtype).kind in "iu":
        limits = np.iinfo(dtype)
        low, high = {"wide": (limits.min, limits.max), "ties": (0, 3), "few": (3, 3)}[kind]
        return rng.integers(low, high, n, dtype=dtype, endpoint=True)
    x = rng.normal(size=n)
    if kind == "ties":
        x = np.round(x)
        x[rng.random(n) < 0.5] = 0
        x *= rng.choice([-1, 1], n)
    if kind == "few":
        x = rng.choice([-np.inf, -1.0, np.inf], n)
    return x.astype(dtype)


def every(device, sizes=SIZES):
    """Arrays of each dtype, size and kind, and views of them. sim computes by the CPU's kernels, for which the longest ones are."""
    rng = np.random.default_rng(3)
    if device.startswith("sim"):
        sizes = [n for n in sizes if n < 300000]
    for dtype in INTS + FLOATS:
        for n in sizes:
            for kind in ("wide", "ties", "few"):
                x = numbers(rng, dtype, n, kind)
                y = from_numpy(x, device)
                yield rng, x, y
                yield rng, x[::-2], y[::-2]


@cases(*DEVICES)
def test_elements_of_the_order_have_the_bits_that_sorting_gives(device):
    for rng, x, y in every(device):
        whole = np.sort(x, kind="stable")
        for k in (0, len(x) // 2, len(x) - 1, int(rng.integers(len(x)))):
            q = k / (len(x) - 1)
            if int(q * (len(x) - 1)) != k:
                continue
            got = host(nd.quantile(y, q, method="lower"))
            # Which of several zeros it is, and so its sign, is the sort's to say and not the order's: -0 + 0 is +0.
            zero = x.dtype.type(0)
            assert got.dtype == x.dtype and (got + zero).tobytes() == (whole[k] + zero).tobytes(), (x.dtype, len(x), k)


@cases(*DEVICES)
def test_medians_along_axes(device):
    rng = np.random.default_rng(4)
    for dtype in ("int16", "int64", "float32", "float64"):
        for shape in [(1500, 3), (3, 1500), (6, 700), (2, 1100, 3), (1024, 9), (9, 512), (5, 513)]:
            x = numbers(rng, dtype, int(np.prod(shape)), "wide").reshape(shape)
            if dtype == "int64":
                x >>= 12  # so that halves of sums are exact
            y = from_numpy(x, device)
            for axis in list(range(-x.ndim, x.ndim)) + [None]:
                want = np.median(x, axis=axis)
                np.testing.assert_allclose(host(nd.median(y, axis=axis)), want, rtol=1e-6 if dtype == "float32" else 1e-15, atol=1e-6 if dtype == "float32" else 1e-15)


@cases(*DEVICES)
def test_nan_makes_nan_of_its_row_alone(device):
    rng = np.random.default_rng(5)
    x = rng.normal(size=(4, 3000))
    x[1, 7] = np.nan
    x[3, 2999] = -np.nan
    got = host(nd.median(from_numpy(x, device), axis=1))
    assert np.isnan(got[[1, 3]]).all()
    np.testing.assert_array_equal(got[[0, 2]], np.median(x[[0, 2]], axis=1))
    np.testing.assert_allclose(host(nd.nanmedian(from_numpy(x, device), axis=1)), np.nanmedian(x, axis=1), rtol=1e-15)
    p = host(nd.partition(from_numpy(x[1], device), 2998))
    assert not np.isnan(p[:2999]).any() and np.isnan(p[2999])


@cases(*DEVICES)
def test_periodic_data_mislead_no_sample(device):
    n = 300000
    for period in (2, 3, 64, 256, n // 1024, n // 1024 + 1, 1024):
        x = (np.arange(n) % period).astype("float64")
        y = from_numpy(x, device)
        for q in (0.01, 0.5, 0.99):
            assert host(nd.quantile(y, q)) == np.quantile(x, q)
        assert host(nd.partition(y, n // 3))[n // 3] == np.sort(x)[n // 3]


@cases(*DEVICES)
def test_partitions_of_long_arrays(device):
    for rng, x, y in every(device, (1000, 1025, 70001)):
        n = len(x)
        whole = np.sort(x)
        for k in (0, n - 1, n // 1000, n - 1 - n // 1000, int(rng.integers(n))):
            by = host(nd.argpartition(y, k))
            for found in (host(nd.partition(y, k)), x[by]):
                assert found[k] == whole[k] and (found[:k] <= whole[k]).all() and (found[k:] >= whole[k]).all()
                np.testing.assert_array_equal(np.sort(found), whole)
            np.testing.assert_array_equal(np.sort(by), np.arange(n))


@cases(*DEVICES)
def test_histograms_of_long_arrays(device):
    for rng, x, y in every(device, (300, 40000)):
        if x.dtype == "float16" or not np.isfinite(x.astype("float64")).all():
            continue
        wide = x.astype("float64") if x.dtype.kind in "iu" else x
        for bins in (1, 10, 333):
            want, edges = np.histogram(wide, bins)
            got, got_edges = nd.histogram(y, bins)
            by_edges = host(got_edges)
            if not np.array_equal(by_edges, edges):  # NumPy's linspace rounds otherwise
                want = np.histogram(wide, by_edges)[0]
            np.testing.assert_array_equal(host(got), want)


@cases(*DEVICES)
def test_edges_of_every_kind(device):
    rng = np.random.default_rng(7)
    inf, nan = np.inf, np.nan
    x = np.concatenate([rng.normal(size=5000), [inf, -inf, nan, 0.0, -0.0, 1.0, 2.0, -1.0] * 3])
    rng.shuffle(x)
    rows = [np.linspace(-2, 2, 100), np.array([-1.0, 0, 1]), np.array([0.0, 0, 0, 1, 1, 2]), np.array([-inf, 0, 1, inf]),
            np.sort(rng.normal(size=64)), np.sort(rng.normal(size=64) ** 9), np.array([1.0, 1.0]), np.array([-1e308, 0, 1e308]),
            np.concatenate([np.linspace(0, 1e-9, 50), [1.0]]), np.array([-0.0, 1, 2]), np.array([5e-324, 1e-323, 1])]
    for edges in rows:
        for dtype in ("float64", "float32"):
            with np.errstate(over="ignore"):
                v, e = x.astype(dtype), edges.astype(dtype)
            want = np.histogram(v[~np.isnan(v)], e)[0]
            y = from_numpy(v, device)
            np.testing.assert_array_equal(host(nd.histogram(y, from_numpy(e, device))[0]), want)
            for side in ("left", "right"):
                np.testing.assert_array_equal(host(nd.searchsorted(from_numpy(e, device), y, side=side)), np.searchsorted(e, v, side))
    weights = rng.random(len(x))
    got = host(nd.histogram(from_numpy(x, device), 7, (-2, 2), weights=from_numpy(weights, device))[0])
    known = ~np.isnan(x)
    np.testing.assert_allclose(got, np.histogram(x[known], 7, (-2, 2), weights=weights[known])[0], rtol=1e-13)


@cases(*DEVICES)
def test_searches_among_integers_that_follow_each_other(device):
    rng = np.random.default_rng(8)
    for dtype in INTS:
        limits = np.iinfo(dtype)
        x = np.concatenate([numbers(rng, dtype, 400, "wide"), np.array([limits.min, limits.max, 0, 1, 100], dtype)])
        for low in (limits.min, 0, limits.max - 100):
            row = np.arange(low, low + 100 + (low < 0), dtype=dtype)
            for side in ("left", "right"):
                got = nd.searchsorted(from_numpy(row, device), from_numpy(x, device), side=side)
                np.testing.assert_array_equal(host(got), np.searchsorted(row, x, side))


@cases(*DEVICES)
def test_bincount_of_long_arrays(device):
    rng = np.random.default_rng(9)
    for dtype in INTS + ("bool",):
        top = 1 if dtype == "bool" else min(np.iinfo(dtype).max, 70000)
        for high in {top, top // 2, 0}:
            for n in (1000, 40000, 100003):
                x = rng.integers(0, high, n, endpoint=True).astype(dtype)
                x[n // 2] = top  # which a sample may miss
                y = from_numpy(x, device)
                for length in (0, 5, 300):
                    np.testing.assert_array_equal(host(nd.bincount(y, minlength=length)), np.bincount(x.astype("int64"), minlength=length))
                np.testing.assert_array_equal(host(nd.bincount(y[::-3])), np.bincount(x[::-3].astype("int64")))
    x = np.zeros(50000, "int32")
    x[12345] = -7
    with raises(ValueError, "-7"):
        nd.bincount(from_numpy(x, device))


@cases(*DEVICES)
def test_bincount_into_many(device):
    rng = np.random.default_rng(9)
    for size, high in ((400_000, 70_000), (300_000, 65_535)):
        x = rng.integers(0, high, size)
        x[::3], x[1::5] = 17, high - 1  # far more than 256 times
        for dtype in ("int64", "int32", "uint32"):
            np.testing.assert_array_equal(host(nd.bincount(from_numpy(x.astype(dtype), device))), np.bincount(x))


@cases(*DEVICES)
def test_points_outside_the_grid_are_not_counted(device):
    rng = np.random.default_rng(10)
    x, y = rng.normal(size=(2, 5000))
    x[::50], y[7] = np.nan, np.inf
    where = [(-1.0, 1.5), (-2.0, 0.5)]
    inside = np.isfinite(x) & np.isfinite(y)
    want = np.histogram2d(x[inside], y[inside], [7, 5], where)[0]
    got = nd.histogram2d(from_numpy(x, device), from_numpy(y, device), (7, 5), where)[0]
    np.testing.assert_array_equal(host(got), want)


if __name__ == "__main__":
    main(globals())
