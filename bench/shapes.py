#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Where the CPU falls off a cliff: reductions, scans, sorts, copies and casts of many shapes, layouts and dtypes beside NumPy.

    bench/shapes.py [--threads 1] [--rounds 3] [--only WORD;WORD] [--size 131072] [--worst 40] [--json FILE]

Rows are printed from the worst on: NumPy's time over ndock's, and nanoseconds an element over the median of those of the operation and
dtype ("cliff"), which is about 1 where no shape is worse than others. Figures are the least of the rounds, contenders in turn; with one
thread they are of the thread's processor time, for others may use the machine too."""
import argparse
import json
import os
import statistics
import sys
import time

SECONDS = 0.0006
REDUCTIONS = "sum prod max min argmax mean var any all".split()
DTYPES = {"sum": "float32 float64 int32 int64 uint8 float16 bool complex64", "prod": "float32 int64", "max": "float32 float64 int32 uint8 float16",
          "min": "float32", "argmax": "float32 int64", "mean": "float32 int32", "var": "float32 float64", "any": "bool float32", "all": "bool",
          "cumulative_sum": "float32 int64", "sort": "float32 int32", "argsort": "float32", "copy": "float32 uint8 float64 complex64",
          "cast": "float32>float64 float32>int32 int32>float32 float64>float32 uint8>float32 float32>uint8 float32>float16 float16>float32 int64>float64",
          "add": "float32", "add row": "float32", "add column": "float32"}


def shapes(n):
    """(shape, axes) whose elements are about n."""
    for few in (2, 3, 5, 16, 33):
        yield (few, n // few), ((0,), (1,))
        yield (n // few, few), ((0,), (1,))
    side, cube = int(n ** 0.5), int(n ** (1 / 3))
    yield (n,), ((0,),)
    yield (side, side), ((0,), (1,), (0, 1))
    yield (cube, cube, cube), ((0,), (1,), (2,), (0, 2), (0, 1), (1, 2))
    yield (2, n // 4, 2), ((1,), (0, 2))
    yield (n // 6, 3, 2), ((1,), (0, 1), (0, 2))
    yield (4, n // 64, 16), ((1,), (0, 2), (0, 1))
    yield (3, 2, n // 6), ((1,), (0, 1), (0, 2))


LAYOUTS = {
    "C": lambda np, make, shape: make(shape),
    "F": lambda np, make, shape: make(shape[::-1]).transpose(),
    "step": lambda np, make, shape: make(shape[:-1] + (2 * shape[-1],))[..., ::2],
    "rows": lambda np, make, shape: make((2 * shape[0],) + shape[1:])[::2],
    "back": lambda np, make, shape: make(shape)[(slice(None, None, -1),) * len(shape)],
    "odd": lambda np, make, shape: make(tuple(s + 1 for s in shape))[(slice(1, None),) * len(shape)],
}


def rows(np, nd, size):
    """(operation, dtype, layout, shape, axes, elements, ndock's call, NumPy's)"""
    rng = np.random.default_rng(1)

    def made(dtype):
        def make(shape):
            x = rng.integers(0, 2, shape) if dtype == "bool" else rng.random(shape) * (4 if dtype[0] in "fc" else 100)
            return x.astype(dtype)
        return make

    def twice(make, layout, shape):
        x = LAYOUTS[layout](np, make, shape)
        base = x if x.base is None else x.base
        mine = nd.asarray(base, copy=True)
        if layout == "F":
            return x, nd.permute_dims(mine, tuple(range(x.ndim))[::-1])
        key = {"step": (Ellipsis, slice(None, None, 2)), "rows": slice(None, None, 2), "back": (slice(None, None, -1),) * x.ndim,
               "odd": (slice(1, None),) * x.ndim}.get(layout)
        return x, mine if key is None else mine[key]

    for name, dtypes in DTYPES.items():
        for dtype in dtypes.split():
            source, _, target = dtype.partition(">")
            for layout in LAYOUTS:
                for shape, every in shapes(size):
                    x, y = twice(made(source), layout, shape)
                    axes = every
                    if name in ("copy", "cast", "add", "add row", "add column"):
                        axes = (None,)
                    for axis in axes:
                        if axis is not None and len(axis) > 1 and name in ("argmax", "cumulative_sum", "sort", "argsort"):
                            continue
                        calls = pair(np, nd, name, x, y, axis, target)
                        if calls:
                            yield (name, dtype, layout, shape, axis, x.size) + calls


def pair(np, nd, name, x, y, axis, target):
    if name in REDUCTIONS:
        k = axis if len(axis) > 1 else axis[0]
        return (lambda: getattr(nd, name)(y, axis=k)), (lambda: getattr(np, name)(x, axis=k))
    if name == "cumulative_sum":
        return (lambda: nd.cumulative_sum(y, axis=axis[0])), (lambda: np.cumsum(x, axis=axis[0]))
    if name in ("sort", "argsort"):
        kind = "stable" if name == "argsort" else None
        return (lambda: getattr(nd, name)(y, axis=axis[0])), (lambda: getattr(np, name)(x, axis=axis[0], kind=kind))
    if name == "copy":
        return (lambda: nd.asarray(y, copy=True)), (lambda: np.array(x, order="C", copy=True))
    if name == "cast":
        mine = getattr(nd, target)
        return (lambda: nd.astype(y, mine)), (lambda: x.astype(target, order="C"))
    if name == "add":
        return (lambda: y + y), (lambda: x + x)
    if x.ndim < 2:
        return None
    key = (slice(0, 1), Ellipsis) if name == "add row" else (Ellipsis, slice(0, 1))
    u, v = x[key], y[key]
    return (lambda: y + v), (lambda: x + u)


def measured(turns, rounds, clock, seconds=SECONDS):
    """The least seconds of a call of each, which have their turns one after the other."""
    calls = []
    for fn in turns:
        fn()
        start = clock()
        fn()
        calls.append(max(1, int(seconds / max(clock() - start, 1e-7))))
    best = [float("inf")] * len(turns)
    for _ in range(rounds):
        for i, fn in enumerate(turns):
            start = clock()
            for _ in range(calls[i]):
                fn()
            best[i] = min(best[i], (clock() - start) / calls[i])
    return best


def run(o):
    import numpy as np
    import ndock as nd
    nd.set_default_device("cpu")
    clock = time.thread_time if o.threads == 1 else time.perf_counter
    words, found = o.only.split(";"), []
    for name, dtype, layout, shape, axis, n, ours, theirs in rows(np, nd, o.size):
        label = f"{name} {dtype} {layout} {'x'.join(map(str, shape))}" + ("" if axis is None else f" axis {','.join(map(str, axis))}")
        if any(w in label for w in words):
            a, b = measured((ours, theirs), o.rounds, clock)
            found.append({"row": label, "of": f"{name} {dtype}", "ndock": a / n * 1e9, "numpy": b / n * 1e9})
    usual = {of: statistics.median(r["ndock"] for r in found if r["of"] == of) for of in {r["of"] for r in found}}
    for r in found:
        r["ratio"], r["cliff"] = r["numpy"] / r["ndock"], r["ndock"] / usual[r["of"]]
    print(f"# {o.threads} threads, {len(found)} rows, NumPy {np.__version__}; ns an element")
    for title, key in (("NumPy's time over ndock's", lambda r: r["ratio"]), ("time over the median of the operation", lambda r: -r["cliff"])):
        print("#", title)
        for r in sorted(found, key=key)[:o.worst]:
            print(f"{r['row']:58} ndock {r['ndock']:8.3f} numpy {r['numpy']:8.3f}  {r['ratio']:6.2f} x  cliff {r['cliff']:6.1f}")
    if o.json:
        with open(o.json, "w") as f:
            json.dump(found, f, indent=1)


def begin_with_threads(n):
    """Starts the program anew where the libraries, which read it when they start, were told another number."""
    if os.environ.get("NDOCK_NUM_THREADS") != str(n):
        env = {**os.environ, **dict.fromkeys(("NDOCK_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), str(n))}
        os.execve(sys.executable, [sys.executable] + sys.argv, env)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--threads", type=int, default=1)
    p.add_argument("--rounds", type=int, default=3)
    p.add_argument("--only", default="", help="rows whose text has one of these words, separated by semicolons")
    p.add_argument("--size", type=int, default=1 << 17)
    p.add_argument("--worst", type=int, default=40)
    p.add_argument("--json")
    o = p.parse_args()
    begin_with_threads(o.threads)
    run(o)


if __name__ == "__main__":
    main()
