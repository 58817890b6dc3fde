#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Gradients of nd.nn's functions of windows over random geometries in float64, NN_COUNT of each (300) on the device NN_DEVICE
(cpu): along a random direction against the difference of the function on both sides of it, and where PyTorch is installed against its
gradients. Forward values by the definition, views and channels last among them, are in tests/conform/."""
import os

import ndock as nd
from arrays import host, np
from tap import Skip, cases, main

F = nd.nn
COUNT, DEVICE = int(os.environ.get("NN_COUNT", "300")), os.environ.get("NN_DEVICE", "cpu")
STEP = 2.0**-12  # sums of numbers with few bits and this stay exact: linear functions have no error of truncation


def there(x):
    return nd.asarray(np.ascontiguousarray(x), device=DEVICE, copy=True)


def integers(rng, *lists):
    return tuple(int(rng.integers(low, high + 1)) for low, high in lists)


class Geometry:
    """Extents of an image, and windows that fit into it."""

    def __init__(self, rng, pads_half=False, dilates=True):
        self.rank = rank = int(rng.integers(1, 4))
        each = [(1, 1)] * rank
        self.n, self.c = integers(rng, (1, 2), (1, 3))
        self.kernel = integers(rng, *[(1, 3 if rank < 3 else 2)] * rank)
        self.stride = integers(rng, *[(1, 3)] * rank)
        self.dilation = integers(rng, *([(1, 2)] * rank if dilates else each))
        reach = [d * (k - 1) + 1 for d, k in zip(self.dilation, self.kernel)]
        self.padding = integers(rng, *[(0, r // 2 if pads_half else 2) for r in reach])
        most = {1: 12, 2: 6, 3: 4}[rank]
        self.extents = integers(rng, *[(max(1, r - 2 * p), max(r - 2 * p, most)) for r, p in zip(reach, self.padding)])

    @property
    def image(self):
        return (self.n, self.c, *self.extents)

    @property
    def is_pytorchs(self):
        """PyTorch pads a pool by half of the window's elements at most, and takes no image below the window."""
        return all(2 * p <= k <= e for p, k, e in zip(self.padding, self.kernel, self.extents))


def distinct(rng, shape):
    """Numbers of which no two are alike, nor near each other, with few bits."""
    return rng.permutation(int(np.prod(shape))).reshape(shape) / 8 - 2.0


def whole(rng, shape):
    return rng.integers(-8, 9, shape) / 4


# Each takes random numbers and gives what is differentiated: x; the function of ndock, and its gradient by x of that of the result;
# the function of PyTorch.

def conv_input(rng, torch):
    g, groups, o = Geometry(rng), *integers(rng, (1, 2), (1, 2))
    x, w = whole(rng, (g.n, g.c * groups, *g.extents)), whole(rng, (o * groups, g.c, *g.kernel))
    options = dict(stride=g.stride, padding=g.padding, dilation=g.dilation, groups=groups)
    conv, by_input, weight = getattr(F, f"conv{g.rank}d"), getattr(F, f"conv{g.rank}d_input"), there(w)
    return (x, lambda a: conv(a, weight, **options), lambda a, dy: by_input(x.shape, weight, dy, **options),
            torch and (lambda a: getattr(torch.nn.functional, f"conv{g.rank}d")(a, torch.tensor(w), **options)))


def conv_weight(rng, torch):
    g, groups, o = Geometry(rng), *integers(rng, (1, 2), (1, 2))
    image, w = whole(rng, (g.n, g.c * groups, *g.extents)), whole(rng, (o * groups, g.c, *g.kernel))
    options = dict(stride=g.stride, padding=g.padding, dilation=g.dilation, groups=groups)
    conv, by_weight, x = getattr(F, f"conv{g.rank}d"), getattr(F, f"conv{g.rank}d_weight"), there(image)
    return (w, lambda a: conv(x, a, **options), lambda a, dy: by_weight(x, w.shape, dy, **options),
            torch and (lambda a: getattr(torch.nn.functional, f"conv{g.rank}d")(torch.tensor(image), a, **options)))


def transposed(rng):
    g, groups, o = Geometry(rng), *integers(rng, (1, 2), (1, 2))
    more = tuple(int(rng.integers(0, s)) for s in g.stride)
    padding = tuple(min(p, ((e - 1) * s + d * (k - 1) + m) // 2)
                    for p, e, s, d, k, m in zip(g.padding, g.extents, g.stride, g.dilation, g.kernel, more))
    options = dict(stride=g.stride, padding=padding, dilation=g.dilation, groups=groups)
    return g.rank, whole(rng, (g.n, g.c * groups, *g.extents)), whole(rng, (g.c * groups, o, *g.kernel)), options, more


def conv_transpose_input(rng, torch):
    rank, x, w, options, more = transposed(rng)
    conv, back, weight = getattr(F, f"conv_transpose{rank}d"), getattr(F, f"conv{rank}d"), there(w)
    theirs = torch and getattr(torch.nn.functional, f"conv_transpose{rank}d")
    return (x, lambda a: conv(a, weight, output_padding=more, **options), lambda a, dy: back(dy, weight, **options),
            theirs and (lambda a: theirs(a, torch.tensor(w), output_padding=more, **options)))


def conv_transpose_weight(rng, torch):
    rank, image, w, options, more = transposed(rng)
    conv, back, x = getattr(F, f"conv_transpose{rank}d"), getattr(F, f"conv{rank}d_weight"), there(image)
    theirs = torch and getattr(torch.nn.functional, f"conv_transpose{rank}d")
    return (w, lambda a: conv(x, a, output_padding=more, **options), lambda a, dy: back(dy, w.shape, x, **options),
            theirs and (lambda a: theirs(torch.tensor(image), a, output_padding=more, **options)))


def max_pool(rng, torch):
    g = Geometry(rng, pads_half=True)
    options = dict(stride=g.stride, padding=g.padding, dilation=g.dilation, ceil_mode=bool(rng.integers(2)))
    pool = getattr(F, f"max_pool{g.rank}d")

    def gradient(a, dy):
        return F.max_pool_grad(dy, pool(a, g.kernel, return_indices=True, **options)[1], g.image, g.kernel, **options)
    return (distinct(rng, g.image), lambda a: pool(a, g.kernel, **options), gradient,
            torch and g.is_pytorchs and (lambda a: getattr(torch.nn.functional, f"max_pool{g.rank}d")(a, g.kernel, **options)))


def avg_pool(rng, torch):
    g = Geometry(rng, pads_half=True, dilates=False)
    options = dict(stride=g.stride, padding=g.padding, ceil_mode=bool(rng.integers(2)), count_include_pad=bool(rng.integers(2)))
    if g.rank > 1 and rng.integers(3) == 0:
        options["divisor_override"] = int(rng.integers(1, 9))
    return (whole(rng, g.image), lambda a: getattr(F, f"avg_pool{g.rank}d")(a, g.kernel, **options),
            lambda a, dy: F.avg_pool_grad(dy, g.image, g.kernel, **options),
            torch and g.is_pytorchs and (lambda a: getattr(torch.nn.functional, f"avg_pool{g.rank}d")(a, g.kernel, **options)))


def lp_pool(rng, torch):
    g, p = Geometry(rng, pads_half=True, dilates=False), float(rng.integers(1, 4))
    extents = tuple(max(e, k) for e, k in zip(g.extents, g.kernel))
    x = 1 + rng.random((g.n, g.c, *extents))  # PyTorch has no absolute value where p is odd, and no gradient at 0
    pool = getattr(F, f"lp_pool{g.rank}d")
    kernel, stride = (g.kernel, g.stride) if g.rank > 1 else (g.kernel[0], g.stride[0])  # PyTorch's lp_pool1d takes numbers
    theirs = torch and g.rank < 3 and getattr(torch.nn.functional, f"lp_pool{g.rank}d")
    return (x, lambda a: pool(a, p, kernel, stride), lambda a, dy: F.lp_pool_grad(dy, a, pool(a, p, kernel, stride), p, kernel, stride),
            theirs and (lambda a: theirs(a, p, kernel, stride)))


def interpolate(rng, torch):
    g = Geometry(rng)
    modes = ["nearest", "nearest-exact", ("linear", "bilinear", "trilinear")[g.rank - 1]] + ["bicubic"] * (g.rank == 2)
    mode = modes[int(rng.integers(len(modes)))]
    options = dict(size=integers(rng, *[(1, 7)] * g.rank), mode=mode)
    if mode in modes[2:]:
        options["align_corners"] = bool(rng.integers(2))
    return (whole(rng, g.image), lambda a: F.interpolate(a, **options), lambda a, dy: F.interpolate_grad(dy, g.image, **options),
            torch and (lambda a: torch.nn.functional.interpolate(a, **options)))


def unfold(rng, torch):
    g = Geometry(rng)
    windows = (g.kernel, g.dilation, g.padding, g.stride)
    return (whole(rng, g.image), lambda a: F.unfold(a, *windows), lambda a, dy: F.fold(dy, g.extents, *windows),
            torch and g.rank == 2 and (lambda a: torch.nn.functional.unfold(a, *windows)))


def fold(rng, torch):
    g = Geometry(rng)
    windows = (g.kernel, g.dilation, g.padding, g.stride)
    shape = F.unfold(there(np.zeros(g.image)), *windows).shape
    return (whole(rng, shape), lambda a: F.fold(a, g.extents, *windows), lambda a, dy: F.unfold(dy, *windows),
            torch and g.rank == 2 and (lambda a: torch.nn.functional.fold(a, g.extents, *windows)))


FUNCTIONS = (conv_input, conv_weight, conv_transpose_input, conv_transpose_weight, max_pool, avg_pool, lp_pool, interpolate, unfold, fold)


@cases(*[f.__name__ for f in FUNCTIONS])
def test_along_a_direction(name):
    """The gradient's product with a direction is what the function changes along it."""
    make = globals()[name]
    for i in range(COUNT):
        rng = np.random.default_rng([i, FUNCTIONS.index(make)])
        x, function, gradient, _ = make(rng, None)
        y = host(function(there(x)))
        v, dy = rng.integers(-8, 9, x.shape) / 8, whole(rng, y.shape)
        after, before = host(function(there(x + STEP * v))), host(function(there(x - STEP * v)))
        dy[y == -np.inf] = 0  # of max_pool, windows without elements
        slope = np.sum(dy[dy != 0] * (after[dy != 0] - before[dy != 0])) / (2 * STEP)
        g = gradient(there(x), there(dy))
        assert g.shape == x.shape and g.dtype == nd.float64, (i, g.shape)
        got, size = np.sum(host(g) * v), np.sum(np.abs(host(g) * v)) + 1
        assert abs(got - slope) <= (1e-5 if make is lp_pool else 1e-9) * size, f"case {i}: {got} along a direction, not {slope}"


@cases(*[f.__name__ for f in FUNCTIONS])
def test_as_pytorch(name):
    """Every element of the gradient, and of the function."""
    if os.environ.get("NDOCK_TEST_SLICE"):
        raise Skip("a slice does not start PyTorch")
    try:
        import torch
    except ImportError:
        raise Skip("no PyTorch")
    torch.set_num_threads(1)
    make, compared = globals()[name], 0
    for i in range(COUNT):
        rng = np.random.default_rng([i, FUNCTIONS.index(make)])
        x, function, gradient, theirs = make(rng, torch)
        if not theirs:
            continue
        a = torch.tensor(x, requires_grad=True)
        y = theirs(a)
        dy = whole(rng, tuple(y.shape))
        y.backward(torch.tensor(dy))
        compared += 1
        np.testing.assert_allclose(host(function(there(x))), y.detach().numpy(), rtol=1e-12, atol=1e-12, err_msg=f"case {i}")
        np.testing.assert_allclose(host(gradient(there(x), there(dy))), a.grad.numpy(), rtol=1e-12, atol=1e-11, err_msg=f"case {i}")
    assert compared >= COUNT // 10


if __name__ == "__main__":
    main(globals())
