#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Work that is cut by how many threads there are: results of 1, 3, 5 and 16 threads are the same to the bit, and what is exact is
NumPy's. A process of its own for each number, as the team reads it once."""
import hashlib
import os
import subprocess
import sys

import ndock as nd
from arrays import np
from tap import main

SIZES = (1, 32767, 32768, 32769, 40000, 65537, 100003, 1000003)


def exact(rng):
    """Sums, copies and fills at sizes around those from which there are two chunks, four and more, and one whose results are
    written past the cache."""
    for n in (*SIZES, (1 << 22) + 77):
        for dtype in ("float32", "float64", "float16", "int8"):
            x = rng.integers(-60, 60, n).astype(dtype)
            a = nd.asarray(x, copy=True)
            assert np.array_equal(np.asarray(a + a), x + x), f"add of {n} {dtype}"
            assert np.array_equal(np.asarray(a[::3] + a[::3]), (x + x)[::3]), f"add of {n} {dtype}, every third"
            assert np.array_equal(np.asarray(nd.asarray(a, copy=True)), x), f"copy of {n} {dtype}"
            assert np.all(np.asarray(nd.full(n, 7, dtype=a.dtype)) == 7), f"fill of {n} {dtype}"


def digest(rng):
    """Of results that are rounded."""
    h = hashlib.sha256()
    programs = lambda x, y: 2 * x + y * y + 1, lambda x, y: nd.tanh(x * y + x), lambda x, y: nd.sum(x * y)  # noqa: E731
    for n in SIZES:
        a, b = (nd.asarray(rng.random(n, dtype="float32")) for _ in range(2))
        results = [nd.fuse(f)(a, b) for f in programs] + [nd.exp(a), nd.sin(b), nd.sum(a), nd.var(b)]
        for r in results:
            h.update(np.asarray(r).tobytes())
    for shape in ((64, 4096), (3, 100003), (1000, 77), (300, 300), (2100, 1100)):
        x = nd.asarray(rng.random(shape, dtype="float32"))
        results = [f(x, axis=k) for f in (nd.sum, nd.var, nd.max) for k in (0, 1)] + [nd.nn.softmax(x, dim=k) for k in (0, 1)]
        results += [nd.nn.layer_norm(x, shape[1:]), x @ x.T if shape[0] < 500 else x.T @ x, x[0] @ x.T, x[:, 0] @ x]
        for r in results:
            h.update(np.asarray(r).tobytes())
    for r in neural(rng):
        h.update(np.asarray(r).tobytes())
    return h.hexdigest()


def neural(rng):
    """Of operations that are cut by how many threads there are, or whose threads each make something for themselves."""
    x, y = (nd.asarray(rng.random((4, 64, 28, 30), dtype="float32")) for _ in range(2))
    w, dense = (nd.asarray(rng.random(shape, dtype="float32")) for shape in ((64, 1, 3, 3), (48, 64, 3, 3)))
    yield nd.nn.conv2d(x, w, padding=1, groups=64)
    yield nd.nn.conv2d_weight(x, (64, 1, 3, 3), y, padding=1, groups=64)
    yield nd.nn.conv2d(x, dense, padding=1)
    for name in ("q4_0", "q8_0"):
        blocks = nd.quantize(nd.asarray(rng.random((5000, 512), dtype="float32")), name)
        for rows in (1, 3):
            yield nd.matmul_q(nd.asarray(rng.random((rows, 512), dtype="float32")), blocks)


def child():
    nd.set_default_device("cpu")
    exact(np.random.default_rng(3))
    print(digest(np.random.default_rng(4)))


def run(threads):
    env = {**os.environ, "NDOCK_NUM_THREADS": str(threads), "NDOCK_CPU_BLAS": "own"}
    out = subprocess.run([sys.executable, __file__, "--child"], env=env, capture_output=True, text=True)
    assert out.returncode == 0, out.stderr
    return out.stdout


def test_same_bits():
    one = run(1)
    for threads in (3, 5, 16):
        assert run(threads) == one, f"{threads} threads"


if __name__ == "__main__":
    child() if sys.argv[1:] == ["--child"] else main(globals())
