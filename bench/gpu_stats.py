#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Statistics of a GPU: ndock from Python beside PyTorch and CuPy, in one run.

    bench/gpu_stats.py [--device cuda:0] [--log2 24] [--only WORD;WORD] [--rounds 5] [--limit 40]

A figure is the least of the rounds, in milliseconds a call, of as many calls as take about 8 ms, between two waits for the whole
device; the contenders of a row take turns on the same numbers. In brackets: a peer's time over ndock's (above 1, ndock is faster). Each
result of ndock is compared with NumPy's. Rows of which one contender fails say so, and the run goes on."""
import argparse
import time

import ndock as nd
import numpy as np
from gpu_timing import Waiting, peer, repeats, shown, timed

SLOW = 0.4  # seconds: what takes longer is run no more
TOO_SLOW = 3  # seconds: not even a second time


def cases(n, rng):
    """label, NumPy's answer, and a function of each package's name and arrays, the arrays"""
    x = rng.standard_normal(n, dtype=np.float32)
    wide = x[: n // 2].astype(np.float64)
    counted = rng.integers(0, 1000, n)
    rows = x.reshape(-1, 4096)
    third = n // 3

    def histogram(m, a):
        return m.histc(a, 100, -3, 3) if m.__name__ == "torch" else m.histogram(a, 100, (-3, 3))[0]

    def histogram_all(m, a):
        return m.histc(a, 100) if m.__name__ == "torch" else m.histogram(a, 100)[0]

    def kth(m, a):
        return m.kthvalue(a, third + 1).values if m.__name__ == "torch" else m.partition(a, third)[third]

    def argkth(m, a):
        return m.kthvalue(a, third + 1).indices if m.__name__ == "torch" else m.argpartition(a, third)

    def rowwise(m, a):
        return m.median(a, dim=1).values if m.__name__ == "torch" else m.median(a, axis=1)

    def quantile(m, a):
        q = [0.1, 0.9]
        return m.quantile(a, m.tensor(q, device=a.device, dtype=a.dtype)) if m.__name__ == "torch" else m.quantile(a, q if m is nd else m.asarray(q))

    yield f"histogram of 100, range, {n}", lambda r: np.array_equal(r, np.histogram(x, 100, (-3, 3))[0]), histogram, x
    yield f"histogram of 100, {n}", lambda r: np.array_equal(r, np.histogram(x, 100)[0]), histogram_all, x
    yield f"bincount into 1000, {n}", lambda r: np.array_equal(r, np.bincount(counted)), lambda m, a: m.bincount(a), counted
    yield f"bincount into 1, {n}", lambda r: np.array_equal(r, [n]), lambda m, a: m.bincount(a), np.zeros(n, np.int64)
    yield f"median f32 {n}", lambda r: r == np.median(x), lambda m, a: m.median(a), x
    yield f"median f64 {n // 2}", lambda r: r == np.median(wide), lambda m, a: m.median(a), wide
    yield f"kth value f32 {n}", lambda r: r == np.partition(x, third)[third], kth, x
    yield f"kth position f32 {n}", lambda r: len(r) == n and x[r[third]] == np.partition(x, third)[third], argkth, x
    yield f"median of rows f32 {rows.shape[0]} x 4096", lambda r: np.array_equal(r, np.median(rows, axis=1)), rowwise, rows
    yield f"quantile of 2 f32 {n // 4}", lambda r: np.allclose(r, np.quantile(x[: n // 4], [0.1, 0.9]), rtol=1e-5), quantile, x[: n // 4]


def contenders(f, a, args, torch, cupy):
    made = {"ndock": lambda: (lambda on: lambda: f(nd, on))(nd.asarray(a, device=args.device))}
    if torch:
        made["torch"] = lambda: (lambda on: lambda: f(torch, on))(torch.from_numpy(a).to(f"cuda:{args.device.split(':')[1]}"))
    if cupy:
        made["cupy"] = lambda: (lambda on: lambda: f(cupy, on))(cupy.asarray(a))
    return made


def row(right, f, a, args, wait, torch, cupy):
    best, calls, notes = {}, {}, []
    for who, make in contenders(f, a, args, torch, cupy).items():
        try:
            calls[who] = make()
            best[who] = timed(calls[who], wait)
            if best[who] < TOO_SLOW:  # the first call compiles, or opens libraries
                best[who] = timed(calls[who], wait)
            if who == "ndock":
                found = np.asarray(calls[who]().to_device("cpu"))
                if not right(found):
                    alone = np.asarray(f(nd, nd.asarray(a, device="cpu")))
                    notes.append(f"differs from NumPy, {np.sum(found != alone)} of {alone.size} from ndock's CPU")
        except Exception as error:
            notes.append(f"{who}: {type(error).__name__}: {error}".splitlines()[0][:120])
            calls.pop(who, None)
            best.pop(who, None)
    for _ in range(args.rounds - 1):
        for who, fn in calls.items():
            if best[who] < SLOW:
                best[who] = min(best[who], timed(fn, wait, repeats(best[who])))
    return best, notes


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--log2", type=int, default=24, help="elements of a row's array")
    parser.add_argument("--only", default="", help="rows whose label has one of these words, separated by semicolons")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--limit", type=float, default=40, help="seconds after which no more rows are begun")
    args = parser.parse_args()
    torch, cupy = peer("torch"), peer("cupy")
    wait, start = Waiting(int(args.device.split(":")[1])), time.perf_counter()
    print(f"{'ms':36}{'ndock':>18} {'torch':>18} {'cupy':>18}")
    for label, right, f, a in cases(1 << args.log2, np.random.default_rng(14)):
        if not any(word in label for word in args.only.split(";")):
            continue
        if time.perf_counter() - start > args.limit:
            print(f"{label:36}left out: {args.limit:.0f} s are over")
            continue
        best, notes = row(right, f, a, args, wait, torch, cupy)
        print(f"{label:36}" + " ".join(shown(best, who) for who in ("ndock", "torch", "cupy")) + " " + "; ".join(notes), flush=True)


if __name__ == "__main__":
    main()
