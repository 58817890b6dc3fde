#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""One table of what linear algebra and Fourier transforms are given that they cannot compute: singular matrices and those that are
not positive definite, NaN and infinity, shapes, sizes below zero and beyond all memory, libraries that are not there. Each is
refused in words or computed to NaN, soon, and afterwards as much memory is in use as before and operands are what they were."""
import faulthandler
import gc
import os
import subprocess
import sys

import ndock as nd
from arrays import DEVICES, host, np
from tap import cases, main, raises

L, F = nd.linalg, nd.fft
INF = float("inf")
BIG = 40  # beyond the own kernels of small matrices
Failure, Shape, Value, Index = L.LinAlgError, ValueError, ValueError, IndexError


def operands(device):
    """Named operands of the table: matrices of 3 and of BIG rows, of which some are as nobody wants them."""
    def put(x):
        return nd.asarray(np.asarray(x, dtype=float), device=device)
    spoiled = np.eye(BIG)
    spoiled[7, 5] = np.nan
    return {"e": put(np.eye(3)), "ones": put(np.ones((3, 3))), "Ones": put(np.ones((BIG, BIG)) * 0), "neg": put(-np.eye(3)),
            "Neg": put(np.diag([1.0] * (BIG - 1) + [-1])), "nan": put(np.full((3, 3), np.nan)), "Nan": put(np.full((BIG, BIG), np.nan)),
            "Spoiled": put(spoiled), "Inf": put(np.full((BIG, BIG), np.inf)), "wide": put(np.ones((2, 3))), "v": put(np.ones(3)),
            "four": put(np.ones(4)), "z": put(0.0), "none": put(np.ones((0, 3))), "one": put(np.ones(1))}


# Each line: the call | the kind of error | words of its message.
REFUSED = """
L.solve(ones, v) | Failure | solve | pivot 1
L.solve(Ones, Ones) | Failure | solve | pivot 0
L.inv(ones) | Failure | pivot 1
L.inv(Ones) | Failure | pivot 0
L.lu_factor(ones) | Failure | pivot 1
L.matrix_power(ones, -1) | Failure | pivot 1
L.cholesky(neg) | Failure | cholesky | not positive definite | pivot 0
L.cholesky(Neg) | Failure | cholesky | not positive definite | pivot 39
L.cholesky(-Inf) | Failure | cholesky | not positive definite | pivot 0
L.solve_triangular(ones * 0, v) | Failure | solve_triangular | pivot 0
L.inv(wide) | Shape | (2, 3) | square
L.det(wide) | Shape | (2, 3) | square
L.slogdet(wide) | Shape | (2, 3) | square
L.cholesky(wide) | Shape | (2, 3) | square
L.eigh(wide) | Shape | (2, 3) | square
L.eigvalsh(wide) | Shape | (2, 3) | square
L.eig(wide) | Shape | (2, 3) | square
L.expm(wide) | Shape | (2, 3) | square
L.matrix_power(wide, 2) | Shape | (2, 3) | square
L.solve_triangular(wide, v) | Shape | (2, 3) | square
L.qr(v) | Shape | 1 axes
L.svd(v) | Shape | 1 axes
L.pinv(v) | Shape | 1 axes
L.eigvals(v) | Shape | 1 axes
L.matrix_rank(v) | Shape | 1 axes
L.cond(v) | Shape | 1 axes
L.trace(v) | Shape | 1 axes
L.matrix_norm(v) | Shape | 1 axes
L.lstsq(wide, v) | Shape | 2 rows
L.solve(e, four) | Shape | (4,) | 3
L.cho_solve((e, True), four) | Shape | (4,) | 3
L.lu_solve((e, nd.asarray([0, 1], device=e.device)), v) | Shape | pivots | 3
L.multi_dot([wide, wide]) | Shape | (2, 3) @ (2, 3)
L.multi_dot([]) | Value | 0 arrays
L.cross(wide, four) | Shape | 3 | 4
L.vector_norm(wide, axis=5) | Index | axis 5
L.norm(wide, ord="x") | Value | 'x'
L.qr(e, mode="x") | Value | 'x'
L.matrix_power(e, 1.5) | TypeError | 1.5
L.svd(nd.broadcast_to(one, (2**40, 2))) | OverflowError | svd | 1099511627776
L.svd(nd.broadcast_to(one, (2**25, 2))) | MemoryError | out of memory
L.kron(nd.broadcast_to(one, (2**40,)), nd.broadcast_to(one, (2**40,))) | OverflowError | kron
L.outer(nd.broadcast_to(one, (2**25,)), nd.broadcast_to(one, (2**25,))) | MemoryError | out of memory
F.fft(v, n=0) | Value | is 0
F.fft(v, n=-1) | Value | is -1
F.ifft(v, n=-3) | Value | is -3
F.rfft(v, n=-2) | Value | is -2
F.irfft(v, n=-4) | Value | is -4
F.hfft(v, n=-1) | Value | is -1
F.ihfft(v, n=0) | Value | is 0
F.fftn(wide, s=(2, -2), axes=(0, 1)) | Value | -2
F.rfftn(wide, s=(0, 2), axes=(0, 1)) | Value | 0
F.fft(v, n=2**50) | MemoryError | out of memory
F.irfft(v, n=2**50) | MemoryError | out of memory
F.fft(v, n=2**62) | OverflowError | fft
F.fft(v, n=2.5) | TypeError | 2.5
F.fft(v, axis=3) | Index | axis 3
F.fft(z) | Shape | without axes
F.fft(none, axis=0) | Value | length 0
F.fft(v, norm="x") | Value | 'x'
F.fftn(wide, s=(2,), axes=(0, 1)) | Value | 1 lengths
F.fftn(wide, axes=(0, 0)) | Index | twice
F.rfft(v + 0j) | TypeError | complex128
F.irfft(one) | Value | length 0
F.fftfreq(0) | Value | 0
F.rfftfreq(-3) | Value | -3
F.fftshift(v, axes=4) | Index | axis 4
F.dct(v, type=5) | Value | 5
F.dct(one, type=1) | Value | at least 2
""".strip().splitlines()

# What is computed to NaN, in every element that it touches: a matrix whole, a transform whole. Of Cholesky factors NumPy says the same,
# those of infinities included: inf / inf is NaN below the first row.
NAN = """
L.cholesky(nan)[2, :]; L.cholesky(Nan)[39, :]; L.cholesky(Nan, upper=True)[:, 39]; L.cholesky(Spoiled)[7, 5:8]; L.cholesky(Inf)[39, :]
L.cholesky(ones * INF)[2, 1:]
L.solve(Nan, Nan); L.inv(Nan); L.det(Nan); L.pinv(Nan); L.expm(Nan); L.cond(Nan); L.lstsq(Nan, Nan).x; L.svdvals(Nan); L.svd(Nan).S
L.svd(Inf).S; L.eigvalsh(Nan); L.eigh(Nan).eigenvalues; L.eigh(Inf).eigenvectors; L.qr(Nan).R[0, :]; L.lu(Nan)[2][0, :]; L.solve(nan, nan)
L.inv(nan); L.det(nan); L.svdvals(nan); L.eigvalsh(nan); L.eigh(nan).eigenvectors; L.expm(nan); L.matrix_power(nan, 5); L.svdvals(Spoiled)
L.eigvalsh(Spoiled); L.pinv(Spoiled); L.matrix_norm(Nan, ord=2); L.matrix_norm(Nan, ord="nuc"); F.fft(Nan)[:, 1:]; F.fft(nan); F.rfft(nan)
F.irfft(Nan); F.fftn(Nan)[1:, 1:]; F.dct(nan); F.fft(Inf)[:, 1:]; F.fft(nd.broadcast_to(nan[0, :1], (7919,)))[1:]
""".replace("\n", ";").strip("; ").split(";")


def kept(device, call):
    """call, twice in a minute at most; afterwards operands have the bits of before and no more memory is in use."""
    names = operands(device)
    before = {k: host(x).tobytes() for k, x in names.items()}
    used = []
    faulthandler.dump_traceback_later(60, exit=True)  # it ends the program: what hangs in C code sees no exception
    for _ in range(2):  # the first one fills caches of plans and kernels
        call(dict(names))
        gc.collect()
        nd.synchronize(device)
        used.append(nd.memory.allocated(device))
    faulthandler.cancel_dump_traceback_later()
    assert used[0] == used[1], f"{used[1]} bytes in use, {used[0]} before"
    assert before == {k: host(x).tobytes() for k, x in names.items()}


@cases(*((device, line) for device in DEVICES for line in REFUSED))
def test_refused(device, line):
    text, kind, *words = (part.strip() for part in line.split(" | "))
    if "L.eig(" in text or "L.eigvals(" in text:
        words = []  # without a LAPACK it is that which is missing

    def call(names):
        scope = {**globals(), **names}
        with nd.device(device), raises(Exception if not words else eval(kind), *words):
            eval(text, scope)
            nd.synchronize(device)
    kept(device, call)


@cases(*((device, text.strip()) for device in DEVICES for text in NAN))
def test_nan(device, text):
    def call(names):
        with nd.device(device):
            got = host(eval(text, {**globals(), **names}))
        assert got.size and np.all(np.isnan(got)), got
    kept(device, call)


PROGRAM = """
import ndock as nd
nd.set_default_device("cpu")
x = nd.reshape(nd.arange(1600.0), (40, 40)) + 1600 * nd.eye(40)
assert abs(float(nd.sum(nd.linalg.solve(x, x))) - 40) < 1e-9 and nd.linalg.svdvals(x).shape == (40,)
for f in (nd.linalg.eig, nd.linalg.eigvals):
    try:
        f(x)
    except nd.Error as e:
        print(e)
"""


@cases("/nonexistent", "libnothere.so.7", "/etc/passwd", "own", "off")
def test_a_missing_LAPACK(name):
    """The own kernels compute, and what needs a LAPACK says which was named and what to install."""
    env = {**os.environ, "NDOCK_CPU_LAPACK": name}
    got = subprocess.run([sys.executable, "-c", PROGRAM], env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=600)
    assert got.returncode == 0, got.stderr
    lines = got.stdout.splitlines()
    assert len(lines) == 2
    for op, line in zip(("eig", "eig"), lines):
        for word in (op, f"NDOCK_CPU_LAPACK={name} ", "install libopenblas0 or liblapack3"):
            assert word in line, f"{word!r} is not in: {line}"
    assert (name in ("own", "off")) != (f"NDOCK_CPU_LAPACK={name}:" in got.stderr and "install" in got.stderr), got.stderr


def test_a_missing_FFTW():
    """Where FFTW is asked for and is not there: an error that says what to install, else a transform."""
    got = subprocess.run([sys.executable, "-c", "import ndock as nd; print(nd.fft.fft(nd.ones(2, device='cpu')).tolist())"],
                         env={**os.environ, "NDOCK_CPU_FFT": "fftw"}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=600)
    assert got.stdout == "[(2+0j), 0j]\n" or "NDOCK_CPU_FFT=fftw" in got.stderr and "install FFTW 3" in got.stderr, got.stderr


if __name__ == "__main__":
    main(globals())
