# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Normalisations under PyTorch's functional names, and gradients, whose first argument is that of the function's result. Arrays
are floating; what softmax, log_softmax, layer_norm and rms_norm are given may hold integers or bool too, which become the default
floating dtype. The same bits for every number of threads; queued on the current stream, nothing waits. In ndock.nn.

Errors of all of them: ValueError for shapes and numbers that do not fit, TypeError for dtypes, IndexError for an axis out of
range."""
from __future__ import annotations

from . import _ndock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._types import Array, Axes, Optional, Shape

__all__ = ["batch_norm", "batch_norm_grad", "group_norm", "group_norm_grad", "instance_norm", "instance_norm_grad", "layer_norm",
           "layer_norm_grad", "log_softmax", "log_softmax_grad", "rms_norm", "rms_norm_grad", "softmax", "softmax_grad"]


def _trailing(function: str, x: Array, normalized_shape: Shape) -> list[int]:
    """The axes of that shape, the last ones of x."""
    shape = (normalized_shape,) if hasattr(normalized_shape, "__index__") else tuple(normalized_shape)
    n = len(shape)
    if n > x.ndim or x.shape[x.ndim - n:] != shape:
        raise ValueError(f"{function}(): the last axes of an array of shape {x.shape} are not {shape}")
    return list(range(x.ndim - n, x.ndim))


def softmax(input: Array, /, dim: Axes = -1) -> Array:
    """exp(input - max) over its sum along the axis dim (or several together): of input's shape.

    The result has input's dtype, of integers and bool the default floating dtype.

    Errors: ValueError for shapes, TypeError for dtypes, IndexError for an axis out of range.

    >>> nd.nn.softmax(nd.asarray([1.0, 1.0]))
    array([0.5, 0.5], dtype=float64, device='cpu:0')
    """
    return _ndock._softmax(input, dim)


def softmax_grad(grad: Array, output: Array, /, dim: Axes = -1) -> Array:
    """The gradient of softmax for its input, from that of its result, and the result itself: output*(grad - sum(grad*output)).

    grad: the gradient of the result, of its shape; output: what softmax gave; dim: as given to it.

    Errors: ValueError for shapes that differ, TypeError for dtypes, IndexError for an axis out of range.

    >>> nd.nn.softmax_grad(nd.asarray([1.0, 0.0]), nd.asarray([0.5, 0.5]))
    array([ 0.25, -0.25], dtype=float64, device='cpu:0')
    """
    return _ndock._softmax_grad(grad, output, dim)


def log_softmax(input: Array, /, dim: Axes = -1) -> Array:
    """The logarithm of softmax, without its loss of small numbers: of input's shape.

    input, dim and the result's dtype are those of softmax.

    Errors: ValueError for shapes, TypeError for dtypes, IndexError for an axis out of range.

    >>> nd.exp(nd.nn.log_softmax(nd.asarray([1.0, 1.0])))
    array([0.5, 0.5], dtype=float64, device='cpu:0')
    """
    return _ndock._log_softmax(input, dim)


def log_softmax_grad(grad: Array, output: Array, /, dim: Axes = -1) -> Array:
    """The gradient of log_softmax for its input, from that of its result, and the result itself: grad - exp(output)*sum(grad).

    grad: the gradient of the result, of its shape; output: what log_softmax gave; dim: as given to it.

    Errors: ValueError for shapes that differ, TypeError for dtypes, IndexError for an axis out of range.

    >>> nd.nn.log_softmax_grad(nd.asarray([1.0, 0.0]), nd.log(nd.asarray([0.5, 0.5])))
    array([ 0.5, -0.5], dtype=float64, device='cpu:0')
    """
    return _ndock._log_softmax_grad(grad, output, dim)


def layer_norm(input: Array, /, normalized_shape: Shape, weight: Optional[Array] = None, bias: Optional[Array] = None,
               eps: float = 1e-5) -> Array:
    """(input - mean)/sqrt(variance + eps)*weight + bias over the last axes, whose shape is normalized_shape, as are those of weight
    and bias. Source: Ba, Kiros and Hinton, arXiv 1607.06450.

    weight None: ones; bias None: zeros.

    Errors: ValueError for shapes that do not fit, TypeError for dtypes.

    >>> nd.nn.layer_norm(nd.asarray([1.0, 3.0]), 2, eps=0.0)
    array([-1.,  1.], dtype=float64, device='cpu:0')
    """
    return _ndock._layer_norm(input, weight, bias, _trailing("layer_norm", input, normalized_shape), eps)


def layer_norm_grad(grad: Array, input: Array, /, normalized_shape: Shape, weight: Optional[Array] = None,
                    eps: float = 1e-5) -> tuple[Array, Array, Array]:
    """The gradients of layer_norm for input, weight and bias.

    grad: the gradient of the result, of its shape; input, normalized_shape, weight and eps are those of layer_norm.

    Errors: ValueError for shapes that do not fit, TypeError for dtypes.

    >>> nd.nn.layer_norm_grad(nd.asarray([1.0, 2.0]), nd.asarray([1.0, 3.0]), 2, eps=0.0)[2]
    array([1., 2.], dtype=float64, device='cpu:0')
    """
    return _ndock._layer_norm_grad(grad, input, weight, _trailing("layer_norm_grad", input, normalized_shape), eps)


def rms_norm(input: Array, /, normalized_shape: Shape, weight: Optional[Array] = None, eps: float = 1e-5) -> Array:
    """input/sqrt(mean(input^2) + eps)*weight over the last axes, whose shape is normalized_shape. Source: Zhang and Sennrich,
    arXiv 1910.07467.

    weight: of that shape too; None: ones. eps: added to the mean.

    Errors: ValueError for shapes that do not fit, TypeError for dtypes.

    >>> nd.nn.rms_norm(nd.asarray([3.0, 3.0]), 2, eps=0.0)
    array([1., 1.], dtype=float64, device='cpu:0')
    """
    return _ndock._rms_norm(input, weight, _trailing("rms_norm", input, normalized_shape), eps)


def rms_norm_grad(grad: Array, input: Array, /, normalized_shape: Shape, weight: Optional[Array] = None,
                  eps: float = 1e-5) -> tuple[Array, Array]:
    """The gradients of rms_norm for input and weight.

    grad: the gradient of the result, of its shape; input, normalized_shape, weight and eps are those of rms_norm.

    Errors: ValueError for shapes that do not fit, TypeError for dtypes.

    >>> nd.nn.rms_norm_grad(nd.asarray([1.0, 2.0]), nd.asarray([3.0, 3.0]), 2, eps=0.0)[1]
    array([1., 2.], dtype=float64, device='cpu:0')
    """
    return _ndock._rms_norm_grad(grad, input, weight, _trailing("rms_norm_grad", input, normalized_shape), eps)


def group_norm(input: Array, /, num_groups: int, weight: Optional[Array] = None, bias: Optional[Array] = None,
               eps: float = 1e-5) -> Array:
    """input (n, channels, ...) normalised over the channels of each of num_groups groups and all that lies behind them, then times
    weight plus bias (channels). Source: Wu and He, arXiv 1803.08494.

    weight None: ones; bias None: zeros. eps: added to the variance of each group. The channels are a multiple of num_groups.

    Errors: ValueError for shapes that do not fit, TypeError for dtypes.

    >>> nd.nn.group_norm(nd.asarray([[1.0, 3.0, 5.0, 9.0]]), 2, eps=0.0)
    array([[-1.,  1., -1.,  1.]], dtype=float64, device='cpu:0')
    """
    if num_groups < 1:
        raise ValueError(f"group_norm(): {num_groups} groups; there is at least one")
    return _ndock._group_norm(input, num_groups, weight, bias, eps)


def group_norm_grad(grad: Array, input: Array, /, num_groups: int, weight: Optional[Array] = None,
                    eps: float = 1e-5) -> tuple[Array, Array, Array]:
    """The gradients of group_norm for input, weight and bias.

    grad: the gradient of the result, of its shape; input, num_groups, weight and eps are those of group_norm.

    Errors: ValueError for shapes that do not fit, TypeError for dtypes.

    >>> nd.nn.group_norm_grad(nd.asarray([[1.0, 2.0]]), nd.asarray([[1.0, 3.0]]), 1, eps=0.0)[2]
    array([1., 2.], dtype=float64, device='cpu:0')
    """
    if num_groups < 1:
        raise ValueError(f"group_norm_grad(): {num_groups} groups; there is at least one")
    return _ndock._group_norm_grad(grad, input, num_groups, weight, eps)


def instance_norm(input: Array, /, weight: Optional[Array] = None, bias: Optional[Array] = None, eps: float = 1e-5) -> Array:
    """input (n, channels, ...) normalised over all that lies behind each channel, then times weight plus bias (channels).

    weight None: ones; bias None: zeros. eps: added to the variances.

    Errors: ValueError for shapes that do not fit, TypeError for dtypes.

    >>> nd.nn.instance_norm(nd.asarray([[[1.0, 3.0]]]), eps=0.0)
    array([[[-1.,  1.]]], dtype=float64, device='cpu:0')
    """
    return _ndock._group_norm(input, 0, weight, bias, eps)


def instance_norm_grad(grad: Array, input: Array, /, weight: Optional[Array] = None,
                       eps: float = 1e-5) -> tuple[Array, Array, Array]:
    """The gradients of instance_norm for input, weight and bias.

    grad: the gradient of the result, of its shape; input, weight and eps are those of instance_norm.

    Errors: ValueError for shapes that do not fit, TypeError for dtypes.

    >>> nd.nn.instance_norm_grad(nd.asarray([[[1.0, 2.0]]]), nd.asarray([[[1.0, 3.0]]]), eps=0.0)[2]
    array([3.], dtype=float64, device='cpu:0')
    """
    return _ndock._group_norm_grad(grad, input, 0, weight, eps)


def batch_norm(input: Array, /, running_mean: Optional[Array], running_var: Optional[Array], weight: Optional[Array] = None,
               bias: Optional[Array] = None, training: bool = False, momentum: float = 0.1, eps: float = 1e-5) -> Array:
    """input (n, channels, ...) normalised over everything but the channels, then times weight plus bias (channels). In training by
    the batch's own statistics; running_mean and running_var, where they are given, are then written: (1 - momentum)*old +
    momentum*new. Else by those, both of which are then needed. Source: Ioffe and Szegedy, arXiv 1502.03167.

    weight None: ones; bias None: zeros. eps: added to the variances.

    Errors: ValueError for shapes that do not fit, TypeError for dtypes.

    >>> nd.nn.batch_norm(nd.asarray([[1.0], [3.0]]), None, None, training=True, eps=0.0)
    array([[-1.],
           [ 1.]], dtype=float64, device='cpu:0')
    """
    return _ndock._batch_norm(input, running_mean, running_var, weight, bias, training, momentum, eps)


def batch_norm_grad(grad: Array, input: Array, /, running_mean: Optional[Array], running_var: Optional[Array],
                    weight: Optional[Array] = None, training: bool = False,
                    eps: float = 1e-5) -> tuple[Array, Array, Array]:
    """The gradients of batch_norm for input, weight and bias.

    grad: the gradient of the result, of its shape; input, running_mean, running_var, weight, training and eps are those of
    batch_norm; nothing is written.

    Errors: ValueError for shapes that do not fit, TypeError for dtypes.

    >>> nd.nn.batch_norm_grad(nd.asarray([[1.0], [2.0]]), nd.asarray([[1.0], [3.0]]), None, None, training=True, eps=0.0)[2]
    array([3.], dtype=float64, device='cpu:0')
    """
    return _ndock._batch_norm_grad(grad, input, running_mean, running_var, weight, training, eps)
