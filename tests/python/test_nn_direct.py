#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Convolutions and their gradients of sizes that are cut up: bands of rows, several images at a time, tiles of channels and of positions,
parts of sums. Numbers have so few bits that sums are exact in f32, whatever their order: results are those of loops over taps in
float64, rounded once."""
import functools
import os

import ndock as nd
from arrays import DEVICES, from_numpy, host, np
from tap import cases, main

F = nd.nn
DTYPES = ("float32", "bfloat16") if os.environ.get("NDOCK_TEST_SLICE") else ("float32", "float64", "bfloat16")

# images, channels, extents, results, groups, kernel, options
ROWS = (
    (1, 64, (57, 56), 67, 1, (3, 3), dict(padding=1)),                                   # tiles of both
    (1, 200, (14, 14), 210, 1, (3, 3), dict(padding=1)),                                 # several blocks of k, tiles of channels
    (5, 40, (112, 112), 13, 1, (3, 3), dict(padding=1)),                                 # images in turns
    (1, 24, (240, 200), 8, 1, (3, 3), dict(padding=1)),                                  # bands of rows
    (1, 24, (241, 203), 8, 1, (3, 3), dict(padding=(1, 0), stride=2)),                   # of a stride
    (2, 3, (65, 67), 20, 1, (7, 7), dict(padding=3, stride=2)),                          # few channels: taps of a row together
    (2, 64, (28, 28), 64, 8, (3, 3), dict(padding=1)),                                   # groups
    (1, 32, (400, 400), 32, 8, (3, 3), dict(padding=1)),                                 # of which not all are there at a time
    (1, 33, (20, 30), 40, 1, (3, 2), dict(padding=(2, 1), stride=(3, 1), dilation=(1, 2))),
    (2, 32, (17, 19), 12, 1, (2, 2), dict(padding=0, stride=(4, 3))),                    # not all phases of a stride are met
    (1, 300, (14, 14), 212, 1, (1, 1), {}),                                              # windows of one element: blocks of k, tiles
    (3, 38, (21, 17), 50, 2, (1, 1), {}),                                                # whose ends fill no vector
    (2, 20, (16, 23), 24, 1, (1, 1), dict(stride=2)),
    (1, 48, (600,), 50, 1, (9,), dict(padding=4)),
    (3, 8, (5000,), 12, 2, (5,), dict(padding=7, dilation=3, stride=2)),
)


def both(value):
    return value if isinstance(value, tuple) else (value, value)


class Case:
    """The sums over the taps of one geometry, of one axis as of two."""

    def __init__(self, row, seed):
        n, c, extents, o, self.groups, kernel, self.options = row
        rng = np.random.default_rng(seed)
        self.rank = len(extents)
        if self.rank == 1:
            one = {k: (0 if k == "padding" else 1, v) for k, v in self.options.items()}
            extents, kernel = (1, *extents), (1, *kernel)
        else:
            one = self.options
        self.stride, self.padding, self.dilation = (both(one.get(k, d)) for k, d in (("stride", 1), ("padding", 0), ("dilation", 1)))
        self.kernel = kernel
        self.grid = tuple((e + 2 * p - d * (k - 1) - 1) // s + 1
                          for e, p, d, k, s in zip(extents, self.padding, self.dilation, kernel, self.stride))
        self.x = rng.integers(-2, 3, (n, c, *extents)) / 2
        self.w = rng.integers(-2, 3, (o, c // self.groups, *kernel)) / 2
        self.g = rng.integers(-2, 3, (n, o, *self.grid)) / 2

    def lines(self, a):
        """Images by groups by channels by positions, for products of matrices."""
        return a.reshape(a.shape[0], self.groups, -1, a.shape[2] * a.shape[3])

    def taps(self):
        """Of each tap: its place in the kernel, and what it meets in a padded image."""
        for i in range(self.kernel[0]):
            for j in range(self.kernel[1]):
                yield (i, j), tuple(slice(k * d, k * d + (n - 1) * s + 1, s)
                                    for k, d, n, s in zip((i, j), self.dilation, self.grid, self.stride))

    def expected(self):
        n, c, h, w = self.x.shape
        ph, pw = self.padding
        padded = np.zeros((n, c, h + 2 * ph, w + 2 * pw))
        padded[:, :, ph:ph + h, pw:pw + w] = self.x
        weight = self.w.reshape(self.groups, -1, *self.w.shape[1:])
        g, dx, dw = self.lines(self.g), np.zeros_like(padded), np.zeros_like(weight)
        y = np.zeros_like(g)
        for (i, j), (rows, columns) in self.taps():
            met, tap = self.lines(padded[:, :, rows, columns]), weight[..., i, j]
            y += tap @ met
            dw[..., i, j] = (g @ np.swapaxes(met, -1, -2)).sum(0)
            dx[:, :, rows, columns] += (np.swapaxes(tap, -1, -2) @ g).reshape(n, c, *self.grid)
        return y.reshape(self.g.shape), dx[:, :, ph:ph + h, pw:pw + w], dw.reshape(self.w.shape)

    def flat(self, a):
        return a[:, :, 0] if self.rank == 1 else a


@functools.lru_cache(maxsize=1)
def computed(i):
    """A row's case and what is expected of it, which take longer than what is tested: one row's tests follow each other."""
    case = Case(ROWS[i], i)
    return case, tuple(case.flat(a) for a in case.expected())


def last_of(a):
    """The same numbers, channels innermost in memory."""
    d = a.ndim
    return nd.permute_dims(nd.permute_dims(a, (0, *range(2, d), 1)).copy(), (0, d - 1, *range(1, d - 1)))


def given(a, dtype, layout, device):
    a = nd.astype(from_numpy(a, device), dtype)
    if layout == "last":
        return last_of(a)
    if layout == "view":  # every other column of rows that are wider
        wide = nd.zeros((*a.shape[:-1], 2 * a.shape[-1]), dtype=dtype, device=device)
        wide[..., ::2] = a
        return wide[..., ::2]
    return a


def same(got, want, dtype, device):
    rounded = host(nd.astype(nd.astype(from_numpy(np.ascontiguousarray(want), device), dtype), nd.float64))
    np.testing.assert_array_equal(host(nd.astype(got, nd.float64)), rounded)


@cases(*[(d, i, t) for i in range(len(ROWS)) for d in DEVICES for t in DTYPES])
def test_cut_up(device, i, dtype):
    case, (y, dx, dw) = computed(i)
    conv, by_input, by_weight = (getattr(F, f"conv{case.rank}d{end}") for end in ("", "_input", "_weight"))
    options = dict(case.options, groups=case.groups)
    for layout in ("first", "last", "view") if dtype == "float32" else ("first", "last"):
        x, w, g = (given(np.ascontiguousarray(case.flat(a)), dtype, layout, device) for a in (case.x, case.w, case.g))
        same(conv(x, w, **options), y, dtype, device)
        same(by_input(x.shape, w, g, **options), dx, dtype, device)
        same(by_weight(x, w.shape, g, **options), dw, dtype, device)


@cases(*DEVICES)
def test_infinities_stay_where_they_are(device):
    """Neither a position beside the padding nor a position of the next row meets what a window does not."""
    x = np.ones((1, 16, 9, 10))
    x[:, :, 4, 9] = np.inf
    w, g = np.ones((16, 16, 3, 3)), np.ones((1, 16, 9, 10))
    y = host(F.conv2d(given(x, "float32", "first", device), given(w, "float32", "first", device), padding=1))
    met = np.zeros((9, 10), bool)
    met[3:6, 8:] = True
    np.testing.assert_array_equal(np.isinf(y), np.broadcast_to(met, y.shape))
    assert not np.isnan(y).any()
    dw = host(F.conv2d_weight(given(x, "float32", "first", device), w.shape, given(g, "float32", "first", device), padding=1))
    assert not np.isnan(dw).any()  # the first column's taps would meet it from right of the last position
    np.testing.assert_array_equal(np.isinf(dw), np.broadcast_to([False, True, True], dw.shape))


if __name__ == "__main__":
    main(globals())
