# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Linear algebra: the array API's extension of this name, and what SciPy has beyond it.

Matrices are the last two axes of an array, the axes before them a batch; batches of several arrays broadcast. Results are
computed in float32, float64, complex64 or complex128; float16 and bfloat16 are computed in float32 and given back as what they
were, bool and integers are computed in float64. Arrays may be empty. NaN in a matrix gives NaN in what is made of it.

LinAlgError names the function, the matrix of the batch and the pivot. With check=False it is never raised, and the results of
such a matrix are infinities or NaN; on devices that queue work nothing is waited for then, while with check=True, the default,
they raise where the program next waits.

>>> from ndock import linalg
>>> linalg.solve(nd.asarray([[2.0, 0.0], [0.0, 4.0]]), nd.asarray([1.0, 1.0]))
array([0.5 , 0.25], dtype=float64, device='cpu:0')
"""
from __future__ import annotations

from collections import namedtuple

from . import _ndock
from ._linalg import _pair, matmul as matmul, matrix_transpose as matrix_transpose, tensordot as tensordot, vecdot as vecdot
from ._matrices import diag as diag
from ._norms import *  # noqa: F403
from ._norms import __all__ as _norms_all
from ._products import block_diag as block_diag, cross as cross, einsum as einsum, kron as kron, multi_dot as multi_dot
from ._products import outer as outer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._types import Array, ArrayLike, DTypeLike, Literal, NamedTuple, Optional, Union

    class LinAlgError(_ndock.Error, ValueError):
        ...

    class EighResult(NamedTuple):
        eigenvalues: Array
        eigenvectors: Array

    class EigResult(NamedTuple):
        eigenvalues: Array
        eigenvectors: Array

    class QRResult(NamedTuple):
        Q: Array
        R: Array

    class SlogdetResult(NamedTuple):
        sign: Array
        logabsdet: Array

    class SVDResult(NamedTuple):
        U: Array
        S: Array
        Vh: Array
else:
    def _result(name, fields, doc):
        made = namedtuple(name, fields)
        made.__doc__, made.__module__ = doc, __name__
        return made

    LinAlgError = _ndock._linalg_error()
    LinAlgError.__doc__ = """A matrix is singular or not positive definite, or an iteration does not converge.

    args: as any exception's. Attributes: those of ndock.Error.

    >>> try:
    ...     nd.linalg.inv(nd.zeros((2, 2)))
    ... except nd.linalg.LinAlgError as e:
    ...     print(e)
    inv: the matrix is singular: pivot 0 of 2 is zero
    """
    EighResult = _result("EighResult", "eigenvalues eigenvectors", """What eigh gives: eigenvalues and eigenvectors.

    >>> nd.linalg.eigh(nd.eye(2)).eigenvalues
    array([1., 1.], dtype=float64, device='cpu:0')
    """)
    EigResult = _result("EigResult", "eigenvalues eigenvectors", """What eig gives: eigenvalues and eigenvectors.

    >>> nd.linalg.EigResult._fields
    ('eigenvalues', 'eigenvectors')
    """)
    QRResult = _result("QRResult", "Q R", """What qr gives: Q and R.

    >>> nd.linalg.qr(nd.eye(2), normalize=True).R
    array([[1., 0.],
           [0., 1.]], dtype=float64, device='cpu:0')
    """)
    SlogdetResult = _result("SlogdetResult", "sign logabsdet", """What slogdet gives: sign and logabsdet.

    >>> nd.linalg.slogdet(nd.eye(2)).logabsdet
    array(0., dtype=float64, device='cpu:0')
    """)
    SVDResult = _result("SVDResult", "U S Vh", """What svd gives: U, S and Vh.

    >>> nd.linalg.svd(nd.eye(2)).S
    array([1., 1.], dtype=float64, device='cpu:0')
    """)

__all__ = ["EigResult", "EighResult", "LinAlgError", "QRResult", "SVDResult", "SlogdetResult", "block_diag", "cho_solve", "cholesky",
           "cross", "det", "diag", "diagonal", "eig", "eigh", "eigvals", "eigvalsh", "einsum", "inv", "kron", "lu", "lu_factor",
           "lu_solve", "matmul", "matrix_transpose", "multi_dot", "outer", "qr", "slogdet", "solve", "solve_triangular", "svd",
           "svdvals", "tensordot", "trace", "vecdot"] + _norms_all

_UPPER, _UNIT, _RIGHT, _FULL, _NORMALIZE = 2, 4, 8, 16, 32
_TRANS = {0: 0, 1: 1, 2: 2, "N": 0, "T": 1, "C": 2}


def _flags(check: bool, *more: int) -> int:
    return sum(more, 0 if check else 1)


def _trans(function: str, trans: Union[int, str]) -> int:
    if trans not in _TRANS:
        raise ValueError(f"{function}(): trans is 0, 1 or 2, or 'N', 'T' or 'C', not {trans!r}")
    return _TRANS[trans] << 6


def cholesky(x: Array, /, *, upper: bool = False, check: bool = True) -> Array:
    """l (..., n, n), lower triangular, with l @ l^H = x; upper=True: u with u^H @ u = x. One triangle of x (..., n, n) is
    read, the lower one, or the upper one.

    Errors: ValueError for shapes, TypeError for dtypes; LinAlgError, unless check=False, where x is not positive definite.

    >>> nd.linalg.cholesky(nd.asarray([[4.0, 2.0], [2.0, 5.0]]))
    array([[2., 0.],
           [1., 2.]], dtype=float64, device='cpu:0')
    """
    return _ndock._cholesky(x, _flags(check, _UPPER if upper else 0))


def lu_factor(x: Array, /, *, check: bool = True) -> tuple[Array, Array]:
    """The factors of x (..., m, n) by Gaussian elimination with partial pivoting: both triangles in one array of x's
    shape, without the ones of the lower one's diagonal, and pivots, int64 (..., min(m, n)): row i was exchanged with row
    pivots[i], for i = 0, 1 ... in this order. For lu_solve.

    Errors: as cholesky; LinAlgError, unless check=False, where a pivot is zero.

    >>> factors, pivots = nd.linalg.lu_factor(nd.asarray([[1.0, 2.0], [4.0, 4.0]]))
    >>> factors
    array([[4.  , 4.  ],
           [0.25, 1.  ]], dtype=float64, device='cpu:0')
    >>> pivots
    array([1, 1], dtype=int64, device='cpu:0')
    """
    return _ndock._lu_factor(x, _flags(check))


def lu(x: Array, /) -> tuple[Array, Array, Array]:
    """p, l, u with x = p @ l @ u: p (..., m, m) a permutation, l (..., m, k) lower triangular with ones on its diagonal,
    u (..., k, n) upper triangular, k = min(m, n). Singular matrices have such factors too.

    x: an Array (..., m, n). Errors: ValueError for shapes, TypeError for dtypes.

    >>> p, l, u = nd.linalg.lu(nd.asarray([[1.0, 2.0], [4.0, 4.0]]))
    >>> u
    array([[4., 4.],
           [0., 1.]], dtype=float64, device='cpu:0')
    """
    return _ndock._lu(x, 0)


def lu_solve(lu_and_piv: tuple[Array, Array], b: Array, /, *, trans: Union[int, Literal["N", "T", "C"]] = 0,
             check: bool = True) -> Array:
    """x with a @ x = b, of the factors and pivots of a (..., n, n) that lu_factor gives, lu_and_piv. trans 1 or 'T': of
    a^T @ x = b; 2 or 'C': of a^H @ x = b. b (..., n, k) or (n,).

    Errors: as cholesky; LinAlgError, unless check=False, where a pivot is zero.

    >>> factors = nd.linalg.lu_factor(nd.asarray([[1.0, 2.0], [4.0, 4.0]]))
    >>> nd.linalg.lu_solve(factors, nd.asarray([3.0, 8.0]))
    array([1., 1.], dtype=float64, device='cpu:0')
    """
    factors, pivots = lu_and_piv
    return _ndock._lu_solve(factors, pivots, b, _flags(check, _trans("lu_solve", trans)))


def qr(x: Array, /, *, mode: Literal["reduced", "complete", "r"] = "reduced", normalize: bool = False) -> QRResult:
    """Q (..., m, k) with orthonormal columns and R (..., k, n), upper triangular, with x = Q @ R; k is min(m, n), and m
    for mode="complete". mode="r": R alone, as an Array. normalize=True: R's diagonal is real and at least zero, which
    makes the factors of a matrix of full rank the same on every device.

    x: an Array (..., m, n). Errors: ValueError for shapes and other modes, TypeError for dtypes.

    >>> q, r = nd.linalg.qr(nd.asarray([[3.0, 5.0], [4.0, 0.0]]), normalize=True)
    >>> r
    array([[5., 3.],
           [0., 4.]], dtype=float64, device='cpu:0')
    """
    flags = _flags(True, _NORMALIZE if normalize else 0, _FULL if mode == "complete" else 0)
    if mode == "r":
        return _ndock._qr_r(x, flags)
    if mode not in ("reduced", "complete"):
        raise ValueError(f"qr(): mode is 'reduced', 'complete' or 'r', not {mode!r}")
    return QRResult(*_ndock._qr(x, flags))


def solve(x1: ArrayLike, x2: ArrayLike, /, *, check: bool = True) -> Array:
    """x with x1 @ x = x2, by LU with partial pivoting: x1 (..., n, n), x2 (..., n, k), or (n,) for one right side of
    every matrix. The dtypes are promoted.

    Errors: as cholesky; LinAlgError, unless check=False, where a matrix is singular.

    >>> nd.linalg.solve(nd.asarray([[3.0, 1.0], [1.0, 2.0]]), nd.asarray([9.0, 8.0]))
    array([2., 3.], dtype=float64, device='cpu:0')
    """
    x1, x2 = _pair("solve", x1, x2)
    return _ndock._solve(x1, x2, _flags(check))


def solve_triangular(a: ArrayLike, b: ArrayLike, /, *, lower: bool = False, trans: Union[int, Literal["N", "T", "C"]] = 0,
                     unit_diagonal: bool = False, left: bool = True, check: bool = True) -> Array:
    """x with a @ x = b for a triangular a (..., n, n), the other triangle of which is not read; b (..., n, k) or (n,).
    trans 1 or 'T': a^T @ x = b; 2 or 'C': a^H @ x = b; lower is meant of a itself. unit_diagonal: the diagonal counts as
    ones, and is not read. left=False: x @ a = b, with b (..., k, n).

    Errors: as cholesky; LinAlgError, unless check=False, where an element of the diagonal is zero.

    >>> nd.linalg.solve_triangular(nd.asarray([[2.0, 0.0], [1.0, 1.0]]), nd.asarray([2.0, 3.0]), lower=True)
    array([1., 2.], dtype=float64, device='cpu:0')
    """
    a, b = _pair("solve_triangular", a, b)
    flags = _flags(check, 0 if lower else _UPPER, _UNIT if unit_diagonal else 0, 0 if left else _RIGHT,
                   _trans("solve_triangular", trans))
    return _ndock._solve_triangular(a, b, flags)


def cho_solve(c_and_lower: tuple[Array, bool], b: Array, /, *, check: bool = True) -> Array:
    """x with a @ x = b, of the factor that cholesky has made of a (..., n, n): c_and_lower is that and whether it is the
    lower triangular one. b (..., n, k) or (n,).

    Errors: as cholesky; LinAlgError, unless check=False, where an element of the factor's diagonal is zero.

    >>> factor = nd.linalg.cholesky(nd.asarray([[4.0, 2.0], [2.0, 5.0]]))
    >>> nd.linalg.cho_solve((factor, True), nd.asarray([6.0, 7.0]))
    array([1., 1.], dtype=float64, device='cpu:0')
    """
    c, lower = c_and_lower
    return _ndock._cho_solve(c, b, _flags(check, 0 if lower else _UPPER))


def inv(x: Array, /, *, check: bool = True) -> Array:
    """The inverse of each matrix of x (..., n, n).

    Errors: as cholesky; LinAlgError, unless check=False, where a matrix is singular.

    >>> nd.linalg.inv(nd.asarray([[2.0, 0.0], [0.0, 4.0]]))
    array([[0.5 , 0.  ],
           [0.  , 0.25]], dtype=float64, device='cpu:0')
    """
    return _ndock._inv(x, _flags(check))


def det(x: Array, /) -> Array:
    """The determinant of each matrix of x (..., n, n): shape (...).

    Errors: ValueError for shapes, TypeError for dtypes.

    >>> nd.linalg.det(nd.asarray([[1.0, 2.0], [3.0, 5.0]]))
    array(-1., dtype=float64, device='cpu:0')
    """
    return _ndock._det(x, 0)


def slogdet(x: Array, /) -> SlogdetResult:
    """sign and logabsdet of each determinant of x (..., n, n), which is sign * exp(logabsdet), without overflow: sign of
    x's dtype, of magnitude one (0 for a singular matrix), logabsdet real (-inf for one).

    Errors: ValueError for shapes, TypeError for dtypes.

    >>> sign, logabsdet = nd.linalg.slogdet(nd.asarray([[1.0, 2.0], [3.0, 5.0]]))
    >>> sign
    array(-1., dtype=float64, device='cpu:0')
    """
    return SlogdetResult(*_ndock._slogdet(x, 0))


def eigh(x: Array, /, *, upper: bool = False, check: bool = True) -> EighResult:
    """Eigenvalues (..., n), real and ascending, and eigenvectors, the columns of (..., n, n), of Hermitian matrices x
    (..., n, n), of which one triangle is read, the lower one, or with upper=True the upper one. A vector has length 1, and its
    largest component is real and positive.

    Errors: as cholesky; LinAlgError, unless check=False, where the iteration does not converge.

    >>> w, v = nd.linalg.eigh(nd.asarray([[0.0, 2.0], [2.0, 0.0]]))
    >>> w
    array([-2.,  2.], dtype=float64, device='cpu:0')
    """
    return EighResult(*_ndock._eigh(x, _flags(check, _UPPER if upper else 0)))


def eigvalsh(x: Array, /, *, upper: bool = False, check: bool = True) -> Array:
    """The eigenvalues (..., n), real and ascending, of Hermitian matrices x (..., n, n), of which one triangle is read,
    the lower one, or with upper=True the upper one.

    Errors: as cholesky; LinAlgError, unless check=False, where the iteration does not converge.

    >>> nd.linalg.eigvalsh(nd.asarray([[0.0, 2.0], [2.0, 0.0]]))
    array([-2.,  2.], dtype=float64, device='cpu:0')
    """
    return _ndock._eigvalsh(x, _flags(check, _UPPER if upper else 0))


def eig(x: Array, /, *, check: bool = True) -> EigResult:
    """Eigenvalues (..., n) and eigenvectors, the columns of (..., n, n), of square matrices x (..., n, n): complex, the
    values in no order. They are complex whatever x is, as in the array API; NumPy's are real where no imaginary part is left.
    A vector has length 1, and its largest component is real and positive. The CPU needs a LAPACK for this.

    Errors: as cholesky; LinAlgError, unless check=False, where the iteration does not converge; NotImplementedError without
    a LAPACK, which says what to install.

    >>> try:
    ...     w = nd.linalg.eig(nd.asarray([[0.0, 1.0], [-1.0, 0.0]])).eigenvalues
    ... except NotImplementedError:  # no LAPACK
    ...     w = nd.asarray([1j, -1j])
    >>> nd.sum(w * w)
    array(-2.+0.j, dtype=complex128, device='cpu:0')
    """
    return EigResult(*_ndock._eig(x, _flags(check)))


def eigvals(x: Array, /, *, check: bool = True) -> Array:
    """The eigenvalues (..., n) of square matrices x (..., n, n): complex, in no order. The CPU needs a LAPACK for this.

    Errors: as eig; check=False leaves LinAlgError out.

    >>> try:
    ...     w = nd.linalg.eigvals(nd.asarray([[0.0, 1.0], [-1.0, 0.0]]))
    ... except NotImplementedError:  # no LAPACK
    ...     w = nd.asarray([1j, -1j])
    >>> nd.sum(w * w)
    array(-2.+0.j, dtype=complex128, device='cpu:0')
    """
    return _ndock._eigvals(x, _flags(check))


def svd(x: Array, /, *, full_matrices: bool = True, check: bool = True) -> SVDResult:
    """U, S, Vh with x = U[..., :k] @ diag(S) @ Vh[..., :k, :], k = min(m, n), of x (..., m, n): S (..., k), real and
    descending; U (..., m, m) and Vh (..., n, n) unitary, or (..., m, k) and (..., k, n) for full_matrices=False.

    Errors: as cholesky; LinAlgError, unless check=False, where the iteration does not converge.

    >>> u, s, vh = nd.linalg.svd(nd.asarray([[0.0, 3.0], [2.0, 0.0]]))
    >>> s
    array([3., 2.], dtype=float64, device='cpu:0')
    """
    return SVDResult(*_ndock._svd(x, _flags(check, _FULL if full_matrices else 0)))


def svdvals(x: Array, /, *, check: bool = True) -> Array:
    """The singular values (..., min(m, n)) of x (..., m, n), real and descending.

    Errors: as cholesky; LinAlgError, unless check=False, where the iteration does not converge.

    >>> nd.linalg.svdvals(nd.asarray([[0.0, 3.0], [2.0, 0.0]]))
    array([3., 2.], dtype=float64, device='cpu:0')
    """
    return _ndock._svdvals(x, _flags(check))


def trace(x: Array, /, *, offset: int = 0, dtype: Optional[DTypeLike] = None) -> Array:
    """The sum of the diagonal of each matrix of x (..., m, n): shape (...); offset above zero: of a diagonal above the main one.
    dtype: of the sum; by default as nd.sum's.

    Errors: ValueError below two axes, TypeError for dtypes.

    >>> nd.linalg.trace(nd.asarray([[1, 2], [3, 4]]))
    array(5, dtype=int64, device='cpu:0')
    """
    return _ndock._trace(x, offset, dtype)


def diagonal(x: Array, /, *, offset: int = 0) -> Array:
    """A view of the diagonal of each matrix of x (..., m, n), as the last axis; offset above zero: of a diagonal above the main one.

    Errors: ValueError below two axes.

    >>> nd.linalg.diagonal(nd.asarray([[1, 2], [3, 4]]))
    array([1, 4], dtype=int64, device='cpu:0')
    """
    return _ndock._diagonal(x, offset, -2, -1)
