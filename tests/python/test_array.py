# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The array object: attributes, conversions, methods, operators beside other objects, copies."""
import copy
import gc
import math
import operator
import weakref

import ndock as nd
from devices import DEVICES
from tap import Skip, cases, main, raises

try:
    import numpy as np
except ImportError:
    np = None

EACH = cases(*DEVICES)


def need_numpy():
    if np is None:
        raise Skip("no NumPy to compare with")


@EACH
def test_attributes(device):
    x = nd.zeros((2, 3, 4), dtype=nd.float32, device=device)
    assert (x.shape, x.strides, x.ndim, x.size, x.itemsize, x.nbytes, x.offset) == ((2, 3, 4), (12, 4, 1), 3, 24, 4, 96, 0)
    assert x.dtype is nd.float32 and x.device == nd.Device(device) and not x.readonly
    assert x[1, ::2].offset == 12 and x[1, ::2].strides == (8, 1)
    assert x.mT.shape == (2, 4, 3) and x[0].T.shape == (4, 3)
    with raises(ValueError, "two axes"):
        x.T
    with raises(ValueError):
        x[0, 0].mT
    with raises(AttributeError):
        x.shape = (24,)


@EACH
def test_conversions(device):
    def a(value, dtype=None):
        return nd.asarray(value, dtype=dtype, device=device)

    assert int(a(3.9)) == 3 and int(a(-3.9)) == -3 and int(a(True)) == 1 and int(a(2**63)) == 2**63
    assert float(a(3)) == 3.0 and float(a(1.5, "float16")) == 1.5
    assert complex(a(1.5)) == 1.5 and complex(a(1 + 2j)) == 1 + 2j
    assert operator.index(a(7, "uint8")) == 7 and [10, 11, 12][a(1)] == 11
    assert bool(a(0.0)) is False and bool(a(-1)) is True and bool(a(1j)) is True and bool(a([2])) is True
    with raises(ValueError):
        int(a(math.nan))
    with raises(OverflowError):
        int(a(math.inf))
    with raises(TypeError, "complex"):
        float(a(1j))
    with raises(TypeError, "complex"):
        int(a(1j))
    for f in (int, float, complex):
        with raises(TypeError, "(1,)"):
            f(a([1]))
    for dtype in ("float32", "bool", "complex64"):
        with raises(TypeError, dtype):
            operator.index(a(1, dtype))
    for empty_or_long in ([], [1, 2]):
        with raises(ValueError, "ambiguous"):
            bool(a(empty_or_long))


@EACH
def test_item_and_tolist(device):
    x = nd.asarray([[1, 2, 3], [4, 5, 6]], device=device)
    assert x.item(4) == x.item(1, 1) == x.item((1, 1)) == x.mT.item(3) == x.item(-2) == 5
    assert x[0, 0].item() == 1 and type(x.item(0)) is int
    assert x.mT.tolist() == [[1, 4], [2, 5], [3, 6]] and x[:0].tolist() == [] and x[0, 1].tolist() == 2
    for args in ((6,), (2, 0), (-7,)):
        with raises(IndexError):
            x.item(*args)
    for args in ((), (0, 0, 0)):
        with raises(ValueError):
            x.item(*args)
    for dtype, value in (("bool", True), ("uint64", 2**64 - 1), ("int8", -128), ("float16", 65504.0), ("bfloat16", -2.0),
                         ("float32", 0.5), ("complex64", 1 - 2j)):
        y = nd.asarray([value], dtype=dtype, device=device)
        assert y.tolist() == [value] and type(y.item()) is type(value)


@EACH
def test_as_a_sequence(device):
    x = nd.asarray([[1, 2], [3, 4]], device=device)
    assert len(x) == 2 and [row.tolist() for row in x] == [[1, 2], [3, 4]]
    for row in x:
        row[0] = 9  # views
    assert x.tolist() == [[9, 2], [9, 4]]
    assert 4 in x and 5 not in x and None not in x
    assert [r.tolist() for r in reversed(x)] == [[9, 4], [9, 2]]
    for f in (len, iter, list):
        with raises(TypeError):
            f(x[0, 0])


@EACH
def test_methods(device):
    x = nd.asarray([[1.5, 2], [3, 4]], device=device)
    assert x.reshape(4).tolist() == x.reshape((-1,)).tolist() == x.ravel().tolist() == [1.5, 2, 3, 4]
    assert x.transpose().tolist() == x.permute(1, 0).tolist() == x.transpose((1, 0)).tolist() == [[1.5, 3], [2, 4]]
    assert x[None].squeeze().shape == x[None].squeeze(0).shape == (2, 2)
    flat = x.flatten()
    flat[0] = 9
    x.ravel()[1] = 7
    assert x.tolist() == [[1.5, 7], [3, 4]]
    with raises(ValueError):
        x.mT.reshape(4, copy=False)
    x.reshape(4, copy=True)[0] = 9
    assert x[0, 0].item() == 1.5 and x.is_contiguous() and not x.mT.is_contiguous()
    assert x.astype("int8").tolist() == [[1, 7], [3, 4]] and x.astype(float, copy=False) is x
    assert x.astype(float) is not x and x.astype("int8", device="cpu").device == nd.Device("cpu")
    assert x.sum().item() == 15.5 and x.max(axis=0).tolist() == [3, 7] and x.mean().item() == 3.875
    assert x.argmax().item() == 1 and x.any().item() is True and x.all().item() is True and x.min().item() == 1.5
    with raises(TypeError):
        x.astype("float33")


@EACH
def test_devices_of_arrays(device):
    x = nd.asarray([1, 2], device=device)
    assert x.to_device(device) is x and x.to(device) is x
    other = x.to_device("sim:1")
    assert other.device == nd.Device("sim:1") and other.tolist() == [1, 2]
    assert other.cpu().device == nd.Device("cpu") and other.to("float32").dtype == nd.float32
    y = other.to(nd.Device("cpu"), nd.int8)
    assert y.dtype == nd.int8 and y.device == nd.Device("cpu") and y.to(y.device, copy=True) is not y
    assert other.to("int8", "cpu").device == nd.Device("cpu")
    stream = nd.Stream("sim:1")
    streamed = x.to_device("sim:1", stream=stream)
    stream.synchronize()  # tolist reads on the current stream
    assert streamed.tolist() == [1, 2] and streamed.to_device("cpu", stream=stream).tolist() == [1, 2]
    with raises(TypeError):
        x.to_device("sim:1", stream=5)
    with raises(ValueError, "nowhere"):
        x.to_device("nowhere")
    with raises(TypeError):
        x.to(3)


def test_namespace():
    x = nd.ones(1)
    assert x.__array_namespace__() is nd and x.__array_namespace__(api_version="2025.12") is nd
    with raises(ValueError, "2030.01"):
        x.__array_namespace__(api_version="2030.01")


@EACH
def test_copies(device):
    x = nd.asarray([[1, 2], [3, 4]], device=device)
    for y in (x.copy(), copy.copy(x), copy.deepcopy(x), copy.deepcopy({"x": x})["x"]):
        y[...] = 0
        assert y.device == x.device
    assert x.tolist() == [[1, 2], [3, 4]] and x.mT.copy().is_contiguous()


def test_hash_and_weak_references():
    x = nd.ones(2)
    with raises(TypeError, "unhashable"):
        hash(x)
    gone = weakref.ref(x)
    del x
    gc.collect()
    assert gone() is None


@EACH
def test_operators_with_scalars(device):
    x = nd.asarray([7, -7], device=device)
    q, r = divmod(x, 2)
    assert q.tolist() == [3, -4] and r.tolist() == [1, 1]
    q, r = divmod(20, x)
    assert q.tolist() == [2, -3] and r.tolist() == [6, -1]
    assert (2**nd.asarray([1, 3], device=device)).tolist() == [2, 8]
    assert (x == None) is False and (x != "a") is True  # noqa: E711
    for f in (operator.lt, operator.add, operator.and_, operator.matmul, divmod, operator.iadd):
        for other in (None, "a", {1: 2}):
            with raises(TypeError):
                f(x, other)
    with raises(TypeError):
        pow(x, 2, 3)
    # For arrays without elements too: whether a program is right does not depend on how many rows it has today.
    for shape in ((1,), (0,), (2, 0)):
        y = nd.zeros(shape, dtype="int8", device=device)
        for f in (lambda: y + 128, lambda: -129 - y, lambda: operator.imul(y, 300), lambda: nd.where(y > 0, y, 128)):
            with raises(OverflowError):
                f()


@EACH
def test_negative_powers_of_integers(device):
    """As NumPy's: ValueError for a scalar, and for an array whose values are on the host."""
    x = nd.asarray([2, 3], device=device)
    for f in (lambda: x**-1, lambda: 2 ** nd.asarray([1, -1], device="cpu"), lambda: operator.ipow(x, -2)):
        with raises(ValueError, "negative integer powers"):
            f()
    assert (x**0).tolist() == [1, 1] and (x**-1.0).tolist() == [0.5, 1 / 3]
    assert (x ** nd.asarray([], dtype="int64", device=device)[:0].reshape(0, 1)).shape == (0, 2)


@EACH
def test_positions_of_arguments_are_numpys(device):
    x = nd.asarray([[1.0, 2.0], [3.0, 5.0]], device=device)
    assert x.sum(1).tolist() == [3, 8] and x.mean(0).tolist() == [2, 3.5] and x.max(0, None, True).shape == (1, 2)
    assert x.std(None, None, None, 1).tolist() == nd.std(x, correction=1).tolist()
    assert x.cumsum().tolist() == [1, 3, 6, 11] and x.cumsum(0).tolist() == [[1, 2], [4, 7]]
    assert x.swapaxes(0, 1).tolist() == x.T.tolist() and x.trace().tolist() == 6
    with raises(TypeError, "ddof"):
        x.std(ddof=1, correction=1)


@EACH
def test_arrays_without_axes_serve_as_scalars(device):
    n, v = nd.asarray(3, device=device), nd.asarray(2.5, dtype="float32", device=device)
    assert nd.full((2,), v, device=device).dtype == nd.float32 and nd.full_like(nd.zeros(2, device=device), n).tolist() == [3, 3]
    assert nd.arange(n).tolist() == [0, 1, 2] and nd.linspace(0, n, 4).tolist() == [0, 1, 2, 3]
    assert nd.clip(nd.asarray([1.0, 9.0], device=device), v, nd.asarray(4.0, device=device)).tolist() == [2.5, 4]
    with raises(TypeError, "without axes"):
        nd.full((2,), nd.zeros(1, device=device))


@EACH
def test_in_place_keeps_the_dtype(device):
    x = nd.asarray([1, 2], dtype="float32", device=device)
    same = x
    x += 1
    x *= nd.asarray([2, 3], dtype="float32", device=device)
    x **= 2
    assert same is x and x.dtype == nd.float32 and x.tolist() == [16, 81]
    i = nd.asarray([1, 2], device=device)
    for f in (operator.itruediv, operator.iadd):
        with raises(TypeError, "astype"):
            f(i, 1.5)
    with raises(ValueError):
        i += nd.ones((2, 2), dtype=i.dtype, device=device)
    assert i.tolist() == [1, 2]


def test_reflected_with_foreign_objects():
    class Other:
        def __radd__(self, other):
            return "radd"

        def __eq__(self, other):
            return "eq"

    x = nd.ones(2)
    assert x + Other() == "radd" and (x == Other()) == "eq"


def host_visible(device):
    return nd.Device(device).host_visible


@EACH
def test_lists_and_numpy_arrays_join_on_the_host(device):
    x = nd.asarray([1.0, 2.0], device=device)
    others = [[3.0, 4.0], (3.0, 4.0)] + ([] if np is None else [np.asarray([3.0, 4.0])])
    for f in (operator.add, operator.mul, operator.sub, operator.lt, operator.eq, operator.truediv, nd.maximum):
        for other in others:
            if not host_visible(device):
                with raises(TypeError, "host memory", f'device="{device}"'):
                    f(x, other)
                continue
            want = f(x, nd.asarray([3.0, 4.0], device=device)).tolist()
            assert f(x, other).tolist() == want
            if f is not nd.maximum:
                assert f(other, x).tolist() == f(nd.asarray([3.0, 4.0], device=device), x).tolist()
    if host_visible(device):
        assert float(x @ [1, 1]) == 3 and ([1, 1] @ x).tolist() == 3
        x += [1, 1]
        assert x.tolist() == [2, 3]
        assert nd.take(x, [1]).tolist() == [3] and nd.take_along_axis(x, [1, 0]).tolist() == [3, 2]
        assert nd.isin(x, [3]).tolist() == [False, True] and nd.searchsorted(x, [2.5]).tolist() == [1]


def test_numpy_in_place_keeps_its_array():
    need_numpy()
    a, x = np.ones(2), nd.ones(2, device="cpu")
    with raises(TypeError):
        a += x
    with raises(TypeError):
        np.add(a, x, out=a)
    assert type(a) is np.ndarray and type(a + x) is nd.Array and type(np.add(a, x)) is nd.Array


def test_numpy_scalars_are_weak():
    need_numpy()
    x = nd.asarray([1, 2], dtype="float32")
    for scalar in (np.float32(2), np.float64(2), np.float16(2), np.int8(2), np.uint64(2)):
        for y in (x + scalar, scalar + x):
            assert y.dtype == nd.float32 and y.tolist() == [3, 4]
    i = nd.asarray([1, 2], dtype="int8")
    assert (np.int64(2) * i).dtype == nd.int8 and (i * np.bool_(True)).dtype == nd.int8
    assert (np.float32(0.5) + i).dtype == nd.float64  # the kind counts: as a Python float
    x += np.float64(1)
    assert x.dtype == nd.float32 and (x < np.float32(2.5)).tolist() == [True, False]


def test_default_device_of_new_arrays():
    assert nd.asarray([1]).device == nd.zeros(1).device


if __name__ == "__main__":
    main(globals())
