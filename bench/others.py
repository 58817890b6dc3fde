#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operations of the CPU that bench/cpu.py has no row of, beside NumPy, the worst first: indexing, writing by index, casts, joins, repeats,
running results, searches, comparisons with numbers, integer division, choice, bounds.

    bench/others.py [--threads 1] [--rounds 5] [--only WORD;WORD] [--size 1000000] [--worst 40] [--json FILE]

Figures are microseconds a call, the least of the rounds, contenders in turn; with one thread they are of the thread's processor time.
The results are compared before they are timed."""
import argparse
import json
import time

from shapes import begin_with_threads, measured

SECONDS = 0.004


def pair(np, nd, f, *operands):
    """The turns of f(module, *operands) in ndock and in NumPy; arrays are copied to ndock."""
    mine = [nd.asarray(x, copy=True) if isinstance(x, (np.ndarray, np.generic)) else x for x in operands]
    return (lambda: f(nd, *mine)), (lambda: f(np, *operands))


def writing(np, nd, rng, n):
    """Elements written by index, mask and slice."""
    x, few = rng.random(n, dtype="float32"), n // 10
    at, rows = rng.permutation(n)[:few], rng.permutation(n // 64)[: n // 640]
    values, mask = rng.random(few, dtype="float32"), rng.random(n) < 0.3

    def put(m, a, i, v):
        a[i] = v
        return a
    yield "x[index] = values", pair(np, nd, put, x, at, values)
    yield "x[mask] = 0", pair(np, nd, lambda m, a, k: put(m, a, k, 0), x, mask)
    yield "x[rows] = rows of 64", pair(np, nd, put, x[: n // 64 * 64].reshape(-1, 64), rows, rng.random((n // 640, 64), dtype="float32"))
    yield "x[::2] = 1", pair(np, nd, lambda m, a: put(m, a, slice(None, None, 2), 1), x)
    yield "x[10:-10] = y", pair(np, nd, lambda m, a, b: put(m, a, slice(10, -10), b), x, x[20:].copy())
    if hasattr(nd, "put_along_axis"):
        side = int(n ** 0.5)
        square = x[: side * side].reshape(side, side)
        order = np.argsort(square, axis=1)

        def along(m, a, i, v):
            m.put_along_axis(a, i, v, 1)
            return a
        yield "put_along_axis, axis 1", pair(np, nd, along, square, order, square[::-1].copy())


def reading(np, nd, rng, n):
    """Elements read by index and mask, and what finds them."""
    for dtype in ("float32", "float64", "uint8"):
        x = (rng.random(n) * 100).astype(dtype)
        at, mask = rng.integers(0, n, n), rng.random(n) < 0.3
        yield f"x[index] {dtype}", pair(np, nd, lambda m, a, i: a[i], x, at)
        yield f"take {dtype}", pair(np, nd, lambda m, a, i: m.take(a, i, axis=0), x, at)
        yield f"x[mask] {dtype}", pair(np, nd, lambda m, a, k: a[k], x, mask)
    side = int(n ** 0.5)
    square = rng.random((side, side), dtype="float32")
    order, rows = np.argsort(square, axis=1), rng.integers(0, side, side)
    for axis in (0, 1):
        yield f"take axis {axis}", pair(np, nd, lambda m, a, i, k=axis: m.take(a, i, axis=k), square, rows)
        yield f"take_along_axis, axis {axis}", pair(np, nd, lambda m, a, i, k=axis: m.take_along_axis(a, i, axis=k), square, order)
    yield "x[rows, columns]", pair(np, nd, lambda m, a, i, j: a[i, j], square, rng.integers(0, side, n), rng.integers(0, side, n))
    for share in (0.01, 0.5):
        yield f"nonzero, {share} true", pair(np, nd, lambda m, a: m.nonzero(a)[0], rng.random(n) < share)
    yield "nonzero float32", pair(np, nd, lambda m, a: m.nonzero(a)[0], (rng.random(n) < 0.5).astype("float32"))
    yield "nonzero of a square", pair(np, nd, lambda m, a: m.nonzero(a)[1], square < 0.5)
    yield "count_nonzero bool", pair(np, nd, lambda m, a: m.count_nonzero(a), rng.random(n) < 0.5)
    yield "count_nonzero float32", pair(np, nd, lambda m, a: m.count_nonzero(a), (rng.random(n) < 0.5).astype("float32"))


def searching(np, nd, rng, n):
    x, sorted_ = rng.random(n, dtype="float32"), np.sort(rng.random(n // 10, dtype="float32"))
    yield "searchsorted float32", pair(np, nd, lambda m, a, b: m.searchsorted(a, b), sorted_, x)
    yield "searchsorted in 100", pair(np, nd, lambda m, a, b: m.searchsorted(a, b), sorted_[:: n // 1000].copy(), x)
    yield "searchsorted of sorted", pair(np, nd, lambda m, a, b: m.searchsorted(a, b), sorted_, np.sort(x))
    yield "searchsorted int64", pair(np, nd, lambda m, a, b: m.searchsorted(a, b), np.sort(rng.integers(0, n, n // 10)), rng.integers(0, n, n))
    for dtype in ("uint8", "int8", "int16", "bool", "int32", "int64", "float64"):
        y = rng.integers(0, 2 if dtype == "bool" else 100, n).astype(dtype)
        yield f"sort {dtype}", pair(np, nd, lambda m, a: m.sort(a), y)
        yield f"argsort {dtype}", pair(np, nd, lambda m, a: m.argsort(a, stable=True) if m is nd else m.argsort(a, kind="stable"), y)
    yield "sort float64 at random", pair(np, nd, lambda m, a: m.sort(a), rng.random(n))
    yield "sort int64 at random", pair(np, nd, lambda m, a: m.sort(a), rng.integers(-2**60, 2**60, n))
    yield "partition to 100", pair(np, nd, lambda m, a: m.partition(a, 100)[100:101], x)  # the order of the others is free
    yield "unique int32", pair(np, nd, lambda m, a: m.sort(m.unique_values(a)),  # whose order is free
                                rng.integers(0, 1000, n).astype("int32"))
    yield "unique float32", pair(np, nd, lambda m, a: m.unique_values(a), x)
    yield "isin", pair(np, nd, lambda m, a, b: m.isin(a, b), rng.integers(0, n, n), rng.integers(0, n, 1000))
    rows = x[: n // 1000 * 1000].reshape(-1, 1000)
    yield "topk 10 of rows of 1000", pair(np, nd, lambda m, a: m.topk(a, 10)[0] if m is nd else -np.sort(np.partition(-a, 9, axis=1)[:, :10], axis=1), rows)
    yield "bincount", pair(np, nd, lambda m, a: m.bincount(a), rng.integers(0, 1000, n))


def casting(np, nd, rng, n):
    kinds = ("bool", "uint8", "int16", "int32", "int64", "float16", "float32", "float64")
    for a in kinds:
        x = (rng.random(n) * 100).astype(a)
        for b in kinds:
            if a != b:
                yield f"cast {a} to {b}", ((lambda y=nd.asarray(x, copy=True), t=getattr(nd, b): nd.astype(y, t)), (lambda x=x, b=b: x.astype(b)))


def joining(np, nd, rng, n):
    side = int(n ** 0.5)
    a, b = rng.random((side, side), dtype="float32"), rng.random((side, side), dtype="float32")
    small = [rng.random((side, 3), dtype="float32") for _ in range(8)]
    for axis in (0, 1):
        yield f"concatenate axis {axis}", pair(np, nd, lambda m, x, y, k=axis: (m.concat if m is nd else m.concatenate)([x, y], axis=k), a, b)
    for axis in (0, 1, 2):
        yield f"stack axis {axis}", pair(np, nd, lambda m, x, y, k=axis: m.stack([x, y], axis=k), a, b)
    yield "concatenate 8 of 3 columns", pair(np, nd, lambda m, *x: (m.concat if m is nd else m.concatenate)(list(x), axis=1), *small)
    for axis in (0, 1):
        yield f"repeat 3, axis {axis}", pair(np, nd, lambda m, x, k=axis: m.repeat(x, 3, axis=k), a)
    yield "repeat by counts", pair(np, nd, lambda m, x, c: m.repeat(x, c, axis=0), a[:, 0].copy(), rng.integers(0, 20, side))
    yield "tile (2, 2)", pair(np, nd, lambda m, x: m.tile(x, (2, 2)), a)
    yield "roll", pair(np, nd, lambda m, x: m.roll(x, 7, axis=1), a)
    yield "flip axis 1", pair(np, nd, lambda m, x: m.flip(x, axis=1) + 0 if m is nd else m.flip(x, axis=1) + np.float32(0), a)
    yield "pad", pair(np, nd, lambda m, x: m.pad(x, 3) if m is np else m.pad(x, ((3, 3), (3, 3))), a)
    yield "tril", pair(np, nd, lambda m, x: m.tril(x), a)
    yield "eye", pair(np, nd, lambda m: m.eye(side))
    yield "arange", pair(np, nd, lambda m: m.arange(n))
    yield "linspace", pair(np, nd, lambda m: m.linspace(0, 1, n))
    yield "full", pair(np, nd, lambda m: m.full((n,), 3.5))
    yield "diff", pair(np, nd, lambda m, x: m.diff(x, axis=1), a)
    yield "meshgrid", pair(np, nd, lambda m, x, y: (m.meshgrid(x, y)[0] + m.meshgrid(x, y)[1]), a[0].copy(), b[0].copy())


def running(np, nd, rng, n):
    side = int(n ** 0.5)
    for dtype in ("float32", "float64", "int32", "int64", "bool"):
        x = rng.integers(0, 2, (side, side)).astype(dtype)
        for axis in (0, 1):
            yield f"cumulative_sum {dtype} axis {axis}", pair(np, nd, lambda m, a, k=axis: m.cumulative_sum(a, axis=k), x)
    x = rng.random((side, side), dtype="float32") + 0.5
    for axis in (0, 1):
        yield f"cumulative_prod axis {axis}", pair(np, nd, lambda m, a, k=axis: m.cumulative_prod(a, axis=k), x)
        yield f"cummax axis {axis}", pair(np, nd, lambda m, a, k=axis: (m.cummax(a, axis=k) if m is nd else m.maximum.accumulate(a, axis=k)), x)


def choosing(np, nd, rng, n):
    for dtype in ("float32", "float64", "int32", "int64", "uint8", "int16"):
        x = (rng.random(n) * 100 + 1).astype(dtype)
        y, k = x[::-1].copy(), rng.random(n) < 0.5
        for word, f in (("x < 50", lambda m, a: a < 50), ("x == 50", lambda m, a: a == 50)):
            yield f"{word} {dtype}", pair(np, nd, f, x)
        yield f"x >= y {dtype}", pair(np, nd, lambda m, a, b: a >= b, x, y)
        yield f"where {dtype}", pair(np, nd, lambda m, c, a, b: m.where(c, a, b), k, x, y)
        yield f"where with a number {dtype}", pair(np, nd, lambda m, c, a: m.where(c, a, 0), k, x)
        yield f"clip {dtype}", pair(np, nd, lambda m, a: m.clip(a, 20, 80), x)
        yield f"maximum {dtype}", pair(np, nd, lambda m, a, b: m.maximum(a, b), x, y)
        yield f"abs {dtype}", pair(np, nd, lambda m, a: abs(a), x)
        yield f"x // 7 {dtype}", pair(np, nd, lambda m, a: a // 7, x)
        yield f"x % 7 {dtype}", pair(np, nd, lambda m, a: a % 7, x)
        yield f"x // y {dtype}", pair(np, nd, lambda m, a, b: a // b, x, y)
        yield f"x % y {dtype}", pair(np, nd, lambda m, a, b: a % b, x, y)
        yield f"x * 3 {dtype}", pair(np, nd, lambda m, a: a * 3, x)
        yield f"x ** 2 {dtype}", pair(np, nd, lambda m, a: a ** 2, x)
        yield f"x += y {dtype}", pair(np, nd, lambda m, a, b: m.add(a, b, out=a), x // 4, y // 4)
    k = rng.random(n) < 0.5
    yield "mask & mask", pair(np, nd, lambda m, a, b: a & b, k, k[::-1].copy())
    yield "~mask", pair(np, nd, lambda m, a: ~a, k)
    f, g = rng.random(n, dtype="float32") + 0.1, rng.random(n, dtype="float32")
    for name in ("round", "floor", "trunc", "sign", "isnan", "isfinite", "square", "reciprocal", "log1p", "expm1", "log2", "exp2", "cos", "tan",
                 "arctan", "arcsin", "sinh", "cosh", "logical_not", "signbit"):
        def one(m, a, name=name):
            return getattr(m, name)(a)
        if hasattr(nd, name):
            yield f"{name} float32", pair(np, nd, one, f)
            if name in ("cos", "tan", "arctan", "log1p", "expm1", "log2", "exp2"):
                yield f"{name} float64", pair(np, nd, one, f.astype("float64"))
    for name in ("sin", "log", "tanh", "sqrt"):
        yield f"{name} float64", pair(np, nd, lambda m, a, name=name: getattr(m, name)(a), f.astype("float64"))
    for name in ("hypot", "arctan2", "copysign", "logaddexp", "remainder", "floor_divide", "fmod", "nextafter"):
        if hasattr(nd, name):
            yield f"{name} float32", pair(np, nd, lambda m, a, b, name=name: getattr(m, name)(a, b), g, f)
    yield "pow float64", pair(np, nd, lambda m, a, b: a ** b, f.astype("float64"), g.astype("float64"))
    c = (f + 1j * g).astype("complex64")
    yield "complex64 * complex64", pair(np, nd, lambda m, a, b: a * b, c, c[::-1].copy())
    yield "abs complex64", pair(np, nd, lambda m, a: abs(a), c)
    yield "shift left", pair(np, nd, lambda m, a: a << 3, rng.integers(0, 100, n).astype("int32"))


GROUPS = (writing, reading, searching, casting, joining, running, choosing)


def differ(np, mine, theirs):
    got, want = np.asarray(mine()), np.asarray(theirs())
    if got.shape != want.shape:
        return True
    wide = "complex128" if "c" in (got.dtype.kind, want.dtype.kind) else "float64"
    return not np.allclose(got.astype(wide), want.astype(wide), rtol=2e-3, atol=1e-5, equal_nan=True)


def run(o):
    import numpy as np
    import ndock as nd
    nd.set_default_device("cpu")
    clock = time.thread_time if o.threads == 1 else time.perf_counter
    words, found = o.only.split(";"), []
    for group in GROUPS:
        if o.groups and group.__name__ not in o.groups.split(","):
            continue
        for row in group(np, nd, np.random.default_rng(1), o.size):
            name, turns = row[0], row[1] if len(row) == 2 else row[1:]
            if not any(w in name for w in words):
                continue
            try:
                wrong = differ(np, *turns)
                a, b = measured(turns, o.rounds, clock, SECONDS)
            except Exception as error:  # the others are measured all the same
                print(f"{name}: {type(error).__name__}: {error}")
                continue
            found.append({"row": name, "ndock": a * 1e6, "numpy": b * 1e6, "ratio": b / a, "wrong": wrong})
    for r in sorted(found, key=lambda r: r["ratio"])[: o.worst]:
        print(f"{r['row']:36} ndock {r['ndock']:10.2f} numpy {r['numpy']:10.2f} us  {r['ratio']:6.2f} x{'  WRONG' if r['wrong'] else ''}")
    print(f"# {len(found)} rows, {sum(r['ratio'] < 1 for r in found)} behind NumPy, {sum(r['wrong'] for r in found)} differ")
    if o.json:
        with open(o.json, "w") as f:
            json.dump(found, f, indent=1)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--threads", type=int, default=1)
    p.add_argument("--rounds", type=int, default=5)
    p.add_argument("--only", default="", help="rows whose name has one of these words, separated by semicolons")
    p.add_argument("--groups", default="", help="only these of " + ", ".join(g.__name__ for g in GROUPS))
    p.add_argument("--size", type=int, default=1000000)
    p.add_argument("--worst", type=int, default=40)
    p.add_argument("--json")
    o = p.parse_args()
    begin_with_threads(o.threads)
    run(o)


if __name__ == "__main__":
    main()
