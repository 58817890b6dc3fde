# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Arrays for tests: the same random elements in NumPy and in ndock, in the same layout. A test that needs NumPy imports
it from here; where it is missing the program says so and ends."""
import sys

import ndock as nd
from devices import DEVICES as DEVICES

try:
    import numpy as np
except ImportError:
    print("1..0 # SKIP no NumPy")
    sys.exit(0)

NUMPY = tuple(map(int, np.__version__.split(".")[:2]))  # (1, 24): what older ones do otherwise is said where it matters
INTS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
REALS = ("float16", "float32", "float64")
COMPLEX = ("complex64", "complex128")
ALL = ("bool",) + INTS + REALS + COMPLEX


def elements(rng, dtype, shape):
    """Random elements: small integers, so that sums and products are exact, or floats of moderate size."""
    kind = np.dtype(dtype).kind
    if kind == "b":
        return rng.integers(0, 2, shape).astype(bool)
    if kind in "iu":
        return rng.integers(0 if kind == "u" else -9, 10, shape).astype(dtype)
    x = rng.normal(0, 2, shape)
    return (x + 1j * rng.normal(0, 2, shape) if kind == "c" else x).astype(dtype)


def view(rng, base, shape):
    """A random strided view of a flat NumPy array: axes permuted, stepped over, reversed, stretched, offset."""
    ndim = len(shape)
    steps = rng.integers(1, 3, ndim)
    order = rng.permutation(ndim)
    big = [int(shape[i] * steps[i]) + 1 for i in order]
    x = base[:int(np.prod(big, dtype=int))].reshape(big).transpose(np.argsort(order))
    x = x[(...,) + tuple(slice(0, n * s, s) for n, s in zip(shape, steps))]
    if ndim and rng.random() < 0.2:
        axis = int(rng.integers(ndim))
        x = np.broadcast_to(x[(slice(None),) * axis + (slice(0, 1),)], x.shape) if x.size else x
    return x[(...,) + tuple(slice(None, None, -1 if rng.random() < 0.3 else 1) for _ in shape)]


def from_numpy(x, device):
    return nd.asarray(x, device=device, copy=True)


def pair(rng, dtype, shape, device, dense=False):
    """A NumPy array and an ndock array on device with the same elements and strides."""
    if dense or rng.random() < 0.3:
        x = elements(rng, dtype, shape)
        return x, from_numpy(x, device)
    room = 1
    for n in shape:
        room *= 2 * n + 1
    base = elements(rng, dtype, (room + 4,))
    x = view(rng, base[3:], shape)
    if not x.size:
        return x, from_numpy(x, device)
    start = x.__array_interface__["data"][0] - base.__array_interface__["data"][0]
    item = base.itemsize
    return x, nd.as_strided(from_numpy(base, device), x.shape, [s // item for s in x.strides], offset=start // item)


def is_queued(device):
    """Whether what a kernel finds wrong with its operands is told of later, by whoever waits, in the kernel's name."""
    return not device.startswith("cpu")


def host(x):
    """A copy of an ndock array's elements in NumPy."""
    return np.array(x.to_device("cpu"))


def same(got, want, rtol=0.0, dtype=None):
    """got, of ndock, has want's shape, dtype (or dtype) and elements, to a relative error of the largest of them."""
    dtype = want.dtype.name if dtype is None else dtype
    assert got.shape == want.shape, f"shape {got.shape}, not {want.shape}"
    assert got.dtype.name == dtype, f"dtype {got.dtype}, not {dtype}"
    g = host(got)
    if rtol:
        scale = np.max(np.abs(want[np.isfinite(want)]), initial=1.0)
        np.testing.assert_allclose(g, want, rtol=rtol, atol=rtol * scale)
    else:
        np.testing.assert_array_equal(g, want)


TOLERANCE = {"float16": 4e-3, "float32": 2e-6, "float64": 1e-14, "complex64": 4e-6, "complex128": 2e-14}
