#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Normalisations and their gradients against formulas of their definitions in float64, gradients also against finite differences;
random shapes, axes, views and dtypes; running statistics; errors."""
import math

import ndock as nd
from arrays import DEVICES, np, pair
from tap import cases, main, raises

FLOATS = ("float16", "bfloat16", "float32", "float64")
TOLERANCE = {"float16": 4e-3, "bfloat16": 3e-2, "float32": 1e-5, "float64": 1e-11}


def near(got, want, dtype, scale=1.0):
    assert str(got.dtype) == dtype, (got.dtype, dtype)
    got = np.asarray(nd.astype(got, nd.float64).tolist()) if got.size else np.zeros(got.shape)
    assert got.shape == want.shape, (got.shape, want.shape)
    bound = TOLERANCE[dtype] * (np.abs(want) + scale)
    assert np.all(np.abs(got - want) <= bound), (np.max(np.abs(got - want) / bound), dtype)


def given(rng, shape, dtype, device):
    """A random array and what it holds, in float64: a view with other strides now and then."""
    x = rng.normal(size=shape)
    a = nd.astype(nd.asarray(x, device=device), dtype)
    if len(shape) > 1 and rng.integers(2):
        order = rng.permutation(len(shape))
        a = nd.permute_dims(nd.permute_dims(a, tuple(int(d) for d in order)) + 0, tuple(int(d) for d in np.argsort(order)))
    return a, np.asarray(nd.astype(a, nd.float64).tolist()).reshape(shape)


def normal(x, axes, eps):
    mean = x.mean(axes, keepdims=True)
    return (x - mean) / np.sqrt(((x - mean) ** 2).mean(axes, keepdims=True) + eps)


def normal_grad(g, x, axes, eps):
    """The derivative of normal, by its Jacobian: of each element of the result by each of x."""
    mean = x.mean(axes, keepdims=True)
    d = x - mean
    r = 1 / np.sqrt((d ** 2).mean(axes, keepdims=True) + eps)
    n = np.prod([x.shape[a] for a in axes])
    return r * g - r * g.sum(axes, keepdims=True) / n - d * r ** 3 * (g * d).sum(axes, keepdims=True) / n


def rms_grad(g, x, axes, eps):
    r = 1 / np.sqrt((x ** 2).mean(axes, keepdims=True) + eps)
    n = np.prod([x.shape[a] for a in axes])
    return r * g - x * r ** 3 * (g * x).sum(axes, keepdims=True) / n


def softmax(x, axes):
    e = np.exp(x - x.max(axes, keepdims=True))
    return e / e.sum(axes, keepdims=True)


SHAPES = [(7,), (3, 5), (2, 3, 4), (4, 1, 6), (2, 3, 2, 5), (3, 2100), (1, 5000)]


@cases(*[(device, dtype) for device in DEVICES for dtype in FLOATS])
def test_softmax_gradients(device, dtype):
    rng = np.random.default_rng(3)
    for shape in SHAPES:
        axes = tuple(int(a) for a in rng.choice(len(shape), rng.integers(1, len(shape) + 1), replace=False))
        g, g64 = given(rng, shape, dtype, device)
        x, x64 = given(rng, shape, dtype, device)
        y = nd.nn.softmax(x, axes)
        y64 = np.asarray(nd.astype(y, nd.float64).tolist())
        near(nd.nn.softmax_grad(g, y, axes), y64 * (g64 - (g64 * y64).sum(axes, keepdims=True)), dtype)
        z = nd.nn.log_softmax(x, axes)
        z64 = np.asarray(nd.astype(z, nd.float64).tolist())
        near(nd.nn.log_softmax_grad(g, z, axes), g64 - np.exp(z64) * g64.sum(axes, keepdims=True), dtype, 1 + np.abs(g64.sum(axes, keepdims=True)))


@cases(*[(device, dtype) for device in DEVICES for dtype in FLOATS])
def test_layer_and_rms_norm_gradients(device, dtype):
    rng = np.random.default_rng(4)
    for shape in SHAPES:
        n = int(rng.integers(1, len(shape) + 1))
        axes, kept, last = tuple(range(len(shape) - n, len(shape))), tuple(range(len(shape) - n)), shape[len(shape) - n:]
        g, g64 = given(rng, shape, dtype, device)
        x, x64 = given(rng, shape, dtype, device)
        w, w64 = given(rng, last, dtype, device)
        for weight, scale in ((None, 1.0), (w, w64)):
            size = 1 + np.abs(g64 * scale).mean()
            dx, dw, db = nd.nn.layer_norm_grad(g, x, last, weight)
            near(dx, normal_grad(g64 * scale, x64, axes, 1e-5), dtype, 8 * size)
            near(dw, (g64 * normal(x64, axes, 1e-5)).sum(kept), dtype, 8)
            near(db, g64.sum(kept), dtype, 8)
            dx, dw = nd.nn.rms_norm_grad(g, x, last, weight)
            near(dx, rms_grad(g64 * scale, x64, axes, 1e-5), dtype, 8 * size)
            near(dw, (g64 * x64 / np.sqrt((x64 ** 2).mean(axes, keepdims=True) + 1e-5)).sum(kept), dtype, 8)


@cases(*[(device, dtype) for device in DEVICES for dtype in FLOATS])
def test_groups_and_instances(device, dtype):
    rng = np.random.default_rng(5)
    for shape, groups in [((2, 6, 5), 3), ((3, 4, 2, 3), 1), ((1, 4, 7), 4), ((2, 8), 2), ((0, 4, 3), 2), ((2, 4, 37), 2), ((1, 4, 4100), 2)]:
        x, x64 = given(rng, shape, dtype, device)
        g, g64 = given(rng, shape, dtype, device)
        w, w64 = given(rng, shape[1:2], dtype, device)
        b, b64 = given(rng, shape[1:2], dtype, device)
        column = (-1,) + (1,) * (len(shape) - 2)
        rest = tuple(d for d in range(len(shape)) if d != 1)
        for n, forward, backward in ((groups, lambda *a: nd.nn.group_norm(a[0], groups, *a[1:]), lambda *a: nd.nn.group_norm_grad(a[0], a[1], groups, *a[2:])),
                                     (shape[1], nd.nn.instance_norm, nd.nn.instance_norm_grad)):
            split = (shape[0], n, shape[1] // n, int(np.prod(shape[2:])))
            y = normal(x64.reshape(split), (2, 3), 1e-5).reshape(shape) if x64.size else x64
            near(forward(x), y, dtype, 4)
            near(forward(x, w, b), y * w64.reshape(column) + b64.reshape(column), dtype, 4)
            dx, dw, db = backward(g, x, w)
            want = normal_grad((g64 * w64.reshape(column)).reshape(split), x64.reshape(split), (2, 3), 1e-5).reshape(shape) if x64.size else x64
            near(dx, want, dtype, 20)
            near(dw, (g64 * y).sum(rest), dtype, 8)
            near(db, g64.sum(rest), dtype, 8)


@cases(*[(device, dtype) for device in DEVICES for dtype in FLOATS])
def test_batch_norm(device, dtype):
    rng = np.random.default_rng(6)
    for shape in [(4, 3), (5, 2, 3), (2, 3, 4, 2), (1, 3, 5), (3, 2, 7, 9)]:
        column, axes = (1, -1) + (1,) * (len(shape) - 2), tuple(d for d in range(len(shape)) if d != 1)
        x, x64 = given(rng, shape, dtype, device)
        g, g64 = given(rng, shape, dtype, device)
        w, w64 = given(rng, shape[1:2], dtype, device)
        b, b64 = given(rng, shape[1:2], dtype, device)
        mean, mean64 = given(rng, shape[1:2], dtype, device)
        var, var64 = abs(nd.asarray(mean)), np.abs(mean64)
        scale = w64.reshape(column)
        r = 1 / np.sqrt(var64 + 1e-5).reshape(column)
        away = (x64 - mean64.reshape(column)) * r
        near(nd.nn.batch_norm(x, mean, var, w, b), away * scale + b64.reshape(column), dtype, 4 * np.max(r))
        dx, dw, db = nd.nn.batch_norm_grad(g, x, mean, var, w)
        near(dx, g64 * r * scale, dtype)
        near(dw, (g64 * away).sum(axes), dtype, 8 * np.max(r))
        near(db, g64.sum(axes), dtype, 8)
        y = nd.nn.batch_norm(x, mean, var, w, b, training=True, momentum=0.25)
        near(y, normal(x64, axes, 1e-5) * scale + b64.reshape(column), dtype, 4)
        near(mean, 0.75 * mean64 + 0.25 * x64.mean(axes), dtype, 1)
        near(var, 0.75 * var64 + 0.25 * x64.var(axes, ddof=1), dtype, 1)
        dx, dw, db = nd.nn.batch_norm_grad(g, x, None, None, w, training=True)
        near(dx, normal_grad(g64 * scale, x64, axes, 1e-5), dtype, 20)
        near(dw, (g64 * normal(x64, axes, 1e-5)).sum(axes), dtype, 8)
        near(nd.nn.batch_norm(x, None, None, training=True), normal(x64, axes, 1e-5), dtype, 4)


def geometry(rng, shape, dtype, device):
    """A view of that shape: channels first or last, every other element of a larger array, from the end, or one that begins anywhere."""
    how = int(rng.integers(6))
    order = [0, *range(2, len(shape)), 1] if how < 2 else list(rng.permutation(len(shape))) if how == 2 else list(range(len(shape)))
    lead = int(rng.integers(1, 4)) if how == 3 else 0
    wide = [2 * n if how == 4 else n for n in (shape[d] for d in order)]
    x = nd.asarray(rng.normal(size=int(np.prod(wide)) + lead) * 2 + 1, device=device)
    a = nd.reshape(nd.astype(x, dtype)[lead:], tuple(wide))
    if how == 4:
        a = a[tuple(slice(None, None, 2) for _ in wide)]
    a = nd.permute_dims(a, tuple(int(d) for d in np.argsort(order)))
    a = nd.flip(a, axis=int(rng.integers(len(shape)))) if how == 5 else a
    return a, np.asarray(nd.asarray(nd.astype(a, nd.float64), device="cpu"))


@cases(*[(device, dtype) for device in DEVICES for dtype in FLOATS])
def test_given_statistics(device, dtype):
    """batch_norm by running statistics over 300 geometries, of which each dtype has its share: extents that are whole vectors and others."""
    rng = np.random.default_rng(21)
    unit = {"float16": 2.0 ** -11, "bfloat16": 2.0 ** -8, "float32": 2.0 ** -23, "float64": 2.0 ** -52}[dtype]
    for _ in range(75):
        shape = (int(rng.choice([1, 2, 3, 9])), int(rng.choice([1, 2, 3, 8, 24, 40, 530])), *(int(n) for n in rng.choice([1, 2, 4, 7, 16, 23], int(rng.integers(3)))))
        x, x64 = geometry(rng, shape, dtype, device)
        column = (1, -1) + (1,) * (len(shape) - 2)
        w, b, m, v = (nd.asarray(rng.normal(size=shape[1]), device=device) for _ in range(4))
        w, b = (nd.astype(a, dtype) if rng.integers(4) else None for a in (w, b))
        m, v = nd.astype(m, "float64" if dtype == "float64" else "float32"), nd.astype(abs(v), dtype)
        w64, b64, m64, v64 = (np.full(shape[1], float(i == 0)) if a is None else np.asarray(nd.asarray(nd.astype(a, nd.float64), device="cpu"))
                              for i, a in enumerate((w, b, m, v)))
        by = (w64 / np.sqrt(v64 + 1e-5)).reshape(column)
        m64, b64 = m64.reshape(column), b64.reshape(column)
        got = np.asarray(nd.asarray(nd.astype(nd.nn.batch_norm(x, m, v, w, b), nd.float64), device="cpu"))
        size = (np.abs(x64) + np.abs(m64)) * np.abs(by) + np.abs(b64)
        off = np.abs(got - ((x64 - m64) * by + b64)) / (unit * np.maximum(size, 1e-3))
        assert got.shape == shape and np.all(off < 4), (shape, x.strides, np.max(off))


@cases(*FLOATS[:3])
def test_far_from_zero(dtype):
    """The CPU: means of many deviations cost nothing that the dtype can hold; what is stored is normalised as float64 does it."""
    rng = np.random.default_rng(12)
    unit = {"float16": 2.0 ** -11, "bfloat16": 2.0 ** -8, "float32": 2.0 ** -24}[dtype]
    for shape in [(70, 40), (3, 4500)]:
        x = nd.astype(nd.asarray(rng.normal(size=shape) + (1e4 if dtype == "float32" else 30.0), device="cpu"), dtype)
        g, w = (nd.astype(nd.asarray(rng.normal(size=n), device="cpu"), dtype) for n in (shape, shape[1]))
        x64, g64, w64 = (np.asarray(nd.astype(a, nd.float64)) for a in (x, g, w))
        rows, columns = normal(x64, (1,), 1e-5), normal(x64, (0,), 1e-5)
        of_rows, of_columns = normal_grad(g64 * w64, x64, (1,), 1e-5), normal_grad(g64 * w64, x64, (0,), 1e-5)
        scale = np.abs(g64 * w64).max()
        for got, want, size in ((nd.nn.layer_norm(x, shape[1:], w), rows * w64, 0), (nd.nn.batch_norm(x, None, None, w, training=True), columns * w64, 0),
                                (nd.nn.layer_norm_grad(g, x, shape[1:], w)[0], of_rows, scale / np.maximum(x64.std(1, keepdims=True), 1e-3)),
                                (nd.nn.batch_norm_grad(g, x, None, None, w, training=True)[0], of_columns, scale / np.maximum(x64.std(0, keepdims=True), 1e-3)),
                                (nd.nn.softmax(x, 1), softmax(x64, (1,)), 0), (nd.nn.softmax(x, 0), softmax(x64, (0,)), 0),
                                (nd.nn.log_softmax(x, 0), np.log(softmax(x64, (0,))), 0), (nd.logsumexp(x, axis=0), np.log(np.exp(x64 - x64.max(0)).sum(0)) + x64.max(0), 0)):
            off = np.abs(np.asarray(nd.astype(got, nd.float64)) - want)
            assert np.all(off <= 1.1 * unit * (np.abs(want) + size) + 2.0 ** -25 * (dtype == "float16")), (shape, np.max(off / (unit * (np.abs(want) + size))))


@cases(*FLOATS[:3])
def test_not_finite(dtype):
    """The CPU: a row with an infinity or a NaN is all NaN, wherever it stands, and the others are as they were."""
    x = np.random.default_rng(13).normal(size=(5, 64))
    x[1, 0], x[2, 40], x[3, 7] = np.inf, -np.inf, np.nan
    a = nd.astype(nd.asarray(x, device="cpu"), dtype)
    bad = np.isnan(x.sum(1)) | np.isinf(x.sum(1))
    ones = nd.astype(nd.ones(x.shape, device="cpu"), dtype)
    for got in (nd.nn.layer_norm(a, 64), nd.nn.layer_norm_grad(ones, a, 64)[0], nd.nn.batch_norm(a.T, None, None, training=True).T,
                nd.nn.instance_norm(nd.reshape(a, (5, 1, 64))).reshape((5, 64)), nd.nn.batch_norm_grad(ones.T, a.T, None, None, training=True)[0].T):
        assert np.array_equal(np.isnan(np.asarray(nd.astype(got, nd.float64))), np.broadcast_to(bad[:, None], x.shape))
    for axis, b in ((1, a), (0, a.T)):
        for f in (nd.nn.softmax, nd.nn.log_softmax):
            got = np.asarray(nd.astype(f(b, axis), nd.float64))
            got = got if axis else got.T
            assert np.array_equal(np.isnan(got).any(1), [False, True, False, True, False])


def units_off(got, terms):
    """How far got is from the sums of terms (rows, n), in units of the last place of the sums of their sizes."""
    want = np.asarray([math.fsum(column) for column in terms.T.tolist()])
    return float(np.max(np.abs(np.asarray(got.tolist()).reshape(-1) - want) / np.spacing(np.abs(terms).sum(0))))


@cases(*DEVICES)
def test_weights_of_many_rows(device):
    """Gradients of float64 for weights are sums over rows, as long as there are rows: equal terms, whose rounding errors add up where
    a sum is plain, and terms that cancel. On the card blocks add up sixteen lines, and those sums, plainly."""
    rng = np.random.default_rng(14)
    few, some = (16, 24) if device.startswith("cuda") else (6, 12)
    for rows, n in ((7000, 2), (4667, 3), (3001, 7), (700, 20), (90, 600)):
        for layout in "CF":
            x = np.asarray(rng.normal(size=(rows, n)), order=layout)
            for g in (np.full((rows, n), 0.1), np.full((rows, n), 1 / 3), np.where(np.arange(rows) % 2, -1 / 3, 0.1)[:, None] + 0 * x,
                      rng.normal(size=(rows, n))):
                dy, a = nd.asarray(np.asarray(g, order=layout), device=device), nd.asarray(x, device=device)
                _, scale, bias = nd.nn.layer_norm_grad(dy, a, n)
                assert units_off(bias, g) <= few, (rows, n, layout, units_off(bias, g))
                wide = x.astype(np.longdouble)
                assert units_off(scale, (g * normal(wide, 1, 1e-5)).astype(np.float64)) <= some, (rows, n, layout)
                _, scale = nd.nn.rms_norm_grad(dy, a, n)
                assert units_off(scale, (g * (wide / np.sqrt((wide ** 2).mean(1, keepdims=True) + 1e-5))).astype(np.float64)) <= some
    for shape in ((300, 3, 47), (1, 2, 14000), (7000, 2)):  # a mean and a weight for each channel
        x, g = rng.normal(size=shape), np.full(shape, 0.1)
        _, scale, bias = nd.nn.batch_norm_grad(nd.asarray(g, device=device), nd.asarray(x, device=device), None, None, None, training=True)
        assert units_off(bias, np.moveaxis(g, 1, -1).reshape(-1, shape[1])) <= few
        axes = tuple(d for d in range(len(shape)) if d != 1)
        terms = (g * normal(x.astype(np.longdouble), axes, 1e-5)).astype(np.float64)
        assert units_off(scale, np.moveaxis(terms, 1, -1).reshape(-1, shape[1])) <= some


@cases(*[(device, dtype) for device in DEVICES for dtype in FLOATS[:3]])
def test_long_rows(device, dtype):
    """Rows of 16 KiB to 1 MiB, as many as CUDA holds in the shared memory of one block, of two, and of clusters that begin inside of an
    image; results twice, whose bits are equal, and running statistics."""
    rng = np.random.default_rng(15)
    unit = {"float16": 2.0 ** -11, "bfloat16": 2.0 ** -8, "float32": 2.0 ** -21}[dtype]

    def made(shift, *shape):
        a = nd.astype(nd.asarray(rng.normal(size=shape).astype("float32") * 0.5 + shift, device=device), dtype)
        return a, there(a)

    def there(a):
        return np.asarray(nd.asarray(nd.astype(a, nd.float64), device="cpu"))

    for shape, groups in (((4, 64, 64, 64), 32), ((2, 64, 128, 128), 32), ((24, 8, 64, 64), 0)):
        x, x64 = made(1.5, *shape)
        g, g64 = made(0.1, *shape)
        w, w64 = made(1.0, shape[1])
        column, rest = (1, -1) + (1,) * (len(shape) - 2), (0, *range(2, len(shape)))
        split, axes = ((shape[0], groups, -1), (2,)) if groups else (shape, rest)
        known = normal(x64.reshape(split), axes, 1e-5).reshape(shape)
        dx = normal_grad((g64 * w64.reshape(column)).reshape(split), x64.reshape(split), axes, 1e-5).reshape(shape)
        mean, var = nd.zeros((shape[1],), device=device), nd.zeros((shape[1],), device=device)
        for _ in range(2):
            if groups:
                got = (nd.nn.group_norm(x, groups, w, w), *nd.nn.group_norm_grad(g, x, groups, w))
            else:
                got = (nd.nn.batch_norm(x, mean, var, w, w, training=True, momentum=1.0), *nd.nn.batch_norm_grad(g, x, None, None, w, training=True))
                assert np.allclose(there(mean), x64.mean(rest), rtol=1e-6) and np.allclose(there(var), x64.var(rest, ddof=1), rtol=1e-5)
            got = [there(a) for a in got]
            for a, want, size in zip(got, (known * w64.reshape(column) + w64.reshape(column), dx, (g64 * known).sum(rest), g64.sum(rest)),
                                     (4, 16, np.abs(g64 * known).sum(rest) / 64, np.abs(g64).sum(rest) / 64)):
                assert np.all(np.abs(a - want) <= unit * (np.abs(want) + size)), (shape, np.max(np.abs(a - want) / (unit * (np.abs(want) + size))))
            before = got if _ == 0 else before
        assert all(np.array_equal(a, b) for a, b in zip(before, got))


@cases(*[(device, dtype) for device in DEVICES for dtype in FLOATS])
def test_channels_side_by_side(device, dtype):
    """Many values of many channels, more than the CPU's tiles take at once, each channel with a mean of its own."""
    rng = np.random.default_rng(11)
    for shape, axis in [((1100, 530), 1), ((37, 521), 1), ((9, 16), 1), ((530, 24), 0)]:
        values = rng.normal(size=shape) + rng.normal(size=(1, shape[1])) * 3
        x, g = (nd.astype(nd.asarray(v, device=device), dtype) for v in (values, rng.normal(size=shape)))
        w = nd.astype(nd.asarray(rng.normal(size=shape[axis]), device=device), dtype)
        x64, g64, w64 = (np.asarray(nd.astype(nd.asarray(a, device="cpu"), nd.float64)) for a in (x, g, w))
        if axis == 0:
            x, g, x64, g64 = x.T, g.T, x64.T, g64.T
        dx, dw, db = nd.nn.batch_norm_grad(g, x, None, None, w, training=True)
        near(dx, normal_grad(g64 * w64, x64, (0,), 1e-5), dtype, 20)
        near(dw, (g64 * normal(x64, (0,), 1e-5)).sum(0), dtype, 8)
        near(db, g64.sum(0), dtype, 8)
        near(nd.nn.batch_norm(x, None, None, w, training=True), normal(x64, (0,), 1e-5) * w64, dtype, 4)
        near(nd.nn.layer_norm_grad(g.T, x.T, x.shape[0])[0], normal_grad(g64.T, x64.T, (1,), 1e-5), dtype, 20)
        near(nd.nn.rms_norm_grad(g.T, x.T, x.shape[0])[0], rms_grad(g64.T, x64.T, (1,), 1e-5), dtype, 20)


def difference(f, x, g, step=1e-6):
    """The gradient of sum(g*f(x)) by central differences."""
    r = np.zeros_like(x)
    for i in np.ndindex(x.shape):
        up, down = x.copy(), x.copy()
        up[i] += step
        down[i] -= step
        r[i] = ((f(up) - f(down)) * g).sum() / (2 * step)
    return r


@cases(*DEVICES)
def test_channels_last(device):
    """Results of norms of batches and instances lie as their operand does."""
    x = nd.permute_dims(nd.asarray(np.random.default_rng(15).normal(size=(2, 5, 6, 8)), device=device), (0, 3, 1, 2))
    m, v = (nd.asarray(np.full(8, a), device=device) for a in (0.5, 2.0))
    x64 = np.asarray(nd.asarray(x, device="cpu"))
    for got, want in ((nd.nn.batch_norm(x, m, v), (x64 - 0.5) / np.sqrt(2 + 1e-5)), (nd.nn.batch_norm(x, None, None, training=True), normal(x64, (0, 2, 3), 1e-5)),
                      (nd.nn.instance_norm(x), normal(x64, (2, 3), 1e-5))):
        assert got.strides == x.strides, (got.strides, x.strides)
        near(got, want, "float64")


def test_gradients_by_differences():
    rng = np.random.default_rng(7)
    x, g, w = rng.normal(size=(2, 3, 4)), rng.normal(size=(2, 3, 4)), rng.normal(size=4)
    c = rng.normal(size=3)

    def as64(f):
        return lambda z: np.asarray(f(nd.asarray(z)).tolist())
    a, ga = nd.asarray(x), nd.asarray(g)
    for forward, backward in [
            (nd.nn.softmax, lambda: nd.nn.softmax_grad(ga, nd.nn.softmax(a))),
            (nd.nn.log_softmax, lambda: nd.nn.log_softmax_grad(ga, nd.nn.log_softmax(a))),
            (lambda z: nd.nn.layer_norm(z, 4, nd.asarray(w)), lambda: nd.nn.layer_norm_grad(ga, a, 4, nd.asarray(w))[0]),
            (lambda z: nd.nn.rms_norm(z, 4, nd.asarray(w)), lambda: nd.nn.rms_norm_grad(ga, a, 4, nd.asarray(w))[0]),
            (lambda z: nd.nn.group_norm(z, 3, nd.asarray(c)), lambda: nd.nn.group_norm_grad(ga, a, 3, nd.asarray(c))[0]),
            (lambda z: nd.nn.batch_norm(z, None, None, nd.asarray(c), training=True),
             lambda: nd.nn.batch_norm_grad(ga, a, None, None, nd.asarray(c), training=True)[0])]:
        want, got = difference(as64(forward), x, g), np.asarray(backward().tolist())
        assert np.max(np.abs(want - got)) < 1e-7, np.max(np.abs(want - got))


def test_views_of_more_axes():
    rng = np.random.default_rng(8)
    for _ in range(40):
        shape = tuple(int(n) for n in rng.integers(1, 5, rng.integers(1, 5)))
        (g64, g), (x64, x) = pair(rng, "float64", shape, "cpu"), pair(rng, "float64", shape, "cpu")
        axes = tuple(range(int(rng.integers(0, len(shape))), len(shape)))
        got = nd.nn.layer_norm_grad(g, x, tuple(shape[a] for a in axes))[0]
        near(got, normal_grad(g64, x64, axes, 1e-5), "float64", 500)


def test_errors():
    x = nd.zeros((2, 3, 4))
    with raises(ValueError, "layer_norm"):
        nd.nn.layer_norm(x, (5,))
    with raises(TypeError, "int64"):
        nd.nn.softmax_grad(nd.zeros((2,), dtype=nd.int64), nd.zeros((2,), dtype=nd.int64))
    with raises(ValueError, "softmax_grad"):
        nd.nn.softmax_grad(nd.zeros((2,)), nd.zeros((3,)))
    with raises(IndexError, "softmax_grad"):
        nd.nn.softmax_grad(nd.zeros((2,)), nd.zeros((2,)), 1)
    with raises(ValueError, "3 channels", "2 groups"):
        nd.nn.group_norm(x, 2)
    with raises(ValueError, "0 groups"):
        nd.nn.group_norm(x, 0)
    with raises(ValueError, "more than one value"):
        nd.nn.batch_norm(nd.zeros((1, 3)), None, None, training=True)
    with raises(ValueError, "batch_norm"):
        nd.nn.batch_norm(x, nd.zeros((4,)), nd.zeros((4,)))


if __name__ == "__main__":
    main(globals())
