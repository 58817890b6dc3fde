# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Devices, streams, and which of them are current."""
from __future__ import annotations

from . import _ndock
from ._ndock import Device, Event, Stream

TYPE_CHECKING = False
if TYPE_CHECKING:
    import os
    from types import TracebackType
    from typing import Any, Callable, Protocol, TypeVar, Union

    from ._ndock import Array

    class HasCudaStream(Protocol):
        def __cuda_stream__(self) -> tuple[int, int]: ...

    DeviceLike = Union[Device, str, None]
    StreamLike = Union[Stream, HasCudaStream]
    F = TypeVar("F", bound=Callable[..., Any])

__all__ = ["availability", "current_stream", "default_stream", "device", "devices", "fallback_stats",
           "get_default_device", "is_available", "load_plugin", "plugins", "record_stream", "record_use",
           "reset_fallback_stats", "set_default_device", "set_fallback", "set_stream", "stream", "synchronize"]

_AVAILABILITY = ("no", "likely", "yes")
_FALLBACKS = ("allow", "warn", "error")


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

    >>> with nd.stream(nd.Stream("cpu")) as s:
    ...      print(s == nd.current_stream("cpu"))
    True
    """

    def __init__(self, stream: StreamLike | None, /) -> None:
        self.stream = stream if stream is None else Stream.from_external(stream)

    def __enter__(self) -> Stream | None:
        return self.stream and self.stream.__enter__()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 where: TracebackType | None) -> None:
        if self.stream:
            self.stream.__exit__()


def devices(type: str | None = None) -> tuple[Device, ...]:
    """Every device of every usable plug-in (of one, "cuda" say), none of which is opened by that.

    type: a plug-in's name, or None for all.

    >>> nd.devices("cpu")
    (Device('cpu:0'),)
    """
    found: tuple[Device, ...] = _ndock._devices()
    return found if type is None else tuple(d for d in found if d.type == type)


def plugins() -> list[dict[str, Any]]:
    """What became of every candidate plug-in: dicts of path, name, version, state, reason, source, devices.

    state is "LOADED", or says what failed ("NO_DEVICE", "NO_LIBRARY", "OLD_DRIVER", "DLOPEN", "ABI" ...), and reason
    what was wrong and what to do. "ENTRY_POINT": the package that brings it could not say where it is.

    >>> any(p["name"] == "cpu" and p["state"] == "LOADED" for p in nd.plugins())
    True
    """
    from . import _plugins

    found: list[dict[str, Any]] = _ndock._plugin_reports()
    return found + _plugins.failures


def load_plugin(path: str | os.PathLike[str], /) -> None:
    """Load one plug-in by its path. ndock.PluginError says why it was refused. Loading it again is no error.

    >>> try:
    ...      nd.load_plugin("/nowhere/ndock-none.so")
    ... except nd.Error as e:
    ...      print("refused")
    refused
    """
    import os

    _ndock._load_plugin(os.path.abspath(os.fspath(path)))


def availability(name: str, *, probe: str = "count") -> str:
    """Whether the device can be used: "no", "likely" (its plug-in counts it), "yes" (it has been opened).

    probe "count" asks the plug-in without touching the driver, so that a process forked afterwards may use the device;
    "full" opens it to be sure. nd.plugins() says why there is none. ValueError for another probe.

    name: a device's, "cuda:0" say.

    >>> nd.availability("cpu")
    'yes'
    """
    if probe not in ("count", "full"):
        raise ValueError(f"probe is 'count' or 'full', not {probe!r}")
    return _AVAILABILITY[_ndock._available(str(name), probe == "full")]


def is_available(name: str = "cuda", *, probe: str = "count") -> bool:
    """Whether the device can be used, or likely so: availability(name, probe=probe) is not "no".

    >>> nd.is_available("cpu")
    True
    """
    return availability(name, probe=probe) != "no"


def get_default_device() -> Device:
    """The calling thread's current device, where arrays are made when no device is given: first NDOCK_DEVICE, or the
    best there is.

    >>> nd.get_default_device()
    Device('cpu:0')
    """
    return Device()


def set_default_device(device: DeviceLike, /) -> None:
    """Make the device the calling thread's current one; `with nd.device(...)` does so for a stretch.

    >>> nd.set_default_device("cpu")
    """
    _ndock._set_current_device(device)


def fallback_stats() -> dict[str, int]:
    """What devices left to the CPU since the start, or the reset: staged_calls, staged_bytes (copied to and fro);
    derived_calls were computed by other operations of the device.

    >>> sorted(nd.fallback_stats())
    ['derived_calls', 'staged_bytes', 'staged_calls']
    """
    stats: dict[str, int] = _ndock._fallback_stats()
    return stats


def reset_fallback_stats() -> None:
    """Count from 0 again.

    >>> nd.reset_fallback_stats()
    >>> nd.fallback_stats()["staged_calls"]
    0
    """
    _ndock._fallback_reset()


def set_fallback(policy: str, /) -> None:
    """What an operation that a device lacks does, in the whole process: "allow" and "warn" let the CPU compute it on
    copies, "error" raises NotImplementedError. First NDOCK_FALLBACK, or "warn". ValueError for another policy.

    >>> nd.set_fallback("warn")
    """
    if policy not in _FALLBACKS:
        raise ValueError(f"a fallback policy is one of {', '.join(_FALLBACKS)}, not {policy!r}")
    _ndock._fallback_set(_FALLBACKS.index(policy))


def current_stream(device: DeviceLike = None) -> Stream:
    """The calling thread's current stream of the device (None: the current one).

    >>> nd.current_stream("cpu") == nd.default_stream("cpu")
    True
    """
    return Stream.current(device)


def default_stream(device: DeviceLike = None) -> Stream:
    """The stream of the device on which work runs when nobody says otherwise.

    >>> nd.default_stream("cpu").device
    Device('cpu:0')
    """
    return Stream.default(device)


def set_stream(stream: StreamLike, /) -> None:
    """Queue the calling thread's work on the stream's device there from now on; `with nd.stream(s)` is for a stretch.

    >>> nd.set_stream(nd.default_stream("cpu"))
    """
    Stream.from_external(stream).set_current()


def synchronize(device: DeviceLike = None) -> None:
    """Wait until all work queued on the device is done, on every stream, foreign ones included.

    The GIL is released meanwhile, and Ctrl-C ends the wait, not the work. Raises what queued work failed with.

    >>> nd.synchronize()
    """
    _ndock._synchronize(device)


def record_stream(x: Array, stream: StreamLike, /) -> None:
    """Say that the array's memory is also used on the stream (by work that ndock does not queue): once freed, it is not
    used again before the work queued there at that time is done. ValueError for memory of somebody else.

    >>> x = nd.ones(2, device="cpu")
    >>> nd.record_stream(x, nd.default_stream("cpu"))
    """
    _ndock._record(x, stream, False)


def record_use(x: Array, stream: StreamLike, /) -> None:
    """The same for the work queued on the stream until now, exactly: whoever uses the memory next waits for that.

    >>> x = nd.ones(2, device="cpu")
    >>> nd.record_use(x, nd.default_stream("cpu"))
    """
    _ndock._record(x, stream, True)
