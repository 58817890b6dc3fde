# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Histograms and counting. Bins are half-open but for the last, which holds its upper edge too; NaN and what lies outside
are in none. They wait for what decides the bins."""
from __future__ import annotations

from . import _ndock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._types import Any, Array, ArrayLike, Optional, Sequence, Union

    Bins = Union[int, str, ArrayLike]
    Range = Optional[tuple[float, float]]

__all__ = ["bincount", "digitize", "histogram", "histogram2d", "histogram_bin_edges", "histogramdd"]

_RULES = {"auto": 1, "fd": 2, "doane": 3, "scott": 4, "rice": 5, "sturges": 6, "sqrt": 7}


def _bins(function: str, x: Array, bins: Any, range: Any) -> tuple[int, int, float, float, bool, Optional[Array]]:
    """bins and range as the extension module has them: method, count, low, high, has a range, edges."""
    low, high = (0.0, 0.0) if range is None else (float(range[0]), float(range[1]))
    if isinstance(bins, str):
        if bins not in _RULES:
            raise ValueError(f"{function}(): bins is a number, edges, or one of {', '.join(_RULES)}, not {bins!r}")
        return _RULES[bins], 0, low, high, range is not None, None
    if hasattr(bins, "__index__") and not (isinstance(bins, _ndock.Array) and bins.ndim):
        count = int(bins)
        if count < 1:
            raise ValueError(f"{function}(): {count} bins; there is at least one")
        return 0, count, low, high, range is not None, None
    return 0, 0, 0.0, 0.0, False, _ndock._operand(function, x, bins)


def _weights(function: str, x: Array, weights: Any) -> Any:
    return None if weights is None else _ndock._operand(function, x, weights)


def histogram_bin_edges(x: Array, /, bins: Bins = 10, range: Range = None) -> Array:
    """The edges of histogram's bins, one more than there are bins: float32 of float32, else float64.

    bins: how many, in range (low, high) or between x's extremes; the edges themselves; or a rule by which x decides:
    "auto", "fd" (Freedman and Diaconis), "doane", "scott", "rice", "sturges", "sqrt". Waits. Errors: ValueError for no
    bins, a range that is not finite, edges that do not ascend; TypeError for complex dtypes.

    >>> nd.histogram_bin_edges(nd.asarray([0.0, 1.0, 4.0]), bins=4)
    array([0., 1., 2., 3., 4.], dtype=float64, device='cpu:0')
    """
    return _ndock._bin_edges(x, _bins("histogram_bin_edges", x, bins, range))


def histogram(x: Array, /, bins: Bins = 10, range: Range = None, density: bool = False,
              weights: Optional[ArrayLike] = None) -> tuple[Array, Array]:
    """How many elements of x are in each bin (int64), and the edges. With weights (of x's shape) their sums, in int64,
    uint64, float64 or complex128. density: float64, over the total and the widths of the bins.

    bins, range: as for histogram_bin_edges. Waits. Errors: ValueError for no bins, a range that is not finite, edges that
    do not ascend, weights of another shape; TypeError for complex dtypes.

    >>> nd.histogram(nd.asarray([1, 2, 1, 4]), bins=[1, 2, 3, 4])[0]
    array([2, 1, 1], dtype=int64, device='cpu:0')
    """
    r = _ndock._histogram(x, _weights("histogram", x, weights), density, _bins("histogram", x, bins, range))
    return r[0], r[1]


def _each(bins: Any, count: int) -> list[Any]:
    """bins for each coordinate: one number for all, or a sequence with an entry for each."""
    return [bins] * count if hasattr(bins, "__index__") else list(bins)


def histogramdd(sample: Union[Array, Sequence[Array]], /, bins: Any = 10, range: Optional[Sequence[Range]] = None,
                density: bool = False, weights: Optional[ArrayLike] = None) -> tuple[Array, list[Array]]:
    """How many points are in each cell of a grid, as float64 with an axis for each coordinate, and the edges along each.
    sample: (points, coordinates), or a sequence with an Array for each coordinate. bins: a number for all coordinates, or
    for each a number or edges. range: a pair, or None, for each.

    density, weights: as for histogram. Waits. Errors: ValueError for bins or weights that do not fit, TypeError for
    complex dtypes.

    >>> nd.histogramdd(nd.asarray([[0.0, 0.0], [1.0, 1.0], [1.0, 0.0]]), bins=2)[0]
    array([[1., 0.],
           [1., 1.]], dtype=float64, device='cpu:0')
    """
    points = sample if isinstance(sample, _ndock.Array) else _ndock._stack(sample, 1)
    if points.ndim == 1:
        points = _ndock._reshape(points, (points.size, 1), None)
    if points.ndim != 2:
        raise ValueError(f"histogramdd(): the sample has {points.ndim} dimensions; it is (points, coordinates)")
    count = points.shape[1]
    each, ranges = _each(bins, count), [None] * count if range is None else list(range)
    if len(each) != count or len(ranges) != count:
        raise ValueError(f"histogramdd(): {len(each)} bins and {len(ranges)} ranges for {count} coordinates")
    all_bins = tuple([_bins("histogramdd", points, b, r) for b, r in zip(each, ranges)])
    r = _ndock._histogramdd(points, _weights("histogramdd", points, weights), density, all_bins)
    return r[0], list(r[1:])


def histogram2d(x: Array, y: ArrayLike, /, bins: Any = 10, range: Optional[Sequence[Range]] = None, density: bool = False,
                weights: Optional[ArrayLike] = None) -> tuple[Array, Array, Array]:
    """histogramdd of the points (x[i], y[i]): the counts, the edges along x and those along y. bins: a number or edges
    for both, or a pair of those.

    range, density, weights: as for histogramdd. Waits. Errors: ValueError for bins or weights that do not fit, TypeError
    for complex dtypes.

    >>> nd.histogram2d(nd.asarray([0.0, 1.0, 1.0]), nd.asarray([0.0, 1.0, 0.0]), bins=2)[0]
    array([[1., 0.],
           [1., 1.]], dtype=float64, device='cpu:0')
    """
    if not hasattr(bins, "__index__") and len(bins) not in (1, 2):
        bins = [bins, bins]
    counts, edges = histogramdd([x, _ndock._operand("histogram2d", x, y)], bins, range, density, weights)
    return counts, edges[0], edges[1]


def bincount(x: Array, /, weights: Optional[ArrayLike] = None, minlength: int = 0) -> Array:
    """How often each integer 0, 1, ... occurs in x (one dimension), as int64; with weights (of x's shape) their sums, as
    float64. One longer than the largest element, and at least minlength long.

    Waits for the extremes. Errors: ValueError for negative elements or shapes that do not fit, TypeError for what is no
    integer.

    >>> nd.bincount(nd.asarray([0, 3, 1, 3]))
    array([1, 1, 0, 2], dtype=int64, device='cpu:0')
    """
    return _ndock._bincount(x, None if weights is None else _weights("bincount", x, weights), minlength)


def digitize(x: Array, bins: ArrayLike, /, right: bool = False) -> Array:
    """How many of the edges bins, which ascend or descend, each element has passed: int64, of x's shape. right: an edge
    belongs to the bin below it.

    Waits for which way the edges run. Errors: ValueError where they run neither way, TypeError for complex dtypes.

    >>> nd.digitize(nd.asarray([0.5, 1.0, 7.0]), [0.0, 1.0, 2.0])
    array([1, 2, 3], dtype=int64, device='cpu:0')
    """
    return _ndock._digitize(x, _ndock._operand("digitize", x, bins), right)
