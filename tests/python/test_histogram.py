#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Histograms, counting, and comparisons to a tolerance against NumPy, on random strided views."""
import ndock as nd
from arrays import DEVICES, INTS, REALS, from_numpy, host, np, pair, same
from tap import cases, main, raises

SHAPES = [(), (1,), (7,), (3, 4), (2, 3, 5), (0,), (3, 0, 2), (400,)]


def each(device, dtypes, shapes=SHAPES):
    rng = np.random.default_rng(8)
    for dtype in dtypes:
        for shape in shapes:
            yield (rng,) + pair(rng, dtype, shape, device)


@cases(*DEVICES)
def test_histogram_of_equal_bins(device):
    for rng, x, y in each(device, ("bool",) + INTS + ("float32", "float64")):
        wide = x if x.dtype.name == "float32" else x.astype("float64")
        for bins, where in [(10, None), (1, None), (7, (-2.0, 1.5)), (3, (0, 0)), (1000, (-1, 1))]:
            counts, edges = np.histogram(wide, bins, where)
            got, got_edges = nd.histogram(y, bins, where)
            same(got, counts)
            same(got_edges, edges.astype(wide.dtype), 1e-6 if wide.dtype == np.float32 else 1e-15)


@cases(*DEVICES)
def test_elements_on_edges_belong_to_the_upper_bin(device):
    """Where arithmetic rounds, what the edges say counts."""
    rng = np.random.default_rng(1)
    for bins, low, high in [(10, 0.0, 1.0), (49, -0.3, 0.7), (1000, 1e-3, 3.3), (7, -1e9, 1e9)]:
        edges = np.histogram_bin_edges(np.zeros(1), bins, (low, high))
        x = np.concatenate([edges, np.nextafter(edges, -np.inf), np.nextafter(edges, np.inf), rng.uniform(low, high, 500)])
        want = np.searchsorted(edges, x, "right") - 1
        want[x == edges[-1]] = bins - 1
        want = want[(x >= low) & (x <= high)]
        got, got_edges = nd.histogram(from_numpy(x, device), bins, (low, high))
        same(got_edges, edges)
        same(got, np.bincount(want, minlength=bins))


@cases(*DEVICES)
def test_few_elements_are_in_the_range(device):
    """Where most lie outside, they are looked at a few at a time; those inside stand alone and beside each other."""
    rng = np.random.default_rng(5)
    for dtype in ("int64", "uint64", "int32", "uint8", "float32", "float64"):
        x = rng.integers(20, 120, 50001).astype(dtype)
        at = np.concatenate([rng.integers(0, x.size, 40), np.arange(2000, 2100)])
        x[at] = rng.integers(0, 9, at.size).astype(dtype)
        if dtype == "int64":
            x[7::500], x[8::500] = np.iinfo(dtype).min, np.iinfo(dtype).max
        if dtype.startswith("float"):
            x[7::500], x[8::500], x[9::500] = np.nan, np.inf, -np.inf
        inside = x[(x >= 1) & (x <= 6)].astype(np.float64)
        for bins in (5, 20, 3000):
            same(nd.histogram(from_numpy(x, device), bins, (1, 6))[0], np.histogram(inside, np.linspace(1, 6, bins + 1))[0])


@cases(*DEVICES)
def test_histogram_of_given_edges_and_weights(device):
    for rng, x, y in each(device, INTS[:2] + ("float32", "float64")):
        edges = np.array([-3.0, -1.0, 0.0, 0.5, 4.0])
        same(nd.histogram(y, from_numpy(edges, device))[0], np.histogram(x, edges)[0])
        for kind, sums in (("int8", "int64"), ("uint16", "uint64"), ("float32", "float64"), ("complex128", "complex128")):
            w, v = pair(rng, kind, x.shape, device)
            for bins in (6, edges):
                if isinstance(bins, int) or kind != "complex128":
                    want = np.histogram(x.astype("float64"), bins, (-5, 5) if isinstance(bins, int) else None,
                                        weights=w.astype(sums))[0]
                else:
                    want = sum(np.histogram(x, bins, weights=p)[0] * u for p, u in ((w.real, 1), (w.imag, 1j)))
                b = from_numpy(edges, device) if bins is edges else bins
                got = nd.histogram(y, b, None if bins is edges else (-5, 5), weights=v)[0]
                same(got, want.astype(sums), 1e-12)
        if x.size > 1:
            with np.errstate(all="ignore"):
                same(nd.histogram(y, from_numpy(edges, device), density=True)[0], np.histogram(x, edges, density=True)[0], 1e-14)


@cases(*DEVICES)
def test_nan_and_infinities_are_in_no_bin(device):
    x = from_numpy(np.array([np.nan, 1.0, np.inf, 2.0, -np.inf, 3.0]), device)
    same(nd.histogram(x, 2, (1, 3))[0], np.array([1, 2]))
    same(nd.histogram(x, from_numpy(np.array([0.0, 2.0, 9.0]), device))[0], np.array([1, 2]))
    with raises(ValueError, "range"):
        nd.histogram(x, 2)


@cases(*DEVICES)
def test_rules_for_bins(device):
    rng = np.random.default_rng(2)
    for n in (1, 2, 3, 50, 1000):
        for x in (rng.normal(0, 1, n), rng.exponential(2, n), np.full(n, 3.0), rng.integers(0, 9, n).astype("float64")):
            y = from_numpy(x, device)
            for rule in ("fd", "doane", "scott", "rice", "sturges", "sqrt", "auto"):
                want = np.histogram_bin_edges(x, rule)
                got = nd.histogram_bin_edges(y, rule)
                assert got.shape == want.shape, (rule, n, got.shape, want.shape)
                same(got, want, 1e-14)
            same(nd.histogram_bin_edges(y, "rice", (0.0, 2.5)), np.histogram_bin_edges(x, "rice", (0.0, 2.5)), 1e-14)
    with raises(ValueError, "sturges"):
        nd.histogram(y, "guess")


@cases(*DEVICES)
def test_histogramdd(device):
    rng = np.random.default_rng(3)
    for n, d in [(0, 1), (1, 2), (60, 1), (200, 2), (90, 3)]:
        x, y = pair(rng, "float64", (n, d), device)
        bins = [3, 4, 2][:d]
        where = [(-2.0, 2.0), (-1.0, 3.0), (-3.0, 3.0)][:d]
        edges = [np.array([-2.0, 0.0, 0.1, 3.0]) for _ in range(d)]
        for b, r in ((bins, where), (edges, None), (5, where)):
            want, want_edges = np.histogramdd(x, b, r)
            ours = [from_numpy(e, device) for e in edges] if b is edges else b
            got, got_edges = nd.histogramdd(y, ours, r)
            same(got, want)
            for g, w in zip(got_edges, want_edges):
                same(g, w, 1e-15)
            if n > 50:
                same(nd.histogramdd(y, ours, r, density=True)[0], np.histogramdd(x, b, r, density=True)[0], 1e-14)
            w, v = pair(rng, "float64", (n,), device)
            same(nd.histogramdd(y, ours, r, weights=v)[0], np.histogramdd(x, b, r, weights=w)[0], 1e-12)
    x, y = rng.normal(0, 1, 80), rng.normal(0, 1, 80)
    counts, ex, ey = nd.histogram2d(from_numpy(x, device), from_numpy(y, device), [3, 5])
    want = np.histogram2d(x, y, [3, 5])
    same(counts, want[0])
    same(ex, want[1], 1e-14)
    same(ey, want[2], 1e-14)
    with raises(ValueError, "coordinates"):
        nd.histogramdd(from_numpy(np.zeros((3, 2)), device), [1, 2, 3])


@cases(*DEVICES)
def test_bincount(device):
    for rng, x, y in each(device, ("bool",) + INTS, [(0,), (1,), (7,), (400,)]):
        x, y = np.abs(x.astype("int64")).astype(x.dtype), nd.abs(y)
        for minlength in (0, 5, 30):
            same(nd.bincount(y, minlength=minlength), np.bincount(x.astype("int64"), minlength=minlength))
        w, v = pair(rng, "float32", x.shape, device)
        same(nd.bincount(y, v), np.bincount(x.astype("int64"), w).astype("float64"), 1e-13)
    with raises(ValueError, "-3"):
        nd.bincount(from_numpy(np.array([1, -3]), device))
    rng = np.random.default_rng(5)
    n = 100_001  # several blocks, in which sums grow
    for x in (np.arange(n), np.arange(n)[::-1], rng.integers(0, 100, n), rng.integers(0, 70_000, n).astype("int32"), np.arange(2 * n)[::2]):
        y = from_numpy(x, device)
        for minlength in (0, 3 * n):
            same(nd.bincount(y, minlength=minlength), np.bincount(x, minlength=minlength))
            w, v = pair(rng, "float64", (n,), device)
            same(nd.bincount(y, v, minlength), np.bincount(x, w, minlength), 0 if device == "cpu" else 1e-13)
    x[-1] = -7
    for w in (None, v):
        with raises(ValueError, "-7"):
            nd.bincount(from_numpy(x, device), w)
    x[-1] = 2**63 - 4  # more than any memory
    for w in (None, v):
        with raises((MemoryError, OverflowError), ""):
            nd.bincount(from_numpy(x, device), w)
    for most in (2**63 - 2, 2**63 - 1):
        with raises(OverflowError, str(2**63 - 3)):
            nd.bincount(from_numpy(np.array([1, most]), device))
    with raises(OverflowError, str(2**63 - 1)):
        nd.bincount(from_numpy(np.array([1]), device), minlength=2**63 - 1)
    with raises(TypeError, "float64"):
        nd.bincount(from_numpy(np.array([1.0]), device))
    with raises(ValueError, "rank 2"):
        nd.bincount(from_numpy(np.array([[1]]), device))


@cases(*DEVICES)
def test_digitize(device):
    for rng, x, y in each(device, INTS + ("float32", "float64")):
        for edges in (np.array([-2.0, 0.0, 0.0, 3.0]), np.array([3.0, 1.0, -2.0]), np.array([1.0]), np.zeros(0)):
            for right in (False, True):
                same(nd.digitize(y, from_numpy(edges, device), right=right),
                     np.asarray(np.digitize(x.astype("float64"), edges, right)).astype("int64"))
    with raises(ValueError, "sort"):
        nd.digitize(y, from_numpy(np.array([1.0, 3.0, 2.0]), device))


@cases(*DEVICES)
def test_closeness(device):
    values = np.array([0.0, 1.0, 1.0 + 1e-6, -1.0, np.nan, np.inf, -np.inf, 1e300, -1e300])
    x, y = np.meshgrid(values, values)
    for rtol, atol in ((1e-5, 1e-8), (0.0, 0.0), (0.0, 2.5), (1e-3, 0.0)):
        for equal_nan in (False, True):
            with np.errstate(all="ignore"):
                want = np.isclose(x, y, rtol, atol, equal_nan)
            got = nd.isclose(from_numpy(x, device), from_numpy(y, device), rtol, atol, equal_nan)
            same(got, want)
            assert nd.allclose(from_numpy(x, device), from_numpy(y, device), rtol, atol, equal_nan) is bool(want.all())
    for rng, p, q in each(device, INTS + REALS + ("complex64",)):
        moved = p + np.array(2).astype(p.dtype)
        same(nd.isclose(q, from_numpy(moved, device), 0, 1), np.isclose(p, moved, 0, 1))
        assert nd.allclose(q, q) and nd.array_equal(q, q) and nd.array_equiv(q, q)
        assert nd.array_equal(q, from_numpy(moved, device)) is (p.size == 0)
        assert nd.array_equal(q, q.reshape((1,) + q.shape)) is False
    assert nd.isclose(nd.ones(2, dtype=nd.float16, device=device), 1.0).dtype == nd.bool
    nan = from_numpy(np.array([1.0, np.nan]), device)
    assert nd.array_equal(nan, nan) is False and nd.array_equal(nan, nan, equal_nan=True) is True
    assert nd.array_equiv(nan, nd.ones((2, 3), device=device)) is False
    assert nd.array_equiv(nd.ones((2, 3), device=device), 1) is True
    with raises(ValueError, "negative"):
        nd.isclose(nan, nan, rtol=-1.0)


if __name__ == "__main__":
    main(globals())
