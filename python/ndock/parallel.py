# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Data parallel training: every rank has all parameters and a part of each batch, and gradients are averaged over the ranks.

Gradients go in buckets, of which the first is that of the last gradients, since backward passes make these first: each is on its way
while the next is put together. The same ranks have the same bits in every run, and every rank has the same parameters."""
from __future__ import annotations

from ._manipulation import concat
from ._manipulation import reshape

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._types import Any, Array, Sequence
    from .comm import Communicator

__all__ = ["all_reduce_gradients", "replicate", "shard"]

BUCKET_BYTES = 25 << 20


def replicate(comm: Communicator, params: Sequence[Array], root: int = 0) -> list[Array]:
    """Parameters of the root are written to those of every other rank; returns them as a list.

    >>> w = nd.ones(3)
    >>> nd.parallel.replicate(nd.comm.world(), [w])
    [array([1., 1., 1.], dtype=float64, device='cpu:0')]
    """
    return [comm.broadcast(p, root) for p in params]


def shard(comm: Communicator, x: Array) -> Array:
    """This rank's part of a batch along its first axis: a view of rows rank*n//size to (rank+1)*n//size.

    >>> nd.parallel.shard(nd.comm.world(), nd.arange(4))
    array([0, 1, 2, 3], dtype=int64, device='cpu:0')
    """
    n = x.shape[0]
    return x[comm.rank * n // comm.size:(comm.rank + 1) * n // comm.size]


def _buckets(grads: Sequence[Array], most: int) -> list[list[int]]:
    """Positions of gradients of one dtype, from the last on, as many as fit into a bucket."""
    buckets: list[list[int]] = []
    nbytes = 0
    for i in range(len(grads) - 1, -1, -1):
        size = grads[i].size * grads[i].dtype.itemsize
        if not buckets or nbytes + size > most or grads[buckets[-1][0]].dtype != grads[i].dtype:
            buckets.append([])
            nbytes = 0
        buckets[-1].append(i)
        nbytes += size
    return buckets


def all_reduce_gradients(comm: Communicator, grads: Sequence[Array], op: str = "avg", *,
                         bucket_bytes: int = BUCKET_BYTES) -> list[Array]:
    """The gradients reduced over all ranks (op as for Communicator.all_reduce), in new arrays of their shapes and dtypes.

    bucket_bytes: gradients of one dtype that together have no more are one exchange. ValueError below 1.

    >>> nd.parallel.all_reduce_gradients(nd.comm.world(), [nd.ones((1, 2)), nd.zeros(1)])
    [array([[1., 1.]], dtype=float64, device='cpu:0'), array([0.], dtype=float64, device='cpu:0')]
    """
    if bucket_bytes < 1:
        raise ValueError(f"bucket_bytes is at least 1, not {bucket_bytes}")
    results: list[Any] = [None] * len(grads)
    under_way = []
    for bucket in _buckets(grads, bucket_bytes):
        flat = concat([reshape(grads[i], (-1,)) for i in bucket])
        under_way.append((bucket, flat, comm.all_reduce(flat, op, out=flat, async_op=True)))  # type: ignore[arg-type]
    for bucket, flat, work in under_way:
        work.wait()  # type: ignore[union-attr]
        at = 0
        for i in bucket:
            results[i] = reshape(flat[at:at + grads[i].size], grads[i].shape)
            at += grads[i].size
    return results
