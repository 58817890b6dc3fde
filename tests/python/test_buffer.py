# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Elements for others on the host: the buffer protocol and __array__; never a silent copy from a device."""
import array
import gc
import struct

import ndock as nd
from tap import Skip, cases, main, raises

try:
    import numpy as np
except ImportError:
    np = None

FORMATS = {"bool": "?", "int8": "b", "int16": "h", "int32": "i", "int64": "q", "uint8": "B", "uint16": "H",
           "uint32": "I", "uint64": "Q", "float16": "e", "float32": "f", "float64": "d"}


def need_numpy():
    if np is None:
        raise Skip("no NumPy to compare with")


@cases(*FORMATS)
def test_elements_by_struct(name):
    x = nd.asarray([[0, 1, 1], [1, 0, 1]], dtype=name, device="cpu")
    view = memoryview(x)
    assert view.shape == (2, 3) and view.itemsize == x.itemsize == struct.calcsize(view.format)
    assert struct.unpack("=6" + FORMATS[name], view.tobytes()) == (0, 1, 1, 1, 0, 1)
    assert view.strides == (3 * x.itemsize, x.itemsize) and view.nbytes == x.nbytes and not view.readonly
    if name != "float16":
        assert view.tolist() == x.tolist()


def test_strides_and_shapes():
    x = nd.asarray([[0, 1, 2], [3, 4, 5]], device="cpu")
    assert memoryview(x[::-1, ::2]).strides == (-24, 16) and memoryview(x[::-1, ::2]).tolist() == [[3, 5], [0, 2]]
    assert memoryview(x[0, 1]).shape == () and memoryview(x[0, 1]).tolist() == 1
    assert memoryview(x[:0]).shape == (0, 3) and memoryview(x[:0]).nbytes == 0 and bytes(x[:0]) == b""
    assert memoryview(nd.broadcast_to(x[:1], (2, 3))).tolist() == [[0, 1, 2]] * 2
    assert bytes(x.mT) == struct.pack("=6q", 0, 3, 1, 4, 2, 5)
    assert memoryview(x.mT).f_contiguous and memoryview(x).c_contiguous


def test_writes_go_through():
    x = nd.zeros(3, dtype="int8", device="cpu")
    memoryview(x)[1] = 5
    struct.pack_into("b", x, 2, 6)
    assert x.tolist() == [0, 5, 6]


def test_requests_that_cannot_be_met():
    x = nd.asarray([[1, 2], [3, 4]], device="cpu")
    with raises(BufferError, "C order"):  # array.array wants dense bytes
        array.array("b").frombytes(x.mT)
    fixed = nd.asarray(b"abc", device="cpu")
    assert memoryview(fixed).readonly
    with raises((BufferError, TypeError)):
        struct.pack_into("b", fixed, 0, 1)
    with raises(BufferError, "bfloat16", "astype"):
        memoryview(nd.zeros(2, dtype="bfloat16", device="cpu"))


def test_views_outlive_the_array():
    x = nd.asarray([1.0] * 1000, device="cpu")
    view = memoryview(x)
    del x
    gc.collect()
    others = [nd.zeros(1000, device="cpu") for _ in range(10)]
    assert view.tolist() == [1.0] * 1000 and len(others) == 10


def test_never_silently_from_a_device():
    x = nd.asarray([1, 2], device="sim:0")
    for f in (memoryview, bytes):
        with raises(BufferError, 'x.to_device("cpu")', "sim:0"):
            f(x)
    with raises(TypeError, 'x.to_device("cpu")', "sim:0"):
        x.__array__()
    if np:
        for f in (np.asarray, np.array, np.packbits):
            with raises(TypeError, 'x.to_device("cpu")'):
                f(x)
    assert memoryview(x.to_device("cpu")).tolist() == [1, 2]


def test_pending_copies_are_waited_for():
    x = nd.asarray([1.0] * 100000, device="sim:0") * 3
    assert set(memoryview(x.to_device("cpu")).tolist()) == {3.0}


def test_numpy_asarray_views():
    need_numpy()
    for name in [*FORMATS, "complex64", "complex128"]:
        x = nd.asarray([[0, 1, 1], [1, 0, 1]], dtype=name, device="cpu")
        for y in (x, x.mT, x[::-1, ::2], x[0, 0], x[:0]):
            a = np.asarray(y)
            assert a.dtype == name and a.shape == y.shape and a.tolist() == y.tolist()
    x = nd.zeros(3, device="cpu")
    np.asarray(x)[1] = 5
    assert x.tolist() == [0, 5, 0]
    np.array(x)[0] = 9
    assert x.tolist() == [0, 5, 0]
    assert not np.asarray(nd.asarray(b"abc", device="cpu")).flags.writeable


def test_array_method():
    need_numpy()
    x = nd.asarray([1.5, 2], device="cpu")
    assert x.__array__().tolist() == [1.5, 2] and x.__array__("float32").dtype == np.float32
    assert x.__array__(dtype=np.int8, copy=True).tolist() == [1, 2]
    view = x.__array__(copy=None)
    view[0] = 7
    assert x[0].item() == 7
    assert np.shares_memory(x.__array__(copy=False), view) and np.shares_memory(x.__array__("float64", False), view)
    assert not np.shares_memory(x.__array__(copy=True), view)
    with raises(ValueError, "float32", "copy=False"):
        x.__array__("float32", copy=False)
    with raises(TypeError):
        x.__array__("no such dtype")
    with raises(ValueError, "ambiguous"):
        x.__array__(copy=np.zeros(2))
    with raises(TypeError, "bfloat16", "float32"):
        nd.zeros(1, dtype="bfloat16", device="cpu").__array__()


def test_numpy_there_and_back_shares_memory():
    need_numpy()
    a = np.arange(6).reshape(2, 3)
    b = np.asarray(nd.asarray(a, device="cpu").mT)
    b[0, 1] = 99
    assert a[1, 0] == 99


if __name__ == "__main__":
    main(globals())
