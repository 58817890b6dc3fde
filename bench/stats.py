#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Statistics, searches and einsum of the CPU beside NumPy, in one run.

    bench/stats.py [--threads 1] [--rounds 7] [--sizes 1000,100000,16777216] [--only WORD] [--processor]

A figure is the best of the rounds, in microseconds a call, of as many calls as take about 10 ms, the two taking turns: on a machine
that others use the best is what the machine can do; with --processor it is the calling thread's processor time, which leaves out
waits for others (one thread alone then). ratio: NumPy's time over ndock's, above 1 where ndock is faster. floor: what
reading the operands once takes, as the slowest-to-beat bound: their bytes at the speed of ndock's own max() of an f64 array that is in
no cache. --threads: ndock's; NumPy has one here, but for the BLAS of the rows called cov, corrcoef and einsum, which has as many."""
import argparse
import os
import time

SECONDS = 0.01
CLOCK = time.perf_counter


def timed(fn, calls):
    start = CLOCK()
    for _ in range(calls):
        fn()
    return (CLOCK() - start) / calls


def best_of(turns, rounds):
    calls = [max(1, int(SECONDS / max(timed(fn, 1), 1e-7))) for fn in turns]
    best = [1e9] * len(turns)
    for _ in range(rounds):
        for i, fn in enumerate(turns):
            best[i] = min(best[i], timed(fn, calls[i]))
    return best


def data(numpy, rng, dtype, n):
    if dtype == "int64":
        return rng.integers(0, 1000, n)
    return rng.normal(size=n).astype(dtype)


def of_vectors(numpy, nd, rng, sizes):
    """label, operands' bytes, ours, NumPy's"""
    def pair(label, f, *arrays):
        ours = [nd.asarray(x) for x in arrays]
        return label, sum(x.nbytes for x in arrays), lambda: f(nd, *ours), lambda: f(numpy, *arrays)
    for n in sizes:
        for dtype in ("float32", "float64", "int64"):
            x = data(numpy, rng, dtype, n)
            tag = f"{dtype} {n}"
            edges = numpy.sort(data(numpy, rng, dtype, 64))
            yield pair(f"median {tag}", lambda m, a: m.median(a), x)
            yield pair(f"quantile of 3 {tag}", lambda m, a: m.quantile(a, [0.1, 0.5, 0.9]), x)
            yield pair(f"percentile {tag}", lambda m, a: m.percentile(a, 75), x)
            yield pair(f"partition {tag}", lambda m, a, k=n // 3: m.partition(a, k), x)
            yield pair(f"argpartition {tag}", lambda m, a, k=n // 3: m.argpartition(a, k), x)
            yield pair(f"histogram {tag}", lambda m, a: m.histogram(a, 50), x)
            yield pair(f"histogram range {tag}", lambda m, a: m.histogram(a, 50, (-2, 2)), x)
            yield pair(f"histogram edges {tag}", lambda m, a, b: m.histogram(a, b), x, edges)
            yield pair(f"searchsorted {tag}", lambda m, a, b: m.searchsorted(b, a), x, edges)
            yield pair(f"digitize {tag}", lambda m, a, b: m.digitize(a, b), x, edges)
            yield pair(f"unique {tag}", lambda m, a: m.unique(a) if m is numpy else m.unique_values(a), x)
        small, wide, weights = rng.integers(0, 100, n), rng.integers(0, 1 << 20, n), rng.random(n)
        yield pair(f"bincount to 100 int64 {n}", lambda m, a: m.bincount(a), small)
        yield pair(f"bincount to 100 int32 {n}", lambda m, a: m.bincount(a), small.astype("int32"))
        yield pair(f"bincount to 2^20 int64 {n}", lambda m, a: m.bincount(a), wide)
        yield pair(f"bincount weighted {n}", lambda m, a, w: m.bincount(a, w), small, weights)
        xy = rng.normal(size=(2, n))
        yield pair(f"histogram2d float64 {n}", lambda m, a, b: m.histogram2d(a, b, 20), xy[0].copy(), xy[1].copy())
        rows = rng.normal(size=(10, max(n // 10, 1)))
        yield pair(f"cov float64 10 x {n // 10}", lambda m, a: m.cov(a), rows)
        yield pair(f"corrcoef float64 10 x {n // 10}", lambda m, a: m.corrcoef(a), rows)
    for shape in ((100, 1000), (1000, 1000), (30000, 30)):
        for dtype in ("float32", "float64", "int64"):
            x = data(numpy, rng, dtype, shape[0] * shape[1]).reshape(shape)
            for axis in (0, 1):
                tag = f"{dtype} {shape[0]} x {shape[1]} axis {axis}"
                yield pair(f"median {tag}", lambda m, a, d=axis: m.median(a, axis=d), x)
                yield pair(f"quantile {tag}", lambda m, a, d=axis: m.quantile(a, 0.25, axis=d), x)
                yield pair(f"partition {tag}", lambda m, a, d=axis: m.partition(a, a.shape[d] // 2, axis=d), x)
    yield from of_einsum(pair, rng)


def of_einsum(pair, rng):
    cases = [("i,i->", (1000,), (1000,)), ("i,i->", (1 << 20,), (1 << 20,)), ("ij,ij->", (100, 100), (100, 100)),
             ("ij,ij->", (2000, 2000), (2000, 2000)), ("ij,jk->ik", (8, 8), (8, 8)), ("ij,jk->ik", (100, 100), (100, 100)),
             ("ij,jk->ik", (500, 500), (500, 500)), ("ij,j->i", (1000, 1000), (1000,)), ("ij,kj->ik", (200, 300), (200, 300)),
             ("bij,bjk->bik", (64, 32, 32), (64, 32, 32)), ("ij,ik->jk", (1000, 50), (1000, 50)), ("ijk,k->ij", (100, 100, 100), (100,)),
             ("i,j->ij", (1000,), (1000,)), ("ij,ij->ij", (1000, 1000), (1000, 1000)), ("ii->i", (1000, 1000)), ("ii->", (1000, 1000)),
             ("ij->ji", (1000, 1000)), ("ij->j", (1000, 1000)), ("ij->i", (1000, 1000)), ("ij->", (1000, 1000)),
             ("ij,jk,kl->il", (30, 30), (30, 30), (30, 30)), ("bhqd,bhkd->bhqk", (2, 4, 64, 32), (2, 4, 64, 32))]
    for dtype in ("float32", "float64"):
        for spec, *shapes in cases:
            arrays = [rng.normal(size=s).astype(dtype) for s in shapes]
            sizes = " ".join("x".join(map(str, s)) for s in shapes)
            yield pair(f"einsum {spec} {dtype} {sizes}", lambda m, *a, s=spec: m.einsum(s, *a), *arrays)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--threads", type=int, default=1)
    p.add_argument("--rounds", type=int, default=7)
    p.add_argument("--sizes", default="1000,100000,16777216")
    p.add_argument("--only", default="", help="rows whose label has one of these words, separated by semicolons")
    p.add_argument("--processor", action="store_true")
    o = p.parse_args()
    if o.processor:
        global CLOCK
        CLOCK = time.thread_time
    for name in ("NDOCK_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):  # read when the libraries start
        os.environ[name] = str(o.threads)
    import numpy
    import ndock as nd
    nd.set_default_device("cpu")
    rng = numpy.random.default_rng(1)
    large = nd.ones(1 << 24, dtype="float64")
    bandwidth = large.nbytes / best_of([lambda: nd.max(large)], 5)[0]
    print(f"# {o.threads} threads, NumPy {numpy.__version__}, reading {bandwidth / 1e9:.1f} GB/s; microseconds")
    words = o.only.split(";")
    for label, nbytes, ours, theirs in of_vectors(numpy, nd, rng, [int(n) for n in o.sizes.split(",")]):
        if not any(word in label for word in words):
            continue
        t = best_of([ours, theirs], o.rounds)
        print(f"{label:52} ndock {t[0] * 1e6:10.1f}   numpy {t[1] * 1e6:10.1f}   ratio {t[1] / t[0]:6.2f}   "
              f"floor {nbytes / bandwidth * 1e6:9.1f}", flush=True)


if __name__ == "__main__":
    main()
