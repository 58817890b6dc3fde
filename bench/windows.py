#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Convolutions, pools, resampling, unfold and fold: ndock from Python beside PyTorch, in one run.

    bench/windows.py [--device cuda:0|cpu] [--only WORD] [--seconds 0.1]

Figures as of bench/nn.py. Bytes are those that must move: each operand and each result once. The gradients of PyTorch are the backward
passes of what autograd recorded."""
import ndock as nd
from nn import Bench, arguments, torch

DTYPES = (("float32", 4), ("bfloat16", 2), ("float16", 2))


class Windows(Bench):
    """Rows of functions of one image (n, c, h, w)."""

    def __init__(self, device, seconds, only, small):
        super().__init__(device, seconds, only)
        self.small = small
        if torch:
            torch.backends.cudnn.benchmark = False

    def one(self, name, shape, dtype, ours, theirs, moved):
        """moved(x, y): elements that move."""
        size = dict(DTYPES)[dtype]
        if self.only and self.only not in name:
            return
        try:
            x, t = self.pair(shape, dtype)
            y = ours(x)
            y = y[0] if isinstance(y, tuple) else y
            nbytes = size * moved(x.size, y.size)
        except Exception as error:
            print(f"{name:44} failed: {type(error).__name__}: {error}", flush=True)
            return
        self.row(name, lambda: (lambda: ours(x), (lambda: theirs(t)) if self.peer else None), nbytes)

    def gradient(self, name, shape, dtype, ours, forward, moved):
        """ours(y, g): the gradient of ours(x, None)."""
        size = dict(DTYPES)[dtype]
        if self.only and self.only not in name:
            return
        try:
            x, t = self.pair(shape, dtype, True)
            y = ours(x, None)
            g = y[0] if isinstance(y, tuple) else y
            nbytes = size * moved(x.size, g.size) + (8 * g.size if isinstance(y, tuple) else 0)
            back = None
            if self.peer:
                z = forward(t)
                tg = torch.ones_like(z)
                back = lambda: torch.autograd.grad(z, t, tg, retain_graph=True)  # noqa: E731
            self.row(name, lambda: (lambda: ours(y, g), back), nbytes)
        except Exception as error:
            print(f"{name:44} failed: {type(error).__name__}: {error}", flush=True)


def pool_rows(b, dtype):
    F, nn = torch and torch.nn.functional, nd.nn
    n = 2 if b.small else 32
    image = (n, 64, 112, 112)

    def both(x, y):
        return x + y
    for text, k, s, p in (("2", 2, 2, 0), ("3 s1", 3, 1, 1), ("3 s2", 3, 2, 1), ("5 s1", 5, 1, 2)):
        b.one(f"max_pool {text} {dtype}", image, dtype, lambda x: nn.max_pool2d(x, k, s, p), lambda t: F.max_pool2d(t, k, s, p), both)
        b.one(f"avg_pool {text} {dtype}", image, dtype, lambda x: nn.avg_pool2d(x, k, s, p), lambda t: F.avg_pool2d(t, k, s, p), both)
    b.one(f"max_pool 2 with indices {dtype}", image, dtype, lambda x: nn.max_pool2d(x, 2, return_indices=True),
          lambda t: F.max_pool2d(t, 2, return_indices=True), lambda x, y: x + y + 8 * y // dict(DTYPES)[dtype])
    b.one(f"adaptive_avg_pool 1 {dtype}", image, dtype, lambda x: nn.adaptive_avg_pool2d(x, 1), lambda t: F.adaptive_avg_pool2d(t, 1), both)
    last = nd.permute_dims
    b.one(f"max_pool 2 channels last {dtype}", (n, 112, 112, 64), dtype, lambda x: nn.max_pool2d(last(x, (0, 3, 1, 2)), 2),
          lambda t: F.max_pool2d(t.permute(0, 3, 1, 2), 2), both)
    for text, k, s, p in (("2", 2, 2, 0), ("3 s2", 3, 2, 1)):
        b.gradient(f"max_pool_grad {text} {dtype}", image, dtype,
                   lambda y, g: nn.max_pool2d(y, k, s, p, return_indices=True) if g is None else nn.max_pool_grad(g, y[1], image, k, s, p),
                   lambda t: F.max_pool2d(t, k, s, p), both)
        b.gradient(f"avg_pool_grad {text} {dtype}", image, dtype,
                   lambda y, g: nn.avg_pool2d(y, k, s, p) if g is None else nn.avg_pool_grad(g, image, k, s, p),
                   lambda t: F.avg_pool2d(t, k, s, p), both)


def resample_rows(b, dtype):
    F, nn = torch and torch.nn.functional, nd.nn
    image = (2 if b.small else 32, 64, 56, 56)

    def both(x, y):
        return x + y
    for mode in ("nearest", "bilinear", "bicubic"):
        for text, to in (("x2", {"scale_factor": 2}), ("to 100", {"size": (100, 100)})):
            b.one(f"upsample {mode} {text} {dtype}", image, dtype, lambda x: nn.interpolate(x, mode=mode, **to),
                  lambda t: F.interpolate(t, mode=mode, **to), both)
            b.gradient(f"upsample_grad {mode} {text} {dtype}", image, dtype,
                       lambda y, g: nn.interpolate(y, mode=mode, **to) if g is None else nn.interpolate_grad(g, image, mode=mode, **to),
                       lambda t: F.interpolate(t, mode=mode, **to), both)
    b.one(f"unfold 3 {dtype}", image, dtype, lambda x: nn.unfold(x, 3, padding=1), lambda t: F.unfold(t, 3, padding=1), both)
    b.gradient(f"fold 3 {dtype}", image, dtype,
               lambda y, g: nn.unfold(y, 3, padding=1) if g is None else nn.fold(g, (56, 56), 3, padding=1),
               lambda t: F.unfold(t, 3, padding=1), both)


def conv_rows(b, dtype):
    F, nn = torch and torch.nn.functional, nd.nn
    n = 1 if b.small else 32
    for text, shape, weight, options in (
            ("64x56 k3", (n, 64, 56, 56), (64, 64, 3, 3), {"padding": 1}), ("512x14 k3", (n, 512, 14, 14), (512, 512, 3, 3), {"padding": 1}),
            ("256x56 k1", (n, 256, 56, 56), (64, 256, 1, 1), {}), ("3x224 k7 s2", (n, 3, 224, 224), (64, 3, 7, 7), {"padding": 3, "stride": 2}),
            ("depthwise k3", (n, 64, 112, 112), (64, 1, 3, 3), {"padding": 1, "groups": 64})):
        if b.only and b.only not in f"conv {text} {dtype}":
            continue
        try:
            x, t = b.pair(shape, dtype, True)
            w, v = b.pair(weight, dtype, True)
            y = nn.conv2d(x, w, **options)
            flops = 2 * y.size * weight[1] * weight[2] * weight[3]
            z = F.conv2d(t, v, **options) if b.peer else None
            g = torch.ones_like(z) if b.peer else None

            def back(of):
                return (lambda: torch.autograd.grad(z, of, g, retain_graph=True)) if b.peer else None

            def forward():
                with torch.no_grad():
                    return F.conv2d(t, v, **options)
            b.row(f"conv {text} {dtype}", lambda: (lambda: nn.conv2d(x, w, **options), forward), flops=flops)
            b.row(f"conv {text} {dtype} of the input", lambda: (lambda: nn.conv2d_input(shape, w, y, **options), back(t)), flops=flops)
            b.row(f"conv {text} {dtype} of the weight", lambda: (lambda: nn.conv2d_weight(x, weight, y, **options), back(v)), flops=flops)
        except Exception as error:
            print(f"conv {text} {dtype:20} failed: {type(error).__name__}: {error}", flush=True)


def main():
    options = arguments(dtypes="float32 bfloat16").parse_args()
    b = Windows(options.device, options.seconds, options.only, options.device.startswith("cpu"))
    print(f"# {options.device}; PyTorch {torch.__version__ if torch else 'is not there'}")
    only, b.only = b.only, ""
    n = 2 ** 26 // (8 if b.small else 1)
    x, t = b.pair((n,), "float32")
    b.row("copy f32", lambda: (x.copy, lambda: t.clone()), 8 * n)
    b.only = only
    for dtype in options.dtypes.split():
        for rows in (pool_rows, resample_rows, conv_rows):
            rows(b, dtype)


if __name__ == "__main__":
    main()
