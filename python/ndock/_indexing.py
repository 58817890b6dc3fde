# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Indexing and searching functions. Indices are integer Arrays on x's device, or lists where that is the host's; negative ones count from the end. One out
of range is an IndexError with its position and value; on an asynchronous device it may be raised by a later call that
waits. Queued on the current stream; what waits says so."""
from __future__ import annotations

from . import _ndock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._types import Array, ArrayLike, Axes, Literal, Optional

__all__ = ["argmax", "argmin", "compress", "gather", "index_add", "masked_select", "nonzero", "scatter", "take",
           "take_along_axis"]


def take(x: Array, indices: ArrayLike, /, *, axis: Optional[int] = None, padded: bool = False) -> Array:
    """x's slices at the indices along axis, which may be left out for one dimension: x's shape with that axis replaced by
    the shape of indices (of any rank). padded: where an index is the largest value of its dtype, zeros.

    Errors: IndexError for an index or an axis out of range, ValueError for shapes that do not fit, TypeError for
    dtypes.

    >>> nd.take(nd.asarray([[1, 2], [3, 4]]), [1], axis=0)
    array([[3, 4]], dtype=int64, device='cpu:0')
    """
    if axis is None and x.ndim != 1:
        raise ValueError(f"take() needs axis= for an array of {x.ndim} dimensions")
    read = _ndock._take_padded if padded else _ndock._take
    return read(x, _ndock._operand("take", x, indices), 0 if axis is None else axis)


def take_along_axis(x: Array, indices: ArrayLike, /, *, axis: int = -1) -> Array:
    """out[i, j, k] = x[i, indices[i, j, k], k] for axis 1. Ranks are equal, the other axes broadcast.

    Errors: IndexError for an index or an axis out of range, ValueError for shapes that do not fit, TypeError for
    dtypes.

    >>> nd.take_along_axis(nd.asarray([[3, 1], [2, 4]]), nd.asarray([[1], [0]]))
    array([[1],
           [2]], dtype=int64, device='cpu:0')
    """
    return _ndock._take_along_axis(x, _ndock._operand("take_along_axis", x, indices), axis)


def gather(x: Array, indices: ArrayLike, /, *, axis: int = -1, padded: bool = False) -> Array:
    """As take_along_axis, but the other axes of indices may be shorter than x's instead of broadcasting, as PyTorch's:
    the result has the shape of indices. padded: where an index is the largest value of its dtype, zeros.

    Errors: IndexError for an index or an axis out of range, ValueError for shapes that do not fit, TypeError for
    dtypes.

    >>> nd.gather(nd.asarray([[1, 2], [3, 4]]), nd.asarray([[1], [0]]), axis=1)
    array([[2],
           [3]], dtype=int64, device='cpu:0')
    """
    read = _ndock._gather_padded if padded else _ndock._gather
    return read(x, _ndock._operand("gather", x, indices), axis)


_MODES = {"set": 0, "add": 1, "min": 2, "max": 3}


def scatter(x: Array, indices: ArrayLike, source: ArrayLike, /, *, axis: int = -1,
            mode: Literal["set", "add", "min", "max"] = "set", copy: bool = True, padded: bool = False) -> Array:
    """x with x[i, indices[i, j, k], k] = source[i, j, k] (axis 1), or the sum, the smaller or larger of both. source
    broadcasts to the shape of indices and takes x's dtype. Of duplicates the last in C order wins, sums are made in C
    order. copy=False: x itself is updated and returned. padded: an index that is the largest value of its dtype writes
    nothing; the result is a copy then.

    mode: what meets x's element. Errors: IndexError for an index or an axis out of range, ValueError for shapes that do
    not fit, TypeError for dtypes.

    >>> nd.scatter(nd.zeros(3), [2, 0], [1.0, 5.0])
    array([5., 0., 1.], dtype=float64, device='cpu:0')
    """
    if mode not in _MODES:
        raise ValueError(f"scatter(): mode is one of {', '.join(_MODES)}, not {mode!r}")
    indices, source = _ndock._operand("scatter", x, indices), _ndock._operand("scatter", x, source)
    if padded and not copy:
        raise ValueError("scatter(): padded=True makes a copy")
    if padded:
        return _ndock._scatter_padded(x, indices, source, axis, _MODES[mode])
    return _ndock._scatter(x, indices, source, axis, _MODES[mode], copy)


def index_add(x: Array, indices: ArrayLike, source: ArrayLike, /, *, axis: int = 0, copy: bool = True,
              padded: bool = False) -> Array:
    """x with x[..., indices[j], ...] += source[..., j, ...] along axis, indices of one dimension, in C order. copy=False:
    x itself is updated and returned. padded: an index that is the largest value of its dtype adds nothing; the result is
    a copy then.

    Errors: IndexError for an index or an axis out of range, ValueError for shapes that do not fit, TypeError for
    dtypes.

    >>> nd.index_add(nd.zeros(3), [0, 2, 0], [1.0, 2.0, 3.0])
    array([4., 0., 2.], dtype=float64, device='cpu:0')
    """
    indices, source = _ndock._operand("index_add", x, indices), _ndock._operand("index_add", x, source)
    if padded and not copy:
        raise ValueError("index_add(): padded=True makes a copy")
    if padded:
        return _ndock._scatter_padded(x, indices, source, axis, -1)
    return _ndock._index_add(x, indices, source, axis, copy)


def compress(condition: ArrayLike, x: Array, /, *, axis: Optional[int] = None) -> Array:
    """x's slices along axis where the one-dimensional bool condition is true; axis=None: of x flattened. Waits for the
    number of them.

    Errors: IndexError for an index or an axis out of range, ValueError for shapes that do not fit, TypeError for
    dtypes.

    >>> nd.compress([True, False, True], nd.asarray([1, 2, 3]))
    array([1, 3], dtype=int64, device='cpu:0')
    """
    condition = _ndock._operand("compress", x, condition)
    if axis is None:
        x, axis = _ndock._reshape(x, (x.size,), None), 0
    rows = _ndock._select(_ndock._moveaxis(x, axis, 0), condition)
    return _ndock._moveaxis(rows, 0, axis)


def masked_select(x: Array, mask: ArrayLike, /) -> Array:
    """The elements of x where mask is true, both broadcast, in C order as one dimension. Waits for the number of them.

    Errors: IndexError for an index or an axis out of range, ValueError for shapes that do not fit, TypeError for
    dtypes.

    >>> nd.masked_select(nd.asarray([1, 2, 3]), nd.asarray([True, False, True]))
    array([1, 3], dtype=int64, device='cpu:0')
    """
    chosen = _ndock._operand("masked_select", x, mask)
    shape = _ndock._broadcast_shapes(x.shape, chosen.shape)
    return _ndock._select(_ndock._broadcast_to(x, shape), _ndock._broadcast_to(chosen, shape))


def argmax(x: Array, /, *, axis: Optional[int] = None, keepdims: bool = False, out: Optional[Array] = None) -> Array:
    """Position (int64) of the first largest element, or of the first NaN, along axis; None: in x flattened. ValueError of
    nothing.

    keepdims: the reduced axes stay with extent one. out: a writable Array of the result's shape, which is returned.

    >>> nd.argmax(nd.asarray([[1, 5, 2], [7, 3, 9]]), axis=1)
    array([1, 2], dtype=int64, device='cpu:0')
    """
    return _ndock._argmax(x, axis, None, keepdims, 0.0, out)


def argmin(x: Array, /, *, axis: Optional[int] = None, keepdims: bool = False, out: Optional[Array] = None) -> Array:
    """Position (int64) of the first smallest element, or of the first NaN, along axis; None: in x flattened. ValueError
    of nothing.

    keepdims: the reduced axes stay with extent one. out: a writable Array of the result's shape, which is returned.

    >>> nd.argmin(nd.asarray([[1, 5, 2], [7, 3, 9]]), axis=1)
    array([0, 1], dtype=int64, device='cpu:0')
    """
    return _ndock._argmin(x, axis, None, keepdims, 0.0, out)


def nonzero(x: Array, /) -> tuple[Array, ...]:
    """Positions of the elements that are not zero, in C order: one int64 array for each axis. ValueError for an array
    without axes. Waits for the number of them.

    x: an Array.

    >>> nd.nonzero(nd.asarray([0, 3, 0, 4]))
    (array([1, 3], dtype=int64, device='cpu:0'),)
    """
    return _ndock._nonzero(x)
