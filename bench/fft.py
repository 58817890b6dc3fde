#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Fourier transforms of the CPU beside SciPy's (pocketfft), in one run.

    NDOCK_NUM_THREADS=1 bench/fft.py [--workers 1] [--rounds 9] [--only WORD]

A figure is the best of the rounds, in microseconds a call, of as many calls as take about 10 ms, the two taking turns: on a machine
that others use the best is what the machine can do. ratio: SciPy's time over ndock's, above 1 where ndock is faster. Both make
their results. --workers: SciPy's threads; ndock's are NDOCK_NUM_THREADS, read when it starts."""
import argparse
import time

import numpy
import scipy.fft

import ndock as nd

SECONDS = 0.01
ROWS = [("fft", "complex64", (1 << 10,)), ("fft", "complex64", (1 << 16,)), ("fft", "complex64", (1 << 20,)),
        ("fft", "complex128", (1 << 10,)), ("fft", "complex128", (1 << 16,)), ("fft", "complex128", (1 << 20,)),
        ("fft", "complex64", (4096, 64)), ("fft", "complex128", (4000, 64)), ("fft", "complex64", (256, 1024)),
        ("fft", "complex128", (256, 1024)), ("fft", "complex64", (20000, 8)), ("fft", "complex64", (256, 1000)),
        ("fft", "complex128", (256, 1000)), ("fft", "complex64", (256, 1009)), ("fft", "complex128", (256, 1009)),
        ("fft", "complex128", (100003,)), ("fft", "complex128", (100000,)), ("fft", "complex128", (59049,)),
        ("rfft", "float32", (64, 4096)), ("rfft", "float64", (64, 4096)), ("rfft", "float64", (1 << 20,)),
        ("rfft", "float32", (1000, 256)), ("rfft", "float64", (256, 1001)), ("irfft", "complex128", (64, 2049)),
        ("irfft", "complex64", (1000, 129)), ("fft2", "complex128", (512, 512)), ("fft2", "complex64", (1000, 1000)),
        ("fftn", "complex128", (64, 64, 64)), ("rfftn", "float32", (64, 64, 64)), ("dct", "float64", (256, 1024))]
ROWS += [(f"{name} {kind}", dtype, shape) for name in ("dct", "dst") for kind in (2, 3, 4) for dtype in ("float32", "float64")
         for shape in ((256, 1024), (1000, 100))]


def timed(fn, calls):
    start = time.perf_counter()
    for _ in range(calls):
        fn()
    return (time.perf_counter() - start) / calls


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--workers", type=int, default=1)
    p.add_argument("--rounds", type=int, default=9)
    p.add_argument("--only", default="")
    o = p.parse_args()
    nd.set_default_device("cpu")
    rng = numpy.random.default_rng(1)
    for name, dtype, shape in ROWS:
        label = f"{name:6} {dtype:10} " + " x ".join(map(str, shape))
        if o.only not in label:
            continue
        x = rng.normal(size=shape)
        x = (x + 1j * rng.normal(size=shape) if dtype[0] == "c" else x).astype(dtype)
        y = nd.asarray(x)
        name, *kind = name.split()
        kinds = {"type": int(kind[0])} if kind else {}
        ours, theirs = getattr(nd.fft, name), getattr(scipy.fft, name)
        turns = [lambda: ours(y, **kinds), lambda: theirs(x, workers=o.workers, **kinds)]
        calls = [max(1, int(SECONDS / timed(fn, 2))) for fn in turns]
        best = [1e9, 1e9]
        for _ in range(o.rounds):
            for i, fn in enumerate(turns):
                best[i] = min(best[i], timed(fn, calls[i]))
        print(f"{label:32} ndock {best[0] * 1e6:10.1f}   scipy {best[1] * 1e6:10.1f}   ratio {best[1] / best[0]:.2f}", flush=True)


if __name__ == "__main__":
    main()
