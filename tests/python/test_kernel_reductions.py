#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reductions by formula beside NumPy: compiled, and by operations where nothing compiles, on every device that is there."""
from kernels import DEVICES, WAYS, back, random, there, way
import ndock as nd
import numpy as np
from tap import cases, main, raises


@cases(*WAYS)
def test_sums_of_every_axis(device, how):
    f = nd.ReductionKernel("int64 x", "int64 y", "x", "a + b", "y = a", "0", "total")
    a = random((5, 6, 7, 8), "int64")
    axes = [None, 0, 1, 2, 3, -1, (0, 1), (1, 3), (0, 3), (0, 2), (1, 2, 3), (0, 1, 2, 3), ()]
    with way(how):
        for view in (lambda v: v, lambda v: v.transpose(3, 1, 0, 2), lambda v: v[::2, ::-1, 1:5]):
            x = view(there(a, device))
            for axis in axes if how == "compiled" else axes[:8:3]:
                np.testing.assert_array_equal(back(f(x, axis=axis)), view(a).sum(axis=axis))
                np.testing.assert_array_equal(back(f(x, axis=axis, keepdims=True)), view(a).sum(axis=axis, keepdims=True))


@cases(*WAYS)
def test_norms_and_means(device, how):
    norm = nd.ReductionKernel("T x", "T y", "x * x", "a + b", "y = sqrt(a)", "0", "norm")
    mean = nd.ReductionKernel("T x, T w", "float64 y", "x * w", "a + b", "y = a / (_in_ind.size() / _out_ind.size())", "0", "mean")
    a, w = random((40, 300), "float64"), random(300, "float64")
    with way(how):
        for axis in (0, 1, None):
            np.testing.assert_allclose(back(norm(there(a, device), axis=axis)), np.sqrt((a * a).sum(axis=axis)), rtol=1e-12)
            np.testing.assert_allclose(back(mean(there(a, device), there(w, device), axis=axis)), (a * w).mean(axis=axis), rtol=1e-9, atol=1e-12)
            np.testing.assert_allclose(back(mean(there(a, device), 2.0, axis=axis)), (a * 2).mean(axis=axis), rtol=1e-9, atol=1e-12)


@cases(*WAYS)
def test_largest_of_long_rows(device, how):
    """Rows that are cut into parts, and many columns."""
    f = nd.ReductionKernel("T x", "T y", "x", "max(a, b)", "y = a", None, "largest")
    sizes = [(1, 300_000), (3, 70_001), (70_001, 3), (500, 129), (20_000, 1)] if how == "compiled" else [(3, 1001), (100, 7)]
    with way(how):
        for shape in sizes:
            a = random(shape, "float32")
            for axis in (0, 1, None):
                np.testing.assert_array_equal(back(f(there(a, device), axis=axis)), a.max(axis=axis))


@cases(*WAYS)
def test_other_types_than_the_results(device, how):
    any_large = nd.ReductionKernel("float16 x", "bool y", "x > 3.5f", "a || b", "y = a", "false", "any_large", reduce_type="bool")
    a = random((30, 20), "float16")
    several = nd.ReductionKernel("float32 x", "float32 y, float32 z", "x", "a + b", "y = a; z = -a", "0", "several")
    with way(how):
        np.testing.assert_array_equal(back(any_large(there(a, device), axis=1)), (a > 3.5).any(axis=1))
        y, z = several(there(np.arange(6, dtype="float32").reshape(2, 3), device), axis=1)
        assert back(y).tolist() == [3.0, 12.0] and back(z).tolist() == [-3.0, -12.0]
        out = nd.zeros(30, dtype="bool", device=device)
        assert any_large(there(a, device), axis=1, out=out) is out
        np.testing.assert_array_equal(back(out), (a > 3.5).any(axis=1))


@cases(*WAYS)
def test_nothing_to_reduce(device, how):
    f = nd.ReductionKernel("float32 x", "float32 y", "x", "a + b", "y = a + 1", "5", "identity")
    g = nd.ReductionKernel("float32 x", "float32 y", "x", "a + b", "y = a", None, "without")
    with way(how):
        x = nd.zeros((0, 3), dtype="float32", device=device)
        assert back(f(x, axis=0)).tolist() == [6.0] * 3 and f(x, axis=1).shape == (0,) and back(f(x)) == 6.0
        with raises(ValueError, "no element", "identity"):
            g(x, axis=0)
        assert g(x, axis=1).shape == (0,)
        with raises(ValueError, "axis 5"):
            f(nd.ones((2, 2), dtype="float32", device=device), axis=5)


@cases(*DEVICES)
def test_the_same_bits_every_time(device):
    f = nd.ReductionKernel("float32 x", "float32 y", "x * 1.1f", "a + b", "y = a", "0", "bits")
    x = there(random((7, 100_003), "float32"), device)
    first = back(f(x, axis=1)).tobytes()
    assert all(back(f(x, axis=1)).tobytes() == first for _ in range(5))


if __name__ == "__main__":
    nd.set_default_device("cpu")
    main(globals())
