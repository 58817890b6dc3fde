# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The elementwise functions whose arguments are more than operands; all others come from the op table.

Operands are Arrays on one device, at least one, and Python scalars, which take the arrays' dtype where their kind allows.
Shapes broadcast, dtypes are promoted. out: a writable Array of the result's shape, which is returned. Queued on the
current stream. ValueError for shapes and devices that do not fit, TypeError for dtypes."""
from __future__ import annotations

from . import _ndock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._types import Array, Literal, Operand, Optional

__all__ = ["celu", "clip", "elu", "float_power", "frexp", "gelu", "leaky_relu", "modf", "prelu", "where"]


def clip(x: Array, /, min: Optional[Operand] = None, max: Optional[Operand] = None, *,
         out: Optional[Array] = None) -> Array:
    """Each element of x brought into [min, max]; a bound of None is none. NaN in any operand gives NaN; where min > max
    the result is max.

    out: a writable Array of the result's shape, which is returned. Errors: ValueError for shapes that do not broadcast
    or devices that differ, TypeError for dtypes.

    >>> nd.clip(nd.asarray([1, 5, 9]), 2, 6)
    array([2, 5, 6], dtype=int64, device='cpu:0')
    """
    if min is not None and max is not None:
        return _ndock.clip(x, min, max, out=out)
    if max is not None:
        return _ndock.minimum(x, max, out=out)
    if min is not None:
        return _ndock.maximum(x, min, out=out)
    if out is None:
        return _ndock._astype(x, None, True, None)
    return _ndock.maximum(x, x, out=out)


def where(condition: Array, x1: Operand, x2: Operand, /, *, out: Optional[Array] = None) -> Array:
    """x1 where the array condition, bool or integers, is not 0, else x2; all three broadcast. Two scalars meet in the default dtype of
    their kind.

    out: a writable Array of the result's shape, which is returned. Errors: ValueError for shapes that do not broadcast
    or devices that differ, TypeError for dtypes.

    >>> nd.where(nd.asarray([True, False]), 1, nd.asarray([5, 6]))
    array([1, 6], dtype=int64, device='cpu:0')
    """
    return _ndock.where(condition, x1, x2, out=out)


def elu(x: Array, /, alpha: Operand = 1.0, *, out: Optional[Array] = None) -> Array:
    """x for x > 0, else alpha*(exp(x) - 1); floating dtypes.

    out: a writable Array of the result's shape, which is returned. Errors: ValueError for shapes that do not broadcast
    or devices that differ, TypeError for dtypes.

    >>> nd.elu(nd.asarray([0.0, 2.0]))
    array([0., 2.], dtype=float64, device='cpu:0')
    """
    return _ndock.elu(x, alpha, out=out)


def gelu(x: Array, /, *, approximate: Literal["none", "tanh"] = "none", out: Optional[Array] = None) -> Array:
    """x times the normal distribution's probability below x: x/2*erfc(-x/sqrt(2)), or with approximate="tanh"
    x/2*(1 + tanh(sqrt(2/pi)*(x + 0.044715 x^3))); NaN at -inf. Source: Hendrycks and Gimpel, arXiv 1606.08415.

    out: a writable Array of the result's shape, which is returned. Errors: ValueError for shapes that do not broadcast
    or devices that differ, TypeError for dtypes.

    >>> nd.gelu(nd.asarray([0.0]))
    array([0.], dtype=float64, device='cpu:0')
    """
    if approximate == "none":
        return _ndock.gelu(x, out=out)
    if approximate == "tanh":
        return _ndock.gelu_tanh(x, out=out)
    raise ValueError(f'gelu(): approximate is "none" or "tanh", not {approximate!r}')


def leaky_relu(x: Array, /, negative_slope: Operand = 0.01, *, out: Optional[Array] = None) -> Array:
    """x for x > 0, else x*negative_slope; floating dtypes.

    negative_slope: a scalar, or an Array that broadcasts. out: a writable Array of the result's shape, which is returned. Errors:
    ValueError for shapes that do not broadcast or devices that differ, TypeError for dtypes.

    >>> nd.leaky_relu(nd.asarray([-2.0, 2.0]), 0.5)
    array([-1.,  2.], dtype=float64, device='cpu:0')
    """
    return _ndock.leaky_relu(x, negative_slope, out=out)


def prelu(x: Array, /, weight: Operand, *, out: Optional[Array] = None) -> Array:
    """x for x > 0, else x*weight; floating dtypes: leaky_relu with a slope that is learned. Source: He et al., arXiv 1502.01852.

    weight: a scalar or an Array of one element, for all of x; or a vector with one for each channel, which is axis 1 of x (its only
    axis if there is one). out: a writable Array of x's shape, which is returned. Errors: ValueError for another number of weights
    than channels or devices that differ, TypeError for dtypes.

    >>> nd.prelu(nd.asarray([[-1.0, -1.0], [2.0, -3.0]]), nd.asarray([0.5, 0.25]))
    array([[-0.5 , -0.25],
           [ 2.  , -0.75]], dtype=float64, device='cpu:0')
    """
    if isinstance(weight, _ndock.Array) and weight.size != 1:
        channels = x.shape[1] if x.ndim > 1 else x.size
        if weight.ndim != 1 or weight.size != channels:
            raise ValueError(f"prelu(): weight of shape {weight.shape} is neither one number nor one for each of the "
                             f"{channels} channels of x")
        weight = weight.reshape((channels,) + (1,) * max(x.ndim - 2, 0))
    elif isinstance(weight, _ndock.Array):
        weight = weight.reshape(())
    return _ndock.leaky_relu(x, weight, out=out)


def celu(x: Array, /, alpha: Operand = 1.0, *, out: Optional[Array] = None) -> Array:
    """x for x > 0, else alpha*(exp(x/alpha) - 1); NaN there where alpha is 0. Floating dtypes. Source: Barron, arXiv 1704.07483.

    out: a writable Array of the result's shape, which is returned. Errors: ValueError for shapes that do not broadcast
    or devices that differ, TypeError for dtypes.

    >>> nd.celu(nd.asarray([0.0, 2.0]), 0.5)
    array([0., 2.], dtype=float64, device='cpu:0')
    """
    return _ndock.celu(x, alpha, out=out)


def frexp(x: Array, /) -> tuple[Array, Array]:
    """(mantissa, exponent) with x = mantissa * 2**exponent and 0.5 <= abs(mantissa) < 1, both of x's shape: the mantissa in x's
    floating dtype (bool and integers are computed in float64), the exponent in int32. Zeros, infinities and NaN are their own
    mantissas, with an exponent of 0. TypeError for complex dtypes. nd.ldexp is the way back.

    x: an Array.

    >>> nd.frexp(nd.asarray([-12.0]))
    (array([-0.75], dtype=float64, device='cpu:0'), array([4], dtype=int32, device='cpu:0'))
    """
    return _ndock.frexp_mantissa(x), _ndock._astype(_ndock.frexp_exponent(x), "int32", True, None)


def modf(x: Array, /) -> tuple[Array, Array]:
    """(fraction, whole) with x = fraction + whole, both of x's shape and sign and in its floating dtype (bool and integers are
    computed in float64). The fraction of an infinity is zero. TypeError for complex dtypes.

    x: an Array.

    >>> nd.modf(nd.asarray([-2.5]))
    (array([-0.5], dtype=float64, device='cpu:0'), array([-2.], dtype=float64, device='cpu:0'))
    """
    fraction = _ndock.modf_fraction(x)
    return fraction, _ndock.trunc(_ndock._astype(x, fraction.dtype, False, None))


def float_power(x1: Operand, x2: Operand, /, *, out: Optional[Array] = None) -> Array:
    """x1 raised to x2 in float64, or in complex128 where an operand is complex; shapes broadcast. At least one is an Array.

    out: a writable Array of the result's shape, which is returned. Errors: ValueError for shapes that do not broadcast
    or devices that differ, TypeError for dtypes. Source: NumPy's float_power.

    >>> nd.float_power(nd.asarray([2, 4]), -1)
    array([0.5 , 0.25], dtype=float64, device='cpu:0')
    """
    wide = [_ndock._astype(x, "complex128" if x.dtype.kind == "c" else "float64", False, None)
            if isinstance(x, _ndock.Array) else x for x in (x1, x2)]
    return _ndock.pow(wide[0], wide[1], out=out)
