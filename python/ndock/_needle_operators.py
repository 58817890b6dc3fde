# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Arithmetic, comparisons, products and reductions of needle's NDArray."""
from __future__ import annotations

from . import _ndock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any, Union

    from ._needle_array import NDArray

    Number = Union[int, float]
    Axis = Union[None, int, Sequence[int]]

__all__ = ["NeedleError", "Operators", "number"]


class NeedleError(ValueError, AssertionError):
    """A shape, index or dtype that needle refuses; the course's code asserts there."""


def number(x: Any) -> float:
    if hasattr(x, "__float__") or hasattr(x, "__index__"):
        return float(x)
    raise TypeError(f"needle computes with NDArrays and real numbers, not {type(x)}")


class Operators:
    """The part of NDArray that computes; it reads views as they are and gives new, compact arrays."""

    if TYPE_CHECKING:
        _array: _ndock.Array

        @property
        def shape(self) -> tuple[int, ...]: ...
        @property
        def ndim(self) -> int: ...
        def _new(self, array: _ndock.Array) -> NDArray: ...

    def _other(self, other: Any) -> Union[_ndock.Array, float]:
        if not isinstance(other, Operators):
            return number(other)
        if other.shape != self.shape:
            raise NeedleError(f"shapes {self.shape} and {other.shape} differ; broadcast_to() makes them equal")
        return other._array

    def __add__(self, other: Any) -> NDArray:
        return self._new(self._array + self._other(other))

    def __sub__(self, other: Any) -> NDArray:
        return self._new(self._array - self._other(other))

    def __rsub__(self, other: Any) -> NDArray:
        return self._new(self._other(other) - self._array)

    def __mul__(self, other: Any) -> NDArray:
        return self._new(self._array * self._other(other))

    def __truediv__(self, other: Any) -> NDArray:
        return self._new(self._array / self._other(other))

    def __rtruediv__(self, other: Any) -> NDArray:
        return self._new(self._other(other) / self._array)

    def __neg__(self) -> NDArray:
        return self._new(-self._array)

    def __pow__(self, other: Number) -> NDArray:
        """To the power of a number; NaN for a negative base with a fractional exponent."""
        return self._new(self._array ** number(other))

    __radd__, __rmul__ = __add__, __mul__

    def _compare(self, function: Any, other: Any) -> NDArray:
        out = _ndock.empty(self.shape, dtype="float32", device=self._array.device)
        return self._new(function(self._array, self._other(other), out=out))

    def __eq__(self, other: Any) -> NDArray:  # type: ignore[override]
        return self._compare(_ndock.equal, other)

    def __ne__(self, other: Any) -> NDArray:  # type: ignore[override]
        return self._compare(_ndock.not_equal, other)

    def __ge__(self, other: Any) -> NDArray:
        return self._compare(_ndock.greater_equal, other)

    def __gt__(self, other: Any) -> NDArray:
        return self._compare(_ndock.greater, other)

    def __le__(self, other: Any) -> NDArray:
        return self._compare(_ndock.less_equal, other)

    def __lt__(self, other: Any) -> NDArray:
        return self._compare(_ndock.less, other)

    __hash__ = None  # type: ignore[assignment]

    def maximum(self, other: Any) -> NDArray:
        """The larger of both, element by element; NaN propagates."""
        return self._new(_ndock.maximum(self._array, self._other(other)))

    def log(self) -> NDArray:
        return self._new(_ndock.log(self._array))

    def exp(self) -> NDArray:
        return self._new(_ndock.exp(self._array))

    def tanh(self) -> NDArray:
        return self._new(_ndock.tanh(self._array))

    def __matmul__(self, other: NDArray) -> NDArray:
        """The matrix product of two matrices, in full float32 precision whatever the math mode."""
        if not isinstance(other, Operators):
            return NotImplemented
        if self.ndim != 2 or other.ndim != 2 or self.shape[1] != other.shape[0]:
            raise NeedleError(f"@ takes matrices (m, n) and (n, p), not {self.shape} and {other.shape}")
        return self._new(_ndock._needle_matmul(self._array, other._array))

    # ---- reductions
    def _which(self, axis: Axis) -> tuple[int, ...]:
        axes = (axis,) if isinstance(axis, int) else tuple(range(self.ndim)) if axis is None else tuple(axis)
        for a in axes:
            if not -self.ndim <= a < self.ndim:
                raise NeedleError(f"axis {a} is out of range for {self.ndim} axes")
        result = tuple(a % self.ndim for a in axes)
        if len(set(result)) < len(result):
            raise NeedleError(f"{axes} names an axis twice")
        return result

    def _reduce(self, function: Any, axis: Axis, keepdims: bool) -> NDArray:
        axes = self._which(axis)
        if axis is not None and not axes:
            raise NeedleError("an empty tuple of axes leaves nothing to reduce")
        result = self._new(function(self._array, axis=axes, keepdims=keepdims))
        return result.reshape((1,)) if axis is None and not keepdims else result

    def sum(self, axis: Axis = None, keepdims: bool = False) -> NDArray:
        """Over one axis or several; over all it has the shape (1,), as in the course, or with keepdims extents of 1."""
        from . import sum
        return self._reduce(sum, axis, keepdims)

    def max(self, axis: Axis = None, keepdims: bool = False) -> NDArray:
        """The largest element, likewise; NaN propagates."""
        from . import max
        return self._reduce(max, axis, keepdims)
