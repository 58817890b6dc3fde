# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sorting, searching in sorted arrays, and sets. NaN sorts last (first when descending), complex numbers by real, then by
imaginary part. Queued on the current stream; the unique_ functions wait for the number of values."""
from __future__ import annotations

from . import _ndock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._types import Any, Array, Literal, Operand, Optional

__all__ = ["argsort", "isin", "searchsorted", "sort", "topk", "unique_all", "unique_counts", "unique_inverse",
           "unique_values"]


def sort(x: Array, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Array:
    """x sorted along axis. Equal elements always keep their order, whatever stable is.

    Errors: TypeError for dtypes without an order, IndexError for an axis out of range.

    >>> nd.sort(nd.asarray([3, 1, 2]), descending=True)
    array([3, 2, 1], dtype=int64, device='cpu:0')
    """
    return _ndock._sort(x, axis, descending)


def argsort(x: Array, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Array:
    """Positions (int64) that sort x along axis. Equal elements always keep their order, whatever stable is.

    descending: the largest first. Errors: TypeError for dtypes without an order, IndexError for an axis out of range.

    >>> nd.argsort(nd.asarray([3, 1, 2]))
    array([1, 2, 0], dtype=int64, device='cpu:0')
    """
    return _ndock._argsort(x, axis, descending)


class _Fields(tuple):  # type: ignore[type-arg]
    """What the results with named fields have in common with collections.namedtuple, at no cost on import."""

    __slots__ = ()
    _fields: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{n}={v!r}' for n, v in zip(self._fields, self))})"

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (tuple(self),)

    def _asdict(self) -> dict[str, Array]:
        return dict(zip(self._fields, self))


def _field(i: int, doc: str) -> property:
    return property(lambda self: self[i], doc=doc)


class TopK(_Fields):
    """values and indices of topk."""

    __slots__ = ()
    _fields = ("values", "indices")
    values = _field(0, "The largest (smallest) values, in order.")
    indices = _field(1, "Their positions along the axis, int64.")


class UniqueAll(_Fields):
    """values, indices, inverse_indices and counts of unique_all."""

    __slots__ = ()
    _fields = ("values", "indices", "inverse_indices", "counts")
    values = _field(0, "The distinct values.")
    indices = _field(1, "First position of each in x flattened, int64.")
    inverse_indices = _field(2, "Position in values of each element of x, int64, of x's shape.")
    counts = _field(3, "How often each occurs, int64.")


class UniqueCounts(_Fields):
    """values and counts of unique_counts."""

    __slots__ = ()
    _fields = ("values", "counts")
    values = _field(0, "The distinct values.")
    counts = _field(1, "How often each occurs, int64.")


class UniqueInverse(_Fields):
    """values and inverse_indices of unique_inverse."""

    __slots__ = ()
    _fields = ("values", "inverse_indices")
    values = _field(0, "The distinct values.")
    inverse_indices = _field(1, "Position in values of each element of x, int64, of x's shape.")


def topk(x: Array, k: int, /, *, axis: int = -1, largest: bool = True) -> TopK:
    """The k largest (or smallest) values along axis, in order, and their positions: fields values and indices, each of
    x's shape with k along axis. Of equal ones the first; NaN counts as largest. ValueError for k out of [0, extent].

    >>> nd.topk(nd.asarray([3, 9, 5]), 2).values
    array([9, 5], dtype=int64, device='cpu:0')
    """
    return TopK(_ndock._topk(x, k, axis, not largest))


def _as_array(value: Operand, other: Operand, function: str) -> Array:
    """A scalar as an array without axes, with the dtype in which it meets the other operand, on its device."""
    if isinstance(value, _ndock.Array):
        return value
    if not isinstance(other, _ndock.Array):
        raise TypeError(f"{function}() needs at least one ndock.Array")
    if hasattr(value, "__len__"):
        return _ndock._operand(function, other, value)
    return _ndock.full((), value, dtype=_ndock.result_type(other, value), device=other.device)


def searchsorted(x1: Array, x2: Operand, /, *, side: Literal["left", "right"] = "left",
                 sorter: Optional[Array] = None) -> Array:
    """Positions (int64, of x2's shape) at which x2's values would be inserted into the ascending, one-dimensional x1;
    side: before or after equal ones. sorter: indices that sort x1, if it is not sorted itself.

    Errors: TypeError for dtypes without an order, IndexError for an axis out of range.

    >>> nd.searchsorted(nd.asarray([1, 3, 5]), nd.asarray([3, 4]))
    array([1, 2], dtype=int64, device='cpu:0')
    """
    if side not in ("left", "right"):
        raise ValueError(f'searchsorted(): side is "left" or "right", not {side!r}')
    return _ndock._searchsorted(x1, _as_array(x2, x1, "searchsorted"), side == "right", sorter)


def isin(x1: Operand, x2: Operand, /, *, invert: bool = False) -> Array:
    """Whether each element of x1 is (invert: is not) among those of x2: bool, of x1's shape. NaN is in nothing.

    Errors: TypeError for dtypes without an order, IndexError for an axis out of range.

    >>> nd.isin(nd.asarray([1, 2, 3]), nd.asarray([3, 1]))
    array([ True, False,  True], dtype=bool, device='cpu:0')
    """
    return _ndock._isin(_as_array(x1, x2, "isin"), _as_array(x2, x1, "isin"), invert)


def unique_all(x: Array, /) -> UniqueAll:
    """The distinct values of x flattened, ascending, with fields values, indices, inverse_indices, counts. Each NaN is
    distinct; zeros of both signs are equal.

    Errors: TypeError for dtypes without an order, IndexError for an axis out of range.

    >>> nd.unique_all(nd.asarray([2, 1, 2])).counts
    array([1, 2], dtype=int64, device='cpu:0')
    """
    return UniqueAll(_ndock._unique(x, 7))


def unique_counts(x: Array, /) -> UniqueCounts:
    """The distinct values of x flattened, ascending, and how often each occurs: fields values and counts.

    Errors: TypeError for dtypes without an order, IndexError for an axis out of range.

    >>> nd.unique_counts(nd.asarray([2, 1, 2])).counts
    array([1, 2], dtype=int64, device='cpu:0')
    """
    return UniqueCounts(_ndock._unique(x, 4))


def unique_inverse(x: Array, /) -> UniqueInverse:
    """The distinct values of x flattened, ascending, and where each element of x is among them: fields values and
    inverse_indices.

    Errors: TypeError for dtypes without an order, IndexError for an axis out of range.

    >>> nd.unique_inverse(nd.asarray([2, 1, 2])).inverse_indices
    array([1, 0, 1], dtype=int64, device='cpu:0')
    """
    return UniqueInverse(_ndock._unique(x, 2))


def unique_values(x: Array, /) -> Array:
    """The distinct values of x flattened, ascending, as one dimension.

    Errors: TypeError for dtypes without an order, IndexError for an axis out of range.

    >>> nd.unique_values(nd.asarray([2, 1, 2]))
    array([1, 2], dtype=int64, device='cpu:0')
    """
    return _ndock._unique(x, 0)[0]
