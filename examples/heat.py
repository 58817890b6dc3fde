#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The heat equation on a periodic square by the FFT and by finite differences: heat.c's solution in Python, with NumPy's times beside it."""
import argparse
import math
import sys
import time

import ndock as nd


def spots(xp, x):
    """Two warm spots, smooth across the edges, on cells at x along both axes; xp is ndock or NumPy."""
    def spot(cx, cy, width, height):
        waves = xp.cos(2 * math.pi * (x[None, :] - cx)) + xp.cos(2 * math.pi * (x[:, None] - cy))
        return height * xp.exp((waves - 2) / (2 * math.pi * width) ** 2)
    return spot(0.35, 0.4, 0.07, 1.0) + spot(0.65, 0.7, 0.1, 0.6)


def spectral(xp, u, end):
    """Each Fourier mode decays by exp(-4 pi^2 (kx^2 + ky^2) t)."""
    n = u.shape[0]
    kx, ky = xp.fft.rfftfreq(n, d=1 / n), xp.fft.fftfreq(n, d=1 / n)
    return xp.fft.irfftn(xp.fft.rfftn(u) * xp.exp(-4 * math.pi**2 * end * (kx[None, :] ** 2 + ky[:, None] ** 2)), s=u.shape, axes=(0, 1))


def differences(xp, u, end, steps):
    """Forward in time, five points in space: u += dt/h^2*(the four around - 4 u), in a grid with one more cell on each side."""
    n = u.shape[0]
    ratio = end * n * n / steps
    grid = xp.zeros((n + 2, n + 2), dtype=u.dtype)
    inner = grid[1:-1, 1:-1]
    inner[...] = u
    for _ in range(steps):
        grid[0, :], grid[-1, :] = grid[-2, :], grid[1, :]
        grid[:, 0], grid[:, -1] = grid[:, -2], grid[:, 1]
        around = grid[:-2, 1:-1] + grid[2:, 1:-1]
        around += grid[1:-1, :-2]
        around += grid[1:-1, 2:]
        around *= ratio
        inner *= 1 - 4 * ratio
        inner += around
    return inner


def timed(f):
    """f's result and milliseconds; a value is read, since results are queued."""
    begin = time.perf_counter()
    u = f()
    float(u[0, 0])
    return u, 1e3 * (time.perf_counter() - begin)


def solve(xp, n, end, steps):
    u = spots(xp, xp.arange(n, dtype=xp.float64) / n)
    float(u[0, 0])
    exact, fft_ms = timed(lambda: spectral(xp, u, end))
    stepped, steps_ms = timed(lambda: differences(xp, u, end, steps))
    apart = xp.abs(stepped - exact)
    return u, exact, apart, float(xp.max(apart)), fft_ms, steps_ms


def draw(path, first, last, apart):
    try:
        import matplotlib
    except ImportError:
        sys.exit("heat: pictures need matplotlib: pip install matplotlib, or use examples/heat, which needs libpng alone")
    matplotlib.use("Agg")
    from matplotlib import pyplot
    figure, axes = pyplot.subplots(1, 3, figsize=(10, 3.3), layout="constrained")
    for axis, title, u, most in zip(axes, ("start", "end", "FFT and steps apart"), (first, last, apart), (first, first, apart)):
        image = axis.imshow(u.to_device("cpu").numpy(), cmap="hot", vmin=0, vmax=float(nd.max(most)))
        axis.set(title=title, xticks=[], yticks=[])
        figure.colorbar(image, ax=axis)
    figure.savefig(path)
    print(f"{path}: the start, the end, and how far the two solutions are apart")


def main():
    parser = argparse.ArgumentParser(prog="heat", description=__doc__)
    parser.add_argument("--cells", type=int, default=256, help="of a side: grids of 32, 64 ... up to CELLS")
    parser.add_argument("--time", type=float, default=0.002, help="when the solutions are compared")
    parser.add_argument("--picture", help="where a picture of the start, the end and the error goes")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--peer", action="store_true", help="NumPy's times in the same run")
    o = parser.parse_args()
    if o.cells < 32 or not 0 < o.time <= 1:
        parser.error("--cells is 32 or more, --time above 0 and at most 1")
    peer = __import__("numpy") if o.peer else None
    with nd.device(o.device):
        print(" cells     steps    FFT [ms]  steps [ms]  difference" + ("   NumPy: FFT       steps" if peer else ""))
        for n in [2**i for i in range(5, o.cells.bit_length()) if 2**i < o.cells] + [o.cells]:
            steps = math.ceil(o.time * n * n / 0.25)
            first, last, apart, error, fft_ms, steps_ms = solve(nd, n, o.time, steps)
            theirs = "  {:11.2f} {:11.2f}".format(*solve(peer, n, o.time, steps)[4:]) if peer else ""
            print(f"{n:6}  {steps:8}  {fft_ms:10.2f}  {steps_ms:10.2f}  {error:10.2e}{theirs}")
        if o.picture:
            draw(o.picture, first, last, apart)


if __name__ == "__main__":
    main()
