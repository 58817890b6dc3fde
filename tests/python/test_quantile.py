#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Order statistics, averages, covariance and reductions without NaN against NumPy, on random strided views."""
import math
import warnings

import ndock as nd
from arrays import COMPLEX, DEVICES, INTS, REALS, TOLERANCE, from_numpy, np, pair, same
from tap import cases, main, raises

SHAPES = [(), (1,), (2,), (7,), (3, 4), (2, 3, 5), (1, 5, 1), (130,), (40, 33)]
EMPTY = [(0,), (3, 0, 2)]
METHODS = ("inverted_cdf", "averaged_inverted_cdf", "closest_observation", "interpolated_inverted_cdf", "hazen", "weibull",
           "linear", "median_unbiased", "normal_unbiased", "lower", "higher", "midpoint", "nearest")


def each(device, dtypes, shapes=SHAPES):
    rng = np.random.default_rng(6)
    for dtype in dtypes:
        for shape in shapes:
            yield (rng, dtype) + pair(rng, dtype, shape, device)


def axes_of(rng, ndim):
    yield None
    if ndim:
        yield int(rng.integers(-ndim, ndim))
        yield tuple(int(a) for a in rng.permutation(ndim)[:rng.integers(1, ndim + 1)])


def quiet(f, *args, **kwargs):
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        return np.asarray(f(*args, **kwargs))


def floating(dtype):
    return dtype if dtype in REALS + COMPLEX else "float64"


def with_nan(rng, x, device):
    x = np.array(x)
    x[rng.random(x.shape) < 0.3] = np.nan
    return x, from_numpy(x, device)


@cases(*DEVICES)
def test_median(device):
    for rng, dtype, x, y in each(device, ("bool",) + INTS + REALS):
        for axis in axes_of(rng, x.ndim):
            for keepdims in (False, True):
                want = quiet(np.median, x.astype("float64"), axis=axis, keepdims=keepdims)
                same(nd.median(y, axis=axis, keepdims=keepdims), want.astype(floating(dtype)), TOLERANCE[floating(dtype)])
    for shape in EMPTY:
        assert host_nan(nd.median(nd.zeros(shape, device=device)))
    same(nd.median(nd.zeros((3, 0, 2), device=device), axis=0), np.zeros((0, 2)))
    with raises(TypeError, "order"):
        nd.median(nd.ones(3, dtype=nd.complex64, device=device))
    with raises(IndexError):
        nd.median(nd.ones(3, device=device), axis=1)


def host_nan(x):
    return np.isnan(np.asarray(x.to_device("cpu"))).all()


@cases(*DEVICES)
def test_nan_and_infinities(device):
    x = np.array([[1.0, np.nan, 3.0, 2.0], [4.0, 5.0, -np.inf, 6.0], [np.inf, np.inf, 1.0, 2.0], [np.nan] * 4])
    y = from_numpy(x, device)
    same(nd.median(y, axis=1), np.array([np.nan, 4.5, np.inf, np.nan]))
    same(nd.nanmedian(y, axis=1), np.array([2.0, 4.5, np.inf, np.nan]))
    same(nd.quantile(y, 1.0, axis=1), np.array([np.nan, 6.0, np.inf, np.nan]))
    same(nd.quantile(y, [0.0, 1.0], axis=1)[0], np.array([np.nan, -np.inf, 1.0, np.nan]))


def by_definition(x, q, method):
    """Hyndman and Fan's definitions 1 to 9 of sorted x, in their words: j, g and the weight of the upper neighbour."""
    n = len(x)
    kind = METHODS.index(method) + 1
    if kind <= 3:
        m = -0.5 if kind == 3 else 0
        j, g = math.floor(n * q + m), n * q + m - math.floor(n * q + m)
        weight = 1 if g > 0 else 0 if kind == 1 else 0.5 if kind == 2 else j % 2
    else:
        m = [0, 0.5, q, 1 - q, (q + 1) / 3, q / 4 + 3 / 8][kind - 4]
        j = math.floor(n * q + m)
        weight = n * q + m - j
    at = [x[min(max(i, 1), n) - 1] for i in (j, j + 1)]
    return at[0] + (at[1] - at[0]) * weight


@cases(*DEVICES)
def test_definitions(device):
    rng = np.random.default_rng(7)
    for n in (1, 2, 3, 4, 5, 8, 16, 33):
        x = rng.normal(0, 1, n)
        y = from_numpy(x, device)
        for q in (0.0, 0.125, 0.25, 0.375, 0.5, 0.625, 0.75, 0.875, 1.0):  # exact, so that ties are ties
            for method in METHODS[:9]:
                same(nd.quantile(y, q, method=method), np.array(by_definition(np.sort(x), q, method)), 1e-14)
                same(nd.nanquantile(y, q, method=method), np.array(by_definition(np.sort(x), q, method)), 1e-14)


@cases(*DEVICES)
def test_quantile_against_numpy(device):
    for rng, dtype, x, y in each(device, ("int8", "uint16", "int64", "float32", "float64"), SHAPES[1:]):
        for method in METHODS:
            if method == "closest_observation":
                continue  # NumPy before 2.1 breaks its ties the other way; see the definitions above
            for q in (0.31, [0.0, 0.5, 1.0], [[0.13, 0.9]]):
                axis = list(axes_of(rng, x.ndim))[int(rng.integers(3))]
                want = quiet(np.quantile, x.astype("float64"), q, axis=axis, method=method)
                picks = method in ("inverted_cdf", "lower", "higher", "nearest")
                result = dtype if picks else floating(dtype)
                same(nd.quantile(y, q, axis=axis, method=method), want.astype(result), 2 * TOLERANCE[floating(dtype)])
                percent = 100 * np.asarray(q)
                want = quiet(np.percentile, x.astype("float64"), percent, axis=axis, method=method, keepdims=True)
                got = nd.percentile(y, percent, axis=axis, method=method, keepdims=True)
                if not picks:  # 100*0.13/100 may fall beside a place
                    same(got, want.astype(result), 2 * TOLERANCE[floating(dtype)])
    for bad in (-0.1, 1.5, float("nan")):
        with raises(ValueError, "between 0 and 1"):
            nd.quantile(y, bad)
    with raises(ValueError, "hazen"):
        nd.quantile(y, 0.5, method="mean")
    same(nd.quantile(y, nd.asarray([0.5])), np.quantile(x, [0.5]), 1e-14)
    same(nd.quantile(nd.ones(3, device=device), []), np.zeros(0))


@cases(*DEVICES)
def test_quantile_without_nan(device):
    for rng, dtype, x, y in each(device, ("float32", "float64"), SHAPES[1:]):
        x, y = with_nan(rng, x, device)
        for method in METHODS:
            if method == "closest_observation":
                continue
            axis = list(axes_of(rng, x.ndim))[int(rng.integers(3))]
            want = quiet(np.nanquantile, x.astype("float64"), [0.2, 0.5, 1.0], axis=axis, method=method)
            same(nd.nanquantile(y, [0.2, 0.5, 1.0], axis=axis, method=method), want.astype(dtype), 2 * TOLERANCE[dtype])
        same(nd.nanpercentile(y, 40.0), quiet(np.nanpercentile, x.astype("float64"), 40).astype(dtype), 2 * TOLERANCE[dtype])


@cases(*DEVICES)
def test_average_and_ptp(device):
    for rng, dtype, x, y in each(device, INTS[:3] + ("float32", "float64") + COMPLEX):
        if dtype not in COMPLEX:
            for axis in axes_of(rng, x.ndim):
                same(nd.ptp(y, axis=axis), np.asarray(np.max(x, axis=axis) - np.min(x, axis=axis)))
        wide = x.astype("complex128" if dtype in COMPLEX else "float64")
        t = 20 * TOLERANCE[floating(dtype)]
        for axis in axes_of(rng, x.ndim):
            same(nd.average(y, axis=axis), np.asarray(np.average(wide, axis=axis)).astype(floating(dtype)), t)
            w = rng.uniform(0.5, 2, x.shape)
            got = nd.average(y, axis=axis, weights=from_numpy(w, device), returned=True)
            axes = tuple(range(x.ndim)) if axis is None else axis
            total = np.asarray(w.sum(axis=axes))
            want = np.asarray((wide * w).sum(axis=axes) / total)
            result = "complex128" if dtype in COMPLEX else "float64"
            same(got[0], want.astype(result), 10 * t)
            same(got[1], total.astype(result), t)
        if x.ndim:
            w = rng.uniform(0.5, 2, x.shape[-1])
            same(nd.average(y, -1, from_numpy(w, device)), np.asarray(np.average(wide, -1, w)), 10 * t)
    with raises(ValueError, "weights"):
        nd.average(nd.ones((2, 3), device=device), 0, nd.ones(3, device=device))


@cases(*DEVICES)
def test_cov_and_corrcoef(device):
    for rng, dtype, x, y in each(device, ("int16", "float32", "float64", "complex128"), [(6,), (1, 5), (3, 8), (8, 3), (2, 40)]):
        t = 50 * TOLERANCE[floating(dtype)]
        wide = x.astype("complex128" if dtype in COMPLEX else "float64")
        n = x.shape[-1]
        f, a = rng.integers(1, 4, n), rng.uniform(0.5, 2, n)
        for kw in (dict(), dict(bias=True), dict(ddof=0), dict(fweights=f), dict(aweights=a), dict(fweights=f, aweights=a, ddof=2)):
            want = quiet(np.cov, wide, **kw)
            ours = {k: from_numpy(v, device) if k.endswith("weights") else v for k, v in kw.items()}
            same(nd.cov(y, **ours), want.astype(floating(dtype)), t)
        if x.shape[0] > 1:  # a single row is not transposed before NumPy 2.2
            same(nd.cov(y, rowvar=False), quiet(np.cov, wide, rowvar=x.ndim < 2).astype(floating(dtype)), t)
        p, q = pair(rng, dtype, x.shape, device)
        same(nd.cov(y, q), quiet(np.cov, wide, p.astype(wide.dtype)).astype(floating(dtype)), t)
        same(nd.corrcoef(y, q), quiet(np.corrcoef, wide, p.astype(wide.dtype)).astype(floating(dtype)), t)
        same(nd.corrcoef(y), quiet(np.corrcoef, wide).astype(floating(dtype)), t)
    with raises(ValueError, "fweights"):
        nd.cov(nd.ones((2, 3), device=device), fweights=nd.ones(2, dtype=nd.int64, device=device))
    with raises(ValueError, "dimensions"):
        nd.cov(nd.ones((2, 3, 4), device=device))


@cases(*DEVICES)
def test_reductions_without_nan(device):
    for rng, dtype, x, y in each(device, INTS[:2] + REALS + COMPLEX):
        if dtype in REALS + COMPLEX:
            x, y = with_nan(rng, x, device)
        wide = x.astype("complex128" if dtype in COMPLEX else "float64")
        real = {"complex64": "float32", "complex128": "float64"}.get(floating(dtype), floating(dtype))
        t = 40 * TOLERANCE[floating(dtype)]
        for axis in axes_of(rng, x.ndim):
            keep = bool(rng.integers(2))
            kw = dict(axis=axis, keepdims=keep)
            sums = floating(dtype) if dtype in REALS + COMPLEX else "int64"
            same(nd.nansum(y, **kw), np.asarray(np.nansum(wide, **kw)).astype(sums), t)
            same(nd.nanmean(y, **kw), quiet(np.nanmean, wide, **kw).astype(floating(dtype)), t)
            for ddof in (0, 1, 1.5, 3):
                same(nd.nanvar(y, correction=ddof, **kw), quiet(np.nanvar, wide, ddof=ddof, **kw).astype(real), 4 * t)
                same(nd.nanstd(y, correction=ddof, **kw), quiet(np.nanstd, wide, ddof=ddof, **kw).astype(real), 4 * t)
            if dtype in COMPLEX:
                continue
            same(nd.nanmin(y, **kw), quiet(np.nanmin, x, **kw))
            same(nd.nanmax(y, **kw), quiet(np.nanmax, x, **kw))
            same(nd.nanmedian(y, **kw), quiet(np.nanmedian, wide, **kw).astype(floating(dtype)), t)
            if isinstance(axis, tuple):
                continue
            if dtype in REALS and np.isnan(x).all(axis=axis).any():
                with raises(ValueError, "NaN"):
                    nd.nanargmin(y, **kw)
            else:
                same(nd.nanargmin(y, **kw), np.asarray(np.nanargmin(x, **kw)))
                same(nd.nanargmax(y, **kw), np.asarray(np.nanargmax(x, **kw)))
        if x.size < 20:
            same(nd.nanprod(y), np.asarray(np.nanprod(wide)).astype(sums), t)
        same(nd.nancumsum(y), np.nancumsum(wide).astype(sums), 4 * t)
        if x.ndim:
            same(nd.nancumsum(y, axis=0), np.nancumsum(wide, axis=0).astype(sums), 4 * t)
            if x.size < 20:
                same(nd.nancumprod(y, -1), np.nancumprod(wide, -1).astype(sums), 4 * t)
    with raises(ValueError, "nothing"):
        nd.nanmin(nd.zeros((0,), device=device))


@cases(*DEVICES)
def test_highest_ranks(device):
    x, y = pair(np.random.default_rng(63), "float64", (2, 3, 2), device)
    for ones in (60, 61):
        high = nd.reshape(y, (1,) * ones + (2, 3, 2))
        same(nd.median(high), np.median(x))
        if ones == 60:
            same(nd.reshape(nd.median(high, axis=()), (2, 3, 2)), x)
        else:
            with raises(ValueError, "rank 65"):
                nd.median(high, axis=())


@cases(*DEVICES)
def test_nan_to_num(device):
    x = np.array([np.nan, np.inf, -np.inf, 1.5, -0.0])
    for dtype in REALS + COMPLEX:
        a = x.astype(dtype)
        if dtype in COMPLEX:
            a.imag = np.array([1.0, np.nan, 2.0, np.inf, 0.0])
        y = from_numpy(a, device)
        same(nd.nan_to_num(y), np.nan_to_num(a))
        same(nd.nan_to_num(y, 3.0, 4.0, -5.0), np.nan_to_num(a, nan=3.0, posinf=4.0, neginf=-5.0))
    same(nd.nan_to_num(nd.asarray([1, 2], device=device)), np.array([1, 2]))
    big = nd.nan_to_num(nd.full((), float("inf"), dtype=nd.bfloat16, device=device))
    assert float(big) == nd.finfo(nd.bfloat16).max


if __name__ == "__main__":
    main(globals())
