# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sets of two arrays, distinct slices, partitions and sorting by several keys, with NumPy's names."""
from __future__ import annotations

from . import _ndock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._types import Any, Array, ArrayLike, Optional, Sequence, Union

__all__ = ["argpartition", "intersect1d", "lexsort", "partition", "setdiff1d", "setxor1d", "union1d", "unique"]


def unique(x: Array, /, return_index: bool = False, return_inverse: bool = False, return_counts: bool = False,
           axis: Optional[int] = None) -> Union[Array, tuple[Array, ...]]:
    """The distinct values of x flattened, or its distinct slices along axis, ascending (slices by their first elements,
    then the next). With return_index also the first position of each, with return_inverse the number of each element of x
    (of x's shape; one dimension with axis), with return_counts how often each occurs: int64, in this order. Each NaN is
    distinct. Waits. Slices take a sort for each of their elements.

    Errors: TypeError for dtypes without an order, IndexError for an axis out of range.

    >>> nd.unique(nd.asarray([[1, 0], [0, 5], [1, 0]]), return_counts=True, axis=0)[1]
    array([1, 2], dtype=int64, device='cpu:0')
    """
    wanted = (True, return_index, return_inverse, return_counts)
    if axis is None:
        found = _ndock._unique(x, return_index + 2 * return_inverse + 4 * return_counts)
    else:
        found = [a for a, w in zip(_ndock._unique_axis(x, axis), wanted) if w]
    return tuple(found) if len(found) > 1 else found[0]


def intersect1d(x1: Array, x2: ArrayLike, /, assume_unique: bool = False,
                return_indices: bool = False) -> Union[Array, tuple[Array, Array, Array]]:
    """The distinct values that x1 and x2 have in common, ascending; with return_indices also the first position of each in
    x1 and in x2 (int64). Waits.

    assume_unique has no effect. Errors: TypeError for dtypes that do not go together.

    >>> nd.intersect1d(nd.asarray([3, 1, 3]), [3, 4])
    array([3], dtype=int64, device='cpu:0')
    """
    r = _ndock._intersect1d(x1, _ndock._operand("intersect1d", x1, x2), return_indices)
    return (r[0], r[1], r[2]) if return_indices else r[0]


def union1d(x1: Array, x2: ArrayLike, /) -> Array:
    """The distinct values of x1 and x2 together, ascending. Waits.

    Errors: TypeError for dtypes that do not go together.

    >>> nd.union1d(nd.asarray([3, 1, 3]), [3, 4])
    array([1, 3, 4], dtype=int64, device='cpu:0')
    """
    return _ndock._union1d(x1, _ndock._operand("union1d", x1, x2))


def setdiff1d(x1: Array, x2: ArrayLike, /, assume_unique: bool = False) -> Array:
    """The distinct values of x1 that are not in x2, ascending. Waits.

    assume_unique has no effect. Errors: TypeError for dtypes that do not go together.

    >>> nd.setdiff1d(nd.asarray([3, 1, 3]), [3, 4])
    array([1], dtype=int64, device='cpu:0')
    """
    return _ndock._setdiff1d(x1, _ndock._operand("setdiff1d", x1, x2))


def setxor1d(x1: Array, x2: ArrayLike, /, assume_unique: bool = False) -> Array:
    """The distinct values that are in one of x1 and x2 alone, ascending. Waits.

    assume_unique has no effect. Errors: TypeError for dtypes that do not go together.

    >>> nd.setxor1d(nd.asarray([3, 1, 3]), [3, 4])
    array([1, 4], dtype=int64, device='cpu:0')
    """
    return _ndock._setxor1d(x1, _ndock._operand("setxor1d", x1, x2))


def _kth(function: str, x: Array, kth: Any, axis: int) -> int:
    """The only one of kth, or the first of those that are all in range: the result is right for each."""
    if hasattr(kth, "__index__"):
        return int(kth)
    all_of_them = [int(k) for k in kth]
    extent = x.shape[axis]
    for k in all_of_them:
        if not -extent <= k < extent:
            raise IndexError(f"{function}(): kth = {k} is out of range for {extent} elements")
    return all_of_them[0] if all_of_them else 0


def partition(x: Array, kth: Union[int, Sequence[int]], /, axis: Optional[int] = -1) -> Array:
    """x rearranged along axis so that the kth element of the sorted order is in its place, none that is larger before it,
    none that is smaller after it; axis=None: of x flattened. NaN counts as largest.

    Errors: IndexError for kth or an axis out of range, TypeError for dtypes without an order.

    >>> nd.partition(nd.asarray([7, 1, 5, 2]), 1)[1]
    array(2, dtype=int64, device='cpu:0')
    """
    if axis is None:
        x, axis = _ndock._reshape(x, (x.size,), None), -1
    return _ndock._partition(x, _kth("partition", x, kth, axis), axis)


def argpartition(x: Array, kth: Union[int, Sequence[int]], /, axis: Optional[int] = -1) -> Array:
    """Positions (int64) that rearrange x along axis as partition does.

    kth: the element, or elements. Errors: IndexError for kth or an axis out of range, TypeError for dtypes without an
    order.

    >>> nd.argpartition(nd.asarray([7, 1, 5, 2]), 1)[1]
    array(3, dtype=int64, device='cpu:0')
    """
    if axis is None:
        x, axis = _ndock._reshape(x, (x.size,), None), -1
    return _ndock._argpartition(x, _kth("argpartition", x, kth, axis), axis)


def lexsort(keys: Union[Array, Sequence[Array]], /, axis: int = -1) -> Array:
    """Positions (int64) along axis that sort by the last of keys, Arrays of one shape; of equal ones by the key before, and
    so on. Equal in all keys: in their order.

    Errors: ValueError for no keys or shapes that differ, IndexError for an axis out of range.

    >>> nd.lexsort([nd.asarray([9, 4, 0]), nd.asarray([1, 5, 1])])
    array([2, 0, 1], dtype=int64, device='cpu:0')
    """
    return _ndock._lexsort(_ndock._unstack(keys, 0) if isinstance(keys, _ndock.Array) else keys, axis)
