# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Convolution and correlation of arrays of any rank, under the names of scipy.signal; nd.convolve and nd.correlate are NumPy's,
of one axis.

mode: "full", every element with a term; "same", as many as the first array has, from the middle; "valid", those whose terms are
all there. method: "direct", the sums as they stand; "fft", by Fourier transforms; "auto", whichever has fewer operations; integers
and bool are always summed as they stand then, and exactly. dtypes are promoted.

Errors of all of them: ValueError for ranks that differ or are 0, extents of 0, unknown modes and methods, and "valid" where
neither array is at least as long as the other along every axis."""
from __future__ import annotations

from . import _ndock
from ._dtypes import isdtype

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._types import Array, Literal

    Mode = Literal["full", "same", "valid"]
    Method = Literal["auto", "direct", "fft"]

__all__ = ["convolve", "correlate", "fftconvolve", "oaconvolve"]

_MODES = {"full": 0, "same": 1, "valid": 2}
_METHODS = {"auto": 0, "direct": 1, "fft": 2}


def _choice(function: str, what: str, names: dict[str, int], name: object) -> int:
    try:
        return names[name]  # type: ignore[index]
    except (KeyError, TypeError):
        raise ValueError(f"{function}(): {what} is one of {', '.join(names)}, not {name!r}") from None


def convolve(in1: Array, in2: Array, mode: Mode = "full", method: Method = "auto") -> Array:
    """The convolution of two arrays of equal rank: element k is the sum of in1[j]*in2[k-j].

    mode, method and errors: as the module says.

    >>> nd.signal.convolve(nd.asarray([[1, 2], [3, 4]]), nd.asarray([[1, 1]]))
    array([[1, 3, 2],
           [3, 7, 4]], dtype=int64, device='cpu:0')
    """
    return _ndock._convolve(in1, in2, _choice("convolve", "mode", _MODES, mode),
                            _choice("convolve", "method", _METHODS, method))


def correlate(in1: Array, in2: Array, mode: Mode = "full", method: Method = "auto") -> Array:
    """The correlation of two arrays of equal rank: the sum of in1[j+k]*conj(in2[j]), from k = 1 - (in2's extent) on.

    mode, method and errors: as the module says.

    >>> nd.signal.correlate(nd.asarray([1, 2, 3]), nd.asarray([0, 1]))
    array([1, 2, 3, 0], dtype=int64, device='cpu:0')
    """
    return _ndock._correlate(in1, in2, _choice("correlate", "mode", _MODES, mode),
                             _choice("correlate", "method", _METHODS, method))


def fftconvolve(in1: Array, in2: Array, mode: Mode = "full") -> Array:
    """convolve of in1 and in2 by Fourier transforms: the result is floating. mode and errors: as the module says.

    >>> nd.signal.fftconvolve(nd.asarray([1.0, 2.0]), nd.asarray([3.0, 4.0])).shape
    (3,)
    """
    return _ndock._convolve(in1, in2, _choice("fftconvolve", "mode", _MODES, mode), 2)


def oaconvolve(in1: Array, in2: Array, mode: Mode = "full") -> Array:
    """fftconvolve of in1, of one axis, and a much shorter in2 (or the reverse) in blocks of a few times its length, which are
    added where they overlap; other arrays are fftconvolve's. mode and errors: as the module says.

    >>> nd.signal.oaconvolve(nd.ones(1000), nd.ones(10), mode="valid").shape
    (991,)
    """
    long, short = (in1, in2) if in1.size >= in2.size else (in2, in1)
    if in1.ndim != 1 or in2.ndim != 1 or short.size == 0 or long.size < 16 * short.size:
        return _ndock._convolve(in1, in2, _choice("oaconvolve", "mode", _MODES, mode), 2)
    whole = _overlapped(long, short)
    first, size = 0, whole.size
    if _choice("oaconvolve", "mode", _MODES, mode) != 0:
        size = in1.size if mode == "same" else long.size - short.size + 1
        first = (whole.size - size) // 2
    part: Array = whole[first:first + size]
    return part.copy()


def _overlapped(long: Array, short: Array) -> Array:
    from . import concat, fft, pad, result_type, zeros

    dtype = result_type(long, short)
    if not isdtype(dtype, ("real floating", "complex floating")):
        dtype = _ndock.float64
    length = 64
    while length < 8 * short.size:
        length *= 2
    step, n = length - short.size + 1, long.size
    blocks = -(-n // step)
    rows = pad(long.astype(dtype), (0, blocks * step - n)).reshape((blocks, step))
    taps = short.astype(dtype)
    if isdtype(dtype, "complex floating"):
        parts = fft.ifft(fft.fft(rows, n=length) * fft.fft(taps, n=length))
    else:
        parts = fft.irfft(fft.rfft(rows, n=length) * fft.rfft(taps, n=length), n=length)
    over = length - step
    tail = zeros((1, over), dtype=parts.dtype, device=parts.device)
    # The end of each block is added to the beginning of the next one, which it may be no longer than.
    heads = concat([parts[:, :step], pad(tail, ((0, 0), (0, step - over)))])
    ends = concat([pad(tail, ((0, 0), (0, step - over))), pad(parts[:, step:], ((0, 0), (0, step - over)))])
    return (heads + ends).reshape((-1,))[:n + short.size - 1].astype(dtype)


def _mode(function: str, mode: object) -> int:
    if isinstance(mode, int) and mode in (0, 1, 2):  # NumPy's numbers
        return (2, 1, 0)[mode]
    return _choice(function, "mode", _MODES, mode)


def _one_axis(function: str, a: Array, v: Array) -> None:
    if a.ndim != 1 or v.ndim != 1:
        raise ValueError(f"{function}(): arrays of one axis, not of {a.ndim} and {v.ndim}; nd.signal.{function} is for more")
    if a.size == 0 or v.size == 0:
        raise ValueError(f"{function}(): an array without elements")


def _convolve_1d(a: Array, v: Array, mode: Mode = "full") -> Array:
    """The convolution of two arrays of one axis, as numpy.convolve: "full", "same" (as many elements as the longer one has) or
    "valid". By Fourier transforms where that has fewer operations and they are floating; nd.signal.convolve says how.

    a, v: arrays; mode: a name. ValueError for other ranks, arrays without elements and unknown modes.

    >>> nd.convolve(nd.asarray([1, 2, 3]), nd.asarray([0, 1, 2]))
    array([0, 1, 4, 7, 6], dtype=int64, device='cpu:0')
    """
    _one_axis("convolve", a, v)
    if v.size > a.size:
        a, v = v, a
    return _ndock._convolve(a, v, _mode("convolve", mode), 0)


def _correlate_1d(a: Array, v: Array, mode: Mode = "valid") -> Array:
    """The correlation of two arrays of one axis, as numpy.correlate: the sum of a[j+k]*conj(v[j]), "valid", "same" (as many
    elements as the longer one has) or "full". By Fourier transforms where that has fewer operations and they are floating.

    a, v: arrays; mode: a name. ValueError for other ranks, arrays without elements and unknown modes.

    >>> nd.correlate(nd.asarray([1, 2, 3]), nd.asarray([0, 1, 0.5]), "full")
    array([0.5, 2. , 3.5, 3. , 0. ], dtype=float64, device='cpu:0')
    """
    _one_axis("correlate", a, v)
    if v.size <= a.size:
        return _ndock._correlate(a, v, _mode("correlate", mode), 0)
    r = _ndock._correlate(v, a, _mode("correlate", mode), 0)[::-1]
    return r.conj() if isdtype(r.dtype, "complex floating") else r.copy()


_convolve_1d.__name__ = _convolve_1d.__qualname__ = "convolve"
_correlate_1d.__name__ = _correlate_1d.__qualname__ = "correlate"
