# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What Dask asks about blocks by their class: register() answers for Arrays, in every process that computes with them.

    import dask.array, ndock as nd, ndock.dask
    ndock.dask.register()                            # LocalCluster: client.run(ndock.dask.register); or `dask worker --preload ndock.dask`
    x = dask.array.from_array(nd.ones((1000, 1000), device="cuda:0"), chunks=250, asarray=False)
    x.mean(axis=0).compute()                         # an Array on cuda:0

All else goes by NumPy's protocols (numpy.stack of Arrays is nd.stack): blocks stay on their device. Needs Dask 2024 or later and NumPy
2.4 or later, which is the first to take other libraries' dtypes for its own."""
from __future__ import annotations

from ._ndock import Array

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._types import Any

__all__ = ["dask_setup", "register"]


def _sizeof(x: Array) -> int:
    """Bytes for Dask's limits of memory: of the elements, repeated ones once."""
    n = x.dtype.itemsize
    for extent, stride in zip(x.shape, x.strides):
        n *= extent if stride else min(extent, 1)
    return int(n)


def _token(x: Array) -> Any:
    host = x.to_device("cpu")
    data: Any = host.copy()
    from hashlib import sha256
    return "ndock.Array", x.dtype.name, x.shape, str(x.device), sha256(memoryview(data).cast("B") if host.size else b"").hexdigest()


def _to_numpy(x: Array, **unused: Any) -> Any:
    import numpy
    return numpy.asarray(x.to_device("cpu"))


def _percentile(x: Array, q: Any, method: str = "linear") -> Any:
    """Percentiles of one block, and how many elements it has; Dask joins those of all blocks on the host."""
    import numpy
    n = x.shape[0]
    if not n:
        return None, n
    import ndock
    own = ndock.asarray([float(v) for v in numpy.atleast_1d(q)], device=x.device, dtype=x.dtype if x.dtype.kind == "f" else ndock.float64)
    return _to_numpy(ndock.percentile(x, own, method=method)), n


def _take(x: Array, indices: Any, axis: Any = None) -> Array:
    """Elements at positions that Dask has found on the host."""
    import ndock
    own = indices if isinstance(indices, Array) else ndock.asarray(indices, device=x.device)
    return ndock.take(x if axis is not None else x.reshape((-1,)), own, axis=axis or 0)


def register() -> None:
    """Registers Array with Dask: sizes for its limits of memory and spilling, tokens, counts of elements that stay on the device,
    percentiles, and how blocks become NumPy's. Calling it again changes nothing.

    Errors: ImportError without Dask.
    """
    from dask.array import backends  # type: ignore[import-not-found,import-untyped,unused-ignore]
    from dask.array.dispatch import nannumel_lookup, numel_lookup, percentile_lookup, take_lookup, to_numpy_dispatch  # type: ignore[import-not-found,import-untyped,unused-ignore]
    from dask.base import normalize_token  # type: ignore[import-not-found,import-untyped,unused-ignore]
    from dask.sizeof import sizeof  # type: ignore[import-not-found,import-untyped,unused-ignore]
    sizeof.register(Array, _sizeof)
    normalize_token.register(Array, _token)
    to_numpy_dispatch.register(Array, _to_numpy)
    percentile_lookup.register(Array, _percentile)
    take_lookup.register(Array, _take)
    numel_lookup.register(Array, backends._numel_arraylike)
    nannumel_lookup.register(Array, backends._nannumel)


def dask_setup(worker: Any) -> None:
    """What Dask calls in a worker started with `--preload ndock.dask`: register()."""
    register()
