# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""fuse: traced functions give the bits that they give without it; what cannot be traced runs as it is, with a reason."""
import math
import os
import random
import threading

import numpy as np

import ndock as nd
from tap import cases, main, raises

DEVICES = os.environ.get("NDOCK_TEST_DEVICES", "cpu sim:0").split()
rng = np.random.default_rng(20)


def array(shape=(40, 33), dtype="float32", device="cpu", scale=2.0):
    return nd.asarray((scale * rng.standard_normal(shape)), dtype="float64").astype(dtype).to_device(device)


def bits(x):
    x = x.to_device("cpu")
    return x.dtype, x.shape, bytes(memoryview(np.ascontiguousarray(np.asarray(x.astype("float32") if str(x.dtype) == "bfloat16" else x))).cast("B"))


def same(function, *args, calls=3, reason="", **kwargs):
    """The fused function gives what the function gives, at every call, by loops alone."""
    fused = nd.fuse(function)
    for i in range(calls):
        got, want = fused(*args, **kwargs), function(*args, **kwargs)
        got, want = (got, want) if isinstance(got, tuple) else ((got,), (want,))
        assert len(got) == len(want)
        for g, w in zip(got, want):
            assert bits(g) == bits(w), (g, w)
    assert reason in fused.fused_reason and bool(reason) == bool(fused.fused_reason), fused.fused_reason
    return fused


def softmax(x):
    e = nd.exp(x - nd.max(x, axis=-1, keepdims=True))
    return e / nd.sum(e, axis=-1, keepdims=True)


def gelu(x):
    return 0.5 * x * (1 + nd.tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)))


def layer_norm(x, scale, bias):
    centred = x - x.mean(axis=-1, keepdims=True)
    return centred / nd.sqrt((centred * centred).mean(axis=-1, keepdims=True) + 1e-5) * scale + bias


def black_scholes(price, strike, years, rate, sigma):
    root = sigma * nd.sqrt(years)
    d1 = (nd.log(price / strike) + (rate + 0.5 * sigma * sigma) * years) / root
    d2 = d1 - root
    discount = strike * nd.exp(-rate * years)
    call = price * nd.special.ndtr(d1) - discount * nd.special.ndtr(d2)
    return call, call - price + discount


@cases(*[(device, dtype) for device in DEVICES for dtype in ("float32", "float64", "float16", "bfloat16")])
def test_programs(device, dtype):
    x, y = array(dtype=dtype, device=device), array((33,), dtype, device)
    same(softmax, x)
    same(gelu, x)
    same(layer_norm, x, y, y)
    same(lambda a, b, c: nd.tanh(a * b + c), x, y, x)
    same(lambda a: 2 * a + a * a + 1, x)
    positive = nd.abs(x) + 0.5
    same(black_scholes, positive, positive, positive, 0.02, 0.3)


@cases(*[(device, dtype) for device in DEVICES for dtype in ("float32", "bfloat16")])
def test_rows(device, dtype):
    # 1024 elements are rows that every device takes whole: one loop, whatever the reductions
    x, row, column = array((6, 1024), dtype, device), array((6, 1), dtype, device), array((1024,), dtype, device)
    largest = lambda x: x - x.max(axis=-1, keepdims=True)  # noqa: E731
    spread = lambda x: (((x - x.mean(axis=-1, keepdims=True)) * row) ** 2).sum(axis=1)  # noqa: E731

    def many(x, row, column):
        s = x * column
        return largest(s), s.std(axis=-1, keepdims=True) * row, (s - s.min(axis=1, keepdims=True)).var(axis=-1)
    for function, args in ((softmax, (x,)), (largest, (x,)), (layer_norm, (x, column, column)), (many, (x, row, column))):
        fused = same(function, *args)
        before = nd.fuse_statistics()["fused_runs"]
        fused(*args)
        assert nd.fuse_statistics()["fused_runs"] - before == 1, function
    same(spread, x, reason="no argument")
    same(lambda x: x - x.max(axis=0, keepdims=True), x)  # columns are no rows
    same(lambda x: x - x.max(axis=-1), array((64, 64), dtype, device))  # and this is a row of largest values, not a column
    same(softmax, array((6, 1025), dtype, device)[:, :1024])


@cases(*[(device, dtype) for device in DEVICES for dtype in ("float32", "bfloat16", "float16")])
def test_quotients_by_one_value_of_a_row(device, dtype):
    """Of any numbers there are, by any: rows have steps of their own for these."""
    special = [0.0, -0.0, np.inf, -np.inf, np.nan, 1e-45, -1e-45, 3e-39, 1.17549435e-38, 3.4e38, 1.0, -3.0, 1e-20, 1e20, 0.1, 6e-8]
    numbers = rng.integers(0, 2**32, (64, 1024), dtype=np.uint32)
    numbers[::2] &= 0x80FFFFFF  # many small ones, whose quotients are small too
    numbers[:, : len(special)] = np.array(special, dtype="float32").view(np.uint32)
    by = np.concatenate([np.array(special, dtype="float32"), rng.integers(0, 2**32, 48, dtype=np.uint32).view(np.float32)])
    x, row = (nd.asarray(a).to_device(device).astype(dtype) for a in (numbers.view(np.float32), by.reshape(64, 1)))
    same(lambda x, row: (x / row, nd.max(x, axis=-1)), x, row)


@cases(*[(device, dtype) for device in DEVICES for dtype in ("float32", "bfloat16", "float16")])
def test_roots_of_values_of_rows(device, dtype):
    """Of any numbers there are."""
    special = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1e-45, -1e-45, 3e-39, 3.4e38, 65504.0], dtype="float32")
    numbers = np.concatenate([special, rng.integers(0, 2**32, 4086, dtype=np.uint32).view(np.float32)])
    numbers[::2] = np.abs(numbers[::2])
    x = nd.asarray(np.repeat(numbers.reshape(4096, 1), 64, axis=1)).to_device(device).astype(dtype)
    same(lambda x: nd.sqrt(nd.max(x, axis=-1)), x)


@cases(*[(device, dtype) for device in DEVICES for dtype in ("float32", "float64")])
def test_results_that_meet(device, dtype):
    """Chains of both operands, of one that has such a pair itself, and more than there is room for; few elements, and many."""
    for n in (1, 13, 1000, 300000):
        a, b, c, d = (array((n,), dtype, device) for _ in range(4))
        same(lambda a, b: 2 * a + b * b + 1, a, b)
        same(lambda a, b: (a - b) / (3 - a), a, b)
        same(lambda a, b, c, d: (a * b - c / d, c * d), a, b, c, d)
        same(lambda a, b: a * a + b * b + a * b, a, b)
        same(lambda a, b: a * b - (a * a + b * b), a, b)
        same(lambda a, b, c, d: (a * b + c * d) / (a * c - b * d), a, b, c, d)
        same(lambda a, b, c, d: ((a + 1) * (b + 2) - (c + 3) * (d + 4)) / ((a - 1) * (b - 2)), a, b, c, d)
        same(lambda a: (a + 1) * (a + 1) - (a * a - (a - 1) * (a - 1)), a)


@cases("float32", "float64")
def test_results_past_the_cache(dtype):
    """Of so many elements that the CPU writes them past its cache, at an address of no whole vector."""
    a, b = (array((4_200_003,), dtype, "cpu") for _ in range(2))
    same(lambda a, b: 2 * a + b * b + 1, a[1:], b[:-1])
    x, y = np.asarray(a), np.asarray(b)
    fused = nd.fuse(lambda a, b: (a * b - (a * a + b * b)) / (a - 3))
    for _ in range(2):
        assert np.asarray(fused(a, b)).tobytes() == ((x * y - (x * x + y * y)) / (x - 3)).tobytes()


@cases(*DEVICES)
def test_values(device):
    x = nd.asarray([[0.0, math.log(3)]], dtype="float64", device=device)
    fused = nd.fuse(softmax)
    for _ in range(2):
        assert np.allclose(np.asarray(fused(x).to_device("cpu")), [[0.25, 0.75]])
    assert fused.fused_reason == ""


@cases(*DEVICES)
def test_operators(device):
    i, u, b = (array(dtype=t, device=device) for t in ("int32", "int32", "float32"))
    u, b = nd.abs(u), b > 0
    same(lambda i, u: (i + u, i - u, i * u, i // (u + 1), i % (u + 1), i & u, i | u, i ^ u, i << u, i >> u), i, u)
    same(lambda i, u: (i / (u + 1), -i, +i, abs(i), ~i, i < u, i <= u, i == u, i != u, i > u, i >= u), i, u)
    same(lambda i: (3 - i, 2 * i, 7 // (i * i + 1), 5 % (i * i + 1), 6 & i, 1 ** i.astype("float64")), i)
    same(lambda i: (i ** 2, divmod(i, 3)[1], i.astype("float32") ** 0.5), i)
    same(lambda i, u, b: (nd.where(b, i, u), nd.clip(i, -1, 1), nd.fma(i, u, i)), i, u, b)
    same(lambda i: (i.sum(axis=0), i.max(), nd.mean(i, axis=(0, 1)), i.argmax(axis=1), nd.std(i, axis=0), i.any()), i)


@cases(*DEVICES)
def test_views(device):
    x = array(device=device)
    same(lambda u: u[1:-1, 1:-1] + 0.1 * (u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4 * u[1:-1, 1:-1]), x)
    same(lambda u: u.T * 2 + u.T[::-1], x)
    same(lambda u, v: u * v, x[::2, ::-3], nd.broadcast_to(x[:1], (40, 33))[::2, ::3])
    same(lambda u: u[None, 0] + 1, x)
    same(lambda u: (u, u * 1, u[0]), x)


def test_nested_arguments():
    params = [array((5, 3)), array((3,))]
    step = nd.fuse(lambda ps, gs, rate: {"new": [p - rate * g for p, g in zip(ps, gs)], "rate": rate})
    for _ in range(3):
        made = step(params, params, rate=0.5)
        assert made["rate"] == 0.5 and type(made["new"]) is list
        for new, p in zip(made["new"], params):
            assert bits(new) == bits(p - 0.5 * p)
    assert step.fused_reason == "" and step.signatures == 1


def test_signatures():
    f = nd.fuse(lambda x, k: x * k + k)
    x = array()
    f(x, 2.0), f(x[:3], 2.0)
    assert f.signatures == 1 and f.fused_reason == ""  # extents are none
    f(x, 3.0), f(x, 2), f(x.astype("float64"), 2), f(x[0], 2)
    assert f.signatures == 5
    assert bits(f(x, 3.0)) == bits(x * 3.0 + 3.0)
    before = nd.fuse_statistics()["compiled"]
    f(x, 4.0)
    assert bits(f(x, 4.0)) == bits(x * 4.0 + 4.0)
    assert nd.fuse_statistics()["compiled"] == before  # scalars are no part of the code
    zeros = nd.fuse(lambda x, k: nd.copysign(x, k))
    for k in (0.0, -0.0, 0.0, -0.0):
        assert bits(zeros(x, k)) == bits(nd.copysign(x, k))
    few = nd.fuse(lambda x, k: x + k, max_signatures=2)
    for k in range(5):
        few(x, k)
    assert few.signatures == 2
    few.clear()
    assert few.signatures == 0


def test_extents_count_where_they_are_asked_for():
    f = nd.fuse(lambda x: x / x.shape[0])
    for n in (4, 8, 4, 8):
        x = array((n,))
        assert bits(f(x)) == bits(x / n)
    assert f.fused_reason == ""


def reasons():
    yield "no argument", lambda x: nd.ones((33,), dtype="float32") * x, "no argument; make it one"
    yield "value", lambda x: x if float(x.max()) > 100 else x + 1, "reads a value"
    yield "sort", lambda x: nd.sort(x), "TypeError"
    yield "product with options", lambda x: nd.matmul(x, x.T, alpha=2), "options"
    yield "reshape", lambda x: (x + 1).reshape(-1), ".reshape"
    yield "iteration", lambda x: sum(row.sum() for row in x), "iterates"
    yield "index", lambda x: (x + 1)[0], "intermediate"
    yield "out", lambda x: nd.add(x, x, out=nd.empty(x.shape, dtype=x.dtype)), "out="


@cases(*reasons())
def test_what_is_not_fused(name, function, text):
    x = array()
    fused = nd.fuse(function)
    for _ in range(2):
        assert bits(fused(x)) == bits(function(x))
        assert text in fused.fused_reason, fused.fused_reason


def test_in_place():
    def f(x):
        x += 1
        return x * 2
    x = array()
    before, fused = x.copy(), nd.fuse(f)
    assert bits(fused(x)) == bits((before + 1) * 2) and bits(x) == bits(before + 1)
    assert "in place" in fused.fused_reason


def test_errors():
    f = nd.fuse(lambda x, y: x + y)
    with raises(ValueError, "broadcast"):
        f(array((3,)), array((4,)))
    f(array((3,)), array((3,)))
    f(array((3,)), array((3,)))
    with raises(ValueError, "broadcast"):
        f(array((3,)), array((4,)))
    with raises(TypeError, "takes a function"):
        nd.fuse(3)
    with raises(ValueError, "1 or more"):
        nd.fuse_cache_set_max(0)
    assert nd.fuse(lambda: 4)() == 4
    assert nd.fuse(lambda n: n + 1)(4) == 5


def test_methods_and_nesting():
    class Model:
        def __init__(self):
            self.w = array((33,))

        @nd.fuse
        def forward(self, x):
            return x * 2

    m, x = Model(), array()
    assert bits(m.forward(x)) == bits(x * 2) and bits(m.forward(x)) == bits(x * 2)
    inner = nd.fuse(gelu)
    same(lambda x: inner(x) + 1, x)


UNARY = ["abs", "exp", "log1p", "tanh", "sqrt", "floor", "sign", "square", "negative", "isnan", "sigmoid", "relu", "erf"]
BINARY = ["add", "subtract", "multiply", "maximum", "minimum", "less", "equal", "atan2", "hypot", "copysign", "divide"]


def random_function(r):
    """Source of a function of x, y, z and two scalars."""
    values, lines = ["x", "y", "z", "x[..., ::-1]", "z"], []
    for i in range(r.randrange(3, 14)):
        pick = lambda: r.choice(values[-6:] + ["x", "y"])
        way = r.randrange(10)
        line = (f"nd.{r.choice(UNARY)}({pick()}.astype('float32'))" if way < 3 else
                f"nd.{r.choice(BINARY)}({pick()}.astype('float32'), {pick()}.astype('float32'))" if way < 6 else
                f"{pick()} * {r.choice(['0.5', '3', '-1.25'])}" if way == 6 else
                f"nd.where({pick()} > 0, {pick()}, {pick()})" if way == 7 else
                f"{pick()}.astype('{r.choice(['float16', 'bfloat16', 'float64'])}')" if way == 8 else
                f"nd.{r.choice(['sum', 'max', 'mean', 'min'])}({pick()}, axis=-1, keepdims=True)")
        lines.append(f"    v{i} = {line}\n")
        values.append(f"v{i}")
    return "def f(x, y, z):\n" + "".join(lines) + f"    return {values[-1]}, {r.choice(values)} * 1\n"


@cases(*DEVICES)
def test_products(device):
    for dtype in ("float32", "bfloat16", "float16"):
        x, w, b = [array(s, dtype, device, 0.5) for s in ((24, 40), (40, 16), (16,))]
        layer = lambda x, w, b: nd.gelu(x @ w + b)
        same(layer, x, w, b)
        same(lambda x, w, b: (nd.tanh(x) @ w).sum(axis=0) + b * nd.matmul(x, w), x, w, b)
        taken = nd.fuse(layer, epilogues=True)
        for _ in range(2):
            got = taken(x, w, b)
        want = nd.matmul(x, w, bias=b, epilogue="gelu")
        assert bits(got) == bits(want) and taken.fused_reason == "", taken.fused_reason
        exact = nd.gelu(x.astype("float64") @ w.astype("float64") + b.astype("float64"))
        assert float(nd.max(abs(got.astype("float64") - exact))) < {"float32": 1e-5, "float16": 2e-3, "bfloat16": 2e-2}[dtype]


@cases(*DEVICES)
def test_random_functions(device):
    x, y, z = array(device=device), array((33,), "float16", device), array((40, 1), "bfloat16", device)
    for seed in range(12 if os.environ.get("NDOCK_TEST_SLICE") or "cuda" in device else 80):
        source = random_function(random.Random(seed))
        names = {"nd": nd}
        exec(source, names)
        try:
            same(names["f"], x, y, z, calls=2)
        except Exception:
            print("#", source.replace("\n", "\n# "))
            raise


def test_threads():
    f, wrong = nd.fuse(gelu), []
    x = [array((n,)) for n in (3, 50, 900, 7)]
    want = [bits(gelu(a)) for a in x]

    def crowd():
        for i in range(100):
            if bits(f(x[i % 4])) != want[i % 4]:
                wrong.append(i)
    threads = [threading.Thread(target=crowd) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong


if __name__ == "__main__":
    nd.set_default_device("cpu")
    main(globals())
