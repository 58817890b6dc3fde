# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Special functions, by SciPy's names: error functions and the normal distribution, gamma, beta, zeta and their derivatives,
modified Bessel functions, entropy, and the activations of neural networks.

Operands are Arrays on one device, at least one, and Python scalars; shapes broadcast, floating dtypes are promoted, bool and
integers are computed in float64. out: a writable Array of the result's shape, which is returned. Poles, overflow and what has no
value give infinities and NaN without a warning, as in SciPy. How exact each is, is in docs/special.md; the formulas are in
<ndock/scalar_special_tmpl.h>, the same for every device.

>>> import ndock as nd
>>> nd.special.erfc(nd.asarray([0.0]))
array([1.], dtype=float64, device='cpu:0')
"""
from __future__ import annotations

from . import _ndock
from ._elementwise import celu, leaky_relu, prelu
from ._ndock import (beta, betaln, cbrt, digamma, entr, erf, erfc, erfcinv, erfcx, erfinv, exp10, exp2, expm1, gamma, hardsigmoid,
                     hardswish, i0, i0e, i1, i1e, log1p, log_ndtr, logit, mish, ndtr, ndtri, selu, sinc, softplus, xlog1py, xlogy)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._types import Array, Operand, Optional

__all__ = ["beta", "betaln", "cbrt", "celu", "digamma", "entr", "erf", "erfc", "erfcinv", "erfcx", "erfinv", "exp10", "exp2",
           "expit", "expm1", "gamma", "gammaln", "hardsigmoid", "hardswish", "i0", "i0e", "i1", "i1e", "leaky_relu", "log1p",
           "log_ndtr", "logit", "mish", "ndtr", "ndtri", "normcdf", "polygamma", "prelu", "psi", "selu", "sinc", "softplus",
           "xlog1py", "xlogy", "zeta"]

expit = _ndock.sigmoid
gammaln = _ndock.lgamma
psi = digamma
normcdf = ndtr


def zeta(x: Operand, q: Optional[Operand] = None, out: Optional[Array] = None) -> Array:
    """Hurwitz's zeta function, the sum of (q + k)**-x over k = 0, 1 ..., or with q None Riemann's. Floating dtypes; bool and
    integers are computed in float64; shapes broadcast.

    x: at 1 the result is inf; below 1 it is NaN unless q is 1 (or None), where the function is continued. q: at 0 and negative
    integers inf; where q is negative x is an integer, else NaN. out: a writable Array of the result's shape, which is returned.
    Errors: ValueError for shapes that do not broadcast or devices that differ, TypeError for dtypes. Source: DLMF 25.11, 25.4.

    >>> nd.special.zeta(nd.asarray([2.0, 0.0]))
    array([ 1.64493407, -0.5       ], dtype=float64, device='cpu:0')
    """
    return _ndock.zeta(x, 1.0 if q is None else q, out=out)


def polygamma(n: Operand, x: Operand, out: Optional[Array] = None) -> Array:
    """The n-th derivative of digamma at x; n is 0, 1, 2 ..., else the result is NaN. Floating dtypes; bool and integers are
    computed in float64; shapes broadcast.

    x: at 0 and negative integers the result is infinite. n: a scalar or an array. out: a writable Array of the result's shape,
    which is returned. Errors: ValueError for shapes that do not broadcast or devices that differ, TypeError for dtypes.
    Source: DLMF 5.15.

    >>> nd.special.polygamma(1, nd.asarray([1.0]))
    array([1.64493407], dtype=float64, device='cpu:0')
    """
    return _ndock.polygamma(n, x, out=out)
