# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Formulas of kernels computed by operations, block by block, where nothing compiles them."""
from __future__ import annotations

import ndock as nd

from ._kernel_machine import COMPUTED, Machine, cast
from ._kernel_parse import NotUnderstood, expression, statements

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._types import Any, Array, Optional

BLOCK = 1 << 16  # elements of a block, so that what is between stays in the caches


def _refuse(spec: Any, why: Exception) -> None:
    raise NotImplementedError(f"{spec.name}: nothing compiles kernels here, and operations cannot compute the formula, because of "
                              f"{why}; nd.plugins() and NDOCK_CPU_CC tell of compilers") from None


class _Evaluator:
    """What is read of a formula once."""

    def __init__(self, spec: Any, plan: Any) -> None:
        self.spec, self.plan = spec, plan
        self.types = {letter: COMPUTED.get(dtype.name, dtype.name) for letter, dtype in plan.types.items()}
        if spec.preamble:
            _refuse(spec, NotUnderstood("the preamble"))

    def _inputs(self, ins: tuple[Any, ...], device: Any) -> tuple[dict[str, Array], dict[str, Array]]:
        """Arrays by name, and raw ones flat."""
        names, raw = {}, {}
        for p, dtype, a in zip(self.spec.in_params, self.plan.bound, ins):
            if p.raw:
                raw[p.name] = nd.reshape(a, (-1,))
                names[p.name + "_size"] = nd.asarray(a.size, dtype="int64", device=device)
            else:
                names[p.name] = a if isinstance(a, nd.Array) else nd.asarray(a, dtype=dtype, device=device)
        return names, raw

    def _shape(self, names: dict[str, Array], ins: tuple[Any, ...]) -> Optional[tuple[int, ...]]:
        shapes = [a.shape for p, a in zip(self.spec.in_params, ins) if isinstance(a, nd.Array) and not p.raw]
        return tuple(nd.broadcast_shapes(*shapes)) if shapes else None


class Elementwise(_Evaluator):
    """An elementwise kernel by operations."""

    def __init__(self, spec: Any, plan: Any) -> None:
        from ._kernel_text import formula, Operand
        super().__init__(spec, plan)
        operands = [Operand(p, d, "c", k >= spec.nin, False) for k, (p, d) in enumerate(zip(spec.in_params + spec.out_params, plan.bound))]
        if any(p.raw for p in spec.out_params):
            _refuse(spec, NotUnderstood("a raw output"))
        try:
            text = f"{spec.loop_prep};{formula(spec.operation, operands)};{spec.after_loop}"
            self.program = statements(text, self.types)
        except NotUnderstood as e:
            _refuse(spec, e)

    def __call__(self, ins: tuple[Any, ...], outs: tuple[Any, ...], size: Optional[int]) -> Any:
        device = self.spec._device(ins + outs)
        names, raw = self._inputs(ins, device)
        shape = self._shape(names, ins)
        if shape is None:
            shape = (size,) if size is not None else outs[0].shape if outs[0] is not None else None
        elif size is not None:
            raise ValueError("size= is for calls without an array that is not raw")
        if shape is None:
            raise ValueError("no array tells how many elements there are; give size=")
        made = [o if o is not None else nd.empty(shape, dtype=dtype, device=device) for o, dtype in zip(outs, self.plan.dtypes)]
        for o in made:
            if o.shape != shape:
                raise ValueError(f"an output has the shape {o.shape}, the result {shape}")
        shared = any(o is not None for o in outs)
        parts = self._parts(shape)
        targets = [nd.empty(shape, dtype=o.dtype, device=device) for o in made] if shared and len(parts) > 1 else made
        full = {name: nd.broadcast_to(a, shape) if a.ndim else a for name, a in names.items()}
        for part in parts:
            self._block(device, shape, part, full, raw, made, targets)
        for o, t in zip(made, targets):
            if o is not t:
                o[...] = t
        return made[0] if len(made) == 1 else tuple(made)

    def _parts(self, shape: tuple[int, ...]) -> list[Any]:
        """Slices of the first axis."""
        rows = shape[0] if shape else 0
        each = 1
        for n in shape[1:]:
            each *= n
        step = max(1, BLOCK // max(each, 1))
        if rows <= step:
            return [Ellipsis]
        return [slice(k, min(k + step, rows)) for k in range(0, rows, step)]

    def _block(self, device: Any, shape: tuple[int, ...], part: Any, full: dict[str, Array], raw: dict[str, Array],
               made: list[Array], targets: list[Array]) -> None:
        names = {}
        for name, a in full.items():
            block = a[part] if a.ndim else a
            names[name] = cast(block, COMPUTED.get(block.dtype.name, block.dtype.name))
        views = [t[part] for t in targets]
        extent = tuple(views[0].shape)
        if 0 in extent:
            return
        for p, o, t in zip(self.spec.out_params, made, views):
            names[p.name] = cast(o[part], COMPUTED.get(t.dtype.name, t.dtype.name))
        total, inner = 1, 1
        for k, n in enumerate(shape):
            total *= n
            inner *= n if k else 1
        first = part.start * inner if isinstance(part, slice) else 0
        if self.spec._ordered:
            count = views[0].size
            names["i"] = nd.reshape(nd.arange(first, first + count, dtype="int64", device=device), extent)
        names["n"] = nd.asarray(total, dtype="int64", device=device)
        machine = Machine(device, extent, names, raw)
        try:
            machine.run(self.program, None)
        except NotUnderstood as e:
            _refuse(self.spec, e)
        for p, t in zip(self.spec.out_params, views):
            t[...] = nd.broadcast_to(cast(machine.names[p.name], t.dtype.name), extent)


class Reduction(_Evaluator):
    """A reduction by operations: halves of what is left are joined, until one element is."""

    def __init__(self, spec: Any, plan: Any, dtype: Any) -> None:
        super().__init__(spec, plan)
        self.dtype = COMPUTED.get(dtype.name, dtype.name)
        try:
            self.map = expression(spec.map_expr, self.types)
            self.join = expression(spec.reduce_expr, self.types)
            sizes = spec.post_map_expr.replace("_in_ind.size()", "nd_in_size").replace("_out_ind.size()", "nd_out_size")
            self.post = statements(sizes, self.types)
            self.identity = None if spec.identity is None else expression(spec.identity, self.types)
        except NotUnderstood as e:
            _refuse(spec, e)

    def __call__(self, ins: tuple[Any, ...], outs: tuple[Any, ...], axis: Any, keepdims: bool) -> Any:
        device = self.spec._device(ins + outs)
        names, raw = self._inputs(ins, device)
        shape = self._shape(names, ins)
        if shape is None:
            raise ValueError("a reduction needs an array that is not raw")
        names = {name: cast(a, COMPUTED.get(a.dtype.name, a.dtype.name)) for name, a in names.items()}
        try:
            return self._run(device, names, raw, shape, self._axes(axis, len(shape)), keepdims, outs)
        except NotUnderstood as e:
            return _refuse(self.spec, e)

    def _axes(self, axis: Any, ndim: int) -> list[int]:
        axes = range(ndim) if axis is None else (axis,) if isinstance(axis, int) else axis
        found = []
        for k in axes:
            if not -ndim <= k < ndim or k % ndim in found:
                raise ValueError(f"axis {k} is {'named twice' if -ndim <= k < ndim else 'none'} of {ndim} axes")
            found.append(k % ndim)
        return found

    def _run(self, device: Any, names: dict[str, Array], raw: dict[str, Array], shape: tuple[int, ...], axes: list[int],
             keepdims: bool, outs: tuple[Any, ...]) -> Any:
        kept = [k for k in range(len(shape)) if k not in axes]
        left = tuple([shape[k] for k in kept])
        rows = columns = 1
        for k in range(len(shape)):
            rows *= shape[k] if k in kept else 1
            columns *= 1 if k in kept else shape[k]
        mapped = nd.broadcast_to(cast(Machine(device, shape, dict(names), raw).value(self.map), self.dtype), shape)
        a = nd.reshape(nd.permute_dims(mapped, kept + axes), (rows, columns))
        while columns > 1 and rows:
            half = (columns + 1) // 2
            low, high = a[:, :columns - half], a[:, half:]
            joined = cast(Machine(device, (rows, columns - half), {"a": low, "b": high}, raw).value(self.join), self.dtype)
            a = joined if 2 * half == columns else nd.concat([joined, a[:, half - 1:half]], axis=1)
            columns = half
        if columns == 0 or not rows:
            value = self.identity if self.identity is not None else ("number", 0, "int32")
            a = nd.broadcast_to(cast(Machine(device, (), {}, raw).value(value), self.dtype), (rows, 1))
        a = nd.reshape(a, left)
        sizes = {"nd_in_size": rows * self._product(shape, axes), "nd_out_size": rows}
        scalars = {name: x for name, x in names.items() if not x.ndim}
        machine = Machine(device, left, {**scalars, "a": a}, raw)
        for name, count in sizes.items():
            machine.names[name] = machine.constant(count, "int64")
        return self._outputs(machine, left, tuple([1 if k in axes else n for k, n in enumerate(shape)]) if keepdims else left, outs,
                             device)

    def _product(self, shape: tuple[int, ...], axes: list[int]) -> int:
        total = 1
        for k in axes:
            total *= shape[k]
        return total

    def _outputs(self, machine: Machine, left: tuple[int, ...], shape: tuple[int, ...], outs: tuple[Any, ...], device: Any) -> Any:
        made = [o if o is not None else nd.empty(shape, dtype=dtype, device=device) for o, dtype in zip(outs, self.plan.dtypes)]
        for p, o in zip(self.spec.out_params, made):
            if o.shape != shape:
                raise ValueError(f"an output has the shape {o.shape}, the result {shape}")
            machine.names[p.name] = nd.reshape(cast(o, COMPUTED.get(o.dtype.name, o.dtype.name)), left)
        machine.run(self.post, None)
        for p, o in zip(self.spec.out_params, made):
            value = nd.broadcast_to(cast(machine.names[p.name], o.dtype.name), left)
            o[...] = nd.reshape(value, shape)
        return made[0] if len(made) == 1 else tuple(made)
