#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The rows of shared/spec/speed.md on one GPU: ndock from Python beside PyTorch and CuPy, in one run.

    bench/gpu_speed.py [--device cuda:0] [--rows WORD,WORD] [--rounds 7] [--quick] [--limit SECONDS] [--json FILE]

A figure is the least of the rounds, each of as many calls as take about 8 ms, between two waits for the whole device; the contenders of
a row take turns on the same numbers, and ndock's result is compared with PyTorch's on the device before it is timed. "x": the best peer's
time over ndock's, above 1 where ndock is faster; "of copy": the share of what a copy reaches in the same run; "aim" is speed.md's, and what
that is on this card where memory is the limit, by the copy of the same run; what is short of its aim is listed at the end. A row that fails says so, and the run goes on. Run it with NDOCK_FALLBACK=error, so that nothing can be
staged through the CPU unseen. bench/gpu.py has rows by the C interface; its --rows speed runs these."""
import argparse
import json
import time

from gpu_timing import Aims, Waiting, peer, repeats, timed, warm_up

TORCH = ("torch", 0.98)
PEER = ("peer", 1.0)


class Data:
    """Arrays that every library has, made by PyTorch where it is there, else by NumPy."""

    def __init__(self, nd, torch, cupy, device):
        import numpy as np
        self.nd, self.torch, self.cupy, self.device, self.np = nd, torch, cupy, device, np

    def each(self, x):
        """{library: array} of a NumPy array or a tensor on the device."""
        if self.torch and isinstance(x, self.torch.Tensor):
            out = {"ndock": self.nd.asarray(self.nd.from_dlpack(x), copy=True), "torch": x}
            if self.cupy and x.dtype != self.torch.bfloat16:
                out["cupy"] = self.cupy.from_dlpack(x)
            return out
        out = {"ndock": self.nd.asarray(x, device=self.device)}
        if self.cupy:
            out["cupy"] = self.cupy.asarray(x)
        return out

    def real(self, *shape, dtype="float32", low=0.1, high=2.0):
        if self.torch:
            x = self.torch.rand(shape, device="cuda") * (high - low) + low
            return self.each(x.to(getattr(self.torch, dtype)))
        return self.each((self.np.random.default_rng(1).random(shape, "float32") * (high - low) + low).astype(dtype))

    def integers(self, *shape, high, dtype="int64"):
        if self.torch:
            return self.each(self.torch.randint(0, high, shape, device="cuda").to(getattr(self.torch, dtype)))
        return self.each(self.np.random.default_rng(2).integers(0, high, shape).astype(dtype))

    def permutation(self, n):
        if self.torch:
            return self.each(self.torch.randperm(n, device="cuda"))
        return self.each(self.np.random.default_rng(3).permutation(n))


def turns(functions, *operands):
    """{library: a call without arguments} of {library: function} where it has all operands."""
    return {k: (lambda f=f, k=k: f(*(x[k] for x in operands)))
            for k, f in functions.items() if all(k in x for x in operands)}


def indexing(d, q):
    nd, torch, cupy = d.nd, d.torch, d.cupy
    rows, table = d.real(1 << 20, 128), d.real(1 << 20, 128)
    order, groups = d.permutation(1 << 20), d.integers(1 << 20, high=1000)
    size = 4 * 128 << 20

    def put(a, i, b):
        a[i] = b
        return a
    yield "a[idx] = rows of 128", "GB/s", 2 * size + (8 << 20), 3000, turns({"ndock": put, "torch": put, "cupy": put}, table, order, rows)
    zero = {k: v[:1000] * 0 for k, v in table.items()}
    yield "index_add into 1000", "GB/s", size, 1500, turns(
        {"ndock": lambda z, i, b: nd.index_add(z, i, b), "torch": lambda z, i, b: z.index_add(0, i, b)}, zero, groups, rows)
    yield "take rows of 128", "GB/s", 2 * size + (8 << 20), 3000, turns(
        {"ndock": lambda a, i: nd.take(a, i, axis=0), "torch": lambda a, i: a.index_select(0, i), "cupy": lambda a, i: a.take(i, 0)},
        table, order)
    del rows, table, zero
    n = 1 << (24 if q else 26)
    a, i = d.real(n), d.integers(n, high=n)
    yield "take random", "GB/s", 16 * n, 700, turns(
        {"ndock": lambda a, i: nd.take(a, i), "torch": lambda a, i: a.take(i), "cupy": lambda a, i: a.take(i)}, a, i)
    n = 1 << 26
    flags = {k: v > 1.05 for k, v in d.real(n).items()}
    yield "nonzero of bools", "GB/s", n + 4 * n, 2500, turns(
        {"ndock": lambda m: nd.nonzero(m)[0], "torch": lambda m: m.nonzero()[:, 0], "cupy": lambda m: m.nonzero()[0]}, flags)
    del flags
    square = d.real(8192, 8192)
    yield "tril", "GB/s", 8 << 26, 3900, turns({"ndock": nd.tril, "torch": lambda x: x.tril(), "cupy": lambda x: cupy.tril(x)}, square)


def reductions(d, q):
    nd = d.nd
    m = 8192 if q else 16384
    a = d.real(m, m)
    one = {k: v * 0 + 1 for k, v in a.items()}
    nbytes = 4 * m * m
    yield "prod rows", "GB/s", nbytes, 4000, turns(
        {"ndock": lambda x: nd.prod(x, axis=1), "torch": lambda x: x.prod(1), "cupy": lambda x: x.prod(1)}, one)
    del one
    yield "logsumexp rows", "GB/s", nbytes, 3900, turns(
        {"ndock": lambda x: nd.logsumexp(x, axis=1), "torch": lambda x: x.logsumexp(1)}, a)
    yield "softmax axis 0", "GB/s", 2 * nbytes, 3600, turns(
        {"ndock": lambda x: nd.nn.softmax(x, dim=0), "torch": lambda x: x.softmax(0)}, a)
    yield "cumsum axis 0", "GB/s", 2 * nbytes, 3600, turns(
        {"ndock": lambda x: nd.cumulative_sum(x, axis=0), "torch": lambda x: x.cumsum(0), "cupy": lambda x: x.cumsum(0)}, a)
    del a
    n = 1 << 25
    thin = d.real(n, 4)
    for axis in (0, 1):
        yield f"sum of (2^25, 4) axis {axis}", "GB/s", (16 + 4 * axis) * n, 3900, turns(
            {"ndock": lambda x, k=axis: nd.sum(x, axis=k), "torch": lambda x, k=axis: x.sum(k), "cupy": lambda x, k=axis: x.sum(k)}, thin)
    del thin
    box = d.real(256, 512, 1024)
    yield "sum axes (0, 2)", "GB/s", 4 << 27, 4000, turns(
        {"ndock": lambda x: nd.sum(x, axis=(0, 2)), "torch": lambda x: x.sum((0, 2)), "cupy": lambda x: x.sum((0, 2))}, box)
    del box
    line = d.real(1 << 27)
    yield "cumsum of 2^27", "GB/s", 8 << 27, 3600, turns(
        {"ndock": lambda x: nd.cumulative_sum(x), "torch": lambda x: x.cumsum(0), "cupy": lambda x: x.cumsum()}, line)


def sorting(d, q):
    nd, torch, cupy = d.nd, d.torch, d.cupy
    count = 1 << (14 if q else 16)
    rows = d.real(count, 1024)
    yield "sort rows of 1024", "Gkey/s", count * 1024, 40, turns(
        {"ndock": lambda x: nd.sort(x), "torch": lambda x: x.sort().values, "cupy": lambda x: cupy.sort(x)}, rows)
    yield "topk 10 of rows of 1024", "Gkey/s", count * 1024, 200, turns(
        {"ndock": lambda x: nd.topk(x, 10)[0], "torch": lambda x: x.topk(10).values}, rows)
    del rows
    n = 1 << 26
    a = d.real(n)
    yield "topk 100 of 2^26", "Gkey/s", n, 400, turns({"ndock": lambda x: nd.topk(x, 100)[0], "torch": lambda x: x.topk(100).values}, a)
    del a
    n = 1 << (25 if q else 26)
    wide = d.integers(n, high=1 << 62)
    yield "sort int64", "Gkey/s", n, 17, turns(
        {"ndock": lambda x: nd.sort(x), "torch": lambda x: x.sort().values, "cupy": lambda x: cupy.sort(x)}, wide)
    del wide
    some = d.integers(1 << 24, high=1 << 20, dtype="int32")
    yield "unique of 2^24", "Gkey/s", 1 << 24, 20, turns(
        {"ndock": lambda x: nd.unique_values(x), "torch": lambda x: x.unique(), "cupy": lambda x: cupy.unique(x)}, some)


def moving(d, q):
    nd, torch, cupy = d.nd, d.torch, d.cupy
    m = 8192 if q else 16384
    a, b, f32 = d.real(m, m), d.real(m, m), 4 * m * m
    yield "roll", "GB/s", 2 * f32, 3900, turns(
        {"ndock": lambda x: nd.roll(x, (3, 5), axis=(0, 1)), "torch": lambda x: x.roll((3, 5), (0, 1)),
         "cupy": lambda x: cupy.roll(x, (3, 5), (0, 1))}, a)
    yield "pad", "GB/s", 2 * f32, 3900, turns(
        {"ndock": lambda x: nd.pad(x, 1), "torch": lambda x: torch.nn.functional.pad(x, (1, 1, 1, 1)), "cupy": lambda x: cupy.pad(x, 1)}, a)
    yield "concat axis 1", "GB/s", 4 * f32, 3900, turns(
        {"ndock": lambda x, y: nd.concat([x, y], axis=1), "torch": lambda x, y: torch.cat([x, y], 1),
         "cupy": lambda x, y: cupy.concatenate([x, y], 1)}, a, b)
    yield "repeat 2", "GB/s", 3 * f32, 3900, turns(
        {"ndock": lambda x: nd.repeat(x, 2, axis=1), "torch": lambda x: x.repeat_interleave(2, 1), "cupy": lambda x: cupy.repeat(x, 2, 1)}, a)
    del b
    # Bytes that are wanted, as speed.md counts them; memory moves those between them too, 1.5 times as many: 0.67 of copy is all there is.
    halves = ("moved", 3400, 1.5)
    yield "x[::2] + 1", "GB/s", 4 * m * m, halves, turns(
        dict.fromkeys(("ndock", "torch", "cupy"), lambda x: x[::2] + 1), {k: v.reshape(-1) for k, v in a.items()})
    yield "[::2, ::2] copy", "GB/s", 2 * m * m, halves, turns(
        {"ndock": lambda x: nd.asarray(x[::2, ::2], copy=True), "torch": lambda x: x[::2, ::2].contiguous(),
         "cupy": lambda x: x[::2, ::2].copy()}, a)


def elementwise(d, q):
    nd, torch, cupy = d.nd, d.torch, d.cupy
    n = 1 << (26 if q else 28)
    a, b = d.real(n), d.real(n)
    module = {"ndock": nd, "torch": torch, "cupy": cupy}
    each = {k: m for k, m in module.items() if m}
    yield "gelu f32", "GB/s", 8 * n, TORCH, turns({"ndock": nd.gelu, "torch": torch and torch.nn.functional.gelu}, a)
    yield "pow f32", "GB/s", 12 * n, 3400, turns(dict.fromkeys(each, lambda x, y: x**y), a, b)
    big = {k: v * 1e6 for k, v in a.items()}
    yield "sin of 1e6 x", "GB/s", 8 * n, TORCH, turns({k: m.sin for k, m in each.items()}, big)
    del big, b
    whole = d.integers(n, high=1 << 30, dtype="int32")
    yield "int32 // 7", "GB/s", 8 * n, TORCH, turns(dict.fromkeys(each, lambda x: x // 7), whole)
    yield "int32 % 7", "GB/s", 8 * n, TORCH, turns(dict.fromkeys(each, lambda x: x % 7), whole)
    del whole
    half = d.real(n, dtype="float16")
    yield "exp f16", "GB/s", 4 * n, TORCH, turns({k: m.exp for k, m in each.items()}, half)
    del half
    zero = {"ndock": lambda: nd.zeros(n, dtype=nd.float32, device=d.device)}
    if torch:
        zero["torch"] = lambda: torch.zeros(n, device="cuda")
    if cupy:
        zero["cupy"] = lambda: cupy.zeros(n, "f")
    yield "zeros", "GB/s", 4 * n, TORCH, zero
    into = {"ndock": lambda: nd.random.normal(size=n, dtype=nd.float32, device=d.device)}
    if torch:
        into["torch"] = lambda: torch.randn(n, device="cuda")
    yield "normal f32", "GB/s", 4 * n, 2500, into


def products(d, q):
    nd, torch = d.nd, d.torch

    def product(x, y):
        return x @ y
    for dtype in ("float32", "float64"):
        a, b = (d.real(1024, 1024, dtype=dtype, low=-1, high=1) for _ in range(2))
        yield f"matmul {dtype} 1024", "TFLOP/s", 2 << 30, PEER, turns(dict.fromkeys(("ndock", "torch", "cupy"), product), a, b)
    a, v = d.real(8192, 8192), d.real(8192)
    yield "gemv 8192", "GB/s", 4 << 26, PEER, turns(dict.fromkeys(("ndock", "torch", "cupy"), product), a, v)
    a, b = d.real(100000, 8, 8), d.real(100000, 8, 8)
    yield "100000 of 8x8 by 8x8", "GB/s", 3 * 256 * 100000, PEER, turns(dict.fromkeys(("ndock", "torch", "cupy"), product), a, b)
    a = d.integers(4096, 4096, high=100, dtype="int8")
    yield "int8 matmul 4096", "TFLOP/s", 2 << 36, 1000, turns(
        {"ndock": lambda x: nd.matmul(x, x.T, dtype=nd.int32), "torch": lambda x: torch._int_mm(x, x.t())}, a)


def small(d, q):
    a, b = d.real(16), d.real(16)
    yield "add n=16, enqueue", "us", 1, PEER, turns(dict.fromkeys(("ndock", "torch", "cupy"), lambda x, y: x + y), a, b)
    nd, torch, cupy = d.nd, d.torch, d.cupy
    each = {k: m for k, m in {"ndock": nd, "torch": torch, "cupy": cupy}.items() if m}
    yield "add into n=16, enqueue", "us", 1, PEER, turns({k: lambda x, y, z, m=m: m.add(x, y, out=z) for k, m in each.items()}, a, b, d.real(16))
    for name, n in (("empty 1 KiB", 256), ("empty 64 MiB", 1 << 24)):
        empty = {"ndock": lambda n=n: nd.empty(n, dtype=nd.float32, device=d.device)}
        if torch:
            empty["torch"] = lambda n=n: torch.empty(n, device="cuda")
        if cupy:
            empty["cupy"] = lambda n=n: cupy.empty(n, "f")
        yield name, "us", 1, ("peer", 3.75), empty


def anchors(d, q):
    """Rows that bench/gpu.py has not: others are its own, and bench/gpu_graph.py's and bench/exchange.py's."""
    nd, torch, cupy = d.nd, d.torch, d.cupy
    n = 1 << (26 if q else 28)
    three = [d.real(n) for _ in range(3)]
    every = dict.fromkeys(("ndock", "torch", "cupy"), lambda x: x + 1.5)
    yield "add scalar f32", "GB/s", 8 * n, TORCH, turns(every, three[0])
    yield "tanh(a*b + c), in steps", "GB/s", 16 * n, PEER, turns(
        {"ndock": lambda a, b, c: nd.tanh(a * b + c), "torch": lambda a, b, c: (a * b + c).tanh(), "cupy": lambda a, b, c: cupy.tanh(a * b + c)},
        *three)
    fused = nd.fuse(lambda a, b, c: nd.tanh(a * b + c))
    yield "tanh(a*b + c), fused", "GB/s", 16 * n, 4300, turns({"ndock": fused, "torch": lambda a, b, c: (a * b + c).tanh()}, *three)
    three = [d.real(n, dtype="bfloat16") for _ in range(3)]
    yield "the same of bf16, fused", "GB/s", 8 * n, 4100, turns({"ndock": fused, "torch": lambda a, b, c: (a * b + c).tanh()}, *three)
    del three
    short = d.real(n, dtype="bfloat16")
    yield "add scalar bf16", "GB/s", 4 * n, TORCH, turns(every, short)
    del short
    images, weight = d.real(64, 64, 112, 112), d.real(64, 64, 3, 3)
    yield "avg_pool2d k2", "GB/s", 5 * 64 * 64 * 112 * 112, 3600, turns(
        {"ndock": lambda x: nd.nn.avg_pool2d(x, 2), "torch": lambda x: torch.nn.functional.avg_pool2d(x, 2)}, images)
    conv = {"ndock": nd.nn.conv2d, "torch": lambda x, w: torch.nn.functional.conv2d(x, w)}
    yield "conv2d 3x3 f32", "TFLOP/s", 2 * 9 * 64**3 * 110**2, PEER, turns(tf32_of(d, conv, False), images, weight)
    yield "conv2d 3x3 tf32", "TFLOP/s", 2 * 9 * 64**3 * 110**2, PEER, turns(tf32_of(d, conv, True), images, weight)
    del images, weight
    for m in (1024, 4096, 8192):
        a, b = d.real(m, m, low=-1, high=1), d.real(m, m, low=-1, high=1)
        yield f"matmul tf32 {m}", "TFLOP/s", 2 * m**3, ("torch", 0.99), turns(tf32_of(d, dict.fromkeys(("ndock", "torch"), lambda x, y: x @ y), True), a, b)
    a, b = d.real(256, 256, 256, low=-1, high=1), d.real(256, 256, 256, low=-1, high=1)
    yield "256 of 256x256 by 256x256", "TFLOP/s", 2 << 32, PEER, turns(dict.fromkeys(("ndock", "torch", "cupy"), lambda x, y: x @ y), a, b)


def tf32_of(d, fn, allowed):
    """{library: fn} where products and convolutions of f32 may round operands to TF32, or may not."""
    def ours(*x):
        with d.nd.math.mode(f32_matmul="tf32" if allowed else "ieee"):
            return fn["ndock"](*x)

    def theirs(*x):
        d.torch.backends.cuda.matmul.allow_tf32 = d.torch.backends.cudnn.allow_tf32 = allowed
        out = fn["torch"](*x)
        d.torch.backends.cuda.matmul.allow_tf32 = False
        return out
    return {"ndock": ours, "torch": theirs}


def transfers(d, q):
    """Between the host and the device, of pageable and of pinned memory; NumPy arrays are what each library takes and gives."""
    nd, torch, cupy, n = d.nd, d.torch, d.cupy, 1 << 26
    host, into = d.np.ones(n, "float32"), d.np.empty(n, "float32")
    pinned, there = nd.empty_pinned(n, dtype=nd.float32, device=d.device), nd.ones(n, dtype=nd.float32, device=d.device)

    def to_pinned():
        nd.copy_to(there, pinned, non_blocking=True)

    def from_pinned():
        nd.copy_to(pinned, there, non_blocking=True)
    to = {"ndock": lambda: nd.asarray(host, device=d.device)}
    back = {"ndock": lambda: d.np.from_dlpack(nd.asarray(there, device="cpu"))}
    pin_to, pin_back = {"ndock": from_pinned}, {"ndock": to_pinned}
    if torch:
        x, y = torch.ones(n, device="cuda"), torch.empty(n, pin_memory=True)
        to["torch"], back["torch"] = lambda: torch.from_numpy(host).cuda(), lambda: x.cpu()
        pin_to["torch"], pin_back["torch"] = lambda: x.copy_(y, non_blocking=True), lambda: y.copy_(x, non_blocking=True)
    if cupy:
        z = cupy.ones(n, "f")
        to["cupy"], back["cupy"] = lambda: cupy.asarray(host), lambda: z.get(out=into)
    for name, calls, aim in (("host to device, pageable", to, ("peer", 1.8)), ("device to host, pageable", back, PEER),
                             ("host to device, pinned", pin_to, TORCH), ("device to host, pinned", pin_back, TORCH)):
        yield name, "GB/s of host", 4 * n, aim, calls


GROUPS = (indexing, reductions, sorting, moving, elementwise, products, small, anchors, transfers)
UNCOMPARED = ("normal f32", "empty", "host to device", "device to host")


def measured(contenders, rounds, wait):
    """{contender: least seconds a call}, and why others failed."""
    calls, best, failed = {}, {}, {}
    for name, fn in contenders.items():
        try:
            timed(fn, wait)
            calls[name] = repeats(max(timed(fn, wait), timed(fn, wait, 2)), 20000)
        except Exception as error:
            failed[name] = (str(error) or repr(error)).splitlines()[0]
    for _ in range(rounds):
        for name, n in calls.items():
            best[name] = min(best.get(name, 1e9), timed(contenders[name], wait, n))
    return best, failed


def differs(torch, contenders):
    """What is wrong with ndock's result, compared with PyTorch's on the device."""
    if not torch or "torch" not in contenders:
        return ""
    ours, theirs = contenders["ndock"](), contenders["torch"]()
    ours = torch.from_dlpack(ours)
    if ours.shape != theirs.shape:
        return f"shape {tuple(ours.shape)}, not {tuple(theirs.shape)}"
    if not theirs.dtype.is_floating_point:
        return "" if bool((ours == theirs).all()) else "other values"
    worst = float((ours.float() - theirs.float()).abs().max()) if theirs.numel() else 0
    size = float(theirs.float().abs().max()) if theirs.numel() else 0
    return "" if worst <= 2e-3 * max(size, 1e-30) else f"off by {worst:.3g} of {size:.3g}"


def print_row(name, unit, amount, aim, got, aims, wrong):
    scale = {"us": 1e6, "GB/s": 1e-9, "Gkey/s": 1e-9, "TFLOP/s": 1e-12, "GB/s of host": 1e-9}[unit]
    figure = {k: v * scale if unit == "us" else amount / v * scale for k, v in got.items()}
    ours, others = got.get("ndock"), {k: v for k, v in got.items() if k != "ndock"}
    first = min(others, key=others.get) if others else None
    ratio = f"{others[first] / ours:5.2f} x {first}" if ours and first else "-"
    share = f"{figure['ndock'] / aims.copy:4.2f} of copy" if unit == "GB/s" and ours else ""
    more = {k: 1 / v for k, v in figure.items()} if unit == "us" else figure
    share += "  " + aims.text(name, unit, aim, more)
    print(f"{name:26}{unit:13}" + " ".join(f"{k} {v:.4g}" for k, v in figure.items()) + f"  {ratio}  {share}"
          + (f"  WRONG: {wrong}" if wrong else ""), flush=True)
    return figure


def ceiling(d, rounds, wait, quick):
    x = d.real(1 << (27 if quick else 29))
    copies = {"ndock": lambda: d.nd.asarray(x["ndock"], copy=True)}
    if d.torch:
        into = d.torch.empty_like(x["torch"])
        copies["torch"] = lambda: into.copy_(x["torch"])
    warm_up(lambda: timed(copies["ndock"], wait))
    return 8 * (1 << (27 if quick else 29)) / min(measured(copies, rounds, wait)[0].values()) * 1e-9


def run(o):
    import ndock as nd
    nd.set_default_device(o.device)
    d = Data(nd, peer("torch"), peer("cupy"), o.device)
    wait, began, words = Waiting(), time.monotonic(), o.rows.split(",")
    copy = ceiling(d, o.rounds, wait, o.quick)
    print(f"# copy {copy:.0f} GB/s; seconds of the whole run: at most {o.limit}")
    report, aims = {"copy": copy, "rows": []}, Aims(copy)
    for group in GROUPS:
        if time.monotonic() - began > o.limit:
            print(f"# no time left for {group.__name__}")
            continue
        rows = group(d, o.quick)
        while True:
            try:
                name, unit, amount, aim, contenders = next(rows)
            except StopIteration:
                break
            except Exception as error:
                print(f"# {group.__name__} ended: {error!r:.200}")
                break
            if not any(w in name or w == group.__name__ for w in words):
                continue
            try:
                wrong = "" if name.startswith(UNCOMPARED) else differs(d.torch, contenders)
            except Exception as error:
                wrong = f"{error!r:.160}"
            got, failed = measured(contenders, o.rounds, wait)
            figure = print_row(name, unit, amount, aim, got, aims, wrong) if got else {}
            for who, why in failed.items():
                print(f"#   {name}, {who}: {why:.160}", flush=True)
            report["rows"].append({"row": name, "unit": unit, "aim": aim, "wrong": wrong, "failed": failed, **figure})
        for library, free in ((d.torch, lambda: d.torch.cuda.empty_cache()), (d.cupy, lambda: d.cupy.get_default_memory_pool().free_all_blocks())):
            if library:
                free()
    aims.report()
    print(f"# {time.monotonic() - began:.0f} s")
    return report


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--device", default="cuda:0")
    p.add_argument("--rows", default="", help="rows whose name has one of these words, or that are in a group of that name")
    p.add_argument("--rounds", type=int, default=7)
    p.add_argument("--quick", action="store_true", help="fewer rounds of smaller arrays")
    p.add_argument("--limit", type=float, default=600, help="seconds after which no further group is begun")
    p.add_argument("--json")
    o = p.parse_args()
    if o.quick:
        o.rounds = min(o.rounds, 4)
    report = run(o)
    if o.json:
        with open(o.json, "w") as f:
            json.dump(report, f, indent=1)


if __name__ == "__main__":
    main()
