#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Norms, rank, pseudo-inverses, least squares, matrix functions, products and diagonals against NumPy on random views, and against
mpmath's numbers; what is refused."""
import ndock as nd
from arrays import DEVICES, from_numpy, host, is_queued, np, pair, same
from tap import cases, main, raises

L, inf = nd.linalg, float("inf")
DTYPES = ("float32", "float64", "complex64", "complex128", "int32")


def tolerance(dtype):
    return 1e-4 if dtype in ("float32", "complex64") else 1e-11


def pairs(device, *shapes, dtypes=DTYPES, seed=5, distinct=False):
    rng = np.random.default_rng(seed)
    for dtype in dtypes:
        for shape in shapes:
            a, x = pair(rng, dtype, shape, device)
            if distinct and a.size and 0 in a.strides:  # a stretched view is a singular matrix
                a, x = pair(rng, dtype, shape, device, dense=True)
            yield (dtype, a, x)


def real(a):
    return a.astype(np.float64) if a.dtype.kind in "iu" else a


def close(got, want, dtype, more=1):
    want = np.asarray(want)
    if np.dtype(dtype).kind == "i":
        want = want.astype(np.complex128 if want.dtype.kind == "c" else np.float64)
    elif want.dtype.kind in "fc":
        want = want.astype({"f": np.dtype(dtype).type(0).real.dtype, "c": dtype}[want.dtype.kind])
    same(got, want, more * tolerance(dtype))


@cases(*DEVICES)
def test_vector_norm(device):
    for dtype, a, x in pairs(device, (7,), (3, 4), (2, 3, 4), (1,), ()):
        for ord in (2, 1, 0, inf, -inf, 3, 2.5, -1):
            for axis in (None, -1, 0, (0, -1)) if a.ndim > 1 else (None, 0) if a.ndim else (None,):
                for keepdims in (False, True):
                    flat = real(a).reshape(-1) if axis is None else real(a)
                    if isinstance(axis, tuple):
                        flat = np.moveaxis(real(a), (0, -1), (-2, -1)).reshape(a.shape[1:-1] + (-1,))
                    with np.errstate(divide="ignore"):
                        want = np.linalg.norm(flat, ord, axis=axis if isinstance(axis, int) else -1) if flat.size else 0
                    shape = x.shape
                    which = range(a.ndim) if axis is None else [axis % a.ndim] if isinstance(axis, int) else [0, a.ndim - 1]
                    shape = tuple(1 if d in which else n for d, n in enumerate(shape)) if keepdims else tuple(
                        n for d, n in enumerate(shape) if d not in which)
                    close(L.vector_norm(x, axis=axis, ord=ord, keepdims=keepdims), np.reshape(want, shape), dtype, 3)


@cases(*DEVICES)
def test_vector_norm_of_extreme_orders(device):
    for dtype in ("float32", "float64"):  # the powers, or their roots, are beyond the dtype: of the array API's suite
        def norm(values, ord):
            return float(L.vector_norm(nd.asarray(values, dtype=getattr(nd, dtype), device=device), ord=ord))
        assert norm([3.0, 4.0], 1e-308) == inf and norm([0.5], 1e-308) == 1
        assert norm([3.0, 4.0], -1e-308) == 0 and norm([3.0, 4.0], 1e300) == (1 if dtype == "float32" else inf)  # as NumPy


@cases(*DEVICES)
def test_matrix_norm(device):
    for dtype, a, x in pairs(device, (3, 4), (4, 3), (2, 3, 3), (1, 1)):
        for ord in ("fro", "nuc", 1, -1, 2, -2, inf, -inf):
            for keepdims in (False, True):
                want = np.linalg.norm(real(a), ord, axis=(-2, -1), keepdims=keepdims)
                close(L.matrix_norm(x, ord=ord, keepdims=keepdims), want, dtype, 10)
                close(L.norm(x, ord, axis=(-2, -1), keepdims=keepdims), want, dtype, 10)
        if a.ndim == 3:
            close(L.norm(x, 1, axis=(0, 2), keepdims=True), np.linalg.norm(real(a), 1, axis=(0, 2), keepdims=True), dtype)
        close(L.norm(x), np.linalg.norm(real(a)), dtype)
        close(L.norm(x, axis=0), np.linalg.norm(real(a), axis=0), dtype)
    for bad in ("two", 3):
        with raises(ValueError, "ord"):
            L.matrix_norm(nd.ones((2, 2), device=device), ord=bad)
    with raises(ValueError, "axes"):
        L.norm(nd.ones((2, 2, 2), device=device), 1)


@cases(*DEVICES)
def test_cond_and_rank(device):
    for dtype, a, x in pairs(device, (3, 3), (5, 3), (2, 4, 4), dtypes=DTYPES[:4], distinct=True):
        close(L.cond(x), np.linalg.cond(a), dtype, 200)
        close(L.cond(x, -2), np.linalg.cond(a, -2), dtype, 200)
        if a.shape[-1] == a.shape[-2]:
            for p in (1, inf, "fro"):
                close(L.cond(x, p), np.real(np.linalg.cond(a, p)), dtype, 200)
        low = real(a) @ np.diag([1, 1, 0, 0][:a.shape[-1]]).astype(a.dtype)
        assert host(L.matrix_rank(from_numpy(low, device))).tolist() == np.linalg.matrix_rank(low).tolist()
        assert host(L.matrix_rank(x, rtol=2.0)).tolist() == np.zeros(a.shape[:-2], int).tolist()
    assert L.matrix_rank(nd.ones((2, 2), device=device)).dtype == nd.int64
    assert L.cond(nd.zeros((2, 2), device=device)).tolist() != 1
    assert host(L.matrix_rank(nd.zeros((3, 0, 2), device=device))).tolist() == [0, 0, 0]


@cases(*DEVICES)
def test_pinv_and_lstsq(device):
    for dtype, a, x in pairs(device, (3, 3), (5, 3), (3, 5), (2, 4, 4), (2, 6, 3), dtypes=DTYPES[:4], distinct=True):
        close(L.pinv(x), np.linalg.pinv(a), dtype, 100)
        rng = np.random.default_rng(1)
        b, y = pair(rng, dtype, (a.shape[-2], 2), device)
        got = L.lstsq(x, y)
        close(got.x, np.linalg.pinv(a) @ b, dtype, 100)
        close(got.s, np.linalg.svd(a, compute_uv=False), dtype, 10)
        rest = np.sum(np.abs(b - a @ (np.linalg.pinv(a) @ b)) ** 2, -2)
        assert got.residuals.shape == rest.shape and np.allclose(host(got.residuals), rest, atol=50 * tolerance(dtype))
        assert host(got.rank).tolist() == np.linalg.matrix_rank(a).tolist()
        v, z = pair(rng, dtype, (a.shape[-2],), device)
        close(L.lstsq(x, z).x, np.linalg.pinv(a) @ v, dtype, 100)
        assert L.lstsq(x, z).residuals.shape == a.shape[:-2]
    assert host(L.pinv(nd.zeros((2, 3), device=device))).tolist() == np.zeros((3, 2)).tolist()
    assert L.pinv(nd.zeros((0, 3), device=device)).shape == (3, 0)
    assert np.all(np.isnan(host(L.pinv(nd.full((2, 2), nd.nan, device=device)))))
    with raises(ValueError, "rows"):
        L.lstsq(nd.ones((3, 2), device=device), nd.ones(2, device=device))


@cases(*DEVICES)
def test_powers(device):
    for dtype, a, x in pairs(device, (3, 3), (2, 2, 2), (0, 0), distinct=True):
        for n in (0, 1, 2, 3, 7) + (() if dtype == "int32" else (-1, -2)):
            want = np.linalg.matrix_power(a, n)
            same(L.matrix_power(x, n), want, 1e3 * tolerance(dtype) if dtype != "int32" else 0)
    with raises(L.LinAlgError, "solve" if is_queued(device) else "matrix_power"):
        L.matrix_power(nd.zeros((2, 2), device=device), -1)
        nd.synchronize(device)


# mpmath 1.3.0, 40 digits: expm(matrix), by tests/python/golden_expm.py
EXPM = [
    ([[0.0, 1.0], [-1.0, 0.0]], [[0.5403023058681398, 0.8414709848078965], [-0.8414709848078965, 0.5403023058681398]]),
    ([[1.0, 2.0], [3.0, 4.0]], [[51.968956198705, 74.73656456700321], [112.10484685050481, 164.07380304920983]]),
    ([[-20.0, 5.0], [0.0, 1.0]], [[2.061153622438558e-09, 0.6472099586661647], [0.0, 2.718281828459045]]),
]


@cases(*DEVICES)
def test_expm(device):
    for a, want in EXPM:
        got = host(L.expm(nd.asarray(a, device=device)))
        assert np.allclose(got, want, rtol=1e-13, atol=1e-15 * np.max(np.abs(want))), (got, want)
    batch = nd.asarray([a for a, _ in EXPM], device=device)
    assert np.allclose(host(L.expm(batch)), [w for _, w in EXPM], rtol=1e-12)
    for dtype, a, x in pairs(device, (4, 4), (2, 3, 3), dtypes=DTYPES[:4], distinct=True):
        w, v = np.linalg.eig(a.astype(complex))
        want = (v * np.exp(w)[..., None, :]) @ np.linalg.inv(v)
        close(L.expm(x), want if np.dtype(dtype).kind == "c" else want.real, dtype, 100)
    skew = nd.asarray([[0.0, 3e5], [-3e5, 0.0]], device=device)  # many squarings
    q = host(L.expm(skew))
    assert np.allclose(q.T @ q, np.eye(2), atol=1e-9)
    assert L.expm(nd.zeros((0, 0))).shape == (0, 0) and np.all(np.isnan(host(L.expm(nd.full((2, 2), nd.nan)))))


@cases(*DEVICES)
def test_products(device):
    rng = np.random.default_rng(8)
    for dtype in DTYPES:
        (a, x), (b, y) = pair(rng, dtype, (3,), device), pair(rng, dtype, (4,), device)
        same(nd.outer(x, y), np.outer(a, b), tolerance(dtype))
        for s, t in [((3,), (3,)), ((2, 3), (3,)), ((2, 3), (2, 3)), ((4, 1, 3), (2, 3))]:
            (a, x), (b, y) = pair(rng, dtype, s, device), pair(rng, dtype, t, device)
            same(nd.cross(x, y), np.cross(a, b), tolerance(dtype))
        (a, x), (b, y) = pair(rng, dtype, (3, 4), device), pair(rng, dtype, (3, 4), device)
        same(L.cross(x, y, axis=0), np.cross(a, b, axis=0), tolerance(dtype))
        for s, t in [((2,), (3,)), ((2, 3), (4, 5)), ((2,), (3, 4)), ((), (3,)), ((2, 1, 2), (3, 2)), ((0,), (2,))]:
            (a, x), (b, y) = pair(rng, dtype, s, device), pair(rng, dtype, t, device)
            same(nd.kron(x, y), np.kron(a, b) if a.ndim else a * b, tolerance(dtype))
        many = [pair(rng, dtype, s, device) for s in ((2, 30), (30, 3), (3, 50), (50, 1))]
        same(L.multi_dot([x for _, x in many]), np.linalg.multi_dot([a for a, _ in many]), 10 * tolerance(dtype))
    assert L.multi_dot([nd.ones(3), nd.ones((3, 2)), nd.ones(2)]).shape == ()
    with raises(ValueError, "cross", "extent 2"):
        nd.cross(nd.ones(2), nd.ones(2))
    with raises(ValueError, "multi_dot"):
        L.multi_dot([nd.ones((2, 2))])


@cases(*DEVICES)
def test_diagonals(device):
    for dtype, a, x in pairs(device, (3, 4), (4, 4), (2, 3, 5)):
        for k in (0, 1, -2):
            want = np.trace(a, k, -2, -1)
            same(L.trace(x, offset=k), want if dtype != "int32" else want.astype("int64"), tolerance(dtype))
            same(L.diagonal(x, offset=k), np.diagonal(a, k, -2, -1))
            same(nd.diagonal(x, k), np.diagonal(a, k))
            if a.ndim == 2:
                same(nd.diag(x, k), np.diag(a, k))
                same(nd.diag(nd.diagonal(x), k), np.diag(np.diagonal(a), k))
        same(nd.trace(x, dtype=nd.complex128), np.trace(a, dtype="complex128"), 1e-5)
    r = L.block_diag(nd.ones((2, 1), device=device), nd.asarray([2, 3], device=device), nd.asarray(4, device=device))
    assert r.tolist() == [[1, 0, 0, 0], [1, 0, 0, 0], [0, 2, 3, 0], [0, 0, 0, 4]] and r.dtype == nd.float64
    with raises(ValueError, "rank 3"):
        nd.diag(nd.ones((1, 1, 1)))
    with raises(ValueError, "block_diag"):
        L.block_diag()


def test_eig():
    rng = np.random.default_rng(4)
    try:
        L.eigvals(nd.eye(2))
    except NotImplementedError as e:
        assert "install" in str(e) and "libopenblas0" in str(e), e
        return
    for dtype in DTYPES[:4]:
        for shape in ((1, 1), (4, 4), (2, 5, 5), (40, 40), (3, 0, 2, 2), (0, 0)):
            a, x = pair(rng, dtype, shape, "cpu")
            w, v = map(host, L.eig(x))
            assert w.dtype == v.dtype == np.dtype("complex64" if dtype in ("float32", "complex64") else "complex128")
            assert w.shape == a.shape[:-1] and v.shape == a.shape
            if a.size:
                assert np.max(np.abs(a @ v - v * w[..., None, :])) <= 300 * np.finfo(dtype).eps * np.max(np.abs(a)) * shape[-1]
                assert np.allclose(np.linalg.norm(v, axis=-2), 1, atol=1e-4)
                assert np.allclose(np.sort_complex(host(L.eigvals(x))), np.sort_complex(w), atol=1e-3 * np.max(np.abs(w)))
    real = nd.asarray([[2.0, 1], [1, 2]])  # NumPy's are real here, the standard's never
    w, v = L.eig(real)
    assert w.dtype == v.dtype == L.eigvals(real).dtype == nd.complex128
    assert np.allclose(np.sort(host(w.real)), [1, 3]) and not np.any(host(w.imag)) and not np.any(host(v.imag))
    bad = nd.asarray([[[1.0, 2], [3, 4]], [[nd.nan, 1], [1, 1]]])
    w = host(L.eigvals(bad))
    assert np.all(np.isfinite(w[0])) and np.all(np.isnan(w[1]))


if __name__ == "__main__":
    main(globals())
