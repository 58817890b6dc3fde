# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Where xarray's tests look for the class of arrays."""
from ndock import Array

__all__ = ["Array"]
