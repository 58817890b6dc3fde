# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Graphs from Python, on the simulated device, which captures streams, and on the CPU, where ndock records the calls."""
import gc
import json
import os
import tempfile
import threading

import ndock as nd
from tap import cases, main, raises

BOTH = cases("sim:0", "cpu")


def numbers(x):
    return nd.asarray(x, device="cpu").tolist()


@BOTH
def test_capture_and_launch(device):
    x = nd.ones(4, device=device)
    with nd.graph(device=device) as g:
        y = x * 2 + 1
    assert g.nodes == 2 and g.segments == 1 and repr(g) == "Graph(nodes=2, segments=1)"
    g.launch()
    assert numbers(y) == [3] * 4
    x[:] = 5
    g()
    g.replay(nd.Stream(device))
    nd.synchronize(device)
    assert numbers(y) == [11] * 4


@BOTH
def test_whole_step(device):
    """The note's whole-network example: forward, backward and update in one graph."""
    rng = nd.random.Generator(3)
    x, target = rng.normal(size=(8, 5), device=device), rng.normal(size=(8, 1), device=device)
    w0 = rng.normal(size=(5, 1), device=device)

    def step(w):
        error = x @ w - target
        w[...] = w - 0.1 * (x.T @ error)
        return nd.sum(error * error)

    eager = w0.copy()
    losses = [float(step(eager)) for _ in range(4)]
    w = w0.copy()
    with nd.graph(device=device) as g:
        loss = step(w)
    got = []
    for _ in range(4):
        g.launch()
        got.append(float(loss))
    assert got == losses and numbers(w) == numbers(eager)


@BOTH
def test_conditions(device):
    """G21: if, if-else, while and switch, as the same loops of Python."""
    x = nd.zeros(3, dtype=nd.int32, device=device)
    value, below = nd.asarray(0, device=device), nd.asarray(True, device=device)
    bodies = []
    for by in (1, 10, 100):
        with nd.graph(device=device) as body:
            nd.add(x, by, out=x)
        bodies.append(body)
    with nd.graph(device=device) as one:
        nd.multiply(x, 2, out=x)
        one.cond(value, bodies[0])
    with nd.graph(device=device) as two:
        two.cond(value, bodies[0], bodies[1])
        nd.multiply(x, 2, out=x)
    with nd.graph(device=device) as several:
        several.switch(value, bodies)
    want = {one: lambda v, k: 2 * v + (k != 0), two: lambda v, k: 2 * (v + (1 if k else 10)),
            several: lambda v, k: v + (1, 10, 100)[k] if 0 <= k < 3 else v}
    for g, expected in want.items():
        for k in (0, 1, 2, 3, -1):
            x[:], value[...] = 7, k
            g.launch()
            assert numbers(x) == [expected(7, k)] * 3, (k, numbers(x))
    with nd.graph(device=device) as body:
        nd.add(x, 3, out=x)
        nd.less(x[0], 50, out=below)
    with nd.graph(device=device) as loop:
        nd.less(x[0], 50, out=below)
        loop.while_loop(below, body)
    for start in (0, 49, 50, 80):
        x[:] = start
        loop.launch()
        assert numbers(x) == [start + -(-max(50 - start, 0) // 3) * 3] * 3
    with nd.graph(device=device) as g:
        y = x + 1
        raises(ValueError, lambda: g.cond(x, body))
        raises(ValueError, lambda: g.cond(value, g))
        raises(TypeError, lambda: g.cond(nd.asarray(1.0, device=device), body))
        g.cond(below, body)
    g.launch()
    assert numbers(y) == [v + 1 for v in numbers(x)]


@BOTH
def test_exception_ends_the_capture(device):
    side = nd.Stream(device)
    x = nd.ones(4, device=device)
    for _ in range(100):  # G17
        with raises(ZeroDivisionError):
            with nd.graph(stream=side):
                x + x
                1 / 0
    with raises(nd.Error, "captured"):
        with nd.graph(stream=side):
            y = x + x
            float(nd.sum(y))
    with nd.graph(stream=side) as g:
        y = x + x
    g.launch()
    assert numbers(y) == [2] * 4


@BOTH
def test_random_numbers_go_on(device):
    """G13: launches draw as runs without a graph do, and so does what is between them."""
    def draw(rng):
        return rng.normal(size=10, device=device), rng.uniform(size=7, device=device), rng.gamma(2.0, size=5, device=device)

    eager = nd.random.Generator(5)
    want = [[numbers(v) for v in draw(eager)] for _ in range(3)]
    between = numbers(eager.normal(size=3, device=device))
    want.append([numbers(v) for v in draw(eager)])
    rng = nd.random.Generator(5)
    with nd.graph(device=device) as g:
        drawn = draw(rng)
    assert rng.key == nd.random.Key(5), "the capture draws nothing"
    got = []
    for i in range(4):
        if i == 3:
            assert numbers(rng.normal(size=3, device=device)) == between
        g.launch()
        got.append([numbers(v) for v in drawn])
    assert got == want and rng.key == eager.key
    rng.key = nd.random.Key(5)
    g.launch()
    assert [numbers(v) for v in drawn] == want[0]


@BOTH
def test_rebinding(device):
    x, other = nd.ones((3, 4), device=device), nd.full((3, 4), 7.0, device=device)
    into = nd.zeros((3, 4), device=device)
    with nd.graph(device=device) as g:
        y = x + 1
    i, o = g.argument(x), g.argument(y)
    g.rebind(i, other)
    g.rebind(o, into)
    g.launch()
    assert numbers(into) == [[8.0] * 4] * 3
    with raises(TypeError, "float32"):
        g.rebind(i, nd.ones((3, 4), dtype=nd.float32, device=device))
    with raises(ValueError, "(4, 3)"):
        g.rebind(i, nd.ones((4, 3), device=device))
    with raises(ValueError, "strides"):
        g.rebind(i, nd.ones((4, 3), device=device).T)
    with raises(ValueError, "shares memory"):
        g.rebind(i, into)
    with raises(ValueError, "neither reads nor writes"):
        g.argument(nd.zeros(3, device=device))
    with raises(ValueError, "arguments"):
        g.rebind(2, x)


@BOTH
def test_eager_parts(device):
    x, kept = nd.ones(4, device=device), nd.zeros(4, device=device)
    seen = []

    def middle():
        seen.append(float(nd.sum(y)))
        kept[...] = y * 10

    g = nd.Graph()
    with nd.graph(g, device=device):
        y = x + 1
        g.eager(middle)
        z = kept + y
    g.launch()
    x[:] = 2
    g.launch()
    assert seen == [8, 8, 12] and numbers(z) == [33] * 4 and g.segments == 2

    def fails():
        raise KeyError("mine")

    side = nd.Stream(device)
    with raises(KeyError, "mine"):
        with nd.graph(stream=side) as h:
            y = x + 1
            h.eager(fails)
    with nd.graph(stream=side):
        y = x + 1


@BOTH
def test_graphed(device):
    calls = []

    @nd.graphed
    def f(a, b, scale):
        """Doc."""
        calls.append(scale)
        return {"sum": a + b * scale, "twice": a + a}

    assert f.__doc__ == "Doc." and f.__name__ == "f"
    for i in range(6):
        a, b = nd.full(5, float(i), device=device), nd.ones(5, device=device)
        out = f(a, b, 3)
        assert numbers(out["sum"]) == [i + 3.0] * 5 and numbers(out["twice"]) == [2.0 * i] * 5
    assert len(calls) == 3, "two runs to warm up, and the capture"
    assert f.cache_info() == {"hits": 5, "misses": 1, "size": 1, "maxsize": 16} and f.reasons() == []
    for _ in range(3):
        f(nd.ones(6, device=device), nd.ones(6, device=device), 3)
    assert f.cache_info()["misses"] == 2 and len(f.graphs()) == 2
    same = nd.ones(5, device=device)
    assert numbers(f(same, same, 2)["sum"]) == [3.0] * 5
    f.cache_clear()
    assert f.cache_info()["size"] == 0


@BOTH
def test_each_call_of_graphed_works_once(device):
    """In place too: neither the runs to warm up nor the capture do more than their call."""
    @nd.graphed
    def step(w, rate):
        nd.subtract(w, rate, out=w)
        return w * 2

    w = nd.full(3, 10.0, device=device)
    for i in range(1, 7):
        assert numbers(step(w, 1.0)) == [2 * (10.0 - i)] * 3 and numbers(w) == [10.0 - i] * 3
    assert len(step.graphs()) == 1


@BOTH
def test_graphed_warm_up_that_fails(device):
    """An exception of a run to warm up goes to the caller, and the call may be made again."""
    fail = [True]

    @nd.graphed
    def f(a):
        if fail.pop() if fail else False:
            raise KeyError("mine")
        return a + 1

    a = nd.zeros(2, device=device)
    with raises(KeyError, "mine"):
        f(a)
    for _ in range(4):
        assert numbers(f(a)) == [1.0, 1.0]
    assert len(f.graphs()) == 1 and f.reasons() == []
    with raises(ValueError, "maxsize 1 or more"):
        nd.graphed(maxsize=0)


@BOTH
def test_what_makes_a_signature(device):
    """G15: shapes, strides, dtypes, values of other arguments and the settings of arithmetic; the least recently used goes."""
    @nd.graphed(warmup=0, maxsize=3)
    def f(a, scale=1):
        return a * scale

    def misses(a, scale=1):
        before = f.cache_info()["misses"]
        assert numbers(f(a, scale)) == numbers(a * scale)
        return f.cache_info()["misses"] - before

    square = nd.reshape(nd.arange(16, dtype=nd.float32, device=device), (4, 4))
    assert [misses(square), misses(square)] == [1, 0]
    assert [misses(square.T), misses(square[:2]), misses(square.T)] == [1, 1, 0], "strides, shapes"
    assert [misses(square.astype("float64")), misses(square)] == [1, 1], "dtypes; the first one went"
    assert [misses(square, 2), misses(square, 2)] == [1, 0], "other arguments"
    before = nd.math.matmul_precision()
    nd.math.set_matmul_precision("high")
    try:
        assert [misses(square, 2), misses(square, 2)] == [1, 0], "settings of arithmetic"
    finally:
        nd.math.set_matmul_precision(before)
    assert misses(square, 2) == 0 and f.cache_info()["size"] == 3


@BOTH
def test_refusal_runs_eagerly(device):
    """G15: what cannot be captured runs, and the reason is kept."""
    @nd.graphed(warmup=1, maxsize=1)
    def f(a):
        return a[a > 1]

    assert numbers(f(nd.asarray([0.0, 2.0, 3.0], device=device))) == [2, 3]
    assert numbers(f(nd.asarray([4.0, 0.0, 0.0], device=device))) == [4]
    assert numbers(f(nd.asarray([0.0, 0.0, 5.0], device=device))) == [5]
    assert "captured" in f.reasons()[0] and f.graphs() == []
    f(nd.ones(2, device=device))
    assert f.cache_info()["size"] == 1


@BOTH
def test_shared_pool(device):
    x = nd.ones(1000, device=device)
    with nd.graph(device=device) as g:
        a = x + 1
    with nd.graph(device=device, pool=g) as h:
        b = a * 2
    assert h.pool.id == g.pool.id
    g.launch()
    h.launch()
    assert numbers(b)[0] == 4
    with raises(nd.Error, "order"):
        h.launch()
    h.launch(force=True)
    g.launch()


@BOTH
def test_text(device):
    x = nd.ones(3, device=device)
    with nd.graph(device=device) as g:
        y = nd.exp(x) + x
    told = json.loads(g.text())
    assert [n["op"] for n in told["segments"][0]["nodes"]] == ["exp", "add"] and told["device"].startswith(device)
    assert "digraph" in g.text("dot")
    with tempfile.TemporaryDirectory() as folder:
        g.dump(os.path.join(folder, "g.json"))
        with open(os.path.join(folder, "g.json"), encoding="utf-8") as f:
            assert json.load(f) == told
    with raises(ValueError, "'svg'"):
        g.text("svg")
    del y


@BOTH
def test_memory_comes_back(device):
    x = nd.ones(100000, device=device)

    def once():
        with nd.graph(device=device) as g:
            y = x * 2 + x
        g.launch()
        nd.synchronize(device)
        del g, y

    once()
    nd.memory.empty_cache(device)
    before = nd.memory.reserved(device)
    for _ in range(50):
        once()
    gc.collect()
    nd.memory.empty_cache(device)
    assert nd.memory.reserved(device) <= before + (2 << 20), "one segment at most is still on its way back"


@BOTH
def test_update(device):
    x = nd.ones(4, device=device)
    with nd.graph(device=device) as g:
        a = x * 2
    with nd.graph(device=device) as h:
        b = x * 3
    assert g.update(h) is True
    g.launch()
    assert numbers(b) == [3] * 4
    with raises(nd.Error, "empty"):
        h.launch()
    del a


@BOTH
def test_host_functions(device):
    seen = []
    side = nd.Stream(device)
    with nd.graph(stream=side) as g:
        side.launch_host(seen.append, 1)
    g.launch(side)
    g.launch(side)
    side.synchronize()
    assert seen == [1, 1]
    del g


@BOTH
def test_other_threads(device):
    """G18: another thread computes while this one captures."""
    x = nd.ones(64, device=device)
    stop, failures = threading.Event(), []

    def work():
        try:
            while not stop.is_set():
                assert float(nd.sum(nd.ones(64, device=device) * 2)) == 128
        except Exception as e:
            failures.append(e)

    t = threading.Thread(target=work)
    t.start()
    for _ in range(20):
        with nd.graph(device=device) as g:
            y = x + 1
        g.launch()
        assert numbers(y)[0] == 2
    stop.set()
    t.join()
    assert not failures, failures


def test_mistakes():
    with raises(ValueError, "'none'"):
        with nd.graph(mode="none"):
            pass
    with raises(RuntimeError, "not been captured"):
        nd.Graph().launch()
    with raises(TypeError, "ndock.memory.Pool"):
        with nd.graph(pool=3):
            pass
    with raises(TypeError, "ndock.Graph, not 3"):
        nd.graph(3)
    x = nd.ones(2)
    with nd.graph() as g:
        y = x + 1
    with raises(TypeError, "positional"):
        g.launch(None, True)
    with raises(TypeError, "'speed'"):
        g.launch(speed=1)
    with raises(TypeError, "twice"):
        g.launch(None, stream=None)
    g.launch(stream=None, force=False)
    assert y.tolist() == [2, 2]


def test_captured_again():
    x = nd.ones(2)
    with nd.graph() as g:
        y = x + 1
    before = g.launch
    with nd.graph(g):
        z = x * 3
        with raises(RuntimeError, "captur"):
            g.launch()
    g.launch()
    assert z.tolist() == [3, 3] and g.nodes == 1
    x[:] = 5
    before()  # the graph that it was taken of
    g.replay()
    assert y.tolist() == [6, 6] and z.tolist() == [15, 15]


if __name__ == "__main__":
    main(globals())
