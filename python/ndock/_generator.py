# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The generator's methods of the distributions and samples. options: shape, dtype and device, as of the functions."""
from __future__ import annotations

from ._distributions import (bernoulli, beta, binomial, cauchy, chisquare, exponential, gamma, geometric, gumbel,
                            hypergeometric, laplace, logistic, lognormal, negative_binomial, pareto, poisson, rayleigh,
                            standard_t, triangular, truncated_normal, weibull)
from ._sampling import categorical, choice, dirichlet, multinomial, multivariate_normal, permutation, shuffle

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._distributions import Parameter
    from ._types import Any, Array, ArrayLike, Optional, Shape, Union


class Distributions:
    """What a Generator draws beside uniform, normal and integers."""

    __slots__ = ()

    def exponential(self, scale: Parameter = 1.0, size: Optional[Shape] = None, **options: Any) -> Array:
        """ndock.random.exponential with this generator's numbers."""
        return exponential(scale, size, key=self, **options)

    def cauchy(self, loc: Parameter = 0.0, scale: Parameter = 1.0, size: Optional[Shape] = None, **options: Any) -> Array:
        """ndock.random.cauchy with this generator's numbers."""
        return cauchy(loc, scale, size, key=self, **options)

    def laplace(self, loc: Parameter = 0.0, scale: Parameter = 1.0, size: Optional[Shape] = None, **options: Any) -> Array:
        """ndock.random.laplace with this generator's numbers."""
        return laplace(loc, scale, size, key=self, **options)

    def logistic(self, loc: Parameter = 0.0, scale: Parameter = 1.0, size: Optional[Shape] = None, **options: Any) -> Array:
        """ndock.random.logistic with this generator's numbers."""
        return logistic(loc, scale, size, key=self, **options)

    def gumbel(self, loc: Parameter = 0.0, scale: Parameter = 1.0, size: Optional[Shape] = None, **options: Any) -> Array:
        """ndock.random.gumbel with this generator's numbers."""
        return gumbel(loc, scale, size, key=self, **options)

    def rayleigh(self, scale: Parameter = 1.0, size: Optional[Shape] = None, **options: Any) -> Array:
        """ndock.random.rayleigh with this generator's numbers."""
        return rayleigh(scale, size, key=self, **options)

    def weibull(self, a: Parameter, size: Optional[Shape] = None, **options: Any) -> Array:
        """ndock.random.weibull with this generator's numbers."""
        return weibull(a, size, key=self, **options)

    def pareto(self, a: Parameter, size: Optional[Shape] = None, **options: Any) -> Array:
        """ndock.random.pareto with this generator's numbers."""
        return pareto(a, size, key=self, **options)

    def triangular(self, left: Parameter, mode: Parameter, right: Parameter,
                   size: Optional[Shape] = None, **options: Any) -> Array:
        """ndock.random.triangular with this generator's numbers."""
        return triangular(left, mode, right, size, key=self, **options)

    def lognormal(self, mean: Parameter = 0.0, sigma: Parameter = 1.0, size: Optional[Shape] = None, **options: Any) -> Array:
        """ndock.random.lognormal with this generator's numbers."""
        return lognormal(mean, sigma, size, key=self, **options)

    def gamma(self, shape: Parameter, scale: Parameter = 1.0, size: Optional[Shape] = None, **options: Any) -> Array:
        """ndock.random.gamma with this generator's numbers."""
        return gamma(shape, scale, size, key=self, **options)

    def beta(self, a: Parameter, b: Parameter, size: Optional[Shape] = None, **options: Any) -> Array:
        """ndock.random.beta with this generator's numbers."""
        return beta(a, b, size, key=self, **options)

    def chisquare(self, df: Parameter, size: Optional[Shape] = None, **options: Any) -> Array:
        """ndock.random.chisquare with this generator's numbers."""
        return chisquare(df, size, key=self, **options)

    def standard_t(self, df: Parameter, size: Optional[Shape] = None, **options: Any) -> Array:
        """ndock.random.standard_t with this generator's numbers."""
        return standard_t(df, size, key=self, **options)

    def truncated_normal(self, low: Parameter = -2.0, high: Parameter = 2.0, loc: Parameter = 0.0, scale: Parameter = 1.0,
                         size: Optional[Shape] = None, **options: Any) -> Array:
        """ndock.random.truncated_normal with this generator's numbers."""
        return truncated_normal(low, high, loc, scale, size, key=self, **options)

    def bernoulli(self, p: Parameter = 0.5, size: Optional[Shape] = None, **options: Any) -> Array:
        """ndock.random.bernoulli with this generator's numbers."""
        return bernoulli(p, size, key=self, **options)

    def geometric(self, p: Parameter, size: Optional[Shape] = None, **options: Any) -> Array:
        """ndock.random.geometric with this generator's numbers."""
        return geometric(p, size, key=self, **options)

    def poisson(self, lam: Parameter = 1.0, size: Optional[Shape] = None, **options: Any) -> Array:
        """ndock.random.poisson with this generator's numbers."""
        return poisson(lam, size, key=self, **options)

    def binomial(self, n: Parameter, p: Parameter, size: Optional[Shape] = None, **options: Any) -> Array:
        """ndock.random.binomial with this generator's numbers."""
        return binomial(n, p, size, key=self, **options)

    def negative_binomial(self, n: Parameter, p: Parameter, size: Optional[Shape] = None, **options: Any) -> Array:
        """ndock.random.negative_binomial with this generator's numbers."""
        return negative_binomial(n, p, size, key=self, **options)

    def hypergeometric(self, ngood: Parameter, nbad: Parameter, nsample: Parameter,
                       size: Optional[Shape] = None, **options: Any) -> Array:
        """ndock.random.hypergeometric with this generator's numbers."""
        return hypergeometric(ngood, nbad, nsample, size, key=self, **options)

    def choice(self, a: Union[int, ArrayLike], size: Optional[Shape] = None, replace: bool = True,
               p: Optional[ArrayLike] = None, axis: int = 0, **options: Any) -> Array:
        """ndock.random.choice with this generator's numbers."""
        return choice(a, size, replace, p, axis, key=self, **options)

    def categorical(self, p: ArrayLike, size: Optional[Shape] = None, **options: Any) -> Array:
        """ndock.random.categorical with this generator's numbers."""
        return categorical(p, size, key=self, **options)

    def multinomial(self, n: int, pvals: ArrayLike, size: Optional[Shape] = None, **options: Any) -> Array:
        """ndock.random.multinomial with this generator's numbers."""
        return multinomial(n, pvals, size, key=self, **options)

    def dirichlet(self, alpha: ArrayLike, size: Optional[Shape] = None, **options: Any) -> Array:
        """ndock.random.dirichlet with this generator's numbers."""
        return dirichlet(alpha, size, key=self, **options)

    def multivariate_normal(self, mean: ArrayLike, cov: ArrayLike, size: Optional[Shape] = None, **options: Any) -> Array:
        """ndock.random.multivariate_normal with this generator's numbers."""
        return multivariate_normal(mean, cov, size, key=self, **options)

    def permutation(self, x: Union[int, ArrayLike], /, axis: int = 0, **options: Any) -> Array:
        """ndock.random.permutation with this generator's numbers."""
        return permutation(x, axis, key=self, **options)

    def shuffle(self, x: Array, axis: int = 0) -> None:
        """ndock.random.shuffle with this generator's numbers."""
        shuffle(x, axis, key=self)
