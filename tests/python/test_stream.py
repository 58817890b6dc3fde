# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Streams and events from Python; S- and A-numbers are those of the device semantics."""
import gc
import sys
import threading
import weakref

import ndock as nd
from simulator import Sim
from devices import DEVICES
from tap import cases, main, raises


class Foreign:
    """Another library's stream: by the protocol's method or as an attribute."""

    def __init__(self, handle, version=0):
        self.pair = (version, handle)

    def __cuda_stream__(self):
        return self.pair


class ForeignAttribute:
    def __init__(self, handle):
        self.__cuda_stream__ = (0, handle)


@cases(*DEVICES)
def test_S3_created_streams_are_distinct(device):
    streams = [nd.Stream(device) for _ in range(100)]
    assert len({s.id for s in streams}) == 100 and len(set(streams)) == 100
    assert all(s.device == device for s in map(lambda s: s, streams)) if device != "cpu" else True
    if device != "cpu":
        assert len({s.handle for s in streams}) == 100


def test_S1_current_is_of_the_thread():
    s = nd.Stream("sim:0")
    seen = []
    with s:
        assert nd.current_stream("sim:0") == s
        thread = threading.Thread(target=lambda: seen.append(nd.current_stream("sim:0")))
        thread.start()
        thread.join()
    assert seen == [nd.default_stream("sim:0")] and nd.current_stream("sim:0") == seen[0]


def test_S2_a_stream_of_another_device_makes_that_current():
    here = nd.get_default_device()
    s = nd.Stream("sim:1")
    with nd.stream(s) as inside:
        assert inside is s or inside == s
        assert nd.get_default_device() == "sim:1" and nd.ones(2).device == "sim:1"
        with nd.stream(None) as none:
            assert none is None and nd.current_stream("sim:1") == s
    assert nd.get_default_device() == here and nd.current_stream("sim:1") == nd.default_stream("sim:1")


def test_guards_as_decorators_and_set_stream():
    s = nd.Stream("sim:0")

    @nd.stream(s)
    def where():
        return nd.current_stream("sim:0")
    assert where() == s and nd.current_stream("sim:0") != s
    nd.set_stream(s)
    try:
        assert nd.current_stream("sim:0") == s
    finally:
        nd.set_stream(nd.default_stream("sim:0"))


def test_S4_S5_pools_and_priorities():
    a, b = nd.Stream.from_pool(3, "sim:0"), nd.Stream.from_pool(3, "sim:0")
    assert a == b and a != nd.Stream.from_pool(4, "sim:0")
    with raises(ValueError, "32", "0 to 31"):
        nd.Stream.from_pool(32, "sim:0")
    urgent, lazy = nd.Stream("sim:0", priority=-100), nd.Stream("sim:0", priority=100)
    assert urgent.priority < lazy.priority and -100 < urgent.priority and lazy.priority < 100


@cases(Foreign, ForeignAttribute)
def test_S10_ours_goes_out_and_others_come_in(kind):
    s = nd.Stream("sim:0")
    assert s.__cuda_stream__() == (0, s.handle)
    foreign = kind(s.handle)
    gone = weakref.ref(foreign)
    wrapped = nd.Stream.from_external(foreign, "sim:0")
    assert wrapped.handle == s.handle and wrapped.device == "sim:0" and wrapped.id != s.id
    del foreign
    gc.collect()
    assert gone() is not None, "the foreign object was not kept alive"
    with wrapped:
        x = nd.arange(4, dtype=nd.float64, device="sim:0") + 1
    assert nd.current_stream("sim:0") != wrapped
    wrapped.synchronize()
    assert "[1., 2., 3., 4.]" in repr(x)
    del wrapped
    assert gone() is not None, "a block that was made on the stream still remembers it"
    del x
    nd.memory.empty_cache("sim:0")
    nd.Stream("sim:0")
    gc.collect()
    assert gone() is None


def test_S10_an_owner_of_ones_own():
    class Owner:
        pass
    owner = Owner()
    gone = weakref.ref(owner)
    s = nd.Stream("sim:0")
    wrapped = nd.Stream.from_external(s.handle, "sim:0", owner=owner)
    del owner
    assert gone() is not None
    del wrapped
    assert gone() is None


def test_S10_guards_take_foreign_streams():
    s = nd.Stream("sim:0")
    with nd.device("sim:0"), nd.stream(Foreign(s.handle)) as inside:
        assert inside.handle == s.handle and nd.current_stream("sim:0") == inside


def test_S10_S9_malformed_ones_are_refused():
    with raises(ValueError, "ambiguous", "legacy"):
        nd.Stream.from_external(Foreign(0), "sim:0")
    with raises(ValueError, "version 1"):
        nd.Stream.from_external(Foreign(5, version=1), "sim:0")
    for pair in ("ab", (0,), (0, 1, 2), (0, "x"), None, [0, 1]):
        broken = Foreign(1)
        broken.pair = pair
        with raises(TypeError):
            nd.Stream.from_external(broken, "sim:0")
    broken = Foreign(1)
    broken.pair = (0, -1)
    with raises((TypeError, ValueError, OverflowError, nd.Error)):
        nd.Stream.from_external(broken, "sim:0")
    with raises(TypeError, "__cuda_stream__"):
        nd.stream("sim:0")
    with raises((TypeError, OverflowError)):
        nd.Stream.from_external(-3, "sim:0")
    for number in (3, 4096, id(broken), 2**64 - 8):  # whatever it points to, the device is not asked to follow it
        with raises(ValueError, "no stream of sim:0"):
            nd.Stream.from_external(number, "sim:0")
        with raises(ValueError, "no stream of sim:0"), nd.device("sim:0"):
            nd.stream(number)
    with raises(TypeError, "no handle"):
        nd.default_stream("cpu").__cuda_stream__()
    with raises(NotImplementedError, "cpu:0"):
        nd.Stream.from_external(5, "cpu")


def test_from_external_gives_ones_own_back():
    s = nd.Stream("sim:0")
    assert nd.Stream.from_external(s) is s


def test_S7_wait_event_and_wait_stream_do_not_block():
    gate, order = threading.Event(), []
    a, b = nd.Stream("sim:0"), nd.Stream("sim:0")
    a.launch_host(gate.wait, 10)
    a.launch_host(order.append, "a")
    b.wait_stream(a)
    b.launch_host(order.append, "b")
    c = nd.Stream("sim:0")
    event = a.record_event()
    assert isinstance(event, nd.Event) and event.device == "sim:0"
    c.wait_event(event)
    c.launch_host(order.append, "c")
    assert order == [] and not b.query() and not c.query() and not event.query()
    gate.set()
    c.synchronize()
    b.synchronize()
    assert order[0] == "a" and sorted(order) == ["a", "b", "c"] and event.query()


def test_A10_A11_events():
    e = nd.Event("sim:0")
    assert e.query()
    e.synchronize()
    s = nd.Stream("sim:0")
    assert s.record_event(e) is e
    e.wait(nd.Stream("sim:0"))
    e.wait()
    e.record(s)
    e.synchronize()
    with raises(nd.Error, "sim:1"):
        e.record(nd.Stream("sim:1"))
    with raises(TypeError, "Event"):
        s.wait_event(3)
    with raises(TypeError, "Event"):
        s.record_event("x")


def test_A10_elapsed_time_is_in_milliseconds():
    sim = Sim("sim:0")
    s = nd.Stream("sim:0")
    first, last, plain = nd.Event("sim:0", timing=True), nd.Event("sim:0", timing=True), nd.Event("sim:0")
    sim.set_cost(2_000_000, 0)  # a tick is a nanosecond
    try:
        with s:
            x = nd.ones(4, device="sim:0")
            first.record()
            x + x
            x + x
            last.record()
            plain.record()
        s.synchronize()
    finally:
        sim.set_cost(1000, 0)
    assert abs(first.elapsed_time(last) - 4.0) < 0.01, first.elapsed_time(last)
    with raises(nd.Error) as _:
        first.elapsed_time(plain)
    with raises(nd.Error):
        first.elapsed_time(nd.Event("sim:0", timing=True))
    with raises(TypeError):
        first.elapsed_time(1.0)


def test_S16_host_functions_may_not_use_devices():
    unraisable, hook = [], sys.unraisablehook
    sys.unraisablehook = lambda u: unraisable.append((type(u.exc_value), str(u.exc_value)))
    try:
        s = nd.Stream("sim:0")
        s.launch_host(lambda: nd.ones(3, device="sim:0"))
        s.launch_host(lambda: 1 / 0)
        s.synchronize()
    finally:
        sys.unraisablehook = hook
    assert unraisable[0][0].__name__ == "StateError" and "may not use devices" in unraisable[0][1], unraisable
    assert unraisable[1][0] is ZeroDivisionError


@cases(*DEVICES)
def test_host_functions_run_once_in_order_and_are_let_go(device):
    class Called:
        def __init__(self, out):
            self.out = out

        def __call__(self, *args):
            self.out.append(args)
    out, s = [], nd.Stream(device)
    f = Called(out)
    gone = weakref.ref(f)
    for i in range(5):
        s.launch_host(f, i, "x")
    s.synchronize()
    assert out == [(i, "x") for i in range(5)]
    del f
    assert gone() is None
    with raises(TypeError):
        s.launch_host()
    with raises(TypeError):
        s.launch_host(3)


def test_C7_C8_record_stream():
    x = nd.ones(1000, device="sim:0")
    s = nd.Stream("sim:0")
    nd.record_stream(x, s)
    nd.record_use(x, s)
    with raises(TypeError, "Array"):
        nd.record_stream(3, s)


def test_S12_the_check_finds_a_missing_wait_and_no_other():
    nd.set_stream_check(True)
    try:
        nd.stream_check_report()
        s = nd.Stream("sim:0")
        x = nd.ones(1000, device="sim:0") + 1
        with s, nd.tag("reader"):
            x + x
        races = nd.stream_check_report()
        assert races and any("reader" in r for r in races), races
        y = nd.ones(1000, device="sim:0") + 1
        s.wait_stream(nd.current_stream("sim:0"))
        with s:
            y + y
        assert nd.stream_check_report() == []
        nd.current_stream("sim:0").wait_stream(s)
    finally:
        nd.set_stream_check(False)


def test_S13_hazard_mode_waits_by_itself():
    nd.set_hazard_mode(True)
    sim = Sim("sim:0")
    assert nd.hazard_mode()
    try:
        sim.set_checker(1)
        s = nd.Stream("sim:0")
        x = nd.ones(1000, device="sim:0") + 1
        with s:
            x + x
        nd.synchronize("sim:0")
        assert sim.count("race_count") == 0
    finally:
        nd.set_hazard_mode(False)
        sim.set_checker(0)


def test_S15_backward_guard():
    sim = Sim("sim:0")
    sim.set_checker(1)
    try:
        a = nd.Stream("sim:0")
        g = nd.ones(100, device="sim:0") + 1
        with nd.backward_guard([a]):
            with a:
                h = g + 1
        r = h + 1
        nd.synchronize("sim:0")
        assert sim.count("race_count") == 0 and "3." in repr(h)
        del g, r
        with a:
            h + 1
        with nd.stream(nd.Stream("sim:0")):
            h *= 2
        assert sim.count("race_count") > 0, "the checker sees nothing"
    finally:
        nd.synchronize("sim:0")
        sim.race_clear()
        sim.set_checker(0)


def test_A4_faults_are_raised_once_with_their_suspects():
    sim = Sim("sim:3")
    with nd.device("sim:3"):
        s = nd.Stream()
        x = nd.ones(4)
        with s, nd.tag("the culprit"):
            sim.fault(_ptr(s.handle), 1, 1, 0)
            x + x
        with raises(nd.Error) as _:
            s.synchronize()
        window = nd.fault_window()
        assert any(w["name"] == "add" and w["tag"] == "the culprit" and w["shape"] == (4,) for w in window), window
        s.synchronize()


def _ptr(value):
    import ctypes
    return ctypes.c_void_p(value)


def test_A2_sync_watch():
    x = nd.ones(4, device="sim:0") + 1
    with nd.sync_watch("count"):
        nd.reset_sync_counts()
        nd.synchronize("sim:0")
        x + x
        assert nd.sync_counts()["synchronize"] == 1 and nd.sync_counts()["item"] == 0
        with nd.sync_watch("error"):
            x + x
            with raises(nd.Error, "forbids waiting"):
                nd.synchronize("sim:0")
            with nd.sync_watch("off"):
                nd.synchronize("sim:0")
    with raises(ValueError, "off, count, warn, error"):
        nd.sync_watch("loud")


def test_A3_launch_blocking():
    nd.set_launch_blocking(True)
    try:
        assert nd.launch_blocking()
        s = nd.Stream("sim:0")
        with s:
            nd.ones(4, device="sim:0") + 1
        assert s.query()
    finally:
        nd.set_launch_blocking(False)


if __name__ == "__main__":
    main(globals())
