# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Statistical and utility functions: reductions, scans, normalisations.

axis: an int, a tuple of ints, or None for all; negative ones count from the end; IndexError out of range. keepdims: the
reduced axes stay with extent one. out: a writable Array of the result's shape, which is returned. Sums are pairwise or
better, with the same bits for every thread count. Queued on the current stream, nothing waits."""
from __future__ import annotations

from . import _ndock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._types import Array, Axes, DTypeLike, Optional

__all__ = ["all", "any", "count_nonzero", "cumulative_prod", "cumulative_sum", "diff", "layer_norm", "log_softmax",
           "logsumexp", "max", "mean", "min", "prod", "rms_norm", "softmax", "std", "sum", "var"]


def sum(x: Array, /, *, axis: Axes = None, dtype: Optional[DTypeLike] = None, keepdims: bool = False,
        out: Optional[Array] = None) -> Array:
    """Sum. dtype (computed and answered in): by default x's, int64 for bool and smaller signed, uint64 for smaller
    unsigned integers. 0 of nothing.

    keepdims: the reduced axes stay with extent one. out: a writable Array of the result's shape, which is returned.
    Errors: ValueError for shapes that do not fit, TypeError for dtypes, IndexError for an axis out of range.

    >>> nd.sum(nd.asarray([[1, 2], [3, 4]]), axis=1)
    array([3, 7], dtype=int64, device='cpu:0')
    """
    return _ndock._sum(x, axis, dtype, keepdims, 0.0, out)


def prod(x: Array, /, *, axis: Axes = None, dtype: Optional[DTypeLike] = None, keepdims: bool = False,
         out: Optional[Array] = None) -> Array:
    """Product; dtype as for sum. 1 of nothing.

    x: an Array. keepdims: the reduced axes stay with extent one. out: a writable Array of the result's shape, which is
    returned. Errors: ValueError for shapes that do not fit, TypeError for dtypes, IndexError for an axis out of range.

    >>> nd.prod(nd.asarray([[1, 2], [3, 4]]), axis=1)
    array([ 2, 12], dtype=int64, device='cpu:0')
    """
    return _ndock._prod(x, axis, dtype, keepdims, 0.0, out)


def max(x: Array, /, *, axis: Axes = None, keepdims: bool = False, out: Optional[Array] = None) -> Array:
    """Largest element, of a real dtype; NaN propagates. ValueError of nothing.

    x: an Array. keepdims: the reduced axes stay with extent one. out: a writable Array of the result's shape, which is
    returned.

    >>> nd.max(nd.asarray([[1, 5], [7, 3]]), axis=0)
    array([7, 5], dtype=int64, device='cpu:0')
    """
    return _ndock._max(x, axis, None, keepdims, 0.0, out)


def min(x: Array, /, *, axis: Axes = None, keepdims: bool = False, out: Optional[Array] = None) -> Array:
    """Smallest element, of a real dtype; NaN propagates. ValueError of nothing.

    x: an Array. keepdims: the reduced axes stay with extent one. out: a writable Array of the result's shape, which is
    returned.

    >>> nd.min(nd.asarray([[1, 5], [7, 3]]), axis=0)
    array([1, 3], dtype=int64, device='cpu:0')
    """
    return _ndock._min(x, axis, None, keepdims, 0.0, out)


def mean(x: Array, /, *, axis: Axes = None, dtype: Optional[DTypeLike] = None, keepdims: bool = False,
         out: Optional[Array] = None) -> Array:
    """Arithmetic mean; of integers in float64. NaN of nothing.

    x: an Array. keepdims: the reduced axes stay with extent one. out: a writable Array of the result's shape, which is
    returned. Errors: ValueError for shapes that do not fit, TypeError for dtypes, IndexError for an axis out of range.

    >>> nd.mean(nd.asarray([[1.0, 2.0], [3.0, 4.0]]), axis=0)
    array([2., 3.], dtype=float64, device='cpu:0')
    """
    return _ndock._mean(x, axis, dtype, keepdims, 0.0, out)


def var(x: Array, /, *, axis: Axes = None, correction: float = 0.0, keepdims: bool = False,
        out: Optional[Array] = None) -> Array:
    """Variance: the mean squared distance from the mean, over count - correction (0: population, 1: sample). NaN where
    that is not positive. Of complex arrays the real result of squared moduli.

    x: an Array. axis: an int, a tuple of ints, or None for all; negative ones count from the end. keepdims: the reduced
    axes stay with extent one. out: a writable Array of the result's shape, which is returned. Errors: ValueError for
    shapes that do not fit, TypeError for dtypes, IndexError for an axis out of range.

    >>> nd.var(nd.asarray([1.0, 3.0]), correction=1)
    array(2., dtype=float64, device='cpu:0')
    """
    return _ndock._var(x, axis, None, keepdims, correction, out)


def std(x: Array, /, *, axis: Axes = None, correction: float = 0.0, keepdims: bool = False,
        out: Optional[Array] = None) -> Array:
    """Standard deviation: the square root of var.

    x: an Array. axis: an int, a tuple of ints, or None for all; negative ones count from the end. correction: as of
    var. keepdims: the reduced axes stay with extent one. out: a writable Array of the result's shape, which is
    returned. Errors: ValueError for shapes that do not fit, TypeError for dtypes, IndexError for an axis out of range.

    >>> nd.std(nd.asarray([1.0, 3.0]))
    array(1., dtype=float64, device='cpu:0')
    """
    return _ndock._std(x, axis, None, keepdims, correction, out)


def all(x: Array, /, *, axis: Axes = None, keepdims: bool = False, out: Optional[Array] = None) -> Array:
    """Whether no element is zero (NaN is not zero), as bool. True of nothing.

    x: an Array. axis: an int, a tuple of ints, or None for all; negative ones count from the end. keepdims: the reduced
    axes stay with extent one. out: a writable Array of the result's shape, which is returned. Errors: ValueError for
    shapes that do not fit, TypeError for dtypes, IndexError for an axis out of range.

    >>> nd.all(nd.asarray([True, False]))
    array(False, dtype=bool, device='cpu:0')
    """
    return _ndock._all(x, axis, None, keepdims, 0.0, out)


def any(x: Array, /, *, axis: Axes = None, keepdims: bool = False, out: Optional[Array] = None) -> Array:
    """Whether some element is not zero, as bool. False of nothing.

    x: an Array. axis: an int, a tuple of ints, or None for all; negative ones count from the end. keepdims: the reduced
    axes stay with extent one. out: a writable Array of the result's shape, which is returned. Errors: ValueError for
    shapes that do not fit, TypeError for dtypes, IndexError for an axis out of range.

    >>> nd.any(nd.asarray([True, False]))
    array(True, dtype=bool, device='cpu:0')
    """
    return _ndock._any(x, axis, None, keepdims, 0.0, out)


def count_nonzero(x: Array, /, *, axis: Axes = None, keepdims: bool = False, out: Optional[Array] = None) -> Array:
    """Number of elements that are not zero, as int64.

    x: an Array. axis: an int, a tuple of ints, or None for all; negative ones count from the end. keepdims: the reduced
    axes stay with extent one. out: a writable Array of the result's shape, which is returned. Errors: ValueError for
    shapes that do not fit, TypeError for dtypes, IndexError for an axis out of range.

    >>> nd.count_nonzero(nd.asarray([0, 3, 0, 4]))
    array(2, dtype=int64, device='cpu:0')
    """
    return _ndock._count_nonzero(x, axis, None, keepdims, 0.0, out)


def logsumexp(x: Array, /, *, axis: Axes = None, keepdims: bool = False, out: Optional[Array] = None) -> Array:
    """log(sum(exp(x))) without overflow, of a floating dtype; -inf of nothing.

    axis: an int, a tuple of ints, or None for all; negative ones count from the end. keepdims: the reduced axes stay
    with extent one. out: a writable Array of the result's shape, which is returned. Errors: ValueError for shapes that
    do not fit, TypeError for dtypes, IndexError for an axis out of range.

    >>> nd.logsumexp(nd.asarray([1000.0]))
    array(1000., dtype=float64, device='cpu:0')
    """
    return _ndock._logsumexp(x, axis, None, keepdims, 0.0, out)


def _only_axis(x: Array, axis: Optional[int], function: str) -> int:
    if axis is None and x.ndim != 1:
        raise ValueError(f"{function}() needs axis= for an array of {x.ndim} dimensions")
    return 0 if axis is None else axis


def cumulative_sum(x: Array, /, *, axis: Optional[int] = None, dtype: Optional[DTypeLike] = None,
                   include_initial: bool = False, out: Optional[Array] = None) -> Array:
    """Running sum along axis, which may be left out for one dimension. include_initial: one longer, beginning with 0.
    dtype as for sum.

    x: an Array. Errors: ValueError for shapes that do not fit, TypeError for dtypes, IndexError for an axis out of
    range.

    >>> nd.cumulative_sum(nd.asarray([1, 2, 3, 4]), include_initial=True)
    array([ 0,  1,  3,  6, 10], dtype=int64, device='cpu:0')
    """
    return _ndock._cumulative_sum(x, _only_axis(x, axis, "cumulative_sum"), dtype, include_initial, out)


def cumulative_prod(x: Array, /, *, axis: Optional[int] = None, dtype: Optional[DTypeLike] = None,
                    include_initial: bool = False, out: Optional[Array] = None) -> Array:
    """Running product along axis, which may be left out for one dimension. include_initial: one longer, beginning with 1.
    dtype as for sum.

    x: an Array. Errors: ValueError for shapes that do not fit, TypeError for dtypes, IndexError for an axis out of
    range.

    >>> nd.cumulative_prod(nd.asarray([1, 2, 3, 4]))
    array([ 1,  2,  6, 24], dtype=int64, device='cpu:0')
    """
    return _ndock._cumulative_prod(x, _only_axis(x, axis, "cumulative_prod"), dtype, include_initial, out)


def diff(x: Array, /, *, axis: int = -1, n: int = 1, prepend: Optional[Array] = None,
         append: Optional[Array] = None) -> Array:
    """x[i+1] - x[i] along axis, n times over; bool: x[i+1] != x[i]. prepend, append: arrays put before and after x along
    axis first. ValueError for n < 0.

    >>> nd.diff(nd.asarray([1, 4, 9, 16]))
    array([3, 5, 7], dtype=int64, device='cpu:0')
    """
    parts = [p for p in (prepend, x, append) if p is not None]
    return _ndock._diff(_ndock._concat(parts, axis) if len(parts) > 1 else x, axis, n)


def softmax(x: Array, /, *, axis: Axes = -1) -> Array:
    """exp(x - max(x)) over its sum along axis (or axes together); floating dtypes, the result has x's shape.

    Errors: ValueError for shapes that do not fit, TypeError for dtypes, IndexError for an axis out of range.

    >>> nd.softmax(nd.asarray([1.0, 1.0]))
    array([0.5, 0.5], dtype=float64, device='cpu:0')
    """
    return _ndock._softmax(x, axis)


def log_softmax(x: Array, /, *, axis: Axes = -1) -> Array:
    """x - logsumexp(x) along axis (or axes together); floating dtypes, the result has x's shape.

    Errors: ValueError for shapes that do not fit, TypeError for dtypes, IndexError for an axis out of range.

    >>> nd.exp(nd.log_softmax(nd.asarray([1.0, 1.0])))
    array([0.5, 0.5], dtype=float64, device='cpu:0')
    """
    return _ndock._log_softmax(x, axis)


def layer_norm(x: Array, /, scale: Optional[Array] = None, bias: Optional[Array] = None, *,
               axis: Axes = -1, eps: float = 1e-5) -> Array:
    """(x - mean)/sqrt(var + eps)*scale + bias along axis (or axes together; None: all). scale and bias have the shape of those axes.
    Source: Ba, Kiros and Hinton, arXiv 1607.06450.

    Errors: ValueError for shapes that do not fit, TypeError for dtypes, IndexError for an axis out of range.

    >>> nd.layer_norm(nd.asarray([1.0, 3.0]), eps=0.0)
    array([-1.,  1.], dtype=float64, device='cpu:0')
    """
    return _ndock._layer_norm(x, scale, bias, axis, eps)


def rms_norm(x: Array, /, scale: Optional[Array] = None, *, axis: Axes = -1,
             eps: float = 1e-5) -> Array:
    """x/sqrt(mean(x*x) + eps)*scale along axis (or axes together; None: all). scale has the shape of those axes. Source:
    Zhang and Sennrich, arXiv 1910.07467.

    Errors: ValueError for shapes that do not fit, TypeError for dtypes, IndexError for an axis out of range.

    >>> nd.rms_norm(nd.asarray([3.0, 3.0]), eps=0.0)
    array([1., 1.], dtype=float64, device='cpu:0')
    """
    return _ndock._rms_norm(x, scale, axis, eps)
