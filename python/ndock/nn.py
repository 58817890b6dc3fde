# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Functions of neural networks, under the names and with the argument orders of torch.nn.functional, and their gradients as
functions of their own: NAME_grad takes the gradient of the result first."""
from __future__ import annotations

from ._attention import *  # noqa: F403
from ._attention import __all__ as _attention
from ._conv import *  # noqa: F403
from ._conv import __all__ as _conv
from ._losses import *  # noqa: F403
from ._losses import __all__ as _losses
from ._normalization import *  # noqa: F403
from ._normalization import __all__ as _normalization
from ._pool import *  # noqa: F403
from ._pool import __all__ as _pool

__all__ = [*_attention, *_conv, *_losses, *_normalization, *_pool]
