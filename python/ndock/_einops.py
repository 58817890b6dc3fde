# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""einops' functions on Arrays. einops finds a library by the subclasses of its AbstractBackend, so ours is defined as soon
as einops is there: at once where the program has imported it, else when it does. Neither is imported for the other's sake."""
from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._types import Any, Array, Optional, Sequence


def _define(backends: Any) -> None:
    import ndock as nd

    class NdockBackend(backends.AbstractBackend):  # type: ignore[misc]
        framework_name = "ndock"

        def is_appropriate_type(self, tensor: object) -> bool:
            return isinstance(tensor, nd.Array)

        def from_numpy(self, x: Any) -> Array:
            return nd.asarray(x)

        def to_numpy(self, x: Array) -> Any:
            return x.cpu().numpy()

        def arange(self, start: int, stop: int) -> Array:
            return nd.arange(start, stop)

        def reduce(self, x: Array, operation: str, axes: Sequence[int]) -> Array:
            return getattr(nd, operation)(x, axis=tuple(axes))

        def stack_on_zeroth_dimension(self, tensors: list[Array]) -> Array:
            return nd.stack(tensors)

        def add_axis(self, x: Array, new_position: int) -> Array:
            return nd.expand_dims(x, new_position)

        def tile(self, x: Array, repeats: Sequence[int]) -> Array:
            return nd.tile(x, repeats)

        def concat(self, tensors: Sequence[Array], axis: int) -> Array:
            return nd.concat(tensors, axis=axis)

        def is_float_type(self, x: Array) -> bool:
            return nd.isdtype(x.dtype, ("real floating", "complex floating"))

    global _backend
    _backend = NdockBackend  # AbstractBackend.__subclasses__() holds weak references alone


_backend: Any = None
_MODULE = "einops._backends"


class _Watch:
    """A finder that finds nothing itself: it defines the backend when einops has been read."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Optional[Any]:
        if name != _MODULE:
            return None
        from importlib.util import find_spec
        sys.meta_path.remove(self)
        spec = find_spec(name)
        if spec is None or spec.loader is None:
            return spec
        read = spec.loader.exec_module

        def exec_module(module: Any) -> None:
            read(module)
            _define(module)
        spec.loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec


def register() -> None:
    """Now, or when einops is imported."""
    if _MODULE in sys.modules:
        _define(sys.modules[_MODULE])
    else:
        sys.meta_path.insert(0, _Watch())
