# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Two devices that reach each other's memory, and arrays and events shared with other processes of this machine.

>>> nd.peer.can_access("cpu", "cpu")
True
"""
from __future__ import annotations

from . import _ndock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._types import Any, Array, DeviceLike, Optional, Union

__all__ = ["Export", "can_access", "enable", "export", "is_alive", "open", "open_event"]


def can_access(device: Optional[DeviceLike], peer: Optional[DeviceLike]) -> bool:
    """Whether kernels of device may use the memory of peer, once that is switched on.

    False for devices of two plug-ins, and where a self-test has found that bytes do not arrive unharmed. Copies between devices
    need none of this.
    """
    return bool(_ndock._peer_can_access(device, peer))


def enable(device: Optional[DeviceLike], peer: Optional[DeviceLike]) -> None:
    """Switches it on, in this direction, for good; RuntimeError with the reason where it cannot be."""
    _ndock._peer_enable(device, peer)


class Export:
    """That an array is shared: what export() returns. handle is bytes, for another process, which opens them.

    The array's memory stays while this object lives and is not released, and then until the last process that opened it is done.
    """

    __slots__ = ("_export", "handle")
    handle: bytes
    _export: Any

    def __init__(self, x: Array) -> None:
        self.handle, self._export = _ndock._ipc_export(x)

    @property
    def used(self) -> bool:
        """Whether another process has the array now."""
        return self._export is not None and bool(_ndock._ipc_is_used(self._export))

    def release(self) -> None:
        """Nobody can open it any more."""
        self._export = None

    def __enter__(self) -> Export:
        return self

    def __exit__(self, *unused: object) -> None:
        self.release()


def export(x: Array) -> Export:
    """Names x, a view of any strides, for other processes of this machine and user.

    Work queued on x before comes before theirs; later work of either is for them to order, by a barrier for instance. NotImplementedError
    on devices that name no memory, and for memory that has no name: expandable segments and the driver's pool.
    """
    return Export(x)


def open(handle: Union[bytes, bytearray, memoryview]) -> Array:
    """The array that another process has exported: the same memory, shape, strides, dtype and device.

    RuntimeError where the export was released, its process has ended, or it was made by this process.
    """
    return _ndock._ipc_import(handle)


def is_alive(x: Array) -> bool:
    """Of an array that was opened: whether its export is still there; else its elements may be anything. True for others.

    >>> nd.peer.is_alive(nd.ones(2))
    True
    """
    return bool(_ndock._ipc_is_alive(x))


def open_event(handle: Union[bytes, bytearray, memoryview]) -> _ndock.Event:
    """The Event that another process of this machine has exported: Event(interprocess=True).export() there. Work that is queued after
    its wait() comes after the latest record that any process had made by then, which is told of by other means; both sides may
    record it. The exporting process keeps its Event until the others are done.

    handle: its 256 bytes. Errors: ValueError for bytes that are no handle, RuntimeError where the event is gone, or is this process's.
    """
    return _ndock._event_import(handle)
