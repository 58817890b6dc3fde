# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Methods of Array that are functions of the package too, or are made of them, with the arguments in the order in which
NumPy's ndarray has them. Each def here becomes the method of that name; python/tools/stubs.py reads this file as well."""
from __future__ import annotations

from . import _ndock
from ._ndock import Array

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._types import Any, Axes, DeviceLike, DTypeLike, Literal, Operand, Optional, Scalar, Shape


# ---- reductions ----
def sum(self: Array, axis: Axes = None, dtype: Optional[DTypeLike] = None, out: Optional[Array] = None,
        keepdims: bool = False) -> Array:
    """ndock.sum of the array."""
    return _ndock._sum(self, axis, dtype, keepdims, 0.0, out)


def prod(self: Array, axis: Axes = None, dtype: Optional[DTypeLike] = None, out: Optional[Array] = None,
         keepdims: bool = False) -> Array:
    """ndock.prod of the array."""
    return _ndock._prod(self, axis, dtype, keepdims, 0.0, out)


def mean(self: Array, axis: Axes = None, dtype: Optional[DTypeLike] = None, out: Optional[Array] = None,
         keepdims: bool = False) -> Array:
    """ndock.mean of the array."""
    return _ndock._mean(self, axis, dtype, keepdims, 0.0, out)


def _correction(ddof: float, correction: Optional[float]) -> float:
    if correction is not None and ddof != 0:
        raise TypeError("ddof and correction mean the same: give one of them")
    return ddof if correction is None else correction


def var(self: Array, axis: Axes = None, dtype: Optional[DTypeLike] = None, out: Optional[Array] = None, ddof: float = 0,
        keepdims: bool = False, *, correction: Optional[float] = None) -> Array:
    """ndock.var of the array; ddof is NumPy's name of correction."""
    return _ndock._var(self, axis, dtype, keepdims, _correction(ddof, correction), out)


def std(self: Array, axis: Axes = None, dtype: Optional[DTypeLike] = None, out: Optional[Array] = None, ddof: float = 0,
        keepdims: bool = False, *, correction: Optional[float] = None) -> Array:
    """ndock.std of the array; ddof is NumPy's name of correction."""
    return _ndock._std(self, axis, dtype, keepdims, _correction(ddof, correction), out)


def max(self: Array, axis: Axes = None, out: Optional[Array] = None, keepdims: bool = False) -> Array:
    """ndock.max of the array."""
    return _ndock._max(self, axis, None, keepdims, 0.0, out)


def min(self: Array, axis: Axes = None, out: Optional[Array] = None, keepdims: bool = False) -> Array:
    """ndock.min of the array."""
    return _ndock._min(self, axis, None, keepdims, 0.0, out)


def any(self: Array, axis: Axes = None, out: Optional[Array] = None, keepdims: bool = False) -> Array:
    """ndock.any of the array."""
    return _ndock._any(self, axis, None, keepdims, 0.0, out)


def all(self: Array, axis: Axes = None, out: Optional[Array] = None, keepdims: bool = False) -> Array:
    """ndock.all of the array."""
    return _ndock._all(self, axis, None, keepdims, 0.0, out)


def argmax(self: Array, axis: Optional[int] = None, out: Optional[Array] = None, *, keepdims: bool = False) -> Array:
    """ndock.argmax of the array."""
    return _ndock._argmax(self, axis, None, keepdims, 0.0, out)


def argmin(self: Array, axis: Optional[int] = None, out: Optional[Array] = None, *, keepdims: bool = False) -> Array:
    """ndock.argmin of the array."""
    return _ndock._argmin(self, axis, None, keepdims, 0.0, out)


def _along(x: Array, axis: Optional[int]) -> tuple[Array, int]:
    """x and axis, or for axis=None x flattened and its axis."""
    return (x.ravel(), 0) if axis is None else (x, axis)


def cumsum(self: Array, axis: Optional[int] = None, dtype: Optional[DTypeLike] = None,
           out: Optional[Array] = None) -> Array:
    """Running sum along axis; axis=None: of the array flattened, as NumPy's. See ndock.cumulative_sum."""
    x, axis = _along(self, axis)
    return _ndock._cumulative_sum(x, axis, dtype, False, out)


def cumprod(self: Array, axis: Optional[int] = None, dtype: Optional[DTypeLike] = None,
            out: Optional[Array] = None) -> Array:
    """Running product along axis; axis=None: of the array flattened, as NumPy's. See ndock.cumulative_prod."""
    x, axis = _along(self, axis)
    return _ndock._cumulative_prod(x, axis, dtype, False, out)


# ---- elements ----
def clip(self: Array, min: Optional[Operand] = None, max: Optional[Operand] = None,
         out: Optional[Array] = None) -> Array:
    """ndock.clip of the array."""
    from ._elementwise import clip as function
    return function(self, min, max, out=out)


def round(self: Array, decimals: int = 0, out: Optional[Array] = None) -> Array:
    """Each element rounded to decimals places, halves to even: as NumPy's, x*10**decimals is rounded and divided again,
    so that binary fractions near a half may go either way. Integers stay as they are; fewer places than none of an integer
    are refused (ValueError)."""
    if decimals == 0:
        return _ndock.round(self, out=out)
    if self.dtype.kind in "iu":
        if decimals < 0:
            raise ValueError(f"round(): {decimals} decimals of integers; convert them first: x.astype(float).round({decimals})")
        return _ndock.round(self, out=out)
    scale = 10.0 ** (decimals if decimals > 0 else -decimals)
    apart, together = (_ndock.multiply, _ndock.divide) if decimals > 0 else (_ndock.divide, _ndock.multiply)
    return together(_ndock.round(apart(self, scale)), scale, out=out)


def conj(self: Array) -> Array:
    """The complex conjugates; of a real array, a copy."""
    return _ndock.conj(self) if self.dtype.kind == "c" else self.copy()


conjugate = conj


def fill(self: Array, value: Scalar) -> None:
    """Set every element to value, a Python scalar or an array without axes."""
    self[...] = value


def dot(self: Array, b: Operand) -> Array:
    """NumPy's dot: the product with a scalar, the inner product of two vectors, the product of two matrices; else the sum
    over this array's last axis and b's last but one (or only) axis."""
    from ._linalg import tensordot
    other = b if isinstance(b, (bool, int, float, complex)) else _ndock._operand("dot", self, b)
    if not isinstance(other, Array) or self.ndim == 0 or other.ndim == 0:
        return _ndock.multiply(self, other)
    if other.ndim <= 2 and self.ndim <= 2:
        return self @ other
    return tensordot(self, other, axes=([self.ndim - 1], [other.ndim - 2 if other.ndim > 1 else 0]))


# ---- choosing, ordering ----
def sort(self: Array, axis: int = -1, *, descending: bool = False, stable: bool = True) -> None:
    """Sort the array in place along axis; ndock.sort gives a sorted copy."""
    self[...] = _ndock._sort(self, axis, descending)


def argsort(self: Array, axis: Optional[int] = -1, *, descending: bool = False, stable: bool = True) -> Array:
    """ndock.argsort of the array; axis=None: of it flattened."""
    x, axis = _along(self, axis)
    return _ndock._argsort(x, axis, descending)


def searchsorted(self: Array, v: Operand, side: Literal["left", "right"] = "left",
                 sorter: Optional[Array] = None) -> Array:
    """ndock.searchsorted in the array, which is sorted."""
    from ._sorting import searchsorted as function
    return function(self, v, side=side, sorter=sorter)


def nonzero(self: Array) -> tuple[Array, ...]:
    """ndock.nonzero of the array. Waits."""
    return _ndock._nonzero(self)


def take(self: Array, indices: Any, axis: Optional[int] = None) -> Array:
    """Elements at the indices along axis; axis=None: of the array flattened, as NumPy's."""
    from ._indexing import take as function
    x, axis = _along(self, axis)
    return function(x, indices, axis=axis)


def compress(self: Array, condition: Any, axis: Optional[int] = None) -> Array:
    """ndock.compress(condition, array). Waits."""
    from ._indexing import compress as function
    return function(_ndock._operand("compress", self, condition), self, axis=axis)


def repeat(self: Array, repeats: Any, axis: Optional[int] = None) -> Array:
    """ndock.repeat of the array."""
    from ._manipulation import repeat as function
    return function(self, repeats, axis=axis)


def diagonal(self: Array, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Array:
    """A view of the diagonal of those two axes, which becomes the last axis; offset > 0 is above the main one."""
    return _ndock._diagonal(self, offset, axis1, axis2)


def trace(self: Array, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Optional[DTypeLike] = None,
          out: Optional[Array] = None) -> Array:
    """Sum along that diagonal."""
    return _ndock._sum(_ndock._diagonal(self, offset, axis1, axis2), -1, dtype, False, 0.0, out)


# ---- shapes ----
def swapaxes(self: Array, axis1: int, axis2: int) -> Array:
    """A view with two axes exchanged."""
    order = list(range(self.ndim))
    for axis in (axis1, axis2):
        if not -self.ndim <= axis < self.ndim:
            raise IndexError(f"swapaxes(): axis {axis} is out of range for {self.ndim} dimensions")
    order[axis1], order[axis2] = order[axis2], order[axis1]
    return _ndock._permute_dims(self, order)


def unsqueeze(self: Array, dim: int) -> Array:
    """PyTorch's name of ndock.expand_dims."""
    return _ndock._expand_dims(self, dim)


def contiguous(self: Array) -> Array:
    """The array itself where its elements are dense in C order, else a copy that is; PyTorch's."""
    return self if self.is_contiguous() else self.copy()


def numel(self: Array) -> int:
    """PyTorch's name of size."""
    return self.size


def dim(self: Array) -> int:
    """PyTorch's name of ndim."""
    return self.ndim


# ---- the host, and other arrays of the kind ----
def numpy(self: Array) -> Any:
    """A NumPy array over the same memory, for arrays of the host; of others TypeError: x.cpu().numpy() copies."""
    return self.__array__()


def tobytes(self: Array) -> bytes:
    """The elements' bytes in C order, copied from any device. Waits."""
    return bytes(_ndock._raw(self.to_device("cpu").contiguous()))


def clone(self: Array) -> Array:
    """PyTorch's name of copy."""
    return self.copy()


def pin_memory(self: Array, device: Optional[DeviceLike] = None) -> Array:
    """A copy on the CPU in page-locked memory of the device (None: the current one), from where it is copied there without
    waiting; the array itself where it is pinned already."""
    if _ndock._is_pinned(self):
        return self
    pinned = _ndock._empty_pinned(self.shape, self.dtype, device)
    _ndock._copy_to(self, pinned, False, None)
    return pinned


def is_pinned(self: Array) -> bool:
    """Whether the array lies in page-locked host memory."""
    return _ndock._is_pinned(self)


def _new(self: Array, make: Any, shape: tuple[Any, ...], dtype: Optional[DTypeLike], device: Optional[DeviceLike]) -> Array:
    extents = shape[0] if len(shape) == 1 else shape
    return make(extents, dtype=self.dtype if dtype is None else dtype, device=self.device if device is None else device)


def new_empty(self: Array, *shape: Any, dtype: Optional[DTypeLike] = None, device: Optional[DeviceLike] = None) -> Array:
    """An array of that shape whose elements are not set, by default of this one's dtype on its device; PyTorch's."""
    return _new(self, _ndock.empty, shape, dtype, device)


def new_zeros(self: Array, *shape: Any, dtype: Optional[DTypeLike] = None, device: Optional[DeviceLike] = None) -> Array:
    """The same, of zeros."""
    return _new(self, _ndock.zeros, shape, dtype, device)


def new_ones(self: Array, *shape: Any, dtype: Optional[DTypeLike] = None, device: Optional[DeviceLike] = None) -> Array:
    """The same, of ones."""
    return _new(self, _ndock.ones, shape, dtype, device)


def new_full(self: Array, shape: Shape, fill_value: Scalar, *, dtype: Optional[DTypeLike] = None,
             device: Optional[DeviceLike] = None) -> Array:
    """The same, of one value."""
    return _ndock.full(shape, fill_value, dtype=self.dtype if dtype is None else dtype,
                       device=self.device if device is None else device)


# ---- parts of complex numbers ----
def _real(self: Array) -> Array:
    """The real parts: the array itself where it is real, else a copy that is read-only, since writing to it would not reach
    the array."""
    return self if self.dtype.kind != "c" else _ndock._readonly(_ndock.real(self))


def _imag(self: Array) -> Array:
    """The imaginary parts, a read-only copy; zeros of a real array."""
    return _ndock._readonly(_ndock.imag(self) if self.dtype.kind == "c" else _ndock._full_like(self, 0, None, None))


# ---- names of other libraries' arrays that are none of ours ----
_LATER = "not in this version of ndock"
_INSTEAD = {
    # NumPy
    "data": "memoryview(x), or nd.ptr_info", "flat": "x.ravel()", "base": "x.offset, which tells a view's place in its storage",
    "flags": "x.is_contiguous() and x.readonly", "ctypes": "nd.ptr_info(x.__cuda_array_interface__['data'][0]), or numpy.asarray(x).ctypes",
    "view": "x.reshape(shape) for another shape, x.astype(dtype) for another dtype", "resize": "x.reshape, or nd.tile",
    "put": "x[indices] = values", "itemset": "x[i, j] = value", "ptp": "x.max() - x.min()", "byteswap": "numpy.asarray(x).byteswap()",
    "newbyteorder": "x.astype, elements are in the machine's order", "tofile": "nd.save(path, x)", "dump": "pickle.dump(x, file)",
    "dumps": "pickle.dumps(x)", "tostring": "x.tobytes()", "setflags": "x.readonly, which tells; views of read-only memory stay so",
    "getfield": "x.real, x.imag", "setfield": "x[...] = values", "choose": "nd.where, or nd.take_along_axis",
    # CuPy and PyTorch
    "get": "x.cpu().numpy()", "set": "x[...] = values", "cuda": "x.to('cuda')", "float": "x.astype(nd.float32)",
    "double": "x.astype(nd.float64)", "half": "x.astype(nd.float16)", "bfloat16": "x.astype(nd.bfloat16)", "int": "x.astype(nd.int32)",
    "long": "x.astype(nd.int64)", "bool": "x.astype(nd.bool)", "type": "x.astype(dtype)", "expand": "nd.broadcast_to(x, shape)",
    "element_size": "x.itemsize", "stride": "x.strides", "data_ptr": "nd.ptr_info, or x.__dlpack__()", "t": "x.T", "mm": "x @ y",
    "matmul": "x @ y", "add": "x + y", "sub": "x - y", "mul": "x * y", "div": "x / y", "pow": "x ** y", "add_": "x += y",
    "sub_": "x -= y", "mul_": "x *= y", "div_": "x /= y", "zero_": "x.fill(0)", "fill_": "x.fill(value)", "copy_": "x[...] = y",
    "detach": "x itself: ndock keeps no gradients", "requires_grad": "nothing: ndock keeps no gradients", "grad": "nothing: ndock keeps no gradients",
    "backward": "nothing: ndock keeps no gradients", "abs": "nd.abs(x)", "exp": "nd.exp(x)", "log": "nd.log(x)", "sqrt": "nd.sqrt(x)",
    "is_cuda": "x.device.type == 'cuda'",
}


class _Refused:
    """Of an attribute that other arrays have: AttributeError with the words that lead on, so that hasattr says no."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def __get__(self, x: Any, owner: Any = None) -> Any:
        raise AttributeError(self._text)


def _dir(self: Array) -> list[str]:
    return [n for n in object.__dir__(self) if n not in _INSTEAD and n not in ("argpartition", "partition")]


real = property(_real)
imag = property(_imag)


def _install() -> None:
    own = {n: v for n, v in globals().items() if not n.startswith("_") and getattr(v, "__module__", "") == __name__}
    for name, value in own.items():
        value.__qualname__ = f"Array.{value.__name__}"
        value.__module__ = "ndock"
        setattr(Array, name, value)
    for name, text in _INSTEAD.items():
        setattr(Array, name, _Refused(f"an Array has no {name!r}: use {text}"))
    for name in ("argpartition", "partition"):
        setattr(Array, name, _Refused(f"{name} is {_LATER}; nd.topk and nd.argsort are"))
    for name, value in (("__dir__", _dir), ("real", real), ("imag", imag)):
        setattr(Array, name, value)


_install()
