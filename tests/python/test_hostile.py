#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Objects that change while they are read, claim what cannot be, or end with an exception; text that C would cut. Each
once found a fault; tests/fuzz/objects.py looks for the next ones."""
import ctypes
import gc
import os
import shutil
import signal
import subprocess
import sys
import tempfile

os.environ["NDOCK_CAI_SIM"] = "1"
import ndock as nd  # noqa: E402
from tap import cases, main, raises  # noqa: E402
from test_dlpack import Producer  # noqa: E402

folder = tempfile.TemporaryDirectory()
BUFFER = ctypes.create_string_buffer(1 << 12)
kept = []


class Index:
    """An int of that value, behind which something happens first."""

    def __init__(self, value, happen):
        self.value, self.happen = value, happen

    def __index__(self):
        self.happen()
        return self.value


def churn():
    """What was freed just now gets another content."""
    kept.append([[float(i) for i in range(200)], [tuple([10**6 + i]) for i in range(100)], [bytes(40) for _ in range(50)]])
    if len(kept) > 20:
        kept.clear()


# ---- entries of dictionaries ----
class Interface:
    def __init__(self, **entries):
        self.__array_interface__ = {"version": 3, "typestr": "<f8", "shape": (2,),
                                    "data": (ctypes.addressof(BUFFER), False), **entries}


def test_strides_that_an_extent_removes():
    for _ in range(200):
        def change():
            x.__array_interface__["strides"] = None
            churn()
        x = Interface(shape=(Index(2, change),), strides=tuple([int("8")]))
        assert nd.asarray(x).strides == (1,)


def test_an_address_that_its_flag_removes():
    class Flag:
        def __bool__(self):
            x.__array_interface__.clear()
            churn()
            return False
    ctypes.cast(BUFFER, ctypes.POINTER(ctypes.c_double))[0] = 2.5
    for _ in range(100):
        x = Interface(data=(int(str(ctypes.addressof(BUFFER))), Flag()))
        assert nd.asarray(x)[0].item() == 2.5


def test_a_typestr_that_its_dtype_removes():
    class WithDtype(Interface):
        @property
        def dtype(self):
            self.__array_interface__.clear()
            churn()
            raise AttributeError
    for _ in range(100):
        with raises(TypeError, "'<V2'"):
            nd.asarray(WithDtype(typestr="".join(("<", "V2"))))


def test_entries_of_the_cuda_interface_that_an_extent_removes():
    base = nd.zeros(8, dtype="float64", device="sim:0")
    good = dict(base.__cuda_array_interface__)

    class X:
        pass
    for n in range(100):
        def change():
            x.__cuda_array_interface__.clear()
            churn()
        x = X()
        x.__cuda_array_interface__ = {**good, "shape": tuple([Index(8, change), Index(1, change)][:1 + n % 2]),
                                      "strides": tuple([8] * (1 + n % 2)), "typestr": "".join(("<", "f8")),
                                      "data": (int(str(good["data"][0])), False)}
        assert nd.as_array(x).tolist() == ([[0.0]] * 8 if n % 2 else [0.0] * 8)


# ---- numbers ----
@cases((2, -2**63), (3, -2**62), (2, 2**63 - 1), (1 << 61, 8), (2, -2**63 + 8))
def test_strides_beyond_the_buffer(extent, stride):
    with raises(ValueError):
        nd.asarray(Interface(typestr="|u1", shape=(extent,), strides=(stride,), data=bytearray(16)))


@cases((2, -2**63), (3, 2**62), (3, -2**62))
def test_strides_beyond_the_address_space(extent, stride):
    with raises((ValueError, OverflowError)):
        nd.asarray(Interface(typestr="|u1", shape=(extent,), strides=(stride,)))
    with raises((ValueError, OverflowError)):  # where elements are gathered one by one
        nd.asarray(Interface(typestr=">i4", shape=(extent,), strides=(stride,)))


@cases(2**60, 2**62, -2**62, 2**63 - 1)
def test_strides_that_nobody_steps(stride):
    """Of one element any stride will do, also where it does not fit in bytes."""
    x = nd.as_strided(nd.asarray([7.0], device="cpu"), (1,), (stride,))
    assert memoryview(x)[0] == 7.0 and memoryview(x).tolist() == [7.0]
    assert nd.from_dlpack(x).tolist() == [7.0] and bytes(x) == bytes(nd.asarray([7.0], device="cpu"))


# ---- sequences ----
class Endless:
    """One entry, which is an array when it is measured and another such sequence from then on."""

    def __init__(self):
        self.calls = 0

    def __len__(self):
        return 1

    def __getitem__(self, i):
        if i > 0:
            raise IndexError
        self.calls += 1
        return nd.zeros(2, device="cpu") if self.calls == 1 else self


def test_a_sequence_that_grows_deeper():
    with raises(ValueError, "deep"):
        nd.asarray(Endless())


def test_a_sequence_that_becomes_none_and_one_again():
    """It has the attribute when it is measured as an entry and when it is stacked as one, and none when it is asked for
    its own entries: it must not be read from the start again and again, which overflows the C stack (Python 3.12 counts calls
    of C apart, and lets 10,000 of them nest)."""
    class Turns:
        asked = 0

        def __len__(self):
            return 1

        def __getitem__(self, i):
            return self

        @property
        def __array_interface__(self):
            self.asked += 1
            if self.asked % 6 in (3, 4, 0):
                return {}
            raise AttributeError
    with raises((ValueError, TypeError)):
        nd.asarray(Turns())


def test_a_sequence_whose_length_fails():
    class Sequence:
        asked = 0

        def __len__(self):
            self.asked += 1
            if self.asked == 1:
                raise LookupError("no length")
            return 1

        def __getitem__(self, i):
            return 0
    with raises(LookupError, "no length"):
        nd.ones(3, device="cpu")[Sequence()]
    with raises(LookupError, "no length"):
        nd.asarray(Sequence())


def test_a_sequence_without_end_can_be_interrupted():
    def stop(*_):
        raise KeyboardInterrupt
    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, 0.5)
    try:
        with raises(KeyboardInterrupt):
            nd.asarray(range(2**62))
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@cases("keys", "values", "metadata")
def test_a_dictionary_of_two_minds(which):
    class Dictionary(dict):
        def __iter__(self):
            return iter(["a"] if which == "keys" else ["a", "b"])

        def values(self):
            return [nd.ones(1, device="cpu")] * (1 if which == "values" else 2)

        def items(self):
            return [("k", "v", "more")]
    x = nd.ones(1, device="cpu")
    names, metadata = ({"a": x}, Dictionary(k="v")) if which == "metadata" else (Dictionary(a=x, b=x), None)
    with raises(ValueError, "changed while it was read"):
        nd.save(os.path.join(folder.name, "minds"), names, metadata=metadata)


def test_what_astype_returns_is_looked_at():
    class Liar:
        dtype = type("", (), {"kind": "f"})

        def astype(self, dtype):
            return bytearray(b"\x01" * 8)  # bytes, not float32, which would be four times as many

    backend = nd._ndock._needle_backend("cpu")
    handle = backend.Array(8)
    backend.from_numpy(Liar(), handle)
    assert nd._ndock._needle_view(handle, (8,), (1,), 0).tolist() == [1.0] * 8
    Liar.astype = lambda self, dtype: memoryview(bytearray(64)).cast("c")
    with raises(TypeError, "real numbers"):
        backend.from_numpy(Liar(), handle)


# ---- deleters ----
class Ending(Producer):
    """Its deleter is Python code, which fails where it is called with an exception set."""

    def _delete(self, _):
        try:
            len([nd.zeros(1, device="cpu") + 1])
        except SystemError:
            return
        self.deleted += 1


def ways_to_fail(p):
    """Calls that import the tensor and fail then, with the tensor to be released on the way out."""
    class Alone:
        __dlpack__, __dlpack_device__ = p.__dlpack__, p.__dlpack_device__

    class Fails:
        def __bool__(self):
            raise LookupError("no truth")

    def unwind():
        return [nd.from_dlpack(p), 1 // 0]
    a = nd.zeros((2, 3), device="cpu")
    return {
        "device": (BufferError, lambda: nd.from_dlpack(p, device="sim:0", copy=False)),
        "truth": (LookupError, lambda: nd.from_dlpack(p, copy=Fails())),
        "dtype": (ValueError, lambda: nd.asarray(Alone(), dtype="int8", copy=False)),
        "unwinding": (ZeroDivisionError, unwind),
        "key": (IndexError, lambda: a[Alone()]),
        "keys": (IndexError, lambda: a[p and nd.from_dlpack(p) > 0, "x"]),
        "value": (ValueError, lambda: a.__setitem__((slice(None), [0, 1]), Alone())),
        "stack": (TypeError, lambda: nd.asarray([Alone(), None])),
        "stacked": (ValueError, lambda: nd.asarray([Alone(), [1.0]])),
    }


@cases("device", "truth", "dtype", "unwinding", "key", "keys", "value", "stack", "stacked")
def test_deleters_find_no_exception(way):
    p = Ending()
    kind, call = ways_to_fail(p)[way]
    try:
        call()
    except kind:
        pass
    else:
        raise AssertionError("nothing was raised")
    gc.collect()
    assert p.deleted == 1 or p.given is None, (p.deleted, p.given)


def test_a_deleter_that_imports_the_same_tensor():
    """Unaligned elements are copied, and the tensor ends within the call."""
    class Again(Producer):
        def _delete(self, _):
            self.deleted += 1
            if self.deleted > 1:
                return
            try:
                nd.from_dlpack(self.same)
            except TypeError as e:
                self.why = str(e)

    p = Again(code=0, bits=32, shape=(2,))
    p.managed.tensor.byte_offset = 1

    class Same:
        __dlpack_device__ = p.__dlpack_device__

        def __dlpack__(self, **_):
            return p.capsule
    p.same = Same()
    assert nd.from_dlpack(p).tolist() == [0x04030201, 0x08070605]
    assert p.deleted == 1 and "nobody has taken" in p.why


def test_the_second_of_a_pair_is_read_without_an_exception():
    seen = []

    class First:
        def __index__(self):
            raise LookupError("first")

    class Second:
        def __index__(self):
            seen.append(1)
            return 0
    with raises(LookupError, "first"):
        nd.ones(2, device="cpu").__dlpack__(max_version=(First(), Second()))
    assert not seen


# ---- text ----
def nul_calls():
    path = os.path.join(folder.name, "nul.safetensors")
    x = nd.ones(2, device="cpu")
    nd.save(path, {"a": x}, metadata={"k": "v"})
    return {
        "name": lambda: nd.save(path, {"a\0secret": x}),
        "metadata key": lambda: nd.save(path, {"a": x}, metadata={"k\0": "v"}),
        "metadata": lambda: nd.save(path, {"a": x}, metadata={"k": "v\0"}),
        "names": lambda: nd.load(path, names=["a\0nonsense"]),
        "key": lambda: nd.load_metadata(path, "k\0"),
        "path": lambda: nd.save("a\0b", x), "load": lambda: nd.load("a\0b"),
        "device": lambda: nd.Device("cpu\0:0"), "to": lambda: x.to("cpu\0"),
        "dtype": lambda: nd.zeros(2, dtype="float32\0"), "availability": lambda: nd.availability("cpu\0"),
        "plug-in": lambda: nd.load_plugin("/a\0b"),
        "typestr": lambda: nd.asarray(Interface(typestr="<f8\0x")),
        "snapshot": lambda: nd.memory.save_snapshot("/tmp/a\0.json"),
        "conf": lambda: nd._ndock._memory_conf_set("backend:native\0"), "tag": lambda: nd._ndock._tag_push("a\0"),
    }


@cases("name", "metadata key", "metadata", "names", "key", "path", "load", "device", "to", "dtype", "availability", "plug-in",
       "typestr", "snapshot", "conf", "tag")
def test_nul_is_refused(what):
    call = nul_calls()[what]
    with raises(ValueError):
        call()
    path = os.path.join(folder.name, "nul.safetensors")
    assert list(nd.load(path)) == ["a"] and nd.load_metadata(path, "k") == "v", "the file is as it was"


@cases(b"\xff", b"caf\xe9", "\u00e9".encode(), b"\xf0\x9f\x98")
def test_paths_of_any_bytes(name):
    path = os.path.join(os.fsencode(folder.name), name + b".npy")
    nd.save(path, nd.ones(3, device="cpu"))
    assert os.path.exists(path)
    for same in (path, os.fsdecode(path)):
        assert nd.load(same).tolist() == [1, 1, 1]
    with open(path, "wb") as f:
        f.write(b"\x93NUMPYjunk")
    with raises(ValueError, "version") as _, open(os.devnull, "w") as nowhere:
        try:
            nd.load(os.fsdecode(path))
        except ValueError as e:
            print(e, file=nowhere)  # messages are text that can be printed
            raise
    with raises(OSError, "No such file"):
        nd._ndock._npy_load(path + b"no", None, None)


@cases(*range(4))
def test_messages_that_are_cut_within_a_character(shift):
    long = "/" + "x" * shift + "\u00e9" * 100
    with raises(OSError, "cannot open"):
        nd._ndock._npy_load(long * 8, None, None)


def test_plugin_folders_of_any_bytes():
    sim = next(r["path"] for r in nd.plugins() if r["name"] == "sim")
    place = os.path.join(os.fsencode(folder.name), b"plug\xffins")
    os.mkdir(place)
    shutil.copy(sim, place + b"/ndock-s\xfe.so")
    with open(place + b"/ndock-\xfd.so", "wb") as f:
        f.write(b"nothing")
    program = "import os, ndock as nd\nfor r in nd.plugins(): print(os.fsencode(r['path']), r['state'], ascii(r['reason']))"
    cpu = os.path.dirname(next(r["path"] for r in nd.plugins() if r["name"] == "cpu"))
    done = subprocess.run([sys.executable, "-c", program], capture_output=True,
                          env={**os.environ, "NDOCK_PLUGIN_PATH": os.fsencode(cpu).decode() + ":" + os.fsdecode(place)})
    assert done.returncode == 0, done.stderr
    lines = [line for line in done.stdout.splitlines() if b"plug" in line]
    assert any(b"s\\xfe.so" in line and b"LOADED" in line for line in lines), done.stdout
    assert any(b"ndock-\\xfd.so" in line and b"NO_NOTE" in line for line in lines), done.stdout


@cases("list", "dict")
def test_fused_arguments_that_leave_while_they_are_looked_at(kind):
    """The text of a number is asked for, which takes it out of what it lies in: nothing else may keep it."""
    class Leaving(float):
        def __repr__(self):
            where.clear()
            return "a number"

    f, x = nd.fuse(lambda x, numbers: x + 1), nd.ones(3)
    for _ in range(50):
        where = [Leaving(i) for i in range(20)] if kind == "list" else {i: Leaving(i) for i in range(20)}
        assert f(x, where).tolist() == [2, 2, 2] and not where


if __name__ == "__main__":
    main(globals())
