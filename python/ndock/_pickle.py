# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Pickles of arrays. From protocol 5 on the elements are a PickleBuffer, which buffer_callback may take out of band
without a copy; before that they are bytes. Elements on a device are brought to the host, and go back on loading."""
from __future__ import annotations

from . import _ndock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._types import Any, Array


def _rebuild(data: Any, dtype: str, shape: tuple[int, ...], device: str) -> Array:
    """The array of those bytes, on the device that it came from; on "cpu", with a warning, where that is missing.

    Memory that the unpickler lends writable is used as it is; bytes, being immutable, are copied.
    """
    cpu = _ndock.Device("cpu")
    raw = _ndock._asarray(data, None, cpu, isinstance(data, bytes) or None)
    host = _ndock._of_raw(raw.reshape(-1), dtype, shape)
    if device.partition(":")[0] == "cpu":
        return host
    try:
        target = _ndock.Device(device)
    except (ValueError, RuntimeError) as why:
        import warnings
        warnings.warn(f"an array pickled on '{device}' is loaded on 'cpu', since that device is missing: {why}",
                      RuntimeWarning, stacklevel=2)
        return host
    return host.to_device(target)


def _reduce(x: Array, protocol: int) -> tuple[Any, tuple[Any, ...]]:
    host = x.to_device("cpu")
    raw = _ndock._raw(host if host.is_contiguous() else host.copy())
    if protocol >= 5:
        from pickle import PickleBuffer
        data: Any = PickleBuffer(raw)
    else:
        data = bytes(raw)
    return _rebuild, (data, x.dtype.name, x.shape, str(x.device))
