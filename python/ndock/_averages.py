# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Order statistics, averages, covariance and correlation, with NumPy's names and arguments.

axis: an int, a tuple of ints, or None for all; negative ones count from the end; IndexError out of range. keepdims: the
reduced axes stay with extent one. Integers are computed in float64, complex numbers have no order (TypeError). Queued on
the current stream, nothing waits but for quantiles that are given as an Array."""
from __future__ import annotations

from . import _ndock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._types import Any, Array, ArrayLike, Axes, DTypeLike, Optional, Sequence, Union

__all__ = ["average", "corrcoef", "cov", "median", "nanmedian", "nanpercentile", "nanquantile", "percentile", "ptp",
           "quantile"]

_METHODS = {"linear": 0, "inverted_cdf": 1, "averaged_inverted_cdf": 2, "closest_observation": 3,
            "interpolated_inverted_cdf": 4, "hazen": 5, "weibull": 6, "median_unbiased": 7, "normal_unbiased": 8, "lower": 9,
            "higher": 10, "nearest": 11, "midpoint": 12}


def median(x: Array, /, axis: Axes = None, *, keepdims: bool = False) -> Array:
    """The middle element in order, or the mean of the two in the middle, along axis. NaN where a row has NaN, or nothing.

    x: an Array of a real dtype. keepdims: the reduced axes stay with extent one. Errors: TypeError for complex dtypes,
    IndexError for an axis out of range.

    >>> nd.median(nd.asarray([[1, 9, 2], [7, 3, 4]]), axis=1)
    array([2., 4.], dtype=float64, device='cpu:0')
    """
    return _ndock._median(x, axis, None, keepdims, 0.0)


def nanmedian(x: Array, /, axis: Axes = None, *, keepdims: bool = False) -> Array:
    """median of the elements that are no NaN; NaN where there is none.

    x: an Array of a real dtype. axis: an int, a tuple of ints, or None for all. keepdims: the reduced axes stay with
    extent one. Errors: TypeError for complex dtypes, IndexError for an axis out of range.

    >>> nd.nanmedian(nd.asarray([4.0, nd.nan, 1.0, 2.0]))
    array(2., dtype=float64, device='cpu:0')
    """
    return _ndock._nanmedian(x, axis, None, keepdims, 0.0)


def _numbers(q: Any) -> tuple[list[float], tuple[int, ...]]:
    """The quantiles one after the other, and their shape."""
    if isinstance(q, (int, float)):
        return [float(q)], ()
    array = q if isinstance(q, _ndock.Array) else _ndock._asarray(q, None, "cpu", None)
    flat = _ndock._reshape(array, (array.size,), None).tolist()
    return [float(v) for v in flat], array.shape


def _quantiles(name: str, x: Array, q: Any, axis: Axes, method: str, keepdims: bool, ignore_nan: bool) -> Array:
    if method not in _METHODS:
        raise ValueError(f"{name}(): method is one of {', '.join(_METHODS)}, not {method!r}")
    numbers, shape = _numbers(q)
    function = _ndock._percentile if name.endswith("percentile") else _ndock._quantile
    r = function(x, numbers, axis, keepdims, _METHODS[method], ignore_nan)
    return r if len(shape) == 1 else _ndock._reshape(r, shape + r.shape[1:], None)


def quantile(x: Array, /, q: Union[float, ArrayLike], axis: Axes = None, *, method: str = "linear",
             keepdims: bool = False) -> Array:
    """The values below which the parts q (each in [0, 1]) of the elements along axis lie; the result's first axes are
    those of q. method, where that falls between two elements: "linear", which is definition 7 of Hyndman and Fan (The
    American Statistician 50, 1996), or one of their others: "inverted_cdf" (1), "averaged_inverted_cdf",
    "closest_observation", "interpolated_inverted_cdf", "hazen", "weibull", "median_unbiased" (8), "normal_unbiased" (9);
    or "lower", "higher", "nearest", "midpoint". Those that pick an element keep the dtype of integers.

    x: an Array of a real dtype. keepdims: the reduced axes stay with extent one. NaN where a row has NaN, or nothing. An
    Array as q is waited for. Errors: ValueError for q out of [0, 1] or an unknown method, TypeError for complex dtypes,
    IndexError for an axis out of range.

    >>> nd.quantile(nd.asarray([1.0, 2.0, 3.0, 4.0]), [0.25, 0.5])
    array([1.75, 2.5 ], dtype=float64, device='cpu:0')
    >>> nd.quantile(nd.asarray([1, 2, 3, 4]), 0.4, method="lower")
    array(2, dtype=int64, device='cpu:0')
    """
    return _quantiles("quantile", x, q, axis, method, keepdims, False)


def percentile(x: Array, /, q: Union[float, ArrayLike], axis: Axes = None, *, method: str = "linear",
               keepdims: bool = False) -> Array:
    """quantile with q in per cent, 0 to 100.

    x: an Array of a real dtype. axis, method and keepdims: as for quantile. Errors: ValueError for q out of [0, 100] or an
    unknown method, TypeError for complex dtypes, IndexError for an axis out of range.

    >>> nd.percentile(nd.asarray([1.0, 2.0, 3.0, 4.0, 5.0]), 75)
    array(4., dtype=float64, device='cpu:0')
    """
    return _quantiles("percentile", x, q, axis, method, keepdims, False)


def nanquantile(x: Array, /, q: Union[float, ArrayLike], axis: Axes = None, *, method: str = "linear",
                keepdims: bool = False) -> Array:
    """quantile of the elements that are no NaN; NaN where there is none.

    x: an Array of a real dtype. q, axis, method and keepdims: as for quantile. Errors: ValueError for q out of [0, 1] or an
    unknown method, TypeError for complex dtypes, IndexError for an axis out of range.

    >>> nd.nanquantile(nd.asarray([1.0, nd.nan, 3.0]), 0.5)
    array(2., dtype=float64, device='cpu:0')
    """
    return _quantiles("nanquantile", x, q, axis, method, keepdims, True)


def nanpercentile(x: Array, /, q: Union[float, ArrayLike], axis: Axes = None, *, method: str = "linear",
                  keepdims: bool = False) -> Array:
    """percentile of the elements that are no NaN; NaN where there is none.

    x: an Array of a real dtype. q, axis, method and keepdims: as for percentile. Errors: ValueError for q out of [0, 100]
    or an unknown method, TypeError for complex dtypes, IndexError for an axis out of range.

    >>> nd.nanpercentile(nd.asarray([1.0, nd.nan, 3.0]), 100)
    array(3., dtype=float64, device='cpu:0')
    """
    return _quantiles("nanpercentile", x, q, axis, method, keepdims, True)


def average(x: Array, /, axis: Axes = None, weights: Optional[ArrayLike] = None, returned: bool = False, *,
            keepdims: bool = False) -> Union[Array, tuple[Array, Array]]:
    """sum(x*weights)/sum(weights) along axis. weights: of x's shape, or one dimension along the only axis; None: all 1.
    returned: the sum of weights too, as a second Array.

    keepdims: the reduced axes stay with extent one. A sum of 0 gives inf or NaN. Errors: ValueError for shapes that do not
    fit, IndexError for an axis out of range.

    >>> nd.average(nd.asarray([1.0, 2.0, 3.0]), weights=nd.asarray([3, 0, 1]))
    array(1.5, dtype=float64, device='cpu:0')
    """
    w = None if weights is None else _ndock._operand("average", x, weights)
    r = _ndock._average(x, w, axis, keepdims)
    return (r[0], r[1]) if returned else r[0]


def ptp(x: Array, /, axis: Axes = None, *, keepdims: bool = False) -> Array:
    """Largest less smallest element along axis; integers wrap, NaN propagates.

    x: an Array of a real dtype. keepdims: the reduced axes stay with extent one. Errors: ValueError of nothing, TypeError
    for complex dtypes, IndexError for an axis out of range.

    >>> nd.ptp(nd.asarray([[4, 9], [2, 3]]), axis=0)
    array([2, 6], dtype=int64, device='cpu:0')
    """
    return _ndock._ptp(x, axis, None, keepdims, 0.0)


def _variables(function: str, x: Array, y: Optional[ArrayLike], rowvar: bool) -> Array:
    """The variables of x and y as the rows of one matrix."""
    if x.ndim > 2:
        raise ValueError(f"{function}(): x has {x.ndim} dimensions; there are at most 2")
    rows = x if x.ndim < 2 or rowvar else x.mT
    if y is None:
        return rows
    other = _ndock._operand(function, x, y)
    other = other if other.ndim < 2 or rowvar else other.mT
    return _ndock._vstack((rows, other))


def cov(x: Array, /, y: Optional[ArrayLike] = None, rowvar: bool = True, bias: bool = False, ddof: Optional[float] = None,
        fweights: Optional[ArrayLike] = None, aweights: Optional[ArrayLike] = None, *,
        dtype: Optional[DTypeLike] = None) -> Array:
    """Covariance matrix of the variables that are x's rows (rowvar=False: columns), and those of y below them; of one
    variable an array without axes. The divisor is the number of observations less ddof, which is 1, or 0 with bias.

    fweights: how often each observation occurs, integers; aweights: how much each weighs. dtype: what it is computed in.
    Errors: ValueError for shapes that do not fit, TypeError for dtypes.

    >>> nd.cov(nd.asarray([[0.0, 1.0, 2.0], [2.0, 1.0, 0.0]]))
    array([[ 1., -1.],
           [-1.,  1.]], dtype=float64, device='cpu:0')
    """
    m = _variables("cov", x, y, rowvar)
    f = None if fweights is None else _ndock._operand("cov", x, fweights)
    a = None if aweights is None else _ndock._operand("cov", x, aweights)
    return _ndock._cov(m, dtype, False, float(ddof) if ddof is not None else 0.0 if bias else 1.0, f, a)


def corrcoef(x: Array, /, y: Optional[ArrayLike] = None, rowvar: bool = True, *,
             dtype: Optional[DTypeLike] = None) -> Array:
    """Pearson's correlation coefficients of the variables that are x's rows (rowvar=False: columns), and those of y below
    them: covariances over the products of standard deviations, clipped to [-1, 1].

    dtype: what it is computed in. Errors: ValueError for shapes that do not fit, TypeError for dtypes.

    >>> nd.corrcoef(nd.asarray([0.0, 1.0, 2.0]), nd.asarray([5.0, 3.0, 1.0]))
    array([[ 1., -1.],
           [-1.,  1.]], dtype=float64, device='cpu:0')
    """
    return _ndock._corrcoef(_variables("corrcoef", x, y, rowvar), dtype, False, 1.0, None, None)
