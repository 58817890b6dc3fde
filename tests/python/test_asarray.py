# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""asarray: what it takes, the dtypes it finds, when it copies, and what it refuses."""
import array
import ctypes
import gc
import sys
import weakref

import ndock as nd
from devices import DEVICES
from tap import Skip, cases, main, raises

try:
    import numpy as np
except ImportError:
    np = None

EACH = cases(*DEVICES)
NAMES = "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64 complex64 complex128".split()


def need_numpy():
    if np is None:
        raise Skip("no NumPy to compare with")


@cases((True, "bool"), (3, "int64"), (-3, "int64"), (2**63 - 1, "int64"), (2**63, "uint64"), (1.5, "float64"),
       (1j, "complex128"), ([], "float64"), ([[], []], "float64"), ([True, 2], "int64"), ([1, 2.5], "float64"),
       ([1.5, 1j], "complex128"), ([True, False], "bool"), ((1, (2)), "int64"), ([2**63, 1], "uint64"),
       (range(3), "int64"))
def test_dtype_inference(value, dtype):
    x = nd.asarray(value)
    assert x.dtype == dtype, x.dtype
    want = list(value) if isinstance(value, (tuple, range)) else value
    assert x.tolist() == want, x.tolist()


@cases(([[1, 2], [3]], "[1]", "1 entries", "2 entries"), ([[1, 2], 3], "[1]", "scalar"), ([1, [2]], "[1]", "scalars"),
       ([[[1], [2]], [[3], [4, 5]]], "[1][1]"), ([[], [1]], "[1]"))
def test_inhomogeneous_lists_name_the_place(value, *texts):
    with raises(ValueError, "inhomogeneous", *texts):
        nd.asarray(value)


def test_objects_that_are_no_arrays():
    for value, kind in (("abc", TypeError), (None, TypeError), ([1, "a"], TypeError), ({1: 2}, TypeError),
                        ([None], TypeError), ({1, 2}, TypeError), (object(), TypeError)):
        with raises(kind):
            nd.asarray(value)
    with raises(TypeError, "[1][0]", "str"):
        nd.asarray([[1], ["a"]])
    deep = 1
    for _ in range(70):
        deep = [deep]
    with raises(ValueError, "64"):
        nd.asarray(deep)
    itself = []
    itself.append(itself)
    with raises(ValueError, "64"):
        nd.asarray(itself)


@EACH
def test_dtype_argument(device):
    for dtype in NAMES:
        x = nd.asarray([[0, 1], [1, 0]], dtype=dtype, device=device)
        assert x.dtype == dtype and x.device == nd.Device(device)
        assert x.tolist() == [[0, 1], [1, 0]]
    assert nd.asarray([1.9, -1.9], dtype=int, device=device).tolist() == [1, -1]
    assert nd.asarray([0.0, -2.5], dtype=bool, device=device).tolist() == [False, True]
    assert nd.asarray([1 / 3], dtype="float16", device=device).tolist() == [0.333251953125]  # IEEE binary16
    assert nd.asarray([1 / 3], dtype="bfloat16", device=device).tolist() == [0.333984375]
    assert nd.asarray([2**64 - 1], dtype="uint64").tolist() == [2**64 - 1]
    for value, dtype in (([256], "uint8"), ([-1], "uint64"), ([128], "int8"), ([1e30], "int64"), ([float("nan")], "int32")):
        with raises(OverflowError):
            nd.asarray(value, dtype=dtype)
    for value in (2**64, -2**63 - 1, [2**63, -1]):
        with raises(OverflowError):
            nd.asarray(value)
    with raises(TypeError, "complex"):
        nd.asarray([1j], dtype=float)


def test_integers_at_the_edges_of_every_dtype():
    for name in NAMES[1:9]:
        bits = int(name.lstrip("uint"))
        low, high = (0, 2**bits - 1) if name[0] == "u" else (-2**(bits - 1), 2**(bits - 1) - 1)
        assert nd.asarray([low, high], dtype=name).tolist() == [low, high]
        for beyond in (low - 1, high + 1):
            with raises(OverflowError):
                nd.asarray([beyond], dtype=name)


@EACH
def test_arrays_within_sequences_are_stacked(device):
    a, b = nd.asarray([1, 2], device=device), nd.asarray([3.5, 4], device=device)
    x = nd.asarray([a, b])
    assert x.device == nd.Device(device) and x.dtype == nd.float64 and x.tolist() == [[1, 2], [3.5, 4]]
    assert nd.asarray([a[0], 7]).tolist() == [1, 7]
    assert nd.asarray([[a[0], a[1]]], dtype="int8").dtype == nd.int8
    with raises(ValueError):
        nd.asarray([a, nd.asarray([1, 2, 3], device=device)])


@EACH
def test_copy_of_arrays(device):
    x = nd.asarray([1, 2], device=device)
    assert nd.asarray(x) is x and nd.asarray(x, copy=False) is x
    y = nd.asarray(x, copy=True)
    y[0] = 9
    assert x.tolist() == [1, 2]
    with raises(ValueError, "copy=False", "dtype"):
        nd.asarray(x, dtype=float, copy=False)
    with raises(ValueError, "copy=False", "device"):
        nd.asarray(x, device="cpu" if device != "cpu" else "sim:0", copy=False)
    with raises(ValueError, "copy=False"):
        nd.asarray([1], copy=False)


def test_host_memory_is_viewed_and_held():
    owner = array.array("d", [1, 2, 3])
    x = nd.asarray(owner, device="cpu")
    owner[0] = 7
    x[1] = 8
    assert x.tolist() == [7, 8, 3] and owner.tolist() == [7, 8, 3]
    with raises(BufferError):  # the exporter knows of us
        owner.append(1)
    view = x[1:]
    del x
    with raises(BufferError):
        owner.append(1)
    del view
    owner.append(1)
    copied = nd.asarray(owner, device="cpu", copy=True)
    owner.append(2)
    assert copied.tolist() == [7, 8, 3, 1]


def test_copy_false_takes_views_only():
    data = array.array("i", [1, 2])
    assert nd.asarray(data, device="cpu", copy=False).tolist() == [1, 2]
    with raises(ValueError, "copy=False"):
        nd.asarray(data, device="sim:0", copy=False)
    with raises(ValueError, "copy=False"):
        nd.asarray(data, device="cpu", dtype=float, copy=False)


@cases(*"bhilqBHILQfd")
def test_every_format_of_array_module(code):
    values = [0, 1, 100]
    x = nd.asarray(array.array(code, values), device="cpu")
    kind = "float" if code in "fd" else "int" if code.islower() else "uint"
    assert x.dtype == f"{kind}{8 * array.array(code).itemsize}" and x.tolist() == values


def test_other_exporters():
    assert nd.asarray(bytearray(b"ab")).tolist() == [97, 98]
    assert nd.asarray(b"ab", device="cpu").readonly
    c = (ctypes.c_float * 3 * 2)((1, 2, 3), (4, 5, 6))
    x = nd.asarray(c, device="cpu")
    assert x.dtype == nd.float32 and x.tolist() == [[1, 2, 3], [4, 5, 6]]
    class Pair(ctypes.Structure):
        _fields_ = [("a", ctypes.c_int), ("b", ctypes.c_int)]
    with raises(TypeError, "format"):
        nd.asarray((Pair * 2)())


@EACH
def test_numpy_every_dtype_and_layout(device):
    need_numpy()
    for name in NAMES:
        a = np.arange(24).reshape(2, 3, 4).astype(name)
        for b in (a, a.T, a[::-1, :, ::2], a[:, 1], a[:0], a[0, 0, 0:1].reshape(()), np.asfortranarray(a),
                  np.broadcast_to(a[:1], a.shape), a.astype(a.dtype.newbyteorder(">")), a[()]):
            x = nd.asarray(b, device=device)
            assert x.dtype == name and x.shape == b.shape and x.tolist() == b.tolist(), (name, b.strides)


def test_numpy_views_and_flags():
    need_numpy()
    a = np.arange(6.).reshape(2, 3)
    x = nd.asarray(a.T[::-1], device="cpu", copy=False)
    x[0, 0] = 99
    assert a[0, 2] == 99 and x.strides == (-1, 3)
    a.flags.writeable = False
    assert nd.asarray(a, device="cpu").readonly and not nd.asarray(a, device="cpu", copy=True).readonly
    swapped = a.astype(">f8")
    with raises(ValueError, "byte order"):
        nd.asarray(swapped, device="cpu", copy=False)
    packed = np.zeros(3, dtype=[("a", "i1"), ("b", "f8")])
    packed["b"] = [1, 2, 3]
    assert nd.asarray(packed["b"]).tolist() == [1, 2, 3]  # neither aligned nor strided by elements
    assert nd.asarray(a.view("i1").reshape(-1)[1:9].view("f8")[:0]).shape == (0,)


def test_numpy_scalars_and_lists_of_them():
    need_numpy()
    for name in NAMES:
        assert nd.asarray(np.dtype(name).type(1)).dtype == name
        assert nd.asarray([np.dtype(name).type(1)] * 2).dtype == name
    assert nd.asarray([np.float32(1), 2]).dtype == nd.float32
    assert nd.asarray([np.int8(1), np.int16(2)]).dtype == nd.int16
    assert nd.asarray([np.arange(2), np.arange(2)]).tolist() == [[0, 1], [0, 1]]
    with raises(TypeError):
        nd.asarray([np.datetime64("2020-01-01")])
    for a in (np.array(["a"]), np.array([None]), np.array(["2020"], "M8[D]"), np.zeros(1, "i4,f4"),
              np.zeros(1, np.longdouble)):
        with raises(TypeError):
            nd.asarray(a)


class Interface:
    def __init__(self, **d):
        self.__array_interface__ = d


def test_array_interface():
    data = array.array("f", range(12))
    address = data.buffer_info()[0]
    good = {"version": 3, "shape": (3, 2), "typestr": "<f4", "data": (address, False)}
    x = nd.asarray(Interface(**good), device="cpu")
    assert x.tolist() == [[0, 1], [2, 3], [4, 5]] and not x.readonly
    assert nd.asarray(Interface(**{**good, "strides": (16, 8)}), device="cpu").tolist() == [[0, 2], [4, 6], [8, 10]]
    assert nd.asarray(Interface(**{**good, "data": (address, True)}), device="cpu").readonly
    assert nd.asarray(Interface(**{**good, "data": data, "offset": 8})).tolist() == [[2, 3], [4, 5], [6, 7]]
    assert nd.asarray(Interface(**{**good, "data": None, "shape": (0, 2), "data": (0, False)})).shape == (0, 2)
    for change, kind in (({"typestr": "f4"}, ValueError), ({"typestr": "<M8"}, TypeError), ({"typestr": 4}, ValueError),
                         ({"shape": [3, 2]}, ValueError), ({"shape": (-1, 2)}, ValueError), ({"shape": ("a",)}, TypeError),
                         ({"shape": (2**62, 2**62)}, ValueError), ({"strides": (4,)}, ValueError),
                         ({"data": (0, False)}, ValueError), ({"data": ("x", False)}, ValueError), ({"data": 5}, TypeError),
                         ({"mask": 1}, NotImplementedError), ({"data": data, "shape": (13, 1)}, ValueError),
                         ({"data": data, "offset": -4}, ValueError), ({"data": data, "strides": (-8, -4)}, ValueError),
                         ({"data": data, "strides": (2**62, 2**62)}, ValueError), ({"shape": (1,) * 65}, ValueError)):
        with raises(kind):
            nd.asarray(Interface(**{**good, **change}), device="cpu")
    with raises(ValueError, "dict"):
        thing = Interface()
        thing.__array_interface__ = 3
        nd.asarray(thing)


def test_bfloat16_of_others_by_name():
    class DType:
        name = "bfloat16"

    data = array.array("H", [0x3F80, 0xC000])  # 1 and -2: the upper halves of their binary32 patterns
    thing = Interface(version=3, shape=(2,), typestr="<V2", data=(data.buffer_info()[0], False))
    with raises(TypeError, "V2"):
        nd.asarray(thing)
    thing.dtype = DType()
    x = nd.asarray(thing)
    assert x.dtype == nd.bfloat16 and x.tolist() == [1, -2]


def test_array_method():
    need_numpy()

    class Thing:
        def __array__(self, dtype=None, copy=None):
            return np.arange(3)

    assert nd.asarray(Thing()).tolist() == [0, 1, 2]

    class Bad:
        def __array__(self):
            return "x"

    with raises(TypeError, "__array__"):
        nd.asarray(Bad())


def test_memory_of_others_is_let_go():
    need_numpy()
    a = np.arange(1000.)
    gone = weakref.ref(a)
    x = nd.asarray(a, device="cpu")[::2]
    del a
    gc.collect()
    assert gone() is not None and x.tolist()[1] == 2
    del x
    gc.collect()
    assert gone() is None


def test_references_do_not_leak():
    data = array.array("d", [1, 2])
    before = sys.getrefcount(data)
    for _ in range(1000):
        nd.asarray(data, device="cpu")
        nd.asarray(data, device="cpu", dtype="float32")
        try:
            nd.asarray([data, None])
        except TypeError:
            pass
    assert sys.getrefcount(data) == before


def test_a_sequence_that_changes_meanwhile():
    class Shrinks(list):
        seen = 0

        def __getitem__(self, i):
            Shrinks.seen += 1
            if Shrinks.seen > 3:
                raise IndexError("gone")
            return list.__getitem__(self, i)

        def __len__(self):
            return 3

    with raises(IndexError, "gone"):
        nd.asarray([Shrinks([1, 2, 3]), Shrinks([1, 2, 3])])


def test_array_is_asarray_that_copies():
    data = array.array("d", [1, 2])
    x = nd.array(data)
    data[0] = 9
    assert x.tolist() == [1, 2] and nd.array([1, 2]).tolist() == [1, 2] and nd.array(5).shape == ()


if __name__ == "__main__":
    main(globals())
