# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Names for annotations. Imported by type checkers only, so that importing the package costs nothing."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, Optional, Union

from ._ndock import Array, Device, DType

Scalar = Union[bool, int, float, complex]
Operand = Union[Array, Scalar]
Shape = Union[int, Sequence[int]]
Axes = Optional[Union[int, Sequence[int]]]
DTypeLike = Union[DType, str, type, Any]
DeviceLike = Union[Device, str]

__all__ = ["Any", "Array", "Axes", "DType", "DTypeLike", "Device", "DeviceLike", "Literal", "Operand", "Optional",
           "Scalar", "Sequence", "Shape", "Union"]
