# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""N-dimensional arrays whose devices are plug-ins: the Python array API 2025.12 on any of them.

>>> import ndock as nd
>>> x = nd.arange(3, dtype=nd.float32)
>>> x + 1
array([1., 2., 3.], dtype=float32, device='cpu:0')
"""
from ._ndock import *  # noqa: F403
from ._ndock import __version__ as __version__
from ._averages import *  # noqa: F403
from ._calculus import *  # noqa: F403
from ._comparing import *  # noqa: F403
from ._creation import *  # noqa: F403
from ._custom import *  # noqa: F403
from ._debug import *  # noqa: F403
from ._device import *  # noqa: F403
from ._dtypes import *  # noqa: F403
from ._editing import *  # noqa: F403
from ._elementwise import *  # type: ignore[assignment]  # noqa: F403
from ._exchange import *  # noqa: F403
from ._files import *  # noqa: F403
from ._graph import *  # noqa: F403
from ._graphed import *  # noqa: F403
from ._fuse import *  # noqa: F403
from ._histogram import *  # noqa: F403
from ._indexing import *  # noqa: F403
from ._info import __array_namespace_info__ as __array_namespace_info__
from ._kernel_cache import *  # noqa: F403
from ._kernels import *  # noqa: F403
from ._linalg import *  # noqa: F403
from ._log import *  # noqa: F403
from ._manipulation import *  # noqa: F403
from ._matrices import *  # noqa: F403
from ._modules import *  # noqa: F403
from ._nan import *  # noqa: F403
from ._positions import *  # noqa: F403
from ._printing import *  # noqa: F403
from ._sets import *  # noqa: F403
from ._products import *  # noqa: F403
from ._quantized import *  # noqa: F403
from ._sorting import *  # noqa: F403
from ._stacking import *  # noqa: F403
from ._statistics import *  # noqa: F403
from ._text_files import *  # noqa: F403
from ._vectorize import *  # noqa: F403
from . import _einops, _methods as _methods, _numpy_protocols as _numpy_protocols  # the methods of Array that are Python
from . import backends as backends, comm as comm, fft as fft, linalg as linalg, math as math, memory as memory, parallel as parallel, peer as peer
from . import random as random, nn as nn, signal as signal, special as special
from .signal import _convolve_1d as convolve, _correlate_1d as correlate
from .memory import copy_to as copy_to, empty_pinned as empty_pinned, is_pinned as is_pinned

__array_api_version__ = "2025.12"
_einops.register()

TYPE_CHECKING = False
if TYPE_CHECKING:  # for whom a __getattr__ would make any name right
    from . import dask as dask, gguf as gguf, needle as needle
else:
    def __getattr__(name: str) -> object:
        if name in ("dask", "gguf", "needle"):  # read when they are wanted
            import importlib
            return importlib.import_module(f"ndock.{name}")
        if name.startswith("__"):
            raise AttributeError(f"module 'ndock' has no attribute {name!r}")
        import sys
        from ._names import find
        return find(sys.modules[__name__], name)

    def __dir__() -> list[str]:
        return [n for n in globals() if not n.startswith("_") or n.startswith("__array") or n == "__version__"]
    del TYPE_CHECKING
