# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the tests of kernels share: a kernel cache of their own, machines without a compiler, arrays on devices, random values."""
import contextlib
import os
import tempfile

_folder = tempfile.TemporaryDirectory()
os.environ["NDOCK_KERNEL_CACHE_DIR"] = _folder.name

from devices import DEVICES as FOUND  # noqa: E402
import ndock as nd  # noqa: E402
import ndock._kernels as inside  # noqa: E402
import numpy as np  # noqa: E402

DEVICES = tuple(os.environ.get("KERNEL_TEST_DEVICES", "").split()) or FOUND  # "opencl:0": that alone
WAYS = [(d, "compiled") for d in DEVICES] + [("cpu", "operations"), ("sim:0", "operations")]
SLICE = bool(os.environ.get("NDOCK_TEST_SLICE"))
REAL = ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32", "float64"][::3 if SLICE else 1]
rng = np.random.default_rng(7)


@contextlib.contextmanager
def way(how):
    """Compiles, or behaves as a machine without a compiler."""
    kept = inside._load

    def refuse(*args):
        raise inside._NotCompiled("a test")
    inside._load = refuse if how == "operations" else kept
    try:
        yield
    finally:
        inside._load = kept


def there(a, device):
    return nd.asarray(np.array(a, order="C")).to(device)


def back(x):
    return x.cpu().numpy()


def random(shape, dtype):
    if dtype == "bool":
        return rng.integers(0, 2, shape).astype(bool)
    if np.dtype(dtype).kind in "iu":
        info = np.iinfo(dtype)
        return rng.integers(max(info.min, -100), min(info.max, 100), shape).astype(dtype)
    return rng.uniform(-4, 4, shape).astype(dtype)


