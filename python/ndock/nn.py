# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Functions of neural networks, under PyTorch's functional names, and their gradients: NAME_grad takes the gradient of the result
first."""
from __future__ import annotations

from ._attention import *  # noqa: F403
from ._attention import __all__ as _attention
from ._losses import *  # noqa: F403
from ._losses import __all__ as _losses
from ._normalization import *  # noqa: F403
from ._normalization import __all__ as _normalization

__all__ = [*_attention, *_losses, *_normalization]
