#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Linear algebra of a GPU: ndock from Python beside PyTorch and CuPy, in one run.

    bench/gpu_linalg.py [--device cuda:0] [--sizes 1024,256,4096] [--batches 10000x8,1000x32,1000x64,200x128] [--only WORD;WORD] [--dtype float32] [--rounds 5] [--limit 55] [--json FILE]

A figure is the least of the rounds, in milliseconds a call, of as many calls as take about 8 ms, between two waits for the whole
device; the contenders of a row take turns, on the same numbers. In brackets: a peer's time over ndock's (above 1, ndock is faster). "error" is ndock's
backward error in the Frobenius norm, computed in double precision on the device, over eps times the longest extent: about 1 or less is
as it should be, and above 10 the row counts as wrong. Rows of which one contender fails say so, and the run goes on. Run it
with NDOCK_FALLBACK=error, as `make bench-gpu-linalg` does, so that nothing can be staged through the CPU unseen."""
import argparse
import json
import time

import ndock as nd
import numpy as np
from gpu_timing import Waiting, peer, repeats, shown, timed

FUNCTIONS = ["cholesky", "solve", "inv", "qr", "eigh", "svd"]
SLOW = 0.4  # seconds: what takes longer is run no more
TOO_SLOW = 3  # seconds: not even a second time


def numbers(name, shape, dtype):
    a = np.random.default_rng(14).standard_normal(shape, dtype=dtype)
    n = shape[-1]
    turned = np.swapaxes(a, -1, -2)
    if name == "cholesky":
        if n > 1024:  # a product would take the host long: the diagonal outweighs the rows
            return (a + turned) / 2 + np.eye(n, dtype=dtype) * 4 * n ** 0.5
        return a @ turned + np.eye(n, dtype=dtype) * n
    if name == "eigh":
        return (a + turned) / 2
    if name in ("solve", "inv"):
        return a + np.eye(n, dtype=dtype) * 2 * n ** 0.5
    return a


def sides(shape, dtype):
    return np.random.default_rng(15).standard_normal(shape[:-1] + (16,), dtype=dtype)


def call(name, linalg, x, b):
    """The call in the words that all three packages share."""
    if name == "solve":
        return lambda: linalg.solve(x, b)
    if name == "svd":
        return lambda: linalg.svd(x, full_matrices=False)
    return lambda: getattr(linalg, name)(x)


def turned(x):
    return nd.matrix_transpose(x)


def norm(x):
    return nd.sqrt(nd.sum(x * x, axis=(-2, -1)))


def error_of(name, x, b, result):
    """The largest backward error of the batch, over eps times the extent."""
    wide = [nd.astype(r, nd.float64) for r in (result if isinstance(result, tuple) else (result,))]
    a = nd.astype(x, nd.float64)
    n = x.shape[-1]
    one = nd.eye(n, dtype=nd.float64, device=x.device)
    if name == "cholesky":
        off = norm(nd.matmul(wide[0], turned(wide[0])) - a) / norm(a)
    elif name == "solve":
        off = norm(nd.matmul(a, wide[0]) - nd.astype(b, nd.float64)) / (norm(a) * norm(wide[0]))
    elif name == "inv":
        off = norm(nd.matmul(a, wide[0]) - one) / (norm(a) * norm(wide[0]))
    elif name == "qr":
        q, r = wide
        off = norm(nd.matmul(q, r) - a) / norm(a) + norm(nd.matmul(turned(q), q) - one) / n ** 0.5
    elif name == "eigh":
        w, v = wide
        off = norm(nd.matmul(a, v) - v * nd.expand_dims(w, axis=-2)) / norm(a) + norm(nd.matmul(turned(v), v) - one) / n ** 0.5
    else:
        u, s, vh = wide
        off = norm(nd.matmul(u * nd.expand_dims(s, axis=-2), vh) - a) / norm(a) + norm(nd.matmul(turned(u), u) - one) / n ** 0.5
    return float(nd.max(off)) / (float(nd.finfo(x.dtype).eps) * n)


def contenders(name, a, b, args, torch, cupy):
    made = {"ndock": (nd, lambda: call(name, nd.linalg, nd.asarray(a, device=args.device), nd.asarray(b, device=args.device)))}
    if torch:
        index = f"cuda:{args.device.split(':')[1]}"
        made["torch"] = (torch, lambda: call(name, torch.linalg, torch.from_numpy(a).to(index), torch.from_numpy(b).to(index)))
    if cupy:
        made["cupy"] = (cupy, lambda: call(name, cupy.linalg, cupy.asarray(a), cupy.asarray(b)))
    return made


past = {}  # seconds and extent of the latest single matrix


def late(name, who, shape, until):
    """Whether one call of what takes the cube of the extent would end after the time, so that it had better not begin."""
    if len(shape) > 2 or (name, who) not in past:
        return False
    seconds, n = past[name, who]
    return time.perf_counter() + seconds * max(1, (shape[-1] / n) ** 3) > until


def row(name, shape, args, wait, torch, cupy, until):
    a, b = numbers(name, shape, args.dtype), sides(shape, args.dtype)
    best, calls, notes = {}, {}, []
    for who, (_, make) in contenders(name, a, b, args, torch, cupy).items():
        try:
            calls[who] = make()
            if late(name, who, shape, until):
                raise TimeoutError("left out: as slow as for smaller matrices it would not be done in time")
            first = timed(calls[who], wait)
            best[who] = first if first > TOO_SLOW else timed(calls[who], wait)  # the first call opens libraries
            if len(shape) == 2:
                past[name, who] = best[who], shape[-1]
            if best[who] > SLOW:
                del calls[who]
        except Exception as error:
            notes.append(f"{who}: {type(error).__name__}: {error}".splitlines()[0][:120])
            calls.pop(who, None)
            best.pop(who, None)
    for _ in range(args.rounds - 1):
        for who, fn in calls.items():
            if time.perf_counter() < until:
                best[who] = min(best[who], timed(fn, wait, repeats(best[who])))
    off = None
    if "ndock" in best:
        try:
            x, y = nd.asarray(a, device=args.device), nd.asarray(b, device=args.device)
            off = error_of(name, x, y, call(name, nd.linalg, x, y)())
        except Exception as error:
            notes.append(f"check: {type(error).__name__}: {error}".splitlines()[0][:120])
    return best, off, notes


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--sizes", default="1024,256,4096")
    parser.add_argument("--batches", default="10000x8,1000x32,1000x64,200x128", help="how many matrices x their extent")
    parser.add_argument("--only", default="", help="rows whose label has one of these words, separated by semicolons")
    parser.add_argument("--dtype", default="float32", choices=["float32", "float64"])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--limit", type=float, default=55, help="seconds after which no more rows are begun")
    parser.add_argument("--json")
    args = parser.parse_args()
    torch, cupy = peer("torch"), peer("cupy")
    start, found, wrong = time.perf_counter(), [], 0
    wait = Waiting(int(args.device.split(":")[1]))
    batches = [tuple(map(int, batch.split("x"))) for batch in args.batches.split(",") if batch]
    shapes = [(count, n, n) for count, n in batches] + [(int(n), int(n)) for n in args.sizes.split(",") if n]
    print(f"{'ms, ' + args.dtype:26}{'ndock':>18} {'torch':>18} {'cupy':>18} {'error':>8}")
    for shape in shapes:
        for name in FUNCTIONS:
            label = f"{name} {' x '.join(map(str, shape))}"
            if not any(word in label for word in args.only.split(";")):
                continue
            if time.perf_counter() - start > args.limit:
                print(f"{label:26}left out: {args.limit:.0f} s are over")
                continue
            best, off, notes = row(name, shape, args, wait, torch, cupy, start + args.limit)
            bad = off is None or not off < 10
            wrong += bad
            print(f"{label:26}" + " ".join(shown(best, who) for who in ("ndock", "torch", "cupy")) +
                  f" {'-' if off is None else format(off, '.3f'):>8}{' WRONG' if bad else ''}", flush=True)
            for note in notes:
                print(f"    {note}", flush=True)
            found.append({"row": label, "seconds": best, "error": off, "notes": notes})
    print(f"# {wrong} rows wrong; {time.perf_counter() - start:.0f} s")
    if args.json:
        with open(args.json, "w", encoding="utf-8") as file:
            json.dump(found, file, indent=1)


if __name__ == "__main__":
    main()
