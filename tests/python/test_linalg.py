#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""matmul, tensordot, vecdot and the activations against NumPy, on random strided views."""
import math

import ndock as nd
from arrays import DEVICES, TOLERANCE, from_numpy, host, np, pair, same
from tap import cases, main, raises

DTYPES = ("int32", "uint8", "float32", "float64", "complex64", "complex128")


def tolerance(dtype):
    return 20 * TOLERANCE.get(dtype, 0)


@cases(*DEVICES)
def test_matmul(device):
    rng = np.random.default_rng(1)
    for dtype in DTYPES:
        for s, t in [((3, 4), (4, 5)), ((4,), (4, 5)), ((3, 4), (4,)), ((4,), (4,)), ((2, 3, 4), (4, 5)), ((2, 0), (0, 3)),
                     ((5, 1, 3, 4), (2, 4, 2)), ((0, 3), (3, 2)), ((1, 1), (1, 1)), ((33, 65), (65, 17))]:
            (a, x), (b, y) = pair(rng, dtype, s, device), pair(rng, dtype, t, device)
            same(nd.matmul(x, y), np.asarray(np.matmul(a, b)), tolerance(dtype))
    (a, x), (b, y) = pair(rng, "float32", (3, 4), device), pair(rng, "float64", (4, 2), device)
    same(nd.matmul(x, y), a @ b, 1e-14)
    with raises(ValueError, "(3, 4)", "(3, 2)"):
        nd.matmul(x, nd.ones((3, 2), device=device))
    with raises(ValueError):
        nd.matmul(x, nd.ones((), device=device))
    with raises(TypeError):
        nd.matmul(x, 2.0)


@cases(*DEVICES)
def test_one_vector_by_many_short_rows(device):
    rng = np.random.default_rng(9)
    for dtype in ("float32", "float64", "int32", "int64"):
        for k in (*range(8, 50), 100, 255):
            for n, gap in [(1, 0), (3, 0), (65, 0), (300, 0), (5, 3), (64, 1)]:
                a, v = (rng.normal(size=n) * 9).astype(dtype), (rng.normal(size=k) * 9).astype(dtype)
                rows = np.full((n, k + gap), np.nan if dtype[0] == "f" else 1 << 30, dtype)  # what lies between rows is read
                rows[:, :k] = a[:, None] + np.arange(k, dtype=dtype)
                if dtype[0] == "f":
                    rows[n // 2, k // 2] = np.inf
                got = host(nd.matmul(from_numpy(rows, device)[:, :k], from_numpy(v, device)))
                want = rows[:, :k].astype("longdouble") @ v.astype("longdouble")
                np.testing.assert_allclose(got, want.astype("float64"), rtol=1e-4 if dtype == "float32" else 1e-12, atol=2e-3 if dtype == "float32" else 1e-10)


@cases(*DEVICES)
def test_matmul_in_one_pass(device):
    rng = np.random.default_rng(2)
    (a, x), (b, y), (c, z) = (pair(rng, "float32", s, device) for s in [(3, 4), (4, 5), (5,)])
    wide = a.astype("float64") @ b.astype("float64")
    same(nd.matmul(x, y, alpha=2.0, bias=z, epilogue="relu"), np.maximum(2 * wide + c, 0).astype("float32"), 1e-5)
    out = nd.ones((3, 5), dtype=nd.float32, device=device)
    assert nd.matmul(x, y, beta=3.0, out=out) is out
    same(out, (wide + 3).astype("float32"), 1e-5)
    p, q = pair(rng, "int8", (3, 4), device)
    same(nd.matmul(q, nd.matrix_transpose(q), dtype=nd.int32), p.astype("int32") @ p.T.astype("int32"))
    with raises(ValueError, "swish"):
        nd.matmul(x, y, epilogue="swish")
    with raises(ValueError, "out"):
        nd.matmul(x, y, beta=1.0)


@cases(*DEVICES)
def test_tensordot(device):
    rng = np.random.default_rng(3)
    for dtype in DTYPES:
        for s, t, axes in [((2, 3), (4, 5), 0), ((2, 3, 4), (3, 4, 5), 2), ((2, 3), (3,), 1), ((), (2,), 0), ((), (), 0),
                           ((2, 3, 4), (4, 2, 5), ((0, 2), (1, 0))), ((2, 3), (3, 2), ((-1, 0), (0, -1))),
                           ((0, 3), (3, 2), 1), ((2, 0), (0, 3), 1), ((2, 3), (2, 3), ((), ()))]:
            (a, x), (b, y) = pair(rng, dtype, s, device), pair(rng, dtype, t, device)
            same(nd.tensordot(x, y, axes=axes), np.asarray(np.tensordot(a, b, axes)), tolerance(dtype))
    with raises(ValueError, "differ in extent"):
        nd.tensordot(nd.ones((2, 3)), nd.ones((4, 2)), axes=1)
    with raises(IndexError):
        nd.tensordot(nd.ones((2, 3)), nd.ones((3, 2)), axes=((2,), (0,)))
    with raises(ValueError):
        nd.tensordot(nd.ones((2, 3)), nd.ones((3, 2)), axes=3)


@cases(*DEVICES)
def test_vecdot(device):
    rng = np.random.default_rng(4)
    for dtype in DTYPES:
        for s, t in [((4,), (4,)), ((2, 4), (2, 4)), ((3, 1, 4), (2, 4)), ((0, 4), (0, 4)), ((2, 0), (2, 0))]:
            (a, x), (b, y) = pair(rng, dtype, s, device), pair(rng, dtype, t, device)
            want = np.sum(np.conj(a) * b, axis=-1, dtype=np.result_type(a))
            same(nd.vecdot(x, y), np.asarray(want), tolerance(dtype))
        (a, x), (b, y) = pair(rng, dtype, (3, 4, 2), device), pair(rng, dtype, (3, 4, 2), device)
        for axis in (-3, -2, -1):
            want = np.sum(np.conj(a) * b, axis=axis, dtype=np.result_type(a))
            same(nd.vecdot(x, y, axis=axis), want, tolerance(dtype))
    with raises(ValueError, "differ"):
        nd.vecdot(nd.ones(3), nd.ones(4))
    with raises(IndexError):
        nd.vecdot(nd.ones(3), nd.ones((2, 3)), axis=-2)


@cases(*DEVICES)
def test_activations(device):
    values = [-3.0, -1.0, -0.5, 0.0, 0.25, 1.0, 4.0]
    x = from_numpy(np.array(values), device)

    def normal(v):
        return 0.5 * math.erfc(-v / math.sqrt(2))

    def tanh(v):
        return 0.5 * (1 + math.tanh(math.sqrt(2 / math.pi) * (v + 0.044715 * v**3)))
    for got, f in [(nd.relu(x), lambda v: max(v, 0.0)), (nd.sigmoid(x), lambda v: 1 / (1 + math.exp(-v))),
                   (nd.silu(x), lambda v: v / (1 + math.exp(-v))), (nd.gelu(x), lambda v: v * normal(v)),
                   (nd.gelu(x, approximate="tanh"), lambda v: v * tanh(v)), (nd.erf(x), math.erf),
                   (nd.elu(x), lambda v: v if v > 0 else math.expm1(v)),
                   (nd.elu(x, 0.5), lambda v: v if v > 0 else 0.5 * math.expm1(v)),
                   (nd.fma(x, 2.0, x), lambda v: 3 * v)]:
        same(got, np.array([f(v) for v in values]), 1e-14)
    with raises(ValueError, "sigmoid"):
        nd.gelu(x, approximate="sigmoid")


@cases(*DEVICES)
def test_where(device):
    rng = np.random.default_rng(5)
    (c, m), (a, x), (b, y) = (pair(rng, d, s, device) for d, s in [("bool", (3, 1)), ("float32", (4,)), ("float64", (3, 4))])
    same(nd.where(m, x, y), np.where(c, a, b))
    same(nd.where(m, x, 0), np.where(c, a, np.float32(0)))
    same(nd.where(m, 1, 2), np.where(c, 1, 2))
    same(nd.where(m, True, 2.5), np.where(c, 1.0, 2.5))
    out = nd.empty((3, 4), device=device)
    assert nd.where(m, x, y, out=out) is out
    same(out, np.where(c, a, b))


if __name__ == "__main__":
    main(globals())
