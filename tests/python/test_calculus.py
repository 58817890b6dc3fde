#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Derivatives, integrals, interpolation, polynomials and running extremes against NumPy, on random strided views."""
import ndock as nd
from arrays import COMPLEX, DEVICES, INTS, REALS, TOLERANCE, from_numpy, np, pair, same
from tap import cases, main, raises

np_trapezoid = getattr(np, "trapezoid", None) or np.trapz  # before NumPy 2 and since

SHAPES = [(7,), (3, 4), (2, 3, 5), (130,)]


def each(device, dtypes, shapes=SHAPES):
    rng = np.random.default_rng(9)
    for dtype in dtypes:
        for shape in shapes:
            yield (rng, dtype) + pair(rng, dtype, shape, device)


def floating(dtype):
    return dtype if dtype in REALS + COMPLEX else "float64"


@cases(*DEVICES)
def test_ediff1d(device):
    for rng, dtype, x, y in each(device, INTS[:3] + REALS + COMPLEX, SHAPES + [(1,), (0,), ()]):
        same(nd.ediff1d(y), np.ediff1d(x))
        p, q = pair(rng, dtype, (2,), device)
        same(nd.ediff1d(y, to_end=q, to_begin=q), np.ediff1d(x, p, p))


@cases(*DEVICES)
def test_gradient(device):
    for rng, dtype, x, y in each(device, ("int16", "float32", "float64", "complex128")):
        wide = x.astype(floating(dtype))
        t = 40 * TOLERANCE[floating(dtype)]
        for axis in range(-x.ndim, x.ndim):
            n = x.shape[axis]
            for order in (1, 2):
                if n < order + 1:
                    with raises(ValueError, "at least"):
                        nd.gradient(y, axis=axis, edge_order=order)
                    continue
                same(nd.gradient(y, axis=axis, edge_order=order), np.gradient(wide, axis=axis, edge_order=order), t)
                same(nd.gradient(y, 0.25, axis=axis, edge_order=order), np.gradient(wide, 0.25, axis=axis, edge_order=order), t)
                at = np.cumsum(rng.uniform(0.5, 2, n))
                same(nd.gradient(y, from_numpy(at, device), axis=axis, edge_order=order),
                     np.gradient(wide, at.astype(wide.real.dtype), axis=axis, edge_order=order), 10 * t)
        if min(x.shape) > 1 and x.ndim > 1:
            for got, want in zip(nd.gradient(y, *range(1, x.ndim + 1)), np.gradient(wide, *range(1, x.ndim + 1)), strict=True):
                same(got, want, t)
    with raises(ValueError, "spacings"):
        nd.gradient(nd.ones((3, 3), device=device), 1, 2, 3)
    with raises(ValueError, "edge_order"):
        nd.gradient(nd.ones(3, device=device), edge_order=3)


@cases(*DEVICES)
def test_trapezoid(device):
    for rng, dtype, x, y in each(device, ("int16", "float32", "float64", "complex128"), SHAPES + [(1,), (3, 0)]):
        wide = x.astype(floating(dtype))
        t = 40 * TOLERANCE[floating(dtype)]
        for axis in range(-x.ndim, x.ndim):
            same(nd.trapezoid(y, axis=axis), np.asarray(np_trapezoid(wide, axis=axis)).astype(floating(dtype)), t)
            same(nd.trapezoid(y, dx=0.5, axis=axis), np.asarray(np_trapezoid(wide, dx=0.5, axis=axis)).astype(floating(dtype)), t)
            at = rng.uniform(-1, 1, x.shape[axis])
            same(nd.trapezoid(y, from_numpy(at, device), axis=axis),
                 np.asarray(np_trapezoid(wide, at, axis=axis)).astype(floating(dtype)), t)
        at = rng.uniform(-1, 1, x.shape)
        same(nd.trapezoid(y, from_numpy(at, device)), np.asarray(np_trapezoid(wide, at)).astype(floating(dtype)), t)


@cases(*DEVICES)
def test_interp(device):
    rng = np.random.default_rng(10)
    for n in (1, 2, 9):
        xp, fp = np.sort(rng.normal(0, 2, n)), rng.normal(0, 1, n)
        for shape in ((), (5,), (3, 4), (0,)):
            x, y = pair(rng, "float64", shape, device)
            px, pf = from_numpy(xp, device), from_numpy(fp, device)
            same(nd.interp(y, px, pf), np.asarray(np.interp(x, xp, fp)), 1e-14)
            same(nd.interp(y, px, pf, left=-7, right=8.5), np.asarray(np.interp(x, xp, fp, -7, 8.5)), 1e-14)
            same(nd.interp(y, px, from_numpy(fp + 2j, device)), np.asarray(np.interp(x, xp, fp + 2j)), 1e-14)
            shuffled = rng.permutation(n)
            same(nd.interp(y, from_numpy(xp[shuffled], device), from_numpy(fp[shuffled], device), period=3.0),
                 np.asarray(np.interp(x, xp[shuffled], fp[shuffled], period=3.0)), 1e-12)
        same(nd.interp(from_numpy(xp, device), px, pf), fp)
    p = np.array([1.0, 2.0, 3.0, 4.0])
    f = np.array([np.inf, np.inf, 1.0, -np.inf])
    x = np.array([1.5, 2.0, 2.5, 3.5, np.nan, 0.0, np.inf])
    same(nd.interp(from_numpy(x, device), from_numpy(p, device), from_numpy(f, device)), np.interp(x, p, f))
    with raises(ValueError):
        nd.interp(y, from_numpy(p, device), from_numpy(f[:2], device))
    with raises(ValueError, "period"):
        nd.interp(y, px, pf, period=0)


@cases(*DEVICES)
def test_polyval(device):
    for rng, dtype, x, y in each(device, INTS[:4] + ("float32", "float64") + COMPLEX, SHAPES + [(), (0,)]):
        for n in (0, 1, 4):
            p, q = pair(rng, dtype, (n,), device)
            want = np.asarray(np.polyval(p, x)).astype(dtype)
            same(nd.polyval(q, y), want, 100 * TOLERANCE.get(dtype, 0))
        c = np.array([1, 2, 3])
        same(nd.polyval(from_numpy(c, device), y), np.asarray(np.polyval(c, x)).astype(nd.result_type(y, nd.int64).name),
             100 * TOLERANCE.get(dtype, 0))
    same(nd.polyval([1, 2, 3], nd.asarray([2, 0], device="cpu")), np.array([11, 3]))
    with raises(ValueError, "rank 2"):
        nd.polyval(nd.ones((2, 2), device=device), 1)


def in_order(roots):
    """By the real part, and by the imaginary one where these are equal but for rounding."""
    return sorted(roots.tolist(), key=lambda z: (round(z.real, 3), z.imag))


@cases(*DEVICES)
def test_roots(device):
    rng = np.random.default_rng(4)
    # Products of (x - r) for known roots, zeros before and after the coefficients among them.
    for want in ([], [0], [2], [0, 0, -3], [1, 2, 3, 4], [1j, -1j], [0.5 + 2j, -1, 0, 7]):
        coefficients = np.concatenate([np.zeros(2), 3 * np.atleast_1d(np.poly(want))])
        for dtype in ("float32", "float64", "complex128") if np.isrealobj(coefficients) else ("complex64", "complex128"):
            got = nd.roots(from_numpy(coefficients.astype(dtype), device))
            assert got.shape == (len(want),) and got.dtype == (nd.complex64 if dtype in ("float32", "complex64") else nd.complex128)
            assert str(got.device) == device + ("" if ":" in device else ":0")
            np.testing.assert_allclose(in_order(got), in_order(np.array(want, "complex128")), atol=1e-12 if dtype in ("float64", "complex128") else 1e-3)
    for n in (2, 5, 9):
        p = rng.normal(size=2 * n)[::2]
        np.testing.assert_allclose(in_order(nd.roots(from_numpy(p, device))), in_order(np.roots(p)), rtol=1e-8)
    assert nd.roots(nd.asarray([2, -6], device=device)).tolist() == [3]
    assert nd.roots(nd.asarray([4], device=device)).shape == nd.roots(nd.zeros(3, device=device)).shape == (0,)
    with raises(ValueError, "rank 2"):
        nd.roots(nd.ones((2, 2), device=device))


@cases(*DEVICES)
def test_running_extremes(device):
    for rng, dtype, x, y in each(device, ("bool",) + INTS + REALS, SHAPES + [(0,), (3, 0), (1000,), (5, 1)]):
        if dtype in REALS and x.size > 5:
            x = np.array(x)
            x.flat[x.size // 2] = np.nan
            y = from_numpy(x, device)
        for axis in range(-x.ndim, x.ndim):
            same(nd.cummax(y, axis), np.maximum.accumulate(x, axis=axis))
            same(nd.cummin(y, axis), np.minimum.accumulate(x, axis=axis))
    same(nd.cummax(nd.asarray([2, 1, 3], device=device)), np.array([2, 2, 3]))
    with raises(ValueError, "axis"):
        nd.cummax(nd.ones((2, 2), device=device))
    with raises(TypeError, "order"):
        nd.cummin(nd.ones(2, dtype=nd.complex64, device=device))


if __name__ == "__main__":
    main(globals())
