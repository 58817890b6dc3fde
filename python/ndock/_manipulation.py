# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Manipulation functions: views where the elements may stay where they are, else new dense arrays.

Views (broadcast_*, expand_dims, flip, moveaxis, permute_dims, squeeze, unstack, as_strided, reshape where it can) share
x's elements and queue nothing; a view of a read-only array is read-only, and so is a broadcast that stretches. The others
are queued on the current stream. ValueError for shapes that do not fit, IndexError for an axis out of range."""
from __future__ import annotations

from . import _ndock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._types import Any, Array, Axes, Literal, Optional, Scalar, Sequence, Shape, Union

__all__ = ["as_strided", "broadcast_arrays", "broadcast_shapes", "broadcast_to", "concat", "expand_dims", "flip",
           "moveaxis", "pad", "permute_dims", "repeat", "reshape", "roll", "squeeze", "stack", "tile", "transpose", "unstack"]


def broadcast_arrays(*arrays: Array) -> tuple[Array, ...]:
    """Views of all arrays in the one shape that they broadcast to.

    Errors: ValueError for shapes that do not fit, IndexError for an axis out of range.

    >>> [x.shape for x in nd.broadcast_arrays(nd.zeros((2, 1)), nd.zeros(3))]
    [(2, 3), (2, 3)]
    """
    shape = _ndock._broadcast_shapes(*[x.shape for x in arrays])
    return tuple([_ndock._broadcast_to(x, shape) for x in arrays])


def broadcast_shapes(*shapes: Shape) -> tuple[int, ...]:
    """The shape that the shapes broadcast to; () of none. ValueError where they do not.

    >>> nd.broadcast_shapes((2, 1), (3,))
    (2, 3)
    """
    return _ndock._broadcast_shapes(*shapes)


def broadcast_to(x: Array, /, shape: Shape) -> Array:
    """A view of x in a larger shape: extents of one are stretched, axes in front added.

    Errors: ValueError for shapes that do not fit, IndexError for an axis out of range.

    >>> nd.broadcast_to(nd.asarray([1, 2]), (2, 2))
    array([[1, 2],
           [1, 2]], dtype=int64, device='cpu:0')
    """
    return _ndock._broadcast_to(x, shape)


def concat(arrays: Sequence[Array], /, *, axis: Optional[int] = 0) -> Array:
    """The arrays one after the other along axis, in which alone their shapes may differ; axis=None: each flattened first.
    Dtypes are promoted.

    Errors: ValueError for shapes that do not fit, IndexError for an axis out of range.

    >>> nd.concat([nd.asarray([1, 2]), nd.asarray([3])])
    array([1, 2, 3], dtype=int64, device='cpu:0')
    """
    return _ndock._concat(arrays, axis)


def stack(arrays: Sequence[Array], /, *, axis: int = 0) -> Array:
    """The arrays, all of one shape, along a new axis at that position of the result. Dtypes are promoted.

    Errors: ValueError for shapes that do not fit, IndexError for an axis out of range.

    >>> nd.stack([nd.asarray([1, 2]), nd.asarray([3, 4])], axis=1)
    array([[1, 3],
           [2, 4]], dtype=int64, device='cpu:0')
    """
    return _ndock._stack(arrays, axis)


def unstack(x: Array, /, *, axis: int = 0) -> tuple[Array, ...]:
    """Views of x at each position along axis, without that axis.

    Errors: ValueError for shapes that do not fit, IndexError for an axis out of range.

    >>> [row.tolist() for row in nd.unstack(nd.asarray([[1, 2], [3, 4]]))]
    [[1, 2], [3, 4]]
    """
    return _ndock._unstack(x, axis)


def expand_dims(x: Array, /, axis: Union[int, Sequence[int]]) -> Array:
    """A view with extents of one at those positions of the result's shape.

    x: an Array. Errors: ValueError for shapes that do not fit, IndexError for an axis out of range.

    >>> nd.expand_dims(nd.asarray([1, 2]), axis=0).shape
    (1, 2)
    """
    return _ndock._expand_dims(x, axis)


def squeeze(x: Array, /, axis: Axes = None) -> Array:
    """A view without those axes, each of extent one (ValueError for another). None, beyond the standard: all of those.

    x: an Array.

    >>> nd.squeeze(nd.zeros((1, 3, 1)), axis=0).shape
    (3, 1)
    """
    return _ndock._squeeze(x, axis)


def flip(x: Array, /, *, axis: Axes = None) -> Array:
    """A view with the order of elements reversed along axis, by default along all.

    x: an Array. Errors: ValueError for shapes that do not fit, IndexError for an axis out of range.

    >>> nd.flip(nd.asarray([[1, 2], [3, 4]]), axis=1)
    array([[2, 1],
           [4, 3]], dtype=int64, device='cpu:0')
    """
    return _ndock._flip(x, axis)


def moveaxis(x: Array, source: Union[int, Sequence[int]], destination: Union[int, Sequence[int]], /) -> Array:
    """A view with the axes source at the positions destination and the others in their order.

    x: an Array. Errors: ValueError for shapes that do not fit, IndexError for an axis out of range.

    >>> nd.moveaxis(nd.zeros((2, 3, 4)), 0, -1).shape
    (3, 4, 2)
    """
    return _ndock._moveaxis(x, source, destination)


def permute_dims(x: Array, /, axes: Sequence[int]) -> Array:
    """A view whose i-th axis is axes[i] of x; axes is a permutation.

    Errors: ValueError for shapes that do not fit, IndexError for an axis out of range.

    >>> nd.permute_dims(nd.zeros((2, 3, 4)), (2, 0, 1)).shape
    (4, 2, 3)
    """
    return _ndock._permute_dims(x, axes)


def transpose(x: Array, /, axes: Optional[Sequence[int]] = None) -> Array:
    """NumPy's: a view with all axes reversed, or in the order of axes, as permute_dims.

    x: an Array. Errors: ValueError for shapes that do not fit, IndexError for an axis out of range.

    >>> nd.transpose(nd.zeros((2, 3, 4))).shape
    (4, 3, 2)
    """
    return x.transpose() if axes is None else _ndock._permute_dims(x, axes)


def reshape(x: Array, /, shape: Shape, *, copy: Optional[bool] = None) -> Array:
    """x's elements, in C order, in another shape of the same size; one extent may be -1. copy: None, a view if strides
    allow one, else a copy; True, a copy; False, a view or ValueError.

    >>> nd.reshape(nd.arange(6), (2, -1))
    array([[0, 1, 2],
           [3, 4, 5]], dtype=int64, device='cpu:0')
    """
    return _ndock._reshape(x, shape, copy)


def repeat(x: Array, repeats: Union[int, Array], /, *, axis: Optional[int] = None) -> Array:
    """Each element along axis repeats times; axis=None: of x flattened. repeats may be an integer array with a count for
    each position; its values are waited for, since they decide the result's shape.

    Errors: ValueError for shapes that do not fit, IndexError for an axis out of range.

    >>> nd.repeat(nd.asarray([1, 2]), 2)
    array([1, 1, 2, 2], dtype=int64, device='cpu:0')
    """
    if axis is None:
        return _ndock._repeat(_ndock._reshape(x, (-1,) if x.size else (0,), None), repeats, 0)
    return _ndock._repeat(x, repeats, axis)


def roll(x: Array, /, shift: Union[int, Sequence[int]], *, axis: Axes = None) -> Array:
    """Elements moved by shift positions towards larger indices along axis, those past the end to the front. Several axes:
    one shift for all or for each. axis=None: as if x were flat.

    Errors: ValueError for shapes that do not fit, IndexError for an axis out of range.

    >>> nd.roll(nd.asarray([1, 2, 3]), 1)
    array([3, 1, 2], dtype=int64, device='cpu:0')
    """
    return _ndock._roll(x, shift, axis)


def tile(x: Array, repetitions: Sequence[int], /) -> Array:
    """x repeated as a whole repetitions[i] times along axis i; the shorter of both is extended by ones in front.

    Errors: ValueError for shapes that do not fit, IndexError for an axis out of range.

    >>> nd.tile(nd.asarray([1, 2]), (2,))
    array([1, 2, 1, 2], dtype=int64, device='cpu:0')
    """
    return _ndock._tile(x, repetitions)


_MODES = {"constant": 0, "edge": 1, "reflect": 2, "wrap": 3}


def pad(x: Array, /, pad_width: Union[int, Sequence[int], Sequence[Sequence[int]]], *,
        mode: Literal["constant", "edge", "reflect", "wrap"] = "constant", constant_values: Scalar = 0) -> Array:
    """x with elements added around it. pad_width, as NumPy's: a width for every side of every axis, (before, after) for
    every axis, or one such pair for each axis. mode: constant_values; the edge's value; mirrored without the edge; from
    the other end.

    Errors: ValueError for shapes that do not fit, IndexError for an axis out of range.

    >>> nd.pad(nd.asarray([1, 2]), (1, 2), constant_values=9)
    array([9, 1, 2, 9, 9], dtype=int64, device='cpu:0')
    """
    if mode not in _MODES:
        raise ValueError(f"pad(): mode is one of {', '.join(_MODES)}, not {mode!r}")
    pairs = _pairs(pad_width, x.ndim)
    return _ndock._pad(x, [p[0] for p in pairs], [p[1] for p in pairs], _MODES[mode], constant_values)


def _pairs(width: Any, ndim: int) -> list[tuple[int, int]]:
    if hasattr(width, "__index__"):
        return [(width, width)] * ndim
    width = list(width)
    if all(hasattr(w, "__index__") for w in width):
        width = [width]
    pairs = [(w[0], w[-1]) for w in (list(w) for w in width)]
    if len(pairs) == 1:
        pairs *= ndim
    if len(pairs) != ndim:
        raise ValueError(f"pad(): {len(pairs)} pairs of widths for an array of {ndim} dimensions")
    return pairs


def as_strided(x: Array, /, shape: Sequence[int], strides: Sequence[int], *, offset: Optional[int] = None) -> Array:
    """A view of x's storage by any shape and strides, in elements, from offset (by default x's own) elements after the
    storage's start. IndexError where it would leave the storage. Elements that overlap are written at one's own risk.

    >>> nd.as_strided(nd.arange(5), (3, 3), (1, 1))
    array([[0, 1, 2],
           [1, 2, 3],
           [2, 3, 4]], dtype=int64, device='cpu:0')
    """
    return _ndock._as_strided(x, shape, strides, offset)
