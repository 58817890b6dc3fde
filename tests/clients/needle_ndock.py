# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A plug-in for pytest: needle's arrays are ndock's. The course's own backend is not imported, nor built. Tests that hand in homework
are left out. Solutions add functions to the backend's module; those under NumPy's names and parameters are made here of the course's
methods."""
import sys
import types

import ndock.needle

arrays = types.ModuleType("needle.backend_ndarray", ndock.needle.__doc__)
vars(arrays).update({name: value for name, value in vars(ndock.needle).items() if not name.startswith("__")}, ndarray=arrays)
for name in (arrays.__name__, f"{arrays.__name__}.ndarray"):
    sys.modules[name] = arrays
sys.modules["mugrade"] = types.ModuleType("mugrade")


def added(function):
    setattr(arrays, function.__name__, function)


@added
def reshape(a, shape):
    return a.compact().reshape(shape)


@added
def broadcast_to(a, shape):
    return a.broadcast_to(shape)


@added
def permute_dims(a, axes):
    return a.permute(axes)


@added
def swapaxes(a, axis1, axis2):
    order = list(range(a.ndim))
    order[axis1], order[axis2] = order[axis2], order[axis1]
    return a.permute(order)


@added
def flip(a, axis):
    return a.flip(axis)


@added
def pad(a, axes):
    return a.pad(axes)


@added
def max(a, axis=None, keepdims=False):
    return a.max(axis=axis, keepdims=keepdims)


@added
def sum(a, axis=None, keepdims=False):
    """No axes leave the array as it is; the course's own refuses that, as ndock.needle does."""
    return a if axis == () else a.sum(axis=axis, keepdims=keepdims)


def pytest_collection_modifyitems(items):
    items[:] = [item for item in items if not item.name.startswith("submit_")]
