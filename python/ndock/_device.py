# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Devices, streams, and which of them are current."""
from __future__ import annotations

from . import _ndock
from ._ndock import Device, Event, Stream

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import TracebackType
    from typing import Any, Callable, Protocol, TypeVar, Union

    from ._ndock import Array

    class HasCudaStream(Protocol):
        def __cuda_stream__(self) -> tuple[int, int]: ...

    DeviceLike = Union[Device, str, None]
    StreamLike = Union[Stream, HasCudaStream]
    F = TypeVar("F", bound=Callable[..., Any])

__all__ = ["current_stream", "default_stream", "device", "record_stream", "record_use", "set_stream", "stream",
           "synchronize"]


class _Guard:
    """A stretch of code with something current, as a context manager and as a decorator; may be entered again."""

    def __call__(self, function: F) -> F:
        """The function with every call of it inside the guard."""
        import functools

        @functools.wraps(function)
        def inside(*args: Any, **kwargs: Any) -> Any:
            with self:  # type: ignore[attr-defined]
                return function(*args, **kwargs)
        return inside  # type: ignore[return-value]


class device(_Guard):
    """device(name): a context manager, or a decorator, in which that device is current: new arrays are made there.

    name: "cuda:1", a Device, or None for no change. The device is opened at once. Guards nest, are of the calling
    thread alone, and end in the reverse order. `as` gives the Device.

    >>> with nd.device("cpu:0") as d:
    ...     nd.zeros(3).device == d
    True
    """

    def __init__(self, device: DeviceLike = None, /) -> None:
        self.device = Device(device)

    def __enter__(self) -> Device:
        return self.device.__enter__()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 where: TracebackType | None) -> None:
        self.device.__exit__()


class stream(_Guard):
    """stream(s): a context manager, or a decorator, in which the stream and its device are current.

    s: a Stream, another library's stream with `__cuda_stream__` (kept alive), or None for no change. `as` gives the
    Stream, or None.
    """

    def __init__(self, stream: StreamLike | None, /) -> None:
        self.stream = stream if stream is None else Stream.from_external(stream)

    def __enter__(self) -> Stream | None:
        return self.stream and self.stream.__enter__()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 where: TracebackType | None) -> None:
        if self.stream:
            self.stream.__exit__()


def current_stream(device: DeviceLike = None) -> Stream:
    """The calling thread's current stream of the device (None: the current one)."""
    return Stream.current(device)


def default_stream(device: DeviceLike = None) -> Stream:
    """The stream of the device on which work runs when nobody says otherwise."""
    return Stream.default(device)


def set_stream(stream: StreamLike, /) -> None:
    """Queue the calling thread's work on the stream's device there from now on; `with nd.stream(s)` is for a stretch."""
    Stream.from_external(stream).set_current()


def synchronize(device: DeviceLike = None) -> None:
    """Wait until all work queued on the device is done, on every stream, foreign ones included.

    The GIL is released meanwhile, and Ctrl-C ends the wait, not the work. Raises what queued work failed with."""
    _ndock._synchronize(device)


def record_stream(x: Array, stream: StreamLike, /) -> None:
    """Say that the array's memory is also used on the stream (by work that ndock does not queue): once freed, it is not
    used again before the work queued there at that time is done. ValueError for memory of somebody else."""
    _ndock._record(x, stream, False)


def record_use(x: Array, stream: StreamLike, /) -> None:
    """The same for the work queued on the stream until now, exactly: whoever uses the memory next waits for that."""
    _ndock._record(x, stream, True)
