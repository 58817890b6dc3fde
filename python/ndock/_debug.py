# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What waits and who, labels for faults and traces, and the checks of order between streams."""
from __future__ import annotations

from . import _ndock
from ._device import _Guard
from ._ndock import Stream

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import TracebackType
    from typing import Any, Iterable

    from ._device import StreamLike

__all__ = ["backward_guard", "fault_window", "hazard_mode", "launch_blocking", "reset_sync_counts", "set_hazard_mode",
           "set_launch_blocking", "set_stream_check", "set_sync_watch", "stream_check_report", "sync_counts",
           "sync_watch", "tag"]

_WATCH = ("off", "count", "warn", "error")


def _watch_number(mode: str) -> int:
    if mode not in _WATCH:
        raise ValueError(f"a mode of the sync watch is one of {', '.join(_WATCH)}, not {mode!r}")
    return _WATCH.index(mode)


class sync_watch(_Guard):
    """sync_watch(mode): a context manager, or a decorator, that watches the calling thread's waits for devices.

    "count" counts them (sync_counts()), "warn" logs each as well, "error" raises ndock.StateError before anything
    waits, "off" allows them again within another. ValueError for another mode.

    >>> with nd.sync_watch("error"):
    ...      x = nd.ones(2, device="cpu") + 1
    """

    def __init__(self, mode: str = "error", /) -> None:
        self._mode = _watch_number(mode)

    def __enter__(self) -> sync_watch:
        _ndock._watch_push(self._mode)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 where: TracebackType | None) -> None:
        _ndock._watch_pop()


def set_sync_watch(mode: str, /) -> None:
    """The mode of the calling thread's sync watch from now on; `with nd.sync_watch(...)` is for a stretch.

    >>> nd.set_sync_watch("off")
    """
    _ndock._watch_set(_watch_number(mode))


def sync_counts() -> dict[str, int]:
    """How often the calling thread waited since the last reset, by reason: "item", "copy", "synchronize" ...

    >>> sum(nd.sync_counts().values()) >= 0
    True
    """
    counts: dict[str, int] = _ndock._watch_counts()
    return counts


def reset_sync_counts() -> None:
    """Count from 0 again.

    >>> nd.reset_sync_counts()
    """
    _ndock._watch_reset()


class tag(_Guard):
    """tag(text): a context manager, or a decorator, whose operations carry the label (its first 63 bytes) in fault
    reports, memory traces and the stream check. Tags nest; the innermost counts.

    >>> with nd.tag("forward"):
    ...      x = nd.ones(2) + 1
    """

    def __init__(self, text: str, /) -> None:
        self._text = text

    def __enter__(self) -> tag:
        _ndock._tag_push(self._text)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 where: TracebackType | None) -> None:
        _ndock._tag_pop()


def fault_window() -> list[dict[str, Any]]:
    """The suspects of the calling thread's latest fault of queued work, oldest first: dicts of sequence, name, tag,
    dtype, ndim and shape (of the first result, its four leading extents; None where there is none).

    >>> nd.fault_window()
    []
    """
    window: list[dict[str, Any]] = _ndock._fault_window()
    return window


def set_launch_blocking(on: bool, /) -> None:
    """Whether every operation waits for its end, so that a fault is raised by the call that caused it; first
    NDOCK_LAUNCH_BLOCKING, or CUDA_LAUNCH_BLOCKING.

    on: True or False.

    >>> nd.set_launch_blocking(nd.launch_blocking())
    """
    _ndock._launch_blocking_set(on)


def launch_blocking() -> bool:
    """Whether every operation waits for its end.

    >>> nd.launch_blocking()
    False
    """
    blocking: bool = _ndock._launch_blocking()
    return blocking


def set_hazard_mode(on: bool, /) -> None:
    """Whether arrays remember who used them last, so that operations on other streams wait by themselves.

    >>> nd.set_hazard_mode(nd.hazard_mode())
    """
    _ndock._hazard_mode_set(on)


def hazard_mode() -> bool:
    """Whether the hazard mode is on.

    >>> nd.hazard_mode()
    False
    """
    on: bool = _ndock._hazard_mode()
    return on


def set_stream_check(on: bool, /) -> None:
    """Whether every access to device memory is compared with earlier ones on other streams (slow); two that nothing
    orders are a race, which is logged and kept for the report. First NDOCK_STREAM_CHECK. Imported memory is compared with the
    array that it is a part of if the check was on when it was imported.

    >>> nd.set_stream_check(False)
    """
    _ndock._stream_check_set(on)


def stream_check_report() -> list[str]:
    """The races found since the last report, one text each, with both operations and their tags.

    >>> nd.stream_check_report()
    []
    """
    text: str = _ndock._stream_check_report()
    return text.splitlines()


class backward_guard(_Guard):
    """backward_guard(streams): around a tape's backward pass, whose nodes run on their forward streams (nd.stream): at
    entry each of them waits for the caller's current stream, at exit the other way round; the host never waits.

    >>> with nd.backward_guard([nd.default_stream("cpu")]):
    ...      x = nd.ones(2)
    """

    def __init__(self, streams: Iterable[StreamLike], /) -> None:
        self._streams = tuple(Stream.from_external(s) for s in streams)

    def __enter__(self) -> backward_guard:
        _ndock._backward(self._streams, True)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 where: TracebackType | None) -> None:
        _ndock._backward(self._streams, False)
