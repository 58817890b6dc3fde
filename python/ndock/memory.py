# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Device memory: the caching allocator's statistics, settings, pools, snapshots and replacement; pinned host memory.

Every device of every plug-in shares one allocator, which keeps freed memory for the next allocation. Sizes are bytes;
device None is the current one, unless a function says otherwise. Any thread may call anything here."""
from __future__ import annotations

from . import _ndock
from ._ndock import _Allocator as Allocator
from ._ndock import _Pool as Pool

TYPE_CHECKING = False
if TYPE_CHECKING:
    import os
    from types import TracebackType
    from typing import Any, Callable

    from ._device import DeviceLike, StreamLike
    from ._ndock import Array, Device

__all__ = ["Allocator", "Pool", "allocated", "configuration", "configure", "copy_to", "debug_report", "empty_cache",
           "empty_host_cache", "empty_pinned", "host_register", "is_pinned", "memory_summary", "on_failure", "peak_allocated",
           "peak_reserved", "reserved", "reset_accumulated", "reset_peak", "save_snapshot", "set_allocator", "set_cap",
           "set_pinned_cap", "snapshot", "stats", "trace", "trace_note", "usage"]


def _flat(prefix: str, value: Any, out: dict[str, int]) -> None:
    if isinstance(value, dict):
        for key, inner in value.items():
            _flat(f"{prefix}.{key}" if prefix else key, inner, out)
    else:
        out[prefix] = value


def stats(device: DeviceLike = None, *, nested: bool = False) -> dict[str, Any]:
    """The statistics, under the names of torch.cuda.memory_stats: "allocated_bytes.all.current" and so on.

    {allocation, allocated_bytes, requested_bytes, segment, reserved_bytes, active, active_bytes, inactive_split,
    inactive_split_bytes} x {all, small_pool, large_pool} x {current, peak, allocated, freed}; oversize_allocations,
    oversize_segments, workspace_bytes, pinned_bytes, pinned_blocks and pinned_owned_bytes x the latter four; counts
    (num_alloc_retries, num_ooms, num_device_alloc ...); host_alloc_us, host_free_us in microseconds. nested: the same
    as dicts of dicts.

    device: a Device or its name; None is the current one.

    >>> nd.memory.stats("cpu")["num_ooms"]
    0
    """
    found: dict[str, Any] = _ndock._memory_stats(device)
    if nested:
        return found
    flat: dict[str, int] = {}
    _flat("", found, flat)
    return flat


def memory_summary(device: DeviceLike = None) -> str:
    """The statistics as a table for people, after torch.cuda.memory_summary: current, peak, allocated and freed of each.

    device: a Device or its name; None is the current one.

    >>> print(nd.memory.memory_summary("cpu").splitlines()[0])
    | ndock memory of cpu:0                                                            |
    """
    found, name = stats(device), str(_ndock.Device(device))
    lines = [f"| {'ndock memory of ' + name:<80} |", f"| {'':<28}{'current':>13}{'peak':>13}{'allocated':>13}{'freed':>13} |"]
    for what in ("allocated_bytes", "reserved_bytes", "active_bytes", "inactive_split_bytes", "requested_bytes", "allocation",
                 "segment", "active", "inactive_split"):
        for pool in ("all", "large_pool", "small_pool"):
            values = [found[f"{what}.{pool}.{kind}"] for kind in ("current", "peak", "allocated", "freed")]
            label = what if pool == "all" else f"    {pool.partition('_')[0]} pool"
            lines.append(f"| {label:<28}" + "".join(f"{_amount(v, what):>13}" for v in values) + " |")
    lines += [f"| {count:<28}{found[count]:>13}{'':>39} |" for count in ("num_alloc_retries", "num_ooms")]
    return "\n".join(lines) + "\n"


def _amount(value: int, what: str) -> str:
    if not what.endswith("bytes"):
        return str(value)
    unit = 0
    while value >= 10000 and unit < 4:
        value, unit = value >> 10, unit + 1
    return f"{value} {('B', 'KiB', 'MiB', 'GiB', 'TiB')[unit]}"


def allocated(device: DeviceLike = None) -> int:
    """Bytes of live blocks.

    device: a Device or its name; None is the current one.

    >>> nd.memory.allocated("cpu") >= 0
    True
    """
    return int(stats(device)["allocated_bytes.all.current"])


def peak_allocated(device: DeviceLike = None) -> int:
    """The most bytes of live blocks since the start, or the last reset_peak.

    device: a Device or its name; None is the current one.

    >>> nd.memory.peak_allocated("cpu") >= nd.memory.allocated("cpu")
    True
    """
    return int(stats(device)["allocated_bytes.all.peak"])


def reserved(device: DeviceLike = None) -> int:
    """Bytes taken from the device, whether in use or kept for later.

    >>> nd.memory.reserved("cpu") >= 0
    True
    """
    return int(stats(device)["reserved_bytes.all.current"])


def peak_reserved(device: DeviceLike = None) -> int:
    """The most bytes taken from the device since the start, or the last reset_peak.

    >>> nd.memory.peak_reserved("cpu") >= nd.memory.reserved("cpu")
    True
    """
    return int(stats(device)["reserved_bytes.all.peak"])


def reset_peak(device: DeviceLike = None) -> None:
    """Every "peak" begins again at "current".

    device: a Device or its name; None is the current one.

    >>> nd.memory.reset_peak("cpu")
    >>> nd.memory.peak_allocated("cpu") == nd.memory.allocated("cpu")
    True
    """
    _ndock._memory_reset_peak(device)


def reset_accumulated(device: DeviceLike = None) -> None:
    """Every "allocated" and "freed", and the counts, begin again at 0.

    device: a Device or its name; None is the current one.

    >>> nd.memory.reset_accumulated("cpu")
    >>> nd.memory.stats("cpu")["num_ooms"]
    0
    """
    _ndock._memory_reset_accumulated(device)


def usage(device: DeviceLike = None) -> tuple[int, int]:
    """(free, total) bytes as the device itself reports them; (0, 0) where it does not.

    >>> len(nd.memory.usage("cpu"))
    2
    """
    both: tuple[int, int] = _ndock._memory_usage(device)
    return both


def empty_cache(device: DeviceLike = None) -> None:
    """Give unused memory back to the device. Waits for nothing; what a stream may still use stays.

    >>> nd.memory.empty_cache("cpu")
    """
    _ndock._memory_empty_cache(device)


def empty_host_cache(device: DeviceLike = None) -> None:
    """The same for pinned host memory.

    device: a Device or its name; None is the current one.

    >>> nd.memory.empty_host_cache("cpu")
    """
    _ndock._memory_empty_host_cache(device)


def set_cap(nbytes: int | None = None, *, fraction: float | None = None, device: DeviceLike = None) -> None:
    """At most so many bytes (0: no cap), or that fraction of the device's memory, are taken from the device; more is a
    MemoryError without asking it. ValueError unless exactly one is given.

    nbytes: the cap.

    >>> nd.memory.set_cap(0, device="cpu")
    """
    if (nbytes is None) == (fraction is None):
        raise ValueError("give either a number of bytes or a fraction")
    _ndock._memory_cap(device, nbytes, fraction)


def set_pinned_cap(nbytes: int, *, device: DeviceLike = None) -> None:
    """At most so many bytes of host memory are page-locked; 0: half of the machine's, or the memlock limit.

    nbytes: the cap.

    >>> nd.memory.set_pinned_cap(0, device="cpu")
    """
    _ndock._pinned_cap(device, nbytes)


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def configure(text: str = "", /, **settings: Any) -> None:
    """Allocator settings for all devices, as in NDOCK_ALLOC_CONF ("key:value,key:[a,b]") or by name, such as
    configure(max_split_size_mb=128). ValueError lists the keys; nothing changes then. Those not named keep their
    value; include/ndock/memory.h says what each means.

    text: settings as one string.

    >>> nd.memory.configure(max_split_size_mb="none")
    """
    parts = [text] if text else []
    _ndock._memory_conf_set(",".join(parts + [f"{key}:{_text(value)}" for key, value in settings.items()]))


def configuration() -> dict[str, str]:
    """The settings that count, as texts by key: configure(**configuration()) changes nothing.

    >>> nd.memory.configuration()["backend"]
    'caching'
    """
    text, depth, start, items = _ndock._memory_conf_get() + ",", 0, 0, {}
    for i, letter in enumerate(text):
        depth += (letter == "[") - (letter == "]")
        if letter == "," and depth == 0:
            key, _, value = text[start:i].partition(":")
            if key:
                items[key] = value
            start = i + 1
    return items


def set_allocator(allocator: Allocator | str, *, device: DeviceLike = None) -> None:
    """New arrays of the device come from it ("caching", "none", "debug", "async", or an Allocator) from now on; each
    older one goes back to whoever made it.

    allocator: an Allocator or a name.

    >>> nd.memory.set_allocator("caching", device="cpu")
    """
    _ndock._allocator_set(device, Allocator(allocator) if isinstance(allocator, str) else allocator)


def debug_report(device: DeviceLike = None) -> list[str]:
    """Of the "debug" allocator: a text for every block still live and every mistake found so far (double free, foreign
    free, writing past the end or after free), with tags.

    >>> nd.memory.set_allocator("debug", device="cpu")
    >>> x = nd.ones(2, device="cpu")
    >>> len(nd.memory.debug_report("cpu"))
    1
    >>> nd.memory.set_allocator("caching", device="cpu")
    """
    text, _ = _ndock._debug_report(device)
    lines: list[str] = text.splitlines()
    return lines


class on_failure:
    """on_failure(function, may_free=False): calls function(device, nbytes) before a request for memory fails.

    may_free: it may free arrays, and the allocator tries again if it returns something true; else it only looks on.
    What it raises goes to sys.unraisablehook. remove(), or the end of a `with` block, ends that.

    >>> with nd.memory.on_failure(lambda device, nbytes: print(nbytes)):
    ...      x = nd.ones(2)
    """

    def __init__(self, function: Callable[[Device, int], object], may_free: bool = False) -> None:
        self._watcher: Any = _ndock._watch_memory(function, may_free)

    def remove(self) -> None:
        """The function is no longer called; any number of times."""
        self._watcher = None

    def __enter__(self) -> on_failure:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 where: TracebackType | None) -> None:
        self.remove()


def trace(events: int, /) -> None:
    """Keep the last so many events of every device (0: none): allocations, frees, segments, with tags.

    >>> nd.memory.trace(0)
    """
    _ndock._trace_set(events)


def trace_note(text: str, /, *, device: DeviceLike = None) -> None:
    """Put a line of one's own into the trace.

    text: the line. device: a Device or its name; None is the current one.

    >>> nd.memory.trace_note("epoch 3")
    """
    _ndock._trace_note(device, text)


def snapshot(device: DeviceLike = None) -> dict[str, Any]:
    """Segments, blocks, trace and settings of all devices (device None) or one, as dicts and lists.

    >>> sorted(nd.memory.snapshot("cpu"))[:2]
    ['allocator_settings', 'device_traces']
    """
    import json

    found: dict[str, Any] = json.loads(_ndock._snapshot_text(device))
    return found


def save_snapshot(path: str | os.PathLike[str], /, *, device: DeviceLike = None, format: str | None = None) -> None:
    """The same as a file, written whole or not at all: "json", or "pickle" for PyTorch's memory viewer
    (pytorch.org/memory_viz). format None: by the name, whose end .json, .pickle or .pkl says it.

    device: a Device or its name; None is the current one.

    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "memory.json")
    >>> nd.memory.save_snapshot(path)
    >>> os.remove(path)
    """
    import os

    name = os.fsdecode(path)
    if format is None:
        format = "json" if name.endswith(".json") else "pickle" if name.endswith((".pickle", ".pkl")) else None
    if format not in ("json", "pickle"):
        raise ValueError(f"the format of a snapshot is 'json' or 'pickle', which {name!r} does not end in"
                         if format is None else f"the format of a snapshot is 'json' or 'pickle', not {format!r}")
    _ndock._snapshot_save(device, name, format == "pickle")


def empty_pinned(shape: int | tuple[int, ...], *, dtype: Any = None, device: DeviceLike = None) -> Array:
    """A CPU array in page-locked memory of the device, so that copies between the two need not wait; its elements are
    not set. dtype by default float64. Ordinary memory for devices that have none.

    >>> nd.empty_pinned((2, 3), dtype=nd.float32).shape
    (2, 3)
    """
    array: Array = _ndock._empty_pinned(shape, dtype, device)
    return array


def is_pinned(x: Array, /) -> bool:
    """Whether the array lies in page-locked host memory.

    x: an Array.

    >>> nd.is_pinned(nd.ones(2, device="cpu"))
    False
    """
    pinned: bool = _ndock._is_pinned(x)
    return pinned


class host_register:
    """host_register(buffer, device=None): page-locks the memory of a writable buffer (bytearray, mmap, a NumPy array)
    for the device, until close() or the end of a `with` block: arrays made over it meanwhile are pinned.

    The buffer is held. NotImplementedError where the device locks no memory of others; close() waits for the copies
    that use it, and is ndock.StateError while arrays over it are alive.

    >>> try:
    ...      with nd.memory.host_register(bytearray(64), "cpu"):
    ...          pass
    ... except NotImplementedError:
    ...      print("the CPU locks no pages")
    the CPU locks no pages
    """

    def __init__(self, buffer: Any, device: DeviceLike = None) -> None:
        self._view: Any = memoryview(buffer).cast("B")
        try:
            self._address = _ndock._address(self._view)
            self._device = _ndock.Device(device)
            _ndock._host_register(self._device, self._address, self._view.nbytes)
        except BaseException:
            self._view.release()  # the exception's traceback may keep this frame, and the buffer with it
            raise

    def close(self) -> None:
        """Unlock it; any number of times."""
        if self._view is not None:
            _ndock._host_unregister(self._device, self._address)
            self._view.release()
            self._view = None

    def __enter__(self) -> host_register:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 where: TracebackType | None) -> None:
        self.close()


def copy_to(src: Array, dst: Array, /, *, non_blocking: bool = False, stream: StreamLike | None = None) -> None:
    """Copy src, broadcast and converted, into dst, between any two devices.

    non_blocking: to or from pinned memory of the device it is queued on the stream (None: the current one of the
    device, of src's where both are) and returns at once; every access to a host dst through ndock waits for it. With
    other host memory it waits. Between devices nothing waits but the streams.

    >>> src, dst = nd.ones(2), nd.zeros((2, 2))
    >>> nd.copy_to(src, dst)
    >>> dst
    array([[1., 1.],
           [1., 1.]], dtype=float64, device='cpu:0')
    """
    _ndock._copy_to(src, dst, non_blocking, stream)
