# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels by formula, in CuPy's grammar: one formula in the subset of C that the CPU's compiler, CUDA C++ and OpenCL C share,
compiled for each device and dtype when it is first called there, and kept in the kernel cache. Where nothing compiles, the
formula is computed by operations, block by block."""
from __future__ import annotations

from . import _ndock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from ._kernel_types import Param
    from ._types import Any, Array, Axes, DType, Optional, Union

__all__ = ["ElementwiseKernel", "ReductionKernel"]


class _NotCompiled(Exception):
    """The device takes no source, or there is no compiler: operations compute the formula."""


class _Plan:
    """What calls with arguments of the same kinds share."""

    __slots__ = ("bound", "dtypes", "evaluate", "extra", "find", "raw", "scalars", "table", "types")

    def __init__(self, dtypes: tuple[DType, ...], types: dict[str, DType], scalars: tuple[bool, ...], raw: int) -> None:
        self.bound = dtypes
        self.types = types
        self.scalars = scalars
        self.raw = raw
        self.table: dict[int, Any] = {}
        self.find: Any = None
        self.evaluate: Any = None
        self.dtypes: tuple[DType, ...] = ()
        self.extra: Any = None


def _load(device: Any, source: str, name: str, options: str) -> Any:
    """The module of a source; _NotCompiled where that device has no compiler."""
    from ._kernel_types import language
    if language(device) == "cuda":
        options = "--fmad=false --std=c++17 -default-device " + options
    try:
        return _ndock._module_load(device, 1, source.encode(), name, options)
    except NotImplementedError as e:
        raise _NotCompiled(str(e)) from None
    except ValueError as e:
        if language(device) == "c" and not _compiles(device):
            raise _NotCompiled(str(e)) from None
        raise


def _compiles(device: Any) -> bool:
    """Whether the C compiler works at all: one without headers or a linker is none."""
    try:
        _ndock._module_load(device, 1, b'#include "ndock_kernel.h"\nND_BLOCK_KERNEL(nd_nothing) {}\n', "nothing", "")
    except (NotImplementedError, ValueError):
        return False
    return True


class _Formula:
    """What elementwise kernels and reductions share: parameters, and a plan for each kind of arguments."""

    def __init__(self, in_params: str, out_params: str, name: str, preamble: str, options: Any, what: str) -> None:
        from . import _kernel_text  # noqa: F401: else the first call would wait for it
        from ._kernel_types import options_text, parameters
        self.in_params: tuple[Param, ...] = parameters(in_params, what)
        self.out_params: tuple[Param, ...] = parameters(out_params, what)
        names = [p.name for p in self.in_params + self.out_params]
        if not self.out_params:
            raise ValueError(f"{name}: a kernel needs an output")
        if len(set(names)) < len(names):
            raise ValueError(f"{name}: a name is given to an input and an output")
        self.nin = len(self.in_params)
        self.nout = len(self.out_params)
        self.nargs = self.nin + self.nout
        self.name = name
        self.preamble = preamble
        self.options = options_text(options)
        self._plans: dict[Any, _Plan] = {}

    def _split(self, args: tuple[Any, ...]) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        """The inputs and the outputs; None for outputs to be made."""
        nin = self.nin
        if len(args) == nin:
            return args, (None,) * self.nout
        if len(args) != self.nargs:
            raise TypeError(f"{self.name} takes {nin} arrays or numbers, or {self.nargs} with the outputs, not {len(args)}")
        return args[:nin], args[nin:]

    def _device(self, args: tuple[Any, ...]) -> Any:
        for a in args:
            if isinstance(a, _ndock.Array):
                return a.device
        return _ndock.Device(None)

    def _plan(self, ins: tuple[Any, ...], outs: tuple[Any, ...], key: Any) -> _Plan:
        from ._kernel_types import Binding
        for p, a in zip(self.out_params, outs):
            if a is not None and not isinstance(a, _ndock.Array):
                raise TypeError(f"{self.name}: the output {p.name} must be an Array, not {type(a).__name__}")
        binding = Binding(self.name, self.in_params, self.out_params)
        dtypes = binding.bind(ins + outs, self.nin)
        scalars = tuple([not isinstance(a, _ndock.Array) for a in ins])
        raw = sum(1 << i for i, p in enumerate(self.in_params + self.out_params) if p.raw)
        plan = _Plan(dtypes, binding.types, scalars, raw)
        plan.dtypes = dtypes[self.nin:]
        self._prepare(plan, self._device(ins + outs))
        self._plans[key] = plan
        return plan

    def _prepare(self, plan: _Plan, device: Any) -> None:
        raise NotImplementedError

    def _operands(self, plan: _Plan, lang: str) -> Any:
        from ._kernel_text import Operand
        return [Operand(p, dtype, lang, k >= self.nin, k < self.nin and plan.scalars[k])
                for k, (p, dtype) in enumerate(zip(self.in_params + self.out_params, plan.bound))]

    def _values(self, plan: _Plan, ins: tuple[Any, ...]) -> tuple[Any, ...]:
        from ._kernel_types import value_bytes
        return tuple([value_bytes(a, dtype, self.name, p.name) if scalar else a
                      for a, scalar, dtype, p in zip(ins, plan.scalars, plan.bound, self.in_params)])

    def __repr__(self) -> str:
        def text(params: tuple[Param, ...]) -> str:
            return ", ".join(f"{'raw ' if p.raw else ''}{p.placeholder or p.dtype} {p.name}" for p in params)
        return f"<{type(self).__name__} {self.name}({text(self.in_params)}) -> {text(self.out_params)}>"


class ElementwiseKernel(_Formula):
    """ElementwiseKernel(in_params, out_params, operation, name="kernel", reduce_dims=True, preamble="", no_return=False,
    return_tuple=False, loop_prep="", after_loop="", options=()): one formula for every element, in one pass over memory.

    in_params, out_params: declarations as CuPy has them, "float32 x, T y, raw T z": a dtype or a placeholder (one capital letter,
    the dtype of the array that is given there), and a name. Operands broadcast, with any strides; numbers go by value. A raw array
    is indexed in the formula, x[i], as a dense one, and x.size() are its elements; i is the position of the element in C order, n
    the number of elements. operation: statements in C that assign the outputs; math functions by their names of C, float stays
    float, float16 and bfloat16 are computed as float and rounded where they are stored; no a*b + c is contracted, so that
    arithmetic has the same bits on every device. preamble: functions and macros before the kernel; loop_prep, after_loop: statements
    around the loop. options: for the compiler. reduce_dims is CuPy's, and of no effect.

    kernel(*inputs, size=None) makes the outputs, kernel(*inputs, *outputs) writes into these, which may be inputs as well, as the
    same view. size: elements, where no array tells. Returns an Array, or a tuple of several. TypeError for an array of another dtype than
    declared; nothing is converted. Queued on the current stream of the device of the arrays.

    CPU: C, by the compiler that NDOCK_CPU_CC names or cc; CUDA: by NVRTC; OpenCL: by the driver. Compiled at the first call for a device,
    dtypes and layout, and kept by nd.kernel_cache. Where nothing compiles, operations compute the formula, block by block: the same
    rules of C, without preamble. Integer division by zero is undefined, as in C.

    >>> f = nd.ElementwiseKernel("T x, T y", "T z", "z = x * x + y", "squares")
    >>> f(nd.asarray([1, 2, 3]), 10)
    array([11, 14, 19], dtype=int64, device='cpu:0')
    """

    def __init__(self, in_params: str, out_params: str, operation: str, name: str = "kernel", reduce_dims: bool = True,
                 preamble: str = "", no_return: bool = False, return_tuple: bool = False, *, loop_prep: str = "",
                 after_loop: str = "", options: Union[str, tuple[str, ...]] = ()) -> None:
        super().__init__(in_params, out_params, name, preamble, options, "elementwise")
        del reduce_dims
        self.operation = operation
        self.loop_prep = loop_prep
        self.after_loop = after_loop
        self.no_return = no_return
        self.return_tuple = return_tuple
        from re import search
        ordered = search(r"\bi\b", operation + loop_prep + after_loop) or any(p.raw for p in self.in_params + self.out_params)
        self._ordered = bool(ordered)

    def _prepare(self, plan: _Plan, device: Any) -> None:
        from ._kernel_types import language
        lang = language(device)
        plan.extra = (lang in ("cuda", "opencl"), {"cuda": 256, "opencl": 64}.get(lang, 1))
        if not lang:
            self._use_operations(plan)
            return
        operands = self._operands(plan, lang)

        def find(key: int) -> Any:
            from ._kernel_text import elementwise
            source, chunk = elementwise(self, lang, operands, plan.types, key)
            module = _load(device, source, self.name, self.options)
            return _ndock._module_function(module, "nd_kernel"), chunk
        plan.find = find

    def _use_operations(self, plan: _Plan) -> None:
        from ._kernel_eval import Elementwise
        plan.evaluate = Elementwise(self, plan)

    def __call__(self, *args: Any, size: Optional[int] = None) -> Any:
        """The outputs of the inputs; see the class."""
        ins, outs = self._split(args)
        key = (self._device(args), *[a.dtype if isinstance(a, _ndock.Array) else type(a) for a in args])
        plan = self._plans.get(key) or self._plan(ins, outs, key)
        if plan.evaluate is None:
            try:
                made = _ndock._kernel_elementwise(plan.find, plan.table, self._values(plan, ins) if True in plan.scalars else ins,
                                                  plan.raw, outs, plan.dtypes, -1 if size is None else size, *plan.extra,
                                                  self._ordered)
            except _NotCompiled:
                self._use_operations(plan)
        if plan.evaluate is not None:
            made = plan.evaluate(ins, outs, size)
        if outs[0] is not None:
            made = outs[0] if self.nout == 1 else outs
        if self.no_return:
            return None
        return (made,) if self.return_tuple and self.nout == 1 else made


class ReductionKernel(_Formula):
    """ReductionKernel(in_params, out_params, map_expr, reduce_expr, post_map_expr, identity=None, name="kernel",
    reduce_type=None, preamble="", options=()): a reduction along axes by three formulas, as CuPy's.

    in_params, out_params: declarations as of nd.ElementwiseKernel. map_expr: an expression of the inputs' elements; reduce_expr:
    one of a and b that joins two such values, in any order; post_map_expr: a statement that assigns the outputs from a. identity:
    the value of an empty reduction, as text or a number; None: that is a ValueError. reduce_type: the dtype of a and b; None: that of
    the first output. preamble, options: as of nd.ElementwiseKernel.

    kernel(*inputs, axis=None, keepdims=False, out=None): axis an int, a tuple of them, or None for all; out: an Array of the result's shape
    and dtype. Returns an Array, or a tuple of several. The order in which values are joined depends on shapes and strides
    alone: the same bits every time, for any number of threads. Queued on the current stream.

    >>> norm = nd.ReductionKernel("T x", "T y", "x * x", "a + b", "y = sqrt(a)", "0", "norm")
    >>> norm(nd.asarray([[3.0, 4.0], [6.0, 8.0]]), axis=1)
    array([ 5., 10.], dtype=float64, device='cpu:0')
    """

    def __init__(self, in_params: str, out_params: str, map_expr: str, reduce_expr: str, post_map_expr: str,
                 identity: Optional[Union[str, int, float]] = None, name: str = "kernel", reduce_type: Optional[Any] = None,
                 preamble: str = "", options: Union[str, tuple[str, ...]] = ()) -> None:
        super().__init__(in_params, out_params, name, preamble, options, "reduction")
        self.map_expr = map_expr
        self.reduce_expr = reduce_expr
        self.post_map_expr = post_map_expr
        self.identity = None if identity is None else str(identity)
        self.reduce_type = reduce_type

    def _reduce_dtype(self, plan: _Plan) -> DType:
        from ._kernel_types import dtype_named
        wanted = self.reduce_type
        if wanted is None:
            return plan.dtypes[0]
        return plan.types[wanted] if isinstance(wanted, str) and wanted in plan.types else dtype_named(wanted)

    def _prepare(self, plan: _Plan, device: Any) -> None:
        from ._kernel_types import LETTERS, language
        from struct import calcsize
        lang = language(device)
        dtype = self._reduce_dtype(plan)
        plan.extra = (calcsize(LETTERS[dtype.name]), lang in ("cuda", "opencl"))
        if not lang:
            self._use_operations(plan)
            return
        operands = self._operands(plan, lang)

        def find(key: int) -> Any:
            from ._kernel_reduction import NAMES, reduction
            source = reduction(self, lang, operands, plan.types, dtype, key)
            module = _load(device, source, self.name, self.options)
            return tuple([_ndock._module_function(module, name) for name in NAMES[lang]])
        plan.find = find

    def _use_operations(self, plan: _Plan) -> None:
        from ._kernel_eval import Reduction
        plan.evaluate = Reduction(self, plan, self._reduce_dtype(plan))

    def _check_empty(self, ins: tuple[Any, ...], axis: Axes) -> None:
        """Without an identity nothing may be reduced of no elements."""
        arrays = [a for a, p in zip(ins, self.in_params) if isinstance(a, _ndock.Array) and not p.raw]
        if self.identity is None and any(0 in a.shape for a in arrays):
            shape = _ndock._broadcast_shapes(*[a.shape for a in arrays])
            axes = range(len(shape)) if axis is None else (axis,) if isinstance(axis, int) else axis
            if any(shape[k] == 0 for k in axes):
                raise ValueError(f"{self.name}: no element is reduced, and the kernel has no identity")

    def __call__(self, *args: Any, axis: Axes = None, keepdims: bool = False, out: Optional[Array] = None) -> Any:
        """The reduction of the inputs; see the class."""
        ins, outs = self._split(args)
        if out is not None:
            if outs[0] is not None or self.nout > 1:
                raise TypeError(f"{self.name}: out= is for a kernel with one output, given once")
            outs = (out,)
        key = (self._device(ins + outs), *[a.dtype if isinstance(a, _ndock.Array) else type(a) for a in ins + outs])
        plan = self._plans.get(key) or self._plan(ins, outs, key)
        self._check_empty(ins, axis)
        if plan.evaluate is None:
            try:
                made = _ndock._kernel_reduce(plan.find, plan.table, self._values(plan, ins), plan.raw, outs, plan.dtypes, axis,
                                             keepdims, *plan.extra)
            except _NotCompiled:
                self._use_operations(plan)
        if plan.evaluate is not None:
            made = plan.evaluate(ins, outs, axis, keepdims)
        if outs[0] is not None:
            return outs[0] if self.nout == 1 else outs
        return made


if TYPE_CHECKING:
    _Find = Callable[[int], Any]
