# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Data type functions and constants of the array API."""
from __future__ import annotations

from . import _ndock
from ._ndock import Array, DType

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._types import DeviceLike, DTypeLike, Optional, Union

__all__ = ["astype", "can_cast", "e", "finfo", "iinfo", "inf", "isdtype", "nan", "newaxis", "pi"]

e = 2.718281828459045
inf = float("inf")
nan = float("nan")
newaxis = None
pi = 3.141592653589793


def astype(x: Array, dtype: DTypeLike, /, *, copy: bool = True, device: Optional[DeviceLike] = None) -> Array:
    """x converted to dtype, and to device where one is given. copy=False returns x itself where nothing changes.

    Floating to integer truncates towards zero, NaN and values out of range give an implementation's result; to bool is
    x != 0. TypeError for complex to real: take real(x) or abs(x) first. Queued on the current stream.

    >>> nd.astype(nd.asarray([1.7, -1.7]), nd.int32)
    array([ 1, -1], dtype=int32, device='cpu:0')
    """
    return _ndock._astype(x, dtype, copy, device)


def can_cast(from_: Union[DTypeLike, Array], to: DTypeLike, /) -> bool:
    """Whether promotion of both dtypes gives `to`: int16 to int32, but not float64 to float32 nor uint64 to int64.

    from_: a dtype or an Array; to: a dtype. Errors: TypeError for what is no dtype.

    >>> nd.can_cast(nd.int16, nd.int32), nd.can_cast(nd.float64, nd.float32)
    (True, False)
    """
    return _ndock._can_cast(from_, to)


# Kind: the letters that DType.kind may have for it (bfloat16 has V).
_KINDS = {"bool": "b", "signed integer": "i", "unsigned integer": "u", "integral": "iu", "real floating": "fV",
          "complex floating": "c", "numeric": "iufVc"}


def _dtype(x: Union[DTypeLike, Array]) -> DType:
    return _ndock.result_type(x)


def isdtype(dtype: DTypeLike, kind: Union[DTypeLike, tuple[DTypeLike, ...]]) -> bool:
    """Whether dtype is of a kind: a dtype, "bool", "signed integer", "unsigned integer", "integral", "real floating"
    (float16 and bfloat16 included), "complex floating", "numeric", or any one of a tuple of those.

    Errors: TypeError for what is no dtype.

    >>> nd.isdtype(nd.int8, "integral"), nd.isdtype(nd.float32, ("integral", "complex floating"))
    (True, False)
    """
    own = _dtype(dtype)
    if isinstance(kind, tuple):
        return any(isdtype(own, k) for k in kind)
    if isinstance(kind, str):
        if kind in _KINDS and kind != "bool":
            return own.kind in _KINDS[kind]
        if kind != "bool" and not hasattr(_ndock, kind):
            raise ValueError(f"isdtype(): {kind!r} is no kind; there are {', '.join(_KINDS)}")
    return own == _dtype(kind)


class finfo:
    """Machine limits of a floating dtype; of a complex one, those of its parts. type: a dtype or an Array.

    bits; eps: distance from 1 to the next number; max, min; smallest_normal: smallest positive number of full
    precision (also tiny); smallest_subnormal; dtype: the real dtype. IEEE 754, bfloat16 as the upper half of binary32.

    >>> nd.finfo(nd.float32).eps
    1.1920928955078125e-07
    """

    __slots__ = ("bits", "dtype", "eps", "max", "min", "smallest_normal", "smallest_subnormal")
    bits: int
    dtype: DType
    eps: float
    max: float
    min: float
    smallest_normal: float
    smallest_subnormal: float

    # Explicit bits of the fraction, largest exponent, real dtype.
    _formats = {"float8_e4m3fn": (3, 8, "float8_e4m3fn"), "float8_e5m2": (2, 15, "float8_e5m2"),
                "float16": (10, 15, "float16"), "bfloat16": (7, 127, "bfloat16"), "float32": (23, 127, "float32"),
                "float64": (52, 1023, "float64"), "complex64": (23, 127, "float32"), "complex128": (52, 1023, "float64")}

    def __init__(self, type: Union[DTypeLike, Array], /) -> None:
        own = _dtype(type)
        if own.name not in self._formats:
            raise TypeError(f"finfo(): {own.name} is not a floating dtype; iinfo has the limits of integers")
        fraction, exponent, real = self._formats[own.name]
        self.dtype = getattr(_ndock, real)
        self.bits = 8 * self.dtype.itemsize
        self.eps = 2.0 ** -fraction
        finite = real == "float8_e4m3fn"  # its highest exponent is a number's, but for the one NaN
        self.max = (2.0 - self.eps * (1 + finite)) * 2.0 ** exponent
        self.min = -self.max
        self.smallest_normal = 2.0 ** (1 + finite - exponent)
        self.smallest_subnormal = self.smallest_normal * self.eps

    @property
    def tiny(self) -> float:
        """NumPy's name of smallest_normal."""
        return self.smallest_normal

    def __repr__(self) -> str:
        return (f"finfo(dtype={self.dtype.name}, bits={self.bits}, eps={self.eps}, max={self.max}, min={self.min}, "
                f"smallest_normal={self.smallest_normal})")


class iinfo:
    """Machine limits of an integer dtype: bits, max, min, dtype. type: a dtype or an Array.

    >>> nd.iinfo(nd.int8).max
    127
    """

    __slots__ = ("bits", "dtype", "max", "min")
    bits: int
    dtype: DType
    max: int
    min: int

    def __init__(self, type: Union[DTypeLike, Array], /) -> None:
        own = _dtype(type)
        if own.kind not in "iu":
            raise TypeError(f"iinfo(): {own.name} is not an integer dtype; finfo has the limits of floating dtypes")
        self.dtype = own
        self.bits = 8 * own.itemsize
        sign = own.kind == "i"
        self.max = 2 ** (self.bits - sign) - 1
        self.min = -self.max - 1 if sign else 0

    def __repr__(self) -> str:
        return f"iinfo(dtype={self.dtype.name}, bits={self.bits}, max={self.max}, min={self.min})"
