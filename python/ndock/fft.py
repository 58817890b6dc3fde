# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Discrete Fourier transforms, the array API's extension fft with NumPy's transforms of two axes. The forward transform has
exp(-2*pi*i*j*k/n), the inverse one exp(+2*pi*i*j*k/n).

dtypes: float16, bfloat16, float32 and complex64 are transformed in single precision, everything else in double. Results are
complex64 or complex128, of irfft, irfftn, irfft2 and hfft float32 or float64.

norm, of every function: where results are divided by the number of elements n of a transform: "backward", in inverse
transforms; "forward", in forward ones; "ortho", by sqrt(n) in both. n, and s for several axes: lengths of the transforms,
before which x is cut or continued with zeros. out: an array that the result is written into.

What a transform needs beside its elements is kept for the next one of that length: nd.backends.fft.plan_cache.

Errors of all of them: ValueError for lengths below 1, arrays without axes, and unknown norms; IndexError for axes out of range
or named twice; TypeError for complex x where it has to be real. Queued on the current stream."""
from __future__ import annotations

from . import _ndock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Callable

    from ._types import Array, DeviceLike, DTypeLike, Literal, Optional, Sequence, Union

    Norm = Literal["backward", "ortho", "forward"]

__all__ = ["dct", "dctn", "dst", "dstn", "fft", "fft2", "fftfreq", "fftn", "fftshift", "hfft", "idct", "idctn", "idst", "idstn",
           "ifft", "ifft2", "ifftn", "ifftshift", "ihfft", "irfft", "irfft2", "irfftn", "rfft", "rfft2", "rfftfreq", "rfftn"]

_NORMS = {"backward": 0, "forward": 1, "ortho": 2, None: 0}


def _norm(function: str, norm: object) -> int:
    try:
        return _NORMS[norm]  # type: ignore[index]
    except (KeyError, TypeError):
        raise ValueError(f'{function}(): norm is "backward", "ortho" or "forward", not {norm!r}') from None


def _along(run: Callable[..., Array], function: str, x: Array, n: Optional[int], axis: int, norm: object,
           out: Optional[Array]) -> Array:
    if n is not None and n < 1:
        raise ValueError(f"{function}(): n, the length of the transform, is {n}; it is at least 1")
    return run(x, (-1 if n is None else n,), (axis,), _norm(function, norm), out)


def _several(run: Callable[..., Array], function: str, x: Array, s: Optional[Sequence[Optional[int]]],
             axes: Optional[Sequence[int]], norm: object, out: Optional[Array]) -> Array:
    if axes is None:
        axes = () if s is None else range(-len(s), 0)
    elif len(axes) == 0:
        raise ValueError(f"{function}(): axes is empty; it names the axes to transform along, and None is all of them")
    lengths = [-1] * len(axes) if s is None else [-1 if n is None else n for n in s]
    return run(x, lengths, tuple(axes), _norm(function, norm), out)


def _waves(run: Callable[..., Array], function: str, x: Array, type: int, s: Optional[Sequence[Optional[int]]],
           axes: Optional[Sequence[int]], norm: object, orthogonalize: Optional[bool]) -> Array:
    """dct and its like along axes, None: all, or as many of the last as s has lengths."""
    if type not in (1, 2, 3, 4):
        raise ValueError(f"{function}(): type is 1, 2, 3 or 4, not {type!r}")
    if axes is None:
        axes = range(-(x.ndim if s is None else len(s)), 0)
    if len(axes) == 0:
        raise ValueError(f"{function}(): there is no axis to transform along")
    lengths = [-1] * len(axes) if s is None else [-1 if n is None else n for n in s]
    if any(n < -1 or n == 0 for n in lengths):
        raise ValueError(f"{function}(): a length of {min(lengths)}; it is at least 1")
    orthogonal = 0 if orthogonalize is None else 1 if orthogonalize else -1
    return run(x, lengths, tuple(axes), type, _norm(function, norm), orthogonal)


def fft(x: Array, /, *, n: Optional[int] = None, axis: int = -1, norm: Norm = "backward",
        out: Optional[Array] = None) -> Array:
    """The transform of x along axis, of n elements: by default as many as x has there. x may be real; rfft is faster then.

    norm and out as the module says, and errors too.

    >>> nd.fft.fft(nd.asarray([1.0, 0.0, 0.0, 0.0]))
    array([1.+0.j, 1.+0.j, 1.+0.j, 1.+0.j], dtype=complex128, device='cpu:0')
    """
    return _along(_ndock._fft, "fft", x, n, axis, norm, out)


def ifft(x: Array, /, *, n: Optional[int] = None, axis: int = -1, norm: Norm = "backward",
         out: Optional[Array] = None) -> Array:
    """The inverse of fft along axis, of n elements: by default as many as x has there.

    norm and out as the module says, and errors too.

    >>> nd.fft.ifft(nd.asarray([4.0, 0.0, 0.0, 0.0]))
    array([1.+0.j, 1.+0.j, 1.+0.j, 1.+0.j], dtype=complex128, device='cpu:0')
    """
    return _along(_ndock._ifft, "ifft", x, n, axis, norm, out)


def rfft(x: Array, /, *, n: Optional[int] = None, axis: int = -1, norm: Norm = "backward",
         out: Optional[Array] = None) -> Array:
    """Elements 0 to n//2 of the transform of real x along axis; the others are their conjugates, backwards.

    n: of the transform, by default the extent of x. norm and out as the module says, and errors too.

    >>> nd.fft.rfft(nd.asarray([1.0, 2.0, 3.0, 4.0]))
    array([10.+0.j, -2.+2.j, -2.+0.j], dtype=complex128, device='cpu:0')
    """
    return _along(_ndock._rfft, "rfft", x, n, axis, norm, out)


def irfft(x: Array, /, *, n: Optional[int] = None, axis: int = -1, norm: Norm = "backward",
          out: Optional[Array] = None) -> Array:
    """The inverse of rfft along axis: n real numbers, by default 2*(m - 1) of the extent m of x.

    The imaginary parts of element 0 and, for even n, of the last one count for nothing. norm and out as the module says, and
    errors too.

    >>> nd.fft.irfft(nd.asarray([10, -2+2j, -2]))
    array([1., 2., 3., 4.], dtype=float64, device='cpu:0')
    """
    return _along(_ndock._irfft, "irfft", x, n, axis, norm, out)


def hfft(x: Array, /, *, n: Optional[int] = None, axis: int = -1, norm: Norm = "backward",
         out: Optional[Array] = None) -> Array:
    """The transform along axis of n numbers of which x has 0 to n//2, the others being their conjugates backwards: it is real.

    n: by default 2*(m - 1) of the extent m of x. norm and out as the module says, and errors too.

    >>> nd.fft.hfft(nd.asarray([1.0, 2.0, 1.0]))
    array([ 6.,  0., -2.,  0.], dtype=float64, device='cpu:0')
    """
    return _along(_ndock._hfft, "hfft", x, n, axis, norm, out)


def ihfft(x: Array, /, *, n: Optional[int] = None, axis: int = -1, norm: Norm = "backward",
          out: Optional[Array] = None) -> Array:
    """The inverse of hfft along axis: elements 0 to n//2 of the inverse transform of real x.

    n: of the transform, by default the extent of x. norm and out as the module says, and errors too.

    >>> nd.fft.ihfft(nd.asarray([6.0, 0.0, -2.0, 0.0]))
    array([1.-0.j, 2.+0.j, 1.-0.j], dtype=complex128, device='cpu:0')
    """
    return _along(_ndock._ihfft, "ihfft", x, n, axis, norm, out)


def fftn(x: Array, /, *, s: Optional[Sequence[int]] = None, axes: Optional[Sequence[int]] = None, norm: Norm = "backward",
         out: Optional[Array] = None) -> Array:
    """The transform of x along several axes: by default all, or as many of the last as s has lengths.

    norm and out as the module says, and errors too.

    >>> nd.fft.fftn(nd.ones((2, 2)))
    array([[4.+0.j, 0.+0.j],
           [0.+0.j, 0.+0.j]], dtype=complex128, device='cpu:0')
    """
    return _several(_ndock._fftn, "fftn", x, s, axes, norm, out)


def ifftn(x: Array, /, *, s: Optional[Sequence[int]] = None, axes: Optional[Sequence[int]] = None, norm: Norm = "backward",
          out: Optional[Array] = None) -> Array:
    """The inverse of fftn, of x along several axes: by default all, or as many of the last as s has lengths.

    norm and out as the module says, and errors too.

    >>> nd.fft.ifftn(nd.ones((2, 2)))
    array([[1.+0.j, 0.+0.j],
           [0.+0.j, 0.+0.j]], dtype=complex128, device='cpu:0')
    """
    return _several(_ndock._ifftn, "ifftn", x, s, axes, norm, out)


def rfftn(x: Array, /, *, s: Optional[Sequence[int]] = None, axes: Optional[Sequence[int]] = None, norm: Norm = "backward",
          out: Optional[Array] = None) -> Array:
    """The transform of real x along several axes: by default all, or as many of the last as s has lengths. Along the last of
    them it is rfft.

    norm and out as the module says, and errors too.

    >>> nd.fft.rfftn(nd.ones((2, 2))).shape
    (2, 2)
    """
    return _several(_ndock._rfftn, "rfftn", x, s, axes, norm, out)


def irfftn(x: Array, /, *, s: Optional[Sequence[int]] = None, axes: Optional[Sequence[int]] = None, norm: Norm = "backward",
           out: Optional[Array] = None) -> Array:
    """The inverse of rfftn: real numbers. s: of the result; its last length is by default 2*(m - 1) of the extent m of x along
    the last of axes.

    norm and out as the module says, and errors too.

    >>> nd.fft.irfftn(nd.fft.rfftn(nd.ones((2, 3))), s=(2, 3), axes=(0, 1))
    array([[1., 1., 1.],
           [1., 1., 1.]], dtype=float64, device='cpu:0')
    """
    return _several(_ndock._irfftn, "irfftn", x, s, axes, norm, out)


def fft2(x: Array, /, *, s: Optional[Sequence[int]] = None, axes: Sequence[int] = (-2, -1), norm: Norm = "backward",
         out: Optional[Array] = None) -> Array:
    """fftn of x along two axes, with s, norm and out as there: NumPy's function. Errors as the module says.

    >>> nd.fft.fft2(nd.ones((5, 2, 2))).shape
    (5, 2, 2)
    """
    return _several(_ndock._fftn, "fft2", x, s, axes, norm, out)


def ifft2(x: Array, /, *, s: Optional[Sequence[int]] = None, axes: Sequence[int] = (-2, -1), norm: Norm = "backward",
          out: Optional[Array] = None) -> Array:
    """ifftn of x along two axes, with s, norm and out as there: NumPy's function. Errors as the module says.

    >>> nd.fft.ifft2(nd.ones((5, 2, 2))).shape
    (5, 2, 2)
    """
    return _several(_ndock._ifftn, "ifft2", x, s, axes, norm, out)


def rfft2(x: Array, /, *, s: Optional[Sequence[int]] = None, axes: Sequence[int] = (-2, -1), norm: Norm = "backward",
          out: Optional[Array] = None) -> Array:
    """rfftn of x along two axes, with s, norm and out as there: NumPy's function. Errors as the module says.

    >>> nd.fft.rfft2(nd.ones((5, 2, 6))).shape
    (5, 2, 4)
    """
    return _several(_ndock._rfftn, "rfft2", x, s, axes, norm, out)


def irfft2(x: Array, /, *, s: Optional[Sequence[int]] = None, axes: Sequence[int] = (-2, -1), norm: Norm = "backward",
           out: Optional[Array] = None) -> Array:
    """irfftn of x along two axes, with s, norm and out as there: NumPy's function. Errors as the module says.

    >>> nd.fft.irfft2(nd.ones((5, 2, 4))).shape
    (5, 2, 6)
    """
    return _several(_ndock._irfftn, "irfft2", x, s, axes, norm, out)


def dct(x: Array, /, type: int = 2, n: Optional[int] = None, axis: int = -1, norm: Norm = "backward", *,
        orthogonalize: Optional[bool] = None) -> Array:
    """The transform of x by cosines along axis, of n elements: by default as many as x has there; else x is cut, or continued with
    zeros. SciPy's conventions (scipy.fft.dct), with sums over all n where no other is named:

    type 1: x[0] + (-1)**k*x[n-1] + 2*sum of x[j]*cos(pi*j*k/(n-1)), 0 < j < n-1; n >= 2
    type 2: 2*sum of x[j]*cos(pi*k*(2j+1)/(2n))
    type 3: x[0] + 2*sum of x[j]*cos(pi*j*(2k+1)/(2n)), j > 0
    type 4: 2*sum of x[j]*cos(pi*(2k+1)*(2j+1)/(4n))

    norm: as the module says, of m = 2*(n - 1) for type 1 and 2*n else in the place of n. orthogonalize: whether elements 0 (and
    n-1) of types 1 to 3 count times or over sqrt(2), which makes the transform's matrix orthogonal; None: with norm="ortho" alone.
    Real and imaginary parts of complex x are transformed each for itself. Results are float32 for 16 and 32 bits, else float64.

    Errors: ValueError for a type or norm that there is not and for lengths below 1 (2 of dct's type 1); IndexError for an axis out
    of range.

    >>> nd.fft.dct(nd.asarray([1.0, 1.0, 1.0, 1.0]), norm="ortho")
    array([2., 0., 0., 0.], dtype=float64, device='cpu:0')
    """
    return _waves(_ndock._dct, "dct", x, type, (n,), (axis,), norm, orthogonalize)


def dctn(x: Array, /, type: int = 2, s: Optional[Sequence[Optional[int]]] = None, axes: Optional[Sequence[int]] = None,
         norm: Norm = "backward", *, orthogonalize: Optional[bool] = None) -> Array:
    """dct of x along one axis after another: axes, by default all, or as many of the last as s has lengths; type, norm,
    orthogonalize and errors as there.

    >>> nd.fft.dctn(nd.ones((2, 2)), norm="ortho")
    array([[2., 0.],
           [0., 0.]], dtype=float64, device='cpu:0')
    """
    return _waves(_ndock._dct, "dctn", x, type, s, axes, norm, orthogonalize)


def idct(x: Array, /, type: int = 2, n: Optional[int] = None, axis: int = -1, norm: Norm = "backward", *,
         orthogonalize: Optional[bool] = None) -> Array:
    """The inverse of dct: of x by that type, with n, axis, norm and orthogonalize as there: types 2 and 3 are each other's.

    Errors: ValueError for a type or norm that there is not and for lengths below 1 (2 of dct's type 1); IndexError for an axis out
    of range.

    >>> nd.fft.idct(nd.asarray([2.0, 0.0, 0.0, 0.0]), norm="ortho")
    array([1., 1., 1., 1.], dtype=float64, device='cpu:0')
    """
    return _waves(_ndock._idct, "idct", x, type, (n,), (axis,), norm, orthogonalize)


def idctn(x: Array, /, type: int = 2, s: Optional[Sequence[Optional[int]]] = None, axes: Optional[Sequence[int]] = None,
          norm: Norm = "backward", *, orthogonalize: Optional[bool] = None) -> Array:
    """idct of x along one axis after another: axes, by default all, or as many of the last as s has lengths; type, norm,
    orthogonalize and errors as there.

    >>> nd.fft.idctn(nd.fft.dctn(nd.ones((2, 3)))).shape
    (2, 3)
    """
    return _waves(_ndock._idct, "idctn", x, type, s, axes, norm, orthogonalize)


def dst(x: Array, /, type: int = 2, n: Optional[int] = None, axis: int = -1, norm: Norm = "backward", *,
        orthogonalize: Optional[bool] = None) -> Array:
    """The transform of x by sines along axis, of n elements: by default as many as x has there; else x is cut, or continued with
    zeros. SciPy's conventions (scipy.fft.dst), with sums over all n where no other is named:

    type 1: 2*sum of x[j]*sin(pi*(k+1)*(j+1)/(n+1))
    type 2: 2*sum of x[j]*sin(pi*(k+1)*(2j+1)/(2n))
    type 3: (-1)**k*x[n-1] + 2*sum of x[j]*sin(pi*(2k+1)*(j+1)/(2n)), j < n-1
    type 4: 2*sum of x[j]*sin(pi*(2k+1)*(2j+1)/(4n))

    norm: as the module says, of m = 2*(n + 1) for type 1 and 2*n else in the place of n. orthogonalize: as of dct, of element n-1 of
    types 2 and 3.

    Errors: ValueError for a type or norm that there is not and for lengths below 1 (2 of dct's type 1); IndexError for an axis out
    of range.

    >>> nd.fft.dst(nd.asarray([1.0]), type=1)
    array([2.], dtype=float64, device='cpu:0')
    """
    return _waves(_ndock._dst, "dst", x, type, (n,), (axis,), norm, orthogonalize)


def dstn(x: Array, /, type: int = 2, s: Optional[Sequence[Optional[int]]] = None, axes: Optional[Sequence[int]] = None,
         norm: Norm = "backward", *, orthogonalize: Optional[bool] = None) -> Array:
    """dst of x along one axis after another: axes, by default all, or as many of the last as s has lengths; type, norm,
    orthogonalize and errors as there.

    >>> nd.fft.dstn(nd.ones((1, 1)), type=1)
    array([[4.]], dtype=float64, device='cpu:0')
    """
    return _waves(_ndock._dst, "dstn", x, type, s, axes, norm, orthogonalize)


def idst(x: Array, /, type: int = 2, n: Optional[int] = None, axis: int = -1, norm: Norm = "backward", *,
         orthogonalize: Optional[bool] = None) -> Array:
    """The inverse of dst: of x by that type, with n, axis, norm and orthogonalize as there: types 2 and 3 are each other's.

    Errors: ValueError for a type or norm that there is not and for lengths below 1 (2 of dct's type 1); IndexError for an axis out
    of range.

    >>> nd.fft.idst(nd.asarray([2.0]), type=1)
    array([1.], dtype=float64, device='cpu:0')
    """
    return _waves(_ndock._idst, "idst", x, type, (n,), (axis,), norm, orthogonalize)


def idstn(x: Array, /, type: int = 2, s: Optional[Sequence[Optional[int]]] = None, axes: Optional[Sequence[int]] = None,
          norm: Norm = "backward", *, orthogonalize: Optional[bool] = None) -> Array:
    """idst of x along one axis after another: axes, by default all, or as many of the last as s has lengths; type, norm,
    orthogonalize and errors as there.

    >>> nd.fft.idstn(nd.fft.dstn(nd.ones((2, 3)))).shape
    (2, 3)
    """
    return _waves(_ndock._idst, "idstn", x, type, s, axes, norm, orthogonalize)


def fftfreq(n: int, /, *, d: float = 1.0, dtype: Optional[DTypeLike] = None, device: Optional[DeviceLike] = None) -> Array:
    """The frequencies of a transform's n elements, for samples d apart: 0, 1, ... up to the middle, then the negative ones,
    divided by n*d.

    dtype: floating, by default float64. device: a Device or its name; None is the current one. ValueError for n below 1.

    >>> nd.fft.fftfreq(4, d=0.25)
    array([ 0.,  1., -2., -1.], dtype=float64, device='cpu:0')
    """
    return _ndock._fftfreq(n, d, dtype, device)


def rfftfreq(n: int, /, *, d: float = 1.0, dtype: Optional[DTypeLike] = None, device: Optional[DeviceLike] = None) -> Array:
    """The frequencies of the n//2 + 1 elements of rfft, for samples d apart: 0 to n//2, divided by n*d.

    dtype: floating, by default float64. device: a Device or its name; None is the current one. ValueError for n below 1.

    >>> nd.fft.rfftfreq(4, d=0.25)
    array([0., 1., 2.], dtype=float64, device='cpu:0')
    """
    return _ndock._rfftfreq(n, d, dtype, device)


def fftshift(x: Array, /, *, axes: Optional[Union[int, Sequence[int]]] = None) -> Array:
    """x with element 0 moved to the middle of axes, by default of all.

    Errors: IndexError for axes out of range or named twice.

    >>> nd.fft.fftshift(nd.asarray([0, 1, 2, -2, -1]))
    array([-2, -1,  0,  1,  2], dtype=int64, device='cpu:0')
    """
    return _ndock._fftshift(x, axes)


def ifftshift(x: Array, /, *, axes: Optional[Union[int, Sequence[int]]] = None) -> Array:
    """The inverse of fftshift: x with the middle element of axes, by default of all, moved to their beginning.

    Errors: IndexError for axes out of range or named twice.

    >>> nd.fft.ifftshift(nd.asarray([-2, -1, 0, 1, 2]))
    array([ 0,  1,  2, -2, -1], dtype=int64, device='cpu:0')
    """
    return _ndock._ifftshift(x, axes)
