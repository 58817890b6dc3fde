# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Inspection of the namespace, __array_namespace_info__ of the array API."""
from __future__ import annotations

from . import _device, _ndock
from ._dtypes import isdtype

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._types import Device, DeviceLike, DType, Optional, Union

__all__ = ["__array_namespace_info__"]

_STANDARD = ("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32", "float64",
             "complex64", "complex128")


class _Info:
    """What the library can do, as a whole and on each device."""

    def capabilities(self) -> dict[str, Union[bool, int]]:
        """Boolean indexing and data-dependent shapes are there; up to 64 dimensions."""
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": 64}

    def default_device(self) -> Device:
        """The device on which the calling thread makes arrays when none is given."""
        return _ndock.Device(None)

    def devices(self) -> tuple[Device, ...]:
        """All devices of all plug-ins that can be opened, a tuple as the standard has it since 2025.12; opens them."""
        return tuple(d for d in _device.devices() if _device.is_available(d.name, probe="full"))

    def default_dtypes(self, *, device: Optional[DeviceLike] = None) -> dict[str, DType]:
        """Default dtypes on a device, by default the current one: float64, complex128, int64 where it has them."""
        has = _ndock._device_dtypes(device)
        wide = _ndock.float64 in has
        return {"real floating": _ndock.float64 if wide else _ndock.float32,
                "complex floating": _ndock.complex128 if wide else _ndock.complex64,
                "integral": _ndock.int64, "indexing": _ndock.int64}

    def dtypes(self, *, device: Optional[DeviceLike] = None,
               kind: Optional[Union[str, tuple[str, ...]]] = None) -> dict[str, DType]:
        """The standard's dtypes that a device has, by default the current one, by name; kind as for isdtype."""
        has = _ndock._device_dtypes(device)
        return {d.name: d for d in has if d.name in _STANDARD and (kind is None or isdtype(d, kind))}


def __array_namespace_info__() -> _Info:
    """The namespace's inspection functions: capabilities, default_device, default_dtypes, devices, dtypes."""
    return _Info()
