# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Functions of Python's called for each row or element: slow, each call costs microseconds and waits for the values. For
what has no array operation alone."""
from __future__ import annotations

from . import _ndock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._types import Any, Array, DTypeLike, Optional

__all__ = ["apply_along_axis", "vectorize"]


def apply_along_axis(func1d: Any, axis: int, x: Array, /, *args: Any, **kwargs: Any) -> Array:
    """func1d called with each row of x along axis, a view of one dimension, and args and kwargs; its results, Arrays or
    scalars of one shape, take the place of that axis. Slow: it is a loop in Python.

    Errors: IndexError for an axis out of range, ValueError of nothing or for results of several shapes.

    >>> nd.apply_along_axis(lambda row: row[0] + row[-1], 1, nd.asarray([[1, 2], [3, 4]]))
    array([3, 7], dtype=int64, device='cpu:0')
    """
    moved = _ndock._moveaxis(x, axis, -1)
    kept = moved.shape[:-1]
    size = 1
    for n in kept:
        size *= n
    if size == 0:
        raise ValueError("apply_along_axis(): there is no row to call the function with")
    rows = _ndock._reshape(moved, (size, moved.shape[-1]), None)
    made = [func1d(rows[i], *args, **kwargs) for i in range(size)]
    made = [r if isinstance(r, _ndock.Array) else _ndock._asarray(r, None, x.device, None) for r in made]
    inner = made[0].ndim
    result = _ndock._reshape(_ndock._stack(made, 0), kept + made[0].shape, None)
    at = axis + x.ndim if axis < 0 else axis
    return _ndock._moveaxis(result, list(range(len(kept), len(kept) + inner)), list(range(at, at + inner)))


class vectorize:
    """vectorize(pyfunc, otypes): a function that calls pyfunc with Python's numbers for each element of its operands, which
    broadcast, and puts the results into an Array of otypes (a dtype; None: by the results), or a tuple of Arrays where
    pyfunc returns tuples. Slow: it is a loop in Python and waits for all elements.

    >>> nd.vectorize(lambda a, b: a - b if a > b else a + b)(nd.asarray([1, 2, 3]), 2)
    array([3, 4, 1], dtype=int64, device='cpu:0')
    """

    def __init__(self, pyfunc: Any, otypes: Optional[DTypeLike] = None) -> None:
        self.pyfunc = pyfunc
        self.otypes = otypes
        self.__doc__ = pyfunc.__doc__

    def __call__(self, *args: Any) -> Any:
        arrays = [a for a in args if isinstance(a, _ndock.Array)]
        if not arrays:
            raise TypeError("vectorize() needs at least one ndock.Array")
        shape = _ndock._broadcast_shapes(*[a.shape for a in arrays])
        columns = [_ndock._reshape(_ndock._broadcast_to(a, shape), (-1,) if a.size else (0,), None).tolist()
                   if isinstance(a, _ndock.Array) else None for a in args]
        size = 1
        for n in shape:
            size *= n
        if size == 0:
            return _ndock.zeros(shape, dtype=self.otypes or "float64", device=arrays[0].device)
        made = [self.pyfunc(*[a if c is None else c[i] for a, c in zip(args, columns)]) for i in range(size)]
        if isinstance(made[0], tuple):
            return tuple([self._array(list(part), shape, arrays[0].device) for part in zip(*made)])
        return self._array(made, shape, arrays[0].device)

    def _array(self, values: list[Any], shape: tuple[int, ...], device: Any) -> Array:
        return _ndock._reshape(_ndock._asarray(values, self.otypes, device, None), shape, None)
