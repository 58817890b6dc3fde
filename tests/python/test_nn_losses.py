#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Losses and their gradients against their definitions in float64, one element after another, and finite differences; weights,
ignored targets, smoothing, reductions, dtypes, devices; errors."""
import math

import ndock as nd
from arrays import DEVICES, np
from tap import cases, main, raises
from test_nn_norms import FLOATS, difference, given, near

REDUCTIONS = ("mean", "sum", "none")


def entropy(x, y, w, ignore, smoothing, logs=False):
    """The losses of rows, and the sum of the weights of those that count."""
    n, classes = x.shape[0], x.shape[1]
    losses, total = np.zeros(n), 0.0
    for i in range(n):
        if y[i] == ignore:
            continue
        top = max(x[i])
        logsum = 0.0 if logs else top + math.log(sum(math.exp(v - top) for v in x[i]))
        losses[i] = (1 - smoothing) * w[y[i]] * (logsum - x[i, y[i]])
        losses[i] += smoothing / classes * sum(w[c] * (logsum - x[i, c]) for c in range(classes))
        total += w[y[i]]
    return losses, total


def entropy_grad(g, x, y, w, ignore, smoothing):
    """g: of each row's loss."""
    n, classes = x.shape
    r = np.zeros_like(x)
    for i in range(n):
        if y[i] == ignore:
            continue
        e = np.exp(x[i] - x[i].max())
        p = e / e.sum()
        for c in range(classes):
            r[i, c] = (1 - smoothing) * w[y[i]] * (p[c] - (c == y[i])) + smoothing / classes * (w.sum() * p[c] - w[c])
        r[i] *= g[i]
    return r


def reduced(losses, total, reduction):
    return losses if reduction == "none" else losses.sum() if reduction == "sum" else losses.sum() / total


@cases(*[(device, dtype) for device in DEVICES for dtype in FLOATS])
def test_cross_entropy(device, dtype):
    rng = np.random.default_rng(1)
    for n, classes, smoothing in [(5, 7, 0.0), (3, 4, 0.1), (1, 1, 0.0), (4, 4500, 0.2), (6, 33, 1.0)]:
        x, x64 = given(rng, (n, classes), dtype, device)
        w, w64 = given(rng, (classes,), dtype, device)
        w, w64 = abs(w), np.abs(w64)
        y = rng.integers(0, classes, n)
        ignore = -100
        if n > 3:
            y[1] = ignore
        target = nd.asarray(y, device=device)
        for weight, by in ((None, np.ones(classes)), (w, w64)):
            losses, total = entropy(x64, y, by, ignore, smoothing)
            for reduction in REDUCTIONS:
                got = nd.nn.cross_entropy(x, target, weight, reduction=reduction, label_smoothing=smoothing)
                near(got, np.asarray(reduced(losses, total, reduction)), dtype, 2)
                g, g64 = given(rng, (n,) if reduction == "none" else (), dtype, device)
                each = g64 * np.ones(n) / (total if reduction == "mean" else 1)
                got = nd.nn.cross_entropy_grad(g, x, target, weight, reduction=reduction, label_smoothing=smoothing)
                near(got, entropy_grad(each, x64, y, by, ignore, smoothing), dtype, 2 * np.max(np.abs(each)) + 1e-30)


@cases(*[(device, dtype) for device in DEVICES for dtype in FLOATS])
def test_cross_entropy_of_long_rows(device, dtype):
    """Rows that threads hold, rows in tiles, and rows that no vector divides, by NumPy in float64."""
    rng = np.random.default_rng(7)
    for n, classes in ((5, 1032), (3, 4096), (4, 8200), (3, 20000), (3, 32768), (2, 32769), (2, 66560), (140, 5000)):
        x = nd.astype(nd.asarray(rng.normal(size=(n, classes)), device=device), dtype)
        x64 = np.asarray(nd.astype(x, nd.float64).tolist())
        w, w64 = given(rng, (classes,), dtype, device)
        w, w64 = abs(w), np.abs(w64)
        g, g64 = given(rng, (n,), dtype, device)
        y = rng.integers(0, classes, n)
        y[0], y[-1] = classes - 1, 0
        if n > 3:
            y[1] = -100
        counts = y >= 0
        target, at = nd.asarray(y, device=device), np.where(counts, y, 0)
        e = np.exp(x64 - x64.max(axis=1, keepdims=True))
        p = e / e.sum(axis=1, keepdims=True)
        losses = -np.log(p[np.arange(n), at])
        grad = p.copy()
        grad[np.arange(n), at] -= 1
        for weight, by in ((None, counts * 1.0), (w, counts * w64[at])):
            near(nd.nn.cross_entropy(x, target, weight, reduction="none"), by * losses, dtype, 2)
            near(nd.nn.cross_entropy_grad(g, x, target, weight, reduction="none"), (by * g64)[:, None] * grad, dtype, 2 * np.max(np.abs(by * g64)))


@cases(*DEVICES)
def test_cross_entropy_of_endless_scores(device):
    """Minus infinity is no score of a long row; infinity and NaN make its loss and gradient NaN, and no other row's."""
    for dtype in ("float16", "bfloat16", "float32"):
        x = np.zeros((5, 8192))
        x[0, :8000] = -math.inf
        x[1, 77] = math.inf
        x[2, 4097] = math.nan
        x[3] = -math.inf
        y = nd.asarray([8191, 3, 3, 3, 3], device=device)
        a = nd.astype(nd.asarray(x, device=device), dtype)
        got = np.asarray(nd.astype(nd.nn.cross_entropy(a, y, reduction="none"), nd.float64).tolist())
        assert np.isnan(got).tolist() == [False, True, True, True, False], (dtype, got)
        assert abs(got[0] - math.log(192)) < 0.02 and abs(got[4] - math.log(8192)) < 0.04
        r = nd.nn.cross_entropy_grad(nd.ones((5,), dtype=getattr(nd, dtype), device=device), a, y, reduction="none")
        r = np.asarray(nd.astype(r, nd.float64).tolist())
        assert np.isnan(r).any(axis=1).tolist() == [False, True, True, True, False]
        assert (r[0, :8000] == 0).all() and abs(r[0, 8190] * 192 - 1) < 0.01 and abs(r[0, 8191] + 191 / 192) < 0.01


@cases(*DEVICES)
def test_cross_entropy_of_more_axes(device):
    rng = np.random.default_rng(2)
    x, x64 = given(rng, (2, 5, 3, 4), "float64", device)
    y = rng.integers(0, 5, (2, 3, 4))
    rows = np.moveaxis(x64, 1, -1).reshape(-1, 5)
    losses, total = entropy(rows, y.reshape(-1), np.ones(5), -1, 0.0)
    target = nd.asarray(y, device=device)
    near(nd.nn.cross_entropy(x, target, reduction="none"), losses.reshape(y.shape), "float64")
    near(nd.nn.cross_entropy(x, nd.astype(target, nd.uint8)), np.asarray(losses.mean()), "float64")
    g, g64 = given(rng, y.shape, "float64", device)
    want = entropy_grad(g64.reshape(-1), rows, y.reshape(-1), np.ones(5), -1, 0.0)
    near(nd.nn.cross_entropy_grad(g, x, target, reduction="none"), np.moveaxis(want.reshape(2, 3, 4, 5), -1, 1), "float64")
    near(nd.nn.cross_entropy(x[0, :, 0, 0], target[0, 0, 0]), np.asarray(losses[0]), "float64")
    assert nd.nn.cross_entropy(nd.zeros((0, 3), device=device), nd.zeros((0,), dtype=nd.int64, device=device), reduction="none").shape == (0,)
    nothing = nd.nn.cross_entropy(nd.zeros((2, 3), device=device), nd.full((2,), -100, device=device))
    assert math.isnan(float(nothing.item())), "all targets are ignored: 0/0"
    huge = nd.asarray([[1e4, 0.0], [-1e4, 0.0]], device=device)
    near(nd.nn.cross_entropy(huge, nd.asarray([0, 0], device=device), reduction="none"), np.asarray([0.0, 1e4]), "float64")
    endless = nd.asarray([[-math.inf, 0.0]], device=device)
    assert nd.nn.cross_entropy(endless, nd.asarray([0], device=device)).item() == math.inf


@cases(*[(device, dtype) for device in DEVICES for dtype in FLOATS])
def test_nll_loss(device, dtype):
    rng = np.random.default_rng(3)
    x, x64 = given(rng, (6, 5), dtype, device)
    w, w64 = given(rng, (5,), dtype, device)
    y = rng.integers(0, 5, 6)
    y[2] = 9
    target = nd.asarray(y, device=device)
    for weight, by in ((None, np.ones(5)), (w, w64)):
        losses, total = entropy(x64, y, by, 9, 0.0, logs=True)
        for reduction in REDUCTIONS:
            near(nd.nn.nll_loss(x, target, weight, ignore_index=9, reduction=reduction), np.asarray(reduced(losses, total, reduction)), dtype, 2)
        g, g64 = given(rng, (6,), dtype, device)
        want = np.zeros((6, 5))
        for i in range(6):
            if y[i] != 9:
                want[i, y[i]] = -g64[i] * by[y[i]]
        near(nd.nn.nll_loss_grad(g, x, target, weight, ignore_index=9, reduction="none"), want, dtype)
        near(nd.nn.nll_loss_grad(nd.asarray(1.0, dtype=dtype, device=device), x, target, weight, ignore_index=9), want / g64[:, None] / total, dtype)


def sigmoid(a):
    return 1 / (1 + np.exp(-a))


def softplus(a):
    return np.log1p(np.exp(-np.abs(a))) + np.maximum(a, 0)


# Value and slope of an element, by its definition.
ELEMENTS = {
    "mse_loss": (lambda a, y: (a - y) ** 2, lambda a, y: 2 * (a - y)),
    "l1_loss": (lambda a, y: np.abs(a - y), lambda a, y: np.sign(a - y)),
    "huber_loss": (lambda a, y: np.where(np.abs(a - y) <= 1, (a - y) ** 2 / 2, np.abs(a - y) - 0.5),
                   lambda a, y: np.where(np.abs(a - y) <= 1, a - y, np.sign(a - y))),
    "binary_cross_entropy_with_logits": (lambda a, y: -y * np.log(sigmoid(a)) - (1 - y) * np.log(1 - sigmoid(a)),
                                         lambda a, y: sigmoid(a) - y),
    "kl_div": (lambda a, y: y * (np.log(y) - a), lambda a, y: -y),
}


@cases(*[(device, name) for device in DEVICES for name in ELEMENTS])
def test_elements(device, name):
    rng = np.random.default_rng(4)
    value, slope = ELEMENTS[name]
    for dtype in FLOATS:
        a, a64 = given(rng, (3, 4, 2), dtype, device)
        y, y64 = given(rng, (3, 4, 2), dtype, device)
        if "loss" not in name:
            y, y64 = abs(y), np.abs(y64)
        want, by = value(a64, y64), slope(a64, y64)
        f, grad = getattr(nd.nn, name), getattr(nd.nn, name + "_grad")
        near(f(a, y, reduction="none"), want, dtype, 4)
        near(f(a, y, reduction="sum"), want.sum(), dtype, 24)
        near(f(a, y), want.mean(), dtype, 4)
        g, g64 = given(rng, (3, 4, 2), dtype, device)
        near(grad(g, a, y, reduction="none"), g64 * by, dtype, 8)
        one, one64 = given(rng, (), dtype, device)
        near(grad(one, a, y), one64 * by / 24, dtype, 1)
        near(grad(one, a, y, reduction="sum"), one64 * by, dtype, 8)


@cases(*DEVICES)
def test_parameters(device):
    rng = np.random.default_rng(5)
    a, a64 = given(rng, (3, 4), "float64", device)
    y, y64 = given(rng, (3, 4), "float64", device)
    d = np.abs(a64 - y64)
    want = np.where(d <= 0.5, d ** 2 / 2, 0.5 * (d - 0.25))
    near(nd.nn.huber_loss(a, y, delta=0.5, reduction="none"), want, "float64")
    near(nd.nn.smooth_l1_loss(a, y, beta=0.5, reduction="none"), want / 0.5, "float64")
    near(nd.nn.smooth_l1_loss(a, y, beta=0, reduction="none"), d, "float64")
    g, g64 = given(rng, (), "float64", device)
    near(nd.nn.smooth_l1_loss_grad(g, a, y, beta=0.5, reduction="sum"), g64 * np.clip((a64 - y64) / 0.5, -1, 1), "float64")
    near(nd.nn.smooth_l1_loss_grad(g, a, y, beta=0, reduction="sum"), g64 * np.sign(a64 - y64), "float64")
    w, w64 = given(rng, (4,), "float64", device)
    p, p64 = given(rng, (3, 1), "float64", device)
    want = w64 * (p64 * y64 * softplus(-a64) + (1 - y64) * softplus(a64))
    near(nd.nn.binary_cross_entropy_with_logits(a, y, w, pos_weight=p, reduction="none"), want, "float64", 8)
    want = w64 * (-p64 * y64 * sigmoid(-a64) + (1 - y64) * sigmoid(a64)) * g64
    near(nd.nn.binary_cross_entropy_with_logits_grad(g, a, y, w, pos_weight=p, reduction="sum"), want, "float64", 8)
    near(nd.nn.kl_div(a, y, log_target=True, reduction="batchmean"), (np.exp(y64) * (y64 - a64)).sum() / 3, "float64", 8)
    near(nd.nn.kl_div_grad(g, a, y, log_target=True, reduction="batchmean"), -np.exp(y64) * g64 / 3, "float64", 8)
    zero = nd.nn.kl_div(nd.zeros((2,), device=device), nd.asarray([0.0, 1.0], device=device), reduction="none")
    assert zero.tolist() == [0.0, 0.0]
    large = nd.nn.binary_cross_entropy_with_logits(nd.asarray([800.0, -800.0], device=device), nd.asarray([1.0, 0.0], device=device))
    assert large.item() == 0.0


def test_gradients_by_differences():
    rng = np.random.default_rng(6)
    x, y, w = rng.normal(size=(4, 5)), np.asarray([1, 0, 4, 2]), np.abs(rng.normal(size=5))
    target, weight, one = nd.asarray(y), nd.asarray(w), nd.asarray(1.0)
    for reduction, smoothing in (("mean", 0.0), ("mean", 0.3), ("sum", 0.1)):
        def f(z):
            return np.asarray(nd.nn.cross_entropy(nd.asarray(z), target, weight, reduction=reduction, label_smoothing=smoothing).item())
        got = nd.nn.cross_entropy_grad(one, nd.asarray(x), target, weight, reduction=reduction, label_smoothing=smoothing)
        assert np.max(np.abs(difference(f, x, 1.0) - np.asarray(got.tolist()))) < 1e-7
    t = nd.asarray(np.abs(rng.normal(size=(4, 5))))
    for name in (*ELEMENTS, "smooth_l1_loss"):
        def f(z):
            return np.asarray(getattr(nd.nn, name)(nd.asarray(z), t).item())
        got = getattr(nd.nn, name + "_grad")(one, nd.asarray(x), t)
        assert np.max(np.abs(difference(f, x, 1.0) - np.asarray(got.tolist()))) < 1e-7, name


@cases(*DEVICES)
def test_errors(device):
    x, y = nd.zeros((2, 3), device=device), nd.asarray([0, 3], device=device)
    with raises(IndexError, "3"):
        nd.nn.cross_entropy(x, y).item()
    with raises(IndexError, "-1"):
        nd.nn.cross_entropy(x, nd.asarray([0, -1], device=device)).item()
    with raises(IndexError, "3"):
        nd.nn.cross_entropy_grad(nd.asarray(1.0, device=device), x, y).tolist()
    with raises(IndexError, "3"):
        nd.nn.nll_loss(x, y).item()
    with raises(IndexError):
        nd.nn.nll_loss(x, nd.asarray([0, -1], device=device)).item()
    with raises(TypeError, "float64"):
        nd.nn.cross_entropy(x, nd.zeros((2,), device=device))
    with raises(ValueError, "cross_entropy"):
        nd.nn.cross_entropy(x, nd.asarray([0, 1, 2], device=device))
    with raises(ValueError, "smoothing"):
        nd.nn.cross_entropy(x, nd.asarray([0, 1], device=device), label_smoothing=2.0)
    with raises(ValueError, "'mean'"):
        nd.nn.mse_loss(x, x, reduction="median")
    with raises(ValueError, "mse_loss"):
        nd.nn.mse_loss(x, nd.zeros((3, 2), device=device))
    with raises(ValueError, "delta"):
        nd.nn.huber_loss(x, x, delta=0.0)
    with raises(ValueError, "mse_loss_grad"):
        nd.nn.mse_loss_grad(nd.zeros((2,), device=device), x, x)


if __name__ == "__main__":
    main(globals())
