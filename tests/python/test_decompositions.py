#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Factorisations, systems of equations, eigenvalues and singular values, on random strided views: backward errors beside those of
NumPy's LAPACK, which may be exceeded twice; what is refused, and in which words."""
import ctypes
import os
import subprocess
import sys

import ndock as nd
from arrays import DEVICES, from_numpy, host, is_queued, np, view
from tap import Skip, cases, main, raises

DTYPES = ("float32", "float64", "complex64", "complex128")
SHAPES = ((1, 1), (2, 2), (5, 5), (8, 8), (33, 33), (65, 65), (4, 7), (7, 4), (40, 33), (33, 70), (2, 3, 6, 6), (3, 0, 4, 4), (0, 0), (3, 1, 5))
L = nd.linalg


def random(rng, dtype, shape):
    """A random matrix as a strided view, in NumPy and on the device of the second function."""
    room = int(np.prod([2 * n + 1 for n in shape])) + 4
    base = rng.normal(size=room) + (1j * rng.normal(size=room) if np.dtype(dtype).kind == "c" else 0)
    steps = rng.integers(1, 3, len(shape))
    x = base.astype(dtype)[:int(np.prod([n * s for n, s in zip(shape, steps)]))].reshape([n * s for n, s in zip(shape, steps)])
    x = x[tuple(slice(None, None, int(s)) for s in steps)]
    return x[(...,) + tuple(slice(None, None, -1 if rng.random() < 0.3 else 1) for _ in shape)]


def adjoint(a):
    return np.conj(np.swapaxes(a, -1, -2))


def wide(a):
    return np.asarray(a).astype("complex128")


def norm(a):
    return float(np.sqrt(np.sum(np.abs(wide(a)) ** 2)))


def error(got, want):
    """The distance in units of the last place of a number of want's norm, times the square root of the extent."""
    scale = max(norm(want), 1e-300) * np.finfo(want.dtype).eps
    return norm(wide(got) - wide(want)) / scale


def double(a):
    """What NumPy computes on: it goes through double precision for single, whose errors in units would be next to nothing."""
    return a.astype("complex128" if a.dtype.kind == "c" else "float64")


def not_worse(ours, theirs, n, what):
    """ours is at most twice that of NumPy in double precision, or next to nothing; both in units of their own precision."""
    assert ours <= 2 * theirs + 2 + 0.25 * n ** 0.5, f"{what}: {ours:.2f} units, where LAPACK has {theirs:.2f}"


def both_off(n):
    """How many units of the largest the eigenvalues of two programs may differ: in double precision NumPy's LAPACK errs as well (by
    4.6 units where ours was off by 2.9, on a matrix of 6 rows and one processor)."""
    return 8 + 0.8 * n


def identity(q):
    return np.broadcast_to(np.eye(q.shape[-1], dtype=q.dtype), q.shape[:-2] + (q.shape[-1],) * 2)


def each(device, square=False, dtypes=DTYPES):
    rng = np.random.default_rng(14)
    for dtype in dtypes:
        for shape in SHAPES:
            if not square or shape[-1] == shape[-2]:
                a = random(rng, dtype, shape)
                yield a, from_numpy(a, device), rng


@cases(*DEVICES)
def test_cholesky(device):
    for a, _, rng in each(device, square=True):
        n = a.shape[-1]
        a = (a @ adjoint(a) + n * np.eye(n)).astype(a.dtype)
        theirs = np.linalg.cholesky(double(a))
        for upper in (False, True):
            kept = np.triu(a) if upper else np.tril(a)  # the other triangle is not read
            l = host(L.cholesky(from_numpy(kept, device), upper=upper))
            assert l.dtype == a.dtype and l.shape == a.shape
            assert not np.any(np.tril(l, -1) if upper else np.triu(l, 1))
            l = adjoint(l) if upper else l
            if a.size:
                not_worse(error(l @ adjoint(l), a), error(theirs @ adjoint(theirs), double(a)), n, (a.dtype, a.shape))


@cases(*DEVICES)
def test_lu(device):
    for a, x, rng in each(device):
        p, l, u = map(host, L.lu(x))
        k = min(a.shape[-2:])
        assert p.shape[-2:] == (a.shape[-2],) * 2 and l.shape[-1] == k == u.shape[-2] and l.dtype == a.dtype
        assert not np.any(np.triu(l, 1)) and not np.any(np.tril(u, -1))
        assert np.all(np.diagonal(l, axis1=-2, axis2=-1) == 1) and np.all(np.abs(l.real) + np.abs(l.imag) <= 2)
        if a.size:
            assert np.all(np.sum(p, -1) == 1) and np.all(np.sum(p, -2) == 1)
            assert error(wide(p) @ wide(l) @ wide(u), a) <= 2 + 0.5 * k, (a.dtype, a.shape)


@cases(*DEVICES)
def test_qr(device):
    for a, x, rng in each(device):
        for mode in ("reduced", "complete"):
            q, r = L.qr(x, mode=mode)
            q, r = host(q), host(r)
            tq, tr = np.linalg.qr(double(a), mode=mode)
            assert q.shape == tq.shape and r.shape == tr.shape and q.dtype == a.dtype == r.dtype
            assert not np.any(np.tril(r, -1))
            n = max(a.shape[-2:])
            if q.size:
                not_worse(error(wide(adjoint(q)) @ wide(q), identity(q)), error(wide(adjoint(tq)) @ wide(tq), identity(tq)), n, "q^H q")
            if a.size:
                not_worse(error(wide(q) @ wide(r), a), error(wide(tq) @ wide(tr), double(a)), n, (a.dtype, a.shape, mode))
        r = host(L.qr(x, mode="r", normalize=True))
        d = np.diagonal(r, axis1=-2, axis2=-1)
        assert np.all(d.real >= 0) and np.all(np.abs(d.imag) <= 1e-6 * np.abs(d))
    with raises(ValueError, "full"):
        L.qr(nd.ones((2, 2)), mode="full")


@cases(*DEVICES)
def test_solve(device):
    for a, x, rng in each(device, square=True):
        n = a.shape[-1]
        for sides in ((n, 3), (n, 0), (2, 1, n, 2)):
            try:
                batch = np.broadcast_shapes(a.shape[:-2], sides[:-2])
            except ValueError:
                continue
            b = random(rng, a.dtype, sides)
            got, theirs = host(L.solve(x, from_numpy(b, device))), np.linalg.solve(double(a), double(b))
            assert got.shape == theirs.shape == batch + sides[-2:] and got.dtype == a.dtype
            if got.size:
                scale = norm(a) * norm(got)
                ours, other = (norm(wide(a) @ wide(x) - b) / scale / np.finfo(x.dtype).eps for x in (got, theirs))
                not_worse(ours, other, n, (a.dtype, a.shape))
        v = random(rng, a.dtype, (n,))
        got = host(L.solve(x, from_numpy(v, device)))
        assert got.shape == a.shape[:-1]
        if got.size:
            assert norm(wide(a) @ wide(got)[..., None] - v[:, None]) <= norm(a) * norm(got) * np.finfo(a.dtype).eps * n ** 0.5 * 2


@cases(*DEVICES)
def test_solve_with_factors(device):
    for a, x, rng in each(device, square=True):
        n, eps = a.shape[-1], np.finfo(a.dtype).eps
        b = random(rng, a.dtype, a.shape[:-1] + (2,))
        y = from_numpy(b, device)
        spd = (a @ adjoint(a) + n * np.eye(n)).astype(a.dtype)
        triangle = (np.tril(a) + 2 * n * np.eye(n)).astype(a.dtype)
        factors = L.lu_factor(x)
        assert factors[1].dtype == nd.int64
        jobs = [("cho", spd, L.cho_solve((L.cholesky(from_numpy(spd, device)), True), y)),
                ("cho", spd, L.cho_solve((L.cholesky(from_numpy(spd, device), upper=True), False), y))]
        for trans, op in (("N", lambda m: m), ("T", lambda m: np.swapaxes(m, -1, -2)), ("C", adjoint)):
            jobs.append(("lu" + trans, op(a), L.lu_solve(factors, y, trans=trans)))
            for lower in (True, False):
                t = triangle if lower else np.swapaxes(triangle, -1, -2)
                junk = t + (np.triu(a, 1) if lower else np.tril(a, -1)) * 99  # not read
                args = dict(lower=lower, trans=trans)
                z = from_numpy(junk.astype(a.dtype), device)
                jobs.append((str(args), op(t), L.solve_triangular(z, y, **args)))
                left = L.solve_triangular(z, nd.matrix_transpose(y), left=False, **args)
                jobs.append((str(args), np.swapaxes(op(t), -1, -2), nd.matrix_transpose(left)))
                one = t * (1 - np.eye(n)) / (2 * n) + np.eye(n)
                jobs.append(("unit", op(one), L.solve_triangular(from_numpy((one + np.eye(n) * 5).astype(a.dtype), device), y,
                                                                 unit_diagonal=True, **args)))
        for name, m, got in jobs:
            got = host(got)
            assert got.shape == b.shape and got.dtype == a.dtype
            if got.size:
                assert norm(wide(m) @ wide(got) - b) <= 2 * (1 + n ** 0.5) * norm(m) * norm(got) * eps, (name, a.dtype, a.shape)


@cases(*DEVICES)
def test_inv_and_det(device):
    for a, x, rng in each(device, square=True):
        n, eps = a.shape[-1], np.finfo(a.dtype).eps
        got = host(L.inv(x))
        assert got.shape == a.shape and got.dtype == a.dtype
        if got.size:
            theirs = np.linalg.inv(double(a))
            ours, other = (norm(wide(a) @ wide(i) - identity(a)) / (norm(a) * norm(got) * np.finfo(i.dtype).eps) for i in (got, theirs))
            not_worse(ours, other, n, (a.dtype, a.shape))
        d, (sign, log) = L.det(x), L.slogdet(x)
        want, (want_sign, want_log) = np.linalg.det(wide(a)), np.linalg.slogdet(wide(a))
        assert d.shape == sign.shape == log.shape == a.shape[:-2] and d.dtype.name == sign.dtype.name == a.dtype
        assert log.dtype.name == np.zeros(1, a.dtype).real.dtype
        with np.errstate(invalid="ignore", over="ignore"):
            kept = np.abs(want) < np.finfo(a.dtype).max / 2
            assert np.all(np.abs(host(d) - want)[kept] <= 1e4 * eps * np.abs(want)[kept])
        assert np.all(np.abs(host(sign) - want_sign) <= 1e4 * eps) and np.all(np.abs(host(log) - want_log) <= 1e4 * eps)
    big = from_numpy(np.diag(np.array([1e200, 1e200, 1e-200, 1e-200])), device)
    assert host(L.det(big)) == 1 or abs(host(L.det(big)) - 1) < 1e-12  # whatever the order of the products
    assert host(L.det(nd.zeros((2, 2), device=device))) == 0 and host(L.slogdet(nd.zeros((2, 2), device=device))[1]) == -np.inf


@cases(*DEVICES)
def test_eigh(device):
    for a, _, rng in each(device, square=True):
        a = (a + adjoint(a)).astype(a.dtype)
        n, eps = a.shape[-1], np.finfo(a.dtype).eps
        tw, tv = np.linalg.eigh(double(a))
        for upper in (False, True):
            x = from_numpy(np.triu(a) if upper else np.tril(a), device)
            w, v = L.eigh(x, upper=upper)
            w, v = host(w), host(v)
            assert w.shape == a.shape[:-1] and v.shape == a.shape and w.dtype == a.real.dtype and v.dtype == a.dtype
            assert np.all(np.diff(w) >= 0)
            if a.size:
                assert np.max(np.abs(w - tw)) <= both_off(n) * eps * np.max(np.abs(tw))
                ours, other = (error(wide(p) * q[..., None, :] @ wide(adjoint(p)), m) for p, q, m in ((v, w, a), (tv, tw, double(a))))
                not_worse(ours, other, n, (a.dtype, a.shape))
                not_worse(*(error(wide(adjoint(p)) @ wide(p), identity(p)) for p in (v, tv)), n, "v^H v")
                first = np.take_along_axis(v, np.argmax(np.abs(v), -2)[..., None, :], -2)
                assert np.all(first.real > 0) and np.all(np.abs(first.imag) <= 1e-3 * first.real)
                values = host(L.eigvalsh(x, upper=upper))
                assert np.max(np.abs(values - w)) <= (4 + 0.4 * n) * eps * np.max(np.abs(w))


@cases(*DEVICES)
def test_svd(device):
    for a, x, rng in each(device):
        eps, n = np.finfo(a.dtype).eps, max(a.shape[-2:])
        for full in (True, False):
            u, s, vh = map(host, L.svd(x, full_matrices=full))
            tu, ts, tvh = np.linalg.svd(double(a), full_matrices=full)
            assert u.shape == tu.shape and s.shape == ts.shape and vh.shape == tvh.shape
            assert u.dtype == vh.dtype == a.dtype and s.dtype == a.real.dtype
            assert np.all(np.diff(s) <= 0) and np.all(s >= 0)
            for q, t in ((u, tu), (adjoint(vh), adjoint(tvh))):
                if q.size:
                    not_worse(*(error(wide(adjoint(p)) @ wide(p), identity(p)) for p in (q, t)), n, "orthogonality")
            if a.size:
                k = s.shape[-1]
                ours, other = (error(wide(p[..., :k]) * q[..., None, :] @ wide(r[..., :k, :]), m)
                               for p, q, r, m in ((u, s, vh, a), (tu, ts, tvh, double(a))))
                not_worse(ours, other, n, (a.dtype, a.shape))
                assert np.max(np.abs(s - ts)) <= both_off(n) * eps * np.max(ts)
        values = host(L.svdvals(x))
        assert not a.size or np.max(np.abs(values - s)) <= (4 + 0.4 * n) * eps * np.max(s)


def test_special_matrices():
    for a in (np.zeros((6, 6)), np.eye(6), np.ones((6, 6)), np.diag([1e200, 1, 1e-200]), np.diag([0.0, 1, 0, 2]),
              np.triu(np.ones((5, 5))), np.diag(np.ones(5), 1), np.full((4, 4), 1e-310), np.full((4, 4), 1e300)):
        x = nd.asarray(a)
        u, s, vh = map(host, L.svd(x))
        assert np.allclose(u @ np.diag(s) @ vh, a, rtol=1e-13, atol=1e-13 * np.max(np.abs(a))), a
        assert np.allclose(u.T @ u, np.eye(len(a)), atol=1e-13) and np.allclose(vh @ vh.T, np.eye(len(a)), atol=1e-13)
        h = np.tril(a) + np.tril(a, -1).T
        w, v = map(host, L.eigh(x))
        assert np.allclose(v @ np.diag(w) @ v.T, h, rtol=1e-13, atol=1e-13 * np.max(np.abs(h))), a
        assert np.allclose(v.T @ v, np.eye(len(a)), atol=1e-13)


@cases(*DEVICES)
def test_dtypes(device):
    a = nd.asarray([[2, 1], [1, 3]], device=device)
    assert L.cholesky(a).dtype == nd.float64 and L.det(a).dtype == nd.float64
    assert L.solve(nd.astype(a, nd.float64), nd.asarray([1, 2], dtype=nd.float32, device=device)).dtype == nd.float64
    for half in (nd.float16, nd.bfloat16):
        x = nd.astype(a, half)
        w, v = L.eigh(x)
        assert w.dtype == v.dtype == half
        assert L.solve(x, x).dtype == L.inv(x).dtype == L.cholesky(x).dtype == L.svdvals(x).dtype == half
        assert nd.all(nd.abs(nd.astype(L.solve(x, x), nd.float32) - nd.eye(2, device=device)) < 0.02)
    assert L.solve(nd.astype(a, nd.float32), nd.astype(a, nd.complex64)).dtype == nd.complex64


def wait(device):
    nd.synchronize(device)


@cases(*DEVICES)
def test_refused_matrices(device):
    assert issubclass(L.LinAlgError, ValueError) and issubclass(L.LinAlgError, nd.Error)
    singular = nd.asarray(np.stack([np.eye(3), np.diag([1.0, 0, 1])]), device=device)
    negative = nd.asarray(np.stack([np.eye(3), np.eye(3), np.diag([1.0, 1, -1])]), device=device)
    b = nd.ones((3, 1), device=device)
    for name, matrix, pivot, f in (
            ("solve", 1, 1, lambda: L.solve(singular, b)), ("inv", 1, 1, lambda: L.inv(singular)),
            ("lu_factor", 1, 1, lambda: L.lu_factor(singular)), ("solve_triangular", 1, 1, lambda: L.solve_triangular(singular, b)),
            ("cholesky", 2, 2, lambda: L.cholesky(negative))):
        later = {"inv": "solve", "lu_factor": "lu"} if is_queued(device) else {}  # queued work knows the kernel's name
        with raises(L.LinAlgError, later.get(name, name), f"matrix {matrix}", f"pivot {pivot}"):
            f()
            wait(device)
    assert not np.all(np.isfinite(host(L.solve(singular, b, check=False))[1]))
    assert np.all(host(L.solve(singular, b, check=False))[0] == 1)
    assert np.all(np.isnan(host(L.cholesky(negative, check=False))[2][np.tril_indices(3)]))
    L.inv(singular, check=False), L.lu_factor(singular, check=False), L.solve_triangular(singular, b, check=False)
    wait(device)


@cases(*DEVICES)
def test_nan_stays_in_its_matrix(device):
    a = np.stack([np.eye(4), np.eye(4) * 2, np.eye(4)])
    a[1, 2, 1] = np.nan
    x, b = nd.asarray(a, device=device), nd.ones((4, 2), device=device)
    for f in (L.cholesky, L.inv, L.det, L.eigvalsh, L.svdvals, lambda m: L.solve(m, b), lambda m: L.qr(m).R, lambda m: L.lu(m)[1] @ L.lu(m)[2],
              lambda m: L.eigh(m).eigenvectors, lambda m: L.svd(m).U):
        r = host(f(x))
        assert np.all(np.isfinite(r[0])) and np.all(np.isfinite(r[2]))
        assert np.any(np.isnan(r[1]))
    wait(device)


@cases(*DEVICES)
def test_nan_in_results_of_one_element(device):
    for dtype in ("float32", "float64", "complex64"):
        row, one = (nd.asarray(np.array(rows, dtype), device=device) for rows in ([[1, np.nan, 2]], [[np.nan]]))
        for got in (L.svdvals(row), L.svd(row.T).S, L.eigvalsh(one), L.eigh(one).eigenvectors):
            assert got.size == 1 and np.all(np.isnan(host(got)))


@cases(*DEVICES)
def test_refused_arguments(device):
    a = nd.ones((2, 3), device=device)
    for f in (L.cholesky, L.inv, L.det, L.slogdet, L.eigh, L.eigvalsh, lambda x: L.solve(x, x)):
        with raises(ValueError, "(2, 3)", "square"):
            f(a)
    for f in (L.qr, L.svd, L.lu, L.cholesky):
        with raises(ValueError, "axes"):
            f(nd.ones(3, device=device))
    with raises(ValueError, "(4,)", "3"):
        L.solve(nd.eye(3, device=device), nd.ones(4, device=device))
    with raises(ValueError, "trans"):
        L.lu_solve(L.lu_factor(nd.eye(2, device=device)), nd.ones(2, device=device), trans="X")
    with raises(ValueError, "(2,)", "(3,)"):
        L.solve(nd.ones((2, 3, 3), device=device), nd.ones((3, 3, 1), device=device))
    with raises(TypeError):
        L.inv([[1.0]])


def test_cholesky_by_layout():
    """Rows or columns side by side, of the operand and of the result, which may be wider; more than two blocks of columns."""
    rng = np.random.default_rng(9)
    for n, dtype in ((64, "float32"), (65, "complex128"), (150, "float64"), (131, "complex64")):
        a = rng.normal(size=(2, n, n)) + (1j * rng.normal(size=(2, n, n)) if dtype[0] == "c" else 0)
        spd = (a @ adjoint(a) + n * np.eye(n)).astype(dtype)
        for upper in (False, True):
            kept = np.triu(spd) if upper else np.tril(spd)
            want = np.linalg.cholesky(wide(spd))
            want = adjoint(want) if upper else want
            for x in (kept, np.ascontiguousarray(np.swapaxes(kept, 1, 2)).swapaxes(1, 2), np.repeat(kept, 2, axis=2)[..., ::2]):
                got = host(L.cholesky(nd.asarray(x), upper=upper))
                assert got.dtype == dtype and not np.any(got[..., ~(np.triu if upper else np.tril)(np.ones((n, n), bool))])
                assert norm(got - want) <= 20 * np.finfo(dtype).eps * norm(want), (n, dtype, upper)


FACTORS = """
import hashlib
import numpy as np
import ndock as nd
for n in (191, 192):
    a = nd.sin(nd.arange(n * n, dtype="float64", device="cpu")).reshape((n, n))
    spd = a @ a.T + n * nd.eye(n, device="cpu")
    parts = [nd.linalg.cholesky(spd), nd.linalg.lu_factor(a)[0], nd.linalg.solve(spd, a[:, :3]), *nd.linalg.qr(a)]
    print(*(hashlib.sha256(np.from_dlpack(x).tobytes()).hexdigest() for x in parts))
"""


def factors(lapack, core):
    """What identifies the bits of cholesky, lu, solve and qr of 191 and of 192 rows, with a LAPACK that has been told its kernels."""
    env = {**os.environ, "NDOCK_CPU_LAPACK": lapack, "OPENBLAS_CORETYPE": core, "NDOCK_CPU_ISA": "avx2", "NDOCK_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    got = subprocess.run([sys.executable, "-c", FACTORS], env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=600)
    assert got.returncode == 0, got.stderr
    return [line.split() for line in got.stdout.splitlines()]


def test_an_outdated_library():
    """OpenBLAS with its kernels for SSE factorises below 192 rows alone, where nobody has named it; with those for AVX2 or named, all."""
    name = "libopenblas.so.0"
    try:
        ctypes.CDLL(name)
    except OSError:
        raise Skip(f"there is no {name}")
    with open("/proc/cpuinfo") as f:
        flags = f.read()
    if " avx2 " not in flags:
        raise Skip("the processor has no AVX2")
    asked = f"import ctypes; f = ctypes.CDLL({name!r}).openblas_get_corename; f.restype = ctypes.c_char_p; print(f().decode())"
    told = subprocess.run([sys.executable, "-c", asked], env={**os.environ, "OPENBLAS_CORETYPE": "Prescott"}, stdout=subprocess.PIPE, text=True)
    if told.stdout.strip() != "Prescott":
        raise Skip(f"{name} does not take other kernels")
    own, old = factors("own", "Prescott"), factors("auto", "Prescott")
    assert old[1] == own[1] and not set(old[0]) & set(own[0])
    assert factors(name, "Prescott")[1] != own[1] and factors("auto", "Haswell")[1] != own[1]


def test_views_and_aliases():
    rng = np.random.default_rng(3)
    base = rng.normal(size=4000)
    for _ in range(40):
        shape = tuple(int(n) for n in rng.integers(1, 4, rng.integers(0, 3))) + (4, 4)
        a = view(rng, base[3:], shape)
        got = host(L.qr(nd.asarray(a, copy=True)).R) - host(L.qr(nd.asarray(a)).R)
        assert not np.any(got)
        q, r = map(host, L.qr(nd.asarray(a)))
        assert np.allclose(q @ r, a)


if __name__ == "__main__":
    main(globals())
