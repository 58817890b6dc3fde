#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reductions, scans, diff and normalisations against NumPy, on random strided views."""
import ndock as nd
from arrays import ALL, DEVICES, INTS, REALS, COMPLEX, TOLERANCE, from_numpy, host, np, pair, same
from tap import cases, main, raises

SHAPES = [(), (1,), (7,), (3, 4), (2, 3, 5), (0,), (3, 0, 2), (1, 5, 1), (130,), (40, 33)]


def axes_of(rng, ndim):
    yield None
    if ndim:
        yield int(rng.integers(-ndim, ndim))
        yield tuple(int(a) for a in rng.permutation(ndim)[:rng.integers(0, ndim + 1)])


def each(device, dtypes, shapes=SHAPES):
    rng = np.random.default_rng(3)
    for dtype in dtypes:
        for shape in shapes:
            yield (rng, dtype) + pair(rng, dtype, shape, device)


def sum_dtype(x):
    kind = x.dtype.kind
    return "int64" if kind in "bi" else "uint64" if kind == "u" else x.dtype.name


@cases(*DEVICES)
def test_sum_and_prod(device):
    for rng, dtype, x, y in each(device, ALL):
        for axis in axes_of(rng, x.ndim):
            for keepdims in (False, True):
                want = np.asarray(np.sum(x.astype(sum_dtype(x)), axis=axis, keepdims=keepdims))
                same(nd.sum(y, axis=axis, keepdims=keepdims), want, 40 * TOLERANCE.get(dtype, 0))
        if x.size < 20:
            same(nd.prod(y), np.asarray(np.prod(x.astype(sum_dtype(x)))), 40 * TOLERANCE.get(dtype, 0))
        wide = "complex128" if dtype in COMPLEX else "float64"
        same(nd.sum(y, dtype=wide), np.asarray(np.sum(x.astype(wide))), 1e-13)


@cases(*DEVICES)
def test_extremes_and_their_positions(device):
    for rng, dtype, x, y in each(device, ("bool",) + INTS + REALS):
        if not x.size:
            with raises(ValueError):
                nd.max(y)
            with raises(ValueError):
                nd.argmin(y)
            continue
        for axis in axes_of(rng, x.ndim):
            for keepdims in (False, True):
                same(nd.max(y, axis=axis, keepdims=keepdims), np.asarray(np.max(x, axis=axis, keepdims=keepdims)))
                same(nd.min(y, axis=axis, keepdims=keepdims), np.asarray(np.min(x, axis=axis, keepdims=keepdims)))
                if not isinstance(axis, tuple):
                    same(nd.argmax(y, axis=axis, keepdims=keepdims),
                         np.asarray(np.argmax(x, axis=axis, keepdims=keepdims)))
                    same(nd.argmin(y, axis=axis, keepdims=keepdims),
                         np.asarray(np.argmin(x, axis=axis, keepdims=keepdims)))


@cases(*DEVICES)
def test_nan_propagates(device):
    x = np.array([[1.0, np.nan, 3.0], [4.0, 5.0, -np.inf]])
    y = from_numpy(x, device)
    for f in ("max", "min", "sum", "mean", "prod", "argmax", "argmin"):
        same(getattr(nd, f)(y, axis=1), getattr(np, f)(x, axis=1))
    same(nd.std(y, axis=0), np.array([1.5, np.nan, np.nan]))


@cases(*DEVICES)
def test_mean_var_std(device):
    for rng, dtype, x, y in each(device, INTS[:3] + REALS + COMPLEX):
        result = dtype if dtype in REALS + COMPLEX else "float64"
        real = {"complex64": "float32", "complex128": "float64"}.get(result, result)
        wide = x.astype("complex128" if dtype in COMPLEX else "float64")
        tolerance = 10 * TOLERANCE[result]
        for axis in axes_of(rng, x.ndim):
            with np.errstate(all="ignore"):
                same(nd.mean(y, axis=axis), np.asarray(_quiet(np.mean, wide, axis=axis)).astype(result), tolerance)
                for correction in (0, 1, 2.5, 1000):
                    want = _var(wide, axis, correction)
                    same(nd.var(y, axis=axis, correction=correction), want.astype(real), 4 * tolerance)
                    same(nd.std(y, axis=axis, correction=correction, keepdims=False), np.sqrt(want).astype(real),
                         4 * tolerance)


def _quiet(f, *args, **kwargs):
    import warnings
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return f(*args, **kwargs)


def _var(x, axis, correction):
    """By its definition; NaN where the divisor is not positive, as the standard says."""
    mean = _quiet(np.mean, x, axis=axis, keepdims=True)
    total = np.asarray(np.sum(np.abs(x - mean) ** 2, axis=axis))
    count = x.size // max(total.size, 1) if x.size else _count(x.shape, axis)
    return total / (count - correction) if count - correction > 0 else np.full(total.shape, np.nan)


def _count(shape, axis):
    axes = range(len(shape)) if axis is None else (axis,) if isinstance(axis, int) else axis
    return int(np.prod([shape[a] for a in axes], dtype=int))


@cases(*DEVICES)
def test_all_any_count_nonzero(device):
    for rng, dtype, x, y in each(device, ALL):
        for axis in axes_of(rng, x.ndim):
            for f in ("all", "any", "count_nonzero"):
                want = np.asarray(getattr(np, f)(x, axis=axis, keepdims=True))
                same(getattr(nd, f)(y, axis=axis, keepdims=True), want)


@cases(*DEVICES)
def test_logsumexp(device):
    for rng, dtype, x, y in each(device, ("float32", "float64")):
        with np.errstate(divide="ignore"):
            want = np.log(np.sum(np.exp(x.astype("float64"))))
        same(nd.logsumexp(y), np.asarray(want).astype(dtype), 10 * TOLERANCE[dtype])
    same(nd.logsumexp(from_numpy(np.array([1000.0, 1000.0]), device)), np.array(1000 + np.log(2)), 1e-15)


@cases(*DEVICES)
def test_scans(device):
    for rng, dtype, x, y in each(device, ALL, [(7,), (3, 4), (2, 3, 5), (0,), (3, 0, 2), (300,)]):
        for axis in range(-x.ndim, x.ndim):
            for initial in (False, True):
                wide = x.astype(sum_dtype(x))
                want = np.cumsum(wide, axis=axis)
                if initial:
                    first = np.zeros_like(want.take([0] if want.shape[axis] else [], axis=axis))
                    first = np.zeros([1 if a == axis % x.ndim else n for a, n in enumerate(x.shape)], want.dtype)
                    want = np.concatenate([first, want], axis=axis)
                same(nd.cumulative_sum(y, axis=axis, include_initial=initial), want, 60 * TOLERANCE.get(dtype, 0))
        if x.ndim == 1 and x.size < 20:
            same(nd.cumulative_prod(y), np.cumprod(wide), 40 * TOLERANCE.get(dtype, 0))
        elif x.ndim != 1:
            with raises(ValueError, "axis="):
                nd.cumulative_sum(y)


@cases(*DEVICES)
def test_diff(device):
    for rng, dtype, x, y in each(device, ALL, [(7,), (3, 4), (2, 3, 5), (0,), (3, 0, 2), (1, 1)]):
        for axis in range(-x.ndim, x.ndim):
            for n in (0, 1, 2):
                if x.shape[axis] - n >= 0:
                    same(nd.diff(y, axis=axis, n=n), np.diff(x, axis=axis, n=n))
        p, q = pair(rng, dtype, x.shape, device)
        same(nd.diff(y, prepend=q, append=q), np.diff(x, prepend=p, append=p))
    with raises(ValueError, "-1"):
        nd.diff(y, n=-1)
    with raises(IndexError):
        nd.diff(y, axis=2)


@cases(*DEVICES)
def test_out(device):
    x, y = pair(np.random.default_rng(1), "float32", (3, 4), device)
    out = nd.zeros((4,), dtype=nd.float32, device=device)
    assert nd.sum(y, axis=0, out=out) is out
    same(out, x.sum(axis=0), 1e-6)
    with raises(ValueError):
        nd.sum(y, axis=1, out=out)


@cases(*DEVICES)
def test_normalisations(device):
    rng = np.random.default_rng(5)
    for dtype in ("float32", "float64"):
        for shape, axis in [((5,), -1), ((3, 4), 0), ((3, 4), -1), ((2, 3, 4), (1, 2)), ((0, 3), -1)]:
            x, y = pair(rng, dtype, shape, device)
            wide = x.astype("float64")
            shifted = wide - np.max(wide, axis=axis, keepdims=True) if x.size else wide
            total = np.sum(np.exp(shifted), axis=axis, keepdims=True)
            t = 20 * TOLERANCE[dtype]
            same(nd.softmax(y, axis=axis), (np.exp(shifted) / total).astype(dtype), t)
            same(nd.log_softmax(y, axis=axis), (shifted - np.log(total)).astype(dtype), t)
            inner = [shape[a] for a in ((axis,) if isinstance(axis, int) else axis)]
            s, s_ = pair(rng, dtype, tuple(inner), device)
            b, b_ = pair(rng, dtype, tuple(inner), device)
            if not x.size or axis == 0:
                continue
            mean, var = np.mean(wide, axis=axis, keepdims=True), np.var(wide, axis=axis, keepdims=True)
            same(nd.layer_norm(y, s_, b_, axis=axis, eps=1e-3),
                 ((wide - mean) / np.sqrt(var + 1e-3) * s + b).astype(dtype), t)
            square = np.mean(wide * wide, axis=axis, keepdims=True)
            same(nd.rms_norm(y, s_, axis=axis), (wide / np.sqrt(square + 1e-5) * s).astype(dtype), t)


@cases(*DEVICES)
def test_norms_of_all_axes_and_of_none(device):
    """axis=None is all axes, as for sums; () is none, so that each element is one by itself."""
    a = np.array([[1.0, 2.0, 4.0], [8.0, 3.0, 6.0]])
    x = nd.asarray(a, device=device, copy=True)
    wanted = {nd.layer_norm: lambda a, axis: (a - a.mean(axis, keepdims=True)) / np.sqrt(a.var(axis, keepdims=True) + 1e-5),
              nd.rms_norm: lambda a, axis: a / np.sqrt((a * a).mean(axis, keepdims=True) + 1e-5),
              nd.softmax: lambda a, axis: np.exp(a) / np.exp(a).sum(axis, keepdims=True)}
    for ours, theirs in wanted.items():
        for axis, given in ((None, (0, 1)), ((), ())):
            same(ours(x, axis=axis), theirs(a, given), 1e-12)
        same(ours(nd.asarray(3.0, device=device), axis=None), theirs(np.array(3.0), ()), 1e-12)


def test_axes_that_are_not_there():
    x = nd.ones((2, 3))
    for axis in (2, -3, (0, 0), (0, 5)):
        with raises(IndexError):
            nd.sum(x, axis=axis)
    with raises(TypeError):
        nd.sum(x, axis=1.5)
    with raises(TypeError, "ndock.asarray"):
        nd.sum([1, 2])


if __name__ == "__main__":
    main(globals())
