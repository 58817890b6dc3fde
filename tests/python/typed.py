# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a type checker knows of the package: checked by `make check-mypy`, never run. A line that must be an error is
marked so; mypy complains if it is none."""
from typing_extensions import assert_type

import ndock as nd

x = nd.zeros((2, 3), dtype=nd.float32, device="cpu")
assert_type(x, nd.Array)
assert_type(x.shape, tuple[int, ...])
assert_type(x.ndim, int)
assert_type(x.dtype, nd.DType)
assert_type(x.device, nd.Device)
assert_type(x + 1, nd.Array)
assert_type(1 - x * 2.5, nd.Array)
assert_type(x == x, nd.Array)
assert_type(-x, nd.Array)
assert_type(nd.add(x, 1), nd.Array)
assert_type(nd.exp(x, out=x), nd.Array)
assert_type(nd.sum(x, axis=(0, 1), keepdims=True), nd.Array)
assert_type(nd.__version__, str)
nd.add(x)  # type: ignore[call-arg]
nd.exp("text")  # type: ignore[arg-type]
x.shape = (6,)  # type: ignore[misc]
nd.no_such_function  # type: ignore[attr-defined]
