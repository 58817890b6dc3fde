# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Code of programs for one device: CUDA C++, PTX, cubins, OpenCL C, C, functions of the process; and launches of its kernels."""
from __future__ import annotations

from . import _ndock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from ._types import Any, Device, DeviceLike, DType, Optional, Sequence, Union
    Grid = Union[int, Sequence[int]]

__all__ = ["Kernel", "Module", "kernel"]

_KINDS = {"source": 1, "ptx": 2, "binary": 3, "host": 4}
# C's types, as CUDA C++ and OpenCL C on 64-bit machines have them.
_C_TYPES = {"bool": "bool", "char": "int8", "signed char": "int8", "unsigned char": "uint8", "short": "int16", "unsigned short": "uint16",
            "int": "int32", "unsigned": "uint32", "unsigned int": "uint32", "long": "int64", "unsigned long": "uint64",
            "long long": "int64", "unsigned long long": "uint64", "float": "float32", "double": "float64", "size_t": "uint64",
            "ptrdiff_t": "int64", "uchar": "uint8", "ushort": "uint16", "uint": "uint32", "ulong": "uint64", "half": "float16",
            "__half": "float16", "__nv_bfloat16": "bfloat16",
            **{f"{u}int{n}_t": f"{u}int{n}" for u in ("", "u") for n in (8, 16, 32, 64)},
            **{name: name for name in "int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 bfloat16 float32 float64".split()}}


class _Argument:
    """What a kernel takes in one place: a value of a dtype, or an array of it, which it may write to."""

    __slots__ = ("array", "dtype", "name", "writes")

    def __init__(self, text: str) -> None:
        words = text.replace("*", " * ").replace("&", " & ").split()
        self.array = "*" in words
        self.writes = "const" not in words
        rest = [w for w in words if w not in ("*", "const", "__restrict__", "restrict", "__restrict", "__global", "global", "volatile")]
        self.name = rest.pop() if len(rest) > 1 else "argument"
        self.dtype: Optional[DType] = None
        if self.array and rest == ["void"]:
            return
        name = _C_TYPES.get(" ".join(rest))
        if name is None or "&" in words or words.count("*") > 1:
            raise ValueError(f"{text.strip()!r} is no parameter that an array or a number is passed for")
        self.dtype = _ndock.result_type(name)


def _declared(source: str, name: str, names: Mapping[str, str]) -> Optional[list[_Argument]]:
    """The parameters of a kernel as its source declares them; None where that cannot be told."""
    import re
    source = re.sub(r"//[^\n]*|/\*.*?\*/", " ", source, flags=re.S)
    m = re.search(rf"(?:__global__|\b__kernel\b|\bkernel\b)[^;{{}}]*?\b{re.escape(name)}\s*\(([^()]*)\)", source)
    if not m:
        return None
    try:
        return [_Argument(part) for part in m.group(1).split(",")] if m.group(1).strip() else []
    except ValueError:
        return None


class Module:
    """Module(code, device=None, *, kind="source", name="module", options=()): code of a program, loaded for one device.

    code: text or bytes. kind "source": CUDA C++ for cuda devices (by NVRTC, kept by nd.kernel_cache; kernels are extern "C"), OpenCL C for
    opencl, C for cpu and sim (by NDOCK_CPU_CC or cc; see below); "ptx" and "binary" (a cubin or fat binary): cuda; "host": cpu and sim, a
    dict of names and functions of the process: ctypes functions, or addresses, void (*)(const uint32_t grid[3], const uint32_t block[3],
    void *const *argument), called once a launch. device: None is the current one. options: for the compiler.

    A kernel in C is ND_BLOCK_KERNEL(name) { ... } after #include "ndock_kernel.h": it is called for each block of the grid, by several
    threads at once, with at[3], its place, and argument[k], the address of array k's first element or of a value: ND_ARGUMENT(int64_t, k).

    Errors: NotImplementedError: the device takes no such code, or nothing compiles it; ValueError: the compiler's words. Loading waits.

    >>> code = '''#include "ndock_kernel.h"
    ... ND_BLOCK_KERNEL(fill) { ((float *)argument[0])[at[0]] = ND_ARGUMENT(float, 1) * at[0]; }'''
    >>> x = nd.zeros(3, dtype=nd.float32, device="cpu")
    >>> nd.Module(code, "cpu").kernel("fill", "float *x, float a")(3, 1, (x, 2.0))
    >>> x
    array([0., 2., 4.], dtype=float32, device='cpu:0')
    """

    __slots__ = ("_code", "_keep", "_text", "device", "kind", "name")

    def __init__(self, code: Union[str, bytes, Mapping[str, Any]], device: Optional[DeviceLike] = None, *, kind: str = "source",
                 name: str = "module", options: Union[str, Sequence[str]] = ()) -> None:
        if kind not in _KINDS:
            raise ValueError(f"{kind!r} is no kind of code; there are {', '.join(_KINDS)}")
        self.device: Device = _ndock.Device(device)
        self.kind = kind
        self.name = name
        self._text = code if isinstance(code, str) and kind == "source" else ""
        self._keep: Any = None
        given: Any = code.encode() if isinstance(code, str) else code
        if kind == "host":
            if isinstance(code, (str, bytes)):
                raise TypeError("host functions are given as a dict of names and functions")
            self._keep = dict(code)
            given = {n: _address(f) for n, f in self._keep.items()}
        flat = options if isinstance(options, str) else " ".join(options)
        self._code = _ndock._module_load(self.device, _KINDS[kind], given, name, flat)

    def kernel(self, name: str, arguments: Optional[str] = None) -> Kernel:
        """The kernel of that name.

        arguments: its parameters as C declares them, "const float *x, float *y, int n": dtypes of arrays are checked, numbers converted,
        and arrays behind const are not written to. None: as the source declares them, where that can be read; else numbers go as int64,
        float64 and bool, NumPy's and ctypes' as they are, and every array counts as written to. ValueError: there is no such kernel.
        """
        function = _ndock._module_function(self._code, name)
        declared = [_Argument(part) for part in arguments.split(",")] if arguments else _declared(self._text, name, {})
        return Kernel(self, name, function, declared)

    def __repr__(self) -> str:
        return f"<Module {self.name} of {self.kind} on {self.device}>"


def _address(f: Any) -> int:
    if isinstance(f, int):
        return f
    address = getattr(f, "address", None)  # Numba's cfunc
    if isinstance(address, int):
        return address
    import ctypes
    if isinstance(f, ctypes._CFuncPtr):  # type: ignore[attr-defined]
        return ctypes.cast(f, ctypes.c_void_p).value or 0
    raise TypeError(f"a host function is a ctypes function or an address, not {type(f).__name__}")


def _plain_bytes(value: Any) -> bytes:
    """A value whose parameter is not declared, by its own type."""
    import struct
    if isinstance(value, bool):
        return struct.pack("?", value)
    if isinstance(value, int):
        return struct.pack("q" if value < 1 << 63 else "Q", value)
    if isinstance(value, float):
        return struct.pack("d", value)
    if isinstance(value, bytes):
        return value
    try:
        return bytes(memoryview(value))  # NumPy's scalars, ctypes' values and structs
    except TypeError:
        raise TypeError(f"{type(value).__name__} cannot be an argument of a kernel: Arrays, numbers, and values of NumPy "
                        f"and ctypes can") from None


class Kernel:
    """A kernel of a module: module.kernel(name), or nd.kernel(source, name).

    kernel(grid, block, args, shared_mem=0, stream=None) queues one launch, as CuPy's RawKernel: grid, block: an int or up to three;
    args: Arrays of the module's device, whose first element's address is passed, and numbers. The kernel must keep within the arrays' elements; strides
    are its own affair. shared_mem: bytes of dynamic shared memory. stream: None is the current one. Errors: TypeError: an array of
    another dtype than declared, or the number of arguments; ValueError: an array of another device, a read-only one that is written to,
    beyond a limit of the device or kernel.

    >>> type(nd.Kernel).__name__
    'type'
    """

    __slots__ = ("_arguments", "_function", "module", "name")

    def __init__(self, module: Module, name: str, function: Any, arguments: Optional[list[_Argument]]) -> None:
        self.module = module
        self.name = name
        self._function = function
        self._arguments = arguments

    @property
    def limits(self) -> dict[str, Any]:
        """The most that a launch may ask for: grid, block, block_threads, n_arguments (None: unknown), shared_bytes."""
        found: dict[str, Any] = _ndock._function_limits(self._function)
        return found

    def _passed(self, k: int, value: Any) -> Any:
        if self._arguments is None:
            return value if isinstance(value, _ndock.Array) else _plain_bytes(value)
        a = self._arguments[k]
        if not a.array:
            if isinstance(value, _ndock.Array):
                raise TypeError(f"{self.name}: argument {k} ({a.name}) is a number, not an array; x.item() has an array's")
            return self._number(value, a)
        if not isinstance(value, _ndock.Array):
            raise TypeError(f"{self.name}: argument {k} ({a.name}) is an array, not {type(value).__name__}")
        if a.dtype is not None and value.dtype != a.dtype:
            raise TypeError(f"{self.name}: argument {k} ({a.name}) is an array of {a.dtype.name}, not {value.dtype.name}")
        return value if a.writes else (value,)

    def _number(self, value: Any, a: _Argument) -> bytes:
        import struct
        from ._kernel_types import value_bytes
        if isinstance(value, bytes):
            return value
        assert a.dtype is not None
        if a.dtype.name == "float16":
            return struct.pack("e", value)
        made = value_bytes(value, a.dtype, self.name, a.name)
        return made[2:] if a.dtype.name == "bfloat16" else made

    def __call__(self, grid: Grid, block: Grid, args: Sequence[Any] = (), shared_mem: int = 0, stream: Any = None) -> None:
        """Queue one launch; see the class."""
        if self._arguments is not None and len(args) != len(self._arguments):
            raise TypeError(f"{self.name} takes {len(self._arguments)} arguments, not {len(args)}")
        _ndock._launch(self._function, grid, block, shared_mem, stream, tuple([self._passed(k, v) for k, v in enumerate(args)]))

    def __repr__(self) -> str:
        return f"<Kernel {self.name} of {self.module!r}>"


def kernel(source: Union[str, bytes], name: str, device: Optional[DeviceLike] = None, *, arguments: Optional[str] = None,
           options: Union[str, Sequence[str]] = ()) -> Kernel:
    """The kernel of that name of a source: nd.Module(source, device, options=options).kernel(name, arguments).

    source: as nd.Module takes it; device: None is the current one; options: for the compiler; arguments: parameters as C declares
    them, read from the source where they are left out. Errors: those of nd.Module.

    >>> code = '#include "ndock_kernel.h"\\nND_BLOCK_KERNEL(one) { ((int32_t *)argument[0])[at[0]] = 1; }'
    >>> x = nd.zeros(2, dtype=nd.int32, device="cpu")
    >>> nd.kernel(code, "one", "cpu", arguments="int *x")(2, 1, (x,))
    >>> x
    array([1, 1], dtype=int32, device='cpu:0')
    """
    return Module(source, device, name=name, options=options).kernel(name, arguments)
