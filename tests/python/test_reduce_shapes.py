# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reductions of few elements a result, of short rows and of views that go backwards, beside sums of Python's own numbers."""
import itertools
import math
import random

import ndock as nd
from tap import cases, main

nd.set_default_device("cpu")
SHAPES = (2, 1500), (3, 1030), (5, 77), (1500, 2), (70, 3, 2), (3, 2, 70), (9, 33), (4, 127), (20, 50), (2, 200, 2), (17, 1)


def values(shape, dtype):
    rng = random.Random(str(shape))
    pick = (lambda: rng.randrange(-50, 50)) if dtype == "int32" else (lambda: rng.random() < 0.3) if dtype == "bool" else (
        lambda: rng.randrange(-500, 500) / 8)
    return [pick() for _ in range(math.prod(shape))]


def columns(flat, shape, axes, back):
    """Lists of the elements of each result, in C order."""
    strides = [math.prod(shape[d + 1:]) for d in range(len(shape))]

    def at(i):
        return flat[sum((n - 1 - j if back else j) * s for j, n, s in zip(i, shape, strides))]
    kept = [d for d in range(len(shape)) if d not in axes]
    for outer in itertools.product(*(range(shape[d]) for d in kept)):
        rows = []
        for inner in itertools.product(*(range(shape[d]) for d in axes)):
            index = [0] * len(shape)
            for d, i in zip(kept + list(axes), outer + inner):
                index[d] = i
            rows.append(at(index))
        yield rows


def variance(x):
    mean = math.fsum(x) / len(x)
    return math.fsum((v - mean) ** 2 for v in x) / len(x)


WANTED = {"sum": math.fsum, "mean": lambda x: math.fsum(x) / len(x), "max": max, "min": min, "var": variance, "prod": math.prod,
          "any": any, "all": all, "argmax": lambda x: x.index(max(x)), "argmin": lambda x: x.index(min(x))}
OPS = {"float32": list(WANTED), "float64": ["sum", "mean", "max", "var", "argmax"], "float16": ["sum", "mean", "max"],
       "int32": ["sum", "max", "min", "argmax"], "bool": ["any", "all", "sum"]}


def wrong(dtype, shape, back):
    """The operations whose result is not what Python's numbers give."""
    flat, found = values(shape, dtype), []
    x = nd.reshape(nd.asarray(flat, dtype=getattr(nd, dtype)), shape)
    if back:
        x = x[(slice(None, None, -1),) * len(shape)]
    for axes in [(d,) for d in range(len(shape))] + [(0, len(shape) - 1)] * (len(shape) == 3):
        lists = list(columns(flat, shape, axes, back))
        for op in OPS[dtype]:
            if len(axes) > 1 and op.startswith("arg") or op == "prod" and len(lists[0]) > 20:
                continue
            got = nd.reshape(getattr(nd, op)(x, axis=axes[0] if len(axes) == 1 else axes), (-1,)).tolist()
            bound = 2e-3 if dtype == "float16" else 1e-6
            want = [WANTED[op](v) for v in lists]
            if len(got) != len(want) or not all(abs(g - w) <= bound * max(1, abs(w)) for g, w in zip(got, want)):
                found.append(f"{op} over {axes}")
    return found


@cases(*itertools.product(OPS, (False, True)))
def test_shapes(dtype, back):
    failures = [f"{shape}: {ops}" for shape in SHAPES if (ops := wrong(dtype, shape, back))]
    assert not failures, "; ".join(failures)


def test_specials():
    zeros = nd.full((2, 1100), -0.0, dtype=nd.float32)
    assert all(math.copysign(1, v) == -1 for v in nd.sum(zeros, axis=0).tolist())
    holes = nd.asarray([[1.0, math.nan, math.inf, -math.inf] * 300, [1.0, 2.0, math.inf, math.inf] * 300], dtype=nd.float32)
    got = nd.sum(holes, axis=0).tolist()[:4]
    assert got[0] == 2 and math.isnan(got[1]) and got[2] == math.inf and math.isnan(got[3]), got


def same_zero(got, want):
    return math.isnan(got) and math.isnan(want) or got == want and math.copysign(1, got) == math.copysign(1, want)


def test_extremes_of_long_runs():
    """Zeros of both signs and NaN anywhere, in runs and rows that do and do not fill the steps of the loops."""
    rng = random.Random(7)
    for dtype, n in itertools.product((nd.float32, nd.float64), (127, 130, 257, 4099)):
        below = [-0.0 if rng.random() < 0.5 else -rng.random() for _ in range(n)]
        for at, v in ((rng.randrange(n), 0.0), (n - 1, math.nan), (rng.randrange(n), 2.0), (0, -1.0)):
            x = below[:at] + [v] + below[at + 1:]
            want = v if v != -1.0 else -0.0
            where = next(i for i, e in enumerate(x) if e == want or e != e)
            for sign, extreme, position in ((1, nd.max, nd.argmax), (-1, nd.min, nd.argmin)):
                flat = nd.asarray([sign * e for e in x], dtype=dtype)
                columns = nd.asarray(nd.stack([flat] * 17, axis=1), copy=True)
                assert same_zero(float(extreme(flat)), sign * want) and int(position(flat)) == where, (dtype, n, at)
                assert same_zero(float(extreme(columns, axis=0)[16]), sign * want), (dtype, n, at)
                assert int(position(columns, axis=0)[3]) == where, (dtype, n, at)


def test_products_out_of_range():
    assert nd.prod(nd.full((3, 1100), 1e30, dtype=nd.float32), axis=0).tolist() == [math.inf] * 1100
    some = nd.asarray([[1e30] * 1100, [1e-30] * 1100, [1e30] * 1100, [1e-30] * 1100], dtype=nd.float32)
    assert all(abs(v - 1) < 1e-6 for v in nd.prod(some, axis=0).tolist())
    subnormal = nd.asarray([[1e-200] * 1100, [1e-115] * 1100], dtype=nd.float64)
    assert nd.prod(subnormal, axis=0).tolist() == [1e-200 * 1e-115] * 1100


def lanes_sum(x):
    """The sum of a fold in the order that reduce/lanes_tmpl.h promises at every SIMD level: lanes, then halves."""
    width = 16 if len(x) < 128 else 64
    while width // 2 >= len(x) and width > 2:
        width //= 2
    lanes = [-0.0] * width
    for i, v in enumerate(x):
        lanes[i % width] += v
    while len(lanes) > 1:
        half = len(lanes) // 2
        lanes = [a + b for a, b in zip(lanes[:half], lanes[half:])]
    return lanes[0]


def test_order_of_sums():
    """Numbers of many sizes, of which the large ones cancel: what is left shows who was added to whom."""
    rng, seen = random.Random(7), 0
    for n in [*range(1, 330, 3), 1000, 4095, 4096, 4097, 4159, 8200, 131073, 300001]:
        x = [math.ldexp(rng.randrange(-(1 << 24), 1 << 24), rng.randrange(0, 60)) for _ in range(n)]
        chunks = []
        for chunk in range(0, n, 1 << 17):  # of long sums, which are joined in order
            chunks.append(-0.0)
            for at in range(chunk, min(n, chunk + (1 << 17)), 4096):
                chunks[-1] += lanes_sum(x[at:min(n, at + 4096)])
        total = chunks[0]
        for part in chunks[1:]:
            total += part
        seen += total != math.fsum(x)
        assert nd.sum(nd.asarray(x, dtype=nd.float32)).item() == nd.asarray(total, dtype=nd.float32).item(), n
    assert seen > 50


if __name__ == "__main__":
    main(globals())
