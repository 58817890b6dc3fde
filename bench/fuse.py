#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Fused functions beside the same functions run operation by operation and beside what others fuse, in one run.

    bench/fuse.py [--device cpu] [--n 2^25] [--rounds 5] [--only WORD]

GB/s of useful traffic: the bytes of the arguments and results, each counted once. On the CPU beside NumPy, numexpr and PyTorch, on
cuda beside torch.compile, cupy.fuse and jax.jit, where these are installed. copy: ndock's own copy that moves as many bytes, half of them
read, in the same run (one that moves more spends less of its time on beginning and ending); of copy: the fused figure over it. Best of
the rounds, taken in turns.
first: what the first fused call took, milliseconds. A row that fails says so, and the others go on."""
import argparse
import os
import time

PARSER = argparse.ArgumentParser()
PARSER.add_argument("--device", default="cpu")
PARSER.add_argument("--n", default="2^25")
PARSER.add_argument("--rounds", type=int, default=5)
PARSER.add_argument("--only", default="")
PARSER.add_argument("--dtypes", default="float32")
PARSER.add_argument("--no-compile", action="store_true", help="without torch.compile, whose start takes long")
ARGS = PARSER.parse_args()
N = 2 ** int(ARGS.n[2:]) if ARGS.n.startswith("2^") else int(ARGS.n)
GPU = ARGS.device.startswith("cuda")


def optional(name):
    try:
        return __import__(name)
    except Exception:
        return None


import numpy  # noqa: E402
import ndock as nd  # noqa: E402
numexpr, torch, cupy = optional("numexpr"), optional("torch"), optional("cupy")
os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
jax = optional("jax") if GPU and not ARGS.no_compile else None


# ---- the functions: m is the module whose arrays they get ----
def chain(m, a, b, c):
    return m.tanh(a * b + c)


def polynomial(m, a, b):
    return 2 * a + b * b + 1


def gelu(m, x):
    return 0.5 * x * (1 + m.tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)))


def broadcast(m, x, row, column):
    return x * row + column


def strided(m, x):
    return x[1:-1, 1:-1] + 0.1 * (x[2:, 1:-1] + x[:-2, 1:-1] + x[1:-1, 2:] + x[1:-1, :-2] - 4 * x[1:-1, 1:-1])


def softmax(m, x):
    if m is torch:
        e = m.exp(x - m.amax(x, -1, keepdim=True))
        return e / m.sum(e, -1, keepdim=True)
    e = m.exp(x - m.max(x, axis=-1, keepdims=True))
    return e / m.sum(e, axis=-1, keepdims=True)


def layer_norm(m, x):
    if m is torch:
        c = x - m.mean(x, -1, keepdim=True)
        return c / m.sqrt(m.mean(c * c, -1, keepdim=True) + 1e-5)
    c = x - m.mean(x, axis=-1, keepdims=True)
    return c / m.sqrt(m.mean(c * c, axis=-1, keepdims=True) + 1e-5)


def variance(m, x):
    if m is torch:
        c = x - m.mean(x, -1, keepdim=True)
        return m.mean(c * c, -1)
    c = x - m.mean(x, axis=-1, keepdims=True)
    return m.mean(c * c, axis=-1)


def normal(m, x):
    if m is nd:
        return 0.5 * (1 + nd.erf(x * 0.7071067811865476))
    if m is torch:
        return 0.5 * (1 + torch.erf(x * 0.7071067811865476))
    if jax and m is jax.numpy:
        return 0.5 * (1 + jax.scipy.special.erf(x * 0.7071067811865476))
    return 1 / (1 + m.exp(-1.5957691216 * (x + 0.044715 * x * x * x)))  # NumPy and CuPy's core have no erf


def black_scholes(m, price, strike, years):
    root = 0.3 * m.sqrt(years)
    d1 = (m.log(price / strike) + (0.02 + 0.5 * 0.3 * 0.3) * years) / root
    discount = strike * m.exp(-0.02 * years)
    return price * normal(m, d1) - discount * normal(m, d1 - root)


SIDE = 4096
ROWS = {  # name: function, shapes of the arguments, numexpr's text
    "tanh(a*b+c)": (chain, [(N,)] * 3, "tanh(a*b+c)"),
    "2*a+b*b+1": (polynomial, [(N,)] * 2, "2*a+b*b+1"),
    "gelu by hand": (gelu, [(N,)], "0.5*a*(1+tanh(0.7978845608028654*(a+0.044715*a*a*a)))"),
    "Black-Scholes": (black_scholes, [(N // 4,)] * 3, None),
    "x*row+column": (broadcast, [(N // SIDE, SIDE), (SIDE,), (N // SIDE, 1)], None),
    "heat step": (strided, [(N // SIDE, SIDE)], None),
    "softmax rows": (softmax, [(N // 1024, 1024)], None),
    "layer norm rows": (layer_norm, [(N // 1024, 1024)], None),
    "variance rows": (variance, [(N // 1024, 1024)], None),
}


def sync(module):
    if GPU:
        {nd: lambda: nd.synchronize(ARGS.device), torch: lambda: torch.cuda.synchronize(),
         cupy: lambda: cupy.cuda.Stream.null.synchronize(), jax: lambda: None}[module]()


def timed(fn, module, calls):
    sync(module)
    start = time.perf_counter()
    for _ in range(calls):
        result = fn()
    if jax and module is jax:
        result.block_until_ready()  # they run in order
    sync(module)
    return (time.perf_counter() - start) / calls


def contestants(name, dtype):
    """label, module, function of no arguments"""
    function, shapes, text = ROWS[name]
    rng = numpy.random.default_rng(1)
    hosts = [rng.random(s, dtype=numpy.float32) + numpy.float32(0.5) for s in shapes]
    ours = [nd.asarray(h).to_device(ARGS.device).astype(dtype) for h in hosts]
    fused = nd.fuse(lambda *xs: function(nd, *xs))
    fused(*ours)  # is traced
    start = time.perf_counter()
    fused(*ours)
    sync(nd)
    first = (time.perf_counter() - start) * 1e3
    why = fused.fused_reason
    nbytes = sum(a.nbytes for a in ours) + fused(*ours).nbytes
    source = nd.ones((nbytes // (2 * ours[0].itemsize),), dtype=dtype, device=ARGS.device)
    into = nd.empty(source.shape, dtype=dtype, device=ARGS.device)
    made = [("copy", nd, lambda: nd.copy_to(source, into)),
            ("fused", nd, lambda: fused(*ours)),
            ("ndock eager", nd, lambda: function(nd, *ours))]
    if not GPU and dtype == "float32":
        made.append(("NumPy", None, lambda: function(numpy, *hosts)))
        if numexpr and text:
            names = dict(zip("abc", hosts))
            made.append(("numexpr", None, lambda: numexpr.evaluate(text, names)))
    if torch and (not GPU or torch.cuda.is_available()):
        theirs = [torch.from_numpy(h).to(ARGS.device).to(getattr(torch, dtype)) for h in hosts]
        made.append(("torch eager", torch, lambda: function(torch, *theirs)))
        if not ARGS.no_compile and hasattr(torch, "compile"):
            torch._dynamo.reset()  # one line makes them all: after eight it compiles no more of it
            compiled = torch.compile(lambda *xs: function(torch, *xs))
            made.append(("torch.compile", torch, lambda: compiled(*theirs)))
    if cupy and GPU and dtype == "float32" and name in ("tanh(a*b+c)", "2*a+b*b+1", "gelu by hand"):
        arrays = [cupy.asarray(h) for h in hosts]
        kernel = cupy.fuse(lambda *xs: function(cupy, *xs))
        made.append(("cupy.fuse", cupy, lambda: kernel(*arrays)))
    if jax:
        handed = [jax.numpy.asarray(h).astype(dtype) for h in hosts]
        jitted = jax.jit(lambda *xs: function(jax.numpy, *xs))
        made.append(("jax.jit", jax, lambda: jitted(*handed)))
    return made, nbytes, source.nbytes * 2, first, why


def run_row(name, dtype):
    made, nbytes, copied, first, why = contestants(name, dtype)
    alive, best = [], {}
    for label, module, fn in made:
        try:
            fn()
            calls = max(1, int(0.05 / timed(fn, module, 1)))
            alive.append((label, module, fn, calls))
        except Exception as e:
            print(f"#   {name} {dtype}, {label}: {type(e).__name__}: {str(e).splitlines()[0] if str(e) else ''}")
    for _ in range(ARGS.rounds):
        for label, module, fn, calls in alive:
            best[label] = min(best.get(label, 1e9), timed(fn, module, calls))
    rate = {label: (copied if label == "copy" else nbytes) / t / 1e9 for label, t in best.items()}
    share = rate["fused"] / rate["copy"]
    others = "  ".join(f"{label} {r:.4g}" for label, r in rate.items() if label not in ("copy", "fused"))
    print(f"{name:16} {dtype:8} fused {rate['fused']:6.4g}  of copy {share:5.2f} ({rate['copy']:.4g})  {others}"
          f"  first {first:.1f} ms{'  NOT FUSED: ' + why if why else ''}", flush=True)


def small_calls():
    """What a call costs: 8 elements."""
    x = nd.ones((8,), dtype="float32", device=ARGS.device)
    fused = nd.fuse(lambda a, b, c: nd.tanh(a * b + c))
    fused(x, x, x), fused(x, x, x)
    t = min(timed(lambda: fused(x, x, x), nd, 2000) for _ in range(ARGS.rounds))
    e = min(timed(lambda: nd.tanh(x * x + x), nd, 2000) for _ in range(ARGS.rounds))
    print(f"a call of 8 elements: fused {t * 1e6:.2f} us, operation by operation {e * 1e6:.2f} us")


def main():
    print(f"# {ARGS.device}, {N} elements, GB/s of useful traffic; numexpr {getattr(numexpr, '__version__', None)}, "
          f"torch {getattr(torch, '__version__', None)}, cupy {getattr(cupy, '__version__', None)}")
    nd.fuse_cache_clear()
    for dtype in ARGS.dtypes.split(","):
        for name in ROWS:
            if ARGS.only and ARGS.only not in name:
                continue
            try:
                run_row(name, dtype)
            except Exception as e:
                print(f"{name:16} {dtype:8} FAILED: {type(e).__name__}: {e}", flush=True)
    try:
        small_calls()
    except Exception as e:
        print(f"small calls FAILED: {type(e).__name__}: {e}")
    s = nd.fuse_statistics()
    print(f"# {s['compiled']} loops compiled in {s['compile_ns'] / 1e6:.1f} ms")


if __name__ == "__main__":
    if N % SIDE:
        raise SystemExit(f"--n is a multiple of {SIDE}")
    main()
