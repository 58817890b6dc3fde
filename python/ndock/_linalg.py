# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The linear algebra of the array API's main namespace; the extension of that name is linalg.py."""
from __future__ import annotations

from . import _ndock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._types import Array, ArrayLike, DTypeLike, Literal, Optional, Sequence, Union

__all__ = ["matmul", "matrix_transpose", "scaled_mm", "tensordot", "vecdot"]

_EPILOGUES = {None: 0, "relu": 1, "gelu": 2, "gelu_tanh": 3, "sigmoid": 4, "silu": 5, "tanh": 6}


def _pair(function: str, x1: ArrayLike, x2: ArrayLike) -> tuple[Array, Array]:
    """Both as Arrays: a list or an array of NumPy's joins the other on the host."""
    if isinstance(x1, _ndock.Array):
        return x1, _ndock._operand(function, x1, x2)
    return _ndock._operand(function, x2, x1), x2  # type: ignore[return-value]


def matmul(x1: ArrayLike, x2: ArrayLike, /, *, dtype: Optional[DTypeLike] = None, alpha: float = 1.0, beta: float = 0.0,
           bias: Optional[Array] = None,
           epilogue: Optional[Literal["relu", "gelu", "gelu_tanh", "sigmoid", "silu", "tanh"]] = None,
           out: Optional[Array] = None) -> Array:
    """Matrix product (..., m, k) @ (..., k, n) -> (..., m, n); leading axes broadcast, an operand of one dimension is a row
    (x1) or column (x2) whose axis is dropped again. ValueError for operands without axes.

    Beyond the standard: out = epilogue(alpha*x1@x2 + beta*out + bias) in one pass. bias broadcasts to the result; an
    epilogue needs a floating dtype; dtype of the result: int32 of int8 or uint8 operands sums exactly, float32 of float16
    or bfloat16 keeps the sums. Integers wrap. Queued on the current stream.

    >>> nd.matmul(nd.asarray([[1, 2], [3, 4]]), nd.asarray([1, 1]))
    array([3, 7], dtype=int64, device='cpu:0')
    """
    if epilogue not in _EPILOGUES:
        raise ValueError(f"matmul(): epilogue is None or one of {', '.join(k for k in _EPILOGUES if k)}, not {epilogue!r}")
    if beta != 0 and out is None:
        raise ValueError("matmul(): beta scales what is in out, and there is no out")
    x1, x2 = _pair("matmul", x1, x2)
    return _ndock._matmul(x1, x2, dtype, alpha, beta, bias, _EPILOGUES[epilogue], out)


def scaled_mm(a: Array, b: Array, scale_a: Union[Array, float], scale_b: Union[Array, float], *,
              bias: Optional[Array] = None, dtype: Optional[DTypeLike] = None, use_fast_accum: bool = False,
              out: Optional[Array] = None) -> Array:
    """(a @ b) * scale_a * scale_b + bias of 8-bit floating matrices a (m, k) and b (k, n): (m, n), summed in float32.

    a, b: float8_e4m3fn or float8_e5m2, each its own. scale_a, scale_b: a number or a float32 Array of one element, or
    of shapes (m, 1) and (1, n). bias: broadcasts to the result. dtype: float16, bfloat16 or float32 (None).
    use_fast_accum: sums may lose bits where a device is faster so. out: takes the result. Fastest where b is the
    transpose of a dense matrix. Errors: TypeError for other dtypes, ValueError for shapes. Queued on the current stream.
    By PyTorch's function of that name.

    >>> a = nd.asarray([[1, 2], [3, 4]], dtype=nd.float32).astype(nd.float8_e4m3fn)
    >>> nd.scaled_mm(a, a.T, 0.5, 2.0)
    array([[ 5., 11.],
           [11., 25.]], dtype=float32, device='cpu:0')
    """
    scales = [s if isinstance(s, _ndock.Array) else _ndock.full((), s, dtype=_ndock.float32, device=a.device)
              for s in (scale_a, scale_b)]
    return _ndock._scaled_mm(a, b, scales[0], scales[1], dtype, bias, use_fast_accum, out)


def matrix_transpose(x: Array, /) -> Array:
    """A view with the last two axes exchanged. ValueError below two axes.

    x: an Array.

    >>> nd.matrix_transpose(nd.asarray([[1, 2], [3, 4]]))
    array([[1, 3],
           [2, 4]], dtype=int64, device='cpu:0')
    """
    return _ndock._matrix_transpose(x)


def _last(x: Array, axes: Sequence[int]) -> tuple[list[int], list[int]]:
    """axes counted from the front, and the others."""
    front = [a + x.ndim if a < 0 else a for a in axes]
    for a, given in zip(front, axes):
        if not 0 <= a < x.ndim:
            raise IndexError(f"tensordot(): axis {given} is out of range for {x.ndim} dimensions")
    if len(set(front)) != len(front):
        raise ValueError(f"tensordot(): axes {tuple(axes)} name one twice")
    return front, [a for a in range(x.ndim) if a not in front]


def _product(extents: Sequence[int]) -> int:
    size = 1
    for n in extents:
        size *= n
    return size


def tensordot(x1: ArrayLike, x2: ArrayLike, /, *, axes: Union[int, tuple[Sequence[int], Sequence[int]]] = 2) -> Array:
    """Sum of products over pairs of axes: the last `axes` of x1 with the first of x2, or axes[0][i] of x1 with axes[1][i]
    of x2, whose extents are equal (ValueError). The result's axes are the others of x1, then those of x2.

    >>> nd.tensordot(nd.ones((2, 3)), nd.ones((3, 4)), axes=1).shape
    (2, 4)
    """
    x1, x2 = _pair("tensordot", x1, x2)
    if hasattr(axes, "__index__"):
        n = axes.__index__()  # type: ignore[union-attr]
        if not 0 <= n <= min(x1.ndim, x2.ndim):
            raise ValueError(f"tensordot(): axes={n} for arrays of {x1.ndim} and {x2.ndim} dimensions")
        axes = (range(x1.ndim - n, x1.ndim), range(n))
    (sum1, keep1), (sum2, keep2) = _last(x1, tuple(axes[0])), _last(x2, tuple(axes[1]))
    s1, s2 = x1.shape, x2.shape
    if [s1[a] for a in sum1] != [s2[a] for a in sum2]:
        raise ValueError(f"tensordot(): axes {tuple(sum1)} of shape {s1} and {tuple(sum2)} of {s2} differ in extent")
    k = _product([s1[a] for a in sum1])
    free1, free2 = [s1[a] for a in keep1], [s2[a] for a in keep2]
    left = _ndock._reshape(_ndock._permute_dims(x1, keep1 + sum1), (_product(free1), k), None)
    right = _ndock._reshape(_ndock._permute_dims(x2, sum2 + keep2), (k, _product(free2)), None)
    return _ndock._reshape(matmul(left, right), free1 + free2, None)


def vecdot(x1: ArrayLike, x2: ArrayLike, /, *, axis: int = -1) -> Array:
    """Sum of conj(x1)*x2 along axis, in which both have the same extent; the other axes broadcast.

    Errors: ValueError for shapes that do not fit, TypeError for dtypes.

    >>> nd.vecdot(nd.asarray([1, 2, 3]), nd.asarray([1, 1, 1]))
    array(6, dtype=int64, device='cpu:0')
    """
    x1, x2 = _pair("vecdot", x1, x2)
    if not -min(x1.ndim, x2.ndim) <= axis < 0:
        if not (0 <= axis < x1.ndim and x1.ndim == x2.ndim):
            raise IndexError(f"vecdot(): axis {axis} is out of range for {x1.ndim} and {x2.ndim} dimensions")
    if x1.shape[axis] != x2.shape[axis]:
        raise ValueError(f"vecdot(): extents {x1.shape[axis]} and {x2.shape[axis]} along axis {axis} differ")
    left, right = _ndock._moveaxis(x1, axis, -1), _ndock._moveaxis(x2, axis, -1)
    if left.dtype.kind == "c":
        left = _ndock.conj(left)
    product = matmul(_ndock._expand_dims(left, -2), _ndock._expand_dims(right, -1))
    return _ndock._squeeze(product, (-2, -1))
