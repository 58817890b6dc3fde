# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Positions in C order and coordinates, each from the other, and open grids of indices, with NumPy's names."""
from __future__ import annotations

from . import _ndock
from ._editing import _mode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._types import Array, Literal, Sequence, Shape

__all__ = ["ix_", "ravel_multi_index", "unravel_index"]


def unravel_index(indices: Array, shape: Shape, /) -> tuple[Array, ...]:
    """Coordinates (int64 Arrays, one for each axis) of positions in the C order of an array of that shape. Waits.

    indices: integers. Errors: IndexError for one out of range.

    >>> nd.unravel_index(nd.asarray([5]), (2, 3))
    (array([1], dtype=int64, device='cpu:0'), array([2], dtype=int64, device='cpu:0'))
    """
    return _ndock._unravel_index(indices, shape)


def ravel_multi_index(multi_index: Sequence[Array], dims: Shape, /,
                      mode: Literal["raise", "wrap", "clip"] = "raise") -> Array:
    """Position in the C order of an array of shape dims of the coordinates multi_index, one Array for each axis, which
    broadcast. mode, for coordinates out of range: IndexError (which waits), wrapped, or clipped.

    Errors: IndexError as said, ValueError for a number of coordinates that is not the rank.

    >>> nd.ravel_multi_index((nd.asarray([1, 0]), nd.asarray([2, 1])), (2, 3))
    array([5, 1], dtype=int64, device='cpu:0')
    """
    return _ndock._ravel_multi_index(multi_index, dims, _mode("ravel_multi_index", mode))


def ix_(*args: Array) -> tuple[Array, ...]:
    """Views of one-dimensional Arrays that broadcast with each other, so that x[nd.ix_(rows, cols)] is the block of these
    rows and columns; of bools their positions, for which it waits.

    args: integers or bools. Errors: ValueError for other than one dimension.

    >>> [a.shape for a in nd.ix_(nd.asarray([0, 2]), nd.asarray([1, 2, 3]))]
    [(2, 1), (1, 3)]
    """
    result = []
    for i, a in enumerate(args):
        if a.ndim != 1:
            raise ValueError(f"ix_(): argument {i} has {a.ndim} dimensions, not 1")
        a = _ndock._nonzero(a)[0] if a.dtype == "bool" else a
        result.append(_ndock._reshape(a, (1,) * i + (a.size,) + (1,) * (len(args) - i - 1), None))
    return tuple(result)
