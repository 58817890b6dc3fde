#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""einops on ndock arrays, by its layer for array API libraries: a batch of images as a sheet, in patches, pooled, and
unpacked. Needs einops (pip install einops); without it, exits with 77."""
import argparse
import sys

import ndock as nd

try:
    from einops.array_api import asnumpy, pack, rearrange, reduce, repeat, unpack  # noqa: F401
except ImportError as why:
    print(f"einops_images: needs einops: {why}")
    sys.exit(77)


def check(name, got, want):
    """Equal on the device, element by element; want is made without einops."""
    right = got.shape == want.shape and got.device == want.device and bool(nd.all(got == want))
    print(f"{name:34} {str(got.shape):18} {'as expected' if right else 'WRONG'}")
    return right


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cpu", help="cpu, cuda:0, ... (%(default)s)")
    device = nd.Device(parser.parse_args().device)
    n, h, w, c = 6, 4, 6, 3
    images = nd.reshape(nd.arange(n * h * w * c, dtype=nd.float32, device=device), (n, h, w, c))
    six = [nd.squeeze(x, axis=0) for x in (images[i:i + 1] for i in range(n))]
    right = []

    sheet = rearrange(images, "(rows columns) h w c -> (rows h) (columns w) c", columns=3)
    right.append(check("a sheet of 2 x 3 images", sheet,
                       nd.concat([nd.concat(six[:3], axis=1), nd.concat(six[3:], axis=1)], axis=0)))
    planes = rearrange(images, "n h w c -> n c h w")
    right.append(check("channels first", planes, nd.permute_dims(images, (0, 3, 1, 2))))
    patches = rearrange(images, "n (h p) (w q) c -> (n h w) (p q c)", p=2, q=2)
    right.append(check("the first of 2 x 2 patches", patches[0, :],
                       nd.reshape(images[0, :2, :2, :], (-1,))))
    pooled = reduce(images, "n (h p) (w q) c -> n h w c", "max", p=2, q=2)
    right.append(check("pooled: the largest of each patch", pooled, images[:, 1::2, 1::2, :]))
    mean = reduce(images, "n h w c -> c", "mean")
    right.append(check("mean of each channel", mean, nd.mean(images, axis=(0, 1, 2))))
    wide = repeat(images, "n h w c -> n h (w twice) c", twice=2)
    right.append(check("every column twice", wide, nd.repeat(images, 2, axis=2)))
    packed, shapes = pack([images[0, ...], planes[:, 0, :, :]], "*")
    one, two = unpack(packed, shapes, "*")
    right.append(check("packed and unpacked", two, planes[:, 0, :, :]) and bool(nd.all(one == images[0, ...])))
    return 0 if all(right) else 1


if __name__ == "__main__":
    sys.exit(main())
