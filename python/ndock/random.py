# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random arrays from Philox 4x32-10, by key and position: the same seed gives the same bits on every device (normal: to
rounding of log, sin and cos). Source: Salmon et al., Parallel Random Numbers: As Easy as 1, 2, 3, SC11.

Each function takes its numbers from `key`:

- a Key, which is a seed and a position in its stream of numbers: the call gives the same array every time;
- a Generator, whose position moves past what the call used;
- None: the calling thread's own Generator. It is seeded from the system's entropy when the thread first uses it, and
  again in a forked child; seed(n) makes it repeatable, for this thread alone.

>>> g = ndock.random.Generator(7)
>>> g.uniform((2, 3), dtype=ndock.float32) is not g.uniform((2, 3), dtype=ndock.float32)
True
"""
from __future__ import annotations

import os
from _thread import _local, allocate_lock

from . import _ndock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._types import Array, DeviceLike, DTypeLike, Optional, Shape, Union

__all__ = ["Generator", "Key", "integers", "key", "normal", "permutation", "seed", "uniform"]


class Key:
    """A seed (64 bits) and a position (128 bits, in blocks) in its stream of numbers. Immutable."""

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
    """The key of a stream of numbers at a position; Key by the name that JAX's users know."""
    return Key(seed, position)


def _size(shape: Shape) -> int:
    size = 1
    for n in (shape,) if hasattr(shape, "__index__") else shape:
        size *= n  # type: ignore[operator]
    return size


class Generator:
    """A key whose position moves with every call. seed None: from the system's entropy. Any thread may use it: calls take
    their positions one after the other."""

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
        with self._lock:
            now = self._key
            self._key = now.skip(shape, dtype)
        return now

    def uniform(self, shape: Shape = (), /, low: float = 0.0, high: float = 1.0, *, dtype: Optional[DTypeLike] = None,
                device: Optional[DeviceLike] = None) -> Array:
        """ndock.random.uniform with this generator's numbers."""
        return uniform(shape, low, high, key=self, dtype=dtype, device=device)

    def normal(self, shape: Shape = (), /, mean: float = 0.0, std: float = 1.0, *, dtype: Optional[DTypeLike] = None,
               device: Optional[DeviceLike] = None) -> Array:
        """ndock.random.normal with this generator's numbers."""
        return normal(shape, mean, std, key=self, dtype=dtype, device=device)

    def integers(self, low: int, high: Optional[int] = None, /, shape: Shape = (), *,
                 dtype: Optional[DTypeLike] = None, device: Optional[DeviceLike] = None) -> Array:
        """ndock.random.integers with this generator's numbers."""
        return integers(low, high, shape, key=self, dtype=dtype, device=device)

    def permutation(self, n: int, /, *, device: Optional[DeviceLike] = None) -> Array:
        """ndock.random.permutation with this generator's numbers."""
        return permutation(n, key=self, device=device)

    def __repr__(self) -> str:
        return f"Generator({self._key!r})"


_thread = _local()


def _forget() -> None:
    global _thread
    _thread = _local()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)


def seed(seed: Optional[Union[int, Key]] = None, /) -> Generator:
    """Begin the calling thread's own generator anew, and return it. None: from the system's entropy."""
    _thread.generator = Generator(seed)
    return _thread.generator


def _key(key: Optional[Union[Key, Generator]], shape: Shape, dtype: DTypeLike) -> Key:
    if isinstance(key, Key):
        return key
    if key is None:
        key = getattr(_thread, "generator", None) or seed()
    if not isinstance(key, Generator):
        raise TypeError(f"a key is an ndock.random.Key or Generator, not {key!r}; ndock.random.key(seed) makes one")
    return key._take(shape, dtype)


def uniform(shape: Shape = (), /, low: float = 0.0, high: float = 1.0, *, key: Optional[Union[Key, Generator]] = None,
            dtype: Optional[DTypeLike] = None, device: Optional[DeviceLike] = None) -> Array:
    """Numbers of equal probability in [low, high). dtype: floating, by default float64."""
    dtype = float if dtype is None else dtype
    k = _key(key, shape, dtype)
    return _ndock._random_uniform(k.seed, k.position, shape, dtype, device, low, high)


def normal(shape: Shape = (), /, mean: float = 0.0, std: float = 1.0, *, key: Optional[Union[Key, Generator]] = None,
           dtype: Optional[DTypeLike] = None, device: Optional[DeviceLike] = None) -> Array:
    """Numbers of the normal distribution, by Box and Muller's transform. dtype: floating, by default float64."""
    dtype = float if dtype is None else dtype
    k = _key(key, shape, dtype)
    return _ndock._random_normal(k.seed, k.position, shape, dtype, device, mean, std)


def integers(low: int, high: Optional[int] = None, /, shape: Shape = (), *,
             key: Optional[Union[Key, Generator]] = None, dtype: Optional[DTypeLike] = None,
             device: Optional[DeviceLike] = None) -> Array:
    """Integers of equal probability, low <= x < high; integers(n) means 0 <= x < n. dtype: integer, by default int64."""
    if high is None:
        low, high = 0, low
    dtype = int if dtype is None else dtype
    k = _key(key, shape, dtype)
    return _ndock._random_integers(k.seed, k.position, shape, dtype, device, low, high)


def permutation(n: int, /, *, key: Optional[Union[Key, Generator]] = None,
                device: Optional[DeviceLike] = None) -> Array:
    """0 ... n - 1 in random order, int64: the positions that sort n random integers of 64 bits."""
    k = _key(key, n, "uint64")
    return _ndock._random_permutation(k.seed, k.position, n, device)
