# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The operation of elementwise.patch, from Python: values that were worked out by hand, on both devices."""
import ndock as nd

for device in "cpu:0", "sim:0":
    x = nd.asarray([0.0, 0.5, -3.0, float("inf")], device=device)
    assert nd.frobnicate(x).tolist() == [0.0, 0.75, 6.0, float("inf")], device
    assert nd.frobnicate(nd.asarray([11, 15, 255], dtype=nd.uint8, device=device)).tolist() == [132, 240, 0], device
    out = nd.empty(4, dtype=nd.float64, device=device)
    assert nd.frobnicate(x, out=out) is out and out.tolist()[1] == 0.75, device
assert "a*a + a" in nd.frobnicate.__doc__
try:
    nd.frobnicate(nd.asarray([True]))
except TypeError:
    pass
else:
    raise AssertionError("bool is outside the operation's domain")
print("nd.frobnicate on cpu:0 and sim:0")
