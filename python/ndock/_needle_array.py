# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""needle's NDArray over ndock's arrays: shape, strides and offset over a flat float32 handle. Views share the handle, and
operations read them as they are, so nothing is made compact before it is used."""
from __future__ import annotations

from math import prod

from . import _ndock
from ._needle_device import BackendDevice, default_device
from ._needle_operators import NeedleError, Operators, number

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any, NoReturn, Optional, Union

    Number = Union[int, float]
    Axis = Union[None, int, Sequence[int]]

__all__ = ["NDArray", "NeedleError"]


def check_dtype(dtype: Any) -> None:
    if dtype is not None and str(getattr(dtype, "name", dtype)) != "float32":
        raise NeedleError(f"dtype {dtype}: needle's arrays are float32; other dtypes are ndock's own arrays'")


def _extents(shape: Union[int, Sequence[int]]) -> tuple[int, ...]:
    try:
        return tuple(int(s) for s in shape)  # type: ignore[union-attr]
    except TypeError:
        return (int(shape),)  # type: ignore[arg-type]


def _device(device: Any) -> BackendDevice:
    if device is None:
        return default_device()
    return device if isinstance(device, BackendDevice) else BackendDevice(device)


class NDArray(Operators):
    """An n-dimensional float32 array on a device, by copying a list, a NumPy array (or what else ndock.asarray takes) or
    another NDArray. device: cpu(), cuda() ... or a device's name; by default that of an NDArray, else default_device().

    Operators take NDArrays of equal shape and real numbers, and give new, compact arrays; comparisons give 1.0 and 0.0.
    Work is queued on the device's current stream; numpy(), printing and a handle's ptr() wait. Shapes that do not fit
    are a NeedleError, which is a ValueError and an AssertionError."""

    __array_ufunc__ = None  # numpy.float32(2) * x is ours

    _array: _ndock.Array
    _device: BackendDevice
    _memory: Any  # the handle, made when it is first asked for

    def __init__(self, other: Any, device: Any = None) -> None:
        if isinstance(other, NDArray):
            place = _device(other._device if device is None else device)
            array = _copy(other._array, place)
        elif hasattr(other, "__array_interface__"):
            place = _device(device)
            array = _from_numpy(other, place)
        else:
            place = _device(device)
            array = _copy(other, place)
        self._array, self._device, self._memory = array, place, None

    @staticmethod
    def compact_strides(shape: Sequence[int]) -> tuple[int, ...]:
        """Strides of a dense array in C order, in elements."""
        return tuple(prod(shape[i + 1:]) for i in range(len(shape)))

    @staticmethod
    def make(shape: Union[int, Sequence[int]], strides: Optional[Sequence[int]] = None, device: Any = None,
             handle: Any = None, offset: int = 0) -> NDArray:
        """A view of a handle (by default of new memory, not set): element (i, j, ...) lies offset + i*strides[0] +
        j*strides[1] + ... elements from its start. IndexError where that is outside."""
        place, shape = _device(device), _extents(shape)
        if handle is None:
            handle = place.Array(prod(shape))
        if strides is None:
            strides = NDArray.compact_strides(shape)
        return _wrap(_ndock._needle_view(handle, shape, strides, offset), place, handle)

    def _new(self, array: _ndock.Array) -> NDArray:
        """Around a new array on the same device."""
        return _wrap(array, self._device)

    # ---- attributes
    @property
    def shape(self) -> tuple[int, ...]:
        return self._array.shape

    @property
    def strides(self) -> tuple[int, ...]:
        """Distance of neighbours along each axis, in elements."""
        return self._array.strides

    @property
    def offset(self) -> int:
        """Of the first element from the handle's start, in elements."""
        return int(_ndock._needle_offset(self._array))

    @property
    def device(self) -> BackendDevice:
        return self._device

    @property
    def handle(self) -> Any:
        """The backend's Array, flat memory that views share."""
        if self._memory is None:
            self._memory = _ndock._needle_handle(self._array)
        return self._memory

    _shape, _strides, _offset, _handle = shape, strides, offset, handle

    @property
    def array(self) -> _ndock.Array:
        """The ndock.Array over the same memory."""
        return self._array

    @property
    def dtype(self) -> str:
        return "float32"

    @property
    def ndim(self) -> int:
        return self._array.ndim

    @property
    def size(self) -> int:
        return self._array.size

    def __repr__(self) -> str:
        return f"NDArray({self._array!s}, device={self._device})"

    def __str__(self) -> str:
        return str(self._array)

    # ---- copies
    def fill(self, value: Number) -> None:
        """Set every element, in place."""
        self._device.scalar_setitem(self.size, value, self.handle, self.shape, self.strides, self.offset)

    def to(self, device: Any) -> NDArray:
        """This array where it is on the device already, else a copy there."""
        place = _device(device)
        return self if place == self._device else NDArray(self, device=place)

    def numpy(self) -> Any:
        """A new NumPy array with the values; waits for them."""
        return self._device.to_numpy(self.handle, self.shape, self.strides, self.offset)

    def is_compact(self) -> bool:
        """Dense in C order, and all of its handle."""
        dense = self.size == 0 or self.strides == self.compact_strides(self.shape)
        return dense and self.size == self.handle.size

    def compact(self) -> NDArray:
        """This array where it is compact, else a copy that is."""
        if self.is_compact():
            return self
        result = NDArray.make(self.shape, device=self._device)
        self._device.compact(self.handle, result.handle, self.shape, self.strides, self.offset)
        return result

    # ---- views: the same memory
    def as_strided(self, shape: Sequence[int], strides: Sequence[int]) -> NDArray:
        """Any shape and strides from the same offset. IndexError where that leaves the memory."""
        if len(shape) != len(strides):
            raise NeedleError(f"{len(strides)} strides do not fit the shape {tuple(shape)}")
        return self._view(shape, strides, self.offset)

    def _view(self, shape: Sequence[int], strides: Sequence[int], offset: int) -> NDArray:
        return NDArray.make(shape, strides, self._device, self.handle, offset)

    @property
    def flat(self) -> NDArray:
        return self.reshape((self.size,))

    def reshape(self, new_shape: Union[int, Sequence[int]], *more: int) -> NDArray:
        """A view with another shape of the same size; one extent may be -1. ValueError where the strides allow no view:
        compact() first."""
        new_shape = (*_extents(new_shape), *more)
        from . import reshape
        return _wrap(reshape(self._array, new_shape, copy=False), self._device, self.handle)

    def permute(self, new_axes: Sequence[int]) -> NDArray:
        """A view whose axis i is axis new_axes[i] of this one."""
        axes = tuple(a + self.ndim if a < 0 else a for a in new_axes)
        if sorted(axes) != list(range(self.ndim)):
            raise NeedleError(f"{tuple(new_axes)} is no permutation of {self.ndim} axes")
        shape, strides = self.shape, self.strides
        return self._view([shape[a] for a in axes], [strides[a] for a in axes], self.offset)

    def broadcast_to(self, new_shape: Sequence[int]) -> NDArray:
        """A view in which extents of one (and axes that are put in front) are repeated by strides of 0."""
        new_shape = _extents(new_shape)
        extra = len(new_shape) - self.ndim
        old = (1,) * extra + self.shape
        if extra < 0 or any(a != b and a != 1 for a, b in zip(old, new_shape)):
            raise NeedleError(f"shape {self.shape} does not broadcast to {new_shape}")
        strides = (0,) * extra + self.strides
        return self._view(new_shape, [s if a == b else 0 for s, a, b in zip(strides, old, new_shape)], self.offset)

    def flip(self, axes: Axis) -> NDArray:
        """A compact copy with the order along axes reversed."""
        which = self._which(axes)
        shape, strides, offset = self.shape, list(self.strides), self.offset
        if self.size:
            offset += sum(strides[a] * (shape[a] - 1) for a in which)
        for a in which:
            strides[a] = -strides[a]
        return self._view(shape, strides, offset).compact()

    def pad(self, axes: Sequence[tuple[int, int]]) -> NDArray:
        """A copy with zeros around: axes has (before, after) for every axis."""
        if len(axes) != self.ndim or any(b < 0 or a < 0 for b, a in axes):
            raise NeedleError(f"pad takes (before, after), not negative, for each of {self.ndim} axes, not {axes}")
        result = self._device.full([b + s + a for s, (b, a) in zip(self.shape, axes)], 0)
        offset = sum(b * s for (b, _), s in zip(axes, result.strides))
        if self.size:
            _set(result._view(self.shape, result.strides, offset), self)
        return result

    def process_slice(self, sl: slice, dim: int) -> slice:
        """The slice of axis dim with all three numbers, as needle allows them: forward and not empty."""
        start, stop, step = sl.indices(self.shape[dim])
        if step < 0:
            raise NeedleError(f"the step {step} of axis {dim} is negative; flip() reverses")
        if stop <= start:
            raise NeedleError(f"the slice {start}:{stop} of axis {dim}, which has {self.shape[dim]}, is empty")
        return slice(start, stop, step)

    def _range(self, index: Any, dim: int) -> slice:
        if isinstance(index, slice):
            return self.process_slice(index, dim)
        extent = self.shape[dim]
        try:
            i = index.__index__()
        except AttributeError:
            raise NeedleError(f"an index is an int or a slice, not {index!r}") from None
        if not -extent <= i < extent:
            raise IndexError(f"index {i} is out of range for axis {dim}, which has {extent}")
        return slice(i % extent, i % extent + 1, 1)

    def __getitem__(self, idxs: Any) -> NDArray:
        """A view by one int or slice for each axis; ints count as slices of one, so that the rank stays."""
        idxs = idxs if isinstance(idxs, tuple) else (idxs,)
        if len(idxs) != self.ndim:
            raise NeedleError(f"{len(idxs)} indices do not fit {self.ndim} axes: needle wants one for each")
        ranges = [self._range(x, i) for i, x in enumerate(idxs)]
        offset = self.offset + sum(r.start * s for r, s in zip(ranges, self.strides))
        return self._view([len(range(r.start, r.stop, r.step)) for r in ranges],
                          [r.step * s for r, s in zip(ranges, self.strides)], offset)

    def __setitem__(self, idxs: Any, other: Any) -> None:
        """Set a view as __getitem__ makes it: to a number, or to the elements of an array of as many, in C order."""
        view = NDArray.__getitem__(self, idxs)
        if isinstance(other, NDArray):
            if other.size != view.size:
                raise NeedleError(f"{other.size} elements of shape {other.shape} do not fill {view.shape}")
            _set(view, other)
        else:
            view.fill(number(other))


def _wrap(array: _ndock.Array, device: BackendDevice, handle: Any = None) -> NDArray:
    result = NDArray.__new__(NDArray)
    result._array, result._device, result._memory = array, device, handle
    return result


def _set(view: NDArray, other: NDArray) -> None:
    """view = other's elements in C order."""
    source = other.compact()
    view._device.ewise_setitem(source.handle, view.handle, view.shape, view.strides, view.offset)


def _from_numpy(x: Any, device: BackendDevice) -> _ndock.Array:
    handle = device.Array(x.size)
    device.from_numpy(x, handle)
    return _ndock._needle_view(handle, x.shape, NDArray.compact_strides(x.shape), 0)


def _copy(x: Any, device: BackendDevice) -> _ndock.Array:
    """A new, dense float32 array on the device of whatever ndock.asarray takes."""
    from . import asarray
    return asarray(x, dtype="float32", device=device._where, copy=True)


def one_hot(n: int, i: Any, device: BackendDevice) -> NDArray:
    from . import asarray, eye, take
    where = device._where
    index = asarray(i, dtype="int64", device=where)
    return _wrap(take(eye(n, dtype="float32", device=where), index, axis=0), device)
