# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Parameters of kernels: declarations in CuPy's grammar, dtypes by the arguments of a call, values as bytes."""
from __future__ import annotations

import operator
import re
import struct

from . import _ndock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._types import Any, DType, Optional, Union

# Of each dtype: struct's letter of a value (float16 and bfloat16 are computed in float32).
LETTERS = {"bool": "?", "int8": "b", "int16": "h", "int32": "i", "int64": "q", "uint8": "B", "uint16": "H", "uint32": "I",
           "uint64": "Q", "float16": "f", "bfloat16": "f", "float32": "f", "float64": "d"}
_RESERVED = {"i", "n", "a", "b"}
_WEAK = {bool: "bool", int: "int64", float: "float64", complex: "complex128"}


class Param:
    """One declared parameter: its name, whether it is raw, and a dtype's name or the letter of a placeholder."""

    __slots__ = ("dtype", "name", "placeholder", "raw")

    def __init__(self, text: str) -> None:
        words = text.split()
        while words and words[0] == "const":
            words.pop(0)
        self.raw = bool(words) and words[0] == "raw"
        if self.raw:
            words.pop(0)
        if len(words) != 2:
            raise ValueError(f"a parameter is a dtype and a name, as in \"float32 x\" or \"raw T x\", not {text.strip()!r}")
        kind, self.name = words
        if not re.fullmatch(r"[A-Za-z]\w*", self.name) or self.name.startswith("nd_"):
            raise ValueError(f"{self.name!r} is no name of a parameter")
        self.placeholder = kind if len(kind) == 1 and kind.isupper() else None
        self.dtype = None if self.placeholder else dtype_named(kind)


def dtype_named(text: Any) -> DType:
    """The dtype of a name, which kernels compute in."""
    found: DType = _ndock.result_type(text)
    if found.name not in LETTERS:
        raise TypeError(f"kernels by formula have no {found.name}; take its real and imaginary parts apart")
    return found


def parameters(text: str, what: str) -> tuple[Param, ...]:
    """The parameters of a declaration such as "float32 x, raw T y"."""
    found = tuple([Param(part) for part in text.split(",")]) if text.strip() else ()
    names = [p.name for p in found]
    for name in names:
        if name in _RESERVED and (name in "in" or what == "reduction"):
            raise ValueError(f"the name {name!r} has a meaning of its own in a kernel's formula")
        if names.count(name) > 1:
            raise ValueError(f"the name {name!r} is given to two parameters")
    return found


class Binding:
    """Dtypes of all parameters of a call, by its arguments: placeholders are bound by arrays, outputs first, else by the
    kind of the first number."""

    def __init__(self, kernel: str, ins: tuple[Param, ...], outs: tuple[Param, ...]) -> None:
        self.kernel = kernel
        self.params = ins + outs
        self.types: dict[str, DType] = {}

    def _take(self, p: Param, dtype: DType) -> None:
        if dtype.name not in LETTERS:
            raise TypeError(f"{self.kernel}: {p.name} has the dtype {dtype.name}, which kernels by formula lack; take its "
                            f"real and imaginary parts apart")
        wanted: Any = p.dtype if p.placeholder is None else self.types.setdefault(p.placeholder, dtype)
        if wanted != dtype:
            declared = wanted.name if p.placeholder is None else f"{p.placeholder}, here {wanted.name}"
            raise TypeError(f"{self.kernel}: {p.name} is declared as {declared}, and the array has {dtype.name}; "
                            f"nd.astype(x, {wanted.name!r}) converts it")

    def bind(self, args: tuple[Any, ...], n_in: int) -> tuple[DType, ...]:
        """The dtype of each parameter; args: what was given, None for outputs to be made."""
        both = list(zip(self.params, args))
        for p, a in both[n_in:] + both[:n_in]:
            if isinstance(a, _ndock.Array):
                self._take(p, a.dtype)
            elif p.raw and a is not None:
                raise TypeError(f"{self.kernel}: {p.name} is raw, and takes an Array, not {type(a).__name__}")
        for p, a in both[:n_in]:
            if not isinstance(a, _ndock.Array) and p.placeholder is not None and p.placeholder not in self.types:
                self._take(p, _ndock.result_type(_WEAK.get(type(a), "float64")))
        for p in self.params:
            if p.placeholder is not None and p.placeholder not in self.types:
                raise TypeError(f"{self.kernel}: no argument tells what {p.placeholder} is; give out=, or declare a dtype")
        return tuple([p.dtype or self.types[p.placeholder or ""] for p in self.params])


def _half(value: float, name: str) -> float:
    """The nearest float16 or bfloat16."""
    if name == "float16":
        try:
            return float(struct.unpack("e", struct.pack("e", value))[0])
        except OverflowError:
            return value
    bits, = struct.unpack("I", struct.pack("f", value))
    if value == value:
        bits = (bits + 0x7fff + (bits >> 16 & 1)) & 0xffff0000
    return float(struct.unpack("f", struct.pack("I", bits & 0xffffffff))[0])


def value_bytes(value: Any, dtype: DType, kernel: str, name: str) -> bytes:
    """A number as the bytes of a kernel's parameter."""
    listed = hasattr(value, "__len__")
    if listed or isinstance(value, complex) or not hasattr(type(value), "__float__"):
        hint = "; nd.asarray(x) makes an Array of it" if listed else ""
        raise TypeError(f"{kernel}: {name} takes an Array or a real number, not {type(value).__name__}{hint}")
    letter = LETTERS[dtype.name]
    try:
        if letter == "?":
            return struct.pack("?", bool(value))
        if letter in "fd":
            number = float(value)
            if dtype.itemsize == 2:
                number = _half(number, dtype.name)
            try:
                return struct.pack(letter, number)
            except OverflowError:
                return struct.pack(letter, float("inf") if number > 0 else -float("inf"))
        return struct.pack(letter, operator.index(value))
    except struct.error:
        raise OverflowError(f"{kernel}: {value!r} does not fit {dtype.name}, the dtype of {name}") from None
    except TypeError:
        raise TypeError(f"{kernel}: {name} is {dtype.name}, and {value!r} is no integer") from None


def options_text(options: Union[str, tuple[str, ...], list[str], None]) -> str:
    """Options of a compiler as one text."""
    return options if isinstance(options, str) else " ".join(options or ())


def device_kind(device: Any) -> str:
    """The name of a device's plug-in."""
    return str(device).partition(":")[0]


def language(device: Optional[Any]) -> str:
    """What kernels are written in for the device: "c", "cuda", "opencl"; "" where nothing but operations runs."""
    return {"cpu": "c", "sim": "c", "cuda": "cuda", "opencl": "opencl"}.get(device_kind(device), "")
