# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Pools, resampling, unfold and fold of nd.nn and their gradients, under the names of torch.nn.functional.

Images are (n, c, s...) with as many spatial axes as the name says; pools and unfold take (c, s...) too, one image. kernel_size,
stride, padding and dilation are an int, or a sequence of one a spatial axis; stride None: kernel_size. Arrays of any strides are
taken as they are; results of pools without indices have channels last where x has."""
from __future__ import annotations

from . import _ndock
from ._conv import _list, _named

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Protocol

    from ._types import Array, Literal, Optional, Sequence, Union

    Ints = Union[int, Sequence[int]]
    Mode = Literal["nearest", "nearest-exact", "linear", "bilinear", "trilinear", "bicubic"]

    class MaxPool(Protocol):
        def __call__(self, input: Array, kernel_size: Ints, stride: Optional[Ints] = None, padding: Ints = 0, dilation: Ints = 1,
                     ceil_mode: bool = False, return_indices: bool = False, *,
                     out: Optional[Array] = None) -> Union[Array, tuple[Array, Array]]: ...

    class AvgPool(Protocol):
        def __call__(self, input: Array, kernel_size: Ints, stride: Optional[Ints] = None, padding: Ints = 0, ceil_mode: bool = False,
                     count_include_pad: bool = True, divisor_override: Optional[int] = None, *,
                     out: Optional[Array] = None) -> Array: ...

    class LpPool(Protocol):
        def __call__(self, input: Array, norm_type: float, kernel_size: Ints, stride: Optional[Ints] = None,
                     ceil_mode: bool = False) -> Array: ...

    class AdaptiveAvgPool(Protocol):
        def __call__(self, input: Array, output_size: Ints, *, out: Optional[Array] = None) -> Array: ...

    class AdaptiveMaxPool(Protocol):
        def __call__(self, input: Array, output_size: Ints, return_indices: bool = False) -> Union[Array, tuple[Array, Array]]: ...

__all__ = ["adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_avg_pool3d", "adaptive_max_pool1d",
           "adaptive_max_pool2d", "adaptive_max_pool3d", "avg_pool1d", "avg_pool2d", "avg_pool3d", "avg_pool_grad",
           "fold", "interpolate", "interpolate_grad", "lp_pool1d", "lp_pool2d", "lp_pool3d", "lp_pool_grad", "max_pool1d",
           "max_pool2d", "max_pool3d", "max_pool_grad", "unfold"]


_METHODS = {"nearest": (0, 0), "nearest-exact": (1, 0), "linear": (2, 1), "bilinear": (2, 2), "trilinear": (2, 3),
            "bicubic": (3, 2)}


def _windows(function: str, rank: int, kernel: object, stride: object, padding: object, dilation: object, ceil_mode: bool,
             exclude: bool = False, divisor: Optional[int] = None) -> tuple[object, ...]:
    """What the pools of the extension module take last."""
    if divisor is not None and divisor < 1:
        raise ValueError(f"{function}(): divisor_override is {divisor}; it must be at least 1")
    size = _list(function, "kernel_size", kernel, rank)
    step = size if stride is None else _list(function, "stride", stride, rank)
    return (rank, size, step, _list(function, "padding", padding, rank), _list(function, "dilation", dilation, rank), (),
            ceil_mode, exclude, divisor or 0)


def _adaptive(function: str, rank: int, x: Array, output: object) -> tuple[object, ...]:
    sizes = (output,) * rank if output is None or hasattr(output, "__index__") else tuple(output)  # type: ignore[arg-type]
    if len(sizes) != rank:
        raise ValueError(f"{function}(): output_size has {len(sizes)} entries; it is an int, or has {rank}, one a spatial axis")
    if x.ndim < rank:
        raise ValueError(f"{function}(): the input has rank {x.ndim}; it must be {rank + 1} or {rank + 2}")
    sizes = tuple(x.shape[i - rank] if s is None else s for i, s in enumerate(sizes))
    return rank, (), (), (), (), sizes, False, False, 0


def _rank(function: str, input_size: Sequence[int], kernel: object) -> int:
    """Spatial axes: as many as a sequence of extents has, else those of a shape with images and channels."""
    return len(input_size) - 2 if hasattr(kernel, "__index__") else len(tuple(kernel))  # type: ignore[arg-type]


def _max(rank: int) -> MaxPool:
    name = f"max_pool{rank}d"

    def max_pool(input: Array, kernel_size: Ints, stride: Optional[Ints] = None, padding: Ints = 0, dilation: Ints = 1,
                 ceil_mode: bool = False, return_indices: bool = False, *,
                 out: Optional[Array] = None) -> Union[Array, tuple[Array, Array]]:
        """The largest element of each window of images {images}; NaN where there is one.

        input floating; kernel_size, stride, dilation: of windows, as the module says; padding: at most half of what they cover.
        ceil_mode: windows that begin in the image or before it count even where they reach beyond the padding. return_indices: also
        i64 positions in the image's spatial axes, counted in C order, of the first of equals (-1 for a window without elements).
        out: an array for the result alone.

        Returns an array, or two. Raises ValueError for windows that do not fit, TypeError for complex dtypes.

        >>> nd.nn.{name}(nd.ones((1, 2{4})), 2).shape
        (1, 2{2})
        """
        windows = _windows(name, rank, kernel_size, stride, padding, dilation, ceil_mode)
        return _ndock._max_pool(input, out, return_indices, *windows)

    return _named(max_pool, name, rank)


def avg_pool1d(input: Array, kernel_size: Ints, stride: Optional[Ints] = None, padding: Ints = 0, ceil_mode: bool = False,
               count_include_pad: bool = True, *, out: Optional[Array] = None) -> Array:
    """The mean of each window of images (n, c, l): avg_pool2d without divisor_override, as in PyTorch.

    input floating; kernel_size, stride, padding, ceil_mode and out as of max_pool1d. count_include_pad: elements of the padding
    count, as zeros.

    Raises ValueError for windows that do not fit, TypeError for complex dtypes.

    >>> nd.nn.avg_pool1d(nd.ones((1, 1, 2)), 2).item()
    1.0
    """
    return _ndock._avg_pool(input, out, *_windows("avg_pool1d", 1, kernel_size, stride, padding, 1, ceil_mode,
                                                  not count_include_pad, None))


def _avg(rank: int) -> AvgPool:
    name = f"avg_pool{rank}d"

    def avg_pool(input: Array, kernel_size: Ints, stride: Optional[Ints] = None, padding: Ints = 0, ceil_mode: bool = False,
                 count_include_pad: bool = True, divisor_override: Optional[int] = None, *, out: Optional[Array] = None) -> Array:
        """The mean of each window of images {images}.

        input floating; kernel_size, stride, padding, ceil_mode and out as of max_pool{rank}d. count_include_pad: elements of the
        padding count, as zeros. divisor_override: what sums are divided by instead.

        Raises ValueError for windows that do not fit, TypeError for complex dtypes.

        >>> nd.nn.{name}(nd.ones((1, 1{2})), 2).item()
        1.0
        """
        return _ndock._avg_pool(input, out, *_windows(name, rank, kernel_size, stride, padding, 1, ceil_mode, not count_include_pad,
                                                      divisor_override))

    return _named(avg_pool, name, rank)


def _lp(rank: int) -> LpPool:
    name = f"lp_pool{rank}d"

    def lp_pool(input: Array, norm_type: float, kernel_size: Ints, stride: Optional[Ints] = None, ceil_mode: bool = False) -> Array:
        """The norm of each window of images {images}: (sum of abs(x)**p)**(1/p) with p = norm_type, not 0.

        input floating; kernel_size, stride and ceil_mode as of max_pool{rank}d. Raises ValueError for windows that do not fit,
        TypeError for complex dtypes.

        >>> nd.nn.{name}(nd.ones((1, 1{4})), 1, 4).item() == 4.0**{rank}
        True
        """
        return _ndock._lp_pool(input, norm_type, *_windows(name, rank, kernel_size, stride, 0, 1, ceil_mode))

    return _named(lp_pool, name, rank)


def _adaptive_avg(rank: int) -> AdaptiveAvgPool:
    name = f"adaptive_avg_pool{rank}d"

    def adaptive_avg_pool(input: Array, output_size: Ints, *, out: Optional[Array] = None) -> Array:
        """The means of windows such that the result of images {images} has these spatial extents.

        input floating; output_size: an int, or one a spatial axis, None for the input's own; element i of the result is made of
        elements floor(i*s/output_size) to ceil((i + 1)*s/output_size) - 1. out: an array for the result. Raises ValueError for
        extents below 1.

        >>> nd.nn.{name}(nd.ones((1, 2{5})), 3).shape
        (1, 2{3})
        """
        return _ndock._avg_pool(input, out, *_adaptive(name, rank, input, output_size))

    return _named(adaptive_avg_pool, name, rank)


def _adaptive_max(rank: int) -> AdaptiveMaxPool:
    name = f"adaptive_max_pool{rank}d"

    def adaptive_max_pool(input: Array, output_size: Ints, return_indices: bool = False) -> Union[Array, tuple[Array, Array]]:
        """The largest elements of the windows of adaptive_avg_pool{rank}d.

        input, output_size as there; return_indices as of max_pool{rank}d. Raises ValueError for extents below 1.

        >>> nd.nn.{name}(nd.ones((1, 2{5})), 2).shape
        (1, 2{2})
        """
        return _ndock._max_pool(input, None, return_indices, *_adaptive(name, rank, input, output_size))

    return _named(adaptive_max_pool, name, rank)


max_pool1d, max_pool2d, max_pool3d = _max(1), _max(2), _max(3)
avg_pool2d, avg_pool3d = _avg(2), _avg(3)
lp_pool1d, lp_pool2d, lp_pool3d = _lp(1), _lp(2), _lp(3)
adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d = _adaptive_avg(1), _adaptive_avg(2), _adaptive_avg(3)
adaptive_max_pool1d, adaptive_max_pool2d, adaptive_max_pool3d = _adaptive_max(1), _adaptive_max(2), _adaptive_max(3)


def max_pool_grad(grad_output: Array, indices: Array, input_size: Sequence[int], kernel_size: Ints,
                  stride: Optional[Ints] = None, padding: Ints = 0, dilation: Ints = 1, ceil_mode: bool = False) -> Array:
    """The gradient of max_pool1d, 2d or 3d for its input, of shape input_size.

    grad_output: the gradient of the result; indices: what the pool returned beside it; kernel_size, stride, padding, dilation,
    ceil_mode as it was given. input_size is (n, c, s...), or with a sequence as kernel_size (c, s...) too. Raises ValueError for
    shapes that do not fit together.

    >>> y, at = nd.nn.max_pool1d(nd.asarray([[[1.0, 3.0, 2.0, 0.0]]]), 2, return_indices=True)
    >>> nd.nn.max_pool_grad(nd.ones_like(y), at, (1, 1, 4), 2)
    array([[[0., 1., 1., 0.]]], dtype=float64, device='cpu:0')
    """
    rank = _rank("max_pool_grad", input_size, kernel_size)
    windows = _windows("max_pool_grad", rank, kernel_size, stride, padding, dilation, ceil_mode)
    return _ndock._pool_grad(grad_output, indices, tuple(input_size), *windows)


def avg_pool_grad(grad_output: Array, input_size: Sequence[int], kernel_size: Ints, stride: Optional[Ints] = None,
                  padding: Ints = 0, ceil_mode: bool = False, count_include_pad: bool = True,
                  divisor_override: Optional[int] = None) -> Array:
    """The gradient of avg_pool1d, 2d or 3d for its input, of shape input_size.

    grad_output: the gradient of the result; kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override as they
    were given. input_size as of max_pool_grad. Raises ValueError for shapes that do not fit together.

    >>> nd.nn.avg_pool_grad(nd.ones((1, 1, 2)), (1, 1, 4), 2)
    array([[[0.5, 0.5, 0.5, 0.5]]], dtype=float64, device='cpu:0')
    """
    rank = _rank("avg_pool_grad", input_size, kernel_size)
    return _ndock._pool_grad(grad_output, None, tuple(input_size),
                             *_windows("avg_pool_grad", rank, kernel_size, stride, padding, 1, ceil_mode,
                                       not count_include_pad, divisor_override))


def lp_pool_grad(grad_output: Array, input: Array, output: Array, norm_type: float, kernel_size: Ints,
                 stride: Optional[Ints] = None, ceil_mode: bool = False) -> Array:
    """The gradient of lp_pool1d, 2d or 3d for its input; zero where the norm is.

    grad_output: the gradient of the result, output; input, norm_type, kernel_size, stride, ceil_mode as they were given. Raises
    ValueError for shapes that do not fit together.

    >>> x = nd.asarray([[[3.0, 4.0]]])
    >>> nd.nn.lp_pool_grad(nd.ones((1, 1, 1)), x, nd.nn.lp_pool1d(x, 2, 2), 2, 2)
    array([[[0.6, 0.8]]], dtype=float64, device='cpu:0')
    """
    rank = _rank("lp_pool_grad", input.shape, kernel_size)
    return _ndock._lp_pool_grad(grad_output, input, output, norm_type,
                                *_windows("lp_pool_grad", rank, kernel_size, stride, 0, 1, ceil_mode))


def _resample(function: str, x: Array, shape: Sequence[int], size: object, scale: object, mode: str, align: Optional[bool],
              out: Optional[Array]) -> Array:
    rank = x.ndim - 2
    if mode not in _METHODS:
        raise ValueError(f"{function}(): mode is one of {', '.join(_METHODS)}, not {mode!r}")
    method, wanted = _METHODS[mode]
    if not 1 <= rank <= 3 or (wanted and wanted != rank):
        raise ValueError(f"{function}(): the input has rank {x.ndim}; for mode {mode!r} it must be {wanted + 2 if wanted else '3 to 5'}")
    if align is not None and method < 2:
        raise ValueError(f"{function}(): align_corners is for linear, bilinear, trilinear and bicubic, not {mode!r}")
    if (size is None) == (scale is None):
        raise ValueError(f"{function}(): one of size and scale_factor tells the result's extents; give that one alone")
    extents = () if size is None else _list(function, "size", size, rank)
    scales = (0.0,) * rank
    if scale is not None:
        scales = (scale,) * rank if isinstance(scale, (int, float)) else tuple(scale)  # type: ignore[arg-type]
        if len(scales) != rank or not all(s > 0 for s in scales):
            raise ValueError(f"{function}(): scale_factor is {scale!r}; it is a positive number, or {rank} of them")
    return _ndock._upsample(x, tuple(shape), extents, *((1.0,) * (3 - rank)), *scales, method, bool(align), out)


def interpolate(input: Array, size: Optional[Ints] = None, scale_factor: Union[float, Sequence[float], None] = None,
                mode: Mode = "nearest", align_corners: Optional[bool] = None, *, out: Optional[Array] = None) -> Array:
    """Images (n, c, s...) with other spatial extents, larger or smaller.

    input floating. size: the extents, an int or one a spatial axis; or scale_factor: what they are multiplied by, rounded down. mode:
    "nearest", "nearest-exact" (of the elements' middles), "linear", "bilinear", "trilinear" of two elements an axis, "bicubic" of
    four. align_corners: of the latter four, the outermost elements' middles fall on each other instead of the images' edges. out: an
    array for the result.

    Raises ValueError for a mode that is not for the input's rank, and where not exactly one of size and scale_factor is given.

    >>> nd.nn.interpolate(nd.asarray([[[1.0, 3.0]]]), scale_factor=2, mode="linear")
    array([[[1. , 1.5, 2.5, 3. ]]], dtype=float64, device='cpu:0')
    """
    return _resample("interpolate", input, (), size, scale_factor, mode, align_corners, out)


def interpolate_grad(grad_output: Array, input_size: Sequence[int], size: Optional[Ints] = None,
                     scale_factor: Union[float, Sequence[float], None] = None, mode: Mode = "nearest",
                     align_corners: Optional[bool] = None) -> Array:
    """The gradient of interpolate for its input, of shape input_size.

    grad_output: the gradient of the result; size, scale_factor, mode, align_corners as they were given. Raises ValueError for shapes
    that do not fit together.

    >>> nd.nn.interpolate_grad(nd.ones((1, 1, 4)), (1, 1, 2), scale_factor=2)
    array([[[2., 2.]]], dtype=float64, device='cpu:0')
    """
    return _resample("interpolate_grad", grad_output, input_size, size, scale_factor, mode, align_corners, None)


def unfold(input: Array, kernel_size: Ints, dilation: Ints = 1, padding: Ints = 0, stride: Ints = 1, *,
           out: Optional[Array] = None) -> Array:
    """The elements of the windows of images (n, c, s...) side by side: (n, c*k, l) for l windows of k elements; zero in the padding.

    input floating, of one to three spatial axes, (c, s...) only where kernel_size is a sequence; kernel_size, dilation, padding,
    stride: of windows. out: an array for the result. Raises ValueError for windows that do not fit.

    >>> nd.nn.unfold(nd.asarray([[[1.0, 2.0, 3.0]]]), 2)
    array([[[1., 2.],
            [2., 3.]]], dtype=float64, device='cpu:0')
    """
    rank = _rank("unfold", input.shape, kernel_size)
    return _ndock._unfold(input, (), rank, *_unfold_lists("unfold", rank, kernel_size, stride, padding, dilation), out)


def fold(input: Array, output_size: Sequence[int], kernel_size: Ints, dilation: Ints = 1, padding: Ints = 0, stride: Ints = 1, *,
         out: Optional[Array] = None) -> Array:
    """The sums of windows (n, c*k, l) in images of the spatial extents output_size, a sequence: the gradient of unfold.

    input floating, or (c*k, l), one image; kernel_size, dilation, padding, stride: of windows. out: an array for the result. Raises
    ValueError for shapes that do not fit together.

    >>> nd.nn.fold(nd.ones((1, 2, 2)), (3,), 2)
    array([[[1., 2., 1.]]], dtype=float64, device='cpu:0')
    """
    extents = tuple(output_size)
    rank = len(extents)
    return _ndock._unfold(input, extents, rank, *_unfold_lists("fold", rank, kernel_size, stride, padding, dilation), out)


def _unfold_lists(function: str, rank: int, kernel: object, stride: object, padding: object,
                  dilation: object) -> tuple[tuple[int, ...], ...]:
    return (_list(function, "kernel_size", kernel, rank), _list(function, "stride", stride, rank),
            _list(function, "padding", padding, rank), _list(function, "dilation", dilation, rank))
