# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Samples: nd.random's choice, categories, shuffled arrays and random vectors; ndock/random.py explains keys."""
from __future__ import annotations

from . import _ndock
from ._creation import asarray
from ._distributions import _device_of
from ._indexing import take
from ._ndock import Array

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._distributions import KeyLike
    from ._types import Any, ArrayLike, DeviceLike, DTypeLike, Optional, Shape, Union

__all__ = ["categorical", "choice", "dirichlet", "multinomial", "multivariate_normal", "permutation", "shuffle"]


def _blocks(n: int, dtype: DTypeLike) -> int:
    return _ndock._random_skip(0, n, dtype)


def _array(x: Any, device: Optional[DeviceLike]) -> Array:
    return x if isinstance(x, Array) else asarray(x, device=device)


def _extents(function: str, size: Optional[Shape], shape: Optional[Shape], default: tuple[int, ...]) -> tuple[int, ...]:
    from . import random
    given = random._shape(function, size, shape)
    if size is None and shape is None:
        return default
    return (given.__index__(),) if hasattr(given, "__index__") else tuple(given)


def choice(a: Union[int, ArrayLike], size: Optional[Shape] = None, replace: bool = True, p: Optional[ArrayLike] = None,
           axis: int = 0, *, shape: Optional[Shape] = None, key: Optional[KeyLike] = None,
           device: Optional[DeviceLike] = None) -> Array:
    """Parts of a along axis, or positions below an int a (int64), drawn at random. size, or shape: how many, an int or a tuple
    that takes the place of the axis; by default one, without an axis.

    replace: whether one may come twice; without, they come in the order in which they were drawn. p: their probabilities,
    which add up to 1; by default all are alike. key, device: as for uniform; device is that of an array a.
    Errors: ValueError for p that is negative or does not add up to 1, and for more than there are without replacement.

    >>> sorted(nd.random.choice(4, 4, replace=False).tolist())
    [0, 1, 2, 3]
    >>> nd.random.choice(2, 3, p=[0.0, 1.0]).tolist()
    [1, 1, 1]
    """
    from . import random
    extents = _extents("choice", size, shape, ())
    count = random._size(extents)
    source = None if hasattr(a, "__index__") and not hasattr(a, "shape") else _array(a, device)
    if source is not None and source.ndim == 0:
        a, source = int(source), None
    device = _device_of([source, p], device)
    weights = None if p is None else _array(p, device)
    n = a.__index__() if source is None else source.shape[axis]  # type: ignore[union-attr]
    blocks = _blocks(count, "float64") if replace else _blocks(n, "float64")
    k = random._key_of(key, blocks)
    at = _ndock._random_choice(k.seed, k.position, extents, "int64", device, n, weights, replace)
    return at if source is None else _taken(source, at, axis)


def _taken(source: Array, at: Array, axis: int) -> Array:
    """The parts of source at those positions, whose axes take the place of the axis."""
    axis %= source.ndim
    taken = take(source, at.reshape((-1,)), axis=axis)
    return taken.reshape(source.shape[:axis] + at.shape + source.shape[axis + 1:])


def categorical(p: ArrayLike, size: Optional[Shape] = None, *, shape: Optional[Shape] = None,
                key: Optional[KeyLike] = None, device: Optional[DeviceLike] = None) -> Array:
    """Positions along the last axis of p (int64), with probabilities in proportion to its weights, which need not add up to 1.

    p: weights, (..., categories). size, or shape: of the result, to which p's other axes broadcast; by default those axes. The
    same bits on every device. key, device: as for uniform.
    Errors: ValueError for a weight that is negative or not finite, and where all of a row are 0.

    >>> nd.random.categorical([[0.0, 2.0], [5.0, 0.0]]).tolist()
    [1, 0]
    """
    from . import random
    weights = _array(p, _device_of([p], device))
    extents = _extents("categorical", size, shape, weights.shape[:-1])
    k = random._key_of(key, _blocks(random._size(extents), "float64"))
    return _ndock._random_categorical(k.seed, k.position, extents, "int64", None, weights)


def multinomial(n: int, pvals: ArrayLike, size: Optional[Shape] = None, *, shape: Optional[Shape] = None,
                key: Optional[KeyLike] = None, device: Optional[DeviceLike] = None) -> Array:
    """How often each category comes in n draws (int64), in the last axis of the result.

    pvals: weights, (..., categories), as for categorical. size, or shape: of the other axes of the result, to which pvals'
    broadcast; by default those. key, device: as for uniform.
    Errors: ValueError for n below 0, a weight that is negative or not finite, and where all of a row are 0.

    >>> nd.sum(nd.random.multinomial(20, [0.2, 0.3, 0.5], size=4), axis=-1).tolist()
    [20, 20, 20, 20]
    """
    from . import random
    weights = _array(pvals, _device_of([pvals], device))
    extents = _extents("multinomial", size, shape, weights.shape[:-1])
    k = random._key_of(key, random._size(extents) * weights.shape[-1] if weights.ndim else 0)
    return _ndock._random_multinomial(k.seed, k.position, extents, "int64", None, n, weights)


def dirichlet(alpha: ArrayLike, size: Optional[Shape] = None, *, shape: Optional[Shape] = None,
              key: Optional[KeyLike] = None, dtype: Optional[DTypeLike] = None,
              device: Optional[DeviceLike] = None) -> Array:
    """Probabilities that add up to 1 along the last axis, of the Dirichlet distribution.

    alpha: parameters above 0, (..., k). size, or shape: of the other axes of the result, to which alpha's broadcast; by default
    those. dtype: floating, by default float64. key, device: as for uniform.
    Errors: ValueError for an alpha that is not above 0; TypeError for a dtype that does not fit.

    >>> nd.random.dirichlet([1.0, 2.0, 3.0], size=4).shape
    (4, 3)
    """
    from . import random
    parameters = _array(alpha, _device_of([alpha], device))
    extents = _extents("dirichlet", size, shape, parameters.shape[:-1])
    k = random._key_of(key, random._size(extents) * parameters.shape[-1] if parameters.ndim else 0)
    return _ndock._random_dirichlet(k.seed, k.position, extents, dtype or "float64", None, parameters)


def multivariate_normal(mean: ArrayLike, cov: ArrayLike, size: Optional[Shape] = None, *, shape: Optional[Shape] = None,
                        key: Optional[KeyLike] = None, dtype: Optional[DTypeLike] = None,
                        device: Optional[DeviceLike] = None) -> Array:
    """Normal vectors of that mean (d,) and covariance matrix cov (d, d), in the last axis: mean + L z, L the Cholesky factor of
    cov, whose lower triangle is read.

    size, or shape: of the other axes of the result; by default none. dtype: float32 or float64 (the default). key, device: as
    for uniform.
    Errors: linalg.LinAlgError for a cov that is not positive definite; ValueError for shapes that do not fit.

    >>> nd.random.multivariate_normal([0.0, 1.0], [[1.0, 0.5], [0.5, 2.0]], size=3).shape
    (3, 2)
    """
    from . import random
    device = _device_of([mean, cov], device)
    m, c = _array(mean, device), _array(cov, device)
    extents, dtype = _extents("multivariate_normal", size, shape, ()), dtype or "float64"
    k = random._key_of(key, _blocks(random._size(extents) * random._size(m.shape), dtype))
    return _ndock._random_multivariate_normal(k.seed, k.position, extents, dtype, None, m, c)


def permutation(x: Union[int, ArrayLike], /, axis: int = 0, *, key: Optional[KeyLike] = None,
                device: Optional[DeviceLike] = None) -> Array:
    """x with its parts along axis in random order, as a new array; of an int, 0 ... x - 1 in random order (int64): the positions
    that sort as many random integers of 64 bits.

    key: a Key, a Generator, or None for the thread's own. device: a Device or its name; None is the current one.
    Errors: ValueError for an int below 0, and for an array without axes.

    >>> sorted(nd.random.permutation(4).tolist())
    [0, 1, 2, 3]
    """
    from . import random
    if hasattr(x, "__index__") and not hasattr(x, "shape"):
        n = x.__index__()
        k = random._key_of(key, _blocks(n, "uint64"))
        return _ndock._random_permutation(k.seed, k.position, n, device)
    a = _array(x, device)
    k = random._key_of(key, _blocks(a.shape[axis] if a.ndim else 0, "uint64"))
    return _ndock._random_shuffle(k.seed, k.position, (), "int64", None, a, axis)


def shuffle(x: Array, axis: int = 0, *, key: Optional[KeyLike] = None) -> None:
    """Puts the parts of an Array along axis in random order, in place: that of permutation(x, axis).

    x: an Array that is not read-only. key: a Key, a Generator, or None for the thread's own.
    Errors: TypeError for what is no Array, ValueError for one without axes or read-only.

    >>> x = nd.arange(4)
    >>> nd.random.shuffle(x)
    >>> sorted(x.tolist())
    [0, 1, 2, 3]
    """
    if not isinstance(x, Array):
        raise TypeError(f"shuffle() takes an ndock.Array, not {type(x).__name__}; permutation(x) makes a new one")
    x[...] = permutation(x, axis, key=key)
