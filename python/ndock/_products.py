# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Products of several arrays, and diagonals. Those that NumPy has in its main namespace are in ours too."""
from __future__ import annotations

from . import _ndock
from ._creation import asarray
from ._dtypes import isdtype
from ._linalg import _pair

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._types import Array, ArrayLike, DTypeLike, Optional, Sequence

__all__ = ["cross", "diagonal", "einsum", "kron", "outer", "trace"]


_KINDS = ("bool", "integral", "real floating", "complex floating")  # a result may go to its own kind and to those behind it


def _check_out(result: Array, out: Array) -> None:
    """The result may be written to out, as where the core writes results itself."""
    if not isinstance(out, _ndock.Array):
        raise TypeError(f"einsum(): out is an ndock.Array, not {type(out)}")
    if out.shape != result.shape:
        raise ValueError(f"einsum(): out has shape {out.shape}, the result {result.shape}")
    if out.device != result.device:
        raise ValueError(f"einsum(): out is on {out.device}, the result on {result.device}; move one with x.to(device)")
    if not isdtype(out.dtype, _KINDS[next(i for i, k in enumerate(_KINDS) if isdtype(result.dtype, k)):]):
        raise TypeError(f"einsum(): a result of {result.dtype} does not go into an out of {out.dtype}; convert explicitly with x.astype(dtype)")


def _as_arrays(operands: Sequence[ArrayLike]) -> Sequence[ArrayLike]:
    beside = next((x for x in operands if isinstance(x, _ndock.Array)), None)
    return [x if isinstance(x, _ndock.Array) else asarray(x) if beside is None else _ndock._operand("einsum", beside, x) for x in operands]


def einsum(subscripts: str, /, *operands: ArrayLike, out: Optional[Array] = None, dtype: Optional[DTypeLike] = None) -> Array:
    """Sums of products by index notation, as NumPy's: "ij,jk->ik" is the matrix product. An index that is not in the result is
    summed over, an index twice in an operand is its diagonal, "..." stands for axes that are not named and broadcast; without
    "->" the result has the axes of "...", then the indices that occur once, in alphabetical order.

    operands: 1 to 64 arrays, contracted pair by pair as matrix products, the pair first whose product is smallest beside what it
    takes the place of. dtypes are promoted (or dtype), and sums keep them. Where nothing is computed the result may be a view.
    out: an array of the result's shape, which may be one of the operands; the result is converted to its dtype and it is returned.

    Errors: ValueError for subscripts that say nothing, extents that do not fit and an out of another shape or device; TypeError
    for dtypes, and where out would lose a fraction or an imaginary part.

    >>> nd.einsum("ij,j->i", nd.asarray([[1.0, 2.0], [3.0, 4.0]]), nd.asarray([1.0, 1.0]))
    array([3., 7.], dtype=float64, device='cpu:0')
    """
    result: Array = _ndock._einsum(subscripts, operands, dtype)
    if result is NotImplemented:  # not all of them are Arrays
        result = _ndock._einsum(subscripts, tuple(_as_arrays(operands)), dtype)
    if out is None:
        return result
    _check_out(result, out)
    out[...] = result
    return out


def outer(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """x1[i] * x2[k]: shape (n, m) of vectors of n and m elements; other arrays are flattened.

    Errors: TypeError for dtypes.

    >>> nd.outer(nd.asarray([1, 2]), nd.asarray([1, 10]))
    array([[ 1, 10],
           [ 2, 20]], dtype=int64, device='cpu:0')
    """
    return _ndock._outer(*_pair("outer", x1, x2))


def cross(x1: ArrayLike, x2: ArrayLike, /, *, axis: int = -1) -> Array:
    """The vector product of x1 and x2 along axis, whose extent is 3 in both; the other axes broadcast.

    Errors: ValueError for shapes, TypeError for dtypes, IndexError for an axis that is not there.

    >>> nd.cross(nd.asarray([1, 0, 0]), nd.asarray([0, 1, 0]))
    array([0, 0, 1], dtype=int64, device='cpu:0')
    """
    return _ndock._cross(*_pair("cross", x1, x2), axis)


def kron(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """Every element of x1 times all of x2: extents multiply, missing leading axes count as one.

    Errors: ValueError for more than 32 axes, TypeError for dtypes.

    >>> nd.kron(nd.asarray([1, 10]), nd.asarray([1, 2]))
    array([ 1,  2, 10, 20], dtype=int64, device='cpu:0')
    """
    return _ndock._kron(*_pair("kron", x1, x2))


def trace(x: Array, /, offset: int = 0, axis1: int = 0, axis2: int = 1, *, dtype: Optional[DTypeLike] = None) -> Array:
    """The sum of the diagonal of the axes axis1 and axis2 of x, which are gone; offset above zero: of a diagonal above the main
    one. dtype: of the sum; by default as nd.sum's. nd.linalg.trace takes the last two axes.

    Errors: ValueError below two axes, TypeError for dtypes, IndexError for an axis that is not there.

    >>> nd.trace(nd.asarray([[1, 2], [3, 4]]))
    array(5, dtype=int64, device='cpu:0')
    """
    return _ndock._trace(_ndock._moveaxis(x, (axis1, axis2), (-2, -1)), offset, dtype)


def diagonal(x: Array, /, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Array:
    """A view of the diagonal of the axes axis1 and axis2 of x, as a new last axis; offset above zero: of a diagonal above the main
    one. nd.linalg.diagonal takes the last two axes.

    Errors: ValueError below two axes, IndexError for an axis that is not there.

    >>> nd.diagonal(nd.asarray([[1, 2], [3, 4]]))
    array([1, 4], dtype=int64, device='cpu:0')
    """
    return _ndock._diagonal(x, offset, axis1, axis2)


def multi_dot(arrays: Sequence[Array], /) -> Array:
    """The product of 2 to 80 matrices, in the order that takes the fewest multiplications; the first and the last may be vectors.

    arrays: a sequence of Arrays. Errors: ValueError for shapes and numbers of arrays, TypeError for dtypes.

    >>> nd.linalg.multi_dot([nd.ones((2, 3)), nd.ones((3, 4)), nd.ones(4)])
    array([12., 12.], dtype=float64, device='cpu:0')
    """
    return _ndock._multi_dot(list(arrays))


def block_diag(*arrays: Array) -> Array:
    """A matrix of zeros with the arrays, matrices or vectors as rows, one after the other on its diagonal.

    arrays: at least one. Errors: ValueError for more than two axes, TypeError for dtypes.

    >>> nd.linalg.block_diag(nd.ones((1, 2)), nd.ones((1, 1)))
    array([[1., 1., 0.],
           [0., 0., 1.]], dtype=float64, device='cpu:0')
    """
    return _ndock._block_diag(list(arrays))
