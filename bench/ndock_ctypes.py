# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A small ctypes driver of libndock for the benchmarks, until the Python package exists.

Array is counted by Python: releasing the object releases the array. Every call raises Error with
the library's own message. Only what the benchmarks use is here.
"""
import ctypes as c
import os
import re

_ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_I64P = c.POINTER(c.c_int64)


class Error(RuntimeError):
    pass


def _rows(path, macro):
    """The names in the first column of a .def table, in the order of its rows."""
    with open(os.path.join(_ROOT, "include", "ndock", path)) as f:
        return re.findall(r"^%s\((\w+)," % macro, f.read(), re.M)


class Scalar(c.Structure):
    _fields_ = [("kind", c.c_int32), ("zero", c.c_int32), ("v", c.c_double * 2)]

    @classmethod
    def of(cls, value):
        if isinstance(value, int):  # an ND_I64 has its bits where an ND_F64 has its own
            return cls(5, 0, (c.c_double * 2).from_buffer_copy((c.c_int64 * 2)(value, 0)))
        return cls(13, 0, (c.c_double * 2)(value, 0))


class Arg(c.Structure):
    _fields_ = [("array", c.c_void_p), ("scalar", Scalar)]


class ReduceOpts(c.Structure):
    _fields_ = [("size", c.c_uint32), ("dtype", c.c_int32), ("stream", c.c_void_p),
                ("axes", c.POINTER(c.c_int32)), ("naxes", c.c_int32), ("keepdims", c.c_int32),
                ("correction", c.c_double)]


class ScanOpts(c.Structure):
    _fields_ = [("size", c.c_uint32), ("dtype", c.c_int32), ("stream", c.c_void_p),
                ("axis", c.c_int32), ("include_initial", c.c_int32)]


class NormOpts(c.Structure):
    _fields_ = [("size", c.c_uint32), ("dtype", c.c_int32), ("stream", c.c_void_p),
                ("axes", c.POINTER(c.c_int32)), ("naxes", c.c_int32), ("zero", c.c_int32),
                ("eps", c.c_double)]


class Index(c.Structure):
    _fields_ = [("kind", c.c_int32), ("zero", c.c_int32), ("start", c.c_int64),
                ("stop", c.c_int64), ("step", c.c_int64)]


class EventOpts(c.Structure):
    _fields_ = [("size", c.c_uint32), ("flags", c.c_int32)]


class RandomKey(c.Structure):
    _fields_ = [("key", c.c_uint64), ("counter", c.c_uint64 * 2)]


class LastError(c.Structure):
    _fields_ = [("status", c.c_int32), ("argument", c.c_int32), ("native", c.c_int64),
                ("op", c.c_char_p), ("message", c.c_char_p)]


class Array:
    def __init__(self, lib, handle):
        self.lib, self.handle = lib, handle

    def __del__(self):
        if self.handle:
            self.lib.c.nd_release(self.handle)

    @property
    def shape(self):
        return self.lib.c.nd_shape(self.handle)[:self.lib.c.nd_ndim(self.handle)]


class Library:
    """libndock, and one of its devices as the current one."""

    def __init__(self, path, device):
        self.c = c.CDLL(path)
        self.ops = {name: i + 1 for i, name in enumerate(_rows("op.def", "ND_OP"))}
        self.dtypes = {name.lower(): i + 1 for i, name in enumerate(_rows("dtype.def", "ND_DTYPE"))}
        self.c.nd_shape.restype = _I64P
        for name in ("nd_release", "nd_event_release"):
            getattr(self.c, name).restype = None
        for name in ("nd_shape", "nd_ndim", "nd_release", "nd_event_release"):
            getattr(self.c, name).argtypes = [c.c_void_p]
        self.c.nd_last_error.restype = c.POINTER(LastError)
        self.device = c.c_void_p()
        self.call("nd_device_get", device.encode(), c.byref(self.device))
        self.call("nd_device_set_current", self.device)

    def call(self, name, *args):
        if getattr(self.c, name)(*args) != 0:
            raise Error("%s: %s" % (name, self.c.nd_last_error().contents.message.decode()))

    def new(self, name, *args):
        out = c.c_void_p()
        self.call(name, *args, c.byref(out))
        return Array(self, out)

    # ---- making ----
    def empty(self, shape, dtype="f32"):
        extents = (c.c_int64 * max(1, len(shape)))(*shape)
        return self.new("nd_empty", self.device, self.dtypes[dtype], len(shape), extents)

    def uniform(self, shape, dtype="f32", low=0.0, high=1.0, seed=1):
        out = self.empty(shape, dtype)
        self.random("uniform", out, low, high, seed)
        return out

    def random(self, kind, out, a, b, seed=1):
        key = RandomKey(seed)
        self.call("nd_random_%s_into" % kind, c.byref(key), c.c_double(a), c.c_double(b),
                  out.handle)

    def arange(self, n, dtype="i64"):
        return self.new("nd_arange", self.device, self.dtypes[dtype], Scalar.of(0), Scalar.of(n),
                        Scalar.of(1))

    # ---- operations ----
    def apply(self, op, *args, into=None):
        row = (Arg * len(args))()
        for slot, a in zip(row, args):
            if isinstance(a, Array):
                slot.array = a.handle
            else:
                slot.scalar = Scalar.of(a)
        if into is not None:
            return self.call("nd_apply_into", self.ops[op], row, len(args), None, into.handle)
        return self.new("nd_apply", self.ops[op], row, len(args), None)

    def reduce(self, op, a, axis=None):
        axes = None if axis is None else (c.c_int32 * 1)(axis)
        o = ReduceOpts(c.sizeof(ReduceOpts), 0, None, axes, 0 if axis is None else 1, 0, 0.0)
        return self.new("nd_" + op, a.handle, c.byref(o))

    def scan(self, op, a, axis):
        o = ScanOpts(c.sizeof(ScanOpts), 0, None, axis, 0)
        return self.new("nd_" + op, a.handle, c.byref(o))

    def norm(self, op, a, *weights):
        o = NormOpts(c.sizeof(NormOpts), 0, None, None, 0, 0, 1e-5)
        return self.new("nd_" + op, a.handle, *weights, c.byref(o))

    def matmul(self, a, b):
        return self.new("nd_matmul", a.handle, b.handle, None)

    def permute(self, a, axes):
        return self.new("nd_permute", a.handle, len(axes), (c.c_int32 * len(axes))(*axes))

    def flip(self, a):
        return self.new("nd_flip", a.handle, 0, None)

    def slice(self, a, *ranges):
        row = (Index * len(ranges))(*[Index(2, 0, *r) for r in ranges])
        return self.new("nd_slice", a.handle, row, len(ranges))

    def compact(self, a):
        return self.new("nd_compact", a.handle)

    def copy(self, a):
        return self.new("nd_copy", a.handle, None)

    def sort(self, a):
        return self.new("nd_sort", a.handle, None)

    def select(self, a, mask):
        return self.new("nd_select", a.handle, mask.handle)

    def take(self, a, indices, axis):
        return self.new("nd_take", a.handle, indices.handle, axis)

    # ---- time ----
    def synchronize(self):
        self.call("nd_synchronize", self.device)

    def event(self):
        e = c.c_void_p()
        o = EventOpts(c.sizeof(EventOpts), 1)
        self.call("nd_event_create", self.device, c.byref(o), c.byref(e))
        return e

    def record(self, event):
        self.call("nd_event_record", event, None)

    def elapsed_ms(self, start, stop):
        ms = c.c_double()
        self.call("nd_event_synchronize", stop)
        self.call("nd_event_elapsed", start, stop, c.byref(ms))
        return ms.value
