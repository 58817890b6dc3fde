# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Functions of neural networks, under the names and with the argument orders of torch.nn.functional, and their gradients as
functions of their own."""
from __future__ import annotations

from . import _conv as _conv_module, _pool as _pool_module
from ._conv import *  # noqa: F403
from ._pool import *  # noqa: F403

__all__ = [*_conv_module.__all__, *_pool_module.__all__]
