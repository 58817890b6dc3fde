# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Losses under PyTorch's functional names, and their gradients for input, whose first argument is that of the loss. Floating
arrays; float16 and bfloat16 are computed in float32; queued on the current stream, nothing waits. In ndock.nn.

reduction: "mean" and "sum" give an array without axes, "none" the loss of each element.
Errors of all of them: ValueError for shapes and numbers that do not fit, TypeError for dtypes, IndexError for targets that are
no class (on devices that do not wait, when they are next waited for)."""
from __future__ import annotations

from . import _ndock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._types import Array, Literal, Optional

    Reduction = Literal["mean", "sum", "none"]

__all__ = ["ctc_loss", "ctc_loss_grad", "binary_cross_entropy_with_logits", "binary_cross_entropy_with_logits_grad", "cross_entropy", "cross_entropy_grad",
           "huber_loss", "huber_loss_grad", "kl_div", "kl_div_grad", "l1_loss", "l1_loss_grad", "mse_loss", "mse_loss_grad", "nll_loss",
           "nll_loss_grad", "smooth_l1_loss", "smooth_l1_loss_grad"]

_REDUCTIONS = {"mean": 0, "sum": 1, "none": 2}


def _reduction(function: str, name: str) -> int:
    try:
        return _REDUCTIONS[name]
    except (KeyError, TypeError):
        raise ValueError(f"{function}(): reduction is 'mean', 'sum' or 'none', not {name!r}") from None


def cross_entropy(input: Array, target: Array, /, weight: Optional[Array] = None, *, ignore_index: int = -100,
                  reduction: Reduction = "mean", label_smoothing: float = 0.0) -> Array:
    """-log of softmax along the classes at the targets. input: scores (n, classes, ...), or (classes); target: integers (n, ...), or
    no axes. weight: of the classes. Targets equal to ignore_index count as nothing; the mean is over the weights of the others.
    label_smoothing: the share of the target that all classes divide evenly. One pass over input.

    reduction: "mean", "sum", or "none" for a loss of each target, of its shape.

    Errors: ValueError for shapes and numbers, TypeError for dtypes, IndexError for targets that are no class.

    >>> nd.nn.cross_entropy(nd.zeros((1, 4)), nd.asarray([2]))
    array(1.38629436, dtype=float64, device='cpu:0')
    """
    return _ndock._cross_entropy(None, input, target, weight, ignore_index, _reduction("cross_entropy", reduction), label_smoothing)


def cross_entropy_grad(grad: Array, input: Array, target: Array, /, weight: Optional[Array] = None, *, ignore_index: int = -100,
                       reduction: Reduction = "mean", label_smoothing: float = 0.0) -> Array:
    """The gradient of cross_entropy for input, of its shape.

    grad: the gradient of the result, of its shape; input, target, weight, ignore_index, reduction and label_smoothing are those of
    cross_entropy.

    Errors: ValueError for shapes and numbers, TypeError for dtypes, IndexError for targets that are no class.

    >>> nd.nn.cross_entropy_grad(nd.asarray(1.0), nd.zeros((1, 4)), nd.asarray([2]))
    array([[ 0.25,  0.25, -0.75,  0.25]], dtype=float64, device='cpu:0')
    """
    return _ndock._cross_entropy(grad, input, target, weight, ignore_index, _reduction("cross_entropy_grad", reduction), label_smoothing)


def nll_loss(input: Array, target: Array, /, weight: Optional[Array] = None, *, ignore_index: int = -100,
             reduction: Reduction = "mean") -> Array:
    """Minus the log-probabilities input (n, classes, ...) at the targets (n, ...), as cross_entropy has them.

    target, weight, ignore_index and reduction are those of cross_entropy.

    Errors: ValueError for shapes and numbers, TypeError for dtypes, IndexError for targets that are no class.

    >>> nd.nn.nll_loss(nd.asarray([[-1.0, -2.0]]), nd.asarray([1]))
    array(2., dtype=float64, device='cpu:0')
    """
    return _ndock._nll_loss(None, input, target, weight, ignore_index, _reduction("nll_loss", reduction), 0.0)


def nll_loss_grad(grad: Array, input: Array, target: Array, /, weight: Optional[Array] = None, *, ignore_index: int = -100,
                  reduction: Reduction = "mean") -> Array:
    """The gradient of nll_loss for input.

    grad: the gradient of the result, of its shape; input, target, weight, ignore_index and reduction are those of nll_loss.

    Errors: ValueError for shapes and numbers, TypeError for dtypes, IndexError for targets that are no class.

    >>> nd.nn.nll_loss_grad(nd.asarray(1.0), nd.asarray([[-1.0, -2.0]]), nd.asarray([1]))
    array([[ 0., -1.]], dtype=float64, device='cpu:0')
    """
    return _ndock._nll_loss(grad, input, target, weight, ignore_index, _reduction("nll_loss_grad", reduction), 0.0)


def mse_loss(input: Array, target: Array, /, *, reduction: Reduction = "mean") -> Array:
    """(input - target)^2.

    input, target: floating, of one shape; reduction: "mean", "sum" or "none".

    Errors: ValueError for shapes that differ, TypeError for dtypes.

    >>> nd.nn.mse_loss(nd.asarray([1.0, 3.0]), nd.asarray([0.0, 0.0]))
    array(5., dtype=float64, device='cpu:0')
    """
    return _ndock._mse_loss(None, input, target, _reduction("mse_loss", reduction), 1.0, None, None, False, False)


def mse_loss_grad(grad: Array, input: Array, target: Array, /, *, reduction: Reduction = "mean") -> Array:
    """The gradient of mse_loss for input.

    grad: the gradient of the result, of its shape; input, target and reduction are those of mse_loss.

    Errors: ValueError for shapes that differ, TypeError for dtypes.

    >>> nd.nn.mse_loss_grad(nd.asarray(1.0), nd.asarray([1.0, 3.0]), nd.asarray([0.0, 0.0]))
    array([1., 3.], dtype=float64, device='cpu:0')
    """
    return _ndock._mse_loss(grad, input, target, _reduction("mse_loss_grad", reduction), 1.0, None, None, False, False)


def l1_loss(input: Array, target: Array, /, *, reduction: Reduction = "mean") -> Array:
    """|input - target|.

    input, target: floating, of one shape; reduction: "mean", "sum" or "none".

    Errors: ValueError for shapes that differ, TypeError for dtypes.

    >>> nd.nn.l1_loss(nd.asarray([1.0, 3.0]), nd.asarray([0.0, 0.0]))
    array(2., dtype=float64, device='cpu:0')
    """
    return _ndock._l1_loss(None, input, target, _reduction("l1_loss", reduction), 1.0, None, None, False, False)


def l1_loss_grad(grad: Array, input: Array, target: Array, /, *, reduction: Reduction = "mean") -> Array:
    """The gradient of l1_loss for input; 0 where input and target are equal.

    grad: the gradient of the result, of its shape; input, target and reduction are those of l1_loss.

    Errors: ValueError for shapes that differ, TypeError for dtypes.

    >>> nd.nn.l1_loss_grad(nd.asarray(1.0), nd.asarray([1.0, -3.0]), nd.asarray([0.0, 0.0]))
    array([ 0.5, -0.5], dtype=float64, device='cpu:0')
    """
    return _ndock._l1_loss(grad, input, target, _reduction("l1_loss_grad", reduction), 1.0, None, None, False, False)


def huber_loss(input: Array, target: Array, /, *, reduction: Reduction = "mean", delta: float = 1.0) -> Array:
    """d^2/2 for |d| = |input - target| up to delta, beyond it delta*(|d| - delta/2).

    input, target: floating, of one shape; reduction: "mean", "sum" or "none".

    Errors: ValueError for shapes that differ and a delta that is not positive, TypeError for dtypes.

    >>> nd.nn.huber_loss(nd.asarray([1.0, 3.0]), nd.asarray([0.0, 0.0]), reduction="none")
    array([0.5, 2.5], dtype=float64, device='cpu:0')
    """
    return _ndock._huber_loss(None, input, target, _reduction("huber_loss", reduction), delta or -1.0, None, None, False, False)


def huber_loss_grad(grad: Array, input: Array, target: Array, /, *, reduction: Reduction = "mean", delta: float = 1.0) -> Array:
    """The gradient of huber_loss for input.

    grad: the gradient of the result, of its shape; input, target, reduction and delta are those of huber_loss.

    Errors: ValueError for shapes that differ and a delta that is not positive, TypeError for dtypes.

    >>> nd.nn.huber_loss_grad(nd.asarray(1.0), nd.asarray([0.5, 3.0]), nd.asarray([0.0, 0.0]), reduction="sum")
    array([0.5, 1. ], dtype=float64, device='cpu:0')
    """
    return _ndock._huber_loss(grad, input, target, _reduction("huber_loss_grad", reduction), delta or -1.0, None, None, False, False)


def smooth_l1_loss(input: Array, target: Array, /, *, reduction: Reduction = "mean", beta: float = 1.0) -> Array:
    """huber_loss with delta=beta, over beta; l1_loss for beta 0.

    input, target: floating, of one shape; reduction: "mean", "sum" or "none"; beta: at least 0.

    Errors: ValueError for shapes that differ and a beta below 0, TypeError for dtypes.

    >>> nd.nn.smooth_l1_loss(nd.asarray([1.0, 3.0]), nd.asarray([0.0, 0.0]), reduction="none", beta=2.0)
    array([0.25, 2.  ], dtype=float64, device='cpu:0')
    """
    if beta == 0:
        return l1_loss(input, target, reduction=reduction)
    return _ndock._smooth_l1_loss(None, input, target, _reduction("smooth_l1_loss", reduction), beta, None, None, False, False)


def smooth_l1_loss_grad(grad: Array, input: Array, target: Array, /, *, reduction: Reduction = "mean", beta: float = 1.0) -> Array:
    """The gradient of smooth_l1_loss for input.

    grad: the gradient of the result, of its shape; input, target, reduction and beta are those of smooth_l1_loss.

    Errors: ValueError for shapes that differ and a beta below 0, TypeError for dtypes.

    >>> nd.nn.smooth_l1_loss_grad(nd.asarray(1.0), nd.asarray([0.5, 3.0]), nd.asarray([0.0, 0.0]), reduction="sum")
    array([0.5, 1. ], dtype=float64, device='cpu:0')
    """
    if beta == 0:
        return l1_loss_grad(grad, input, target, reduction=reduction)
    return _ndock._smooth_l1_loss(grad, input, target, _reduction("smooth_l1_loss_grad", reduction), beta, None, None, False, False)


def binary_cross_entropy_with_logits(input: Array, target: Array, /, weight: Optional[Array] = None, *,
                                     reduction: Reduction = "mean", pos_weight: Optional[Array] = None) -> Array:
    """-target*log(p) - (1 - target)*log(1 - p), p the sigmoid of input. weight: of the elements; pos_weight: of the first term; both
    broadcast to input.

    input, target: floating, of one shape; reduction: "mean", "sum" or "none".

    Errors: ValueError for shapes that do not fit, TypeError for dtypes.

    >>> nd.nn.binary_cross_entropy_with_logits(nd.asarray([0.0]), nd.asarray([1.0]))
    array(0.69314718, dtype=float64, device='cpu:0')
    """
    return _ndock._bce_with_logits(None, input, target, _reduction("binary_cross_entropy_with_logits", reduction), 1.0, weight, pos_weight,
                                   False, False)


def binary_cross_entropy_with_logits_grad(grad: Array, input: Array, target: Array, /, weight: Optional[Array] = None, *,
                                          reduction: Reduction = "mean", pos_weight: Optional[Array] = None) -> Array:
    """The gradient of binary_cross_entropy_with_logits for input.

    grad: the gradient of the result, of its shape; input, target, weight, reduction and pos_weight are those of
    binary_cross_entropy_with_logits.

    Errors: ValueError for shapes that do not fit, TypeError for dtypes.

    >>> nd.nn.binary_cross_entropy_with_logits_grad(nd.asarray(1.0), nd.asarray([0.0]), nd.asarray([1.0]))
    array([-0.5], dtype=float64, device='cpu:0')
    """
    return _ndock._bce_with_logits(grad, input, target, _reduction("binary_cross_entropy_with_logits_grad", reduction), 1.0, weight,
                                   pos_weight, False, False)


def _kl(function: str, grad: Optional[Array], input: Array, target: Array, reduction: str, log_target: bool) -> Array:
    batch = reduction == "batchmean"
    return _ndock._kl_div(grad, input, target, 0 if batch else _reduction(function, reduction), 1.0, None, None, log_target, batch)


def kl_div(input: Array, target: Array, /, *, reduction: str = "mean", log_target: bool = False) -> Array:
    """target*(log(target) - input) for log-probabilities input: the divergence of target from it. log_target: target holds logarithms.
    reduction: "mean", "sum", "none", or "batchmean": the sum over the first extent.

    input, target: floating, of one shape.

    Errors: ValueError for shapes that differ, TypeError for dtypes.

    >>> nd.nn.kl_div(nd.log(nd.asarray([[0.5, 0.5]])), nd.asarray([[1.0, 0.0]]), reduction="batchmean")
    array(0.69314718, dtype=float64, device='cpu:0')
    """
    return _kl("kl_div", None, input, target, reduction, log_target)


def kl_div_grad(grad: Array, input: Array, target: Array, /, *, reduction: str = "mean", log_target: bool = False) -> Array:
    """The gradient of kl_div for input.

    grad: the gradient of the result, of its shape; input, target, reduction and log_target are those of kl_div.

    Errors: ValueError for shapes that differ, TypeError for dtypes.

    >>> nd.nn.kl_div_grad(nd.asarray(1.0), nd.asarray([[-1.0, -1.0]]), nd.asarray([[1.0, 0.0]]), reduction="sum")
    array([[-1., -0.]], dtype=float64, device='cpu:0')
    """
    return _kl("kl_div_grad", grad, input, target, reduction, log_target)


def ctc_loss(log_probs: Array, targets: Array, input_lengths: Array, target_lengths: Array, /, *, blank: int = 0,
             reduction: Reduction = "mean", zero_infinity: bool = False) -> Array:
    """Connectionist temporal classification: minus the logarithm of the probability of all paths that give the targets. log_probs:
    (t, n, classes); targets: integers (n, s); input_lengths, target_lengths: integers (n), how many steps and targets of each
    count; blank: the class that stands for none. reduction: "mean", "sum" or "none"; the mean divides each loss by its target's
    length first.
    zero_infinity: losses of targets that do not fit, and their gradients, become 0. Source: Graves et al., ICML 2006.

    Errors: ValueError for shapes and numbers, TypeError for dtypes, IndexError for targets that are no class.

    >>> one = nd.asarray([1])
    >>> nd.nn.ctc_loss(nd.log(nd.asarray([[[0.5, 0.5]]])), nd.asarray([[1]]), one, one)
    array(0.69314718, dtype=float64, device='cpu:0')
    """
    return _ndock._ctc_loss(None, log_probs, targets, input_lengths, target_lengths, blank, _reduction("ctc_loss", reduction),
                            zero_infinity)


def ctc_loss_grad(grad: Array, log_probs: Array, targets: Array, input_lengths: Array, target_lengths: Array, /, *, blank: int = 0,
                  reduction: Reduction = "mean", zero_infinity: bool = False) -> Array:
    """The gradient of ctc_loss for log_probs.

    grad: the gradient of the result, of its shape; log_probs, targets, input_lengths, target_lengths, blank, reduction and
    zero_infinity are those of ctc_loss.

    Errors: ValueError for shapes and numbers, TypeError for dtypes, IndexError for targets that are no class.

    >>> one = nd.asarray([1])
    >>> nd.nn.ctc_loss_grad(nd.asarray(1.0), nd.log(nd.asarray([[[0.5, 0.5]]])), nd.asarray([[1]]), one, one)
    array([[[ 0., -1.]]], dtype=float64, device='cpu:0')
    """
    return _ndock._ctc_loss(grad, log_probs, targets, input_lengths, target_lengths, blank, _reduction("ctc_loss_grad", reduction),
                            zero_infinity)
