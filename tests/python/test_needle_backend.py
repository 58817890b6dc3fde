# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""ndock.needle.backend: every function of needle's backend interface, against NumPy, and what each refuses."""
import gc
import time

import ndock
from ndock import needle
from devices import DEVICES
from in_use import kilobytes
from tap import Skip, cases, main, raises

try:
    import numpy as np
except ImportError:
    np = None

NAMES = ("Array from_numpy to_numpy fill compact ewise_setitem scalar_setitem ewise_add ewise_mul ewise_div ewise_maximum "
         "ewise_eq ewise_ge scalar_add scalar_mul scalar_div scalar_maximum scalar_eq scalar_ge scalar_power ewise_log "
         "ewise_exp ewise_tanh matmul matmul_tiled reduce_max reduce_sum").split()


def numpy_or_skip():
    if np is None:
        raise Skip("needs NumPy")


def put(m, a):
    """A handle with a's elements."""
    a = np.ascontiguousarray(a)
    h = m.Array(a.size)
    m.from_numpy(a, h)
    return h


def get(m, h):
    return m.to_numpy(h, (h.size,), (1,), 0)


def elements(*shape, seed=1):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


@cases(*DEVICES)
def test_interface(device):
    m = needle.backend(device)
    assert m is needle.backend(ndock.Device(device))
    assert m.__device_name__ == device.replace(":0", "") and m.__tile_size__ == 8
    assert all(hasattr(m, name) for name in NAMES)
    h = m.Array(6)
    assert isinstance(h, m.Array) and h.size == 6 and h.ptr() != 0
    assert m.Array(0).size == 0 and m.Array(0).ptr() == 0
    assert m.Array.__text_signature__ == "(size, /)" and m.matmul.__text_signature__ == "(a, b, out, m, n, p, /)"


def test_a_device_that_is_not_there_says_what_is():
    with raises(ndock.Error, "nosuch", "cpu:0"):
        needle.backend("nosuch")


@cases(*[(d, t) for d in DEVICES for t in ("bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64 "
                                           "longdouble >f8 >i2 object").split()])
def test_from_numpy_dtypes(device, dtype):
    numpy_or_skip()
    m = needle.backend(device)
    a = np.array([[0, 1, 100], [7, 3, 1]]).astype(dtype)
    assert (get(m, put(m, a)) == a.astype(np.float32).ravel()).all()


@cases(*DEVICES)
def test_from_numpy_refuses(device):
    numpy_or_skip()
    m = needle.backend(device)
    for bad in (np.ones(3, complex), np.array(["x", "y", "z"]), np.zeros(3, "M8[s]"), [1, 2, 3], None):
        with raises(TypeError, "from_numpy"):
            m.from_numpy(bad, m.Array(3))
    with raises(ValueError, "out has 4", "must have 3"):
        m.from_numpy(np.ones(3), m.Array(4))
    with raises(TypeError, "Array"):
        m.from_numpy(np.ones(3), np.ones(3))


@cases(*DEVICES)
def test_from_numpy_other_layouts_and_own_memory(device):
    numpy_or_skip()
    m = needle.backend(device)
    a = elements(6, 4)
    for view in (a, a.T, a[::2, ::-1], np.broadcast_to(a[0], (3, 4)), a[:0]):
        h = m.Array(view.size)
        m.from_numpy(view, h)
        assert (get(m, h) == view.ravel()).all()
    unaligned = np.frombuffer(b"x" + a.tobytes(), np.uint8)[1:].view(np.float32)
    h = put(m, unaligned)
    got = get(m, h)
    unaligned = None
    got[0] = 99
    assert get(m, h)[0] == a[0, 0], "to_numpy gave the handle's own memory"


VIEWS = [((2, 3), (3, 1), 0), ((3, 2), (1, 3), 0), ((2, 2), (3, 1), 1), ((4, 3), (0, 2), 1), ((6,), (-1,), 5),
         ((3, 2), (-2, 1), 22), ((), (), 7), ((0, 3), (3, 1), 0), ((2, 1, 2, 1, 2, 1, 2, 1), (8, 3, 4, 0, 2, 9, 1, -5), 3),
         ((1, 2, 2, 2, 2, 1, 1, 1), (0, -8, 4, -2, 1, 7, 7, 7), 11)]


def strided(a, shape, strides, offset):
    return np.lib.stride_tricks.as_strided(a[offset:], shape, [4 * s for s in strides])


@cases(*[(d,) + v for d in DEVICES for v in VIEWS])
def test_views(device, shape, strides, offset):
    numpy_or_skip()
    m = needle.backend(device)
    a = elements(24)
    h, want = put(m, a), strided(a, shape, strides, offset)
    got = m.to_numpy(h, shape, strides, offset)
    assert got.dtype == np.float32 and got.shape == want.shape and (got == want).all()
    out = m.Array(want.size)
    m.compact(h, out, shape, strides, offset)
    assert (get(m, out) == want.ravel()).all()
    value = elements(*shape, seed=2)
    m.ewise_setitem(put(m, value), h, shape, strides, offset)
    strided(a, shape, strides, offset)[...] = value
    assert (get(m, h) == a).all()
    m.scalar_setitem(value.size, 0.1, h, shape, strides, offset)
    strided(a, shape, strides, offset)[...] = 0.1
    assert (get(m, h) == a).all()


@cases(*[(d,) + v for d in DEVICES for v in (((2, 3), (1, 1), 0), ((4, 3), (2, 1), 3), ((3, 2, 3), (0, 3, -2), 6),
                                             ((2, 2, 2), (1, 8, 1), 0), ((3, 3), (1, -1), 4))])
def test_views_that_overlap_themselves(device, shape, strides, offset):
    numpy_or_skip()
    m = needle.backend(device)
    a, value = elements(24), elements(*shape, seed=2)
    h = put(m, a)
    m.ewise_setitem(put(m, value), h, shape, strides, offset)
    for index in np.ndindex(shape):  # in C order
        a[offset + sum(i * s for i, s in zip(index, strides))] = value[index]
    assert (get(m, h) == a).all()
    m.scalar_setitem(value.size, 7, h, shape, strides, offset)
    strided(a, shape, strides, offset)[...] = 7
    assert (get(m, h) == a).all()


@cases(*DEVICES)
def test_views_refused(device):
    numpy_or_skip()
    m = needle.backend(device)
    h, six = put(m, elements(24)), m.Array(6)
    calls = [(m.compact, h, six), (m.ewise_setitem, six, h)]
    for call, a, b in calls:
        for view in (((2, 3), (30, 1), 0), ((2, 3), (3, 1), -1), ((6,), (-1,), 4), ((6,), (1 << 62,), 0)):
            with raises((IndexError, OverflowError), "element"):
                call(a, b, *view)
        for view in (((2, 4), (4, 1), 0), ((2, 3), (3,), 0), ((-2, -3), (3, 1), 0)):
            with raises(ValueError):
                call(a, b, *view)
        with raises((ValueError, OverflowError)):
            call(a, b, (1 << 40, 1 << 40), (0, 0), 0)
    with raises(ValueError, "size is 5"):
        m.scalar_setitem(5, 1.0, h, (2, 3), (3, 1), 0)
    with raises(IndexError):
        m.to_numpy(h, (5, 5), (5, 1), 0)
    with raises(TypeError):
        m.to_numpy(h, (2, 2), (2, 1), 0.5)


BINARY = {"add": "add", "mul": "multiply", "div": "divide", "maximum": "maximum", "eq": "equal", "ge": "greater_equal"}


@cases(*[(d, o) for d in DEVICES for o in BINARY])
def test_binary(device, op):
    numpy_or_skip()
    m, ufunc = needle.backend(device), getattr(np, BINARY[op])
    a, b = elements(100), elements(100, seed=2)
    b[::5] = a[::5]
    a[3], b[4], a[7], b[8] = np.nan, np.nan, np.inf, 0
    out = m.Array(100)
    with np.errstate(all="ignore"):
        getattr(m, "ewise_" + op)(put(m, a), put(m, b), out)
        np.testing.assert_allclose(get(m, out), ufunc(a, b).astype(np.float32), rtol=1e-7)
        for v in (0.1, -2, True, np.float32(0.3), np.int64(3), np.array(0.7), 0.0, float("nan"), 1e300):
            getattr(m, "scalar_" + op)(put(m, a), v, out)
            np.testing.assert_allclose(get(m, out), ufunc(a, np.float32(v)).astype(np.float32), rtol=1e-7)
    x = put(m, a)
    getattr(m, "ewise_" + op)(x, x, x)  # in place
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(get(m, x), ufunc(a, a).astype(np.float32), rtol=1e-7)
    for bad in ((m.Array(3), m.Array(3), m.Array(4)), (m.Array(3), m.Array(1), m.Array(3)), (m.Array(1),) * 2 + (out,)):
        with raises(ValueError, "ewise_" + op):
            getattr(m, "ewise_" + op)(*bad)
    with raises(TypeError):
        getattr(m, "scalar_" + op)(x, "1", out)
    with raises(TypeError, "3 arguments"):
        getattr(m, "ewise_" + op)(x, x)


@cases(*DEVICES)
def test_power_and_functions(device):
    numpy_or_skip()
    m = needle.backend(device)
    a = elements(100)
    x, out = put(m, a), m.Array(100)
    with np.errstate(all="ignore"):
        for v in (0.5, 2, -1, 3.7, 0):
            m.scalar_power(x, v, out)
            np.testing.assert_allclose(get(m, out), np.power(a.astype(float), np.float32(v)), rtol=3e-7)
        m.scalar_power(x, 0.5, out)
        assert (np.isnan(get(m, out)) == (a < 0)).all(), "a negative base to a fractional power is NaN"
        for name in ("log", "exp", "tanh"):
            getattr(m, "ewise_" + name)(x, out)
            np.testing.assert_allclose(get(m, out), getattr(np, name)(a.astype(float)), rtol=3e-7)
    m.fill(out, 0.1)
    assert (get(m, out) == np.float32(0.1)).all()


@cases(*[(d,) + s for d in DEVICES for s in ((3, 4, 5), (8, 8, 8), (1, 1, 1), (72, 73, 74), (2, 0, 3), (0, 2, 3))])
def test_matmul(device, m, n, p):
    numpy_or_skip()
    b = needle.backend(device)
    x, y, out = elements(m, n), elements(n, p, seed=2), b.Array(m * p)
    b.matmul(put(b, x), put(b, y), out, m, n, p)
    np.testing.assert_allclose(get(b, out).reshape(m, p), x.astype(float) @ y, rtol=1e-5, atol=1e-5)
    hx, hy = put(b, x), put(b, y)
    for _ in range(100):  # far more than math modes can be pushed
        b.matmul(hx, hy, out, m, n, p)
    with raises(ValueError, "matmul", "out has"):
        b.matmul(put(b, x), put(b, y), b.Array(m * p + 1), m, n, p)
    with raises(ValueError):
        b.matmul(put(b, x), put(b, y), out, -m - 1, n, p)


@cases(*[(d,) + s for d in DEVICES for s in ((1, 1, 1), (2, 2, 3), (1, 2, 1), (3, 4, 5))])
def test_matmul_tiled(device, m, n, p):
    numpy_or_skip()
    b, t = needle.backend(device), 8
    x, y, out = elements(m, n, t, t), elements(n, p, t, t, seed=2), b.Array(m * p * t * t)
    b.matmul_tiled(put(b, x), put(b, y), out, m * t, n * t, p * t)
    want = np.einsum("iaxy,ajyz->ijxz", x.astype(float), y)
    np.testing.assert_allclose(get(b, out).reshape(m, p, t, t), want, rtol=1e-5, atol=1e-4)
    with raises(ValueError, "multiples of 8"):
        b.matmul_tiled(put(b, x), put(b, y), out, m * t + 1, n * t, p * t)


@cases(*DEVICES)
def test_tf32_stays_off(device):
    """needle's products ask for IEEE by themselves. TF32 rounds 1 + 2^-12 to 1, and in strict mode a device that lacks
    it refuses the products that would use it."""
    b, plugin = needle.backend(device), device.replace(":0", "")
    value, exact = 1 + 2.0**-12, 8 * (1 + 2.0**-11)  # the square's 2^-24 lies below f32's last place
    x, h = ndock.full((8, 8), value, dtype=ndock.float32, device=device), b.Array(64)
    y = needle.NDArray(x, device=device)
    b.fill(h, value)
    with ndock.math.mode(plugin, "matmul", f32_matmul="tf32", strict=True):
        if device != "cuda:0":
            with raises(NotImplementedError, "f32 matmul"):
                x @ x
        for product in (b.matmul, b.matmul_tiled):
            out = b.Array(64)
            product(h, h, out, 8, 8, 8)
            assert np.allclose(get(b, out), exact, rtol=1e-6, atol=0), product
        assert np.allclose((y @ y).numpy(), exact, rtol=1e-6, atol=0)
        assert ndock.math.get_mode("f32_matmul", plugin=plugin, op="matmul") == "tf32", "needle left its own mode"


@cases(*DEVICES)
def test_reductions(device):
    numpy_or_skip()
    m = needle.backend(device)
    a = elements(40, 25)
    out = m.Array(40)
    m.reduce_sum(put(m, a), out, 25)
    np.testing.assert_allclose(get(m, out), a.astype(float).sum(1), rtol=1e-5, atol=1e-5)
    m.reduce_max(put(m, a), out, 25)
    assert (get(m, out) == a.max(1)).all()
    m.reduce_sum(m.Array(0), out, 0)
    assert (get(m, out) == 0).all()
    with raises(ValueError):
        m.reduce_max(m.Array(0), out, 0)
    for bad in (24, 26, -1):
        with raises(ValueError):
            m.reduce_sum(put(m, a), out, bad)


def test_array_sizes():
    m = needle.backend("cpu")
    for bad, kind in ((-1, ValueError), (2.5, TypeError), ("3", TypeError), ([3], TypeError), (1 << 80, OverflowError),
                      (1 << 62, (ndock.Error, OverflowError))):
        with raises(kind):
            m.Array(bad)
    with raises(TypeError):
        m.Array()
    with raises(TypeError):
        m.Array(size=3)


@cases(*DEVICES)
def test_hundreds_of_thousands_of_arrays(device):
    m = needle.backend(device)
    for _ in range(20000):
        m.Array(5)
    gc.collect()
    before, times = kilobytes(), []
    for _ in range(30):
        start = time.perf_counter()
        for _ in range(10000):
            m.Array(5)
        times.append(time.perf_counter() - start)
    each = min(times) / 10000
    print(f"# {device}: Array(5) takes {each * 1e9:.0f} ns")
    gc.collect()
    assert kilobytes() - before < 1024, "memory grew"
    kept = [m.Array(3) for _ in range(100000)]
    assert len({h.ptr() for h in kept[:1000]}) == 1000
    assert each < 20e-6


if __name__ == "__main__":
    main(globals())
