# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Arrays compared to a tolerance, and as a whole. All but isclose wait, and answer a bool of Python's."""
from __future__ import annotations

from . import _ndock
from ._sorting import _as_array

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._types import Array, Operand

__all__ = ["allclose", "array_equal", "array_equiv", "isclose"]


def isclose(x1: Operand, x2: Operand, /, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False) -> Array:
    """Whether |x1 - x2| <= atol + rtol*|x2|, for each element of the broadcast operands, as bool. Infinities are close to
    themselves alone; NaN to nothing, with equal_nan to NaN. Integers are compared in float64.

    Errors: ValueError for shapes that do not broadcast and negative tolerances, TypeError where no operand is an Array.

    >>> nd.isclose(nd.asarray([1.0, 2.0]), nd.asarray([1.0 + 1e-9, 2.1]))
    array([ True, False], dtype=bool, device='cpu:0')
    """
    return _ndock._isclose(_as_array(x1, x2, "isclose"), _as_array(x2, x1, "isclose"), rtol, atol, equal_nan)


def allclose(x1: Operand, x2: Operand, /, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False) -> bool:
    """Whether isclose is true for all elements. Waits.

    x1, x2, rtol, atol, equal_nan: as for isclose. Errors: ValueError for shapes that do not broadcast and negative
    tolerances, TypeError where no operand is an Array.

    >>> nd.allclose(nd.asarray([1.0, 2.0]), [1.0, 2.0 + 1e-9])
    True
    """
    return _ndock._allclose(_as_array(x1, x2, "allclose"), _as_array(x2, x1, "allclose"), rtol, atol, equal_nan)


def array_equal(x1: Operand, x2: Operand, /, equal_nan: bool = False) -> bool:
    """Whether both have one shape and equal elements; with equal_nan NaN equals NaN. Waits.

    Errors: TypeError where x1 and x2 are no Array, or dtypes have nothing in common (uint64 with a signed integer).

    >>> nd.array_equal(nd.asarray([1, 2]), [1.0, 2.0])
    True
    """
    return _ndock._array_equal(_as_array(x1, x2, "array_equal"), _as_array(x2, x1, "array_equal"), equal_nan, False)


def array_equiv(x1: Operand, x2: Operand, /) -> bool:
    """Whether both broadcast to one shape and have equal elements there. Waits.

    Errors: TypeError where x1 and x2 are no Array, or dtypes have nothing in common (uint64 with a signed integer).

    >>> nd.array_equiv(nd.asarray([2, 2]), 2)
    True
    """
    return _ndock._array_equal(_as_array(x1, x2, "array_equiv"), _as_array(x2, x1, "array_equiv"), False, True)
