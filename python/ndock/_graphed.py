# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Functions whose calls are graphs, one for each signature."""
from __future__ import annotations

from . import _ndock
from ._graph import Graph, graph
from ._ndock import Array, Device, Stream

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Optional

__all__ = ["graphed"]


def _arrays_in(value: Any, found: dict[int, Array]) -> Any:
    """The value with what is told of arrays in their place, which are added to found by id: hashable if the rest is."""
    if isinstance(value, Array):
        if id(value) in found:
            return "array", list(found).index(id(value))
        found[id(value)] = value
        return "array", _ndock._layout(value)
    if isinstance(value, (tuple, list)):
        return type(value), tuple([_arrays_in(v, found) for v in value])
    if isinstance(value, dict):
        return dict, tuple([(k, _arrays_in(v, found)) for k, v in value.items()])
    return value


class _Entry:
    """One signature of a graphed function: its graph, or why there is none."""

    def __init__(self) -> None:
        self.graph: Optional[Graph] = None
        self.reason = ""
        self.numbers: list[Optional[int]] = []  # of the arguments
        self.inputs: list[Array] = []
        self.result: Any = None
        self.warmed = 0
        self.side: Optional[Stream] = None

    def warm(self, function: Callable[..., Any], args: Any, kwargs: Any, arrays: list[Array]) -> Any:
        """A call as it is, on the stream that will be captured."""
        device = arrays[0].device if arrays else Device(None)
        if self.side is None:
            self.side = Stream(device)
        self.side.wait_stream(Stream.current(device))
        try:
            with self.side:
                result = function(*args, **kwargs)
        finally:
            Stream.current(device).wait_stream(self.side)
        self.warmed += 1
        return result

    def capture(self, function: Callable[..., Any], args: Any, kwargs: Any, arrays: list[Array]) -> None:
        side = self.side or Stream(arrays[0].device if arrays else Device(None))
        try:
            with graph(stream=side) as g:
                self.result = function(*args, **kwargs)
        except _ndock.Error as error:
            self.reason = str(error)
            self.result = None
            return
        self.numbers = []
        for a in arrays:
            try:
                self.numbers.append(g.argument(a))
            except ValueError as error:  # nothing of it is used, or it shares memory with another
                if "neither reads nor writes" not in str(error):
                    self.reason = str(error)
                    return
                self.numbers.append(None)
        self.inputs, self.graph = list(arrays), g

    def run(self, arrays: list[Array]) -> Any:
        assert self.graph is not None
        for i, a in enumerate(arrays):
            number = self.numbers[i]
            if number is not None and a is not self.inputs[i]:
                self.graph.rebind(number, a)
                self.inputs[i] = a
        self.graph.launch()
        return self.result


class _Graphed:
    """A function whose calls are graphs; see graphed."""

    def __init__(self, function: Callable[..., Any], warmup: int, maxsize: int) -> None:
        import functools

        functools.update_wrapper(self, function)
        self._function, self._warmup, self._maxsize = function, warmup, maxsize
        self._entries: dict[Any, _Entry] = {}
        self._hits = self._misses = 0

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        entry, arrays = self._find(args, kwargs)
        if entry.graph is None and not entry.reason:
            if entry.warmed < self._warmup:
                return entry.warm(self._function, args, kwargs, arrays)
            entry.capture(self._function, args, kwargs, arrays)
        if entry.graph is None:
            return self._function(*args, **kwargs)
        try:
            return entry.run(arrays)
        except ValueError as error:  # an argument that cannot be put in the captured one's place
            entry.reason = str(error)
            return self._function(*args, **kwargs)

    def _find(self, args: Any, kwargs: Any) -> tuple[_Entry, list[Array]]:
        found: dict[int, Array] = {}
        key = _arrays_in((args, kwargs), found), _ndock._math_all()
        entry = self._entries.pop(key, None)
        if entry is None:
            self._misses += 1
            entry = _Entry()
            while len(self._entries) >= self._maxsize:
                del self._entries[next(iter(self._entries))]
        else:
            self._hits += 1
        self._entries[key] = entry  # at the end: the first is the one that was not used for longest
        return entry, list(found.values())

    def cache_info(self) -> dict[str, int]:
        """hits, misses, and how many graphs there are and may be at most."""
        return {"hits": self._hits, "misses": self._misses, "size": len(self._entries), "maxsize": self._maxsize}

    def cache_clear(self) -> None:
        """Forget all graphs."""
        self._entries.clear()

    def reasons(self) -> list[str]:
        """Why calls were not graphs, one for each signature that was refused."""
        return [e.reason for e in self._entries.values() if e.reason]

    def graphs(self) -> list[Graph]:
        """The graphs, that of the latest call last."""
        return [e.graph for e in self._entries.values() if e.graph is not None]


def graphed(function: Optional[Callable[..., Any]] = None, /, *, warmup: int = 2, maxsize: int = 16) -> Any:
    """A function, or by a decorator, whose calls run as graphs: captured once for each signature, then launched. Each call does
    the function's work once, whether it writes into its arguments or not.

    function: takes and returns arrays, in tuples, lists and dicts too; other arguments are part of the signature and must
    be hashable. It must do the same work each time: what it prints or appends happens where it is called as it is, and at the
    capture. warmup: how many calls of a signature run the function as it is, on a side stream, so that kernels are compiled and
    workspaces are there (a function of nd.fuse is traced by the first and compiled by the second); the next call captures.
    maxsize: signatures that are kept, those used last. Returns an object that is called as the function is; a call puts its
    arrays in the place of those that were captured, without a copy. The result of a launch is the graph's own memory, which the
    next call of the same signature overwrites. A function that cannot be captured runs as it is; reasons() says why.
    Errors: TypeError for arguments that are neither arrays nor hashable, ValueError for warmup below 0 or maxsize below 1, and
    whatever the function raises.

    >>> @nd.graphed
    ... def scaled(x, by):
    ...     return x * by + 1
    >>> scaled(nd.ones(2), 3.0)
    array([4., 4.], dtype=float64, device='cpu:0')
    """
    if warmup < 0 or maxsize < 1:
        raise ValueError(f"graphed: warmup is 0 or more and maxsize 1 or more, not {warmup} and {maxsize}")
    if function is None:
        return lambda f: _Graphed(f, warmup, maxsize)
    return _Graphed(function, warmup, maxsize)
