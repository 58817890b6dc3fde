# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Graphs: work that is captured once and then run again and again with one call."""
from __future__ import annotations

from . import _capturing, _ndock
from ._device import _Guard
from ._ndock import Array, Device, Stream

TYPE_CHECKING = False
if TYPE_CHECKING:
    import os
    from types import TracebackType
    from collections.abc import Sequence
    from typing import Any, Callable, Optional, Union

    from ._device import DeviceLike, StreamLike
    from .memory import Pool

__all__ = ["Graph", "graph"]

_MODES = {"thread_local": 0, "global": 1, "relaxed": 2}
_FORMATS = {"json": 0, "dot": 1}
_HALF = 2**64


def _choose(table: dict[str, int], what: str, name: str) -> int:
    if name not in table:
        raise ValueError(f"{what} is one of {', '.join(map(repr, table))}, not {name!r}")
    return table[name]


class Graph:
    """Captured work, which launch() runs. `with nd.graph() as g:` makes one.

    What is computed in the block does not run there: arrays made in it have their values after a launch, and get new
    ones with each. The graph keeps the arrays that it reads and writes. Every device has graphs: where the device cannot
    capture its streams (the CPU, OpenCL), the calls are recorded and played, which saves all that comes before a kernel.

    >>> x = nd.ones(3)
    >>> with nd.graph() as g:
    ...     y = x * 2
    >>> x[:] = 5
    >>> g.launch()
    >>> y
    array([10., 10., 10.], dtype=float64, device='cpu:0')
    """

    def __init__(self) -> None:
        self._graph: Any = None
        self._generators: list[Any] = []

    # ---- capture ----
    def capture_begin(self, stream: Stream, *, pool: Optional[Union[Pool, Graph]] = None, mode: str = "thread_local",
                      weak: bool = False) -> None:
        """Begin the capture of a stream, which is not the default one; nd.graph does this and what belongs to it.

        pool: the memory.Pool, or another Graph whose pool is used too: then the graphs are launched in the order of
        their captures. mode: whose calls that would break the capture are refused: those of the calling "thread_local"
        (the default), of every thread ("global"), or none but those of the stream ("relaxed"). weak: the program keeps
        the arrays. Errors: RuntimeError for the default stream and for one that is being captured.
        """
        lent = pool.pool if isinstance(pool, Graph) else pool
        make: Any = _ndock._Graph
        for name in ("launch", "replay"):
            self.__dict__.pop(name, None)
        self._graph = make(stream, _choose(_MODES, "a capture mode", mode), lent, weak)
        self._generators = []
        _capturing.begin(self)

    def capture_end(self) -> None:
        """End the capture, on the thread that began it. Errors: RuntimeError, with the streams that were not joined, or
        with the first call that broke the capture."""
        _capturing.end(self)
        for number, (generator, first) in enumerate(self._generators):
            now = generator.key
            self._graph.set_key(number, now.seed, *divmod(now.position, _HALF))
            generator.key = first
        inner = self._need()
        inner.end()
        if not self._generators:  # there is nothing else to do: a launch of a few microseconds is spared a call of Python
            self.__dict__.update(launch=inner.launch, replay=inner.launch)

    def capture_abort(self) -> None:
        """End the capture and forget it."""
        _capturing.end(self)
        for generator, first in self._generators:
            generator.key = first
        self._need().abort()

    def eager(self, function: Callable[[], object], /) -> None:
        """Split the capture: what was captured so far runs now, then function() runs outside of any capture, and the
        capture goes on behind it. Each launch does the same, in this order. An exception of it ends the capture."""
        _capturing.end(self)
        self._need().eager(function)
        _capturing.begin(self)

    def _condition(self, kind: int, value: Array, bodies: Any) -> None:
        inner = self._need()
        try:
            inner.cond(kind, value, tuple([body._need() for body in bodies]))
        except BaseException:
            if not inner.capturing:  # a body failed, which has ended the capture
                _capturing.end(self)
            raise

    def cond(self, value: Array, then: Graph, otherwise: Optional[Graph] = None, /) -> None:
        """At this place of the capture: each launch runs the graph `then` where value, an Array of one bool or integer,
        is not 0, and else `otherwise`, if there is one.

        The bodies were captured before, on the same device; they draw no random numbers and call no functions of the
        host, but may have conditions themselves. Where a body does not run, its results stay as they were. As eager()
        does, this splits the capture: what was captured so far runs now, and then a body. Where the device decides
        itself (sim; CUDA from 12.4 on) a launch waits for nothing; else the host looks at the value, and text() says so.
        Errors: TypeError, ValueError for another value; ValueError for what cannot be a body.

        >>> x, deep = nd.zeros(2), nd.asarray(True)
        >>> with nd.graph() as body:
        ...     nd.add(x, 1, out=x)
        >>> with nd.graph() as g:
        ...     g.cond(deep, body)
        >>> g.launch()
        >>> x
        array([2., 2.], dtype=float64, device='cpu:0')
        """
        self._condition(0, value, (then,) if otherwise is None else (then, otherwise))

    def while_loop(self, value: Array, body: Graph, /) -> None:
        """At this place of the capture: each launch runs the graph body again and again, as long as value, an Array of
        one bool or integer that the body changes, is not 0; it is looked at before each round. See cond()."""
        self._condition(1, value, (body,))

    def switch(self, value: Array, bodies: Sequence[Graph], /) -> None:
        """At this place of the capture: each launch runs bodies[value], of up to 64 graphs; none where value, an Array of
        one bool or integer, is no index of them, as a negative number is none. See cond()."""
        self._condition(2, value, bodies)

    def _draws(self, generator: Any) -> None:
        """The generator is about to be used in the capture."""
        if all(known is not generator for known, _ in self._generators):
            now = generator.key
            self._graph.random(now.seed, *divmod(now.position, _HALF))
            self._generators.append((generator, now))

    def _need(self) -> Any:
        if self._graph is None:
            raise RuntimeError("the graph has not been captured yet: with nd.graph(g): ...")
        return self._graph

    # ---- running it ----
    def launch(self, stream: Optional[StreamLike] = None, *, force: bool = False) -> None:
        """Queue the graph on a stream of its device (None: the current one). Launches of one graph follow each other.
        Numbers of a Generator that was used in the capture go on from launch to launch. force: also where another
        graph with the same pool was to run first. Errors: RuntimeError for that; ValueError for another device's stream.
        """
        inner = self._graph or self._need()
        if not self._generators:
            inner.launch(stream, force=force)
            return
        for number, (generator, _) in enumerate(self._generators):
            now = generator.key
            inner.set_key(number, now.seed, *divmod(now.position, _HALF))
        inner.launch(stream, force=force)
        for number, (generator, _) in enumerate(self._generators):
            seed, high, low = inner.get_key(number)
            generator.key = type(generator.key)(seed, high * _HALF + low)

    __call__ = replay = launch

    def instantiate(self) -> None:
        """Make it ready to run, which the first launch does else."""
        self._need().instantiate()

    def argument(self, array: Array, /) -> int:
        """Name an array that the graph reads or writes, so that rebind can put others in its place. Returns its number.
        Errors: ValueError if the graph uses nothing of it."""
        number: int = self._need().argument(array)
        return number

    def rebind(self, number: int, array: Array, /) -> None:
        """From the next launch on use this array in the argument's place, without a copy. It has the same dtype, shape,
        strides and device. Errors: ValueError where it does not, or shares memory that the graph writes."""
        self._need().rebind(number, array)

    def update(self, other: Graph, /) -> bool:
        """Do what another graph does, which is empty afterwards. True: what was made ready is used on, as the two are
        alike but for their values."""
        alike: bool = self._need().update(other._need())
        self._generators, other._generators = other._generators, []
        return alike

    # ---- looking inside ----
    @property
    def nodes(self) -> int:
        """How many operations are in it."""
        n: int = self._need().nodes
        return n

    @property
    def segments(self) -> int:
        """How many parts eager() has split it into."""
        n: int = self._need().segments
        return n

    @property
    def pool(self) -> Optional[Pool]:
        """The memory.Pool that its arrays lie in."""
        pool: Optional[Pool] = self._need().pool
        return pool

    def text(self, format: str = "json") -> str:
        """What is in it, as "json" or, for Graphviz, "dot"."""
        text: str = self._need().text(_choose(_FORMATS, "a format", format))
        return text

    def dump(self, path: Union[str, os.PathLike[str]], format: str = "json") -> None:
        """Write text(format) into a file; `ndock graph show FILE` draws the JSON."""
        self._need().dump(path, _choose(_FORMATS, "a format", format))

    def __repr__(self) -> str:
        return "Graph()" if self._graph is None else f"Graph(nodes={self.nodes}, segments={self.segments})"


def _side_stream(device: DeviceLike) -> Stream:
    side = Stream(device)
    side.wait_stream(Stream.current(device))
    return side


class graph(_Guard):
    """graph(g=None, *, device=None, stream=None, pool=None, mode="thread_local", weak=False): a context manager that
    captures what is computed in it; `as` gives the Graph.

    g: the Graph to capture into, None for a new one. stream: a Stream of the device, which is current in the block; None
    for a new one. The other parameters are those of Graph.capture_begin. The block's stream waits for the work before
    it, and what comes after it for what ran in the block, at breaks and conditions. An exception in the block ends the
    capture, leaves nothing of it, and goes on. What would wait for the stream or read an array in the block is a
    RuntimeError: run the work once before, outside.

    >>> x = nd.arange(3, dtype=nd.float32)
    >>> with nd.graph() as g:
    ...     total = nd.sum(x * x)
    >>> g.launch()
    >>> float(total)
    5.0
    """

    def __init__(self, g: Optional[Graph] = None, /, *, device: DeviceLike = None, stream: Optional[Stream] = None,
                 pool: Optional[Union[Pool, Graph]] = None, mode: str = "thread_local", weak: bool = False) -> None:
        if not isinstance(g, (Graph, type(None))):
            raise TypeError(f"work is captured into an ndock.Graph, not {g!r}")
        self.graph = Graph() if g is None else g
        self.device, self.stream = device, stream
        self.options: dict[str, Any] = {"pool": pool, "mode": mode, "weak": weak}

    def __enter__(self) -> Graph:
        self._used = self.stream or _side_stream(self.device)
        if self.stream:
            self.stream.wait_stream(Stream.current(self.stream.device))
        self._used.__enter__()
        try:
            self.graph.capture_begin(self._used, **self.options)
        except BaseException:
            self._used.__exit__()
            raise
        return self.graph

    def __exit__(self, kind: Optional[type[BaseException]], error: Optional[BaseException],
                 where: Optional[TracebackType]) -> None:
        try:
            if kind is None:
                self.graph.capture_end()
            elif _capturing.is_open(self.graph):
                self.graph.capture_abort()
        finally:
            self._used.__exit__()
        Stream.current(self._used.device).wait_stream(self._used)
