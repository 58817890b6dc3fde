# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Arrays beside each other, cut apart and turned, with NumPy's names. What is cut and turned are views, which share x's
elements and queue nothing; what is put together is new and dense, queued on the current stream. ValueError for shapes that
do not fit, IndexError for an axis out of range."""
from __future__ import annotations

from . import _ndock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._types import Any, Array, Sequence, Union

__all__ = ["array_split", "atleast_1d", "atleast_2d", "atleast_3d", "block", "column_stack", "dsplit", "dstack", "fliplr",
           "flipud", "hsplit", "hstack", "rot90", "split", "vsplit", "vstack"]


def hstack(arrays: Sequence[Array], /) -> Array:
    """The arrays beside each other: along axis 1, of one dimension along axis 0. Dtypes are promoted.

    arrays: at least one Array. Errors: ValueError for shapes that do not fit.

    >>> nd.hstack([nd.asarray([1, 2]), nd.asarray([3, 4])])
    array([1, 2, 3, 4], dtype=int64, device='cpu:0')
    """
    return _ndock._hstack(arrays)


def vstack(arrays: Sequence[Array], /) -> Array:
    """The arrays below each other: along axis 0, where one dimension is a row. Dtypes are promoted.

    arrays: at least one Array. Errors: ValueError for shapes that do not fit.

    >>> nd.vstack([nd.asarray([1, 2]), nd.asarray([3, 4])])
    array([[1, 2],
           [3, 4]], dtype=int64, device='cpu:0')
    """
    return _ndock._vstack(arrays)


def dstack(arrays: Sequence[Array], /) -> Array:
    """The arrays behind each other: along axis 2, after atleast_3d. Dtypes are promoted.

    arrays: at least one Array. Errors: ValueError for shapes that do not fit.

    >>> nd.dstack([nd.asarray([1, 2]), nd.asarray([3, 4])]).shape
    (1, 2, 2)
    """
    return _ndock._dstack(arrays)


def column_stack(arrays: Sequence[Array], /) -> Array:
    """The arrays as columns of a matrix: along axis 1, where one dimension is a column. Dtypes are promoted.

    arrays: at least one Array. Errors: ValueError for shapes that do not fit.

    >>> nd.column_stack([nd.asarray([1, 2]), nd.asarray([3, 4])])
    array([[1, 3],
           [2, 4]], dtype=int64, device='cpu:0')
    """
    return _ndock._column_stack(arrays)


def _joined(blocks: Any, depth: int, axis: int, ndim: int) -> Array:
    if depth == 0:
        if not isinstance(blocks, _ndock.Array):
            raise TypeError(f"block() takes nested lists of ndock.Arrays, not {type(blocks).__name__}")
        return _ndock._reshape(blocks, (1,) * (ndim - blocks.ndim) + blocks.shape, None)
    return _ndock._concat([_joined(b, depth - 1, axis + 1, ndim) for b in blocks], axis)


def _depth_of(blocks: Any) -> tuple[int, int]:
    """How deeply the lists are nested, and the highest rank of an array in them."""
    if not isinstance(blocks, list):
        return 0, getattr(blocks, "ndim", 0)
    if not blocks:
        raise ValueError("block(): a list is empty")
    inner = [_depth_of(b) for b in blocks]
    if len({d for d, _ in inner}) > 1:
        raise ValueError("block(): the lists are not nested equally deeply")
    return inner[0][0] + 1, max([n for _, n in inner])


def block(blocks: Any, /) -> Array:
    """An array of blocks in nested lists: those of the innermost lists beside each other along the last axis, those of the
    next ones along the last but one, and so on. Arrays of fewer dimensions get extents of one in front.

    blocks: an Array, or lists of such. Errors: ValueError for shapes or nesting that do not fit, TypeError for what is no
    Array.

    >>> nd.block([[nd.ones((1, 1)), nd.zeros((1, 2))], [nd.zeros((1, 1)), nd.ones((1, 2))]])
    array([[1., 0., 0.],
           [0., 1., 1.]], dtype=float64, device='cpu:0')
    """
    depth, rank = _depth_of(blocks)
    ndim = depth if depth > rank else rank
    if depth == 0:
        return _joined(blocks, 0, 0, ndim).copy()
    return _joined(blocks, depth, ndim - depth, ndim)


def _places(places: Any) -> tuple[int, ...]:
    return tuple([int(p) for p in (places.tolist() if isinstance(places, _ndock.Array) else places)])


def _cut(x: Array, parts: Any, axis: int, even: bool) -> list[Array]:
    if hasattr(parts, "__index__") and not (isinstance(parts, _ndock.Array) and parts.ndim):
        return _ndock._split(x, int(parts), axis, even)
    return _ndock._split(x, _places(parts), axis, even)


def split(x: Array, indices_or_sections: Union[int, Sequence[int]], /, axis: int = 0) -> list[Array]:
    """Views of x cut along axis: an int is the number of equal parts, a sequence the positions before which it is cut.

    indices_or_sections: as said. Errors: ValueError where parts would be unequal (array_split takes those), IndexError for
    an axis out of range.

    >>> nd.split(nd.arange(4), 2)[1]
    array([2, 3], dtype=int64, device='cpu:0')
    """
    return _cut(x, indices_or_sections, axis, True)


def array_split(x: Array, indices_or_sections: Union[int, Sequence[int]], /, axis: int = 0) -> list[Array]:
    """As split of x along axis, but parts may be unequal: the first ones are longer by one.

    indices_or_sections: the number of parts, or positions. Errors: ValueError below one part, IndexError for an axis out of
    range.

    >>> [p.shape for p in nd.array_split(nd.arange(5), 2)]
    [(3,), (2,)]
    """
    return _cut(x, indices_or_sections, axis, False)


def hsplit(x: Array, indices_or_sections: Union[int, Sequence[int]], /) -> list[Array]:
    """split along axis 1, of one dimension axis 0.

    x: an Array of at least 1 dimension. indices_or_sections: as for split. Errors: ValueError for shapes that do not fit.

    >>> nd.hsplit(nd.arange(4), 2)[0]
    array([0, 1], dtype=int64, device='cpu:0')
    """
    if x.ndim < 1:
        raise ValueError(f"hsplit(): {x.ndim} dimensions where at least 1 is needed")
    return _cut(x, indices_or_sections, 1 if x.ndim > 1 else 0, True)


def vsplit(x: Array, indices_or_sections: Union[int, Sequence[int]], /) -> list[Array]:
    """split along axis 0.

    x: an Array of at least 2 dimensions. indices_or_sections: as for split. Errors: ValueError for shapes that do not fit.

    >>> nd.vsplit(nd.zeros((4, 3)), 2)[0].shape
    (2, 3)
    """
    if x.ndim < 2:
        raise ValueError(f"vsplit(): {x.ndim} dimensions where at least 2 are needed")
    return _cut(x, indices_or_sections, 0, True)


def dsplit(x: Array, indices_or_sections: Union[int, Sequence[int]], /) -> list[Array]:
    """split along axis 2.

    x: an Array of at least 3 dimensions. indices_or_sections: as for split. Errors: ValueError for shapes that do not fit.

    >>> nd.dsplit(nd.zeros((1, 2, 4)), 2)[0].shape
    (1, 2, 2)
    """
    if x.ndim < 3:
        raise ValueError(f"dsplit(): {x.ndim} dimensions where at least 3 are needed")
    return _cut(x, indices_or_sections, 2, True)


def atleast_1d(*arrays: Array) -> Union[Array, tuple[Array, ...]]:
    """Views of the arrays with at least 1 dimension, of one array the view itself.

    arrays: Arrays. Errors: TypeError for what is none.

    >>> nd.atleast_1d(nd.asarray(5)).shape
    (1,)
    """
    views = tuple([_ndock._atleast(x, 1) for x in arrays])
    return views[0] if len(views) == 1 else views


def atleast_2d(*arrays: Array) -> Union[Array, tuple[Array, ...]]:
    """Views of the arrays with at least 2 dimensions, of one array the view itself. A vector becomes a row.

    arrays: Arrays. Errors: TypeError for what is none.

    >>> nd.atleast_2d(nd.asarray(5)).shape
    (1, 1)
    """
    views = tuple([_ndock._atleast(x, 2) for x in arrays])
    return views[0] if len(views) == 1 else views


def atleast_3d(*arrays: Array) -> Union[Array, tuple[Array, ...]]:
    """Views of the arrays with at least 3 dimensions, of one array the view itself. A vector becomes (1, n, 1), a matrix (m, n, 1).

    arrays: Arrays. Errors: TypeError for what is none.

    >>> nd.atleast_3d(nd.asarray(5)).shape
    (1, 1, 1)
    """
    views = tuple([_ndock._atleast(x, 3) for x in arrays])
    return views[0] if len(views) == 1 else views


def rot90(x: Array, /, k: int = 1, axes: Sequence[int] = (0, 1)) -> Array:
    """A view of x turned k times by 90 degrees in the plane of axes, from the first towards the second.

    Errors: ValueError below two dimensions or for equal axes, IndexError for an axis out of range.

    >>> nd.rot90(nd.asarray([[1, 2], [3, 4]]))
    array([[2, 4],
           [1, 3]], dtype=int64, device='cpu:0')
    """
    first, second = axes
    return _ndock._rot90(x, k, first, second)


def fliplr(x: Array, /) -> Array:
    """A view of x reversed along axis 1.

    x: an Array. Errors: ValueError below two dimensions.

    >>> nd.fliplr(nd.asarray([[1, 2], [3, 4]]))
    array([[2, 1],
           [4, 3]], dtype=int64, device='cpu:0')
    """
    return _ndock._fliplr(x)


def flipud(x: Array, /) -> Array:
    """A view of x reversed along axis 0.

    x: an Array. Errors: ValueError of an array without axes.

    >>> nd.flipud(nd.asarray([1, 2, 3]))
    array([3, 2, 1], dtype=int64, device='cpu:0')
    """
    return _ndock._flipud(x)
