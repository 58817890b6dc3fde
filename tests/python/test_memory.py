# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Memory from Python: statistics (C24), caps (C13), settings (C16), allocators (C20, C22), pools (C23), snapshots (C25),
pinned memory and copies (P1)."""
import gc
import json
import os
import pickle
import signal
import sys
import tempfile
import threading
import time

import ndock as nd
from ndock import memory
from devices import DEVICES
from tap import cases, main, raises

MIB = 1 << 20
# torch.cuda.memory_stats of PyTorch 2.x, from its documentation
TORCH = [f"{a}.{b}.{c}" for a in ("allocation", "allocated_bytes", "requested_bytes", "segment", "reserved_bytes", "active",
                                  "active_bytes", "inactive_split", "inactive_split_bytes")
         for b in ("all", "small_pool", "large_pool") for c in ("current", "peak", "allocated", "freed")]
TORCH += [f"{a}.{c}" for a in ("oversize_allocations", "oversize_segments")
          for c in ("current", "peak", "allocated", "freed")]
TORCH += ["num_alloc_retries", "num_ooms", "num_sync_all_streams", "num_device_alloc", "num_device_free", "max_split_size"]


def test_C24_the_names_are_pytorchs():
    stats = memory.stats("sim:1")
    assert not [name for name in TORCH if name not in stats]
    assert all(isinstance(v, int) for v in stats.values())
    nested = memory.stats("sim:1", nested=True)
    assert nested["allocated_bytes"]["all"]["current"] == stats["allocated_bytes.all.current"]


def test_C24_statistics_count():
    before = memory.stats("sim:1")
    x = nd.zeros(1000, dtype=nd.uint8, device="sim:1")  # 1000 bytes are rounded to 1024
    now = memory.stats("sim:1")

    def more(name):
        return now[name] - before[name]
    assert more("allocation.all.current") == more("allocation.small_pool.current") == 1
    assert more("allocated_bytes.all.current") == 1024 and more("requested_bytes.all.current") == 1000
    assert memory.allocated("sim:1") == now["allocated_bytes.all.current"]
    assert memory.reserved("sim:1") >= memory.allocated("sim:1")
    big = nd.zeros(3 * MIB, dtype=nd.uint8, device="sim:1")
    peak = memory.peak_allocated("sim:1")
    assert peak >= 3 * MIB + 1024
    del big, x
    assert memory.peak_allocated("sim:1") == peak and memory.peak_reserved("sim:1") >= peak
    memory.reset_peak("sim:1")
    assert memory.peak_allocated("sim:1") == memory.allocated("sim:1") == before["allocated_bytes.all.current"]
    memory.reset_accumulated("sim:1")
    assert memory.stats("sim:1")["allocation.all.allocated"] == 0


def test_C26_empty_cache_gives_back():
    x = nd.zeros(MIB * 30, dtype=nd.uint8, device="sim:1")
    nd.synchronize("sim:1")  # what a stream may still use stays
    del x
    free, total = memory.usage("sim:1")
    memory.empty_cache("sim:1")
    after, same = memory.usage("sim:1")
    assert after >= free + 30 * MIB and same == total == nd.Device("sim:1").memory
    memory.empty_host_cache("sim:1")


def test_C13_caps():
    try:
        memory.empty_cache("sim:2")
        memory.set_cap(10 * MIB, device="sim:2")
        with raises(MemoryError, "sim:2"):
            nd.zeros(20 * MIB, dtype=nd.uint8, device="sim:2")
        assert memory.stats("sim:2")["num_cap_rejections"] > 0
        memory.set_cap(fraction=0.5, device="sim:2")
        nd.zeros(20 * MIB, dtype=nd.uint8, device="sim:2")
    finally:
        memory.set_cap(0, device="sim:2")
    with raises(nd.Error):
        memory.set_cap(fraction=1.5, device="sim:2")
    with raises(ValueError):
        memory.set_cap(device="sim:2")
    with raises(ValueError):
        memory.set_cap(5, fraction=0.5)
    with raises((ValueError, OverflowError)):
        memory.set_cap(-1)


def test_C16_settings():
    before = memory.configuration()
    try:
        memory.configure("roundup_power2_divisions:[256:1,512:2,>:8], max_split_size_mb : 64")
        now = memory.configuration()
        assert now["roundup_power2_divisions"].endswith("256:1,512:2,>:8]") and now["max_split_size_mb"] == "64"
        memory.configure(max_split_size_mb=32, expandable_segments=False)
        assert memory.configuration()["max_split_size_mb"] == "32"
        memory.configure(**memory.configuration())
        assert memory.configuration() == {**now, "max_split_size_mb": "32"}
        with raises(ValueError, "max_split_size_mb"):
            memory.configure(nonsense=3)
        with raises(ValueError):
            memory.configure(max_split_size_mb="many")
        assert memory.configuration()["max_split_size_mb"] == "32"
    finally:
        memory.configure(**before)
    assert memory.configuration() == before


def test_C11_an_error_tells_and_what_follows_succeeds():
    with raises(nd.Error, "sim:1", "requested", "16.00 GiB"):
        nd.zeros(1 << 34, dtype=nd.uint8, device="sim:1")
    assert "[2., 2.]" in repr(nd.ones(2, device="sim:1") + 1)


def test_C12_callbacks():
    seen, held = [], [nd.zeros(900 * MIB, dtype=nd.uint8, device="sim:1")]

    def make_room(device, nbytes):
        seen.append((str(device), nbytes))
        freed = bool(held)
        held.clear()
        return freed
    watcher = memory.on_failure(make_room, may_free=True)
    x = nd.zeros(500 * MIB, dtype=nd.uint8, device="sim:1")
    assert seen == [("sim:1", 500 * MIB)], seen
    watcher.remove()
    watcher.remove()
    looked = []
    with memory.on_failure(lambda *a: looked.append(a)), raises(MemoryError):
        nd.zeros(900 * MIB, dtype=nd.uint8, device="sim:1")
    assert looked == [("sim:1", 900 * MIB)] and len(seen) == 1
    with raises(MemoryError):
        nd.zeros(900 * MIB, dtype=nd.uint8, device="sim:1")
    assert len(looked) == 1
    del x
    memory.empty_cache("sim:1")
    with raises(TypeError):
        memory.on_failure(3)


def test_C12_what_a_callback_raises_is_not_the_allocations():
    unraisable, hook = [], sys.unraisablehook
    sys.unraisablehook = lambda u: unraisable.append(type(u.exc_value))
    try:
        with memory.on_failure(lambda d, n: 1 / 0), raises(MemoryError):
            nd.zeros(1 << 34, dtype=nd.uint8, device="sim:1")
    finally:
        sys.unraisablehook = hook
    assert unraisable == [ZeroDivisionError]


def test_C23_the_pools_of_the_note():
    pool = memory.Pool("sim:1")
    assert pool.use_count == 1 and pool.device == "sim:1" and pool.segments == 0
    with pool as inside:
        assert inside is pool and pool.use_count == 2
        a = nd.zeros(MIB, dtype=nd.uint8, device="sim:1")
        assert pool.segments == 1
        b = nd.zeros(MIB, dtype=nd.uint8, device="sim:1")
        assert pool.segments == 1 and pool.reserved_bytes == 2 * MIB
        c = nd.zeros(MIB, dtype=nd.uint8, device="sim:1")
        assert pool.segments == 2
    assert pool.use_count == 1
    outside = nd.zeros(MIB, dtype=nd.uint8, device="sim:1")
    assert pool.segments == 2
    assert memory.Pool("sim:1").id != pool.id
    del a, b, c, outside
    memory.Pool("sim:1", use_on_oom=True, no_split=True)
    with raises(nd.Error, "one's own"):
        memory.Pool("sim:1", upstream=memory.Allocator("caching"))
    with raises(TypeError, "Allocator"):
        memory.Pool("sim:1", upstream=3)


def test_C23_a_pool_outlives_its_object():
    pool = memory.Pool("sim:1")
    with pool:
        x = nd.arange(1000, dtype=nd.float64, device="sim:1")
    del pool
    gc.collect()
    assert "999." in repr(x)


def test_C20_C22_allocators_are_swapped_at_any_time():
    old = nd.zeros(100, dtype=nd.uint8, device="sim:2")
    memory.set_allocator("debug", device="sim:2")
    try:
        with nd.tag("who"):
            x = nd.zeros(77, dtype=nd.uint8, device="sim:2")
        del old
        report = memory.debug_report("sim:2")
        assert any("77 bytes" in line and "who" in line for line in report), report
        del x
        assert not any("77 bytes" in line for line in memory.debug_report("sim:2"))
        memory.set_allocator(memory.Allocator("none"), device="sim:2")
        y = nd.ones(3, device="sim:2")
    finally:
        memory.set_allocator("caching", device="sim:2")
    assert "[2., 2., 2.]" in repr(y + 1)
    with raises(ValueError, "caching"):
        memory.Allocator("nonsense")
    with raises(nd.Error, "nowhere.so"):
        memory.Allocator.load("/nowhere.so", "alloc", "free")


def test_C25_snapshots():
    memory.trace(1000)
    try:
        with nd.tag("traced"):
            x = nd.zeros(5000, dtype=nd.uint8, device="sim:1")
        memory.trace_note("here", device="sim:1")
        found = memory.snapshot("sim:1")
        assert any(b.get("requested_size") == 5000 and b["state"] == "active_allocated"
                   for s in found["segments"] for b in s["blocks"]), found["segments"][:1]
        text = json.dumps(found["device_traces"])
        assert "traced" in text and "here" in text
    finally:
        memory.trace(0)
    with tempfile.TemporaryDirectory() as folder:
        for name, load in (("s.json", lambda f: json.load(f)), ("s.pickle", pickle.load), ("s.pkl", pickle.load)):
            path = os.path.join(folder, name)
            memory.save_snapshot(path, device="sim:1")
            with open(path, "rb") as f:
                back = load(f)
            sizes = [b["requested_size"] for s in back["segments"] for b in s["blocks"]]
            assert 5000 in sizes and {"segments", "device_traces", "allocator_settings"} <= set(back)
        with raises(ValueError, "json"):
            memory.save_snapshot(os.path.join(folder, "s.txt"))
        with raises(ValueError, "xml"):
            memory.save_snapshot(os.path.join(folder, "s"), format="xml")
        with raises(OSError):
            memory.save_snapshot(os.path.join(folder, "no", "s.json"))
    del x


@cases(*DEVICES)
def test_pinned_arrays(device):
    x = nd.empty_pinned((2, 3), dtype=nd.float32, device=device)
    assert x.shape == (2, 3) and x.dtype == nd.float32 and x.device == "cpu:0"
    assert nd.empty_pinned(3, device=device).dtype == nd.float64
    if device != "cpu":
        assert nd.is_pinned(x) and memory.stats(device)["pinned_bytes.current"] >= 24
    assert not nd.is_pinned(nd.zeros(3, device="cpu"))
    assert nd.empty_pinned((), device=device).shape == () and nd.empty_pinned((0, 2), device=device).shape == (0, 2)
    with raises(TypeError, "Array"):
        nd.is_pinned(3)


def test_P1_a_copy_to_pinned_memory_returns_at_once_and_access_waits():
    x = nd.arange(1000, dtype=nd.float64, device="sim:0")
    host = nd.empty_pinned(1000, device="sim:0")
    gate, s = threading.Event(), nd.Stream("sim:0")
    s.wait_stream(nd.current_stream("sim:0"))
    s.launch_host(gate.wait, 10)
    nd.copy_to(x, host, non_blocking=True, stream=s)
    assert not s.query()
    threading.Timer(0.05, gate.set).start()
    assert "999." in repr(host) and gate.is_set()
    back = nd.zeros(1000, device="sim:0")
    nd.copy_to(host, back, non_blocking=True)
    assert "999." in repr(back)


def test_P1_a_host_array_may_be_used_behind_a_function_that_wants_the_interpreter():
    x = nd.arange(8, dtype=nd.float64, device="sim:0")
    host = nd.empty_pinned(8, device="sim:0")
    ran, s = [], nd.Stream("sim:0")
    s.wait_stream(nd.current_stream("sim:0"))
    s.launch_host(lambda: (time.sleep(0.05), ran.append(1)))
    nd.copy_to(x, host, non_blocking=True, stream=s)
    signal.alarm(600)  # ends the program where the two wait for each other
    y = host + 1
    signal.alarm(0)
    assert ran and y.tolist() == [1, 2, 3, 4, 5, 6, 7, 8]


def test_copies_between_any_two():
    for source, target in (("cpu", "sim:0"), ("sim:0", "cpu"), ("sim:0", "sim:1"), ("cpu", "cpu"), ("sim:1", "sim:1")):
        src = nd.arange(3, dtype=nd.int32, device=source)
        dst = nd.zeros((2, 3), dtype=nd.float64, device=target)
        nd.copy_to(src, dst)
        assert "[0., 1., 2.],\n       [0., 1., 2.]" in repr(dst), (source, target, repr(dst))
    with raises(ValueError):
        nd.copy_to(nd.zeros(3), nd.zeros(4))
    with raises(TypeError, "Array"):
        nd.copy_to([1], nd.zeros(4))


def test_registered_host_memory():
    block = bytearray(1 << 16)
    with memory.host_register(block, "sim:0") as r:
        with raises(BufferError):
            block.extend(b"x")
        with raises(nd.Error):
            memory.host_register(block, "sim:0")
    block.extend(b"x")
    r.close()
    with raises((BufferError, TypeError)):
        memory.host_register(b"read only", "sim:0")


def test_pytorchs_spellings():
    """What PYTORCH_CUDA_ALLOC_CONF says may be said here."""
    before = memory.configuration()
    try:
        memory.configure("backend:cudaMallocAsync,pinned_use_background_threads:True,pinned_use_cuda_host_register:True,"
                         "pinned_num_register_threads:8,expandable_segments:False")
        assert memory.configuration()["backend"] == "async" and memory.configuration()["pinned_background"] == "true"
        memory.configure(backend="native")
        assert memory.configuration()["backend"] == "caching"
        with raises(ValueError, "unknown key"):
            memory.configure("pinned_use_cuda_host_registers:True")
    finally:
        memory.configure(**before)


def test_summary():
    lines = memory.memory_summary("cpu").splitlines()
    assert len({len(line) for line in lines}) == 1 and "cpu:0" in lines[0] and any("reserved_bytes" in line for line in lines)


if __name__ == "__main__":
    main(globals())
