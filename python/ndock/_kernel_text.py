# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sources of elementwise kernels: C for the CPU (the plug-in's ndock_kernel.h), CUDA C++ and OpenCL C. What a kernel is
called with is python/src/kernels/elementwise.c's affair."""
from __future__ import annotations

import re

from ._kernel_preludes import COMPUTED, LANGUAGES, PRELUDES, STORED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._kernel_types import Param
    from ._types import Any, DType

GROUP = 256  # threads of a block on GPUs; OpenCL's groups have OPENCL_GROUP
OPENCL_GROUP = 64
CPU_CHUNK = 16384  # elements that one thread computes at a time

class Operand:
    """A parameter with the dtype of a call: names of its types in a language."""

    def __init__(self, param: Param, dtype: DType, lang: str, out: bool, scalar: bool) -> None:
        self.name = param.name
        self.raw = param.raw
        self.out = out
        self.scalar = scalar
        self.dtype = dtype
        self.walked = not scalar and not param.raw
        self.computed = COMPUTED[dtype.name][LANGUAGES.index(lang)]
        self.stored = COMPUTED[STORED.get(dtype.name, dtype.name)][LANGUAGES.index(lang)]
        if self.raw and dtype.itemsize == 2 and dtype.name in STORED:
            raise TypeError(f"{self.name} is raw {dtype.name}; raw arrays have dtypes that compilers have, as float32")

    def load(self, at: str) -> str:
        """The computed value of a stored one."""
        if self.dtype.name == "bool":
            return f"(({at}) != 0)"
        return f"nd_load_{self.dtype.name}({at})" if self.dtype.name in STORED else at

    def store(self, value: str) -> str:
        """What is stored of a computed value."""
        if self.dtype.name == "bool":
            return f"(({value}) ? 1 : 0)"
        return f"nd_store_{self.dtype.name}({value})" if self.dtype.name in STORED else value


def head(lang: str, operands: list[Operand], types: dict[str, DType], preamble: str) -> str:
    """Types and the program's own text."""
    lines = [PRELUDES[lang]]
    for letter, dtype in sorted(types.items()):
        lines.append(f"typedef {COMPUTED[dtype.name][LANGUAGES.index(lang)]} {letter};")
    return "\n".join(lines) + "\n" + preamble + "\n"


def formula(text: str, operands: list[Operand]) -> str:
    """A formula with CuPy's methods of raw arrays and indexers as names that every language has."""
    if "size" not in text:  # a pattern takes longer to make than all else here
        return text
    for o in operands:
        if o.raw:
            text = re.sub(rf"\b{o.name}\s*\.\s*size\s*\(\s*\)", f"{o.name}_size", text)
    return re.sub(r"\b_ind\s*\.\s*size\s*\(\s*\)", "n", text)


def c_arguments(operands: list[Operand], at: int) -> list[str]:
    """Declarations of the operands in a kernel in C, from that argument on."""
    lines = []
    for o in operands:
        const = "" if o.out else "const "
        if o.scalar:
            lines.append(f"const {o.computed} {o.name} = ND_ARGUMENT({o.computed}, {at});")
        elif o.raw:
            lines.append(f"{const}{o.stored} *const {o.name} = argument[{at}];")
            at += 1
            lines.append(f"const int64_t {o.name}_size = ND_ARGUMENT(int64_t, {at});")
        else:
            lines.append(f"{const}{o.stored} *const nd_p_{o.name} = argument[{at}];")
        at += 1
    return lines


def gpu_parameters(lang: str, operands: list[Operand]) -> tuple[list[str], list[str]]:
    """Parameters of a kernel on a GPU, and its first lines."""
    params, lines = [], []
    wide = "long long" if lang == "cuda" else "long"
    for o in operands:
        name = o.name if o.raw else f"nd_p_{o.name}"
        const = "" if o.out else "const "
        if o.scalar:
            stored = o.stored if o.dtype.name == "bool" else o.computed
            params.append(f"const {stored} nd_s_{o.name}")
            lines.append(f"const {o.computed} {o.name} = nd_s_{o.name};")
        elif lang == "cuda":
            params.append(f"{const}{o.stored} *{name}")
        else:
            params += [f"__global uchar *nd_b_{o.name}", f"ulong nd_o_{o.name}"]
            lines.append(f"{const}__global {o.stored} *{name} = (__global {o.stored} *)(nd_b_{o.name} + nd_o_{o.name});")
        if o.raw:
            params.append(f"const {wide} {o.name}_size")
    return params, lines


def body(operands: list[Operand], position: dict[str, str], operation: str) -> str:
    """One element: loads, the operation, stores. position: of each operand's element."""
    lines = []
    for o in operands:
        if o.walked:
            at = f"nd_p_{o.name}[{position[o.name]}]"
            lines.append(f"{'' if o.out else 'const '}{o.computed} {o.name} = {o.load(at)};")
    lines.append("{ " + operation + "; }")
    lines += [f"nd_p_{o.name}[{position[o.name]}] = {o.store(o.name)};" for o in operands if o.walked and o.out]
    return "\n".join(lines)


class Layout:
    """What a key of elementwise.c says: dense, or each walked operand's step along the innermost axis (0, 1, 2: any other),
    the number of axes, and whether positions need 64 bits."""

    def __init__(self, key: int, operands: list[Operand]) -> None:
        self.dense = key == 0
        walked = [o for o in operands if o.walked]
        self.wide = bool(key & 1)
        key = (key // 2 - 1) // 2 if key else 0
        self.ndim = key % 8 + 1
        key //= 8
        self.steps: dict[str, int] = {}
        for o in reversed(walked):
            self.steps[o.name] = key % 3
            key //= 3
        self.order = {o.name: k for k, o in enumerate(walked)}

    def walk(self, wide: str) -> str:
        """The struct of the walk."""
        return f"struct nd_walk {{ {wide} shape[8]; {wide} stride[{max(len(self.order), 1)}][8]; }};"


def elementwise_c(spec: Any, operands: list[Operand], layout: Layout) -> str:
    """A kernel for the CPU: the blocks of a launch are stretches of positions in the walk's order."""
    text = [] if layout.dense else [layout.walk("int64_t")]
    text.append("ND_BLOCK_KERNEL(nd_kernel)\n{")
    text.append("const int64_t n = ND_ARGUMENT(int64_t, 0), nd_chunk = ND_ARGUMENT(int64_t, 1);")
    if not layout.dense:
        text.append("const int64_t nd_last = ND_ARGUMENT(int64_t, 2) - 1;")
        text.append("const struct nd_walk *const nd_w = argument[3];")
    text += c_arguments(operands, 2 if layout.dense else 4)
    text.append("const int64_t nd_begin = at[0] * nd_chunk, nd_end = nd_begin + nd_chunk < n ? nd_begin + nd_chunk : n;")
    text.append(spec.loop_prep + ";")
    ivdep = "" if any(o.raw and o.out for o in operands) else "ND_IVDEP"
    operation = formula(spec.operation, operands)
    if layout.dense:
        inner = body(operands, dict.fromkeys(layout.order, "i"), operation)
        text.append(f"{ivdep}\nfor (int64_t i = nd_begin; i < nd_end; i++) {{\n{inner}\n}}")
    else:
        text.append(_c_walk(operands, layout, operation, ivdep))
    text.append(spec.after_loop + ";\n}")
    return "\n".join(text)


def _c_walk(operands: list[Operand], layout: Layout, operation: str, ivdep: str) -> str:
    walked = [o for o in operands if o.walked]
    offsets = "\n".join(f"int64_t nd_f_{o.name} = 0;" for o in walked)
    steps = "\n".join(f"nd_f_{o.name} += nd_at * nd_w->stride[{layout.order[o.name]}][nd_d];" for o in walked)
    moved, position = [], {}
    for o in walked:
        step = {0: "0", 1: "1", 2: f"nd_w->stride[{layout.order[o.name]}][nd_last]"}[layout.steps[o.name]]
        moved.append(f"const int64_t nd_t_{o.name} = {step};\nnd_f_{o.name} += nd_k * nd_t_{o.name};")
        position[o.name] = f"nd_f_{o.name} + nd_j * nd_t_{o.name}"
    inner = body(operands, position, operation)
    return f"""const int64_t nd_inner = nd_last < 0 ? 1 : nd_w->shape[nd_last];
for (int64_t nd_i = nd_begin; nd_i < nd_end;) {{
int64_t nd_k = nd_i % nd_inner, nd_rest = nd_i / nd_inner, nd_m = nd_inner - nd_k;
{offsets}
for (int64_t nd_d = nd_last - 1; nd_d >= 0; nd_d--) {{
const int64_t nd_at = nd_rest % nd_w->shape[nd_d];
nd_rest /= nd_w->shape[nd_d];
{steps}
}}
{chr(10).join(moved)}
nd_m = nd_m < nd_end - nd_i ? nd_m : nd_end - nd_i;
{ivdep}
for (int64_t nd_j = 0; nd_j < nd_m; nd_j++) {{
const int64_t i = nd_i + nd_j;
(void)i;
{inner}
}}
nd_i += nd_m;
}}"""


def vector_of(operands: list[Operand]) -> int:
    """How many elements a thread moves at once on CUDA: 16 bytes of the widest."""
    return max(1, 16 // max([o.dtype.itemsize for o in operands if o.walked] or [16]))


def elementwise_gpu(spec: Any, lang: str, operands: list[Operand], layout: Layout) -> tuple[str, int]:
    """A kernel for a GPU, and the elements of a block."""
    wide = "long long" if lang == "cuda" else "long"
    group = GROUP if lang == "cuda" else OPENCL_GROUP
    params, lines = gpu_parameters(lang, operands)
    first = [f"const {wide} n", f"const {wide} nd_chunk"] + ([] if layout.dense else ["const struct nd_walk nd_w"])
    operation = formula(spec.operation, operands)
    vector = vector_of(operands) if layout.dense and lang == "cuda" and not any(o.raw and o.out for o in operands) else 1
    each = vector if vector > 1 else 4
    text = [] if layout.dense else [layout.walk(wide)]
    text.append(f"ND_KERNEL nd_kernel({', '.join(first + params)})\n{{")
    text += lines
    text.append(f"const {wide} nd_base = ND_BLOCK_X * nd_chunk;")
    text.append(spec.loop_prep + ";")
    if vector > 1:
        text.append(_vectors(operands, vector, operation, wide))
    text.append(f"for (int nd_k = 0; nd_k < {each}; nd_k++) {{")
    text.append(f"const {wide} i = nd_base + nd_k * ND_GROUP + ND_THREAD;\nif (i >= n) break;")
    if layout.dense:
        text.append(body(operands, dict.fromkeys(layout.order, "i"), operation))
    else:
        text.append(_gpu_walk(operands, layout, operation, wide, lang))
    text.append("}\n" + spec.after_loop + ";\n}")
    return "\n".join(text), group * each


def _vectors(operands: list[Operand], vector: int, operation: str, wide: str) -> str:
    walked = [o for o in operands if o.walked]
    aligned = " | ".join(f"(size_t)nd_p_{o.name} % {vector * o.dtype.itemsize}" for o in walked)
    lines = [f"if (nd_base + nd_chunk <= n && ({aligned}) == 0) {{",
             f"const {wide} nd_i = nd_base + ND_THREAD * {vector};"]
    for o in walked:
        lines.append(f"nd_vector<{o.stored}, {vector}> nd_v_{o.name} = *(const nd_vector<{o.stored}, {vector}> *)(nd_p_{o.name} + nd_i);")
    lines.append(f"#pragma unroll\nfor (int nd_k = 0; nd_k < {vector}; nd_k++) {{\nconst {wide} i = nd_i + nd_k;\n(void)i;")
    for o in walked:
        lines.append(f"{'' if o.out else 'const '}{o.computed} {o.name} = {o.load(f'nd_v_{o.name}.at[nd_k]')};")
    lines.append("{ " + operation + "; }")
    lines += [f"nd_v_{o.name}.at[nd_k] = {o.store(o.name)};" for o in walked if o.out]
    lines.append("}")
    lines += [f"*(nd_vector<{o.stored}, {vector}> *)(nd_p_{o.name} + nd_i) = nd_v_{o.name};" for o in walked if o.out]
    lines.append("} else")
    return "\n".join(lines)


def _gpu_walk(operands: list[Operand], layout: Layout, operation: str, wide: str, lang: str) -> str:
    walked = [o for o in operands if o.walked]
    count = f"unsigned {wide}" if layout.wide else "unsigned int"
    lines = [f"{count} nd_rest = ({count})i;"]
    lines += [f"{wide} nd_f_{o.name} = 0;" for o in walked]
    for d in range(layout.ndim - 1, -1, -1):
        lines.append("{")
        lines.append(f"const {count} nd_at = " + (f"nd_rest % ({count})nd_w.shape[{d}];" if d else "nd_rest;"))
        if d:
            lines.append(f"nd_rest /= ({count})nd_w.shape[{d}];")
        for o in walked:
            step = layout.steps[o.name] if d == layout.ndim - 1 else 2
            by = {0: None, 1: f"({wide})nd_at", 2: f"({wide})nd_at * nd_w.stride[{layout.order[o.name]}][{d}]"}[step]
            if by:
                lines.append(f"nd_f_{o.name} += {by};")
        lines.append("}")
    lines.append(body(operands, {o.name: f"nd_f_{o.name}" for o in walked}, operation))
    return "\n".join(lines)


def elementwise(spec: Any, lang: str, operands: list[Operand], types: dict[str, DType], key: int) -> tuple[str, int]:
    """The source of a kernel for that layout, and the elements of a block."""
    layout = Layout(key, operands)
    start = head(lang, operands, types, spec.preamble)
    if lang == "c":
        return start + elementwise_c(spec, operands, layout), CPU_CHUNK
    text, chunk = elementwise_gpu(spec, lang, operands, layout)
    return start + text, chunk
