# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Derivatives, integrals, interpolation and polynomials of sampled functions, and running extremes, with NumPy's names.
Integers are computed in float64, but for ediff1d and polyval. Queued on the current stream, nothing waits."""
from __future__ import annotations

from . import _ndock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._types import Any, Array, ArrayLike, Axes, Literal, Operand, Optional, Union

__all__ = ["cummax", "cummin", "ediff1d", "gradient", "interp", "polyval", "roots", "trapezoid"]


def _given(function: str, x: Array, other: Any) -> Any:
    """A scalar or sequence as an Array beside x; None stays."""
    if other is None or isinstance(other, _ndock.Array):
        return other
    if hasattr(other, "__len__"):
        return _ndock._operand(function, x, other)
    return _ndock.full((), other, dtype=_ndock.result_type(x, other), device=x.device)


def ediff1d(x: Array, /, to_end: Optional[Operand] = None, to_begin: Optional[Operand] = None) -> Array:
    """Differences of neighbours in x flattened, in x's dtype, with to_begin before and to_end after them.

    Errors: TypeError for dtypes that do not go together.

    >>> nd.ediff1d(nd.asarray([1, 4, 9]), to_begin=[0])
    array([0, 3, 5], dtype=int64, device='cpu:0')
    """
    return _ndock._ediff1d(x, _given("ediff1d", x, to_begin), _given("ediff1d", x, to_end))


def gradient(x: Array, /, *spacing: Any, axis: Axes = None, edge_order: Literal[1, 2] = 1) -> Union[Array, list[Array]]:
    """Derivative along axis, of x's shape: central differences inside, of edge_order at the ends; along several axes (None:
    all) a list. spacing: the distance of samples, 1 by default, for all axes or for each; or an Array or list of
    coordinates.

    Errors: ValueError for too few samples, or spacings that do not fit; IndexError for an axis out of range.

    >>> nd.gradient(nd.asarray([1.0, 2.0, 4.0, 7.0]))
    array([1. , 1.5, 2.5, 3. ], dtype=float64, device='cpu:0')
    """
    axes = list(range(x.ndim)) if axis is None else [axis] if hasattr(axis, "__index__") else list(axis)
    steps = list(spacing) * (len(axes) if len(spacing) == 1 else 1) if spacing else [1.0] * len(axes)
    if len(steps) != len(axes):
        raise ValueError(f"gradient(): {len(spacing)} spacings for {len(axes)} axes")
    result = []
    for step, along in zip(steps, axes):
        single = isinstance(step, (int, float))
        coordinates = None if single else _given("gradient", x, step)
        if coordinates is not None and coordinates.ndim == 0:
            step, coordinates, single = coordinates.item(), None, True
        result.append(_ndock._gradient(x, float(step) if single else 1.0, coordinates, along, edge_order))
    return result[0] if len(axes) == 1 else result


def trapezoid(y: Array, /, x: Optional[ArrayLike] = None, dx: float = 1.0, axis: int = -1) -> Array:
    """Integral of y along axis by the trapezoidal rule. Samples are dx apart, or at the coordinates x: of y's shape, or one
    dimension.

    Errors: ValueError for shapes that do not fit, IndexError for an axis out of range.

    >>> nd.trapezoid(nd.asarray([1.0, 2.0, 3.0]), dx=2.0)
    array(8., dtype=float64, device='cpu:0')
    """
    return _ndock._trapezoid(y, dx, _given("trapezoid", y, x), axis)


def interp(x: Operand, xp: Array, fp: ArrayLike, /, left: Optional[float] = None, right: Optional[float] = None,
           period: Optional[float] = None) -> Array:
    """The values at x of the line through the points (xp[i], fp[i]), xp ascending: float64, complex128 of complex fp.
    left, right: the values below and above all points, by default those of the first and last. period: of x and xp, which
    need not ascend then.

    Errors: ValueError for shapes that do not fit, TypeError for complex x or xp.

    >>> nd.interp(2.5, nd.asarray([1.0, 2.0, 3.0]), [3.0, 2.0, 0.0])
    array(1., dtype=float64, device='cpu:0')
    """
    if period is not None and period == 0:
        raise ValueError("interp(): a period of 0")
    return _ndock._interp(_given("interp", xp, x), xp, _given("interp", xp, fp), left is not None, left or 0.0,
                          right is not None, right or 0.0, period or 0.0)


def polyval(p: Operand, x: Operand, /) -> Array:
    """The polynomial with the coefficients p (the highest power first) at x, by Horner's rule.

    Errors: ValueError where p has not one dimension, TypeError where neither is an Array.

    >>> nd.polyval(nd.asarray([3, 0, 1]), nd.asarray([5, 1]))
    array([76,  4], dtype=int64, device='cpu:0')
    """
    if isinstance(p, _ndock.Array):
        return _ndock._polyval(p, _given("polyval", p, x))
    if not isinstance(x, _ndock.Array):
        raise TypeError("polyval() needs at least one ndock.Array")
    return _ndock._polyval(_given("polyval", x, p), x)


def _one_axis(x: Array, axis: Optional[int], function: str) -> int:
    if axis is None and x.ndim != 1:
        raise ValueError(f"{function}() needs axis= for an array of {x.ndim} dimensions")
    return 0 if axis is None else axis


def cummax(x: Array, /, axis: Optional[int] = None) -> Array:
    """Running largest element along axis, which may be left out for one dimension; NaN propagates. Of a real dtype.

    x: an Array. Errors: ValueError without an axis, TypeError for complex dtypes, IndexError for an axis out of range.

    >>> nd.cummax(nd.asarray([1, 3, 2, 5, 4]))
    array([1, 3, 3, 5, 5], dtype=int64, device='cpu:0')
    """
    return _ndock._cummax(x, _one_axis(x, axis, "cummax"))


def cummin(x: Array, /, axis: Optional[int] = None) -> Array:
    """Running smallest element along axis, which may be left out for one dimension; NaN propagates. Of a real dtype.

    x: an Array. Errors: ValueError without an axis, TypeError for complex dtypes, IndexError for an axis out of range.

    >>> nd.cummin(nd.asarray([4, 5, 2, 3, 1]))
    array([4, 4, 2, 2, 1], dtype=int64, device='cpu:0')
    """
    return _ndock._cummin(x, _one_axis(x, axis, "cummin"))


def roots(p: Array, /) -> Array:
    """The roots of the polynomial with the coefficients p (one dimension, the highest power first): the eigenvalues of its
    companion matrix, in no order, each as often as its multiplicity. Complex, of p's precision, float64's for integers.
    How many there are depends on the values, so the host waits.

    Errors: ValueError where p has not one dimension; what nd.linalg.eigvals raises.

    >>> nd.round(nd.sort(nd.roots(nd.asarray([1, 0, -4])).real))
    array([-2.,  2.], dtype=float64, device='cpu:0')
    """
    return _ndock._roots(p)
