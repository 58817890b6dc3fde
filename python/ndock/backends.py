# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What devices keep for operations, under the names of torch.backends.

nd.backends.fft.plan_cache: the plans of Fourier transforms (tables of roots of unity; on NVIDIA GPUs cuFFT's plans) of the
current device, nd.backends.fft.plan_cache["cuda:0"] of that one, as torch.backends.cuda.cufft_plan_cache has them: size,
max_size, clear(). A device keeps all its plans in one cache, the least recently used first to go, 4,096 of them at most unless
max_size says otherwise; a plan that queued work still uses is destroyed when that work is done. Any thread may use any of it."""
from __future__ import annotations

from . import _ndock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._types import DeviceLike, Optional

__all__ = ["PlanCache", "fft"]


class PlanCache:
    """PlanCache(device=None): the plans that a device keeps; None is whichever is the current one when it is asked.

    >>> cache = nd.backends.PlanCache("cpu")
    >>> cache.clear()
    >>> x = nd.fft.fft(nd.ones(30, device="cpu"))
    >>> cache.size
    1
    >>> cache.max_size = 64
    >>> cache.max_size
    64
    >>> cache.max_size = 4096
    """

    __slots__ = ("_device",)

    def __init__(self, device: Optional[DeviceLike] = None) -> None:
        self._device = None if device is None else _ndock.Device(device)

    def __getitem__(self, device: DeviceLike) -> PlanCache:
        """The cache of another device: a Device, its name, or a number of the kind of the current one."""
        if isinstance(device, int):
            device = f"{str(_ndock.Device(self._device)).partition(':')[0]}:{device}"
        return PlanCache(device)

    def _stat(self, name: str) -> int:
        return int(_ndock._plan_stats(self._device)[name])

    @property
    def size(self) -> int:
        """How many plans are kept."""
        return self._stat("size")

    @property
    def max_size(self) -> int:
        """The most that are kept; 0 keeps none. Set to less than there are, the oldest go now; ValueError below 0."""
        return self._stat("max_size")

    @max_size.setter
    def max_size(self, most: int) -> None:
        _ndock._plan_limit(self._device, most, None)

    @property
    def nbytes(self) -> int:
        """The bytes that those which are kept say they take."""
        return self._stat("nbytes")

    @property
    def max_bytes(self) -> int:
        """The most of these; 2**63 - 1, no limit, at first. ValueError below 0."""
        return self._stat("max_bytes")

    @max_bytes.setter
    def max_bytes(self, most: int) -> None:
        _ndock._plan_limit(self._device, None, most)

    def stats(self) -> dict[str, int]:
        """All numbers at once: size, max_size, nbytes, max_bytes; hits and misses; evictions; in_flight, no longer kept
        but used by queued work still."""
        found: dict[str, int] = _ndock._plan_stats(self._device)
        return found

    def clear(self) -> None:
        """Forget every plan. Waits for nothing."""
        _ndock._plan_clear(self._device)

    def __repr__(self) -> str:
        s = self.stats()
        return f"<plans of {_ndock.Device(self._device)}: {s['size']} of at most {s['max_size']}, {s['nbytes']} bytes>"


class _Fft:
    """What Fourier transforms keep: plan_cache."""

    __slots__ = ("plan_cache",)

    def __init__(self) -> None:
        self.plan_cache = PlanCache()


fft = _Fft()
