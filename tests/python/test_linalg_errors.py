#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Backward errors of nd.linalg on the CPU beside LAPACK's, as NumPy has it: A - QR, Ax - b, A - LL^H, PA - LU, AV - VW, A - USV^H
and how far Q, V, U and V^H are from orthogonal; over random shapes, batches, strided views, matrices that are ill-conditioned,
graded or of a low rank. Each is at most twice LAPACK's on the same matrix and a few units, and the mean over all matrices of a dtype
at most twice LAPACK's mean; with a LAPACK that is opened at run time and by the own kernels, in a process for each. NDOCK_TEST_LONG
tries more and larger matrices.

NumPy computes in double precision whatever it is given: errors are in units of the last place of the precision that was computed
in, relative to the norm of the matrix, and are themselves computed in more than that. NumPy has no LU: PA - LU is beside Gaussian
elimination with partial pivoting, one column after the other, in the matrix's own precision."""
import json
import os
import subprocess
import sys

import ndock as nd
from arrays import np, view
from tap import cases, main, raises

L = nd.linalg
LONG = "NDOCK_TEST_LONG" in os.environ
ROUNDS = 100 if LONG else 4
SIZES = (1, 2, 3, 5, 8, 13, 24, 32, 33, 40, 61, 100, 150, 260) if LONG else (1, 2, 3, 5, 8, 17, 32, 33, 48, 70)
DTYPES = ("float32", "float64", "complex64", "complex128")
JOBS = {}
FREE = 0.1  # units that a mean may have without LAPACK's having any: there are matrices of one element


def allowed(theirs, what):
    """For one matrix: LAPACK may be exact by chance where we are not, by more for longer sums."""
    longest = max(map(int, what.split()[1].split("x")))
    return 2 * theirs + 2 + 0.25 * longest ** 0.5


def job(f):
    JOBS[f.__name__] = f
    return f


def adjoint(a):
    return np.conj(np.swapaxes(a, -1, -2))


def wide(a):
    """The elements in more than their own precision."""
    a = np.asarray(a)
    single = a.dtype.itemsize == (8 if a.dtype.kind == "c" else 4)
    if a.dtype.kind != "c":  # products of real numbers take half the time of those of complex ones
        return a.astype("float64" if single else "longdouble")
    return a.astype("complex128" if single else "clongdouble")


def double(a):
    return a.astype("complex128" if a.dtype.kind == "c" else "float64")


def norm(a):
    return float(np.sqrt(np.sum(np.abs(a) ** 2)))


def numbers(rng, shape, dtype):
    x = rng.normal(size=shape)
    return x + 1j * rng.normal(size=shape) if np.dtype(dtype).kind == "c" else x


def matrices(rng, dtype, m, n, kind):
    """A matrix, or a batch, of double precision; kind says what is hard about it."""
    batch = ((), (), (3,), (2, 2))[rng.integers(4)] if max(m, n) <= 33 else ()
    k, digits = min(m, n), 5 if np.dtype(dtype).name in ("float32", "complex64") else 13
    a = numbers(rng, batch + (m, n), dtype)
    if kind == "ill-conditioned" and k > 1:
        u, _, v = np.linalg.svd(a, full_matrices=False)
        return u * 10.0 ** np.linspace(0, -digits, k) @ v
    if kind == "low rank" and k > 1:
        return a[..., :, :k // 2] @ numbers(rng, batch + (k // 2, n), dtype)
    if kind == "graded":
        return a * 10.0 ** np.linspace(0, -digits / 2, m)[:, None] * 10.0 ** np.linspace(0, -digits / 2, n)
    return a


def positive(a, dtype):
    """Hermitian and positive definite, with about the square root of a's spread."""
    n, digits = a.shape[-1], 4 if np.dtype(dtype).name in ("float32", "complex64") else 12
    u, s, _ = np.linalg.svd(a)
    a = (u * np.maximum(s, s[..., :1] * 10.0 ** -digits)[..., None, :]) @ adjoint(u)
    return (a + adjoint(a)) / 2 + 0 * np.eye(n)


def strided(rng, a, dtype):
    """a in the dtype, as a random view of an array that is larger."""
    a = a.astype(dtype)
    base = np.zeros(int(np.prod([2 * n + 1 for n in a.shape])) + 4, dtype)
    while True:
        x = view(rng, base[1:], a.shape)
        if 0 not in x.strides or x.size == 0:
            x[...] = a
            return x


def each(rng, square=False, kinds=("random", "ill-conditioned", "graded", "low rank")):
    for dtype in DTYPES:
        for _ in range(ROUNDS):
            m = int(rng.choice(SIZES))
            n = m if square else int(rng.choice(SIZES))
            kind = str(rng.choice(kinds))
            yield dtype, matrices(rng, dtype, m, n, kind), f"{dtype} {m}x{n} {kind}"


def one_by_one(*arrays):
    """The matrices of batches, of several arrays side by side."""
    return zip(*(a.reshape((-1,) + a.shape[-2:]) for a in arrays))


def residual(product, a, scale=None):
    """In units of the last place of a number as large as the norm of a, in a's precision."""
    size = norm(wide(a)) if scale is None else scale
    return norm(product - wide(a)) / (size * float(np.finfo(a.dtype).eps)) if size else norm(product)


def orthogonality(q):
    """How far the columns are from orthonormal, beside the norm of the identity."""
    return residual(adjoint(wide(q)) @ wide(q), np.eye(q.shape[-1], dtype=q.dtype))


@job
def cholesky(rng):
    for dtype, a, what in each(rng, square=True, kinds=("random", "ill-conditioned")):
        a = positive(a, dtype).astype(dtype)
        a = np.tril(a) + adjoint(np.tril(a, -1))
        x = strided(rng, a, dtype)
        ours, theirs = L.cholesky(nd.asarray(x)), np.linalg.cholesky(double(a))
        for p, q, m in one_by_one(np.array(ours), theirs, a):
            yield what, residual(wide(p) @ adjoint(wide(p)), m), residual(wide(q) @ adjoint(wide(q)), double(m))


def eliminate(a):
    """Gaussian elimination with partial pivoting: the rows' order, L and U."""
    a, (m, n) = a.copy(), a.shape
    order, k = np.arange(m), min(m, n)
    for j in range(k):
        p = j + int(np.argmax(np.abs(a[j:, j].real) + np.abs(a[j:, j].imag)))
        a[[j, p]], order[[j, p]] = a[[p, j]], order[[p, j]]
        if a[j, j]:
            a[j + 1:, j] /= a[j, j]
            a[j + 1:, j + 1:] -= a[j + 1:, j, None] * a[j, j + 1:]
    return order, np.tril(a[:, :k], -1) + np.eye(m, k, dtype=a.dtype), np.triu(a[:k])


@job
def lu(rng):
    for dtype, a, what in each(rng):
        x = strided(rng, a, dtype)
        p, l, u = map(np.array, L.lu(nd.asarray(x)))
        for p, l, u, m in one_by_one(p, l, u, x):
            order, tl, tu = eliminate(m)
            yield what, residual(wide(p) @ wide(l) @ wide(u), m), residual(wide(tl) @ wide(tu), m[order])


@job
def qr(rng):
    for dtype, a, what in each(rng):
        x = strided(rng, a, dtype)
        for mode in ("reduced", "complete"):
            q, r = map(np.array, L.qr(nd.asarray(x), mode=mode))
            tq, tr = np.linalg.qr(double(x), mode=mode)
            for q, r, tq, tr, m in one_by_one(q, r, tq, tr, x):
                yield what + " QR", residual(wide(q) @ wide(r), m), residual(wide(tq) @ wide(tr), double(m))
                yield what + " Q", orthogonality(q), orthogonality(tq)


@job
def solve(rng):
    for dtype, a, what in each(rng, square=True, kinds=("random", "ill-conditioned", "graded")):
        n = a.shape[-1]
        x, b = strided(rng, a, dtype), strided(rng, numbers(rng, a.shape[:-1] + (int(rng.integers(1, 4)),), dtype), dtype)
        got, theirs = np.array(L.solve(nd.asarray(x), nd.asarray(b), check=False)), np.linalg.solve(double(x), double(b))
        assert got.shape == b.shape and n
        for m, p, q, c in one_by_one(x, got, theirs, b):
            yield (what, residual(wide(m) @ wide(p), c, norm(wide(m)) * norm(wide(p))),
                   residual(wide(double(m)) @ wide(q), double(c), norm(wide(m)) * norm(wide(q))))


@job
def eigh(rng):
    for dtype, a, what in each(rng, square=True):
        a = (a + adjoint(a)).astype(dtype)
        w, v = map(np.array, L.eigh(nd.asarray(strided(rng, a, dtype))))
        tw, tv = np.linalg.eigh(double(a))
        for w, v, tw, tv, m in one_by_one(w[..., None, :], v, tw[..., None, :], tv, a):
            zero, size = np.zeros_like(m), norm(wide(m))
            yield (what + " AV-VW", residual(wide(m) @ wide(v) - wide(v) * wide(w), zero, size),
                   residual(wide(double(m)) @ wide(tv) - wide(tv) * wide(tw), double(zero), size))
            yield what + " V", orthogonality(v), orthogonality(tv)


@job
def svd(rng):
    for dtype, a, what in each(rng):
        x = strided(rng, a, dtype)
        for full in (True, False):
            u, s, vh = map(np.array, L.svd(nd.asarray(x), full_matrices=full))
            tu, ts, tvh = np.linalg.svd(double(x), full_matrices=full)
            for u, s, vh, tu, ts, tvh, m in one_by_one(u, s[..., None, :], vh, tu, ts[..., None, :], tvh, x):
                k = s.shape[-1]
                yield (what + " USV", residual(wide(u[:, :k]) * wide(s) @ wide(vh[:k]), m),
                       residual(wide(tu[:, :k]) * wide(ts) @ wide(tvh[:k]), double(m)))
                yield what + " U", orthogonality(u), orthogonality(tu)
                yield what + " V", orthogonality(adjoint(vh)), orthogonality(adjoint(tvh))


@job
def eig(rng):
    for dtype, a, what in each(rng, square=True, kinds=("random", "graded", "low rank")):
        x = strided(rng, a, dtype)
        w, v = map(np.array, L.eig(nd.asarray(x)))
        tw, tv = np.linalg.eig(double(x))
        for w, v, tw, tv, m in one_by_one(w[..., None, :], v, tw[..., None, :], tv, x):
            zero, size = np.zeros_like(v), norm(wide(m))
            yield (what, residual(wide(m) @ wide(v) - wide(v) * wide(w), zero, size),
                   residual(wide(double(m)) @ wide(tv) - wide(tv) * wide(tw), zero.astype("complex128"), size))


def measure():
    """In a process of its own: for each job the number of comparisons, the worst one, and those that failed."""
    found = {}
    for name, run in JOBS.items():
        if name == "eig" and not has_lapack():
            continue
        count, worst, bad, sums = 0, (-1.0, ""), [], {}
        for what, ours, theirs in run(np.random.default_rng(14)):
            line = f"{what}: {ours:.2f} units, LAPACK {theirs:.2f}"
            worst = max(worst, (ours / allowed(theirs, what), line))
            if not ours <= allowed(theirs, what):
                bad.append(line)
            of = sums.setdefault((what.split()[0], what.split()[-1] if what[-1].isupper() else ""), [0, 0.0, 0.0])
            of[:] = of[0] + 1, of[1] + ours, of[2] + theirs
            count += 1
        means = [f"{' '.join(group)}: {ours / n:.2f} units, LAPACK {theirs / n:.2f}" for group, (n, ours, theirs) in sums.items()]
        bad += ["mean of " + m for m, (n, ours, theirs) in zip(means, sums.values()) if not ours / n <= 2 * theirs / n + FREE]
        found[name] = {"count": count, "worst": worst[1], "bad": bad, "means": means}
    print(json.dumps(found))


def has_lapack():
    try:
        L.eigvals(nd.eye(2))
        return True
    except nd.Error:
        return False


_found = {}


def results(which):
    if which not in _found:
        env = {k: v for k, v in os.environ.items() if k != "NDOCK_CPU_LAPACK"}
        if which == "own":
            env["NDOCK_CPU_LAPACK"] = which
        got = subprocess.run([sys.executable, __file__, "--measure"], env=env, stdout=subprocess.PIPE, text=True, check=True)
        _found[which] = json.loads(got.stdout.splitlines()[-1])
    return _found[which]


@cases(*((which, name) for which in ("any LAPACK", "own") for name in JOBS if (which, name) != ("own", "eig")))
def test_at_most_twice_LAPACK(which, name):
    if name == "eig" and name not in results(which):
        with raises(nd.Error, "needs a LAPACK", "install"):
            L.eig(nd.eye(2))
        return
    r = results(which)[name]
    print(f"# {r['count']} comparisons, the worst: {r['worst']}; means:", "; ".join(r["means"]))
    assert r["count"] >= 4 * ROUNDS
    assert not r["bad"], f"{len(r['bad'])} of {r['count']}: " + "; ".join(r["bad"][:40])


def test_shapes_without_elements():
    for dtype in DTYPES:
        for shape in ((0, 0), (0, 3), (3, 0), (2, 0, 3), (0, 3, 3)):
            a, x = np.zeros(shape, dtype), nd.zeros(shape, dtype=dtype)
            q, r = L.qr(x)
            assert (q.shape, r.shape) == tuple(t.shape for t in np.linalg.qr(a))
            assert [t.shape for t in L.svd(x)] == [t.shape for t in np.linalg.svd(a)]
            if shape[-1] == shape[-2]:
                assert [t.shape for t in L.eigh(x)] == [t.shape for t in np.linalg.eigh(a)]
                assert L.cholesky(x).shape == shape and L.solve(x, x).shape == shape
    with raises(ValueError):
        L.solve(nd.zeros((0, 3)), nd.zeros((0, 1)))


if __name__ == "__main__":
    if "--measure" in sys.argv:
        nd.set_default_device("cpu")
        measure()
    else:
        main(globals())
