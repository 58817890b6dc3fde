# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Matrices of diagonals and powers, one-hot rows, windows, with NumPy's names. Queued on the current stream."""
from __future__ import annotations

from . import _ndock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._types import Array, Axes, DeviceLike, DTypeLike, Optional, Sequence, Union

__all__ = ["diag", "diagflat", "one_hot", "sliding_window_view", "tri", "vander"]


def tri(n: int, m: Optional[int] = None, /, k: int = 0, *, dtype: Optional[DTypeLike] = None,
        device: Optional[DeviceLike] = None) -> Array:
    """An n by m (None: n) matrix with ones on and below the k-th diagonal, zeros above, on device.

    dtype: float64 by default. Errors: ValueError for negative extents or an unknown device.

    >>> nd.tri(2, 3)
    array([[1., 0., 0.],
           [1., 1., 0.]], dtype=float64, device='cpu:0')
    """
    return _ndock._tri(device, "float64" if dtype is None else dtype, n, n if m is None else m, k)


def diag(x: Array, /, k: int = 0) -> Array:
    """Of one dimension a matrix with x on its k-th diagonal; of two a copy of the k-th diagonal.

    Errors: ValueError for other ranks.

    >>> nd.diag(nd.asarray([1, 2]))
    array([[1, 0],
           [0, 2]], dtype=int64, device='cpu:0')
    """
    return _ndock._diag(x, k)


def diagflat(x: Array, /, k: int = 0) -> Array:
    """A matrix with x flattened on its k-th diagonal.

    Errors: TypeError for what is no Array.

    >>> nd.diagflat(nd.asarray([[1], [2]]), 1).shape
    (3, 3)
    """
    return _ndock._diagflat(x, k)


def vander(x: Array, /, n: Optional[int] = None, increasing: bool = False) -> Array:
    """Powers of x (one dimension) as n columns (None: as many as elements), the highest first; increasing: from 0 up.

    Errors: ValueError for other than one dimension or a negative n.

    >>> nd.vander(nd.asarray([1, 2, 3]))
    array([[1, 1, 1],
           [4, 2, 1],
           [9, 3, 1]], dtype=int64, device='cpu:0')
    """
    if n is not None and n < 0:
        raise ValueError(f"vander(): {n} columns")
    return _ndock._vander(x, -1 if n is None else n, increasing)


def one_hot(indices: Array, n: int, /, *, dtype: Optional[DTypeLike] = None) -> Array:
    """One at position indices[i] of a new last axis of extent n, zeros elsewhere; of indices out of [0, n) zeros alone.

    dtype: float64 by default. Errors: TypeError for indices that are no integers, ValueError for a negative n.

    >>> nd.one_hot(nd.asarray([1, 0]), 3)
    array([[0., 1., 0.],
           [1., 0., 0.]], dtype=float64, device='cpu:0')
    """
    return _ndock._one_hot(indices, n, "float64" if dtype is None else dtype)


def sliding_window_view(x: Array, window_shape: Union[int, Sequence[int]], /, axis: Axes = None) -> Array:
    """A read-only view of x: windows of window_shape that slide along axis (None: all axes): these become extent - window + 1
    long, and the windows' axes come last.

    Errors: ValueError for windows that do not fit, IndexError for an axis out of range.

    >>> nd.sliding_window_view(nd.arange(4), 3)
    array([[0, 1, 2],
           [1, 2, 3]], dtype=int64, device='cpu:0')
    """
    return _ndock._sliding_window_view(x, window_shape, axis)
