#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Fourier transforms against NumPy's, on random strided views, axes, lengths and batches; errors; threads."""
import threading

import ndock as nd
from arrays import ALL, COMPLEX, DEVICES, elements, from_numpy, host, np, pair, same
from tap import cases, main, raises

SHAPES = [(1,), (7,), (16,), (3, 4), (2, 3, 5), (0, 4), (3, 0, 2), (1, 5, 1), (130,), (40, 33), (19, 64), (2, 3, 4, 5)]
NORMS = ("backward", "ortho", "forward")
ONE = ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft")
SEVERAL = ("fftn", "ifftn", "rfftn", "irfftn")
FROM_REAL = ("rfft", "ihfft", "rfftn", "rfft2")
SINGLE = ("float16", "float32", "complex64")


def wanted(name, x, **kwargs):
    """NumPy's result, which older ones of it give in double precision for all dtypes, in ndock's dtype."""
    wide = x.astype("complex128" if x.dtype.kind == "c" else "float64")
    r = getattr(np.fft, name)(wide, **kwargs)
    if x.dtype.name in SINGLE:
        r = r.astype("complex64" if r.dtype.kind == "c" else "float32")
    return r


def close(got, want):
    same(got, want, 4e-6 if want.dtype.name in ("complex64", "float32") else 2e-14)


def each(device, name, dtypes, seed):
    rng = np.random.default_rng(seed)
    for dtype in dtypes:
        if name in FROM_REAL and dtype in COMPLEX:
            continue
        for shape in SHAPES:
            yield (rng,) + pair(rng, dtype, shape, device)


@cases("cpu")
def test_odd_numbers_of_real_elements(device):
    """Made of transforms of their parts: the same bits alone, in a batch and from views; element 0 is real."""
    rng = np.random.default_rng(12)
    for dtype, eps in (("float32", 1.2e-7), ("float64", 2.2e-16)):
        for n in (9, 15, 21, 25, 33, 39, 49, 121, 169, 225, 315, 1001, 2187, 4095):
            x = rng.normal(size=(9, n)).astype(dtype)
            y = from_numpy(x, device)
            want = np.fft.rfft(x.astype("float64"))
            got = host(nd.fft.rfft(y))
            assert abs(got - want).max() < 8 * eps * abs(want).max() and (got[:, 0].imag == 0).all(), (dtype, n)
            for row in (0, 8):
                assert host(nd.fft.rfft(y[row])).tobytes() == got[row].tobytes(), (dtype, n)
            turned = from_numpy(np.ascontiguousarray(np.repeat(x, 2, 1).T), device)[::2]
            assert host(nd.fft.rfft(turned, axis=0)).T.tobytes() == got.tobytes(), (dtype, n)
            z = from_numpy(got, device)
            back = host(nd.fft.irfft(z, n=n))
            assert abs(back - x).max() < 16 * eps * abs(x).max(), (dtype, n)
            assert host(nd.fft.irfft(z[3], n=n)).tobytes() == back[3].tobytes(), (dtype, n)


@cases(*[(d, f) for d in DEVICES for f in ONE])
def test_one_axis(device, name):
    for rng, x, y in each(device, name, ALL, 5):
        axis = int(rng.integers(-x.ndim, x.ndim))
        n = int(rng.integers(1, 12)) if rng.random() < 0.5 else None
        norm = NORMS[rng.integers(3)]
        length = x.shape[axis] if n is None else n
        if length < 1 or (n is None and name in ("irfft", "hfft") and length < 2):
            with raises(ValueError, "length"):
                getattr(nd.fft, name)(y, n=n, axis=axis, norm=norm)
            continue
        close(getattr(nd.fft, name)(y, n=n, axis=axis, norm=norm), wanted(name, x, n=n, axis=axis, norm=norm))


@cases(*[(d, f) for d in DEVICES for f in SEVERAL])
def test_several_axes(device, name):
    for rng, x, y in each(device, name, ("float32", "float64", "complex64", "complex128", "int32"), 7):
        if not x.size:
            continue
        axes = tuple(int(a) for a in rng.permutation(x.ndim)[:rng.integers(1, x.ndim + 1)])
        axes = tuple(a - x.ndim if rng.random() < 0.3 else a for a in axes)
        s = [int(rng.integers(1, 9)) for _ in axes]
        norm = NORMS[rng.integers(3)]
        close(getattr(nd.fft, name)(y, s=s, axes=axes, norm=norm), wanted(name, x, s=s, axes=axes, norm=norm))
        if name != "irfftn" or x.shape[axes[-1]] > 1:
            close(getattr(nd.fft, name)(y, axes=axes, norm=norm), wanted(name, x, axes=axes, norm=norm))
        if name != "irfftn" or x.shape[-1] > 1:
            close(getattr(nd.fft, name)(y, norm=norm), wanted(name, x, norm=norm))
        k = int(rng.integers(1, x.ndim + 1))
        s = s[:1] * k
        close(getattr(nd.fft, name)(y, s=s), wanted(name, x, s=s, axes=tuple(range(-k, 0))))


@cases("fft2", "ifft2", "rfft2", "irfft2")
def test_two_axes(name):
    rng = np.random.default_rng(9)
    x = elements(rng, "float64" if name == "rfft2" else "complex128", (3, 6, 8))
    y = from_numpy(x, "cpu")
    close(getattr(nd.fft, name)(y), wanted(name, x))
    close(getattr(nd.fft, name)(y, s=(4, 6), axes=(0, 1), norm="ortho"), wanted(name, x, s=(4, 6), axes=(0, 1), norm="ortho"))


@cases(*DEVICES)
def test_lengths(device):
    """Every way of cutting up a length, alone, side by side and one after the other."""
    rng = np.random.default_rng(11)
    for n in list(range(1, 68)) + [71, 100, 128, 142, 169, 210, 343, 509, 512, 1000, 1018, 2310, 4096, 5041, 10007, 65536]:
        if device != "cpu" and n > 600:
            continue
        for shape, axis in (((n,), 0), ((3, n), 1), ((19, n), 1), ((n, 21), 0)):
            if shape[-1 - axis] * n > 200000 and len(shape) > 1:
                continue
            dtype = COMPLEX[n % 2]
            x = elements(rng, dtype, shape)
            y = from_numpy(x, device)
            close(nd.fft.fft(y, axis=axis), wanted("fft", x, axis=axis))
            close(nd.fft.ifft(y, axis=axis), wanted("ifft", x, axis=axis))
            x, half = x.real.copy(), np.fft.rfft(x.real.astype(float), axis=axis)
            close(nd.fft.rfft(from_numpy(x, device), axis=axis), wanted("rfft", x, axis=axis))
            half = half.astype(dtype)
            close(nd.fft.irfft(from_numpy(half, device), n=n, axis=axis), wanted("irfft", half, n=n, axis=axis))


def test_same_bits_alone_and_in_a_batch():
    """What an element is does not depend on its neighbours, the layout, or how many there are."""
    rng = np.random.default_rng(13)
    for n in (5, 16, 64, 67, 100, 360, 1000, 1024, 2039, 4096):
        for dtype in COMPLEX:
            x = elements(rng, dtype, (37, n))
            rows = nd.fft.fft(from_numpy(x, "cpu")).numpy()
            columns = nd.fft.fft(from_numpy(np.ascontiguousarray(x.T), "cpu"), axis=0).numpy()
            alone = np.stack([nd.fft.fft(from_numpy(row, "cpu")).numpy() for row in x])
            np.testing.assert_array_equal(rows, alone)
            np.testing.assert_array_equal(columns.T, alone)
            x = x.real.copy()
            rows = nd.fft.rfft(from_numpy(x, "cpu")).numpy()
            alone = np.stack([nd.fft.rfft(from_numpy(row, "cpu")).numpy() for row in x])
            np.testing.assert_array_equal(rows, alone)
            back = nd.fft.irfft(from_numpy(rows, "cpu"), n=n).numpy()
            alone = np.stack([nd.fft.irfft(from_numpy(row, "cpu"), n=n).numpy() for row in rows])
            np.testing.assert_array_equal(back, alone)


@cases(*DEVICES)
def test_out(device):
    rng = np.random.default_rng(15)
    x = elements(rng, "complex64", (4, 6))
    y = from_numpy(x, device)
    out = nd.zeros((4, 6), dtype="complex128", device=device)
    assert nd.fft.fft(y, out=out) is out
    np.testing.assert_allclose(out.cpu().numpy(), np.fft.fft(x), rtol=1e-5, atol=1e-5)
    assert nd.fft.ifftn(y, out=y) is y
    np.testing.assert_allclose(y.cpu().numpy(), np.fft.ifftn(x), rtol=1e-5, atol=1e-6)
    with raises(TypeError):
        nd.fft.fft(y, out=nd.zeros((4, 6), device=device))
    with raises(ValueError, "shape"):
        nd.fft.rfft(nd.real(y), out=y)


def test_frequencies_and_shifts():
    rng = np.random.default_rng(17)
    for n in range(1, 12):
        np.testing.assert_allclose(nd.fft.fftfreq(n, d=0.1).cpu().numpy(), np.fft.fftfreq(n, 0.1), rtol=1e-15)
        np.testing.assert_allclose(nd.fft.rfftfreq(n, d=0.1).cpu().numpy(), np.fft.rfftfreq(n, 0.1), rtol=1e-15)
        assert nd.fft.fftfreq(n, dtype="float32").dtype == nd.float32
    for shape in ((5,), (4, 5), (2, 0, 3), (3, 4, 5)):
        x = elements(rng, "int32", shape)
        y = from_numpy(x, "cpu")
        for axes in (None, 0, -1, (0,), tuple(range(len(shape)))):
            same(nd.fft.fftshift(y, axes=axes), np.fft.fftshift(x, axes))
            same(nd.fft.ifftshift(y, axes=axes), np.fft.ifftshift(x, axes))


def test_what_is_refused():
    x = nd.ones((3, 4))
    for call, kind, text in (
            (lambda: nd.fft.fft(x, n=0), ValueError, "at least 1"),
            (lambda: nd.fft.fft(x, n=-5), ValueError, "-5"),
            (lambda: nd.fft.fft(nd.ones(())), ValueError, "without axes"),
            (lambda: nd.fft.fft(x, axis=2), IndexError, "axis 2"),
            (lambda: nd.fft.fft(x, norm="both"), ValueError, "'both'"),
            (lambda: nd.fft.fftn(x, axes=(0, 0)), IndexError, "twice"),
            (lambda: nd.fft.fftn(x, axes=(0, -2)), IndexError, "twice"),
            (lambda: nd.fft.fftn(x, axes=()), ValueError, "empty"),
            (lambda: nd.fft.fftn(x, s=(3,), axes=(0, 1)), ValueError, "1 lengths"),
            (lambda: nd.fft.fftn(x, s=(3, 0)), ValueError, "0"),
            (lambda: nd.fft.rfft(x + 1j), TypeError, "complex"),
            (lambda: nd.fft.irfft(nd.ones((3, 1))), ValueError, "length 0"),
            (lambda: nd.fft.fftfreq(0), ValueError, "at least one"),
            (lambda: nd.fft.fftfreq(4, dtype="int32"), TypeError, "floating"),
            (lambda: nd.fft.fftshift(x, axes=5), IndexError, "axis 5"), (lambda: nd.fft.fft([1, 2]), TypeError, ""),
            (lambda: nd.fft.fft(x, n=2**50), MemoryError, ""), (lambda: nd.fft.fft(x, n=2**62), OverflowError, "")):
        with raises(kind, text):
            call()


def test_threads_share_plans():
    rng = np.random.default_rng(19)
    x = elements(rng, "complex128", (3, 1000))
    y, want, wrong = from_numpy(x, "cpu"), np.fft.fft(x), []

    def work():
        for _ in range(50):
            if not np.allclose(nd.fft.fft(y).numpy(), want, rtol=1e-12, atol=1e-12):
                wrong.append(1)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong


FFTW = """
import numpy as np, ndock as nd
rng = np.random.default_rng(8)
nd.set_default_device("cpu")
try:
    nd.fft.fft(nd.ones(4))
except NotImplementedError as error:
    assert "libfftw3" in str(error) and "install FFTW 3" in str(error), error
    print("# FFTW is not installed: its error is looked at, not its results")
else:
    for name in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft", "fftn", "ifftn", "rfftn", "irfftn"):
        for shape in ((7,), (16,), (3, 5), (2, 3, 4), (40, 33), (1, 2), (130,)):
            x = rng.normal(size=shape)[::-1]
            x = x if name in ("rfft", "ihfft", "rfftn") else x + 1j * rng.normal(size=shape)
            for norm in ("backward", "ortho", "forward"):
                want = getattr(np.fft, name)(x, norm=norm)
                for single, bound in ((False, 1e-14), (True, 2e-6)):
                    y = nd.asarray(x.astype(("c8" if x.dtype.kind == "c" else "f4") if single else x.dtype))
                    got = np.asarray(getattr(nd.fft, name)(y, norm=norm))
                    assert abs(got - want).max() <= bound * abs(want).max(), (name, shape, norm, single)
"""


def test_fftw():
    """In a process of its own, since variables are read when the library starts."""
    import os
    import subprocess
    import sys

    found = subprocess.run([sys.executable, "-c", FFTW], env={**os.environ, "NDOCK_CPU_FFT": "fftw"}, capture_output=True,
                           text=True)
    print(found.stdout, end="")
    assert found.returncode == 0, found.stderr


def test_plan_cache():
    cache = nd.backends.fft.plan_cache["cpu"]
    most = cache.max_size
    try:
        cache.clear()
        cache.max_size = 3
        assert (cache.size, cache.max_size, cache.nbytes) == (0, 3, 0)
        before = cache.stats()
        for n in (8, 9, 10, 11, 11, 10, 8):
            nd.fft.fft(nd.ones(n, dtype=nd.complex64, device="cpu"))
        now = cache.stats()
        assert [now[k] - before[k] for k in ("hits", "misses", "evictions")] == [2, 5, 2], (before, now)
        assert (cache.size, now["size"], now["in_flight"]) == (3, 3, 0) and 0 < cache.nbytes == now["nbytes"]
        cache.max_size = 1
        assert cache.size == 1
        cache.max_bytes = cache.nbytes - 1
        assert cache.size == 0 and cache.nbytes == 0
        cache.max_bytes = 2**63 - 1
        cache.max_size = 0
        x = nd.arange(7, dtype=nd.float64, device="cpu")
        assert abs(float(nd.fft.fft(x)[0].real) - 21) < 1e-12 and cache.size == 0
        assert "at most 0" in repr(cache) and "cpu:0" in repr(cache)
    finally:
        cache.max_bytes = 2**63 - 1
        cache.max_size = most


@cases(*DEVICES)
def test_rank_64(device):
    x, y = pair(np.random.default_rng(64), "complex128", (2, 3, 2), device)
    high = nd.fft.ifftn(nd.reshape(y, (1,) * 61 + (2, 3, 2)))
    assert high.shape == (1,) * 61 + (2, 3, 2)
    close(nd.reshape(high, (2, 3, 2)), np.fft.ifftn(x))
    x, y = pair(np.random.default_rng(65), "float64", (2, 3, 2), device)
    high = nd.fft.rfftn(nd.reshape(y, (2, 3, 2) + (1,) * 61))
    assert high.shape == (2, 3, 2) + (1,) * 61
    close(nd.reshape(high, (2, 3, 2)), np.fft.fftn(x))


def test_plan_cache_of_a_device():
    caches = nd.backends.fft.plan_cache
    with nd.device("cpu"):
        nd.fft.fft(nd.ones(6))
        assert caches.size == caches["cpu"].size == caches["cpu:0"].size == caches[0].size == caches[nd.Device("cpu")].size > 0
        caches.clear()
        assert caches.size == caches["cpu"].size == 0
        nd.fft.fft(nd.ones(6))
    with nd.device("sim:0"):
        assert caches.size == 0 and caches["cpu"].size == 1
    with raises(ValueError, "-1"):
        caches["cpu"].max_size = -1
    with raises(ValueError, "-5"):
        caches["cpu"].max_bytes = -5
    with raises(TypeError):
        caches["cpu"].max_size = "many"
    with raises(Exception, "nothere"):
        caches["nothere"].size


def test_rows_fill_vectors_partly():
    """Batches and lengths around those of vectors, along and across rows, beside the definition's sums in long double."""
    rng = np.random.default_rng(66)
    for dtype, real in (("complex64", "float32"), ("complex128", "float64")):
        for n in (*range(1, 19), 31, 33):
            k = np.arange(n)
            matrix = np.exp(-2j * np.pi * np.longdouble(1) * (np.outer(k, k) % n) / n)
            for rows in (1, 2, 3, 5, 8, 13, 16, 17, 31):
                x = (rng.normal(size=(rows, n)) + 1j * rng.normal(size=(rows, n))).astype(dtype)
                expected = x.astype(np.clongdouble) @ matrix
                most = 8 * np.finfo(real).eps * (1 + np.log2(n)) * max(1, float(np.abs(expected).max()))
                given = nd.asarray(x, device="cpu")
                along, across = host(nd.fft.fft(given)), host(nd.fft.fft(nd.asarray(x.T.copy(), device="cpu"), axis=0)).T
                half = host(nd.fft.rfft(nd.asarray(x.real.copy(), device="cpu")))
                assert np.abs(along - expected).max() < most and np.abs(across - expected).max() < most
                assert np.abs(half - (x.real.astype(np.longdouble) @ matrix)[:, : n // 2 + 1]).max() < most


def test_turns_of_cosines_are_kept():
    """Once in the plan cache for each length and scale, of which copies are used, in a capture as well as outside."""
    cache = nd.backends.fft.plan_cache["cpu"]
    x = nd.asarray(np.random.default_rng(67).normal(size=(3, 40)), device="cpu")
    for transform in (nd.fft.dct, nd.fft.dst):
        for kind in (2, 3, 4):
            cache.clear()
            first = host(transform(x, type=kind))
            count = cache.size
            assert (host(transform(x, type=kind)) == first).all() and cache.size == count > 1
            graph = nd.Graph()
            with nd.graph(graph, device="cpu"):
                captured = transform(x, type=kind)
            graph.launch()
            nd.synchronize("cpu")
            assert np.abs(host(captured) - first).max() < 1e-12
            cache.clear()
            assert (host(transform(x, type=kind)) == first).all()


if __name__ == "__main__":
    main(globals())
