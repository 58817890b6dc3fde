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

__all__ = ["clip", "elu", "gelu", "where"]


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
    """x1 where the bool array condition is true, else x2; all three broadcast. Two scalars meet in the default dtype of
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
