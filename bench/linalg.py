#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Linear algebra beside the same LAPACK called directly (NDOCK_CPU_LAPACK's library through ctypes), NumPy and, where it is
installed, torch: milliseconds, the contenders in turns, and LAPACK's time over ours. One line a case.

LAPACK gets the rows of a matrix as the columns of its transpose, as a caller with rows would: the lower factor of Cholesky is then
its 'U', and 'L' that of `upper`, the same bytes as ours but for the other triangle, which it leaves.

    bench/linalg.py [--sizes 64,256,1024] [--dtypes float64,float32] [--functions lu,qr] [--repeat 5] [--processor]

--processor takes the calling thread's processor time, which leaves out waits for others (of one thread each: NDOCK_NUM_THREADS=1
OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1).

With NDOCK_CPU_LAPACK=own our own kernels are timed beside the same libraries (--lapack names the one called directly)."""
import argparse
import ctypes
import os
import time

import numpy as np

import ndock as nd

CLOCK = time.perf_counter
PREFIX = {"float32": "s", "float64": "d", "complex64": "c", "complex128": "z"}


def best_of(turns, repeat):
    """Milliseconds of each; not a number of what is not there."""
    best = [float("inf") if f else float("nan") for f in turns]
    calls, spent = 0, 0.0
    while calls <= repeat or spent < 0.2 * len(turns) and calls < 200:
        for i, f in enumerate(turns):
            if f:
                start = CLOCK()
                f()
                took = CLOCK() - start
                best[i] = min(best[i], took)
                spent += took
        calls += 1
    return [b * 1e3 for b in best]


class Lapack:
    """Calls by pointers on column-major matrices, workspaces made beforehand; the copy of the matrix is part of each call, as it is of
    ours."""

    def __init__(self, name):
        self.lib = ctypes.CDLL(name)

    def routine(self, dtype, name):
        f = getattr(self.lib, PREFIX[dtype] + name + "_")
        f.restype = None
        return f

    @staticmethod
    def i(n):
        return ctypes.byref(ctypes.c_int(n))

    @staticmethod
    def p(a):
        return a.ctypes.data_as(ctypes.c_void_p)

    def work(self, dtype, name, args):
        query = np.zeros(2, dtype)
        args(self.p(query), self.i(-1))
        return np.zeros(int(query[0].real * 1.01) + 8, dtype)

    def cholesky(self, a, uplo=b"U"):
        f, n, m = self.routine(a.dtype.name, "potrf"), len(a), a.T.copy(order="F")
        return lambda: (m.__setitem__(..., a.T), f(uplo, self.i(n), self.p(m), self.i(n), self.i(0)))

    def cholesky_upper(self, a):
        return self.cholesky(a, b"L")

    def lu(self, a):
        f, n, m, piv = self.routine(a.dtype.name, "getrf"), len(a), a.copy(order="F"), np.zeros(len(a), np.int32)
        return lambda: (m.__setitem__(..., a), f(self.i(n), self.i(n), self.p(m), self.i(n), self.p(piv), self.i(0)))

    def solve(self, a):
        f, n, m, piv = self.routine(a.dtype.name, "gesv"), len(a), a.copy(order="F"), np.zeros(len(a), np.int32)
        b = np.ones((n, 16), a.dtype, order="F")
        return lambda: (m.__setitem__(..., a), b.fill(1), f(self.i(n), self.i(16), self.p(m), self.i(n), self.p(piv), self.p(b), self.i(n), self.i(0)))

    def qr(self, a):
        dtype, n, m, tau, q = a.dtype.name, len(a), a.copy(order="F"), np.zeros(len(a), a.dtype), a.copy(order="F")
        f, g = self.routine(dtype, "geqrf"), self.routine(dtype, "ungqr" if a.dtype.kind == "c" else "orgqr")
        work = self.work(dtype, "", lambda w, l: f(self.i(n), self.i(n), self.p(m), self.i(n), self.p(tau), w, l, self.i(0)))

        def run():
            m[...] = a
            f(self.i(n), self.i(n), self.p(m), self.i(n), self.p(tau), self.p(work), self.i(len(work)), self.i(0))
            q[...] = m
            g(self.i(n), self.i(n), self.i(n), self.p(q), self.i(n), self.p(tau), self.p(work), self.i(len(work)), self.i(0))
        return run

    def eigh(self, a):
        dtype, n, m, w = a.dtype.name, len(a), a.copy(order="F"), np.zeros(len(a), a.real.dtype)
        if a.dtype.kind == "c":
            return None
        f, iwork = self.routine(dtype, "syevd"), np.zeros(5 * n + 3, np.int32)
        work = self.work(dtype, "", lambda k, l: f(b"V", b"L", self.i(n), self.p(m), self.i(n), self.p(w), k, l, self.p(iwork), self.i(-1), self.i(0)))
        return lambda: (m.__setitem__(..., a), f(b"V", b"L", self.i(n), self.p(m), self.i(n), self.p(w), self.p(work), self.i(len(work)),
                                                 self.p(iwork), self.i(len(iwork)), self.i(0)))

    def svd(self, a):
        dtype, n, m, s = a.dtype.name, len(a), a.copy(order="F"), np.zeros(len(a), a.real.dtype)
        if a.dtype.kind == "c":
            return None
        f, iwork, u, v = self.routine(dtype, "gesdd"), np.zeros(8 * n, np.int32), a.copy(order="F"), a.copy(order="F")

        def call(k, l):
            f(b"S", self.i(n), self.i(n), self.p(m), self.i(n), self.p(s), self.p(u), self.i(n), self.p(v), self.i(n), k, l, self.p(iwork), self.i(0))
        work = self.work(dtype, "", call)
        return lambda: (m.__setitem__(..., a), call(self.p(work), self.i(len(work))))


def ours(name, a):
    x = nd.asarray(a)
    if name == "solve":
        b = nd.ones((len(a), 16), dtype=a.dtype.name)
        return lambda: nd.linalg.solve(x, b)
    if name == "lu":
        return lambda: nd.linalg.lu_factor(x)
    if name == "svd":
        return lambda: nd.linalg.svd(x, full_matrices=False)
    if name == "cholesky_upper":
        return lambda: nd.linalg.cholesky(x, upper=True)
    return lambda: getattr(nd.linalg, name)(x)


def numpys(name, a):
    if name == "lu":
        return None
    if name == "cholesky_upper":
        return (lambda: np.linalg.cholesky(a, upper=True)) if int(np.__version__.split(".")[0]) > 1 else None
    if name == "solve":
        b = np.ones((len(a), 16), a.dtype)
        return lambda: np.linalg.solve(a, b)
    if name == "svd":
        return lambda: np.linalg.svd(a, full_matrices=False)
    return lambda: getattr(np.linalg, name)(a)


def torchs(torch, name, a):
    if torch is None:
        return None
    x = torch.from_numpy(a)
    if name == "solve":
        b = torch.ones((len(a), 16), dtype=x.dtype)
        return lambda: torch.linalg.solve(x, b)
    if name == "lu":
        return lambda: torch.linalg.lu_factor(x)
    if name == "svd":
        return lambda: torch.linalg.svd(x, full_matrices=False)
    if name == "cholesky_upper":
        return lambda: torch.linalg.cholesky(x, upper=True)
    return lambda: getattr(torch.linalg, name)(x)


def matrix(name, n, dtype):
    rng = np.random.default_rng(1)
    a = rng.normal(size=(n, n)) + (1j * rng.normal(size=(n, n)) if dtype[0] == "c" else 0)
    if name.startswith("cholesky"):
        a = a @ a.conj().T + n * np.eye(n)
    return (a + a.conj().T if name == "eigh" else a).astype(dtype)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", default="64,256,1024")
    parser.add_argument("--dtypes", default="float64,float32")
    parser.add_argument("--functions", default="cholesky,cholesky_upper,lu,solve,qr,eigh,svd")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--lapack", default=os.environ.get("NDOCK_CPU_LAPACK", "libopenblas.so.0"))
    parser.add_argument("--processor", action="store_true")
    o = parser.parse_args()
    if o.processor:
        global CLOCK
        CLOCK = time.thread_time
    direct = Lapack(o.lapack)
    try:
        import torch
    except ImportError:
        torch = None
    print(f"# ms; NDOCK_CPU_LAPACK={os.environ.get('NDOCK_CPU_LAPACK', 'auto')}, direct: {o.lapack}")
    print(f"{'case':28s} {'ours':>9s} {'direct':>9s} {'numpy':>9s} {'torch':>9s}  ours/direct as speed")
    for name in o.functions.split(","):
        for dtype in o.dtypes.split(","):
            for n in map(int, o.sizes.split(",")):
                a = matrix(name, n, dtype)
                t = best_of((ours(name, a), getattr(direct, name)(a), numpys(name, a), torchs(torch, name, a)), o.repeat)
                print(f"{name + ' ' + dtype + ' ' + str(n):28s} " + " ".join(f"{x:9.3f}" for x in t) + f"  {t[1] / t[0]:6.2f}", flush=True)


if __name__ == "__main__":
    main()
