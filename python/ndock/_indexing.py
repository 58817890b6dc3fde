# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Indexing and searching functions. Indices are integer Arrays on x's device; negative ones count from the end. One out
of range is an IndexError with its position and value; on an asynchronous device it may be raised by a later call that
waits. Queued on the current stream; what waits says so."""
from __future__ import annotations

from . import _ndock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._types import Array, Axes, Literal, Optional

__all__ = ["argmax", "argmin", "compress", "gather", "index_add", "masked_select", "nonzero", "scatter", "take",
           "take_along_axis"]


def take(x: Array, indices: Array, /, *, axis: Optional[int] = None) -> Array:
    """x's slices at the indices along axis, which may be left out for one dimension: x's shape with that axis replaced by
    the shape of indices (of any rank)."""
    if axis is None and x.ndim != 1:
        raise ValueError(f"take() needs axis= for an array of {x.ndim} dimensions")
    return _ndock._take(x, indices, 0 if axis is None else axis)


def take_along_axis(x: Array, indices: Array, /, *, axis: int = -1) -> Array:
    """out[i, j, k] = x[i, indices[i, j, k], k] for axis 1. Ranks are equal, the other axes broadcast."""
    return _ndock._take_along_axis(x, indices, axis)


def gather(x: Array, indices: Array, /, *, axis: int = -1) -> Array:
    """As take_along_axis, but the other axes of indices may be shorter than x's instead of broadcasting, as PyTorch's:
    the result has the shape of indices."""
    return _ndock._gather(x, indices, axis)


_MODES = {"set": 0, "add": 1, "min": 2, "max": 3}


def scatter(x: Array, indices: Array, source: Array, /, *, axis: int = -1,
            mode: Literal["set", "add", "min", "max"] = "set", copy: bool = True) -> Array:
    """x with x[i, indices[i, j, k], k] = source[i, j, k] (axis 1), or the sum, the smaller or larger of both. source
    broadcasts to the shape of indices and takes x's dtype. Of duplicates the last in C order wins, sums are made in C
    order. copy=False: x itself is updated and returned."""
    if mode not in _MODES:
        raise ValueError(f"scatter(): mode is one of {', '.join(_MODES)}, not {mode!r}")
    return _ndock._scatter(x, indices, source, axis, _MODES[mode], copy)


def index_add(x: Array, indices: Array, source: Array, /, *, axis: int = 0, copy: bool = True) -> Array:
    """x with x[..., indices[j], ...] += source[..., j, ...] along axis, indices of one dimension, in C order. copy=False:
    x itself is updated and returned."""
    return _ndock._index_add(x, indices, source, axis, copy)


def compress(condition: Array, x: Array, /, *, axis: Optional[int] = None) -> Array:
    """x's slices along axis where the one-dimensional bool condition is true; axis=None: of x flattened. Waits for the
    number of them."""
    if axis is None:
        x, axis = _ndock._reshape(x, (x.size,), None), 0
    rows = _ndock._select(_ndock._moveaxis(x, axis, 0), condition)
    return _ndock._moveaxis(rows, 0, axis)


def masked_select(x: Array, mask: Array, /) -> Array:
    """The elements of x where mask is true, both broadcast, in C order as one dimension. Waits for the number of them."""
    shape = _ndock._broadcast_shapes(x.shape, mask.shape)
    return _ndock._select(_ndock._broadcast_to(x, shape), _ndock._broadcast_to(mask, shape))


def argmax(x: Array, /, *, axis: Optional[int] = None, keepdims: bool = False, out: Optional[Array] = None) -> Array:
    """Position (int64) of the first largest element, or of the first NaN, along axis; None: in x flattened. ValueError of
    nothing."""
    return _ndock._argmax(x, axis, None, keepdims, 0.0, out)


def argmin(x: Array, /, *, axis: Optional[int] = None, keepdims: bool = False, out: Optional[Array] = None) -> Array:
    """Position (int64) of the first smallest element, or of the first NaN, along axis; None: in x flattened. ValueError
    of nothing."""
    return _ndock._argmin(x, axis, None, keepdims, 0.0, out)


def nonzero(x: Array, /) -> tuple[Array, ...]:
    """Positions of the elements that are not zero, in C order: one int64 array for each axis. ValueError for an array
    without axes. Waits for the number of them."""
    return _ndock._nonzero(x)
