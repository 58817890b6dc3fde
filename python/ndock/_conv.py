# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Convolutions of nd.nn and their gradients, under the names of torch.nn.functional and torch.nn.grad.

Images are (n, c, s...) with as many spatial axes as the name says, or (c, s...), one image. stride, padding, dilation and
output_padding are an int, or a sequence of one a spatial axis. Arrays of any strides are taken as they are, channels last by
nd.permute_dims for example, and out may be such an array."""
from __future__ import annotations

from . import _ndock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Protocol, TypeVar

    from ._types import Any, Array, Literal, Optional, Sequence, Union

    Ints = Union[int, Sequence[int]]
    Padding = Union[Ints, Literal["same", "valid"]]
    Function = TypeVar("Function")

    class Conv(Protocol):
        def __call__(self, input: Array, weight: Array, bias: Optional[Array] = None, stride: Ints = 1, padding: Padding = 0,
                     dilation: Ints = 1, groups: int = 1, *, out: Optional[Array] = None) -> Array: ...

    class Transposed(Protocol):
        def __call__(self, input: Array, weight: Array, bias: Optional[Array] = None, stride: Ints = 1, padding: Ints = 0,
                     output_padding: Ints = 0, groups: int = 1, dilation: Ints = 1, *, out: Optional[Array] = None) -> Array: ...

    class ByInput(Protocol):
        def __call__(self, input_size: Sequence[int], weight: Array, grad_output: Array, stride: Ints = 1, padding: Padding = 0,
                     dilation: Ints = 1, groups: int = 1) -> Array: ...

    class ByWeight(Protocol):
        def __call__(self, input: Array, weight_size: Sequence[int], grad_output: Array, stride: Ints = 1, padding: Padding = 0,
                     dilation: Ints = 1, groups: int = 1) -> Array: ...

__all__ = ["conv1d", "conv1d_input", "conv1d_weight", "conv2d", "conv2d_input", "conv2d_weight", "conv3d", "conv3d_input",
           "conv3d_weight", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d"]


_MODES = {"same": 1, "valid": 2}
_IMAGES = {1: "(n, c, l)", 2: "(n, c, h, w)", 3: "(n, c, d, h, w)"}
_TAPS = {1: "k", 2: "kh, kw", 3: "kd, kh, kw"}


def _named(function: Function, name: str, rank: int) -> Function:
    """function, made for images of so many spatial axes, under its name: its text says {name}, {rank} and {images}, {taps} for a
    window's extents, and {4} for as many extents of 4."""
    made: Any = function
    made.__name__ = made.__qualname__ = name
    if made.__doc__:  # python -OO has none
        extents = [f", {n}" * rank for n in range(10)]
        made.__doc__ = made.__doc__.format(*extents, name=name, rank=rank, images=_IMAGES[rank], taps=_TAPS[rank])
    return function


def _list(function: str, what: str, value: object, rank: int) -> tuple[int, ...]:
    """An int, or as many as there are spatial axes, as a tuple of these."""
    given: Any = value
    values: tuple[int, ...] = (given,) * rank if hasattr(given, "__index__") else tuple(given)
    if len(values) != rank:
        raise ValueError(f"{function}(): {what} has {len(values)} entries; it is an int, or has {rank}, one a spatial axis")
    return values


def _run(run: object, function: str, rank: int, a: Array, b: Array, bias: Optional[Array], shape: Sequence[int],
         stride: object, padding: object, dilation: object, more: object, groups: int, out: Optional[Array]) -> Array:
    mode = 0
    if isinstance(padding, str):
        if padding not in _MODES:
            raise ValueError(f'{function}(): padding is "same", "valid" or numbers, not {padding!r}')
        mode, padding = _MODES[padding], 0
    if groups < 1:
        raise ValueError(f"{function}(): groups is {groups}; it must be at least 1")
    wanted = rank + 2
    if len(shape) != wanted if shape and run is _ndock._conv_grad_weight else b.ndim != wanted and not shape:
        raise ValueError(f"{function}(): the weight has rank {len(shape) or b.ndim}; here it is {wanted}")
    return run(a, b, bias, shape, _list(function, "stride", stride, rank),  # type: ignore[operator]
               _list(function, "padding", padding, rank), _list(function, "dilation", dilation, rank),
               _list(function, "output_padding", more, rank), groups, mode, out)


def _conv(rank: int) -> Conv:
    name = f"conv{rank}d"

    def conv(input: Array, weight: Array, bias: Optional[Array] = None, stride: Ints = 1, padding: Padding = 0, dilation: Ints = 1,
             groups: int = 1, *, out: Optional[Array] = None) -> Array:
        """The convolution (cross-correlation) of images {images} with a weight (o, c//groups, {taps}).

        input and weight floating; they are promoted. bias (o) is added to each channel. padding: as the module says, or "same" (the
        result has the input's extents, at stride 1) or "valid" (none). stride, dilation: of windows and in them. groups: channels
        are cut into so many parts, c of them for a depthwise convolution. out: an array for the result, of any strides.

        Returns (n, o, ...) of (s + 2*padding - dilation*(k - 1) - 1)//stride + 1 elements an axis. Raises ValueError for shapes that
        do not fit together, TypeError for complex dtypes.

        >>> nd.nn.{name}(nd.ones((1, 1{4})), nd.ones((1, 1{2}))).shape
        (1, 1{3})
        """
        return _run(_ndock._conv, name, rank, input, weight, bias, (), stride, padding, dilation, 0, groups, out)

    return _named(conv, name, rank)


def _conv_transpose(rank: int) -> Transposed:
    name = f"conv_transpose{rank}d"

    def transposed(input: Array, weight: Array, bias: Optional[Array] = None, stride: Ints = 1, padding: Ints = 0,
                   output_padding: Ints = 0, groups: int = 1, dilation: Ints = 1, *, out: Optional[Array] = None) -> Array:
        """The transposed convolution of images {images} with a weight (c, o//groups, {taps}): the gradient of conv{rank}d for its input.

        input, weight, bias, stride, padding, groups, dilation and out as of conv{rank}d; output_padding: elements more at the end of
        each axis, below stride or dilation.

        Returns (n, o, ...) of (s - 1)*stride - 2*padding + dilation*(k - 1) + output_padding + 1 elements an axis. Raises ValueError
        for shapes that do not fit together, TypeError for complex dtypes.

        >>> nd.nn.{name}(nd.ones((1, 1{2})), nd.ones((1, 3{2})), stride=2).shape
        (1, 3{4})
        """
        return _run(_ndock._conv_transpose, name, rank, input, weight, bias, (), stride, padding, dilation, output_padding, groups, out)

    return _named(transposed, name, rank)


def _by_input(rank: int) -> ByInput:
    name = f"conv{rank}d_input"

    def by_input(input_size: Sequence[int], weight: Array, grad_output: Array, stride: Ints = 1, padding: Padding = 0,
                 dilation: Ints = 1, groups: int = 1) -> Array:
        """The gradient of conv{rank}d for its input, of shape input_size: grad_output is that of the result.

        weight, stride, padding, dilation and groups as they were given to conv{rank}d. Raises ValueError for shapes that do not fit
        together, TypeError for complex dtypes.

        >>> nd.nn.{name}((1, 1{3}), nd.ones((1, 1{2})), nd.ones((1, 1{2}))).shape
        (1, 1{3})
        """
        return _run(_ndock._conv_grad_input, name, rank, grad_output, weight, None, tuple(input_size), stride, padding, dilation, 0,
                    groups, None)

    return _named(by_input, name, rank)


def _by_weight(rank: int) -> ByWeight:
    name = f"conv{rank}d_weight"

    def by_weight(input: Array, weight_size: Sequence[int], grad_output: Array, stride: Ints = 1, padding: Padding = 0,
                  dilation: Ints = 1, groups: int = 1) -> Array:
        """The gradient of conv{rank}d for its weight, of shape weight_size: grad_output is that of the result.

        input, stride, padding, dilation and groups as they were given to conv{rank}d. That for a bias is nd.sum of grad_output over
        all axes but the channels. Raises ValueError for shapes that do not fit together, TypeError for complex dtypes.

        >>> nd.nn.{name}(nd.ones((1, 1{3})), (1, 1{2}), nd.ones((1, 1{2}))).shape
        (1, 1{2})
        """
        return _run(_ndock._conv_grad_weight, name, rank, input, grad_output, None, tuple(weight_size), stride, padding, dilation, 0,
                    groups, None)

    return _named(by_weight, name, rank)


conv1d, conv2d, conv3d = _conv(1), _conv(2), _conv(3)
conv_transpose1d, conv_transpose2d, conv_transpose3d = _conv_transpose(1), _conv_transpose(2), _conv_transpose(3)
conv1d_input, conv2d_input, conv3d_input = _by_input(1), _by_input(2), _by_input(3)
conv1d_weight, conv2d_weight, conv3d_weight = _by_weight(1), _by_weight(2), _by_weight(3)
