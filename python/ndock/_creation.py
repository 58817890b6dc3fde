# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Creation functions of the array API."""
from __future__ import annotations

from . import _ndock

__all__ = ["arange", "empty", "full", "ones", "zeros"]


def empty(shape, *, dtype=None, device=None):
    """An array whose elements are not set; dtype by default float64, on the current device."""
    return _ndock._full(shape, None, dtype, device)


def full(shape, fill_value, *, dtype=None, device=None):
    """An array of one value. dtype: by default that of the value's kind (bool, int64, float64, complex128)."""
    return _ndock._full(shape, fill_value, dtype, device)


def zeros(shape, *, dtype=None, device=None):
    """An array of zeros; dtype by default float64."""
    return _ndock._full(shape, 0, dtype or float, device)


def ones(shape, *, dtype=None, device=None):
    """An array of ones; dtype by default float64."""
    return _ndock._full(shape, 1, dtype or float, device)


def arange(start, /, stop=None, step=1, *, dtype=None, device=None):
    """start, start + step, ... before stop; arange(n) counts from 0. dtype: int64 if all are ints, else float64."""
    if stop is None:
        start, stop = 0, start
    return _ndock._arange(start, stop, step, dtype, device)
