# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random arrays from Philox 4x32-10, by key and position: the same seed gives the same bits on every device (normal: to
rounding of log, sin and cos). Source: Salmon et al., Parallel Random Numbers: As Easy as 1, 2, 3, SC11.

Each function takes its numbers from `key`:

- a Key, which is a seed and a position in its stream of numbers: the call gives the same array every time;
- a Generator, whose position moves past what the call used;
- None: the calling thread's own Generator. It is seeded from the system's entropy when the thread first uses it, and
  again in a forked child; seed(n) makes it repeatable, for this thread alone.

>>> g = ndock.random.Generator(7)
>>> g.uniform(0, 1, (2, 3), dtype=ndock.float32).shape
(2, 3)
"""
from __future__ import annotations

import os
from _thread import _local, allocate_lock

from . import _capturing, _generator, _ndock
from ._distributions import *
from ._distributions import __all__ as _distributions
from ._sampling import *
from ._sampling import __all__ as _samples

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._types import Array, DeviceLike, DTypeLike, Optional, Shape, Union

__all__ = ["Generator", "Key", "default_rng", "integers", "key", "normal", "seed", "uniform"]
__all__ += _distributions + _samples


class Key:
    """A seed (64 bits) and a position (128 bits, in blocks) in its stream of numbers. Immutable.

    >>> nd.random.Key(7) == nd.random.key(7)
    True
    """

    __slots__ = ("_seed", "_position")

    def __init__(self, seed: int, position: int = 0) -> None:
        if not 0 <= seed < 2**64:
            raise ValueError(f"a seed is an int of 64 bits, 0 to 2**64 - 1, not {seed}")
        if not 0 <= position < 2**128:
            raise ValueError(f"a position is an int of 128 bits, 0 to 2**128 - 1, not {position}")
        self._seed, self._position = int(seed), int(position)

    @property
    def seed(self) -> int:
        """The stream."""
        return self._seed

    @property
    def position(self) -> int:
        """The next block of it that is used."""
        return self._position

    def skip(self, shape: Shape, dtype: DTypeLike) -> Key:
        """The key past the numbers that an array of that shape and dtype uses."""
        return Key(self._seed, _ndock._random_skip(self._position, _size(shape), dtype))

    def split(self, n: int = 2) -> tuple[Key, ...]:
        """n keys of other streams, their seeds drawn from this one's far end (blocks 2**127 - 1 - position and below)."""
        return tuple([Key(_ndock._philox(self._seed, (2**127 - 1 - self._position - i) % 2**128) % 2**64)
                      for i in range(n)])

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Key) and (self._seed, self._position) == (other._seed, other._position)

    def __hash__(self) -> int:
        return hash((self._seed, self._position))

    def __repr__(self) -> str:
        return f"Key(seed={self._seed}, position={self._position})"


def key(seed: int, position: int = 0) -> Key:
    """The key of a stream of numbers at a position; Key by the name that JAX's users know.

    Errors: ValueError for a range that is empty, TypeError for a dtype that does not fit.

    >>> nd.random.key(7)
    Key(seed=7, position=0)
    """
    return Key(seed, position)


def _size(shape: Shape) -> int:
    size = 1
    for n in (shape,) if hasattr(shape, "__index__") else shape:
        size *= n  # type: ignore[operator]
    return size


class Generator(_generator.Distributions):
    """A key whose position moves with every call. seed None: from the system's entropy. Any thread may use it: calls take
    their positions one after the other.

    >>> nd.random.Generator(7).uniform(0, 1, 3).shape
    (3,)
    """

    def __init__(self, seed: Optional[Union[int, Key]] = None) -> None:
        if seed is None:
            seed = int.from_bytes(os.urandom(8), "little")
        self._key = seed if isinstance(seed, Key) else Key(seed)
        self._lock = allocate_lock()

    @property
    def key(self) -> Key:
        """Where the next call begins; assign one to go back there."""
        return self._key

    @key.setter
    def key(self, key: Key) -> None:
        self._key = key

    def _take(self, shape: Shape, dtype: DTypeLike) -> Key:
        return self._take_blocks(_ndock._random_skip(0, _size(shape), dtype))

    def _take_blocks(self, n: int) -> Key:
        if _capturing.underway:
            _capturing.draws(self)
        with self._lock:
            now = self._key
            self._key = Key(now.seed, (now.position + n) % 2**128)
        return now

    def uniform(self, low: float = 0.0, high: float = 1.0, size: Optional[Shape] = None, *, shape: Optional[Shape] = None,
                dtype: Optional[DTypeLike] = None, device: Optional[DeviceLike] = None) -> Array:
        """ndock.random.uniform with this generator's numbers."""
        return uniform(low, high, size, shape=shape, key=self, dtype=dtype, device=device)

    def random(self, size: Optional[Shape] = None, *, dtype: Optional[DTypeLike] = None,
               device: Optional[DeviceLike] = None) -> Array:
        """Numbers of equal probability in [0, 1)."""
        return uniform(size=size, key=self, dtype=dtype, device=device)

    def normal(self, loc: float = 0.0, scale: float = 1.0, size: Optional[Shape] = None, *, shape: Optional[Shape] = None,
               dtype: Optional[DTypeLike] = None, device: Optional[DeviceLike] = None) -> Array:
        """ndock.random.normal with this generator's numbers."""
        return normal(loc, scale, size, shape=shape, key=self, dtype=dtype, device=device)

    def standard_normal(self, size: Optional[Shape] = None, *, dtype: Optional[DTypeLike] = None,
                        device: Optional[DeviceLike] = None) -> Array:
        """Numbers of the normal distribution with mean 0 and standard deviation 1."""
        return normal(size=size, key=self, dtype=dtype, device=device)

    def integers(self, low: int, high: Optional[int] = None, size: Optional[Shape] = None, *,
                 shape: Optional[Shape] = None, dtype: Optional[DTypeLike] = None,
                 device: Optional[DeviceLike] = None) -> Array:
        """ndock.random.integers with this generator's numbers."""
        return integers(low, high, size, shape=shape, key=self, dtype=dtype, device=device)

    def __repr__(self) -> str:
        return f"Generator({self._key!r})"


def default_rng(seed: Optional[Union[int, Key]] = None) -> Generator:
    """Generator(seed), by the name that NumPy's users know.

    Errors: ValueError for a range that is empty, TypeError for a dtype that does not fit.

    >>> nd.random.default_rng(1).integers(0, 10, 3).tolist() == nd.random.Generator(1).integers(0, 10, 3).tolist()
    True
    """
    return Generator(seed)


_thread = _local()


def _forget() -> None:
    global _thread
    _thread = _local()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)


def seed(seed: Optional[Union[int, Key]] = None, /) -> Generator:
    """Begin the calling thread's own generator anew, and return it. None: from the system's entropy.

    Errors: ValueError for a range that is empty, TypeError for a dtype that does not fit.

    >>> nd.random.seed(7)
    Generator(Key(seed=7, position=0))
    """
    _thread.generator = Generator(seed)
    return _thread.generator


def _key(key: Optional[Union[Key, Generator]], shape: Shape, dtype: DTypeLike) -> Key:
    return key if isinstance(key, Key) else _key_of(key, _ndock._random_skip(0, _size(shape), dtype))


def _key_of(key: Optional[Union[Key, _generator.Distributions]], blocks: int) -> Key:
    """Where a call begins that uses so many blocks."""
    if isinstance(key, Key):
        return key
    if key is None:
        key = getattr(_thread, "generator", None) or seed()
    if not isinstance(key, Generator):
        raise TypeError(f"a key is an ndock.random.Key or Generator, not {key!r}; ndock.random.key(seed) makes one")
    return key._take_blocks(blocks)


def _shape(function: str, size: Optional[Shape], shape: Optional[Shape]) -> Shape:
    """The one that was given; () of neither."""
    if size is not None and shape is not None:
        raise TypeError(f"{function}(): size and shape mean the same; give one of them")
    given = shape if size is None else size
    return () if given is None else given


def _number(function: str, name: str, value: float) -> float:
    """A parameter of a distribution. It is a shape that other libraries take first."""
    if hasattr(value, "__len__") and not hasattr(value, "__float__"):
        raise TypeError(f"{function}(): {name} is a number, not {value!r}; say size={value!r} for an array of that shape")
    return float(value)


def uniform(low: float = 0.0, high: float = 1.0, size: Optional[Shape] = None, *, shape: Optional[Shape] = None,
            key: Optional[Union[Key, Generator]] = None, dtype: Optional[DTypeLike] = None,
            device: Optional[DeviceLike] = None) -> Array:
    """Numbers of equal probability in [low, high), in the order of arguments that NumPy has. size, or shape: an int or a
    tuple, by default an array without axes. dtype: floating, by default float64. ValueError for low above high.

    key: a Key, a Generator, or None for the thread's own. device: a Device or its name; None is the current one.

    >>> nd.random.uniform(-1, 1, size=(2, 3)).shape
    (2, 3)
    """
    low, high = _number("uniform", "low", low), _number("uniform", "high", high)
    if low > high:
        raise ValueError(f"uniform(): low {low} is above high {high}; uniform(size=n) gives n numbers in [0, 1)")
    extents, dtype = _shape("uniform", size, shape), float if dtype is None else dtype
    k = _key(key, extents, dtype)
    return _ndock._random_uniform(k.seed, k.position, extents, dtype, device, low, high)


def normal(loc: float = 0.0, scale: float = 1.0, size: Optional[Shape] = None, *, shape: Optional[Shape] = None,
           key: Optional[Union[Key, Generator]] = None, dtype: Optional[DTypeLike] = None,
           device: Optional[DeviceLike] = None) -> Array:
    """Numbers of the normal distribution with mean loc and standard deviation scale, by Box and Muller's transform, in the
    order of arguments that NumPy has. size, or shape: an int or a tuple, by default an array without axes. dtype: floating,
    by default float64. ValueError for a negative scale.

    key: a Key, a Generator, or None for the thread's own. device: a Device or its name; None is the current one.

    >>> nd.random.normal(0, 1, 5).shape
    (5,)
    """
    loc, scale = _number("normal", "loc", loc), _number("normal", "scale", scale)
    if scale < 0:
        raise ValueError(f"normal(): scale, the standard deviation, is {scale}; it is not negative")
    extents, dtype = _shape("normal", size, shape), float if dtype is None else dtype
    k = _key(key, extents, dtype)
    return _ndock._random_normal(k.seed, k.position, extents, dtype, device, loc, scale)


def integers(low: int, high: Optional[int] = None, size: Optional[Shape] = None, *, shape: Optional[Shape] = None,
             key: Optional[Union[Key, Generator]] = None, dtype: Optional[DTypeLike] = None,
             device: Optional[DeviceLike] = None) -> Array:
    """Integers of equal probability, low <= x < high; integers(n) means 0 <= x < n. size, or shape: an int or a tuple, by
    default an array without axes. dtype: integer, by default int64.

    key: a Key, a Generator, or None for the thread's own. device: a Device or its name; None is the current one.
    Errors: ValueError for a range that is empty, TypeError for a dtype that does not fit.

    >>> x = nd.random.integers(1, 7, size=100)
    >>> bool(nd.all((1 <= x) & (x < 7)))
    True
    """
    if high is None:
        low, high = 0, low
    extents, dtype = _shape("integers", size, shape), int if dtype is None else dtype
    k = _key(key, extents, dtype)
    return _ndock._random_integers(k.seed, k.position, extents, dtype, device, low, high)


_INSTEAD = {"rand": "uniform(size=shape)", "randn": "normal(size=shape)",
            "random": "uniform(size=shape)", "random_sample": "uniform(size=shape)", "ranf": "uniform(size=shape)",
            "randint": "integers(low, high, size)", "standard_normal": "normal(size=shape)", "PRNGKey": "key(seed)",
            "RandomState": "Generator(seed)", "SeedSequence": "key(seed) and its split()", "split": "key.split(n)", "randperm": "permutation(n)",
            "manual_seed": "seed(n)", "standard_exponential": "exponential(size=shape)", "standard_gamma": "gamma(shape, size=shape)",
            "standard_cauchy": "cauchy(size=shape)"}
_LATER = frozenset("""bytes f logseries noncentral_chisquare noncentral_f power vonmises wald zipf""".split())


def __getattr__(name: str) -> object:
    if name in _INSTEAD:
        raise AttributeError(f"random.{name}: use nd.random.{_INSTEAD[name]}")
    if name in _LATER:
        raise AttributeError(f"random.{name} is not in this version of ndock")
    raise AttributeError(f"module 'ndock.random' has no attribute {name!r}")
