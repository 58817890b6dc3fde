#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Communicators from Python: ranks of this process on simulated devices against NumPy, errors, work and groups; and ranks in
processes of their own, which `ndock run` starts (ranks.py)."""
import os
import subprocess
import sys
import threading

os.environ["NDOCK_COMM_TIMEOUT"] = "60000"  # ranks that a busy machine keeps waiting are not late

import ndock as nd  # noqa: E402
from arrays import np  # noqa: E402
from tap import Skip, main, raises  # noqa: E402

RANKS = 3


def team(n=RANKS):
    return nd.comm.local([f"sim:{i}" for i in range(n)])


def brought(shape, dtype, n=RANKS):
    return np.random.default_rng(1).integers(0, 5, (n, *shape)).astype(dtype)


def on(comms, values):
    return [nd.asarray(v, device=c.device) for c, v in zip(comms, values)]


def host(arrays):
    return [np.asarray(a.to_device("cpu")) for a in arrays]


def test_collectives():
    comms = team()
    for dtype in ("float32", "int32", "complex64", "bool", "float16"):
        for shape in ((4,), (2, 3), (0,), ()):
            x = brought(shape, dtype)
            arrays = on(comms, x)
            total = x.any(0) if dtype == "bool" else x.sum(0, dtype=dtype)
            for r in host([c.all_reduce(a) for c, a in zip(comms, arrays)]):
                assert np.array_equal(r, total)
            for r in host([c.all_gather(a) for c, a in zip(comms, arrays)]):
                assert np.array_equal(r, x)
            rooted = [c.reduce(a, root=1) for c, a in zip(comms, arrays)]
            assert rooted[0] is None and rooted[2] is None and np.array_equal(host([rooted[1]])[0], total)
            rows = brought((RANKS, *shape), dtype)
            arrays = on(comms, rows)
            total = rows.any(0) if dtype == "bool" else rows.sum(0, dtype=dtype)
            assert np.array_equal(np.stack(host([c.reduce_scatter(a) for c, a in zip(comms, arrays)])), total)
            assert np.array_equal(np.stack(host([c.all_to_all(a) for c, a in zip(comms, arrays)])), np.swapaxes(rows, 0, 1))


def test_reductions():
    comms, x = team(), brought((5,), "float64")
    arrays = on(comms, x)
    for op, want in (("sum", x.sum(0)), ("prod", x.prod(0)), ("min", x.min(0)), ("max", x.max(0)), ("avg", x.mean(0))):
        for r in host([c.all_reduce(a, op) for c, a in zip(comms, arrays)]):
            assert np.allclose(r, want, rtol=1e-15)
    whole = on(comms, x.astype("int64") - 2)
    for r in host([c.all_reduce(a, "avg") for c, a in zip(comms, whole)]):
        assert np.array_equal(r, (x.astype("int64") - 2).sum(0) // RANKS)
    assert all(c.all_reduce(a, out=a) is a for c, a in zip(comms, arrays))
    assert np.allclose(host(arrays)[2], x.sum(0))


def test_work_and_groups():
    comms = team()
    work = [c.all_reduce(nd.full((4,), float(c.rank), device=c.device), async_op=True) for c in comms]
    for w in work:
        assert host([w.wait()])[0].tolist() == [3.0] * 4
        w.synchronize()
        assert w.query()
    results = []
    for c in comms:
        theirs = nd.zeros((2,), device=c.device)
        with c.group():
            c.send(nd.full((2,), float(c.rank), device=c.device), (c.rank + 1) % RANKS)
            results.append(c.recv(theirs, (c.rank - 1) % RANKS))
    assert [float(r[0]) for r in host(results)] == [2, 0, 1]


class Recorder:
    """A communicator that notes when it is called, and sums nothing."""
    transport = "cpu"

    def __init__(self):
        self.sizes = []

    def all_reduce(self, x, op, out=None, async_op=False):
        assert op == "avg" and async_op
        self.sizes.append(x.size)
        return Done(x)


class OfNccl:
    """Two ranks that have the same, whom NCCL would carry: it is to sum what was divided before."""
    transport, size = "cuda", 2

    def all_reduce(self, x, op, out=None, async_op=False):
        assert op == "sum" and out is x and async_op
        x += nd.asarray(x, copy=True)
        return Done(x)


class Done:
    def __init__(self, result):
        self.wait = lambda: result


def test_buckets_begin_when_they_are_full():
    comm = Recorder()
    buckets = nd.parallel.Buckets(comm, bucket_bytes=80, first_bytes=16)
    sent = []
    for n in (2, 3, 5, 1, 20, 1):  # of 8 bytes
        buckets.add(nd.full((n,), float(n)))
        sent.append(list(comm.sizes))
    assert sent == [[2], [2], [2], [2], [2, 9, 20], [2, 9, 20]]
    assert [r.tolist() for r in buckets.wait()] == [[float(n)] * n for n in (2, 3, 5, 1, 20, 1)] and comm.sizes == [2, 9, 20, 1]
    for n in (1, 30, 2):  # of which each is a bucket
        buckets.add(nd.full((n,), float(n)))
    waited = []
    for work, k in zip(buckets._under_way, range(2)):
        work[0].wait = lambda k=k, result=work[0].wait(): waited.append(k) or result
    results = buckets.results()
    assert waited == [] and comm.sizes[4:] == [1, 30, 2]
    assert next(results).tolist() == [1.0] and waited == [0] and next(results).size == 30 and waited == [0, 1]
    assert next(results).tolist() == [2.0, 2.0] and list(results) == [] and buckets.wait() == []
    comms = team(2)
    both = [nd.parallel.Buckets(c, "sum", first_bytes=1) for c in comms]
    for b, c in zip(both, comms):
        b.add(nd.full((3,), float(c.rank + 1), device=c.device))
        b.add(nd.ones((2, 2), dtype=nd.float32, device=c.device))
    for first, second in [b.wait() for b in both]:
        assert host([first])[0].tolist() == [3.0] * 3 and host([second])[0].tolist() == [[2.0] * 2] * 2 and second.dtype == nd.float32
    with raises(ValueError, "first_bytes is at least 1"):
        nd.parallel.Buckets(comm, first_bytes=0)


def test_averages_of_nccl_are_divided_before():
    g = [nd.asarray([1.0, 3.0], dtype=nd.float32), nd.asarray([5.0, 7.0], dtype=nd.float32), nd.asarray([9 + 2j])]
    buckets = nd.parallel.Buckets(OfNccl(), bucket_bytes=16, first_bytes=1)
    for x in g[:1] + g:
        buckets.add(x)
    results = buckets.wait()
    assert [r.tolist() for r in results] == [x.tolist() for x in g[:1] + g] and [r.dtype for r in results[1:]] == [x.dtype for x in g]
    assert g[0].tolist() == [1.0, 3.0] and g[2].tolist() == [9 + 2j]


def test_splitting():
    comms, parts = team(), {}

    def split(c):
        parts[c.rank] = c.split(-1 if c.rank == 1 else 0, key=-c.rank)
    threads = [threading.Thread(target=split, args=(c,)) for c in comms]
    for t in threads:
        t.start()
    for t in threads:
        t.join(60)
    assert parts[1] is None and (parts[0].rank, parts[2].rank, parts[0].size) == (1, 0, 2)


def test_errors():
    comms = team(2)
    x, y = nd.ones(3, device="sim:0"), nd.ones(3, device="sim:1")
    for kind, words, call in (
            (ValueError, "op is one of sum, prod", lambda: comms[0].all_reduce(x, "median")), (ValueError, "sim:1", lambda: comms[0].all_reduce(y)),
            (TypeError, "collective", lambda: comms[0].all_reduce([1, 2])), (ValueError, "ranks are 0 to 1", lambda: comms[0].broadcast(x, 2)),
            (TypeError, "no least", lambda: comms[0].all_reduce(nd.ones(3, dtype=nd.complex64, device="sim:0"), "max")),
            (ValueError, "1 to 256", lambda: nd.comm.local([])), (ValueError, "128 bytes", lambda: nd.comm.init(0, 1, b"short")),
            (ValueError, "at least 1", lambda: nd.parallel.all_reduce_gradients(comms[0], [x], bucket_bytes=0))):
        with raises(kind, words):
            call()


def test_another_call():
    comms = team(2)
    comms[0].all_reduce(nd.ones(3, dtype=nd.float32, device="sim:0"))
    with raises(RuntimeError, "rank 0 was all_reduce of 3 float32 by sum"):
        comms[1].broadcast(nd.ones(3, device="sim:1"))
    with raises(RuntimeError, "same calls in the same order"):
        comms[0].check()
    with raises(RuntimeError, "rank 1"):
        nd.synchronize("sim:0")


def test_a_rank_that_does_not_come():
    os.environ["NDOCK_COMM_TIMEOUT"] = "500"
    comms = team(2)
    os.environ["NDOCK_COMM_TIMEOUT"] = "60000"
    y = comms[0].all_reduce(nd.ones(3, device="sim:0"))
    with raises(RuntimeError, "waits for rank 1, which did not come within 500 ms"):
        host([y])
    comms = team(2)
    y = comms[0].all_reduce(nd.ones(3, device="sim:0"))
    comms[1].abort()
    with raises(RuntimeError, "rank 1 aborted it"):
        host([y])


def test_processes():
    run = os.path.join(os.environ.get("NDOCK_TOOLS", "tools"), "ndock")
    if not os.path.exists(run):
        raise Skip("the command is not beside the test")
    if "libtsan" in os.environ.get("LD_PRELOAD", ""):
        raise Skip("the command and its shell do not start below the thread sanitizer's library")
    script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "ranks.py")
    for n in (2, 3):
        done = subprocess.run([run, "run", "-n", str(n), sys.executable, "-B", script], capture_output=True, text=True, timeout=600,
                              env={**os.environ, "NDOCK_COMM_TIMEOUT": "90000"})  # a busy machine starts them late
        assert done.returncode == 0, done.stderr
        assert all(f"[{r}] rank {r} of {n} is content" in done.stdout for r in range(n)), done.stdout


if __name__ == "__main__":
    nd.set_default_device("cpu")
    main(globals())
