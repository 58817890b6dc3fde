# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Attention, rotary position embedding, dropout, embedding and mixtures of experts, with gradients. Floating arrays; float16 and
bfloat16 are computed in float32; the same bits for every number of threads. Queued on the current stream; nothing but moe waits.
In ndock.nn.

Errors of all of them: ValueError for shapes and numbers that do not fit, TypeError for dtypes."""
from __future__ import annotations

from . import _ndock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._types import Any, Array, Literal, Optional, Union
    from .random import Key

    Causal = Union[bool, Literal["first", "last"]]
    Layout = Literal["half", "interleaved", "thd"]

__all__ = ["activation_grad", "attention_with_logsumexp", "dropout", "embedding", "embedding_grad", "moe", "rope", "rope_grad",
           "scaled_dot_product_attention", "scaled_dot_product_attention_grad"]

_CAUSAL = {False: 0, True: 1, "first": 1, "last": 2}
_ACTIVATIONS = {"relu": 0, "gelu": 1, "gelu_tanh": 2, "sigmoid": 3, "silu": 4, "tanh": 5, "softplus": 6, "mish": 7, "hardsigmoid": 8,
                "hardswish": 9, "selu": 10, "leaky_relu": 11, "elu": 12, "celu": 13}
_LAYOUTS = {"half": 0, "interleaved": 1, "thd": 2}


def _choice(function: str, what: str, names: dict[Any, int], name: Any) -> int:
    try:
        return names[name]
    except (KeyError, TypeError):
        raise ValueError(f"{function}(): {what} is one of {', '.join(map(repr, names))}, not {name!r}") from None


def _numbers(function: str, p: float, key: Optional[Key]) -> tuple[int, int]:
    """Seed and position of the key of dropout."""
    if p != 0 and key is None:
        raise ValueError(f"{function}(): dropout needs a key, as nd.random.Key(0)")
    return (0, 0) if key is None else (key.seed, key.position)


def _options(function: str, mask: Optional[Array], p: float, causal: Causal, scale: Optional[float],
             key: Optional[Key]) -> tuple[Any, ...]:
    if scale is not None and scale == 0:
        raise ValueError(f"{function}(): scale is 0")
    return (mask, _choice(function, "is_causal", _CAUSAL, causal), scale or 0.0, p, *_numbers(function, p, key))


def attention_with_logsumexp(query: Array, key: Array, value: Array, /, attn_mask: Optional[Array] = None, dropout_p: float = 0.0,
                             is_causal: Causal = False, *, scale: Optional[float] = None,
                             dropout_key: Optional[Key] = None) -> tuple[Array, Array]:
    """scaled_dot_product_attention, and the logarithms of the sums of its exponentials (..., heads, m) in float32 (float64 of float64),
    which the gradient needs.

    query, key, value, attn_mask, dropout_p, is_causal, scale and dropout_key are those of scaled_dot_product_attention.

    Errors: ValueError for shapes and numbers that do not fit, TypeError for dtypes.

    >>> one = nd.ones((1, 2))
    >>> nd.nn.attention_with_logsumexp(one, one, one, scale=1.0)[1]
    array([2.], dtype=float64, device='cpu:0')
    """
    return _ndock._attention(query, key, value, *_options("attention_with_logsumexp", attn_mask, dropout_p, is_causal, scale, dropout_key))


def scaled_dot_product_attention(query: Array, key: Array, value: Array, /, attn_mask: Optional[Array] = None, dropout_p: float = 0.0,
                                 is_causal: Causal = False, *, scale: Optional[float] = None,
                                 dropout_key: Optional[Key] = None) -> Array:
    """softmax(scale*query keyT + attn_mask) value for query (..., heads, m, d), key (..., hk, n, d) and value (..., hk, n, e); heads is a
    multiple of hk, and query head i sees key head i*hk/heads. Arrays of two axes have one head. The scores are never stored.

    attn_mask: broadcasts to (..., heads, m, n); bool, True where a key is seen, or floating, added to the scores. is_causal: query i
    sees keys up to i, counted from the first ones (True, "first") or from the last ones ("last"). scale: 1/sqrt(d) by default.
    dropout_p: weights become 0 with that probability, by dropout_key. A query that sees no key gets 0. Source: Dao et al., arXiv
    2205.14135.

    Errors: ValueError for shapes and numbers that do not fit, TypeError for dtypes.

    >>> one = nd.ones((1, 2))
    >>> nd.nn.scaled_dot_product_attention(one, one, one)
    array([[1., 1.]], dtype=float64, device='cpu:0')
    """
    options = _options("scaled_dot_product_attention", attn_mask, dropout_p, is_causal, scale, dropout_key)
    return _ndock._attention(query, key, value, *options)[0]


def scaled_dot_product_attention_grad(grad: Array, query: Array, key: Array, value: Array, output: Array, logsumexp: Array, /,
                                      attn_mask: Optional[Array] = None, dropout_p: float = 0.0, is_causal: Causal = False, *,
                                      scale: Optional[float] = None,
                                      dropout_key: Optional[Key] = None) -> tuple[Array, Array, Array]:
    """The gradients of scaled_dot_product_attention for query, key and value. output, logsumexp: what attention_with_logsumexp gave for
    the same arguments.

    grad: the gradient of the result, of its shape; query, key, value, attn_mask, dropout_p, is_causal, scale and dropout_key are
    those of scaled_dot_product_attention. Returns three arrays, of the shapes of query, key and value.

    Errors: ValueError for shapes and numbers that do not fit, TypeError for dtypes.

    >>> one = nd.ones((1, 2))
    >>> out, sums = nd.nn.attention_with_logsumexp(one, one, one)
    >>> nd.nn.scaled_dot_product_attention_grad(one, one, one, one, out, sums)[2]
    array([[1., 1.]], dtype=float64, device='cpu:0')
    """
    options = _options("scaled_dot_product_attention_grad", attn_mask, dropout_p, is_causal, scale, dropout_key)
    return _ndock._attention_grad(grad, query, key, value, output, logsumexp, *options)


def rope(x: Array, cos: Array, sin: Array, /, *, layout: Layout = "half") -> Array:
    """Rotary position embedding of x (..., heads, t, d), or (..., t, heads, d) for layout "thd": each pair (a, b) along d becomes
    (a cos - b sin, a sin + b cos). Pairs are (i, i + d/2), for layout "interleaved" (2i, 2i + 1). cos, sin: (t, d/2), or with the
    leading axes of x. Source: Su et al., arXiv 2104.09864.

    Errors: ValueError for shapes that do not fit, TypeError for dtypes.

    >>> nd.nn.rope(nd.asarray([[[1.0, 2.0]]]), nd.asarray([[0.0]]), nd.asarray([[1.0]]))
    array([[[-2.,  1.]]], dtype=float64, device='cpu:0')
    """
    return _ndock._rope(x, cos, sin, _choice("rope", "layout", _LAYOUTS, layout), False)


def rope_grad(grad: Array, cos: Array, sin: Array, /, *, layout: Layout = "half") -> Array:
    """The gradient of rope for x: the pairs turned back.

    grad: the gradient of the result, of its shape and of that of x; cos, sin and layout are those of rope.

    Errors: ValueError for shapes that do not fit, TypeError for dtypes.

    >>> nd.nn.rope_grad(nd.asarray([[[-2.0, 1.0]]]), nd.asarray([[0.0]]), nd.asarray([[1.0]]))
    array([[[1., 2.]]], dtype=float64, device='cpu:0')
    """
    return _ndock._rope(grad, cos, sin, _choice("rope_grad", "layout", _LAYOUTS, layout), True)


def dropout(input: Array, /, p: float = 0.5, *, key: Optional[Key] = None) -> Array:
    """input with elements set to 0 with probability p, 0 <= p < 1, and the others divided by 1 - p. Which ones depends on the key and the
    shape alone, on every device. The gradient is the same function, with the same key, of the result's gradient. Source: Srivastava
    et al., JMLR 15 (2014).

    Errors: ValueError for a p that is not in [0, 1), or no key; TypeError for dtypes.

    >>> nd.nn.dropout(nd.ones(4), 0.5, key=nd.random.Key(1)).shape
    (4,)
    """
    return _ndock._dropout(input, p, *_numbers("dropout", p, key))


def embedding(input: Array, weight: Array, /) -> Array:
    """Rows of weight (rows, ...) by the integers input: input's shape, then that of a row.

    Errors: IndexError for integers that are no row, TypeError for dtypes.

    >>> nd.nn.embedding(nd.asarray([1, 0]), nd.asarray([[1.0], [2.0]]))
    array([[2.],
           [1.]], dtype=float64, device='cpu:0')
    """
    return _ndock._embedding(input, weight)


def embedding_grad(grad: Array, input: Array, /, num_embeddings: int, padding_idx: Optional[int] = None) -> Array:
    """The gradient of embedding for weight (num_embeddings, ...): rows of grad added where their integers are, in C order on every device.
    Integers equal to padding_idx add nothing.

    grad: the gradient of the result, of input's shape, then that of a row; input: the integers given to embedding; num_embeddings:
    how many rows weight has.

    Errors: ValueError for shapes that do not fit, IndexError for integers that are no row, TypeError for dtypes.

    >>> nd.nn.embedding_grad(nd.asarray([[1.0], [2.0]]), nd.asarray([1, 1]), 2)
    array([[0.],
           [3.]], dtype=float64, device='cpu:0')
    """
    if padding_idx is not None and not -num_embeddings <= padding_idx < num_embeddings:
        raise ValueError(f"embedding_grad(): padding_idx {padding_idx} is none of {num_embeddings} rows")
    padding = -1 if padding_idx is None else padding_idx % num_embeddings
    return _ndock._embedding_grad(grad, input, num_embeddings, padding)


def moe(x: Array, weight: Array, experts: Array, /, scales: Optional[Array] = None) -> Array:
    """A mixture of experts' product: out[t] = sum over i of scales[t, i]*weight[experts[t, i]] x[t] for x (tokens, k), weight
    (experts, n, k), integers experts (tokens, top) and scales of the same shape (None: ones): (tokens, n). Tokens are gathered by expert,
    multiplied, and scattered back. Waits for how many each expert has.

    Errors: ValueError for shapes that do not fit, IndexError for an expert that is not there, TypeError for dtypes.

    >>> nd.nn.moe(nd.asarray([[2.0]]), nd.asarray([[[1.0]], [[10.0]]]), nd.asarray([[1]]))
    array([[20.]], dtype=float64, device='cpu:0')
    """
    return _ndock._moe(x, weight, experts, scales)


def activation_grad(grad: Array, input: Array, /, activation: str, alpha: Optional[float] = None) -> Array:
    """grad times the derivative at input of an activation: "relu", "gelu", "gelu_tanh", "sigmoid", "silu", "tanh", "softplus", "mish",
    "hardsigmoid", "hardswish", "selu", "leaky_relu", "elu" or "celu". alpha: the slope of leaky_relu (0.01), the alpha of elu and
    celu (1).

    Errors: ValueError for shapes that differ and other names, TypeError for dtypes.

    >>> nd.nn.activation_grad(nd.asarray([1.0, 1.0]), nd.asarray([-2.0, 2.0]), "relu")
    array([0., 1.], dtype=float64, device='cpu:0')
    """
    which = _choice("activation_grad", "activation", _ACTIVATIONS, activation)
    return _ndock._activation_grad(which, grad, input, (0.01 if activation == "leaky_relu" else 1.0) if alpha is None else alpha)
