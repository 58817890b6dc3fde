# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random numbers of distributions: nd.random's functions, and the generator's methods of their names. Each is a row of
distribution.def; ndock/random.py explains keys."""
from __future__ import annotations

from . import _ndock
from ._creation import asarray
from ._ndock import Array

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._types import Any, ArrayLike, DeviceLike, DTypeLike, Optional, Shape, Union
    from ._generator import Distributions
    from .random import Key
    KeyLike = Union[Key, Distributions]
    Parameter = Union[float, ArrayLike]

__all__ = ["bernoulli", "beta", "binomial", "cauchy", "chisquare", "exponential", "gamma", "geometric", "gumbel",
           "hypergeometric", "laplace", "logistic", "lognormal", "negative_binomial", "pareto", "poisson", "rayleigh", "standard_t",
           "triangular", "truncated_normal", "weibull"]

_DTYPES = {"bernoulli": "bool", "geometric": "int64", "poisson": "int64", "binomial": "int64", "negative_binomial": "int64",
           "hypergeometric": "int64"}


def _device_of(values: list[Any], device: Optional[DeviceLike]) -> Optional[DeviceLike]:
    """The one that was asked for, else that of the first Array."""
    if device is None:
        for v in values:
            if isinstance(v, Array):
                return v.device
    return device


def _broadcast(shapes: list[tuple[int, ...]]) -> tuple[int, ...]:
    """What the shapes broadcast to; where they do not, the kernel's error says which."""
    ndim = max(map(len, shapes), default=0)
    padded = [(1,) * (ndim - len(s)) + s for s in shapes]
    return tuple(next((n for n in extents if n != 1), 1) for extents in zip(*padded))


def _draw(name: str, parameters: tuple[tuple[str, Parameter], ...], size: Optional[Shape], shape: Optional[Shape],
          key: Optional[KeyLike], dtype: Optional[DTypeLike], device: Optional[DeviceLike]) -> Array:
    from . import random
    values: list[Any] = [value for _, value in parameters]
    device = _device_of(values, device)
    for i, value in enumerate(values):
        if isinstance(value, Array):
            continue
        if hasattr(value, "__len__") or not hasattr(value, "__float__"):
            values[i] = asarray(value, device=device)
        else:
            values[i] = float(value)
    extents = random._shape(name, size, shape)
    if size is None and shape is None:
        extents = _broadcast([v.shape for v in values if isinstance(v, Array)])
    dtype = _DTYPES.get(name, "float64") if dtype is None else dtype
    k = random._key_of(key, _ndock._random_blocks(name, random._size(extents), dtype))
    return _ndock._random_draw(k.seed, k.position, extents, dtype, device, name, tuple(values))


def exponential(scale: Parameter = 1.0, size: Optional[Shape] = None, *,
                shape: Optional[Shape] = None, key: Optional[KeyLike] = None, dtype: Optional[DTypeLike] = None,
                device: Optional[DeviceLike] = None) -> Array:
    """The exponential distribution with mean scale.

    scale: a number, or an array that broadcasts to the result. size, or shape: an int or a tuple, by default what the
    parameters broadcast to. dtype: floating, by default float64. key, device: as for uniform.
    Errors: ValueError for a negative scale; TypeError for a dtype that does not fit.

    >>> nd.random.exponential(2.0, size=3).shape
    (3,)
    """
    return _draw("exponential", (("scale", scale),), size, shape, key, dtype, device)


def cauchy(loc: Parameter = 0.0, scale: Parameter = 1.0, size: Optional[Shape] = None, *,
           shape: Optional[Shape] = None, key: Optional[KeyLike] = None, dtype: Optional[DTypeLike] = None,
           device: Optional[DeviceLike] = None) -> Array:
    """The Cauchy distribution around loc with half width scale.

    loc, scale: numbers, or arrays that broadcast to the result. size, or shape: an int or a tuple, by default what the
    parameters broadcast to. dtype: floating, by default float64. key, device: as for uniform.
    Errors: ValueError for a negative scale; TypeError for a dtype that does not fit.

    >>> nd.random.cauchy(size=3).shape
    (3,)
    """
    return _draw("cauchy", (("loc", loc), ("scale", scale)), size, shape, key, dtype, device)


def laplace(loc: Parameter = 0.0, scale: Parameter = 1.0, size: Optional[Shape] = None, *,
            shape: Optional[Shape] = None, key: Optional[KeyLike] = None, dtype: Optional[DTypeLike] = None,
            device: Optional[DeviceLike] = None) -> Array:
    """The Laplace distribution: exponential of mean scale on either side of loc.

    loc, scale: numbers, or arrays that broadcast to the result. size, or shape: an int or a tuple, by default what the
    parameters broadcast to. dtype: floating, by default float64. key, device: as for uniform.
    Errors: ValueError for a negative scale; TypeError for a dtype that does not fit.

    >>> nd.random.laplace(0, 1, size=3).shape
    (3,)
    """
    return _draw("laplace", (("loc", loc), ("scale", scale)), size, shape, key, dtype, device)


def logistic(loc: Parameter = 0.0, scale: Parameter = 1.0, size: Optional[Shape] = None, *,
             shape: Optional[Shape] = None, key: Optional[KeyLike] = None, dtype: Optional[DTypeLike] = None,
             device: Optional[DeviceLike] = None) -> Array:
    """The logistic distribution with mean loc and distribution function 1/(1 + exp(-(x - loc)/scale)).

    loc, scale: numbers, or arrays that broadcast to the result. size, or shape: an int or a tuple, by default what the
    parameters broadcast to. dtype: floating, by default float64. key, device: as for uniform.
    Errors: ValueError for a negative scale; TypeError for a dtype that does not fit.

    >>> nd.random.logistic(size=(2, 2)).shape
    (2, 2)
    """
    return _draw("logistic", (("loc", loc), ("scale", scale)), size, shape, key, dtype, device)


def gumbel(loc: Parameter = 0.0, scale: Parameter = 1.0, size: Optional[Shape] = None, *,
           shape: Optional[Shape] = None, key: Optional[KeyLike] = None, dtype: Optional[DTypeLike] = None,
           device: Optional[DeviceLike] = None) -> Array:
    """The Gumbel distribution with mode loc and distribution function exp(-exp(-(x - loc)/scale)).

    loc, scale: numbers, or arrays that broadcast to the result. size, or shape: an int or a tuple, by default what the
    parameters broadcast to. dtype: floating, by default float64. key, device: as for uniform.
    Errors: ValueError for a negative scale; TypeError for a dtype that does not fit.

    >>> nd.random.gumbel(size=3).shape
    (3,)
    """
    return _draw("gumbel", (("loc", loc), ("scale", scale)), size, shape, key, dtype, device)


def rayleigh(scale: Parameter = 1.0, size: Optional[Shape] = None, *,
             shape: Optional[Shape] = None, key: Optional[KeyLike] = None, dtype: Optional[DTypeLike] = None,
             device: Optional[DeviceLike] = None) -> Array:
    """The Rayleigh distribution with mode scale: the length of two normal numbers of that deviation.

    scale: a number, or an array that broadcasts to the result. size, or shape: an int or a tuple, by default what the
    parameters broadcast to. dtype: floating, by default float64. key, device: as for uniform.
    Errors: ValueError for a negative scale; TypeError for a dtype that does not fit.

    >>> nd.random.rayleigh(2.0, 3).shape
    (3,)
    """
    return _draw("rayleigh", (("scale", scale),), size, shape, key, dtype, device)


def weibull(a: Parameter, size: Optional[Shape] = None, *,
            shape: Optional[Shape] = None, key: Optional[KeyLike] = None, dtype: Optional[DTypeLike] = None,
            device: Optional[DeviceLike] = None) -> Array:
    """The Weibull distribution of shape a and scale 1: distribution function 1 - exp(-x**a).

    a: a number, or an array that broadcasts to the result. size, or shape: an int or a tuple, by default what the
    parameters broadcast to. dtype: floating, by default float64. key, device: as for uniform.
    Errors: ValueError unless a is above 0; TypeError for a dtype that does not fit.

    >>> nd.random.weibull(1.5, 3).shape
    (3,)
    """
    return _draw("weibull", (("a", a),), size, shape, key, dtype, device)


def pareto(a: Parameter, size: Optional[Shape] = None, *,
           shape: Optional[Shape] = None, key: Optional[KeyLike] = None, dtype: Optional[DTypeLike] = None,
           device: Optional[DeviceLike] = None) -> Array:
    """The Lomax distribution, which NumPy calls pareto: distribution function 1 - (1 + x)**-a. Pareto's own is one more.

    a: a number, or an array that broadcasts to the result. size, or shape: an int or a tuple, by default what the
    parameters broadcast to. dtype: floating, by default float64. key, device: as for uniform.
    Errors: ValueError unless a is above 0; TypeError for a dtype that does not fit.

    >>> nd.random.pareto(3.0, 3).shape
    (3,)
    """
    return _draw("pareto", (("a", a),), size, shape, key, dtype, device)


def triangular(left: Parameter, mode: Parameter, right: Parameter, size: Optional[Shape] = None, *,
               shape: Optional[Shape] = None, key: Optional[KeyLike] = None, dtype: Optional[DTypeLike] = None,
               device: Optional[DeviceLike] = None) -> Array:
    """The triangular distribution in [left, right], most likely at mode.

    left, mode, right: numbers, or arrays that broadcast to the result. size, or shape: an int or a tuple, by default
    what the parameters broadcast to. dtype: floating, by default float64. key, device: as for uniform.
    Errors: ValueError unless left <= mode <= right and left < right; TypeError for a dtype that does not fit.

    >>> nd.random.triangular(-1, 0, 2, size=3).shape
    (3,)
    """
    return _draw("triangular", (("left", left), ("mode", mode), ("right", right)), size, shape, key, dtype, device)


def lognormal(mean: Parameter = 0.0, sigma: Parameter = 1.0, size: Optional[Shape] = None, *,
              shape: Optional[Shape] = None, key: Optional[KeyLike] = None, dtype: Optional[DTypeLike] = None,
              device: Optional[DeviceLike] = None) -> Array:
    """exp of normal numbers of that mean and standard deviation sigma.

    mean, sigma: numbers, or arrays that broadcast to the result. size, or shape: an int or a tuple, by default what the
    parameters broadcast to. dtype: floating, by default float64. key, device: as for uniform.
    Errors: ValueError for a negative sigma; TypeError for a dtype that does not fit.

    >>> nd.random.lognormal(0, 0.5, 3).shape
    (3,)
    """
    return _draw("lognormal", (("mean", mean), ("sigma", sigma)), size, shape, key, dtype, device)


def gamma(shape: Parameter, scale: Parameter = 1.0, size: Optional[Shape] = None, *, key: Optional[KeyLike] = None,
          dtype: Optional[DTypeLike] = None, device: Optional[DeviceLike] = None) -> Array:
    """The gamma distribution: density of x**(shape - 1) * exp(-x/scale). shape is the distribution's parameter here, as in
    NumPy; size alone says how many numbers.

    shape, scale: numbers, or arrays that broadcast to the result. size: an int or a tuple, by default what the parameters
    broadcast to. dtype: floating, by default float64. key, device: as for uniform.
    Errors: ValueError for a negative shape or scale; TypeError for a dtype that does not fit.

    >>> nd.random.gamma(2.0, 0.5, size=3).shape
    (3,)
    """
    return _draw("gamma", (("shape", shape), ("scale", scale)), size, None, key, dtype, device)


def beta(a: Parameter, b: Parameter, size: Optional[Shape] = None, *,
         shape: Optional[Shape] = None, key: Optional[KeyLike] = None, dtype: Optional[DTypeLike] = None,
         device: Optional[DeviceLike] = None) -> Array:
    """The beta distribution in [0, 1]: density of x**(a - 1) * (1 - x)**(b - 1).

    a, b: numbers, or arrays that broadcast to the result. size, or shape: an int or a tuple, by default what the
    parameters broadcast to. dtype: floating, by default float64. key, device: as for uniform.
    Errors: ValueError unless a and b are above 0; TypeError for a dtype that does not fit.

    >>> nd.random.beta(2, 3, size=3).shape
    (3,)
    """
    return _draw("beta", (("a", a), ("b", b)), size, shape, key, dtype, device)


def chisquare(df: Parameter, size: Optional[Shape] = None, *,
              shape: Optional[Shape] = None, key: Optional[KeyLike] = None, dtype: Optional[DTypeLike] = None,
              device: Optional[DeviceLike] = None) -> Array:
    """The chi-square distribution with df degrees of freedom.

    df: a number, or an array that broadcasts to the result. size, or shape: an int or a tuple, by default what the
    parameters broadcast to. dtype: floating, by default float64. key, device: as for uniform.
    Errors: ValueError unless df is above 0; TypeError for a dtype that does not fit.

    >>> nd.random.chisquare(4, size=3).shape
    (3,)
    """
    return _draw("chisquare", (("df", df),), size, shape, key, dtype, device)


def standard_t(df: Parameter, size: Optional[Shape] = None, *,
               shape: Optional[Shape] = None, key: Optional[KeyLike] = None, dtype: Optional[DTypeLike] = None,
               device: Optional[DeviceLike] = None) -> Array:
    """Student's t distribution with df degrees of freedom.

    df: a number, or an array that broadcasts to the result. size, or shape: an int or a tuple, by default what the
    parameters broadcast to. dtype: floating, by default float64. key, device: as for uniform.
    Errors: ValueError unless df is above 0; TypeError for a dtype that does not fit.

    >>> nd.random.standard_t(5, size=3).shape
    (3,)
    """
    return _draw("standard_t", (("df", df),), size, shape, key, dtype, device)


def truncated_normal(low: Parameter = -2.0, high: Parameter = 2.0, loc: Parameter = 0.0, scale: Parameter = 1.0, size: Optional[Shape] = None, *,
                     shape: Optional[Shape] = None, key: Optional[KeyLike] = None, dtype: Optional[DTypeLike] = None,
                     device: Optional[DeviceLike] = None) -> Array:
    """Normal numbers of mean loc and standard deviation scale, of which only those in [low, high] count. The bounds may be
    infinite, and far from loc.

    low, high, loc, scale: numbers, or arrays that broadcast to the result. size, or shape: an int or a tuple, by
    default what the parameters broadcast to. dtype: floating, by default float64. key, device: as for uniform.
    Errors: ValueError for low above high, or unless scale is above 0; TypeError for a dtype that does not fit.

    >>> x = nd.random.truncated_normal(5, 6, size=100)
    >>> bool(nd.all((x >= 5) & (x <= 6)))
    True
    """
    return _draw("truncated_normal", (("low", low), ("high", high), ("loc", loc), ("scale", scale)), size, shape, key, dtype, device)


def bernoulli(p: Parameter = 0.5, size: Optional[Shape] = None, *,
              shape: Optional[Shape] = None, key: Optional[KeyLike] = None, dtype: Optional[DTypeLike] = None,
              device: Optional[DeviceLike] = None) -> Array:
    """True with probability p, else False.

    p: a number, or an array that broadcasts to the result. size, or shape: an int or a tuple, by default what the
    parameters broadcast to. dtype: bool (the default), integer or floating: 0 or 1. key, device: as for uniform.
    Errors: ValueError for p outside of [0, 1]; TypeError for a dtype that does not fit.

    >>> nd.random.bernoulli(0.3, size=3).dtype == nd.bool
    True
    """
    return _draw("bernoulli", (("p", p),), size, shape, key, dtype, device)


def geometric(p: Parameter, size: Optional[Shape] = None, *,
              shape: Optional[Shape] = None, key: Optional[KeyLike] = None, dtype: Optional[DTypeLike] = None,
              device: Optional[DeviceLike] = None) -> Array:
    """The geometric distribution: trials of probability p up to the first success, at least 1.

    p: a number, or an array that broadcasts to the result. size, or shape: an int or a tuple, by default what the
    parameters broadcast to. dtype: integer, by default int64. key, device: as for uniform.
    Errors: ValueError for p outside of (0, 1]; TypeError for a dtype that does not fit.

    >>> nd.random.geometric(1.0, size=3).tolist()
    [1, 1, 1]
    """
    return _draw("geometric", (("p", p),), size, shape, key, dtype, device)


def poisson(lam: Parameter = 1.0, size: Optional[Shape] = None, *,
            shape: Optional[Shape] = None, key: Optional[KeyLike] = None, dtype: Optional[DTypeLike] = None,
            device: Optional[DeviceLike] = None) -> Array:
    """The Poisson distribution with mean lam, at most 2**53.

    lam: a number, or an array that broadcasts to the result. size, or shape: an int or a tuple, by default what the
    parameters broadcast to. dtype: integer, by default int64. key, device: as for uniform.
    Errors: ValueError for a negative lam; TypeError for a dtype that does not fit.

    >>> nd.random.poisson(4.0, size=3).shape
    (3,)
    """
    return _draw("poisson", (("lam", lam),), size, shape, key, dtype, device)


def binomial(n: Parameter, p: Parameter, size: Optional[Shape] = None, *,
             shape: Optional[Shape] = None, key: Optional[KeyLike] = None, dtype: Optional[DTypeLike] = None,
             device: Optional[DeviceLike] = None) -> Array:
    """The binomial distribution: successes in n trials, n up to 2**53, of probability p.

    n, p: numbers, or arrays that broadcast to the result. size, or shape: an int or a tuple, by default what the
    parameters broadcast to. dtype: integer, by default int64. key, device: as for uniform.
    Errors: ValueError for p outside of [0, 1], and for n that is negative or no integer; TypeError for a dtype that does not
    fit.

    >>> nd.random.binomial(10, 1.0, size=3).tolist()
    [10, 10, 10]
    """
    return _draw("binomial", (("n", n), ("p", p)), size, shape, key, dtype, device)


def negative_binomial(n: Parameter, p: Parameter, size: Optional[Shape] = None, *,
                      shape: Optional[Shape] = None, key: Optional[KeyLike] = None, dtype: Optional[DTypeLike] = None,
                      device: Optional[DeviceLike] = None) -> Array:
    """The negative binomial distribution: failures before the n-th success, of probability p; n need not be an integer.

    n, p: numbers, or arrays that broadcast to the result. size, or shape: an int or a tuple, by default what the
    parameters broadcast to. dtype: integer, by default int64. key, device: as for uniform.
    Errors: ValueError unless n is above 0 and p in (0, 1]; TypeError for a dtype that does not fit.

    >>> nd.random.negative_binomial(3, 0.5, size=3).shape
    (3,)
    """
    return _draw("negative_binomial", (("n", n), ("p", p)), size, shape, key, dtype, device)


def hypergeometric(ngood: Parameter, nbad: Parameter, nsample: Parameter, size: Optional[Shape] = None, *,
                   shape: Optional[Shape] = None, key: Optional[KeyLike] = None, dtype: Optional[DTypeLike] = None,
                   device: Optional[DeviceLike] = None) -> Array:
    """The hypergeometric distribution: good ones among nsample drawn without replacement from ngood and nbad, each up to
    10**9.

    ngood, nbad, nsample: numbers, or arrays that broadcast to the result. size, or shape: an int or a tuple, by default
    what the parameters broadcast to. dtype: integer, by default int64. key, device: as for uniform.
    Errors: ValueError for counts that are negative or no integers, and for nsample above ngood + nbad; TypeError for a dtype
    that does not fit.

    >>> nd.random.hypergeometric(5, 0, 3, size=2).tolist()
    [3, 3]
    """
    return _draw("hypergeometric", (("ngood", ngood), ("nbad", nbad), ("nsample", nsample)), size, shape, key, dtype, device)
