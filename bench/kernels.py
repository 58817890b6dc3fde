#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels by formula beside NumPy (cpu) and CuPy (cuda), in one run: first compile, start from the cache, bandwidth.

    bench/kernels.py [--device cpu] [--rounds 7] [--size 16777216] [--only WORD]

Each row is the best of the rounds, the peers taking turns. GB/s counts every operand once, read or written, whatever a peer moves.
compile: the first call in a process with an empty cache folder; cached: the first call in a process that finds the folder filled; both
without imports and device set-up, and CuPy with its own folder. call: microseconds of a call on 100 elements, without waiting on a GPU. A
row that fails is printed with its reason, and the others go on."""
import argparse
import os
import subprocess
import sys
import tempfile
import time

# name: inputs, output, formula, NumPy's or CuPy's expression; a, b, c are float32 of the size, or of the shape where one is said
ELEMENTWISE = {
    "z = x*x + y": ("float32 x, float32 y", "float32 z", "z = x*x + y", lambda m, x, y, w: x * x + y, 3),
    "z = 2*x + y*y + 1": ("float32 x, float32 y", "float32 z", "z = 2.0f*x + y*y + 1.0f", lambda m, x, y, w: 2 * x + y * y + 1, 3),
    "tanh(x*y + w)": ("float32 x, float32 y, float32 w", "float32 z", "z = tanh(x*y + w)", lambda m, x, y, w: m.tanh(x * y + w), 4),
    "gelu by hand": ("float32 x", "float32 z", "z = 0.5f*x*(1.0f + tanh(0.7978845608f*(x + 0.044715f*x*x*x)))",
                     lambda m, x, y, w: 0.5 * x * (1 + m.tanh(0.7978845608 * (x + 0.044715 * x * x * x))), 2),
    "where and clip": ("float32 x, float32 y", "float32 z", "z = x > y ? min(x, 1.0f) : max(y, -1.0f)",
                       lambda m, x, y, w: m.where(x > y, m.minimum(x, 1), m.maximum(y, -1)), 3),
    "row broadcast": ("float32 x, float32 y", "float32 z", "z = x*y + 1.0f", lambda m, x, y, w: x * y + 1, 2),
    "transposed": ("float32 x, float32 y", "float32 z", "z = x + y", lambda m, x, y, w: x + y, 3),
    "int32 hash": ("int32 x", "int32 z", "uint32 h = x; h ^= h >> 16; h *= 0x85ebca6bu; h ^= h >> 13; z = h",
                   None, 2),
}
REDUCTIONS = {
    "norm of all": ("x * x", "a + b", "y = sqrt(a)", None, lambda m, x: m.sqrt((x * x).sum())),
    "norm of rows": ("x * x", "a + b", "y = sqrt(a)", 1, lambda m, x: m.sqrt((x * x).sum(axis=1))),
    "norm of columns": ("x * x", "a + b", "y = sqrt(a)", 0, lambda m, x: m.sqrt((x * x).sum(axis=0))),
    "largest of rows": ("x", "max(a, b)", "y = a", 1, lambda m, x: x.max(axis=1)),
}
CHILD = """
import time, sys
{imports}
f = {maker}('float32 x, float32 y', 'float32 z', 'z = x*x + y', 'bench_kernel')
x = {array}
{sync}
t = time.perf_counter(); f(x, x); {sync}
print(time.perf_counter() - t)
"""


def best_of(turns, sync, rounds, seconds=0.02):
    """Seconds of a call of each, the best of the rounds."""
    calls = []
    for fn in turns:
        fn()
        sync()
        start = time.perf_counter()
        fn()
        sync()
        calls.append(max(1, int(seconds / (time.perf_counter() - start + 1e-9))))
    best = [1e9] * len(turns)
    for _ in range(rounds):
        for k, fn in enumerate(turns):
            start = time.perf_counter()
            for _ in range(calls[k]):
                fn()
            sync()
            best[k] = min(best[k], (time.perf_counter() - start) / calls[k])
    return best


def row(label, figures, unit):
    print(f"{label:<24}" + "".join(f"{name:>12} {value:>9.2f} {unit}" for name, value in figures), flush=True)


class Sides:
    """ndock and its peers on the device: each a name, a maker of kernels, and how an array gets there."""

    def __init__(self, device):
        import numpy
        import ndock as nd
        self.nd, self.numpy, self.device = nd, numpy, device
        self.cupy = None
        if device.startswith("cuda"):
            try:
                import cupy
                cupy.cuda.Device(0).use()
                self.cupy = cupy
            except Exception as e:  # a peer that is not there is no reason to stop
                print(f"# no CuPy: {e}")

    def sync(self):
        if self.device != "cpu":
            self.nd.synchronize(self.device)
        if self.cupy:
            self.cupy.cuda.Device(0).synchronize()

    def ours(self, a):
        return self.nd.asarray(a).to(self.device)


def operands(numpy, rng, label, n):
    side = int(n ** 0.5) // 64 * 64
    if label == "row broadcast":
        return [rng.random((side, side), dtype="f"), rng.random(side, dtype="f"), None], side * side
    if label == "transposed":
        return [rng.random((side, side), dtype="f").T, rng.random((side, side), dtype="f"), None], side * side
    if label == "int32 hash":
        return [rng.integers(0, 1 << 30, n).astype("int32"), None, None], n
    return [rng.random(n, dtype="f") - 0.5 for _ in range(3)], n


def bench_elementwise(s, args, rng):
    print(f"# elementwise, GB/s on {s.device}, {args.size} elements")
    for label, (ins, outs, text, expression, streams) in ELEMENTWISE.items():
        if args.only and args.only not in label:
            continue
        try:
            arrays, n = operands(s.numpy, rng, label, args.size)
            count = ins.count(",") + 1
            mine = [s.ours(a) if a is not None else None for a in arrays]
            if label == "transposed":
                mine[0] = s.ours(arrays[0].T).transpose()
            f = s.nd.ElementwiseKernel(ins, outs, text, "bench")
            out = s.nd.empty(mine[0].shape, dtype=outs.split()[0], device=s.device)
            turns = [("ndock", lambda: f(*mine[:count], out))]
            if s.cupy:
                theirs = [s.cupy.asarray(a) if a is not None else None for a in arrays]
                if label == "transposed":
                    theirs[0] = s.cupy.asarray(arrays[0].T).T
                g = s.cupy.ElementwiseKernel(ins, outs, text.replace("uint32", "unsigned int"), "bench")
                other = s.cupy.empty(theirs[0].shape, dtype=outs.split()[0])
                turns.append(("CuPy", lambda: g(*theirs[:count], other)))
            elif expression:
                turns.append(("NumPy", lambda: expression(s.numpy, *arrays)))
            if expression:
                turns.append(("eager", lambda: expression(s.nd, *mine)))
            best = best_of([fn for _, fn in turns], s.sync, args.rounds)
            row(label, [(name, 4 * n * streams / 1e9 / t) for (name, _), t in zip(turns, best)], "GB/s")
        except Exception as e:
            print(f"{label:<24} failed: {type(e).__name__}: {str(e)[:200]}", flush=True)


def bench_reductions(s, args, rng):
    side = int(args.size ** 0.5) // 64 * 64
    print(f"# reductions, GB/s on {s.device}, float32 {side} x {side}")
    x = rng.random((side, side), dtype="f")
    for label, (mapped, joined, post, axis, expression) in REDUCTIONS.items():
        if args.only and args.only not in label:
            continue
        try:
            mine = s.ours(x)
            f = s.nd.ReductionKernel("float32 x", "float32 y", mapped, joined, post, "0", "bench")
            turns = [("ndock", lambda: f(mine, axis=axis))]
            if s.cupy:
                theirs = s.cupy.asarray(x)
                g = s.cupy.ReductionKernel("float32 x", "float32 y", mapped, joined, post, "0", "bench")
                turns.append(("CuPy", lambda: g(theirs, axis=axis)))
            else:
                turns.append(("NumPy", lambda: expression(s.numpy, x)))
            best = best_of([fn for _, fn in turns], s.sync, args.rounds)
            row(label, [(name, 4 * side * side / 1e9 / t) for (name, _), t in zip(turns, best)], "GB/s")
        except Exception as e:
            print(f"{label:<24} failed: {type(e).__name__}: {str(e)[:200]}", flush=True)


def first_calls(s):
    """Compile and cached start, in processes of their own."""
    print("# first call of z = x*x + y in a process, ms")
    sides = {"ndock": {"imports": f"import ndock as nd\ny = nd.ones(1000, dtype='float32', device='{s.device}') + 1",
                       "maker": "nd.ElementwiseKernel", "array": "y", "sync": f"nd.synchronize('{s.device}')"}}
    if s.cupy:
        sides["CuPy"] = {"imports": "import cupy\ny = cupy.ones(1000, dtype='f') + 1", "maker": "cupy.ElementwiseKernel", "array": "y",
                         "sync": "cupy.cuda.Device(0).synchronize()"}
    for name, texts in sides.items():
        try:
            with tempfile.TemporaryDirectory() as folder:
                env = {**os.environ, "NDOCK_KERNEL_CACHE_DIR": folder, "CUPY_CACHE_DIR": folder,
                       "PYTHONPYCACHEPREFIX": folder, "PYTHONDONTWRITEBYTECODE": ""}  # modules come compiled, as when they are installed
                times = []
                for _ in range(4):
                    out = subprocess.run([sys.executable, "-c", CHILD.format(**texts)], env=env, capture_output=True, text=True)
                    if out.returncode:
                        raise RuntimeError(out.stderr[-300:])
                    times.append(1e3 * float(out.stdout))
                row(name, [("compile", times[0]), ("cached", min(times[1:]))], "ms")
        except Exception as e:
            print(f"{name:<24} failed: {type(e).__name__}: {str(e)[:300]}", flush=True)


def bench_calls(s, args, rng):
    print("# call on 100 elements, us")
    a = rng.random(100, dtype="f")
    mine = s.ours(a)
    f = s.nd.ElementwiseKernel("float32 x, float32 y", "float32 z", "z = x*x + y", "small")
    turns = [("ndock", lambda: f(mine, mine)), ("number", lambda: f(mine, 1.5)), ("eager", lambda: mine * mine + mine)]
    if s.cupy:
        theirs = s.cupy.asarray(a)
        g = s.cupy.ElementwiseKernel("float32 x, float32 y", "float32 z", "z = x*x + y", "small")
        turns.append(("CuPy", lambda: g(theirs, theirs)))
    else:
        turns.append(("NumPy", lambda: a * a + a))
    best = best_of([fn for _, fn in turns], s.sync, args.rounds, 0.005)
    row("z = x*x + y", [(name, 1e6 * t) for (name, _), t in zip(turns, best)], "us")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--size", type=int, default=0)
    parser.add_argument("--only", default="")
    args = parser.parse_args()
    args.size = args.size or (1 << 24 if args.device == "cpu" else 1 << 27)
    s = Sides(args.device)
    rng = s.numpy.random.default_rng(3)
    bench_elementwise(s, args, rng)
    bench_reductions(s, args, rng)
    for part in (lambda: bench_calls(s, args, rng), lambda: first_calls(s)):
        try:
            part()
        except Exception as e:
            print(f"# failed: {type(e).__name__}: {str(e)[:300]}", flush=True)


if __name__ == "__main__":
    main()
