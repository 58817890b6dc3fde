# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reductions and scans that leave NaN out, and nan_to_num. Of integers, which have no NaN, they are the plain ones.

axis: an int, a tuple of ints, or None for all; negative ones count from the end; IndexError out of range. keepdims: the
reduced axes stay with extent one. Queued on the current stream; nanargmin and nanargmax wait."""
from __future__ import annotations

from . import _ndock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._types import Array, Axes, DTypeLike, Optional

__all__ = ["nan_to_num", "nanargmax", "nanargmin", "nancumprod", "nancumsum", "nanmax", "nanmean", "nanmin", "nanprod",
           "nanstd", "nansum", "nanvar"]


def nansum(x: Array, /, axis: Axes = None, *, dtype: Optional[DTypeLike] = None, keepdims: bool = False) -> Array:
    """Sum with 0 in NaN's place. dtype (computed and answered in): as for sum.

    x: an Array. axis: an int, a tuple of ints, or None for all. keepdims: the reduced axes stay with extent one.
    Errors: TypeError for dtypes, IndexError for an axis out of range.

    >>> nd.nansum(nd.asarray([3.0, nd.nan, 2.0]))
    array(5., dtype=float64, device='cpu:0')
    """
    return _ndock._nansum(x, axis, dtype, keepdims, 0.0)


def nanprod(x: Array, /, axis: Axes = None, *, dtype: Optional[DTypeLike] = None, keepdims: bool = False) -> Array:
    """Product with 1 in NaN's place. dtype (computed and answered in): as for sum.

    x: an Array. axis: an int, a tuple of ints, or None for all. keepdims: the reduced axes stay with extent one.
    Errors: TypeError for dtypes, IndexError for an axis out of range.

    >>> nd.nanprod(nd.asarray([3.0, nd.nan, 2.0]))
    array(6., dtype=float64, device='cpu:0')
    """
    return _ndock._nanprod(x, axis, dtype, keepdims, 0.0)


def nanmean(x: Array, /, axis: Axes = None, *, dtype: Optional[DTypeLike] = None, keepdims: bool = False) -> Array:
    """Mean of the elements that are no NaN; NaN where there is none. dtype: computed and answered in.

    x: an Array. axis: an int, a tuple of ints, or None for all. keepdims: the reduced axes stay with extent one.
    Errors: TypeError for dtypes, IndexError for an axis out of range.

    >>> nd.nanmean(nd.asarray([3.0, nd.nan, 2.0]))
    array(2.5, dtype=float64, device='cpu:0')
    """
    return _ndock._nanmean(x, axis, dtype, keepdims, 0.0)


def _divisor(ddof: float, correction: float) -> float:
    if ddof != 0 and correction != 0:
        raise TypeError("ddof and correction mean the same: give one of them")
    return ddof or correction


def nanvar(x: Array, /, axis: Axes = None, dtype: Optional[DTypeLike] = None, *, ddof: float = 0.0, correction: float = 0.0,
           keepdims: bool = False) -> Array:
    """Variance of the elements that are no NaN, over their count less correction; NaN where that is not positive.

    x: an Array. axis: an int, a tuple of ints, or None for all. dtype: what x is converted to before. ddof: NumPy's name of
    correction. keepdims: the reduced axes stay with extent one.
    Errors: TypeError for dtypes, and where both ddof and correction are given; IndexError for an axis out of range.

    >>> nd.nanvar(nd.asarray([3.0, nd.nan, 1.0]))
    array(1., dtype=float64, device='cpu:0')
    """
    return _ndock._nanvar(x if dtype is None else _ndock._astype(x, dtype, False, None), axis, None, keepdims, _divisor(ddof, correction))


def nanstd(x: Array, /, axis: Axes = None, dtype: Optional[DTypeLike] = None, *, ddof: float = 0.0, correction: float = 0.0,
           keepdims: bool = False) -> Array:
    """Standard deviation: the square root of nanvar. correction, ddof, dtype: as there.

    x: an Array. axis: an int, a tuple of ints, or None for all. keepdims: the reduced axes stay with extent one.
    Errors: TypeError for dtypes, IndexError for an axis out of range.

    >>> nd.nanstd(nd.asarray([3.0, nd.nan, 1.0]))
    array(1., dtype=float64, device='cpu:0')
    """
    return _ndock._nanstd(x if dtype is None else _ndock._astype(x, dtype, False, None), axis, None, keepdims, _divisor(ddof, correction))


def nanmin(x: Array, /, axis: Axes = None, *, keepdims: bool = False) -> Array:
    """Smallest element that is no NaN; NaN where there is none.

    x: an Array of a real dtype. axis: an int, a tuple of ints, or None for all. keepdims: the reduced axes stay with
    extent one. Errors: ValueError of nothing, TypeError for complex dtypes, IndexError for an axis out of range.

    >>> nd.nanmin(nd.asarray([[3.0, nd.nan], [1.0, 2.0]]), axis=0)
    array([1., 2.], dtype=float64, device='cpu:0')
    """
    return _ndock._nanmin(x, axis, None, keepdims, 0.0)


def nanmax(x: Array, /, axis: Axes = None, *, keepdims: bool = False) -> Array:
    """Largest element that is no NaN; NaN where there is none.

    x: an Array of a real dtype. axis: an int, a tuple of ints, or None for all. keepdims: the reduced axes stay with
    extent one. Errors: ValueError of nothing, TypeError for complex dtypes, IndexError for an axis out of range.

    >>> nd.nanmax(nd.asarray([[3.0, nd.nan], [1.0, 2.0]]), axis=0)
    array([3., 2.], dtype=float64, device='cpu:0')
    """
    return _ndock._nanmax(x, axis, None, keepdims, 0.0)


def nanargmin(x: Array, /, axis: Optional[int] = None, *, keepdims: bool = False) -> Array:
    """Position (int64) of the first smallest element that is no NaN, along axis; None: in x flattened.

    x: an Array of a real dtype. keepdims: the reduced axis stays with extent one. Waits. Errors: ValueError where there
    is only NaN to choose from, or nothing, TypeError for complex dtypes, IndexError for an axis out of range.

    >>> nd.nanargmin(nd.asarray([nd.nan, 3.0, 1.0]))
    array(2, dtype=int64, device='cpu:0')
    """
    return _ndock._nanargmin(x, axis, None, keepdims, 0.0)


def nanargmax(x: Array, /, axis: Optional[int] = None, *, keepdims: bool = False) -> Array:
    """Position (int64) of the first largest element that is no NaN, along axis; None: in x flattened.

    x: an Array of a real dtype. keepdims: the reduced axis stays with extent one. Waits. Errors: ValueError where there
    is only NaN to choose from, or nothing, TypeError for complex dtypes, IndexError for an axis out of range.

    >>> nd.nanargmax(nd.asarray([nd.nan, 3.0, 1.0]))
    array(1, dtype=int64, device='cpu:0')
    """
    return _ndock._nanargmax(x, axis, None, keepdims, 0.0)


def _line(x: Array, axis: Optional[int]) -> tuple[Array, int]:
    return (_ndock._reshape(x, (x.size,), None), 0) if axis is None else (x, axis)


def nancumsum(x: Array, /, axis: Optional[int] = None, *, dtype: Optional[DTypeLike] = None) -> Array:
    """Running sum along axis with 0 in NaN's place; axis=None: of x flattened. dtype: as for sum.

    x: an Array. Errors: TypeError for dtypes, IndexError for an axis out of range.

    >>> nd.nancumsum(nd.asarray([3.0, nd.nan, 2.0]))
    array([3., 3., 5.], dtype=float64, device='cpu:0')
    """
    return _ndock._nancumsum(*_line(x, axis), dtype)


def nancumprod(x: Array, /, axis: Optional[int] = None, *, dtype: Optional[DTypeLike] = None) -> Array:
    """Running product along axis with 1 in NaN's place; axis=None: of x flattened. dtype: as for sum.

    x: an Array. Errors: TypeError for dtypes, IndexError for an axis out of range.

    >>> nd.nancumprod(nd.asarray([3.0, nd.nan, 2.0]))
    array([3., 3., 6.], dtype=float64, device='cpu:0')
    """
    return _ndock._nancumprod(*_line(x, axis), dtype)


def nan_to_num(x: Array, /, nan: float = 0.0, posinf: Optional[float] = None, neginf: Optional[float] = None) -> Array:
    """A copy of x with nan in NaN's place, and posinf and neginf in that of the infinities; None: the dtype's largest
    finite value and its negative. In both parts of complex numbers.

    Errors: TypeError for what is no number.

    >>> nd.nan_to_num(nd.asarray([1.0, nd.nan, nd.inf]), posinf=9.0)
    array([1., 0., 9.], dtype=float64, device='cpu:0')
    """
    high = float("nan") if posinf is None else posinf  # which stands for the largest value
    return _ndock._nan_to_num(x, nan, high, float("nan") if neginf is None else neginf)
