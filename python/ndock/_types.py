# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Names for annotations. Imported by type checkers only, so that importing the package costs nothing."""
from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple, Optional, Protocol, Union

from ._ndock import Array, Device, DType

class NumpyArray(Protocol):
    """What numpy.ndarray is to us, without NumPy."""

    @property
    def __array_interface__(self) -> dict[str, Any]: ...
    def __len__(self) -> int: ...


Scalar = Union[bool, int, float, complex]
ArrayLike = Union[Array, Sequence[Any], NumpyArray]  # lists and NumPy's arrays, beside arrays of the host
Operand = Union[ArrayLike, Scalar]
Shape = Union[int, Sequence[int]]
Axes = Optional[Union[int, Sequence[int]]]
DTypeLike = Union[DType, str, type, Any]
DeviceLike = Union[Device, str]

__all__ = ["Any", "Array", "ArrayLike", "Axes", "DType", "DTypeLike", "Device", "DeviceLike", "Iterator", "Literal", "Mapping", "NamedTuple", "Operand",
           "Optional", "Scalar", "Sequence", "Shape", "Union"]
