# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operations of programs: a shape rule, a form for the host, and forms for single plug-ins."""
from __future__ import annotations

from . import _ndock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from ._types import Any, Array, DType, Optional, Sequence

__all__ = ["CustomOp", "Spec", "custom_op"]


class Spec:
    """Spec(shape, dtype): what a shape rule sees of an operand and says of a result.

    >>> nd.Spec((2, 3), nd.float32).shape
    (2, 3)
    """

    __slots__ = ("dtype", "shape")

    def __init__(self, shape: Sequence[int], dtype: Any) -> None:
        self.shape = tuple(shape)
        self.dtype: DType = _ndock.result_type(dtype)

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    def __repr__(self) -> str:
        return f"Spec({self.shape}, {self.dtype.name})"


def _broadcast(*specs: Spec) -> Spec:
    """The rule of elementwise operations: shapes broadcast, dtypes are promoted."""
    return Spec(_ndock._broadcast_shapes(*[s.shape for s in specs]), _ndock.result_type(*[s.dtype for s in specs]))


class CustomOp:
    """An operation of nd.custom_op: op(*arrays, out=None, stream=None, **parameters).

    Arrays must be on one device. out: an Array, or a tuple of as many as there are results, to write into; it may overlap inputs. stream:
    None is the current one. Parameters go to the shape rule and the forms as they are. Returns an Array or a tuple of several. A
    device without a form is served by the host form on copies, counted and logged like every staged operation.

    >>> isinstance(nd.CustomOp, type)
    True
    """

    __slots__ = ("_backward", "_op", "doc", "n_in", "n_out", "name")

    def __init__(self, name: str, doc: str, n_in: int, n_out: int, op: Any, backward: Optional[Callable[..., Any]]) -> None:
        self.name = name
        self.doc = doc
        self.n_in = n_in
        self.n_out = n_out
        self._op = op
        self._backward = backward

    def __call__(self, *arrays: Array, out: Any = None, stream: Any = None, **parameters: Any) -> Any:
        """The results of the arrays; see the class."""
        outs = (out,) if isinstance(out, _ndock.Array) else out
        if outs is not None and len(outs) != self.n_out:
            raise TypeError(f"{self.name}: out has {len(outs)} arrays; the operation has {self.n_out} results")
        made = _ndock._custom_apply(self._op, arrays, parameters, stream, outs)
        if out is not None:
            return out
        return made[0] if self.n_out == 1 else made

    def backward(self, inputs: Sequence[Array], outputs: Sequence[Array], gradients: Sequence[Optional[Array]],
                 **parameters: Any) -> tuple[Optional[Array], ...]:
        """The gradients of the inputs, from those of the outputs: what the operation's backward function returns for
        (inputs, outputs, gradients, **parameters), checked. NotImplementedError where there is none."""
        if self._backward is None:
            raise NotImplementedError(f"{self.name} has no backward function")
        found = self._backward(tuple(inputs), tuple(outputs), tuple(gradients), **parameters)
        made = (found,) if isinstance(found, _ndock.Array) or found is None else tuple(found)
        if len(made) != self.n_in:
            raise ValueError(f"{self.name}: backward returned {len(made)} gradients for {self.n_in} inputs")
        for g, x in zip(made, inputs):
            if g is not None and g.shape != x.shape:
                raise ValueError(f"{self.name}: backward made a gradient of shape {g.shape} for an input of {x.shape}")
        return made

    def __repr__(self) -> str:
        return f"<CustomOp {self.name}: {self.n_in} inputs, {self.n_out} results>"


def custom_op(name: str, n_in: int, n_out: int = 1, *, shape: Optional[Callable[..., Any]] = None,
              host: Optional[Callable[..., Any]] = None, forms: Optional[Mapping[str, Callable[..., Any]]] = None,
              backward: Optional[Callable[..., Any]] = None, doc: str = "") -> CustomOp:
    """Register an operation of n_in arrays with n_out results, under a name that no operation has; it stays until the process ends.

    shape: the rule, called with an nd.Spec for each input and the parameters; it returns a Spec (or a tuple (shape, dtype)) for the
    result, a list of them for several; None: shapes broadcast and dtypes are promoted. host: called with the inputs and then the outputs,
    as Arrays on the CPU, and the parameters; it writes into the outputs, or returns what is copied there. Outputs are dense and overlap no
    input. forms: functions called the same way with arrays of a device, by the name of its plug-in ("cuda", "opencl", "sim"), which queue
    work on the current stream, as nd.ElementwiseKernel and module.kernel do. One of host and forms is needed. backward: see CustomOp.backward. doc:
    what help() shows. A kernel by
    formula as host is the form of every device that compiles it.

    An exception of a function reaches the caller. Any thread may apply the operation. Errors: ValueError: the name is in use or no name (a-z,
    0-9, _), or a number is out of range (at most 16 arrays).

    >>> squared = nd.ElementwiseKernel("T x, T y", "T z", "z = (x - y) * (x - y)", "squared_error")
    >>> op = nd.custom_op("doc_squared_error", 2, host=squared)
    >>> op(nd.asarray([1.0, 5.0]), nd.asarray([2.0, 2.0]))
    array([1., 9.], dtype=float64, device='cpu:0')
    """
    rule = shape or _broadcast

    def shapes(operands: list[tuple[tuple[int, ...], DType]], parameters: dict[str, Any]) -> list[tuple[tuple[int, ...], Any]]:
        found = rule(*[Spec(*o) for o in operands], **parameters)
        several: Any = found if n_out != 1 or isinstance(found, list) else [found]
        return [(s.shape, s.dtype) if isinstance(s, Spec) else (tuple(s[0]), s[1]) for s in several]

    given = dict(forms or {})
    for function in (shape, host, backward, *given.values()):
        if function is not None and not callable(function):
            raise TypeError(f"custom_op(): {function!r} is no function")
    from ._kernels import ElementwiseKernel, ReductionKernel
    for plugin in ("cpu", "sim", "cuda", "opencl") if isinstance(host, (ElementwiseKernel, ReductionKernel)) else ("cpu",):
        if host is not None:
            given.setdefault(plugin, host)
    op = _ndock._custom_register(name, doc, n_in, n_out, shapes, host, given, backward)
    return CustomOp(name, doc, n_in, n_out, op, backward)
