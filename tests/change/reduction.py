# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The reduction of reduction.patch, from Python: sums of magnitudes that were worked out by hand, on both devices."""
import ndock as nd

for device in "cpu:0", "sim:0":
    for dtype in nd.float16, nd.bfloat16, nd.float32, nd.float64:
        x = nd.asarray([[1.0, -2.0, 4.0], [-8.0, 0.0, -0.5]], dtype=dtype, device=device)
        assert nd.frobnicate(x).tolist() == 15.5, (device, dtype)
        assert nd.frobnicate(x, axis=0).tolist() == [9.0, 2.0, 4.5], (device, dtype)
        assert nd.frobnicate(x[:, ::2], axis=1, keepdims=True).tolist() == [[5.0], [8.5]], (device, dtype)
        assert nd.frobnicate(x, axis=0).dtype == dtype
    long = nd.full(1_000_000, -0.25, dtype=nd.float32, device=device)
    assert nd.frobnicate(long).tolist() == 250_000.0, device
    assert nd.frobnicate(nd.empty(0, device=device)).tolist() == 0.0, device
print("nd.frobnicate on cpu:0 and sim:0")
