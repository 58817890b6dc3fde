# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A drop-in for backend_ndarray of needle, the framework of the course Deep Learning Systems (dlsyscourse.org).

>>> import ndock.needle as nd
>>> x = nd.NDArray([1, 2, 3], device=nd.cpu())
>>> x + 1
NDArray([2. 3. 4.], device=cpu())

NDArray has the course's methods and rules, on ndock's arrays and devices: float32 only, binary operators on equal shapes,
one index for each axis. backend(device) gives the interface below it, for the course's own NDArray class. Other dtypes,
broadcasting and all else are in ndock itself: x.array is the ndock.Array behind an NDArray, NDArray(a) copies one."""
from __future__ import annotations

from ._needle_array import NDArray, NeedleError, check_dtype
from ._needle_device import BackendDevice, all_devices, backend, cpu, cpu_numpy, cuda, default_device

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any, Optional, Union

    Shape = Union[int, Sequence[int]]

__all__ = ["BackendDevice", "NDArray", "NeedleError", "all_devices", "array", "backend", "broadcast_to", "cpu", "cpu_numpy",
           "cuda", "default_device", "empty", "exp", "flip", "full", "log", "maximum", "reshape", "sum", "tanh"]


def array(a: Any, dtype: Optional[str] = "float32", device: Optional[BackendDevice] = None) -> NDArray:
    """A new NDArray with a's values."""
    check_dtype(dtype)
    return NDArray(a, device=device)


def empty(shape: Shape, dtype: Optional[str] = "float32", device: Optional[BackendDevice] = None) -> NDArray:
    """An NDArray whose elements are not set."""
    return (device or default_device()).empty(shape, dtype)


def full(shape: Shape, fill_value: float, dtype: Optional[str] = "float32",
         device: Optional[BackendDevice] = None) -> NDArray:
    """An NDArray of one value."""
    return (device or default_device()).full(shape, fill_value, dtype)


def broadcast_to(array: NDArray, new_shape: Sequence[int]) -> NDArray:
    """NDArray.broadcast_to."""
    return array.broadcast_to(new_shape)


def reshape(array: NDArray, new_shape: Shape) -> NDArray:
    """NDArray.reshape."""
    return array.reshape(new_shape)


def flip(a: NDArray, axes: Union[None, int, Sequence[int]]) -> NDArray:
    """NDArray.flip."""
    return a.flip(axes)


def maximum(a: NDArray, b: Union[NDArray, float]) -> NDArray:
    """The larger of both, element by element."""
    return a.maximum(b)


def log(a: NDArray) -> NDArray:
    """Natural logarithm."""
    return a.log()


def exp(a: NDArray) -> NDArray:
    """e to the a."""
    return a.exp()


def tanh(a: NDArray) -> NDArray:
    """Hyperbolic tangent."""
    return a.tanh()


def sum(a: NDArray, axis: Union[None, int, Sequence[int]] = None, keepdims: bool = False) -> NDArray:
    """NDArray.sum."""
    return a.sum(axis=axis, keepdims=keepdims)
