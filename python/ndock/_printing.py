# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How arrays are printed. The options belong to the process (to the interpreter, where there are several): every thread
sees a change. Only the elements that are shown are brought from the device; printing waits for them."""
from __future__ import annotations

from . import _ndock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._types import Any, Array, Optional

__all__ = ["get_printoptions", "printoptions", "set_printoptions"]

_NAMES = ("precision", "threshold", "edgeitems", "linewidth", "suppress")


def set_printoptions(*, precision: Optional[int] = None, threshold: Optional[int] = None,
                     edgeitems: Optional[int] = None, linewidth: Optional[int] = None,
                     suppress: Optional[bool] = None) -> None:
    """Sets how arrays are printed; None leaves an option as it is.

    precision: digits behind the point, 0 to 17 (8). threshold: arrays of more elements show edgeitems (3) at both ends
    of each axis only (1000). linewidth: characters a line (75). suppress: never scientific notation (False).
    ValueError for a value out of range; nothing changes then.

    >>> nd.set_printoptions(precision=3)
    >>> nd.asarray([3.14159])
    array([3.142], dtype=float64, device='cpu:0')
    >>> nd.set_printoptions(precision=8)
    """
    _ndock._print_options(precision, threshold, edgeitems, linewidth, suppress)


def get_printoptions() -> dict[str, Any]:
    """The options by name, as set_printoptions takes them.

    >>> nd.get_printoptions()["precision"]
    8
    """
    return dict(zip(_NAMES, _ndock._print_options(None, None, None, None, None)))


class printoptions:
    """with printoptions(precision=3): ... sets options as set_printoptions, and brings back what was at the end.

    >>> with nd.printoptions(precision=3):
    ...      print(nd.asarray([3.14159]))
    [3.142]
    """

    def __init__(self, *, precision: Optional[int] = None, threshold: Optional[int] = None,
                 edgeitems: Optional[int] = None, linewidth: Optional[int] = None,
                 suppress: Optional[bool] = None) -> None:
        self._wanted = (precision, threshold, edgeitems, linewidth, suppress)
        self._before: list[tuple[Any, ...]] = []

    def __enter__(self) -> dict[str, Any]:
        self._before.append(_ndock._print_options(*self._wanted))
        return get_printoptions()

    def __exit__(self, *exception: object) -> None:
        _ndock._print_options(*self._before.pop())


def _ends(n: int, edge: int) -> list[int]:
    """Positions shown along an axis; -1 stands for the gap."""
    return list(range(n)) if n <= 2 * edge else [*range(edge), -1, *range(n - edge, n)]


def _cell(value: Any, precision: int) -> str:
    if isinstance(value, float):
        return f"{value:.{precision}g}"
    if isinstance(value, complex):
        return f"{value:.{precision}g}"
    return str(value)


def _edges(x: Array, edge: int) -> tuple[list[list[Any]], list[int]]:
    """The rows shown of a matrix as Python scalars, without the gaps, and where the gaps in them are."""
    rows, columns = _ends(x.shape[0], edge), _ends(x.shape[1], edge)
    shown = x
    for axis, ends in ((0, rows), (1, columns)):
        if -1 in ends:
            key = (slice(None),) * axis + ([i for i in ends if i >= 0],)
            shown = shown[key]
    values = shown.tolist()
    if -1 in rows:
        values.insert(edge, [])
    return values, columns


def _html(x: Array) -> str:
    """A table for notebooks: shape, dtype and device above, the elements of up to two axes below."""
    from html import escape
    options = get_printoptions()
    caption = f"Array, shape {x.shape}, {x.dtype}, {x.device}"
    if x.ndim == 0 or x.ndim > 2 or x.size == 0:
        return f"<div><div>{escape(caption)}</div><pre>{escape(str(x))}</pre></div>"
    edge = options["edgeitems"] if x.size > options["threshold"] else max(x.shape)
    values, columns = _edges(x.reshape(-1, x.shape[-1]), edge)
    lines = []
    for row in values:
        cells = [escape(_cell(v, options["precision"])) for v in row] if row else ["&#8942;"]
        if row and -1 in columns:
            cells.insert(edge, "&hellip;")
        lines.append("<tr>" + "".join(f"<td>{c}</td>" for c in cells) + "</tr>")
    return f"<table><caption>{escape(caption)}</caption><tbody>{''.join(lines)}</tbody></table>"
