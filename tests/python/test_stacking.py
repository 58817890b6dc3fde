#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Arrays put beside each other, cut apart and turned, against NumPy, on random strided views."""
import ndock as nd
from arrays import DEVICES, from_numpy, np, pair, same
from tap import cases, main, raises

SOME = ("bool", "int16", "float32", "complex128")
SHAPES = [(), (1,), (7,), (3, 4), (2, 3, 5), (0,), (3, 0, 2), (1, 5, 1)]


def each(device, shapes=SHAPES):
    rng = np.random.default_rng(4)
    for dtype in SOME:
        for shape in shapes:
            yield (rng, dtype) + pair(rng, dtype, shape, device)


@cases(*DEVICES)
def test_stacks(device):
    for rng, dtype, x, y in each(device):
        p, q = pair(rng, "float64", x.shape, device)
        for name in ("hstack", "vstack", "dstack", "column_stack"):
            want = getattr(np, name)([x, p, x])
            same(getattr(nd, name)([y, q, y]), want)
        for rank in (1, 2, 3):
            same(getattr(nd, f"atleast_{rank}d")(y), getattr(np, f"atleast_{rank}d")(x))
    assert [a.shape for a in nd.atleast_2d(nd.ones(3, device=device), nd.ones((), device=device))] == [(1, 3), (1, 1)]
    with raises(ValueError, "shapes"):
        nd.vstack([nd.ones((2, 3), device=device), nd.ones((2, 4), device=device)])
    with raises(ValueError, "at least one"):
        nd.hstack([])


@cases(*DEVICES)
def test_block(device):
    rng = np.random.default_rng(5)
    for dtype in SOME:
        a, b, c, d = [pair(rng, dtype, s, device) for s in ((2, 3), (2, 1), (4, 3), (4, 1))]
        same(nd.block([[a[1], b[1]], [c[1], d[1]]]), np.block([[a[0], b[0]], [c[0], d[0]]]))
        v = pair(rng, dtype, (3,), device)
        same(nd.block([v[1], v[1]]), np.block([v[0], v[0]]))
        same(nd.block([[v[1]], [a[1]]]), np.block([[v[0]], [a[0]]]))
        e = pair(rng, dtype, (2, 2, 2), device)
        same(nd.block([e[1], e[1]]), np.block([e[0], e[0]]))
        same(nd.block([[[e[1]]], [[e[1]]]]), np.block([[[e[0]]], [[e[0]]]]))
        same(nd.block(v[1]), np.block(v[0]))
    with raises(ValueError, "nested"):
        nd.block([[v[1]], v[1]])
    with raises(ValueError, "empty"):
        nd.block([[]])


@cases(*DEVICES)
def test_split(device):
    for rng, dtype, x, y in each(device, SHAPES[1:]):
        for axis in range(-x.ndim, x.ndim):
            for parts in (1, 2, 3, 7, [1], [2, 1], [0, 3, 3], [-1], [], [100, -100]):
                for got, want in zip(nd.array_split(y, parts, axis), np.array_split(x, parts, axis), strict=True):
                    same(got, want)
                if isinstance(parts, int) and x.shape[axis] % parts:
                    with raises(ValueError, "array_split"):
                        nd.split(y, parts, axis)
                else:
                    for got, want in zip(nd.split(y, parts, axis), np.split(x, parts, axis), strict=True):
                        same(got, want)
        for name, rank in (("hsplit", 1), ("vsplit", 2), ("dsplit", 3)):
            if x.ndim >= rank:
                for got, want in zip(getattr(nd, name)(y, [1]), getattr(np, name)(x, [1]), strict=True):
                    same(got, want)
            else:
                with raises(ValueError, "dimension"):
                    getattr(nd, name)(y, [1])
    x = nd.zeros(4, device=device)
    nd.split(x, 2)[1][...] = 7
    same(x, np.array([0.0, 0.0, 7.0, 7.0]))
    same(nd.split(x, nd.asarray([1]))[0], np.zeros(1))
    with raises(ValueError, "at least one"):
        nd.split(x, 0)
    with raises(IndexError):
        nd.split(x, 2, axis=1)


@cases(*DEVICES)
def test_turns(device):
    for rng, dtype, x, y in each(device):
        if x.ndim >= 1:
            same(nd.flipud(y), np.flipud(x))
        if x.ndim >= 2:
            same(nd.fliplr(y), np.fliplr(x))
            for k in range(-5, 6):
                same(nd.rot90(y, k), np.rot90(x, k))
                same(nd.rot90(y, k, (1, 0)), np.rot90(x, k, (1, 0)))
                same(nd.rot90(y, k, (-1, 0)), np.rot90(x, k, (-1, 0)))
    with raises(ValueError, "rank 1"):
        nd.rot90(nd.ones(3, device=device))
    with raises(ValueError, "both axes"):
        nd.rot90(nd.ones((2, 2), device=device), axes=(0, -2))
    with raises(ValueError, "rank 0"):
        nd.flipud(from_numpy(np.array(1.0), device))


if __name__ == "__main__":
    main(globals())
