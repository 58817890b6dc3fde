# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The CUDA Array Interface, version 3, from Python: every rule of the document and I1 to I16, end to end on the simulated
device, which takes part in it for tests (NDOCK_CAI_SIM=1). Races are found by its checker."""
import gc
import os
import random
import subprocess
import sys
import weakref

os.environ["NDOCK_CAI_SIM"] = "1"
import ndock as nd  # noqa: E402
from in_use import blocks_and_kilobytes  # noqa: E402
from simulator import Sim  # noqa: E402
from tap import cases, main, raises  # noqa: E402

sim = Sim("sim:0")
SIM = "sim:0"


class Producer:
    """Another library's array: the interface and nothing else."""

    def __init__(self, desc, base=None):
        self.desc, self.base, self.reads = desc, base, 0

    @property
    def __cuda_array_interface__(self):
        self.reads += 1
        return self.desc


def idle(shape=(4, 6), dtype=nd.float32):
    x = nd.ones(shape, dtype=dtype, device=SIM)
    nd.synchronize(SIM)
    return x


def entry(x, **changes):
    """The dictionary of x, changed; a value of ... takes the entry out."""
    d = {**x.__cuda_array_interface__, **changes}
    return {k: v for k, v in d.items() if v is not ...}


def checked(clear=True):
    sim.set_checker(1)
    sim.race_clear()


def races():
    return sim.count("race_count")


def test_I1_keys_and_types():
    x = idle()
    d = x.__cuda_array_interface__
    assert set(d) == {"shape", "typestr", "data", "strides", "stream", "version"}
    assert d["shape"] == (4, 6) and all(type(n) is int for n in d["shape"])
    assert d["version"] == 3 and d["typestr"] == "<f4"
    assert type(d["data"]) is tuple and type(d["data"][0]) is int and d["data"][1] is False
    assert d["strides"] is None and d["stream"] is None


def test_I1_host_arrays_have_no_interface():
    x = nd.ones(3, device="cpu")
    assert not hasattr(x, "__cuda_array_interface__")
    with raises(AttributeError, "to_device"):
        x.__cuda_array_interface__


def test_I1_the_switch_for_simulated_devices_is_off_by_default():
    code = "import ndock as nd; print(hasattr(nd.ones(3, device='sim:0'), '__cuda_array_interface__'))"
    environment = {k: v for k, v in os.environ.items() if k != "NDOCK_CAI_SIM"}
    out = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "False"


def test_I2_strides():
    x = idle()
    assert x.T.__cuda_array_interface__["strides"] == (4, 24)
    flipped = nd.flip(x, axis=0).__cuda_array_interface__
    assert flipped["strides"] == (-24, 4)
    assert flipped["data"][0] == x.__cuda_array_interface__["data"][0] + 3 * 24
    assert x[:, 2:3].__cuda_array_interface__["strides"] == (24, 4)
    assert x[2:3, :].__cuda_array_interface__["strides"] is None
    assert x[0, 0].__cuda_array_interface__["strides"] is None
    assert x[0, 0].__cuda_array_interface__["shape"] == ()
    assert nd.broadcast_to(x, (2, 4, 6)).__cuda_array_interface__["strides"] == (0, 24, 4)


def test_I3_zero_size_and_read_only():
    assert idle((0, 3)).__cuda_array_interface__["data"] == (0, False)
    assert nd.permute_dims(idle((2, 0, 3)), (2, 1, 0)).__cuda_array_interface__["strides"] is None
    view = nd.broadcast_to(idle((3,)), (2, 3))
    assert view.__cuda_array_interface__["data"][1] is True


def test_I4_stream_is_never_0_and_none_when_idle():
    x = idle()
    assert x.__cuda_array_interface__["stream"] is None
    y = x + 1
    assert y.__cuda_array_interface__["stream"] == 1
    s = nd.Stream(SIM)
    with s:
        z = y + 1
        assert z.__cuda_array_interface__["stream"] == s.__cuda_stream__()[1]
    nd.synchronize(SIM)


def test_I5_seven_nine_fifteen():
    x = nd.ones((3, 8), device=SIM)
    s = [nd.Stream(SIM) for _ in range(4)]
    nd.synchronize(SIM)
    checked()
    for i in range(3):
        with s[i]:
            x[i] = i
    records, waits = sim.count("log_count", b"event_record"), sim.count("log_count", b"stream_wait")
    with s[3]:
        d = x.__cuda_array_interface__
    assert d["stream"] == s[3].__cuda_stream__()[1]
    assert sim.count("log_count", b"event_record") - records == 3
    assert sim.count("log_count", b"stream_wait") - waits == 3
    consumer = nd.Stream.from_external(d["stream"], SIM)
    with consumer:
        _ = x + 1
    assert races() == 0
    nd.synchronize(SIM)


def test_I6_the_stream_outlives_its_user():
    s = nd.Stream(SIM)
    with s:
        x = nd.ones(4, device=SIM)
    with s:
        d = x.__cuda_array_interface__
    del s
    gc.collect()
    consumer = nd.Stream.from_external(d["stream"], SIM)  # refused were it gone
    with consumer:
        _ = x * 2
    nd.synchronize(SIM)


def test_I6_re_export():
    x = idle()
    s = nd.Stream(SIM)
    p = Producer(entry(x, stream=s.__cuda_stream__()[1]), (x, s))
    y = nd.as_array(p)
    assert y.__cuda_array_interface__["stream"] == p.desc["stream"]
    assert y[1:].__cuda_array_interface__["stream"] == p.desc["stream"]
    z = nd.as_array(Producer(entry(x), x))
    assert z.__cuda_array_interface__["stream"] is None


@cases("none", "sync")
def test_I7_export_policy(policy):
    x = idle() + 1
    try:
        assert nd.cai_settings(export=policy)["export"] == policy
        assert x.__cuda_array_interface__["stream"] is None
        if policy == "sync":
            assert sim.count("pending", 0) == 0
    finally:
        nd.cai_settings(export="stream")
    with raises(ValueError, "stream, none, sync"):
        nd.cai_settings(export="eager")
    nd.synchronize(SIM)


@cases(("bool", "|b1"), ("int8", "|i1"), ("uint8", "|u1"), ("int16", "<i2"), ("uint16", "<u2"), ("int32", "<i4"),
       ("uint32", "<u4"), ("int64", "<i8"), ("uint64", "<u8"), ("float16", "<f2"), ("float32", "<f4"),
       ("float64", "<f8"), ("complex64", "<c8"), ("complex128", "<c16"))
def test_I8_typestr(name, typestr):
    x = idle((3,), getattr(nd, name))
    d = x.__cuda_array_interface__
    assert d["typestr"] == typestr
    assert nd.from_cai(d, x).dtype == x.dtype


def test_I8_bfloat16_is_refused_unless_asked_for():
    x = idle((3,), nd.bfloat16)
    assert not hasattr(x, "__cuda_array_interface__")
    with raises(AttributeError, "DLPack"):
        x.__cuda_array_interface__
    code = ("import ndock as nd; x = nd.full(3, 1.5, dtype=nd.bfloat16, device='sim:0'); d = x.__cuda_array_interface__;"
            "assert d['typestr'] == '<V2' and d['ndock_dtype'] == 'bf16', d;"
            "y = nd.from_cai(d, x); assert y.dtype == nd.bfloat16 and float(y[0]) == 1.5")
    subprocess.run([sys.executable, "-c", code], env={**os.environ, "NDOCK_CAI_VENDOR_DTYPES": "1"},
                   check=True)


REFUSED = [
    ("shape", ..., ValueError), ("typestr", ..., ValueError), ("data", ..., ValueError), ("version", ..., ValueError),
    ("shape", [4, 6], TypeError), ("shape", (4.0, 6), TypeError), ("shape", (True, 6), TypeError), ("shape", None, TypeError),
    ("shape", (-1, 6), ValueError), ("shape", (2**70, 6), OverflowError), ("shape", (2**62, 6), OverflowError),
    ("shape", (1,) * 65, ValueError), ("shape", "46", TypeError),
    ("typestr", "<f3", TypeError), ("typestr", ">f4", TypeError), ("typestr", b"<f4", TypeError), ("typestr", "", TypeError),
    ("typestr", "<f4" * 50, TypeError), ("typestr", "<V2", TypeError), ("typestr", "|O8", TypeError), ("typestr", "\0\0\0", TypeError),
    ("data", 5, TypeError), ("data", (5,), ValueError), ("data", (5, False, 0), ValueError), ("data", ("5", False), TypeError),
    ("data", (0, False), ValueError), ("data", (-8, False), OverflowError), ("data", (2**64, False), OverflowError),
    ("data", (4096, False), ValueError), ("data", (None, False), TypeError), ("data", (8, "no"), TypeError),
    ("data", [8, False], TypeError), ("data", (2**64 - 8, False), OverflowError),
    ("strides", (24,), ValueError), ("strides", (24, 4, 4), ValueError), ("strides", [24, 4], TypeError),
    ("strides", (24, 3), ValueError), ("strides", (24, 4.0), TypeError), ("strides", (2**63, 4), OverflowError),
    ("strides", (-2**63, 4), OverflowError), ("strides", (2**61, 4), ValueError),
    ("version", 4, NotImplementedError), ("version", -1, ValueError), ("version", "3", TypeError), ("version", 2**40, ValueError),
    ("version", 3.0, TypeError), ("mask", "anything", NotImplementedError),
    ("stream", 0, ValueError), ("stream", -1, ValueError), ("stream", -2**63, ValueError), ("stream", 2**64, OverflowError),
    ("stream", "1", TypeError), ("stream", True, TypeError), ("stream", 1.0, TypeError)]


@cases(*REFUSED)
def test_I9_malformed(key, value, kind):
    x = idle()
    with raises(kind):
        nd.from_cai(entry(x, **{key: value}), x)


def test_I9_not_a_dict():
    for wrong in (None, [], "x", 5, object()):
        with raises(TypeError):
            nd.from_cai(wrong)
        with raises(TypeError):
            nd.as_array(Producer(wrong))

    class Broken:
        @property
        def __cuda_array_interface__(self):
            raise RuntimeError("no device")
    with raises(RuntimeError, "no device"):
        nd.as_array(Broken())


def test_I9_optional_entries():
    x = idle()
    for changes in ({"strides": ...}, {"stream": ...}, {"mask": None}, {"descr": [("", "<f4")]},
                    {"version": 2, "stream": ...}, {"version": 2, "stream": 0}, {"version": 0}):
        y = nd.from_cai(entry(x, **changes), x)
        assert y.shape == (4, 6) and y.dtype == nd.float32


def test_I9_hostile_dictionaries():
    """Whatever is in them, an exception or an array that can be read, and never a crash."""
    rnd = random.Random(3)
    x = idle((64,), nd.uint8)
    values = [None, 0, 1, -1, 2, 3, 4, 64, 2**31, 2**63 - 1, -2**63, 2**64, 1.5, True, "", "<f4", "|u1", "<V2", b"x", (), (1,), (4, 4),
              (-1, 2), (0, 5), (2**62, 4), (1, -1), [1], {}, object(), x, (x.__cuda_array_interface__["data"][0], False),
              (x.__cuda_array_interface__["data"][0] + 7, True), ("a", "b"), (None, None)]
    keys = ["shape", "typestr", "data", "strides", "version", "stream", "mask", "ndock_dtype", "descr"]
    taken = 0
    for _ in range(20000):
        d = entry(x)
        for _ in range(rnd.randint(1, 3)):
            d[rnd.choice(keys)] = rnd.choice(values)
        if rnd.random() < 0.1:
            d.pop(rnd.choice(list(d)))
        try:
            y = nd.from_cai(d)
        except (TypeError, ValueError, OverflowError, NotImplementedError, MemoryError, nd.Error):
            continue
        taken += 1
        assert y.size <= 64 or 0 in y.strides
    assert taken > 100


def producer_on(stream, x):
    return Producer(entry(x, stream=stream.__cuda_stream__()[1]), (x, stream))


@cases(True, False)
def test_I10_I11_both_edges(sync):
    p, mine = nd.Stream(SIM), nd.Stream(SIM)
    x = idle()
    theirs = producer_on(p, x)
    checked()
    waited = sim.count("log_count", b"stream_sync") + sim.count("log_count", b"event_sync")
    with p:
        x[...] = 2
    with mine:
        y = nd.as_array(theirs, sync=sync)
        _ = y + 1
    assert (races() == 0) == sync, "I10: we read behind what the producer wrote"
    before = races()
    with p:
        x[...] = 3
    assert (races() == before) == sync, "I11: the producer writes behind our read"
    assert sim.count("log_count", b"stream_sync") + sim.count("log_count", b"event_sync") == waited, "the host never waits"
    nd.synchronize(SIM)


def test_S12_imports_made_while_the_stream_check_is_off():
    """Its races are found when it is on, as those of an import made then; an import that is gone leaves nothing behind."""
    x, s = idle(), nd.Stream(SIM)

    def race_of(y, ordered):
        y[...] = 2
        if ordered:
            s.wait_stream(nd.current_stream(SIM))
        with s:
            _ = y + 1
        return len(nd.stream_check_report())

    def synchronized(*arguments):
        nd.set_stream_check(True)
        try:
            return race_of(*arguments)
        finally:
            nd.set_stream_check(False)
            nd.synchronize(SIM)

    for _ in range(3):
        before = nd.as_array(Producer(entry(x), x))
        assert synchronized(before, False) == 1
        assert synchronized(before, True) == 0
        nd.set_stream_check(True)
        during = nd.as_array(Producer(entry(x), x))
        nd.set_stream_check(False)
        assert synchronized(during, False) == 1
        del before, during


def test_I12_sync_can_be_turned_off_for_all():
    p, mine = nd.Stream(SIM), nd.Stream(SIM)
    x = idle()
    theirs = producer_on(p, x)
    try:
        assert nd.cai_settings()["sync"] is True
        assert nd.cai_settings(sync=False)["sync"] is False
        waits = sim.count("log_count", b"stream_wait")
        with mine:
            nd.as_array(theirs)
        assert sim.count("log_count", b"stream_wait") == waits
    finally:
        nd.cai_settings(sync=True)
    nd.synchronize(SIM)


def test_I12_ownership():
    x = idle()
    p = Producer(entry(x), x)
    alive = weakref.ref(p)
    y = nd.as_array(p)
    assert p.reads == 1
    view = y[1:]
    del p, y
    gc.collect()
    assert alive() is not None, "as_array holds the object, through views too"
    del view
    gc.collect()
    assert alive() is None
    p = Producer(entry(x), x)
    alive = weakref.ref(p)
    y = nd.from_cai(p.desc)
    del p
    gc.collect()
    assert alive() is None, "from_cai holds nobody"
    owner = Producer(None)
    alive = weakref.ref(owner)
    z = nd.from_cai(entry(x), owner)
    del owner
    gc.collect()
    assert alive() is not None, "unless it is told whom"
    with raises(ValueError):
        nd.from_cai(entry(x, stream=0), Producer(None))
    del y, z
    gc.collect()
    assert alive() is None


def test_I13_read_only():
    x = idle()
    y = nd.from_cai(entry(x, data=(x.__cuda_array_interface__["data"][0], True)), x)
    assert y.readonly and y.__cuda_array_interface__["data"][1] is True
    with raises(ValueError, "read-only"):
        y[0] = 1
    with raises(ValueError, "read-only"):
        y += 1


def test_I14_ptr_info():
    x = idle()
    at = x.__cuda_array_interface__["data"][0]
    info = nd.ptr_info(at + 8)
    assert str(info.device) == "sim:0" and info.base <= at < info.base + info.nbytes
    assert not info.managed and not info.host_accessible and info.device_accessible
    with raises(ValueError):
        nd.ptr_info(0)
    with raises(TypeError):
        nd.ptr_info("x")
    assert nd.from_cai(entry(x, shape=(0,), data=(0, False))).size == 0


def test_I16_reading_twice():
    """Equal dictionaries, without a wait, though x is not computed yet; the second reading asks the device for nothing."""
    x = idle() + 1
    with nd.sync_watch("error"):
        first = x.__cuda_array_interface__
        calls = sim.count("log_count", None)
        second = x.__cuda_array_interface__
    assert first == second and first is not second and first["version"] == 3
    assert sim.count("log_count", None) == calls, sim.count("log_count", None) - calls
    nd.synchronize(SIM)


def test_I16_cost():
    """At most a microsecond, as fast as NumPy's own, which is printed; ten times that fail. Sanitizers cost more."""
    import timeit
    x = idle()
    best = min(timeit.repeat(lambda: x.__cuda_array_interface__, number=1000, repeat=50)) / 1000
    print(f"# {best * 1e6:.2f} us a reading")
    assert best <= (1e-5 if not os.environ.get("LD_PRELOAD") else 1e-4), best


def test_as_array_of_anything():
    x = idle()
    assert nd.as_array(x) is x
    y = nd.as_array([[1, 2], [3, 4]])
    assert y.shape == (2, 2)
    z = nd.as_array(memoryview(bytearray(8)))
    assert z.shape == (8,) and z.dtype == nd.uint8


def test_values_go_both_ways():
    x = nd.reshape(nd.arange(24, dtype=nd.float32, device=SIM), (4, 6))
    for view in (x, x.T, x[::2, ::-1], x[1:, 2], nd.flip(x)):
        y = nd.as_array(Producer(entry(view), view))
        assert y.shape == view.shape and y.tolist() == view.tolist()
    y = nd.as_array(Producer(entry(x), x))
    y[0, 0] = 99
    assert float(x[0, 0]) == 99


def test_S10_cuda_stream_protocol():
    s = nd.Stream(SIM)
    version, handle = s.__cuda_stream__()
    assert version == 0 and handle == entry_stream(s)


def entry_stream(s):
    with s:
        x = nd.ones(3, device=SIM)
        return x.__cuda_array_interface__["stream"]


def test_round_trips_leak_nothing():
    """A slice of 10^6; ROUND_TRIPS says how many."""
    n = int(os.environ.get("ROUND_TRIPS", "20000"))
    x = idle()
    p = producer_on(nd.Stream(SIM), x)

    def trips(count):
        for i in range(count):
            y = nd.as_array(p)
            y.__cuda_array_interface__
            del y
            if i % 4096 == 0:
                nd.synchronize(SIM)

    trips(5000)
    nd.synchronize(SIM)
    blocks, kilobytes = blocks_and_kilobytes()
    trips(n)
    nd.synchronize(SIM)
    blocks_now, kilobytes_now = blocks_and_kilobytes()
    assert blocks_now - blocks < 200, blocks_now - blocks
    assert kilobytes_now - kilobytes < 4096, kilobytes_now - kilobytes


if __name__ == "__main__":
    main(globals())
