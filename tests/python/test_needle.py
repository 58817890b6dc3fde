# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""ndock.needle as needle's backend_ndarray: every name, with values from NumPy; and the lecture's examples as written."""
import operator
import subprocess
import sys

import ndock
import ndock.needle as nd
from devices import DEVICES
from tap import Skip, cases, main, raises

try:
    import numpy as np
except ImportError:
    np = None



def device_of(name):
    if np is None:
        raise Skip("needs NumPy")
    return nd.BackendDevice(name)


def elements(*shape, seed=1):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def same(x, want, rtol=0.0):
    got = x.numpy()
    assert got.shape == np.shape(want), (got.shape, np.shape(want))
    np.testing.assert_allclose(got, want, rtol=rtol, atol=rtol)


def shares(x, view, want):
    """view is want's layout over x's memory."""
    assert view.handle.ptr() == x.handle.ptr() and view.handle is x.handle
    assert view.strides == tuple(s // 4 for s in want.strides), (view.strides, want.strides)
    same(view, want)


def test_the_lecture():
    x = nd.NDArray([1, 2, 3], device=nd.cpu())
    y = x + 1
    assert repr(y) == "NDArray([2. 3. 4.], device=cpu())", repr(y)
    x = nd.array([0, 1, 2, 3, 4, 5], device=nd.cpu_numpy())
    z = nd.NDArray.make(shape=(2, 3), strides=(3, 1), device=x.device, handle=x._handle, offset=0)
    b = nd.NDArray.make(shape=(2, 2), strides=(3, 1), device=x.device, handle=x._handle, offset=1)
    assert str(z) == "[[0. 1. 2.]\n [3. 4. 5.]]" and str(b) == "[[1. 2.]\n [4. 5.]]", (str(z), str(b))
    t = nd.NDArray.make((2, 3, 4), strides=(3, 1, 0), device=x.device, handle=x._handle)
    assert t.size == 24 and str(t[1, 2, 3]) == "[[[5.]]]"


def test_the_lecture_on_cuda():
    if nd.cuda().enabled():
        assert repr(nd.NDArray([1, 2, 3], device=nd.cuda()) + 1) == "NDArray([2. 3. 4.], device=cuda())"
        return
    with raises(ndock.Error, "cuda", "cpu:0"):
        nd.NDArray([1, 2, 3], device=nd.cuda())
    with raises(ndock.Error, "cuda"):
        nd.cuda().empty((2,))
    assert nd.cuda().mod is None and not hasattr(nd.cuda(), "nosuch")


def test_the_package_finds_the_module():
    code = "import ndock, sys; assert 'ndock.needle' not in sys.modules; print(ndock.needle.backend('cpu').__device_name__)"
    assert subprocess.check_output([sys.executable, "-c", code], text=True) == "cpu\n"


def test_devices():
    assert nd.cpu() == nd.cpu() and nd.cpu() != nd.cuda() and nd.cpu() != "cpu" and repr(nd.cuda()) == "cuda()"
    assert nd.default_device() == nd.cpu_numpy() and repr(nd.cuda(1)) == "cuda:1()"
    assert [d.name for d in nd.all_devices()] == ["cpu", "cuda", "cpu_numpy"]
    assert nd.cpu().enabled() and nd.cpu_numpy().enabled() and nd.cpu().mod is nd.backend("cpu")
    assert len({nd.cpu(), nd.cpu(), nd.cuda()}) == 2 and nd.cpu().__tile_size__ == 8
    assert nd.BackendDevice("mine", nd.backend("sim:0")).mod is nd.backend("sim:0")


@cases(*DEVICES)
def test_device_creation(name):
    d = device_of(name)
    assert d.empty((2, 3)).shape == (2, 3) and d.empty((0,)).size == 0
    same(d.full((2, 2), 0.1), np.full((2, 2), np.float32(0.1)))
    for draw in ("rand", "randn"):
        np.random.seed(3)
        want = getattr(np.random, draw)(4, 5).astype(np.float32)
        np.random.seed(3)
        same(getattr(d, draw)(4, 5), want)
    assert d.rand().shape == ()
    for i in (2, [0, 3, -1], np.array([[1, 2], [0, 0]], np.int32)):
        same(d.one_hot(4, i), np.eye(4)[i])
    with raises(IndexError):
        d.one_hot(4, [4]).numpy()
    for make in (d.empty, d.rand, lambda s, dtype: d.one_hot(3, 1, dtype=dtype)):
        with raises(AssertionError, "float64"):
            make(3, dtype="float64")


@cases(*DEVICES)
def test_module_functions(name):
    d = device_of(name)
    a, b = elements(3, 4), elements(3, 4, seed=2)
    x = nd.array(a, device=d)
    same(nd.empty((2, 2), device=d) * 0 == 3, np.zeros((2, 2)))
    same(nd.full((2,), 3, device=d), [3, 3])
    assert nd.empty((2,)).device == nd.default_device() and nd.array([1.5]).device == nd.default_device()
    same(nd.broadcast_to(nd.reshape(x, (3, 4, 1)), (3, 4, 2)), np.broadcast_to(a[:, :, None], (3, 4, 2)))
    same(nd.maximum(x, nd.array(b, device=d)), np.maximum(a, b))
    same(nd.exp(x), np.exp(a), 3e-7)
    same(nd.tanh(x), np.tanh(a), 3e-7)
    same(nd.log(nd.array(abs(a), device=d)), np.log(abs(a)), 3e-7)
    same(nd.sum(x, 1), a.sum(1), 1e-6)
    same(nd.flip(x, (0,)), a[::-1])
    with raises(ValueError, "int8"):
        nd.array([1], dtype="int8")


@cases(*DEVICES)
def test_construction(name):
    d = device_of(name)
    a = elements(4, 6)
    x = nd.NDArray(a, device=d)
    assert (x.shape, x.strides, x.offset, x.device, x.ndim, x.size, x.dtype) == ((4, 6), (6, 1), 0, d, 2, 24, "float32")
    assert x.handle.size == 24 and x.is_compact() and x.array.dtype == ndock.float32
    for other in (a.T, a[::2, ::-2], a.astype(float), np.arange(5), np.float32(2.5), np.zeros((2, 0, 3)), 3, [[1, 2], [3, 4]],
                  [], (True, False)):
        y = nd.NDArray(other, device=d)
        same(y, np.asarray(other, np.float32))
        assert y.strides == nd.NDArray.compact_strides(y.shape) and y.is_compact()
    copy = nd.NDArray(x)
    copy[0, 0] = 99
    assert copy.device == d and x.numpy()[0, 0] == a[0, 0]
    same(nd.NDArray(x.permute((1, 0))[1:3, 0:2]), a.T[1:3, 0:2])
    same(nd.NDArray(ndock.arange(3, dtype=ndock.int32), device=d), [0, 1, 2])
    assert nd.NDArray([1.0], device=name).device == d
    for bad in (1j, ["x"], None):
        with raises(TypeError):
            nd.NDArray(bad, device=d)


@cases(*DEVICES)
def test_to(name):
    d = device_of(name)
    x = nd.array(elements(3, 2), device=d)
    assert x.to(d) is x
    for other in (nd.cpu(), nd.cpu_numpy()):
        y = x.permute((1, 0)).to(other)
        assert y.device == other
        same(y, x.numpy().T)


@cases(*DEVICES)
def test_views_share_memory(name):
    d = device_of(name)
    a = elements(4, 6)
    x = nd.array(a, device=d)
    shares(x, x.reshape((2, 2, 6)), a.reshape(2, 2, 6))
    shares(x, x.reshape((-1, 3)), a.reshape(-1, 3))
    shares(x, x.flat, a.ravel())
    shares(x, x.permute((1, 0)), a.T)
    shares(x, x.reshape((4, 1, 6)).permute((2, 0, 1)), a.reshape(4, 1, 6).transpose(2, 0, 1))
    shares(x, x.reshape((4, 1, 6)).broadcast_to((4, 5, 6)), np.broadcast_to(a.reshape(4, 1, 6), (4, 5, 6)))
    shares(x, x.broadcast_to((3, 4, 6)), np.broadcast_to(a, (3, 4, 6)))
    shares(x, x[1:3, 2:5], a[1:3, 2:5])
    shares(x, x[1:4:2, ::2], a[1:4:2, ::2])
    shares(x, x[-3:-1, :100], a[-3:-1, :100])
    shares(x, x[2, 3], a[2:3, 3:4])
    shares(x, x[-1, :], a[-1:, :])
    shares(x, x.permute((1, 0))[3:6, 1:4][0:2, 1], a.T[3:6, 1:4][0:2, 1:2])
    shares(x, x[1:3, 0:2].as_strided((3,), (5,)), np.lib.stride_tricks.as_strided(a[1:], (3,), (20,)))
    assert x[1:3, 2:5].offset == 8
    with raises(IndexError):
        x.as_strided((5, 6), (6, 1))


@cases(*DEVICES)
def test_views_refused(name):
    x = nd.array(elements(4, 6), device=device_of(name))
    for bad in ((5, 5), (-1, 5), (-1, -1)):
        with raises(ValueError):
            x.reshape(bad)
    with raises(ValueError):
        x.permute((1, 0)).reshape((24,))
    for axes in ((0, 0), (0,), (0, 2)):
        with raises(AssertionError, "permutation"):
            x.permute(axes)
    for shape in ((4, 7), (6,), (4, 6, 1)):
        with raises(AssertionError, "broadcast"):
            x.broadcast_to(shape)
    for index in ((0,), (slice(None),), (0, 0, 0), (slice(2, 2), 0), (slice(None, None, -1), 0), (None, 0), (..., 0)):
        with raises(AssertionError):
            x[index]
    for index in ((4, 0), (0, -7)):
        with raises(IndexError):
            x[index]
    with raises(ValueError):
        x[::0, 0]


@cases(*DEVICES)
def test_setitem(name):
    d = device_of(name)
    for index in ((slice(1, 3), slice(2, 5)), (slice(0, 4, 2), slice(None)), (1, 2), (slice(None), 5), (-1, slice(1, 6, 2))):
        a = elements(4, 6)
        x = nd.array(a, device=d)
        pointer = x.handle.ptr()
        where = tuple(slice(i % n, i % n + 1) if isinstance(i, int) else i for i, n in zip(index, a.shape))
        value = elements(*a[where].shape, seed=2)
        x[index] = nd.array(value, device=d)
        a[where] = value
        same(x, a)
        x[index] = nd.array(value.T, device=d).permute((1, 0))
        same(x, a)
        x[index] = nd.array(value.ravel() + 1, device=d)
        a[where] = value + 1
        same(x, a)
        for scalar in (4.0, 3, np.float32(0.1)):
            x[index] = scalar
            a[where] = scalar
            same(x, a)
        assert x.handle.ptr() == pointer, "not in place"
        with raises(AssertionError):
            x[index] = nd.array(elements(100), device=d)
        with raises(TypeError):
            x[index] = "x"
    x = nd.array(a, device=d)
    x[0:2, :] = x[1:3, :]  # reads what it writes
    want = a.copy()
    want[0:2] = a[1:3]
    same(x, want)
    x[2:4, 0:2].fill(7)
    want[2:4, 0:2] = 7
    same(x, want)


@cases(*[(d, o) for d in DEVICES for o in ("add", "sub", "mul", "truediv", "eq", "ne", "ge", "gt", "le", "lt")])
def test_operators(name, op):
    d, f = device_of(name), getattr(operator, op)
    a, b = elements(4, 6), elements(6, 4, seed=2)
    b.T[::2] = a[::2]
    x, y = nd.array(a, device=d), nd.array(b, device=d)
    result = f(x, y.permute((1, 0)))
    same(result, f(a, b.T).astype(np.float32), 2e-7)
    assert result.is_compact() and result.device == d and result.handle is not x.handle
    for v in (0.1, 2, True, np.float32(0.5), float(a[0, 0])):
        same(f(x, v), f(a, np.float32(v)).astype(np.float32), 2e-7)
        same(f(v, x), f(np.float32(v), a).astype(np.float32), 2e-7)
    with raises(AssertionError, "(4, 6)", "(6, 4)"):
        f(x, y)
    with raises(TypeError):
        f(x, "2")


@cases(*DEVICES)
def test_more_operators(name):
    d = device_of(name)
    a = elements(3, 4)
    x = nd.array(a, device=d)
    same(-x, -a)
    with np.errstate(invalid="ignore"):
        for v in (2, 0.5, -1.0, 5.0):
            same(x ** v, a.astype(float) ** v, 1e-6)
    same(x.maximum(0.1), np.maximum(a, np.float32(0.1)))
    same(x.exp(), np.exp(a), 3e-7)
    same(x.tanh(), np.tanh(a), 3e-7)
    with raises(TypeError):
        x ** x


@cases(*[(d,) + s for d in DEVICES for s in ((16, 16, 16), (3, 4, 5), (72, 73, 74), (128, 128, 128), (1, 0, 2))])
def test_matmul(name, m, n, p):
    d = device_of(name)
    a, b = elements(m, n), elements(p, n, seed=2)
    x, y = nd.array(a, device=d), nd.array(b, device=d)
    same(x @ y.permute((1, 0)), a.astype(float) @ b.T, 2e-5)
    with raises(AssertionError):
        x @ nd.array(elements(n + 1, p), device=d)
    with raises(AssertionError):
        x @ nd.array(elements(n), device=d)


@cases(*[(d, f) for d in DEVICES for f in ("sum", "max")])
def test_reductions(name, f):
    d = device_of(name)
    a = elements(4, 5, 6)
    x = nd.array(a, device=d)
    for axis in (0, 1, 2, -1, (1,), [2], (0, 2)):
        want = getattr(a.astype(float), f)(axis=tuple(axis) if isinstance(axis, list) else axis)
        same(getattr(x, f)(axis=axis), want, 1e-5)
        same(getattr(x, f)(axis=axis, keepdims=True), np.expand_dims(want, tuple(axis) if not isinstance(axis, int) else axis),
             1e-5)
    same(getattr(x.permute((2, 0, 1)), f)(axis=0), getattr(a.transpose(2, 0, 1).astype(float), f)(axis=0), 1e-5)
    total = getattr(a.astype(float), f)()
    same(getattr(x, f)(), [total], 1e-5)  # the course's shape
    same(getattr(x, f)(keepdims=True), [[[total]]], 1e-5)
    for bad in ((), 3, (0, 0)):
        with raises(ValueError):
            getattr(x, f)(axis=bad)


@cases(*DEVICES)
def test_flip_and_pad(name):
    d = device_of(name)
    a = elements(3, 4, 2)
    x = nd.array(a, device=d)
    for axes in ((0,), (1, 2), (0, 1, 2), 1, (-1,)):
        y = x.flip(axes)
        same(y, np.flip(a, axes))
        assert y.is_compact()
    for axes in (((0, 0), (1, 2), (0, 3)), ((0, 0),) * 3, ((1, 1), (1, 0), (2, 2))):
        same(x.pad(axes), np.pad(a, axes))
    same(x.permute((2, 1, 0)).pad(((1, 0), (0, 0), (0, 1))), np.pad(a.T, ((1, 0), (0, 0), (0, 1))))
    with raises(AssertionError):
        x.pad(((0, 0), (1, 1)))
    with raises(AssertionError):
        x.pad(((0, 0), (1, -1), (0, 0)))


@cases(*DEVICES)
def test_compact(name):
    d = device_of(name)
    a = elements(4, 6)
    x = nd.array(a, device=d)
    assert x.compact() is x
    for view, want in ((x.permute((1, 0)), a.T), (x[1:3, 2:5], a[1:3, 2:5]), (x[0:2, :], a[0:2]),
                       (x.broadcast_to((2, 4, 6)), np.broadcast_to(a, (2, 4, 6)))):
        assert not view.is_compact()
        y = view.compact()
        assert y.is_compact() and y.handle is not x.handle
        same(y, want)


@cases(*DEVICES)
def test_handles_reach_the_backend(name):
    d = device_of(name)
    a, b = elements(2, 1, 8, 8), elements(1, 3, 8, 8, seed=2)
    x, y, out = nd.array(a, device=d), nd.array(b, device=d), nd.NDArray.make((2, 3, 8, 8), device=d)
    d.matmul_tiled(x._handle, y._handle, out._handle, 16, 8, 24)
    same(out, np.einsum("iaxy,ajyz->ijxz", a.astype(float), b), 1e-4)
    z = x + 1
    d.scalar_mul(z.handle, 2, z.handle)
    same(z, (a + 1) * 2)


if __name__ == "__main__":
    main(globals())
