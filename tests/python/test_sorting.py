#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sorting, searching, sets, taking, scattering and selecting against NumPy, on random strided views."""
import ndock as nd
from arrays import ALL, DEVICES, INTS, REALS, from_numpy, host, np, pair, same
from tap import cases, main, raises

SHAPES = [(1,), (7,), (3, 4), (2, 3, 5), (0,), (3, 0, 2), (130,)]


def each(device, dtypes=("bool",) + INTS + REALS, shapes=SHAPES):
    rng = np.random.default_rng(6)
    for dtype in dtypes:
        for shape in shapes:
            yield (rng,) + pair(rng, dtype, shape, device)


@cases(*DEVICES)
def test_sort_and_argsort(device):
    for rng, x, y in each(device, ALL):
        for axis in range(-x.ndim, x.ndim):
            order = np.argsort(x, axis=axis, kind="stable")
            same(nd.sort(y, axis=axis), np.sort(x, axis=axis))
            same(nd.argsort(y, axis=axis), order)
            same(nd.sort(y, axis=axis, descending=True), np.flip(np.sort(x, axis=axis), axis))
            # Stable downwards: equal elements keep their order, so the flipped input is sorted.
            down = x.shape[axis] - 1 - np.flip(np.argsort(np.flip(x, axis), axis=axis, kind="stable"), axis)
            same(nd.argsort(y, axis=axis, descending=True, stable=True), down)


@cases(*DEVICES)
def test_nan_sorts_last(device):
    x = np.array([np.nan, 1.0, -np.inf, np.nan, np.inf, -0.0])
    y = from_numpy(x, device)
    same(nd.sort(y), np.sort(x))
    same(nd.sort(y, descending=True), np.flip(np.sort(x)))


@cases(*DEVICES)
def test_topk(device):
    for rng, x, y in each(device):
        for axis in range(x.ndim):
            for k in {0, 1, x.shape[axis]}:
                if k > x.shape[axis]:
                    continue
                down = x.shape[axis] - 1 - np.flip(np.argsort(np.flip(x, axis), axis=axis, kind="stable"), axis)
                order = np.take(down, range(k), axis)
                got = nd.topk(y, k, axis=axis)
                same(got.indices, order)
                same(got.values, np.take_along_axis(x, order, axis))
                up = np.take(np.argsort(x, axis=axis, kind="stable"), range(k), axis)
                same(nd.topk(y, k, axis=axis, largest=False)[1], up)
    with raises(ValueError):
        nd.topk(nd.ones(3), 4)


@cases(*DEVICES)
def test_searchsorted(device):
    for rng, x, y in each(device, INTS + REALS, [(1,), (7,), (0,), (130,)]):
        v, w = pair(rng, x.dtype.name, (3, 5), device)
        order = np.argsort(x, kind="stable")
        for side in ("left", "right"):
            want = np.searchsorted(np.sort(x), v, side)
            same(nd.searchsorted(nd.sort(y), w, side=side), want)
            same(nd.searchsorted(y, w, side=side, sorter=from_numpy(order, device)), want)
            same(nd.searchsorted(nd.sort(y), 3, side=side), np.asarray(np.searchsorted(np.sort(x), 3, side)))
    with raises(ValueError, "middle"):
        nd.searchsorted(y, w, side="middle")


@cases(*DEVICES)
def test_unique(device):
    for rng, x, y in each(device, ALL, [()] + SHAPES):
        values, indices, inverse, counts = np.unique(x, return_index=True, return_inverse=True, return_counts=True)
        got = nd.unique_all(y)
        assert got._fields == ("values", "indices", "inverse_indices", "counts") and isinstance(got, tuple)
        same(got.values, values)
        same(got.indices, indices)
        same(got.inverse_indices, inverse.reshape(x.shape))
        same(got.counts, counts)
        same(nd.unique_values(y), values)
        same(nd.unique_counts(y).counts, counts)
        same(nd.unique_inverse(y).inverse_indices, inverse.reshape(x.shape))


@cases(*DEVICES)
def test_every_nan_is_a_value_and_zeros_are_one(device):
    y = from_numpy(np.array([np.nan, 0.0, -0.0, np.nan, 2.0]), device)
    same(nd.unique_counts(y).counts, np.array([2, 1, 1, 1]))
    same(nd.isin(y, y), np.array([False, True, True, False, True]))


@cases(*DEVICES)
def test_isin(device):
    for rng, x, y in each(device, ALL):
        v, w = pair(rng, x.dtype.name, (4,), device)
        same(nd.isin(y, w), np.isin(x, v))
        same(nd.isin(y, w, invert=True), np.isin(x, v, invert=True))
    y = nd.arange(4, device=device)
    same(nd.isin(y, 2), np.isin(np.arange(4), 2))
    same(nd.isin(2, y), np.isin(2, np.arange(4)))
    with raises(TypeError):
        nd.isin(1, 2)


@cases(*DEVICES)
def test_take(device):
    for rng, x, y in each(device, ALL):
        for axis in range(-x.ndim, x.ndim):
            n = x.shape[axis]
            shape = (2, 3) if n else (0,)
            indices = rng.integers(-n, n, shape) if n else np.zeros(shape, int)
            same(nd.take(y, from_numpy(indices, device), axis=axis), np.take(x, indices, axis))
            along = rng.integers(-n, n, x.shape) if n else np.zeros(x.shape, int)
            same(nd.take_along_axis(y, from_numpy(along, device), axis=axis), np.take_along_axis(x, along, axis))
    with raises(ValueError, "axis="):
        nd.take(nd.ones((2, 2), device=device), nd.zeros(1, dtype=nd.int64, device=device))
    with raises(IndexError, "7"):
        nd.take(nd.ones(3, device=device), nd.full(1, 7, device=device)).tolist()
    with raises(TypeError):
        nd.take(nd.ones(3, device=device), nd.zeros(1, device=device))


@cases(*DEVICES)
def test_gather_and_scatter(device):
    rng = np.random.default_rng(8)
    for dtype in ("int32", "float32", "float64"):
        x, y = pair(rng, dtype, (4, 5), device, dense=True)
        i = rng.integers(0, 4, (3, 5))
        s, t = pair(rng, dtype, (3, 5), device)
        j = from_numpy(i, device)
        same(nd.gather(y, from_numpy(i[:2, :3], device), axis=0), np.array([[x[i[r, c], c] for c in range(3)]
                                                                            for r in range(2)], dtype))
        for mode, f in [("set", lambda old, new: new), ("add", lambda old, new: old + new), ("min", min), ("max", max)]:
            want = x.copy()
            for r in range(3):
                for c in range(5):
                    want[i[r, c], c] = f(want[i[r, c], c], s[r, c])
            same(nd.scatter(y, j, t, axis=0, mode=mode), want)
        same(y, x)
        assert nd.scatter(y, j, t, axis=0, mode="max", copy=False) is y
        same(y, want)
        want = x.copy()
        np.add.at(want, i[:, 0], s)
        same(nd.index_add(from_numpy(x, device), from_numpy(i[:, 0], device), t), want)
    with raises(ValueError, "mean"):
        nd.scatter(y, j, t, mode="mean")


@cases(*DEVICES)
def test_selecting(device):
    for rng, x, y in each(device, ALL, [(7,), (3, 4), (2, 3, 5), (0,), (3, 0, 2)]):
        mask, m = pair(rng, "bool", x.shape, device)
        same(nd.masked_select(y, m), x[mask])
        for axis in range(-x.ndim, x.ndim):
            keep, k = pair(rng, "bool", (x.shape[axis],), device)
            same(nd.compress(k, y, axis=axis), np.compress(keep, x, axis))
        flat, f = pair(rng, "bool", (x.size,), device)
        same(nd.compress(f, y), np.compress(flat, x))
        for g, w in zip(nd.nonzero(y), np.nonzero(x), strict=True):
            same(g, w)
    with raises(ValueError):
        nd.nonzero(nd.ones(()))


if __name__ == "__main__":
    main(globals())
