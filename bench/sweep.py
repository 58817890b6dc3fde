#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Cost against size: add, sum, transpose, sort and matmul of 1 to 2^30 elements beside NumPy or PyTorch, for bench/plot.py to draw.

    bench/sweep.py [--device cpu] [--most 24] [--alone 26] [--only add,sum] [--rounds 5] [--limit 55] [--json FILE]

--most is the power of two of the largest arrays, --alone that above which ndock is measured alone. A figure is the least of the rounds, each of as many calls as take about 5 ms, in
seconds of a call, of processor time where NDOCK_NUM_THREADS is 1, the contenders in turn; sizes are powers of two, of square matrices of four. "step" marks a size whose time an element is more than 1.3 times the
smaller one's of those on its two sides: a cliff to be explained or cured."""
import argparse
import json
import os
import time

SECONDS = 0.005
CLOCK = time.thread_time if os.environ.get("NDOCK_NUM_THREADS") == "1" else time.perf_counter
LONG = 0.1  # seconds of a call that is timed once


def timed(fn, calls, wait):
    wait()
    start = CLOCK()
    for _ in range(calls):
        fn()
    wait()
    return (CLOCK() - start) / calls


def best_of(fns, rounds, wait):
    calls, best = {}, {}
    for name, fn in fns.items():
        first = timed(fn, 1, wait)
        best[name] = timed(fn, 1 if first > LONG else 2, wait)
        calls[name] = max(1, min(10000, int(SECONDS / max(best[name], 1e-8))))
    for _ in range(rounds):
        for name, fn in fns.items():
            if best[name] < LONG:
                best[name] = min(best[name], timed(fn, calls[name], wait))
    return best


def operations(nd, other, other_name):
    """{name: function of (library's name, arrays)}; square arrays for those of matrices."""
    def dense(name, x):
        return nd.asarray(x, copy=True) if name == "ndock" else x.contiguous() if other_name == "torch" else other.ascontiguousarray(x)

    def ordered(name, x):
        return nd.sort(x) if name == "ndock" else x.sort().values if other_name == "torch" else other.sort(x)
    return {"add": lambda n, x, m: x + x, "sum": lambda n, x, m: x.sum(), "sort": lambda n, x, m: ordered(n, x),
            "transpose": lambda n, x, m: dense(n, m.T), "matmul": lambda n, x, m: m @ m}


def arrays(nd, np, torch, device, bits):
    side = 1 << bits // 2
    x = np.random.default_rng(bits).random(1 << bits, dtype="float32")
    flat = {"ndock": nd.asarray(x, device=device, copy=True), "numpy": x}
    if device.startswith("cuda"):
        flat = {"ndock": flat["ndock"], "torch": torch.from_numpy(x).cuda()}
    return {k: (v, v[:side * side].reshape(side, side)) for k, v in flat.items()}


def steps(rows):
    """Sizes whose time an element is above 1.3 times that of a neighbour's on either side."""
    per = [seconds / size for size, seconds in rows]
    return [rows[i][0] for i in range(1, len(rows) - 1) if rows[i][1] > 2e-6 and per[i] > 1.3 * max(per[i - 1], per[i + 1])]


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--device", default="cpu")
    p.add_argument("--most", type=int, default=24)
    p.add_argument("--alone", type=int, default=26)
    p.add_argument("--only", default="add,sum,transpose,sort,matmul")
    p.add_argument("--rounds", type=int, default=5)
    p.add_argument("--limit", type=float, default=55, help="seconds after which no larger size is begun")
    p.add_argument("--json")
    o = p.parse_args()
    import numpy as np
    import ndock as nd
    torch = None
    if o.device.startswith("cuda"):
        import torch

    def wait():
        if torch:
            torch.cuda.synchronize()
            nd.synchronize()
    named = operations(nd, torch or np, "torch" if torch else "numpy")
    report, began = {"device": o.device, "rows": {name: {} for name in o.only.split(",")}}, time.monotonic()
    for bits in range(0, o.most + 1):
        if time.monotonic() - began > o.limit:
            print(f"# no time left for 2^{bits} and more")
            break
        data = arrays(nd, np, torch, o.device, bits)
        for name in report["rows"]:
            if name in ("matmul", "transpose") and (bits % 2 or name == "matmul" and bits > 24):
                continue
            fns = {who: (lambda f=named[name], who=who, xs=xs: f(who, *xs)) for who, xs in data.items()
                   if who == "ndock" or bits <= o.alone}
            for who, seconds in best_of(fns, o.rounds, wait).items():
                report["rows"][name].setdefault(who, []).append((1 << bits, seconds))
    for name, contenders in report["rows"].items():
        for who, rows in contenders.items():
            at = ", ".join(f"2^{size.bit_length() - 1}" for size in steps(rows))
            print(f"{name:10} {who:6} " + " ".join(f"{s * 1e6:.3g}" for _, s in rows[::4]) + " us at 2^0, 2^4, ..."
                  + (f"; step at {at}" if at and who == "ndock" else ""))
    if o.json:
        with open(o.json, "w") as f:
            json.dump(report, f)


if __name__ == "__main__":
    main()
