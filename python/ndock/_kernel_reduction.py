# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sources of reductions by formula. Kernels: in one launch; parts of rows; what the parts give. In the layout of rows a block
reduces a row, in that of columns each thread (on the CPU each lane) one of neighbouring results. What they are called with is
python/src/kernels/reduce.c's affair."""
from __future__ import annotations

import re

from ._kernel_preludes import COMPUTED, LANGUAGES
from ._kernel_text import c_arguments, formula, gpu_parameters, head

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._kernel_text import Operand
    from ._types import Any, DType

NAMES = {"c": ("nd_reduce", "nd_partial", "nd_finish"),
         "cuda": ("nd_reduce", "nd_partial", "nd_finish", "nd_finish_long"),
         "opencl": ("nd_reduce", "nd_partial", "nd_finish", "nd_finish_long")}
_NUMBERS = ("nd_rows", "nd_columns", "nd_parts", "nd_per", "nd_length", "nd_ndim")


def _sizes(text: str, columns: str) -> str:
    """CuPy's numbers of elements."""
    text = re.sub(r"\b_in_ind\s*\.\s*size\s*\(\s*\)", f"(nd_rows * {columns})", text)
    return re.sub(r"\b_out_ind\s*\.\s*size\s*\(\s*\)", "nd_rows", text)


class _Parts:
    """The pieces of text that all kernels of a reduction are put together from."""

    def __init__(self, spec: Any, lang: str, operands: list[Operand], dtype: DType) -> None:
        self.spec, self.lang, self.operands = spec, lang, operands
        self.type = COMPUTED[dtype.name][LANGUAGES.index(lang)]
        self.wide = {"c": "int64_t", "cuda": "long long", "opencl": "long"}[lang]
        self.walked = [o for o in operands if o.walked]
        self.ins = [o for o in self.walked if not o.out]
        self.outs = [o for o in self.walked if o.out]
        self.order = {o.name: k for k, o in enumerate(self.walked)}
        self.glob = {"c": "", "cuda": "", "opencl": "__global "}[lang]
        self.walk = "nd_w->" if lang == "c" else "nd_w."
        identity = spec.identity
        self.identity = f"({self.type})({identity})" if identity is not None else f"({self.type})0"

    def functions(self) -> str:
        """The struct of the walk, and the function that joins."""
        fn = "static inline" if self.lang == "c" else "ND_FN"
        w = self.wide
        return (f"struct nd_walk {{ {w} shape[8]; {w} stride[{max(len(self.walked), 1)}][8]; {w} inner[{max(len(self.ins), 1)}]; }};\n"
                f"{fn} {self.type} nd_join({self.type} a, {self.type} b) {{ return ({self.type})({self.spec.reduce_expr}); }}\n")

    def value(self, index: str, unit: bool = False) -> str:
        """Statements that leave in nd_v what the map gives of element `index` of the row."""
        lines = []
        for k, o in enumerate(self.ins):
            step = "" if unit else f" * nd_t_{o.name}"
            at = f"nd_q_{o.name}[({index}){step}]"
            lines.append(f"const {o.computed} {o.name} = {o.load(at)};")
        text = _sizes(formula(self.spec.map_expr, self.operands), "nd_columns")
        return "\n".join(lines) + f"\nconst {self.type} nd_v = ({self.type})({text});"

    def pointers(self, which: list[Operand], prefix: str = "nd_q_") -> str:
        """Pointers to the first element of row nd_row."""
        lines = []
        for o in which:
            const = "" if o.out else "const "
            lines.append(f"{const}{self.glob}{o.stored} *{prefix}{o.name} = nd_p_{o.name};")
        if which:
            steps = "\n".join(f"{prefix}{o.name} += nd_at * {self.walk}stride[{self.order[o.name]}][nd_d];" for o in which)
            lines.append(f"{{ {self.wide} nd_rest = nd_row;\nfor ({self.wide} nd_d = nd_ndim - 1; nd_d >= 0; nd_d--) {{\n"
                         f"const {self.wide} nd_at = nd_rest % {self.walk}shape[nd_d];\nnd_rest /= {self.walk}shape[nd_d];\n{steps}\n}} }}")
        return "\n".join(lines)

    def steps(self) -> str:
        """Steps along a row."""
        return "\n".join(f"const {self.wide} nd_t_{o.name} = {self.walk}inner[{k}];" for k, o in enumerate(self.ins))

    def post(self, columns: str) -> str:
        """The outputs of row nd_row from a."""
        lines = [self.pointers(self.outs)]
        lines += [f"{o.computed} {o.name} = {o.load(f'nd_q_{o.name}[0]')};" for o in self.outs]
        lines.append("{ " + _sizes(formula(self.spec.post_map_expr, self.operands), columns) + "; }")
        lines += [f"nd_q_{o.name}[0] = {o.store(o.name)};" for o in self.outs]
        return "{ " + "\n".join(lines) + " }"


# ---- the CPU ----

def _c_kernel(p: _Parts, name: str, partial: bool, inner: str) -> str:
    at = 0
    lines = [f"ND_BLOCK_KERNEL({name})\n{{"]
    for number in _NUMBERS:
        lines.append(f"const int64_t {number} = ND_ARGUMENT(int64_t, {at});\n(void){number};")
        at += 1
    lines.append(f"const struct nd_walk *const nd_w = argument[{at}];")
    at += 1
    if partial:
        lines.append(f"{p.type} *const nd_partials = argument[{at}];")
        at += 1
    lines += c_arguments(p.operands, at)
    lines.append("const int64_t nd_first = at[0] * nd_per, nd_end = nd_first + nd_per < nd_rows ? nd_first + nd_per : nd_rows;")
    lines.append("const int64_t nd_lo = at[1] * nd_length < nd_columns ? at[1] * nd_length : nd_columns;")
    lines.append("const int64_t nd_hi = nd_lo + nd_length < nd_columns ? nd_lo + nd_length : nd_columns;\n(void)nd_hi;")
    return "\n".join([*lines, inner, "}"])


def _c_row(p: _Parts, unit: bool) -> str:
    """a of [nd_lo, nd_hi), which is not empty: 16 lanes side by side, so that compilers use vectors."""
    def value(index: str) -> str:
        return p.value(index, unit)
    return f"""if (nd_hi - nd_lo >= 32) {{
{p.type} nd_lane[16];
int64_t nd_j = nd_lo + 16;
ND_IVDEP
for (int nd_l = 0; nd_l < 16; nd_l++) {{ {value('nd_lo + nd_l')} nd_lane[nd_l] = nd_v; }}
for (; nd_j + 16 <= nd_hi; nd_j += 16) {{
ND_IVDEP
for (int nd_l = 0; nd_l < 16; nd_l++) {{ {value('nd_j + nd_l')} nd_lane[nd_l] = nd_join(nd_lane[nd_l], nd_v); }}
}}
for (int nd_l = 0; nd_j + nd_l < nd_hi; nd_l++) {{ {value('nd_j + nd_l')} nd_lane[nd_l] = nd_join(nd_lane[nd_l], nd_v); }}
for (int nd_h = 8; nd_h > 0; nd_h /= 2)
for (int nd_l = 0; nd_l < nd_h; nd_l++) nd_lane[nd_l] = nd_join(nd_lane[nd_l], nd_lane[nd_l + nd_h]);
a = nd_lane[0];
}} else {{
{{ {value('nd_lo')} a = nd_v; }}
for (int64_t nd_j = nd_lo + 1; nd_j < nd_hi; nd_j++) {{ {value('nd_j')} a = nd_join(a, nd_v); }}
}}"""


def _c_rows(p: _Parts, partial: bool) -> str:
    unit = " && ".join(f"nd_t_{o.name} == 1" for o in p.ins)
    last = "nd_partials[nd_row * nd_parts + at[1]] = a;" if partial else p.post("nd_columns")
    return f"""{p.steps()}
for (int64_t nd_row = nd_first; nd_row < nd_end; nd_row++) {{
{p.pointers(p.ins)}
{p.type} a = {p.identity};
if (nd_hi > nd_lo) {{
if ({unit}) {{
{_c_row(p, True)}
}} else {{
{_c_row(p, False)}
}}
}}
{last}
}}"""


def _c_columns(p: _Parts, partial: bool) -> str:
    """Tiles of up to 64 results, whose rows begin beside each other where that is so."""
    tables = "\n".join(f"int64_t nd_f_{o.name}[64];" for o in p.ins)
    fill = "\n".join(f"nd_f_{o.name}[nd_t] = nd_q_{o.name} - nd_p_{o.name};\n"
                     f"nd_beside &= nd_f_{o.name}[nd_t] == nd_f_{o.name}[0] + nd_t;" for o in p.ins)

    def loads(beside: bool) -> str:
        lines = []
        for o in p.ins:
            place = f"nd_f_{o.name}[0] + nd_t" if beside else f"nd_f_{o.name}[nd_t]"
            at = f"nd_p_{o.name}[{place} + nd_j * nd_t_{o.name}]"
            lines.append(f"const {o.computed} {o.name} = {o.load(at)};")
        text = _sizes(formula(p.spec.map_expr, p.operands), "nd_columns")
        return "\n".join(lines) + f"\nconst {p.type} nd_v = ({p.type})({text});"

    def loops(beside: bool) -> str:
        return f"""for (int64_t nd_j = nd_lo; nd_j < nd_hi; nd_j++) {{
if (nd_j == nd_lo) {{
for (int nd_t = 0; nd_t < nd_m; nd_t++) {{ {loads(beside)} nd_a[nd_t] = nd_v; }}
}} else {{
ND_IVDEP
for (int nd_t = 0; nd_t < nd_m; nd_t++) {{ {loads(beside)} nd_a[nd_t] = nd_join(nd_a[nd_t], nd_v); }}
}}
}}"""
    last = "nd_partials[nd_row * nd_parts + at[1]] = a;" if partial else p.post("nd_columns")
    return f"""{p.steps()}
{p.type} nd_a[64];
{tables}
const int nd_m = (int)(nd_end - nd_first);
int nd_beside = 1;
for (int nd_t = 0; nd_t < nd_m; nd_t++) {{
const int64_t nd_row = nd_first + nd_t;
{p.pointers(p.ins)}
{fill}
nd_a[nd_t] = {p.identity};
}}
if (nd_beside) {{
{loops(True)}
}} else {{
{loops(False)}
}}
for (int nd_t = 0; nd_t < nd_m; nd_t++) {{
const int64_t nd_row = nd_first + nd_t;
const {p.type} a = nd_a[nd_t];
{last}
}}"""


def _c_finish(p: _Parts) -> str:
    return f"""for (int64_t nd_row = nd_first; nd_row < nd_end; nd_row++) {{
{p.type} a = nd_partials[nd_row * nd_columns];
for (int64_t nd_j = 1; nd_j < nd_columns; nd_j++) a = nd_join(a, nd_partials[nd_row * nd_columns + nd_j]);
{p.post('nd_length')}
}}"""


# ---- GPUs ----

def _gpu_kernel(p: _Parts, name: str, partial: bool, inner: str) -> str:
    params, lines = gpu_parameters(p.lang, p.operands)
    first = [f"const {p.wide} {number}" for number in _NUMBERS] + ["const struct nd_walk nd_w"]
    if partial and p.lang == "cuda":
        first.append(f"{p.type} *nd_partials")
    elif partial:
        first += ["__global uchar *nd_b_partials", "ulong nd_o_partials"]
        lines.append(f"__global {p.type} *nd_partials = (__global {p.type} *)(nd_b_partials + nd_o_partials);")
    lines.append(f"const {p.wide} nd_lo = ND_BLOCK_Y * nd_length < nd_columns ? ND_BLOCK_Y * nd_length : nd_columns;")
    lines.append(f"const {p.wide} nd_hi = nd_lo + nd_length < nd_columns ? nd_lo + nd_length : nd_columns;\n(void)nd_hi;")
    return "\n".join([f"ND_KERNEL {name}({', '.join(first + params)})\n{{", *lines, inner, "}"])


def _gpu_block(p: _Parts, load: str, last: str) -> str:
    """A block joins what its threads have; load leaves element nd_j of the row in nd_v."""
    return f"""ND_SHARED {p.type} nd_shared[ND_GROUP];
const {p.wide} nd_m = nd_hi - nd_lo;
{p.type} a = {p.identity};
if (ND_THREAD < nd_m) {{
{{ const {p.wide} nd_j = nd_lo + ND_THREAD; {load} a = nd_v; }}
#pragma unroll 4
for ({p.wide} nd_j = nd_lo + ND_THREAD + ND_GROUP; nd_j < nd_hi; nd_j += ND_GROUP) {{ {load} a = nd_join(a, nd_v); }}
}}
nd_shared[ND_THREAD] = a;
ND_SYNC();
const int nd_live = nd_m < ND_GROUP ? (int)nd_m : ND_GROUP;
for (int nd_h = ND_GROUP / 2; nd_h > 0; nd_h /= 2) {{
if (ND_THREAD < nd_h && ND_THREAD + nd_h < nd_live) nd_shared[ND_THREAD] = nd_join(nd_shared[ND_THREAD], nd_shared[ND_THREAD + nd_h]);
ND_SYNC();
}}
if (ND_THREAD == 0) {{
if (nd_m > 0) a = nd_shared[0];
{last}
}}"""


def _gpu_rows(p: _Parts, partial: bool) -> str:
    last = "nd_partials[nd_row * nd_parts + ND_BLOCK_Y] = a;" if partial else p.post("nd_columns")
    return f"const {p.wide} nd_row = ND_BLOCK_X;\n{p.steps()}\n{p.pointers(p.ins)}\n" + _gpu_block(p, p.value("nd_j"), last)


def _gpu_columns(p: _Parts, partial: bool) -> str:
    last = "nd_partials[nd_row * nd_parts + ND_BLOCK_Y] = a;" if partial else p.post("nd_columns")
    return f"""for ({p.wide} nd_row = ND_BLOCK_X * nd_per + ND_THREAD; nd_row < nd_rows && nd_row < (ND_BLOCK_X + 1) * nd_per; nd_row += ND_GROUP) {{
{p.steps()}
{p.pointers(p.ins)}
{p.type} a = {p.identity};
if (nd_hi > nd_lo) {{
{{ {p.value('nd_lo')} a = nd_v; }}
#pragma unroll 4
for ({p.wide} nd_j = nd_lo + 1; nd_j < nd_hi; nd_j++) {{ {p.value('nd_j')} a = nd_join(a, nd_v); }}
}}
{last}
}}"""


def _gpu_finish(p: _Parts) -> str:
    return f"""for ({p.wide} nd_row = ND_BLOCK_X * nd_per + ND_THREAD; nd_row < nd_rows && nd_row < (ND_BLOCK_X + 1) * nd_per; nd_row += ND_GROUP) {{
{p.type} a = nd_partials[nd_row * nd_columns];
for ({p.wide} nd_j = 1; nd_j < nd_columns; nd_j++) a = nd_join(a, nd_partials[nd_row * nd_columns + nd_j]);
{p.post('nd_length')}
}}"""


def _gpu_finish_long(p: _Parts) -> str:
    load = f"const {p.type} nd_v = nd_partials[nd_row * nd_columns + nd_j];"
    rows = f"const {p.wide} nd_row = ND_BLOCK_X;\n"
    return rows + _gpu_block(p, load, p.post("nd_length")).replace("nd_hi - nd_lo", "nd_columns").replace("nd_hi", "nd_columns").replace("nd_lo + ", "")


def reduction(spec: Any, lang: str, operands: list[Operand], types: dict[str, DType], dtype: DType, key: int) -> str:
    """The source of all kernels; key: 1 for the layout of columns."""
    p = _Parts(spec, lang, operands, dtype)
    text = [head(lang, operands, types, spec.preamble), p.functions()]
    if lang == "c":
        rows = _c_columns if key else _c_rows
        text += [_c_kernel(p, "nd_reduce", False, rows(p, False)), _c_kernel(p, "nd_partial", True, rows(p, True)),
                 _c_kernel(p, "nd_finish", True, _c_finish(p))]
    else:
        rows = _gpu_columns if key else _gpu_rows
        text += [_gpu_kernel(p, "nd_reduce", False, rows(p, False)), _gpu_kernel(p, "nd_partial", True, rows(p, True)),
                 _gpu_kernel(p, "nd_finish", True, _gpu_finish(p)), _gpu_kernel(p, "nd_finish_long", True, _gpu_finish_long(p))]
    return "\n".join(text)
