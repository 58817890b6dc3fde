# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Dask computes on ndock's blocks what it computes on NumPy's, and the blocks stay ndock's, on NDOCK_DEVICE; blocks in workers of a
LocalCluster, more than its memory, of which some wait on disk."""
import os

import dask
import dask.array as da
import numpy as np
import pytest

import ndock as nd
import ndock.dask

DEVICE = os.environ.get("NDOCK_DEVICE", "cpu")
A = np.random.default_rng(0).random((8, 12))
B = np.random.default_rng(1).random((12, 5))
HOLES = np.where(A > 0.8, np.nan, A)
ndock.dask.register()



# What is computed of arrays x (8, 12), y (12, 5) and h, x with holes; wrap makes a Dask array of one of NumPy's.
CASES = {
    "sum": lambda x, y, h, wrap: x.sum(), "sum of an axis": lambda x, y, h, wrap: x.sum(axis=0),
    "mean": lambda x, y, h, wrap: x.mean(axis=1), "std": lambda x, y, h, wrap: x.std(), "var": lambda x, y, h, wrap: x.var(axis=0, ddof=1),
    "max": lambda x, y, h, wrap: x.max(axis=1), "min": lambda x, y, h, wrap: x.min(), "prod": lambda x, y, h, wrap: x.prod(axis=0),
    "argmax": lambda x, y, h, wrap: x.argmax(axis=1), "argmin": lambda x, y, h, wrap: x.argmin(axis=0),
    "any": lambda x, y, h, wrap: (x > 0.5).any(axis=0), "all": lambda x, y, h, wrap: (x > 0).all(),
    "matmul": lambda x, y, h, wrap: x @ y, "dot": lambda x, y, h, wrap: da.dot(x, y),
    "tensordot": lambda x, y, h, wrap: da.tensordot(x, y, axes=1), "einsum": lambda x, y, h, wrap: da.einsum("ij,jk->ik", x, y),
    "outer": lambda x, y, h, wrap: da.outer(x[0], x[1]), "rechunk": lambda x, y, h, wrap: x.rechunk((3, 7)),
    "transpose": lambda x, y, h, wrap: x.T, "map_blocks": lambda x, y, h, wrap: x.map_blocks(lambda v: v * 2),
    "elementwise": lambda x, y, h, wrap: da.sin(x) + x**2 / (1 + da.exp(-x)), "where": lambda x, y, h, wrap: da.where(x > 0.5, x, 0),
    "slice": lambda x, y, h, wrap: x[1:5, ::2], "list": lambda x, y, h, wrap: x[[3, 1, 5]], "mask": lambda x, y, h, wrap: x[x > 0.5],
    "assign": lambda x, y, h, wrap: assigned(x), "take": lambda x, y, h, wrap: da.take(x, [0, 2], axis=1),
    "concatenate": lambda x, y, h, wrap: da.concatenate([x, x], axis=0), "stack": lambda x, y, h, wrap: da.stack([x, x]),
    "reshape": lambda x, y, h, wrap: x.rechunk((8, 12)).reshape(4, 24), "ravel": lambda x, y, h, wrap: x.ravel(),
    "broadcast_to": lambda x, y, h, wrap: da.broadcast_to(x, (2, 8, 12)), "flip": lambda x, y, h, wrap: da.flip(x, 0),
    "roll": lambda x, y, h, wrap: da.roll(x, 2, axis=0), "pad": lambda x, y, h, wrap: da.pad(x, 1), "tril": lambda x, y, h, wrap: da.tril(x),
    "diff": lambda x, y, h, wrap: da.diff(x, axis=1), "cumsum": lambda x, y, h, wrap: x.cumsum(axis=0),
    "astype": lambda x, y, h, wrap: x.astype("f4"), "clip": lambda x, y, h, wrap: da.clip(x, 0.2, 0.5), "round": lambda x, y, h, wrap: x.round(),
    "overlap": lambda x, y, h, wrap: da.map_overlap(lambda v: v * 2, x, depth=1, boundary="reflect"),
    "topk": lambda x, y, h, wrap: da.topk(x, 3, axis=1), "median": lambda x, y, h, wrap: da.median(x, axis=0),
    "quantile": lambda x, y, h, wrap: da.quantile(x, 0.3, axis=1), "percentile": lambda x, y, h, wrap: da.percentile(x[0], [20, 50]),
    "unique": lambda x, y, h, wrap: da.unique((x * 3).astype("i8")), "bincount": lambda x, y, h, wrap: da.bincount((x[0] * 5).astype("i8"), minlength=6),
    "histogram": lambda x, y, h, wrap: da.histogram(x, bins=4, range=(0, 1))[0], "isin": lambda x, y, h, wrap: da.isin((x * 3).astype("i8"), [1, 2]),
    "nansum": lambda x, y, h, wrap: da.nansum(h), "nanmean": lambda x, y, h, wrap: da.nanmean(h, axis=0), "nanmax": lambda x, y, h, wrap: da.nanmax(h, axis=1),
    "cov": lambda x, y, h, wrap: da.cov(x), "norm": lambda x, y, h, wrap: da.linalg.norm(x),
    "svd": lambda x, y, h, wrap: da.linalg.svd(x.T.rechunk((6, 8)))[1], "qr": lambda x, y, h, wrap: abs(da.linalg.qr(x.T.rechunk((6, 8)))[1]),
    "fft": lambda x, y, h, wrap: da.fft.fft(x.rechunk((4, 12))), "ones_like": lambda x, y, h, wrap: da.ones_like(x) + x,
    "gufunc": lambda x, y, h, wrap: da.apply_gufunc(lambda v: v.sum(axis=-1), "(i)->()", x.rechunk((4, 12))),
    "reduction": lambda x, y, h, wrap: da.reduction(x, summed, summed, dtype="f8"),
    "searchsorted": lambda x, y, h, wrap: da.searchsorted(wrap(np.sort(A[0]), 4), x[1]), "isnan": lambda x, y, h, wrap: da.isnan(h),
}


def summed(v, axis, keepdims):
    return v.sum(axis=axis, keepdims=keepdims)


def assigned(x):
    x = x.copy()
    x[:2] = 7
    return x


def numpys(v, chunks):
    return da.from_array(v, chunks=chunks)


def ndocks(v, chunks):
    return da.from_array(nd.asarray(v, device=DEVICE), chunks=chunks, asarray=False)


@pytest.mark.parametrize("name", CASES)
def test_compute(name):
    if name in ("percentile", "isin") and DEVICE != "cpu":
        pytest.skip("Dask joins these with NumPy's arrays, which ndock leaves to the program for other devices than the host")
    want, got = (CASES[name](wrap(A, (3, 5)), wrap(B, (5, 2)), wrap(HOLES, (3, 5)), wrap) for wrap in (numpys, ndocks))
    with dask.config.set(scheduler="sync"):
        want, got = want.compute(), got.compute()
    if name != "percentile":  # which Dask joins on the host
        assert isinstance(got, (nd.Array, np.generic)), type(got)
    if isinstance(got, nd.Array):
        assert str(got.device).startswith(DEVICE)
        got = np.asarray(got.to_device("cpu"))
    assert got.shape == np.shape(want) and got.dtype == want.dtype
    assert np.allclose(got, want, equal_nan=True)


def test_threads():
    x = ndocks(A, (1, 3))
    got = ((x @ x.T).sum() + x.mean()).compute(scheduler="threads", num_workers=4)
    assert abs(float(got) - ((A @ A.T).sum() + A.mean())) < 1e-12


def test_tokens():
    x, y = nd.asarray(A, device=DEVICE), nd.asarray(A, device=DEVICE, copy=True)
    assert dask.base.tokenize(x) == dask.base.tokenize(y) == dask.base.tokenize(x)
    assert dask.base.tokenize(x) != dask.base.tokenize(y.T) and dask.base.tokenize(x) != dask.base.tokenize(y + 1)


def test_sizes():
    x = nd.zeros((1000, 10), device=DEVICE)
    assert dask.sizeof.sizeof(x) == 80000 and dask.sizeof.sizeof(nd.broadcast_to(x[0], (1000, 10))) == 80


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    distributed = pytest.importorskip("distributed")
    folder = str(tmp_path_factory.mktemp("spill"))
    with dask.config.set({"distributed.worker.memory.target": 0.1, "distributed.worker.memory.spill": False,
                          "distributed.worker.memory.pause": False, "distributed.worker.memory.terminate": False}):
        with distributed.LocalCluster(n_workers=1, threads_per_worker=1, memory_limit="1GB", dashboard_address=None, local_directory=folder) as cluster:
            with distributed.Client(cluster) as client:
                client.run(ndock.dask.register)
                yield client


def test_cluster(client):
    x = ndocks(A, (3, 5))
    got = client.compute(x @ x.T).result()
    assert isinstance(got, nd.Array) and np.allclose(np.asarray(got.to_device("cpu")), A @ A.T)


def test_spilled(client):
    """40 blocks of 8 MB where 100 MB may stay in memory."""
    blocks = client.persist(da.from_map(make_block, range(40)) if hasattr(da, "from_map") else da.concatenate(
        [da.from_delayed(dask.delayed(make_block)(i), (1, 1000000), dtype="f8", meta=nd.zeros((0, 0))) for i in range(40)]))
    from distributed import wait
    wait(blocks)
    on_disk = list(client.run(lambda dask_worker: len(dask_worker.data.disk)).values())[0]
    assert on_disk >= 20, on_disk
    sums = np.asarray(client.compute(blocks.sum(axis=1)).result().to_device("cpu"))
    assert sums.tolist() == [1000000 * i for i in range(40)]


def make_block(i):
    return nd.full((1, 1000000), float(i), device=os.environ.get("NDOCK_DEVICE", "cpu"))
