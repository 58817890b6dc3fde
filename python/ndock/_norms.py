# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Norms, condition and rank, and what is made of singular values; powers and the exponential of a matrix. In ndock.linalg."""
from __future__ import annotations

from collections import namedtuple

from . import _ndock
from ._creation import asarray
from ._linalg import _pair

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._types import Array, ArrayLike, Axes, Literal, NamedTuple, Optional, Union

    class LstsqResult(NamedTuple):
        x: Array
        residuals: Array
        rank: Array
        s: Array
else:
    LstsqResult = namedtuple("LstsqResult", "x residuals rank s")
    LstsqResult.__doc__, LstsqResult.__module__ = """What lstsq gives: x, residuals, rank, and s, the singular values.

    >>> nd.linalg.LstsqResult._fields
    ('x', 'residuals', 'rank', 's')
    """, "ndock.linalg"

__all__ = ["LstsqResult", "cond", "expm", "lstsq", "matrix_norm", "matrix_power", "matrix_rank", "norm", "pinv", "vector_norm"]

_KINDS = {None: 0, "fro": 2, "nuc": 3}


def _kind(function: str, ord: Union[None, int, float, str]) -> tuple[int, float]:
    if ord is None or isinstance(ord, str):
        if ord not in _KINDS:
            raise ValueError(f"{function}(): ord is a number, 'fro' or 'nuc', not {ord!r}")
        return _KINDS[ord], 0.0
    return 1, float(ord)


def vector_norm(x: Array, /, *, axis: Axes = None, keepdims: bool = False, ord: Union[int, float] = 2) -> Array:
    """The norm of vectors along axis (several: of all elements along them; None: of all): (sum |x|^ord)^(1/ord); for inf and -inf
    the largest and the smallest magnitude, for 0 the number of nonzero elements. keepdims: the axes stay, with extent one.
    Integers count as float64.

    Errors: ValueError for shapes, TypeError for dtypes, IndexError for an axis that is not there.

    >>> nd.linalg.vector_norm(nd.asarray([3.0, 4.0]))
    array(5., dtype=float64, device='cpu:0')
    """
    return _ndock._vector_norm(x, 1, float(ord), axis, keepdims)


def matrix_norm(x: Array, /, *, keepdims: bool = False,
                ord: Optional[Union[int, float, Literal["fro", "nuc"]]] = "fro") -> Array:
    """The norm of each matrix of x (..., m, n): "fro", of all elements; "nuc", the sum of the singular values; 2 and -2, the largest
    and smallest of them; 1 and -1, of the sums of columns; inf and -inf, of the sums of rows. keepdims: the axes stay, with
    extent one.

    Errors: ValueError for shapes and other values of ord, TypeError for dtypes.

    >>> nd.linalg.matrix_norm(nd.asarray([[3.0, 4.0], [0.0, 0.0]]))
    array(5., dtype=float64, device='cpu:0')
    """
    return _ndock._matrix_norm(x, *_kind("matrix_norm", ord), None, keepdims)


def norm(x: Array, /, ord: Optional[Union[int, float, Literal["fro", "nuc"]]] = None, *, axis: Axes = None,
         keepdims: bool = False) -> Array:
    """NumPy's norm: of matrices for two axes, as matrix_norm's, of vectors for one, as vector_norm's; without axis of a vector or
    a matrix x, and with ord=None the 2-norm of all elements. keepdims: the axes stay, with extent one.

    Errors: ValueError for shapes and other values of ord, TypeError for dtypes, IndexError for an axis that is not there.

    >>> nd.linalg.norm(nd.asarray([[3.0, 4.0], [0.0, 0.0]]), axis=1)
    array([5., 0.], dtype=float64, device='cpu:0')
    """
    return _ndock._norm(x, *_kind("norm", ord), axis, keepdims)


def cond(x: Array, /, p: Optional[Union[int, float, Literal["fro", "nuc"]]] = None) -> Array:
    """The condition number of each matrix of x (..., m, n): the largest over the smallest singular value, or in another norm p of
    matrix_norm, for square matrices, the norm times that of the inverse. Infinite, or NaN, for singular ones.

    Errors: ValueError for shapes and other values of p, TypeError for dtypes.

    >>> nd.linalg.cond(nd.asarray([[4.0, 0.0], [0.0, 2.0]]))
    array(2., dtype=float64, device='cpu:0')
    """
    return _ndock._cond(x, *_kind("cond", p), None, False)


def _tolerance(x: Array, rtol: Optional[Union[float, Array]]) -> Optional[Array]:
    if rtol is None or isinstance(rtol, _ndock.Array):
        return rtol
    return asarray(float(rtol), device=x.device)


def matrix_rank(x: Array, /, *, rtol: Optional[Union[float, Array]] = None, check: bool = True) -> Array:
    """The number of singular values of x (..., m, n) above rtol times the largest: int64 (...). rtol, a number or an array of the
    batch's shape, is by default max(m, n) times the dtype's precision.

    Errors: ValueError for shapes, TypeError for dtypes; LinAlgError, unless check=False, where the iteration does not converge.

    >>> nd.linalg.matrix_rank(nd.ones((3, 3)))
    array(1, dtype=int64, device='cpu:0')
    """
    return _ndock._matrix_rank(x, _tolerance(x, rtol), 0 if check else 1)


def pinv(x: Array, /, *, rtol: Optional[Union[float, Array]] = None, check: bool = True) -> Array:
    """The pseudo-inverse (..., n, m) of x (..., m, n) by its singular values, of which those up to rtol times the largest count as
    zero; rtol is by default max(m, n) times the dtype's precision.

    Errors: as matrix_rank; check as there.

    >>> nd.linalg.pinv(nd.asarray([[2.0], [0.0]]))
    array([[0.5, 0. ]], dtype=float64, device='cpu:0')
    """
    return _ndock._pinv(x, _tolerance(x, rtol), 0 if check else 1)


def lstsq(a: ArrayLike, b: ArrayLike, /, *, rcond: Optional[Union[float, Array]] = None, check: bool = True) -> LstsqResult:
    """x (..., n, k), or (..., n) for a vector b, of the least norm among those with the least |a @ x - b|, for a (..., m, n) and b
    (..., m, k) or (m,); residuals, |a @ x - b|^2 of each column (also where the rank is not full, unlike NumPy's); rank; s, the
    singular values of a, of which those up to rcond times the largest count as zero (by default max(m, n) times the precision).

    Errors: as matrix_rank; check as there.

    >>> nd.linalg.lstsq(nd.asarray([[1.0, 0.0], [1.0, 1.0], [1.0, 2.0]]), nd.asarray([1.0, 3.0, 5.0])).rank
    array(2, dtype=int64, device='cpu:0')
    """
    a, b = _pair("lstsq", a, b)
    return LstsqResult(*_ndock._lstsq(a, b, _tolerance(a, rcond), 0 if check else 1))


def matrix_power(x: Array, n: int, /) -> Array:
    """x (..., k, k) times itself, n times: the identity for n=0, powers of the inverse below.

    Errors: ValueError for shapes, TypeError for dtypes, LinAlgError where the inverse is not there.

    >>> nd.linalg.matrix_power(nd.asarray([[1, 1], [1, 0]]), 5)
    array([[8, 5],
           [5, 3]], dtype=int64, device='cpu:0')
    """
    return _ndock._matrix_power(x, n)


def expm(x: Array, /) -> Array:
    """The exponential of each matrix of x (..., n, n), by scaling and squaring. Waits for the norms.

    Errors: ValueError for shapes, TypeError for dtypes.

    >>> nd.linalg.expm(nd.asarray([[0.0, 1.0], [0.0, 0.0]]))
    array([[1., 1.],
           [0., 1.]], dtype=float64, device='cpu:0')
    """
    return _ndock._expm(x)
