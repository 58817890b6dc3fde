# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Objects that misbehave while they are read, for objects.py: each call that the package makes into one of them (a
hook: __index__, __bool__, __len__, __getitem__, a property, a deleter) may raise, change or clear what is being read,
throw memory away and take new, or call the package again.

What an object claims about memory behind a bare address stays within an arena, since no library can check an address;
what it claims about a buffer is any number at all."""
import ctypes
import gc
import random

ARENA = ctypes.create_string_buffer(1 << 20)
MIDDLE = ctypes.addressof(ARENA) + (1 << 19) & ~63
FAR = (2**63 - 1, -2**63, -2**63 + 1, 2**63, 2**64, -2**64, 2**62, 2**61 + 1, 2**55, -2**31)
MOST_HOOKS = 120  # a case: an endless object ends by an exception
DEEPEST = 3  # calls of the package within calls


class Planned(Exception):
    """What hooks raise, beside exceptions of Python's own."""


class Exhausted(Exception):
    """A case has had its hooks."""


class World:
    """What one case is made of: its random numbers, the containers that hooks change, and how often they may."""

    def __init__(self, seed, call):
        self.random = random.Random(seed)
        self.call = call  # call(world): a random call of the package
        self.containers, self.kept = [], []
        self.hooks = self.depth = 0
        self.calm = self.random.choice((2, 3, 8))  # one hook in so many misbehaves
        self.plausible = self.random.choice((3, 12, 10**9))  # one number in so many is odd

    def one_in(self, n):
        return self.random.randrange(n) == 0

    # ---- what hooks do ----
    def hook(self):
        """Misbehave, now and then."""
        self.hooks += 1
        if self.hooks > MOST_HOOKS:
            raise Exhausted
        if self.one_in(self.calm):
            self.random.choice((self.fail, self.change, self.change, self.churn, self.reenter))()

    def fail(self):
        raise self.random.choice((Planned, ValueError, TypeError, AttributeError, IndexError, KeyError, BufferError,
                                  MemoryError, RecursionError, StopIteration, OverflowError, KeyboardInterrupt))("planned")

    def change(self):
        if not self.containers:
            return
        of = self.random.choice(self.containers)
        if isinstance(of, dict) and of and self.one_in(2):
            of[self.random.choice(list(of))] = self.random.choice((None, 1, "<f4", (2,), (), [], object()))
        elif isinstance(of, list) and self.one_in(2):
            of.extend(self.plain() for _ in range(self.random.randrange(3)))
        else:
            of.clear()
        self.churn()

    def churn(self):
        """Memory that was freed just now gets another content."""
        self.kept.append([tuple([object() for _ in range(n)]) for n in range(1, 8)])
        self.kept.append([bytearray(n) for n in (24, 40, 56, 80, 120)])
        self.kept.append([float(n) for n in range(30)])
        if self.one_in(2):
            self.kept.clear()
        if self.one_in(10):
            gc.collect()

    def reenter(self):
        if self.depth < DEEPEST:
            self.depth += 1
            try:
                self.call(self)
            finally:
                self.depth -= 1

    # ---- values ----
    def container(self, of):
        self.containers.append(of)
        return of

    def plain(self, far=True):
        """An int: mostly small, at times negative or one that breaks arithmetic."""
        if not self.one_in(self.plausible):
            return self.random.randrange(4)
        return self.random.choice(FAR) if far and self.one_in(2) else self.random.randrange(-3, 6)

    def integer(self, far=True):
        """An int, or an object with __index__ that says another one each time."""
        return self.plain(far) if self.one_in(2) else Int(self, far)

    def truth(self):
        return self.random.choice((True, False, None, Truth(self)))

    def integers(self, n, far=True):
        return [self.integer(far) for _ in range(n)]

    def sequence(self, items):
        kind = self.random.randrange(4)
        if kind == 0:
            return tuple(items)
        return self.container(list(items)) if kind < 3 else Sequence(self, self.container(list(items)))

    def scalar(self):
        return self.random.choice((lambda: 1.5, lambda: True, lambda: 2j, self.plain, lambda: Real(self, 2.5),
                                   lambda: Int(self, True)))()

    def nested(self, depth=0):
        if depth == 3 or self.one_in(3):
            return self.scalar() if self.one_in(4) else float(depth)
        n = self.random.randrange(4)
        return self.sequence([self.nested(depth + 1) for _ in range(n)])

    def mapping(self, entries):
        """A dict of the entries, perhaps with some missing and with keys that compare by code of ours."""
        of = {}
        for key, value in entries.items():
            if not self.one_in(20):
                of[Key(self, key) if self.one_in(12) else key] = value
        return self.container(of)


class Int:
    def __init__(self, world, far):
        self.world, self.far = world, far

    def __index__(self):
        self.world.hook()
        return "no int" if self.world.one_in(3 * self.world.plausible) else self.world.plain(self.far)

    def __repr__(self):
        self.world.hook()
        return "Int"


class Truth:
    def __init__(self, world):
        self.world = world

    def __bool__(self):
        self.world.hook()
        return self.world.one_in(2)


class Real(float):
    def __new__(cls, world, value):
        self = super().__new__(cls, value)
        self.world = world
        return self

    def __float__(self):
        self.world.hook()
        return 1.0


class Key(str):
    def __new__(cls, world, text):
        self = super().__new__(cls, text)
        self.world = world
        return self

    def __hash__(self):
        return str.__hash__(self)

    def __eq__(self, other):
        self.world.hook()
        return str.__eq__(self, other)


class Sequence:
    """Of items that change: its length when asked twice may differ, and an entry may be the sequence itself."""

    def __init__(self, world, items):
        self.world, self.items = world, items

    def __len__(self):
        self.world.hook()
        return self.world.random.choice((len(self.items),) * 6 + (0, 1, 7, 2**40))

    def __getitem__(self, i):
        self.world.hook()
        if self.world.one_in(12):
            return self if self.world.one_in(2) else self.world.nested()
        return self.items[i]


class Layout:
    """Shape and strides in bytes of something over the arena (far False), or over a buffer."""

    def __init__(self, world, far):
        r = world.random
        n = r.choice((0, 1, 1, 1, 2, 2, 3, 4, 65 if far else 5))
        self.shape = world.integers(n, far)
        self.strides = [r.choice((8, -8, 0, 4, 16, 1)) if world.one_in(2) else world.integer(far) for _ in range(n)]


class ArrayInterface:
    """__array_interface__ of a bare address, of a buffer, or of nothing that makes sense."""

    def __init__(self, world):
        self.world = world
        r = world.random
        bare = world.one_in(2)
        layout = Layout(world, far=not bare)
        data = (MIDDLE + r.choice((0, 0, 0, 1, 4)), world.truth()) if bare else r.choice(
            (bytearray(64), None, memoryview(bytearray(48)), b"x" * 40, 5, (1, 2, 3)))
        self.dictionary = world.mapping({
            "version": 3, "shape": self.pack(layout.shape), "data": data, "descr": [],
            "typestr": r.choice(("<f8", "<f4", "|u1", "|b1", ">i4", "<c16", "<V2", "<f", "f4", "<M8[s]", "<i\0", 7)),
            "strides": r.choice((None, self.pack(layout.strides))), "mask": r.choice((None,) * 9 + (1,)),
            "offset": r.choice((0, 0, 8, -8, world.integer()))})

    def pack(self, items):
        return tuple(items) if not self.world.one_in(8) else self.world.sequence(items)

    @property
    def __array_interface__(self):
        self.world.hook()
        return self.dictionary

    @property
    def dtype(self):
        self.world.hook()
        return self

    @property
    def name(self):
        self.world.hook()
        return "bfloat16"


class CudaInterface:
    """__cuda_array_interface__ over memory of a simulated device, whose dictionary `good` describes 2^17 doubles."""

    def __init__(self, world, good):
        self.world = world
        layout = Layout(world, far=world.one_in(4))
        middle = good["data"][0] + (1 << 19)
        self.dictionary = world.mapping({
            "version": world.random.choice((3, 2, 3, world.integer())), "shape": tuple(layout.shape),
            "strides": world.random.choice((None, tuple(layout.strides), tuple(layout.strides))),
            "typestr": world.random.choice(("<f8", "<f4", "<i8", "|u1", ">f8", "\udcff", 3)), "stream": good["stream"],
            "data": (middle if world.one_in(2) else Address(world, middle), world.truth()), "descr": [("", "<f8")],
            "mask": world.random.choice((None,) * 9 + (1,)), "ndock_dtype": world.random.choice((None,) * 5 + ("bfloat16", 1))})

    @property
    def __cuda_array_interface__(self):
        self.world.hook()
        return self.dictionary


class Address:
    def __init__(self, world, address):
        self.world, self.address = world, address

    def __index__(self):
        self.world.hook()
        return self.address


class ArrayMethod:
    """__array__ that returns anything; dtype and astype as needle's from_numpy asks for them."""

    def __init__(self, world):
        self.world = world

    def __array__(self, *args, **kwargs):
        self.world.hook()
        return self.anything()

    def anything(self):
        return self.world.random.choice((memoryview(bytearray(8)), [1.0, 2.0], bytearray(4), None, self,
                                         memoryview(bytearray(32)).cast("f")))

    @property
    def dtype(self):
        self.world.hook()
        return self

    @property
    def kind(self):
        self.world.hook()
        return "f"

    def astype(self, dtype):
        self.world.hook()
        return self.anything()


# ---- DLPack ----
class Device(ctypes.Structure):
    _fields_ = [("type", ctypes.c_int32), ("id", ctypes.c_int32)]


class DType(ctypes.Structure):
    _fields_ = [("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16)]


class Tensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("device", Device), ("ndim", ctypes.c_int32), ("dtype", DType),
                ("shape", ctypes.c_void_p), ("strides", ctypes.c_void_p), ("offset", ctypes.c_uint64)]


class Versioned(ctypes.Structure):
    _fields_ = [("major", ctypes.c_uint32), ("minor", ctypes.c_uint32), ("ctx", ctypes.c_void_p),
                ("deleter", ctypes.c_void_p), ("flags", ctypes.c_uint64), ("tensor", Tensor)]


class Legacy(ctypes.Structure):
    _fields_ = [("tensor", Tensor), ("ctx", ctypes.c_void_p), ("deleter", ctypes.c_void_p)]


DELETER = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
new_capsule = ctypes.pythonapi.PyCapsule_New
new_capsule.restype, new_capsule.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
alive = {}  # by address: what tensors are made of, until their deleter runs
ended = []  # the same, of which the deleter may be running
failures = []  # of deleters


class Producer:
    def __init__(self, world):
        self.world = world
        self.capsule = None

    def __dlpack_device__(self):
        self.world.hook()
        r = self.world.random
        device = r.choice(((1, 0),) * 6 + ((77, 0), (12, 0), (2, 0), (1, -1), (Int(self.world, True), Int(self.world, True)), 5))
        return device

    def __dlpack__(self, **arguments):
        self.world.hook()
        if self.capsule is None or self.world.one_in(2):
            self.capsule = self.make()
        return self.world.random.choice((self.capsule,) * 9 + (None, 5))

    def make(self):
        r = self.world.random
        m = r.choice((Versioned, Legacy))()
        n = r.choice((0, 1, 1, 2, 3, 65))
        shape = (ctypes.c_int64 * max(n, 1))(*(r.choice((1, 2, 3, 4, 0) if n < 65 else (1,)) for _ in range(n)))
        strides = (ctypes.c_int64 * max(n, 1))(*(r.randrange(-16, 16) for _ in range(n)))
        t = m.tensor
        t.data = MIDDLE + r.choice((0, 0, 0, 1, 3))
        t.device.type = r.choice((1,) * 9 + (3, 77, 12, -1))
        t.ndim = n if not self.world.one_in(30) else -1
        t.dtype.code, t.dtype.bits, t.dtype.lanes = r.choice(((2, 64, 1), (2, 32, 1), (0, 32, 1), (6, 8, 1), (4, 16, 1),
                                                              (2, 64, 2), (2, 7, 1), (200, 8, 1)))
        t.shape = ctypes.addressof(shape)
        t.strides = ctypes.addressof(strides) if self.world.one_in(2) else None
        t.offset = r.choice((0, 8, 4))
        if isinstance(m, Versioned):
            m.major, m.flags = r.choice((1, 1, 1, 1, 2)), r.choice((0, 1, 2))
        address = ctypes.addressof(m)
        if not self.world.one_in(8):
            deleter = DELETER(self.ended)
            m.deleter = ctypes.cast(deleter, ctypes.c_void_p).value
            alive[address] = (m, shape, strides, deleter)
        else:
            alive[address] = (m, shape, strides)
        name = b"dltensor_versioned" if isinstance(m, Versioned) else b"dltensor"
        return new_capsule(address, name, None)

    def ended(self, address):
        """The deleter."""
        try:
            if address not in alive:
                failures.append(f"the deleter of {address:#x} ran twice, or of a tensor that was never made")
            ended.append(alive.pop(address, None))
            len(ended)  # a call that fails where an exception was set before
            self.world.hook()
        except SystemError as e:
            failures.append(f"a deleter was called with an exception set: {e}")
        except BaseException:
            pass  # as C's deleters cannot raise
