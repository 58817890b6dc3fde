# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""DLPack from Python: I17 to I21, with capsules taken apart by ctypes, on the CPU and the simulated device."""
import ctypes
import gc
import os
import random
import subprocess
import sys
import weakref

import ndock as nd  # noqa: E402
from in_use import blocks_and_kilobytes  # noqa: E402
from simulator import Sim  # noqa: E402
from tap import Skip, cases, main, raises  # noqa: E402

sim = Sim("sim:0")
SIM = "sim:0"
api = ctypes.pythonapi
api.PyCapsule_GetPointer.restype = ctypes.c_void_p
api.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
api.PyCapsule_GetName.restype = ctypes.c_char_p
api.PyCapsule_GetName.argtypes = [ctypes.py_object]
api.PyCapsule_New.restype = ctypes.py_object
api.PyCapsule_New.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]


class Device(ctypes.Structure):
    _fields_ = [("type", ctypes.c_int32), ("id", ctypes.c_int32)]


class DType(ctypes.Structure):
    _fields_ = [("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16)]


class Tensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("device", Device), ("ndim", ctypes.c_int32), ("dtype", DType),
                ("shape", ctypes.POINTER(ctypes.c_int64)), ("strides", ctypes.POINTER(ctypes.c_int64)),
                ("byte_offset", ctypes.c_uint64)]


DELETER = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


class Versioned(ctypes.Structure):
    _fields_ = [("major", ctypes.c_uint32), ("minor", ctypes.c_uint32), ("ctx", ctypes.c_void_p), ("deleter", DELETER),
                ("flags", ctypes.c_uint64), ("tensor", Tensor)]


class Legacy(ctypes.Structure):
    _fields_ = [("tensor", Tensor), ("ctx", ctypes.c_void_p), ("deleter", DELETER)]


def name_of(capsule):
    return api.PyCapsule_GetName(capsule)


def versioned(capsule):
    return Versioned.from_address(api.PyCapsule_GetPointer(capsule, b"dltensor_versioned"))


class Producer:
    """Another library's tensor over bytes of its own."""

    def __init__(self, code=2, bits=32, lanes=1, shape=(2, 3), strides=None, major=1, flags=0, legacy=False, device=(1, 0),
                 data=None, name=None, ndim=None):
        self.buffer = ctypes.create_string_buffer(256)
        self.shape = (ctypes.c_int64 * max(len(shape), 1))(*shape)
        self.strides = (ctypes.c_int64 * max(len(strides), 1))(*strides) if strides is not None else None
        self.deleted, self.given, self.device = 0, None, device
        start = (ctypes.addressof(self.buffer) + 63) & ~63
        ctypes.memmove(start, bytes(range(150)), 150)
        tensor = Tensor(start if data is None else data, Device(*device), len(shape) if ndim is None else ndim,
                        DType(code, bits, lanes), self.shape, self.strides, 0)
        self.deleter = DELETER(self._delete)
        self.managed = Legacy(tensor, None, self.deleter) if legacy else Versioned(major, 0, None, self.deleter, flags, tensor)
        self.name = name or (b"dltensor" if legacy else b"dltensor_versioned")

    def _delete(self, _):
        self.deleted += 1

    def __dlpack_device__(self):
        return self.device

    def __dlpack__(self, **given):
        self.given = given
        self.capsule = api.PyCapsule_New(ctypes.addressof(self.managed), self.name, None)
        return self.capsule


def test_I17_signature_and_device():
    x = nd.ones((2, 3), device="cpu")
    assert x.__dlpack_device__() == (1, 0)
    assert nd.ones(2, device="sim:1").__dlpack_device__() == (12, 1)
    with raises(TypeError):
        x.__dlpack__(None)
    with raises(TypeError):
        x.__dlpack__(wrong=1)


def test_I19_versioned_and_legacy_capsules():
    x = nd.reshape(nd.arange(6, dtype=nd.float32, device="cpu"), (2, 3))
    assert name_of(x.__dlpack__()) == b"dltensor"
    assert name_of(x.__dlpack__(max_version=(0, 8))) == b"dltensor"
    capsule = x.__dlpack__(max_version=(1, 0))
    assert name_of(capsule) == b"dltensor_versioned"
    m = versioned(capsule)
    assert (m.major, m.minor) == (1, 3) and m.flags == 0
    t = m.tensor
    assert t.ndim == 2 and t.shape[:2] == [2, 3] and t.strides[:2] == [3, 1]
    assert (t.dtype.code, t.dtype.bits, t.dtype.lanes) == (2, 32, 1) and t.byte_offset == 0
    assert ctypes.cast(t.data, ctypes.POINTER(ctypes.c_float))[5] == 5.0
    scalar = versioned(nd.ones((), device="cpu").__dlpack__(max_version=(1, 3)))
    assert scalar.tensor.ndim == 0 and bool(scalar.tensor.strides), "strides are never NULL"


def test_I19_read_only():
    x = nd.broadcast_to(nd.ones(3, device="cpu"), (2, 3))
    with raises(BufferError, "read-only"):
        x.__dlpack__()
    assert versioned(x.__dlpack__(max_version=(1, 0))).flags == 1
    assert nd.from_dlpack(x).readonly
    assert nd.from_dlpack(Producer(flags=1)).readonly


@cases(("bool", 6, 8), ("int8", 0, 8), ("uint16", 1, 16), ("int64", 0, 64), ("float16", 2, 16), ("bfloat16", 4, 16),
       ("float64", 2, 64), ("complex64", 5, 64), ("complex128", 5, 128), ("float8_e4m3fn", 10, 8),
       ("float8_e5m2", 12, 8))
def test_I20_dtype_codes(name, code, bits):
    x = nd.zeros(3, dtype=getattr(nd, name), device="cpu")
    capsule = x.__dlpack__(max_version=(1, 0))
    t = versioned(capsule).tensor.dtype
    assert (t.code, t.bits, t.lanes) == (code, bits, 1)
    assert nd.from_dlpack(x).dtype == x.dtype


@cases((7, 8, "float8_e3m4"), (8, 8, "float8_e4m3"), (11, 8, "float8_e4m3fnuz"), (13, 8, "float8_e5m2fnuz"),
       (14, 8, "float8_e8m0fnu"), (17, 4, "float4_e2m1fn"), (3, 64, "handle"))
def test_I20_other_dtypes_are_named(code, bits, name):
    p = Producer(code=code, bits=bits)
    with raises(TypeError, name):
        nd.from_dlpack(p)
    assert p.deleted == 0 and name_of(p.capsule) == b"dltensor_versioned", "what fails stays the capsule's"


def test_I17_stream_argument():
    host, x = nd.ones(3, device="cpu"), nd.ones(3, device=SIM)
    host.__dlpack__(stream=None)
    host.__dlpack__(stream=-1)
    for stream in (1, 2, 0, 5):
        with raises(ValueError):
            host.__dlpack__(stream=stream)
    x.__dlpack__(stream=1)
    x.__dlpack__(stream=-1)
    x.__dlpack__(stream=2)
    for stream in (0, -2, 2**70):
        with raises(ValueError):
            x.__dlpack__(stream=stream)
    for stream in ("1", 1.0, True):
        with raises(TypeError):
            x.__dlpack__(stream=stream)
    nd.synchronize(SIM)


@cases(True, False)
def test_I17_order(ordered):
    mine, theirs = nd.Stream(SIM), nd.Stream(SIM)
    x = nd.ones(64, device=SIM)
    nd.synchronize(SIM)
    sim.set_checker(1)
    sim.race_clear()
    with mine:
        x += 1
    with theirs:
        capsule = x.__dlpack__(stream=theirs.__cuda_stream__()[1] if ordered else -1, max_version=(1, 3))
        _ = x * 2
    assert (sim.count("race_count") == 0) == ordered
    del capsule
    nd.synchronize(SIM)


def test_I17_from_dlpack_passes_the_current_stream():
    class Asked:
        def __init__(self, x):
            self.x = x

        def __dlpack_device__(self):
            return self.x.__dlpack_device__()

        def __dlpack__(self, **given):
            self.given = given
            return self.x.__dlpack__(**given)
    asked = Asked(nd.ones(8, device=SIM))
    s = nd.Stream(SIM)
    with s:
        y = nd.from_dlpack(asked)
    assert asked.given["stream"] == s.__cuda_stream__()[1] and asked.given["max_version"] == (1, 3)
    assert y.device == nd.Device(SIM)
    host = Asked(nd.ones(8, device="cpu"))
    nd.from_dlpack(host)
    assert "stream" not in host.given or host.given["stream"] is None
    nd.synchronize(SIM)


def test_I17_copies():
    x = nd.arange(6, dtype=nd.float32, device="cpu")
    m = versioned(x.__dlpack__(max_version=(1, 0), copy=True))
    assert m.flags == 2
    y = nd.from_dlpack(x, copy=True)
    y[0] = 99
    assert float(x[0]) == 0
    z = nd.from_dlpack(x)
    z[0] = 7
    assert float(x[0]) == 7, "a view"
    nd.from_dlpack(x, copy=False)


def test_I17_to_the_host():
    x = nd.full(5, 4.0, device=SIM)
    capsule = x.__dlpack__(dl_device=(1, 0), max_version=(1, 0))
    m = versioned(capsule)
    assert (m.tensor.device.type, m.flags) == (1, 2)
    assert ctypes.cast(m.tensor.data, ctypes.POINTER(ctypes.c_double))[4] == 4.0, "complete on return"
    with raises(BufferError):
        x.__dlpack__(dl_device=(1, 0), copy=False)
    with raises(BufferError):
        x.__dlpack__(dl_device=(2, 0))
    for wrong in ((1,), 1, "cpu", (1, 0, 0), (1.5, 0)):
        with raises(TypeError):
            x.__dlpack__(dl_device=wrong)
    y = nd.from_dlpack(x, device="cpu")
    assert y.device == nd.Device("cpu") and y.tolist() == [4.0] * 5
    with raises(BufferError):
        nd.from_dlpack(x, device="cpu", copy=False)


def test_I19_consuming():
    p = Producer()
    y = nd.from_dlpack(p)
    assert name_of(p.capsule) == b"used_dltensor_versioned" and p.deleted == 0
    assert y.shape == (2, 3) and y.dtype == nd.float32
    view = y[1]
    del y
    gc.collect()
    assert p.deleted == 0
    del view
    gc.collect()
    assert p.deleted == 1, "once, with the last view"
    old = Producer(legacy=True, code=0, bits=8, shape=(4,), strides=(2,))
    z = nd.from_dlpack(old)
    assert z.tolist() == [0, 2, 4, 6] and name_of(old.capsule) == b"used_dltensor"
    del z
    gc.collect()
    assert old.deleted == 1

    class Again:
        def __dlpack_device__(self):
            return (1, 0)

        def __dlpack__(self, **_):
            return p.capsule
    with raises(TypeError, "nobody has taken"):
        nd.from_dlpack(Again())


def test_I19_producers_of_before_max_version():
    class Old(Producer):
        def __dlpack__(self, stream=None):
            return Producer.__dlpack__(self)
    old = Old(legacy=True)
    assert nd.from_dlpack(old).shape == (2, 3)


def test_I19_capsules_that_nobody_takes():
    x = nd.ones(1000, device="cpu")
    alive = weakref.ref(x)
    capsules = [x.__dlpack__(), x.__dlpack__(max_version=(1, 0))]
    del x
    gc.collect()
    assert alive() is None, "the memory is kept, not the object"
    del capsules
    gc.collect()


def test_I19_after_the_interpreter():
    """Arrays and capsules that live to the very end, taken or not, on any thread, end without a word."""
    code = ("import sys, threading; import ndock as nd\n"
            "keep = [nd.ones(8, device=d).__dlpack__(max_version=(1, 0)) for d in ('cpu', 'sim:0')]\n"
            "x = nd.ones(4, device='cpu'); y = nd.from_dlpack(x); sys.keep = (keep, x, y)\n"
            "try:\n    import numpy as np; sys.kept = nd.from_dlpack(np.arange(5.)), np.from_dlpack(x)\n"
            "except ImportError: pass\n"
            "t = threading.Thread(target=lambda: setattr(sys, 'more', nd.from_dlpack(x))); t.start(); t.join()")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True,
                          env={**os.environ, "NDOCK_SIM_MODE": "auto"})
    assert done.returncode == 0 and not done.stderr, done.stderr


def test_from_dlpack_refuses():
    for wrong in (5, "x", None, object(), [1, 2]):
        with raises(TypeError, "__dlpack__"):
            nd.from_dlpack(wrong)
    for p, kind in ((Producer(major=2), NotImplementedError), (Producer(lanes=2), TypeError), (Producer(ndim=-1), ValueError),
                    (Producer(ndim=65), ValueError), (Producer(shape=(2**62, 8)), OverflowError),
                    (Producer(shape=(-2, 3)), ValueError), (Producer(strides=(2**62, 1)), OverflowError),
                    (Producer(device=(99, 0)), ValueError), (Producer(device=(12, 0)), ValueError),
                    (Producer(data=0), ValueError), (Producer(name=b"tensor"), TypeError)):
        with raises(kind):
            nd.from_dlpack(p)
        assert p.deleted == 0


def test_unaligned_memory_is_copied():
    p = Producer(code=0, bits=32, shape=(2,))
    p.managed.tensor.byte_offset = 1
    y = nd.from_dlpack(p)
    assert p.deleted == 1 and y.tolist() == [0x04030201, 0x08070605]


def test_hostile_capsules():
    """Any tensor gives an exception or a readable array; addresses stay inside the producer's memory, as they must."""
    rnd = random.Random(5)
    numbers = [0, 1, 2, 3, -1, 5, 2**31, 2**62, -2**63, 2**63 - 1]
    taken = 0
    for _ in range(3000):
        shape = [rnd.choice(numbers) for _ in range(rnd.randint(0, 4))]
        strides = [rnd.choice([0, 1, 2, 2**62, -2**63]) for _ in shape] if rnd.random() < 0.5 else None
        p = Producer(code=rnd.randint(0, 18), bits=rnd.choice([1, 4, 8, 16, 32, 64, 128]), lanes=rnd.choice([0, 1, 1, 1, 2]), shape=shape,
                     strides=strides, major=rnd.choice([0, 1, 1, 1, 2]), legacy=rnd.random() < 0.3, flags=rnd.choice([0, 1, 2, 3, 2**60]))
        try:
            y = nd.from_dlpack(p)
        except (TypeError, ValueError, OverflowError, NotImplementedError, MemoryError, nd.Error):
            assert p.deleted == 0
            continue
        taken += 1
        if 0 < y.nbytes <= 128:
            y.tolist()
        del y
        assert p.deleted == 1
    assert taken > 20, taken


class Api(ctypes.Structure):
    _fields_ = [("major", ctypes.c_uint32), ("minor", ctypes.c_uint32), ("previous", ctypes.c_void_p),
                ("allocate", ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(Tensor), ctypes.POINTER(ctypes.c_void_p), ctypes.c_void_p,
                                              ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_char_p))),
                ("from_object", ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.POINTER(ctypes.c_void_p))),
                ("to_object", ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.POINTER(ctypes.py_object))),
                ("view", ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.POINTER(Tensor))),
                ("stream", ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_int32, ctypes.c_int32, ctypes.POINTER(ctypes.c_void_p)))]


def table():
    capsule = type(nd.ones(1, device="cpu")).__dlpack_c_exchange_api__
    assert name_of(capsule) == b"dlpack_exchange_api"
    return Api.from_address(api.PyCapsule_GetPointer(capsule, b"dlpack_exchange_api"))


def test_I21_c_functions():
    t = table()
    assert (t.major, t.minor, t.previous) == (1, 3, None)
    x = nd.reshape(nd.arange(6, dtype=nd.int32, device="cpu"), (2, 3))
    out = ctypes.c_void_p()
    assert t.from_object(x, ctypes.byref(out)) == 0
    m = Versioned.from_address(out.value)
    assert m.tensor.ndim == 2 and m.tensor.shape[:2] == [2, 3]
    back = ctypes.py_object()
    assert t.to_object(out, ctypes.byref(back)) == 0
    assert isinstance(back.value, nd.Array) and back.value.tolist() == x.tolist()
    view = Tensor()
    assert t.view(x, ctypes.byref(view)) == 0 and view.data == m.tensor.data and view.strides[:2] == [3, 1]
    with raises(TypeError):
        t.from_object(5, ctypes.byref(out))


def test_I21_current_stream():
    t = table()
    out = ctypes.c_void_p(5)
    assert t.stream(1, 0, ctypes.byref(out)) == 0 and out.value is None
    s = nd.Stream(SIM)
    with s:
        assert t.stream(12, 0, ctypes.byref(out)) == 0
    assert out.value == s.__cuda_stream__()[1]


def test_I21_allocate():
    t = table()
    shape = (ctypes.c_int64 * 2)(3, 4)
    said = []
    error = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_char_p)(lambda _, kind, text: said.append((kind, text)))
    prototype = Tensor(None, Device(1, 0), 2, DType(2, 32, 1), shape, None, 0)
    out = ctypes.c_void_p()
    assert t.allocate(ctypes.byref(prototype), ctypes.byref(out), None, error) == 0
    m = Versioned.from_address(out.value)
    assert m.tensor.shape[:2] == [3, 4] and m.tensor.strides[:2] == [4, 1] and m.tensor.data
    m.deleter(out.value)
    prototype.dtype.code = 17
    assert t.allocate(ctypes.byref(prototype), ctypes.byref(out), None, error) == -1
    assert said[0][0] == b"TypeError"
    prototype.dtype.code = 2
    shape[0] = -1
    assert t.allocate(ctypes.byref(prototype), ctypes.byref(out), None, error) == -1 and len(said) == 2


@cases((77, 0), (0, 0), (-1, 0), (1, 1), (1, -1), (2, -1), (3, 0), (12, -1), (12, 99))
def test_I21_unknown_devices_are_errors(kind, number):
    t, said, out = table(), [], ctypes.c_void_p(5)
    shape = (ctypes.c_int64 * 1)(3)
    error = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_char_p)(lambda _, kind, text: said.append((kind, text)))
    prototype = Tensor(None, Device(kind, number), 1, DType(2, 32, 1), shape, None, 0)
    assert t.allocate(ctypes.byref(prototype), ctypes.byref(out), None, error) == -1 and not out.value
    assert len(said) == 1 and said[0][0] == b"ValueError" and str(number).encode() in said[0][1], said
    if kind == 3:  # pinned memory queues nothing, either
        assert t.stream(kind, number, ctypes.byref(out)) == 0
        return
    with raises(ValueError, str(number)):
        t.stream(kind, number, ctypes.byref(out))


def export_from(module, x, **arguments):
    """x.__dlpack__() as a function of that module calls it."""
    names = {"__name__": module}
    exec("def from_dlpack(x, **arguments):\n    return x.__dlpack__(**arguments)", names)
    return names["from_dlpack"](x, **arguments)


@cases("torch", "torch.utils.dlpack")
def test_negative_strides_are_refused_for_pytorch(module):
    x = nd.flip(nd.arange(6, device="cpu"))
    assert x.strides == (-1,)
    with raises(BufferError, "negative strides", "x.copy()"):
        export_from(module, x)
    with raises(BufferError, "negative strides"):
        export_from(module, x, max_version=(1, 0))
    for fine in (x.copy(), x[:1], nd.flip(x)):
        export_from(module, fine)
    export_from(module, x, copy=True, max_version=(1, 0))
    for other in ("torchlike", "numpy", "jax.dlpack", "__main__"):
        export_from(other, x)


def test_negative_strides_and_pytorch_itself():
    try:
        import torch
    except ImportError:
        raise Skip("no torch") from None
    x = nd.flip(nd.arange(6, device="cpu"))
    calls = [torch.from_dlpack, torch.utils.dlpack.from_dlpack]
    if int(torch.__version__.split(".")[0]) >= 2:  # before, these two took an Array for a sequence
        calls += [torch.as_tensor, torch.tensor]
    for call in calls:
        with raises(BufferError, "negative strides"):
            call(x)
    assert torch.from_dlpack(x.copy()).tolist() == [5, 4, 3, 2, 1, 0]


def test_I21_is_used_by_from_dlpack():
    mine, theirs = nd.Stream(SIM), nd.Stream(SIM)
    x = nd.ones(16, device=SIM)
    nd.synchronize(SIM)
    sim.set_checker(1)
    sim.race_clear()
    with mine:
        x += 1
        y = nd.from_dlpack(x)
        _ = y * 2
    assert sim.count("race_count") == 0 and y.device == x.device
    del theirs
    nd.synchronize(SIM)


@cases("cpu", SIM)
def test_round_trips_leak_nothing(device):
    """A slice of 10^6; ROUND_TRIPS says how many."""
    n = int(os.environ.get("ROUND_TRIPS", "20000"))
    x = nd.ones(4, device=device)
    try:
        import numpy
        host = numpy.arange(4.0)
    except ImportError:
        numpy = host = None

    def trips(count):
        for i in range(count):
            nd.from_dlpack(x)
            x.__dlpack__(max_version=(1, 0))
            x.__dlpack__()
            if numpy is not None and device == "cpu":
                nd.from_dlpack(host)
                numpy.from_dlpack(x)

    trips(5000)
    nd.synchronize(device)
    blocks, kilobytes = blocks_and_kilobytes()
    trips(n)
    nd.synchronize(device)
    blocks_now, kilobytes_now = blocks_and_kilobytes()
    assert blocks_now - blocks < 200, blocks_now - blocks
    assert kilobytes_now - kilobytes < 4096, kilobytes_now - kilobytes


def test_numpy_both_ways():
    try:
        import numpy as np
    except ImportError:
        raise Skip("NumPy is not installed") from None
    x = np.arange(24, dtype=np.float32).reshape(4, 6)
    for v in (x, x.T, x[::2, 1:], x[:, :0], x[1:2, 2], x[::-1]):
        y = nd.from_dlpack(v)
        assert y.shape == v.shape and y.tolist() == v.tolist()
        back = np.from_dlpack(y)
        assert back.shape == v.shape and (back == v).all()
    y = nd.from_dlpack(x)
    y[0, 0] = 42
    assert x[0, 0] == 42
    x.flags.writeable = False
    if tuple(map(int, np.__version__.split(".")[:2])) >= (2, 1):
        assert nd.from_dlpack(x).readonly
    else:  # NumPy before 2.1 refuses itself, and its refusal is what the caller sees
        with raises((BufferError, TypeError), "only"):
            nd.from_dlpack(x)


if __name__ == "__main__":
    main(globals())
