# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which graphs the calling thread is capturing: a Generator tells the innermost that it is used."""
from __future__ import annotations

from _thread import _local

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_thread: Any = _local()
underway = 0  # in all threads: while there are none, nothing else is looked at


def _open() -> list[Any]:
    if not hasattr(_thread, "graphs"):
        _thread.graphs = []
    graphs: list[Any] = _thread.graphs
    return graphs


def begin(graph: Any) -> None:
    """The thread captures into the graph."""
    global underway
    _open().append(graph)
    underway += 1


def is_open(graph: Any) -> bool:
    """Whether the thread does."""
    return graph in _open()


def end(graph: Any) -> None:
    """It does so no more."""
    global underway
    if graph in _open():
        _open().remove(graph)
        underway -= 1


def draws(generator: Any) -> None:
    """The generator is about to be used."""
    for graph in _open()[-1:]:
        graph._draws(generator)
