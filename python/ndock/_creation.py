# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Creation functions of the array API. device=None means the calling thread's current device, for the _like functions
that of x. Nothing waits: an asynchronous device fills the array in the order of its current stream. All raise ValueError
for a negative extent or an unknown device, OverflowError for a size or value out of range, MemoryError. empty, full, ones
and zeros are in python/src/ops/filled.c."""
from __future__ import annotations

from . import _ndock
from ._dtypes import isdtype

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._types import Any, Array, DeviceLike, DTypeLike, Literal, Optional, Scalar

__all__ = ["arange", "array", "asarray", "empty_like", "eye", "full_like", "linspace", "meshgrid", "ones_like", "tril",
           "triu", "zeros_like"]


def asarray(obj: Any, /, *, dtype: Optional[DTypeLike] = None, device: Optional[DeviceLike] = None,
            copy: Optional[bool] = None) -> Array:
    """An array of what obj holds, on device (an Array's own; for all else the current one).

    obj: an Array, a Python or NumPy scalar, nested sequences of those, or whatever exports a buffer
    (PEP 3118), __array_interface__, DLPack, the CUDA Array Interface or __array__.
    dtype: None keeps obj's; bool, int, float and complex become bool, int64, float64 and complex128,
    ints above int64 uint64. A float becomes an integer towards zero.
    copy: None copies only where it must: host memory in native byte order, aligned to its dtype, is
    viewed on host-visible devices, holds obj, and stays read-only where it was. True always copies,
    False never: ValueError where that is impossible, as for scalars and sequences.
    Errors: ValueError for uneven nesting, with the place; TypeError for objects that are no arrays;
    OverflowError for values that the dtype has not.

    >>> nd.asarray([[1, 2], [3, 4]], dtype="f4")
    array([[1., 2.],
           [3., 4.]], dtype=float32, device='cpu:0')
    >>> nd.asarray(range(3))
    array([0, 1, 2], dtype=int64, device='cpu:0')
    """
    return _ndock._asarray(obj, dtype, device, copy)


def array(obj: Any, /, *, dtype: Optional[DTypeLike] = None, device: Optional[DeviceLike] = None,
          copy: Optional[bool] = True) -> Array:
    """As asarray, but a copy unless copy says otherwise.

    obj: as of asarray. Errors: ValueError for a negative extent or an unknown device, TypeError for what is no dtype,
    MemoryError.

    >>> nd.array([[1, 2], [3, 4]], dtype=nd.float32)
    array([[1., 2.],
           [3., 4.]], dtype=float32, device='cpu:0')
    """
    return _ndock._asarray(obj, dtype, device, copy)


def empty_like(x: Array, /, *, dtype: Optional[DTypeLike] = None, device: Optional[DeviceLike] = None) -> Array:
    """A dense array of x's shape whose elements are not set; dtype and device by default those of x.

    Errors: ValueError for a negative extent or an unknown device, TypeError for what is no dtype, MemoryError.

    >>> nd.empty_like(nd.ones((2, 3))).shape
    (2, 3)
    """
    return _ndock._full_like(x, None, dtype, device)


def full_like(x: Array, /, fill_value: Scalar, *, dtype: Optional[DTypeLike] = None,
              device: Optional[DeviceLike] = None) -> Array:
    """A dense array of x's shape and one value; dtype and device by default those of x. OverflowError where the value
    does not fit.

    fill_value: a Python scalar, or an Array without axes.

    >>> nd.full_like(nd.zeros(2), 1.5)
    array([1.5, 1.5], dtype=float64, device='cpu:0')
    """
    return _ndock._full_like(x, fill_value, dtype, device)


def zeros_like(x: Array, /, *, dtype: Optional[DTypeLike] = None, device: Optional[DeviceLike] = None) -> Array:
    """A dense array of zeros of x's shape; dtype and device by default those of x.

    Errors: ValueError for a negative extent or an unknown device, TypeError for what is no dtype, MemoryError.

    >>> nd.zeros_like(nd.asarray([5, 6]))
    array([0, 0], dtype=int64, device='cpu:0')
    """
    return _ndock._full_like(x, 0, dtype, device)


def ones_like(x: Array, /, *, dtype: Optional[DTypeLike] = None, device: Optional[DeviceLike] = None) -> Array:
    """A dense array of ones of x's shape; dtype and device by default those of x.

    Errors: ValueError for a negative extent or an unknown device, TypeError for what is no dtype, MemoryError.

    >>> nd.ones_like(nd.asarray([5, 6]))
    array([1, 1], dtype=int64, device='cpu:0')
    """
    return _ndock._full_like(x, 1, dtype, device)


def arange(start: float, /, stop: Optional[float] = None, step: float = 1, *, dtype: Optional[DTypeLike] = None,
           device: Optional[DeviceLike] = None) -> Array:
    """start, start + step, ... before stop; arange(n) counts from 0. dtype: int64 if all are ints, else float64.

    Errors: ValueError for a negative extent or an unknown device, TypeError for what is no dtype, MemoryError.

    >>> nd.arange(2, 10, 3)
    array([2, 5, 8], dtype=int64, device='cpu:0')
    """
    if stop is None:
        start, stop = 0, start
    return _ndock._arange(start, stop, step, dtype, device)


def linspace(start: complex, stop: complex, /, num: int, *, dtype: Optional[DTypeLike] = None,
             device: Optional[DeviceLike] = None, endpoint: bool = True) -> Array:
    """num values from start to stop in equal steps. endpoint: stop is the last of them, exactly; else it would be the
    next. dtype: by default float64, complex128 if start or stop is complex; integers are the default's floors, as NumPy's
    are.

    Errors: ValueError for a negative extent or an unknown device, TypeError for what is no dtype, MemoryError.

    >>> nd.linspace(0, 1, 5)
    array([0.  , 0.25, 0.5 , 0.75, 1.  ], dtype=float64, device='cpu:0')
    >>> nd.linspace(-1, 1, 4, dtype="i4")
    array([-1, -1,  0,  1], dtype=int32, device='cpu:0')
    """
    if dtype is not None and isdtype(dtype, ("bool", "integral")):
        steps = _ndock._linspace(start, stop, num, endpoint, None, device)
        return (steps if isdtype(dtype, "bool") else _ndock.floor(steps)).astype(dtype)
    return _ndock._linspace(start, stop, num, endpoint, dtype, device)


def _diagonal(k: int, rows: int, columns: int) -> int:
    """k, or the nearest diagonal that is outside of the matrix like it, so that any int is fine."""
    return min(max(k, -rows), columns)


def eye(n_rows: int, n_cols: Optional[int] = None, /, *, k: int = 0, dtype: Optional[DTypeLike] = None,
        device: Optional[DeviceLike] = None) -> Array:
    """A matrix (n_rows, n_cols) of zeros with ones on the k-th diagonal, above the main one for k > 0. n_cols: by
    default n_rows. dtype: by default float64.

    Errors: ValueError for a negative extent or an unknown device, TypeError for what is no dtype, MemoryError.

    >>> nd.eye(2, 3)
    array([[1., 0., 0.],
           [0., 1., 0.]], dtype=float64, device='cpu:0')
    """
    n_cols = n_rows if n_cols is None else n_cols
    return _ndock._eye(n_rows, n_cols, _diagonal(k, n_rows, n_cols), dtype, device)


def meshgrid(*arrays: Array, indexing: Literal["xy", "ij"] = "xy") -> tuple[Array, ...]:
    """Coordinates of a grid: from n one-dimensional arrays, n read-only views of shape (n0, n1, n2, ...) for "ij", with
    the first two extents exchanged for "xy". ValueError for arrays of other ranks.

    indexing: the order of the first two extents.

    >>> nd.meshgrid(nd.asarray([1, 2]), nd.asarray([3, 4]))[0]
    array([[1, 2],
           [1, 2]], dtype=int64, device='cpu:0')
    """
    if indexing not in ("xy", "ij"):
        raise ValueError(f'meshgrid(): indexing is "xy" or "ij", not {indexing!r}')
    return _ndock._meshgrid(arrays, indexing == "ij")


def tril(x: Array, /, *, k: int = 0) -> Array:
    """A copy of x (..., m, n) with zeros above the k-th diagonal of the last two axes. ValueError below two axes.

    >>> nd.tril(nd.asarray([[1, 2], [3, 4]]))
    array([[1, 0],
           [3, 4]], dtype=int64, device='cpu:0')
    """
    return _ndock._tril(x, _diagonal(k, *x.shape[-2:]) if x.ndim > 1 else k)


def triu(x: Array, /, *, k: int = 0) -> Array:
    """A copy of x (..., m, n) with zeros below the k-th diagonal of the last two axes. ValueError below two axes.

    >>> nd.triu(nd.asarray([[1, 2], [3, 4]]))
    array([[1, 2],
           [0, 4]], dtype=int64, device='cpu:0')
    """
    return _ndock._triu(x, _diagonal(k, *x.shape[-2:]) if x.ndim > 1 else k)
