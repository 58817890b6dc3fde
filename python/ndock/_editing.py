# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Slices put in, taken out and cut off, and elements written in place, with NumPy's names. ValueError for shapes that do
not fit, IndexError for an index or an axis out of range. Queued on the current stream; what waits says so."""
from __future__ import annotations

from . import _ndock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._types import Any, Array, ArrayLike, Literal, Operand, Optional, Union

__all__ = ["append", "copyto", "delete", "insert", "place", "put", "put_along_axis", "trim_zeros"]

_MODES = {"raise": 0, "wrap": 1, "clip": 2}


def _mode(function: str, mode: str) -> int:
    if mode not in _MODES:
        raise ValueError(f"{function}(): mode is one of {', '.join(_MODES)}, not {mode!r}")
    return _MODES[mode]


def _beside(function: str, x: Array, value: Any) -> Array:
    """A scalar or sequence as an Array of x's dtype on x's device."""
    if isinstance(value, _ndock.Array):
        return value
    if hasattr(value, "__len__"):
        return _ndock._operand(function, x, value)
    return _ndock.full((), value, dtype=x.dtype, device=x.device)


def _flat(x: Array, axis: Optional[int]) -> tuple[Array, int]:
    return (_ndock._reshape(x, (x.size,), None), 0) if axis is None else (x, axis)


def _indices(function: str, x: Array, obj: Any, extent: int) -> tuple[Array, bool]:
    """An int, slice, sequence or Array of integers or bools as an Array of integers, and whether it was one number."""
    if isinstance(obj, slice):
        obj = list(range(*obj.indices(extent)))
    single = hasattr(obj, "__index__") and not (isinstance(obj, _ndock.Array) and obj.ndim)
    if single:
        number = int(obj)
        if not -extent <= number <= extent:
            raise IndexError(f"{function}(): index {number} is out of range for {extent} elements")
        return _ndock.full((1,), number, dtype="int64", device=x.device), True
    if not isinstance(obj, _ndock.Array) and not hasattr(obj, "__array_interface__"):
        obj = list(obj)
        if not obj:
            return _ndock.zeros((0,), dtype="int64", device=x.device), False
        obj = _ndock._asarray(obj, None, x.device, None)
    array = obj if isinstance(obj, _ndock.Array) else _ndock._operand(function, x, obj)
    if array.dtype == "bool":
        if array.size != extent:
            raise ValueError(f"{function}(): {array.size} bools for {extent} elements")
        return _ndock._nonzero(array)[0], False
    return _ndock._reshape(array, (array.size,), None), False


def append(x: Array, values: Operand, /, axis: Optional[int] = None) -> Array:
    """x with values after it along axis; axis=None: both flattened first. Dtypes are promoted.

    Errors: ValueError for shapes that do not fit, IndexError for an axis out of range.

    >>> nd.append(nd.asarray([1, 2]), [3])
    array([1, 2, 3], dtype=int64, device='cpu:0')
    """
    return _ndock._concat((x, _beside("append", x, values)), axis)


def delete(x: Array, obj: Union[int, slice, ArrayLike], /, axis: Optional[int] = None) -> Array:
    """x without the slices at obj along axis: an int, a slice, integers, or bools that say which; axis=None: of x
    flattened. Waits for their number.

    Errors: IndexError for an index or axis out of range, ValueError for bools of another length.

    >>> nd.delete(nd.asarray([1, 2, 3, 4]), [0, -1])
    array([2, 3], dtype=int64, device='cpu:0')
    """
    x, axis = _flat(x, axis)
    extent = x.shape[axis]
    indices, single = _indices("delete", x, obj, extent)
    if single and int(obj) == extent:  # type: ignore[arg-type]
        raise IndexError(f"delete(): index {extent} is out of range for {extent} elements")
    return _ndock._delete(x, indices, axis)


def insert(x: Array, obj: Union[int, slice, ArrayLike], values: Operand, /, axis: Optional[int] = None) -> Array:
    """x with values before the positions obj along axis: an int, a slice, or integers; axis=None: of x flattened. values
    broadcast to x's shape but for axis, of which they have an extent for each index; one index takes all of them. They
    take x's dtype.

    Errors: IndexError for an index or axis out of range, ValueError for shapes that do not fit.

    >>> nd.insert(nd.asarray([1, 2, 3]), [1, 2], [8, 9])
    array([1, 8, 2, 9, 3], dtype=int64, device='cpu:0')
    """
    x, axis = _flat(x, axis)
    extent = x.shape[axis]
    axis = axis + x.ndim if axis < 0 else axis
    indices, single = _indices("insert", x, obj, extent)
    new = _beside("insert", x, values)
    new = _ndock._reshape(new, (1,) * (x.ndim - new.ndim) + new.shape, None) if new.ndim < x.ndim else new
    if single and isinstance(obj, int):
        new = _ndock._moveaxis(new, 0, axis)
        if new.shape[axis] != 1:
            indices = _ndock._broadcast_to(indices, (new.shape[axis],))
    return _ndock._insert(x, indices, new.astype(x.dtype, copy=False), axis)


def trim_zeros(x: Array, /, trim: str = "fb") -> Array:
    """A view of x (one dimension) without zeros at the front ("f" in trim) and at the back ("b"). Waits.

    Errors: ValueError for other than one dimension.

    >>> nd.trim_zeros(nd.asarray([0, 0, 1, 0, 2, 0]))
    array([1, 0, 2], dtype=int64, device='cpu:0')
    """
    return _ndock._trim_zeros(x, "f" in trim.lower(), "b" in trim.lower())


def put(x: Array, indices: ArrayLike, values: Operand, /, mode: Literal["raise", "wrap", "clip"] = "raise") -> None:
    """x's elements at positions of its C order become values, in order, which are repeated as often as needed. mode, for
    positions out of range: IndexError, wrapped, or clipped.

    indices: integers. Errors: IndexError as said, ValueError for an unknown mode or a read-only x.

    >>> x = nd.zeros((2, 2))
    >>> nd.put(x, [0, 3], [5.0, 7.0])
    >>> x
    array([[5., 0.],
           [0., 7.]], dtype=float64, device='cpu:0')
    """
    at = _beside("put", _ndock.zeros((), dtype="int64", device=x.device), indices)
    _ndock._put_at(at, _beside("put", x, values), _mode("put", mode), x)


def put_along_axis(x: Array, indices: ArrayLike, values: Operand, axis: Optional[int], /) -> None:
    """x[i, indices[i, j, k], k] = values[i, j, k] for axis 1, as take_along_axis reads; axis=None: x as one dimension.
    values broadcast to indices, and indices to x but for axis.

    Errors: IndexError for an index or axis out of range, ValueError for shapes that do not fit or a read-only x.

    >>> x = nd.asarray([[3, 1], [2, 4]])
    >>> nd.put_along_axis(x, nd.asarray([[0], [1]]), 9, 1)
    >>> x
    array([[9, 1],
           [2, 9]], dtype=int64, device='cpu:0')
    """
    at = _ndock._operand("put_along_axis", x, indices)
    if axis is None:
        put(x, at, values)
    else:
        _ndock._put_along_axis(at, _beside("put_along_axis", x, values), axis, x)


def place(x: Array, mask: ArrayLike, values: Operand, /) -> None:
    """x's elements where mask (of its shape) is true become values, in C order, which are repeated as often as needed.

    Errors: ValueError for shapes that do not fit, no values or a read-only x.

    >>> x = nd.arange(6)
    >>> nd.place(x, x > 2, [44, 55])
    >>> x
    array([ 0,  1,  2, 44, 55, 44], dtype=int64, device='cpu:0')
    """
    _ndock._place(_ndock._operand("place", x, mask), _beside("place", x, values), x)


def copyto(dst: Array, src: Operand, /, *, where: Union[bool, ArrayLike] = True) -> None:
    """dst's elements become those of src, which broadcasts to it; where a mask that broadcasts too is true.

    Errors: ValueError for shapes that do not fit or a read-only dst, TypeError where an imaginary part would be lost.

    >>> x = nd.zeros(3)
    >>> nd.copyto(x, 7.0, where=[True, False, True])
    >>> x
    array([7., 0., 7.], dtype=float64, device='cpu:0')
    """
    if where is True:
        dst[...] = src
    elif where is not False:
        _ndock._assign_where(_beside("copyto", dst, src), _ndock._operand("copyto", dst, where), dst)
