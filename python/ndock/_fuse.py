# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""fuse: a function of Arrays traced once, and from then on run in one pass over memory.

While a function is traced, objects of _Traced stand in for its Arrays. Each has a real Array, computed as always, and
the node of the expression that is being written down; so a function's first call gives its ordinary results, and an
error is the ordinary one. What a stand-in cannot answer (a value, an element, a function that is no elementwise operation,
cast or reduction) ends the tracing, and such calls run as if there were no fuse, with the reason in fused_reason."""
from __future__ import annotations

from . import _methods, _ndock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._types import Any, Optional

__all__ = ["fuse", "fuse_cache_clear", "fuse_cache_set_max", "fuse_statistics"]

_SCALARS = (bool, int, float, complex)


class _NotFusable(Exception):
    """Why a call cannot be traced."""


class _Trace:
    """The nodes that are being written down, and where each input comes from: the place of an argument, or (such a
    place, key) for a view of one."""

    def __init__(self) -> None:
        self.nodes: list[tuple[Any, ...]] = []
        self.sources: list[Any] = []
        self.extents = False  # the function has asked for a shape
        self.scalars: dict[Any, int] = {}

    def add(self, *node: Any) -> int:
        self.nodes.append(node)
        return len(self.nodes) - 1

    def input(self, source: Any, array: Any) -> _Traced:
        self.sources.append(source)
        return _Traced(self, self.add("input"), array, source)

    def operand(self, x: Any) -> tuple[int, Any]:
        """The node of an operand, and what to compute with."""
        if isinstance(x, _Traced):
            if x._trace is not self:
                raise _NotFusable("an Array of another traced call is used")
            return x._node, x._array
        if isinstance(x, _ndock.Array):
            raise _NotFusable(f"it uses an Array of shape {x.shape} that is no argument; make it one")
        if not isinstance(x, _SCALARS) and type(x).__module__ != "numpy":
            raise _NotFusable(f"an operand is {type(x).__name__}, neither an argument nor a scalar")
        key = (type(x), repr(x))
        if key not in self.scalars:
            self.scalars[key] = self.add("scalar", x)
        return self.scalars[key], x


class _Traced:
    """Stands in for an Array of a traced call."""
    __slots__ = ("_trace", "_node", "_array", "_source")
    __array_ufunc__ = None  # NumPy's scalars leave their operators to us
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, trace: _Trace, node: int, array: Any, source: Any = None) -> None:
        self._trace = trace
        self._node = node
        self._array = array
        self._source = source  # of an argument, or a view of one

    # ---- what the functions of the package call, in C, when they meet a stand-in ----
    def _apply(self, name: str, operands: tuple[Any, ...], out: Any) -> _Traced:
        if out is not None:
            raise _NotFusable(f"{name}() writes to out=")
        pairs = [self._trace.operand(x) for x in operands]
        array = getattr(_ndock, name)(*[value for _, value in pairs])
        return _Traced(self._trace, self._trace.add("apply", name, tuple([node for node, _ in pairs])), array)

    def _reduce(self, name: str, arguments: tuple[Any, ...], _: Any) -> _Traced:
        x, axis, dtype, keepdims, correction, out = arguments
        if out is not None:
            raise _NotFusable(f"{name}() writes to out=")
        node, value = self._trace.operand(x)
        array = getattr(_ndock, "_" + name)(value, axis, dtype, keepdims, correction, None)
        made = self._trace.add("reduce", name, node, axis, dtype, bool(keepdims), float(correction))
        return _Traced(self._trace, made, array)

    def _cast(self, name: str, arguments: tuple[Any, ...], _: Any) -> _Traced:
        x, dtype, copy, device = arguments
        node, value = self._trace.operand(x)
        array = _ndock._astype(value, dtype, copy, None)
        if device is not None and _ndock.Device(device) != value.device:
            raise _NotFusable("astype() moves to another device")
        if array is value:
            return self
        return _Traced(self._trace, self._trace.add("cast", node, array.dtype), array)

    def _product(self, name: str, arguments: tuple[Any, ...], _: Any) -> _Traced:
        x1, x2, *options = arguments
        if options != [None, 1.0, 0.0, None, 0, None]:
            raise _NotFusable(f"{name}() has options; write the bias and the function behind it as operations")
        (first, a), (second, b) = self._trace.operand(x1), self._trace.operand(x2)
        return _Traced(self._trace, self._trace.add("matmul", first, second), _ndock._matmul(a, b, *options))

    def __matmul__(self, other: Any) -> _Traced:
        return self._product("matmul", (self, other, None, 1.0, 0.0, None, 0, None), None)

    def __rmatmul__(self, other: Any) -> _Traced:
        return self._product("matmul", (other, self, None, 1.0, 0.0, None, 0, None), None)

    # ---- what an Array answers without its values ----
    @property
    def dtype(self) -> Any:
        return self._array.dtype

    @property
    def device(self) -> Any:
        return self._array.device

    @property
    def ndim(self) -> int:
        return self._array.ndim

    @property
    def shape(self) -> tuple[int, ...]:
        self._trace.extents = True
        return self._array.shape

    @property
    def size(self) -> int:
        self._trace.extents = True
        return self._array.size

    def __len__(self) -> int:
        self._trace.extents = True
        return len(self._array)

    # ---- views of arguments ----
    def _view(self, key: Any, what: str) -> _Traced:
        if self._source is None:
            raise _NotFusable(f"{what} of an intermediate result; index the arguments")
        array = _view_of(self._array, key)
        if not isinstance(array, _ndock.Array):
            raise _NotFusable("an element is read")
        return self._trace.input((self._source, key), array)

    def __getitem__(self, key: Any) -> _Traced:
        for part in key if isinstance(key, tuple) else (key,):
            if part is not None and part is not Ellipsis and not isinstance(part, (int, slice)):
                raise _NotFusable(f"it is indexed by {type(part).__name__}")
        return self._view(key, "an index")

    @property
    def T(self) -> _Traced:
        return self._view("T", "T")

    @property
    def mT(self) -> _Traced:
        return self._view("mT", "mT")

    # ---- methods ----
    def astype(self, dtype: Any, *, copy: bool = True, device: Any = None) -> _Traced:
        return self._cast("astype", (self, dtype, copy, device), None)

    def __pow__(self, other: Any) -> _Traced:
        return self._power(self, other)

    def __rpow__(self, other: Any) -> _Traced:
        return self._power(other, self)

    def _power(self, base: Any, exponent: Any) -> _Traced:
        if isinstance(base, _Traced) and type(exponent) in (int, float) and exponent == 2:
            if base.dtype != _ndock.bool and (type(exponent) is int or "int" not in str(base.dtype)):
                return self._apply("multiply", (base, base), None)  # as Arrays do
        made = self._apply("pow", (base, exponent), None)
        if isinstance(exponent, _Traced) and "int" in str(made.dtype):
            raise _NotFusable("whether ** is allowed for integers depends on the exponents; use nd.pow")
        if not isinstance(exponent, _Traced) and exponent < 0 and "int" in str(made.dtype):
            return base._array ** exponent  # raises
        return made

    def __divmod__(self, other: Any) -> tuple[_Traced, _Traced]:
        return self._apply("floor_divide", (self, other), None), self._apply("remainder", (self, other), None)

    def __rdivmod__(self, other: Any) -> tuple[_Traced, _Traced]:
        return self._apply("floor_divide", (other, self), None), self._apply("remainder", (other, self), None)

    def __setitem__(self, key: Any, value: Any) -> None:
        raise _NotFusable("it writes to an Array")

    def __iter__(self) -> Any:
        raise _NotFusable("it iterates over an Array")

    def __repr__(self) -> str:
        return f"<traced {self._array.dtype} Array of {self._array.ndim} axes>"

    def __getattr__(self, name: str) -> Any:
        raise _NotFusable(f"it uses .{name}, which is no elementwise operation, cast or reduction")


def _binary(name: str) -> tuple[Any, Any]:
    return (lambda self, other: self._apply(name, (self, other), None),
            lambda self, other: self._apply(name, (other, self), None))


def _unary(name: str) -> Any:
    return lambda self: self._apply(name, (self,), None)


def _refuse(why: str) -> Any:
    def method(self: _Traced, *args: Any) -> Any:
        raise _NotFusable(why)
    return method


def _add_operators() -> None:
    pairs = {"add": "add", "sub": "subtract", "mul": "multiply", "truediv": "divide", "floordiv": "floor_divide",
             "mod": "remainder", "and": "bitwise_and", "or": "bitwise_or", "xor": "bitwise_xor",
             "lshift": "bitwise_left_shift", "rshift": "bitwise_right_shift"}
    for slot, name in pairs.items():
        plain, reflected = _binary(name)
        setattr(_Traced, f"__{slot}__", plain)
        setattr(_Traced, f"__r{slot}__", reflected)
        setattr(_Traced, f"__i{slot}__", _refuse(f"{name} in place writes to an Array; write x = x + y, not x += y"))
    _Traced.__ipow__ = _refuse("**= writes to an Array")  # type: ignore[attr-defined]
    _Traced.__imatmul__ = _refuse("@= writes to an Array")  # type: ignore[attr-defined]
    for slot, name in {"lt": "less", "le": "less_equal", "eq": "equal", "ne": "not_equal", "gt": "greater",
                       "ge": "greater_equal"}.items():
        setattr(_Traced, f"__{slot}__", _binary(name)[0])
    for slot, name in {"neg": "negative", "pos": "positive", "abs": "abs", "invert": "bitwise_invert"}.items():
        setattr(_Traced, f"__{slot}__", _unary(name))
    for slot in ("bool", "int", "float", "complex", "index"):
        setattr(_Traced, f"__{slot}__", _refuse("it reads a value, on which what follows may depend"))
    for name in ("sum", "prod", "mean", "var", "std", "max", "min", "any", "all", "argmax", "argmin", "clip", "conj"):
        setattr(_Traced, name, getattr(_methods, name))
    _ndock._traced_type(_Traced)


_add_operators()


def _view_of(array: Any, key: Any) -> Any:
    return getattr(array, key) if isinstance(key, str) else array[key]


# ---- arguments and results: Arrays and scalars in tuples, lists and dicts ----
def _stand_ins(x: Any, trace: _Trace, arrays: list[Any]) -> Any:
    """x with stand-ins for its Arrays, which are appended to arrays."""
    if isinstance(x, _ndock.Array):
        arrays.append(x)
        return trace.input(len(arrays) - 1, x)
    if isinstance(x, (tuple, list)):
        parts = [_stand_ins(part, trace, arrays) for part in x]
        if hasattr(x, "_fields"):
            return type(x)(*parts)
        return tuple(parts) if isinstance(x, tuple) else parts
    if isinstance(x, dict):
        return {name: _stand_ins(part, trace, arrays) for name, part in x.items()}
    return x


def _plan_result(x: Any, outputs: list[int], known: list[Any]) -> str:
    """A Python expression of the expression's results and inputs that gives x again, with objects of known, to which it
    appends; and, to outputs, the nodes that it needs as results."""
    if isinstance(x, _Traced):
        if x._trace.nodes[x._node][0] == "input":
            place = [i for i, node in enumerate(x._trace.nodes[:x._node + 1]) if node[0] == "input"].index(x._node)
            return f"inputs[{place}]"
        if x._node not in outputs:
            outputs.append(x._node)
        return f"results[{outputs.index(x._node)}]"
    if isinstance(x, (tuple, list)):
        parts = "".join([_plan_result(part, outputs, known) + ", " for part in x])
        if type(x) is list:
            return f"[{parts}]"
        return f"({parts})" if type(x) is tuple else f"{_known(type(x), known)}" + \
            (f"({parts})" if hasattr(x, "_fields") else f"([{parts}])")
    if isinstance(x, dict):
        return "{" + "".join([f"{_known(name, known)}: {_plan_result(part, outputs, known)}, "
                              for name, part in x.items()]) + "}"
    if isinstance(x, _ndock.Array):
        raise _NotFusable("it returns an Array that is not computed of its arguments alone")
    return _known(x, known)


def _known(x: Any, known: list[Any]) -> str:
    known.append(x)
    return f"known[{len(known) - 1}]"


def _rebuilder(x: Any, outputs: list[int]) -> Any:
    """The function of the expression's results and inputs that gives x again: written out, since there may be hundreds."""
    known: list[Any] = []
    return eval(f"lambda results, inputs: {_plan_result(x, outputs, known)}", {"known": known})


def _real(x: Any) -> Any:
    """x with the Arrays that stand-ins computed."""
    if isinstance(x, _Traced):
        return x._array
    if isinstance(x, (tuple, list)):
        parts = [_real(part) for part in x]
        return type(x)(*parts) if hasattr(x, "_fields") else type(x)(parts)
    if isinstance(x, dict):
        return {name: _real(part) for name, part in x.items()}
    return x


class _Entry:
    """What is known of one signature."""
    __slots__ = ("reason", "expr", "sources", "plain", "n_out", "single", "rebuild", "by_shape")

    def __init__(self, reason: str = "") -> None:
        self.reason = reason  # "": it is fused
        self.by_shape: Optional[dict[Any, _Entry]] = None  # the function asked for shapes: one each
        self.expr: Any = None
        self.sources: list[Any] = []
        self.plain = False  # the inputs are the Arrays as they come
        self.n_out = 0
        self.single = False  # what it returns is the expression's one result
        self.rebuild: Any = None

    def inputs(self, arrays: list[Any]) -> list[Any]:
        if self.plain:
            return arrays
        return [_input_of(source, arrays) for source in self.sources]


def _input_of(source: Any, arrays: list[Any]) -> Any:
    if isinstance(source, int):
        return arrays[source]
    return _view_of(_input_of(source[0], arrays), source[1])


class _Fused:
    """A function that fuse has wrapped.

    fused_reason: why the latest call was not run by loops alone, "" if it was. signatures: how many are known."""

    def __init__(self, function: Any, max_signatures: int, epilogues: bool) -> None:
        import functools
        functools.update_wrapper(self, function)
        self._function = function
        self._epilogues = epilogues
        self._max = max_signatures
        self._entries: dict[Any, _Entry] = {}
        self._known: dict[Any, tuple[Any, ...]] = {}  # of _entries, those whose latest run was one of loops alone
        self.fused_reason = ""

    @property
    def signatures(self) -> int:
        return len(self._entries)

    def clear(self) -> None:
        """Forgets all traces: after a change of what the function uses besides its arguments."""
        self._entries.clear()
        self._known.clear()

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        import functools
        return self if instance is None else functools.partial(self, instance)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        self.fused_reason = ""
        result = _ndock._expr_call(self._known, args, kwargs, self)
        return self._call(args, kwargs) if result is NotImplemented else result

    def _call(self, args: Any, kwargs: Any) -> Any:
        try:
            signature, arrays = _ndock._signature(args, kwargs)
            entry = self._entries.get(signature)
        except TypeError as e:
            return self._eager(str(e), args, kwargs)
        if entry is not None and entry.by_shape is not None:
            shapes = tuple([a.shape for a in arrays])
            entry = entry.by_shape.get(shapes)
        if entry is None:
            if not arrays:
                return self._eager("no argument is an Array", args, kwargs)
            return self._trace(signature, arrays, args, kwargs)
        if entry.reason:
            return self._eager(entry.reason, args, kwargs)
        inputs = entry.inputs(arrays)
        results: tuple[Any, ...] = ()
        if entry.expr is not None:
            results = _ndock._expr_run(entry.expr, inputs, entry.n_out, self._epilogues)
            self.fused_reason = _ndock._expr_reason()
            if entry.plain and not self.fused_reason and self._entries.get(signature) is entry:
                self._known[signature] = (entry.expr, entry.n_out, self._epilogues, None if entry.single else entry.rebuild)
        return entry.rebuild(results, inputs)

    def _eager(self, reason: str, args: Any, kwargs: Any) -> Any:
        self.fused_reason = reason
        return self._function(*args, **kwargs)

    def _remember(self, signature: Any, arrays: list[Any], entry: _Entry, extents: bool) -> None:
        if extents:
            top = self._entries.setdefault(signature, _Entry())
            if top.by_shape is None:
                top.by_shape = {}
            elif len(top.by_shape) >= self._max:
                top.by_shape.pop(next(iter(top.by_shape)))
            top.by_shape[tuple([a.shape for a in arrays])] = entry
            return
        if len(self._entries) >= self._max:
            oldest = next(iter(self._entries))
            self._entries.pop(oldest)
            self._known.pop(oldest, None)
        self._entries[signature] = entry

    def _trace(self, signature: Any, arrays: list[Any], args: Any, kwargs: Any) -> Any:
        trace = _Trace()
        made: list[Any] = []
        try:
            result = self._function(*_stand_ins(args, trace, made), **_stand_ins(kwargs, trace, made))
            outputs: list[int] = []
            entry = _Entry()
            entry.rebuild = _rebuilder(result, outputs)
            entry.sources, entry.n_out = trace.sources, len(outputs)
            entry.single = isinstance(result, _Traced) and bool(outputs)
            entry.plain = trace.sources == list(range(len(arrays)))
            if outputs:
                entry.expr = _ndock._expr_make(trace.nodes, tuple(outputs))
        except Exception as e:  # whatever it is, the function itself says it again, or succeeds
            reason = str(e) if isinstance(e, _NotFusable) else f"{type(e).__name__}: {e}"
            result = self._eager(reason, args, kwargs)
            self._remember(signature, arrays, _Entry(reason), trace.extents)
            return result
        self._remember(signature, arrays, entry, trace.extents)
        self.fused_reason = "the first call of a signature is traced, and runs operation by operation"
        return _real(result)


def fuse(function: Any = None, /, *, max_signatures: int = 64, epilogues: bool = False) -> Any:
    """The function, run in one pass over memory: a decorator. Each signature (the dtypes, numbers of axes and devices of
    the Arrays among the arguments, also in tuples, lists and dicts, and the values of all other arguments) is traced once,
    by its first call, which gives its ordinary results. Later calls run the operations between two reductions as one loop,
    with the same bits. Elementwise operations, casts, reductions, matrix products, indices and .T of arguments are fused (a
    product is computed by itself, what stands between two of them is a loop); what else the function does makes it run as if there were no fuse, and fused_reason says why ("" after a call that was fused).
    What the function reads besides its arguments counts as it was when it was traced (clear() forgets the traces); Arrays
    must be arguments.

    max_signatures: how many are known at a time; the oldest is forgotten first. epilogues: a product takes with it what
    follows it and nothing else reads: + a vector, one element for each column, and relu, gelu, gelu_tanh, sigmoid, silu or
    tanh of that. Then the result is rounded once, not after each operation: nearer to the exact one, of other bits (on cuda
    by cuBLASLt, where it has the function). Errors: those of the function.

    >>> @nd.fuse
    ... def scaled(x, y):
    ...     return nd.tanh(x * y + 1)
    >>> a = nd.asarray([0.0, -1.0], dtype=nd.float32)
    >>> scaled(a, a).shape, scaled(a, a).shape, scaled.fused_reason
    ((2,), (2,), '')
    """
    if function is None:
        return lambda f: _Fused(f, max_signatures, epilogues)
    if not callable(function):
        raise TypeError(f"fuse() takes a function, not {type(function).__name__}")
    return _Fused(function, max_signatures, epilogues)


def fuse_statistics() -> dict[str, int]:
    """What the process's cache of compiled loops did: programs (kept now), hits, misses, evictions, compiled, refused (by
    the device's plug-in), compile_ns (nanoseconds spent in compiling), fused_runs (loops run), eager_runs.

    >>> nd.fuse_statistics()["refused"]
    0
    """
    return _ndock._expr_statistics()


def fuse_cache_set_max(max: int) -> None:
    """How many compiled loops are kept at most (max), least recently used first to go; 256 at the start. ValueError
    below 1.

    >>> nd.fuse_cache_set_max(256)
    """
    _ndock._expr_cache_set_max(max)


def fuse_cache_clear() -> None:
    """Forgets all compiled loops, and begins the counters again; waits for devices that still run some.

    >>> nd.fuse_cache_clear()
    >>> nd.fuse_statistics()["programs"]
    0
    """
    _ndock._expr_cache_clear()
