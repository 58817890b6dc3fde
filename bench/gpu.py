#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""ndock beside PyTorch, CuPy and JAX on one GPU, in one run: a table of ratios, and JSON.

    bench/gpu.py [--lib PATH] [--device cuda:0] [--only WORD] [--rounds 20] [--json FILE] [--quick] [--rows anchors|speed|all]

Contenders of a row take turns; a figure is the median of --rounds after five warm-up turns, by the
contender's own events on the device. Bytes count each input read once and each output written
once, so that a figure divides by the copy ceiling, measured first in the same run. Aims
stand beside the rows (AIMS). A peer that is not installed is left out, and said so.
--rows speed: those of bench/gpu_speed.py, from Python, which needs the package; all: both.
"""
import argparse
import json
import os
import statistics
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import ndock_ctypes  # noqa: E402
from gpu_timing import Aims, warm_up  # noqa: E402

WARM_UP = 5
# Of a row's name, or of what it begins with; see gpu_timing.Aims.
AIMS = {"pow 2.5 f32": ("torch", 1.0), "pow 2.5 bf16": 3825, "where": 4000, "transpose": 3600, "a.T": 3600, "slice": ("torch", 1.0),
        "row broadcast": 4000, "col broadcast": 4000, "flip": 4000, "permute": 3400, "sum": ("peer", 0.97), "max ": ("peer", 0.97),
        "argmax": 4000, "var": 4000, "softmax": 4000, "layer_norm": 4000, "cumulative_sum": 3600, "take": ("torch", 0.98),
        "boolean mask": 2500, "uniform": 4200, "normal": ("torch", 1.05), "matmul": ("torch", 0.99), "sort": ("cupy", 1.0),
        "empty": ("peer", 3.75), "add n": ("peer", 1.0), "add into": ("peer", 1.0)}


def aim_of(name):
    """The aim of the longest beginning of the name; other rows are elementwise operations."""
    begins = [k for k in AIMS if name.startswith(k)]
    return AIMS[max(begins, key=len)] if begins else ("torch", 0.98)


def peer(name):
    try:
        return __import__(name)
    except Exception as error:  # a broken installation counts as none
        print("# without %s: %s" % (name, error))
        return None


class Timer:
    """Milliseconds of one turn by events of the contender's own library."""

    def __init__(self, nd, torch, cupy):
        self.nd, self.torch, self.cupy = nd, torch, cupy

    def ndock(self, fn):
        start, stop = self.nd.event(), self.nd.event()
        self.nd.record(start)
        keep = fn()
        self.nd.record(stop)
        ms = self.nd.elapsed_ms(start, stop)
        self.nd.c.nd_event_release(start)
        self.nd.c.nd_event_release(stop)
        del keep
        return ms

    def torch_(self, fn):
        start, stop = (self.torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        keep = fn()
        stop.record()
        stop.synchronize()
        del keep
        return start.elapsed_time(stop)

    def cupy_(self, fn):
        start, stop = self.cupy.cuda.Event(), self.cupy.cuda.Event()
        start.record()
        keep = fn()
        stop.record()
        stop.synchronize()
        del keep
        return self.cupy.cuda.get_elapsed_time(start, stop)

    def jax(self, fn):
        begin = time.perf_counter()
        fn().block_until_ready()
        return (time.perf_counter() - begin) * 1e3


def measure(turns, timer, rounds):
    """{contender: median ms} of turns {contender: fn}, the contenders in turn."""
    clock = {"ndock": timer.ndock, "torch": timer.torch_, "cupy": timer.cupy_, "jax": timer.jax}
    times, failed = {name: [] for name in turns}, {}
    for i in range(WARM_UP + rounds):
        for name, fn in turns.items():
            if name in failed:
                continue
            try:
                ms = clock[name](fn)
            except Exception as error:
                failed[name] = str(error).splitlines()[0] if str(error) else repr(error)
                continue
            if i >= WARM_UP:
                times[name].append(ms)
    return {n: statistics.median(t) for n, t in times.items() if n not in failed and t}, failed


# ---- rows: (name, unit, amount, aim, turns) where turns() makes {contender: fn} ----
def elementwise_rows(nd, torch, cupy, jnp, jit, n):
    for dtype, nbytes in (("f32", 4), ("bf16", 2)):
        tt = {"f32": "float32", "bf16": "bfloat16"}[dtype]
        binary = {"add": "add", "maximum": "maximum", "greater_equal": "ge"}
        for op, name in list(binary.items()) + [("tanh", "tanh"), ("exp", "exp"),
                                                ("pow", "pow 2.5"), ("where", "where")]:
            def turns(op=op, dtype=dtype, tt=tt):
                a, b = nd.uniform((n,), dtype, 0.1, 2), nd.uniform((n,), dtype, 0.1, 2, 2)
                mask = nd.apply("greater", a, b) if op == "where" else None
                ours = {"pow": lambda: nd.apply("pow", a, 2.5),
                        "where": lambda: nd.apply("where", mask, a, b)}.get(op)
                if ours is None:
                    ours = (lambda: nd.apply(op, a, b)) if op in binary else (
                        lambda: nd.apply(op, a))
                out = {"ndock": ours}
                if torch:
                    x = torch.rand(n, device="cuda").mul_(1.9).add_(0.1).to(getattr(torch, tt))
                    y = torch.rand(n, device="cuda").mul_(1.9).add_(0.1).to(getattr(torch, tt))
                    m = x > y if op == "where" else None
                    out["torch"] = {"add": lambda: x + y, "maximum": lambda: torch.maximum(x, y),
                                    "greater_equal": lambda: x >= y, "tanh": lambda: x.tanh(),
                                    "exp": lambda: x.exp(), "pow": lambda: x.pow(2.5),
                                    "where": lambda: torch.where(m, x, y)}[op]
                if cupy and dtype == "f32" and op in ("add", "tanh", "pow"):
                    u, v = cupy.random.rand(n, dtype="f"), cupy.random.rand(n, dtype="f")
                    out["cupy"] = {"add": lambda: u + v, "tanh": lambda: cupy.tanh(u),
                                   "pow": lambda: u**cupy.float32(2.5)}[op]
                if jnp and dtype == "f32" and op in ("add", "tanh"):
                    p, q = jnp.ones(n, "float32"), jnp.ones(n, "float32")
                    f = jit({"add": lambda s, t: s + t, "tanh": lambda s, t: jnp.tanh(s)}[op])
                    out["jax"] = lambda: f(p, q)
                return out
            amount = {"greater_equal": 2 * nbytes + 1, "where": 3 * nbytes + 1,
                      "add": 3 * nbytes, "maximum": 3 * nbytes}.get(op, 2 * nbytes) * n
            yield "%s %s" % (name, dtype), amount, turns


def strided_rows(nd, torch, cupy, m, box):
    f32 = 4 * m * m

    def pair(ours, theirs, cupys=None, shape=(m, m)):
        def turns():
            a, b = nd.uniform(shape), nd.uniform(shape, seed=2)
            out = {"ndock": lambda: ours(a, b)}
            if torch:
                x, y = torch.rand(shape, device="cuda"), torch.rand(shape, device="cuda")
                out["torch"] = lambda: theirs(x, y)
            if cupy and cupys:
                u, v = cupy.random.rand(*shape, dtype="f"), cupy.random.rand(*shape, dtype="f")
                out["cupy"] = lambda: cupys(u, v)
            return out
        return turns
    yield "transpose copy", 2 * f32, pair(
        lambda a, b: nd.compact(nd.permute(a, (1, 0))), lambda x, y: x.t().contiguous(),
        lambda u, v: u.T.copy())
    yield "a.T + b", 3 * f32, pair(
        lambda a, b: nd.apply("add", nd.permute(a, (1, 0)), b), lambda x, y: x.t() + y,
        lambda u, v: u.T + v)
    yield "slice ::2,::2 compact", f32 // 2, pair(
        lambda a, b: nd.compact(nd.slice(a, (0, m, 2), (0, m, 2))),
        lambda x, y: x[::2, ::2].contiguous(), lambda u, v: u[::2, ::2].copy())
    yield "row broadcast add", 2 * f32, pair(
        lambda a, b: nd.apply("add", a, nd.slice(b, (0, 1, 1), (0, m, 1))),
        lambda x, y: x + y[0:1], lambda u, v: u + v[0:1])
    yield "col broadcast add", 2 * f32, pair(
        lambda a, b: nd.apply("add", a, nd.slice(b, (0, m, 1), (0, 1, 1))),
        lambda x, y: x + y[:, 0:1], lambda u, v: u + v[:, 0:1])
    yield "flip copy", 2 * f32, pair(
        lambda a, b: nd.compact(nd.flip(a)), lambda x, y: x.flip((0, 1)),
        lambda u, v: cupy.ascontiguousarray(u[::-1, ::-1]))
    size = 4 * box[0] * box[1] * box[2] * box[3]
    for axes in ((0, 3, 1, 2), (3, 2, 1, 0), (2, 0, 3, 1), (0, 2, 1, 3)):
        yield "permute %s" % (axes,), 2 * size, pair(
            lambda a, b, axes=axes: nd.compact(nd.permute(a, axes)),
            lambda x, y, axes=axes: x.permute(axes).contiguous(),
            lambda u, v, axes=axes: cupy.ascontiguousarray(u.transpose(axes)), box)


def reduce_rows(nd, torch, cupy, m):
    f32 = 4 * m * m
    rows = [("sum all", "sum", None, 1), ("sum axis 0", "sum", 0, 1), ("sum axis 1", "sum", 1, 1),
            ("max axis 0", "max", 0, 1), ("max axis 1", "max", 1, 1),
            ("argmax axis 1", "argmax", 1, 1), ("var all", "var", None, 1),
            ("softmax axis 1", "softmax", 1, 2), ("layer_norm axis 1", "layer_norm", 1, 2),
            ("cumulative_sum axis 1", "cumulative_sum", 1, 2)]
    for name, op, axis, passes in rows:
        def turns(op=op, axis=axis):
            a = nd.uniform((m, m))
            ours = {"softmax": lambda: nd.norm("softmax", a),
                    "layer_norm": lambda: nd.norm("layer_norm", a, None, None),
                    "cumulative_sum": lambda: nd.scan("cumulative_sum", a, 1)}.get(
                        op, lambda: nd.reduce(op, a, axis))
            out = {"ndock": ours}
            if torch:
                x = torch.rand((m, m), device="cuda")
                out["torch"] = {
                    "sum": lambda: x.sum() if axis is None else x.sum(axis),
                    "max": lambda: x.amax(axis), "argmax": lambda: x.argmax(axis),
                    "var": lambda: x.var(), "softmax": lambda: x.softmax(1),
                    "layer_norm": lambda: torch.nn.functional.layer_norm(x, (m,)),
                    "cumulative_sum": lambda: x.cumsum(1)}[op]
            if cupy and op in ("sum", "max", "argmax"):
                u = cupy.random.rand(m, m, dtype="f")
                out["cupy"] = lambda: getattr(u, op)(axis)
            return out
        yield name, passes * f32, turns

    def middle():
        a = nd.uniform((1024, 512, 512))
        out = {"ndock": lambda: nd.reduce("sum", a, 1)}
        if torch:
            x = torch.rand((1024, 512, 512), device="cuda")
            out["torch"] = lambda: x.sum(1)
        return out
    yield "sum middle axis", 4 << 28, middle


def index_rows(nd, torch, cupy, m, n):
    def take():
        a = nd.uniform((m, m))
        indices = nd.flip(nd.arange(m))
        out = {"ndock": lambda: nd.take(a, indices, 0)}
        if torch:
            x = torch.rand((m, m), device="cuda")
            i = torch.arange(m, device="cuda").flip(0)
            out["torch"] = lambda: x.index_select(0, i)
        return out
    yield "take rows", 8 * m * m, take

    def mask():
        a = nd.uniform((n,))
        chosen = nd.apply("greater", a, 0.5)
        out = {"ndock": lambda: nd.select(a, chosen)}
        if torch:
            x = torch.rand(n, device="cuda")
            y = x > 0.5
            out["torch"] = lambda: x[y]
        return out
    yield "boolean mask", 4 * n + n + 2 * n, mask


def random_rows(nd, torch, n):
    for kind, a, b in (("uniform", 0.0, 1.0), ("normal", 0.0, 1.0)):
        def turns(kind=kind, a=a, b=b):
            into = nd.empty((n,))
            out = {"ndock": lambda: nd.random(kind, into, a, b)}
            if torch:
                x = torch.empty(n, device="cuda")
                out["torch"] = {"uniform": lambda: x.uniform_(), "normal": lambda: x.normal_()}[kind]
            return out
        yield kind, 4 * n, turns


def matmul_rows(nd, torch, sizes):
    for dtype, tt in (("f32", "float32"), ("bf16", "bfloat16"), ("f16", "float16"),
                      ("f64", "float64")):
        for k in sizes:
            def turns(k=k, dtype=dtype, tt=tt):
                a, b = nd.uniform((k, k), dtype, -1, 1), nd.uniform((k, k), dtype, -1, 1, 2)
                out = {"ndock": lambda: nd.matmul(a, b)}
                if torch:
                    x, y = (torch.rand((k, k), device="cuda").mul_(2).sub_(1).to(
                        getattr(torch, tt)) for _ in range(2))
                    out["torch"] = lambda: x @ y
                return out
            yield "matmul %s %d" % (dtype, k), 2 * k**3, turns


def sort_rows(nd, torch, cupy, n):
    def turns():
        a = nd.uniform((n,))
        out = {"ndock": lambda: nd.sort(a)}
        if torch:
            x = torch.rand(n, device="cuda")
            out["torch"] = lambda: x.sort()
        if cupy:
            u = cupy.random.rand(n, dtype="f")
            out["cupy"] = lambda: cupy.sort(u)
        return out
    yield "sort f32", n, turns


def host_rows(device, torch, cupy, jnp, jit):
    """Microseconds on the host's clock of work that is too small for the device to notice, from Python: each library's
    own package, ours too; bench/launch has ours from C. ndock_ctypes, by which other rows call us, is five microseconds slower."""
    rows = {"empty 1 KiB": {}, "empty 64 MiB": {}, "add n=16": {}, "add into n=16": {}}
    package = peer("ndock")
    if package:
        a, b, into = (package.ones(16, dtype=package.float32, device=device) for _ in range(3))
        rows["empty 1 KiB"]["ndock"] = lambda: package.empty(256, dtype=package.float32, device=device)
        rows["empty 64 MiB"]["ndock"] = lambda: package.empty(1 << 24, dtype=package.float32, device=device)
        rows["add n=16"]["ndock"] = lambda: a + b
        rows["add into n=16"]["ndock"] = lambda: package.add(a, b, out=into)
    if torch:
        x, y, z = (torch.rand(16, device="cuda") for _ in range(3))
        rows["empty 1 KiB"]["torch"] = lambda: torch.empty(256, device="cuda")
        rows["empty 64 MiB"]["torch"] = lambda: torch.empty(1 << 24, device="cuda")
        rows["add n=16"]["torch"] = lambda: x + y
        rows["add into n=16"]["torch"] = lambda: torch.add(x, y, out=z)
    if cupy:
        u, v, w = (cupy.random.rand(16, dtype="f") for _ in range(3))
        rows["empty 1 KiB"]["cupy"] = lambda: cupy.empty(256, "f")
        rows["empty 64 MiB"]["cupy"] = lambda: cupy.empty(1 << 24, "f")
        rows["add n=16"]["cupy"] = lambda: u + v
        rows["add into n=16"]["cupy"] = lambda: cupy.add(u, v, out=w)
    if jnp:
        p, q, f = jnp.ones(16, "float32"), jnp.ones(16, "float32"), jit(lambda s, t: s + t)
        rows["add n=16"]["jax"] = lambda: f(p, q)
    return rows


def host_us(nd, turns, rounds, count=1000):
    """{contender: median microseconds of one call}, the contenders in turn."""
    times = {name: [] for name in turns}
    for i in range(WARM_UP + rounds):
        for name, fn in turns.items():
            nd.synchronize()
            begin = time.perf_counter()
            for _ in range(count):
                fn()
            if i >= WARM_UP:
                times[name].append((time.perf_counter() - begin) / count * 1e6)
    return {name: statistics.median(t) for name, t in times.items()}


def ceiling(nd, torch, timer, rounds, quick):
    n = 1 << (28 if quick else 30)
    a = nd.empty((n,))
    nd.random("uniform", a, 0, 1)
    turns = {"ndock": lambda: nd.copy(a)}
    if torch:
        x, y = torch.empty(n, device="cuda"), torch.empty(n, device="cuda")
        turns["torch"] = lambda: y.copy_(x)
    warm_up(lambda: timer.ndock(turns["ndock"]))
    return {k: 8 * n / ms * 1e-6 for k, ms in measure(turns, timer, rounds)[0].items()}


def print_row(name, unit, scale, amount, got, failed, aims):
    ours = got.get("ndock")
    peers = {k: v for k, v in got.items() if k != "ndock"}
    best = min(peers, key=peers.get) if peers else None
    figures = {k: amount / v * scale for k, v in got.items()}
    ratio = "%5.2f x %s" % (peers[best] / ours, best) if ours and best else "-"
    share = "%5.2f of copy" % (amount / ours * scale / aims.copy) if ours and unit == "GB/s" else ""
    shown = " ".join("%s %8.1f" % kv for kv in figures.items())
    print("%-24s %-8s %-40s %-14s %s  %s" % (name, unit, shown, ratio, share, aims.text(name, unit, aim_of(name), figures)))
    for who, why in failed.items():
        print("#   %s: %s" % (who, why[:200]))
    sys.stdout.flush()


def main():
    parse = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parse.add_argument("--lib", default="libndock.so")
    parse.add_argument("--device", default="cuda:0")
    parse.add_argument("--only", default="")
    parse.add_argument("--rounds", type=int, default=20)
    parse.add_argument("--json")
    parse.add_argument("--quick", action="store_true", help="smaller arrays, for a first look")
    parse.add_argument("--rows", choices=("anchors", "speed", "all"), default="anchors")
    args = parse.parse_args()
    report = {"rows": []}
    if args.rows != "anchors":
        report["speed"] = speed_rows(args)
    if args.rows != "speed":
        report.update(anchor_rows(args))
    if args.json:
        with open(args.json, "w") as f:
            json.dump(report, f, indent=1)


def speed_rows(args):
    import gpu_speed
    return gpu_speed.run(argparse.Namespace(device=args.device, rows=args.only, quick=args.quick, limit=600,
                                            rounds=4 if args.quick else 7))


def anchor_rows(args):
    nd = ndock_ctypes.Library(args.lib, args.device)
    torch, cupy, jax = peer("torch"), peer("cupy"), peer("jax")
    jnp, jit = (jax.numpy, jax.jit) if jax else (None, None)
    timer = Timer(nd, torch, cupy)
    n, m = (1 << 26, 8192) if args.quick else (1 << 28, 16384)
    box = (16, 128, 256, 128) if args.quick else (64, 128, 256, 128)
    copies = ceiling(nd, torch, timer, args.rounds, args.quick)
    aims = Aims(max(copies.values()))
    print("copy ceiling: " + ", ".join("%s %.0f GB/s" % kv for kv in copies.items()))
    groups = [
        ("GB/s", 1e-6, lambda: elementwise_rows(nd, torch, cupy, jnp, jit, n)),
        ("GB/s", 1e-6, lambda: strided_rows(nd, torch, cupy, m, box)),
        ("GB/s", 1e-6, lambda: reduce_rows(nd, torch, cupy, m)),
        ("GB/s", 1e-6, lambda: index_rows(nd, torch, cupy, m, n)),
        ("GB/s", 1e-6, lambda: random_rows(nd, torch, n)),
        ("TFLOP/s", 1e-9, lambda: matmul_rows(nd, torch, (64, 256, 1024, 4096, 8192))),
        ("Gkey/s", 1e-6, lambda: sort_rows(nd, torch, cupy, n // 2)),
    ]
    report = {"copy": copies, "rows": []}
    for unit, scale, rows in groups:
        for name, amount, turns in rows():
            if args.only not in name:
                continue
            try:
                contenders = turns()
            except ndock_ctypes.Error as error:
                print("%-24s not measured: %s" % (name, error))
                continue
            got, failed = measure(contenders, timer, args.rounds)
            print_row(name, unit, scale, amount, got, failed, aims)
            report["rows"].append({"row": name, "unit": unit, "failed": failed,
                                   **{k: amount / v * scale for k, v in got.items()}})
            del contenders
            if torch:
                torch.cuda.empty_cache()
            if cupy:
                cupy.get_default_memory_pool().free_all_blocks()
    for name, turns in host_rows(args.device, torch, cupy, jnp, jit).items():
        if args.only in name:
            got = host_us(nd, turns, args.rounds)
            more = aims.text(name, "us", aim_of(name), {k: 1 / v for k, v in got.items()})
            print("%-24s %-8s %s  %s" % (name, "us", " ".join("%s %8.2f" % kv for kv in got.items()), more))
            report["rows"].append({"row": name, "unit": "us", "failed": {}, **got})
    aims.report()
    return report


if __name__ == "__main__":
    main()
