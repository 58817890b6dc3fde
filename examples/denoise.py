#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Takes the noise out of an image by Wiener's filter in its Fourier transform: denoise.c in Python, with NumPy's time beside it."""
import argparse
import math
import sys
import time

import ndock as nd

REACH, CAUTION = 2, 1.3  # as in denoise.c, which has the formulas


def rings(n):
    """In a disc cosine rings that grow finer outwards, 0.1 to 0.9, on grey."""
    x = nd.linspace(-1, 1, n, dtype=nd.float32) ** 2
    squares = x[:, None] + x[None, :]
    return 0.5 + nd.where(squares < 0.8, 0.4 * nd.cos(10 * math.pi * squares), 0)


def mean_around(xp, a, axis):
    return sum(xp.roll(a, shift, axis=axis) for shift in range(-REACH, REACH + 1)) / (2 * REACH + 1)


def denoise(xp, noisy):
    """The image without noise, and the deviation found; xp is ndock or NumPy, whose functions have the same names."""
    modes = xp.fft.fftn(noisy)
    magnitudes = xp.abs(modes)
    noise = float(xp.median(magnitudes)) ** 2 / math.log(2)
    gain = xp.maximum(1 - CAUTION * noise / mean_around(xp, mean_around(xp, magnitudes**2, 0), 1), 0)
    gain[0, 0] = 1
    return xp.real(xp.fft.ifftn(modes * gain)), math.sqrt(noise / (noisy.shape[0] * noisy.shape[1]))


def psnr(xp, a, truth):
    return -10 * math.log10(float(xp.mean((a - truth) ** 2)))


def timed(xp, noisy, truth):
    begin = time.perf_counter()
    clean, found = denoise(xp, noisy)
    after = psnr(xp, clean, truth)  # reads a value: results are queued
    return clean, found, after, 1e3 * (time.perf_counter() - begin)


def draw(path, pictures):
    try:
        import matplotlib
    except ImportError:
        sys.exit("denoise: pictures need matplotlib: pip install matplotlib, or use examples/denoise, which needs libpng alone")
    matplotlib.use("Agg")
    from matplotlib import pyplot
    figure, axes = pyplot.subplots(1, len(pictures), figsize=(4 * len(pictures), 4), layout="constrained")
    for axis, (title, a) in zip(axes, pictures.items()):
        axis.imshow(a.to_device("cpu").numpy(), cmap="gray", vmin=0, vmax=1)
        axis.set(title=title, xticks=[], yticks=[])
    figure.savefig(path)
    print(f"{path}: the image, with noise, and without it again")


def main():
    parser = argparse.ArgumentParser(prog="denoise", description=__doc__)
    parser.add_argument("--image", help="a .npy file, a matrix of numbers from 0 to 1; default: rings in a disc")
    parser.add_argument("--side", type=int, default=512, help="pixels of a side of the rings")
    parser.add_argument("--noise", type=float, default=0.2, help="standard deviation of the noise")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--picture", help="where a picture of the three goes")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--peer", action="store_true", help="NumPy's time in the same run")
    o = parser.parse_args()
    with nd.device(o.device):
        truth = nd.astype(nd.load(o.image), nd.float32) if o.image else rings(o.side)
        noisy = truth + nd.random.normal(0, o.noise, truth.shape, key=nd.random.Key(o.seed), dtype=nd.float32)
        before = psnr(nd, noisy, truth)
        clean, found, after, ms = timed(nd, noisy, truth)
        print(f"{truth.shape[0]} x {truth.shape[1]} pixels, noise of deviation {o.noise:g}, found {found:.3g}: "
              f"{before:.2f} dB before, {after:.2f} dB after, {ms:.1f} ms")
        if o.peer:
            import numpy
            theirs = timed(numpy, *(a.to_device("cpu").numpy() for a in (noisy, truth)))
            print(f"NumPy: {theirs[2]:.2f} dB after, {theirs[3]:.1f} ms")
        if o.picture:
            draw(o.picture, {"the image": truth, "with noise": noisy, "without it again": clean})


if __name__ == "__main__":
    main()
