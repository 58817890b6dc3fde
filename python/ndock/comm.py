# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Collectives: arrays exchanged between the ranks of a communicator, each with a device, in this process or another.

world() is the communicator of the processes that were started together, by `ndock run -n N program`, by torchrun's variables, by
mpirun or srun (with plug-in mpi); local(devices) that of several devices of this process. All ranks make the same calls in the same
order, with arrays of one shape and dtype, of any strides, on their communicator's device.

A call is an operation of its stream, as any other; with async_op=True it runs on the communicator's own stream and returns a Work,
to be waited for before its arrays are used. A reduction has the same bits on every rank and in every run of the same ranks.

Errors of all of them: ValueError and TypeError for arrays that do not fit, and RuntimeError (ndock.CommError) that names rank and
call when another rank made another one, was lost, has left, or did not come within NDOCK_COMM_TIMEOUT milliseconds. The
communicator has failed then.

>>> world = nd.comm.world()
>>> world.rank, world.size
(0, 1)
>>> world.all_reduce(nd.asarray([1., 2.]))
array([1., 2.], dtype=float64, device='cpu:0')
"""
from __future__ import annotations

from . import _ndock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from ._types import Any, Array, Device, DeviceLike, Literal, Optional, Union

    Reduction = Literal["sum", "prod", "min", "max", "avg"]

__all__ = ["Communicator", "Work", "from_mpi4py", "init", "launched", "local", "unique_id", "world"]

_REDUCTIONS = {"sum": 0, "prod": 1, "min": 2, "max": 3, "avg": 4}
_ALL_REDUCE, _REDUCE, _BROADCAST, _ALL_GATHER, _REDUCE_SCATTER, _ALL_TO_ALL, _SEND, _RECV = range(8)


class Work:
    """An exchange on its communicator's own stream: what async_op=True returns.

    result is the array that it writes (None where there is none), which may be used after wait().

    >>> work = nd.comm.world().all_reduce(nd.ones(2), async_op=True)
    >>> work.wait()
    array([1., 1.], dtype=float64, device='cpu:0')
    """

    __slots__ = ("_work", "result")

    def __init__(self, work: object, result: Optional[Array]) -> None:
        self._work = work
        self.result = result

    def wait(self) -> Optional[Array]:
        """Lets later work on the device's current stream wait for it, and returns the result; the host does not wait."""
        _ndock._work_wait(self._work)
        return self.result

    def synchronize(self) -> Optional[Array]:
        """Waits until it is done, and returns the result; RuntimeError where it failed."""
        _ndock._work_synchronize(self._work)
        return self.result

    def query(self) -> bool:
        """Whether it is done; never waits."""
        return bool(_ndock._work_query(self._work))


class _Group:
    __slots__ = ("_comm",)

    def __init__(self, comm: object) -> None:
        self._comm = comm

    def __enter__(self) -> None:
        _ndock._comm_group_begin(self._comm)

    def __exit__(self, *unused: object) -> None:
        _ndock._comm_group_end(self._comm)


class Communicator:
    """One rank's part in a communicator; made by world(), local(), init(), from_mpi4py() and split().

    >>> comm = nd.comm.world()
    >>> comm
    Communicator(rank=0, size=1, device='cpu:0', transport='cpu')
    """

    __slots__ = ("_comm", "rank", "size", "device", "transport")
    rank: int
    size: int
    device: Device
    transport: str

    def __init__(self, comm: object) -> None:
        self._comm = comm
        self.rank, self.size, self.device, self.transport = _ndock._comm_facts(comm)

    def __repr__(self) -> str:
        return f"Communicator(rank={self.rank}, size={self.size}, device='{self.device}', transport='{self.transport}')"

    def _exchange(self, kind: int, x: Array, op: str = "sum", root: int = 0, out: Optional[Array] = None,
                  stream: Any = None, async_op: bool = False) -> Any:
        try:
            reduction = _REDUCTIONS[op]
        except (KeyError, TypeError):
            raise ValueError(f"op is one of {', '.join(_REDUCTIONS)}, not {op!r}") from None
        result, work = _ndock._comm_exchange(self._comm, kind, x, reduction, root, out, stream, async_op)
        if result is None and out is not None:
            result = out
        return Work(work, result) if async_op else result

    def all_reduce(self, x: Array, op: Reduction = "sum", *, out: Optional[Array] = None, stream: Any = None,
                   async_op: bool = False) -> Union[Array, Work]:
        """The reduction of x over all ranks, on each: an array like x, or out (which may be x itself).

        op: sum, prod, min, max, avg; of bool sum and max are or, prod and min are and, and there is no avg; complex has no min and
        max; integers wrap, and their avg is floor(sum / size).

        >>> nd.comm.world().all_reduce(nd.asarray([3, 5]), "max")
        array([3, 5], dtype=int64, device='cpu:0')
        """
        return self._exchange(_ALL_REDUCE, x, op, 0, out, stream, async_op)

    def reduce(self, x: Array, root: int = 0, op: Reduction = "sum", *, out: Optional[Array] = None, stream: Any = None,
               async_op: bool = False) -> Any:
        """The reduction of x at root, None elsewhere; op as for all_reduce."""
        return self._exchange(_REDUCE, x, op, root, out, stream, async_op)

    def broadcast(self, x: Array, root: int = 0, *, stream: Any = None, async_op: bool = False) -> Any:
        """x of the root is written to x of the others; returns x."""
        done = self._exchange(_BROADCAST, x, "sum", root, None, stream, async_op)
        if async_op:
            done.result = x
            return done
        return x

    def all_gather(self, x: Array, *, out: Optional[Array] = None, stream: Any = None, async_op: bool = False) -> Union[Array, Work]:
        """x of every rank along a new first axis, by rank: shape (size, *x.shape).

        >>> nd.comm.world().all_gather(nd.asarray([1, 2])).shape
        (1, 2)
        """
        return self._exchange(_ALL_GATHER, x, "sum", 0, out, stream, async_op)

    def reduce_scatter(self, x: Array, op: Reduction = "sum", *, out: Optional[Array] = None, stream: Any = None,
                       async_op: bool = False) -> Union[Array, Work]:
        """The reduction of the ranks' x[rank], of shape x.shape[1:]; the first extent of x is size. op as for all_reduce."""
        return self._exchange(_REDUCE_SCATTER, x, op, 0, out, stream, async_op)

    def all_to_all(self, x: Array, *, out: Optional[Array] = None, stream: Any = None, async_op: bool = False) -> Union[Array, Work]:
        """x[r] goes to rank r; the result's [r] is what rank r gave. The first extent of x is size; the result is like x."""
        return self._exchange(_ALL_TO_ALL, x, "sum", 0, out, stream, async_op)

    def send(self, x: Array, peer: int, *, stream: Any = None) -> None:
        """x goes to rank peer, which calls recv; several messages between two keep their order."""
        self._exchange(_SEND, x, "sum", peer, None, stream)

    def recv(self, x: Array, peer: int, *, stream: Any = None) -> Array:
        """What rank peer sends is written to x, which is returned."""
        self._exchange(_RECV, x, "sum", peer, None, stream)
        return x

    def group(self) -> _Group:
        """A context: calls inside it run at once when it ends, as a rank that sends and receives needs it.

        >>> comm, y = nd.comm.world(), nd.zeros(2)
        >>> with comm.group():
        ...     comm.send(nd.ones(2), 0)
        ...     _ = comm.recv(y, 0)
        >>> y
        array([1., 1.], dtype=float64, device='cpu:0')
        """
        return _Group(self._comm)

    def barrier(self) -> None:
        """Returns when every rank has called it."""
        _ndock._comm_barrier(self._comm)

    def split(self, color: int, key: int = 0) -> Optional[Communicator]:
        """The communicator of the ranks with the same color, in the order of key, then of rank; a color below 0 joins none (None)."""
        part = _ndock._comm_split(self._comm, color, key)
        return None if part is None else Communicator(part)

    def check(self) -> None:
        """RuntimeError with the reason where the communicator has failed; never waits."""
        _ndock._comm_status(self._comm)

    def abort(self) -> None:
        """The communicator fails, on this rank and on the others."""
        _ndock._comm_abort(self._comm)


_worlds: dict[str, Communicator] = {}


def world(device: Optional[DeviceLike] = None) -> Communicator:
    """The communicator of the processes that were started together, with the device (None: the current one) for this one: the same
    object whenever a device is asked for. One process alone is rank 0 of 1. Every process calls it, and waits for the others.

    >>> nd.comm.world("cpu").size
    1
    """
    name = str(_ndock.Device(device))
    if name not in _worlds:
        _worlds[name] = Communicator(_ndock._comm_world(name))
    return _worlds[name]


def local(devices: Sequence[DeviceLike]) -> list[Communicator]:
    """The communicator of several devices of this process (of one plug-in), as a list by rank. One thread may call for all ranks, if
    it waits for none before it has called all.

    >>> [comm.rank for comm in nd.comm.local(["cpu"])]
    [0]
    """
    return [Communicator(c) for c in _ndock._comm_local(tuple(devices))]


def launched() -> tuple[int, int, int]:
    """(rank, size, rank on this machine or -1) of this process among those that were started together, by the environment alone.

    >>> nd.comm.launched()
    (0, 1, 0)
    """
    rank, size, on_machine = _ndock._comm_launched()
    return rank, size, on_machine


def unique_id(device: Optional[DeviceLike] = None) -> bytes:
    """128 bytes that name a new communicator of devices like this one, which one rank makes and gives to the others for init().

    >>> len(nd.comm.unique_id())
    128
    """
    return bytes(_ndock._comm_unique_id(device))


def init(rank: int, size: int, id: bytes, device: Optional[DeviceLike] = None) -> Communicator:
    """Joins the communicator of that id as rank of size, with the device (None: the current one); waits for the others.

    >>> nd.comm.init(0, 1, nd.comm.unique_id()).size
    1
    """
    return Communicator(_ndock._comm_init(device, rank, size, id))


def from_mpi4py(comm: Any, device: Optional[DeviceLike] = None) -> Communicator:
    """A communicator of the ranks of one of mpi4py's, in the same order. MPI carries the name of it alone, by bcast: what exchanges
    arrays is the device's plug-in, for the CPU shared memory, so that the ranks are on one machine there.

    >>> class Alone:  # as mpi4py.MPI.COMM_SELF
    ...     def Get_rank(self): return 0
    ...     def Get_size(self): return 1
    ...     def bcast(self, value, root): return value
    >>> nd.comm.from_mpi4py(Alone()).size
    1
    """
    rank = comm.Get_rank()
    name = comm.bcast(unique_id(device) if rank == 0 else None, root=0)
    return init(rank, comm.Get_size(), name, device)
