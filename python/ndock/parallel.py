# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Data parallel training: every rank has all parameters and a part of each batch, and gradients are averaged over the ranks.

Gradients go in buckets, of which the first is that of the last gradients, since backward passes make these first: each is on its way
while the next ones are computed (Buckets), or put together (all_reduce_gradients). The same ranks have the same bits in every run, and
every rank has the same parameters."""
from __future__ import annotations

from . import _ndock
from ._dtypes import isdtype
from ._manipulation import concat
from ._manipulation import reshape

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._types import Any, Array, Iterator, Sequence
    from .comm import Communicator

__all__ = ["Buckets", "all_reduce_gradients", "replicate", "shard"]

BUCKET_BYTES = 25 << 20
FIRST_BYTES = 1 << 20  # as PyTorch has them


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


class Buckets:
    """Gradients on their way: Buckets(comm, op="avg", *, bucket_bytes=25 MiB, first_bytes=1 MiB).

    add() takes each gradient as the backward pass makes it; as soon as a bucket is full its exchange begins, on the communicator's
    own stream beside what follows, so that it hides behind computing. The first bucket is smaller, to begin sooner. wait() begins
    that of the last one, and returns the results; results() those as they come. op: as for Communicator.all_reduce. Every rank adds
    the same shapes and dtypes in the same order. Errors: ValueError for sizes below 1.

    >>> buckets = nd.parallel.Buckets(nd.comm.world())
    >>> buckets.add(nd.zeros(1))  # the gradient of the last layer comes first
    >>> buckets.add(nd.ones((1, 2)))
    >>> buckets.wait()
    [array([0.], dtype=float64, device='cpu:0'), array([[1., 1.]], dtype=float64, device='cpu:0')]
    """

    __slots__ = ("_comm", "_op", "_most", "_now", "_open", "_nbytes", "_under_way")

    def __init__(self, comm: Communicator, op: str = "avg", *, bucket_bytes: int = BUCKET_BYTES, first_bytes: int = FIRST_BYTES) -> None:
        for name, value in (("bucket_bytes", bucket_bytes), ("first_bytes", first_bytes)):
            if value < 1:
                raise ValueError(f"{name} is at least 1, not {value}")
        self._comm, self._op = comm, op
        self._most, self._now = bucket_bytes, min(first_bytes, bucket_bytes)
        self._open: list[Array] = []
        self._nbytes = 0
        self._under_way: list[Any] = []

    def _divides(self, dtype: Any) -> bool:
        """Whether gradients are divided before they are summed: NCCL does so too for an average, but in the few blocks that exchange."""
        return self._op == "avg" and self._comm.transport == "cuda" and isdtype(dtype, ("real floating", "complex floating"))

    def _begin(self) -> None:
        parts = [reshape(g, (-1,)) for g in self._open]
        flat, op = parts[0] if len(parts) == 1 else concat(parts), self._op
        if self._divides(flat.dtype):
            flat, op = _ndock.multiply(flat, 1 / self._comm.size, out=None if len(parts) == 1 else flat), "sum"
        if flat is parts[0]:  # is its own bucket; the gradient stays as it is
            work: Any = self._comm.all_reduce(flat, op, async_op=True)  # type: ignore[arg-type]
        else:
            work = self._comm.all_reduce(flat, op, out=flat, async_op=True)  # type: ignore[arg-type]
        self._under_way.append((work, [(g.size, g.shape) for g in self._open], parts))
        self._open, self._nbytes, self._now = [], 0, self._most

    def add(self, gradient: Array) -> None:
        """The next gradient, which is not to be changed before wait() has returned. With it full, a bucket's exchange begins."""
        nbytes = gradient.size * gradient.dtype.itemsize
        if self._open and (self._nbytes + nbytes > self._now or self._open[0].dtype != gradient.dtype):
            self._begin()
        self._open.append(gradient)
        self._nbytes += nbytes
        if self._nbytes >= self._now:
            self._begin()

    def results(self) -> Iterator[Array]:
        """The gradients reduced over all ranks, one after the other in the order in which they were added, in new arrays; the Buckets
        are empty again. Begins the exchange of the last bucket. What the caller's stream does with a gradient waits for the exchange of
        its bucket alone, so that the first ones are used while the last are on their way; the host does not wait.

        >>> buckets = nd.parallel.Buckets(nd.comm.world())
        >>> buckets.add(nd.ones(2))
        >>> [g.tolist() for g in buckets.results()]
        [[1.0, 1.0]]
        """
        if self._open:
            self._begin()
        under_way, self._under_way = self._under_way, []
        return _take(under_way)

    def wait(self) -> list[Array]:
        """As results(), in a list: what follows waits for all of them."""
        return list(self.results())


def _take(under_way: list[Any]) -> Iterator[Array]:
    for work, shapes, _ in under_way:
        flat, at = work.wait(), 0
        for size, shape in shapes:
            yield reshape(flat[at:at + size], shape)
            at += size


def all_reduce_gradients(comm: Communicator, grads: Sequence[Array], op: str = "avg", *,
                         bucket_bytes: int = BUCKET_BYTES) -> list[Array]:
    """The gradients reduced over all ranks (op as for Communicator.all_reduce), in new arrays of their shapes and dtypes.

    bucket_bytes: gradients of one dtype that together have no more are one exchange. ValueError below 1.

    >>> nd.parallel.all_reduce_gradients(nd.comm.world(), [nd.ones((1, 2)), nd.zeros(1)])
    [array([[1., 1.]], dtype=float64, device='cpu:0'), array([0.], dtype=float64, device='cpu:0')]
    """
    buckets = Buckets(comm, op, bucket_bytes=bucket_bytes)
    for gradient in reversed(grads):
        buckets.add(gradient)
    return buckets.wait()[::-1]
