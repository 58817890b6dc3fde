#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Slices put in and taken out, elements written in place, sets, partitions, positions and matrices against NumPy, on random
strided views."""
import ndock as nd
from arrays import COMPLEX, DEVICES, INTS, REALS, from_numpy, host, np, pair, same
from tap import cases, main, raises

SOME = ("bool", "int16", "float32", "complex128")
SHAPES = [(1,), (7,), (3, 4), (2, 3, 5), (3, 0, 2), (1, 5, 1)]


def each(device, dtypes=SOME, shapes=SHAPES):
    rng = np.random.default_rng(11)
    for dtype in dtypes:
        for shape in shapes:
            yield (rng, dtype) + pair(rng, dtype, shape, device)


@cases(*DEVICES)
def test_insert_and_append(device):
    for rng, dtype, x, y in each(device):
        for axis in range(-x.ndim, x.ndim):
            n = x.shape[axis]
            for k in (0, 1, 3):
                at = rng.integers(-n, n + 1, k)
                shape = list(x.shape)
                shape[axis] = k
                v, w = pair(rng, dtype, tuple(shape), device)
                if k != 1:  # of one index in a list NumPy means the same as of an int
                    same(nd.insert(y, from_numpy(at, device), w, axis=axis), np.insert(x, at, v, axis=axis))
            one, two = pair(rng, dtype, (), device)
            for i in {-n, 0, n}:
                same(nd.insert(y, i, two, axis=axis), np.insert(x, i, one, axis=axis))
            same(nd.insert(y, slice(0, n, 2), two, axis=axis), np.insert(x, slice(0, n, 2), one, axis=axis))
            p, q = pair(rng, "float64", x.shape, device)
            same(nd.append(y, q, axis=axis), np.append(x, p, axis=axis))
        same(nd.append(y, two), np.append(x, one))
        same(nd.insert(y, [0, 0], two), np.insert(x, [0, 0], one))
    same(nd.insert(nd.asarray([1, 2, 3], device=device), 1, nd.asarray([8, 9], device=device)), np.insert([1, 2, 3], 1, [8, 9]))
    m = np.arange(6).reshape(2, 3)
    same(nd.insert(from_numpy(m, device), 1, nd.asarray([7, 8], device=device), axis=1), np.insert(m, 1, [7, 8], axis=1))
    with raises(IndexError, "4"):
        nd.insert(nd.ones(3, device=device), 4, 0)
    with raises(IndexError):
        nd.insert(nd.ones(3, device="cpu"), [4, 0], 0.0)


@cases(*DEVICES)
def test_delete(device):
    for rng, dtype, x, y in each(device):
        for axis in range(-x.ndim, x.ndim):
            n = x.shape[axis]
            for at in ([], rng.integers(-n, n, 2) if n else [], slice(0, n, 2), slice(None), rng.integers(0, 2, n).astype(bool)):
                given = from_numpy(at, device) if isinstance(at, np.ndarray) and len(at) else at
                given = [] if isinstance(given, np.ndarray) else given
                at = np.array(at, "int64") if isinstance(at, list) else at
                same(nd.delete(y, given, axis=axis), np.delete(x, at, axis=axis))
            if n:
                same(nd.delete(y, -1, axis=axis), np.delete(x, -1, axis=axis))
        if x.size:
            same(nd.delete(y, 0), np.delete(x, 0))
    with raises(IndexError, "3"):
        nd.delete(nd.ones(3, device=device), 3)
    with raises(ValueError, "bools"):
        nd.delete(nd.ones(3, device=device), from_numpy(np.array([True, False]), device))


@cases(*DEVICES)
def test_trim_zeros(device):
    for dtype in SOME:
        for values in ([0, 0, 1, 0, 2, 0], [1, 2], [0, 0], [], [0, 3], [3, 0]):
            x = np.array(values).astype(dtype)
            for trim in ("fb", "f", "b", "B"):
                same(nd.trim_zeros(from_numpy(x, device), trim), np.trim_zeros(x, trim))
    with raises(ValueError, "rank 2"):
        nd.trim_zeros(nd.ones((2, 2), device=device))


@cases(*DEVICES)
def test_put_and_place(device):
    for rng, dtype, x, y in each(device, SOME, [(7,), (3, 4), (2, 3, 5)]):
        for mode in ("raise", "wrap", "clip"):
            a, b = np.array(x), nd.asarray(y, copy=True)
            b = nd.permute_dims(nd.asarray(nd.permute_dims(y, range(y.ndim)[::-1]), copy=True), range(y.ndim)[::-1])
            at = rng.permutation(x.size)[:5] if mode == "raise" else rng.permutation(np.arange(-3, 3)) * (1 if mode == "wrap" else 50)
            if mode == "clip":
                at = np.array([-4, x.size + 3, 1, 2])
            v, w = pair(rng, dtype, (4 if mode == "clip" else 3,), device)
            np.put(a, at, v, mode)
            nd.put(b, from_numpy(at, device), w, mode)
            same(b, a)
        a, b = np.array(x), nd.asarray(y, copy=True)
        mask = rng.integers(0, 2, x.shape).astype(bool)
        np.place(a, mask, v)
        nd.place(b, from_numpy(mask, device), w)
        same(b, a)
        for axis in range(-x.ndim, x.ndim):
            a, b = np.array(x), nd.asarray(y, copy=True)
            at = np.argsort(rng.random(x.shape), axis=axis).take([0, 1], axis=axis)
            v, w = pair(rng, dtype, at.shape, device)
            np.put_along_axis(a, at, v, axis)
            nd.put_along_axis(b, from_numpy(at, device), w, axis)
            same(b, a)
        a, b = np.array(x), nd.asarray(y, copy=True)
        p, q = pair(rng, dtype, x.shape[-1:], device)
        np.copyto(a, p, where=mask)
        nd.copyto(b, q, where=from_numpy(mask, device))
        same(b, a)
        nd.copyto(b, q)
        same(b, np.broadcast_to(p, x.shape))
    with raises(ValueError, "nearest"):
        nd.put(b, 0, 0, "nearest")
    with raises(ValueError, "no values"):
        nd.place(b, nd.ones(b.shape, dtype=nd.bool, device=device), nd.zeros((0,), dtype=b.dtype, device=device))


@cases(*DEVICES)
def test_sets(device):
    for rng, dtype, x, y in each(device, ("bool", "int8", "uint32", "float32", "complex64"), [(0,), (1,), (30,), (5, 8)]):
        x = np.round(x.real).astype(dtype) if dtype in REALS + COMPLEX else x
        y = from_numpy(x, device)
        p, q = pair(rng, dtype, (20,), device)
        p = np.round(p.real).astype(dtype) if dtype in REALS + COMPLEX else p
        q = from_numpy(p, device)
        for name in ("intersect1d", "union1d", "setdiff1d", "setxor1d"):
            same(getattr(nd, name)(y, q), getattr(np, name)(x, p).astype(dtype))
        for got, want in zip(nd.intersect1d(y, q, return_indices=True), np.intersect1d(x, p, return_indices=True), strict=True):
            same(got, want)
        same(nd.unique(y), np.unique(x))
        for got, want in zip(nd.unique(y, True, False, True), np.unique(x, True, False, True), strict=True):
            same(got, want)


@cases(*DEVICES)
def test_unique_slices(device):
    rng = np.random.default_rng(12)
    for dtype in ("bool", "int8", "float32"):
        for shape in ((6,), (9, 2), (2, 9), (7, 2, 2), (0, 3), (1, 4), (3, 0)):
            x = rng.integers(0, 2, shape).astype(dtype)
            y = from_numpy(x, device)
            for axis in range(-x.ndim, x.ndim):
                if x.shape[axis] == 0 or x.size == 0:
                    continue
                want = np.unique(x, True, True, True, axis=axis)
                got = nd.unique(y, True, True, True, axis=axis)
                for g, w in zip(got, want, strict=True):
                    same(g, w.reshape(g.shape))
                same(nd.unique(y, axis=axis), want[0])
    same(nd.unique(nd.zeros((0, 3), device=device), axis=0), np.zeros((0, 3)))
    same(nd.unique(nd.zeros((3, 0), device=device), axis=0), np.zeros((1, 0)))


@cases(*DEVICES)
def test_partition_and_lexsort(device):
    for rng, dtype, x, y in each(device, INTS + REALS, [(1,), (30,), (5, 8)]):
        for axis in range(-x.ndim, x.ndim):
            n = x.shape[axis]
            for k in (0, n // 2, -1):
                whole = np.sort(x, axis=axis)
                got = nd.partition(y, k, axis)
                by = host(nd.argpartition(y, k, axis))
                for found in (host(got), np.take_along_axis(x, by, axis)):
                    k = k % n
                    np.testing.assert_array_equal(found.take(k, axis), whole.take(k, axis))
                    np.testing.assert_array_equal(np.sort(found, axis), whole)
                    assert (found.take(range(k), axis) <= whole.take([k], axis)).all()
                    assert (found.take(range(k, n), axis) >= whole.take([k], axis)).all()
        p, q = pair(rng, "int8", x.shape, device)
        for axis in range(-x.ndim, x.ndim):
            same(nd.lexsort([y, q], axis), np.lexsort([x, p], axis))
            same(nd.lexsort([q, y, q], axis), np.lexsort([p, x, p], axis))
    with raises(IndexError, "kth"):
        nd.partition(y, 99)
    with raises(ValueError, "at least one"):
        nd.lexsort([])


@cases(*DEVICES)
def test_positions(device):
    rng = np.random.default_rng(13)
    for shape in ((7,), (3, 4), (2, 3, 5)):
        n = int(np.prod(shape))
        at = rng.integers(0, n, (2, 6))
        for got, want in zip(nd.unravel_index(from_numpy(at, device), shape), np.unravel_index(at, shape), strict=True):
            same(got, want)
        places = [rng.integers(0, e, 9) for e in shape]
        same(nd.ravel_multi_index([from_numpy(p, device) for p in places], shape), np.ravel_multi_index(places, shape))
        wild = [p * 5 - 7 for p in places]
        for mode in ("wrap", "clip"):
            same(nd.ravel_multi_index([from_numpy(p, device) for p in wild], shape, mode),
                 np.ravel_multi_index(wild, shape, mode))
        with raises(IndexError, "not in"):
            nd.ravel_multi_index([from_numpy(p + 99, device) for p in places], shape)
        with raises(IndexError, "not in"):
            nd.unravel_index(from_numpy(at + n, device), shape)
    rows, cols = np.array([2, 0]), np.array([True, False, True])
    for got, want in zip(nd.ix_(from_numpy(rows, device), from_numpy(cols, device)), np.ix_(rows, cols), strict=True):
        same(got, want)
    with raises(ValueError, "argument 0"):
        nd.ix_(nd.ones((2, 2), device=device))


@cases(*DEVICES)
def test_matrices(device):
    for rng, dtype, x, y in each(device, ("int16", "float32", "complex128"), [(1,), (5,), (3, 4), (4, 3)]):
        for k in (-6, -1, 0, 2):
            same(nd.diag(y, k), np.diag(x, k))
            same(nd.diagflat(y, k), np.diagflat(x, k))
            same(nd.tri(4, 5, k, dtype=dtype, device=device), np.tri(4, 5, k, dtype))
        if x.ndim == 1:
            for n in (None, 0, 1, 4):
                for up in (False, True):
                    same(nd.vander(y, n, up), np.vander(x, n, up).astype(dtype), 1e-5 if dtype == "float32" else 1e-13)
    at = np.array([[1, 0, 5], [2, -1, 2]])
    for kind in ("int64", "uint8"):
        same(nd.one_hot(from_numpy(at.astype(kind), device), 3, dtype=nd.int8),
             (at.astype(kind)[..., None] == np.arange(3)).astype("int8"))
    with raises(TypeError, "integers"):
        nd.one_hot(nd.ones(2, device=device), 3)
    with raises(ValueError, "rank 3"):
        nd.diag(nd.ones((2, 2, 2), device=device))


@cases(*DEVICES)
def test_windows(device):
    view = np.lib.stride_tricks.sliding_window_view
    for rng, dtype, x, y in each(device, SOME, [(7,), (3, 4), (2, 3, 5)]):
        same(nd.sliding_window_view(y, tuple([2] * x.ndim)), view(x, tuple([2] * x.ndim)))
        same(nd.sliding_window_view(y, 2, axis=-1), view(x, 2, axis=-1))
        same(nd.sliding_window_view(y, (2, 1), axis=(0, 0)), view(x, (2, 1), axis=(0, 0)))
    with raises(ValueError, "window of 9"):
        nd.sliding_window_view(nd.ones(3, device=device), 9)
    with raises(ValueError, "windows"):
        nd.sliding_window_view(nd.ones((3, 3), device=device), 2)


@cases(*DEVICES)
def test_functions_of_python(device):
    for rng, dtype, x, y in each(device, ("int16", "float64"), [(4,), (3, 4), (2, 3, 5)]):
        for axis in range(-x.ndim, x.ndim):
            same(nd.apply_along_axis(lambda v: v[0] + v[-1], axis, y), np.asarray(np.apply_along_axis(lambda v: v[0] + v[-1], axis, x)))
            same(nd.apply_along_axis(lambda v: nd.stack([v, v]), axis, y), np.apply_along_axis(lambda v: np.stack([v, v]), axis, x))
        f = nd.vectorize(lambda a, b: a if a > b else b + 1, dtype)
        same(f(y, 1), np.asarray(np.vectorize(lambda a, b: a if a > b else b + 1, otypes=[dtype])(x, 1)))
    with raises(ValueError, "no row"):
        nd.apply_along_axis(lambda v: v[0], 0, nd.ones((3, 0), device=device))
    pairs = nd.vectorize(lambda a: (a, -a))(nd.asarray([1, 2], device=device))
    assert [p.tolist() for p in pairs] == [[1, 2], [-1, -2]] and pairs[0].device == y.device


if __name__ == "__main__":
    main(globals())
