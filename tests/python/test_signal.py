#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Transforms by cosines and sines against the sums of their definitions in long double, and convolution and correlation against
NumPy's and against sums over all pairs; random strided views, dtypes and modes; errors."""
import itertools

import ndock as nd
from arrays import DEVICES, np, pair, same
from tap import cases, main, raises

NAMES = ("dct", "idct", "dst", "idst")
TYPES = (1, 2, 3, 4)
SHAPES = [(2,), (3,), (7,), (16,), (3, 4), (5, 2, 6), (2, 9), (33,), (4, 1, 5)]
DTYPES = ("float16", "float32", "float64", "int32", "bool", "complex64", "complex128")


def matrix(sines, kind, n, norm, inverse, orthogonal):
    """The transform of n numbers as a matrix of long doubles, by the sums that signal.h has."""
    wide = np.longdouble
    kind = 5 - kind if inverse and kind in (2, 3) else kind
    k, j = np.arange(n).reshape(-1, 1).astype(wide), np.arange(n).reshape(1, -1).astype(wide)
    pi, wave = wide("3.14159265358979323846264338327950288"), np.sin if sines else np.cos
    angle = {(0, 1): lambda: j * k / max(n - 1, 1), (0, 2): lambda: k * (2 * j + 1) / (2 * n), (0, 3): lambda: j * (2 * k + 1) / (2 * n),
             (0, 4): lambda: (2 * k + 1) * (2 * j + 1) / (4 * n), (1, 1): lambda: (k + 1) * (j + 1) / (n + 1),
             (1, 2): lambda: (k + 1) * (2 * j + 1) / (2 * n), (1, 3): lambda: (2 * k + 1) * (j + 1) / (2 * n),
             (1, 4): lambda: (2 * k + 1) * (2 * j + 1) / (4 * n)}[(int(sines), kind)]()
    m = 2 * wave(pi * angle)
    single = {(False, 1): (0, n - 1), (False, 3): (0,), (True, 3): (n - 1,)}.get((sines, kind), ())
    for column in single:
        m[:, column] /= 2
    root = np.sqrt(wide(2))
    if orthogonal:
        for column in single:
            m[:, column] *= root
        for row in {(False, 1): (0, n - 1), (False, 2): (0,), (True, 2): (n - 1,)}.get((sines, kind), ()):
            m[row] /= root
    count = wide(2 * n if kind > 1 else 2 * n + 2 if sines else 2 * n - 2)
    if norm == "ortho":
        return m / np.sqrt(count)
    return m / count if norm == ("backward" if inverse else "forward") else m


def wanted(name, x, kind, axis, n, norm, orthogonalize):
    wide = np.clongdouble if x.dtype.kind == "c" else np.longdouble
    x = np.moveaxis(x.astype(wide), axis, -1)
    full = np.zeros(x.shape[:-1] + (n,), wide)
    full[..., :min(n, x.shape[-1])] = x[..., :n]
    orthogonal = norm == "ortho" if orthogonalize is None else orthogonalize
    m = matrix("dst" in name, kind, n, norm, name[0] == "i", orthogonal)
    return np.moveaxis((m @ full[..., None])[..., 0], -1, axis)


def result_of(dtype):
    return {"float16": "float32", "float32": "float32", "complex64": "complex64", "complex128": "complex128"}.get(dtype, "float64")


def close(got, want, dtype):
    same(got, want.astype(result_of(dtype)), 4e-6 if result_of(dtype) in ("float32", "complex64") else 2e-14)


@cases(*[(d, f, t) for d in DEVICES for f in NAMES for t in TYPES])
def test_waves(device, name, kind):
    rng = np.random.default_rng(kind)
    for dtype, shape in itertools.product(DTYPES, SHAPES):
        x, y = pair(rng, dtype, shape, device)
        axis = int(rng.integers(-x.ndim, x.ndim))
        n = int(rng.integers(1, 12)) if rng.random() < 0.4 else x.shape[axis]
        if kind == 1 and name.endswith("dct") and n < 2:
            with raises(ValueError, "at least 2"):
                getattr(nd.fft, name)(y, type=kind, n=n, axis=axis)
            continue
        norm, orthogonalize = ("backward", "ortho", "forward")[rng.integers(3)], (None, True, False)[rng.integers(3)]
        got = getattr(nd.fft, name)(y, type=kind, n=n, axis=axis, norm=norm, orthogonalize=orthogonalize)
        close(got, wanted(name, x, kind, axis, n, norm, orthogonalize), dtype)


@cases(*[(d, f, t) for d in DEVICES for f in NAMES for t in TYPES])
def test_waves_of_several_axes(device, name, kind):
    rng = np.random.default_rng(10 + kind)
    x, y = pair(rng, "float64", (4, 3, 6), device)
    many = getattr(nd.fft, name + "n")
    for axes in (None, (2, 0), (1,), (-1, -3)):
        want = x
        for axis in range(3) if axes is None else axes:
            want = wanted(name, want, kind, axis, want.shape[axis], "ortho", None)
        close(many(y, type=kind, axes=axes, norm="ortho"), want, "float64")
    want = wanted(name, wanted(name, x, kind, 1, 5, "backward", None), kind, 2, 4, "backward", None)
    close(many(y, type=kind, s=(5, 4)), want, "float64")


def test_waves_of_nothing():
    for name in NAMES:
        assert getattr(nd.fft, name)(nd.zeros((0, 4))).shape == (0, 4)
        with raises(ValueError, "0 elements"):
            getattr(nd.fft, name)(nd.zeros((4, 0)))
        assert getattr(nd.fft, name)(nd.zeros((4, 0)), n=3).tolist() == [[0.0] * 3] * 4


def test_waves_long():
    """Rows that lengths of a thousand and more have, forward and back."""
    rng = np.random.default_rng(5)
    for name, kind, n in itertools.product(("dct", "dst"), TYPES, (1000, 1009, 4096)):
        x = rng.normal(size=(3, n))
        back = getattr(nd.fft, "i" + name)(getattr(nd.fft, name)(nd.asarray(x), type=kind), type=kind)
        assert abs(np.asarray(back) - x).max() < 2e-14, (name, kind, n)


def test_waves_long_values():
    """A length whose factors are products of two, beside sums of long doubles."""
    x = np.random.default_rng(6).normal(size=(2, 1100))
    for name, kind in (("dct", 2), ("idct", 2), ("dct", 4)):
        want = wanted(name, x, kind, 1, 1100, "ortho", None)
        got = np.asarray(getattr(nd.fft, name)(nd.asarray(x), type=kind, norm="ortho"))
        assert np.sqrt(np.mean((got - want) ** 2)) < 5e-16, (name, kind)


def test_errors_of_waves():
    x = nd.ones((3, 4))
    for call, kind, words in ((lambda: nd.fft.dct(x, type=5), ValueError, "type is 1, 2, 3 or 4"), (lambda: nd.fft.dst(x, type=0), ValueError, "0"),
                              (lambda: nd.fft.dct(x, norm="big"), ValueError, "norm"), (lambda: nd.fft.dct(x, n=0), ValueError, "length"),
                              (lambda: nd.fft.dct(x, axis=2), IndexError, "2"), (lambda: nd.fft.dctn(x, axes=(0, 0)), IndexError, "0"),
                              (lambda: nd.fft.dctn(x, axes=()), ValueError, "no axis"), (lambda: nd.fft.dct(nd.ones(())), ValueError, "without axes"),
                              (lambda: nd.fft.dctn(x, s=(2, 3), axes=(0,)), ValueError, "lengths"),
                              (lambda: nd.fft.dct(nd.ones((4, 1)), type=1), ValueError, "at least 2")):
        with raises(kind, words):
            call()


# ---- convolution ----

def all_pairs(x, y, mode, conjugate):
    """Sums over all pairs, which scipy.signal.convolve and correlate are of these arrays."""
    dtype = np.result_type(x.dtype, y.dtype)
    x, y = x.astype(dtype), y.astype(dtype)
    if conjugate:
        y = np.conj(np.flip(y))
    full = np.zeros([n + m - 1 for n, m in zip(x.shape, y.shape)], dtype)
    for at in np.ndindex(*y.shape):
        full[tuple(slice(a, a + n) for a, n in zip(at, x.shape))] += x * y[at]
    shape = [f if mode == "full" else n if mode == "same" else f - 2 * (min(n, m) - 1) for f, n, m in zip(full.shape, x.shape, y.shape)]
    return full[tuple(slice((f - n) // 2, (f - n) // 2 + n) for f, n in zip(full.shape, shape))]


def agree(got, want):
    """ndock keeps single precision where an integer meets it."""
    got = np.asarray(got.cpu())
    single = got.dtype.name in ("float32", "complex64")
    assert got.shape == want.shape and got.dtype.kind == want.dtype.kind, (got.dtype, want.dtype, got.shape, want.shape)
    if got.dtype.kind in "iu":
        assert (got == want).all()
    else:
        assert abs(got - want).max() <= (4e-6 if single else 4e-14) * max(1, abs(want).max())


NUMBERS = ("float32", "float64", "int64", "int16", "complex64", "complex128")


@cases(*DEVICES)
def test_one_axis_as_numpy(device):
    rng = np.random.default_rng(3)
    for first, second in itertools.product(NUMBERS, NUMBERS):
        for n, m in ((1, 1), (5, 3), (3, 8), (40, 7), (300, 200)):
            (x, a), (y, v) = pair(rng, first, (n,), device), pair(rng, second, (m,), device)
            for mode in ("full", "same", "valid"):
                agree(nd.convolve(a, v, mode), np.convolve(x, y, mode))
                agree(nd.correlate(a, v, mode), np.correlate(x, y, mode))


@cases(*[(d, f) for d in DEVICES for f in ("convolve", "correlate")])
def test_several_axes(device, name):
    rng = np.random.default_rng(4)
    for first, second in (("float64", "float64"), ("float32", "int16"), ("int64", "int64"), ("complex128", "float32"),
                          ("complex64", "complex128")):
        for shape, other in (((6,), (4,)), ((5, 7), (3, 2)), ((4, 3, 5), (2, 3, 1)), ((2, 3), (5, 6))):
            (x, a), (y, v) = pair(rng, first, shape, device), pair(rng, second, other, device)
            for mode, method in itertools.product(("full", "same", "valid"), ("auto", "direct")):
                agree(getattr(nd.signal, name)(a, v, mode, method), all_pairs(x, y, mode, name == "correlate"))
            for mode in ("full", "same", "valid"):
                want = all_pairs(x, y, mode, name == "correlate")
                want = want.astype("float64") if want.dtype.kind == "i" else want
                agree(getattr(nd.signal, name)(a, v, mode, "fft"), want)
                if name == "convolve":
                    agree(nd.signal.fftconvolve(a, v, mode), want)


def test_long_arrays_by_transforms():
    rng = np.random.default_rng(6)
    x, y = rng.normal(size=20000), rng.normal(size=700)
    for mode in ("full", "same", "valid"):
        want = np.convolve(x, y, mode)
        for f in (nd.convolve, nd.signal.fftconvolve, nd.signal.oaconvolve):
            assert abs(np.asarray(f(nd.asarray(x), nd.asarray(y), mode)) - want).max() < 1e-11
        assert abs(np.asarray(nd.signal.oaconvolve(nd.asarray(y), nd.asarray(x))) - np.convolve(x, y)).max() < 1e-11


def test_integers_are_exact():
    x = nd.asarray([2**61, 3, -(2**60)] * 500)
    v = nd.asarray([1, 0, 2] + [0] * 500)
    assert nd.convolve(x, v).tolist() == np.convolve(np.asarray(x), np.asarray(v)).tolist()
    flags = nd.convolve(nd.asarray([True, False, False]), nd.asarray([True, True]))
    assert flags.dtype == nd.bool and flags.tolist() == np.convolve([True, False, False], [True, True]).tolist()


def test_errors_of_convolution():
    x, y = nd.ones(3), nd.ones((3, 3))
    for call, words in ((lambda: nd.convolve(y, x), "one axis"), (lambda: nd.convolve(x, nd.ones(0)), "without elements"),
                        (lambda: nd.convolve(x, x, "some"), "full, same, valid"), (lambda: nd.signal.convolve(x, y), "ranks 1 and 2"),
                        (lambda: nd.signal.convolve(x, x, method="fast"), "auto, direct, fft"),
                        (lambda: nd.signal.convolve(nd.ones((2, 5)), nd.ones((5, 2)), "valid"), "no shorter"),
                        (lambda: nd.signal.correlate(x, nd.ones(0)), "no elements"), (lambda: nd.signal.convolve(nd.ones(()), nd.ones(())), "at least 1")):
        with raises(ValueError, words):
            call()


if __name__ == "__main__":
    nd.set_default_device("cpu")
    main(globals())
