#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Elementwise kernels by formula beside NumPy: compiled, and by operations where nothing compiles, on every device that is
there."""
from kernels import DEVICES, REAL, WAYS, back, random, rng, there, way
import ndock as nd
import numpy as np
from tap import cases, main, raises


@cases(*WAYS)
def test_arithmetic_has_numpys_bits(device, how):
    f = nd.ElementwiseKernel("T x, T y", "T z", "z = x * x + y", "squares")
    with way(how):
        for dtype in ("float32", "float64", "int32", "int64", "uint32", "uint64"):
            x, y = random((37, 5), dtype), random((37, 5), dtype)
            got = f(there(x, device), there(y, device))
            assert got.dtype.name == dtype and got.shape == (37, 5)
            np.testing.assert_array_equal(back(got), x * x + y)


@cases(*[(d, h, t) for d, h in WAYS for t in REAL if h == "compiled" or d == "cpu"])
def test_every_dtype(device, how, dtype):
    """Comparisons and choices give exact values in each of them."""
    f = nd.ElementwiseKernel("T x, T y, T s", "T z, bool b", "z = x < y ? y : x; b = x == s;", "larger")
    x, y = random((3, 50), dtype), random(50, dtype)
    s = x[0, 0].item()
    with way(how):
        z, b = f(there(x, device), there(y, device), s)
    np.testing.assert_array_equal(back(z), np.maximum(x, y))
    np.testing.assert_array_equal(back(b), x == x[0, 0])
    assert b.dtype == nd.bool and z.dtype.name == dtype


@cases(*WAYS)
def test_half_floats_are_rounded_once(device, how):
    f = nd.ElementwiseKernel("float16 x, bfloat16 y", "float16 z, bfloat16 w", "z = x * x + y; w = x * 3.0f", "halves")
    x = np.concatenate([rng.uniform(-100, 100, 500), [6.1e-5, 3e-7, 65504, 0, -0.0, 300]]).astype("float16")
    y = nd.asarray(rng.uniform(-4, 4, x.size).astype("float32"), dtype="bfloat16")
    wide = back(nd.astype(y, "float32"))
    with way(how):
        z, w = f(there(x, device), y.to(device))
    with np.errstate(over="ignore"):
        want = (x.astype("float32") * x.astype("float32") + wide).astype("float16")
    np.testing.assert_array_equal(back(z), want)
    tripled = nd.astype(nd.asarray(x.astype("float32") * np.float32(3)), "bfloat16")
    np.testing.assert_array_equal(back(nd.astype(w, "float32")), back(nd.astype(tripled, "float32")))


@cases(*WAYS)
def test_layouts(device, how):
    """Views of every kind, as inputs and as outputs."""
    f = nd.ElementwiseKernel("float32 x, float32 y", "float32 z", "z = x - 2.0f * y", "views")
    a, b = random((6, 7, 8), "float32"), random((6, 7, 8), "float32")
    x, y = there(a, device), there(b, device)
    views = [lambda v: v, lambda v: v.transpose(2, 1, 0), lambda v: v[::2, ::-1], lambda v: v[:, 3:4], lambda v: v[1:, :, 2:7:3],
             lambda v: v[3, 4, 5], lambda v: v[:0], lambda v: v[:, :, ::-2], lambda v: v[0][None]]
    with way(how):
        for view in views:
            want = view(a) - np.float32(2) * view(b)
            np.testing.assert_array_equal(back(f(view(x), view(y))), want)
            out = there(np.zeros((6, 7, 8), "float32"), device)
            target = view(out)
            if target.size:
                assert f(view(x), view(y), target) is target
                np.testing.assert_array_equal(back(target), want)
                assert back(nd.sum(nd.not_equal(out, 0))) <= target.size
        for p, q in [((6, 1, 8), (7, 1)), ((1,), (6, 7, 8)), ((), (5,)), ((4, 1), (1, 3)), ((2, 3, 1, 5), (1, 4, 1))]:
            c, d = random(p, "float32"), random(q, "float32")
            np.testing.assert_array_equal(back(f(there(c, device), there(d, device))), c - np.float32(2) * d)


@cases(*WAYS)
def test_many_axes(device, how):
    """More than a kernel walks: no two axes can be joined."""
    f = nd.ElementwiseKernel("float32 x, float32 y", "float32 z", "z = x + y", "axes")
    a = random((3,) * 10, "float32")
    view = a[tuple([slice(0, 2)] * 10)]
    with way(how):
        got = f(there(a, device)[tuple([slice(0, 2)] * 10)], 1.5)
    np.testing.assert_array_equal(back(got), view + np.float32(1.5))


@cases(*WAYS)
def test_in_place_and_overlap(device, how):
    f = nd.ElementwiseKernel("float64 x, float64 y", "float64 z", "z = x + y", "overlap")
    a = random(1000, "float64")
    with way(how):
        x = there(a, device)
        f(x, 1.0, x)
        np.testing.assert_array_equal(back(x), a + 1)
        x = there(a, device)
        f(x[:-1], x[1:], x[1:])  # as if the inputs were copied first
        np.testing.assert_array_equal(back(x), np.concatenate([a[:1], a[:-1] + a[1:]]))


@cases(*WAYS)
def test_outputs_that_are_not_always_assigned(device, how):
    f = nd.ElementwiseKernel("int32 x", "int32 z", "if (x > 0) z = x; else if (x < -5) { z += 1; }", "some")
    a = random(300, "int32") // 8
    z = np.arange(300, dtype="int32")
    with way(how):
        out = there(z, device)
        f(there(a, device), out)
    np.testing.assert_array_equal(back(out), np.where(a > 0, a, np.where(a < -5, z + 1, z)))


@cases(*WAYS)
def test_raw_arrays_and_positions(device, how):
    turn = nd.ElementwiseKernel("raw float32 x", "float32 y", "y = x[n - 1 - i] + x.size()", "turn")
    a = random((9, 4), "float32")
    with way(how):
        got = turn(there(a, device), size=36)
        np.testing.assert_array_equal(back(got), a.ravel()[::-1] + np.float32(36))
        view = turn(there(a, device).transpose(), size=36)  # as a dense one in C order
        np.testing.assert_array_equal(back(view), a.T.ravel()[::-1] + np.float32(36))
        place = nd.ElementwiseKernel("float32 x", "int64 y", "y = i * 2", "place")
        np.testing.assert_array_equal(back(place(there(a, device).transpose())), 2 * np.arange(36).reshape(4, 9))
        with raises(ValueError, "size="):
            turn(there(a, device))


@cases(*DEVICES)
def test_raw_outputs_and_preamble(device):
    scatter = nd.ElementwiseKernel("int64 at, float32 x", "raw float32 y", "y[at] = half_of(x)", "scatter",
                                   preamble="static inline float half_of(float v) { return v * 0.5f; }")
    at = rng.permutation(64)
    x = random(64, "float32")
    y = nd.zeros(64, dtype="float32", device=device)
    assert scatter(there(at, device), there(x, device), y) is y
    want = np.zeros(64, "float32")
    want[at] = x * np.float32(0.5)
    np.testing.assert_array_equal(back(y), want)


@cases(*WAYS)
def test_statements_of_c(device, how):
    """Loops, branches, integers as C has them: 50 steps of z*z + c, and the greatest common divisor by Euclid."""
    mandel = nd.ElementwiseKernel("float64 x, float64 y", "int32 n_steps", """
        float64 u = 0, v = 0;
        n_steps = 50;
        for (int k = 0; k < 50; k++) {
            float64 t = u * u - v * v + x;
            v = 2 * u * v + y;
            u = t;
            if (u * u + v * v > 4.0) { n_steps = k; break; }
        }""", "mandel")
    y, x = np.mgrid[-1.2:1.2:13j, -2:0.6:17j]
    want = np.full(x.shape, 50)
    c, z = x + 1j * y, np.zeros(x.shape, complex)
    with np.errstate(all="ignore"):
        for k in range(50):
            z = z * z + c
            want = np.where((want == 50) & (z.real ** 2 + z.imag ** 2 > 4), k, want)
    gcd = nd.ElementwiseKernel("int32 p, int32 q", "int32 r", """
        int32 s = p < 0 ? -p : p, t = q < 0 ? -q : q;
        while (t) { const int32 rest = s % t; s = t; t = rest; }
        r = s""", "gcd")
    a, b = random(200, "int32"), random(200, "int32")
    with way(how):
        got = back(mandel(there(x, device), there(y, device)))
        assert np.mean(got == want) > 0.99  # rounding differs in the order of sums
        np.testing.assert_array_equal(back(gcd(there(a, device), there(b, device))), np.gcd(a, b))


@cases(*WAYS)
def test_arithmetic_of_c(device, how):
    """Narrow integers promote to int, quotients go towards zero, and the result is what the output holds."""
    f = nd.ElementwiseKernel("int8 x, int8 y", "int32 s, int8 w, int32 q, int32 r, uint32 b, float32 m",
                             "s = x + y; w = (int8)(x * y); q = x / y; r = x % y; b = (uint32)x >> 3 ^ 0x0fu; m = max(x, y) + .5f",
                             "promote")
    x, y = random(500, "int8"), random(500, "int8")
    y[y == 0] = 3
    x, y = x.astype("int8"), y.astype("int8")
    with way(how):
        s, w, q, r, b, m = [back(v) for v in f(there(x, device), there(y, device))]
    wide, high = x.astype("int32"), y.astype("int32")
    np.testing.assert_array_equal(s, wide + high)
    np.testing.assert_array_equal(w, (wide * high).astype("int8"))
    np.testing.assert_array_equal(q, np.trunc(wide / high).astype("int32"))
    np.testing.assert_array_equal(r, np.fmod(wide, high))
    np.testing.assert_array_equal(b, wide.astype("uint32") >> 3 ^ 15)
    np.testing.assert_array_equal(m, np.maximum(wide, high).astype("float32") + np.float32(0.5))


MATH = {"exp": (-5, 5), "expm1": (-2, 2), "log": (0.1, 9), "log1p": (-0.5, 9), "log2": (0.1, 9), "log10": (0.1, 9), "sin": (-9, 9),
        "cos": (-9, 9), "tan": (-1, 1), "tanh": (-3, 3), "sinh": (-3, 3), "cosh": (-3, 3), "sqrt": (0, 9), "floor": (-9, 9), "ceil": (-9, 9),
        "trunc": (-9, 9), "rint": (-9, 9), "fabs": (-9, 9)}
NUMPY = {"asin": "arcsin", "atan": "arctan"}


@cases(*WAYS)
def test_math_functions(device, how):
    for dtype, most in (("float32", 4), ("float64", 4)):
        for name, (low, high) in MATH.items():
            x = rng.uniform(low, high, 500).astype(dtype)
            f = nd.ElementwiseKernel("T x", "T y", f"y = {name}(x)", name)
            with way(how):
                got = back(f(there(x, device)))
            want = getattr(np, name)(x.astype("float64"))
            ulp = np.abs(got - want) / np.spacing(np.abs(want).astype(dtype))
            assert got.dtype == dtype and ulp.max() <= most, (name, dtype, ulp.max())
            if how == "operations":
                break  # each is an operation of ours
    f = nd.ElementwiseKernel("float32 x, float32 y", "float32 p, float32 a, float32 m, float32 h",
                             "p = pow(x, y); a = atan2(x, y); m = fmod(x, y); h = fma(x, y, 1.0f)", "two")
    x, y = rng.uniform(0.5, 3, 100).astype("float32"), rng.uniform(0.5, 3, 100).astype("float32")
    with way(how):
        p, a, m, h = [back(v) for v in f(there(x, device), there(y, device))]
    for got, want in ((p, np.power(x, y)), (a, np.arctan2(x, y)), (m, np.fmod(x, y)), (h, x.astype("float64") * y + 1)):
        np.testing.assert_allclose(got, want, rtol=1e-6)


@cases("cpu")
def test_the_cpus_functions_have_the_bits_of_its_operations(device):
    x = nd.asarray(rng.uniform(-3, 3, 5000).astype("float32"), device=device)
    for name in ("exp", "tanh", "sin", "log1p", "erf"):
        y = nd.abs(x) if name == "log1p" else x
        got = nd.ElementwiseKernel("float32 x", "float32 y", f"y = {name}(x)", name)(y)
        np.testing.assert_array_equal(back(got), back(getattr(nd, name)(y)))


@cases(*WAYS)
def test_numbers(device, how):
    f = nd.ElementwiseKernel("T x, T s", "T z", "z = x + s", "numbers")
    with way(how):
        x = there(np.arange(3, dtype="int8"), device)
        np.testing.assert_array_equal(back(f(x, 100)), np.arange(3) + 100)
        np.testing.assert_array_equal(back(f(x, np.int16(5))), np.arange(3) + 5)
        assert back(f(there(np.float32(1), device), 0.1)) == np.float32(1) + np.float32(0.1)
        assert f(there(np.array(2.0), device), True).shape == ()
        if how == "compiled":
            with raises(OverflowError, "300", "int8"):
                f(x, 300)
            with raises(TypeError, "int8", "0.5"):
                f(x, 0.5)
            with raises(TypeError, "real number", "str"):
                f(x, "1")


def test_the_device_of_numbers_alone_is_the_current_one():
    f = nd.ElementwiseKernel("float64 x", "float64 z", "z = x * 2", "alone")
    with raises(ValueError, "size="):
        f(3.0)
    np.testing.assert_array_equal(f(3.0, size=4).numpy(), np.full(4, 6.0))


def test_dtypes_are_checked():
    f = nd.ElementwiseKernel("float32 x, T y, T z", "T w", "w = y", "typed")
    x, y = nd.ones(2, dtype="float32"), nd.ones(2, dtype="int32")
    with raises(TypeError, "typed", "x is declared as float32", "int32", "astype"):
        f(y, y, y)
    with raises(TypeError, "z is declared as T, here int32", "float32"):
        f(x, y, x)
    with raises(TypeError, "complex64"):
        f(x, nd.ones(2, dtype="complex64"), 1)
    with raises(TypeError, "w", "must be an Array", "ndarray"):
        f(x, y, y, np.ones(2, "int32"))
    with raises(TypeError, "nd.asarray"):
        f(np.ones(2, "float32"), y, y)
    with raises(TypeError, "takes 3", "not 2"):
        f(x, y)
    with raises(TypeError, "what U is"):
        nd.ElementwiseKernel("T x", "U y", "y = x", "unbound")(x)
    with raises(ValueError, "shape (3,)", "(2,)"):
        f(x, y, y, nd.zeros(3, dtype="int32"))
    with raises(ValueError, "cpu:0", "sim:0"):
        f(x, y, nd.ones(2, dtype="int32", device="sim:0"))
    with raises(nd.Error, "read-only"):
        f(x, y, y, nd.broadcast_to(nd.zeros((), dtype="int32"), (2,)))


def test_declarations_are_checked():
    for text, word in (("float32", "a dtype and a name"), ("float32 x y", "a dtype and a name"), ("float33 x", "float33"), ("float32 1x", "1x"),
                       ("float32 x, int32 x", "two parameters"), ("float32 i", "meaning"), ("complex64 z", "complex64")):
        with raises((ValueError, TypeError), word):
            nd.ElementwiseKernel(text, "float32 out", "out = 1")
    with raises(ValueError, "output"):
        nd.ElementwiseKernel("float32 x", "", "x")
    with raises(ValueError, "input and an output"):
        nd.ElementwiseKernel("float32 x", "float32 x", "x")


@cases("cpu", "sim:0")
def test_the_compilers_words_are_told(device):
    f = nd.ElementwiseKernel("float32 x", "float32 y", "y = x + undeclared_name", "wrong")
    x = nd.ones(2, dtype="float32", device=device)
    for _ in range(2):  # the failure is remembered
        with raises(ValueError, "wrong", "undeclared_name"):
            f(x)
    with way("operations"), raises(NotImplementedError, "nothing compiles", "undeclared_name"):
        nd.ElementwiseKernel("float32 x", "float32 y", "y = x + undeclared_name", "wrong")(x)


def test_how_results_are_returned():
    x = nd.asarray([1.0, 2.0])
    assert isinstance(nd.ElementwiseKernel("T x", "T y", "y = x", return_tuple=True)(x), tuple)
    assert nd.ElementwiseKernel("T x", "T y", "y = x", no_return=True)(x) is None
    f = nd.ElementwiseKernel("T x", "T y", "y = x", "copied")
    assert (f.nin, f.nout, f.nargs, f.name) == (1, 1, 2, "copied") and "copied(T x) -> T y" in repr(f)


def test_loops_around():
    f = nd.ElementwiseKernel("float32 x", "float32 y", "y = x * factor", "around", loop_prep="const float factor = 3", after_loop="(void)factor")
    assert f(nd.ones(2, dtype="float32")).tolist() == [3.0, 3.0]


def test_threads_share_a_kernel():
    import threading
    f = nd.ElementwiseKernel("float32 x", "float32 y", "y = x * 2.0f", "shared")
    a = rng.random(200_000, dtype="float32")
    x, wrong = nd.asarray(a), []

    def work():
        for _ in range(5):
            if not np.array_equal(f(x).numpy(), a * 2):
                wrong.append(1)
    threads = [threading.Thread(target=work) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong


if __name__ == "__main__":
    nd.set_default_device("cpu")
    main(globals())
