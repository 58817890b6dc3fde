#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Fourier transforms of a GPU: ndock from Python beside cuFFT called directly, PyTorch and CuPy, in one run.

    bench/gpu_fft.py [--device cuda:0] [--rounds 7] [--only WORD] [--limit 40] [--json FILE]

A figure is the median of the rounds, in microseconds a call, of as many calls as take about 8 ms, between two waits for the whole
device: for short transforms it is what the host takes. The contenders of a row take turns, in single precision; cuFFT has a plan
made once, whose output is given; the others make their results. The result of a call is let go after the next one is made, so that
two places in memory take turns; cuFFT writes to two in turn as well, since one place alone may stay in the device's cache. In brackets:
cuFFT's, or a peer's, time over ndock's (above 1, ndock is faster). "first" is the median of calls with an empty plan cache, of ndock, PyTorch and
cuFFT (planning and running, the plan before destroyed), in milliseconds.
cuFFT destroys the operand of a transform to real numbers ("Out-of-place complex-to-real FFT will always overwrite input buffer", its
manual): ndock keeps it, and so do PyTorch and CuPy. "kept" is cuFFT after the driver's copy of the operand, the least that this takes
where the copy is a call of its own.
PyTorch leaves what real numbers have as a transform of two axes transposed in memory (strides (1, n)); "dense" is its result in C order,
as ndock, cuFFT and CuPy give it."""
import argparse
import ctypes
import itertools
import json
import statistics
import time

import ndock as nd
from gpu_timing import Waiting, library, peer, repeats, timed

R2C, C2R, C2C = 0x2a, 0x2c, 0x29
FIRSTS = 5  # first calls of which the median is taken


def address(x):
    return ctypes.c_void_p(x.__cuda_array_interface__["data"][0])


class Direct:
    """cuFFT itself: plans of dense arrays, with a work area of its own."""

    def __init__(self):
        self.lib = library("libcufft.so.12", "libcufft.so.11")
        self.driver = library("libcuda.so.1")
        self.latest = None  # the plan of the latest first call

    def forget(self):
        """Destroys that plan, as a cache of plans that is cleared does: a plan takes longer to make while others are kept."""
        if self.latest:
            self.lib.cufftDestroy(self.latest)
        self.latest = None

    def first(self, kind, lengths, batch, x, results):
        """A call that has to make its plan."""
        self.latest = self.plan(kind, lengths, batch)
        self.turn(self.latest, kind, x, results)()

    def plan(self, kind, lengths, batch):
        handle, work = ctypes.c_int(), ctypes.c_size_t()
        n = (ctypes.c_longlong * len(lengths))(*lengths)
        one = ctypes.c_longlong(1)
        status = self.lib.cufftCreate(ctypes.byref(handle)) or self.lib.cufftMakePlanMany64(
            handle, len(lengths), n, None, one, one, None, one, one, kind, ctypes.c_longlong(batch), ctypes.byref(work))
        if status:
            raise RuntimeError(f"cuFFT: {status}")
        return handle

    def turn(self, handle, kind, x, results):
        """A call writes to the result after that of the call before."""
        source, targets = address(x), itertools.cycle(map(address, results))
        if kind == C2C:
            return lambda: self.lib.cufftExecC2C(handle, source, next(targets), -1)
        run = self.lib.cufftExecR2C if kind == R2C else self.lib.cufftExecC2R
        return lambda: run(handle, source, next(targets))

    def kept(self, handle, x, copy, results):
        """The transform of a copy, of which the operand's bytes are read and written once more."""
        run, nbytes = self.turn(handle, C2R, copy, results), ctypes.c_size_t(x.size * 8)
        source, target, stream = address(x), address(copy), ctypes.c_void_p(1)
        return lambda: (self.driver.cuMemcpyDtoDAsync_v2(target, source, nbytes, stream), run())


# name, kind, shape of the real or complex side, transformed axes
ROWS = [("1-D 2^20", C2C, (1 << 20,), 1), ("4096 x 1024", C2C, (4096, 1024), 1), ("2-D 4096^2", C2C, (4096, 4096), 2),
        ("3-D 256^3", C2C, (256, 256, 256), 3), ("4096 x 1000", C2C, (4096, 1000), 1), ("4096 x 1009", C2C, (4096, 1009), 1),
        ("r2c 1-D 2^20", R2C, (1 << 20,), 1), ("r2c 4096 x 1024", R2C, (4096, 1024), 1), ("r2c 2-D 4096^2", R2C, (4096, 4096), 2),
        ("r2c 3-D 256^3", R2C, (256, 256, 256), 3), ("r2c 4096 x 1009", R2C, (4096, 1009), 1),
        ("c2r 1-D 2^20", C2R, (1 << 20,), 1), ("c2r 4096 x 1024", C2R, (4096, 1024), 1), ("c2r 2-D 4096^2", C2R, (4096, 4096), 2),
        ("c2r 3-D 256^3", C2R, (256, 256, 256), 3), ("c2r 4096 x 1009", C2R, (4096, 1009), 1),
        ("small 16 x 64", C2C, (16, 64), 1)]


def operand(kind, shape, device):
    real = nd.random.normal(size=shape, dtype=nd.float32, device=device)
    return real if kind == R2C else nd.fft.fft(real) if kind == C2C else nd.fft.rfft(real)


def spelled(fft, kind, shape, axes, x):
    """The call in the words that all three packages share."""
    dims, lengths = tuple(range(-axes, 0)), shape[-axes:]
    if axes == 1:
        return {C2C: lambda: fft.fft(x), R2C: lambda: fft.rfft(x), C2R: lambda: fft.irfft(x, n=lengths[0], norm="forward")}[kind]
    return {C2C: lambda: fft.fftn(x, **axes_of(fft, dims)), R2C: lambda: fft.rfftn(x, **axes_of(fft, dims)),
            C2R: lambda: fft.irfftn(x, s=lengths, norm="forward", **axes_of(fft, dims))}[kind]


def axes_of(fft, dims):
    return {"dim" if fft.__name__.startswith("torch") else "axes": dims}


def measure(turns, rounds, wait):
    """{contender: median seconds a call}."""
    for fn in turns.values():
        timed(fn, wait, 3)
    calls = {name: repeats(timed(fn, wait, 3), 2000) for name, fn in turns.items()}
    times = {name: [] for name in turns}
    for _ in range(rounds):
        for name, fn in turns.items():
            times[name].append(timed(fn, wait, calls[name]))
    return {name: statistics.median(t) for name, t in times.items()}


def contenders(row, device, direct, torch, cupy):
    _, kind, shape, axes = row
    x = operand(kind, shape, device)
    results = [spelled(nd.fft, kind, shape, axes, x)() for _ in range(2)]
    turns, first = {"ndock": spelled(nd.fft, kind, shape, axes, x)}, {}
    first["ndock"] = (nd.backends.fft.plan_cache[device].clear, turns["ndock"])
    batch = 1
    for n in shape[:-axes]:
        batch *= n
    if direct.lib:
        # Its operand is an array of its own: a transform to real numbers destroys it.
        mine = x.copy()
        handle = direct.plan(kind, shape[-axes:], batch)
        direct.lib.cufftSetStream(handle, ctypes.c_void_p(1))
        turns["cuFFT"] = direct.turn(handle, kind, mine, results)
        if kind == C2R:
            turns["kept"] = direct.kept(handle, x, mine, results)
        first["cuFFT"] = (direct.forget, lambda: direct.first(kind, shape[-axes:], batch, mine, results))
    if torch:
        t = torch.randn(shape, dtype=torch.float32, device="cuda")
        t = t if kind == R2C else torch.fft.fft(t) if kind == C2C else torch.fft.rfft(t)
        turns["torch"] = spelled(torch.fft, kind, shape, axes, t)
        plain = turns["torch"]
        if not plain().is_contiguous():
            turns["dense"] = lambda: plain().contiguous()
        first["torch"] = (torch.backends.cuda.cufft_plan_cache.clear, turns["torch"])
    if cupy:
        c = cupy.random.standard_normal(shape, dtype="float32")
        c = c if kind == R2C else cupy.fft.fft(c) if kind == C2C else cupy.fft.rfft(c)
        turns["cupy"] = spelled(cupy.fft, kind, shape, axes, c)
    return turns, first


def first_calls(first, wait):
    found = {}
    for name, (forget, fn) in first.items():
        fn()
        wait()
        times = []
        for _ in range(FIRSTS):
            forget()
            times.append(timed(fn, wait))
        forget()
        found[name] = statistics.median(times) * 1e3
    return found


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--device", default="cuda:0")
    p.add_argument("--rounds", type=int, default=7)
    p.add_argument("--only", default="")
    p.add_argument("--limit", type=float, default=40, help="no row begins after so many seconds")
    p.add_argument("--json")
    o = p.parse_args()
    began, results = time.monotonic(), {}
    wait, direct = Waiting(nd.Device(o.device).index), Direct()
    torch, cupy = peer("torch"), peer("cupy")
    for row in ROWS:
        if o.only not in row[0]:
            continue
        if time.monotonic() - began > o.limit:
            print(f"# {row[0]}: left out, {o.limit:.0f} seconds are over")
            continue
        turns, first = contenders(row, o.device, direct, torch, cupy)
        got = measure(turns, o.rounds, wait)
        once = first_calls(first, wait)
        results[row[0]] = {"us": {k: v * 1e6 for k, v in got.items()}, "first_ms": once}
        ours = got["ndock"]
        print(f"{row[0]:16} " + "  ".join(f"{k} {v * 1e6:9.1f}" + ("" if k == "ndock" else f" ({v / ours:.2f})")
                                          for k, v in got.items())
              + "   first " + " ".join(f"{k} {v:.2f}" for k, v in once.items()), flush=True)
        del turns, first
    print(f"# {time.monotonic() - began:.0f} seconds; plans: {nd.backends.fft.plan_cache[o.device]!r}")
    if o.json:
        with open(o.json, "w") as f:
            json.dump(results, f, indent=1)


if __name__ == "__main__":
    main()
