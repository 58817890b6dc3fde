#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Neural operations at one shape each, the usual ones of networks: ndock from Python beside PyTorch, in one run.

    bench/page.py [--device cuda:0] [--only WORD] [--seconds 0.05] [--benchmark]

Convolutions of f32, of f32 with TF32 allowed, and of bf16; windows, norms, attention, losses, rotary positions; products of eight-bit matrices.
Figures as in bench/nn.py; PyTorch's cuDNN takes the engine that its heuristics name, with --benchmark the fastest of those that it has tried.
rope beside PyTorch is its formula in eager operations. The last lines name the rows that are below 0.95 of PyTorch's speed (attention of 16 bits:
0.7) and, of pools, upsampling, norms, losses and rope, below 0.9 of a copy's."""
import ndock as nd
from nn import Bench, arguments, torch

CONVOLUTIONS = (
    ("64x56 k3", 32, 64, 56, 64, 3, {"padding": 1}),
    ("512x14 k3", 32, 512, 14, 512, 3, {"padding": 1}),
    ("256x56 k1", 32, 256, 56, 64, 1, {}),
    ("3x224 k7 s2", 32, 3, 224, 64, 7, {"padding": 3, "stride": 2}),
)
SIZE = {"float32": 4, "bfloat16": 2}
MOVING = ("max_pool", "avg_pool", "upsample", "batch_norm", "group_norm", "cross_entropy", "rope")


class Page(Bench):
    short = ()

    def row(self, name, make, nbytes=None, flops=None):
        got = super().row(name, make, nbytes, flops)
        if not got:
            return
        ratio, share = got
        least = 0.7 if name.startswith("attention bfloat16") else 0.95
        if ratio is not None and ratio < least:
            self.short += (f"{name}: {ratio:.3f} of PyTorch's speed",)
        if share is not None and share < 0.9 and name.startswith(MOVING):
            self.short += (f"{name}: {share:.3f} of a copy's",)


def allow_tf32(yes):
    nd.math.set_allow_tf32(yes)
    if torch:
        torch.backends.cudnn.allow_tf32 = torch.backends.cuda.matmul.allow_tf32 = yes


def functional():
    return torch.nn.functional if torch else None


def convolutions(b):
    F = functional()
    for form in ("f32", "tf32", "bf16"):
        dtype = "bfloat16" if form == "bf16" else "float32"
        allow_tf32(form == "tf32")
        try:
            for name, n, c, extent, o, kernel, options in CONVOLUTIONS:
                x, t = b.pair((n, c, extent, extent), dtype)
                w, v = b.pair((o, c, kernel, kernel), dtype)
                places = (extent // options.get("stride", 1)) ** 2
                b.row(f"conv2d {name} {form}", lambda: (lambda: nd.nn.conv2d(x, w, **options), lambda: F.conv2d(t, v, **options)),
                      flops=2 * n * places * o * c * kernel ** 2)
        finally:
            allow_tf32(False)


def other_convolutions(b):
    F = functional()
    for dtype in SIZE:
        x, t = b.pair((32, 64, 4096), dtype)
        w, v = b.pair((64, 64, 9), dtype)
        b.row(f"conv1d 64x4096 k9 {dtype}", lambda: (lambda: nd.nn.conv1d(x, w, padding=4), lambda: F.conv1d(t, v, padding=4)), flops=2 * 32 * 4096 * 64 * 64 * 9)
        x, t = b.pair((32, 64, 56, 56), dtype)
        w, v = b.pair((64, 64, 4, 4), dtype)
        b.row(f"conv_transpose2d 64x56 k4 s2 {dtype}", lambda: (lambda: nd.nn.conv_transpose2d(x, w, stride=2, padding=1),
                                                                lambda: F.conv_transpose2d(t, v, stride=2, padding=1)), flops=2 * 32 * 56 ** 2 * 64 * 64 * 16)
        b.row(f"unfold 64x56 k3 {dtype}", lambda: (lambda: nd.nn.unfold(x, (3, 3), padding=1), lambda: F.unfold(t, 3, padding=1)), 10 * SIZE[dtype] * x.size)
        x, t = b.pair((32, 64, 112, 112), dtype)
        w, v = b.pair((64, 1, 3, 3), dtype)
        b.row(f"depthwise 64x112 k3 {dtype}", lambda: (lambda: nd.nn.conv2d(x, w, padding=1, groups=64), lambda: F.conv2d(t, v, padding=1, groups=64)),
              2 * SIZE[dtype] * x.size)


def images(b):
    F = functional()
    for dtype, size in SIZE.items():
        x, t = b.pair((32, 64, 112, 112), dtype)
        w, v = b.pair((64,), dtype)
        nbytes = size * x.size
        for name, options, moved in (("max_pool2d", {}, 1.25), ("avg_pool2d", {}, 1.25), ("max_pool2d", {"stride": 1, "padding": 1}, 2)):
            kernel = 3 if options else 2
            b.row(f"{name} {kernel}{' s1' if options else ''} {dtype}", lambda: (lambda: getattr(nd.nn, name)(x, kernel, **options),
                                                                               lambda: getattr(F, name)(t, kernel, **options)), moved * nbytes)
        for mode in ("nearest", "bilinear"):
            b.row(f"upsample {mode} x2 {dtype}", lambda: (lambda: nd.nn.interpolate(x, scale_factor=2, mode=mode), lambda: F.interpolate(t, scale_factor=2, mode=mode)),
                  5 * nbytes)
        b.row(f"batch_norm training {dtype}", lambda: (lambda: nd.nn.batch_norm(x, None, None, w, w, training=True),
                                                       lambda: F.batch_norm(t, None, None, v, v, training=True)), 3 * nbytes)
        b.row(f"group_norm {dtype}", lambda: (lambda: nd.nn.group_norm(x, 32, w, w), lambda: F.group_norm(t, 32, v, v)), 2 * nbytes)


def attentions(b):
    F = functional()
    for dtype, shape, causal in (("bfloat16", (8, 16, 4096, 64), False), ("bfloat16", (8, 16, 4096, 64), True), ("float32", (8, 16, 1024, 64), False),
                                 ("bfloat16", (64, 12, 256, 64), False), ("bfloat16", (32, 12, 512, 64), True)):
        x, t = b.pair(shape, dtype)
        flops = 4 * shape[0] * shape[1] * shape[2] ** 2 * shape[3] / (2 if causal else 1)
        b.row(f"attention {dtype} {'x'.join(map(str, shape))}{' causal' if causal else ''}",
              lambda: (lambda: nd.nn.scaled_dot_product_attention(x, x, x, is_causal=causal),
                       lambda: F.scaled_dot_product_attention(t, t, t, is_causal=causal)), flops=flops)


def turned(t, cos, sin):
    """Rotary positions of the halves of rows by PyTorch's eager operations."""
    first, second = t.chunk(2, -1)
    return torch.cat((first * cos - second * sin, second * cos + first * sin), -1)


def rows(b):
    F = functional()
    for dtype, size in SIZE.items():
        x, t = b.pair((8192, 32000), dtype)
        y = nd.astype(nd.random.default_rng(2).integers(0, 32000, 8192, device=b.device), nd.int64)
        u = torch.randint(0, 32000, (8192,), device=b.peer) if b.peer else None
        b.row(f"cross_entropy {dtype} 8192x32000", lambda: (lambda: nd.nn.cross_entropy(x, y), lambda: F.cross_entropy(t, u)), size * x.size)
        x, t = b.pair((32, 32, 1024, 128), dtype)
        (cos, tcos), (sin, tsin) = b.pair((1024, 64), dtype), b.pair((1024, 64), dtype)
        b.row(f"rope half {dtype}", lambda: (lambda: nd.nn.rope(x, cos, sin, layout="half"), lambda: turned(t, tcos, tsin)), 2 * size * x.size)


def narrow(b):
    n = 4096
    x, t = b.pair((n, n), "float32")
    whole, narrow = nd.astype(x * 16, nd.int8), nd.astype(x, nd.float8_e4m3fn)
    if b.peer:
        twhole, tnarrow, one = (t * 16).to(torch.int8), t.to(torch.float8_e4m3fn), torch.ones((), device=b.peer)
    b.row("int8 product 4096", lambda: (lambda: nd.matmul(whole, whole.T, dtype=nd.int32), lambda: torch._int_mm(twhole, twhole.t())), flops=2 * n ** 3)
    b.row("fp8 product 4096", lambda: (lambda: nd.scaled_mm(narrow, narrow.T, 1.0, 1.0, dtype=nd.bfloat16),
                                       lambda: torch._scaled_mm(tnarrow, tnarrow.t(), one, one, out_dtype=torch.bfloat16)), flops=2 * n ** 3)


def main():
    parser = arguments(0.05)
    parser.add_argument("--benchmark", action="store_true")
    options = parser.parse_args()
    b = Page(options.device, options.seconds, "")
    print(f"# {options.device}; PyTorch {torch.__version__ if torch else 'is not there'}")
    if torch:
        torch.set_grad_enabled(False)
        torch.backends.cudnn.benchmark = options.benchmark
    x, t = b.pair((2 ** 26,), "float32")
    b.row("copy f32", lambda: (lambda: x.copy(), lambda: t.clone()), 8 * x.size)
    b.only = options.only
    for part in (convolutions, other_convolutions, attentions, narrow, images, rows):
        try:
            part(b)
        except Exception as error:
            print(f"# {part.__name__} ended: {type(error).__name__}: {error}", flush=True)
    print(f"# {len(b.short)} short", *b.short, sep="\n# ")


if __name__ == "__main__":
    main()
