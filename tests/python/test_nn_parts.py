#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""CTC against all paths counted one by one, derivatives of activations against finite differences of the activations, padded indices and
integer conditions against loops; dtypes, devices; errors."""
import itertools
import math

import ndock as nd
from arrays import DEVICES, np
from tap import cases, main, raises
from test_nn_norms import FLOATS, TOLERANCE, difference, given, near


def collapsed(path, blank):
    """What a path gives: repeats once, without blanks."""
    return tuple(c for i, c in enumerate(path) if c != blank and (i == 0 or path[i - 1] != c))


def all_paths(logs, length, target, blank):
    """Minus the logarithm of the probability of the paths of one line that give the target."""
    total = 0.0
    for path in itertools.product(range(logs.shape[1]), repeat=length):
        if collapsed(path, blank) == tuple(target):
            total += math.exp(sum(logs[t, c] for t, c in enumerate(path)))
    return -math.log(total) if total > 0 else math.inf


CTC = [(np.asarray([[1, 2], [1, 1], [2, 0], [0, 0]]), [4, 5, 2, 3], [2, 2, 1, 0], 0, 3),
       (np.asarray([[1, 2, 1]]), [5], [3], 0, 3), (np.asarray([[0, 1]]), [4], [2], 2, 3)]


@cases(*[(device, dtype) for device in DEVICES for dtype in FLOATS])
def test_ctc_loss(device, dtype):
    rng = np.random.default_rng(1)
    for targets, lengths, counts, blank, classes in CTC:
        n = len(lengths)
        logs = nd.nn.log_softmax(nd.asarray(rng.normal(size=(max(lengths), n, classes)), device=device))
        logs = nd.astype(logs, dtype)
        logs64 = np.asarray(nd.astype(logs, nd.float64).tolist())
        y, a, b = (nd.asarray(v, device=device) for v in (targets, lengths, counts))
        want = np.asarray([all_paths(logs64[:, i], lengths[i], targets[i, :counts[i]], blank) for i in range(n)])
        near(nd.nn.ctc_loss(logs, y, a, b, blank=blank, reduction="none"), want, dtype, 4)
        near(nd.nn.ctc_loss(logs, y, a, b, blank=blank, reduction="sum"), want.sum(), dtype, 8)
        near(nd.nn.ctc_loss(logs, y, a, b, blank=blank), (want / np.maximum(counts, 1)).mean(), dtype, 4)


@cases(*DEVICES)
def test_ctc_gradient(device):
    rng = np.random.default_rng(2)
    for targets, lengths, counts, blank, classes in CTC:
        n = len(lengths)
        x = rng.normal(size=(max(lengths), n, classes)) - 1
        y, a, b = (nd.asarray(v, device=device) for v in (targets, lengths, counts))
        for reduction in ("mean", "sum", "none"):
            g = rng.normal(size=(n,) if reduction == "none" else ())

            def f(z):
                return np.asarray(nd.nn.ctc_loss(nd.asarray(z, device=device), y, a, b, blank=blank, reduction=reduction).tolist())
            got = nd.nn.ctc_loss_grad(nd.asarray(g, device=device), nd.asarray(x, device=device), y, a, b, blank=blank, reduction=reduction)
            assert np.max(np.abs(difference(f, x, g) - np.asarray(got.tolist()))) < 1e-7


@cases(*DEVICES)
def test_ctc_of_targets_that_do_not_fit(device):
    logs = nd.nn.log_softmax(nd.zeros((2, 2, 3), device=device))
    y, a, b = nd.asarray([[1, 1], [1, 2]], device=device), nd.asarray([2, 2], device=device), nd.asarray([2, 2], device=device)
    loss = nd.nn.ctc_loss(logs, y, a, b, reduction="none").tolist()
    assert loss[0] == math.inf and abs(loss[1] - 2 * math.log(3)) < 1e-12
    assert nd.nn.ctc_loss(logs, y, a, b, reduction="none", zero_infinity=True).tolist()[0] == 0
    g = nd.nn.ctc_loss_grad(nd.ones((2,), device=device), logs, y, a, b, reduction="none", zero_infinity=True)
    assert not nd.any(g[:, 0] != 0) and nd.all(nd.isfinite(g))
    with raises(ValueError, "ctc_loss"):
        nd.nn.ctc_loss(logs, y[0], a, b)
    with raises(ValueError, "blank"):
        nd.nn.ctc_loss(logs, y, a, b, blank=3)
    with raises(TypeError, "float64"):
        nd.nn.ctc_loss(logs, y, nd.ones((2,), device=device), b)


ACTIVATIONS = {"relu": nd.relu, "gelu": nd.gelu, "gelu_tanh": lambda x: nd.gelu(x, approximate="tanh"), "sigmoid": nd.sigmoid,
               "silu": nd.silu, "tanh": nd.tanh, "softplus": nd.special.softplus, "mish": nd.special.mish,
               "hardsigmoid": nd.special.hardsigmoid, "hardswish": nd.special.hardswish, "selu": nd.special.selu,
               "leaky_relu": lambda x: nd.leaky_relu(x, 0.01), "elu": lambda x: nd.elu(x, 1.0), "celu": lambda x: nd.celu(x, 1.0)}


@cases(*[(device, name) for device in DEVICES for name in ACTIVATIONS])
def test_activation_gradients(device, name):
    rng = np.random.default_rng(3)
    for dtype in FLOATS:
        x, x64 = given(rng, (40,), dtype, device)
        g, g64 = given(rng, (40,), dtype, device)
        want = difference(lambda z: np.asarray(ACTIVATIONS[name](nd.asarray(z)).tolist()), x64, g64)
        got = nd.nn.activation_grad(g, x, name)
        assert str(got.dtype) == dtype
        error = np.abs(np.asarray(nd.astype(got, nd.float64).tolist()) - want)
        assert np.all(error <= TOLERANCE[dtype] * (np.abs(want) + 1) + 1e-7), np.max(error)
    far = nd.asarray([-800.0, 800.0], device=device)
    ends = nd.nn.activation_grad(nd.ones((2,), device=device), far, name).tolist()
    slope = {"sigmoid": 0, "tanh": 0, "hardsigmoid": 0, "selu": 1.05070098735548049342}.get(name, 1)
    assert abs(ends[0]) <= 0.011 and ends[1] == slope, ends
    assert math.isnan(nd.nn.activation_grad(nd.ones((1,), device=device), nd.asarray([math.nan], device=device), name).item())


def test_alpha():
    x, g = nd.asarray([-1.0, 2.0]), nd.ones((2,))
    assert nd.nn.activation_grad(g, x, "leaky_relu", 0.25).tolist() == [0.25, 1.0]
    near(nd.nn.activation_grad(g, x, "elu", 2.0), np.asarray([2 * math.exp(-1), 1.0]), "float64")
    near(nd.nn.activation_grad(g, x, "celu", 2.0), np.asarray([math.exp(-0.5), 1.0]), "float64")
    with raises(ValueError, "'relu'"):
        nd.nn.activation_grad(g, x, "step")


@cases(*[(device, dtype) for device in DEVICES for dtype in ("int8", "uint8", "int16", "uint32", "int64", "uint64")])
def test_padded_indices(device, dtype):
    rng = np.random.default_rng(4)
    pad = np.iinfo(dtype).max
    x = rng.integers(0, 99, (5, 3))
    at = np.asarray([2, 0, pad, 4, 2, pad], dtype=dtype)
    a, indices = nd.asarray(x, device=device), nd.asarray(at, device=device)
    want = np.stack([np.zeros(3, int) if i == pad else x[int(i)] for i in at])
    assert nd.take(a, indices, axis=0, padded=True).tolist() == want.tolist()
    turned = np.stack([at[:4], at[1:5], at[2:6]], 1)
    wide = nd.asarray(turned, device=device)
    want = np.asarray([[0 if turned[i, j] == pad else x[int(turned[i, j]), j] for j in range(3)] for i in range(4)])
    assert nd.gather(a, wide, axis=0, padded=True).tolist() == want.tolist()
    source = rng.integers(0, 99, (4, 3))
    for mode in ("set", "add", "min", "max"):
        want = x.copy()
        for i in range(4):
            for j in range(3):
                if turned[i, j] != pad:
                    k, v = int(turned[i, j]), source[i, j]
                    want[k, j] = {"set": v, "add": want[k, j] + v, "min": min(want[k, j], v), "max": max(want[k, j], v)}[mode]
        assert nd.scatter(a, wide, nd.asarray(source, device=device), axis=0, mode=mode, padded=True).tolist() == want.tolist()
    more = rng.integers(0, 99, (6, 3))
    want = x.copy()
    for i in range(6):
        if at[i] != pad:
            want[int(at[i])] += more[i]
    assert nd.index_add(a, indices, nd.asarray(more, device=device), padded=True).tolist() == want.tolist()
    nothing = nd.take(nd.zeros((0, 2), device=device), nd.asarray(np.asarray([pad], dtype=dtype), device=device), axis=0, padded=True)
    assert nothing.tolist() == [[0.0, 0.0]]
    if "u" not in dtype:
        assert nd.take(a, nd.asarray(np.asarray([-5, -1], dtype=dtype), device=device), axis=0, padded=True).tolist() == x[[0, 4]].tolist()
        with raises(IndexError):
            nd.take(a, nd.asarray(np.asarray([-6], dtype=dtype), device=device), axis=0, padded=True).tolist()
    for bad in (5, 6):
        with raises(IndexError):
            nd.take(a, nd.asarray(np.asarray([bad], dtype=dtype), device=device), axis=0, padded=True).tolist()
    with raises(ValueError, "copy"):
        nd.index_add(a, indices, a, copy=False, padded=True)


@cases(*[(device, dtype) for device in DEVICES for dtype in ("bool", "int8", "uint8", "int16", "int32", "uint32", "int64")])
def test_where_with_integers(device, dtype):
    condition = np.asarray([0, 1, 2, 0, 100], dtype=dtype)
    got = nd.where(nd.asarray(condition, device=device), nd.arange(5, device=device), -1)
    assert got.tolist() == np.where(condition != 0, np.arange(5), -1).tolist()
    with raises(TypeError, "float64"):
        nd.where(nd.zeros((5,), device=device), 1, nd.zeros((5,), device=device))


if __name__ == "__main__":
    main(globals())
