# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Devices as the course's needle sees them: a name, and behind it a module with the backend interface."""
from __future__ import annotations

from . import _ndock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import ModuleType
    from typing import Any, Optional, Union

    from ._needle_array import NDArray

__all__ = ["BackendDevice", "all_devices", "backend", "cpu", "cpu_numpy", "cuda", "default_device"]

# What a backend has; BackendDevice passes these names on.
_INTERFACE = frozenset(
    ["Array", "__device_name__", "__tile_size__", "compact", "ewise_setitem", "fill", "from_numpy", "matmul",
     "matmul_tiled", "reduce_max", "reduce_sum", "scalar_power", "scalar_setitem", "to_numpy", "ewise_log", "ewise_exp",
     "ewise_tanh"] + [a + b for a in ("ewise_", "scalar_") for b in ("add", "mul", "div", "maximum", "eq", "ge")])
_backends: dict[str, ModuleType] = {}


def backend(device: Union[str, _ndock.Device, BackendDevice]) -> ModuleType:
    """A module object with needle's backend interface on the device, the same one for each call.

    device: "cpu", "cuda", "cuda:1", an ndock.Device, or a BackendDevice. ndock.Error where there is no such device; the
    message lists those there are and says why a plug-in was refused.

    Array(size) makes a handle of size float32 elements, which are not set, with .size and .ptr(). Every other function
    works on handles, whose sizes are checked (ValueError), writes into handles that the caller made, and queues its work
    on the device's current stream; only to_numpy and .ptr() wait. Shapes, strides and offsets count elements; strides
    may be zero or negative. Any thread may call. The course's own NDArray class runs on it unmodified:

        sys.modules["needle.backend_ndarray.ndarray_backend_cpu"] = ndock.needle.backend("cpu")
    """
    where = device._where if isinstance(device, BackendDevice) else device
    name = str(_ndock.Device(where))
    if name not in _backends:
        _backends.setdefault(name, _ndock._needle_backend(name))
    return _backends[name]


class BackendDevice:
    """A device of needle: equal where the names are. It is opened when it is first used.

    name: "cpu", "cuda", "cuda:1" ..., or "cpu_numpy". mod: its backend; by default that of the ndock device of the name.
    The backend's functions are attributes of the device: device.ewise_add(a, b, out)."""

    def __init__(self, name: Union[str, _ndock.Device], mod: Optional[ModuleType] = None) -> None:
        name = str(name)
        self.name = name[:-2] if name.endswith(":0") else name
        self._mod = mod

    @property
    def _where(self) -> str:
        """The ndock device's name."""
        name = "cpu" if self.name == "cpu_numpy" else self.name
        return name if ":" in name else name + ":0"

    @property
    def mod(self) -> Optional[ModuleType]:
        """The backend, or None where the device cannot be used."""
        try:
            return self._backend()
        except _ndock.Error:
            return None

    def _backend(self) -> ModuleType:
        if self._mod is None:
            self._mod = backend(self._where)
        return self._mod

    def __getattr__(self, name: str) -> Any:
        if name not in _INTERFACE:
            raise AttributeError(f"needle's device {self.name} has no attribute {name!r}")
        return getattr(self._backend(), name)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, BackendDevice) and self.name == other.name

    def __hash__(self) -> int:
        return hash(self.name)

    def __repr__(self) -> str:
        return self.name + "()"

    def enabled(self) -> bool:
        """Whether the device can be used; opens it."""
        return self.mod is not None

    def empty(self, shape: Union[int, Sequence[int]], dtype: Optional[str] = "float32") -> NDArray:
        """An array whose elements are not set."""
        from ._needle_array import NDArray, check_dtype
        check_dtype(dtype)
        return NDArray.make(shape, device=self)

    def full(self, shape: Union[int, Sequence[int]], fill_value: float, dtype: Optional[str] = "float32") -> NDArray:
        """An array of one value."""
        result = self.empty(shape, dtype)
        result.fill(fill_value)
        return result

    def rand(self, *shape: int, dtype: str = "float32") -> NDArray:
        """Uniform numbers of [0, 1) from NumPy's global generator, so that numpy.random.seed counts as in the course."""
        return self._random("rand", shape, dtype)

    def randn(self, *shape: int, dtype: str = "float32") -> NDArray:
        """Normal numbers of mean 0 and standard deviation 1, likewise."""
        return self._random("randn", shape, dtype)

    def _random(self, name: str, shape: tuple[int, ...], dtype: str) -> NDArray:
        import numpy

        from ._needle_array import NDArray, check_dtype
        check_dtype(dtype)
        return NDArray(numpy.asarray(getattr(numpy.random, name)(*shape), "float32"), device=self)

    def one_hot(self, n: int, i: Any, dtype: str = "float32") -> NDArray:
        """Rows of the n x n unit matrix: of the shape of i, an int or array of ints from -n to n - 1, with n added.
        IndexError for others."""
        from ._needle_array import one_hot, check_dtype
        check_dtype(dtype)
        return one_hot(n, i, self)


def cpu() -> BackendDevice:
    """The CPU."""
    return BackendDevice("cpu")


def cuda(index: int = 0) -> BackendDevice:
    """The CUDA device of that number, whether it is there or not: cuda().enabled() tells, and using one that is not
    there is an ndock.Error that says what is missing."""
    return BackendDevice(f"cuda:{index}")


def cpu_numpy() -> BackendDevice:
    """What the course computes by NumPy: here the CPU, too, under this name."""
    return BackendDevice("cpu_numpy")


def default_device() -> BackendDevice:
    """Where arrays are made when no device is given: cpu_numpy(), as in the course."""
    return cpu_numpy()


def all_devices() -> list[BackendDevice]:
    """cpu(), cuda() and cpu_numpy(); enabled() says which can be used."""
    return [cpu(), cuda(), cpu_numpy()]
