#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Principal components of the Fashion-MNIST training images by a singular value decomposition: pca.c in Python, with NumPy's time beside it."""
import argparse
import os
import sys
import time

import ndock as nd

SIDE = 28


def read_images(folder, count):
    """The first images of 0 to 1, float32 (n, 784)."""
    path = os.path.join(folder, "train-images-idx3-ubyte")
    images = nd.load(path + ".gz" if os.path.exists(path + ".gz") else path)
    if images.shape[1:] != (SIDE, SIDE):
        sys.exit(f"pca: {path}: not images of 28 x 28")
    return nd.astype(nd.reshape(images, (-1, SIDE * SIDE))[:count], nd.float32) / 255


def analyse(xp, x):
    """The mean, and what x less the mean is the product of; the rows of vh are the components. xp is ndock or NumPy."""
    mean = xp.mean(x, axis=0)
    return mean, *xp.linalg.svd(x - mean, full_matrices=False)


def timed(xp, x):
    begin = time.perf_counter()
    found = analyse(xp, x)
    float(found[2][0])  # results are queued
    return found, time.perf_counter() - begin


def draw(path, x, found, k, shown=8):
    try:
        import matplotlib
    except ImportError:
        sys.exit("pca: pictures need matplotlib: pip install matplotlib, or use examples/pca, which needs libpng alone")
    matplotlib.use("Agg")
    from matplotlib import pyplot
    mean, u, s, vh = found
    rows = {"components": vh[:shown], "images": x[:shown], f"of {k} components": mean + (u[:shown, :k] * s[:k]) @ vh[:k]}
    figure, axes = pyplot.subplots(len(rows), shown, figsize=(shown, len(rows)), layout="constrained")
    for line, (name, images) in zip(axes, rows.items()):
        for axis, image in zip(line, images.to_device("cpu").numpy()):
            axis.imshow(image.reshape(SIDE, SIDE), cmap="gray")
            axis.set(xticks=[], yticks=[])
        line[0].set_ylabel(name, fontsize="xx-small")
    figure.savefig(path, dpi=150)
    print(f"{path}: {', '.join(rows)}")


def main():
    parser = argparse.ArgumentParser(prog="pca", description=__doc__)
    parser.add_argument("--data", default="/usr/share/datasets/fashion-mnist", help="folder of train-images-idx3-ubyte, plain or .gz")
    parser.add_argument("--images", type=int, default=60000)
    parser.add_argument("--components", type=int, default=64, help="that images are made of in the picture")
    parser.add_argument("--picture", help="where a picture of components and images goes")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--peer", action="store_true", help="NumPy's time in the same run")
    o = parser.parse_args()
    if o.images < SIDE * SIDE or not 1 <= o.components <= SIDE * SIDE:
        parser.error("--images is 784 or more, --components 1 to 784")
    with nd.device(o.device):
        x = read_images(o.data, o.images)
        float(nd.sum(x))
        found, seconds = timed(nd, x)
        print(f"{x.shape[0]} images of {x.shape[1]} pixels: {seconds:.2f} s")
        if o.peer:
            import numpy
            print(f"NumPy: {timed(numpy, x.to_device('cpu').numpy())[1]:.2f} s")
        power = found[2] ** 2
        shares = 100 * nd.cumulative_sum(power) / nd.sum(power)
        print("\ncomponents  variance explained")
        for k in (1, 4, 16, 64, 256):
            print(f"{k:10}  {float(shares[k - 1]):17.2f} %")
        if o.picture:
            draw(o.picture, x, found, o.components)


if __name__ == "__main__":
    main()
